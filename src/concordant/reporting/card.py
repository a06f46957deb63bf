"""The verdict as a picture to share: one self-contained SVG file of the size that social media show.

Text is wrapped by an estimate of its width, because an SVG file has no line breaks: wide East Asian characters count
twice. Fonts are those of the reader's machine.
"""

from __future__ import annotations

import re
from unicodedata import combining, east_asian_width

from concordant.ballots.vocabulary import shorten
from concordant.narrative.verdict import Chip, Verdict
from concordant.reporting.verdict_card import BRAND, WIDTH, height_of, picture_of
from concordant.support.markup import Markup, element, joined, verbatim

W, H = 1200, 630
EDGE = 64.0
COLUMN, BESIDE = 400.0, 56.0  # pixels of the small picture, and between it and the text
BOTTOM = H - 64.0
HEADLINES = (84, 68, 54, 44)  # font sizes, the largest that fits in two lines is taken
SENTENCES = (28, 25, 22)  # font sizes, the largest at which the whole sentence has room
NARROW, BROAD = frozenset(" .,:;'|!()[]fijlrtI"), frozenset("%@mwMW–—")
MAX_CHIPS = 4
STYLE = (
    'text{fill:#fff;font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans","Helvetica Neue",'
    '"Liberation Sans",sans-serif}.quiet,.q{fill:#bcd7e3}.picture text{font-size:12px}.b{font-weight:700}'
    ".picture .t{font-size:11px}.end{text-anchor:end}.mid{text-anchor:middle}.gl{stroke:#3d6376}"
    ".span{stroke:#6fc3e3;stroke-width:6;stroke-linecap:round;opacity:.55}.point{fill:#fff}.won{fill:#6fbdf9}"
    ".lost{fill:#fe844d}.majority{stroke:#fff;stroke-width:1.5}.chip{fill:none;stroke:#3d6376;stroke-width:2}"
    ".warn{fill:#ffd591;stroke:#ffd591}.dark{fill:#3a2400}.brand{color:#6fc3e3}"
)


def card_svg(verdict: Verdict, source: str = "") -> str:
    """Return the verdict as an SVG picture of 1200 x 630 pixels.

    Parameters
    ----------
    verdict : Verdict
        The verdict.
    source : str, default ''
        What was counted, such as the name of the file; shown at the bottom.

    Returns
    -------
    str
        The text of an SVG file, which refers to nothing outside itself.
    """
    has_figure = verdict.figure is not None
    width = W - 2 * EDGE - (COLUMN + BESIDE if has_figure else 0)
    parts = [element("rect", width=W, height=H, fill="#0d3446")]
    parts.append(_text(_cut(verdict.over, 28, width), EDGE, EDGE + 26, 28, "quiet b"))
    size, lines = _headline(verdict.headline, width)
    y = EDGE + 44
    for line in lines:
        y += 1.08 * size
        parts.append(_text(line, EDGE, y, size, "b"))
    y += 0.25 * size + 8
    size, lines = _sentence(verdict.sentence, width, BOTTOM - 142 - y)
    for line in lines:
        y += 1.4 * size
        parts.append(_text(line, EDGE, y, size))
    parts += _chips(verdict.chips, min(y + 26, BOTTOM - 132), width)
    if verdict.figure is not None:
        x, height = W - EDGE - COLUMN, COLUMN / WIDTH * height_of(verdict.figure)
        top = max((BOTTOM - 90 - height) / 2 + 30, EDGE + 60)
        parts.append(_text(_cut(verdict.figure.title, 20, COLUMN), x, top - 16, 20, "quiet"))
        drawn = picture_of(verdict.figure)
        box = f"0 0 {WIDTH:.0f} {height_of(verdict.figure):.0f}"
        parts.append(element("svg", drawn, x=x, y=top, width=COLUMN, height=height, viewBox=box, class_="picture"))
    parts += _bottom(verdict, source)
    said = ". ".join(filter(None, [f"{verdict.over}: {verdict.headline}", verdict.sentence]))
    drawing = element(
        "svg", element("title", said), element("style", verbatim(STYLE, within="style")), *parts,
        xmlns="http://www.w3.org/2000/svg", width=W, height=H, viewBox=f"0 0 {W} {H}", role="img",
    )  # fmt: skip
    return f"{drawing}\n"


def _headline(text: str, width: float) -> tuple[int, list[str]]:
    """Return the font size and the lines of the headline: one line if it is large enough for that, at most two."""
    for n, sizes in ((1, HEADLINES[:-1]), (2, HEADLINES)):
        for size in sizes:
            lines = _wrapped(text, size, width, n + 1)
            if len(lines) <= n:
                return size, lines
    return HEADLINES[-1], _wrapped(text, HEADLINES[-1], width, 2)


