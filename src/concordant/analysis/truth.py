"""Truth inference: the class of every item and the quality of every annotator, by the method that predicts best.

``aggregate`` estimates the class of each item with its probability, and tells of each annotator the accuracy, the
agreement with the others, and whether it spams. ``held_out`` compares the methods by the likelihood of answers that
were held out. Both are part of ``concordant.crowd``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from concordant import registry, views
from concordant.analysis.gold import in_classes, values_of, yes_among
from concordant.ballots.segments import segment_index, sum_by
from concordant.errors import InputError, NeedError, ParameterError, arg
from concordant.labels import Labels
from concordant.models.annotators import em
from concordant.models.annotators.answers import Answers, shares_of_votes
from concordant.models.annotators.codings import OneCoin
from concordant.models.annotators.fitted import AnnotationModel
from concordant.preferences import Preferences
from concordant.types import Bools, Floats, Int64s

METHODS = ("majority-vote", "one-coin", "dawid-skene", "mace", "glad", "ordinal-annotators")
NAMES = {
    "majority-vote": "majority vote",
    "one-coin": "one-coin",
    "dawid-skene": "Dawid-Skene",
    "mace": "MACE",
    "glad": "GLAD",
    "ordinal-annotators": "ordinal model",
}
SHORT = {"majority": "majority-vote", "ordinal": "ordinal-annotators"}
FOLDS = ((20_000, 5, 5), (200_000, 3, 3), (None, 10, 1))  # up to so many answers: folds, of which so many are predicted
MAX_FOR_GLAD = 50_000  # answers up to which auto includes glad, which is slow
LEVEL = 1.959963984540054  # standard errors on either side of an interval that holds 95%
MIN_ANSWERS = 10  # of an annotator who is called a spammer
SURE = 2.5758293035489004  # standard errors below the typical annotator: one-sided p = 0.005
VERY_SURE = 3.2905267314919255  # standard errors below chance of reversed answers: one-sided p = 0.0005
CONSTANT = 0.7  # smallest share of one answer among those of a constant answerer
ALIKE = 1e9  # answers of the average agent that make all agents equal
MIN_CHANCE = 1e-12


class HeldOut(NamedTuple):
    """The mean log-likelihood of held-out answers under each method, best first."""

    method: tuple[str, ...]
    log_likelihood: tuple[float, ...]
    """Mean log-probability of a held-out answer."""
    n: int
    """Number of answers that were held out and predicted."""

    def columns(self) -> dict[str, list[Any]]:
        """Return the comparison as columns.

        Returns
        -------
        dict of str to list
            ``method`` and ``log_likelihood``.
        """
        return {"method": [*self.method], "log_likelihood": [*self.log_likelihood]}


def applicable(prefs: Preferences, *, is_quick: bool = False) -> tuple[str, ...]:
    """Return the methods for these answers.

    Parameters
    ----------
    prefs : Preferences
        The answers.
    is_quick : bool, default False
        Whether to leave out methods that are slow on this many answers.

    Returns
    -------
    tuple of str
        Names of ``METHODS``.
    """
    left_out = set()
    if prefs.classes is not None or len(np.unique(prefs.value if prefs.value is not None else ())) < 3:
        left_out.add("ordinal-annotators")  # two ordered classes: the same model as dawid-skene
    if is_quick and len(prefs.item) > MAX_FOR_GLAD:
        left_out.add("glad")
    return tuple(name for name in METHODS if name not in left_out)


def held_out(prefs: Preferences, methods: Sequence[str] | None = None, *, seed: int = 0) -> HeldOut:
    """Compare methods by the likelihood of held-out answers: cross-validation over answers.

    Parameters
    ----------
    prefs : Preferences
        The answers.
    methods : sequence of str, optional
        Names of ``METHODS``; by default, all that apply to these answers.
    seed : int, default 0
        Seed of the random folds.

    Returns
    -------
    HeldOut
        The mean log-probability of a held-out answer by method, best first.

    Examples
    --------
    >>> import concordant as cc
    >>> rows = [(w, f"t{k}", (k + (w == "w3" and k % 3 == 0)) % 2) for k in range(30) for w in ("w1", "w2", "w3")]
    >>> prefs = cc.Preferences.from_ratings(*zip(*rows))
    >>> len(cc.crowd.held_out(prefs, ["majority-vote", "dawid-skene"]).method)
    2
    """
    names = applicable(prefs) if methods is None else tuple(method_name(one) for one in methods)
    answers = Answers.of(prefs, "crowd")
    folds, n_used = next((k, used) for limit, k, used in FOLDS if limit is None or len(answers.agent) <= limit)
    fold = np.random.default_rng(seed).integers(0, folds, len(answers.agent))
    totals, weight = dict.fromkeys(names, 0.0), answers.weight
    for part in range(n_used):
        is_held_out = fold == part
        rest, asked = answers.without(is_held_out), answers.without(~is_held_out)
        for name in names:
            chance = np.maximum(_fitted(name, rest, prefs).predicted(asked), MIN_CHANCE)
            totals[name] += float(asked.weight @ np.log(chance))
    n = max(float(weight[fold < n_used].sum()), 1e-300)
    order = sorted(names, key=lambda name: (-totals[name], names.index(name)))
    return HeldOut(tuple(order), tuple(totals[name] / n for name in order), int((fold < n_used).sum()))


def method_name(name: str) -> str:
    """Return the full name of a method of aggregation.

    Parameters
    ----------
    name : str
        One of ``METHODS``, or ``majority`` or ``ordinal``.

    Returns
    -------
    str
        The name in ``METHODS``.
    """
    full = SHORT.get(name, name)
    if full not in METHODS:
        raise ParameterError(f"{name!r} does not assign classes: use one of {', '.join(METHODS)}.")
    return full


def _fitted(name: str, answers: Answers, prefs: Preferences) -> AnnotationModel:
    """Return the fitted model of a method; that of majority vote gives all agents the same accuracy."""
    if name == "majority-vote":
        return _majority(answers, prefs)
    made: Any = registry.make(name)
    learnt = made.learn(answers)
    return _model_of(prefs, answers, learnt.chance, learnt.shares, learnt.confusions, learnt.counts,
                     ability=learnt.ability, log_ease=learnt.log_ease)  # fmt: skip


def _majority(answers: Answers, prefs: Preferences) -> AnnotationModel:
    """Return votes as a model: one accuracy for all agents, equal shares of the classes up to the data."""
    found = em.fit(answers, OneCoin(answers.n_agents, answers.n_classes, ALIKE), shares_of_votes(answers))
    coding = found.coding
    return _model_of(prefs, answers, found.chance, coding.shares(found.psi), coding.confusions(found.psi), found.counts)


def _model_of(
    prefs: Preferences, answers: Answers, chance: Floats, shares: Floats, table: Floats, counts: Floats, **more: Any
) -> AnnotationModel:
    assert prefs.agents is not None
    return AnnotationModel.of(
        prefs, np.zeros(prefs.n_slots), agents=prefs.agents, categories=answers.categories, shares=shares,
        confusions=table, posterior=chance, counts=counts, **more,
    )  # fmt: skip


class Spammer(NamedTuple):
    """Why an annotator is called a spammer."""

    kind: str
    """``constant answers``, ``random answers`` or ``reversed answers``."""
    evidence: str


@dataclass(frozen=True, eq=False)
class Aggregated:
    """The class of every item and the quality of every annotator.

    Attributes
    ----------
    method : str
        The method of ``METHODS``.
    held_out : HeldOut or None
        The comparison by which the method was chosen; None if it was given.
    model : AnnotationModel
        Class probabilities by slot, confusion matrices by agent.
    """

    prefs: Preferences
    method: str
    model: AnnotationModel
    answers: Answers
    chance: Floats
    """slot x class: the probabilities, or the shares of the votes."""
    known: Int64s
    """The class of each slot that was given as gold, else -1."""
    held_out: HeldOut | None = field(default=None)

    # ---- items ----
    @cached_property
    def classes(self) -> list[Any]:
        """Names (or values) of the classes."""
        values = self.answers.categories
        if self.prefs.classes is not None:
            return [*self.prefs.classes.take(values.astype(np.int64))]
        ranks = -values if self.prefs.scale == "rank" else values
        return [int(value) if value == int(value) else value for value in ranks.tolist()]

    @cached_property
    def judged(self) -> Int64s:
        """The slots with answers."""
        return np.flatnonzero(views.ranked_weight(self.prefs) > 0)

    def items(self) -> dict[str, list[Any]]:
        """Return the items as columns.

        Returns
        -------
        dict of str to list
            ``instance`` (if there are several), ``item``, ``judged``, ``class``, ``probability``, ``majority_vote``
            and ``share`` (of the votes).
        """
        prefs, slots = self.prefs, self.judged
        votes = shares_of_votes(replace(self.answers, known=np.full(self.answers.n_slots, -1, np.int64)))[slots]
        named: dict[str, list[Any]] = {}
        if prefs.instances is not None:
            named["instance"] = prefs.instances.take(segment_index(prefs.slot_ptr)[slots])
        chance = self.chance[slots]
        return named | {
            "item": prefs.items.take(prefs.slot_item[slots]),
            "judged": views.ranked_weight(prefs)[slots].tolist(),
            "class": [self.classes[k] for k in chance.argmax(axis=1).tolist()],
            "probability": chance.max(axis=1, initial=0.0).tolist(),
            "majority_vote": [self.classes[k] for k in votes.argmax(axis=1).tolist()],
            "share": votes.max(axis=1, initial=0.0).tolist(),
        }

    def distributions(self) -> list[dict[str, float]]:
        """Return the probability of each class of each item.

        Returns
        -------
        list of dict of str to float
            A distribution per item, in the order of ``items``.
        """
        names = [str(name) for name in self.classes]
        return [dict(zip(names, row, strict=True)) for row in self.chance[self.judged].tolist()]

    # ---- annotators ----
    @cached_property
    def others(self) -> Floats:
        """The class probabilities of the item of each answer, estimated without this answer: answer x class."""
        answers, model, slot = self.answers, self.model, self.answers.slot
        own = np.maximum(model.posterior[slot], MIN_CHANCE)
        if model.ability is not None and model.log_ease is not None:
            right = _right(model.ability[answers.agent] * np.exp(model.log_ease[slot]))
            wrong = (1 - right) / max(answers.n_classes - 1, 1)
            said = np.tile(wrong[:, None], answers.n_classes)
            said[np.arange(len(said)), answers.answer] = right
        else:
            said = model.confusions[answers.agent, :, answers.answer]
        log = np.log(own) - answers.weight[:, None] * np.log(np.maximum(said, MIN_CHANCE))
        without = np.exp(log - log.max(axis=1, keepdims=True, initial=-np.inf))
        without /= without.sum(axis=1, keepdims=True)
        given = np.flatnonzero(self.known[slot] >= 0)
        without[given] = np.eye(answers.n_classes)[self.known[slot[given]]]
        return np.asarray(without)

    @cached_property
    def kappa(self) -> tuple[Floats, Floats]:
        """Cohen's kappa of each annotator with the consensus of the others, and its standard error; NaN if unknown."""
        answers, n, k = self.answers, self.answers.n_agents, self.answers.n_classes
        agent, weight = answers.agent, answers.weight
        total = sum_by(agent, weight, n)
        mean = np.stack([sum_by(agent, weight * self.others[:, c], n) for c in range(k)], axis=1)
        mean /= np.maximum(total, MIN_CHANCE)[:, None]
        rate = mean[agent, answers.answer]  # of the class answered, among the agent's items
        above = self.others[np.arange(len(agent)), answers.answer] - rate
        by_chance = sum_by(agent, weight * rate, n) / np.maximum(total, MIN_CHANCE)
        gain = sum_by(agent, weight * above, n) / np.maximum(total, MIN_CHANCE)
        variance = sum_by(agent, weight * (above - gain[agent]) ** 2, n) / np.maximum(total, MIN_CHANCE)
        possible = 1 - by_chance
        is_known = (possible > 1e-6) & (total > 1)
        scale = np.where(is_known, possible, 1.0)
        error = np.sqrt(variance / np.maximum(total - 1, 1.0)) / scale
        return np.where(is_known, gain / scale, np.nan), np.where(is_known, error, np.nan)

    @cached_property
    def accuracy(self) -> tuple[Floats, Floats, Floats]:
        """The estimated accuracy of each annotator, with a 95% interval."""
        answers, n = self.answers, self.answers.n_agents
        estimate = self.model.accuracy()
        if self.method == "majority-vote":
            agreed = sum_by(
                answers.agent, answers.weight * self.others[np.arange(len(answers.agent)), answers.answer], n
            )
            total = sum_by(answers.agent, answers.weight, n)
            estimate = np.where(total > 0, agreed / np.maximum(total, MIN_CHANCE), np.nan)
        certain = self.model.posterior[answers.slot, answers.answer]
        total = sum_by(answers.agent, answers.weight, n)
        doubt = sum_by(answers.agent, answers.weight**2 * certain * (1 - certain), n) / np.maximum(total, 1.0) ** 2
        return estimate, *beta_interval(estimate, np.clip(estimate * (1 - estimate), 1e-6, None) / (total + 1) + doubt)

    def confusions(self) -> dict[str, list[Any]]:
        """Return the confusion matrices in rows, with 95% intervals.

        Returns
        -------
        dict of str to list
            ``agent``, ``class`` (true), ``answer``, ``probability``, ``low``, ``high`` and ``expected`` (number of such
            answers).
        """
        table, counts = self.model.confusions, self.model.counts.transpose(0, 2, 1)
        total = counts.sum(axis=2, keepdims=True)
        low, high = beta_interval(table, table * (1 - table) / (total + 2))
        agent, true, answer = (axis.ravel() for axis in np.indices(table.shape))
        assert self.prefs.agents is not None
        return {
            "agent": self.prefs.agents.take(agent),
            "class": [self.classes[k] for k in true.tolist()],
            "answer": [self.classes[k] for k in answer.tolist()],
            "probability": table.ravel().tolist(),
            "low": low.ravel().tolist(),
            "high": high.ravel().tolist(),
            "expected": counts.ravel().tolist(),
        }

    @cached_property
    def spammers(self) -> dict[int, Spammer]:
        """The annotators whose answers tell nothing about the item, by code, with the evidence."""
        answers, n = self.answers, self.answers.n_agents
        kappa, error = self.kappa
        n_answers = np.bincount(answers.agent, minlength=n)
        enough = np.isfinite(kappa) & (n_answers >= MIN_ANSWERS) & (error > 0)
        informed = enough & (kappa - LEVEL * error > 0)
        if not informed.any() or answers.n_classes < 2:
            return {}
        typical = float(np.median(kappa[informed]))
        is_useless = enough & (kappa - LEVEL * error <= 0) & (typical - kappa > SURE * error)
        share, top, excess = self._most_frequent(informed)
        found = {}
        for k in np.flatnonzero(is_useless).tolist():
            at, low, high = (round(kappa[k] + side * LEVEL * error[k], 2) + 0.0 for side in (0, -1, 1))
            is_reversed = kappa[k] + VERY_SURE * error[k] < 0
            shown = f"kappa with the others {at:.2f} [{low:.2f}, {high:.2f}], typically {typical:.2f}"
            if is_reversed:
                found[k] = Spammer("reversed answers", f"{shown}; {n_answers[k]:,} answers")
            elif share[k] >= CONSTANT and excess[k] > SURE:
                name = self.classes[int(top[k])]
                found[k] = Spammer(
                    "constant answers", f"{share[k]:.0%} of {n_answers[k]:,} answers are {name}; {shown}"
                )
            else:
                found[k] = Spammer("random answers", f"{shown}; {n_answers[k]:,} answers")
        return found

    def _most_frequent(self, informed: Bools) -> tuple[Floats, Int64s, Floats]:
        """Return each agent's share of its most frequent answer, that answer, and its excess in standard errors.

        The excess is over the number that an average informed agent would give on the same items.
        """
        answers, n, k = self.answers, self.answers.n_agents, self.answers.n_classes
        votes = sum_by(answers.agent * k + answers.answer, answers.weight, n * k).reshape(n, k)
        top, total = votes.argmax(axis=1), np.maximum(votes.sum(axis=1), MIN_CHANCE)
        typical = self.model.confusions[informed].mean(axis=0)
        p = (self.others * typical.T[top[answers.agent]]).sum(axis=1)
        expected, variance = (sum_by(answers.agent, answers.weight * one, n) for one in (p, p * (1 - p)))
        excess = (votes.max(axis=1, initial=0.0) - expected) / np.sqrt(np.maximum(variance, MIN_CHANCE))
        return votes.max(axis=1, initial=0.0) / total, top, excess

    @cached_property
    def adherence(self) -> Floats | None:
        """The adherence of each annotator by the multinomial model, NaN if unknown; None for nominal classes."""
        if self.prefs.classes is not None:
            return None
        agents = registry.make("theta-mpm").rank(self.prefs).agents or {}
        assert self.prefs.agents is not None
        return np.array([agents.get(name, np.nan) for name in self.prefs.agents.labels])

    def agents(self) -> dict[str, list[Any]]:
        """Return what is estimated of the annotators as columns.

        Returns
        -------
        dict of str to list
            ``agent``, ``judged``, ``estimated`` (accuracy) with ``estimated_low`` and ``estimated_high``, ``kappa``
            with the consensus of the others, with ``kappa_low`` and ``kappa_high``, ``adherence`` (classes with an
            order only), ``spammer`` and ``evidence``; None where unknown.
        """
        prefs, (estimate, low, high), (kappa, error) = self.prefs, self.accuracy, self.kappa
        assert prefs.agents is not None
        found = [self.spammers.get(k) for k in range(len(prefs.agents))]
        columns: dict[str, Any] = {
            "agent": [*prefs.agents.labels],
            "judged": sum_by(self.answers.agent, self.answers.weight, self.answers.n_agents),
            "estimated": estimate,
            "estimated_low": low,
            "estimated_high": high,
            "kappa": kappa,
            "kappa_low": kappa - LEVEL * error,
            "kappa_high": kappa + LEVEL * error,
        }
        if self.adherence is not None:
            columns["adherence"] = self.adherence
        columns = {
            name: values if isinstance(values, list) else [None if v != v else v for v in values.tolist()]
            for name, values in columns.items()
        }
        return columns | {
            "spammer": [None if one is None else one.kind for one in found],
            "evidence": [None if one is None else one.evidence for one in found],
        }

    def concordance(self) -> float | None:
        """Return Spearman's correlation of adherence and estimated accuracy over the annotators.

        Returns
        -------
        float or None
            The correlation; None if classes have no order or fewer than three annotators have both.
        """
        return None if self.adherence is None else rank_correlation(self.adherence, self.accuracy[0])


