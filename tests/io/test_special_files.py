"""Pipes, devices and addresses as names of files, and files that change while they are read or written."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Run

import concordant as cc
from concordant.errors import FormatError, InputError
from concordant.io import _many
from concordant.io._source import Source
from concordant.support import pipes
from concordant.tables.options import PREFERENCES, Options

TEXT = "winner,loser\na,b\nb,c\n"
EXPECTED = cc.Preferences.from_pairs(["a", "b"], ["b", "c"])
needs_pipes = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    os.mkfifo(tmp_path / "pipe.csv")
    return tmp_path / "pipe.csv"


def written(path: Path, text: str) -> threading.Thread:
    """Write to a pipe in another thread, which waits for the reader."""
    thread = threading.Thread(target=path.write_text, args=(text,))
    thread.start()
    return thread


# ---- pipes ----
@needs_pipes
@pytest.mark.parametrize("reading", [{}, {"reduce": True}, {"memory_limit": "1GB"}])
def test_a_pipe_is_read_once_and_whole(pipe: Path, reading: dict[str, Any]) -> None:
    long = TEXT + "a,b\n" * 100_000
    writer = written(pipe, long)
    prefs = cc.read(pipe, **reading)
    writer.join()
    assert prefs.weight.sum() == 100_002


@needs_pipes
@pytest.mark.parametrize("reading", [{}, {"workers": 2}, {"memory_limit": "1GB"}, {"skip_bad_files": True}])
def test_a_pipe_is_ranked_whatever_is_said_about_the_work(pipe: Path, reading: dict[str, Any]) -> None:
    writer = written(pipe, TEXT)
    assert cc.rank(pipe, "borda", **reading).items == ["a", "b", "c"]
    writer.join()


@needs_pipes
def test_a_pipe_is_ranked_once_it_is_reduced(pipe: Path) -> None:
    writer = written(pipe, TEXT)
    assert cc.rank(pipe, "borda", reduce=True).items == ["a", "b", "c"]
    writer.join()
    with pytest.raises(InputError, match="pipes and open files can only be read in this process"):
        cc.read(pipe, reduce=True, workers=2)


@needs_pipes
def test_a_pipe_without_anybody_at_the_other_end_is_said(pipe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipes, "SECONDS", 0.0)
    with pytest.raises(FormatError, match=r"pipe\.csv: no program has opened the other end of the pipe: start"):
        cc.read(pipe)
    with pytest.raises(InputError, match="cannot be written: no program has opened the other end"):
        cc.write(EXPECTED, pipe)
    with pytest.raises(FormatError, match="not a regular file"):
        cc.load(pipe)


@needs_pipes
def test_a_writer_that_says_nothing_leaves_an_empty_file(pipe: Path) -> None:
    writer = written(pipe, "")
    with pytest.raises(FormatError, match=r"empty|no program"):
        cc.read(pipe)
    writer.join()


@needs_pipes
def test_a_pipe_is_written_to(pipe: Path) -> None:
    found: list[str] = []
    reader = threading.Thread(target=lambda: found.append(pipe.read_text()))
    reader.start()
    cc.write(EXPECTED, pipe, format="csv")
    reader.join()
    assert found == [TEXT]


@pytest.mark.skipif(not os.path.exists("/dev/fd"), reason="open files have no names here")
def test_the_substitution_of_a_shell_is_read_and_written(tmp_path: Path) -> None:
    command = f"{sys.executable} -P -m concordant"
    (tmp_path / "votes.csv").write_text(TEXT)
    for script in (
        f"{command} rank <(cat votes.csv) -m borda --memory-limit 1GB --csv",
        f"cat votes.csv | {command} rank - -m borda --memory-limit 1GB --csv",
        f"{command} rank /dev/stdin -m borda --csv -o /dev/stdout < votes.csv | cat",
    ):
        done = subprocess.run(
            ["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False
        )
        assert done.stdout.splitlines()[1].startswith("1,a"), done.stderr


# ---- devices and addresses ----
@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="there are no devices here")
@pytest.mark.parametrize("name", ["/dev/zero", "/dev/urandom", "/dev/full"])
def test_a_device_without_an_end_is_refused(name: str) -> None:
    for read in (cc.read, cc.read_labels, cc.read_features):
        with pytest.raises(FormatError, match="this is a device: name a file"):
            read(name)
    with pytest.raises(FormatError, match="not a regular file"):
        cc.load(name)


@pytest.mark.skipif(os.name != "posix", reason="a socket gets a name")
def test_a_socket_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    monkeypatch.chdir(tmp_path)  # a name may be 100 bytes long
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("votes.csv")
        with pytest.raises(FormatError, match="this is a device or a socket"):
            cc.read("votes.csv")


ADDRESSES = ["https://127.0.0.1:9/votes.csv", "https://127.0.0.1:9/votes.csv?page=1", "s3://votes/*.parquet"]


@pytest.mark.parametrize("name", [*ADDRESSES, "file:///votes.csv"])
def test_an_address_is_refused_and_nothing_is_asked_for(name: str, run: Run, tmp_path: Path) -> None:
    for read in (cc.read, cc.read_labels, cc.read_features, cc.rank):
        with pytest.raises(FormatError, match="this is a URL: download the file first"):
            read(name)
    with pytest.raises(InputError, match="is a URL: name a file on this machine"):
        cc.write(EXPECTED, name, format="csv")
    code, _, err = run("rank", name)
    assert code == 1
    assert "this is a URL" in err


# ---- files that change ----
def changing(path: Path, how: str) -> None:
    if how == "grown":
        with path.open("a") as file:
            file.write("c,a\n")
    elif how == "cut off":
        os.truncate(path, 400)
    elif how == "replaced":
        other = path.with_name("other")
        other.write_text(TEXT)
        os.replace(other, path)
    else:
        path.unlink()


@pytest.mark.parametrize("how", ["grown", "cut off", "replaced", "removed"])
@pytest.mark.parametrize("name", ["votes.csv", "votes.parquet", "votes.jsonl", "votes.csv.gz"])
def test_a_file_that_changes_between_the_first_look_and_the_reading_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str, name: str
) -> None:
    path = tmp_path / name
    cc.write(cc.Preferences.from_pairs([f"w{k}" for k in range(9000)], ["loser"] * 9000), path)
    opened = Source.__enter__

    def change(source: Source) -> Source:
        if os.path.exists(path):
            changing(path, how)
        return opened(source)

    monkeypatch.setattr(Source, "__enter__", change)
    with pytest.raises(
        FormatError, match="the file changed while it was being read: read it again when it is complete"
    ):
        cc.read(path)


def test_a_file_that_changes_between_planning_and_counting_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, count = tmp_path / "votes.csv", _many.count_files
    path.write_text(TEXT)

    def grow_first(*args: Any, **options: Any) -> _many.Counted:
        changing(path, "grown")
        return count(*args, **options)

    monkeypatch.setattr(_many, "count_files", grow_first)
    with pytest.raises(FormatError, match="changed while it was being read"):
        cc.rank(tmp_path, "borda")


WRITE = """
import sys
import concordant as cc
from concordant.support.files import replace_file
name, letter = sys.argv[1:]
for size in range(1, 60):
    replace_file(name, (letter * 50_000 * (1 + size % 3)).encode())
"""


def test_two_processes_that_write_one_file_leave_one_of_the_two_contents(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    path.write_text("a")
    command = [sys.executable, "-P", "-c", WRITE, str(path)]
    writers = [subprocess.Popen([*command, letter]) for letter in "ab"]
    while any(writer.poll() is None for writer in writers):
        text = path.read_text()
        assert len(text) % 50_000 in (0, 1)
        assert set(text) in ({"a"}, {"b"})
    assert [writer.returncode for writer in writers] == [0, 0]
    assert os.listdir(tmp_path) == ["out.txt"]


@pytest.mark.skipif(not os.path.exists("/proc/self/mounts"), reason="needs files whose size is said to be 0")
def test_a_file_whose_size_is_said_to_be_zero_is_read_whole() -> None:
    with Source("/proc/self/mounts", Options.of(PREFERENCES, {})) as source:
        assert source.read_bytes() == Path("/proc/self/mounts").read_bytes()
