"""Markov chains over the candidates of every instance, as weighted mixtures of one chain per agent.

From candidate i the chain picks agent k with probability ``weight[k]`` and makes a transition by the list of k, or
stays if the list defines no transition; with probability ``teleport`` it jumps to a random candidate. The stationary
distribution x solves

    (I - (1 - teleport) P') x = teleport / m,     P = sum over k of weight_k P_k

The gradient of a function L of x in weight_k is (1 - teleport) sum over i, j of P_k(i, j) x_i (y_j - y_i), where y
solves (I - (1 - teleport) P) y = dL/dx: one additional linear system with the transposed matrix, for any number of
agents.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from concordant import views
from concordant.aggregate.matrices import stacks
from concordant.ballots.segments import pointer, spans, sum_by
from concordant.preferences import Preferences
from concordant.support import memory
from concordant.types import Floats, Int32s, Int64s

VARIANTS = ("mc2", "mc3")
BYTES_PER_MOVE = 48  # while they are laid out


class Moves(NamedTuple):
    """Transitions: agent ``agent[r]`` moves from slot ``start[r]`` to slot ``end[r]`` with probability ``rate[r]``."""

    agent: Int32s
    start: Int32s
    end: Int32s
    rate: Floats


class Chain:
    """The chains of all instances, as a function of the agents' weights."""

    def __init__(self, prefs: Preferences, agents: Sequence[str], variant: str, missing: str, teleport: float) -> None:
        self.slot_ptr, self.n_agents, self.teleport = prefs.slot_ptr, len(agents), teleport
        self.moves = _moves(prefs, agents, variant, missing)
        size = np.diff(prefs.slot_ptr)
        instance = views.instance_of_slot(prefs)[self.moves.start]
        first = prefs.slot_ptr[instance]
        self.n_cells = int((size**2).sum())
        cells = pointer(size**2)[instance] + (self.moves.start - first) * size[instance]
        self._cell = cells + self.moves.end - first
        self.stacks = list(stacks(prefs.slot_ptr))

    def stationary(self, weight: Floats) -> Floats:
        """Return the stationary distribution of every instance, by slot."""
        return self.solved(weight).stationary

    def solved(self, weight: Floats) -> Solved:
        """Return the chains for these agents' weights with their stationary distributions."""
        flat = sum_by(self._cell, weight[self.moves.agent] * self.moves.rate, self.n_cells)
        stationary, flows = np.zeros(int(self.slot_ptr[-1])), []
        for stack in self.stacks:
            step, diagonal = stack.take(flat), np.arange(stack.size)
            step[:, diagonal, diagonal] = 0.0
            step[:, diagonal, diagonal] = 1.0 - step.sum(axis=2)
            flow = np.eye(stack.size) - (1 - self.teleport) * step.transpose(0, 2, 1)
            teleported = np.full((len(flow), stack.size, 1), self.teleport / stack.size)
            stationary[stack.slots] = np.linalg.solve(flow, teleported)[:, :, 0]
            flows.append(flow)
        return Solved(self, flows, stationary)


@dataclass(frozen=True, eq=False)
class Solved:
    """Chains with given weights: I - (1 - teleport) P' by stack, and the stationary distribution by slot."""

    chain: Chain
    flows: list[Floats]
    stationary: Floats

    def slope(self, slope_by_slot: Floats) -> Floats:
        """Return the gradient in the agents' weights of a function with this gradient in the stationary distribution.

        Adjoint method: the transposed system is solved for ``slope_by_slot``.
        """
        chain, adjoint = self.chain, np.zeros(len(self.stationary))
        for stack, flow in zip(chain.stacks, self.flows, strict=True):
            right = slope_by_slot[stack.slots][:, :, None]
            adjoint[stack.slots] = np.linalg.solve(flow.transpose(0, 2, 1), right)[:, :, 0]
        agent, start, end, rate = chain.moves
        flow_by_move = rate * self.stationary[start] * (adjoint[end] - adjoint[start])
        return (1 - chain.teleport) * sum_by(agent, flow_by_move, chain.n_agents)


