"""Findings about preferences: connectivity, separation, cycles, outlier agents, and certainty of the winner.

Definitions:

- *connected*: the graph with an edge between any two candidates that a ballot compares has one component per instance.
- *separated*: an item that never lost, or a group that never lost to the others, has no finite maximum likelihood
  score. The directed graph of wins (ties are edges in both directions) is strongly connected if there is no separation.
- Unlisted items are treated as by the voting rules (``missing="auto"``): rankings put them last, other forms do not
  compare them.
- *cyclic*: triples a > b > c > a of strict majorities, and the smallest group whose members each beat everyone outside.
- *outlier agents*: an agent's agreement is the weighted share of its strict pairs that agree with the majority of all
  *other* agents. With p the mean agreement (no agent counts for more than 10 comparisons, outliers left out), an agent
  with n >= 5 independent comparisons (length - 1 per ballot) is tested by P(X <= n agreement), X binomial(n / v, p); v
  >= 1 is the overdispersion of the agents (the squared, scaled median absolute deviation). It is an outlier if p < 0.05
  after Holm's correction over all tested agents, and its agreement at least 0.1 below p. The test needs at least four
  agents. - *recovery*: for complete rankings without ties, the dispersion phi of a Mallows model around the Borda
  order, and whether it is in the range in which Lehmer codes recover the centre (``lehmer_recovery``).
- *top two*: whether the first item of the default method (Borda for more than 500 items) is significantly ahead of the
  runner-up, as in ``ranking.certainty``.

Cost: linear in the entries for most; the pairs of a ballot are listed for agents and cycles, up to fixed sizes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from concordant import api, views
from concordant.ballots.segments import sum_by
from concordant.ballots.vocabulary import in_sentence
from concordant.models.recovery import STATISTICS, recovery_of
from concordant.narrative.certainty import summary
from concordant.narrative.fields import NEUTRAL, Field
from concordant.preferences import Preferences
from concordant.support import memory, special
from concordant.support.text import capital, without_isolates
from concordant.types import AnyArray, Floats, Int32s, Int64s

LARGEST_FOR_CYCLES = 2_000  # candidates of one instance: cyclic triads cost a matrix product
MAX_MATRIX_ENTRIES = 5e7
MAX_PAIRS = 3e7
PAIRS_AT_ONCE = 2_000_000
MAX_FOR_DEFAULT = 500  # candidates of one instance: a larger one is ranked by borda, in linear time
NAMED = 10  # how many items a finding names
CERTAIN = 0.05
MIN_COMPARISONS = 5  # independent ones, below which an agent is not tested
MAX_WEIGHT = 10.0  # comparisons for which an agent counts in the mean of all
MIN_DIFFERENCE = 0.1
ROUNDS = 5
FEW_TESTS = 100  # sign tests that cost less than loading SciPy


@dataclass(frozen=True)
class Finding:
    """One finding: its name, whether it needs attention, a sentence, and the underlying figures."""

    name: str
    is_fine: bool
    text: str
    data: Mapping[str, Any] = field(default_factory=dict)
    is_tested: bool = True
    """False if the data are too large for this test."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        return {"name": self.name, "is_fine": self.is_fine, "text": without_isolates(self.text), **self.data}


@dataclass(frozen=True)
class Cycles:
    """Majority cycles: the number of cyclic triads, the Condorcet winners and the Smith set."""

    n_triads: int
    n_cyclic: int
    n_with_winner: int
    winner: str | None
    top: tuple[str, ...]


# ---- nominal answers ----
def equal_answers(prefs: Preferences) -> tuple[Finding, ...]:
    """Return the finding on how often two agents give an item the same class; nothing if no item has two answers."""
    assert prefs.value is not None
    assert prefs.classes is not None
    n, weight = len(prefs.classes), views.weight_of_entry(prefs)
    cell, code = np.unique(prefs.entry_slot * n + prefs.value.astype(np.int64), return_inverse=True)
    votes = sum_by(code.reshape(-1), weight, len(cell))
    total = sum_by(prefs.entry_slot, weight, prefs.n_slots)
    pairs = float((total * (total - 1)).clip(0).sum())
    if not pairs:
        return ()
    share = float((votes * (votes - 1)).clip(0).sum()) / pairs
    text = f"Two agents who answer the same item give the same class in {share:.0%} of the cases."
    return (Finding("agreement", True, text, {"share": share}),)


