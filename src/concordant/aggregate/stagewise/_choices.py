"""How often items were chosen, and how often their scores, or mere chance, would have it."""

from __future__ import annotations

import numpy as np

from concordant import kernels, views
from concordant.models.observations.stages import CHOSEN, REST, Stages, worths
from concordant.narrative.sentences import Scene, number
from concordant.results.explanation import Reason
from concordant.types import Floats


def choices_reason(scene: Scene, stages: Stages) -> Reason:
    """List how often the first items were chosen, first and at any stage, and how often that was expected.

    A tier chosen from the rest counts as one choice, shared by its items in proportion to worth.
    """
    worth = worths(scene.ranking.score)
    heads = _heads(stages)
    first, first_expected = _chosen(heads, worth)
    chosen, expected = _chosen(stages, worth)
    by_chance = _chosen(stages, np.ones(len(worth)))[1]
    named = views.ranked_weight(scene.prefs)
    rows = [
        [
            str(scene.rank[slot]), scene.names[slot], number(named[slot]), _written(first[slot]),
            f"{first_expected[slot]:.1f}", _written(chosen[slot]), f"{expected[slot]:.1f}", f"{by_chance[slot]:.1f}",
        ]
        for slot in scene.top
    ]  # fmt: skip
    leader = scene.order[0]
    sentences = [
        "A ballot is read from the top: at every step one of those left is chosen, in proportion to e^score.",
        f"{scene.names[leader]} was chosen {_written(chosen[leader])} times, where equal chances would give "
        f"{by_chance[leader]:.1f} and these scores give {expected[leader]:.1f}; the scores are those for which the "
        "first and the last agree, but for the prior.",
    ]
    if len(scene.order) > 1:
        second = scene.order[1]
        odds = float(worth[leader] / worth[second])
        sentences.append(
            f"From the two alone, {scene.names[leader]} would be chosen {odds:.3g} times as often as "
            f"{scene.names[second]}."
        )
    header = ["rank", "item", "ballots", "first", "expected first", "chosen", "expected", "by equal chances"]
    return Reason("How often they were chosen", sentences, header, rows, frozenset(range(8)) - {1})


def _written(count: float) -> str:
    """Return a count as text: whole, or with a decimal where tiers share."""
    return number(count) if abs(count - round(count)) < 1e-9 else f"{count:,.1f}"


def _chosen(stages: Stages, worth: Floats) -> tuple[Floats, Floats]:
    """Return how often every slot was chosen (tiers share by worth), and how often that was expected."""
    _, gain, rate = kernels.stage_sums(stages.rows, worth)
    return stages.wins + worth * gain, worth * rate


def _heads(stages: Stages) -> Stages:
    """Return the stages with only the first choice of every ballot."""
    mark = np.where(stages.mark == CHOSEN, REST, stages.mark).astype(np.uint8)
    start = stages.indptr[:-1][np.diff(stages.indptr) > 0]
    mark[start] = stages.mark[start]
    return Stages(stages.slot_ptr, stages.ballot_ptr, stages.indptr, stages.slot, mark, stages.weight)
