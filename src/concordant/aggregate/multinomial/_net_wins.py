"""Explanation by the net wins of the top items, and by the agents that decide between the first two."""

from __future__ import annotations

import numpy as np

from concordant import views
from concordant.ballots.segments import sum_by
from concordant.ballots.vocabulary import shorten
from concordant.models.observations.preference_counts import Corpus
from concordant.narrative.sentences import Scene, number
from concordant.results.explanation import Reason
from concordant.types import Floats

AGENTS = 8  # that a table lists
LABEL = 30


def net_wins_reasons(scene: Scene, corpus: Corpus, theta: Floats, decides: bool) -> list[Reason]:
    """Explain the ranking by the net wins of the top items; ``theta`` is the adherence of every ballot.

    ``decides`` says whether the order of the scores is exactly that of the net wins.
    """
    prefs, m = corpus.prefs, corpus.prefs.n_slots
    net = corpus.net * np.repeat(prefs.weight * theta, np.diff(prefs.indptr))
    wins, losses = (sum_by(prefs.entry_slot, np.maximum(sign * net, 0.0), m) for sign in (1, -1))
    named = views.ranked_weight(prefs)
    rows = [
        [
            str(scene.rank[slot]), scene.names[slot], number(named[slot]), number(wins[slot]), number(losses[slot]),
            number(wins[slot] - losses[slot]),
        ]
        for slot in scene.top
    ]  # fmt: skip
    header = ["rank", "item", "ballots", "wins", "losses", "net wins"]
    sentences = [
        "A ballot counts for an item, or against it, by its net preference for the item over the other items it ranks."
    ]
    if decides:
        sentences.append("The order of the scores is exactly the order of these net wins.")
    if not np.all(theta == 1):
        sentences.append("Every ballot is weighted by its agent's adherence to the consensus.")
    reasons = [Reason("Net wins", sentences, header, rows, frozenset(range(6)) - {1})]
    if len(scene.order) > 1 and prefs.agents is not None and prefs.agent is not None:
        reasons.append(_agents(scene, net))
    return reasons


def _agents(scene: Scene, net: Floats) -> Reason:
    """List the agents whose ballots contribute most to the difference between the first two, in either direction."""
    prefs, (first, second) = scene.prefs, scene.order[:2]
    assert prefs.agents is not None
    assert prefs.agent is not None
    agent, n = prefs.agent[views.ballot_of_entry(prefs)], len(prefs.agents)
    net_by_agent = [
        sum_by(agent[is_slot], net[is_slot], n) for is_slot in (prefs.entry_slot == slot for slot in (first, second))
    ]
    lead = net_by_agent[0] - net_by_agent[1]
    decisive = [k for k in np.argsort(-np.abs(lead), kind="stable")[:AGENTS].tolist() if lead[k]]
    adherence = scene.ranking.agents or {}
    rows = [
        [shorten(prefs.agents[k], LABEL), *([f"{adherence[prefs.agents[k]]:.3f}"] if adherence else []),
         number(net_by_agent[0][k]), number(net_by_agent[1][k])]
        for k in decisive
    ]  # fmt: skip
    n_for_first, n_for_second = int((lead > 0).sum()), int((lead < 0).sum())
    sentences = [
        f"{n_for_first:,} of {n:,} agents give {scene.names[first]} more net wins than {scene.names[second]}, "
        f"{n_for_second:,} fewer. The agents with the largest differences are:"
    ]
    header = ["agent", *(["adherence"] if adherence else []), "net wins of the 1st", "net wins of the 2nd"]
    return Reason("Who decides between the first two", sentences, header, rows, frozenset(range(1, len(header))))
