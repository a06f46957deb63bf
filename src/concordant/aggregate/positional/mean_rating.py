"""Mean rating: the average of an item's ratings, shrunk towards the overall mean for items with few ratings.

    score = (sum of the item's ratings + k m) / (number of its ratings + k)

k pseudo-ratings at the overall mean m are added, so that a single enthusiastic rating does not put an item first.
``prior_count`` is k; 0 gives the plain mean (alias ``mean``). By default k is estimated from the data by one-way
analysis of variance: with ratings modelled as overall mean + item effect + noise, k = noise variance / variance between
items. Noisy ratings are shrunk more, clearly different items less. If k cannot be estimated (no item is rated twice),
it is 1. m is the mean of the item means, weighted by precision. ``low`` and ``high`` are the bounds of a credible
interval of the item's true mean; an item without ratings has the overall mean. For ranks, the negative rank is
averaged.

Use it if ratings mean the same for all agents. ``mpm`` compares only ratings of the same agent with each other, so it
is robust to strict and lenient agents.

Cost: linear in the ratings. Reference: B. Efron and C. Morris, Stein's estimation rule and its competitors, JASA, 1973;
S. R. Searle, G. Casella and C. E. McCulloch, Variance components, 1992.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from concordant import views
from concordant.aggregate import options
from concordant.aggregate.common import snap_scores
from concordant.ballots.segments import sum_by
from concordant.method import Method, Outcome
from concordant.models.notices import named
from concordant.params import param
from concordant.preferences import Preferences
from concordant.ranking import Notice
from concordant.types import Floats, Int64s

UNKNOWN_COUNT = 1.0  # where the data do not tell noise from differences between items


@dataclass(frozen=True, kw_only=True)
class MeanRating(Method):
    """Bayesian average: mean rating, shrunk towards the overall mean for items with few ratings."""

    silence = "they were not rated"
    errors_by_ballots = True
    needs = frozenset({"values"})
    waives = {"condorcet_consistency": "it averages the ratings of each item and ignores pairwise majorities"}
    aliases = {"mean": {"prior_count": 0.0}, "bayesian-average": {}}

    prior_count: float | None = param(
        None, "number of pseudo-ratings per item, at the overall mean; estimated if not given", low=0.0
    )
    level: float = options.level()

    def scores(self, prefs: Preferences) -> Outcome:
        """Return the shrunken means with intervals and standard errors."""
        ratings = _Ratings(prefs)
        unit = ratings.unit
        count = ratings.prior_count() if self.prior_count is None else np.full(prefs.n_instances, self.prior_count)
        instance, n = ratings.owner, ratings.n
        general, general_variance = ratings.general_mean(count)
        added = np.where(n + count[instance] > 0, count[instance], 1.0)  # an item nobody rated has the general mean
        share = added / (n + added)
        score = unit * (ratings.mean + share * (general[instance] - ratings.mean))
        error = unit * np.sqrt(ratings.noise[instance] / (n + added) + share**2 * general_variance[instance])
        half = NormalDist().inv_cdf((1 + self.level) / 2) * error
        rated = ratings.total > 0
        return Outcome(
            score=snap_scores(prefs, score),
            low=score - half,
            high=score + half,
            fit={
                "prior_count": float(count[rated].mean()) if rated.any() else 0.0,
                "noise": unit * float(np.sqrt(ratings.noise[rated].mean())) if rated.any() else 0.0,
            },
            warnings=_unrated(prefs, n),
            details={"stderr": error, "count": n},
        )


class _Ratings:
    """Number, mean and variation of the ratings per slot and per instance, in units of the largest rating."""

    def __init__(self, prefs: Preferences) -> None:
        assert prefs.value is not None
        self.unit = max(float(np.abs(prefs.value).max(initial=0.0)), 1e-300)  # squares of huge values overflow
        value = (prefs.value if prefs.scale == "rating" else -prefs.value) / self.unit
        weight, slot = views.weight_of_entry(prefs), prefs.entry_slot
        self.owner: Int64s = views.instance_of_slot(prefs)
        self.n_instances = prefs.n_instances
        self.n = sum_by(slot, weight, prefs.n_slots)
        self.mean: Floats = sum_by(slot, weight * value, prefs.n_slots) / np.where(self.n > 0, self.n, 1.0)
        self.total = self._sum(self.n)
        self.items = self._sum((self.n > 0).astype(np.float64))
        inside = self._sum(sum_by(slot, weight * (value - self.mean[slot]) ** 2, prefs.n_slots))
        freedom = self.total - self.items
        self.is_repeated = freedom > 1e-9
        middle = self._sum(self.n * self.mean) / np.maximum(self.total, 1e-300)
        self.outside = self._sum(self.n * (self.mean - middle[self.owner]) ** 2)
        pooled = inside / np.where(self.is_repeated, freedom, 1.0)
        # Nobody is rated twice: noise and differences between items cannot be told apart, so half of each.
        single = self.outside / np.maximum(self.items - 1, 1) / 2
        self.noise: Floats = np.where(self.is_repeated, pooled, single)

    def _sum(self, by_slot: Floats) -> Floats:
        """Sum the values of slots by instance."""
        return sum_by(self.owner, by_slot, self.n_instances)

    def prior_count(self) -> Floats:
        """Return noise variance / variance between items (one-way analysis of variance), at most the number of
        ratings.
        """
        size = (self.total - self._sum(self.n**2) / np.maximum(self.total, 1e-300)) / np.maximum(self.items - 1, 1)
        between = (self.outside / np.maximum(self.items - 1, 1) - self.noise) / np.maximum(size, 1e-300)
        count = self.noise / np.maximum(between, self.noise / np.maximum(self.total, 1.0) + 1e-300)
        return np.where(self.is_repeated & (self.items > 1), count, UNKNOWN_COUNT)

    def general_mean(self, count: Floats) -> tuple[Floats, Floats]:
        """Return the mean of the items' means, each weighted by n / (n + count), and its variance, by instance."""
        weight = self.n / np.where(self.n > 0, self.n + count[self.owner], 1.0)
        total = np.maximum(self._sum(weight), 1e-300)
        between = self.noise / np.where(count > 0, count, 1.0)
        variance = np.where(count > 0, between / total, self.noise / np.maximum(self.total, 1.0))
        return self._sum(weight * self.mean) / total, variance


def _unrated(prefs: Preferences, n: Floats) -> tuple[Notice, ...]:
    """Return a notice about items without ratings."""
    items = tuple(prefs.items.take(np.unique(prefs.slot_item[n == 0])))
    if not items:
        return ()
    return (Notice("never-rated", f"items without ratings get the overall mean: {named(items)}", items),)
