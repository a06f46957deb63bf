"""PGN files of chess and other games: the tags ``[White "…"]``, ``[Black "…"]`` and ``[Result "…"]`` of every game.

A file is read as a table with a row per game and a column per tag. White is the left side and Black the right one,
``1/2-1/2`` is a tie, and games without a result (``*``) or without players are left out and counted. ``Date`` (else
``UTCDate``) is the time of the games if it is known for all of them; a date with ``??`` is unknown. Moves are ignored.
"""

from __future__ import annotations

import re
from functools import partial

import numpy as np

from concordant.ballots.vocabulary import Vocabulary
from concordant.io._formats import TABLES, Format
from concordant.io._source import Source
from concordant.io._spans import Spans, SpanTable, padded
from concordant.support.patterns import lazy
from concordant.tables.bad_rows import left_out
from concordant.tables.options import PREFERENCES, Options
from concordant.types import Bools, Bytes, Int32s, Int64s

USUAL = ("Event", "Site", "Date", "Round", "White", "Black", "Result")
NEEDED = ("White", "Black", "Result")
_BLANKS = np.zeros(256, bool)
_BLANKS[[9, 13, 32]] = True
_LETTERS = np.zeros(256, bool)
_LETTERS[[*range(65, 91), *range(97, 123)]] = True
_TAG = lazy(rb'^\[([A-Za-z]\w*)[ \t]+"', re.MULTILINE)
_NEXT = lazy(rb'"[ \t]*\][ \t]*(?=\[[ \t]*[A-Za-z]\w*[ \t]+")')
_INDENTED = lazy(rb'^[ \t]+(?=\[[A-Za-z]\w*[ \t]+")', re.MULTILINE)
_START = lazy(rb'(?:[ \t]*(?:%[^\n]*|;[^\n]*)?\r?\n)*\[[A-Za-z]\w*[ \t]+"[^"\n]*"[ \t]*\]')


def _looks_like(head: bytes) -> bool:
    """Return whether the file begins with a tag, and names White, Black and a result."""
    return bool(_START.match(head)) and all(b"\n[" + tag.encode() in b"\n" + head for tag in NEEDED)


FORMATS = (
    Format(
        *("pgn", (".pgn",), "games of chess and other games: White, Black, Result, Date (PGN)", (PREFERENCES,)),
        module=TABLES,
        sniff=_looks_like,
        opener=__name__,
    ),
)


def open_table(source: Source, options: Options) -> SpanTable:
    """Open a file as a table with a row per game that has players and a result."""
    del options  # the layout is fixed
    content, notes_on_text = _text(source)
    is_regular = _is_regular(content)
    tags = _Tags(content if is_regular else _one_per_line(content))
    where, unit = (tags.line, "line") if is_regular else (np.arange(1, len(tags.line) + 1), "game")
    names = list(dict.fromkeys([*USUAL, *(name.decode() for name in _TAG.findall(source.head))]))
    if not len(tags.first):
        raise source.error('the file contains no game with tags such as [White "…"]: check the file.')
    table = SpanTable(source, tags.data, names, tags.spans, where, unit=unit)
    keep, notes = _usable(table)
    if not keep.any():
        raise source.error("no game has both players and a result: check that this is the right file.")
    date, is_dated = _dates(tags)
    chosen = partial(_chosen, tags, date, keep)
    table = SpanTable(source, tags.data, names, chosen, where[keep], unit=unit)
    table.notes += [*notes_on_text, *notes]
    table.has_escapes = True
    table.roles = {"left": "White", "right": "Black", "outcome": "Result"}
    if is_dated[keep].all():
        table.roles["time"] = "Date"
    elif is_dated[keep].any():
        n_unknown = int((~is_dated[keep]).sum())
        table.notes.append(f"the date of {n_unknown:,} games is unknown: the games are not ordered by time")
    return table


def _text(source: Source) -> tuple[bytes, list[str]]:
    """Return the content as UTF-8; a file that is not UTF-8 is Latin-1, as the standard of PGN says."""
    content = source.read_bytes()
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return content.decode("latin-1").encode("utf-8"), ["the text is not UTF-8 and is read as Latin-1"]
    return content, []


def _chosen(tags: _Tags, date: Spans, keep: Bools, name: str) -> Spans:
    """Return the cells of a tag for the games that are read."""
    start, end = date if name == "Date" else tags.spans(name)
    return start[keep], end[keep]


