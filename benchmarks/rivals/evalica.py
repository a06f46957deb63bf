"""evalica: pairwise rankings in Rust."""

from __future__ import annotations

from typing import Any

from benchmarks.core import Answer, Inputs, Task


def bradley_terry(inputs: Inputs) -> Task:
    """Estimate the scores; no standard errors."""
    import evalica

    winners = [evalica.Winner.X] * len(inputs["winner"])
    return Task(
        lambda: evalica.bradley_terry(inputs["winner"], inputs["loser"], winners, limit=1000).scores,
        lambda scores: scores_by_item(inputs["items"], scores),
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

    return Task(resample, lambda result: scores_by_item(inputs["items"], result.result.scores))


def users_strings(inputs: Inputs) -> Task:
    """Estimate the scores of columns, all by default."""
    return _default(inputs["winner"], inputs["loser"], inputs["items"])


users_text_arrays = users_int_lists = users_ints = users_large = users_strings


def users_pandas(inputs: Inputs) -> Task:
    """Estimate the scores of the columns of a DataFrame."""
    return _default(inputs["frame"]["winner"], inputs["frame"]["loser"], inputs["items"])


users_polars = users_pandas


def _default(winner: Any, loser: Any, items: int) -> Task:
    import evalica

    def call() -> Any:
        return evalica.bradley_terry(winner, loser, [evalica.Winner.X] * len(winner)).scores

    return Task(call, lambda scores: scores_by_item(items, scores))


def users_instances(inputs: Inputs) -> Task:
    """Estimate the scores of one instance after the other; those who never won or lost stay where the limit ends."""
    import evalica

    votes, n = inputs["votes"], inputs["instances"]

    def call() -> list[Any]:
        winners = [evalica.Winner.X] * votes
        found = []
        for first in range(0, n * votes, votes):
            rows = slice(first, first + votes)
            found.append(evalica.bradley_terry(inputs["winner"][rows], inputs["loser"][rows], winners).scores)
        return found

    def answer(found: list[Any]) -> Answer:
        import numpy as np

        logs = [np.log(np.maximum(scores.sort_index().to_numpy(), 1e-12)) for scores in found]
        return {"score": np.concatenate([score - score.mean() for score in logs])}

    return Task(call, answer)


def scores_by_item(items: int, scores: Any) -> Answer:
    """Write strengths as scores, by the number in their label."""
    import numpy as np

    score = np.zeros(items)
    score[[int(str(label).removeprefix("i")) for label in scores.index]] = np.log(scores.to_numpy())
    return {"score": score - score.mean()}