# ---- connected, separated ----
def connection(prefs: Preferences, group_of_slot: Int32s) -> Finding:
    """Return the finding on whether comparisons connect all candidates of each instance."""
    n_seen = int((np.diff(prefs.slot_ptr) > 0).sum())
    n_groups = len(np.unique(group_of_slot))
    if n_groups <= n_seen:
        return Finding("connected", True, "Comparisons link all items, so their scores are comparable.")
    instance = views.instance_of_slot(prefs)
    split_instances = np.flatnonzero(np.bincount(instance[np.unique(group_of_slot, return_index=True)[1]]) > 1)
    where = f"In {len(split_instances):,} of {n_seen:,} instances the items" if prefs.n_instances > 1 else "The items"
    groups = [] if prefs.n_instances > 1 else _groups(prefs, group_of_slot)
    shown = " | ".join(_listed(tuple(group[:4]), len(group)) for group in groups[:4])
    more = f" ({shown}{' | …' if len(groups) > 4 else ''})" if shown else ""
    text = f"{where} fall into groups that are never compared{more}: scores of different groups are not comparable."
    return Finding(
        "connected", False, text, {"n_groups": n_groups, "groups": [group[:NAMED] for group in groups[:NAMED]]}
    )


def separation(is_strong: bool | None, never_lost: tuple[str, ...], n_never_lost: int, n_never_won: int) -> Finding:
    """Return the finding on whether the graph of wins is strongly connected."""
    if is_strong is None:
        return Finding("separated", True, "Separation was not tested: there are too many items.", is_tested=False)
    if is_strong:
        text = "Chains of wins connect every item with every other, so maximum likelihood scores are finite."
        return Finding("separated", True, text)
    parts = []
    if n_never_lost:
        parts.append(f"{n_never_lost:,} never lost ({_listed(never_lost[:4], n_never_lost)})")
    if n_never_won:
        parts.append(f"{n_never_won:,} never won")
    shown = ", ".join(parts) or "a group never loses to the other items"
    text = f"Some items only win or only lose against the others ({shown}): score models need a prior to stay finite."
    return Finding("separated", False, text)


def may_count_pairs(prefs: Preferences) -> bool:
    """Return whether the pairwise matrices are small enough to compute by default."""
    entries = float((np.diff(prefs.slot_ptr).astype(np.float64) ** 2).sum())
    return entries <= MAX_MATRIX_ENTRIES and memory.fits(8 * 2 * views.COUNTED * entries)


# ---- cycles ----
def cycles(prefs: Preferences) -> Cycles | None:
    """Count cyclic triads of the strict majorities and find Condorcet winners; None if there are too many items."""
    size = np.diff(prefs.slot_ptr)
    if len(size) and (size.max() > LARGEST_FOR_CYCLES or not may_count_pairs(prefs)):
        return None
    matrices = views.win_matrices(prefs, "auto")
    n_cyclic = n_triads = n_with_winner = 0
    winner: str | None = None
    top: tuple[str, ...] = ()
    for q in np.flatnonzero(size > 1).tolist():
        wins = matrices.matrix(q)
        beats = wins > wins.T
        n_cyclic += _n_cyclic(beats)
        n_triads += int(size[q]) * (int(size[q]) - 1) * (int(size[q]) - 2) // 6
        first = _top_group(beats)
        n_with_winner += len(first) == 1
        if prefs.n_instances == 1:
            labels = tuple(prefs.items.take(prefs.slot_item[first]))
            winner, top = (labels[0], ()) if len(first) == 1 else (None, labels)
    return Cycles(n_triads, n_cyclic, n_with_winner, winner, top)


