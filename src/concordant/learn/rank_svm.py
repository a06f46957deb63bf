"""RankSVM: large-margin ranking of pairs of rows within a query.

    min_w  |w|^2 / 2  +  C / |P| * sum over pairs i over j of loss(1 - (f_i - f_j)),    f = w'x

over the set P of pairs with different labels in the same query (or given as ``pairs``); the loss is max(0, m) ("hinge")
or its square. Use it for graded labels when only the order matters; it is among the most accurate linear rankers and
reports its distance from the optimum (``dual_gap_``, the duality gap of the objective divided by C). C/|P| normalises
by the number of pairs, so C has the same meaning for small and large data. The default of 10 suits standardised
features, where useful weights and reductions of the mean loss are a few tenths: it then shrinks only uninformative
directions. Results change little between 1 and 1000; choose by validation. With ``kernel="rbf"`` all differences are
shorter than 1.5, so C should be larger: 100 to 10000.

Solvers. Hinge: a bundle method, whose passes over the data (usually 5 to 50) cost O(n F) plus O(n log n) for the loss,
regardless of the number of pairs, until the duality gap is below ``tol`` of the objective. Squared hinge: truncated
Newton, until a step improves the objective by less than a hundredth of that. With ``valid`` the gap is that of the last
iteration.

Kernels. With ``kernel=``, rows are mapped to the kernel's feature space and pairs are differences in that space, so
that f remains a score of single rows, f(x) = sum_r c_r k(x_r, x); the dual is solved by coordinate descent with k(i, r)
- k(i, s) - k(j, r) + k(j, s) between pairs (i, j) and (r, s), O(n^2) memory. A kernel applied to the vectors x_i -
  x_j is a different model, which compares rows but does not score them; use ``PairwiseRanker`` with a kernel
  classifier for it. For many rows, ``components`` samples that many rows for the expansion (Nystroem approximation),
  in which the model is linear.

References: R. Herbrich, T. Graepel, K. Obermayer, Large margin rank boundaries for ordinal regression, 2000;
T. Joachims, Optimizing search engines using clickthrough data, KDD 2002 and Training linear SVMs in linear time, KDD
2006; O. Chapelle, S. Keerthi, Efficient algorithms for ranking with SVMs, Information Retrieval 2010.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from concordant.errors import InputError, NeedError, ParameterError, arg, phrase
from concordant.learn._gradient import GradientRanker, LearningCurve
from concordant.losses.base import Loss
from concordant.losses.hinge import HingeLoss
from concordant.losses.queries import Pairs
from concordant.losses.squared_hinge import SquaredHingeLoss
from concordant.params import param
from concordant.scorers.base import Matrix, Scorer
from concordant.scorers.kernel import KernelMap, inverse_root
from concordant.scorers.linear import Linear
from concordant.solvers.bundle import minimise_bundle
from concordant.solvers.dual import FeatureSpace, KernelSpace, Space, minimise_dual
from concordant.solvers.lbfgs import Minimum, Watch
from concordant.solvers.newton import minimise_newton
from concordant.solvers.objective import Objective
from concordant.support.state import Kind, floats, optional, whole
from concordant.types import Floats

MAX_PAIRS = 20_000_000  # listed one by one for the dual


@dataclass(eq=False, repr=False)
class RankSVM(GradientRanker):
    """Support vector machine on pairs, linear or with a kernel (RankSVM)."""

    aliases: ClassVar = ("ranking-svm",)

    learns: ClassVar[Mapping[str, Kind]] = {
        **GradientRanker.learns,
        "dual_gap_": optional(floats(low=-1.0)),
        "support_": optional(whole("weights")),
    }

    C: float = param(10.0, "inverse regularisation strength: weight of the mean pair loss", low=0)
    loss: str = param("hinge", "loss of a pair inside the margin", choices=("hinge", "squared-hinge"))
    solver: str = param(
        "auto",
        "solver; auto: bundle for hinge loss (dual with an exact kernel), newton for squared hinge loss",
        choices=("auto", "bundle", "dual", "newton", "lbfgs", "adam", "sgd"),
    )
    max_iter: int = param(1000, "maximum number of iterations (passes over the data for adam and sgd)", low=1)
    tol: float = param(1e-4, "relative duality gap below which to stop", low=0)

    def _loss(self) -> Loss:
        return HingeLoss() if self.loss == "hinge" else SquaredHingeLoss()

    def _alpha(self) -> float:
        if not 0 < self.C < np.inf:
            raise ParameterError(arg("C", self.C) + " is out of range: give a finite number above 0.")
        return 1 / self.C

    def _solver(self, loss: Loss) -> str:
        """Return the name of the solver: the given one, or one that suits the loss and the kernel."""
        if self.solver != "auto" or self.hidden:
            return super()._solver(loss)
        if self.loss == "squared-hinge":
            return "newton"
        return "dual" if self.kernel is not None and self.components is None else "bundle"

    def _is_expansion(self) -> bool:
        """Return whether the model has a coefficient per training row."""
        exact = self.kernel is not None and self.components is None
        return exact and self._solver(self._loss()) in ("dual", "bundle")

    def _mapped(self, X: Matrix, rng: np.random.Generator) -> Matrix:
        """Return the rows under the kernel's feature map, or their inner products if the model is an expansion."""
        if self.hidden or not self._is_expansion():
            return super()._mapped(X, rng)
        assert self.kernel is not None
        self.kernel_map_ = KernelMap.expansion(X, self.kernel, gamma=self.gamma, degree=self.degree)
        return self.kernel_map_.transform(X)

    def _minimise(self, objective: Objective, start: Floats, watch: Watch, rng: np.random.Generator) -> Minimum:
        """Minimise with the chosen solver and store the duality gap."""
        solver = self._solver(objective.loss)
        if solver == "dual":
            return self._by_dual(objective, watch, rng)
        if solver == "bundle":
            return self._by_bundle(objective, start, watch)
        if solver == "newton":  # steps shrink so fast that a hundredth is one more step at most
            minimum = minimise_newton(
                objective, start, tolerance=self.tol / 100, max_iterations=self.max_iter, watch=watch
            )
        else:
            minimum = super()._minimise(objective, start, watch, rng)
        if not self.hidden:
            self.dual_gap_ = _gap(objective, minimum.point)
        return minimum

    def _by_dual(self, objective: Objective, watch: Watch, rng: np.random.Generator) -> Minimum:
        """Minimise by coordinate descent on the dual, with features or inner products."""
        if self.loss != "hinge" or self.hidden:
            text = "{} only supports the hinge loss without hidden units: use {}."
            raise NeedError(phrase(text, arg("solver", "dual"), arg("solver", "auto")))
        X, to_weights, pairs = objective.X, None, objective.data
        if isinstance(pairs, Pairs):
            objective.loss.evaluate_pairs(np.zeros(X.shape[0]), pairs)  # refuses ties
        elif pairs.pairs.sum() <= MAX_PAIRS:
            pairs = Pairs.of(pairs)
        elif self.solver == "auto":
            return self._by_bundle(objective, objective.start(rng), watch)
        else:
            raise InputError(
                f"There are {pairs.pairs.sum():,.0f} pairs, too many for the dual: use " + arg("solver", "bundle") + "."
            )
        space: Space
        if self._is_expansion():
            space = KernelSpace(X)
        elif isinstance(X, np.ndarray):
            space = FeatureSpace(X)
        else:
            space, to_weights = KernelSpace.of_rows(X), X.T
        minimum = minimise_dual(
            space,
            pairs,
            alpha=objective.alpha,
            tolerance=self.tol,
            max_iterations=self.max_iter,
            rng=rng,
            watch=_through(to_weights, watch),
        )
        self.dual_gap_ = minimum.gap
        return minimum if to_weights is None else replace(minimum, point=to_weights @ minimum.point)

    def _by_bundle(self, objective: Objective, start: Floats, watch: Watch) -> Minimum:
        """Minimise by the bundle method; for an expansion, in coordinates in which the penalty is a sum of squares."""
        root = None
        if self._is_expansion():  # |w|^2 is c'Kc
            root = inverse_root(objective.X)
            mapped = (objective.X @ root).astype(objective.X.dtype, copy=False)
            scorer, start = Linear(root.shape[1]), np.zeros(root.shape[1])
            objective = Objective(scorer, objective.loss, mapped, objective.data, alpha=objective.alpha)
        minimum = minimise_bundle(
            objective, start, tolerance=self.tol, max_iterations=self.max_iter, watch=_through(root, watch)
        )
        self.dual_gap_ = minimum.gap
        return minimum if root is None else replace(minimum, point=root @ minimum.point)

    def _keep(self, scorer: Scorer, minimum: Minimum, watch: LearningCurve) -> None:
        """Store the learnt weights; for an expansion, only those of the support vectors."""
        super()._keep(scorer, minimum, watch)
        if self.kernel is not None and self.kernel_map_.projection is None:
            self.support_ = np.flatnonzero(self.coef_)
            self.coef_ = self.coef_[self.support_]
            self.kernel_map_ = replace(self.kernel_map_, landmarks=self.kernel_map_.landmarks[self.support_])


def _through(transform: Matrix | None, watch: Watch) -> Callable[[int, Floats, float], bool]:
    """Return a callback that receives the points multiplied by ``transform``, as the model stores them."""
    if transform is None:
        return watch
    return lambda iteration, point, value: watch(iteration, transform @ point, value)


def _gap(objective: Objective, point: Floats) -> float:
    """Return the duality gap of a smooth or hinge loss: |gradient|² / (2 alpha), with dual variables -loss'."""
    slope = objective(point)[1]
    return float(slope @ slope) / (2 * objective.alpha)
