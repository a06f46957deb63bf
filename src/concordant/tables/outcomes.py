"""Parse words for the outcome of a comparison and for yes and no, once per distinct word.

Words are compared without case, and ``_``, ``-`` and blanks are alike: ``Both_Bad`` is ``both bad``. A vote that both
sides are bad is a tie that is counted separately. Words such as ``skip`` or ``error`` mean that there is no judgement.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from concordant.ballots.vocabulary import Coded, Vocabulary, codes_in
from concordant.tables.grades import MISSING
from concordant.tables.options import normalise
from concordant.types import Bools, Floats, Int32s

YES = {"true", "t", "yes", "y", "1", "1.0", "tie", "tied", "draw", "d"}
NO = {"false", "f", "no", "n", "0", "0.0", ""}

LEFT = {"left", "l", "a", "first", "win", "won", "w", ">", "1-0", "white", "home"}
RIGHT = {"right", "r", "b", "second", "loss", "lost", "lose", "<", "0-1", "black", "away", "visitor"}
TIE = {
    *(
        "tie",
        "tied",
        "draw",
        "drawn",
        "d",
        "equal",
        "even",
        "same",
        "both",
        "=",
        "==",
        "1/2-1/2",
        "½-½",
        "1/2",
        "½",
        "0.5-0.5",
    ),
    *("both equal", "both good", "bothgood", "both are good", "equally good", "both same", "about the same"),
    *("no preference", "no difference", "[[c]]"),
}
BOTH_BAD = {
    *("both bad", "bothbad", "tie both bad", "tie bothbad", "neither", "both are bad", "equally bad", "both poor"),
    *("neither is good", "neither good"),
}
UNJUDGED = {
    *MISSING,
    *("*", "error", "invalid", "skip", "skipped", "unsure", "not sure", "unknown", "unclear", "undecided", "abstained"),
    *("can't choose", "cant choose", "cannot choose", "can't decide", "cannot decide", "can't tell", "can't say"),
    *("abandoned", "postponed", "cancelled", "canceled", "not played", "-:-", "p p"),
    *("no vote", "not voted", "no judgement", "no judgment", "no result", "pass"),
}
LEFT_WON, RIGHT_WON, TIED, BAD, NONE, UNKNOWN = "left", "right", "tie", "both bad", "none", "unknown"

# 3-1, perhaps with what else is known: 3–1 (aet), (4) 2–2 (5) after a shoot-out
_SCORE = re.compile(r"(?:\(\d{1,3}\) *)?(\d{1,4})\s*[-–:]\s*(\d{1,4})(?: *\([^()]*\)| aet| pens?)?")
NEUTRAL, AT_HOME = {"n", "neutral"}, {"h", "a", "home", "away", "", "@", "vs", "host"}
_NOUN = re.compile(
    r"(?:the )?(?:model|response|assistant|answer|option|system|output|candidate|completion|generator|chatbot|player|"
    r"team|side|text|item) (?=\S+$)"
)
_VERB = re.compile(r"(?<=\S)(?: ?vote| wins?| won| is better| better| is preferred| preferred)$")
_RELATION = re.compile(r"([ab12]) ?(>{1,3}|<{1,3}|=|≈|~) ?([ab12])")
_STRENGTH = re.compile(r"([ab]) ?\+{1,2}")


class Outcomes(NamedTuple):
    """The outcome of each row."""

    side: Floats
    """1 if the left item won, -1 if the right one won, 0 for a tie, NaN if the word is unknown or says nothing."""
    is_both_bad: Bools
    is_unjudged: Bools
    """Whether the cell is empty or a word for "no judgement"."""


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


def decide_outcomes(outcome: Coded, left: Coded, right: Coded, names: tuple[str, str]) -> Outcomes:
    """Return the outcome of each row.

    The outcome may be the label of one of the two items, the name of its column, a word, or a number. Numbers are from
    the left side's point of view: 1 / 0 / 0.5; or 1 / -1 / 0 if a -1 occurs; or 1 / 2 / 0 if a 2 occurs. A score such
    as 3-1 determines the winner. H, D and A are recognised if nothing else occurs, or if the columns are called home
    and away. The label of an item takes precedence over a word.
    """
    codes, words = outcome
    meanings = [*meanings_of(words.labels, names), NONE]
    side_of_meaning = {LEFT_WON: 1.0, RIGHT_WON: -1.0, TIED: 0.0, BAD: 0.0}
    side = np.array([side_of_meaning.get(meaning, np.nan) for meaning in meanings])[codes]
    is_bad = np.array([meaning == BAD for meaning in meanings])[codes]
    is_unjudged = np.array([meaning == NONE for meaning in meanings])[codes]
    for (item, items), means in ((right, -1.0), (left, 1.0)):
        is_named = np.append(codes_in(items, words), np.int32(-1))[codes] == item
        is_named &= codes >= 0
        side[is_named], is_bad[is_named], is_unjudged[is_named] = means, False, False
    return Outcomes(side, is_bad, is_unjudged)


def meanings_of(words: Iterable[str], names: tuple[str, str] = ("left", "right")) -> list[str]:
    """Return the meaning of each word: the side that won, a tie, both bad, no judgement, or unknown."""
    words = list(words)
    plain = [_folded(word) for word in words]
    sides, numbers = _words_of_sides(names), _numbers(plain)
    exact = {word: _by_word(word, sides) for word in dict.fromkeys(plain)}
    said = {word for word in exact if exact[word] != NONE}
    if [name.strip().lower()[:4] for name in names] == ["home", "away"] or ("h" in said and said <= {"h", "d", "a"}):
        exact |= {"h": LEFT_WON, "a": RIGHT_WON}
    return [
        exact[folded] if exact[folded] != UNKNOWN else _by_number(word.strip(), numbers)
        for word, folded in zip(words, plain, strict=True)
    ]


def _folded(word: str) -> str:
    """Return a word in the form used for comparison; texts without letters, such as 1-0 and -1, keep their signs."""
    plain = word.strip().casefold().replace("’", "'")
    if plain in TIE or not any(map(str.isalpha, plain)):
        return plain
    return re.sub(r"[\s_()\[\]-]+", " ", plain).strip()


def _words_of_sides(names: tuple[str, str]) -> tuple[set[str], set[str]]:
    """Return the words for left and for right: the column's name, or a word of that name (``home_team``: home)."""
    exact = [_folded(name) for name in names]
    words = [{_folded(name), *normalise(name).split()} for name in names]
    if "r" in words[0] and "b" in words[1]:  # corners of a ring
        words = [words[0] | {"red"}, words[1] | {"blue"}]
    return (words[0] - words[1]) | {exact[0]}, (words[1] - words[0]) | {exact[1]}


