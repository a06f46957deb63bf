"""Evaluation of rankings against relevance judgements.

Means over queries are comparable only if they cover the same queries. By default, every judged instance therefore
counts, as with ``trec_eval -c``: an instance that is judged but not ranked gets the value of an empty list, usually 0.
With ``queries="shared"``, only instances that are both judged and ranked count, as with trec_eval without ``-c``.
Ranked instances without labels never count. Warnings name the instances that were filled in or left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from concordant import kernels
from concordant import metrics as measures
from concordant.ballots.form import refuse_nominal
from concordant.ballots.segments import pointer, segment_index, spans
from concordant.ballots.vocabulary import Vocabulary, shorten
from concordant.errors import InputError, action, arg, clause
from concordant.labels import Labels
from concordant.preferences import Preferences
from concordant.ranking import Notice, Ranking
from concordant.support.display import Block, Displayed, DisplayTable, Passage
from concordant.support.text import align
from concordant.types import Floats, Int64s

if TYPE_CHECKING:
    from narwhals.typing import IntoFrame

Scored: TypeAlias = Mapping[str, Mapping[str, float]] | Mapping[str, float]
# A tie matters if it contains items of different relevance; a few such ties need no warning.
_MANY_TIES = 0.1
TIES = ("order", "average", "input")


@dataclass(frozen=True, eq=False)
class Evaluation(Displayed):
    """Values of the metrics per instance, and their means: ``evaluation["map"]`` is a mean.

    Attributes
    ----------
    per_instance : mapping of str to ndarray
        Values of each metric, one per instance; NaN where the metric skips an instance.
    instances : Vocabulary or None
        Names of the instances that were averaged.
    missing : tuple of str
        Judged instances that are not ranked.
    unjudged : tuple of str
        Ranked instances without labels.
    warnings : tuple of Notice
        How missing and unjudged instances, and ties, were treated.
    library : str or None
        DataFrame library that the ranking came from, which ``to_frame`` uses.
    """

    per_instance: Mapping[str, Floats]
    instances: Vocabulary | None
    missing: tuple[str, ...] = ()
    unjudged: tuple[str, ...] = ()
    warnings: tuple[Notice, ...] = ()
    library: str | None = None

    @property
    def means(self) -> dict[str, float]:
        """Mean of every metric over the instances; instances that the metric skips are left out."""
        return {name: measures.mean(values) for name, values in self.per_instance.items()}

    @property
    def n_instances(self) -> int:
        """Number of instances that were averaged."""
        return 1 if self.instances is None else len(self.instances)

    def __getitem__(self, metric: str) -> float:
        return self.means[str(measures.parse(metric))]

    def over(self, instances: Sequence[str]) -> Evaluation:
        """Restrict the evaluation to some instances.

        Parameters
        ----------
        instances : sequence of str
            The instances, in the order to keep.

        Returns
        -------
        Evaluation
            The values of these instances.
        """
        if self.instances is None:
            return self
        codes = [self.instances.code(label, "instance") for label in instances]
        values = {metric: value[codes] for metric, value in self.per_instance.items()}
        return replace(self, per_instance=values, instances=Vocabulary(list(instances)))

    def to_dict(self) -> dict[str, Any]:
        """Return the evaluation as plain data, ready for JSON.

        Returns
        -------
        dict
            Means, values per instance, missing and unjudged instances, warnings and conventions.
        """
        names = [None] if self.instances is None else self.instances.labels
        rows = {metric: _known(values) for metric, values in self.per_instance.items()}
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

    def columns(self) -> dict[str, Any]:
        """Return the values as columns, one row per instance.

        Returns
        -------
        dict of str to list
            ``instance``, if instances are named, and each metric; None where the metric skips an instance.
        """
        names = {} if self.instances is None else {"instance": list(self.instances.labels)}
        return names | {metric: _known(values) for metric, values in self.per_instance.items()}

    def to_frame(self, backend: str | None = None) -> Any:
        """Return the values as a DataFrame, one row per instance.

        Parameters
        ----------
        backend : {'pandas', 'polars', 'pyarrow'}, optional
            Library of the DataFrame; by default, the one that the ranking came from, or else an installed one.

        Returns
        -------
        DataFrame
            The columns of ``columns``.
        """
        from concordant.tables.frames import frame_of

        return frame_of(self.columns(), backend, self.library)

    def blocks(self) -> list[Block]:
        """Return the means and the warnings, which ``to_markdown``, ``to_latex`` and ``to_html`` show.

        Returns
        -------
        list of DisplayTable or Passage
            A table with a row per metric, and the warnings.
        """
        means = zip(measures.headings(self.per_instance), self.means.values(), strict=True)
        table = DisplayTable(["metric", "mean"], [[name, value_cell(mean)] for name, mean in means], {1})
        return [table, *([Passage(list(map(str, self.warnings)))] if self.warnings else [])]

    def _repr_html_(self) -> str:
        from concordant.narrative.plots_of_systems import drawn_means
        from concordant.support.notebook import notebook

        table, *rest = self.blocks()
        assert isinstance(table, DisplayTable)
        return notebook([replace(table, drawn=drawn_means(list(self.per_instance.values()))), *rest])

    def plot(self, path: str | None = None, *, baseline: Evaluation | None = None, metric: str | None = None) -> Any:
        """Plot the values of all instances, or which instances gain and lose compared with a baseline.

        Parameters
        ----------
        path : str, optional
            File to save the figure to, ending in .svg, .png or .pdf.
        baseline : Evaluation, optional
            Evaluation of another system on the same labels; the plot then shows the differences from it.
        metric : str, optional
            The metric; by default the first.

        Returns
        -------
        matplotlib.figure.Figure
            The figure.
        """
        from concordant.narrative.plots_of_systems import plot_instances

        wanted = next(iter(self.per_instance)) if metric is None else str(measures.parse(metric))
        if baseline is None:
            return plot_instances({"": self._named_values(wanted)}, wanted, path)
        pair = on_shared_instances({"baseline": baseline, "system": self})
        return plot_instances({"": differences(pair, wanted, "baseline")["system"]}, wanted, path, "baseline")

    def _named_values(self, metric: str) -> dict[str, float]:
        """Return the value of a metric by instance, without those that it skips."""
        if metric not in self.per_instance:
            raise InputError(f"{metric} was not evaluated: use one of {', '.join(self.per_instance)}.")
        names = [""] if self.instances is None else self.instances.labels
        known = zip(names, self.per_instance[metric].tolist(), strict=True)
        return {name: value for name, value in known if value == value}

    def __str__(self) -> str:
        means = zip(measures.headings(self.per_instance), self.means.values(), strict=True)
        lines = align([[name, f"{mean:.4f}"] for name, mean in means], right={1})
        return "\n".join([*lines, *(f"warning: {notice}" for notice in self.warnings)])

    __repr__ = __str__


def evaluate(
    ranking: Ranking | Preferences | Scored | IntoFrame,
    labels: Labels | Scored | IntoFrame,
    metrics: Sequence[str | measures.Metric] | str = ("ndcg@10", "map"),
    *,
    queries: str = "judged",
    unjudged: str = "zero",
    ties: str = "order",
) -> Evaluation:
    """Evaluate a ranking against relevance judgements.

    Parameters
    ----------
    ranking : Ranking, Preferences, dict or DataFrame
        The ranking, or a run: preferences of one agent with scores or ranks, ``{query: {document: score}}`` as in
        pytrec_eval and ranx, or a DataFrame with the columns of PyTerrier, ranx or ir_datasets.
    labels : Labels, dict or DataFrame
        Relevance judgements (qrels), also as ``{query: {document: relevance}}`` or as a DataFrame.
    metrics : str, Metric or sequence of these, default ("ndcg@10", "map")
        Metrics such as ``"ndcg@10"``; ``concordant metrics`` lists all.
    queries : {'judged', 'shared'}, default 'judged'
        Instances to average over: all judged ones, where a missing one counts as an empty list (as in
        ``trec_eval -c``), or those that are both judged and ranked.
    unjudged : {'zero', 'skip'}, default 'zero'
        Treat unjudged items as irrelevant, or remove them from the lists.
    ties : {'order', 'average', 'input'}, default 'order'
        ``"order"`` breaks ties by input order and, in runs, by document ID, as trec_eval does. ``"average"`` averages
        over all orders of tied items. ``"input"`` breaks ties by input order in runs as well, and their scores keep
        double precision: a ranking that was written to a file and read again has the same values.

    Returns
    -------
    Evaluation
        Values per instance and their means.

    Raises
    ------
    InputError
        If ranking and labels share no instance, or an option is not one of its choices.
    UnknownNameError
        If a metric is unknown.

    Examples
    --------
    >>> import concordant as cc
    >>> run = {"q1": {"d1": 0.9, "d2": 0.7}, "q2": {"d3": 0.4, "d4": 0.8}}
    >>> qrels = {"q1": {"d1": 1}, "q2": {"d3": 1}}
    >>> cc.evaluate(run, qrels, ["mrr", "p@1"]).means
    {'mrr': 0.75, 'p@1': 0.5}
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
    notices = _without_judgements(labels, ranked_label)
    notices += [] if ties == "average" else _tied(ranking, ranked_label)
    if ranking.instances is None or labels.instances is None:
        return Evaluation(values, ranking.instances, warnings=tuple(notices), library=ranking.library)
    if len(unranked_instances) == labels.n_instances:
        raise InputError(
            "The ranking and the labels have no instance in common (for example, "
            f"{shorten(ranking.instances[0])!r} is ranked and {shorten(labels.instances[0])!r} is labelled): "
            "use the same instance names in both."
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
        (*_gaps(missing, without_labels, labels.n_instances, queries), *notices),
        ranking.library,
    )


