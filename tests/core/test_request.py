"""One path from a request to a ranking: the same answer from Python, the command and the web app."""

import base64
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Run
from tests.web.asking import Page, question

import concordant as cc
from concordant import io, request
from concordant.io import _joined
from concordant.io._source import Source
from concordant.io.formats.table import open_table
from concordant.request import Request
from concordant.tables import roles
from concordant.tables.cells import CellTable
from concordant.tables.options import Options
from concordant.web.answers import Answerer

VOTES = [("a", "b"), ("b", "a"), ("a", "c"), ("b", "c"), ("a", "b"), ("c", "a"), ("a", "rare")]
RATED = [(f"u{k}", item, 1 + (k * place) % 5) for k in range(6) for place, item in enumerate("abc", 1)]


def write(path: Path, header: str, rows: list[Any]) -> Path:
    path.write_text("\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n")
    return path


@pytest.fixture
def votes(tmp_path: Path) -> Path:
    return write(tmp_path / "votes.csv", "winner,loser", VOTES)


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often the columns of every table are planned."""
    found: Counter[str] = Counter()

    def plan(planner: Any, real: Any = roles._Planner.plan) -> Any:
        found[Path(planner.table.name).name] += 1
        return real(planner)

    monkeypatch.setattr(roles._Planner, "plan", plan)
    return found


@pytest.fixture
def chosen(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The methods that were chosen by the data."""
    found: list[str] = []

    def choose(data: Any, real: Any = request.default_choice) -> Any:
        found.append(real(data).method)
        return real(data)

    monkeypatch.setattr(request, "default_choice", choose)
    return found


def in_the_web(path: Path, **settings: str) -> tuple[dict[str, Any], str]:
    """Return the ranking that the web app offers for download, and what it says it understood."""
    page = Page(path, **settings)
    assert page.error == ""
    asked = {**question(2, path, **settings), "do": "file", "kind": "json"}
    file = Answerer(lambda _: None).answer(asked)
    return json.loads(base64.b64decode(file["content"])), page.regions["offers"]


def without_time(data: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in data.items() if name not in ("seconds", "ran")}


def test_python_the_command_and_the_web_app_answer_alike(votes: Path, run: Run) -> None:
    answer = Request(str(votes), min_ballots=2).run()
    same = without_time(answer.ranking.to_dict())
    assert without_time(cc.rank(votes, min_ballots=2).to_dict()) == same
    assert without_time(json.loads(run("rank", votes, "--min-ballots", 2, "--json")[1])) == same
    shown, understood = in_the_web(votes, min_ballots="2")
    assert without_time(shown) == same
    assert [notice.name for notice in answer.ranking.warnings].count("few-ballots") == 1
    assert answer.choice == ("bradley-terry", "ranked by bradley-terry, because the data are pairs")
    assert f"note: {answer.choice.reason};" in run("rank", votes, "--min-ballots", 2)[2]
    assert "Ranked by Bradley-Terry, because the data are pairs." in understood


def test_a_method_that_is_named_has_no_reason(votes: Path, run: Run, chosen: list[str]) -> None:
    assert Request(votes, "borda").run().choice == ("borda", "")
    assert "because" not in run("rank", votes, "--method", "borda")[2]
    assert chosen == []
    assert "because" not in in_the_web(votes, method="borda")[1]


def test_the_default_is_chosen_once(votes: Path, tmp_path: Path, run: Run, chosen: list[str]) -> None:
    grouped = write(tmp_path / "grouped.csv", "winner,loser,group", [(*pair, k % 2) for k, pair in enumerate(VOTES)])
    for ask in (
        lambda: cc.rank(votes),
        lambda: run("rank", votes),
        lambda: run("rank", grouped, "--by", "group"),
        lambda: cc.rank_groups(grouped, "group"),
    ):
        chosen.clear()
        ask()
        assert chosen == ["bradley-terry"]


def test_rare_items_of_groups_are_told_of_once(tmp_path: Path) -> None:
    grouped = write(tmp_path / "grouped.csv", "winner,loser,group", [(*pair, k % 2) for k, pair in enumerate(VOTES)])
    found = cc.rank_groups(grouped, "group", min_ballots=2)
    assert [notice.name for notice in found.warnings].count("few-ballots") == 1
    assert "rare" not in found.whole.items


