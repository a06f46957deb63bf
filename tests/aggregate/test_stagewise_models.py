"""Plackett-Luce and ordered partitions: derivatives, optima, oracles, edge cases."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from tests.cases import EDGES

import concordant as cc
from concordant import kernels, laws
from concordant.aggregate.stagewise import _model as stagewise
from concordant.aggregate.stagewise._posterior import sample_scores
from concordant.models.likelihoods.observed import ObservedStages
from concordant.models.likelihoods.priors import Prior
from concordant.models.observations import stages as stage_models
from concordant.models.solve import strategies

STRATEGIES = ("batch", "matrix", "products")
METHODS = ("plackett-luce", "ordered-partitions")


def random_stages(seed, ties):
    rng = np.random.default_rng(seed)
    prefs = laws.random_preferences(rng)
    return prefs, stage_models.stages_of(prefs, ties), rng


def simulate(n_ballots, length, n_items, seed=0, spread=1.0):
    rng = np.random.default_rng(seed)
    score = spread * rng.normal(size=n_items)
    score -= score.mean()
    items = np.argsort(rng.random((n_ballots, n_items)), axis=1)[:, :length]
    noisy = score[items] + rng.gumbel(size=items.shape)
    items = np.take_along_axis(items, np.argsort(-noisy, axis=1), axis=1)
    indptr = np.arange(0, n_ballots * length + 1, length)
    tier = np.tile(np.arange(length), n_ballots)
    return cc.Preferences([f"i{k}" for k in range(n_items)], indptr, items.ravel(), tier), score


def log_likelihood(stages, score):
    """The definition, stage by stage."""
    total = 0.0
    for b in range(len(stages.weight)):
        span = range(stages.indptr[b], stages.indptr[b + 1])
        starts = [k for k in span if stages.mark[k]]
        for k, end in zip(starts, [*starts[1:], span.stop], strict=True):
            if stages.mark[k] == 1:
                worth = np.exp(score[stages.slot[k : span.stop]])
                total += stages.weight[b] * np.log(worth[: end - k].sum() / worth.sum())
    return total


def value_and_gradient(stages, score):
    worth = np.exp(score)
    value, gain, rate = kernels.stage_sums(stages.rows, worth)
    return value + stages.wins @ score, stages.wins + worth * (gain - rate)


def differences(function, point, step=1e-6):
    return np.array([(function(point + e) - function(point - e)) / (2 * step) for e in step * np.eye(len(point))])


# ---- derivatives ----
@pytest.mark.parametrize("ties", ["shuffle", "input", "partition"])
@pytest.mark.parametrize("seed", range(12))
def test_value_gradient_and_curvature_agree_with_the_definition_and_finite_differences(ties, seed):
    prefs, stages, rng = random_stages(seed, ties)
    score = rng.normal(size=prefs.n_slots)
    value, gradient = value_and_gradient(stages, score)
    assert value == pytest.approx(log_likelihood(stages, score), abs=1e-10)
    assert gradient == pytest.approx(differences(lambda s: value_and_gradient(stages, s)[0], score), abs=1e-6)
    curvature = kernels.stage_hessian(stages.rows, np.exp(score))
    assert curvature == pytest.approx(-differences(lambda s: value_and_gradient(stages, s)[1], score), abs=1e-6)


@pytest.mark.parametrize("kind", ["gaussian", "gamma"])
def test_the_derivatives_of_the_priors_agree_with_finite_differences(kind):
    prior, rng = stagewise.prior_of(0.7, kind, 1).alone(5), np.random.default_rng(0)
    score = rng.normal(size=5)

    def derivatives(s):
        matrix = np.zeros((1, 5, 5))
        prior.add_hessian(s[None], matrix)
        return prior.value(s[None])[0], prior.gradient(s[None])[0], matrix[0]

    value, gradient, matrix = derivatives(score)
    assert np.isfinite(value)
    assert gradient == pytest.approx(differences(lambda s: derivatives(s)[0], score), abs=1e-6)
    assert matrix == pytest.approx(-differences(lambda s: derivatives(s)[1], score), abs=1e-6)
    assert prior.product(score[None], np.eye(5)) == pytest.approx(matrix, abs=1e-9)


@pytest.mark.parametrize("ties", ["shuffle", "partition"])
@pytest.mark.parametrize("seed", range(6))
def test_products_with_the_second_derivatives_need_no_matrix(seed, ties):
    prefs, stages, rng = random_stages(seed, ties)
    worth, x = np.exp(rng.normal(size=prefs.n_slots)), rng.normal(size=(prefs.n_slots, 6))
    expected = kernels.stage_hessian(stages.rows, worth) @ x
    _, gain, rate = kernels.stage_sums(stages.rows, worth)
    assert kernels.stage_product(stages.rows, worth, rate - gain, x) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("ties", ["input", "partition"])
@pytest.mark.parametrize("is_gamma", [False, True])
@pytest.mark.parametrize("strength", [0.02, 0.3, 30.0])
def test_all_ways_to_fit_lead_to_the_same_scores(strength, is_gamma, ties):
    rng = np.random.default_rng(3)
    ballots = [[f"i{x}" for x in rng.permutation(30)[: rng.integers(2, 9)]] for _ in range(25)]
    if ties == "partition":
        ballots = [[ballot[:-2], ballot[-2:]] if len(ballot) > 3 else ballot for ballot in ballots]
    stages = stage_models.stages_of(cc.Preferences.from_rankings(ballots), ties)
    prior = Prior(np.array([strength]), np.array([strength]), is_gamma)
    one, other, third = (strategies.fit(ObservedStages(stages), prior, strategy=strategy)[0] for strategy in STRATEGIES)
    assert other.score == pytest.approx(one.score, abs=1e-6)
    assert third.score == pytest.approx(one.score, abs=1e-6)


def test_long_ballots_of_tiny_worths_do_not_underflow():
    n = 400
    prefs = cc.Preferences.from_rankings([[f"i{k}" for k in range(n)]] * 5)
    stages = stage_models.stages_of(prefs, "input")
    value, gradient = value_and_gradient(stages, np.linspace(0, -300, n))
    assert np.isfinite(value)
    assert np.isfinite(gradient).all()
    assert value == pytest.approx(log_likelihood(stages, np.linspace(0, -300, n)))


# ---- optima ----
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("kind", ["gaussian", "gamma"])
@pytest.mark.parametrize("ties", ["shuffle", "partition"])
def test_all_solvers_find_the_same_optimum_with_a_vanishing_gradient(strategy, kind, ties):
    rng = np.random.default_rng(3)
    ballots = [[f"i{k}" for k in rng.permutation(8)[:5]] for _ in range(30)]
    ballots += [[["i0", "i1"], "i2", ["i3", "i4"], "i5"]] * 3
    prefs = cc.Preferences.from_rankings(ballots)
    stages, prior = stage_models.stages_of(prefs, ties), stagewise.prior_of(0.2, kind, 1)
    fits = (strategies.fit(ObservedStages(stages), prior, strategy=one) for one in (strategy, None))
    fit, reference = (strategies.with_errors(*fitted) for fitted in fits)
    assert fit.slack[0] < 1e-9 * fit.observed.total[0]
    assert fit.score == pytest.approx(reference.score, abs=1e-7)
    assert fit.value[0] == pytest.approx(log_likelihood(stages, fit.score))
    if fit.is_definite.all():
        assert fit.covariance == pytest.approx(reference.covariance, abs=1e-6)


@pytest.mark.parametrize("kind", ["gaussian", "gamma"])
def test_all_ways_find_the_same_optimum(kind):
    prefs, _ = simulate(200, 5, 12)
    observed, prior = ObservedStages(stage_models.stages_of(prefs, "input")), stagewise.prior_of(0.2, kind, 1)
    batch, *others = (
        strategies.with_errors(*strategies.fit(observed, prior, strategy=strategy, with_log_det=True))
        for strategy in STRATEGIES
    )
    for fit in others:
        assert fit.score == pytest.approx(batch.score, abs=1e-7)
        assert fit.covariance == pytest.approx(batch.covariance, abs=1e-6)
    assert others[0].log_det == pytest.approx(batch.log_det, abs=1e-6)
    assert others[1].log_det == pytest.approx(batch.log_det, abs=2.0)


@pytest.mark.parametrize("method", METHODS)
def test_a_large_instance_reaches_its_optimum(method, monkeypatch):
    prefs, truth = simulate(3000, 8, 300)
    ranking = cc.rank(prefs, method)
    assert ranking.fit["gradient"] < 1e-9
    assert np.corrcoef(ranking.score, truth)[0, 1] > 0.97
    monkeypatch.setattr(
        strategies, "strategies_of", lambda *_: strategies.same_strategy("batch", 1)
    )  # the same by the kernel's Newton steps
    again = cc.rank(prefs, method)
    assert again.score == pytest.approx(ranking.score, abs=1e-6)
    assert again.details["stderr"] == pytest.approx(ranking.details["stderr"], rel=1e-4)


def test_pairs_give_the_bradley_terry_estimates_of_the_journal_citations():
    # Agresti, Categorical Data Analysis: citations between four statistics journals.
    names = ["Biometrika", "Comm. Statist.", "JASA", "JRSS-B"]
    wins = [[0, 730, 498, 221], [33, 0, 68, 17], [320, 813, 0, 142], [284, 276, 325, 0]]
    cells = [(i, j, wins[i][j]) for i in range(4) for j in range(4) if wins[i][j]]
    prefs = cc.Preferences.from_pairs(
        [names[i] for i, _, _ in cells], [names[j] for _, j, _ in cells], weight=[float(w) for *_, w in cells]
    )
    ranking = cc.rank(prefs, "plackett-luce", prior=0.0)
    score = dict(zip(ranking.items, ranking.scores, strict=True))
    gaps = [score[name] - score["Biometrika"] for name in names[1:]]
    assert gaps == pytest.approx([-2.94907, -0.47957, 0.26895], abs=1e-5)


def test_equal_first_choices_have_equal_scores_and_shares_become_worths():
    prefs = cc.Preferences.from_rankings([["a", ["b", "c"]]] * 6 + [["b", ["a", "c"]]] * 3 + [["c", ["a", "b"]]] * 1)
    opened = prefs.replace(open=np.ones(10, bool))
    ranking = cc.rank(opened, "plackett-luce", prior=0.0)
    worth = np.exp(ranking.scores)
    assert ranking.items == ["a", "b", "c"]
    assert worth / worth.sum() == pytest.approx([0.6, 0.3, 0.1], abs=1e-9)
    assert ranking.model.p_beats("a", "b") == pytest.approx(2 / 3)
    assert ranking.model.p_first(["a", "b", "c"]) == pytest.approx([0.6, 0.3, 0.1])


def test_open_ballots_keep_the_rest_in_the_denominator_and_partial_ones_do_not():
    ballots = [["a", "b"], ["a", "b"], ["b", "a"]]
    candidates = ["a", "b", "c", "d"]
    prefs = cc.Preferences.from_rankings(ballots, candidates=candidates)
    plain = cc.rank(prefs, "plackett-luce")
    topk = cc.rank(prefs, "plackett-luce-topk")
    assert dict(zip(plain.items, plain.scores, strict=True))["c"] == pytest.approx(0.0, abs=1e-9)
    assert topk.items[:2] == ["a", "b"]
    assert set(topk.tiers[-1]) == {"c", "d"}
    spelt = cc.Preferences.from_rankings([[*ballot, ["c", "d"]] for ballot in ballots], candidates=candidates)
    spelt = spelt.replace(open=np.ones(3, bool))
    assert cc.rank(spelt, "plackett-luce").score == pytest.approx(topk.score, abs=1e-9)


# ---- ties ----
def test_without_ties_ordered_partitions_is_plackett_luce():
    prefs, _ = simulate(60, 4, 7)
    one = cc.rank(prefs, "plackett-luce", prior=0.3)
    other = cc.rank(prefs, "ordered-partitions", prior=0.3, prior_kind="gaussian")
    assert one.score == pytest.approx(other.score, abs=1e-9)


def test_a_tied_pair_before_a_third_gets_equal_scores_under_the_gamma_prior():
    prefs = cc.Preferences.from_rankings([[["a", "b"], "c"]] * 100)
    ranking = cc.rank(prefs, "ordered-partitions")
    assert ranking.tiers == [["a", "b"], ["c"]]


def test_the_likelihood_with_ties_curves_upwards_somewhere():
    # Hessian eigenvalue +1/6 at equal worths, along a - b, for one ballot {a, b} > c: weight / 2 - weight / 3.
    prefs = cc.Preferences.from_rankings([[["a", "b"], "c"]])
    curvature = kernels.stage_hessian(stage_models.stages_of(prefs, "partition").rows, np.ones(3))
    along = np.array([1.0, -1.0, 0.0]) / np.sqrt(2)
    assert along @ curvature @ along == pytest.approx(-1 / 6)


def test_errors_that_do_not_exist_are_said_not_to():
    # Under a weak Gaussian prior equal scores of a and b are a saddle point: unequal ones, either way, fit better.
    prefs = cc.Preferences.from_rankings([[["a", "b"], "c"]] * 100)
    ranking = cc.rank(prefs, "ordered-partitions", prior_kind="gaussian")
    assert ranking.low is None
    assert "no-errors" in {notice.name for notice in ranking.warnings}
    assert cc.rank(prefs, "ordered-partitions").low is not None


def test_shuffled_ties_are_told_and_repeatable():
    prefs = cc.Preferences.from_rankings([["a", ["b", "c", "d"]]] * 20)
    one, same, other = (cc.rank(prefs, "plackett-luce", seed=seed) for seed in (1, 1, 2))
    assert (one.score == same.score).all()
    assert (one.score != other.score).any()
    assert "ties-broken" in {notice.name for notice in one.warnings}


def test_probabilities_of_all_orders_sum_to_one():
    prefs = cc.Preferences.from_rankings(list(permutations("abcd")))
    stages = stage_models.stages_of(prefs, "input")
    score = np.random.default_rng(0).normal(size=4)
    total = 0.0
    for b in range(24):
        part = stage_models.Stages(
            stages.slot_ptr,
            np.array([0, 1]),
            np.array([0, 4]),
            stages.slot[4 * b : 4 * b + 4],
            stages.mark[4 * b : 4 * b + 4],
            np.ones(1),
        )
        total += np.exp(value_and_gradient(part, score)[0])
    assert total == pytest.approx(1.0)


# ---- uncertainty ----
def test_standard_errors_are_those_of_the_inverse_curvature_of_scores_that_sum_to_zero():
    prefs, _ = simulate(50, 4, 6)
    ranking = cc.rank(prefs, "plackett-luce", prior=0.0)
    stages = stage_models.stages_of(prefs, "input")
    curvature = kernels.stage_hessian(stages.rows, np.exp(ranking.score))
    expected = np.sqrt(np.diag(np.linalg.pinv(curvature)))
    assert ranking.details["stderr"] == pytest.approx(expected, rel=1e-6)
    assert ((ranking.slot_low < ranking.score) & (ranking.score < ranking.slot_high)).all()
    assert (ranking.details["rank_low"] <= ranking.details["rank_high"]).all()
    assert ranking.details["p_best"].sum() == pytest.approx(1.0)


def test_the_posterior_agrees_with_the_normal_approximation_on_much_data():
    prefs, _ = simulate(400, 4, 5)
    normal = cc.rank(prefs, "plackett-luce", prior=1.0, prior_kind="gamma")
    drawn = cc.rank(prefs, "plackett-luce", prior=1.0, prior_kind="gamma", posterior=1500)
    assert drawn.score == pytest.approx(normal.score, abs=0.03)
    assert drawn.details["stderr"] == pytest.approx(normal.details["stderr"], rel=0.15)
    assert drawn.details["p_best"].sum() == pytest.approx(1.0)


def test_without_data_the_posterior_is_the_prior():
    prefs = cc.Preferences.from_rankings([["a"]], candidates=["a", "b", "c"])
    stages = stage_models.stages_of(prefs, "input")
    rng = np.random.default_rng(0)
    drawn = sample_scores(prefs, stages, np.zeros(3), 2.0, 4000, rng)
    direct = np.log(rng.standard_gamma(2.0, (4000, 3)))
    direct -= direct.mean(axis=1, keepdims=True)
    assert drawn.std(axis=0) == pytest.approx(direct.std(axis=0), rel=0.08)


def test_the_posterior_needs_the_gamma_prior():
    prefs = cc.Preferences.from_rankings([["a", "b"]])
    with pytest.raises(cc.ParameterError, match="prior_kind='gamma'"):
        cc.rank(prefs, "plackett-luce", posterior=10)


@pytest.mark.slow
def test_intervals_cover_the_truth_as_often_as_they_say(backend):
    if backend == "twins":
        pytest.skip("the same arithmetic, slower")
    inside = []
    for seed in range(1000):
        prefs, truth = simulate(100, 5, 8, seed=seed, spread=0.7)
        ranking = cc.rank(prefs, "plackett-luce", prior=0.0)
        inside.append((ranking.slot_low <= truth) & (truth <= ranking.slot_high))
    assert 0.93 <= np.mean(inside) <= 0.97


# ---- edge cases ----
TOLD = {
    "undefeated": ("never-lost", {"a"}),
    "winless": ("never-won", {"c"}),
    "two components": ("disconnected", {"c", "d"}),
    "compared once": ("never-won", {"z"}),
    "a single ballot": ("never-lost", {"a"}),
    "two items": ("never-won", {"b"}),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("prior", [0.1, 0.0])
@pytest.mark.parametrize("case", EDGES)
def test_hard_cases_are_finite_and_told(method, prior, case):
    ranking = cc.rank(cc.Preferences.from_rankings(EDGES[case]), method, prior=prior)
    assert np.isfinite(ranking.score).all()
    notices = {notice.name: set(notice.items) for notice in ranking.warnings}
    if case in TOLD:
        name, items = TOLD[case]
        assert notices[name] == items


@pytest.mark.parametrize("method", METHODS)
def test_candidates_nobody_ranked_are_told(method):
    prefs = cc.Preferences.from_rankings([["a", "b"], ["b", "a"]], candidates=["a", "b", "c"])
    ranking = cc.rank(prefs, method)
    assert [notice.items for notice in ranking.warnings if notice.name == "never-compared"] == [("c",)]


def test_groups_between_which_all_agree_are_told():
    prefs = cc.Preferences.from_rankings([["a", "b", "c", "d"], ["b", "a", "d", "c"]])
    (notice,) = cc.rank(prefs, "plackett-luce").warnings
    assert notice.name == "separated"


def test_large_and_small_instances_together_are_each_alone():
    prefs, _ = simulate(600, 6, 300)
    labels = [f"i{k}" for k in range(300)]
    large = [[labels[i] for i in prefs.item[6 * b : 6 * b + 6]] for b in range(600)]
    small = [["x", "y", "z"], ["y", "x", "z"]]
    instance = ["s"] * 2 + ["l"] * 600
    both = cc.Preferences.from_rankings(small + large, instance=instance)
    together = cc.rank(both, "plackett-luce")
    alone = cc.rank(cc.Preferences.from_rankings(small), "plackett-luce")
    assert together["s"].scores == pytest.approx(alone.scores, abs=1e-9)
    assert together["l"].items == cc.rank(cc.Preferences.from_rankings(large), "plackett-luce").items


def test_choices_and_top_k_lists_go_to_plackett_luce_by_default():
    prefs = cc.Preferences.from_rankings([["a", ["b", "c"]], ["b", ["a", "c"]]])
    assert cc.rank(prefs.replace(open=np.ones(2, bool))).method == "plackett-luce"


@pytest.mark.parametrize("method", ["plackett-luce", "ordered-partitions"])
def test_a_model_of_several_instances_wants_to_know_which(method):
    prefs = cc.Preferences.from_rankings([["a", "b"], ["b", "c"]], instance=["q", "r"])
    model = cc.rank(prefs, method).model
    assert model.p_beats("a", "b", instance="q") > 0.5 > model.p_beats("c", "b", instance="r")
    for ask in (model.p_beats, lambda *items, **more: model.p_first(items, **more)):
        with pytest.raises(cc.InputError, match="several instances: name one with instance="):
            ask("a", "b")
        with pytest.raises(cc.InputError, match="'a' is not a candidate of this instance"):
            ask("a", "b", instance="r")
    alone = cc.rank(cc.Preferences.from_rankings([["a", "b"]]), method).model
    with pytest.raises(cc.InputError, match="single, unnamed instance"):
        alone.p_beats("a", "b", instance="q")


@pytest.mark.parametrize("top", [None, 2])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_many_ballots_do_not_keep_a_solver_busy_with_rounding(top, strategy, monkeypatch):
    monkeypatch.setattr(strategies, "strategies_of", lambda *_: strategies.same_strategy(strategy, 1))
    drawn = cc.simulate.plackett_luce(5, 20_000, seed=4, top=top)
    ranking = cc.rank(drawn, "plackett-luce", prior=0.01, errors="none")
    assert ranking.fit["steps"] < 60
    merged = cc.rank(drawn.merge(), "plackett-luce", prior=0.01, errors="none")
    if top is None:  # with ties, the shuffle is another one
        assert ranking.scores == pytest.approx(merged.scores, abs=1e-7)
