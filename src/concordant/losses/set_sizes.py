"""Weights g(m) of sets by size m in models of ordered partitions, and the constants derived from them.

A set S is chosen with probability proportional to g(|S|) Phi(S). The models need two functions of g:

    M(j) = sum_m g(m) C(j, m - 1)     sets with a given object in which j others may join (maximum, minimum)
    T(N) = sum_m g(m) C(N, m)         all sets of N objects; T(N) = M(0) + … + M(N - 1)

g is defined up to a factor; g(1) = 1. To define your own bias, write a frozen dataclass with ``log_weights``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from concordant.types import Floats

BLOCK = 256


class SizeBias(ABC):
    """The weight g(m) of sets of size m. Subclasses are frozen dataclasses."""

    @abstractmethod
    def log_weights(self, n: int) -> Floats:
        """Return log g(1), …, log g(n), with log g(1) = 0 and -inf for sizes that are not allowed."""

    def log_counts(self, n: int) -> Floats:
        """Return log M(0), …, log M(n - 1), by summation in O(n²) time unless a subclass has a formula."""
        factorial, weight = log_factorials(n), self.log_weights(n)
        counts = np.empty(n)
        joining = np.arange(n)  # m - 1
        for first in range(0, n, BLOCK):
            others = np.arange(first, min(first + BLOCK, n))[:, None]
            left = np.maximum(others - joining, 0)
            term = weight + factorial[others] - factorial[joining] - factorial[left]
            term[others < joining] = -np.inf
            high = term.max(axis=1)
            counts[first : first + BLOCK] = high + np.log(np.exp(term - high[:, None]).sum(axis=1))
        return counts


@dataclass(frozen=True)
class TieOdds(SizeBias):
    """g(m) = odds^(m - 1): each additional member multiplies a set's weight; 1 is no bias, 0 allows no ties."""

    odds: float = 1.0

    def log_weights(self, n: int) -> Floats:
        """Return (m - 1) log(odds)."""
        weights = np.zeros(n)
        weights[1:] = np.arange(1, n) * np.log(self.odds) if self.odds > 0 else -np.inf
        return weights

    def log_counts(self, n: int) -> Floats:
        """Return j log(1 + odds), by the binomial theorem."""
        return np.asarray(np.arange(n) * np.log1p(self.odds))


class Tables(NamedTuple):
    """Tables for the kernels; the module docstring defines M and T."""

    log_bias: Floats  # log g(m), m = 0 … n; nothing sensible at 0
    log_total: Floats  # log T(N), N = 0 … n; -inf at 0
    shrink: Floats  # M(j) / M(j + 1), j = 0 … n - 2
    log_spread: Floats  # log T(N) / M(N - 1), N = 0 … n
    log_factorial: Floats  # log m!, m = 0 … n


@lru_cache(maxsize=16)
def _tables(bias: SizeBias, n: int) -> Tables:
    """Compute the tables for up to n objects."""
    counts = bias.log_counts(n)
    total = np.concatenate([[-np.inf], np.logaddexp.accumulate(counts)])
    spread = np.concatenate([[0.0], total[1:] - counts])
    weights = np.concatenate([[0.0], bias.log_weights(n)])
    return Tables(weights, total, np.exp(counts[:-1] - counts[1:]), spread, log_factorials(n))


def tables(bias: SizeBias, n: int) -> Tables:
    """Return the tables for at least up to ``n`` objects; they are cached."""
    return _tables(bias, max(64, 1 << (n - 1).bit_length()) if n else 64)


def log_factorials(n: int) -> Floats:
    """Return log 0!, …, log n!."""
    return np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, n + 1)))])
