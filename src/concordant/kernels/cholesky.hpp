// Small dense positive definite systems by Cholesky's factor: the lower triangle, row-major, in place of the matrix.
#pragma once
#include "common.hpp"

#include <cmath>
#include <vector>

[[maybe_unused]] SIMD_CLONES static double dot(const double *a, const double *b, size_t n) {
    double sum[4] = {0, 0, 0, 0};
    size_t k = 0;
    for (; k + 4 <= n; k += 4)
        for (size_t t = 0; t < 4; ++t) sum[t] += a[k + t] * b[k + t];
    for (; k < n; ++k) sum[0] += a[k] * b[k];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

// False where the matrix is not definite: a pivot is at most `least` times its diagonal.
inline bool factorise(double *matrix, size_t n, double least = 0) {
    for (size_t i = 0; i < n; ++i) {
        double *row = matrix + i * n, diagonal = row[i];
        for (size_t j = 0; j < i; ++j) row[j] = (row[j] - dot(row, matrix + j * n, j)) / matrix[j * n + j];
        double pivot = diagonal - dot(row, row, i);
        if (!(pivot > least * diagonal)) return false;
        row[i] = std::sqrt(pivot);
    }
    return true;
}

// Solve for x in place of the right-hand side.
inline void solve(const double *factor, size_t n, double *x) {
    for (size_t i = 0; i < n; ++i) x[i] = (x[i] - dot(factor + i * n, x, i)) / factor[i * n + i];
    for (size_t i = n; i-- > 0;) {
        x[i] /= factor[i * n + i];
        for (size_t j = 0; j < i; ++j) x[j] -= factor[i * n + j] * x[i];
    }
}

// The logarithm of the determinant.
inline double log_determinant(const double *factor, size_t n) {
    double total = 0;
    for (size_t i = 0; i < n; ++i) total += 2 * std::log(factor[i * n + i]);
    return total;
}

// The inverse of the matrix, less `common` everywhere: columns of the inverse factor, then their products.
inline void invert(const double *factor, size_t n, double common, double *inverse) {
    std::vector<double> column(n * n, 0.0); // row j: column j of the inverse factor
    for (size_t j = 0; j < n; ++j)
        for (size_t i = j; i < n; ++i) {
            double value = i == j ? 1.0 : -dot(factor + i * n + j, column.data() + j * n + j, i - j);
            column[j * n + i] = value / factor[i * n + i];
        }
    for (size_t i = 0; i < n; ++i)
        for (size_t j = 0; j <= i; ++j)
            inverse[i * n + j] = inverse[j * n + i] =
                dot(column.data() + i * n + i, column.data() + j * n + i, n - i) - common;
}
