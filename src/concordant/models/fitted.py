"""Fitted models: win probabilities, log-likelihoods and samples, with the same interface for every model.

All models inherit ``p_beats``, ``p_tie``, ``matrix``, ``difference``, ``log_likelihood`` and ``sample`` from the
base class. A model adds its outcome probabilities, its likelihood and its sampler. With several instances, name one
with ``instance=``.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, Self, TypeAlias

import numpy as np

from concordant import kernels
from concordant.ballots.segments import segment_index
from concordant.ballots.subsets import parts_of_subset
from concordant.ballots.vocabulary import Vocabulary
from concordant.errors import InputError, arg
from concordant.kernels import links
from concordant.models.effects import Effects
from concordant.models.observations.duels import Counting, Duels
from concordant.models.observations.stages import Staging, worths
from concordant.preferences import Preferences
from concordant.ranking import Ranking
from concordant.support.brief import Brief
from concordant.types import AnyArray, Bools, Floats, Int64s

Seed: TypeAlias = "int | np.random.Generator | None"  # text: naming the class would load the generators


class HasCovariance(Protocol):
    """An object that computes the covariance of scores on request."""

    def covariance(self, instance: int) -> Floats | None:
        """Return the covariance of the scores of an instance; None if it was not kept."""


@dataclass(frozen=True, eq=False, repr=False)
class FittedModel(Brief):
    """Base class of fitted models: a score per candidate of every instance.

    Attributes
    ----------
    items, instances : Vocabulary
        The labels of items and instances (None for a single unnamed instance).
    slot_ptr, slot_item : array
        The candidates (slots) of instance q are ``slot_item[slot_ptr[q]:slot_ptr[q + 1]]``.
    score : array
        The score of every slot; higher is better.
    """

    items: Vocabulary
    instances: Vocabulary | None
    slot_ptr: Int64s
    slot_item: AnyArray
    score: Floats
    errors: HasCovariance | None = field(default=None, kw_only=True)
    coefficients: Mapping[str, float] = field(default_factory=dict, kw_only=True)
    """The effect of one unit of each covariate, of items or of comparisons."""
    effects: Effects | None = field(default=None, kw_only=True)
    """The effects of teams and of covariates of comparisons."""

    @classmethod
    def of(cls, prefs: Preferences, score: Floats, /, **more: Any) -> Self:
        """Return the model for the candidates of these preferences; ``more`` are additional fields."""
        return cls(prefs.items, prefs.instances, prefs.slot_ptr, prefs.slot_item, score, **more)

    # ---- what a model adds ----
    @abstractmethod
    def chances(self, first: Int64s, second: Int64s) -> tuple[Floats, Floats, Floats]:
        """Return the probabilities that the first slot of each pair wins, loses and ties."""

    @abstractmethod
    def log_likelihood(self, prefs: Preferences) -> float:
        """Return the log-likelihood of other preferences; candidates unknown to this model are left out.

        Parameters
        ----------
        prefs : Preferences
            The held-out preferences.

        Returns
        -------
        float
            The log-likelihood, which is comparable between fits of the same model.
        """

    def pair_log_likelihood(self, prefs: Preferences) -> tuple[float, float]:
        """Return the log-probability of the strict pairs of other preferences, given no tie, and their total weight.

        Every model defines this conditional log-likelihood, so it can be used to compare models with and without
        ties.

        Parameters
        ----------
        prefs : Preferences
            The held-out preferences.

        Returns
        -------
        tuple of float
            The log-probability and the total weight of the pairs; their ratio is the mean log-probability.
        """
        if self.effects is not None:
            model, over = self.effects.lifted(self, prefs)
            return model.pair_log_likelihood(over)
        duels, slot = self._counting.duels(prefs), self.slots_of(prefs)
        first, second = slot[duels.first], slot[duels.second]
        known = (first >= 0) & (second >= 0)
        return decided_pairs(self._at(first[known], second[known], duels, known), duels.won[known], duels.lost[known])

    @property
    def _counting(self) -> Counting:
        """The rule for counting pairs when models are compared: every pair once."""
        return Counting()

    def _at(self, first: Int64s, second: Int64s, duels: Duels, known: Bools) -> tuple[Floats, Floats, Floats]:
        """Return the probabilities of win, loss and tie for pairs of slots: the ``known`` rows of ``duels``."""
        return self.chances(first, second)

    @abstractmethod
    def drawn(self, n: int, slots: Int64s, rng: np.random.Generator) -> tuple[Int64s, Int64s]:
        """Draw n ballots over some slots: an array (n x entries) of slots, best first, and the tier of each entry."""

    def moved_to(self, prefs: Preferences, score: Floats, instance: Int64s) -> Self:
        """Return the same model with other candidates and scores; ``instance`` maps their instances to this model's."""
        return replace(
            self,
            items=prefs.items,
            instances=prefs.instances,
            slot_ptr=prefs.slot_ptr,
            slot_item=prefs.slot_item,
            score=score,
            effects=None,
            errors=None,
        )

    # ---- questions ----
    @property
    def coefficient_errors(self) -> dict[str, float]:
        """The standard errors of the coefficients of covariates, for a single instance."""
        known = () if self.effects is None or not self.effects.values else self.effects.known
        return {coefficient.name: coefficient.stderr for coefficient in known if coefficient.stderr is not None}

    @property
    def uncorrected(self) -> Ranking:
        """The ranking by the same method without covariates."""
        if self.effects is None or self.effects.uncorrected is None:
            raise InputError(
                "There is no uncorrected ranking: these preferences have no covariates, or "
                + arg("style_control", False)
                + " was given."
            )
        return self.effects.uncorrected

    def p_beats(self, a: object, b: object, instance: object = None) -> float:
        """Return the probability that ``a`` beats ``b``.

        Parameters
        ----------
        a, b : label
            The two items.
        instance : label, optional
            Name of the instance; required if the model has several.

        Returns
        -------
        float
            The probability, from 0 to 1.
        """
        return float(self.chances(*self._pair(a, b, instance))[0][0])

    def p_tie(self, a: object, b: object, instance: object = None) -> float:
        """Return the probability that ``a`` and ``b`` tie; 0 for models without ties.

        Parameters
        ----------
        a, b : label
            The two items.
        instance : label, optional
            Name of the instance; required if the model has several.

        Returns
        -------
        float
            The probability, from 0 to 1.
        """
        return float(self.chances(*self._pair(a, b, instance))[2][0])

    def matrix(self, instance: object = None) -> Floats:
        """Return the probabilities that the row's candidate beats the column's; the diagonal is 1/2.

        Parameters
        ----------
        instance : label, optional
            Name of the instance; required if the model has several.

        Returns
        -------
        array of shape (candidates, candidates)
            Win probabilities, with candidates in input order.
        """
        slots = self.slots(instance)
        m = len(slots)
        p_wins = self.chances(np.repeat(slots, m), np.tile(slots, m))[0].reshape(m, m)
        np.fill_diagonal(p_wins, 0.5)
        return p_wins

    def difference(self, a: object, b: object, instance: object = None) -> tuple[float, float]:
        """Return the score of ``a`` minus that of ``b``, and the standard error of this difference.

        Parameters
        ----------
        a, b : label
            The two items.
        instance : label, optional
            Name of the instance; required if the model has several.

        Returns
        -------
        tuple of float
            The difference and its standard error.
        """
        first, second = self._pair(a, b, instance)
        q = self._instance(instance)
        block = None if self.errors is None else self.errors.covariance(q)
        if block is None:
            raise InputError(
                "The covariance of these scores was not kept (" + arg("errors", "none") + ", or too many items): "
                "rank with " + arg("errors", "hessian") + " and fewer items."
            )
        i, j = int(first[0] - self.slot_ptr[q]), int(second[0] - self.slot_ptr[q])
        variance = block[i, i] + block[j, j] - 2 * block[i, j]
        return float(self.score[first[0]] - self.score[second[0]]), float(np.sqrt(max(variance, 0.0)))

    def sample(self, n: int, seed: Seed = 0, instance: object = None) -> Preferences:
        """Draw ``n`` ballots from this model over the candidates of an instance.

        Parameters
        ----------
        n : int
            Number of ballots.
        seed : int or numpy.random.Generator, default 0
            Seed or random generator.
        instance : label, optional
            Name of the instance; required if the model has several.

        Returns
        -------
        Preferences
            The simulated ballots.
        """
        slots = self.slots(instance)
        if n < 0 or len(slots) < 2:
            raise InputError(
                arg("n", shown=str(n))
                + f" ballots over {len(slots)} candidates cannot be drawn: give n >= 0, and an instance with at "
                "least two items."
            )
        rows, tier = self.drawn(n, slots, np.random.default_rng(seed))
        instance_name = None if self.instances is None else [self.instances[self._instance(instance)]]
        return Preferences(
            self.items.take(self.slot_item[slots]),
            np.arange(n + 1) * rows.shape[1],
            rows.reshape(-1) - slots[0],
            tier.reshape(-1),
            instances=instance_name,
            instance=None if instance_name is None else np.zeros(n, np.int32),
            slot_ptr=np.array([0, len(slots)]),
            slot_item=np.arange(len(slots)),
            form="pairs" if rows.shape[1] == 2 else None,
        )

    # ---- which slots ----
    def slots(self, instance: object = None) -> Int64s:
        """Return the slots of an instance; the name is required if there are several."""
        q = self._instance(instance)
        return np.arange(self.slot_ptr[q], self.slot_ptr[q + 1])

    def slot(self, item: object, instance: object = None) -> int:
        """Return the slot of a candidate of an instance."""
        slots = self.slots(instance)
        place = np.flatnonzero(self.slot_item[slots] == self.items.code(item, "item"))
        if not len(place):
            raise InputError(
                f"{item!r} is not a candidate of this instance: give one of its candidates, or another instance."
            )
        return int(slots[place[0]])

    def slots_of(self, prefs: Preferences) -> Int64s:
        """Return this model's slot for every slot of other preferences, -1 if it has none.

        Slots are matched by the key instance * n_items + item.
        """
        same = np.array_equal(prefs.slot_ptr, self.slot_ptr) and np.array_equal(prefs.slot_item, self.slot_item)
        if same and prefs.items == self.items:
            return np.arange(prefs.n_slots)
        code = self.items.codes(prefs.items)
        if prefs.instances is None or self.instances is None:
            instance = np.full(prefs.n_instances, 0 if self.instances is None else -1, np.int64)
        else:
            instance = self.instances.codes(prefs.instances).astype(np.int64)
        n = len(self.items)
        known_key = segment_index(self.slot_ptr) * n + self.slot_item
        wanted_item = code[prefs.slot_item].astype(np.int64)
        wanted_instance = instance[segment_index(prefs.slot_ptr)]
        wanted_key = wanted_instance * n + wanted_item
        order = np.argsort(known_key)
        place = np.searchsorted(known_key[order], wanted_key).clip(max=max(len(known_key) - 1, 0))
        is_known = (known_key[order][place] == wanted_key) & (wanted_item >= 0) & (wanted_instance >= 0)
        return np.where(is_known, order[place], -1)

    def known_part(self, prefs: Preferences) -> tuple[Preferences, Int64s]:
        """Return the preferences restricted to candidates that this model knows, and the model's slot for each slot."""
        slot = self.slots_of(prefs)
        if (slot < 0).any():
            prefs = Preferences(**parts_of_subset(prefs, np.ones(prefs.n_ballots, bool), slot >= 0))
            slot = self.slots_of(prefs)
        return prefs, slot

    def instances_of(self, prefs: Preferences, slot: Int64s) -> Int64s:
        """Return this model's instance for every instance of other preferences; ``slot`` has its slot for each slot."""
        instance = np.zeros(prefs.n_instances, np.int64)
        instance[segment_index(prefs.slot_ptr)] = segment_index(self.slot_ptr)[slot]
        return instance

    def _instance(self, instance: object) -> int:
        return instance_asked_for(self.instances, len(self.slot_ptr) - 1, instance)

    def _pair(self, a: object, b: object, instance: object) -> tuple[Int64s, Int64s]:
        return np.array([self.slot(a, instance)]), np.array([self.slot(b, instance)])


