"""Rao-Kupper: Bradley-Terry with ties, where a small difference is not noticed.

With worths p = e^s and a threshold t = 1 + e^x >= 1, P(a beats b) = p_a / (p_a + t p_b) and P(tie) is what is left: two
items tie when the judge cannot tell them apart. The tie parameter x is estimated (``tie_parameter`` in the fit). Close
to Davidson's model in practice; prefer it when ties mean "no visible difference".

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
Reference: P. V. Rao and L. L. Kupper, Ties in paired-comparison experiments: a generalization of the Bradley-Terry
model, Journal of the American Statistical Association, 1967.
"""

from __future__ import annotations

from dataclasses import dataclass

from concordant.aggregate.pairwise._model import ScoreModel
from concordant.aggregate.pairwise._problem import RAO_KUPPER


@dataclass(frozen=True, kw_only=True)
class RaoKupper(ScoreModel):
    """Bradley-Terry scores with a threshold: items tie when they cannot be told apart."""

    link = RAO_KUPPER
    waives = {
        "condorcet_consistency": "an item can win every duel narrowly and still score below one that wins most clearly"
    }