def recovery(prefs: Preferences) -> Finding | None:
    """Return the finding on whether the theorems on Lehmer codes apply; None unless ballots are complete orders."""
    if not may_count_pairs(prefs):
        return None
    by_mode, by_median = (recovery_of(prefs, statistic) for statistic in STATISTICS)
    if by_mode is None or by_median is None:
        return None
    both = {"mode": by_mode, "median": by_median}
    data = {name: {"max_phi": one.max_phi, "needed": one.needed} for name, one in both.items() if one.is_in_range}
    text = (
        f"The dispersion of a Mallows model is phi = {by_mode.phi:.3f}. Theorems on recovering its centre by Lehmer "
        f"codes: mode {by_mode.verdict}; median {by_median.verdict}."
    )
    return Finding("recovery", True, text, {"phi": by_mode.phi, **data}, is_tested=bool(data))


def cyclicity(counted: Cycles | None, n_instances: int, nouns: Field = NEUTRAL) -> Finding:
    """Return the finding on cyclic majorities."""
    if counted is None:
        return Finding("cyclic", True, "Cycles were not counted: there are too many items.", is_tested=False)
    data = {
        "cyclic_triads": counted.n_cyclic,
        "condorcet_winner": counted.winner,
        "top_cycle": list(counted.top[:NAMED]),
    }
    if n_instances > 1:
        data = {"cyclic_triads": counted.n_cyclic, "n_with_condorcet_winner": counted.n_with_winner}
        winners = f" {counted.n_with_winner:,} of {n_instances:,} {nouns.instance[1]} have a Condorcet winner."
    elif counted.winner is not None:
        winners = f" {in_sentence(counted.winner)} beats every other item in direct comparison (Condorcet winner)."
    else:
        winners = " No item beats every other in direct comparison."
    if not counted.n_cyclic:
        return Finding("cyclic", True, "There are no majority cycles." + winners, data)
    share = f"{counted.n_cyclic:,} of {counted.n_triads:,} triples are cyclic (a beats b beats c beats a)."
    top = ""
    if not counted.winner and 1 < len(counted.top) <= NAMED:
        top = f" The first place depends on the voting rule, among {', '.join(map(in_sentence, counted.top))}."
    return Finding("cyclic", False, share + winners + top, data)


def _n_cyclic(beats: AnyArray) -> int:
    """Return the number of cyclic triads: trace(B³) / 3 of the 0/1 matrix of strict majorities."""
    matrix = beats.astype(np.float32)
    return round(float(((matrix @ matrix) * matrix.T).sum(dtype=np.float64)) / 3)


def _top_group(beats: AnyArray) -> Int64s:
    """Return the Smith set of strict majorities: the smallest group whose members each beat everyone outside."""
    # Members of the group beat more items than others, so that the group is a prefix of this order.
    order = np.argsort(-beats.sum(axis=1), kind="stable")
    unbeaten = ~beats[np.ix_(order, order)]
    np.fill_diagonal(unbeaten, False)
    n = len(order)
    last_unbeaten = np.where(unbeaten.any(axis=1), n - 1 - np.argmax(unbeaten[:, ::-1], axis=1), -1)
    size = 1
    while size < n and last_unbeaten[:size].max() >= size:
        size = int(last_unbeaten[:size].max()) + 1
    return order[:size].astype(np.int64)


