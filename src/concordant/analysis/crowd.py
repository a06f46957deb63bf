"""Judgements of a crowd: who is right how often, and what the documents really are.

A judgement says what an agent (a worker) thinks of a document of a topic, 1 for relevant and 0 for not, or a grade;
gold labels are known for some documents. All that turns judgements into rankings and labels is reachable from here:

===============  ===========================================================================================
majority-vote    judgements for a document minus those against it
condorcet        duels of documents, won by whom agents judge higher in total (Copeland's points)
dawid-skene      what a document is and how each agent errs, found together without gold labels
ulara            agents count by their agreement with the mean rank of each document
cranking         the posterior of the order; agents have dispersions learnt from the gold labels of other topics
theta-mpm        agents count by how well they agree with the gold labels of other topics
consensus        a ranker trained on the summed preferences of all agents
hybrid           a ranker that knows every agent with at least ``min_preferences`` judgements by itself,
                 all others by their sum
===============  ===========================================================================================

The last four learn from gold labels. ``rank`` ranks by any of them, ``decide`` gives labels to all documents,
``reliability`` says how often each agent is right.

>>> from concordant import crowd
>>> prefs = crowd.judgements(["ann", "bob", "eve"] * 2, ["t1"] * 6, ["d1"] * 3 + ["d2"] * 3, [1, 1, 0, 0, 0, 1])
>>> crowd.decide(prefs, "majority-vote").label.tolist()
[1.0, 0.0]

References: R. Snow et al., Cheap and fast, but is it good?, EMNLP 2008; M. Volkovs, H. Larochelle and R. Zemel,
Learning to rank by aggregating expert preferences, CIKM 2012.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from concordant import registry, views
from concordant.ballots.segments import sum_by
from concordant.ballots.vocabulary import encode
from concordant.errors import InputError, NeedError, ParameterError, action, arg
from concordant.labels import Labels
from concordant.method import Method
from concordant.preferences import Preferences
from concordant.ranking import Ranking
from concordant.support.text import align
from concordant.types import Floats

CLASSES = "there are more than two values, so a judgement is right where it equals the gold label: give {} for yes/no"
LEVEL = 1.959963984540054  # standard errors on either side of an interval that holds 95%


class System(NamedTuple):
    """A way from judgements to a ranking: a method with the settings it has for judgements."""

    method: str
    params: Mapping[str, Any] = {}
    learns: bool = False
    """Whether it learns from gold labels."""


SYSTEMS: Mapping[str, System] = {
    "majority-vote": System("majority-vote", {"cutoff": 1.0}),
    "condorcet": System("copeland", {"counts": "difference"}),
    "dawid-skene": System("dawid-skene"),
    "ulara": System("ulara"),
    "theta-mpm": System("mpm", {"counts": "binary"}, True),
    "cranking": System("cranking", learns=True),
    "consensus": System("expert-ranker", {"scope": "combined", "counts": "binary", "unjudged": "skip"}, True),
    "hybrid": System("expert-ranker", {"scope": "hybrid", "counts": "binary", "unjudged": "skip"}, True),
}


def judgements(agent: Any, topic: Any, document: Any, judgement: Any) -> Preferences:
    """Make preferences of a table of judgements, a row each; of an agent's repeated judgements the first counts."""
    columns = [encode(column, name)[0] for column, name in ((agent, "agent"), (topic, "topic"), (document, "document"))]
    if len({len(column) for column in columns}) > 1:
        raise InputError("agent, topic and document differ in length: give one of each per judgement.")
    _, first = np.unique(np.stack(columns), axis=1, return_index=True)
    first.sort()
    kept = [np.asarray(column)[first] for column in (agent, document, judgement, topic)]
    prefs = Preferences.from_ratings(*kept[:3], instance=kept[3])
    left_out = len(columns[0]) - len(first)
    return prefs.noted(f"left out {left_out:,} judgements of a document the agent judged before") if left_out else prefs


def method(system: str, **params: Any) -> Method:
    """Return the method of a system, with other parameters where given."""
    chosen = _system(system)
    return registry.make(chosen.method, **{**chosen.params, **params})


