"""Content of a report as plain values: sections of sentences, facts, tables and charts, independent of HTML.

``pages`` and ``pictures`` render them; the web app shows the same values.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from concordant.errors import Sentence, Words


@dataclass(frozen=True)
class Text:
    """A paragraph. ``kind`` is plain, lead (the main result), heading, left-out (a note on omitted content), or
    left-out screen (one that is not printed).
    """

    text: str
    kind: str = "plain"


@dataclass(frozen=True)
class Facts:
    """Pairs of (name, value); ``is_tiled`` shows them as boxes next to each other."""

    rows: tuple[tuple[str, str], ...]
    is_tiled: bool = False


@dataclass(frozen=True)
class Message:
    """A finding or a warning, with a tone: fine, attention, warning, or neutral."""

    name: str
    text: str
    tone: str = "warning"


@dataclass(frozen=True)
class Messages:
    """A list of findings or warnings."""

    messages: tuple[Message, ...]


@dataclass(frozen=True)
class Track:
    """An inline plot in a table cell: a dot at ``value``, and a line from ``low`` to ``high`` if known.

    ``other`` is a second value, drawn as a hollow dot, such as a rating without style control.
    """

    value: float
    low: float | None = None
    high: float | None = None
    other: float | None = None


@dataclass(frozen=True)
class Scale:
    """The common axis of the inline plots of a column; ``mark`` is a line across all of them, such as a median.

    ``is_bar`` draws counts as bars from zero; a rating has no zero and is a dot.
    """

    low: float
    high: float
    title: str
    mark: float | None = None
    is_bar: bool = False


@dataclass(frozen=True)
class Named:
    """A cell with small text after it, such as a method's usual name and its id."""

    text: str
    id: str


@dataclass(frozen=True)
class Split:
    """A cell with a stacked bar: the weights of wins, ties and losses."""

    won: float
    tied: float
    lost: float


@dataclass(frozen=True)
class Versus:
    """A cell that compares a value with that of a baseline: two joined dots, and small grey dots for ``others``."""

    value: float
    baseline: float
    others: tuple[float, ...] = ()


@dataclass(frozen=True)
class Tag:
    """A cell with a word as a chip; ``tone`` is plain, good, warn or bad."""

    text: str
    tone: str = "plain"


Cell = str | Track | Named | Split | Versus | Tag


