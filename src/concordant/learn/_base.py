"""What all rankers share: the scikit-learn face, queries in any order, evaluation.

``Ranker`` is the face; ``GradientRanker`` fits any loss with any scorer by any solver. A ranker of the usual kind is
a subclass of the latter that names its loss.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from concordant.errors import InputError, NeedError, ParameterError
from concordant.learn import _data
from concordant.learn._rows import Validation, begin_fit, dense_or_sparse, require_labels
from concordant.losses.base import Loss
from concordant.losses.queries import Pairs, Queries
from concordant.params import param
from concordant.scorers.base import Matrix, Scorer
from concordant.scorers.linear import Linear
from concordant.solvers.lbfgs import Minimum, Watch, minimise
from concordant.solvers.objective import Objective
from concordant.types import Floats

METRIC = "ndcg@10"
STOCHASTIC = ("adam", "sgd")
BATCH = 32


@dataclass(eq=False, repr=False)
class Ranker(BaseEstimator):  # type: ignore[misc]
    """Base of every ranker: ``fit(X, y, qid=...)``, ``predict(X)`` and ``score(X, y, qid=...)``."""

    # scikit-learn's metadata routing: queries go wherever the ranker goes.
    __metadata_request__fit: ClassVar[dict[str, bool]] = {"qid": True, "sample_weight": True}
    __metadata_request__score: ClassVar[dict[str, bool]] = {"qid": True}
    _weighs_queries: ClassVar[bool] = True  # whether weight 0 is exactly the same as absence

    def fit(self, X: Any, y: ArrayLike, *, qid: ArrayLike | None = None) -> Self:
        """Learn from rows of features with their labels."""
        raise NotImplementedError

    def predict(self, X: Any) -> Floats:
        """Return a score per row, higher for better; only rows of the same query should be compared."""
        raise NotImplementedError

    def score(
        self,
        X: Any,
        y: ArrayLike,
        *,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        metric: str = METRIC,
    ) -> float:
        """Return the mean of a metric over the queries (by default NDCG@10), weighted where weights are given."""
        scores = self._predicted(X, qid)
        query = _data.checked_queries(len(scores), qid)
        weight = _data.query_weights(sample_weight, query)
        return _data.measure(metric, scores, _data.labels_only(y, len(scores)), query, weight)

    def _predicted(self, X: Any, qid: ArrayLike | None) -> Floats:
        """Predict for evaluation; rankers that look at whole queries use ``qid``."""
        return self.predict(X)

    def _checked(self, X: Any, *, reset: bool, missing: bool = False) -> Matrix:
        """Check features: numbers, dense or CSR, float32 kept as it is, anything else as float64."""
        return dense_or_sparse(self, X, reset=reset, missing=missing)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags


@dataclass(eq=False, repr=False)
class GradientRanker(Ranker):
    """A ranker that minimises a loss over the scores of a linear model, a network or a kernel expansion."""

    alpha: float = param(1e-4, "ridge penalty on the weights, beside the mean loss", low=0)
    weighting: str = param(
        "units",
        "what counts equally: every unit of the loss (pair or list), or every query",
        choices=("units", "queries"),
    )
    hidden: int = param(0, "units of a hidden layer; 0 for a linear model", low=0)
    layers: int = param(1, "number of hidden layers", low=1, high=2)
    kernel: str | None = param(
        None, "kernel of a non-linear model instead of a network", choices=("linear", "rbf", "polynomial")
    )
    gamma: float | None = param(None, "scale of the kernel; 1/(features times variance) if not given", low=0)
    degree: int = param(3, "degree of the polynomial kernel", low=1)
    components: int | None = param(
        None, "rows that carry the kernel expansion, drawn at random; all if not given", low=1
    )
    solver: str = param(
        "auto", "how to minimise; auto picks by loss and model", choices=("auto", "lbfgs", "newton", "adam", "sgd")
    )
    max_iter: int = param(100, "most iterations (passes over the data for adam and sgd)", low=1)
    tol: float = param(1e-5, "relative improvement at which to stop", low=0)
    learning_rate: float = param(0.01, "step of adam and sgd", low=0)
    batch: int | None = param(
        None, "queries (or pairs) per step of adam and sgd; 32, but at least ten steps a pass, if not given", low=1
    )
    patience: int = param(10, "iterations without a better validation metric after which to stop", low=1)
    metric: str = param(METRIC, "metric watched on the validation set")
    seed: int = param(0, "seed of random starts, batches and samples", low=0)

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        *,
        qid: ArrayLike | None = None,
        group: ArrayLike | None = None,
        pairs: ArrayLike | None = None,
        tied: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        valid: tuple[Any, ...] | None = None,
    ) -> Self:
        """Learn from labels per query, or from explicit pairs.

        ``qid`` names the query of every row, in any order (``group``: sizes of consecutive queries instead; neither:
        one query). ``pairs`` holds (better row, worse row) instead of y; ``tied`` says where the two are equal.
        ``sample_weight`` is per row and constant within a query (per pair with ``pairs``). ``valid`` is (X, y, qid):
        the model with the best ``metric`` on it is kept.
        """
        begin_fit(self)
        X = self._checked(X, reset=True)
        rng = np.random.default_rng(self.seed)
        loss = self._loss()
        if pairs is None:
            if tied is not None:
                raise InputError("tied was given without pairs: rows of equal label are tied anyway, leave it out.")
            queries = self._queries(X, y, qid, group, sample_weight, loss, rng)
            data: Queries | Pairs = queries
            loss = loss.fitted_to(queries)
        else:
            _data.refuse_labels_beside_pairs(y, qid, group, self.weighting)
            data = _data.explicit_pairs(pairs, sample_weight, tied, X.shape[0])
        X = self._mapped(X, rng)
        scorer = self._scorer(X.shape[1])
        steps = self._batch(data) if self._solver(loss) in STOCHASTIC else None
        objective = Objective(scorer, loss, X, data, alpha=self._alpha(), queries_per_block=steps)
        watch = self._watch(scorer, valid)
        with np.errstate(over="ignore", invalid="ignore"):  # steps too far are taken back, or refused below
            found = self._minimise(objective, objective.start(rng), watch, rng)
        self._keep(scorer, found, watch)
        return self

    def predict(self, X: Any) -> Floats:
        """Return a score per row, higher for better; only rows of the same query should be compared."""
        check_is_fitted(self, "coef_")
        X = self._map(self._checked(X, reset=False))
        scorer = self._scorer(X.shape[1])
        if scorer.size != len(self.coef_):
            raise InputError(f"The parameters of this {type(self).__name__} were changed after fit: fit it again.")
        return scorer.scores(X, self.coef_)

    # ---- what a ranker may say otherwise ----
    def _loss(self) -> Loss:
        raise NotImplementedError

    def _alpha(self) -> float:
        return self.alpha

    def _shuffles_ties(self) -> bool:
        """Say whether rows of equal label are laid out in random order (seeded) instead of input order."""
        return False

    def _minimise(self, objective: Objective, start: Floats, watch: Watch, rng: np.random.Generator) -> Minimum:
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
            raise NeedError(f"The gradient of the {loss.name} loss allows no line search: use solver='adam' or 'sgd'.")
        if solver == "newton":
            from concordant.solvers.newton import minimise_newton

            return minimise_newton(objective, start, tolerance=self.tol, max_iterations=self.max_iter, watch=watch)
        return minimise(objective, start, tolerance=self.tol, max_iterations=self.max_iter, watch=watch)

    # ---- the parts of fit ----
    def _solver(self, loss: Loss) -> str:
        if self.solver != "auto":
            return self.solver
        return "adam" if self.hidden or not loss.is_exact else "lbfgs"

    def _batch(self, data: Queries | Pairs) -> int:
        return max(1, min(BATCH, len(data) // 10)) if self.batch is None else self.batch

    def _queries(
        self,
        X: Matrix,
        y: ArrayLike | None,
        qid: ArrayLike | None,
        group: ArrayLike | None,
        sample_weight: ArrayLike | None,
        loss: Loss,
        rng: np.random.Generator,
    ) -> Queries:
        n_rows = X.shape[0]
        label, query = _data.labels_only(require_labels(self, y), n_rows), _data.checked_queries(n_rows, qid, group)
        weight = _data.query_weights(sample_weight, query)
        queries = Queries.from_rows(label, query, weight, shuffle=rng if self._shuffles_ties() else None)
        if not queries.weight.all():  # absent in every respect, also from the batches of a stochastic solver
            queries = queries.chosen(queries.weight > 0)
        units = loss.units(queries)
        _data.refuse_nothing_to_learn(queries, n_rows)
        if self.weighting == "queries":
            return queries.weighted(queries.weight / np.maximum(units, 1.0))
        return queries

    def _mapped(self, X: Matrix, rng: np.random.Generator) -> Matrix:
        """Learn the kernel's feature map, if a kernel was asked for, and return the rows under it."""
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
        return self.kernel_map_.transform(X) if hasattr(self, "kernel_map_") else X

    def _scorer(self, n_features: int) -> Scorer:
        if not self.hidden:
            return Linear(n_features)
        from concordant.scorers.network import Network

        return Network(n_features, self.hidden, self.layers)

    def _watch(self, scorer: Scorer, valid: tuple[Any, ...] | None) -> LearningCurve:
        if valid is None:
            return LearningCurve(None, self.patience)
        watched = Validation(valid, self.metric, lambda X: self._map(self._checked(X, reset=False)))

        def measure(point: Floats) -> float:
            return watched.measure(scorer.scores(watched.X, point[: scorer.size]))

        return LearningCurve(measure, self.patience)

    def _keep(self, scorer: Scorer, found: Minimum, watch: LearningCurve) -> None:
        """Store what was learnt."""
        point = found.point if watch.best is None else watch.best
        if not np.isfinite(point).all():
            raise InputError(
                f"{type(self).__name__} diverged, its weights are no numbers any more: lower learning_rate, "
                "or standardise the features."
            )
        self.coef_, self.own_ = point[: scorer.size], point[scorer.size :]
        self.n_iter_ = found.iterations
        self.history_ = watch.history
        if not found.is_converged and watch.best is None:
            warnings.warn(
                f"{type(self).__name__} stopped after {found.iterations} iterations before it converged: "
                "raise max_iter, regularise more, or standardise the features.",
                ConvergenceWarning,
                stacklevel=3,
            )


