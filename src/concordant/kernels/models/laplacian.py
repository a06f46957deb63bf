"""Weighted graph Laplacians, dense or as matrix-vector products (NumPy reference of laplacian.cpp)."""

from __future__ import annotations

import numpy as np

from concordant.types import AnyArray, Floats, Int32s

__all__ = ["laplacian", "laplacian_product", "matrix_product", "sign_sums"]


def laplacian(first: Int32s, second: Int32s, weight: Floats, size: int) -> Floats:
    """Return the dense Laplacian sum_r weight[r] (e_i - e_j)(e_i - e_j)'."""
    between = np.bincount(first.astype(np.int64) * size + second, weight, size * size).reshape(size, size)
    between = between + between.T
    return np.asarray(np.diag(between.sum(axis=1)) - between)


def laplacian_product(first: Int32s, second: Int32s, weight: Floats, x: Floats) -> Floats:
    """Return the matrix of ``laplacian`` times the columns of ``x``, without building it."""
    from scipy.sparse import coo_array

    n = len(x)
    between = coo_array((weight, (first, second)), shape=(n, n)).tocsr()
    degree = np.bincount(first, weight, n) + np.bincount(second, weight, n)
    return np.asarray(degree[:, None] * x - between @ x - between.T @ x)


def matrix_product(matrix: Floats, x: Floats) -> Floats:
    """Return a dense matrix times a few columns."""
    return np.asarray(matrix @ x)


def sign_sums(first: Int32s, second: Int32s, root: Floats, bits: AnyArray, n_slots: int) -> Floats:
    """Return 64 columns of sums by slot: row r adds ±root[r] to its first slot and the opposite to its second."""
    columns = []
    for c in range(64):
        value = np.where(bits >> np.uint64(c) & np.uint64(1), -root, root)
        columns.append(np.bincount(first, value, n_slots) - np.bincount(second, value, n_slots))
    return np.stack(columns, 1).astype(float)
