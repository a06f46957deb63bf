"""The verdict as HTML: the headline of a report and of the web app, with its small picture."""

from __future__ import annotations

from concordant.ballots.vocabulary import shorten, shorten_apart
from concordant.narrative.verdict import Bar, Chip, Dots, Verdict
from concordant.reporting import pictures
from concordant.reporting.sections import Scale
from concordant.support.markup import Markup, element, joined
from concordant.support.text import typeset

WIDTH = 304.0  # pixels of the small picture
TICK = 7.0  # of a digit of an axis
LABEL_WIDTH = 15  # characters of a label in the small picture
BAR, DOTS = 70.0, 26.0  # height of a bar with its text, and of a row of dots
_ICONS = {
    "": "M10 9v5M10 6.3v.1M10 2.5a7.5 7.5 0 1 1 0 15a7.5 7.5 0 1 1 0-15z",
    "good": "M6.5 10.3l2.5 2.4 4.5-5M10 2.5a7.5 7.5 0 1 1 0 15a7.5 7.5 0 1 1 0-15z",
    "warn": "M10 3 2.5 16.5h15zM10 8.5v3.5M10 14.3v.1",
}


def icon(tone: str, size: int) -> Markup:
    """Return the sign of a tone: good, warn or none."""
    return element(
        "svg", element("path", d=_ICONS[tone]), width=size, height=size, viewBox="0 0 20 20", fill="none",
        stroke="currentColor", stroke_width="1.8", stroke_linecap="round", stroke_linejoin="round", aria_hidden="true",
    )  # fmt: skip


BRAND = element(
    "svg",
    element("path", d="M2.5 5C11 5 10 12 18 12M2.5 12C11 12 10 5 18 5M2.5 19H18"),
    *(element("circle", cx="20.6", cy=y, r="1.3", fill="currentColor") for y in ("5", "12", "19")),
    width="24", height="24", viewBox="0 0 24 24", fill="none", stroke="currentColor", stroke_width="2.4",
    stroke_linecap="round", aria_hidden="true",
)  # fmt: skip


def verdict_card(verdict: Verdict, heading: str = "h1") -> Markup:
    """Return the verdict as a section; its heading is h1 in the web app and h2 in a report, which has a title."""
    headline = element("bdi", verdict.headline) if verdict.is_label else verdict.headline
    chips = [element("li", _chip(chip)) for chip in verdict.chips]
    text = element(
        "div",
        element("p", verdict.over, class_="over"),
        element(heading, headline, id="verdict-title"),
        element("p", typeset(verdict.sentence), class_="sure") if verdict.sentence else None,
        element("ul", *chips, class_="chips") if chips else None,
    )
    figure = None if verdict.figure is None else figure_of(verdict.figure)
    return element("section", text, figure, _numbers(verdict), class_="verdict", id="verdict",
                   aria_labelledby="verdict-title")  # fmt: skip


def _chip(chip: Chip) -> Markup:
    sign = icon(chip.tone, 15) if chip.tone in ("warn", "good") else None
    class_ = f"chip {chip.tone}" if chip.tone != "plain" else "chip"
    if chip.section:
        return element("a", sign, chip.text, class_=class_, href=f"#{chip.section}")
    return element("span", sign, chip.text, class_=class_)


def _numbers(verdict: Verdict) -> Markup | None:
    pairs = [element("div", element("dt", noun), element("dd", number)) for number, noun in verdict.numbers]
    if verdict.method:
        named = element("dt", "method ", element("span", verdict.method_id, class_="id"))
        pairs.append(element("div", named, element("dd", verdict.method)))
    return element("dl", *pairs, class_="numbers") if pairs else None


def figure_of(drawn: Bar | Dots) -> Markup:
    """Return the small picture of a verdict with its title."""
    return element("figure", element("figcaption", drawn.title), picture_of(drawn))


def picture_of(drawn: Bar | Dots) -> Markup:
    """Return the small picture of a verdict."""
    return _bar(drawn) if isinstance(drawn, Bar) else _dots(drawn)


def height_of(drawn: Bar | Dots) -> float:
    """Return the height of the small picture in its own units, in which its width is ``WIDTH``."""
    return BAR if isinstance(drawn, Bar) else DOTS * len(drawn.labels) + 30


def _bar(drawn: Bar) -> Markup:
    cut = WIDTH * min(max(drawn.share, 0.0), 1.0)
    parts = [
        element("rect", class_="won", x=0, y=24, width=max(cut - 1.5, 0.0), height=20, rx=4),
        element(
            "rect", class_="lost", x=min(cut + 1.5, WIDTH), y=24, width=max(WIDTH - cut - 1.5, 0.0), height=20, rx=4
        ),
        element("text", drawn.left, x=0, y=15, class_="b"),
        element("text", drawn.right, x=WIDTH, y=15, class_="b end"),
    ]
    if drawn.mark is not None:
        x = WIDTH * drawn.mark
        parts.append(element("line", class_="majority", x1=x, x2=x, y1=19, y2=49))
        parts.append(element("text", drawn.mark_text, x=x, y=64, class_="q mid t"))
    return _picture(parts, height_of(drawn), f"{drawn.title}: {drawn.left}, {drawn.right}")


def _dots(drawn: Dots) -> Markup:
    values = [*drawn.values, *(v for v in (*drawn.low, *drawn.high) if v is not None)]
    low, high = min(values), max(values)
    pad = 0.06 * (high - low) or 1.0
    scale = Scale(low - pad, high + pad, "")
    left, height = 112.0, DOTS * len(drawn.labels) + 8

    def x(value: float) -> float:
        return left + (WIDTH - left - 4) * (value - scale.low) / (scale.high - scale.low)

    parts = []
    ticks = pictures.ticks(scale, 3)
    for tick, text in zip(ticks, pictures.tick_labels(ticks), strict=True):
        parts.append(element("line", class_="gl", x1=x(tick), x2=x(tick), y1=2, y2=height))
        middle = min(x(tick), WIDTH - TICK * len(text) / 2)  # the picture is cut off at its edge
        parts.append(element("text", text, x=middle, y=height + 16, class_="q t mid"))
    rows = zip(
        drawn.short or shorten_apart(drawn.labels, LABEL_WIDTH), drawn.values, drawn.low, drawn.high, strict=True
    )
    for k, (label, value, start, stop) in enumerate(rows):
        y = 14 + DOTS * k
        parts.append(element("text", label, x=0, y=y + 4, class_="b"))
        if start is not None and stop is not None:
            parts.append(element("line", class_="span", x1=x(start), x2=x(stop), y1=y, y2=y))
        parts.append(element("circle", class_="point", cx=x(value), cy=y, r=5))
    said = "; ".join(
        f"{shorten(label, 60)} {value:,.4g}" for label, value in zip(drawn.labels, drawn.values, strict=True)
    )
    return _picture(parts, height_of(drawn), f"{drawn.title}: {said}")


def _picture(parts: list[Markup], height: float, said: str) -> Markup:
    return element(
        "svg", joined(parts), viewBox=f"0 0 {WIDTH:.0f} {height:.0f}", width=f"{WIDTH:.0f}", role="img", aria_label=said
    )
