"""The functions of the public face: rank, compare, fuse."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from concordant import kernels, registry
from concordant.errors import InputError
from concordant.preferences import Preferences
from concordant.vocabulary import Vocabulary, shorten

if TYPE_CHECKING:
    from concordant.method import Method
    from concordant.ranking import Ranking

# The default method by form of the preferences; several instances with agents go to rank fusion.
DEFAULTS = {
    "pairs": "bradley-terry",
    "choices": "plackett-luce",
    "top-k": "plackett-luce",
    "approvals": "approval",
    "ratings": "borda",
    "rankings": "borda",
}


def default_method(prefs: Preferences) -> str:
    """Return the name of the method ``rank`` uses when none is named."""
    if prefs.instances is not None and len(prefs.instances) > 1 and prefs.agents is not None:
        return "rrf"
    return DEFAULTS.get(prefs.form, "borda")


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