def _right(x: Floats) -> Floats:
    return np.asarray(0.5 * (1 + np.tanh(x / 2)))


def rank_correlation(one: Floats, other: Floats) -> float | None:
    """Return Spearman's correlation over the pairs of numbers; None if there are fewer than three, or one is constant.

    Parameters
    ----------
    one, other : ndarray of float64
        The numbers; NaN if unknown.

    Returns
    -------
    float or None
        The correlation of the mean ranks.
    """
    from scipy.stats import rankdata

    known = np.isfinite(one) & np.isfinite(other)
    ranks = [rankdata(values[known]) for values in (one, other)]
    if known.sum() < 3 or min(np.ptp(rank) for rank in ranks) == 0:
        return None
    return float(np.corrcoef(*ranks)[0, 1])


def beta_interval(mean: Floats, variance: Floats) -> tuple[Floats, Floats]:
    """Return the 95% intervals of beta distributions with these means and variances."""
    from scipy.special import betaincinv

    p = np.clip(mean, 1e-6, 1 - 1e-6)
    strength = np.maximum(p * (1 - p) / np.clip(variance, 1e-12, None) - 1, 1e-3)
    low, high = (betaincinv(p * strength, (1 - p) * strength, tail) for tail in (0.025, 0.975))
    return np.minimum(low, mean), np.maximum(high, mean)


