"""The form of preferences: pairs, choices, top-k, approvals, ratings, rankings, answers, teams or empty."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from concordant.ballots.segments import segment_index
from concordant.ballots.vocabulary import Vocabulary, shorten
from concordant.errors import NeedError, action, arg, phrase

if TYPE_CHECKING:
    from concordant.preferences import Preferences

READ_AS = "read as"
"""Key of ``Preferences.meta`` for the format, or the layout and the columns, that the preferences were read from."""
RAN = "ran"
"""Key of ``Preferences.meta`` for a sentence on where pairs were counted, if not in this process."""


def form_of(prefs: Preferences) -> str:
    """Return the declared form, or the one that follows from the ballots."""
    if not len(prefs.item):
        return "empty"
    if prefs.team is not None:
        return "teams"
    if prefs.scale == "nominal":
        return "answers"
    if prefs.said_form is not None:
        return prefs.said_form
    sizes = np.diff(prefs.indptr)
    if prefs.open is not None and prefs.open.all():
        is_in_first_tier = prefs.tier == np.repeat(prefs.tier[prefs.indptr[:-1][sizes > 0]], sizes[sizes > 0])
        return "choices" if is_in_first_tier.sum() == (sizes > 0).sum() and not _has_third_tier(prefs) else "top-k"
    if prefs.scale == "rating":
        return "ratings"
    return "approvals" if sizes.max() > 2 and not _has_third_tier(prefs) else "rankings"


def refuse_nominal(prefs: Preferences, who: str) -> None:
    """Raise an error if the answers are classes without an order; ``who`` needs an order."""
    if prefs.classes is None:
        return
    text = "{} needs an order, but the answers are classes without one ({}): {}, or order them, best first, with {}."
    use = action("classes", "use the method dawid-skene or cc.crowd.decide, which find the class of each item")
    raise NeedError(phrase(text, who, listed_classes(prefs.classes), use, arg("categories", shown="A,B,…")))


def listed_classes(classes: Vocabulary, n: int = 3) -> str:
    """Return the first classes for a message."""
    shown = ", ".join(shorten(name, 20) for name in classes.labels[:n])
    return shown + (", …" if len(classes) > n else "")


def _has_third_tier(prefs: Preferences) -> bool:
    """Return whether a ballot has more than two tiers; the first 100 ballots are checked first."""
    for n in (100, prefs.n_ballots):
        indptr = prefs.indptr[: n + 1]
        is_tier_start = np.ones(indptr[-1], bool)
        is_tier_start[1:] = prefs.tier[1 : len(is_tier_start)] != prefs.tier[: max(len(is_tier_start) - 1, 0)]
        is_tier_start[indptr[:-1][np.diff(indptr) > 0]] = True
        if len(is_tier_start) and np.bincount(segment_index(indptr), weights=is_tier_start).max() > 2:
            return True
    return False
