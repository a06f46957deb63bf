"""Small SVG charts, coloured by the style sheet, so that they follow dark mode.

Inline plots in table cells use percentages, so they fit any width. Heat maps draw all cells of a colour as one path,
because a hundred items have ten thousand cells, and a path needs a dozen characters per cell.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

from concordant.ballots.vocabulary import shorten
from concordant.reporting.sections import BumpChart, DotPlot, GroupMap, HeatMap, Scale, Track
from concordant.support.markup import NOTHING, Markup, element, joined, verbatim

LETTER = 6.6  # pixels of a letter of a label
CELLS = (
    (12, 30, ""),
    (40, 18, ""),
    (60, 13, "close"),
    (1000, 9, "tight"),
)  # up to so many items: pixels of a cell, class
SHADES = 11
WRITTEN = 12  # items up to which the share is written into the cell
COLOURS = 8


# ---- in cells of tables ----
def track(drawn: Track, scale: Scale) -> Markup:
    """Draw a dot, its interval and the mark of the scale; hidden from screen readers, which read another column."""
    parts = []
    if scale.mark is not None:
        place = _percent(scale.mark, scale)
        parts.append(element("line", class_="mark", x1=place, x2=place, y1="0", y2="16"))
    if drawn.low is not None and drawn.high is not None:
        low, high = _percent(drawn.low, scale), _percent(drawn.high, scale)
        parts.append(element("line", class_="span", x1=low, x2=high, y1="8", y2="8"))
    elif scale.mark is None:
        parts.append(element("line", class_="stem", x1="2%", x2=_percent(drawn.value, scale), y1="8", y2="8"))
    parts.append(element("circle", class_="dot", cx=_percent(drawn.value, scale), cy="8", r="4.5"))
    return element("svg", *parts, class_="track", height="16", aria_hidden="true")


def _percent(value: float, scale: Scale) -> str:
    """Return the position of a value on the axis in percent, with a margin of 2% on both sides."""
    return f"{2 + 96 * (value - scale.low) / (scale.high - scale.low):.1f}%"


def ticks(scale: Scale, max_ticks: int = 5) -> list[float]:
    """Return at most 15 round numbers within the scale, about ``max_ticks`` of them."""
    step = 10 ** math.floor(math.log10(max(scale.high - scale.low, 1e-300)))
    while (scale.high - scale.low) / step > max_ticks:
        step *= 2 if (scale.high - scale.low) / step <= 2 * max_ticks else 5
    while (scale.high - scale.low) / step < max_ticks / 2:
        step /= 2
    first = math.ceil(scale.low / step - 1e-9)
    return [k * step for k in range(first, first + 3 * max_ticks) if k * step <= scale.high + 1e-9 * step]


# ---- who beats whom ----
def heat_map(drawn: HeatMap) -> Markup:
    """Draw the win rates as a heat map; the script of the page shows the counts of a cell on hover."""
    n = len(drawn.labels)
    labels = [shorten(label, 24) for label in drawn.labels]
    left = 8 + LETTER * max(len(label) for label in labels) + 26
    top = 8 + LETTER * max(len(label) for label in labels) * 0.8 if n <= 60 else 30
    cell_size, closeness = next((pixels, name) for max_items, pixels, name in CELLS if n <= max_items)
    parts = [element("g", *_cells(drawn, cell_size), transform=f"translate({left:.0f} {top:.0f})", class_="cells")]
    for k, label in enumerate(labels):
        middle = cell_size * (k + 0.5)
        parts.append(_text(f"{k + 1}  {label}", left - 6, top + middle + 4, "end"))
        if n <= 60:
            x, y = left + middle + 3, top - 6
            parts.append(element("text", label, x=x, y=y, transform=f"rotate(-50 {x:.5g} {y:.5g})"))
    width, height = left + cell_size * n + (0.65 * top if n <= 60 else 8), top + cell_size * n + 8
    return _picture(
        drawn.title,
        width,
        height,
        parts,
        data_heat=_counts(drawn, cell_size, left, top),
        class_=f"heat {closeness}".strip(),
    )


def _cells(drawn: HeatMap, cell_size: int) -> list[Markup]:
    """Return the cells, coloured by the row's win rate (ties count half), as one path per shade, with numbers if there
    are few items.
    """
    paths: list[list[str]] = [[] for _ in range(SHADES)]
    written = []
    n = len(drawn.labels)
    for i in range(n):
        for j in range(n):
            total = drawn.wins[i][j] + drawn.wins[j][i] + drawn.ties[i][j]
            if i == j or not total:
                continue
            share = (drawn.wins[i][j] + drawn.ties[i][j] / 2) / total
            shade = min(int(share * SHADES), SHADES - 1)
            paths[shade].append(f"M{j * cell_size} {i * cell_size}h{cell_size - 1}v{cell_size - 1}h-{cell_size - 1}z")
            if n <= WRITTEN:
                x, y = (j + 0.5) * cell_size - 0.5, (i + 0.5) * cell_size + 3.5
                strong = "strong" if shade in (0, 1, SHADES - 2, SHADES - 1) else None
                written.append(element("text", f"{100 * share:.0f}", x=x, y=y, text_anchor="middle", class_=strong))
    shades = [element("path", class_=f"h{k}", d="".join(path)) for k, path in enumerate(paths) if path]
    return [*shades, *written]


def group_map(drawn: GroupMap) -> Markup:
    """Draw a heat map, items x groups, of differences from the other groups: blue higher, red lower, ★ if
    significant.
    """
    labels, groups = ([shorten(label, 24) for label in names] for names in (drawn.labels, drawn.groups))
    cell_height, cell_width = 22, 46  # pixels
    left = 14 + LETTER * max(len(label) for label in labels)
    top = 12 + LETTER * max(len(label) for label in groups) * 0.8
    largest = max((abs(value) for row in drawn.apart for value in row if value is not None), default=0.0) or 1.0
    cells = []
    for i, row in enumerate(drawn.apart):
        for j, value in enumerate(row):
            if value is None:
                continue
            shade = min(int((value / largest + 1) / 2 * SHADES), SHADES - 1)
            strong = "strong" if shade in (0, 1, SHADES - 2, SHADES - 1) else None
            star = " ★" if drawn.sure[i][j] else ""
            tooltip = f"{drawn.labels[i]} in {drawn.groups[j]}: {value:+.3g}{', significant' if star else ''}"
            box = element(
                "rect",
                x=j * cell_width,
                y=i * cell_height,
                width=cell_width - 1,
                height=cell_height - 1,
                class_=f"h{shade}",
            )
            x, y = (j + 0.5) * cell_width - 0.5, (i + 0.5) * cell_height + 3.5
            text = element("text", f"{value:+.2g}{star}", x=x, y=y, text_anchor="middle", class_=strong)
            cells.append(element("g", element("title", tooltip), box, text))
    parts = [element("g", *cells, transform=f"translate({left:.0f} {top:.0f})", class_="cells")]
    for i, label in enumerate(labels):
        parts.append(_text(label, left - 6, top + cell_height * (i + 0.5) + 4, "end"))
    for j, label in enumerate(groups):
        x, y = left + cell_width * (j + 0.5), top - 6
        parts.append(element("text", label, x=x, y=y, transform=f"rotate(-50 {x:.5g} {y:.5g})"))
    return _picture(
        drawn.title,
        left + cell_width * len(groups) + 0.65 * top,
        top + cell_height * len(labels) + 8,
        parts,
        class_="heat",
    )


def _counts(drawn: HeatMap, size: int, left: float, top: float) -> str:
    """Return the counts of all cells as JSON for the script of the page."""
    wins = [[round(value, 6) if value % 1 else int(value) for value in row] for row in drawn.wins]
    ties = [[round(value, 6) if value % 1 else int(value) for value in row] for row in drawn.ties]
    ties_kept = ties if any(any(row) for row in ties) else []
    data = {
        "size": size,
        "left": round(left),
        "top": round(top),
        "wins": wins,
        "ties": ties_kept,
        "labels": drawn.labels,
    }
    return json.dumps(data, separators=(",", ":"), ensure_ascii=False)


# ---- ranks by method ----
def bump_chart(drawn: BumpChart) -> Markup:
    """Draw a line per item across methods; the first items are coloured, the others grey."""
    places = _compact(drawn.ranks)
    rows = 1 + max((max(item_places) for item_places in places), default=0)
    side = 12 + LETTER * max((len(label) for label in drawn.labels), default=0)
    step = max(96.0, LETTER * max(len(name) for name in drawn.methods) + 18)
    top, line = 34.0, 22.0
    x = [side + 26 + k * step for k in range(len(drawn.methods))]
    parts = [_text(name, x[k], 16, "middle", "method") for k, name in enumerate(drawn.methods)]
    for item in range(len(drawn.labels) - 1, -1, -1):
        colour = f"c{item % COLOURS}" if item < COLOURS else "rest"
        y = [top + line * place for place in places[item]]
        path = "M" + "L".join(f"{a:.0f} {b:.0f}" for a, b in zip(x, y, strict=True))
        tooltip = f"{drawn.labels[item]}: " + ", ".join(
            f"{name} {rank}" for name, rank in zip(drawn.methods, drawn.ranks[item], strict=True)
        )
        dots = [element("circle", cx=a, cy=b, r="8") for a, b in zip(x, y, strict=True)]
        ranks = [
            _text(str(rank), a, b + 3.5, "middle", "rank") for a, b, rank in zip(x, y, drawn.ranks[item], strict=True)
        ]
        ends = [_text(drawn.labels[item], x[0] - 14, y[0] + 4, "end"), _text(drawn.labels[item], x[-1] + 14, y[-1] + 4)]
        inner = [element("title", tooltip), element("path", d=path, class_="line"), *dots, *ranks, *ends]
        parts.append(element("g", *inner, class_=colour))
    return _picture(drawn.title, x[-1] + side + 26, top + line * rows, parts, class_="bump")


def _compact(ranks: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return the vertical position of each item for each method (items x methods); ties are stacked in item order."""
    n_methods = len(ranks[0]) if ranks else 0
    places = [[0] * n_methods for _ in ranks]
    for k in range(n_methods):
        for row, item in enumerate(sorted(range(len(ranks)), key=lambda item: (ranks[item][k], item))):
            places[item][k] = row
    return places


