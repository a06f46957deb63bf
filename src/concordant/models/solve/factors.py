"""Cholesky factorisation in NumPy: linear systems, inverses and determinants by block products.

NumPy computes Cholesky factors but has no triangular solve or inverse. Apart from small blocks on the diagonal, both
are matrix products, which are fast. SciPy has both, but importing it takes longer than these solves.
"""

from __future__ import annotations

import numpy as np

from concordant.types import Floats

BLOCK = 96


def factor_of(matrix: Floats) -> Floats | None:
    """Return the lower Cholesky factor of a symmetric matrix; None if it is not positive definite."""
    try:
        factor = np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return None
    return np.asarray(factor) if np.isfinite(np.diag(factor)).all() else None


def solved(factor: Floats, right: Floats) -> Floats:
    """Return the inverse of the factorised matrix times a vector or columns: block-wise forward and back
    substitution.
    """
    x = right.copy()
    blocks = [slice(start, min(start + BLOCK, len(factor))) for start in range(0, len(factor), BLOCK)]
    inverses = [np.linalg.inv(factor[block, block]) for block in blocks]
    for block, inverse in zip(blocks, inverses, strict=True):
        x[block] = inverse @ (x[block] - factor[block, : block.start] @ x[: block.start])
    for block, inverse in zip(reversed(blocks), reversed(inverses), strict=True):
        x[block] = inverse.T @ (x[block] - factor[block.stop :, block].T @ x[block.stop :])
    return x


def inverted(factor: Floats) -> Floats:
    """Return the inverse of the factorised matrix."""
    root = _inverse_of_lower(factor)
    return np.asarray(root.T @ root)


def _inverse_of_lower(lower: Floats) -> Floats:
    """Return the inverse of a lower triangular matrix, by recursion: [[A, 0], [B, C]]⁻¹ = [[A⁻¹, 0], [-C⁻¹ B A⁻¹,
    C⁻¹]].
    """
    n = len(lower)
    if n <= BLOCK:
        return np.asarray(np.linalg.inv(lower))
    half = n // 2
    out = np.zeros_like(lower)
    for part in (slice(half), slice(half, n)):
        out[part, part] = _inverse_of_lower(lower[part, part])
    out[half:, :half] = -out[half:, half:] @ (lower[half:, :half] @ out[:half, :half])
    return out


def log_determinant(factor: Floats) -> float:
    """Return the logarithm of the determinant of the factorised matrix."""
    return 2 * float(np.log(np.diag(factor)).sum())


def quadrature(alpha: Floats, beta: Floats) -> float:
    """Return the mean logarithm of the eigenvalues, estimated from Lanczos coefficients, a column per starting vector.

    Each tridiagonal matrix gives a Gauss quadrature: its eigenvalues are the nodes, the squared first components of its
    eigenvectors the weights.
    """
    length = len(alpha)
    # After a zero of beta the rest is apart from the first component: it has no weight, whatever its nodes.
    is_over = np.cumsum(np.vstack([np.zeros((1, alpha.shape[1])), beta[: length - 1] < 1e-10]), axis=0) > 0
    step = np.arange(length)
    matrices = np.zeros((alpha.shape[1], length, length))
    matrices[:, step, step] = np.where(is_over, 1.0, alpha).T
    matrices[:, step[1:], step[:-1]] = matrices[:, step[:-1], step[1:]] = np.where(is_over[1:], 0.0, beta[:-1]).T
    nodes, vectors = np.linalg.eigh(matrices)
    return float((vectors[:, 0] ** 2 * np.log(np.maximum(nodes, 1e-300))).sum(axis=1).mean())
