"""The multinomial preference model fitted by plain gradient ascent, as in the paper.

Scores and log-variances of all films start equal and take a fixed number of steps with a fixed step size on the
log-likelihood per unit count. On MovieLens this stops long before the optimum, which explains the bottom films of table
3 of Volkovs and Zemel (2012). It is used only for that table: ``mpm`` finds the optimum.

With x_ij = (s_i - s_j) / (g_i + g_j), a share net_ij of the counts for i against j, and Z = sum over i != j of e^x_ij:
the gradient in x_ij, combined with that in x_ji, is a_ij = net_ij - (e^x_ij - e^-x_ij) / Z; in s_i it is the sum over
j of a_ij / (g_i + g_j), and in log g_i it is minus g_i times the sum of a_ij x_ij / (g_i + g_j).
"""

from __future__ import annotations

import numpy as np

from concordant.types import Floats


def net_shares(ratings: Floats) -> Floats:
    """Return (row minus column) the rating differences summed over users of both films, divided by the
    total of all pairs.
    """
    known = (~np.isnan(ratings)).astype(np.float64)
    rated = np.nan_to_num(ratings)
    summed = rated.T @ known
    total = 0.0
    for user in ratings:
        sorted_ratings = np.sort(user[~np.isnan(user)])
        total += float(sorted_ratings @ (2 * np.arange(len(sorted_ratings)) - len(sorted_ratings) + 1))
    return np.asarray((summed - summed.T) / total)


def slopes(net: Floats, score: Floats, log_variance: Floats) -> tuple[Floats, Floats]:
    """Return the gradient of the log-likelihood per unit count in the scores and in the log-variances (see
    the module).
    """
    variance = np.exp(log_variance)
    per_pair = 1 / (variance[:, None] + variance)
    x = (score[:, None] - score) * per_pair
    exp_x = np.exp(x)
    slope = net - (exp_x - 1 / exp_x) / (exp_x.sum() - len(score))
    slope *= per_pair
    by_score = slope.sum(axis=1)
    slope *= x
    return by_score, -variance * slope.sum(axis=1)


def descend(net: Floats, steps: int, rate: float) -> tuple[Floats, Floats]:
    """Take plain gradient steps from equal scores and variances of 1/2: (scores, log-variances)."""
    score, log_variance = np.zeros(len(net)), np.full(len(net), np.log(0.5))
    for _ in range(steps):
        by_score, by_variance = slopes(net, score, log_variance)
        score += rate * by_score
        log_variance += rate * by_variance
    return score, log_variance
