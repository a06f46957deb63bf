"""Scores over time in a report: the curves, the next match, peaks, and what labels and dates of all kinds do."""

from __future__ import annotations

import itertools
import json
import re
from dataclasses import replace

import numpy as np
import pytest
from tests.conftest import ROOT
from tests.reporting.test_reporting import HOSTILE, Tree

import concordant as cc
from concordant.reporting.about_time import time_section
from concordant.reporting.curves import figure, moment, spread, time_ticks
from concordant.reporting.pages import page
from concordant.reporting.sections import (
    Chance,
    Columns,
    Control,
    Curve,
    Fold,
    ReportTable,
    Section,
    Text,
    TimeCurve,
    without_controls,
)
from concordant.reporting.study import Data, Study

pytestmark = pytest.mark.once

NAMES = ["Ann", "Ben", "Cem", "Dov"]


def season(names: list[str] = NAMES, years: int = 6) -> cc.Preferences:
    """Games of a league in which the first name improves from last to first, and the last one leaves after a year."""
    rng = np.random.default_rng(5)
    winner, loser, when = [], [], []
    for month in range(12 * years):
        strength = dict(zip(names, [-2 + 4 * month / (12 * years), 0.5, 0.0, -0.5], strict=True))
        playing = names if month < 12 else names[:3]
        for one in playing:
            for two in playing:
                if one < two:
                    one_wins = rng.random() < 1 / (1 + np.exp(strength[two] - strength[one]))
                    winner.append(one if one_wins else two)
                    loser.append(two if one_wins else one)
                    when.append(f"{2010 + month // 12}-{month % 12 + 1:02}-{10 + len(when) % 10}")
    return cc.Preferences.from_pairs(winner, loser, time=when)


def study_of(prefs: cc.Preferences, method: str = "glicko2", **params: object) -> Study:
    return Study(Data(prefs), cc.rank(prefs, method, **params))


def made(study: Study, *asked: object) -> Section:
    section = time_section(study, *asked)
    assert section is not None
    return section


def curve_of(section: Section) -> TimeCurve:
    return next(part for part in section.parts if isinstance(part, TimeCurve))


def all_parts(parts: tuple) -> list:
    out = []
    for part in parts:
        inner = part.parts if isinstance(part, Fold) else sum(part.columns, ()) if isinstance(part, Columns) else ()
        out += [part, *all_parts(inner)]
    return out


def texts(section: Section) -> str:
    return " ".join(part.text for part in all_parts(section.parts) if isinstance(part, Text))


def tables(section: Section) -> dict[str, ReportTable]:
    return {part.title: part for part in all_parts(section.parts) if isinstance(part, ReportTable)}


def table(section: Section, title: str) -> ReportTable:
    return next(found for name, found in tables(section).items() if title in name)


# ---- curves ----
def test_a_player_who_improves_has_a_rising_curve() -> None:
    for method in ("elo", "glicko2", "trueskill", "whole-history", "windowed-bradley-terry"):
        picture = curve_of(made(study_of(season(), method), ("Ann",)))
        values = np.array(picture.curves[picture.chosen[0]].values)
        thirds = [part.mean() for part in np.array_split(values, 3)]
        assert thirds[0] < thirds[1] < thirds[2], method


def test_curves_have_the_scores_of_the_history() -> None:
    study = study_of(season())
    history = study.ranking.history.of("Ben")
    picture = curve_of(made(study, ("Ben",)))
    drawn = picture.curves[picture.chosen[0]]
    assert drawn.times == tuple(history.time.tolist())
    assert drawn.values == tuple(history.score.tolist())
    assert (drawn.low, drawn.high) == (tuple(history.low.tolist()), tuple(history.high.tolist()))


def test_long_curves_keep_their_ends_and_extremes() -> None:
    study = study_of(season(years=40), "elo")
    history = study.ranking.history.of("Ann")
    picture = curve_of(made(study, ("Ann",)))
    drawn = picture.curves[picture.chosen[0]]
    assert len(drawn.times) <= 200 < len(history)
    last_of_day = np.append(np.diff(history.time) > 0, True)
    assert (drawn.times[0], drawn.times[-1]) == (history.time[0], history.time[-1])
    assert min(drawn.values) == history.score[last_of_day].min()
    assert max(drawn.values) == history.score.max()


def test_leaders_and_the_highest_peak_are_chosen_unasked() -> None:
    study = study_of(season())
    picture = curve_of(made(study))
    labels = [picture.curves[k].label for k in picture.chosen]
    assert labels[:2] == study.ranking.items[:2]
    assert study.ranking.history.peaks("low")["item"][0] in labels
    assert len(labels) == 3


def test_at_most_six_items_are_coloured() -> None:
    names = [f"p{k}" for k in range(9)]
    rng = np.random.default_rng(1)
    pairs = [rng.choice(9, 2, replace=False) for _ in range(300)]
    prefs = cc.Preferences.from_pairs(
        [names[a] for a, _ in pairs], [names[b] for _, b in pairs], time=[2000 + k / 10 for k in range(300)]
    )
    section = made(study_of(prefs, "elo"), tuple(names))
    assert len(curve_of(section).chosen) == 6
    assert "The first 6 of 9 items are coloured." in texts(section)


