"""corankco: exact Kemeny (PuLP, CBC) and BioConsert; its consensus may have ties."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.core import Answer, Inputs, Task
from benchmarks.works.kemeny import total_distance


def _task(inputs: Inputs, algorithm: Any) -> Task:
    from corankco.dataset import Dataset
    from corankco.scoringscheme import ScoringScheme

    rankings = inputs["rankings"]

    def solve() -> Any:
        dataset = Dataset.from_raw_list([[{label} for label in ranking] for ranking in rankings])
        scheme = ScoringScheme.get_unifying_scoring_scheme_p(0.5)
        return algorithm.compute_consensus_rankings(dataset, scheme, True)

    def answer(consensus: Any) -> Answer:
        tiers = [[str(label) for label in bucket] for bucket in consensus.consensus_rankings[0]]
        return {"total": np.array([total_distance(tiers, rankings)])}

    return Task(solve, answer)


def kemeny(inputs: Inputs) -> Task:
    """Solve the integer programme with what comes with the package."""
    from corankco.algorithms.exact.exactalgorithmpulp import ExactAlgorithmPulp

    return _task(inputs, ExactAlgorithmPulp())


def local_search(inputs: Inputs) -> Task:
    """Run BioConsert from every input ranking, as it does by default."""
    from corankco.algorithms.bioconsert.bioconsert import BioConsert

    return _task(inputs, BioConsert())
