"""People in rows or in columns, ranks or ratings, answers of forms: recognised, or an error that names the option."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import concordant as cc
from concordant.errors import InputError

PEOPLE_IN_ROWS = "name,Sushi,Taco,Pho\nann,1,2,3\nbob,2,1,3\ncy,3,1,2\n"
PEOPLE_IN_COLUMNS = "restaurant,ann,bob,cy\nSushi,1,2,3\nTaco,2,1,1\nPho,3,3,2\n"
RANKED = {"ann": "Sushi > Taco > Pho", "bob": "Taco > Sushi > Pho", "cy": "Taco > Pho > Sushi"}
FORM = (
    "Timestamp,Your name,Rank the places [Sushi],Rank the places [Taco],Rank the places [Pho],Any remarks?\n"
    "2024/05/01 12:00:01,ann,1st choice,2nd choice,3rd choice,\n"
    "2024/05/01 12:04:11,bob,2nd choice,1st choice,3rd choice,very nice idea this is\n"
    "2024/05/01 12:05:00,cy,3rd choice,1st choice,2nd choice,\n"
)


@pytest.fixture
def read(tmp_path: Path) -> Any:
    """Read a text as a csv file."""

    def call(text: str, **options: Any) -> cc.Preferences:
        path = tmp_path / "sheet.csv"
        path.write_text(text, encoding="utf-8")
        return cc.read(path, **options)

    return call


def said(prefs: cc.Preferences) -> dict[str, str]:
    """Return what every agent said, in words."""
    first = cc.Preferences.describe(prefs).first
    return dict(first)


def turned(text: str) -> str:
    rows = [line.split(",") for line in text.splitlines()]
    return "".join(",".join(cells) + "\n" for cells in zip(*rows, strict=True))


# ---- who and what ----
@pytest.mark.parametrize("text", [PEOPLE_IN_ROWS, PEOPLE_IN_COLUMNS, FORM])
def test_ranks_are_recognised_whoever_stands_in_the_rows(read: Any, text: str) -> None:
    prefs = read(text)
    assert said(prefs) == RANKED
    assert prefs.scale == "rank"
    assert "ranks (1 is best)" in prefs.notes[0]


@pytest.mark.parametrize("text", [PEOPLE_IN_ROWS, PEOPLE_IN_COLUMNS])
def test_the_numbers_say_who_is_who_where_no_name_does(read: Any, text: str) -> None:
    bare = "," + text.partition(",")[2]
    assert said(read(bare)) == RANKED
    assert "run along every" in read(bare).notes[0]


def test_all_four_layouts_can_be_said(read: Any) -> None:
    for text, turn in ((PEOPLE_IN_COLUMNS, False), (PEOPLE_IN_ROWS, True)):
        assert said(read(text, layout="rank-matrix", transpose=turn)) == RANKED
        rated = read(text, layout="rating-matrix", transpose=turn)
        assert rated.scale == "rating"
        assert said(rated)["ann"] == "Pho > Taco > Sushi"
    assert said(read(PEOPLE_IN_ROWS, layout="rank-matrix", agent="name")) == RANKED
    assert said(read(PEOPLE_IN_ROWS, transpose=True)) == RANKED


def test_ratings_are_recognised_by_not_being_ranks(read: Any) -> None:
    prefs = read("voter,x,y,z\na,5,4,1\nb,4,4,2.5\nc,3,5,\n")
    assert prefs.scale == "rating"
    assert said(prefs) == {"a": "x > y > z", "b": "x = y > z", "c": "y > x"}
    items = read("film,ann,bob\nx,5,4\ny,4,4\nz,1,2\n")
    assert said(items) == {"ann": "x > y > z", "bob": "x = y > z"}


def test_ties_and_gaps_do_not_hide_that_most_are_ranks(read: Any) -> None:
    prefs = read("voter,x,y,z\na,1,2,3\nb,1,1,3\nc,2,1,\nd,3,1,2\n")
    assert prefs.scale == "rank"
    assert prefs.items.labels == ["x", "y", "z"]


def test_a_column_of_weights_counts(read: Any) -> None:
    prefs = read("voter,count,x,y,z\na,3,1,2,3\nb,1,2,1,3\n")
    assert prefs.weight.tolist() == [3, 1]
    assert prefs.n_items == 3


def test_items_that_nobody_ranked_stay_candidates(read: Any) -> None:
    prefs = read("voter,x,y,z,w\na,1,2,3,\nb,2,1,3,\n")
    assert prefs.items.labels == ["x", "y", "z", "w"]
    assert prefs.n_slots == 4


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_frames_are_recognised_too(make: Any) -> None:
    frame = make({"name": ["ann", "bob", "cy"], "Sushi": [1, 2, 3], "Taco": [2, 1, 1], "Pho": [3, 3, 2]})
    assert said(cc.Preferences.from_frame(frame)) == RANKED
    assert said(cc.Preferences.from_frame(frame, layout="rank-matrix", transpose=True)) == RANKED
    if make is pl.DataFrame:
        assert said(cc.Preferences.from_frame(frame.lazy())) == RANKED
    pairs = make({"what": ["winner", "loser"], "1": ["a", "b"], "2": ["b", "c"]})
    assert cc.Preferences.from_frame(pairs, transpose=True).form == "pairs"


def test_several_files_are_one_matrix(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("name,x,y,z\nann,1,2,3\n")
    (tmp_path / "b.csv").write_text("name,x,y,z\nbob,3,2,1\n")
    assert said(cc.read([tmp_path / "a.csv", tmp_path / "b.csv"])) == {"ann": "x > y > z", "bob": "z > y > x"}


def test_semicolons_bring_decimal_commas(read: Any) -> None:
    prefs = read("voter;x;y\na;4,5;3\nb;2;2,5\n")
    assert prefs.value.tolist() == [4.5, 3, 2.5, 2]


# ---- what cannot be told ----
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("voter,x,y,z\na,1,1,2\nb,3,2,1\nc,1,1,1\n", "layout='rank-matrix' and transpose=True, or"),
        ("film,v,w\nx,1,1\ny,1,2\nz,1,1\n", "use layout='rank-matrix', or layout='rating-matrix'"),
        (",x,y,z\na,4,5,4\nb,3,2,5\n", "items or people: use layout='rating-matrix' if every row is an item; if "
                                       "every row is a person, add tr"),
        (",x,y,z\na,1,2,3\nb,2,3,1\nc,3,1,2\n", r"items or people: use layout='rank-matrix' if"),
        ("voter,x,y,z\na,12,80,55\nb,90,14,3\n", "ranks .* or ratings"),
        ("voter,x,y,z\na,0,1,2\nb,2,0,1\n", "ranks .* or ratings"),
        ("foo,bar\n1,2\n3,4\n", "have no recognised roles.*layout='rating-matrix'"),
        ("a,b,c\n1,2,3\n", "have no recognised roles"),
        ("region,lot,price,rooms\nx,y,110,3\nx,z,99,4\n", "have no recognised roles"),
        ("Timestamp,Name,Q [x],Q [y]\n1,a,meh,wow\n2,b,wow,ok\n", "'meh', 'wow', 'ok' are not on a known.*categories="),
        ("Timestamp,Name,Q [x],Q [y]\n1,a,,\n2,b,,\n", "nobody answered 'Q'"),
        ("voter,x,y\n", "no recognised roles|no rows"),
    ],
)  # fmt: skip
def test_what_cannot_be_told_is_an_error_that_names_the_option(read: Any, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(text)


def test_the_options_an_error_names_settle_it(read: Any) -> None:
    text = "voter,x,y,z\na,1,1,2\nb,3,2,1\nc,1,1,1\n"
    assert said(read(text, layout="rank-matrix", transpose=True))["b"] == "z > y > x"
    assert said(read(text, layout="rating-matrix", transpose=True))["b"] == "x > y > z"


def test_options_without_a_meaning_are_refused(read: Any) -> None:
    with pytest.raises(InputError, match="weight= does not apply to a rank-matrix whose rows are items"):
        read(PEOPLE_IN_COLUMNS, layout="rank-matrix", weight="ann")
    with pytest.raises(InputError, match="question= only applies to forms"):
        read("winner,loser\na,b\n", question="x")
    with pytest.raises(InputError, match="sheet= only applies to workbooks, but the format is csv"):
        read("winner,loser\na,b\n", sheet="x")
    with pytest.raises(InputError, match=r"categories= only applies to .* but the layout is rank-matrix"):
        read(PEOPLE_IN_COLUMNS, layout="rank-matrix", categories=["a"])


def test_strict_refuses_columns_beside_the_matrix(read: Any) -> None:
    with pytest.raises(InputError, match=r"Timestamp, Any remarks\? would not be read"):
        read(FORM, strict=True)


# ---- rows that cannot be used ----
def test_a_word_among_numbers_is_named_with_its_line(read: Any) -> None:
    text = "restaurant,ann,bob\nSushi,1,2\nTaco,lots,1\n"
    with pytest.raises(InputError, match=r"line 3: the rank in column 'ann' is not a number, but 'lots'"):
        read(text, layout="rank-matrix")
    prefs = read(text, layout="rank-matrix", skip_bad_rows=True)
    assert prefs.items.labels == ["Sushi"]
    with pytest.raises(InputError, match="list the words, best first, with categories="):
        read(text, layout="rating-matrix")


def test_places_in_words_may_stand_among_numbers(read: Any) -> None:
    prefs = read("restaurant,ann,bob\nSushi,1st,2\nTaco,2nd,1\nPho,,-\n", layout="rank-matrix")
    assert said(prefs) == {"ann": "Sushi > Taco", "bob": "Taco > Sushi"}


def test_empty_ballots_are_noted(read: Any) -> None:
    prefs = read("voter,x,y,z\na,1,2,3\nb,,,\nc,2,1,3\n")
    assert prefs.n_ballots == 2
    assert any("an empty ballot, left out" in note for note in prefs.notes)


# ---- forms ----
def test_grades_in_words_are_ratings(read: Any) -> None:
    prefs = read("Timestamp,E-mail,Food? [x],Food? [y]\n1,a@b,Very good,Poor\n2,c@d,Good,Fair\n")
    assert prefs.scale == "rating"
    assert prefs.value.tolist() == [4, 1, 3, 2]
    assert "Poor < Fair < Good < Very good are rated 1, 2, 3, 4" in prefs.notes[0]


def test_the_user_orders_words_of_no_known_scale(read: Any) -> None:
    text = "Timestamp,Name,Q [x],Q [y]\n1,a,meh,wow\n2,b,wow,ok\n"
    assert said(read(text, categories="wow,ok,meh")) == {"a": "y > x", "b": "x > y"}
    with pytest.raises(InputError, match="not on a known scale"):
        read(text, categories=["wow", "meh"])


def test_ratings_in_words_of_a_long_table_follow_the_categories(read: Any) -> None:
    text = "user,item,rating\nu,x,good\nu,y,bad\n"
    assert read(text, categories=["good", "bad"]).value.tolist() == [2, 1]
    with pytest.raises(InputError, match="the rating is 'bad', not a finite number"):
        read(text, categories=["good"])


def test_questions_are_instances_or_one_is_taken(read: Any) -> None:
    text = (
        "Timestamp,Name,Rank food [x],Rank food [y],Rank drinks [p],Rank drinks [q]\n"
        "1,ann,1,2,2,1\n2,bob,2,1,1,2\n3,cy,1,2,,\n"
    )
    prefs = read(text)
    assert prefs.instances is not None
    assert prefs.instances.labels == ["Rank food", "Rank drinks"]
    assert prefs.n_ballots == 5
    assert np.diff(prefs.slot_ptr).tolist() == [2, 2]
    assert "2 questions are read as 2 instances" in prefs.notes[0]
    assert said(read(text, question="drinks")) == {"ann": "q > p", "bob": "p > q"}
    with pytest.raises(InputError, match="'music' is not a question of this table: they are Rank food; Rank drinks"):
        read(text, question="music")
    with pytest.raises(InputError, match="fits several questions"):
        read(text, question="rank")


def test_the_same_item_may_be_asked_for_in_two_questions(read: Any) -> None:
    prefs = read("Timestamp,Rank food [x],Rank food [y],Rank price [x],Rank price [y]\n1,1,2,2,1\n2,2,1,1,2\n")
    assert prefs.n_items == 2
    assert prefs.n_slots == 4


def test_questions_of_two_kinds_have_to_be_chosen_from(read: Any) -> None:
    text = "Timestamp,Q [x],Q [y],Rank [p],Rank [q]\n1,Good,Poor,1st,2nd\n2,Fair,Good,2nd,1st\n"
    with pytest.raises(InputError, match=r"some questions are ranks and some are ratings .* use question=TEXT"):
        read(text)
    assert read(text, question="Q").scale == "rating"


def test_a_question_before_a_full_stop_is_one_too(read: Any) -> None:
    header = "ID,Name,Rank the places.Sushi,Rank the places.Taco,Rank the places.Pho\n"
    assert said(read(header + "1,ann,1,2,3\n2,bob,2,1,3\n3,cy,3,1,2\n")) == RANKED


def test_a_cell_that_lists_all_items_is_a_ranking(read: Any) -> None:
    text = (
        "ID,Start time,Email,Name,Rank the places\n"
        '1,5/1/24,anonymous,,"Sushi;Taco, the = one;Pho;"\n2,5/1/24,anonymous,,"Pho;Sushi;Taco, the = one;"\n'
    )
    prefs = read(text)
    assert prefs.items.labels == ["Sushi", "Taco, the = one", "Pho"]
    assert prefs.agents is None
    assert prefs.item.tolist() == [0, 1, 2, 2, 0, 1]
    with pytest.raises(InputError, match="have no recognised roles"):
        read("ID,Name,Which do you know?\n1,a,x;y;\n2,b,x;\n")


def test_a_list_that_nobody_orders_otherwise_has_to_be_named(read: Any) -> None:
    text = "ID,Name,Rank the places\n1,ann,Sushi;Taco;Pho;\n2,bob,Sushi;Taco;Pho;\n"
    with pytest.raises(InputError, match="have no recognised roles"):
        read(text, delimiter=",")
    assert said(read(text, delimiter=",", ranking=3, agent="Name"))["bob"] == "Sushi > Taco > Pho"


def test_columns_that_are_places_hold_items(read: Any) -> None:
    prefs = read("Timestamp,Name,Vote [2nd choice],Vote [1st choice]\n1,ann,Pho,Taco\n2,bob,Taco,Pho\n")
    assert said(prefs) == {"ann": "Taco > Pho", "bob": "Pho > Taco"}


def test_a_name_that_some_did_not_give_is_not_the_agent(read: Any) -> None:
    prefs = read(FORM.replace("bob", ""))
    assert prefs.agents is None
    assert "Your name does not identify every row" in prefs.notes[0]
    assert prefs.n_ballots == 3


def test_two_answers_by_one_person_are_two_ballots(read: Any) -> None:
    prefs = read(FORM.replace("bob", "ann"))
    assert prefs.n_ballots == 3
    assert prefs.n_agents == 2


def test_a_question_says_whether_it_asks_for_ranks(read: Any) -> None:
    rows = "1,a,1,1,2\n2,b,3,2,1\n3,c,1,1,1\n"
    assert read("Timestamp,Name,Rank them [x],Rank them [y],Rank them [z]\n" + rows).scale == "rank"
    assert read("Timestamp,Name,Rate them [x],Rate them [y],Rate them [z]\n" + rows).scale == "rating"
    header = "Timestamp,Name,What about [x],What about [y],What about [z]\n"
    with pytest.raises(InputError, match="use layout='rank-matrix', or layout='rating-matrix'"):
        read(header + rows)
    assert read(header + rows, layout="rank-matrix").scale == "rank"


# ---- rows and columns swapped ----
def test_any_table_can_be_swapped(read: Any) -> None:
    pairs = "winner,a,b,a\nloser,b,c,c\n"
    prefs = read(pairs, transpose=True)
    assert prefs.items.take(prefs.item) == ["a", "b", "b", "c", "a", "c"]
    with pytest.raises(InputError, match=r"column 3: the winner is missing"):
        read("winner,a,\nloser,b,c\n", transpose=True)
    assert read("u,u\nx,y\n5,3\n", transpose=True, header=False, agent=1, item=2, rating=3).value.tolist() == [5, 3]
    semicolons = read("user;u;u\nitem;x;y\nrating;4,5;3\n", transpose=True)
    assert semicolons.value.tolist() == [4.5, 3]


def test_labels_and_features_can_be_swapped(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("item,a,b\nlabel,1,0\nage,3,4\n")
    assert cc.read_labels(path, transpose=True).label.tolist() == [1, 0]
    assert cc.read_features(path, transpose=True).X.tolist() == [[3], [4]]


def test_what_is_no_table_cannot_be_swapped(tmp_path: Path) -> None:
    path = tmp_path / "a.soc"
    path.write_text("2\n1,a\n2,b\n1,1,1\n1,1,2\n")
    with pytest.raises(InputError, match="transpose= does not apply to PrefLib files"):
        cc.read(path, transpose=True)


def test_a_preview_says_how_a_form_would_be_read(tmp_path: Path) -> None:
    path = tmp_path / "form.csv"
    path.write_text(FORM)
    looked = cc.io.preview(path)
    assert looked.plan is not None
    assert looked.plan.layout == "rank-matrix"
    assert looked.plan.describe() == "agent = Your name, 3 items = Sushi … Pho"


def test_a_column_of_ballots_says_that_rows_are_ballots() -> None:
    text = "Ballot ID,Precinct,Adams,Brown,Clark\n0,P0,3,1,2\n1,P1,2,3,1\n2,P2,,2,1\n3,P0,1,,2\n"
    prefs = cc.read(io.StringIO(text))
    assert (prefs.form, prefs.n_ballots, list(prefs.items)) == ("rankings", 4, ["Adams", "Brown", "Clark"])
