"""``concordant evaluate``: evaluate runs or rankings against relevance judgements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from concordant.cli import _options
from concordant.cli import _shared as shared
from concordant.cli._help import Command, option

if TYPE_CHECKING:
    from concordant.support.display import DisplayTable

EPILOG = """\b
Examples:
  concordant evaluate fused.run --labels qrels.txt
  concordant evaluate bm25.run dense.run qrels.txt
  concordant evaluate runs/*.run --labels qrels.txt --metric ndcg@10 --metric map --baseline bm25
  concordant evaluate ranking.csv --labels labels.csv --metric ndcg@5:letor --per-instance --csv
  concordant evaluate a.run b.run --labels qrels.txt --metric ndcg_cut_10 --queries shared
  concordant evaluate a.run b.run --labels qrels.txt -o table.tex --plot means.svg --plot-queries queries.svg

Runs are ordered by score, then by document id, as trec_eval does. Means are over all judged instances;
an instance missing from a run counts as an empty list (trec_eval -c). Metrics: concordant metrics
"""


@click.command(cls=Command, epilog=EPILOG)
@click.argument("runs", nargs=-1, required=True, metavar="RUN…")
@_options.labels("labels_path")
@_options.metric
@option("--unjudged", heading="method", type=click.Choice(["zero", "skip"]), default="zero", show_default=True,
        help="Count unjudged items as irrelevant, or leave them out.")  # fmt: skip
@option("--queries", heading="method", type=click.Choice(["judged", "shared"]), default="judged", show_default=True,
        help="Average over all judged instances, or over those that every system ranked.")  # fmt: skip
@option("--ties", heading="method", type=click.Choice(["order", "average", "input"]), default="order",
        show_default=True,
        help="Break ties by document ID, average over all orders, or keep the order of the file.")  # fmt: skip
@option("--per-instance", heading="output", is_flag=True, help="Show each instance as well as the means.")
@option("--baseline", heading="method", metavar="NAME", help="Baseline system for significance tests.")
@option("--test", heading="method", type=click.Choice(["t", "randomisation"]), default="t", show_default=True,
        help="Paired significance test between systems.")  # fmt: skip
@_options.seed(0)
@_options.plot("the mean of each metric by system")
@option("--plot-queries", metavar="FILE", heading="plots", help="Save a plot of the queries that gain and lose "
        "compared with the baseline; for one system, its values.")  # fmt: skip
@shared.output_options()
def command(
    runs: tuple[str, ...],
    labels_path: str | None,
    wanted: tuple[str, ...],
    per_instance: bool,
    baseline: str | None,
    plot: str | None,
    plot_queries: str | None,
    output: shared.Output,
    **how: Any,
) -> None:
    """Evaluate runs or rankings against relevance judgements (qrels).

    Each RUN is a TREC run or a table with instance, item and score or rank. Without --labels, one of the files must
    contain the judgements. Several systems are compared by a paired significance test over the instances, with Holm's
    correction.
    """
    from concordant.evaluation import evaluate, on_shared_instances
    from concordant.io import read_labels

    shared.check_plots(plot, plot_queries)
    labels_of, runs = ([labels_path], runs) if labels_path is not None else _judged(runs)
    labels = read_labels(labels_of)
    metrics = list(wanted) or ["ndcg@10", "map"]
    test = {"test": how.pop("test"), "seed": how.pop("seed")}
    systems = _systems(runs, how["ties"])
    _check_baseline(baseline, systems)
    results = on_shared_instances(
        {name: evaluate(ranking, labels, metrics, **how) for name, ranking in systems.items()}
    )
    _tell(results, labels.n_instances)
    tests = _tests(results, baseline, test)
    _draw(results, tests, plot, plot_queries)
    output.show(
        data=lambda: {"systems": _facts(results, per_instance), "tests": tests},
        columns=lambda: _columns(results, per_instance),
        blocks=lambda: [_table(results, per_instance), *([_test_table(tests, test["test"])] if tests else [])],
        title="evaluation",
    )


def _judged(files: tuple[str, ...]) -> tuple[list[str], tuple[str, ...]]:
    """Return the files of relevance judgements, and the other files; reject files without judgements."""
    from concordant.io.judgements import set_aside
    from concordant.tables.options import Options

    runs, judged = set_aside(files, Options())
    if not judged:
        raise click.UsageError(
            "The relevance judgements are missing: give them with --labels FILE, or list them with the runs."
        )
    shared.tell([f"{path} contains the relevance judgements" for path in judged], "note: ")
    return judged, tuple(runs)


def _draw(results: dict[str, Any], tests: list[dict[str, Any]], plot: str | None, plot_queries: str | None) -> None:
    """Draw the requested plots: the means, and the differences of the first metric from the baseline by query."""
    from concordant.evaluation import differences
    from concordant.metrics import headings

    metrics = list(next(iter(results.values())).per_instance)
    shown = dict(zip(metrics, headings(metrics), strict=True))
    if plot is not None:
        from concordant.narrative.plots_of_systems import plot_means

        values = {shown[one]: {name: result.per_instance[one] for name, result in results.items()} for one in metrics}
        shared.tell_of_plot(plot_means(values, plot))
    if plot_queries is not None:
        from concordant.narrative.plots_of_systems import plot_instances

        first, *_ = metrics
        if tests:
            baseline = tests[0]["baseline"]
            gains = differences(results, first, baseline)
            figure = plot_instances(gains, shown[first], plot_queries, baseline)
        else:
            figure = next(iter(results.values())).plot(plot_queries)
        shared.tell_of_plot(figure)


def _facts(results: dict[str, Any], per_instance: bool) -> list[dict[str, Any]]:
    """Return the evaluations as plain data."""
    parts = ("means", "n_instances", *(["instances"] * per_instance), "missing", "unjudged", "warnings", "conventions")
    return [
        {"system": name, **{part: evaluation.to_dict()[part] for part in parts}} for name, evaluation in results.items()
    ]


def _test_table(tests: list[dict[str, Any]], test: str) -> DisplayTable:
    """Return the table of paired tests."""
    from concordant.metrics import headings
    from concordant.support.display import DisplayTable
    from concordant.support.text import format_p

    cells = [
        [
            headings([test_row["metric"]])[0],
            test_row["system"],
            f"{test_row['difference']:+.4f}",
            format_p(test_row["p"]),
            format_p(test_row["p_holm"]),
            "yes" if test_row["significant"] else "no",
        ]
        for test_row in tests
    ]
    header = ["metric", "system", "difference", "p", "p (Holm)", "significant"]
    return DisplayTable(header, cells, {2, 3, 4}, f"against {tests[0]['baseline']}, paired {test} test")


def _tell(results: dict[str, Any], n_judged: int) -> None:
    """Print the number of queries behind the means, and the warnings with the systems they concern."""
    n = next(iter(results.values())).n_instances
    shared.tell([f"means over {n} of {n_judged} judged queries"], "note: ")
    systems_of: dict[str, list[str]] = {}
    for name, result in results.items():
        for notice in result.warnings:
            systems_of.setdefault(str(notice), []).append(name)
    for warning, names in systems_of.items():
        shared.tell([warning], "warning: " if len(names) == len(results) > 1 else f"warning: {', '.join(names)}: ")


def _systems(runs: tuple[str, ...], ties: str) -> dict[str, Any]:
    """Return the ranking of each system by name: the tag of a run, or the name of a file without agents."""
    from pathlib import Path

    from concordant.evaluation import ranking_of_run
    from concordant.io import read

    systems: dict[str, Any] = {}
    path_of: dict[str, str] = {}
    for path in runs:
        prefs = read(path)
        parts = {Path(path).name: prefs} if prefs.agents is None else {}
        parts |= {agent: prefs.select(agents=agent) for agent in prefs.agents or ()}
        for name, part in parts.items():
            if name in systems:
                raise click.ClickException(
                    f"{path_of[name]} and {path} both contain a system named {name!r}: give one of them another tag "
                    f"(the "
                    'last column; "concordant fuse --tag NAME" writes it), or evaluate them one by one.'
                )
            systems[name], path_of[name] = ranking_of_run(part, ties), path
    return systems


def _check_baseline(baseline: str | None, systems: dict[str, Any]) -> None:
    """Reject an unknown baseline before anything is evaluated."""
    from concordant.errors import suggest

    if baseline is not None and baseline not in systems:
        known = f"The systems are {', '.join(systems)}."
        raise click.BadParameter(
            f"there is no system {baseline!r}.{suggest(baseline, list(systems))} {known}", param_hint="--baseline"
        )


def _columns(results: dict[str, Any], per_instance: bool) -> dict[str, list[Any]]:
    """Return the metrics in full precision, by system and, if requested, by instance; None where one is skipped."""
    from concordant.metrics import headings

    metrics = list(next(iter(results.values())).per_instance)
    columns: dict[str, list[Any]] = {"system": [], **({"instance": []} if per_instance else {})}
    columns |= {heading: [] for heading in headings(metrics)}
    for name, result in results.items():
        labels = [""] if result.instances is None else result.instances.labels
        for q, label in enumerate(labels if per_instance else ()):
            _append(columns, [name, label, *(float(result.per_instance[metric][q]) for metric in metrics)])
        _append(columns, [name, *(["mean"] * per_instance), *(result.means[metric] for metric in metrics)])
    return columns


def _append(columns: dict[str, list[Any]], row: list[Any]) -> None:
    for column, cell in zip(columns.values(), row, strict=True):
        column.append(None if cell != cell else cell)


def _table(results: dict[str, Any], per_instance: bool) -> DisplayTable:
    """Return the table of metrics for people."""
    from math import nan

    from concordant.evaluation import value_cell
    from concordant.support.display import DisplayTable

    columns = _columns(results, per_instance)
    n_text = 1 + per_instance
    rows = [
        [*row[:n_text], *(value_cell(nan if value is None else value) for value in row[n_text:])]
        for row in zip(*columns.values(), strict=True)
    ]
    return DisplayTable(list(columns), rows, range(n_text, len(columns)))


def _tests(results: dict[str, Any], baseline: str | None, how: dict[str, Any]) -> list[dict[str, Any]]:
    """Compare each system with the baseline, by default the best system, on each metric."""
    from concordant.evaluation import paired_tests

    return paired_tests(results, baseline, **how) if len(results) > 1 else []
