"""Format numbers, lines and columns for people: one format per column, one width for all text."""

from __future__ import annotations

import math
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

_DIGITS = 4  # significant digits of the largest number of a column
_MAX_DIGITS = 6  # … where neighbours would otherwise look equal
_MAX_DECIMALS = 12
_SMALLEST_P = 0.0001
_LARGEST_ON_AXIS = 1e12
_HIDDEN = r"\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069"
_CONTROLS = re.compile(rf"(\x1b\[[0-9;]*m)|\u2068([^{_HIDDEN}]*)\u2069|[{_HIDDEN}]")
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]")
_JOINER, _EMOJI_STYLE, _HYPHEN = "\u200d", "\ufe0f", "\xad"
_SKIN_TONES = frozenset(map(chr, range(0x1F3FB, 0x1F400)))
_JAMO = frozenset(map(chr, range(0x1160, 0x1200)))  # vowels and final consonants, drawn into the syllable before them
_TEXT = 24  # a column of text should not be narrower, where columns of numbers could go


def number_format(values: Iterable[float], alike: Iterable[float] = ()) -> Callable[[float], str]:
    """Return the number format of a column, so that its decimal points align.

    Whole numbers are plain. Otherwise the largest number gets four significant digits, and up to six if adjacent
    ``values`` that differ would otherwise look equal (small numbers then get at least two). Trailing zeros that all
    numbers share are dropped. Very large and very small numbers are written with exponents. ``alike`` holds further
    numbers that share the format; if these are the lower and then the upper ends of an interval for each of the
    ``values``, numbers get no more digits than two of the half width of the narrowest interval, or four in all.
    """
    column = [float(value) for value in values if math.isfinite(value)]
    known = column + [float(value) for value in alike if math.isfinite(value)]
    largest = max(map(abs, known), default=0.0)
    if largest < 1e15 and all(value.is_integer() for value in known):
        return _fixed(0)
    order = math.floor(math.log10(largest))
    smallest = min((abs(value) for value in known if abs(value) > 1e-6 * largest), default=largest)
    fewest = max(_DIGITS - 1 - order, 0)
    most = max(_MAX_DIGITS - 1 - order, 1 - math.floor(math.log10(smallest)), 0)
    if (half := _narrowest(column, known)) > 0:
        most = min(most, max(fewest, 1 - math.floor(math.log10(half))))
    if most > _MAX_DECIMALS or largest >= 1e15:
        return lambda value: f"{value:.{_DIGITS - 1}e}"
    decimals = _enough_decimals(column, fewest, most)
    while decimals and all(f"{value:.{decimals}f}".endswith("0") for value in known):
        decimals -= 1
    return _fixed(decimals)


def _narrowest(values: Sequence[float], known: Sequence[float]) -> float:
    """Return the half width of the narrowest interval, if ``known`` holds values and then both ends of each; or 0."""
    n = len(values)
    if not n or len(known) != 3 * n:
        return 0.0
    widths = [high - low for low, high in zip(known[n : 2 * n], known[2 * n :], strict=True)]
    return min((width / 2 for width in widths if width > 0), default=0.0) if min(widths) >= 0 else 0.0


def typeset(text: str) -> str:
    """Return a sentence with true minus signs before decimals and ends of intervals, and one full stop at its end."""
    text = re.sub(r"(?<=[ (\[])-(?=\d[\d,]*\.\d)|(?<=CI )-(?=\d)|(?<=\d to )-(?=\d)", "−", text)
    return re.sub(r"(?<=[^.\s])\.\.(?=\s|$)", ".", text)


def typeset_number(text: str) -> str:
    """Return a cell of numbers with true minus signs, and intervals without blanks for alignment."""
    return re.sub(r"(?<![\w.])-(?=[\d.])", "−", re.sub(r"\[ +", "[", text).replace(",  ", ", "))


def _enough_decimals(values: Sequence[float], fewest: int, most: int) -> int:
    """Return the fewest decimals that show all differences between adjacent values that ``most`` decimals show."""
    decimals = fewest
    for one, other in pairwise(values):
        if f"{one:.{most}f}" != f"{other:.{most}f}":
            while decimals < most and f"{one:.{decimals}f}" == f"{other:.{decimals}f}":
                decimals += 1
    return decimals


