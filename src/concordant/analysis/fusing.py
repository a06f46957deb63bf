"""Fuse the result lists of one query, as a search service does for each request.

A result list is in a form that search engines return: labels, best first (inner lists or sets are ties), a dictionary
``{document: score}``, or pairs ``(document, score)``. Scores define the order, and score-based methods (the Comb
family) use them. Plain lists go directly to the method's ``fuse`` if it has one, which takes a few microseconds.
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

    The result equals that of ranking ``Preferences.from_rankings(lists)`` (with scores: ``from_ratings``), but
    takes microseconds.

    Parameters
    ----------
    lists : iterable of sequences or mappings, or mapping of str to these
        One result list per system: documents, best first (inner lists or sets are ties), ``{"d1": 0.9}`` or
        ``[("d1", 0.9)]``; scores determine the order. A method trained on labels takes one list per agent of
        its training data, in their order and empty for absent ones, or lists by name:
        ``{"bm25": [...], "dense": [...]}``.
    method : str or Method, default 'rrf'
        Name of a method, a method object, or a trained method from ``cc.load``.
    weights : sequence of float, optional
        Number of times that each list counts; 1 if not given.
    **params : object
        Hyper-parameters of a method given by name.

    Returns
    -------
    Ranking
        The fused list with scores.

    Raises
    ------
    InputError
        If a list is malformed.
    NeedError
        If the method needs scores and a list has none.

    Examples
    --------
    >>> import concordant as cc
    >>> cc.fuse([["d1", "d2", "d3"], ["d2", "d1"]]).items
    ['d1', 'd2', 'd3']
    >>> cc.fuse([{"d1": 0.9, "d2": 0.2}, {"d2": 0.8}], "combmnz").items
    ['d2', 'd1']
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
    """Fuse lists with scores, ties or errors, or by methods without a fast ``fuse`` (``direct``)."""
    lists = [row.tolist() if isinstance(row, np.ndarray) else row for row in lists]
    scored = [_scores(row, result_list) for row, result_list in enumerate(lists, 1)]
    are_scored = any(scored) and all(
        scores is not None or not len(result_list) for scores, result_list in zip(scored, lists, strict=True)
    )
    if direct is not None or not are_scored:
        lists = [
            result_list if scores is None else _tiers(scores) for scores, result_list in zip(scored, lists, strict=True)
        ]
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
        row = next(row for row, scores in enumerate(scored, 1) if scores is None)
        raise NeedError(
            f"{method.name} needs scores, but list {row} has none: give every list as {{document: score}} or as "
            "(document, score) pairs, or fuse by rank with 'rrf'."
        ) from None


def _listed(lists: object) -> list[Any]:
    """Return the result lists as a list; reject anything else."""
    if isinstance(lists, (str, bytes, Mapping)) or not isinstance(lists, Iterable):
        raise InputError(f"fuse() takes a list of result lists, not {type(lists).__name__}: {_HOW}.")
    return lists if isinstance(lists, list) else list(lists)


def _method(method: str | Method, params: dict[str, object]) -> Method:
    """Return the method by name and parameters, or the given object."""
    if not isinstance(method, str):
        if params:
            raise InputError("Pass hyper-parameters to the method object, not to fuse().")
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
    """Return one weight per list, all 1 by default."""
    if weights is None:
        return _ones(n)
    try:
        weight = np.array(weights, np.float64)
    except (TypeError, ValueError):
        shown = arg("weights", shown=shorten(repr(weights)))
        raise InputError(shown + " are not numbers: give one number per list.") from None
    if weight.shape != (n,):
        raise InputError(f"There are {weight.size} weights for {n} lists: give one number per list.")
    if bad_weights(weight).any() or not weight.any():
        raise InputError(f"Each weight must be {WEIGHTS}, and at least one weight must be above 0.")
    return weight


def _scores(row: int, result_list: object) -> dict[Any, float] | None:
    """Return the scores of a list by document; None without scores. Reject anything but a result list."""
    if isinstance(result_list, Mapping):
        scored = dict(result_list)
    elif isinstance(result_list, (list, tuple)):
        if not result_list or not any(_is_pair(entry) for entry in result_list):
            return None
        if not all(_is_pair(entry) for entry in result_list):
            raise InputError(f"List {row} mixes (document, score) pairs with labels: give every document a score.")
        scored = dict(result_list)
        if len(scored) < len(result_list):
            labels = [label for label, _ in result_list]
            twice = next(label for k, label in enumerate(labels) if label in labels[:k])
            raise InputError(f"List {row} contains {shorten(str(twice))!r} twice: list each item only once.")
    else:
        raise InputError(f"List {row} is {shorten(repr(result_list))}, which is not a result list: {_HOW}.")
    values, first_bad = kernels.list_numbers(list(scored.values()))
    if first_bad >= 0 or not are_numbers(values):
        _check_scores(row, scored)
    return scored


def _check_scores(row: int, scored: Mapping[Any, object]) -> None:
    """Reject scores that are not finite numbers; NumPy numbers are accepted."""
    for label, score in scored.items():
        if not isinstance(score, numbers.Real) or bad_numbers(float(score)):
            raise InputError(
                f"The score of {shorten(str(label))!r} in list {row} is {shorten(repr(score))}: give {NUMBERS}."
            )


def _is_pair(entry: object) -> bool:
    """Return whether an entry is (document, score); two integers are a tie."""
    if not isinstance(entry, tuple) or len(entry) != 2 or isinstance(entry[1], (str, bool)):
        return False
    return isinstance(entry[1], numbers.Real) and (
        isinstance(entry[0], str) or not isinstance(entry[1], numbers.Integral)
    )


def _tiers(scored: Mapping[Any, float]) -> list[Any]:
    """Return the documents, best first; equal scores are ties."""
    best_first = sorted(scored, key=scored.__getitem__, reverse=True)
    if len(set(scored.values())) == len(scored):
        return best_first
    tiers: dict[float, list[Any]] = {}
    for label in best_first:
        tiers.setdefault(scored[label], []).append(label)
    return list(tiers.values())


def _rated(scored: list[dict[Any, float] | None], weight: Floats) -> Preferences:
    """Build preferences from lists with scores."""
    lists = [scores or {} for scores in scored]
    item = [label for scores in lists for label in scores]
    score = np.array([value for scores in lists for value in scores.values()], np.float64)
    agent = np.repeat(np.arange(len(lists)), [len(scores) for scores in lists])
    parts = build.gather_rows(item, score, scale="rating", agent=agent, weight=weight[agent])
    return Preferences(**{**parts, "form": "rankings"})


def _ranked(lists: list[Any], weight: Floats) -> Preferences:
    """Build preferences from lists without scores, best first."""
    codes, labels, indptr, tier, bad = kernels.encode_lists(lists)
    if bad != -1:
        return Preferences.from_rankings(lists, weight=weight)
    if not labels:
        raise InputError("There is nothing to fuse: every list is empty.")
    ballot, entry = kernels.find_repeated(indptr, codes, len(labels))
    if ballot >= 0:
        twice = shorten(labels[codes[entry]])
        raise InputError(f"List {ballot + 1} contains {twice!r} twice: list each item only once.")
    if not (weight == 1.0).all():
        return Preferences(Vocabulary(labels), indptr, codes, tier, weight=weight, form="rankings")
    return Preferences.unchecked(Vocabulary(labels), indptr, codes, tier)
