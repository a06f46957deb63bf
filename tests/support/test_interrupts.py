"""Ctrl-C: long loops of kernels and other libraries are left at once, with exit code 130 and nothing half written."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import concordant as cc
from concordant import kernels
from concordant.ballots import merging
from concordant.cli.__main__ import _stopped, main
from concordant.support import interrupts
from concordant.support.interrupts import has_abandoned, interruptible

ROOT = Path(__file__).resolve().parents[2]
posix = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")


# Games that no machine plays to the end; a limit of processor time ends a process that does not react.
ENDLESS = """
import os, resource, signal, threading
import numpy as np
from concordant import kernels, views
from tools import extremes
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in a background job
resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
ballots = views.ballots(extremes.games(weight=[1e15] * 7))
calls = [
    lambda: kernels.elo_stream(ballots, np.empty(0), np.empty(0), 1500.0, 32.0, 400.0, 0.0, 0.0, False),
    lambda: kernels.trueskill_stream(ballots, np.empty(0, np.int32), 25.0, 8.0, 4.0, 0.08, 0.7, False, False),
]
for call in calls:
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        call()
    except KeyboardInterrupt:
        print("left")
"""


@posix
def test_a_kernel_is_left_in_the_middle_of_its_loop() -> None:
    done = subprocess.run([sys.executable, "-c", ENDLESS], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "left\nleft\n"), done.stderr


@posix
def test_a_call_of_another_library_is_left() -> None:
    release, begun = threading.Event(), threading.Event()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in a background job

    def endless() -> None:
        begun.set()
        release.wait()

    def interrupt() -> None:
        begun.wait()
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        interruptible(endless)
    signal.signal(signal.SIGINT, before)
    assert has_abandoned()
    release.set()
    for done in interrupts._abandoned:
        done.wait()
    assert not has_abandoned()


# A call that never ends, left by Ctrl-C: the process ends by the signal.
LEFT = """
import os, signal, threading, time
from concordant.support.interrupts import interruptible
signal.signal(signal.SIGINT, signal.default_int_handler)
def call():
    os.kill(os.getpid(), signal.SIGINT)
    threading.Event().wait()
interruptible(call)
"""


@posix
def test_a_process_that_left_a_call_ends_by_the_signal() -> None:
    done = subprocess.run([sys.executable, "-c", LEFT], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (-signal.SIGINT, "KeyboardInterrupt")


def test_an_interruptible_call_gives_its_result_or_its_exception() -> None:
    assert interruptible(lambda: 3) == 3
    with pytest.raises(ZeroDivisionError):
        interruptible(lambda: 1 // 0)
    found: list[int] = []
    other = threading.Thread(target=lambda: found.append(interruptible(threading.get_ident)))
    other.start()
    other.join()
    assert found == [other.ident]


@pytest.mark.parametrize("place", ["elo_stream", "find_repeated"])
def test_an_interrupted_command_ends_with_130_and_writes_nothing(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    (tmp_path / "votes.csv").write_text("winner,loser,weight\na,b,2\nb,c,1\n")
    (tmp_path / "out.csv").write_text("old")
    monkeypatch.setattr(kernels, place, interrupt)
    with pytest.raises(SystemExit) as ended:
        main(["rank", str(tmp_path / "votes.csv"), "--method", "elo", "-o", str(tmp_path / "out.csv")])
    assert ended.value.code == 130
    told = capsys.readouterr()
    assert (told.out, told.err.strip()) == ("", "Stopped.")
    assert (tmp_path / "out.csv").read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.csv", "votes.csv"]


def test_a_command_does_not_wait_for_a_call_that_was_left(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[int] = []
    monkeypatch.setattr(interrupts, "has_abandoned", lambda: True)
    monkeypatch.setattr(os, "_exit", ended.append)
    assert _stopped() == 130
    assert ended == [130]


def test_equal_ballots_are_the_same_however_they_are_grouped(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    prefs = cc.Preferences.from_rankings([rng.permutation(list("abcd"))[: rng.integers(1, 5)] for _ in range(200)])
    by_columns = merging.equal_ballots(prefs, False)
    monkeypatch.setattr(merging, "MAX_COLUMNS", 0)
    by_rows = merging.equal_ballots(prefs, False)
    assert all(map(np.array_equal, by_columns, by_rows))
