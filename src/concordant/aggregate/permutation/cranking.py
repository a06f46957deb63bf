"""Cranking: the posterior of the true order given lists, each with the dispersion of its agent.

P(order) is proportional to exp(-sum_k theta_k d(order, list of agent k)), with d the Kendall distance (the number of
discordant pairs) and theta_k >= 0 the dispersion parameter of agent k: 0 for an agent whose lists carry no information,
large for one that is nearly always right. (Lebanon and Lafferty write +theta with theta <= 0.) It is the posterior of
the order, under a uniform prior, if every list is a Mallows draw around it with the dispersion of its agent.

The consensus is the order of the posterior mean ranks (``consensus="mean"``) or the posterior mode (``"mode"``): the
Kemeny ranking of the lists weighted by theta or, if there are several modes and up to 8 candidates, the mean ranks over
all of them. Mean ranks are exact for up to 8 candidates; for more they are means over Gibbs samples of orders
(``sweeps``, ``seed``), which mix slowly if the posterior has several separate modes.

The dispersions are learnt

- from labels (``fit(prefs, labels)``): maximum likelihood, where the probability of the labels of an instance is the
  summed probability of all orders that contradict no label;
- without labels, from the lists to be ranked: maximum marginal likelihood, summed over the unknown orders (the
  aggregation model of Klementiev, Roth and Small, who maximise it by EM). A list is a Mallows draw over the items that
  it ranks. A conjugate prior, with the weight of ``prior`` lists at the common dispersion of all agents, prevents
  solutions that trust a single agent only. If agents are unknown, all ballots share one dispersion.

Both likelihoods sum exactly over orders: the candidates of larger instances are divided at random into blocks of 8 (at
most 1,000 blocks), which gives a composite likelihood. Ties count half. ``missing`` sets the treatment of candidates
that a list does not rank: below the list without an order among themselves (the mean over the list's completions, as in
the paper), or ignored.

Use it if agents differ in reliability and rank many instances. The likelihood of the labels is concave in theta if
labels have no ties; otherwise, and without labels, the search starts from equal dispersions and finds a local maximum.

Cost: items² per ballot for the matrix, then sweeps x items per instance. References: G. Lebanon and J. Lafferty,
Cranking: combining rankings using conditional probability models on permutations, ICML 2002; A. Klementiev, D. Roth and
K. Small, Unsupervised rank aggregation with distance-based models, ICML 2008.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from concordant import kernels, views
from concordant.aggregate import options
from concordant.aggregate.common import snap_scores
from concordant.aggregate.distance.kemeny import Kemeny
from concordant.aggregate.explain.agents import weights_reason
from concordant.aggregate.permutation._agent_dispersions import Sheets, fit_to_labels, fit_to_lists
from concordant.aggregate.permutation._pair_energies import EXACT, mean_ranks
from concordant.errors import InputError, NeedError
from concordant.labels import Labels
from concordant.method import NEEDS, Method, Outcome
from concordant.models.notices import unknown_agents
from concordant.params import param
from concordant.preferences import Preferences
from concordant.ranking import Ranking
from concordant.results.explanation import Reason
from concordant.support.state import LARGEST_WEIGHT, ByLabel
from concordant.types import Floats

TIE = 1e-6  # mean ranks this close, relative to the largest, are equal
SHARP = 1e6  # factor on the energy at which only the most likely orders remain
SMALLEST = 1e-6  # dispersion of an agent that counts for nothing, which keeps its ballots


@dataclass(frozen=True, kw_only=True)
class Cranking(Method):
    """Posterior mean ranks of a Mallows model with several lists and a dispersion for each agent."""

    usual_name = "Cranking"
    matrices = 6
    waives = {
        "condorcet_consistency": "a mean rank depends on all positions, and agents have different weights",
        "instances_are_independent": "the dispersions of the agents are estimated from all instances together",
    }
    aliases = {"cranking-mode": {"consensus": "mode"}}
    learns = {"theta": ByLabel(low=0, high=LARGEST_WEIGHT)}

    consensus: str = param("mean", "posterior mean rank, or posterior mode (Kemeny order)", choices=("mean", "mode"))
    dispersion: str = param(
        "agent",
        "estimate one dispersion per agent or a common one, unless learnt from labels",
        choices=("agent", "common"),
    )
    missing: str = options.missing(choices=("auto", "last", "ignore"))
    prior: float = param(1.0, "strength of the prior towards a common dispersion, as a number of lists", low=0.0)
    instances: int = param(200, "maximum number of labelled instances to learn from", low=1)
    sweeps: int = param(200, "number of Gibbs sweeps, for instances of more than 8 candidates", low=4, high=1e6)
    seed: int | None = param(0, "random seed", low=0)

    def fit(self, prefs: Preferences, labels: Labels) -> Self:
        """Return a copy with the maximum-likelihood dispersions, given the labels of these instances."""
        if prefs.agents is None or prefs.agent is None:
            raise NeedError(f"{self.name} cannot learn from this data: " + NEEDS["agents"] + ".")
        rng, missing = np.random.default_rng(self.seed), views.resolve_missing(prefs, self.missing)
        prefs, label = self._labelled(prefs, labels, rng)
        assert prefs.agents is not None
        assert prefs.agent is not None
        sheets = Sheets.of(prefs, prefs.agent.astype(np.int64), len(prefs.agents), missing, rng)
        theta = fit_to_labels(sheets, sheets.labels(label))
        return self.with_learnt(theta=dict(zip(prefs.agents.labels, theta.tolist(), strict=True)))

    def scores(self, prefs: Preferences) -> Outcome:
        """Return the number of candidates ranked below every slot, by mean rank or in the posterior mode."""
        missing = views.resolve_missing(prefs, self.missing)
        theta, by_agent = self._theta(prefs, missing)
        weighted = prefs.replace(weight=prefs.weight * np.maximum(theta, SMALLEST))
        cost = kernels.transpose_matrices(prefs.slot_ptr, views.win_matrices(weighted, missing).wins)
        size = np.diff(prefs.slot_ptr)[views.instance_of_slot(prefs)]
        if self.consensus == "mode":
            rank = mean_ranks(prefs.slot_ptr, SHARP * cost / max(float(cost.max(initial=0.0)), 1e-300), 0, self.seed)
            if (size > EXACT).any():
                by_kemeny = Kemeny(missing=missing, seed=self.seed).rank(weighted).rank_by_slot
                rank = np.where(size > EXACT, by_kemeny, rank)
        else:
            rank = mean_ranks(prefs.slot_ptr, cost, self.sweeps, self.seed)
        score = snap_scores(prefs, size - rank, TIE, min_scale=1.0)
        strangers = unknown_agents(prefs, self.learnt["theta"]) if "theta" in self.learnt else ()
        return Outcome(score, agents=by_agent, warnings=strangers)

    def reasons(self, prefs: Preferences, ranking: Ranking) -> Sequence[Reason]:
        """Explain the lead, and list the dispersions of the agents."""
        sentence = (
            "A list whose agent has the dispersion theta becomes e^theta times less likely with every pair that "
            "it orders against the truth."
        )
        return [*super().reasons(prefs, ranking), *weights_reason(prefs, ranking, sentence, "theta")]

    def _theta(self, prefs: Preferences, missing: str) -> tuple[Floats, dict[str, float] | None]:
        """Return theta of every ballot and of every agent, learnt from labels or estimated from the lists."""
        known = self.learnt.get("theta")
        if known is not None:
            if prefs.agents is None or prefs.agent is None:
                raise NeedError(f"{self.name} weights agents, but " + NEEDS["agents"] + ".")
            usual = float(np.mean(list(known.values())))
            by_agent = {agent: float(known.get(agent, usual)) for agent in prefs.agents.labels}
            return np.array(list(by_agent.values()))[prefs.agent], by_agent
        is_common = prefs.agents is None or prefs.agent is None or self.dispersion == "common"
        agent = np.zeros(prefs.n_ballots, np.int64) if is_common else np.asarray(prefs.agent, np.int64)
        n_agents = 1 if is_common else len(prefs.agents or ())
        sheets = Sheets.of(prefs, agent, n_agents, missing, np.random.default_rng(self.seed))
        theta = fit_to_lists(sheets, self.prior)
        if is_common or prefs.agents is None:
            return theta[agent], None
        return theta[agent], dict(zip(prefs.agents.labels, theta.tolist(), strict=True))

    def _labelled(self, prefs: Preferences, labels: Labels, rng: np.random.Generator) -> tuple[Preferences, Floats]:
        """Return instances with at least two different labels (some at random, if there are many), and the labels."""
        instance = views.instance_of_slot(prefs)
        label = np.nan_to_num(labels.for_items(instance, prefs.instances, prefs.items, prefs.slot_item))
        low, high = np.full(prefs.n_instances, np.inf), np.full(prefs.n_instances, -np.inf)
        np.minimum.at(low, instance, label)
        np.maximum.at(high, instance, label)
        chosen = np.flatnonzero(high > low)
        if not len(chosen):
            raise InputError(
                "There is nothing to learn from: no instance has candidates with different labels. Check that the "
                "preferences and the labels use the same names for instances and items."
            )
        if prefs.instances is None:
            return prefs, label
        chosen = np.sort(rng.permutation(chosen)[: self.instances])
        kept = np.isin(instance, chosen)
        return prefs.select(instances=prefs.instances.take(chosen)), label[kept]
