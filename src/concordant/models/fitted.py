"""The fitted model: the chance that one item beats another, and how far apart they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from concordant.errors import InputError
from concordant.gather import segment_index
from concordant.models.duels import Counting, Duels
from concordant.models.problem import DAVIDSON, RAO_KUPPER, THURSTONE
from concordant.preferences import Preferences
from concordant.types import AnyArray, Floats, Int64s
from concordant.vocabulary import Vocabulary


def instance_asked_for(instances: Vocabulary | None, n_instances: int, instance: object) -> int:
    """Return the number of the instance a question to a fitted model is about; one of several must be named."""
    if instance is None:
        if n_instances > 1:
            raise InputError("This model covers several instances: name one with instance=.")
        return 0
    if instances is None:
        raise InputError("This model has a single, unnamed instance: leave instance= out.")
    return instances.code(instance, "instance")


def place_of(item: object, items: Vocabulary, slot_item: AnyArray) -> int:
    """Return the place of an item among the candidates of an instance."""
    found = np.flatnonzero(slot_item == items.code(item, "item"))
    if not len(found):
        raise InputError(f"{item!r} is no candidate of this instance.")
    return int(found[0])


def chances(model: int, lead: Floats, tie: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the chances (win, loss, tie) of an item that leads by so much."""
    if model == DAVIDSON:
        top = np.maximum(np.abs(lead) / 2, tie)
        up, down, even = np.exp(lead / 2 - top), np.exp(-lead / 2 - top), np.exp(tie - top)
        total = up + down + even
        return up / total, down / total, even / total
    if model == RAO_KUPPER:
        margin = np.logaddexp(0.0, tie)
        up, down = _sigmoid(lead - margin), _sigmoid(-lead - margin)
        return up, down, np.maximum(1 - up - down, 0.0)
    if model == THURSTONE:
        from scipy.special import ndtr

        up, down = np.asarray(ndtr(lead)), np.asarray(ndtr(-lead))
    else:
        up, down = _sigmoid(lead), _sigmoid(-lead)
    return up, down, np.zeros(len(lead))


