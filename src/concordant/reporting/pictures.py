"""Small SVG charts, coloured by the style sheet, so that they follow dark mode.

Inline plots in table cells use percentages, so they fit any width. Heat maps of many items draw all cells of a colour
as one path, because a hundred items have ten thousand cells, and a path needs a dozen characters per cell.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from concordant.ballots.vocabulary import shorten, shorten_apart
from concordant.narrative.sentences import ordinal
from concordant.reporting.sections import BumpChart, DotPlot, HeatMap, Scale, Sparkline, Split, Track, Versus
from concordant.support.markup import NOTHING, Markup, element, joined, verbatim
from concordant.support.text import round_numbers, short_number
from concordant.support.text import tick_labels as tick_labels

LETTER = 6.8  # pixels of a letter of a label
CELLS = ((40, 18), (60, 13), (1000, 9))  # up to so many items: pixels of a cell
SHADES = 9
COLOURS = 6  # series that are told apart by colour; the others are grey
ROW = 34  # pixels of an inline plot
WIDE, NARROW = 980.0, 340.0  # pixels of a chart on a wide and on a narrow screen
_SMALL_WORDS = {"the", "les", "der", "die", "das", "los", "las", "una", "une", "von", "van"}


# ---- in cells of tables ----
def track(drawn: Track, scale: Scale) -> Markup:
    """Draw a dot on its interval, or a bar; hidden from screen readers, which read the numbers in other columns."""
    middle = ROW / 2
    parts = [element("use", href=f"#{grid_name(scale)}")]
    if scale.mark is not None:
        place = percent(scale.mark, scale)
        parts.append(element("line", class_="zero", x1=place, x2=place, y1="0", y2=ROW))
    if scale.is_bar:
        start, stop = sorted((_share(0.0, scale), _share(drawn.value, scale)))
        parts.append(
            element(
                "rect", class_="bar", x=f"{start:.1f}%", width=f"{stop - start:.1f}%", y=middle - 6, height=12, rx=3
            )
        )
    else:
        if drawn.low is not None and drawn.high is not None:
            ends = percent(drawn.low, scale), percent(drawn.high, scale)
            parts.append(element("line", class_="span", x1=ends[0], x2=ends[1], y1=middle, y2=middle))
        parts.append(element("circle", class_="point", cx=percent(drawn.value, scale), cy=middle, r="5.5"))
    if drawn.other is not None:
        parts.append(element("circle", class_="hollow", cx=percent(drawn.other, scale), cy=middle, r="3.5"))
    return element("svg", *parts, height=ROW, aria_hidden="true")


def versus(drawn: Versus, scale: Scale) -> Markup:
    """Draw a value (blue if it is better, orange if worse) joined with a baseline (hollow); others are grey dots."""
    middle = ROW / 2
    colour = 1 if drawn.value >= drawn.baseline else 2
    ends = percent(drawn.baseline, scale), percent(drawn.value, scale)
    others = (element("circle", class_="f0", cx=percent(other, scale), cy=middle, r=3) for other in drawn.others)
    parts = [
        element("use", href=f"#{grid_name(scale)}"),
        *others,
        element("line", class_=f"line c{colour}", x1=ends[0], x2=ends[1], y1=middle, y2=middle),
        element("circle", class_="hollow", cx=ends[0], cy=middle, r="4.5"),
        element("circle", class_=f"f{colour}", cx=ends[1], cy=middle, r="5.5"),
    ]
    return element("svg", *parts, height=ROW, aria_hidden="true")


def split(drawn: Split) -> Markup:
    """Draw wins, ties and losses as one bar of three colours."""
    total = drawn.won + drawn.tied + drawn.lost
    shares = [100 * part / total for part in (drawn.won, drawn.tied, drawn.lost)] if total else []
    parts, start = [], 0.0
    for colour, share in zip((1, 0, 2), shares, strict=False):
        if share:
            width = max(share - 0.6 * (start + share < 99.9), 0.4)  # a gap before the next colour
            parts.append(
                element("rect", class_=f"f{colour}", x=f"{start:.1f}%", width=f"{width:.1f}%", y=5, height=12, rx=2)
            )
        start += share
    counts = ((drawn.won, "win", "wins"), (drawn.tied, "tie", "ties"), (drawn.lost, "loss", "losses"))
    said = ", ".join(f"{short_number(count)} {one if count == 1 else many}" for count, one, many in counts)
    return element("svg", element("title", said), *parts, height=22, role="img", aria_label=said)


def axis(scale: Scale) -> Markup:
    """Draw the numbers of the axis of a column of inline plots, and define the grid lines its cells refer to."""
    values = ticks(scale)
    texts = tick_labels(values)
    lines = [
        element("line", class_="gl", x1=percent(value, scale), x2=percent(value, scale), y1="0", y2="100%")
        for value in values
    ]
    every = 2 if max(map(len, texts)) > 6 and len(values) > 3 else 1
    numbers = [
        element(
            "text", text, x=percent(value, scale), y="11", class_=f"q t mid{' hide-s' if k % 2 and every == 1 else ''}"
        )
        for k, (value, text) in enumerate(zip(values, texts, strict=True))
        if k % every == 0
    ]
    grid = element("defs", element("g", *lines, id=grid_name(scale)))
    return element("svg", grid, *numbers, height="14", aria_hidden="true")


def grid_name(scale: Scale) -> str:
    """Return the name of the grid lines of a scale; scales with the same lines share it."""
    return "grid-" + "-".join(f"{10 * _share(value, scale):.0f}" for value in ticks(scale))


def percent(value: float, scale: Scale) -> str:
    """Return the position of a value on the axis in percent."""
    return f"{_share(value, scale):.1f}%"


def _share(value: float, scale: Scale) -> float:
    return min(max(100 * (value - scale.low) / (scale.high - scale.low), 0.0), 100.0)


def ticks(scale: Scale, max_ticks: int = 5) -> list[float]:
    """Return at least two and at most ``max_ticks`` round numbers within the scale."""
    return round_numbers(scale.low, scale.high, max_ticks)


# ---- who beats whom ----
def shade_of(share: float) -> int:
    """Return the shade of a share between 0 and 1, from 0 (below) over 4 (equal) to 8 (above)."""
    return min(max(round((share - 0.5) * 2 * 4) + 4, 0), SHADES - 1)


def heat_map(drawn: HeatMap) -> Markup:
    """Draw the win rates of many items as a heat map; the script of the page shows the counts of a cell on hover."""
    n = len(drawn.labels)
    labels = shorten_apart(drawn.labels, 24)
    size = next(pixels for max_items, pixels in CELLS if n <= max_items)
    left = 30 + LETTER * max(len(label) for label in labels)
    top = 8.0
    parts = [element("g", *_cells(drawn, size), transform=f"translate({left:.0f} {top:.0f})")]
    for k, label in enumerate(labels):
        y = top + size * (k + 0.5) + 4
        parts.append(_text(f"{k + 1}  {label}", left - 6, y, "end t" if size < 18 else "end"))
    return _picture(
        drawn.title, left + size * n + 8, top + size * n + 8, parts, data_heat=counts_of(drawn, size, left, top)
    )


def _cells(drawn: HeatMap, size: int) -> list[Markup]:
    """Return the cells, coloured by the row's win rate (ties count half), as one path per shade; pairs that were never
    compared have a diagonal line.
    """
    paths: list[list[str]] = [[] for _ in range(SHADES)]
    never = []
    for i in range(len(drawn.labels)):
        for j in range(len(drawn.labels)):
            total = drawn.wins[i][j] + drawn.wins[j][i] + drawn.ties[i][j]
            if i == j:
                continue
            if not total:
                never.append(f"M{j * size} {(i + 1) * size - 1}l{size - 1} -{size - 1}")
                continue
            shade = shade_of((drawn.wins[i][j] + drawn.ties[i][j] / 2) / total)
            paths[shade].append(f"M{j * size} {i * size}h{size - 1}v{size - 1}h-{size - 1}z")
    shades = [element("path", class_=f"d{k}", d="".join(path)) for k, path in enumerate(paths) if path]
    return [*shades, *([element("path", class_="never", d="".join(never))] if never else [])]


def counts_of(drawn: HeatMap, size: int = 0, left: float = 0.0, top: float = 0.0) -> str:
    """Return the counts of all cells as JSON for the script of the page."""
    wins = [[round(value, 6) if value % 1 else int(value) for value in row] for row in drawn.wins]
    ties = [[round(value, 6) if value % 1 else int(value) for value in row] for row in drawn.ties]
    ties_kept = ties if any(any(row) for row in ties) else []
    place = {"size": size, "left": round(left), "top": round(top)}
    data = {**place, "wins": wins, "ties": ties_kept, "labels": drawn.labels}
    return json.dumps(data, separators=(",", ":"), ensure_ascii=False)


# ---- the curve of one item ----
def sparkline(drawn: Sparkline) -> Markup:
    """Draw a small curve with its lowest and highest value, and its first and last time."""
    width, top, bottom = NARROW, 16.0, 84.0
    start, span = drawn.times[0], drawn.times[-1] - drawn.times[0] or 1.0
    low, high = min(drawn.values), max(drawn.values)
    x = [6 + (width - 60) * (time - start) / span for time in drawn.times]
    y = [bottom - (bottom - top) * (value - low) / (high - low or 1.0) for value in drawn.values]
    points = "L".join(f"{a:.1f} {b:.1f}" for a, b in zip(x, y, strict=True))
    peak = drawn.values.index(high)
    parts = [
        element("path", class_="line c1", d=f"M{points}"),
        element("circle", class_="point", cx=x[-1], cy=y[-1], r="5"),
        _text(short_number(drawn.values[-1]), x[-1] + 9, y[-1] + 4, "b"),
        _text(drawn.first, 0, bottom + 20, "q t"),
        _text(drawn.last, x[-1], bottom + 20, "q t end"),
    ]
    if x[peak] < width - 120:
        parts.append(_text(short_number(high), x[peak], top - 4, "q t mid" if x[peak] > 24 else "q t"))
    said = f"{drawn.title}: {short_number(drawn.values[0])} at first, {short_number(drawn.values[-1])} at last, "
    said += f"between {short_number(low)} and {short_number(high)}"
    return _picture(said, width, bottom + 26, parts)


# ---- short names ----
def first_names(labels: Sequence[str], width: int = 14) -> list[str]:
    """Return the first words of labels if they tell all of them apart, otherwise the labels, shortened."""
    words = [label.split() for label in labels]
    firsts = [word[0] if word else "" for word in words]
    are_names = all(len(word) > 1 and len(word[0]) > 2 and word[0].lower() not in _SMALL_WORDS for word in words)
    if are_names and len(set(firsts)) == len(firsts):
        return shorten_apart(firsts, width)
    return shorten_apart(labels, width)


def initials(labels: Sequence[str]) -> list[str]:
    """Return one or two characters for each label that tell them apart; a number where letters do not."""
    found: list[str] = []
    for number, label in enumerate(labels, 1):
        words = re.findall(r"\w+", label) or [label[:1] or "?"]
        first = words[0][0]
        digits = re.search(r"(\d{1,2})\D*$", label)
        second = words[1] if len(words) > 1 else ""
        candidates = [first + (second[:2] if second[:2].isdigit() else second[:1])] if second else [words[0][:2]]
        candidates += [first + digits[1]] if digits else []
        candidates += [first + sign for sign in "".join(words)[1:]]
        unused = (text.upper() for text in candidates if text.upper() not in found)
        found.append(next(unused, str(number)))
    return found


# ---- ranks by method ----
def bump_chart(drawn: BumpChart) -> Markup:
    """Draw a curve per item across methods: from left to right on wide screens, downwards on narrow ones."""
    return joined([wide_bump(drawn), _narrow_bump(drawn)])


def wide_bump(drawn: BumpChart) -> Markup:
    """Draw a curve per item, methods from left to right."""
    places = _compact(drawn.ranks)
    rows = 1 + max((max(item_places) for item_places in places), default=0)
    side = 14 + LETTER * max((len(label) for label in drawn.labels), default=0)
    n = len(drawn.methods)
    step = max((WIDE - 2 * side - 40) / max(n - 1, 1), 76.0)
    x = [side + 20 + k * step for k in range(n)]
    line = 48 if rows <= 8 else 34
    top = 80.0
    width = x[-1] + side + 20
    parts = [element("rect", class_="shade", x=x[0] - 22, y=top - 20, width=x[-1] - x[0] + 44, height=40, rx=20)]
    for k, name in enumerate(drawn.methods):
        lines = _two_lines(name, int(step / LETTER))
        own = "mid b" if _winners(drawn, k) != _winners(drawn, 0) else "mid"
        parts += [_text(text, x[k], 38 - 15 * (len(lines) - 1 - r), own) for r, text in enumerate(lines)]
    for item in reversed(range(len(drawn.labels))):
        y = [top + line * place for place in places[item]]
        pieces = [f"M{x[0]:.0f} {y[0]:.0f}"]
        for k in range(1, n):
            middle = (x[k - 1] + x[k]) / 2
            pieces.append(f"C{middle:.0f} {y[k - 1]:.0f} {middle:.0f} {y[k]:.0f} {x[k]:.0f} {y[k]:.0f}")
        ends = [_text(drawn.labels[item], x[0] - 24, y[0] + 4, "end"), _text(drawn.labels[item], x[-1] + 24, y[-1] + 4)]
        parts.append(_series(drawn, item, "".join(pieces), list(zip(x, y, strict=True)), ends))
    class_ = "wide full" if width > WIDE + 1 else "wide"
    return _picture(_spoken_ranks(drawn), width, top + line * (rows - 1) + 24, parts, class_=class_)


def _narrow_bump(drawn: BumpChart) -> Markup:
    """Draw a curve per item, methods downwards."""
    places = _compact(drawn.ranks)
    rows = 1 + max((max(item_places) for item_places in places), default=0)
    left = 16 + LETTER * max(len(text) for name in drawn.methods for text in _two_lines(name, 15))
    step = max((NARROW - left - 16) / max(rows - 1, 1), 30.0) if rows > 1 else 30.0
    x = [left + step * place for place in range(rows)]
    y = [48.0 + 46 * k for k in range(len(drawn.methods))]
    height = y[-1] + 28
    parts = [element("rect", class_="shade", x=x[0] - 18, y=24, width=36, height=height - 26, rx=18)]
    parts += [_text(ordinal(place + 1), x[place], 14, "mid q t") for place in range(rows)]
    for k, name in enumerate(drawn.methods):
        lines = _two_lines(name, 15)
        own = "b" if _winners(drawn, k) != _winners(drawn, 0) else ""
        parts += [_text(text, 0, y[k] + 4 + 14 * (r - (len(lines) - 1) / 2), own) for r, text in enumerate(lines)]
    for item in reversed(range(len(drawn.labels))):
        across = [x[place] for place in places[item]]
        pieces = [f"M{across[0]:.0f} {y[0]:.0f}"]
        for k in range(1, len(y)):
            middle = (y[k - 1] + y[k]) / 2
            pieces.append(f"C{across[k - 1]:.0f} {middle:.0f} {across[k]:.0f} {middle:.0f} {across[k]:.0f} {y[k]:.0f}")
        parts.append(_series(drawn, item, "".join(pieces), list(zip(across, y, strict=True)), [], radius=13))
    width = x[-1] + 16
    class_ = "narrow full" if width > NARROW + 1 else "narrow"
    return _picture(_spoken_ranks(drawn), max(width, NARROW), height, parts, class_=class_)


def _series(
    drawn: BumpChart,
    item: int,
    path: str,
    points: Sequence[tuple[float, float]],
    ends: Sequence[Markup],
    radius: int = 14,
) -> Markup:
    """Return the curve of an item, with its initials in circles and its ranks as a tooltip."""
    colour = item + 1 if item < COLOURS else 0
    ranks = ", ".join(f"{name} {rank}" for name, rank in zip(drawn.methods, drawn.ranks[item], strict=True))
    short = initials(drawn.labels)[item]
    dots = [
        joined(
            [
                element("circle", class_=f"f{colour}", cx=x, cy=y, r=radius),
                _text(short, x, y + 4, "on mid t" if colour else "b mid t"),
            ]
        )
        for x, y in points
    ]
    curve = element("path", class_=f"line c{colour}", d=path)
    return element("g", element("title", f"{drawn.labels[item]}: {ranks}"), curve, *dots, *ends, class_="series")


def _winners(drawn: BumpChart, method: int) -> list[str]:
    return [label for label, ranks in zip(drawn.labels, drawn.ranks, strict=True) if ranks[method] == 1]


def _spoken_ranks(drawn: BumpChart) -> str:
    """Return the winners by each method as the text of the chart."""
    firsts = "; ".join(f"{name}: {', '.join(_winners(drawn, k))}" for k, name in enumerate(drawn.methods))
    return f"{drawn.title}. First by {firsts}."


def _two_lines(name: str, width: int) -> list[str]:
    """Return a name in one or two lines of about this width."""
    words = re.findall(r"[^\s-]+-?", name)
    if len(name) <= max(width - 1, 4) or len(words) == 1:
        return [shorten(name, max(width, 6))]
    cut = min(range(1, len(words)), key=lambda k: abs(len("".join(words[:k])) - len("".join(words[k:]))))
    joins = [" ".join(part).replace("- ", "-") for part in (words[:cut], words[cut:])]
    return [shorten(text, max(width, 6)) for text in joins]


def _compact(ranks: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return the position of each item for each method (items x methods); ties are stacked in item order."""
    n_methods = len(ranks[0]) if ranks else 0
    places = [[0] * n_methods for _ in ranks]
    for k in range(n_methods):
        for row, item in enumerate(sorted(range(len(ranks)), key=lambda item: (ranks[item][k], item))):
            places[item][k] = row
    return places


