"""Interpret the column names of a spreadsheet or form: the kind of rows, the questions, and columns to ignore."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from concordant.tables.options import PREFERENCES, columns_of, normalise

_ROLES = columns_of(PREFERENCES)
_AGENTS = {*_ROLES["agent"].synonyms, "person", "participant", "student", "member", "employee", "guest", "colleague"}
_AGENTS |= {"player", "username", "ballot", "cvr"}
_ITEMS = {*_ROLES["item"].synonyms, "restaurant", "dish", "food", "drink", "meal", "wine", "beer", "game", "song"}
_ITEMS |= {"project", "proposal", "idea", "topic", "city", "country", "hotel", "venue", "place", "destination", "logo"}
_ITEMS |= {"feature", "brand", "applicant", "paper", "design", "activity", "colour", "color", "slogan"}
_ITEMS -= {"name", "player"}
_OF_PEOPLE = {"your", "my", "full", "first", "last", "what", "is", "the", "please", "enter", "s", "nick"}
TIMES = {"timestamp", "start time", "completion time", "last modified time", "submitted at", "date", "time"}
ASIDE = {*TIMES, "id", "response id", "ip address", "language", "age", "total", "sum", "average", "mean", "avg"}

# Columns of a log of clicks next to the user and the item: when, what kind of event, how often.
_ABOUT_CLICKS = {
    *TIMES,
    "id",
    "timestamp ms",
    "unix timestamp",
    "ts",
    "tstamp",
    "datetime",
    "created at",
    "hour",
    "day",
}
_ABOUT_CLICKS |= {
    "event",
    "event type",
    "event time",
    "action",
    "behavior",
    "behaviour",
    "type",
    "session",
    "session id",
}
_ABOUT_CLICKS |= {
    "visit",
    "transaction",
    "order",
    "invoice",
    "count",
    "counts",
    "clicks",
    "views",
    "plays",
    "purchases",
}
_ABOUT_CLICKS |= {"play count", "playcount", "listens", "quantity", "frequency", "freq", "n", "times", "weight"}

# Names of users and items in logs of clicks, where no other column could be meant.
CLICK_WORDS = {
    "agent": {"visitor", "customer", "client", "session", "member", "buyer", "listener", "reader", "account", "author"},
    "item": {"page", "url", "article", "song", "track", "artist", "sku", "asin", "parent asin", "video", "news", "app",
             "course", "hotel", "recipe", "job", "post", "product", "game", "food", "poi", "venue", "content"},
}  # fmt: skip

_OPPONENTS = (
    *(("white", "black"), ("home", "away"), ("home", "visitor"), ("home", "visiting"), ("host", "guest")),
    *(("red", "blue"), ("r", "b")),
)
_SIDES = (("a", "b"), ("1", "2"), ("left", "right"))
_ITEM_STEMS = {"", *_ROLES["item"].synonyms}
_MODEL_STEMS = {"generator", "llm", "chatbot", "policy", "system", "assistant"}
_SAID_STEMS = {"response", "answer", "choice", "output", "completion", "summary", "reply"}
_COMPETITORS = {*_ITEM_STEMS, "id", "club", "side", "username", "fighter", "boxer", "competitor", "contestant"}
_COMPETITORS |= {"squad", "franchise", "fran", "country", "nation", "neutral", "abbr", "code", "team abbr", "team code"}
_COMPETITORS |= {"team api", "team long", "team short", "team full"}

_KINDS_OF_SIDES = (*((_COMPETITORS, _OPPONENTS), (_ITEM_STEMS, _SIDES), (_MODEL_STEMS, _SIDES), (_SAID_STEMS, _SIDES)),)

_BRACKETS = re.compile(r"(.*?)\s*\[(.+)\]\s*")
_PREFIX = re.compile(r"(\S+\s.*?)(?:[.:?]\s*| [-–] )(\S.*)")  # a question of two words or more
_SAYS_RANKS = re.compile(r"\brank", re.IGNORECASE)
_SAYS_RATINGS = re.compile(r"\b(rat(e|ing)|scor|stars?\b|grad|how (much|good|well|likely|satisfied))", re.IGNORECASE)


def side_of(name: str) -> str | None:
    """Return whether a column of this name lists people ("agent") or items ("item"); None if unclear."""
    words = normalise(name).split()
    if "mail" in words or "email" in words:
        return "agent"
    if len(words) > 4 or not words:
        return None
    kept = [word for word in words if word not in ("name", "names", "id", "title", "label", "number")]
    if not kept:
        return {"name": "agent", "names": "agent", "title": "item"}.get(words[-1])
    last = kept[-1].removesuffix("s")
    if last in _AGENTS or last in _ITEMS:
        return "agent" if last in _AGENTS else "item"
    return "agent" if len(kept) < len(words) and set(kept) <= _OF_PEOPLE else None


def are_about_clicks(columns: Sequence[str]) -> bool:
    """Return whether columns say when, how often or in which session something happened, but not how it was rated."""
    return all(stems(normalise(name)) & _ABOUT_CLICKS for name in columns)


def are_numbered_people(labels: Sequence[str]) -> bool:
    """Return whether all labels look like ``voter 1``, ``voter 2``: a word for people with a number or letter."""
    plain = [normalise(label).split() for label in labels]
    return bool(plain) and all(len(words) == 2 and words[0] in _AGENTS for words in plain)


def bracketed(columns: Sequence[str]) -> dict[str, list[tuple[str, str]]]:
    """Return (column, item) by question, for columns like ``Rank the places [Sushi Bar]``."""
    return _grouped(columns, _BRACKETS)


def prefixed(columns: Sequence[str]) -> dict[str, list[tuple[str, str]]]:
    """Return (column, item) by question, for columns like ``Rank the places.Sushi Bar``.

    Empty unless all columns match.
    """
    groups = _grouped(columns, _PREFIX)
    return groups if sum(map(len, groups.values())) == len(columns) else {}


def _grouped(columns: Sequence[str], pattern: re.Pattern[str]) -> dict[str, list[tuple[str, str]]]:
    """Group columns by the first part of the pattern: {question: [(column, item)]}, with several columns each."""
    groups: dict[str, list[tuple[str, str]]] = {}
    for name in columns:
        if match := pattern.fullmatch(name):
            groups.setdefault(match[1].strip(), []).append((name, match[2].strip()))
    return {text: pairs for text, pairs in groups.items() if len(pairs) > 1}


def asks_for(question: str) -> str | None:
    """Return whether a question asks for ranks ("rank") or ratings ("rating"); None if its wording is inconclusive."""
    ranks, ratings = bool(_SAYS_RANKS.search(question)), bool(_SAYS_RATINGS.search(question))
    return None if ranks == ratings else "rank" if ranks else "rating"


# ---- two sides of a comparison ----
def stems(plain: str) -> set[str]:
    """Return the name, and the name without an ending such as "id" or "name"."""
    names = {plain}
    for ending in (" id", " name", " label", "id"):
        if plain.endswith(ending) and len(plain) > len(ending):
            names.add(plain[: -len(ending)].strip())
    return names


def side_columns(plain: Mapping[str, str]) -> tuple[str, str] | None:
    """Return the columns of the two sides of a comparison, such as home and away, or model_a and model_b.

    None if absent.
    """
    for known_stems, words in _KINDS_OF_SIDES:  # model_a rather than what it said, response_a
        # model_a_name is a name of model_a.
        named = {name: text.removesuffix(" name") for name, text in plain.items() if text.endswith(" name")}
        for texts, (word_1, word_2) in ((texts, pair) for texts in (plain, named) for pair in words):
            pairs = [pair for pair in _pairs(texts, word_1, word_2) if _beside(texts[pair[0]], word_1) & known_stems]
            if pairs:
                return min(pairs, key=lambda pair: plain[pair[0]].endswith("id"))  # a name rather than an identifier
    return None


def are_sides_by_name(columns: Sequence[str], first: str, second: str) -> bool:
    """Return whether other columns are paired like these: home_score and away_score next to home_team and away_team."""
    plain = {name: normalise(name) for name in columns}
    other_columns = {name: text for name, text in plain.items() if name not in (first, second)}
    both = {first: plain[first], second: plain[second]}
    known = (*_OPPONENTS, *(pair for pair in _SIDES if pair[0] != plain[first]))  # a and b may be items of a matrix
    return any(_pairs(both, word_1, word_2) and _pairs(other_columns, word_1, word_2) for word_1, word_2 in known)


def _pairs(plain: Mapping[str, str], word_1: str, word_2: str) -> list[tuple[str, str]]:
    """Return pairs of columns whose names differ only in their first or last word, ``word_1`` and ``word_2``."""
    by_plain = {text: name for name, text in plain.items()}
    pairs = []
    for text, name in by_plain.items():
        at_end = [text[: -len(word_1)] + word_2] * text.endswith(word_1)
        at_start = [word_2 + text[len(word_1) :]] * text.startswith(word_1)
        pairs += [(name, by_plain[partner]) for partner in at_end + at_start if partner in by_plain]
    return pairs


def _beside(text: str, word: str) -> set[str]:
    """Return the rest of a name after removing the word at its start or end, and an ending such as "id"."""
    return {stem for rest in (text.removeprefix(word), text.removesuffix(word)) for stem in stems(rest.strip())}
