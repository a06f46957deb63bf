"""Base classes of the learners: the scikit-learn interface, validation of the input, queries and evaluation."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import validate_data

from concordant.errors import InputError, NeedError, ParameterError, arg
from concordant.learn import _data
from concordant.learn._data import Rows, Validation
from concordant.params import check_params, document, params_of
from concordant.scorers.base import Matrix
from concordant.solvers.lbfgs import Function, Minimum, minimise
from concordant.support.limits import NUMBERS, has_beyond
from concordant.support.state import Kind, labels, optional, whole
from concordant.types import Floats

METRIC = "ndcg@10"
HARDLY = 0.3  # of the slopes at the start, above which a search is said to have ended too early
FLAT = 1e-6  # slopes that need not fall any further


@dataclass(eq=False, repr=False)
class Learner(BaseEstimator):  # type: ignore[misc]
    """Base class of all learners; parameters are validated by ``fit``, and features may be dense or sparse."""

    learns: ClassVar[Mapping[str, Kind]] = {
        "n_features_in_": whole(low=1),
        "feature_names_in_": optional(labels("n_features_in_")),
    }
    """Learnt attributes by name, declared with ``concordant.support.state``; loaded models are checked against them."""
    _takes_sparse: ClassVar[bool] = True

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        document(cls)

    @property
    def _takes_missing(self) -> bool:
        """Whether NaN is accepted as a missing feature."""
        return False

    def _begin_fit(self) -> None:
        """Validate the parameters, and delete the learnt attributes of an earlier fit."""
        check_params(self)
        for declared in params_of(type(self)):
            value = getattr(self, declared.name)
            if isinstance(value, float) and not math.isfinite(value):
                raise ParameterError(arg(declared.name, value) + " is out of range: give a finite number.")
        for name in [name for name in vars(self) if name.endswith("_") and not name.startswith("_")]:
            delattr(self, name)

    def _checked(self, X: Any, *, reset: bool) -> Matrix:
        """Validate features: float32 is kept, other types become float64, and sparse matrices become CSR."""
        checked = validate_data(
            self,
            X,
            reset=reset,
            accept_sparse="csr" if self._takes_sparse else False,
            dtype=[np.float64, np.float32],
            ensure_all_finite="allow-nan" if self._takes_missing else True,
        )
        if has_beyond(checked if isinstance(checked, np.ndarray) else checked.data):
            raise InputError(f"A value in X is not {NUMBERS}: impute the value, or standardise its column.")
        return checked

    def _labels(self, y: ArrayLike | None) -> ArrayLike:
        """Return y, or raise ValueError if it is missing."""
        if y is None:
            raise InputError(f"{type(self).__name__} requires y to be passed, but the target y is None: give labels.")
        return y

    def _finite(self, scores: Floats) -> Floats:
        """Return scores, or raise InputError if some are not finite."""
        if not np.isfinite(scores).all():
            raise InputError(
                f"Some scores of this {type(self).__name__} are not finite: X contains much larger numbers than the "
                "training data. Scale the features as in training."
            )
        return scores

    def _minimised(self, problem: Function, start: Floats, tolerance: float, max_iterations: int) -> Minimum:
        """Minimise a smooth function by L-BFGS, store the iteration count and loss, and warn if it did not converge."""
        minimum = minimise(
            problem, start, tolerance=tolerance, max_iterations=max_iterations, watch=lambda _k, _point, _value: True
        )
        self.n_iter_, self.loss_ = minimum.iterations, minimum.value
        if not minimum.is_converged:
            self._warn_of_early_end(minimum.iterations, "raise alpha")
        else:
            self._check_optimum(problem, start, minimum)
        return minimum

    def _check_optimum(self, problem: Function, start: Floats, minimum: Minimum, units: Floats | float = 1.0) -> None:
        """Warn if the gradient, in units of each feature's standard deviation, has hardly decreased since the start."""
        slope_before, slope_after = (
            float(np.linalg.norm(problem(point)[1] / units)) for point in (start, minimum.point)
        )
        if slope_after > HARDLY * slope_before and slope_after > FLAT:
            warnings.warn(
                f"{type(self).__name__} stopped after {minimum.iterations} iterations before it reached the "
                "minimum (the "
                f"gradient is still {slope_after / slope_before:.0%} of its initial size): set "
                + arg("standardise", True)
                + ", or lower "
                + arg("tol")
                + ".",
                ConvergenceWarning,
                stacklevel=5,
            )

    def _warn_of_early_end(self, iterations: int, remedy: str) -> None:
        """Warn that the solver stopped before it converged; ``remedy`` is the second suggestion."""
        advice = (
            "raise " + arg("max_iter") + f", or {remedy}"
            if getattr(self, "standardise", True)
            else "set " + arg("standardise", True) + f", or {remedy}"
        )
        warnings.warn(
            f"{type(self).__name__} stopped after {iterations} iterations before it converged: " + advice + ".",
            ConvergenceWarning,
            stacklevel=5,
        )

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags: sparse input, missing values, labels required."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse, tags.input_tags.allow_nan = self._takes_sparse, self._takes_missing
        tags.target_tags.required = True
        return tags


