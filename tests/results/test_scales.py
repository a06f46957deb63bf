"""The Elo scale: an affine transformation of everything in the unit of the scores, in every output."""

from __future__ import annotations

import base64
import csv
import html
import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.conftest import ROOT, Run
from tests.web.asking import Page, question

import concordant as cc
from concordant.narrative.plots import plot_ranking
from concordant.results.scales import anchor_of
from concordant.web.answers import Answerer

UNIT = 400 / np.log(10)
VOTES, LEAGUE, STYLE, LANGUAGES = (
    str(ROOT / "examples" / f"{name}.csv") for name in ("model-votes", "league", "arena-style", "arena-languages")
)
LOGISTIC = ["bradley-terry", "davidson", "rao-kupper", "plackett-luce", "ordered-partitions", "rank-centrality"]


@pytest.fixture(scope="module")
def votes() -> cc.Preferences:
    return cc.read(VOTES)


# ---- what is converted ----
@pytest.mark.parametrize("method", LOGISTIC)
def test_the_mean_is_1000_and_400_points_are_odds_of_ten(votes: cc.Preferences, method: str) -> None:
    plain = cc.rank(votes, method)
    rated = plain.on_scale("elo")
    assert rated.items == plain.items
    assert rated.ranks.tolist() == plain.ranks.tolist()
    assert rated.scores.mean() == pytest.approx(1000)
    np.testing.assert_allclose(rated.scores - 1000, UNIT * (plain.scores - plain.scores.mean()), atol=1e-9)
    np.testing.assert_allclose(rated.own_score, plain.score, atol=1e-12)
    if plain.low is not None:
        np.testing.assert_allclose(rated.low - rated.scores, UNIT * (plain.low - plain.scores), atol=1e-9)
        np.testing.assert_allclose(rated.high - rated.scores, UNIT * (plain.high - plain.scores), atol=1e-9)
        np.testing.assert_allclose(rated.detail("stderr"), UNIT * plain.detail("stderr"))
        for name in ("rank_low", "rank_high", "p_best"):
            assert rated.detail(name).tolist() == plain.detail(name).tolist()


def test_ratings_predict_the_model(votes: cc.Preferences) -> None:
    ranking = cc.rank(votes, "bradley-terry").on_scale("elo")
    lead = ranking.scores[0] - ranking.scores[-1]
    predicted = 1 / (1 + 10 ** (-lead / 400))
    assert predicted == pytest.approx(ranking.model.p_beats(ranking.items[0], ranking.items[-1]))


@pytest.mark.parametrize(("method", "unit"), [("elo", 400 / np.log(10)), ("glicko2", 173.7178)])
def test_ratings_of_games_get_another_centre(method: str, unit: float) -> None:
    games = cc.read(LEAGUE, time="date")
    plain = cc.rank(games, method)
    rated = plain.on_scale(centre=1500)
    assert rated.scores.mean() == pytest.approx(1500)
    np.testing.assert_allclose(np.diff(rated.scores), np.diff(plain.scores) * UNIT / unit, atol=1e-9)
    spread = cc.rank(games, "elo", spread=200).on_scale("elo")
    assert spread.scores.std() == pytest.approx(2 * cc.rank(games, "elo", spread=200).scores.std())


def test_points_and_centre_can_be_set(votes: cc.Preferences) -> None:
    ranking = cc.rank(votes, "bradley-terry")
    rated = ranking.on_scale("elo", centre=0, points=100)
    np.testing.assert_allclose(rated.scores, 100 / np.log(10) * (ranking.scores - ranking.scores.mean()), atol=1e-9)
    np.testing.assert_array_equal(ranking.on_scale(cc.EloScale(centre=0, points=100)).scores, rated.scores)


