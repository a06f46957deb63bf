"""Bagging: the mean of many rankers, each fitted to a random sample of the queries.

Every one of ``n_rankers`` clones learns from queries drawn with replacement, as many as there are times ``fraction``
(a query drawn m times weighs m times as much). Scores of different clones have different scales, so each is divided by
the standard deviation, within queries, of its scores on the whole training set before the mean is taken: ``predict``
needs no queries. Averaging takes away variance: it helps rankers that change much with their data (boosted stumps,
trees, networks), hardly linear ones.

A query that a clone did not see is a fair test of it. ``out_of_bag=True`` scores every query by the clones without it
and reports the mean ``metric`` as ``out_of_bag_score_``, an estimate for new queries without a validation set. With a
single query there is nothing to draw: clones then differ by their seeds only.

Cost: ``n_rankers`` fits. Reference: L. Breiman, Bagging predictors, Machine Learning 24, 1996.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn import config_context
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from concordant.errors import NeedError
from concordant.learn._base import METRIC, Ranker
from concordant.learn._data import deviation, measure
from concordant.learn._rows import Labelled, begin_fit, fresh_copy, labelled
from concordant.learn.rank_boost import RankBoost
from concordant.params import param
from concordant.types import Bools, Floats, Int64s

SEEDS = ("seed", "random_state")


@dataclass(eq=False, repr=False)
class BaggedRanker(Ranker):
    """The mean of rankers fitted to samples of the queries."""

    ranker: Any = None
    """Any ranker that scores rows, also a pipeline that ends in one; RankBoost with 50 rounds if not given."""
    n_rankers: int = param(10, "how many rankers to average", low=1)
    fraction: float = param(1.0, "queries drawn for each, as a share of all", low=0.01)
    out_of_bag: bool = param(False, "measure every query by the rankers that did not see it")
    metric: str = param(METRIC, "metric of the out-of-bag score")
    seed: int = param(0, "seed of the draws and of the rankers", low=0)

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        *,
        qid: ArrayLike | None = None,
        group: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        valid: tuple[Any, ...] | None = None,
    ) -> Self:
        """Fit the rankers; ``valid`` is passed on to each (the ranker must take it)."""
        begin_fit(self)
        self._refuse_places()
        X = self._checked(X, reset=True, missing=self._allows_missing())
        given = labelled(self, X, y, qid, group, sample_weight)
        useful = given.queries.pairs > 0
        rng = np.random.default_rng(self.seed)
        passed = {} if valid is None else {"valid": valid}
        rankers, scales = [], np.ones(self.n_rankers)
        kept = _OutOfBag(given)
        for number in range(self.n_rankers):
            drawn = self._draw(rng, useful)
            fitted = _fit_sample(self._fresh(rng), given, drawn, passed)
            scores = np.asarray(fitted.predict(given.X), np.float64)
            scales[number] = deviation(scores, given.query) or 1.0
            rankers.append(fitted)
            kept.add(scores / scales[number], drawn[given.query] == 0)
        self.rankers_, self.scales_ = rankers, scales
        if self.out_of_bag:
            self.out_of_bag_score_ = kept.score(self.metric)
        return self

    def predict(self, X: Any) -> Floats:
        """Return the mean of the rankers' standardised scores per row."""
        check_is_fitted(self, "scales_")
        X = self._checked(X, reset=False, missing=self._allows_missing())
        total = np.zeros(X.shape[0])
        for fitted, scale in zip(self.rankers_, self.scales_.tolist(), strict=True):
            total += fitted.predict(X) / scale
        return total / len(self.rankers_)

    def _base(self) -> Any:
        return RankBoost(rounds=50) if self.ranker is None else self.ranker

    def _refuse_places(self) -> None:
        """Refuse a ranker whose answers are places in a set: they are no scores that could be averaged."""
        if "qid" in inspect.signature(fresh_copy(self._base(), "ranker", "predict").predict).parameters:
            raise NeedError(
                f"{type(self.ranker).__name__} orders whole sets and has no scores to average: "
                "bag its classifier instead, or choose another ranker."
            )

    def _fresh(self, rng: np.random.Generator) -> Any:
        """Return an unfitted copy of the ranker with a seed of its own, wherever it has one."""
        fresh = clone(self._base())
        own = [name for name in sorted(fresh.get_params()) if name.split("__")[-1] in SEEDS]
        return fresh.set_params(**{name: int(rng.integers(2**31 - 1)) for name in own})

    def _draw(self, rng: np.random.Generator, useful: Bools) -> Int64s:
        """Return how often every query is drawn; again if nothing drawn holds a preference."""
        count = max(1, round(self.fraction * len(useful)))
        while True:
            drawn = np.bincount(rng.integers(len(useful), size=count), minlength=len(useful))
            if drawn[useful].any():
                return drawn

    def _allows_missing(self) -> bool:
        return bool(get_tags(self._base()).input_tags.allow_nan)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self._base()).input_tags
        tags.input_tags.sparse, tags.input_tags.allow_nan = inner.sparse, inner.allow_nan
        return tags


class _OutOfBag:
    """Sums of the scores of rankers that did not see a row."""

    def __init__(self, given: Labelled) -> None:
        self.given = given
        self.sum, self.count = np.zeros(len(given.label)), np.zeros(len(given.label))

    def add(self, scores: Floats, is_out: Bools) -> None:
        """Add a ranker's scores for the rows it did not see."""
        self.sum += np.where(is_out, scores, 0.0)
        self.count += is_out

    def score(self, metric: str) -> float:
        """Return the mean metric of the queries some ranker did not see."""
        out = self.count > 0
        if not out.any():
            raise NeedError("Every query was drawn for every ranker: raise n_rankers or lower fraction.")
        return measure(metric, self.sum[out] / self.count[out], self.given.label[out], self.given.query[out])


def _fit_sample(ranker: Any, given: Labelled, drawn: Int64s, passed: dict[str, Any]) -> Any:
    """Fit to the queries drawn: weighted by how often, or repeated where the ranker takes no weights."""
    X, label, query, weight = given
    times = drawn[query]
    if has_fit_parameter(ranker, "sample_weight"):
        rows = np.flatnonzero(times)
        by_row = times[rows] * (1.0 if weight is None else weight[rows])
        return ranker.fit(X[rows], label[rows], qid=query[rows], sample_weight=by_row, **passed)
    if weight is not None or passed:
        raise NeedError(f"{type(ranker).__name__} takes no sample_weight and no valid here: leave them out.")
    copies = [np.flatnonzero(times > again) for again in range(int(times.max()))]
    names = np.concatenate([query[rows] + again * len(drawn) for again, rows in enumerate(copies)])
    every = np.concatenate(copies)
    with config_context(enable_metadata_routing=True):  # through a pipeline, queries go to the step that asks for them
        return ranker.fit(X[every], label[every], qid=names)
