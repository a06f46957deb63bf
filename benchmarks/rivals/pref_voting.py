"""pref_voting: a laboratory of voting rules in Python and numba."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.core import Answer, Inputs, Task


def _profile(inputs: Inputs) -> Any:
    """Number the labels and build the profile, as its users do."""
    from pref_voting.profiles import Profile

    code = {label: k for k, label in enumerate(inputs["rankings"][0])}
    return Profile([[code[label] for label in ranking] for ranking in inputs["rankings"]])


def _points(inputs: Inputs, count: Callable[[Any], dict[int, float]]) -> Task:
    labels = inputs["rankings"][0]

    def call() -> list[tuple[str, float]]:
        points = count(_profile(inputs))
        return sorted(((labels[k], score) for k, score in points.items()), key=lambda pair: -pair[1])

    def answer(scored: list[tuple[str, float]]) -> Answer:
        import numpy as np

        score = np.array([points for _, points in scored], float)
        item = np.array([int(label[1:]) for label, _ in scored])
        return {"instance": np.zeros(len(item)), "item": item, "score": score - score.mean()}

    return Task(call, answer)


def users_borda(inputs: Inputs) -> Task:
    """Count Borda's points."""
    import pref_voting  # noqa: F401

    return _points(inputs, lambda profile: profile.borda_scores())


def users_copeland(inputs: Inputs) -> Task:
    """Count duels won, ties half: theirs are wins minus losses, so half of that."""
    import pref_voting  # noqa: F401

    def count(profile: Any) -> dict[int, float]:
        return {k: score / 2 for k, score in profile.copeland_scores().items()}

    return _points(inputs, count)


def _winners(inputs: Inputs, elect: Callable[[Any], list[int]]) -> Task:
    labels = inputs["rankings"][0]

    def answer(winners: list[int]) -> Answer:
        import numpy as np

        return {"first": np.sort([int(labels[k][1:]) for k in winners])}

    return Task(lambda: elect(_profile(inputs)), answer)


def users_schulze(inputs: Inputs) -> Task:
    """Elect by the strongest paths."""
    from pref_voting.margin_based_methods import beat_path

    return _winners(inputs, beat_path)


def users_ranked_pairs(inputs: Inputs) -> Task:
    """Elect by ranked pairs, ties between them broken by one order."""
    from pref_voting.margin_based_methods import ranked_pairs_zt

    return _winners(inputs, ranked_pairs_zt)
