"""The formats there are, and how one is recognised: by its first bytes, by the ending of its name, by its content.

One entry here and one module beside this one add a format. Modules are imported when their format is met.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

from concordant.io._source import Source
from concordant.registry import READERS


@dataclass(frozen=True)
class Format:
    """A file format: its name, the endings of its files, what it holds, what can be done with it."""

    name: str
    endings: tuple[str, ...]
    doc: str
    reads: tuple[str, ...]
    can_write: bool = False
    module: str = ""
    package: str = "concordant.io"

    @property
    def aliases(self) -> tuple[str, ...]:
        """The endings, which name the format too."""
        return tuple(ending.removeprefix(".") for ending in self.endings)

    @property
    def kind(self) -> str:
        """What can be read from it, in words."""
        return ", ".join(self.reads)

    @property
    def can_read(self) -> bool:
        """Whether some reader takes it."""
        return bool(self.reads)

    def load(self) -> Any:
        """Import the module that knows the format."""
        return importlib.import_module(f"{self.package}.{self.module}" if self.package else self.module)


_TABLE = ("preferences", "labels", "features")
FORMATS = (
    Format("csv", (".csv",), "a table of text with commas (or ; | tab)", _TABLE, True, "table"),
    Format("tsv", (".tsv", ".tab"), "a table of text with tabs", _TABLE, True, "table"),
    Format("jsonl", (".jsonl", ".ndjson"), "a table, one JSON object per line", _TABLE, True, "table"),
    Format("json", (".json",), "a table, one JSON list of objects", _TABLE, True, "table"),
    Format("parquet", (".parquet", ".pq"), "a table in columns", _TABLE, True, "table"),
    Format(
        "arrow",
        (".arrow", ".feather", ".ipc"),
        "a table in Arrow memory layout (needs pyarrow)",
        _TABLE,
        False,
        "table",
    ),
    Format("trec", (".run", ".trec"), "TREC runs: topic Q0 document rank score tag", ("preferences",), True, "trec"),
    Format("qrels", (".qrels", ".qrel"), "TREC judgements: topic 0 document relevance", ("labels",), True, "trec"),
    Format(
        "preflib",
        (".soc", ".soi", ".toc", ".toi", ".cat", ".wmd"),
        "PrefLib elections: orders, categories, weighted matching data",
        ("preferences",),
        True,
        "preflib",
    ),
    Format(
        "movielens",
        (),
        "MovieLens ratings without a header: u.data, ratings.dat",
        ("preferences",),
        False,
        "movielens",
    ),
    Format(
        "jester", (), "Jester ratings: a count, then one rating per joke, 99 = none", ("preferences",), False, "jester"
    ),
    Format("sushi", (".order", ".score"), "Sushi orders and scores", ("preferences",), False, "sushi"),
    Format(
        "letor",
        (".letor", ".svm", ".svmlight", ".libsvm"),
        "LETOR and svmlight: label qid:q index:value … # docid = d",
        ("preferences", "labels", "features"),
        False,
        "letor",
    ),
)
_BY_NAME = {one.name: READERS.add(one) for one in FORMATS}
_BY_ENDING = {ending: one for one in FORMATS for ending in one.endings}
_PLAIN_ENDINGS = (".txt", ".dat", ".data")  # these say nothing: the content decides


def named(name: str) -> Format:
    """Return the format of this name."""
    return READERS.find(name.strip().removeprefix("."))


def by_ending(ending: str) -> Format | None:
    """Return the format files of this ending have, of concordant or else of another package."""
    found = _BY_ENDING.get(ending)
    if found is None and ending and ending not in _PLAIN_ENDINGS:
        found = next((one for one in plugin_formats() if ending in one.endings), None)
    return found


def plugin_formats() -> list[Format]:
    """Return the formats other packages read; one that cannot be loaded says so and reads nothing."""
    return [one.entry or Format(one.name, (), one.summary, ()) for one in READERS.listing() if one.name not in _BY_NAME]


def of_package(name: str, module: Any) -> Format:
    """Return the format of a reader of another package: a module with ``FORMAT`` and ``read(sources, options)``."""
    declared = getattr(module, "FORMAT", None)
    if not isinstance(module, ModuleType) or not isinstance(declared, Format) or declared.name != name:
        raise ValueError(f"is no module with FORMAT = Format({name!r}, …)")
    return replace(declared, package="", module=module.__name__, can_write=False)


def _is_jester(head: bytes) -> bool:
    """Whether a csv file is a Jester table; looked at closely only where it is wide and begins with a number."""
    if not head[:1].isdigit() or head.split(b"\n", 1)[0].count(b",") < 20:
        return False
    from concordant.io import jester

    return jester.looks_like_jester(head)


def recognise(source: Source) -> Format:
    """Return the format of an input."""
    head = source.head
    if head.startswith(b"PAR1"):
        return _BY_NAME["parquet"]
    if head.startswith(b"ARROW1") or (source.ending in _BY_NAME["arrow"].endings and head[:4] == b"\xff\xff\xff\xff"):
        return _BY_NAME["arrow"]
    by_name = by_ending(source.ending)
    if by_name is not None and by_name.name not in ("json", "jsonl"):
        return _BY_NAME["jester"] if by_name.name == "csv" and _is_jester(head) else by_name
    if head.lstrip()[:1] in (b"{", b"["):
        return _BY_NAME["json" if head.lstrip()[:1] == b"[" else "jsonl"]
    if by_name is not None:
        return by_name
    from concordant.io import jester, letor, movielens, preflib, sushi, trec

    if head[257:262] == b"ustar":
        raise source.error("this is a tar archive, which may hold many files: unpack it and name the file to read.")
    if preflib.looks_like_preflib(head):
        return _BY_NAME["preflib"]
    if trec.looks_like_run(head):
        return _BY_NAME["trec"]
    if trec.looks_like_qrels(head):
        return _BY_NAME["qrels"]
    if letor.looks_like_letor(head):
        return _BY_NAME["letor"]
    if movielens.looks_like_movielens(head):
        return _BY_NAME["movielens"]
    if sushi.looks_like_sushi(head):
        return _BY_NAME["sushi"]
    if head.startswith(jester.WORKBOOK) or jester.looks_like_jester(head):
        return _BY_NAME["jester"]
    return _BY_NAME["csv"]
