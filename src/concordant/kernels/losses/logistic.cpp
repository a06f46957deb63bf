// Minus the log-likelihood of all pairs of a query: Bradley-Terry (RankNet), Rao-Kupper, Davidson, as in duels.hpp.
//
// Two objects meet in a pair, but the exponential is taken per object: with u = e^(f - middle) a pair's e^-d is
// u_j / u_i, a product. The logarithms are not taken per pair either, but of products of as many factors as fit. That
// leaves one division per pair. All pairs are visited: O(n^2) time, O(n) memory.
//
// Bradley-Terry: log(1 + e^(c - d)) with c = 0 for i over j. Rao-Kupper: a tie counts both "i over j" and "j over i"
// and a constant. So a row's pairs are always a suffix: from the end of its own tier, or with ties from its beginning
// (itself included, which adds another constant, taken off again).
#include "duels.hpp"
#include "tiered.hpp"

namespace {

struct Scratch {
    std::vector<double> up, down, gain, direction;
    std::vector<size_t> next; // per row, the first position it has not met yet
    explicit Scratch(size_t largest)
        : up(scratch_for(largest)), down(scratch_for(largest)), gain(scratch_for(largest)),
          direction(scratch_for(largest)), next(largest) {}

    // Rows meet what is below their tier; with ties also their own tier.
    void set_rows(const TieredQuery &query, bool with_ties) {
        for (size_t from = 0, to; from < query.n; from = to) {
            to = query.tier_end(from);
            std::fill(next.begin() + static_cast<std::ptrdiff_t>(from), next.begin() + static_cast<std::ptrdiff_t>(to),
                      with_ties ? from : to);
        }
    }
    void clear_gain(size_t n) { std::fill_n(gain.begin(), n + 2 * LANES, 0.0); }
};

struct Sums {
    double value, shift; // the value and its slope in c or the tie parameter
};

// Visit the rows tile by tile: body(row, from, stop) works lanes from..stop and says where it went on to.
template <typename Body> ALWAYS_INLINE void for_each_row(size_t n, std::vector<size_t> &next, Body &&body) {
    for (size_t tile = 0; tile < n; tile += TILE) {
        size_t stop = std::min(n, tile + TILE);
        for (size_t i = 0; i < n; ++i) {
            if (next[i] >= stop) {
                if (i >= stop) break;
                continue;
            }
            next[i] = body(i, next[i], stop);
        }
    }
}

// sum log(1 + theta u_j / u_i); gain[k] collects the slope in f_k.
SIMD_CLONES Sums logistic_fast(size_t n, double theta, double log_of_largest, Scratch &s) {
    const double *up = s.up.data();
    double *gain = s.gain.data();
    LogProduct product(log_of_largest);
    double shift = 0;
    for_each_row(n, s.next, [&](size_t i, size_t j, size_t stop) {
        const double odds = theta * s.down[i];
        Lanes lost = Lanes{};
        j = product.multiply(j, stop, [&](size_t at) {
            Lanes t = odds * load(up + at), all = 1.0 + t, chance = t / all;
            lost += chance;
            store(gain + at, load(gain + at) + chance);
            return all;
        });
        double all_lost = sum_of(lost);
        gain[i] -= all_lost;
        shift += all_lost;
        return j;
    });
    return {product.logarithm(), shift};
}

SIMD_CLONES void logistic_hessian_fast(size_t n, Scratch &s) {
    const double *up = s.up.data(), *v = s.direction.data();
    double *gain = s.gain.data();
    for_each_row(n, s.next, [&](size_t i, size_t j, size_t stop) {
        const double odds = s.down[i], at = -v[i];
        Lanes moved = Lanes{};
        for (; j < stop; j += LANES) {
            Lanes t = odds * load(up + j), part = 1.0 / (1.0 + t), chance = t * part;
            Lanes change = chance * part * (at + load(v + j));
            moved += change;
            store(gain + j, load(gain + j) + change);
        }
        gain[i] -= sum_of(moved);
        return j;
    });
}

void logistic_hessian_safe(const TieredQuery &query, Scratch &s) {
    for (size_t i = 0; i < query.n; ++i)
        for (size_t j = s.next[i]; j < query.n; ++j) {
            double d = query.score[i] - query.score[j];
            double change = sigmoid_of(d) * sigmoid_of(-d) * (s.direction[j] - s.direction[i]);
            s.gain[i] -= change;
            s.gain[j] += change;
        }
}

// The Hessian of the sum of log(1 + e^-d) over pairs, times a direction, by position.
Out<double> logistic_hessian_product(In<double> score, In<int64_t> ptr, In<int32_t> tier, In<double> weight,
                                     In<double> direction) {
    Buffer<double> product(score.size(), 0.0);
    {
        nb::gil_scoped_release release;
        Scratch s(largest_query(ptr));
        double no_number = 0;
        for_each_query(score, ptr, tier, weight, [&](const TieredQuery &query) {
            if (query.n < 2 || !query.has_pairs()) return;
            if (is_no_number(query, no_number, product)) return;
            Span span = span_of(query.score, query.n);
            s.set_rows(query, false);
            s.clear_gain(query.n);
            std::copy_n(direction.data() + query.base, query.n, s.direction.begin());
            std::fill_n(s.direction.begin() + static_cast<std::ptrdiff_t>(query.n), 2 * LANES, 0.0);
            if (span.width() < WIDEST) {
                fill_odds(query, span.middle(), 1.0, s.up.data(), s.down.data());
                logistic_hessian_fast(query.n, s);
            } else
                logistic_hessian_safe(query, s);
            for (size_t i = 0; i < query.n; ++i) product[query.base + i] = query.weight * s.gain[i];
        });
    }
    return product.give();
}

// ---- Davidson: P(win) : P(loss) : P(tie) = 1 : q^2 : nu q with q = e^(-d/2) ----
// All pairs i < j share log(1 + nu q + q^2); a tie takes log(nu q) off, which is linear in the scores.

SIMD_CLONES Sums davidson_fast(size_t n, double nu, double log_of_largest, Scratch &s) {
    const double *up = s.up.data();
    double *gain = s.gain.data();
    LogProduct product(log_of_largest);
    const double half = nu / 2;
    Lanes ties = Lanes{};
    for_each_row(n, s.next, [&](size_t i, size_t j, size_t stop) {
        const double odds = s.down[i];
        Lanes lost = Lanes{};
        j = product.multiply(j, stop, [&](size_t at) {
            Lanes q = odds * load(up + at), all = 1.0 + q * (nu + q), part = q / all, slope = part * (half + q);
            ties += part;
            lost += slope;
            store(gain + at, load(gain + at) + slope);
            return all;
        });
        gain[i] -= sum_of(lost);
        return j;
    });
    return {product.logarithm(), nu * sum_of(ties)};
}

// The linear part of ties: sum over tied pairs i < j of d/2 - beta.
Sums davidson_ties(const TieredQuery &query, double beta, double middle, Scratch &s) {
    Sums sums{0, 0};
    for (size_t from = 0, to; from < query.n; from = to) {
        to = query.tier_end(from);
        double size = static_cast<double>(to - from), pairs = size * (size - 1) / 2;
        for (size_t k = from; k < to; ++k) {
            double share = (size - 1) / 2 - static_cast<double>(k - from);
            s.gain[k] += share;
            sums.value += share * (query.score[k] - middle);
        }
        sums.value -= pairs * beta;
        sums.shift -= pairs;
    }
    return sums;
}

Sums davidson_query(const TieredQuery &query, Span span, double beta, Scratch &s) {
    for (size_t i = 0; i < query.n; ++i) s.next[i] = i + 1;
    fill_odds(query, span.middle(), 0.5, s.up.data(), s.down.data());
    double widest = std::max(span.width(), beta + span.width() / 2);
    Sums sums = davidson_fast(query.n, std::exp(beta), std::max(widest, 0.0) + 1.1, s);
    Sums ties = davidson_ties(query, beta, span.middle(), s);
    return {sums.value + ties.value, sums.shift + ties.shift};
}

Sums logistic_query(const TieredQuery &query, Span span, bool with_ties, const Threshold &at, Scratch &s) {
    s.set_rows(query, with_ties);
    fill_odds(query, span.middle(), 1.0, s.up.data(), s.down.data());
    const double c = with_ties ? at.c : 0;
    Sums sums = logistic_fast(query.n, std::exp(c), softplus(c + span.width()), s);
    if (!with_ties) return {sums.value, 0};
    double selves = static_cast<double>(query.n), ties = 0;
    for (size_t from = 0, to; from < query.n; from = to) {
        to = query.tier_end(from);
        ties += static_cast<double>(to - from) * static_cast<double>(to - from - 1) / 2;
    }
    return {sums.value - selves * softplus(c) - ties * at.log_factor,
            (sums.shift - selves * sigmoid(c)) * at.dc - ties * at.dfactor};
}

// Scores so far apart that their exponentials do not fit: pair by pair.
Sums safe_query(const TieredQuery &query, int model, double tie, Scratch &s) {
    Sums sums{0, 0};
    for (size_t i = 0; i < query.n; ++i)
        for (size_t j = i + 1; j < query.n; ++j) {
            bool tied = query.tier[i] == query.tier[j];
            if (tied && model == BRADLEY_TERRY) continue;
            Term term = row_term(model, query.score[i] - query.score[j], tie, !tied, 0, tied);
            sums.value -= term.value;
            sums.shift -= term.slope_x;
            s.gain[i] -= term.slope;
            s.gain[j] += term.slope;
        }
    return sums;
}

// (value, gradient by position, slope in the tie parameter)
nb::tuple query_duel_terms(In<double> score, In<int64_t> ptr, In<int32_t> tier, In<double> weight, double tie,
                           int model) {
    Buffer<double> gradient(score.size(), 0.0);
    double value = 0, slope = 0;
    {
        nb::gil_scoped_release release;
        Scratch s(largest_query(ptr));
        const Threshold at(tie);
        const bool with_ties = model != BRADLEY_TERRY;
        const double further = model == RAO_KUPPER ? at.c : model == DAVIDSON ? std::abs(tie) : 0;
        for_each_query(score, ptr, tier, weight, [&](const TieredQuery &query) {
            if (query.n < 2 || !(with_ties || query.has_pairs())) return;
            if (is_no_number(query, value, gradient)) return;
            Span span = span_of(query.score, query.n);
            s.clear_gain(query.n);
            Sums sums = span.width() + further >= WIDEST ? safe_query(query, model, tie, s)
                        : model == DAVIDSON              ? davidson_query(query, span, tie, s)
                                                         : logistic_query(query, span, with_ties, at, s);
            value += query.weight * sums.value;
            slope += query.weight * sums.shift;
            for (size_t i = 0; i < query.n; ++i) gradient[query.base + i] = query.weight * s.gain[i];
        });
    }
    return nb::make_tuple(value, gradient.give(), slope);
}

} // namespace

void bind_logistic(nb::module_ &m) {
    m.def("query_duel_terms", &query_duel_terms, "score"_a.noconvert(), "ptr"_a.noconvert(), "tier"_a.noconvert(),
          "weight"_a.noconvert(), "tie"_a, "model"_a);
    m.def("logistic_hessian_product", &logistic_hessian_product, "score"_a.noconvert(), "ptr"_a.noconvert(),
          "tier"_a.noconvert(), "weight"_a.noconvert(), "direction"_a.noconvert());
}
