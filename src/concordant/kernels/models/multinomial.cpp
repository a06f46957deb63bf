// Multinomial preference model: counts of preferences, and the batched fit of scores and variances.
//
// Every instance is one small smooth problem, solved by a trust-region Newton method whose steps come from conjugate
// gradients (Steihaug): it converges quadratically, needs no matrix, and copes with negative curvature, which the
// model has once variances are learnt. With equal variances the partition function factorises, so a value, a gradient
// and a product with the Hessian all cost O(items) per distinct adherence.
#include "common.hpp"
#include "exponential.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <vector>

namespace {

constexpr size_t LANES = 8;
constexpr int64_t MAX_ITERATIONS = 200;
constexpr double LOG_HALF = -0.69314718055994530942; // the prior draws log-variances there

// Sums in eight lanes: the order of additions is fixed, and the compiler can vectorise it without -ffast-math.
SIMD_CLONES double dot(const double *x, const double *y, size_t n) {
    double lane[LANES] = {0};
    size_t k = 0;
    for (; k + LANES <= n; k += LANES)
        for (size_t t = 0; t < LANES; ++t) lane[t] += x[k + t] * y[k + t];
    double total = 0;
    for (size_t t = 0; t < LANES; ++t) total += lane[t];
    for (; k < n; ++k) total += x[k] * y[k];
    return total;
}

SIMD_CLONES double sum(const double *x, size_t n) {
    double lane[LANES] = {0};
    size_t k = 0;
    for (; k + LANES <= n; k += LANES)
        for (size_t t = 0; t < LANES; ++t) lane[t] += x[k + t];
    double total = 0;
    for (size_t t = 0; t < LANES; ++t) total += lane[t];
    for (; k < n; ++k) total += x[k];
    return total;
}

SIMD_CLONES void add_scaled(double *out, double factor, const double *x, size_t n) {
    for (size_t k = 0; k < n; ++k) out[k] += factor * x[k];
}

SIMD_CLONES void add_scaled(double *out, double first, const double *x, double second, const double *y, size_t n) {
    for (size_t k = 0; k < n; ++k) out[k] += first * x[k] + second * y[k];
}

// The distinct adherences of one instance, each with its share of the instance's counts.
struct Groups {
    const double *theta, *share;
    size_t n;
    double *log_z, *slope; // results: log Z and d log Z / d theta of each
};

// ---- equal variances: x = s_i - s_j ----
struct ScoreProblem {
    size_t m;
    const double *net;
    Groups groups;
    double prior;
    std::vector<double> up, down, diagonal;    // exp(theta (s - max)), exp(-theta (s - min)) by group; Hessian
    std::vector<double> total_up, total_down, z; // per group

    ScoreProblem(size_t m_, const double *net_, Groups groups_, double prior_)
        : m(m_), net(net_), groups(groups_), prior(prior_), up(m_ * groups_.n), down(m_ * groups_.n), diagonal(m_),
          total_up(groups_.n), total_down(groups_.n), z(groups_.n) {}

    size_t size() const { return m; }
    double scale() const { return std::sqrt(dot(net, net, m)); }

    double value(const double *s, double *gradient) {
        double low = *std::min_element(s, s + m), high = *std::max_element(s, s + m);
        double result = prior / 2 * dot(s, s, m) - dot(net, s, m);
        for (size_t i = 0; i < m; ++i) {
            gradient[i] = prior * s[i] - net[i];
            diagonal[i] = prior;
        }
        for (size_t g = 0; g < groups.n; ++g) {
            double theta = groups.theta[g], *a = &up[g * m], *c = &down[g * m];
            for (size_t i = 0; i < m; ++i) {
                a[i] = theta * (s[i] - high);
                c[i] = theta * (low - s[i]);
            }
            exponentials(a, m, theta * (low - high));
            exponentials(c, m, theta * (low - high));
            double A = sum(a, m), C = sum(c, m);
            double Z = A * C - static_cast<double>(m) * std::exp(theta * (low - high));
            double share = groups.share[g] / Z;
            total_up[g] = A, total_down[g] = C, z[g] = Z;
            groups.log_z[g] = theta * (high - low) + std::log(Z);
            groups.slope[g] = (C * dot(a, s, m) - A * dot(c, s, m)) / Z;
            result += groups.share[g] * groups.log_z[g];
            add_scaled(gradient, share * theta * C, a, -share * theta * A, c, m);
            add_scaled(diagonal.data(), share * theta * theta * C, a, share * theta * theta * A, c, m);
        }
        return result;
    }

