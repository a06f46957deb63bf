"""Races with finishing places: read places such as 1st, T5 and DNF (``race_names`` recognises the columns).

A row is a competitor in a race (``race, driver, place``; Ergast's ``raceId, driverId, positionText``). The race is the
ballot. Competitors who started but were not classified (DNF, retired, missed the cut, an empty place) tie for the last
place of their race. Those who did not start or were disqualified are left out. Both are counted in notes.
"""

from __future__ import annotations

import re

import numpy as np

from concordant.ballots.segments import max_by
from concordant.tables.grades import means_missing, place_in, plain
from concordant.tables.rows import Rows
from concordant.types import Bools, Floats

# Ergast writes R, N (retired, not classified) and D, E, W, F (disqualified, excluded, withdrew, failed to qualify).
_FALLERS = {"pu", "ur", "bd", "ro", "su", "rr", "co"}  # in races over jumps; then F is a fall
UNCLASSIFIED = {"r", "ret", "retired", "dnf", "did not finish", "nc", "n", "not classified", "unclassified"}
UNCLASSIFIED |= {"\\n", "cut", "mc", "mdf", "missed cut", "otl", "hd", "lap", *_FALLERS}
LEFT_OUT = {"dns", "did not start", "dnq", "did not qualify", "dnpq", "dna", "dnc", "f", "failed to qualify", "w", "wd"}
LEFT_OUT |= {"w/d", "withdrawn", "withdrew", "scr", "scratched", "nr", "non runner"}
LEFT_OUT |= {"dsq", "dq", "disqualified", "d", "e", "ex", "exc", "excluded"}
_PLACE = r"(?:[t=p]|tied |joint )?(\d{1,4})(?:st|nd|rd|th)?[t=.]?"


def read_places(rows: Rows) -> None:
    """Replace places in words by numbers; competitors without a place tie for the last one or are left out."""
    if not rows.has("rank") or not (is_odd := np.isnan(rows.values("rank")) & rows.good).any():
        return
    name = rows.plan.column["rank"]
    codes, words = rows.table.fetch([name], [])[0][name]
    texts = [plain(word) for word in words.labels]
    values = np.array([*map(_place, texts), np.nan])[codes]
    places = np.where(is_odd, values, rows.values("rank"))
    if rows.has("ballot"):
        is_over_jumps = not _FALLERS.isdisjoint(texts)
        meaning = np.array([*(_standing(text, is_over_jumps) for text in texts), 0])[codes]
        has_race = (rows.raw("item")[0] >= 0) & (rows.raw("ballot")[0] >= 0)
        meaning = np.where(is_odd & np.isnan(places) & has_race, meaning, -1)
        is_last, is_out = meaning == 0, meaning == 1
        rows.tolerate(is_last, "not classified, so tied for the last place of the race" + _said(texts, codes, is_last))
        rows.leave_out(is_out, "did not start, or was disqualified" + _said(texts, codes, is_out))
        places = np.where(is_last, _last_places(rows, places), places)
    rows.replace_numbers("rank", places)


def _place(text: str) -> float:
    """Return the place that a word gives, NaN if it gives none."""
    found = re.fullmatch(_PLACE, text)
    place = float(found[1]) if found else place_in(text)
    return np.nan if place is None else place


def _standing(text: str, is_over_jumps: bool) -> int:
    """Return 0 for an unclassified competitor, 1 for one to leave out, -1 for other words."""
    if text in UNCLASSIFIED or means_missing(text) or (text == "f" and is_over_jumps):
        return 0
    return 1 if text in LEFT_OUT else -1


def _said(texts: list[str], codes: np.ndarray, rows: Bools) -> str:
    """Return the words of these rows in parentheses."""
    said = [texts[code].upper() for code in np.unique(codes[rows]).tolist() if code >= 0 and texts[code] != "\\n"]
    return f" ({', '.join(said[:6])})" if said else ""


def _last_places(rows: Rows, places: Floats) -> Floats:
    """Return the place after the last one of the race of every row."""
    _, race = np.unique(rows.key(["instance", "ballot"]), return_inverse=True)
    race = race.reshape(-1)
    known = np.where(np.isnan(places) | ~rows.good, 0.0, places)
    return max_by(race, known, int(race.max()) + 1, 0.0)[race] + 1