# ---- files of their own ----
def dot_plot(drawn: DotPlot) -> Markup:
    """Draw scores with their confidence intervals as a separate chart."""
    labels = [shorten(label, 40) for label in drawn.labels]
    left, width, top, line = 16 + LETTER * max(map(len, labels), default=0), 420.0, 34.0, 22.0
    bottom = top + line * len(labels)
    scale = drawn.scale

    def x(value: float) -> float:
        return left + width * (value - scale.low) / (scale.high - scale.low)

    parts = [_text(drawn.title, 8, 18, class_="method")]
    for tick in ticks(scale):
        parts.append(element("line", class_="grid", x1=x(tick), x2=x(tick), y1=top - 6, y2=bottom))
        parts.append(_text(f"{tick:.4g}", x(tick), bottom + 16, "middle"))
    for k, (label, drawn_track) in enumerate(zip(labels, drawn.tracks, strict=True)):
        y = top + line * (k + 0.5)
        parts.append(_text(label, left - 10, y + 4, "end"))
        if drawn_track.low is not None and drawn_track.high is not None:
            parts.append(element("line", class_="span", x1=x(drawn_track.low), x2=x(drawn_track.high), y1=y, y2=y))
        parts.append(element("circle", class_="dot", cx=x(drawn_track.value), cy=y, r="4.5"))
    return _picture(drawn.title, left + width + 24, bottom + 26, parts, class_="dots")


def standalone(picture: Markup, style: str) -> str:
    """Return a chart as a separate SVG file in light style."""
    styled = picture.replace(">", f">{element('style', verbatim(style, within='style'))}", 1)
    return styled.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)


def _picture(title: str, width: float, height: float, parts: Sequence[Markup], **attributes: object) -> Markup:
    """Return the svg element of a picture of this size in pixels, with its title for screen readers."""
    return element(
        "svg",
        joined(parts),
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        width=f"{width:.0f}",
        height=f"{height:.0f}",
        role="img",
        aria_label=title,
        **attributes,
    )


def _text(text: str, x: float, y: float, anchor: str | None = None, class_: str | None = None) -> Markup:
    return element("text", text, x=x, y=y, text_anchor=anchor, class_=class_) if text else NOTHING
