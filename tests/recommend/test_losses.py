"""Losses of factorisations: value, slope and curve against differences and enumeration."""

from __future__ import annotations

from itertools import pairwise, permutations
from typing import Any

import numpy as np
import pytest

import concordant as cc
from concordant.recommend._losses import Loss, NDCGLoss, PairLoss, RatingLoss
from concordant.recommend._observed import Observed
from concordant.types import Floats

SMOOTH: dict[str, Loss] = {
    "squared errors": RatingLoss(squared=1.7),
    "ordered partitions": RatingLoss(squared=0.0, listwise=0.6),
    "both": RatingLoss(squared=0.7, listwise=0.3),
    "item by item": RatingLoss(squared=0.0, listwise=1.0, is_strict=True),
    "pairs": PairLoss(),
}
smooth = pytest.mark.parametrize("loss", SMOOTH.values(), ids=SMOOTH)
everything = pytest.mark.parametrize("loss", [*SMOOTH.values(), NDCGLoss()], ids=[*SMOOTH, "ndcg"])


def some_ratings(seed: int = 0, *, weight: bool = True) -> Observed:
    """Ratings with ties by four agents, one of whom rates one item and one of whom rates all alike."""
    rng = np.random.default_rng(seed)
    ballots: dict[str, dict[str, float]] = {
        "ann": {f"i{k}": float(rng.integers(1, 4)) for k in range(5)},
        "bob": {f"i{k}": float(rng.integers(1, 6)) for k in range(1, 5)},
        "cat": {"i2": 4.0},
        "dan": {"i0": 3.0, "i3": 3.0},
    }
    rows = [(agent, item, value) for agent, said in ballots.items() for item, value in said.items()]
    agent, item, rating = (list(column) for column in zip(*rows, strict=True))
    prefs = cc.Preferences.from_ratings(agent, item, rating)
    return Observed.of(prefs.replace(weight=[2.0, 1.0, 3.0, 0.5]) if weight else prefs)


def value_at(loss: Loss, observed: Observed, score: Floats) -> float:
    return loss.at(score, observed, 0).value


def slope_at(loss: Loss, observed: Observed, score: Floats) -> Floats:
    found = loss.at(score, observed, 0)
    return np.asarray(found.curve * score - found.target)


def differences(loss: Loss, observed: Observed, score: Floats, step: float = 1e-6) -> Floats:
    moves = step * np.eye(len(score))
    return np.array(
        [(value_at(loss, observed, score + d) - value_at(loss, observed, score - d)) / (2 * step) for d in moves]
    )


@everything
@pytest.mark.parametrize("seed", range(3))
def test_the_quadratic_has_the_slope_of_the_loss(loss: Loss, seed: int) -> None:
    observed = some_ratings(seed)
    score = np.random.default_rng(seed + 10).normal(size=len(observed.item))
    np.testing.assert_allclose(
        slope_at(loss, observed, score), differences(loss, observed, score), rtol=1e-5, atol=1e-7
    )


@smooth
@pytest.mark.parametrize("seed", range(3))
def test_no_loss_bends_more_than_its_curve(loss: Loss, seed: int) -> None:
    observed, rng = some_ratings(seed), np.random.default_rng(seed + 20)
    score = rng.normal(size=len(observed.item))
    curve = np.broadcast_to(loss.at(score, observed, 0).curve, len(score))
    for _ in range(10):
        along = rng.normal(size=len(score))
        ahead, behind = (slope_at(loss, observed, score + step * along) for step in (1e-5, -1e-5))
        bent = along @ (ahead - behind) / 2e-5
        assert bent <= curve @ along**2 * (1 + 1e-6) + 1e-8


@pytest.mark.parametrize("seed", range(5))
def test_the_quadratic_of_pairs_lies_above_them_everywhere(seed: int) -> None:
    """Not only near the present scores: the squared hinge never bends more than all pairs within the margin do."""
    observed, rng, loss = some_ratings(seed), np.random.default_rng(seed), PairLoss()
    score = rng.normal(size=len(observed.item))
    found = loss.at(score, observed, 0)
    for _ in range(20):
        step = 5 * rng.normal(size=len(score))
        above = found.value + (found.curve * score - found.target) @ step + 0.5 * found.curve @ step**2
        assert value_at(loss, observed, score + step) <= above + 1e-9


def test_squared_errors_are_their_own_quadratic() -> None:
    observed, loss = some_ratings(), RatingLoss(squared=1.3)
    assert loss.is_quadratic
    for seed in range(2):
        score = np.random.default_rng(seed).normal(size=len(observed.item))
        found = loss.at(score, observed, 0)
        rating, weight = observed.ratings("a test"), observed.weight_by_entry
        np.testing.assert_allclose(found.target, 1.3 * weight * rating)
        np.testing.assert_allclose(found.curve, 1.3 * weight)
        half = 0.5 * sum(w * (r - f) ** 2 for w, r, f in zip(weight, rating, score, strict=True))
        assert found.squared == pytest.approx(half)
        assert found.value == pytest.approx(1.3 * half)


