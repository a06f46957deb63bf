"""What methods of several families share: sums and medians by slot, ties that are ties in spite of rounding, and
which instance and candidate a question to a fitted model is about.
"""

from __future__ import annotations

import numpy as np

from concordant import views
from concordant.errors import InputError
from concordant.preferences import Preferences
from concordant.ranking import TIE_TOLERANCE
from concordant.types import AnyArray, Bools, Floats, Int64s
from concordant.vocabulary import Vocabulary


def is_named(prefs: Preferences) -> Bools:
    """Say of every entry whether its ballot names it, and not only as one of "the rest" in an open last tier."""
    if prefs.open is None:
        return np.ones(len(prefs.item), bool)
    groups = views.tiers(prefs)
    return np.asarray(~groups.is_open[groups.of_entry])


def has_whole_weights(prefs: Preferences) -> bool:
    """Say whether all weights are whole numbers, so that sums of them are exact."""
    return bool((prefs.weight == np.floor(prefs.weight)).all())


def snap(values: Floats, instance: Int64s, scale: Floats) -> Floats:
    """Make values of one instance equal that differ only by rounding, and 0 those that are nothing else.

    ``scale`` (per instance) is the size of the sums the values come from: what lies within 1e-12 of it is rounding.
    """
    tolerance = TIE_TOLERANCE * scale[instance]
    values = np.where(np.abs(values) <= tolerance, 0.0, values)
    order = np.lexsort((values, instance))
    ordered = values[order]
    starts = np.ones(len(values), bool)
    starts[1:] = (np.diff(ordered) > tolerance[order[1:]]) | (np.diff(instance[order]) != 0)
    snapped = np.empty_like(values)
    snapped[order] = ordered[np.maximum.accumulate(np.where(starts, np.arange(len(values)), 0))]
    return snapped


def weighted_median(group: Int64s, value: Floats, weight: Floats, n_groups: int) -> Floats:
    """Return the weighted median of every group, NaN for a group without weight.

    It is the mean of the lower median (the least value that at least half the weight does not exceed) and the upper
    one (the least value that more than half does not exceed). Weights may be negative to take a value out again.
    """
    result = np.full(n_groups, np.nan)
    if not len(group):
        return result
    order = np.lexsort((value, group))
    group, value, weight = group[order], value[order], weight[order]
    starts = np.ones(len(group), bool)
    starts[1:] = (np.diff(group) != 0) | (np.diff(value) != 0)
    first = np.flatnonzero(starts)
    group, value, weight = group[first], value[first], np.add.reduceat(weight, first)
    total = np.bincount(group, weights=weight, minlength=n_groups)
    present, start = np.unique(group, return_index=True)
    before = np.concatenate([[0.0], np.cumsum(weight)])[start]
    reached = np.cumsum(weight) - np.repeat(before, np.diff(np.append(start, len(group))))
    is_whole = bool((weight == np.floor(weight)).all())
    slack = 0.0 if is_whole else TIE_TOLERANCE * max(np.abs(before).max(), np.abs(total).max())
    last = np.append(start[1:], len(group)) - 1
    lower, upper = (
        value[np.minimum(start + np.add.reduceat(is_below, start, dtype=np.int64), last)]
        for is_below in (reached < total[group] / 2 - slack, reached <= total[group] / 2 + slack)
    )
    result[present] = (lower + upper) / 2
    result[total <= slack] = np.nan
    return result


def instance_asked_for(instances: Vocabulary | None, n_instances: int, instance: object) -> int:
    """Return the number of the instance a question to a fitted model is about; one of several must be named."""
    if instance is None:
        if n_instances > 1:
            raise InputError("This model covers several instances: name one with instance=.")
        return 0
    if instances is None:
        raise InputError("This model has a single, unnamed instance: leave instance= out.")
    return instances.code(instance, "instance")


def place_of(item: object, items: Vocabulary, slot_item: AnyArray) -> int:
    """Return the place of an item among the candidates of an instance."""
    found = np.flatnonzero(slot_item == items.code(item, "item"))
    if not len(found):
        raise InputError(f"{item!r} is no candidate of this instance.")
    return int(found[0])
