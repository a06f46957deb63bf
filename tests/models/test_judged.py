"""Judges of pairs: derivatives, the joint optimum and its errors, and recovery of simulated judges."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest

import concordant as cc
from concordant.kernels import links
from concordant.models.likelihoods.priors import Prior
from concordant.models.observations.duels import Counting
from concordant.models.observations.judged import JudgedDuels, JudgedLikelihood
from concordant.models.solve.objectives import Matrix
from concordant.models.solve.strategies import fit, with_errors
from concordant.types import Floats

LINKS = {
    "bradley-terry": links.BRADLEY_TERRY,
    "thurstone": links.THURSTONE,
    "davidson": links.DAVIDSON,
    "rao-kupper": links.RAO_KUPPER,
}
EFFECTS = ("skill", "bias", "both")
STEP = 1e-5


def votes(
    seed: int = 0,
    n: int = 400,
    m: int = 5,
    skill: Floats | None = None,
    bias: Floats | None = None,
    ties: float = 0.2,
    n_judges: int = 4,
) -> cc.Preferences:
    """Draw votes of judges with these discriminations and position biases."""
    rng = np.random.default_rng(seed)
    score = np.linspace(1, -1, m)
    skill = np.ones(n_judges) if skill is None else skill
    bias = np.zeros(len(skill)) if bias is None else bias
    judge, left = rng.integers(0, len(skill), n), rng.integers(0, m, n)
    right = (left + rng.integers(1, m, n)) % m
    lead = skill[judge] * (score[left] - score[right]) + bias[judge]
    has_won = rng.random(n) < 1 / (1 + np.exp(-lead))
    winner, loser = np.where(has_won, left, right), np.where(has_won, right, left)
    return cc.Preferences.from_pairs(
        [f"m{k}" for k in winner],
        [f"m{k}" for k in loser],
        tie=rng.random(n) < ties,
        agent=[f"j{k}" for k in judge],
        winner_first=has_won,
    )


def judged(prefs: cc.Preferences, link: int, effects: str, has_order: bool = True) -> JudgedDuels:
    return JudgedDuels.of(prefs, Counting(order_effect=has_order or effects != "skill"), link, effects)


def point_of(likelihood: JudgedLikelihood, seed: int = 1) -> Floats:
    return np.random.default_rng(seed).normal(0, 0.5, (1, likelihood.size))


@pytest.mark.parametrize(("model", "effects", "has_order"), list(product(LINKS, EFFECTS, (False, True))))
def test_derivatives_agree_with_finite_differences(model: str, effects: str, has_order: bool) -> None:
    likelihood = judged(votes(), LINKS[model], effects, has_order).alone()
    point = point_of(likelihood)
    numeric, second = np.empty(likelihood.size), np.empty((likelihood.size, likelihood.size))
    for k in range(likelihood.size):
        step = STEP * np.eye(likelihood.size)[k]
        ends = []
        for side in (1, -1):
            value = likelihood.evaluate(point + side * step)[0]
            ends.append((value, likelihood.gradient()[0]))
        numeric[k] = (ends[0][0] - ends[1][0]) / (2 * STEP)
        second[k] = -(ends[0][1] - ends[1][1]) / (2 * STEP)
    likelihood.evaluate(point)
    np.testing.assert_allclose(likelihood.gradient()[0], numeric, rtol=1e-6, atol=1e-5)
    np.testing.assert_allclose(likelihood.hessian(True)[0], second, rtol=1e-6, atol=2e-5)


@pytest.mark.parametrize(("model", "effects"), list(product(LINKS, EFFECTS)))
def test_the_bound_is_semi_definite_and_products_agree(model: str, effects: str) -> None:
    likelihood = judged(votes(), LINKS[model], effects).alone()
    likelihood.evaluate(point_of(likelihood))
    assert np.linalg.eigvalsh(likelihood.hessian(False)[0]).min() > -1e-9 * likelihood.total[0]
    whole, x = likelihood.hessian(True)[0], np.random.default_rng(0).normal(size=(likelihood.m, 3))
    np.testing.assert_allclose(likelihood.product(x), whole[: likelihood.m, : likelihood.m] @ x, atol=1e-10)
    np.testing.assert_allclose(likelihood.diagonal(), np.diag(whole)[: likelihood.m], atol=1e-10)


@pytest.mark.parametrize(("model", "effects"), list(product(LINKS, EFFECTS)))
def test_the_fit_is_the_joint_maximum_with_the_joint_inverse_hessian(model: str, effects: str) -> None:
    from scipy.optimize import minimize

    observed = judged(votes(n=800), LINKS[model], effects)
    prior = Prior(np.array([0.7]), np.array([0.01]), on_coefficients=np.full(observed.n_coefficients, 3.0))
    part = with_errors(fit(observed, prior)[0])
    objective = Matrix.of(observed, prior)

    def loss(parameters: Floats) -> tuple[float, Floats]:
        value = objective.evaluate(parameters[None])[0]
        return -value, -objective.gradient()[0]

    found = minimize(loss, np.zeros(objective.likelihood.size), jac=True, method="L-BFGS-B", options={"ftol": 1e-15})
    assert part.value[0] + part.log_prior[0] >= -found.fun - 1e-6
    others = [part.advantage[0], part.tie[0]][: 1 + (model in ("davidson", "rao-kupper"))]
    own = np.concatenate([part.score, others, part.coefficient[0]])
    np.testing.assert_allclose(own, found.x, atol=2e-3)
    objective.evaluate(own[None])
    assert np.abs(objective.gradient()).max() < 1e-5
    hessian = objective.likelihood.hessian(True)
    objective.prior.add_hessian(own[None], hessian)
    inverse, m = np.linalg.inv(hessian[0]), observed.duels.n_slots
    centre = np.eye(m) - 1 / m
    np.testing.assert_allclose(part.block(0), centre @ inverse[:m, :m] @ centre, atol=1e-9)
    n = observed.n_coefficients
    np.testing.assert_allclose(part.coefficient_covariance, inverse[-n:, -n:], atol=1e-9)


@pytest.mark.parametrize("model", ["bradley-terry", "davidson"])
def test_equal_judges_give_the_ranking_without_judges(model: str) -> None:
    prefs = votes(n=3000, ties=0.1, n_judges=6)
    plain = cc.rank(prefs, model)
    ranking = cc.rank(prefs, model, judge_effects="skill")
    assert ranking.fit is not None
    assert ranking.fit["judge_skill_sd"] < 0.2
    assert ranking.items == plain.items
    np.testing.assert_allclose(ranking.scores, plain.scores, atol=0.1)


def test_simulated_judges_are_recovered() -> None:
    skill, bias = np.array([2.0, 1.5, 1.0, 1.0, 0.5, 0.0, -1.0]), np.array([0.0, 0.8, -0.8, 0.4, 0.2, 1.0, 0.0])
    prefs = votes(n=7000, m=8, skill=skill, bias=bias, ties=0.0)
    plain, ranking = (cc.rank(prefs, "bradley-terry", judge_effects=effects) for effects in ("none", "both"))
    judges = ranking.model.judges
    place = [judges.judges.index(f"j{k}") for k in range(len(skill))]
    assert np.corrcoef(judges.skill[place], skill)[0, 1] > 0.97
    assert abs(judges.skill.mean() - 1) < 1e-9
    np.testing.assert_allclose(judges.bias[place], bias, atol=0.3)
    assert ranking.agents["j6"] < -0.5
    assert np.ptp(plain.scores) < np.ptp(ranking.scores)
    assert ranking.model.log_likelihood(prefs) > plain.model.log_likelihood(prefs)


@pytest.mark.parametrize("effects", EFFECTS)
def test_intervals_of_judges_and_items_cover_the_truth(effects: str) -> None:
    rng, hits = np.random.default_rng(3), {"skill": [], "bias": [], "score": []}
    score = np.linspace(1, -1, 6)
    for seed in range(40):
        skill = 1 + 0.5 * rng.normal(size=10) * (effects != "bias")
        bias = 0.3 + 0.5 * rng.normal(size=10) * (effects != "skill")
        prefs = votes(seed, n=2000, m=6, skill=skill, bias=bias, ties=0.0)
        ranking = cc.rank(prefs, "bradley-terry", judge_effects=effects, order_effect=True)
        place, truth = [ranking.items.index(f"m{k}") for k in range(6)], score * skill.mean()
        hits["score"] += ((ranking.low[place] <= truth) & (truth <= ranking.high[place])).tolist()
        judges = ranking.model.judges
        known = [judges.judges.index(f"j{k}") for k in range(10)]
        for name, truth in (("skill", skill / skill.mean()), ("bias", bias)):
            stderr = judges.stderr(name)
            if stderr is not None:
                error = (getattr(judges, name)[known] - truth) / stderr[known]
                hits[name] += (np.abs(error) < 1.96).tolist()
    for name, covered in hits.items():
        assert not covered or 0.92 <= np.mean(covered) <= 0.99, (name, np.mean(covered))


def test_held_out_votes_are_predicted_better_with_the_judges() -> None:
    prefs = votes(n=6000, m=8, skill=np.array([3.0, 1.0, 0.0, 0.0, -1.0]), ties=0.1)
    compared = cc.compare(prefs, [cc.BradleyTerry(), cc.BradleyTerry(judge_effects="skill")], folds=4)
    plain, by_judge = compared.held_out.pair_log_likelihood
    assert by_judge > plain + 0.02


def test_weights_equal_repetition_and_merging_changes_nothing() -> None:
    prefs = votes(n=500)
    twice = prefs.replace(weight=2 * prefs.weight)
    repeated = cc.concat([prefs, prefs])
    first, second, third = (
        cc.rank(part, "davidson", judge_effects="both") for part in (twice, repeated, repeated.merge())
    )
    np.testing.assert_allclose(first.scores, third.scores, atol=1e-6)
    assert first.items == second.items
    np.testing.assert_allclose(first.scores, second.scores, atol=1e-6)


@pytest.mark.parametrize(
    ("params", "reason"),
    [
        ({"errors": "bootstrap"}, "errors"),
        ({"counts": "difference"}, "counts"),
        ({"missing": "last"}, "missing"),
    ],
)
def test_settings_that_do_not_know_judges_are_rejected(params: dict[str, str], reason: str) -> None:
    with pytest.raises(cc.ParameterError, match=reason):
        cc.rank(votes(), "bradley-terry", judge_effects="skill", **params)


def test_votes_without_judges_or_with_long_ballots_are_rejected() -> None:
    with pytest.raises(cc.ConcordantError, match="judge of each vote"):
        cc.rank(cc.Preferences.from_pairs(["a"], ["b"]), "bradley-terry", judge_effects="skill")
    rankings = cc.Preferences.from_rankings([["a", "b", "c"]], agent=["x"])
    with pytest.raises(cc.ConcordantError, match="more than two"):
        cc.rank(rankings, "bradley-terry", judge_effects="skill")
    with pytest.raises(cc.ConcordantError, match="shown first"):
        cc.rank(cc.Preferences.from_pairs(["a"], ["b"], agent=["x"]), "bradley-terry", judge_effects="bias")


def test_the_table_of_judges_is_part_of_all_output() -> None:
    ranking = cc.rank(votes(), "bradley-terry", judge_effects="both")
    assert "discrimination" in str(ranking)
    assert "position bias" in ranking.to_markdown()
    agents = ranking.to_dict()["agents"]
    assert {"agent", "votes", "discrimination", "position_bias", "position_bias_low"} <= agents[0].keys()
    assert sum(agent["votes"] for agent in agents) == 400
    assert "discrimination" in repr(ranking.model.judges)
    assert cc.rank(votes(), "bradley-terry", judge_effects="skill", errors="none").model.judges.stderr("skill") is None


def test_maximum_likelihood_scores_still_shrink_the_judges() -> None:
    skill = np.array([2.0, 1.0, 1.0, 0.0])
    prefs = votes(n=2000, skill=skill, ties=0.0)
    plain, auto = (cc.rank(prefs, "bradley-terry", judge_effects="skill", prior=prior) for prior in (0, "auto"))
    assert plain.fit is not None
    assert 0.3 < plain.fit["judge_skill_sd"] < 2
    np.testing.assert_allclose(plain.scores, auto.scores, atol=0.1)


def test_a_single_judge_has_discrimination_one() -> None:
    prefs = votes(n_judges=1, n=300)
    ranking, plain = (cc.rank(prefs, "bradley-terry", judge_effects=effects) for effects in ("skill", "none"))
    assert ranking.agents == {"j0": 1.0}
    np.testing.assert_allclose(ranking.scores, plain.scores, atol=1e-6)


def test_the_command_ranks_files_with_their_judges(tmp_path: Path) -> None:
    from click.testing import CliRunner

    from concordant.cli.__main__ import cli

    rng = np.random.default_rng(0)
    for name in ("first.csv", "second.csv"):
        rows = [
            f"m{a},m{a + 1},{'model_a' if rng.random() < 0.7 else 'model_b'},j{k}" for a in range(3) for k in range(9)
        ]
        (tmp_path / name).write_text("\n".join(["model_a,model_b,winner,judge", *rows]) + "\n", encoding="utf-8")
    command = ["rank", str(tmp_path), "--method", "bradley-terry", "--judge-effects", "both"]
    printed = CliRunner().invoke(cli, command)
    assert printed.exit_code == 0, printed.output
    assert "judge effects" in printed.output
    rejected = CliRunner().invoke(cli, [*command, "--errors", "sandwich"])
    assert rejected.exit_code == 1
    assert "--judge-effects both does not support --errors sandwich" in rejected.output
