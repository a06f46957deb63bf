// Duels: pairs of candidates with how often each won and how often they tied, and the score models fitted to them.
//
// A duel's log-likelihood depends on the scores only through d = score[first] - score[second] (plus the advantage of
// the item shown first). `x` is the tie parameter of the models that have one. `row_term` is the only place that knows
// the models; everything else adds up its derivatives.
#include "cholesky.hpp"
#include "duels.hpp"

#include <algorithm>
#include <utility>

namespace {

struct Rows {
    const int32_t *first, *second;
    const double *won, *lost, *tied, *order; // order may be null: nobody is shown first
};

// (value, gradient by slot, slope, curve and cross by row, slope and curve of the tie parameter)
nb::tuple duel_terms(In<int32_t> first, In<int32_t> second, In<double> won, In<double> lost, In<double> tied,
                     In<double> order, In<double> score, double advantage, double x, int model) {
    size_t rows = first.size(), n = score.size();
    Buffer<double> gradient(n, 0.0), slope(rows), curve(rows), cross(rows);
    double value = 0, slope_x = 0, curve_x = 0;
    const double *o = order.size() ? order.data() : nullptr;
    {
        nb::gil_scoped_release unlocked;
        const double *s = score.data();
        for (size_t r = 0; r < rows; ++r) {
            int32_t i = first.data()[r], j = second.data()[r];
            double d = s[i] - s[j] + (o ? o[r] * advantage : 0.0);
            Term t = row_term(model, d, x, won.data()[r], lost.data()[r], tied.data()[r]);
            value += t.value;
            slope_x += t.slope_x;
            curve_x += t.curve_x;
            slope[r] = t.slope;
            curve[r] = t.curve;
            cross[r] = t.cross;
            gradient[i] += t.slope;
            gradient[j] -= t.slope;
        }
    }
    curve_x += bend_of_tie(model, x, slope_x);
    return nb::make_tuple(value, gradient.give(), slope.give(), curve.give(), cross.give(), slope_x, curve_x);
}

// The matrix of sum_r weight[r] (e_i - e_j)(e_i - e_j)', dense.
Out2<double> laplacian(In<int32_t> first, In<int32_t> second, In<double> weight, int64_t size) {
    size_t n = static_cast<size_t>(size);
    Buffer<double> result(n * n, 0.0);
    {
        nb::gil_scoped_release unlocked;
        for (size_t r = 0; r < first.size(); ++r) {
            size_t i = static_cast<size_t>(first.data()[r]), j = static_cast<size_t>(second.data()[r]);
            double w = weight.data()[r];
            result[i * n + i] += w;
            result[j * n + j] += w;
            result[i * n + j] -= w;
            result[j * n + i] -= w;
        }
    }
    return result.give2(n, n);
}

// The same matrix times many vectors at once (x has one row per slot), without building it.
Out2<double> laplacian_product(In<int32_t> first, In<int32_t> second, In<double> weight, In2<double> x) {
    size_t n = x.shape(0), k = x.shape(1);
    Buffer<double> result(n * k, 0.0);
    {
        nb::gil_scoped_release unlocked;
        for (size_t r = 0; r < first.size(); ++r) {
            size_t i = static_cast<size_t>(first.data()[r]) * k, j = static_cast<size_t>(second.data()[r]) * k;
            double w = weight.data()[r];
            for (size_t c = 0; c < k; ++c) {
                double flow = w * (x.data()[i + c] - x.data()[j + c]);
                result[i + c] += flow;
                result[j + c] -= flow;
            }
        }
    }
    return result.give2(n, k);
}

// One small instance: its rows, its parameters (scores, then the advantage, then the tie parameter).
struct Problem {
    Rows rows;
    size_t n_rows, m;
    int64_t base;
    int model;
    bool has_order, has_tie, is_gamma;
    double ridge, ridge_extra;

    size_t n_extra() const { return static_cast<size_t>(has_order) + static_cast<size_t>(has_tie); }
    size_t size() const { return m + n_extra(); }

    double start_of_tie() const {
        double ties = 0, all = 0;
        for (size_t r = 0; r < n_rows; ++r) {
            ties += rows.tied[r];
            all += rows.won[r] + rows.lost[r] + rows.tied[r];
        }
        double share = all > 0 ? ties / all : 0.0;
        if (share <= 0) return -5.0;
        if (share >= 1) return 5.0;
        return std::min(5.0, std::max(-5.0, std::log(2 * share / (1 - share))));
    }

    double penalty(const double *p) const {
        double total = 0;
        for (size_t i = 0; i < m; ++i) total += is_gamma ? ridge * (p[i] - std::exp(p[i]) + 1) : -0.5 * ridge * p[i] * p[i];
        for (size_t e = m; e < size(); ++e) total -= 0.5 * ridge_extra * p[e] * p[e];
        return total;
    }

