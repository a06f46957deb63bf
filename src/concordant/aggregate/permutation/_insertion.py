"""Completions of partial rankings by generalised repeated insertion (Lu and Boutilier).

The items are inserted in the order of the centre. Item i is inserted at one of the positions that its ballot allows, j
positions before the end with probability proportional to phi^j; each skipped position is a discordant pair. The draws
do not follow the model's conditional distribution exactly; the importance weight (sum over allowed positions / sum over
all positions) corrects this, and the mean weight estimates the ballot's likelihood.
"""

from __future__ import annotations

import numpy as np

from concordant import views
from concordant.aggregate.permutation._centre import CentredBallots
from concordant.aggregate.permutation._dispersion import log_places, mean_discordant, solve_falling
from concordant.types import AnyArray, Floats

ROUNDS = 12


def fit_by_insertion(centred: CentredBallots, theta: Floats, samples: int, seed: int) -> tuple[Floats, float]:
    """Return theta of every instance and the estimated log-likelihood, by Monte Carlo expectation-maximisation.

    Partial ballots are completed by repeated insertion, ``samples`` times each, with the same uniform numbers in every
    iteration.
    """
    prefs = centred.prefs
    theta, total = theta.copy(), 0.0
    for q, ballots in views.ballots_by_instance(prefs):
        m = int(prefs.slot_ptr[q + 1] - prefs.slot_ptr[q])
        if m < 2:
            continue
        levels = _levels(centred, ballots, m)
        weight = prefs.weight[ballots]
        uniform = np.random.default_rng([seed, q]).random((m, len(ballots), samples))
        for _ in range(ROUNDS):
            distance, log_weight = complete(levels, float(theta[q]), uniform)
            share = np.exp(log_weight - log_weight.max(axis=1, keepdims=True))
            expected = (share * distance).sum(axis=1) / share.sum(axis=1)
            observed = float(weight @ expected) / float(weight.sum())
            theta[q] = _theta_of(observed, m)
        _, log_weight = complete(levels, float(theta[q]), uniform)
        top = log_weight.max(axis=1)
        total += float(weight @ (top + np.log(np.exp(log_weight - top[:, None]).mean(axis=1))))
    return theta, total


def _theta_of(distance: float, m: int) -> float:
    """Return the theta at which permutations of m items have this mean distance."""
    places = np.arange(1, m + 1)
    observed = np.array([distance])
    return float(solve_falling(lambda theta: mean_discordant(theta[:, None], places).sum(axis=1), observed)[0])


def _levels(centred: CentredBallots, ballots: AnyArray, m: int) -> Floats:
    """Return the tier on each ballot (row) of the item at each position of the centre (column), NaN if unranked."""
    prefs = centred.prefs
    row = np.full(prefs.n_ballots, -1)
    row[ballots] = np.arange(len(ballots))
    entry = np.flatnonzero(row[centred.ballot] >= 0)
    levels = np.full((len(ballots), m), np.nan)
    levels[row[centred.ballot[entry]], centred.place[entry]] = prefs.tier[entry]
    return levels


def complete(levels: Floats, theta: float, uniform: Floats) -> tuple[Floats, Floats]:
    """Draw completions of ballots: (distance to the centre, log importance weight), a row per ballot, a column per
    sample.

    Items are inserted in the order of the centre, each between those that the ballot ranks above and below it.
    """
    m, n, samples = uniform.shape
    position = np.zeros((n, samples, m), np.int64)
    distance, log_weight = np.zeros((n, samples)), np.zeros((n, samples))
    for i in range(m):
        before = levels[:, :i] < levels[:, i : i + 1]
        after = levels[:, :i] > levels[:, i : i + 1]
        placed = position[:, :, :i]
        low = np.where(before[:, None, :], placed + 1, 0).max(axis=2, initial=0)
        high = np.where(after[:, None, :], placed, i).min(axis=2, initial=i)
        # Jump over k items: k between i - high and i - low.
        min_jump, places = i - high, (high - low + 1).astype(np.float64)
        if theta * (i + 1) > 1e-6:
            jump = -np.log1p(uniform[i] * np.expm1(-theta * places)) / theta
        else:
            jump = uniform[i] * places
        jumped = min_jump + np.minimum(np.floor(jump), places - 1).astype(np.int64)
        place = i - jumped
        placed += placed >= place[:, :, None]
        position[:, :, i] = place
        distance += jumped
        log_weight += (
            -theta * min_jump + log_places(np.array(theta), places) - log_places(np.array(theta), np.array(i + 1.0))
        )
    return distance, log_weight
