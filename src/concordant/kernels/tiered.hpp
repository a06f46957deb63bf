// Queries whose positions stand by tier (0 = best label): what the kernels of pair losses share.
//
// Because tiers are contiguous, "everything worse than i" is a suffix of the query. A query is copied into scratch
// arrays with room to spare behind its end, so that loops over lanes may run past it.
#pragma once
#include "common.hpp"
#include "exponential.hpp"
#include "lanes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

struct TieredQuery {
    size_t base, n;
    const double *score;
    const int32_t *tier;
    double weight;

    // Where the tier that begins at a position ends.
    size_t tier_end(size_t from) const {
        size_t to = from + 1;
        while (to < n && tier[to] == tier[from]) ++to;
        return to;
    }
    bool has_pairs() const { return n > 1 && tier[n - 1] != tier[0]; }
};

template <typename Body>
void for_each_query(In<double> score, In<int64_t> ptr, In<int32_t> tier, In<double> weight, Body &&body) {
    Interrupts interrupts;
    for (size_t q = 0; q + 1 < ptr.size(); ++q) {
        size_t base = static_cast<size_t>(ptr.data()[q]), n = static_cast<size_t>(ptr.data()[q + 1]) - base;
        interrupts.poll(n * n);
        body(TieredQuery{base, n, score.data() + base, tier.data() + base, weight.data()[q]});
    }
}

inline size_t largest_query(In<int64_t> ptr) {
    int64_t most = 0;
    for (size_t q = 0; q + 1 < ptr.size(); ++q) most = std::max(most, ptr.data()[q + 1] - ptr.data()[q]);
    return static_cast<size_t>(most);
}

// A scratch array for any query of a call, with the spare room.
inline std::vector<double> scratch_for(size_t largest) { return std::vector<double>(largest + 2 * LANES); }

// Scores that are no numbers can be neither sorted nor compared: the loss and its gradient are no numbers either.
inline bool is_no_number(const TieredQuery &query, double &value, Buffer<double> &gradient) {
    double zero = 0;
    for (size_t i = 0; i < query.n; ++i) zero += query.score[i] * 0;
    if (zero == 0) return false;
    value = std::numeric_limits<double>::quiet_NaN();
    std::fill_n(gradient.get() + query.base, query.n, value);
    return true;
}

struct Span {
    double low, high;
    double width() const { return high - low; }
    double middle() const { return low + (high - low) / 2; }
};

inline Span span_of(const double *x, size_t n) {
    Span span{x[0], x[0]};
    for (size_t i = 1; i < n; ++i) {
        span.low = x[i] < span.low ? x[i] : span.low;
        span.high = x[i] > span.high ? x[i] : span.high;
    }
    return span;
}

// Fill up[i] = e^(factor (score[i] - middle)) and down[i] = 1 / up[i]; what lies behind the end is 0 in `up`.
inline void fill_odds(const TieredQuery &query, double middle, double factor, double *up, double *down) {
    for (size_t i = 0; i < query.n; ++i) up[i] = factor * (query.score[i] - middle);
    exponentials_in_range(up, query.n);
    for (size_t i = 0; i < query.n; ++i) down[i] = 1 / up[i];
    for (size_t k = 0; k < 2 * LANES; ++k) up[query.n + k] = 0;
}

// The logarithm of a product of many factors of at least 1: their exponents are set aside now and then, and one
// logarithm is taken in the end.
struct LogProduct {
    Lanes product = all_lanes(1.0);
    int64_t exponent = 0;
    size_t fits, room; // how many factors fit before exponents are set aside, and how many still do

    explicit LogProduct(double log_of_largest)
        : fits(static_cast<size_t>(std::max(1.0, std::floor(690 / std::max(log_of_largest, 1e-3))))), room(fits) {}

    // Multiply by factor(j) for j, j + LANES, … before stop; return the first j not taken.
    template <typename Factor> ALWAYS_INLINE size_t multiply(size_t j, size_t stop, Factor factor) {
        while (j < stop) {
            size_t until = std::min(stop, j + LANES * room), from = j;
            Lanes factors = product;
            for (; j < until; j += LANES) factors *= factor(j);
            product = factors;
            room -= std::min(room, (j - from) / LANES);
            if (!room) {
                fold();
                room = fits;
            }
        }
        return j;
    }
    void fold() {
        for (size_t k = 0; k < LANES; ++k) {
            double x = product[k];
            uint64_t bits;
            std::memcpy(&bits, &x, sizeof bits);
            exponent += static_cast<int64_t>(bits >> 52) - 1023;
            bits = (bits & 0xFFFFFFFFFFFFF) | (uint64_t{1023} << 52);
            std::memcpy(&x, &bits, sizeof bits);
            product[k] = x;
        }
    }
    double logarithm() {
        fold();
        double rest = (product[0] * product[1]) * (product[2] * product[3]);
        return std::log(rest) + 0.69314718055994530942 * static_cast<double>(exponent);
    }
};

inline double softplus(double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }
inline double sigmoid_of(double x) { return x >= 0 ? 1 / (1 + std::exp(-x)) : 1 - 1 / (1 + std::exp(x)); }

constexpr double WIDEST = 600; // scores further apart than this take the slow safe path: e^709 is the largest double
constexpr size_t TILE = 1024;  // positions worked on at a time, so that they stay in the nearest cache
