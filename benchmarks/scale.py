"""The cost of counting and ranking votes, per row, per distinct pair and per item, and what it says about larger data.

    python -m benchmarks.scale                    # measure, fit the constants, check them and extrapolate
    python -m benchmarks.scale --sizes 1e6:300    # rows:items, as many as wanted

A vote is a winner and a loser (parquet, string labels) drawn from all pairs of items. Every figure is that of a process
of its own. The constants are fitted to all sizes but the one with most rows, which checks them.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

SIZES = ("1e6:300", "1e7:300", "1e6:100000", "1e7:100000", "1e7:1000000", "1e8:1000")
BEYOND = ((1e9, 1e3, 1e6), (1e10, 1e3, 1e6), (1e10, 1e6, 1e8), (1e10, 1e6, 1e10))  # rows, items, distinct pairs
WORKERS = 16
HOUR = 3600.0


def make(path: Path, rows: int, items: int) -> None:
    """Draw votes: item k beats item l with odds e^(4 (l - k) / items)."""
    import duckdb

    other = f"(a + 1 + floor(r * {items - 1})::INT) % {items}"
    duckdb.execute("SELECT setseed(0.17)")
    duckdb.execute(
        f"""COPY (
            SELECT 'model-' || (CASE WHEN won THEN a ELSE b END)::VARCHAR AS winner,
                'model-' || (CASE WHEN won THEN b ELSE a END)::VARCHAR AS loser
            FROM (SELECT a, {other} AS b, u < 1 / (1 + exp(-4.0 * ({other} - a) / {items})) AS won
                FROM (SELECT floor(random() * {items})::INT AS a, random() AS r, random() AS u FROM range({rows})))
        ) TO '{path}' (FORMAT parquet)"""
    )


def used() -> float:
    spent = resource.getrusage(resource.RUSAGE_SELF)
    return spent.ru_utime + spent.ru_stime


def peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def run_task(path: str, items: int) -> None:
    """Count a file, keep its sums, and rank them; print what each took."""
    import concordant as cc
    from concordant.engine.statistics import preferences_of_pairs
    from concordant.io._many import count_pairs
    from concordant.io._stored import PAIRS, Stored, parquet_of
    from concordant.tables.options import PREFERENCES, Options

    begin = used()
    counted = count_pairs(path, Options.of(PREFERENCES, {"reduce": True}), None)
    assert counted.tally is not None
    figures: dict[str, Any] = {"count": used() - begin, "count peak": peak(), "rows": counted.rows}
    figures |= {"distinct": len(counted.tally), "items": items, "file": Path(path).stat().st_size}
    figures["tally"] = counted.tally.nbytes
    begin = used()
    figures["sums"] = len(parquet_of(Stored(PAIRS, PAIRS, counted.columns, counted.tally, counted.rows)))
    figures["store"] = used() - begin
    begin, start = used(), time.perf_counter()
    ranking = cc.rank(preferences_of_pairs(counted.tally), "bradley-terry", prior=1.0)
    figures |= {"fit": used() - begin, "fit wall": time.perf_counter() - start, "peak": peak()}
    assert np.isfinite(ranking.scores).all()
    print(json.dumps(figures))


def measured(folder: Path, size: str) -> dict[str, float]:
    rows, items = (int(float(number)) for number in size.split(":"))
    path = folder / f"scale-{rows}-{items}.parquet"
    if not path.exists():
        make(part := path.with_suffix(".part"), rows, items)
        part.rename(path)
    command = [sys.executable, "-m", "benchmarks.scale", "--task", str(path), str(items)]
    found: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    path.unlink()
    return found


def fitted(runs: list[dict[str, float]], what: str, *by: str) -> dict[str, float]:
    """Return constants per unit and per run, not negative, that predict a figure with small relative errors."""
    from scipy.optimize import nnls

    y = np.array([run[what] for run in runs])
    X = np.column_stack([np.ones(len(runs)), *(np.array([run[name] for run in runs]) for name in by)])
    constants, _ = nnls(X / y[:, None], np.ones(len(y)))
    return dict(zip(("run", *by), constants.tolist(), strict=True))


SIZES_PER = {"file": "rows", "sums": "distinct", "tally": "distinct"}
MODEL = {
    "count": ("rows", "distinct"),
    "store": ("distinct", "items"),
    "fit": ("distinct", "items"),
    "count peak": ("distinct", "items"),
    "peak": ("distinct", "items"),
}


def predicted(constants: dict[str, float], about: dict[str, float]) -> float:
    return constants["run"] + sum(each * about[name] for name, each in constants.items() if name != "run")


def size(runs: list[dict[str, float]], what: str, per: str, about: dict[str, float]) -> float:
    """Return the bytes of a figure by those per row or pair of the run whose number of items is closest.

    They depend on how well labels repeat, which no constant tells.
    """
    like = min(runs, key=lambda run: (abs(np.log(run["items"] / about["items"])), -run["rows"]))
    return like[what] / like[per] * about[per]


def show(runs: list[dict[str, float]]) -> None:
    print("| rows | items | distinct pairs | file | sums | count | rank | peak |\n|" + "---|" * 8)
    for run in runs:
        sizes = f"{run['rows']:.0e} | {run['items']:.0e} | {run['distinct']:.2e} | {run['file'] / 1e6:.1f} MB"
        spent = f"{run['sums'] / 1e6:.2f} MB | {run['count']:.2f} s | {run['fit']:.2f} s | {run['peak'] / 1e9:.2f} GB"
        print(f"| {sizes} | {spent} |")
    known = sorted(runs, key=lambda run: run["rows"])
    rest = known[:-1] if len(known) > 3 else known
    model = {what: fitted(rest, what, *by) for what, by in MODEL.items()}
    print("\n| figure | " + " | ".join(("per run", "per row", "per distinct pair", "per item")) + " |\n|" + "---|" * 5)
    for what, constants in model.items():
        cells = [f"{constants[name]:.3g}" if name in constants else "" for name in ("run", "rows", "distinct", "items")]
        print(f"| {what} | {' | '.join(cells)} |")
    last = known[-1]
    print(f"\n{last['rows']:.0e} rows, {last['items']:.0e} items (not fitted): predicted / measured")
    for what, constants in model.items():
        print(f"  {what}: {predicted(constants, last):.3g} / {last[what]:.3g}")
    for what, per in SIZES_PER.items():
        print(f"  {what}: {size(rest, what, per, last):.3g} / {last[what]:.3g}")
    head = "rows | items | distinct pairs | files | sums | count CPU | rank CPU | peak | network | workers for 1 h"
    print(f"\n| {head} |\n|" + "---|" * 10)
    for rows, items, distinct in BEYOND:
        about = {"rows": rows, "items": items, "distinct": distinct}
        of = {what: predicted(constants, about) for what, constants in model.items()}
        of |= {what: size(known, what, per, about) for what, per in SIZES_PER.items()}
        sent = WORKERS * min(distinct, rows / WORKERS) / distinct * of["tally"]
        shown = [f"{rows:.0e}", f"{items:.0e}", f"{distinct:.0e}"]
        shown += [f"{of[what] / 1e9:.3g} GB" for what in ("file", "sums")]
        shown += [f"{of[what]:.3g} s" for what in ("count", "fit")]
        shown += [f"{of['peak'] / 1e9:.3g} GB", f"{sent / 1e9:.3g} GB", f"{np.ceil(of['count'] / HOUR):.0f}"]
        print(f"| {' | '.join(shown)} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", nargs="+", default=list(SIZES), help="rows:items")
    parser.add_argument("--folder", help="where files are made; a temporary folder by default")
    parser.add_argument("--results", help="JSON file to read or write figures")
    parser.add_argument("--task", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.task:
        run_task(given.task[0], int(given.task[1]))
        return
    store = Path(given.results) if given.results else None
    runs: list[dict[str, float]] = json.loads(store.read_text()) if store and store.exists() else []
    done = {(int(run["rows"]), int(run["items"])) for run in runs}
    with tempfile.TemporaryDirectory(prefix="concordant-scale-") as folder:
        for size in given.sizes:
            if tuple(int(float(number)) for number in size.split(":")) in done:
                continue
            runs.append(measured(Path(given.folder or folder), size))
            print(json.dumps(runs[-1]), flush=True)
            if store:
                store.write_text(json.dumps(runs))
    show(runs)


if __name__ == "__main__":
    main()