def rank(
    prefs: Preferences,
    system: str = "majority-vote",
    *,
    train: tuple[Preferences, Labels] | None = None,
    validation: tuple[Preferences, Labels] | float | None = None,
    **params: Any,
) -> Ranking:
    """Rank the documents of every topic; systems that learn do so from ``train``, judgements with gold labels.

    ``validation`` (judgements and gold labels of other topics, or the share of ``train`` to hold out) chooses settings
    of systems that have some to choose; the others ignore it.
    """
    chosen: Any = method(system, **params)
    if _system(system).learns:
        if train is None:
            raise NeedError(
                f"{system} learns from gold labels: give " + arg("train", shown="(judgements, labels)") + "."
            )
        options = {"validation": validation} if "validation" in _arguments(chosen) else {}
        chosen = chosen.fit(*train, **options)
    ranking: Ranking = chosen.rank(prefs)
    return ranking


def yes_from(prefs: Preferences, gold: Labels | None = None) -> float | None:
    """Return the smallest value that is a yes where judgements (and gold labels) are yes and no; None for classes.

    Judgements of 0 and 1 are no and yes, and gold grades of at least 1 mean yes. Of any two other values the larger
    one is a yes. More than two values are classes.
    """
    return _yes_among(_values(prefs), gold)


def _values(prefs: Preferences) -> Floats:
    return np.unique(prefs.value) if prefs.value is not None else np.zeros(0)


def _yes_among(values: Floats, gold: Labels | None) -> float | None:
    """Return the smallest of these values that is a yes; None where there are more than two."""
    if np.isin(values, (0.0, 1.0)).all():
        return 1.0
    if gold is not None:
        values = np.union1d(values, gold.label[np.isfinite(gold.label)])
    return float(values[-1]) if len(values) <= 2 else None


class Decided(Labels):
    """Labels that ``decide`` gave, with their convention.

    ``least`` is the least judgement that is a yes, None where labels are classes; ``values`` are the values of the
    judgements where ``least`` was found from them, None where it was given.
    """

    least: float | None
    values: Floats | None

    def __init__(
        self, instance: object, item: object, label: object, least: float | None, values: Floats | None
    ) -> None:
        super().__init__(instance, item, label)
        vars(self).update(least=least, values=values)


def decide(prefs: Preferences, system: str = "dawid-skene", *, relevant: float | str | None = "auto") -> Decided:
    """Decide for every judged document whether it is relevant, 1 or 0: a judgement of at least ``relevant`` is a yes.

    With ``relevant=None`` (by default where judgements have more than two values, see ``yes_from``) the label is the
    class. By ``majority-vote`` more agents must say yes than no, or the class with most votes is taken (the lowest of
    several); by ``dawid-skene`` a yes must be more likely than a no, or the most likely class is taken.
    """
    if system not in ("majority-vote", "dawid-skene"):
        raise ParameterError(f"{system!r} gives no labels: decide by majority-vote or dawid-skene.")
    min_yes: Any = yes_from(prefs) if relevant == "auto" else relevant
    if min_yes is None:
        decided = _classes(prefs, system)
    elif system == "majority-vote":
        decided = (rank(prefs, system, cutoff=min_yes).score > 0).astype(np.float64)
    else:
        model: Any = rank(prefs, system).model
        decided = (model.posterior[:, model.categories >= min_yes].sum(axis=1) > 0.5).astype(np.float64)
    judged_slots = np.flatnonzero(views.ranked_weight(prefs) > 0)
    instance = None if prefs.instances is None else prefs.instances.take(views.instance_of_slot(prefs)[judged_slots])
    values = _values(prefs) if relevant == "auto" else None
    return Decided(instance, prefs.items.take(prefs.slot_item[judged_slots]), decided[judged_slots], min_yes, values)


