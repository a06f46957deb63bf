"""Expected reciprocal rank (ERR)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from concordant.errors import ParameterError
from concordant.kernels.codes import Measure
from concordant.metrics.lists import Lists
from concordant.metrics.retrieval import LARGEST_LABEL, CutMetric
from concordant.params import param
from concordant.types import Floats


@dataclass(frozen=True)
class ERR(CutMetric):
    """Expected reciprocal rank at which a user stops, satisfied sooner by higher labels.

    The user stops at rank i with probability ``V_i = (2^l_i - 1)/2^lmax``: the metric is
    ``sum_i (1/i) V_i prod_{j<i} (1 - V_j)``.
    """

    measure = Measure.EXPECTED_RECIPROCAL_RANK
    lmax: float | None = param(
        None, "maximum label of the scale; from the data if not given", low=0, high=LARGEST_LABEL
    )

    def row(self, largest_label: float) -> list[float]:
        """Return the metric in the form that the kernels take."""
        lmax = largest_label if self.lmax is None else self.lmax
        if largest_label > lmax:
            raise ParameterError(f"lmax={lmax:g} of err is below the largest label: give at least {largest_label:g}.")
        return [*super().row(largest_label), float(lmax), 0.0]

    def averaged(self, lists: Lists) -> Floats:
        """Return the expected reciprocal rank, averaged over all orders of tied documents."""
        scale = np.exp2(self.row(lists.largest)[3])
        stops = lists.chance_to_stop((np.exp2(lists.gain_label) - 1.0) / scale)
        return lists.sum(stops / lists.position, self.cutoff)
