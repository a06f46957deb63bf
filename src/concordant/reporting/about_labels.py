"""Report sections on evaluation against relevance judgements: metrics of all runs, all queries, and one query.

The fused run is the ranking of the report; the runs are the agents' own rankings.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

import numpy as np

from concordant import registry
from concordant.ballots.vocabulary import Vocabulary, shorten
from concordant.errors import InputError
from concordant.evaluation import Evaluation, paired_tests
from concordant.labels import Labels
from concordant.metrics import conventions
from concordant.narrative.plots_of_systems import mean_with_margin
from concordant.narrative.sentences import counted, listed
from concordant.ranking import Ranking
from concordant.reporting.metric_texts import CHANGED, known, metric_name, shown_value, signed
from concordant.reporting.sections import (
    Cell,
    Control,
    Fold,
    Message,
    Messages,
    Part,
    ReportTable,
    Scale,
    Section,
    Tag,
    Text,
    Track,
    Versus,
)
from concordant.reporting.study import Study
from concordant.reporting.systems import NAME, Systems
from concordant.support.text import format_p, p_value, short_number
from concordant.types import Floats, Int64s

HEAD = 16  # characters of the name of a run above a column
COLUMNS = 20  # runs whose ranks are shown side by side
WIDE = 6  # of them also on small screens: the first ones
DOCUMENTS = 20
MENU = 300  # queries up to which a menu lists them; of more, the first are suggested while typing


def favoured(study: Study) -> dict[str, str]:
    """Return which system leads by each metric; a tie goes to the leader by the first metric. Empty without labels."""
    leaders: dict[str, str] = {}
    results = Systems(study).results
    for metric in next(iter(results.values())).per_instance if results else ():
        means = {name: known(evaluation.means[metric]) for name, evaluation in results.items()}
        most = max(means.values())
        best = [name for name, value in means.items() if value >= most - 1e-12]
        first = next(iter(leaders.values()), best[0])
        leaders[metric] = first if first in best else best[0]
    return leaders


# ---- the metrics of all runs ----
def labels_section(study: Study, baseline: str = "") -> Section | None:
    """Show the metrics of each run and test each against a baseline, by default the best single run; None without
    relevance judgements.
    """
    if study.labels is None:
        return None
    systems = Systems(study, baseline)
    own, n = systems.results[systems.own], systems.results[systems.own].n_instances
    over = f"{n:,} judged queries" if n != 1 else "one query"
    tests, problem = _tested(systems, systems.results)
    by_system = _of_first(systems, tests)
    parts: list[Part] = [*_problems(systems), *problem, Text(_lead(systems, by_system), "lead")]
    if dispute := _dispute(study, systems):
        parts.append(Text(dispute))
    parts.append(_metrics_table(systems, systems.results, by_system, f"Means over {over}"))
    if len(tests) > len(by_system):
        parts.append(Fold("Tests of all metrics", (_tests_table(systems, tests),)))
    told = conventions(own.means)
    parts += [Text(f"{systems.metrics[metric]}: {text}.", "left-out") for metric, text in told.items()]
    return Section("labels", "Evaluation", tuple(parts), _note(systems, over, bool(tests)))


def metrics_of_methods(study: Study) -> ReportTable | None:
    """Return the metrics of compared methods that are not in the section above, which needs no comparison of methods;
    None if there are none.
    """
    systems = Systems(study)
    if study.labels is None or not systems.other_methods or systems.baseline is None:
        return None
    results = {name: study.evaluations[name] for name in (systems.own, systems.baseline, *systems.other_methods)}
    title = f"Metrics of each method compared with the best single run, {systems.shown(systems.baseline)}"
    return _metrics_table(systems, results, _of_first(systems, _tested(systems, results)[0]), title)


def _tested(systems: Systems, results: Mapping[str, Evaluation]) -> tuple[list[dict[str, Any]], list[Part]]:
    """Return the paired tests of all systems against the baseline, or a sentence on why there are none."""
    if systems.baseline is None or results[systems.baseline].n_instances < 2:
        return [], []
    try:
        return paired_tests(results, systems.baseline), []
    except InputError as problem:  # a metric that skips all queries
        return [], [Text(str(problem))]


def _of_first(systems: Systems, tests: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the tests of the first metric by system."""
    return {test["system"]: test for test in tests if test["metric"] == systems.main}


