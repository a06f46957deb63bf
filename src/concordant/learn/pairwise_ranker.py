"""Two-step ranking: a classifier predicts which of two rows is better, and its predictions are turned into an order.

Step one turns every pair "i over j" of a query into two examples, (i, j) of class 1 and (j, i) of class 0. Their
features are the difference of the two rows, or both rows concatenated. The classifier's probability p (or its margin,
squashed) becomes

    f(i, j) = (p(i, j) + 1 - p(j, i))/2,   so that f(i, j) + f(j, i) = 1.

Step two orders the rows of a query to maximise AGREE, the sum of f(i, j) over the pairs with i first. ``ordering`` is
"greedy" (Cohen, Schapire and Singer), "scc-greedy" (the same within the strongly connected components of the
preferences) or "kemeny" (the optimal order, proven within ``time_limit`` if possible).

``classifier`` is any scikit-learn classifier (in Python), or a name: "logistic" (logistic regression, the default) or
"svc", a support vector machine with a kernel on difference vectors, k(x_i - x_j, x_k - x_l). With a nonlinear kernel,
f(i, j) is in general not a function of a difference of scores. ``C``, ``kernel``, ``gamma`` and ``degree`` are its
settings; the model stores its support vectors and dual coefficients.

Use it with a strong classifier for the data (trees, boosted trees, a kernel support vector machine on the differences),
or when preferences are not transitive, so that no score can represent them. Unlike other rankers, it orders whole
queries: pass ``qid`` to ``predict``; without it, all rows form one query. Cost: the classifier on up to twice
``max_pairs`` examples ("svc": between their square and their cube); to predict, n(n-1) pairs and O(n^2) for a
query of n rows.

References: W. Cohen, R. Schapire and Y. Singer, Learning to order things, JAIR 10, 1999; R. Herbrich, T. Graepel and
K. Obermayer, Large margin rank boundaries for ordinal regression, 2000.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from concordant import metrics
from concordant.ballots.segments import first_of, number_inside, pointer
from concordant.errors import InputError, ParameterError, arg, phrase
from concordant.learn import _data, _scaling
from concordant.learn._base import Ranker
from concordant.learn._data import Rows
from concordant.learn._pairs import (
    KERNELS,
    KernelSettings,
    chance_of_first,
    fitted_classifier,
    fitted_svc,
    label_pairs,
    logistic,
    pair_features,
    squashed,
)
from concordant.learn._scaling import Scaling
from concordant.params import param
from concordant.solvers.ordering.exact import kemeny_orders
from concordant.solvers.ordering.greedy import component_orders, greedy_orders
from concordant.support.state import Held, Kind, floats, optional, part, whole
from concordant.types import AnyArray, Floats, Int64s

PAIRS_AT_ONCE = 1 << 15
MAX_PAIRS, PAIRS_OF_SVC = 50_000, 5_000  # a support vector machine takes the square of the pairs
LARGEST_QUERY = 10_000  # rows: the matrix of their preferences takes 0.8 GB, and its components several times that


@dataclass(eq=False, repr=False)
class PairwiseRanker(Ranker):
    """Binary classifier of pairs, and an order derived from its predictions."""

    aliases: ClassVar = ("cohen",)

    takes: ClassVar[tuple[str, ...]] = ("pairs",)
    learns: ClassVar[Mapping[str, Kind]] = {
        **Ranker.learns,
        **_scaling.LEARNS,
        "classifier_": optional(part("described")),
        "kernel_map_": optional(Held(name="KernelMap")),
        "dual_": optional(floats("support")),
        "intercept_": optional(floats()),
        "n_pairs_": whole(),
    }
    _takes_sparse: ClassVar[bool] = False

    classifier: Any | None = param(  # noqa: RUF009 - a field
        None,
        "pairwise classifier: logistic regression or support vector machine; in Python, any scikit-learn classifier",
        choices=("logistic", "svc"),
        objects=True,
    )
    C: float = param(1.0, "inverse regularisation strength of logistic and svc", low=1e-9)
    kernel: str | None = param(None, "kernel of svc; rbf if not given", choices=KERNELS)
    gamma: float | None = param(None, "kernel coefficient of svc; 1/(features times variance) if not given", low=0)
    degree: int = param(3, "degree of the polynomial kernel of svc", low=1)
    features: str = param(
        "difference",
        "features of a pair: the difference of its rows, or both rows",
        choices=("difference", "concatenated"),
    )
    ordering: str = param(
        "greedy",
        "algorithm that derives an order from pairwise preferences",
        choices=("greedy", "scc-greedy", "kemeny"),
    )
    max_pairs: int | str | None = param(
        "auto",
        "maximum number of training pairs, drawn at random; auto: 50,000 (svc: 5,000); none: all",
        low=1,
        words=("auto",),
    )
    time_limit: float | None = param(
        10.0, "time limit in seconds to prove Kemeny orders optimal, per batch of queries; none: no limit", low=0
    )
    seed: int = param(0, "seed for pair sampling", low=0)
    standardise: bool = param(True, f"{_scaling.DOC}; a given classifier gets unscaled features")

    __metadata_request__predict: ClassVar[dict[str, bool]] = {"qid": True}

    def _fit_rows(self, rows: Rows, valid: tuple[Any, ...] | None) -> None:
        """Fit the classifier to both orientations of every pair: (better, worse) is class 1, the reverse class 0."""
        self._refuse_idle_settings()
        pairs = rows.pairs
        if pairs is None:
            pairs = label_pairs(rows.queries, self._max_pairs(), np.random.default_rng(self.seed))
        if self.standardise and (self.classifier is None or isinstance(self.classifier, str)):
            _scaling.keep(self, Scaling.of(rows.X, rows.weight))
        X = _scaling.scaled(self, rows.X)
        both = [pair_features(X, *ends, self.features) for ends in _both_directions(pairs.better, pairs.worse)]
        weight = np.tile(pairs.weight, 2) if rows.is_weighted else None
        target = np.repeat([1, 0], len(pairs))
        if self._is_svc:
            settings = KernelSettings(self.C, self.kernel or "rbf", self.gamma, self.degree)
            self.kernel_map_, self.dual_, self.intercept_ = fitted_svc(np.concatenate(both), target, weight, settings)
        else:
            plain = logistic(self.C) if isinstance(self.classifier, str | None) else self.classifier
            self.classifier_ = fitted_classifier(plain, np.concatenate(both), target, weight)
        self.n_pairs_ = len(pairs)

    @property
    def _is_svc(self) -> bool:
        return isinstance(self.classifier, str) and self.classifier == "svc"

    def _max_pairs(self) -> int | None:
        """Return the maximum number of training pairs, None for all."""
        if isinstance(self.max_pairs, str):
            return PAIRS_OF_SVC if self._is_svc else MAX_PAIRS
        return self.max_pairs

    def _refuse_idle_settings(self) -> None:
        """Reject kernel settings if the classifier has no kernel."""
        for name in ("kernel", "gamma"):
            if getattr(self, name) is not None and not self._is_svc:
                text = "{} only applies to the support vector machine: give {}, or leave it out."
                raise ParameterError(phrase(text, arg(name), arg("classifier", "svc")))

    def predict(self, X: Any, *, qid: ArrayLike | None = None) -> Floats:
        """Return, for every row, the number of rows of its query that come after it.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features of the rows to score.
        qid : array-like of shape (n_samples,), optional
            Query of every row, in any order; without it, all rows form one query.

        Returns
        -------
        ndarray of shape (n_samples,)
            Scores; higher is better.
        """
        check_is_fitted(self, "n_pairs_")
        X = self._scaled(X)
        scores = np.zeros(len(X))
        all_proven = True
        for rows, ptr, preference in self._matrices(X, _data.checked_queries(len(X), qid)):
            order, are_proven = self._orders(ptr, preference)
            all_proven &= are_proven
            size = np.diff(ptr)
            scores[rows[order + first_of(ptr)]] = np.repeat(size, size) - 1 - number_inside(ptr)
        if not all_proven:
            warnings.warn(
                "Some orders are not proven optimal: raise "
                + arg("time_limit")
                + ", or use "
                + arg("time_limit", None)
                + ".",
                ConvergenceWarning,
                stacklevel=2,
            )
        return scores

    def learnt_sizes(self) -> dict[str, int]:
        """Return the expected sizes of learnt arrays, for validating a loaded model.

        Returns
        -------
        dict of str to int
            Number of features of a pair and number of support vectors, by name.
        """
        mapped, described = getattr(self, "kernel_map_", None), self.n_features_in_
        if (mapped is None) == self._is_svc or (mapped is None) == hasattr(self, "dual_"):
            raise ValueError("does not match the parameter classifier")
        if (mapped is None) != hasattr(self, "classifier_") or (mapped is None) == hasattr(self, "intercept_"):
            raise ValueError("does not match the parameter classifier")
        described *= 1 if self.features == "difference" else 2
        return {"described": described, "support": 0 if mapped is None else mapped.n_columns}

    def check_learnt(self) -> None:
        """Reject support vectors of the wrong length."""
        mapped = getattr(self, "kernel_map_", None)
        if mapped is not None and mapped.landmarks.shape[1] != self.learnt_sizes()["described"]:
            raise ValueError("the support vectors of PairwiseRanker do not have as many features as its pairs")

    def _predicted(self, X: Any, qid: ArrayLike | None) -> Floats:
        return self.predict(X, qid=qid)

    def preference(self, X: Any, first: ArrayLike, second: ArrayLike) -> Floats:
        """Return the preference for one row over another.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features.
        first : array-like of int
            Index of the first row of each pair.
        second : array-like of int
            Index of the second row of each pair.

        Returns
        -------
        ndarray of float64
            Preference for the first row, between 0 and 1.
        """
        check_is_fitted(self, "n_pairs_")
        X = self._scaled(X)
        return self._preferences(X, *_data.named_rows(first, second, len(X)))

    def agree(self, X: Any, *, scores: ArrayLike | None = None, qid: ArrayLike | None = None) -> Floats:
        """Return the AGREE of every query: the sum of the preferences that an order of its rows respects.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features.
        scores : array-like of shape (n_samples,), optional
            Scores that define the order; by default the predictions of this ranker.
        qid : array-like of shape (n_samples,), optional
            Query of every row, in any order; without it, all rows form one query.

        Returns
        -------
        ndarray of float64
            One value per query, at most n(n-1)/2 for n rows.
        """
        order_scores = self.predict(X, qid=qid) if scores is None else np.asarray(scores, np.float64)
        X = self._scaled(X)
        if order_scores.shape != (len(X),):
            raise InputError(
                f"scores has shape {order_scores.shape}, but there are {len(X):,} rows: give one score per row."
            )
        kept = []
        for rows, ptr, preference in self._matrices(X, _data.query_codes(len(X), qid, None)):
            ends = np.cumsum(np.diff(ptr) ** 2)
            for q, m in enumerate(np.diff(ptr).tolist()):
                matrix = preference[ends[q] - m * m : ends[q]].reshape(m, m)
                kept.append(metrics.agree(matrix, -order_scores[rows[ptr[q] : ptr[q + 1]]]))
        return np.array(kept)

    def _scaled(self, X: Any) -> AnyArray:
        """Validate rows and scale them as in training."""
        return np.asarray(_scaling.scaled(self, self._checked(X, reset=False)))

    def _preferences(self, X: AnyArray, first: Int64s, second: Int64s) -> Floats:
        """Return the preference for ``first`` over ``second`` rows, averaged over both orientations of the pair."""
        preference = np.empty(len(first))
        for start in range(0, len(first), PAIRS_AT_ONCE):
            span = slice(start, start + PAIRS_AT_ONCE)
            forward, backward = (
                self._chance(pair_features(X, *rows, self.features))
                for rows in _both_directions(first[span], second[span])
            )
            preference[span] = (forward + (1 - backward)) / 2
        return preference

    def _chance(self, features: AnyArray) -> Floats:
        """Return the probability that the first row of each pair is better."""
        if self._is_svc:
            margin = self.kernel_map_.transform(features.astype(np.float64, copy=False)) @ self.dual_ + self.intercept_
            return squashed(margin)
        return chance_of_first(self.classifier_, features)

    def _matrices(self, X: AnyArray, query: Int64s) -> Iterator[tuple[Int64s, Int64s, Floats]]:
        """Yield batches of queries: their rows, the bounds of the queries, and flat preference matrices."""
        rows = np.argsort(query, kind="stable")
        ends = np.cumsum(np.bincount(query)) if len(query) else np.zeros(0, np.int64)
        sizes = np.diff(ends, prepend=0)
        if sizes.max(initial=0) > LARGEST_QUERY:
            raise InputError(
                f"A query has {sizes.max():,} rows, too many for all pairs: pass " + arg("qid") + ", or split it."
            )
        group = np.cumsum(sizes**2) // (8 * PAIRS_AT_ONCE)
        for number in np.unique(group):
            in_group = group == number
            first, last = int((ends - sizes)[in_group][0]), int(ends[in_group][-1])
            ptr = pointer(sizes[in_group])
            yield rows[first:last], ptr, self._filled(X, rows[first:last], ptr)

    def _filled(self, X: AnyArray, rows: Int64s, ptr: Int64s) -> Floats:
        """Return the flat preference matrices of some queries, filled in batches of pairs."""
        size = np.diff(ptr)
        query = np.repeat(np.arange(len(size)), size)
        inside = number_inside(ptr)
        ends = np.cumsum(size[query] - 1 - inside)  # pairs of a row with those after it, counted through all rows
        start = np.cumsum(size**2) - size**2
        matrices = np.full(int((size**2).sum()), 0.5)
        for low in range(0, int(ends[-1]), PAIRS_AT_ONCE):
            pair = np.arange(low, min(low + PAIRS_AT_ONCE, int(ends[-1])))
            # a pair belongs to the first row whose pairs end after it
            first = np.searchsorted(ends, pair, side="right")
            second = ptr[query[first] + 1] - (ends[first] - pair)
            preference = self._preferences(X, rows[first], rows[second])
            corner, width = start[query[first]], size[query[first]]
            matrices[corner + inside[first] * width + inside[second]] = preference
            matrices[corner + inside[second] * width + inside[first]] = 1 - preference
        return matrices

    def _orders(self, ptr: Int64s, preference: Floats) -> tuple[Int64s, bool]:
        """Return the order of every query, and whether all are proven optimal (always true except for "kemeny")."""
        if self.ordering == "kemeny":
            return kemeny_orders(ptr, preference, self.time_limit)
        return (greedy_orders if self.ordering == "greedy" else component_orders)(ptr, preference), True


def _both_directions(first: Int64s, second: Int64s) -> tuple[tuple[Int64s, Int64s], tuple[Int64s, Int64s]]:
    return (first, second), (second, first)
