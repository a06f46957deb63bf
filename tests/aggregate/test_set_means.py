"""Ordered partitions whose sets are worth the geometric or harmonic mean, the maximum or the minimum."""

from __future__ import annotations

import numpy as np
import pytest
from tests.losses.enumeration import log_chance, ordered_partitions, phi, some_queries

from concordant.aggregate.stagewise._set_means import MEANS, Posterior, ballot_queries, loss_of
from concordant.aggregate.stagewise.ordered_partitions import OrderedPartitions
from concordant.errors import ParameterError
from concordant.losses.set_sizes import TieOdds
from concordant.losses.subset_enumeration import EnumeratedPartitionLoss
from concordant.losses.subset_sampling import SampledPartitionLoss
from concordant.models.likelihoods.priors import Prior
from concordant.preferences import Preferences
from concordant.types import Floats

OTHERS = MEANS[1:]
BALLOTS = [["a", ["b", "c"], "d"], [["a", "b"], "c"], ["d", ["a", "c"], "b"], ["b", "a", ["c", "d"]], [["c", "d"], "a"]]


def posterior(prefs: Preferences, mean: str, *, prior: float = 0.3, is_gamma: bool = True) -> Posterior:
    queries, slot = ballot_queries(prefs, "ignore")
    ridge = np.full(prefs.n_instances, prior)
    return Posterior(loss_of(mean, queries, 0), queries, slot, Prior(ridge, ridge, is_gamma), prefs.slot_ptr)


def by_label(score: Floats, prefs: Preferences) -> dict[str, float]:
    return dict(zip(prefs.items.take(prefs.slot_item), score.tolist(), strict=True))


@pytest.mark.parametrize("mean", OTHERS)
def test_probabilities_of_all_ordered_partitions_sum_to_one(backend: str, mean: str) -> None:
    total, names, score = 0.0, "abc", np.array([0.4, -1.1, 0.7])
    for labels in ordered_partitions(3):
        tiers = [[names[k] for k in np.flatnonzero(labels == level)] for level in sorted(set(labels), reverse=True)]
        prefs = Preferences.from_rankings([tiers])
        by_slot = np.array([score[names.index(label)] for label in prefs.items.take(prefs.slot_item)])
        total += np.exp(posterior(prefs, mean).log_likelihood(by_slot))
    assert total == pytest.approx(1.0)


@pytest.mark.parametrize("mean", OTHERS)
def test_the_likelihood_is_that_of_the_definition(backend: str, mean: str) -> None:
    prefs = Preferences.from_rankings(BALLOTS, weight=[1.0, 2.0, 1.0, 0.5, 1.0])
    score = np.random.default_rng(0).normal(size=4)
    at, expected = by_label(score, prefs), 0.0
    for ballot, weight in zip(BALLOTS, prefs.weight.tolist(), strict=True):
        tiers = [tier if isinstance(tier, list) else [tier] for tier in ballot]
        labels = np.concatenate([np.full(len(tier), -k) for k, tier in enumerate(tiers)]).astype(float)
        scores = np.array([at[item] for tier in tiers for item in tier])
        expected += weight * log_chance(mean, scores, labels, TieOdds())
    assert posterior(prefs, mean).log_likelihood(score) == pytest.approx(expected)


@pytest.mark.parametrize("is_gamma", [True, False])
@pytest.mark.parametrize("mean", OTHERS)
def test_the_gradient_is_that_of_finite_differences(backend: str, mean: str, is_gamma: bool) -> None:
    function = posterior(Preferences.from_rankings(BALLOTS), mean, is_gamma=is_gamma)
    score = np.array([0.3, -0.8, 1.1, -0.2])
    gradient = function(score)[1]
    for k in range(4):
        step = 1e-6 * (np.arange(4) == k)
        assert gradient[k] == pytest.approx((function(score + step)[0] - function(score - step)[0]) / 2e-6, abs=1e-6)


