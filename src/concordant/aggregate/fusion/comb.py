"""Comb: combine the normalised scores of an item over the lists (CombSUM, CombMNZ and variants).

The scores of each list are normalised (``normalise``), then combined:

========  =========================================================================
sum       the sum (``combsum``)
mnz       the sum times the number of lists that contain the item (``combmnz``)
anz       the mean over the lists that contain the item (``combanz``)
med       their median (``combmed``)
min, max  their minimum and maximum (``combmin``, ``combmax``)
========  =========================================================================

Normalisations of a list with scores x of n items: ``min-max`` (x - min) / (max - min), 1 where all are equal; ``max`` x
/ max |x|; ``sum`` (x - min) / sum (x - min); ``z-score`` (x - mean) / standard deviation, 0 where all are equal;
``none``; and two that use only the order: ``rank`` 1 - (r - 1) / n with r the place in the list, ``borda`` (m - r + 1)
/ m with m the candidates of the instance. If the values are ranks, the score is the list's largest rank + 1 - rank.

Lists that do not contain an item, or only in an open last tier ("the rest"), contribute nothing. An item in no list
scores 0, or the lowest score of its instance if that is smaller. A ballot of weight w counts as w lists.

Cost: linear in the entries (med: a sort). References: J. A. Shaw and E. A. Fox, Combination of multiple searches,
TREC-2, 1994; M. Montague and J. A. Aslam, Relevance score normalization for metasearch, CIKM 2001.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from concordant import kernels, views
from concordant.ballots.segments import max_by, sum_by
from concordant.method import Method
from concordant.params import param
from concordant.preferences import Preferences
from concordant.ranking import Ranking
from concordant.results.explanation import Reason
from concordant.types import Floats, Int64s

BY_ORDER = ("rank", "borda")


@dataclass(frozen=True, kw_only=True)
class Comb(Method):
    """Sum, mean or other combination of the item's normalised scores (CombSUM, CombMNZ, …)."""

    usual_name = "Score combination"
    usual_aliases = {
        "combsum": "CombSUM",
        "combmnz": "CombMNZ",
        "combanz": "CombANZ",
        "combmed": "CombMED",
        "combmin": "CombMIN",
        "combmax": "CombMAX",
    }
    silence = "the list does not contribute to their score"
    needs = frozenset({"values"})
    waives = {"condorcet_consistency": "score differences can outweigh the number of lists that agree"}
    aliases = {f"comb{how}": {"combine": how} for how in ("sum", "mnz", "anz", "med", "min", "max")}

    combine: str = param(
        "sum", "function that combines the scores of an item", choices=("sum", "mnz", "anz", "med", "min", "max")
    )
    normalise: str = param(
        "min-max",
        "normalisation of each list's scores; rank and borda use only the order",
        choices=("min-max", "max", "sum", "z-score", "none", *BY_ORDER),
    )

    def check_needs(self, prefs: Preferences) -> None:
        """Raise NeedError unless there are values, or the normalisation uses only the order."""
        if self.normalise not in BY_ORDER or prefs.value is not None:
            super().check_needs(prefs)

    def scores(self, prefs: Preferences) -> Floats:
        """Return the combined score of every slot; items on no list get the lowest score of their instance."""
        ballot, slot, score = self._comparable(prefs)
        weight = prefs.weight[ballot]
        lists = sum_by(slot, weight, prefs.n_slots)
        combined = _combine(self.combine, slot, score, weight, lists)
        if (lists == 0).any():
            instance = views.instance_of_slot(prefs)
            lowest = 0.0 - max_by(instance[lists > 0], -combined[lists > 0], prefs.n_instances)
            combined[lists == 0] = lowest[instance[lists == 0]]
        return combined

    def _comparable(self, prefs: Preferences) -> tuple[Int64s, Int64s, Floats]:
        """Return ballot, slot and normalised score of every listed entry."""
        is_listed = views.is_named(prefs)
        ballot = views.ballot_of_entry(prefs)[is_listed]
        if self.normalise in BY_ORDER:
            n_better = views.competition_ranks(prefs)[is_listed] - 1
            score = 1 - n_better / _count(prefs, ballot, self.normalise)[ballot]
        else:
            score = _normalise(_raw_scores(prefs)[is_listed], ballot, self.normalise)
        return ballot, prefs.entry_slot[is_listed], score

    def reasons(self, prefs: Preferences, ranking: Ranking) -> Sequence[Reason]:
        """List the contribution of each list to each of the top items."""
        from concordant.aggregate.fusion._shares import shares_reason
        from concordant.narrative.sentences import Scene

        ballot, slot, score = self._comparable(prefs)
        rule = {
            "sum": "The score is their sum.",
            "mnz": "The score is their sum times the number of lists that contain the item.",
            "anz": "The score is their mean over the lists that contain the item.",
            "med": "The score is their median over the lists that contain the item.",
            "min": "The score is their minimum.",
            "max": "The score is their maximum.",
        }[self.combine]
        sentences = [f"The table shows the scores in each list after {self.normalise} normalisation. {rule}"]
        return [shares_reason(Scene(prefs, ranking), ballot, slot, score * prefs.weight[ballot], sentences)]