def _by_word(plain: str, sides: tuple[set[str], set[str]]) -> str:
    """Return the meaning of a word that is not a number."""
    if plain in sides[0] or plain in sides[1]:
        return LEFT_WON if plain in sides[0] else RIGHT_WON
    if plain in BOTH_BAD or plain in UNJUDGED:
        return BAD if plain in BOTH_BAD else NONE
    if plain in LEFT or plain in RIGHT:
        return LEFT_WON if plain in LEFT else RIGHT_WON
    if plain in TIE or plain.startswith("tie "):
        return TIED
    if match := _RELATION.fullmatch(plain):
        return _by_relation(match[1], match[2], match[3])
    if match := _STRENGTH.fullmatch(plain):  # A++: much better
        return LEFT_WON if match[1] == "a" else RIGHT_WON
    shorter = _NOUN.sub("", _VERB.sub("", plain, count=1), count=1)
    if shorter in ("1", "2") and shorter != plain:
        return LEFT_WON if shorter == "1" else RIGHT_WON
    return UNKNOWN if shorter == plain else _by_word(shorter, sides)


def _by_relation(first: str, sign: str, second: str) -> str:
    """Return the meaning of a relation such as ``A>>B`` or ``B=A``."""
    if {first, second} not in ({"a", "b"}, {"1", "2"}):
        return UNKNOWN
    if sign[0] not in "<>":
        return TIED
    return LEFT_WON if (first in "a1") == (sign[0] == ">") else RIGHT_WON


def _by_number(plain: str, numbers: dict[float, str]) -> str:
    """Return the meaning of a number or a score."""
    if score := points_in(plain):
        difference = score[0] - score[1]
        return TIED if not difference else LEFT_WON if difference > 0 else RIGHT_WON
    try:
        return numbers.get(float(plain), UNKNOWN)
    except ValueError:
        return UNKNOWN


def direction_of(words: Iterable[str]) -> str:
    """Return what the numbers 0, 1, 2 and -1 mean as outcomes, if all words are numbers; "" for other words."""
    plain = [word.strip() for word in words]
    if not plain or not all(re.fullmatch(r"-?[0-9](?:\.[0-9]+)?", word) for word in plain):
        return ""
    return ", ".join(f"{number:g} = {_SAID[meaning]}" for number, meaning in _numbers(plain).items())


_SAID = {LEFT_WON: "left won", RIGHT_WON: "right won", TIED: "tie"}


def _numbers(words: Iterable[str]) -> dict[float, str]:
    """Return the meaning of numbers as outcomes, depending on which ones occur."""
    numbers = set()
    for word in words:
        try:
            numbers.add(float(word))
        except ValueError:
            continue
    if -1.0 in numbers:
        return {1.0: LEFT_WON, -1.0: RIGHT_WON, 0.0: TIED}
    if 2.0 in numbers:
        return {1.0: LEFT_WON, 2.0: RIGHT_WON, 0.0: TIED, 1.5: TIED}
    return {1.0: LEFT_WON, 0.0: RIGHT_WON, 0.5: TIED}
