"""The function most people need: rank."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from concordant.preferences import Preferences

if TYPE_CHECKING:
    from concordant.method import Method
    from concordant.ranking import Ranking

MANY_TIES = 0.05  # share of tied pairs above which a model of draws is the default


@dataclass(frozen=True)
class Default:
    """One row of the table of defaults: which form, when, which method, and why."""

    form: str
    when: str
    method: str
    reason: str
    applies: Callable[[Any], bool] = lambda _: True


class Summed(NamedTuple):
    """Ballots of which only sums are kept, or none yet: their form, in one instance."""

    form: str
    sums: Any = None
    n_instances: int = 1


# By form first, then by instances: the first row that holds. Pairs are never fused by rank.
DEFAULTS = (
    Default(
        "pairs", "more than 5% tie", "davidson", "pairs, many of them tied", lambda prefs: _tied(prefs) > MANY_TIES
    ),
    Default("pairs", "", "bradley-terry", "pairs"),
    Default("choices", "", "plackett-luce", "choices from what was on offer"),
    Default("top-k", "", "plackett-luce", "first places with the rest left open"),
    Default("approvals", "", "approval", "ballots of two levels"),
    Default("ratings", "all ratings are equal", "approval", "ratings that are all equal", lambda prefs: _equal(prefs)),
    Default("ratings", "", "mpm", "ratings"),
    Default(
        *("teams", "more than two in a match", "plackett-luce", "matches between teams"),
        lambda prefs: prefs.team is not None and prefs.team.max() > 1,
    ),
    Default("teams", "", "bradley-terry", "matches between two teams"),
    Default(
        "rankings",
        "the same agents rank in several instances",
        "rrf",
        "ranked lists of the same agents in several instances",
        lambda prefs: prefs.n_instances > 1 and prefs.n_agents is not None and prefs.n_agents < prefs.n_ballots,
    ),
    Default("rankings", "", "borda", "rankings"),
)


def default_choice(prefs: Preferences | Summed) -> Default:
    """Return the row of the table of defaults that fits these preferences."""
    return next((row for row in DEFAULTS if row.form == prefs.form and row.applies(prefs)), DEFAULTS[-1])


def default_method(prefs: Preferences) -> str:
    """Return the name of the method ``rank`` uses when none is named."""
    return default_choice(prefs).method


def _tied(prefs: Preferences) -> float:
    """Return the share of tied duels, by weight."""
    is_tie = prefs.tier[0::2] == prefs.tier[1::2]
    if prefs.has_unit_weights:
        return float(is_tie.mean())
    return float(prefs.weight[is_tie].sum() / prefs.weight.sum())


def _equal(prefs: Preferences | Summed) -> bool:
    """Return whether all ratings are the same, as in a file that lists only approved items."""
    value = prefs.value if isinstance(prefs, Preferences) else None
    return value is not None and bool((value == value[0]).all())


def rank(
    prefs: Preferences | Any, method: str | Method | None = None, *, min_ballots: float | None = None, **params: object
) -> Ranking:
    """Rank the candidates of every instance by a method (a name or an object), by default one that fits the form.

    A DataFrame is read as ``Preferences.from_frame`` reads it, with its options. With ``min_ballots`` items on fewer
    ballots are left out first; a warning of the ranking says how many. Files, folders and patterns
    (``"votes/*.parquet"``) are read as ``cc.read`` does, with its options, and reduced to counts where the method
    allows, by ``workers`` processes or on a Dask ``cluster`` if such are named.
    """
    from concordant.request import Request

    return Request.of(prefs, method, params, min_ballots=min_ballots).run().ranking
