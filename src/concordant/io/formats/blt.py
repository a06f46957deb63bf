"""BLT files (Hill, OpenSTV, OpaVote, OpenTally, Droop, Stack Exchange): one election with its number of seats.

::

    4 2                  candidates, seats
    -2                   withdrawn candidates (optional)
    3 1 4=3 0            weight, candidates best first (= for equal ranks, - for a skipped rank), 0
    (b7) 2 - 4 0         a ballot identifier instead of a weight
    0                    end of the ballots
    "Ann Lee" …          the names of the candidates, then the title

``#`` starts a comment, as does ``/* … */``. A 0 inside a line is a skipped rank. Options in brackets are ignored,
except ``[nick …]``, which names the candidates for the ballots. Withdrawn candidates are not candidates.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from concordant.ballots.vocabulary import shorten
from concordant.io import _elections
from concordant.io._elections import MAX_CANDIDATES, SEATS, TITLE, WITHDRAWN, BadBallotError, Election
from concordant.io._formats import Format, Writing
from concordant.io._source import Source
from concordant.preferences import Preferences
from concordant.support.patterns import lazy
from concordant.tables.options import PREFERENCES, Options

_TOKEN = lazy(r'"((?:[^"\\\n]|\\.|"")*)"|/\*.*?\*/|#[^\n]*|\(([^()\n]*)\)|\[([^\[\]\n]*)\]|\n|[^\s"#]+', re.DOTALL)
_HEAD = lazy(rb"\s*(\d{1,6})[ \t]+(\d{1,6})[ \t]*(?:#[^\n]*)?\r?\n")
_BALLOT = lazy(rb"(?:\(\S*\)|[1-9]\d*(?:\.\d+)?)(?:[ \t]+(?:-|\d+(?:=\d+)*))*[ \t]+0[ \t]*(?:#[^\n]*)?")
_WITHDRAWN = lazy(rb"-[1-9]\d*(?:[ \t]+-[1-9]\d*)*[ \t]*(?:#[^\n]*)?")


class _Token(NamedTuple):
    """A word, a quoted text, an identifier in parentheses or an option in brackets, and its line."""

    kind: str
    text: str
    line: int


def _looks_like(head: bytes) -> bool:
    """Return whether the first line counts candidates and seats, and the next lines are ballots that end with 0."""
    plain = re.sub(rb"^[ \t]*(?:#[^\n]*)?\r?\n", b"", head, flags=re.MULTILINE)
    start = _HEAD.match(plain)
    if start is None or not 1 <= int(start[2]) <= int(start[1]):
        return False
    lines = [line.strip() for line in plain[start.end() :].split(b"\n")[:20]]
    ballots = [line for line in lines[:-1] if line and not _WITHDRAWN.fullmatch(line)]
    ends = next((k for k, line in enumerate(ballots) if line == b"0"), len(ballots))
    return ends > 0 and all(_BALLOT.fullmatch(line) for line in ballots[:ends])


FORMATS = (
    Format(
        *("blt", (".blt",), "elections of OpaVote, OpenSTV, OpenTally and Droop", (PREFERENCES,), True),
        module=__name__,
        sniff=_looks_like,
    ),
)


def read(sources: Sequence[Source], options: Options) -> Preferences:
    """Read elections; each of several files is one instance."""
    return _elections.preferences(sources, options, "BLT files", _read, "BLT")


def _read(election: Election) -> None:
    """Read the head, the ballots and the names of one file."""
    source = election.source
    text = source.read_text_bytes().decode("utf-8").replace("\r\n", "\n")
    lines = _lines(text)
    head, nicks, n_first = _first_line(source, lines)
    n, seats = head
    election.candidates = [""] * n
    election.meta[SEATS] = seats
    k = n_first
    while k < len(lines) and all(token.kind == "word" and re.fullmatch(r"-\d+", token.text) for token in lines[k]):
        election.withdrawn |= {_number(token.text[1:], n, source, token.line) - 1 for token in lines[k]}
        k += 1
    rest = _read_ballots(election, lines[k:], nicks)
    _read_names(election, rest)


def _lines(text: str) -> list[list[_Token]]:
    """Return the tokens of each line that has some; comments are left out."""
    lines: list[list[_Token]] = [[]]
    line = 1
    for found in _TOKEN.finditer(text):
        token = found[0]
        if token == "\n":
            lines.append([])
        elif found[1] is not None:
            lines[-1].append(_Token("text", re.sub(r"\\(.)", r"\1", found[1].replace('""', '"')), line))
        elif not token.startswith(("#", "/*")):
            kind, content = ("id", found[2]) if found[2] is not None else ("word", token)
            kind, content = ("option", found[3]) if found[3] is not None else (kind, content)
            lines[-1].append(_Token(kind, content, line))
        line += token.count("\n")
    return [tokens for tokens in lines if tokens]


def _first_line(source: Source, lines: list[list[_Token]]) -> tuple[tuple[int, int], dict[str, int], int]:
    """Return the numbers of candidates and seats, the nicknames of the candidates, and where the ballots begin."""
    if not lines or len(lines[0]) != 2 or not all(re.fullmatch(r"\d{1,9}", token.text) for token in lines[0]):
        line = lines[0][0].line if lines else None
        raise source.error("the first line must give the numbers of candidates and seats, as in '4 2'.", line)
    n, seats = (int(token.text) for token in lines[0])
    if not 1 <= n <= MAX_CANDIDATES or seats < 1:
        raise source.error(f"an election needs from 1 to {MAX_CANDIDATES:,} candidates and at least one seat.", 1)
    nicks: dict[str, int] = {}
    k = 1
    while k < len(lines) and all(token.kind == "option" for token in lines[k]):
        for token in lines[k]:
            word, *names = token.text.split()
            if word == "nick":
                nicks |= {name: code for code, name in enumerate(names, 1)}
        k += 1
    return (n, seats), nicks, k


def _number(text: str, n: int, source: Source, line: int) -> int:
    """Return the number of a candidate."""
    if not text.isdecimal() or not text.isascii() or len(text) > 9 or not 1 <= int(text) <= n:
        raise source.error(f"{shorten(text)!r} is not the number of a candidate from 1 to {n}: correct it.", line)
    return int(text)


def _read_ballots(election: Election, lines: list[list[_Token]], nicks: Mapping[str, int]) -> list[_Token]:
    """Add all ballots up to the final 0; return the tokens after it."""
    pending: list[_Token] = []
    for k, tokens in enumerate(lines):
        if not pending and tokens[0].text == "0" and tokens[0].kind == "word":
            return [*tokens[1:], *(token for later in lines[k + 1 :] for token in later)]
        if tokens[0].kind == "text":
            raise election.source.error("a line with only 0 must stand before the names: add it.", tokens[0].line)
        pending += tokens
        if tokens[-1].text != "0" or tokens[-1].kind != "word":
            continue  # the ballot goes on in the next line
        for ballot in _split(pending):
            try:
                _add(election, ballot, nicks)
            except BadBallotError as problem:
                election.refuse(ballot[0].line, problem)
        pending = []
    line = pending[0].line if pending else None
    raise election.source.error("the ballots do not end with a line with only 0: the file is truncated.", line)


def _split(tokens: list[_Token]) -> Iterator[list[_Token]]:
    """Yield the ballots of a line, without their final 0: one with skipped ranks, or several if candidates repeat."""
    inner = [k for k, token in enumerate(tokens[:-1]) if token.text == "0" and k]
    named = [token.text for token in tokens[1:-1] if token.text not in ("0", "-")]
    if not inner or (len(set(named)) == len(named) and not any(token.kind == "id" for token in tokens[1:])):
        yield tokens[:-1]
        return
    start = 0
    for end in [*inner, len(tokens) - 1]:
        if end > start:
            yield tokens[start:end]
        start = end + 1


def _add(election: Election, tokens: list[_Token], nicks: Mapping[str, int]) -> None:
    """Add one ballot."""
    first, n = tokens[0], len(election.candidates)
    weight = 1.0
    if first.kind != "id":
        if not re.fullmatch(r"\d{1,15}(?:\.\d+)?|\d{1,9}/\d{1,9}", first.text):
            raise BadBallotError("a ballot does not begin with a weight or an identifier in parentheses")
        above, _, below = first.text.partition("/")
        if below and not int(below):
            raise BadBallotError("the weight of a ballot divides by 0")
        weight = float(above) / float(below or 1)
    tiers: list[list[int]] = []
    for token in tokens[1:]:
        names = [] if token.text in ("-", "0") else token.text.split("=")
        codes = [str(nicks.get(name, name)) for name in names]
        for name in codes:
            is_known = name.isdecimal() and name.isascii() and len(name) < 10 and 1 <= int(name) <= n
            if not is_known or token.kind != "word":
                raise BadBallotError(f"a ballot names a candidate that is not a number from 1 to {n}")
        tiers.append([int(name) - 1 for name in codes])
    while tiers and not tiers[-1]:
        tiers.pop()
    election.add(first.line, tiers, weight)


def _read_names(election: Election, tokens: list[_Token]) -> None:
    """Set the names of the candidates and the title; names are quoted, or stand on lines of their own."""
    n, texts = len(election.candidates), [token for token in tokens if token.kind == "text"]
    names = [token.text.strip() for token in texts]
    if tokens and not texts:
        by_line: dict[int, list[str]] = {}
        for token in tokens:
            by_line.setdefault(token.line, []).append(token.text)
        names = [" ".join(words) for words in by_line.values()]
    if not names:
        election.notes.append("the candidates have no names and are named by their number")
        election.candidates = [str(number) for number in range(1, n + 1)]
        return
    if len(names) < n:
        line = tokens[-1].line
        raise election.source.error(f"there are {n} candidates, but only {len(names)} names: add the others.", line)
    election.candidates = names[:n]
    if len(names) > n and names[n]:
        election.meta[TITLE] = names[n]
    if len(names) > n + 1:
        election.notes.append(f"{len(names) - n - 1} texts after the title are not read")


# ---- writing ----
def write(data: Any, _: Writing) -> tuple[bytes, list[str]]:
    """Return the content of a BLT file, and notes on what it leaves out."""
    prefs, ballots, notes = _elections.written_ballots(data, "BLT", "")
    labels = prefs.items.labels
    withdrawn = _elections.names_in(prefs.meta, WITHDRAWN, set(labels))
    seats = prefs.meta.get(SEATS)
    if not isinstance(seats, int) or seats < 1:
        seats = 1
        notes.append("the number of seats is unknown and is written as 1")
    lines = [f"{len(labels) + len(withdrawn)} {seats}"]
    if withdrawn:
        lines.append(" ".join(f"-{len(labels) + k}" for k in range(1, len(withdrawn) + 1)))
    for weight, tiers in zip(prefs.weight.tolist(), ballots, strict=True):
        places = ["=".join(str(code + 1) for code in tier) or "-" for tier in tiers]
        lines.append(" ".join([_elections.number(weight), *places, "0"]))
    title = _elections.text_of(prefs.meta, TITLE)
    lines += ["0", *map(_quoted, [*labels, *withdrawn, title])]
    return "".join(line + "\n" for line in lines).encode("utf-8"), notes


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
