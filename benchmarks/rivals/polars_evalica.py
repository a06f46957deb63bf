"""polars to read and evalica to rank: what a fast script for votes in a file looks like today."""

from __future__ import annotations

import sys
from typing import Any

from benchmarks.core import Answer, Inputs, Task
from benchmarks.rivals.evalica import scores_by_item

SCRIPT = """
import sys
import evalica, numpy, polars

path = sys.argv[1]
votes = polars.read_parquet(path) if path.endswith("parquet") else polars.read_csv(path)
scores = evalica.bradley_terry(votes["winner"], votes["loser"], [evalica.Winner.X] * len(votes)).scores
for label, score in zip(scores.index, numpy.log(scores).tolist()):
    print(label, score)
"""


def users_csv(inputs: Inputs) -> Task:
    """Read and rank in this process."""
    import evalica
    import polars

    path = inputs["path"]

    def call() -> Any:
        votes = polars.read_parquet(path) if path.endswith("parquet") else polars.read_csv(path)
        return evalica.bradley_terry(votes["winner"], votes["loser"], [evalica.Winner.X] * len(votes)).scores

    return Task(call, lambda scores: scores_by_item(inputs["items"], scores))


users_parquet = users_csv


def users_csv_shell(inputs: Inputs) -> Task:
    """Run the same as a script."""
    import evalica  # noqa: F401 - a library that is not there is said to be missing
    import polars  # noqa: F401

    from benchmarks.works.users.tables import printed, process

    def answer(text: str) -> Answer:
        return printed(inputs["items"], text, 0, 1)

    return process([sys.executable, "-c", SCRIPT, inputs["path"]], answer)


users_parquet_shell = users_csv_shell
