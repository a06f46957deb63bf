"""RankBoost: a weighted vote of thresholds on features, each chosen to correct the pairs that earlier ones misordered.

    f(x) = sum_t alpha_t h_t(x),   h_t(x) = 1 if feature_t > threshold_t (or <=, direction -1), 0 if it is missing

Every pair i over j of a query has a weight D(i, j), initially equal. A round selects the h with the largest edge eps+ -
eps- (the weight of the pairs it orders correctly minus that of the pairs it reverses), gives it alpha = 1/2 log((eps+ +
s)/(eps- + s)), and multiplies D(i, j) by exp(-alpha (h_i - h_j))/Z. The share R of misordered pairs never exceeds the
product of the Z. Without smoothing s, Z = eps0 + 2 sqrt(eps+ eps-), and R <= exp(-2 gamma^2 T) if every edge is at
least 2 gamma.

D(i, j) is proportional to exp(-f_i) exp(f_j), so pairs are never enumerated. With the potential
pi_i = sum_j D(i, j) - sum_j D(j, i), from sums over the tiers of a query, the edge of any h is sum_i pi_i h_i, so a
round costs O(rows x features) and works on queries of any size.

Use it when features have different scales, have missing values, or are scores of experts: only the order of their
values matters. Reference: Y. Freund, R. Iyer, R. Schapire and Y. Singer, An efficient boosting algorithm for combining
preferences, JMLR 4, 2003.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from concordant import kernels
from concordant.learn._base import METRIC, Ranker
from concordant.learn._boosting import Cuts, ExplicitPairs, PairWeights, QueryPairs
from concordant.learn._data import Patience, Rows, Validation
from concordant.params import param
from concordant.support import progress
from concordant.support.state import Curves, Kind, floats, whole
from concordant.types import AnyArray, Floats

MIN_EDGE = 1e-12  # below, an edge is rounding
MIN_SHARE = 1e-12  # of mistakes, where smoothing is 0 and a vote makes none: its weight would be infinite
WIDEST_SPREAD = 1200.0  # of scores within a query: exp() of half of it is still a number


@dataclass(eq=False, repr=False)
class RankBoost(Ranker):
    """Boosting of thresholds on single features (RankBoost)."""

    learns: ClassVar[Mapping[str, Kind]] = {
        **Ranker.learns,
        "features_": whole("rounds_", below="n_features_in_"),
        "thresholds_": floats("rounds_", low=-np.inf),
        "directions_": whole("rounds_", low=-1, high=1),
        "alphas_": floats("rounds_"),
        "n_iter_": whole(),
        "history_": Curves(),
    }
    takes: ClassVar[tuple[str, ...]] = ("pairs", "valid")
    _takes_sparse: ClassVar[bool] = False
    _takes_missing = True

    rounds: int = param(300, "maximum number of boosting rounds", low=1)
    smoothing: float | None = param(
        None, "constant added to the shares of correct and incorrect pairs (smoothing); half a pair if not given", low=0
    )
    bins: int | None = param(255, "maximum number of bins per feature; none: try every distinct value", low=2)
    weighting: str = param(
        "pairs", "equal initial weight for every pair, or for every query", choices=("pairs", "queries")
    )
    patience: int = param(50, "early stopping: number of rounds without improvement of the validation metric", low=1)
    metric: str = param(METRIC, "metric monitored on the validation set")

    def _fit_rows(self, rows: Rows, valid: tuple[Any, ...] | None) -> None:
        """Weight the pairs, bin the features and run the boosting rounds."""
        if rows.pairs is None:
            queries = rows.queries
            if self.weighting == "queries":
                queries = queries.weighted(queries.weight / np.maximum(queries.pairs, 1.0))
            weights: PairWeights = QueryPairs(queries)
            cuts = Cuts.of(rows.X, queries.row, self.bins)
        else:
            weights = ExplicitPairs(rows.pairs, len(rows.X))
            cuts = Cuts.of(rows.X, None, self.bins)
        self._boost(cuts, weights, None if valid is None else self._validation(valid, self.metric))

    def predict(self, X: Any) -> Floats:
        """Return a score per row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features of the rows to score.

        Returns
        -------
        ndarray of shape (n_samples,)
            One score per row; higher is better. Only scores of the same query are comparable.
        """
        check_is_fitted(self, "alphas_")
        X = self._checked(X, reset=False)
        scores = np.zeros(len(X))
        for feature in np.unique(self.features_).tolist():
            of_feature = self.features_ == feature
            scores += _steps(
                X[:, feature], self.thresholds_[of_feature], self.directions_[of_feature], self.alphas_[of_feature]
            )
        return self._finite(scores)

    def _boost(self, cuts: Cuts, weights: PairWeights, watched: Validation | None) -> None:
        """Run the rounds; store the stumps up to the best round and the history of all rounds."""
        smoothing = 0.5 / weights.total if self.smoothing is None else self.smoothing
        score = np.zeros(cuts.code.shape[1])
        chosen: list[_Stump] = []
        history: dict[str, list[float]] = {name: [] for name in ("right", "wrong", "neither", "z", "error")}
        patience, scores = Patience(self.patience), np.zeros(0 if watched is None else len(watched.X))
        for _ in progress.steps(range(self.rounds), "boosting"):
            if weights.spread(score) >= WIDEST_SPREAD:
                break
            potential, total = weights.potentials(score)
            feature, cut, direction, gain = kernels.best_stump(cuts.code, cuts.count, potential)
            if not gain > MIN_EDGE * total > 0:
                break
            vote = cuts.vote(feature, cut, direction)
            right, wrong = (weight / total for weight in weights.shares(score, vote))
            added = smoothing if smoothing or wrong else MIN_SHARE
            alpha = 0.5 * float(np.log((right + added) / (wrong + added)))
            score += alpha * vote
            chosen.append(_Stump(feature, cuts.threshold(feature, cut), direction, alpha))
            neither = max(1.0 - right - wrong, 0.0)
            shares = (right, wrong, neither, neither + right * np.exp(-alpha) + wrong * np.exp(alpha))
            for name, value in zip(history, (*shares, weights.errors(score) / weights.total), strict=True):
                history[name].append(float(value))
            if watched is not None:
                scores += chosen[-1].votes(watched.X)
                if not patience.add(watched.measure(scores)):
                    break
        kept = chosen if watched is None else chosen[: patience.best]
        self.features_ = np.array([stump.feature for stump in kept], np.int64)
        self.thresholds_ = np.array([stump.threshold for stump in kept], np.float64)
        self.directions_ = np.array([stump.direction for stump in kept], np.int64)
        self.alphas_ = np.array([stump.alpha for stump in kept], np.float64)
        self.n_iter_ = len(kept)
        self.history_ = history if watched is None else {**history, "valid": patience.values}


class _Stump(NamedTuple):
    """One boosting step: alpha is added to rows above a threshold of a feature or, with direction -1, to the others."""

    feature: int
    threshold: float
    direction: int
    alpha: float

    def votes(self, X: AnyArray) -> Floats:
        """Return the increments of the scores of rows."""
        column = X[:, self.feature]
        return np.asarray(self.alpha * (column > self.threshold if self.direction > 0 else column <= self.threshold))


def _steps(column: AnyArray, threshold: Floats, direction: AnyArray, alpha: Floats) -> Floats:
    """Return the sum of many stumps on one feature, a step function evaluated by lookup; 0 if the value is missing."""
    order = np.argsort(threshold, kind="stable")
    up, down = (np.where(direction[order] == sign, alpha[order], 0.0) for sign in (1, -1))
    table = np.concatenate([[0.0], np.cumsum(up)]) + np.concatenate([np.cumsum(down[::-1])[::-1], [0.0]])
    score = table[np.searchsorted(threshold[order], column, side="left")]
    return np.where(np.isnan(column), 0.0, score)
