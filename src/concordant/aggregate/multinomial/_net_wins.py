"""Net wins of the first items, and whose ballots decide between the first two."""

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
    """Tell by how much the ballots preferred the first ones to others; ``theta`` is how far each ballot counts."""
    prefs, m = corpus.prefs, corpus.prefs.n_slots
    net = corpus.net * np.repeat(prefs.weight * theta, np.diff(prefs.indptr))
    up, down = (sum_by(prefs.entry_slot, np.maximum(sign * net, 0.0), m) for sign in (1, -1))
    named = views.ranked_weight(prefs)
    rows = [
        [
            str(scene.rank[slot]), scene.names[slot], number(named[slot]), number(up[slot]), number(down[slot]),
            number(up[slot] - down[slot]),
        ]
        for slot in scene.top
    ]  # fmt: skip
    header = ["rank", "item", "ballots", "ballots for it, in total", "against it", "net wins"]
    said = ["A ballot counts by how far it puts an item above the others it names, and against it likewise."]
    if decides:
        said.append("The order of the scores is exactly the order of these net wins.")
    if not np.all(theta == 1):
        said.append("Every ballot is weighed by how far its agent follows the consensus.")
    reasons = [Reason("Net wins", said, header, rows, frozenset(range(6)) - {1})]
    if len(scene.order) > 1 and prefs.agents is not None and prefs.agent is not None:
        reasons.append(_agents(scene, net))
    return reasons


def _agents(scene: Scene, net: Floats) -> Reason:
    """List the agents whose ballots decide most between the first two, either way."""
    prefs, (one, two) = scene.prefs, scene.order[:2]
    assert prefs.agents is not None
    assert prefs.agent is not None
    agent, n = prefs.agent[views.ballot_of_entry(prefs)], len(prefs.agents)
    given = [sum_by(agent[own], net[own], n) for own in (prefs.entry_slot == slot for slot in (one, two))]
    lead = given[0] - given[1]
    most = [k for k in np.argsort(-np.abs(lead), kind="stable")[:AGENTS].tolist() if lead[k]]
    adherence = scene.ranking.agents or {}
    rows = [
        [shorten(prefs.agents[k], LABEL), *([f"{adherence[prefs.agents[k]]:.3f}"] if adherence else []),
         number(given[0][k]), number(given[1][k])]
        for k in most
    ]  # fmt: skip
    for_one, for_two = int((lead > 0).sum()), int((lead < 0).sum())
    said = [
        f"{for_one:,} of {n:,} agents give {scene.names[one]} more net wins than {scene.names[two]}, "
        f"{for_two:,} fewer; those with the largest differences:"
    ]
    header = ["agent", *(["adherence"] if adherence else []), "for the 1st", "for the 2nd"]
    return Reason("Whose ballots decide between the first two", said, header, rows, frozenset(range(1, len(header))))
