"""evalica: pairwise rankings in Rust."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.core import Answer, Inputs, Task


def bradley_terry(inputs: Inputs) -> Task:
    """Estimate the scores; no standard errors."""
    import evalica

    winners = [evalica.Winner.X] * len(inputs["winner"])
    return Task(
        lambda: evalica.bradley_terry(inputs["winner"], inputs["loser"], winners, limit=1000).scores,
        lambda scores: _answer(inputs["items"], scores),
    )


bradley_terry_str = bradley_terry


def bradley_terry_ci(inputs: Inputs) -> Task:
    """Resample the votes 100 times."""
    import evalica

    winners = [evalica.Winner.X] * len(inputs["winner"])

    def resample() -> Any:
        return evalica.bootstrap(
            evalica.bradley_terry,
            inputs["winner"],
            inputs["loser"],
            winners,
            n_resamples=100,
            bootstrap_method="percentile",
            random_state=0,
        )

    return Task(resample, lambda result: _answer(inputs["items"], result.result.scores))


def _answer(items: int, scores: Any) -> Answer:
    score = np.zeros(items)
    score[[int(str(label).removeprefix("i")) for label in scores.index]] = np.log(scores.to_numpy())
    return {"score": score - score.mean()}
