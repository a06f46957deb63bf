"""Score models of comparisons: the prior chosen by evidence, and errors of comparisons that depend on each other."""

from __future__ import annotations

import numpy as np
import pytest
from tests.aggregate.test_pairwise_models import MODELS, by_label, from_table, simulate

import concordant as cc
from concordant.kernels import links
from concordant.models.clusters import Voters
from concordant.models.likelihoods.evidence import log_evidence
from concordant.models.likelihoods.observed import ObservedDuels
from concordant.models.likelihoods.priors import Prior
from concordant.models.observations.duels import Counting
from concordant.models.solve import strategies
from concordant.models.solve.costs import STRATEGIES


# ---- the prior chosen by evidence ----
@pytest.mark.parametrize("method", [*MODELS, "plackett-luce"])
@pytest.mark.parametrize("spread", [0.3, 1.5])
def test_the_evidence_finds_the_spread_of_the_scores(method, spread):
    rng = np.random.default_rng(3)
    score = spread * rng.normal(size=60)
    prefs = simulate(rng, score, 3000)
    unit = 1 / 1.7**2 if method == "thurstone" else 1.0  # a logistic variable is as wide as 1.7 normal ones
    chosen = cc.rank(prefs, method, errors="none").fit["prior"]
    assert 0.5 < chosen * spread**2 * unit < 2


def test_pairs_of_whole_rankings_do_not_count_as_if_they_were_independent():
    rng = np.random.default_rng(4)
    score = rng.normal(size=12)
    ballots = [np.argsort(-(score + rng.gumbel(size=12))).tolist() for _ in range(60)]
    chosen = cc.rank(cc.Preferences.from_rankings(ballots), "bradley-terry").fit["prior"]
    assert 0.5 < chosen / (13 / 3) < 2  # each pair is worth 3 / (n + 1) of an independent one


@pytest.mark.parametrize("method", [*MODELS, "plackett-luce"])
@pytest.mark.parametrize("kind", ["gaussian", "gamma"])
@pytest.mark.parametrize(
    "ballots",
    [
        [["a", "b"]],
        [["a", "b"]] * 500,
        [["a", "b"], ["c", "d"]],
        [["a", "b", "c", "d", "e"]] * 9,
        [["a", ["b", "c"]]],
        [[["a", "b"]]],
        [["a"]],
        [["a", "b", "c"], ["c", "b", "a"]] * 10,
    ],
    ids=["one duel", "one-sided", "disconnected", "unanimous", "a tie", "all tied", "one item", "no order"],
)
def test_a_prior_is_chosen_for_any_data(method, kind, ballots):
    prefs = cc.Preferences.from_rankings(ballots)
    ranking = cc.rank(prefs, method, prior="auto", prior_kind=kind)
    assert 1e-5 <= ranking.fit["prior"] <= 1e5 * max(map(len, ballots))
    assert np.abs(ranking.score).max() < 20
    if ranking.low is not None:
        assert np.isfinite(ranking.high - ranking.low).all()


@pytest.mark.parametrize("options", [{}, {"likelihood": "mean"}, {"counts": "difference"}, {"order_effect": True}])
def test_a_huge_number_of_votes_leaves_the_prior_finite(options):
    wins = [[0, 3e8, 2e8], [1e8, 0, 2e8], [1e8, 1e8, 0]]
    prefs = from_table("abc", wins)
    if options.get("order_effect"):
        prefs = prefs.replace(shown=np.tile([0, 1, 1, 0], 3).astype(np.int32))
    ranking, plain = (cc.rank(prefs, "bradley-terry", **options, **prior) for prior in ({}, {"prior": 0.0}))
    assert np.isfinite(ranking.low).all()
    assert ranking.score == pytest.approx(plain.score, abs=1e-3)


def test_a_number_and_the_word_auto_are_priors_and_nothing_else_is():
    prefs = from_table("ab", [[0, 3], [1, 0]])
    chosen = cc.rank(prefs, "bradley-terry").fit["prior"]
    assert cc.rank(prefs, "bradley-terry", prior=chosen).score == pytest.approx(cc.rank(prefs, "bradley-terry").score)
    for wrong, text in (
        ("much", "give a number or 'auto'"),
        (-1.0, "a number of at least 0 or 'auto'"),
        (None, "type"),
    ):
        with pytest.raises(cc.ParameterError, match=text):
            cc.BradleyTerry(prior=wrong)


@pytest.mark.parametrize("model", [links.BRADLEY_TERRY, links.DAVIDSON])
def test_all_three_solvers_weigh_a_prior_alike(model):
    rng = np.random.default_rng(1)
    duels = Counting().duels(simulate(rng, rng.normal(size=30), 900, tie=0.2))
    prior = Prior(np.full(1, 0.5), np.full(1, 0.01))
    fits = [
        strategies.fit(ObservedDuels(duels, model), prior, strategy=strategy, with_log_det=True)
        for strategy in STRATEGIES
    ]
    small, matrix, products = (log_evidence(one, 1.0) for one in fits)
    assert matrix == pytest.approx(small, abs=1e-6)
    assert products == pytest.approx(small, abs=2.0)


