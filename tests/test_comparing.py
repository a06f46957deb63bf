"""Goodness of fit of several methods, to the ballots they saw and to those they did not."""

from __future__ import annotations

import numpy as np
import pytest

import concordant as cc
from concordant.comparing import cross_validate


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
    assert "held out" in str(result)
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
    assert "held out" in capsys.readouterr().out
    assert run(["compare", str(table), "--methods", "bradley-terry,borda", "--folds", "4", "--csv"]) == 0
    assert "held_out_log_likelihood" in capsys.readouterr().out