class PairProbabilities:
    """For rankers whose loss is a probability model of pairs."""

    def predict_proba_pair(self, X: Any, first: ArrayLike, second: ArrayLike) -> Floats:
        """Return the chances that row ``first[k]`` beats row ``second[k]``, ties with it, loses to it: n x 3."""
        scores = self.predict(X)  # type: ignore[attr-defined]
        one, other = _data.named_rows(first, second, len(scores))
        return self._loss().probabilities(scores[one] - scores[other], self.own_)  # type: ignore[attr-defined,no-any-return]


class LearningCurve:
    """Looks on while a solver runs: the learning curve, and when to stop."""

    def __init__(self, measure: Callable[[Floats], float] | None, patience: int) -> None:
        self.measure, self.patience = measure, patience
        self.best: Floats | None = None
        self.since = 0
        self.history: dict[str, list[float]] = {"loss": []}
        if measure is not None:
            self.history["valid"] = []

    def __call__(self, iteration: int, point: Floats, value: float) -> bool:
        """Note the state after an iteration; say whether to go on."""
        self.history["loss"].append(value)
        if self.measure is None:
            return True
        measured = self.measure(point)
        if self.best is None or measured > max(self.history["valid"]):
            self.best, self.since = point.copy(), 0
        else:
            self.since += 1
        self.history["valid"].append(measured)
        return self.since < self.patience
