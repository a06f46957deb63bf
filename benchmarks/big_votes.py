"""Votes by the hundred million: what counting and ranking them costs beside a bare group-by of DuckDB.

    python -m benchmarks.big_votes                        # 1e6, 1e7 and 1e8 votes: seconds and peak memory
    python -m benchmarks.big_votes --files                # 1e7 votes in 1, 20 and 200 files, csv and parquet
    python -m benchmarks.big_votes --files 200 --rows 1e8 --items 1000 --formats parquet
    python -m benchmarks.big_votes --events 5e6           # what a method that needs all votes in order takes
    python -m benchmarks.big_votes --agents 1e8           # pair counts voter by voter within 4 GB
    python -m benchmarks.big_votes --instances 100000     # many small fits, one process and two

The files (parquet, string labels; 0.9 GB for 1e8 votes) are made in ``--folder``, a temporary one by default, and every
figure is that of a process of its own: the least of ``--repeats`` runs, and the most memory any took. ``--before``
names the Python of another checkout, which is measured in the same run, in turn with this one.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from concordant.engine.executors import Processes

ITEMS = 300
VOTERS = 1_000_000


def make(path: Path, rows: int) -> None:
    """Draw votes: item k beats item l with odds e^(4 (l - k) / items)."""
    import duckdb

    other = f"(a + 1 + floor(r * {ITEMS - 1})::INT) % {ITEMS}"
    duckdb.execute("SELECT setseed(0.17)")
    duckdb.execute(
        f"""COPY (
            SELECT 'model-' || lpad((CASE WHEN won THEN a ELSE b END)::VARCHAR, 4, '0') AS winner,
                'model-' || lpad((CASE WHEN won THEN b ELSE a END)::VARCHAR, 4, '0') AS loser,
                'voter-' || v::VARCHAR AS voter
            FROM (SELECT a, {other} AS b, u < 1 / (1 + exp(-4.0 * ({other} - a) / {ITEMS})) AS won, v
                FROM (SELECT floor(random() * {ITEMS})::INT AS a, random() AS r, random() AS u,
                    floor(random() * {VOTERS})::INT AS v FROM range({rows})))
        ) TO '{path}' (FORMAT parquet)"""
    )


def make_files(folder: Path, rows: int, items: int, files: int, ending: str, *, is_wide: bool) -> Path:
    """Draw votes in several files, with the columns judge and timestamp if they are wide; return their pattern."""
    import duckdb

    place = folder / f"{rows}-{items}-{files}-{ending}{'-wide' * is_wide}"
    place.mkdir(exist_ok=True)
    more = ", 'judge-' || hash(i) % 100000 AS judge, 1700000000 + 3 * i AS timestamp" if is_wide else ""
    other = f"(a + 1 + (hash(i, 1) % {items - 1})::INT) % {items}"
    won = f"hash(i, 2) % 1000 < 1000 / (1 + exp(-4.0 * ({other} - a) / {items}))"
    for k in range(files):
        duckdb.execute(
            f"""COPY (
                SELECT 'model-' || lpad((CASE WHEN won THEN a ELSE b END)::VARCHAR, 5, '0') AS winner,
                    'model-' || lpad((CASE WHEN won THEN b ELSE a END)::VARCHAR, 5, '0') AS loser{more}
                FROM (SELECT *, {other} AS b, {won} AS won
                    FROM (SELECT range AS i, (hash(range) % {items})::INT AS a
                        FROM range({k * rows // files}, {(k + 1) * rows // files})))
            ) TO '{place}/{k:04}.{ending}'"""
        )
    return place / f"*.{ending}"


# ---- what is measured, each in a process of its own ----
def bare(path: str) -> None:
    import duckdb

    duckdb.execute("SET enable_progress_bar=false")
    duckdb.execute(f"SELECT winner, loser, count(*) FROM '{path}' GROUP BY winner, loser").fetchnumpy()


def ours(path: str) -> None:
    import concordant as cc

    ranking = cc.rank(path, "bradley-terry", reduce=True)
    assert len(ranking.low) == len(ranking.items)


def counted(path: str) -> None:
    import concordant as cc

    assert cc.read(path, reduce=True).n_ballots


def events(path: str) -> None:
    import concordant as cc

    assert cc.rank(path, "elo", time="timestamp").items


def by_agent(path: str) -> None:
    from concordant.io._many import count_pairs
    from concordant.tables.options import PREFERENCES, Options

    counted = count_pairs(path, Options.of(PREFERENCES, {"agent": "voter", "reduce": True}), "4GB")
    assert counted.tally is not None
    assert int(counted.tally.sums["weight"].whole.sum()) == counted.rows


TASKS: dict[str, Callable[[str], None]] = {
    "bare": bare,
    "ours": ours,
    "counted": counted,
    "events": events,
    "agents": by_agent,
}


def run_task(name: str, path: str) -> None:
    start = time.perf_counter()
    TASKS[name](path)
    used = resource.getrusage(resource.RUSAGE_SELF)
    figures = {
        "wall": time.perf_counter() - start,
        "cpu": used.ru_utime + used.ru_stime,
        "peak": used.ru_maxrss / 2**20,
    }
    print(json.dumps(figures))


def measured(name: str, path: Path, repeats: int) -> dict[str, float]:
    (found,) = in_turn([(name, sys.executable)], path, repeats)
    return found


def in_turn(tasks: Sequence[tuple[str, str]], path: Path, repeats: int) -> list[dict[str, float]]:
    """Measure tasks, each with a Python, in turn: whatever else the machine does slows all of them alike."""
    runs: list[list[dict[str, float]]] = [[] for _ in tasks]
    for _ in range(repeats):
        for (name, python), own in zip(tasks, runs, strict=True):
            command = [python, __file__, "--task", name, str(path)]
            own.append(json.loads(subprocess.run(command, check=True, capture_output=True).stdout))
    return [{key: (max if key == "peak" else min)(run[key] for run in own) for key in own[0]} for own in runs]


def votes(folder: Path, rows: int) -> Path:
    path = folder / f"votes-{rows}.parquet"
    if not path.exists():
        make(part := path.with_suffix(".part"), rows)
        part.rename(path)  # whole or not at all
    return path


def show_curve(folder: Path, sizes: list[int], repeats: int) -> None:
    print("| rows | bare DuckDB group-by | Bradley-Terry with intervals | ratio | peak memory |\n|---|---|---|---|---|")
    for rows in sizes:
        path = votes(folder, rows)
        theirs, mine = (measured(name, path, repeats) for name in ("bare", "ours"))
        ratio, peak = mine["cpu"] / theirs["cpu"], mine["peak"]
        shown = (f"{one['wall']:.2f} s ({one['cpu']:.2f} s CPU)" for one in (theirs, mine))
        print(f"| {rows:.0e} | {' | '.join(shown)} | {ratio:.2f} | {peak:.2f} GB |", flush=True)


def show_files(folder: Path, said: argparse.Namespace) -> None:
    """Compare the folder of votes in several cuts with a bare group-by, and with another checkout."""
    befores = [("ours", said.before)] if said.before else []
    tasks = [("bare", sys.executable), ("counted", sys.executable), ("ours", sys.executable), *befores]
    heads = ["bare group-by", "counts", "Bradley-Terry with intervals", *(["before"] if befores else [])]
    print(f"| votes | {' | '.join(heads)} | ratio of counts | peak |\n|{'---|' * (len(heads) + 3)}")
    for ending in said.formats:
        for is_wide in (False, True):
            for files in said.files or [1, 20, 200]:
                pattern = make_files(folder, int(said.rows[0]), said.items, files, ending, is_wide=is_wide)
                found = in_turn(tasks, pattern, said.repeats)
                name = f"{files} {ending}{', further columns' * is_wide}"
                ratio, cells = found[1]["cpu"] / found[0]["cpu"], " | ".join(f"{one['cpu']:.2f} s" for one in found)
                print(f"| {name} | {cells} | {ratio:.2f} | {found[2]['peak']:.2f} GB |", flush=True)
                shutil.rmtree(pattern.parent)


def show_events(folder: Path, rows: int, said: argparse.Namespace) -> None:
    """Show what elo takes with a column of times."""
    for ending in said.formats:
        path = next(iter(sorted(make_files(folder, rows, said.items, 1, ending, is_wide=True).parent.iterdir())))
        tasks = [("events", sys.executable), *([("events", said.before)] if said.before else [])]
        shown = (f"{one['cpu']:.1f} s CPU, {one['peak']:.2f} GB" for one in in_turn(tasks, path, said.repeats))
        print(f"elo with times, {rows:.0e} votes, {ending}: {'; before: '.join(shown)}", flush=True)


def show_agents(folder: Path, rows: int) -> None:
    found = measured("agents", votes(folder, rows), 1)
    print(f"{rows:.0e} votes by voter: {found['wall']:.0f} s ({found['cpu']:.0f} s CPU), peak {found['peak']:.2f} GB")


# ---- many small instances ----
def show_instances(count: int, repeats: int) -> None:
    import numpy as np

    import concordant as cc
    from concordant.engine.executors import Processes
    from concordant.engine.instances import rank_in_chunks

    rng, size, ballots = np.random.default_rng(0), 6, 5
    order = rng.permuted(np.tile(np.arange(size), (count * ballots, 1)), axis=1)
    instance = np.repeat(np.arange(count), ballots)
    item = (rng.integers(0, 20_000, count)[instance][:, None] + order).reshape(-1)
    prefs = cc.Preferences(
        [f"d{k}" for k in range(20_000 + size)],
        np.arange(0, len(item) + 1, size),
        item,
        np.tile(np.arange(size), count * ballots),
        value=np.tile(np.arange(1.0, size + 1), count * ballots),
        scale="rank",
        instances=[f"q{k}" for k in range(count)],
        instance=instance,
        agents=[f"a{k}" for k in range(ballots)],
        agent=np.tile(np.arange(ballots), count),
    )
    theta = {f"a{k}": 0.2 * (k + 1) for k in range(ballots)}
    methods = (("plackett-luce", cc.PlackettLuce(prior=0.5)), ("theta-mpm", cc.MPM().with_learnt(theta=theta)))
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores at the start", flush=True)
    for name, method in methods:
        here = _least(lambda method=method: method.rank(prefs).uncertainty.known(), repeats)  # type: ignore[misc]
        spread = []
        for workers in (1, 2):
            with Processes(workers) as executor:
                rank_in_chunks(method, prefs, executor)  # the processes start and import
                call = partial(rank_in_chunks, method, prefs, executor)
                spread.append(_least(call, repeats, executor))
        one, two = spread
        print(f"{name}: here {here}; one process {one}; two {two}", flush=True)
        print(
            f"  two are {one.wall / two.wall:.2f} times as fast by the clock, {one.path / two.path:.2f} by the CPU "
            f"seconds that follow each other; {1e6 * (one.cpu - here.cpu) / count:.1f} us of CPU per instance more "
            f"than here; load {os.getloadavg()[0]:.1f}",
            flush=True,
        )


@dataclass(frozen=True)
class Cost:
    """Seconds of one run: by the clock, of CPU in this process, and of CPU in each worker."""

    wall: float
    here: float
    workers: tuple[float, ...] = ()

    @property
    def cpu(self) -> float:
        return self.here + sum(self.workers)

    @property
    def path(self) -> float:
        """What must follow each other: this process and the busiest worker. A free core each would take so long."""
        return self.here + max(self.workers, default=0.0)

    def __str__(self) -> str:
        return f"{self.wall:.2f} s ({self.cpu:.2f} s CPU)"


def _least(call: Callable[[], object], repeats: int, executor: Processes | None = None) -> Cost:
    """Return the quickest of some runs."""
    runs = []
    for _ in range(repeats):
        start, used, before = time.perf_counter(), time.process_time(), _used_by(executor)
        call()
        wall, here = time.perf_counter() - start, time.process_time() - used
        spent = zip(_used_by(executor), before, strict=True)
        runs.append(Cost(wall, here, tuple(after - began for after, began in spent)))
    return min(runs, key=lambda run: run.wall)


def _used_by(executor: Processes | None) -> list[float]:
    """Return the CPU seconds of every worker so far: calls go to them in turn."""
    if executor is None:
        return []
    futures = sorted((executor.submit(time.process_time) for _ in range(executor.workers)), key=lambda one: one.worker)
    return [executor.result(one) for one in futures]


def main() -> None:
    """Measure what the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", nargs="+", type=float)
    parser.add_argument("--files", nargs="*", type=int)
    parser.add_argument("--items", type=int, default=ITEMS)
    parser.add_argument("--formats", nargs="+", default=["csv", "parquet"])
    parser.add_argument("--before", help="Python of another checkout to measure in the same run")
    parser.add_argument("--events", type=float)
    parser.add_argument("--agents", type=float)
    parser.add_argument("--instances", type=int)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--task", nargs=2, help=argparse.SUPPRESS)
    said = parser.parse_args()
    if said.task:
        run_task(*said.task)
        return
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # as the command line asks for; idle threads of BLAS spin
    if said.instances:
        show_instances(said.instances, said.repeats)
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = said.folder or Path(temporary)
        if said.files is not None:
            said.rows = said.rows or [1e7]
            show_files(folder, said)
        elif said.events:
            show_events(folder, int(said.events), said)
        elif said.agents:
            show_agents(folder, int(said.agents))
        else:
            show_curve(folder, [int(rows) for rows in said.rows or [1e6, 1e7, 1e8]], said.repeats)


if __name__ == "__main__":
    main()
