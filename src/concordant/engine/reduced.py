"""Methods that need only sums: ranked from a tally, as if from all the ballots behind it.

- mean-rating looks at how often each item got each level: a histogram
- borda adds up places: per item how many were better, worse and equal, over all ballots
- mpm with equal variances needs each item's net wins and the total count: its log-likelihood is linear in them

The scores are those of the ballots. What only ballots tell is missing: the intervals of mpm, which are clustered by
ballot, and whether groups of items were never compared.
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
    """Return what a method with these parameters needs to know; None where it needs whole ballots."""
    if method.name == "mean-rating":
        return LEVELS
    if method.name == "borda":
        return POSITIONS
    said: Any = method
    if method.name == "mpm" and said.counts == "difference" and said.variances == "equal":
        return NET_WINS if not (said.adherence or method.learnt) else None
    return None


def rank_sums(method: Method, tally: Tally, form: str) -> Ranking:
    """Rank by the sums of all ballots; ``form`` says whether these are rankings or ratings."""
    found = tally.sorted
    if method.name == "mean-rating":
        return replace(method.rank(_ballots_of_levels(found)), why=None, sure=None)
    by_item = found.only(found.keys["item"] >= 0)
    prefs = _candidates(by_item)
    if method.name == "borda":
        ranking = method.ranking_of(prefs, _borda(method, found, by_item, prefs, form))
    else:
        ranking = _mpm(method, by_item, prefs)
    return replace(ranking, why=None, sure=None)  # the ballots behind it are gone


def _ballots_of_levels(tally: Tally) -> Preferences:
    """Return a ballot for every item and level, as heavy as it was often given."""
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
    is_named = list(tally.labels["instance"]) != [""]
    return {"instances": tally.labels["instance"], "instance": tally.keys["instance"]} if is_named else {}


def _candidates(by_item: Tally) -> Preferences:
    """Return one ballot per instance that names all its items: sums stand in the order of its slots."""
    sizes = np.bincount(by_item.keys["instance"], minlength=len(by_item.labels["instance"]))
    ptr, item = pointer(sizes), by_item.keys["item"]
    named: dict[str, Any] = {}
    if _instances(by_item):
        named = {"instances": by_item.labels["instance"], "instance": np.arange(len(sizes))}
    tier = np.zeros(len(item), np.int32)
    return Preferences(by_item.labels["item"], ptr, item, tier, slot_ptr=ptr, slot_item=item, is_merged=True, **named)


def _borda(method: Any, tally: Tally, by_item: Tally, prefs: Preferences, form: str) -> Floats:
    named, better, worse, tied = (by_item.sums[name].value for name in ("weight", "better", "worse", "tied"))
    missing = method.missing if method.missing != "auto" else ("ignore" if form == "ratings" else "last")
    if missing == "ignore":
        compared = better + worse + tied
        share = np.full(len(named), 0.5)
        np.divide(worse + tied / 2, compared, out=share, where=compared > 0)
        return share
    size = np.diff(prefs.slot_ptr)
    owner: Int64s = np.repeat(np.arange(len(size)), size)
    ballots = tally.only(tally.keys["item"] < 0)
    weight = sum_by(ballots.keys["instance"], ballots.sums["weight"].value, len(size))
    base = (weight * (size - 1) - sum_by(owner, named, len(size))) / 2
    # The sum of the ballots' lengths, and of the item's positions in them.
    lengths, positions = better + worse + tied + named, better + tied / 2 + named
    points = base[owner] + (lengths + named * (1 + size[owner])) / 2 - positions
    if all(one.part is None for one in tally.sums.values()):
        return np.asarray(points)
    return snap(points, owner, weight * size)


def _mpm(method: Any, by_item: Tally, prefs: Preferences) -> Ranking:
    net, total, won, lost = (by_item.sums[name].value for name in ("net", "total", "won", "lost"))
    size = np.diff(prefs.slot_ptr)
    by_instance = sum_by(np.repeat(np.arange(len(size)), size), total, len(size))
    role = ((won > 0) + 2 * (lost > 0)).astype(np.uint8)
    corpus = Corpus(prefs, np.zeros(len(net)), False, net, by_instance, role)
    solver = Solver(corpus, method.prior, method.variances)
    outcome = method.outcome_of(solver, solver.solve(np.ones(prefs.n_ballots)), None)
    text = "ratings were reduced to sums, which tell neither intervals nor whether groups of items were never compared"
    told = (*outcome.warnings, Notice("reduced-to-sums", text))
    ranking: Ranking = method.ranking_of(prefs, replace(outcome, uncertainty=None, warnings=told, model=None))
    return ranking
