"""Render tables and matrices as HTML: inline plots in cells, heat maps as tables of coloured cells.

The script of the page sorts, filters and pages through tables; all rows are in the HTML.
"""

from __future__ import annotations

import math

import numpy as np

from concordant.reporting import pictures
from concordant.reporting.sections import Cell, GroupMap, HeatMap, Named, ReportTable, Split, Tag, Track, Versus
from concordant.support.markup import Markup, element, joined
from concordant.support.text import short_number, typeset_number

SORTED_FROM = 3  # rows from which a table can be sorted
FILTERED_FROM = 12
PAGED_FROM = 41
MAX_MATRIX = 30  # items up to which a heat map is a table
TURNED_FROM, MAX_LEVEL = 9, 9  # items from which longer names than this are written upwards above a heat map
TOOLTIPS = 12  # items up to which cells carry their tooltip; the script writes those of larger tables


def table(content: ReportTable) -> Markup:
    """Return a table; the page's script makes it sortable from 3 rows, filterable from 12, and paged from 41."""
    heads = [
        element("th", _head(k, content), scope="col", class_=_class(k, content)) for k in range(len(content.header))
    ]
    rows = []
    for number, row in enumerate(content.rows):
        cells = [_cell(cell, k, content, number) for k, cell in enumerate(row)]
        classes = [
            "first" if number == 0 and _is_rank(0, content) else "",
            "marked" if number in content.marked else "",
            "chosen" if number in content.chosen else "",
        ]
        rows.append(element("tr", *cells, class_=" ".join(filter(None, classes)) or None))
    drawn = element(
        "table",
        element("caption", content.title),
        element("thead", element("tr", *heads)),
        element("tbody", *rows),
        data_sort=content.is_sortable and len(rows) >= SORTED_FROM,
        data_filter=content.is_sortable and len(rows) >= FILTERED_FROM,
        data_page=content.is_sortable and len(rows) >= PAGED_FROM,
    )
    return element("div", drawn, class_="scroll table", tabindex="0", role="group", aria_label=content.title)


def _is_drawn(column: int, content: ReportTable) -> bool:
    """Return whether a column holds inline plots."""
    if content.rows and isinstance(content.rows[0][column], Split):
        return True
    return content.scale is not None and content.header[column] == content.scale.title


def _is_rank(column: int, content: ReportTable) -> bool:
    return column == 0 and content.header[0].lower() == "rank"


def _class(column: int, content: ReportTable) -> str | None:
    """Return the CSS classes of a column: drawn, a rank, numbers, or left out on small screens."""
    if _is_drawn(column, content):
        return "drawn"
    kind = "place" if _is_rank(column, content) else "num" if column in content.right else ""
    return f"{kind} hide-s".strip() if column in content.minor else kind or None


def _head(column: int, content: ReportTable) -> Markup | str:
    """Return the name of a column; above inline plots, the numbers of their axis."""
    name = content.header[column]
    if content.scale is not None and name == content.scale.title:
        return joined([element("span", name, class_="spoken"), pictures.axis(content.scale)])
    if _is_rank(column, content):
        return joined([element("span", name, class_="spoken"), element("span", "#", aria_hidden="true")])
    return element("span", name, class_="wraps") if ": " in name else name


def _cell(cell: Cell, column: int, content: ReportTable, row: int) -> Markup:
    """Return a cell; the first label of a row is its heading, and a link if the row has a target."""
    if isinstance(cell, Split):
        return element("td", pictures.split(cell), class_="drawn")
    if isinstance(cell, Track | Versus):
        assert content.scale is not None
        drawn = pictures.track(cell, content.scale) if isinstance(cell, Track) else pictures.versus(cell, content.scale)
        return element("td", drawn, class_="drawn")
    if isinstance(cell, Tag):
        return element(
            "td", element("span", cell.text, class_=f"chip tiny {cell.tone}"), class_=_class(column, content)
        )
    if isinstance(cell, Named):
        shown: Markup | str = element("bdi", cell.text) if column in content.labels else cell.text
        inner: Markup | str = joined([shown, " ", element("span", cell.id, class_="id")])
    else:
        inner = element("bdi", cell) if column in content.labels else cell
        inner = typeset_number(cell) if column in content.right and column not in content.labels else inner
    first_label = min(content.labels, default=0)
    if content.links and content.links[row] and column == first_label:
        link = content.links[row]
        inner = element("a", inner, href=link if link.endswith(".html") or link[0] in "?#" else f"#{link}")
    if (
        column == first_label
        and (column in content.labels or column == 0)
        and column <= 1
        and column not in content.right
    ):
        return element("th", inner, scope="row", class_=_class(column, content))
    return element("td", inner, class_=_class(column, content))


