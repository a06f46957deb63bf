"""What a report says, as plain values: sections of sentences, facts, tables and pictures, without a word of HTML.

``pages`` and ``pictures`` turn them into a page; the web app shows the same values.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from concordant.errors import Sentence, Words


@dataclass(frozen=True)
class Text:
    """A paragraph. ``kind`` says what it is: plain, lead (the answer in a sentence) or left-out (what is not shown)."""

    text: str
    kind: str = "plain"


@dataclass(frozen=True)
class Facts:
    """Pairs of (what, how it is)."""

    rows: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Message:
    """A finding or a warning, with a tone: fine, attention, warning, or neutral."""

    name: str
    text: str
    tone: str = "warning"


@dataclass(frozen=True)
class Messages:
    """Findings or warnings, one below the other."""

    messages: tuple[Message, ...]


@dataclass(frozen=True)
class Track:
    """A cell of a table that is a small picture: a dot at ``value``, and a line from ``low`` to ``high`` if known."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Scale:
    """The axis that all tracks of a column share; ``mark`` is a line across all of them, such as a median."""

    low: float
    high: float
    title: str
    mark: float | None = None


Cell = str | Track


@dataclass(frozen=True)
class ReportTable:
    """Rows of cells. Columns in ``right`` are numbers, those in ``labels`` hold names that other people chose.

    ``marked`` rows are highlighted; ``links`` gives, for every row, the anchor or the HTML file that its first label
    leads to. Tables whose rows belong together are not ``is_sortable``.
    """

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    right: frozenset[int] = frozenset()
    labels: frozenset[int] = frozenset()
    scale: Scale | None = None
    marked: frozenset[int] = frozenset()
    links: tuple[str, ...] = ()
    is_sortable: bool = True


@dataclass(frozen=True)
class HeatMap:
    """Who beats whom: weights of wins of the row over the column, and of ties, in the order of ``labels``."""

    title: str
    labels: tuple[str, ...]
    wins: tuple[tuple[float, ...], ...]
    ties: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class GroupMap:
    """How far items (rows) score higher or lower in each group than elsewhere: ``apart[item][group]``, None: unknown.

    ``sure`` says where the difference holds.
    """

    title: str
    labels: tuple[str, ...]
    groups: tuple[str, ...]
    apart: tuple[tuple[float | None, ...], ...]
    sure: tuple[tuple[bool, ...], ...]


@dataclass(frozen=True)
class BumpChart:
    """The ranks of items by several methods: a line per item, ``ranks[item][method]``; the first ones are coloured."""

    title: str
    methods: tuple[str, ...]
    labels: tuple[str, ...]
    ranks: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class DotPlot:
    """Scores with their intervals, best first: a picture of its own, for files."""

    title: str
    labels: tuple[str, ...]
    tracks: tuple[Track, ...]
    scale: Scale


@dataclass(frozen=True)
class Picture:
    """A picture that a method drew, as the text of an SVG file."""

    title: str
    svg: str


@dataclass(frozen=True)
class Code:
    """What to type to get the same."""

    title: str
    text: str


@dataclass(frozen=True)
class Download:
    """A file that is embedded in the page."""

    name: str
    media: str
    content: bytes
    says: str


@dataclass(frozen=True)
class Fold:
    """Parts that open when asked for; ``anchor`` is where links lead."""

    title: str
    parts: tuple[Part, ...]
    anchor: str = ""
    title_is_label: bool = False


Part = Text | Facts | Messages | ReportTable | HeatMap | GroupMap | BumpChart | Picture | Code | Download | Fold


@dataclass(frozen=True)
class Section:
    """A part of a report under a heading; ``name`` is its anchor."""

    name: str
    title: str
    parts: tuple[Part, ...]


def spoken(value: Any, words: Words) -> Any:
    """Return sections, or their parts, with parameters named in the words of an interface."""
    if isinstance(value, Sentence):
        return value.rendered(words)
    if isinstance(value, tuple):
        return tuple(spoken(element, words) for element in value)
    if isinstance(value, Section | Text | Facts | Messages | Message | ReportTable | Fold):
        changed = {field.name: spoken(getattr(value, field.name), words) for field in dataclasses.fields(value)}
        return dataclasses.replace(value, **changed)
    return value
