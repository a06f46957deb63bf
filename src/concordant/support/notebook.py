"""Results in notebooks: tables with intervals, bars and shaded cells, for light and dark themes.

Notebooks have no style sheet of ours, so the styles are inline, text has the colour of the page, and the other colours
are readable on white and on black. Labels are escaped. Nothing is loaded from elsewhere, and there is no script.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from concordant.support.display import Block, DisplayTable, Drawn, compact_cells
from concordant.support.markup import Markup, element, joined
from concordant.support.palette import ABOVE, BELOW, EITHER
from concordant.support.text import round_numbers, tick_labels

WIDTH, HEIGHT, EDGE = 220, 18, 8  # pixels of an interval
SHADE = 0.45  # opacity of the strongest shade
_RULE = "1px solid rgba(128,128,128,.35)"
_CELL = f"padding:3px 10px;border:0;border-bottom:{_RULE};vertical-align:middle;"


def notebook(blocks: Sequence[Block]) -> str:
    """Return blocks as a fragment of HTML for notebooks."""
    parts = [part for block in blocks for part in _parts(block)]
    return str(element("div", joined(parts, "\n"), class_="concordant", style="overflow-x:auto;line-height:1.4"))


def _parts(block: Block) -> list[Markup]:
    if isinstance(block, DisplayTable):
        return [_table(block), *map(_paragraph, block.notes)]
    title = [element("h4", block.title, style="margin:12px 0 4px")] if block.title else []
    table = [_table(block.table)] if block.table is not None else []
    return [*title, *map(_paragraph, block.sentences), *table]


def _paragraph(text: str) -> Markup:
    return element("p", text, style="margin:6px 0;max-width:70em")


def _table(table: DisplayTable) -> Markup:
    """Return a table; the drawn values are its last column."""
    drawn = table.drawn
    scale = None if drawn is None else _scale(drawn)
    heads = [
        _cell("th", name, k, table, "font-weight:600;opacity:.75", scope="col") for k, name in enumerate(table.header)
    ]
    if drawn is not None and scale is not None:
        title = drawn.title if table.header[-1] != drawn.title else None
        style = f"{_CELL}text-align:left;font-weight:600;opacity:.75"
        heads.append(element("th", title, _axis(drawn, scale), scope="col", style=style))
    rows = []
    for r, row in enumerate(table.rows):
        shades = [_shade(table.shades.get((r, k), 0.0)) for k in range(len(row))]
        cells = [_cell("td", text, k, table, shades[k]) for k, text in enumerate(compact_cells(row, table.right))]
        if drawn is not None and scale is not None:
            cells.append(element("td", _picture(drawn, r, scale), style=f"{_CELL}padding-top:0;padding-bottom:0"))
        rows.append(element("tr", *cells, style="background:transparent"))
    style = "text-align:left;font-weight:600;padding:2px 10px;caption-side:top"
    return element(
        "table",
        element("caption", table.title, style=style) if table.title else None,
        element("thead", element("tr", *heads, style="background:transparent")) if any(table.header) else None,
        element("tbody", joined(rows, "\n")),
        style="border-collapse:collapse;border:0;margin:4px 0;font-variant-numeric:tabular-nums",
    )


def _cell(name: str, text: str, column: int, table: DisplayTable, more: str, **attributes: str) -> Markup:
    """Return a cell; text other than numbers is isolated, because it may be written from right to left."""
    is_number = column in table.right
    style = f"{_CELL}text-align:{'right' if is_number else 'left'};{more}"
    return element(name, text if is_number else element("bdi", text), **attributes, style=style)


def _shade(value: float) -> str:
    """Return the background of a cell for a value from -1 (below) to 1 (above)."""
    red, green, blue = (int((ABOVE if value > 0 else BELOW)[k : k + 2], 16) for k in (1, 3, 5))
    return f"background:rgba({red},{green},{blue},{SHADE * min(abs(value), 1):.2f})" if value else ""


# ---- drawn values ----
def _scale(drawn: Drawn) -> tuple[float, float]:
    """Return the ends of the common axis; bars start at zero."""
    known = [value for part in (drawn.values, drawn.low, drawn.high) for value in part if math.isfinite(value)]
    low, high = min(known, default=0.0), max(known, default=1.0)
    if drawn.is_bar:
        low, high = min(low, 0.0), max(high, 0.0)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _x(value: float, scale: tuple[float, float]) -> float:
    return round(EDGE + (WIDTH - 2 * EDGE) * (value - scale[0]) / (scale[1] - scale[0]), 1)


def _axis(drawn: Drawn, scale: tuple[float, float]) -> Markup:
    """Draw a few numbers of the axis."""
    style = "font-size:10px;font-weight:400;fill:currentColor"
    numbers = round_numbers(*scale, 4)
    texts = [
        element("text", text, x=_x(value, scale), y=10, text_anchor="middle", style=style)
        for value, text in zip(numbers, tick_labels(numbers), strict=True)
    ]
    return _svg(drawn.title, 14, texts)


def _picture(drawn: Drawn, row: int, scale: tuple[float, float]) -> Markup:
    """Draw the value of a row: a bar from zero, or a dot on its interval."""
    value, middle = drawn.values[row], HEIGHT / 2
    parts = []
    if scale[0] < 0 < scale[1]:
        style = "stroke:currentColor;opacity:.35"
        parts.append(element("line", x1=_x(0.0, scale), x2=_x(0.0, scale), y1=0, y2=HEIGHT, style=style))
    if drawn.is_bar and math.isfinite(value):
        start, stop = sorted((_x(0.0, scale), _x(value, scale)))
        parts.append(element("rect", x=start, width=max(stop - start, 0.5), y=middle - 5, height=10, rx=2, fill=EITHER))
    elif math.isfinite(value):
        if drawn.low and math.isfinite(drawn.low[row] + drawn.high[row]):
            ends = {"x1": _x(drawn.low[row], scale), "x2": _x(drawn.high[row], scale)}
            style = f"stroke:{EITHER};stroke-width:5;stroke-linecap:round;opacity:.5"
            parts.append(element("line", **ends, y1=middle, y2=middle, style=style))
        parts.append(element("circle", cx=_x(value, scale), cy=middle, r=4.5, fill=EITHER))
    return _svg("", HEIGHT, parts)


def _svg(title: str, height: int, parts: Sequence[Markup]) -> Markup:
    """Return an inline picture; the numbers are in the other columns, so screen readers skip those without a title."""
    spoken = {"role": "img", "aria_label": title} if title else {"aria_hidden": "true"}
    size = {"width": WIDTH, "height": height, "viewBox": f"0 0 {WIDTH} {height}"}
    return element("svg", *parts, **size, **spoken, style="display:block;max-width:none")
