"""RankSVM: primal, dual and a general quadratic programme agree, linear and with kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="the learn extra is not installed")

from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning

from concordant import load, save
from concordant.errors import InputError, NeedError, ParameterError
from concordant.learn import RankSVM
from concordant.scorers.kernel import Kernel


def graded(
    n_queries: int = 4, n_rows: int = 10, n_features: int = 5, seed: int = 0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows of several queries in mixed order, with three grades that no linear score explains fully."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_queries * n_rows, n_features))
    y = np.digitize(X @ np.arange(n_features) + 2 * rng.normal(size=len(X)), [-1.0, 2.0]).astype(float)
    return X, y, rng.permutation(np.repeat(np.arange(n_queries), n_rows))


def listed(y: np.ndarray, qid: np.ndarray) -> np.ndarray:
    """Return all pairs (better row, worse row) by brute force."""
    return np.column_stack(np.nonzero((y[:, None] > y) & (qid[:, None] == qid)))


def reference(rows: np.ndarray, pairs: np.ndarray, weight: np.ndarray, C: float) -> tuple[float, np.ndarray]:
    """Solve min |w|^2/2 + C sum weight slack / sum weight, slack >= 1 - w'(x_i - x_j), as a quadratic programme.

    Returns the objective divided by C, and the scores of the rows.
    """
    import highspy

    difference = rows[pairs[:, 0]] - rows[pairs[:, 1]]
    n_pairs, size = difference.shape
    infinity = highspy.kHighsInf
    model = highspy.HighsModel()
    programme = model.lp_
    programme.num_col_, programme.num_row_ = size + n_pairs, n_pairs
    programme.col_cost_ = np.r_[np.zeros(size), C * weight / weight.sum()]
    programme.col_lower_ = np.r_[np.full(size, -infinity), np.zeros(n_pairs)]
    programme.col_upper_ = np.full(size + n_pairs, infinity)
    programme.row_lower_, programme.row_upper_ = np.ones(n_pairs), np.full(n_pairs, infinity)
    matrix = csr_array(np.hstack([difference, np.eye(n_pairs)])).tocsc()
    programme.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    programme.a_matrix_.start_, programme.a_matrix_.index_ = matrix.indptr, matrix.indices
    programme.a_matrix_.value_ = matrix.data
    model.hessian_.dim_ = size + n_pairs
    model.hessian_.format_ = highspy.HessianFormat.kTriangular
    model.hessian_.start_ = np.r_[np.arange(size + 1), np.full(n_pairs, size)]
    model.hessian_.index_, model.hessian_.value_ = np.arange(size), np.ones(size)
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    solver.passModel(model)
    solver.run()
    assert solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
    found = np.array(solver.getSolution().col_value)
    return solver.getInfo().objective_function_value / C, rows @ found[:size]


def rooted(gram: np.ndarray) -> np.ndarray:
    """Return rows whose inner products are given."""
    value, vector = np.linalg.eigh(gram)
    return vector * np.sqrt(np.maximum(value, 0))


@pytest.mark.parametrize("C", [1.0, 30.0])
@pytest.mark.parametrize("solver", ["bundle", "dual"])
class TestPrimalDualAndAQuadraticProgrammeAgree:
    def agree(self, model: RankSVM, X: np.ndarray, objective: float, scores: np.ndarray) -> None:
        assert model.history_["loss"][-1] == pytest.approx(objective, rel=1e-6)
        found = model.predict(X)
        centred = (found - found.mean(), scores - scores.mean())
        assert np.allclose(*centred, atol=1e-4 * np.ptp(scores) + 1e-5)
        assert 0 <= model.dual_gap_ <= 1e-9 * objective

    def test_on_graded_labels(self, solver: str, C: float) -> None:
        X, y, qid = graded()
        pairs = listed(y, qid)
        model = RankSVM(standardise=False, C=C, solver=solver, tol=1e-10, max_iter=20000).fit(X, y, qid=qid)
        self.agree(model, X, *reference(X, pairs, np.ones(len(pairs)), C))

    def test_on_weighted_queries(self, solver: str, C: float) -> None:
        X, y, qid = graded(seed=1)
        pairs, weight = listed(y, qid), 1.0 + qid % 3
        model = RankSVM(standardise=False, C=C, solver=solver, tol=1e-10, max_iter=20000).fit(
            X, y, qid=qid, sample_weight=weight
        )
        self.agree(model, X, *reference(X, pairs, weight[pairs[:, 0]], C))

    def test_on_queries_that_count_equally(self, solver: str, C: float) -> None:
        X, y, qid = graded(seed=16)
        pairs = listed(y, qid)
        weight = 1 / np.bincount(qid[pairs[:, 0]])[qid[pairs[:, 0]]]
        model = RankSVM(standardise=False, C=C, solver=solver, weighting="queries", tol=1e-10, max_iter=20000).fit(
            X, y, qid=qid
        )
        self.agree(model, X, *reference(X, pairs, weight, C))

    def test_on_explicit_pairs(self, solver: str, C: float) -> None:
        X, y, qid = graded(seed=2)
        rng = np.random.default_rng(3)
        pairs = rng.permutation(listed(y, qid))[:40]
        weight = rng.uniform(0.5, 2, 40)
        model = RankSVM(standardise=False, C=C, solver=solver, tol=1e-10, max_iter=20000).fit(
            X, pairs=pairs, sample_weight=weight
        )
        self.agree(model, X, *reference(X, pairs, weight, C))

    @pytest.mark.parametrize("kernel", ["rbf", "polynomial", "linear"])
    def test_with_a_kernel(self, kernel: str, solver: str, C: float) -> None:
        X, y, qid = graded(seed=4)
        pairs = listed(y, qid)
        settings = {"kernel": kernel, "gamma": 0.3, "degree": 2, "tol": 1e-10, "max_iter": 20000}
        model = RankSVM(standardise=False, C=C, solver=solver, **settings).fit(X, y, qid=qid)
        rows = rooted(Kernel(kernel, 0.3, 2)(X, X))
        self.agree(model, X, *reference(rows, pairs, np.ones(len(pairs)), C))


@pytest.mark.parametrize("kernel", ["rbf", "polynomial"])
@pytest.mark.parametrize("loss", ["hinge", "squared-hinge"])
def test_drawing_all_rows_equals_the_exact_kernel(kernel: str, loss: str) -> None:
    X, y, qid = graded(seed=5)
    settings: Any = {"kernel": kernel, "loss": loss, "tol": 1e-9, "max_iter": 20000}
    exact = RankSVM(**settings).fit(X, y, qid=qid)
    drawn = RankSVM(**settings, components=len(y)).fit(X, y, qid=qid)
    new = graded(seed=6)[0]
    one, other = exact.predict(new), drawn.predict(new)
    assert np.allclose(one - one.mean(), other - other.mean(), atol=1e-3 * np.ptp(one))


@pytest.mark.parametrize("solver", ["newton", "lbfgs", "bundle"])
def test_every_solver_of_the_squared_hinge_finds_the_same_minimum(solver: str) -> None:
    X, y, qid = graded(seed=7)
    pairs = listed(y, qid)
    model = RankSVM(standardise=False, loss="squared-hinge", solver=solver, tol=1e-9).fit(X, y, qid=qid)
    excess = np.maximum(1 - (X[pairs[:, 0]] - X[pairs[:, 1]]) @ model.coef_, 0)
    slope = model.coef_ / 10 - 2 * (excess[:, None] * (X[pairs[:, 0]] - X[pairs[:, 1]])).mean(0)
    assert np.abs(slope).max() < 1e-3
    assert model.dual_gap_ < 1e-5
    newton = RankSVM(standardise=False, loss="squared-hinge", tol=1e-9).fit(X, y, qid=qid)
    assert np.allclose(model.coef_, newton.coef_, atol=1e-3)


@pytest.mark.parametrize("loss", ["hinge", "squared-hinge"])
def test_the_gap_is_what_it_says(loss: str) -> None:
    X, y, qid = graded(seed=8)
    best = RankSVM(loss=loss, tol=1e-10, max_iter=20000).fit(X, y, qid=qid).history_["loss"][-1]
    rough = RankSVM(loss=loss, tol=1e-2).fit(X, y, qid=qid)
    assert best - 1e-9 <= rough.history_["loss"][-1] <= best + rough.dual_gap_ + 1e-9


def test_more_pairs_of_the_same_kind_leave_the_model_as_it_is() -> None:
    X, y, qid = graded(seed=9)
    once = RankSVM(tol=1e-9).fit(X, y, qid=qid)
    twice = RankSVM(tol=1e-9).fit(np.vstack([X, X]), np.r_[y, y], qid=np.r_[qid, qid + 100])
    assert np.allclose(once.coef_, twice.coef_, atol=1e-3)


def test_a_kernel_model_keeps_only_the_rows_it_needs_and_survives_saving(tmp_path: Any) -> None:
    X, y, qid = graded(n_queries=10, seed=10)
    model = RankSVM(standardise=False, kernel="rbf", C=1.0).fit(X, y, qid=qid)
    assert len(model.support_) == len(model.coef_) == len(model.kernel_map_.landmarks) <= len(y)
    assert np.array_equal(model.kernel_map_.landmarks, X[model.support_])
    save(model, tmp_path / "model.zip")
    assert np.array_equal(load(tmp_path / "model.zip").predict(X), model.predict(X))


@pytest.mark.parametrize("solver", ["bundle", "dual"])
@pytest.mark.parametrize("kernel", [None, "rbf"])
def test_sparse_rows_equal_dense_rows(solver: str, kernel: str | None) -> None:
    X, y, qid = graded(seed=11)
    X[np.abs(X) < 0.5] = 0
    settings: Any = {"solver": solver, "kernel": kernel, "tol": 1e-8, "max_iter": 20000}
    dense = RankSVM(**settings).fit(X, y, qid=qid).predict(X)
    sparse = RankSVM(**settings).fit(csr_array(X), y, qid=qid).predict(csr_array(X))
    assert np.allclose(dense, sparse, atol=1e-2 * np.ptp(dense))


@pytest.mark.parametrize("solver", ["bundle", "dual"])
@pytest.mark.parametrize("kernel", [None, "rbf"])
def test_the_best_iteration_on_a_validation_set_is_kept(solver: str, kernel: str | None) -> None:
    X, y, qid = graded(n_queries=8, seed=12)
    valid = graded(n_queries=20, seed=13)
    model = RankSVM(solver=solver, kernel=kernel, C=1e4, tol=1e-9, patience=3).fit(X, y, qid=qid, valid=valid)
    assert model.score(valid[0], valid[1], qid=valid[2]) == pytest.approx(max(model.history_["valid"]))
    assert len(model.history_["valid"]) == model.n_iter_


@pytest.mark.parametrize("backend_solver", ["bundle", "dual", "newton"])
def test_both_back_ends_find_the_same_model(backend: str, backend_solver: str) -> None:
    X, y, qid = graded(n_queries=2, seed=14)
    loss = "squared-hinge" if backend_solver == "newton" else "hinge"
    model = RankSVM(solver=backend_solver, loss=loss, tol=1e-7).fit(X, y, qid=qid)
    assert model.dual_gap_ <= 1e-6
    order = np.argsort(model.predict(X))
    assert y[order[-5:]].mean() > y[order[:5]].mean()


def test_too_few_iterations_are_told() -> None:
    X, y, qid = graded(seed=15)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        RankSVM(max_iter=1, tol=1e-9).fit(X, y, qid=qid)


class TestWhatCannotBeDoneIsRefused:
    @pytest.mark.parametrize("C", [0.0, np.inf])
    def test_a_weight_of_nothing_or_everything(self, C: float) -> None:
        X, y, qid = graded()
        with pytest.raises(ParameterError, match="C="):
            RankSVM(C=C).fit(X, y, qid=qid)

    def test_the_dual_of_another_loss_or_model(self) -> None:
        X, y, qid = graded()
        for settings in ({"loss": "squared-hinge"}, {"hidden": 3}):
            with pytest.raises(NeedError, match="dual"):
                RankSVM(solver="dual", **settings).fit(X, y, qid=qid)  # type: ignore[arg-type]

    def test_a_bundle_for_a_network(self) -> None:
        X, y, qid = graded()
        with pytest.raises(NeedError, match="bundle"):
            RankSVM(solver="bundle", hidden=3).fit(X, y, qid=qid)

    @pytest.mark.parametrize("solver", ["bundle", "dual"])
    def test_ties(self, solver: str) -> None:
        X, _, _ = graded()
        with pytest.raises(NeedError, match="tie"):
            RankSVM(solver=solver).fit(X, pairs=[[0, 1], [1, 2]], tied=[False, True])

    def test_more_pairs_than_can_be_listed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from concordant.learn import rank_svm

        monkeypatch.setattr(rank_svm, "MAX_PAIRS", 10)
        X, y, qid = graded()
        with pytest.raises(InputError, match="bundle"):
            RankSVM(solver="dual").fit(X, y, qid=qid)
        by_itself = RankSVM(kernel="rbf", tol=1e-7).fit(X, y, qid=qid)
        by_name = RankSVM(kernel="rbf", tol=1e-7, solver="bundle").fit(X, y, qid=qid)
        assert np.array_equal(by_itself.predict(X), by_name.predict(X))

    def test_a_kernel_over_too_many_rows(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from concordant.scorers import kernel

        monkeypatch.setattr(kernel, "MAX_LANDMARKS", 10)
        X, y, qid = graded()
        with pytest.raises(InputError, match="components"):
            RankSVM(kernel="rbf").fit(X, y, qid=qid)
