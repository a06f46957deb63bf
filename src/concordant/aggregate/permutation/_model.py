"""What a model over permutations answers, and what a reader must know of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from concordant import kernels, views
from concordant.aggregate.matrices import comparable_groups, group_notices
from concordant.aggregate.permutation._dispersion import MOST_THETA
from concordant.models.fitted import instance_asked_for
from concordant.preferences import Preferences
from concordant.ranking import Notice
from concordant.types import Bools, Floats, Int32s, Int64s
from concordant.vocabulary import Vocabulary


@dataclass(frozen=True, eq=False)
class PermutationModel:
    """A fitted model: the centre of every instance (items, best first) and its dispersions."""

    items: Vocabulary
    instances: Vocabulary | None
    slot_ptr: Int64s
    centre_item: Int32s
    phi: Floats
    """Per instance (Mallows), or per place of the centre (generalised Mallows)."""

    def centre(self, instance: object = None) -> list[str]:
        """Return the items of the centre, best first."""
        q = instance_asked_for(self.instances, len(self.slot_ptr) - 1, instance)
        return self.items.take(self.centre_item[self.slot_ptr[q] : self.slot_ptr[q + 1]])


def dispersion_notices(prefs: Preferences, theta: Floats) -> tuple[Notice, ...]:
    """Tell of items that cannot be compared, and of dispersions at the ends of their range."""
    size = np.diff(prefs.slot_ptr)
    if _has_full_order(prefs).all():
        return _at_the_ends(theta, size > 1)
    found = views.win_matrices(prefs, "ignore")
    compared = found.wins + kernels.transpose_matrices(prefs.slot_ptr, found.wins) + found.ties
    told = list(group_notices(prefs, comparable_groups(prefs.slot_ptr, compared)))
    said = (
        np.add.reduceat(np.append(compared, 0.0), np.append(found.ptr[:-1], found.ptr[-1]))[:-1]
        if len(theta)
        else theta
    )
    return tuple(told) + _at_the_ends(theta, np.where(found.size > 0, said, 0.0) > 0)


def _has_full_order(prefs: Preferences) -> Bools:
    """Say of every instance whether some ballot orders all its candidates: then all can be compared."""
    n_tiers = np.bincount(views.tiers(prefs).ballot, minlength=prefs.n_ballots)
    is_full = n_tiers == np.diff(prefs.slot_ptr)[prefs.instance_of_ballot]
    return np.bincount(prefs.instance_of_ballot[is_full], minlength=prefs.n_instances) > 0


def _at_the_ends(theta: Floats, is_told: Bools) -> tuple[Notice, ...]:
    """Tell of dispersions at the ends of their range, in instances whose ballots compare anything."""
    told = []
    unanimous = (theta >= 0.99 * MOST_THETA) & is_told
    if unanimous.any():
        text = (
            f"every ballot agrees with the centre in {int(unanimous.sum()):,} instance(s), so phi is at its lower end"
        )
        told.append(Notice("no-scatter", text))
    random = (theta <= 0) & is_told
    if random.any():
        text = f"the ballots scatter no less than chance in {int(random.sum()):,} instance(s): the centre means little"
        told.append(Notice("no-consensus", text))
    return tuple(told)
