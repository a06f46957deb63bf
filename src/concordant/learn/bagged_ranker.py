"""Bagging: the mean of many rankers, each fitted to a random sample of the queries.

Each of the ``n_rankers`` clones is fitted to queries drawn with replacement; the number of draws is the number of
queries times ``fraction``, and a query drawn m times has weight m. The scores of different clones have different
scales, so each clone's scores are divided by their standard deviation within queries, on the training set, before they
are averaged. ``predict`` therefore needs no queries. Averaging reduces variance: it helps unstable rankers (boosted
stumps, trees, networks) and hardly changes linear ones.

A query that a clone was not trained on is held-out data for it. With ``out_of_bag=True``, every query is scored by the
clones that were not trained on it, and ``out_of_bag_score_`` is the mean ``metric``: an estimate for new queries
without a validation set. With a single query, there is nothing to sample, and the clones differ only by their seeds.

Cost: ``n_rankers`` fits. Reference: L. Breiman, Bagging predictors, Machine Learning 24, 1996.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn import config_context
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from concordant.ballots.segments import deviation_within
from concordant.errors import NeedError
from concordant.learn._base import METRIC
from concordant.learn._data import Rows, measure
from concordant.learn._ensemble import MeanRanker, fresh_copy, refuse_places
from concordant.learn.rank_boost import RankBoost
from concordant.params import param
from concordant.support import progress
from concordant.support.state import Kind, floats, optional
from concordant.types import Bools, Floats, Int64s

SEEDS = ("seed", "random_state")


@dataclass(eq=False, repr=False)
class BaggedRanker(MeanRanker):
    """Mean of rankers trained on samples of the queries (bagging).

    Parameters
    ----------
    ranker : estimator, default None
        Ranker that scores rows, or a pipeline that ends in one; RankBoost with 50 rounds if None.
    """

    learns: ClassVar[Mapping[str, Kind]] = {**MeanRanker.learns, "out_of_bag_score_": optional(floats())}

    ranker: Any = None
    """Any ranker that scores rows, also a pipeline that ends in one; RankBoost with 50 rounds if not given."""
    n_rankers: int = param(10, "number of rankers to average", low=1)
    fraction: float = param(1.0, "share of the queries sampled for each ranker", low=0.01)
    out_of_bag: bool = param(False, "evaluate every query with the rankers not trained on it")
    metric: str = param(METRIC, "metric of the out-of-bag score")
    seed: int = param(0, "seed for the samples and the rankers", low=0)

    def predict(self, X: Any) -> Floats:
        """Return the mean of the rankers' standardised scores.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features of the rows to score.

        Returns
        -------
        ndarray of shape (n_samples,)
            One score per row; higher is better. Only scores of the same query are comparable.
        """
        check_is_fitted(self, "scales_")
        return self._mean(self._checked(X, reset=False))

    def _begin_fit(self) -> None:
        """Validate the parameters and the ranker."""
        super()._begin_fit()
        ranker = fresh_copy(self._base(), "ranker", "predict")
        refuse_places(ranker, "bag its classifier instead, or choose another ranker")

    def _fit_rows(self, rows: Rows, valid: tuple[Any, ...] | None) -> None:
        """Fit the rankers to samples of the queries, standardise their scores, and compute the out-of-bag score."""
        useful = rows.queries.pairs > 0
        rng = np.random.default_rng(self.seed)
        fit_arguments = {} if valid is None else {"valid": valid}
        self.rankers_, self.scales_ = [], np.ones(self.n_rankers)
        sums, count = np.zeros((2, len(rows.label)))  # of the scores by rankers that did not see a row
        for number in progress.steps(range(self.n_rankers), "training rankers"):
            drawn = self._draw(rng, useful)
            fitted = _fit_sample(self._fresh(rng), rows, drawn, fit_arguments)
            scores = np.asarray(fitted.predict(rows.X), np.float64)
            self.rankers_.append(fitted)
            self.scales_[number] = deviation_within(scores, rows.query)
            is_out = drawn[rows.query] == 0
            sums += np.where(is_out, scores / self.scales_[number], 0.0)
            count += is_out
        if self.out_of_bag:
            has_score = count > 0
            if not has_score.any():
                raise NeedError(
                    "Every query was drawn for every ranker, so there is no out-of-bag score: raise n_rankers or "
                    "lower fraction."
                )
            self.out_of_bag_score_ = measure(
                self.metric, sums[has_score] / count[has_score], rows.label[has_score], rows.query[has_score]
            )

    def learnt_sizes(self) -> dict[str, int]:
        """Return the expected number of features of the rankers, for validating a loaded model.

        Returns
        -------
        dict of str to int
            Sizes by name.
        """
        return {"widened": self.n_features_in_}

    def _base(self) -> Any:
        return RankBoost(rounds=50) if self.ranker is None else self.ranker

    def _fresh(self, rng: np.random.Generator) -> Any:
        """Return an unfitted copy of the ranker, with its own random seed if it takes one."""
        fresh = clone(self._base())
        seed_names = [name for name in sorted(fresh.get_params()) if name.split("__")[-1] in SEEDS]
        return fresh.set_params(**{name: int(rng.integers(2**31 - 1)) for name in seed_names})

    def _draw(self, rng: np.random.Generator, useful: Bools) -> Int64s:
        """Return how often every query is drawn; repeat a draw in which no query has preferences."""
        count = max(1, round(self.fraction * len(useful)))
        while True:
            n_drawn = np.bincount(rng.integers(len(useful), size=count), minlength=len(useful))
            if n_drawn[useful].any():
                return n_drawn

    @property
    def _takes_missing(self) -> bool:
        return bool(get_tags(self._base()).input_tags.allow_nan)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = get_tags(self._base()).input_tags.sparse
        return tags


def _fit_sample(ranker: Any, rows: Rows, drawn: Int64s, fit_arguments: dict[str, Any]) -> Any:
    """Fit to the drawn queries, weighted by their counts, or repeated if the ranker takes no weights."""
    X, label, query, weight = rows.X, rows.label, rows.query, rows.weight
    times = drawn[query]
    if has_fit_parameter(ranker, "sample_weight"):
        used = np.flatnonzero(times)
        by_row = times[used] * (1.0 if weight is None else weight[used])
        return ranker.fit(X[used], label[used], qid=query[used], sample_weight=by_row, **fit_arguments)
    if weight is not None or fit_arguments:
        raise NeedError(f"{type(ranker).__name__} supports neither sample_weight nor valid here: leave them out.")
    copies = [np.flatnonzero(times > again) for again in range(int(times.max()))]
    names = np.concatenate([query[used] + again * len(drawn) for again, used in enumerate(copies)])
    every = np.concatenate(copies)
    with config_context(enable_metadata_routing=True):  # through a pipeline, queries go to the step that asks for them
        return ranker.fit(X[every], label[every], qid=names)