def _fixed(decimals: int) -> Callable[[float], str]:
    """Return a format with this number of decimals that never writes -0."""
    return lambda value: f"{round(value, decimals) + 0.0:.{decimals}f}"


def interval_heading(level: object = 0.95) -> str:
    """Return the heading of a column of confidence intervals: 95% CI."""
    share = level if isinstance(level, float) and 0 < level < 1 else 0.95
    return f"{100 * share:.4g}% CI"


def interval_cells(low: Sequence[float], high: Sequence[float], write: Callable[[float], str]) -> list[str]:
    """Return confidence intervals as aligned cells, [low, high]; empty if an interval is unknown."""
    texts = [None if math.isnan(a + b) else (write(a), write(b)) for a, b in zip(low, high, strict=True)]
    low_width = max((len(text[0]) for text in texts if text), default=0)
    high_width = max((len(text[1]) for text in texts if text), default=0)
    return [f"[{text[0]:>{low_width}}, {text[1]:>{high_width}}]" if text else "" for text in texts]


def plain_number(value: float, decimals: int = 5) -> str:
    """Format a number for use in a sentence: with thousands separators and without trailing zeros."""
    text = f"{round(value, decimals) + 0.0:,.{decimals}f}"
    return text.rstrip("0").rstrip(".") if decimals else text


def short_number(value: float, digits: int = _DIGITS) -> str:
    """Format a number for use in a sentence: four significant digits, but whole and half numbers (votes) in full."""
    if not math.isfinite(value) or (value and not 1e-6 <= abs(value) < 1e15):
        return f"{value:.{digits}g}"
    if float(2 * value).is_integer():
        return plain_number(value, 1)
    return plain_number(value, max(digits - 1 - math.floor(math.log10(abs(value))), 0))


def round_numbers(low: float, high: float, max_numbers: int = 5) -> list[float]:
    """Return at least two and at most ``max_numbers`` round numbers of an axis between two numbers."""
    order = math.floor(math.log10(max(high - low, 1e-300) / max_numbers))
    for factor in (1, 2, 5, 10, 20):
        step = factor * 10.0**order
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        if last - first < max_numbers:
            return [k * step for k in range(first, last + 1)]
    return [low, high]


def tick_labels(values: Sequence[float]) -> list[str]:
    """Return the numbers of an axis as text: 1,200; −0.25; exponents for the very large and very small."""
    largest = max(map(abs, values), default=0.0)
    for decimals in range(7):
        if largest < _LARGEST_ON_AXIS and all(
            abs(round(value, decimals) - value) <= 1e-9 * largest for value in values
        ):
            return [f"{round(value, decimals) + 0.0:,.{decimals}f}".replace("-", "−") for value in values]
    return [f"{value:.3g}".replace("-", "−") for value in values]


def format_p(p: float) -> str:
    """Return a p-value for a column of a table: four decimals, or <0.0001."""
    return f"<{_SMALLEST_P:g}" if p < _SMALLEST_P else f"{p:.4f}"


def p_value(p: float, correction: str = "") -> str:
    """Return a p-value for a sentence, with the correction for multiple testing: p = 0.039 (Holm)."""
    shown = "p < 0.001" if p < 0.001 else f"p = {p:.2g}"
    return f"{shown} ({correction})" if correction else shown


def capital(text: str) -> str:
    """Return a text with its first letter in upper case."""
    return text[:1].upper() + text[1:]


