"""Check the invariants of preferences once, on construction, so that methods and kernels can rely on the arrays.

The parts are the arguments of ``Preferences`` by name. Codes index their vocabulary, no item occurs twice in a ballot,
entries are sorted by tier, weights and numbers lie in the ranges of ``limits`` (a ballot of weight zero is dropped and
counted), and every ranked item is a candidate of its instance. Nominal values are codes of classes, and the items of a
nominal ballot are tied.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from concordant import kernels
from concordant.ballots.build import Parts, number_teams
from concordant.ballots.segments import pointer, segment_index
from concordant.ballots.vocabulary import Vocabulary, shorten
from concordant.errors import InputError, arg
from concordant.support.frozen import freeze, own
from concordant.support.limits import NUMBERS, WEIGHTS, are_numbers, are_weights, bad_weights
from concordant.types import AnyArray, Int32s, Int64s

SCALES = (None, "rank", "rating", "nominal")
FORMS = ("pairs", "choices", "top-k", "approvals", "ratings", "rankings", "answers")

PER_ENTRY: Mapping[str, type] = {
    "item": np.int32,
    "tier": np.int32,
    "value": np.float64,
    "shown": np.int32,
    "team": np.int32,
    "covariate": np.float64,
    "points": np.float64,
}
PER_BALLOT: Mapping[str, type] = {
    "weight": np.float64,
    "agent": np.int32,
    "instance": np.int32,
    "open": np.bool_,
    "time": np.float64,
}
_ARRAYS = {"indptr": np.int64, "slot_ptr": np.int64, "slot_item": np.int32, **PER_ENTRY, **PER_BALLOT}


class Slots(NamedTuple):
    """The candidates of all instances, concatenated, and the slot of each entry."""

    ptr: Int64s
    item: Int32s
    of_entry: Int64s | None
    """None if the slot equals the code of the item."""


def checked(parts: Parts) -> Parts:
    """Check the invariants of the parts.

    Convert arrays to read-only copies of the right type, with entries sorted by tier.
    """
    for name in ("items", "agents", "instances", "classes"):
        parts[name] = _vocabulary(parts[name])
    for name, dtype in _ARRAYS.items():
        if parts[name] is not None:
            parts[name] = own(parts[name], dtype)
    are_weighted = parts["weight"] is not None
    if not are_weighted:
        parts |= {"weight": np.ones(len(parts["indptr"]) - 1), "has_unit_weights": True}
        freeze(parts["weight"])
    if (parts["slot_ptr"] is None) != (parts["slot_item"] is None):
        raise InputError(
            "slot_ptr and slot_item, which list the candidates, must be given together: give both or neither."
        )
    _check_sizes(parts)
    _check_meaning(parts)
    _check_labels(parts)
    _sort_tiers(parts)
    if parts["team"] is not None:
        parts["team"] = number_teams(parts["indptr"], parts["team"])
        freeze(parts["team"])
    if are_weighted:
        _check_weights(parts)
    if parts["slot_ptr"] is not None:
        _check_slots(parts)
    return parts


def find_slots(parts: Mapping[str, Any]) -> Slots:
    """Return the candidates of each instance: those given, else the items on its ballots, or the whole vocabulary."""
    items, instance, item = (parts[name] for name in ("items", "instance", "item"))
    if parts["slot_ptr"] is not None:
        indptr = parts["indptr"]
        candidates = parts["slot_ptr"], parts["slot_item"]
        instance_of_ballot = np.zeros(len(indptr) - 1, np.int32) if instance is None else instance
        slots = Slots(*candidates, kernels.find_slots(*candidates, instance_of_ballot, indptr, item, len(items)))
    elif instance is None:  # one instance: every item of the vocabulary is a candidate, slot = code
        ptr = np.array([0, len(items)], np.int64)
        slots = Slots(ptr, np.arange(len(items), dtype=np.int32), None)
    else:
        slots = Slots(*kernels.assign_slots(instance, parts["indptr"], item, len(parts["instances"]), len(items)))
    freeze(*(part for part in slots if part is not None))
    return slots


def check_codes(codes: Int32s, size: int, name: str) -> None:
    """Reject codes outside 0..size - 1."""
    if len(codes) and (codes.min() < 0 or codes.max() >= size):
        raise InputError(f"An {name} code is outside 0..{size - 1}: codes must be positions in the vocabulary.")


def _vocabulary(labels: Vocabulary | Iterable[str] | None) -> Vocabulary | None:
    """Return labels as a vocabulary; reject repeated labels."""
    if labels is None or isinstance(labels, Vocabulary):
        return labels
    vocabulary = Vocabulary(labels)
    if len(set(vocabulary.labels)) != len(vocabulary):
        raise InputError("A vocabulary lists a label twice: labels must be distinct.")
    return vocabulary


def _check_sizes(parts: Parts) -> None:
    """Reject arrays whose length is not the number of entries or ballots."""
    n_ballots, n_entries = len(parts["indptr"]) - 1, len(parts["item"])
    _check_pointer(parts["indptr"], n_entries, "indptr")
    for names, size in ((PER_ENTRY, n_entries), (PER_BALLOT, n_ballots)):
        for name in names:
            if parts[name] is not None and len(parts[name]) != size:
                raise InputError(f"The {name} array must have {size} values, got {len(parts[name])}.")


def _check_pointer(pointer: Int64s, n_entries: int, name: str) -> None:
    """Reject a pointer that does not increase from 0 to the number of entries."""
    falls = np.count_nonzero(pointer[1:] < pointer[:-1])  # faster than any() on the few ballots of a service
    if falls or not len(pointer) or pointer[0] != 0 or pointer[-1] != n_entries:
        raise InputError(f"{name} must increase from 0 to the number of entries ({n_entries}).")


def _check_meaning(parts: Parts) -> None:
    """Reject a form or scale that does not match the arrays."""
    form, scale, value = parts["said_form"], parts["scale"], parts["value"]
    if form is not None and form not in FORMS:
        raise InputError(arg("form", form) + f" is not a valid form: use {', '.join(FORMS)}, or leave it out.")
    if form == "pairs" and (np.diff(parts["indptr"]) != 2).any():
        raise InputError(arg("form", "pairs") + " only applies to ballots of two items each: leave it out.")
    if scale not in SCALES or (scale is None) != (value is None):
        raise InputError(
            arg("scale", scale)
            + " is not valid: use 'rank', 'rating' or 'nominal' if values are given, and no scale otherwise."
        )
    if value is not None and not are_numbers(value):
        raise InputError(f"A value is not {NUMBERS}: leave the item out of the ballot, or rescale the values.")
    if parts["time"] is not None and not are_numbers(parts["time"]):
        raise InputError(f"A time is not {NUMBERS}: leave out the ballot or all times.")
    _check_classes(parts)
    _check_covariates(parts["covariate"], parts["covariates"])
    _check_points(parts)
    _check_teams(parts)


def _check_classes(parts: Parts) -> None:
    """Reject nominal answers without classes, with codes outside the vocabulary, or with an order of the items."""
    scale, classes, value = parts["scale"], parts["classes"], parts["value"]
    if (scale == "nominal") != (classes is not None) or (scale != "nominal" and parts["said_form"] == "answers"):
        raise InputError(
            arg("scale", "nominal") + " and classes must be given together, with codes of the classes as values."
        )
    if classes is None or value is None or not len(value):
        return
    if (value != np.floor(value)).any():
        raise InputError("A class code is not a whole number: codes must be positions in the vocabulary.")
    if value.min() < 0 or value.max() >= len(classes):
        raise InputError(f"A class code is outside 0..{len(classes) - 1}: codes must be positions in the vocabulary.")
    tier, sizes = parts["tier"], np.diff(parts["indptr"])
    first = np.repeat(tier[parts["indptr"][:-1][sizes > 0]], sizes[sizes > 0])
    if (tier != first).any() or parts["said_form"] not in (None, "answers") or parts["open"] is not None:
        raise InputError("Nominal answers do not order the items of a ballot: give all of them the same tier.")


def _check_points(parts: Parts) -> None:
    """Reject points of ballots that are not pairs; NaN stands for an unknown score."""
    points = parts["points"]
    if points is None:
        return
    if parts["team"] is None and (np.diff(parts["indptr"]) != 2).any():
        raise InputError("Points belong to matches of two sides: leave out " + arg("points") + ".")
    if not are_numbers(points[~np.isnan(points)]):
        raise InputError(f"A score is not {NUMBERS}: leave the score of this match out.")


def _check_covariates(covariate: AnyArray | None, names: tuple[str, ...]) -> None:
    """Reject covariates without names, names without covariates, and values that are not finite numbers."""
    if covariate is None and not names:
        return
    if covariate is None or covariate.ndim != 2 or covariate.shape[1] != len(names) or len(set(names)) != len(names):
        raise InputError(
            "covariate must be a matrix with one row per entry and one column for each name in covariates, and these "
            "names must be distinct."
        )
    if not are_numbers(covariate):
        raise InputError(
            f"A covariate is not {NUMBERS}: impute the value, rescale the covariate, or leave the ballot out."
        )


def _check_teams(parts: Parts) -> None:
    """Reject a team whose members have different tiers on a ballot: a team wins or loses together."""
    team, tier = parts["team"], parts["tier"]
    if team is None or not len(team):
        return
    ballot = segment_index(parts["indptr"])
    order = np.lexsort((tier, team, ballot))
    same = (np.diff(ballot[order]) == 0) & (np.diff(team[order]) == 0) & (np.diff(tier[order]) != 0)
    if same.any():
        ballot_number = int(ballot[order][int(np.argmax(same))])  # from 0
        raise InputError(
            f"Members of one team have different ranks on ballot {ballot_number + 1}: give them the same rank."
        )


def _check_labels(parts: Parts) -> None:
    """Reject codes without a label, and items that occur twice in a ballot."""
    items = parts["items"]
    check_codes(parts["item"], len(items), "item")
    for name in ("agent", "instance"):
        codes, vocabulary = parts[name], parts[f"{name}s"]
        if (codes is None) != (vocabulary is None):
            raise InputError(f"{name} (codes) and {name}s (labels) must be given together: give both or neither.")
        if codes is not None:
            check_codes(codes, len(vocabulary), name)
    ballot, entry = kernels.find_repeated(parts["indptr"], parts["item"], len(items))
    if ballot >= 0:
        label = shorten(items[parts["item"][entry]])
        raise InputError(f"Ballot {ballot + 1} contains {label!r} twice: list each item at most once per ballot.")


def _sort_tiers(parts: Parts) -> None:
    """Sort entries by tier within each ballot, unless they are already sorted."""
    tier, indptr = parts["tier"], parts["indptr"]
    falls = np.flatnonzero(tier[1:] < tier[:-1]) + 1  # allowed where a ballot starts
    is_start = np.zeros(len(tier) + 1, bool)
    is_start[indptr] = True
    if np.count_nonzero(is_start[falls]) < len(falls):
        _keep(parts, PER_ENTRY, np.lexsort((tier, segment_index(indptr))))


def _keep(parts: Parts, names: Iterable[str], chosen: AnyArray) -> None:
    """Select these entries (or ballots) in all named arrays."""
    for name in names:
        if parts[name] is not None:
            parts[name] = parts[name][chosen]
            freeze(parts[name])


def _check_weights(parts: Parts) -> None:
    """Reject invalid weights, and drop the ballots of weight zero."""
    weight = parts["weight"]
    if are_weights(weight):
        return
    bad = np.flatnonzero(bad_weights(weight))
    if len(bad):
        raise InputError(
            f"The weight of ballot {bad[0] + 1} is {weight[bad[0]]:g}, not {WEIGHTS}: "
            "multiply all weights by the same factor, or leave the ballot out."
        )
    if parts["slot_ptr"] is None:  # the items of a dropped ballot remain candidates
        parts["slot_ptr"], parts["slot_item"], _ = find_slots(parts)
    keep, sizes = weight > 0, np.diff(parts["indptr"])
    _keep(parts, PER_ENTRY, np.repeat(keep, sizes))
    _keep(parts, PER_BALLOT, keep)
    parts["indptr"] = pointer(sizes[keep])
    freeze(parts["indptr"])
    dropped = int((~keep).sum())
    parts["notes"] += (f"{dropped} ballot{'s' * (dropped > 1)} with weight zero dropped",)


def _check_slots(parts: Parts) -> None:
    """Validate given candidates (slot_ptr, slot_item): sizes, codes, repeats; every ranked item must be one of them."""
    slot_ptr, slot_item, items = parts["slot_ptr"], parts["slot_item"], parts["items"]
    n_instances = 1 if parts["instances"] is None else len(parts["instances"])
    if len(slot_ptr) != n_instances + 1:
        raise InputError(f"slot_ptr describes {len(slot_ptr) - 1} instances, but there are {n_instances}.")
    _check_pointer(slot_ptr, len(slot_item), "slot_ptr")
    check_codes(slot_item, len(items), "slot item")
    if kernels.find_repeated(slot_ptr, slot_item, len(items))[0] >= 0:
        raise InputError("An instance lists a candidate twice: list each candidate once.")
    slots = find_slots(parts)
    is_not_candidate = slots.of_entry < 0 if slots.of_entry is not None else np.zeros(0, bool)
    if is_not_candidate.any():
        label = shorten(items[parts["item"][int(np.argmax(is_not_candidate))]])
        raise InputError(f"{label!r} is ranked in an instance where it is not a candidate: add it to the candidates.")
    parts["slots"] = slots
