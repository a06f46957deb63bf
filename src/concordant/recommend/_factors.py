"""Factorisation recommenders: score = mean + agent bias + item bias + product of latent factors."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from concordant import kernels
from concordant.errors import InputError, arg
from concordant.kernels.bundles import Terms
from concordant.params import param
from concordant.ranking import Ranking
from concordant.recommend import _alternating as alternating
from concordant.recommend._alternating import Alternating, Half, Plan, State
from concordant.recommend._base import Progress, Recommender, Watched, cosines
from concordant.recommend._losses import Loss
from concordant.recommend._observed import Observed
from concordant.support.state import SMALLEST, Kind, either, floats
from concordant.types import AnyArray, Floats, Int32s, Int64s

FIRST_RIDGE = 12.0
FOLDS = 60  # steps at most for a newcomer, where the loss is no quadratic


@dataclass(frozen=True, kw_only=True)
class FactorRecommender(Recommender):
    """Base class of factorisations, which have rows of latent factors and a bias for every agent and item."""

    learns: ClassVar[Mapping[str, Kind]] = {
        **Recommender.learns,
        "mean": floats(),
        "of_agent": floats("agents", "width", single=True),
        "of_item": floats("items", "width", single=True),
    }

    factors: int = param(10, "number of latent factors", low=1, high=1000)
    precision: str = param("double", "floating-point precision of the model", choices=("double", "single"))
    threads: int = param(0, "number of threads; 0 for all processors", low=0)
    seed: int = param(0, "seed for the random initialisation", low=0)

    def complete(self) -> Floats:
        """Return the full matrix of predicted scores.

        Returns
        -------
        ndarray of shape (n_agents, n_items)
            Scores, in the order of ``agents`` and ``items``.
        """
        return self._scores(np.arange(len(self.agents)))

    def similar(self, item: object, n: int = 10) -> Ranking:
        """Return the items most similar to one item, by the cosine between their latent factors.

        Parameters
        ----------
        item : str
            The item.
        n : int, default 10
            Maximum number of items.

        Returns
        -------
        Ranking
            Similar items with their cosines.
        """
        if n < 1:
            raise InputError(arg("n", shown=str(n)) + " is out of range: give a whole number of at least 1.")
        code = self.items.code(item, "item")
        cosine = cosines(self._known("of_item")[:, :-1].astype(np.float64), code)
        cosine[code] = -np.inf
        best = np.argsort(-cosine, kind="stable")[: min(n, len(cosine) - 1)]
        return Ranking(self.items, np.array([0, len(best)]), best.astype(np.int32), cosine[best], method=self.name)

    # ---- scores ----
    def _scores(self, agents: Int64s) -> Floats:
        """Return the score of every item for these agents: mean + biases (the last columns) + product of factors."""
        of_agent, of_item = self._known("of_agent")[agents], self._known("of_item")
        product = of_agent[:, :-1] @ of_item[:, :-1].T
        score: Floats = product.astype(np.float64, copy=False)
        score += self._known("mean") + of_agent[:, -1:]
        score += of_item[:, -1]
        return score

    def _pair_scores(self, agent: Int32s, item: Int32s) -> Floats:
        """Return the score of every (agent, item) pair; unknown ones (-1) have zero bias and factors."""
        # code -1 is the row of zeros at the end
        of_agent, of_item = (
            np.vstack([self._known(name), np.zeros((1, self._width), self._dtype)]) for name in ("of_agent", "of_item")
        )
        product = np.einsum("ed,ed->e", of_agent[agent, :-1], of_item[item, :-1])
        return np.asarray(self._known("mean") + product + of_agent[agent, -1] + of_item[item, -1], np.float64)

    # ---- what the solvers share ----
    def learnt_sizes(self) -> dict[str, int]:
        """Return the expected sizes of the learnt arrays, for validating a loaded model.

        Returns
        -------
        dict of str to int
            Sizes by name.
        """
        return {"width": self._width, "spread": alternating.spread_columns(self._width)}

    def check_learnt(self) -> None:
        """Raise ValueError if a learnt array does not have the declared ``precision``."""
        for name in {"of_agent", "of_item", "item_spread"} & self.learnt.keys():
            if self.learnt[name].dtype != self._dtype:
                raise ValueError(f"{name!r} of {self.name} is not in {self.precision} precision")

    @property
    def _width(self) -> int:
        return self.factors + 1

    @property
    def _dtype(self) -> type:
        return np.float32 if self.precision == "single" else np.float64

    def _first_rows(self, rng: np.random.Generator, n: int, scale: float) -> AnyArray:
        """Return n rows with random factors of standard deviation ``scale`` and zero bias."""
        rows = np.zeros((n, self._width))
        rows[:, :-1] = rng.normal(0.0, scale, (n, self.factors))
        return rows.astype(self._dtype)

    def _carried(self, rows: AnyArray, start: FactorRecommender, name: str, labels: str) -> AnyArray:
        """Return the rows, with those of agents or items known to an earlier model copied from it."""
        earlier = start._known(name)
        if earlier.shape[1] != rows.shape[1]:
            return rows
        known = getattr(start, labels).codes(getattr(self, labels).labels)
        rows = rows.copy()
        rows[known >= 0] = earlier[known[known >= 0]]
        return rows


@dataclass(frozen=True, kw_only=True)
class AlternatingRecommender(FactorRecommender):
    """Base class of factorisations that are fitted by alternating least squares; subclasses define the loss."""

    learns: ClassVar[Mapping[str, Kind]] = {
        **FactorRecommender.learns,
        "item_spread": either(floats("items", 0, single=True), floats("items", "spread", single=True)),
        "agent_ridge": floats("width", low=SMALLEST, high=alternating.OFF),
        "item_ridge": floats("width", low=SMALLEST, high=alternating.OFF),
        "noise": floats(low=SMALLEST),
    }

    ridge: float | str = param(
        "auto",
        "ridge (L2) penalty on the factors; auto: estimated by variational Bayes, with posterior mean scores",
        low=1e-6,
        words=("auto",),
    )
    bias_ridge: float = param(4.0, "ridge (L2) penalty on the biases, if ridge is a number", low=1e-6)
    biases: bool = param(True, "include agent and item biases")
    sweeps: int = param(50, "maximum number of alternating sweeps", low=1)
    tolerance: float = param(1e-6, "relative change of the objective below which to stop", low=0.0)
    patience: int = param(10, "early stopping: number of sweeps without improvement of the validation metric", low=1)

    @abstractmethod
    def _loss(self, noise: float) -> Loss:
        """Return the loss; for a variational fit, at this noise precision (inverse variance)."""

    @property
    def _has_noise(self) -> bool:
        """Whether the loss contains squared errors, whose noise variance a variational fit estimates."""
        return True

    @property
    def _centre(self) -> Callable[[Observed], float]:
        """How ``mean`` is computed: the mean rating, unless the loss only compares scores."""
        return lambda observed: float(np.average(observed.ratings(self.name), weights=observed.weight_by_entry))

    def _plan(self, start: Any = None) -> Plan:
        """Return the settings of the solver."""
        return Plan(
            loss=self._loss,
            is_variational=self.ridge == "auto",
            has_noise=self._has_noise,
            sweeps=self.sweeps,
            tolerance=self.tolerance,
            patience=self.patience,
            threads=self.threads,
            has_biases=self.biases,
            modes=0 if self._is_continued(start) else alternating.MODES,
        )

    def _learn(
        self, observed: Observed, quality: Watched | None, start: Any, progress: Progress | None
    ) -> dict[str, Any]:
        """Fit by alternating least squares and return the learnt attributes."""
        fit = Alternating(observed, self._plan(start), self._start(observed, start))

        def quality_of(state: State) -> float:
            assert quality is not None
            model = self.with_learnt(**_learnt(state))
            return quality.quality(model._pair_scores(quality.agent, quality.item))

        return _learnt(fit.run(None if quality is None else quality_of, progress))

    def _start(self, observed: Observed, start: Any) -> State:
        """Return the initial state: small random item factors, or the rows, priors and noise of an earlier model."""
        rng, centre = np.random.default_rng(self.seed), self._centre(observed)
        noise = 1.0
        if self.ridge == "auto" and self._has_noise:
            rating = observed.ratings(self.name)
            noise = 1 / max(float(np.average((rating - centre) ** 2, weights=observed.weight_by_entry)), 1e-12)
        scale = noise**-0.25  # of factors whose products have the size of the ratings
        agents, items = self._first_sides(rng, observed, 0.1 * scale)
        ridges = [self._ridge_by_column(noise)] * 2
        if start is not None:
            agents = self._carried(agents, start, "of_agent", "agents")
            items = self._carried(items, start, "of_item", "items")
            if self._is_continued(start):
                ridges, noise = [start._known("agent_ridge"), start._known("item_ridge")], start._known("noise")
        nothing: list[AnyArray] = [np.zeros((len(rows), 0), self._dtype) for rows in (agents, items)]
        return State(Half(agents, nothing[0], ridges[0]), Half(items, nothing[1], ridges[1]), centre, noise)

    def _first_sides(self, rng: np.random.Generator, observed: Observed, scale: float) -> tuple[AnyArray, AnyArray]:
        """Return the rows of agents and items to start from: zeros, and random factors with this standard deviation."""
        agents: AnyArray = np.zeros((len(observed.agents), self._width), self._dtype)
        return agents, self._first_rows(rng, len(observed.items), scale)

    def _is_continued(self, start: Any) -> bool:
        """Return whether a variational fit continues an earlier one, with its priors."""
        return start is not None and self.ridge == start.ridge == "auto" and start.factors == self.factors

    def _ridge_by_column(self, noise: float) -> Floats:
        """Return the initial ridge by column: as given, or for a variational fit one that favours strong factors."""
        ridge = np.full(self._width, FIRST_RIDGE * noise**0.5 if isinstance(self.ridge, str) else float(self.ridge))
        ridge[-1] = self.bias_ridge * (noise if isinstance(self.ridge, str) else 1.0)
        if not self.biases:
            ridge[-1] = alternating.OFF
        return ridge

    def _fold(self, observed: Observed) -> dict[str, Any]:
        """Solve the rows of new agents with the items fixed: one step, or several if the loss is not quadratic."""
        items = Half(self._known("of_item"), self._known("item_spread"), self._known("item_ridge"))
        n, mean, noise = len(observed.agents), self._known("mean"), self._known("noise")
        agents = Half(np.zeros((n, self._width), self._dtype), np.zeros((n, 0)), self._known("agent_ridge"))
        loss, side = self._loss(noise), observed.by_agent
        first = self._loss_for_start(noise)
        for step in range(1 + (0 if loss.is_quadratic else FOLDS)):
            score = kernels.factor_scores(side.ptr, side.other, agents.row, items.row, mean, 1)
            quadratic = (first if step == 0 else loss).at(score, observed, step)
            terms = Terms(quadratic.target, quadratic.curve)
            last_row = agents.row
            agents = replace(agents, row=alternating.solve_rows(side, terms, agents, items, mean, 1).row)
            if np.abs(agents.row - last_row).max(initial=0.0) < 1e-6:
                break
        return {"of_agent": agents.row}

    def _loss_for_start(self, noise: float) -> Loss:
        """Return the loss of the first step for a new agent: a convex one if available."""
        return self._loss(noise)


def _learnt(state: State) -> dict[str, Any]:
    """Return the learnt attributes of a state by name."""
    return {
        "mean": state.mean,
        "noise": float(state.noise),
        "of_agent": state.agents.row,
        "of_item": state.items.row,
        "item_spread": state.items.spread,
        "agent_ridge": state.agents.ridge,
        "item_ridge": state.items.ridge,
    }
