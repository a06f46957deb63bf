"""Bundle method: minimise a convex, possibly non-smooth mean loss plus a ridge penalty, with a duality gap.

Each evaluation of the loss R gives a cutting plane, R(w) >= a_i'w + b_i. The minimiser of the piecewise linear model,

    max_i (a_i'w + b_i) + alpha/2 |w|^2,

solves a small quadratic programme over the weights of the planes, and its value is a lower bound on the objective. The
*duality gap* is the best value found minus that bound, and gives the stopping rule.

The choice of the next point decides how many passes over the data are needed. The minimiser of the model is unstable
while there are few planes, so the search has two phases, which share their planes:

1. quasi-Newton descent. The mean of many hinge losses is nearly smooth, and this phase alone usually closes the gap in
ten to thirty passes. It ends when steps no longer help, which may be too early at a kink; 2. proximal steps: minimise
the planes plus rho/2 |w - best|^2, with rho adjusted so that the predicted decrease is a fixed share of the gap. This
converges for every convex loss.

A pass costs two products with X and the loss; the programme over m planes costs O(m^3) and requires no pass.

References: C. Teo et al., Bundle methods for regularized risk minimization, JMLR 2010; C. Lemarechal, A. Nemirovskii,
Y. Nesterov, New variants of bundle methods, Math. Programming 1995.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from concordant.errors import InputError, NeedError
from concordant.solvers import lbfgs
from concordant.solvers.objective import Objective
from concordant.support import progress
from concordant.types import Floats

STALLED = 1e-7  # improvement per step, against a value of 1, at which descent gives way to proximal steps
PROMISE = (0.2, 0.6)  # share of the gap that the planes should promise to a proximal step
ROUNDING = 1e-14  # no gap is smaller
NEGLIGIBLE = 1e-6  # of the first value: where so little is left, no more digits of it are asked for
WIDEST = 1e12  # factor between the ridge and the proximal term, either way
MAX_PLANES = 600


@dataclass(frozen=True)
class Bounded(lbfgs.Minimum):
    """The result of a search, with a bound on how much its value exceeds the minimum."""

    gap: float


def minimise_bundle(
    objective: Objective, start: Floats, *, tolerance: float, max_iterations: int, watch: lbfgs.Watch
) -> Bounded:
    """Minimise until the duality gap is below ``tolerance`` relative to the value, or ``watch`` returns False.

    The tolerance is relative to at least a millionth of the initial value.
    """
    if not objective.scorer.is_linear or not objective.loss.is_convex or objective.loss.own_start:
        raise NeedError("The bundle method needs a convex loss and a linear model or kernel: use another solver.")
    if objective.alpha <= 0:
        raise NeedError("The bundle method needs a ridge penalty: give alpha (or a finite C) above 0.")
    search = _Search(objective, tolerance, watch)
    descent = lbfgs.minimise(
        search.evaluate, start, tolerance=STALLED, max_iterations=max_iterations, watch=search.should_continue
    )
    done, rho = descent.iterations, objective.alpha
    for iteration in progress.iterations(range(done + 1, max_iterations + 1), "optimising"):
        if search.is_over:
            break
        point, lower = search.planes.near(search.best, rho)
        promised = search.value - lower
        search.evaluate(point)
        rho *= 1 / 3 if promised < PROMISE[0] * search.gap else 3 if promised > PROMISE[1] * search.gap else 1
        rho = min(max(rho, objective.alpha / WIDEST), objective.alpha * WIDEST)
        search.should_continue(iteration, search.best, search.value)
        done = iteration
    return Bounded(search.best, search.value, done, search.is_over, max(search.gap, 0.0))


class _Search:
    """The best point so far, the planes, and whether to continue."""

    def __init__(self, objective: Objective, tolerance: float, watch: lbfgs.Watch) -> None:
        """Start with no planes, at zero, with an infinite value and gap."""
        self.objective, self.tolerance, self.watch = objective, tolerance, watch
        self.planes = _Planes(objective.alpha, objective.size)
        self.best, self.value, self.gap = np.zeros(objective.size), np.inf, np.inf
        self.first = 0.0  # the value at the start
        self.is_over = False

    def evaluate(self, point: Floats) -> tuple[float, Floats]:
        """Return objective and gradient at a point; add the cutting plane of the loss, and update the best point."""
        value, gradient = self.objective(point)
        penalty_slope = self.objective.alpha * point
        slope = gradient - penalty_slope
        if not np.isfinite(float(slope @ slope)):
            raise InputError("The features are so large that their squares are not finite: standardise them.")
        self.planes.add(slope, value - 0.5 * float(penalty_slope @ point) - float(slope @ point))
        self.first = self.first or abs(value)
        if value < self.value:
            self.best, self.value = point.copy(), value
        return value, gradient

    def should_continue(self, iteration: int, point: Floats, value: float) -> bool:
        """Update the duality gap; return whether it is still too large and ``watch`` returns True."""
        self.gap = self.value - self.planes.bound()
        wanted = self.watch(iteration, point, value)
        allowed_gap = max(self.tolerance, ROUNDING) * max(abs(self.value), NEGLIGIBLE * self.first)
        self.is_over = self.gap <= allowed_gap or not wanted
        return not self.is_over


class _Planes:
    """Cutting planes of the loss, with the Gram matrix of their slopes."""

    def __init__(self, alpha: float, size: int) -> None:
        """Start without planes, for ``size`` variables and a ridge penalty alpha/2 |w|²."""
        self.alpha = alpha
        self.slope, self.offset, self.inner = np.zeros((0, size)), np.zeros(0), np.zeros((0, 0))
        # the last weights of the planes, to start from: without and with a proximal term
        self.share, self.share_near = np.zeros(0), np.zeros(0)

    def add(self, slope: Floats, offset: float) -> None:
        """Add the plane slope'w + offset; the first plane starts with all the weight."""
        if len(self.offset) >= MAX_PLANES:
            self._forget()
        count = len(self.offset)
        self.slope = np.vstack([self.slope, slope])
        self.offset = np.append(self.offset, offset)
        inner = np.empty((count + 1, count + 1))
        inner[:count, :count] = self.inner
        inner[count] = inner[:, count] = self.slope @ slope
        self.inner = inner
        first = float(count == 0)
        self.share, self.share_near = np.append(self.share, first), np.append(self.share_near, first)

    def _forget(self) -> None:
        """Drop the older half of the planes, except those in use."""
        kept = (self.share > 0) | (self.share_near > 0)
        kept[len(kept) // 2 :] = True
        self.slope, self.offset, self.inner = self.slope[kept], self.offset[kept], self.inner[np.ix_(kept, kept)]
        self.share, self.share_near = self.share[kept], self.share_near[kept]

    def bound(self) -> float:
        """Return the minimum of the planes' maximum plus the ridge penalty: a lower bound on the objective."""
        self.share = _on_simplex(self.inner / self.alpha, self.offset, self.share)
        return float(self.share @ self.offset - 0.5 * self.share @ self.inner @ self.share / self.alpha)

    def near(self, centre: Floats, rho: float) -> tuple[Floats, float]:
        """Minimise the planes plus ridge plus rho/2 |w - centre|²; return the point, and planes plus ridge there."""
        total = self.alpha + rho
        offset = self.offset + rho / total * (self.slope @ centre)
        self.share_near = _on_simplex(self.inner / total, offset, self.share_near)
        point = (rho * centre - self.share_near @ self.slope) / total
        return point, float((self.slope @ point + self.offset).max() + 0.5 * self.alpha * point @ point)


def _on_simplex(square: Floats, linear: Floats, share: Floats, max_steps: int = 200) -> Floats:
    """Minimise x'Sx/2 - l'x over x >= 0, sum x = 1, by an active-set method started at ``share``.

    The non-zero entries solve a linear system; an entry that would become negative leaves the active set, and the zero
    entry with the steepest descent enters. Every iterate is feasible, so stopping early still gives a valid bound.
    """
    count = len(linear)
    square = square + (1e-13 * float(np.trace(square)) / count or 1.0) * np.eye(count)  # planes may repeat
    share, used = share.copy(), share > 0
    for _ in range(max_steps):
        active = np.flatnonzero(used)
        solution = _equalised(square[np.ix_(active, active)], linear[active])
        falling = solution <= 0
        if falling.any():
            active_share = share[active[falling]]
            ratio = active_share / np.maximum(active_share - solution[falling], np.finfo(float).tiny)  # 0 for 0 / 0
            moved = np.maximum(share[active] + ratio.min() * (solution - share[active]), 0.0)
            moved[np.flatnonzero(falling)[ratio.argmin()]] = 0.0
            share[active], used[active] = moved, moved > 0
            if not used.any():  # slopes so small that weights vanish: the highest plane is the bound
                share[int(linear.argmax())] = 1.0
                break
            if not ratio.min() > 0:  # what entered last leaves at once: its descent was rounding
                break
            continue
        share[active] = solution
        slope = square @ share - linear
        level = float(share @ slope)
        enters = int(slope.argmin())
        if used[enters] or slope[enters] >= level - 1e-10 * (1 + abs(level)):
            break
        used[enters] = True
    return share / float(share.sum())


def _equalised(square: Floats, linear: Floats) -> Floats:
    """Minimise x'Sx/2 - l'x subject to sum x = 1 alone (x may be negative), by its Lagrange system."""
    count = len(linear)
    scale = float(np.abs(square).max()) or 1.0  # of 1 and 1e30 in one system floating point makes a singular one
    system = np.full((count + 1, count + 1), scale)
    system[:count, :count], system[count, count] = square, 0.0
    solution: Floats = np.linalg.solve(system, np.append(linear, scale))
    return solution[:count]
