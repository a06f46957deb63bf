"""What ordinary calls leave unloaded: libraries that take longer to import than the work takes.

Every test is a fresh process that runs several calls and prints, call by call, which heavy modules came in.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from concordant import kernels

pytestmark = pytest.mark.skipif(kernels.active() != "compiled", reason="NumPy's twins of some kernels use SciPy")
ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
ENGINES = [str(EXAMPLES / "runs" / f"engine{k}.run") for k in (1, 2)]
HEAVY = [
    "duckdb",
    "scipy",
    "sklearn",
    "pandas",
    "pyarrow",
    "narwhals",
    "highspy",
    "matplotlib",
    "rich",
    "numpy.testing",
]

WATCH = f"""
import json, sys
found = {{}}
def watch(name, call):
    before = set(sys.modules)
    call()
    new = [name for name in {[*HEAVY, "scipy.stats"]} if name in set(sys.modules) - before]
    if new:
        found[name] = new
"""
COMMANDS = """
from concordant.cli.__main__ import main
def run(words):
    try:
        main(words)
    except SystemExit as end:
        assert end.code == 0, words
for words in {lines}:
    watch(" ".join(words[:2]), lambda: run(words))
print(json.dumps(found), file=sys.stderr)
"""


def loaded(code: str) -> dict[str, list[str]]:
    """Run a program that watches calls; return which heavy modules each was the first to load."""
    done = subprocess.run([sys.executable, "-c", WATCH + code], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    answer: dict[str, list[str]] = json.loads(done.stderr.splitlines()[-1])
    return answer


def test_small_tables_runs_and_lists_need_neither_duckdb_nor_scipy(tmp_path: Path) -> None:
    fused = str(tmp_path / "fused.run")
    tables = [str(EXAMPLES / name) for name in ("election.csv", "model-votes.csv", "ratings.csv")]
    lines = [[command, path] for command in ("rank", "describe") for path in tables]
    lines += [["compare", tables[0], "--methods", "borda,copeland,schulze"], ["rank", tables[1], "--json"]]
    lines += [["convert", tables[1], str(tmp_path / "votes.jsonl")], ["rank", str(EXAMPLES / "election.soc")]]
    lines += [["fuse", *ENGINES, "-o", fused]]
    lines += [["evaluate", fused, ENGINES[0], "--labels", str(EXAMPLES / "qrels.txt"), "--metric", "map"]]
    lines += [["simulate", "mallows", "--items", "4", "--ballots", "5"]]
    lines += [[name] for name in ("methods", "learners", "losses", "metrics", "formats", "simulators", "experiments")]
    lines += [["train", "--help"], ["methods", "schulze"]]
    assert loaded(COMMANDS.format(lines=lines)) == {}


def test_training_and_scoring_load_of_scikit_learn_what_they_use(tmp_path: Path) -> None:
    model, rows = str(tmp_path / "model.zip"), str(EXAMPLES / "letor" / "train.txt")
    lines = [["train", rows, "-o", model], ["predict", model, rows], ["learners", "rank-svm"]]
    found = {name for names in loaded(COMMANDS.format(lines=lines)).values() for name in names}
    assert "sklearn" in found
    assert not found & {"pandas", "pyarrow", "scipy.stats", "numpy.testing", "matplotlib", "duckdb"}


@pytest.mark.parametrize("data", ["rankings", "pairs"])
def test_methods_need_no_scipy(data: str) -> None:
    code = """
import numpy as np
import concordant as cc
from concordant import registry
rng = np.random.default_rng(0)
orders = [[str(item) for item in rng.permutation(6)] for _ in range(20)]
winner, loser = rng.permuted(np.tile(np.arange(300), (3000, 1)), axis=1)[:, :2].T
pairs = cc.Preferences.from_pairs(winner.astype(str).tolist(), loser.astype(str).tolist())
agents = [f"agent {k}" for k in range(20)]
rated = ([a for a in agents for _ in range(6)], [x for one in orders for x in one], [5.0, 4.0, 3.0, 2.0, 1.0, 1.0] * 20)
sets = {"pairs": [pairs], "rankings": [
    cc.Preferences.from_rankings(orders, agent=agents), cc.Preferences.from_ratings(*rated)]}
def rank(name):
    for prefs in sets[DATA]:
        try:
            ranking = cc.rank(prefs, name)
            return ranking.items, str(ranking)
        except cc.ConcordantError:  # a method that needs something else
            pass
watch("default", lambda: rank(None))
for name in registry.names() if DATA == "rankings" else ["bradley-terry", "davidson", "elo", "borda"]:
    watch(name, lambda: rank(name))
print(json.dumps(found), file=sys.stderr)
"""
    found = loaded(f"DATA = {data!r}\n{code}")
    # an assignment problem, and dispersions within bounds: SciPy solves both
    assert found.keys() <= {"footrule", "cranking"}