def aggregate(
    prefs: Preferences, method: str = "auto", *, gold: Labels | None = None, min_yes: float | None = None
) -> Aggregated:
    """Estimate the class of every item and the quality of every annotator.

    Parameters
    ----------
    prefs : Preferences
        The answers: ratings or classes, with agents.
    method : str, default 'auto'
        A name of ``METHODS``. ``"auto"``: the method under which held-out answers are most likely.
    gold : Labels, optional
        Gold labels of some items, which are then taken as known (semi-supervised estimation).
    min_yes : float, optional
        Smallest gold label that means yes, where answers take two values; by default, inferred.

    Returns
    -------
    Aggregated
        Classes with probabilities by item, and accuracy, agreement and spammers by annotator.

    Examples
    --------
    >>> import concordant as cc
    >>> prefs = cc.crowd.judgements(["w1", "w2", "w3"], ["t"] * 3, ["d"] * 3, ["cat", "cat", "dog"])
    >>> cc.crowd.aggregate(prefs, "majority-vote").items()["class"]
    ['cat']
    """
    if prefs.agents is None or prefs.agent is None or prefs.value is None:
        raise NeedError(
            "Each answer needs an agent and a class: name their columns with "
            + arg("agent")
            + " and "
            + arg("answer")
            + "."
        )
    compared = None
    if method == "auto":
        compared = held_out(prefs, applicable(prefs, is_quick=True))
        method = compared.method[0]
    method = method_name(method)
    if method == "ordinal-annotators" and prefs.classes is not None:
        raise NeedError(
            "ordinal-annotators needs classes with an order: order them with " + arg("categories", shown="A,B,…") + "."
        )
    answers = Answers.of(prefs, method)
    if gold is not None:
        answers = answers.with_known(gold_of_slots(prefs, gold, min_yes))
    if method == "majority-vote":
        model, chance = _majority(answers, prefs), shares_of_votes(answers)
        return Aggregated(prefs, method, model, answers, chance, answers.known, compared)
    model = _fitted(method, answers, prefs)
    return Aggregated(prefs, method, model, answers, model.posterior, answers.known, compared)


