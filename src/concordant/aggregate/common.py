"""Helpers shared by several families: ties up to rounding errors, and points by tier."""

from __future__ import annotations

import numpy as np

from concordant import views
from concordant.ballots.segments import is_new, max_by, segment_index
from concordant.preferences import Preferences
from concordant.ranking import TIE_TOLERANCE, snap
from concordant.types import Floats, Int64s


def snap_scores(prefs: Preferences, score: Floats, tolerance: float = TIE_TOLERANCE, min_scale: float = 0.0) -> Floats:
    """Tie scores that differ by at most ``tolerance`` times the largest score of the instance (or ``min_scale``)."""
    instance = views.instance_of_slot(prefs)
    largest = max_by(instance, np.abs(score), prefs.n_instances, min_scale)
    return snap(score, instance, tolerance / TIE_TOLERANCE * largest)


def points(slot_ptr: Int64s, tier: Int64s) -> Floats:
    """Return the score of every slot: the number of candidates of its instance in worse tiers, plus half of those tied.

    Tiers are numbered best first.
    """
    instance = segment_index(slot_ptr)
    order = np.lexsort((tier, instance))
    tier_start = np.flatnonzero(is_new(instance[order], tier[order]))
    size = np.diff(np.append(tier_start, len(tier)))
    score = np.empty(len(tier))
    score[order] = np.repeat(slot_ptr[1:][instance[order[tier_start]]] - tier_start - (size + 1) / 2, size)
    return score
