"""Ordered partitions: Plackett-Luce for rankings with ties, in linear time.

A ranking with ties is a sequence of tiers; each is chosen as a whole from all items that remain. A set is worth the
mean of its members' worths exp(s), so P(ranking) = prod_k sum_{tier k} exp(s) / sum_{remaining at k} exp(s), up to a
constant: every stage costs time linear in its items although it chooses among 2^n sets. Without ties it is exactly
Plackett-Luce. Use it for ratings, graded judgements and ballots with ties, where breaking ties by chance would add
noise.

With ties the log-likelihood is not concave. The default prior is a Gamma distribution on worths (each item is chosen
from all ``prior`` times beforehand), which gives tied items equal scores; a Gaussian one on scores need not. Newton
steps are replaced, where the second derivative is indefinite, by those of a concave lower bound, so every step
ascends. Standard errors are given where the second derivative is definite at the optimum, and their absence is told.
No prior is chosen by evidence here: with ties its Laplace approximation is poor, and under a strong prior the items of
a tie, which share its credit, can fall behind an item that all ballots put below them.

Cost: linear in the total length of the ballots per step; items³ per instance of moderate size. Reference: T. Truyen,
D. Phung, S. Venkatesh, Probabilistic models over ordered partitions with applications in document ranking and
collaborative filtering, SDM 2011.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from concordant.aggregate.stagewise._model import ChoiceModel, observed_of, prior_of
from concordant.method import Outcome
from concordant.models.observations.stages import Staging
from concordant.models.solve.strategies import fit
from concordant.params import param
from concordant.preferences import Preferences


@dataclass(frozen=True, kw_only=True)
class OrderedPartitions(ChoiceModel):
    """Maximum a posteriori scores for rankings with ties, as successive choices of the best remaining tier."""

    likelihood_of = "rankings of the items each ballot names, ties among them"
    waives = {"condorcet_consistency": "who comes first counts more than who beats whom"}
    aliases = {"pmop": {}}

    prior: float = param(0.1, "strength of the prior (regularisation); 0: maximum likelihood", low=0.0)
    prior_kind: str = param(
        "gamma", "gamma prior on worths, or Gaussian prior on scores", choices=("gamma", "gaussian")
    )
    seed: int | None = param(0, "seed of the draws for the probability of being best", low=0)

    def scores(self, prefs: Preferences) -> Outcome:
        """Return the scores with standard errors where they exist, fit and warnings."""
        seed = self.seed if self.seed is not None else int(np.random.default_rng().integers(2**31))
        staging = Staging(self.missing, seed=seed)
        prior = prior_of(self.prior, self.prior_kind, prefs.n_instances)
        contest_prefs, design = self.contest(prefs)
        fits = fit(observed_of(staging.stages(contest_prefs), design), prior)
        return self.outcome(prefs, staging, fits, design=design)
