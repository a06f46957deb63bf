"""LETOR files: rank aggregation (``label qid:q 1:rank 2:NULL … #docid = d``) and feature rows (svmlight).

An aggregation file has one document per line with its rank in each of K lists. The lists are the agents ``1`` … ``K``,
the query is the instance, and every document is a candidate even if no list ranks it. Without a ``docid``, a document
is named by its position in its query. Feature files have the same layout with real values; absent features are zero.
Rows without qid are assigned to queries by the query sizes, one per line, in ``NAME.query`` or ``NAME.group`` next to
the file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from concordant import kernels
from concordant.ballots import build
from concordant.ballots.segments import segment_index
from concordant.ballots.vocabulary import Coded, Vocabulary, renumber
from concordant.errors import action, arg, clause
from concordant.io._formats import Format
from concordant.io._lines import Lines
from concordant.io._source import COMPRESSIONS, Source
from concordant.io.formats.features import Features
from concordant.labels import Labels
from concordant.preferences import Preferences
from concordant.support import memory
from concordant.support.limits import NUMBERS, bad_numbers
from concordant.tables.bad_rows import RowScreen, refuse_lines
from concordant.tables.options import FEATURES, LABELS, PREFERENCES, Options
from concordant.types import Int64s

_ROW = re.compile(rb"[-+.\deE]+\s+(?:qid:\S+\s+)?\d+:\S+(?:\s|$)")
_TROUBLES = {
    1: "the row does not begin with a label that is a number",
    2: "a field is not of the form index:value",
    3: "the index before a colon is not a whole number",
    4: "the value after a colon is neither a number nor NULL",
}
MAX_LISTS = 1_000_000  # one index may name a list beyond all memory
MAX_SPARSITY, SMALL = 100, 64 << 20  # maximum cells per value of a dense matrix of more than SMALL bytes
NAME = 64  # bytes for the name of a column


def _looks_like(head: bytes) -> bool:
    """Return whether the first row has the form ``label qid:q index:value``."""
    lines = (line.strip() for line in head.split(b"\n"))
    first = next((line for line in lines if line and not line.startswith(b"#")), b"")
    return _ROW.match(first) is not None


FORMATS = (
    Format(
        "letor",
        (".letor", ".svm", ".svmlight", ".libsvm"),
        "LETOR and svmlight: label qid:q index:value … # docid = d",
        (PREFERENCES, LABELS, FEATURES),
        module=__name__,
        sniff=_looks_like,
    ),
)


def read(sources: Sequence[Source], options: Options) -> Preferences:
    """Read aggregation files as preferences."""
    options.refuse_roles("LETOR files")
    rows = _Letor(sources, options)
    rows.refuse_non_ranks()
    query, document = rows.queries(), rows.documents()
    rows.lines.refuse_repeats(rows, (query, document), "occurs twice in its query")
    good = rows.good
    instance, item = rows.kept(query), rows.kept(document)
    entries = np.flatnonzero(np.repeat(good, np.diff(rows.ptr)) & ~np.isnan(rows.value))
    new_row = np.full(len(good), -1, np.int64)
    new_row[good] = np.arange(len(instance[0]))
    row_of_entry = new_row[segment_index(rows.ptr)[entries]]
    n_lists = int(rows.index.max(initial=0))
    if n_lists > MAX_LISTS:
        bad_row = int(segment_index(rows.ptr)[np.argmax(rows.index)])
        raise rows.lines.error(
            bad_row, f"there is a list numbered {n_lists:,}, but the limit is {MAX_LISTS:,}: check the index."
        )
    agents = Vocabulary([str(k) for k in range(1, n_lists + 1)])
    parts = build.gather_rows(
        (item[0][row_of_entry], item[1]),
        rows.value[entries],
        scale="rank",
        agent=(rows.index[entries] - 1, agents),
        instance=(instance[0][row_of_entry], instance[1]),
    )
    by_instance = np.argsort(instance[0], kind="stable")
    parts["slot_item"] = item[0][by_instance]
    parts["slot_ptr"] = np.searchsorted(instance[0][by_instance], np.arange(len(instance[1]) + 1))
    unranked = int((np.bincount(row_of_entry, minlength=rows.count) == 0).sum())
    note = f"{rows.lines.name}: {rows.count:,} documents of {len(instance[1]):,} queries in {len(agents)} lists"
    unranked_note = [f"{unranked:,} documents occur in no list; they remain candidates"] if unranked else []
    return Preferences(**parts, notes=[note, *unranked_note, *rows.notes()])


def read_labels(sources: Sequence[Source], options: Options) -> Labels:
    """Read the labels of aggregation or feature files, with the same document names as ``read``."""
    options.refuse_roles("LETOR files")
    rows = _Letor(sources, options)
    query, document = rows.queries(), rows.documents()
    rows.lines.refuse_repeats(rows, (query, document), "occurs twice in its query")
    return Labels(rows.kept(query), rows.kept(document), rows.label[rows.good])


def read_features(sources: Sequence[Source], options: Options) -> Features:
    """Read feature rows; absent features are 0, NULL is NaN."""
    options.refuse_roles("LETOR files")
    has_labels, n_features, dtype = options.roles.get("label") is not False, options.n_features, options.dtype
    rows = _Letor(sources, options)
    good = rows.good
    base = 0 if (rows.index == 0).any() else 1  # svmlight counts from 1; a file that has an index 0 does not
    width = int(rows.index.max(initial=base - 1)) - base + 1
    row = segment_index(rows.ptr)
    if n_features is not None and width > n_features:
        bad_row = int(row[np.argmax(rows.index)])
        raise rows.lines.error(
            bad_row,
            f"feature {width - 1 + base} exceeds the expected number of features ({n_features})"
            + clause(": raise ", arg("n_features"))
            + ".",
        )
    width = width if n_features is None else n_features
    _refuse_too_wide(rows, row, width, options)
    rows.refuse_repeated_features(row)
    X = np.zeros((len(good), width), dtype)
    X[row, rows.index - base] = rows.value
    query = rows.queries(required=False)
    good = rows.good
    codes, queries = (np.zeros(rows.count, np.int32), None) if query is None else rows.kept(query)
    of_queries = f" of {len(queries):,} queries" if queries is not None else ", all of one query (no qid)"
    return Features(
        X if good.all() else X[good],
        rows.label[good] if has_labels else np.zeros(rows.count),
        codes.astype(np.int64),
        names=[str(k) for k in range(base, base + width)],
        queries=queries,
        items=rows.named_documents(),
        has_labels=has_labels,
        notes=[f"{rows.lines.name}: {rows.count:,} rows{of_queries}, {width} features", *rows.notes()],
    )


def _refuse_too_wide(rows: _Letor, row: Int64s, width: int, options: Options) -> None:
    """Reject a dense matrix that does not fit into memory, or that is nearly empty and whose width was not given."""
    cells = float(len(rows.good)) * width
    needed = cells * np.dtype(options.dtype).itemsize + NAME * float(width)
    is_meant = options.n_features is not None or cells <= MAX_SPARSITY * len(rows.value)
    if needed > SMALL and not (is_meant and memory.fits(needed)):
        bad_row, largest = int(row[np.argmax(rows.index)]), int(rows.index.max(initial=0))
        message = f"feature {largest} makes the dense matrix too large ({memory.shown(needed)}"
        if is_meant:
            raise rows.lines.error(bad_row, f"{message}): check the index, or allow more with {memory.VARIABLE}=.")
        todo = "check the index, number the features without gaps, or in Python give " + arg("n_features")
        raise rows.lines.error(bad_row, f"{message} for {len(rows.value):,} values): " + todo + ".")


def companion_sizes(source: Source) -> Int64s | None:
    """Return the query sizes from ``NAME.query`` or ``NAME.group`` next to a file; None if there is no such file."""
    folder, stem = os.path.dirname(source.name), source.stem
    for ending in (".query", ".group"):
        for packing in ("", *COMPRESSIONS):
            path = os.path.join(folder, stem + ending + packing)
            if os.path.isfile(path):
                return _sizes(path, source)
    return None


def _sizes(path: str, data_source: Source) -> Int64s:
    """Read the query sizes, one per line."""
    with Source(path, replace(data_source.options, encoding=None)) as source:
        sizes = []
        for line, text in source.lines():
            if text.strip():
                if not re.fullmatch(r"\s*[0-9]{1,18}\s*", text):
                    raise source.error("the line must contain the size of one query, a whole number.", line)
                sizes.append(int(text))
        return np.array(sizes, np.int64)


class _Letor(RowScreen):
    """The parsed rows of some LETOR files."""

    def __init__(self, sources: Sequence[Source], options: Options) -> None:
        """Parse the rows with the kernel; reject lines that could not be parsed and labels that are not numbers."""
        self.lines = Lines(sources)
        parsed = kernels.parse_letor(self.lines.data)
        self.label, self.ptr, self.index, self.value = parsed.label, parsed.ptr, parsed.feature, parsed.value
        self._query = parsed.query_start, parsed.query_end
        self._document = parsed.document_start, parsed.document_end
        self.lines.line, self._bad_line = parsed.line, parsed.bad_line
        super().__init__(self.lines, len(self.label), options)
        bad = {
            _TROUBLES[k]: parsed.bad_line[parsed.bad_kind == k].tolist() for k in np.unique(parsed.bad_kind).tolist()
        }
        self._bad = refuse_lines(bad, self.lines.at_line, options)
        if not len(self.label):
            raise self.lines.error(-1, "there are no rows of data: check that this is the right file.")
        self.refuse(bad_numbers(self.label), f"the label is not {NUMBERS}")

    def notes(self) -> list[str]:
        return self._bad + super().notes()

    def queries(self, required: bool = True) -> Any:
        """Return the query of each row from its qid or from query size files.

        None if there are neither, unless required.
        """
        start, end = self._query
        if (start < 0).all():
            from_sizes = self._companion_queries()
            if from_sizes is not None or not required:
                return from_sizes
        self.refuse(start < 0, "the row has no qid")
        return self.lines.text(np.maximum(start, 0), np.maximum(end, 0))

    def _companion_queries(self) -> Coded | None:
        """Return the queries of rows without qid from the query size files; None unless every file has one."""
        sizes = [companion_sizes(source) for source in self.lines.sources]
        if any(size is None for size in sizes):
            return None
        all_lines = np.sort(np.concatenate([self.lines.line, self._bad_line]))
        file = np.searchsorted(self.lines._first_line, all_lines - 1, side="right") - 1
        for k, (source, size) in enumerate(zip(self.lines.sources, sizes, strict=True)):
            if size is not None and size.sum() != (file == k).sum():
                raise source.error(
                    f"the sizes in its query file add up to {int(size.sum()):,}, but the file has "
                    f"{int((file == k).sum()):,} "
                    "rows: check that the two files belong together."
                )
        joined = np.concatenate([size for size in sizes if size is not None])
        query_of_line = np.repeat(np.arange(len(joined)), joined)
        names = Vocabulary([str(k) for k in range(1, len(joined) + 1)])
        return renumber(query_of_line[np.searchsorted(all_lines, self.lines.line)], names)  # a query may be empty

    def documents(self) -> Coded:
        """Return the document of each row: its docid, or its position in its query if there is none."""
        start, end = self._document
        if (start >= 0).all():
            return self.lines.text(start, end)
        self.refuse((start < 0) & (start >= 0).any(), "the row has no docid, but others have one")
        query = self.queries()[0]
        order = np.argsort(query, kind="stable")
        begin = np.searchsorted(query[order], query[order])
        position = np.empty(len(query), np.int64)
        position[order] = np.arange(len(query)) - begin + 1
        codes, first = kernels.encode_ints(position)
        return codes, Vocabulary([str(k) for k in position[first].tolist()])

    def named_documents(self) -> list[str] | None:
        """Return the docid of every good row; None if some rows have none."""
        start, end = self._document
        if not (start[self.good] >= 0).all():
            return None
        codes, vocabulary = self.lines.text(start[self.good], end[self.good])
        return [vocabulary[code] for code in codes.tolist()]

    def refuse_non_ranks(self) -> None:
        """Reject rows with a value that is not a rank (a whole number from 0), or with a list numbered 0."""
        is_no_rank = ~np.isnan(self.value) & ((self.value < 0) | (self.value != np.floor(self.value)))
        is_list_zero = self.index == 0
        row = segment_index(self.ptr)
        bad = np.zeros(len(self.good), bool)
        bad[row[is_no_rank | is_list_zero]] = True

        def explain(bad_row: int) -> str:
            entry = int(np.flatnonzero((is_no_rank | is_list_zero) & (row == bad_row))[0])
            if is_list_zero[entry]:
                return "a list has the number 0, but lists are numbered from 1"
            return f"field {self.index[entry]} is {self.value[entry]:g}, which is not a rank" + action(
                "features", "; feature rows are read with read_features, labels with read_labels"
            )

        self.refuse(bad, "a value is not a rank", explain)

    def refuse_repeated_features(self, row: Int64s) -> None:
        """Reject rows that give a feature twice."""
        descents = np.flatnonzero((np.diff(self.index) <= 0) & (np.diff(row) == 0))
        if not len(descents):
            return
        order = np.lexsort((self.index, row))
        is_repeat = (np.diff(self.index[order]) == 0) & (np.diff(row[order]) == 0)
        bad = np.zeros(len(self.good), bool)
        bad[row[order][1:][is_repeat]] = True
        self.refuse(bad, "a feature is given twice")
