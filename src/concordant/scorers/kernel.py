"""Kernel feature maps, which turn every linear model into a kernel model.

With landmark rows Z and the kernel k, the map is

    phi(x) = k(x, Z) U L^(-1/2),        k(Z, Z) = U L U'   (eigenvalues at rounding level are dropped).

Then phi(x)'phi(z) = k(x, z) for landmarks, every function v'phi(x) is an expansion over the landmarks, and |v|^2 is its
squared norm in the reproducing kernel Hilbert space: a ridge penalty on v is the penalty of the kernel machine, so all
losses and solvers of linear models can be used. With all rows as landmarks the model is exact (the minimum lies in
their span, by the representer theorem): O(n^3) time and O(n^2) memory. With m rows drawn at random it is the Nystroem
approximation: O(m^3 + n m F) time.

    linear k = x'z,   rbf k = exp(-gamma |x - z|^2),   polynomial k = (gamma x'z + 1)^degree

Reference: C. Williams, M. Seeger, Using the Nystroem method to speed up kernel machines, NIPS 2001.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from concordant.errors import InputError, arg
from concordant.scorers.base import Matrix
from concordant.support.brief import Brief
from concordant.support.state import Kind, Text, floats, maybe, whole
from concordant.types import AnyArray, Floats

BLOCK_ROWS = 4096
MAX_LANDMARKS = 20_000  # 3 GB of inner products


@dataclass(frozen=True)
class Kernel:
    """A kernel with its settings: k(x, z) for all rows of two matrices, in float64."""

    name: str = "rbf"
    gamma: float = 1.0
    degree: int = 3

    def __call__(self, X: Matrix, Z: AnyArray) -> Floats:
        """Return k(x, z) for every row x of X and z of Z."""
        inner = np.asarray(X @ Z.T.astype(X.dtype, copy=False)).astype(np.float64, copy=False)
        if self.name == "linear":
            return inner
        if self.name == "polynomial":
            inner *= self.gamma
            inner += 1
            return inner**self.degree
        distance = inner
        distance *= -2
        distance += _squares(X)[:, None]
        distance += _squares(Z)
        np.maximum(distance, 0, out=distance)
        distance *= -self.gamma
        return np.exp(distance, out=distance)


@dataclass(frozen=True, eq=False, repr=False)
class KernelMap(Brief):
    """A fitted feature map: arrays and settings only. Without ``projection`` it returns k(x, Z)."""

    learns: ClassVar[Mapping[str, Kind]] = {
        "kernel": Text(choices=("linear", "rbf", "polynomial")),
        "gamma": floats(low=0),
        "degree": whole(low=1),
        "landmarks": floats("landmarks", "features", single=True),
        "projection": maybe(floats("landmarks", "columns", single=True)),
    }

    kernel: str
    gamma: float
    degree: int
    landmarks: AnyArray
    projection: Floats | None = None

    @classmethod
    def fit(
        cls,
        X: Matrix,
        kernel: str,
        *,
        gamma: float | None = None,
        degree: int = 3,
        components: int | None = None,
        rng: np.random.Generator | None = None,
    ) -> KernelMap:
        """Use all rows of X as landmarks, or ``components`` rows drawn at random, and compute the projection."""
        gamma = gamma_of(X) if gamma is None else gamma
        if components is not None and components < X.shape[0]:
            rng = rng or np.random.default_rng(0)
            X = X[np.sort(rng.choice(X.shape[0], components, replace=False))]
        plain = cls.expansion(X, kernel, gamma=gamma, degree=degree)
        return replace(plain, projection=inverse_root(plain.transform(plain.landmarks)))

    @classmethod
    def expansion(cls, X: Matrix, kernel: str, *, gamma: float | None = None, degree: int = 3) -> KernelMap:
        """Use all rows as landmarks, without a projection: a linear model then weights k(x, z) directly."""
        if X.shape[0] > MAX_LANDMARKS:
            raise InputError(
                f"A kernel over {X.shape[0]:,} rows needs all their inner products, which take too much memory: "
                "give " + arg("components", 1000) + " (for example) to use a random sample of rows as landmarks."
            )
        landmarks = X.copy() if isinstance(X, np.ndarray) else np.asarray(X.toarray())
        return cls(kernel, gamma_of(X) if gamma is None else gamma, degree, landmarks)

    @property
    def n_columns(self) -> int:
        """The number of columns of the map."""
        return len(self.landmarks) if self.projection is None else self.projection.shape[1]

    def transform(self, X: Matrix) -> AnyArray:
        """Return phi(x) of every row, in the type of X."""
        kernel = Kernel(self.kernel, self.gamma, self.degree)
        mapped = np.empty((X.shape[0], self.n_columns), X.dtype)
        for low in range(0, X.shape[0], BLOCK_ROWS):
            rows = slice(low, low + BLOCK_ROWS)
            with np.errstate(over="ignore", invalid="ignore"):
                value = kernel(X[rows], self.landmarks)
                mapped[rows] = value if self.projection is None else value @ self.projection
                is_finite = np.isfinite(mapped[rows].sum(dtype=np.float64))
            if not is_finite:
                raise InputError(
                    f"The {self.kernel} kernel of some rows is not finite: "
                    "standardise the features, or lower gamma or degree."
                )
        return mapped


def inverse_root(gram: AnyArray) -> Floats:
    """Return U L^(-1/2) of a Gram matrix U L U', dropping eigenvalues at rounding level."""
    value, vector = np.linalg.eigh(gram.astype(np.float64, copy=False))
    kept = value > max(float(value[-1]), 0.0) * len(value) * np.finfo(gram.dtype).eps
    return np.ascontiguousarray(vector[:, kept] / np.sqrt(value[kept]))


def gamma_of(X: Matrix) -> float:
    """Return the default scale of a kernel: 1 / (number of features times variance of all entries)."""
    entries = float(X.shape[0] * X.shape[1])
    if isinstance(X, np.ndarray):
        mean = X.mean(axis=0, dtype=np.float64).mean()
        blocks = (X[low : low + BLOCK_ROWS] - mean for low in range(0, X.shape[0], BLOCK_ROWS))
        variance = sum(float(np.vdot(block, block)) for block in blocks) / entries
    else:
        data = X.data.astype(np.float64)
        variance = float(data @ data) / entries - (float(data.sum()) / entries) ** 2
    return 1 / (X.shape[1] * variance) if variance > 0 else 1.0


def _squares(X: Matrix) -> Floats:
    """Return the squared norm of every row."""
    if isinstance(X, np.ndarray):
        return np.asarray(np.einsum("ij,ij->i", X, X, dtype=np.float64), np.float64)
    return np.asarray(X.multiply(X).sum(axis=1), np.float64).reshape(-1)