@dataclass(frozen=True, eq=False)
class PairModel:
    """Scores of a model of comparisons, ready for questions.

    >>> import concordant as cc
    >>> votes = cc.Preferences.from_pairs(["a", "a", "b"], ["b", "b", "a"])
    >>> model = cc.rank(votes, "bradley-terry", prior=0).model
    >>> round(model.p_beats("a", "b"), 3)
    0.667
    """

    model: int
    items: Vocabulary
    instances: Vocabulary | None
    slot_ptr: Int64s
    slot_item: Int64s
    score: Floats
    advantage: Floats
    tie: Floats
    counting: Counting
    covariance: Mapping[int, Floats] = field(default_factory=dict)
    coefficients: Mapping[str, float] = field(default_factory=dict)

    def p_beats(self, a: object, b: object, *, instance: object = None, first: object = None) -> float:
        """Return the chance that ``a`` beats ``b``; ``first`` names the one shown first, where that matters."""
        return float(self._chances(a, b, instance, first)[0])

    def p_tie(self, a: object, b: object, *, instance: object = None, first: object = None) -> float:
        """Return the chance that ``a`` and ``b`` tie; 0 for models without ties."""
        return float(self._chances(a, b, instance, first)[2])

    def matrix(self, instance: object = None) -> Floats:
        """Return the chances that the row's candidate beats the column's, candidates in input order."""
        q = self._instance(instance)
        own = self.score[self.slot_ptr[q] : self.slot_ptr[q + 1]]
        lead = (own[:, None] - own[None, :]).reshape(-1)
        up = chances(self.model, lead, np.full(len(lead), self.tie[q]))[0].reshape(len(own), len(own))
        np.fill_diagonal(up, 0.5)
        return up

    def difference(self, a: object, b: object, *, instance: object = None) -> tuple[float, float]:
        """Return how far ``a`` scores above ``b`` and the standard error of that."""
        q = self._instance(instance)
        i, j = self._place(a, q), self._place(b, q)
        if q not in self.covariance:
            raise InputError(
                "The covariance of these scores was not kept (errors='none', or too many items): "
                "rank with errors='hessian' and fewer items."
            )
        block, base = self.covariance[q], self.slot_ptr[q]
        variance = block[i, i] + block[j, j] - 2 * block[i, j]
        return float(self.score[base + i] - self.score[base + j]), float(np.sqrt(max(variance, 0.0)))

    def log_likelihood(self, prefs: Preferences) -> float:
        """Return the log-likelihood of other preferences; candidates this model does not know are left out."""
        duels = self.counting.duels(prefs)
        slot = self._slots_of(prefs)
        first, second = slot[duels.first], slot[duels.second]
        known = (first >= 0) & (second >= 0)
        instance = segment_index(self.slot_ptr)[np.where(known, first, 0)]
        lead = self.score[first] - self.score[second]
        if len(duels.order):
            lead = lead + duels.order * self.advantage[instance]
        up, down, even = chances(self.model, lead, self.tie[instance])
        won, lost, tied = duels.won, duels.lost, duels.tied
        if self.model < DAVIDSON:
            won, lost, tied = won + tied / 2, lost + tied / 2, np.zeros(len(tied))
        tiny = np.finfo(float).tiny
        value = won * np.log(np.maximum(up, tiny)) + lost * np.log(np.maximum(down, tiny))
        value = value + np.where(tied > 0, tied * np.log(np.maximum(even, tiny)), 0.0)
        return float(value[known].sum())

    def _slots_of(self, prefs: Preferences) -> Int64s:
        """Return this model's slot of every slot of other preferences, -1 where it has none."""
        same = np.array_equal(prefs.slot_ptr, self.slot_ptr) and np.array_equal(prefs.slot_item, self.slot_item)
        if same and prefs.items == self.items:
            return np.arange(prefs.n_slots)
        code = self.items.codes(prefs.items)
        if prefs.instances is None or self.instances is None:
            instance = np.zeros(1, np.int64) if self.instances is None else np.full(1, -1)
            instance = np.resize(instance, prefs.n_instances)
        else:
            instance = self.instances.codes(prefs.instances).astype(np.int64)
        n = len(self.items)
        key = segment_index(self.slot_ptr) * n + self.slot_item
        wanted_item = code[prefs.slot_item].astype(np.int64)
        wanted_instance = instance[segment_index(prefs.slot_ptr)]
        wanted = wanted_instance * n + wanted_item
        order = np.argsort(key)
        place = np.searchsorted(key[order], wanted).clip(max=max(len(key) - 1, 0))
        found = (key[order][place] == wanted) & (wanted_item >= 0) & (wanted_instance >= 0)
        return np.where(found, order[place], -1)

    def _chances(self, a: object, b: object, instance: object, first: object) -> tuple[float, float, float]:
        q = self._instance(instance)
        base = int(self.slot_ptr[q])
        lead = self.score[base + self._place(a, q)] - self.score[base + self._place(b, q)]
        if first is not None:
            if str(first) not in (str(a), str(b)):
                raise InputError(f"first={first!r} is neither of the two items compared.")
            lead += self.advantage[q] * (1 if str(first) == str(a) else -1)
        up, down, even = chances(self.model, np.array([lead]), self.tie[q : q + 1])
        return float(up[0]), float(down[0]), float(even[0])

    def _instance(self, instance: object) -> int:
        return instance_asked_for(self.instances, len(self.slot_ptr) - 1, instance)

    def _place(self, item: object, q: int) -> int:
        return place_of(item, self.items, self.slot_item[self.slot_ptr[q] : self.slot_ptr[q + 1]])


def share_turned(duels: Duels, score: Floats) -> float:
    """Return the share of decided duels a ranking by these scores turns around; its ties count half."""
    lead = np.sign(score[duels.first] - score[duels.second])
    decided = float((duels.won + duels.lost).sum())
    turned = float((duels.won * (1 - lead) + duels.lost * (1 + lead)).sum()) / 2
    return turned / decided if decided else 0.0


def _sigmoid(z: Floats) -> Floats:
    return np.asarray(np.exp(-np.logaddexp(0.0, -z)))
