"""What the positional rules share: where a ballot draws the line."""

from __future__ import annotations

import numpy as np

from concordant import views
from concordant.aggregate._shared import is_named
from concordant.preferences import Preferences
from concordant.types import Bools


def is_within(prefs: Preferences, cutoff: float) -> Bools:
    """Say of every entry whether it is rated at least, or ranked at most, ``cutoff``."""
    if prefs.value is not None and prefs.scale == "rating":
        return np.asarray(prefs.value >= cutoff)
    ranks = prefs.value if prefs.value is not None else views.competition_ranks(prefs)
    return np.asarray(ranks <= cutoff) & is_named(prefs)
