"""Thurstone-Mosteller: every item shows a normally distributed performance, the better one wins.

P(a beats b) = Phi(s_a - s_b), Phi the normal distribution function: scores are in standard deviations of the difference
between two performances (case V). The classical sibling of Bradley-Terry; the two rank almost alike, and upsets are
less likely here. A tie is half a win each way.

``prior`` is the precision of a prior that draws scores together. It keeps them finite where the comparisons alone do
not (an item that never lost, groups never compared), and such items are named in a warning. By default it is chosen by
evidence, one for all instances, and reported in ``ranking.fit["prior"]``: who played a single match does not lead
112,000 of them. ``prior=0`` is plain maximum likelihood wherever that exists. With ``likelihood="mean"`` the prior
weighs the same however many comparisons there are.

Standard errors come from the exact Hessian with scores centred. Pairs cut out of one ballot depend on each other: where
ballots compare more than two items, errors are clustered by ballot. ``errors="sandwich"`` clusters by agent where there
are agents, ``"bootstrap"`` resamples the counts. ``rank_low`` and ``rank_high`` hold for all items at
once, ``p_best`` is the chance to be truly first; ``ranking.model`` answers p_beats(a, b) and more.

Cost: counting the pairs once, then about six Newton steps, some twenty where the prior is chosen: items³ each up to
4,000 items (1,000 where few of them met), linear in the pairs above.
Reference: L. L. Thurstone, A law of comparative judgment, Psychological Review, 1927; F. Mosteller,
Psychometrika, 1951.
"""

from __future__ import annotations

from dataclasses import dataclass

from concordant.aggregate.pairwise._model import ScoreModel
from concordant.aggregate.pairwise._problem import THURSTONE


@dataclass(frozen=True, kw_only=True)
class Thurstone(ScoreModel):
    """Scores whose differences are standard deviations between two normal performances."""

    link = THURSTONE
    waives = {
        "condorcet_consistency": "an item can win every duel narrowly and still score below one that wins most clearly"
    }
    aliases = {"thurstone-mosteller": {}}
