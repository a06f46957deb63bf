"""HodgeRank, SVP, rank centrality and Markov chains against direct computations."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from tests.cases import EDGES

import concordant as cc
from concordant import kernels, views
from concordant.aggregate import matrices
from concordant.aggregate.spectral import _sparse_walk, _steps, hodgerank, markov_chain, rank_centrality
from concordant.models.observations.preference_counts import levels

METHODS = ("hodgerank", "svp", "rank-centrality", "mc1", "mc2", "mc3", "mc4")


def by_item(ranking):
    return dict(zip(ranking.items, ranking.scores, strict=True))


def rating_prefs(matrix):
    agent, item = np.nonzero(~np.isnan(matrix))
    return cc.Preferences.from_ratings([f"u{a}" for a in agent], [f"i{k}" for k in item], matrix[agent, item].tolist())


# ---- HodgeRank ----
def test_hodgerank_solves_the_least_squares_problem_over_all_rated_pairs():
    rng = np.random.default_rng(0)
    ratings = rng.integers(1, 6, (8, 5)).astype(float)
    ratings[rng.random((8, 5)) < 0.3] = np.nan
    ranking = cc.rank(rating_prefs(ratings), "hodgerank")
    rows, goals = [], []
    for user in ratings:
        for i in range(5):
            for j in range(i):
                if not np.isnan(user[[i, j]]).any():
                    row = np.zeros(5)
                    row[i], row[j] = 1, -1
                    rows.append(row)
                    goals.append(user[i] - user[j])
    expected = np.linalg.lstsq(np.array(rows), np.array(goals), rcond=None)[0]
    found = by_item(ranking)
    assert [found[f"i{k}"] for k in range(5)] == pytest.approx(expected - expected.mean(), abs=1e-9)


def test_consistent_preferences_have_no_cyclic_residual_and_cycles_have_nothing_else():
    straight = cc.Preferences.from_pairs(["a", "b", "a"], ["b", "c", "c"])
    around = cc.Preferences.from_pairs(["a", "b", "c"], ["b", "c", "a"])
    levels = rating_prefs(np.array([[5.0, 3.0, 1.0]] * 2))
    assert cc.rank(levels, "hodgerank").fit["cyclic_residual"] == pytest.approx(0.0, abs=1e-12)
    ranking = cc.rank(around, "hodgerank")
    assert ranking.fit["cyclic_residual"] == pytest.approx(1.0)
    assert ranking.tiers == [["a", "b", "c"]]
    # a over b and b over c by one each do not add up to a over c by one: a third of one pair remains.
    assert cc.rank(straight, "hodgerank").fit["cyclic_residual"] == pytest.approx(1 / 9)


# ---- SVP ----
def test_a_score_behind_every_preference_is_found():
    score = np.array([3.0, 1.0, 0.0, -4.0])
    found = by_item(cc.rank(rating_prefs(np.tile(score, (2, 1))), "svp"))
    assert [found[f"i{k}"] for k in range(4)] == pytest.approx(score - score.mean(), abs=1e-6)


def test_one_step_is_the_best_skew_matrix_of_rank_two():
    rng = np.random.default_rng(1)
    ratings = rng.normal(size=(6, 7))
    ratings[rng.random((6, 7)) < 0.3] = np.nan
    prefs = rating_prefs(ratings)
    shown = cc.rank(prefs, "svp")
    found = by_item(shown)
    difference = ratings[:, :, None] - ratings[:, None, :]
    compared = ~np.isnan(difference)
    mean = np.where(compared.any(axis=0), np.nansum(difference, axis=0) / np.maximum(compared.sum(axis=0), 1), 0.0)
    u, s, v = np.linalg.svd(mean)
    best = ((u[:, :2] * s[:2]) @ v[:2]).mean(axis=1)
    known = compared.any(axis=0).sum() - 7
    assert [found[f"i{k}"] for k in range(7)] == pytest.approx(best * 42 / known, abs=1e-6)


def test_more_steps_fill_in_what_was_never_compared():
    score = np.linspace(2, -2, 8)
    rng = np.random.default_rng(2)
    ratings = np.tile(score, (40, 1))
    for user in ratings:
        user[rng.permutation(8)[3:]] = np.nan
    found = by_item(cc.rank(rating_prefs(ratings), "svp", steps=400))
    assert [found[f"i{k}"] for k in range(8)] == pytest.approx(score, abs=1e-3)


# ---- walks ----
def test_rank_centrality_finds_bradley_terry_worths_from_exact_shares():
    worth = np.array([4.0, 2.0, 1.0])
    pairs = [(i, j) for i in range(3) for j in range(3) if i != j]
    weight = [1e6 * worth[i] / (worth[i] + worth[j]) for i, j in pairs]
    prefs = cc.Preferences.from_pairs([f"i{i}" for i, _ in pairs], [f"i{j}" for _, j in pairs], weight=weight)
    found = by_item(cc.rank(prefs, "rank-centrality", prior=1e-6))
    assert [found[f"i{k}"] - found["i0"] for k in range(3)] == pytest.approx(np.log(worth / 4), abs=1e-4)


def chain(variant, ballots, items, teleport=0.05):
    """The transition matrix as Dwork et al. describe it, in loops."""
    m = len(items)
    step = np.zeros((m, m))
    for i, item in enumerate(items):
        lists = [b for b in ballots if item in b]
        ahead = [b[: b.index(item) + 1] for b in lists]
        if variant == "mc1":
            places = [other for some in ahead for other in some]
            for other in places:
                step[i, items.index(other)] += 1 / len(places)
        elif variant == "mc2":
            for some in ahead:
                for other in some:
                    step[i, items.index(other)] += 1 / len(lists) / len(some)
        elif variant == "mc3":
            for b in lists:
                for other in b:
                    to = items.index(other) if b.index(other) < b.index(item) else i
                    step[i, to] += 1 / len(lists) / len(b)
        else:
            for j, other in enumerate(items):
                both = [b for b in lists if other in b]
                wins = sum(b.index(other) < b.index(item) for b in both)
                step[i, j if 2 * wins > len(both) else i] += 1 / m
    step = (1 - teleport) * step + teleport / m
    values, vectors = np.linalg.eig(step.T)
    share = np.real(vectors[:, np.argmax(np.real(values))])
    return share / share.sum()


@pytest.mark.parametrize("variant", ["mc1", "mc2", "mc3", "mc4"])
def test_the_chains_are_those_of_the_paper(variant):
    ballots = [list("abcd"), list("bac"), list("dab"), list("cbda")]
    items = list("abcd")
    found = by_item(cc.rank(cc.Preferences.from_rankings(ballots), variant))
    assert [found[item] for item in items] == pytest.approx(chain(variant, ballots, items), abs=1e-9)


# ---- edge cases ----


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("case", EDGES)
def test_hard_cases_are_finite_and_told(method, case):
    ranking = cc.rank(cc.Preferences.from_rankings(EDGES[case]), method)
    assert np.isfinite(ranking.score).all()
    notices = {notice.name: set(notice.items) for notice in ranking.warnings}
    if case == "two components":
        assert notices["disconnected"] == {"c", "d"}
    if case == "all ties":
        assert ranking.tiers == [["a", "b", "c"]]


@pytest.mark.parametrize("method", METHODS)
def test_candidates_nobody_compared_are_told(method):
    prefs = cc.Preferences.from_rankings([["a", "b"], ["b", "a"]], candidates=["a", "b", "c"])
    ranking = cc.rank(prefs, method)
    assert [notice.items for notice in ranking.warnings if notice.name == "never-compared"] == [("c",)]


def sparse_ratings(rng, n_items=320, n_agents=60, items_each=25):
    agent = np.repeat(np.arange(n_agents), items_each)
    item = np.concatenate([rng.permutation(n_items)[:items_each] for _ in range(n_agents)])
    rating = np.clip(np.rint(3 + item / n_items + rng.normal(0, 1, len(item))), 1, 5)
    return cc.Preferences.from_ratings([f"a{k}" for k in agent], [f"i{k:03d}" for k in item], rating)


def test_preferences_over_many_items_are_added_up_pair_by_pair():
    rng = np.random.default_rng(8)
    prefs = sparse_ratings(rng, n_items=40, n_agents=12, items_each=15)
    prefs = prefs.replace(weight=rng.random(prefs.n_ballots), open=rng.random(prefs.n_ballots) < 0.4)
    level = levels(prefs, "difference")
    compared, net = np.zeros((2, prefs.n_slots, prefs.n_slots))
    for b, (start, stop) in enumerate(itertools.pairwise(prefs.indptr.tolist())):
        last = prefs.tier[stop - 1]
        for i, j in itertools.permutations(range(start, stop), 2):
            pair, same = (prefs.entry_slot[i], prefs.entry_slot[j]), prefs.tier[i] == prefs.tier[j]
            compared[pair] += 0 if same and prefs.open[b] and prefs.tier[i] == last else prefs.weight[b]
            net[pair] += 0 if same else prefs.weight[b] * (level[i] - level[j])
    found = kernels.pair_preferences(views.ballots(prefs), level)
    np.testing.assert_allclose(found[0], compared.reshape(-1), atol=1e-12)
    np.testing.assert_allclose(found[1], net.reshape(-1), atol=1e-12)


def test_levels_inside_a_tier_prefer_nothing():
    prefs = cc.Preferences.from_rankings([["a", ["b", "c"]], ["c", "a", "b"]])
    level = np.array([5.0, 4.0, 1.0, 3.0, 2.0, 1.0])
    _, net = kernels.pair_preferences(views.ballots(prefs), level)
    assert net.reshape(3, 3).tolist() == [[0, 2, 3], [-2, 0, -2], [-3, 2, 0]]


@pytest.mark.parametrize("steps", [hodgerank.MAX_STEPS, 3])
def test_many_items_are_scored_as_by_the_whole_system(monkeypatch, steps):
    prefs = sparse_ratings(np.random.default_rng(9))
    monkeypatch.setattr(hodgerank, "MAX_STEPS", steps)
    by_steps = cc.HodgeRank().rank(prefs)
    monkeypatch.setattr(hodgerank, "WORTH_STEPS", 10**9)
    at_once = cc.HodgeRank().rank(prefs)
    np.testing.assert_allclose(by_steps.score, at_once.score, atol=1e-11)
    assert by_steps.fit["cyclic_residual"] == pytest.approx(at_once.fit["cyclic_residual"], rel=1e-9)


def test_groups_are_what_ballots_compare_and_an_open_tier_alone_compares_nothing():
    prefs = cc.Preferences.from_rankings([["a", "b"], [["c", "d"]], [["e", "f"]], ["b", "g"], ["f", "c"]])
    groups = [matrices.comparable_groups(prefs.replace(open=is_open)).tolist() for is_open in (None, [False] * 5)]
    assert groups == [[0, 0, 1, 1, 1, 1, 0]] * 2
    opened = matrices.comparable_groups(prefs.replace(open=np.array([True, True, True, True, True])))
    assert opened.tolist() == [0, 0, 1, 2, 3, 1, 0]


@pytest.mark.parametrize("steps", [60, 2])
@pytest.mark.parametrize("method", ["markov-chain", "mc2", "rank-centrality"])
def test_walks_over_many_items_spend_the_time_that_the_whole_system_says(monkeypatch, method, steps):
    prefs = sparse_ratings(np.random.default_rng(10), n_items=600, n_agents=10, items_each=60)
    assert prefs.n_slots >= _steps.WORTH_STEPS
    monkeypatch.setattr(_steps, "MAX_STEPS", steps)
    by_steps = cc.rank(prefs, method)
    for module in (markov_chain, rank_centrality):
        monkeypatch.setattr(module, "WORTH_STEPS", 10**9)
    np.testing.assert_allclose(by_steps.score, cc.rank(prefs, method).score, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("solver", ["steps", "elimination"])
def test_a_walk_over_few_pairs_equals_the_eigenvector_of_its_matrix(monkeypatch, solver):
    rng = np.random.default_rng(11)
    m, n = 400, 1500
    chain = np.arange(m - 1)  # connects the even items with the odd ones by a long chain, too
    one, other = (
        np.concatenate([rng.integers(0, m // 2, n) * 2, chain]),
        np.concatenate([rng.integers(0, m // 2, n) * 2 + 1, chain + 1]),
    )
    pairs = [
        [[f"i{a}", f"i{b}"]] if rng.random() < 0.2 else [f"i{a}", f"i{b}"] for a, b in zip(one, other, strict=True)
    ]
    prefs = cc.Preferences.from_rankings(pairs, weight=rng.integers(1, 4, len(pairs)))
    assert rank_centrality._is_sparse(prefs)
    if solver == "elimination":
        monkeypatch.setattr(_sparse_walk, "solve_by_steps", lambda *_: None)
    ranking = cc.rank(prefs, "rank-centrality", prior=0.5)
    matrices = views.win_matrices(prefs, "ignore")
    wins = (matrices.wins + matrices.ties / 2).reshape(m, m)
    met = wins + wins.T
    move = np.where(met > 0, (wins.T + 0.5) / (met + 1), 0) / (met > 0).sum(axis=1).max()
    step = move + np.diag(1 - move.sum(axis=1))
    values, vectors = np.linalg.eig(step.T)
    stationary = np.real(vectors[:, np.argmin(abs(values - 1))])
    np.testing.assert_allclose(ranking.score, np.log(m * stationary / stationary.sum()), atol=1e-8)
    monkeypatch.setattr(rank_centrality, "has_few_pairs", lambda _: False)
    np.testing.assert_allclose(ranking.score, cc.rank(prefs, "rank-centrality", prior=0.5).score, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("solver", ["steps", "elimination"])
def test_a_walk_over_few_pairs_gives_every_group_its_share(monkeypatch, solver):
    if solver == "elimination":
        monkeypatch.setattr(_sparse_walk, "solve_by_steps", lambda *_: None)
    rng = np.random.default_rng(12)
    one = rng.integers(0, 600, 900)
    other = (one // 6) * 6 + (one + rng.integers(1, 6, 900)) % 6  # a hundred groups of up to six
    prefs = cc.Preferences.from_pairs(one, other)
    sparse = cc.rank(prefs, "rank-centrality")
    monkeypatch.setattr(rank_centrality, "has_few_pairs", lambda _: False)
    dense = cc.rank(prefs, "rank-centrality")
    np.testing.assert_allclose(sparse.score, dense.score, rtol=1e-9, atol=1e-9)
    assert [notice.name for notice in sparse.warnings] == [notice.name for notice in dense.warnings]


def test_rank_centrality_of_few_pairs_needs_no_matrices(monkeypatch):
    monkeypatch.setenv("CONCORDANT_MEMORY", "100MB")
    one = np.random.default_rng(13).integers(0, 20_000, 200_000)
    prefs = cc.Preferences.from_pairs(one, (one * 7 + 1) % 20_000)
    assert len(cc.rank(prefs, "rank-centrality").items) == 20_000


def test_a_long_chain_of_certain_winners_is_ranked():
    one = np.arange(5000)
    prefs = cc.Preferences.from_pairs(one, one + 1, weight=np.full(5000, 9))
    ranking = cc.rank(prefs, "rank-centrality")
    assert ranking.items[:3] == [0, 1, 2] or ranking.items[:3] == ["0", "1", "2"]


def test_steps_give_up_where_they_do_not_get_there():
    shift = np.roll(np.eye(80), 1, axis=1)  # a cycle: the residual stays until the last step
    assert _steps.solve_by_steps(lambda x: shift @ x, np.eye(80)[0], np.ones(80)) is None
    few = np.roll(np.eye(20), 1, axis=1)
    found = _steps.solve_by_steps(lambda x: few @ x, np.arange(20.0), np.ones(20))
    np.testing.assert_allclose(found, few.T @ np.arange(20.0), atol=1e-12)
