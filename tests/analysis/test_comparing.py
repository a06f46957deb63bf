"""Goodness of fit of several methods, to the ballots they saw and to those they did not."""

from __future__ import annotations

import numpy as np
import pytest

import concordant as cc
from concordant import simulate
from concordant.analysis.comparing import cross_validate


@pytest.fixture
def votes():
    rng = np.random.default_rng(0)
    score = np.arange(6.0)
    a = rng.integers(0, 6, 400)
    b = (a + rng.integers(1, 6, 400)) % 6
    wins = rng.random(400) < 1 / (1 + np.exp(score[b] - score[a]))
    return cc.Preferences.from_pairs(np.where(wins, a, b), np.where(wins, b, a))


def test_models_show_their_log_likelihood_and_rules_do_not(votes):
    result = cc.compare(votes, ["bradley-terry", "borda"])
    assert result.log_likelihood[0] == pytest.approx(cc.rank(votes, "bradley-terry").fit["log_likelihood"])
    assert result.log_likelihood[1] is None
    assert result.held_out is None


def test_unseen_ballots_are_foretold_nearly_as_well_as_seen_ones(votes):
    result = cc.compare(votes, ["bradley-terry", "thurstone", "borda"], folds=5)
    assert result.held_out.distance == pytest.approx(result.distance, abs=0.05)
    per_vote = result.log_likelihood[0] / 400
    assert result.held_out.log_likelihood[0] == pytest.approx(per_vote, abs=0.05)
    assert result.held_out.log_likelihood[0] < per_vote
    assert result.held_out.log_likelihood[2] is None
    assert "held-out distance" in str(result)
    assert result.to_dict()["methods"][0]["held_out"]["folds"] == 5


def test_the_true_model_foretells_better_than_a_random_one(votes):
    coin = 400 * np.log(0.5) / 400
    assert cross_validate(votes, ["bradley-terry"], folds=4).log_likelihood[0] > coin + 0.1


def test_folds_are_the_same_for_the_same_seed(votes):
    one, two = (cross_validate(votes, ["bradley-terry"], 3, seed=4).log_likelihood for _ in range(2))
    assert one == two


def test_more_folds_than_ballots_are_refused(votes):
    with pytest.raises(cc.InputError, match="folds=500"):
        cc.compare(votes, ["borda"], folds=500)


def test_ties_are_shown_as_ties():
    prefs = cc.Preferences.from_rankings([["a", "b", "c", "d"], ["b", "a", "d", "c"]])
    result = cc.compare(prefs, ["borda", "plurality"])
    assert result.tiers == [[["a", "b"], ["c", "d"]]] * 2
    assert result.firsts() == ["a = b > c = d"] * 2
    assert result.firsts(3) == ["a = b > c = …"] * 2
    assert result.firsts(1)[0] == "a = …"
    assert "a = b > c = d" in str(result)
    assert result.to_dict()["methods"][0]["tiers"] == [["a", "b"], ["c", "d"]]


def test_the_command_line_shows_ties_as_ties(tmp_path, capsys):
    table = tmp_path / "ballots.csv"
    table.write_text("ranking\na > b > c\nb > a > c\n")
    assert run(["compare", str(table), "--methods", "borda,copeland"]) == 0
    assert capsys.readouterr().out.count("a = b > c") == 2
    assert run(["compare", str(table), "--methods", "borda", "--csv"]) == 0
    assert "borda,a = b > c," in capsys.readouterr().out


def run(arguments):
    from concordant.cli.__main__ import main

    with pytest.raises(SystemExit) as done:
        main(arguments)
    return done.value.code


def test_the_command_line_shows_the_fit_to_unseen_ballots(tmp_path, capsys):
    table = tmp_path / "votes.csv"
    table.write_text("winner,loser\n" + "a,b\nb,c\nc,a\na,c\n" * 5)
    assert run(["compare", str(table), "--methods", "bradley-terry,borda", "--folds", "4"]) == 0
    assert "held-out distance" in capsys.readouterr().out
    assert run(["compare", str(table), "--methods", "bradley-terry,borda", "--folds", "4", "--csv"]) == 0
    assert "held_out_log_likelihood" in capsys.readouterr().out


# ---- one footing for all models ----
@pytest.fixture(scope="module")
def with_ties():
    """Comparisons drawn from Davidson's model, four in ten tied."""
    rng = np.random.default_rng(1)
    score, n = np.linspace(1.2, -1.2, 6), 900
    a = rng.integers(0, 6, n)
    b = (a + rng.integers(1, 6, n)) % 6
    up, down = np.exp((score[a] - score[b]) / 2), np.exp((score[b] - score[a]) / 2)
    draw = rng.random(n) * (up + down + 1.5)
    return cc.Preferences.from_pairs(np.where(draw < up, a, b), np.where(draw < up, b, a), tie=draw > up + down)