def _classes(prefs: Preferences, system: str) -> Floats:
    """Return the most frequent (or most likely) class of every slot."""
    if system == "dawid-skene":
        model: Any = rank(prefs, system).model
        return np.asarray(model.categories[model.posterior.argmax(axis=1)])
    assert prefs.value is not None
    values, code = np.unique(prefs.value, return_inverse=True)
    votes = sum_by(prefs.entry_slot * len(values) + code, views.weight_of_entry(prefs), prefs.n_slots * len(values))
    return np.asarray(values[votes.reshape(prefs.n_slots, len(values)).argmax(axis=1)])


def agreement(decided: Labels, gold: Labels, *, relevant: float | str | None = "auto") -> float:
    """Return the share of gold labels that agree with the decided labels; labels of at least ``relevant`` are a yes.

    By default the convention is that of ``decide``; where it was found from the judgements, gold labels count as in
    ``yes_from``. Of labels from elsewhere the larger is a yes where decided and gold labels together have at most two
    values. With ``relevant=None``, and otherwise, classes must be equal.
    """
    topic = np.repeat(np.arange(gold.n_instances), np.diff(gold.ptr))
    decided_label = decided.for_items(topic, gold.instances, gold.items, gold.item)
    is_known = np.isfinite(decided_label)
    if not is_known.any():
        raise InputError("No document has both a decided and a gold label: check that they name topics alike.")
    min_yes: Any = relevant
    if relevant == "auto":
        decided_label, min_yes = _as_judged(decided, gold, decided_label)
    if min_yes is None:
        return float((decided_label == gold.label)[is_known].mean())
    is_yes = decided_label > 0 if _is_yes_or_no(decided, relevant) else decided_label >= min_yes
    return float((is_yes == (gold.label >= min_yes))[is_known].mean())


def _as_judged(decided: Labels, gold: Labels, decided_label: Floats) -> tuple[Floats, float | None]:
    """Return decided labels as values of the judgements where these are known, and the smallest value that is a yes."""
    if not isinstance(decided, Decided):
        values = np.union1d(*(labels[np.isfinite(labels)] for labels in (decided_label, gold.label)))
        return decided_label, float(values[-1]) if len(values) <= 2 else None
    if decided.values is None or decided.least is None:
        return decided_label, decided.least
    judged = np.where(decided_label > 0, decided.values[-1], decided.values[0])
    return np.where(np.isfinite(decided_label), judged, np.nan), _yes_among(decided.values, gold)


def _is_yes_or_no(decided: Labels, relevant: float | str | None) -> bool:
    """Return whether decided labels are 0 and 1 for no and yes, not values to compare with the smallest yes."""
    if not isinstance(decided, Decided):
        return relevant != "auto" and bool(np.isin(decided.label, (0.0, 1.0)).all())
    return decided.least is not None and (relevant != "auto" or decided.values is None)


@dataclass(frozen=True)
class Reliability:
    """How often agents are right, a row per agent: ``accuracy`` is NaN for one without judgements of gold documents.

    ``low`` and ``high`` hold the chance to be right with 95% (Wilson's interval). ``relevant`` and ``irrelevant`` are
    the shares of right answers on documents of either kind (NaN where labels are classes), ``estimated`` is what
    Dawid-Skene makes of the agent without looking at gold labels, for yes and no or for classes as ``accuracy``.
    """

    agents: tuple[str, ...]
    judged: Floats
    on_gold: Floats
    accuracy: Floats
    low: Floats
    high: Floats
    relevant: Floats
    irrelevant: Floats
    estimated: Floats
    notes: tuple[str, ...] = field(default=())

    def columns(self) -> dict[str, Any]:
        """Return the table by column, most judgements first."""
        order = np.lexsort((np.arange(len(self.agents)), -self.judged))
        names = ("judged", "on_gold", "accuracy", "low", "high", "relevant", "irrelevant", "estimated")
        columns: dict[str, Any] = {"agent": [self.agents[k] for k in order.tolist()]}
        return columns | {name: getattr(self, name)[order].tolist() for name in names}

    def __str__(self) -> str:
        columns = self.columns()
        lines = [[str(agent), *cells] for agent, *cells in zip(columns["agent"], *written(columns), strict=True)]
        return "\n".join(align([list(columns), *lines], right=set(range(1, len(columns)))))


