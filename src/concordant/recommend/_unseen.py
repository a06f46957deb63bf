"""Rank held-out clicks among all items that an agent has not chosen before.

Clicks say what was chosen and nothing about the rest. Ranking held-out clicks among themselves therefore says nothing
(every order is perfect); the question is how high they rank among everything that could have been recommended.
"""

from __future__ import annotations

import numpy as np

from concordant.ballots.segments import spans
from concordant.ballots.vocabulary import Vocabulary
from concordant.recommend._observed import Observed
from concordant.types import Bools, Floats, Int32s, Int64s

AT_ONCE = 1 << 22  # candidates that are scored together
SAMPLE = 1 << 21  # candidates of a validation after every sweep


def is_implicit(observed: Observed) -> bool:
    """Return whether the ballots only say what was chosen: no ratings, and a single tier on every ballot."""
    return observed.value is None and not observed.has_order


def parts_of(observed: Observed, n_items: int, *, is_sample: bool = False) -> list[Int64s]:
    """Return the agents with ballots in parts that are scored together; with ``is_sample``, one part of limited size.

    Ratings are scored entry by entry, so that one part holds all their agents.
    """
    agents = np.unique(observed.agent_of_ballot[np.diff(observed.ptr) > 0]).astype(np.int64)
    if not is_implicit(observed):
        return [agents]
    size = max(1, (SAMPLE if is_sample else AT_ONCE) // max(n_items, 1))
    if is_sample:
        return [agents[np.unique(np.linspace(0, len(agents) - 1, min(size, len(agents))).astype(np.int64))]]
    return [agents[begin : begin + size] for begin in range(0, len(agents), size)]


def among_unseen(
    known_agents: Vocabulary, items: Vocabulary, seen: tuple[Int64s, Int32s], observed: Observed, agents: Int64s
) -> tuple[Int32s, Int32s, Int32s, Floats]:
    """Return the candidates of these agents: agent and item in the codes of the model, group, and label (1: chosen).

    Candidates are all items of the model that an agent had not chosen before, and held-out items that the model does
    not know (item -1), which it therefore cannot find. ``seen`` lists earlier choices by agent of the model.
    """
    code, item = known_agents.codes(observed.agents.labels)[agents], items.codes(observed.items.labels)
    is_candidate = np.ones((len(agents), len(items)), bool)
    known = np.flatnonzero(code >= 0)
    first, last = seen[0][code[known]], seen[0][code[known] + 1]
    is_candidate[np.repeat(known, last - first), seen[1][spans(first, last)]] = False
    row_of_agent = np.full(len(observed.agents), -1, np.int64)
    row_of_agent[agents] = np.arange(len(agents))
    row, chosen = row_of_agent[observed.agent], item[observed.item]
    is_found: Bools = (row >= 0) & (chosen >= 0)
    is_chosen = np.zeros_like(is_candidate)
    is_chosen[row[is_found], chosen[is_found]] = True
    rows, columns = np.nonzero(is_candidate | is_chosen)
    label = is_chosen[rows, columns]
    unknown = row[(row >= 0) & (chosen < 0)]
    if len(unknown):
        rows, columns = np.concatenate([rows, unknown]), np.concatenate([columns, np.full(len(unknown), -1)])
        label, order = np.concatenate([label, np.ones(len(unknown), bool)]), np.argsort(rows, kind="stable")
        rows, columns, label = rows[order], columns[order], label[order]
    return code[rows], columns.astype(np.int32), agents[rows].astype(np.int32), label.astype(np.float64)
