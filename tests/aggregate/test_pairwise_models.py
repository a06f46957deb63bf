"""Score models of comparisons: golden numbers, optimality, uncertainty, and data that cannot be fitted."""

from __future__ import annotations

import math

import numpy as np
import pytest

import concordant as cc
from concordant import laws
from concordant.kernels import links
from concordant.models.likelihoods.observed import ObservedDuels
from concordant.models.likelihoods.priors import Prior
from concordant.models.observations.duels import Counting
from concordant.models.solve import strategies
from concordant.models.solve.objectives import Matrix
from concordant.models.uncertainty import resample, simultaneous

MODELS = ("bradley-terry", "thurstone", "davidson", "rao-kupper")
JOURNALS = ("Biometrika", "Comm. Statist.", "JASA", "JRSS-B")
CITATIONS = [[0, 730, 498, 221], [33, 0, 68, 17], [320, 813, 0, 142], [284, 276, 325, 0]]


def from_table(labels, wins):
    rows = [(a, b, wins[i][j]) for i, a in enumerate(labels) for j, b in enumerate(labels) if wins[i][j]]
    winner, loser, weight = zip(*rows, strict=True)
    return cc.Preferences.from_pairs(list(winner), list(loser), weight=list(weight))


def simulate(rng, score, n, tie=0.0):
    m = len(score)
    a = rng.integers(0, m, n)
    b = (a + rng.integers(1, m, n)) % m
    p = 1 / (1 + np.exp(score[b] - score[a]))
    wins = rng.random(n) < p
    drawn = rng.random(n) < tie
    return cc.Preferences.from_pairs(np.where(wins, a, b), np.where(wins, b, a), tie=drawn)


def by_label(ranking, values=None):
    return dict(zip(ranking.items, (ranking.scores if values is None else values).tolist(), strict=True))


# ---- golden numbers ----
def test_the_journals_of_agresti():
    """Agresti, Categorical Data Analysis; coefficients and errors as in the documentation of BradleyTerry2."""
    ranking = cc.rank(from_table(JOURNALS, CITATIONS), "bradley-terry", prior=0)
    expected = {"Comm. Statist.": (-2.94907, 0.10255), "JASA": (-0.47957, 0.06059), "JRSS-B": (0.26895, 0.07083)}
    for journal, (difference, error) in expected.items():
        assert ranking.model.difference(journal, "Biometrika") == pytest.approx((difference, error), abs=1e-5)
    assert ranking.items == ["JRSS-B", "Biometrika", "JASA", "Comm. Statist."]
    assert abs(ranking.score.sum()) < 1e-9


def test_two_items_have_the_log_odds_as_difference():
    ranking = cc.rank(from_table("ab", [[0, 3], [1, 0]]), "bradley-terry", prior=0)
    difference, error = ranking.model.difference("a", "b")
    assert difference == pytest.approx(math.log(3))
    assert error == pytest.approx(math.sqrt(1 / 3 + 1))


def test_davidson_in_closed_form_for_two_items():
    votes = cc.Preferences.from_pairs(["a", "b", "a"], ["b", "a", "b"], weight=[4, 1, 6], tie=[0, 0, 1])
    ranking = cc.rank(votes, "davidson", prior=0)
    assert ranking.model.difference("a", "b")[0] == pytest.approx(math.log(4))
    assert ranking.fit["tie_parameter"] == pytest.approx(math.log(6 / math.sqrt(4 * 1)))
    assert ranking.model.p_tie("a", "b") == pytest.approx(6 / 11)
    assert ranking.model.p_beats("a", "b") == pytest.approx(4 / 11)


def test_rao_kupper_reproduces_the_shares_of_two_items():
    votes = cc.Preferences.from_pairs(["a", "b", "a"], ["b", "a", "b"], weight=[4, 1, 6], tie=[0, 0, 1])
    model = cc.rank(votes, "rao-kupper", prior=0).model
    assert [model.p_beats("a", "b"), model.p_beats("b", "a"), model.p_tie("a", "b")] == pytest.approx(
        [4 / 11, 1 / 11, 6 / 11]
    )


def test_thurstone_of_two_items_is_the_normal_quantile():
    ranking = cc.rank(from_table("ab", [[0, 3], [1, 0]]), "thurstone", prior=0)
    assert ranking.model.difference("a", "b")[0] == pytest.approx(0.6744897501960817)


