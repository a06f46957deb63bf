"""How far agents follow the consensus: learnt from the preferences alone, or from labels."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import spearmanr

import concordant as cc
from concordant.aggregate.multinomial.mpm import agreement
from concordant.models.counts import count
from concordant.models.multinomial import Solver


def noisy(n_good=8, n_bad=4, m=12, n_instances=6, seed=0):
    """Good agents follow the truth with noise, bad ones answer at random; labels are the truth."""
    rng = np.random.default_rng(seed)
    rows, truth = [], []
    for q in range(n_instances):
        quality = rng.permutation(m)
        truth += [(f"q{q}", f"d{i}", int(quality[i]) // 4) for i in range(m)]
        for e in range(n_good + n_bad):
            noise = rng.normal(size=m) * (2.0 if e < n_good else 100.0)
            order = np.argsort(-(quality + noise))
            rows += [(f"q{q}", f"{'good' if e < n_good else 'bad'}{e}", f"d{i}", k + 1) for k, i in enumerate(order)]
    instance, agent, item, rank = zip(*rows, strict=True)
    return cc.Preferences.from_ranks(agent, item, rank, instance=instance), cc.Labels(*zip(*truth, strict=True))


def test_outliers_are_found_without_labels():
    prefs, _ = noisy()
    ranking = cc.rank(prefs, "mpm", adherence=True, prior=0.001)
    good = [theta for agent, theta in ranking.agents.items() if agent.startswith("good")]
    bad = [theta for agent, theta in ranking.agents.items() if agent.startswith("bad")]
    assert min(good) > 3 * max(bad)
    assert max(good) == 1.0
    (notice,) = [notice for notice in ranking.warnings if notice.name == "outlier-agents"]
    assert set(notice.items) <= {f"bad{e}" for e in range(8, 12)}


def objective(solver, theta, agent):
    """The profiled objective of adherences with mean square 1, by count."""
    share = np.bincount(agent, weights=solver.corpus.weighted_total, minlength=len(theta))
    unit = theta / np.sqrt(share @ theta**2 / share.sum())
    return solver.objective(Solver(solver.corpus, solver.prior, solver.variances).solve(unit[agent]))


def test_learnt_adherence_is_a_constrained_optimum():
    prefs, _ = noisy(n_instances=3)
    solver = Solver(count(prefs, "difference"), 0.01, "equal")
    theta, solution, has_converged = solver.learn_adherence(prefs.agent, np.ones(len(prefs.agents)))
    best = objective(solver, theta, prefs.agent)
    assert has_converged
    assert solution.theta.max() == 1.0
    for n in range(len(theta)):
        for step in (-0.02, 0.02):
            moved = theta.copy()
            moved[n] = max(moved[n] + step, 0.0)
            assert objective(solver, moved, prefs.agent) >= best - 1e-10


def test_no_adherences_on_a_grid_do_better():
    rng = np.random.default_rng(5)
    for _ in range(30):
        rows = [(f"a{n}", f"i{i}", int(rng.integers(1, 6))) for n in range(4) for i in rng.permutation(4)[:3]]
        agents, items, stars = zip(*rows, strict=True)
        prefs = cc.Preferences.from_ratings(agents, items, stars)
        solver = Solver(count(prefs, "difference"), 0.1, "equal")
        theta, _, _ = solver.learn_adherence(prefs.agent, np.ones(4))
        found = objective(solver, theta, prefs.agent)
        for other in itertools.product((0.0, 0.35, 0.7, 1.0), repeat=4):
            if any(np.array(other) * solver.corpus.weighted_total):
                assert found <= objective(solver, np.array(other), prefs.agent) + 1e-7, other


def test_good_workers_are_told_from_bad_ones_by_default():
    correlations = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        accuracy, truth = rng.uniform(0.5, 0.95, 30), rng.integers(0, 2, 200)
        rows = [
            (f"w{w}", f"d{d}", int(truth[d] if rng.random() < accuracy[w] else 1 - truth[d]), f"q{d // 20}")
            for w in range(30)
            for d in rng.permutation(200)[:60]
        ]
        workers, documents, votes, topics = zip(*rows, strict=True)
        ranking = cc.rank(
            cc.Preferences.from_ratings(workers, documents, votes, instance=topics), "mpm", adherence=True
        )
        theta = [ranking.agents[f"w{w}"] for w in range(30)]
        correlations.append(spearmanr(theta, accuracy).statistic)
    assert np.mean(correlations) > 0.7


def test_scores_variances_and_adherence_can_be_learnt_together():
    prefs, _ = noisy(n_instances=2, m=6)
    ranking = cc.rank(prefs, "mpm", adherence=True, variances="learnt")
    assert ranking.fit["gradient"] < 1e-8
    assert "variance" in ranking.details
    assert ranking.agents is not None


def test_adherence_from_labels_is_the_mean_agreement():
    prefs, labels = noisy()
    truth = {(q, d): value for q, d, value in zip(*_columns(labels), strict=True)}
    expected = {}
    for b in range(prefs.n_ballots):
        span = range(prefs.indptr[b], prefs.indptr[b + 1])
        q = prefs.instances[prefs.instance[b]]
        pairs = [
            truth[q, prefs.items[prefs.item[i]]] > truth[q, prefs.items[prefs.item[j]]]
            for i, j in itertools.combinations(span, 2)
            if truth[q, prefs.items[prefs.item[i]]] != truth[q, prefs.items[prefs.item[j]]]
        ]
        expected.setdefault(prefs.agents[prefs.agent[b]], []).append(np.mean(pairs))
    found = agreement(prefs, labels)
    np.testing.assert_allclose(found, [np.mean(expected[agent]) for agent in prefs.agents])
    theta = np.array(list(cc.MPM().fit(prefs, labels).learnt["theta"].values()))
    np.testing.assert_allclose(theta, (found - found.min()) / (found.max() - found.min()))
    plain = np.array(list(cc.MPM(normalise=False).fit(prefs, labels).learnt["theta"].values()))
    np.testing.assert_allclose(plain, found)


def _columns(labels):
    owner = np.repeat(np.arange(labels.n_instances), np.diff(labels.ptr))
    return [labels.instances[q] for q in owner], [labels.items[i] for i in labels.item], labels.label


def test_ties_count_half_and_unlabelled_items_not_at_all():
    prefs = cc.Preferences.from_rankings([["a", ["b", "c"], "d"]], agent=["x"])
    assert agreement(prefs, cc.Labels(None, ["a", "b", "c"], [0, 2, 1])) == pytest.approx([0.5 / 3])
    with pytest.raises(cc.InputError, match="different labels"):
        agreement(prefs, cc.Labels(None, ["a", "b"], [1, 1]))


def test_fit_returns_a_new_method_and_leaves_the_old_one():
    prefs, labels = noisy()
    method = cc.MPM()
    fitted = method.fit(prefs, labels)
    assert method.learnt == {}
    assert fitted.rank(prefs).agents == fitted.learnt["theta"]
    assert method.rank(prefs).agents is None
    stranger = cc.Preferences.from_rankings([["a", "b"]], agent=["never seen"])
    assert fitted.rank(stranger).agents["never seen"] == pytest.approx(np.mean(list(fitted.learnt["theta"].values())))


def test_adherence_needs_agents():
    prefs = cc.Preferences.from_rankings([["a", "b"], ["b", "a"]])
    with pytest.raises(cc.NeedError, match="agent"):
        cc.rank(prefs, "mpm", adherence=True)
    with pytest.raises(cc.NeedError, match="agent"):
        cc.MPM().fit(prefs, cc.Labels(None, ["a"], [1]))
    with pytest.raises(cc.ParameterError, match="learns no"):
        cc.MPM().with_learnt(phi=1.0)
