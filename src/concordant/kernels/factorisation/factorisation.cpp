// Ratings as products of hidden factors: scores of entries, and the rows of one side with the other side fixed.
//
// An entry pairs a row of either side; a row is (factors, bias), and its score is mean + both biases + the product of
// the factors. The loss of entry e is curve_e f²/2 - target_e f in its score f, or that is its quadratic around the
// present one, so a row w solves (sum curve x x' + ridge) w = sum (target - curve (mean + bias of the other row)) x, with
// x = (factors of the other row, 1). Where the other side is known with a covariance S only, x x' has the mean x x' + S.
//
// Rows are independent of each other: threads take some each, and the answer does not depend on their number.
#include "cholesky.hpp"
#include "common.hpp"
#include "search.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

namespace {

template <typename T> constexpr size_t WIDTH = 32 / sizeof(T); // numbers worked on at once; rows are padded to a multiple
constexpr size_t BLOCK = 8;     // entries added to a matrix at once, so that it is loaded and stored less often
constexpr size_t CHUNKS = 64;   // pieces of work for threads
constexpr double WORTH = 2e5;   // multiplications below which threads cost more than they save
constexpr double NUDGE = 1e-8;  // added to a matrix that rounding made indefinite, relative to its largest entry

template <typename T> ALWAYS_INLINE T product_of(const T *a, const T *b, size_t padded) {
    T sum[WIDTH<T>] = {}, total = 0;
    for (size_t k = 0; k < padded; k += WIDTH<T>)
        for (size_t t = 0; t < WIDTH<T>; ++t) sum[t] += a[k + t] * b[k + t];
    for (size_t t = 0; t < WIDTH<T>; ++t) total += sum[t];
    return total;
}

// matrix += sum of weight x x' over a block of entries, the lower triangle (and what stands beside it in the padding).
template <typename T> ALWAYS_INLINE void add_block_of(const T *x, const T *weighted, size_t size, size_t padded, T *matrix) {
    for (size_t a = 0; a < size; ++a) {
        T *row = matrix + a * padded;
        const size_t end = a / WIDTH<T> * WIDTH<T> + WIDTH<T>;
        for (size_t c = 0; c < end; c += WIDTH<T>) {
            T sum[WIDTH<T>];
            for (size_t t = 0; t < WIDTH<T>; ++t) sum[t] = row[c + t];
            for (size_t e = 0; e < BLOCK; ++e)
                for (size_t t = 0; t < WIDTH<T>; ++t) sum[t] += weighted[e * padded + a] * x[e * padded + c + t];
            for (size_t t = 0; t < WIDTH<T>; ++t) row[c + t] = sum[t];
        }
    }
}

// y = sum over entries of weight x (x · v).
template <typename T>
ALWAYS_INLINE void multiply_of(const T *x, const T *weight, size_t entries, size_t padded, const T *v, T *y) {
    for (size_t k = 0; k < padded; ++k) y[k] = 0;
    for (size_t e = 0; e < entries; ++e) {
        const T *own = x + e * padded, scale = weight[e] * product_of(own, v, padded);
        for (size_t k = 0; k < padded; ++k) y[k] += scale * own[k];
    }
}

// weighted = curve x and right += target x over a block of entries.
template <typename T>
ALWAYS_INLINE void weigh_of(const T *x, const T *curve, const T *target, size_t entries, size_t padded, T *weighted, T *right) {
    for (size_t e = 0; e < entries; ++e) {
        const T *own = x + e * padded, weight = curve[e], part = target[e];
        T *scaled = weighted + e * padded;
        for (size_t k = 0; k < padded; ++k) scaled[k] = weight * own[k];
        for (size_t k = 0; k < padded; ++k) right[k] += part * own[k];
    }
}

// rest += (target - curve (x · v)) x and diagonal += curve x² over the entries of a row.
template <typename T>
ALWAYS_INLINE void residual_of(const T *x, const T *curve, const T *target, size_t entries, size_t padded, const T *v, T *rest,
                               T *diagonal) {
    for (size_t e = 0; e < entries; ++e) {
        const T *own = x + e * padded, weight = curve[e], part = target[e] - weight * product_of(own, v, padded);
        for (size_t k = 0; k < padded; ++k) rest[k] += part * own[k];
        for (size_t k = 0; k < padded; ++k) diagonal[k] += weight * own[k] * own[k];
    }
}

// A copy for each instruction set needs a plain function: one per type, around what they share.
#define FOR_TYPE(T)                                                                                                    \
    SIMD_CLONES void add_block(const T *x, const T *weighted, size_t size, size_t padded, T *matrix) {                 \
        add_block_of(x, weighted, size, padded, matrix);                                                               \
    }                                                                                                                  \
    SIMD_CLONES void multiply(const T *x, const T *weight, size_t entries, size_t padded, const T *v, T *y) {          \
        multiply_of(x, weight, entries, padded, v, y);                                                                 \
    }                                                                                                                  \
    SIMD_CLONES void weigh(const T *x, const T *curve, const T *target, size_t entries, size_t padded, T *weighted,    \
                           T *right) {                                                                                 \
        weigh_of(x, curve, target, entries, padded, weighted, right);                                                  \
    }                                                                                                                  \
    SIMD_CLONES void residual(const T *x, const T *curve, const T *target, size_t entries, size_t padded, const T *v,  \
                              T *rest, T *diagonal) {                                                                  \
        residual_of(x, curve, target, entries, padded, v, rest, diagonal);                                             \
    }                                                                                                                  \
    SIMD_CLONES void add_scaled(T *sum, const T *x, T scale, size_t n) {                                               \
        for (size_t k = 0; k < n; ++k) sum[k] += scale * x[k];                                                         \
    }
FOR_TYPE(float)
FOR_TYPE(double)

// The bundles Side and Terms.
using SideArrays = std::tuple<In<int64_t>, In<int32_t>, In<int64_t>>;
using TermArrays = std::tuple<In<double>, In<double>>;

// Run task(first row, end) over pieces of rows with about as many entries each.
template <typename Run> void over_rows(const int64_t *ptr, size_t rows, double work, int64_t threads, Run run) {
    if (work < WORTH || threads == 1) {
        if (rows) run(size_t{0}, rows);
        return;
    }
    std::vector<size_t> bounds{0};
    const int64_t entries = ptr[rows];
    for (size_t c = 1; c <= CHUNKS; ++c) {
        const int64_t wanted = entries / static_cast<int64_t>(CHUNKS) * static_cast<int64_t>(c);
        const size_t row = c == CHUNKS ? rows : static_cast<size_t>(std::lower_bound(ptr, ptr + rows, wanted) - ptr);
        if (row > bounds.back()) bounds.push_back(row);
    }
    for_each_task(bounds.size() - 1, [&](size_t c) { run(bounds[c], bounds[c + 1]); }, static_cast<size_t>(threads));
}

// What both ways to solve share: the entries of a side and what the other side says of them.
template <typename T> class Entries {
  public:
    const int64_t *ptr;
    const int32_t *other;
    size_t size, padded;
    std::vector<T> target, curve; // of the entries of a row, once it is read
    size_t count = 0;

    Entries(const SideArrays &side, const TermArrays &terms, const In2<T> &other_row, double mean)
        : ptr(std::get<0>(side).data()), other(std::get<1>(side).data()), size(other_row.shape(1)),
          padded((size + WIDTH<T> - 1) / WIDTH<T> * WIDTH<T>), entry(std::get<2>(side).data()),
          targets(std::get<0>(terms).data()), curves(std::get<1>(terms).data()),
          is_common(std::get<1>(terms).size() == 1 && std::get<0>(terms).size() != 1), row(other_row.data()), mean(mean) {}

    // Fetch the terms of all entries of a row in one go: they lie far apart, and reads that need not wait overlap.
    void read(size_t r) {
        const int64_t begin = ptr[r];
        count = static_cast<size_t>(ptr[r + 1] - begin);
        if (target.size() < count) {
            target.resize(count);
            curve.resize(count);
        }
        for (size_t e = 0; e < count; ++e) target[e] = static_cast<T>(targets[entry[begin + static_cast<int64_t>(e)]]);
        if (is_common)
            std::fill_n(curve.begin(), count, static_cast<T>(curves[0]));
        else
            for (size_t e = 0; e < count; ++e) curve[e] = static_cast<T>(curves[entry[begin + static_cast<int64_t>(e)]]);
    }
    // Write x of entry e of the row, padded with zeros, and take the other row's share off its target.
    void gather(size_t r, size_t e, T *x) {
        const T *own = row + other_of(r, e) * size;
        std::memcpy(x, own, size * sizeof(T));
        x[size - 1] = 1;
        for (size_t d = size; d < padded; ++d) x[d] = 0;
        target[e] -= curve[e] * static_cast<T>(mean + static_cast<double>(own[size - 1]));
    }
    size_t other_of(size_t r, size_t e) const { return static_cast<size_t>(other[ptr[r] + static_cast<int64_t>(e)]); }

  private:
    const int64_t *entry;
    const double *targets, *curves;
    bool is_common;
    const T *row; // of the other side: factors, then the bias
    double mean;
};

// ---- exactly ----
// The lower triangle of the covariance of a row stands in size (size + 1) / 2 numbers, row by row; its last row belongs
// to the bias.
template <typename T> class Exact {
  public:
    Exact(const Entries<T> &entries, const In2<T> &spread, const double *ridge)
        : all(entries), spread(spread.data()), packed(spread.shape(1)), ridge(ridge), x(BLOCK * all.padded),
          weighted(BLOCK * all.padded), sum(all.size * all.padded), right(all.padded), spreads(packed),
          data(all.size * all.size), factor(all.size * all.size), inverse(all.size * all.size), w(all.size) {}

    void solve_row(size_t r, T *row, T *own_spread, double *doubt, double *log_det) {
        collect(r);
        const size_t n = all.size;
        factorise_with_ridge();
        for (size_t a = 0; a < n; ++a) w[a] = static_cast<double>(right[a]);
        if (packed) // what the other row's bias and factors have in common
            for (size_t a = 0; a + 1 < n; ++a) w[a] -= static_cast<double>(spreads[bias_row() + a]);
        solve(factor.data(), n, w.data());
        for (size_t a = 0; a < n; ++a) row[a] = static_cast<T>(w[a]);
        *log_det = log_determinant(factor.data(), n);
        *doubt = 0;
        if (!packed) return;
        invert(factor.data(), n, 0.0, inverse.data());
        for (size_t a = 0, k = 0; a < n; ++a)
            for (size_t c = 0; c <= a; ++c) own_spread[k++] = static_cast<T>(inverse[a * n + c]);
        *doubt = variance();
    }

  private:
    size_t bias_row() const { return all.size * (all.size - 1) / 2; }

    void collect(size_t r) {
        const size_t n = all.size, p = all.padded;
        all.read(r);
        std::fill(sum.begin(), sum.end(), T{0});
        std::fill(right.begin(), right.end(), T{0});
        std::fill(spreads.begin(), spreads.end(), T{0});
        for (size_t first = 0; first < all.count; first += BLOCK) {
            const size_t end = std::min(all.count, first + BLOCK);
            for (size_t e = first; e < end; ++e) {
                all.gather(r, e, x.data() + (e - first) * p);
                if (packed) add_scaled(spreads.data(), spread + all.other_of(r, e) * packed, all.curve[e], packed);
            }
            weigh(x.data(), &all.curve[first], &all.target[first], end - first, p, weighted.data(), right.data());
            std::fill(weighted.begin() + static_cast<long>((end - first) * p), weighted.end(), T{0});
            add_block(x.data(), weighted.data(), n, p, sum.data());
        }
        for (size_t a = 0, k = 0; a < n; ++a)
            for (size_t c = 0; c <= a; ++c, ++k) {
                double value = static_cast<double>(sum[a * p + c]);
                if (packed && a + 1 < n) value += static_cast<double>(spreads[k]);
                data[a * n + c] = data[c * n + a] = value;
            }
    }

    void factorise_with_ridge() {
        const size_t n = all.size;
        double largest = 0;
        for (size_t a = 0; a < n; ++a) largest = std::max(largest, data[a * n + a] + ridge[a]);
        for (double nudge = 0;; nudge = nudge > 0 ? 10 * nudge : NUDGE * largest) {
            factor = data;
            for (size_t a = 0; a < n; ++a) factor[a * n + a] += ridge[a] + nudge;
            if (factorise(factor.data(), n) || !(nudge < largest)) return;
        }
    }

    // Sum of curve times the variance of the score, over the entries of the row: both sides are uncertain.
    double variance() const {
        const size_t n = all.size;
        double total = static_cast<double>(spreads[bias_row() + n - 1]); // of the other row's bias
        for (size_t a = 0; a < n; ++a)
            for (size_t c = 0; c < n; ++c) total += data[a * n + c] * inverse[a * n + c];
        for (size_t a = 0, k = 0; a + 1 < n; ++a) {
            total += 2 * w[a] * static_cast<double>(spreads[bias_row() + a]);
            for (size_t c = 0; c <= a; ++c, ++k) total += (a == c ? 1 : 2) * w[a] * w[c] * static_cast<double>(spreads[k]);
        }
        return total;
    }

    Entries<T> all;
    const T *spread;
    size_t packed;
    const double *ridge;
    std::vector<T> x, weighted, sum, right, spreads;
    std::vector<double> data, factor, inverse, w;
};

template <typename T>
nb::object ridge_rows(SideArrays side, TermArrays terms, In2<T> other_row, In2<T> other_spread, In<double> ridge,
                      double mean, int64_t threads) {
    const Entries<T> entries(side, terms, other_row, mean);
    const size_t rows = std::get<0>(side).size() - 1, size = entries.size, packed = other_spread.shape(1);
    Buffer<T> row(rows * size), spread(rows * packed);
    Buffer<double> doubt(rows), log_det(rows);
    {
        nb::gil_scoped_release release;
        const double work = static_cast<double>(entries.ptr[rows]) * static_cast<double>(size * size);
        over_rows(entries.ptr, rows, work, threads, [&](size_t from, size_t to) {
            Exact<T> exact(entries, other_spread, ridge.data());
            for (size_t r = from; r < to; ++r)
                exact.solve_row(r, row.get() + r * size, spread.get() + r * packed, &doubt[r], &log_det[r]);
        });
    }
    return named("Rows", row.give2(rows, size), spread.give2(rows, packed), doubt.give(), log_det.give());
}

// ---- by conjugate gradients ----
// For many factors: a step costs two products with every entry, where the matrix would cost as many as there are factors.
// Of the uncertainty only variances are kept: one over the diagonal of the matrix.
template <typename T> class Steps {
  public:
    Steps(const Entries<T> &entries, const In2<T> &spread, const double *ridge, int64_t max_steps)
        : all(entries), spread(spread.shape(1) ? spread.data() : nullptr), ridge(ridge), max_steps(max_steps), w(all.padded),
          rest(all.padded), along(all.padded), image(all.padded), scaled(all.padded), diagonal(all.padded),
          spreads(all.padded) {}

    void solve_row(size_t r, const T *start, T *row, T *own_spread, double *doubt, double *log_det) {
        const size_t n = all.size;
        std::fill(w.begin(), w.end(), T{0});
        for (size_t a = 0; a < n; ++a) w[a] = start[a];
        collect(r);
        iterate();
        for (size_t a = 0; a < n; ++a) row[a] = w[a];
        *doubt = *log_det = 0;
        for (size_t a = 0; a < n; ++a) *log_det += std::log(static_cast<double>(diagonal[a]));
        if (!spread) return;
        double total = static_cast<double>(spreads[n - 1]);
        for (size_t a = 0; a < n; ++a) {
            own_spread[a] = 1 / diagonal[a];
            total += (static_cast<double>(diagonal[a]) - ridge[a]) / static_cast<double>(diagonal[a]);
            if (a + 1 < n) total += static_cast<double>(w[a] * w[a] * spreads[a]);
        }
        *doubt = total;
    }

  private:
    void collect(size_t r) {
        all.read(r);
        const size_t n = all.size, p = all.padded, m = all.count;
        if (x.size() < m * p) x.resize(m * p);
        std::fill(rest.begin(), rest.end(), T{0});
        std::fill(diagonal.begin(), diagonal.end(), T{0});
        std::fill(spreads.begin(), spreads.end(), T{0});
        for (size_t e = 0; e < m; ++e) {
            all.gather(r, e, x.data() + e * p);
            if (spread) add_scaled(spreads.data(), spread + all.other_of(r, e) * n, all.curve[e], n);
        }
        residual(x.data(), all.curve.data(), all.target.data(), m, p, w.data(), rest.data(), diagonal.data());
        for (size_t a = 0; a < n; ++a) diagonal[a] += static_cast<T>(ridge[a]) + (a + 1 < n ? spreads[a] : T{0});
    }
    void times(const T *v, T *y) const {
        multiply(x.data(), all.curve.data(), all.count, all.padded, v, y);
        for (size_t a = 0; a < all.size; ++a)
            y[a] += (static_cast<T>(ridge[a]) + (a + 1 < all.size ? spreads[a] : T{0})) * v[a];
    }
    // Conjugate gradients, preconditioned by the diagonal, from w on; `rest` is what the entries leave of the right-hand
    // side at first, without the ridge.
    void iterate() {
        const size_t n = all.size;
        T size = 0;
        for (size_t a = 0; a < n; ++a) {
            rest[a] -= (static_cast<T>(ridge[a]) + (a + 1 < n ? spreads[a] : T{0})) * w[a];
            scaled[a] = along[a] = rest[a] / diagonal[a];
            size += rest[a] * scaled[a];
        }
        for (int64_t step = 0; step < max_steps && size > 0; ++step) {
            times(along.data(), image.data());
            T bend = 0, next = 0;
            for (size_t a = 0; a < n; ++a) bend += along[a] * image[a];
            if (!(bend > 0)) return;
            const T length = size / bend;
            for (size_t a = 0; a < n; ++a) {
                w[a] += length * along[a];
                rest[a] -= length * image[a];
                scaled[a] = rest[a] / diagonal[a];
                next += rest[a] * scaled[a];
            }
            for (size_t a = 0; a < n; ++a) along[a] = scaled[a] + next / size * along[a];
            size = next;
        }
    }

    Entries<T> all;
    const T *spread;
    const double *ridge;
    int64_t max_steps;
    std::vector<T> w, rest, along, image, scaled, diagonal, spreads, x;
};

// The bundle StepsFrom: rows of the side to start from, and how many steps to take.
template <typename T>
nb::object ridge_steps(SideArrays side, TermArrays terms, In2<T> other_row, In2<T> other_spread, In<double> ridge,
                       double mean, std::tuple<In2<T>, int64_t> begin, int64_t threads) {
    const auto &[start, max_steps] = begin;
    const Entries<T> entries(side, terms, other_row, mean);
    const size_t rows = std::get<0>(side).size() - 1, size = entries.size, width = other_spread.shape(1);
    Buffer<T> row(rows * size), spread(rows * width);
    Buffer<double> doubt(rows), log_det(rows);
    {
        nb::gil_scoped_release release;
        const T *first = start.data();
        const int64_t steps = max_steps;
        const double work = static_cast<double>(entries.ptr[rows]) * static_cast<double>(size) * static_cast<double>(max_steps);
        over_rows(entries.ptr, rows, work, threads, [&](size_t from, size_t to) {
            Steps<T> solver(entries, other_spread, ridge.data(), steps);
            for (size_t r = from; r < to; ++r)
                solver.solve_row(r, first + r * size, row.get() + r * size, spread.get() + r * width, &doubt[r],
                                 &log_det[r]);
        });
    }
    return named("Rows", row.give2(rows, size), spread.give2(rows, width), doubt.give(), log_det.give());
}

// ---- scores ----
template <typename T>
Out<double> factor_scores(In<int64_t> ptr, In<int32_t> other, In2<T> row, In2<T> other_row, double mean,
                          int64_t threads) {
    Buffer<double> score(other.size());
    {
        nb::gil_scoped_release release;
        const size_t rows = ptr.size() - 1, size = row.shape(1), factors = size - 1;
        const double work = static_cast<double>(other.size()) * static_cast<double>(size);
        over_rows(ptr.data(), rows, work, threads, [&](size_t from, size_t to) {
            for (size_t r = from; r < to; ++r) {
                const T *own = row.data() + r * size;
                for (int64_t k = ptr.data()[r]; k < ptr.data()[r + 1]; ++k) {
                    const T *theirs = other_row.data() + static_cast<size_t>(other.data()[k]) * size;
                    T sum[4] = {};
                    size_t d = 0;
                    for (; d + 4 <= factors; d += 4)
                        for (size_t t = 0; t < 4; ++t) sum[t] += own[d + t] * theirs[d + t];
                    for (; d < factors; ++d) sum[0] += own[d] * theirs[d];
                    const T product = (sum[0] + sum[1]) + (sum[2] + sum[3]);
                    score[static_cast<size_t>(k)] = mean + static_cast<double>(own[factors] + theirs[factors] + product);
                }
            }
        });
    }
    return score.give();
}

// ---- pairs drawn at random ----
// One stochastic step per pair (agent, better, worse) on log(1 + exp(-lead)), in their order.
template <typename T>
nb::tuple pair_steps(In<int32_t> agent, In<int32_t> better, In<int32_t> worse, In2<T> of_agent, In2<T> of_item,
                     double rate, double shrink) {
    const size_t size = of_agent.shape(1), factors = size - 1;
    Buffer<T> agents(of_agent.size()), items(of_item.size());
    double loss = 0;
    {
        nb::gil_scoped_release release;
        std::copy_n(of_agent.data(), of_agent.size(), agents.get());
        std::copy_n(of_item.data(), of_item.size(), items.get());
        const T keep = static_cast<T>(1 - rate * shrink);
        Interrupts interrupts;
        for (size_t e = 0; e < agent.size(); ++e) {
            interrupts.poll(16 * size);
            T *w = agents.get() + static_cast<size_t>(agent.data()[e]) * size;
            T *good = items.get() + static_cast<size_t>(better.data()[e]) * size;
            T *bad = items.get() + static_cast<size_t>(worse.data()[e]) * size;
            T sum = good[factors] - bad[factors];
            for (size_t d = 0; d < factors; ++d) sum += w[d] * (good[d] - bad[d]);
            const double lead = static_cast<double>(sum), power = std::exp(-std::fabs(lead));
            const double miss = lead > 0 ? power / (1 + power) : 1 / (1 + power);
            loss += std::log1p(power) + std::max(0.0, -lead);
            const T step = static_cast<T>(rate * miss);
            for (size_t d = 0; d < factors; ++d) {
                const T own = w[d], lead_d = good[d] - bad[d];
                w[d] = keep * own + step * lead_d;
                good[d] = keep * good[d] + step * own;
                bad[d] = keep * bad[d] - step * own;
            }
            good[factors] = keep * good[factors] + step;
            bad[factors] = keep * bad[factors] - step;
        }
    }
    return nb::make_tuple(agents.give2(of_agent.shape(0), size), items.give2(of_item.shape(0), size), loss);
}

template <typename T> void bind_type(nb::module_ &m) {
    m.def("factor_scores", &factor_scores<T>, "ptr"_a.noconvert(), "other"_a.noconvert(), "row"_a.noconvert(),
          "other_row"_a.noconvert(), "mean"_a, "threads"_a);
    m.def("pair_steps", &pair_steps<T>, "agent"_a.noconvert(), "better"_a.noconvert(), "worse"_a.noconvert(),
          "of_agent"_a.noconvert(), "of_item"_a.noconvert(), "rate"_a, "shrink"_a);
    m.def("ridge_rows", &ridge_rows<T>, "side"_a.noconvert(), "terms"_a.noconvert(), "other_row"_a.noconvert(),
          "other_spread"_a.noconvert(), "ridge"_a.noconvert(), "mean"_a, "threads"_a);
    m.def("ridge_steps", &ridge_steps<T>, "side"_a.noconvert(), "terms"_a.noconvert(), "other_row"_a.noconvert(),
          "other_spread"_a.noconvert(), "ridge"_a.noconvert(), "mean"_a, "begin"_a.noconvert(), "threads"_a);
}

} // namespace

void bind_factorisation(nb::module_ &m) {
    bind_type<float>(m);
    bind_type<double>(m);
}
