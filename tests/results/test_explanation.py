"""Explanations: what can be said of any ranking, where they come from, and how they are shown."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import ROOT, Run

import concordant as cc
from concordant.method import Method
from concordant.narrative.sentences import Scene, counted, listed, number, ordinal
from concordant.preferences import Preferences
from concordant.ranking import Ranking
from concordant.reporting.sections import Fold, Picture, ReportTable, Text
from concordant.results.explanation import Explanation, Reason

ELECTION = ROOT / "examples" / "election.csv"
RUNS = [ROOT / "examples" / "runs" / f"engine{k}.run" for k in (1, 2, 3, 4)]
CIRCLE = [["a", "b", "c"]] * 5 + [["b", "c", "a"]] * 4 + [["c", "a", "b"]] * 3


@dataclass(frozen=True, kw_only=True)
class Drawn(Method):
    """A method that knows one reason and draws it."""

    def scores(self, prefs: Preferences) -> np.ndarray:
        return -np.arange(prefs.n_slots, dtype=np.float64)

    def reasons(self, prefs: Preferences, ranking: Ranking) -> Sequence[Reason]:
        return [Reason("Because", [f"{ranking.items[0]} came first."])]

    def picture(self, prefs: Preferences, ranking: Ranking):
        return lambda: '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Break no sentences."""
    monkeypatch.setenv("COLUMNS", "500")


# ---- words ----
def test_names_numbers_and_ranks_are_written_as_sentences_have_them():
    assert listed(["a"]) == "a"
    assert listed(["a", "b", "c"]) == "a, b and c"
    assert listed(list("abcdefg")) == "a, b, c, d and 3 more"
    assert [ordinal(k) for k in (1, 2, 3, 4, 11, 22, 113)] == ["1st", "2nd", "3rd", "4th", "11th", "22nd", "113th"]
    assert counted(1, "ballot") == "1 ballot"
    assert counted(2.5, "ballot") == "2.5 ballots"
    assert number(-0.0) == "0"


# ---- votes between two ----
@pytest.mark.parametrize("missing", ["ignore", "last", "last-free"])
def test_votes_between_two_are_those_of_the_win_matrix(missing):
    from concordant import laws, views

    rng = np.random.default_rng(3)
    for _ in range(60):
        prefs = laws.random_preferences(rng)
        if prefs.n_instances > 1:
            prefs = prefs.replace(instances=None, instance=None, slot_ptr=None, slot_item=None)
        matrices = views.win_matrices(prefs, missing)
        scene = Scene(prefs, cc.rank(prefs, "borda"), missing)
        for i, j in np.ndindex(prefs.n_slots, prefs.n_slots):
            if i != j:
                wins, ties = matrices.matrix(), matrices.tie_matrix()
                assert scene.votes(i, j) == pytest.approx((wins[i, j], wins[j, i], ties[i, j]))


# ---- what can be said of any ranking ----
def test_the_lead_and_the_direct_comparison_are_told():
    prefs = cc.Preferences.from_rankings([["a", "b", "c"]] * 3 + [["b", "c", "a"]] * 2)
    (reason,) = cc.rank(prefs, "rank-centrality").explain().reasons
    assert any("b is first of 3" in said for said in reason.sentences)
    assert "In direct comparison 2 ballots prefer b to a, 3 the other way." in reason.sentences
    assert "Most ballots prefer a to b (3 to 2), which the ranking does not follow." in reason.sentences
    assert [row[1] for row in reason.rows] == ["b", "a", "c"]


def test_ties_for_the_first_place_are_told():
    prefs = cc.Preferences.from_rankings([["a", "b", "c"], ["b", "a", "c"]])
    assert "a and b share first place among 3" in cc.rank(prefs, "rank-centrality").explain().to_text()
    level = cc.Preferences.from_rankings([["a", "b"], ["b", "a"]])
    assert "All 2 candidates are tied" in cc.rank(level, "rank-centrality").explain().to_text()


def test_items_nobody_compares_directly_are_told():
    prefs = cc.Preferences.from_pairs(["a", "a", "b"], ["c", "d", "c"])
    said = cc.rank(prefs, "markov-chain").explain().to_text()
    assert "No comparison compares a and b directly" in said


def test_a_ranking_sorted_by_the_low_end_tells_the_low_ends():
    votes = cc.read(ROOT / "examples" / "model-votes.csv")
    ranking = cc.rank(votes, "thurstone").by("low")
    said = ranking.explain().reasons[0]
    assert "low end of the interval" in said.header
    assert f"low end of the interval of {ranking.low[0]:.4g}" in " ".join(said.sentences)


def test_the_best_few_are_explained_by_all():
    whole = cc.rank(cc.read(ELECTION), "schulze")
    assert whole.head(2).explain() == whole.explain()
    fused = cc.rank(cc.read(RUNS), "rrf")
    assert fused.head(2)["3"].explain() == fused["3"].explain()


