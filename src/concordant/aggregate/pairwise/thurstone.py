"""Thurstone-Mosteller: normally distributed performances; the better performance wins (a probit model).

    P(a beats b) = Phi(s_a - s_b)

Phi is the normal distribution function, so scores are in standard deviations of the difference between two performances
(case V). The rankings are almost the same as Bradley-Terry's; upsets are less likely under this model. A tie counts as
half a win for each side. Priors, standard errors, rank intervals, order effects, agent weights and covariates work as
in bradley-terry.

Cost: as bradley-terry. The pairs are counted once; then about 6 to 20 Newton steps. Reference: L. L. Thurstone, A law
of comparative judgment, Psychological Review, 1927; F. Mosteller, Psychometrika, 1951.
"""

from __future__ import annotations

from dataclasses import dataclass

from concordant.aggregate.pairwise._model import ScoreModel
from concordant.kernels.links import THURSTONE


@dataclass(frozen=True, kw_only=True)
class Thurstone(ScoreModel):
    """Scores of a probit model: the difference in performance is normally distributed."""

    usual_name = "Thurstone-Mosteller"
    likelihood_of = "comparisons, a tie counted as half a win each way"
    link = THURSTONE
    aliases = {"thurstone-mosteller": {}}
