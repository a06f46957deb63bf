"""Build ballots from answers: the class or number that each agent (annotator, worker) gave each item.

Answers in words are classes without an order (the scale "nominal"), unless the user orders them (``categories``).
Numbers are ratings, unless the user asks for the layout "answers", in which they are names of classes. If an agent
answers an item several times, one answer counts, by the rule ``repeated``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from concordant.ballots import build
from concordant.ballots.build import Parts
from concordant.ballots.form import listed_classes
from concordant.ballots.vocabulary import Coded, Vocabulary, encode, shorten
from concordant.errors import arg
from concordant.tables.cells import number_in
from concordant.tables.derived import as_numbers
from concordant.tables.grades import rate
from concordant.tables.rows import Rows
from concordant.types import Bools, Floats, Int64s

NO_ANSWER = {"nan", "null", "n/a"}  # and empty cells; other words may be classes
BALLOT = ("instance", "agent")


class Values(NamedTuple):
    """The answers of all rows as numbers on a scale; NaN where a row has none. Nominal ones are codes of classes."""

    value: Floats
    scale: str
    classes: Vocabulary | None = None


def answers(rows: Rows) -> Parts:
    """Build one ballot per agent and instance from rows with an agent, an item and an answer."""
    rows.refuse_missing("item")
    rows.shared()
    values = _values(rows)
    rows.tolerate(rows.good & np.isnan(values.value), "there is no answer, left out")
    rows.good = rows.good & np.isfinite(values.value)
    if not rows.count:
        raise rows.table.error(-1, "no row has an answer: check the column of answers, " + arg("answer") + ".")
    keep_one_each(rows, values.value)
    if rows.has("weight"):
        rows.refuse_differing("weight", rows.values("weight"), rows.key(BALLOT), "ballot")
    parts = build.gather_rows(rows.coded("item"), values.value[rows.good], scale=values.scale, **rows.shared())
    return parts | {"classes": values.classes}


def _values(rows: Rows) -> Values:
    """Return the answers on the scale that the words, the numbers or the user's options suggest."""
    codes, words = trimmed(rows.raw("answer"))
    labels = words.labels
    if rows.categories is not None:
        value = rate(labels, rows.categories)
        rated = np.array([*(value.get(word, np.nan) for word in labels), np.nan])[codes]
        strange = (codes >= 0) & np.isnan(rated)
        rows.refuse(
            strange,
            "the answer is not one of the categories",
            lambda row: f"the answer is {shorten(labels[int(codes[row])])!r}, not one of the categories",
            column=rows.plan.column["answer"],
        )
        return Values(rated, "rating")
    if rows.layout != "answers" and labels and all(number_in(word) is not None for word in labels):
        if len(labels) > 2:
            rows.note("the answers are numbers, read as ratings (" + arg("layout", "answers") + " reads classes)")
        return Values(as_numbers((codes, words)), "rating")
    order = arg("categories", shown="A,B,…")
    rows.note(f"{len(labels):,} classes without an order ({listed_classes(words)}); " + order + " orders them")
    return Values(np.where(codes >= 0, codes.astype(np.float64), np.nan), "nominal", words)


def trimmed(column: Coded) -> Coded:
    """Return a column of words without surrounding blanks and words for "no answer" (-1)."""
    codes, words = column
    plain = [word.strip() for word in words.labels]
    is_answer = [bool(word) and word.lower() not in NO_ANSWER for word in plain]
    if all(is_answer) and plain == words.labels:
        return column
    kept, vocabulary = encode([word for word, keep in zip(plain, is_answer, strict=True) if keep], "answer")
    new_code = np.full(len(plain) + 1, -1, np.int32)  # the last one stands for an empty cell, code -1
    new_code[np.flatnonzero(is_answer)] = kept
    return new_code[codes], vocabulary


def keep_one_each(rows: Rows, value: Floats) -> None:
    """Keep one good row per agent, instance and item, by the rule of the user, or else the last one."""
    rule = rows.repeated or "last"
    chosen = _chosen(rows.key([*BALLOT, "item"]), value, np.flatnonzero(rows.good), rule)
    dropped: Bools = rows.good.copy()
    dropped[chosen] = False
    count = int(dropped.sum())
    if count:
        which = "most frequent" if rule == "majority" else rule
        message = f"left out, because the agent answers the item again and the {which} answer counts"
        if rows.repeated is None:
            rows.tolerate(dropped, message + " (" + arg("repeated") + " sets the rule)")
        else:
            rows.note(f"{count:,} row{'s' * (count > 1)}: " + message)
        rows.good = rows.good & ~dropped


def _chosen(key: Int64s, value: Floats, good: Int64s, rule: str) -> Int64s:
    """Return the row that counts for each key: the first, the last, or the last one with the most frequent value."""
    if rule == "first":
        return good[np.unique(key[good], return_index=True)[1]]
    backwards = good[::-1]
    _, last, group = np.unique(key[backwards], return_index=True, return_inverse=True)
    if rule == "last" or len(last) == len(good):
        return backwards[last]
    group = group.reshape(-1)
    _, answer = np.unique(value[backwards], return_inverse=True)
    _, first_of_answer, count = np.unique(
        np.stack([group, answer.reshape(-1)]), axis=1, return_index=True, return_counts=True
    )
    # By group, the largest count first; among equal counts the answer given last.
    order = np.lexsort((first_of_answer, -count, group[first_of_answer]))
    starts = np.flatnonzero(np.diff(group[first_of_answer][order], prepend=-1))
    return backwards[first_of_answer[order][starts]]
