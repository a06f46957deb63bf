"""Validate the state of a model against the declarations of its class, before anything uses it.

``check(model, name, declared, learnt)`` goes through the declarations (``support.state``) in order: every value must
exist, have its type and the shape implied by the others, and contain finite numbers within the declared range. A
violation raises a ``ValueError`` that names the model and the value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from functools import singledispatchmethod
from typing import Any

import numpy as np

from concordant.params import values_of
from concordant.support import state
from concordant.types import AnyArray


def check(model: Any, name: str, declared: Iterable[str], learnt: Mapping[str, Any]) -> None:
    """Compare the learnt values of a fitted model with the declarations of its class.

    A tuple of names declares only names.
    """
    if not learnt:
        return
    kinds: Mapping[str, state.Kind | None] = declared if isinstance(declared, Mapping) else dict.fromkeys(declared)
    for unknown in learnt.keys() - kinds.keys():
        raise ValueError(f"{name} has no learnt value {unknown!r}")
    sizes = Sizes(model, learnt)
    for key, kind in kinds.items():
        if key in learnt:
            _check_one(name, key, kind, learnt[key], sizes)
        elif kind is not None and not kind.optional:
            raise ValueError(f"{name} lacks {key!r}")
    if hasattr(model, "check_learnt"):
        model.check_learnt()


def _check_one(name: str, key: str, kind: state.Kind | None, value: object, sizes: Sizes) -> None:
    """Check one value against its declaration (None: plain data); errors name model and value."""
    try:
        if kind is None:
            check_plain(value)
        else:
            Comparison(sizes).compare(kind, value)
    except ValueError as problem:
        raise ValueError(f"{key!r} of {name} {problem}") from None


class Sizes:
    """The sizes of arrays by name: learnt numbers and labels, hyper-parameters, ``learnt_sizes`` of the model."""

    def __init__(self, model: Any, learnt: Mapping[str, Any]) -> None:
        self.model, self.learnt, self.known = model, learnt, dict[str, int]()

    def of(self, size: state.Size, observed: int | None = None) -> int:
        """Evaluate a symbolic size such as "rows" or "rows+1"; an unknown name takes the first observed size."""
        if isinstance(size, int):
            return size
        name, _, added = size.partition("+")
        extra = int(added or 0)
        if name not in self.known:
            self.known[name] = self._worked_out(name, None if observed is None else observed - extra)
        return self.known[name] + extra

    def _worked_out(self, name: str, observed: int | None) -> int:
        """Return a size: a learnt value, a hyper-parameter, from ``learnt_sizes()``, or else the observed size."""
        sources = [self.learnt, _hyper_parameters(self.model)]
        if hasattr(self.model, "learnt_sizes"):
            sources.append(self.model.learnt_sizes())
        for value in (*(source.get(name) for source in sources), observed):
            if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
                return int(value)
        raise ValueError(f"needs an integer {name!r}")


def _hyper_parameters(model: Any) -> Mapping[str, Any]:
    """Return the hyper-parameters of an estimator or a dataclass; none for anything else."""
    if hasattr(model, "get_params"):
        return dict(model.get_params(deep=False))
    return values_of(model) if hasattr(type(model), "__dataclass_fields__") else {}


class Comparison:
    """Compares values with their declared kinds; a size set by one value applies to the others."""

    def __init__(self, sizes: Sizes) -> None:
        self.sizes = sizes

    @singledispatchmethod
    def compare(self, kind: Any, value: object) -> None:
        """Raise ValueError unless the value has the declared kind."""
        raise TypeError(f"No check is defined for {kind!r}.")

    @compare.register
    def _(self, kind: state.Numbers, value: object) -> None:
        """Check the type, shape, range and order of numbers."""
        array = _numbers(kind, value)
        self._same_shape(kind.shape, array)
        if not array.size:
            return
        missing = np.isnan(array) if array.dtype.kind == "f" else np.zeros(array.shape, bool)
        if missing.any() and not kind.may_miss:
            raise ValueError("contains NaN")
        known = array[~missing]
        high = kind.high if array.dtype != np.float32 else min(kind.high, state.LARGEST_SINGLE)
        low = kind.low if array.dtype != np.float32 else max(kind.low, -state.LARGEST_SINGLE)
        if known.size and (known.max() > high or known.min() < low):
            raise ValueError(f"contains a number outside of {low:g} … {high:g}")
        if kind.below is not None and known.size and known.max() >= self.sizes.of(kind.below):
            raise ValueError(
                f"contains {known.max()}, but must be below {self.sizes.of(kind.below)}, the number of {kind.below}"
            )
        if kind.is_sorted and array.ndim and (array[1:] < array[:-1]).any():
            raise ValueError("is not in ascending order")

    @compare.register
    def _(self, kind: state.Pointer, value: object) -> None:
        """Check a pointer: ascending from 0 to the end of the array that it divides."""
        array = _array(value, ("int64",))
        size = self.sizes.of(kind.size, len(array) - 1 if array.ndim == 1 else 0)
        self._same_shape((size + 1,), array)
        if array[0] != 0 or (array[1:] < array[:-1]).any() or array[-1] != self.sizes.of(kind.over):
            raise ValueError(f"does not run from 0 to the end of {kind.over}")

    @compare.register
    def _(self, kind: state.Text, value: object) -> None:
        if not isinstance(value, str) or (kind.choices and value not in kind.choices):
            raise ValueError(f"is not {' or '.join(kind.choices) or 'text'}")

    @compare.register
    def _(self, kind: state.Flag, value: object) -> None:
        if not isinstance(value, (bool, np.bool_)):
            raise ValueError("is neither true nor false")

    @compare.register
    def _(self, kind: state.TypeOfNumbers, value: object) -> None:
        if not isinstance(value, np.dtype) or value.kind not in "biuf":
            raise ValueError("is not a numeric type")

    @compare.register
    def _(self, kind: state.Labels, value: object) -> None:
        """Check a list of distinct labels (or 0, 1, 2, … if allowed)."""
        array = value.tolist() if isinstance(value, np.ndarray) and value.ndim == 1 else value
        if not isinstance(array, (list, tuple)):
            raise ValueError("is not a list of labels")
        if len(array) != self.sizes.of(kind.size, len(array)):
            raise ValueError(f"has {len(array)} labels, but there are {self.sizes.of(kind.size)} {kind.size}")
        if (
            kind.or_numbers
            and array == list(range(len(array)))
            and not any(isinstance(element, bool) for element in array)
        ):
            return
        _check_texts(array)
        if len(set(array)) < len(array):
            raise ValueError("contains a label twice")

    @compare.register
    def _(self, kind: state.Classes, value: object) -> None:
        """Check an ascending array of distinct categories."""
        if not isinstance(value, np.ndarray) or value.ndim != 1 or value.dtype.kind not in "biufU" or len(value) < 1:
            raise ValueError("is not a list of categories")
        if value.dtype.kind == "f" and not np.isfinite(value).all():
            raise ValueError("contains a category that is not finite")
        if not (value[1:] > value[:-1]).all():
            raise ValueError("is not a list of distinct categories in ascending order")
        self._same_shape((kind.size,), value)

    @compare.register
    def _(self, kind: state.ByLabel, value: object) -> None:
        """Check a mapping of labels to numbers."""
        if not isinstance(value, Mapping) or not value:
            raise ValueError("is not a mapping from labels to numbers")
        _check_texts(value)
        if kind.of is not None and list(value) != list(self.sizes.learnt.get(kind.of, ())):
            raise ValueError(f"does not have the same labels as {kind.of!r}, in the same order")
        for label, number in value.items():
            _check_number(number, kind.low, kind.high, f"for {label!r} ")

    @compare.register
    def _(self, kind: state.TableKind, value: object) -> None:
        """Check a mapping of labels to rows with the same named numbers."""
        if not isinstance(value, Mapping):
            raise ValueError("is not a mapping from labels to rows of numbers")
        rows = list(value.values())
        if not rows or not all(isinstance(row, Mapping) and row and list(row) == list(rows[0]) for row in rows):
            raise ValueError("does not have the same named numbers for every label")
        _check_texts(value)
        _check_texts(rows[0])
        for row in rows:
            for number in row.values():
                _check_number(number, -state.LARGEST, state.LARGEST)

    @compare.register
    def _(self, kind: state.Curves, value: object) -> None:
        """Check a mapping of names to lists of numbers."""
        if not isinstance(value, Mapping) or not all(isinstance(curve, list) for curve in value.values()):
            raise ValueError("is not a mapping from names to lists of numbers")
        _check_texts(value)
        for number in (number for curve in value.values() for number in curve):
            _check_number(number, -math.inf, math.inf)

    @compare.register
    def _(self, kind: state.Part, value: object) -> None:
        """Check an estimator: its methods and its number of features."""
        if not hasattr(value, "get_params") or not all(hasattr(value, method) for method in kind.can):
            raise ValueError(f"is not an estimator with {' and '.join(kind.can)}")
        if n_features_of(value) != self.sizes.of(kind.features):
            raise ValueError(f"does not accept rows of {self.sizes.of(kind.features)} features")

    @compare.register
    def _(self, kind: state.ListOf, value: object) -> None:
        """Check a list of values of the same kind."""
        if not isinstance(value, list) or len(value) != self.sizes.of(kind.size, len(value)):
            raise ValueError(f"is not a list of {kind.size} values")
        for element in value:
            self.compare(kind.kind, element)

    @compare.register
    def _(self, kind: state.OneOf, value: object) -> None:
        """Check a value that may be of one of several kinds, or None if allowed."""
        if value is None and kind.or_none:
            return
        known_before, problem = dict(self.sizes.known), ValueError("is missing")
        for element in kind.kinds:
            try:
                self.compare(element, value)
                return
            except ValueError as mismatch:
                self.sizes.known, problem = dict(known_before), mismatch
        raise problem

    @compare.register
    def _(self, kind: state.Held, value: object) -> None:
        if type(value).__name__ != kind.name:
            raise ValueError(f"is not a {kind.name}")

    def _same_shape(self, shape: tuple[state.Size, ...], array: AnyArray) -> None:
        """Raise an error if an array does not have the declared shape."""
        if len(shape) != array.ndim:
            raise ValueError(f"has {array.ndim} dimensions, not {len(shape)}")
        expected = tuple(self.sizes.of(size, length) for size, length in zip(shape, array.shape, strict=True))
        if expected != array.shape:
            raise ValueError(f"has shape {array.shape}, not {expected}")


def n_features_of(estimator: Any) -> int | None:
    """Return the number of features that a fitted estimator accepts; None if it does not state one."""
    steps = estimator.steps if type(estimator).__name__ == "Pipeline" else ()
    n_features = getattr(next((step for _, step in steps if hasattr(step, "fit")), estimator), "n_features_in_", None)
    return int(n_features) if isinstance(n_features, (int, np.integer)) else None


def check_plain(value: object) -> None:
    """Check an undeclared value: all numbers in it are finite."""
    if isinstance(value, np.ndarray):
        if value.dtype.kind == "f" and not np.isfinite(value).all():
            raise ValueError("contains NaN or infinity")
    elif isinstance(value, float):
        _check_number(value, -state.LARGEST, state.LARGEST)
    elif isinstance(value, Mapping):
        for part in value.values():
            check_plain(part)
    elif isinstance(value, (list, tuple)):
        for part in value:
            check_plain(part)


def _numbers(kind: state.Numbers, value: object) -> AnyArray:
    """Return the numbers of a value as an array of a declared type; a single number may be a Python number."""
    if not kind.shape and not isinstance(value, np.ndarray):
        if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.integer, np.floating)):
            raise ValueError("is not a number")
        if kind.dtypes[0].startswith("int") != isinstance(value, (int, np.integer)):
            raise ValueError("is not an integer" if isinstance(value, float) else "is not a floating-point number")
        return np.asarray(value)
    return _array(value, kind.dtypes)


def _array(value: object, dtypes: tuple[str, ...]) -> AnyArray:
    """Return a value that is an array of one of these types, in native byte order, or raise an error."""
    if not isinstance(value, np.ndarray):
        raise ValueError(f"is not an array of {' or '.join(dtypes)}")
    if value.dtype.name not in dtypes or not value.dtype.isnative:
        raise ValueError(f"is an array of {value.dtype}, not of {' or '.join(dtypes)}")
    return value


def _check_number(value: object, low: float, high: float, where: str = "") -> None:
    """Raise an error if a value is not a finite number from ``low`` to ``high``; ``where`` is part of the message."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"contains {where}a value that is not a number")
    if not math.isfinite(value):
        raise ValueError(f"contains {where}a number that is not finite")
    if not low <= value <= high:
        raise ValueError(f"contains {where}a number outside of {low:g} … {high:g}")


