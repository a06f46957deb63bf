"""OrderedPartitionRanker, ListMLE and ListNet as estimators."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="the learn extra is not installed")

from concordant.errors import NeedError, ParameterError
from concordant.learn import ListMLE, ListNet, OrderedPartitionRanker
from concordant.types import Floats, Int64s

MEANS = ["arithmetic", "maximum", "minimum", "geometric", "harmonic"]
TRUTH = np.array([1.0, -1.0, 0.5, 0.0])


def graded(seed: int, n_queries: int = 40, n_rows: int = 10) -> tuple[Floats, Floats, Int64s]:
    """Rows with a linear truth and coarse grades: many ties."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_queries * n_rows, len(TRUTH)))
    y = np.digitize(X @ TRUTH + 0.5 * rng.normal(size=len(X)), [0.5, 2.0]).astype(float)
    return X, y, np.repeat(np.arange(n_queries), n_rows)


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize("mean", MEANS)
def test_every_mean_learns(mean: str) -> None:
    X, y, qid = graded(0)
    fresh, labels, queries = graded(1)
    model = OrderedPartitionRanker(mean=mean, learning_rate=0.03, batch=8).fit(X, y, qid=qid)
    assert model.score(fresh, labels, qid=queries) > 0.85
    assert np.corrcoef(model.coef_, TRUTH)[0, 1] > 0.95


@pytest.mark.parametrize(
    "setting",
    [
        {"backward": True},
        {"rank_weighting": True},
        {"backward": True, "mean": "maximum"},
        {"mean": "maximum", "tie_odds": 0.5},
        {"mean": "geometric", "sampler": "metropolis", "steps": 3},
        {"mean": "geometric", "persistent": True, "samples": 3},
        {"mean": "harmonic", "backward": True, "rank_weighting": True},
        {"mean": "minimum", "tie_odds": 0.0},
        {"solver": "newton"},
        {"hidden": 4, "max_iter": 30},
    ],
    ids=str,
)
def test_every_setting_learns(setting: dict[str, object]) -> None:
    X, y, qid = graded(2)
    fresh, labels, queries = graded(3)
    model = OrderedPartitionRanker(**{"max_iter": 60, **setting}).fit(X, y, qid=qid)  # type: ignore[arg-type]
    assert model.score(fresh, labels, qid=queries) > 0.85


@pytest.mark.parametrize("mean", ["arithmetic", "maximum", "minimum"])
def test_what_is_learnt_is_likelier_than_no_knowledge(mean: str) -> None:
    X, y, qid = graded(4)
    model = OrderedPartitionRanker(mean=mean).fit(X, y, qid=qid)
    learnt = model.log_likelihood(X, y, qid=qid)
    assert learnt.shape == (40,)
    model.coef_ = np.zeros_like(model.coef_)
    ignorant = model.log_likelihood(X, y, qid=qid)
    assert learnt.sum() > ignorant.sum() + 20
    n_sets = [np.log(2.0 ** np.arange(1, 11) - 1)[(y[qid == 0] <= level).sum() - 1] for level in np.unique(y[qid == 0])]
    assert ignorant[0] == pytest.approx(-sum(n_sets))  # all sets are alike


def test_likelihoods_of_sampled_models_are_estimates_near_each_other() -> None:
    X, y, qid = graded(5, n_queries=8)
    model = OrderedPartitionRanker(mean="geometric", max_iter=30).fit(X, y, qid=qid)
    few = model.log_likelihood(X, y, qid=qid)
    many = model.log_likelihood(X, y, qid=qid, temperatures=200, runs=100)
    np.testing.assert_allclose(few, many, atol=0.3)
    np.testing.assert_array_equal(few, model.log_likelihood(X, y, group=np.full(8, 10)))


def test_newton_and_quasi_newton_steps_end_at_the_same_point() -> None:
    X, y, qid = graded(6)
    for model in (OrderedPartitionRanker(), ListMLE(ties="input"), ListNet()):
        model.set_params(tol=1e-12, max_iter=500)
        one = model.fit(X, y, qid=qid).coef_
        other = model.set_params(solver="newton").fit(X, y, qid=qid).coef_
        np.testing.assert_allclose(one, other, atol=1e-4)


def test_newton_steps_need_a_smooth_loss() -> None:
    X, y, qid = graded(7)
    with pytest.raises(NeedError, match="lbfgs"):
        OrderedPartitionRanker(mean="maximum", solver="newton").fit(X, y, qid=qid)


def test_gibbs_without_ties_is_refused() -> None:
    X, y, qid = graded(8)
    with pytest.raises(ParameterError, match="metropolis"):
        OrderedPartitionRanker(mean="geometric", tie_odds=0).fit(X, y, qid=qid)


def test_chances_of_a_tie_are_largest_between_equals() -> None:
    X, y, qid = graded(9)
    model = OrderedPartitionRanker(mean="geometric", learning_rate=0.05).fit(X, y, qid=qid)
    rows = np.vstack([np.zeros(4), np.zeros(4), 3 * TRUTH])
    even, uneven = model.predict_proba_pair(rows, [0, 0], [1, 2])
    np.testing.assert_allclose(even, [1 / 3, 1 / 3, 1 / 3])
    assert uneven[1] < even[1]
    assert uneven[2] > 0.8


@pytest.mark.parametrize("ties", ["shuffle", "input", "best"])
def test_list_mle_learns_whatever_the_order_of_equals(ties: str) -> None:
    X, y, qid = graded(10)
    fresh, labels, queries = graded(11)
    assert ListMLE(ties=ties).fit(X, y, qid=qid).score(fresh, labels, qid=queries) > 0.85


def test_only_shuffled_ties_depend_on_the_seed() -> None:
    X, y, qid = graded(12)
    for ties, is_random in (("shuffle", True), ("input", False)):
        one, other = (ListMLE(ties=ties, seed=seed).fit(X, y, qid=qid).coef_ for seed in (0, 1))
        assert np.array_equal(one, other) is not is_random
