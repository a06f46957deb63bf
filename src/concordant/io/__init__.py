"""Read and write preferences, labels, features and rankings in all supported file formats.

The format is recognised by file name and content, and compression (gz, xz, bz2, zst, zip) by content. Column roles are
inferred from column names. The ``notes`` of the result report how the file was interpreted. Each module in ``formats``
reads and writes the formats that it lists.

Other packages read and write files only through the functions of this module. This package imports from ``tables``,
``engine`` and lower layers.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import IO, TYPE_CHECKING, Any

from concordant.ballots.form import READ_AS
from concordant.errors import ConcordantError, FormatError, InputError, action, arg, clause
from concordant.io._formats import DATABASES, FUNCTIONS, JUDGED, WORKBOOKS, Format, all_formats, recognise
from concordant.io._source import PathLike, Source
from concordant.io.paths import expand, is_out_of_memory, is_read_once, left_out, notes_on_bad
from concordant.support import memory, progress
from concordant.support.files import without_folders
from concordant.tables.options import FEATURES, FRAME, LABELS, PREFERENCES, Options, takes_options
from concordant.tables.selection import drops_duplicates

if TYPE_CHECKING:
    from concordant.io.formats.features import Features
    from concordant.labels import Labels
    from concordant.preferences import Preferences
    from concordant.ranking import Ranking
    from concordant.tables.plans import Plan

__all__ = [
    "Format",
    "Options",
    "Preview",
    "Source",
    "formats",
    "preview",
    "read",
    "read_features",
    "read_labels",
    "read_sql",
    "write",
    "write_table",
]

Paths = PathLike | IO[Any] | Sequence[PathLike]


@takes_options(PREFERENCES)
def read(path: Paths, **options: Any) -> Preferences:
    """Read preferences from one or more files.

    Several tables, TREC runs or LETOR files are read as one data set. The format, the compression and the column roles
    are recognised automatically; the options override them. ``notes`` of the result reports how the data were read.

    Parameters
    ----------
    path : str, path, open file or list of these
        File, or several files. ``"-"`` is standard input. Folders and patterns (``"votes/*.parquet"``) are expanded.
    winner, loser, item, rank, agent, ... : str, int or None
        Column for a role: its name, or its position from 1. ``None`` means that no column has the role, whatever its
        name. ``places`` and ``covariate`` take several columns.
    layout : str
        Table layout (what a row represents), if the columns allow several layouts.
    time : str or int
        Column with dates or numbers by which pairs or ballots are sorted.
    covariate : str or list of str
        Numeric columns that describe the compared items: ``"length_a,length_b"``, or a list of several covariates.
    team, team_separator : str
        Column with teams, or the separator between the players of a side in one cell.
    categories : list of str
        Labels of a rating scale, or categories of a PrefLib cat file, best first.
    merge : bool, default False
        Merge equal ballots and add their weights while reading, so that a table of pairs may be larger than memory.
        The order of events is lost, and the agents of pairs are kept only if ``agent`` names their column.
    reduce : bool, default False
        Keep only pairwise counts, file by file. ``workers`` processes or the workers of a Dask ``cluster`` share the
        files, and ``memory_limit`` limits the memory used for counting.
    skip_bad_rows : bool, default False
        Leave out rows that cannot be used and count them in the notes, instead of raising an error at the first one.
    strict : bool, default False
        Reject input that is otherwise accepted with a note.
    max_bytes, max_ratio : number
        Maximum uncompressed size of a file, and maximum ratio of uncompressed to compressed size.
    **options
        All other reading options; the signature lists them.

    Returns
    -------
    Preferences
        The ballots of all files.

    Raises
    ------
    FormatError
        A file cannot be read; the message names the file and the line.
    InputError
        The columns or options are ambiguous or contradictory.

    Examples
    --------
    >>> import io
    >>> import concordant as cc
    >>> cc.read(io.StringIO("winner,loser\\nann,bob\\nann,cy\\nbob,cy\\n"))
    Preferences(3 ballots (pairs), 3 items)
    """
    reading = Options.of(PREFERENCES, options)
    _check_reduction(reading)
    return read_whole(path, reading)


@takes_options(FRAME)
def read_sql(connection: Any, query: str, params: Any = None, **options: Any) -> Preferences:
    """Read preferences from the result of a database query.

    Parameters
    ----------
    connection : DB-API or ADBC connection
        An open connection of any driver: ``sqlite3``, ``psycopg``, ``duckdb``, ADBC, … It stays open, and the query
        runs with its rights. ``engine.raw_connection()`` gives the connection of an SQLAlchemy engine.
    query : str
        The query. Its columns are read like those of a table.
    params : sequence or mapping, optional
        Values for the placeholders of the query, in the syntax of the driver.
    **options : object
        Options of reading, as for ``Preferences.from_frame``; the signature lists them.

    Returns
    -------
    Preferences
        The ballots of the rows.

    Raises
    ------
    InputError
        The query fails, or its columns cannot be interpreted.

    Examples
    --------
    >>> import sqlite3
    >>> import concordant as cc
    >>> connection = sqlite3.connect(":memory:")
    >>> _ = connection.execute("CREATE TABLE votes AS SELECT 'ann' AS winner, 'bob' AS loser")
    >>> cc.read_sql(connection, "SELECT winner, loser FROM votes")
    Preferences(1 ballots (pairs), 2 items)
    """
    from concordant.io._read_sql import read_sql as read_result

    return read_result(connection, query, params, Options.of(FRAME, options))


@takes_options(LABELS)
def read_labels(path: Paths, **options: Any) -> Labels:
    """Read relevance judgements: qrels, LETOR labels, or a table with an item, a label and optionally an instance.

    Parameters
    ----------
    path : str, path, open file or list of these
        File, or several files of the same format.
    item, label, instance : str, int or None
        Columns of a table: names, or positions from 1.
    **options
        All other reading options; the signature lists them.

    Returns
    -------
    Labels
        The label of each item by instance (query, topic).

    Raises
    ------
    FormatError
        A file cannot be read; the message names the file and the line.

    Examples
    --------
    >>> import io
    >>> import concordant as cc
    >>> labels = cc.read_labels(io.StringIO("topic,item,label\\n7,a,2\\n7,b,0\\n"))
    >>> list(labels.items)
    ['a', 'b']
    """
    labels: Labels = _read(LABELS, path, options)
    return labels


@takes_options(FEATURES)
def read_features(path: Paths | Any, **options: Any) -> Features:
    """Read feature rows with labels and queries for learning to rank.

    In LETOR and svmlight files, absent features are 0 and ``NULL`` is NaN. In tables (csv, jsonl, parquet, …) and
    DataFrames, empty cells are NaN.

    Parameters
    ----------
    path : str, path, open file, list of these, or DataFrame
        File, several LETOR files that are read as one data set, or a DataFrame.
    label : str, int or bool
        Column of the label. ``False`` reads rows without labels, ``"?"`` reads labels only if there are any.
    query, item, weight : str or int
        Columns of the query, the document and the row weight. A weight column is never inferred.
    features : list of str
        Feature columns; by default all other numeric columns.
    n_features : int
        Number of features, so that several parts of a data set have the same width.
    **options
        All other reading options; the signature lists them.

    Returns
    -------
    Features
        The tuple ``(X, y, query)`` with attributes such as ``names``, ``queries`` and ``notes``. ``query`` numbers the
        queries in order of appearance.

    Raises
    ------
    FormatError
        A file cannot be read; the message names the file and the line.

    Examples
    --------
    >>> import io
    >>> import concordant as cc
    >>> X, y, query = cc.read_features(io.StringIO("2 qid:1 1:0.5 2:1\\n0 qid:1 1:0.2\\n"))
    >>> X.shape, y.tolist(), query.tolist()
    ((2, 2), [2.0, 0.0], [0, 0])
    """
    if isinstance(path, (str, os.PathLike, list, tuple)) or hasattr(path, "read"):
        features: Features = _read(FEATURES, path, options)
        return features
    from concordant.io.formats.features import features_of_table
    from concordant.tables.frames import table_of_frame

    reading = Options.of(FEATURES, options)
    return features_of_table(table_of_frame(path, reading, FEATURES), reading)


@dataclass(frozen=True)
class Preview:
    """The first rows of a table, or the first lines of a file in another format.

    ``plan`` assigns roles to the columns. It is None if the format has no columns, or if the file cannot be read; then
    ``problem`` gives the reason. ``sheets`` are the sheets with data of a workbook.
    """

    format: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str | None, ...], ...]
    plan: Plan | None = None
    problem: str = ""
    sheets: tuple[str, ...] = ()


def preview(path: PathLike, n_rows: int = 8, **options: Any) -> Preview:
    """Return the first rows of a file and the inferred column roles, without reading the rest."""
    from concordant.io._preview import preview as look

    return look(path, n_rows, options)


def write(
    data: Preferences | Ranking | Labels,
    path: PathLike | IO[Any],
    *,
    format: str | None = None,
    layout: str | None = None,
    tag: str | None = None,
    spreadsheet: bool = False,
) -> list[str]:
    """Write preferences, a ranking or labels to a file.

    The file is written atomically: an error leaves the existing file unchanged.

    Parameters
    ----------
    data : Preferences, Ranking or Labels
        Data to write.
    path : str, path or open file
        Destination; ``"-"`` is standard output. The file extension determines the format and the compression.
    format : str, optional
        Name of the format, if the ending does not determine it.
    layout : str, optional
        Layout of a table of preferences. By default, one that represents all ballots (pairs, ranks, ratings or
        rankings).
    tag : str, optional
        Tag for a TREC run.
    spreadsheet : bool, default False
        Put an apostrophe before csv cells that begin with ``=``, ``+``, ``-`` or ``@``, so that a spreadsheet does not
        run them as formulas.

    Returns
    -------
    list of str
        Notes on information that the format cannot represent.

    Raises
    ------
    InputError
        The format cannot represent the data, or the file cannot be written.

    Examples
    --------
    >>> import sys
    >>> import concordant as cc
    >>> cc.write(cc.Preferences.from_rankings([["a", "b"]]), sys.stdout, format="csv", layout="rankings")
    ranking
    a > b
    []
    """
    from concordant.io._write import write as write_data

    return write_data(data, path, format, layout=layout, tag=tag, spreadsheet=spreadsheet)


def write_table(
    columns: Mapping[str, Any], path: PathLike, format: str | None = None, *, title: str | None = None
) -> None:
    """Write columns of text and numbers as a table, atomically; ``title`` names the sheet of a workbook."""
    from concordant.io._write import write as write_data

    write_data(columns, path, format, title=title)


def list_formats() -> list[Format]:
    """List the formats, including those of plug-ins: name, endings, doc, can_read, can_write."""
    return all_formats()


def _read(what: str, path: Paths, options_given: Mapping[str, Any]) -> Any:
    """Read labels or features from files, with notes on entries of folders that were skipped."""
    options = Options.of(what, options_given)
    notes = left_out(path, options, is_noted=what != LABELS)
    content = read_files(what, expand(path), options)
    if notes:
        content.notes.extend(notes)
    return content


def read_whole(path: Any, options: Options) -> Preferences:
    """Read whole files. If bad files are skipped, try each file alone before reading all files together."""
    paths, notes = expand(path), left_out(path, options)
    plain = options if options.reduce else replace(options, workers=None, cluster=None, skip_bad_files=False)
    bad: list[tuple[Any, str]] = []
    for file in paths if options.skip_bad_files and not options.reduce else ():
        if is_read_once(file):
            continue
        try:
            read_files(PREFERENCES, [file], plain)
        except (ConcordantError, OSError) as problem:
            if is_out_of_memory(problem):
                raise
            bad.append((file, str(problem)))
    skipped = {file for file, _ in bad}
    good = [file for file in paths if file not in skipped]
    if not good:
        raise InputError("No file could be read. First error: " + bad[0][1])
    try:
        prefs: Preferences = read_files(PREFERENCES, good, plain)
    except InputError as problem:
        from concordant.io.judgements import set_aside

        if judged := set_aside(good, plain)[1]:
            raise FormatError(JUDGED, path=os.fspath(judged[0])) from problem
        raise
    return prefs.noted(*notes_on_bad(bad), *notes) if bad or notes else prefs


def read_files(what: str, paths: Sequence[Any], options: Options) -> Any:
    """Read preferences, labels or features from files in any format."""
    names = os.path.basename(_shown(paths)) if len(paths) < 2 else f"{len(paths):,} files"
    try:
        if options.reduce:
            from concordant.io._many import read_reduced

            return read_reduced(paths, options)
        with progress.stage(f"reading {names}"), memory.limited(options.memory_limit), ExitStack() as stack:
            sources = [stack.enter_context(Source(file, options)) for file in paths]
            content = _read_as(what, _common_kind(sources, options.format, options.sql is not None), sources, options)
            return _noted_by_file(content, [source.name for source in sources])
    except (ConcordantError, OSError):
        raise
    except MemoryError:
        raise FormatError("the file does not fit in memory: read a part of it.", path=_shown(paths)) from None
    except Exception as problem:  # the last line of defence: whatever a file holds, its reader says so in a sentence
        why = (str(problem).splitlines() or [""])[0][:100]
        raise FormatError(
            f"the reader failed ({type(problem).__name__}: {why}): check the file and the options, "
            "and report this as a bug if they are correct.",
            path=_shown(paths),
        ) from problem


def _noted_by_file(content: Any, names: Sequence[str]) -> Any:
    """Return the content with file names in its notes stripped of folders, as reports show them."""
    notes = [without_folders(note, names) for note in getattr(content, "notes", ())]
    if hasattr(content, "with_notes"):
        return content.with_notes(notes)
    if notes:
        content.notes[:] = notes
    return content


def _check_reduction(options: Options) -> None:
    """Reject options that only apply to a reduction if none was requested."""
    if not options.reduce:
        options_given = [name for name in ("workers", "cluster", "skip_bad_files") if getattr(options, name)]
        if options_given:
            raise InputError(
                arg(options_given[0])
                + " only applies to files that are reduced to counts: add "
                + arg("reduce", True)
                + "."
            )


def _shown(paths: Sequence[Any]) -> str:
    """Return the name of the first file for a message, followed by … if there are more."""
    first = paths[0]
    name = os.fspath(first) if isinstance(first, (str, os.PathLike)) else str(getattr(first, "name", "the open file"))
    return name if len(paths) == 1 else f"{name} …"


def _common_kind(sources: Sequence[Source], format: str | None, has_query: bool = False) -> Format:
    """Return the format of all files; reject files of different formats."""
    kinds = [recognise(source, format) for source in sources]
    if has_query and all(kind.is_table for kind in kinds):  # a query may join tables of any formats
        return kinds[0]
    for source, kind in zip(sources, kinds, strict=True):
        if kind != kinds[0]:
            what = f"this looks like {kind.name}, but the first file looks like {kinds[0].name}"
            if (LABELS,) in (kind.reads, kinds[0].reads):
                judged = source if kind.reads == (LABELS,) else sources[0]
                raise judged.error(JUDGED)
            raise source.error(
                what
                + ": "
                + clause("give the format of all files with ", arg("format"), ", or ")
                + "read them separately."
            )
    return kinds[0]


def _read_as(what: str, kind: Format, sources: Sequence[Source], options: Options) -> Any:
    """Read files of one format with its reader; reject options that do not apply to the format."""
    if not kind.reads:
        raise sources[0].error(
            f"files of the format {kind.name} can be written but not read: save the data in another format."
        )
    if what not in kind.reads:
        holds = f"this looks like {kind.name} ({kind.doc}), which does not contain {what}"
        function = FUNCTIONS[kind.reads[0]]
        instead = action(function, f"read it with {function}") + clause(", or name its format with ", arg("format"))
        raise sources[0].error(holds + ": " + instead + ".")
    if options.categories is not None and kind.name != "preflib" and not kind.is_table:
        what = arg("categories") + " only applies to PrefLib cat files and tables"
        raise sources[0].error(what + f", but the format is {kind.name}: leave it out.")
    if options.sheet is not None and kind.name not in WORKBOOKS:
        raise sources[0].error(
            arg("sheet") + f" only applies to workbooks, but the format is {kind.name}: leave it out."
        )
    if options.table is not None and kind.name not in DATABASES:
        what = arg("table") + f" only applies to databases, but the format is {kind.name}: leave it out."
        raise sources[0].error(what)
    if options.sql is not None and not kind.is_table:
        what = arg("sql") + f" only applies to databases and tables, but the format is {kind.name}: leave it out."
        raise sources[0].error(what)
    if options.sql is not None and options.table is not None:
        raise InputError(arg("table") + " and " + arg("sql") + " cannot be combined: name the table in the query.")
    if kind.is_table:  # all kinds of tables have one reader
        is_mixed = options.sql is not None and len(sources) > 1
        options = options if is_mixed else replace(options, format=kind.name)
    elif drops_duplicates(options):
        raise sources[0].error(arg("drop_duplicates") + f" only applies to tables, not to {kind.name}: leave it out.")
    result = kind.function(FUNCTIONS[what])(sources, options)
    if what == PREFERENCES and not kind.is_table and kind.name != "preflib":  # whose header tells
        result = result.with_facts({READ_AS: {**result.meta.get(READ_AS, {}), "format": kind.name}})
    if options.where is not None and not kind.is_table:
        from concordant.tables import entries

        result = getattr(entries, f"filtered_{what}")(result, options.where, sources[0].name)
    # Tables merge while they are read; what another format holds is in memory already.
    return result.merge() if options.merge and not result.is_merged else result