def on_shared_instances(results: Mapping[str, Evaluation]) -> dict[str, Evaluation]:
    """Restrict the evaluations of several systems to their common instances, in the same order."""
    labels_of_system = [set(result.instances.labels) for result in results.values() if result.instances is not None]
    if not labels_of_system:
        return dict(results)
    first = next(result.instances for result in results.values() if result.instances is not None)
    shared = [label for label in first.labels if all(label in labels for labels in labels_of_system)]
    if not shared:
        raise InputError(
            "The systems have no judged instance in common, so they cannot be compared: check their instance names."
        )
    return {name: result.over(shared) for name, result in results.items()}


def paired_tests(
    results: Mapping[str, Evaluation], baseline: str | None = None, *, test: str = "t", seed: int = 0
) -> list[dict[str, Any]]:
    """Test each system against a baseline (by default the first) by every metric; all must have the same instances.

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


def differences(results: Mapping[str, Evaluation], metric: str, baseline: str) -> dict[str, dict[str, float]]:
    """Return, for each system except the baseline, its difference from the baseline by instance.

    All must have the same instances; those that the metric skips for either system are left out.
    """
    reference = results[baseline]._named_values(metric)
    return {
        name: {label: value - reference[label] for label, value in values.items() if label in reference}
        for name, values in ((name, result._named_values(metric)) for name, result in results.items())
        if name != baseline
    }


def value_cell(value: float) -> str:
    """Return the value of a metric for a table for people."""
    return "skipped" if value != value else f"{value:.4f}"


def _known(values: Floats) -> list[float | None]:
    return [None if value != value else value for value in values.tolist()]


def _paired(results: Mapping[str, Evaluation], metric: str) -> dict[str, Floats]:
    """Return, per system, the values of the instances that no system skips for this metric."""
    values = {name: result.per_instance[metric] for name, result in results.items()}
    has_value = ~np.isnan(np.stack(list(values.values()))).any(axis=0)
    if not has_value.any():
        raise InputError(
            f"{metric} has no value for any instance, so the systems cannot be compared: choose another metric."
        )
    return {name: value[has_value] for name, value in values.items()}


def ranking_of_run(prefs: Preferences, ties: str = "order") -> Ranking:
    """Sort a search run as trec_eval does: by score in single precision, then by document ID, both descending.

    With ``ties="input"``, scores have double precision and ties keep the order of the input. Preferences with ranks
    instead of scores are sorted by rank. The run must come from a single agent and contains only the documents that it
    returned.
    """
    if prefs.n_agents is not None and prefs.n_agents > 1:
        raise InputError(
            f"A run comes from one system, but there are {prefs.n_agents} agents: "
            + action("one_agent", "select one with prefs.select(agents=…)")
            + ", or aggregate them first."
        )
    return _ranking_of_ballots(prefs, np.arange(prefs.n_ballots), _places(prefs.items, ties), ties)


def rankings_of_runs(prefs: Preferences) -> dict[str, Ranking]:
    """Sort the search run of every agent as ``ranking_of_run`` does; all share one vocabulary of documents."""
    if prefs.agents is None or prefs.agent is None:
        return {}
    place = _places(prefs.items, "order")
    return {
        agent: _ranking_of_ballots(prefs, np.flatnonzero(prefs.agent == k), place, "order")
        for k, agent in enumerate(prefs.agents)
    }


def run_of_ranking(ranking: Ranking, depth: int) -> Ranking:
    """Sort a ranking as the run that ``concordant fuse --depth`` writes from it is sorted when it is evaluated.

    The best ``depth`` documents of each query stay, and ties are broken by document ID as in ``ranking_of_run``.
    """
    best = ranking.head(depth)
    order = np.lexsort((_places(best.vocabulary, "order")[best.slot_item], segment_index(best.slot_ptr)))
    return Ranking(
        vocabulary=best.vocabulary,
        slot_ptr=best.slot_ptr,
        slot_item=best.slot_item[order],
        score=best.score[order].astype(np.float32).astype(np.float64),
        instances=best.instances,
        method=best.method,
        params=best.params,
        library=best.library,
    )


def _places(items: Vocabulary, ties: str) -> Int64s:
    """Return the place of every item among tied ones: by label, descending; equal if ties keep the input order."""
    place = np.zeros(len(items), np.int64)
    if ties != "input":
        labels = items.labels
        place[sorted(range(len(labels)), key=labels.__getitem__, reverse=True)] = np.arange(len(labels))
    return place


def _ranking_of_ballots(prefs: Preferences, ballots: Int64s, place_of_item: Int64s, ties: str) -> Ranking:
    """Return the ranking of a run that consists of these ballots."""
    refuse_nominal(prefs, "A run")
    if prefs.value is None:
        raise InputError("A run needs scores or ranks: give a TREC run or a table with a rank or score column.")
    instance = prefs.instance_of_ballot[ballots]
    if len(ballots) > len(np.unique(instance)):
        raise InputError("A run has one list per instance, but here an instance has several: aggregate them first.")
    entry = spans(prefs.indptr[ballots], prefs.indptr[ballots + 1])
    instance_of_entry = np.repeat(instance, np.diff(prefs.indptr)[ballots])
    instances, size = np.unique(instance_of_entry, return_counts=True)
    order = np.lexsort((place_of_item[prefs.item[entry]], instance_of_entry))
    entry = entry[order]
    score = prefs.value[entry] if prefs.scale == "rating" else -prefs.value[entry]
    names = prefs.instances
    if names is not None and len(instances) < len(names):
        names = Vocabulary(names.take(instances))
    return Ranking(
        vocabulary=prefs.items,
        slot_ptr=pointer(size),
        slot_item=prefs.item[entry],
        score=score if ties == "input" else score.astype(np.float32).astype(np.float64),
        instances=names,
        method="run",
        library=prefs.library,
    )


def _as_ranking(run: object, ties: str) -> Ranking:
    """Return a ranking from a Ranking, a run as preferences or DataFrame, or ``{query: {document: score}}``."""
    from concordant.tables.frames import is_frame

    if isinstance(run, Ranking):
        return run
    if isinstance(run, Preferences):
        return ranking_of_run(run, ties)
    if not isinstance(run, Mapping) and is_frame(run):
        return ranking_of_run(Preferences.from_frame(run), ties)
    if not isinstance(run, Mapping):
        raise InputError(
            f"evaluate() takes a Ranking, a run as Preferences, DataFrame or {{query: {{document: score}}}}, not "
            f"{type(run).__name__}: make a ranking with cc.rank(…) or read a run with cc.read(path)."
        )
    instance, item, score = _columns(run, "run", "score")
    return ranking_of_run(Preferences.from_ratings(["run"] * len(item), item, score, instance=instance), ties)


def _as_labels(labels: object) -> Labels:
    """Return labels from Labels, a DataFrame or ``{query: {document: relevance}}``."""
    from concordant.tables.build import labels_of_table
    from concordant.tables.frames import is_frame, table_of_frame
    from concordant.tables.options import LABELS, Options

    if isinstance(labels, Labels):
        return labels
    if not isinstance(labels, Mapping) and is_frame(labels):
        options = Options.of(LABELS, {})
        return Labels(*labels_of_table(table_of_frame(labels, options, LABELS), options))
    if not isinstance(labels, Mapping):
        raise InputError(
            f"evaluate() takes Labels, a DataFrame or {{query: {{document: relevance}}}}, not "
            f"{type(labels).__name__}: make them "
            "with cc.Labels(instance, item, label) or cc.read_labels(path)."
        )
    return Labels(*_columns(labels, "labels", "relevance"))


def _columns(nested_scores: Mapping[Any, Any], what: str, number: str) -> tuple[list[Any] | None, list[Any], list[Any]]:
    """Return the columns instance (None if not nested), item and number of ``{query: {item: number}}``."""
    is_nested = [isinstance(value, Mapping) for value in nested_scores.values()]
    if any(is_nested) != all(is_nested):
        raise InputError(
            f"The {what} mix {{document: {number}}} with {{query: {{document: {number}}}}}: use one of these forms."
        )
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


def _without_judgements(labels: Labels, ranked_label: Floats) -> list[Notice]:
    """Return a warning if no ranked item is judged, because the names of ranked and judged items differ."""
    if not len(ranked_label) or not len(labels) or not np.isnan(ranked_label).all():
        return []
    judged = shorten(labels.items[int(labels.item[0])], 30)
    text = (
        "no ranked item is judged, so the metrics are meaningless: use the same item names in the ranking and in the "
        f"relevance judgements (which contain, for example, {judged!r})."
    )
    return [Notice("unjudged-items", text)]


def _tied(ranking: Ranking, ranked_label: Floats) -> list[Notice]:
    """Return a warning if the order of tied items affects more than 10% of the relevant items."""
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
        raise InputError(arg(name, value) + f" is not valid: use {' or '.join(map(repr, choices))}.")