# ---- matrices ----
def matrix(drawn: HeatMap) -> Markup:
    """Return pairwise wins as a table: the row's share of wins, or its votes if all pairs have the same number.

    Cells of pairs that were never compared are hatched.
    """
    n = len(drawn.labels)
    totals = {drawn.wins[i][j] + drawn.wins[j][i] + drawn.ties[i][j] for i in range(n) for j in range(n) if i != j}
    is_counts = len(totals) == 1 and not any(map(any, drawn.ties)) and max(totals) < 10_000
    names = pictures.first_names(drawn.labels)
    is_crowded = n >= TURNED_FROM and max(map(len, names)) > MAX_LEVEL
    heads = [element("th", element("bdi", name), scope="col") for name in names]
    rows = [
        element(
            "tr",
            element("th", element("bdi", label), scope="row"),
            *(_duel(drawn, i, j, is_counts) for j in range(n)),
        )
        for i, label in enumerate(drawn.labels)
    ]
    unit = f"{drawn.noun} of {short_number(max(totals))}" if is_counts else f"share of {drawn.noun} in percent"
    classes = "matrix dense" if n > TOOLTIPS else "matrix turned" if is_crowded else "matrix"
    drawn_table = element(
        "table",
        element("caption", f"{drawn.title} ({unit})" if n > 1 else drawn.title),
        element("thead", element("tr", element("td"), *heads)),
        element("tbody", *rows),
        class_=classes,
        data_heat=pictures.counts_of(drawn) if n > TOOLTIPS else None,
    )
    scroll = element("div", drawn_table, class_="scroll", tabindex="0", role="group", aria_label=drawn.title)
    return joined([scroll, legend("row loses", "row wins", "never compared" if 0.0 in totals else "")])


def _duel(drawn: HeatMap, i: int, j: int, is_counts: bool) -> Markup:
    if i == j:
        return element("td", "·", class_="self")
    won, lost, tied = drawn.wins[i][j], drawn.wins[j][i], drawn.ties[i][j]
    total = won + lost + tied
    pair = f"{drawn.labels[i]} against {drawn.labels[j]}"
    tooltips = len(drawn.labels) <= TOOLTIPS
    if not total:
        never = element("span", "never compared", class_="spoken")
        return element("td", never, class_="none", title=f"{pair}: never compared" if tooltips else None)
    share = (won + tied / 2) / total
    ties = f", {short_number(tied)} tied" if tied else ""
    said = f"{pair}: {short_number(won)} to {short_number(lost)} {drawn.noun}{ties}"
    shown = short_number(won) if is_counts else f"{100 * share:.0f}"
    return element("td", shown, class_=f"d{pictures.shade_of(share)}", title=said if tooltips else None)


def has_gaps(drawn: HeatMap) -> bool:
    """Return whether some pairs were never compared."""
    wins, ties = np.array(drawn.wins), np.array(drawn.ties)
    never = (wins + wins.T + ties) == 0
    return bool((never & ~np.eye(len(wins), dtype=bool)).any())


def group_matrix(drawn: GroupMap) -> Markup:
    """Return differences from the other groups as a table, items x groups; a star marks significant differences."""
    largest = max((abs(value) for row in drawn.apart for value in row if value is not None), default=0.0) or 1.0
    sizes = drawn.sizes or ("",) * len(drawn.groups)
    heads = [
        element("th", element("bdi", name), element("small", size) if size else None, scope="col")
        for name, size in zip(drawn.groups, sizes, strict=True)
    ]
    rows = []
    for i, label in enumerate(drawn.labels):
        cells = [
            _difference(value, largest, drawn.sure[i][j], f"{label} in {drawn.groups[j]}")
            for j, value in enumerate(drawn.apart[i])
        ]
        rows.append(element("tr", element("th", element("bdi", label), scope="row"), *cells))
    drawn_table = element(
        "table",
        element("caption", drawn.title),
        element("thead", element("tr", element("td"), *heads)),
        element("tbody", *rows),
        class_="matrix heat",
    )
    scroll = element("div", drawn_table, class_="scroll", tabindex="0", role="group", aria_label=drawn.title)
    return joined([scroll, legend("lower than in other groups", "higher", "unknown" if _has_gap(drawn) else "")])


def _has_gap(drawn: GroupMap) -> bool:
    return any(value is None for row in drawn.apart for value in row)


def _difference(value: float | None, largest: float, is_sure: bool, where: str) -> Markup:
    if value is None:
        return element("td", element("span", "unknown", class_="spoken"), class_="none", title=f"{where}: unknown")
    shade = pictures.shade_of((value / largest + 1) / 2)
    decimals = max(1 - math.floor(math.log10(largest)), 0)
    text = f"{round(value, decimals) + 0.0:+,.{decimals}f}"
    star = joined([element("span", "★", aria_hidden="true"), element("span", " significant", class_="spoken")])
    return element(
        "td",
        text.replace("-", "−"),
        star if is_sure else None,
        class_=f"d{shade}",
        title=f"{where}: {value:+.3g}{', significant' if is_sure else ''}",
    )


def legend(low: str, high: str, hatched: str = "") -> Markup:
    """Return the colour scale between two labels, and what hatched cells are."""
    ramp = element(
        "span", *(element("i", class_=f"d{k}") for k in range(pictures.SHADES)), class_="ramp", aria_hidden="true"
    )
    parts = [element("span", low, ramp, high)]
    if hatched:
        parts.append(element("span", element("i", class_="hatch", aria_hidden="true"), hatched))
    return element("p", *parts, class_="legend")
