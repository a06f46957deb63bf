"""Profiles that VoteKit writes as csv files: ranked ballots (``VoteKit RankProfile``) or scored ones.

The first lines list the candidates with short codes, ``(Ann Lee:Ann),(Bob Roe:Bob)``; a line of ``=`` ends them. Then
come the names of the columns and one line per ballot, with ``&`` between the parts::

    Ranking_1,Ranking_2,&,Weight,&
    "{'Ann', 'Bob'}",{'Cy'},&,3.0,&

A cell is the set of candidates that share a place. In profiles of scores, there is a column per candidate. All listed
candidates stand for election, whether or not a ballot names them. Sets of voters are not read.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from concordant.ballots import build
from concordant.ballots.vocabulary import Vocabulary
from concordant.io._formats import Format
from concordant.io._source import Source
from concordant.preferences import Preferences
from concordant.support.limits import NUMBERS, WEIGHTS, bad_numbers, bad_weights
from concordant.tables.bad_rows import left_out, refuse_lines
from concordant.tables.options import PREFERENCES, Options

MAGIC = b"VoteKit "
TYPES = ("str", "int")
Row = tuple[int, list[str]]  # a line number and its cells

FORMATS = (
    Format("votekit", (), "VoteKit profile of ranked or scored ballots", (PREFERENCES,), False, __name__, MAGIC),
)


def read(sources: Sequence[Source], options: Options) -> Preferences:
    """Read one profile."""
    options.refuse_roles("VoteKit profiles")
    if len(sources) > 1:
        raise sources[1].error("the codes of candidates hold for one profile: read one file at a time.")
    return _Profile(sources[0], options).preferences()


class _Profile:
    """The head of a profile, and its ballots as they are read."""

    def __init__(self, source: Source, options: Options) -> None:
        """Read the list of candidates and the names of the columns."""
        self.source, self.options = source, options
        self.rows = self._lines()
        head = self._head()
        self.label_of = dict(map(self._candidate, _candidate_cells(head)))
        if not self.label_of:
            raise source.error("the profile lists no candidates: check that the file is complete.")
        self.columns = next(self.rows, (0, []))[1]
        if "Weight" not in self.columns:
            raise source.error("the line after '=,=,…' does not name a column Weight: check that the file is complete.")
        self.bad: dict[str, list[int]] = {}
        self.empty: list[int] = []
        self.weights: list[float] = []

    def _lines(self) -> Iterator[Row]:
        """Yield the rows of the file that are not empty, with their line numbers."""
        reader = csv.reader(io.StringIO(self.source.read_text_bytes().decode(), newline=""))
        try:
            yield from ((reader.line_num, row) for row in reader if any(row))
        except csv.Error as problem:
            raise self.source.error(f"the csv text is damaged ({problem}): write it again.", reader.line_num) from None

    def _head(self) -> list[list[str]]:
        """Return the rows before the line of equals signs."""
        head: list[list[str]] = []
        for _, row in self.rows:
            if set(row) == {"="}:
                return head
            head.append(row)
        raise self.source.error("the list of candidates does not end with a line '=,=,…': check that it is complete.")

    def _candidate(self, cell: str) -> tuple[str, str]:
        """Return the code and the name of a candidate, written as ``(name:code)`` or ``(name:type:code)``."""
        name, colon, code = cell.strip().removeprefix("(").removesuffix(")").rpartition(":")
        before, _, kind = name.rpartition(":")
        name = before if before and kind in TYPES else name
        if not colon or not name.strip() or not code.strip():
            raise self.source.error(f"the candidate {cell!r} is not written as (name:code): check the file.")
        return code.strip(), name.strip()

    def preferences(self) -> Preferences:
        """Return the ballots."""
        is_ranked = any(name.startswith("Ranking_") for name in self.columns)
        parts = self._ranked() if is_ranked else self._scored()
        notes = [f"{self.source.name}: {len(self.weights):,} ballots of {len(self.label_of)} candidates (VoteKit)"]
        notes += self.left_out
        if "Voter Set" in self.columns:
            notes.append("not read: Voter Set")
        return Preferences(**parts, notes=notes)

    def _ranked(self) -> build.Parts:
        """Return ballots with a set of candidates per place."""
        places = [k for k, name in enumerate(self.columns) if name.startswith("Ranking_")]
        rankings: list[list[list[str]]] = []
        for line, cells, weight in self._ballots():
            codes = [code for k in places if (code := _codes(cells[k]))]
            named = [code for place in codes for code in place]
            if unknown := next((code for code in named if code not in self.label_of), None):
                self.bad.setdefault(f"{unknown!r} is not the code of a candidate", []).append(line)
            elif len(set(named)) < len(named):
                self.bad.setdefault("a candidate occurs twice in the ballot", []).append(line)
            elif not named:
                self.empty.append(line)
            else:
                rankings.append([[self.label_of[code] for code in place] for place in codes])
                self.weights.append(weight)
        self._finish()
        return build.gather_rankings(rankings, list(self.label_of.values()), weight=np.array(self.weights))

    def _scored(self) -> build.Parts:
        """Return ballots with a column of scores per candidate, named by its code or by its name."""
        label_of = {label: label for label in self.label_of.values()} | self.label_of
        scored = [(k, label_of[name]) for k, name in enumerate(self.columns) if name in label_of]
        rows: list[list[float]] = []
        for line, cells, weight in self._ballots():
            numbers = [_number(cells[k]) if cells[k].strip() else np.nan for k, _ in scored]
            given = np.array([number for number, (k, _) in zip(numbers, scored, strict=True) if cells[k].strip()])
            if bad_numbers(given).any():
                self.bad.setdefault(f"a score is not {NUMBERS}", []).append(line)
            elif not len(given):
                self.empty.append(line)
            else:
                rows.append(numbers)
                self.weights.append(weight)
        self._finish()
        matrix = np.array(rows, np.float64).T
        items = Vocabulary([label for _, label in scored])
        return build.gather_matrix(matrix, items=items, agents=None, weight=np.array(self.weights), scale="rating")

    def _ballots(self) -> Iterator[tuple[int, list[str], float]]:
        """Yield (line, cells, weight) of every ballot whose weight can be used."""
        at = self.columns.index("Weight")
        for line, row in self.rows:
            cells = [*row, *[""] * (len(self.columns) - len(row))]
            weight = _number(cells[at])
            if bad_weights(np.array([weight])).any():
                self.bad.setdefault(f"the weight is not {WEIGHTS}", []).append(line)
            else:
                yield line, cells, weight

    def _finish(self) -> None:
        """Report what was left out; reject a profile without ballots."""
        self.left_out = refuse_lines(self.bad, self.source.error, self.options)
        if self.empty:
            self.left_out.append(left_out("an empty ballot", len(self.empty), f"line {self.empty[0]}"))
        if not self.weights:
            raise self.source.error("the profile contains no ballots: check that the file is complete.")


def _candidate_cells(head: Sequence[Sequence[str]]) -> Sequence[str]:
    """Return the cells of the line after ``Candidates``."""
    follows = (row for before, row in pairwise(head) if before == ["Candidates"])
    return next(follows, ())


def _codes(cell: str) -> list[str]:
    """Return the codes in a cell such as ``{'Ann', 'Bob'}``; none in ``{}`` and in an empty cell."""
    codes = (code.strip().strip("'\"") for code in cell.strip().strip("{}").split(", "))
    return [code for code in codes if code]


def _number(text: str) -> float:
    """Return a cell as a number, NaN if it is none."""
    try:
        return float(text)
    except ValueError:
        return float("nan")
