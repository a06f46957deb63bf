"""Rankings of now: methods with a history rank the items seen in the last 365 days, and say whom they leave out."""

from __future__ import annotations

import numpy as np
import pytest

import concordant as cc
from concordant import registry, simulate
from concordant.params import params_of

METHODS = ("elo", "trueskill", "glicko2", "whole-history", "windowed-bradley-terry")


@pytest.fixture(scope="module")
def careers():
    """Old wins everything and stops in 2021; a, b and c play until the end of 2024."""
    rows = [("old", other, f"20{year}-0{month}-01") for year in (20, 21) for month in (1, 5) for other in "abc"]
    rows += [
        (a, b, f"20{year}-0{month}-15") for year in (22, 23, 24) for month in (2, 6) for a, b in ("ab", "bc", "ca")
    ]
    rows += [("a", "b", "2024-08-01"), ("a", "c", "2024-09-01")]
    winner, loser, day = (list(column) for column in zip(*sorted(rows, key=lambda row: row[2]), strict=True))
    return cc.Preferences.from_pairs(winner, loser, time=day)


@pytest.mark.parametrize("method", METHODS)
def test_who_stopped_playing_is_not_ranked_and_a_notice_says_so(careers, method):
    ranking = cc.rank(careers, method)
    assert sorted(ranking.items) == ["a", "b", "c"]
    notice = next(one for one in ranking.warnings if one.name == "not-recent")
    assert notice.items == ("old",)
    assert notice.text.startswith("1 of 4 items is not ranked")
    everybody = cc.rank(careers, method, all_items=True)
    assert sorted(everybody.items) == ["a", "b", "c", "old"]
    assert "not-recent" not in {one.name for one in everybody.warnings}
    scores = dict(zip(everybody.items, everybody.scores, strict=True))
    assert dict(zip(ranking.items, ranking.scores, strict=True)) == {item: scores[item] for item in "abc"} | {
        item: scores[item] for item in ranking.items
    }


@pytest.mark.parametrize("method", METHODS)
def test_history_and_model_know_everybody(careers, method):
    ranking = cc.rank(careers, method)
    assert len(ranking.history.of("old")) > 0
    assert "old" in ranking.history.at("2021-12-31").items
    assert 0 < ranking.model.p_beats("old", "a") < 1


@pytest.mark.parametrize("method", METHODS)
def test_since_moves_the_limit(careers, method):
    assert sorted(cc.rank(careers, method, since="2021-01-01").items) == ["a", "b", "c", "old"]
    assert sorted(cc.rank(careers, method, since="2024-08-15").items) == ["a", "c"]
    with pytest.raises(cc.InputError, match="No item has a result on or after since=2030-01-01"):
        cc.rank(careers, method, since="2030-01-01")
    with pytest.raises(cc.ParameterError, match="contradict each other"):
        cc.rank(careers, method, since="2024-01-01", all_items=True)
    with pytest.raises(cc.ParameterError, match="not a valid time"):
        cc.rank(careers, method, since="7")


@pytest.mark.parametrize("method", METHODS)
def test_numbers_have_no_days_so_everybody_is_ranked(careers, method):
    rounds = careers.replace(time=np.arange(careers.n_ballots, dtype=float) * 1_000, is_dated=False)
    assert len(cc.rank(rounds, method).items) == 4
    assert sorted(cc.rank(rounds, method, since=str(1_000 * (careers.n_ballots - 1))).items) == ["a", "c"]


@pytest.mark.parametrize("method", ["elo", "trueskill", "glicko2"])
def test_without_times_everybody_is_ranked_and_since_is_refused(careers, method):
    undated = careers.replace(time=None, is_dated=False)
    assert len(cc.rank(undated, method).items) == 4
    with pytest.raises(cc.ParameterError, match="needs the time of each ballot"):
        cc.rank(undated, method, since="2024-01-01")


def test_the_limit_is_365_days_before_the_last_result():
    days = ["2023-01-01", "2023-01-02", "2024-01-02"]
    prefs = cc.Preferences.from_pairs(["x", "a", "b"], ["y", "b", "c"], time=days)
    assert sorted(cc.rank(prefs, "elo").items) == ["a", "b", "c"]  # 2023-01-02 is 365 days before 2024-01-02


def test_a_window_is_what_counts_as_recent(careers):
    assert sorted(cc.rank(careers, "windowed", window=25.0, period="month").items) == ["a", "c"]
    assert sorted(cc.rank(careers, "windowed", window=3_000.0).items) == ["a", "b", "c", "old"]
    games = simulate.drifting(8, 300, drift=0.5, moments=40, seed=2)
    recent = games.time > games.time.max() - 0.3
    left = sorted(set(games.items.take(games.item[np.repeat(recent, 2)])))
    assert sorted(cc.rank(games, "windowed", window=0.3, period=0.1).items) == left


def test_peaks_rank_everybody(careers):
    assert "old" in cc.rank(careers, "whole-history", score="peak").items


