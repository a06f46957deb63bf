"""Probabilistic matrix factorisation: ratings as products of a user's and an item's hidden factors.

r(u, i) = mean + b_u + c_i + p_u · q_i + noise, with Gaussian noise and Gaussian priors on the biases b, c and the
factors p, q. The most likely values minimise the squared error plus ``ridge`` times the squares of the factors and
``bias_ridge`` times those of the biases. With the items fixed this is a small least-squares problem for every user,
and the other way round, so the two sides are solved in turn (alternating least squares): every step is exact, there
is no learning rate, and all problems of one side are solved together.

Cost: per sweep O(ratings · factors² + (users + items) · factors³). Reference: R. Salakhutdinov and A. Mnih,
Probabilistic matrix factorization, NIPS 2008.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from concordant.errors import InputError
from concordant.gather import as_numbers
from concordant.params import check_params, param
from concordant.types import Floats, Int32s
from concordant.vocabulary import Vocabulary, encode


@dataclass(frozen=True, kw_only=True)
class PMF:
    """Settings of a matrix factorisation; ``fit`` returns the fitted model."""

    factors: int = param(10, "number of hidden factors", low=1)
    ridge: float = param(12.0, "strength of the prior on the factors", low=0.0)
    bias_ridge: float = param(4.0, "strength of the prior on the biases", low=0.0)
    sweeps: int = param(30, "how often both sides are solved", low=1)
    seed: int | None = param(0, "seed of the random start")

    def __post_init__(self) -> None:
        check_params(self)

    def fit(self, user: object, item: object, rating: object) -> FittedPMF:
        """Fit users, items and ratings, one row per rating."""
        users, user_labels = encode(user, "agent")
        items, item_labels = encode(item, "item")
        values = as_numbers(rating, len(items), "rating")
        if len(users) != len(items):
            raise InputError(f"There are {len(users)} users for {len(items)} items: give one of each per rating.")
        if not len(values):
            raise InputError("There are no ratings to fit: give at least one.")
        rng = np.random.default_rng(self.seed)
        mean = float(values.mean())
        of_user = np.zeros((len(user_labels), self.factors + 1))
        of_item = np.zeros((len(item_labels), self.factors + 1))  # the last column is the bias
        of_item[:, :-1] = rng.normal(0.0, 0.1, (len(item_labels), self.factors))
        for _ in range(self.sweeps):
            of_user = self._solve(users, items, values - mean - of_item[items, -1], of_item, len(user_labels))
            of_item = self._solve(items, users, values - mean - of_user[users, -1], of_user, len(item_labels))
        return FittedPMF(self, user_labels, item_labels, mean, of_user, of_item)

    def _solve(self, row: Int32s, column: Int32s, rest: Floats, other: Floats, n: int) -> Floats:
        """Solve the least-squares problem of every row, the other side fixed."""
        from scipy.sparse import csr_array

        size = self.factors + 1
        known = np.column_stack([other[:, :-1], np.ones(len(other))])  # a constant beside the factors finds the bias
        rated = csr_array((np.ones(len(row)), (row, column)), shape=(n, len(other)))
        squares = (known[:, :, None] * known[:, None, :]).reshape(len(other), size * size)
        left = (rated @ squares).reshape(n, size, size)
        left += np.diag(np.append(np.full(self.factors, self.ridge), self.bias_ridge)) + 1e-12 * np.eye(size)
        right = csr_array((rest, (row, column)), shape=(n, len(other))) @ known
        return np.asarray(np.linalg.solve(left, right[:, :, None])[:, :, 0])


@dataclass(frozen=True, eq=False)
class FittedPMF:
    """A fitted factorisation: predicts what a user would rate an item."""

    settings: PMF
    users: Vocabulary
    items: Vocabulary
    mean: float
    of_user: Floats
    of_item: Floats

    def predict(self, user: object, item: object) -> Floats:
        """Return the expected rating of each row; a user or item never seen counts as average."""
        u, i = self._codes(self.users, user), self._codes(self.items, item)
        known = (u >= 0) & (i >= 0)
        product = np.einsum("kf,kf->k", self.of_user[u, :-1], self.of_item[i, :-1]) * known
        return np.asarray(self.mean + product + self.of_user[u, -1] * (u >= 0) + self.of_item[i, -1] * (i >= 0))

    def complete(self) -> Floats:
        """Return the expected rating of every item by every user, users x items in the order of the vocabularies."""
        product = self.of_user[:, :-1] @ self.of_item[:, :-1].T
        return np.asarray(self.mean + self.of_user[:, -1:] + self.of_item[:, -1] + product)

    def score(self, user: object, item: object, rating: object) -> float:
        """Return the root mean squared error on these ratings."""
        predicted = self.predict(user, item)
        error = predicted - as_numbers(rating, len(predicted), "rating")
        return float(np.sqrt((error**2).mean()))

    @staticmethod
    def _codes(vocabulary: Vocabulary, column: object) -> Any:
        codes, labels = encode(column)
        return vocabulary.codes(labels)[codes]
