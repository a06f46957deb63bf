"""What the experiments share: Markdown tables with published and obtained figures, and pictures."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from concordant.errors import ConcordantError

INK, COLOURS = "#24303c", ("#1f6f8b", "#d1793b", "#6b7f3f", "#8a5a9e")


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]], n_text: int = 1) -> str:
    """Return a Markdown table; all columns after the first ``n_text`` are flush right."""
    rule = ["---" if c < n_text else "---:" for c in range(len(header))]
    lines = [header, rule, *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def markdown_page(title: str, *parts: str) -> str:
    """Join a title, tables and notes into a page."""
    return "\n\n".join([f"# {title}", *(part.strip() for part in parts if part.strip())]) + "\n"


def figure(columns: int, width: float, height: float) -> tuple[Any, Any]:
    """Return a Matplotlib figure with this many axes side by side (always a list of axes)."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ConcordantError("Pictures need Matplotlib: pip install concordant[plots].") from None
    drawn = Figure(figsize=(width, height), layout="constrained")
    axes = drawn.subplots(1, columns, squeeze=False)[0]
    for one in axes:
        one.spines[["top", "right"]].set_visible(False)
        one.tick_params(colors=INK, labelsize=8)
    return drawn, list(axes)


def save_figure(drawn: Any, folder: str | os.PathLike[str], name: str) -> str:
    """Save a figure as svg in a folder (made if need be) and return its path."""
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(os.fspath(folder), f"{name}.svg")
    drawn.savefig(path, metadata={"Date": None})
    return path
