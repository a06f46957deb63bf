"""Teams in models of comparisons and choices: the strength of a team is the sum or the mean of its members' scores."""

from __future__ import annotations

import numpy as np
import pytest
from tests.cases import assert_law_holds

import concordant as cc
from concordant import laws
from concordant.errors import NeedError, ParameterError
from concordant.models.observations.contestants import TEAM_SIZE

PAIRWISE = ("bradley-terry", "thurstone", "davidson", "rao-kupper")
ALL = (*PAIRWISE, "plackett-luce", "ordered-partitions")


class Season:
    """Games of two teams drawn from eight players; with ``sizes`` how many each may have."""

    def __init__(self, n: int = 400, sizes: tuple[int, ...] = (2,), seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.n_players = 8
        self.score = np.linspace(1, -1, self.n_players)
        self.left, self.right, self.is_left = [], [], []
        for _ in range(n):
            a, b = rng.choice(sizes, 2)
            players = rng.permutation(self.n_players)[: a + b]
            left, right = players[:a], players[a:]
            lead = self.score[left].sum() - self.score[right].sum() + 0.5 * (a - b)
            self.left.append(left)
            self.right.append(right)
            self.is_left.append(rng.random() < 1 / (1 + np.exp(-lead)))

    @property
    def prefs(self) -> cc.Preferences:
        games = zip(self.left, self.right, self.is_left, strict=True)
        rows = [(left, right) if won else (right, left) for left, right, won in games]
        return games_of([f"p{k}" for k in range(self.n_players)], rows)

    def design(self, how: str) -> np.ndarray:
        """Rows of the logistic regression: left minus right, and for sums the difference of sizes."""
        rows = np.zeros((len(self.left), self.n_players + 1))
        for row, left, right in zip(rows, self.left, self.right, strict=True):
            row[left] = 1 if how == "sum" else 1 / len(left)
            row[right] = -1 if how == "sum" else -1 / len(right)
            row[-1] = len(left) - len(right) if how == "sum" else 0
        return rows


def games_of(labels: list[str], rows: list[tuple]) -> cc.Preferences:
    """Make preferences of games, winners first; a name for a tie is a third entry."""
    item = [player for row in rows for side in row[:2] for player in side]
    tier = [k if len(row) == 2 else 0 for row in rows for k, side in enumerate(row[:2]) for _ in side]
    team = [k for row in rows for k, side in enumerate(row[:2]) for _ in side]
    indptr = np.concatenate([[0], np.cumsum([len(row[0]) + len(row[1]) for row in rows])])
    return cc.Preferences(labels, indptr, np.array(item), np.array(tier), team=np.array(team))


def constrained_optimum(rows: np.ndarray, y: np.ndarray, prior: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the penalised logistic regression with scores that sum to zero, and its standard errors."""
    m = rows.shape[1] - 1
    ridge = np.array([prior] * m + [1e-9])
    point = np.zeros(m + 1)
    for _ in range(60):
        chance = 1 / (1 + np.exp(-rows @ point))
        bordered = np.zeros((m + 2, m + 2))
        bordered[:-1, :-1] = (rows * (chance * (1 - chance))[:, None]).T @ rows + np.diag(ridge)
        bordered[-1, :m] = bordered[:m, -1] = 1
        slope = rows.T @ (y - chance) - ridge * point
        point = point + np.linalg.solve(bordered, np.append(slope, -point[:m].sum()))[:-1]
    return point, np.sqrt(np.diag(np.linalg.inv(bordered))[:-1])


@pytest.mark.parametrize("sizes", [(2,), (1, 2, 3)])
@pytest.mark.parametrize("how", ["sum", "mean"])
@pytest.mark.parametrize("method", ["bradley-terry", "plackett-luce"])
def test_scores_and_errors_are_those_of_a_logistic_regression_on_members(
    method: str, how: str, sizes: tuple[int, ...]
) -> None:
    season = Season(sizes=sizes)
    ranking = cc.rank(season.prefs, method, prior=0.5, team_strength=how)
    found, errors = constrained_optimum(season.design(how), np.array(season.is_left), 0.5)
    np.testing.assert_allclose(ranking.score, found[:-1], atol=1e-6)
    np.testing.assert_allclose(ranking.details["stderr"], errors[:-1], rtol=1e-5)
    if how == "sum" and len(sizes) > 1:
        assert ranking.model.coefficients[TEAM_SIZE] == pytest.approx(found[-1], rel=1e-5)
        assert ranking.model.coefficient_errors[TEAM_SIZE] == pytest.approx(errors[-1], rel=1e-5)
    else:
        assert ranking.model.coefficients == {}


@pytest.mark.parametrize("method", ALL)
def test_a_team_of_one_is_just_an_item(method: str) -> None:
    season = Season(sizes=(1,))
    alone = cc.rank(season.prefs, method)
    plain = cc.rank(season.prefs.replace(team=None), method)
    np.testing.assert_array_equal(alone.score, plain.score)
    np.testing.assert_array_equal(alone.low, plain.low)


@pytest.mark.parametrize("method", ALL)
def test_good_players_are_found_from_the_games_of_their_teams(method: str) -> None:
    ranking = cc.rank(Season(3000).prefs, method)
    truth = {f"p{k}": k for k in range(8)}
    assert np.corrcoef([truth[item] for item in ranking.items], np.arange(8))[0, 1] > 0.9
    assert ranking.fit is not None
    assert ranking.model.log_likelihood(Season(3000).prefs) == pytest.approx(ranking.fit["log_likelihood"], rel=1e-9)


def test_the_mean_of_equal_teams_is_half_their_sum() -> None:
    prefs = Season().prefs
    total = cc.rank(prefs, "bradley-terry", prior=0.4)
    mean = cc.rank(prefs, "bradley-terry", prior=0.1, team_strength="mean")
    np.testing.assert_allclose(mean.score, 2 * total.score, atol=1e-6)


def test_players_always_in_one_team_score_the_same_and_are_named() -> None:
    rows = [((0, 1), (2, 3)), ((2, 4), (0, 1)), ((0, 1), (3, 4)), ((2, 3), (4, 5)), ((4, 2), (3, 5)), ((5, 3), (0, 1))]
    for method in ("bradley-terry", "plackett-luce"):
        ranking = cc.rank(games_of(list("abcdef"), rows), method)
        (notice,) = [one for one in ranking.warnings if one.name == "inseparable"]
        assert notice.items == ("a", "b")
        assert ranking.score[0] == pytest.approx(ranking.score[1], abs=1e-9)


def test_a_player_whose_teams_never_lost_is_named() -> None:
    rows = [((0, 1), (2, 3)), ((0, 2), (1, 3)), ((1, 2), (3, 4)), ((3, 4), (1, 2)), ((0, 4), (2, 1))]
    for prior in ("auto", 0):
        ranking = cc.rank(games_of(list("abcde"), rows), "bradley-terry", prior=prior)
        (notice,) = [one for one in ranking.warnings if one.name == "never-lost"]
        assert notice.items == ("a",)
        assert np.isfinite(ranking.score).all()


def test_plain_likelihood_of_teams_is_that_of_logistic_regression() -> None:
    season = Season(600)
    ranking = cc.rank(season.prefs, "bradley-terry", prior=0)
    found, _ = constrained_optimum(season.design("sum")[:, :-1].repeat(1, axis=1) @ np.eye(8, 9), season.is_left, 0.0)
    np.testing.assert_allclose(ranking.score, found[:-1], atol=1e-4)


def test_errors_of_team_games_can_be_clustered_and_resampled() -> None:
    prefs = Season(300).prefs
    hessian = cc.rank(prefs, "bradley-terry", errors="hessian").details["stderr"]
    for kind in ("sandwich", "bootstrap"):
        other = cc.rank(prefs, "bradley-terry", errors=kind, replicates=60).details["stderr"]
        np.testing.assert_allclose(other, hessian, rtol=0.4)


def test_teams_of_unequal_size_with_covariates_have_all_coefficients() -> None:
    prefs = Season(300, sizes=(1, 2)).prefs
    x = np.random.default_rng(0).normal(size=(len(prefs.item), 1))
    ranking = cc.rank(prefs.replace(covariate=x, covariates=("rest",)), "davidson")
    assert [one.name for one in ranking.coefficients] == ["rest", TEAM_SIZE]
    plain = cc.rank(prefs, "davidson")
    np.testing.assert_array_equal(ranking.model.uncorrected.score, plain.score)


def random_teams(rng: np.random.Generator) -> cc.Preferences:
    """Return small random preferences whose tiers are cut into teams at random."""
    prefs = laws.random_preferences(rng)
    if prefs.value is not None:
        prefs = prefs.replace(value=None, scale=None)
    return prefs.replace(team=prefs.tier * 2 + rng.integers(0, 2, len(prefs.tier)))


@pytest.mark.parametrize("method", [*PAIRWISE, "ordered-partitions"])
@pytest.mark.parametrize("law", ["neutrality", "anonymity", "weight_is_repetition", "is_finite", "backends_agree"])
def test_laws_hold_with_teams(method: str, law: str, backend: str) -> None:
    if law == "backends_agree" and backend == "twins":
        pytest.skip("once is enough: the law runs both back ends")
    assert_law_holds(law, method, random_teams, seed=11)


@pytest.mark.parametrize("method", ["borda", "kemeny", "elo", "mpm", "schulze", "rrf", "hodgerank"])
def test_methods_that_know_no_teams_refuse_them(method: str) -> None:
    prefs = Season(20).prefs.replace(agents=[str(k) for k in range(20)], agent=np.arange(20))
    with pytest.raises(NeedError, match="does not support teams: use bradley-terry"):
        cc.rank(prefs, method)
    if method == "borda":
        assert len(cc.rank(prefs.replace(team=None), method).items) == 8


def test_counts_of_places_say_nothing_of_teams() -> None:
    with pytest.raises(ParameterError, match="counts='binary'"):
        cc.rank(Season(20).prefs, "bradley-terry", counts="difference")
