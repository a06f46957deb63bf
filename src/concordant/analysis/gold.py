"""Compare gold labels with the answers of a crowd, whose classes may have other codes, or mean yes and no."""

from __future__ import annotations

import numpy as np

from concordant.ballots.form import listed_classes
from concordant.ballots.vocabulary import Vocabulary
from concordant.errors import InputError, arg
from concordant.labels import Labels
from concordant.preferences import Preferences
from concordant.types import Floats


def in_classes(gold: Labels, classes: Vocabulary | None, label: Floats | None = None) -> Floats:
    """Return gold labels in the codes of these classes of answers; None if answers are numbers.

    ``label`` are some of the labels (by default all of them), NaN where there is none. A class that no answer has gets
    a code of its own, so that it equals no answer. Gold labels that are numbers are compared with the names of the
    classes.
    """
    values = gold.label if label is None else label
    if classes is None:
        if gold.classes is None:
            return values
        raise InputError(
            f"The gold labels are classes ({listed_classes(gold.classes)}), but the answers are numbers: give both as "
            "words or both as numbers, or order both with " + arg("categories", shown="A,B,…") + "."
        )
    if gold.classes is None:
        distinct = np.unique(gold.label)
        names = Vocabulary([f"{value:g}" for value in distinct.tolist()])
        position = np.searchsorted(distinct, np.nan_to_num(values)).clip(0, max(len(distinct) - 1, 0))
    else:
        names, position = gold.classes, np.nan_to_num(values).astype(np.int64)
    own = classes.codes(names).astype(np.float64)
    own = np.where(own >= 0, own, len(classes) + np.arange(len(own)))
    if len(own) and (own >= len(classes)).all():
        raise InputError(
            f"No gold label ({listed_classes(names)}) is a class of the answers ({listed_classes(classes)}): check "
            "that both files name the classes alike."
        )
    return np.where(np.isnan(values), np.nan, own[position] if len(own) else np.nan)


def yes_from(prefs: Preferences, gold: Labels | None = None) -> float | None:
    """Return the smallest judgement that means yes, or None if judgements are classes or names.

    With judgements 0 and 1, gold grades of at least 1 mean yes. With any other two values, the larger one means
    yes. More than two values are classes.

    Parameters
    ----------
    prefs : Preferences
        The judgements.
    gold : Labels, optional
        Gold labels, whose values are also considered.

    Returns
    -------
    float or None
        The threshold.
    """
    return None if prefs.classes is not None else yes_among(values_of(prefs), gold)


def values_of(prefs: Preferences) -> Floats:
    """Return the distinct values of the judgements."""
    return np.unique(prefs.value) if prefs.value is not None else np.zeros(0)


def yes_among(values: Floats, gold: Labels | None) -> float | None:
    """Return the smallest of these values that means yes, or None if there are more than two."""
    if np.isin(values, (0.0, 1.0)).all():
        return 1.0
    if gold is not None:
        values = np.union1d(values, gold.label[np.isfinite(gold.label)])
    return float(values[-1]) if len(values) <= 2 else None
