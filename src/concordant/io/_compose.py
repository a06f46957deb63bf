"""What is written: the columns of a table or the lines of a run, composed from preferences, rankings and labels."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from concordant.errors import InputError
from concordant.gather import segment_index
from concordant.labels import Labels
from concordant.merging import dense_tiers
from concordant.preferences import Preferences
from concordant.ranking import Ranking
from concordant.ranking_text import write_rankings
from concordant.types import AnyArray, Int64s
from concordant.vocabulary import shorten

Columns = dict[str, Any]
FORMS = ("pairs", "ranks", "ratings", "places", "rankings")


def columns(data: Preferences | Ranking | Labels, form: str | None) -> tuple[Columns, list[str]]:
    """Return the columns of a table and what they leave behind."""
    if isinstance(data, Ranking):
        return data.columns(), []
    if isinstance(data, Labels):
        return label_columns(data), []
    if not isinstance(data, Preferences):
        raise InputError(f"A {type(data).__name__} cannot be written: give preferences, a ranking or labels.")
    _refuse_bad_labels(data)
    form = _form(data) if form is None else _asked(form)
    made = _MAKERS[form](data)
    return made, left_behind(data, form)


# ---- preferences as tables ----
def _form(prefs: Preferences) -> str:
    """Return the form that carries everything these preferences say."""
    if not len(prefs.item):
        raise InputError("There are no ballots to write: these preferences are empty.")
    if prefs.value is not None:
        if prefs.open is not None and prefs.open.any():
            raise InputError("Open ballots with values fit no table: say form='rankings' to leave the values out.")
        return "ratings" if prefs.form != "rankings" and _values_order(prefs, -1.0) else "ranks"
    is_open = prefs.open is not None and prefs.open.any()
    return "pairs" if prefs.form == "pairs" and not is_open else "rankings"


def _asked(form: str) -> str:
    plain = form.strip().lower()
    if plain not in FORMS:
        raise InputError(f"The form {form!r} is not written: choose one of {', '.join(FORMS)}.")
    return plain


def _values_order(prefs: Preferences, sign: float) -> bool:
    """Whether the values alone give the tiers."""
    assert prefs.value is not None
    tier, owner, value = dense_tiers(prefs), segment_index(prefs.indptr), sign * prefs.value
    same = owner[1:] == owner[:-1]
    return bool(np.array_equal(np.sign(np.diff(tier))[same], np.sign(np.diff(value))[same]))


def ballot_columns(prefs: Preferences, rows: AnyArray | slice) -> Columns:
    made: Columns = {}
    if prefs.agents is not None and prefs.agent is not None:
        made["agent"] = prefs.agents.take(prefs.agent[rows])
    if prefs.instances is not None and prefs.instance is not None:
        made["instance"] = prefs.instances.take(prefs.instance[rows])
    return made


def _with_weight(prefs: Preferences, made: Columns, rows: AnyArray | slice) -> Columns:
    if (prefs.weight != 1).any():
        made["weight"] = prefs.weight[rows]
    return made


def _pairs(prefs: Preferences) -> Columns:
    if (np.diff(prefs.indptr) != 2).any() or (prefs.open is not None and prefs.open.any()):
        raise InputError("Only closed ballots of two items can be written as pairs: say form='rankings'.")
    made: Columns = {
        "winner": prefs.items.take(prefs.item[0::2]),
        "loser": prefs.items.take(prefs.item[1::2]),
    }
    tie = prefs.tier[0::2] == prefs.tier[1::2]
    if tie.any():
        made["tie"] = tie.astype(np.int64)
    return _with_weight(prefs, made | ballot_columns(prefs, slice(None)), slice(None))


def _ranks(prefs: Preferences) -> Columns:
    if prefs.scale == "rank":
        if not _values_order(prefs, 1.0):
            raise InputError("The ranks do not follow the order of the ballots: say form='rankings' to leave them out.")
        return _long(prefs, {"rank": prefs.value})
    ranks: Columns = {"rank": rank_in_ballot(prefs)}
    return _long(prefs, ranks if prefs.value is None else ranks | {"rating": prefs.value})


def _ratings(prefs: Preferences) -> Columns:
    if prefs.scale != "rating" or not _values_order(prefs, -1.0):
        raise InputError("These preferences hold no ratings that give their order: say form='ranks'.")
    return _long(prefs, {"rating": prefs.value})


def _long(prefs: Preferences, values: Columns) -> Columns:
    if prefs.open is not None and prefs.open.any():
        raise InputError("Open ballots cannot be written row by row: say form='rankings'.")
    owner = segment_index(prefs.indptr)
    made: Columns = {}
    speaker = np.zeros(prefs.n_ballots, np.int64) if prefs.agent is None else prefs.agent.astype(np.int64)
    key = speaker * prefs.n_instances + prefs.instance_of_ballot
    if len(np.unique(key)) != prefs.n_ballots:  # agent and instance do not tell the ballots apart
        made["ballot"] = owner + 1
    made |= ballot_columns(prefs, owner)
    made["item"] = prefs.items.take(prefs.item)
    return _with_weight(prefs, made | values, owner)


def _places(prefs: Preferences) -> Columns:
    tier, owner = dense_tiers(prefs), segment_index(prefs.indptr)
    if ((tier[1:] == tier[:-1]) & (owner[1:] == owner[:-1])).any() or (prefs.open is not None and prefs.open.any()):
        raise InputError("Ties and open ballots cannot be written as places: say form='rankings'.")
    width = int(np.diff(prefs.indptr).max())
    table = np.full((prefs.n_ballots, width), "", object)
    table[owner, tier] = prefs.items.take(prefs.item)
    made = _with_weight(prefs, ballot_columns(prefs, slice(None)), slice(None))
    return made | {f"rank{k + 1}": table[:, k].tolist() for k in range(width)}


def _rankings(prefs: Preferences) -> Columns:
    made = ballot_columns(prefs, slice(None))
    made["ranking"] = write_rankings(_ballots(prefs), prefs.items.labels)
    if prefs.open is not None and prefs.open.any():
        made["open"] = prefs.open.astype(np.int64)
    return _with_weight(prefs, made, slice(None))


def _ballots(prefs: Preferences) -> Iterator[list[list[str]]]:
    labels, tier, ptr = prefs.items.take(prefs.item), dense_tiers(prefs).tolist(), prefs.indptr.tolist()
    for start, stop in pairwise(ptr):
        places: list[list[str]] = []
        for k in range(start, stop):
            if tier[k] == len(places):
                places.append([])
            places[-1].append(labels[k])
        yield places


_MAKERS = {"pairs": _pairs, "ranks": _ranks, "ratings": _ratings, "places": _places, "rankings": _rankings}


def left_behind(prefs: Preferences, form: str) -> list[str]:
    notes = []
    ranked = np.zeros(prefs.n_slots, bool)
    ranked[prefs.entry_slot] = True
    if not ranked.all():
        notes.append(f"{int((~ranked).sum()):,} candidates that nobody ranked are not written")
    if prefs.value is not None and form not in ("ranks", "ratings"):
        notes.append(f"the {prefs.scale}s behind the order are not written")
    empty = int((np.diff(prefs.indptr) == 0).sum())
    if empty:
        notes.append(f"{empty:,} empty ballots are not written")
    if prefs.shown is not None:
        notes.append("the order in which items were shown is not written")
    if prefs.meta:
        notes.append(f"the header fields {', '.join(prefs.meta)} are not written")
    return notes


def _refuse_bad_labels(prefs: Preferences) -> None:
    for what, vocabulary in (("item", prefs.items), ("agent", prefs.agents), ("instance", prefs.instances)):
        for label in vocabulary or ():
            if label == "" or "\0" in label or re.search("[\ud800-\udfff]", label):
                why = "is empty" if label == "" else "holds a character that no text file can keep"
                raise InputError(f"The label of an {what} {why} ({shorten(label)!a}): rename it before writing.")


# ---- labels ----
def label_columns(labels: Labels) -> Columns:
    made: Columns = {}
    if labels.instances is not None:
        made["instance"] = labels.instances.take(segment_index(labels.ptr))
    return made | {"item": labels.items.take(labels.item), "label": labels.label}


def rank_in_ballot(prefs: Preferences) -> Int64s:
    """Return one plus the number of items in better tiers."""
    owner = segment_index(prefs.indptr)
    starts = np.ones(len(owner), bool)
    starts[1:] = (prefs.tier[1:] != prefs.tier[:-1]) | (owner[1:] != owner[:-1])
    first = np.maximum.accumulate(np.where(starts, np.arange(len(owner)), 0))
    return first - prefs.indptr[:-1][owner] + 1
