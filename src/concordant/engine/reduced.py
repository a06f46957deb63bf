"""Rank by methods that need only sums, using a tally instead of all ballots.

- mean-rating needs the number of times each item got each level: a histogram
- borda needs the numbers of items ranked above, below and level with each item, over all ballots
- mpm with equal variances needs each item's net wins and the total count: its log-likelihood is linear in them

The scores equal those computed from the ballots. Results that require ballots are missing: the confidence intervals of
mpm, which are clustered by ballot, and whether groups of items were never compared.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from concordant.ballots.segments import pointer, sum_by
from concordant.engine.statistics import LEVELS, NET_WINS, POSITIONS, Statistic
from concordant.engine.tallies import Tally
from concordant.method import Method
from concordant.models.observations.preference_counts import Corpus
from concordant.models.solve.multinomial import Solver
from concordant.preferences import Preferences
from concordant.ranking import Notice, Ranking, snap
from concordant.types import Floats, Int64s


def statistic_for(method: Method) -> Statistic | None:
    """Return the sums that a method with these parameters needs; None if it needs whole ballots."""
    if method.name == "mean-rating":
        return LEVELS
    if method.name == "borda":
        return POSITIONS
    options: Any = method
    if method.name == "mpm" and options.counts == "difference" and options.variances == "equal":
        return NET_WINS if not (options.adherence or method.learnt) else None
    return None


def rank_sums(method: Method, tally: Tally, form: str) -> Ranking:
    """Rank by a method that needs only sums (see ``statistic_for``).

    ``form`` is the form of the ballots, such as "ratings".
    """
    ordered = tally.sorted
    if method.name == "mean-rating":
        return replace(method.rank(_ballots_of_levels(ordered)), why=None, sure=None)
    by_item = ordered.only(ordered.keys["item"] >= 0)
    prefs = _candidates(by_item)
    if method.name == "borda":
        ranking = method.ranking_of(prefs, _borda(method, ordered, by_item, prefs, form))
    else:  # mpm
        ranking = _mpm(method, by_item, prefs)
    return replace(ranking, why=None, sure=None, counted=None)  # the ballots behind it are gone


def _ballots_of_levels(tally: Tally) -> Preferences:
    """Return a ballot for each item and level, weighted by the number of times the item got the level."""
    level = np.array([float(text) for text in tally.labels["level"]])
    n = len(tally)
    return Preferences(
        tally.labels["item"],
        np.arange(n + 1),
        tally.keys["item"],
        np.zeros(n, np.int32),
        value=level[tally.keys["level"]],
        scale="rating",
        weight=tally.sums["weight"].value,
        is_merged=True,
        **_instances(tally),
    )


def _instances(tally: Tally) -> dict[str, Any]:
    """Return the arguments ``instances`` and ``instance`` of preferences; empty for a single unnamed instance."""
    is_named = list(tally.labels["instance"]) != [""]
    return {"instances": tally.labels["instance"], "instance": tally.keys["instance"]} if is_named else {}


def _candidates(by_item: Tally) -> Preferences:
    """Return one ballot per instance that names all its items; slots have the order of the rows of ``by_item``."""
    sizes = np.bincount(by_item.keys["instance"], minlength=len(by_item.labels["instance"]))
    ptr, item = pointer(sizes), by_item.keys["item"]
    named: dict[str, Any] = {}
    if _instances(by_item):
        named = {"instances": by_item.labels["instance"], "instance": np.arange(len(sizes))}
    tier = np.zeros(len(item), np.int32)
    return Preferences(by_item.labels["item"], ptr, item, tier, slot_ptr=ptr, slot_item=item, is_merged=True, **named)


def _borda(method: Any, tally: Tally, by_item: Tally, prefs: Preferences, form: str) -> Floats:
    """Return Borda points by slot from sums over ballots; with ``missing="ignore"``, the share of pairs won."""
    named, better, worse, tied = (by_item.sums[name].value for name in ("weight", "better", "worse", "tied"))
    missing = method.missing if method.missing != "auto" else ("ignore" if form == "ratings" else "last")
    if missing == "ignore":
        compared = better + worse + tied
        share = np.full(len(named), 0.5)
        np.divide(worse + tied / 2, compared, out=share, where=compared > 0)
        return share
    size = np.diff(prefs.slot_ptr)
    instance: Int64s = np.repeat(np.arange(len(size)), size)
    ballots = tally.only(tally.keys["item"] < 0)  # rows without an item count whole ballots
    weight = sum_by(ballots.keys["instance"], ballots.sums["weight"].value, len(size))
    base = (weight * (size - 1) - sum_by(instance, named, len(size))) / 2
    # Among m candidates, a ballot of length L gives m - p points to the item at position p, and (m - 1 - L) / 2 to each
    # item it leaves out (the mean of the free positions). ``base`` is the latter summed over all ballots; for those
    # that name the item, (L + m + 1) / 2 - p is added. ``lengths`` and ``positions`` sum L and p over them.
    lengths, positions = better + worse + tied + named, better + tied / 2 + named
    points = base[instance] + (lengths + named * (1 + size[instance])) / 2 - positions
    # Sums of whole numbers are exact; others may differ by rounding where items are tied.
    if all(sums.part is None for sums in tally.sums.values()):
        return np.asarray(points)
    return snap(points, instance, weight * size)


def _mpm(method: Any, by_item: Tally, prefs: Preferences) -> Ranking:
    """Fit MPM with equal variances to the net wins of each item: its log-likelihood is linear in them."""
    net, total, won, lost = (by_item.sums[name].value for name in ("net", "total", "won", "lost"))
    size = np.diff(prefs.slot_ptr)
    by_instance = sum_by(np.repeat(np.arange(len(size)), size), total, len(size))
    # bit 0: preferred to some item; bit 1: some item is preferred to it
    sides = ((won > 0) + 2 * (lost > 0)).astype(np.uint8)
    corpus = Corpus(prefs, np.zeros(len(net)), False, net, by_instance, sides)
    solver = Solver(corpus, method.prior, method.variances)
    outcome = method.outcome_of(solver, solver.solve(np.ones(prefs.n_ballots)), None)
    text = (
        "ratings were reduced to sums, so confidence intervals are not available and groups of items that were "
        "never compared are not detected"
    )
    notices = (*outcome.warnings, Notice("reduced-to-sums", text))
    ranking: Ranking = method.ranking_of(prefs, replace(outcome, uncertainty=None, warnings=notices, model=None))
    return ranking
