"""Curves over time as SVG: a few coloured lines with bands of uncertainty, the others grey, and the odds of a match.

The page shows one drawing for wide and one for narrow screens. The script ``curves.js`` replaces both by a drawing of
the width of the page in which items can be chosen and the period can be changed; it reads the same values from the
attribute ``data-curves``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from concordant.ballots.vocabulary import shorten
from concordant.narrative.sentences import listed
from concordant.reporting.pictures import COLOURS, LETTER, first_names, tick_labels, ticks
from concordant.reporting.sections import Chance, Curve, Scale, TimeCurve
from concordant.support.dates import shown_time
from concordant.support.markup import NOTHING, Markup, element, joined
from concordant.support.text import visible

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
YEAR_STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
MONTH_STEPS = (1, 3, 6)
DAY_STEPS = (1, 2, 7, 14)
HOUR_STEPS = (1, 3, 6, 12)
NAME = 18  # characters of a name next to its curve
BEYOND = 0.3  # of the height of the lines: how far bands may reach beyond them
LINE = 14.0  # pixels between the names of curves


class Box(NamedTuple):
    """The area of a chart in pixels, and the times and values at its edges."""

    left: float
    top: float
    right: float
    bottom: float
    times: tuple[float, float]
    values: tuple[float, float]

    def x(self, time: float) -> float:
        """Return the position of a time."""
        begin, end = self.times
        return self.left + (self.right - self.left) * (time - begin) / (end - begin)

    def y(self, value: float) -> float:
        """Return the position of a value."""
        low, high = self.values
        return self.bottom - (self.bottom - self.top) * (value - low) / (high - low)


def figure(content: TimeCurve) -> Markup:
    """Return the figure with its drawings, and the values for the script."""
    wide = _drawing(content, "wide", 980.0, 380.0)
    narrow = _drawing(content, "narrow", 340.0, 260.0)
    told = element("p", class_="told", aria_live="polite", hidden=True)
    caption = element("figcaption", content.title)
    return element("figure", caption, wide, narrow, told, class_="curves", data_curves=_json(content))


def _json(content: TimeCurve) -> str:
    """Return the values for the script, as ASCII, so that no label is changed by the escaping of the page."""
    short = first_names([_shown(curve.label) for curve in content.curves], 10)
    curves = [
        {
            "label": curve.label,
            "shown": _shown(curve.label),
            "short": short_name,
            "times": [round(time, 3) for time in curve.times],
            "values": _rounded(curve.values),
            "low": _rounded(curve.low),
            "high": _rounded(curve.high),
            "lasts": curve.lasts,
        }
        for curve, short_name in zip(content.curves, short, strict=True)
    ]
    data = {
        "title": content.title, "curves": curves, "chosen": content.chosen, "whole": content.whole,
        "shown": content.shown, "dated": content.is_dated, "gap": content.gap, "interval": content.interval,
        "peak": content.peak, "noun": content.noun,
    }  # fmt: skip
    return json.dumps(data, separators=(",", ":"))


def _shown(label: str) -> str:
    return visible(shorten(label), colours=False)


def _rounded(values: Sequence[float]) -> list[float]:
    return [float(f"{value:.5g}") for value in values]


def spoken(content: TimeCurve) -> str:
    """Return what a chart shows, in one sentence."""
    begin, end = (moment(time, content.is_dated) for time in content.shown)
    names = [_shown(content.curves[k].label) for k in content.chosen]
    grey = len(content.curves) - len(names)
    more = f"; {grey} other {content.noun[int(grey != 1)]} in grey" if grey else ""
    return f"{content.title}: {listed(names, COLOURS) if names else 'nobody'}, {begin} to {end}{more}."


# ---- one drawing ----
def _drawing(content: TimeCurve, kind: str, width: float, height: float) -> Markup:
    """Draw the chosen curves with their bands in colour, and the others behind them."""
    is_narrow = kind == "narrow"
    chosen = [content.curves[k] for k in content.chosen]
    low, high = value_range(content)
    values = ticks(Scale(low, high, ""), 8 if not is_narrow else 6)
    texts = tick_labels(values)
    names = first_names([_shown(curve.label) for curve in chosen], 10) if is_narrow else [
        shorten(_shown(curve.label), NAME) for curve in chosen
    ]  # fmt: skip
    right = 14 + LETTER * max(map(len, names), default=0)
    box = Box(10 + LETTER * max(map(len, texts)), 14.0, width - right, height - 28, content.shown, (low, high))
    parts = [*_axes(box, values, texts, content, 5 if is_narrow else 9)]
    clip = f"curves-{kind}"
    area = element("rect", x=box.left, y=box.top, width=box.right - box.left, height=box.bottom - box.top)
    others = [curve for k, curve in enumerate(content.curves) if k not in content.chosen]
    lines = [_thin(curve, box, content.gap) for curve in others]
    lines += [_band(curve, k + 1, box, content.gap) for k, curve in enumerate(chosen)]
    lines += [_line(curve, k + 1, box, content.gap) for k, curve in enumerate(chosen)]
    parts += [
        element("defs", element("clipPath", area, id=clip)),
        element("g", *lines, clip_path=f"url(#{clip})"),
        _peak(content, box, is_narrow),
        *_names(chosen, names, box, content.gap),
    ]
    return element(
        "svg", *parts, class_=kind, viewBox=f"0 0 {width:.0f} {height:.0f}", width=f"{width:.0f}", role="img",
        aria_label=spoken(content),
    )  # fmt: skip


def value_range(content: TimeCurve) -> tuple[float, float]:
    """Return the lowest and highest value drawn: the chosen lines in the period, and some of their bands."""
    begin, end = content.shown
    drawn = [content.curves[k] for k in content.chosen] or content.curves
    inside: list[float] = []
    ends: list[float] = []
    for curve in drawn:
        for k, time in enumerate(curve.times):
            is_last_before = time < begin and (k + 1 == len(curve.times) or curve.times[k + 1] > begin)
            if begin <= time <= end or is_last_before:
                inside.append(curve.values[k])
                ends += [curve.low[k], curve.high[k]] if curve.low else []
    if not inside:
        inside = [value for curve in drawn for value in curve.values] or [0.0]
    low, high = min(inside), max(inside)
    height = high - low or max(abs(high), 1.0) * 0.1
    low, high = (
        max(min([low, *ends]), low - BEYOND * height),
        min(max([high, *ends]), high + BEYOND * height),
    )
    margin = 0.05 * (high - low or height)
    return low - margin, high + margin


def _axes(box: Box, values: Sequence[float], texts: Sequence[str], content: TimeCurve, most: int) -> list[Markup]:
    parts = []
    for value, text in zip(values, texts, strict=True):
        y = box.y(value)
        parts.append(element("line", class_="gl", x1=box.left, x2=box.right, y1=y, y2=y))
        parts.append(_text(text, box.left - 7, y + 4, "q t end"))
    for time, text in time_ticks(*content.shown, content.is_dated, most):
        x = box.x(time)
        parts.append(element("line", class_="gl", x1=x, x2=x, y1=box.bottom, y2=box.bottom + 5))
        parts.append(_text(text, x, box.bottom + 18, "q t mid"))
    return parts


def _runs(curve: Curve, gap: float, end: float) -> list[tuple[int, int, float]]:
    """Return the parts of a curve without long interruptions: (first point, end, time until which it is dashed)."""
    cuts = [k for k in range(1, len(curve.times)) if curve.times[k] - curve.times[k - 1] > gap]
    starts, stops = [0, *cuts], [*cuts, len(curve.times)]
    until = [curve.times[cut] for cut in cuts]
    until.append(end if curve.lasts else curve.times[-1])
    return list(zip(starts, stops, until, strict=True))


def _path(curve: Curve, values: Sequence[float], start: int, stop: int, box: Box, step: int = 1) -> str:
    points = list(range(start, stop, step))
    points += [stop - 1] if points[-1] != stop - 1 else []
    return "L".join(f"{box.x(curve.times[k]):.1f} {box.y(values[k]):.1f}" for k in points)


def _thin(curve: Curve, box: Box, gap: float) -> Markup:
    step = max(len(curve.times) // 60, 1)
    pieces = ["M" + _path(curve, curve.values, a, b, box, step) for a, b, _ in _runs(curve, gap, box.times[1])]
    return element("g", element("title", curve.label), element("path", class_="thin", d="".join(pieces)))


def _band(curve: Curve, colour: int, box: Box, gap: float) -> Markup:
    if not curve.low:
        return NOTHING
    pieces = []
    for start, stop, _ in _runs(curve, gap, box.times[1]):
        upper = _path(curve, curve.high, start, stop, box)
        lower = _path(curve, curve.low, start, stop, box).split("L")
        pieces.append(f"M{upper}L{'L'.join(reversed(lower))}Z")
    return element("path", class_=f"band f{colour}", d="".join(pieces))


def _line(curve: Curve, colour: int, box: Box, gap: float) -> Markup:
    """Draw a line; after its last value before an interruption it is dashed, at the same height."""
    solid, dashed = [], []
    for start, stop, until in _runs(curve, gap, box.times[1]):
        solid.append("M" + _path(curve, curve.values, start, stop, box))
        if until > curve.times[stop - 1]:
            x, y = box.x(curve.times[stop - 1]), box.y(curve.values[stop - 1])
            dashed.append(f"M{x:.1f} {y:.1f}H{box.x(until):.1f}")
    line = element("path", class_=f"line c{colour}", d="".join(solid))
    dashes = element("path", class_=f"line dash c{colour}", d="".join(dashed)) if dashed else None
    return element("g", element("title", curve.label), line, dashes, class_="series")


def _peak(content: TimeCurve, box: Box, is_narrow: bool) -> Markup:
    """Mark the peak, if its curve is chosen and it is in the period."""
    if content.peak is None or content.peak[0] not in content.chosen:
        return NOTHING
    number, time, value = content.peak
    if not content.shown[0] <= time <= content.shown[1]:
        return NOTHING
    x, y = box.x(time), box.y(value)
    text = tick_labels([float(f"{value:.4g}")])[0]
    who = shorten(_shown(content.curves[number].label), NAME)
    more = "" if is_narrow else f" peak of {who}, {moment(time, content.is_dated, short=True)}"
    half = LETTER * len(text + more) / 2
    near = element("text", element("tspan", text, class_="b"), more, class_="mid halo",
                   x=min(max(x, box.left + half), box.right - half), y=max(y - 12, box.top + 10))  # fmt: skip
    return joined([element("circle", class_="hollow", cx=x, cy=y, r="5"), near])


def _last_in(curve: Curve, k: int, end: float, gap: float) -> tuple[float, float]:
    """Return the end of a curve in a period, whose last point there is k: that point, or where it leaves the period."""
    time, value = curve.times[k], curve.values[k]
    if k == len(curve.times) - 1:
        return (end if curve.lasts else time), value
    step = curve.times[k + 1] - time
    return end, value if step > gap else value + (curve.values[k + 1] - value) * (end - time) / step


def _names(chosen: Sequence[Curve], names: Sequence[str], box: Box, gap: float) -> list[Markup]:
    """Return the names of the curves: at the right edge, or where a curve ends earlier."""
    parts, at_edge = [], []
    for k, (curve, name) in enumerate(zip(chosen, names, strict=True)):
        inside = [j for j, time in enumerate(curve.times) if time <= box.times[1]]
        if not inside:
            continue
        j = inside[-1]
        is_at_edge = curve.lasts or j < len(curve.times) - 1 or curve.times[j] > box.times[1] - 0.08 * np.ptp(box.times)
        if curve.times[j] < box.times[0] and not is_at_edge:
            continue
        time, value = _last_in(curve, j, box.times[1], gap)
        x, y = box.x(time), min(max(box.y(value), box.top), box.bottom)
        parts.append(element("circle", class_=f"f{k + 1}", cx=x, cy=y, r="4"))
        if is_at_edge:
            at_edge.append((y, name))
        else:
            parts.append(_text(name, x + 7, y + 4, "b halo"))
    at_edge.sort()
    for (_, name), y in zip(at_edge, spread([y for y, _ in at_edge], box.top, box.bottom), strict=True):
        parts.append(_text(name, box.right + 9, y + 4, "b"))
    return parts


def spread(places: Sequence[float], top: float, bottom: float) -> list[float]:
    """Return ascending places moved apart so that lines of text do not overlap, within an area if they fit."""
    out: list[float] = []
    for place in places:
        out.append(max(place, out[-1] + LINE) if out else max(place, top))
    limit = bottom
    for k in reversed(range(len(out))):
        out[k] = min(out[k], limit)
        limit = out[k] - LINE
    return out


def _text(text: str, x: float, y: float, class_: str) -> Markup:
    return element("text", text, x=x, y=y, class_=class_)


# ---- times ----
def moment(time: float, is_dated: bool, *, short: bool = False) -> str:
    """Return a time as people write it: 31 Mar 2019 or 31 Mar 2019 14:05, in short Mar 2019; or the number."""
    if not is_dated:
        return shown_time(time, False)
    year, month, day = shown_time(time, True).rsplit("-", 2)
    written = f"{MONTHS[int(month) - 1]} {year}"
    minutes = round(1440 * (time % 1))
    at = f" {_clock(minutes)}" if 0 < minutes < 1440 else ""
    return written if short else f"{int(day)} {written}{at}"


def _clock(minutes: int) -> str:
    return f"{minutes // 60:02}:{minutes % 60:02}"


def time_ticks(begin: float, end: float, is_dated: bool, most: int) -> list[tuple[float, str]]:
    """Return at most about ``most`` round times between two times, with their names."""
    if not is_dated:
        values = ticks(Scale(begin, end, ""), most)
        return [(value, shown_time(float(f"{value:.9g}"), False)) for value in values]
    for step in HOUR_STEPS if end - begin < 3 else ():
        hours = range(-(-int(np.ceil(24 * begin)) // step) * step, int(24 * end) + 1, step)
        if len(hours) <= most:
            return [(hour / 24, _clock(60 * (hour % 24)) if hour % 24 else _day(hour // 24)) for hour in hours]
    first, last = (np.datetime64(int(np.floor(time)), "D") for time in (begin, end))
    unit_steps: tuple[tuple[str, tuple[int, ...], Callable[[int], str]], ...] = (
        ("D", DAY_STEPS, lambda day: _day(day)),
        ("M", MONTH_STEPS, lambda month: MONTHS[month % 12] if month % 12 else str(1970 + month // 12)),
        ("Y", YEAR_STEPS, lambda year: str(1970 + year)),
    )
    for unit, steps, name in unit_steps:
        low, high = (int(time.astype(f"datetime64[{unit}]").astype(np.int64)) for time in (first, last))
        for step in steps:
            if (high - low) // step > most:
                continue
            shift = 1970 % step if unit == "Y" else 0
            numbers = range(-(-(low + shift) // step) * step - shift, high + 1, step)
            days = np.array(numbers, f"datetime64[{unit}]").astype("datetime64[D]").astype(np.float64)
            inside = [
                (time, name(number))
                for time, number in zip(days.tolist(), numbers, strict=True)
                if begin <= time <= end
            ]
            if len(inside) <= most and (inside or unit == "Y"):
                return _with_year(inside) if unit == "M" else inside
    return []


def _with_year(named: list[tuple[float, str]]) -> list[tuple[float, str]]:
    """Add the year to the first month, so that every tick belongs to a year."""
    (time, name), *rest = named
    return [(time, name if name.isdigit() else f"{name} {shown_time(time, True)[:-6]}"), *rest]


def _day(day: int) -> str:
    _, month, number = shown_time(float(day), True).rsplit("-", 2)
    return f"{int(number)} {MONTHS[int(month) - 1]}"


# ---- a match ----
def chance_bar(content: Chance) -> Markup:
    """Draw the probabilities that one item wins, that both tie, and that the other wins, as one bar."""
    lose = max(1 - content.win - content.tie, 0.0)
    percents = [f"{100 * share:.0f}%" for share in (content.win, content.tie, lose)]
    first, second = (shorten(_shown(label), NAME) for label in (content.first, content.second))
    said = f"{first} wins with {percents[0]}, {second} with {percents[2]}"
    said += f", a tie has {percents[1]}" if content.tie else ""
    parts = [
        element("text", element("tspan", first, class_="iso"), f" {percents[0]}", class_="b", x="0", y="14"),
        element("text", f"{percents[2]} ", element("tspan", second, class_="iso"), class_="b end", x="100%", y="14"),
    ]
    place = 0.0
    for class_, share in (("f1", content.win), ("f0", content.tie), ("f2", lose)):
        if share > 0:
            width = max(100 * share - 0.6, 0.2)
            parts.append(
                element("rect", class_=class_, x=f"{100 * place:.1f}%", y="22", width=f"{width:.1f}%", height=18, rx=4)
            )
        place += share
    if content.tie:
        middle = 100 * (content.win + content.tie / 2)
        parts.append(element("text", f"tie {percents[1]}", class_="q t mid", x=f"{middle:.1f}%", y="56"))
    height = 60 if content.tie else 42
    return element("svg", *parts, class_="chance", height=height, width="100%", role="img", aria_label=said)