def test_the_certainty_of_the_first_place_is_in_points(votes: cc.Preferences) -> None:
    ranking = cc.rank(votes)
    plain = ranking.certainty
    for rated in (ranking.on_scale(), ranking.on_scale(anchor="kestrel"), ranking.head(3).on_scale()):
        certainty = rated.certainty
        for name in ("difference", "low", "high"):
            assert getattr(certainty, name) == pytest.approx(UNIT * getattr(plain, name))
        for name in ("p", "p_best", "rank_low", "rank_high", "n_close", "factor", "votes", "first"):
            assert getattr(certainty, name) == pytest.approx(getattr(plain, name))


@pytest.mark.parametrize("method", ["whole-history", "windowed-bradley-terry", "elo", "glicko2"])
def test_a_history_has_the_scale_of_its_ranking(method: str) -> None:
    plain = cc.rank(cc.read(LEAGUE, time="date"), method, all_items=True)
    rated = plain.on_scale(anchor=("Cleo", 1200))
    factor = UNIT / plain.log_odds
    shift = rated.scores[0] - factor * plain.scores[0]
    np.testing.assert_allclose(rated.history.score, factor * plain.history.score + shift, atol=1e-8)
    for name in ("low", "high"):
        ends = getattr(plain.history, name)
        if ends is not None:
            np.testing.assert_allclose(getattr(rated.history, name), factor * ends + shift, atol=1e-8)
    assert rated.history.peaks().columns["item"] == plain.history.peaks().columns["item"]


def test_covariate_effects_and_uncorrected_scores_are_converted() -> None:
    prefs = cc.read(STYLE, covariate="length_a,length_b")
    plain = cc.rank(prefs, "bradley-terry")
    rated = plain.on_scale("elo", anchor=("kestrel", 1000))
    for before, after in zip(plain.coefficients, rated.coefficients, strict=True):
        assert after.value == pytest.approx(UNIT * before.value)
        assert after.stderr == pytest.approx(UNIT * before.stderr)
        assert after.z == pytest.approx(before.z)
    column = dict(zip(rated.columns()["item"], rated.columns()["uncorrected_score"], strict=True))
    assert column["kestrel"] == pytest.approx(1000)
    plain_column = dict(zip(plain.columns()["item"], plain.columns()["uncorrected_score"], strict=True))
    difference = plain_column["siskin"] - plain_column["kestrel"]
    assert column["siskin"] == pytest.approx(1000 + UNIT * difference)
    assert rated.columns()["uncorrected_rank"].tolist() == plain.columns()["uncorrected_rank"].tolist()
    shown = [line for line in str(plain.explain()).splitlines() if "standard deviation" in line]
    assert shown
    assert [line for line in str(rated.explain()).splitlines() if "standard deviation" in line] == shown


def test_the_position_bias_is_in_points(votes: cc.Preferences) -> None:
    plain = cc.rank(votes, "bradley-terry", order_effect=True)
    rated = plain.on_scale("elo")
    for name in ("order_effect", "order_effect_stderr"):
        assert rated.fit[name] == pytest.approx(UNIT * plain.fit[name])
    assert rated.fit["prior"] == plain.fit["prior"]


# ---- an anchor ----
def test_intervals_with_an_anchor_are_those_of_the_differences(votes: cc.Preferences) -> None:
    plain = cc.rank(votes, "bradley-terry")
    rated = plain.on_scale("elo", anchor=("kestrel", 1114))
    for k, item in enumerate(rated.items):
        difference, error = plain.model.difference(item, "kestrel")
        assert rated.scores[k] == pytest.approx(1114 + UNIT * difference)
        assert rated.detail("stderr")[k] == pytest.approx(UNIT * error, abs=1e-9)
        assert rated.high[k] - rated.scores[k] == pytest.approx(1.959964 * UNIT * error, rel=1e-6, abs=1e-9)
    k = rated.items.index("kestrel")
    assert rated.low[k] == rated.scores[k] == rated.high[k] == pytest.approx(1114)


