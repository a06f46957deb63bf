"""Networks and kernel maps: derivatives, dense and sparse rows, exact and drawn expansions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from concordant.scorers.kernel import Kernel, KernelMap, gamma_of
from concordant.scorers.network import Network


def rows(n_rows: int = 12, n_features: int = 4, seed: int = 0) -> np.ndarray:
    X = np.random.default_rng(seed).normal(size=(n_rows, n_features))
    X[np.abs(X) < 0.3] = 0.0
    return X


@pytest.mark.parametrize("activation", ["tanh", "relu"])
@pytest.mark.parametrize("layers", [1, 2])
class TestANetwork:
    def test_its_gradient_agrees_with_finite_differences(self, layers: int, activation: str) -> None:
        X, rng = rows(), np.random.default_rng(1)
        network = Network(4, 5, layers, activation)
        theta, back = network.start(rng) + 0.1 * rng.normal(size=network.size), rng.normal(size=len(X))
        gradient = network.backward(X, theta, network.forward(X, theta)[1], back)
        for k in range(network.size):
            step = np.zeros(network.size)
            step[k] = 1e-6
            change = (network.scores(X, theta + step) - network.scores(X, theta - step)) @ back / 2e-6
            assert gradient[k] == pytest.approx(change, abs=1e-7)

    def test_sparse_rows_equal_dense_rows(self, layers: int, activation: str) -> None:
        X, network = rows(), Network(4, 5, layers, activation)
        theta, back = network.start(np.random.default_rng(2)), np.arange(len(X), dtype=float)
        (dense, kept), (sparse, kept_sparse) = (network.forward(form, theta) for form in (X, csr_array(X)))
        assert np.allclose(dense, sparse)
        assert np.allclose(
            network.backward(X, theta, kept, back), network.backward(csr_array(X), theta, kept_sparse, back), atol=1e-12
        )

    def test_float32_rows_are_worked_on_as_they_are(self, layers: int, activation: str) -> None:
        X, network = rows().astype(np.float32), Network(4, 5, layers, activation)
        theta = network.start(np.random.default_rng(3))
        scores, kept = network.forward(X, theta)
        gradient = network.backward(X, theta, kept, np.ones(len(X)))
        assert {part.dtype for part in kept} == {np.dtype(np.float32)}
        assert scores.dtype == gradient.dtype == np.float64
        assert np.allclose(scores, network.scores(X.astype(float), theta), atol=1e-5)

    def test_biases_are_not_penalised(self, layers: int, activation: str) -> None:
        network = Network(4, 5, layers, activation)
        penalised = network.penalised()
        start = network.start(np.random.default_rng(4))
        assert len(penalised) == len(start) == network.size
        assert (penalised == 0).sum() == 5 * layers
        assert ((start == 0) == (penalised == 0)).all()


@pytest.mark.parametrize("kernel", ["linear", "rbf", "polynomial"])
class TestAKernelMap:
    def test_inner_products_are_the_kernel_when_all_rows_are_landmarks(self, kernel: str) -> None:
        X = rows(20)
        mapping = KernelMap.fit(X, kernel, gamma=0.2, degree=2)
        mapped = mapping.transform(X)
        assert np.allclose(mapped @ mapped.T, Kernel(kernel, 0.2, 2)(X, X))

    def test_new_rows_meet_the_landmarks_as_the_kernel_says(self, kernel: str) -> None:
        X, new = rows(20), rows(7, seed=5)
        mapping = KernelMap.fit(X, kernel, gamma=0.2)
        assert np.allclose(mapping.transform(new) @ mapping.transform(X).T, Kernel(kernel, 0.2)(new, X))

    def test_drawing_every_row_is_exact(self, kernel: str) -> None:
        X = rows(15)
        exact, drawn = (KernelMap.fit(X, kernel, components=m, rng=np.random.default_rng(6)) for m in (None, 15))
        assert np.array_equal(exact.transform(X), drawn.transform(X))

    def test_drawn_landmarks_are_exact_among_themselves(self, kernel: str) -> None:
        X = rows(30)
        mapping = KernelMap.fit(X, kernel, gamma=0.1, components=8, rng=np.random.default_rng(7))
        mapped = mapping.transform(mapping.landmarks)
        assert mapped.shape[1] <= 8
        assert np.allclose(mapped @ mapped.T, Kernel(kernel, 0.1)(mapping.landmarks, mapping.landmarks))

    def test_sparse_rows_equal_dense_rows(self, kernel: str) -> None:
        X = rows(20)
        dense, sparse = KernelMap.fit(X, kernel), KernelMap.fit(csr_array(X), kernel)
        assert sparse.gamma == pytest.approx(dense.gamma)
        inner = (mapping.transform(form) for mapping, form in ((dense, X), (sparse, csr_array(X))))
        one, other = (mapped @ mapped.T for mapped in inner)
        assert np.allclose(one, other)

    def test_repeated_rows_do_no_harm(self, kernel: str) -> None:
        X = np.repeat(rows(5), 3, axis=0)
        mapped = KernelMap.fit(X, kernel).transform(X)
        assert mapped.shape[1] <= 5
        assert np.isfinite(mapped).all()


def test_kernels_are_the_formulas() -> None:
    X, Z = rows(4), rows(3, seed=8)
    inner = X @ Z.T
    assert np.allclose(Kernel("linear")(X, Z), inner)
    assert np.allclose(Kernel("polynomial", 0.5, 3)(X, Z), (0.5 * inner + 1) ** 3)
    assert np.allclose(Kernel("rbf", 0.7)(X, Z), np.exp(-0.7 * ((X[:, None] - Z) ** 2).sum(-1)))


def test_the_usual_scale_is_that_of_scikit_learn() -> None:
    svm = pytest.importorskip("sklearn.svm")
    X, y = rows(30), np.arange(30) % 2
    assert gamma_of(X) == pytest.approx(svm.SVC(gamma="scale").fit(X, y)._gamma)
    assert gamma_of(np.ones((3, 2))) == 1.0
