"""How soon long work stops after Ctrl-C: python tools/interrupts.py [TIMES] [NAME …]

Every case is a long call in a child process. The child says when the call begins; at a random moment of its first
seconds it gets SIGINT, and the time and processor time until it has ended are measured (Linux). A command must end with
exit code 130, without a traceback and without a new file. The last line is a row of the table in
docs/develop/reliability.md.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

START = """
import os, sys
import numpy as np
import concordant as cc
from concordant.registry import LEARNERS, RECOMMENDERS
from concordant.ballots.vocabulary import Vocabulary
rng = np.random.default_rng(0)
def begin():
    print("begin", flush=True)
def games(n, players=2000):
    first = rng.integers(0, players, n)
    second = (first + rng.integers(1, players, n)) % players
    items = Vocabulary([f"player {k}" for k in range(players)])
    item = np.stack([first, second], 1).reshape(-1).astype(np.int32)
    return cc.Preferences(items, np.arange(0, 2 * n + 1, 2), item, np.tile(np.array([0, 1], np.int32), n), form="pairs")
def thrice(prefs):
    return prefs.replace(weight=np.full(prefs.n_ballots, 3.0))
def dated(prefs):
    return prefs.replace(time=np.arange(1.0 * prefs.n_ballots))
def votes(n, items):
    tier = rng.permuted(np.tile(np.arange(items), (n, 1)), axis=1)
    names = Vocabulary([f"item {k}" for k in range(items)])
    return cc.Preferences(names, np.arange(0, n * items + 1, items), np.tile(np.arange(items), n), tier.reshape(-1))