@pytest.mark.parametrize("errors", ["auto", "hessian", "sandwich", "bootstrap"])
def test_an_anchor_has_no_interval_whatever_the_errors(votes: cc.Preferences, errors: str) -> None:
    ranking = cc.rank(votes, "davidson", errors=errors, replicates=30).on_scale(anchor="siskin")
    assert ranking.scores[ranking.items.index("siskin")] == pytest.approx(1000)
    width = ranking.high - ranking.low
    assert width[ranking.items.index("siskin")] == pytest.approx(0, abs=1e-9)
    assert (np.delete(width, ranking.items.index("siskin")) > 1).all()
    assert (ranking.low <= ranking.scores).all()
    assert (ranking.scores <= ranking.high).all()


def test_errors_without_covariances_add_up() -> None:
    plain = cc.rank(cc.read(LEAGUE, time="date"), "glicko2")
    anchor = plain.items[-1]
    rated = plain.on_scale(anchor=anchor)
    error, of_anchor = plain.detail("stderr"), plain.detail("stderr")[-1]
    factor = UNIT / plain.log_odds
    np.testing.assert_allclose(rated.detail("stderr")[:-1], factor * np.hypot(error, of_anchor)[:-1])
    assert rated.detail("stderr")[-1] == 0
    assert rated.certainty.p == pytest.approx(plain.certainty.p)
    assert rated.certainty.n_close == plain.certainty.n_close


def test_a_scale_replaces_the_former_one(votes: cc.Preferences) -> None:
    ranking = cc.rank(votes)
    for anchored in (ranking.on_scale(anchor=("kestrel", 1114)), ranking.on_scale(anchor="siskin", points=100)):
        again = anchored.on_scale("elo")
        for name in ("scores", "low", "high", "own_score"):
            np.testing.assert_allclose(getattr(again, name), getattr(ranking.on_scale(), name), atol=1e-9)
        part = anchored.head(4).on_scale(anchor="osprey-2")
        wanted = ranking.head(4).on_scale(anchor="osprey-2")
        np.testing.assert_allclose(part.low, wanted.low, atol=1e-9)


def test_sorting_and_parts_keep_the_scale(votes: cc.Preferences) -> None:
    rated = cc.rank(votes).on_scale(anchor="kestrel")
    assert rated.by("low").low.tolist() == sorted(rated.low.tolist(), reverse=True)
    assert rated.head(3).low.tolist() == rated.low[:3].tolist()


def test_each_instance_has_its_own_mean_or_anchor() -> None:
    prefs = cc.read(LANGUAGES, instance="language")
    ranking = cc.rank(prefs, "bradley-terry")
    for part in ranking.on_scale("elo"):
        assert part.scores.mean() == pytest.approx(1000)
        assert part.certainty.difference == pytest.approx(UNIT * ranking[part.instance].certainty.difference)
    anchor = ranking[ranking.instances[0]].items[0]
    for part in ranking.on_scale("elo", anchor=(anchor, 1114)):
        assert part.scores[part.items.index(anchor)] == pytest.approx(1114)
    single = ranking[ranking.instances[1]].on_scale("elo")
    np.testing.assert_allclose(single.scores, ranking.on_scale("elo")[ranking.instances[1]].scores)


def test_an_anchor_that_is_not_everywhere_is_an_error() -> None:
    left, right = ["a", "a", "b", "c"], ["b", "b", "a", "d"]
    prefs = cc.Preferences.from_pairs(left, right, instance=["x", "x", "x", "y"])
    ranking = cc.rank(prefs, "bradley-terry")
    with pytest.raises(cc.InputError, match=r"anchor='a' is not ranked in 1 of 2 instances \(y\): give an item that"):
        ranking.on_scale(anchor="a")
    with pytest.raises(cc.InputError, match="anchor='e' is not one of the ranked items"):
        ranking.on_scale(anchor="e")


