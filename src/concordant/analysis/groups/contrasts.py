"""Test whether a group differs from the rest: its scores against the scores of all ballots outside the group.

Scores are made comparable first: they are centred on the items that occur both in the group and in the rest, and scores
that are totals (approvals, reciprocal ranks) are divided by the number of ballots. The contrast is d = score in the
group - score in the rest, for each group and item. There are two tests:

- **errors**, for methods whose standard errors are valid in small samples: z = d / sqrt(e_group² + e_rest²); no
  ballot is in both sets, so the errors are independent. The p-values of all groups and items are one family,
  corrected by Holm. A prior shrinks the scores of a small group more than those of the rest; the standard errors
  allow for this.
- **permutation**, for all others: under the null hypothesis, group labels are exchangeable. Ballots are reassigned at
  random to groups of the same sizes, and d is computed again. Each d is standardised by the mean and the standard
  deviation of its permutations; p is the share of permutations at least as extreme, including the observed one. All
  comparisons are corrected together by the step-down maxT procedure of Westfall and Young, which is like Holm's
  procedure but accounts for dependence. If every agent belongs to one group, agents are permuted instead of ballots; a
  ballot of weight 7 counts as seven ballots.

Cost: one fit per group and one per rest, which use the ballots G times for G groups; a permutation costs the same,
without standard errors. The fits are batched as instances of a few calls. If the fewest useful permutations would take
more than ``PATIENCE`` seconds, nothing is tested unless a number of permutations is given. References: S. Holm, A
simple sequentially rejective multiple test procedure, 1979; P. Westfall and S. Young, Resampling-based multiple
testing, 1993.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import erfc, sqrt
from time import perf_counter as clock

import numpy as np

from concordant.ballots.segments import pointer, segment_index, spans
from concordant.ballots.subsets import OF_BALLOTS, OF_ENTRIES, some
from concordant.ballots.vocabulary import Vocabulary
from concordant.method import Method
from concordant.metrics.significance import holm
from concordant.preferences import Preferences
from concordant.ranking import Ranking
from concordant.support import progress
from concordant.types import AnyArray, Floats, Int64s

PERMUTATIONS = 999
FEWEST = 99  # enough to call a difference sure at 5%
PATIENCE = 300.0  # seconds that the fewest permutations may take, unless somebody asks for more
BUDGET = 3e7  # entries of ballots that all permutations together may rank, unless somebody asks for more
PER_PAIR = 40.0  # entries that a cell of a matrix of pairs is worth
SLOW = {"dawid-skene": 100.0, "mpm-mixture": 10.0}  # how many times as long as others they take over an entry
TOGETHER = 2_000_000  # entries ranked in one call
LARGEST_EXPANDED = 10_000_000  # ballots of whole weights that are dealt one by one
ROUNDING = 1e-9
OF_NAMED_ITEMS = ("pairs", "ratings", "choices")  # forms whose ballots say nothing of what they do not name
POOLED: dict[str, None] = dict.fromkeys(("instances", "instance", "slot_ptr", "slot_item"))  # of all groups as one


@dataclass(frozen=True, eq=False)
class Contrasts:
    """The test results: arrays of groups x items, NaN if the item is missing from the group or the rest."""

    difference: Floats
    stderr: Floats
    z: Floats
    """The difference in standard errors; for permutations, after subtracting their mean."""
    p: Floats
    p_adjusted: Floats
    test: str
    correction: str
    permutations: int = 0
    seconds: float = 0.0
    """How long the fewest permutations would take, if that is why nothing was tested."""

    @property
    def n_compared(self) -> int:
        """The number of tested differences; with two groups, each difference counts once."""
        return int((~np.isnan(self.p)).sum()) // (2 if len(self.p) == 2 else 1)


def by_errors(groups: Ranking, rests: Ranking) -> Contrasts:
    """Test by standard errors: z = difference / sqrt(e_group² + e_rest²), with Holm's correction."""
    inside, outside = (by_item(ranking, ranking.score) for ranking in (groups, rests))
    difference = differences(inside, outside)
    errors = [by_item(ranking, ranking.details["stderr"]) for ranking in (groups, rests)]
    stderr = np.where(np.isnan(difference), np.nan, np.sqrt(errors[0] ** 2 + errors[1] ** 2))
    z = np.divide(difference, stderr, out=np.zeros_like(difference), where=stderr > 0)
    z[np.isnan(difference)] = np.nan
    p, adjusted = (np.full(difference.shape, np.nan) for _ in range(2))
    # Of two groups, one says what the other does: each is a family of its own.
    for family in [slice(1), slice(1, 2)] if len(z) == 2 else [slice(None)]:
        known = ~np.isnan(z[family])
        p[family][known] = [erfc(abs(value) / sqrt(2)) for value in z[family][known].tolist()]
        adjusted[family][known] = holm(p[family][known].tolist())
    return Contrasts(difference, stderr, z, p, adjusted, "z test", "Holm")


