"""PGN files, race orders separated by blanks, and files of recommenders with a layout of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.conftest import Run

import concordant as cc
from concordant.errors import FormatError
from concordant.io import preview

PGN = """[Event "Open"]
[Site "https://example.org/1"]
[Date "2024.02.01"]
[Round "1"]
[White "Ann"]
[Black "Bob \\"B\\" Ray"]
[Result "1-0"]
[WhiteTitle "GM"]
[BlackTitle "IM"]

1. e4 { [%clk 0:01:00]
[A comment in brackets "x" } e5 2. Nf3 1-0

[Event "Final"]
[Date "2024.01.31"]
[White "Cy"]
[Black "Ann"]
[Result "1/2-1/2"]

1. d4 1/2-1/2

[Event "Final"]
[Date "2024.02.03"]
[White "Cy"]
[Black "Ann"]
[Result "*"]

*

[Event "Final"]
[Date "2024.02.03"]
[White "Cy"]
[Black "Ann"]
[Result "0-1"]
"""


@pytest.mark.parametrize("name", ["games.pgn", "games.txt"])
@pytest.mark.parametrize("breaks", ["\n", "\r\n"])
def test_games_are_pairs_in_order_of_time(make: Any, name: str, breaks: str, backend: str) -> None:
    prefs = cc.read(make(PGN.replace("\n", breaks), name))
    assert prefs.form == "pairs"
    assert prefs.items.labels == ["Cy", "Ann", 'Bob "B" Ray']
    assert prefs.is_dated
    assert prefs.time is not None
    assert np.diff(prefs.time).tolist() == [1, 2]
    assert prefs.tier.tolist() == [0, 0, 0, 1, 0, 1]
    assert any("left out 1 game: no result (*) (first: line 22)" in note for note in prefs.notes)
    assert "left = White, right = Black, outcome = Result, time = Date" in prefs.notes[0]


def test_white_is_shown_first(make: Any) -> None:
    table = "left,right,outcome\nAnn,Bob,1-0\nCy,Ann,0-1\n"
    games = "".join(
        f'[White "{white}"]\n[Black "{black}"]\n[Result "{result}"]\n\n1. e4 {result}\n\n'
        for white, black, result in (("Ann", "Bob", "1-0"), ("Cy", "Ann", "0-1"))
    )
    assert cc.read(make(games, "g.pgn")) == cc.read(make(table, "t.csv"))


def test_unknown_dates_are_not_used(make: Any) -> None:
    prefs = cc.read(make(PGN.replace("2024.01.31", "2024.??.??"), "games.pgn"))
    assert prefs.time is None
    assert "the date of 1 games is unknown: the games are not ordered by time" in prefs.notes
    later = cc.read(make(PGN.replace("2024.01.31", '????.??.??"]\n[UTCDate "2024.01.31'), "games.pgn"))
    assert later.is_dated


def test_unknown_players_are_left_out_and_counted(make: Any) -> None:
    prefs = cc.read(make(PGN.replace('[White "Ann"]', '[White "?"]'), "games.pgn"))
    assert prefs.n_ballots == 2
    assert any("left out 1 game: a player is unknown (first: line 1)" in note for note in prefs.notes)


def test_games_without_moves_and_tags_on_one_line(make: Any) -> None:
    bare = "\n".join(line for line in PGN.splitlines() if line.startswith("[") and "comment" not in line)
    separate = bare.replace('[Event "Final"]', '\n[Event "Final"]')
    assert cc.read(make(separate, "games.pgn")).n_ballots == 3
    together = separate.replace("]\n[", "] [")
    assert cc.read(make(together, "games.pgn")).n_ballots == 3


def test_a_table_of_games_has_options_and_a_preview(make: Any, run: Run) -> None:
    path = make(PGN, "games.pgn")
    shown = preview(path)
    assert shown.plan is not None
    assert (shown.format, shown.columns[:2], shown.plan.layout) == ("pgn", ("Event", "Site"), "pairs")
    assert cc.read(path, time=None).time is None
    code, out, _ = run("rank", path, "--by", "event", "--method", "bradley-terry")
    assert code == 0
    assert "Final (2)" in out
    code, out, _ = run("rank", path, "--method", "elo")
    assert code == 0
    assert out.splitlines()[2].split()[1] == "Ann"
    assert cc.read(path, merge=True).n_ballots == 3
    assert cc.read([path, make(PGN, "more.pgn")]).n_ballots == 6


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty"),
        ("1. e4 e5 1-0\n", "contains no game"),
        ('[White "?"]\n[Black "b"]\n[Result "1-0"]\n', "no game has both players and a result"),
        ('[White "a"]\n[Black "a"]\n[Result "1-0"]\n', "line 1: 'a' is compared with itself"),
        ('[White "a"]\n[Black "b"]\n[Result "2-7x"]\n', "line 1: the outcome is '2-7x'"),
    ],
)
def test_damaged_games_are_refused(make: Any, text: str, said: str) -> None:
    with pytest.raises(FormatError, match=said):
        cc.read(make(text, "games.pgn"))


# ---- races ----
RACES = "DriverID Race Place\n83  1 1\n18 1  2\n20 1 3\n18 2 1\n83 2 2\n20 2 3\n"


@pytest.mark.parametrize(
    "text",
    [
        RACES,
        '"DriverID" "Race" "Place"\n' + "".join(f'"{k}" {row}\n' for k, row in enumerate(RACES.splitlines()[1:])),
    ],
)
def test_a_table_by_blanks_is_a_table(make: Any, text: str, backend: str) -> None:
    path = make(text, "races.txt")
    assert preview(path).format == "blanks"
    prefs = cc.read(path)
    assert (prefs.n_ballots, prefs.items.labels) == (2, ["83", "18", "20"])
    assert prefs.tier.tolist() == [0, 1, 2, 0, 1, 2]


def test_a_line_with_too_many_fields_is_refused(make: Any) -> None:
    path = make(RACES + "Jim Bob 3 1\n", "races.txt")
    with pytest.raises(FormatError, match="line 8: the line does not have the 3 fields of the header"):
        cc.read(path, format="blanks")
    assert cc.read(path, format="blanks", skip_bad_rows=True).n_ballots == 2


def test_orders_are_one_race_per_line(make: Any) -> None:
    path = make("Ann Bob Cy\nBob Ann Räikkönen Cy\n\nCy Ann Bob\n", "races.txt")
    assert preview(path).format == "orders"
    prefs = cc.read(path)
    assert (prefs.n_ballots, prefs.form) == (3, "rankings")
    assert cc.rank(prefs, "borda").items[0] == "Ann"
    with pytest.raises(FormatError, match="line 2: a name occurs twice in the order"):
        cc.read(make("1 2 3\n2 1 2\n", "races.txt"), format="orders")


@pytest.mark.parametrize(
    "text",
    [
        "name\nAnn Lee\nBob Ray\n",
        "Ann Lee\nBob Ray\nAnn Ray\n",
        "1 2 3\n3 2 1\n2 1 3\n",
        "this file is a note\nabout nothing in particular\nand more words here\n",
        "a > b > c\nb > a > c\n",
        "Cat Dog Place\nx y 1\n",
    ],
)
def test_other_texts_are_neither_orders_nor_tables(make: Any, text: str) -> None:
    assert preview(make(text, "text.txt")).format == "csv"


# ---- recommenders ----
INTER = "user_id:token\titem_id:token\trating:float\ttimestamp:float\n1\ta\t-1\t1\n1\tb\t9\t2\n2\ta\t8\t3\n"
FILES = {
    "anime.inter": INTER,
    "a2014.csv": "A2CX7LUOHB2NDG,0321732944,5.0,1341100800\nA2NWSAGRHCP8N5,0439886341,1.0,1367193600\n",
    "a2018.csv": "0321732944,A2CX7LUOHB2NDG,5.0,1341100800\n0439886341,A2NWSAGRHCP8N5,1.0,1367193600\n",
    "goodreads.csv": "user_id,book_id,is_read,rating,is_reviewed\n0,948,1,5,0\n0,947,1,0,0\n1,947,1,3,0\n",
    "steam.csv": '151603712,"Sky, rim",purchase,1.0,0\n151603712,"Sky, rim",play,2.5,0\n'
    "5250,Fallout,play,1.5,0\n5250,Fallout,play,9,0\n",
}
RATINGS = {
    "anime.inter": [("1", "b", 9), ("2", "a", 8)],
    "a2014.csv": [("A2CX7LUOHB2NDG", "0321732944", 5), ("A2NWSAGRHCP8N5", "0439886341", 1)],
    "a2018.csv": [("A2CX7LUOHB2NDG", "0321732944", 5), ("A2NWSAGRHCP8N5", "0439886341", 1)],
    "goodreads.csv": [("0", "948", 5), ("1", "947", 3)],
    "steam.csv": [("151603712", "Sky, rim", 2.5), ("5250", "Fallout", 1.5)],
}


@pytest.mark.parametrize("name", FILES)
def test_ratings_of_published_sets(make: Any, name: str) -> None:
    prefs = cc.read(make(FILES[name], name))
    assert prefs.agents is not None
    assert prefs.agent is not None
    assert prefs.value is not None
    found = zip(prefs.agents.take(prefs.agent), prefs.items.take(prefs.item), prefs.value.tolist(), strict=True)
    assert list(found) == RATINGS[name]
    assert (name in ("a2014.csv", "a2018.csv")) == (not any("left out" in note for note in prefs.notes))


def test_amazon_reviews_of_2023_are_a_table(make: Any) -> None:
    text = "user_id,parent_asin,asin,title,rating,timestamp\nAE,B1,B2,fine,5.0,1588687728923\n"
    text += "AF,B1,B3,bad,2.0,1588615855070\n"
    prefs = cc.read(make(text, "reviews.csv"))
    assert prefs.items.labels == ["B1"]
    assert "item = parent_asin, rating = rating, agent = user_id" in prefs.notes[0]


def test_numbers_without_a_header_are_not_amazon_ratings(make: Any) -> None:
    assert preview(make("1,2,3.0,1341100800\n", "x.csv")).format == "csv"


def test_a_pgn_file_that_is_not_utf_8_is_read_as_latin_1(tmp_path: Path) -> None:
    path = tmp_path / "games.pgn"
    path.write_bytes('[White "Müller, K"]\n[Black "Bo"]\n[Result "1-0"]\n\n1. e4 1-0\n'.encode("latin-1"))
    prefs = cc.read(path)
    assert list(prefs.items) == ["Müller, K", "Bo"]
    assert "the text is not UTF-8 and is read as Latin-1" in prefs.notes
