"""whole-history-rating: Coulom's rating system in Python, one player's walk at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.core import Inputs, Task

PRECISION = 1e-3  # of its ratings, in points of Elo: at ten games a player it has not settled before
SECONDS = 600


def whole_history(inputs: Inputs) -> Task:
    """Ratings of games added one by one, until they have settled."""
    from whr import whole_history_rating

    winner, loser, day = (inputs[name].tolist() for name in ("winner", "loser", "day"))
    points = 400 / np.log(10)

    def call() -> Any:
        base = whole_history_rating.WHR({"w2": float((inputs["drift"] * points) ** 2)})
        for one, other, when in zip(winner, loser, day, strict=True):
            base.create_game(f"i{one}", f"i{other}", "B", when, 0)
        base.auto_iterate(time_limit=SECONDS, precision=PRECISION)
        return base

    def answer(base: Any) -> dict[str, Any]:
        last = [base.ratings_for_player(f"i{item}")[-1][1] for item in range(inputs["items"])]
        return {"score": np.array(last) / points}

    return Task(call, answer)
