"""Logs of games: a row per team and game (team, opponent, points, opponent's points), or winner and loser with a place.

Most logs list a game twice, once for each team: the second row of a game is a copy, which is left out and counted. A
column of places (H, A, N; home, away, neutral; @) says which side was at home, so that the home team is on the left. In
logs of winners and losers (``WTeamID, WScore, LTeamID, LScore, WLoc``), it is the place of the winner.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from concordant.ballots.vocabulary import Coded, Vocabulary, join_rows
from concordant.tables.derived import Column, DerivedTable
from concordant.tables.layouts import TEAM_AND_OPPONENT, WINNERS
from concordant.tables.options import Options, normalise
from concordant.tables.rows import InputTable
from concordant.types import Bools, Floats, Int32s, Int64s

_POINTS = (
    *(("pts", "opp pts"), ("points", "opp points"), ("points for", "points against"), ("pf", "pa"), ("gf", "ga")),
    *(
        ("goals for", "goals against"),
        ("score", "opp score"),
        ("team score", "opponent score"),
        ("pts", "opponent pts"),
    ),
    *(("team score", "opp score"), ("score", "opponent score"), ("points", "opponent points"), ("goals", "opp goals")),
    *(("goals scored", "goals conceded"), ("scored", "conceded"), ("runs", "opp runs"), ("rs", "ra")),
    *(("runs scored", "runs allowed"), ("team points", "opponent points"), ("pts for", "pts against")),
)
_POINTS_OF_WINNERS = (
    ("wscore", "lscore"),
    ("w score", "l score"),
    ("pts w", "pts l"),
    ("ptsw", "ptsl"),
    ("wpts", "lpts"),
)
_RESULTS = ("result", "game result", "wl", "w l", "outcome", "win loss")
_PLACES = ("game location", "wloc", "w loc", "location", "venue", "home away", "ha", "h a", "site", "place", "is home")
_GAMES = ("game id", "match id", "gameid", "matchid", "game", "date", "date game", "game date", "gameday", "match date")
_HOME = {"h", "home", "vs", "vs.", "v", "1", "true", "yes", "host"}
_AWAY = {"a", "away", "@", "at", "0", "false", "no", "road", "visitor"}
_NEUTRAL = {"n", "neutral"}
_WON, _LOST, _TIED = {"w", "win", "won"}, {"l", "loss", "lost", "lose"}, {"d", "t", "draw", "tie", "tied", "drew"}
LEFT, RIGHT, LEFT_POINTS, RIGHT_POINTS = "home team", "away team", "home points", "away points"
RESULT, NEUTRAL = "result of the game", "neutral place"
RESULTS, ANSWERS = Vocabulary(["1-0", "0-1", "1/2-1/2"]), Vocabulary(["no", "yes"])


class _Log(NamedTuple):
    """The columns of a log: two sides, their points, the result of the first side, and where it played."""

    sides: tuple[str, str]
    points: tuple[str, str] | None
    result: str | None
    place: str | None
    game: str | None
    is_won: bool
    """Whether the first side is the winner of every game."""


def arrange(table: InputTable, _: Options) -> InputTable | None:
    """Return the games with the home team on the left; None if no column gives the points or the result."""
    log = _columns(table)
    if log is None:
        return None
    names = [name for name in (*log.sides, *(log.points or ()), log.result, log.place, log.game) if name is not None]
    texts = table.fetch(list(dict.fromkeys(names)), [])[0]
    numbers = table.fetch([], list(log.points))[1] if log.points else {}
    result = _meaning(texts[log.result], (_WON, _TIED, _LOST)) if log.result else None
    if log.points is None and (result is None or np.isnan(result).all()):
        return None
    place = _meaning(texts[log.place], (_HOME, _NEUTRAL, _AWAY), empty=_HOME) if log.place else None
    if place is not None and np.isnan(place).any():  # stadiums, cities
        place = None
    points = np.stack([numbers[name] for name in log.points], 1) if log.points else None
    both, vocabulary = join_rows([texts[side] for side in log.sides])
    both = both.reshape(-1, 2)
    is_copy = _copies(table, both, points, result, texts.get(log.game or ""))
    is_open = np.zeros(len(both), bool) if points is not None or result is None else np.isnan(result) & ~is_copy
    rows = np.flatnonzero(~is_copy & ~is_open)
    notes = [
        f"left out {count:,} row{'s' * (count > 1)}: {why}"
        for count, why in (
            (int(is_copy.sum()), "the same game from the other side"),
            (int(is_open.sum()), "the game has no result"),
        )
        if count
    ]
    columns, roles = _by_home(both[rows], vocabulary, _taken(points, rows), _taken(result, rows), _taken(place, rows))
    if log.is_won:
        is_tied = (
            np.zeros(len(rows), bool) if points is None or "tie" not in log.sides[0].lower() else _tied(points[rows])
        )
        result_of_left = np.where(is_tied, 0.0, 1.0 if place is None else np.where(place[rows] < 0, -1.0, 1.0))
        columns[RESULT], roles["outcome"] = _coded_results(result_of_left), RESULT
    derived = DerivedTable(table, rows, columns, notes=["a log of games", *notes], roles=roles)
    derived.columns = [name for name in derived.columns if name in columns or name not in names]
    return derived


def _columns(table: InputTable) -> _Log | None:
    """Return the columns of the log by their names."""
    by_plain: dict[str, str] = {}
    for name in table.columns:
        by_plain.setdefault(normalise(name), name)
    won = _both(by_plain, WINNERS)
    sides = won or _both(by_plain, TEAM_AND_OPPONENT)
    if sides is None:
        return None
    points = _both(by_plain, _POINTS_OF_WINNERS if won else _POINTS)
    place = next((by_plain[name] for name in _PLACES if name in by_plain and by_plain[name] not in sides), None)
    if won and place is None:
        place = _unnamed_place(table, sides)
    result = None if won else next((by_plain[name] for name in _RESULTS if name in by_plain), None)
    game = next((by_plain[name] for name in _GAMES if name in by_plain), None)
    if points is None and result is None and not won:
        return None
    return _Log(sides, points, result, place, game, won is not None)


def _both(by_plain: Mapping[str, str], pairs: Sequence[tuple[str, str]]) -> tuple[str, str] | None:
    """Return the columns of the first pair of names that the table has."""
    return next(((by_plain[a], by_plain[b]) for a, b in pairs if a in by_plain and b in by_plain), None)


def _unnamed_place(table: InputTable, sides: tuple[str, str]) -> str | None:
    """Return the column between winner and loser if it holds only @ and N: the winner played away, or neither did."""
    first, second = (table.columns.index(side) for side in sides)
    if second - first != 2:
        return None
    name = table.columns[first + 1]
    words = {word.strip().lower() for word in table.fetch([name], [])[0][name][1].labels}
    return name if words and words <= {"@", "n"} else None


def _meaning(column: Coded, words: tuple[set[str], set[str], set[str]], empty: set[str] | None = None) -> Floats:
    """Return 1, 0 or -1 by the first word of each cell, NaN if it is unknown; an empty cell means ``empty``."""
    codes, labels = column
    value_of = {word: value for value, group in zip((1.0, 0.0, -1.0), words, strict=True) for word in group}
    firsts = [(label.strip().lower().replace(",", " ").split() or [""])[0] for label in labels.labels]
    return np.array([*(value_of.get(word, np.nan) for word in firsts), np.nan if empty is None else 1.0])[codes]


def _copies(table: InputTable, both: Int32s, points: Floats | None, result: Floats | None, game: Coded | None) -> Bools:
    """Return which rows repeat an earlier row from the opponent's side."""
    by_plain = {normalise(name): name for name in table.columns}
    if "iscopy" in by_plain:
        return np.asarray(table.fetch([], [by_plain["iscopy"]])[1][by_plain["iscopy"]] == 1)
    game_of_row = np.zeros(len(both)) if game is None else game[0].astype(np.float64)
    own = np.column_stack([both, *([] if points is None else [points]), *([] if result is None else [result])])
    swap = [1, 0, *([] if points is None else [3, 2])]
    other = np.column_stack([own[:, swap], *([] if result is None else [-result])])
    waiting: dict[tuple[float, ...], int] = {}
    is_copy = np.zeros(len(both), bool)
    for row, (when, key, mirrored) in enumerate(
        zip(game_of_row.tolist(), map(tuple, _hashable(own)), map(tuple, _hashable(other)), strict=True)
    ):
        if waiting.get((when, *mirrored), 0):
            waiting[(when, *mirrored)] -= 1
            is_copy[row] = True
        else:
            waiting[(when, *key)] = waiting.get((when, *key), 0) + 1
    return is_copy


