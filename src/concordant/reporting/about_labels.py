"""Report section on evaluation: metrics against relevance judgements, and significance tests."""

from __future__ import annotations

from concordant.ballots.vocabulary import shorten
from concordant.evaluation import paired_tests
from concordant.metrics import conventions, headings
from concordant.reporting.sections import Part, ReportTable, Section, Text
from concordant.reporting.study import Study
from concordant.support.text import format_p


def labels_section(study: Study) -> Section | None:
    """Show the metrics of each system and test each against the ranking; None without labels."""
    results = study.evaluations
    if not results:
        return None
    own_name = study.ranking.method or "ranking"
    first = results[own_name]
    metrics = list(first.per_instance)
    n = first.n_instances
    over = f"over {n:,} judged instances" if n != 1 else "of one instance"
    shown = dict(zip(metrics, headings(metrics), strict=True))
    lead = ", ".join(f"{shown[metric]} {first.means[metric]:.4f}" for metric in metrics)
    rows = tuple(
        (shorten(name, 60), *(_cell(evaluation.means[metric]) for metric in metrics))
        for name, evaluation in results.items()
    )
    header = ("system", *shown.values())
    parts: list[Part] = [
        Text(f"{own_name} has {lead}, {over}.", "lead"),
        ReportTable(f"Means {over}", header, rows, frozenset(range(1, len(header))), frozenset([0])),
    ]
    parts += [Text(f"{shown[metric]}: {text}.") for metric, text in conventions(metrics).items()]
    if len(results) > 1 and n > 1:
        tests = paired_tests(results, own_name)
        cells = tuple(
            (shown[test["metric"]], shorten(test["system"], 60), f"{test['difference']:+.4f}", format_p(test["p"]),
             format_p(test["p_holm"]), "yes" if test["significant"] else "no")
            for test in tests
        )  # fmt: skip
        title = f"Each system against {own_name}: paired t test over instances, Holm's correction"
        header = ("metric", "system", "difference", "p", "p (Holm)", "significant")
        parts.append(ReportTable(title, header, cells, frozenset([2, 3, 4]), frozenset([1])))
    return Section("labels", "Evaluation", tuple(parts))


def _cell(value: float) -> str:
    return "skipped" if value != value else f"{value:.4f}"
