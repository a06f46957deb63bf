"""Ordered partitions: the Plackett-Luce model for rankings with ties, in linear time.

A ranking with ties is a sequence of tiers, each chosen as a whole from all remaining items. By default,
the worth of a set is the arithmetic mean of its members' worths exp(s), so up to a constant

    P(ranking) = prod_k  sum_{i in tier k} exp(s_i) / sum_{i remaining at k} exp(s_i)

Every stage takes time linear in its items although it chooses among 2^n sets. Without ties it is exactly Plackett-Luce.
Use it for ratings, graded judgements and ballots with ties, where breaking ties at random would add noise.

With ties the log-likelihood is not concave. The default prior is a Gamma distribution on worths (equivalent to
``prior`` additional choices of each item from all), which gives tied items equal scores; a Gaussian prior on scores
need not. If the Hessian is indefinite, the Newton step is replaced by that of a concave lower bound, so every step
ascends. Standard errors are given if the Hessian is definite at the optimum; otherwise a notice says that they are
missing. The prior is not chosen by marginal likelihood here: with ties its Laplace approximation is poor, and under a
strong prior the items of a tie, which share its credit, can fall below an item that all ballots rank below them.

``mean`` selects another worth of a set. The likelihood then also includes the choice of the last tier as a whole:

    maximum, minimum      exact, O(n log n) per ballot; not concave, and not differentiable where scores are equal.
                          L-BFGS starts from the optimum of the arithmetic mean; then scores that are nearly equal are
                          tied if that increases the likelihood. The result is a local optimum that can depend on the
                          order of the input, so neutrality, anonymity, weight as repetition and unanimity may fail.
                          There are no standard errors.
    geometric, harmonic   exact if ballots rank at most 10 items (the sum runs over all sets), smooth, not concave:
                          L-BFGS from the same start, with standard errors if the Hessian is definite. For longer
                          ballots, sets are sampled (Gibbs sampler, contrastive divergence) and scores are updated by
                          stochastic gradient steps: they are approximate, depend on the seed and have no standard
                          errors.

Without ties, only the arithmetic mean gives Plackett-Luce: the other means also depend on the sets that were not
chosen.

Cost: linear in the total length of the ballots per step; items³ per instance of moderate size. Reference: T. Truyen, D.
Phung, S. Venkatesh, Probabilistic models over ordered partitions with applications in document ranking and
collaborative filtering, SDM 2011.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from concordant.aggregate.common import snap_scores
from concordant.aggregate.stagewise._model import ChoiceModel, observed_of, prior_of
from concordant.aggregate.stagewise._set_means import MEANS, Posterior, SetMeanErrors, ballot_queries, loss_of
from concordant.errors import arg
from concordant.method import Outcome
from concordant.models.effects import refuse
from concordant.models.likelihoods.priors import Prior
from concordant.models.observations.stages import Staging
from concordant.models.solve.strategies import fit
from concordant.params import param
from concordant.preferences import Preferences

TIE_OF_MEANS = 1e-5  # scores this close, relative to the largest, are equal


@dataclass(frozen=True, kw_only=True)
class OrderedPartitions(ChoiceModel):
    """Maximum a posteriori scores for rankings with ties, as successive choices of the best remaining tier."""

    usual_name = "Ordered partitions model"
    likelihood_of = "rankings of the items each ballot names, including ties"
    waives = {"condorcet_consistency": "top positions count more than pairwise majorities"}
    aliases = {"pmop": {}, **{f"ordered-partitions-{mean}": {"mean": mean} for mean in MEANS[1:]}}

    prior: float = param(0.1, "strength of the prior (regularisation); 0: maximum likelihood", low=0.0)
    prior_kind: str = param(
        "gamma", "gamma prior on worths, or Gaussian prior on scores", choices=("gamma", "gaussian")
    )
    mean: str = param("arithmetic", "type of mean that gives the worth of a tier", choices=MEANS)
    seed: int | None = param(0, "random seed", low=0)

    def scores(self, prefs: Preferences) -> Outcome:
        """Return the scores with standard errors if they exist, fit and warnings."""
        seed = self.seed if self.seed is not None else int(np.random.default_rng().integers(2**31))
        staging = Staging(self.missing, seed=seed)
        prior = prior_of(self.prior, self.prior_kind, prefs.n_instances)
        contest_prefs, design = self.contest(prefs)
        fits = fit(observed_of(staging.stages(contest_prefs), design), prior)
        arithmetic = self.outcome(prefs, staging, fits, design=design)
        if self.mean == "arithmetic":
            return arithmetic
        if design is not None:
            refuse(arg("mean", self.mean), arg("mean", "arithmetic"))
        return self._by_mean(prefs, prior, arithmetic, seed)

    def _by_mean(self, prefs: Preferences, prior: Prior, arithmetic: Outcome, seed: int) -> Outcome:
        """Return the outcome for another mean, fitted from the scores of the arithmetic one."""
        queries, slot = ballot_queries(prefs, self.missing)
        posterior = Posterior(loss_of(self.mean, queries, seed), queries, slot, prior, prefs.slot_ptr)
        score, steps = posterior.fitted(posterior.centred(arithmetic.score))
        score = snap_scores(prefs, score, TIE_OF_MEANS, min_scale=1e-3)
        fitted = {"prior": self.prior, "steps": float(steps)}
        if posterior.loss.is_exact:
            fitted = {"log_likelihood": posterior.log_likelihood(score), **fitted}
        connected = tuple(one for one in arithmetic.warnings if one.name != "no-convergence")
        errors = SetMeanErrors(prefs, posterior, score, self.level) if self.errors == "hessian" else None
        return Outcome(score, fit=fitted, warnings=connected, uncertainty=errors)
