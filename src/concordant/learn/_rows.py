"""What the rankers without a gradient share: dense features, labelled queries, a validation set that is watched."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils.validation import validate_data

from concordant.errors import InputError, ParameterError
from concordant.learn import _data
from concordant.losses.queries import Queries
from concordant.params import check_params, params_of
from concordant.scorers.base import Matrix
from concordant.types import AnyArray, Floats, Int64s


def begin_fit(estimator: Any) -> None:
    """Check the parameters, and forget what an earlier fit learnt: nothing may remain of other data."""
    check_params(estimator)
    for declared in params_of(type(estimator)):
        value = getattr(estimator, declared.name)
        if isinstance(value, float) and not math.isfinite(value):
            raise ParameterError(f"{declared.name}={value!r} is out of range: give a finite number.")
    for name in [name for name in vars(estimator) if name.endswith("_") and not name.startswith("_")]:
        delattr(estimator, name)


def dense(estimator: Any, X: Any, *, reset: bool, missing: bool = False) -> AnyArray:
    """Check dense features: float32 is kept as it is, anything else becomes float64; NaN only if it may be missing."""
    found: AnyArray = _validated(estimator, X, reset, missing, accept_sparse=False)
    return found


def dense_or_sparse(estimator: Any, X: Any, *, reset: bool, missing: bool = False) -> Matrix:
    """Check features that may also be sparse, which then become rows (CSR)."""
    return _validated(estimator, X, reset, missing, accept_sparse="csr")


def _validated(estimator: Any, X: Any, reset: bool, missing: bool, accept_sparse: str | bool) -> Matrix:
    finite = "allow-nan" if missing else True
    types = [np.float64, np.float32]
    return validate_data(estimator, X, reset=reset, accept_sparse=accept_sparse, dtype=types, ensure_all_finite=finite)


def fresh_copy(estimator: Any, name: str, *methods: str) -> Any:
    """Return an unfitted copy of an estimator with some methods, given as the parameter ``name``."""
    if isinstance(estimator, type) or not all(hasattr(estimator, one) for one in ("fit", "get_params", *methods)):
        raise ParameterError(f"{name}={estimator!r} is no estimator: give an instance of one, unfitted.")
    return clone(estimator)


def require_labels(estimator: Any, y: ArrayLike | None) -> ArrayLike:
    """Return y, or say that it is missing."""
    if y is None:
        raise InputError(f"{type(estimator).__name__} requires y to be passed, but the target y is None: give labels.")
    return y


def row_weights(sample_weight: ArrayLike | None, n_rows: int) -> Floats:
    """Check a weight per row where rows are independent, so that weights may differ anywhere."""
    weight = _data.query_weights(sample_weight, np.arange(n_rows))
    return np.ones(n_rows) if weight is None else weight


class Labelled(NamedTuple):
    """A training set: features, labels, queries as codes from 0, weights by row (None: all equal)."""

    X: Any
    label: Floats
    query: Int64s
    weight: Floats | None

    @property
    def queries(self) -> Queries:
        """The rows as the losses read them."""
        return Queries.from_rows(self.label, self.query, self.weight)


def labelled(
    estimator: Any,
    X: Any,
    y: ArrayLike | None,
    qid: ArrayLike | None,
    group: ArrayLike | None,
    sample_weight: ArrayLike | None,
) -> Labelled:
    """Check a training set, leave out queries of weight zero, and refuse one without a single preference."""
    n_rows = X.shape[0]
    label = _data.labels_only(require_labels(estimator, y), n_rows)
    query = _data.checked_queries(n_rows, qid, group)
    weight = _data.query_weights(sample_weight, query)
    if weight is not None and not weight.all():
        used = np.flatnonzero(weight)
        X, label, query, weight = X[used], label[used], _data.query_codes(len(used), query[used], None), weight[used]
    found = Labelled(X, label, query, weight)
    _data.refuse_nothing_to_learn(found.queries, n_rows)
    return found


class Validation:
    """A validation set ``(X, y)`` or ``(X, y, qid)``, checked like the training set, and the metric watched on it."""

    def __init__(self, valid: tuple[Any, ...], metric: str, checked: Callable[[Any], Matrix]) -> None:
        X, y, qid = _data.parts_of(valid)
        self.X, self.metric = checked(X), metric
        self.label = _data.labels_only(y, self.X.shape[0])
        self.query = _data.checked_queries(self.X.shape[0], qid)
        if not self.measure(self.label) > self.measure(-self.label):
            raise InputError(
                f"The validation set tells nothing: its best and its worst order have the same {metric}. "
                "Check its labels and queries."
            )

    def measure(self, scores: Floats) -> float:
        """Return the metric of scores for these rows."""
        return _data.measure(self.metric, scores, self.label, self.query)
