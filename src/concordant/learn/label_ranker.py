"""Label ranking: predict a ranking of a fixed set of labels for every row, such as product categories per customer.

The training data are rows of features, each with a ranking of the labels, which may be partial and may have ties.
``scoring`` is one of:

- "plackett-luce": every label l has a linear score f_l(x) = x'w_l + b_l. A ranking has the probability of choosing
  the best label, then the next, and so on, each in proportion to exp(f); tied labels are chosen together, as a set with
  the mean worth of its members (exact, linear time). The mean negative log-likelihood plus alpha/2 |W|^2 is minimised
  by L-BFGS; with ties it is not convex; the solver starts from zero. Each evaluation takes one product with X and one
  with its transpose.
- "pairwise": for every pair of labels a classifier learns which of them a row prefers, from the rows that order them;
  a label's score is the sum of its probabilities of beating the others (a soft vote, which minimises the expected
  Spearman distance if the probabilities are correct). This takes k(k-1)/2 classifiers, of any scikit-learn type.

``predict`` returns the rank of every label (1 is best), ``predict_scores`` the underlying scores, and ``score`` the
mean Kendall tau-b. References: E. Hüllermeier, J. Fürnkranz, W. Cheng and K. Brinker, Label ranking by learning
pairwise preferences, Artificial Intelligence 172, 2008; W. Cheng, K. Dembczyński and E. Hüllermeier, Label ranking
methods based on the Plackett-Luce model, ICML 2010.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from concordant.learn import _scaling
from concordant.learn._base import Learner
from concordant.learn._data import row_weights
from concordant.learn._label_ranks import LabelRanks, tau_by_row
from concordant.learn._pairs import chance_of_first, fitted_classifier
from concordant.learn._scaling import Scaling
from concordant.losses.ordered_partitions import MeanPartitionLoss
from concordant.losses.queries import Queries
from concordant.params import param
from concordant.scorers.base import Matrix
from concordant.support import progress
from concordant.support.state import Kind, ListOf, floats, labels, optional, part, whole
from concordant.types import Floats, Int64s


@dataclass(eq=False, repr=False)
class LabelRanker(Learner):
    """Label ranking: ranks a fixed set of labels by the features of a row.

    Parameters
    ----------
    classifier : estimator, default None
        Any scikit-learn classifier for ``scoring="pairwise"``; logistic regression if None.
    """

    renamed: ClassVar[Mapping[str, str]] = {"method": "scoring"}
    learns: ClassVar[Mapping[str, Kind]] = {
        **Learner.learns,
        **_scaling.LEARNS,
        "labels_": labels("labels", or_numbers=True),
        "coef_": optional(floats("n_features_in_", "labels")),
        "intercept_": optional(floats("labels")),
        "n_iter_": optional(whole()),
        "loss_": optional(floats()),
        "chances_": optional(floats("labels", "labels", low=0, high=1)),
        "pairs_": optional(whole("pairs", 2, below="labels")),
        "classifiers_": optional(ListOf(kind=part("n_features_in_"), size="pairs")),
    }

    scoring: str = param("plackett-luce", "model that scores the labels", choices=("plackett-luce", "pairwise"))
    classifier: Any = None
    """Any scikit-learn classifier for scoring="pairwise"; logistic regression if not given."""
    alpha: float = param(1e-3, "ridge (L2) penalty on the weights of plackett-luce, added to the mean loss", low=0)
    max_iter: int = param(500, "maximum number of iterations of plackett-luce", low=1)
    tol: float = param(1e-8, "relative improvement below which plackett-luce stops", low=0)
    standardise: bool = param(True, f"{_scaling.DOC}; a given classifier gets unscaled features")

    __metadata_request__fit: ClassVar[dict[str, bool]] = {"sample_weight": True}

    def fit(self, X: Any, y: Any = None, *, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to rows with rankings of the labels.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples, n_labels), DataFrame or Preferences
            Ranks of the labels: 1 is best, equal ranks are ties, and NaN marks unranked labels. The columns of a
            DataFrame name the labels. Preferences have one ballot per row, and their items are the labels.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of every row.

        Returns
        -------
        LabelRanker
            The fitted estimator itself.

        Raises
        ------
        InputError
            If no row ranks one label above another.
        """
        self._begin_fit()
        X = self._checked(X, reset=True)
        ranks = LabelRanks.of(self._labels(y), X.shape[0])
        weight = row_weights(sample_weight, X.shape[0]) * (1.0 if ranks.weight is None else ranks.weight)
        ranks.refuse_nothing_to_learn(weight)
        is_weighted = sample_weight is not None or ranks.weight is not None
        if self.standardise and (self.scoring == "plackett-luce" or self.classifier is None):
            _scaling.keep(self, Scaling.of(X, weight))
            X = _scaling.scaled(self, X)
        if self.scoring == "plackett-luce":
            self._fit_plackett_luce(X, ranks.rank, weight)
        else:
            self._fit_pairwise(X, ranks.rank, weight if is_weighted else None)
        self.labels_ = ranks.labels
        return self

    def predict(self, X: Any) -> Int64s:
        """Return the rank of every label for every row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
            Ranks, 1 for the best label; columns as in ``labels_``.
        """
        from scipy.stats import rankdata

        return np.asarray(rankdata(-self.predict_scores(X), method="min", axis=1)).astype(np.int64)

    def predict_scores(self, X: Any) -> Floats:
        """Return the score of every label for every row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
            Scores, higher is better; columns as in ``labels_``.
        """
        check_is_fitted(self, "labels_")
        X = self._checked(X, reset=False)
        if hasattr(self, "coef_"):
            product = np.asarray(X @ self.coef_.astype(X.dtype, copy=False), np.float64)
            return self._finite(product + self.intercept_)
        X = _scaling.scaled(self, X)
        scores = np.tile(self.chances_.sum(axis=1), (X.shape[0], 1))
        for (a, b), classifier in zip(self.pairs_.tolist(), self.classifiers_, strict=True):
            chance = chance_of_first(classifier, X)
            scores[:, a] += chance
            scores[:, b] += 1 - chance
        return scores

    def score(self, X: Any, y: Any) -> float:
        """Return the mean of Kendall's tau-b between predicted and true rankings.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples, n_labels), DataFrame or Preferences
            Rankings of the labels, as in ``fit``.

        Returns
        -------
        float
            Mean over the rows that order at least two labels; 0 if no row does.
        """
        ranks = self.predict(X)
        truth = LabelRanks.of(self._labels(y), len(ranks)).aligned_to(self.labels_)
        tau = tau_by_row(truth, ranks.astype(np.float64))
        return float(np.nanmean(tau)) if not np.isnan(tau).all() else 0.0

    def check_learnt(self) -> None:
        """Raise ValueError if learnt attributes of this ``scoring`` are missing."""
        names = ("coef_", "intercept_") if self.scoring == "plackett-luce" else ("chances_", "pairs_", "classifiers_")
        for name in names:
            if not hasattr(self, name):
                raise ValueError(f"LabelRanker lacks {name!r}")
        if hasattr(self, "coef_") != (self.scoring == "plackett-luce"):
            raise ValueError("the learnt values of LabelRanker do not match the parameter scoring")

    def _fit_plackett_luce(self, X: Matrix, rank: Floats, weight: Floats) -> None:
        """Fit the weights and intercepts of all labels by penalised maximum likelihood, in original feature units."""
        problem = _Likelihood(X, rank, weight, self.alpha)
        minimum = self._minimised(problem, np.zeros(problem.size), self.tol, self.max_iter)
        self.coef_, self.intercept_ = problem.parts(minimum.point)
        if self.standardise:
            self.coef_ = self.coef_ / self.feature_scale_[:, None]
            self.intercept_ = self.intercept_ - self.feature_mean_ @ self.coef_
            _scaling.forget(self)

    def _fit_pairwise(self, X: Matrix, rank: Floats, weight: Floats | None) -> None:
        """Fit a classifier for every pair of labels on which rows disagree; the others get a constant probability."""
        k = rank.shape[1]
        self.chances_ = np.zeros((k, k))  # of the pairs without a classifier
        pairs, self.classifiers_ = [], []
        for a, b in progress.steps(list(combinations(range(k), 2)), "training classifiers"):
            rows = np.flatnonzero((rank[:, a] < rank[:, b]) | (rank[:, a] > rank[:, b]))
            if weight is not None:
                rows = rows[weight[rows] > 0]
            target = (rank[rows, a] < rank[rows, b]).astype(np.int64)
            if 0 < target.sum() < len(target):
                pairs.append((a, b))
                pair_weight = None if weight is None else weight[rows]
                self.classifiers_.append(fitted_classifier(self.classifier, X[rows], target, pair_weight))
            else:
                self.chances_[a, b] = target[0] if len(target) else 0.5
                self.chances_[b, a] = 1 - self.chances_[a, b]
        self.pairs_ = np.array(pairs, np.int64).reshape(-1, 2)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output, tags.target_tags.single_output = True, False
        return tags


