"""Covariate effects: coefficients with their standard errors, as a table and as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import erfc, sqrt
from typing import Any

from concordant.support.text import format_p, number_format

HEADER = ("covariate", "coefficient", "stderr", "interval", "z", "p", "per deviation")
"""The header of the table of coefficients; all columns but the first are numbers."""


@dataclass(frozen=True)
class Coefficient:
    """The effect of one unit of a covariate on the strength of an item or answer, on the scale of the scores.

    ``spread`` is the standard deviation of the covariate within ballots, in its own unit (0: it never differs); errors
    are None if they were not requested. Every instance has separate coefficients.
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
        """The z statistic: the coefficient divided by its standard error."""
        return self.value / self.stderr if self.stderr else None

    @property
    def p(self) -> float | None:
        """The two-sided p-value of the hypothesis that the coefficient is zero (normal)."""
        return None if self.z is None else erfc(abs(self.z) / sqrt(2))

    @property
    def per_deviation(self) -> float:
        """The effect of one standard deviation of the covariate on the strength."""
        return self.value * self.spread

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        return {**asdict(self), "z": self.z, "p": self.p, "per_deviation": self.per_deviation}


def rows_of(coefficients: Sequence[Coefficient]) -> list[list[str]]:
    """Return the rows of the table; each coefficient is rounded according to its standard error."""
    rows = []
    for coefficient in coefficients:
        write = number_format(
            [coefficient.value, *(end for end in (coefficient.low, coefficient.high) if end is not None)]
        )
        has_errors = coefficient.stderr is not None and coefficient.low is not None and coefficient.high is not None
        rows.append(
            [
                coefficient.name,
                write(coefficient.value),
                number_format([coefficient.stderr])(coefficient.stderr)
                if has_errors and coefficient.stderr is not None
                else "",
                f"{write(coefficient.low)} … {write(coefficient.high)}"
                if coefficient.low is not None and coefficient.high is not None
                else "",
                "" if coefficient.z is None else f"{coefficient.z:.2f}",
                "" if coefficient.p is None else format_p(coefficient.p),
                f"{coefficient.per_deviation:+.3f}",
            ]
        )
    return rows