# ---- agents ----
@dataclass(frozen=True)
class Agreement:
    """The agreement of each agent with the majority of all others; NaN if there is nothing to compare."""

    share: Floats
    n_independent: Floats

    @property
    def median(self) -> float:
        """The agreement of the median agent."""
        return float(np.nanmedian(self.share))

    def outliers(self) -> Int64s:
        """Return the agents significantly below the others (5%, Holm over all tested agents), worst first."""
        tested = np.flatnonzero(~np.isnan(self.share) & (self.n_independent >= MIN_COMPARISONS))
        if np.count_nonzero(~np.isnan(self.share)) < 4 or not len(tested):
            return tested[:0]
        outliers = tested[:0]
        for _ in range(ROUNDS):  # outliers are left out of what the others are compared with
            previous, outliers = outliers, self._below(tested, outliers)
            if len(outliers) == len(previous):
                break
        return outliers[np.argsort(self.share[outliers], kind="stable")]

    def _below(self, tested: Int64s, left_out: Int64s) -> Int64s:
        """Return the tested agents significantly below the mean agreement of all agents that are not left out.

        The binomial test allows for overdispersion by ``spread``, the scaled median absolute deviation of the
        standardised differences.
        """
        from concordant.metrics.significance import holm

        is_reference = ~np.isnan(self.share)
        is_reference[left_out] = False
        weight = np.minimum(self.n_independent[is_reference], MAX_WEIGHT)
        mean_share = float((weight @ self.share[is_reference] + 1) / (weight.sum() + 2))
        share, n = self.share[tested], self.n_independent[tested]
        distance = (share - mean_share) / np.sqrt(mean_share * (1 - mean_share) / n)
        reference_distance = distance[is_reference[tested]]
        spread = (
            max(1.0, 1.4826 * float(np.median(np.abs(reference_distance - np.median(reference_distance)))))
            if len(reference_distance)
            else 1.0
        )
        is_low = np.flatnonzero(share <= mean_share - MIN_DIFFERENCE)
        p = np.ones(len(tested))
        p[is_low] = _binomial_tail(share[is_low], n[is_low] / spread**2, mean_share)
        return tested[np.array(holm(p.tolist())) < CERTAIN]


def _binomial_tail(share: Floats, n: Floats, chance: float) -> Floats:
    """Return P(X <= share n), X binomial(n, chance) = I_(1 - chance)(n - share n, share n + 1).

    The number n need not be an integer.
    """
    a, b = np.maximum(n * (1 - share), 1e-9), n * share + 1
    if len(n) > FEW_TESTS or (a + b).max(initial=0.0) >= special.MAX_SUM:
        from scipy.special import betainc

        return np.asarray(betainc(a, b, 1 - chance))
    each = zip(a.tolist(), b.tolist(), strict=True)
    return np.array([special.betainc(a_k, b_k, 1 - chance) for a_k, b_k in each])


def agreement(prefs: Preferences) -> Agreement | None:
    """Return each agent's agreement with the majority of the others; None without agents, or if it is too expensive."""
    sizes = np.diff(prefs.indptr)
    n_pairs = sizes * (sizes - 1) // 2
    if prefs.agent is None or prefs.n_agents is None or prefs.n_agents < 2:
        return None
    if n_pairs.sum() > MAX_PAIRS or not may_count_pairs(prefs):
        return None
    matrices = views.win_matrices(prefs)  # only what others said of both items
    agreeing_weight, total_weight = np.zeros(prefs.n_agents), np.zeros(prefs.n_agents)
    # Some agents at a time, but whole ones: what an agent says itself of a pair is taken out of the majority.
    part_of_agent = np.cumsum(np.bincount(prefs.agent, n_pairs, prefs.n_agents)) // PAIRS_AT_ONCE
    part = part_of_agent[prefs.agent]
    for k in np.unique(part):
        agent, weight, margin = _margins_of_others(prefs, matrices, np.flatnonzero(part == k))
        agreeing_weight += np.bincount(agent, weight * (margin > 0), prefs.n_agents)
        total_weight += np.bincount(agent, weight * (margin != 0), prefs.n_agents)
    share = np.full(prefs.n_agents, np.nan)
    np.divide(agreeing_weight, total_weight, out=share, where=total_weight > 0)
    independent = np.bincount(prefs.agent, prefs.weight * np.maximum(sizes - 1, 0), prefs.n_agents)
    return Agreement(share, np.minimum(independent, total_weight))


