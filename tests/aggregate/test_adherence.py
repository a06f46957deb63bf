"""How far agents follow the consensus: learnt from the preferences alone, or from labels."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import spearmanr
from tools.measure_adherence import CROWDS, crowd, order

import concordant as cc
from concordant.aggregate.multinomial.mpm import agreement
from concordant.models.observations.preference_counts import count
from concordant.models.solve.multinomial import Solver


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


@pytest.mark.parametrize(("adherence_prior", "times"), [("none", 3), ("auto", 2.5)])
def test_outliers_are_found_without_labels(adherence_prior, times):
    prefs, _ = noisy()
    ranking = cc.rank(prefs, "mpm", adherence=True, adherence_prior=adherence_prior, prior=0.001)
    good = [theta for agent, theta in ranking.agents.items() if agent.startswith("good")]
    bad = [theta for agent, theta in ranking.agents.items() if agent.startswith("bad")]
    assert min(good) > times * max(bad)
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


@pytest.mark.parametrize("name", [name for name in CROWDS if "2 to 400" not in name and "large" not in name])
def test_workers_are_ordered_as_well_as_dawid_skene_orders_them(name):
    found = []
    for seed in range(3):
        drawn = crowd(seed, **CROWDS[name])
        ranking = cc.rank(drawn.prefs, "mpm", adherence=True)
        judged = cc.rank(drawn.prefs, "dawid-skene").agents
        found.append([order(one, drawn.accuracy, list(ranking.agents)) for one in (ranking.agents, judged)])
    learnt, by_dawid_skene = np.mean(found, axis=0)
    assert by_dawid_skene >= 0.8
    assert learnt >= 0.8


def test_every_worker_but_those_who_always_answer_alike_has_an_adherence():
    drawn = crowd(1, **CROWDS["spammers, 2 classes"])
    for adherence_prior in ("auto", "none"):
        ranking = cc.rank(drawn.prefs, "mpm", adherence=True, adherence_prior=adherence_prior)
        constant = [worker for worker, kind in drawn.kind.items() if kind == "constant"]
        assert set(ranking.agents) == set(drawn.kind) - set(constant)
        assert all(0 <= theta <= 1 for theta in ranking.agents.values())
        assert max(ranking.agents.values()) == 1
        (notice,) = [notice for notice in ranking.warnings if notice.name == "no-preference"]
        assert set(notice.items) == set(constant)
        assert notice.text.startswith(
            "12 of 60 agents rank no item above another, so their adherence cannot be estimated"
        )
        assert {row["agent"] for row in ranking.to_dict()["agents"]}.isdisjoint(constant)
    assert ranking.explain()


def test_a_crowd_without_any_preference_has_no_adherences():
    prefs = cc.Preferences.from_ratings(["u", "u", "v", "v"], ["a", "b", "a", "b"], [1, 1, 2, 2])
    ranking = cc.rank(prefs, "mpm", adherence=True)
    assert not ranking.agents
    assert ranking.tiers == [["a", "b"]]
    assert ranking.model.log_likelihood(prefs) == 0


def test_a_drawn_comparison_alone_is_no_adherence():
    prefs = cc.Preferences.from_pairs(["a", "a", "a"], ["b", "b", "b"], tie=[False, False, True], agent=["u", "v", "w"])
    assert set(cc.rank(prefs, "mpm", adherence=True).agents) == {"u", "v"}


def test_agents_with_few_answers_stay_near_the_average():
    drawn = crowd(3, {"expert": 1.0}, workers=40, items=200, answers=80)
    prefs = drawn.prefs
    worst = min(drawn.accuracy, key=drawn.accuracy.get)
    whole = cc.rank(prefs, "mpm", adherence=True).agents
    own = np.repeat(prefs.agent == prefs.agents.code(worst), np.diff(prefs.indptr))
    keep = ~own | (np.cumsum(own) % 13 == 1)
    agent = prefs.agents.take(np.repeat(prefs.agent, np.diff(prefs.indptr))[keep])
    few = cc.Preferences.from_ratings(agent, prefs.items.take(prefs.item[keep]), prefs.value[keep])
    shrunk = cc.rank(few, "mpm", adherence=True).agents
    average = np.mean(list(whole.values()))
    assert whole[worst] < 0.5 * average
    assert abs(shrunk[worst] - average) < 0.5 * abs(whole[worst] - average)


def test_adherence_does_not_depend_on_how_often_an_item_is_shown_or_on_the_scale_of_an_agent():
    drawn = crowd(4, {"expert": 0.8, "random": 0.2}, workers=50, items=400, answers=60, popular=30)
    learnt = cc.rank(drawn.prefs, "mpm", adherence=True).agents
    assert order(learnt, drawn.accuracy, list(learnt)) >= 0.8
    prefs = drawn.prefs
    factor = np.where(prefs.agent % 2, 10.0, 1.0)[np.repeat(np.arange(prefs.n_ballots), np.diff(prefs.indptr))]
    agent = prefs.agents.take(np.repeat(prefs.agent, np.diff(prefs.indptr)))
    scaled = cc.Preferences.from_ratings(agent, prefs.items.take(prefs.item), prefs.value * factor)
    found = cc.rank(scaled, "mpm", adherence=True).agents
    np.testing.assert_allclose([found[a] for a in learnt], list(learnt.values()), atol=1e-6)


def test_agents_who_agree_with_nobody_count_alike():
    prefs = cc.Preferences.from_rankings([["a", "b", "c"], ["c", "b", "a"]], agent=["u", "v"])
    ranking = cc.rank(prefs, "mpm", adherence=True)
    assert ranking.agents == {"u": 1.0, "v": 1.0}
    assert ranking.tiers == [["a", "b", "c"]]


def test_huge_and_unanimous_ratings_give_finite_adherences():
    rows = [(f"u{n}", f"i{k}", float(k) * 1e29) for n in range(5) for k in range(4)]
    agents, items, ratings = zip(*rows, strict=True)
    found = cc.rank(cc.Preferences.from_ratings(agents, items, ratings), "mpm", adherence=True, counts="binary").agents
    assert list(found.values()) == pytest.approx([1.0] * 5)


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
    with pytest.raises(cc.ParameterError, match="does not learn"):
        cc.MPM().with_learnt(phi=1.0)
