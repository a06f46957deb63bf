// Terms of many duels at once: the formulas of duels.hpp for blocks of rows, without branches, so that they are
// vectorised.
#pragma once
#include "duels.hpp"
#include "exponential.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <tuple>
#include <vector>

namespace {

// log(1 + e) of 0 <= e <= 1 as 2 artanh(z), z = e / (2 + e) <= 1/3, by its series.
ALWAYS_INLINE double log_one_plus(double e) {
    double z = e / (2 + e), w = z * z;
    double p = 1.0 / 33;
    p = p * w + 1.0 / 31;
    p = p * w + 1.0 / 29;
    p = p * w + 1.0 / 27;
    p = p * w + 1.0 / 25;
    p = p * w + 1.0 / 23;
    p = p * w + 1.0 / 21;
    p = p * w + 1.0 / 19;
    p = p * w + 1.0 / 17;
    p = p * w + 1.0 / 15;
    p = p * w + 1.0 / 13;
    p = p * w + 1.0 / 11;
    p = p * w + 1.0 / 9;
    p = p * w + 1.0 / 7;
    p = p * w + 1.0 / 5;
    p = p * w + 1.0 / 3;
    p = p * w + 1.0;
    return 2 * z * p;
}

constexpr size_t BLOCK = 256;

// Rows of Bradley-Terry, the item ahead first: how far it is ahead (for e^-lead at most 700) and who won how often.
struct Leads {
    double lead[BLOCK], exponent[BLOCK], won[BLOCK], lost[BLOCK];
    double value[BLOCK], slope[BLOCK], curve[BLOCK];
};

// bradley_terry_term of all of them, without a branch, so that it is vectorised.
SIMD_CLONES void bradley_terry_terms(Leads &at) {
    for (size_t r = 0; r < BLOCK; ++r) at.value[r] = exponential_of(-at.exponent[r]);
    for (size_t r = 0; r < BLOCK; ++r) {
        double n = at.won[r] + at.lost[r], e = at.value[r], p = 1 / (1 + e);
        at.value[r] = -n * log_one_plus(e) - at.lost[r] * at.lead[r];
        at.slope[r] = at.won[r] - n * p;
        at.curve[r] = n * p * (e * p);
    }
}

double all_bradley_terry_terms(const DuelRows &rows, const double *score, double advantage, double *slope,
                               double *curve) {
    Leads at{};
    double value = 0;
    for (size_t from = 0; from < rows.n; from += BLOCK) {
        size_t n = std::min(BLOCK, rows.n - from);
        for (size_t k = 0; k < n; ++k) {
            size_t r = from + k;
            double d = score[rows.first[r]] - score[rows.second[r]] + (rows.order ? rows.order[r] * advantage : 0.0);
            double a = rows.won[r] + rows.tied[r] / 2, b = rows.lost[r] + rows.tied[r] / 2;
            slope[r] = d >= 0 ? 1 : -1;
            at.lead[k] = std::abs(d);
            at.exponent[k] = std::min(at.lead[k], 700.0);
            at.won[k] = d >= 0 ? a : b;
            at.lost[k] = d >= 0 ? b : a;
        }
        bradley_terry_terms(at);
        for (size_t k = 0; k < n; ++k) {
            size_t r = from + k;
            slope[r] *= at.slope[k];
            curve[r] = at.curve[k];
            value += at.value[k];
        }
    }
    return value;
}

// log x of normal x > 0: x = 2^k f with f between the roots of 1/2 and 2, log f = 2 artanh(z), z = (f - 1) / (f + 1), by
// a polynomial in z^2 that is off by less than 2e-18 of it. In plain arithmetic that the compiler can vectorise.
ALWAYS_INLINE double logarithm_of(double x) {
    constexpr uint64_t ROOT_HALF = 0x3fe6a09e667f3bcd, ONE = 0x3ff0000000000000, TWO_52 = 0x4330000000000000;
    uint64_t bits, shifted, power;
    std::memcpy(&bits, &x, sizeof bits);
    shifted = bits + (ONE - ROOT_HALF);
    power = shifted >> 52 | TWO_52; // 2^52 + 1023 + k, as a double
    bits = (shifted & 0x000fffffffffffff) + ROOT_HALF;
    double f, k;
    std::memcpy(&f, &bits, sizeof f);
    std::memcpy(&k, &power, sizeof k);
    k -= 4503599627370496.0 + 1023.0;
    double z = (f - 1) / (f + 1), w = z * z;
    double p = horner(w, 0.074048551803276383491, 0.07656264074182095483, 0.090918158401146644019,
                      0.11111098528363023304, 0.14285714380320839941, 0.19999999999651169056,
                      0.33333333333333822829, 1.0);
    return k * 0.6931471805599453094 + 2 * z * p;
}

// Rows of Bradley-Terry by the worths (e^score) of both items: P(first wins) = a / (a + b).
struct Worths {
    double a[BLOCK], b[BLOCK], total[BLOCK], curve[BLOCK], surplus[BLOCK], value[BLOCK];
};

SIMD_CLONES void worth_rows(Worths &at, const double *total, double *curve, size_t n) {
    for (size_t r = 0; r < n; ++r) {
        double sum = at.a[r] + at.b[r], part = 1 / sum, p = at.a[r] * part, q = at.b[r] * part;
        curve[r] = total[r] * p * q;
        at.surplus[r] = total[r] * (p - q) / 2;
        at.value[r] = total[r] * logarithm_of(sum);
    }
}

// Rows of the models with ties by worths, that of the tie parameter (e^x, or 1 + e^x) included. In: worths (roots of
// them for Davidson), sums of logarithms of worths of the outcomes (`value`). Out: what Term has, of every row.
struct TieRows {
    double a[BLOCK], b[BLOCK], value[BLOCK], slope_x[BLOCK], curve_x[BLOCK];
};

SIMD_CLONES void davidson_rows(TieRows &at, const double *won, const double *lost, const double *tied, double nu,
                               double *slope, double *curve, double *cross, size_t n) {
    for (size_t r = 0; r < n; ++r) {
        double count = won[r] + lost[r] + tied[r], a = at.a[r] * at.a[r], b = at.b[r] * at.b[r];
        double t = nu * at.a[r] * at.b[r], z = a + b + t, part = 1 / z, up = a * part, down = b * part, even = t * part;
        double gap = (up - down) / 2;
        at.value[r] -= count * logarithm_of(z);
        slope[r] = (won[r] - lost[r]) / 2 - count * gap;
        curve[r] = count * (up * down + even * (up + down) / 4);
        cross[r] = -count * even * gap;
        at.slope_x[r] = tied[r] - count * even;
        at.curve_x[r] = count * even * (up + down);
    }
}

SIMD_CLONES void rao_kupper_rows(TieRows &at, const double *won, const double *lost, const double *tied,
                                 const Threshold &threshold, double theta, double *slope, double *curve, double *cross,
                                 size_t n) {
    double dc = threshold.dc, dfactor = threshold.dfactor, bend = dfactor / theta;
    for (size_t r = 0; r < n; ++r) {
        double a = won[r] + tied[r], b = lost[r] + tied[r], x = at.a[r], y = at.b[r];
        double over = x + theta * y, under = y + theta * x, p = x / over, q = y / under;
        double not_p = theta * y / over, not_q = theta * x / under, up = a * p * not_p, down = b * q * not_q;
        at.value[r] += tied[r] * threshold.log_factor - a * logarithm_of(over) - b * logarithm_of(under);
        slope[r] = a * not_p - b * not_q;
        curve[r] = up + down;
        cross[r] = dc * (down - up);
        at.slope_x[r] = tied[r] * dfactor - dc * (a * not_p + b * not_q);
        at.curve_x[r] = tied[r] * bend * bend + dc * dc * (up + down);
    }
}

constexpr double LARGEST_SPREAD = 500; // of scores, and of tie parameters, whose exponentials can be added

bool is_moderate(const double *score, size_t m, double tie) {
    if (!m || std::abs(tie) > LARGEST_SPREAD / 4) return false;
    return *std::max_element(score, score + m) - *std::min_element(score, score + m) < LARGEST_SPREAD;
}

// The terms of Davidson and Rao-Kupper where nobody is shown first; returns (value, slope_x, curve_x).
std::tuple<double, double, double> all_tie_terms(const DuelRows &rows, const double *score, size_t m, double tie, int link,
                                                 double *slope, double *curve, double *cross) {
    bool is_davidson = link == DAVIDSON;
    double low = *std::min_element(score, score + m), high = *std::max_element(score, score + m);
    std::vector<double> level(m), worth(m);
    for (size_t i = 0; i < m; ++i) {
        level[i] = score[i] - (low + high) / 2;
        worth[i] = std::exp(is_davidson ? level[i] / 2 : level[i]);
    }
    const Threshold threshold(tie);
    double nu = std::exp(tie), theta = 1 + nu, sums[3] = {0, 0, 0};
    auto at = std::make_unique<TieRows>();
    for (size_t from = 0; from < rows.n; from += BLOCK) {
        size_t n = std::min(BLOCK, rows.n - from);
        const double *won = rows.won + from, *lost = rows.lost + from, *tied = rows.tied + from;
        for (size_t k = 0; k < n; ++k) {
            int32_t i = rows.first[from + k], j = rows.second[from + k];
            double half = is_davidson ? tied[k] / 2 : tied[k];
            at->a[k] = worth[i];
            at->b[k] = worth[j];
            at->value[k] = (won[k] + half) * level[i] + (lost[k] + half) * level[j] + (is_davidson ? tied[k] * tie : 0.0);
        }
        if (is_davidson) davidson_rows(*at, won, lost, tied, nu, slope + from, curve + from, cross + from, n);
        else rao_kupper_rows(*at, won, lost, tied, threshold, theta, slope + from, curve + from, cross + from, n);
        for (size_t k = 0; k < n; ++k) {
            sums[0] += at->value[k];
            sums[1] += at->slope_x[k];
            sums[2] += at->curve_x[k];
        }
    }
    return {sums[0], sums[1], sums[2]};
}

} // namespace
