"""What covariates are worth: coefficients with their errors, as a table and as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import erfc, sqrt
from typing import Any

from concordant.support.text import format_p, number_format

HEADER = ("covariate", "coefficient", "stderr", "interval", "z", "p", "per deviation")
"""Of the table of coefficients; all but the first are numbers."""


@dataclass(frozen=True)
class Coefficient:
    """What one unit of a covariate adds to the strength of what bears it, on the scale of the scores.

    ``spread`` is its standard deviation inside ballots, in its own unit (0: it never differs); errors are None where
    none were asked for. Every instance has coefficients of its own.
    """

    name: str
    value: float
    spread: float
    stderr: float | None = None
    low: float | None = None
    high: float | None = None
    instance: str | None = None

    @property
    def z(self) -> float | None:
        """The coefficient over its standard error."""
        return self.value / self.stderr if self.stderr else None

    @property
    def p(self) -> float | None:
        """The chance of a coefficient as far from zero if it were zero in truth (two-sided, normal)."""
        return None if self.z is None else erfc(abs(self.z) / sqrt(2))

    @property
    def per_deviation(self) -> float:
        """What one standard deviation more adds to the strength."""
        return self.value * self.spread

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        return {**asdict(self), "z": self.z, "p": self.p, "per_deviation": self.per_deviation}


def rows_of(coefficients: Sequence[Coefficient]) -> list[list[str]]:
    """Return the rows of the table, every coefficient with as many digits as its own error asks for."""
    rows = []
    for one in coefficients:
        write = number_format([one.value, *(end for end in (one.low, one.high) if end is not None)])
        known = one.stderr is not None and one.low is not None and one.high is not None
        rows.append(
            [
                one.name,
                write(one.value),
                number_format([one.stderr])(one.stderr) if known and one.stderr is not None else "",
                f"{write(one.low)} … {write(one.high)}" if one.low is not None and one.high is not None else "",
                "" if one.z is None else f"{one.z:.2f}",
                "" if one.p is None else format_p(one.p),
                f"{one.per_deviation:+.3f}",
            ]
        )
    return rows
