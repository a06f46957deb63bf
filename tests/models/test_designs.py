"""Likelihoods of contestants: derivatives, and that all ways to fit them end at the same point."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from concordant import laws
from concordant.kernels import links
from concordant.models.likelihoods.observed import Observed, ObservedDuels, ObservedStages
from concordant.models.likelihoods.priors import Prior
from concordant.models.observations.contestants import TEAM_SIZE, Contest, contest_of
from concordant.models.observations.designs import Designed, duel_standing_of, stage_standing_of
from concordant.models.observations.duels import Counting
from concordant.models.observations.stages import Staging
from concordant.models.solve.objectives import Matrix, Products
from concordant.models.solve.strategies import fit, with_errors
from concordant.preferences import Preferences

LINKS = {
    "bradley-terry": links.BRADLEY_TERRY,
    "thurstone": links.THURSTONE,
    "davidson": links.DAVIDSON,
    "rao-kupper": links.RAO_KUPPER,
}
KINDS = ("covariates", "teams", "both")


def drawn(kind: str, seed: int = 0, n_ballots: int = 60, n_items: int = 7) -> Preferences:
    """Draw ballots of two or three contestants with ties, in teams of different size, with covariates, or both."""
    rng = np.random.default_rng(seed)
    item, tier, team, indptr = [], [], [], [0]
    for _ in range(n_ballots):
        sizes = rng.integers(1, 3, rng.integers(2, 4)) if kind != "covariates" else np.ones(rng.integers(2, 4), int)
        places = np.sort(rng.integers(0, 3, len(sizes)))
        item += rng.permutation(n_items)[: sizes.sum()].tolist()
        tier += np.repeat(places, sizes).tolist()
        team += np.repeat(np.arange(len(sizes)), sizes).tolist()
        indptr.append(len(item))
    n = len(item)
    return Preferences(
        [f"item {k}" for k in range(n_items)],
        np.array(indptr),
        np.array(item),
        np.array(tier),
        weight=rng.integers(1, 4, n_ballots),
        team=None if kind == "covariates" else np.array(team),
        covariate=None if kind == "teams" else rng.normal(size=(n, 2)) * [100.0, 0.5] + [1000.0, 0.0],
        covariates=() if kind == "teams" else ("length", "lists"),
        shown=np.concatenate([rng.permutation(k) for k in np.diff(indptr)]),
    )


def contest(prefs: Preferences, how: str = "sum") -> Contest:
    found = contest_of(prefs, how)
    assert found is not None
    return found


def duels_of(prefs: Preferences, link: int, order_effect: bool = False, how: str = "sum") -> Observed:
    found = contest(prefs, how)
    return Designed(ObservedDuels(Counting(order_effect=order_effect).duels(found.prefs), link), found.design)


def stages_of(prefs: Preferences, ties: str, how: str = "sum") -> Observed:
    found = contest(prefs, how)
    return Designed(ObservedStages(Staging(ties=ties).stages(found.prefs)), found.design)


OBSERVED = {
    **{name: partial(duels_of, link=link) for name, link in LINKS.items()},
    **{f"{name} with order": partial(duels_of, link=link, order_effect=True) for name, link in LINKS.items()},
    "plackett-luce": partial(stages_of, ties="shuffle"),
    "ordered partitions": partial(stages_of, ties="partition"),
}


def difference(function, point, size=1e-5):
    """Return the derivatives of a function by central differences, a row per parameter."""
    rows = []
    for k in range(point.shape[1]):
        ends = []
        for sign in (1.0, -1.0):
            moved = point.copy()
            moved[0, k] += sign * size
            ends.append(function(moved))
        rows.append((ends[0] - ends[1]) / (2 * size))
    return np.array(rows)


@pytest.mark.parametrize("how", ["sum", "mean"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", OBSERVED)
def test_derivatives_are_those_of_finite_differences(name: str, kind: str, how: str) -> None:
    observed = OBSERVED[name](drawn(kind), how=how)
    likelihood = observed.alone()
    point = np.random.default_rng(1).normal(size=(1, likelihood.size)) / 2

    def value(at):
        return float(likelihood.evaluate(at)[0])

    def gradient(at):
        likelihood.evaluate(at)
        return likelihood.gradient()[0]

    slopes, curves = difference(value, point), -difference(gradient, point)
    likelihood.evaluate(point)
    np.testing.assert_allclose(likelihood.gradient()[0], slopes, rtol=1e-6, atol=1e-5)
    hessian = likelihood.hessian(True)[0]
    np.testing.assert_allclose(hessian, curves, rtol=1e-5, atol=1e-4)
    m = likelihood.m
    columns = np.random.default_rng(2).normal(size=(m, 3))
    np.testing.assert_allclose(likelihood.product(columns), hessian[:m, :m] @ columns, atol=1e-9)
    if likelihood.is_concave and observed.design.is_level:
        np.testing.assert_allclose(likelihood.diagonal()[:m] >= np.diag(hessian)[:m] - 1e-9, True)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["bradley-terry with order", "davidson", "rao-kupper", "plackett-luce"])
def test_a_fit_by_products_is_a_fit_by_matrices(name: str, kind: str) -> None:
    observed = OBSERVED[name](drawn(kind))
    prior = Prior(np.array([0.5]), np.array([0.5]), on_coefficients=1e-4)
    (one,) = fit(observed, prior, strategy="matrix", with_log_det=True)
    (other,) = fit(observed, prior, strategy="products")
    np.testing.assert_allclose(other.score, one.score, atol=1e-6)
    np.testing.assert_allclose(other.coefficient, one.coefficient, atol=1e-6)
    exact, estimated = Matrix.of(observed, prior), Products.of(observed, prior)
    for objective in (exact, estimated):
        objective.evaluate(np.concatenate([one.score, one.advantage, one.tie, one.coefficient[0]])[None][:, used(one)])
    np.testing.assert_allclose(estimated.among_others(), exact.among_others(), rtol=1e-5, atol=1e-9)
    known = with_errors(one)
    n = known.coefficient.shape[1]
    np.testing.assert_allclose(known.coefficient_covariance, exact.among_others()[-n:, -n:], rtol=1e-6)


def used(one):
    """Return which of scores, advantage, tie and coefficients the model has."""
    m, inner = len(one.score), one.observed.alone().inner
    places = list(range(m))
    places += [m] * ("advantage" in inner.extras()) + [m + 1] * ("tie" in inner.extras())
    return places + list(range(m + 2, m + 2 + one.coefficient.shape[1]))


@pytest.mark.parametrize("kind", KINDS)
def test_draws_of_large_fits_have_about_the_exact_variances(kind: str) -> None:
    observed = duels_of(drawn(kind, n_ballots=400), links.BRADLEY_TERRY, how="mean")
    prior = Prior(np.array([0.5]), np.array([0.5]), on_coefficients=1e-4)
    (one,) = fit(observed, prior, strategy="matrix")
    exact = with_errors(one).variance
    estimated = Products.of(observed, prior)
    estimated.evaluate(np.concatenate([one.score, one.coefficient[0]])[None])
    np.testing.assert_allclose(estimated.with_errors(one).variance, exact, rtol=0.25)


def test_teams_of_different_size_have_a_coefficient_of_their_size_only_where_scores_are_summed() -> None:
    prefs = drawn("teams")
    assert contest(prefs, "sum").design.names == (TEAM_SIZE,)
    assert contest(prefs, "mean").design.names == ()


def test_equal_teams_are_one_contestant() -> None:
    prefs = Preferences(
        ["a", "b", "c", "d"],
        np.array([0, 4, 8]),
        np.array([0, 1, 2, 3, 1, 0, 3, 2]),
        np.array([0, 0, 1, 1, 0, 0, 1, 1]),
        team=np.array([5, 5, 2, 2, 7, 7, 1, 1]),
    )
    found = contest(prefs)
    assert found.prefs.n_items == 2
    assert found.design.inseparable.all()


def test_covariates_are_measured_in_deviations_inside_ballots() -> None:
    prefs = Preferences.from_pairs(["a", "b", "a"], ["b", "a", "b"], covariates={"x": ([10, 12, 3], [8, 9, 8])})
    design = contest(prefs).design
    assert design.spread[0] == pytest.approx(np.sqrt((4 + 9 + 25) / 6))
    np.testing.assert_allclose(np.diff(-design.x[:, 0].reshape(-1, 2))[:, 0] * design.spread[0], [2, 3, -5])


def test_a_restricted_design_is_the_design_of_that_instance() -> None:
    prefs = drawn("both", n_ballots=30)
    prefs = prefs.replace(slot_ptr=None, slot_item=None, instances=["p", "q"], instance=np.arange(30) % 2)
    whole = contest(prefs).design
    for q in range(2):
        own = whole.restrict(np.array([q]))
        slots, at = slice(*whole.slot_ptr[q : q + 2]), slice(*whole.ptr[q : q + 2])
        score = np.random.default_rng(0).normal(size=whole.n_slots)
        beta = np.random.default_rng(1).normal(size=whole.n_coefficients)
        np.testing.assert_allclose(own.strengths(score[slots], beta), whole.strengths(score, beta)[at])


def test_winners_of_team_games_stand_before_all_losers() -> None:
    prefs = drawn("teams", seed=3, n_ballots=25)
    found = contest(prefs)
    by_duels = duel_standing_of(found.design, Counting().duels(found.prefs))
    by_stages = stage_standing_of(found.design, Staging(ties="partition").stages(found.prefs))
    n = prefs.n_items
    reach = np.eye(n, dtype=bool)
    for a, b in zip(prefs.indptr[:-1], prefs.indptr[1:], strict=True):
        item, tier, team = prefs.item[a:b], prefs.tier[a:b], prefs.team[a:b]
        is_above = (tier[:, None] <= tier[None, :]) & (team[:, None] != team[None, :])
        reach[np.ix_(item, item)] |= is_above
    for _ in range(n):
        reach = (reach.astype(int) @ reach.astype(int)) > 0
    same = reach & reach.T
    np.testing.assert_array_equal(by_duels.strong[:, None] == by_duels.strong[None, :], same)
    assert by_stages is not None
    np.testing.assert_array_equal(by_stages.weak[:, None] == by_stages.weak[None, :], reach | reach.T | (reach @ reach))


@pytest.mark.parametrize("kind", KINDS)
def test_both_back_ends_agree_on_designs(kind: str) -> None:
    values = []
    for backend in laws._backends():
        with laws.using_kernels(backend):
            observed = duels_of(drawn(kind), links.DAVIDSON)
            (one,) = fit(observed, Prior(np.array([0.5]), np.array([0.5]), on_coefficients=1e-4))
            values.append(np.concatenate([one.score, one.coefficient[0]]))
    for other in values[1:]:
        np.testing.assert_allclose(other, values[0], atol=1e-9)
