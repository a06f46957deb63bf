"""Crowdsourced judgements: annotator reliability, and rankings and labels of the documents.

A judgement is the label that an agent (an annotator or worker) gives a document of a topic: 1 for relevant and 0 for
irrelevant, a grade, or a class such as "cat". Gold labels are the true labels of some documents. Classes without an
order are aggregated by majority-vote, dawid-skene, one-coin, mace and glad only. These systems turn judgements into
rankings and labels:

==================  ========================================================================================
majority-vote       judgements for a document minus those against it
condorcet           pairwise contests of documents by total judgement (Copeland score)
dawid-skene         labels and confusion matrices of the agents, estimated by EM without gold labels
one-coin            the same with one accuracy per agent
mace                the same with agents who know the label or spam
glad                the same with abilities of the agents and difficulties of the documents
ordinal-annotators  the same for ordered grades, with a slope and thresholds per agent
ulara               agents weighted by their agreement with the mean rank of each document
cranking            posterior mean ranks, with a dispersion per agent learnt from the gold labels of other topics
theta-mpm           agents weighted by their agreement with the gold labels of other topics
consensus           a ranker trained on the summed preferences of all agents
hybrid              a ranker with separate features for agents with at least ``min_preferences``
                    judgements; the others are summed
==================  ========================================================================================

The last four learn from gold labels. ``rank`` ranks by any of them, ``decide`` labels all documents, and
``reliability`` measures the accuracy of each agent. ``aggregate`` gives labels with probabilities and the quality of
each agent by the method that predicts held-out judgements best, and names spammers.

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
from concordant.analysis.gold import in_classes, values_of, yes_among
from concordant.analysis.gold import yes_from as yes_from
from concordant.analysis.truth import METHODS as METHODS
from concordant.analysis.truth import NAMES as NAMES
from concordant.analysis.truth import Aggregated as Aggregated
from concordant.analysis.truth import HeldOut as HeldOut
from concordant.analysis.truth import aggregate as aggregate
from concordant.analysis.truth import gold_accuracy as gold_accuracy
from concordant.analysis.truth import held_out as held_out
from concordant.ballots.build import library_of
from concordant.ballots.segments import segment_index, sum_by
from concordant.ballots.vocabulary import encode
from concordant.errors import InputError, NeedError, ParameterError, action, arg
from concordant.labels import Labels
from concordant.method import Method
from concordant.preferences import Preferences
from concordant.ranking import Ranking
from concordant.support.display import Block, Displayed, DisplayTable, text
from concordant.support.text import interval_cells, interval_heading
from concordant.tables.cells import number_in
from concordant.types import Floats, Int64s

CLASSES = "there are more than two values, so a judgement is correct if it equals the gold label: give {} for yes/no"
SHOWN = 20  # agents in a repr
LEVEL = 1.959963984540054  # standard errors on either side of an interval that holds 95%


class System(NamedTuple):
    """A method of ranking documents from judgements, with its settings."""

    method: str
    params: Mapping[str, Any] = {}
    learns: bool = False
    """Whether the system learns from gold labels."""


SYSTEMS: Mapping[str, System] = {
    "majority-vote": System("majority-vote", {"cutoff": 1.0}),
    "condorcet": System("copeland", {"counts": "difference"}),
    "dawid-skene": System("dawid-skene"),
    "one-coin": System("one-coin"),
    "mace": System("mace"),
    "glad": System("glad"),
    "ordinal-annotators": System("ordinal-annotators"),
    "ulara": System("ulara"),
    "theta-mpm": System("mpm", {"counts": "binary"}, True),
    "cranking": System("cranking", learns=True),
    "consensus": System("expert-ranker", {"scope": "combined", "counts": "binary", "unjudged": "skip"}, True),
    "hybrid": System("expert-ranker", {"scope": "hybrid", "counts": "binary", "unjudged": "skip"}, True),
}


def judgements(agent: Any, topic: Any, document: Any, judgement: Any) -> Preferences:
    """Create preferences from a table of judgements, one row each.

    If an agent judges a document repeatedly, the first judgement counts.

    Parameters
    ----------
    agent : array-like
        The annotator of each judgement.
    topic : array-like
        The topic (query, task) of each judgement.
    document : array-like
        The judged document.
    judgement : array-like of float or str
        The judgement: a number, such as 0 or 1, or a grade; or the name of a class.

    Returns
    -------
    Preferences
        Ratings (for names: nominal answers) by agent, with topics as instances.

    Examples
    --------
    >>> import concordant as cc
    >>> prefs = cc.crowd.judgements(["w1", "w2", "w1"], ["t1"] * 3, ["d1", "d1", "d2"], [1, 1, 0])
    >>> prefs.n_agents, prefs.n_items
    (2, 2)
    """
    columns = [encode(column, name)[0] for column, name in ((agent, "agent"), (topic, "topic"), (document, "document"))]
    if len({len(column) for column in columns}) > 1:
        raise InputError("agent, topic and document have different lengths: give one value of each per judgement.")
    _, first = np.unique(np.stack(columns), axis=1, return_index=True)
    first.sort()
    kept = [np.asarray(column)[first] for column in (agent, document, judgement, topic)]
    create = Preferences.from_answers if _are_names(kept[2]) else Preferences.from_ratings
    prefs = create(*kept[:3], instance=kept[3])
    prefs = prefs.replace(library=library_of((agent, topic, document, judgement)))
    left_out = len(columns[0]) - len(first)
    return prefs.noted(f"left out {left_out:,} repeated judgements by the same agent") if left_out else prefs


def _are_names(judgement: Any) -> bool:
    """Return whether judgements are names of classes: text, none of which is a number."""
    return judgement.dtype.kind in "OUT" and all(
        isinstance(one, str) and number_in(one) is None for one in judgement.tolist()
    )


def method(system: str, **params: Any) -> Method:
    """Return the method of a system.

    Parameters
    ----------
    system : str
        A name of ``crowd.SYSTEMS``.
    **params : object
        Hyper-parameters that replace those of the system.

    Returns
    -------
    Method
        The method.
    """
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
    """Rank the documents of every topic.

    Parameters
    ----------
    prefs : Preferences
        The judgements.
    system : str, default 'majority-vote'
        A name of ``crowd.SYSTEMS``.
    train : tuple of (Preferences, Labels), optional
        Judgements with gold labels, for systems that learn.
    validation : tuple of (Preferences, Labels) or float, optional
        Judgements and gold labels of other topics, or the share of ``train`` to hold out, for systems that choose
        hyper-parameters; other systems ignore it.
    **params : object
        Hyper-parameters that replace those of the system.

    Returns
    -------
    Ranking
        Documents of every topic, most relevant first.

    Raises
    ------
    NeedError
        If the system learns from gold labels and ``train`` is missing.
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


