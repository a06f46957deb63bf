"""PyFLAGR: rank aggregation in C++, from a csv file to a csv file."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.core import Answer, Inputs, Task


def borda(inputs: Inputs) -> Task:
    """Count points; the library divides them by the number of items."""
    from pyflagr.Linear import BordaCount

    return _aggregate(BordaCount, inputs, scale=len(inputs["rankings"][0]))


def copeland(inputs: Inputs) -> Task:
    """Hold every duel."""
    from pyflagr.Majoritarian import CopelandWinners

    return _aggregate(CopelandWinners, inputs, scale=1)


def _aggregate(method: Any, inputs: Inputs, scale: int) -> Task:
    """Aggregate a file written beforehand, in its form: query, voter, item, rank, score, data set."""
    folder = tempfile.TemporaryDirectory()
    path = Path(folder.name) / "rankings.csv"
    with open(path, "w", encoding="ascii") as file:
        for voter, ranking in enumerate(inputs["rankings"]):
            lines = (f"q,v{voter},{item},{rank},{len(ranking) - rank},x\n" for rank, item in enumerate(ranking, 1))
            file.writelines(lines)

    def aggregate() -> Any:
        _ = folder  # keeps the file as long as the task
        ordered, _ = method().aggregate(input_file=str(path))
        return ordered

    def answer(ordered: Any) -> Answer:
        # Scores are printed with six decimals; points are whole or half numbers.
        score = np.round(2 * scale * ordered["Score"].to_numpy()) / 2
        item = np.array([int(label[1:]) for label in ordered["ItemID"]])
        return {"instance": np.zeros(len(item)), "item": item, "score": score - score.mean()}

    return Task(aggregate, answer)
