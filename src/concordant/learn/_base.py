"""What all learners share: the scikit-learn face, checked input; for rankers, queries in any order and evaluation."""

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
    """Base of everything here: parameters checked when fitting, features as numbers, dense or sparse."""

    learns: ClassVar[Mapping[str, Kind]] = {
        "n_features_in_": whole(low=1),
        "feature_names_in_": optional(labels("n_features_in_")),
    }
    """What ``fit`` adds, by name, each declared with ``concordant.support.state``; a model file is compared with it."""
    _takes_sparse: ClassVar[bool] = True

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        document(cls)

    @property
    def _takes_missing(self) -> bool:
        """Whether NaN means a missing feature; otherwise it is rejected."""
        return False

    def _begin_fit(self) -> None:
        """Check the parameters, and delete what an earlier fit learnt: nothing of other data may remain."""
        check_params(self)
        for declared in params_of(type(self)):
            value = getattr(self, declared.name)
            if isinstance(value, float) and not math.isfinite(value):
                raise ParameterError(arg(declared.name, value) + " is out of range: give a finite number.")
        for name in [name for name in vars(self) if name.endswith("_") and not name.startswith("_")]:
            delattr(self, name)

    def _checked(self, X: Any, *, reset: bool) -> Matrix:
        """Check features: float32 stays as it is, anything else becomes float64; sparse matrices become CSR."""
        checked = validate_data(
            self,
            X,
            reset=reset,
            accept_sparse="csr" if self._takes_sparse else False,
            dtype=[np.float64, np.float32],
            ensure_all_finite="allow-nan" if self._takes_missing else True,
        )
        if has_beyond(checked if isinstance(checked, np.ndarray) else checked.data):
            raise InputError(f"A feature in X is not {NUMBERS}: correct it, or standardise its column.")
        return checked

    def _labels(self, y: ArrayLike | None) -> ArrayLike:
        """Return y, or raise if it is missing."""
        if y is None:
            raise InputError(f"{type(self).__name__} requires y to be passed, but the target y is None: give labels.")
        return y

    def _finite(self, scores: Floats) -> Floats:
        """Return scores, or raise if some are not finite."""
        if not np.isfinite(scores).all():
            raise InputError(
                f"Some scores of this {type(self).__name__} are not finite: X holds numbers far larger than those it "
                "learnt from. Scale the features as in training."
            )
        return scores

    def _minimised(self, problem: Function, start: Floats, tolerance: float, max_iterations: int) -> Minimum:
        """Minimise a smooth function by L-BFGS, store iterations and loss, and warn if it did not converge."""
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
        """Warn if the gradient, in units of each feature's deviation, has hardly fallen since the start."""
        slope_before, slope_after = (
            float(np.linalg.norm(problem(point)[1] / units)) for point in (start, minimum.point)
        )
        if slope_after > HARDLY * slope_before and slope_after > FLAT:
            warnings.warn(
                f"{type(self).__name__} stopped after {minimum.iterations} iterations away from the minimum (the "
                f"gradient is still {slope_after / slope_before:.0%} of that at the start): set "
                + arg("standardise", True)
                + ", or lower "
                + arg("tol")
                + ".",
                ConvergenceWarning,
                stacklevel=5,
            )

    def _warn_of_early_end(self, iterations: int, remedy: str) -> None:
        """Warn that the search stopped before it converged; ``remedy`` is the second piece of advice."""
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
    """Base of every ranker: ``fit(X, y, qid=...)``, ``predict(X)`` and ``score(X, y, qid=...)``.

    A ranker says in ``_fit_rows`` what it learns from rows that are checked already.
    """

    # scikit-learn's metadata routing: queries go wherever the ranker goes.
    __metadata_request__fit: ClassVar[dict[str, bool]] = {"qid": True, "sample_weight": True}
    __metadata_request__score: ClassVar[dict[str, bool]] = {"qid": True}
    takes: ClassVar[tuple[str, ...]] = ()
    """What ``fit`` takes in addition to labels: "pairs", "tied", "valid"."""
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
        """Learn from labels per query.

        ``qid`` names the query of every row, in any order (``group``: sizes of consecutive queries instead; neither:
        one query). ``sample_weight`` is per row and constant within a query.

        The others are for the rankers that say so in ``takes``. ``pairs`` holds (better row, worse row) instead of y;
        ``tied`` says where the two are equal, and ``sample_weight`` is per pair then. ``valid`` is (X, y, qid): the
        model with the best ``metric`` on it is kept.
        """
        self._begin_fit()
        for name, value in (("pairs", pairs), ("tied", tied), ("valid", valid)):
            if value is not None and name not in self.takes:
                raise NeedError(f"{type(self).__name__} takes no {name}: leave it out, or use another ranker.")
        X = self._checked(X, reset=True)
        n_rows = X.shape[0]
        if pairs is not None:
            _data.refuse_labels_beside_pairs(y, qid, group, getattr(self, "weighting", ""))
            rows = Rows(X, pairs=_data.explicit_pairs(pairs, sample_weight, tied, n_rows))
        elif tied is not None:
            raise InputError("tied was given without pairs: rows of equal label are tied anyway, leave it out.")
        else:
            rows = self._rows(X, y, self._query_codes(n_rows, qid, group), sample_weight)
        self._fit_rows(rows, valid)
        return self

    def _labelled_rows(self, X: Any, y: ArrayLike, qid: ArrayLike) -> Rows:
        """Check some rows of a training set and return them with labels and queries."""
        X = self._checked(X, reset=True)
        return self._rows(X, y, self._query_codes(X.shape[0], qid, None), None)

    def _rows(self, X: Any, y: ArrayLike | None, query: Any, sample_weight: ArrayLike | None) -> Rows:
        """Return the training set, or raise if there is nothing to learn from it."""
        label = _data.labels_only(self._labels(y), X.shape[0])
        rows = Rows(X, label, query, _data.query_weights(sample_weight, query)).with_positive_weight()
        if not self._is_informative(rows):
            raise InputError(f"There is nothing to learn: {self._too_little.format(n_rows=X.shape[0])}")
        return rows

    def predict(self, X: Any) -> Floats:
        """Return a score per row, higher for better; only rows of the same query should be compared."""
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
        """Return the mean of a metric over the queries (by default NDCG@10), weighted where weights are given."""
        scores = self._predicted(X, qid)
        query = _data.checked_queries(len(scores), qid)
        weight = _data.query_weights(sample_weight, query)
        return _data.measure(metric, scores, _data.labels_only(y, len(scores)), query, weight)

    # ---- what a ranker says ----
    def _fit_rows(self, rows: Rows, valid: tuple[Any, ...] | None) -> None:
        """Learn from labelled rows, or from pairs of rows (implemented by every ranker)."""
        raise NotImplementedError

    def _predicted(self, X: Any, qid: ArrayLike | None) -> Floats:
        """Predict for evaluation; rankers that look at whole queries use ``qid``."""
        return self.predict(X)

    _query_codes = staticmethod(_data.checked_queries)

    def _is_informative(self, rows: Rows) -> bool:
        return rows.has_preferences

    def _validation(self, valid: tuple[Any, ...], metric: str) -> Validation:
        """Check a validation set as the training set is checked."""
        X, y, qid = _data.parts_of(valid)
        return Validation.of(self._checked(X, reset=False), y, qid, metric)
