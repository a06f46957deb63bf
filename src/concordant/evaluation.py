"""Evaluate rankings against known labels.

A mean over queries is only worth something beside another mean over the same queries. So every judged instance
counts, as with ``trec_eval -c``: one that the ranking lacks scores what an empty list scores, 0 as a rule. Or only
those that are both judged and ranked count (``queries="shared"``, trec_eval without ``-c``). Ranked instances without
any label never count. Whatever was filled in or left out is named.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from concordant import kernels
from concordant import metrics as measures
from concordant.ballots.segments import pointer
from concordant.ballots.vocabulary import Vocabulary, shorten
from concordant.errors import InputError, action, arg, clause
from concordant.labels import Labels
from concordant.preferences import Preferences
from concordant.ranking import Notice, Ranking
from concordant.support.text import align
from concordant.types import Floats, Int64s

Scored: TypeAlias = Mapping[str, Mapping[str, float]] | Mapping[str, float]
# A tie matters where relevant items share it with less relevant ones; a few such ties are no news.
_MANY_TIES = 0.1
TIES = ("order", "average", "input")


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Metric values per instance and their means. ``evaluation["map"]`` is a mean, ``per_instance["map"]`` all.

    ``instances`` are those that were averaged, None where they have no names. ``missing`` are the judged ones that
    were not ranked, ``unjudged`` the ranked ones without labels; ``warnings`` say what became of them.
    """

    per_instance: Mapping[str, Floats]
    instances: Vocabulary | None
    missing: tuple[str, ...] = ()
    unjudged: tuple[str, ...] = ()
    warnings: tuple[Notice, ...] = ()

    @property
    def means(self) -> dict[str, float]:
        """The mean of every metric over the instances (skipped instances left out)."""
        return {name: measures.mean(values) for name, values in self.per_instance.items()}

    @property
    def n_instances(self) -> int:
        """How many instances were averaged."""
        return 1 if self.instances is None else len(self.instances)

    def __getitem__(self, metric: str) -> float:
        return self.means[str(measures.parse(metric))]

    def over(self, instances: Sequence[str]) -> Evaluation:
        """Keep only these instances, in this order."""
        if self.instances is None:
            return self
        codes = [self.instances.code(label, "instance") for label in instances]
        values = {metric: value[codes] for metric, value in self.per_instance.items()}
        return replace(self, per_instance=values, instances=Vocabulary(list(instances)))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        names = [None] if self.instances is None else self.instances.labels
        rows = {
            metric: [None if np.isnan(value) else value for value in values.tolist()]
            for metric, values in self.per_instance.items()
        }
        return {
            "means": {metric: None if np.isnan(mean) else mean for metric, mean in self.means.items()},
            "n_instances": self.n_instances,
            "instances": [
                {"instance": name, **{metric: values[q] for metric, values in rows.items()}}
                for q, name in enumerate(names)
            ],
            "missing": list(self.missing),
            "unjudged": list(self.unjudged),
            "warnings": [str(notice) for notice in self.warnings],
            "conventions": measures.conventions(self.per_instance),
        }

    def __str__(self) -> str:
        means = zip(measures.headings(self.per_instance), self.means.values(), strict=True)
        lines = align([[name, f"{mean:.4f}"] for name, mean in means], right={1})
        return "\n".join([*lines, *(f"warning: {notice}" for notice in self.warnings)])

    __repr__ = __str__