@dataclass(frozen=True)
class ReportTable:
    """Rows of cells. Columns in ``right`` are numbers, those in ``labels`` are labels from the data.

    ``marked`` rows are highlighted; ``links`` gives, for every row, the anchor or the HTML file that its first label
    leads to (an address that starts with "?" or "#" is used as it is). ``is_sortable`` is False for tables whose rows
    belong together. Columns in ``minor`` are left out on small screens. ``chosen`` rows are those of the result itself.
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
    minor: frozenset[int] = frozenset()
    chosen: frozenset[int] = frozenset()


@dataclass(frozen=True)
class HeatMap:
    """Pairwise wins: weights of the row's wins over the column, and of ties, in the order of ``labels``.

    ``noun`` is what was counted, such as voters.
    """

    title: str
    labels: tuple[str, ...]
    wins: tuple[tuple[float, ...], ...]
    ties: tuple[tuple[float, ...], ...]
    noun: str = "ballots"


@dataclass(frozen=True)
class GroupMap:
    """Differences of the scores of items (rows) in each group from the other groups: ``apart[item][group]``, None if
    unknown.

    ``sure`` marks significant differences; ``sizes`` are texts under the names of the groups.
    """

    title: str
    labels: tuple[str, ...]
    groups: tuple[str, ...]
    apart: tuple[tuple[float | None, ...], ...]
    sure: tuple[tuple[bool, ...], ...]
    sizes: tuple[str, ...] = ()


@dataclass(frozen=True)
class BumpChart:
    """The ranks of items by several methods, one line per item: ``ranks[item][method]``; the first items are
    coloured.
    """

    title: str
    methods: tuple[str, ...]
    labels: tuple[str, ...]
    ranks: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Curve:
    """The scores of an item over time; ``low`` and ``high`` are empty if the method has no intervals.

    A line that ``lasts`` is continued to the end of the period with its last value.
    """

    label: str
    times: tuple[float, ...]
    values: tuple[float, ...]
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    lasts: bool = False


@dataclass(frozen=True)
class TimeCurve:
    """Scores over time: ``chosen`` curves (by number, at most six) are coloured, the others are grey.

    ``whole`` is the time span of the data and ``shown`` the part that is drawn; times are days since 1970 if
    ``is_dated``. Lines are dashed across longer times than ``gap``. ``peak`` is the number of a curve, a time and a
    value to mark; ``noun`` is what an item is called, in the singular and in the plural.
    """

    title: str
    curves: tuple[Curve, ...]
    chosen: tuple[int, ...]
    whole: tuple[float, float]
    shown: tuple[float, float]
    is_dated: bool
    gap: float
    interval: str = "95% CI"
    peak: tuple[int, float, float] | None = None
    noun: tuple[str, str] = ("item", "items")


@dataclass(frozen=True)
class Chance:
    """The probabilities that the first of two items beats the second and that they tie."""

    first: str
    second: str
    win: float
    tie: float = 0.0


@dataclass(frozen=True)
class Chips:
    """Short findings next to each other; every second piece of a chip is a label from the data."""

    title: str
    chips: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class DotPlot:
    """A chart of scores with their confidence intervals, best first, to be saved as a separate file."""

    title: str
    labels: tuple[str, ...]
    tracks: tuple[Track, ...]
    scale: Scale


@dataclass(frozen=True)
class Picture:
    """A chart drawn by a method, as the text of an SVG file."""

    title: str
    svg: str


@dataclass(frozen=True)
class Sparkline:
    """A small curve of one item: values at ascending times, and what the first and the last time are called."""

    title: str
    times: tuple[float, ...]
    values: tuple[float, ...]
    first: str
    last: str


@dataclass(frozen=True)
class Code:
    """Code that reproduces the result."""

    title: str
    text: str


@dataclass(frozen=True)
class Download:
    """A file embedded in the page."""

    name: str
    media: str
    content: bytes
    says: str


@dataclass(frozen=True)
class Fold:
    """A collapsible group of parts; ``anchor`` is the target of links."""

    title: str
    parts: tuple[Part, ...]
    anchor: str = ""
    title_is_label: bool = False


@dataclass(frozen=True)
class Control:
    """A control of the web app inside a section; a report leaves it out.

    A change sets the setting of this name in the address of the page. ``kind`` is select, text, search, number, check
    or button; a button sets the setting to ``value``. ``options`` are pairs of (value, shown).
    """

    setting: str
    label: str
    value: str = ""
    kind: str = "select"
    options: tuple[tuple[str, str], ...] = ()
    hint: str = ""


@dataclass(frozen=True)
class Columns:
    """Parts next to each other; on small screens they are below each other."""

    columns: tuple[tuple[Part, ...], ...]


Part = (
    Text
    | Facts
    | Messages
    | ReportTable
    | HeatMap
    | GroupMap
    | BumpChart
    | Sparkline
    | TimeCurve
    | Chance
    | Chips
    | Picture
    | Code
    | Download
    | Fold
    | Columns
    | Control
)


@dataclass(frozen=True)
class Section:
    """A part of a report under a heading; ``name`` is its anchor, ``note`` a line under the heading."""

    name: str
    title: str
    parts: tuple[Part, ...]
    note: str = ""


def spoken(value: Any, words: Words) -> Any:
    """Return sections, or their parts, with parameters named as in an interface (Python, command line or web app)."""
    if isinstance(value, Sentence):
        return value.rendered(words)
    if isinstance(value, tuple):
        return tuple(spoken(element, words) for element in value)
    if isinstance(value, Section | Text | Facts | Messages | Message | ReportTable | Named | Fold | Columns | Control):
        changed = {field.name: spoken(getattr(value, field.name), words) for field in dataclasses.fields(value)}
        return dataclasses.replace(value, **changed)
    return value


def without_controls(value: Any) -> Any:
    """Return sections, or their parts, without the controls of the web app and links to its settings."""
    if isinstance(value, tuple):
        return tuple(without_controls(element) for element in value if not isinstance(element, Control))
    if isinstance(value, ReportTable):
        return dataclasses.replace(value, links=tuple("" if link[:1] == "?" else link for link in value.links))
    if isinstance(value, Section | Fold):
        return dataclasses.replace(value, parts=without_controls(value.parts))
    if isinstance(value, Columns):
        return Columns(tuple(filter(None, without_controls(value.columns))))
    return value