def by_permutation(method: Method, grouped: Preferences, whole: Ranking, n: int | None, seed: int) -> Contrasts:
    """Test by ``n`` random permutations of the groups, by default an affordable number."""
    deal, begun = Deal(method, grouped, whole), clock()
    observed = deal.observed()
    seconds = FEWEST * (clock() - begun)
    if n is None and seconds > PATIENCE:
        unknown = np.full(deal.shape, np.nan)
        return Contrasts(observed[0], unknown, unknown, unknown, unknown, "not tested", "", seconds=seconds)
    n = deal.affordable() if n is None else n
    rng = np.random.default_rng(seed)
    deals = np.concatenate([observed, *deal.draws(n, rng)])
    # What is unknown in one deal only is as near as can be there: all deals are treated alike, so that p is exact.
    middle, spread, far = _standardised(deals.reshape(n + 1, -1))
    statistics = (spread, _signed(deals[0].reshape(-1) - middle, spread), _share(far), step_down(far))
    unknown = np.isnan(deals[0])
    stderr, z, p, adjusted = (np.where(unknown, np.nan, values.reshape(deal.shape)) for values in statistics)
    return Contrasts(deals[0], stderr, z, p, adjusted, f"permutation test over {deal.units}", "Westfall-Young", n)


def _standardised(deals: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the mean and standard deviation of each comparison over all permutations (rows), and the absolute
    standardised values.
    """
    count = np.maximum((~np.isnan(deals)).sum(0), 1)
    mean = np.nansum(deals, 0) / count
    spread = np.sqrt(np.nansum((deals - mean) ** 2, 0) / count)
    spread[spread <= ROUNDING * np.nan_to_num(np.abs(deals)).max(0)] = 0.0
    return mean, spread, np.nan_to_num(np.abs(_signed(deals - mean, spread)))


def _signed(deviation: Floats, spread: Floats) -> Floats:
    """Return deviations in standard deviations, 0 if the standard deviation is 0."""
    return np.divide(deviation, spread, out=np.zeros_like(deviation), where=spread > 0)


def _share(distance: Floats) -> Floats:
    """Return the p-values: the share of permutations at least as extreme as the observed one (row 0)."""
    return np.asarray((distance >= distance[0] - ROUNDING).mean(0))


def step_down(distance: Floats) -> Floats:
    """Return p-values adjusted by Westfall and Young's step-down maxT; row 0 is observed, the others are permutations.

    ``distance`` is permutations x comparisons. The largest statistic is compared with the maximum of each permutation,
    the second with the maximum of the remaining comparisons, …
    """
    order = np.argsort(-distance[0], kind="stable")
    largest = np.maximum.accumulate(distance[:, order[::-1]], axis=1)[:, ::-1]
    adjusted = np.empty(distance.shape[1])
    adjusted[order] = np.maximum.accumulate(_share(largest)) if len(order) else []
    return adjusted


# ---- scores side by side ----
def by_item(ranking: Ranking, values: AnyArray) -> Floats:
    """Return values by slot as an array of instances x items, NaN if an item is not a candidate."""
    out = np.full((ranking.n_instances, len(ranking.vocabulary)), np.nan)
    out[segment_index(ranking.slot_ptr), ranking.slot_item] = values
    return out


def differences(inside: Floats, outside: Floats) -> Floats:
    """Return score in the group minus score in the rest, both centred on the common items; NaN for other items."""
    known = ~(np.isnan(inside) | np.isnan(outside))
    difference = np.where(known, inside - outside, 0.0)
    count = known.sum(-1, keepdims=True)
    difference = difference - difference.sum(-1, keepdims=True) / np.maximum(count, 1)
    return np.where(known & (count > 1), difference, np.nan)


def counts_silence(method: Method, prefs: Preferences, whole: Ranking) -> bool:
    """Return whether an item on no ballot of a group is still a candidate there, because the method ranks unlisted
    items.
    """
    if prefs.form in OF_NAMED_ITEMS or "stderr" in whole.details:
        return False
    return getattr(method, "missing", "last") != "ignore"


def is_total(method: Method, prefs: Preferences, whole: Ranking) -> bool:
    """Return whether scores are sums over ballots: doubling all weights doubles them."""
    doubled = method.rank(prefs.replace(weight=2 * prefs.weight)).score
    largest = float(np.abs(whole.score).max(initial=0.0))
    return largest > 0 and bool(np.allclose(doubled, 2 * whole.score, rtol=ROUNDING, atol=ROUNDING * largest))


def dealt(
    prefs: Preferences, ballot: Int64s, instance: Int64s, weight: Floats, labels: list[str], all_known: bool
) -> Preferences:
    """Assign some ballots (repeats allowed) to instances; with all_known every item is a candidate, otherwise the
    listed ones.
    """
    size = np.diff(prefs.indptr)[ballot]
    entry = spans(prefs.indptr[ballot], prefs.indptr[ballot + 1])
    item = prefs.item[entry]
    is_candidate = np.full((len(labels), prefs.n_items), all_known)
    is_candidate[np.repeat(instance, size), item] = True
    return prefs.replace(
        indptr=pointer(size),
        item=item,
        tier=prefs.tier[entry],
        **some(prefs, OF_ENTRIES, entry),
        weight=weight,
        **some(prefs, (*OF_BALLOTS, "agent"), ballot),
        instances=Vocabulary(labels),
        instance=instance,
        slot_ptr=pointer(is_candidate.sum(1)),
        slot_item=is_candidate.nonzero()[1],
    )


def in_groups(grouped: Preferences, all_known: bool) -> Preferences:
    """Return the ballots in their groups, with the candidates of each group."""
    assert grouped.instances is not None
    of_ballot = grouped.instance_of_ballot.astype(np.int64)
    ballots = np.arange(grouped.n_ballots)
    return dealt(grouped, ballots, of_ballot, grouped.weight, list(grouped.instances.labels), all_known)


def in_rests(grouped: Preferences, all_known: bool) -> Preferences:
    """Return the ballots outside each group."""
    assert grouped.instances is not None
    of_ballot = grouped.instance_of_ballot
    rest, ballot = (of_ballot != np.arange(grouped.n_instances)[:, None]).nonzero()
    return dealt(grouped, ballot, rest, grouped.weight[ballot], list(grouped.instances.labels), all_known)


# ---- dealing the groups out again ----
class Deal:
    """The ballots of groups, prepared for repeated random assignment to groups of the same sizes."""

    def __init__(self, method: Method, grouped: Preferences, whole: Ranking) -> None:
        """Determine the permuted units (agents, ballots or single ballots) and the group of each."""
        self.method, self.grouped = method, grouped
        self.all_known = counts_silence(method, grouped, whole)
        self.shape = (grouped.n_instances, grouped.n_items)
        self.is_total = is_total(method, grouped.replace(**POOLED), whole)
        of_ballot, weight = grouped.instance_of_ballot, grouped.weight
        self.owner, self.units = self._units()
        self.label = np.zeros(int(self.owner.max(initial=-1)) + 1, np.int64)
        self.is_expanded = self.units == "single ballots"
        if self.is_expanded:
            self.owner = np.repeat(np.arange(grouped.n_ballots), np.round(weight).astype(np.int64))
            self.label = of_ballot[self.owner].astype(np.int64)
        else:
            self.label[self.owner] = of_ballot

    def _units(self) -> tuple[Int64s, str]:
        """Return the permuted unit of each ballot (its agent, or the ballot itself), and what this unit is called."""
        grouped, weight = self.grouped, self.grouped.weight
        of_ballot, agent = grouped.instance_of_ballot, grouped.agent
        if agent is not None and grouped.agents is not None:
            code = np.unique(agent, return_inverse=True)[1].reshape(-1)
            first = np.zeros(int(code.max(initial=-1)) + 1, np.int64)
            first[code] = of_ballot
            if len(first) < len(code) and (first[code] == of_ballot).all():
                return code, "agents"
        is_whole = bool((weight == np.round(weight)).all()) and float(weight.sum()) <= LARGEST_EXPANDED
        rows = np.arange(grouped.n_ballots)
        return rows, "single ballots" if is_whole and not grouped.has_unit_weights else "ballots"

    def affordable(self) -> int:
        """Return an affordable number of permutations: lower for many ballots, many groups and pairwise methods."""
        n_groups, n_items = self.shape
        pairs = PER_PAIR * n_items**2 * (self.method.matrices > 0)
        cost = n_groups * (len(self.grouped.item) + 2 * pairs + 2 * n_items)
        cost *= SLOW.get(self.method.name, 1.0)
        return int(np.clip(BUDGET // max(cost, 1), FEWEST, PERMUTATIONS))

    def observed(self) -> Floats:
        """Return the observed differences: groups x items, as one permutation."""
        return self._differences(self.label[None])

    def draws(self, n: int, rng: np.random.Generator) -> Iterator[Floats]:
        """Yield the differences of random permutations in batches."""
        step = max(1, int(TOGETHER // max(self.shape[0] * (len(self.grouped.item) + self.shape[1]), 1)))
        for start in progress.steps(range(0, n, step), "permutation test"):
            yield self._differences(np.stack([rng.permutation(self.label) for _ in range(min(step, n - start))]))

    def _differences(self, labels: Int64s) -> Floats:
        """Return the differences (permutations x groups x items); ``labels`` is the group of each unit."""
        n_groups, n_items = self.shape
        weight = self._weights(labels)  # deals x (groups, then rests) x ballots
        instance, ballot = (weight.reshape(-1, weight.shape[2]) > 0).nonzero()
        names = [str(k) for k in range(len(labels) * 2 * n_groups)]
        weight_dealt = weight.reshape(-1, weight.shape[2])[instance, ballot]
        ranking = self.method.rank(dealt(self.grouped, ballot, instance, weight_dealt, names, self.all_known))
        score = by_item(ranking, ranking.score)
        if self.is_total:
            score /= np.maximum(weight.sum(2).reshape(-1, 1), 1e-300)
        score = score.reshape(len(labels), 2, n_groups, n_items)
        return differences(score[:, 0], score[:, 1])

    def _weights(self, labels: Int64s) -> Floats:
        """Return the weight of each ballot in each group and in its rest: permutations x (groups, then rests) x
        ballots.
        """
        n_groups, ballot_weight = self.shape[0], self.grouped.weight
        if not self.is_expanded:
            inside = np.where(labels[:, self.owner][:, None] == np.arange(n_groups)[:, None], ballot_weight, 0.0)
        else:
            n = len(ballot_weight)
            inside = np.stack([np.bincount(row * n + self.owner, minlength=n_groups * n) for row in labels])
            inside = inside.reshape(len(labels), n_groups, n).astype(np.float64)
        return np.concatenate([inside, ballot_weight - inside], axis=1)