def test_an_instance_is_explained_by_its_own_ballots_and_the_convention_of_all():
    prefs = cc.Preferences(
        ["a", "b", "c"], [0, 2, 4, 7], [0, 1, 1, 0, 0, 1, 2], [0, 1, 0, 1, 0, 1, 2], open=[True, True, False],
        instances=["q1", "q2"], instance=[0, 0, 1],
    )  # fmt: skip
    assert prefs.form == "rankings"
    assert prefs.select(instances=["q1"]).form == "choices"  # alone, silence would mean something else
    ranking = cc.rank(prefs, "borda")
    told = ranking["q1"].explain()
    assert told.instance == "q1"
    assert "points" in told.reasons[-1].header  # not the share of comparisons


def test_a_method_without_a_word_of_its_own_tells_the_first_places(monkeypatch: pytest.MonkeyPatch):
    prefs = cc.Preferences.from_rankings([["a", "b"]])
    monkeypatch.setattr(cc.Borda, "reasons", lambda *_: [])
    assert "a is first of 2" in str(cc.rank(prefs, "borda").explain())


def test_an_instance_without_candidates_is_explained_as_such():
    prefs = cc.Preferences(["a"], [0, 1], [0], [0], instances=["q1", "q2"], instance=[0])
    assert "no candidates" in str(cc.rank(prefs, "kemeny")["q2"].explain())


def test_several_instances_have_no_single_explanation():
    with pytest.raises(cc.ConcordantError, match=r"ranking\['1'\]"):
        cc.rank(cc.read(RUNS), "rrf").explain()


def test_a_ranking_without_its_ballots_says_so():
    fused = cc.fuse([["a", "b"], ["b", "c"]])
    with pytest.raises(cc.ConcordantError, match="ballots behind this ranking are not available"):
        fused.explain()


def test_an_explanation_is_text_data_and_html():
    told = Explanation("borda", (Reason("Because <b>", ["a & b."], ["item", "n"], [["<i>", "1"]], frozenset({1})),))
    assert "Because <b>" in str(told)
    assert repr(told) == str(told)
    assert json.loads(json.dumps(told.to_dict()))["reasons"][0]["table"] == [{"item": "<i>", "n": "1"}]
    html = told._repr_html_()
    assert ">Because &lt;b&gt;</h4>" in html
    assert "<bdi>&lt;i&gt;</bdi></td>" in html


def test_the_same_ranking_in_parts_is_explained_the_same():
    prefs = cc.read(RUNS)
    from concordant.engine.executors import Serial
    from concordant.engine.instances import rank_in_chunks

    method = cc.RRF()
    assert rank_in_chunks(method, prefs, Serial())["2"].explain() == method.rank(prefs)["2"].explain()


# ---- on the command line ----
def test_rank_prints_the_explanation_below_the_ranking(run: Run):
    code, out, _ = run("rank", ELECTION, "--method", "schulze", "--explain", "--top", "2")
    assert code == 0
    assert out.index("Clara Lindqvist") < out.index("Direct comparisons")
    assert "Eli Stone defeats Ada Marsh" in out  # of all, not of the two shown


def test_rank_without_explain_says_nothing_of_it(run: Run):
    assert "Direct comparisons" not in run("rank", ELECTION, "--method", "schulze")[1]
    assert "explanation" not in json.loads(run("rank", ELECTION, "--json")[1])["instances"][0]


def test_json_holds_the_explanation_of_each_instance(run: Run):
    data = json.loads(run("rank", ELECTION, "--explain", "--json")[1])
    assert data["instances"][0]["explanation"][0]["title"] == "The first places"
    out = run("rank", *RUNS, "--explain", "--json")[1]
    told = [one["explanation"] for one in json.loads(out)["instances"]]
    assert [one is None for one in told] == [False] * 5 + [True] * 7


def test_of_many_instances_the_first_are_explained_and_the_rest_counted(run: Run):
    _, out, err = run("rank", *RUNS, "--explain", "--top", "1")
    assert out.count("Contributions of each list") == 5
    assert "explained the first 5 of 12 instances" in err


def test_an_explanation_is_no_csv(run: Run):
    for command in ("rank", "compare"):
        code, _, err = run(command, ELECTION, "--explain", "--csv")
        assert code != 0
        assert "cannot be combined with --csv" in err


def test_files_that_would_be_reduced_to_sums_are_read_for_an_explanation(run: Run, tmp_path: Path):
    (tmp_path / "ratings.csv").write_text((ROOT / "examples" / "ratings.csv").read_text())
    code, out, _ = run("rank", tmp_path, "--method", "mpm", "--explain")
    assert code == 0
    assert "Net wins" in out


