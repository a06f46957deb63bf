"""Fit rankers to data in parts: each worker keeps its part, and loss and gradient are sums over the parts.

The solvers run in this process: a weight vector is sent to the workers, and a loss and a gradient come back. All rows
of a query must be in one part. Full-batch solvers (L-BFGS, Newton's method) can be used. Mini-batch solvers (adam, sgd)
process the data in order and cannot be used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from concordant.engine.executors import Executor
from concordant.errors import InputError, NeedError, arg
from concordant.types import Floats

if TYPE_CHECKING:
    from concordant.solvers.objective import Objective

R = TypeVar("R")


class About(NamedTuple):
    """Information about a part without its rows."""

    n_features: int
    moments: Any
    """Moments of the features, from which the scaling over all parts is computed."""
    refusal: str
    """Why nothing can be learnt from the part; empty if it is usable."""


class SpreadObjective:
    """The regularised mean loss over all parts as a function of the parameters, in the form that the solvers use."""

    def __init__(self, template: Objective, parts: Sequence[Any], total: float, executor: Executor) -> None:
        """Take scorer, loss, sizes and penalty from the objective ``template``; ``parts`` are held on the workers."""
        self.scorer, self.loss, self.alpha = template.scorer, template.loss, template.alpha
        self.size, self.penalised, self.start, self.with_penalty = (
            template.size,
            template.penalised,
            template.start,
            template.with_penalty,
        )
        self.parts, self.total, self.executor = parts, total, executor

    def __call__(self, theta: Floats) -> tuple[float, Floats]:
        """Return the objective and its gradient."""
        value, gradient = 0.0, np.zeros(self.size)
        for part_value, part_gradient in self._asked(_sums, theta):
            value += part_value
            gradient += part_gradient
        return self.with_penalty(theta, value / self.total, gradient / self.total)

    def hessian(self, theta: Floats) -> Callable[[Floats], Floats]:
        """Return the Hessian at ``theta`` as a function of a direction (Hessian-vector product)."""

        def times(direction: Floats) -> Floats:
            products = self._asked(_hessian_sum, theta, direction)
            return np.asarray(np.sum(products, axis=0) / self.total + self.alpha * self.penalised * direction)

        return times

    def _asked(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        """Call ``function(part, *args)`` for every part, on its worker; return the results in order."""
        futures = [self.executor.submit(function, part, *args) for part in self.parts]
        return [self.executor.result(future) for future in futures]


def fit_parts(
    ranker: R, load: Callable[..., Any], parts: Sequence[Any], executor: Executor, valid: tuple[Any, ...] | None = None
) -> R:
    """Fit a ranker to parts of a training set; a worker reads its part by ``load(part)`` as (X, y, qid)."""
    _check(ranker)
    held = [executor.hold(_part_of, ranker, load, part) for part in parts]
    abouts = [executor.result(executor.submit(_about, part_held)) for part_held in held]
    widths = {about.n_features for about in abouts}
    if len(widths) > 1:
        raise InputError(
            f"The parts have {min(widths)} to {max(widths)} features: set "
            + arg("n_features")
            + ", so that all parts have the same number."
        )
    learner: Any = ranker
    scaling = learner.scaling_of([about.moments for about in abouts])
    objectives = [executor.hold(_objective_of, ranker, part_held, scaling) for part_held in held]
    del held
    totals = [executor.result(executor.submit(_total, part_held)) for part_held in objectives]
    if all(refusal for _, refusal in totals):
        raise InputError(totals[0][1])
    total = sum(part_total for part_total, _ in totals) or 1.0
    learner.fit_spread(
        widths.pop(), lambda template: SpreadObjective(template, objectives, total, executor), scaling, valid
    )
    return ranker


def _check(ranker: Any) -> None:
    """Reject rankers that do not support distributed fitting: no loss to sum, a kernel, or a mini-batch solver."""
    name = type(ranker).__name__
    if not hasattr(ranker, "fit_spread"):
        raise NeedError(
            f"{name} does not support distributed fitting: use a ranker that minimises a loss, such as RankNet."
        )
    if ranker.kernel is not None:
        raise NeedError(
            "A kernel needs all rows together: leave out " + arg("kernel") + ", or fit the rows in one process."
        )
    if not ranker.is_full_batch:
        raise NeedError(
            f"This {name} uses a mini-batch solver: use " + arg("solver", "lbfgs") + ", or fit in one process."
        )


# ---- what a worker does ----
class _Part(NamedTuple):
    rows: Any
    about: About


def _part_of(ranker: Any, load: Callable[..., Any], part: Any) -> _Part:
    """Load a part and return its rows (None if nothing can be learnt from it) and information about it."""
    X, y, qid = load(part)
    rows, refusal = None, ""
    try:
        rows = ranker.rows_of(X, y, qid)
    except InputError as problem:
        refusal = _refusal(problem)
    return _Part(rows, About(np.shape(X)[1], ranker.moments_of(X), refusal))


def _refusal(problem: InputError) -> str:
    """Return the reason why nothing can be learnt from a part; raise any other error."""
    if "nothing to learn" not in str(problem) and "No order of" not in str(problem):
        raise problem
    return str(problem)


def _about(part: _Part) -> About:
    return part.about


class _Kept(NamedTuple):
    objective: Objective | None
    refusal: str


def _objective_of(ranker: Any, part: _Part, scaling: Any) -> _Kept:
    """Return the objective of a part with scaled features, or the reason why there is none."""
    if part.rows is None:
        return _Kept(None, part.about.refusal)
    try:
        return _Kept(ranker.objective_of(part.rows, scaling), "")
    except InputError as problem:
        return _Kept(None, _refusal(problem))


def _total(kept: _Kept) -> tuple[float, str]:
    """Return the weight by which the loss of a part is divided, or 0 and the reason if the part has no loss."""
    return (0.0 if kept.objective is None else kept.objective.total), kept.refusal


def _sums(kept: _Kept, theta: Floats) -> tuple[float, Floats]:
    """Return the summed loss of a part and its gradient, without penalty."""
    if kept.objective is None:
        return 0.0, np.zeros(len(theta))
    with np.errstate(over="ignore", invalid="ignore"):  # steps too far are taken back by the solver
        return kept.objective.sums(theta)


def _hessian_sum(kept: _Kept, theta: Floats, direction: Floats) -> Floats:
    """Return the part's summed Hessian times ``direction``: the penalty and the division by the total are undone."""
    if kept.objective is None:
        return np.zeros(len(theta))
    product = kept.objective.hessian(theta)(direction)
    return np.asarray((product - kept.objective.alpha * kept.objective.penalised * direction) * kept.objective.total)
