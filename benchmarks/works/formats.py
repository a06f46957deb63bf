"""Reading: PrefLib elections, and votes reduced to pair counts while a csv file is read."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.core import Answer, Inputs, Size, Task, Work, folder, is_close, sizes

ELECTIONS = sizes("files orders alternatives", tiny=(3, 5, 4), small=(40, 100, 12), full=(400, 250, 25))
VOTES = sizes("votes items", tiny=(1000, 5), small=(200_000, 50), full=(10_000_000, 220))


# ---- PrefLib ----
def make_elections(size: Size, seed: int) -> Inputs:
    """Write soi files: each order ranks some of the alternatives."""
    rng = np.random.default_rng(seed)
    place = folder()
    n = size["alternatives"]
    names = "".join(f"# ALTERNATIVE NAME {k}: Candidate {k}\n" for k in range(1, n + 1))
    for file in range(size["files"]):
        orders = {",".join(map(str, rng.permutation(n)[: rng.integers(1, n + 1)] + 1)) for _ in range(size["orders"])}
        lines = [f"{rng.integers(1, 50)}: {order}" for order in sorted(orders)]
        counts = sum(int(line.split(":")[0]) for line in lines)
        head = f"# FILE NAME: {file:05d}.soi\n# TITLE: Election {file}\n# DESCRIPTION: \n# DATA TYPE: soi\n"
        head += "# MODIFICATION TYPE: original\n# RELATES TO: \n# RELATED FILES: \n# PUBLICATION DATE: 2026-01-01\n"
        head += f"# MODIFICATION DATE: 2026-01-01\n# NUMBER ALTERNATIVES: {n}\n# NUMBER VOTERS: {counts}\n"
        head += f"# NUMBER UNIQUE ORDERS: {len(lines)}\n{names}"
        (place / f"{file:05d}.soi").write_text(head + "\n".join(lines) + "\n", encoding="utf-8")
    return {"paths": sorted(str(path) for path in place.glob("*.soi"))}


def read_elections(inputs: Inputs) -> Task:
    """Read every file."""
    import concordant as cc

    return Task(lambda: [cc.read(path) for path in inputs["paths"]], answer_of_elections)


def answer_of_elections(elections: Any) -> Answer:
    """Return voters, and the sum of (position + 1) times alternative times count over all orders, per file."""
    voters, checks = [], []
    for prefs in elections:
        place = np.arange(len(prefs.item)) - np.repeat(prefs.indptr[:-1], np.diff(prefs.indptr)) + 1
        count = np.repeat(prefs.weight, np.diff(prefs.indptr))
        voters.append(prefs.weight.sum())
        checks.append((place * (prefs.item + 1) * count).sum())
    return {"voters": np.array(voters), "check": np.array(checks, np.float64)}


# ---- votes reduced while reading ----
def make_votes(size: Size, seed: int) -> Inputs:
    """Write a csv of votes between items, one in ten a tie."""
    import duckdb

    path = folder() / "votes.csv"
    n = size["items"]
    duckdb.sql(
        f"COPY (SELECT 'item-' || i AS winner, 'item-' || ((i + 1 + j) % {n}) AS loser, t AS tie, w AS weight FROM "
        f"(SELECT (hash(r * 4 + {seed}) % {n})::INT AS i, (hash(r * 4 + 1 + {seed}) % {n - 1})::INT AS j, "
        f"(hash(r * 4 + 2 + {seed}) % 10 = 0)::INT AS t, (1 + hash(r * 4 + 3 + {seed}) % 3)::INT AS w "
        f"FROM range({size['votes']}) AS x(r))) TO '{path}' (HEADER)"
    )
    return {"path": str(path)}


def reduce_votes(inputs: Inputs) -> Task:
    """Read and merge."""
    import concordant as cc

    def answer(prefs: Any) -> Answer:
        return {"weight": np.array([prefs.weight.sum()])}

    return Task(lambda: cc.read(inputs["path"], merge=True), answer)


WORKS = (
    Work("preflib", "read PrefLib files", ELECTIONS, make_elections, read_elections, {"preflibtools": 5.0}, is_close),
    Work(
        "merge-csv",
        "read a csv of votes, joining equal ones",
        VOTES,
        make_votes,
        reduce_votes,
        {"duckdb_sql": 1 / 1.3},
        is_close,
    ),
)