def test_sums_alone_cannot_be_explained(tmp_path: Path):
    (tmp_path / "a.csv").write_text((ROOT / "examples" / "ratings.csv").read_text())
    with pytest.raises(cc.ConcordantError, match="ballots behind this ranking are not available"):
        cc.rank(f"{tmp_path}/*.csv", "mean-rating").explain()


def test_a_picture_is_written_where_the_method_has_one(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    target = tmp_path / "why.svg"
    code, _, err = run("rank", ELECTION, "--explain-picture", target)
    assert code != 0
    assert "borda has no plot of its explanation" in err
    assert run("rank", *RUNS, "--explain-picture", target)[2].count("shows one instance") == 1
    assert not target.exists()
    monkeypatch.setattr(cc.Borda, "picture", lambda *_: lambda: "<svg></svg>")
    assert run("rank", ELECTION, "--explain-picture", target)[0] == 0
    assert target.read_text() == "<svg></svg>\n"


def test_compare_says_where_and_why_methods_differ(run: Run):
    code, out, _ = run("compare", ELECTION, "--methods", "plurality,schulze", "--explain")
    assert code == 0
    assert "First place: Ada Marsh by plurality; Clara Lindqvist by schulze." in out
    data = json.loads(run("compare", ELECTION, "--methods", "plurality,schulze", "--explain", "--json")[1])
    assert data["explanation"][0]["title"] == "Where and why they differ"
    assert "explanation" not in json.loads(run("compare", ELECTION, "--json")[1])


# ---- comparisons ----
def test_methods_that_agree_are_said_to_agree():
    prefs = cc.Preferences.from_rankings([["a", "b", "c"]] * 3)
    (reason,) = cc.compare(prefs, ["borda", "schulze"]).explain().reasons
    assert reason.sentences == ["All 2 methods give the same order, with a first."]


def test_who_ties_two_items_does_not_contradict_who_orders_them():
    prefs = cc.Preferences.from_rankings([["a", "b", "c"], ["b", "a", "c"], ["a", "c", "b"], ["b", "c", "a"]])
    compared = cc.compare(prefs, ["plurality", "condorcet-fuse", "borda"])
    assert not any("is first by" in said for reason in compared.explain().reasons for said in reason.sentences)


def test_the_instances_where_methods_differ_most_are_looked_at():
    agreeing, disputed = [["a", "b", "c"]] * 3, [["a", "b", "c", "d"]] * 5 + [["b", "c", "d", "a"]] * 4
    prefs = cc.Preferences.from_rankings(agreeing + disputed, instance=["q1"] * 3 + ["q2"] * 9)
    told = cc.compare(prefs, ["copeland", "borda"]).explain()
    assert "the same order in 1 of 2 instances" in told.reasons[0].sentences[0]
    assert [reason.title for reason in told.reasons] == ["Over all instances", "Instance q2", "Ranks by method"]
    assert any("b is first by borda, a by copeland" in said for said in told.reasons[1].sentences)


def test_a_higher_mean_rating_against_the_direct_comparison_is_told():
    rows = [("u1", "a", 5), ("u1", "b", 4), ("u2", "a", 5), ("u2", "b", 4), ("u3", "b", 5), ("u3", "a", 1)]
    rows += [("u4", "b", 5), ("u5", "b", 5), ("u6", "a", 4)]
    agent, item, rating = zip(*rows, strict=True)
    prefs = cc.Preferences.from_ratings(list(agent), list(item), list(rating))
    from concordant.analysis.disagreeing import _rated_higher

    assert _rated_higher(prefs, 0, 1, ["a", "b"]) == "b is rated higher on average (4.6 against 3.75)"
    assert _rated_higher(prefs, 1, 0, ["b", "a"]) == ""


# ---- in the report ----
def test_the_report_says_why_with_tables():
    made = cc.report(cc.read(ELECTION), method="schulze")
    (why,) = [section for section in made.sections if section.name == "why"]
    first = why.parts[0]
    assert isinstance(first, Text)
    assert "beats every other candidate" in first.text
    folds = [part for part in why.parts if isinstance(part, Fold)]
    assert any(isinstance(part, ReportTable) for fold in folds for part in fold.parts)


def test_a_picture_stands_in_the_report_as_an_image_that_runs_nothing():
    made = cc.report(cc.read(ELECTION), method=Drawn(), methods=[])
    (picture,) = [part for section in made.sections for part in section.parts if isinstance(part, Picture)]
    assert picture.svg.startswith("<svg")
    page = made.to_html()
    assert 'src="data:image/svg+xml;base64,' in page
    assert "alert(1)" not in page


def test_several_instances_have_no_section_of_why():
    assert "why" not in [section.name for section in cc.report(cc.read(RUNS), methods=[]).sections]
