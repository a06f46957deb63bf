"""Covariates of what was compared: coefficients, corrected scores and errors, against logistic regression."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.cases import assert_law_holds

import concordant as cc
from concordant import laws
from concordant.errors import InputError, ParameterError

PAIRWISE = ("bradley-terry", "thurstone", "davidson", "rao-kupper")
ALL = (*PAIRWISE, "plackett-luce", "ordered-partitions")


class Arena:
    """Votes between answers of models: each answer has a length and a number of lists, and both sway voters."""

    def __init__(
        self, n: int = 800, n_items: int = 6, worth: tuple[float, float] = (0.003, 0.4), seed: int = 0
    ) -> None:
        rng = np.random.default_rng(seed)
        self.score = np.linspace(1, -1, n_items)
        self.left = rng.integers(0, n_items, n)
        self.right = (self.left + rng.integers(1, n_items, n)) % n_items
        # The worse a model, the longer its answers.
        typical = 400 - 150 * self.score
        self.shown = np.stack(
            [np.stack([rng.normal(typical[side], 200), rng.poisson(2, n)], 1) for side in (self.left, self.right)], 1
        )
        lead = self.score[self.left] - self.score[self.right] + (self.shown[:, 0] - self.shown[:, 1]) @ np.array(worth)
        self.is_left = rng.random(n) < 1 / (1 + np.exp(-lead))
        self.n_items = n_items

    @property
    def prefs(self) -> cc.Preferences:
        names = np.array([f"m{k}" for k in range(self.n_items)])
        up, down = np.where(self.is_left, self.left, self.right), np.where(self.is_left, self.right, self.left)
        flip = self.is_left[:, None]
        won, lost = (np.where(flip, self.shown[:, k], self.shown[:, 1 - k]) for k in (0, 1))
        columns = {name: (won[:, k], lost[:, k]) for k, name in enumerate(("length", "lists"))}
        return cc.Preferences.from_pairs(names[up].tolist(), names[down].tolist(), covariates=columns)

    @property
    def design(self) -> np.ndarray:
        """Rows of the logistic regression: left minus right."""
        rows = np.zeros((len(self.left), self.n_items))
        rows[np.arange(len(rows)), self.left] = 1
        rows[np.arange(len(rows)), self.right] = -1
        return np.column_stack([rows, self.shown[:, 0] - self.shown[:, 1]])

    def aligned(self, ranking: cc.Ranking, values: np.ndarray) -> np.ndarray:
        """Return values by slot in the order of the models."""
        place = {label: k for k, label in enumerate(ranking.vocabulary.take(ranking.slot_item))}
        return values[[place[f"m{k}"] for k in range(self.n_items)]]


def rank(prefs: cc.Preferences, method: str = "bradley-terry", **params: object) -> cc.Ranking:
    return cc.rank(prefs, method, **params)


# ---- oracles ----
def test_scores_and_coefficients_are_those_of_logistic_regression() -> None:
    sklearn = pytest.importorskip("sklearn.linear_model")
    arena = Arena()
    ranking = rank(arena.prefs, prior=0.5)
    # One ridge for all columns: those of covariates are blown up so far that theirs is nothing.
    blow = np.array([1.0] * arena.n_items + [1e2, 1e4])
    model = sklearn.LogisticRegression(C=2.0, fit_intercept=False, tol=1e-12, max_iter=10_000, solver="newton-cholesky")
    model.fit(arena.design * blow, arena.is_left)
    found = model.coef_[0] * blow
    np.testing.assert_allclose(arena.aligned(ranking, ranking.score), found[: arena.n_items], atol=2e-6)
    worth = list(ranking.model.coefficients.values())
    np.testing.assert_allclose(worth, found[arena.n_items :], rtol=1e-5)


@pytest.mark.parametrize("prior", [0.0, 0.7])
def test_errors_are_those_of_the_joint_curvature(prior: float) -> None:
    arena = Arena(400)
    ranking = rank(arena.prefs, prior=prior)
    score = arena.aligned(ranking, ranking.score)
    worth = np.array(list(ranking.model.coefficients.values()))
    m, rows = arena.n_items, arena.design
    chance = 1 / (1 + np.exp(-rows @ np.concatenate([score, worth])))
    hessian = (rows * (chance * (1 - chance))[:, None]).T @ rows + np.diag([prior] * m + [0.0, 0.0])
    bordered = np.zeros((m + 3, m + 3))  # scores sum to zero
    bordered[:-1, :-1], bordered[-1, :m], bordered[:m, -1] = hessian, 1, 1
    expected = np.sqrt(np.diag(np.linalg.inv(bordered))[:-1])
    np.testing.assert_allclose(arena.aligned(ranking, ranking.details["stderr"]), expected[:m], rtol=1e-5)
    np.testing.assert_allclose(list(ranking.model.coefficient_errors.values()), expected[m:], rtol=1e-5)
    gradient = rows.T @ (arena.is_left - chance) - np.concatenate([prior * score, np.zeros(2)])
    np.testing.assert_allclose(gradient * np.array([1.0] * m + [0.01, 1.0]), 0, atol=2e-3)


def test_standard_errors_are_those_of_statsmodels() -> None:
    sm = pytest.importorskip("statsmodels.api")
    arena = Arena(500)
    ranking = rank(arena.prefs, prior=0)
    rows = arena.design[:, 1:]  # the first item is the reference: coefficients do not depend on it
    found = sm.Logit(arena.is_left.astype(float), rows * ([1.0] * 5 + [1e-2, 1.0])).fit(disp=0, tol=1e-12)
    np.testing.assert_allclose(list(ranking.model.coefficient_errors.values()), found.bse[-2:] * [1e-2, 1.0], rtol=1e-5)
    np.testing.assert_allclose([one.p for one in ranking.coefficients], found.pvalues[-2:], rtol=1e-3, atol=1e-12)


def test_a_choice_from_a_set_with_covariates_is_the_conditional_logit() -> None:
    rng = np.random.default_rng(5)
    n, k, m = 300, 3, 5
    items = np.stack([rng.permutation(m)[:k] for _ in range(n)])
    price = rng.uniform(1, 9, (n, k))
    score = rng.normal(size=m)
    strength = score[items] - 0.4 * price + rng.gumbel(size=(n, k))
    order = np.argsort(-strength, axis=1)
    item, x = np.take_along_axis(items, order, 1), np.take_along_axis(price, order, 1)
    prefs = cc.Preferences(
        [f"m{j}" for j in range(m)],
        np.arange(n + 1) * k,
        item.reshape(-1),
        np.tile([0, 1, 1], n),
        open=np.ones(n, bool),
        covariate=x.reshape(-1, 1),
        covariates=["price"],
    )
    ranking = rank(prefs, "plackett-luce", prior=1.0)
    worth = ranking.model.coefficients["price"]
    by_code = ranking.score
    eta = by_code[item] + worth * x
    chance = np.exp(eta) / np.exp(eta).sum(axis=1, keepdims=True)
    left = np.zeros((n, k))
    left[:, 0] = 1
    slope = np.bincount(item.reshape(-1), (left - chance).reshape(-1), m) - by_code
    np.testing.assert_allclose(slope, 0, atol=1e-6)
    assert float(((left - chance) * x).sum()) == pytest.approx(0, abs=1e-3)
    assert abs(worth + 0.4) < 3 * ranking.model.coefficient_errors["price"]


# ---- what it is for ----
@pytest.mark.parametrize("method", ALL)
def test_a_planted_length_bias_is_found_and_taken_out(method: str) -> None:
    arena = Arena(6000, worth=(0.006, 0.0), seed=2)
    ranking = rank(arena.prefs, method)
    truth = [f"m{k}" for k in range(arena.n_items)]
    assert ranking.items == truth
    assert ranking.model.uncorrected.items != truth
    scale = 0.6 if method == "thurstone" else 1.0
    length, lists = ranking.coefficients
    assert length.low is not None
    assert length.low <= 0.006 * scale * 1.05
    assert length.high is not None
    assert length.high >= 0.006 * scale * 0.95
    assert length.z is not None
    assert length.z > 10
    assert lists.p is not None
    assert lists.p > 1e-3


@pytest.mark.parametrize("method", ALL)
def test_without_style_control_the_ranking_is_that_of_votes_alone(method: str) -> None:
    prefs = Arena(300).prefs
    plain = rank(prefs.replace(covariate=None, covariates=()), method)
    off = rank(prefs, method, style_control=False)
    np.testing.assert_array_equal(off.score, plain.score)
    assert off.coefficients == ()
    corrected = rank(prefs, method)
    np.testing.assert_array_equal(corrected.model.uncorrected.score, plain.score)
    np.testing.assert_array_equal(corrected.beside["uncorrected_score"], plain.score)
    np.testing.assert_array_equal(corrected.beside["uncorrected_rank"], plain.rank_by_slot)
    with pytest.raises(InputError, match="no uncorrected ranking"):
        _ = plain.model.uncorrected


@pytest.mark.parametrize("method", ALL)
def test_differences_say_all_there_is_to_say(method: str) -> None:
    prefs = Arena(300).prefs
    assert prefs.covariate is not None
    shifted = prefs.replace(covariate=prefs.covariate + np.repeat(np.arange(prefs.n_ballots) * 7.0, 2)[:, None])
    one, other = rank(prefs, method, prior=1), rank(shifted, method, prior=1)
    np.testing.assert_allclose(one.score, other.score, atol=1e-8)


def test_the_unit_of_a_covariate_changes_its_coefficient_alone() -> None:
    prefs = Arena(300).prefs
    assert prefs.covariate is not None
    one, other = rank(prefs), rank(prefs.replace(covariate=prefs.covariate * [1000.0, 1.0]))
    np.testing.assert_allclose(one.score, other.score, atol=1e-9)
    assert other.coefficients[0].value == pytest.approx(one.coefficients[0].value / 1000)
    assert other.coefficients[0].z == pytest.approx(one.coefficients[0].z)
    assert other.coefficients[0].per_deviation == pytest.approx(one.coefficients[0].per_deviation)


def test_a_model_of_some_votes_tells_the_chances_of_others() -> None:
    prefs = Arena(600).prefs
    half = prefs.take(np.arange(prefs.n_ballots) % 2 == 0)
    rest = prefs.take(np.arange(prefs.n_ballots) % 2 == 1)
    for method in ALL:
        ranking = rank(prefs, method)
        assert ranking.fit is not None
        assert ranking.model.log_likelihood(prefs) == pytest.approx(ranking.fit["log_likelihood"], rel=1e-9)
    controlled, plain = rank(half), rank(half, style_control=False)
    assert controlled.model.log_likelihood(rest) > plain.model.log_likelihood(rest) + 5
    stranger = rest.replace(covariates=("length", "something else"))
    with pytest.raises(InputError, match="something else"):
        controlled.model.log_likelihood(stranger)


def test_every_instance_has_coefficients_of_its_own() -> None:
    arena, other = Arena(400, seed=3), Arena(400, worth=(-0.003, 0.4), seed=4)
    one, two = arena.prefs, other.prefs
    both = cc.Preferences(
        one.items,
        np.arange(801) * 2,
        np.concatenate([one.item, one.items.codes(two.items)[two.item]]),
        np.tile([0, 1], 800),
        covariate=np.concatenate([one.covariate, two.covariate]),
        covariates=one.covariates,
        instances=["en", "de"],
        instance=np.repeat([0, 1], 400),
        form="pairs",
    )
    ranking = rank(both, prior=1)
    alone = rank(one, prior=1)
    assert [(c.instance, c.name) for c in ranking.coefficients] == [
        ("en", "length"), ("en", "lists"), ("de", "length"), ("de", "lists"),
    ]  # fmt: skip
    assert ranking["en"].coefficients[0].value == pytest.approx(alone.coefficients[0].value, rel=1e-4)
    assert ranking["de"].coefficients[0].value < 0
    assert "length" in ranking["de"].to_text()


# ---- laws ----
def with_covariates(prefs: cc.Preferences, rng: np.random.Generator) -> cc.Preferences:
    return prefs.replace(covariate=rng.normal(size=(len(prefs.item), 2)), covariates=("x", "y"))


@pytest.mark.parametrize("method", [*PAIRWISE, "ordered-partitions"])
@pytest.mark.parametrize("law", ["neutrality", "anonymity", "weight_is_repetition", "is_finite", "backends_agree"])
def test_laws_hold_with_covariates(method: str, law: str, backend: str) -> None:
    if law == "backends_agree" and backend == "twins":
        pytest.skip("once is enough: the law runs both back ends")
    assert_law_holds(law, method, lambda rng: with_covariates(laws.random_preferences(rng), rng), seed=7)


# ---- trouble ----
def test_a_covariate_that_explains_every_outcome_is_told() -> None:
    names = ["a", "b", "c"]
    pairs = [(i, j) for i in range(3) for j in range(3) if i != j] * 4
    votes = cc.Preferences.from_pairs(
        [names[i] for i, _ in pairs], [names[j] for _, j in pairs], covariates={"length": np.ones(len(pairs))}
    )
    ranking = rank(votes)
    assert "undecided-covariate" in [notice.name for notice in ranking.warnings]
    assert np.isfinite(ranking.score).all()
    assert np.isfinite(ranking.coefficients[0].value)


def test_a_covariate_that_never_differs_says_nothing() -> None:
    prefs = Arena(200).prefs
    constant = prefs.replace(covariate=np.full((len(prefs.item), 1), 12.5), covariates=("length",))
    ranking = rank(constant)
    assert "constant-covariate" in [notice.name for notice in ranking.warnings]
    np.testing.assert_allclose(ranking.score, ranking.model.uncorrected.score, atol=1e-6)
    assert ranking.coefficients[0].value == 0


def test_covariates_made_of_each_other_share_their_worth_and_are_told() -> None:
    prefs = Arena(300).prefs
    assert prefs.covariate is not None
    twice = prefs.replace(covariate=prefs.covariate[:, [0, 0]] * [1.0, 2.0], covariates=("length", "double"))
    ranking = rank(twice)
    assert "undecided-covariate" in [notice.name for notice in ranking.warnings]
    one, other = ranking.coefficients
    assert one.per_deviation == pytest.approx(other.per_deviation, rel=1e-4)


@pytest.mark.parametrize(
    ("method", "params", "said"),
    [
        ("bradley-terry", {"missing": "last"}, "missing='ignore'"),
        ("plackett-luce", {"missing": "last-free"}, "missing='ignore'"),
        ("plackett-luce", {"posterior": 10, "prior_kind": "gamma"}, "posterior=0"),
    ],
)
def test_settings_that_know_no_covariates_say_so(method: str, params: dict[str, object], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        rank(Arena(50).prefs, method, **params)


def test_a_name_cannot_be_both_of_items_and_of_what_was_compared() -> None:
    method = cc.BradleyTerry().with_covariates({f"m{k}": {"length": float(k)} for k in range(6)})
    with pytest.raises(InputError, match="'length' names both an item covariate"):
        method.rank(Arena(50).prefs)
    both = cc.BradleyTerry().with_covariates({f"m{k}": {"size": float(k)} for k in range(6)}).rank(Arena(300).prefs)
    assert list(both.model.coefficients) == ["size", "length", "lists"]


# ---- errors of other kinds ----
def test_clustered_and_resampled_errors_are_of_the_same_size() -> None:
    prefs = Arena(500).prefs
    hessian = rank(prefs, errors="hessian")
    for kind in ("sandwich", "bootstrap"):
        other = rank(prefs, errors=kind, replicates=100)
        np.testing.assert_allclose(other.details["stderr"], hessian.details["stderr"], rtol=0.35)
        for name, error in hessian.model.coefficient_errors.items():
            assert other.model.coefficient_errors[name] == pytest.approx(error, rel=0.35)
    none = rank(prefs, errors="none")
    assert none.coefficients[0].stderr is None
    assert none.model.coefficient_errors == {}


def test_pairs_cut_out_of_one_ballot_are_clustered_with_covariates_too() -> None:
    rng = np.random.default_rng(0)
    n, m = 200, 5
    x = rng.normal(size=(n, m))
    order = np.argsort(-(np.linspace(1, -1, m) + 0.5 * x + rng.gumbel(size=(n, m))), axis=1)
    prefs = cc.Preferences(
        [f"m{k}" for k in range(m)],
        np.arange(n + 1) * m,
        order.reshape(-1),
        np.tile(np.arange(m), n),
        covariate=np.take_along_axis(x, order, 1).reshape(-1, 1),
        covariates=("x",),
    )
    auto, hessian = rank(prefs, prior=1), rank(prefs, prior=1, errors="hessian")
    assert (auto.details["stderr"] > 1.1 * hessian.details["stderr"]).all()
    assert auto.model.coefficient_errors["x"] > 1.1 * hessian.model.coefficient_errors["x"]


# ---- what is shown ----
def test_tables_and_plain_data_show_both_rankings_and_the_coefficients() -> None:
    ranking = rank(Arena(300).prefs)
    text = ranking.to_text()
    assert "uncorrected rank" in text
    assert "effect per SD" in text
    data = ranking.to_dict()
    assert json.loads(json.dumps(data))["coefficients"][0]["name"] == "length"
    assert data["instances"][0]["items"][0]["uncorrected_rank"] >= 1
    assert {"uncorrected_rank", "uncorrected_score"} <= set(ranking.columns())
    head = ranking.head(2)
    assert len(head.beside["uncorrected_rank"]) == 2
    assert len(head.coefficients) == 2


def test_the_explanation_says_what_a_deviation_is_worth() -> None:
    explanation = rank(Arena(3000, worth=(0.006, 0.0), seed=2).prefs, "davidson").explain()
    (reason,) = [one for one in explanation.reasons if one.title == "Covariate effects"]
    assert "one standard deviation" in reason.sentences[0]
    assert "not significant" in reason.sentences[1]
    assert "changes these ranks" in reason.sentences[2]


def test_a_description_names_the_covariates() -> None:
    described = Arena(50).prefs.describe()
    assert described.covariates == ("length", "lists")
    assert "covariates" in str(described)
