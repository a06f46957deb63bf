"""Features from expert ranks, fused scores and agreement between experts.

Columns, all on scales that are comparable between queries, 0 if missing:

- per expert: ``height``, which decreases with the rank from 1 for the first to just above 0; ``log height``, the same
  for the logarithm of the rank; ``agreement``, the correlation of its reciprocal ranks with the sum of the others',
  over the documents it ranks (the same for all documents of the query)
- of the document: ``support``, the share of the query's lists that contain it; the ``best`` and the ``mean`` log height
  it has in them; ``net wins`` per list and other document
- per fusion method of ``methods``: its score, standardised within the query, and its rank scaled from 1 (best) to 0

They suit boosted trees, which learn non-linear functions of a rank; for linear rankers use ``ExpertFeatures``. Cost:
linear in the entries, plus the cost of the fusion methods.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from concordant import registry, views
from concordant.ballots.segments import max_by, sum_by
from concordant.errors import InputError
from concordant.features.base import PreferenceFeatures, experts_of
from concordant.params import param
from concordant.preferences import Preferences
from concordant.support import memory
from concordant.types import Floats, Int64s

K = 60.0  # of reciprocal ranks
OF_EXPERT = ("height", "log height", "agreement")
OF_DOCUMENT = ("support", "best", "mean", "net wins")


def methods_param() -> str:
    """Declare the fusion methods whose scores are features."""
    return param("rrf,borda", "methods whose scores are features, separated by commas (fusion)")


@dataclass(eq=False)
class FusionFeatures(PreferenceFeatures):
    """Features of documents from ranks, fused scores and agreement between experts; for boosted trees.

    Parameters
    ----------
    methods : str, default 'rrf,borda'
        Fusion methods whose scores are features, separated by commas.
    """

    methods: str = methods_param()

    def fit(self, prefs: Preferences, y: object = None) -> Self:
        """Store the experts.

        Parameters
        ----------
        prefs : Preferences
            The training preferences, with agents as experts.
        y : ignored
            For compatibility with scikit-learn.

        Returns
        -------
        self
            The fitted transformer.
        """
        experts_of(prefs, ())
        assert prefs.agents is not None
        self._fusers()
        self.agents_ = tuple(prefs.agents.labels)
        return self

    def transform(self, prefs: Preferences) -> Floats:
        """Return the features of every slot.

        Parameters
        ----------
        prefs : Preferences
            The preferences.

        Returns
        -------
        array of shape (slots, columns)
            A row per slot (one candidate of one instance), in slot order.
        """
        agents = self._require_fitted()
        names = self._names()
        memory.require(
            8.0 * prefs.n_slots * len(names),
            f"Features of {len(agents):,} experts for {prefs.n_slots:,} candidates",
            "select fewer instances at a time",
        )
        table = np.zeros((prefs.n_slots, len(names)))
        of_experts = table[:, : len(OF_EXPERT) * len(agents)].reshape(prefs.n_slots, len(agents), len(OF_EXPERT))
        entries = _Entries(prefs, experts_of(prefs, agents))
        of_experts[entries.slot, entries.expert, 0] = entries.height
        of_experts[entries.slot, entries.expert, 1] = entries.log_height
        instance = views.instance_of_slot(prefs)
        of_experts[:, :, 2] = entries.agreement(len(agents))[instance]
        rest = table[:, len(OF_EXPERT) * len(agents) :]
        rest[:, : len(OF_DOCUMENT)] = np.stack(
            [entries.support(), *entries.best_and_mean(), entries.net_wins()], axis=1
        )
        for k, fuser in enumerate(self._fusers()):
            score = registry.make(fuser).of_everybody().rank(prefs).score
            rest[:, len(OF_DOCUMENT) + 2 * k] = _standardised(score, instance, prefs.n_instances)
            rest[:, len(OF_DOCUMENT) + 2 * k + 1] = _heights(score, prefs.slot_ptr)
        return table

    def _fusers(self) -> list[str]:
        """Return the names of the fusion methods; reject those that learn from labels."""
        fusers = [name.strip() for name in self.methods.split(",") if name.strip()]
        for name in fusers:
            if "labels" in registry.load(registry.resolve(name).name).needs:
                raise InputError(f"methods contains {name!r}, which itself learns from labels: remove it.")
        return fusers

    def _names(self) -> Sequence[str]:
        of_experts = [f"{expert} {kind}" for expert in self._require_fitted() for kind in OF_EXPERT]
        fused = [f"{name} {kind}" for name in self._fusers() for kind in ("score", "rank")]
        return [*of_experts, *OF_DOCUMENT, *fused]


class _Entries:
    """The entries of known experts: a row for each expert and slot, at its best rank."""

    def __init__(self, prefs: Preferences, expert_of_ballot: Int64s) -> None:
        """Compute heights (1 at the top) and reciprocal ranks of the entries of known experts."""
        self.prefs = prefs
        ballot = views.ballot_of_entry(prefs)
        rank = prefs.value if prefs.scale == "rank" and prefs.value is not None else views.competition_ranks(prefs)
        if len(rank) and rank.min() < 1:
            raise InputError(f"The rank {rank.min():g} is below 1: number the ranks from 1.")
        largest = max_by(ballot, rank, prefs.n_ballots, 1.0)[ballot]
        kept = np.flatnonzero((expert_of_ballot[ballot] >= 0) & views.is_named(prefs))
        key = expert_of_ballot[ballot[kept]] * prefs.n_slots + prefs.entry_slot[kept]
        if len(np.unique(key)) < len(key):
            first = np.lexsort((rank[kept], key))
            kept = kept[first[np.flatnonzero(np.diff(key[first], prepend=-1))]]
        self.slot, self.expert = prefs.entry_slot[kept], expert_of_ballot[ballot[kept]]
        self.instance = prefs.instance_of_ballot[ballot[kept]].astype(np.int64)
        self.height = 1.0 - (rank[kept] - 1.0) / largest[kept]
        self.log_height = 1.0 - np.log(rank[kept]) / np.log1p(largest[kept])
        self.gain = 1.0 / (K + rank[kept])
        self.lists = np.unique(self.expert * np.int64(prefs.n_instances) + self.instance)

    def support(self) -> Floats:
        """Return the share of an instance's lists that contain each slot."""
        lists = np.bincount(self.lists % self.prefs.n_instances, minlength=self.prefs.n_instances)
        named = np.bincount(self.slot, minlength=self.prefs.n_slots)
        return np.asarray(named / np.maximum(lists, 1)[views.instance_of_slot(self.prefs)])

    def best_and_mean(self) -> tuple[Floats, Floats]:
        """Return the best and the mean log height of each slot in the lists that contain it."""
        n = self.prefs.n_slots
        named = np.maximum(np.bincount(self.slot, minlength=n), 1)
        return max_by(self.slot, self.log_height, n), np.asarray(sum_by(self.slot, self.log_height, n) / named)

    def net_wins(self) -> Floats:
        """Return wins minus losses of each slot, per list and other candidate; unlisted candidates lose."""
        size = np.maximum(np.diff(self.prefs.slot_ptr) - 1, 1) * np.maximum(views.total_weight(self.prefs), 1e-300)
        return np.asarray(views.net_wins(self.prefs, "last") / size[views.instance_of_slot(self.prefs)])

    def agreement(self, n_experts: int) -> Floats:
        """Return the correlation of each expert's reciprocal ranks with those of all others: instances x experts."""
        n = self.prefs.n_instances * n_experts
        list_of = self.instance * n_experts + self.expert
        others = sum_by(self.slot, self.gain, self.prefs.n_slots)[self.slot] - self.gain
        count = np.maximum(np.bincount(list_of, minlength=n), 1)
        own_gain, others_gain = (x - (sum_by(list_of, x, n) / count)[list_of] for x in (self.gain, others))
        covariance, own_squares, others_squares = (
            sum_by(list_of, x, n) for x in (own_gain * others_gain, own_gain * own_gain, others_gain * others_gain)
        )
        scale = np.sqrt(own_squares * others_squares)
        floor = 1e-9 / K**2  # spreads this small are rounding
        correlation = np.divide(covariance, scale, out=np.zeros(n), where=scale > floor)
        return correlation.reshape(self.prefs.n_instances, n_experts)


def _standardised(score: Floats, instance: Int64s, n: int) -> Floats:
    """Return the scores standardised within their instance."""
    count = np.maximum(np.bincount(instance, minlength=n), 1)
    centred = score - (sum_by(instance, score, n) / count)[instance]
    spread = np.sqrt(sum_by(instance, centred**2, n) / count)[instance]
    size = max_by(instance, np.abs(score), n)[instance]
    return np.divide(centred, spread, out=np.zeros(len(score)), where=spread > 1e-12 * size)


def _heights(score: Floats, slot_ptr: Int64s) -> Floats:
    """Return the rank of every score, scaled from 1 for the best of its instance to 0 for the worst; ties share it."""
    from concordant.kernels import query_ranks

    rows = np.arange(len(score), dtype=np.int64)
    share = query_ranks(np.ascontiguousarray(score[:, None]), slot_ptr, rows)[:, 0]  # mid-rank over the number
    size = np.repeat(np.diff(slot_ptr), np.diff(slot_ptr))
    return np.asarray((share * size - 1.0) / np.maximum(size - 1, 1))
