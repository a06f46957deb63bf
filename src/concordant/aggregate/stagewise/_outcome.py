"""From a fit to what a reader gets: intervals, ranks that hold, warnings, and questions to the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from concordant import kernels, views
from concordant.method import Outcome
from concordant.models.fitted import instance_asked_for, place_of
from concordant.models.stages import CHOSEN, GOES_ON, SMALL, StageFit, Stages
from concordant.preferences import Preferences
from concordant.ranking import TIE_TOLERANCE, Notice, snap
from concordant.types import AnyArray, Bools, Floats, Int32s
from concordant.vocabulary import Vocabulary, shorten

TIE_OF_FITTED = 1e-8  # fitted scores this close, relative to the largest, are one score
LOOSE = 1e-6
SHOWN = 5
ENOUGH = 20  # entries per item in which to look for proof that all items are comparable
BEST_DRAWS = 2000
REACH = 5.0  # standard errors behind the first item at which nobody hopes to be the best


@dataclass(frozen=True, eq=False)
class StageModel:
    """A fitted stagewise model: the chance of an item to be chosen from a set."""

    items: Vocabulary
    instances: Vocabulary | None
    slot_ptr: AnyArray
    slot_item: Int32s
    score: Floats

    def p_first(self, items: Sequence[object], *, instance: object = None) -> Floats:
        """Return the chance of each of these items to be put before all the others."""
        q = instance_asked_for(self.instances, len(self.slot_ptr) - 1, instance)
        span = slice(int(self.slot_ptr[q]), int(self.slot_ptr[q + 1]))
        own = self.score[span][[place_of(item, self.items, self.slot_item[span]) for item in items]]
        worth = np.exp(own - own.max())
        return np.asarray(worth / worth.sum())

    def p_beats(self, one: object, other: object, *, instance: object = None) -> float:
        """Return the chance that one item is put before another."""
        return float(self.p_first([one, other], instance=instance)[0])


def outcome_of(
    prefs: Preferences,
    stages: Stages,
    fit: StageFit,
    *,
    prior: float,
    level: float,
    seed: int | None,
    told: tuple[Notice, ...],
) -> Outcome:
    """Return scores with their intervals, fit and warnings."""
    score = tie_rounded(prefs, fit.score)
    warnings = [*told, *standing_notices(prefs, stages)]
    if fit.norm > LOOSE:
        warnings.append(Notice("no-convergence", "the fit did not converge, so the scores are approximate"))
    low = high = None
    details: dict[str, AnyArray] = {}
    if fit.covariance is not None:
        lacking = ~fit.is_definite & (np.diff(prefs.slot_ptr) > 1)
        if lacking.any():
            text = (
                "the likelihood is flat or curves upwards at these scores (with ties, unequal scores may fit better "
                "either way), or there are too many items, so there are no standard errors; a stronger or a gamma "
                "prior helps"
            )
            warnings.append(notice_on(prefs, "no-errors", text, np.repeat(lacking, np.diff(prefs.slot_ptr))))
        else:
            stderr = np.sqrt(np.maximum(_diagonals(prefs, fit.covariance), 0.0))
            half = _two_sided(level) * stderr
            low, high = score - half, score + half
            details = {"stderr": stderr, **_ranks(prefs, score, fit.covariance, level, seed)}
    return Outcome(
        score=score,
        low=low,
        high=high,
        fit={
            "log_likelihood": fit.log_likelihood,
            "prior": prior,
            "gradient": fit.norm,
            "steps": float(fit.steps),
        },
        warnings=tuple(warnings),
        details=details,
        model=StageModel(prefs.items, prefs.instances, prefs.slot_ptr, prefs.slot_item, score),
    )


def tie_rounded(prefs: Preferences, score: Floats) -> Floats:
    """Make scores equal that differ only by what a search leaves undecided."""
    instance = views.instance_of_slot(prefs)
    largest = np.full(prefs.n_instances, 1e-3)
    np.maximum.at(largest, instance, np.abs(score))
    return snap(score, instance, TIE_OF_FITTED / TIE_TOLERANCE * largest)


def _diagonals(prefs: Preferences, covariance: Floats) -> Floats:
    size = np.diff(prefs.slot_ptr)
    start = np.concatenate([[0], np.cumsum(size**2)])[:-1]
    local = np.arange(prefs.n_slots) - np.repeat(prefs.slot_ptr[:-1], size)
    return np.asarray(covariance[np.repeat(start, size) + local * (np.repeat(size, size) + 1)])


def _ranks(
    prefs: Preferences, score: Floats, covariance: Floats, level: float, seed: int | None
) -> dict[str, AnyArray]:
    """Return ranks that hold together at this level, and the chance to be the best."""
    size = np.diff(prefs.slot_ptr)
    # Šidák's inequality over all pairs of an instance: it holds however the differences depend on each other.
    pairs = np.maximum(size * (size - 1) // 2, 1)
    critical = np.array([_two_sided(level ** (1 / n)) for n in pairs.tolist()])
    low, high = kernels.rank_bounds(prefs.slot_ptr, score, covariance, critical)
    details: dict[str, AnyArray] = {"rank_low": low, "rank_high": high}
    if size.max(initial=0) <= SMALL:
        draws = np.random.default_rng(seed).standard_normal((BEST_DRAWS, int(size.max(initial=1))))
        details["p_best"] = kernels.best_chances(prefs.slot_ptr, score, covariance, draws, REACH)
    return details


def _two_sided(level: float) -> float:
    """Return how many standard errors a two-sided interval of this level reaches."""
    return NormalDist().inv_cdf(min((1 + level) / 2, 1 - 1e-16))


# ---- warnings ----
def standing_notices(prefs: Preferences, stages: Stages) -> list[Notice]:
    """Tell of items that cannot be compared, and of those that only a prior keeps from infinity."""
    n = prefs.n_slots
    enough = ENOUGH * n
    if len(stages.slot) > 2 * enough and prefs.n_instances == 1:
        ballots = int(np.searchsorted(stages.indptr, enough))
        if (_groups(stages, ballots, n)[1] == 0).all():  # what some ballots connect, all connect
            return []
    weak, strong = _groups(stages, len(stages.weight), n)
    chosen, behind = np.zeros(n, bool), np.zeros(n, bool)
    starts = np.flatnonzero(stages.mark)
    kind = np.repeat(stages.mark[starts], np.diff(np.append(starts, len(stages.mark))))
    first_tier = np.zeros(len(starts), bool)
    first_tier[np.searchsorted(starts, stages.indptr[:-1][np.diff(stages.indptr) > 0])] = True
    is_first = np.repeat(first_tier, np.diff(np.append(starts, len(stages.mark))))
    chosen[stages.slot[kind == CHOSEN]] = True
    behind[stages.slot[~is_first]] = True
    told = []
    idle = ~chosen & ~behind & np.repeat(np.diff(prefs.slot_ptr) > 1, np.diff(prefs.slot_ptr))
    if idle.any():
        text = "nobody ranked these items against others, so the prior alone places them"
        told.append(notice_on(prefs, "never-compared", text, idle))
    for name, found, text in (
        ("never-lost", chosen & ~behind, "nothing was ever put before these items"),
        ("never-won", behind & ~chosen, "these items were never put before anything"),
    ):
        if found.any():
            told.append(notice_on(prefs, name, f"{text}, so only the prior keeps their scores finite", found))
    told += _split_notices(prefs, weak, strong, chosen | behind, bool(told))
    return told


def _split_notices(
    prefs: Preferences, weak: Int32s, strong: Int32s, is_compared: Bools, is_explained: bool
) -> list[Notice]:
    told = []
    instance = views.instance_of_slot(prefs)
    for name, group, text in (
        ("disconnected", weak, "the items fall into groups that no ballot compares, so the prior alone relates them"),
        ("separated", strong, "every ballot agrees between two groups of items, so only the prior bounds their scores"),
    ):
        size = np.bincount(group[is_compared], minlength=int(group.max(initial=0)) + 1)
        largest = np.zeros(prefs.n_instances, np.int64)
        np.maximum.at(largest, instance[is_compared], size[group[is_compared]])
        body = np.zeros(len(size), bool)
        at = np.flatnonzero(is_compared & (size[group] == largest[instance]))[::-1]
        body_of = np.full(prefs.n_instances, -1)
        body_of[instance[at]] = group[at]
        body[body_of[body_of >= 0]] = True
        beside = is_compared & ~body[group]
        if name == "separated":
            beside &= size[group] > 1
        if beside.any() and not (name == "separated" and is_explained):
            told.append(notice_on(prefs, name, text, beside))
            break
    return told


def _groups(stages: Stages, ballots: int, n: int) -> tuple[Int32s, Int32s]:
    """Return the groups of slots joined by ballots, and by ballots in both directions.

    All of a tier stand before all of the next: a node between the two keeps the number of edges linear.
    """
    stop = int(stages.indptr[ballots])
    slot, mark = stages.slot[:stop], stages.mark[:stop]
    begins = np.zeros(stop + 1, bool)
    begins[stages.indptr[: ballots + 1]] = True
    if (mark != GOES_ON).all():
        at = np.flatnonzero(mark == CHOSEN)
        at = at[~begins[at + 1]]
        ahead, back, n_nodes = slot[at], slot[at + 1], n
    else:
        tier = np.cumsum(mark != GOES_ON) - 1
        follows = (mark != GOES_ON) & ~begins[:-1]
        has_before = follows[np.flatnonzero(mark != GOES_ON)][tier] if stop else np.zeros(0, bool)
        has_after = np.append(has_before[np.flatnonzero(mark != GOES_ON)][1:], False)[tier] if stop else has_before
        ahead = np.concatenate([slot[has_after], n + tier[has_before]]).astype(np.int32)
        back = np.concatenate([n + tier[has_after] + 1, slot[has_before]]).astype(np.int32)
        n_nodes = n + int(tier[-1]) + 1 if stop else n
    ones, none = np.ones(len(ahead)), np.zeros(len(ahead))
    weak, strong = kernels.duel_groups(ahead, back, ones, none, none, n_nodes)
    return weak[:n], strong[:n]


def notice_on(prefs: Preferences, name: str, text: str, slots: Bools) -> Notice:
    """Return a notice that names the items of some slots."""
    items = tuple(dict.fromkeys(prefs.items.take(prefs.slot_item[slots])))
    where = ""
    if prefs.n_instances > 1:
        affected = len(np.unique(views.instance_of_slot(prefs)[slots]))
        where = f" (in {affected:,} of {prefs.n_instances:,} instances)"
    shown = ", ".join(shorten(item, 30) for item in items[:SHOWN])
    more = f" and {len(items) - SHOWN:,} more" if len(items) > SHOWN else ""
    return Notice(name, f"{text}{where}: {shown}{more}", items)