@pytest.mark.parametrize("is_harmonic", [False, True])
def test_the_enumerated_loss_is_what_the_sampled_one_estimates(is_harmonic: bool) -> None:
    scores, queries = some_queries(1, n_rows=20)
    exact = EnumeratedPartitionLoss(is_harmonic=is_harmonic)
    sampled = SampledPartitionLoss(is_harmonic=is_harmonic, samples=4000, steps=8)
    assert sampled.evaluate(scores, queries).gradient == pytest.approx(
        exact.evaluate(scores, queries).gradient, abs=0.06
    )
    found = sampled.log_likelihood(scores, queries, temperatures=300, runs=200)
    assert exact.log_likelihood(scores, queries) == pytest.approx(found, abs=0.05)


@pytest.mark.parametrize("mean", OTHERS)
def test_the_fit_is_at_least_as_good_as_any_other_scores_tried(mean: str) -> None:
    prefs = Preferences.from_rankings(BALLOTS)
    method = OrderedPartitions(mean=mean, prior=0.3)
    function, score = posterior(prefs, mean), method.rank(prefs).score
    best, rng = function(score)[0], np.random.default_rng(0)
    near = min(function(score + scale * rng.normal(size=4))[0] for scale in (1e-3, 1e-2, 0.1) for _ in range(200))
    assert best <= near + 1e-6


@pytest.mark.parametrize("mean", ["geometric", "harmonic"])
def test_standard_errors_are_those_of_the_curvature(mean: str) -> None:
    prefs = Preferences.from_rankings([["a", "b", ["c", "d"]], ["b", "a", "c"], ["a", ["c", "d"]]] * 5)
    ranking = OrderedPartitions(mean=mean, prior=1.0, prior_kind="gaussian").rank(prefs)
    function, m = posterior(prefs, mean, prior=1.0, is_gamma=False), 4
    hessian = np.zeros((m, m))
    for i in range(m):
        for j in range(m):
            a, b = 1e-3 * (np.arange(m) == i), 1e-3 * (np.arange(m) == j)
            signs = [(1, 1, 1), (-1, 1, -1), (1, -1, -1), (-1, -1, 1)]
            hessian[i, j] = sum(s * function(ranking.score + x * a + y * b)[0] for x, y, s in signs) / 4e-6
    centre = np.eye(m) - 1 / m
    covariance = np.linalg.pinv(centre @ hessian @ centre)
    assert ranking.details["stderr"] == pytest.approx(np.sqrt(np.diag(covariance)), rel=1e-3)
    assert (np.asarray(ranking.low) <= np.asarray(ranking.scores)).all()


@pytest.mark.parametrize("mean", ["maximum", "minimum"])
def test_means_with_kinks_have_no_standard_errors_and_say_so(mean: str) -> None:
    ranking = OrderedPartitions(mean=mean).rank(Preferences.from_rankings(BALLOTS))
    assert ranking.low is None
    assert any("kinks" in str(notice.text) for notice in ranking.warnings)


def test_long_ballots_are_sampled_reproducibly_and_said_to_be() -> None:
    rng = np.random.default_rng(3)
    truth = np.linspace(3, -3, 12)
    prefs = Preferences.from_rankings(
        [[f"i{k:02}" for k in np.argsort(-(truth + rng.gumbel(size=12)))] for _ in range(60)]
    )
    first, again = (OrderedPartitions(mean="geometric", seed=2).rank(prefs) for _ in range(2))
    assert np.array_equal(first.score, again.score)
    by_arithmetic = OrderedPartitions().rank(prefs)
    assert np.corrcoef(first.score, by_arithmetic.score)[0, 1] > 0.97
    assert first.low is None


def test_an_open_last_tier_counts_as_no_choice() -> None:
    chosen = Preferences(["a", "b", "c"], [0, 3], [0, 1, 2], [0, 1, 1], open=[True])
    score = np.array([0.5, -0.2, 0.1])
    worth = [phi("maximum", score[list(some)]) for some in ([0], [1], [2], [0, 1], [0, 2], [1, 2], [0, 1, 2])]
    expected = np.log(phi("maximum", score[:1]) / sum(worth))
    assert posterior(chosen, "maximum").log_likelihood(score) == pytest.approx(expected)


def test_teams_need_the_arithmetic_mean() -> None:
    teams = Preferences(["a", "b", "c", "d"], [0, 4], [0, 1, 2, 3], [0, 0, 1, 1], team=[0, 0, 1, 1])
    with pytest.raises(ParameterError, match="arithmetic"):
        OrderedPartitions(mean="maximum").rank(teams)
