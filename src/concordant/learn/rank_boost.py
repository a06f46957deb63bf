"""RankBoost: a weighted vote of thresholded features, each chosen to correct the pairs the earlier ones got wrong.

    f(x) = sum_t alpha_t h_t(x),   h_t(x) = 1 if feature_t > threshold_t (or <=, direction -1), 0 if it is missing

Every pair i over j of a query has a weight D(i, j), at first equal. A round takes the h of largest edge
eps+ - eps- (the weight of the pairs it orders rightly minus that of those it reverses), gives it
alpha = 1/2 log((eps+ + s)/(eps- + s)), and multiplies D(i, j) by exp(-alpha (h_i - h_j))/Z. The share R of misordered
pairs never exceeds the product of the Z. Without smoothing s, Z = eps0 + 2 sqrt(eps+ eps-), and R <= exp(-2 gamma^2 T)
if every edge is at least 2 gamma.

D(i, j) is proportional to exp(-f_i) exp(f_j): pairs are never written out. With the potential
pi_i = sum_j D(i, j) - sum_j D(j, i), from sums over the tiers of a query, the edge of any h is sum_i pi_i h_i, so a
round costs O(rows x features) and works on queries of any size.

Use it when features have different scales, are missing for some objects, or come as votes of experts: only their order
counts. Reference: Y. Freund, R. Iyer, R. Schapire and Y. Singer, An efficient boosting algorithm for combining
preferences, JMLR 4, 2003.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from concordant import kernels
from concordant.learn import _data
from concordant.learn._base import METRIC, Ranker
from concordant.learn._boosting import Cuts, ExplicitPairs, PairWeights, QueryPairs
from concordant.learn._data import refuse_labels_beside_pairs
from concordant.learn._rows import Validation, begin_fit, dense, labelled
from concordant.params import param
from concordant.types import AnyArray, Floats

LEAST_EDGE = 1e-12  # below, an edge is rounding
LEAST_SHARE = 1e-12  # of mistakes, where smoothing is 0 and a vote makes none: its weight would be infinite
WIDEST_SPREAD = 1200.0  # of scores within a query: exp() of half of it is still a number


@dataclass(eq=False, repr=False)
class RankBoost(Ranker):
    """Boosted thresholds on single features."""

    rounds: int = param(300, "most rounds of boosting", low=1)
    smoothing: float | None = param(
        None, "share of the pairs added to right and wrong ones before their ratio; half a pair if not given", low=0
    )
    bins: int | None = param(255, "most intervals a feature is cut into; None tries every distinct value", low=2)
    weighting: str = param(
        "pairs", "what counts equally at first: every pair, or every query", choices=("pairs", "queries")
    )
    patience: int = param(50, "rounds without a better validation metric after which to stop", low=1)
    metric: str = param(METRIC, "metric watched on the validation set")

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        *,
        qid: ArrayLike | None = None,
        group: ArrayLike | None = None,
        pairs: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        valid: tuple[Any, ...] | None = None,
    ) -> Self:
        """Learn from labels per query, or from explicit pairs; NaN features are missing.

        ``qid`` names the query of every row, in any order (``group``: sizes of consecutive queries instead; neither:
        one query). ``pairs`` holds (better row, worse row) instead of y. ``sample_weight`` is per row and constant
        within a query (per pair with ``pairs``). ``valid`` is (X, y, qid): the rounds up to its best ``metric`` are
        kept.
        """
        begin_fit(self)
        X = dense(self, X, reset=True, missing=True)
        if pairs is None:
            given = labelled(self, X, y, qid, group, sample_weight)
            queries = given.queries
            if self.weighting == "queries":
                queries = queries.weighted(queries.weight / np.maximum(queries.pairs, 1.0))
            weights: PairWeights = QueryPairs(queries)
            cuts = Cuts.of(given.X, queries.row, self.bins)
        else:
            refuse_labels_beside_pairs(y, qid, group, self.weighting)
            weights = ExplicitPairs(_data.explicit_pairs(pairs, sample_weight, None, len(X)), len(X))
            cuts = Cuts.of(X, None, self.bins)
        watched = None if valid is None else self._validation(valid)
        self._boost(cuts, weights, watched)
        return self

    def predict(self, X: Any) -> Floats:
        """Return a score per row, higher for better; only rows of the same query should be compared."""
        check_is_fitted(self, "alphas_")
        X = dense(self, X, reset=False, missing=True)
        scores = np.zeros(len(X))
        for feature in np.unique(self.features_).tolist():
            mine = self.features_ == feature
            scores += _steps(X[:, feature], self.thresholds_[mine], self.directions_[mine], self.alphas_[mine])
        return scores

    def _validation(self, valid: tuple[Any, ...]) -> Validation:
        return Validation(valid, self.metric, lambda X: dense(self, X, reset=False, missing=True))

    def _boost(self, cuts: Cuts, weights: PairWeights, watched: Validation | None) -> None:
        """Run the rounds and store what they chose."""
        smoothing = 0.5 / weights.total if self.smoothing is None else self.smoothing
        score = np.zeros(cuts.code.shape[1])
        chosen: list[tuple[int, float, int, float]] = []
        history: dict[str, list[float]] = {name: [] for name in ("right", "wrong", "neither", "z", "error")}
        curve = _Curve(watched, self.patience)
        while len(chosen) < self.rounds and weights.spread(score) < WIDEST_SPREAD:
            potential, total = weights.potentials(score)
            feature, cut, direction, gain = kernels.best_stump(cuts.code, cuts.count, potential)
            if not gain > LEAST_EDGE * total > 0:
                break
            vote = cuts.vote(feature, cut, direction)
            right, wrong = (weight / total for weight in weights.shares(score, vote))
            added = smoothing if smoothing or wrong else LEAST_SHARE
            alpha = 0.5 * float(np.log((right + added) / (wrong + added)))
            score += alpha * vote
            chosen.append((feature, cuts.threshold(feature, cut), direction, alpha))
            neither = max(1.0 - right - wrong, 0.0)
            noted = (right, wrong, neither, neither + right * np.exp(-alpha) + wrong * np.exp(alpha))
            for name, value in zip(history, (*noted, weights.errors(score) / weights.total), strict=True):
                history[name].append(float(value))
            if not curve.goes_on(chosen[-1]):
                break
        self._keep(chosen, curve, history)

    def _keep(
        self, chosen: list[tuple[int, float, int, float]], curve: _Curve, history: dict[str, list[float]]
    ) -> None:
        """Store the rounds up to the best one, and what happened in all of them."""
        kept = chosen if curve.watched is None else chosen[: curve.best]
        self.features_ = np.array([stump[0] for stump in kept], np.int64)
        self.thresholds_ = np.array([stump[1] for stump in kept], np.float64)
        self.directions_ = np.array([stump[2] for stump in kept], np.int64)
        self.alphas_ = np.array([stump[3] for stump in kept], np.float64)
        self.n_iter_ = len(kept)
        self.history_ = history if curve.watched is None else {**history, "valid": curve.values}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        tags.input_tags.allow_nan = True
        return tags


class _Curve:
    """The metric on the validation set after every round."""

    def __init__(self, watched: Validation | None, patience: int) -> None:
        self.watched, self.patience = watched, patience
        self.values: list[float] = []
        self.best = 0  # rounds to keep
        self.scores = np.zeros(0 if watched is None else len(watched.X))

    def goes_on(self, stump: tuple[int, float, int, float]) -> bool:
        """Add a round; say whether the metric is still worth waiting for."""
        if self.watched is None:
            return True
        feature, threshold, direction, alpha = stump
        column = self.watched.X[:, feature]
        self.scores += alpha * (column > threshold if direction > 0 else column <= threshold)
        self.values.append(self.watched.measure(self.scores))
        if self.best == 0 or self.values[-1] > self.values[self.best - 1]:
            self.best = len(self.values)
        return len(self.values) - self.best < self.patience


def _steps(column: AnyArray, threshold: Floats, direction: AnyArray, alpha: Floats) -> Floats:
    """Return the sum of many thresholds on one feature: a step function, looked up once per row."""
    order = np.argsort(threshold, kind="stable")
    up, down = (np.where(direction[order] == sign, alpha[order], 0.0) for sign in (1, -1))
    table = np.concatenate([[0.0], np.cumsum(up)]) + np.concatenate([np.cumsum(down[::-1])[::-1], [0.0]])
    score = table[np.searchsorted(threshold[order], column, side="left")]
    return np.where(np.isnan(column), 0.0, score)