@dataclass(eq=False, repr=False)
class Ranker(Learner):
    """Base class of all rankers: ``fit(X, y, qid=...)``, ``predict(X)`` and ``score(X, y, qid=...)``.

    Subclasses implement ``_fit_rows``, which receives validated rows.
    """

    # scikit-learn's metadata routing: queries go wherever the ranker goes.
    __metadata_request__fit: ClassVar[dict[str, bool]] = {"qid": True, "sample_weight": True}
    __metadata_request__score: ClassVar[dict[str, bool]] = {"qid": True}
    takes: ClassVar[tuple[str, ...]] = ()
    """Further arguments that ``fit`` supports: "pairs", "tied", "valid"."""
    _too_little: ClassVar[str] = "no query has two rows with different labels (n_samples={n_rows}). Check y and qid."

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        *,
        qid: ArrayLike | None = None,
        group: ArrayLike | None = None,
        pairs: ArrayLike | None = None,
        tied: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        valid: tuple[Any, ...] | None = None,
    ) -> Self:
        """Fit the ranker to labelled rows, grouped by query.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples,), optional
            Labels (relevance grades); higher is better. Required unless ``pairs`` is given.
        qid : array-like of shape (n_samples,), optional
            Query of every row, in any order; without it, all rows form one query.
        group : array-like, optional
            Sizes of consecutive queries, instead of ``qid``.
        pairs : array-like of shape (n_pairs, 2), optional
            Preferences instead of labels: the better row and the worse row of each pair. Only for rankers with "pairs"
            in ``takes``.
        tied : array-like of shape (n_pairs,), optional
            Whether the two rows of a pair are equally good. Only for rankers with "tied" in ``takes``.
        sample_weight : array-like, optional
            Weight of every row, constant within a query, or of every pair.
        valid : tuple of (X, y) or (X, y, qid), optional
            Validation set for early stopping: the model with the best ``metric`` is kept. Only for rankers with "valid"
            in ``takes``.

        Returns
        -------
        Ranker
            The fitted ranker itself.

        Raises
        ------
        InputError
            If the arguments are inconsistent, or no query has rows with different labels.
        NeedError
            If the ranker does not support an argument.
        """
        self._begin_fit()
        for name, value in (("pairs", pairs), ("tied", tied), ("valid", valid)):
            if value is not None and name not in self.takes:
                raise NeedError(f"{type(self).__name__} does not support {name}: leave it out, or use another ranker.")
        X = self._checked(X, reset=True)
        n_rows = X.shape[0]
        if pairs is not None:
            _data.refuse_labels_beside_pairs(y, qid, group, getattr(self, "weighting", ""))
            rows = Rows(X, pairs=_data.explicit_pairs(pairs, sample_weight, tied, n_rows))
        elif tied is not None:
            raise InputError("tied was given without pairs: leave it out (rows with equal labels are always tied).")
        else:
            rows = self._rows(X, y, self._query_codes(n_rows, qid, group), sample_weight)
        self._fit_rows(rows, valid)
        return self

    def _labelled_rows(self, X: Any, y: ArrayLike, qid: ArrayLike) -> Rows:
        """Validate some rows of a training set and return them with labels and queries."""
        X = self._checked(X, reset=True)
        return self._rows(X, y, self._query_codes(X.shape[0], qid, None), None)

    def _rows(self, X: Any, y: ArrayLike | None, query: Any, sample_weight: ArrayLike | None) -> Rows:
        """Return the training set, or raise an error if it contains no preferences."""
        label = _data.labels_only(self._labels(y), X.shape[0])
        rows = Rows(X, label, query, _data.query_weights(sample_weight, query)).with_positive_weight()
        if not self._is_informative(rows):
            raise InputError(f"There is nothing to learn: {self._too_little.format(n_rows=X.shape[0])}")
        return rows

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
        raise NotImplementedError

    def score(
        self,
        X: Any,
        y: ArrayLike,
        *,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        metric: str = METRIC,
    ) -> float:
        """Return the mean of a metric over the queries.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples,)
            Labels (relevance grades).
        qid : array-like of shape (n_samples,), optional
            Query of every row, in any order; without it, all rows form one query.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of every row, constant within a query.
        metric : str, default 'ndcg@10'
            A metric of ``concordant.metrics``.

        Returns
        -------
        float
            The weighted mean.
        """
        scores = self._predicted(X, qid)
        query = _data.checked_queries(len(scores), qid)
        weight = _data.query_weights(sample_weight, query)
        return _data.measure(metric, scores, _data.labels_only(y, len(scores)), query, weight)

    # ---- what a ranker says ----
    def _fit_rows(self, rows: Rows, valid: tuple[Any, ...] | None) -> None:
        """Fit to labelled rows, or to pairs of rows; implemented by every ranker."""
        raise NotImplementedError

    def _predicted(self, X: Any, qid: ArrayLike | None) -> Floats:
        """Predict for evaluation; rankers that order whole queries use ``qid``."""
        return self.predict(X)

    _query_codes = staticmethod(_data.checked_queries)

    def _is_informative(self, rows: Rows) -> bool:
        return rows.has_preferences

    def _validation(self, valid: tuple[Any, ...], metric: str) -> Validation:
        """Validate a validation set like a training set."""
        X, y, qid = _data.parts_of(valid)
        return Validation.of(self._checked(X, reset=False), y, qid, metric)
