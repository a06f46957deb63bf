"""Fuse the result lists of one query, as a search service does on every request.

A result list is what engines and libraries hand out: labels best first (inner lists or sets are ties), a dictionary
``{document: score}``, or pairs ``(document, score)``. Scores decide the order; methods that use scores (the Comb
family) get them. Plain lists go to a method's own ``fuse`` where it has one, in a few microseconds.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from concordant import kernels, registry
from concordant.ballots import build
from concordant.ballots.vocabulary import Vocabulary, shorten
from concordant.errors import InputError, NeedError, arg
from concordant.preferences import Preferences
from concordant.support.limits import NUMBERS, WEIGHTS, are_numbers, bad_numbers, bad_weights
from concordant.types import Floats

if TYPE_CHECKING:
    from concordant.method import Method
    from concordant.ranking import Ranking

Results: TypeAlias = Sequence[object] | Mapping[str, float]
_HOW = "write each best first, like ['d1', 'd2'], or with scores, like {'d1': 0.9} or [('d1', 0.9)]"


def fuse(
    lists: Iterable[Results] | Mapping[str, Results],
    method: str | Method = "rrf",
    *,
    weights: Sequence[float] | None = None,
    **params: object,
) -> Ranking:
    """Fuse the result lists of one query.

    Each list stands best first (inner lists or sets are ties), or has scores that decide the order: ``{"d1": 0.9}`` or
    ``[("d1", 0.9)]``. ``weights`` says how many times each list counts. The same as ranking
    ``Preferences.from_rankings(lists)`` (with scores: ``from_ratings``), but as fast as a hand-written loop.

    A method that learnt from labels (``cc.load("model.cc")``) takes a list per agent it was trained on, in that order
    and empty for those that are silent, or lists by name: ``{"bm25": [...], "dense": [...]}``.
    """
    chosen = _method(method, params)
    if isinstance(lists, Mapping) and hasattr(chosen, "arranged"):
        lists = chosen.arranged(lists)
    lists = _listed(lists)
    weight = _weights(weights, len(lists))
    direct = getattr(chosen, "fuse", None)
    ranking: Ranking | None = None if direct is None else direct(lists, weight)
    return _fuse_scored(lists, chosen, direct, weight) if ranking is None else ranking


def _fuse_scored(lists: list[Any], method: Method, direct: Any, weight: Floats) -> Ranking:
    """Fuse lists that need a closer look: with scores, ties or mistakes, or for methods without a direct way."""
    lists = [one.tolist() if isinstance(one, np.ndarray) else one for one in lists]
    scored = [_scores(row, given) for row, given in enumerate(lists, 1)]
    are_scored = any(scored) and all(
        one is not None or not len(given) for one, given in zip(scored, lists, strict=True)
    )
    if direct is not None or not are_scored:
        lists = [given if one is None else _tiers(one) for one, given in zip(scored, lists, strict=True)]
        if direct is not None and any(scored) and (ranking := direct(lists, weight)) is not None:
            return ranking  # type: ignore[no-any-return]
    of_agents = getattr(method, "preferences_of", None)
    if of_agents is not None:
        return method.rank(of_agents(lists, weight))
    prefs = _rated(scored, weight) if are_scored else _ranked(lists, weight)
    try:
        return method.rank(prefs)
    except NeedError:
        if prefs.value is not None or "values" not in method.needs:
            raise
        row = next(row for row, one in enumerate(scored, 1) if one is None)
        raise NeedError(
            f"{method.name} needs scores and list {row} has none: give every list as {{document: score}} or as "
            "(document, score) pairs, or fuse by rank with 'rrf'."
        ) from None


def _listed(lists: object) -> list[Any]:
    if isinstance(lists, (str, bytes, Mapping)) or not isinstance(lists, Iterable):
        raise InputError(f"fuse() takes a list of result lists, not {type(lists).__name__}: {_HOW}.")
    return lists if isinstance(lists, list) else list(lists)


def _method(method: str | Method, params: dict[str, object]) -> Method:
    if not isinstance(method, str):
        if params:
            raise InputError("Give hyper-parameters to the method object itself, not to fuse().")
        return method
    return _made(method, tuple(sorted(params.items())))


@lru_cache(maxsize=256)
def _made(name: str, params: tuple[tuple[str, object], ...]) -> Method:
    return registry.make(name, **dict(params))


@lru_cache(maxsize=64)
def _ones(n: int) -> Floats:
    weight = np.ones(n)
    weight.flags.writeable = False
    return weight


def _weights(weights: Sequence[float] | None, n: int) -> Floats:
    if weights is None:
        return _ones(n)
    try:
        weight = np.array(weights, np.float64)
    except (TypeError, ValueError):
        given = arg("weights", shown=shorten(repr(weights)))
        raise InputError(given + " are not numbers: give one number per list.") from None
    if weight.shape != (n,):
        raise InputError(f"There are {weight.size} weights for {n} lists: give one number per list.")
    if bad_weights(weight).any() or not weight.any():
        raise InputError(f"A weight is not {WEIGHTS}, or all are 0: give one such number per list.")
    return weight


def _scores(row: int, given: object) -> dict[Any, float] | None:
    """Return the scores of a list by document, None if it has none; complain about what is no result list."""
    if isinstance(given, Mapping):
        scored = dict(given)
    elif isinstance(given, (list, tuple)):
        if not given or not any(_is_pair(one) for one in given):
            return None
        if not all(_is_pair(one) for one in given):
            raise InputError(f"List {row} mixes (document, score) pairs with labels: give every document a score.")
        scored = dict(given)
        if len(scored) < len(given):
            labels = [label for label, _ in given]
            twice = next(label for k, label in enumerate(labels) if label in labels[:k])
            raise InputError(f"List {row} names {shorten(str(twice))!r} twice: each item stands once in a list.")
    else:
        raise InputError(f"List {row} is {shorten(repr(given))}, no result list: {_HOW}.")
    found, odd = kernels.list_numbers(list(scored.values()))
    if odd >= 0 or not are_numbers(found):
        _check_scores(row, scored)
    return scored


def _check_scores(row: int, scored: Mapping[Any, object]) -> None:
    """Refuse scores that are no finite numbers; those of NumPy are."""
    for label, score in scored.items():
        if not isinstance(score, numbers.Real) or bad_numbers(float(score)):
            raise InputError(
                f"The score of {shorten(str(label))!r} in list {row} is {shorten(repr(score))}: give {NUMBERS}."
            )


def _is_pair(one: object) -> bool:
    """Whether an element is (document, score); a tuple of two whole numbers could be a tie and is none."""
    if not isinstance(one, tuple) or len(one) != 2 or isinstance(one[1], (str, bool)):
        return False
    return isinstance(one[1], numbers.Real) and (isinstance(one[0], str) or not isinstance(one[1], numbers.Integral))


def _tiers(scored: Mapping[Any, float]) -> list[Any]:
    """Return the documents best first, those of equal score as a tie."""
    best_first = sorted(scored, key=scored.__getitem__, reverse=True)
    if len(set(scored.values())) == len(scored):
        return best_first
    tiers: dict[float, list[Any]] = {}
    for label in best_first:
        tiers.setdefault(scored[label], []).append(label)
    return list(tiers.values())


def _rated(scored: list[dict[Any, float] | None], weight: Floats) -> Preferences:
    given = [one or {} for one in scored]
    item = [label for one in given for label in one]
    score = np.array([value for one in given for value in one.values()], np.float64)
    agent = np.repeat(np.arange(len(given)), [len(one) for one in given])
    parts = build.gather_rows(item, score, scale="rating", agent=agent, weight=weight[agent])
    return Preferences(**{**parts, "form": "rankings"})


def _ranked(lists: list[Any], weight: Floats) -> Preferences:
    codes, labels, indptr, tier, bad = kernels.encode_lists(lists)
    if bad != -1:
        return Preferences.from_rankings(lists, weight=weight)
    if not labels:
        raise InputError("There is nothing to fuse: every list is empty.")
    ballot, entry = kernels.find_repeated(indptr, codes, len(labels))
    if ballot >= 0:
        twice = shorten(labels[codes[entry]])
        raise InputError(f"List {ballot + 1} names {twice!r} twice: each item stands once in a list.")
    if not (weight == 1.0).all():
        return Preferences(Vocabulary(labels), indptr, codes, tier, weight=weight, form="rankings")
    return Preferences.unchecked(Vocabulary(labels), indptr, codes, tier)