def test_the_share_of_squared_errors_is_what_they_have_of_the_curves() -> None:
    observed, loss = some_ratings(), RatingLoss(squared=0.7, listwise=0.3)
    score = np.random.default_rng(0).normal(size=len(observed.item))
    whole, squared = loss.at(score, observed, 0), RatingLoss(squared=0.7).at(score, observed, 0)
    assert whole.share == pytest.approx(squared.curve.sum() / whole.curve.sum())
    assert 0 < whole.share < 1


# ---- values, written out ----
def by_ballot(observed: Observed) -> list[tuple[slice, float]]:
    return [(slice(a, b), w) for a, b, w in zip(observed.ptr[:-1], observed.ptr[1:], observed.weight, strict=True)]


def stages_of(observed: Observed, score: Floats, is_strict: bool) -> float:
    """Minus the log-likelihood of choosing tier after tier, each by the worth of its members among what remains."""
    total = 0.0
    for own, weight in by_ballot(observed):
        worth, tier = np.exp(score[own]), observed.tier[own]
        groups = [[k] for k in range(len(tier))] if is_strict else [np.flatnonzero(tier == t) for t in np.unique(tier)]
        for group in groups:
            total -= weight * np.log(worth[group].sum() / worth[min(group) :].sum())
    return total


@pytest.mark.parametrize("is_strict", [False, True])
def test_tiers_are_chosen_one_after_the_other(is_strict: bool) -> None:
    observed = some_ratings()
    score = np.random.default_rng(1).normal(size=len(observed.item))
    loss = RatingLoss(squared=0.0, listwise=0.6, is_strict=is_strict)
    assert value_at(loss, observed, score) == pytest.approx(0.6 * stages_of(observed, score, is_strict))


def test_pairs_count_by_their_mean_times_the_ratings() -> None:
    observed = some_ratings()
    score = np.random.default_rng(1).normal(size=len(observed.item))
    total = 0.0
    for own, weight in by_ballot(observed):
        f, tier = score[own], observed.tier[own]
        pairs = [(a, b) for a in range(len(f)) for b in range(len(f)) if tier[a] < tier[b]]
        hinges = [max(0.0, 1 - (f[a] - f[b])) ** 2 for a, b in pairs]
        total += weight * len(f) * sum(hinges) / len(pairs) if pairs else 0.0
    assert value_at(PairLoss(), observed, score) == pytest.approx(total)


def ndcg_bound(score: Floats, rating: Floats, depth: int) -> float:
    """The largest 1 - NDCG of an order, plus its lead in score over the order by rating, over all orders."""
    n = len(score)
    lead = [(j + 1) ** -0.25 for j in range(n)]
    discount = [1 / np.log2(j + 2) if j < depth else 0.0 for j in range(n)]

    def gain_of(order: tuple[int, ...]) -> float:
        return sum(2 ** float(rating[i]) * d for i, d in zip(order, discount, strict=True))

    def score_of(order: tuple[int, ...]) -> float:
        return sum(float(score[i]) * c for i, c in zip(order, lead, strict=True))

    orders = list(permutations(range(n)))
    ideal = max(gain_of(order) for order in orders)
    reference = max(score_of(order) for order in orders if gain_of(order) >= ideal - 1e-12 and _by(rating, order))
    return max(1 - gain_of(order) / ideal + score_of(order) - reference for order in orders)


def _by(rating: Floats, order: tuple[int, ...]) -> bool:
    return all(rating[a] >= rating[b] for a, b in pairwise(order))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("depth", [1, 2, 10])
def test_the_bound_of_ndcg_is_the_worst_over_all_orders(seed: int, depth: int) -> None:
    observed = some_ratings(seed)
    score = np.random.default_rng(seed).normal(size=len(observed.item))
    rating, total = observed.ratings("a test"), 0.0
    for own, weight in by_ballot(observed):
        if len(set(rating[own])) > 1:
            total += weight * ndcg_bound(score[own], rating[own], depth)
    assert value_at(NDCGLoss(depth=depth), observed, score) == pytest.approx(total)


def test_the_bound_of_ndcg_is_one() -> None:
    """It is never below 1 - NDCG of the order by score."""
    observed = some_ratings(weight=False)
    rng, rating = np.random.default_rng(0), observed.ratings("a test")
    for _ in range(20):
        score = 2 * rng.normal(size=len(rating))
        below = 0.0
        for own, _ in by_ballot(observed):
            if len(set(rating[own])) > 1:
                gain = 2.0 ** rating[own]
                discount = 1 / np.log2(np.arange(len(gain)) + 2)
                below += 1 - gain[np.argsort(-score[own])] @ discount / (np.sort(gain)[::-1] @ discount)
        assert value_at(NDCGLoss(), observed, score) >= below - 1e-9


