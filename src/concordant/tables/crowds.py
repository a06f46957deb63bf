"""Column names of crowdsourcing, which have a role only next to others: a task is an item if somebody answers it.

``task, worker, label`` (crowd-kit), ``question, worker, answer`` and similar tables are answers. ``worker, left, right,
label`` are pairs whose label names the preferred item. Gold answers (``task, label``; ``question, truth``) are labels.
"""

from __future__ import annotations

from collections.abc import Container, Mapping

from concordant.tables.headings import stems
from concordant.tables.options import LABELS, normalise

AGENTS = (
    *("worker", "performer", "annotator", "labeler", "labeller", "coder", "contributor", "turker", "participant"),
    *("crowdworker", "crowd worker", "amt worker", "completed by"),
)
ITEMS = (
    *("task", "hit", "question", "object", "example", "sample", "unit", "orig", "instance", "image", "sentence"),
    *("tweet", "text", "record", "entity", "prompt"),
)
GOLD = (
    "truth",
    "gold label",
    "true label",
    "ground truth",
    "golden",
    "correct answer",
    "true class",
    "class",
    "answer",
)
CROWD_WORDS = {"task", "performer", "object", "truth", "orig", "amt worker", *GOLD[1:4]}
_OTHER_ITEMS = {"title", "name"}  # which describe a task


def add_crowd_columns(
    guesses: dict[str, list[str]],
    plain: Mapping[str, str],
    settled: Container[str],
    roles: Container[str],
    layout: str | None,
) -> None:
    """Add to the guesses the columns that have a role only in tables of crowdsourcing.

    ``plain`` are the normalised names of free columns, ``settled`` the roles that the user decided.
    """
    if layout == LABELS:
        _fill("label", GOLD, guesses, plain, settled)
        _fill("item", ITEMS, guesses, plain, settled)
    elif "answer" in roles and ("answer" in guesses or "answer" in settled):
        _add_to_answers(guesses, plain, settled, layout)


def is_topic(plain: str) -> bool:
    """Return whether a column names topics or queries, and not what a task asks."""
    return not stems(plain).isdisjoint({"instance", "topic", "query", "qid"})


def is_gold(column: str) -> bool:
    """Return whether a column holds gold answers by its name, so that it may repeat them for every answer."""
    return normalise(column) in {"gold", *GOLD[:-2]}


def _add_to_answers(
    guesses: dict[str, list[str]], plain: Mapping[str, str], settled: Container[str], layout: str | None
) -> None:
    """Add the agents and items of answers, or take the answer as the outcome of a pair or as a rating."""
    has = {role for role in ("left", "right", "outcome", "rating") if role in guesses or role in settled}
    if {"left", "right"} <= has and "answer" in guesses:
        if "outcome" not in has:
            guesses["outcome"] = guesses["answer"][:1]
        return
    _fill("agent", AGENTS, guesses, plain, settled)
    if "agent" in guesses or "agent" in settled:
        _fill("item", ITEMS, guesses, plain, settled)
    if layout == "ratings" and "rating" not in has and "answer" in guesses:
        guesses["rating"] = guesses["answer"]


def _fill(
    role: str,
    words: tuple[str, ...],
    guesses: dict[str, list[str]],
    plain: Mapping[str, str],
    settled: Container[str],
) -> None:
    """Guess the column of a role by the first of these words that names one, unless the role has a column."""
    known = guesses.get(role, [])
    if role in settled or any(plain[name] not in _OTHER_ITEMS for name in known):
        return
    taken = {name for other, names in guesses.items() if other not in (role, "instance") for name in names}
    for word in words:
        matching = [name for name, text in plain.items() if name not in taken and word in _stems(text)]
        if matching:
            guesses[role] = matching
            _release(guesses, matching)
            return


def _release(guesses: dict[str, list[str]], columns: list[str]) -> None:
    """Remove columns from the guesses for the instance."""
    rest = [name for name in guesses.get("instance", ()) if name not in columns]
    if rest:
        guesses["instance"] = rest
    else:
        guesses.pop("instance", None)


def _stems(text: str) -> set[str]:
    """Return the name, also without an ending such as "id" or "ids"."""
    return stems(text) | stems(text.removesuffix("s"))
