"""Bradley-Terry: scores whose differences are the log odds of a win.

    P(a beats b) = 1 / (1 + exp(-(s_a - s_b)))

This is the model behind chess ratings and language-model leaderboards. It accounts for the strength of the
opponents, so a few wins against strong opponents can outweigh many against weak ones. A tie counts as half a win for
each side; use davidson or rao-kupper to model ties explicitly.

``prior`` is the precision of a Gaussian prior (L2 regularisation). It keeps scores finite if the comparisons alone do
not (an item that never lost, groups never compared); a warning names such items. By default it is chosen by marginal
likelihood (empirical Bayes), one for all instances, and reported in ``ranking.fit["prior"]``, so that an item with a
single win does not top a ranking of 112,000 matches. ``prior=0`` is maximum likelihood if it exists. With
``likelihood="mean"`` the effect of the prior does not depend on the number of comparisons.

Standard errors come from the exact Hessian with centred scores. A tie has less variance than two half wins, and errors
are corrected for this from the counts of every pair. Pairs from the same ballot are dependent: if ballots compare more
than two items, errors are clustered by ballot. ``errors="hessian"`` disables these corrections, ``"sandwich"`` clusters
by agent if there are agents, ``"bootstrap"`` resamples agents, or comparisons if there are none. ``rank_low`` to
``rank_high`` is the confidence interval of a rank and ``p_best`` the probability of being the best item;
``simultaneous_rank_low`` and ``simultaneous_rank_high`` hold for all items at once. ``ranking.model`` answers
p_beats(a, b) and more.

``order_effect`` estimates the position bias (home advantage) of the item shown first. ``judge_effects`` estimates the
discrimination (``skill``) and the position bias (``bias``) of each judge, each shrunk to the mean of all judges by a
Gaussian prior whose precision is chosen by marginal likelihood. ``with_agent_weights`` sets
weights of voters, and ``with_covariates`` adds item covariates. Covariates of the comparisons (the length of an answer)
get coefficients, and scores refer to equal covariates (style control). The strength of a team is the sum or the mean of
its members' scores.

Cost: counting the pairs once, then about 6 Newton steps, or about 20 if the prior is chosen. A step is cubic in the
items or linear in the pairs, whichever is estimated to be faster. Errors are computed on first access. Reference: R. A.
Bradley and M. E. Terry, Rank analysis of incomplete block designs, Biometrika, 1952.
"""

from __future__ import annotations

from dataclasses import dataclass

from concordant.aggregate.pairwise._model import ScoreModel
from concordant.kernels.links import BRADLEY_TERRY


@dataclass(frozen=True, kw_only=True)
class BradleyTerry(ScoreModel):
    """Scores whose differences are log odds of a win, with confidence intervals for scores and ranks."""

    usual_name = "Bradley-Terry"
    likelihood_of = "comparisons, a tie counted as half a win each way"
    link = BRADLEY_TERRY
