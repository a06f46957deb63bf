"""ULARA: agents weighted by their agreement with the mean rank."""

from __future__ import annotations

import numpy as np
import pytest

from concordant.aggregate.fusion.ulara import Ulara, _on_simplex
from concordant.preferences import Preferences

Lists = dict[tuple[str, str], dict[str, float]]


def some_lists(seed: int) -> Lists:
    """Partial lists of four agents in five queries of six documents; every document is on some list."""
    rng = np.random.default_rng(seed)
    lists: Lists = {}
    for q in range(5):
        for k in range(4):
            chosen = rng.permutation(6)[: 6 if k == 0 else rng.integers(1, 7)]
            lists[f"q{q}", f"a{k}"] = {f"d{item}": place + 1.0 for place, item in enumerate(chosen.tolist())}
    return lists


def preferences(lists: Lists) -> Preferences:
    rows = [(agent, item, rank, query) for (query, agent), ranks in lists.items() for item, rank in ranks.items()]
    agent, item, rank, instance = (list(column) for column in zip(*rows, strict=True))
    return Preferences.from_ranks(agent, item, rank, instance=instance)


def delta_by_loops(lists: Lists, support: int) -> dict[str, float]:
    """The disagreement of every agent, item by item."""
    total, count = dict.fromkeys(("a0", "a1", "a2", "a3"), 0.0), dict.fromkeys(("a0", "a1", "a2", "a3"), 0)
    for query in sorted({query for query, _ in lists}):
        for number in range(6):
            item = f"d{number}"
            ranks = [of_agent[item] for (q, _), of_agent in lists.items() if q == query and item in of_agent]
            if len(ranks) < support:
                continue
            mean = sum(ranks) / len(ranks)
            for agent in total:
                of_agent = lists[query, agent]
                rank = of_agent.get(item, len(of_agent) + 1.0)
                total[agent] += ((rank - mean) / 6) ** 2
                count[agent] += 1
    return {agent: total[agent] / count[agent] for agent in total}


@pytest.mark.parametrize("support", [1, 2, 3])
@pytest.mark.parametrize("rate", [0.5, 2.0])
def test_weights_and_scores_follow_a_plain_loop(backend: str, support: int, rate: float) -> None:
    lists = some_lists(0)
    ranking = Ulara(rate=rate, support=support).rank(preferences(lists))
    delta = delta_by_loops(lists, support)
    mean = sum(delta.values()) / 4
    odds = {agent: np.exp(-rate * of_agent / mean) for agent, of_agent in delta.items()}
    weight = {agent: one / sum(odds.values()) for agent, one in odds.items()}
    assert ranking.agents == pytest.approx(weight)
    for query in ("q0", "q3"):
        for item, score in zip(ranking[query].items, ranking[query].scores, strict=True):
            ranks = {agent: lists[query, agent].get(item, len(lists[query, agent]) + 1.0) for agent in weight}
            assert score == pytest.approx(7 - sum(weight[agent] * ranks[agent] for agent in weight))


def test_updates_item_by_item_in_any_order_add_up_to_the_one_step() -> None:
    rng = np.random.default_rng(1)
    gradient = rng.random((30, 4))  # of every item
    for order in (np.arange(30), rng.permutation(30)):
        weight = np.full(4, 0.25)
        for delta in gradient[order]:
            weight = weight * np.exp(-0.1 * delta)
            weight /= weight.sum()
        at_once = np.exp(-0.1 * gradient.sum(axis=0))
        assert weight == pytest.approx(at_once / at_once.sum())


def test_the_additive_step_is_projected_onto_the_simplex() -> None:
    for step in np.random.default_rng(2).normal(size=(20, 5)) * 3:
        weight = _on_simplex(step, np.ones(5))
        assert weight.sum() == pytest.approx(1.0)
        assert (weight >= 0).all()
        point = (1 + step) / 5
        others = np.random.default_rng(3).dirichlet(np.ones(5), 500)
        assert ((others - point) ** 2).sum(axis=1).min() >= ((weight - point) ** 2).sum() - 1e-12


@pytest.mark.parametrize("update", ["exponentiated", "additive"])
def test_noisy_agents_lose_weight(update: str) -> None:
    rng = np.random.default_rng(4)
    noise = np.array([0.3, 0.3, 0.3, 5.0])
    lists: Lists = {}
    for q in range(30):
        truth = rng.normal(size=6)
        for k in range(4):
            order = np.argsort(-(truth + noise[k] * rng.normal(size=6)))
            lists[f"q{q}", f"a{k}"] = {f"d{item}": place + 1.0 for place, item in enumerate(order.tolist())}
    weight = Ulara(update=update).rank(preferences(lists)).agents
    assert weight is not None
    assert sum(weight.values()) == pytest.approx(1.0)
    assert weight["a3"] < 0.6 * min(weight["a0"], weight["a1"], weight["a2"])


def test_rate_zero_gives_equal_weights_and_lists_that_agree_are_said_to_tell_nothing() -> None:
    assert Ulara(rate=0.0).rank(preferences(some_lists(5))).agents == pytest.approx(
        dict.fromkeys(("a0", "a1", "a2", "a3"), 0.25)
    )
    same = Preferences.from_rankings([["a", "b"], ["a", "b"]], agent=["x", "y"])
    assert [notice.name for notice in Ulara().rank(same).notices] == ["unweighted"]
