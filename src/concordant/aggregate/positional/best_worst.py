"""Best-worst counting (MaxDiff): how often an item is best minus how often it is worst, per time it was shown.

In best-worst scaling, respondents see sets of items and name the best and the worst of each. With b, w and t the
weights of the ballots that put an item first, put it last and mention it at all:

    share       (b - w) / t                      between -1 and 1
    difference  b - w
    logit       log((t + b - w) / (t - b + w))   closed-form estimate of a multinomial logit

A ballot is best > rest > worst; other rankings count by their first and last tier, which tied items share. The last
tier of an open ballot ("the rest") is not the worst. Ratings that are all 1, 0 or -1 are used as they are, so that
tables of counts per item can be scored. An item that is always best (or always worst) has an infinite logit; half a
ballot less keeps it finite. Standard errors treat ballots as independent draws from a multinomial distribution.

Use ``share`` if items were shown in different numbers, as in incomplete designs. ``plackett-luce`` on the same ballots
also accounts for the items that an item was shown with.

Cost: linear in the ballots. References: A. Finn and J. Louviere, Determining the appropriate response to evidence of
public concern, 1992; J. Louviere et al., An introduction to the application of (case 1) best-worst scaling, 2013; S.
Lipovetsky and M. Conklin, Best-worst scaling in analytical closed-form solution, 2014.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from concordant import views
from concordant.aggregate import options
from concordant.aggregate.common import snap_scores
from concordant.aggregate.explain.wording import Wording, score_table
from concordant.ballots.segments import sum_by
from concordant.method import Method, Outcome
from concordant.params import param
from concordant.preferences import Preferences
from concordant.ranking import Ranking
from concordant.results.explanation import Reason
from concordant.types import Floats

FEWEST = 0.5  # ballots that an item lacks to be always best, where the logit would be infinite


@dataclass(frozen=True, kw_only=True)
class BestWorst(Method):
    """Weight of the ballots that rank the item first minus those that rank it last, per ballot that mentions it."""

    usual_name = "Best-worst counts"
    silence = "the ballot does not count for them"
    waives = {
        "condorcet_consistency": "it ignores the order between the first and the last place",
    }
    aliases = {"maxdiff": {}, "best-worst-counts": {"score": "difference"}}

    score: str = param(
        "share",
        "share of the ballots, difference of counts, or logit estimate",
        choices=("share", "difference", "logit"),
    )
    level: float = options.level()

    def scores(self, prefs: Preferences) -> Outcome:
        """Return the scores with confidence intervals and the counts."""
        counts = count_best_worst(prefs)
        score, error = _SCORES[self.score](counts)
        half = NormalDist().inv_cdf((1 + self.level) / 2) * error
        bound = 1.0 if self.score == "share" else np.inf
        return Outcome(
            snap_scores(prefs, score),
            low=np.maximum(score - half, -bound),
            high=np.minimum(score + half, bound),
            details={"stderr": error},
            beside={"best": counts.best, "worst": counts.worst, "shown": counts.shown},
        )

    def reasons(self, prefs: Preferences, ranking: Ranking) -> Sequence[Reason]:
        """Explain the ranking by the counts."""
        words, best, counts = Wording(prefs), Wording.best(ranking), count_best_worst(prefs)
        slot = int(np.argmax(best))
        each = " each" if best.sum() > 1 else ""
        sentence = (
            f"{words.names(best)}: best {words.number(counts.best[slot])} times and worst "
            f"{words.number(counts.worst[slot])} times on {words.number(counts.shown[slot])} ballots{each}."
        )
        if best.sum() > 1:
            sentence = f"{words.names(best)} have the same score."
        columns = [[words.number(value) for value in column] for column in counts]
        return [
            Reason(words.heading(ranking, "best-worst counting"), (sentence,)),
            score_table(words, ranking, ["best", "worst", "shown"], columns),
        ]


class Counts(NamedTuple):
    """Weights of the ballots by slot: those that rank it first, those that rank it last, and those that mention it."""

    best: Floats
    worst: Floats
    shown: Floats


def count_best_worst(prefs: Preferences) -> Counts:
    """Count how often every slot is best, worst and mentioned; tied items share a place."""
    weight = views.weight_of_entry(prefs)
    if prefs.scale == "rating" and prefs.value is not None and bool(np.isin(prefs.value, (-1.0, 0.0, 1.0)).all()):
        is_first, is_last = (prefs.value > 0).astype(float), (prefs.value < 0).astype(float)
    else:
        groups = views.tiers(prefs)
        begins = groups.ptr[:-1] == prefs.indptr[groups.ballot]
        ends = groups.ptr[1:] == prefs.indptr[groups.ballot + 1]
        share = 1.0 / groups.size
        is_first = np.where(begins & ~ends, share, 0.0)[groups.of_entry]
        is_last = np.where(ends & ~begins & ~groups.is_open, share, 0.0)[groups.of_entry]
    best, worst, shown = (
        sum_by(prefs.entry_slot, weight * mark, prefs.n_slots) for mark in (is_first, is_last, np.ones(len(weight)))
    )
    return Counts(best, worst, shown)


def _share(counts: Counts) -> tuple[Floats, Floats]:
    """Return (best - worst) / shown and its standard error; 0 for items that were never shown."""
    shown = np.where(counts.shown > 0, counts.shown, 1.0)
    mean = (counts.best - counts.worst) / shown
    # With half a count more of each kind, an item that was always best still has a standard error.
    best, worst = (counts.best + 0.5) / (shown + 1.5), (counts.worst + 0.5) / (shown + 1.5)
    return mean, np.sqrt((best + worst - (best - worst) ** 2) / shown)


def _difference(counts: Counts) -> tuple[Floats, Floats]:
    """Return best - worst and its standard error."""
    return counts.best - counts.worst, _share(counts)[1] * counts.shown


def _logit(counts: Counts) -> tuple[Floats, Floats]:
    """Return log((t + b - w) / (t - b + w)) and its standard error by the delta method."""
    shown = np.where(counts.shown > 0, counts.shown, 1.0)
    bound = np.maximum(shown - FEWEST, 0.0)
    difference = np.clip(counts.best - counts.worst, -bound, bound)
    chance = (shown + difference) / (2 * shown)
    return np.log(chance / (1 - chance)), 1 / np.sqrt(2 * shown * chance * (1 - chance))


_SCORES = {"share": _share, "difference": _difference, "logit": _logit}
