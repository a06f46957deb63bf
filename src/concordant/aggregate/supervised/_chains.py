"""Markov chains over the candidates of every instance in which every agent has its own moves, and a weight.

From candidate i the surfer picks agent k with probability ``weight[k]`` and moves as the list of k says, or stays where
it says nothing; with probability ``teleport`` he jumps anywhere. Where he is in the long run, x, solves

    (I - (1 - teleport) P') x = teleport / m,     P = sum over k of weight_k P_k

A function L of x has the slope (1 - teleport) sum over i, j of P_k(i, j) x_i (y_j - y_i) in weight_k, where y solves
(I - (1 - teleport) P) y = dL/dx: one more linear system with the transposed matrix, whatever the number of agents.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from concordant import memory, views
from concordant.aggregate.matrices import stacks
from concordant.gather import sum_by
from concordant.preferences import Preferences
from concordant.segments import number_inside, pointer, spans
from concordant.types import Floats, Int64s

VARIANTS = ("mc2", "mc3")
BYTES_PER_MOVE = 64  # while they are laid out


class Moves(NamedTuple):
    """Agent ``agent[r]`` moves the surfer from slot ``start[r]`` to slot ``end[r]`` with probability ``rate[r]``."""

    agent: Int64s
    start: Int64s
    end: Int64s
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
        """Return how much of his time the surfer spends at every slot, per instance."""
        return self.solved(weight).stationary

    def solved(self, weight: Floats) -> Solved:
        """Return the chains of these weights with their stationary distributions."""
        flat = sum_by(self._cell, weight[self.moves.agent] * self.moves.rate, self.n_cells)
        found, flows = np.zeros(int(self.slot_ptr[-1])), []
        for stack in self.stacks:
            step, inner = stack.take(flat), np.arange(stack.size)
            step[:, inner, inner] = 0.0
            step[:, inner, inner] = 1.0 - step.sum(axis=2)
            flow = np.eye(stack.size) - (1 - self.teleport) * step.transpose(0, 2, 1)
            even = np.full((len(flow), stack.size, 1), self.teleport / stack.size)
            found[stack.slots] = np.linalg.solve(flow, even)[:, :, 0]
            flows.append(flow)
        return Solved(self, flows, found)


@dataclass(frozen=True, eq=False)
class Solved:
    """Chains with given weights: I - (1 - teleport) P' by stack, and where the surfer is in the long run, by slot."""

    chain: Chain
    flows: list[Floats]
    stationary: Floats

    def slope(self, slope_by_slot: Floats) -> Floats:
        """Return the slope, in the agents' weights, of a function with this slope in the stationary distribution."""
        chain, back = self.chain, np.zeros(len(self.stationary))
        for stack, flow in zip(chain.stacks, self.flows, strict=True):
            right = slope_by_slot[stack.slots][:, :, None]
            back[stack.slots] = np.linalg.solve(flow.transpose(0, 2, 1), right)[:, :, 0]
        agent, start, end, rate = chain.moves
        flow_by_move = rate * self.stationary[start] * (back[end] - back[start])
        return (1 - chain.teleport) * sum_by(agent, flow_by_move, chain.n_agents)


def _moves(prefs: Preferences, agents: Sequence[str], variant: str, missing: str) -> Moves:
    """List all moves; several ballots of an agent in an instance share its moves, by weight."""
    assert prefs.agents is not None
    assert prefs.agent is not None
    number = {label: k for k, label in enumerate(agents)}
    agent = np.array([number.get(label, -1) for label in prefs.agents.labels], np.int64)[prefs.agent]
    key = agent * prefs.n_instances + prefs.instance_of_ballot
    _, own = np.unique(key, return_inverse=True)
    of_agent = sum_by(own.reshape(-1), prefs.weight, len(key))[own.reshape(-1)]
    share = np.where(agent >= 0, prefs.weight / np.where(of_agent > 0, of_agent, 1.0), 0.0)
    length = np.diff(prefs.indptr).astype(np.float64)
    many = float((length * np.diff(prefs.slot_ptr)[prefs.instance_of_ballot]).sum())
    memory.require(BYTES_PER_MOVE * many, f"{many:,.0f} moves of a Markov chain", "select fewer instances or items")
    ballot = views.ballot_of_entry(prefs)
    per_entry = share[ballot] / (_places_up(prefs) if variant == "mc2" else length[ballot])
    parts = []
    for first, second, is_tie in views.pairs_of_entries(prefs):
        half = np.where(is_tie, 0.5, 1.0)
        parts.append((ballot[second], prefs.entry_slot[second], prefs.entry_slot[first], half * per_entry[second]))
        tied = first[is_tie], second[is_tie]
        parts.append((ballot[tied[0]], prefs.entry_slot[tied[0]], prefs.entry_slot[tied[1]], per_entry[tied[0]] / 2))
    if missing == "last":
        parts.append(_unranked_moves(prefs, share / np.maximum(length, 1.0)))
    whose, start, end, rate = (np.concatenate(column) for column in zip(*parts, strict=True))
    used = np.flatnonzero(rate > 0)
    return Moves(agent[whose[used]], start[used], end[used], rate[used])


def _places_up(prefs: Preferences) -> Floats:
    """Return, for every entry, how many places its ballot has up to it, its own among them, ties half."""
    groups = views.tiers(prefs)
    before = groups.ptr[:-1] - prefs.indptr[groups.ballot]
    return np.asarray((before + np.where(groups.is_open, 0, groups.size - 1) / 2 + 1)[groups.of_entry])


def _unranked_moves(prefs: Preferences, rate_by_ballot: Floats) -> tuple[Int64s, Int64s, Int64s, Floats]:
    """List the moves from candidates that a ballot leaves out to all it names: (ballot, from, to, rate)."""
    candidates = np.diff(prefs.slot_ptr)[prefs.instance_of_ballot]
    of_pair = np.repeat(np.arange(prefs.n_ballots), candidates)
    slot = prefs.slot_ptr[prefs.instance_of_ballot][of_pair] + number_inside(pointer(candidates))
    start = pointer(candidates)
    named = np.zeros(len(slot), bool)
    ballot = views.ballot_of_entry(prefs)
    named[start[ballot] + prefs.entry_slot - prefs.slot_ptr[prefs.instance_of_ballot[ballot]]] = True
    of_pair, slot = of_pair[~named], slot[~named]
    sizes = np.diff(prefs.indptr)[of_pair]
    entry = spans(prefs.indptr[:-1][of_pair], prefs.indptr[1:][of_pair])
    whose = np.repeat(of_pair, sizes)
    return whose, np.repeat(slot, sizes), prefs.entry_slot[entry], rate_by_ballot[whose]