def ratings(n, agents, items, values=5):
    key = rng.choice(agents * items, n, replace=False)
    value = rng.integers(1, values + 1, n)
    return cc.Preferences.from_ratings(key // items, key % items, value)
def rows(n, features=50):
    X = rng.normal(size=(n, features))
    return X, np.clip(np.rint(X[:, 0] + rng.normal(size=n)), 0, 4), np.arange(n) // 20
"""

REPEAT = "{}\nbegin()\nwhile True:\n    {}\n"
RANKED = {
    "elo of 15 million games": "thrice(games(5_000_000))",
    "trueskill of 3 million games": "games(3_000_000)",
    "glicko2 of 3 million games": "games(3_000_000)",
    "kemeny of 200 items": "votes(50, 200)",
    "kemeny of 40 items": "votes(9, 40)",
    "local-search of 500 items": "votes(50, 500)",
    "faslp-pivot of 60 items": "votes(9, 60)",
    "schulze of 2,000 items": "votes(50, 2000)",
    "ranked-pairs of 2,000 items": "votes(50, 2000)",
    "condorcet of 5,000 items": "votes(50, 5000)",
    "hodgerank of 3,000 items": "votes(50, 3000)",
    "markov-chain of 4,000 items": "votes(50, 4000)",
    "instant-runoff of a million ballots": "votes(1_000_000, 12)",
    "stv of a million ballots": "votes(1_000_000, 12)",
    "pav of 100 candidates": "votes(2000, 100)",
    "footrule of 1,500 items": "votes(20, 1500)",
    "mallows of 100 items": "votes(200, 100)",
    "pick-a-perm of 3,000 rankings": "votes(3000, 200)",
    "dawid-skene of a million answers": "ratings(1_000_000, 2000, 20_000, 4)",
    "mpm of a million ratings": "ratings(1_000_000, 6000, 3000)",
    "whole-history of 300,000 games": "games(300_000).replace(time=np.arange(300_000.0))",
}
ERRORS = {
    "bradley-terry of 10 million votes": "games(10_000_000, 200)",
    "bradley-terry of 5,000 items": "games(2_000_000, 5000)",
    "plackett-luce of 200,000 rankings": "votes(200_000, 20)",
}
LEARNERS = ("light-gbm-ranker", "forest-ranker", "rank-svm", "lambda-rank", "rank-boost")
CALLS = {
    **{case: (f"prefs = {prefs}", f"cc.rank(prefs, '{case.split()[0]}')") for case, prefs in RANKED.items()},
    **{case: (f"prefs = {prefs}", f"cc.rank(prefs, '{case.split()[0]}').low") for case, prefs in ERRORS.items()},
    **{
        f"{name} of a million ratings": (
            "prefs = ratings(1_000_000, 6000, 3000)",
            f"RECOMMENDERS.make('{name}').fit(prefs)",
        )
        for name in ("pmf", "bpr")
    },
    **{
        f"{name} of 200,000 rows": ("X, y, q = rows(200_000)", f"LEARNERS.find('{name}')().fit(X, y, qid=q)")
        for name in LEARNERS
    },
    "reading 3 million rows": ("", "cc.read(sys.argv[1] + '/plain.csv')"),
    "reading 3 million quoted rows": ("", "cc.read(sys.argv[1] + '/quoted.csv')"),
    "reading 3 million dated rows": ("", "cc.read(sys.argv[1] + '/plain.csv', time='day')"),
    "reading a million ratings": ("", "cc.read(sys.argv[1] + '/ratings.csv')"),
    "3 million pairs from lists": (
        "a = [f'player {k % 999}' for k in range(3_000_000)]; b = a[1:] + a[:1]",
        "cc.Preferences.from_pairs(a, b)",
    ),
    "equal ballots of 3 million": ("prefs = games(3_000_000)", "prefs.merge()"),
}
COMMANDS = {
    "concordant rank": ["rank", "quoted.csv", "--method", "trueskill", "-o", "out.csv"],
    "concordant rank --workers 2": ["rank", "parts", "--workers", "2", "-o", "out.csv"],
    "concordant recommend train": ["recommend", "train", "ratings.csv", "-o", "out.zip"],
    "concordant convert": ["convert", "quoted.csv", "out.csv.gz"],
}


def make_files(folder: Path) -> None:
    """Write the files the cases read."""
    rng = np.random.default_rng(0)
    n = 3_000_000
    first = rng.integers(0, 2000, n)
    second = (first + rng.integers(1, 2000, n)) % 2000
    days = np.datetime64("2000-01-01") + rng.integers(0, 9000, n)
    header = "winner,loser,day\n"
    lines = [
        f"player {a},player {b},{d}\n"
        for a, b, d in zip(first.tolist(), second.tolist(), days.astype(str).tolist(), strict=True)
    ]
    (folder / "plain.csv").write_text(header + "".join(lines))
    quoted = [f'"{line[:-1].replace(",", chr(34) + "," + chr(34))}"\n' for line in lines]
    (folder / "quoted.csv").write_text(header + "".join(quoted))
    (folder / "parts").mkdir()
    for k in range(6):
        (folder / "parts" / f"{k}.csv").write_text(header + "".join(lines[k::6]))
    key = rng.choice(6000 * 3000, 1_000_000, replace=False)
    value = rng.integers(1, 6, len(key))
    rows = [
        f"u{a},i{b},{v}\n"
        for a, b, v in zip((key // 3000).tolist(), (key % 3000).tolist(), value.tolist(), strict=True)
    ]
    (folder / "ratings.csv").write_text("user,item,rating\n" + "".join(rows))


def processor_seconds(pid: int | None = None) -> float:
    """Return the processor time of a running process, or of all children that have ended."""
    if pid is None:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def interrupted(command: list[str], folder: Path, says_begin: bool, wait: float) -> tuple[float, float, str]:
    """Start a command, interrupt it, and return the time and processor time until its end, and what was wrong."""
    before, ended = {path.name for path in folder.iterdir()}, processor_seconds()
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        if says_begin:
            process.stdout.readline()
        time.sleep(wait)
        if process.poll() is not None:
            return 0.0, 0.0, f"ended before, with exit code {process.returncode}"
        used = processor_seconds(process.pid)
        process.send_signal(signal.SIGINT)
        start = time.perf_counter()
        try:
            _, told = process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            return 60.0, 60.0, "never ended"
        seconds = time.perf_counter() - start
    worked = max(processor_seconds() - ended - used, 0.0)
    problems = []
    if not says_begin and process.returncode not in (130, -signal.SIGINT):  # by the signal while Python starts
        problems.append(f"exit code {process.returncode}")
    if says_begin and process.returncode != -signal.SIGINT:
        problems.append(f"exit code {process.returncode}: {told.strip().splitlines()[-1:]}")
    if not says_begin and "Traceback" in told:
        problems.append("a traceback")
    left = sorted({path.name for path in folder.iterdir()} - before)
    return seconds, worked, ", ".join(problems + [f"left {name}" for name in left])


def main() -> int:
    """Interrupt every case some times."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("times", type=int, nargs="?", default=3)
    parser.add_argument("names", nargs="*")
    asked = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it, and so would the children
    draw, slowest, longest, wrong, count = random.Random(0), ("", 0.0), 0.0, 0, 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_files(folder)
        cases = {case: [sys.executable, "-c", START + REPEAT.format(*code), name] for case, code in CALLS.items()}
        cases |= {case: [sys.executable, "-m", "concordant", *words] for case, words in COMMANDS.items()}
        for case, command in cases.items():
            if asked.names and not any(word in case for word in asked.names):
                continue
            for _ in range(asked.times):
                own = case in CALLS
                wait = draw.uniform(0.0, 3.0) if own else draw.uniform(0.4, 1.5)
                seconds, worked, problem = interrupted(command, folder, own, wait)
                count += 1
                wrong += bool(problem) and problem != "ended before, with exit code 0"
                print(f"{case}: {seconds:.2f} s ({worked:.2f} CPU s) after {wait:.2f} s {problem}", flush=True)
                slowest, longest = max(slowest, (case, worked), key=lambda one: one[1]), max(longest, seconds)
    print(
        f"| {count} long calls and commands interrupted by Ctrl-C at random moments | all ended within "
        f"{slowest[1]:.1f} CPU s (slowest: {slowest[0]}), {longest:.1f} s on a shared machine; {wrong} left a file or "
        "ended otherwise "
        f"| `python tools/interrupts.py {asked.times}` |"
    )
    return int(bool(wrong) or slowest[1] > 1)


if __name__ == "__main__":
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    sys.exit(main())
