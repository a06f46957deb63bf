"""Parse words for the outcome of a comparison and for yes and no, once per distinct word."""

from __future__ import annotations

import re

import numpy as np

from concordant.ballots.vocabulary import Coded, Vocabulary, codes_in
from concordant.tables.options import normalise
from concordant.types import Bools, Floats, Int32s

YES = {"true", "t", "yes", "y", "1", "1.0", "tie", "tied", "draw", "d"}
NO = {"false", "f", "no", "n", "0", "0.0", ""}

LEFT = {"left", "l", "a", "first", "win", "won", "w", ">", "1-0", "model_a", "model a"}
RIGHT = {"right", "r", "b", "second", "loss", "lost", "lose", "<", "0-1", "model_b", "model b"}
TIE = {"tie", "tied", "draw", "drawn", "d", "equal", "even", "both", "=", "1/2-1/2", "½-½", "both bad", "bothbad"}
# 3-1, perhaps with what else is known: 3–1 (aet), (4) 2–2 (5) after a shoot-out
_SCORE = re.compile(r"(?:\(\d{1,3}\) *)?(\d{1,4})\s*[-–:]\s*(\d{1,4})(?: *\([^()]*\)| aet| pens?)?")
NEUTRAL, AT_HOME = {"n", "neutral"}, {"h", "a", "home", "away", "", "@", "vs", "host"}


def read_flags(codes: Int32s, words: Vocabulary) -> tuple[Bools, Bools]:
    """Return (flags, unknown) for a yes/no column; a missing cell means no."""
    plain = [word.strip().lower() for word in words.labels]
    yes = np.array([*(word in YES for word in plain), False])
    known = np.array([*(word in YES or word in NO for word in plain), True])
    return yes[codes], ~known[codes]


def read_neutral(codes: Int32s, words: Vocabulary) -> tuple[Bools, Bools]:
    """Return (is neutral, unknown) for a column that says where a game was played: true or false, or H, A and N."""
    plain = [word.strip().lower() for word in words.labels]
    if not all(word in NEUTRAL | AT_HOME for word in plain):
        return read_flags(codes, words)
    return np.array([*(word in NEUTRAL for word in plain), False])[codes], np.zeros(len(codes), bool)


def points_in(word: str) -> tuple[float, float] | None:
    """Return the points of both sides in a score such as 3-1; None for other words."""
    score = _SCORE.fullmatch(word.strip().lower())
    return (float(score[1]), float(score[2])) if score else None


def decide_outcomes(outcome: Coded, left: Coded, right: Coded, names: tuple[str, str]) -> Floats:
    """Return 1 if the left item won, -1 if the right one won, 0 for a tie, NaN if the word is unknown.

    The outcome may be the label of one of the two items, the name of its column, a word, or a number. Numbers are from
    the left side's point of view: 1 / 0 / 0.5; or 1 / -1 / 0 if a -1 occurs; or 1 / 2 / 0 if a 2 occurs. A score such
    as 3-1 determines the winner. H, A and D are recognised if the columns are called home and away.
    """
    codes, words = outcome
    number_means = _numbers([word.strip() for word in words.labels])
    sides = _words_of_sides(names)
    side_of_word = np.array([*(_side(word, names, sides, number_means) for word in words.labels), np.nan])
    side = side_of_word[codes]
    for (item, items), means in ((right, -1.0), (left, 1.0)):
        side[np.append(codes_in(items, words), np.int32(-1))[codes] == item] = means
    return side


def _words_of_sides(names: tuple[str, str]) -> tuple[set[str], set[str]]:
    """Return the words for left and for right: the column's name, or a word of that name (``home_team``: home)."""
    exact = [name.strip().lower() for name in names]
    words = [{name.strip().lower(), *normalise(name).split()} for name in names]
    return (words[0] - words[1]) | {exact[0]}, (words[1] - words[0]) | {exact[1]}


def _side(
    word: str, names: tuple[str, str], sides: tuple[set[str], set[str]], number_means: dict[float, float]
) -> float:
    """Return the meaning of a word: 1 left won, -1 right won, 0 tie, NaN unknown."""
    plain = word.strip().lower()
    if plain in ("h", "a") and [name.strip().lower()[:4] for name in names] == ["home", "away"]:
        return 1.0 if plain == "h" else -1.0
    if plain in sides[0] or plain in LEFT:
        return 1.0
    if plain in sides[1] or plain in RIGHT:
        return -1.0
    if plain in TIE or plain.startswith("tie "):  # "tie (bothbad)" in model comparison files
        return 0.0
    if score := points_in(plain):
        return float(np.sign(score[0] - score[1]))
    try:
        return number_means.get(float(plain), np.nan)
    except ValueError:
        return float("nan")


def _numbers(words: list[str]) -> dict[float, float]:
    """Return the meaning of numbers as outcomes (1 left won, -1 right won, 0 tie), depending on which ones occur."""
    numbers = set()
    for word in words:
        try:
            numbers.add(float(word))
        except ValueError:
            continue
    if -1.0 in numbers:
        return {1.0: 1.0, -1.0: -1.0, 0.0: 0.0}
    if 2.0 in numbers:
        return {1.0: 1.0, 2.0: -1.0, 0.0: 0.0}
    return {1.0: 1.0, 0.0: -1.0, 0.5: 0.0}
