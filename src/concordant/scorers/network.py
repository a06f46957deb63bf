"""A small multilayer network: one or two hidden layers of equal width.

    f(x) = v' g(W2' g(W1' x + b1) + b2)        (one layer: v' g(W1' x + b1)),   g = tanh or relu

The output has no bias, because adding a constant to all scores changes no ranking. The parameters are stored in a flat
float64 vector (W1, b1, W2, b2, v); products use the dtype of X, for dense or sparse rows. A pass over n rows costs 2 n
F h + 2 n h^2 multiplications forward and about twice that back, and keeps n h activations, so the objective works in
blocks. The loss is not convex in the parameters: a different seed may reach a different local minimum.

Reference: D. Rumelhart, G. Hinton, R. Williams, Learning representations by back-propagating errors, Nature 1986.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from concordant.scorers.base import Matrix, Scorer
from concordant.types import AnyArray, Floats


class Network(Scorer):
    """Score rows by a network with ``layers`` hidden layers of ``hidden`` units each."""

    is_linear: ClassVar[bool] = False

    def __init__(self, n_features: int, hidden: int, layers: int = 1, activation: str = "tanh") -> None:
        self.widths = [n_features, *[hidden] * layers]
        self.activation = activation
        super().__init__(sum((below + 1) * above for below, above in self._steps()) + hidden)

    def _steps(self) -> list[tuple[int, int]]:
        """Return the widths (below, above) of every layer of weights."""
        return list(zip(self.widths[:-1], self.widths[1:], strict=True))

    def start(self, rng: np.random.Generator) -> Floats:
        """Draw weights uniformly with Glorot's bound sqrt(6 / (below + above)); biases are 0."""
        parts = []
        for below, above in self._steps():
            bound = np.sqrt(6 / (below + above))
            parts += [rng.uniform(-bound, bound, below * above), np.zeros(above)]
        width = self.widths[-1]
        bound = np.sqrt(6 / (width + 1))
        return np.concatenate([*parts, rng.uniform(-bound, bound, width)])

    def penalised(self) -> Floats:
        """Return 1 for weights, 0 for biases."""
        parts = [np.repeat([1.0, 0.0], [below * above, above]) for below, above in self._steps()]
        return np.concatenate([*parts, np.ones(self.widths[-1])])

    def scores(self, X: Matrix, theta: Floats) -> Floats:
        """Return the score of every row."""
        return self.forward(X, theta)[0]

    def forward(self, X: Matrix, theta: Floats) -> tuple[Floats, list[AnyArray]]:
        """Return the scores and the activations of every hidden layer."""
        layers, out = self._taken_apart(theta.astype(X.dtype, copy=False))
        activations: list[AnyArray] = []
        for weight, bias in layers:
            value = np.asarray((activations[-1] if activations else X) @ weight)
            value += bias
            activations.append(
                np.tanh(value, out=value) if self.activation == "tanh" else np.maximum(value, 0, out=value)
            )
        return (activations[-1] @ out).astype(np.float64, copy=False), activations

    def backward(self, X: Matrix, theta: Floats, kept: list[AnyArray], gradient: Floats) -> Floats:
        """Return the gradient with respect to all weights and biases by back-propagation."""
        layers, out = self._taken_apart(theta.astype(X.dtype, copy=False))
        score_gradient = gradient.astype(X.dtype, copy=False)
        parts: list[AnyArray] = [kept[-1].T @ score_gradient]
        layer_gradient = np.outer(score_gradient, out)
        for depth in range(len(layers) - 1, -1, -1):
            active = kept[depth]
            layer_gradient *= 1 - active * active if self.activation == "tanh" else active > 0
            below = kept[depth - 1] if depth else X
            parts += [layer_gradient.sum(axis=0), np.asarray(below.T @ layer_gradient).reshape(-1)]
            if depth:
                layer_gradient = layer_gradient @ layers[depth][0].T
        return np.concatenate(parts[::-1]).astype(np.float64, copy=False)

    def in_raw_units(self, theta: Floats, mean: Floats, deviation: Floats) -> Floats:
        """Divide the first layer's weights by the deviations, and move the means into its biases."""
        below, above = self._steps()[0]
        theta = theta.copy()
        weight = theta[: below * above].reshape(below, above)
        weight /= deviation[:, None]
        theta[below * above : (below + 1) * above] -= mean @ weight
        return theta

    def _taken_apart(self, theta: AnyArray) -> tuple[list[tuple[AnyArray, AnyArray]], AnyArray]:
        """Return (weights, biases) of every hidden layer, and the output weights, as views of the flat parameters."""
        layers, offset = [], 0
        for below, above in self._steps():
            end = offset + below * above
            layers.append((theta[offset:end].reshape(below, above), theta[end : end + above]))
            offset = end + above
        return layers, theta[offset:]
