"""choix: Luce's choice axiom in Python."""

from __future__ import annotations

import numpy as np

from benchmarks.core import Inputs, Task


def bradley_terry_lsr(inputs: Inputs) -> Task:
    """Iterated Luce spectral ranking, from a list of pairs built beforehand."""
    import choix

    data = list(zip(inputs["winner"].tolist(), inputs["loser"].tolist(), strict=True))
    return Task(
        lambda: choix.ilsr_pairwise(inputs["items"], data),
        lambda score: {"score": score - np.mean(score)},
    )


def plackett_luce(inputs: Inputs) -> Task:
    """Iterated Luce spectral ranking, from a list of rankings built beforehand."""
    import choix

    data = [tuple(ranking) for ranking in inputs["rankings"].tolist()]
    return Task(
        lambda: choix.ilsr_rankings(inputs["items"], data),
        lambda score: {"score": score - np.mean(score)},
    )


def users_ints(inputs: Inputs) -> Task:
    """Iterated Luce spectral ranking of the zipped columns, all by default."""
    import choix

    def call() -> np.ndarray:
        data = list(zip(inputs["winner"], inputs["loser"], strict=True))
        return choix.ilsr_pairwise(inputs["items"], data)

    return Task(call, lambda score: {"score": score - np.mean(score)})


users_int_lists = users_ints


def users_plackett_luce(inputs: Inputs) -> Task:
    """Iterated Luce spectral ranking, the labels numbered first."""
    import choix

    def call() -> np.ndarray:
        data = [[int(label[1:]) for label in ranking] for ranking in inputs["rankings"]]
        return choix.ilsr_rankings(inputs["items"], data)

    return Task(call, lambda score: {"score": score - np.mean(score)})


users_plackett_luce_many = users_plackett_luce
