"""What describe finds: each finding on data made to have it, and on data made not to."""

from __future__ import annotations

import json
from itertools import combinations

import numpy as np
import pytest
from tests.conftest import random_preferences

import concordant as cc
from concordant.analysis import describing, findings
from concordant.analysis.describing import Description
from concordant.analysis.findings import Finding
from concordant.narrative.certainty import sign_test


def finding(prefs: cc.Preferences, name: str) -> Finding:
    found = prefs.describe().finding(name)
    assert found is not None
    return found


def judges(n: int, odd: int, n_items: int = 8, seed: int = 0) -> cc.Preferences:
    """Rankings near 1 > 2 > … by n judges, and reversed ones by some odd judges."""
    rng = np.random.default_rng(seed)
    lists = []
    for k in range(n + odd):
        noisy = np.argsort(np.arange(n_items) + rng.normal(0, 1.5, n_items))
        lists.append([f"i{item}" for item in (noisy if k < n else noisy[::-1])])
    return cc.Preferences.from_rankings(lists, agent=[f"judge {k}" for k in range(n + odd)])


def test_groups_that_are_never_compared_are_named() -> None:
    found = finding(cc.Preferences.from_pairs(["a", "b", "x"], ["b", "c", "y"]), "connected")
    assert not found.is_fine
    assert "(a, b, c | x, y)" in found.text
    assert found.data["n_groups"] == 2


def test_instances_do_not_mix() -> None:
    two = cc.Preferences.from_rankings([["a", "b"], ["c", "d"]], instance=["q1", "q2"])
    assert finding(two, "connected").is_fine
    split = cc.Preferences.from_pairs(["a", "c", "a"], ["b", "d", "b"], instance=["q1", "q1", "q2"])
    assert "In 1 of 2 instances" in finding(split, "connected").text


def test_an_item_that_never_lost_separates_the_data() -> None:
    found = finding(cc.Preferences.from_pairs(["a", "b", "c"], ["b", "c", "b"]), "separated")
    assert not found.is_fine
    assert "1 never lost (a)" in found.text
    assert finding(cc.Preferences.from_pairs(["a", "b"], ["b", "a"]), "separated").is_fine


def test_a_cycle_is_found_and_the_contested_top_named() -> None:
    ballots = [["a", "b", "c", "z"], ["b", "c", "a", "z"], ["c", "a", "b", "z"]]
    found = finding(cc.Preferences.from_rankings(ballots), "cyclic")
    assert not found.is_fine
    assert (found.data["cyclic_triads"], found.data["top_cycle"]) == (1, ["a", "b", "c"])
    assert "among a, b, c" in found.text


def test_who_beats_everyone_is_named() -> None:
    found = finding(cc.Preferences.from_rankings([["a", "b", "c"], ["a", "c", "b"]]), "cyclic")
    assert found.is_fine
    assert found.data["condorcet_winner"] == "a"


@pytest.mark.parametrize("seed", range(30))
def test_the_contested_top_is_the_smallest_group_that_beats_the_rest(seed: int) -> None:
    rng = np.random.default_rng(seed)
    margin = np.triu(rng.integers(-1, 2, (5, 5)), 1)
    beats = (margin - margin.T) > 0
    groups = [set(group) for size in range(1, 6) for group in combinations(range(5), size)]
    smallest = next(g for g in groups if all(beats[i, j] for i in g for j in set(range(5)) - g))
    assert set(findings._top_group(beats).tolist()) == smallest


def test_a_judge_who_turns_everything_around_stands_out() -> None:
    found = finding(judges(12, 1), "outlier agents")
    assert not found.is_fine
    assert [one["agent"] for one in found.data["outliers"]] == ["judge 12"]
    assert found.data["outliers"][0]["agreement"] < 0.3 < 0.6 < found.data["median_agreement"]


def test_noise_alone_makes_no_outliers() -> None:
    assert all(finding(judges(12, 0, seed=seed), "outlier agents").is_fine for seed in range(10))


