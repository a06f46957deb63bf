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