def _check_texts(values: Iterable[object]) -> None:
    """Raise an error if a label is not valid text."""
    for label in values:
        if not isinstance(label, str):
            raise ValueError("contains a label that is not text")
        if any("\ud800" <= sign <= "\udfff" for sign in label):
            raise ValueError("contains a label that is not valid text")


# ---- a trial ----
ANSWERS = ("predict", "predict_scores", "predict_proba", "decision_function", "transform")
MAX_FEATURES = 20_000  # of an estimator that is tried
ROWS = np.array([0.0, 1.0, -1.0, 0.5, 3.0])


def check_predictions(estimator: Any, name: str) -> None:
    """Predict a few ordinary rows with a fitted estimator, to detect inconsistent parts.

    Declared ranges ensure that this is safe. It detects problems that the declarations of single classes cannot
    express, such as incompatible steps of a pipeline.
    """
    width = n_features_of(estimator)
    if width is None or width > MAX_FEATURES:
        return
    rows = np.outer(ROWS, np.cos(np.arange(width)))
    for answer in ANSWERS:
        if hasattr(estimator, answer):
            _check_answer(getattr(estimator, answer), rows, f"{name}.{answer}")


def _check_answer(answer: Callable[[AnyArray], Any], rows: AnyArray, name: str) -> None:
    """Raise an error if a prediction fails or is not finite."""
    import warnings

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            result = answer(rows)
        except Exception as problem:
            raise ValueError(f"{name} fails on test rows ({problem})") from None
    numbers = np.asarray(getattr(result, "data", result) if hasattr(result, "nnz") else result)
    if numbers.dtype.kind == "f" and not np.isfinite(numbers).all():
        raise ValueError(f"{name} predicts values that are not finite for test rows")
