"""One statement of certainty per ranking: its parts never contradict each other, and every output says the same."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import random_preferences

import concordant as cc
from concordant.narrative.certainty import Certainty, assess, sign_test
from concordant.narrative.verdict import Chip
from concordant.reporting import report
from concordant.reporting.sections import Message, Section, Text

EXAMPLES = Path(__file__).parents[2] / "examples"
FILES = (
    "model-votes.csv",
    "election.csv",
    "lunch-form.csv",
    "ratings.csv",
    "league.csv",
    "approvals.csv",
    "council.csv",
)
WITH_ERRORS = ("bradley-terry", "davidson", "plackett-luce", "mpm", "trueskill", "mean-rating")
RULES = ("borda", "copeland", "plurality", "elo", "rrf")


def contradictions(found: Certainty) -> Iterator[str]:
    """Name everything in a statement that contradicts something else in it."""
    alpha = 1 - found.level
    if found.is_shared and found.p is not None:
        yield "a shared first place is tested"
    if found.basis == "model":
        assert found.difference is not None
        assert found.low is not None
        assert found.high is not None
        assert found.p is not None
        if (found.low > 0 or found.high < 0) != (found.p < alpha):
            yield "the interval of the difference and p"
        if found.is_significant and found.n_close == found.n_items - 1:
            yield "significant, yet no item is behind"
        if not found.is_significant and found.n_close == 0:
            yield "not significant, yet nobody is close"
    if found.p_best is not None and found.p_best >= 1 - alpha / 2 and not found.is_significant:
        yield "best for sure, yet not significantly ahead"
    if found.is_certain and not found.is_significant:
        yield "certain, yet not significant"
    if found.p_best is not None and found.p_best >= 1 - alpha / 2 and found.n_close:
        yield "best for sure, yet others are close"
    if found.rank_high is not None and found.p_best is not None:
        if (found.rank_high == 1) != (found.p_best >= 1 - alpha / 2):
            yield "the range of the rank and P(best)"
        if not found.rank_low == 1 <= found.rank_high <= found.n_items:
            yield "the range of the rank does not hold the rank"
    if found.factor is not None and (found.is_significant or found.is_reversed or found.factor < 1 or found.lead <= 0):
        yield "more data are said to help where they cannot"


def check(ranking: cc.Ranking) -> None:
    for found in ranking.certainties:
        assert list(contradictions(found)) == [], found


def pairs(rng: np.random.Generator, n_items: int, n_votes: int, spread: float, tied: float = 0.1) -> cc.Preferences:
    """Votes between random items whose true scores have this spread; some items are rarely seen."""
    score = rng.normal(0, spread, n_items)
    seen = rng.dirichlet(np.full(n_items, 0.7)) * 0.8 + 0.2 / n_items
    one = rng.choice(n_items, n_votes, p=seen)
    two = (one + 1 + rng.integers(0, n_items - 1, n_votes)) % n_items
    wins = rng.random(n_votes) < 1 / (1 + np.exp(score[two] - score[one]))
    first, second = np.where(wins, one, two), np.where(wins, two, one)
    return cc.Preferences.from_pairs(first, second, tie=rng.random(n_votes) < tied)


@pytest.mark.parametrize("seed", range(40))
def test_statements_about_simulated_votes_do_not_contradict_themselves(seed: int) -> None:
    rng = np.random.default_rng(seed)
    votes = pairs(rng, int(rng.integers(2, 30)), int(rng.integers(5, 3000)), float(rng.choice([0.0, 0.3, 1.0, 3.0])))
    for method in (*WITH_ERRORS[:4], "trueskill", *RULES[:4]):
        check(cc.rank(votes, method))


@pytest.mark.parametrize("seed", range(15))
def test_statements_about_simulated_rankings_do_not_contradict_themselves(seed: int) -> None:
    prefs = random_preferences(np.random.default_rng(seed), n_instances=1 + seed % 3)
    for method in ("plackett-luce", "mpm", "bradley-terry", "borda", "schulze", "plurality"):
        check(cc.rank(prefs, method))


@pytest.mark.parametrize("name", FILES)
def test_statements_about_the_examples_do_not_contradict_themselves(name: str) -> None:
    prefs = cc.read(EXAMPLES / name)
    for method in (None, *WITH_ERRORS, *RULES):
        try:
            ranking = cc.rank(prefs, method)
        except cc.ConcordantError:
            continue  # the form does not suit the method
        check(ranking)
        if ranking.n_instances == 1:
            check(ranking.by("low") if ranking.low is not None else ranking)


def test_large_instances_keep_to_it_without_a_covariance(monkeypatch: pytest.MonkeyPatch) -> None:
    from concordant.models.solve import strategies

    monkeypatch.setattr(strategies, "strategies_of", lambda *_: strategies.same_strategy("products", 1))
    for seed in range(4):
        check(cc.rank(pairs(np.random.default_rng(seed), 60, 4000, 1.0), "bradley-terry"))


def test_a_leader_that_is_surely_best_has_a_rank_range_of_one() -> None:
    """A hundred rivals far behind: simultaneous intervals alone would say "1 to 101"."""
    won = cc.Preferences.from_pairs(
        ["top"] * 100 + [f"i{k}" for k in range(100)], [f"i{k}" for k in range(100)] + ["top"] * 100,
        weight=[30] * 100 + [1] * 100,
    )  # fmt: skip
    ranking = cc.rank(won, "bradley-terry", prior=0.1)
    found = ranking.certainty
    assert found.p_best is not None
    assert found.p_best > 0.975
    assert (found.rank_low, found.rank_high) == (1, 1)
    assert ranking.detail("simultaneous_rank_high")[0] > 90


def test_many_rivals_may_leave_the_first_place_open_although_each_is_behind() -> None:
    names = [f"i{k}" for k in range(100)]
    won = cc.Preferences.from_pairs(["top"] * 100 + names, names + ["top"] * 100, weight=[12] * 100 + [1] * 100)
    found = cc.rank(won, "bradley-terry", prior=0.1).certainty
    assert found.is_significant
    assert not found.is_certain
    assert "Against all 100 other items together it is not significant." in found.sentences()


def test_the_intervals_of_ranks_hold_as_often_as_they_say() -> None:
    rng = np.random.default_rng(11)
    held = []
    for _ in range(60):
        score = rng.normal(0, 0.5, 8)
        one = rng.integers(0, 8, 600)
        two = (one + 1 + rng.integers(0, 7, 600)) % 8
        wins = rng.random(600) < 1 / (1 + np.exp(score[two] - score[one]))
        votes = cc.Preferences.from_pairs(np.where(wins, one, two), np.where(wins, two, one))
        ranking = cc.rank(votes, "bradley-terry", prior=0)
        true = dict(zip(map(str, np.argsort(-score).tolist()), range(1, 9), strict=True))
        ends = zip(ranking.items, ranking.detail("rank_low"), ranking.detail("rank_high"), strict=True)
        held += [low <= true[item] <= high for item, low, high in ends]
    assert np.mean(held) > 0.93


def test_simultaneous_rank_intervals_are_still_there_and_wider() -> None:
    ranking = cc.rank(pairs(np.random.default_rng(2), 12, 900, 1.0), "bradley-terry")
    assert (ranking.detail("simultaneous_rank_low") <= ranking.detail("rank_low")).all()
    assert (ranking.detail("simultaneous_rank_high") >= ranking.detail("rank_high")).all()


def test_the_difference_uses_the_joint_variance() -> None:
    ranking = cc.rank(pairs(np.random.default_rng(3), 6, 300, 1.0), "bradley-terry")
    gap, error = ranking.model.difference(*ranking.items[:2])
    found = ranking.certainty
    assert found.difference == pytest.approx(gap)
    assert (found.high - found.low) / 2 / 1.959964 == pytest.approx(error)


def test_two_items_of_the_multinomial_model_move_against_each_other() -> None:
    """With two items the scores are s and -s, so the variance of the difference is four times that of s."""
    ballots = [["a", "b"]] * 30 + [["b", "a"]] * 20
    ranking = cc.rank(cc.Preferences.from_rankings(ballots), "mpm")
    found = ranking.certainty
    independent = np.hypot(*ranking.detail("stderr")) * 1.959964
    assert 1.3 < (found.high - found.low) / 2 / independent < 1.5


def test_a_leader_that_lost_every_direct_vote_gets_no_advice_to_collect_more() -> None:
    votes = cc.Preferences.from_pairs(["b", "a", "c", "b"], ["a", "c", "b", "c"], weight=[4, 30, 4, 9])
    for method in ("borda", "bradley-terry"):
        found = cc.rank(votes, method).certainty
        assert (found.first, found.votes) == (("a",), (0, 4))
        assert found.is_reversed
        assert found.factor is None
        assert not found.is_significant
        assert found.outlook() == ""
    assert "more votes prefer the runner-up b to a, 4 to 0" in cc.rank(votes, "borda").certainty.test()


def test_the_data_said_to_be_needed_would_do() -> None:
    votes = cc.Preferences.from_rankings([["a", "b"], ["b", "a"]], weight=[6, 4])
    found = cc.rank(votes, "borda").certainty
    assert found.factor is not None
    n = 10 * found.factor
    assert float(sign_test(0.6 * n, 0.4 * n)) < 0.05 < float(sign_test(0.6 * n * 0.98, 0.4 * n * 0.98))
    unanimous = cc.rank(cc.Preferences.from_rankings([["a", "b"]], weight=[4]), "borda").certainty
    assert "about 6 such votes" in unanimous.outlook()
    model = cc.rank(votes, "bradley-terry", prior=0).certainty
    more = cc.rank(votes.replace(weight=votes.weight * model.factor * 1.01), "bradley-terry", prior=0).certainty
    assert not model.is_significant
    assert more.is_significant


@pytest.mark.parametrize(("factor", "times"), [(1.0001, "1.01"), (1.04, "1.04"), (1.5, "1.5"), (29.3, "29")])
def test_data_that_nearly_suffice_are_not_said_to_suffice(factor: float, times: str) -> None:
    votes = cc.Preferences.from_rankings([["a", "b"], ["b", "a"]], weight=[6, 4])
    found = replace(cc.rank(votes, "bradley-terry", prior=0).certainty, factor=factor)
    assert f"about {times} times as much data" in found.outlook()


def test_a_shared_first_place_is_said_to_be_shared() -> None:
    found = cc.rank(cc.Preferences.from_rankings([["a", "b"], ["b", "a"]]), "borda").certainty
    assert found.is_shared
    assert found.sentences() == ["a and b share first place among 2 by borda."]


def test_parts_and_heads_of_a_ranking_keep_its_statements() -> None:
    prefs = cc.Preferences.from_rankings([["a", "b"], ["b", "a"], ["c", "d"]], instance=[*"qqr"], weight=[9, 1, 20])
    ranking = cc.rank(prefs, "borda")
    assert ranking["r"].certainty == ranking.certainties[1]
    assert ranking.head(1)["q"].certainty == ranking.certainties[0]
    assert [one.is_significant for one in ranking.certainties] == [True, True]


def test_a_ranking_without_ballots_says_what_its_scores_know() -> None:
    ranking = cc.fuse([["a", "b"], ["a", "c"]], "rrf")
    assert ranking.certainty.basis == "none"
    assert json.dumps(ranking.to_dict()["certainty"])


def texts(part: object) -> Iterator[str]:
    for one in getattr(part, "parts", ()):
        yield from ([one.text] if isinstance(one, Text) else texts(one))


@pytest.mark.parametrize(("name", "method"), [("model-votes.csv", "davidson"), ("election.csv", "borda")])
def test_report_explanation_and_description_say_the_same(name: str, method: str) -> None:
    prefs = cc.read(EXAMPLES / name)
    ranking = cc.rank(prefs, method)
    found = ranking.certainty
    verdict = report(prefs, method=method).verdict
    assert verdict is not None
    assert verdict.sentence == found.sentence() == found.test()
    told = [sentence for reason in ranking.explain().reasons for sentence in reason.sentences]
    assert (found.test() in told) == (found.basis == "model")
    finding = prefs.describe().finding("top two")
    assert finding is not None
    assert finding.text == " ".join(found.sentences())
    data = next(section for section in report(prefs, method=method).sections if section.name == "data")
    assert not any("top two" in message.name for message in messages(data))


def messages(section: Section) -> list[Message]:
    return [message for part in section.parts for message in getattr(part, "messages", ())]


def test_a_disagreement_about_the_winner_is_in_the_verdict_and_explained() -> None:
    prefs = cc.read(EXAMPLES / "election.csv")
    made = report(prefs)
    assert made.verdict is not None
    assert made.verdict.chips[0] == Chip("Rules disagree about the winner", "warn", "methods")
    first = next(texts(next(section for section in made.sections if section.name == "methods")))
    assert first.startswith("The methods disagree about the winner: Clara Lindqvist by Borda count")
    assert "Ada Marsh by plurality" in first
    assert "Ben Okoro by instant runoff" in first


def test_agreement_about_the_winner_is_not_announced() -> None:
    prefs = cc.Preferences.from_rankings([["a", "b", "c"]] * 5 + [["b", "a", "c"]])
    made = report(prefs)
    assert made.verdict is not None
    assert not any(chip.tone == "warn" for chip in made.verdict.chips)


def test_tied_first_places_are_no_disagreement() -> None:
    prefs = cc.Preferences.from_rankings([["a", "b", "c"], ["b", "a", "c"], ["a", "b", "c"]])
    found = cc.compare(prefs, ["borda", "plurality", "veto"])
    assert found.dispute == ""
    assert {first for first, _ in found.winners} == {("a",), ("a", "b")}


def test_a_candidate_that_a_ballot_does_not_approve_is_behind_those_it_approves() -> None:
    prefs = cc.read(EXAMPLES / "approvals.csv")
    for method in ("approval", "pav"):
        found = cc.rank(prefs, method).certainty
        assert (found.runner_up, found.votes) == ("Iron Tides", (2, 0))
        assert "2 to 0 votes in direct comparison" in found.test()


@pytest.mark.parametrize("method", ["pav", "sequential-pav", "phragmen"])
def test_members_of_a_committee_are_not_tested_against_each_other(method: str) -> None:
    prefs = cc.read(EXAMPLES / "approvals.csv")
    found = cc.rank(prefs, method, seats=2).certainty
    assert found.sentences() == [f"Dune Songs is first of {prefs.n_items} by {method}."]
    shared = cc.rank(prefs, method, seats=2, result="committee").certainty
    assert shared.is_shared
    assert shared.test() == ""


def test_a_defeat_by_another_item_is_part_of_the_statement() -> None:
    votes = [["rock", "scissors", "paper"], ["scissors", "paper", "rock"], ["paper", "rock", "scissors"]]
    prefs = cc.Preferences.from_rankings(votes, weight=[35, 33, 32])
    certainty = cc.rank(prefs, "borda").certainty
    assert certainty.defeat == ("paper", 35.0, 65.0)
    assert certainty.is_significant
    assert not certainty.is_certain
    assert certainty.sentence().endswith("But rock loses the direct comparison with paper (35 to 65).")
    assert certainty.to_dict()["defeat"] == ["paper", 35.0, 65.0]


@pytest.mark.parametrize("missing", ["ignore", "last"])
@pytest.mark.parametrize("seed", range(5))
def test_a_defeat_is_the_largest_majority_over_the_first(seed: int, missing: str) -> None:
    prefs = random_preferences(np.random.default_rng(seed), n_items=5, n_ballots=15, n_instances=1)
    ranking = cc.rank(prefs, "borda")
    (certainty,) = assess(ranking, prefs, missing)
    if certainty.is_shared or certainty.runner_up is None:
        return
    wins = cc.views.win_matrices(prefs, missing).matrix()
    first, second = (list(prefs.items).index(label) for label in (certainty.first[0], certainty.runner_up))
    margin = wins[:, first] - wins[first]
    margin[second] = 0
    if margin.max() <= 0:
        assert certainty.defeat is None
    else:
        assert certainty.defeat is not None
        rival, won, lost = certainty.defeat
        assert lost - won == margin.max() == margin[list(prefs.items).index(rival)]
