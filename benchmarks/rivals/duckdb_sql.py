"""DuckDB alone: the bare query, with column types known beforehand."""

from __future__ import annotations

import numpy as np

from benchmarks.core import Answer, Inputs, Task


def merge_csv(inputs: Inputs) -> Task:
    """Group the votes of a csv file."""
    import duckdb

    query = (
        f"SELECT winner, loser, tie, sum(weight) AS weight FROM read_csv('{inputs['path']}', auto_detect=false, "
        "header=true, columns={'winner': 'VARCHAR', 'loser': 'VARCHAR', 'tie': 'VARCHAR', 'weight': 'DOUBLE'}) "
        "GROUP BY ALL"
    )

    def call() -> dict[str, np.ndarray]:
        with duckdb.connect() as connection:
            return connection.sql(query).fetchnumpy()

    def answer(columns: dict[str, np.ndarray]) -> Answer:
        return {"weight": np.array([columns["weight"].sum()])}

    return Task(call, answer)
