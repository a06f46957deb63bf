"""Solvers find minima: derivatives of the objective, Newton, stochastic descent, the bundle method, the dual."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from concordant.errors import NeedError
from concordant.losses.davidson import DavidsonLoss
from concordant.losses.hinge import HingeLoss
from concordant.losses.queries import Pairs, Queries
from concordant.losses.ranknet import RankNetLoss
from concordant.losses.squared_hinge import SquaredHingeLoss
from concordant.scorers.linear import Linear
from concordant.scorers.network import Network
from concordant.solvers import lbfgs
from concordant.solvers.bundle import minimise_bundle
from concordant.solvers.dual import FeatureSpace, KernelSpace, minimise_dual
from concordant.solvers.newton import minimise_newton
from concordant.solvers.objective import Objective
from concordant.solvers.stochastic import minimise_stochastic


def go_on(iteration: int, point: np.ndarray, value: float) -> bool:
    return True


def made(
    n_queries: int = 12, n_rows: int = 8, n_features: int = 4, *, mixed: bool = False, noise: float = 1.0, seed: int = 0
) -> tuple[np.ndarray, Queries]:
    """Return rows with three grades that follow a noisy linear truth, in queries of different weights."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_queries * n_rows, n_features))
    label = np.digitize(X @ rng.normal(size=n_features) + noise * rng.normal(size=len(X)), [0.0, 1.0]).astype(float)
    query = np.repeat(np.arange(n_queries), n_rows)
    if mixed:
        query = rng.permutation(query)
        query = np.unique(query, return_inverse=True)[1]
    weight = 1.0 + query % 3
    return X, Queries.from_rows(label, query, weight)


def brute_pairs(queries: Queries) -> set[tuple[int, int, float]]:
    found = set()
    for q in range(len(queries)):
        span = range(queries.ptr[q], queries.ptr[q + 1])
        found |= {
            (int(queries.row[i]), int(queries.row[j]), float(queries.weight[q]))
            for i in span
            for j in span
            if queries.label[i] > queries.label[j]
        }
    return found


@pytest.mark.parametrize("mixed", [False, True])
def test_the_list_of_pairs_holds_every_pair_once(mixed: bool) -> None:
    _, queries = made(mixed=mixed)
    pairs = Pairs.of(queries)
    listed = list(zip(pairs.better.tolist(), pairs.worse.tolist(), pairs.weight.tolist(), strict=True))
    assert len(listed) == len(set(listed)) == queries.pairs.sum()
    assert set(listed) == brute_pairs(queries)


def test_pairs_chosen_by_number_are_those_of_the_list() -> None:
    _, queries = made(mixed=True)
    every, chosen = Pairs.of(queries), np.array([0, 3, 4, 50, int(queries.pairs.sum()) - 1])
    some = Pairs.of(queries, chosen)
    assert np.array_equal(some.better, every.better[chosen])
    assert np.array_equal(some.worse, every.worse[chosen])
    assert np.array_equal(some.weight, every.weight[chosen])


class TestDescent:
    def test_a_first_step_that_is_far_too_long_is_shortened(self) -> None:
        def steep(point: np.ndarray) -> tuple[float, np.ndarray]:
            power = np.exp(np.minimum(1e7 * np.abs(point - 1e-7), 600.0))
            return float(power.sum()), np.sign(point - 1e-7) * 1e7 * power

        found = lbfgs.minimise(steep, np.zeros(1), tolerance=1e-9, max_iterations=50, watch=go_on)
        assert found.value < np.e * 0.5

    @pytest.mark.parametrize("slope", [0.0, 1e-15])
    def test_a_flat_start_is_a_minimum(self, slope: float) -> None:
        found = lbfgs.minimise(
            lambda point: (1.0, np.full(2, slope)), np.ones(2), tolerance=1e-5, max_iterations=9, watch=go_on
        )
        assert found.is_converged
        assert found.point.tolist() == [1, 1]

    def test_going_nowhere_on_a_slope_is_no_minimum(self) -> None:
        found = lbfgs.minimise(
            lambda point: (1.0, np.ones(2)), np.ones(2), tolerance=1e-5, max_iterations=9, watch=go_on
        )
        assert not found.is_converged
        assert found.iterations == 0


