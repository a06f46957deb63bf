"""TREC runs (``topic Q0 document rank score tag``) and qrels (``topic 0 document relevance``).

Fields are separated by white space. A run is one agent, named by its tag; if several files have the same tag, or a file
has no tags, agents are named by file. The second field of a run and of qrels is ignored. The rank column orders the
documents (it may start at 0, and equal ranks are ties), and the score is stored as the value. If every score is the
negative rank, as written for preferences without scores, the rank is the value. Runs in the layout of MS MARCO
(``topic document rank``, perhaps with a score) are read as well.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from concordant import kernels
from concordant.ballots import build
from concordant.ballots.form import refuse_nominal
from concordant.ballots.segments import segment_index
from concordant.ballots.vocabulary import Coded, Vocabulary, shorten
from concordant.errors import InputError, arg
from concordant.io import _fields
from concordant.io._compose import ballot_columns, has_one_ballot_each, has_open, label_columns, left_behind
from concordant.io._formats import Format, Writing
from concordant.io._lines import Lines
from concordant.io._source import Source, names_of
from concordant.labels import Labels, refuse_classes
from concordant.preferences import Preferences
from concordant.ranking import Ranking
from concordant.registry import METHODS
from concordant.support.limits import NUMBERS, bad_numbers
from concordant.tables.bad_rows import RowScreen
from concordant.tables.options import LABELS, PREFERENCES, Options
from concordant.types import AnyArray, Floats, Int64s
from concordant.views import competition_ranks

RUN = "topic Q0 document rank score tag"
QRELS = "topic 0 document relevance"
TOPIC, DOCUMENT, RANK, SCORE, TAG = range(5)  # the fields of a run once they are in this order


# The fields of topic, document, rank, score and tag, by the number of fields of a line; the last field is always empty.
LAYOUTS = {6: (0, 2, 3, 4, 5), 5: (0, 2, 3, 4, 6), 4: (0, 1, 2, 3, 6), 3: (0, 1, 2, 6, 6)}
SHOWN = {6: RUN, 5: "topic Q0 document rank score", 4: "topic document rank score", 3: "topic document rank"}

FORMATS = (
    Format(
        *("trec", (".run", ".trec"), f"TREC runs: {RUN}; MS MARCO runs: topic document rank", (PREFERENCES,), True),
        module=__name__,
        sniff=_fields.is_run,
        borrows=(".tsv", ".tab"),
    ),
    Format(
        *("qrels", (".qrels", ".qrel"), f"TREC judgements: {QRELS}", (LABELS,), True, __name__),
        sniff=_fields.is_judged,
        borrows=(".tsv", ".tab"),
    ),
)


def read(sources: Sequence[Source], options: Options) -> Preferences:
    """Read runs as preferences: instances are topics, agents are runs."""
    options.refuse_roles("TREC runs")
    rows = _Runs(sources, options)
    rank = rows.number(RANK)
    rows.refuse_not_finite(rank, RANK, "rank")
    score = None
    if rows.has_scores:
        score = rows.number(SCORE)
        rows.refuse_not_finite(score, SCORE, "score")
    topic, document, agent = rows.text(TOPIC), rows.text(DOCUMENT), _agents(rows)
    parts = _gather(rows, topic, document, agent, rank, score)
    if kernels.find_repeated(parts["indptr"], parts["item"], len(parts["items"]))[0] >= 0:
        rows.lines.refuse_repeats(rows, (topic, agent, document), "occurs twice in one topic of a run")
        parts = _gather(rows, topic, document, agent, rank, score)
    n_runs = len(parts["agents"])
    count = f"{rows.lines.name}: {rows.count:,} lines of {n_runs} TREC run{'s' * (n_runs != 1)}"
    prefs = Preferences(**parts, notes=[count, *rows.remarks, *rows.notes()])
    return prefs.noted(*_lost_ranks(prefs, rank[rows.good]))


def _lost_ranks(prefs: Preferences, rank: Floats) -> list[str]:
    """Return a note if the ranks are not 1, 2, 3, …, because only the order of the documents is kept."""
    places, ranks = np.sort(competition_ranks(prefs)), np.sort(rank)
    if prefs.scale == "rank" or np.array_equal(ranks, places) or np.array_equal(ranks, places - 1):
        return []
    return ["the rank column is not 1, 2, 3, …: it orders the documents, but its numbers are not kept"]


def read_labels(sources: Sequence[Source], options: Options) -> Labels:
    """Read qrels as labels."""
    options.refuse_roles("qrels")
    rows = _Fields(Lines(sources), 4, QRELS, options)
    relevance = rows.number(3)
    rows.refuse_not_finite(relevance, 3, "relevance")
    topic, document = rows.text(0), rows.text(2)
    rows.lines.refuse_repeats(rows, (topic, document), "is judged twice for one topic")
    return Labels(rows.kept(topic), rows.kept(document), relevance[rows.good])


def _gather(rows: _Fields, topic: Coded, document: Coded, agent: Coded, rank: Any, score: Any) -> build.Parts:
    """Build one ballot per topic and run, ordered by rank, with scores as values."""
    topic, document, agent = map(rows.kept, (topic, document, agent))
    good = slice(None) if rows.good.all() else rows.good
    if score is None:
        return build.gather_rows(document, rank[good], scale="rank", agent=agent, instance=topic)
    rank, score = rank[good], score[good]
    if np.array_equal(score, -rank):  # what is written of ranks without scores: the scores say no more
        return build.gather_rows(document, rank, scale="rank", agent=agent, instance=topic)
    return build.gather_rows(document, score, scale="rating", agent=agent, instance=topic, level=rank)


class _Fields(RowScreen):
    """Lines with a fixed number of fields."""

    def __init__(self, lines: Lines, width: int, layout: str, options: Options) -> None:
        """Split the lines into fields with the kernel; reject lines with a different number of fields."""
        self.lines = lines
        start, end, line, self._count = kernels.split_fields(self.lines.data, width)
        self.lines.line = line
        self._start: Int64s = start.reshape(-1, width)
        self._end: Int64s = end.reshape(-1, width)
        super().__init__(self.lines, len(line), options)
        self._check(self._widths(width), layout)

    def _widths(self, width: int) -> Int64s:
        """Return the number of fields that each line must have."""
        return np.full(len(self.good), width)

    def _check(self, width: Int64s, layout: str) -> None:
        """Reject lines with another number of fields."""

        def explain(row: int) -> str:
            expected = int(width[row])
            return f"the line has {self._count[row]} fields, but {SHOWN.get(expected, layout)!r} has {expected}"

        self.refuse(self._count != width, f"the line does not have the fields of {layout!r}", explain)
        if not self.good.any():
            raise self.lines.error(-1, "no line could be read: check that this is the right file.")

    def text(self, field: int) -> Coded:
        return self.lines.text(self._start[:, field], self._end[:, field])

    def number(self, field: int) -> Any:
        return self.lines.numbers(self._start[:, field], self._end[:, field])

    def refuse_not_finite(self, values: Any, field: int, what: str) -> None:
        """Reject lines in which this field is not a finite number."""

        def explain(row: int) -> str:
            cell = self.lines.cell(int(self._start[row, field]), int(self._end[row, field]))
            return f"the {what} is {shorten(cell)!r}, not {NUMBERS}"

        self.refuse(bad_numbers(values), f"the {what} is not a number", explain)


class _Runs(_Fields):
    """The lines of runs; each file has the number of fields of its first line."""

    def __init__(self, sources: Sequence[Source], options: Options) -> None:
        """Split the lines, and bring topic, document, rank, score and tag into this order."""
        self.width_by_file = np.array([_fields.widths(_fields.fields_of(source.head), 6) for source in sources])
        super().__init__(Lines(sources), 7, RUN, options)
        self.file = self.lines.file_of_rows()
        if set(self.width_by_file.tolist()) != {6}:
            layout = np.array([LAYOUTS.get(k, LAYOUTS[6]) for k in range(7)])[self.width_by_file[self.file]]
            self._start, self._end = (np.take_along_axis(ends, layout, 1) for ends in (self._start, self._end))
        else:
            self._start, self._end = (ends[:, LAYOUTS[6]] for ends in (self._start, self._end))

    def _widths(self, width: int) -> Int64s:
        return self.width_by_file[self.lines.file_of_rows()]

    @property
    def has_scores(self) -> bool:
        """Whether every file has scores."""
        return 3 not in self.width_by_file

    @property
    def remarks(self) -> list[str]:
        """Notes on scores that are not read."""
        if self.has_scores or set(self.width_by_file.tolist()) == {3}:
            return []
        return ["the scores are not read, because some of the runs have ranks only"]


def _agents(rows: _Runs) -> Coded:
    """Return the agent of each line: its tag, or its file if it has no tag or several files share a tag."""
    tag, tags = rows.text(TAG)
    sources, is_tagged = rows.lines.sources, rows.width_by_file == 6
    if len(sources) == 1:
        return (tag, tags) if is_tagged[0] else (np.zeros(len(tag), np.int32), Vocabulary([sources[0].stem]))
    tag = np.where(is_tagged[rows.file], tag, len(tags))  # whatever an odd line has there
    pair, first = kernels.encode_ints(np.ascontiguousarray(rows.file * (len(tags) + 1) + tag))
    file_of_pair, tag_of_pair = rows.file[first].tolist(), tag[first].tolist()
    if is_tagged.all() and len(set(tag_of_pair)) == len(tag_of_pair):
        return tag, tags
    names = names_of(sources)
    labels = [
        names[file] if file_of_pair.count(file) == 1 or not is_tagged[file] else f"{names[file]} {tags[tag_code]}"
        for file, tag_code in zip(file_of_pair, tag_of_pair, strict=True)
    ]
    return pair, Vocabulary(labels)


# ---- writing ----
def write(data: Any, how: Writing) -> tuple[bytes, list[str]]:
    """Return the content of qrels, or of runs: one for a ranking, or one per agent for preferences."""
    if how.kind.name == "qrels":
        lines, notes = _qrels_lines(data)
    elif isinstance(data, Ranking):
        lines, notes = _lines_of_ranking(data, how.tag)
    elif isinstance(data, Preferences):
        lines, notes = _lines_of_preferences(data, how.tag)
    else:
        raise InputError(f"A {type(data).__name__} cannot be written as a run: give a ranking or preferences.")
    return "".join(lines).encode("utf-8"), notes


def _topics(table: Mapping[str, Any], n: int) -> tuple[list[str], list[str]]:
    """Return the topic of each row, and a note if the instance has no name."""
    if "instance" in table:
        return table["instance"], []
    return ["1"] * n, ["the only instance has no name; its topic is written as 1"]


def _qrels_lines(data: object) -> tuple[list[str], list[str]]:
    """Return the lines of a qrels file."""
    if not isinstance(data, Labels):
        raise InputError(f"Only labels can be written as qrels, not a {type(data).__name__}: choose another format.")
    refuse_classes(data)
    table = label_columns(data)
    topics, notes = _topics(table, len(data))
    _refuse_spaces({"topic": topics, "document": table["item"]})
    if (data.label != np.floor(data.label)).any():
        raise InputError(
            "Labels in qrels must be whole numbers, but some are not: write a table instead (csv, jsonl, parquet)."
        )
    rows = zip(topics, table["item"], data.label.astype(np.int64).tolist(), strict=True)
    return [f"{topic} 0 {document} {label}\n" for topic, document, label in rows], notes


def _lines_of_ranking(ranking: Ranking, tag: str | None) -> tuple[list[str], list[str]]:
    """Return the lines of a run, tagged by ``tag`` or the method."""
    table = ranking.columns()
    topics, notes = _topics(table, len(table["item"]))
    name = tag or re.sub(r"\s+", "-", METHODS.spelled(ranking.method, ranking.params)) or "concordant"
    return _run(topics, table["item"], table["rank"], table["score"], [name] * len(topics)), notes


def _lines_of_preferences(prefs: Preferences, tag: str | None) -> tuple[list[str], list[str]]:
    """Return the lines of one run per agent; if there are no scores, the negative rank is written."""
    refuse_nominal(prefs, "A run")
    if has_open(prefs):
        raise InputError(
            "Open (top-k) ballots cannot be written as a run: use " + arg("format", "csv", of="write") + " instead."
        )
    ballot, notes = segment_index(prefs.indptr), left_behind(prefs, "run")
    if not has_one_ballot_each(prefs):
        raise InputError(
            "A run has one ballot per agent and instance, but here some have several: name the agents, or write csv."
        )
    if (prefs.weight != 1).any():
        raise InputError(
            "A run cannot store weights, but these ballots have weights: write a table instead (csv, jsonl, parquet)."
        )
    rank: AnyArray = competition_ranks(prefs)
    score: AnyArray | None = prefs.value
    if score is None or prefs.scale == "rank":
        rank = rank if score is None else score
        score = -rank
        notes.append("a run needs scores: the negative rank is written")
    table = ballot_columns(prefs, ballot)
    topics, unnamed = _topics(table, len(ballot))
    tags = table.get("agent", [tag or "concordant"] * len(ballot))
    return _run(topics, prefs.items.take(prefs.item), rank, score, tags), [*notes, *unnamed]


def _run(
    topics: Sequence[str], documents: Sequence[str], rank: AnyArray, score: AnyArray, tags: Sequence[str]
) -> list[str]:
    """Return the lines ``topic Q0 document rank score tag``."""
    _refuse_spaces({"topic": topics, "document": documents, "tag": tags})
    rows = zip(topics, documents, rank.tolist(), score.tolist(), tags, strict=True)
    return [
        f"{topic} Q0 {document} {_written(rank_value)} {score_value!r} {tag}\n"
        for topic, document, rank_value, score_value, tag in rows
    ]


def _written(rank: float) -> str:
    """Return a rank as text; whole numbers have no decimal point."""
    return repr(int(rank) if float(rank).is_integer() else rank)


def _refuse_spaces(fields: Mapping[str, Sequence[str]]) -> None:
    """Reject labels that are empty or contain white space."""
    for what, labels in fields.items():
        for label in set(labels):
            if label == "" or re.search(r"\s|\0|[\ud800-\udfff]", label):
                raise InputError(
                    f"The {what} {shorten(label)!r} is empty or contains white space, which this format cannot "
                    "represent: rename it, or write a table (csv, jsonl, parquet)."
                )
