"""What a person at a terminal sees: tables that end after some rows, and a progress bar for long work."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.once, pytest.mark.skipif(os.name != "posix", reason="pseudo-terminals of POSIX")]

# A command of which one stage waits until a bar has been drawn, or until Ctrl-C if there is nothing to wait for.
WAITING = """
import sys, time
from concordant.cli import _progress
from concordant.cli.__main__ import main
from concordant.method import Method
from concordant.support import progress
_progress.DELAY = 0.1
update, drawn = _progress._update, []
_progress._update = lambda *told: (update(*told), drawn.append(told))
scores = Method._scores_within_memory
def waiting(self, prefs):
    for k in progress.steps(range(4), "waiting"):
        if k == 2 and (sys.argv[1] == "forever" or sys.stderr.isatty()):
            while not drawn or sys.argv[1] == "forever":
                time.sleep(0.01)
                if drawn and sys.argv[1] == "forever":
                    import os, signal
                    time.sleep(0.3)
                    os.kill(os.getpid(), signal.SIGINT)
    return scores(self, prefs)
Method._scores_within_memory = waiting
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
main(["rank", sys.argv[2], "--method", "borda"])
"""


def on_terminal(*args: object, out: bool = True, err: bool = True) -> tuple[int, str, str]:
    """Run a Python process on a pseudo-terminal; return its exit code, what the terminal got, and what the pipe got."""
    import pty

    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, *map(str, args)],
        stdout=theirs if out else subprocess.PIPE,
        stderr=theirs if err else subprocess.PIPE,
        env={**os.environ, "COLUMNS": "100", "TERM": "xterm-256color"},
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        shown += part
    piped = b"".join(part for part in process.communicate() if part)
    os.close(ours)
    return process.returncode, shown.decode(), piped.decode()


@pytest.fixture
def votes(tmp_path: Path) -> Path:
    """A ranking of 60 items."""
    path = tmp_path / "votes.csv"
    path.write_text("agent,item,rank\n" + "".join(f"v,項{k},{k}\n" for k in range(1, 61)))
    return path


def rank(votes: Path, *options: object) -> list[object]:
    return ["-m", "concordant", "rank", votes, "--method", "borda", *options]


def rows(text: str) -> int:
    return len(re.findall(r"項\d+", text.split("note")[0].split("warning")[0]))


def test_a_long_table_on_a_terminal_ends_with_the_number_of_the_other_rows(votes: Path) -> None:
    text = on_terminal(*rank(votes), err=False)[1]
    assert "… 10 more (--all shows them)" in text
    assert rows(text) == 50


@pytest.mark.parametrize(
    ("options", "n"), [(["--all"], 60), (["--top", 55], 55), (["--csv"], 60), (["--markdown"], 60)]
)
def test_all_rows_are_shown_where_they_are_asked_for(votes: Path, options: list[object], n: int) -> None:
    text = on_terminal(*rank(votes, *options), err=False)[1]
    assert "more (" not in text
    assert rows(text) == n


def test_a_pipe_and_a_file_get_all_rows(votes: Path, tmp_path: Path) -> None:
    assert rows(on_terminal(*rank(votes), out=False)[2]) == 60
    on_terminal(*rank(votes, "-o", tmp_path / "ranking.txt"))
    assert rows((tmp_path / "ranking.txt").read_text()) == 60


def test_long_lists_end_as_well() -> None:
    assert "more (--all shows them)" in on_terminal("-m", "concordant", "methods", err=False)[1]
    assert "more (" not in on_terminal("-m", "concordant", "methods", "--all", err=False)[1]


def test_many_tables_end_after_some(tmp_path: Path) -> None:
    path = tmp_path / "queries.csv"
    path.write_text("query,agent,item,rank\n" + "".join(f"q{k},v,a,1\nq{k},v,b,2\n" for k in range(12)))
    command = ["-m", "concordant", "rank", path, "--method", "borda", "--instance", "query"]
    assert "… 2 more tables (--all shows them)" in on_terminal(*command, err=False)[1]
    assert "q11" in on_terminal(*command, "--all", err=False)[1]


def test_long_work_shows_a_bar_that_disappears(votes: Path) -> None:
    code, shown, piped = on_terminal("-c", WAITING, "once", votes, out=False)
    assert code == 0
    assert "ranking by Borda count – waiting" in shown
    assert "50%" in shown
    assert "\x1b[2K" in shown.split("waiting")[-1]  # its line is erased
    assert rows(piped) == 60
    assert "waiting" not in piped


def test_a_pipe_gets_no_bar(votes: Path) -> None:
    done = subprocess.run([sys.executable, "-c", WAITING, "once", votes], capture_output=True, text=True, check=True)
    assert "waiting" not in done.stdout + done.stderr
    assert "\x1b" not in done.stdout + done.stderr


def test_ctrl_c_removes_the_bar_and_ends_with_a_message(votes: Path) -> None:
    code, shown, _ = on_terminal("-c", WAITING, "forever", votes)
    assert code == 128 + signal.SIGINT
    assert shown.rstrip().endswith("Stopped.")
    assert "waiting" in shown
    assert "Traceback" not in shown


def test_quick_commands_do_not_import_rich(votes: Path) -> None:
    code = "import sys; from concordant.cli.__main__ import main\ntry: main(sys.argv[1:])\n"
    code += "except SystemExit: print('rich' in sys.modules, file=sys.stderr)"
    _, shown, _ = on_terminal("-c", code, "rank", votes, "--csv", out=False)
    assert shown.rstrip().endswith("False")