def written(columns: Mapping[str, Any]) -> list[list[str]]:
    """Return the numbers of a table of agents as text, column by column: counts whole, shares to two places."""
    return [
        [f"{x:.0f}" if name in ("judged", "on_gold") else "" if np.isnan(x) else f"{x:.2f}" for x in column]
        for name, column in columns.items()
        if name != "agent"
    ]


def reliability(
    prefs: Preferences, gold: Labels | None = None, *, relevant: float | str | None = "auto"
) -> Reliability:
    """Compare every agent's judgements with gold labels; a judgement or label of at least ``relevant`` is a yes.

    With ``relevant=None`` (by default where there are more than two values, see ``yes_from``) a judgement is right
    where its class is that of the gold label.
    """
    if prefs.agents is None or prefs.agent is None or prefs.value is None:
        raise NeedError(
            "Every judgement needs an agent and a rating: name their columns with "
            + arg("agent")
            + " and "
            + arg("rating")
            + action("judgements", ", or build them with crowd.judgements")
            + "."
        )
    agent, n = prefs.agent[views.ballot_of_entry(prefs)], len(prefs.agents)
    label = np.full(len(agent), np.nan)
    if gold is not None:
        label = gold.for_items(views.entry_instances(prefs), prefs.instances, prefs.items, prefs.item)
    weight = views.weight_of_entry(prefs)
    gold_weight = weight * np.isfinite(label)
    min_yes: Any = yes_from(prefs, gold) if relevant == "auto" else relevant
    gold_label = np.full(len(label), np.nan) if min_yes is None else label
    is_right = prefs.value == label if min_yes is None else (prefs.value >= min_yes) == (label >= min_yes)
    on_gold, right_weight = sum_by(agent, gold_weight, n), sum_by(agent, gold_weight * is_right, n)
    low, high = _wilson(right_weight, on_gold)
    by_kind = [
        _share(sum_by(agent, gold_weight * is_right * kind, n), sum_by(agent, gold_weight * kind, n))
        for kind in ((gold_label >= (min_yes or 0.0)), (gold_label < (min_yes or 0.0)))
    ]
    return Reliability(
        tuple(prefs.agents.labels),
        sum_by(agent, weight, n),
        on_gold,
        _share(right_weight, on_gold),
        low,
        high,
        by_kind[0],
        by_kind[1],
        _estimated(prefs, min_yes),
        prefs.notes if min_yes is not None or relevant is None else (*prefs.notes, CLASSES.format("relevant")),
    )


def _estimated(prefs: Preferences, min_yes: float | None) -> Floats:
    """Return, for every agent, the probability of a right answer by Dawid-Skene: Σ shares_k confusions_akl
    over l right for k.
    """
    model: Any = rank(prefs, "dawid-skene").model
    kind = np.arange(len(model.categories)) if min_yes is None else model.categories >= min_yes
    return np.asarray(np.einsum("akl,k,kl->a", model.confusions, model.shares, kind[:, None] == kind))


def _share(part: Floats, whole: Floats) -> Floats:
    return np.where(whole > 0, part / np.where(whole > 0, whole, 1.0), np.nan)


def _wilson(right: Floats, total: Floats) -> tuple[Floats, Floats]:
    """Return Wilson's 95% score interval of a share; [0, 1] where the total is 0."""
    n = np.where(total > 0, total, 1.0)
    share, square = right / n, LEVEL**2  # z²
    middle = (share + square / (2 * n)) / (1 + square / n)
    half = LEVEL * np.sqrt(share * (1 - share) / n + square / (4 * n * n)) / (1 + square / n)
    is_known = total > 0
    low, high = np.minimum(middle - half, share), np.maximum(middle + half, share)  # rounding at 0 and 1
    return np.where(is_known, low, 0.0), np.where(is_known, high, 1.0)


def _system(name: str) -> System:
    if name not in SYSTEMS:
        raise ParameterError(f"There is no system {name!r} for judgements: use one of {', '.join(SYSTEMS)}.")
    return SYSTEMS[name]


def _arguments(fitted_method: Any) -> tuple[str, ...]:
    import inspect

    return tuple(inspect.signature(fitted_method.fit).parameters)