# ---- what is refused ----
@pytest.mark.parametrize("method", ["thurstone", "trueskill", "borda", "kemeny", "mpm", "mean-rating"])
def test_scores_that_are_no_log_odds_have_no_elo_scale(votes: cc.Preferences, method: str) -> None:
    prefs = votes if method != "mean-rating" else cc.read(str(ROOT / "examples" / "ratings.csv"))
    with pytest.raises(cc.InputError, match=f"scores of {method} are not log odds .* such as bradley-terry"):
        cc.rank(prefs, method).on_scale("elo")


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"scale": "fide"}, "scale='fide' is not valid: use elo"),
        ({"centre": float("nan")}, "centre=nan is not valid"),
        ({"centre": "1000"}, "centre='1000' is not valid"),
        ({"points": 0}, "points=0 is out of range"),
        ({"anchor": ("kestrel", "x")}, "give an item, or a pair of item and rating"),
        ({"anchor": 7}, "anchor=7 is not valid"),
        ({"anchor": ("kestrel", 1000), "centre": 1500}, "contradict each other"),
        ({"scale": cc.EloScale(), "centre": 1}, "cannot be combined with further settings"),
    ],
)
def test_settings_that_give_no_scale_are_refused(votes: cc.Preferences, settings: dict[str, Any], error: str) -> None:
    with pytest.raises(cc.ParameterError, match=error):
        cc.rank(votes).on_scale(**settings)


def test_an_anchor_is_written_with_its_rating() -> None:
    assert anchor_of("gpt-4=1000") == ("gpt-4", 1000.0)
    assert anchor_of("a=b=1.5e3") == ("a=b", 1500.0)
    assert anchor_of("gpt-4") == "gpt-4"
    assert anchor_of("a=b") == "a=b"
    assert anchor_of("=3") == "=3"


# ---- every output ----
def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_table_csv_json_and_frame_agree(votes: cc.Preferences, run: Run) -> None:
    ranking = cc.rank(votes).on_scale("elo", anchor=("kestrel", 1114)).with_columns("rank_ub", "margin", "votes")
    options = ("--scale", "elo", "--anchor", "kestrel=1114", "--add-columns", "rank_ub,margin,votes")
    table = rows(run("rank", VOTES, *options, "--csv")[1])
    assert [row["item"] for row in table] == ranking.items
    for name in ("score", "low", "high"):
        np.testing.assert_allclose([float(row[name]) for row in table], ranking.columns()[name])
    data = json.loads(run("rank", VOTES, *options, "--json")[1])
    assert data["scale"] == {"name": "elo", "points": 400.0, "anchor": "kestrel", "rating": 1114.0}
    assert data["instances"] == json.loads(json.dumps(ranking.to_dict()["instances"]))
    assert data["certainty"] == json.loads(json.dumps(ranking.certainty.to_dict()))
    for backend in ("pandas", "polars", "pyarrow"):
        pytest.importorskip(backend)
        frame = ranking.to_frame(backend)
        assert list(frame["margin"]) == [row["margin"] for row in table] or backend == "pyarrow"
        assert [float(value if isinstance(value, float) else value.as_py()) for value in frame["score"]] == (
            ranking.scores.tolist()
        )
    code, text, notes = run("rank", VOTES, *options)
    assert code == 0
    assert text.startswith("davidson, Elo scale\n")
    assert re.search(r"5  kestrel +1114  \[1114, 1114\] +3 +\+0/-0 +59", text)
    assert "note: Elo scale: 400 points are odds of 10 to 1, kestrel = 1114" in notes
    assert "is not significant: 27.3 (95% CI -106 to 160, p = 0.69)" in notes
    assert ">davidson, Elo scale</caption>" in ranking._repr_html_()
    assert repr(ranking).startswith("Ranking by davidson, Elo scale\n")


def test_plots_say_that_scores_are_elo_ratings(votes: cc.Preferences) -> None:
    pytest.importorskip("matplotlib", reason="Matplotlib is not installed: it comes with the plots extra")
    ranking = cc.rank(votes).on_scale("elo")
    axes = plot_ranking(ranking).axes[0]
    assert axes.get_xlabel() == "Elo rating, 95% CI"
    assert axes.lines[0].get_xdata().tolist() == ranking.scores.tolist()
    games = cc.rank(cc.read(LEAGUE, time="date"), "whole-history").on_scale("elo")
    assert games.plot_history().axes[0].get_ylabel() == "Elo rating, 95% CI of the first 3"
    low, _ = plot_ranking(cc.rank(cc.read(LEAGUE, time="date"), "elo").on_scale("elo")).axes[0].get_xlim()
    assert low > 500


