"""Exports of crowdsourcing platforms: a row per assignment, with the worker, the task's inputs and the answers.

============== ============================= ========================= ======================== ====================
platform       worker                        answer                    left out                 gold
============== ============================= ========================= ======================== ====================
Toloka         ASSIGNMENT:worker_id          OUTPUT:field              rejected, skipped        GOLDEN:field
MTurk          WorkerId                      Answer.field              rejected                 none
Figure Eight   _worker_id                    field, if field_gold      tainted                  field_gold
============== ============================= ========================= ======================== ====================

The item is the task's only input, if it identifies the task, or else the identifier of the task. Several fields of
answers need the option ``answer``. Two inputs that name the sides of a comparison (``left``, ``right``) are a pair, if
the answers name a side. In MTurk files, checkboxes and radio buttons have a column of true and false each.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from concordant.ballots.vocabulary import Coded, Vocabulary
from concordant.errors import Sentence, action, arg
from concordant.tables.cells import number_in
from concordant.tables.derived import Column, DerivedTable
from concordant.tables.options import Options, listed, normalise
from concordant.tables.outcomes import decide_outcomes
from concordant.tables.rows import InputTable
from concordant.types import Bools, Int64s

ITEM, ANSWER = "task (joined inputs)", "answer (of flags)"
_FLAGS = {"true", "false"}
_SIDES = {("left", "right"), ("a", "b"), ("1", "2"), ("first", "second")}
Fetched = Mapping[str, Coded]


@dataclass(frozen=True)
class Platform:
    """The columns of a platform's export, by normalised names."""

    name: str
    worker: str
    tasks: tuple[str, ...]
    """Columns that identify the task, best first."""
    status: tuple[str, ...]
    out: frozenset[str]
    """Words of the status, in lower case, of assignments that do not count."""
    inputs: str = ""
    answers: str = ""
    gold: str = ""
    """How the names of these columns begin."""


TOLOKA = Platform(
    *("Toloka", "assignment worker id", ("assignment task id",), ("assignment status",)),
    frozenset({"rejected", "skipped", "expired", "active"}),
    *("INPUT:", "OUTPUT:", "GOLDEN:"),
)
MTURK = Platform(
    *("MTurk", "worker id", ("hitid", "hit id"), ("assignment status",), frozenset({"rejected"}), "Input.", "Answer.")
)
FIGURE_EIGHT = Platform(
    *("Figure Eight", "worker id", ("unit id",), ("tainted",), frozenset({"true", "1", "yes"})),
)
PLATFORMS = (TOLOKA, MTURK, FIGURE_EIGHT)


def arrange(table: InputTable, options: Options) -> InputTable | None:
    """Return the accepted assignments with roles for worker, item and answer; None if the columns do not fit."""
    export = _Export.of(table)
    if export is None:
        return None
    rows, notes = export.accepted()
    export.rows = rows
    added: dict[str, Column] = {}
    pair = None if "item" in options.roles else export.pair()
    roles: dict[str, str | None] = {"agent": export.worker, "instance": None, "weight": None}
    if pair is not None:
        roles |= dict(zip(("left", "right", "outcome"), pair, strict=True))
    else:
        if "answer" not in options.roles:
            roles["answer"] = export.answer(added)
        if "item" not in options.roles:
            roles["item"] = export.item(added)
    if export.gold:
        name = next(iter(export.gold))
        notes.append(f"gold answers in {name}" + action("gold_file", "; cc.read_labels reads them"))
    return DerivedTable(table, rows, added, notes=notes, roles=roles)


def arrange_labels(table: InputTable, options: Options) -> InputTable | None:
    """Return the gold answers inside an export, one row per item; None if it has none."""
    export = _Export.of(table)
    if export is None or not export.gold:
        return None
    chosen = list(export.gold)
    if len(chosen) > 1 and "label" not in options.roles:
        raise table.error(-1, _several("gold answers", chosen, "label"))
    gold = chosen[0] if "label" not in options.roles else str(options.roles["label"])
    codes, words = table.fetch([gold], [])[0].get(gold, (np.zeros(0, np.int32), Vocabulary([])))
    rows = np.flatnonzero(codes >= 0)
    if not len(rows):
        raise table.error(-1, f"the column {gold} is empty: there are no gold answers.")
    export.rows = rows
    added: dict[str, Column] = {}
    item = export.item(added)
    items = added[item] if item in added else export.column(item)
    key = items[0].astype(np.int64) * len(words) + codes[rows]
    first = np.sort(np.unique(key, return_index=True)[1])
    cut = {name: (column[0][first], column[1]) for name, column in added.items()}
    return DerivedTable(table, rows[first], cut, roles={"item": item, "label": gold, "instance": None})


