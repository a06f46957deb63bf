"""What each list gives the first items, as a table: who brought them up."""

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
    """Tell what each list gives each of the first items; ``share`` is by entry, of a ballot to a slot.

    The lists of an agent stand together. Where there are many, those that give these items most have a column.
    """
    prefs, top = scene.prefs, scene.top
    giver = agent_of_ballot(prefs)[ballot].astype(np.int64)
    n = prefs.n_ballots if prefs.agents is None else len(prefs.agents)
    given = np.stack([sum_by(giver[own], share[own], n) for own in (slot == one for one in top)])
    names = [f"list {k + 1}" for k in range(n)] if prefs.agents is None else list(prefs.agents.labels)
    largest = np.argsort(-np.abs(given).sum(axis=0), kind="stable")
    columns = sorted(largest[:LISTS].tolist())
    rest = np.setdiff1d(np.arange(n), columns)
    score = scene.ranking.score
    write = number_format(np.round(np.append(given, score[top]), 9).tolist())
    rows = []
    for at, one in enumerate(top):
        by_list = [write(float(given[at, k])) if given[at, k] else "-" for k in columns]
        others = [write(float(given[at, rest].sum()))] if len(rest) else []
        rows.append([str(scene.rank[one]), scene.names[one], *by_list, *others, write(float(score[one]))])
    titles = _distinct([shorten(names[k], LABEL) for k in columns])
    header = ["rank", "item", *titles, *([f"{len(rest):,} others"] if len(rest) else []), "score"]
    first = scene.order[0]
    best = [shorten(names[k], LABEL) for k in np.argsort(-given[0], kind="stable")[:3].tolist() if given[0, k] > 0]
    said = [
        f"{scene.names[first]} is first of {len(scene.order):,}"
        + (f"; most comes from {listed(best)}." if best else ".")
    ]
    return Reason("What each list gives", [*said, *sentences], header, rows, frozenset(range(len(header))) - {1})


def _distinct(names: list[str]) -> list[str]:
    """Number names that shortening has made equal, or that are those of other columns."""
    taken = {"rank", "item", "score"}
    out = []
    for name in names:
        while name in taken:
            name += "'"
        taken.add(name)
        out.append(name)
    return out
