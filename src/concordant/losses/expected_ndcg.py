"""One minus the expected NDCG of a random order drawn from a distribution that favours high scores first.

    P(order) = e^E(order) / sum of the same over all orders,   E = sum over places i of f(object at i) / log2(i + 1)
    loss = 1 - sum over orders of P(order) NDCG(order)

The most probable order under P is by decreasing score, and larger score differences make the draw less random: the loss
is smooth in the scores and tends to 1 - NDCG of their order. Gains are 2^label - 1, discounts log2(1 + place), over the
whole list or the first ``cutoff`` places.

Sums over the n! orders of a query become sums over its 2^n sets (see permutations.cpp), exact up to rounding. For a
query with more than ``largest`` objects, each evaluation draws a new sample of that size, which includes every label
where possible. The gradient is then stochastic and needs a stochastic solver, without line search.

O(2^n n) per query, n at most ``largest``. Reference: M. Volkovs and R. Zemel, BoltzRank: learning to maximize expected
ranking gain, ICML 2009; for the energy, by the same authors, CRF framework for supervised preference aggregation, CIKM
2013.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from concordant import kernels
from concordant.ballots.segments import number_inside, pointer
from concordant.errors import InputError, ParameterError, arg
from concordant.kernels.bundles import LabelledQueries
from concordant.losses.base import NOTHING, Evaluation, Loss
from concordant.losses.queries import Queries
from concordant.types import Floats, Int64s

MAX_OBJECTS = 16  # objects whose sets are summed over


@dataclass(frozen=True)
class ExpectedNdcgLoss(Loss):
    """1 minus the expected NDCG of an order drawn from the scores.

    Parameters
    ----------
    cutoff : int or None, default None
        Rank cutoff of NDCG; None for the whole list.
    largest : int, default 10
        Maximum number of objects per query; larger queries are sampled.
    seed : int, default 0
        Seed for sampling.
    """

    name: ClassVar[str] = "expected-ndcg"
    is_convex: ClassVar[bool] = False
    is_exact: ClassVar[bool] = False
    cutoff: int | None = None
    largest: int = 10
    seed: int = 0
    _rng: np.random.Generator = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Reject invalid settings."""
        if self.cutoff is not None and self.cutoff < 1:
            raise ParameterError(
                arg("cutoff", shown=str(self.cutoff)) + " is below 1: give at least 1, or None for the whole list."
            )
        if not 2 <= self.largest <= MAX_OBJECTS:
            raise ParameterError(
                arg("largest", shown=str(self.largest))
                + f" is out of range: give 2 to {MAX_OBJECTS} documents per query."
            )
        object.__setattr__(self, "_rng", np.random.default_rng(self.seed))

    def fitted_to(self, queries: Queries) -> ExpectedNdcgLoss:
        """Return the loss with a new random generator; reject data in which all orders have the same NDCG."""
        best, worst = queries.label[queries.ptr[:-1]], queries.label[queries.ptr[1:] - 1]
        if not ((best > 0) & (best > worst) & (queries.weight > 0)).any():
            raise InputError("All orders of these queries have the same NDCG: give different labels, some above 0.")
        return ExpectedNdcgLoss(self.cutoff, self.largest, self.seed)

    def evaluate(self, scores: Floats, queries: Queries, own: Floats = NOTHING) -> Evaluation:
        """Return the summed loss and its gradient per position; large queries are sampled."""
        chosen = self._drawn(queries)
        if chosen is None:
            layout = LabelledQueries(queries.ptr, queries.tier, queries.label, queries.row, queries.weight)
            return Evaluation(*kernels.expected_ndcg(scores, layout, self.cutoff or 0))
        position, ptr = chosen
        layout = LabelledQueries(
            ptr, queries.tier[position], queries.label[position], queries.row[position], queries.weight
        )
        value, slope = kernels.expected_ndcg(scores[position], layout, self.cutoff or 0)
        gradient = np.zeros(len(scores))
        gradient[position] = slope
        return Evaluation(value, gradient)

    def _drawn(self, queries: Queries) -> tuple[Int64s, Int64s] | None:
        """Draw at most ``largest`` positions of every query: (positions, pointers); None if no query is too large."""
        size = np.diff(queries.ptr)
        if size.max(initial=0) <= self.largest:
            return None
        query = np.repeat(np.arange(len(queries)), size)
        key = self._rng.random(len(query))
        # a random object of every tier comes before all others, so that no label is missed
        tier = np.repeat(np.arange(len(queries.tier_ptr) - 1), np.diff(queries.tier_ptr))
        order = np.lexsort((key, tier))
        key[order[queries.tier_ptr[:-1]]] -= 1.0
        order = np.lexsort((key, query))
        kept = order[number_inside(queries.ptr) < self.largest]
        return np.sort(kept), pointer(np.minimum(size, self.largest))
