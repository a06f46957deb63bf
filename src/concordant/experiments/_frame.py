"""The frame of all experiments: where the data are, tables and pages of what came out, pictures, tests of claims."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from concordant.errors import InputError, arg
from concordant.metrics.significance import paired_t_test
from concordant.narrative.plots import panels
from concordant.types import Floats

COLOURS = ("#1f6f8b", "#d1793b", "#6b7f3f", "#8a5a9e")
LEVEL = 0.05
_DATA = arg("data", shown="DIR")
DataFolder = str | os.PathLike[str] | None
Progress = Callable[[str], None]
Settings = Mapping[str, object]
Row = dict[str, Any]


def silent(_: str) -> None:
    """Report no progress."""


# ---- what to run ----
def data_folder(root_given: DataFolder, *parts: str) -> Path:
    """Return the folder of a public data set below the given root or ``CONCORDANT_DATA``; else say where to get it."""
    root = root_given or os.environ.get("CONCORDANT_DATA")
    name = "/".join(parts)
    if not root:
        raise InputError(
            f"This experiment reads the public data set {name}: say where it is with " + _DATA + " or CONCORDANT_DATA."
        )
    folder = Path(root).joinpath(*parts)
    if not folder.is_dir():
        raise InputError(f"{folder} is not there: put the files of {name} in it, or give another " + _DATA + ".")
    return folder


def existing(folder: Path, *names: str, otherwise: str = "put it in, or give another " + _DATA) -> Path:
    """Return the first of these files that exists; else raise an error with what to do."""
    for name in names:
        if (folder / name).is_file():
            return folder / name
    raise InputError(f"{folder / names[0]} is not there: " + otherwise + ".")


def check_sets(names: Iterable[str], known: Sequence[str]) -> None:
    """Refuse a data set that is not one of the experiment's."""
    for name in names:
        if name not in known:
            raise InputError(f"There is no set {name!r}: use {(' or ' if len(known) == 2 else ', ').join(known)}.")


# ---- what was published ----
def published(n_figures: int, text: str) -> dict[str, tuple[float, ...]]:
    """Read figures as a paper prints them: per line a name, which may contain blanks, and ``n_figures`` numbers."""
    rows = {}
    for line in text.strip().splitlines():
        name, *figures = line.strip().rsplit(maxsplit=n_figures)
        rows[name] = tuple(float(figure) if "." in figure else int(figure) for figure in figures)
    return rows


# ---- what came out ----
class ResultTable(NamedTuple):
    """A table to show: the first ``n_text`` columns are words, the others figures, flush right."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    n_text: int = 1

    def to_markdown(self) -> str:
        """Return the table in Markdown, without its title."""
        rule = ["---" if c < self.n_text else "---:" for c in range(len(self.header))]
        lines = [self.header, rule, *self.rows]
        return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def with_published(
    rows: Iterable[Row], columns: Sequence[str], name: str = "method", published: str = "published", called: str = ""
) -> list[list[str]]:
    """Return table rows with two decimals, each followed by the published figures; ``significant`` columns
    get a star.
    """
    lines = []
    for row in rows:
        starred = row.get("significant", ())
        lines.append([row[name], *(f"{row[c]:.2f}{'*' if c in starred else ''}" for c in columns)])
        if published_figures := row[published]:
            figures = (f"{published_figures[c]:.2f}" if c in published_figures else "" for c in columns)
            lines.append([f"  {called or published}", *figures])
    return lines


def markdown_page(title: str, tables: Iterable[ResultTable], *more: str) -> str:
    """Join a title, tables below theirs and further texts into a page."""
    parts = [text for table in tables for text in (f"## {table.title}", table.to_markdown())]
    return "\n\n".join([f"# {title}", *(part.strip() for part in (*parts, *more) if part.strip())]) + "\n"


def best_baseline(by_method: Mapping[str, Floats], baselines: Sequence[str], column: int) -> str:
    """Return the baseline with the largest mean over queries in a column; ``by_method`` holds arrays metric x query."""
    return max(baselines, key=lambda baseline: float(by_method[baseline][column].mean()))


def is_better(difference: Floats) -> bool:
    """Return whether a mean difference over queries is above 0 and significant by a paired t-test."""
    return bool(difference.mean() > 0 and paired_t_test(difference) < LEVEL)


# ---- pictures ----
def figure(columns: int, width: float, height: float) -> tuple[Any, list[Any]]:
    """Return a Matplotlib figure with this many axes side by side."""
    return panels(columns, width, height, label_size=8)


def save_figure(drawn: Any, folder: str | os.PathLike[str], name: str) -> str:
    """Save a figure as svg in a folder (made if need be) and return its path."""
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(os.fspath(folder), f"{name}.svg")
    drawn.savefig(path, metadata={"Date": None})
    return path
