"""Uncertainty of a result: intervals and additional columns in slot order, and named warnings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from statistics import NormalDist
from typing import Protocol

import numpy as np

from concordant.errors import Sentence
from concordant.support.brief import Brief
from concordant.support.frozen import FrozenParts
from concordant.support.lazy import LazyMapping
from concordant.types import AnyArray, Floats, Int64s


@dataclass(frozen=True)
class Notice:
    """A named warning about a result: a statistical problem that a reader should know of.

    Attributes
    ----------
    name : str
        Identifier, such as ``"few-ballots"``.
    text : str
        The warning.
    items : tuple of str
        The items concerned.
    """

    name: str
    text: str
    items: tuple[str, ...] = ()

    def __str__(self) -> str:
        return Sentence(self.name, ": ", self.text)


@dataclass(frozen=True, eq=False, repr=False)
class Uncertainty(FrozenParts):
    """The uncertainty of a result in slot order: ends of the score intervals, additional columns, and notices.

    Expensive parts are computed on first access: any object with a method ``known`` can be used instead.
    """

    low: Floats | None = None
    high: Floats | None = None
    details: Mapping[str, AnyArray] = field(default_factory=dict)
    warnings: tuple[Notice, ...] = ()
    apart: Callable[[int], Floats | None] | None = None
    """Standard errors of the differences between one slot and all of its instance, if the joint distribution is known.

    NaN if two scores cannot be compared.
    """

    def __repr__(self) -> str:
        counted = [] if self.low is None else [f"{len(self.low):,} intervals"]
        counted += [f"details: {', '.join(self.details)}"] if self.details else []
        counted += [f"warnings: {', '.join(notice.name for notice in self.warnings)}"] if self.warnings else []
        return f"Uncertainty({'; '.join(counted)})"

    def known(self) -> Uncertainty:
        """Return itself: everything is already computed."""
        return self


class Uncertain(Protocol):
    """An object that provides the uncertainty of a result."""

    def known(self) -> Uncertainty:
        """Return the uncertainty, computed on the first call."""


def critical_value(level: object) -> float:
    """Return the two-sided normal critical value at this confidence level, 95% if it is not known."""
    share = level if isinstance(level, float) and 0 < level < 1 else 0.95
    return NormalDist().inv_cdf((1 + share) / 2)


def single_errors(known: Uncertainty, level: object) -> Floats | None:
    """Return the standard error of every score, from the intervals if it is not given; None without intervals."""
    if known.low is None or known.high is None:
        return None
    if "stderr" in known.details:
        return known.details["stderr"]
    return np.asarray((known.high - known.low) / (2 * critical_value(level)))


def independent_errors(known: Uncertainty, span: slice, slot: int, level: object) -> Floats | None:
    """Return the standard errors of the differences between one slot and all of its instance (``span``).

    The scores are treated as independent; None without intervals.
    """
    error = single_errors(known, level)
    return None if error is None else np.sqrt(error[span] ** 2 + error[slot] ** 2)


@dataclass(frozen=True, eq=False, repr=False)
class PartialUncertainty(Brief):
    """The uncertainty of some slots of a ranking; ``slot_ptr`` delimits the instances."""

    whole: Uncertain
    slots: Int64s | slice
    slot_ptr: Int64s

    def known(self) -> Uncertainty:
        """Return the uncertainty of these slots."""
        whole = self.whole.known()
        low, high = (None if ends is None else ends[self.slots] for ends in (whole.low, whole.high))
        details = LazyMapping({}, {name: partial(self._detail, name) for name in whole.details})
        return Uncertainty(low, high, details, whole.warnings, None if whole.apart is None else self._apart)

    def _apart(self, slot: int) -> Floats | None:
        """Return the standard errors of the differences between a slot and the kept slots of its instance."""
        apart, slots = self.whole.known().apart, np.arange(self.slot_ptr[-1])[self.slots]
        joint = None if apart is None else apart(int(slots[slot]))
        if joint is None:
            return None
        q = int(np.searchsorted(self.slot_ptr, slots[slot], side="right")) - 1
        kept = slots[(slots >= self.slot_ptr[q]) & (slots < self.slot_ptr[q + 1])]
        errors: Floats = joint[kept - int(self.slot_ptr[q])]
        return errors

    def _detail(self, name: str) -> AnyArray:
        return self.whole.known().details[name][self.slots]
