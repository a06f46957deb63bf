"""What others read names files, and says nothing of the folders of this machine."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from tests.conftest import Run

import concordant as cc
from concordant.reporting import Making
from concordant.support.files import without_folders

VOTES = "winner,loser\na,b\nb,c\na,c\nc,a\na,b\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "of ann").mkdir()
    for name in ("votes.csv", "more.csv"):
        (tmp_path / "of ann" / name).write_text(VOTES)
    return tmp_path / "of ann"


def test_a_report_has_no_path_in_it(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = folder / "report.html"
    args = ["report", str(folder / "votes.csv"), str(folder / "more.csv"), "-o", str(target)]
    monkeypatch.setattr(sys, "argv", ["concordant", *args])
    code, _, err = run(*args)
    assert code == 0, err
    page = target.read_text()
    assert str(folder) not in page
    assert "of ann" not in page
    assert "concordant report votes.csv more.csv -o report.html" in page.replace("&#x27;", "").replace("'", "")


def test_notes_name_files_and_errors_keep_paths(folder: Path) -> None:
    for prefs in (
        cc.read(folder / "votes.csv"),
        cc.read([folder / "votes.csv", folder / "more.csv"]),
        cc.read(folder / "votes.csv", merge=True),
        cc.read(folder, reduce=True),
        cc.read(str(folder / "votes.csv")),
    ):
        assert prefs.notes[0].startswith(("votes.csv: ", "votes.csv and 1 more: ", "more.csv and 1 more: "))
        assert "of ann" not in " ".join(prefs.notes)
    (folder / "bad.csv").write_text("winner,loser\na,\n")
    with pytest.raises(cc.InputError, match="of ann"):
        cc.read(folder / "bad.csv")
    notes = cc.read(folder, reduce=True, skip_bad_files=True).notes
    assert any(note.startswith("left out a file: bad.csv, line 2") for note in notes)
    assert "of ann" not in " ".join(notes)


def test_rows_left_out_of_several_files_are_placed_without_folders(folder: Path) -> None:
    (folder / "bad.csv").write_text("winner,loser\na,\n")
    prefs = cc.read([folder / "votes.csv", folder / "bad.csv"], skip_bad_rows=True)
    assert any("line 2 of bad.csv" in note for note in prefs.notes)
    assert "of ann" not in " ".join(prefs.notes)


def test_a_description_as_json_has_no_path_in_it(run: Run, folder: Path) -> None:
    code, out, err = run("describe", folder / "votes.csv", "--json")
    assert code == 0, err
    assert "of ann" not in json.dumps(json.loads(out))


def test_systems_of_an_evaluation_are_named_by_file(run: Run, folder: Path) -> None:
    (folder / "scores.csv").write_text("instance,item,score\nq,a,2\nq,b,1\n")
    (folder / "labels.csv").write_text("instance,item,label\nq,a,1\nq,b,0\n")
    code, out, err = run("evaluate", folder / "scores.csv", "--labels", folder / "labels.csv", "--json")
    assert code == 0, err
    assert [one["system"] for one in json.loads(out)["systems"]] == ["scores.csv"]


def test_runs_of_one_name_are_told_apart_by_the_folders_that_differ(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.run").write_text("q Q0 d 1 2.5 tag\n")
    prefs = cc.read([tmp_path / "one" / "x.run", tmp_path / "two" / "x.run"])
    assert prefs.agents is not None
    assert [Path(label).as_posix() for label in prefs.agents] == ["one/x.run", "two/x.run"]


def test_commands_and_lines_of_a_report_lose_their_folders(folder: Path) -> None:
    path = str(folder / "votes.csv")
    made = Making.of_files([path], f"concordant rank '{path}'", f"cc.read({path!r})")
    assert (made.command, made.python) == ("concordant rank 'votes.csv'", "cc.read('votes.csv')")
    assert made.files[0][0] == "votes.csv"


def test_only_what_names_a_file_loses_its_folder() -> None:
    assert without_folders("x.csv: a/b of c/x.csv, /d/c/x.csv", ["c/x.csv"]) == "x.csv: a/b of x.csv, /d/c/x.csv"
    assert without_folders("votes.csv: 3 pairs", ["votes.csv"]) == "votes.csv: 3 pairs"
