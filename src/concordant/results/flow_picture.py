"""Sankey diagrams of quantities that flow from round to round, as SVG text.

Each round is a column of boxes, one per row (a candidate), with heights proportional to their amounts; bands connect
them, with widths proportional to the amounts transferred. Text has the colour of the surrounding page, so it is light
on dark pages, and the boxes have the colours of its scheme. Labels are escaped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from concordant.ballots.vocabulary import shorten_apart
from concordant.support.palette import DARK, LIGHT
from concordant.support.text import plain_number, visible

HEIGHT = 340.0  # of a column of boxes, gaps aside
GAP = 9.0
WIDTH = 12.0  # of a box
STEP = 124.0  # from column to column
LETTER = 6.6
LONGEST = 24  # letters of a label


@dataclass(frozen=True)
class Node:
    """The amount of a row in a round, and its outcome: elected, eliminated, or none."""

    amount: float
    mark: str = ""


@dataclass(frozen=True)
class Flow:
    """The amount transferred from a row of one round to a row of the next."""

    source: int
    target: int
    amount: float


def draw_flows(
    title: str,
    rows: Sequence[str],
    names: Sequence[str],
    columns: Sequence[Sequence[Node]],
    flows: Sequence[Sequence[Flow]],
) -> str:
    """Draw rounds side by side as an SVG: a column of boxes per round, bands between them; the last row is grey.

    ``rows`` are the labels of the rows, ``names`` those of the rounds; ``flows`` lead from each round to the next.
    """
    total = max((sum(node.amount for node in column) for column in columns), default=0.0) or 1.0
    unit = HEIGHT / total
    labels = shorten_apart([visible(label, colours=False) for label in rows], LONGEST)
    left = 14 + LETTER * max(map(len, labels), default=0)
    x = [left + STEP * k for k in range(len(columns))]
    top = [_tops(column, unit) for column in columns]
    parts = [f'<text x="8" y="18" class="title">{_text(title)}</text>']
    parts += [
        f'<text x="{x[k] + WIDTH / 2:.0f}" y="40" class="mid">{_text(name)}</text>' for k, name in enumerate(names)
    ]
    for k, moves in enumerate(flows):
        parts += _bands(moves, rows, (x[k] + WIDTH, x[k + 1]), (top[k], top[k + 1]), unit)
    for k, column in enumerate(columns):
        parts += _boxes(column, rows, labels, x[k], top[k], unit, ends=(k == 0, k == len(columns) - 1))
    width = x[-1] + WIDTH + 40 + LETTER * max(8, len(labels[-1]) + 6) if x else left
    height = 60 + HEIGHT + GAP * len(rows)
    style = (
        ".flow text{font:12px system-ui,sans-serif;fill:currentColor}.flow .title{font-weight:600;font-size:13px}"
        ".flow .end{text-anchor:end}.flow .mid{text-anchor:middle}" + "".join(_colours())
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="flow" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}" role="img" aria-label="{_text(title)}"><style>{style}</style>'
        + "".join(parts)
        + "</svg>"
    )


def _tops(column: Sequence[Node], unit: float) -> list[float]:
    """Return the y coordinate of the top of every row's box; empty rows take no space."""
    tops, y = [], 52.0
    for node in column:
        tops.append(y)
        if node.amount > 0:
            y += node.amount * unit + GAP
    return tops


def _boxes(
    column: Sequence[Node],
    rows: Sequence[str],
    labels: Sequence[str],
    x: float,
    top: Sequence[float],
    unit: float,
    ends: tuple[bool, bool],
) -> list[str]:
    """Draw the boxes of a column; ``ends`` is whether it is the first (has labels) and the last (labels the last
    row).
    """
    parts = []
    for k, node in enumerate(column):
        if node.amount <= 0:
            continue
        height = max(node.amount * unit, 1.0)
        tooltip = f"{rows[k]}: {plain_number(node.amount, 2)}" + (f", {node.mark}" if node.mark else "")
        parts.append(
            f'<rect x="{x:.1f}" y="{top[k]:.1f}" width="{WIDTH:.0f}" height="{height:.1f}" rx="2" '
            f'class="{_series(k, len(rows))}"><title>{_text(tooltip)}</title></rect>'
        )
        middle = top[k] + height / 2 + 4
        if ends[0]:
            parts.append(f'<text x="{x - 8:.1f}" y="{middle:.1f}" class="end">{_text(labels[k])}</text>')
        symbol = {"elected": " ✓", "out": " ✗"}.get(node.mark, "")
        number = plain_number(node.amount, 1)
        label = f" {_text(labels[k])}" if ends[1] and k == len(rows) - 1 else ""
        parts.append(f'<text x="{x + WIDTH + 4:.1f}" y="{middle:.1f}">{number}{symbol}{label}</text>')
    return parts


def _bands(
    moves: Sequence[Flow],
    rows: Sequence[str],
    x: tuple[float, float],
    top: tuple[Sequence[float], Sequence[float]],
    unit: float,
) -> list[str]:
    """Draw the bands between two columns; the bands of a box are stacked in the order of their targets."""
    middle = (x[0] + x[1]) / 2
    begin, end = list(top[0]), list(top[1])
    parts = []
    for move in sorted(moves, key=lambda flow: (flow.source, flow.target)):
        if move.amount <= 0:
            continue
        width = move.amount * unit
        y0, y1 = begin[move.source], end[move.target]
        begin[move.source] += width
        end[move.target] += width
        tooltip = f"{rows[move.source]} to {rows[move.target]}: {plain_number(move.amount, 2)}"
        opacity = 0.28 if move.source == move.target else 0.5
        parts.append(
            f'<path d="M{x[0]:.1f} {y0:.1f}C{middle:.1f} {y0:.1f} {middle:.1f} {y1:.1f} {x[1]:.1f} {y1:.1f}'
            f'v{width:.1f}C{middle:.1f} {y1 + width:.1f} {middle:.1f} {y0 + width:.1f} {x[0]:.1f} {y0 + width:.1f}z" '
            f'class="{_series(move.source, len(rows))}" fill-opacity="{opacity}"><title>{_text(tooltip)}</title></path>'
        )
    return parts


def _series(row: int, n_rows: int) -> str:
    """Return the CSS class of the colour of a row; the last row and those beyond the palette are grey."""
    return "s0" if row == n_rows - 1 or row >= len(LIGHT.series) else f"s{row + 1}"


def _colours() -> Iterator[str]:
    """Yield the rules for colours; a picture in a file of its own also chooses the colour of text."""
    yield f":root.flow{{color-scheme:light dark;color:light-dark({LIGHT.ink},{DARK.ink})}}"
    pairs = zip((LIGHT.rest, *LIGHT.series), (DARK.rest, *DARK.series), strict=True)
    for k, (light, dark) in enumerate(pairs):
        yield f".flow .s{k}{{fill:{light};fill:light-dark({light},{dark})}}"


def _text(text: str) -> str:
    """Return text escaped for SVG."""
    shown = visible(text, colours=False).encode("utf-8", "backslashreplace").decode("utf-8")
    return escape(shown, quote=True)