class _Likelihood:
    """The penalised mean loss as a function of all weights and intercepts; each row is a query over its labels."""

    def __init__(self, X: Matrix, rank: Floats, weight: Floats, alpha: float) -> None:
        """Represent every row as a query whose positions are its ranked labels."""
        self.X, self.alpha, self.shape = X, alpha, rank.shape
        row, label = np.nonzero(~np.isnan(rank) & (weight > 0)[:, None])
        _, query = np.unique(row, return_inverse=True)
        self.queries = Queries.from_rows(-rank[row, label], query, weight[row])
        self.place = (row * rank.shape[1] + label)[
            self.queries.row
        ]  # place of every position in the flat matrix of scores
        self.total = float(weight.sum())
        self.loss = MeanPartitionLoss()
        self.n_weights = X.shape[1] * rank.shape[1]
        self.size = self.n_weights + rank.shape[1]

    def parts(self, theta: Floats) -> tuple[Floats, Floats]:
        """Return weights (features x labels) and intercepts."""
        return theta[: self.n_weights].reshape(-1, self.shape[1]), theta[self.n_weights :]

    def __call__(self, theta: Floats) -> tuple[float, Floats]:
        """Return value and gradient."""
        weights, intercepts = self.parts(theta)
        scores = np.asarray(self.X @ weights.astype(self.X.dtype, copy=False), np.float64) + intercepts
        evaluation = self.loss.evaluate(scores.reshape(-1)[self.place], self.queries)
        score_gradient = np.zeros(self.shape)
        score_gradient.reshape(-1)[self.place] = evaluation.gradient / self.total
        slope = (
            np.asarray(self.X.T @ score_gradient.astype(self.X.dtype, copy=False), np.float64) + self.alpha * weights
        )
        value = evaluation.value / self.total + 0.5 * self.alpha * float((weights * weights).sum())
        return value, np.concatenate([slope.reshape(-1), score_gradient.sum(axis=0)])
