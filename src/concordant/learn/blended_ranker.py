"""Blend of rankers of different types: the most accurate learner of this package, at the cost of several fits.

Models with different errors correct each other. The ranks of the features within the query are appended to the features
(``QueryRanks``), all columns are standardised, and every ranker is fitted. Each ranker's scores are divided by their
standard deviation within queries (of the validation set, if given) and averaged. The default rankers are

    RankNet, OrderedPartitionRanker, LambdaRank(target="ap")    linear models with different losses (target="ndcg" if
                                                                all labels, or none, are at least 1)
    ForestRanker                                                non-linear effects

On MQ2008 (LETOR 4.0, five folds) the blend exceeds the best linear model by more than one point of NDCG@5 and of MAP;
see ``concordant reproduce document-ranking``. With ``alphas``, every ranker with a ridge penalty chooses it by
``metric`` on the validation set. Because ranks within a query are features, ``predict`` needs ``qid``; without it, all
rows form one query.
Reference: T. Dietterich, Ensemble methods in machine learning, MCS 2000.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from concordant.ballots.segments import deviation_within
from concordant.errors import InputError
from concordant.learn import _data
from concordant.learn._data import Rows
from concordant.learn._ensemble import MeanRanker, refuse_places, watching
from concordant.learn.forest_ranker import ForestRanker
from concordant.learn.lambda_rank import LambdaRank
from concordant.learn.ordered_partition_ranker import OrderedPartitionRanker
from concordant.learn.query_ranks import QueryRanks
from concordant.learn.rank_net import RankNet
from concordant.params import param
from concordant.support import progress
from concordant.support.state import Kind, maybe, part
from concordant.types import AnyArray, Floats

ALPHAS = (1e-4, 1e-3, 1e-2, 1e-1)
Valid = tuple[AnyArray, Floats, AnyArray]


@dataclass(eq=False, repr=False)
class BlendedRanker(MeanRanker):
    """Mean of rankers of different types, on features and their ranks within the query.

    Parameters
    ----------
    rankers : list of estimators, default None
        Rankers that score rows; RankNet, OrderedPartitionRanker, LambdaRank and ForestRanker if None.
    """

    learns: ClassVar[Mapping[str, Kind]] = {**MeanRanker.learns, "scaler_": maybe(part("widened", "transform"))}
    _takes_sparse: ClassVar[bool] = False

    rankers: Any = None
    """A list of rankers that score rows; the four listed above if not given."""
    ranks: bool = param(True, "add the ranks of the features within the query")
    standardise: bool = param(True, "standardise features to mean 0 and variance 1 over the training rows")
    alphas: bool = param(True, "choose each ranker's ridge (L2) penalty on the validation set, if given")
    metric: str = param("map", "validation metric that selects penalties and iterations")
    seed: int = param(0, "seed for the rankers", low=0)

    def predict(self, X: Any, *, qid: ArrayLike | None = None) -> Floats:
        """Return the mean of the rankers' standardised scores.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features of the rows to score.
        qid : array-like of shape (n_samples,), optional
            Query of every row, which the ranks within queries depend on; without it, all rows form one query.

        Returns
        -------
        ndarray of shape (n_samples,)
            One score per row; higher is better. Only scores of the same query are comparable.
        """
        check_is_fitted(self, "scales_")
        X = self._checked(X, reset=False)
        return self._mean(self._prepared(X, _data.query_codes(len(X), qid, None)))

    def _fit_rows(self, rows: Rows, valid: tuple[Any, ...] | None) -> None:
        """Fit the scaler and all rankers to the extended features, and measure the scale of their scores."""
        self.scaler_ = StandardScaler() if self.standardise else None
        widened = self._widened(rows.X, rows.query)
        rows = replace(rows, X=widened if self.scaler_ is None else self.scaler_.fit_transform(widened))
        watched = None if valid is None else self._checked_valid(valid)
        self.rankers_ = [self._fitted(ranker, rows, watched) for ranker in self._fresh(rows.label)]
        # Flexible rankers spread training rows too far apart: validation rows show their scale better.
        features, query = (rows.X, rows.query) if watched is None else (watched[0], watched[2])
        self.scales_ = np.array([deviation_within(ranker.predict(features), query) for ranker in self.rankers_])

    def _predicted(self, X: Any, qid: ArrayLike | None) -> Floats:
        return self.predict(X, qid=qid)

    def learnt_sizes(self) -> dict[str, int]:
        """Return the expected numbers of features, for validating a loaded model.

        Returns
        -------
        dict of str to int
            Sizes by name.
        """
        return {"widened": self.n_features_in_ * (2 if self.ranks else 1)}

    # ---- features ----
    def _widened(self, X: AnyArray, query: AnyArray) -> AnyArray:
        """Append the ranks of the features within their query, if ``ranks``."""
        return QueryRanks().fit_transform(X, qid=query) if self.ranks else X

    def _prepared(self, X: AnyArray, query: AnyArray) -> AnyArray:
        """Extend and scale rows as in training."""
        widened = self._widened(X, query)
        return widened if self.scaler_ is None else self.scaler_.transform(widened)

    def _checked_valid(self, valid: tuple[Any, ...]) -> Valid:
        """Return a validation set with prepared features, validated labels and query codes."""
        X, y, qid = _data.parts_of(valid)
        X = self._checked(X, reset=False)
        query = _data.query_codes(len(X), qid, None)
        return self._prepared(X, query), _data.labels_only(y, len(X)), query

    # ---- rankers ----
    def _fresh(self, label: Floats) -> Iterator[Any]:
        """Yield unfitted copies of the rankers, with the seed and metric of the blend if they take them."""
        base = self.rankers
        if base is None:
            has_both = (label >= 1).any() and (label < 1).any()  # relevant rows and others, as average precision needs
            target = "ap" if has_both else "ndcg"
            base = [RankNet(), OrderedPartitionRanker(), LambdaRank(target=target), ForestRanker()]
        if not isinstance(base, Sequence) or isinstance(base, str) or not base:
            raise InputError("rankers must be a list that contains at least one ranker.")
        for ranker in base:
            refuse_places(ranker, "leave it out")
            fresh = clone(ranker)
            known = fresh.get_params()
            shared = {name: getattr(self, name) for name in ("seed", "metric") if name in known}
            if "standardise" in known and (self.standardise or self.rankers is None):  # the blend has done so, or not
                shared["standardise"] = False
            yield fresh.set_params(**shared)

    def _fitted(self, ranker: Any, rows: Rows, valid: Valid | None) -> Any:
        """Fit a ranker once, or once per candidate penalty, keeping the best on the validation set."""
        fit_arguments = {"qid": rows.query} | ({} if rows.weight is None else {"sample_weight": rows.weight})
        if valid is None or not self.alphas or "alpha" not in ranker.get_params():
            return ranker.fit(rows.X, rows.label, **fit_arguments, **watching(ranker, valid))
        best, highest = ranker, -np.inf
        for alpha in progress.steps(ALPHAS, "trying penalties"):
            candidate = clone(ranker).set_params(alpha=alpha)
            candidate.fit(
                rows.X, rows.label, **fit_arguments, **watching(candidate, valid if _is_watched(candidate) else None)
            )
            value = _data.measure(self.metric, candidate.predict(valid[0]), *valid[1:])
            if value > highest:
                best, highest = candidate, value
        return best


def _is_watched(ranker: Any) -> bool:
    """Return whether a ranker needs the validation set to stop, because its gradient is not that of any function."""
    return not ranker._loss().is_exact if hasattr(ranker, "_loss") else True
