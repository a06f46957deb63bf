"""Recognise the columns of scores by their names: home_score and away_score, FTHG and FTAG, score1 and score2, …

Used where two columns name the two sides of a game. ``guess_scores`` adds the roles left_score, right_score and outcome
to the guesses of ``roles``; the user can name all of these columns as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

# Words for the two sides in the names of columns; those of one line are used for the same kind of game.
_HOME: tuple[tuple[str, str], ...] = (
    ("home", "away"),
    ("home", "visitor"),
    ("home", "visitors"),
    ("home", "visiting"),
    ("home", "road"),
)
_HOME += (("host", "guest"), ("host", "visitor"), ("local", "visitor"), ("h", "a"), ("h", "v"))
_COLOURS = (("white", "black"), ("red", "blue"), ("r", "b"))
_NUMBERED = (("1", "2"), ("a", "b"), ("left", "right"), ("one", "two"))
_WON = (("winner", "loser"), ("winning", "losing"), ("w", "l"))

# What the points are called, most telling first: in Australian football, points count and goals do not decide.
_POINTS = ("score", "final score", "points", "pts", "goals", "goal", "runs", "sets", "frames", "legs", "gls")
_WHOLE_GAME = ("full time", "fulltime", "ft", "final", "total")
_ABBREVIATED = (("fthg", "ftag"), ("hg", "ag"), ("hgoals", "agoals"), ("homegls", "awaygls"), ("pf", "pa"))
_RESULTS = ("ftr", "res", "full time result", "ft result", "match result", "game result", "final result")
_TEXT_SCORES = ("score", "final score", "full time score", "ft score", "fulltime score", "full time", "ft", "scoreline")


def guess_scores(
    guesses: dict[str, list[str]], plain: Mapping[str, str], sides: tuple[str, str] | None, settled: set[str]
) -> None:
    """Add the columns with the points of both sides, and a column with the result, to the guesses.

    ``plain`` maps columns to normalised names, ``settled`` are roles that the user set.
    """
    known = {*guesses, *settled}
    by_plain = {text: name for name, text in plain.items()}
    if {"left", "right"} <= known:
        has_outcome = bool(known & {"outcome", "left_won"})
        if not has_outcome and (result := _first(by_plain, _RESULTS)):
            guesses["outcome"], has_outcome = [result], True
        words = _words_of(plain[sides[0]]) if sides else _HOME
        scores = _score_columns(by_plain, (*words, *(pair for pair in _NUMBERED if pair not in words)))
        scores = scores or (_next_to(list(plain.items()), sides) if sides else None)
        if "location" in by_plain and "neutral" not in known:  # Home or Neutral; cities are found out by content
            guesses["neutral"] = [by_plain["location"]]
        if not scores and not has_outcome and (score := _first(by_plain, _TEXT_SCORES)):
            guesses["outcome"] = [score]
    elif {"winner", "loser"} <= known:
        scores = _score_columns(by_plain, _WON)
    else:
        return
    if scores and not settled & {"left_score", "right_score"}:
        guesses["left_score"], guesses["right_score"] = [scores[0]], [scores[1]]


def _words_of(left: str) -> tuple[tuple[str, str], ...]:
    """Return the pairs of words for the sides that fit the name of the left column."""
    words = {*left.split(), left}
    for pairs in (_HOME, _COLOURS):
        if any(first in words or (len(first) > 1 and left.startswith(first)) for first, _ in pairs):
            return pairs
    return _NUMBERED


def _score_columns(by_plain: Mapping[str, str], words: tuple[tuple[str, str], ...]) -> tuple[str, str] | None:
    """Return the columns with the points of the two sides; None if no two columns are named like that."""
    for first, second in _ABBREVIATED if ("home", "away") in words else ():
        if first in by_plain and second in by_plain:
            return by_plain[first], by_plain[second]
    for points in _POINTS:
        for word_1, word_2 in words:
            for first, second in zip(_forms(word_1, points), _forms(word_2, points), strict=True):
                if first in by_plain and second in by_plain:
                    return by_plain[first], by_plain[second]
    return None


def _next_to(columns: list[tuple[str, str]], sides: tuple[str, str]) -> tuple[str, str] | None:
    """Return the columns after the two sides if both have the same name for points: Visitor, PTS, Home, PTS."""
    places = [k + 1 for side in sides for k, (name, _) in enumerate(columns) if name == side]
    if len(places) != 2 or max(places) >= len(columns):
        return None
    (name_1, text_1), (name_2, text_2) = (columns[k] for k in places)
    stems = {text.rstrip(" 0123456789") for text in (text_1, text_2)}
    return (name_1, name_2) if len(stems) == 1 and stems <= {*_POINTS} and name_1 != name_2 else None


def _forms(side: str, points: str) -> Iterator[str]:
    """Return how the points of a side may be called: "home score", "score home", "home team score", "score1", …"""
    for name in (f"{side} team {points}", f"{side} {points}"):
        yield name
        yield from (f"{whole} {name}" for whole in _WHOLE_GAME)
    yield from (f"{side} {whole} {points}" for whole in _WHOLE_GAME)
    yield from (
        f"{points} {side}",
        f"{points} {side} team",
        f"{side}{points}",
        f"{points}{side}",
        f"team {side} {points}",
    )
    yield from (f"team{side} {points}", f"player {side} {points}", f"player{side} {points}", f"{points} team {side}")
    yield from (f"{side}team {points}", f"{side}team{points}", f"{points} team{side}")


def _first(by_plain: Mapping[str, str], names: tuple[str, ...]) -> str | None:
    return next((by_plain[name] for name in names if name in by_plain), None)