def _note(systems: Systems, over: str, has_tests: bool) -> str:
    """Return the line under the heading: what is averaged, drawn and tested."""
    note = f"Mean over {over}"
    if systems.results[systems.own].n_instances > 1:
        note += f", with the 95% confidence interval of the mean {systems.metric}"
    if has_tests and systems.baseline is not None:
        best = " (the best single run)" if systems.baseline == systems.best_run else ""
        note += f". Differences are from {systems.shown(systems.baseline)}{best}: paired t test, Holm's correction; "
        note += "★ marks significant ones (p < 0.05)"
    if systems.study.depth is not None and systems.runs:
        note += f". Every list is cut at {systems.study.depth:,} documents per query, the length of the longest run"
    return f"{note}."


def _problems(systems: Systems) -> list[Part]:
    """Return messages on an unknown baseline and on runs none of whose documents are judged."""
    messages = []
    if systems.has_unknown_baseline:
        text = f"There is no run named {shorten(systems.asked, NAME)!r}."
        text += f" The baseline is {systems.shown(systems.baseline)}." if systems.baseline is not None else ""
        messages.append(Message("Unknown baseline", text, "attention"))
    blind = [
        systems.shown(name)
        for name, result in systems.results.items()
        if any(notice.name == "unjudged-items" for notice in result.warnings)
    ]
    if blind:
        who = "No run" if len(blind) == len(systems.results) else f"Of {listed(blind)}, no ranking"
        text = (
            f"{who} contains a judged document, so the metrics are meaningless. Use the same document ids in the runs "
        )
        messages.append(Message("No judged documents", f"{text}and in the relevance judgements."))
    return [Messages(tuple(messages))] if messages else []


def _lead(systems: Systems, tests: Mapping[str, Mapping[str, Any]]) -> str:
    """Return a sentence on the fused run and its difference from the baseline."""
    own = systems.results[systems.own]
    means = ", ".join(f"{metric_name(metric)} {shown_value(own.means[metric])}" for metric in systems.metrics)
    text = f"{systems.shown(systems.own)} has {means}"
    test = tests.get(systems.own)
    if test is None or systems.baseline is None:
        return f"{text}."
    difference, p = test["difference"], test["p_holm"]
    best = "the best single run, " if systems.baseline == systems.best_run else ""
    side = "above" if difference > 0 else "below"
    apart = f"{abs(difference):.4f} {side}" if abs(difference) >= CHANGED else "equal to"
    verdict = "is" if test["significant"] else "is not"
    name = f"{best}{systems.shown(systems.baseline)}"
    return (
        f"{text}. Its {systems.metric} is {apart} that of {name}; the difference {verdict} significant, "
        f"{p_value(p, 'Holm')}."
    )


def _dispute(study: Study, systems: Systems) -> str:
    """Return a sentence if metrics favour different systems; otherwise empty."""
    leaders = favoured(study)
    if len(set(leaders.values())) < 2:
        return ""
    by_system: dict[str, list[str]] = {}
    for metric, name in leaders.items():
        by_system.setdefault(name, []).append(metric_name(metric))
    told = "; ".join(f"{listed(metrics)} {systems.shown(name)}" for name, metrics in by_system.items())
    return f"The metrics favour different runs: {told}."


def _metrics_table(
    systems: Systems, results: Mapping[str, Evaluation], tests: Mapping[str, Mapping[str, Any]], title: str
) -> ReportTable:
    """Return one row per system, best first: means, confidence interval of the first, difference from the baseline."""
    main = systems.main
    names = sorted(results, key=lambda name: -known(results[name].means[main]))
    tracks = {name: _mean_track(results[name].per_instance[main]) for name in names}
    has_intervals = any(track.low is not None for track in tracks.values())
    drawn = f"{systems.metrics[main]}, 95% CI" if has_intervals else f"{systems.metrics[main]} (plot)"
    highest = max(track.high if track.high is not None else track.value for track in tracks.values())
    others = [metric for metric in systems.metrics if metric != main]
    header = ["Run", systems.metrics[main], drawn, *(systems.metrics[metric] for metric in others)]
    if tests:
        header += ["Difference", "p", "p (Holm)"]
    rows = []
    for name in names:
        means = results[name].means
        cells: list[Cell] = [systems.cell(name), shown_value(means[main]), tracks[name]]
        cells += [shown_value(means[metric]) for metric in others]
        rows.append((*cells, *(_test_cells(tests.get(name)) if tests else ())))
    right = frozenset([1, *range(3, len(header))])
    scale = Scale(0.0, max(highest, 0.01), drawn, is_bar=not has_intervals)
    return ReportTable(
        title, tuple(header), tuple(rows), right, frozenset([0]), scale, minor=frozenset(range(3, len(header))),
        chosen=frozenset(k for k, name in enumerate(names) if name == systems.own and len(names) > 1),
    )  # fmt: skip