class Decided(Labels):
    """Labels from ``decide``, with the convention by which they were decided.

    ``least`` is the smallest judgement that means yes, None if labels are classes. ``values`` are the values of the
    judgements if ``least`` was inferred from them, None if it was given. ``probability`` is the estimated probability
    of each label: the share of the votes, or the posterior probability under the model.
    """

    least: float | None
    values: Floats | None
    probability: Floats

    def __init__(
        self,
        prefs: Preferences,
        slots: Int64s,
        label: Floats,
        probability: Floats,
        least: float | None,
        values: Floats | None,
    ) -> None:
        instance = None if prefs.instances is None else prefs.instances.take(views.instance_of_slot(prefs)[slots])
        super().__init__(instance, prefs.items.take(prefs.slot_item[slots]), label, prefs.classes)
        vars(self).update(least=least, values=values, probability=probability)  # slots are sorted by instance

    def columns(self) -> dict[str, Any]:
        """Return the labels as columns.

        Returns
        -------
        dict of str to list
            ``instance`` (if there are several), ``item``, ``label`` and ``probability``.
        """
        columns: dict[str, Any] = {}
        if self.instances is not None:
            columns["instance"] = self.instances.take(segment_index(self.ptr))
        label = self.label.tolist() if self.classes is None else self.classes.take(self.label.astype(np.int64))
        return columns | {
            "item": self.items.take(self.item), "label": label, "probability": self.probability.tolist()
        }  # fmt: skip


