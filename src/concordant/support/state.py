"""What a fitted model holds, declared once: type, shape and range of every array, number, text and part.

A class lists its state in ``learns``, by name. ``concordant.saving`` compares a model with the list when it is saved
and when it is loaded, before anything uses it, so that code that runs a model can trust its arrays::

    learns = {
        "n_features_in_": whole(low=1),
        "coef_": floats("n_features_in_"),
        "labels_": labels("labels"),
        "intercept_": floats("labels"),
    }

Sizes of arrays are numbers or names: of a whole number declared before, of a hyper-parameter, of a size that the method
``learnt_sizes`` of the model returns, or a new name, whose first use sets it. ``"agents+1"`` is one more than
``"agents"``. What no list can say, a method ``check_learnt`` of the model checks; it raises ``ValueError``.
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
    """What a value is."""

    optional: bool = False
    """Whether a fitted model may do without it."""


@dataclass(frozen=True, kw_only=True)
class Numbers(Kind):
    """Numbers in an array, or a single one where the shape is empty."""

    shape: tuple[Size, ...] = ()
    dtypes: tuple[str, ...] = ("float64",)
    low: float = -LARGEST
    high: float = LARGEST
    below: Size | None = None
    """A size that all numbers are smaller than."""
    is_sorted: bool = False
    """Whether the numbers do not fall along the first axis."""
    may_miss: bool = False
    """Whether NaN may be among them."""


@dataclass(frozen=True, kw_only=True)
class Pointer(Kind):
    """Where each of ``size`` parts of an array begins, and last where they end: from 0 to ``over``, never falling."""

    size: Size
    over: Size


@dataclass(frozen=True, kw_only=True)
class Text(Kind):
    """A text, one of the choices where there are any."""

    choices: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Labels(Kind):
    """Distinct texts; ``or_numbers``: the numbers 0, 1, … instead of names."""

    size: Size
    or_numbers: bool = False


@dataclass(frozen=True, kw_only=True)
class Classes(Kind):
    """Distinct categories in ascending order: numbers, truth values or texts."""

    size: Size


@dataclass(frozen=True, kw_only=True)
class ByLabel(Kind):
    """A number per label; ``of`` names the labels, where another value lists them."""

    of: str | None = None
    low: float = -LARGEST
    high: float = LARGEST


class TableKind(Kind):
    """A row of named numbers per label, the same names in all rows."""


class Curves(Kind):
    """Lists of numbers by name: what happened in the iterations of a fit."""


@dataclass(frozen=True, kw_only=True)
class Part(Kind):
    """A fitted estimator that takes rows of ``features`` numbers, and has these methods."""

    features: Size
    can: tuple[str, ...] = ("predict",)


@dataclass(frozen=True, kw_only=True)
class ListOf(Kind):
    """A list of ``size`` values of one kind."""

    kind: Kind
    size: Size


@dataclass(frozen=True, kw_only=True)
class OneOf(Kind):
    """A value of one of several kinds; None where ``or_none``."""

    kinds: tuple[Kind, ...]
    or_none: bool = False


class Flag(Kind):
    """True or False."""


class TypeOfNumbers(Kind):
    """A NumPy type of numbers."""


@dataclass(frozen=True, kw_only=True)
class Held(Kind):
    """An object of a named class that says itself, in ``learns``, what it holds."""

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
    """Declare a value that a fitted model may do without."""
    return replace(kind, optional=True)
