"""Davidson: Bradley-Terry with ties, likeliest between equals.

With worths p = e^s, P(a beats b) : P(b beats a) : P(tie) = p_a : p_b : nu sqrt(p_a p_b). The tie parameter, log nu, is
estimated (``tie_parameter`` in the fit). Ties pull two items together, and how strongly is learnt from the data instead
of assumed: the model to use when games can be drawn.

The prior, the kinds of errors, rank intervals, order effects, weights of agents and covariates are those of
bradley-terry.

Cost: that of bradley-terry; the pairs are counted once, then come some six to twenty Newton steps.
Reference: R. R. Davidson, On extending the Bradley-Terry model to accommodate ties in paired comparison experiments,
Journal of the American Statistical Association, 1970.
"""

from __future__ import annotations

from dataclasses import dataclass

from concordant.aggregate.pairwise._model import ScoreModel
from concordant.kernels.links import DAVIDSON


@dataclass(frozen=True, kw_only=True)
class Davidson(ScoreModel):
    """Bradley-Terry model with a tie parameter: ties are most likely between equal items."""

    likelihood_of = "comparisons, a tie being a result of its own"
    link = DAVIDSON