class _Export:
    """The columns of one export."""

    def __init__(self, platform: Platform, table: InputTable, by_plain: Mapping[str, str]) -> None:
        self.platform, self.table, self.by_plain = platform, table, by_plain
        self.worker = by_plain[platform.worker]
        self.inputs = self._beginning(platform.inputs)
        self.answers, self.gold = self._beginning(platform.answers), self._beginning(platform.gold)
        if platform is FIGURE_EIGHT:
            pairs = {name: f"{name}_gold" for name in table.columns if f"{name}_gold" in table.columns}
            self.answers, self.gold = dict.fromkeys(pairs, ""), dict.fromkeys(pairs.values(), "")
        self.rows: Int64s = np.zeros(0, np.int64)

    @classmethod
    def of(cls, table: InputTable) -> _Export | None:
        """Recognise the platform by the names of the columns."""
        by_plain = {normalise(name): name for name in table.columns}
        for platform in PLATFORMS:
            if platform.worker in by_plain:
                export = cls(platform, table, by_plain)
                has_task = bool(export.inputs) or any(name in by_plain for name in platform.tasks)
                is_marked = platform is not FIGURE_EIGHT or {"golden", "trust"} <= by_plain.keys()
                if export.answers and has_task and is_marked:
                    return export
        return None

    def _beginning(self, prefix: str) -> dict[str, str]:
        """Return the columns whose names begin so, with the rest of the name."""
        wanted = prefix.lower()
        found = [name for name in self.table.columns if wanted and name.lower().startswith(wanted)]
        return {name: name[len(prefix) :] for name in found}

    def column(self, name: str) -> Coded:
        """Return a column of the accepted rows."""
        codes, words = self.table.fetch([name], [])[0][name]
        return codes[self.rows], words

    def accepted(self) -> tuple[Int64s, list[str]]:
        """Return the rows of assignments that count, and notes on the others."""
        worker = self.table.fetch([self.worker], [])[0][self.worker][0]
        is_empty, is_out = worker < 0, np.zeros(len(worker), bool)
        for plain in self.platform.status:
            if plain in self.by_plain:
                name = self.by_plain[plain]
                codes, words = self.table.fetch([name], [])[0][name]
                flags = [word.strip().lower() in self.platform.out for word in words.labels]
                is_out |= np.array([*flags, False])[codes]
        notes = [f"an export of {self.platform.name}"]
        what = "tainted" if self.platform is FIGURE_EIGHT else "rejected or unfinished"
        for bad, why in ((is_out & ~is_empty, f"{what} assignment"), (is_empty, "empty row")):
            if count := int(bad.sum()):
                notes.append(f"left out {count:,} {why}{'s' * (count > 1)}")
        return np.flatnonzero(~is_out & ~is_empty), notes

    def answer(self, added: dict[str, Column]) -> str:
        """Return the column of the answers; one column per class, with flags, is joined into an added column."""
        names = list(self.answers)
        coded = {name: self.column(name) for name in names}
        filled = [name for name in names if (coded[name][0] >= 0).any()]
        flagged = [name for name in filled if {word.lower() for word in coded[name][1].labels} <= _FLAGS]
        if len(flagged) > 1 and flagged == filled:
            added[ANSWER] = self._of_flags({self.answers[name]: coded[name] for name in flagged})
            return ANSWER
        with_gold = [name for name in filled if self.platform.gold + self.answers[name] in self.gold]
        chosen = with_gold if len(with_gold) == 1 and len(filled) > 1 else filled
        if len(chosen) > 1:
            raise self.table.error(-1, _several("answers", chosen, "answer"))
        if not chosen:
            raise self.table.error(-1, f"the columns of answers ({listed(names)}) are empty: check the file.")
        return chosen[0]

    def _of_flags(self, flags: Fetched) -> Coded:
        """Return the class whose flag is true, -1 if none is; reject several true flags in a row."""
        is_true = np.stack([_is_true(column) for column in flags.values()])
        several = np.flatnonzero(is_true.sum(axis=0) > 1)
        if len(several):
            row = int(self.rows[several[0]])
            raise self.table.error(row, "several answers are true: choose one field with " + arg("answer") + ".")
        classes = [name.removesuffix(".on") for name in flags]
        common = _common_start(classes)
        codes = np.where(is_true.any(axis=0), is_true.argmax(axis=0), -1).astype(np.int32)
        return codes, Vocabulary([name[len(common) :] for name in classes])

    def item(self, added: dict[str, Column]) -> str:
        """Return the column that identifies the task: its only input, its identifier, or its inputs joined."""
        task = next((self.by_plain[name] for name in self.platform.tasks if name in self.by_plain), None)
        inputs = [name for name in self.inputs if (self.column(name)[0] >= 0).any()]
        if task is None or len(inputs) == 1:
            names = inputs if len(inputs) != 1 or task is None or self._identifies(inputs[0], task) else [task]
        else:
            named_ids = [name for name in inputs if normalise(name).split()[-1] == "id"]
            names = [next((name for name in named_ids if self._identifies(name, task)), task)]
        if len(names) == 1:
            return names[0]
        columns = [self.column(name) for name in names]
        texts = [[*(word for word in labels.labels), ""] for _, labels in columns]
        joined = [" | ".join(text[code] for text, code in zip(texts, row, strict=True)) for row in _codes(columns)]
        distinct = list(dict.fromkeys(joined))
        place = {text: k for k, text in enumerate(distinct)}
        added[ITEM] = np.array([place[text] for text in joined], np.int32), Vocabulary(distinct)
        return ITEM

    def _identifies(self, column: str, task: str) -> bool:
        """Return whether a column has one value per task, and another one for every other task."""
        (a, _), (b, _) = self.column(column), self.column(task)
        both = len(np.unique(np.stack([a, b]), axis=1).T)
        return bool((a >= 0).all()) and both == len(np.unique(a)) == len(np.unique(b))

    def pair(self) -> tuple[str, str, str] | None:
        """Return the columns of the sides and the outcome if two inputs are compared and all answers name a side."""
        sides = _sides(self.inputs)
        filled = [name for name in self.answers if (self.column(name)[0] >= 0).any()]
        if sides is None or len(filled) != 1:
            return None
        left, right, outcome = (self.column(name) for name in (*sides, filled[0]))
        if all(number_in(word) is not None for word in outcome[1].labels):  # 0 and 1 are no and yes
            return None
        names = (self.inputs[sides[0]], self.inputs[sides[1]])
        is_pair = not np.isnan(decide_outcomes(outcome, left, right, names).side).any()
        return (sides[0], sides[1], filled[0]) if is_pair else None


