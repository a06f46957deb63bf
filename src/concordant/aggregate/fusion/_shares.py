"""Table of the contributions of each list to the scores of the top items."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from concordant.ballots.segments import sum_by
from concordant.ballots.vocabulary import shorten
from concordant.models.observations.preference_counts import agent_of_ballot
from concordant.narrative.sentences import Scene, listed
from concordant.results.explanation import Reason
from concordant.support.text import number_format
from concordant.types import Floats, Int64s

LISTS = 6  # that have a column of their own
LABEL = 20


def shares_reason(scene: Scene, ballot: Int64s, slot: Int64s, share: Floats, sentences: Sequence[str]) -> Reason:
    """List the contributions of each list to the top items; ``share`` is the contribution of each entry to its slot.

    The lists of an agent are summed. If there are many lists, only those that contribute most to these items get a
    column.
    """
    prefs, top = scene.prefs, scene.top
    source = agent_of_ballot(prefs)[ballot].astype(np.int64)
    n = prefs.n_ballots if prefs.agents is None else len(prefs.agents)
    contribution = np.stack([sum_by(source[is_slot], share[is_slot], n) for is_slot in (slot == item for item in top)])
    names = [f"list {k + 1}" for k in range(n)] if prefs.agents is None else list(prefs.agents.labels)
    largest = np.argsort(-np.abs(contribution).sum(axis=0), kind="stable")
    columns = sorted(largest[:LISTS].tolist())
    rest = np.setdiff1d(np.arange(n), columns)
    score = scene.ranking.score
    write = number_format(np.round(np.append(contribution, score[top]), 9).tolist())
    rows = []
    for row, item in enumerate(top):
        by_list = [write(float(contribution[row, k])) if contribution[row, k] else "-" for k in columns]
        of_rest = [write(float(contribution[row, rest].sum()))] if len(rest) else []
        rows.append([str(scene.rank[item]), scene.names[item], *by_list, *of_rest, write(float(score[item]))])
    titles = _distinct([shorten(names[k], LABEL) for k in columns])
    header = ["rank", "item", *titles, *([f"{len(rest):,} others"] if len(rest) else []), "score"]
    first = scene.order[0]
    best = [
        shorten(names[k], LABEL)
        for k in np.argsort(-contribution[0], kind="stable")[:3].tolist()
        if contribution[0, k] > 0
    ]
    opening = [
        f"{scene.names[first]} is first of {len(scene.order):,}"
        + (f"; the largest contributions are from {listed(best)}." if best else ".")
    ]
    return Reason(
        "Contributions of each list", [*opening, *sentences], header, rows, frozenset(range(len(header))) - {1}
    )


def _distinct(names: list[str]) -> list[str]:
    """Append primes to names that are equal after shortening, or that equal the names of other columns."""
    taken = {"rank", "item", "score"}
    out = []
    for name in names:
        while name in taken:
            name += "'"
        taken.add(name)
        out.append(name)
    return out
