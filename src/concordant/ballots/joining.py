"""Join several preferences into one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from concordant.ballots.build import Parts
from concordant.ballots.segments import segment_index
from concordant.ballots.vocabulary import join_vocabularies
from concordant.errors import InputError
from concordant.types import AnyArray, Int32s

if TYPE_CHECKING:
    from concordant.preferences import Preferences


def parts_of_joined(given: Sequence[Preferences]) -> Parts:
    """Return constructor arguments for the ballots of all preferences, one after another.

    Labels are united: the same name is the same item, agent or instance. What only some of them have is left out with a
    note, unless it has an obvious value for the others.
    """
    notes: list[str] = []
    item_codes, items = join_vocabularies([prefs.items for prefs in given])
    sizes = np.concatenate([np.diff(prefs.indptr) for prefs in given])
    parts: Parts = {
        "items": items,
        "indptr": np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        "item": np.concatenate([codes[prefs.item] for codes, prefs in zip(item_codes, given, strict=True)]),
        "tier": np.concatenate([prefs.tier for prefs in given]),
        "weight": np.concatenate([prefs.weight for prefs in given]),
        "is_merged": any(prefs.is_merged for prefs in given),
        "form": _common([prefs.said_form for prefs in given]),
        "meta": _common_meta(given),
    }
    parts |= _labels(given, "agent", notes) | _instances(given)
    parts |= _values(given, notes) | _covariates(given, notes) | _teams(given)
    parts |= _points(given) | {"library": _common([prefs.library for prefs in given])}
    if any(prefs.open is not None for prefs in given):
        parts["open"] = np.concatenate([_or(prefs.open, np.zeros(prefs.n_ballots, bool)) for prefs in given])
    if _all_or_none(given, "shown", "the positions at which items were shown", notes):
        parts["shown"] = np.concatenate([prefs.shown for prefs in given if prefs.shown is not None])
    if any(vars(prefs).get("slot_ptr") is not None for prefs in given):
        parts |= _candidates(given, item_codes, parts)
    parts |= _times(given, notes)
    parts["notes"] = [*dict.fromkeys(note for prefs in given for note in prefs.notes), *notes]
    return parts


def _or(array: AnyArray | None, otherwise: AnyArray) -> AnyArray:
    return otherwise if array is None else array


def _common(values: Sequence[Any]) -> Any:
    return values[0] if all(value == values[0] for value in values) else None


def _common_meta(given: Sequence[Preferences]) -> dict[str, object]:
    """Return the facts that all preferences share."""
    first = given[0].meta
    return {
        key: value for key, value in first.items() if all(key in one.meta and one.meta[key] == value for one in given)
    }


def _all_or_none(given: Sequence[Preferences], name: str, what: str, notes: list[str]) -> bool:
    """Return whether all preferences have a part; add a note if only some do."""
    count = sum(getattr(prefs, name) is not None for prefs in given)
    if 0 < count < len(given):
        notes.append(f"{what} are not kept, because only {count} of {len(given)} preferences have them")
    return count == len(given)


def _labels(given: Sequence[Preferences], name: str, notes: list[str]) -> Parts:
    """Return the united agents or instances, if all preferences have them."""
    if not _all_or_none(given, name, f"{name}s", notes):
        return {}
    new_codes, labels = join_vocabularies([getattr(prefs, f"{name}s") for prefs in given])
    codes = [new[getattr(prefs, name)] for new, prefs in zip(new_codes, given, strict=True)]
    return {name: np.concatenate(codes), f"{name}s": labels}


def _instances(given: Sequence[Preferences]) -> Parts:
    """Return the united instances; reject preferences of which only some have instances."""
    count = sum(prefs.instances is not None for prefs in given)
    if 0 < count < len(given):
        raise InputError(
            f"Only {count} of the {len(given)} preferences have instances: give all of them instances, or none."
        )
    return _labels(given, "instance", [])


def _values(given: Sequence[Preferences], notes: list[str]) -> Parts:
    """Return the ranks or ratings, if all preferences have them on one scale."""
    scales = [prefs.scale for prefs in given]
    if "nominal" in scales:
        return _answers(given)
    if None not in scales and len(set(scales)) == 1:
        return {
            "value": np.concatenate([prefs.value for prefs in given if prefs.value is not None]),
            "scale": scales[0],
        }
    if any(scale is not None for scale in scales):
        found = ", ".join(dict.fromkeys(f"{scale}s" if scale else "orders without values" for scale in scales))
        notes.append(f"values are not kept, because the preferences differ in them ({found}); their order is kept")
    return {}


def _answers(given: Sequence[Preferences]) -> Parts:
    """Return nominal answers over the united classes; reject a mixture with other preferences."""
    vocabularies = [prefs.classes for prefs in given if prefs.classes is not None]
    if len(vocabularies) < len(given):
        raise InputError(
            "Answers without an order cannot be joined with ranks or ratings: join preferences of one kind."
        )
    new_codes, classes = join_vocabularies(vocabularies)
    values = [
        codes[prefs.value.astype(np.int64)]
        for codes, prefs in zip(new_codes, given, strict=True)
        if prefs.value is not None
    ]
    return {"value": np.concatenate(values).astype(np.float64), "scale": "nominal", "classes": classes}


def _points(given: Sequence[Preferences]) -> Parts:
    """Return the points of matches; those of preferences without points are unknown (NaN)."""
    if all(prefs.points is None for prefs in given):
        return {}
    return {"points": np.concatenate([_or(prefs.points, np.full(len(prefs.item), np.nan)) for prefs in given])}


def _covariates(given: Sequence[Preferences], notes: list[str]) -> Parts:
    """Return the covariates that all preferences have."""
    if not any(prefs.covariates for prefs in given):
        return {}
    names = [name for name in given[0].covariates if all(name in prefs.covariates for prefs in given)]
    lost = sorted({name for prefs in given for name in prefs.covariates} - set(names))
    if lost:
        notes.append(f"covariates that not all preferences have are not kept: {', '.join(lost[:12])}")
    if not names:
        return {}
    columns = [
        prefs.covariate[:, [prefs.covariates.index(name) for name in names]]
        for prefs in given
        if prefs.covariate is not None
    ]
    return {"covariate": np.ascontiguousarray(np.concatenate(columns)), "covariates": tuple(names)}


def _teams(given: Sequence[Preferences]) -> Parts:
    """Return the teams; items of preferences without teams are teams of one."""
    if all(prefs.team is None for prefs in given):
        return {}
    return {"team": np.concatenate([_or(prefs.team, _position(prefs)) for prefs in given])}


def _position(prefs: Preferences) -> Int32s:
    """Return the position of each entry on its ballot."""
    return (np.arange(len(prefs.item)) - prefs.indptr[segment_index(prefs.indptr)]).astype(np.int32)


def _times(given: Sequence[Preferences], notes: list[str]) -> Parts:
    """Return the times, if all preferences have them and none mixes dates and numbers."""
    if not _all_or_none(given, "time", "times", notes):
        return {}
    if len({prefs.is_dated for prefs in given}) > 1:
        raise InputError("Some preferences have dates and others have numbers as times: convert them to one kind.")
    times = [prefs.time for prefs in given if prefs.time is not None]
    return {"time": np.concatenate(times), "is_dated": given[0].is_dated}


def _candidates(given: Sequence[Preferences], item_codes: Sequence[Int32s], parts: Parts) -> Parts:
    """Return the candidates of each instance: those of all preferences, in order of appearance."""
    instances = parts.get("instances")
    n_instances, n_items = 1 if instances is None else len(instances), len(parts["items"])
    keys = []
    for prefs, codes in zip(given, item_codes, strict=True):
        instance = segment_index(prefs.slot_ptr)
        if instances is not None and prefs.instances is not None:
            instance = instances.codes(prefs.instances.labels)[instance]
        keys.append(instance.astype(np.int64) * n_items + codes[prefs.slot_item])
    key = np.concatenate(keys)
    first = np.sort(np.unique(key, return_index=True)[1])
    key = key[first][np.argsort(key[first] // n_items, kind="stable")] if n_items else key
    instance_of_slot = key // max(n_items, 1)
    slot_ptr = np.searchsorted(instance_of_slot, np.arange(n_instances + 1))
    return {"slot_ptr": slot_ptr.astype(np.int64), "slot_item": (key % max(n_items, 1)).astype(np.int32)}
