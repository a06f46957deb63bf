"""Tail probabilities for two tests without SciPy, which takes longer to load than the tests take to run.

The regularised incomplete beta function is evaluated by its continued fraction (W. Press et al., Numerical Recipes,
2007, 6.4), which converges in O(sqrt(a + b)) steps:

    I_x(a, b) = x^a (1 - x)^b / (a B(a, b)) · 1 / (1 + d1 / (1 + d2 / (1 + ...)))

The factor is computed from log-gamma functions, whose rounding error grows with a + b: up to ``MAX_SUM`` the result is
accurate to ten digits. For larger sums, and for arrays, use SciPy.
"""

from __future__ import annotations

from math import exp, lgamma, log, log1p

MAX_SUM = 10_000.0  # of a + b
_TINY = 1e-300
_STEPS = 2_000


def betainc(a: float, b: float, x: float) -> float:
    """Return the regularised incomplete beta function I_x(a, b) for positive a and b and x between 0 and 1."""
    if x <= 0.0 or x >= 1.0:
        return float(x >= 1.0)
    if x > (a + 1) / (a + b + 2):  # here I_x(a, b) = 1 - I_(1-x)(b, a) converges faster
        return 1.0 - betainc(b, a, 1.0 - x)
    factor = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x)) / a
    return factor * _fraction(a, b, x)


def _fraction(a: float, b: float, x: float) -> float:
    """Evaluate the continued fraction by Lentz's method, from the front."""
    numerator, denominator = 1.0, 1.0 / _guarded(1.0 - (a + b) * x / (a + 1))
    value = denominator
    for m in range(1, _STEPS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        change = 1.0
        for term in (even, odd):
            denominator = 1.0 / _guarded(1.0 + term * denominator)
            numerator = _guarded(1.0 + term / numerator)
            change *= numerator * denominator
        value *= change
        if abs(change - 1.0) < 1e-15:
            break
    return value


def _guarded(value: float) -> float:
    """Return the value, or a tiny number instead of 0, because Lentz's method divides by it."""
    return value if abs(value) > _TINY else _TINY


def student_tail(t: float, freedom: float) -> float:
    """Return P(T > t) of Student's t distribution with these degrees of freedom, for a positive t."""
    total = freedom + t * t
    if t < 1:  # 1 - x would lose the digits of a small t
        return (1.0 - betainc(0.5, freedom / 2, t * t / total)) / 2
    return betainc(freedom / 2, 0.5, freedom / total) / 2
