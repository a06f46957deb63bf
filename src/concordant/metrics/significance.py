"""Paired significance tests of differences between systems, over queries.

The paired t-test compares the mean difference with its standard error. The paired randomisation test computes how often
the mean difference would be at least as large if the values of the two systems were swapped at random on every query;
with up to 12 queries all assignments are enumerated, with more they are sampled. Testing several systems against one
baseline increases the probability of false positives: Holm's correction multiplies the k-th smallest of m p-values by
m - k + 1 and keeps them non-decreasing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
from numpy.typing import ArrayLike

from concordant.errors import InputError, ParameterError, UnknownNameError, arg, suggest
from concordant.metrics.evaluating import mean
from concordant.support import progress, special
from concordant.support.text import display_width, format_p, padded
from concordant.types import Floats

_EXACT_QUERIES = 12
_CHUNK = 4_000_000
# Relative spreads below this are rounding errors.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class SystemRow:
    """Comparison of one system with the baseline."""

    system: str
    mean: float
    difference: float
    p: float
    p_holm: float
    significant: bool


@dataclass(frozen=True)
class SystemComparison(Sequence[SystemRow]):
    """Comparison of all systems with the baseline, which comes first; prints as a table."""

    rows: tuple[SystemRow, ...]
    baseline: str
    test: str
    alpha: float

    @overload
    def __getitem__(self, index: int) -> SystemRow: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[SystemRow, ...]: ...
    def __getitem__(self, index: int | slice) -> SystemRow | tuple[SystemRow, ...]:
        return self.rows[index]

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"SystemComparison({len(self.rows):,} systems, baseline={self.baseline!r}, test={self.test!r})"

    def __iter__(self) -> Iterator[SystemRow]:
        return iter(self.rows)

    def __str__(self) -> str:
        """Return a table with a row per system; * marks significant differences."""
        width = max(len("system"), *(display_width(row.system) for row in self.rows))
        lines = [f"{'system':<{width}}  {'mean':>8}  {'diff':>8}  {'p':>8}  {'p Holm':>8}"]
        for row in self.rows:
            mark = " *" if row.significant else ""
            numbers = f"{row.mean:8.4f}  {row.difference:+8.4f}  {format_p(row.p):>8}  {format_p(row.p_holm):>8}"
            lines.append(f"{padded(row.system, width)}  {numbers}{mark}")
        return "\n".join([*lines, f"* differs from {self.baseline} ({self.test} test, Holm, level {self.alpha:g})"])


def compare_systems(
    values: Mapping[str, ArrayLike],
    baseline: str | None = None,
    test: str = "t",
    seed: int | np.random.Generator = 0,
    *,
    alpha: float = 0.05,
    rounds: int = 10_000,
) -> SystemComparison:
    """Test the differences between several systems and a baseline over queries.

    Queries that the metric skips (NaN) for one of the two systems are left out of their comparison.

    Parameters
    ----------
    values : mapping of str to array-like
        Values of a metric by system, one per query, in the same order.
    baseline : str, optional
        Name of the baseline; the first system if not given.
    test : {'t', 'randomisation'}, default 't'
        Paired t-test or paired randomisation test.
    seed : int or numpy.random.Generator, default 0
        Seed for the randomisation test.
    alpha : float, default 0.05
        Significance level of the adjusted p-values.
    rounds : int, default 10000
        Number of random assignments of the randomisation test.

    Returns
    -------
    SystemComparison
        Mean, difference, p-value and adjusted p-value (Holm) of every system.

    Examples
    --------
    >>> from concordant import metrics
    >>> table = metrics.compare_systems({"bm25": [0.2, 0.4, 0.3], "dense": [0.5, 0.6, 0.4]})
    >>> table[1].system, round(table[1].difference, 3)
    ('dense', 0.2)
    """
    by_system = {name: _per_query(name, system_values) for name, system_values in values.items()}
    if len(by_system) < 2:
        raise InputError("There is nothing to compare: give the values of at least two systems.")
    baseline = next(iter(by_system)) if baseline is None else baseline
    if baseline not in by_system:
        hint = suggest(baseline, list(by_system)) or f" Use one of {', '.join(by_system)}."
        raise UnknownNameError(f"There is no system named {baseline!r} to be the baseline.{hint}")
    for name, system_values in by_system.items():
        if len(system_values) != len(by_system[baseline]):
            raise InputError(
                f"System {name!r} has {len(system_values)} values but {baseline!r} has {len(by_system[baseline])}: "
                "give one value per query, in the same order."
            )
    _check_test(test, alpha, rounds)
    # One seed for all systems: a p-value does not depend on which other systems are compared.
    drawn = int(np.random.default_rng(seed).integers(2**63))
    others = [name for name in by_system if name != baseline]
    differences = {name: _differences(by_system[name], by_system[baseline]) for name in others}
    p_values = [
        paired_t_test(differences[name]) if test == "t" else randomisation_test(differences[name], drawn, rounds=rounds)
        for name in others
    ]
    rows = [SystemRow(baseline, mean(by_system[baseline]), 0.0, 1.0, 1.0, False)]
    for name, p, corrected in zip(others, p_values, holm(p_values), strict=True):
        rows.append(SystemRow(name, mean(by_system[name]), mean(differences[name]), p, corrected, corrected < alpha))
    return SystemComparison(tuple(rows), baseline, test, alpha)


def paired_t_test(differences: ArrayLike) -> float:
    """Return the two-sided p-value of the paired t-test.

    Parameters
    ----------
    differences : array-like of float
        Differences between two systems, one per query.

    Returns
    -------
    float
        The p-value: 1 for fewer than two queries or if nothing differs, 0 if all differences are equal and not 0.
    """
    difference = np.asarray(differences, np.float64)
    n = len(difference)
    if n < 2:
        return 1.0
    spread = float(difference.std(ddof=1))
    largest = float(np.abs(difference).max())
    if spread <= _ROUNDING * largest:
        return 0.0 if largest > 0 else 1.0
    t = abs(float(difference.mean())) / (spread / np.sqrt(n))
    if n > special.MAX_SUM:
        from scipy.special import stdtr

        return min(1.0, 2 * float(stdtr(n - 1, -t)))
    return min(1.0, 2 * special.student_tail(float(t), n - 1))


def randomisation_test(differences: ArrayLike, seed: int | np.random.Generator = 0, *, rounds: int = 10_000) -> float:
    """Return the two-sided p-value of the paired randomisation test, exact for up to 12 queries.

    Parameters
    ----------
    differences : array-like of float
        Differences between two systems, one per query.
    seed : int or numpy.random.Generator, default 0
        Seed for the random assignments.
    rounds : int, default 10000
        Number of random assignments.

    Returns
    -------
    float
        The p-value.
    """
    difference = np.asarray(differences, np.float64)
    n = len(difference)
    if n < 2:
        return 1.0
    # Sums in another order differ in the last digits: a sum this close counts as being as extreme as the observed one.
    threshold = abs(float(difference.sum())) - _ROUNDING * float(np.abs(difference).sum())
    if n <= _EXACT_QUERIES:
        coins = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
        return float((_flipped(difference, coins) >= threshold).mean())
    random = np.random.default_rng(seed)
    step = max(_CHUNK // n, 1)
    extreme = 0
    for start in progress.steps(range(0, rounds, step), "randomisation test"):
        size = (min(step, rounds - start), n)
        extreme += int((_flipped(difference, random.integers(0, 2, size, np.int8)) >= threshold).sum())
    return (1 + extreme) / (1 + rounds)


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust p-values for multiple comparisons by Holm's method.

    Parameters
    ----------
    p_values : array-like of float
        The p-values.

    Returns
    -------
    list of float
        Adjusted p-values, in the same order.

    Examples
    --------
    >>> from concordant import metrics
    >>> metrics.holm([0.01, 0.04])
    [0.02, 0.04]
    """
    raw = np.asarray(p_values, np.float64)
    order = np.argsort(raw, kind="stable")
    corrected = np.empty(len(raw))
    corrected[order] = np.maximum.accumulate(raw[order] * np.arange(len(raw), 0, -1))
    return [float(p) for p in np.minimum(corrected, 1.0)]