def test_of_long_ballots_ndcg_looks_at_others_in_every_sweep() -> None:
    rng = np.random.default_rng(0)
    prefs = cc.Preferences.from_ratings(["ann"] * 12, [f"i{k}" for k in range(12)], rng.integers(1, 6, 12))
    observed, loss, score = Observed.of(prefs), NDCGLoss(longest=5, seed=3), rng.normal(size=12)
    looked = [np.flatnonzero(loss.at(score, observed, sweep).curve).tolist() for sweep in range(4)]
    assert [len(entries) for entries in looked] == [5] * 4
    assert len({tuple(entries) for entries in looked}) > 1
    again = loss.at(score, observed, 2)
    assert np.flatnonzero(again.curve).tolist() == looked[2]


def test_ndcg_takes_shorter_steps_in_later_sweeps() -> None:
    observed = some_ratings(weight=False)
    score = np.zeros(len(observed.item))
    first, later = (NDCGLoss().at(score, observed, sweep).curve for sweep in (0, 3))
    np.testing.assert_allclose(later, 2 * first)


# ---- what all losses share ----
@everything
def test_a_weight_means_repetition(loss: Loss) -> None:
    agent, item, rating = ["ann"] * 4 + ["bob"] * 3, list("wxyzxyz"), [3.0, 1.0, 1.0, 2.0, 5.0, 4.0, 4.0]
    once = cc.Preferences.from_ratings(agent, item, rating)
    weighted = Observed.of(once.replace(weight=[3.0, 1.0]))
    thrice = ["1"] * 7 + ["2"] * 4 + ["3"] * 4
    repeated = Observed.of(
        cc.Preferences.from_ratings(agent + ["ann"] * 8, item + 2 * item[:4], rating + 2 * rating[:4], instance=thrice)
    )
    scores = np.random.default_rng(0).normal(size=(2, 4))

    def at(observed: Observed) -> tuple[float, dict[Any, float]]:
        found = loss.at(np.ascontiguousarray(scores[observed.agent, observed.item]), observed, 0)
        slope = found.curve * scores[observed.agent, observed.item] - found.target
        total: dict[Any, float] = {}
        for agent, item, part in zip(observed.agent, observed.item, slope, strict=True):
            total[agent, item] = total.get((agent, item), 0.0) + float(part)
        return found.value, total

    (one_value, one_slope), (other_value, other_slope) = at(weighted), at(repeated)
    assert one_value == pytest.approx(other_value)
    assert one_slope == pytest.approx(other_slope)


@pytest.mark.parametrize("loss", [SMOOTH["ordered partitions"], SMOOTH["item by item"], PairLoss()])
def test_rankings_are_enough_for_losses_of_order(loss: Loss) -> None:
    observed = Observed.of(cc.Preferences.from_rankings([["a", "b", "c"], ["c", "a"]], agent=["ann", "bob"]))
    assert value_at(loss, observed, np.array([9.0, 4.0, 0.0, 9.0, 4.0])) < 0.1
    assert value_at(loss, observed, np.array([0.0, 4.0, 9.0, 4.0, 9.0])) > 3


@pytest.mark.parametrize("loss", [RatingLoss(), SMOOTH["both"], NDCGLoss()])
def test_other_losses_need_ratings(loss: Loss) -> None:
    observed = Observed.of(cc.Preferences.from_rankings([["a", "b"]], agent=["ann"]))
    with pytest.raises(cc.NeedError, match="learns from ratings, but these are rankings"):
        loss.at(np.zeros(2), observed, 0)


@pytest.mark.parametrize("loss", [SMOOTH["ordered partitions"], SMOOTH["item by item"], PairLoss()])
def test_an_empty_ballot_says_nothing(loss: Loss) -> None:
    lists, agent = [["a", "b", "c"], [], ["c", "a"], []], ["ann", "bob", "cat", "dan"]
    score = np.array([0.5, 0.0, 1.0, 0.0, -1.0])
    full, filled = (
        Observed.of(cc.Preferences.from_rankings([lists[k] for k in some], agent=[agent[k] for k in some]))
        for some in ([0, 1, 2, 3], [0, 2])
    )
    for one, other in zip(loss.at(score, full, 0), loss.at(score, filled, 0), strict=True):
        np.testing.assert_allclose(one, other)


def test_the_bound_of_ndcg_does_not_mind_where_the_ratings_lie() -> None:
    # Fails as long as NDCGLoss.at takes gains from the largest rating of all: of who rates 2000 lower they are all 0.
    agent, item, rating = ["ann", "ann", "bob", "bob"], ["a", "b", "a", "b"], np.array([1.0, 2.0, 2.0, 1.0])
    score = np.array([0.3, 0.0, 0.1, 0.2])
    near, far = (
        Observed.of(cc.Preferences.from_ratings(agent, item, rating + shift * np.array([0, 0, 1, 1])))
        for shift in (0.0, 2000.0)
    )
    assert value_at(NDCGLoss(), far, score) == pytest.approx(value_at(NDCGLoss(), near, score))
