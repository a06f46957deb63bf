"""How far agents follow the consensus: learnt from the preferences alone, or from labels."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import concordant as cc
from concordant.aggregate.multinomial._counts import count
from concordant.aggregate.multinomial._solve import Solver
from concordant.aggregate.multinomial.mpm import agreement


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


def test_learnt_adherence_is_a_constrained_optimum():
    prefs, _ = noisy(n_instances=3)
    solver = Solver(count(prefs, "difference"), 0.01, "equal")
    theta, solution = solver.learn_adherence(prefs.agent, np.ones(len(prefs.agents)))
    slope = solver.slopes(solution, prefs.agent, len(theta))
    inner = (theta > 1e-6) & (theta < 1 - 1e-6)
    scale = np.abs(solver.slopes(solver.solve(np.ones(prefs.n_ballots)), prefs.agent, len(theta))).max()
    assert np.abs(slope[inner]).max(initial=0.0) < 1e-5 * scale
    assert (slope[theta < 1e-6] > -1e-6).all()
    assert (slope[theta > 1 - 1e-6] < 1e-6).all()


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