def _moves(prefs: Preferences, agents: Sequence[str], variant: str, missing: str) -> Moves:
    """List all transitions to higher-ranked items.

    The ballots of an agent in an instance share its probability in proportion to their weights.
    """
    assert prefs.agents is not None
    assert prefs.agent is not None
    number = {label: k for k, label in enumerate(agents)}
    agent = np.array([number.get(label, -1) for label in prefs.agents.labels], np.int64)[prefs.agent]
    key = agent * prefs.n_instances + prefs.instance_of_ballot
    _, group = np.unique(key, return_inverse=True)
    of_agent = sum_by(group.reshape(-1), prefs.weight, len(key))[group.reshape(-1)]
    share = np.where(agent >= 0, prefs.weight / np.where(of_agent > 0, of_agent, 1.0), 0.0)
    length = np.diff(prefs.indptr).astype(np.float64)
    n_moves = float((length * np.diff(prefs.slot_ptr)[prefs.instance_of_ballot]).sum())
    memory.require(
        BYTES_PER_MOVE * n_moves, f"{n_moves:,.0f} moves of a Markov chain", "select fewer instances or items"
    )
    ballot = views.ballot_of_entry(prefs)
    per_entry = share[ballot] / (_places_up(prefs) if variant == "mc2" else length[ballot])
    slot, agent = prefs.entry_slot.astype(np.int32), agent.astype(np.int32)
    parts = []
    for first, second, is_tie in views.pairs_of_entries(prefs):
        factor = np.where(is_tie, 0.5, 1.0)
        parts.append((agent[ballot[second]], slot[second], slot[first], factor * per_entry[second]))
        upper, lower = first[is_tie], second[is_tie]
        parts.append((agent[ballot[upper]], slot[upper], slot[lower], per_entry[upper] / 2))
    if missing == "last":
        left_out, silent, named = _unranked_moves(prefs)
        parts.append((agent[left_out], silent, slot[named], (share / np.maximum(length, 1.0))[left_out]))
    agent_of_move, start, end, rate = (np.concatenate(column) for column in zip(*parts, strict=True))
    used = rate > 0  # ballots of strangers, and of no weight, move nobody
    return Moves(agent_of_move[used], start[used], end[used], rate[used])


def _places_up(prefs: Preferences) -> Floats:
    """Return, for every entry, its mean position on its ballot: 1 + items above it + half of those tied."""
    groups = views.tiers(prefs)
    before = groups.ptr[:-1] - prefs.indptr[groups.ballot]
    return np.asarray((before + np.where(groups.is_open, 0, groups.size - 1) / 2 + 1)[groups.of_entry])


def _unranked_moves(prefs: Preferences) -> tuple[Int32s, Int32s, Int64s]:
    """List the transitions from candidates that a ballot leaves out to all that it ranks: (ballot, slot, entry)."""
    candidates = np.diff(prefs.slot_ptr)[prefs.instance_of_ballot]
    first = prefs.slot_ptr[prefs.instance_of_ballot]
    start, ballot = pointer(candidates), views.ballot_of_entry(prefs)
    is_named = np.zeros(int(start[-1]), bool)
    is_named[start[ballot] + prefs.entry_slot - first[ballot]] = True
    ballot_of_missing = np.repeat(np.arange(prefs.n_ballots, dtype=np.int32), candidates)[~is_named]
    slot = (np.flatnonzero(~is_named) - start[ballot_of_missing] + first[ballot_of_missing]).astype(np.int32)
    sizes = np.diff(prefs.indptr)[ballot_of_missing]
    entry = spans(prefs.indptr[:-1][ballot_of_missing], prefs.indptr[1:][ballot_of_missing])
    return np.repeat(ballot_of_missing, sizes), np.repeat(slot, sizes), entry
