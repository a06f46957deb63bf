"""Generalised Mallows: a central ranking with a separate dispersion for each position.

A ballot is built along the centre: the item at position j is placed below v_j of the items that follow it in the
centre, with probability proportional to

    phi_j^v_j

Each position has its own phi, so the model distinguishes agreement at the top from disagreement at the bottom (or the
reverse); with equal phi it is the Mallows model with the Kendall distance. Given the centre, every phi_j has a separate
maximum-likelihood equation. The search for the centre starts from the Kemeny ranking and swaps neighbours while the
likelihood rises; the two can differ if a position with high dispersion is above one with low dispersion. Ballots with
ties or over some of the items contribute the pairs they decide: a stage runs over the items of the ballot that come
later in the centre, ties half; an instance with such ballots keeps the Kemeny centre. Use it to see where in the
ranking the voters agree (``details["phi"]``).

Cost: the search for the centre, then linear in the pairs of each ballot. References: M. Fligner and J. Verducci,
Distance based ranking models, 1986; B. Mandhani and M. Meila, Tractable search for learning exponential models of
rankings, 2009.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from concordant import views
from concordant.aggregate import options
from concordant.aggregate.common import points
from concordant.aggregate.explain.overruled import WeighsMajorities
from concordant.aggregate.permutation._centre import against, centre, inversions
from concordant.aggregate.permutation._dispersion import log_places, mean_discordant, solve_falling
from concordant.aggregate.permutation._model import GeneralisedMallowsModel, dispersion_notices
from concordant.ballots.segments import first_of, places, segment_index, sum_by
from concordant.method import Outcome
from concordant.preferences import Preferences
from concordant.types import Floats, Int64s


@dataclass(frozen=True, kw_only=True)
class GeneralisedMallows(WeighsMajorities):
    """Mallows model with a central ranking and a separate dispersion for each of its positions."""

    usual_name = "generalised Mallows"
    likelihood_of = "rankings of the items each ballot names"
    matrices = 8
    waives = {
        "neutrality": "among equally close orders the first one found is returned",
        "condorcet_consistency": "if dispersion differs between positions, the most likely centre can "
        "contradict majorities",
    }

    missing: str = options.missing(choices=("auto", "last", "ignore"), more=", in the search for the centre")

    def scores(self, prefs: Preferences) -> Outcome:
        """Return scores by position in the centre, the first highest; ``details["phi"]`` has the dispersions."""
        order = _most_likely(prefs, centre(prefs, "kendall", self.missing))
        along_centre = against(prefs, order)
        discordant, compared = inversions(along_centre)
        weight = prefs.weight[along_centre.ballot]
        theta, log_likelihood = _stage_dispersions(prefs.entry_slot, discordant, compared, weight, prefs.n_slots)
        total = float(prefs.weight.sum())
        phi, score = np.exp(-theta), points(prefs.slot_ptr, places(prefs.slot_ptr, order))
        return Outcome(
            score,
            fit={
                "log_likelihood": log_likelihood,
                "mean_distance": float(weight @ discordant) / total if total else 0.0,
            },
            warnings=dispersion_notices(prefs),
            details={"phi": phi},
            model=GeneralisedMallowsModel.of(prefs, score, phi=phi[order]),  # by place; phi itself is by slot
        )


def _most_likely(prefs: Preferences, order: Int64s) -> Int64s:
    """Swap adjacent items of the centre while the likelihood rises, in instances with complete, strict ballots.

    For these, the likelihood depends only on pairwise counts: the discordant pairs of an item's stage are those in
    which ballots prefer an item after it.
    """
    first = first_of(prefs.slot_ptr)
    instance = segment_index(prefs.slot_ptr)
    is_full = np.diff(prefs.indptr) == np.diff(prefs.slot_ptr)[prefs.instance_of_ballot]
    is_simple = sum_by(prefs.instance_of_ballot, ~(is_full & against(prefs, order).is_strict), prefs.n_instances) == 0
    total = views.total_weight(prefs)[instance]
    is_free = (is_simple[instance] & (total > 0))[:-1] & (instance[:-1] == instance[1:])  # pairs of neighbours
    if not is_free.any():
        return order
    order, matrices = order.copy(), views.win_matrices(prefs, "ignore")
    start, width = matrices.ptr[instance], matrices.size[instance]

    def wins(upper: Int64s, lower: Int64s) -> Floats:
        return np.asarray(matrices.wins[start[upper] + (upper - first[upper]) * width[upper] + lower - first[upper]])

    places = prefs.slot_ptr[1:][instance] - np.arange(prefs.n_slots)  # how many an item at this place can be put among
    discordant = np.zeros(prefs.n_slots)
    for q, (low, high) in enumerate(pairwise(prefs.slot_ptr.tolist())):
        local_order = order[low:high] - low
        discordant[low:high] = np.tril(matrices.matrix(q)[np.ix_(local_order, local_order)], -1).sum(axis=0)
    while True:
        upper = order[:-1]
        lower = np.where(is_free, order[1:], upper)
        new_first, new_second = discordant[1:] + wins(upper, lower), discordant[:-1] - wins(lower, upper)
        stage_cost = _stage_costs(discordant, total, places)
        swapped = _stage_costs(new_first, total[:-1], places[:-1]) + _stage_costs(new_second, total[1:], places[1:])
        gain = np.where(is_free, stage_cost[:-1] + stage_cost[1:] - swapped, 0.0)
        gain[gain <= 1e-9 * (1 + stage_cost[:-1] + stage_cost[1:])] = 0.0
        padded = np.concatenate([[0.0], gain, [0.0]])
        chosen = np.flatnonzero((gain > 0) & (gain >= padded[:-2]) & (gain > padded[2:]))  # no two share an item
        if not len(chosen):
            return order
        order[chosen], order[chosen + 1] = order[chosen + 1], order[chosen]
        discordant[chosen], discordant[chosen + 1] = new_first[chosen], new_second[chosen]


def _stage_costs(discordant: Floats, total: Floats, places: Int64s) -> Floats:
    """Return the negative log-likelihood of stages at their maximum-likelihood dispersions.

    ``discordant`` pairs are summed over ballots of weight ``total``; ``places`` is the number of positions of the
    stage.
    """
    mean = np.divide(discordant, total, out=np.zeros(len(discordant)), where=total > 0)
    theta = solve_falling(lambda theta: mean_discordant(theta, places), mean)
    return total * (theta * mean + log_places(theta, places))


def _stage_dispersions(
    slot: Int64s, discordant: Floats, compared: Floats, weight: Floats, n_slots: int
) -> tuple[Floats, float]:
    """Return theta of every slot (its stage in the centre) and the log-likelihood of all stages.

    Ballots of a slot with the same number of compared items are grouped, so each number is evaluated once.
    """
    width = int(compared.max(initial=0)) + 1
    key, group = np.unique(slot * width + compared.astype(np.int64), return_inverse=True)
    row, places = key // width, key % width + 1
    group_weight = sum_by(group.reshape(-1), weight, len(key))
    observed = sum_by(slot, weight * discordant, n_slots)

    def expected(theta: Floats) -> Floats:
        return sum_by(row, group_weight * mean_discordant(theta[row], places), n_slots)

    theta = solve_falling(expected, observed)
    return theta, float(-(theta @ observed) - group_weight @ log_places(theta[row], places))
