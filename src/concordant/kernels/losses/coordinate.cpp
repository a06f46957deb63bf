// Coordinate descent on the dual of ranking machines: one multiplier per pair (better row, worse row).
//
// The multipliers a_p in [0, cap_p] maximise sum a - |sum a_p (x_i - x_j)|^2 / 2. A step on one pair moves its
// multiplier by (1 - margin) / |x_i - x_j|^2 and cuts it to its box. Pairs are visited in the order given.
#include "common.hpp"

#include <algorithm>

namespace {

struct Step {
    double margin, square;
};

// Partial sums side by side let the compiler use vectors without changing the order of additions.
template <typename T>
SIMD_CLONES Step difference(const T *better, const T *worse, const double *weight, size_t count) {
    constexpr size_t WIDTH = 8;
    double margin[WIDTH] = {}, square[WIDTH] = {};
    size_t k = 0;
    for (; k + WIDTH <= count; k += WIDTH)
        for (size_t l = 0; l < WIDTH; ++l) {
            double d = double(better[k + l]) - double(worse[k + l]);
            margin[l] += d * weight[k + l];
            square[l] += d * d;
        }
    for (; k < count; ++k) {
        double d = double(better[k]) - double(worse[k]);
        margin[0] += d * weight[k];
        square[0] += d * d;
    }
    Step step{0, 0};
    for (size_t l = 0; l < WIDTH; ++l) {
        step.margin += margin[l];
        step.square += square[l];
    }
    return step;
}

template <typename T>
SIMD_CLONES void add_difference(double *weight, const T *better, const T *worse, double factor, size_t count) {
    for (size_t k = 0; k < count; ++k) weight[k] += factor * (double(better[k]) - double(worse[k]));
}

// Move one multiplier and return by how much. Two equal rows have no direction to move in, only a loss to admit.
inline double move(double &multiplier, double cap, Step step) {
    double old = multiplier;
    double wanted = step.square > 0 ? old + (1 - step.margin) / step.square : cap;
    multiplier = std::min(std::max(wanted, 0.0), cap);
    return multiplier - old;
}

template <typename T>
nb::tuple pair_descent_linear(In2<T> X, In<int64_t> better, In<int64_t> worse, In<double> cap, In<int64_t> order,
                              In<double> multiplier, In<double> weight) {
    Buffer<double> new_multiplier = copy_of(multiplier), new_weight = copy_of(weight);
    {
        nb::gil_scoped_release release;
        const size_t features = X.shape(1);
        for (size_t k = 0; k < order.shape(0); ++k) {
            int64_t p = order.data()[k];
            const T *up = X.data() + better.data()[p] * int64_t(features);
            const T *down = X.data() + worse.data()[p] * int64_t(features);
            Step step = difference(up, down, new_weight.get(), features);
            double moved = move(new_multiplier[size_t(p)], cap.data()[p], step);
            if (moved != 0) add_difference(new_weight.get(), up, down, moved, features);
        }
    }
    return nb::make_tuple(new_multiplier.give(), new_weight.give());
}

nb::tuple pair_descent_gram(In2<double> gram, In<int64_t> better, In<int64_t> worse, In<double> cap,
                            In<int64_t> order, In<double> multiplier, In<double> scores) {
    Buffer<double> new_multiplier = copy_of(multiplier), new_scores = copy_of(scores);
    {
        nb::gil_scoped_release release;
        const size_t rows = gram.shape(1);
        for (size_t k = 0; k < order.shape(0); ++k) {
            int64_t p = order.data()[k], i = better.data()[p], j = worse.data()[p];
            const double *up = gram.data() + i * int64_t(rows), *down = gram.data() + j * int64_t(rows);
            Step step{new_scores[size_t(i)] - new_scores[size_t(j)], up[i] - up[j] - down[i] + down[j]};
            double moved = move(new_multiplier[size_t(p)], cap.data()[p], step);
            if (moved != 0) add_difference(new_scores.get(), up, down, moved, rows);
        }
    }
    return nb::make_tuple(new_multiplier.give(), new_scores.give());
}

}  // namespace

void bind_coordinate(nb::module_ &m) {
    m.def("pair_descent_linear", &pair_descent_linear<double>, "X"_a.noconvert(), "better"_a.noconvert(),
          "worse"_a.noconvert(), "cap"_a.noconvert(), "order"_a.noconvert(), "multiplier"_a.noconvert(),
          "weight"_a.noconvert());
    m.def("pair_descent_linear", &pair_descent_linear<float>, "X"_a.noconvert(), "better"_a.noconvert(),
          "worse"_a.noconvert(), "cap"_a.noconvert(), "order"_a.noconvert(), "multiplier"_a.noconvert(),
          "weight"_a.noconvert());
    m.def("pair_descent_gram", &pair_descent_gram, "gram"_a.noconvert(), "better"_a.noconvert(),
          "worse"_a.noconvert(), "cap"_a.noconvert(), "order"_a.noconvert(), "multiplier"_a.noconvert(),
          "scores"_a.noconvert());
}
