"""Probabilistic model over ordered partitions: rows with equal labels are chosen together.

The rows of a query form sets by label, X_1 > X_2 > … > X_K. Each is chosen from the rows R_k that remain, with
probability Phi(X_k) / sum of Phi(S) over all non-empty sets S in R_k. Phi is a mean of the worths exp(f), f = w'x:

    arithmetic             linear time; loss sum_k [logsumexp(f, R_k) - logsumexp(f, X_k)]
    maximum, minimum       a set is as good as its best (worst) row; exact, one sort and a pass per level
    geometric, harmonic    no closed-form normaliser: sets are sampled and the steps are stochastic (adam), the gradient
                           by contrastive divergence

Use it for graded labels, where most rows are tied: tied rows are not ordered and pairs are not enumerated, so a query
of n rows costs O(n) to O(n log n). ``rank_weighting`` gives more weight to the top levels. With ties the likelihood is
not concave in the scores, so different starting points may lead to different optima. Fitting starts from zero weights;
maximum and minimum have a kink there and start from the weights of the arithmetic mean. ``log_likelihood`` returns the
log-likelihood of labels under the model. Reference: T. Truyen, D. Phung, S. Venkatesh, Probabilistic models over
ordered partitions with applications in document ranking and collaborative filtering, SDM 2011.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from concordant.errors import ParameterError, arg, phrase
from concordant.learn import _data
from concordant.learn._gradient import STOCHASTIC, PairProbabilities
from concordant.losses.ordered_partitions import ExtremePartitionLoss, MeanPartitionLoss, OrderedPartitionLoss
from concordant.losses.queries import Queries
from concordant.losses.set_sizes import TieOdds
from concordant.losses.subset_sampling import SAMPLERS, SampledPartitionLoss
from concordant.params import param
from concordant.solvers.lbfgs import Minimum, Watch, minimise
from concordant.solvers.objective import Objective
from concordant.types import Floats

MEANS = ("arithmetic", "maximum", "minimum", "geometric", "harmonic")


@dataclass(eq=False, repr=False)
class OrderedPartitionRanker(PairProbabilities):
    """Probabilistic model in which rows with equal labels are chosen together, best level first."""

    aliases: ClassVar = ("pmop",)

    mean: str = param("arithmetic", "type of mean that gives the worth of a set of rows", choices=MEANS)
    rank_weighting: bool = param(False, "weight the choice of level r by 1 + log r, and of level 0 by 0")
    backward: bool = param(False, "choose the worst level first instead of the best")
    tie_odds: float = param(
        1.0,
        "factor on the worth of a set per additional row; 0 excludes ties; no effect with the arithmetic mean",
        low=0,
    )
    sampler: str = param("gibbs", "MCMC sampler of sets (for the geometric and harmonic means)", choices=SAMPLERS)
    samples: int = param(1, "number of sampled sets per level (for the geometric and harmonic means)", low=1)
    steps: int = param(1, "number of sampler steps before a set is used (for the geometric and harmonic means)", low=1)
    persistent: bool = param(
        False,
        "continue sampling from the last sets instead of the observed ones (for the geometric and harmonic means)",
    )

    def log_likelihood(
        self,
        X: Any,
        y: ArrayLike,
        *,
        qid: ArrayLike | None = None,
        group: ArrayLike | None = None,
        temperatures: int = 100,
        runs: int = 20,
    ) -> Floats:
        """Return the log-likelihood of the labels of every query under the model.

        It is exact for the arithmetic mean, maximum and minimum, and otherwise estimated by annealed importance
        sampling. Weights are ignored.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples,)
            Labels.
        qid : array-like of shape (n_samples,), optional
            Query of every row, in any order; without it, all rows form one query.
        group : array-like, optional
            Sizes of consecutive queries, instead of ``qid``.
        temperatures : int, default 100
            Number of annealing temperatures.
        runs : int, default 20
            Number of annealing runs.

        Returns
        -------
        ndarray of float64
            One value per query, in order of first appearance.
        """
        scores = self.predict(X)
        label, query = _data.labels_only(y, len(scores)), _data.query_codes(len(scores), qid, group)
        queries = Queries.from_rows(label, query)
        return self._loss().log_likelihood(
            scores[queries.row], queries, temperatures=temperatures, runs=runs, seed=self.seed
        )

    def _minimise(self, objective: Objective, start: Floats, watch: Watch, rng: np.random.Generator) -> Minimum:
        """Minimise the loss; a loss with kinks starts from the optimum of the arithmetic mean."""
        if not objective.loss.is_smooth and self._solver(objective.loss) not in STOCHASTIC:
            smooth = MeanPartitionLoss(self.backward, self.rank_weighting)
            smooth_objective = Objective(objective.scorer, smooth, objective.X, objective.data, alpha=objective.alpha)
            start = minimise(
                smooth_objective, start, tolerance=self.tol, max_iterations=self.max_iter, watch=lambda *_: True
            ).point
        return super()._minimise(objective, start, watch, rng)

    def _loss(self) -> OrderedPartitionLoss:
        """Return the loss of the chosen mean."""
        shared: dict[str, Any] = {
            "backward": self.backward,
            "rank_weighting": self.rank_weighting,
            "bias": TieOdds(self.tie_odds),
        }
        if self.mean == "arithmetic":
            return MeanPartitionLoss(**shared)
        if self.mean in ("maximum", "minimum"):
            return ExtremePartitionLoss(is_maximum=self.mean == "maximum", **shared)
        if self.tie_odds == 0 and self.sampler == "gibbs":
            text = "{} prevents the Gibbs sampler from moving between sets: use {}."
            raise ParameterError(phrase(text, arg("tie_odds", 0), arg("sampler", "metropolis")))
        return SampledPartitionLoss(
            is_harmonic=self.mean == "harmonic",
            sampler=self.sampler,
            samples=self.samples,
            steps=self.steps,
            persistent=self.persistent,
            seed=self.seed,
            **shared,
        )
