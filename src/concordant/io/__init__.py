"""Readers and writers: files of any known form in, preferences, labels or features out, and back.

The format is recognised by name and content, compression (gz, xz, bz2, zst, zip) by content; column roles are guessed
from names. What was understood is said in the ``notes`` of the result.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import ExitStack
from typing import IO, TYPE_CHECKING, Any

from concordant.errors import ConcordantError, FormatError, InputError
from concordant.io._formats import FORMATS, Format, named, plugin_formats, recognise
from concordant.io._options import Options
from concordant.io._source import MAX_BYTES, MAX_RATIO, PathLike, Source

if TYPE_CHECKING:
    from concordant.io.features import Features
    from concordant.labels import Labels
    from concordant.preferences import Preferences
    from concordant.ranking import Ranking

__all__ = ["Format", "Options", "Source", "formats", "read", "read_features", "read_labels", "write"]

Paths = PathLike | IO[Any] | Sequence[PathLike]


def read(
    path: Paths,
    *,
    format: str | None = None,
    form: str | None = None,
    strict: bool = False,
    skip_bad_rows: bool = False,
    encoding: str | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    categories: Sequence[str] | str | None = None,
    merge: bool = False,
    max_bytes: int = MAX_BYTES,
    max_ratio: float = MAX_RATIO,
    **roles: object,
) -> Preferences:
    """Read preferences from a file (``"-"`` is standard input); several tables, TREC runs or LETOR files are one.

    ``roles`` name columns of a table: ``winner="chosen"``, ``item=2`` (a position), ``places=["c1", "c2"]``;
    ``instance=None`` says that no column is the instance, whatever its name, and likewise for every other role.
    ``form`` says how the table is meant where its columns allow several readings. The first row that cannot be used
    is an error with its line; ``skip_bad_rows`` leaves such rows out and counts them in the notes, ``strict`` refuses
    also what is otherwise tolerated with a note. ``time`` names a column of dates to sort the rows of pairs by.

    ``merge`` joins equal ballots and adds their weights while reading, so that a table of pairs may be larger than
    memory; the order of events is lost, and the agents of pairs are kept only where ``agent=`` names their column.
    ``categories`` orders the categories of a PrefLib cat file, best first. ``max_bytes`` and ``max_ratio`` bound what
    a compressed file may unpack into.
    """
    named_categories = categories.split(",") if isinstance(categories, str) else categories
    options = Options(form, strict, skip_bad_rows, delimiter, header, roles, named_categories, merge)
    return _read("preferences", path, format, options, encoding, max_bytes, max_ratio)  # type: ignore[no-any-return]


def read_labels(
    path: Paths,
    *,
    format: str | None = None,
    strict: bool = False,
    skip_bad_rows: bool = False,
    encoding: str | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    max_bytes: int = MAX_BYTES,
    max_ratio: float = MAX_RATIO,
    **roles: object,
) -> Labels:
    """Read known relevance: qrels, the labels of LETOR files, or a table with item, label and perhaps instance."""
    options = Options(None, strict, skip_bad_rows, delimiter, header, roles)
    return _read("labels", path, format, options, encoding, max_bytes, max_ratio)  # type: ignore[no-any-return]


def read_features(
    path: Paths | Any,
    *,
    label: str | int | bool | None = None,
    query: str | int | bool | None = None,
    item: str | int | bool | None = None,
    weight: str | int | None = None,
    features: Sequence[str] | str | None = None,
    format: str | None = None,
    n_features: int | None = None,
    dtype: str = "float64",
    strict: bool = False,
    skip_bad_rows: bool = False,
    encoding: str | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    max_bytes: int = MAX_BYTES,
    max_ratio: float = MAX_RATIO,
) -> Features:
    """Read feature rows: the tuple (X dense, y, query code of every row in order of appearance), with names and notes.

    LETOR and svmlight files are read as they are: absent features are 0, ``NULL`` is NaN, several files are one set.
    Of a table (csv, jsonl, parquet, …) or a DataFrame, ``label`` and ``query`` name the columns where their names do
    not say it, ``item`` the documents, ``weight`` the weight of every row (only where asked for), ``features`` the
    columns to learn from (by default all other columns of numbers); empty cells are NaN. ``label=False`` reads rows
    without labels, ``label="?"`` takes them where there are any. ``n_features`` fixes the width, so that parts of a
    set agree.
    """
    from concordant.io.features import features_of_table, refuse_bad_type

    refuse_bad_type(dtype)
    roles = {"label": label, "query": query, "item": item, "weight": weight, "features": features}
    options = Options(None, strict, skip_bad_rows, delimiter, header, {k: v for k, v in roles.items() if v is not None})
    if _is_frame(path):
        from concordant.frames import FrameTable

        return features_of_table(
            FrameTable(path),
            options.roles,
            strict=strict,
            skip_bad_rows=skip_bad_rows,
            n_features=n_features,
            dtype=dtype,
        )
    more = {"n_features": n_features, "dtype": dtype}
    return _read("features", path, format, options, encoding, max_bytes, max_ratio, **more)  # type: ignore[no-any-return]


def _is_frame(path: object) -> bool:
    return not isinstance(path, (str, os.PathLike, list, tuple)) and not hasattr(path, "read")


def write(
    data: Preferences | Ranking | Labels,
    path: PathLike | IO[Any],
    *,
    format: str | None = None,
    form: str | None = None,
    tag: str | None = None,
    spreadsheet: bool = False,
) -> list[str]:
    """Write preferences, a ranking or labels; the format and compression follow the name, ``"-"`` is standard output.

    Tables take the form that carries everything (pairs, ranks, ratings or rankings), or the ``form`` asked for.
    The file appears whole or not at all. ``spreadsheet`` puts an apostrophe before csv cells that begin with a sign of
    a formula (``=``, ``+``, ``-``, ``@``), so that a spreadsheet shows and does not run them. Returned are sentences on
    what the format cannot carry.
    """
    from concordant.io._write import write as write_data

    return write_data(data, path, format=format, form=form, tag=tag, spreadsheet=spreadsheet)


def formats() -> list[Format]:
    """List the formats, also those other packages read: name, endings, doc, can_read, can_write."""
    return [*FORMATS, *plugin_formats()]


def _read(
    what: str,
    path: Paths,
    format: str | None,
    options: Options,
    encoding: str | None,
    max_bytes: int,
    max_ratio: float,
    **more: object,
) -> Any:
    paths: list[Any] = list(path) if isinstance(path, (list, tuple)) else [path]
    if not paths:
        raise InputError("No file was named: give at least one path.")
    try:
        with ExitStack() as stack:
            sources = [
                stack.enter_context(Source(one, encoding=encoding, max_bytes=max_bytes, max_ratio=max_ratio))
                for one in paths
            ]
            kind = _common_kind(sources, format)
            return _read_as(what, kind, sources, options, more)
    except (ConcordantError, OSError):
        raise
    except MemoryError:
        raise FormatError("it does not fit into memory: read a part of it.", path=_shown(paths)) from None
    except Exception as problem:  # the last line of defence: whatever a file holds, its reader says so in a sentence
        why = (str(problem).splitlines() or [""])[0][:100]
        raise FormatError(
            f"the reader failed ({type(problem).__name__}: {why}): check the file and the options; "
            "if they are sound, please report this.",
            path=_shown(paths),
        ) from problem


def _shown(paths: Sequence[Any]) -> str:
    first = paths[0]
    name = os.fspath(first) if isinstance(first, (str, os.PathLike)) else str(getattr(first, "name", "the open file"))
    return name if len(paths) == 1 else f"{name} …"


def _common_kind(sources: Sequence[Source], format: str | None) -> Format:
    kinds = [named(format) if format is not None else recognise(source) for source in sources]
    for source, other in zip(sources, kinds, strict=True):
        if other != kinds[0]:
            raise source.error(f"this looks like {other.name}, the first file like {kinds[0].name}: say format=.")
    return kinds[0]


def _read_as(what: str, kind: Format, sources: Sequence[Source], options: Options, more: dict[str, object]) -> Any:
    if what not in kind.reads:
        raise sources[0].error(_redirect(what, kind))
    if options.categories is not None and kind.name != "preflib":
        raise sources[0].error(f"categories= is for PrefLib's cat files, this is {kind.name}: leave it out.")
    module = kind.load()
    if kind.module == "table" and kind.package:
        more["kind"] = kind.name
    reader = getattr(module, {"preferences": "read"}.get(what, f"read_{what}"))
    found = reader(sources, options, **more)
    # Tables merge while they are read; what another format holds is in memory already.
    return found.merge() if options.merge and not found.is_merged else found


def _redirect(what: str, kind: Format) -> str:
    if not kind.reads:
        return f"the format {kind.name} cannot be read: write another one."
    other = {"preferences": "read", "labels": "read_labels", "features": "read_features"}[kind.reads[0]]
    return f"this looks like {kind.name} ({kind.doc}), which holds no {what}: read it with {other}, or say format=."
