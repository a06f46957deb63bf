"""Table of how many ballots rank each of the top items 1st, 2nd, 3rd, …, and how many leave it out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from concordant import views
from concordant.narrative.sentences import Scene, number, ordinal
from concordant.results.explanation import Reason

PLACES = 5  # that have a column of their own


def places_reason(scene: Scene, sentences: Sequence[str], more: Sequence[tuple[str, Sequence[str]]]) -> Reason:
    """List how many ballots rank each top item at each position; ``more`` are further columns (header, cells)."""
    prefs = scene.prefs
    place, is_named = views.competition_ranks(prefs), views.is_named(prefs)
    weight, total = views.weight_of_entry(prefs), float(prefs.weight.sum())
    m = len(scene.order)
    shown = min(PLACES, m)
    header = ["rank", "item", *(ordinal(k) for k in range(1, shown + 1)), *(["lower"] if m > shown else []), "left out"]
    rows = []
    for row, slot in enumerate(scene.top):
        entries = np.flatnonzero((prefs.entry_slot == slot) & is_named)
        places, votes = place[entries], weight[entries]
        counts = [float(votes[places == k].sum()) for k in range(1, shown + 1)]
        counts += [float(votes[places > shown].sum())] if m > shown else []
        cells = [number(count) for count in [*counts, max(total - float(votes.sum()), 0.0)]]
        rows.append([str(scene.rank[slot]), scene.names[slot], *cells, *(column[row] for _, column in more)])
    header += [name for name, _ in more]
    caption = "Ballots are counted by weight; tied items share the better position."
    return Reason("Positions on the ballots", [*sentences, caption], header, rows, frozenset(range(len(header))) - {1})