def _flipped(difference: Floats, coins: np.ndarray) -> Floats:
    """Return the absolute sum of the differences with signs flipped where the coin is 1, for every row of coins."""
    flipped: Floats = np.abs(difference.sum() - 2 * (coins @ difference))
    return flipped


def _differences(first: Floats, second: Floats) -> Floats:
    """Return the differences of two systems by query, without skipped queries; rounding errors become 0."""
    difference = first - second
    difference = difference[~np.isnan(difference)]
    # Differences smaller than the rounding of the values count as 0.
    scale = max(float(np.nanmax(np.abs(first), initial=0.0)), float(np.nanmax(np.abs(second), initial=0.0)))
    return np.where(np.abs(difference) <= _ROUNDING * scale, 0.0, difference)


def _per_query(name: str, raw: ArrayLike) -> Floats:
    """Return the values of a system as an array, one per query, or raise InputError."""
    values = np.asarray(raw, np.float64)
    if values.ndim != 1 or not len(values):
        raise InputError(f"System {name!r} has no values per query: give a one-dimensional array of them.")
    if np.isinf(values).any():
        raise InputError(f"System {name!r} has an infinite value: give finite values, or NaN for a skipped query.")
    return values


def _check_test(test: str, alpha: float, rounds: int) -> None:
    """Raise ParameterError if the test, the level or the number of rounds is invalid."""
    if test not in ("t", "randomisation"):
        raise ParameterError(arg("test", test) + " is not valid: use 't' or 'randomisation'.")
    if not 0 < alpha < 1:
        raise ParameterError(arg("alpha", alpha) + " is out of range: give a number between 0 and 1.")
    if rounds < 1:
        raise ParameterError(arg("rounds", rounds) + " is out of range: give a whole number of at least 1.")
