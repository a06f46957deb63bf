"""The functions of the public face: rank, compare, fuse."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from concordant import kernels, registry
from concordant.errors import InputError
from concordant.preferences import Preferences
from concordant.vocabulary import Vocabulary, shorten

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
    holds: Callable[[Preferences], bool] = lambda _: True


# By form first, then by instances: the first row that holds. Pairs are never fused by rank.
DEFAULTS = (
    Default(
        "pairs", "more than 5% tie", "davidson", "pairs, many of them tied", lambda prefs: _tied(prefs) > MANY_TIES
    ),
    Default("pairs", "", "bradley-terry", "pairs"),
    Default("choices", "", "plackett-luce", "choices from what was on offer"),
    Default("top-k", "", "plackett-luce", "first places with the rest left open"),
    Default("approvals", "", "approval", "ballots of two levels"),
    Default("ratings", "", "mpm", "ratings"),
    Default(
        "rankings",
        "the same agents rank in several instances",
        "rrf",
        "ranked lists of the same agents in several instances",
        lambda prefs: prefs.n_instances > 1 and prefs.n_agents is not None and prefs.n_agents < prefs.n_ballots,
    ),
    Default("rankings", "", "borda", "rankings"),
)


def default_choice(prefs: Preferences) -> Default:
    """Return the row of the table of defaults that fits these preferences."""
    return next((row for row in DEFAULTS if row.form == prefs.form and row.holds(prefs)), DEFAULTS[-1])


def default_method(prefs: Preferences) -> str:
    """Return the name of the method ``rank`` uses when none is named."""
    return default_choice(prefs).method


def _tied(prefs: Preferences) -> float:
    """Return the share of tied duels, by weight."""
    is_tie = prefs.tier[0::2] == prefs.tier[1::2]
    return float(prefs.weight[is_tie].sum() / prefs.weight.sum())


def rank(prefs: Preferences, method: str | Method | None = None, **params: object) -> Ranking:
    """Rank the candidates of every instance by a method (a name or an object), by default one that fits the form."""
    if not isinstance(prefs, Preferences):
        raise InputError(
            f"rank() takes Preferences, not {type(prefs).__name__}: make them with cc.read(path), "
            "cc.Preferences.from_rankings(lists) or another from_… constructor."
        )
    if method is None:
        method = default_method(prefs)
    if isinstance(method, str):
        method = registry.make(method, **params)
    elif params:
        raise InputError("Give hyper-parameters to the method object itself, not to rank().")
    return method.rank(prefs)


@lru_cache(maxsize=256)
def _made(name: str, params: tuple[tuple[str, object], ...]) -> Method:
    return registry.make(name, **dict(params))


def fuse(lists: Iterable[Sequence[str]], method: str = "rrf", **params: object) -> Ranking:
    """Fuse the result lists of one query, each best first; inner lists or sets are ties.

    The same as ``rank(Preferences.from_rankings(lists), method)``, but as fast as a hand-written loop.
    """
    lists = list(lists)
    codes, labels, indptr, tier, bad = kernels.encode_lists(lists)
    if bad != -1:
        return rank(Preferences.from_rankings(lists), method, **params)
    if not labels:
        raise InputError("There is nothing to fuse: every list is empty.")
    ballot, entry = kernels.find_repeated(indptr, codes, len(labels))
    if ballot >= 0:
        twice = shorten(labels[codes[entry]])
        raise InputError(f"List {ballot + 1} names {twice!r} twice: each item stands once in a list.")
    prefs = Preferences._trusted(Vocabulary(labels), indptr, codes, tier)
    return _made(method, tuple(sorted(params.items()))).rank(prefs)
