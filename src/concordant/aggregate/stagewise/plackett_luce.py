"""Plackett-Luce: rankings as successive choices from the remaining items, with probability proportional to worth.

Every item has a worth exp(s). The first item is chosen from all, the second from those that remain, and so on:

    P(order) = prod_i  exp(s_i) / sum_{j >= i} exp(s_j)

The scores are maximum (penalised) likelihood estimates. For two items the model is Bradley-Terry, for single choices
the conditional logit. A ballot over some of the items is a ranking of these only; in an open ballot (top-k, a choice
from a set) the other items stay in the denominators and are not ordered. Use it for choices and race results, where the
first places are more informative than the last. If ballots stop because the remaining items are worse ("my top three"),
use ``plackett-luce-topk``, which keeps unranked items in the denominators; otherwise an item ranked first on a single
ballot may top the ranking.

``prior`` keeps scores finite if nothing was ever ranked above an item, and shrinks the scores of rarely ranked items:
it is the precision of a Gaussian prior on the scores or, with ``prior_kind="gamma"``, the number of additional choices
of each item from all. By default it is chosen by marginal likelihood, one for all instances, and reported in
``ranking.fit["prior"]``; 0 is maximum likelihood. Tied items are put in a random order (``ties="shuffle"``), in the
given order (``"input"``), or kept together (``"partition"``, the ordered-partition likelihood; the prior is chosen with
ties in a random order). Standard errors come from the exact Hessian, for scores that sum to zero; ``posterior=1000``
draws from the posterior under the Gamma prior by Gibbs sampling instead. Covariates of the ranked items (the price of
an offer) get coefficients, as in the conditional logit; the strength of a team is the sum or the mean of its members'
scores.

Cost: items³ or linear in the total length of the ballots per Newton step, whichever is estimated to be faster; standard
errors items³, computed on first access. References: R. Plackett, The analysis of permutations, 1975; D. Hunter, MM
algorithms for generalized Bradley-Terry models, 2004; F. Caron and A. Doucet, Efficient Bayesian inference for
generalized Bradley-Terry models, 2012.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from concordant.aggregate.stagewise._model import ChoiceModel, chosen_prior, observed_of, prior_of, search_of
from concordant.aggregate.stagewise._posterior import draw_posterior
from concordant.errors import ParameterError, arg
from concordant.method import Outcome
from concordant.models.effects import refuse
from concordant.models.likelihoods.evidence import PriorSearch, settled_on, settled_prior
from concordant.models.observations.stages import PRIOR_DOC, Staging
from concordant.models.solve.strategies import fit
from concordant.params import param
from concordant.preferences import Preferences
from concordant.ranking import Notice


@dataclass(frozen=True, kw_only=True)
class PlackettLuce(ChoiceModel):
    """Maximum a posteriori scores for rankings as successive choices of the best remaining item."""

    usual_name = "Plackett-Luce"
    usual_aliases = {"plackett-luce-topk": "Plackett-Luce (top-k)"}
    likelihood_of = "rankings of the items each ballot names"
    waives = {
        "neutrality": "tied items are put in a random order",
        "anonymity": "tied items are put in a random order, drawn ballot by ballot",
        "weight_is_repetition": "repetitions of a ballot with ties are shuffled separately",
        "condorcet_consistency": "top positions count more than pairwise majorities",
    }

    aliases = {"plackett-luce-topk": {"missing": "last-free"}}

    prior: float | str = param("auto", PRIOR_DOC, low=0.0, words=("auto",))
    prior_kind: str = param(
        "gaussian", "Gaussian prior on scores, or gamma prior on worths", choices=("gaussian", "gamma")
    )
    ties: str = param("shuffle", "treatment of tied items", choices=("shuffle", "input", "partition"))
    posterior: int = param(0, "number of posterior draws (needs the gamma prior); 0 for none", low=0, high=1e6)
    seed: int | None = param(0, "random seed", low=0)

    def scores(self, prefs: Preferences) -> Outcome:
        """Return the scores with standard errors, rank intervals, fit and warnings."""
        seed = self.seed if self.seed is not None else int(np.random.default_rng().integers(2**31))
        if self.posterior and (self.prior_kind != "gamma" or self.prior == 0):
            raise ParameterError(
                "posterior draws need the Gamma prior: set " + arg("prior_kind", "gamma") + " and prior above 0."
            )
        contest_prefs, design = self.contest(prefs)
        if self.posterior and design is not None:
            refuse(arg("posterior", shown=str(self.posterior)), arg("posterior", 0))
        staging = Staging(self.missing, self.ties, seed)
        stages = staging.stages(contest_prefs)
        stages_for_prior = (
            replace(staging, ties="shuffle").stages(contest_prefs) if self.ties == "partition" else stages
        )
        known = settled_prior(self)
        strength, doubt, start = (
            (*known, None) if known else chosen_prior(stages_for_prior, self.prior, self.prior_kind, design)
        )
        prior = prior_of(strength, self.prior_kind, prefs.n_instances)
        fits = fit(observed_of(stages, design), prior, start)
        outcome = self.outcome(prefs, staging, fits, doubt, self._told(contest_prefs), design)
        if self.posterior:
            return draw_posterior(prefs, stages, outcome, strength, self.posterior, self.level, seed)
        return outcome

    def ranks_apart(self, prefs: Preferences) -> bool:
        """Return whether instances can be ranked separately: not if ties are shuffled over all instances."""
        if self.contest(prefs)[1] is not None:
            return False
        is_drawn = self.ties in ("shuffle", "partition") and n_tied_ballots(prefs) > 0
        return not self.posterior and not (is_drawn and (self.ties == "shuffle" or isinstance(self.prior, str)))

    def prior_search(self, prefs: Preferences) -> PriorSearch:
        """Return the search for the prior of these preferences."""
        ties = "shuffle" if self.ties == "partition" else self.ties
        contest_prefs, design = self.contest(prefs)
        return search_of(Staging(self.missing, ties, self.seed or 0).stages(contest_prefs), self.prior_kind, design)

    def settled(self, strength: float, doubt: float) -> Self:
        """Return a copy with this prior, and the variance of its logarithm, as already chosen."""
        return settled_on(self, strength, doubt)

    def _told(self, prefs: Preferences) -> tuple[Notice, ...]:
        """Return a notice about ballots with ties and how ties are ordered."""
        tied = n_tied_ballots(prefs)
        if not tied or self.ties == "partition":
            return ()
        how = "at random" if self.ties == "shuffle" else "as given"
        text = f"{tied:,} ballot{'s' * (tied > 1)} with ties, ordered {how}; ordered-partitions models ties directly"
        return (Notice("ties-broken", text),)


def n_tied_ballots(prefs: Preferences) -> int:
    """Return the number of ballots with a tie, open last tiers excluded."""
    from concordant import views

    if (prefs.tier[1:] != prefs.tier[:-1]).all():
        return 0
    groups = views.tiers(prefs)
    return len(np.unique(groups.ballot[(groups.size > 1) & ~groups.is_open]))