    double value(const double *p) const {
        double total = 0, x = has_tie ? p[size() - 1] : 0.0, h = has_order ? p[m] : 0.0;
        for (size_t r = 0; r < n_rows; ++r) {
            double d = p[rows.first[r] - base] - p[rows.second[r] - base] + (has_order ? rows.order[r] * h : 0.0);
            total += row_term(model, d, x, rows.won[r], rows.lost[r], rows.tied[r]).value;
        }
        return total;
    }

    // Returns the log-likelihood; fills the gradient and the negative Hessian of the penalised one, which is made
    // definite by leaving out what the bend of the tie parameter takes away, or is exact. `along` becomes the
    // curvature along "all scores up by the same", which is no part of the model (1 where it is).
    double expand(const double *p, double *gradient, double *hessian, double &along, bool is_exact) const {
        size_t n = size(), tie = n - 1;
        double total = 0, x = has_tie ? p[tie] : 0.0, h = has_order ? p[m] : 0.0;
        std::fill_n(gradient, n, 0.0);
        std::fill_n(hessian, n * n, 0.0);
        for (size_t r = 0; r < n_rows; ++r) {
            size_t i = static_cast<size_t>(rows.first[r] - base), j = static_cast<size_t>(rows.second[r] - base);
            double o = has_order ? rows.order[r] : 0.0;
            Term t = row_term(model, p[i] - p[j] + o * h, x, rows.won[r], rows.lost[r], rows.tied[r]);
            total += t.value;
            gradient[i] += t.slope;
            gradient[j] -= t.slope;
            hessian[i * n + i] += t.curve;
            hessian[j * n + j] += t.curve;
            hessian[i * n + j] -= t.curve;
            hessian[j * n + i] -= t.curve;
            if (has_order) {
                gradient[m] += o * t.slope;
                hessian[m * n + m] += o * o * t.curve;
                hessian[m * n + i] += o * t.curve;
                hessian[m * n + j] -= o * t.curve;
            }
            if (has_tie) {
                gradient[tie] += t.slope_x;
                hessian[tie * n + tie] += t.curve_x;
                hessian[tie * n + i] += t.cross;
                hessian[tie * n + j] -= t.cross;
                if (has_order) hessian[tie * n + m] += o * t.cross;
            }
        }
        if (has_tie) {
            double bend = bend_of_tie(model, x, gradient[tie]);
            hessian[tie * n + tie] += is_exact ? bend : std::max(0.0, bend);
        }
        double spread = 0;
        for (size_t i = 0; i < m; ++i) {
            double worth = is_gamma ? std::exp(p[i]) : 0.0;
            spread += hessian[i * n + i];
            gradient[i] += is_gamma ? ridge * (1 - worth) : -ridge * p[i];
            hessian[i * n + i] += is_gamma ? ridge * worth : ridge;
        }
        for (size_t e = m; e < n; ++e) {
            gradient[e] -= ridge_extra * p[e];
            hessian[e * n + e] += ridge_extra;
        }
        // Scores add up to nothing: the direction of all ones carries no information under a Gaussian prior, and a
        // full weight on it makes the matrix definite without changing the step or the centred inverse.
        along = 1;
        if (!is_gamma) {
            double level = spread > 0 ? spread / static_cast<double>(m * m) : 1.0;
            for (size_t i = 0; i < m; ++i)
                for (size_t j = 0; j < m; ++j) hessian[i * n + j] += level;
            along = level * static_cast<double>(m) + ridge;
        }
        return total;
    }
};

struct Workspace {
    std::vector<double> hessian, gradient, step, point, trial, inverse;
    double along = 1;
};

struct Result {
    double value, slack;
    int32_t iterations;
};

Result newton(const Problem &problem, Workspace &w) {
    size_t n = problem.size(), m = problem.m;
    w.hessian.resize(n * n);
    w.gradient.resize(n);
    w.step.resize(n);
    w.point.assign(n, 0.0);
    w.trial.resize(n);
    if (problem.has_tie) w.point[n - 1] = problem.start_of_tie();
    double value = problem.expand(w.point.data(), w.gradient.data(), w.hessian.data(), w.along, false);
    double penalised = value + problem.penalty(w.point.data());
    int32_t iteration = 0;
    double slack = 0;
    for (; iteration < MAX_NEWTON; ++iteration) {
        if (!factorise(w.hessian.data(), n)) break;
        std::copy(w.gradient.begin(), w.gradient.end(), w.step.begin());
        solve(w.hessian.data(), n, w.step.data());
        double rise = 0, largest = 0;
        for (size_t k = 0; k < n; ++k) {
            rise += w.step[k] * w.gradient[k];
            largest = std::max(largest, std::abs(w.step[k]));
        }
        double size = 1.0;
        for (int half = 0; half < 60; ++half, size /= 2) {
            double mean = 0;
            for (size_t k = 0; k < n; ++k) w.trial[k] = w.point[k] + size * w.step[k];
            if (!problem.is_gamma) {
                for (size_t i = 0; i < m; ++i) mean += w.trial[i];
                for (size_t i = 0; i < m; ++i) w.trial[i] -= mean / static_cast<double>(m);
            }
            double reached = problem.value(w.trial.data()) + problem.penalty(w.trial.data());
            if (reached >= penalised + 1e-4 * size * rise - 1e-12 * (1 + std::abs(penalised))) break;
        }
        w.point.swap(w.trial);
        value = problem.expand(w.point.data(), w.gradient.data(), w.hessian.data(), w.along, false);
        penalised = value + problem.penalty(w.point.data());
        if (size == 1.0 && largest < NEWTON_STEP) {
            ++iteration;
            break;
        }
    }
    for (double g : w.gradient) slack = std::max(slack, std::abs(g));
    return {value, slack, iteration};
}

nb::tuple fit_duels(In<int64_t> slot_ptr, In<int64_t> duel_ptr, In<int32_t> first, In<int32_t> second, In<double> won,
                    In<double> lost, In<double> tied, In<double> order, int model, bool is_gamma, In<double> ridge,
                    In<double> ridge_extra, bool with_errors) {
    size_t instances = slot_ptr.size() - 1, slots = static_cast<size_t>(slot_ptr.data()[instances]), cells = 0;
    for (size_t q = 0; with_errors && q < instances; ++q) {
        size_t m = static_cast<size_t>(slot_ptr.data()[q + 1] - slot_ptr.data()[q]);
        cells += m * m;
    }
    Buffer<double> score(slots, 0.0), advantage(instances, 0.0), tie(instances, 0.0), covariance(cells, 0.0);
    Buffer<double> extra_variance(2 * instances, 0.0), value(instances, 0.0), slack(instances, 0.0);
    Buffer<double> log_det(instances, 0.0);
    Buffer<int32_t> iterations(instances, 0);
    {
        nb::gil_scoped_release unlocked;
        Workspace w;
        double *block = covariance.get();
        for (size_t q = 0; q < instances; ++q) {
            int64_t base = slot_ptr.data()[q], from = duel_ptr.data()[q];
            size_t m = static_cast<size_t>(slot_ptr.data()[q + 1] - base);
            Rows rows{first.data() + from, second.data() + from, won.data() + from, lost.data() + from,
                      tied.data() + from,  order.size() ? order.data() + from : nullptr};
            Problem problem{rows,
                            static_cast<size_t>(duel_ptr.data()[q + 1] - from),
                            m,
                            base,
                            model,
                            order.size() > 0,
                            model >= DAVIDSON,
                            is_gamma,
                            ridge.data()[q],
                            ridge_extra.data()[q]};
            if (m == 0) continue;
            Result found = newton(problem, w);
            size_t n = problem.size();
            std::copy_n(w.point.data(), m, score.get() + base);
            if (problem.has_order) advantage[q] = w.point[m];
            if (problem.has_tie) tie[q] = w.point[n - 1];
            value[q] = found.value;
            slack[q] = found.slack;
            iterations[q] = found.iterations;
            if (problem.has_tie) problem.expand(w.point.data(), w.gradient.data(), w.hessian.data(), w.along, true);
            bool is_definite = factorise(w.hessian.data(), n);
            if (!is_definite && problem.has_tie) { // the search did not quite end at a maximum
                problem.expand(w.point.data(), w.gradient.data(), w.hessian.data(), w.along, false);
                is_definite = factorise(w.hessian.data(), n);
            }
            if (is_definite) log_det[q] = log_determinant(w.hessian.data(), n) - std::log(w.along);
            if (!with_errors) continue;
            if (is_definite) {
                w.inverse.resize(n * n);
                invert(w.hessian.data(), n, 0.0, w.inverse.data());
                if (problem.has_order) extra_variance[2 * q] = w.inverse[m * n + m];
                if (problem.has_tie) extra_variance[2 * q + 1] = w.inverse[n * n - 1];
                std::vector<double> &mean = w.trial;
                double all = 0;
                for (size_t i = 0; i < m; ++i) {
                    mean[i] = 0;
                    for (size_t j = 0; j < m; ++j) mean[i] += w.inverse[i * n + j];
                    mean[i] /= static_cast<double>(m);
                    all += mean[i];
                }
                all /= static_cast<double>(m);
                for (size_t i = 0; i < m; ++i)
                    for (size_t j = 0; j < m; ++j)
                        block[i * m + j] = w.inverse[i * n + j] - mean[i] - mean[j] + all;
            }
            block += m * m;
        }
    }
    return nb::make_tuple(score.give(), advantage.give(), tie.give(), covariance.give(),
                          extra_variance.give2(instances, 2), value.give(), slack.give(), log_det.give(), iterations.give());
}

// Derivatives of the log-likelihood of single ballots, all pairs of a ballot together: by entry that of its item's
// score, by ballot those of the advantage and the tie parameter. A pair counts `level` difference (or once), nothing
// inside the last tier of an open ballot. `level`, `shown` and `is_open` may be empty.
nb::tuple ballot_slopes(In<int64_t> indptr, In<int64_t> slot, In<int32_t> tier, In<double> level, In<int32_t> shown,
                        In<uint8_t> is_open, In<int32_t> instance, In<double> score, In<double> advantage,
                        In<double> tie, int model) {
    size_t ballots = indptr.size() - 1;
    Buffer<double> slope(slot.size(), 0.0), extra(2 * ballots, 0.0);
    {
        nb::gil_scoped_release unlocked;
        const double *l = level.size() ? level.data() : nullptr;
        const int32_t *s = shown.size() ? shown.data() : nullptr;
        bool is_plain = model == BRADLEY_TERRY && !l && !s;
        std::vector<double> worth;
        for (size_t b = 0; b < ballots; ++b) {
            size_t from = static_cast<size_t>(indptr.data()[b]), to = static_cast<size_t>(indptr.data()[b + 1]);
            if (to - from < 2) continue;
            size_t q = static_cast<size_t>(instance.data()[b]);
            int32_t open_tier = is_open.size() && is_open.data()[b] ? tier.data()[to - 1] : -1;
            if (is_plain) {
                worth.resize(to - from);
                double top = score.data()[slot.data()[from]];
                for (size_t k = from; k < to; ++k) top = std::max(top, score.data()[slot.data()[k]]);
                for (size_t k = from; k < to; ++k)
                    worth[k - from] = std::exp(std::max(score.data()[slot.data()[k]] - top, -600.0));
            }
            for (size_t i = from; i < to; ++i) {
                bool is_rest = tier.data()[i] == open_tier;
                for (size_t j = i + 1; j < to; ++j) {
                    bool is_tie = tier.data()[i] == tier.data()[j];
                    if (is_tie && is_rest) break;
                    if (is_plain) {
                        double rest = worth[j - from] / (worth[i - from] + worth[j - from]) - (is_tie ? 0.5 : 0.0);
                        slope[i] += rest;
                        slope[j] -= rest;
                        continue;
                    }
                    double lead = s ? (s[i] < s[j]) - (s[i] > s[j]) : 0.0, amount = l ? std::abs(l[i] - l[j]) : 1.0;
                    double d = score.data()[slot.data()[i]] - score.data()[slot.data()[j]] + lead * advantage.data()[q];
                    Term t = row_term(model, d, tie.data()[q], is_tie ? 0 : amount, 0, is_tie ? amount : 0);
                    slope[i] += t.slope;
                    slope[j] -= t.slope;
                    extra[2 * b] += lead * t.slope;
                    extra[2 * b + 1] += t.slope_x;
                }
            }
        }
    }
    return nb::make_tuple(slope.give(), extra.give2(ballots, 2));
}

} // namespace

