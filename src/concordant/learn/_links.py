"""Cumulative links: the probability of a category, given a latent score and the thresholds around the category.

A link is a distribution function G with density g. Ordinal regression needs log(G(b) - G(a)) for a < b, computed stably
in the tails, and log g: the derivatives are g(b)/(G(b) - G(a)) and -g(a)/(G(b) - G(a)). A bound may be infinite.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from concordant.types import Floats

MIN_LOG = -745.0  # log of the smallest positive number: chances stay above zero, gradients finite


class Link(NamedTuple):
    """A link: log(G(b) - G(a)) for two bounds, and log g for one."""

    log_between: Callable[[Floats, Floats], Floats]
    log_density: Callable[[Floats], Floats]


def _log_sigmoid(z: Floats) -> Floats:
    return -np.logaddexp(0.0, -z)


def _logit_between(a: Floats, b: Floats) -> Floats:
    # G(b) - G(a) = G(b) G(-a) (1 - e^(a-b))
    return np.asarray(_log_sigmoid(b) + _log_sigmoid(-a) + np.log(-np.expm1(a - b)))


def _logit_density(z: Floats) -> Floats:
    return _log_sigmoid(z) + _log_sigmoid(-z)


def _probit_between(a: Floats, b: Floats) -> Floats:
    """Return log(Phi(b) - Phi(a)), computed in the lower tail, where the logarithms are exact."""
    from scipy.special import log_ndtr

    mirrored = a > 0
    low, high = np.where(mirrored, -b, a), np.where(mirrored, -a, b)
    upper, lower = log_ndtr(high), log_ndtr(low)
    return np.asarray(upper + np.log(-np.expm1(lower - upper)))


def _probit_density(z: Floats) -> Floats:
    return np.asarray(-0.5 * z * z - 0.5 * np.log(2 * np.pi))


def _cloglog_between(a: Floats, b: Floats) -> Floats:
    # G(z) = 1 - exp(-e^z), so G(b) - G(a) = exp(-e^a) (1 - exp(-(e^b - e^a)))
    low, high = np.exp(a), np.exp(b)
    return np.asarray(-low + np.log(-np.expm1(low - high)))


def _cloglog_density(z: Floats) -> Floats:
    return np.asarray(z - np.exp(z))


LINKS = {
    "logit": Link(_logit_between, _logit_density),
    "probit": Link(_probit_between, _probit_density),
    "cloglog": Link(_cloglog_between, _cloglog_density),
}


def chance_between(link: Link, a: Floats, b: Floats) -> tuple[Floats, Floats, Floats]:
    """Return log(G(b) - G(a)) and its derivatives with respect to a and b."""
    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        value = link.log_between(a, b)
        value = np.maximum(np.where(np.isnan(value), -np.inf, value), MIN_LOG)
        slopes = [np.exp(np.minimum(link.log_density(bound) - value, -MIN_LOG / 2)) for bound in (a, b)]
    slope_a, slope_b = (np.where(np.isfinite(bound), slope, 0.0) for bound, slope in zip((a, b), slopes, strict=True))
    return value, -slope_a, slope_b
