"""How certain a result is: intervals and further columns in slot order, and named warnings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from concordant.errors import Sentence
from concordant.support.frozen import FrozenParts
from concordant.types import AnyArray, Floats


@dataclass(frozen=True)
class Notice:
    """A named warning about a result: statistical trouble that a reader must know of, with the items concerned."""

    name: str
    text: str
    items: tuple[str, ...] = ()

    def __str__(self) -> str:
        return Sentence(self.name, ": ", self.text)


@dataclass(frozen=True, eq=False)
class Uncertainty(FrozenParts):
    """How sure a result is, in slot order: ends of the score intervals, further columns, and trouble in finding them.

    What takes time is found when first asked for: any object with such a function ``known`` can stand in its place.
    """

    low: Floats | None = None
    high: Floats | None = None
    details: Mapping[str, AnyArray] = field(default_factory=dict)
    warnings: tuple[Notice, ...] = ()
    apart: Callable[[int], Floats | None] | None = None
    """Standard errors of the differences between one slot and all of its instance, where scores are jointly known.

    NaN where two scores cannot be compared.
    """

    def known(self) -> Uncertainty:
        """Return what there is to know."""
        return self


class Uncertain(Protocol):
    """What can say how sure a result is."""

    def known(self) -> Uncertainty:
        """Find it out, or return what was found before."""
