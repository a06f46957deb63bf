"""Rankings written as text, one ballot per cell: ``a > b = c > d``.

=====================  ===========================================================================
``a > b = c > d``      ``>`` between places, ``=`` or ``~`` inside a tie
``a, {b, c}, d``       without any ``>`` in the column: comma, semicolon or bar between places,
                       braces around a tie
``["a", ["b", "c"]]``  a JSON list, best first, inner lists are ties: for labels with special characters
=====================  ===========================================================================

Every distinct text is parsed once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from concordant.ballots.vocabulary import Vocabulary, shorten
from concordant.types import Int32s, Int64s

_SIGNS = re.compile(r"[>=~,;|{}\[\]]|^\s|\s$|^$")


@dataclass(frozen=True)
class ParsedRankings:
    """Parsed texts: text t names ``item[ptr[t]:ptr[t + 1]]`` in these tiers.

    ``problem[t]`` is the reason if it is invalid.
    """

    items: Vocabulary
    ptr: Int64s
    item: Int32s
    tier: Int32s
    problem: list[str | None]


def parse_rankings(texts: Sequence[str], only_separator: str = "") -> ParsedRankings:
    """Parse distinct ranking texts; the separator of places is detected over all of them.

    ``only_separator``, if given, is the only special character: it separates places, and there are no ties.
    """
    separator = next((sign for sign in ">;|," if any(sign in text for text in texts if text[:1] != "[")), ">")
    code_of: dict[str, int] = {}
    ptr: list[int] = [0]
    items: list[int] = []
    tiers: list[int] = []
    problems: list[str | None] = []
    for text in texts:
        places, problem = _cut(text, only_separator) if only_separator else _places(text, separator)
        named = [label for place in places for label in place]
        if problem is None and len(set(named)) != len(named):
            labels_so_far: set[str] = set()
            twice = next(label for label in named if label in labels_so_far or labels_so_far.add(label))  # type: ignore[func-returns-value]
            problem = f"the item {shorten(twice)!r} occurs twice in the ballot"
        if problem is None:
            for tier, place in enumerate(places):
                items.extend(code_of.setdefault(label, len(code_of)) for label in place)
                tiers.extend([tier] * len(place))
        problems.append(problem)
        ptr.append(len(items))
    return ParsedRankings(
        Vocabulary(code_of), np.array(ptr, np.int64), np.array(items, np.int32), np.array(tiers, np.int32), problems
    )


def write_rankings(ballots: Iterable[Sequence[Sequence[str]]], labels: Iterable[str]) -> list[str]:
    """Write ballots (sequences of tiers of labels) as text, or as JSON if a label contains a special character."""
    if any(_SIGNS.search(label) for label in labels):
        import json

        return [
            json.dumps([place[0] if len(place) == 1 else list(place) for place in ballot], ensure_ascii=False)
            for ballot in ballots
        ]
    return [" > ".join(" = ".join(place) for place in ballot) for ballot in ballots]


def _places(text: str, separator: str) -> tuple[list[list[str]], str | None]:
    """Return the labels of each place, and why the text is invalid (None if it is valid)."""
    if text.lstrip().startswith("["):
        return _json_places(text)
    if not text.strip():
        return [], None
    if separator == ";":
        text = text.strip().removesuffix(";")  # forms write one after every item
    if separator == ">":
        places = [re.split("[=~]", place) for place in text.split(">")]
    else:
        places = [
            re.split("[=~,;|]", place.strip()[1:-1] if place.strip().startswith("{") else place)
            for place in _split_outside_braces(text, separator)
        ]
    stripped = [[label.strip() for label in place] for place in places]
    if any(not label for place in stripped for label in place):
        return [], f"the ranking {shorten(text)!r} has a place without a label"
    return stripped, None


def _cut(text: str, separator: str) -> tuple[list[list[str]], str | None]:
    """Return the labels of each place of a text in which only the separator is special; it may also end the text."""
    return [[label.strip()] for label in text.split(separator) if label.strip()], None


def _split_outside_braces(text: str, separator: str) -> list[str]:
    """Split at separators outside braces, in one pass from the end."""
    cuts, brace = [len(text)], ""
    for match in reversed(list(re.finditer(f"[{{}}{re.escape(separator)}]", text))):
        if match[0] in "{}":
            brace = match[0]
        elif brace != "}":
            cuts.append(match.start())
    starts = [0, *(cut + 1 for cut in cuts[:0:-1])]
    return [text[start:stop] for start, stop in zip(starts, cuts[::-1], strict=True)]


def _json_places(text: str) -> tuple[list[list[str]], str | None]:
    """Return the labels of each place of a JSON list, and why it is invalid; empty inner lists are skipped."""
    import json

    try:
        places = json.loads(text)
    except (ValueError, RecursionError):
        return [], f"the ranking {shorten(text)!r} is not a JSON list"
    out: list[list[str]] = []
    for place in places:
        group = place if isinstance(place, list) else [place]
        if any(isinstance(label, bool) or not isinstance(label, (str, int)) or label == "" for label in group):
            return [], f"the ranking {shorten(text)!r} contains a value that is neither a label nor a list of labels"
        if group:
            out.append([str(label) for label in group])
    return out, None
