"""Generalised Mallows: one true order, followed more closely at some places than at others.

A ballot is built along the centre: the item at place j is put behind v_j of the items that should come after it, with
probability proportional to phi_j^v. Each place has its own phi, so that agreement on the top and disorder at the
bottom (or the reverse) are told apart; with equal phi it is the Mallows model with the Kendall distance. The centre is
Kemeny's; given it, every phi_j has its own maximum-likelihood equation. Ballots with ties or over some of the items
enter with the pairs they decide: a stage runs over the items of the ballot that come later in the centre, ties half.
Use it to see where in the ranking the voters agree (``details["phi"]``).

Cost: the search for the centre, then linear in the pairs of each ballot. References: M. Fligner and J. Verducci,
Distance based ranking models, 1986; B. Mandhani and M. Meila, Tractable search for learning exponential models of
rankings, 2009.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from concordant.aggregate.permutation._centre import (
    MISSING_CHOICES,
    MISSING_DOC,
    against,
    centre,
    inversions,
    position_score,
)
from concordant.aggregate.permutation._dispersion import log_places, mean_turned, solve_falling
from concordant.aggregate.permutation._model import PermutationModel, dispersion_notices
from concordant.gather import sum_by
from concordant.method import Method, Outcome
from concordant.params import param
from concordant.preferences import Preferences
from concordant.types import Floats, Int64s


@dataclass(frozen=True, kw_only=True)
class GeneralisedMallows(Method):
    """The order closest to all ballots, with how far ballots scatter at each of its places."""

    waives = {"neutrality": "of several equally close orders the first found is taken"}

    missing: str = param("auto", MISSING_DOC, choices=MISSING_CHOICES)

    def scores(self, prefs: Preferences) -> Outcome:
        """Return places of the centre as scores; ``details["phi"]`` is the dispersion at each item's place."""
        order = centre(prefs, "kendall", self.missing)
        seen = against(prefs, order)
        turned, compared = inversions(seen)
        weight = prefs.weight[seen.ballot]
        theta, likelihood = _stage_dispersions(prefs.entry_slot, turned, compared, weight, prefs.n_slots)
        by_instance = np.full(prefs.n_instances, 1.0)  # neither end of the range: stages are told apart in details
        total = float(prefs.weight.sum())
        phi = np.exp(-theta)
        return Outcome(
            score=position_score(prefs, order),
            fit={
                "log_likelihood": likelihood,
                "mean_distance": float(weight @ turned) / total if total else 0.0,
            },
            warnings=dispersion_notices(prefs, by_instance),
            details={"phi": phi},
            model=PermutationModel(prefs.items, prefs.instances, prefs.slot_ptr, prefs.slot_item[order], phi[order]),
        )


def _stage_dispersions(
    slot: Int64s, turned: Floats, compared: Floats, weight: Floats, n_slots: int
) -> tuple[Floats, float]:
    """Return theta of every slot (its stage in the centre) and the log-likelihood of all stages."""
    width = int(compared.max(initial=0)) + 1
    key, at = np.unique(slot * width + compared.astype(np.int64), return_inverse=True)
    row, places = key // width, key % width + 1
    mass = sum_by(at.reshape(-1), weight, len(key))
    observed = sum_by(slot, weight * turned, n_slots)

    def expected(theta: Floats) -> Floats:
        return sum_by(row, mass * mean_turned(theta[row], places), n_slots)

    theta = solve_falling(expected, observed)
    return theta, float(-(theta @ observed) - mass @ log_places(theta[row], places))
