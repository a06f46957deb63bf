"""Answers in classes, sorted by item, as models of annotators and their kernels take them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from concordant import kernels, views
from concordant.ballots.segments import sum_by
from concordant.errors import InputError, NeedError, action, arg
from concordant.kernels.bundles import AnswersByItem
from concordant.preferences import Preferences
from concordant.support import memory
from concordant.types import Floats, Int64s

MAX_CATEGORIES = 30
MAX_CLASSES = 1_000  # of nominal answers


@dataclass(frozen=True, eq=False)
class Answers:
    """The answers of annotators, by slot; ``known`` is the class of a slot where it is given, else -1."""

    name: str
    categories: Floats
    ptr: Int64s
    agent: Int64s
    answer: Int64s
    weight: Floats
    n_agents: int
    entry: Int64s
    """The entry of the preferences that each answer is."""
    known: Int64s

    @classmethod
    def of(cls, prefs: Preferences, name: str, categories: Floats | None = None) -> Self:
        """Sort the answers in preferences by slot; ``name`` is the method that asks, for messages."""
        if prefs.value is None or prefs.agent is None or prefs.agents is None:
            raise NeedError(
                f"{name} needs the rating that each agent gave: "
                + action("values", "build the preferences with from_ratings")
                + ", and give the agents with "
                + arg("agent")
                + "."
            )
        value = -prefs.value if prefs.scale == "rank" else prefs.value
        levels = np.unique(value) if categories is None else categories
        code = np.minimum(np.searchsorted(levels, value), max(len(levels) - 1, 0))
        if len(value) and (not len(levels) or (levels[code] != value).any()):
            stranger = value[levels[code] != value][0] if len(levels) else value[0]
            what = f"The value {stranger:g}" if prefs.classes is None else "An answer"
            raise InputError(
                f"{what} is not one of the categories of this model: remove the ratings with other values."
            )
        check_size(prefs, len(levels), name)
        order = np.argsort(prefs.entry_slot, kind="stable")
        ptr = np.zeros(prefs.n_slots + 1, np.int64)
        np.cumsum(np.bincount(prefs.entry_slot, minlength=prefs.n_slots), out=ptr[1:])
        agent = prefs.agent[views.ballot_of_entry(prefs)].astype(np.int64)
        return cls(
            name, levels, ptr, agent[order], code[order].astype(np.int64), views.weight_of_entry(prefs)[order],
            len(prefs.agents), order, np.full(prefs.n_slots, -1, np.int64),
        )  # fmt: skip

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.categories)

    @property
    def n_slots(self) -> int:
        """The number of slots, answered or not."""
        return len(self.ptr) - 1

    @property
    def slot(self) -> Int64s:
        """The slot of each answer."""
        return np.repeat(np.arange(self.n_slots), np.diff(self.ptr))

    @property
    def total(self) -> float:
        """The weight of all answers."""
        return float(self.weight.sum())

    def bundle(self) -> AnswersByItem:
        """Return the arrays for kernels."""
        return AnswersByItem(self.ptr, self.agent, self.answer, self.weight, self.known)

    def with_known(self, label: Floats) -> Self:
        """Return the answers with the classes of some slots known: values of the categories, NaN where unknown."""
        code = np.minimum(np.searchsorted(self.categories, label), max(self.n_classes - 1, 0))
        is_class = (
            np.isfinite(label) & (self.categories[code] == label) if self.n_classes else np.zeros(len(label), bool)
        )
        return replace(self, known=np.where(is_class, code, -1).astype(np.int64))

    def without(self, held_out: Floats) -> Self:
        """Return the answers without some of them, as if they had not been given."""
        keep = np.flatnonzero(~held_out.astype(bool))
        ptr = np.concatenate([[0], np.cumsum(np.bincount(self.slot[keep], minlength=self.n_slots))]).astype(np.int64)
        kept = {name: getattr(self, name)[keep] for name in ("agent", "answer", "weight", "entry")}
        return replace(self, ptr=ptr, **kept)

    def votes(self) -> Floats:
        """Return the weight of the answers by slot and class."""
        key = self.slot * self.n_classes + self.answer
        return sum_by(key, self.weight, self.n_slots * self.n_classes).reshape(self.n_slots, self.n_classes)

    def posterior(self, table: Floats, log_share: Floats) -> tuple[Floats, Floats, float]:
        """Return class probabilities, expected counts and log-likelihood; both tables are agent x answer x class."""
        k = self.n_classes
        chance, counts, value = kernels.annotation_posterior(self.bundle(), table.reshape(-1, k), log_share)
        return chance, counts.reshape(-1, k, k), value


def shares_of_votes(answers: Answers) -> Floats:
    """Return the share of each class in the answers by slot; those of all answers where a slot has none."""
    votes = answers.votes()
    n = votes.sum(axis=1, keepdims=True)
    overall = votes.sum(axis=0) / max(votes.sum(), 1e-300)
    chance = np.where(n > 0, votes / np.where(n > 0, n, 1.0), overall)
    given = np.flatnonzero(answers.known >= 0)
    chance[given] = np.eye(answers.n_classes)[answers.known[given]]
    return np.asarray(chance)


def check_size(prefs: Preferences, n: int, name: str) -> None:
    """Reject too many classes: they are free text or measurements, or their matrices do not fit into memory."""
    if prefs.classes is not None:
        if n > MAX_CLASSES:
            raise InputError(
                f"The answers take {n:,} different classes, more than {MAX_CLASSES:,}: check that their column is "
                "right, or decide by majority vote."
            )
        memory.require(48.0 * (prefs.n_agents or 0) * n**2, f"{name} on {n:,} classes", "decide by majority vote")
    elif n > MAX_CATEGORIES:
        raise InputError(
            f"The values take {n:,} different levels, too many for categories: round "
            f"them to at most {MAX_CATEGORIES}, or use mpm or mean-rating."
        )
