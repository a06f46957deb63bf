"""Bradley-Terry: scores such that the difference of two gives the odds of a win.

P(a beats b) = e^(s_a - s_b) / (1 + e^(s_a - s_b)). The model behind chess ratings and language-model arenas: it takes
into account whom an item met, so that few wins against strong opponents can be worth many against weak ones. A tie is
half a win each way; use davidson or rao-kupper where ties say something of their own.

``prior`` is the precision of a prior that draws scores together. It keeps them finite where the comparisons alone do
not (an item that never lost, groups never compared), and such items are named in a warning. By default it is chosen by
evidence, one for all instances, and reported in ``ranking.fit["prior"]``: who played a single match does not lead
112,000 of them. ``prior=0`` is plain maximum likelihood wherever that exists. With ``likelihood="mean"`` the prior
weighs the same however many comparisons there are.

Standard errors come from the exact Hessian with scores centred. A tie varies less than two half wins, and errors are
corrected for that from the counts of every pair. Pairs cut out of one ballot depend on each other: where ballots
compare more than two items, errors are clustered by ballot. ``errors="hessian"`` corrects nothing, ``"sandwich"``
clusters by agent where there are agents, ``"bootstrap"`` resamples agents, or comparisons where there are none.
``rank_low`` to ``rank_high`` is the confidence interval of a rank, ``p_best`` the probability of being truly first;
``simultaneous_rank_low`` and ``simultaneous_rank_high`` hold for all items at once. ``ranking.model`` answers
p_beats(a, b) and more.
``order_effect`` estimates the advantage of the item shown first, ``with_agent_weights`` and ``with_covariates`` bring
in what is known of voters and items. Covariates of what was compared (the length of an answer), where the preferences
have them, get coefficients, and scores are those at equal covariates (style control); the strength of a team is the sum
or the mean of its members' scores.

Cost: counting the pairs once, then about six Newton steps, some twenty where the prior is chosen: items³ or linear in
the pairs each, whichever is estimated to be less. Errors are found when first asked for.
Reference: R. A. Bradley and M. E. Terry, Rank analysis of incomplete block designs, Biometrika, 1952.
"""

from __future__ import annotations

from dataclasses import dataclass

from concordant.aggregate.pairwise._model import ScoreModel
from concordant.kernels.links import BRADLEY_TERRY


@dataclass(frozen=True, kw_only=True)
class BradleyTerry(ScoreModel):
    """Scores whose differences are log odds of a win, with confidence intervals for scores and ranks."""

    likelihood_of = "comparisons, a tie counted as half a win each way"
    link = BRADLEY_TERRY
