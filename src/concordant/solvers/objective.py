"""The training objective: the mean loss of a scorer on labelled queries or pairs, plus a ridge penalty.

    J(theta) = sum_q weight_q loss_q(f(X_q; theta)) / total + alpha/2 |theta|^2

Queries are processed in blocks that fit the processor's cache: scores, loss and gradient of a block are computed before
the next block is read, so that one evaluation reads X from memory once instead of twice and stores only one block's
intermediate results. ``python -m benchmarks learning-losses`` measures the speed-up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from concordant.errors import NeedError, arg
from concordant.losses.base import Evaluation, Loss, Step
from concordant.losses.queries import Pairs, Queries
from concordant.scorers.base import Matrix, Scorer
from concordant.scorers.linear import Linear
from concordant.types import AnyArray, Floats, Int64s

BLOCK_BYTES = 1 << 21  # read once from memory, a second time from the cache
ALL = slice(None)
Data = TypeVar("Data")


class Block(NamedTuple, Generic[Data]):
    """Some queries or pairs with their rows: ``X[rows]`` are their features.

    ``place`` is the row in ``X[rows]`` of every position of the queries. Pairs name rows of ``X[rows]`` directly.
    """

    rows: slice | Int64s
    data: Data
    place: Int64s


class Objective:
    """The regularised mean loss as a function of the parameters: those of the scorer, then those of the loss."""

    def __init__(
        self,
        scorer: Scorer,
        loss: Loss,
        X: Matrix,
        data: Queries | Pairs,
        *,
        alpha: float = 0.0,
        queries_per_block: int | None = None,
    ) -> None:
        """Split the data into blocks of ``queries_per_block`` queries or pairs, by default as many as fit the cache."""
        self.scorer, self.loss, self.X, self.data, self.alpha = scorer, loss, X, data, alpha
        self.queries_per_block = queries_per_block
        n_loss_parameters = len(loss.own_start)
        self.size = scorer.size + n_loss_parameters
        self.penalised = np.concatenate([scorer.penalised(), np.zeros(n_loss_parameters)])
        if isinstance(data, Pairs):
            self.total = float(data.weight.sum()) or 1.0
            self.blocks = list(_cut_pairs(data, queries_per_block))
        else:
            self.total = float(data.weight @ loss.units(data)) or 1.0
            self.blocks = list(_cut(X, data, queries_per_block))

    def start(self, rng: np.random.Generator) -> Floats:
        """Return the initial parameters."""
        return np.concatenate([self.scorer.start(rng), np.array(self.loss.own_start, float)])

    def __call__(self, theta: Floats) -> tuple[float, Floats]:
        """Return the objective and its gradient."""
        value, gradient = self.sums(theta)
        return self.with_penalty(theta, value / self.total, gradient / self.total)

    def sums(self, theta: Floats) -> tuple[float, Floats]:
        """Return the summed loss and its gradient, without penalty; both are additive over parts of the data."""
        value, gradient = 0.0, np.zeros(self.size)
        for block in self.blocks:
            part, slope = self.of_block(theta, block)
            value += part
            gradient += slope
        return value, gradient

    def with_penalty(self, theta: Floats, value: float, gradient: Floats) -> tuple[float, Floats]:
        """Add the ridge penalty to a value and a gradient."""
        penalty_slope = self.alpha * self.penalised * theta
        return value + 0.5 * float(penalty_slope @ theta), gradient + penalty_slope

    def of_block(self, theta: Floats, block: Block[Queries | Pairs]) -> tuple[float, Floats]:
        """Return the summed loss of a block and its gradient, without penalty."""
        X = self._features(block)
        weights, loss_parameters = theta[: self.scorer.size], theta[self.scorer.size :]
        scores, cached = self.scorer.forward(X, weights)
        if isinstance(block.data, Pairs):
            evaluation = self.loss.evaluate_pairs(scores, block.data, loss_parameters)
            score_gradient = evaluation.gradient
        else:
            evaluation = self.loss.evaluate(scores[block.place], block.data, loss_parameters)
            score_gradient = np.zeros(len(scores))  # rows of queries that do not count stay 0
            score_gradient[block.place] = evaluation.gradient
        return evaluation.value, self._joined(self.scorer.backward(X, weights, cached, score_gradient), evaluation)

    def descend(self, theta: Floats, visits: Int64s, step: Step) -> tuple[Floats, float] | None:
        """Take a plain gradient step per block visited, all in one kernel call; None if no kernel supports it."""
        if self.queries_per_block != 1 or not isinstance(self.data, Queries) or self.loss.own_start:
            return None
        if not isinstance(self.scorer, Linear) or not isinstance(self.X, np.ndarray) or not self.X.flags.c_contiguous:
            return None
        return self.loss.descend(self.X, self.data, visits, theta, step)

    def hessian(self, theta: Floats) -> Callable[[Floats], Floats]:
        """Return the Hessian at ``theta`` as a function that multiplies a direction: X'(H (X d)).

        Scores at ``theta`` are computed once and stored (one number per position), so that a product costs two
        matrix-vector products, like an evaluation.
        """
        if not self.scorer.is_linear or self.loss.own_start:
            raise NeedError(
                "Newton's method needs a Hessian, which is available for linear models and kernels with losses that "
                "have no parameters: use " + arg("solver", "lbfgs") + " instead."
            )
        layouts = [_as_queries(block) for block in self.blocks]
        scores = [self.scorer.scores(self._features(block), theta)[block.place] for block in layouts]

        def times(direction: Floats) -> Floats:
            """Return the Hessian times a direction."""
            product = np.zeros(self.size)
            for block, block_scores in zip(layouts, scores, strict=True):
                X = self._features(block)
                score_change = self.scorer.scores(X, direction)
                curved = self.loss.hessian_product(block_scores, block.data, score_change[block.place])
                by_row = np.bincount(block.place, curved, minlength=len(score_change)).astype(np.float64, copy=False)
                product += self.scorer.backward(X, theta, None, by_row)
            return product / self.total + self.alpha * self.penalised * direction

        return times

    def _features(self, block: Block[Any]) -> Matrix:
        """Return the features of the rows of a block."""
        # slicing a sparse matrix copies it
        return self.X if block.rows is ALL else self.X[block.rows]

    def _joined(self, gradient: Floats, evaluation: Evaluation) -> Floats:
        """Append the gradient with respect to the parameters of the loss, if it has any."""
        return np.concatenate([gradient, evaluation.own]) if len(evaluation.own) else gradient


def _cut(X: Matrix, queries: Queries, queries_per_block: int | None) -> Iterator[Block[Queries | Pairs]]:
    """Split queries into blocks; into one block if rows of different queries are interleaved and no size is given."""
    if not queries.is_grouped or not isinstance(X, np.ndarray):
        if queries_per_block is None:
            yield Block(ALL, queries, queries.row)
            return
        for first in range(0, len(queries), queries_per_block):
            part = queries.part(first, min(first + queries_per_block, len(queries)))
            rows: AnyArray = np.sort(part.row)
            yield Block(rows, part, np.searchsorted(rows, part.row))
        return
    ends = _ends(X, queries, queries_per_block)
    for first, last in zip([0, *ends[:-1]], ends, strict=True):
        part = queries.part(first, last)
        low, high = int(queries.ptr[first]), int(queries.ptr[last])
        yield Block(slice(low, high), part, part.row - low)


def _ends(X: AnyArray, queries: Queries, queries_per_block: int | None) -> list[int]:
    """Return the ends of blocks as query numbers (the first query after each block)."""
    count = len(queries)
    if queries_per_block is not None:
        return [min(first + queries_per_block, count) for first in range(0, count, queries_per_block)]
    rows = max(1, BLOCK_BYTES // max(1, X[:1].nbytes))
    block = queries.ptr[:-1] // rows  # queries that begin in the same stretch of rows share a block
    return [*(np.flatnonzero(np.diff(block)) + 1).tolist(), count]


def _cut_pairs(pairs: Pairs, pairs_per_block: int | None) -> Iterator[Block[Queries | Pairs]]:
    """Split pairs into blocks, each spread over the whole list, because adjacent pairs are often similar."""
    if pairs_per_block is None:
        yield Block(ALL, pairs, np.zeros(0, np.int64))
        return
    count = -(-len(pairs) // pairs_per_block)
    for first in range(count):
        part = slice(first, None, count)
        named = np.concatenate([pairs.better[part], pairs.worse[part]])
        rows, place = np.unique(named, return_inverse=True)
        better, worse = place.reshape(2, -1)
        chosen = Pairs(better, worse, pairs.weight[part].copy(), pairs.tied[part].copy())
        yield Block(rows, chosen, np.zeros(0, np.int64))


def _as_queries(block: Block[Queries | Pairs]) -> Block[Queries]:
    """Return explicit pairs as queries of two positions, so that their Hessian needs no separate code."""
    pairs = block.data
    if isinstance(pairs, Queries):
        return Block(block.rows, pairs, block.place)
    place = np.stack([pairs.better, pairs.worse], axis=1).reshape(-1)
    tier = np.zeros(2 * len(pairs), np.int32)
    tier[1::2] = ~pairs.tied
    ptr = np.arange(0, 2 * len(pairs) + 1, 2, dtype=np.int64)
    return Block(block.rows, Queries(ptr, tier, -tier.astype(np.float64), pairs.weight, place), place)
