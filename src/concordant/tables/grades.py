"""Convert answers in words to numbers: places ("1st choice", "third", "Rank 2") and grades ("Good", "Strongly agree").

A place is a rank (1 is best). Grades are ratings if all of them belong to one well-known scale: the worst grade of the
scale is 1, the next one 2, and so on. If several scales contain all the words, the one with the fewest grades is used.
The user has to order words that belong to no known scale.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
MISSING = {
    *("", "-", "--", "–", "—", "?", "na", "n/a", "nan", "null", "none", "not applicable", "no opinion", "no answer"),
    *("don't know", "dont know", "do not know", "abstain", "not rated", "not ranked", "unranked"),
}
# Patterns are texts, compiled when somebody first asks: every start would pay for them.
_THING = r"(?:choice|place|preference|pick|rank|ranking|position|priority|option)"
_PLACE = rf"(?:(?:{_THING}|no|nr|number|#)[ .:#]*)?(\d{{1,4}})(?:st|nd|rd|th)?[.)]?(?: {_THING})?"
_ORDINAL = rf"(?:(?:my|the) )?({'|'.join(ORDINALS)})(?: {_THING})?"

# Worst first; "/" between words that mean the same grade.
_NEUTRAL = "neutral/neither agree nor disagree/neither/undecided/neither satisfied nor dissatisfied/no preference"
_MIDDLE = f"fair/average/acceptable/ok/okay/adequate/{_NEUTRAL}"
_SCALES = f"""
no, yes
false, true
no, maybe/if need be/perhaps/possibly, yes
disagree, agree
disagree, {_NEUTRAL}, agree
strongly disagree, disagree, agree, strongly agree
strongly disagree, disagree, {_NEUTRAL}, agree, strongly agree
completely disagree, disagree, {_NEUTRAL}, agree, completely agree
strongly disagree, disagree, somewhat disagree, {_NEUTRAL}, somewhat agree, agree, strongly agree
strongly disagree, disagree, slightly disagree, {_NEUTRAL}, slightly agree, agree, strongly agree
bad, good
bad, {_MIDDLE}, good
poor, {_MIDDLE}, good
poor, {_MIDDLE}, good, excellent
poor, {_MIDDLE}, good, very good
poor, {_MIDDLE}, good, very good, excellent
very poor, poor, {_MIDDLE}, good, very good/excellent
very bad, bad, {_MIDDLE}, good, very good/excellent
terrible/awful, bad/poor, {_MIDDLE}, good, great/excellent
reject/to reject, poor, {_MIDDLE}, good, very good, excellent/outstanding
reject, accept
reject, weak reject, borderline, weak accept, accept
strong reject, reject, weak reject, borderline, weak accept, accept, strong accept
low, medium/moderate, high
very low, low, medium/moderate, high, very high
dissatisfied/unsatisfied, {_NEUTRAL}, satisfied
very dissatisfied/very unsatisfied, dissatisfied/unsatisfied, {_NEUTRAL}, satisfied, very satisfied
unlikely, {_NEUTRAL}/maybe, likely
very unlikely, unlikely, {_NEUTRAL}/maybe, likely, very likely
extremely unlikely, unlikely, {_NEUTRAL}/maybe, likely, extremely likely
not important/unimportant, important, very important
not important/unimportant, somewhat important/slightly important, important, very important
not important, slightly important, moderately important, very important, extremely important
not at all important, slightly important, moderately important, very important, extremely important
never, rarely/seldom, sometimes/occasionally, often/frequently/usually, always
dislike, like
dislike, {_NEUTRAL}, like
hate, dislike, {_NEUTRAL}, like, love
not at all, slightly/a little, moderately/somewhat, very/very much/a lot, extremely
"""  # fmt: skip
Scale = tuple[tuple[str, ...], ...]
SCALES: tuple[Scale, ...] = tuple(
    tuple(tuple(grade.strip().split("/")) for grade in line.split(", ")) for line in _SCALES.strip().splitlines()
)
WORDS = {word for scale in SCALES for grade in scale for word in grade}


def plain(word: str) -> str:
    """Return a word in the form used for comparison: lower case, single spaces."""
    return " ".join(word.replace("’", "'").casefold().split())


def means_missing(word: str) -> bool:
    """Return whether an answer means "missing"."""
    return plain(word) in MISSING


def place_in(word: str) -> float | None:
    """Return the rank that a word represents ("2nd choice": 2); None if it is not a rank."""
    text = plain(word)
    if match := re.fullmatch(_PLACE, text):
        return float(match[1])
    match = re.fullmatch(_ORDINAL, text)
    return None if match is None else float(ORDINALS.index(match[1]) + 1)


def is_grade(word: str, categories: Sequence[str] | None) -> bool:
    """Return whether a word is one of the user's categories, or belongs to a known scale."""
    return plain(word) in (WORDS if categories is None else set(map(plain, categories)))


def rate(words: Collection[str], categories: Sequence[str] | None) -> dict[str, float]:
    """Return the rating of each word, 1 for the worst; words without a known rating are omitted.

    ``categories`` is the user's scale, best first.
    """
    if categories is not None:
        scale: Scale = tuple((plain(category),) for category in reversed(categories))
    else:
        fitting = [scale for scale in SCALES if all(plain(word) in _members(scale) for word in words)]
        if not fitting:
            return {}
        scale = min(fitting, key=len)
    value = {word: float(k) for k, grade in enumerate(scale, 1) for word in grade}
    return {word: value[plain(word)] for word in words if plain(word) in value}


def _members(scale: Iterable[Iterable[str]]) -> set[str]:
    return {word for grade in scale for word in grade}