    void multiply(const double *v, double *out) {
        for (size_t i = 0; i < m; ++i) out[i] = diagonal[i] * v[i];
        for (size_t g = 0; g < groups.n; ++g) {
            const double *a = &up[g * m], *c = &down[g * m];
            double factor = groups.share[g] * groups.theta[g] * groups.theta[g] / z[g];
            double av = dot(a, v, m), cv = dot(c, v, m);
            double mean = (total_down[g] * av - total_up[g] * cv) / z[g];
            add_scaled(out, -factor * (cv + mean * total_down[g]), a, -factor * (av - mean * total_up[g]), c, m);
        }
    }
};

// ---- unequal variances: x = (s_i - s_j) / (g_i + g_j), g = exp(b); the unknowns are s, then b ----
// Pairs i < j stand row by row: (0,1) (0,2) … (1,2) ….
struct PairRows {
    size_t m;
    size_t start(size_t i) const { return i * (2 * m - i - 1) / 2; }
    size_t pairs() const { return m * (m - 1) / 2; }
};

SIMD_CLONES void pair_row(double s, double g, const double *others_s, const double *others_g, size_t n,
                          double *__restrict h, double *__restrict x) {
    for (size_t j = 0; j < n; ++j) {
        h[j] = 1.0 / (g + others_g[j]);
        x[j] = (s - others_s[j]) * h[j];
    }
}

// y = exp(theta x) becomes y - 1/y in `odd` and y + 1/y in `even`, both over exp(theta * largest) when shifted.
SIMD_CLONES void hyperbolic(const double *up, const double *down, size_t n, double *odd, double *even) {
    for (size_t p = 0; p < n; ++p) {
        odd[p] = up[p] - down[p];
        even[p] = up[p] + down[p];
    }
}

SIMD_CLONES void invert(const double *x, size_t n, double *out) {
    for (size_t p = 0; p < n; ++p) out[p] = 1.0 / x[p];
}

SIMD_CLONES void scale_into(const double *x, double factor, size_t n, double *out) {
    for (size_t p = 0; p < n; ++p) out[p] = factor * x[p];
}

// One row of J'y: what goes to the scores and (without the factor -g) to the log-variances of the later items.
SIMD_CLONES void scatter_row(const double *y, const double *h, const double *xh, size_t n, double *__restrict later_s,
                             double *__restrict later_b, double *__restrict to_s, double *__restrict to_b) {
    for (size_t j = 0; j < n; ++j) {
        to_s[j] = y[j] * h[j];
        to_b[j] = y[j] * xh[j];
        later_s[j] -= to_s[j];
        later_b[j] += to_b[j];
    }
}

SIMD_CLONES void multiply_row(double vs, double gv, const double *others_vs, const double *others_gv, const double *h,
                              const double *x, const double *xh, const double *even, const double *slack, size_t n,
                              double *__restrict later_s, double *__restrict later_b, double *__restrict to_s,
                              double *__restrict to_b) {
    for (size_t j = 0; j < n; ++j) {
        double spread = gv + others_gv[j];                             // change of g_i + g_j
        double change = h[j] * (vs - others_vs[j]) - xh[j] * spread;   // of x
        double inverse = -h[j] * h[j] * spread;                        // of 1 / (g_i + g_j)
        double pull = even[j] * change;
        to_s[j] = pull * h[j] + slack[j] * inverse;
        to_b[j] = pull * xh[j] + slack[j] * (change * h[j] + x[j] * inverse);
        later_s[j] -= to_s[j];
        later_b[j] += to_b[j];
    }
}

struct VarianceProblem {
    PairRows rows;
    size_t m, pairs;
    const double *net; // per pair
    Groups groups;
    double prior, centre;
    bool is_learning;
    std::vector<double> g, h, x, xh, even, slack, up, down, odd, both, row_s, row_b, bend, low_rank, work;

    VarianceProblem(size_t m_, const double *net_, Groups groups_, double prior_, double centre_, bool is_learning_)
        : rows{m_}, m(m_), pairs(rows.pairs()), net(net_), groups(groups_), prior(prior_), centre(centre_),
          is_learning(is_learning_), g(m_), h(pairs), x(pairs), xh(pairs), even(pairs), slack(pairs), up(pairs),
          down(pairs), odd(pairs), both(pairs), row_s(m_), row_b(m_), bend(m_), low_rank(2 * m_ * groups_.n),
          work(2 * m_) {}