def decide(prefs: Preferences, system: str = "dawid-skene", *, relevant: float | str | None = "auto") -> Decided:
    """Aggregate the judgements of every document into one label.

    Parameters
    ----------
    prefs : Preferences
        The judgements.
    system : str, default 'dawid-skene'
        A name of ``METHODS``: majority vote (a tie means no; among classes, the lowest of the most frequent ones wins),
        or the most likely label under a model of annotators.
    relevant : float, 'auto' or None, default 'auto'
        Smallest judgement that means yes; labels are then 1 and 0. None: labels are the classes themselves.
        ``"auto"``: inferred from the values, see ``yes_from``. Nominal answers are always classes.

    Returns
    -------
    Decided
        Labels of all judged documents, with their probabilities.

    Examples
    --------
    >>> import concordant as cc
    >>> prefs = cc.crowd.judgements(["w1", "w2", "w3"], ["t1"] * 3, ["d1"] * 3, [1, 1, 0])
    >>> cc.crowd.decide(prefs, "majority-vote").label.tolist()
    [1.0]
    """
    if system not in METHODS:
        raise ParameterError(f"{system!r} does not assign labels: use one of {', '.join(METHODS)}.")
    min_yes: Any = yes_from(prefs) if relevant == "auto" else relevant
    _refuse_threshold(prefs, min_yes)
    values, chance = _chances(prefs, system)
    if min_yes is None:
        label, probability = values[chance.argmax(axis=1)], chance.max(axis=1)
    else:
        p_yes = chance[:, values >= min_yes].sum(axis=1)
        is_yes = rank(prefs, system, cutoff=min_yes).score > 0 if system == "majority-vote" else p_yes > 0.5
        label, probability = is_yes.astype(np.float64), np.where(is_yes, p_yes, 1 - p_yes)
    judged_slots = np.flatnonzero(views.ranked_weight(prefs) > 0)
    known_values = values_of(prefs) if relevant == "auto" and prefs.classes is None else None
    return Decided(prefs, judged_slots, label[judged_slots], probability[judged_slots], min_yes, known_values)


def _refuse_threshold(prefs: Preferences, min_yes: float | None) -> None:
    if prefs.classes is not None and min_yes is not None:
        raise ParameterError(
            arg("relevant", min_yes) + " does not apply to classes without an order: leave it out, or order them with "
            + arg("categories", shown="A,B,…") + "."
        )  # fmt: skip


def _chances(prefs: Preferences, system: str) -> tuple[Floats, Floats]:
    """Return the values of the judgements, and the share or probability of each value by slot."""
    if system != "majority-vote":
        model: Any = rank(prefs, system).model
        return model.categories, model.posterior
    if prefs.value is None:
        raise NeedError("Judgements have no values: give ratings or answers.")
    values, code = np.unique(prefs.value, return_inverse=True)
    votes = sum_by(prefs.entry_slot * len(values) + code, views.weight_of_entry(prefs), prefs.n_slots * len(values))
    votes = votes.reshape(prefs.n_slots, len(values))
    return values, votes / np.maximum(votes.sum(axis=1, keepdims=True), 1e-300)


def agreement(decided: Labels, gold: Labels, *, relevant: float | str | None = "auto") -> float:
    """Return the share of gold labels with which the decided labels agree.

    Parameters
    ----------
    decided : Labels
        Labels from ``decide``, or others.
    gold : Labels
        Gold labels.
    relevant : float, 'auto' or None, default 'auto'
        Smallest label that means yes. None: the labels are classes, which must be equal. ``"auto"``: the convention
        of ``decide`` or, for other labels, yes is the larger value if decided and gold labels have at most two values
        in all, and otherwise labels are classes.

    Returns
    -------
    float
        Accuracy on the documents with both labels.

    Raises
    ------
    InputError
        If no document has both labels.
    """
    topic = np.repeat(np.arange(gold.n_instances), np.diff(gold.ptr))
    decided_label = decided.for_items(topic, gold.instances, gold.items, gold.item)
    is_known = np.isfinite(decided_label)
    if not is_known.any():
        raise InputError("No document has both a decided and a gold label: check that both use the same topic names.")
    min_yes: Any = relevant
    if decided.classes is not None or gold.classes is not None:
        return float((decided_label == in_classes(gold, decided.classes))[is_known].mean())
    if relevant == "auto":
        decided_label, min_yes = _as_judged(decided, gold, decided_label)
    if min_yes is None:
        return float((decided_label == gold.label)[is_known].mean())
    is_yes = decided_label > 0 if _is_yes_or_no(decided, relevant) else decided_label >= min_yes
    return float((is_yes == (gold.label >= min_yes))[is_known].mean())


def _as_judged(decided: Labels, gold: Labels, decided_label: Floats) -> tuple[Floats, float | None]:
    """Return decided labels as values of the judgements, if available, and the smallest value that means yes."""
    if not isinstance(decided, Decided):
        values = np.union1d(*(labels[np.isfinite(labels)] for labels in (decided_label, gold.label)))
        return decided_label, float(values[-1]) if len(values) <= 2 else None
    if decided.values is None or decided.least is None:
        return decided_label, decided.least
    judged = np.where(decided_label > 0, decided.values[-1], decided.values[0])
    return np.where(np.isfinite(decided_label), judged, np.nan), yes_among(decided.values, gold)


