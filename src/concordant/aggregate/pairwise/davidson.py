"""Davidson: the Bradley-Terry model with ties, which are most likely between equal items.

With worths p = exp(s) and the tie parameter nu,

    P(a beats b) : P(b beats a) : P(tie) = p_a : p_b : nu sqrt(p_a p_b)

log nu is estimated (``tie_parameter`` in the fit). Ties are evidence that two items are close, and the data determine
how strong: use the model for games that can be drawn. Priors, standard errors, rank intervals, order effects, agent
weights and covariates work as in bradley-terry.

Cost: as bradley-terry. The pairs are counted once; then about 6 to 20 Newton steps. Reference: R. R. Davidson, On
extending the Bradley-Terry model to accommodate ties in paired comparison experiments, Journal of the American
Statistical Association, 1970.
"""

from __future__ import annotations

from dataclasses import dataclass

from concordant.aggregate.pairwise._model import ScoreModel
from concordant.kernels.links import DAVIDSON


@dataclass(frozen=True, kw_only=True)
class Davidson(ScoreModel):
    """Bradley-Terry model with a tie parameter: ties are most likely between equal items."""

    usual_name = "Davidson"
    likelihood_of = "comparisons, with ties as a third outcome"
    link = DAVIDSON
