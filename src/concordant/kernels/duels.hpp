// The score models of a duel: value and derivatives of the log-likelihood of one pair.
#pragma once
#include "common.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

// In the order of the links of kernels/links.py.
enum Link { BRADLEY_TERRY, THURSTONE, DAVIDSON, RAO_KUPPER };

// Derivatives in d = score[first] - score[second] and in the tie parameter; curves and cross are negated seconds.
struct Term {
    double value, slope, curve, slope_x, curve_x, cross;
};

inline double log_sigmoid(double z) { return z > 0 ? -std::log1p(std::exp(-z)) : z - std::log1p(std::exp(z)); }
inline double sigmoid(double z) {
    if (z >= 0) return 1 / (1 + std::exp(-z));
    double e = std::exp(z);
    return e / (1 + e);
}

// log of the normal distribution function and the ratio density / distribution function, at z and at -z.
struct Probit {
    double log_up, log_down, up, down;
    explicit Probit(double z) {
        constexpr double LOG_ROOT_TWO_PI = 0.91893853320467274178;
        double size = std::abs(z), log_density = -0.5 * z * z - LOG_ROOT_TWO_PI, log_less, less, less_cdf = 0;
        if (size < 30) {
            less_cdf = 0.5 * std::erfc(size * 0.70710678118654752440);
            log_less = std::log(less_cdf);
            less = std::exp(log_density) / less_cdf;
        } else {
            double t = 1 / (z * z), series = 1 - t * (1 - 3 * t * (1 - 5 * t * (1 - 7 * t)));
            log_less = log_density - std::log(size) + std::log(series);
            less = size / series;
        }
        double log_more = std::log1p(-less_cdf), more = std::exp(log_density) / (1 - less_cdf);
        log_up = z > 0 ? log_more : log_less;
        log_down = z > 0 ? log_less : log_more;
        up = z > 0 ? more : less;
        down = z > 0 ? less : more;
    }
};

inline Term bradley_terry_term(double d, double won, double lost, double tied) {
    double a = won + tied / 2, b = lost + tied / 2;
    double e = std::exp(-std::abs(d)), p = 1 / (1 + e), q = e * p; // p is the larger chance
    double log_p = -std::log1p(e), log_q = log_p - std::abs(d);
    double up = d >= 0 ? p : q;
    double value = d >= 0 ? a * log_p + b * log_q : a * log_q + b * log_p;
    return {value, a - (a + b) * up, (a + b) * p * q, 0, 0, 0};
}

inline Term thurstone_term(double d, double won, double lost, double tied) {
    double a = won + tied / 2, b = lost + tied / 2;
    const Probit at(d);
    return {a * at.log_up + b * at.log_down, a * at.up - b * at.down,
            a * at.up * (at.up + d) + b * at.down * (at.down - d), 0, 0, 0};
}

// P(win) : P(loss) : P(tie) = e^(d/2) : e^(-d/2) : e^x
inline Term davidson_term(double d, double x, double won, double lost, double tied) {
    double n = won + lost + tied, top = std::max(std::abs(d) / 2, x);
    double up = std::exp(d / 2 - top), down = std::exp(-d / 2 - top), even = std::exp(x - top);
    double z = up + down + even;
    up /= z;
    down /= z;
    even /= z;
    double gap = (up - down) / 2;
    return {(won - lost) * d / 2 + tied * x - n * (top + std::log(z)),
            (won - lost) / 2 - n * gap,
            n * ((up + down) / 4 - gap * gap),
            tied - n * even,
            n * even * (1 - even),
            -n * even * gap};
}

// P(win) = sigmoid(d - c), P(loss) = sigmoid(-d - c), c = log(1 + e^x); P(tie) is what is left.
// A tie is "each over the other" but for a factor: P(tie) = (e^(2c) - 1) P(win) P(loss), and e^(2c) - 1 = e^x (2 + e^x).
struct Threshold {
    double c, dc;               // c and its slope in x
    double log_factor, dfactor; // log(e^(2c) - 1) and its slope in x, 2 / (1 + e^-c)
    explicit Threshold(double x)
        : c(-log_sigmoid(-x)), dc(sigmoid(x)), log_factor(x + (x > 30 ? x : std::log(2 + std::exp(x)))),
          dfactor(2 / (1 + std::exp(-c))) {}
};

inline Term rao_kupper_term(double d, double x, double won, double lost, double tied) {
    const Threshold at(x);
    double a = won + tied, b = lost + tied, p = sigmoid(d - at.c), q = sigmoid(-d - at.c);
    double up = a * p * (1 - p), down = b * q * (1 - q), bend = at.dfactor * std::exp(-at.c);
    return {a * log_sigmoid(d - at.c) + b * log_sigmoid(-d - at.c) + tied * at.log_factor,
            a * (1 - p) - b * (1 - q),
            up + down,
            tied * at.dfactor - at.dc * (a * (1 - p) + b * (1 - q)),
            tied * bend * bend + at.dc * at.dc * (up + down),
            at.dc * (down - up)};
}

// Rao-Kupper is concave in c, not in x: the bend of c in x adds this to the curve of x, over all rows. Where it takes
// something away (`slope_x` > 0) the matrix of second derivatives may be indefinite; at the optimum it is not.
inline double bend_of_tie(int link, double x, double slope_x) {
    return link == RAO_KUPPER ? -(1 - sigmoid(x)) * slope_x : 0.0;
}

inline Term row_term(int link, double d, double x, double won, double lost, double tied) {
    switch (link) {
    case BRADLEY_TERRY: return bradley_terry_term(d, won, lost, tied);
    case THURSTONE: return thurstone_term(d, won, lost, tied);
    case DAVIDSON: return davidson_term(d, x, won, lost, tied);
    default: return rao_kupper_term(d, x, won, lost, tied);
    }
}

// The bundle DuelRows as it comes from Python, and the rows of one instance.
using DuelArrays = std::tuple<In<int32_t>, In<int32_t>, In<double>, In<double>, In<double>, In<double>>;

struct DuelRows {
    const int32_t *first, *second;
    const double *won, *lost, *tied, *order; // order may be null: nobody is shown first
    size_t n;

    DuelRows(const DuelArrays &arrays, size_t from, size_t to)
        : first(std::get<0>(arrays).data() + from), second(std::get<1>(arrays).data() + from),
          won(std::get<2>(arrays).data() + from), lost(std::get<3>(arrays).data() + from),
          tied(std::get<4>(arrays).data() + from),
          order(std::get<5>(arrays).size() ? std::get<5>(arrays).data() + from : nullptr), n(to - from) {}
    explicit DuelRows(const DuelArrays &arrays) : DuelRows(arrays, 0, std::get<0>(arrays).size()) {}

    Term term(int link, size_t r, double lead, double advantage, double x) const {
        return row_term(link, order ? lead + order[r] * advantage : lead, x, won[r], lost[r], tied[r]);
    }
};