def voters(counts: list[int], agreeing: list[float], seed: int = 0) -> cc.Preferences:
    """Draw votes between 12 items of known order: how many each agent casts, and how often it goes with the order."""
    rng = np.random.default_rng(seed)
    rows = []
    for k, (n, right) in enumerate(zip(counts, agreeing, strict=True)):
        for _ in range(n):
            a, b = sorted(rng.choice(12, 2, replace=False).tolist())
            rows.append((f"i{a}", f"i{b}", f"v{k}") if rng.random() < right else (f"i{b}", f"i{a}", f"v{k}"))
    winner, loser, agent = zip(*rows, strict=True)
    return cc.Preferences.from_pairs(winner, loser, agent=agent)


def test_many_agents_with_a_few_votes_are_no_outliers() -> None:
    for seed, right in enumerate((0.75, 0.9, 0.98)):
        counts = (1 + np.arange(1_792) % 3).tolist()
        assert finding(voters(counts, [right] * 1_792, seed), "outlier agents").is_fine


def test_one_population_has_hardly_ever_an_outlier() -> None:
    rng = np.random.default_rng(1)
    flagged = sum(
        not finding(voters(rng.integers(5, 60, 60).tolist(), [0.8] * 60, seed), "outlier agents").is_fine
        for seed in range(40)
    )
    assert flagged <= 4


def test_a_spammer_with_fifty_votes_is_found_among_many() -> None:
    counts, right = [50, 50, *[3] * 300, *[40] * 30], [0.1, 0.3, *[0.9] * 300, *[0.9] * 30]
    found = finding(voters(counts, right), "outlier agents")
    assert {one["agent"] for one in found.data["outliers"]} == {"v0", "v1"}


def test_outliers_need_agents() -> None:
    prefs = cc.Preferences.from_rankings([["a", "b"], ["b", "a"]])
    assert prefs.describe().finding("outlier agents") is None


@pytest.mark.parametrize("seed", range(8))
def test_agreement_is_that_with_the_majority_of_the_others(seed: int) -> None:
    prefs = random_preferences(np.random.default_rng(seed))
    found = findings.agreement(prefs)
    assert found is not None
    assert prefs.agents is not None
    for agent, label in enumerate(prefs.agents.labels):
        assert found.share[agent] == pytest.approx(brute_agreement(prefs, label), nan_ok=True)


def brute_agreement(prefs: cc.Preferences, agent: str) -> float:
    assert prefs.agents is not None
    agree = total = 0.0
    for q in range(prefs.n_instances):
        own, others = ({}, {})
        for b in np.flatnonzero(prefs.instance_of_ballot == q).tolist():
            votes = own if prefs.agents[prefs.agent[b]] == agent else others
            entries = range(prefs.indptr[b], prefs.indptr[b + 1])
            for e, f in combinations(entries, 2):
                if prefs.tier[e] != prefs.tier[f]:
                    pair = (prefs.item[e], prefs.item[f])
                    votes[pair] = votes.get(pair, 0.0) + prefs.weight[b]
        for (i, j), weight in own.items():
            margin = others.get((i, j), 0.0) - others.get((j, i), 0.0)
            agree += weight * (margin > 0)
            total += weight * (margin != 0)
    return agree / total if total else float("nan")


def test_agents_are_compared_in_parts_with_the_same_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    prefs = judges(9, 2)
    whole = findings.agreement(prefs)
    monkeypatch.setattr(findings, "PAIRS_AT_ONCE", 60)
    parts = findings.agreement(prefs)
    assert whole is not None
    assert parts is not None
    np.testing.assert_array_equal(whole.share, parts.share)


def test_the_sign_test_is_the_binomial_one() -> None:
    from scipy.stats import binomtest

    for k, n in ((5, 10), (9, 10), (0, 7), (61, 100), (1, 1), (0, 0)):
        exact = binomtest(k, n).pvalue if n else 1.0
        assert float(sign_test(k, n - k)) == pytest.approx(exact)


