"""Gibbs sampling of Plackett-Luce worths under a Gamma prior (Caron and Doucet).

Every stage has a latent exponential arrival time whose rate is the total remaining worth. Given the arrival times,
worths are independent Gamma variables; given the worths, arrival times are independent. A ballot of weight w has w
arrivals, whose sum is a Gamma variable.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from concordant import kernels, views
from concordant.aggregate.common import snap_scores
from concordant.aggregate.stagewise._model import TIE_OF_FITTED
from concordant.ballots.segments import sum_by
from concordant.method import Outcome
from concordant.models.observations.stages import CHOSEN, Stages
from concordant.preferences import Preferences
from concordant.ranking import Uncertainty
from concordant.support import progress
from concordant.types import Floats

BURN_IN = 0.2  # of the draws, in addition to them


def draw_posterior(
    prefs: Preferences, stages: Stages, start: Outcome, shape: float, draws: int, level: float, seed: int
) -> Outcome:
    """Return posterior means of the scores and credible intervals at this level; ballots must have no ties."""
    samples = sample_scores(prefs, stages, start.score, shape, draws, np.random.default_rng(seed))
    low, high = np.quantile(samples, [(1 - level) / 2, (1 + level) / 2], axis=0)
    score = snap_scores(prefs, samples.mean(axis=0), TIE_OF_FITTED, min_scale=1e-3)
    best = np.zeros(prefs.n_slots)
    for q in range(prefs.n_instances):
        span = slice(int(prefs.slot_ptr[q]), int(prefs.slot_ptr[q + 1]))
        if span.stop > span.start:
            best[span] = np.bincount(samples[:, span].argmax(axis=1), minlength=span.stop - span.start) / draws
    details = {"stderr": samples.std(axis=0), "p_best": best}
    uncertainty = Uncertainty(low, high, details, apart=partial(_errors_of_differences, prefs, samples))
    return replace(start, score=score, uncertainty=uncertainty)


def _errors_of_differences(prefs: Preferences, samples: Floats, slot: int) -> Floats:
    """Return the standard deviations of the differences between a slot and all candidates of its instance."""
    q = int(np.searchsorted(prefs.slot_ptr, slot, side="right")) - 1
    span = slice(int(prefs.slot_ptr[q]), int(prefs.slot_ptr[q + 1]))
    return np.asarray((samples[:, [slot]] - samples[:, span]).std(axis=0))


def sample_scores(
    prefs: Preferences, stages: Stages, score: Floats, shape: float, draws: int, rng: np.random.Generator
) -> Floats:
    """Draw score vectors (one row each) from the posterior by Gibbs sampling, centred in every instance.

    Latent gamma variables of the stages make the worths conditionally gamma (Caron and Doucet).
    """
    is_stage = stages.mark == CHOSEN
    weight = stages.weight[stages.ballot[is_stage]]
    wins = stages.wins
    instance = views.instance_of_slot(prefs)
    size = np.maximum(np.diff(prefs.slot_ptr), 1)
    draw = np.zeros(len(stages.slot))
    worth = np.exp(score)
    samples = np.empty((draws, prefs.n_slots))
    burn_in = int(BURN_IN * draws)
    for k in progress.steps(range(-burn_in, draws), "Gibbs sampling"):
        draw[is_stage] = rng.standard_gamma(weight)
        rate = shape + kernels.stage_rates(stages.indptr, stages.slot, draw, worth)
        worth = np.maximum(rng.standard_gamma(shape + wins) / rate, 1e-140)
        log_worth = np.log(worth)
        # The likelihood does not see the common scale: draw the total anew from its prior, which mixes faster.
        total = sum_by(instance, worth, prefs.n_instances)
        fresh = rng.standard_gamma(shape * size) / shape
        worth = worth * (fresh / np.where(total > 0, total, 1.0))[instance]
        if k >= 0:
            samples[k] = log_worth - (sum_by(instance, log_worth, prefs.n_instances) / size)[instance]
    return samples
