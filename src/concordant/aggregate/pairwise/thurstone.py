"""Thurstone-Mosteller: every item shows a normally distributed performance, the better one wins.

P(a beats b) = Phi(s_a - s_b), Phi the normal distribution function: scores are in standard deviations of the difference
between two performances (case V). The classical sibling of Bradley-Terry; the two rank almost alike, and upsets are
less likely here. A tie is half a win each way.

The prior, the kinds of errors, rank intervals, order effects, weights of agents and covariates are those of
bradley-terry.

Cost: that of bradley-terry; the pairs are counted once, then come some six to twenty Newton steps.
Reference: L. L. Thurstone, A law of comparative judgment, Psychological Review, 1927; F. Mosteller,
Psychometrika, 1951.
"""

from __future__ import annotations

from dataclasses import dataclass

from concordant.aggregate.pairwise._model import ScoreModel
from concordant.kernels.links import THURSTONE


@dataclass(frozen=True, kw_only=True)
class Thurstone(ScoreModel):
    """Scores of a probit model: the difference in performance is normally distributed."""

    likelihood_of = "comparisons, a tie counted as half a win each way"
    link = THURSTONE
    aliases = {"thurstone-mosteller": {}}
