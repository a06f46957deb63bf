"""Parts of preferences: some of the ballots, some of the candidates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from concordant.gather import compact, segment_index
from concordant.segments import pointer
from concordant.types import AnyArray, Bools
from concordant.vocabulary import Vocabulary

if TYPE_CHECKING:
    from concordant.preferences import Preferences


def parts_of_subset(prefs: Preferences, ballots: Bools, slots: Bools) -> dict[str, Any]:
    """Return the constructor's arguments that keep these ballots and slots; vocabularies shrink to what remains."""
    ballot_of_entry = segment_index(prefs.indptr)
    entries = ballots[ballot_of_entry] & slots[prefs.entry_slot]
    sizes = np.bincount(ballot_of_entry[entries], minlength=prefs.n_ballots)
    ballots = ballots & (sizes > (1 if prefs.said_form == "pairs" else 0))  # half a duel says nothing
    entries &= ballots[ballot_of_entry]
    instance_of_slot = segment_index(prefs.slot_ptr)[slots]
    used_items, item_code = compact(prefs.slot_item[slots], len(prefs.items))
    parts: dict[str, Any] = {
        "items": Vocabulary(prefs.items.take(used_items)),
        "indptr": pointer(sizes[ballots]),
        "item": item_code[prefs.item[entries]],
        "tier": prefs.tier[entries],
        **{name: _some(getattr(prefs, name), entries) for name in ("value", "shown", "team", "covariate")},
        "covariates": prefs.covariates,
        "scale": prefs.scale,
        "weight": prefs.weight[ballots],
        **{name: _some(getattr(prefs, name), ballots) for name in ("open", "time")},
        "is_dated": prefs.is_dated,
        "slot_item": item_code[prefs.slot_item[slots]],
        "form": prefs.said_form,
        "is_merged": prefs.is_merged,
        "meta": prefs.meta,
    }
    if prefs.instances is not None:
        used, code = compact(instance_of_slot, len(prefs.instances))
        parts.update(
            instances=Vocabulary(prefs.instances.take(used)),
            instance=code[prefs.instance_of_ballot[ballots]],
        )
        parts["slot_ptr"] = np.searchsorted(code[instance_of_slot], np.arange(len(used) + 1))
    else:
        parts["slot_ptr"] = np.array([0, len(instance_of_slot)])
    if prefs.agents is not None and prefs.agent is not None:
        used, code = compact(prefs.agent[ballots], len(prefs.agents))
        parts.update(agents=Vocabulary(prefs.agents.take(used)), agent=code[prefs.agent[ballots]])
    return parts


def _some(array: AnyArray | None, chosen: Bools) -> AnyArray | None:
    return None if array is None else array[chosen]
