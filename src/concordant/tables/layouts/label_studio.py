"""Exports of Label Studio: tasks with nested annotations (json), or a row per annotation (csv, tsv, json-min).

Choices, ratings and the preferred side of pairwise comparisons are read; cancelled annotations and predictions are left
out. An annotation marked as ground truth is a gold answer, not a vote. Several controls (``from_name``) need the option
``answer``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from concordant.errors import Sentence, action, arg
from concordant.tables.cells import encode_cells
from concordant.tables.derived import Column, DerivedTable
from concordant.tables.headings import side_columns
from concordant.tables.options import Options, listed, normalise
from concordant.tables.rows import InputTable
from concordant.types import Int32s

AGENT, ITEM = "annotator", "task"
NO_CONTROLS = {"annotator", "annotation id", "created at", "updated at", "lead time", "id", "agreement"}


class Annotation(NamedTuple):
    """The answers of one annotator to one task, by control."""

    row: int
    agent: str
    is_gold: bool
    answers: dict[str, str]


def arrange(table: InputTable, options: Options) -> InputTable | None:
    """Return a row per annotation with roles; None if the annotations have another form."""
    by_plain = {normalise(name): name for name in table.columns}
    if "annotations" not in by_plain:
        return _of_rows(table, by_plain, options)
    found = _annotations(table, by_plain["annotations"])
    if found is None:
        return None
    annotations, n_cancelled = found
    votes = [one for one in annotations if not one.is_gold]
    notes = ["an export of Label Studio"]
    if n_cancelled:
        notes.append(f"left out {n_cancelled:,} cancelled annotation{'s' * (n_cancelled > 1)}")
    if len(votes) < len(annotations):
        more = f"ground truth, not counted as votes: {len(annotations) - len(votes):,}"
        notes.append(more + action("gold_file", "; cc.read_labels reads them"))
    if not votes:
        raise table.error(-1, "no annotation has choices, a rating or a preferred side: there are no answers to read.")
    rows, added = _columns(table, by_plain, votes)
    control = _control(table, options, votes, "answer")
    roles: dict[str, str | None] = {"agent": AGENT, "instance": None, "weight": None}
    pair = None if control is None else _pair(table, by_plain, votes, control)
    if pair is not None:
        left, right = (encode_cells(texts, side) for texts, side in zip(pair, ("left", "right"), strict=True))
        added |= {"left item": left, "right item": right}
        roles |= {"left": "left item", "right": "right item", "outcome": control}
    else:
        roles |= {"item": ITEM} | ({} if control is None else {"answer": control})
    return DerivedTable(table, rows, added, notes=notes, roles=roles)


def arrange_labels(table: InputTable, options: Options) -> InputTable | None:
    """Return the annotations marked as ground truth, as gold labels; None if there are none."""
    by_plain = {normalise(name): name for name in table.columns}
    found = None if "annotations" not in by_plain else _annotations(table, by_plain["annotations"])
    gold = [] if found is None else [one for one in found[0] if one.is_gold]
    if not gold:
        return None
    rows, added = _columns(table, by_plain, gold)
    control = _control(table, options, gold, "label")
    roles: dict[str, str | None] = {"item": ITEM, "instance": None}
    return DerivedTable(table, rows, added, roles=roles | ({} if control is None else {"label": control}))


# ---- nested annotations ----
def _annotations(table: InputTable, column: str) -> tuple[list[Annotation], int] | None:
    """Return the annotations with answers, and the number of cancelled ones; None if the cells are something else."""
    codes, words = table.fetch([column], [])[0][column]
    parsed = [_parsed(word) for word in words.labels]
    if any(one is None for one in parsed) or not parsed:
        return None
    annotations, n_cancelled = [], 0
    for row, code in enumerate(codes.tolist()):
        for one in (parsed[code] or []) if code >= 0 else ():
            if one.get("was_cancelled") is True:
                n_cancelled += 1
            elif answers := dict(_answers(one["result"])):
                annotations.append(Annotation(row, _annotator(one), one.get("ground_truth") is True, answers))
    return annotations, n_cancelled


def _parsed(cell: str) -> list[dict[str, Any]] | None:
    """Return the annotations in a cell; None unless it is a list of objects with results."""
    try:
        content = json.loads(cell)
    except (ValueError, RecursionError):
        return None
    if not isinstance(content, list) or not all(
        isinstance(one, dict) and isinstance(one.get("result"), list) for one in content
    ):
        return None
    return content


def _answers(result: list[Any]) -> Iterator[tuple[str, str]]:
    """Yield the control and the answer of every result: choices, a rating, or the preferred side."""
    for one in result:
        value = one.get("value") if isinstance(one, dict) else None
        if not isinstance(value, dict):
            continue
        choices = value.get("choices")
        if isinstance(choices, list) and choices:
            answer = ", ".join(map(str, choices))
        elif isinstance(value.get("rating"), (int, float)):
            answer = f"{value['rating']:g}"
        elif isinstance(value.get("selected"), str):
            answer = value["selected"]
        else:
            continue
        yield str(one.get("from_name") or "answer"), answer


def _annotator(annotation: dict[str, Any]) -> str:
    """Return the name of the annotator: a number, or the e-mail address or number in an object."""
    who = annotation.get("completed_by")
    if isinstance(who, dict):
        who = who.get("email") or who.get("id")
    return "unknown" if who is None else str(who)


def _columns(
    table: InputTable, by_plain: dict[str, str], annotations: list[Annotation]
) -> tuple[Any, dict[str, Column]]:
    """Return the row of each annotation, and columns with its annotator, its task and its answers by control."""
    rows = np.array([one.row for one in annotations], np.int64)
    column = by_plain.get("id")
    ids = [str(row + 1) for row in rows.tolist()]
    if column is not None:
        codes, words = table.fetch([column], [])[0][column]
        ids = [words[int(code)] if code >= 0 else ids[k] for k, code in enumerate(codes[rows].tolist())]
    added: dict[str, Column] = {
        AGENT: encode_cells([one.agent for one in annotations], AGENT), ITEM: encode_cells(ids, ITEM)
    }  # fmt: skip
    for control in _controls(annotations):
        added[control] = encode_cells([one.answers.get(control) for one in annotations], control)
    return rows, added


def _controls(annotations: list[Annotation]) -> list[str]:
    return list(dict.fromkeys(control for one in annotations for control in one.answers))


def _control(table: InputTable, options: Options, annotations: list[Annotation], role: str) -> str | None:
    """Return the only control, None if the user names it; reject several."""
    if options.roles.get(role) is not None:
        return None
    controls = _controls(annotations)
    if len(controls) > 1:
        raise table.error(-1, _several(controls, role))
    return controls[0]


def _several(controls: list[str], role: str) -> Sentence:
    return f"there are several questions ({listed(controls)}): choose one with " + arg(role, controls[0]) + "."


def _pair(
    table: InputTable, by_plain: dict[str, str], votes: list[Annotation], control: str
) -> tuple[list[str | None], list[str | None]] | None:
    """Return the two compared texts of each vote if the answers are sides; None if the task does not name them."""
    if "data" not in by_plain or not {one.answers.get(control) for one in votes} <= {"left", "right", None}:
        return None
    codes, words = table.fetch([by_plain["data"]], [])[0][by_plain["data"]]
    content = [json.loads(word) for word in words.labels]
    tasks = [content[int(codes[one.row])] if codes[one.row] >= 0 else {} for one in votes]
    fields = list(dict.fromkeys(name for task in tasks if isinstance(task, dict) for name in task))
    sides = side_columns({name: normalise(name) for name in fields})
    if sides is None and len(fields) == 2:
        sides = fields[0], fields[1]
    if sides is None:
        return None
    first, second = ([_text(task.get(side)) for task in tasks] for side in sides)
    return first, second


def _text(value: Any) -> str | None:
    return None if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


# ---- a row per annotation ----
def _of_rows(table: InputTable, by_plain: dict[str, str], options: Options) -> InputTable | None:
    """Return a csv or json-min export with roles; its answers are the columns between the task and the annotator.

    If all annotators of a task have the same texts there, the answers are the columns in which annotators differ.
    """
    names, annotator, task = table.columns, by_plain["annotator"], by_plain["id"]
    candidates = [name for name in names if name != task and normalise(name) not in NO_CONTROLS]
    texts = table.fetch([task, *candidates], [])[0]
    roles: dict[str, str | None] = {"agent": annotator, "item": task, "instance": None, "weight": None}
    if options.roles.get("answer") is None:
        differing = [name for name in candidates if _differ(texts[task][0], texts[name][0])]
        between = names[names.index(task) + 1 : names.index(annotator)] if annotator in names else []
        usual = [name for name in between if name in candidates]
        controls = differing if differing and set(usual).isdisjoint(differing) else usual
        if not controls:
            return None
        if len(controls) > 1:
            raise table.error(-1, _several(controls, "answer"))
        roles["answer"] = controls[0]
    return DerivedTable(table, np.arange(len(texts[task][0])), notes=["an export of Label Studio"], roles=roles)


def _differ(task: Int32s, answer: Int32s) -> bool:
    """Return whether some task has several answers."""
    pairs = np.unique(np.stack([task, answer]), axis=1)
    return bool(len(np.unique(pairs[0])) < pairs.shape[1])
