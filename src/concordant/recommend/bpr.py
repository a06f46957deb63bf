"""Bayesian personalised ranking: logistic loss of pairs of a seen and an unseen item, log(1 + exp(-lead)).

    f(u, i) = c_i + p_u · q_i

In every pass, each item that an agent has rated is compared with a randomly sampled one: an item the agent has not seen
(``contrast="unseen"``, for implicit feedback such as clicks and purchases), or one that it rated lower (``"rated"``,
pairs of its own ratings). Each pair takes one stochastic gradient step; pairs come in random order.

Cost: O(ratings · factors) per pass, on one processor, because each step depends on the previous one. Reference: S.
Rendle, C. Freudenthaler, Z. Gantner and L. Schmidt-Thieme, BPR: Bayesian personalized ranking from implicit feedback,
UAI 2009.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from concordant import kernels
from concordant.params import param
from concordant.recommend._alternating import Sweep
from concordant.recommend._base import Progress, Watched
from concordant.recommend._factors import FactorRecommender
from concordant.recommend._observed import Observed
from concordant.types import Int32s, Int64s

TRIES = 20  # draws until an item is one the agent has not seen
FOLDS, AT_ONCE = 10, 10  # rounds over the few pairs of a newcomer, each of several passes


@dataclass(frozen=True, kw_only=True)
class BPR(FactorRecommender):
    """Bayesian personalised ranking: seen items above unseen ones, by stochastic gradient descent on pairs."""

    contrast: str = param(
        "unseen", "negatives to sample: unseen items, or items rated lower", choices=("unseen", "rated")
    )
    rate: float = param(0.05, "learning rate", low=1e-9, high=1.0)
    ridge: float = param(0.01, "ridge (L2) penalty on factors and biases", low=0.0, high=1.0)
    passes: int = param(50, "maximum number of passes over all pairs", low=1)
    patience: int = param(5, "early stopping: number of passes without improvement of the validation metric", low=1)

    def _learn(
        self, observed: Observed, quality: Watched | None, start: Any, progress: Progress | None
    ) -> dict[str, Any]:
        """Take stochastic gradient steps on random pairs, pass after pass; return the best factors."""
        rng = np.random.default_rng(self.seed)
        rows = [self._first_rows(rng, len(side), 0.1) for side in (observed.agents, observed.items)]
        if start is not None:
            carried = (("of_agent", "agents"), ("of_item", "items"))
            rows = [self._carried(side_rows, start, *names) for side_rows, names in zip(rows, carried, strict=True)]
        best, best_quality, last_best = _learnt(*rows), -np.inf, 0
        for number in range(1, self.passes + 1):
            pairs = _draw(observed, self.contrast, rng)
            of_agent, of_item, loss = kernels.pair_steps(*pairs, rows[0], rows[1], self.rate, self.ridge)
            rows = [of_agent, of_item]
            value = None
            if quality is not None:
                model = self.with_learnt(**_learnt(*rows))
                value = quality.quality(model._pair_scores(quality.agent, quality.item))
            if progress is not None:
                progress(Sweep(number, self.passes, loss, value))
            if value is None or value > best_quality:
                best, best_quality, last_best = _learnt(*rows), value or 0.0, number
            elif number - last_best >= self.patience:
                break
        return best

    def _fold(self, observed: Observed) -> dict[str, Any]:
        """Take many small steps on the pairs of the new agents; changes to the items are discarded."""
        rng = np.random.default_rng(self.seed)
        of_agent, of_item = self._first_rows(rng, len(observed.agents), 0.0), self._known("of_item")
        for _ in range(FOLDS):
            of_agent, _, _ = kernels.pair_steps(
                *_draw(observed, self.contrast, rng, AT_ONCE), of_agent, of_item, self.rate, self.ridge
            )
        return {"of_agent": of_agent}


def _learnt(of_agent: Any, of_item: Any) -> dict[str, Any]:
    return {"mean": 0.0, "of_agent": of_agent, "of_item": of_item}


def _draw(observed: Observed, contrast: str, rng: np.random.Generator, times: int = 1) -> tuple[Int32s, Int32s, Int32s]:
    """Sample an item to compare with every entry; return agents, better and worse items in random order."""
    entry = rng.permutation(np.repeat(np.arange(len(observed.item)), times))
    agent, better = observed.agent[entry], observed.item[entry]
    if contrast == "rated":
        end, tier_end = observed.ptr[1:][observed.ballot], _tier_end(observed)
        worse_from, worse_to = tier_end[entry], end[entry]
        drawn = worse_from + (rng.random(len(entry)) * (worse_to - worse_from)).astype(np.int64)
        kept = worse_from < worse_to
        worse = observed.item[np.minimum(drawn, len(observed.item) - 1)].astype(np.int64)
    else:
        worse, kept = _unseen(observed, agent, rng)
    return (
        np.ascontiguousarray(agent[kept]),
        np.ascontiguousarray(better[kept]),
        np.ascontiguousarray(worse[kept].astype(np.int32)),
    )


def _unseen(observed: Observed, agent: Int32s, rng: np.random.Generator) -> tuple[Int64s, Any]:
    """Sample, for each of these agents, an item it has not rated; return the items and whether one was found."""
    n = len(observed.items)
    rated_keys = np.sort(observed.agent.astype(np.int64) * n + observed.item)
    worse, is_open = np.zeros(len(agent), np.int64), np.ones(len(agent), bool)
    for _ in range(TRIES):
        rest = np.flatnonzero(is_open)
        if not len(rest):
            break
        drawn = rng.integers(0, n, len(rest))
        key = agent[rest].astype(np.int64) * n + drawn
        place = np.minimum(np.searchsorted(rated_keys, key), len(rated_keys) - 1)
        fresh = rated_keys[place] != key
        worse[rest[fresh]] = drawn[fresh]
        is_open[rest[fresh]] = False
    return worse, ~is_open


def _tier_end(observed: Observed) -> Int64s:
    """Return, for every entry, where its tier ends."""
    tier, n = observed.tier, len(observed.item)
    begins = np.ones(n, bool)
    begins[1:] = (tier[1:] != tier[:-1]) | (observed.ballot[1:] != observed.ballot[:-1])
    start = np.flatnonzero(begins)
    return np.asarray(np.append(start[1:], n)[np.cumsum(begins) - 1])