def _usable(table: SpanTable) -> tuple[Bools, list[str]]:
    """Return which games have players and a result, and notes on the others."""
    texts, _ = table.fetch(NEEDED, [])
    named = [_means(*texts[name], {"?", ""}) for name in NEEDED[:2]]
    is_played = _means(*texts["Result"], {"*", "?", "-", ""})
    has_players = named[0] & named[1]
    notes = []
    for is_left_out, reason in ((~has_players, "a player is unknown"), (has_players & ~is_played, "no result (*)")):
        if is_left_out.any():
            first = table.place(int(np.argmax(is_left_out)))
            notes.append(left_out(reason, int(is_left_out.sum()), first).replace(" row", " game"))
    return has_players & is_played, notes


def _means(codes: Int32s, labels: Vocabulary, empty: set[str]) -> Bools:
    """Return where a cell has a text that means something."""
    said = np.array([*(label.strip() not in empty for label in labels.labels), False])
    found: Bools = said[codes]
    return found


def _dates(tags: _Tags) -> tuple[Spans, Bools]:
    """Return the date of each game, from Date or else UTCDate, and which games have one; a date with ? is missing."""
    start, end = np.zeros((2, len(tags.first)), np.int64)
    for name in ("UTCDate", "Date"):
        begin, stop = tags.spans(name)
        is_known = _are_dates(tags.data, begin, stop)
        start, end = np.where(is_known, begin, start), np.where(is_known, stop, end)
    return (start, end), start < end


def _are_dates(data: Bytes, start: Int64s, end: Int64s) -> Bools:
    """Return which cells look like 2024.01.31, with any sign between the numbers."""
    is_date: Bools = end - start == 10
    at = np.where(is_date, start, 0)
    for k in (0, 1, 2, 3, 5, 6, 8, 9):
        digit = data[np.minimum(at + k, len(data) - 1)]
        is_date &= (digit >= ord("0")) & (digit <= ord("9"))
    return is_date


class _Tags:
    """The tag lines of a PGN text, by game; a game is a block of tag lines without other lines between them."""

    def __init__(self, content: bytes) -> None:
        """Find the tag lines: they begin with a bracket and a letter, and end with a quotation mark and a bracket."""
        self.data = data = padded(content)
        breaks = np.flatnonzero(data == ord("\n"))
        start = np.concatenate([[0], breaks[:-1] + 1])
        end = _stepped(data, breaks.copy(), start, -1)
        is_tag = (data[start] == ord("[")) & _LETTERS[data[start + 1]] & (end - start > 5)
        is_tag &= data[np.maximum(end - 1, 0)] == ord("]")
        tag = np.flatnonzero(is_tag)
        self._start = start[tag]
        self._close = _stepped(data, end[tag] - 1, self._start, -1)
        is_quoted = data[np.maximum(self._close - 1, 0)] == ord('"')
        tag, self._start, self._close = tag[is_quoted], self._start[is_quoted], self._close[is_quoted] - 1
        is_first = np.diff(tag, prepend=-2) > 1
        self._game = np.cumsum(is_first) - 1
        self.first = self._start[is_first]
        self.line: Int64s = tag[is_first] + 1

    def spans(self, name: str) -> Spans:
        """Return the value of a tag for each game; an empty span if it has none."""
        found = np.ones(len(self._start), bool)
        for k, sign in enumerate(name.encode(), 1):
            found &= self.data[np.minimum(self._start + k, len(self.data) - 1)] == sign
        which = np.flatnonzero(found)
        after = self._start[which] + 1 + len(name.encode())
        quote = _stepped(self.data, after.copy(), self._close[which], 1)
        is_whole = (quote > after) & (self.data[quote] == ord('"')) & (quote < self._close[which])
        which, quote = which[is_whole], quote[is_whole]
        start, end = np.zeros((2, len(self.first)), np.int64)
        start[self._game[which]], end[self._game[which]] = quote + 1, self._close[which]
        return start, end


def _stepped(data: Bytes, position: Int64s, limit: Int64s, step: int) -> Int64s:
    """Move positions over blanks, up to the limit: forwards to the next sign, or backwards to behind the last one."""
    while True:
        at = position if step > 0 else position - 1
        moves = (position < limit if step > 0 else position > limit) & _BLANKS[data[np.maximum(at, 0)]]
        if not moves.any():
            return position
        position = position + step * moves


def _is_regular(content: bytes) -> bool:
    """Return whether every tag of a player stands on a line of its own."""
    anywhere = len(re.findall(rb"\[\s*White\s+\"", content))
    return anywhere == len(re.findall(rb'^\[White[ \t]+"[^\n]*"[ \t]*\][ \t]*\r?$', content, re.MULTILINE))


def _one_per_line(content: bytes) -> bytes:
    """Return the text with every tag at the start of a line of its own."""
    return _NEXT.sub(b'"]\n', _INDENTED.sub(b"", content))
