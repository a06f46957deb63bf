"""The formats there are, and how one is recognised: by its first bytes, by the ending of its name, by its content.

One entry here and one module beside this one add a format. Modules are imported when their format is met.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

from concordant.errors import UnknownNameError, suggest
from concordant.io._source import Source


@dataclass(frozen=True)
class Format:
    """A file format: its name, the endings of its files, what it holds, what can be done with it."""

    name: str
    endings: tuple[str, ...]
    doc: str
    reads: tuple[str, ...]
    can_write: bool
    module: str

    @property
    def can_read(self) -> bool:
        """Whether some reader takes it."""
        return bool(self.reads)

    def load(self) -> Any:
        """Import the module that knows the format."""
        return importlib.import_module(f"concordant.io.{self.module}")


_TABLE = ("preferences", "labels")
FORMATS = (
    Format("csv", (".csv",), "a table of text with commas (or ; | tab)", _TABLE, True, "table"),
    Format("tsv", (".tsv", ".tab"), "a table of text with tabs", _TABLE, True, "table"),
    Format("jsonl", (".jsonl", ".ndjson"), "a table, one JSON object per line", _TABLE, True, "table"),
    Format("json", (".json",), "a table, one JSON list of objects", _TABLE, True, "table"),
    Format("parquet", (".parquet", ".pq"), "a table in columns", _TABLE, True, "table"),
    Format(
        "arrow",
        (".arrow", ".feather", ".ipc"),
        "a table in Arrow memory layout (needs pyarrow or polars)",
        _TABLE,
        False,
        "table",
    ),
    Format("trec", (".run", ".trec"), "TREC runs: topic Q0 document rank score tag", ("preferences",), True, "trec"),
    Format("qrels", (".qrels", ".qrel"), "TREC judgements: topic 0 document relevance", ("labels",), True, "trec"),
    Format(
        "letor",
        (".letor", ".svm", ".svmlight", ".libsvm"),
        "LETOR and svmlight: label qid:q index:value … # docid = d",
        ("preferences", "labels", "features"),
        False,
        "letor",
    ),
)
_BY_NAME = {one.name: one for one in FORMATS}
_BY_ENDING = {ending: one for one in FORMATS for ending in one.endings}


def named(name: str) -> Format:
    """Return the format of this name."""
    plain = name.strip().lower().removeprefix(".")
    found = _BY_NAME.get(plain) or _BY_ENDING.get("." + plain)
    if found is None:
        raise UnknownNameError(
            f"There is no format {name!r}.{suggest(plain, list(_BY_NAME))} Formats are {', '.join(_BY_NAME)}."
        )
    return found


def by_ending(ending: str) -> Format | None:
    """Return the format files of this ending have."""
    return _BY_ENDING.get(ending)


def recognise(source: Source) -> Format:
    """Return the format of an input."""
    head = source.head
    if head.startswith(b"PAR1"):
        return _BY_NAME["parquet"]
    if head.startswith(b"ARROW1") or (source.ending in _BY_NAME["arrow"].endings and head[:4] == b"\xff\xff\xff\xff"):
        return _BY_NAME["arrow"]
    by_name = _BY_ENDING.get(source.ending)
    if by_name is not None and by_name.name not in ("json", "jsonl"):
        return by_name
    if head.lstrip()[:1] in (b"{", b"["):
        return _BY_NAME["json" if head.lstrip()[:1] == b"[" else "jsonl"]
    if by_name is not None:
        return by_name
    if head.startswith((b"# FILE NAME", b"# TITLE")):
        raise source.error("this is a PrefLib file, which this version does not read: convert it to csv.")
    from concordant.io import letor, trec

    if trec.looks_like_run(head):
        return _BY_NAME["trec"]
    if trec.looks_like_qrels(head):
        return _BY_NAME["qrels"]
    if letor.looks_like_letor(head):
        return _BY_NAME["letor"]
    return _BY_NAME["csv"]
