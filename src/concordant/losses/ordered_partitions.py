"""Probabilistic models over ordered partitions: objects with equal labels are chosen together as a set.

The objects of a query with tied labels form sets X_1 > X_2 > … > X_K. At stage k the set X_k is chosen from the
objects R_k that remain, among all their non-empty sets:

    P(X_1, …, X_K) = prod_k g(|X_k|) Phi(X_k) / Z_k,    Z_k = sum over non-empty S in R_k of g(|S|) Phi(S)

Phi(S) is a mean of the worths exp(f) of the members and g an optional bias on the size. Exact cases:

    arithmetic mean    Z_k = C_k sum_{R_k} exp(f), C_k = T(N_k) / N_k: linear time
    maximum            Z_k = sum_n M(N_k - n) exp(f_(n)), f_(1) the best in R_k: one sort, then a pass per stage
    minimum            the same from the worst object on

with N_k objects in R_k, T and M of ``set_sizes``. (A pass stops when the remaining terms do not change the sum: for the
maximum after about sixty objects.) For the geometric and harmonic mean, sets are sampled: see ``subset_sampling``.

The loss is the negative log-likelihood without sum_k log(C_k |X_k| / g(|X_k|)), which does not depend on the scores;
for the arithmetic mean that is sum_k [logsumexp(f, R_k) - logsumexp(f, X_k)], and without ties ListMLE's loss. With
ties it is not convex: start from equal scores.

``rank_weighting`` weights stage k by 1 + log(label), 0 at label 0. ``backward`` chooses the worst set first, with
worths exp(-f), so that a high f is still better.

Reference: T. Truyen, D. Phung, S. Venkatesh, Probabilistic models over ordered partitions with applications in
document ranking and collaborative filtering, SDM 2011.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np

from concordant import kernels
from concordant.errors import InputError
from concordant.losses.base import NOTHING, Evaluation, Loss
from concordant.losses.queries import Queries
from concordant.losses.set_sizes import SizeBias, Tables, TieOdds, tables
from concordant.types import Floats, Int64s


class Stages(NamedTuple):
    """The stages of all queries: positions begin:split are chosen from begin:end."""

    begin: Int64s
    split: Int64s
    end: Int64s
    query: Int64s

    @classmethod
    def of(cls, queries: Queries) -> Stages:
        """List the stages of all queries in order."""
        per_query = np.diff(queries.query_tier_ptr)
        query = np.repeat(np.arange(len(queries)), per_query)
        return cls(queries.tier_ptr[:-1], queries.tier_ptr[1:], queries.ptr[1:][query], query)


@dataclass(frozen=True)
class OrderedPartitionLoss(Loss):
    """Base class of the models: direction, stage weights, bias on sizes, and the constants of the likelihood."""

    name: ClassVar[str] = "ordered-partitions"
    is_convex: ClassVar[bool] = False

    backward: bool = False
    rank_weighting: bool = False
    bias: SizeBias = TieOdds()  # noqa: RUF009 - frozen

    def evaluate(self, scores: Floats, queries: Queries, own: Floats = NOTHING) -> Evaluation:
        """Return the summed loss and its gradient per position."""
        if not self.backward:
            loss, gradient = self._losses(scores, queries)
            return Evaluation(float(loss.sum()), gradient)
        loss, gradient = self._losses(_reversed_scores(scores), _reversed(queries))
        return Evaluation(float(loss.sum()), _reversed_scores(gradient))

    def fitted_to(self, queries: Queries) -> OrderedPartitionLoss:
        """Reject data in which rank weighting gives every stage the weight 0."""
        if self.rank_weighting:
            reversed_queries = _reversed(queries) if self.backward else queries
            stages = Stages.of(reversed_queries)
            is_choice = stages.split < stages.end
            if not (reversed_queries.weight[stages.query] * self._factors(reversed_queries) * is_choice).any():
                raise InputError(
                    "Rank weighting gives every stage the weight 0: give labels of at least 1, or disable it."
                )
        return self

    def log_likelihood(
        self, scores: Floats, queries: Queries, *, temperatures: int = 100, runs: int = 20, seed: int = 0
    ) -> Floats:
        """Return the log-probability of every query's partition, without weights.

        Exact if the normaliser is exact; otherwise estimated by annealed importance sampling with this number of
        ``temperatures`` and ``runs``.
        """
        if self.backward:
            scores, queries = _reversed_scores(scores), _reversed(queries)
        stages = Stages.of(queries)
        by_stage = self._set_constants(stages)
        constant = np.bincount(stages.query, weights=by_stage, minlength=len(queries))
        return constant + self._log_shares(scores, queries, stages, temperatures, runs, np.random.default_rng(seed))

    def weighted_log_likelihood(self, scores: Floats, queries: Queries) -> float:
        """Return the log-probability of all partitions with the weights of queries and stages, if Z is exact."""
        if self.backward:
            scores, queries = _reversed_scores(scores), _reversed(queries)
        stages = Stages.of(queries)
        weight = queries.weight[stages.query] * (self._factors(queries) if self.rank_weighting else 1.0)
        return float(weight @ self._set_constants(stages)) - float(self._losses(scores, queries)[0].sum())

    def probabilities(self, margin: Floats, own: Floats = NOTHING) -> Floats:
        """Return the probabilities of a win, a tie and a loss of two objects at margins: n x 3."""
        half = np.asarray(margin, np.float64) / 2
        bias = float(tables(self.bias, 2).log_bias[2])
        log_odds = np.stack([half, self._log_pair(np.abs(half)) + bias, -half], axis=1)
        odds = np.exp(log_odds - log_odds.max(axis=1, keepdims=True))
        return np.asarray(odds / odds.sum(axis=1, keepdims=True))

    @abstractmethod
    def _losses(self, scores: Floats, queries: Queries) -> tuple[Floats, Floats]:
        """Return the loss of every query, and the gradient."""

    @abstractmethod
    def _log_pair(self, half: Floats) -> Floats:
        """Return log Phi of two objects with scores ``half`` and ``-half``, half >= 0."""

    def _log_shares(
        self, scores: Floats, queries: Queries, stages: Stages, temperatures: int, runs: int, rng: np.random.Generator
    ) -> Floats:
        """Return, by query, the sum over stages of log(Phi / Z), with Z and Phi scaled as in the loss."""
        plain = replace(self, rank_weighting=False)
        return -plain._losses(scores, queries.weighted(np.ones(len(queries))))[0]

    def _set_constants(self, stages: Stages) -> Floats:
        """Return log(g(|X_k|) / (C_k |X_k|)) of every stage."""
        remaining, chosen = stages.end - stages.begin, stages.split - stages.begin
        sizes = self._tables(int(remaining.max(initial=0)))
        return np.asarray(sizes.log_bias[chosen] - sizes.log_total[remaining] + np.log(remaining / chosen))

    def _tables(self, longest: int) -> Tables:
        return tables(self.bias, longest)

    def _factors(self, queries: Queries) -> Floats:
        """Return the weight of every stage, or an empty array if all have weight 1."""
        return rank_weights(queries.label[queries.tier_ptr[:-1]]) if self.rank_weighting else NOTHING


@dataclass(frozen=True)
class MeanPartitionLoss(OrderedPartitionLoss):
    """A set is worth the arithmetic mean of its members. A bias on sizes adds only constants to the likelihood."""

    def hessian_product(self, scores: Floats, queries: Queries, direction: Floats) -> Floats:
        """Return the Hessian times ``direction``."""
        if self.backward:
            scores, queries, direction = _reversed_scores(scores), _reversed(queries), _reversed_scores(direction)
        product = kernels.mean_partitions_hessian_product(
            scores, queries.ptr, queries.tier, self._factors(queries), queries.weight, direction
        )
        return _reversed_scores(product) if self.backward else product

    def _losses(self, scores: Floats, queries: Queries) -> tuple[Floats, Floats]:
        return kernels.mean_partitions(scores, queries.ptr, queries.tier, self._factors(queries), queries.weight)

    def _log_pair(self, half: Floats) -> Floats:
        return np.asarray(np.logaddexp(half, -half) - np.log(2))


@dataclass(frozen=True)
class ExtremePartitionLoss(OrderedPartitionLoss):
    """The worth of a set is that of its best member (``is_maximum``) or its worst. Not smooth at equal scores."""

    is_smooth: ClassVar[bool] = False

    is_maximum: bool = True

    def _losses(self, scores: Floats, queries: Queries) -> tuple[Floats, Floats]:
        """Return the loss of every query, and the gradient."""
        sizes = self._tables(int((queries.ptr[1:] - queries.ptr[:-1]).max()) if len(queries) else 0)
        return kernels.extreme_partitions(
            scores,
            queries.ptr,
            queries.tier,
            self._factors(queries),
            queries.weight,
            sizes.shrink,
            sizes.log_spread,
            self.is_maximum,
        )

    def _log_pair(self, half: Floats) -> Floats:
        return half if self.is_maximum else -half


def rank_weights(label: Floats) -> Floats:
    """Return 1 + log(label), 0 at label 0; never negative."""
    return np.asarray(np.maximum(0.0, 1 + np.log(np.maximum(label, 1e-300))))


def _reversed(queries: Queries) -> Queries:
    """Return the same queries in reverse order: the worst tier comes first."""
    last = np.repeat(queries.tier[queries.ptr[1:] - 1], np.diff(queries.ptr))
    return Queries(
        np.ascontiguousarray((len(queries.row) - queries.ptr)[::-1]),
        np.ascontiguousarray((last - queries.tier)[::-1]),
        np.ascontiguousarray(queries.label[::-1]),
        np.ascontiguousarray(queries.weight[::-1]),
        np.ascontiguousarray(queries.row[::-1]),
    )


def _reversed_scores(values: Floats) -> Floats:
    """Return values per position in the order of reversed queries, with the opposite sign."""
    return np.ascontiguousarray(-values[::-1])