    size_t size() const { return 2 * m; }

    double scale() {
        std::vector<double> start(2 * m, 0.0), gradient(2 * m);
        std::fill(start.begin() + static_cast<ptrdiff_t>(m), start.end(), centre);
        set_pairs(start.data());
        scatter(net, gradient.data());
        return std::sqrt(dot(gradient.data(), gradient.data(), m));
    }

    void set_pairs(const double *u) {
        for (size_t i = 0; i < m; ++i) g[i] = std::exp(u[m + i]);
        for (size_t i = 0; i + 1 < m; ++i) {
            size_t at = rows.start(i);
            pair_row(u[i], g[i], u + i + 1, &g[i + 1], m - i - 1, &h[at], &x[at]);
        }
        for (size_t p = 0; p < pairs; ++p) xh[p] = x[p] * h[p];
    }

    // out = J'y
    void scatter(const double *y, double *out) {
        std::fill(out, out + 2 * m, 0.0);
        for (size_t i = 0; i + 1 < m; ++i) {
            size_t at = rows.start(i), n = m - i - 1;
            scatter_row(y + at, &h[at], &xh[at], n, out + i + 1, out + m + i + 1, row_s.data(), row_b.data());
            out[i] += sum(row_s.data(), n);
            out[m + i] += sum(row_b.data(), n);
        }
        for (size_t i = 0; i < m; ++i) out[m + i] = is_learning ? -g[i] * out[m + i] : 0.0;
    }

    void exponentiate(double theta, double largest) {
        scale_into(x.data(), theta, pairs, up.data());
        if (theta * largest < 300) {
            exponentials(up.data(), pairs, -theta * largest);
            invert(up.data(), pairs, down.data());
            return;
        }
        for (size_t p = 0; p < pairs; ++p) {
            down[p] = -up[p] - theta * largest;
            up[p] -= theta * largest;
        }
        exponentials(up.data(), pairs, -2 * theta * largest);
        exponentials(down.data(), pairs, -2 * theta * largest);
    }

    double value(const double *u, double *gradient) {
        set_pairs(u);
        double largest = 0;
        for (size_t p = 0; p < pairs; ++p) largest = std::max(largest, std::abs(x[p]));
        double result = -dot(net, x.data(), pairs) + prior / 2 * dot(u, u, m);
        scale_into(net, -1.0, pairs, slack.data());
        std::fill(even.begin(), even.end(), 0.0);
        for (size_t k = 0; k < groups.n; ++k) {
            double theta = groups.theta[k];
            exponentiate(theta, largest);
            hyperbolic(up.data(), down.data(), pairs, odd.data(), both.data());
            double Z = sum(both.data(), pairs), shift = theta * largest < 300 ? 0.0 : theta * largest;
            double share = groups.share[k] * theta / Z;
            groups.log_z[k] = shift + std::log(Z);
            groups.slope[k] = dot(x.data(), odd.data(), pairs) / Z;
            result += groups.share[k] * groups.log_z[k];
            add_scaled(slack.data(), share, odd.data(), pairs);
            add_scaled(even.data(), share * theta, both.data(), pairs);
            double *direction = &low_rank[2 * m * k];
            scatter(odd.data(), direction);
            for (size_t i = 0; i < 2 * m; ++i) direction[i] *= theta / Z;
        }
        scatter(slack.data(), gradient);
        bend_of_slack();
        for (size_t i = 0; i < m; ++i) {
            gradient[i] += prior * u[i];
            if (!is_learning) continue;
            double away = u[m + i] - centre;
            gradient[m + i] += prior * away;
            result += prior / 2 * away * away;
        }
        return result;
    }

    // Sum over opponents of slack * x * h: the part of the Hessian that multiplies b_i's own step.
    void bend_of_slack() {
        std::fill(bend.begin(), bend.end(), 0.0);
        for (size_t i = 0; i + 1 < m; ++i) {
            size_t at = rows.start(i);
            for (size_t j = i + 1; j < m; ++j, ++at) {
                double part = slack[at] * xh[at];
                bend[i] += part;
                bend[j] += part;
            }
        }
    }

