"""LambdaRank: RankNet's gradient, with each pair weighted by the change of a metric if the two swap ranks.

    sum over pairs i over j of |change of the metric if i and j swapped places| log(1 + e^-d),   d = f_i - f_j

Ranks are those of the current scores; equal scores are in row order, as in the metrics, so that the layout by label
does not leak into the ranks. The weights are discontinuous where two objects swap ranks, so the gradient (with the
weights held fixed) is not the gradient of any function: line searches fail, but stochastic steps work well. Targets:

    ndcg   gain 2^label - 1, discount log2(1 + place); the whole list or the first ``cutoff`` places
    ap     average precision; labels of at least 1 are relevant
    err    expected reciprocal rank; ``largest`` is the largest label of the scale (default: of the given queries)

O(n^2) time and O(n) memory per query of n objects: each of the three changes is O(1) per pair (see lambdas.cpp).

Reference: C. Burges, R. Ragno, Q. Le, Learning to rank with nonsmooth cost functions, NIPS 2006.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from concordant import kernels
from concordant.errors import InputError, ParameterError, arg
from concordant.kernels.bundles import LabelledQueries, LambdaGoal
from concordant.kernels.codes import Lambda
from concordant.losses.base import NOTHING, Evaluation, Loss, Step
from concordant.losses.queries import Queries
from concordant.types import AnyArray, Floats, Int64s

_TARGETS = {"ndcg": int(Lambda.NDCG), "ap": int(Lambda.AP), "err": int(Lambda.ERR)}


@dataclass(frozen=True)
class LambdaRankLoss(Loss):
    """Logistic loss over pairs, weighted by the change in a metric.

    Parameters
    ----------
    target : {'ndcg', 'err', 'ap'}, default 'ndcg'
        Metric whose change weights the pairs.
    cutoff : int or None, default None
        Rank cutoff of the metric; None for the whole list.
    largest : float or None, default None
        Largest label, which scales ERR; None to take it from the data.
    """

    name: ClassVar[str] = "lambdarank"
    is_convex: ClassVar[bool] = False
    is_smooth: ClassVar[bool] = False
    is_exact: ClassVar[bool] = False
    target: str = "ndcg"
    cutoff: int | None = None
    largest: float | None = None

    def __post_init__(self) -> None:
        """Reject invalid settings."""
        if self.target not in _TARGETS:
            raise ParameterError(
                arg("target", self.target) + f" is not valid for lambdarank: use one of {', '.join(_TARGETS)}."
            )
        if self.cutoff is not None and self.cutoff < 1:
            raise ParameterError(
                arg("cutoff", shown=str(self.cutoff)) + " is below 1: give at least 1, or None for the whole list."
            )

    def fitted_to(self, queries: Queries) -> LambdaRankLoss:
        """Set the largest label (the scale of ERR) from all queries; reject them if all orders have the same metric.

        NDCG and ERR treat all labels up to 0 as equal; average precision distinguishes only labels below 1 from labels
        of at least 1.
        """
        highest, lowest = queries.label[queries.ptr[:-1]], queries.label[queries.ptr[1:] - 1]
        differs = (highest >= 1) & (lowest < 1) if self.target == "ap" else (highest > 0) & (highest > lowest)
        if not (differs & (queries.weight > 0)).any():
            needed = "of 1 or more to relevant rows only" if self.target == "ap" else "that differ, some above 0"
            raise InputError(f"All orders of these queries have the same {self.target}: give labels {needed}.")
        return self if self.largest is not None else replace(self, largest=float(queries.label.max(initial=0.0)))

    def evaluate(self, scores: Floats, queries: Queries, own: Floats = NOTHING) -> Evaluation:
        """Return the weighted logistic loss in the current order and its gradient per position, with fixed weights."""
        return Evaluation(*kernels.lambda_terms(scores, _layout(queries), self._goal(queries)))

    def descend(self, X: AnyArray, queries: Queries, visits: Int64s, theta: Floats, step: Step) -> tuple[Floats, float]:
        """Take a step per query visited, with scores linear in the weights, all in one kernel call."""
        return kernels.lambda_descent(X, _layout(queries), visits, theta, step.rate, step.decay, self._goal(queries))

    def _goal(self, queries: Queries) -> LambdaGoal:
        """Return the metric whose changes weight the pairs, as the kernels expect it."""
        largest = 0.0
        if self.target == "err":
            largest = float(queries.label.max(initial=0.0)) if self.largest is None else self.largest
        return LambdaGoal(_TARGETS[self.target], self.cutoff or 0, largest)


def _layout(queries: Queries) -> LabelledQueries:
    return LabelledQueries(queries.ptr, queries.tier, queries.label, queries.row, queries.weight)
