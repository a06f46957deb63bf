"""Covariate effects: coefficients with their standard errors, as a table and as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from math import erfc, sqrt
from typing import Any

from concordant.support.text import format_p, interval_cells, interval_heading, number_format


@dataclass(frozen=True)
class Coefficient:
    """The effect of one unit of a covariate on the strength of an item or answer, on the scale of the scores.

    ``spread`` is the standard deviation of the covariate within ballots, in its own unit (0: it never differs);
    standard errors are None if they were not requested. Every instance has separate coefficients.
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

    def times(self, factor: float) -> Coefficient:
        """Return the coefficient in another unit of the scores, ``factor`` times as large."""
        stderr, low, high = (None if part is None else factor * part for part in (self.stderr, self.low, self.high))
        return replace(self, value=factor * self.value, stderr=stderr, low=low, high=high)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        return {**asdict(self), "z": self.z, "p": self.p, "per_deviation": self.per_deviation}


def header_of(level: object = 0.95) -> tuple[str, ...]:
    """Return the header of the table of covariate effects; all columns but the first are numbers."""
    return ("covariate", "coefficient", "std. error", interval_heading(level), "z", "p", "effect per SD")


def rows_of(coefficients: Sequence[Coefficient]) -> list[list[str]]:
    """Return the rows of the table of covariate effects; each row has its own number format."""
    return [_row(coefficient) for coefficient in coefficients]


def _row(coefficient: Coefficient) -> list[str]:
    """Return one row of the table; cells about uncertainty are empty without standard errors."""
    value, error, z, p = coefficient.value, coefficient.stderr, coefficient.z, coefficient.p
    ends = [end for end in (coefficient.low, coefficient.high) if end is not None]
    write = number_format([value], ends)
    return [
        coefficient.name,
        write(value),
        "" if error is None else number_format([error])(error),
        interval_cells(ends[:1], ends[1:], write)[0] if len(ends) == 2 else "",
        "" if z is None else f"{z:.2f}",
        "" if p is None else format_p(p),
        f"{coefficient.per_deviation:+.3f}",
    ]
