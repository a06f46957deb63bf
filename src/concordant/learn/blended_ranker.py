"""The mean of rankers of different kinds: the strongest model here, at the price of several fits.

Models that err in different ways correct each other. Rows get the ranks of their features within the query beside the
features (``QueryRanks``), all is standardised, every ranker is fitted, and scores are averaged after each ranker's were
divided by their deviation within queries (of the validation set, where there is one). Unless told otherwise they are

    RankNet, OrderedPartitionRanker, LambdaRank(target="ap")    linear, three views of the same labels ("ndcg" if labels
                                                                do not tell relevant rows, from 1 on, from others)
    ForestRanker                                                what no line can tell

On MQ2008 (LETOR 4.0, five folds) the blend is more than a point of NDCG@5 and of MAP above the best linear model; see
``concordant reproduce document-ranking``. ``alphas`` lets every ranker with a ridge penalty choose it by ``metric`` on
the validation set. Because ranks within a query are features, ``predict`` wants ``qid``; without it all rows are one
query. Reference: T. Dietterich, Ensemble methods in machine learning, MCS 2000.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from concordant.errors import InputError, NeedError
from concordant.learn import _data
from concordant.learn._base import Ranker
from concordant.learn._rows import Labelled, dense, labelled
from concordant.learn.forest_ranker import ForestRanker
from concordant.learn.lambda_rank import LambdaRank
from concordant.learn.ordered_partition_ranker import OrderedPartitionRanker
from concordant.learn.query_ranks import QueryRanks
from concordant.learn.rank_net import RankNet
from concordant.params import check_params, param
from concordant.types import AnyArray, Floats

ALPHAS = (1e-4, 1e-3, 1e-2, 1e-1)
Valid = tuple[AnyArray, Floats, AnyArray]


@dataclass(eq=False, repr=False)
class BlendedRanker(Ranker):
    """The mean of rankers of different kinds, on features and their ranks within the query."""

    rankers: Any = None
    """A list of rankers that score rows; the four above if not given."""
    ranks: bool = param(True, "add the ranks of the features within the query")
    standardise: bool = param(True, "give every feature mean 0 and variance 1 over the training rows")
    alphas: bool = param(True, "choose the ridge penalty of each ranker on the validation set, where one is given")
    metric: str = param("map", "metric of the validation set by which penalties and iterations are chosen")
    seed: int = param(0, "seed of the rankers", low=0)

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
        """Fit every ranker; ``valid`` is (X, y, qid), on which iterations and penalties are chosen."""
        check_params(self)
        given = labelled(self, dense(self, X, reset=True), y, qid, group, sample_weight)
        self.scaler_ = StandardScaler() if self.standardise else None
        widened = self._widened(given.X, given.query)
        given = given._replace(X=widened if self.scaler_ is None else self.scaler_.fit_transform(widened))
        watched = None if valid is None else self._checked_valid(valid)
        self.rankers_ = [self._fitted(one, given, watched) for one in self._fresh(given.label)]
        # Flexible rankers spread the rows they learnt from too far apart: other rows tell their scale better.
        ready, query = (given.X, given.query) if watched is None else (watched[0], watched[2])
        self.scales_ = np.array([_data.deviation(one.predict(ready), query) or 1.0 for one in self.rankers_])
        return self

    def predict(self, X: Any, *, qid: ArrayLike | None = None) -> Floats:
        """Return the mean of the rankers' standardised scores; without ``qid`` all rows are one query."""
        check_is_fitted(self, "scales_")
        X = dense(self, X, reset=False)
        ready = self._prepared(X, _data.query_codes(len(X), qid, None))
        parts = [one.predict(ready) / scale for one, scale in zip(self.rankers_, self.scales_.tolist(), strict=True)]
        return np.asarray(np.mean(parts, axis=0), np.float64)

    def _predicted(self, X: Any, qid: ArrayLike | None) -> Floats:
        return self.predict(X, qid=qid)

    # ---- features ----
    def _widened(self, X: AnyArray, query: AnyArray) -> AnyArray:
        return QueryRanks().fit_transform(X, qid=query) if self.ranks else X

    def _prepared(self, X: AnyArray, query: AnyArray) -> AnyArray:
        widened = self._widened(X, query)
        return widened if self.scaler_ is None else self.scaler_.transform(widened)

    def _checked_valid(self, valid: tuple[Any, ...]) -> Valid:
        X, y, qid = _data.parts_of(valid)
        X = dense(self, X, reset=False)
        query = _data.query_codes(len(X), qid, None)
        return self._prepared(X, query), _data.labels_only(y, len(X)), query

    # ---- rankers ----
    def _fresh(self, label: Floats) -> Iterator[Any]:
        """Return unfitted copies of the rankers, each with a seed of its own and the metric to watch."""
        base = self.rankers
        if base is None:
            has_both = (label >= 1).any() and (label < 1).any()  # relevant rows and others, as average precision needs
            target = "ap" if has_both else "ndcg"
            base = [RankNet(), OrderedPartitionRanker(), LambdaRank(target=target), ForestRanker()]
        if not isinstance(base, Sequence) or isinstance(base, str) or not base:
            raise InputError("rankers must be a list of at least one ranker: correct it.")
        for one in base:
            if "qid" in inspect.signature(one.predict).parameters:
                raise NeedError(f"{type(one).__name__} orders whole sets and has no scores to average: leave it out.")
            fresh = clone(one)
            known = fresh.get_params()
            yield fresh.set_params(**{name: getattr(self, name) for name in ("seed", "metric") if name in known})

    def _fitted(self, ranker: Any, given: Labelled, valid: Valid | None) -> Any:
        """Fit a ranker, once or once for every penalty."""
        weight = {} if given.weight is None else {"sample_weight": given.weight}
        watch = {} if valid is None or "valid" not in inspect.signature(ranker.fit).parameters else {"valid": valid}
        if valid is None or not self.alphas or "alpha" not in ranker.get_params():
            return ranker.fit(given.X, given.label, qid=given.query, **weight, **watch)
        best, highest = ranker, -np.inf
        for alpha in ALPHAS:
            tried = clone(ranker).set_params(alpha=alpha)
            tried.fit(given.X, given.label, qid=given.query, **weight, **(watch if _is_watched(tried) else {}))
            reached = _data.measure(self.metric, tried.predict(valid[0]), *valid[1:])
            if reached > highest:
                best, highest = tried, reached
        return best

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags


def _is_watched(ranker: Any) -> bool:
    """Say whether a ranker stops by the validation set: where its gradient belongs to no function."""
    return not ranker._loss().is_exact if hasattr(ranker, "_loss") else True