def test_enough_data_make_the_lead_significant() -> None:
    clear = cc.Preferences.from_rankings([["a", "b"], ["b", "a"]], weight=[80, 20])
    found = finding(clear, "top two")
    assert found.is_fine
    assert (found.data["first"], found.data["runner_up"], found.data["votes"]) == (["a"], "b", [80, 20])
    thin = finding(cc.Preferences.from_rankings([["a", "b"], ["b", "a"]], weight=[6, 4]), "top two")
    assert not thin.is_fine
    assert "is not significant: 6 to 4 votes in direct comparison (sign test, p = 0.75)" in thin.text


def test_the_first_two_may_never_have_met() -> None:
    pairs = cc.Preferences.from_pairs(["a", "b", "c"], ["c", "c", "b"], weight=[9, 5, 1])
    assert "No vote compares a and b directly" in cc.rank(pairs, "elo").certainty.test()


def test_many_instances_are_counted() -> None:
    prefs = cc.Preferences.from_rankings([["a", "b"], ["a", "b"]], instance=["q1", "q2"], weight=[50, 1])
    found = finding(prefs, "top two")
    assert (found.data["n_significant"], found.data["n_instances"]) == (1, 2)


def names(found: Description) -> list[str]:
    return [advice.method for advice in found.methods]


def test_methods_follow_the_form_and_the_findings() -> None:
    pairs = cc.Preferences.from_pairs(["a", "b", "c"], ["b", "c", "a"])
    assert {"copeland", "ranked-pairs"} <= set(names(pairs.describe()))
    approvals = cc.Preferences.from_rankings([["a", ["b", "c"]]])
    assert names(approvals.describe())[0] == "approval"
    assert "median-rank" in names(judges(12, 1).describe())
    runs = cc.Preferences.from_rankings([["a", "b"], ["b", "a"]] * 2, agent=[*"efef"], instance=[*"qqrr"])
    assert names(runs.describe())[0] == "rrf"


@pytest.mark.parametrize("seed", range(6))
def test_every_method_that_fits_can_rank_the_data(seed: int) -> None:
    prefs = random_preferences(np.random.default_rng(seed), n_instances=1 + seed % 3)
    found = prefs.describe()
    assert found.methods
    for method in names(found):
        assert cc.rank(prefs, method).score.shape == (prefs.n_slots,)


def test_a_description_is_text_and_json() -> None:
    found = judges(12, 1).describe()
    assert "outlier agents !" in str(found)
    assert "Suitable methods" in str(found)
    data = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert [one["name"] for one in data["findings"]] == [
        "connected",
        "separated",
        "cyclic",
        "outlier agents",
        "top two",
        "recovery",
    ]
    assert set(data["methods"][0]) == {"method", "reason"}
    assert max(map(len, str(found).splitlines())) <= 100


def test_data_without_anything_is_no_trouble() -> None:
    assert cc.Preferences.from_rankings([]).describe().findings == ()
    assert cc.Preferences.from_rankings([["a"]]).describe().finding("top two") is None


@pytest.mark.parametrize("seed", range(10))
def test_linked_items_are_those_that_pairs_link(seed: int) -> None:
    rng = np.random.default_rng(seed)
    first, second = rng.integers(0, 4, 7), rng.integers(4, 8, 7)
    duels = cc.Preferences.from_pairs(first, second, tie=rng.random(7) < 0.3)
    choices = random_preferences(rng).replace(form="choices")  # what stands on no ballot is not compared
    for prefs in (duels, choices):
        pairs = cc.views.pairs(prefs)
        source = np.concatenate([pairs.better, pairs.worse[pairs.is_tie]])
        target = np.concatenate([pairs.worse, pairs.better[pairs.is_tie]])
        expected = groups(prefs.n_slots, source, target)
        for short, long in zip(describing._components(prefs), expected, strict=True):
            assert [sorted(np.flatnonzero(short == k)) for k in short] == [
                sorted(np.flatnonzero(long == k)) for k in long
            ]


def groups(n_nodes: int, source: np.ndarray, target: np.ndarray) -> list[np.ndarray]:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(len(source)), (source, target)), shape=(n_nodes, n_nodes)).tocsr()
    return [connected_components(graph, directed=True, connection=kind)[1] for kind in ("weak", "strong")]
