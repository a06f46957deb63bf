"""Ordinal regression as a ranker: ordered categories from a latent score cut by thresholds (cumulative link model).

    P(y <= k | x) = G(t_k - x'w),   t_1 < t_2 < … < t_{K-1}

with G logistic ("logit": proportional odds), normal ("probit") or 1 - exp(-exp(z)) ("cloglog": proportional hazards).
The thresholds are learnt with w; writing them as t_k = t_{k-1} + exp(d_k) keeps them in order. The mean negative
log-likelihood plus alpha/2 |w|^2 is minimised by L-BFGS.

Use it if labels are ratings or grades with the same meaning in all queries, and categories (or their probabilities) are
needed in addition to a ranking: ``predict`` returns the latent score x'w, ``predict_category`` and ``predict_proba``
the rest. Rows are treated as independent: ``fit`` ignores queries and accepts ``qid`` only for compatibility with the
other rankers (without it, weights may differ between all rows); ``score`` uses it. Cost: two products with X per
iteration.

Reference: P. McCullagh, Regression models for ordinal data, J. R. Statist. Soc. B 42, 1980.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import ClassifierTags
from sklearn.utils.validation import check_is_fitted

from concordant.learn import _data, _scaling
from concordant.learn._base import Ranker
from concordant.learn._data import Rows
from concordant.learn._links import LINKS, Link, chance_between
from concordant.learn._scaling import Scaling
from concordant.params import param
from concordant.scorers.base import Matrix
from concordant.scorers.linear import Linear
from concordant.support.state import Classes, Kind, floats, whole
from concordant.types import Floats, Int64s

START = {"logit": lambda p: np.log(p / (1 - p)), "cloglog": lambda p: np.log(-np.log1p(-p))}


@dataclass(eq=False, repr=False)
class OrdinalRanker(Ranker):
    """Ordinal regression with a cumulative link model."""

    learns: ClassVar[Mapping[str, Kind]] = {
        **Ranker.learns,
        "thresholds_": floats("thresholds", is_sorted=True),
        "classes_": Classes(size="thresholds+1"),
        "coef_": floats("n_features_in_"),
        "n_iter_": whole(),
        "loss_": floats(),
    }
    _too_little: ClassVar[str] = "y holds only one category (n_samples={n_rows}). Give at least two."

    link: str = param("logit", "link function of the cumulative probabilities", choices=tuple(LINKS))
    alpha: float = param(1e-4, "ridge (L2) penalty on the weights, added to the mean loss", low=0)
    max_iter: int = param(500, "maximum number of iterations", low=1)
    tol: float = param(1e-9, "relative improvement below which to stop", low=0)
    standardise: bool = param(True, _scaling.DOC)

    @staticmethod
    def _query_codes(n_rows: int, qid: ArrayLike | None, group: ArrayLike | None = None) -> Int64s:
        """Make every row a query, so that weights may differ between rows, unless queries are given."""
        return np.arange(n_rows) if qid is None and group is None else _data.query_codes(n_rows, qid, group)

    def _is_informative(self, rows: Rows) -> bool:
        return len(np.unique(rows.label)) > 1

    def _fit_rows(self, rows: Rows, valid: tuple[Any, ...] | None) -> None:
        """Fit weights and thresholds by maximum likelihood, in the units of the features."""
        self.classes_, category = np.unique(rows.label, return_inverse=True)
        weight = np.ones(len(category)) if rows.weight is None else rows.weight
        scaling = Scaling.of(rows.X, rows.weight) if self.standardise else None
        X = rows.X if scaling is None else scaling.apply(rows.X)
        problem = _Likelihood(X, category, weight, LINKS[self.link], self.alpha)
        point = self._minimised(problem, problem.start(self.link), self.tol, self.max_iter).point
        n_features = problem.scorer.size
        self.coef_, self.thresholds_ = point[:n_features], _thresholds(point[n_features:])
        if scaling is not None:
            self.coef_ = self.coef_ / scaling.deviation
            self.thresholds_ = self.thresholds_ + float(scaling.mean @ self.coef_)

    def predict(self, X: Any) -> Floats:
        """Return the latent score x'w of every row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features of the rows to score.

        Returns
        -------
        ndarray of shape (n_samples,)
            Scores; higher is better. They are comparable across queries.
        """
        check_is_fitted(self, "thresholds_")
        X = self._checked(X, reset=False)
        return self._finite(Linear(X.shape[1]).scores(X, self.coef_))

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of every category for every row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities; columns as in ``classes_``.
        """
        score = self.predict(X)[:, None]
        bounds = np.concatenate([[-np.inf], self.thresholds_, [np.inf]])
        value, _, _ = chance_between(LINKS[self.link], bounds[:-1] - score, bounds[1:] - score)
        chance = np.exp(value)
        return np.asarray(chance / chance.sum(axis=1, keepdims=True))

    def predict_category(self, X: Any) -> Floats:
        """Return the most likely category of every row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_samples,)
            Values of ``classes_``.
        """
        chance = self.predict_proba(X)
        return np.asarray(self.classes_[chance.argmax(axis=1)])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags = ClassifierTags()  # there are chances of categories, though predict returns scores
        return tags


class _Likelihood:
    """The mean negative log-likelihood, with gradient, as a function of weights, first threshold and log gaps."""

    def __init__(self, X: Matrix, category: Int64s, weight: Floats, link: Link, alpha: float) -> None:
        """Take rows with their category, numbered from 0; the weights are normalised to sum to 1."""
        self.X, self.category, self.link, self.alpha = X, category, link, alpha
        self.weight = weight / weight.sum()
        self.scorer = Linear(X.shape[1])
        self.n_thresholds = int(category.max())

    def start(self, link: str) -> Floats:
        """Return the starting point: zero weights, and thresholds that match the category frequencies."""
        from scipy.special import ndtri

        below = np.cumsum(np.bincount(self.category, weights=self.weight))[:-1].clip(1e-12, 1 - 1e-12)
        thresholds = START.get(link, ndtri)(below)
        gaps = np.log(np.maximum(np.diff(thresholds), 1e-8))
        return np.concatenate([np.zeros(self.scorer.size), thresholds[:1], gaps])

    def __call__(self, theta: Floats) -> tuple[float, Floats]:
        """Return value and gradient."""
        weights, threshold_parameters = theta[: self.scorer.size], theta[self.scorer.size :]
        bounds = np.concatenate([[-np.inf], _thresholds(threshold_parameters), [np.inf]])
        score = self.scorer.scores(self.X, weights)
        value, low_slope, high_slope = chance_between(
            self.link, bounds[self.category] - score, bounds[self.category + 1] - score
        )
        low_slope, high_slope = self.weight * low_slope, self.weight * high_slope
        by_bound = np.bincount(self.category, weights=low_slope, minlength=self.n_thresholds + 1)[1:]
        by_bound = by_bound + np.bincount(self.category, weights=high_slope, minlength=self.n_thresholds + 1)[:-1]
        from_bound_up = np.cumsum(by_bound[::-1])[::-1]  # a gap moves its threshold and all above
        gradient = np.concatenate(
            [
                self.scorer.backward(self.X, weights, None, low_slope + high_slope) + self.alpha * weights,
                -from_bound_up[:1],
                -from_bound_up[1:] * np.exp(threshold_parameters[1:]),
            ]
        )
        return 0.5 * self.alpha * float(weights @ weights) - float(self.weight @ value), gradient


def _thresholds(parameters: Floats) -> Floats:
    """Return increasing thresholds from the first one and the logarithms of the gaps."""
    return np.cumsum(np.concatenate([parameters[:1], np.exp(parameters[1:])]))
