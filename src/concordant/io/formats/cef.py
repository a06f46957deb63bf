"""CEF, the Condorcet Election Format: ``#/Candidates: Ann ; Bob``, then ballots such as ``Ann > Bob = Cy * 42``.

::

    #/Candidates: Ann ; Bob ; Cy     (else the candidates are those on the ballots)
    #/Number of Seats: 2
    #/Implicit Ranking: true         unranked candidates tie for the last place (the default)
    #/Weight Allowed: false          weights after ^ are ignored (the default)
    tag, tag || Ann > Bob ^7 * 42    42 ballots of weight 7
    /EMPTY_RANKING/ * 3

``#`` starts a comment. Names that are not candidates are ignored, and a ballot that names a candidate twice is invalid.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from concordant.io import _elections
from concordant.io._elections import SEATS, TITLE, BadBallotError, Election
from concordant.io._formats import Format
from concordant.io._source import Source
from concordant.preferences import Preferences
from concordant.support.patterns import lazy
from concordant.tables.options import PREFERENCES, Options

_FACT = lazy(r"\s*#/\s*([^:]+?)\s*:\s*(.*?)\s*")
_KNOWN = ("candidates", "number of seats", "implicit ranking", "voting methods", "weight allowed")
_EMPTY = lazy(r"/EMPTY(?:_RANKING)?/", re.IGNORECASE)
_TIMES = lazy(r"(.*?)(?:\^\s*(\d+(?:\.\d+)?)\s*)?(?:\*\s*(\d+)\s*)?")
_SNIFF = lazy(
    rb"^\s*#/\s*(?:candidates|number of seats|implicit ranking|voting methods|weight allowed)\s*:", re.I | re.M
)
_YES = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def _looks_like(head: bytes) -> bool:
    return _SNIFF.search(head) is not None


FORMATS = (
    Format(
        *("cef", (".cvotes", ".cef"), "Condorcet Election Format: Ann > Bob = Cy * 42", (PREFERENCES,)),
        module=__name__,
        sniff=_looks_like,
    ),
)


def read(sources: Sequence[Source], options: Options) -> Preferences:
    """Read elections; each of several files is one instance."""
    return _elections.preferences(sources, options, "CEF files", _read, "CEF")


def _read(election: Election) -> None:
    """Read the facts, then the ballots, of one file."""
    facts: dict[str, str] = {}
    votes: list[tuple[int, str]] = []
    for number, line in election.source.lines():
        if (fact := _FACT.fullmatch(line)) and fact[1].lower() in _KNOWN:
            facts[fact[1].lower()] = fact[2]
        elif text := line.partition("#")[0].strip():
            votes.append((number, text))
    is_implicit, has_weights = (
        _flag(election, facts, "implicit ranking", True),
        _flag(election, facts, "weight allowed"),
    )
    if (seats := facts.get("number of seats", "")).isdecimal() and 0 < len(seats) < 10:
        election.meta[SEATS] = int(seats)
    named = [name.strip() for name in facts.get("candidates", "").split(";") if name.strip()]
    election.candidates = list(dict.fromkeys(named))
    parsed = []
    for number, text in votes:
        try:
            parsed.append((number, *_parsed(text, has_weights)))
        except BadBallotError as problem:
            election.refuse(number, problem)
    if not election.candidates:
        election.candidates = list(dict.fromkeys(name for _, tiers, _ in parsed for tier in tiers for name in tier))
    _add_all(election, parsed, is_implicit)
    election.meta.pop(TITLE, None)


def _flag(election: Election, facts: dict[str, str], key: str, usual: bool = False) -> bool:
    """Return a fact that is true or false."""
    word = facts.get(key, "").lower()
    if word and word not in _YES:
        raise election.source.error(f"{key!r} must be true or false: correct it.")
    return _YES.get(word, usual)


def _parsed(text: str, has_weights: bool) -> tuple[list[list[str]], float]:
    """Return the names by place and the weight of a ballot."""
    found = _TIMES.fullmatch(text.rpartition("||")[2].strip())
    if found is None or not found[1].strip():
        raise BadBallotError("the line is not a ranking such as 'Ann > Bob = Cy * 42'")
    weight = float(found[3] or 1) * (float(found[2] or 1) if has_weights else 1.0)
    if _EMPTY.fullmatch(found[1].strip()):
        return [], weight
    tiers = [[name.strip() for name in place.split("=")] for place in found[1].split(">")]
    if any(not name for place in tiers for name in place):
        raise BadBallotError("a name is missing next to '>' or '='")
    return tiers, weight


def _add_all(election: Election, parsed: Sequence[tuple[int, list[list[str]], float]], is_implicit: bool) -> None:
    """Add the ballots; with implicit ranking, candidates that a ballot does not name tie for the last place."""
    code_of = {name: k for k, name in enumerate(election.candidates)}
    for number, names, weight in parsed:
        if any(name not in code_of for place in names for name in place):
            election.note_line(number, "a name that is not a candidate is ignored")
        known = [[code_of[name] for name in place if name in code_of] for place in names]
        tiers = [place for place in known if place]
        ranked = {code for place in tiers for code in place}
        if is_implicit and tiers and len(ranked) < len(code_of):
            tiers.append([code for code in code_of.values() if code not in ranked])
        try:
            election.add(number, tiers, weight)
        except BadBallotError as problem:
            election.refuse(number, problem)
