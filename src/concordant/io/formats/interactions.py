"""Files of users and items with a layout of their own: RecBole, Amazon reviews, Goodreads and Steam.

inter
    RecBole's atomic files: tabs, and a header of names with types (``user_id:token``). -1 means seen but not rated.
amazon
    Amazon ratings without a header: ``user,item,rating,time`` (2014) or ``item,user,rating,time`` (2018). The column of
    items has identifiers of ten characters.
goodreads
    Goodreads interactions (``user_id,book_id,is_read,rating,is_reviewed``): a rating of 0 means not rated.
steam
    Steam-200k without a header (``user,title,purchase|play,value,0``): the hours played are the ratings.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from concordant.io._csv import Dialect, sniff
from concordant.io._formats import TABLES, Format
from concordant.io._plain_csv import open_csv
from concordant.io._source import HEAD, Source
from concordant.support.patterns import lazy
from concordant.tables.bad_rows import left_out
from concordant.tables.derived import DerivedTable
from concordant.tables.options import PREFERENCES, Options
from concordant.types import Bools

_TYPED = lazy(r"[\w.-]+:(?:token|float)(?:_seq)?")
_RATED = rb"[1-5](?:\.0)?,\d{9,10}"
_ASIN, _REVIEWER = rb"[0-9A-Z]{10}", rb"A[0-9A-Z]{9,21}"
_GOODREADS = b"user_id,book_id,is_read,rating"
_STEAM = lazy(rb"\d{3,12},(?:\"(?:[^\"]|\"\")*\"|[^,\"]*),(?:purchase|play),\d+(?:\.\d+)?,0")


def _first_lines(head: bytes) -> list[bytes]:
    """Return the first lines that are whole."""
    lines = head.split(b"\n")[:200]
    return [line.rstrip(b"\r") for line in (lines[:-1] if len(head) >= HEAD else lines) if line.strip()]


def _is_inter(head: bytes) -> bool:
    """Return whether the header consists of names with types."""
    first = head.split(b"\n", 1)[0].decode("utf-8", "replace").rstrip("\r").split("\t")
    return len(first) > 1 and all(map(_TYPED.fullmatch, first))


def _asin_column(head: bytes) -> int | None:
    """Return which of the first two columns of Amazon ratings is the item, 0 or 1; None if these are none."""
    lines = _first_lines(head)
    orders = {1: rb"%s,%s,%s" % (_REVIEWER, _ASIN, _RATED), 0: rb"%s,%s,%s" % (_ASIN, _REVIEWER, _RATED)}
    fits = [k for k, order in orders.items() if lines and all(re.fullmatch(order, line) for line in lines)]
    # Identifiers of users have more than ten characters as a rule, so the other order rarely fits as well.
    return fits[0] if len(fits) == 1 else None


def _is_steam(head: bytes) -> bool:
    """Return whether the lines are purchases and hours of play."""
    lines = _first_lines(head)
    return bool(lines) and all(map(_STEAM.fullmatch, lines))


def _is_goodreads(head: bytes) -> bool:
    return head.replace(b'"', b"").startswith(_GOODREADS)


def _declared(name: str, doc: str, looks_like: Callable[[bytes], bool], endings: tuple[str, ...] = ()) -> Format:
    return Format(
        *(name, endings, doc, (PREFERENCES,)),
        module=TABLES,
        sniff=looks_like,
        borrows=() if endings else (".csv",),
        opener=__name__,
    )


FORMATS = (
    _declared("inter", "RecBole interactions: user_id:token, item_id:token, …", _is_inter, (".inter",)),
    _declared("amazon", "Amazon ratings without a header", lambda head: _asin_column(head) is not None),
    _declared("goodreads", "Goodreads interactions: a rating of 0 means not rated", _is_goodreads),
    _declared("steam", "Steam-200k: hours played by user and game", _is_steam),
)


def open_table(source: Source, options: Options) -> Any:
    """Open a file as a table; rows without a rating are left out and counted."""
    return _OPENERS[options.format or ""](source, options)


def _open_inter(source: Source, options: Options) -> Any:
    """Open a RecBole file without the types of its columns."""
    header = source.head.split(b"\n", 1)[0].decode("utf-8", "replace").rstrip("\r").split("\t")
    names = tuple(name.rpartition(":")[0] or name for name in header)
    table = open_csv(source, Dialect("\t", True, names), options)
    if "rating" not in names or len(set(names)) < len(names):
        return table
    rating = table.fetch([], ["rating"])[1]["rating"]
    is_seen = rating == -1
    if not is_seen.any() or (rating[~is_seen] < 0).any() or is_seen.all():
        return table
    return _without(table, is_seen, "a rating of -1 means seen but not rated", {})


def _open_amazon(source: Source, options: Options) -> Any:
    """Open Amazon ratings; the item is the column with identifiers of ten characters."""
    names = ("item", "user") if _asin_column(source.head) == 0 else ("user", "item")
    table = open_csv(source, Dialect(",", False, (*names, "rating", "timestamp")), options)
    table.roles = _ROLES | {"item": "item"}
    return table


def _open_goodreads(source: Source, options: Options) -> Any:
    """Open Goodreads interactions without those that are not rated."""
    table = open_csv(source, sniff(source, replace(options, format="csv")), options)
    if "rating" not in table.columns:
        return table
    rating = table.fetch([], ["rating"])[1]["rating"]
    is_rated = rating != 0
    if is_rated.all() or not is_rated.any():
        return table
    return _without(table, ~is_rated, "a rating of 0 means not rated", {})


def _open_steam(source: Source, options: Options) -> Any:
    """Open the hours played; purchases and repeated rows of a user and a game are left out."""
    table = open_csv(source, Dialect(",", False, ("user", "title", "behaviour", "hours", "zero")), options)
    texts, _ = table.fetch(["user", "title", "behaviour"], [])
    codes, words = texts["behaviour"]
    is_played = np.array([*(word == "play" for word in words.labels), False])[codes]
    if not is_played.any():
        raise source.error("the file contains no hours of play: check that this is the right file.")
    key = texts["user"][0].astype(np.int64) * (len(texts["title"][1]) + 1) + texts["title"][0]
    played = np.flatnonzero(is_played)
    is_first = np.zeros(len(key), bool)
    is_first[played[np.unique(key[played], return_index=True)[1]]] = True
    kept = _without(table, ~is_played, "a purchase", _ROLES | {"item": "title", "rating": "hours"}, is_first)
    if n_repeated := int((is_played & ~is_first).sum()):
        kept.notes.append(f"left out {n_repeated:,} row{'s' * (n_repeated > 1)}: the user and game of an earlier row")
    return kept


def _without(
    table: Any, is_left_out: Bools, reason: str, roles: dict[str, str], keep: Bools | None = None
) -> DerivedTable:
    """Return the table without some rows, with a note on how many there are."""
    notes = []
    if is_left_out.any():
        notes = [left_out(reason, int(is_left_out.sum()), table.place(int(np.argmax(is_left_out))))]
    return DerivedTable(table, np.flatnonzero(~is_left_out if keep is None else keep), notes=notes, roles=roles)


_ROLES = {"agent": "user", "rating": "rating"}
_OPENERS = {"inter": _open_inter, "amazon": _open_amazon, "goodreads": _open_goodreads, "steam": _open_steam}
