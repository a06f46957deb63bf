"""Stochastic gradient descent over batches of queries: plain steps ("sgd") or Adam's scaled steps ("adam").

Every pass visits all batches (the blocks of the objective) in a new random order. The gradient of a batch, times the
number of batches, estimates the gradient of the whole mean loss; the ridge penalty is added at every step, so the
expected step is along the gradient of the objective for any batch size. Use it for losses with stochastic gradients,
for networks, and for large data. It has no stopping rule: ``watch`` receives the parameters and the mean loss once per
pass. For plain steps of single queries on a linear model, a pass is one kernel call if the loss has a kernel for it
(LambdaRank), because the overhead of a call per step would dominate.

References: H. Robbins, S. Monro, A stochastic approximation method, 1951; D. Kingma, J. Ba, Adam, ICLR 2015.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from concordant.losses.base import Step
from concordant.solvers.lbfgs import Minimum, Watch
from concordant.solvers.objective import Objective
from concordant.support import progress
from concordant.types import Floats

FORGET, FORGET_SQUARES, SMALL = 0.9, 0.999, 1e-8  # Adam's, as published


def minimise_stochastic(
    objective: Objective,
    start: Floats,
    *,
    method: str = "adam",
    learning_rate: float,
    passes: int,
    rng: np.random.Generator,
    watch: Watch,
    average: bool = False,
) -> Minimum:
    """Descend batch by batch for ``passes`` passes over the data, or until ``watch`` returns False.

    The batches are the blocks of the objective: build it with ``queries_per_block``. With ``average``, the mean of the
    iterates of the last pass is watched and returned, which is less noisy than the last iterate.
    """
    theta = start.copy()
    blocks = objective.blocks
    scale = len(blocks) / objective.total
    shrink = objective.alpha * objective.penalised if objective.alpha else None
    move = _adam(theta, learning_rate) if method == "adam" else _plain(theta, learning_rate)
    value = np.inf
    step = Step(learning_rate * scale, learning_rate * objective.alpha) if method == "sgd" and not average else None
    for pass_number in progress.steps(range(passes), "passes over the data"):
        visits, loss_met, total = rng.permutation(len(blocks)), 0.0, np.zeros_like(theta)
        descended = None if step is None else objective.descend(theta, visits, step)
        if descended is not None:
            theta, loss_met = descended
            visits = visits[:0]
        for number in visits.tolist():
            loss, gradient = objective.of_block(theta, blocks[number])
            loss_met += loss
            gradient *= scale
            if shrink is not None:
                gradient += shrink * theta
            move(gradient)
            if average:
                total += theta
        point = total / len(blocks) if average else theta.copy()
        value = objective.with_penalty(theta, loss_met / objective.total, theta)[0]  # the gradient is not used
        if not np.isfinite(theta).all():  # steps too long for these features
            return Minimum(theta, value, pass_number + 1, False)
        if not watch(pass_number + 1, point, value):
            return Minimum(point, value, pass_number + 1, True)
    return Minimum(point, value, passes, True)


def _plain(theta: Floats, learning_rate: float) -> Callable[[Floats], None]:
    """Return the update of plain gradient descent: theta <- theta - learning_rate gradient, in place."""

    def move(gradient: Floats) -> None:
        nonlocal theta
        gradient *= learning_rate
        theta -= gradient

    return move


def _adam(theta: Floats, learning_rate: float) -> Callable[[Floats], None]:
    """Return Adam's update, in place: running mean of gradients divided by the root of that of their squares.

    Both are stored as discounted sums and normalised by two scalar weights (bias correction), which saves array
    operations: with one query per step their number decides the speed.
    """
    sums, squares, update = np.zeros_like(theta), np.zeros_like(theta), np.empty_like(theta)
    decay = decay_squares = 1.0

    def move(gradient: Floats) -> None:
        """Take a step in place; ``gradient`` is overwritten as work space."""
        nonlocal sums, squares, update, theta, decay, decay_squares
        decay *= FORGET
        decay_squares *= FORGET_SQUARES
        root = ((1 - FORGET_SQUARES) / (1 - decay_squares)) ** 0.5
        sums *= FORGET
        sums += gradient
        squares *= FORGET_SQUARES
        gradient *= gradient
        squares += gradient
        np.sqrt(squares, out=update)
        update += SMALL / root
        np.divide(sums, update, out=update)
        update *= learning_rate * (1 - FORGET) / (1 - decay) / root
        theta -= update

    return move
