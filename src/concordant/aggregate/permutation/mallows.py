"""Mallows: a central ranking, and ballots whose probability decreases with their distance from it.

    P(ballot) = phi^d(ballot, centre) / Z(phi)

phi in (0, 1] is the dispersion: near 0 everyone agrees, at 1 all orders are equally likely. The centre is the order
with the smallest total distance: the Kemeny ranking for the Kendall distance (discordant pairs; exact for few items,
local search for many), mean positions for Spearman's distance (squared displacements), an assignment of items to
positions for the footrule (displacements). phi is then estimated by maximum likelihood: the expected distance equals
the observed one. Use it if ballots are noisy copies of one true ranking, and to measure the noise (``phi`` in ``fit``).

A ballot that ranks some of the items is treated as a complete ranking of these (``partial="own"``). With
``partial="insertion"`` (Kendall only) phi is estimated by expectation-maximisation over the completions of each ballot,
sampled by generalised repeated insertion: this is the exact model of partial rankings, but slower. Ties count half.

phi and the log-likelihood are exact for the Kendall and footrule distances, and for Spearman's up to 12 items or with
phi below 0.8; otherwise an expansion is used whose error is a few thousandths at most for 200 items.
``log_likelihood_error`` in ``fit`` bounds the error of the log-likelihood.

Cost: the search for the centre, then linear in the pairs of each ballot. References: C. Mallows, Non-null ranking
models, Biometrika 1957; T. Lu and C. Boutilier, Learning Mallows models with pairwise preferences, ICML 2011.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from concordant.aggregate import options
from concordant.aggregate.common import points
from concordant.aggregate.explain.overruled import WeighsMajorities
from concordant.aggregate.permutation._centre import CentredBallots, against, centre
from concordant.aggregate.permutation._dispersion import log_kendall, mean_kendall, solve_falling
from concordant.aggregate.permutation._displacement import normalisers
from concordant.aggregate.permutation._insertion import fit_by_insertion
from concordant.aggregate.permutation._model import MallowsModel, dispersion_notices
from concordant.ballots.segments import places, sum_by
from concordant.errors import ParameterError, arg
from concordant.method import Outcome
from concordant.params import param
from concordant.preferences import Preferences
from concordant.types import Floats

DISTANCES = ("kendall", "footrule", "spearman")


@dataclass(frozen=True, kw_only=True)
class Mallows(WeighsMajorities):
    """Mallows model: a central ranking closest to all ballots, and their dispersion around it."""

    usual_name = "Mallows"
    likelihood_of = "rankings of the items each ballot names"
    matrices = 8
    waives = {"neutrality": "among equally close orders the first one found is returned"}

    distance: str = param("kendall", "distance between two orders", choices=DISTANCES)
    missing: str = options.missing(choices=("auto", "last", "ignore"), more=", in the search for the centre")
    partial: str = param("own", "treatment of partial ballots in the estimate of phi", choices=("own", "insertion"))
    samples: int = param(20, "number of completions sampled per ballot, if partial is insertion", low=1, high=1e5)
    seed: int | None = param(0, "random seed", low=0)

    def scores(self, prefs: Preferences) -> Outcome:
        """Return scores by position in the centre, the first highest, with phi and the log-likelihood in ``fit``."""
        if self.partial == "insertion" and self.distance != "kendall":
            raise ParameterError(arg("partial", "insertion") + " needs " + arg("distance", "kendall") + ".")
        seed = self.seed if self.seed is not None else int(np.random.default_rng().integers(2**31))
        order = centre(prefs, self.distance, self.missing)
        along_centre = against(prefs, order)
        distance = along_centre.distances(self.distance)
        theta, log_likelihood, error = _dispersions(along_centre, distance, self.distance)
        if self.partial == "insertion":
            theta, log_likelihood = fit_by_insertion(along_centre, theta, self.samples, seed)
        total = float(prefs.weight.sum())
        phi, score = np.exp(-theta), points(prefs.slot_ptr, places(prefs.slot_ptr, order))
        return Outcome(
            score,
            fit={
                "phi": float(phi.mean()),
                "mean_distance": float(prefs.weight @ distance) / total if total else 0.0,
                "log_likelihood": log_likelihood,
                **({"log_likelihood_error": error} if self.distance == "spearman" else {}),
            },
            warnings=dispersion_notices(prefs, theta),
            model=MallowsModel.of(prefs, score, phi=phi, distance=self.distance),
        )


def _dispersions(centred: CentredBallots, by_ballot: Floats, kind: str) -> tuple[Floats, float, float]:
    """Return theta of every instance, the log-likelihood of all ballots, and an error bound.

    At the maximum of the likelihood the expected total distance equals the observed one.
    """
    prefs, (instance, size, weight) = centred.prefs, centred.lengths()
    n = prefs.n_instances
    observed = sum_by(prefs.instance_of_ballot, prefs.weight * by_ballot, n)

    def expected(theta: Floats) -> Floats:
        mean = (
            mean_kendall(theta, instance, size) if kind == "kendall" else normalisers(kind, theta[instance], size).mean
        )
        return sum_by(instance, weight * mean, n)

    theta = solve_falling(expected, observed)
    if kind == "kendall":
        log_z, error = log_kendall(theta, instance, size), np.zeros(len(size))
    else:
        log_z, _, error = normalisers(kind, theta[instance], size)
    return theta, float(-(theta @ observed) - weight @ log_z), float(weight @ error)
