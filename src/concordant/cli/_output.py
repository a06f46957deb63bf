"""Output of a command: the format by an option or by the file extension, on the terminal or in a file.

A command passes what it found in up to three forms: plain data (JSON), columns of values in full precision (csv, xlsx,
…), and blocks for people (text, Markdown, LaTeX, HTML). It does not know the formats.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import click

from concordant.cli import _options as options
from concordant.support import progress
from concordant.support.text import visible

if TYPE_CHECKING:
    from concordant.support.display import Block, DisplayTable

F = TypeVar("F", bound=Callable[..., Any])
Columns = Mapping[str, Sequence[object]]

FOR_PEOPLE = ("text", "markdown", "latex", "html")
ENDINGS = {
    "": "text",
    ".txt": "text",
    ".md": "markdown",
    ".markdown": "markdown",
    ".tex": "latex",
    ".html": "html",
    ".htm": "html",
    ".json": "json",
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".xlsx": "xlsx",
}
PACKED = (".csv.gz", ".csv.xz", ".csv.bz2", ".csv.zst", ".tsv.gz", ".jsonl.gz")
TABLES = 10  # of a result on a terminal, unless more are asked for
OPTIONS = ("json", "csv", "markdown", "latex", "html")


class Output(NamedTuple):
    """The destination and the format of a result."""

    path: str = "-"
    format: str = "text"

    @property
    def is_for_people(self) -> bool:
        """Whether a person reads the result, so that notes accompany it."""
        return self.format in FOR_PEOPLE

    def write(self, text: str) -> None:
        """Write to the file, or to the terminal for "-"."""
        write_text(text, self.path)

    def show(
        self,
        *,
        data: Callable[[], object],
        text: Callable[[], str] | None = None,
        blocks: Callable[[], Sequence[Block]] = tuple,
        columns: Callable[[], Columns] = dict,
        title: str = "result",
    ) -> None:
        """Write the result in the output's format; the other formats are not computed.

        ``text`` is for commands without tables; ``title`` names a page or a sheet.
        """
        if self.format == "json":
            self.write(to_json(data()))
        elif self.format == "csv" and not self.path.lower().endswith(PACKED):
            self.write(to_csv(columns()))
        elif self.is_for_people:
            self.write(text() if text is not None else self._rendered(blocks(), title))
        else:
            from concordant.io import write_table

            write_table(_without_nan(columns()), self.path, title=title)

    def _rendered(self, blocks: Sequence[Block], title: str) -> str:
        """Return blocks in a format for people: HTML is a page in a file, and otherwise a fragment to paste."""
        from concordant.support import display

        if self.format == "text":
            return display.text(_first_tables(blocks) if _is_terminal(self.path) else blocks, self._drawn)
        if self.format == "html" and self.path != "-":
            from concordant.reporting.displayed import display_page

            return display_page(title, blocks)
        rendered: str = getattr(display, self.format)(blocks)
        return rendered

    def _drawn(self, shown: DisplayTable) -> str:
        """Return a table as text formatted for its destination."""
        return table(shown.header, shown.rows, set(shown.right), shown.title, self.path)

    def check_explained(self, explain: bool) -> None:
        """Reject an explanation in a table of values."""
        self.check_extras("--explain" if explain else "")

    def check_extras(self, option: str) -> None:
        """Reject an option that adds sentences or tables if the output is one table of values."""
        if option and not self.is_for_people and self.format != "json":
            from concordant.errors import InputError

            shown = "--csv" if self.format == "csv" else f"{self.format} output"
            raise InputError(f"{option} cannot be combined with {shown}: use text or --json.")

    def table(self, header: Sequence[str], rows: Sequence[Sequence[str]], right: set[int], title: str = "") -> str:
        """Return a table formatted for its destination."""
        return table(header, rows, right, title, self.path)


def output_options(*names: str, all_rows: str = "--all") -> Callable[[F], F]:
    """Add some of the options for output, by default all; the command gets them as one ``output``.

    With all of them, the option ``all_rows`` shows long tables in full.
    """
    declared = {name: getattr(options, name) for name in OPTIONS}
    declared["output"] = options.result_output

    def add(command: F) -> F:
        @wraps(command)
        def run(output: str = "-", **options: Any) -> Any:
            chosen = [name for name in OPTIONS if options.pop(f"as_{name}", False)]
            return command(output=chosen_output(output, chosen), **options)

        changed: Any = run
        if not names:
            changed.__click_params__ = [*getattr(command, "__click_params__", ()), options.all_rows(all_rows)]
        for name in reversed(names or tuple(declared)):
            changed = declared[name](changed)
        return cast("F", changed)

    return add


def chosen_output(path: str, chosen: Sequence[str]) -> Output:
    """Return the output for a path and the chosen formats; reject several formats, and unknown file extensions."""
    if len(chosen) > 1:
        raise click.UsageError(f"{' and '.join(f'--{name}' for name in chosen)} contradict each other: choose one.")
    if path == "-" or _is_special(path):
        return Output(path, chosen[0] if chosen else "text")
    named = path.lower()
    ending = next((end for end in PACKED if named.endswith(end)), os.path.splitext(named)[1])
    by_name = ending.split(".")[1] if ending in PACKED else ENDINGS.get(ending)
    if chosen and by_name not in (None, "text", chosen[0]):
        raise click.UsageError(f"--{chosen[0]} contradicts the extension of {path}: leave out --{chosen[0]}.")
    if chosen or by_name is not None:
        return Output(path, chosen[0] if chosen else str(by_name))
    known = ", ".join(end for end in ENDINGS if end)
    raise click.UsageError(
        f"{path} has the extension {ending}, which is not an output format: use one of {known} (csv also compressed), "
        "or no extension for text."
    )


def _is_special(path: str) -> bool:
    """Return whether a path is a pipe or a device, whose name says nothing."""
    return os.path.exists(path) and not stat.S_ISREG(os.stat(path).st_mode) and not os.path.isdir(path)


def write_text(text: str, output: str) -> None:
    """Write to a file, or to the terminal for "-"."""
    if output == "-":
        progress.hide()
        click.echo(visible(text) if sys.stdout.isatty() else text, nl=not text.endswith("\n"))
    else:
        from concordant.support.files import replace_file

        replace_file(output, (text if text.endswith("\n") else text + "\n").encode("utf-8", "backslashreplace"))


def to_json(data: object) -> str:
    """Return data as indented JSON; never NaN or infinity."""
    import json

    return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False)


def to_csv(columns: Columns) -> str:
    """Return columns as comma-separated text with a header; unknown values are empty cells."""
    import csv
    import io

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*_without_nan(columns).values(), strict=True))
    return text.getvalue()


def _without_nan(columns: Columns) -> dict[str, list[object]]:
    """Return columns as lists of plain values, None for NaN."""
    plain = {name: column.tolist() if hasattr(column, "tolist") else column for name, column in columns.items()}
    return {name: [None if cell != cell else cell for cell in column] for name, column in plain.items()}


def records(columns: Columns) -> list[dict[str, object]]:
    """Return columns as rows for JSON; unknown values are None."""
    plain = _without_nan(columns)
    return [dict(zip(plain, row, strict=True)) for row in zip(*plain.values(), strict=True)]


def table(
    header: Sequence[str], rows: Sequence[Sequence[str]], right: set[int], title: str = "", output: str = "-"
) -> str:
    """Return a table: drawn with rich on a terminal, otherwise aligned plain text with one line per row.

    On a terminal, a long table ends after the first rows (``options.row_limit``). If the terminal is too narrow,
    columns of numbers (``right``) are dropped, starting with the last, and listed below the table; text wraps at words.
    """
    from concordant.support.text import align, fitting_columns, text_width

    if not _is_terminal(output):
        return "\n".join(([title] if title else []) + align([list(header), *map(list, rows)], right))
    from rich.console import Console
    from rich.table import Table

    limit, option = options.row_limit()
    shown = rows[:limit]
    console = Console(width=text_width())
    kept = fitting_columns(header, shown, right, console.width)
    drawn = Table(title=title or None, title_justify="left", header_style="bold")
    for c, width in kept.items():
        justify: Any = "right" if c in right else "left"
        drawn.add_column(header[c], justify=justify, width=width, overflow="ellipsis")
    for row in shown:
        drawn.add_row(*(visible(row[c], colours=False).replace("[", "\\[") for c in kept))
    with console.capture() as capture:
        console.print(drawn)
    omitted = [name for c, name in enumerate(header) if c not in kept]
    more = f"… {len(rows) - len(shown):,} more ({option} shows them)\n" if len(shown) < len(rows) else ""
    note = f"columns not shown, because the terminal is too narrow: {', '.join(omitted)}\n" if omitted else ""
    return capture.get() + more + note


def _is_terminal(output: str) -> bool:
    return output == "-" and sys.stdout.isatty()


def _first_tables(blocks: Sequence[Block]) -> Sequence[Block]:
    """Return the blocks before and after the tables that are too many for a terminal, with a line on those."""
    from concordant.support.display import DisplayTable, Passage

    (limit, option), tables = options.row_limit(), [k for k, one in enumerate(blocks) if isinstance(one, DisplayTable)]
    if limit is None or len(tables) <= TABLES:
        return blocks
    more = f"… {len(tables) - TABLES:,} more tables ({option} shows them)"
    return [*blocks[: tables[TABLES]], Passage([more]), *blocks[tables[-1] + 1 :]]
