"""Declare the state of a fitted model: type, shape and range of each array, number, text and part.

A class lists its state in ``learns``, by name. ``concordant.saving`` validates a model against this list when
it is saved and loaded, so that code that runs a model can rely on its arrays::

    learns = {
        "n_features_in_": whole(low=1),
        "coef_": floats("n_features_in_"),
        "labels_": labels("labels"),
        "intercept_": floats("labels"),
    }

The size of an array is a number or a name. A name refers to a whole number declared earlier, to a hyper-parameter or to
a size that the method ``learnt_sizes`` of the model returns; any other name is defined by its first use. ``"agents+1"``
is one more than ``"agents"``. A method ``check_learnt`` of the model may check further conditions; it raises
``ValueError``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

LARGEST = 1e100  # of any number learnt: sums and products of some stay finite
LARGEST_SINGLE = 1e30  # of a number in single precision: as large as data may be
SMALLEST = 1e-100  # of a number that something is divided by
LARGEST_WEIGHT = 1e9  # of a number that multiplies the weight of ballots
MAX_INTEGER = 2**53  # of a whole number

Size = str | int


@dataclass(frozen=True, kw_only=True)
class Kind:
    """Kind of a value."""

    optional: bool = False
    """Whether it may be absent from a fitted model."""


@dataclass(frozen=True, kw_only=True)
class Numbers(Kind):
    """Numbers in an array, or a single number if the shape is empty."""

    shape: tuple[Size, ...] = ()
    dtypes: tuple[str, ...] = ("float64",)
    low: float = -LARGEST
    high: float = LARGEST
    below: Size | None = None
    """A size that is an exclusive upper bound of all numbers."""
    is_sorted: bool = False
    """Whether the numbers are non-decreasing along the first axis."""
    may_miss: bool = False
    """Whether NaN is allowed."""


@dataclass(frozen=True, kw_only=True)
class Pointer(Kind):
    """Start of each of ``size`` parts of an array, and the end of the last: non-decreasing from 0 to ``over``."""

    size: Size
    over: Size


@dataclass(frozen=True, kw_only=True)
class Text(Kind):
    """A text, restricted to the choices if there are any."""

    choices: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Labels(Kind):
    """Distinct texts; with ``or_numbers``, also the numbers 0, 1, … instead of names."""

    size: Size
    or_numbers: bool = False


@dataclass(frozen=True, kw_only=True)
class Classes(Kind):
    """Distinct categories in ascending order: numbers, truth values or texts."""

    size: Size


@dataclass(frozen=True, kw_only=True)
class ByLabel(Kind):
    """A number per label; ``of`` is the value that lists the labels, if any."""

    of: str | None = None
    low: float = -LARGEST
    high: float = LARGEST


class TableKind(Kind):
    """One row of named numbers per label, with the same names in all rows."""


class Curves(Kind):
    """Lists of numbers by name, such as the loss after each iteration of a fit."""


@dataclass(frozen=True, kw_only=True)
class Part(Kind):
    """A fitted estimator that accepts rows of ``features`` numbers and provides these methods."""

    features: Size
    can: tuple[str, ...] = ("predict",)


@dataclass(frozen=True, kw_only=True)
class ListOf(Kind):
    """A list of ``size`` values of one kind."""

    kind: Kind
    size: Size


@dataclass(frozen=True, kw_only=True)
class OneOf(Kind):
    """A value of one of several kinds, or None if ``or_none``."""

    kinds: tuple[Kind, ...]
    or_none: bool = False


class Flag(Kind):
    """True or False."""


class TypeOfNumbers(Kind):
    """A numeric NumPy dtype."""


@dataclass(frozen=True, kw_only=True)
class Held(Kind):
    """An object of a named class that declares its own state in ``learns``."""

    name: str


def floats(*shape: Size, single: bool = False, **limits: Any) -> Numbers:
    """Declare numbers in double precision, or (``single``) also in single precision."""
    return Numbers(shape=shape, dtypes=("float64", "float32") if single else ("float64",), **limits)


def whole(*shape: Size, bits: int = 64, low: float = 0, high: float = MAX_INTEGER, **limits: Any) -> Numbers:
    """Declare whole numbers."""
    return Numbers(shape=shape, dtypes=(f"int{bits}",), low=low, high=high, **limits)


def labels(size: Size, *, or_numbers: bool = False) -> Labels:
    """Declare distinct texts."""
    return Labels(size=size, or_numbers=or_numbers)


def part(features: Size, *can: str) -> Part:
    """Declare a fitted estimator."""
    return Part(features=features, can=can or ("predict",))


def either(*kinds: Kind) -> OneOf:
    """Declare a value of one of several kinds."""
    return OneOf(kinds=kinds)


def maybe(*kinds: Kind) -> OneOf:
    """Declare a value that may be None."""
    return OneOf(kinds=kinds, or_none=True)


def optional(kind: Kind) -> Kind:
    """Declare a value that may be absent from a fitted model."""
    return replace(kind, optional=True)
