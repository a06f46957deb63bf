"""Explanation of choice models: how often items were chosen, and the expected numbers."""

from __future__ import annotations

import numpy as np

from concordant import kernels, views
from concordant.models.observations.stages import CHOSEN, REST, Stages, worths
from concordant.narrative.sentences import Scene, number
from concordant.results.explanation import Reason
from concordant.types import Floats


def choices_reason(scene: Scene, stages: Stages) -> Reason:
    """List how often the top items were chosen, first and at any stage, with the expected numbers.

    A tier chosen from the remaining items counts as one choice, shared by its items in proportion to worth.
    """
    worth = worths(scene.ranking.own_score)
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
        "A ballot is a sequence of choices: each step chooses one of the remaining items with probability "
        f"proportional to {_worth(scene)}.",
        f"{scene.names[leader]} was chosen {_written(chosen[leader])} times; {by_chance[leader]:.1f} are "
        f"expected with equal probabilities and {expected[leader]:.1f} with these scores. At the maximum "
        f"likelihood, actual and expected numbers agree, apart from the prior.",
    ]
    if len(scene.order) > 1:
        second = scene.order[1]
        odds = float(worth[leader] / worth[second])
        sentences.append(
            f"In a choice between the two, {scene.names[leader]} would be chosen {odds:.3g} times as often as "
            f"{scene.names[second]}."
        )
    header = ["rank", "item", "ballots", "first", "expected first", "chosen", "expected", "at random"]
    return Reason("Numbers of choices", sentences, header, rows, frozenset(range(8)) - {1})


def _worth(scene: Scene) -> str:
    """Return the formula of the worth of an item from its score."""
    converted = scene.ranking.converted
    return "e^score" if converted is None else f"10^(score / {converted.scale.points:g})"


def _written(count: float) -> str:
    """Return a count as text: as an integer, or with one decimal if tiers share choices."""
    return number(count) if abs(count - round(count)) < 1e-9 else f"{count:,.1f}"


def _chosen(stages: Stages, worth: Floats) -> tuple[Floats, Floats]:
    """Return how often every slot was chosen (tiers share by worth), and the expected number."""
    _, gain, rate = kernels.stage_sums(stages.rows, worth)
    return stages.wins + worth * gain, worth * rate


def _heads(stages: Stages) -> Stages:
    """Return the stages with only the first choice of every ballot."""
    mark = np.where(stages.mark == CHOSEN, REST, stages.mark).astype(np.uint8)
    start = stages.indptr[:-1][np.diff(stages.indptr) > 0]
    mark[start] = stages.mark[start]
    return Stages(stages.slot_ptr, stages.ballot_ptr, stages.indptr, stages.slot, mark, stages.weight)