def text_width(default: int = 100) -> int:
    """Return the maximum width of text: COLUMNS if set, else the width of the terminal, else ``default``."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdigit() and int(columns):
        return int(columns)
    return shutil.get_terminal_size((default, 24)).columns if sys.stdout.isatty() else default


def visible(text: str, *, colours: bool = True) -> str:
    """Return text for a terminal with escaped control characters: a label must not move the cursor or ring the bell.

    ``colours`` keeps sequences that only set colours, which tables use. The marks of ``isolate`` are kept.
    """

    def shown(found: re.Match[str]) -> str:
        if found[2] is None:
            return found[0] if colours and found[1] else ascii(found[0])[1:-1]
        return found[0] if is_right_to_left(found[2]) else f"\\u2068{found[2]}\\u2069"

    return _CONTROLS.sub(shown, text)


def is_right_to_left(text: str) -> bool:
    """Return whether text has letters of a script that is written from right to left, such as Arabic or Hebrew."""
    return not text.isascii() and _RIGHT_TO_LEFT.search(text) is not None


def isolate(label: str) -> str:
    """Return a label for use in a sentence: one written from right to left does not reorder the words around it.

    Such a label stands between the characters FSI and PDI, which ``visible`` keeps; its own control characters are
    escaped. Other labels are unchanged.
    """
    if not is_right_to_left(label):
        return label
    return f"\u2068{re.sub(f'[{_HIDDEN}]', lambda found: ascii(found[0])[1:-1], label)}\u2069"


def without_isolates(text: str) -> str:
    """Return a sentence for data files: without the marks of ``isolate``."""
    return _CONTROLS.sub(lambda found: found[2] if found[2] and is_right_to_left(found[2]) else found[0], text)


def display_width(text: str) -> int:
    """Return the number of columns that text takes on a terminal.

    Chinese, Japanese and Korean characters and emoji take two columns; combining marks, joiners and the parts of an
    emoji after its first character take none.
    """
    if text.isascii():
        return len(text)
    total, before = 0, ""
    for character in text:
        if character == _EMOJI_STYLE:
            total += bool(before) and not _is_wide(before)
        elif not _is_drawn_into(before, character):
            total += 1 + _is_wide(character)
        before = character
    return total


def _is_drawn_into(before: str, character: str) -> bool:
    """Return whether a character takes no column, or is drawn as a part of the character before it."""
    if before == _JOINER or character in _JAMO or (character in _SKIN_TONES and before and _is_wide(before)):
        return True
    import unicodedata

    return unicodedata.category(character) in ("Mn", "Mc", "Me", "Cf") and character != _HYPHEN


def _is_wide(character: str) -> bool:
    import unicodedata

    return unicodedata.east_asian_width(character) in "WF"


def padded(text: str, width: int, *, right: bool = False) -> str:
    """Return text filled with blanks to this number of columns of a terminal; right-aligned if ``right``."""
    blanks = " " * (width - display_width(text))
    return blanks + text if right else text + blanks


def align(rows: Sequence[Sequence[str]], right: set[int]) -> list[str]:
    """Return rows of cells as lines with aligned columns; the columns in ``right`` are right-aligned."""
    widths = [max(display_width(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            padded(cell, width, right=column in right)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return lines


def fitting_columns(
    header: Sequence[str], rows: Sequence[Sequence[str]], right: set[int], width: int, edge: int = 3
) -> dict[int, int]:
    """Return the columns that fit into a table of this width, with the width of each.

    ``edge`` is the border per column. Numeric columns (``right``) are never wrapped, others are wrapped at words. If
    the table is still too wide, numeric columns are dropped, starting with the last; the first one is kept.
    """
    columns = [[header[c], *(row[c] for row in rows)] for c in range(len(header))]
    natural = [max(map(display_width, cells)) for cells in columns]
    narrowest = [
        max([_longest_word(cells), *map(display_width, cells[1:])]) if c in right else min(natural[c], _TEXT)
        for c, cells in enumerate(columns)
    ]
    kept = list(range(len(header)))
    droppable = [c for c in kept if c in right and c > 0][1:]
    while droppable and sum(narrowest[c] + edge for c in kept) + 1 > width:
        kept.remove(droppable.pop())
    room = width - 1 - edge * len(kept)
    if sum(natural[c] for c in kept) <= room:
        return {c: natural[c] for c in kept}
    room -= sum(narrowest[c] for c in kept if c in right)
    widths = {c: narrowest[c] for c in kept if c in right}
    texts = sorted((c for c in kept if c not in right), key=lambda c: natural[c])
    for k, c in enumerate(texts):  # the short ones take what they need, the long ones share what is left
        widths[c] = max(min(natural[c], room // (len(texts) - k)), 1)
        room -= widths[c]
    return {c: widths[c] for c in kept}


def _longest_word(cells: Sequence[str]) -> int:
    return max((display_width(word) for cell in cells for word in cell.split()), default=0)
