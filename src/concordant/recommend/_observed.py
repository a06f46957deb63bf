"""Ballots of agents, indexed by agent and by item for factorisations."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from concordant.ballots.form import refuse_nominal
from concordant.ballots.segments import segment_index
from concordant.ballots.vocabulary import Vocabulary
from concordant.errors import InputError, NeedError, arg
from concordant.kernels.bundles import Side
from concordant.preferences import Preferences
from concordant.support.brief import Brief
from concordant.types import Bools, Floats, Int32s, Int64s


@dataclass(frozen=True, eq=False, repr=False)
class Observed(Brief):
    """Ratings by agents: ballots are sorted by agent, and ballot b holds entries ``ptr[b]:ptr[b + 1]``, best first."""

    agents: Vocabulary
    items: Vocabulary
    ptr: Int64s
    tier: Int32s
    weight: Floats
    value: Floats | None
    agent_of_ballot: Int32s
    item: Int32s
    prefs: Preferences | None = None  # where all of it comes from, if from anywhere else

    @classmethod
    def of(cls, prefs: Preferences) -> Observed:
        """Sort the ballots by agent; ballots of an agent in several instances remain separate."""
        if prefs.agents is None or prefs.agent is None:
            raise NeedError(
                "Recommenders need to know who gave each rating: give the agents with " + arg("agent") + "."
            )
        if not len(prefs.item):
            raise InputError("There are no ratings to fit: give at least one.")
        refuse_nominal(prefs, "A recommender")
        value = None if prefs.value is None else prefs.value if prefs.scale == "rating" else -prefs.value
        ptr, agent, columns = prefs.indptr, prefs.agent, (prefs.item, prefs.tier, value)
        weight = prefs.weight
        if (agent[1:] < agent[:-1]).any():
            order = np.argsort(agent, kind="stable")
            sizes = np.diff(ptr)[order]
            new_ptr = np.concatenate([[0], np.cumsum(sizes)])
            entry = np.repeat(ptr[:-1][order] - new_ptr[:-1], sizes) + np.arange(new_ptr[-1])
            ptr, agent, weight = new_ptr, agent[order], weight[order]
            columns = (prefs.item[entry], prefs.tier[entry], None if value is None else value[entry])
        return cls(prefs.agents, prefs.items, ptr, columns[1], weight, columns[2], agent, columns[0], prefs)

    def only(self, keep: Bools, items: Vocabulary, item: Int32s) -> Observed:
        """Return some of the entries, over other items with the codes ``item``; all agents remain."""
        size = np.bincount(self.ballot[keep], minlength=len(self.weight))
        ptr = np.concatenate([[0], np.cumsum(size)]).astype(np.int64)
        value = None if self.value is None else self.value[keep]
        return Observed(self.agents, items, ptr, self.tier[keep], self.weight, value, self.agent_of_ballot, item[keep])

    def known_to(self, agents: Vocabulary, items: Vocabulary) -> tuple[Int32s, Int32s]:
        """Return the agent and item of every entry in the codes of a model, -1 if unknown."""
        agent, item = agents.codes(self.agents.labels), items.codes(self.items.labels)
        return agent[self.agent], item[self.item]

    @cached_property
    def weight_by_entry(self) -> Floats:
        """The weight of every entry."""
        return np.repeat(self.weight, np.diff(self.ptr))

    @cached_property
    def has_unit_weights(self) -> bool:
        """Whether every ballot has weight 1."""
        return bool((self.weight == 1.0).all())

    @cached_property
    def places(self) -> Int32s:
        """Tiers without ties: every entry has a separate tier, in the order of the data."""
        return np.arange(len(self.item), dtype=np.int32)

    @cached_property
    def agent(self) -> Int32s:
        """The agent of every entry."""
        return np.repeat(self.agent_of_ballot, np.diff(self.ptr))

    @cached_property
    def by_agent(self) -> Side:
        """The entries of every agent."""
        ptr = np.searchsorted(self.agent, np.arange(len(self.agents) + 1)).astype(np.int64)
        return Side(ptr, self.item, np.arange(len(self.item)))

    @cached_property
    def by_item(self) -> Side:
        """The entries of every item."""
        short = len(self.items) <= np.iinfo(np.uint16).max  # NumPy sorts 16-bit numbers by radix
        entry = np.argsort(self.item.astype(np.uint16) if short else self.item, kind="stable")
        ptr = np.searchsorted(self.item[entry], np.arange(len(self.items) + 1)).astype(np.int64)
        return Side(ptr, self.agent[entry], entry)

    @cached_property
    def ballot(self) -> Int64s:
        """The ballot of every entry."""
        return segment_index(self.ptr).astype(np.int64)

    def ratings(self, name: str) -> Floats:
        """Return the rating of every entry, or raise NeedError; ``name`` is the recommender that needs ratings."""
        if self.value is None and (self.ptr[1:] - self.ptr[:-1] > 1).any() and not self.has_order:
            raise NeedError(f"{name} learns from ratings, but these are clicks without ratings: use bpr or popular.")
        if self.value is None:
            raise NeedError(
                f"{name} learns from ratings, but these are rankings: use plackett-luce-mf, or " + arg("beta", 1) + "."
            )
        return self.value

    @cached_property
    def has_order(self) -> bool:
        """Whether some ballot orders its items; clicks do not."""
        is_inside = self.ballot[1:] == self.ballot[:-1]
        return bool((self.tier[1:] != self.tier[:-1])[is_inside].any())
