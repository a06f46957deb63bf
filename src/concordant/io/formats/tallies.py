"""Published ballots of two kinds of elections: Debian's tally sheets, and Scottish council elections (csv).

debian
    ``Option 1------>: name`` lines, then ``V: 21-3 login``: the i-th character is the rank of option i, ``-`` none.
scottish
    ``4,3,`` (candidates, seats), ``155,1,2,`` (number of ballots, candidates best first), ``"Candidate 1","name",
    "party",`` and the ward.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence

from concordant.io import _elections
from concordant.io._elections import MAX_CANDIDATES, SEATS, TITLE, BadBallotError, Election
from concordant.io._formats import Format, named
from concordant.io._source import HEAD, Source
from concordant.preferences import Preferences
from concordant.support.patterns import lazy
from concordant.tables.options import PREFERENCES, Options

_OPTION = lazy(r"[\s/|\\]*Option\s+(\d{1,3})[->\s]*:\s*(.*\S)\s*")
_VOTE = lazy(r"V:\s*([-0-9A-Za-z]+)(?:\s.*)?")
_OPTION_LINE = lazy(rb"^[\s/|\\]*Option\s+\d+[->\s]*:", re.MULTILINE)
_VOTE_LINE = lazy(rb"^V:\s*[-0-9A-Za-z]+\s", re.MULTILINE)
_RANKS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_COUNTED = lazy(rb"\d{1,9}(?:,\d{1,4})+,+")


def _is_debian(head: bytes) -> bool:
    return _OPTION_LINE.search(head) is not None and _VOTE_LINE.search(head) is not None


def _is_scottish(head: bytes) -> bool:
    """Return whether the first line counts candidates and seats, and the next lines are counted ballots."""
    lines = [line.strip() for line in head.split(b"\n")[:200]]
    lines = [line for line in (lines[:-1] if len(head) >= HEAD else lines) if line]
    ends = next((k for k, line in enumerate(lines) if line.lower().startswith(b'"candidate 1"')), len(lines))
    first = re.fullmatch(rb"(\d{1,3}),(\d{1,3}),*", lines[0]) if lines else None
    if first is None or not 1 <= int(first[2]) <= int(first[1]) or ends < 2:
        return False
    return all(map(_COUNTED.fullmatch, lines[1:ends])) and (ends < len(lines) or len(head) >= HEAD)


FORMATS = (
    Format(
        *("debian", (), "tally sheets of Debian: V: 21-3 login", (PREFERENCES,)),
        module=__name__,
        sniff=_is_debian,
    ),
    Format(
        *("scottish", (), "ballots of Scottish council elections (csv)", (PREFERENCES,)),
        module=__name__,
        sniff=_is_scottish,
        borrows=(".csv",),
    ),
)


def read(sources: Sequence[Source], options: Options) -> Preferences:
    """Read elections; each of several files is one instance."""
    is_debian = named(options.format).name == "debian" if options.format else _is_debian(sources[0].head)
    reader, kind = (_read_debian, "Debian tally") if is_debian else (_read_scottish, "Scottish csv")
    return _elections.preferences(sources, options, f"the format {kind}", reader, kind)


def _read_debian(election: Election) -> None:
    """Read the options and the votes of a tally sheet."""
    names: dict[int, str] = {}
    votes: list[tuple[int, str]] = []
    for number, line in election.source.lines():
        if option := _OPTION.fullmatch(line):
            names[int(option[1])] = option[2]
        elif vote := _VOTE.fullmatch(line.strip()):
            votes.append((number, vote[1].upper()))
    if sorted(names) != list(range(1, len(names) + 1)):
        raise election.source.error("the options are not numbered 1, 2, 3, …: check the lines 'Option 1 …: name'.")
    election.candidates = [names[k] for k in sorted(names)]
    for number, ranks in votes:
        try:
            election.add(number, _tiers(ranks, len(names)))
        except BadBallotError as problem:
            election.refuse(number, problem)


def _tiers(ranks: str, n: int) -> list[list[int]]:
    """Return the options by rank; a character is the rank of an option, - none."""
    if len(ranks) != n:
        raise BadBallotError(f"the vote does not have one character for each of the {n} options")
    present = sorted({rank for rank in ranks if rank != "-"}, key=_RANKS.index)
    return [[k for k, rank in enumerate(ranks) if rank == wanted] for wanted in present]


def _read_scottish(election: Election) -> None:
    """Read the counted ballots, the candidates and the ward."""
    source = election.source
    numbered = list(_rows(source))
    if not numbered:
        raise source.error("the file is empty: there is nothing to read.")
    head = [cell for cell in numbered[0][1] if cell]
    if len(head) != 2 or not all(re.fullmatch(r"\d{1,9}", cell) for cell in head):
        raise source.error("the first line must give the numbers of candidates and seats, as in '4,3,'.", 1)
    n, election.meta[SEATS] = int(head[0]), int(head[1])
    if not 1 <= n <= MAX_CANDIDATES:
        raise source.error(f"an election needs from 1 to {MAX_CANDIDATES:,} candidates.", 1)
    election.candidates = [""] * n
    for line, row in numbered[1:]:
        cells = [cell for cell in row if cell]
        found = re.fullmatch(r"candidate\s+(\d{1,9})", cells[0], re.IGNORECASE)
        if found and len(cells) > 1:
            if not 1 <= int(found[1]) <= n:
                raise source.error(f"there is no candidate {found[1]} among {n}: check the first line.", line)
            election.candidates[int(found[1]) - 1] = cells[1]
        elif cells[0].isdecimal() and cells[0].isascii():
            try:
                _add_counted(election, line, cells, n)
            except BadBallotError as problem:
                election.refuse(line, problem)
        else:
            election.meta.setdefault(TITLE, cells[0])


def _rows(source: Source) -> Iterator[tuple[int, list[str]]]:
    """Yield the line number and the cells of every line that is not empty."""
    rows = csv.reader(text for _, text in source.lines())
    try:
        for row in rows:
            if any(cell.strip() for cell in row):
                yield rows.line_num, [cell.strip() for cell in row]
    except csv.Error as problem:
        raise source.error(f"the line is not csv ({problem}): check the file.", rows.line_num) from None


def _add_counted(election: Election, line: int, cells: Sequence[str], n: int) -> None:
    """Add the ballots of a line ``155,1,2``."""
    if not all(cell.isdecimal() and cell.isascii() and len(cell) < 10 for cell in cells):
        raise BadBallotError("a ballot is not made of numbers and commas")
    count, *order = map(int, cells)
    if not all(1 <= number <= n for number in order):
        raise BadBallotError(f"a ballot names a candidate that is not a number from 1 to {n}")
    election.add(line, [[number - 1] for number in order], count)
