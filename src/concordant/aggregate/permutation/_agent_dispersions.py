"""Estimate the dispersion of every agent in the multi-list Mallows model, from labels or from the lists alone.

All sums over orders are exact: if an instance has more than ``EXACT`` candidates, they are divided at random into
blocks of that size, and lists are restricted to each block.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from concordant import views
from concordant.aggregate.permutation._dispersion import log_kendall, mean_kendall
from concordant.aggregate.permutation._pair_energies import EXACT, FORBIDDEN, summed
from concordant.ballots.segments import number_inside, pointer, sum_by
from concordant.preferences import Preferences
from concordant.types import Floats, Int64s

MAX_THETA = 20.0  # of an agent that is never wrong
START = 0.5
MAX_BLOCKS = 1000  # that dispersions are estimated from


@dataclass(frozen=True, eq=False)
class Sheets:
    """Lists restricted to small blocks of candidates: a row of ranks per list and block, NaN for unranked candidates.

    ``slot`` has a row of candidates per block, padded with -1; ``block``, ``agent`` and ``weight`` are by row.
    """

    slot: Int64s
    rank: Floats
    block: Int64s
    agent: Int64s
    weight: Floats
    n_agents: int
    missing: str

    @classmethod
    def of(cls, prefs: Preferences, agent: Int64s, n_agents: int, missing: str, rng: np.random.Generator) -> Sheets:
        """Divide candidates into blocks (sampled if there are many), and restrict the lists to the blocks."""
        block_of_slot, column, n_blocks = _dealt(prefs, rng)
        slot = np.full((n_blocks, int(column.max(initial=0)) + 1), -1)
        kept = np.flatnonzero(block_of_slot >= 0)
        slot[block_of_slot[kept], column[kept]] = kept
        entry = np.flatnonzero(block_of_slot[prefs.entry_slot] >= 0)
        entry_slot, ballot = prefs.entry_slot[entry], views.ballot_of_entry(prefs)[entry]
        key, row = np.unique(ballot * n_blocks + block_of_slot[entry_slot], return_inverse=True)
        rank = np.full((len(key), slot.shape[1]), np.nan)
        rank[row.reshape(-1), column[entry_slot]] = prefs.tier[entry]
        ballot, block = np.divmod(key, max(n_blocks, 1))
        return cls(slot, rank, block, agent[ballot], prefs.weight[ballot], n_agents, missing)

    def labels(self, label: Floats) -> Floats:
        """Return the labels in the layout of ``slot``, with NaN as padding."""
        return np.where(self.slot >= 0, label[np.maximum(self.slot, 0)], np.nan)

    @cached_property
    def own(self) -> Floats:
        """For every list, a matrix over items: 1 if it ranks column above row, 1/2 if it ties them, 0 if unranked."""
        row, column = self.rank[:, :, None], self.rank[:, None, :]
        return np.asarray(((column < row) + 0.5 * (column == row)) * ~np.eye(self.rank.shape[1], dtype=bool))

    @cached_property
    def before(self) -> Floats:
        """The matrices of ``own``, with unranked items below the ranked ones unless ``missing`` is "ignore"."""
        if self.missing == "ignore":
            return self.own
        is_free = np.isnan(self.rank) & (self.slot >= 0)[self.block]
        return np.asarray(self.own + (is_free[:, :, None] & ~np.isnan(self.rank)[:, None, :]))

    def costs(self, theta: Floats, before: Floats) -> Floats:
        """Return the costs of all blocks (blocks x m x m) under these dispersions of the agents."""
        n, width = self.slot.shape
        by_row = (theta[self.agent] * self.weight)[:, None] * before.reshape(-1, width * width)
        total = np.zeros((n, width * width))
        np.add.at(total, self.block, by_row)
        return total.reshape(n, width, width)

    def distances(self, p_before: Floats, before: Floats) -> Floats:
        """Return, by row, the expected number of discordant pairs."""
        return np.asarray(np.einsum("bij,bij->b", before, p_before[self.block]))


def _dealt(prefs: Preferences, rng: np.random.Generator) -> tuple[Int64s, Int64s, int]:
    """Return the block of every slot (-1: no block), its column in the block, and the number of blocks."""
    size, inside, instance = np.diff(prefs.slot_ptr), number_inside(prefs.slot_ptr), views.instance_of_slot(prefs)
    drawn = np.lexsort((np.where(size[instance] > EXACT, rng.random(prefs.n_slots), inside), instance))
    place = np.empty(prefs.n_slots, np.int64)
    place[drawn] = inside
    first = pointer(-(-size // EXACT))
    n_blocks = int(first[-1])
    block = first[:-1][instance] + place // EXACT
    if n_blocks > MAX_BLOCKS:
        number = np.full(n_blocks, -1)
        number[np.sort(rng.choice(n_blocks, MAX_BLOCKS, replace=False))] = np.arange(MAX_BLOCKS)
        block, n_blocks = number[block], MAX_BLOCKS
    return block, place % EXACT, n_blocks


def log_likelihood(sheets: Sheets, theta: Floats, label: Floats) -> tuple[float, Floats]:
    """Return the log-probability of the labels (in the layout of ``slot``), and its gradient in theta.

    The probability of the labels is the total probability of the orders that contradict no label.
    """
    cost = sheets.costs(theta, sheets.before)
    is_wrong = label[:, :, None] < label[:, None, :]
    log_z, p_free = summed(cost)
    log_z_labelled, p_labelled = summed(np.where(is_wrong, FORBIDDEN, cost))
    gap = sheets.weight * sheets.distances(p_free - p_labelled, sheets.before)
    return float((log_z_labelled - log_z).sum()), sum_by(sheets.agent, gap, sheets.n_agents)


def fit_to_labels(sheets: Sheets, label: Floats) -> Floats:
    """Return the maximum-likelihood theta >= 0 of every agent, given the labels."""

    def mean(theta: Floats) -> tuple[float, Floats]:
        return _scaled(log_likelihood(sheets, theta, label), len(label))

    return _maximum(mean, np.full(sheets.n_agents, 0.1))


def fit_to_lists(sheets: Sheets, prior: float) -> Floats:
    """Return the theta of every agent that maximises the marginal likelihood of the lists.

    A list, over the items it ranks, is a Mallows draw around the unknown order of its block with the dispersion of
    its agent; the likelihood sums over all orders. First all agents share one theta. Then each agent gets a separate
    theta, under a conjugate prior with the weight of ``prior`` lists at the expected distance of the common theta.
    """
    together = fit_marginal(Marginal.of(sheets, np.zeros(sheets.n_agents, np.int64)), np.full(1, START))
    start = np.repeat(together, sheets.n_agents)
    if sheets.n_agents == 1:
        return start
    return fit_marginal(Marginal.of(sheets, np.arange(sheets.n_agents), prior, together[0]), start)


@dataclass(frozen=True, eq=False)
class Marginal:
    """The marginal log-likelihood of lists (summed over orders) as a function of theta, one per group of agents."""

    sheets: Sheets
    group: Int64s
    """By agent."""
    lists: Floats
    owner: Int64s
    length: Int64s
    """Lists counted by group and length: the number of lists, the group, and the length."""
    prior: Floats
    distance: float
    lengths: Int64s
    """The prior: a number of lists (``prior``) of each of these lengths, with a total expected ``distance``."""

    @classmethod
    def of(cls, sheets: Sheets, group: Int64s, prior: float = 0.0, theta: float = 0.0) -> Marginal:
        """Count lists by group and length; lists of one item carry no information."""
        ranked, width = (~np.isnan(sheets.rank)).sum(axis=1), sheets.rank.shape[1] + 1
        has_pairs = ranked > 1
        key, place = np.unique((group[sheets.agent] * width + ranked)[has_pairs], return_inverse=True)
        lists = sum_by(place.reshape(-1), sheets.weight[has_pairs], len(key))
        owner, length = np.divmod(key, width)
        lengths, place = np.unique(length, return_inverse=True)
        share = sum_by(place.reshape(-1), lists, len(lengths)) * prior / max(float(lists.sum()), 1e-300)
        distance = float(mean_kendall(np.full(1, theta), np.zeros(len(lengths), np.int64), lengths) @ share)
        return cls(sheets, group, lists, owner, length, share, distance, lengths)

    def __call__(self, theta: Floats) -> tuple[float, Floats]:
        """Return the value and the gradient, including the prior."""
        sheets, n = self.sheets, len(theta)
        log_z, p_before = summed(sheets.costs(theta[self.group], sheets.own))
        observed = sum_by(self.group[sheets.agent], sheets.weight * sheets.distances(p_before, sheets.own), n)
        every, lengths = np.repeat(np.arange(n), len(self.lengths)), np.tile(self.lengths, n)
        share, normalise, expect = np.tile(self.prior, n), log_kendall, mean_kendall
        value = log_z.sum() - self.lists @ normalise(theta, self.owner, self.length)
        value -= share @ normalise(theta, every, lengths) + self.distance * theta.sum()
        gradient = sum_by(self.owner, self.lists * expect(theta, self.owner, self.length), n) - observed
        gradient += sum_by(every, share * expect(theta, every, lengths), n) - self.distance
        return float(value), gradient


def fit_marginal(marginal: Marginal, start: Floats) -> Floats:
    """Return the theta that maximises the marginal likelihood."""
    total = max(float(marginal.lists.sum()), 1.0)
    if not len(marginal.lists):
        return start
    return _maximum(lambda theta: _scaled(marginal(theta), total), start)


def _scaled(found: tuple[float, Floats], total: float) -> tuple[float, Floats]:
    return found[0] / total, found[1] / total


def _maximum(function: Callable[[Floats], tuple[float, Floats]], start: Floats) -> Floats:
    """Maximise a function of theta in [0, MAX_THETA] that returns value and gradient; return the maximiser."""
    from scipy.optimize import minimize

    def loss(theta: Floats) -> tuple[float, Floats]:
        value, gradient = function(theta)
        return -value, -gradient

    bounds, options = [(0.0, MAX_THETA)] * len(start), {"ftol": 1e-14, "gtol": 1e-9, "maxiter": 200}
    return np.asarray(minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options).x)