def _is_yes_or_no(decided: Labels, relevant: float | str | None) -> bool:
    """Return whether decided labels are 0 and 1 for no and yes, rather than values to compare with a threshold."""
    if not isinstance(decided, Decided):
        return relevant != "auto" and bool(np.isin(decided.label, (0.0, 1.0)).all())
    return decided.least is not None and (relevant != "auto" or decided.values is None)


@dataclass(frozen=True)
class Reliability(Displayed):
    """Annotator reliability, one row per agent.

    Attributes
    ----------
    agents : tuple of str
        Names of the agents.
    judged : ndarray of float64
        Number of judgements.
    on_gold : ndarray of float64
        Number of judgements of documents with gold labels.
    accuracy : ndarray of float64
        Share of these that are correct; NaN if there are none.
    low, high : ndarray of float64
        95% confidence interval of the accuracy (Wilson).
    relevant, irrelevant : ndarray of float64
        Accuracy on relevant and irrelevant documents (sensitivity and specificity); NaN if labels are classes.
    estimated : ndarray of float64
        Accuracy that the Dawid-Skene model estimates without gold labels.
    notes : tuple of str
        Remarks on the computation.
    library : str or None
        Library of the DataFrame that the judgements came from.
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
    has_classes: bool = False
    """Whether the answers are classes without an order, which are neither relevant nor irrelevant."""
    library: str | None = None
    estimator: str = "Dawid-Skene"
    """The model that estimates accuracies, in words."""

    def columns(self) -> dict[str, Any]:
        """Return the table as columns.

        Returns
        -------
        dict of str to list
            The attributes by name, agents with the most judgements first.
        """
        order = np.lexsort((np.arange(len(self.agents)), -self.judged))
        names = ("judged", "on_gold", "accuracy", "low", "high", "relevant", "irrelevant", "estimated")
        columns: dict[str, Any] = {"agent": [self.agents[k] for k in order.tolist()]}
        return columns | {name: getattr(self, name)[order].tolist() for name in names}

    def written(self) -> dict[str, list[str]]:
        """Return the table as text.

        Returns
        -------
        dict of str to list of str
            Cells by heading: counts as integers, shares with two decimals, 95% confidence intervals.
        """
        columns = self.columns()
        low, high = (
            np.where(np.isnan(columns["accuracy"]), np.nan, columns.pop(end)).tolist() for end in ("low", "high")
        )
        interval = interval_cells(low, high, "{:.2f}".format)
        cells = {HEADINGS[name]: [_cell(name, value) for value in column] for name, column in columns.items()}
        if self.has_classes:
            cells = {head: cells[head] for head in cells if head not in (HEADINGS["relevant"], HEADINGS["irrelevant"])}
        first, rest = list(cells.items())[:4], list(cells.items())[4:]
        written = dict([*first, (interval_heading(), interval), *rest])
        return {self.estimator if head == HEADINGS["estimated"] else head: cells for head, cells in written.items()}

    def blocks(self) -> list[Block]:
        """Return the table that ``to_markdown``, ``to_latex``, ``to_html`` and the command line show.

        Returns
        -------
        list of DisplayTable
            One table, a row per agent.
        """
        columns = self.written()
        rows = list(zip(*columns.values(), strict=True))
        return [DisplayTable(list(columns), rows, range(1, len(columns)))]

    def to_frame(self, backend: str | None = None) -> Any:
        """Return the table as a DataFrame, one row per agent.

        Parameters
        ----------
        backend : {'pandas', 'polars', 'pyarrow'}, optional
            Library of the DataFrame; by default, that of the judgements, or else an installed one.

        Returns
        -------
        DataFrame
            The columns of ``columns``.
        """
        from concordant.tables.frames import frame_of

        return frame_of(self.columns(), backend, self.library)

    def __str__(self) -> str:
        return text(self.blocks())

    def __repr__(self) -> str:
        shown, more = str(self).splitlines(), len(self.agents) - SHOWN
        return "\n".join(shown if more <= 0 else [*shown[: SHOWN + 1], f"… {more:,} more"])


HEADINGS = {
    "agent": "agent",
    "judged": "judgements",
    "on_gold": "with gold label",
    "accuracy": "accuracy",
    "relevant": "on relevant",
    "irrelevant": "on irrelevant",
    "estimated": "Dawid-Skene",
}  # of the table for people; the interval comes after the accuracy


def _cell(name: str, value: Any) -> str:
    """Return a cell of the table for people."""
    if name == "agent":
        return str(value)
    return f"{value:.0f}" if name in ("judged", "on_gold") else "" if np.isnan(value) else f"{value:.2f}"


def reliability(
    prefs: Preferences,
    gold: Labels | None = None,
    *,
    relevant: float | str | None = "auto",
    aggregated: Aggregated | None = None,
) -> Reliability:
    """Estimate the reliability of every agent by comparing its judgements with gold labels.

    Parameters
    ----------
    prefs : Preferences
        The judgements.
    gold : Labels, optional
        Gold labels; without them only the estimate of the Dawid-Skene model is computed.
    relevant : float, 'auto' or None, default 'auto'
        Smallest judgement or label that means yes. None: a judgement is correct if its class equals the gold label.
        ``"auto"``: inferred from the values, see ``yes_from``.
    aggregated : Aggregated, optional
        Result of ``aggregate``, whose model then estimates the accuracies instead of Dawid-Skene.

    Returns
    -------
    Reliability
        Accuracy of every agent with a 95% confidence interval.

    Raises
    ------
    NeedError
        If the judgements have no agents or ratings.
    """
    if prefs.agents is None or prefs.agent is None or prefs.value is None:
        raise NeedError(
            "Each judgement needs an agent and a rating: name their columns with "
            + arg("agent")
            + " and "
            + arg("rating")
            + action("judgements", ", or build them with crowd.judgements")
            + "."
        )
    agent, n = prefs.agent[views.ballot_of_entry(prefs)], len(prefs.agents)
    label = np.full(len(agent), np.nan)
    if gold is not None:
        known = gold.for_items(views.entry_instances(prefs), prefs.instances, prefs.items, prefs.item)
        label = in_classes(gold, prefs.classes, known)
    weight = views.weight_of_entry(prefs)
    gold_weight = weight * np.isfinite(label)
    min_yes: Any = yes_from(prefs, gold) if relevant == "auto" else relevant
    _refuse_threshold(prefs, min_yes)
    is_told = min_yes is not None or relevant is None or prefs.classes is not None
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
        _estimated(prefs, min_yes, aggregated),
        prefs.notes if is_told else (*prefs.notes, CLASSES.format("relevant")),
        prefs.classes is not None,
        prefs.library,
        HEADINGS["estimated"] if aggregated is None else NAMES[aggregated.method],
    )


def _estimated(prefs: Preferences, min_yes: float | None, aggregated: Aggregated | None) -> Floats:
    """Return each agent's probability of a correct answer by the model: Σ shares_k confusions_akl over l correct for
    k.
    """
    if aggregated is not None and aggregated.method == "majority-vote":
        return aggregated.accuracy[0]
    model: Any = rank(prefs, "dawid-skene").model if aggregated is None else aggregated.model
    kind = np.arange(len(model.categories)) if min_yes is None else model.categories >= min_yes
    return np.asarray(np.einsum("akl,k,kl->a", model.confusions, model.shares, kind[:, None] == kind))


def _share(part: Floats, whole: Floats) -> Floats:
    return np.where(whole > 0, part / np.where(whole > 0, whole, 1.0), np.nan)


def _wilson(right: Floats, total: Floats) -> tuple[Floats, Floats]:
    """Return Wilson's 95% score interval of a share; [0, 1] if the total is 0."""
    n = np.where(total > 0, total, 1.0)
    share, square = right / n, LEVEL**2  # z²
    middle = (share + square / (2 * n)) / (1 + square / n)
    half = LEVEL * np.sqrt(share * (1 - share) / n + square / (4 * n * n)) / (1 + square / n)
    is_known = total > 0
    low, high = np.minimum(middle - half, share), np.maximum(middle + half, share)  # rounding at 0 and 1
    return np.where(is_known, low, 0.0), np.where(is_known, high, 1.0)


def _system(name: str) -> System:
    if name not in SYSTEMS:
        raise ParameterError(f"There is no system {name!r}: use one of {', '.join(SYSTEMS)}.")
    return SYSTEMS[name]


def _arguments(fitted_method: Any) -> tuple[str, ...]:
    import inspect

    return tuple(inspect.signature(fitted_method.fit).parameters)
