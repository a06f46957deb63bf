"""``concordant reproduce``: published experiments, run again."""

from __future__ import annotations

import textwrap
from typing import Any

import click

from concordant.cli import _shared as shared

EPILOG = """\b
Examples:
  concordant reproduce metasearch --data DIR
  concordant reproduce metasearch --set MQ2008-agg --methods rrf,theta-mpm --json
  concordant reproduce movielens-consensus --markdown movielens.md --plots figures
  concordant reproduce document-ranking --models ranknet,blend --features first
"""


@click.group(epilog=EPILOG)
def command() -> None:
    """Run a published experiment and compare with its figures."""


@command.command(epilog=EPILOG)
@click.option("--data", metavar="DIR", help="Folder with letor4-agg; by default CONCORDANT_DATA.")
@click.option("--set", "sets", multiple=True, metavar="NAME", help="MQ2008-agg or MQ2007-agg; by default both.")
@click.option("--methods", metavar="A,B,…", help="Methods, separated by commas; theta-mpm is mpm fitted to labels.")
@click.option("--json", "as_json", is_flag=True, help="Print a list of rows as JSON.")
@click.option("--markdown", metavar="FILE", help="Also write the tables and notes here.")
def metasearch(
    data: str | None, sets: tuple[str, ...], methods: str | None, as_json: bool, markdown: str | None
) -> None:
    """Fuse the search engines of the LETOR 4.0 aggregation sets (Volkovs, Larochelle and Zemel 2012, table 3)."""
    from concordant.experiments import metasearch as experiment

    wanted_sets = sets or experiment.SETS
    names = [name.strip() for name in methods.split(",") if name.strip()] if methods else experiment.default_methods()
    with shared.progress(experiment.n_steps(wanted_sets, names), "metasearch") as advance:
        rows = experiment.run(data, wanted_sets, names, advance)
    if markdown:
        shared.write_text(experiment.to_markdown(rows), markdown)
    if as_json:
        rounded = [{k: round(v, 4) if isinstance(v, float) else v for k, v in row.items()} for row in rows]
        shared.write_text(shared.to_json(rounded), "-")
        return
    lines: list[list[str]] = []
    for row in rows:
        lines.append([row["dataset"], row["method"], *experiment.cells(row)])
        if row["published"]:
            lines.append(["", "  published", *experiment.cells(row["published"])])
    header = ["set", "method", *experiment.COLUMNS]
    shared.write_text(shared.table(header, lines, set(range(2, len(header)))), "-")
    for title, told in (
        ("More than half a point off", experiment.differences(rows)),
        ("Claims", experiment.claims(rows)),
    ):
        if told:
            wrapped = (textwrap.fill(f"- {line}", 120, subsequent_indent="  ") for line in told)
            shared.write_text("\n".join(["", title, *wrapped]), "-")
    shared.write_text(f"\nNotes\n{experiment.NOTES.strip()}", "-")


