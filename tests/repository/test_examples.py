"""The example data are what their script makes, and show what their README says."""

from __future__ import annotations

import csv
import importlib.util
import re
import shlex
import subprocess
import sys
from collections import Counter
from itertools import permutations
from pathlib import Path
from types import ModuleType

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


COMMANDS = sorted(set(re.findall(r"`(concordant [^`]+)`", (EXAMPLES / "README.md").read_text(encoding="utf-8"))))


@pytest.fixture(scope="module")
def make() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make", EXAMPLES / "make.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def ballots() -> list[tuple[int, list[str]]]:
    with open(EXAMPLES / "election.csv", newline="", encoding="utf-8") as file:
        return [(int(row.pop("count")), list(row.values())) for row in csv.DictReader(file)]


def test_the_script_makes_exactly_these_files(make: ModuleType) -> None:
    assert {name for name, text in make.files().items() if (EXAMPLES / name).read_bytes() != text} == set()


def test_every_data_file_is_small_and_described(make: ModuleType) -> None:
    readme = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    for name, text in make.files().items():
        assert len(text) < 10_000
        assert name in readme or Path(name).name in readme or name.startswith("runs/")


def test_both_election_files_say_the_same(make: ModuleType, ballots: list[tuple[int, list[str]]]) -> None:
    text = (EXAMPLES / "election.soc").read_text(encoding="utf-8").splitlines()
    names = {line.split()[3].rstrip(":"): line.split(": ")[1] for line in text if "ALTERNATIVE NAME" in line}
    orders = [line.split(": ") for line in text if not line.startswith("#")]
    assert [(int(count), [names[code] for code in order.split(",")]) for count, order in orders] == ballots


def test_clara_beats_everyone_in_a_duel(ballots: list[tuple[int, list[str]]]) -> None:
    duels: Counter[tuple[str, str]] = Counter()
    for count, order in ballots:
        for first, second in permutations(order, 2):
            duels[first, second] += count * (order.index(first) < order.index(second))
    rivals = set(ballots[0][1]) - {"Clara Lindqvist"}
    assert min(duels["Clara Lindqvist", rival] for rival in rivals) == 61


def test_plurality_and_instant_runoff_miss_her(ballots: list[tuple[int, list[str]]]) -> None:
    standing, winners = set(ballots[0][1]), []
    while len(standing) > 1:
        firsts: Counter[str] = Counter(dict.fromkeys(standing, 0))
        for count, order in ballots:
            firsts[next(name for name in order if name in standing)] += count
        winners.append(firsts.most_common(1)[0][0])
        standing.remove(min(firsts, key=lambda name: firsts[name]))
    assert winners[0] == "Ada Marsh"
    assert standing == {"Ben Okoro"}


@pytest.mark.parametrize("command", COMMANDS)
def test_the_commands_of_the_readme_run(command: str) -> None:
    words = [word for text in shlex.split(command)[1:] for word in matching(text)]
    module = [sys.executable, "-m", "concordant.cli", *words]
    done = subprocess.run(module, cwd=EXAMPLES.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def matching(word: str) -> list[str]:
    """Expand a pattern as a shell does."""
    found = sorted(path.as_posix() for path in EXAMPLES.parent.glob(word)) if "*" in word else []
    return found or [word]