def _sides(inputs: Mapping[str, str]) -> tuple[str, str] | None:
    """Return two inputs whose names differ only in a word for the side, such as image_left and image_right."""
    words = {name: re.sub(r"(?<=[a-z])(?=[12]$)", " ", normalise(rest)).split() for name, rest in inputs.items()}
    for first, second in permutations(words, 2):
        differing = [pair for pair in zip(words[first], words[second], strict=False) if pair[0] != pair[1]]
        if len(words[first]) == len(words[second]) and len(differing) == 1 and differing[0] in _SIDES:
            return first, second
    return None


def _is_true(column: Coded) -> Bools:
    flags = [word.lower() == "true" for word in column[1].labels]
    return np.array([*flags, False])[column[0]]


def _codes(columns: Sequence[Coded]) -> list[list[int]]:
    rows: list[list[int]] = np.stack([codes for codes, _ in columns], axis=1).tolist()
    return rows


def _common_start(names: Sequence[str]) -> str:
    """Return what all names share up to a dot: "sentiment." of sentiment.good and sentiment.bad."""
    start = names[0][: names[0].rfind(".") + 1]
    return start if all(name.startswith(start) for name in names) else ""


def _several(what: str, names: Sequence[str], role: str) -> Sentence:
    return f"there are several {what} ({listed(names)}): choose one with " + arg(role, names[0]) + "."