def _sentence(text: str, width: float, room: float) -> tuple[int, list[str]]:
    """Return the font size and the lines of the sentence: the largest size at which all of it has room."""
    for size in SENTENCES:
        n = max(int(room // (1.4 * size)), 1)
        lines = _wrapped(text, size, width, n + 1)
        if len(lines) <= n:
            return size, lines
    return size, [*lines[: n - 1], _cut(" ".join(lines[n - 1 :]), size, width)]


def _chips(chips: tuple[Chip, ...], top: float, width: float) -> list[Markup]:
    """Return chips in one row, or two if there is room, those that fit; warnings first."""
    parts: list[Markup] = []
    x = EDGE
    for chip in sorted(chips, key=lambda chip: chip.tone != "warn")[:MAX_CHIPS]:
        is_warning = chip.tone == "warn"
        text = f"⚠ {chip.text}" if is_warning else chip.text
        length = _width(text, 23) + 36
        if x > EDGE and x + length > EDGE + width:
            x, top = EDGE, top + 54
        if x + length > EDGE + width or top > BOTTOM - 132:
            break
        kind = "chip warn" if is_warning else "chip"
        parts.append(element("rect", x=x, y=top, width=length, height=42, rx=21, class_=kind))
        parts.append(_text(text, x + 18, top + 28, 21, "b dark" if is_warning else "b", length - 36))
        x += length + 12
    return parts


def _bottom(verdict: Verdict, source: str) -> list[Markup]:
    """Return the numbers, the method, the source and the brand below a line."""
    parts = [element("line", x1=EDGE, x2=W - EDGE, y1=BOTTOM - 58, y2=BOTTOM - 58, stroke="#3d6376", stroke_width=2)]
    x, numbers = EDGE, [*verdict.numbers[:4], *([(verdict.method, "")] if verdict.method else [])]
    for number, noun in numbers:
        number = _cut(number, 26, 420)
        if x + _width(f"{number} {noun}", 25) > W - EDGE:
            break
        parts.append(_text(number, x, BOTTOM - 14, 26, "b"))
        x += _width(number, 28) + 10
        parts.append(_text(noun, x, BOTTOM - 14, 22, "quiet"))
        x += _width(noun, 22) + 34
    if source:
        parts.append(_text(_cut(source, 20, 800), EDGE, BOTTOM + 30, 20, "quiet"))
    name = W - EDGE - 134
    brand = element("svg", BRAND, x=name - 34, y=BOTTOM + 10, width=26, height=26, viewBox="0 0 24 24", class_="brand")
    return [*parts, brand, _text("concordant", name, BOTTOM + 30, 21, "b")]


def _text(text: str, x: float, y: float, size: int, class_: str = "", length: float | None = None) -> Markup:
    """Return a line of text; its direction is its own, and it starts at the left.

    With a ``length``, it has this width in every font.
    """
    if not text:
        return joined([])
    fitted = {} if length is None else {"textLength": f"{length:.0f}", "lengthAdjust": "spacingAndGlyphs"}
    inner = element("tspan", text, unicode_bidi="isolate")
    return element("text", inner, x=x, y=y, font_size=size, class_=class_ or None, **fitted)


def _width(text: str, size: float) -> float:
    """Return the approximate width of a text in pixels."""
    return size * sum(map(_letter, text))


def _letter(c: str) -> float:
    """Return the approximate width of a character in units of the font size."""
    if combining(c):
        return 0.0
    if east_asian_width(c) in "WF":
        return 1.0
    return 0.34 if c in NARROW else 0.9 if c in BROAD else 0.68 if c.isupper() else 0.58


def _cut(text: str, size: float, width: float) -> str:
    """Shorten a text to a width in pixels."""
    text = shorten(text, 300)
    while len(text) > 1 and _width(text, size) > width:
        text = shorten(text, len(text) - 1) if not text.endswith("…") else shorten(text[:-1], len(text) - 2)
    return text


def _wrapped(text: str, size: float, width: float, n: int) -> list[str]:
    """Break a text into at most ``n`` lines of about this width; the last one ends with … if text is left over."""
    lines: list[str] = []
    rest = re.sub(r"\bp ([=<]) ", "p\u00a0\\1\u00a0", shorten(" ".join(text.split()), 1_000))  # on one line
    while rest and len(lines) < n:
        if len(lines) == n - 1:
            lines.append(_cut(rest, size, width))
            break
        end = _fitting(rest, size, width)
        lines.append(rest[:end].strip())
        rest = rest[end:].strip()
    return _isolated(lines)


def _isolated(lines: list[str]) -> list[str]:
    """Close an isolated name at the end of each line, and open it again on the next."""
    first, last = "\u2068", "\u2069"
    closed, n_open = [], 0
    for line in lines:
        begun = first * n_open + line
        n_open = begun.count(first) - begun.count(last)
        closed.append(begun + last * n_open)
    return closed


def _fitting(text: str, size: float, width: float) -> int:
    """Return the number of characters of a line: whole words if one fits."""
    end = len(text)
    while end > 1 and _width(text[:end], size) > width:
        space = text.rfind(" ", 0, end)
        end = space if space > 0 else end - 1
    return end
