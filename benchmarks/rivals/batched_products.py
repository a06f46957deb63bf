"""The floor of a sweep: the multiply-adds of both sides, by BLAS, on factors that lie next to each other already.

More than 32 factors are solved by conjugate gradients: per entry and side two products for the right-hand side and
the diagonal, and two for each of the 1 + 3 times that the matrix meets a vector. Up to 32 factors the matrix itself is
made: one product of all entries with themselves, and one for the right-hand side. There are no scores and no loss here,
nothing is gathered and nothing solved.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.core import Inputs, Task

ENTRIES = 50  # of a block, as an agent has ratings
AT_ONCE = 1 << 20  # bytes of the blocks that go through all their products while they are in the cache
EXACT = 32
TIMES = 4
SIDES = 2


def _products(inputs: Inputs, dtype: type) -> Task:
    rng = np.random.default_rng(0)
    width = inputs["factors"] + 1
    entries = min(ENTRIES, len(inputs["agent"]))
    blocks = -(-len(inputs["agent"]) // entries)
    X = rng.standard_normal((blocks, entries, width), np.float32).astype(dtype)
    terms = rng.standard_normal((blocks, 2, entries), np.float32).astype(dtype)  # targets and curves
    start = rng.standard_normal((blocks, width, 1), np.float32).astype(dtype)
    some = max(1, AT_ONCE // X[0].nbytes)
    multiply = _matrix if inputs["factors"] <= EXACT else _steps

    def run() -> None:
        for _ in range(SIDES):
            for k in range(0, blocks, some):
                multiply(X[k : k + some], terms[k : k + some], start[k : k + some])

    return Task(run)


def _steps(X: np.ndarray, terms: np.ndarray, vector: np.ndarray) -> None:
    np.matmul(terms, X)
    for _ in range(TIMES):
        along = np.matmul(X, vector)
        vector = np.matmul(along.transpose(0, 2, 1), X).transpose(0, 2, 1)


def _matrix(X: np.ndarray, terms: np.ndarray, _: np.ndarray) -> None:
    np.matmul(terms[:, :1], X)
    np.matmul(X.transpose(0, 2, 1), X)


single, double = (partial(_products, dtype=dtype) for dtype in (np.float32, np.float64))
factor_sweep = factor_sweep_auto = factor_sweep_10 = single
factor_sweep_double = factor_sweep_10_double = double
