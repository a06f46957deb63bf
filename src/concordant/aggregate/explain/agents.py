"""Explain the weights of agents: how much each of them counts in a ranking."""

from __future__ import annotations

from concordant.preferences import Preferences
from concordant.ranking import Ranking
from concordant.results.explanation import Reason

SHOWN = 10  # agents that an explanation lists


def weights_reason(prefs: Preferences, ranking: Ranking, sentence: str, column: str) -> list[Reason]:
    """List the agents with the largest weights, largest first; empty if the agents have no weights."""
    if not ranking.agents or prefs.agents is None:
        return []
    known = [(ranking.agents[agent], agent) for agent in prefs.agents.labels if agent in ranking.agents]
    by_weight = sorted(known, key=lambda row: -row[0])
    rows = [[agent, f"{weight:.3g}"] for weight, agent in by_weight[:SHOWN]]
    more = [f"The {SHOWN} agents with the largest weights are listed."] if len(by_weight) > SHOWN else []
    return [Reason("Weights of the agents", [sentence, *more], ["agent", column], rows, frozenset({1}))]