def _raw_scores(prefs: Preferences) -> Floats:
    """Return ratings as they are, ranks as largest rank of the list + 1 - rank: higher is better."""
    assert prefs.value is not None  # check_needs saw to it
    if prefs.scale == "rating" or not len(prefs.value):
        return prefs.value
    ballot = views.ballot_of_entry(prefs)
    return np.asarray(max_by(ballot, prefs.value, prefs.n_ballots, -np.inf)[ballot] + 1 - prefs.value)


def _count(prefs: Preferences, ballot: Int64s, how: str) -> Int64s:
    """Return the number of items in each list ("rank"), or of candidates in its instance ("borda")."""
    if how == "rank":
        return np.bincount(ballot, minlength=prefs.n_ballots)
    return np.diff(prefs.slot_ptr)[prefs.instance_of_ballot]


def _normalise(score: Floats, ballot: Int64s, how: str) -> Floats:
    """Normalise the scores of each ballot; ``ballot`` is sorted. Lists of equal scores get 0, 1 or 1 / size."""
    if how == "none" or not len(score):
        return score
    start = np.flatnonzero(np.diff(ballot, prepend=-1))
    size = np.diff(np.append(start, len(score)))
    if how == "max":
        largest = np.repeat(np.maximum.reduceat(np.abs(score), start), size)
        return _divide(score, largest, np.zeros(len(score)))
    if how == "z-score":
        centred = score - np.repeat(np.add.reduceat(score, start) / size, size)
        spread = np.repeat(np.sqrt(np.add.reduceat(centred**2, start) / size), size)
        is_flat = np.repeat(np.maximum.reduceat(score, start) == np.minimum.reduceat(score, start), size)
        return _divide(centred, np.where(is_flat, 0.0, spread), np.zeros(len(score)))
    raised = score - np.repeat(np.minimum.reduceat(score, start), size)
    reduce = np.add if how == "sum" else np.maximum
    total = np.repeat(reduce.reduceat(raised, start), size)
    if_flat = 1.0 / size if how == "sum" else np.ones(len(size))
    return _divide(raised, total, np.repeat(if_flat, size))


def _divide(numerator: Floats, denominator: Floats, otherwise: Floats) -> Floats:
    """Divide if the divisor is positive, else return ``otherwise``, which is overwritten."""
    np.divide(numerator, denominator, out=otherwise, where=denominator > 0)
    return otherwise


def _combine(how: str, slot: Int64s, score: Floats, weight: Floats, lists: Floats) -> Floats:
    """Return the combined score of every slot; ``lists`` is the weight of the lists that contain it."""
    if how == "med":
        return np.nan_to_num(kernels.weighted_medians(slot, score, weight, len(lists)), nan=0.0)
    if how in ("min", "max"):
        reduce, worst = (np.minimum, np.inf) if how == "min" else (np.maximum, -np.inf)
        extreme = np.full(len(lists), worst)
        reduce.at(extreme, slot, score)
        return np.where(lists > 0, extreme, 0.0)
    total = sum_by(slot, weight * score, len(lists))
    if how == "mnz":
        return total * lists
    return total if how == "sum" else _divide(total, lists, np.zeros(len(total)))
