"""From a preference matrix to an order."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from concordant import metrics
from concordant.solvers.ordering.greedy import component_orders, greedy_orders


def lecture_example() -> np.ndarray:
    """The four nodes a, b, c, d of the lecture's preference graph."""
    f = np.zeros((4, 4))
    a, b, c, d = range(4)
    f[a, b], f[a, c], f[a, d], f[b, c], f[b, d], f[c, d] = 0, 1 / 4, 1 / 8, 1, 1, 1 / 8
    return np.where(np.tri(4, k=-1, dtype=bool), 1 - f.T, f)


def random_preferences(rng: np.random.Generator, n: int) -> np.ndarray:
    f = rng.random((n, n))
    return np.where(np.tri(n, dtype=bool), 1 - f.T, f)


def greedy_order(f: np.ndarray) -> np.ndarray:
    return greedy_orders(np.array([0, len(f)]), f.reshape(-1))


def component_order(f: np.ndarray) -> np.ndarray:
    return component_orders(np.array([0, len(f)]), f.reshape(-1))


def agree(f: np.ndarray, order: np.ndarray) -> float:
    ranks = np.empty(len(order))
    ranks[order] = np.arange(len(order))
    return metrics.agree(f, ranks)


@pytest.mark.parametrize("ordered", [greedy_order, component_order])
def test_the_example_of_the_lecture_gives_b_d_c_a(backend: str, ordered: object) -> None:
    f = lecture_example()
    order = ordered(f)  # type: ignore[operator]
    assert ["abcd"[k] for k in order] == ["b", "d", "c", "a"]
    assert agree(f, order) == 5.5


@pytest.mark.parametrize("ordered", [greedy_order, component_order])
def test_a_transitive_preference_is_kept(backend: str, ordered: object) -> None:
    rng = np.random.default_rng(0)
    for n in (1, 2, 5, 20):
        score = rng.normal(size=n)
        f = 1 / (1 + np.exp(score[None, :] - score[:, None]))
        assert ordered(f).tolist() == np.argsort(-score).tolist()  # type: ignore[operator]


def test_both_orders_keep_at_least_half_of_what_is_possible(backend: str) -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        f = random_preferences(rng, 6)
        best = max(agree(f, np.array(order)) for order in permutations(range(6)))
        assert agree(f, greedy_order(f)) >= best / 2
        assert agree(f, component_order(f)) >= best / 2


def test_components_are_never_mixed_where_greed_would_mix_them(backend: str) -> None:
    # a barely beats everyone, b beats c to e soundly: b has the larger net preference, but a is ahead of all.
    f = np.full((5, 5), 0.5)
    f[0, 1:] = 0.51
    f[1, 2:] = 1.0
    f = np.where(np.tri(5, k=-1, dtype=bool), 1 - f.T, f)
    assert greedy_order(f)[0] == 1
    assert component_order(f)[:2].tolist() == [0, 1]


def test_equal_items_stay_in_input_order(backend: str) -> None:
    assert greedy_order(np.full((4, 4), 0.5)).tolist() == [0, 1, 2, 3]
    assert component_order(np.full((4, 4), 0.5)).tolist() == [0, 1, 2, 3]


def test_many_matrices_at_once_equal_each_alone(backend: str) -> None:
    rng = np.random.default_rng(2)
    matrices = [random_preferences(rng, n) for n in (3, 1, 7, 12, 2)]
    ptr = np.concatenate([[0], np.cumsum([len(f) for f in matrices])])
    flat = np.concatenate([f.reshape(-1) for f in matrices])
    assert greedy_orders(ptr, flat).tolist() == [int(k) for f in matrices for k in greedy_order(f)]
    assert component_orders(ptr, flat).tolist() == [int(k) for f in matrices for k in component_order(f)]
