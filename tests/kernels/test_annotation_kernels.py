"""Expectation steps of models of annotators: twins, enumeration of all classes, and finite differences."""

from __future__ import annotations

import itertools
from types import ModuleType

import numpy as np
import pytest

from concordant.kernels import twins
from concordant.kernels.bundles import AnswersByItem

compiled = pytest.importorskip("concordant.kernels._compiled", reason="the compiled kernels are not built")
BACK_ENDS = pytest.mark.parametrize("kernels", [compiled, twins], ids=["compiled", "numpy"])


def drawn(seed: int, items: int = 5, agents: int = 4, classes: int = 3, known: bool = False) -> AnswersByItem:
    """Random answers, one item without any; a known class at the first item if asked for."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(0, agents + 1, items)
    sizes[-1] = 0
    ptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    given = np.full(items, -1, np.int64)
    if known:
        given[0] = 1
    agent, answer = (rng.integers(0, n, ptr[-1]) for n in (agents, classes))
    return AnswersByItem(ptr, agent, answer, rng.choice([1.0, 2.0, 0.5], ptr[-1]), given)


def probabilities(rng: np.random.Generator, *shape: int) -> np.ndarray:
    values = rng.random(shape) + 0.05
    return values / values.sum(axis=-1, keepdims=True)


@pytest.mark.parametrize("classes", [1, 2, 3, 4, 5, 7])
@pytest.mark.parametrize("known", [False, True])
def test_both_back_ends_agree(classes: int, known: bool) -> None:
    rng = np.random.default_rng(classes)
    answers = drawn(classes, items=30, agents=6, classes=classes, known=known and classes > 1)
    table = np.log(probabilities(rng, 6, classes, classes)).transpose(0, 2, 1).reshape(6 * classes, classes).copy()
    log_share = np.log(probabilities(rng, classes))
    for name, arguments in (
        ("annotation_posterior", (table, log_share)),
        ("ability_posterior", (rng.normal(size=6), rng.normal(size=30), log_share)),
    ):
        for one, other in zip(
            getattr(compiled, name)(answers, *arguments), getattr(twins, name)(answers, *arguments), strict=True
        ):
            np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)


@BACK_ENDS
@pytest.mark.parametrize("known", [False, True])
def test_posterior_counts_and_likelihood_are_sums_over_all_assignments_of_classes(
    kernels: ModuleType, known: bool
) -> None:
    rng = np.random.default_rng(3)
    answers = drawn(3, known=known)
    confusion, share = probabilities(rng, 4, 3, 3), probabilities(rng, 3)  # agent x class x answer
    total, posterior, counts = 0.0, np.zeros((5, 3)), np.zeros((4, 3, 3))
    for classes in itertools.product(range(3), repeat=5):
        if known and classes[0] != 1:
            continue
        chance = np.prod(share[list(classes)])
        here = np.zeros((4, 3, 3))
        for item, k in enumerate(classes):
            for e in range(answers.ptr[item], answers.ptr[item + 1]):
                chance *= confusion[answers.agent[e], k, answers.answer[e]] ** answers.weight[e]
                here[answers.agent[e], answers.answer[e], k] += answers.weight[e]
        total, counts = total + chance, counts + chance * here
        posterior[range(5), classes] += chance
    table = np.log(confusion).transpose(0, 2, 1).reshape(12, 3).copy()
    found = kernels.annotation_posterior(answers, table, np.log(share))
    np.testing.assert_allclose(found[0], posterior / total, atol=1e-12)
    np.testing.assert_allclose(found[1].reshape(4, 3, 3), counts / total, atol=1e-12)
    assert found[2] == pytest.approx(np.log(total))


@BACK_ENDS
def test_glad_is_a_confusion_matrix_per_item_and_its_gradient_a_difference(kernels: ModuleType) -> None:
    rng = np.random.default_rng(4)
    answers, share = drawn(4, items=8, known=True), probabilities(rng, 3)
    ability, ease = rng.normal(1, 1, 4), rng.normal(0, 1, 8)

    def value(ability: np.ndarray, ease: np.ndarray) -> float:
        total = 0.0
        for item in range(8):
            joint = np.log(share)
            for e in range(answers.ptr[item], answers.ptr[item + 1]):
                right = 1 / (1 + np.exp(-ability[answers.agent[e]] * np.exp(ease[item])))
                row = np.where(np.arange(3) == answers.answer[e], right, (1 - right) / 2)
                joint = joint + answers.weight[e] * np.log(row)
            total += joint[1] if item == 0 else np.logaddexp.reduce(joint)
        return float(total)

    _, by_agent, by_item, log_likelihood = kernels.ability_posterior(answers, ability, ease, np.log(share))
    assert log_likelihood == pytest.approx(value(ability, ease))
    step = 1e-6
    for k in range(4):
        away = step * (np.arange(4) == k)
        assert by_agent[k] == pytest.approx(
            (value(ability + away, ease) - value(ability - away, ease)) / (2 * step), abs=1e-6
        )
    for k in range(8):
        away = step * (np.arange(8) == k)
        assert by_item[k] == pytest.approx(
            (value(ability, ease + away) - value(ability, ease - away)) / (2 * step), abs=1e-6
        )


@BACK_ENDS
def test_extreme_abilities_stay_finite(kernels: ModuleType) -> None:
    answers = drawn(5, items=8)
    for size in (1e3, -1e3):
        found = kernels.ability_posterior(answers, np.full(4, size), np.full(8, 5.0), np.log(np.full(3, 1 / 3)))
        assert all(np.isfinite(one).all() for one in found)