def test_the_evidence_of_two_items_is_near_the_integral():
    wins, losses = 7.0, 3.0
    prefs = from_table("ab", [[0, wins], [losses, 0]])
    duels = Counting().duels(prefs)
    lead = np.linspace(-30, 30, 60001)
    likelihood = np.exp(-wins * np.logaddexp(0, -lead) - losses * np.logaddexp(0, lead))
    found, exact = [], []
    for ridge in (0.1, 1.0, 10.0):
        prior = Prior(np.full(1, ridge), np.full(1, 0.01))
        found.append(log_evidence(strategies.fit(ObservedDuels(duels, 0), prior, strategy="batch"), 1.0))
        prior = np.exp(-ridge * lead**2 / 4) * np.sqrt(ridge / (4 * np.pi))
        exact.append(np.log((likelihood * prior).sum() * (lead[1] - lead[0])))
    assert np.diff(found) == pytest.approx(np.diff(exact), abs=0.1)


def test_who_won_a_single_match_does_not_lead():
    rng = np.random.default_rng(5)
    score = np.linspace(1.5, -1.5, 20)
    a, b = rng.integers(0, 20, 4000), rng.integers(0, 20, 4000)
    ahead = score[a] - score[b] + rng.logistic(size=4000) > 0
    winner, loser = np.where(ahead, a, b)[a != b].tolist(), np.where(ahead, b, a)[a != b].tolist()
    prefs = cc.Preferences.from_pairs([*winner, "lucky"], [*loser, 10])
    assert cc.rank(prefs, "bradley-terry", prior=0.001).items[0] == "lucky"
    assert cc.rank(prefs, "bradley-terry").items[:2] == ["0", "1"]


# ---- comparisons that depend on each other ----
def test_an_item_of_a_single_ballot_has_a_wide_interval():
    rng = np.random.default_rng(6)
    ballots = [[str(i) for i in np.argsort(-np.linspace(2, -2, 15) - rng.gumbel(size=15))] for _ in range(60)]
    ballots[0].insert(0, "new")
    prefs = cc.Preferences.from_rankings(ballots)
    for prior in (0.01, 1.0, "auto"):
        ranking = cc.rank(prefs, "bradley-terry", prior=prior)
        width = by_label(ranking, ranking.high - ranking.low)
        assert width["new"] > 3 * np.median(list(width.values()))


def test_large_instances_are_clustered_without_a_matrix(monkeypatch):
    rng = np.random.default_rng(7)
    score = rng.normal(size=40)
    ballots = [sorted(rng.permutation(40)[:6].tolist(), key=lambda i: -score[i] - rng.gumbel()) for _ in range(300)]
    prefs = cc.Preferences.from_rankings(ballots)
    usual = cc.rank(prefs, "bradley-terry")
    monkeypatch.setattr(strategies, "strategies_of", lambda *_: strategies.same_strategy("products", 1))
    other = cc.rank(prefs, "bradley-terry")
    assert abs(np.log10(other.fit["prior"] / usual.fit["prior"])) < 0.2
    assert other.score == pytest.approx(usual.score, abs=0.1)
    assert other.details["stderr"] == pytest.approx(usual.details["stderr"], rel=0.25)


@pytest.mark.parametrize("missing", ["last", "last-free"])
def test_unmentioned_candidates_enter_the_clusters_as_they_enter_the_counts(missing):
    prefs = cc.Preferences.from_rankings([["a", "b"], ["b", "c"], ["c", "a"], ["a", "d"]] * 5)
    method = cc.BradleyTerry(prior=1.0, missing=missing)
    voters = Voters(prefs, Counting(missing=missing))
    parts = strategies.fit(ObservedDuels(Counting(missing=missing).duels(prefs), 0), Prior(np.ones(1), np.ones(1)))
    gradients = voters.gradients(parts)
    total = np.bincount(gradients.slot, gradients.value, prefs.n_slots)
    assert total == pytest.approx(parts[0].score, abs=1e-8)  # at the optimum the prior's pull and the data balance
    assert np.isfinite(method.rank(prefs).low).all()


@pytest.mark.parametrize("errors", ["auto", "hessian"])
def test_a_gamma_prior_of_no_strength_is_plain_likelihood(errors):
    prefs = cc.Preferences.from_rankings([["a", "b", "c"], ["c", "a", "b"], ["b", "c", "a"], ["a", "c", "b"]])
    gamma, plain = (
        cc.rank(prefs, "thurstone", prior=0.0, prior_kind=kind, errors=errors) for kind in ("gamma", "gaussian")
    )
    assert gamma.score == pytest.approx(plain.score)
    assert gamma.details["stderr"] == pytest.approx(plain.details["stderr"])


def test_instances_nobody_compared_anything_in_do_no_harm_under_a_gamma_prior():
    prefs = cc.Preferences.from_rankings([["a", "b", "c"], ["b"]], instance=["q", "r"]).select(instances=["q", "r"])
    empty = prefs.take([0])
    for some in (prefs, empty):
        assert np.isfinite(cc.rank(some, "bradley-terry", prior_kind="gamma").slot_low).all()


@pytest.mark.parametrize("model", ["davidson", "rao-kupper"])
def test_wins_and_ties_without_a_loss_have_no_plain_answer_but_a_finite_one(model):
    votes = cc.Preferences.from_pairs(["a", "a"], ["b", "b"], weight=[0.8, 0.6], tie=[0, 1])
    ranking = cc.rank(votes, model, prior=0.0, errors="sandwich")
    assert ranking.items == ["a", "b"]
    assert np.abs(ranking.score).max() < 20
    assert np.isfinite(list(ranking.fit.values())).all()
    assert "no-convergence" not in {notice.name for notice in ranking.warnings}
