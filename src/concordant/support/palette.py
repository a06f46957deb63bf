"""The colours of plots, reports and the web app, safe for colour-blind readers.

Any two series are at least 19 apart (CIE76) in normal vision and in simulated protanopia, deuteranopia and tritanopia.
The style sheet of reports declares the same values as tokens (``--s1``, ``--d0``, …), in this order.
"""

from __future__ import annotations

from typing import NamedTuple


class Palette(NamedTuple):
    """The colours of one colour scheme."""

    surface: str
    ink: str
    quiet: str
    """Secondary text."""
    line: str
    """Rules and grid lines."""
    rest: str
    """Everything that is not selected."""
    series: tuple[str, ...]
    """At most six series at once."""
    diverging: tuple[str, ...]
    """From below (orange) over equal to above (blue)."""


LIGHT = Palette(
    "#ffffff",
    "#16202a",
    "#4a5864",
    "#d9e0e6",
    "#a3afba",
    ("#0070ad", "#a56014", "#004d3a", "#cd2e71", "#3c3e00", "#3434ab"),
    ("#b35806", "#e08a35", "#f6be7c", "#fbe3c6", "#eef1f3", "#d5e5f1", "#a3c8e4", "#5a9bcb", "#1f5a95"),
)
DARK = Palette(
    "#161e25",
    "#e8eef2",
    "#a9b6c1",
    "#2c3944",
    "#55636f",
    ("#6fbdf9", "#fe844d", "#aef2bf", "#cd7e9e", "#ffdd33", "#787ffa"),
    ("#e58a35", "#a8621f", "#74481e", "#42301f", "#27313a", "#203a50", "#24527d", "#3674ad", "#84bdea"),
)


EITHER = "#2685c1"  # readable on white and on black, where the scheme is not known
BELOW, ABOVE = LIGHT.diverging[1], LIGHT.diverging[7]


def luminance(red: float, green: float, blue: float) -> float:
    """Return the relative luminance of an sRGB colour with parts between 0 and 1 (WCAG 2)."""
    parts = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in (red, green, blue)]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def is_dark(red: float, green: float, blue: float) -> bool:
    """Return whether white text on this colour has more contrast than text in the ink of the light scheme."""
    return luminance(red, green, blue) < _MIDDLE


_INK = luminance(*(int(LIGHT.ink[k : k + 2], 16) / 255 for k in (1, 3, 5)))
_MIDDLE: float = (1.05 * (_INK + 0.05)) ** 0.5 - 0.05  # equal contrast with white and ink
