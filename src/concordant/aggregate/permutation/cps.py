"""CPS: the coset-permutation distance model, a greedy order built from the top.

At each step the next item is drawn with probability proportional to

    exp(-sum_k phi_k d_k)

d_k is the mean distance between ballot k and all orders that start with the items placed so far (the coset of that
beginning). Each agent has a concentration phi_k: ``fit(prefs, labels)`` learns it by maximum likelihood from labelled
instances, on random orders that are consistent with the labels; without it all agents have the same weight. The ranking
is greedy: the most likely item at every step. Three distances are available: ``kendall`` (discordant pairs),
``footrule`` (displacements) and ``spearman`` (squared displacements, which orders by phi-weighted mean position).
The distance is averaged over all ways to rank an agent's unranked items below the ranked ones.

After terms that are equal for all candidates are dropped, the cost of a candidate at position i of m, with position s
on the ballot, is:

- kendall: the number of remaining items that the ballot ranks above the candidate
- spearman: (m + 1 - i) s
- footrule: |i - s| minus its mean over the later positions

Cost: items² per agent and instance. Reference: T. Qin, X. Geng, T.-Y. Liu, A new probabilistic model for rank
aggregation, NIPS 2010.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from concordant.aggregate.permutation._cosets import DISTANCES, greedy_places, learn_phi
from concordant.errors import NeedError
from concordant.labels import Labels
from concordant.method import NEEDS, Method, Outcome
from concordant.models.notices import unknown_agents
from concordant.params import param
from concordant.preferences import Preferences
from concordant.support.state import LARGEST_WEIGHT, ByLabel
from concordant.types import Floats


@dataclass(frozen=True, kw_only=True)
class CPS(Method):
    """Coset-permutation distance model: sequential greedy ranking, with agent weights learnt from labels."""

    usual_name = "Coset-permutation model"
    matrices = 6
    silence = "the distance is averaged over all ways to rank them below the named ones"
    waives = {
        "condorcet_consistency": "each step compares an item with all remaining items together, not pair by pair",
    }
    aliases = {f"cps-{distance}": {"distance": distance} for distance in DISTANCES}
    learns = {"phi": ByLabel(low=0, high=LARGEST_WEIGHT)}

    distance: str = param("kendall", "distance between two orders", choices=DISTANCES)
    instances: int = param(200, "maximum number of labelled instances to learn from", low=1)
    draws: int = param(1, "number of orders sampled per labelled instance", low=1)
    seed: int | None = param(0, "seed for the sampled orders", low=0)

    def fit(self, prefs: Preferences, labels: Labels) -> Self:
        """Return a copy with agent weights learnt from the labels of these instances."""
        if prefs.agents is None or prefs.agent is None:
            raise NeedError(f"{self.name} cannot learn from this data: " + NEEDS["agents"] + ".")
        phi = learn_phi(prefs, labels, self.distance, self.instances, self.draws, self.seed)
        return self.with_learnt(phi=dict(zip(prefs.agents.labels, phi.tolist(), strict=True)))

    def scores(self, prefs: Preferences) -> Outcome:
        """Return scores by position in the greedy order; candidates with equal costs in a step share a position."""
        phi, by_agent = self._phi(prefs)
        strangers = () if by_agent is None else unknown_agents(prefs, self.learnt["phi"])
        return Outcome(greedy_places(prefs, phi, self.distance), agents=by_agent, warnings=strangers)

    def _phi(self, prefs: Preferences) -> tuple[Floats, dict[str, float] | None]:
        """Return phi of every ballot, and of every agent where it was learnt; unknown agents get the mean."""
        known = self.learnt.get("phi")
        if known is None:
            return np.ones(prefs.n_ballots), None
        if prefs.agents is None or prefs.agent is None:
            raise NeedError(f"{self.name} weights agents, but " + NEEDS["agents"] + ".")
        usual = float(np.mean(list(known.values())))
        by_agent = {agent: float(known.get(agent, usual)) for agent in prefs.agents.labels}
        return np.array(list(by_agent.values()))[prefs.agent], by_agent
