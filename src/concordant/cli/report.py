"""``concordant report``: one HTML file that shows the data, the ranking, how sure it is, and who disagrees."""

from __future__ import annotations

import sys
from typing import Any

import click

from concordant.cli import _shared as shared
from concordant.cli._default_options import DefaultCommand, method_and_params

EPILOG = """\b
Examples:
  concordant report votes.csv -o report.html
  concordant report ballots.csv --method schulze --methods schulze,borda,plurality -o report.html
  concordant report arena.csv --by language -o languages.html
  concordant report ratings.csv --min-ballots 20 --top 50 --title "Films" -o films.html
  concordant report runs/*.run --labels qrels.txt --metric ndcg@10 -o report.html

The options of a method appear with:  concordant report --method NAME --help
"""


@click.command(cls=DefaultCommand, epilog=EPILOG)
@click.argument("file", nargs=-1, required=True, metavar="FILE…")
@click.option("--output", "-o", required=True, metavar="FILE", help='Write the page here; "-" is the terminal.')
@click.option(
    "--method", "-m", metavar="NAME", shell_complete=shared.complete("methods"),
    help="Method; by default one that fits.",
)  # fmt: skip
@click.option("--methods", metavar="A,B,…", help='Methods to compare; by default some that fit, "none" for none.')
@click.option("--labels", "-l", metavar="FILE", help="Labels to measure the ranking by: TREC qrels or a table.")
@click.option("--metric", "-k", "wanted", multiple=True, metavar="NAME", help="Metric, repeatable.  [ndcg@10, map]")
@click.option("--title", metavar="TEXT", help="Heading of the page.")
@click.option("--top", type=click.IntRange(1), default=100, show_default=True, help="Rows that tables show.")
@click.option("--min-ballots", type=click.FloatRange(0), metavar="N", help="Leave out items on fewer than N ballots.")
@click.option("--seed", type=int, help="Seed of methods that draw random numbers.")
@shared.reading_options("preferences", groups=True)
def command(
    file: tuple[str, ...],
    output: str,
    method: str | None,
    methods: str | None,
    labels: str | None,
    wanted: tuple[str, ...],
    title: str | None,
    top: int,
    min_ballots: float | None,
    seed: int | None,
    **options: Any,
) -> None:
    """Write a report of preferences as one HTML file.

    It shows what the data are, the ranking with intervals, who beats whom, several methods and why they disagree, where
    groups differ if they are named, agents, instances, metrics where labels are given, warnings, and how it was made.
    The file needs nothing else: it opens from disk, prints, and asks no server for anything.
    """
    from concordant.analysis.groups.contrasts import POOLED
    from concordant.api import default_method
    from concordant.io import read_labels
    from concordant.reporting import report
    from concordant.reporting.study import METRICS

    params = shared.taken_params(options)
    by = options.get("read_by")
    prefs = shared.read_preferences(file, options)
    chosen = default_method(prefs.replace(**POOLED) if by else prefs)
    name, params = method_and_params(command, chosen, method, params, seed)
    made = report(
        prefs,
        by="instance" if by else None,
        method=name,
        methods=None if methods is None else [] if methods == "none" else shared.listed(methods),
        labels=None if labels is None else read_labels(labels),
        metrics=wanted or METRICS,
        title=title or "",
        top=top,
        min_ballots=min_ballots,
        made=_making(file, labels, output),
        **params,
    )
    shared.write_text(made.to_html(shared.words()), output)
    if output != "-":
        shared.tell([f"wrote {output}: {', '.join(section.title for section in made.sections)}"], "")


def _making(file: tuple[str, ...], labels: str | None, output: str) -> Any:
    """Say what was typed, without the folders of files, and the checksums of what was read."""
    import shlex

    from concordant.reporting import Making
    from concordant.support.files import without_folders

    command = shlex.join(["concordant", *(without_folders(word, [output]) for word in sys.argv[1:])])
    return Making.of_files([*file, *([labels] if labels else [])], command)
