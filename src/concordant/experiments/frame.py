"""Shared parts of all experiments: data folders, result tables, Markdown pages and figures."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import unescape
from pathlib import Path
from typing import Any, NamedTuple

from concordant.errors import InputError, arg
from concordant.metrics.significance import paired_t_test
from concordant.narrative.plots import panels
from concordant.support.display import pipe_table
from concordant.support.palette import LIGHT
from concordant.types import Floats

COLOURS = LIGHT.series
LEVEL = 0.05
_DATA = arg("data", shown="DIR")
DataFolder = str | os.PathLike[str] | None
Progress = Callable[[str], None]
Settings = Mapping[str, object]
Row = dict[str, Any]


def silent(_: str) -> None:
    """Report no progress."""


class About(NamedTuple):
    """The description of an experiment on its page: the paper, the setting, the data."""

    paper: str
    setting: str
    data: str


# ---- data ----
def data_folder(root_given: DataFolder, *parts: str) -> Path:
    """Return the folder of a public data set below the given root or ``CONCORDANT_DATA``; raise if it is missing."""
    root = root_given or os.environ.get("CONCORDANT_DATA")
    name = "/".join(parts)
    if not root:
        raise InputError(
            f"This experiment reads the public data set {name}: give its folder with " + _DATA + " or CONCORDANT_DATA."
        )
    folder = Path(root).joinpath(*parts)
    if not folder.is_dir():
        raise InputError(f"{folder} does not exist: put the files of {name} there, or give another " + _DATA + ".")
    return folder


def existing(folder: Path, *names: str, otherwise: str = "put it there, or give another " + _DATA) -> Path:
    """Return the first of these files that exists; otherwise raise an error that says what to do."""
    for name in names:
        if (folder / name).is_file():
            return folder / name
    raise InputError(f"The file {folder / names[0]} does not exist: " + otherwise + ".")


def check_sets(names: Iterable[str], known: Sequence[str]) -> None:
    """Raise an error for an unknown data set."""
    for name in names:
        if name not in known:
            raise InputError(f"There is no set {name!r}: use {(' or ' if len(known) == 2 else ', ').join(known)}.")


# ---- published figures ----
def published(n_figures: int, text: str) -> dict[str, tuple[float, ...]]:
    """Read figures as printed in a paper: each line has a name, which may contain blanks, and ``n_figures`` numbers."""
    rows = {}
    for line in text.strip().splitlines():
        name, *figures = line.strip().rsplit(maxsplit=n_figures)
        rows[name] = tuple(float(figure) if "." in figure else int(figure) for figure in figures)
    return rows


# ---- result tables ----
class ResultTable(NamedTuple):
    """A table whose first ``n_text`` columns are text; the others are right-aligned numbers."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    n_text: int = 1

    def to_markdown(self) -> str:
        """Return the table in Markdown, without its title."""
        lines = [list(map(_markdown_cell, line)) for line in (self.header, *self.rows)]
        return pipe_table(lines, range(self.n_text, len(self.header)))


def _markdown_cell(cell: str) -> str:
    """Return a cell for Markdown; indented ones, such as published figures, are in italics."""
    text = cell.replace("|", "\\|")
    return f"*{text.strip()}*" if text.startswith("  ") else text


def with_published(
    rows: Iterable[Row],
    columns: Sequence[str],
    name: str = "method",
    published: str = "published",
    called: str = "",
    *,
    differences: bool = True,
) -> list[list[str]]:
    """Return table rows with two decimals, each followed by the published figures and the differences from them.

    Columns listed in ``significant`` get a star. Differences are omitted without ``differences`` (for figures published
    on other data).
    """
    lines = []
    for row in rows:
        starred = row.get("significant", ())
        lines.append([row[name], *(f"{row[c]:.2f}{'*' if c in starred else ''}" for c in columns)])
        if figures := row[published]:
            lines.append([f"  {called or published}", *(f"{figures[c]:.2f}" if c in figures else "" for c in columns)])
            if differences:
                gaps = (_signed(row[c] - figures[c]) if c in figures else "" for c in columns)
                lines.append(["  difference", *gaps])
    return lines


def _signed(difference: float) -> str:
    """Return a difference with two decimals and its sign (no sign for 0.00)."""
    text = f"{difference:+.2f}"
    return "0.00" if text in ("+0.00", "-0.00") else text


def markdown_page(title: str, tables: Iterable[ResultTable], *more: str) -> str:
    """Return a Markdown page: the title, the tables with their titles, and further texts."""
    parts = [text for table in tables for text in (f"## {table.title}" if table.title else "", table.to_markdown())]
    return "\n\n".join([f"# {title}", *(part.strip() for part in (*parts, *more) if part.strip())]) + "\n"


def best_baseline(by_method: Mapping[str, Floats], baselines: Sequence[str], column: int) -> str:
    """Return the baseline with the largest mean over queries in a column; ``by_method`` holds arrays metric x query."""
    return max(baselines, key=lambda baseline: float(by_method[baseline][column].mean()))


def is_better(difference: Floats) -> bool:
    """Return whether a mean difference over queries is above 0 and significant by a paired t-test."""
    return bool(difference.mean() > 0 and paired_t_test(difference) < LEVEL)


# ---- figures ----
def figure(columns: int, width: float, height: float) -> tuple[Any, list[Any]]:
    """Return a Matplotlib figure with this many axes side by side."""
    return panels(columns, width, height, label_size=8)


def save_figure(drawn: Any, folder: str | os.PathLike[str], name: str, caption: str = "") -> str:
    """Save a figure as SVG in a folder, which is created if necessary, and return its path.

    The caption becomes the title in the file's metadata, where ``caption_of`` finds it.
    """
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(os.fspath(folder), f"{name}.svg")
    title = caption or name.replace("-", " ").capitalize()
    drawn.savefig(path, metadata={"Date": None, "Title": title})
    return path


def caption_of(svg: str) -> str:
    """Return the caption of a figure that ``save_figure`` wrote."""
    match = re.search(r"<dc:title>(.*?)</dc:title>", svg, re.DOTALL)
    return unescape(match.group(1)) if match else "Figure"
