"""Rao-Kupper: the Bradley-Terry model with ties, in which a judge does not notice small differences.

With worths p = exp(s) and a threshold t = 1 + exp(x),

    P(a beats b) = p_a / (p_a + t p_b),     P(tie) = 1 - P(a beats b) - P(b beats a)

Two items tie if the judge cannot tell them apart. The tie parameter x is estimated (``tie_parameter`` in the fit). In
practice the model is close to Davidson's; prefer it if ties mean "no noticeable difference". Priors, standard errors,
rank intervals, order effects, agent weights and covariates work as in bradley-terry.

Cost: as bradley-terry. The pairs are counted once; then about 6 to 20 Newton steps. Reference: P. V. Rao and L. L.
Kupper, Ties in paired-comparison experiments: a generalization of the Bradley-Terry model, Journal of the American
Statistical Association, 1967.
"""

from __future__ import annotations

from dataclasses import dataclass

from concordant.aggregate.pairwise._model import ScoreModel
from concordant.kernels.links import RAO_KUPPER


@dataclass(frozen=True, kw_only=True)
class RaoKupper(ScoreModel):
    """Bradley-Terry model with a threshold: small differences in performance are ties."""

    usual_name = "Rao-Kupper"
    likelihood_of = "comparisons, with ties as a third outcome"
    link = RAO_KUPPER
