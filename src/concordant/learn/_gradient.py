"""Rankers that minimise a loss: any loss, with any scorer, by any solver. Most subclasses only declare their loss."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from concordant.errors import InputError, NeedError, ParameterError, arg
from concordant.learn import _data, _scaling
from concordant.learn._base import METRIC, Ranker
from concordant.learn._data import Patience, Rows
from concordant.learn._scaling import Moments, Scaling
from concordant.losses.base import Loss
from concordant.losses.queries import Pairs, Queries
from concordant.params import param
from concordant.scorers.base import Matrix, Scorer
from concordant.scorers.linear import Linear
from concordant.solvers.lbfgs import Minimum, Watch, minimise
from concordant.solvers.objective import Objective
from concordant.support.state import Curves, Held, Kind, floats, optional, whole
from concordant.types import Floats

STOCHASTIC = ("adam", "sgd")
BATCH = 32


@dataclass(eq=False, repr=False)
class GradientRanker(Ranker):
    """A ranker that minimises a loss of the scores of a linear model, a neural network or a kernel expansion."""

    learns: ClassVar[Mapping[str, Kind]] = {
        **Ranker.learns,
        **_scaling.LEARNS,
        "kernel_map_": optional(Held(name="KernelMap")),
        "coef_": floats("weights"),
        "own_": floats("own"),
        "n_iter_": whole(),
        "history_": Curves(),
    }
    takes: ClassVar[tuple[str, ...]] = ("pairs", "tied", "valid")

    weighting: str = param(
        "units",
        "equal weight for every unit of the loss (pair or list), or for every query",
        choices=("units", "queries"),
    )
    hidden: int = param(0, "number of units per hidden layer; 0 for a linear model", low=0)
    layers: int = param(1, "number of hidden layers", low=1, high=2)
    kernel: str | None = param(
        None, "kernel of a non-linear model instead of a network", choices=("linear", "rbf", "polynomial")
    )
    gamma: float | None = param(None, "kernel coefficient; 1/(features times variance) if not given", low=0)
    degree: int = param(3, "degree of the polynomial kernel", low=1)
    components: int | None = param(
        None, "number of rows in the kernel expansion, drawn at random; all if not given", low=1
    )
    solver: str = param(
        "auto", "solver; auto chooses by loss and model", choices=("auto", "lbfgs", "newton", "adam", "sgd")
    )
    max_iter: int = param(100, "maximum number of iterations (passes over the data for adam and sgd)", low=1)
    tol: float = param(1e-5, "relative improvement below which to stop", low=0)
    learning_rate: float = param(0.01, "learning rate of adam and sgd", low=0)
    batch: int | None = param(
        None, "batch size for adam and sgd, in queries or pairs; default: 32, or a tenth of the data if smaller", low=1
    )
    patience: int = param(
        10, "early stopping: number of iterations without improvement of the validation metric", low=1
    )
    metric: str = param(METRIC, "metric monitored on the validation set")
    seed: int = param(0, "seed for initial weights, batches and samples", low=0)
    standardise: bool = param(True, _scaling.DOC)

    def predict(self, X: Any) -> Floats:
        """Return a score per row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features of the rows to score.

        Returns
        -------
        ndarray of shape (n_samples,)
            One score per row; higher is better. Only scores of the same query are comparable.
        """
        check_is_fitted(self, "coef_")
        X = self._map(self._checked(X, reset=False))
        scorer = self._scorer(X.shape[1])
        if scorer.size != len(self.coef_):
            raise InputError(f"The parameters of this {type(self).__name__} were changed after fit: fit it again.")
        return self._finite(scorer.scores(X, self.coef_))

    def _fit_rows(self, rows: Rows, valid: tuple[Any, ...] | None) -> None:
        """Standardise the features, build the objective and minimise it."""
        rng = np.random.default_rng(self.seed)
        if self.standardise:
            _scaling.keep(self, Scaling.of(rows.X, rows.weight))
        self._descend(self._objective(rows, rng), rng, valid)

    def _objective(self, rows: Rows, rng: np.random.Generator) -> Objective:
        """Return the objective of these rows: loss, scorer, mapped features and penalty."""
        loss = self._loss()
        data: Queries | Pairs | None = rows.pairs
        if data is None:
            data = self._queries(rows, rng)
            if self.weighting == "queries":
                data = data.weighted(data.weight / np.maximum(loss.units(data), 1.0))
            loss = loss.fitted_to(data)
        X = self._mapped(_scaling.scaled(self, rows.X), rng)
        scorer = self._scorer(X.shape[1])
        steps = self._batch(data) if self._solver(loss) in STOCHASTIC else None
        return Objective(scorer, loss, X, data, alpha=self._alpha(), queries_per_block=steps)

    def _descend(self, objective: Any, rng: np.random.Generator, valid: tuple[Any, ...] | None) -> None:
        """Minimise an objective and store the result."""
        watch = self._watch(objective.scorer, valid)
        with np.errstate(over="ignore", invalid="ignore"):  # steps too far are taken back, or refused below
            start = objective.start(rng)
            minimum = self._minimise(objective, start.copy(), watch, rng)
        self._keep(objective.scorer, minimum, watch)
        is_checked = self._solver(objective.loss) in ("lbfgs", "newton") and objective.loss.is_smooth
        if minimum.is_converged and watch.best is None and objective.scorer.is_linear and is_checked:
            self._check_optimum(objective, start, minimum, self._units(objective))

    def _units(self, objective: Any) -> Floats | float:
        """Return the standard deviation of every feature, the unit of its gradient (1 if features are scaled)."""
        if self.standardise or self.kernel is not None or not hasattr(objective, "X"):
            return 1.0
        deviation = Scaling.of(objective.X).deviation
        return np.concatenate([deviation, np.ones(objective.size - len(deviation))])

    # ---- data in parts, each kept by a worker ----
    @property
    def is_full_batch(self) -> bool:
        """Whether every iteration of the solver uses all data."""
        return self._solver(self._loss()) not in STOCHASTIC

    def rows_of(self, X: Any, y: ArrayLike, qid: ArrayLike) -> Rows:
        """Validate one part of distributed data like ``fit`` does.

        Parameters
        ----------
        X : array-like or sparse matrix
            Features of the part.
        y : array-like
            Labels.
        qid : array-like
            Query of every row.

        Returns
        -------
        Rows
            The validated rows.
        """
        return self._labelled_rows(X, y, qid)

    def moments_of(self, X: Any) -> Moments | None:
        """Return the moments of one part of distributed data, from which the scaling of the features is computed.

        Parameters
        ----------
        X : array-like or sparse matrix
            Features of the part.

        Returns
        -------
        Moments or None
            The moments, None if features are not standardised.
        """
        return Moments.of(self._checked(X, reset=True)) if self.standardise else None

    def objective_of(self, rows: Rows, scaling: Scaling | None) -> Objective:
        """Return the objective of one part of distributed data.

        Parameters
        ----------
        rows : Rows
            Validated rows of the part.
        scaling : Scaling or None
            Scaling of the features, common to all parts.

        Returns
        -------
        Objective
            The objective.
        """
        if scaling is not None:
            _scaling.keep(self, scaling)
        return self._objective(rows, np.random.default_rng(self.seed))

    def scaling_of(self, parts: Iterable[Moments | None]) -> Scaling | None:
        """Return the scaling of the features, computed from the moments of all parts.

        Parameters
        ----------
        parts : iterable of Moments or None
            Moments of each part.

        Returns
        -------
        Scaling or None
            The scaling, None if features are not standardised.
        """
        moments = [part for part in parts if part is not None]
        return Scaling.from_moments(Moments.joined(moments)) if moments else None

    def fit_spread(
        self,
        n_features: int,
        spread: Callable[[Objective], Any],
        scaling: Scaling | None,
        valid: tuple[Any, ...] | None = None,
    ) -> None:
        """Fit to data that are distributed over workers.

        Parameters
        ----------
        n_features : int
            Number of features.
        spread : callable
            Function that turns an objective without rows into the objective of all parts.
        scaling : Scaling or None
            Scaling of the features.
        valid : tuple, optional
            Validation set, as in ``fit``.
        """
        self._begin_fit()
        self.n_features_in_ = n_features
        if scaling is not None:
            _scaling.keep(self, scaling)
        rng = np.random.default_rng(self.seed)
        no_queries = Queries.from_rows(np.zeros(0), np.zeros(0, np.int64))
        template = Objective(
            self._scorer(n_features), self._loss(), np.zeros((0, n_features)), no_queries, alpha=self._alpha()
        )
        self._descend(spread(template), rng, valid)

    # ---- what a file may hold ----
    def learnt_sizes(self) -> dict[str, int]:
        """Return the expected sizes of the learnt arrays, for validating a loaded model.

        Returns
        -------
        dict of str to int
            Number of weights, and of parameters of the loss.
        """
        mapped = getattr(self, "kernel_map_", None)
        if (mapped is None) != (self.kernel is None):
            raise ValueError("does not match the parameter kernel")
        width = self.n_features_in_ if mapped is None else mapped.n_columns
        return {"weights": self._scorer(width).size, "own": len(self._loss().own_start)}

    def check_learnt(self) -> None:
        """Raise ValueError if the kernel map does not expect the model's number of features."""
        mapped = getattr(self, "kernel_map_", None)
        if mapped is not None and mapped.landmarks.shape[1] != self.n_features_in_:
            width = mapped.landmarks.shape[1]
            message = f"expects {width} features, but the model has {self.n_features_in_}"
            raise ValueError(f"the kernel of {type(self).__name__} {message}")

    # ---- what a ranker may say otherwise ----
    def _loss(self) -> Loss:
        raise NotImplementedError

    def _alpha(self) -> float:
        """Return the ridge penalty on the weights, relative to the mean loss."""
        raise NotImplementedError

    def _queries(self, rows: Rows, rng: np.random.Generator) -> Queries:
        """Return the labelled rows in the layout of the loss."""
        return rows.queries

    def _minimise(self, objective: Objective, start: Floats, watch: Watch, rng: np.random.Generator) -> Minimum:
        """Minimise the objective with the chosen solver."""
        solver, loss = self._solver(objective.loss), objective.loss
        if solver in STOCHASTIC:
            from concordant.solvers.stochastic import minimise_stochastic

            return minimise_stochastic(
                objective,
                start,
                method=solver,
                learning_rate=self.learning_rate,
                passes=self.max_iter,
                rng=rng,
                watch=watch,
            )
        if not loss.is_exact:
            raise NeedError(
                f"The gradient of the {loss.name} loss does not support line search: use "
                + arg("solver", "adam")
                + " or "
                + arg("solver", "sgd")
                + "."
            )
        if solver == "newton":
            from concordant.solvers.newton import minimise_newton

            return minimise_newton(objective, start, tolerance=self.tol, max_iterations=self.max_iter, watch=watch)
        return minimise(objective, start, tolerance=self.tol, max_iterations=self.max_iter, watch=watch)

    def _solver(self, loss: Loss) -> str:
        """Return the name of the solver: the given one, or one that suits the model and the loss."""
        if self.solver != "auto":
            return self.solver
        return "adam" if self.hidden or not loss.is_exact else "lbfgs"

    # ---- the parts of fit ----
    def _batch(self, data: Queries | Pairs) -> int:
        """Return the number of queries or pairs per step."""
        return max(1, min(BATCH, len(data) // 10)) if self.batch is None else self.batch

    def _mapped(self, X: Matrix, rng: np.random.Generator) -> Matrix:
        """Fit the feature map of the kernel, if any, and return the mapped rows."""
        if self.kernel is None:
            return X
        if self.hidden:
            raise ParameterError("Both hidden and kernel were given: choose a network or a kernel expansion.")
        from concordant.scorers.kernel import KernelMap

        self.kernel_map_ = KernelMap.fit(
            X, self.kernel, gamma=self.gamma, degree=self.degree, components=self.components, rng=rng
        )
        return self.kernel_map_.transform(X)

    def _map(self, X: Matrix) -> Matrix:
        """Scale and map rows as in training."""
        X = _scaling.scaled(self, X)
        return self.kernel_map_.transform(X) if hasattr(self, "kernel_map_") else X

    def _scorer(self, n_features: int) -> Scorer:
        """Return the scoring function: a linear model or a neural network."""
        if not self.hidden:
            return Linear(n_features)
        from concordant.scorers.network import Network

        return Network(n_features, self.hidden, self.layers)

    def _watch(self, scorer: Scorer, valid: tuple[Any, ...] | None) -> LearningCurve:
        """Return the learning curve that monitors the solver, on the validation set if there is one."""
        if valid is None:
            return LearningCurve(None, self.patience)
        watched = self._validation(valid, self.metric)
        mapped = self._map(watched.X)

        def measure(point: Floats) -> float:
            return watched.measure(scorer.scores(mapped, point[: scorer.size]))

        return LearningCurve(measure, self.patience)

    def _keep(self, scorer: Scorer, minimum: Minimum, watch: LearningCurve) -> None:
        """Store the learnt weights: those with the best validation metric, or the last ones."""
        point = minimum.point if watch.best is None else watch.best
        if not np.isfinite(point).all():
            raise InputError(
                f"{type(self).__name__} diverged (its weights are not finite): lower "
                + arg("learning_rate")
                + ", or standardise the features."
            )
        self.coef_, self.own_ = point[: scorer.size], point[scorer.size :]
        if self.standardise and self.kernel is None:
            self.coef_ = scorer.in_raw_units(self.coef_, self.feature_mean_, self.feature_scale_)
            _scaling.forget(self)
        self.n_iter_ = minimum.iterations
        self.history_ = watch.history
        if not minimum.is_converged and watch.best is None:
            self._warn_of_early_end(minimum.iterations, "regularise more")


@dataclass(eq=False, repr=False)
class _Penalty:
    alpha: float = param(1e-4, "ridge (L2) penalty on the weights, added to the mean loss", low=0)


@dataclass(eq=False, repr=False)
class RidgeRanker(GradientRanker, _Penalty):
    """A ranker that minimises a mean loss plus alpha/2 times the sum of its squared weights."""

    def _alpha(self) -> float:
        return self.alpha


@dataclass(eq=False, repr=False)
class PairProbabilities(RidgeRanker):
    """Mixin of rankers whose loss is a probability model of pairs."""

    def predict_proba_pair(self, X: Any, first: ArrayLike, second: ArrayLike) -> Floats:
        """Return the probabilities that one row beats, ties with and loses to another.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features.
        first : array-like of int
            Index of the first row of each pair.
        second : array-like of int
            Index of the second row of each pair.

        Returns
        -------
        ndarray of shape (n_pairs, 3)
            Probabilities that the first row wins, that the rows tie, and that the first row loses.
        """
        scores = self.predict(X)
        first_row, second_row = _data.named_rows(first, second, len(scores))
        return self._loss().probabilities(scores[first_row] - scores[second_row], self.own_)


class LearningCurve:
    """Records the learning curve of a solver and decides when to stop."""

    def __init__(self, measure: Callable[[Floats], float] | None, patience: int) -> None:
        self.measure, self.patience = measure, Patience(patience)
        self.best: Floats | None = None
        self.losses: list[float] = []

    @property
    def history(self) -> dict[str, list[float]]:
        """Loss after every iteration and, with a validation set, the metric on it."""
        return {"loss": self.losses} | ({} if self.measure is None else {"valid": self.patience.values})

    def __call__(self, iteration: int, point: Floats, value: float) -> bool:
        """Record the state after an iteration and return whether to continue."""
        self.losses.append(value)
        if self.measure is None:
            return True
        goes_on = self.patience.add(self.measure(point))
        if self.patience.best == len(self.patience.values):
            self.best = point.copy()
        return goes_on