# ---- reading and planning once ----
@pytest.mark.parametrize(
    ("header", "method", "more", "files"),
    [
        ("winner,loser", None, {}, 1),  # counted by one query, by the plan of the first file
        ("winner,loser", "elo", {}, 1),  # read as one table, by the plan of the first file
        ("user,film,rating", None, {}, 3),  # summed
        ("user,film,rating", None, {"min_ballots": 2}, 1),
        ("user,film,rating", "schulze", {"skip_bad_files": True}, 3),  # tried one by one, then read as one
    ],
)
def test_every_file_of_a_folder_is_planned_once(
    tmp_path: Path, planned: Counter[str], header: str, method: str | None, more: dict[str, Any], files: int
) -> None:
    rows: list[Any] = VOTES if header == "winner,loser" else RATED
    for k in range(3):
        write(tmp_path / f"{k}.csv", header, [(f"{k}{row[0]}", *row[1:]) if len(row) > 2 else row for row in rows])
    cc.rank(tmp_path, method, **more)
    assert planned == {f"{k}.csv": 1 for k in range(files)}


def test_a_file_is_planned_once_by_every_face(votes: Path, tmp_path: Path, run: Run, planned: Counter[str]) -> None:
    faces = [
        lambda: cc.rank(votes),
        lambda: run("rank", votes, "--explain"),
        lambda: run("rank", votes, "--memory-limit", "500MB"),
        lambda: run("compare", votes),
        lambda: run("report", votes, "-o", tmp_path / "report.html"),
        lambda: Page(votes),
    ]
    for ask in faces:
        planned.clear()
        ask()
        assert planned == {"votes.csv": 1}


def test_methods_of_one_request_share_what_was_read(votes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Any] = []
    monkeypatch.setattr(io, "read_files", lambda *args, real=io.read_files: read.append(args) or real(*args))
    asked = Request(votes, min_ballots=2)
    assert asked.read() is asked.read()
    assert [asked.by(name).run().prefs is asked.read() for name in ("borda", "copeland", None)] == [True] * 3
    assert len(read) == 1


def test_a_table_says_whether_the_engine_can_count_it(votes: Path) -> None:
    options = Options(format="csv")
    with Source(votes, options) as source:
        table = open_table(source, options)
        assert table.is_countable
        assert not _joined.JoinedTable([table, table]).is_countable
        assert not CellTable("cells", ["winner"], [["a"]], str).is_countable


# ---- what is asked ----
def test_options_of_reading_are_told_from_those_of_the_method() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"x": ["a", "b", "a"], "y": ["b", "c", "c"]})
    ranking = cc.rank(frame, "bradley-terry", winner="x", loser="y", prior=2.0)
    assert ranking.items == ["a", "b", "c"]
    assert ranking.params["prior"] == 2.0


def test_a_method_object_takes_no_more_parameters(votes: Path) -> None:
    with pytest.raises(cc.InputError, match="cannot be combined with a method object"):
        cc.rank(votes, cc.Borda(), missing="last")


def test_preferences_are_ranked_without_the_readers() -> None:
    code = "import sys, concordant as cc; cc.rank(cc.Preferences.from_rankings([['a', 'b']]), min_ballots=1)"
    code += "; assert not [name for name in sys.modules if name.startswith(('concordant.io', 'concordant.engine'))]"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("more", [{"min_ballots": 2}, {"needs_ballots": True}])
def test_ratings_are_read_whole_where_their_sums_do_not_suffice(tmp_path: Path, more: dict[str, Any]) -> None:
    path = write(tmp_path / "rated.csv", "user,item,rating", RATED)
    reduced = Request(str(path), reading={"reduce": True}, **more).run()
    assert reduced.prefs is not None
    assert reduced.ranking.items == Request(str(path), **more).run().ranking.items


def test_the_default_does_not_depend_on_where_the_work_runs(tmp_path: Path) -> None:
    path = str(write(tmp_path / "approved.csv", "user,item,rating", [("u", "a", 1), ("u", "b", 1), ("v", "a", 1)]))
    assert {Request(path, reading=how).choice.name for how in ({}, {"reduce": True})} == {"approval"}


def test_a_comparison_reads_as_a_ranking_does(tmp_path: Path) -> None:
    path = write(tmp_path / "votes.csv", "good,bad", VOTES)
    compared = cc.compare(path, ["borda"], winner="good", loser="bad", min_ballots=2)
    assert compared.rankings[0].items == cc.rank(path, "borda", winner="good", loser="bad", min_ballots=2).items
    with pytest.raises(cc.InputError, match=r"prior= is not an option for reading data"):
        cc.compare(path, ["borda"], prior=1)


def test_a_number_of_ballots_is_checked_and_said_only_where_items_were_left_out(votes: Path) -> None:
    assert not [one for one in cc.rank(votes, min_ballots=1).notices if one.name == "few-ballots"]
    for wrong in ("x", -1, float("nan")):
        with pytest.raises(cc.InputError, match="give a number of at least 0"):
            cc.rank(votes, min_ballots=wrong)