# ---- files of their own ----
def dot_plot(drawn: DotPlot) -> Markup:
    """Draw scores with their confidence intervals as a separate chart."""
    labels = shorten_apart(drawn.labels, 40)
    left, width, top, line = 16 + LETTER * max(map(len, labels), default=0), 420.0, 34.0, 22.0
    bottom = top + line * len(labels)
    scale = drawn.scale

    def x(value: float) -> float:
        return left + width * (value - scale.low) / (scale.high - scale.low)

    parts = [_text(drawn.title, 8, 18, "b")]
    values = ticks(scale)
    for tick, text in zip(values, tick_labels(values), strict=True):
        parts.append(element("line", class_="gl", x1=x(tick), x2=x(tick), y1=top - 6, y2=bottom))
        parts.append(_text(text, x(tick), bottom + 16, "q mid"))
    for k, (label, drawn_track) in enumerate(zip(labels, drawn.tracks, strict=True)):
        y = top + line * (k + 0.5)
        parts.append(_text(label, left - 10, y + 4, "end"))
        if drawn_track.low is not None and drawn_track.high is not None:
            parts.append(element("line", class_="span", x1=x(drawn_track.low), x2=x(drawn_track.high), y1=y, y2=y))
        parts.append(element("circle", class_="point", cx=x(drawn_track.value), cy=y, r="4.5"))
    return _picture(drawn.title, left + width + 24, bottom + 26, parts)


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
        role="img",
        aria_label=title,
        **attributes,
    )


def _text(text: str, x: float, y: float, class_: str = "") -> Markup:
    return element("text", text, x=x, y=y, class_=class_ or None) if text else NOTHING