def gold_of_slots(prefs: Preferences, gold: Labels, min_yes: float | None = None) -> Floats:
    """Return the gold label of every slot as a value of the answers; NaN where there is none.

    Where answers take two values, ``min_yes`` is the smallest gold label that means the larger one.
    """
    label = gold.for_items(segment_index(prefs.slot_ptr), prefs.instances, prefs.items, prefs.slot_item)
    values = in_classes(gold, prefs.classes, label)
    if prefs.classes is None and len(levels := values_of(prefs)) == 2:
        least = yes_among(levels, gold) if min_yes is None else min_yes
        if least is not None:
            values = np.where(np.isfinite(values), levels[(values >= least).astype(np.int64)], np.nan)
    return -values if prefs.scale == "rank" else values


def gold_accuracy(
    aggregated: Aggregated,
    gold: Labels,
    *,
    min_yes: float | None = None,
    learns: bool = False,
    folds: int = 5,
    seed: int = 0,
) -> float:
    """Return the share of gold labels that aggregated classes match.

    Parameters
    ----------
    aggregated : Aggregated
        The aggregated answers.
    gold : Labels
        The gold labels.
    min_yes : float, optional
        Smallest answer or label that means yes; by default, classes must be equal.
    learns : bool, default False
        Whether gold labels are also used for the estimation: each is then predicted from the others, by
        cross-validation over the gold labels.
    folds : int, default 5
        Number of folds of the cross-validation.
    seed : int, default 0
        Seed of the folds.

    Returns
    -------
    float
        The accuracy on the items with answers and a gold label.
    """
    prefs, data = aggregated.prefs, replace(aggregated.answers, known=np.full(aggregated.answers.n_slots, -1, np.int64))
    label = gold_of_slots(prefs, gold, min_yes)
    label[views.ranked_weight(prefs) <= 0] = np.nan
    known = np.flatnonzero(np.isfinite(label))
    if not len(known):
        raise InputError("No item has both answers and a gold label: check that both files name the items alike.")

    def matches(chance: Floats, slots: Int64s) -> int:
        values = data.categories
        if min_yes is None:
            return int((values[chance[slots].argmax(axis=1)] == label[slots]).sum())
        return int(((chance[slots][:, values >= min_yes].sum(axis=1) > 0.5) == (label[slots] >= min_yes)).sum())

    if not learns:
        is_blind = not (aggregated.known >= 0).any()
        chance = aggregated.chance if is_blind else _chances(aggregated.method, data, prefs)
        return matches(chance, known) / len(known)
    fold = np.random.default_rng(seed).permutation(len(known)) % min(folds, len(known))
    right = 0
    for part in range(fold.max() + 1):
        rest = np.full(len(label), np.nan)
        rest[known[fold != part]] = label[known[fold != part]]
        right += matches(_chances(aggregated.method, data.with_known(rest), prefs), known[fold == part])
    return right / len(known)


def _chances(method: str, answers: Answers, prefs: Preferences) -> Floats:
    """Return the class probabilities by slot; for majority vote, the shares of the votes."""
    return shares_of_votes(answers) if method == "majority-vote" else _fitted(method, answers, prefs).posterior