@command.command("movielens-consensus", epilog=EPILOG)
@click.option("--data", metavar="DIR", help="Folder with ml-100k; by default CONCORDANT_DATA.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
@click.option("--markdown", metavar="FILE", help="Also write the tables and notes here.")
@click.option("--plots", metavar="DIR", help="Draw figures 4 and 5 into this folder.")
def movielens_consensus(data: str | None, as_json: bool, markdown: str | None, plots: str | None) -> None:
    """Find the consensus of MovieLens 100K users (Volkovs and Zemel 2012, tables 2 and 3)."""
    from concordant.experiments import movielens_consensus as experiment

    with shared.progress(experiment.N_STEPS, "movielens-consensus") as advance:
        result = experiment.run(data, progress=advance)
    _finish(experiment, result, as_json, markdown, plots)


@command.command(epilog=EPILOG)
@click.option("--data", metavar="DIR", help="Folder with letor4-agg; by default CONCORDANT_DATA.")
@click.option("--set", "dataset", default="MQ2007-agg", metavar="NAME", help="MQ2007-agg (default) or MQ2008-agg.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
@click.option("--markdown", metavar="FILE", help="Also write the table here.")
@click.option("--plots", metavar="DIR", help="Draw figure 3 into this folder.")
def adherence(data: str | None, dataset: str, as_json: bool, markdown: str | None, plots: str | None) -> None:
    """Compare adherence found from labels with adherence learnt without them (Volkovs and Zemel 2012)."""
    from concordant.experiments import adherence as experiment

    _finish(experiment, experiment.run(data, dataset), as_json, markdown, plots)


@command.command("calibrated-fusion", epilog=EPILOG)
@click.option("--data", metavar="DIR", help="Folder with letor4-agg and trec-robust03; by default CONCORDANT_DATA.")
@click.option("--set", "sets", multiple=True, metavar="NAME", help="MQ2008-agg, MQ2007-agg or robust03; else all.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
@click.option("--markdown", metavar="FILE", help="Also write the tables and notes here.")
def calibrated_fusion(data: str | None, sets: tuple[str, ...], as_json: bool, markdown: str | None) -> None:
    """Compare calibrated with plain reciprocal rank fusion, also with few queries to calibrate on."""
    from concordant.experiments import calibrated_fusion as experiment

    wanted = sets or experiment.SETS
    with shared.progress(experiment.n_steps(wanted), "calibrated-fusion") as advance:
        result = experiment.run(data, wanted, progress=advance)
    _finish(experiment, result, as_json, markdown, None)


def _finish(experiment: Any, result: dict[str, Any], as_json: bool, markdown: str | None, plots: str | None) -> None:
    """Print a result, and write its page and pictures where wanted."""
    if markdown:
        shared.write_text(experiment.to_markdown(result), markdown)
    if plots:
        shared.tell(experiment.draw(result, plots), "wrote ")
    if as_json:
        shared.write_text(shared.to_json(experiment.plain(result)), "-")
        return
    for title, header, rows in experiment.tables(result):
        shared.write_text(shared.table(header, rows, set(range(1, len(header))), title) + "\n", "-")
    if notes := getattr(experiment, "NOTES", ""):
        shared.write_text(f"Notes\n{notes.strip()}", "-")


@command.command()
@click.option(
    "--data", metavar="DIR", help="Folder with sushi, jester, ml-100k and preflib; by default CONCORDANT_DATA."
)
@click.option("--part", "parts", multiple=True, metavar="NAME", help="A part (may be repeated); by default all.")
@click.option("--repeats", type=click.IntRange(1), default=50, help="Repetitions of every draw.  [default: 50]")
@click.option("--seed", type=int, default=0, help="Seed of all draws.  [default: 0]")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
@click.option("--markdown", metavar="FILE", help="Also write the tables and notes here.")
@click.option("--plots", metavar="DIR", help="Draw the simulation and the recovery curves into this folder.")
def lehmer(
    data: str | None,
    parts: tuple[str, ...],
    repeats: int,
    seed: int,
    as_json: bool,
    markdown: str | None,
    plots: str | None,
) -> None:
    """Aggregate by Lehmer codes (Li and others 2017): simulation, theorems, Sushi, Jester, MovieLens, PrefLib."""
    from concordant.experiments import lehmer as experiment

    wanted = parts or experiment.PARTS
    for part in wanted:
        if part not in experiment.PARTS:
            raise click.UsageError(f"There is no part {part!r}: use {', '.join(experiment.PARTS)}.")
    with shared.progress(experiment.n_steps(wanted), "lehmer") as advance:
        results = experiment.run(wanted, data, repeats, seed, advance)
    if markdown:
        shared.write_text(experiment.to_markdown(results), markdown)
    if plots:
        shared.tell(experiment.draw(results, plots), "drawn: ")
    if as_json:
        shared.write_text(shared.to_json(results), "-")
        return
    for part, rows in results.items():
        header = experiment.columns_of(rows)
        lines = [experiment.cells(row) for row in rows]
        shared.write_text(shared.table(header, lines, set(range(1, len(header))), part), "-")


@command.command("document-ranking")
@click.option(
    "--data",
    metavar="PATH",
    help="Folder with letor4-mq2008 (default: CONCORDANT_DATA), MSLR's Fold1 …, Yahoo's set1.train.txt …, or one file.",
)
@click.option("--models", metavar="A,B,…", help="Models, separated by commas; by default all.")
@click.option(
    "--features",
    type=click.Choice(["first", "second", "both"]),
    default="both",
    show_default=True,
    help="The features as they are, with products of two of them (linear models only), or one after the other.",
)
@click.option("--folds", metavar="1,2,…", help="Folds, separated by commas; by default all.")
@click.option("--speed/--no-speed", default=True, help="Also measure training time as queries grow.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
@click.option("--markdown", metavar="FILE", help="Also write the tables and notes here.")
def document_ranking(
    data: str | None,
    models: str | None,
    features: str,
    folds: str | None,
    speed: bool,
    as_json: bool,
    markdown: str | None,
) -> None:
    """Learn to rank documents from features with and without ties (Tran and others 2016, table 2)."""
    from concordant.experiments import document_ranking as experiment

    names, wanted = _listed(models), _listed(folds)
    orders = experiment.ORDERS if features == "both" else (features,)
    with shared.progress(experiment.n_steps(data, names, orders, wanted, speed), "document-ranking") as advance:
        result = experiment.run(data, names, orders, wanted, speed=speed, progress=advance)
    _finish(experiment, result, as_json, markdown, None)


def _listed(text: str | None) -> list[str] | None:
    """Take a list apart at its commas; None if nothing is named."""
    return [name.strip() for name in text.split(",") if name.strip()] or None if text else None
