"""preflibtools: the library's own Python tools."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.core import Answer, Inputs, Task


def preflib(inputs: Inputs) -> Task:
    """Parse every file into an OrdinalInstance."""
    from preflibtools.instances import OrdinalInstance

    def answer(elections: list[Any]) -> Answer:
        voters, checks = [], []
        for election in elections:
            counts = [election.multiplicity[order] for order in election.orders]
            voters.append(sum(counts))
            checks.append(
                sum(
                    count * place * alternative
                    for order, count in zip(election.orders, counts, strict=True)
                    for place, tied in enumerate(order, 1)
                    for alternative in tied
                )
            )
        return {"voters": np.array(voters, np.float64), "check": np.array(checks, np.float64)}

    return Task(lambda: [OrdinalInstance(path) for path in inputs["paths"]], answer)


users_preflib_soc = preflib
