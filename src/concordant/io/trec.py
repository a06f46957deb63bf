"""TREC runs (``topic Q0 document rank score tag``) and qrels (``topic 0 document relevance``).

Fields stand between white space. A run is one agent, named by its tag; where the same tag stands in several files,
agents are named by file. The rank column orders the documents (it may start at 0, equal ranks tie), the score is
kept as value.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from concordant import gather, kernels
from concordant.errors import InputError
from concordant.io._lines import Lines, earlier_equal
from concordant.io._options import Options
from concordant.io._source import Source
from concordant.labels import Labels
from concordant.preferences import Preferences
from concordant.screening import Screen
from concordant.tables import Coded, renumber
from concordant.types import Int64s
from concordant.vocabulary import Vocabulary, shorten

RUN = "topic Q0 document rank score tag"
QRELS = "topic 0 document relevance"


def looks_like_run(head: bytes) -> bool:
    """Whether the first line is that of a run."""
    return _looks(head, 6, (3, 4))


def looks_like_qrels(head: bytes) -> bool:
    """Whether the first line is that of qrels."""
    return _looks(head, 4, (3,))


def read(sources: Sequence[Source], options: Options) -> Preferences:
    """Read runs as preferences: instances are topics, agents are runs."""
    options.refuse_roles("TREC runs")
    rows = _Fields(sources, 6, RUN, options)
    rank, score = rows.number(3), rows.number(4)
    rows.refuse_not_finite(rank, 3, "rank")
    rows.refuse_not_finite(score, 4, "score")
    topic, document, agent = rows.text(0), rows.text(2), _agents(rows)
    key = (topic[0].astype(np.int64) * len(agent[1]) + agent[0]) * len(document[1]) + document[0]
    parts = _gather(rows, topic, document, agent, rank, score)
    if kernels.find_repeated(parts["indptr"], parts["item"], len(parts["items"]))[0] >= 0:
        rows.refuse_repeats(key, document, "stands twice in one topic of a run")
        parts = _gather(rows, topic, document, agent, rank, score)
    count = f"{rows.lines.name}: {rows.count:,} lines of TREC runs, {len(parts['agents'])} agents"
    return Preferences(**parts, notes=[count, *rows.notes()])


def read_labels(sources: Sequence[Source], options: Options) -> Labels:
    """Read qrels as labels."""
    options.refuse_roles("qrels")
    rows = _Fields(sources, 4, QRELS, options)
    relevance = rows.number(3)
    rows.refuse_not_finite(relevance, 3, "relevance")
    topic, document = rows.text(0), rows.text(2)
    rows.refuse_repeats(
        topic[0].astype(np.int64) * len(document[1]) + document[0], document, "is judged twice for one topic"
    )
    return Labels(
        renumber(topic[0][rows.good], topic[1]), renumber(document[0][rows.good], document[1]), relevance[rows.good]
    )


def _gather(rows: _Fields, topic: Coded, document: Coded, agent: Coded, rank: Any, score: Any) -> gather.Parts:
    good = rows.good
    if good.all():
        return gather.gather_rows(document, score, scale="rating", agent=agent, instance=topic, level=rank)
    topic, document, agent = (renumber(codes[good], labels) for codes, labels in (topic, document, agent))
    return gather.gather_rows(document, score[good], scale="rating", agent=agent, instance=topic, level=rank[good])


class _Fields(Screen):
    """Lines of a fixed number of fields."""

    def __init__(self, sources: Sequence[Source], width: int, layout: str, options: Options) -> None:
        self.lines = Lines(sources)
        start, end, line, count = kernels.split_fields(self.lines.data, width)
        self.lines.line = line
        self._start: Int64s = start.reshape(-1, width)
        self._end: Int64s = end.reshape(-1, width)
        super().__init__(self.lines, len(line), strict=options.strict, skip_bad_rows=options.skip_bad_rows)
        self.refuse(
            count != width,
            f"the line does not have the {width} fields of {layout!r}",
            lambda row: f"the line has {count[row]} fields where {layout!r} has {width}",
        )
        if not self.good.any():
            raise self.lines.error(-1, "no line could be read: check that this is the right file.")

    def text(self, field: int) -> Coded:
        return self.lines.text(self._start[:, field], self._end[:, field])

    def number(self, field: int) -> Any:
        return self.lines.numbers(self._start[:, field], self._end[:, field])

    def refuse_not_finite(self, values: Any, field: int, what: str) -> None:
        def explain(row: int) -> str:
            cell = self.lines.cell(int(self._start[row, field]), int(self._end[row, field]))
            return f"the {what} is {shorten(cell)!r}, not a finite number"

        self.refuse(~np.isfinite(values), f"the {what} is not a number", explain)

    def refuse_repeats(self, key: Any, document: Coded, what: str) -> None:
        rows = np.flatnonzero(self.good)
        earlier = earlier_equal(key[rows])
        bad = np.zeros(len(self.good), bool)
        bad[rows[earlier != np.arange(len(rows))]] = True

        def explain(row: int) -> str:
            first = int(rows[earlier[np.searchsorted(rows, row)]])
            label = shorten(document[1][int(document[0][row])])
            return f"the document {label!r} {what} (first in {self.lines.place(first)})"

        self.refuse(bad, f"the document {what}", explain)


def _agents(rows: _Fields) -> Coded:
    """Name agents by tag, or by file where the same tag stands in several files."""
    tag, tags = rows.text(5)
    if len(rows.lines.sources) == 1:
        return tag, tags
    file = rows.lines.file_of_rows()
    pair, first = kernels.encode_ints(np.ascontiguousarray(file * len(tags) + tag))
    file_of, tag_of = file[first].tolist(), tag[first].tolist()
    if len(set(tag_of)) == len(tag_of):
        return tag, tags
    names = _file_names(rows.lines.sources)
    labels = [
        names[f] if file_of.count(f) == 1 else f"{names[f]} {tags[t]}" for f, t in zip(file_of, tag_of, strict=True)
    ]
    return pair, Vocabulary(labels)


def _file_names(sources: Sequence[Source]) -> list[str]:
    stems = [source.stem for source in sources]
    if len(set(stems)) == len(stems):
        return stems
    names = [source.name for source in sources]
    if len(set(names)) != len(names):
        raise InputError(f"The file {names[0]} is given twice: name each run once.")
    return names


def _looks(head: bytes, width: int, numeric: tuple[int, ...]) -> bool:
    fields = head.lstrip().split(b"\n", 1)[0].split()
    return (
        len(fields) == width
        and fields[1] in (b"Q0", b"q0", b"0")
        and all(re.fullmatch(rb"[-+]?[\d.]+(?:[eE][-+]?\d+)?", fields[k]) for k in numeric)
    )
