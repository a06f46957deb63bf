"""Margins of games: the points of one side minus those of the other."""

from __future__ import annotations

import numpy as np

from concordant.errors import NeedError, arg
from concordant.preferences import Preferences
from concordant.ranking import Notice
from concordant.types import Floats


def margins(prefs: Preferences) -> Floats:
    """Return the points of the first entry minus those of the second by ballot, NaN if unknown.

    The first entry is the winner, unless the points of a game contradict its result.
    """
    if prefs.points is None or (np.diff(prefs.indptr) != 2).any():
        raise NeedError("Margins require games of two sides with the points of both: leave out " + arg("margin") + ".")
    return prefs.points[0::2] - prefs.points[1::2]


def unknown_margins(prefs: Preferences, fate: str) -> tuple[Notice, ...]:
    """Return a notice on games whose points are unknown; ``fate`` is a participle that says what happens to them."""
    count = 0 if prefs.points is None else int(np.isnan(prefs.points[0::2] - prefs.points[1::2]).sum())
    if not count:
        return ()
    return (Notice("unknown-points", f"without points, {count:,} {'games are' if count > 1 else 'game is'} {fate}"),)