def evaluate(
    ranking: Ranking | Preferences | Scored,
    labels: Labels | Scored,
    metrics: Sequence[str | measures.Metric] | str = ("ndcg@10", "map"),
    *,
    queries: str = "judged",
    unjudged: str = "zero",
    ties: str = "order",
) -> Evaluation:
    """Evaluate a ranking against labels.

    The ranking may be a run: preferences of one agent with scores or ranks, or ``{query: {document: score}}`` as
    pytrec_eval and ranx take them; labels may be ``{query: {document: relevance}}``. ``queries="judged"`` averages
    over all judged instances (one that is not ranked scores 0, as ``trec_eval -c`` counts), ``"shared"`` over those
    that are ranked, too. ``unjudged="skip"`` leaves unjudged items out of the lists instead of counting them as
    irrelevant. Ties are broken by input order, in runs by document id as trec_eval does; with ``ties="average"``
    every value is the mean over all orders inside ties. With ``ties="input"``, ties of runs are also broken by input
    order, and their scores keep double precision: a ranking that was written and read again has the same values.
    """
    _check_choice("queries", queries, ("judged", "shared"))
    _check_choice("unjudged", unjudged, ("zero", "skip"))
    _check_choice("ties", ties, TIES)
    wanted = [metrics] if isinstance(metrics, str) else list(metrics)
    ranking, labels = _as_ranking(ranking, ties), _as_labels(labels)
    ptr, item, label, instance_of_labels = labels.aligned(ranking.instances, ranking.vocabulary)
    n_items = len(ranking.vocabulary) + len(labels.items)
    ranked_label = kernels.join_labels(ranking.slot_ptr, ranking.ranked_item, ptr, item, label, n_items)
    # Judged instances that are not ranked are appended as empty lists.
    unranked_instances = np.setdiff1d(np.arange(labels.n_instances), instance_of_labels)
    absent_labels = [labels.label[labels.ptr[q] : labels.ptr[q + 1]] for q in unranked_instances.tolist()]
    values = measures.evaluate_ranked(
        ranked_label,
        _extended(ranking.slot_ptr, [0] * len(unranked_instances)),
        np.concatenate([label, *absent_labels]),
        _extended(ptr, [len(segment) for segment in absent_labels]),
        wanted,
        unjudged=unjudged,
        joined=True,
        level=ranking.rank_in_order if ties == "average" else None,
    )
    tie_notices = [] if ties == "average" else _tied(ranking, ranked_label)
    if ranking.instances is None or labels.instances is None:
        return Evaluation(values, ranking.instances, warnings=tuple(tie_notices))
    if len(unranked_instances) == labels.n_instances:
        raise InputError(
            f"None of the ranked instances (such as {shorten(ranking.instances[0])!r}) is judged (such as "
            f"{shorten(labels.instances[0])!r} is): check that ranking and labels name instances alike."
        )
    is_counted = np.concatenate([instance_of_labels >= 0, np.full(len(unranked_instances), queries == "judged")])
    missing = labels.instances.take(unranked_instances)
    without_labels = ranking.instances.take(np.flatnonzero(instance_of_labels < 0))
    names = np.array([*ranking.instances.labels, *missing], object)[is_counted]
    return Evaluation(
        {metric: value[is_counted] for metric, value in values.items()},
        Vocabulary(names.tolist()),
        tuple(missing),
        tuple(without_labels),
        (*_gaps(missing, without_labels, labels.n_instances, queries), *tie_notices),
    )


def on_shared_instances(results: Mapping[str, Evaluation]) -> dict[str, Evaluation]:
    """Restrict the evaluations of several systems to the instances all of them have, in one order."""
    labels_of_system = [set(result.instances.labels) for result in results.values() if result.instances is not None]
    if not labels_of_system:
        return dict(results)
    first = next(result.instances for result in results.values() if result.instances is not None)
    shared = [label for label in first.labels if all(label in labels for labels in labels_of_system)]
    if not shared:
        raise InputError("The systems share no judged instance, so they cannot be compared.")
    return {name: result.over(shared) for name, result in results.items()}


def paired_tests(
    results: Mapping[str, Evaluation], baseline: str | None = None, *, test: str = "t", seed: int = 0
) -> list[dict[str, Any]]:
    """Compare systems, all evaluated on the same instances, with one of them (the first unless named), by every metric.

    A row is plain data: metric, baseline, system, difference, p, p_holm, significant.
    """
    compared = []
    for metric in next(iter(results.values())).per_instance:
        table = measures.compare_systems(_paired(results, metric), baseline=baseline, test=test, seed=seed)
        for row in table.rows:
            if row.system != table.baseline:
                facts = {key: value for key, value in asdict(row).items() if key != "mean"}
                compared.append({"metric": metric, "baseline": table.baseline, **facts})
    return compared


def _paired(results: Mapping[str, Evaluation], metric: str) -> dict[str, Floats]:
    """Return, per system, the values of the instances that the metric does not skip; all systems have the
    same instances.
    """
    values = {name: result.per_instance[metric] for name, result in results.items()}
    has_value = ~np.isnan(np.stack(list(values.values()))).any(axis=0)
    if not has_value.any():
        raise InputError(
            f"{metric} has a value for no instance, so the systems cannot be compared: take another metric."
        )
    return {name: value[has_value] for name, value in values.items()}


def ranking_of_run(prefs: Preferences, ties: str = "order") -> Ranking:
    """Order a search run the way trec_eval does: by score in single precision, then by document id, descending.

    With ``ties="input"``, scores have double precision and ties keep the order of the input. Preferences with ranks
    instead of scores are ordered by rank. One agent only: a run is one system's answer, and holds only what that system
    returned.
    """
    if prefs.n_agents is not None and prefs.n_agents > 1:
        raise InputError(
            f"A run is the answer of one system, and there are {prefs.n_agents}: "
            + action("one_agent", "take one with prefs.select(agents=…)")
            + ", or rank them together first."
        )
    if prefs.value is None:
        raise InputError("A run needs scores or ranks: give a TREC run or a table with a rank or score column.")
    if prefs.n_ballots > len(np.unique(prefs.instance_of_ballot)):
        raise InputError("A run answers each instance once, here are several lists for one: rank them together first.")
    score = prefs.value if prefs.scale == "rating" else -prefs.value
    instance = np.repeat(prefs.instance_of_ballot, np.diff(prefs.indptr))
    labels = prefs.items.labels
    place_of_item = np.empty(len(labels), np.int64)
    place_of_item[sorted(range(len(labels)), key=labels.__getitem__, reverse=True)] = np.arange(len(labels))
    order = np.lexsort((np.arange(len(instance)) if ties == "input" else place_of_item[prefs.item], instance))
    instances, size = np.unique(instance, return_counts=True)
    return Ranking(
        vocabulary=prefs.items,
        slot_ptr=pointer(size),
        slot_item=prefs.item[order],
        score=score[order] if ties == "input" else score[order].astype(np.float32).astype(np.float64),
        instances=None if prefs.instances is None else Vocabulary(prefs.instances.take(instances)),
        method="run",
    )