    void multiply(const double *v, double *out) {
        double *gv = work.data();
        for (size_t i = 0; i < m; ++i) gv[i] = g[i] * v[m + i];
        std::fill(out, out + 2 * m, 0.0);
        for (size_t i = 0; i + 1 < m; ++i) {
            size_t at = rows.start(i), n = m - i - 1;
            multiply_row(v[i], gv[i], v + i + 1, gv + i + 1, &h[at], &x[at], &xh[at], &even[at], &slack[at], n,
                         out + i + 1, out + m + i + 1, row_s.data(), row_b.data());
            out[i] += sum(row_s.data(), n);
            out[m + i] += sum(row_b.data(), n);
        }
        for (size_t i = 0; i < m; ++i) {
            out[m + i] = is_learning ? prior * v[m + i] - g[i] * (out[m + i] + bend[i] * v[m + i]) : 0.0;
            out[i] += prior * v[i];
        }
        for (size_t k = 0; k < groups.n; ++k) {
            const double *direction = &low_rank[2 * m * k];
            add_scaled(out, -groups.share[k] * dot(direction, v, 2 * m), direction, 2 * m);
        }
    }
};

// ---- the solver ----
struct Report {
    double gradient; // norm at the end, relative to the data's part of the gradient at the start
    int64_t iterations;
};

// A step of length at most `radius` that approximately minimises the quadratic model; returns what it promises to gain.
template <typename Problem>
double step_within(Problem &problem, const std::vector<double> &gradient, double radius, double accuracy,
                   std::vector<double> &step) {
    size_t n = gradient.size();
    std::vector<double> residual(n), direction(n), product(n), of_step(n, 0.0);
    std::fill(step.begin(), step.end(), 0.0);
    for (size_t i = 0; i < n; ++i) direction[i] = residual[i] = -gradient[i];
    double rr = dot(residual.data(), residual.data(), n), goal = accuracy * accuracy * rr;
    for (size_t k = 0; k < std::min<size_t>(n + 10, 500) && rr > goal; ++k) {
        problem.multiply(direction.data(), product.data());
        double curvature = dot(direction.data(), product.data(), n);
        double dd = dot(direction.data(), direction.data(), n), sd = dot(step.data(), direction.data(), n);
        double ss = dot(step.data(), step.data(), n);
        double length = curvature > 0 ? rr / curvature : 0;
        bool is_out = curvature <= 1e-14 * dd || ss + length * (2 * sd + length * dd) >= radius * radius;
        if (is_out) length = (-sd + std::sqrt(sd * sd + dd * std::max(radius * radius - ss, 0.0))) / dd;
        add_scaled(step.data(), length, direction.data(), n);
        add_scaled(of_step.data(), length, product.data(), n);
        if (is_out) break;
        add_scaled(residual.data(), -length, product.data(), n);
        double next = dot(residual.data(), residual.data(), n);
        for (size_t i = 0; i < n; ++i) direction[i] = residual[i] + next / rr * direction[i];
        rr = next;
    }
    return -dot(gradient.data(), step.data(), n) - dot(step.data(), of_step.data(), n) / 2;
}

template <typename Problem> Report minimise(Problem &problem, double *u, double tolerance) {
    size_t n = problem.size();
    std::vector<double> gradient(n), next_gradient(n), step(n), next(n);
    double scale = std::max(problem.scale(), 1e-300);
    double value = problem.value(u, gradient.data());
    double radius = std::sqrt(static_cast<double>(n));
    int64_t k = 0;
    double norm = std::sqrt(dot(gradient.data(), gradient.data(), n));
    for (; k < MAX_ITERATIONS && norm > tolerance * scale; ++k) {
        double promised = step_within(problem, gradient, radius, std::min(0.1, norm / scale), step);
        for (size_t i = 0; i < n; ++i) next[i] = u[i] + step[i];
        double next_value = problem.value(next.data(), next_gradient.data());
        // Near the optimum the values differ by rounding only: judge by both with the same slack.
        double rounding = 1e-15 * std::max(std::abs(value), 1.0);
        double ratio = (value - next_value + rounding) / (promised + rounding);
        double length = std::sqrt(dot(step.data(), step.data(), n));
        if (!(ratio > 0.25)) radius = 0.25 * length;
        else if (ratio > 0.75 && length > 0.8 * radius) radius *= 2;
        if (ratio > 1e-4) {
            std::copy(next.begin(), next.end(), u);
            gradient.swap(next_gradient);
            value = next_value;
        } else if (length < 1e-13) {
            value = problem.value(u, gradient.data());
            break;
        } else {
            value = problem.value(u, gradient.data());
        }
        norm = std::sqrt(dot(gradient.data(), gradient.data(), n));
    }
    return {norm / scale, k};
}

// The bundle Adherences as it comes from Python: the groups of every instance, their adherences and shares.
using AdherenceArrays = std::tuple<In<int64_t>, In<double>, In<double>>;

struct Fit {
    Buffer<double> score, log_variance, log_z, slope, gradient;
    Buffer<int64_t> iterations;
    const AdherenceArrays &adherences;
    Fit(const AdherenceArrays &adherences_, size_t slots, size_t variances, size_t instances)
        : score(slots), log_variance(variances), log_z(std::get<1>(adherences_).size(), 0.0),
          slope(std::get<1>(adherences_).size(), 0.0), gradient(instances, 0.0), iterations(instances, 0),
          adherences(adherences_) {}
    Groups groups(size_t q) {
        const int64_t *ptr = std::get<0>(adherences).data();
        size_t from = static_cast<size_t>(ptr[q]);
        return {std::get<1>(adherences).data() + from, std::get<2>(adherences).data() + from,
                static_cast<size_t>(ptr[q + 1] - ptr[q]), log_z.get() + from, slope.get() + from};
    }
    nb::object give() {
        return named("MPMFit", score.give(), log_variance.give(), log_z.give(), slope.give(), gradient.give(),
                     iterations.give());
    }
};

nb::object fit_mpm_scores(In<int64_t> slot_ptr, In<double> net, const AdherenceArrays &groups, In<double> prior,
                          In<double> start, double tolerance) {
    size_t instances = slot_ptr.size() - 1, n = net.size();
    Fit fit(groups, n, 0, instances);
    {
        nb::gil_scoped_release release;
        std::copy(start.data(), start.data() + n, fit.score.get());
        for (size_t q = 0; q < instances; ++q) {
            size_t from = static_cast<size_t>(slot_ptr.data()[q]);
            size_t m = static_cast<size_t>(slot_ptr.data()[q + 1]) - from;
            Groups own = fit.groups(q);
            if (m < 2 || !own.n) continue;
            ScoreProblem problem(m, net.data() + from, own, prior.data()[q]);
            Report report = minimise(problem, fit.score.get() + from, tolerance);
            fit.gradient[q] = report.gradient, fit.iterations[q] = report.iterations;
        }
    }
    return fit.give();
}

nb::object fit_mpm_variances(In<int64_t> slot_ptr, In<int64_t> pair_ptr, In<double> net, const AdherenceArrays &groups,
                             In<double> prior, const std::tuple<In<double>, In<double>> &warm_start, bool is_learning,
                             double tolerance) {
    const auto &[start, start_log] = warm_start;
    size_t instances = slot_ptr.size() - 1, n = start.size();
    Fit fit(groups, n, n, instances);
    {
        nb::gil_scoped_release release;
        std::copy(start.data(), start.data() + n, fit.score.get());
        std::copy(start_log.data(), start_log.data() + n, fit.log_variance.get());
        std::vector<double> u;
        for (size_t q = 0; q < instances; ++q) {
            size_t from = static_cast<size_t>(slot_ptr.data()[q]);
            size_t m = static_cast<size_t>(slot_ptr.data()[q + 1]) - from;
            Groups own = fit.groups(q);
            if (m < 2 || !own.n) continue;
            VarianceProblem problem(m, net.data() + pair_ptr.data()[q], own, prior.data()[q], LOG_HALF, is_learning);
            double *score = fit.score.get() + from, *log_variance = fit.log_variance.get() + from;
            u.assign(score, score + m);
            u.insert(u.end(), log_variance, log_variance + m);
            Report report = minimise(problem, u.data(), tolerance);
            std::copy_n(u.begin(), m, score);
            std::copy_n(u.begin() + static_cast<ptrdiff_t>(m), m, log_variance);
            fit.gradient[q] = report.gradient, fit.iterations[q] = report.iterations;
        }
    }
    return fit.give();
}

} // namespace

void bind_multinomial(nb::module_ &m) {
    m.def("fit_mpm_scores", &fit_mpm_scores, "slot_ptr"_a.noconvert(), "net"_a.noconvert(), "groups"_a.noconvert(),
          "prior"_a.noconvert(), "start"_a.noconvert(), "tolerance"_a);
    m.def("fit_mpm_variances", &fit_mpm_variances, "slot_ptr"_a.noconvert(), "pair_ptr"_a.noconvert(),
          "net"_a.noconvert(), "groups"_a.noconvert(), "prior"_a.noconvert(), "warm_start"_a.noconvert(), "is_learning"_a,
          "tolerance"_a);
}
