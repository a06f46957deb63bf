"""Files as researchers publish them: MovieLens, Jester, Sushi, query sizes beside features, results with dates."""

from __future__ import annotations

import io
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import MakeFile

import concordant as cc
from concordant.errors import FormatError, InputError, UnknownNameError
from concordant.io import _sheets
from concordant.io._source import OLE

COLONS = "1::10::5::978300760\n1::20::3::978302109\n2::10::1::978301968\n"
TABS = "1\t10\t5\t978300760\n1\t20\t3\t978302109\n2\t10\t1\t978301968\n"


def archive(**members: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as packed:
        for name, content in members.items():
            packed.writestr(f"set/{name.replace('__', '.')}", content)
    return out.getvalue()


def ratings(prefs: cc.Preferences) -> dict[str, dict[str, float]]:
    assert prefs.agents is not None
    assert prefs.agent is not None
    assert prefs.value is not None
    return {
        prefs.agents[int(prefs.agent[b])]: dict(zip(prefs.items.take(prefs.item[a:z]), prefs.value[a:z], strict=True))
        for b, (a, z) in enumerate(zip(prefs.indptr[:-1], prefs.indptr[1:], strict=True))
    }


# ---- MovieLens ----
@pytest.mark.parametrize(
    ("content", "name"),
    [
        (COLONS, "ratings.dat"),
        (COLONS.replace("::97830", "::97830"), "anything.txt"),
        ("1::10::5\n1::20::3\n2::10::1\n", "ratings.dat"),
        (TABS, "u.data"),
        (TABS, "u1.base"),
        ("userId,movieId,rating,timestamp\n1,10,5,978300760\n1,20,3,978302109\n2,10,1,978301968\n", "ratings.csv"),
    ],
)
def test_movielens_is_recognised_in_every_layout(make: MakeFile, content: str, name: str) -> None:
    assert ratings(cc.read(make(content, name))) == {"1": {"10": 5, "20": 3}, "2": {"10": 1}}


def test_the_ratings_are_picked_from_an_archive_as_published(make: MakeFile) -> None:
    for members in (
        {"README": "x", "ratings__dat": COLONS, "movies__dat": "10::A::B\n"},
        {"u__data": TABS, "u__item": "10|A\n"},
        {"ratings__csv": "userId,movieId,rating\n1,10,5\n1,20,3\n2,10,1\n", "tags__csv": "a,b\n"},
    ):
        assert ratings(cc.read(make(archive(**members), "set.zip"))) == {"1": {"10": 5, "20": 3}, "2": {"10": 1}}
    with pytest.raises(FormatError, match="contains 2 files"):
        cc.read(make(archive(a__csv="x", b__csv="y"), "set.zip"))


def test_a_bad_line_of_movielens_is_named(make: MakeFile) -> None:
    with pytest.raises(FormatError, match=r"line 4: the rating is 'x'"):
        cc.read(make(COLONS + "2::30::x::1\n", "ratings.dat"))
    prefs = cc.read(make(COLONS + "2::30::x::1\n", "ratings.dat"), skip_bad_rows=True)
    assert any("left out 1 row" in note for note in prefs.notes)


def test_archives_that_are_no_data_are_refused_with_the_reason(make: MakeFile) -> None:
    with pytest.raises(FormatError, match="tar archive"):
        cc.read(make(b"x" * 257 + b"ustar\x0000" + b"\0" * 248, "set.tar"))


# ---- Jester ----
def jester_rows(*rated: dict[int, float], jokes: int = 30) -> str:
    return "".join(
        ",".join([str(len(row)), *(str(row.get(k, 99)) for k in range(1, jokes + 1))]) + "\n" for row in rated
    )


def test_jester_rows_are_users_and_99_is_not_rated(make: MakeFile) -> None:
    prefs = cc.read(make(jester_rows({1: -7.82, 3: 8.79}, {2: 1.5}), "jester.csv"))
    assert ratings(prefs) == {"1": {"3": 8.79, "1": -7.82}, "2": {"2": 1.5}}
    assert prefs.n_items == 30


def test_a_row_that_miscounts_itself_is_named(make: MakeFile) -> None:
    content = jester_rows(*({k: 1.0} for k in range(1, 6))) + "9" + jester_rows({1: 1.0})[1:]
    with pytest.raises(FormatError, match=r"line 6: the first column counts 9 ratings, but the row has 1"):
        cc.read(make(content, "jester.csv"))
    assert cc.read(make(content, "jester.csv"), skip_bad_rows=True).n_ballots == 5


def test_an_excel_workbook_needs_a_reader(make: MakeFile, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("python_calamine", reason="workbooks need python-calamine")
    path = make(OLE + b"\0" * 600, "jester-data-1.xls")
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    with pytest.raises(FormatError, match=r"pip install 'concordant\[sheets\]'"):
        cc.read(path)
    unrated = [99.0] * 30
    rows = [[2.0, 4.0, 99.0, -3.0, *unrated], [1.0, 99.0, 5.0, 99.0, *unrated]]
    monkeypatch.undo()
    monkeypatch.setattr(_sheets, "in_child", lambda *_: [_sheets.Sheet("S", True, (0, 0), rows)])
    assert ratings(cc.read(path)) == {"1": {"1": 4, "3": -3}, "2": {"2": 5}}
    rows[0][0] = 3.0
    with pytest.raises(FormatError, match="row 1: the first column counts 3 ratings"):
        cc.read(path, format="jester")


# ---- Sushi ----
def test_sushi_orders_are_ballots_of_numbered_respondents(make: MakeFile) -> None:
    body = "0 3 5 0 2\n0 2 1 4\n0 3 2 1 0\n"
    prefs = cc.read(make("6 1\n" + body, "sushi3a.5000.10.order"))
    assert prefs.items.labels == ["0", "1", "2", "3", "4", "5"]
    assert prefs.items.take(prefs.item) == ["5", "0", "2", "1", "4", "2", "1", "0"]
    assert prefs.agents is not None
    assert prefs.agents.labels == ["1", "2", "3"]
    bare = cc.read(make(body, "sushi.txt"))
    assert bare.items.take(bare.item) == prefs.items.take(prefs.item)


def test_bad_sushi_lines_are_named(make: MakeFile) -> None:
    for line, said in (
        ("0 3 1 2", "the line is not '0 length"),
        ("0 2 1 1", "an item occurs twice"),
        ("0 2 1 9", "the header declares 6 items"),
    ):
        path = make(f"6 1\n0 2 1 4\n{line}\n", "x.order")
        with pytest.raises(FormatError, match=f"line 3: .*{said}"):
            cc.read(path)
        assert cc.read(path, skip_bad_rows=True).n_ballots == 1


def test_sushi_scores_are_ratings_and_minus_one_is_not_rated(make: MakeFile) -> None:
    prefs = cc.read(make("-1 0 4\n2 -1 -1\n", "sushi3b.5000.10.score"))
    assert ratings(prefs) == {"1": {"2": 4, "1": 0}, "2": {"0": 2}}
    with pytest.raises(FormatError, match="line 2: a score is not a number"):
        cc.read(make("1 2\nx y\n", "a.score"))


# ---- sizes of queries beside features ----
@pytest.mark.parametrize("ending", [".query", ".group"])
def test_queries_come_from_the_file_beside(make: MakeFile, ending: str) -> None:
    path = make("1 1:0.5\n0 2:1\n2 1:3\n", "rank.train")
    make("1\n2\n", f"rank.train{ending}")
    X, y, q = cc.read_features(path)
    assert q.tolist() == [0, 1, 1]
    assert y.tolist() == [1, 0, 2]
    assert X.shape == (3, 2)
    assert cc.read_labels(path, format="letor").n_instances == 2


def test_sizes_that_do_not_add_up_are_refused(make: MakeFile) -> None:
    path = make("1 1:0.5\n0 2:1\n", "rank.train")
    make("1\n2\n", "rank.train.query")
    with pytest.raises(FormatError, match="add up to 3, but the file has 2 rows"):
        cc.read_features(path)
    make("1\nmany\n", "rank.train.query")
    with pytest.raises(FormatError, match=r"rank\.train\.query, line 2: the line must contain the size of one query"):
        cc.read_features(path)


def test_skipped_rows_keep_their_place_among_the_sizes(make: MakeFile) -> None:
    path = make("1 1:0.5\nx 1:1\n0 2:1\n2 1:3\n", "rank.train")
    make("2\n2\n", "rank.train.query")
    assert cc.read_features(path, skip_bad_rows=True)[2].tolist() == [0, 1, 1]


# ---- results with dates ----
def winners(prefs: cc.Preferences) -> list[str]:
    return prefs.items.take(prefs.item[0::2])


@pytest.mark.parametrize(
    "dates",
    [
        ("20200106", "19990301", "20011231"),
        ("2020-01-06", "1999-03-01", "2001-12-31"),
        ("2020.01.06", "1999.03.01", "2001.12.31"),
        ("2020-01-06T10:00", "1999-03-01 09:00:00", "2001-12-31"),
    ],
)
def test_results_are_sorted_by_date_on_request(make: MakeFile, dates: tuple[str, ...]) -> None:
    rows = [f"{date},{winner},{loser}" for date, winner, loser in zip(dates, "abc", "bca", strict=True)]
    path = make("tourney_date,winner_name,loser_name\n" + "\n".join(rows))
    assert winners(cc.read(path)) == ["a", "b", "c"]
    assert winners(cc.read(path, time="tourney_date")) == ["b", "c", "a"]


def test_agents_and_weights_follow_the_order_of_dates(make: MakeFile) -> None:
    path = make("winner,loser,judge,weight,when\na,b,u,1,3\nb,c,v,2,1\nc,a,u,4,2\n")
    prefs = cc.read(path, time="when")
    assert prefs.weight.tolist() == [2, 4, 1]
    assert prefs.agents is not None
    assert prefs.agents.take(prefs.agent if prefs.agent is not None else []) == ["v", "u", "u"]


def test_what_is_no_date_is_an_error_with_its_line(make: MakeFile) -> None:
    with pytest.raises(FormatError, match=r"line 3: the time is 'soon', neither a number nor a date"):
        cc.read(make("winner,loser,when\na,b,2020-01-01\nb,a,soon\n"), time="when")
    with pytest.raises(InputError, match="time= does not apply to rankings"):
        cc.read(make("ranking,when\na > b,2020\n"), time="when", layout="rankings")
    with pytest.raises(FormatError, match="line 3: the time differs from that of the other rows of its ballot"):
        cc.read(make("user,item,rating,when\nu,a,1,2020\nu,b,2,2021\n"), time="when")
    with pytest.raises(UnknownNameError, match="no column 'date'"):
        cc.read(make("winner,loser\na,b\n"), time="date")


def test_chess_and_football_results_are_understood(make: MakeFile) -> None:
    chess = cc.read(make("white,black,result\na,b,1-0\na,c,1/2-1/2\nb,c,0-1\n"))
    assert winners(chess) == ["a", "a", "c"]
    assert chess.tier.tolist() == [0, 1, 0, 0, 0, 1]
    football = cc.read(make("HomeTeam,AwayTeam,FTR\na,b,H\nb,a,A\na,b,D\n"), outcome="FTR")
    assert winners(football)[:2] == ["a", "a"]
    assert football.tier.tolist()[4:] == [0, 0]
    scores = cc.read(make("home,away,outcome\na,b,3-1\nb,a,0:2\na,b,1-1\n"))
    assert winners(scores)[:2] == ["a", "a"]
    assert scores.tier.tolist()[4:] == [0, 0]


# ---- the real files ----
@pytest.mark.data
def test_the_published_sets_have_their_published_sizes(data_folder: Path) -> None:
    for name, ballots, items, entries in (
        ("ml-100k/u.data.gz", 943, 1682, 100_000),
        ("ml-latest-small/ml-latest-small.zip", 610, 9724, 100_836),
        ("jester/jester-data-1.zip", 24_983, 100, 1_810_455),
        ("sushi/sushi_large_raw.txt.gz", 5000, 100, 50_000),
    ):
        prefs = cc.read(data_folder / name)
        assert (prefs.n_ballots, prefs.n_items, len(prefs.item)) == (ballots, items, entries)
    _, y, q = cc.read_features(data_folder / "lightgbm-lambdarank" / "rank.train.gz")
    assert (len(y), len(np.unique(q))) == (3005, 201)