def decided_pairs(chances: tuple[Floats, Floats, Floats], won: Floats, lost: Floats) -> tuple[float, float]:
    """Return the log-probability of wins and losses given that no pair is tied, and their total weight.

    ``chances`` are the probabilities of a win, a loss and a tie of every pair.
    """
    up, down, _ = chances
    p_decided, tiny = np.maximum(up + down, np.finfo(float).tiny), np.finfo(float).tiny
    value = won * np.log(np.maximum(up / p_decided, tiny)) + lost * np.log(np.maximum(down / p_decided, tiny))
    return float(value.sum()), float((won + lost).sum())


def instance_asked_for(instances: Vocabulary | None, n_instances: int, instance: object) -> int:
    """Return the index of the named instance; the name is required if there are several."""
    if instance is None:
        if n_instances > 1:
            raise InputError("This model has several instances: name one with " + arg("instance") + ".")
        return 0
    if instances is None:
        raise InputError("This model has a single, unnamed instance: leave " + arg("instance") + " out.")
    return instances.code(instance, "instance")


# ---- comparisons ----
@dataclass(frozen=True, eq=False, repr=False)
class ComparisonModel(FittedModel):
    """A model of pairwise comparisons."""

    counting: Counting = field(default=Counting(), kw_only=True)

    @property
    def has_ties(self) -> bool:
        """Whether the model has a tie outcome; otherwise a tie counts as half a win for each item."""
        return True

    @property
    def _counting(self) -> Counting:
        return Counting(order_effect=self.counting.order_effect)

    def _at(self, first: Int64s, second: Int64s, duels: Duels, known: Bools) -> tuple[Floats, Floats, Floats]:
        return self.chances(first, second, duels.order[known] if len(duels.order) else 0.0)

    @abstractmethod
    def chances(self, first: Int64s, second: Int64s, order: Floats | float = 0.0) -> tuple[Floats, Floats, Floats]:
        """Return win, loss and tie probabilities of the first slot of each pair; ``order`` is 1 if shown first."""

    def log_likelihood(self, prefs: Preferences) -> float:
        """Return the log-likelihood of other preferences; candidates unknown to this model are left out."""
        if self.effects is not None:
            model, over = self.effects.lifted(self, prefs)
            return model.log_likelihood(over)
        duels = self.counting.duels(prefs)
        slot = self.slots_of(prefs)
        first, second = slot[duels.first], slot[duels.second]
        known = (first >= 0) & (second >= 0)
        up, down, even = self.chances(first[known], second[known], duels.order[known] if len(duels.order) else 0.0)
        won, lost, tied = duels.won[known], duels.lost[known], duels.tied[known]
        if not self.has_ties:
            won, lost, tied = won + tied / 2, lost + tied / 2, np.zeros(len(tied))
        tiny = np.finfo(float).tiny
        value = won * np.log(np.maximum(up, tiny)) + lost * np.log(np.maximum(down, tiny))
        return float((value + np.where(tied > 0, tied * np.log(np.maximum(even, tiny)), 0.0)).sum())

    def drawn(self, n: int, slots: Int64s, rng: np.random.Generator) -> tuple[Int64s, Int64s]:
        """Draw n comparisons of random pairs, without position bias: winner first, tiers 0, 1 (0, 0 if tied)."""
        first = rng.integers(0, len(slots), n)
        second = rng.integers(0, len(slots) - 1, n)
        second += second >= first
        up, down, _ = self.chances(slots[first], slots[second])
        draw = rng.random(n)
        is_tie = draw >= up + down
        pair = np.where(((draw < up) | is_tie)[:, None], np.stack([first, second], 1), np.stack([second, first], 1))
        return slots[pair], np.stack([np.zeros(n, np.int64), (~is_tie).astype(np.int64)], 1)