class TestTheObjective:
    @pytest.mark.parametrize("form", ["together", "mixed", "sparse", "pairs"])
    @pytest.mark.parametrize("loss", [RankNetLoss(), SquaredHingeLoss()])
    def test_its_curvature_agrees_with_finite_differences(self, form: str, loss: Any) -> None:
        X, queries = made(mixed=form == "mixed")
        data: Any = Pairs.of(queries) if form == "pairs" else queries
        objective = Objective(Linear(4), loss, csr_array(X) if form == "sparse" else X, data, alpha=0.3)
        rng = np.random.default_rng(1)
        point, direction = rng.normal(size=(2, 4))
        bent = objective.hessian(point)(direction)
        change = (objective(point + 1e-6 * direction)[1] - objective(point - 1e-6 * direction)[1]) / 2e-6
        assert np.allclose(bent, change, atol=1e-6)

    @pytest.mark.parametrize("mixed", [False, True])
    def test_batches_add_up_to_the_whole(self, mixed: bool) -> None:
        X, queries = made(mixed=mixed)
        point = np.random.default_rng(2).normal(size=4)
        whole = Objective(Linear(4), HingeLoss(), X, queries)
        for data, size in ((queries, 5), (queries, 1), (Pairs.of(queries), 7)):
            parts = Objective(Linear(4), HingeLoss(), X, data, queries_per_block=size)
            assert len(parts.blocks) > 1
            assert parts(point)[0] == pytest.approx(whole(point)[0])
            assert np.allclose(parts(point)[1], whole(point)[1])


class TestNewton:
    @pytest.mark.parametrize("loss", [RankNetLoss(), SquaredHingeLoss()])
    @pytest.mark.parametrize("form", ["queries", "pairs"])
    def test_the_gradient_vanishes_at_the_end(self, loss: Any, form: str) -> None:
        X, queries = made()
        data: Any = queries if form == "queries" else Pairs.of(queries)
        objective = Objective(Linear(4), loss, X, data, alpha=1e-3)
        found = minimise_newton(objective, np.zeros(4), tolerance=1e-15, max_iterations=50, watch=go_on)
        assert found.is_converged
        assert np.abs(objective(found.point)[1]).max() < 1e-7

    def test_it_agrees_with_quasi_newton_in_fewer_iterations(self) -> None:
        X, queries = made(n_features=20, n_queries=40)
        objective = Objective(Linear(20), RankNetLoss(), X, queries, alpha=1e-3)
        newton = minimise_newton(objective, np.zeros(20), tolerance=1e-12, max_iterations=50, watch=go_on)
        other = lbfgs.minimise(objective, np.zeros(20), tolerance=1e-14, max_iterations=500, watch=go_on)
        assert newton.value == pytest.approx(other.value, abs=1e-9)
        assert newton.iterations < other.iterations

    def test_it_stops_when_the_watch_says_so(self) -> None:
        X, queries = made()
        objective = Objective(Linear(4), RankNetLoss(), X, queries, alpha=1e-3)
        found = minimise_newton(
            objective, np.zeros(4), tolerance=0, max_iterations=50, watch=lambda iteration, *_: iteration < 2
        )
        assert found.iterations == 2

    def test_it_starts_at_a_minimum_without_moving(self) -> None:
        X, queries = made(n_features=3)
        objective = Objective(Linear(3), SquaredHingeLoss(), np.zeros_like(X), queries, alpha=1.0)
        found = minimise_newton(objective, np.zeros(3), tolerance=1e-8, max_iterations=5, watch=go_on)
        assert found.is_converged
        assert found.iterations == 0

    @pytest.mark.parametrize(
        ("scorer", "loss"), [(Network(4, 3), RankNetLoss()), (Linear(4), DavidsonLoss()), (Linear(4), HingeLoss())]
    )
    def test_what_has_no_second_derivative_is_refused_with_another_solver(self, scorer: Any, loss: Any) -> None:
        X, queries = made()
        objective = Objective(scorer, loss, X, queries, alpha=1e-3)
        start = objective.start(np.random.default_rng(0))
        with pytest.raises(NeedError, match="lbfgs"):
            minimise_newton(objective, start, tolerance=1e-8, max_iterations=5, watch=go_on)