def test_a_history_file_is_on_the_scale(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "history.csv"
    options = (
        "--time",
        "date",
        "--method",
        "whole-history",
        "--scale",
        "elo",
        "--centre",
        "1500",
        "--history",
        str(path),
        "--peaks",
    )
    code, text, _ = run("rank", LEAGUE, *options)
    assert code == 0
    history = cc.rank(cc.read(LEAGUE, time="date"), "whole-history").on_scale("elo", centre=1500).history
    np.testing.assert_allclose([float(row["score"]) for row in rows(path.read_text())], history.score)
    peak = history.peaks().columns["score"][0]
    assert f"{peak:.0f}" in text.partition("peaks")[2]


def test_a_report_is_on_the_scale(votes: cc.Preferences, run: Run, tmp_path: Path) -> None:
    page = cc.report(votes, methods=[], scale=cc.EloScale(anchor=("kestrel", 1114))).to_html()
    assert "Elo scale: 400 points are odds of 10 to 1, kestrel = 1114" in page
    assert ">1320<" in page
    path = tmp_path / "report.html"
    options = ("--methods", "none", "--scale", "elo", "--add-columns", "rank_ub,votes", "-o", str(path))
    assert run("report", VOTES, *options)[0] == 0
    written = path.read_text()
    assert "Elo scale: 400 points are odds of 10 to 1, mean 1000" in written
    assert all(text in written for text in (">1187<", "rank ub", "votes"))
    assert run("report", VOTES, "--by", "judge", *options[:4], "-o", str(path))[0] == 0
    assert "odds of 10 to 1" in path.read_text()


def test_groups_are_on_the_scale_with_the_same_tests(run: Run) -> None:
    plain = cc.rank_groups(LANGUAGES, "language", "bradley-terry")
    rated = plain.on_scale("elo", anchor=(plain.whole.items[0], 1200))
    assert rated.whole.scores[0] == pytest.approx(1200)
    for before, after in zip(plain.differences, rated.differences, strict=True):
        assert (after.group, after.item, after.p, after.holds) == (before.group, before.item, before.p, before.holds)
        if before.difference is not None:
            assert after.difference == pytest.approx(UNIT * before.difference)
            assert after.stderr == pytest.approx(UNIT * before.stderr)
        part = rated.groups[after.group]
        assert after.score == pytest.approx(part.scores[part.items.index(after.item)])
    code, text, notes = run("rank", LANGUAGES, "--by", "language", "--method", "bradley-terry", "--scale", "elo")
    assert code == 0
    assert text.startswith("bradley-terry by language, Elo scale\n")
    assert "mean 1000" in notes
    table = rows(run("rank", LANGUAGES, "--by", "language", "-m", "bradley-terry", "--scale", "elo", "--csv")[1])
    wanted = [row.score for row in plain.on_scale().differences]
    np.testing.assert_allclose([float(row["score"]) for row in table], wanted)


def test_an_explanation_is_on_the_scale(votes: cc.Preferences) -> None:
    ranking = cc.rank(votes, "bradley-terry").on_scale("elo")
    tables = {reason.title: reason for reason in ranking.explain().reasons}
    contributions = tables[f"Contributions to the score of {ranking.items[0]}"]
    total = contributions.rows[-1]
    assert total[0] == "total"
    assert float(total[-1]) == pytest.approx(ranking.scores[0], abs=0.06)
    assert sum(float(row[-1]) for row in contributions.rows[:-1]) == pytest.approx(ranking.scores[0], abs=0.5)
    plain = cc.rank(cc.read(str(ROOT / "examples" / "election.csv")), "plackett-luce")
    rated = plain.on_scale("elo")
    chosen = [{one.title: one for one in part.explain().reasons}["Numbers of choices"] for part in (plain, rated)]
    assert chosen[0].rows == chosen[1].rows
    assert "proportional to 10^(score / 400)." in chosen[1].sentences[0]
    games = cc.rank(cc.read(LEAGUE, time="date"), "elo").on_scale("elo")
    record = {one.title: one for one in games.explain().reasons}["Records"]
    assert float(record.rows[0][5]) == pytest.approx(games.scores[0], abs=0.6)


# ---- the web app ----
def downloaded(kind: str, **settings: str) -> bytes:
    answer = Answerer(lambda _: None).answer({**question(1, VOTES, **settings), "do": "file", "kind": kind})
    assert answer["error"] is None
    return base64.b64decode(answer["content"])


def test_the_web_app_shows_and_downloads_the_scale(votes: cc.Preferences) -> None:
    settings = {"scale": "elo", "anchor": "kestrel=1114", "add_columns": "rank_ub, votes"}
    page = Page(VOTES, **settings)
    assert page.error == ""
    assert ">1320<" in page.sections["ranking"]
    shell, python = re.findall(r'<pre class="code"[^>]*>(.*?)</pre>', page.regions["download"], re.DOTALL)
    assert "--scale elo --anchor kestrel=1114 --add-columns rank_ub,votes" in html.unescape(shell)
    python = html.unescape(python)
    assert "ranking = ranking.on_scale('elo', anchor=('kestrel', 1114.0))" in python
    namespace: dict[str, Any] = {}
    exec(python.replace("'model-votes.csv'", repr(VOTES)).replace("print(", "str("), namespace)
    wanted = cc.rank(votes).on_scale(anchor=("kestrel", 1114)).with_columns("rank_ub", "votes")
    assert namespace["ranking"].columns().keys() == wanted.columns().keys()
    np.testing.assert_allclose(namespace["ranking"].scores, wanted.scores)
    table = rows(downloaded("csv", **settings).decode("utf-8-sig"))
    np.testing.assert_allclose([float(row["score"]) for row in table], wanted.scores)
    data = json.loads(downloaded("json", scale="elo", centre="1500"))
    assert data["scale"] == {"name": "elo", "points": 400.0, "anchor": None, "rating": 1500.0}
    assert b"odds of 10 to 1" in downloaded("html", **settings)
    assert downloaded("svg", **settings).startswith(b"<svg")


def test_the_web_app_names_its_controls_in_errors() -> None:
    error = Page(VOTES, scale="elo", anchor="nobody").error
    assert error.startswith("“Item with a fixed rating” nobody is not one of the ranked items")
    assert "The scores of borda are not log odds of a win" in Page(VOTES, scale="elo", method="borda").error
    page = Page(VOTES, anchor="kestrel=1114")  # without the scale, an anchor has no effect
    assert page.error == ""
    assert "Elo scale" not in page.sections["ranking"]


# ---- the command line ----
@pytest.mark.parametrize(
    ("options", "error"),
    [
        (["--anchor", "kestrel"], "--anchor needs the Elo scale: add --scale elo."),
        (["--centre", "1500"], "--centre needs the Elo scale: add --scale elo."),
        (["--scale", "elo", "--anchor", "nobody=3"], "--anchor nobody is not one of the ranked items"),
        (["--scale", "elo", "--method", "borda"], "The scores of borda are not log odds of a win"),
        (["--method", "elo", "--scale", "200"], "use --scale elo. The parameter of the method elo is --spread."),
        (["--scale", "elo", "--centre", "nan"], "--centre nan is not valid"),
        (["--by", "judge", "--add-columns", "votes"], "--add-columns cannot be combined with --by"),
        (["--add-columns", "vots"], "There is no further column 'vots' of davidson"),
    ],
)
def test_the_command_says_what_is_wrong(run: Run, options: list[str], error: str) -> None:
    code, _, text = run("rank", VOTES, *options)
    assert code != 0
    assert error in text
