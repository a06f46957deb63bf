"""Ordinal regression as a ranker: ordered categories from a latent score cut by thresholds (cumulative link model).

    P(y <= k | x) = G(t_k - x'w),   t_1 < t_2 < … < t_{K-1}

with G logistic ("logit": proportional odds), normal ("probit") or 1 - exp(-exp(z)) ("cloglog": proportional hazards).
The thresholds are learnt with w; writing them as t_k = t_{k-1} + exp(d_k) keeps them in order. The mean negative
log-likelihood plus alpha/2 |w|^2 is minimised by L-BFGS.

Use it where labels are ratings or grades with the same meaning everywhere, and a category (or its chances) is wanted
beside a ranking: ``predict`` returns the latent score x'w, ``predict_category`` and ``predict_proba`` the rest. Rows
are learnt one by one: queries do not enter ``fit`` (a grade does not depend on its neighbours), so ``qid`` is accepted
there only to keep the face of the other rankers, and is used by ``score``. Cost: two products with X per iteration.

Reference: P. McCullagh, Regression models for ordinal data, J. R. Statist. Soc. B 42, 1980.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import ClassifierTags
from sklearn.utils.validation import check_is_fitted

from concordant.errors import InputError
from concordant.learn import _data
from concordant.learn._base import Ranker
from concordant.learn._links import LINKS, Link, chance_between
from concordant.learn._rows import begin_fit, require_labels, row_weights
from concordant.params import param
from concordant.scorers.base import Matrix
from concordant.scorers.linear import Linear
from concordant.solvers.lbfgs import minimise
from concordant.types import Floats, Int64s

START = {"logit": lambda p: np.log(p / (1 - p)), "cloglog": lambda p: np.log(-np.log1p(-p))}


@dataclass(eq=False, repr=False)
class OrdinalRanker(Ranker):
    """Cumulative link model of ordered categories."""

    link: str = param("logit", "distribution behind the thresholds", choices=tuple(LINKS))
    alpha: float = param(1e-4, "ridge penalty on the weights, beside the mean loss", low=0)
    max_iter: int = param(500, "most iterations", low=1)
    tol: float = param(1e-9, "relative improvement at which to stop", low=0)

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        *,
        qid: ArrayLike | None = None,
        group: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn from rows with ordered categories as numbers, higher for better.

        ``sample_weight`` is per row, and constant within a query where queries are given. ``qid`` and ``group`` are
        checked, but do not change what is learnt.
        """
        begin_fit(self)
        X = self._checked(X, reset=True)
        n_rows = X.shape[0]
        label = _data.labels_only(require_labels(self, y), n_rows)
        if qid is None and group is None:
            weight = row_weights(sample_weight, n_rows)
        else:
            weights = _data.query_weights(sample_weight, _data.query_codes(n_rows, qid, group))
            weight = np.ones(n_rows) if weights is None else weights
        self.classes_, category = np.unique(label[weight > 0], return_inverse=True)
        if len(self.classes_) < 2:
            raise InputError(
                f"There is nothing to learn: y holds one category only (n_samples={n_rows}). Give at least two."
            )
        is_used = slice(None) if (weight > 0).all() else np.flatnonzero(weight > 0)
        problem = _Likelihood(X[is_used], category, weight[is_used], LINKS[self.link], self.alpha)
        start = problem.start(self.link)
        found = minimise(
            problem, start, tolerance=self.tol, max_iterations=self.max_iter, watch=lambda _k, _point, _value: True
        )
        if not found.is_converged:
            warnings.warn(
                f"OrdinalRanker stopped after {found.iterations} iterations before it converged: "
                "raise max_iter, raise alpha, or standardise the features.",
                ConvergenceWarning,
                stacklevel=2,
            )
        self.coef_, self.thresholds_ = found.point[: X.shape[1]], _thresholds(found.point[X.shape[1] :])
        self.n_iter_, self.loss_ = found.iterations, found.value
        return self

    def predict(self, X: Any) -> Floats:
        """Return the latent score x'w per row, higher for better."""
        check_is_fitted(self, "thresholds_")
        X = self._checked(X, reset=False)
        return Linear(X.shape[1]).scores(X, self.coef_)

    def predict_proba(self, X: Any) -> Floats:
        """Return the chance of every category (columns as in ``classes_``) per row."""
        score = self.predict(X)[:, None]
        bounds = np.concatenate([[-np.inf], self.thresholds_, [np.inf]])
        value, _, _ = chance_between(LINKS[self.link], bounds[:-1] - score, bounds[1:] - score)
        chance = np.exp(value)
        return np.asarray(chance / chance.sum(axis=1, keepdims=True))

    def predict_category(self, X: Any) -> Floats:
        """Return the most likely category per row."""
        chance = self.predict_proba(X)
        return np.asarray(self.classes_[chance.argmax(axis=1)])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags = ClassifierTags()  # there are chances of categories, though predict returns scores
        return tags


class _Likelihood:
    """The mean negative log-likelihood with its gradient, as a function of weights, first threshold and log gaps."""

    def __init__(self, X: Matrix, category: Int64s, weight: Floats, link: Link, alpha: float) -> None:
        self.X, self.category, self.link, self.alpha = X, category, link, alpha
        self.weight = weight / weight.sum()
        self.scorer = Linear(X.shape[1])
        self.n_thresholds = int(category.max())

    def start(self, link: str) -> Floats:
        """Begin with zero weights and the thresholds that fit the categories' shares."""
        from scipy.special import ndtri

        below = np.cumsum(np.bincount(self.category, weights=self.weight))[:-1].clip(1e-12, 1 - 1e-12)
        thresholds = START.get(link, ndtri)(below)
        gaps = np.log(np.maximum(np.diff(thresholds), 1e-8))
        return np.concatenate([np.zeros(self.scorer.size), thresholds[:1], gaps])

    def __call__(self, theta: Floats) -> tuple[float, Floats]:
        """Return value and gradient."""
        weights, own = theta[: self.scorer.size], theta[self.scorer.size :]
        bounds = np.concatenate([[-np.inf], _thresholds(own), [np.inf]])
        score = self.scorer.scores(self.X, weights)
        value, at_low, at_high = chance_between(
            self.link, bounds[self.category] - score, bounds[self.category + 1] - score
        )
        at_low, at_high = self.weight * at_low, self.weight * at_high
        by_bound = np.bincount(self.category, weights=at_low, minlength=self.n_thresholds + 1)[1:]
        by_bound = by_bound + np.bincount(self.category, weights=at_high, minlength=self.n_thresholds + 1)[:-1]
        from_here_up = np.cumsum(by_bound[::-1])[::-1]  # a gap moves its threshold and all above
        gradient = np.concatenate(
            [
                self.scorer.backward(self.X, weights, None, at_low + at_high) + self.alpha * weights,
                -from_here_up[:1],
                -from_here_up[1:] * np.exp(own[1:]),
            ]
        )
        return 0.5 * self.alpha * float(weights @ weights) - float(self.weight @ value), gradient


def _thresholds(own: Floats) -> Floats:
    """Return ordered thresholds from the first one and the logarithms of the gaps."""
    return np.cumsum(np.concatenate([own[:1], np.exp(own[1:])]))
