"""Cranking: orders around several lists, each agent with its own dispersion."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

import concordant as cc
from concordant.aggregate.permutation._agent_dispersions import Marginal, Sheets, log_likelihood
from concordant.aggregate.permutation._pair_energies import _sampled_ranks, mean_ranks, summed
from concordant.aggregate.permutation.cranking import Cranking
from concordant.errors import InputError, NeedError
from concordant.labels import Labels
from concordant.preferences import Preferences
from concordant.types import Floats


def orders_and_chances(cost: Floats) -> tuple[np.ndarray, np.ndarray, float]:
    """All orders of the items with their probabilities, and the normaliser, by enumeration."""
    m = len(cost)
    orders = np.array(list(permutations(range(m))))
    weight = [np.exp(-sum(cost[o[a], o[b]] for a in range(m) for b in range(a + 1, m))) for o in orders]
    return orders, np.array(weight) / sum(weight), float(sum(weight))


def discordant(order: np.ndarray, ranks: dict[int, float], m: int, missing: str) -> float:
    """The Kendall distance of an order and a list, ties half; unranked items last or ignored."""
    place = {int(item): k for k, item in enumerate(order)}
    total = 0.0
    for i in range(m):
        for j in range(m):
            if place[i] < place[j]:
                if i in ranks and j in ranks:
                    total += (ranks[j] < ranks[i]) + 0.5 * (ranks[i] == ranks[j])
                elif missing == "last" and j in ranks:
                    total += 1.0
    return total


def some_lists(seed: int, n_instances: int = 4, m: int = 4) -> tuple[Preferences, list[tuple[int, int, dict]]]:
    """Partial lists of three agents: preferences, and (instance, agent, ranks by item) of each."""
    rng = np.random.default_rng(seed)
    rows, lists = [], []
    for q in range(n_instances):
        for k in range(3):
            chosen = rng.permutation(m)[: m if k == 0 else rng.integers(2, m + 1)]
            ranks = {int(item): float(rng.integers(1, m + 1)) for item in chosen}
            lists.append((q, k, ranks))
            rows += [(f"a{k}", f"i{item}", rank, f"q{q}") for item, rank in sorted(ranks.items())]
    agent, item, rank, instance = (list(column) for column in zip(*rows, strict=True))
    return Preferences.from_ranks(agent, item, rank, instance=instance), lists


def sheets_of(prefs: Preferences, missing: str) -> Sheets:
    assert prefs.agent is not None
    return Sheets.of(prefs, prefs.agent.astype(np.int64), 3, missing, np.random.default_rng(0))


def test_sums_over_sets_are_sums_over_all_orders() -> None:
    cost = np.random.default_rng(0).normal(size=(3, 5, 5))
    log_z, p_before = summed(cost)
    for q in range(3):
        orders, chance, total = orders_and_chances(cost[q])
        place = np.argsort(orders, axis=1)
        expected = chance @ (place[:, :, None] < place[:, None, :]).reshape(len(orders), -1)
        assert log_z[q] == pytest.approx(np.log(total))
        assert p_before[q].reshape(-1) == pytest.approx(expected, abs=1e-12)


def test_gibbs_samples_have_the_mean_ranks_of_all_orders() -> None:
    cost = np.random.default_rng(1).normal(size=(2, 6, 6))
    exact = mean_ranks(np.array([0, 6, 12]), cost.reshape(-1), 10, 0)
    sampled = _sampled_ranks(np.array([0, 6, 12]), np.array([0, 36]), cost.reshape(-1), 6000, np.random.default_rng(0))
    assert sampled == pytest.approx(exact, abs=0.05)


@pytest.mark.parametrize("missing", ["ignore", "last"])
def test_the_ranking_is_the_posterior_mean_rank_of_the_definition(backend: str, missing: str) -> None:
    prefs, lists = some_lists(2)
    theta = np.array([0.7, 0.2, 1.1])
    method = Cranking(missing=missing).with_learnt(theta={f"a{k}": theta[k] for k in range(3)})
    ranking = method.rank(prefs)
    for q in range(4):
        slots = prefs.slot_item[prefs.slot_ptr[q] : prefs.slot_ptr[q + 1]]
        number = {int(prefs.items[s][1:]): k for k, s in enumerate(slots.tolist())}
        m = len(slots)
        of_query = [(k, {number[i]: r for i, r in ranks.items()}) for p, k, ranks in lists if p == q]
        orders = np.array(list(permutations(range(m))))
        weight = np.array(
            [np.exp(-sum(theta[k] * discordant(o, ranks, m, missing) for k, ranks in of_query)) for o in orders]
        )
        mean_rank = 1 + (weight / weight.sum()) @ np.argsort(orders, axis=1)
        assert m - ranking.score[prefs.slot_ptr[q] : prefs.slot_ptr[q + 1]] == pytest.approx(mean_rank, abs=1e-5)


@pytest.mark.parametrize("missing", ["ignore", "last"])
def test_the_likelihood_of_labels_is_that_of_all_orders_they_allow(missing: str) -> None:
    prefs, lists = some_lists(3)
    theta = np.array([0.5, 0.9, 0.1])
    label = np.random.default_rng(0).integers(0, 3, prefs.n_slots).astype(float)
    sheets = sheets_of(prefs, missing)
    value, gradient = log_likelihood(sheets, theta, sheets.labels(label))
    expected = 0.0
    for q in range(4):
        first, last = prefs.slot_ptr[q : q + 2].tolist()
        slots, m = prefs.slot_item[first:last], last - first
        number = {int(prefs.items[s][1:]): k for k, s in enumerate(slots.tolist())}
        of_query = [(k, {number[i]: r for i, r in ranks.items()}) for p, k, ranks in lists if p == q]
        total = allowed = 0.0
        for order in permutations(range(m)):
            weight = np.exp(-sum(theta[k] * discordant(np.array(order), r, m, missing) for k, r in of_query))
            total += weight
            allowed += weight * bool((np.diff(label[first:last][list(order)]) <= 0).all())
        expected += np.log(allowed / total)
    assert value == pytest.approx(expected)
    for k in range(3):
        step = 1e-6 * (np.arange(3) == k)
        up, down = (log_likelihood(sheets, theta + s, sheets.labels(label))[0] for s in (step, -step))
        assert gradient[k] == pytest.approx((up - down) / 2e-6, abs=1e-6)


def test_the_marginal_likelihood_is_a_normalised_mallows_mixture_over_orders() -> None:
    prefs = Preferences.from_rankings([["a", "b", "c"], ["b", "a", "c"], ["c", "a"]], agent=["x", "y", "z"])
    marginal = Marginal.of(sheets_of(prefs, "ignore"), np.arange(3))
    theta, expected = np.array([0.6, 0.3, 1.2]), 0.0
    lists = [{0: 1.0, 1: 2.0, 2: 3.0}, {1: 1.0, 0: 2.0, 2: 3.0}, {2: 1.0, 0: 2.0}]
    for order in permutations(range(3)):
        chance = 1.0
        for k, ranks in enumerate(lists):
            distances = [
                discordant(np.array(order), dict(zip(ranks, values, strict=True)), 3, "ignore")
                for values in permutations(range(len(ranks)))
            ]
            own = discordant(np.array(order), ranks, 3, "ignore")
            chance *= np.exp(-theta[k] * own) / np.exp(-theta[k] * np.array(distances)).sum()
        expected += chance
    assert marginal(theta)[0] == pytest.approx(np.log(expected))


@pytest.mark.parametrize("prior", [0.0, 2.5])
def test_the_gradient_of_the_marginal_likelihood_is_that_of_finite_differences(prior: float) -> None:
    marginal = Marginal.of(sheets_of(some_lists(4)[0], "ignore"), np.arange(3), prior, 0.4)
    theta = np.array([0.6, 0.3, 1.2])
    for k in range(3):
        step = 1e-6 * (np.arange(3) == k)
        slope = (marginal(theta + step)[0] - marginal(theta - step)[0]) / 2e-6
        assert marginal(theta)[1][k] == pytest.approx(slope, abs=1e-6)


def test_the_mode_is_the_most_likely_order_of_all() -> None:
    prefs, lists = some_lists(5, n_instances=1, m=5)
    theta = np.array([1.0, 0.8, 0.7])
    method = Cranking(consensus="mode", missing="last").with_learnt(theta={f"a{k}": theta[k] for k in range(3)})
    order = [int(label[1:]) for label in method.rank(prefs).items]

    def energy(candidate: tuple[int, ...]) -> float:
        return sum(theta[k] * discordant(np.array(candidate), ranks, 5, "last") for _, k, ranks in lists)

    assert energy(tuple(order)) == pytest.approx(min(energy(one) for one in permutations(range(5))))


def mallows_lists(seed: int, thetas: Floats, n_instances: int, m: int) -> tuple[Preferences, Labels]:
    """Lists of agents with these dispersions around random true orders, and the true orders as labels."""
    rng = np.random.default_rng(seed)
    rows, labels = [], []
    for q in range(n_instances):
        truth = rng.permutation(m)
        labels += [(f"q{q}", f"i{item}", m - place) for place, item in enumerate(truth.tolist())]
        for k, theta in enumerate(thetas.tolist()):
            order: list[int] = []
            for n, item in enumerate(truth.tolist()):  # repeated insertion: v places before the end with exp(-theta v)
                chance = np.exp(-theta * np.arange(n + 1))
                order.insert(n - int(rng.choice(n + 1, p=chance / chance.sum())), item)
            rows += [(f"a{k}", f"i{item}", place + 1, f"q{q}") for place, item in enumerate(order)]
    agent, item, rank, instance = (list(column) for column in zip(*rows, strict=True))
    return Preferences.from_ranks(agent, item, rank, instance=instance), Labels(*map(list, zip(*labels, strict=True)))


def test_dispersions_are_recovered_with_and_without_labels() -> None:
    thetas = np.array([1.5, 0.8, 0.3, 0.0])
    prefs, labels = mallows_lists(0, thetas, 150, 6)
    from_labels = Cranking().fit(prefs, labels).learnt["theta"]
    from_lists = Cranking().rank(prefs).agents
    assert from_lists is not None
    for k, theta in enumerate(thetas.tolist()):
        assert from_labels[f"a{k}"] == pytest.approx(theta, abs=0.25)
        assert from_lists[f"a{k}"] == pytest.approx(theta, abs=0.25)


def test_larger_instances_are_dealt_into_blocks_and_sampled_reproducibly() -> None:
    prefs, labels = mallows_lists(1, np.array([1.2, 0.6, 0.1]), 12, 14)
    model = Cranking(seed=3).fit(prefs, labels)
    first, again = model.rank(prefs), Cranking(seed=3).fit(prefs, labels).rank(prefs)
    assert np.array_equal(first.score, again.score)
    assert model.learnt["theta"]["a0"] > model.learnt["theta"]["a1"] > model.learnt["theta"]["a2"]
    alone = model.rank(prefs.select(instances=["q5"]))
    assert alone.scores == pytest.approx(first["q5"].scores)
    found, of_borda = (cc.evaluate(one, labels, ["ndcg@5"])["ndcg@5"] for one in (first, cc.rank(prefs, "borda")))
    assert found > of_borda


def test_ballots_without_agents_share_one_dispersion() -> None:
    prefs = Preferences.from_rankings([["a", "b", "c"], ["a", "c", "b"], ["b", "a", "c"]])
    ranking = Cranking().rank(prefs)
    assert ranking.agents is None
    assert ranking.items == ["a", "b", "c"]


def test_agents_that_the_model_never_saw_are_reported() -> None:
    prefs, _ = some_lists(7)
    ranking = Cranking().with_learnt(theta={"a0": 1.0, "a1": 0.5}).rank(prefs)
    assert (ranking.agents or {})["a2"] == pytest.approx(0.75)
    assert [notice.name for notice in ranking.warnings] == ["unknown-agents"]


def test_what_cannot_be_learnt_is_rejected_with_a_reason() -> None:
    prefs, _ = some_lists(6)
    same = Labels(["q0", "q0"], ["i0", "i1"], [0.0, 0.0])
    with pytest.raises(InputError, match="different labels"):
        Cranking().fit(prefs, same)
    with pytest.raises(NeedError, match="agent"):
        Cranking().fit(Preferences.from_rankings([["a", "b"]]), same)
