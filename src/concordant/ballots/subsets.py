"""Select some of the ballots and candidates of preferences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from concordant.ballots.build import compact
from concordant.ballots.segments import pointer, segment_index, spans
from concordant.ballots.vocabulary import Vocabulary
from concordant.errors import InputError
from concordant.types import AnyArray, Bools, Int64s

OF_ENTRIES = ("value", "shown", "team", "covariate", "points")  # what preferences may hold of every entry
OF_BALLOTS = ("open", "time")

if TYPE_CHECKING:
    from concordant.preferences import Preferences


def chosen_ballots(n_ballots: int, chosen: AnyArray | slice | Sequence[int]) -> Int64s:
    """Return the indices of the ballots that a mask, a slice or indices select, in that order and with repetitions."""
    try:
        ballots = np.atleast_1d(np.arange(n_ballots)[chosen])
    except IndexError as problem:
        raise InputError(f"The ballots cannot be selected ({problem}): give a mask, indices or a slice.") from None
    if ballots.ndim > 1:
        raise InputError(f"The selection of ballots has {ballots.ndim} dimensions: give a mask, indices or a slice.")
    return ballots


def parts_of_subset(
    prefs: Preferences, ballots: Bools | Int64s, slots: Bools, kept_entries: Bools | None = None
) -> dict[str, Any]:
    """Return constructor arguments for these ballots and slots; unused labels are removed from the vocabularies.

    Ballots are a mask or indices, which may repeat. ``kept_entries`` is a mask of the entries to keep. A ballot that
    loses its items is dropped.
    """
    chosen = chosen_ballots(prefs.n_ballots, ballots)
    first, last = prefs.indptr[chosen], prefs.indptr[chosen + 1]
    entries, ballot_of_entry = spans(first, last), np.repeat(np.arange(len(chosen)), last - first)
    is_kept_entry = slots[prefs.entry_slot[entries]]
    if kept_entries is not None:
        is_kept_entry = is_kept_entry & kept_entries[entries]
    size_left = np.bincount(ballot_of_entry[is_kept_entry], minlength=len(chosen))
    instance_of_slot = segment_index(prefs.slot_ptr)[slots]
    has_candidates = np.bincount(instance_of_slot, minlength=prefs.n_instances) > 0
    was_empty = (first == last) & has_candidates[prefs.instance_of_ballot[chosen]]
    is_kept = (size_left > (1 if prefs.said_form == "pairs" else 0)) | was_empty  # half a duel says nothing
    entries, chosen = entries[is_kept_entry & is_kept[ballot_of_entry]], chosen[is_kept]
    used_items, item_code = compact(prefs.slot_item[slots], len(prefs.items))
    parts: dict[str, Any] = {
        "items": Vocabulary(prefs.items.take(used_items)),
        "indptr": pointer(size_left[is_kept]),
        "item": item_code[prefs.item[entries]],
        "tier": prefs.tier[entries],
        **some(prefs, OF_ENTRIES, entries),
        "covariates": prefs.covariates,
        "scale": prefs.scale,
        "classes": prefs.classes,
        "weight": prefs.weight[chosen],
        **some(prefs, OF_BALLOTS, chosen),
        "is_dated": prefs.is_dated,
        "slot_item": item_code[prefs.slot_item[slots]],
        "form": prefs.said_form,
        "is_merged": prefs.is_merged,
        "meta": prefs.meta,
        "library": prefs.library,
    }
    if prefs.instances is not None:
        used_codes, new_code = compact(instance_of_slot, len(prefs.instances))
        parts.update(
            instances=Vocabulary(prefs.instances.take(used_codes)),
            instance=new_code[prefs.instance_of_ballot[chosen]],
        )
        parts["slot_ptr"] = np.searchsorted(new_code[instance_of_slot], np.arange(len(used_codes) + 1))
    else:
        parts["slot_ptr"] = np.array([0, len(instance_of_slot)])
    if prefs.agents is not None and prefs.agent is not None:
        used_codes, new_code = compact(prefs.agent[chosen], len(prefs.agents))
        parts.update(agents=Vocabulary(prefs.agents.take(used_codes)), agent=new_code[prefs.agent[chosen]])
    return parts


def some(prefs: Preferences, names: Sequence[str], chosen: Int64s) -> dict[str, Any]:
    """Return the chosen elements of these arrays, as far as the preferences have them."""
    arrays = {name: getattr(prefs, name) for name in names}
    return {name: None if array is None else array[chosen] for name, array in arrays.items()}


def kept_labels(vocabulary: Vocabulary | None, wanted: Any) -> Any:
    """Return the labels to keep: as given, or those that a function accepts."""
    if not callable(wanted) or vocabulary is None:
        return wanted
    return [label for label in vocabulary.labels if wanted(label)]


def mask_of_ballots(prefs: Preferences, wanted: Any) -> tuple[Bools, Bools]:
    """Return a mask of ballots, and the mask of the slots that remain without the other ballots."""
    mask = np.asarray(wanted(prefs) if callable(wanted) else wanted)
    if mask.dtype != np.bool_ or mask.shape != (prefs.n_ballots,):
        shape = " x ".join(map(str, mask.shape)) or "one"
        raise InputError(
            f"The mask has {shape} values of type {mask.dtype}, but there are {prefs.n_ballots} ballots: give one "
            "truth value per ballot."
        )
    entry_of = np.repeat(mask, np.diff(prefs.indptr))
    was_ranked, is_ranked = np.zeros(prefs.n_slots, bool), np.zeros(prefs.n_slots, bool)
    was_ranked[prefs.entry_slot] = True
    is_ranked[prefs.entry_slot[entry_of]] = True
    return mask, is_ranked | ~was_ranked
