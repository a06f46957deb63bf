"""What all recommenders promise of a fit: falling objectives, early stopping, going on, files, and better lists."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.recommend.test_pmf import planted, planted_prefs, planted_rows, rows_of

import concordant as cc
from concordant.recommend import (
    BPR,
    PMF,
    CoFiRank,
    ConsensusRecommender,
    Observed,
    OrderedPartitionMF,
    PlackettLuceMF,
    Popular,
    Recommender,
    Sweep,
)
from concordant.recommend import _alternating as alternating
from concordant.types import Floats

ALL: dict[str, Recommender] = {
    "pmf": PMF(factors=3, sweeps=4),
    "pmf, auto": PMF(factors=3, sweeps=12, ridge="auto"),
    "pmf, single": PMF(factors=3, sweeps=4, precision="single"),
    "ordered-partition-mf": OrderedPartitionMF(factors=3, sweeps=12),
    "ordered-partition-mf, mode": OrderedPartitionMF(factors=3, sweeps=4, ridge=2.0),
    "ordered-partition-mf, published": OrderedPartitionMF(
        factors=3, sweeps=4, ridge=2.0, beta=0.01, biases=False, centred=False, initial="uniform"
    ),
    "plackett-luce-mf": PlackettLuceMF(factors=3, sweeps=4, ridge=2.0),
    "cofi-rank, regression": CoFiRank(factors=3, sweeps=4, loss="regression"),
    "cofi-rank, ordinal": CoFiRank(factors=3, sweeps=4, loss="ordinal"),
    "cofi-rank, ndcg": CoFiRank(factors=3, sweeps=4, loss="ndcg"),
    "bpr": BPR(factors=3, passes=3),
    "bpr, rated": BPR(factors=3, passes=3, contrast="rated"),
    "popular": Popular(),
    "popular, rating": Popular(by="rating"),
    "consensus": ConsensusRecommender(aggregator="borda"),
}
everyone = pytest.mark.parametrize("model", ALL.values(), ids=ALL)
FALLING: dict[str, Any] = {
    "ordered partitions and errors": OrderedPartitionMF(factors=3, ridge=2.0, beta=0.3),
    "ordered partitions": OrderedPartitionMF(factors=3, ridge=2.0, beta=1.0),
    "item by item": PlackettLuceMF(factors=3, ridge=2.0),
    "pairs": CoFiRank(factors=3, ridge=2.0, loss="ordinal"),
    "regression": CoFiRank(factors=3, ridge=2.0, loss="regression"),
}


def stars(seed: int = 0, *, n_agents: int = 60, n_items: int = 40) -> cc.Preferences:
    """Planted ratings as whole stars, with many ties."""
    agent, item, rating = planted_rows(seed, n_agents=n_agents, n_items=n_items)
    return cc.Preferences.from_ratings(agent, item, np.clip(np.rint(rating), 1, 5))


def split_rows(seed: int = 0, **sizes: Any) -> tuple[cc.Preferences, cc.Preferences]:
    """Half of planted ratings to fit, half to test."""
    known, full = planted(seed, **sizes)
    return tuple(cc.Preferences.from_ratings(*rows_of(some, full)) for some in (known, ~known))  # type: ignore[return-value]


def heard_of(model: Recommender, prefs: cc.Preferences, **options: Any) -> tuple[Any, list[Sweep]]:
    heard: list[Sweep] = []
    return model.fit(prefs, progress=heard.append, **options), heard


# ---- objectives ----
@pytest.mark.parametrize("model", FALLING.values(), ids=FALLING)
def test_every_sweep_lowers_the_objective(model: Any) -> None:
    _, heard = heard_of(replace(model, sweeps=25, tolerance=0.0), stars())
    values = np.array([sweep.objective for sweep in heard])
    assert len(values) == 25
    assert (np.diff(values) < 1e-9 * values[1:]).all()
    assert values[-1] < 0.95 * values[0]


@pytest.mark.parametrize("model", FALLING.values(), ids=FALLING)
def test_every_sweep_with_many_factors_lowers_it_too(model: Any) -> None:
    many = replace(model, factors=40, sweeps=12, tolerance=0.0)
    assert many.factors > alternating.EXACT
    _, heard = heard_of(many, stars())
    values = np.array([sweep.objective for sweep in heard])
    assert (np.diff(values) < 1e-9 * values[1:]).all()


def test_bpr_loses_less_with_every_few_passes() -> None:
    _, heard = heard_of(BPR(factors=3, passes=30, contrast="rated"), stars())
    values = np.array([sweep.objective for sweep in heard]).reshape(3, 10).mean(axis=1)
    assert (np.diff(values) < 0).all()


def order_and_errors(model: OrderedPartitionMF, prefs: cc.Preferences) -> float:
    """The objective of ordered partitions with a given ridge, agent by agent."""
    assert prefs.agent is not None
    assert prefs.agents is not None
    assert prefs.value is not None
    assert isinstance(model.ridge, float)
    total = 0.0
    for b, (begin, end) in enumerate(zip(prefs.indptr[:-1], prefs.indptr[1:], strict=True)):
        item, tier, rating = (column[begin:end] for column in (prefs.item, prefs.tier, prefs.value))
        labels = prefs.items.take(item)
        score = model.predict([prefs.agents[prefs.agent[b]]] * len(labels), labels)
        total += (1 - model.beta) / 2 * float(((rating - score) ** 2).sum())
        for one in np.unique(tier):
            chosen, remaining = np.exp(score[tier == one]).sum(), np.exp(score[tier >= one]).sum()
            total -= model.beta * float(np.log(chosen / remaining))
    for name in ("of_agent", "of_item"):
        side = vars(model)[name]
        total += 0.5 * model.ridge * float((side[:, :-1] ** 2).sum())
        total += 0.5 * model.bias_ridge * float((side[:, -1] ** 2).sum())
    return total


@pytest.mark.parametrize("beta", [0.3, 1.0])
def test_ordered_partitions_end_at_a_stationary_point_of_their_objective(beta: float) -> None:
    prefs = stars(n_agents=12, n_items=10)
    fitted, heard = heard_of(
        OrderedPartitionMF(factors=2, ridge=1.0, bias_ridge=1.0, beta=beta, sweeps=3000, tolerance=0.0), prefs
    )
    value, rng = order_and_errors(fitted, prefs), np.random.default_rng(0)
    assert heard[-1].objective == pytest.approx(value)
    for name in ("of_agent", "of_item"):
        side = vars(fitted)[name]
        step = 1e-4 * rng.normal(size=side.shape)
        ahead, behind = (order_and_errors(fitted.with_learnt(**{name: side + sign * step}), prefs) for sign in (1, -1))
        assert abs(ahead - behind) / 2 < 1e-7 * value


# ---- the published model: f = p · q, two regularisers, a uniform start ----
PUBLISHED = OrderedPartitionMF(
    factors=2, beta=0.3, ridge=1.0, biases=False, centred=False, initial="uniform", sweeps=3000, tolerance=0.0
)


def published_objective(model: OrderedPartitionMF, prefs: cc.Preferences, l1: float, l2: float) -> float:
    """-beta L + (1 - beta) / 2 sum (r - f)² + l1 |W|² + l2 |H|²."""
    sides = l1 * float((vars(model)["of_agent"] ** 2).sum()) + l2 * float((vars(model)["of_item"] ** 2).sum())
    return order_and_errors(replace(model, ridge=1e-6, bias_ridge=1e-6).with_learnt(**model.learnt), prefs) + sides


def test_two_regularisers_have_the_optimum_of_one_on_both_sides() -> None:
    prefs, l1, l2 = stars(n_agents=12, n_items=10), 2.0, 0.125
    fitted: Any = replace(PUBLISHED, ridge=2 * (l1 * l2) ** 0.5).fit(prefs)
    ratio = (l2 / l1) ** 0.25
    scaled = fitted.with_learnt(of_agent=fitted.of_agent * ratio, of_item=fitted.of_item / ratio)
    np.testing.assert_allclose(scaled.complete(), fitted.complete(), atol=1e-12)
    value, rng = published_objective(scaled, prefs, l1, l2), np.random.default_rng(0)
    for name in ("of_agent", "of_item"):
        side = vars(scaled)[name]
        step = 1e-4 * rng.normal(size=side.shape)
        step[:, -1] = 0.0  # there are no biases
        ahead, behind = (
            published_objective(scaled.with_learnt(**{name: side + sign * step}), prefs, l1, l2) for sign in (1, -1)
        )
        assert abs(ahead - behind) / 2 < 1e-7 * value


def test_the_published_model_has_neither_mean_nor_biases() -> None:
    fitted: Any = replace(PUBLISHED, sweeps=5).fit(stars())
    assert fitted.mean == 0
    assert np.abs(fitted.of_agent[:, -1]).max() < 1e-9
    assert np.abs(fitted.of_item[:, -1]).max() < 1e-9
    np.testing.assert_allclose(fitted.complete(), fitted.of_agent[:, :-1] @ fitted.of_item[:, :-1].T)


@pytest.mark.parametrize(("beta", "largest"), [(0.01, 5.0), (1.0, 1.0)])
def test_a_uniform_start_is_above_0_and_below_half_the_root_of_rating_over_factors(beta: float, largest: float) -> None:
    model = replace(PUBLISHED, beta=beta, factors=50)
    observed = Observed.of(stars())
    for rows in model._first_sides(np.random.default_rng(0), observed, 1.0):
        assert rows[:, :-1].min() >= 0
        assert 0.45 * (largest / 50) ** 0.5 < rows[:, :-1].max() <= 0.5 * (largest / 50) ** 0.5
        assert (rows[:, -1] == 0).all()


# ---- one method as a case of another ----
def test_without_the_order_ordered_partitions_are_least_squares() -> None:
    prefs, settings = stars(), {"factors": 3, "ridge": 2.0, "sweeps": 10}
    one, other = OrderedPartitionMF(beta=0.0, **settings).fit(prefs), PMF(**settings).fit(prefs)
    np.testing.assert_allclose(one.complete(), other.complete(), atol=1e-10)


def test_without_ties_ordered_partitions_are_plackett_and_luce() -> None:
    prefs, settings = planted_prefs(), {"factors": 3, "ridge": 2.0, "sweeps": 10}
    one, other = OrderedPartitionMF(beta=1.0, **settings).fit(prefs), PlackettLuceMF(**settings).fit(prefs)
    np.testing.assert_allclose(one.complete(), other.complete(), atol=1e-10)
    tied = stars()
    one, other = OrderedPartitionMF(beta=1.0, **settings).fit(tied), PlackettLuceMF(**settings).fit(tied)
    assert np.abs(one.complete() - other.complete()).max() > 0.01


def test_regression_of_cofi_rank_is_least_squares_without_biases() -> None:
    prefs, settings = stars(), {"factors": 3, "ridge": 2.0, "sweeps": 10, "biases": False}
    one, other = CoFiRank(loss="regression", **settings).fit(prefs), PMF(**settings).fit(prefs)
    np.testing.assert_allclose(one.complete(), other.complete(), atol=1e-10)


# ---- the same again ----
@everyone
def test_the_same_seed_gives_the_same_answer(model: Recommender) -> None:
    prefs = stars(n_agents=20, n_items=15)
    one, other = (model.fit(prefs).recommend(exclude_seen=False) for _ in range(2))
    np.testing.assert_array_equal(one.score, other.score)
    np.testing.assert_array_equal(one.slot_item, other.slot_item)


@pytest.mark.parametrize("model", FALLING.values(), ids=FALLING)
def test_threads_change_no_bit(model: Any) -> None:
    prefs = stars(n_agents=150, n_items=60)
    one, other = (replace(model, factors=10, sweeps=3, threads=threads).fit(prefs).complete() for threads in (1, 2))
    np.testing.assert_array_equal(one, other)


def twice(prefs: cc.Preferences, chosen: list[str]) -> tuple[cc.Preferences, cc.Preferences]:
    """The same preferences, some agents with a weight of 2, or with two ballots."""
    assert prefs.agents is not None
    assert prefs.agent is not None
    assert prefs.value is not None
    again = np.isin(prefs.agent, prefs.agents.codes(chosen))
    entry = np.repeat(again, np.diff(prefs.indptr))
    item, tier, value = (np.append(column, column[entry]) for column in (prefs.item, prefs.tier, prefs.value))
    sizes = np.diff(prefs.indptr)
    repeated = cc.Preferences(
        prefs.items,
        np.append(0, np.cumsum(np.append(sizes, sizes[again]))),
        item,
        tier,
        value=value,
        scale="rating",
        agents=prefs.agents,
        agent=np.append(prefs.agent, prefs.agent[again]),
    )
    return prefs.replace(weight=np.where(again, 2.0, 1.0)), repeated


@pytest.mark.parametrize(
    "model", [*FALLING.values(), Popular(), Popular(by="rating"), ConsensusRecommender(aggregator="borda")]
)
def test_a_weight_means_repetition(model: Any) -> None:
    weighted, repeated = (model.fit(some) for some in twice(stars(n_agents=15, n_items=10), ["u1", "u4"]))
    assert repeated.agents == weighted.agents
    for agent in ("u1", "u2"):
        labels = weighted.items.labels
        one, other = (fitted.predict([agent] * len(labels), labels) for fitted in (weighted, repeated))
        np.testing.assert_allclose(one, other, atol=1e-7)


@everyone
def test_a_saved_model_recommends_the_same(model: Recommender, tmp_path: Path) -> None:
    fitted = model.fit(stars(n_agents=20, n_items=15))
    cc.save(fitted, tmp_path / "model.zip")
    loaded = cc.load(tmp_path / "model.zip")
    assert loaded == fitted
    one, other = fitted.recommend(), loaded.recommend()
    for name in ("slot_ptr", "slot_item", "score"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert one.instances == other.instances
    said = {"i0": 5.0, "i3": 1.0}
    np.testing.assert_array_equal(fitted.fold_in(said).recommend().score, loaded.fold_in(said).recommend().score)


# ---- early stopping ----
@pytest.mark.parametrize(
    "model",
    [
        PMF(factors=6, ridge=0.05, bias_ridge=0.05, sweeps=60),
        OrderedPartitionMF(factors=6, sweeps=60),
        OrderedPartitionMF(factors=6, ridge=0.5, sweeps=60),
        CoFiRank(factors=6, loss="ndcg", sweeps=30),
        BPR(factors=6, contrast="rated", passes=60),
    ],
    ids=["pmf", "ordered partitions, auto", "ordered partitions", "ndcg", "bpr"],
)
def test_the_best_validated_state_is_kept(model: Any) -> None:
    prefs, validation = split_rows(noise=0.7, share=0.3, n_agents=30, n_items=25)
    fitted, heard = heard_of(replace(model, patience=3), prefs, validation=validation)
    quality = [sweep.quality for sweep in heard]
    assert None not in quality
    assert fitted.score(validation) == pytest.approx(max(quality))
    last = len(quality) - 1 - quality.index(max(quality))
    assert last >= 3 or len(quality) == heard[0].of


def test_another_metric_may_say_when_to_stop() -> None:
    prefs, validation = split_rows(noise=0.7, share=0.3, n_agents=30, n_items=25)
    fitted, heard = heard_of(PMF(factors=6, ridge=0.05, sweeps=40), prefs, validation=validation, metric="ndcg@3")
    assert fitted.score(validation, "ndcg@3") == pytest.approx(max(sweep.quality or 0.0 for sweep in heard))


def test_without_validation_there_is_no_quality() -> None:
    _, heard = heard_of(PMF(factors=2, sweeps=3), stars())
    assert [sweep.quality for sweep in heard] == [None] * 3


# ---- going on ----
@pytest.mark.parametrize("model", FALLING.values(), ids=FALLING)
def test_a_fit_goes_on_from_where_another_ended(model: Any) -> None:
    prefs, half = stars(), replace(model, sweeps=6, tolerance=0.0)
    on = half.fit(prefs, start=half.fit(prefs))
    whole = replace(model, sweeps=12, tolerance=0.0).fit(prefs)
    np.testing.assert_allclose(on.complete(), whole.complete(), atol=1e-8)


@pytest.mark.parametrize("model", [OrderedPartitionMF(factors=3, sweeps=30), BPR(factors=3, passes=20)])
def test_going_on_ranks_no_worse(model: Any) -> None:
    prefs, test = split_rows()
    first = model.fit(prefs)
    on = model.fit(prefs, start=first)
    assert on.score(test) > first.score(test) - 0.01


@pytest.mark.parametrize("start", [PMF(factors=2), BPR(factors=2).fit(planted_prefs(n_agents=5, n_items=5))])
def test_a_fit_goes_on_from_a_fitted_model_of_its_class_only(start: Recommender) -> None:
    with pytest.raises(cc.InputError, match="can only continue from a fitted pmf"):
        PMF(factors=2).fit(planted_prefs(n_agents=5, n_items=5), start=start)


# ---- are they any good ----
PERSONAL: dict[str, Any] = {
    "pmf": PMF(factors=2, ridge=1.0),
    "pmf, auto": PMF(factors=4, ridge="auto"),
    "ordered-partition-mf": OrderedPartitionMF(factors=4),
    "plackett-luce-mf": PlackettLuceMF(factors=2, ridge=1.0),
    "cofi-rank, regression": CoFiRank(factors=3, ridge=1.0, loss="regression"),
    "cofi-rank, ordinal": CoFiRank(factors=3, ridge=1.0, loss="ordinal"),
    "cofi-rank, ndcg": CoFiRank(factors=3, ridge=0.5, loss="ndcg", sweeps=40),
    "bpr, rated": BPR(factors=3, contrast="rated", passes=40),
}


@pytest.fixture(scope="module")
def common_quality() -> float:
    """How well the best list for everybody ranks what is held out."""
    prefs, test = split_rows()
    common: list[Recommender] = [Popular(), Popular(by="rating"), ConsensusRecommender()]
    return max(model.fit(prefs).score(test) for model in common)


@pytest.mark.parametrize("model", PERSONAL.values(), ids=PERSONAL)
def test_personal_lists_beat_those_for_everybody(model: Recommender, common_quality: float) -> None:
    prefs, test = split_rows()
    assert model.fit(prefs).score(test) > common_quality + 0.03


def test_bpr_finds_what_agents_would_see() -> None:
    """Two camps that see items of their own: what is held out of a camp stands before what only the other saw."""
    rng = np.random.default_rng(0)
    camp_of_agent, camp_of_item = np.arange(40) % 2, np.arange(30) % 2
    seen = (camp_of_agent[:, None] == camp_of_item) & (rng.random((40, 30)) < 0.6)
    prefs = cc.Preferences.from_ratings(*rows_of(seen, np.ones(seen.shape)))
    listed = BPR(factors=4, passes=60).fit(prefs).recommend(n=3)
    hits: Floats = np.array(
        [
            camp_of_item[int(i[1:])] == camp_of_agent[int(one.instance[1:])]  # type: ignore[index]
            for one in listed
            for i in one.items
        ]
    )
    assert hits.mean() > 0.9