def test_every_instance_ends_with_its_own_last_result():
    prefs = cc.Preferences.from_pairs(
        list("abab"), list("bcba"), time=["2010-01-01", "2012-01-01", "2024-01-01", "2024-02-01"], instance=list("ppqq")
    )
    ranking = cc.rank(prefs, "elo")
    assert sorted(ranking["p"].items) == ["b", "c"]
    assert sorted(ranking["q"].items) == ["a", "b"]
    assert [one.explain().instance for one in ranking] == ["p", "q"]


@pytest.mark.parametrize("method", METHODS)
def test_explanations_are_of_the_items_ranked_but_of_all_their_games(careers, method):
    ranking = cc.rank(careers, method)
    text = str(ranking.explain())
    assert f"{ranking.items[0]} is first of 3" in text
    assert "old is first" not in text
    if method in ("elo", "trueskill"):
        record = next(one for one in ranking.explain().reasons if one.title == "Records")
        lost = {row[1]: float(row[4]) for row in record.rows}
        assert lost["a"] == 6 + 4  # against c, and against the item that is not ranked


@pytest.mark.parametrize("method", METHODS)
def test_comparisons_reports_pictures_and_groups_take_such_rankings(careers, method, tmp_path):
    compared = cc.compare(careers, [method, "bradley-terry"], folds=2)
    assert len(compared.tiers[0][0]) + sum(len(tier) for tier in compared.tiers[0][1:]) == 4
    report = cc.report(careers, method=method, methods=[method, "borda"]).to_html()
    assert "not ranked" in report
    assert "Head to head" in report
    pytest.importorskip("matplotlib", reason="plots are an extra")
    cc.rank(careers, method).plot_matrix(careers, tmp_path / "m.svg")
    with pytest.raises(cc.ParameterError, match="all items must be ranked here"):
        cc.compare(careers, [cc.WholeHistory(since="2024-01-01"), "borda"])


def test_a_ranking_keeps_chosen_slots_of_every_instance():
    prefs = cc.Preferences.from_rankings([["a", "b", "c"], ["c", "d"]], instance=["p", "q"])
    ranking = cc.rank(prefs, "borda")
    some = ranking.only(np.array([True, False, True, False, False]))
    assert [one.items for one in some] == [["a", "c"]]
    assert list(some.instances) == ["p"]


@pytest.fixture(scope="module")
def reversed_leader():
    """A beats everybody but B; B beats A in six of eight games. Old stopped years before."""
    rows = [("B", "A")] * 6 + [("A", "B")] * 2 + [("A", other) for other in "CD"] * 15
    rows += [("B", other) for other in "CD"] * 8 + [(other, "B") for other in "CD"] * 7
    rows = [("Old", "A", "2015-01-01"), ("Old", "B", "2015-01-02")] + [(*row, "2024-05-05") for row in rows]
    winner, loser, day = (list(column) for column in zip(*rows, strict=True))
    return cc.Preferences.from_pairs(winner, loser, time=day)


@pytest.mark.parametrize("method", METHODS)
def test_direct_comparisons_count_where_items_are_left_out(reversed_leader, method):
    ranking = cc.rank(reversed_leader, method)
    assert "Old" not in ranking.items
    counts = {"A": 2.0, "B": 6.0}
    if set(ranking.items[:2]) == {"A", "B"}:
        assert ranking.certainty.votes == (counts[ranking.items[0]], counts[ranking.items[1]])
    assert ranking.certainty.votes is not None
    if method == "whole-history":
        assert ranking.items[0] == "A"
        assert ranking.certainty.is_reversed
    if method == "elo":
        assert ranking.certainty.basis == "votes"


def test_direct_comparisons_are_of_the_instances_that_are_left():
    prefs = cc.Preferences.from_pairs(
        list("xababa"), list("ybabab"), time=["2001-01-01", *["2024-01-01"] * 5], instance=list("pqqqqq")
    )
    ranking = cc.rank(prefs, "elo", since="2020-01-01")
    assert list(ranking.instances) == ["q"]
    assert sorted(ranking.certainties[0].votes) == [2.0, 3.0]


@pytest.fixture(scope="module")
def two_leagues():
    """Two leagues of three that never meet; the first is well ordered, the second even. Gone stopped years before."""
    rows = [("x1", "gone", "2015-01-01"), ("gone", "x2", "2015-01-02"), ("y1", "gone", "2015-01-03")]
    for day in range(1, 29):
        x = [("x1", "x2"), ("x2", "x3"), ("x1", "x3")]
        y = [("y1", "y2"), ("y2", "y3"), ("y3", "y1")]
        rows += [(*(pair if day % 4 else pair[::-1]), f"2024-02-{day:02}") for pair in x]
        rows += [(*(pair if day % 2 else pair[::-1]), f"2024-02-{day:02}") for pair in y]
    winner, loser, day = (list(column) for column in zip(*rows, strict=True))
    return cc.Preferences.from_pairs(winner, loser, time=day)