class TestStochasticDescent:
    def descend(self, objective: Objective, **settings: Any) -> Any:
        settings = {"method": "sgd", "learning_rate": 0.1, "passes": 1, "watch": go_on, **settings}
        return minimise_stochastic(objective, np.zeros(4), rng=np.random.default_rng(0), **settings)

    def test_a_batch_of_everything_is_gradient_descent(self) -> None:
        X, queries = made()
        objective = Objective(Linear(4), RankNetLoss(), X, queries, alpha=0.2, queries_per_block=100)
        point = np.zeros(4)
        for _ in range(3):
            point = point - 0.1 * objective(point)[1]
        assert np.allclose(self.descend(objective, passes=3).point, point)

    def test_steps_of_a_pass_add_up_to_the_gradient(self) -> None:
        X, queries = made()
        objective = Objective(Linear(4), RankNetLoss(), X, queries, queries_per_block=1)
        steps = self.descend(objective, learning_rate=1e-7).point / -1e-7 / len(objective.blocks)
        assert np.allclose(steps, objective(np.zeros(4))[1], atol=1e-6)

    def test_the_first_steps_of_adam_are_as_long_as_the_learning_rate(self) -> None:
        X, queries = made()
        objective = Objective(Linear(4), RankNetLoss(), X, queries, queries_per_block=100)
        gradient = objective(np.zeros(4))[1]
        moved = self.descend(objective, method="adam", learning_rate=0.01).point
        assert np.allclose(moved, -0.01 * np.sign(gradient), atol=1e-6)

    def test_adam_takes_the_published_steps(self) -> None:
        X, queries = made()
        objective = Objective(Linear(4), RankNetLoss(), X, queries, alpha=0.1, queries_per_block=100)
        point, mean, square = np.zeros((3, 4))
        for t in range(1, 8):
            gradient = objective(point)[1]
            mean, square = 0.9 * mean + 0.1 * gradient, 0.999 * square + 0.001 * gradient**2
            point = point - 0.05 * mean / (1 - 0.9**t) / (np.sqrt(square / (1 - 0.999**t)) + 1e-8)
        assert np.allclose(self.descend(objective, method="adam", learning_rate=0.05, passes=7).point, point)

    @pytest.mark.parametrize(("method", "rate"), [("sgd", 0.05), ("adam", 0.01)])
    @pytest.mark.parametrize("form", ["queries", "pairs"])
    def test_it_comes_near_the_minimum(self, method: str, rate: float, form: str) -> None:
        X, queries = made(n_queries=40)
        data: Any = queries if form == "queries" else Pairs.of(queries)
        objective = Objective(Linear(4), RankNetLoss(), X, data, alpha=1e-2, queries_per_block=4)
        best = minimise_newton(objective, np.zeros(4), tolerance=1e-12, max_iterations=50, watch=go_on)
        found = self.descend(objective, method=method, learning_rate=rate, passes=80 if form == "queries" else 8)
        assert objective(found.point)[0] < best.value + 0.01 * (objective(np.zeros(4))[0] - best.value)

    def test_the_watch_sees_every_pass_and_may_end_it(self) -> None:
        X, queries = made()
        objective = Objective(Linear(4), RankNetLoss(), X, queries, alpha=1e-2, queries_per_block=3)
        seen = []

        def watch(iteration: int, point: np.ndarray, value: float) -> bool:
            seen.append((iteration, value))
            return iteration < 4

        found = self.descend(objective, passes=50, watch=watch)
        assert [iteration for iteration, _ in seen] == [1, 2, 3, 4]
        assert found.iterations == 4
        assert seen[-1][1] < seen[0][1]

    def test_the_same_seed_gives_the_same_point(self) -> None:
        X, queries = made()
        objective = Objective(Linear(4), RankNetLoss(), X, queries, queries_per_block=1)
        assert np.array_equal(self.descend(objective, passes=3).point, self.descend(objective, passes=3).point)


