"""Files are replaced whole or not at all, whatever happens while they are written; what is shown cannot act."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click import Abort, ClickException
from tools.faults import fill_disk

import concordant as cc
from concordant.errors import InputError
from concordant.support import files
from concordant.support.duck import connect
from concordant.support.text import visible

VOTES = cc.Preferences.from_pairs(["ann", "bob", "ann"], ["bob", "cid", "cid"])


def run(*arguments: str, code: int = 0) -> str:
    """Run the command line in a process of its own and return what it says."""
    done = subprocess.run(
        [sys.executable, "-m", "concordant.cli", *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


def command(*arguments: str) -> Callable[[Path], None]:
    """Return a writer that runs the command line in this process; OUT and FILE stand for paths."""

    def write(path: Path) -> None:
        from concordant.cli.__main__ import cli

        given = [{"OUT": str(path), "FILE": str(path.parent / "votes.csv")}.get(word, word) for word in arguments]
        cli.main(args=given, prog_name="concordant", standalone_mode=False)

    return write


WRITERS: dict[str, Callable[[Path], Any]] = {
    "out.csv": lambda path: cc.write(VOTES, path),
    "out.parquet": lambda path: cc.write(VOTES, path),
    "out.jsonl.gz": lambda path: cc.write(VOTES, path),
    "out.run": lambda path: cc.write(cc.rank(VOTES, "borda"), path),
    "model.zip": lambda path: cc.save(cc.PlackettLuce(prior=0.5), path),
    "out.svg": lambda path: cc.rank(VOTES, "bradley-terry").plot(path),
    "convert.csv": command("convert", "FILE", "OUT"),
    "rank.txt": command("rank", "FILE", "-o", "OUT"),
    "rank.json": command("rank", "FILE", "--json", "-o", "OUT"),
    "compare.csv": command("compare", "FILE", "--csv", "-o", "OUT"),
}


def fail(problem: BaseException) -> Callable[..., Any]:
    """Return a function that always fails."""

    def failing(*_: object) -> None:
        raise problem

    return failing


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize("problem", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
def test_a_write_that_fails_leaves_the_old_file(
    name: str, step: str, problem: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name.endswith(".svg"):
        pytest.importorskip("matplotlib")
    path = tmp_path / name
    path.write_bytes(b"what was there")
    cc.write(VOTES, tmp_path / "votes.csv")
    monkeypatch.setattr(os, step, fail(problem))
    with pytest.raises((InputError, ClickException, KeyboardInterrupt, Abort)):
        WRITERS[name](path)
    assert path.read_bytes() == b"what was there"
    assert not list(tmp_path.glob(".concordant-*"))


def test_a_file_keeps_its_permissions_and_a_link_its_target(tmp_path: Path) -> None:
    path, link = tmp_path / "votes.csv", tmp_path / "link.csv"
    path.write_bytes(b"old")
    path.chmod(0o640)
    link.symlink_to(path)
    cc.write(VOTES, link)
    assert link.is_symlink()
    assert cc.read(path) == VOTES
    assert path.stat().st_mode & 0o777 == 0o640


def test_places_that_cannot_be_written_to_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=rf"the folder {tmp_path / 'none'} does not exist, create it first"):
        cc.write(VOTES, tmp_path / "none" / "votes.csv")
    monkeypatch.setattr(files, "_write_temporary", fail(PermissionError(errno.EACCES, "Permission denied")))
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(InputError, match=f"the folder {tmp_path} is not writable"):
        cc.save(cc.RRF(), tmp_path / "model.zip")


def test_devices_are_written_to_as_they_are() -> None:
    cc.write(VOTES, "/dev/null", format="csv")
    with pytest.raises(InputError, match="Is a directory"):
        cc.write(VOTES, "/tmp", format="csv")


def test_the_input_may_be_the_output(tmp_path: Path) -> None:
    for name in ("votes.csv", "votes.parquet", "votes.jsonl.gz"):
        path = tmp_path / name
        cc.write(VOTES, path)
        run("convert", str(path), str(path))
        assert cc.read(path) == VOTES


def test_a_full_disk_leaves_the_old_file(tmp_path: Path) -> None:
    told = fill_disk(tmp_path)
    if told is None:
        pytest.skip("no small disk can be mounted here")
    assert told["whole"]
    assert told["files"] == ["votes.csv"]
    assert "votes.csv cannot be written (No space left on device)" in str(told["told"])


def test_a_reader_that_leaves_is_no_trouble(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    cc.write(cc.Preferences.from_pairs([f"item {k}" for k in range(20_000)], ["bob"] * 20_000), path)
    script = f"{sys.executable} -m concordant.cli convert {path} - --to jsonl | head -n 1"
    done = subprocess.run(script, shell=True, capture_output=True, text=True, check=False)
    assert done.stdout.count("\n") == 1
    assert "Error" not in done.stderr
    assert "Traceback" not in done.stderr


# ---- what is shown cannot act ----
def test_control_signs_are_written_out_for_a_terminal() -> None:
    assert visible("a\x1b[2Jb\x07\r\x9b") == "a\\x1b[2Jb\\x07\\r\\x9b"
    assert visible("\x1b[1mbold\x1b[0m\n\ttext é") == "\x1b[1mbold\x1b[0m\n\ttext é"
    assert visible("\x1b[1mlabel", colours=False) == "\\x1b[1mlabel"
    assert visible("\u202eright to left") == "\\u202eright to left"


@pytest.mark.skipif(os.name != "posix", reason="a terminal is opened")
def test_labels_cannot_command_the_terminal(tmp_path: Path) -> None:
    import pty

    path = tmp_path / "votes.csv"
    cc.write(cc.Preferences.from_pairs(["evil \x1b]0;owned\x07", "bob"], ["bob", "cid"]), path)
    shown = bytearray()

    def keep(terminal: int) -> bytes:
        data = os.read(terminal, 4096)
        shown.extend(data)
        return b" " * bool(data)

    pty.spawn([sys.executable, "-m", "concordant.cli", "rank", str(path), "-m", "borda"], keep)
    assert b"evil" in shown
    assert b"\x1b]0;" not in shown
    assert b"\x07" not in shown


def test_formulas_are_kept_as_text_where_asked(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    wild = cc.Preferences.from_pairs(["=1+1", "@sum", "plain"], ["plain", "-x", "+y"])
    cc.write(wild, path)
    assert cc.read(path) == wild
    cc.write(wild, path, spreadsheet=True)
    assert path.read_text().splitlines()[1:] == ["'=1+1,plain", "'@sum,'-x", "plain,'+y"]
    with pytest.raises(InputError, match="csv and tsv"):
        cc.write(wild, tmp_path / "votes.jsonl", spreadsheet=True)


# ---- the data base sees the named file only ----
def test_queries_reach_no_other_file_and_no_network(tmp_path: Path) -> None:
    import duckdb

    mine, other = tmp_path / "mine.csv", tmp_path / "other.csv"
    for path in (mine, other):
        path.write_text("a,b\n1,2\n")
    with connect(str(mine)) as connection:
        assert connection.execute(f"SELECT * FROM read_csv('{mine}')").fetchall() == [(1, 2)]
        for query in (
            f"SELECT * FROM read_csv('{other}')",
            f"SELECT * FROM read_text('{other}')",
            f"COPY (SELECT 1) TO '{tmp_path / 'new.csv'}'",
            f"ATTACH '{tmp_path / 'new.db'}'",
            "INSTALL httpfs",
            "LOAD httpfs",
            "SET enable_external_access=true",
            "SET allowed_paths=['/']",
            "SELECT * FROM read_csv('https://example.org/votes.csv')",
        ):
            with pytest.raises(duckdb.Error):
                connection.execute(query).fetchall()


def test_whole_and_broken_scores_are_both_kept_from_being_formulas(tmp_path: Path) -> None:
    ranking = cc.rank(cc.Preferences.from_ratings(["u", "u", "v"], ["=a", "b", "b"], [1.0, 2.5, 4.0]), "mean-rating")
    cc.write(ranking, tmp_path / "out.csv", spreadsheet=True)
    assert "'=a" in (tmp_path / "out.csv").read_text()
