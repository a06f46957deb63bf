"""Tables in files: csv, tsv, json, jsonl, parquet and Arrow (feather), of preferences or of labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from concordant.errors import FormatError
from concordant.io._options import Options
from concordant.io._source import Source
from concordant.labels import Labels
from concordant.preferences import Preferences
from concordant.tables import Table, labels_of_table, parts_of_table


def read(sources: Sequence[Source], options: Options, kind: str) -> Preferences:
    """Read one table as preferences."""
    parts = parts_of_table(
        _open(_only(sources), options, kind),
        options.roles,
        form=options.form,
        strict=options.strict,
        skip_bad_rows=options.skip_bad_rows,
    )
    return Preferences(**parts)


def read_labels(sources: Sequence[Source], options: Options, kind: str) -> Labels:
    """Read one table as labels."""
    table = _open(_only(sources), options, kind)
    return Labels(*labels_of_table(table, options.roles, strict=options.strict, skip_bad_rows=options.skip_bad_rows))


def _only(sources: Sequence[Source]) -> Source:
    if len(sources) > 1:
        raise sources[1].error(
            "only TREC runs, qrels and LETOR files are read several at once: read one table at a time, or join them."
        )
    return sources[0]


def _open(source: Source, options: Options, kind: str) -> Table:
    if not source.head.strip():
        raise source.error("the file is empty: there is nothing to read.")
    if kind in ("csv", "tsv"):
        from concordant.io import _csv
        from concordant.io._duckdb import CsvTable

        dialect = _csv.sniff(
            source,
            delimiter=options.delimiter or ("\t" if kind == "tsv" else None),
            header=options.header,
            wanted=[value for value in options.roles.values() if isinstance(value, str)],
        )
        return CsvTable(source, dialect, skip_bad_rows=options.skip_bad_rows, pad_short_rows=options.form == "places")
    if kind in ("json", "jsonl"):
        from concordant.io._duckdb import JsonTable

        return JsonTable(source, skip_bad_rows=options.skip_bad_rows)
    if kind == "parquet":
        from concordant.io._duckdb import ParquetTable

        return ParquetTable(source)
    return _arrow(source)


def _arrow(source: Source) -> Table:
    """Open an Arrow file with the library that is there; DuckDB would have to download one."""
    from importlib.util import find_spec

    from concordant.frames import FrameTable

    frame: Any
    try:
        if find_spec("pyarrow"):
            import pyarrow as pa

            with pa.memory_map(source.plain_path()) as file:
                is_file = file.read(6) == b"ARROW1"
                file.seek(0)
                opened: Any = pa.ipc.open_file(file) if is_file else pa.ipc.open_stream(file)
                frame = opened.read_all()
        elif find_spec("polars"):
            import polars

            frame = polars.read_ipc(source.plain_path())
        else:
            raise source.error("Arrow files need a library to read them: pip install pyarrow or polars.")
    except FormatError:
        raise
    except Exception as problem:
        why = str(problem).splitlines()[0][:100]
        raise source.error(f"the Arrow data cannot be read ({why}): check the file.") from None
    return FrameTable(frame, source.name)