def test_models_of_different_outcomes_are_not_compared_by_their_likelihoods(with_ties):
    result = cc.compare(with_ties, ["bradley-terry", "davidson", "rao-kupper", "plackett-luce", "borda"], folds=4)
    half, tied, also, ranked, none = result.likelihood_of
    assert tied == also
    assert len({half, tied, ranked}) == 3
    assert none is None
    # The likelihood of the true model is far lower, as it is of more outcomes; on one footing it is the best.
    assert result.log_likelihood[1] < result.log_likelihood[0] - 100
    assert result.pair_log_likelihood[1] > result.pair_log_likelihood[0]
    assert result.held_out.pair_log_likelihood[1] > result.held_out.pair_log_likelihood[0]
    assert result.pair_log_likelihood[4] is None
    columns = [header for header, _ in result.columns()]
    assert columns[:4] == ["distance", "log-lik. per pair", "held-out distance", "held-out log-lik. per pair"]
    lines = [line for line in str(result).splitlines() if line.startswith("Log-likelihood of ")]
    assert len(lines) == 3
    assert "davidson" in lines[1]
    assert "rao-kupper" in lines[1]


def test_the_footing_is_the_chance_of_the_winner_given_no_tie(with_ties):
    ranking = cc.rank(with_ties, "davidson")
    value, n = 0.0, 0
    for (one, other), tier in zip(with_ties.item.reshape(-1, 2), with_ties.tier.reshape(-1, 2), strict=True):
        if tier[0] != tier[1]:
            winner, loser = with_ties.items[one], with_ties.items[other]
            up, down = ranking.model.p_beats(winner, loser), ranking.model.p_beats(loser, winner)
            value, n = value + np.log(up / (up + down)), n + 1
    found = cc.compare(with_ties, ["davidson"]).pair_log_likelihood[0]
    assert found == pytest.approx(value / n)


@pytest.mark.parametrize(
    "method", ["plackett-luce", "mallows", "mpm", "ordered-partitions", "bradley-terry", "generalised-mallows"]
)
def test_models_of_rankings_answer_the_same_question(method):
    prefs = cc.Preferences.from_rankings([list("abcd"), list("abdc"), list("bacd"), list("acbd")] * 3)
    model = cc.rank(prefs, method).model
    chances = np.maximum(model.matrix(), 1e-300)
    pairs = [(a, b) for ballot in prefs.item.reshape(-1, 4) for k, a in enumerate(ballot) for b in ballot[k + 1 :]]
    wanted = np.mean([np.log(chances[a, b] / (chances[a, b] + chances[b, a])) for a, b in pairs])
    assert cc.compare(prefs, [method]).pair_log_likelihood[0] == pytest.approx(wanted)


def test_scores_over_time_are_asked_about_the_time_of_each_pair():
    games = simulate.drifting(4, 200, drift=1.0, moments=20, seed=3)
    model = cc.rank(games, "whole-history").model
    pairs = zip(games.item.reshape(-1, 2), games.time, strict=True)
    wanted = [np.log(model.p_beats(games.items[a], games.items[b], time=float(when))) for (a, b), when in pairs]
    assert cc.compare(games, ["whole-history"]).pair_log_likelihood[0] == pytest.approx(np.mean(wanted))


def test_what_changes_the_outcomes_is_part_of_the_heading(votes):
    prefs = cc.Preferences.from_rankings([list("abc"), list("acb"), list("bac")])
    plain, other = cc.compare(prefs, ["bradley-terry", cc.BradleyTerry(counts="difference")]).likelihood_of
    assert other == f"{plain} (counts=difference)"


def test_data_and_report_say_what_figures_are_of(with_ties, tmp_path, capsys):
    data = cc.compare(with_ties, ["bradley-terry", "davidson"], folds=2).to_dict()
    assert data["methods"][0]["log_likelihood_of"] != data["methods"][1]["log_likelihood_of"]
    assert data["methods"][1]["held_out"]["pair_log_likelihood"] < 0
    assert set(data["measures"]) >= {"distance", "log_likelihood", "pair_log_likelihood"}
    page = cc.report(with_ties, methods=["bradley-terry", "davidson"]).to_html()
    assert "log-lik. per pair" in page.lower()
    assert "Log-likelihood of comparisons, with ties as a third outcome" in page


def test_models_that_cannot_say_get_no_figure():
    teams = cc.Preferences.from_teams([[["a", "b"], ["c", "d"]], [["a", "c"], ["b", "d"]], [["d"], ["a"]]])
    result = cc.compare(teams, ["trueskill", "bradley-terry"])
    assert result.pair_log_likelihood[0] is None
    assert result.pair_log_likelihood[1] < 0