def _margins_of_others(
    prefs: Preferences, matrices: views.WinMatrices, ballots: Int64s
) -> tuple[Int64s, Floats, Floats]:
    """Return the agent and weight of every strict pair of some ballots, and its margin among all other agents.

    A pair's margin is wins minus losses over all ballots except the agent's own.
    """
    assert prefs.agent is not None
    pairs = views.pairs(prefs, ballots)
    strict = ~pairs.is_tie
    better, worse, ballot = pairs.better[strict], pairs.worse[strict], pairs.ballot[strict]
    agent, weight = prefs.agent[ballot].astype(np.int64), prefs.weight[ballot]
    q = prefs.instance_of_ballot[ballot]
    start, size = prefs.slot_ptr[q], matrices.size[q]
    cell = matrices.ptr[q] + (better - start) * size + (worse - start)
    mirrored = matrices.ptr[q] + (worse - start) * size + (better - start)
    direction = np.where(cell < mirrored, 1.0, -1.0)
    _, pair = np.unique(agent * len(matrices.wins) + np.minimum(cell, mirrored), return_inverse=True)
    own_margin = np.bincount(pair, direction * weight)[pair] * direction
    margin = matrices.wins[cell] - matrices.wins[mirrored] - own_margin
    margin[np.abs(margin) < 1e-9 * (weight + np.abs(own_margin))] = 0.0
    return agent, weight, margin


def outlying(prefs: Preferences, measured: Agreement | None, nouns: Field = NEUTRAL) -> Finding | None:
    """Return the finding on outlier agents; None if the agents are not known."""
    agent, agents = nouns.agent
    if prefs.n_agents is None or prefs.n_agents < 2 or prefs.agents is None:
        return None
    if measured is None:
        return Finding(
            "outlier agents", True, f"{capital(agents)} were not tested: there are too many pairs.", is_tested=False
        )
    if np.isnan(measured.share).all():
        return Finding("outlier agents", True, f"No two {agents} compare the same {nouns.item[1]}.")
    median = f"{measured.median:.0%}"
    outliers = measured.outliers()
    data = {"median_agreement": measured.median, "n_outliers": len(outliers)}
    if not len(outliers):
        text = f"No outliers: the median {agent} agrees with the majority of the others on {median} of its pairs."
        return Finding("outlier agents", True, text, {**data, "outliers": []})
    worst = [{"agent": prefs.agents[k], "agreement": float(measured.share[k])} for k in outliers[:NAMED].tolist()]
    shown = ", ".join(f"{in_sentence(str(outlier['agent']))} {outlier['agreement']:.0%}" for outlier in worst[:4])
    more = f" and {len(outliers) - 4:,} more" if len(outliers) > 4 else ""
    text = (
        f"Significantly lower agreement with the majority than the median {agent} ({median} of its pairs): "
        f"{shown}{more}. Inspect these ballots, or use a method that weights {agents}."
    )
    return Finding("outlier agents", False, text, {**data, "outliers": worst})


# ---- the first place ----
def top_two(prefs: Preferences) -> Finding | None:
    """Return the finding on the certainty of the first place by the default method; None with fewer than two items."""
    size = np.diff(prefs.slot_ptr)
    if not (size > 1).any() or not prefs.n_ballots:
        return None
    ranking = api.rank(prefs, None if size.max() <= MAX_FOR_DEFAULT else "borda")
    if ranking.n_instances == 1:
        certainty = ranking.certainty
        data = certainty.to_dict()
        return Finding("top two", certainty.is_certain, str(data.pop("text")), data)
    several = [certainty_of for certainty_of in ranking.certainties if certainty_of.n_items > 1]
    n = sum(certainty_of.is_significant for certainty_of in several)
    data = {"n_significant": n, "n_instances": len(several)}
    return Finding("top two", n == len(several), summary(several), data)


# ---- helpers ----
def _groups(prefs: Preferences, group_of_slot: Int32s) -> list[list[str]]:
    """Return the labels of every group, the largest first."""
    sizes = np.bincount(group_of_slot)
    largest = np.argsort(-sizes, kind="stable")[: NAMED + 1]
    return [prefs.items.take(prefs.slot_item[np.flatnonzero(group_of_slot == k)]) for k in largest.tolist() if sizes[k]]


def _listed(labels: tuple[str, ...], count: int) -> str:
    shown = ", ".join(map(in_sentence, labels))
    return shown + (f" and {count - len(labels):,} more" if count > len(labels) else "")
