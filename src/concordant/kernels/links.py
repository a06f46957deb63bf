"""Models of a comparison: outcome probabilities, and the log-likelihood of counts with its derivatives.

With the score difference d, the first item wins, loses or ties with

    bradley-terry   P(win) = 1 / (1 + e^-d)                                     a tie is half a win each way
    thurstone       P(win) = Phi(d)                                             a tie is half a win each way
    davidson        P(win) : P(loss) : P(tie) = e^(d/2) : e^(-d/2) : e^x
    rao-kupper      P(win) = 1 / (1 + e^(c - d)), P(loss) = 1 / (1 + e^(c + d)), c = log(1 + e^x); P(tie): the rest

These formulas are defined only here and, compiled, in duels.hpp. The fitted models, clustered standard errors and the
losses of learning to rank use them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from concordant.kernels.codes import Duel
from concordant.types import Floats

BRADLEY_TERRY, THURSTONE, DAVIDSON, RAO_KUPPER = (int(link) for link in Duel)


class Terms(NamedTuple):
    """By row: value and derivatives with respect to d and x; curves and cross are negative second derivatives."""

    value: Floats
    slope: Floats
    curve: Floats
    slope_x: Floats
    curve_x: Floats
    cross: Floats


def has_tie_parameter(link: int) -> bool:
    """Return whether a model has a parameter x for ties."""
    return link >= DAVIDSON


def sigmoid(z: Floats) -> Floats:
    """Return 1 / (1 + e^-z), accurate in both tails."""
    return np.asarray(np.exp(-np.logaddexp(0.0, -z)))


def chances(link: int, lead: Floats, x: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the probabilities (win, loss, tie) of an item whose score exceeds the other's by ``lead``."""
    if link == DAVIDSON:
        up, down, even, _ = _davidson_shares(lead, x)
        return up, down, even
    if link == RAO_KUPPER:
        margin = np.logaddexp(0.0, x)
        log_up, log_down = -np.logaddexp(0.0, margin - lead), -np.logaddexp(0.0, margin + lead)
        return np.exp(log_up), np.exp(log_down), np.exp(_log_factor(x) + log_up + log_down)
    if link == THURSTONE:
        from scipy.special import ndtr

        return np.asarray(ndtr(lead)), np.asarray(ndtr(-lead)), np.zeros(len(lead))
    return sigmoid(lead), sigmoid(-lead), np.zeros(len(lead))


def terms(link: int, d: Floats, x: Floats, won: Floats, lost: Floats, tied: Floats) -> Terms:
    """Return the log-likelihood of these counts at score differences d and tie parameters x, row by row."""
    if link >= DAVIDSON:
        return (_davidson if link == DAVIDSON else _rao_kupper)(d, x, won, lost, tied)
    return (_bradley_terry if link == BRADLEY_TERRY else _thurstone)(d, won + tied / 2, lost + tied / 2)


def bend_of_tie(link: int, x: Floats, slope_x: Floats) -> Floats:
    """Return the contribution of c''(x) to the curvature in x; negative if ``slope_x`` is positive.

    Rao-Kupper is concave in c, not in x, so its Hessian in x may be indefinite, except at the optimum.
    """
    return np.asarray(-(1 - sigmoid(x)) * slope_x) if link == RAO_KUPPER else np.zeros_like(x)


def _bradley_terry(d: Floats, won: Floats, lost: Floats) -> Terms:
    """Return the terms of won log P(win) + lost log P(loss), computed without cancellation."""
    none = np.zeros(len(d))
    e = np.exp(-np.abs(d))
    p = 1 / (1 + e)  # the larger chance
    q = e * p
    log_p = -np.log1p(e)
    log_q = log_p - np.abs(d)
    leads = d >= 0
    value = np.where(leads, won * log_p + lost * log_q, won * log_q + lost * log_p)
    return Terms(value, won - (won + lost) * np.where(leads, p, q), (won + lost) * p * q, none, none, none)


def _thurstone(d: Floats, won: Floats, lost: Floats) -> Terms:
    """Return the terms of won log Phi(d) + lost log Phi(-d); ``up`` and ``down`` are density over probability."""
    from scipy.special import log_ndtr

    none = np.zeros(len(d))
    log_density = -0.5 * d**2 - 0.5 * np.log(2 * np.pi)
    log_up, log_down = log_ndtr(d), log_ndtr(-d)
    up, down = np.exp(log_density - log_up), np.exp(log_density - log_down)
    curve = won * up * (up + d) + lost * down * (down - d)
    return Terms(won * log_up + lost * log_down, won * up - lost * down, curve, none, none, none)


def _davidson_shares(d: Floats, x: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the probabilities (win, loss, tie) and the logarithm of their common denominator."""
    top = np.maximum(np.abs(d) / 2, x)
    up, down, even = np.exp(d / 2 - top), np.exp(-d / 2 - top), np.exp(x - top)
    z = up + down + even
    return up / z, down / z, even / z, top + np.log(z)


def _davidson(d: Floats, x: Floats, won: Floats, lost: Floats, tied: Floats) -> Terms:
    """Return the terms of (won - lost) d/2 + tied x - n log(e^(d/2) + e^(-d/2) + e^x)."""
    n = won + lost + tied
    up, down, even, log_z = _davidson_shares(d, x)
    gap = (up - down) / 2
    value = (won - lost) * d / 2 + tied * x - n * log_z
    curve = n * ((up + down) / 4 - gap**2)
    return Terms(value, (won - lost) / 2 - n * gap, curve, tied - n * even, n * even * (1 - even), -n * even * gap)


def _log_factor(x: Floats) -> Floats:
    """Return log(e^2c - 1) = log(e^x (2 + e^x)): P(tie) is this factor times P(win) P(loss)."""
    return np.asarray(x + np.logaddexp(np.log(2.0), x))


def _rao_kupper(d: Floats, x: Floats, won: Floats, lost: Floats, tied: Floats) -> Terms:
    """Return the terms of (won + tied) log P(win) + (lost + tied) log P(loss) + tied log(e^2c - 1)."""
    # A tie counts as a win and a loss, times a factor. p = P(win), q = P(loss).
    c = np.logaddexp(0.0, x)
    a, b, p, q = won + tied, lost + tied, sigmoid(d - c), sigmoid(-d - c)
    c_slope, factor_slope = sigmoid(x), 2 / (1 + np.exp(-c))
    up, down = a * p * (1 - p), b * q * (1 - q)
    value = -a * np.logaddexp(0, c - d) - b * np.logaddexp(0, c + d) + tied * _log_factor(x)
    slope_x = tied * factor_slope - c_slope * (a * (1 - p) + b * (1 - q))
    curve_x = tied * (factor_slope * np.exp(-c)) ** 2 + c_slope**2 * (up + down)
    return Terms(value, a * (1 - p) - b * (1 - q), up + down, slope_x, curve_x, c_slope * (down - up))