def test_an_item_that_left_has_no_line_to_the_end() -> None:
    picture = curve_of(made(study_of(season())))
    by_label = {curve.label: curve for curve in picture.curves}
    assert not by_label["Dov"].lasts
    assert by_label["Ann"].lasts


def test_data_without_times_have_no_section() -> None:
    assert time_section(study_of(cc.Preferences.from_pairs(["a", "b"], ["b", "c"]), "elo")) is None
    at_once = cc.Preferences.from_pairs(["a", "b"], ["b", "c"], time=[3, 3])
    assert time_section(study_of(at_once, "elo")) is None


def test_a_method_without_curves_names_the_one_that_draws_them() -> None:
    section = made(study_of(season(), "bradley-terry"))
    assert "the curves and the next match are by" in texts(section)
    history = cc.rank(season(), "whole-history").history.of("Ann")
    picture = curve_of(made(study_of(season(), "bradley-terry"), ("Ann",)))
    assert picture.curves[picture.chosen[0]].values[-1] == pytest.approx(history.score[-1])


def test_rankings_with_times_offer_a_method_that_follows_them() -> None:
    prefs = cc.Preferences.from_rankings([["a", "b", "c"], ["b", "a", "c"]]).replace(time=[1, 2])
    section = made(study_of(prefs, "borda"))
    button = next(part for part in section.parts if isinstance(part, Control))
    assert (button.setting, button.kind) == ("method", "button")
    assert curve_of(made(study_of(prefs, button.value))).curves


def test_the_curves_are_on_the_scale_of_the_ranking() -> None:
    prefs = season()
    ranking = cc.rank(prefs, "bradley-terry").on_scale("elo")
    picture = curve_of(made(Study(Data(prefs), ranking)))
    last = [curve.values[-1] for curve in picture.curves]
    assert 800 < np.mean(last) < 1200


def test_of_several_instances_the_largest_is_drawn() -> None:
    prefs = cc.Preferences.from_pairs(
        ["a", "b", "a", "x"], ["b", "a", "b", "y"], time=[1, 2, 3, 4], instance=["one", "one", "one", "two"]
    )
    section = made(study_of(prefs, "elo"))
    assert {curve.label for curve in curve_of(section).curves} == {"a", "b"}
    assert "one of 2 instances" in texts(section)


# ---- what the address asks for ----
def test_the_period_of_the_address_is_shown() -> None:
    picture = curve_of(made(study_of(season()), (), "2012-01-01", "2012-12-31"))
    assert [moment(time, True) for time in picture.shown] == ["1 Jan 2012", "31 Dec 2012"]


@pytest.mark.parametrize(
    ("since", "until", "said"),
    [
        ("yesterday", "", "“yesterday” is not a valid time"),
        ("17", "", "is not a valid time"),
        ("2015-01-01", "2012-01-01", "No time of the data is in this period"),
        ("1900-01-01", "1901-01-01", "No time of the data is in this period"),
    ],
)
def test_times_that_are_not_valid_are_a_sentence(since: str, until: str, said: str) -> None:
    section = made(study_of(season()), (), since, until)
    assert said in texts(section)
    picture = curve_of(section)
    assert picture.shown == picture.whole


def test_unknown_items_are_a_sentence() -> None:
    section = made(study_of(season()), ("Bem", "Ann"), "", "", "nobody", "")
    assert "There is no item “Bem” with a curve. Did you mean" in texts(section)
    assert "“nobody”" in texts(section)
    assert [curve_of(section).curves[k].label for k in curve_of(section).chosen] == ["Ann"]


def test_part_of_a_name_finds_the_only_item_that_has_it() -> None:
    section = made(study_of(season()), ("cE",))
    assert [curve_of(section).curves[k].label for k in curve_of(section).chosen] == ["Cem"]


# ---- tables and the next match ----
@pytest.mark.parametrize(("method", "by"), [("glicko2", "low"), ("elo", "score")])
def test_peaks_are_those_of_the_history(method: str, by: str) -> None:
    study = study_of(season(), method)
    section = made(study)
    peaks = study.ranking.history.peaks(by)
    found = table(section, "Time of the highest")
    assert [row[0] for row in found.rows] == peaks["item"]
    assert [row[1] for row in found.rows] == peaks["time"]
    picture = curve_of(section)
    assert picture.peak is not None
    assert picture.curves[picture.peak[0]].label == peaks["item"][0]
    assert picture.peak[2] == peaks["score"][0]


def test_the_best_of_each_year_are_those_of_the_history_most_recent_first() -> None:
    study = study_of(season())
    best = study.ranking.history.best("year")
    found = table(made(study), "at the end of each year; most recent first")
    assert [row[0] for row in found.rows] == best["year"][::-1]
    assert [row[1] for row in found.rows] == best["item"][::-1]


