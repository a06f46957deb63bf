"""ABIF, the Aggregated Ballot Information Format: ``27:Ann>Bob=Cy``, one line per kind of ballot.

::

    {"title": "Class rep"}      facts about the election, as JSON
    =A:[Ann Lee]                A stands for Ann Lee in the ballots (the first = is optional)
    27:A>B=Cy                   27 ballots; > is above, = and , are equal
    12:A/5,B/2                  scores after a slash

Names are bare words, ``"quoted"`` or ``[bracketed]``; ``#`` starts a comment. If all candidates of all ballots have
scores, these are the values of the ballots.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from concordant.ballots.segments import segment_index
from concordant.ballots.vocabulary import shorten
from concordant.io import _elections
from concordant.io._elections import SEATS, TITLE, WITHDRAWN, BadBallotError, Election
from concordant.io._formats import Format, Writing
from concordant.io._source import Source
from concordant.preferences import Preferences
from concordant.support.limits import bad_numbers
from concordant.support.patterns import lazy
from concordant.tables.options import PREFERENCES, Options

_NAME = r'"((?:[^"\\]|\\.)*)"|\[([^\[\]]*)\]|([^\s"\[\]#,:;/<>={}]+)'
_ENTRY = lazy(rf"\s*(?:{_NAME})\s*(?:/\s*(-?\d+(?:\.\d+)?))?\s*")
_ALIAS = lazy(rf"(=?)\s*(?:{_NAME})\s*:\s*(?:\[([^\[\]]*)\]|\"((?:[^\"\\]|\\.)*)\")\s*")
_COUNT = lazy(r"\s*(\d+(?:\.\d+)?)\s*[:*]")
_COMMENT = lazy(r'(?:"(?:[^"\\]|\\.)*"|\[[^\[\]]*\]|[^#"\[])*')
_BARE = lazy(r"[A-Za-z_][\w.-]*", re.ASCII)
_BALLOT = lazy(rb'\d+(?:\.\d+)?\s*:\s*(?:"[^"]*"|\[[^\]]*\]|[^\s"\[\]#,:;/<>={}]+)\s*(?:$|[>=/,#])')


def _looks_like(head: bytes) -> bool:
    """Return whether the lines are ballots ``27:A>B``, aliases and JSON objects, with an order or score somewhere."""
    lines = [line.strip() for line in head.split(b"\n")[:50]]
    lines = [line for line in (lines[:-1] or lines) if line and not line.startswith((b"#", b"{"))]
    ballots = [line for line in lines if re.match(rb"\d", line)]
    aliases = [line for line in lines if re.match(rb"=\s*[^:]+:\s*[\[\"]", line)]
    if not ballots or len(ballots) + len(aliases) < len(lines) or not all(map(_BALLOT.match, ballots)):
        return False
    return any(b">" in line or re.search(rb"/\s*-?\d", line) for line in ballots) or bool(aliases)


FORMATS = (
    Format(
        *("abif", (".abif",), "ballots such as 27:Ann>Bob=Cy (ABIF)", (PREFERENCES,), True),
        module=__name__,
        sniff=_looks_like,
    ),
)


class _Ballot(NamedTuple):
    """A parsed ballot: its line, weight, tiers of names as written, scores and separators."""

    line: int
    weight: float
    tiers: list[list[str]]
    score: dict[str, float]
    is_ordered: bool


def read(sources: Sequence[Source], options: Options) -> Preferences:
    """Read elections; each of several files is one instance."""
    return _elections.preferences(sources, options, "ABIF files", _read, "ABIF")


def _read(election: Election) -> None:
    """Read the facts, aliases and ballots of one file."""
    alias: dict[str, str] = {}
    ballots: list[_Ballot] = []
    for number, raw in election.source.lines():
        line = (_COMMENT.match(raw) or [raw])[0].strip()
        if not line:
            continue
        if line.startswith("{") and not line.startswith("{}"):
            _take_facts(election, line, number)
        elif found := _ALIAS.fullmatch(line):
            _take_alias(election, alias, found, number)
        else:
            try:
                ballots.append(_parsed(line, number))
            except BadBallotError as problem:
                election.refuse(number, problem)
    _add_all(election, alias, ballots)


def _take_facts(election: Election, line: str, number: int) -> None:
    """Keep the title, the seats and other texts of a line of JSON."""
    import json

    try:
        facts = json.loads(line)
    except (ValueError, RecursionError):
        raise election.source.error('the line is not a JSON object, as in {"title": "x"}.', number) from None
    for key, value in facts.items():
        if (
            key in (SEATS, "num_seats", "winners")
            and isinstance(value, int)
            and not isinstance(value, bool)
            and value > 0
        ):
            election.meta[SEATS] = value
        elif isinstance(value, str):
            election.meta[key] = value


def _take_alias(election: Election, alias: dict[str, str], found: re.Match[str], number: int) -> None:
    """Record the name that a word stands for; reject a word with two names."""
    word, name = _unquoted(found[2], found[3], found[4]), _unquoted(found[6], found[5], None)
    if alias.setdefault(word, name) != name:
        raise election.source.error(
            f"{shorten(word)!r} already stands for another candidate: use another word.", number
        )


def _unquoted(quoted: str | None, bracketed: str | None, bare: str | None) -> str:
    """Return a name without quotation marks or brackets."""
    if quoted is not None:
        return re.sub(r"\\(.)", r"\1", quoted).strip()
    return (bracketed if bracketed is not None else bare or "").strip()


def _parsed(line: str, number: int) -> _Ballot:
    """Parse a ballot such as ``27:A>B=C`` or ``27:A/5,B/2``."""
    weight, position = 1.0, 0
    if count := _COUNT.match(line):
        weight, position = float(count[1]), count.end()
    tiers: list[list[str]] = [[]]
    score: dict[str, float] = {}
    separators: set[str] = set()
    while line[position:].strip():
        entry = _ENTRY.match(line, position)
        if entry is None or not (name := _unquoted(entry[1], entry[2], entry[3])):
            raise BadBallotError(f"a name is expected at {shorten(line[position:].strip())!r}")
        if name in score or any(name in place for place in tiers):
            raise BadBallotError("a candidate occurs twice on a ballot")
        tiers[-1].append(name)
        if entry[4] is not None:
            score[name] = float(entry[4])
            if bad_numbers(score[name]):
                raise BadBallotError("a score is out of range")
        position = entry.end()
        sign = line[position : position + 1]
        if sign and sign not in ">=,":
            raise BadBallotError(f"'>', '=' or ',' is expected at {shorten(line[position:])!r}")
        separators.add(sign)
        if sign == ">":
            tiers.append([])
        position += 1
        if sign and not line[position:].strip():
            raise BadBallotError(f"a name is missing after the last {sign!r}")
    named = [name for place in tiers for name in place]
    return _Ballot(number, weight, tiers if named else [], score, bool(separators & {">", "="}))


def _add_all(election: Election, alias: Mapping[str, str], ballots: Sequence[_Ballot]) -> None:
    """Add the ballots; the candidates are those with an alias, then the others as they appear."""
    code_of = {name: k for k, name in enumerate(dict.fromkeys(alias.values()))}
    is_scored = bool(ballots) and all(len(one.score) == sum(map(len, one.tiers)) for one in ballots)
    n_partly = sum(bool(one.score) for one in ballots)
    for ballot in ballots:
        names = {name: alias.get(name, name) for place in ballot.tiers for name in place}
        code = {name: code_of.setdefault(full, len(code_of)) for name, full in names.items()}
        score = {code[name]: value for name, value in ballot.score.items()}
        tiers = [[code[name] for name in place] for place in ballot.tiers]
        try:
            if score and len(score) == len(code):
                tiers = _by_score(tiers, score, ballot.is_ordered)
            election.add(ballot.line, tiers, ballot.weight, score if is_scored else None)
        except BadBallotError as problem:
            election.refuse(ballot.line, problem)
    election.candidates = list(code_of)
    if n_partly and not is_scored:
        election.notes.append("the scores are not kept, because not all candidates of all ballots have one")


def _by_score(tiers: list[list[int]], score: Mapping[int, float], is_ordered: bool) -> list[list[int]]:
    """Return the candidates in the order of their scores; reject scores that contradict the order."""
    values = sorted(set(score.values()), reverse=True)
    by_score = [[code for code in score if score[code] == value] for value in values]
    if is_ordered and [set(place) for place in by_score] != [set(place) for place in tiers]:
        raise BadBallotError("the scores of a ballot contradict its order")
    return by_score


# ---- writing ----
def write(data: Any, _: Writing) -> tuple[bytes, list[str]]:
    """Return the content of an ABIF file, and notes on what it leaves out."""
    import json

    prefs, ballots, notes = _elections.written_ballots(data, "ABIF", r"\[\]")
    title, seats = _elections.text_of(prefs.meta, TITLE), prefs.meta.get(SEATS)
    facts: dict[str, object] = {TITLE: title} if title else {}
    facts |= {SEATS: seats} if isinstance(seats, int) else {}
    if _elections.names_in(prefs.meta, WITHDRAWN, ()):
        notes.append("the withdrawn candidates are not written")
    lines = [json.dumps({key: value}, ensure_ascii=False) for key, value in facts.items()]
    labels = [label if _BARE.fullmatch(label) else f"[{label}]" for label in prefs.items.labels]
    lines += [f"={label}:[{name}]" for label, name in zip(labels, prefs.items.labels, strict=True)]
    score = prefs.value if prefs.scale == "rating" else None
    if score is not None and not _agree(prefs, score):
        score = None
        notes.append("the scores contradict the order of a ballot and are not written")
    has_gaps = False
    for k, tiers in enumerate(ballots):
        has_gaps |= not all(tiers)
        shown = {} if score is None else _scores_of(prefs, score, k)
        places = ["=".join(labels[code] + shown.get(code, "") for code in tier) for tier in tiers if tier]
        lines.append(f"{_elections.number(float(prefs.weight[k]))}:{'>'.join(places)}")
    if has_gaps:
        notes.append("skipped ranks are not written")
    return "".join(line + "\n" for line in lines).encode("utf-8"), notes


def _agree(prefs: Preferences, score: Any) -> bool:
    """Return whether the scores of every ballot decrease from tier to tier and are equal within a tier."""
    ballot = segment_index(prefs.indptr)
    is_next = np.diff(ballot) == 0
    drop, step = -np.diff(score)[is_next], np.diff(prefs.tier)[is_next]
    return bool(((drop > 0) == (step > 0)).all() and ((drop == 0) == (step == 0)).all())


def _scores_of(prefs: Preferences, score: Any, ballot: int) -> dict[int, str]:
    """Return the score of each item of a ballot as text, after a slash."""
    entries = range(int(prefs.indptr[ballot]), int(prefs.indptr[ballot + 1]))
    return {int(prefs.item[entry]): "/" + _elections.number(float(score[entry])) for entry in entries}