void bind_duels(nb::module_ &m) {
    m.def("duel_terms", &duel_terms, "first"_a.noconvert(), "second"_a.noconvert(), "won"_a.noconvert(),
          "lost"_a.noconvert(), "tied"_a.noconvert(), "order"_a.noconvert(), "score"_a.noconvert(), "advantage"_a,
          "tie"_a, "model"_a);
    m.def("laplacian", &laplacian, "first"_a.noconvert(), "second"_a.noconvert(), "weight"_a.noconvert(), "size"_a);
    m.def("laplacian_product", &laplacian_product, "first"_a.noconvert(), "second"_a.noconvert(),
          "weight"_a.noconvert(), "x"_a.noconvert());
    m.def("ballot_slopes", &ballot_slopes, "indptr"_a.noconvert(), "slot"_a.noconvert(), "tier"_a.noconvert(),
          "level"_a.noconvert(), "shown"_a.noconvert(), "is_open"_a.noconvert(), "instance"_a.noconvert(),
          "score"_a.noconvert(), "advantage"_a.noconvert(), "tie"_a.noconvert(), "model"_a);
    m.def("fit_duels", &fit_duels, "slot_ptr"_a.noconvert(), "duel_ptr"_a.noconvert(), "first"_a.noconvert(),
          "second"_a.noconvert(), "won"_a.noconvert(), "lost"_a.noconvert(), "tied"_a.noconvert(),
          "order"_a.noconvert(), "model"_a, "is_gamma"_a, "ridge"_a.noconvert(), "ridge_extra"_a.noconvert(),
          "with_errors"_a);
}