@dataclass(frozen=True, eq=False, repr=False)
class PairModel(ComparisonModel):
    """A fitted model of pairwise comparisons (Bradley-Terry, Thurstone, Davidson, Rao-Kupper).

    >>> import concordant as cc
    >>> votes = cc.Preferences.from_pairs(["a", "a", "b"], ["b", "b", "a"])
    >>> model = cc.rank(votes, "bradley-terry", prior=0).model
    >>> round(model.p_beats("a", "b"), 3)
    0.667
    """

    unsaid = ("link",)

    link: int
    advantage: Floats
    """The position bias (advantage of the item shown first), by instance."""
    tie: Floats
    """The tie parameter, by instance."""

    def moved_to(self, prefs: Preferences, score: Floats, instance: Int64s) -> Self:
        """Return the same model with other candidates and scores; ``instance`` maps their instances to this model's."""
        moved = super().moved_to(prefs, score, instance)
        return replace(moved, advantage=self.advantage[instance], tie=self.tie[instance])

    @property
    def has_ties(self) -> bool:
        """Whether the model has a tie outcome; otherwise a tie counts as half a win for each item."""
        return links.has_tie_parameter(self.link)

    def p_beats(self, a: object, b: object, instance: object = None, *, first: object = None) -> float:
        """Return the probability that ``a`` beats ``b``.

        Parameters
        ----------
        a, b : label
            The two items.
        instance : label, optional
            Name of the instance; required if the model has several.
        first : label, optional
            The item shown first (or playing at home), for models with position bias; by default neither.

        Returns
        -------
        float
            The probability, from 0 to 1.

        Examples
        --------
        >>> import concordant as cc
        >>> votes = cc.Preferences.from_pairs(["a", "a", "b"], ["b", "b", "a"])
        >>> round(cc.rank(votes, "bradley-terry", prior=0).model.p_beats("a", "b"), 3)
        0.667
        """
        return self._between(a, b, instance, first)[0]

    def p_tie(self, a: object, b: object, instance: object = None, *, first: object = None) -> float:
        """Return the probability that ``a`` and ``b`` tie; 0 for models without ties."""
        return self._between(a, b, instance, first)[2]

    def chances(self, first: Int64s, second: Int64s, order: Floats | float = 0.0) -> tuple[Floats, Floats, Floats]:
        """Return win, loss and tie probabilities of the first slot of each pair; ``order`` is 1 if shown first."""
        instance = np.searchsorted(self.slot_ptr, first, side="right") - 1
        lead = self.score[first] - self.score[second] + order * self.advantage[instance]
        return links.chances(self.link, lead, self.tie[instance])

    def _between(self, a: object, b: object, instance: object, first: object) -> tuple[float, float, float]:
        """Return the probabilities that ``a`` wins, loses and ties against ``b``; ``first`` is the item shown first."""
        if first is not None and str(first) not in (str(a), str(b)):
            raise InputError(arg("first", first) + " must be one of the two items compared.")
        order = 0.0 if first is None else (1.0 if str(first) == str(a) else -1.0)
        up, down, even = self.chances(*self._pair(a, b, instance), order)
        return float(up[0]), float(down[0]), float(even[0])


