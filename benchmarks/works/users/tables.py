"""Votes in files: read and ranked in Python, and end to end from the shell."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.core import Answer, Inputs, Size, Task, Work, folder, is_close, sizes
from benchmarks.works.users import pairs

SIZES = sizes("votes items", tiny=(4000, 8), small=(200_000, 200), full=(1_000_000, 1000))
SHELL = {**SIZES, "full": {"votes": 10_000_000, "items": 1000}}
ORDERS = sizes("orders alternatives", tiny=(6, 5), small=(2000, 50), full=(20_000, 100))
COMMAND = str(Path(sys.executable).with_name("concordant"))


def make_file(ending: str) -> Callable[[Size, int], Inputs]:
    """Write the votes as a csv or a parquet file."""

    def make(size: Size, seed: int) -> Inputs:
        import duckdb
        import numpy as np

        drawn = pairs.make_ints(size, seed)
        path = folder() / f"votes.{ending}"
        with duckdb.connect() as connection:
            connection.register("votes", {key: drawn[key].astype(np.int32) for key in ("winner", "loser")})
            query = "SELECT 'i' || winner AS winner, 'i' || loser AS loser FROM votes"
            connection.execute(f"COPY ({query}) TO '{path}'")
        return {"path": str(path), "items": size["items"]}

    return make


def rank_file(inputs: Inputs) -> Task:
    """Read and rank: ``cc.rank(cc.read(path))``."""
    import concordant as cc

    return Task(lambda: pairs.shown(cc.rank(cc.read(inputs["path"]))), pairs.answer_of(inputs))


def rank_in_shell(inputs: Inputs) -> Task:
    """Run ``concordant rank FILE``; the printed table is the answer."""
    return process([COMMAND, "rank", inputs["path"]], lambda text: printed(inputs["items"], text, 1, 2))


def process(command: list[str], answer: Callable[[str], Answer]) -> Task:
    """Run a command and keep what it prints."""
    import subprocess

    def run() -> str:
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        return done.stdout.decode()

    return Task(run, answer)


def printed(items: int, text: str, label: int, score: int) -> Answer:
    """Read labels and scores off a printed table, by the places of these columns."""
    rows = [words for line in text.splitlines() if len(words := line.split()) > score and words[label][0] == "i"]
    rows = [words for words in rows if words[label][1:].isdigit()]
    return pairs.scores_by_item(items, [words[label] for words in rows], [float(words[score]) for words in rows])


def make_soc(size: Size, seed: int) -> Inputs:
    """Write a PrefLib file of complete orders."""
    import numpy as np

    rng = np.random.default_rng(seed)
    n, path = size["alternatives"], folder() / "00001-00000001.soc"
    drawn = (",".join(map(str, (rng.permutation(n) + 1).tolist())) for _ in range(size["orders"]))
    orders = list(dict.fromkeys(drawn))
    lines = [f"{count}: {order}" for count, order in zip(rng.integers(1, 9, len(orders)).tolist(), orders, strict=True)]
    voters = sum(int(line.split(":")[0]) for line in lines)
    head = "# FILE NAME: 00001-00000001.soc\n# TITLE: Election\n# DESCRIPTION: \n# DATA TYPE: soc\n"
    head += "# MODIFICATION TYPE: original\n# RELATES TO: \n# RELATED FILES: \n# PUBLICATION DATE: 2026-01-01\n"
    head += f"# MODIFICATION DATE: 2026-01-01\n# NUMBER ALTERNATIVES: {n}\n# NUMBER VOTERS: {voters}\n"
    head += f"# NUMBER UNIQUE ORDERS: {len(orders)}\n"
    head += "".join(f"# ALTERNATIVE NAME {k}: Candidate {k}\n" for k in range(1, n + 1))
    path.write_text(head + "\n".join(lines) + "\n", encoding="utf-8")
    return {"paths": [str(path)]}


def read_soc(inputs: Inputs) -> Task:
    """Read it: ``cc.read(path)``."""
    import concordant as cc

    def answer(elections: Any) -> Answer:
        from benchmarks.works import formats

        return formats.answer_of_elections(elections)

    return Task(lambda: [cc.read(path) for path in inputs["paths"]], answer)


CSV = Work(
    "users-csv",
    "read and rank a csv of votes",
    SIZES,
    make_file("csv"),
    rank_file,
    {"polars_evalica": 10.0},
    pairs.is_near,
    first={"polars_evalica": 3.0},
)
SHELL_CSV = CSV.but(
    "users-csv-shell",
    "concordant rank votes.csv, from the shell",
    sizes=SHELL,
    ours=rank_in_shell,
    rivals={"polars_evalica": 3.0},
    first=None,
)
WORKS = (
    CSV,
    CSV.but("users-parquet", "read and rank a parquet file of votes", make=make_file("parquet")),
    SHELL_CSV,
    SHELL_CSV.but("users-parquet-shell", "concordant rank votes.parquet, from the shell", make=make_file("parquet")),
    Work(
        "users-preflib-soc",
        "read a PrefLib file of complete orders",
        ORDERS,
        make_soc,
        read_soc,
        {"preflibtools": 5.0},
        is_close,
        first={"preflibtools": None},
    ),
)
