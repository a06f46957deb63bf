"""Tables of results: where two columns name two competitors, no column of numbers becomes an item or an agent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.workbooks import xlsx

import concordant as cc

TEAMS = [
    ("Ajax", "PSV"),
    ("PSV", "Utrecht"),
    ("Utrecht", "Ajax"),
    ("Ajax", "Utrecht"),
    ("PSV", "Ajax"),
    ("Utrecht", "PSV"),
]
SCORES = [(3, 1), (2, 2), (0, 1), (4, 2), (1, 2), (5, 3)]
HEADINGS = [
    "day,host,guest,x,y",
    "date,home_team,away_team,xg1,xg2",
    "date,White,Black,WhiteElo,BlackElo",
    "R_fighter,B_fighter,R_wins,B_wins",
    "date,Red fighter,Blue fighter,red,blue",
    "match_date,x,y,gf,ga",
    "nation,rival,goals,conceded",
]


def rows_of(heading: str) -> list[list[object]]:
    names = heading.split(",")
    dated = len(names) == 5
    return [
        [*([f"2024-01-{k + 1:02}"] if dated else []), *pair, *score]
        for k, (pair, score) in enumerate(zip(TEAMS, SCORES, strict=True))
    ]


def csv_of(heading: str) -> str:
    return "\n".join([heading, *(",".join(map(str, row)) for row in rows_of(heading))]) + "\n"


@pytest.mark.parametrize("heading", HEADINGS)
def test_no_score_becomes_an_item_or_an_agent(make: Any, heading: str) -> None:
    first, second = heading.split(",")[-4:-2]
    with pytest.raises(cc.InputError, match=f"{first} and {second} name two competitors.*outcome=COLUMN"):
        cc.read(make(csv_of(heading)))


def test_numbers_may_name_the_competitors(make: Any) -> None:
    text = "home_id,away_id,home_xg,away_xg\n1,2,3,1\n2,3,2,2\n3,1,0,1\n1,3,4,2\n"
    with pytest.raises(cc.InputError, match="home_id and away_id name two competitors"):
        cc.read(make(text))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_of_results_are_refused_alike(library: str) -> None:
    frames = pytest.importorskip(library)
    names = HEADINGS[1].split(",")
    columns = dict(zip(names, zip(*rows_of(HEADINGS[1]), strict=True), strict=True))
    frame = frames.DataFrame({name: list(column) for name, column in columns.items()})
    for given in (frame, frame.lazy() if library == "polars" else frame[names[1:]]):
        with pytest.raises(cc.InputError, match="home_team and away_team name two competitors"):
            cc.Preferences.from_frame(given)


def test_sheets_of_results_are_refused_alike(make: Any) -> None:
    pytest.importorskip("python_calamine", reason="workbooks need python-calamine")
    path = make(xlsx({"games": [HEADINGS[1].split(","), *rows_of(HEADINGS[1])]}), "games.xlsx")
    with pytest.raises(cc.InputError, match="home_team and away_team name two competitors"):
        cc.read(path)


def test_folders_of_results_are_refused_alike(tmp_path: Path) -> None:
    for k in range(2):
        (tmp_path / f"{k}.csv").write_text(csv_of(HEADINGS[1]))
    with pytest.raises(cc.InputError, match="home_team and away_team name two competitors"):
        cc.rank(tmp_path, "bradley-terry")
    with pytest.raises(cc.InputError, match="home_team and away_team name two competitors"):
        cc.rank(tmp_path)


def test_the_options_of_the_message_help(make: Any) -> None:
    lines = csv_of(HEADINGS[1]).splitlines()
    score = ["result", *(f"{a}-{b}" for a, b in SCORES)]
    path = make("\n".join(f"{line},{cell}" for line, cell in zip(lines, score, strict=True)) + "\n")
    prefs = cc.read(path, left="home_team", right="away_team", outcome="result")
    assert sorted(cc.rank(prefs, "bradley-terry").items) == ["Ajax", "PSV", "Utrecht"]


def test_a_name_that_is_a_part_of_the_other_names_its_side(make: Any) -> None:
    prefs = cc.read(
        make("model,model_b,winner\nx,y,model\nx,y,model_b\n"), left="model", right="model_b", outcome="winner"
    )
    assert prefs.items.take(prefs.item) == ["x", "y", "y", "x"]


@pytest.mark.parametrize("words", [("home", "away", "draw"), ("home_team", "away_team", "tie"), ("H", "A", "D")])
def test_results_name_the_side_that_won(make: Any, words: tuple[str, str, str]) -> None:
    prefs = cc.read(make(f"home_team,away_team,result\na,b,{words[0]}\na,b,{words[1]}\nb,c,{words[2]}\n"))
    assert prefs.items.take(prefs.item) == ["a", "b", "b", "a", "b", "c"]
    assert prefs.tier.tolist() == [0, 1, 0, 1, 0, 0]


@pytest.mark.parametrize(
    "text",
    [
        "voter,a,b,c\nann,1,2,3\nbob,2,1,3\ncy,1,3,2\n",
        "voter,white,black,red\nann,1,2,3\nbob,2,1,3\ncy,1,3,2\n",
        "voter,home,away,neutral\nann,1,2,3\nbob,2,1,3\ncy,1,3,2\n",
        "voter,team1,team2,team3\nann,1,2,3\nbob,2,1,3\ncy,1,3,2\n",
        "voter,Model A,Model B,Model C\nann,1,2,3\nbob,2,1,3\ncy,1,3,2\n",
        "voter,city,born in,x,y,z\nann,Rome,Rome,1,2,3\nbob,Oslo,Rome,2,1,3\ncy,Rome,Oslo,1,3,2\n",
        "voter,began,ended,x,y,z\nann,2024-01-01,2024-01-02,1,2,3\nbob,2024-01-02,2024-01-01,2,1,3\n",
    ],
)
def test_wide_tables_are_read_as_before(make: Any, text: str) -> None:
    prefs = cc.read(make(text))
    assert (prefs.n_items, prefs.scale) == (3, "rank")
    assert prefs.agents.labels[:2] == ["ann", "bob"]  # type: ignore[union-attr]


def test_a_layout_that_is_said_is_followed(make: Any) -> None:
    text = "home,away,home score,away score\n1,2,1,2\n2,1,2,1\n"
    prefs = cc.read(make(text), layout="rank-matrix", transpose=True)
    assert prefs.items.labels == ["home", "away", "home score", "away score"]
