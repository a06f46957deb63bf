"""When Lehmer codes recover the centre of a Mallows model: the range of phi, and the number of ballots.

For ballots drawn independently from a Mallows model with dispersion phi over n items, the order decoded from the modes
or medians of the coordinates is the centre, with probability at least 1 - delta, if

    mode     q = phi + phi² - phi^n < 1   and   N >= 2 log(n² / (2 delta)) / ((1 - q) (1 - phi)³)²
    median   phi < 1/2                    and   N >= 2 log(2 n / delta) / (1 - 2 phi)²

for any reference order of the code. The ranges are those of the theorems of Li, Mazumdar and Milenkovic (AISTATS 2017).
The numbers of ballots follow from Hoeffding's inequality and a union bound. For the median: the chance that a
coordinate lies above its true value is at most phi, and so is the chance that it lies below. For the mode: the true
value of a coordinate is more likely than each other value by at least (1 - q) (1 - phi)³. This gap was checked, not
proven: by enumeration of all codes up to 7 items, and for complete codes up to 40 items. The numbers are sufficient,
not necessary: on simulated data far fewer ballots are enough.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from concordant import views
from concordant.errors import ParameterError, arg
from concordant.preferences import Preferences
from concordant.types import Int64s

STATISTICS = ("mode", "median")
MANY = 2_000  # items beyond which pairs are not counted unasked
HALVINGS = 60


@dataclass(frozen=True)
class Recovery:
    """Whether theorems guarantee that Lehmer codes find the centre of these data."""

    statistic: str
    n_items: int
    n_ballots: float
    phi: float
    max_phi: float
    """The upper end of the range of phi in which the centre is recovered from enough ballots."""
    needed: float
    """The number of ballots that is sufficient; infinite out of range."""
    delta: float

    @property
    def is_in_range(self) -> bool:
        """Whether phi is small enough for the theorem."""
        return self.phi < self.max_phi

    @property
    def is_guaranteed(self) -> bool:
        """Whether phi is in range and there are enough ballots."""
        return self.is_in_range and self.n_ballots >= self.needed

    @property
    def verdict(self) -> str:
        """The conclusion for these data, in a few words."""
        if not self.is_in_range:
            return f"out of range (phi < {self.max_phi:.3f})"
        enough = "" if self.is_guaranteed else ", but too few ballots for the guarantee"
        return f"in range (phi < {self.max_phi:.3f}; {self.needed:,.0f} ballots are sufficient){enough}"

    def __str__(self) -> str:
        return (
            f"Recovery of a Mallows centre by the {self.statistic} of Lehmer codes, {self.n_ballots:,.6g} ballots with "
            f"phi = {self.phi:.3f}: {self.verdict}."
        )


def lehmer_recovery(
    n_items: int, n_ballots: float, phi: float, *, statistic: str = "mode", delta: float = 0.05
) -> Recovery:
    """Return whether the theorems on Lehmer codes apply to ballots from a Mallows model.

    Parameters
    ----------
    n_items : int
        Number of items.
    n_ballots : float
        Number of ballots.
    phi : float
        Dispersion of the Mallows model: 0 if all ballots agree, 1 if all orders are equally likely.
    statistic : {"mode", "median"}, default "mode"
        Statistic of each coordinate.
    delta : float, default 0.05
        Accepted probability that the centre is not recovered.

    Returns
    -------
    Recovery
        Range of phi, sufficient number of ballots, and whether these data satisfy both; prints as a sentence.
    """
    if statistic not in STATISTICS:
        raise ParameterError(arg("statistic", statistic) + " is not valid: use 'mode' or 'median'.")
    if not (n_items >= 1 and n_ballots >= 0 and 0 <= phi <= 1 and 0 < delta < 1):
        raise ParameterError(
            "n_items must be at least 1, n_ballots at least 0, phi between 0 and 1, and delta above 0 and below 1, got "
            f"{n_items}, {n_ballots}, {phi:g} and {delta:g}."
        )
    largest = 0.5 if statistic == "median" else max_mode_phi(n_items)
    needed = _needed(n_items, phi, statistic, delta) if phi < largest else math.inf
    return Recovery(statistic, n_items, n_ballots, phi, largest, needed, delta)


def max_mode_phi(n_items: int) -> float:
    """Return the smallest phi with phi + phi² >= 1 + phi^n: 1 for up to 3 items, then towards 0.618."""
    if n_items <= 3:
        return 1.0
    low, high = 0.5, 1.0 - 1e-9  # 1 is a root as well
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if middle + middle**2 < 1 + middle**n_items else (low, middle)
    return low


def _needed(n: int, phi: float, statistic: str, delta: float) -> float:
    """Return the number of ballots that is sufficient for phi in range."""
    if n < 2:
        return 1.0
    if statistic == "median":
        return max(1.0, math.ceil(2 * math.log(2 * n / delta) / (1 - 2 * phi) ** 2))
    gap = (1 - (phi + phi**2 - phi**n)) * (1 - phi) ** 3
    return max(1.0, math.ceil(2 * math.log(max(n * n / (2 * delta), 1.0)) / gap**2)) if gap > 1e-100 else math.inf


def recovery_of(
    prefs: Preferences, statistic: str = "mode", *, order: Int64s | None = None, delta: float = 0.05
) -> Recovery | None:
    """Return the ``Recovery`` of complete rankings without ties of a single set of items; None for other preferences.

    phi is the maximum-likelihood estimate around ``order`` (slots, best first), by default the Borda order.
    """
    n = prefs.n_slots
    if prefs.n_instances > 1 or not 3 <= n <= MANY or not prefs.n_ballots:
        return None
    if not (np.diff(prefs.indptr) == n).all() or len(views.tiers(prefs).ballot) < len(prefs.item):
        return None
    wins = views.win_matrices(prefs, "ignore").matrix(0)
    if order is None:
        order = np.argsort(-wins.sum(axis=1), kind="stable")
    wins = wins[np.ix_(order, order)]
    weight = float(prefs.weight.sum())
    phi = mallows_phi(n, float(np.tril(wins, -1).sum()) / weight)
    return lehmer_recovery(n, weight, phi, statistic=statistic, delta=delta)


def mallows_phi(n_items: int, distance: float) -> float:
    """Return the phi with this mean Kendall distance to the centre; 1 if the distance is that of random rankings."""
    if distance >= n_items * (n_items - 1) / 4:
        return 1.0
    places, low, high = np.arange(1, n_items + 1), 0.0, 1.0
    for _ in range(HALVINGS):
        phi = (low + high) / 2
        powers = phi**places
        expected = float((phi / (1 - phi) - places * powers / (1 - powers)).sum())
        low, high = (phi, high) if expected < distance else (low, phi)
    return (low + high) / 2