def _as_ranking(run: object, ties: str) -> Ranking:
    """Return a ranking from a Ranking, a run as preferences, or {query: {document: score}}."""
    if isinstance(run, Ranking):
        return run
    if isinstance(run, Preferences):
        return ranking_of_run(run, ties)
    if not isinstance(run, Mapping):
        raise InputError(
            f"evaluate() takes a Ranking, a run as Preferences or {{query: {{document: score}}}}, not "
            f"{type(run).__name__}: make a ranking with cc.rank(…) or read a run with cc.read(path)."
        )
    instance, item, score = _columns(run, "run", "score")
    return ranking_of_run(Preferences.from_ratings(["run"] * len(item), item, score, instance=instance), ties)


def _as_labels(labels: object) -> Labels:
    """Return labels from Labels or {query: {document: relevance}}."""
    if isinstance(labels, Labels):
        return labels
    if not isinstance(labels, Mapping):
        raise InputError(
            f"evaluate() takes Labels or {{query: {{document: relevance}}}}, not {type(labels).__name__}: make them "
            "with cc.Labels(instance, item, label) or cc.read_labels(path)."
        )
    return Labels(*_columns(labels, "labels", "relevance"))


def _columns(nested_scores: Mapping[Any, Any], what: str, number: str) -> tuple[list[Any] | None, list[Any], list[Any]]:
    """Return the columns instance, item and number of {query: {item: number}}; instance is None for {item: number}."""
    is_nested = [isinstance(value, Mapping) for value in nested_scores.values()]
    if any(is_nested) != all(is_nested):
        raise InputError(f"The {what} mix {{document: {number}}} with {{query: {{document: {number}}}}}: use one.")
    if not any(is_nested):
        return None, list(nested_scores), list(nested_scores.values())
    rows = [(query, item, value) for query, scored in nested_scores.items() for item, value in scored.items()]
    instance, item, value = ([row[k] for row in rows] for k in range(3))
    return instance, item, value


def _extended(ptr: Int64s, sizes: Sequence[int]) -> Int64s:
    """Return the pointer with segments of these sizes appended."""
    return np.concatenate([ptr, ptr[-1] + np.cumsum(sizes)]).astype(np.int64)


def _gaps(missing: Sequence[str], without_labels: Sequence[str], n_judged: int, queries: str) -> list[Notice]:
    """Return notices about instances that are judged but not ranked, or ranked but not judged."""
    notices = []
    if missing:
        treatment = (
            "each counts as an empty list, as trec_eval -c does; " + arg("queries", "shared") + " leaves them out"
            if queries == "judged"
            else "they are left out; "
            + arg("queries", "judged")
            + " counts each as an empty list, as trec_eval -c does"
        )
        what = f"{len(missing)} of {n_judged} judged instances are not ranked ({_some(missing)}): "
        notices.append(Notice("missing-instances", what + treatment + ".", tuple(missing)))
    if without_labels:
        are = "ranked instance has" if len(without_labels) == 1 else "ranked instances have"
        text = f"{len(without_labels)} {are} no labels ({_some(without_labels)}): left out."
        notices.append(Notice("unjudged-instances", text, tuple(without_labels)))
    return notices


def _tied(ranking: Ranking, ranked_label: Floats) -> list[Notice]:
    """Return a notice if the order inside ties affects more than 10% of the relevant items."""
    rank = ranking.rank_in_order
    if not (rank[1:] == rank[:-1]).any():
        return []
    lists = measures.Lists.of(ranked_label, ranking.slot_ptr, ranked_label, ranking.slot_ptr, rank, skips=False)
    relevant = lists.gain_label > 0
    is_mixed = lists.gain_label != lists.mean_in_tie(lists.gain_label)
    share = float((relevant & is_mixed).sum() / max(relevant.sum(), 1))
    if share <= _MANY_TIES:
        return []
    text = (
        f"{share:.0%} of the relevant items tie with items of another label, so the metrics depend on how ties are "
        + "broken"
        + clause(": ", arg("ties", "average", of="evaluate"), " takes the mean over all orders")
        + "."
    )
    return [Notice("tied-scores", text)]


def _some(labels: Sequence[str]) -> str:
    return ", ".join(shorten(label, 20) for label in labels[:3]) + (", …" if len(labels) > 3 else "")


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise InputError(arg(name, value) + f" is not a choice: use {' or '.join(map(repr, choices))}.")
