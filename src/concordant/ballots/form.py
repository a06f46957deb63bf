"""The form of preferences: pairs, choices, top-k, approvals, ratings, rankings, teams or empty."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from concordant.ballots.segments import segment_index

if TYPE_CHECKING:
    from concordant.preferences import Preferences


def form_of(prefs: Preferences) -> str:
    """Return the form that was declared, or the one that follows from the ballots."""
    if not len(prefs.item):
        return "empty"
    if prefs.team is not None:
        return "teams"
    if prefs.said_form is not None:
        return prefs.said_form
    sizes = np.diff(prefs.indptr)
    if prefs.open is not None and prefs.open.all():
        first = prefs.tier == np.repeat(prefs.tier[prefs.indptr[:-1][sizes > 0]], sizes[sizes > 0])
        return "choices" if first.sum() == (sizes > 0).sum() and not _has_third_tier(prefs) else "top-k"
    if prefs.scale == "rating":
        return "ratings"
    return "approvals" if sizes.max() > 2 and not _has_third_tier(prefs) else "rankings"


def _has_third_tier(prefs: Preferences) -> bool:
    """Whether a ballot has more than two tiers; the first ballots mostly tell."""
    for n in (100, prefs.n_ballots):
        indptr = prefs.indptr[: n + 1]
        starts = np.ones(indptr[-1], bool)
        starts[1:] = prefs.tier[1 : len(starts)] != prefs.tier[: max(len(starts) - 1, 0)]
        starts[indptr[:-1][np.diff(indptr) > 0]] = True
        if len(starts) and np.bincount(segment_index(indptr), weights=starts).max() > 2:
            return True
    return False
