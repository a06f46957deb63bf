// Matrices of differences: of duels with weights, sum_r weight[r] (e_i - e_j)(e_i - e_j)', dense or as products alone.
#include "common.hpp"
#include "lanes.hpp"

#include <algorithm>
#include <cstring>

namespace {

// The matrix of sum_r weight[r] (e_i - e_j)(e_i - e_j)', dense.
Out2<double> laplacian(In<int32_t> first, In<int32_t> second, In<double> weight, int64_t size) {
    size_t n = static_cast<size_t>(size);
    Buffer<double> result(n * n, 0.0);
    {
        nb::gil_scoped_release unlocked;
        std::vector<double> degree(n, 0.0);
        for (size_t r = 0; r < first.size(); ++r) {
            size_t i = static_cast<size_t>(first.data()[r]), j = static_cast<size_t>(second.data()[r]);
            double w = weight.data()[r];
            degree[j] += w;
            degree[i] += w;
            result[std::min(i, j) * n + std::max(i, j)] -= w;
        }
        constexpr size_t side = 32; // the other triangle in tiles, because one of the two cells is always far away
        for (size_t row = 0; row < n; row += side)
            for (size_t column = row; column < n; column += side)
                for (size_t i = row; i < std::min(row + side, n); ++i)
                    for (size_t j = std::max(column, i + 1); j < std::min(column + side, n); ++j)
                        result[j * n + i] = result[i * n + j];
        for (size_t i = 0; i < n; ++i) result[i * n + i] += degree[i];
    }
    return result.give2(n, n);
}

// A row times up to four columns, which stand one after the other.
ALWAYS_INLINE void row_times_four(const double *row, const double *columns, size_t n, double *out) {
    Lanes sum[4] = {};
    size_t j = 0;
    for (; j + LANES <= n; j += LANES) {
        Lanes here = load(row + j);
        for (size_t c = 0; c < 4; ++c) sum[c] += here * load(columns + c * n + j);
    }
    for (size_t c = 0; c < 4; ++c) {
        out[c] = sum_of(sum[c]);
        for (size_t k = j; k < n; ++k) out[c] += row[k] * columns[c * n + k];
    }
}

ALWAYS_INLINE double row_times_one(const double *row, const double *column, size_t n) {
    Lanes sum[4] = {};
    size_t j = 0;
    for (; j + 4 * LANES <= n; j += 4 * LANES)
        for (size_t t = 0; t < 4; ++t) sum[t] += load(row + j + t * LANES) * load(column + j + t * LANES);
    double out = sum_of((sum[0] + sum[1]) + (sum[2] + sum[3]));
    for (; j < n; ++j) out += row[j] * column[j];
    return out;
}

SIMD_CLONES void times_columns(const double *matrix, size_t rows, size_t n, const double *columns, size_t k, double *out) {
    for (size_t i = 0; i < rows; ++i) {
        const double *row = matrix + i * n;
        size_t c = 0;
        for (; c + 4 <= k; c += 4) row_times_four(row, columns + c * n, n, out + i * k + c);
        for (; c < k; ++c) out[i * k + c] = row_times_one(row, columns + c * n, n);
    }
}

// A dense matrix times few columns, in one thread: what a library does in several, for so little, mostly waits.
Out2<double> matrix_product(In2<double> matrix, In2<double> x) {
    size_t rows = matrix.shape(0), n = x.shape(0), k = x.shape(1);
    Buffer<double> result(rows * k);
    {
        nb::gil_scoped_release unlocked;
        std::vector<double> columns(n * k);
        for (size_t j = 0; j < n; ++j)
            for (size_t c = 0; c < k; ++c) columns[c * n + j] = x.data()[j * k + c];
        times_columns(matrix.data(), rows, n, columns.data(), k, result.get());
    }
    return result.give2(rows, k);
}

// The matrix of `laplacian` times one vector; what rows in a row have of the same first slot is kept in a register.
void one_product(const In<int32_t> &first, const In<int32_t> &second, const In<double> &weight, const double *x,
                 double *result) {
    size_t rows = first.size();
    for (size_t r = 0; r < rows;) {
        int32_t i = first.data()[r];
        double sums[2] = {0, 0}, here = x[i];
        for (; r < rows && first.data()[r] == i; ++r) {
            int32_t j = second.data()[r];
            double flow = weight.data()[r] * (here - x[j]);
            sums[r % 2] += flow;
            result[j] -= flow;
        }
        result[i] += sums[0] + sums[1];
    }
}

// The same matrix times many vectors at once (x has one row per slot). What rows in a row take from their common first
// slot is added up first; the second slots lie anywhere, so their lines are asked for some rows ahead.
SIMD_CLONES void many_products(const int32_t *first, const int32_t *second, const double *weight, size_t rows,
                               const double *x, size_t k, double *result) {
    constexpr size_t AHEAD = 8, LINE = 8; // rows, and doubles in a line
    std::vector<double> flows(k);
    double *__restrict taken = flows.data();
    for (size_t r = 0; r < rows;) {
        int32_t i = first[r];
        const double *own = x + static_cast<size_t>(i) * k;
        std::fill(flows.begin(), flows.end(), 0.0);
        for (; r < rows && first[r] == i; ++r) {
            size_t next = static_cast<size_t>(second[std::min(r + AHEAD, rows - 1)]) * k;
            for (size_t c = 0; c < k; c += LINE) {
                PREFETCH(x + next + c);
                PREFETCH(result + next + c);
            }
            const double *other = x + static_cast<size_t>(second[r]) * k;
            double *__restrict given = result + static_cast<size_t>(second[r]) * k;
            double w = weight[r];
            for (size_t c = 0; c < k; ++c) {
                double flow = w * (own[c] - other[c]);
                taken[c] += flow;
                given[c] -= flow;
            }
        }
        for (size_t c = 0; c < k; ++c) result[static_cast<size_t>(i) * k + c] += taken[c];
    }
}

Out2<double> laplacian_product(In<int32_t> first, In<int32_t> second, In<double> weight, In2<double> x) {
    size_t n = x.shape(0), k = x.shape(1);
    Buffer<double> result(n * k, 0.0);
    {
        nb::gil_scoped_release unlocked;
        if (k == 1) {
            one_product(first, second, weight, x.data(), result.get());
        } else {
            many_products(first.data(), second.data(), weight.data(), first.size(), x.data(), k, result.get());
        }
    }
    return result.give2(n, k);
}

// Add 64 random multiples of every row, root or minus root by its bits, to its first slot, and take them from its second.
SIMD_CLONES void add_signs(const int32_t *first, const int32_t *second, const double *root, const uint64_t *bits,
                           size_t rows, double *sums) {
    constexpr size_t N = 64;
    for (size_t r = 0; r < rows;) {
        int32_t i = first[r];
        double own[N] = {};
        for (; r < rows && first[r] == i; ++r) {
            double *other = sums + static_cast<size_t>(second[r]) * N;
            uint64_t size, here = bits[r];
            std::memcpy(&size, root + r, sizeof size);
            for (size_t c = 0; c < N; ++c) {
                uint64_t word = size ^ (here >> c << 63);
                double value;
                std::memcpy(&value, &word, sizeof value);
                own[c] += value;
                other[c] -= value;
            }
        }
        for (size_t c = 0; c < N; ++c) sums[static_cast<size_t>(i) * N + c] += own[c];
    }
}

Out2<double> sign_sums(In<int32_t> first, In<int32_t> second, In<double> root, In<uint64_t> bits, int64_t n_slots) {
    size_t m = static_cast<size_t>(n_slots);
    Buffer<double> sums(64 * m, 0.0);
    {
        nb::gil_scoped_release unlocked;
        add_signs(first.data(), second.data(), root.data(), bits.data(), first.size(), sums.get());
    }
    return sums.give2(m, 64);
}

} // namespace

void bind_laplacian(nb::module_ &m) {
    m.def("laplacian", &laplacian, "first"_a.noconvert(), "second"_a.noconvert(), "weight"_a.noconvert(), "size"_a);
    m.def("laplacian_product", &laplacian_product, "first"_a.noconvert(), "second"_a.noconvert(),
          "weight"_a.noconvert(), "x"_a.noconvert());
    m.def("sign_sums", &sign_sums, "first"_a.noconvert(), "second"_a.noconvert(), "root"_a.noconvert(),
          "bits"_a.noconvert(), "n_slots"_a);
    m.def("matrix_product", &matrix_product, "matrix"_a.noconvert(), "x"_a.noconvert());
}
