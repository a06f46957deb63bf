"""How far methods agree: rank the same preferences several ways and compare the results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from concordant import metrics, views
from concordant.api import rank
from concordant.errors import InputError
from concordant.preferences import Preferences
from concordant.ranking import Ranking, align
from concordant.types import Floats
from concordant.vocabulary import shorten

if TYPE_CHECKING:
    from concordant.method import Method


@dataclass(frozen=True, eq=False)
class Comparison:
    """Rankings of the same preferences by several methods, with their agreement.

    ``tau`` is 1 - 2 x the normalised Kendall distance (ties count half), averaged over instances; ``distance`` is
    the mean distance of a ranking to the ballots, the share of their pairs it turns around.
    """

    rankings: tuple[Ranking, ...]
    names: tuple[str, ...]
    tau: Floats
    distance: Floats

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        return {
            "methods": [
                {
                    "method": name,
                    "top": _top(ranking, 10),
                    "distance": float(self.distance[k]),
                    "seconds": ranking.seconds,
                    "warnings": [str(notice) for notice in ranking.warnings],
                }
                for k, (name, ranking) in enumerate(zip(self.names, self.rankings, strict=True))
            ],
            "tau": self.tau.tolist(),
        }

    def __str__(self) -> str:
        rows = [["method", "distance", *self.names, "first"]]
        for k, (name, ranking) in enumerate(zip(self.names, self.rankings, strict=True)):
            first = " > ".join(shorten(label, 20) for label in _top(ranking, 4))
            rows.append([name, f"{self.distance[k]:.4f}", *(f"{t:.3f}" for t in self.tau[k]), first])
        lines = align(rows, right=set(range(1, 2 + len(self.names))))
        foot = "distance: mean share of the ballots' pairs turned around; the rest is tau between the methods"
        return "\n".join([*lines, "", foot])

    __repr__ = __str__


def compare(prefs: Preferences, methods: Sequence[str | Method]) -> Comparison:
    """Rank the preferences by every method and measure how far the rankings agree."""
    if not methods:
        raise InputError("There is nothing to compare: name at least one method.")
    rankings = tuple(rank(prefs, method) for method in methods)
    names = tuple(m if isinstance(m, str) else m.name for m in methods)
    ranks = np.stack([rank_of_slot(ranking) for ranking in rankings]).astype(np.float64)
    tau = np.zeros((len(rankings), len(rankings)))
    counted = 0
    for start, stop in zip(prefs.slot_ptr[:-1].tolist(), prefs.slot_ptr[1:].tolist(), strict=True):
        if stop - start < 2:
            continue
        tau += 1 - 2 * metrics.kendall_matrix(ranks[:, start:stop], normalised=True)
        counted += 1
    tau = tau / counted if counted else np.ones_like(tau)
    return Comparison(rankings, names, tau, distances_to_ballots(prefs, ranks))


def rank_of_slot(ranking: Ranking) -> Floats:
    """Return the rank of every slot, in slot order."""
    ranks = np.empty(len(ranking.score))
    ranks[ranking.order] = ranking.rank_in_order
    return ranks


def distances_to_ballots(prefs: Preferences, ranks: Floats) -> Floats:
    """Return, per ranking, the weighted share of the ballots' strict pairs it turns around; its ties count half.

    ``ranks`` has one row per ranking, one column per slot.
    """
    matrices = views.win_matrices(prefs, "ignore")
    turned, total = np.zeros(len(ranks)), 0.0
    for q in np.flatnonzero(matrices.size > 1).tolist():
        wins = matrices.matrix(q)
        here = ranks[:, prefs.slot_ptr[q] : prefs.slot_ptr[q + 1]]
        total += float(wins.sum())
        for k, rank_by_slot in enumerate(here):
            behind = np.sign(rank_by_slot[:, None] - rank_by_slot[None, :])
            turned[k] += float((wins * (behind + 1)).sum()) / 2
    return turned / total if total else turned


def _top(ranking: Ranking, n: int) -> list[str]:
    first = next(iter(ranking))
    return first.items[:n]
