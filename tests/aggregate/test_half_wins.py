"""Errors where a tie is half a win each way: a tie varies less than two half wins, and the intervals know it."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.coverage_with_ties import Setting, coverage

import concordant as cc
from concordant import kernels, laws

COMPILED = getattr(kernels, "_compiled", None)  # where they are built


def votes(n, share=0.4, seed=0, items=5, **more):
    """Votes whose expected result is that of Bradley-Terry, with a share of ties that falls with the lead."""
    rng = np.random.default_rng(seed)
    score, first = np.linspace(0.6, -0.6, items), rng.integers(0, items, n)
    second = (first + rng.integers(1, items, n)) % items
    up = 1 / (1 + np.exp(score[second] - score[first]))
    is_tie = rng.random(n) < 4 * up * (1 - up) * share
    wins = rng.random(n) < (up - 2 * up * (1 - up) * share) / (1 - 4 * up * (1 - up) * share)
    ahead, behind = np.where(wins, first, second), np.where(wins, second, first)
    labels = np.array([f"i{k}" for k in range(items)])
    return cc.Preferences.from_pairs(labels[ahead].tolist(), labels[behind].tolist(), tie=is_tie, **more)


def errors_of(prefs, method="bradley-terry", **params):
    return cc.rank(prefs, method, **params).details["stderr"]


# ---- coverage ----
@pytest.mark.parametrize("share", [0.1, 0.3, 0.6])
def test_default_intervals_cover_what_they_say_with_ties(share):
    found = coverage(Setting(8, 12, False, "half", share), "bradley-terry", 60)
    assert min(found) > 0.92
    assert max(found) < 0.98


@pytest.mark.slow
@pytest.mark.parametrize("process", ["half", "uneven", "davidson", "flat"])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.3, 0.6])
def test_default_intervals_cover_93_to_97_percent_however_ties_come_about(process, share, backend):
    for items, games, is_unbalanced in ((4, 30, False), (20, 5, True)):
        setting = Setting(items, games, is_unbalanced, process, share)
        if backend == "twins" and COMPILED:  # the same share of fewer draws is the same share of all
            found = coverage(setting, "bradley-terry", 15)
            with laws.using_kernels(COMPILED):
                assert found == coverage(setting, "bradley-terry", 15)
            continue
        found = coverage(setting, "bradley-terry", 400)
        assert min(found) > 0.93
        assert max(found) < 0.97


# ---- the formula ----
def test_without_ties_the_errors_are_those_of_the_hessian():
    prefs = votes(300, share=0.0)
    assert errors_of(prefs).tolist() == errors_of(prefs, errors="hessian").tolist()
    for method in ("davidson", "rao-kupper"):  # ties are outcomes of their own there
        assert errors_of(votes(300), method).tolist() == errors_of(votes(300), method, errors="hessian").tolist()


def test_the_covariance_is_the_sandwich_written_out():
    prefs = votes(60_000)
    ranking = cc.rank(prefs, "bradley-terry", prior=0)
    n, lead = np.zeros((5, 5)), ranking.score[:, None] - ranking.score
    tied = np.zeros((5, 5))
    for (one, other), (best, worst) in zip(prefs.item.reshape(-1, 2), prefs.tier.reshape(-1, 2), strict=True):
        n[one, other] += 1
        n[other, one] += 1
        tied[one, other] += best == worst
        tied[other, one] += best == worst
    curve = n / (1 + np.exp(-lead)) / (1 + np.exp(lead))
    bread = np.linalg.pinv(np.diag(curve.sum(axis=1)) - curve)
    vary = curve - tied / 4
    wanted = bread @ (np.diag(vary.sum(axis=1)) - vary) @ bread
    assert ranking.model.errors.covariance(0) == pytest.approx(wanted, rel=0.01, abs=1e-7)


@pytest.mark.parametrize("prior", [0, 0.5, "auto"])
def test_repeated_merged_and_weighted_ballots_give_the_same_errors(prior):
    prefs = votes(200)
    doubled = prefs.replace(weight=np.full(200, 2.0))
    repeated = laws.take_ballots(prefs, np.repeat(np.arange(200), 2))
    for errors in ("auto", "sandwich"):
        once = errors_of(prefs, prior=prior, errors=errors)
        assert errors_of(prefs.merge(), prior=prior, errors=errors) == pytest.approx(once, rel=1e-6)
        twice = errors_of(doubled, prior=prior, errors=errors)
        assert errors_of(repeated, prior=prior, errors=errors) == pytest.approx(twice, rel=1e-6)


def test_ties_alone_do_not_make_scores_certain():
    prefs = cc.Preferences.from_pairs(["a"] * 10, ["b"] * 10, tie=[True] * 10)
    assert 0.05 < errors_of(prefs, prior=0.01)[0] < errors_of(prefs, prior=0.01, errors="hessian")[0] / 2


@pytest.mark.parametrize("method", ["bradley-terry", "thurstone"])
def test_all_solvers_find_the_same_errors(method, monkeypatch):
    from concordant.models import tied
    from concordant.models.solve import strategies
    from concordant.models.solve.costs import same_strategy

    prefs = votes(4_000, items=30)
    reference = errors_of(prefs, method, prior=0.5)
    for strategy, off in (("batch", 1e-6), ("matrix", 1e-6), ("products", 0.08)):
        monkeypatch.setattr(
            strategies, "strategies_of", lambda observed, prior, wanted, strategy=strategy: same_strategy(strategy, 1)
        )
        assert errors_of(prefs, method, prior=0.5) == pytest.approx(reference, rel=off)
    monkeypatch.setattr(strategies, "strategies_of", lambda observed, prior, wanted: same_strategy("matrix", 1))
    monkeypatch.setattr(tied, "LARGEST_EXACT", 10)
    assert errors_of(prefs, method, prior=0.5) == pytest.approx(reference, rel=0.03)


def test_every_instance_has_the_errors_it_has_alone():
    one, other = votes(100, seed=1), votes(150, share=0.0, seed=2)
    pairs = [part.item.reshape(-1, 2) for part in (one, other)]
    labels = [np.array(part.items.labels) for part in (one, other)]
    both = cc.Preferences.from_pairs(
        [label for own, rows in zip(labels, pairs, strict=True) for label in own[rows[:, 0]]],
        [label for own, rows in zip(labels, pairs, strict=True) for label in own[rows[:, 1]]],
        tie=np.concatenate([part.tier.reshape(-1, 2)[:, 0] == part.tier.reshape(-1, 2)[:, 1] for part in (one, other)]),
        instance=["p"] * 100 + ["q"] * 150,
    )
    together = cc.rank(both, "bradley-terry", prior=0.5)
    for name, alone in (("p", one), ("q", other)):
        found = dict(zip(together[name].items, together[name].detail("stderr"), strict=True))
        ranking = cc.rank(alone, "bradley-terry", prior=0.5)
        wanted = dict(zip(ranking.items, ranking.detail("stderr"), strict=True))
        assert found == pytest.approx(wanted, rel=1e-6)


# ---- more parameters than scores ----
def test_errors_of_the_advantage_and_of_covariates_know_of_ties():
    rng = np.random.default_rng(4)
    n = 1_500
    first = rng.integers(0, 4, n)
    second = (first + rng.integers(1, 4, n)) % 4
    x = rng.normal(size=(n, 2))
    lead = 0.4 * (second - first) + 0.5 * (x[:, 0] - x[:, 1]) + 0.3
    up, is_tie = 1 / (1 + np.exp(-lead)), rng.random(n) < 0.5
    wins = rng.random(n) < up
    pair = np.where(wins[:, None], np.stack([first, second], 1), np.stack([second, first], 1))
    seen = np.where(wins[:, None], [[0, 1]], [[1, 0]])
    prefs = cc.Preferences(
        list("abcd"),
        2 * np.arange(n + 1),
        pair.reshape(-1),
        np.stack([np.zeros(n, int), (~is_tie).astype(int)], 1).reshape(-1),
        shown=seen.reshape(-1),
        covariate=np.take_along_axis(x, seen, 1).reshape(-1, 1),
        covariates=("length",),
    )
    plain = prefs.replace(covariate=None, covariates=())
    for data, name in ((plain, "order_effect_stderr"), (prefs, "order_effect_stderr")):
        wide, own, drawn = (
            cc.rank(data, "bradley-terry", order_effect=True, prior=0.01, errors=kind, replicates=150)
            for kind in ("hessian", "auto", "bootstrap")
        )
        assert own.fit[name] < 0.85 * wide.fit[name]
        assert own.fit[name] == pytest.approx(drawn.fit[name], rel=0.2)
        assert own.details["stderr"] == pytest.approx(drawn.details["stderr"], rel=0.2)
        for covariate, error in own.model.coefficient_errors.items():
            assert error < 0.85 * wide.model.coefficient_errors[covariate]
            assert error == pytest.approx(drawn.model.coefficient_errors[covariate], rel=0.2)


def test_errors_of_teams_know_of_ties():
    rng = np.random.default_rng(5)
    sides = np.array([rng.permutation(6)[:4] for _ in range(800)])
    strength = np.linspace(0.5, -0.5, 6)
    lead = strength[sides[:, :2]].sum(axis=1) - strength[sides[:, 2:]].sum(axis=1)
    wins, is_tie = rng.random(800) < 1 / (1 + np.exp(-lead)), rng.random(800) < 0.5
    order = np.where(wins[:, None], sides, np.roll(sides, 2, axis=1))
    prefs = cc.Preferences(
        list("abcdef"),
        4 * np.arange(801),
        order.reshape(-1),
        (np.array([0, 0, 1, 1]) * ~is_tie[:, None]).reshape(-1),
        team=np.tile([0, 0, 1, 1], 800),
    )
    wide, own, drawn = (
        errors_of(prefs, errors=kind, prior=0.01, replicates=150) for kind in ("hessian", "auto", "bootstrap")
    )
    assert (own < 0.85 * wide).all()
    assert own == pytest.approx(drawn, rel=0.2)


# ---- agents ----
def test_the_bootstrap_draws_agents_where_there_are_agents():
    agents = [f"v{k}" for k in range(400)]
    once = votes(400, agent=agents)
    tenfold = laws.take_ballots(once, np.repeat(np.arange(400), 10))
    wanted = errors_of(once, prior=0.01)
    for kind in ("bootstrap", "sandwich"):
        found = errors_of(tenfold, prior=0.01, errors=kind)
        assert found == pytest.approx(wanted, rel=0.25)
        assert errors_of(tenfold.merge(), prior=0.01, errors=kind) == pytest.approx(found, rel=1e-6)
    naive = errors_of(tenfold.replace(agents=None, agent=None), prior=0.01, errors="bootstrap")
    assert (naive < found / 2.5).all()


def test_agents_are_drawn_in_every_instance_of_its_own():
    prefs = votes(300, agent=[f"v{k % 60}" for k in range(300)], instance=[f"q{k % 3}" for k in range(300)])
    found = errors_of(prefs, prior=1.0, errors="bootstrap", replicates=100)
    assert found == pytest.approx(errors_of(prefs, prior=1.0), rel=0.6)
    assert (found > 0).all()


def test_robust_errors_do_not_depend_on_how_many_votes_are_computed_at_once(monkeypatch):
    from concordant.models import clusters

    prefs = votes(30_000, items=40)
    at_once = errors_of(prefs, errors="sandwich", prior=0.5)
    monkeypatch.setattr(clusters, "CELLS_AT_ONCE", 1_000)
    monkeypatch.setattr(clusters, "DENSE", 10**6)
    assert errors_of(prefs, errors="sandwich", prior=0.5) == pytest.approx(at_once, rel=1e-9)


def test_rows_of_voters_give_products_and_draws_as_a_dense_matrix_does(monkeypatch, backend):
    from concordant.models import clusters

    rng = np.random.default_rng(3)
    row, slot, value = rng.integers(0, 50, 300), rng.integers(0, 9, 300), rng.normal(size=300)
    scale, extra, of_extra = rng.random(9), rng.normal(size=(50, 2)), rng.normal(size=(2, 9))
    dense = np.zeros((50, 9))
    np.add.at(dense, (row, slot), value)
    dense = (dense - extra @ of_extra) * scale
    rows = clusters.Rows(*clusters.kernels.join_entries(row, slot, value, 50, 9), scale)
    rows.extra, rows.of_extra = extra, of_extra
    left, right = rng.normal(size=(2, 9, 4))
    for cells, share in ((40, 8), (10**6, 0)):
        monkeypatch.setattr(clusters, "CELLS_AT_ONCE", cells)
        monkeypatch.setattr(clusters, "DENSE", share)
        np.testing.assert_allclose(rows.squares(), dense.T @ dense, atol=1e-12)
        assert rows.trace(left, right) == pytest.approx(float(((dense @ left) * (dense @ right)).sum()))
        drawn = rows.noise(np.random.default_rng(0), 6)
        np.testing.assert_allclose(drawn, dense.T @ np.random.default_rng(0).standard_normal((50, 6)), atol=1e-12)
