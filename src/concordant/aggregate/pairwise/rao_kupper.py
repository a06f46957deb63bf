"""Rao-Kupper: Bradley-Terry with ties, where a small difference is not noticed.

With worths p = e^s and a threshold t = 1 + e^x >= 1, P(a beats b) = p_a / (p_a + t p_b) and P(tie) is what is left: two
items tie when the judge cannot tell them apart. The tie parameter x is estimated (``tie_parameter`` in the fit). Close
to Davidson's model in practice; prefer it when ties mean "no visible difference".

The prior, the kinds of errors, rank intervals, order effects, weights of agents and covariates are those of
bradley-terry.

Cost: that of bradley-terry; the pairs are counted once, then come some six to twenty Newton steps.
Reference: P. V. Rao and L. L. Kupper, Ties in paired-comparison experiments: a generalization of the Bradley-Terry
model, Journal of the American Statistical Association, 1967.
"""

from __future__ import annotations

from dataclasses import dataclass

from concordant.aggregate.pairwise._model import ScoreModel
from concordant.kernels.links import RAO_KUPPER


@dataclass(frozen=True, kw_only=True)
class RaoKupper(ScoreModel):
    """Bradley-Terry model with a threshold: small differences in performance are ties."""

    likelihood_of = "comparisons, a tie being a result of its own"
    link = RAO_KUPPER