def test_windows_test_differences_by_the_joint_errors_of_the_last_window(two_leagues):
    ranking = cc.rank(two_leagues, "windowed", prior=2.0)
    plain = cc.rank(two_leagues.select(items=ranking.items), "bradley-terry", prior=2.0)
    assert ranking.items[0] == plain.items[0] == "x1"
    assert ranking.certainty.p == pytest.approx(plain.certainty.p, rel=1e-6)
    assert ranking.certainty.n_close == plain.certainty.n_close
    assert "disconnected" in {one.name for one in plain.warnings}
    assert "disconnected" in {one.name for one in ranking.warnings}


def test_scores_of_different_windows_are_not_tested(careers):
    ranking = cc.rank(careers, "windowed", all_items=True)
    assert ranking.items[0] == "old"
    assert ranking.certainty.p is None
    assert "different times, so their difference cannot be tested" in ranking.certainty.test()


@pytest.mark.parametrize("all_items", [False, True])
def test_whole_histories_count_close_items_by_joint_errors(two_leagues, all_items):
    ranking = cc.rank(two_leagues, "whole-history", all_items=all_items)
    first, *others = ranking.items
    leads = [ranking.model.difference(first, other) for other in others]
    found = ranking.certainty
    assert found.n_close == sum(lead <= 1.959964 * error for lead, error in leads)
    assert found.difference == pytest.approx(leads[0][0])
    assert found.high - found.difference == pytest.approx(1.959964 * leads[0][1], rel=1e-5)
    errors = ranking.uncertainty.known().apart(int(ranking.order[0]))
    assert errors[ranking.order[1:]] == pytest.approx([error for _, error in leads])
    assert errors[ranking.order[0]] == 0


def test_joint_errors_of_long_histories_are_close_to_exact_ones():
    games = simulate.drifting(12, 900, drift=0.5, moments=60, seed=3)
    ranking = cc.rank(games, "whole-history", drift=0.5, prior=1.0)
    first = int(ranking.order[0])
    errors = ranking.uncertainty.known().apart(first)[ranking.order[1:]]
    exact = np.array([ranking.model.difference(ranking.items[0], other)[1] for other in ranking.items[1:]])
    assert errors[:7] == pytest.approx(exact[:7], rel=1e-6)
    assert errors == pytest.approx(exact, rel=0.5)


def test_parts_of_rankings_keep_joint_errors():
    prefs = cc.Preferences.from_pairs(list("abacbcabca"), list("bacbcabcbc"), instance=list("pppppqqqqq"))
    ranking = cc.rank(prefs, "bradley-terry")
    slots = np.arange(len(ranking.score))
    keep = slots != ranking.slot_ptr[1]
    part = ranking.only(keep).uncertainty.known()
    whole = ranking.uncertainty.known()
    last = slots[-1]
    assert part.apart(int(last) - 1) == pytest.approx(whole.apart(int(last))[1:])


def test_items_ranked_by_an_earlier_window_are_named_with_since(careers):
    ranking = cc.rank(careers, "windowed", since="2021-01-01")
    assert "old" in ranking.items
    notice = next(one for one in ranking.warnings if one.name == "not-in-window")
    assert notice.items == ("old",)
    assert "not-in-window" not in {one.name for one in cc.rank(careers, "windowed").warnings}


def test_instances_without_recent_items_are_named():
    prefs = cc.Preferences.from_pairs(
        list("xab"), list("yba"), time=["2001-01-01", "2024-01-01", "2024-01-02"], instance=["early", "late", "late"]
    )
    ranking = cc.rank(prefs, "elo", since="2020-01-01")
    assert list(ranking.instances) == ["late"]
    notice = next(one for one in ranking.warnings if one.name == "not-recent")
    assert "1 instance has no item left and is not ranked: early" in notice.text
    assert notice.items == ("x", "y")


@pytest.mark.parametrize("method", METHODS)
def test_groups_are_ranked_over_time(careers, method):
    by = ["odd" if k % 2 else "even" for k in range(careers.n_ballots)]
    found = cc.rank_groups(careers, by, method, permutations=19)
    assert sorted(found.groups.instances) == ["even", "odd"]
    even = careers.subset(np.arange(careers.n_ballots) % 2 == 0, np.ones(careers.n_slots, bool))
    if method == "elo":
        alone = cc.rank(even, method, all_items=True)
        assert dict(zip(found.groups["even"].items, found.groups["even"].scores, strict=True)) == pytest.approx(
            dict(zip(alone.items, alone.scores, strict=True))
        )


def test_the_help_of_since_says_what_is_ranked_by_default():
    docs = {
        name: next(one.doc for one in params_of(type(registry.make(name))) if one.name == "since")
        for name in ("elo", "windowed-bradley-terry")
    }
    assert docs["elo"].endswith("default: the last 365 days")
    assert docs["windowed-bradley-terry"].endswith("default: the last window")