# ---- optimality ----
@pytest.mark.parametrize("model", range(4))
@pytest.mark.parametrize("is_gamma", [False, True])
def test_gradients_and_curvature_agree_with_finite_differences(model, is_gamma):
    rng = np.random.default_rng(model)
    prefs = simulate(rng, rng.normal(size=5), 60, tie=0.3)
    rng = np.random.default_rng(model + 10)
    shown = prefs.replace(shown=rng.permutation(len(prefs.item)).astype(np.int32))
    duels = Counting(order_effect=True).duels(shown)
    likelihood, prior = ObservedDuels(duels, model).alone(), Prior(np.full(1, 0.3), np.full(1, 0.2), is_gamma)
    problem, m = Matrix(likelihood, prior.alone(likelihood.m)), likelihood.m
    point = rng.normal(size=(1, likelihood.size)) / 2
    step = 1e-5
    problem.evaluate(point)
    gradient, hessian = problem.gradient()[0], problem.hessian(is_exact=True)[0]
    hessian[:m, :m] -= (problem.along - problem.prior.along) / m
    for k in range(likelihood.size):
        up, down = point.copy(), point.copy()
        up[0, k] += step
        down[0, k] -= step
        values, gradients = zip(*((problem.evaluate(x)[0], problem.gradient()[0]) for x in (up, down)), strict=True)
        assert gradient[k] == pytest.approx((values[0] - values[1]) / (2 * step), rel=1e-6, abs=1e-6)
        assert hessian[k] == pytest.approx((gradients[1] - gradients[0]) / (2 * step), rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("strategy", ["batch", "matrix", "products"])
@pytest.mark.parametrize("model", [links.DAVIDSON, links.RAO_KUPPER])
def test_errors_of_ties_and_order_come_from_the_whole_matrix_of_second_derivatives(model, strategy):
    """Inverse of finite differences of the gradient over all parameters, with weak and strong priors."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        prefs = simulate(rng, rng.normal(size=6), 80, tie=rng.choice([0.1, 0.5, 0.8]))
        prefs = prefs.replace(shown=rng.permutation(len(prefs.item)).astype(np.int32))
        duels = Counting(order_effect=True).duels(prefs)
        ridge = np.full(1, 10.0 ** rng.integers(-2, 3))
        fitted = strategies.with_errors(
            *strategies.fit(ObservedDuels(duels, model), Prior(ridge, ridge), strategy=strategy)
        )
        problem = fitted.objective(0)
        point, size = problem.point, problem.likelihood.size
        bend = np.empty((size, size))
        for k, step in enumerate(1e-5 * np.eye(size)):
            up, down = (problem.evaluate(point + side) and problem.gradient()[0] for side in (step, -step))
            bend[k] = (down - up) / 2e-5
        bend[:6, :6] += 1.0  # "all scores up by the same" is no part of the model
        expected = np.diag(np.linalg.inv((bend + bend.T) / 2))[6:]
        assert fitted.extra_variance[0] == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("model", range(4))
@pytest.mark.parametrize("is_gamma", [False, True])
def test_all_three_solvers_find_the_same_optimum(model, is_gamma):
    rng = np.random.default_rng(1)
    prefs = simulate(rng, rng.normal(size=30), 900, tie=0.2)
    duels = Counting().duels(prefs)
    observed, prior = ObservedDuels(duels, model), Prior(np.full(1, 0.1), np.full(1, 0.1), is_gamma)
    all_strategies = ("batch", "matrix", "products")
    small, *others = (
        strategies.with_errors(*strategies.fit(observed, prior, strategy=strategy)) for strategy in all_strategies
    )
    for part in (small, *others):
        assert part.slack[0] < 1e-6 * duels.total.sum()
        assert part.score == pytest.approx(small.score, abs=1e-6)
        assert part.value[0] == pytest.approx(small.value[0], rel=1e-9)
        assert part.tie[0] == pytest.approx(small.tie[0], abs=1e-6)
    assert others[0].covariance == pytest.approx(small.covariance, abs=1e-5)
    if not is_gamma:
        assert np.sqrt(others[1].variance) == pytest.approx(np.sqrt(small.variance), rel=0.05)


def test_many_instances_are_fitted_as_if_alone():
    rng = np.random.default_rng(2)
    winner, loser = rng.integers(0, 6, 300), rng.integers(0, 6, 300)
    keep = winner != loser
    prefs = cc.Preferences.from_pairs(winner[keep], loser[keep], instance=rng.integers(0, 4, 300)[keep])
    together = cc.rank(prefs, "davidson", prior=0.01)
    for label in prefs.instances.labels:
        alone = cc.rank(prefs.select(instances=label), "davidson", prior=0.01)
        assert by_label(together[label]) == pytest.approx(by_label(alone), abs=1e-9)
        assert together[label].detail("stderr") == pytest.approx(alone.detail("stderr"), abs=1e-9)


def test_the_prior_draws_scores_together():
    prefs = from_table(JOURNALS, CITATIONS)
    spread = [np.ptp(cc.rank(prefs, "bradley-terry", prior=prior).score) for prior in (0, 10, 1000)]
    assert spread[0] > spread[1] > spread[2]


def test_a_mean_likelihood_makes_the_prior_independent_of_repetition():
    once, tenfold = (from_table(JOURNALS, (np.array(CITATIONS) * k).tolist()) for k in (1, 10))
    scores = [cc.rank(prefs, "bradley-terry", prior=1, likelihood="mean").score for prefs in (once, tenfold)]
    assert scores[0] == pytest.approx(scores[1])


# ---- data that does not determine the scores ----
HARD = {
    "one undefeated": ([["a", "b"], ["a", "c"], ["b", "c"], ["c", "b"]], "never-lost", ("a",)),
    "one winless": ([["a", "c"], ["b", "c"], ["a", "b"], ["b", "a"]], "never-won", ("c",)),
    "two groups": (
        [["a", "b"], ["b", "a"], ["c", "d"], ["d", "c"], ["d", "e"], ["e", "d"]],
        "disconnected",
        ("a", "b"),
    ),
    "compared once": ([["a", "b"], ["b", "a"], ["a", "c"]], "never-won", ("c",)),
    "a single ballot": ([["a", "b"]], "never-lost", ("a",)),
    "one-way groups": (
        [["a", "b"], ["b", "a"], ["c", "d"], ["d", "c"], ["a", "c"], ["b", "d"]],
        "separated",
        ("a", "b", "c", "d"),
    ),
}


@pytest.mark.parametrize("case", HARD)
@pytest.mark.parametrize("prior", [None, 0.0])
@pytest.mark.parametrize("model", MODELS)
def test_hard_data_gets_finite_scores_and_a_warning_with_names(model, prior, case):
    ballots, name, items = HARD[case]
    prefs = cc.Preferences.from_rankings(ballots)
    ranking = cc.rank(prefs, model, **({} if prior is None else {"prior": prior}))
    assert {notice.name: set(notice.items) for notice in ranking.warnings}[name] == set(items)
    for values in (ranking.score, ranking.slot_low, ranking.slot_high, *ranking.details.values()):
        assert np.isfinite(values).all()


@pytest.mark.parametrize("model", [*MODELS, "elo", "trueskill"])
def test_all_ties_give_all_the_same(model):
    prefs = cc.Preferences.from_pairs(["a", "b", "c"], ["b", "c", "a"], tie=[1, 1, 1])
    ranking = cc.rank(prefs, model)
    assert ranking.ranks.tolist() == [1, 1, 1] or model in ("elo", "trueskill")
    assert np.isfinite(ranking.score).all()


@pytest.mark.parametrize("model", [*MODELS, "elo", "trueskill"])
def test_candidates_nobody_compared_are_named(model):
    prefs = cc.Preferences.from_rankings([["a", "b"], ["b", "a"]], candidates=["a", "b", "c"])
    ranking = cc.rank(prefs, model)
    assert {notice.name: notice.items for notice in ranking.warnings}["never-compared"] == ("c",)
    assert np.isfinite(ranking.score).all()


@pytest.mark.parametrize("model", [*MODELS, "elo", "trueskill"])
def test_a_single_item_is_first(model):
    ranking = cc.rank(cc.Preferences.from_rankings([["a"]]), model)
    assert ranking.items == ["a"]
    assert np.isfinite(ranking.score).all()


def test_ordinary_data_gets_no_warning():
    rng = np.random.default_rng(0)
    assert cc.rank(simulate(rng, rng.normal(size=6), 500, tie=0.1), "davidson").warnings == ()


# ---- uncertainty ----
@pytest.mark.parametrize("errors", ["hessian", "sandwich", "bootstrap"])
@pytest.mark.parametrize("model", MODELS)
def test_the_kinds_of_errors_agree_on_data_from_the_model(model, errors):
    rng = np.random.default_rng(5)
    prefs = simulate(rng, rng.normal(size=5), 3000, tie=0.2 if model in ("davidson", "rao-kupper") else 0.0)
    reference = cc.rank(prefs, model).detail("stderr")
    found = cc.rank(prefs, model, errors=errors, replicates=100).detail("stderr")
    assert found == pytest.approx(reference, rel=0.25)


@pytest.mark.parametrize("model", MODELS)
def test_a_bootstrap_is_not_narrower_because_of_a_strong_prior(model):
    rng = np.random.default_rng(5)
    prefs = simulate(rng, rng.normal(size=5), 60)
    reference, found = (
        cc.rank(prefs, model, prior=4.0, errors=errors, replicates=400).detail("stderr")
        for errors in ("hessian", "bootstrap")
    )
    assert found == pytest.approx(reference, rel=0.2)


def test_robust_errors_grow_when_votes_are_copies_of_each_other():
    rng = np.random.default_rng(6)
    votes = simulate(rng, rng.normal(size=5), 300)
    tenfold = laws.take_ballots(votes, np.repeat(np.arange(300), 10))
    agents = [f"v{k}" for k in np.repeat(np.arange(300), 10)]
    labels, codes = np.unique(agents, return_inverse=True)
    copied = tenfold.replace(agents=labels.tolist(), agent=codes)
    naive, robust = (
        cc.rank(copied, "bradley-terry", errors=e, prior=0.01).detail("stderr") for e in ("hessian", "sandwich")
    )
    once = cc.rank(votes, "bradley-terry", errors="sandwich", prior=0.01).detail("stderr")
    assert robust == pytest.approx(once, rel=0.05)
    assert (robust > 2.5 * naive).all()


def test_no_errors_are_given_when_none_are_wanted():
    ranking = cc.rank(from_table(JOURNALS, CITATIONS), "bradley-terry", errors="none")
    assert ranking.low is None
    assert ranking.details == {}


def test_rank_intervals_hold_the_rank_and_narrow_with_data():
    rng = np.random.default_rng(7)
    score = rng.normal(size=8)
    widths = []
    for n in (100, 10000):
        ranking = cc.rank(simulate(rng, score, n), "bradley-terry")
        low, high = ranking.detail("rank_low"), ranking.detail("rank_high")
        assert (low <= ranking.ranks).all()
        assert (ranking.ranks <= high).all()
        widths.append((high - low).sum())
    assert widths[1] < widths[0]


def test_the_chances_to_be_best_add_up_and_favour_the_first():
    ranking = cc.rank(from_table(JOURNALS, CITATIONS), "bradley-terry")
    chances = ranking.detail("p_best")
    assert chances.sum() == pytest.approx(1)
    assert chances[0] == chances.max()


def test_two_equal_items_are_equally_likely_to_be_best():
    ranking = cc.rank(from_table("ab", [[0, 50], [50, 0]]), "bradley-terry")
    assert ranking.detail("p_best") == pytest.approx([0.5, 0.5], abs=0.05)


def test_large_instances_get_the_same_answer_without_a_matrix(monkeypatch):
    rng = np.random.default_rng(8)
    prefs = simulate(rng, rng.normal(size=150), 8000)
    dense = cc.rank(prefs, "bradley-terry")
    monkeypatch.setattr(strategies, "strategies_of", lambda *_: strategies.same_strategy("products", 1))
    sparse = cc.rank(prefs, "bradley-terry")
    assert by_label(sparse) == pytest.approx(by_label(dense), abs=1e-6)
    assert by_label(sparse, sparse.detail("stderr")) == pytest.approx(by_label(dense, dense.detail("stderr")), rel=0.05)
    assert (sparse.detail("rank_low") <= sparse.ranks).all()
    assert sparse.detail("p_best").sum() == pytest.approx(1)


def test_critical_values_are_those_of_the_normal_distribution():
    assert simultaneous(0.95, 1) == pytest.approx(1.959963984540054, abs=1e-12)
    assert simultaneous(0.95, 499500) == pytest.approx(5.2, abs=0.15)


def test_resampled_counts_keep_their_total():
    duels = Counting().duels(from_table(JOURNALS, CITATIONS))
    drawn = resample(duels, np.random.default_rng(0))
    assert drawn.total.sum() == duels.total.sum()


@pytest.mark.slow
def test_intervals_cover_the_truth(backend):
    """1,000 replications of 10 items and 800 votes: between 93% and 97% of the 95% intervals hold the truth."""
    if backend == "twins":
        pytest.skip("the same numbers, ten times slower")
    rng = np.random.default_rng(11)
    covered = total = 0
    for _ in range(1000):
        score = rng.normal(size=10)
        score -= score.mean()
        ranking = cc.rank(simulate(rng, score, 800), "bradley-terry")
        truth = score[[int(item) for item in ranking.items]]
        covered += int(((ranking.low <= truth) & (truth <= ranking.high)).sum())
        total += 10
    assert 0.93 <= covered / total <= 0.97


# ---- what is counted ----
def test_differences_of_ranks_and_ratings_are_counted():
    prefs = cc.Preferences.from_ratings(["u", "u", "u"], ["a", "b", "c"], [5, 3, 1])
    counts = Counting("difference").duels(prefs)
    assert sorted(np.maximum(counts.won, counts.lost).tolist()) == [2, 2, 4]
    ranks = cc.Preferences.from_ranks(["u", "u", "u"], ["a", "b", "c"], [1, 2, 10])
    assert sorted(Counting("difference").duels(ranks).won.tolist()) == [1, 8, 9]
    assert sorted(Counting("difference", normalise=True).duels(ranks).won.tolist()) == pytest.approx([0.1, 0.8, 0.9])
    logs = [math.log(2) / math.log(10), 1 - math.log(2) / math.log(10), 1.0]
    assert sorted(Counting("log").duels(ranks).won.tolist()) == pytest.approx(sorted(logs))


@pytest.mark.parametrize("counts", ["binary", "difference", "log"])
def test_listing_pairs_counts_as_matrices_do(monkeypatch, counts):
    rng = np.random.default_rng(9)
    for _ in range(20):
        prefs = laws.random_preferences(rng)
        dense = Counting(counts).duels(prefs)
        with monkeypatch.context() as patch:
            patch.setattr("concordant.models.observations.duels.LARGEST_DENSE", -1)
            listed = Counting(counts).duels(prefs)
        table = {}
        for duels in (dense, listed):
            rows = zip(duels.first, duels.second, duels.won, duels.lost, duels.tied, strict=True)
            kept = {(int(a), int(b)): (w, x, t) for a, b, w, x, t in rows if w or x or t}
            table.setdefault("rows", []).append(kept)
        assert table["rows"][0].keys() == table["rows"][1].keys()
        for pair, row in table["rows"][0].items():
            assert table["rows"][1][pair] == pytest.approx(row)


def test_the_item_shown_first_can_have_an_advantage():
    rng = np.random.default_rng(10)
    n, score = 20000, rng.normal(size=6)
    first = rng.integers(0, 6, n)
    second = (first + rng.integers(1, 6, n)) % 6
    wins = rng.random(n) < 1 / (1 + np.exp(-(score[first] - score[second] + 0.4)))
    votes = np.where(wins, first, second), np.where(wins, second, first)
    prefs = cc.Preferences.from_pairs(*votes, winner_first=wins)
    ranking = cc.rank(prefs, "bradley-terry", order_effect=True)
    merged = cc.Preferences.from_pairs(*votes, winner_first=wins, merge=True)
    assert by_label(cc.rank(merged, "bradley-terry", order_effect=True)) == pytest.approx(by_label(ranking))
    assert ranking.fit["order_effect"] == pytest.approx(0.4, abs=4 * ranking.fit["order_effect_stderr"])
    model = ranking.model
    assert model.p_beats("0", "1", first="0") > model.p_beats("0", "1") > model.p_beats("0", "1", first="1")


def test_an_order_effect_needs_to_know_who_was_first():
    with pytest.raises(cc.InputError, match="do not record"):
        cc.rank(from_table(JOURNALS, CITATIONS), "bradley-terry", order_effect=True)


def test_agent_weights_are_repetitions_of_what_they_said():
    prefs = cc.Preferences.from_pairs(["a", "b", "b"], ["b", "a", "c"], agent=["x", "y", "y"])
    method = cc.BradleyTerry().with_agent_weights({"y": 3})
    expected = cc.rank(cc.Preferences.from_pairs(["a", "b", "b"], ["b", "a", "c"], weight=[1, 3, 3]), "bradley-terry")
    assert by_label(method.rank(prefs)) == pytest.approx(by_label(expected))


def test_covariates_tell_of_items_nobody_compared():
    rng = np.random.default_rng(12)
    size = np.arange(12.0)
    score = 0.3 * (size - size.mean())
    n = 3000
    a = rng.integers(0, 11, n)
    b = (a + rng.integers(1, 11, n)) % 11
    wins = rng.random(n) < 1 / (1 + np.exp(score[b] - score[a]))
    votes = cc.Preferences.from_rankings(
        [[str(x), str(y)] for x, y in zip(np.where(wins, a, b), np.where(wins, b, a), strict=True)],
        candidates=[str(k) for k in range(12)],
    )
    method = cc.BradleyTerry(prior=1.0).with_covariates({str(k): {"size": size[k]} for k in range(12)})
    ranking = method.rank(votes)
    assert ranking.items[0] == "11"  # never compared, but the largest
    assert ranking.model.coefficients["size"] == pytest.approx(0.3, abs=0.05)


def test_covariates_must_cover_every_item():
    prefs = from_table(JOURNALS, CITATIONS)
    with pytest.raises(cc.InputError, match="has no covariates"):
        cc.BradleyTerry().with_covariates({"JASA": [1.0]}).rank(prefs)
    with pytest.raises(cc.InputError, match="same covariates"):
        cc.BradleyTerry().with_covariates({"JASA": [1.0], "Biometrika": [1.0, 2.0]})


# ---- the model ----
@pytest.mark.parametrize("model", MODELS)
def test_chances_of_all_outcomes_add_up_to_one(model):
    rng = np.random.default_rng(13)
    fitted = cc.rank(simulate(rng, rng.normal(size=4), 200, tie=0.3), model).model
    total = fitted.p_beats("0", "1") + fitted.p_beats("1", "0") + fitted.p_tie("0", "1")
    assert total == pytest.approx(1)
    assert fitted.matrix()[0, 1] == pytest.approx(fitted.p_beats(fitted.items[0], fitted.items[1]))


@pytest.mark.parametrize("model", MODELS)
def test_the_log_likelihood_of_the_own_data_is_that_of_the_fit(model):
    rng = np.random.default_rng(14)
    prefs = simulate(rng, rng.normal(size=5), 200, tie=0.3)
    ranking = cc.rank(prefs, model)
    assert ranking.model.log_likelihood(prefs) == pytest.approx(ranking.fit["log_likelihood"])


def test_the_log_likelihood_of_other_data_matches_items_by_name():
    ranking = cc.rank(from_table(JOURNALS, CITATIONS), "bradley-terry")
    other = cc.Preferences.from_pairs(["JASA", "unknown"], ["Comm. Statist.", "JASA"])
    expected = math.log(ranking.model.p_beats("JASA", "Comm. Statist."))
    assert ranking.model.log_likelihood(other) == pytest.approx(expected)


# ---- merging on the way in ----
def test_merged_pairs_are_the_pairs_merged():
    rng = np.random.default_rng(15)
    winner, loser = rng.integers(0, 9, 500), rng.integers(0, 9, 500)
    keep = winner != loser
    winner, loser, tie = winner[keep], loser[keep], rng.random(keep.sum()) < 0.2
    weight = rng.integers(1, 4, keep.sum()).astype(float)
    for columns in ((winner, loser), ([f"i{k}" for k in winner], [f"i{k}" for k in loser])):
        for kind in ({}, {"tie": tie}, {"weight": weight}, {"tie": tie, "weight": weight}):
            listed = cc.Preferences.from_pairs(*columns, **kind)
            merged = cc.Preferences.from_pairs(*columns, merge=True, **kind)
            assert merged.is_merged
            assert merged.items.labels == listed.items.labels
            for name in ("borda", "bradley-terry", "davidson"):
                assert by_label(cc.rank(merged, name)) == pytest.approx(by_label(cc.rank(listed, name)))


def test_merging_pairs_finds_an_item_against_itself():
    with pytest.raises(cc.InputError, match="twice"):
        cc.Preferences.from_pairs(np.array([1, 2]), np.array([2, 2]), merge=True)


def test_merging_few_votes_over_many_items_lists_them():
    rng = np.random.default_rng(16)
    winner = rng.integers(0, 10**9, 100)
    merged = cc.Preferences.from_pairs(winner, winner + 1, merge=True)
    assert merged.is_merged
    assert merged.n_ballots == 100
