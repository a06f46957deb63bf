"""Compose the columns of a table or the lines of a run from preferences, rankings and labels."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from concordant.ballots.form import READ_AS, refuse_nominal
from concordant.ballots.merging import dense_tiers
from concordant.ballots.segments import segment_index
from concordant.ballots.vocabulary import shorten
from concordant.errors import InputError, arg
from concordant.labels import Labels
from concordant.preferences import Preferences
from concordant.ranking import Ranking
from concordant.tables.cells import number_in
from concordant.tables.ranking_text import write_rankings
from concordant.types import AnyArray, Floats, Int64s
from concordant.views import competition_ranks

Columns = dict[str, Any]
T = TypeVar("T")
LAYOUTS = ("pairs", "ranks", "ratings", "places", "rankings", "answers")
BY_ITEM = ("ranks", "ratings", "answers")  # layouts with a row per item
NOT_WRITTEN = {
    "shown": "the order in which items were shown is",
    "team": "the teams are",
    "covariate": "the covariates are",
    "points": "the points of matches are",
    "time": "the times are",
}
_AS_RANKINGS = arg("layout", "rankings", of="write")
CARRIED: dict[str, tuple[str, ...]] = {
    "pairs": ("covariate", "shown", "points"),
    "ranks": ("team", "covariate"),
    "ratings": ("team", "covariate"),
    "answers": ("covariate",),
}


def columns(data: Preferences | Ranking | Labels, layout: str | None) -> tuple[Columns, list[str]]:
    """Return the columns of a table and notes on what they leave out."""
    if isinstance(data, Ranking):
        return data.columns(), []
    if isinstance(data, Labels):
        return label_columns(data), []
    if not isinstance(data, Preferences):
        raise InputError(f"A {type(data).__name__} cannot be written: give preferences, a ranking or labels.")
    _refuse_bad_labels(data)
    layout = _layout(data) if layout is None else _asked(layout)
    if layout != "answers":
        refuse_nominal(data, f"A table of {layout}")
    table = _with_candidates(data, layout, _MAKERS[layout](data))
    return table, left_behind(data, layout)


# ---- preferences as tables ----
def _layout(prefs: Preferences) -> str:
    """Return the layout that represents these preferences without loss."""
    if not len(prefs.item):
        raise InputError("There are no ballots to write: these preferences are empty.")
    if prefs.classes is not None:
        return "answers"
    if prefs.value is not None:
        if has_open(prefs):
            raise InputError(
                "No table layout can store open (top-k) ballots with values: use "
                + _AS_RANKINGS
                + " to omit the values."
            )
        is_rated = prefs.scale == "rating" and prefs.form != "rankings" and _values_order(prefs, -1.0)
        return "ratings" if is_rated else "ranks"
    if prefs.team is not None and not has_open(prefs):
        return "ranks"
    return "pairs" if prefs.form == "pairs" and not has_open(prefs) else "rankings"


def _asked(layout: str) -> str:
    """Return the requested layout; reject unknown layouts."""
    plain = layout.strip().lower()
    if plain not in LAYOUTS:
        raise InputError(f"The layout {layout!r} cannot be written: choose one of {', '.join(LAYOUTS)}.")
    return plain


def _values_order(prefs: Preferences, sign: float) -> bool:
    """Return whether sorting by ``sign`` times the value, ascending, gives exactly the tiers."""
    assert prefs.value is not None
    tier, ballot, value = dense_tiers(prefs), segment_index(prefs.indptr), sign * prefs.value
    is_same_ballot = ballot[1:] == ballot[:-1]
    return bool(np.array_equal(np.sign(np.diff(tier))[is_same_ballot], np.sign(np.diff(value))[is_same_ballot]))


def has_open(prefs: Preferences) -> bool:
    """Return whether any ballot leaves the order of its last items open."""
    return prefs.open is not None and bool(prefs.open.any())


def has_ties(prefs: Preferences) -> bool:
    """Return whether any ballot has tied items."""
    tier, owner = prefs.tier, segment_index(prefs.indptr)
    return bool(((tier[1:] == tier[:-1]) & (owner[1:] == owner[:-1])).any())


def has_one_ballot_each(prefs: Preferences) -> bool:
    """Return whether every agent has at most one ballot per instance."""
    agent = np.zeros(prefs.n_ballots, np.int64) if prefs.agent is None else prefs.agent.astype(np.int64)
    return len(np.unique(agent * prefs.n_instances + prefs.instance_of_ballot)) == prefs.n_ballots


def ballot_columns(prefs: Preferences, rows: AnyArray | slice = slice(None)) -> Columns:
    """Return columns with the agent and the instance of some ballots, if available."""
    table: Columns = {}
    if prefs.agents is not None and prefs.agent is not None:
        table["agent"] = prefs.agents.take(prefs.agent[rows])
    if prefs.instances is not None and prefs.instance is not None:
        table["instance"] = prefs.instances.take(prefs.instance[rows])
    return table


def _with_weight(prefs: Preferences, table: Columns, rows: AnyArray | slice = slice(None)) -> Columns:
    """Add a weight column, unless all weights are 1."""
    if (prefs.weight != 1).any():
        table["weight"] = prefs.weight[rows]
    return table


def _pairs(prefs: Preferences) -> Columns:
    """Return comparisons as columns: winner and loser, or left, right and the outcome if the shown order is known."""
    if (np.diff(prefs.indptr) != 2).any() or has_open(prefs):
        raise InputError("Only closed ballots of two items can be written as pairs: use " + _AS_RANKINGS + ".")
    role_1, role_2 = ("winner", "loser") if prefs.shown is None else ("left", "right")
    first, second = _entries_by_side(prefs)
    table: Columns = {role_1: prefs.items.take(prefs.item[first]), role_2: prefs.items.take(prefs.item[second])}
    if prefs.shown is not None:  # an outcome in words could be the name of an item
        table["left_won"] = (prefs.tier[first] < prefs.tier[second]).astype(np.int64)
        table["right_won"] = (prefs.tier[first] > prefs.tier[second]).astype(np.int64)
        if (neutral := prefs.shown[first] == prefs.shown[second]).any():
            table["neutral"] = neutral.astype(np.int64)
    elif (tie := prefs.tier[first] == prefs.tier[second]).any():
        table["tie"] = tie.astype(np.int64)
    if prefs.points is not None:
        scores = (f"{role_1}_score", first), (f"{role_2}_score", second)
        table |= {name: _known(prefs.points[entry]) for name, entry in scores}
    if prefs.covariate is not None:
        for name, column in zip(prefs.covariates, prefs.covariate.T, strict=True):
            table |= {f"{role_1}_{name}": column[first], f"{role_2}_{name}": column[second]}
    return _with_weight(prefs, table | ballot_columns(prefs))


def _known(points: Floats) -> list[float | None]:
    """Return points as cells, whole numbers without a decimal point; unknown ones are empty."""
    return [None if math.isnan(point) else int(point) if point.is_integer() else point for point in points.tolist()]


def _entries_by_side(prefs: Preferences) -> tuple[Int64s, Int64s]:
    """Return the entries of both sides of every pair: first and second shown, or winner and loser."""
    entry = np.arange(0, len(prefs.item), 2)
    is_swapped = 0 if prefs.shown is None else (prefs.shown[0::2] > prefs.shown[1::2]).astype(np.int64)
    return entry + is_swapped, entry + 1 - is_swapped


def _ranks(prefs: Preferences) -> Columns:
    """Return one row per item with its rank, and its rating if it has one."""
    if prefs.scale == "rank":
        if not _values_order(prefs, 1.0):
            raise InputError(
                "The ranks contradict the order of the ballots: use " + _AS_RANKINGS + " to leave them out."
            )
        return _long(prefs, {"rank": prefs.value})
    place = competition_ranks(prefs) if prefs.team is None else dense_tiers(prefs) + 1  # teams differ in size
    ranks: Columns = {"rank": place.astype(np.int64)}
    return _long(prefs, ranks if prefs.value is None else ranks | {"rating": prefs.value})


def _ratings(prefs: Preferences) -> Columns:
    """Return one row per item with its rating; reject ratings that contradict the order."""
    if prefs.scale != "rating" or not _values_order(prefs, -1.0):
        raise InputError(
            "These preferences have no ratings, or ratings that contradict the order of "
            "the items: use " + arg("layout", "ranks", of="write") + "."
        )
    return _long(prefs, {"rating": prefs.value})


def _answers(prefs: Preferences) -> Columns:
    """Return one row per item with the class that the agent gave it."""
    if prefs.classes is None or prefs.value is None:
        raise InputError("These preferences have no classes: use " + arg("layout", "ratings", of="write") + ".")
    return _long(prefs, {"answer": prefs.classes.take(prefs.value.astype(np.int64))})


def _long(prefs: Preferences, values: Columns) -> Columns:
    """Return one row per entry: ballot, agent, instance, team, item, values, covariates and weight."""
    if has_open(prefs):
        raise InputError("Open (top-k) ballots cannot be written row by row: use " + _AS_RANKINGS + ".")
    ballot = segment_index(prefs.indptr)
    table: Columns = {} if has_one_ballot_each(prefs) and prefs.team is None else {"ballot": ballot + 1}
    table |= ballot_columns(prefs, ballot)
    if prefs.team is not None:
        table["team"] = prefs.team.astype(np.int64) + 1
    table["item"] = prefs.items.take(prefs.item)
    if prefs.covariate is not None:
        clashing = [name for name in prefs.covariates if name in {*table, *values, "weight"}]
        if clashing:
            raise InputError(
                f"A covariate has the same name as another column ({clashing[0]!r}): rename it before writing."
            )
        values = values | dict(zip(prefs.covariates, prefs.covariate.T, strict=True))
    return _with_weight(prefs, table | values, ballot)


def _places(prefs: Preferences) -> Columns:
    """Return one row per ballot with a column per place, best first."""
    tier, ballot = dense_tiers(prefs), segment_index(prefs.indptr)
    if has_ties(prefs) or has_open(prefs):
        raise InputError("Ties and open (top-k) ballots cannot be written as places: use " + _AS_RANKINGS + ".")
    width = int(np.diff(prefs.indptr).max())
    table = np.full((prefs.n_ballots, width), "", object)
    table[ballot, tier] = prefs.items.take(prefs.item)
    table_columns = _with_weight(prefs, ballot_columns(prefs))
    return table_columns | {f"rank{k + 1}": table[:, k].tolist() for k in range(width)}


def _rankings(prefs: Preferences) -> Columns:
    """Return one row per ballot with its ranking as text."""
    table = ballot_columns(prefs)
    ballots = lists_of_tiers(prefs.items.take(prefs.item), dense_tiers(prefs).tolist(), prefs.indptr.tolist())
    table["ranking"] = write_rankings(ballots, prefs.items.labels)
    if prefs.open is not None and has_open(prefs):
        table["open"] = prefs.open.astype(np.int64)
    return _with_weight(prefs, table)


def lists_of_tiers(
    items: Sequence[T], tier: Sequence[int], ptr: Sequence[int], min_tiers: int = 0
) -> Iterator[list[list[T]]]:
    """Yield each ballot as a list of its tiers (at least ``min_tiers``), including empty ones."""
    for start, stop in pairwise(ptr):
        tiers: list[list[T]] = [[] for _ in range(max(min_tiers, 1 + max(tier[start:stop], default=-1)))]
        for k in range(start, stop):
            tiers[tier[k]].append(items[k])
        yield tiers


_MAKERS = {"pairs": _pairs, "ranks": _ranks, "ratings": _ratings, "places": _places, "rankings": _rankings}
_MAKERS["answers"] = _answers


# ---- candidates that nobody ranked ----
def _unranked(prefs: Preferences) -> Int64s:
    ranked = np.zeros(prefs.n_slots, bool)
    ranked[prefs.entry_slot] = True
    return np.flatnonzero(~ranked)


def _written_candidates(prefs: Preferences, layout: str) -> Int64s:
    """Return the unranked candidates that a layout can represent; pairs need a second candidate in the instance."""
    slots = _unranked(prefs)
    if layout == "pairs":
        slots = slots[np.diff(prefs.slot_ptr)[segment_index(prefs.slot_ptr)[slots]] > 1]
    return slots if layout in LAYOUTS else slots[:0]


def _with_candidates(prefs: Preferences, layout: str, table: Columns) -> Columns:
    """Append a row per unranked candidate, with an empty rank or rating, or else with a weight of zero."""
    slots = _written_candidates(prefs, layout)
    if not len(slots):
        return table
    n, items = len(slots), prefs.items.take(prefs.slot_item[slots])
    cells: Columns = {"item": items} if layout in BY_ITEM else _silent_ballots(prefs, layout, slots, items)
    if layout not in BY_ITEM:
        cells |= {"weight": [0] * n, "agent": table.get("agent", [""])[:1] * n}
        table = {**table, "weight": prefs.weight}
    if prefs.instances is not None:
        cells["instance"] = prefs.instances.take(segment_index(prefs.slot_ptr)[slots])
    blank = [0 if layout == "pairs" else None] * n
    return {name: [*_plain(column), *cells.get(name, blank)] for name, column in table.items()}


def _silent_ballots(prefs: Preferences, layout: str, slots: Int64s, items: Sequence[str]) -> Columns:
    """Return the item columns of one ballot per unranked candidate; in pairs, another candidate is the opponent."""
    if layout == "rankings":
        return {"ranking": write_rankings([[[item]] for item in items], prefs.items.labels)}
    if layout == "places":
        return {"rank1": items}
    start = prefs.slot_ptr[segment_index(prefs.slot_ptr)[slots]]
    opponents = prefs.items.take(prefs.slot_item[np.where(slots > start, start, start + 1)])
    role_1, role_2 = ("winner", "loser") if prefs.shown is None else ("left", "right")
    return {role_1: items, role_2: opponents}


def _plain(column: Any) -> list[Any]:
    return list(column.tolist() if hasattr(column, "tolist") else column)


# ---- what is not written ----
def _unwritten_labels(prefs: Preferences, layout: str) -> list[str]:
    """Return notes on candidates, items, instances and agents that appear in no row."""
    written = _written_candidates(prefs, layout)
    is_written = np.zeros(prefs.n_instances, bool)
    is_written[prefs.instance_of_ballot[np.diff(prefs.indptr) > 0]] = True
    is_written[segment_index(prefs.slot_ptr)[written]] = True
    counts = {
        "unranked candidates": len(_unranked(prefs)) - len(written),
        "items that are not candidates": prefs.n_items - len(np.unique(prefs.slot_item)),
        "instances without ballots": 0 if prefs.instances is None else int((~is_written).sum()),
        "agents without ballots": 0 if prefs.agent is None else len(prefs.agents or ()) - len(np.unique(prefs.agent)),
    }
    return [f"{what} not written: {count:,}" for what, count in counts.items() if count]


def left_behind(prefs: Preferences, layout: str) -> list[str]:
    """Return notes on what a table, or a run (layout "run"), cannot represent."""
    notes = _unwritten_labels(prefs, layout)
    if prefs.classes is not None and layout == "answers" and all(number_in(name) is not None for name in prefs.classes):
        notes.append("the classes are numbers: read the file with " + arg("layout", "answers"))
    elif prefs.value is not None and layout not in (*BY_ITEM, "run"):
        notes.append(f"the {prefs.scale}s that imply the order are not written")
    empty = int((np.diff(prefs.indptr) == 0).sum())
    if empty:
        notes.append(f"{empty:,} empty ballots are not written")
    for name, what in NOT_WRITTEN.items():
        if getattr(prefs, name) is not None and name not in CARRIED.get(layout, ()):
            notes.append(f"{what} not written")
    header = [key for key in prefs.meta if key != READ_AS]
    if header:
        notes.append(f"the header fields {', '.join(header)} are not written")
    return notes


def _refuse_bad_labels(prefs: Preferences) -> None:
    """Reject labels that are empty or contain characters that text files cannot represent."""
    kinds = (("item", prefs.items), ("agent", prefs.agents), ("instance", prefs.instances), ("answer", prefs.classes))
    for what, vocabulary in kinds:
        for label in vocabulary or ():
            if label == "" or "\0" in label or re.search("[\ud800-\udfff]", label):
                why = "is empty" if label == "" else "contains a character that text files cannot represent"
                raise InputError(f"The label of an {what} {why} ({shorten(label)!a}): rename it before writing.")


# ---- labels ----
def label_columns(labels: Labels) -> Columns:
    """Return labels as columns."""
    table: Columns = {}
    if labels.instances is not None:
        table["instance"] = labels.instances.take(segment_index(labels.ptr))
    label: Any = labels.label if labels.classes is None else labels.classes.take(labels.label.astype(np.int64))
    return table | {"item": labels.items.take(labels.item), "label": label}