class TestTheBundleMethod:
    @pytest.mark.parametrize("alpha", [1.0, 1e-2, 1e-4])
    @pytest.mark.parametrize("noise", [0.0, 1.0])
    def test_it_meets_the_dual(self, alpha: float, noise: float) -> None:
        X, queries = made(noise=noise)
        objective = Objective(Linear(4), HingeLoss(), X, queries, alpha=alpha)
        primal = minimise_bundle(objective, np.zeros(4), tolerance=1e-8, max_iterations=500, watch=go_on)
        dual = minimise_dual(
            FeatureSpace(X),
            Pairs.of(queries),
            alpha=alpha,
            tolerance=1e-8,
            max_iterations=5000,
            rng=np.random.default_rng(0),
            watch=go_on,
        )
        assert primal.is_converged
        assert dual.is_converged
        assert primal.value == pytest.approx(dual.value, rel=1e-7)
        assert objective(primal.point)[0] == pytest.approx(primal.value)

    def test_the_gap_bounds_what_is_left_to_gain_from_the_first_iteration_on(self) -> None:
        X, queries = made(n_features=10)
        objective = Objective(Linear(10), HingeLoss(), X, queries, alpha=1e-3)
        best = minimise_bundle(objective, np.zeros(10), tolerance=1e-9, max_iterations=500, watch=go_on).value
        for most in (1, 2, 5, 10, 20, 40):
            found = minimise_bundle(objective, np.zeros(10), tolerance=0, max_iterations=most, watch=go_on)
            assert found.iterations == most
            assert not found.is_converged
            assert found.value >= best - 1e-9
            assert found.value - found.gap <= best + 1e-9

    def test_it_goes_on_where_descent_stalls_at_kinks(self) -> None:
        X, queries = made(n_queries=4, n_features=10)  # few pairs: kinks everywhere
        objective = Objective(Linear(10), HingeLoss(), X, queries, alpha=1e-4)
        descent = lbfgs.minimise(objective, np.zeros(10), tolerance=1e-7, max_iterations=500, watch=go_on)
        found = minimise_bundle(objective, np.zeros(10), tolerance=1e-7, max_iterations=500, watch=go_on)
        assert found.is_converged
        assert found.value <= descent.value
        assert found.gap <= 1e-7 * found.value

    def test_hundreds_of_planes_are_kept_within_bounds(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from concordant.solvers import bundle

        X, queries = made(n_queries=4, n_features=10)
        objective = Objective(Linear(10), HingeLoss(), X, queries, alpha=1e-4)
        monkeypatch.setattr(bundle, "MAX_PLANES", 30)
        found = minimise_bundle(objective, np.zeros(10), tolerance=1e-6, max_iterations=1000, watch=go_on)
        assert found.is_converged

    def test_any_convex_loss_will_do(self) -> None:
        X, queries = made()
        objective = Objective(Linear(4), RankNetLoss(), X, queries, alpha=1e-2)
        newton = minimise_newton(objective, np.zeros(4), tolerance=1e-14, max_iterations=50, watch=go_on)
        found = minimise_bundle(objective, np.zeros(4), tolerance=1e-7, max_iterations=500, watch=go_on)
        assert found.value == pytest.approx(newton.value, rel=1e-6)

    def test_without_a_penalty_there_is_no_bound(self) -> None:
        X, queries = made()
        with pytest.raises(NeedError, match="ridge"):
            minimise_bundle(
                Objective(Linear(4), HingeLoss(), X, queries), np.zeros(4), tolerance=1, max_iterations=1, watch=go_on
            )


class TestTheDual:
    def solve(self, space: Any, pairs: Pairs, **settings: Any) -> Any:
        settings = {"alpha": 0.05, "tolerance": 1e-9, "max_iterations": 2000, "watch": go_on, **settings}
        return minimise_dual(space, pairs, rng=np.random.default_rng(0), **settings)

    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    def test_features_and_inner_products_give_the_same_scores(self, backend: str, dtype: Any) -> None:
        X, queries = made(n_queries=4)
        X, pairs = X.astype(dtype), Pairs.of(queries)
        by_feature = self.solve(FeatureSpace(X), pairs, tolerance=1e-6)
        by_row = self.solve(KernelSpace.of_rows(X), pairs, tolerance=1e-6)
        by_sparse = self.solve(KernelSpace.of_rows(csr_array(X)), pairs, tolerance=1e-6)
        assert by_feature.is_converged
        assert np.allclose(X @ by_feature.point, X @ (X.T @ by_row.point), atol=5e-3)
        assert np.allclose(by_row.point, by_sparse.point, atol=1e-4)

    def test_both_back_ends_take_the_same_steps(self) -> None:
        from concordant import kernels
        from concordant.kernels import twins

        X, queries = made(n_queries=3, n_features=11)
        pairs = Pairs.of(queries)
        rng = np.random.default_rng(1)
        cap, order = rng.uniform(0, 0.1, len(pairs)), rng.integers(0, len(pairs), 300)
        rest = (pairs.better, pairs.worse, cap, order, np.zeros(len(pairs)))
        for dtype in (np.float64, np.float32):
            features = X.astype(dtype)
            for ours, twin in zip(
                kernels.pair_descent_linear(features, *rest, np.zeros(11)),
                twins.pair_descent_linear(features, *rest, np.zeros(11)),
                strict=True,
            ):
                assert np.allclose(ours, twin, atol=1e-12)
        gram = X @ X.T
        for ours, twin in zip(
            kernels.pair_descent_gram(gram, *rest, np.zeros(len(X))),
            twins.pair_descent_gram(gram, *rest, np.zeros(len(X))),
            strict=True,
        ):
            assert np.allclose(ours, twin, atol=1e-12)

    def test_equal_rows_of_different_labels_do_no_harm(self, backend: str) -> None:
        X = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
        pairs = Pairs(np.array([0, 0]), np.array([1, 2]), np.ones(2), np.zeros(2, bool))
        for space in (FeatureSpace(X), KernelSpace.of_rows(X)):
            found = self.solve(space, pairs)
            assert found.is_converged
            assert found.value == pytest.approx(0.5 + 0.05 * 0.5 * 0.5)  # w = (1/2, -1/2) separates the second pair

    def test_the_watch_may_end_it(self) -> None:
        X, queries = made()
        found = self.solve(FeatureSpace(X), Pairs.of(queries), alpha=1e-5, watch=lambda iteration, *_: iteration < 2)
        assert found.iterations == 2
        assert found.gap > 0