@pytest.mark.parametrize("method", ["elo", "glicko2", "trueskill", "whole-history", "windowed-bradley-terry"])
def test_the_next_match_has_the_probabilities_of_the_model(method: str) -> None:
    study = study_of(season(), method)
    section = made(study, (), "", "", "Ben", "Dov")
    match = next(part for part in all_parts(section.parts) if isinstance(part, Chance))
    assert match.win == study.ranking.model.p_beats("Ben", "Dov")
    assert match.tie == study.ranking.model.p_tie("Ben", "Dov")
    assert "Dov has no result since Dec 2010" in texts(section)
    assert ("95% CI" in texts(section)) == (method in ("glicko2", "whole-history"))


def test_the_interval_of_a_probability_does_not_depend_on_the_scale() -> None:
    prefs = season()
    ranking = cc.rank(prefs, "whole-history")
    said = [texts(made(Study(Data(prefs), found))) for found in (ranking, ranking.on_scale("elo"))]
    intervals = [re.findall(r"\(95% CI (\d+)% to (\d+)%\)", text) for text in said]
    assert intervals[0] == intervals[1] != []


def test_an_item_does_not_play_against_itself() -> None:
    assert "Choose two different items." in texts(made(study_of(season()), (), "", "", "Ann", "Ann"))


# ---- drawing ----
@pytest.mark.parametrize(
    ("begin", "end", "expected"),
    [
        ("2016-02-29", "2024-11-30", ["2017", "2018", "2019", "2020", "2021", "2022", "2023", "2024"]),
        ("1968-01-01", "2024-12-31", ["1970", "1980", "1990", "2000", "2010", "2020"]),
        ("2019-11-05", "2020-07-01", ["Dec 2019", "2020", "Feb", "Mar", "Apr", "May", "Jun", "Jul"]),
        ("2020-02-27", "2020-03-03", ["27 Feb", "28 Feb", "29 Feb", "1 Mar", "2 Mar", "3 Mar"]),
    ],
)
def test_ticks_are_round_dates(begin: str, end: str, expected: list[str]) -> None:
    days = [float(np.datetime64(day).astype(np.int64)) for day in (begin, end)]
    assert [name for _, name in time_ticks(*days, True, 9)] == expected


def test_ticks_within_a_day_are_hours() -> None:
    begin = float(np.datetime64("2024-05-01").astype(np.int64)) + 20.5 / 24
    assert [name for _, name in time_ticks(begin, begin + 5 / 24, True, 9)] == [
        "21:00",
        "22:00",
        "23:00",
        "2 May",
        "01:00",
    ]
    assert moment(begin, True) == "1 May 2024 20:30"


def test_names_next_to_curves_do_not_overlap() -> None:
    places = spread([10.0, 11.0, 12.0, 200.0, 201.0], 0.0, 205.0)
    assert all(b - a >= 14 for a, b in itertools.pairwise(places))
    assert places[-1] == 205


def test_drawings_of_a_long_history_are_small() -> None:
    section = made(study_of(season(years=40), "elo"))
    assert len(figure(curve_of(section))) < 60_000


def test_the_page_has_the_script_of_the_curves_and_allows_it() -> None:
    section = made(study_of(season()))
    scripts = page("Title", [section]).count("<script")
    assert scripts == 1 + page("Title", [replace(section, parts=())]).count("<script")
    assert not [part for part in all_parts(without_controls(section).parts) if isinstance(part, Control)]


def test_numbers_are_times_as_well() -> None:
    prefs = cc.Preferences.from_pairs(["a", "b", "b", "b"], ["b", "a", "a", "a"], time=[1990, 1991, 1992, 1995])
    section = made(study_of(prefs, "elo"), (), "1991", "1992")
    assert curve_of(section).shown == (1991, 1992)
    assert time_ticks(1990, 1995, False, 9)[0] == (1990, "1990")


def test_no_label_becomes_a_tag_an_attribute_or_a_script() -> None:
    names = sorted([*HOSTILE[:3], HOSTILE[7]])
    study = study_of(season(names))
    section = made(study, tuple(names), "<b>", "<i>", names[0], names[1])
    text = page("<script>", [section])
    tree = Tree(text)
    assert not {"b", "i", "img", "iframe"} & {tag for tag, _ in tree.tags}
    assert not [name for _, attributes in tree.tags for name in attributes if name.startswith("on")]
    assert len(tree.attributes("script")) == 2
    data = json.loads(next(attributes["data-curves"] for attributes in tree.attributes("figure")))
    assert [curve["label"] for curve in data["curves"]] == [curve.label for curve in curve_of(section).curves]
    assert "\x1b" not in text
    assert "\x1b" not in "".join(curve["shown"] for curve in data["curves"])


def test_a_curve_of_one_point_is_drawn() -> None:
    one = TimeCurve("One", (Curve("a", (1.0,), (2.0,)),), (0,), (1.0, 2.0), (1.0, 2.0), False, 1.0)
    assert 'class="wide"' in figure(one)


@pytest.mark.parametrize("method", ["elo", "glicko2"])
def test_the_league_of_the_examples_has_its_known_peak(method: str) -> None:
    games = cc.read(ROOT / "examples" / "league.csv", time="date")
    found = table(made(study_of(games, method)), "Time of the highest")
    assert found.rows[0][:2] == ("Ama", "2020-02-29" if method == "glicko2" else "2020-02-24")
