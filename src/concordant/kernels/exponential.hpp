// The exponential function of many numbers at once, in plain arithmetic that the compiler can vectorise.
//
// x = k ln 2 + r with |r| <= ln 2 / 2; e^r by its Taylor polynomial of degree 13 (error below 1e-17), then k goes
// into the exponent bits. Within 2 units in the last place; below -708 the answer stays at 3e-308. Not
// for NaN or x > 709.
#pragma once
#include "common.hpp"

#include <cstring>

// A polynomial in x by its coefficients, that of the highest power first.
template <typename... Rest> ALWAYS_INLINE double horner(double x, double sum, Rest... rest) {
    ((sum = sum * x + rest), ...);
    return sum;
}

static inline double exponential_of(double x) {
    constexpr double MAGIC = 6755399441055744.0; // 1.5 * 2^52: adding it rounds to a whole number in the low bits
    constexpr double LOG2E = 1.4426950408889634, LN2_HIGH = 0.6931471803691238, LN2_LOW = 1.9082149292705877e-10;
    double shifted = x * LOG2E + MAGIC;
    double k = shifted - MAGIC;
    double r = (x - k * LN2_HIGH) - k * LN2_LOW;
    double p = horner(r, 1.6059043836821613e-10, 2.08767569878681e-09, 2.505210838544172e-08, 2.755731922398589e-07,
                      2.7557319223985893e-06, 2.48015873015873e-05, 0.0001984126984126984, 0.001388888888888889,
                      0.008333333333333333, 0.041666666666666664, 0.16666666666666666, 0.5, 1.0, 1.0);
    uint64_t bits, power;
    std::memcpy(&bits, &p, sizeof bits);
    std::memcpy(&power, &shifted, sizeof power);
    bits += power << 52;
    std::memcpy(&p, &bits, sizeof bits);
    return p;
}

SIMD_CLONES static void exponentials_in_range(double *x, size_t n) {
    for (size_t i = 0; i < n; ++i) x[i] = exponential_of(x[i]);
}

// Replace every number by its exponential; `least` is a lower bound of them. (The rare clamp stands in a loop of its
// own because a comparison would keep the other one from being vectorised.)
inline void exponentials(double *x, size_t n, double least) {
    if (least < -708.0)
        for (size_t i = 0; i < n; ++i)
            if (x[i] < -708.0) x[i] = -708.0;
    exponentials_in_range(x, n);
}
