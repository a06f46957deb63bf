"""Evaluate rankings against known labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from concordant import kernels
from concordant import metrics as measures
from concordant.errors import InputError
from concordant.gather import segment_index
from concordant.labels import Labels
from concordant.preferences import Preferences
from concordant.ranking import Ranking, align
from concordant.types import Floats
from concordant.vocabulary import Vocabulary


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Metric values per instance and their means. ``evaluation["map"]`` is a mean, ``per_instance["map"]`` all."""

    per_instance: Mapping[str, Floats]
    instances: Vocabulary | None
    n_without_labels: int = 0

    @property
    def means(self) -> dict[str, float]:
        """The mean of every metric over the instances (skipped instances left out)."""
        return {name: measures.mean(values) for name, values in self.per_instance.items()}

    def __getitem__(self, metric: str) -> float:
        return self.means[str(measures.parse(metric))]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        names = [None] if self.instances is None else self.instances.labels
        rows = {
            metric: [None if np.isnan(v) else v for v in values.tolist()]
            for metric, values in self.per_instance.items()
        }
        return {
            "means": {metric: None if np.isnan(mean) else mean for metric, mean in self.means.items()},
            "instances": [
                {"instance": name, **{metric: values[q] for metric, values in rows.items()}}
                for q, name in enumerate(names)
            ],
            "without_labels": self.n_without_labels,
        }

    def __str__(self) -> str:
        return "\n".join(align([[name, f"{mean:.4f}"] for name, mean in self.means.items()], right={1}))

    __repr__ = __str__


def evaluate(
    ranking: Ranking,
    labels: Labels,
    metrics: Sequence[str | measures.Metric] | str = ("ndcg@10", "map"),
    *,
    unjudged: str = "zero",
) -> Evaluation:
    """Evaluate a ranking against labels; instances of the ranking without any label count as empty.

    Ties are broken by input order. ``unjudged="skip"`` leaves unjudged items out of the lists instead of counting
    them as irrelevant.
    """
    if unjudged not in ("zero", "skip"):
        raise InputError(f"unjudged={unjudged!r} is not a choice: use 'zero' or 'skip'.")
    wanted = [metrics] if isinstance(metrics, str) else list(metrics)
    ptr, item, label, _ = labels.aligned(ranking.instances, ranking.vocabulary)
    n_items = len(ranking.vocabulary) + len(labels.items)
    ranked = kernels.join_labels(ranking.slot_ptr, ranking.ranked_item, ptr, item, label, n_items)
    values = measures.evaluate_ranked(ranked, ranking.slot_ptr, label, ptr, wanted, unjudged=unjudged, joined=True)
    return Evaluation(values, ranking.instances, int((np.diff(ptr) == 0).sum()))


def ranking_of_run(prefs: Preferences) -> Ranking:
    """Order a search run the way trec_eval does: by score in single precision, then by document id, descending.

    Preferences with ranks instead of scores are ordered by rank. One agent only: a run is one system's answer.
    """
    if prefs.n_agents is not None and prefs.n_agents > 1:
        raise InputError(f"A run is the answer of one system, here are {prefs.n_agents}: select one agent.")
    if prefs.value is None:
        raise InputError("A run needs scores or ranks: give a TREC run or a table with a rank or score column.")
    score = prefs.value if prefs.scale == "rating" else -prefs.value
    by_slot = np.full(prefs.n_slots, score.min(initial=0.0) - 1.0)
    by_slot[prefs.entry_slot] = score.astype(np.float32)
    labels = prefs.items.labels
    place = np.empty(len(labels), np.int64)
    place[sorted(range(len(labels)), key=labels.__getitem__, reverse=True)] = np.arange(len(labels))
    order = np.lexsort((place[prefs.slot_item], segment_index(prefs.slot_ptr)))
    return Ranking(
        vocabulary=prefs.items,
        slot_ptr=prefs.slot_ptr,
        slot_item=prefs.slot_item[order],
        score=by_slot[order],
        instances=prefs.instances,
        method="run",
    )
