"""Ballots with a column per place: recognise the columns by name, and the words for places that name no candidate.

Columns may be called ``rank1``, ``1st choice``, ``Choice 1``, ``Ranking_1``, ``First preference`` or ``[1]``, alone or
with the name of a contest (``1ST CHOICE MAYOR``, ``Mayor choice 1``). Cast vote records write a word into a place that
names no candidate: the voter left it empty (``skipped``, ``undervote``), marked several candidates (``overvote``), or
wrote in a name that does not count (``UWI``, ``undeclared write-in``). Only whole cells are such words, so "None of the
above" and "Write-in: Ann" are candidates.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from concordant.ballots.vocabulary import Coded, shorten
from concordant.tables.grades import ORDINALS
from concordant.tables.options import normalise
from concordant.types import Bools, Int32s

# Compared in lower case, without brackets around the word, and with "_", "-" and blanks alike.
_MISSING = {"", "na", "n/a", "nan", "null", "none", "?"}
BLANKS = _MISSING | {
    *("blank", "empty", "skip", "skipped", "skipped rank", "skipped ranking", "undervote", "under vote", "undervoted"),
    *("no vote", "no rank", "no ranking", "no choice", "not ranked", "unranked", "no selection", "abstain"),
}
OVERVOTES = {"overvote", "over vote", "overvoted", "overvotes"}
WRITE_INS = {"uwi", "undeclared"} | {
    f"{kind}{word}{plural}"
    for kind in ("", "undeclared ", "unqualified ", "unregistered ", "uncertified ", "unresolved ", "invalid ")
    for word in ("write in", "writein")
    for plural in ("", "s")
}

_THING = r"(?:rank(?:ing|ed)?|place|choice|preference|pref|position|pos|vote|pick|priority|selection)"
_NUMBER = r"(\d{1,9})(?: ?(?:st|nd|rd|th))?"  # normalise writes "1ST" as "1 st"
_ORDINAL = rf"(\d{{1,9}} ?(?:st|nd|rd|th)|{'|'.join(ORDINALS)})"
_ALONE = rf"{_THING}? ?{_NUMBER}|{_ORDINAL}(?: {_THING})?"
_OF_CONTEST = rf"(.*?) ?\b(?:{_THING} ?(?:no |number )?{_NUMBER}|{_ORDINAL} {_THING})\b ?(.*)"


# ---- the names of columns ----
def place_of(plain: str) -> int | None:
    """Return the place that a normalised column name stands for ("rank1", "2nd choice", "first"); None if none."""
    match = re.fullmatch(_ALONE, plain)
    return None if match is None else _number(match[1] or match[2])


def place_columns(columns: Sequence[str]) -> tuple[str, ...]:
    """Return the columns named first, second, … or rank1, rank2, … in order, if they start at 1 (or 0)."""
    by_place: dict[int, str] = {}
    for name in columns:
        if (place := place_of(normalise(name))) is not None:
            by_place.setdefault(place, name)
    return _in_order(by_place)


def contest_columns(columns: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the columns of places of each contest: ``Mayor choice 1``, ``Mayor choice 2``, … are those of Mayor."""
    contests: dict[str, dict[int, str]] = {}
    for name in columns:
        match = None if "[" in name else re.fullmatch(_OF_CONTEST, normalise(name))
        if match is not None and (contest := f"{match[1]} {match[4]}".strip()):
            contests.setdefault(contest, {}).setdefault(_number(match[2] or match[3]), name)
    ordered = {contest: _in_order(by_place) for contest, by_place in contests.items()}
    return {contest: names for contest, names in ordered.items() if names}


def _number(text: str) -> int:
    """Return the number of a place: 2 for "2", "2nd" and "second"."""
    return ORDINALS.index(text) + 1 if text in ORDINALS else int(text.rstrip("stndrh "))


def _in_order(by_place: Mapping[int, str]) -> tuple[str, ...]:
    """Return columns in the order of their places; none unless there are several places in sequence from 1 (or 0)."""
    numbers = sorted(by_place)
    if len(numbers) < 2 or numbers[0] not in (0, 1) or numbers != list(range(numbers[0], numbers[0] + len(numbers))):
        return ()
    return tuple(by_place[number] for number in numbers)


# ---- the words in cells ----
def plain_word(cell: str) -> str:
    """Return a cell as it is compared with the words: in lower case, without brackets, "_" and "-" as blanks."""
    return re.sub(r"[\s_\-–—]+", " ", cell.casefold().strip().strip("()[]<>{}*")).strip()


def names_no_candidate(cell: str) -> bool:
    """Return whether a cell of a place is a word for an empty place, an overvote or an undeclared write-in."""
    plain = plain_word(cell)
    return plain in BLANKS or plain in OVERVOTES or plain in WRITE_INS


def only_candidates(columns: Sequence[Coded]) -> tuple[list[Coded], dict[str, int]]:
    """Return the columns of places with candidates only, and how many cells hold each of the other words."""
    counts: Counter[str] = Counter()
    spelling: dict[str, str] = {}
    cleaned: list[Coded] = []
    for codes, words in columns:
        is_other = np.array([*map(names_no_candidate, words.labels), False])
        if is_other.any():
            n_cells = np.bincount(codes[codes >= 0], minlength=len(words))
            for code in np.flatnonzero(is_other).tolist():
                word = spelling.setdefault(plain_word(words[code]), words[code].strip())
                counts[word] += int(n_cells[code])
            codes = np.where(is_other[codes], np.int32(-1), codes)
        cleaned.append((codes, words))
    return cleaned, dict(counts.most_common())


def note_on_words(counts: Mapping[str, int]) -> str:
    """Return the note on cells that name no candidate, counted by word."""
    shown = ", ".join(f"{count:,} {shorten(word)}" for word, count in list(counts.items())[:8])
    rest = sum(list(counts.values())[8:])
    return f"cells without a candidate, read as empty places: {shown}" + (f", {rest:,} others" if rest else "")


def repeats(code: Int32s, is_repeated: Bools) -> Bools:
    """Return (rows x places) which cells name an item that an earlier place of the same row names.

    ``is_repeated`` says which rows have any.
    """
    is_again = np.zeros(code.shape, bool)
    rows = np.flatnonzero(is_repeated)
    order = np.argsort(code[rows], axis=1, kind="stable")
    ordered = np.take_along_axis(code[rows], order, 1)
    is_same = np.zeros(ordered.shape, bool)
    is_same[:, 1:] = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)
    again = np.zeros(ordered.shape, bool)
    np.put_along_axis(again, order, is_same, 1)
    is_again[rows] = again
    return is_again