def _hashable(table: Floats) -> list[list[float]]:
    """Return the rows of a table with a number for NaN, which does not equal itself."""
    rows: list[list[float]] = np.where(np.isnan(table), -1e300, table).tolist()
    return rows


def _by_home(
    both: Int32s, vocabulary: Vocabulary, points: Floats | None, result: Floats | None, place: Floats | None
) -> tuple[dict[str, Column], dict[str, str | None]]:
    """Return the columns with the home side on the left, and their roles."""
    is_away = np.zeros(len(both), bool) if place is None else place < 0
    both = np.where(is_away[:, None], both[:, ::-1], both)
    columns: dict[str, Column] = {LEFT: (both[:, 0], vocabulary), RIGHT: (both[:, 1], vocabulary)}
    roles: dict[str, str | None] = {"left": LEFT, "right": RIGHT}
    if points is not None:
        points = np.where(is_away[:, None], points[:, ::-1], points)
        columns |= {LEFT_POINTS: points[:, 0].copy(), RIGHT_POINTS: points[:, 1].copy()}
        roles |= {"left_score": LEFT_POINTS, "right_score": RIGHT_POINTS}
    if result is not None and not np.isnan(result).all():
        columns[RESULT] = _coded_results(np.where(is_away, -result, result))
        roles["outcome"] = RESULT
    is_neutral = np.ones(len(both), bool) if place is None else place == 0
    columns[NEUTRAL] = is_neutral.astype(np.int32), ANSWERS
    return columns, roles | {"neutral": NEUTRAL}


def _coded_results(side: Floats) -> Coded:
    """Return 1, -1 and 0 as words for the result; NaN is missing."""
    codes = np.select([side > 0, side < 0, side == 0], [0, 1, 2], -1)
    return codes.astype(np.int32), RESULTS


def _tied(points: Floats) -> Bools:
    return np.asarray(points[:, 0] == points[:, 1])


def _taken(values: Floats | None, rows: Int64s) -> Floats | None:
    return None if values is None else values[rows]