def share_discordant(duels: Duels, score: Floats) -> float:
    """Return the share of decided comparisons that are discordant with the ranking by these scores (ties half)."""
    lead = np.sign(score[duels.first] - score[duels.second])
    decided = float((duels.won + duels.lost).sum())
    discordant = float((duels.won * (1 - lead) + duels.lost * (1 + lead)).sum()) / 2
    return discordant / decided if decided else 0.0


# ---- choices ----
@dataclass(frozen=True, eq=False, repr=False)
class StageModel(FittedModel):
    """A fitted stagewise model (Plackett-Luce): the probability that an item is chosen from a set."""

    staging: Staging

    def p_first(self, items: Sequence[object], *, instance: object = None) -> Floats:
        """Return, for each of these items, the probability that it is ranked above all the others.

        Parameters
        ----------
        items : sequence of labels
            The items that are compared.
        instance : label, optional
            Name of the instance; required if the model has several.

        Returns
        -------
        array
            The probabilities in the order of ``items``; they sum to 1.
        """
        worth = worths(self.score[[self.slot(item, instance) for item in items]])
        return np.asarray(worth / worth.sum())

    def chances(self, first: Int64s, second: Int64s) -> tuple[Floats, Floats, Floats]:
        """Return the probabilities that the first slot of each pair ranks above or below the second, or ties (0)."""
        return links.chances(links.BRADLEY_TERRY, self.score[first] - self.score[second], np.zeros(len(first)))

    def log_likelihood(self, prefs: Preferences) -> float:
        """Return the log-likelihood of other preferences; candidates unknown to this model are left out."""
        if self.effects is not None:
            model, over = self.effects.lifted(self, prefs)
            return model.log_likelihood(over)
        prefs, slot = self.known_part(prefs)
        stages, score = self.staging.stages(prefs), self.score[slot]
        top = np.full(prefs.n_instances, -np.inf)
        instance = segment_index(prefs.slot_ptr)
        np.maximum.at(top, instance, score)
        score_below_top = score - top[instance]  # the largest is 0, so that no exponential overflows
        return float(
            kernels.stage_sums(stages.rows, np.exp(np.maximum(score_below_top, -320.0)))[0]
            + stages.wins @ score_below_top
        )

    def drawn(self, n: int, slots: Int64s, rng: np.random.Generator) -> tuple[Int64s, Int64s]:
        """Draw n rankings of all candidates by Gumbel noise (Plackett-Luce), without ties."""
        order = np.argsort(-(self.score[slots] + rng.gumbel(size=(n, len(slots)))), axis=1)
        return slots[order], np.tile(np.arange(len(slots)), (n, 1))
