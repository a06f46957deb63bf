// Four doubles worked on at once, written so that the compiler needs to guess nothing: plain operators on `Lanes`.
//
// A sum of doubles may not be reordered by the compiler (no -ffast-math), so loops with sums stay scalar unless they
// keep several partial sums by hand: one per lane here.
#pragma once
#include "common.hpp"

#include <cmath>
#include <cstring>

constexpr size_t LANES = 4;

#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wpsabi" // every function here is inlined: nothing is passed between objects
typedef double Lanes __attribute__((vector_size(LANES * sizeof(double))));
ALWAYS_INLINE Lanes positive_part(const Lanes &x) { return x > 0.0 ? x : Lanes{}; }
ALWAYS_INLINE Lanes is_positive(const Lanes &x) { return x > 0.0 ? Lanes{1, 1, 1, 1} : Lanes{}; }
ALWAYS_INLINE Lanes if_positive(const Lanes &x, const Lanes &yes, const Lanes &no) { return x > 0.0 ? yes : no; }
ALWAYS_INLINE Lanes magnitude(const Lanes &x) { return x > 0.0 ? x : -x; }
#else
struct Lanes {
    double at[LANES];
    double &operator[](size_t k) { return at[k]; }
    double operator[](size_t k) const { return at[k]; }
};
template <typename F> inline Lanes each_lane(F &&f) { return {{f(0), f(1), f(2), f(3)}}; }
#define LANES_OPERATOR(op)                                                                                             \
    inline Lanes operator op(Lanes a, Lanes b) {                                                                       \
        return each_lane([&](size_t k) { return a[k] op b[k]; });                                                      \
    }                                                                                                                  \
    inline Lanes operator op(Lanes a, double b) {                                                                      \
        return each_lane([&](size_t k) { return a[k] op b; });                                                         \
    }                                                                                                                  \
    inline Lanes operator op(double a, Lanes b) {                                                                      \
        return each_lane([&](size_t k) { return a op b[k]; });                                                         \
    }
LANES_OPERATOR(+)
LANES_OPERATOR(-)
LANES_OPERATOR(*)
LANES_OPERATOR(/)
inline Lanes &operator+=(Lanes &a, Lanes b) { return a = a + b; }
inline Lanes &operator-=(Lanes &a, Lanes b) { return a = a - b; }
inline Lanes &operator*=(Lanes &a, Lanes b) { return a = a * b; }
inline Lanes if_positive(const Lanes &x, const Lanes &yes, const Lanes &no) {
    return each_lane([&](size_t k) { return x[k] > 0 ? yes[k] : no[k]; });
}
inline Lanes positive_part(const Lanes &x) {
    return each_lane([&](size_t k) { return x[k] > 0 ? x[k] : 0.0; });
}
inline Lanes is_positive(const Lanes &x) {
    return each_lane([&](size_t k) { return x[k] > 0 ? 1.0 : 0.0; });
}
inline Lanes magnitude(const Lanes &x) {
    return each_lane([&](size_t k) { return std::abs(x[k]); });
}
#endif

ALWAYS_INLINE Lanes load(const double *from) {
    Lanes x;
    std::memcpy(&x, from, sizeof x);
    return x;
}
ALWAYS_INLINE void store(double *to, const Lanes &x) { std::memcpy(to, &x, sizeof x); }
ALWAYS_INLINE Lanes all_lanes(double x) { return Lanes{x, x, x, x}; }
ALWAYS_INLINE double sum_of(const Lanes &x) { return (x[0] + x[1]) + (x[2] + x[3]); }