def _mean_track(values: Floats) -> Track:
    """Return the mean over queries with its confidence interval (Student's t), cut at 0."""
    mean, half = mean_with_margin(values)
    if np.count_nonzero(~np.isnan(values)) < 2:
        return Track(known(mean))
    return Track(mean, max(mean - half, 0.0), mean + half)


def _test_cells(test: Mapping[str, Any] | None) -> tuple[Cell, ...]:
    if test is None:
        return "baseline", "–", "–"
    star = " ★" if test["significant"] else ""
    return f"{signed(test['difference'])}{star}", format_p(test["p"]), format_p(test["p_holm"])


def _tests_table(systems: Systems, tests: list[dict[str, Any]]) -> ReportTable:
    """Return the paired tests of every metric."""
    rows = tuple((systems.metrics[test["metric"]], systems.cell(test["system"]), *_test_cells(test)) for test in tests)
    assert systems.baseline is not None
    title = f"Each run against {systems.shown(systems.baseline)}, by metric"
    header = ("Metric", "Run", "Difference", "p", "p (Holm)")
    return ReportTable(title, header, rows, frozenset([2, 3, 4]), frozenset([1]))


# ---- all queries ----
def queries_section(study: Study, top: int = 100, baseline: str = "") -> Section | None:
    """Show each query: its judgements, the metrics of the fused run, and the difference from the baseline; None
    without relevance judgements or with one query.
    """
    if study.labels is None or study.ranking.n_instances == 1:
        return None
    systems = Systems(study, baseline)
    gains = systems.gains
    key = systems.values(systems.own) if gains is None else gains
    order = np.argsort(-np.where(np.isnan(key), -np.inf, key), kind="stable")
    chosen = order if len(order) <= top else np.concatenate([order[: (top + 1) // 2], order[len(order) - top // 2 :]])
    parts: list[Part] = [Text(text, kind) for text, kind in _told_of_queries(systems)]
    parts.append(_queries_table(systems, chosen))
    if len(chosen) < len(order):
        ends = f"the {(top + 1) // 2} with the highest and the {top // 2} with the lowest"
        what = systems.metric if gains is None else "difference"
        parts.append(Text(f"The table shows {ends} {what} of {len(order):,} queries.", "left-out"))
    note = f"{systems.metric} of {systems.shown(systems.compared if gains is not None else systems.own)}"
    if systems.baseline is not None:
        note += f" (filled) compared with {systems.shown(systems.baseline)} (hollow), largest gain first"
        note += "; grey dots are the other runs" if len(systems.results) > 2 else ""
    return Section("queries", "Queries", tuple(parts), f"{note}.")


def _told_of_queries(systems: Systems) -> list[tuple[str, str]]:
    """Return sentences on how many queries gain and lose, and on the easiest and the hardest query."""
    told = []
    gains, metric = systems.gains, systems.metric
    if gains is not None and systems.baseline is not None:
        better, worse = int((gains >= CHANGED).sum()), int((gains <= -CHANGED).sum())
        same = int((~np.isnan(gains)).sum()) - better - worse
        names = systems.shown(systems.compared), systems.shown(systems.baseline)
        text = f"{names[0]} is better than {names[1]} on {better:,} and worse on {worse:,} of {len(gains):,} queries"
        told.append((f"{text}{f'; {same:,} are equal' if same else ''}.", "lead"))
    values = np.stack([systems.values(name) for name in systems.runs or systems.results])
    n_known = (~np.isnan(values)).sum(axis=0)
    if (n_known > 0).sum() > 1:
        mean = np.where(n_known > 0, np.nansum(values, axis=0) / np.maximum(n_known, 1), np.nan)
        easy, hard = int(np.nanargmax(mean)), int(np.nanargmin(mean))
        of = f"mean {metric} over the runs" if len(values) > 1 else metric
        text = f"Easiest query: {shorten(systems.queries[easy], NAME)} ({of} {mean[easy]:.3f}). Hardest query: "
        told.append((f"{text}{shorten(systems.queries[hard], NAME)} ({mean[hard]:.3f}).", "plain"))
    return told


def _queries_table(systems: Systems, chosen: Int64s) -> ReportTable:
    """Return one row per chosen query; each leads to its documents."""
    assert systems.study.labels is not None
    judged, relevant = _judged_counts(systems.study.labels, systems.queries)
    shown = systems.own if systems.gains is None else systems.compared
    others = [name for name in systems.results if name not in (shown, systems.baseline)]
    grey = np.array([systems.values(name) for name in others]).reshape(len(others), len(systems.queries))
    own = {metric: systems.values(shown, metric) for metric in systems.metrics}
    reference = None if systems.baseline is None else systems.values(systems.baseline)
    main = systems.metrics[systems.main]
    drawn = f"{main} (plot)"
    header = ["Query", "Judged", "Relevant", drawn, *systems.metrics.values()]
    header += [] if reference is None else ["Difference"]
    rows, links = [], []
    highest = 0.0
    for q in chosen.tolist():
        name, value = systems.queries[q], own[systems.main][q]
        base = np.nan if reference is None else reference[q]
        dots = tuple(grey[:, q][~np.isnan(grey[:, q])].tolist())
        plot: Cell = (
            "" if np.isnan(value) else Track(value) if np.isnan(base) else Versus(float(value), float(base), dots)
        )
        highest = float(np.nanmax([highest, value, base, *dots]))
        cells: list[Cell] = [shorten(name, NAME), f"{judged[q]:,}", f"{relevant[q]:,}", plot]
        cells += [shown_value(own[metric][q]) for metric in systems.metrics]
        cells += [] if reference is None else ["–" if np.isnan(value + base) else signed(float(value - base))]
        rows.append(tuple(cells))
        links.append(f"?{urlencode({'query': name})}")
    right = frozenset([1, 2, *range(4, len(header))])
    minor = frozenset([1, 2, *range(4, 4 + len(own))])
    return ReportTable(
        "Queries", tuple(header), tuple(rows), right, frozenset([0]), Scale(0.0, max(highest, 0.01), drawn),
        links=tuple(links), minor=minor if reference is not None else minor - {4},
    )  # fmt: skip


def _judged_counts(labels: Labels, queries: Vocabulary) -> tuple[Int64s, Int64s]:
    """Return the number of judged and of relevant documents of every query."""
    judged = np.diff(labels.ptr)
    relevant = np.diff(np.concatenate([[0], np.cumsum(labels.label > 0)])[labels.ptr])
    if labels.instances is None:
        return judged, relevant
    code = labels.instances.codes(queries)
    return np.where(code < 0, 0, judged[code]), np.where(code < 0, 0, relevant[code])


# ---- one query ----
def query_section(study: Study, query: str = "", baseline: str = "") -> Section | None:
    """Show the first documents of one query with their relevance and their ranks in all runs; None without relevance
    judgements or with one query. By default, the query is that with the largest difference from the baseline.
    """
    if study.labels is None or study.ranking.n_instances == 1:
        return None
    systems = Systems(study, baseline)
    ranked = study.ranking.instances
    assert ranked is not None
    queries = list(dict.fromkeys([*systems.queries, *ranked]))
    name, why = (query, "") if query in set(queries) else _default_query(systems)
    parts: list[Part] = [_query_control(name, queries)]
    if query and query != name:
        parts.append(Messages((Message("Unknown query", f"There is no query {shorten(query, NAME)!r}.", "attention"),)))
    if why:
        parts.append(Text(why))
    parts += _documents(systems, name) if name in ranked else [Text("No run has documents for this query.")]
    if name in systems.queries:
        parts.append(_query_metrics(systems, systems.queries.code(name)))
    else:
        parts.append(Text("This query has no relevance judgements, so it does not count in the metrics."))
    return Section("query", f"Query {shorten(name, NAME)}", tuple(parts), _query_note(study))


def _query_note(study: Study) -> str:
    note = f"First documents of {registry.title_of(study.ranking.method)} with their relevance"
    return f"{note} and their rank in each run." if study.runs else f"{note}."


def _query_control(name: str, queries: list[str]) -> Control:
    options = tuple((query, shorten(query, NAME)) for query in queries[:MENU])
    if len(queries) <= MENU:
        return Control("query", "Query", name, "select", options)
    return Control(
        "query", "Query", name, "search", options, f"{len(queries):,} queries; the first {MENU} are suggested."
    )


def _default_query(systems: Systems) -> tuple[str, str]:
    """Return the query with the largest difference from the baseline, and a sentence that says so."""
    gains = systems.gains
    if gains is None or np.isnan(gains).all() or np.nanmax(np.abs(gains)) < CHANGED:
        return systems.queries[0], ""
    q = int(np.nanargmax(np.abs(gains)))
    change = "gains" if gains[q] > 0 else "loses"
    assert systems.baseline is not None
    names = systems.shown(systems.compared), systems.shown(systems.baseline)
    text = f"On this query, {names[0]} {change} most compared with {names[1]}: {systems.metric} "
    return systems.queries[q], f"{text}{signed(float(gains[q]))}."


def _documents(systems: Systems, query: str) -> list[Part]:
    """Return the table of the first documents of a query, and a sentence on the relevant ones among them."""
    study = systems.study
    labels, part = study.labels, study.ranking[query]
    assert labels is not None
    n = min(DOCUMENTS, len(part.items))
    item = part.ranked_item[:n]
    relevance = labels.for_items(np.zeros(n, np.int64), _one(part), part.vocabulary, item)
    relevant = int(_judged_counts(labels, Vocabulary([query]))[1][0])
    ranks = _ranks_in_runs(systems, query, part.vocabulary.take(item))
    most = float(labels.label.max(initial=0.0))
    header = ("Rank", "Document", "Relevance", *(shorten(name, HEAD) for name in ranks))
    rows = tuple(
        (
            f"{rank}",
            shorten(part.vocabulary[code], NAME),
            _grade(grade, most),
            *(column[k] for column in ranks.values()),
        )
        for k, (rank, code, grade) in enumerate(
            zip(part.rank_in_order[:n].tolist(), item.tolist(), relevance.tolist(), strict=True)
        )
    )
    right = frozenset([0, *range(3, len(header))])
    title = f"First {n} of {counted(len(part.items), 'document')}"
    table = ReportTable(title, header, rows, right, frozenset([1]), minor=frozenset(range(3 + WIDE, len(header))))
    found = int((relevance > 0).sum())
    of = f"{found:,} of {counted(relevant, 'relevant document')} {'is' if found == 1 else 'are'} among the first {n}."
    parts: list[Part] = [Text(of, "lead"), table]
    if len(study.runs) > len(ranks):
        parts.append(Text(f"The table shows {len(ranks)} of {len(study.runs)} runs.", "left-out"))
    return parts


def _one(part: Ranking) -> Vocabulary | None:
    return None if part.instance is None else Vocabulary([part.instance])


def _ranks_in_runs(systems: Systems, query: str, documents: list[str]) -> dict[str, list[str]]:
    """Return, for every run, the rank of each document in it as text; – where the run does not list it."""
    columns = {}
    for agent in systems.agents[:COLUMNS]:
        run = systems.study.runs[agent]
        if run.instances is not None and query not in run.instances:
            columns[agent] = ["–"] * len(documents)
            continue
        one = run if run.instances is None else run[query]
        rank = dict(zip(one.ranked_item.tolist(), one.rank_in_order.tolist(), strict=True))
        found = [rank.get(code) for code in one.vocabulary.codes(documents).tolist()]
        columns[agent] = ["–" if place is None else f"{place:,}" for place in found]
    return columns


def _grade(grade: float, most: float) -> Cell:
    """Return the relevance of a document as a chip."""
    if np.isnan(grade):
        return Tag("not judged")
    if most <= 1:
        return Tag("relevant", "good") if grade > 0 else Tag("not relevant")
    return Tag(f"{short_number(grade)} of {short_number(most)}", "good" if grade > 0 else "plain")


def _query_metrics(systems: Systems, q: int) -> ReportTable:
    """Return the metrics of every system for one query, best first."""
    values = {name: [float(systems.values(name, metric)[q]) for metric in systems.metrics] for name in systems.results}
    names = sorted(values, key=lambda name: -known(values[name][0]))
    main = systems.metrics[systems.main]
    drawn = f"{main} (plot)"
    header = ("Run", main, drawn, *list(systems.metrics.values())[1:])
    rows = tuple(
        (
            systems.cell(name),
            shown_value(values[name][0]),
            Track(known(values[name][0])),
            *map(shown_value, values[name][1:]),
        )
        for name in names
    )
    highest = max(known(value[0]) for value in values.values())
    scale = Scale(0.0, max(highest, 0.01), drawn, is_bar=True)
    right = frozenset([1, *range(3, len(header))])
    chosen = frozenset([names.index(systems.own)] if len(names) > 1 else [])
    return ReportTable("Metrics of this query", header, rows, right, frozenset([0]), scale, chosen=chosen)
