"""``concordant report``: a self-contained HTML report of the data, the ranking, its uncertainty and disagreements."""

from __future__ import annotations

import sys
from typing import Any

import click

from concordant.cli import _options
from concordant.cli import _shared as shared
from concordant.cli._default_options import DefaultCommand, requested
from concordant.cli._help import option
from concordant.cli._scales import scale_options, with_scale

EPILOG = """\b
Examples:
  concordant report votes.csv -o report.html
  concordant report ballots.csv --method schulze --methods schulze,borda,plurality -o report.html
  concordant report arena.csv --by language -o languages.html
  concordant report arena.csv --scale elo --add-columns rank_ub,votes -o leaderboard.html
  concordant report ballots.csv -o report.html --card verdict.svg
  concordant report ratings.csv --min-ballots 20 --top 50 --title "Films" -o films.html
  concordant report runs/*.run --labels qrels.txt --metric ndcg@10 -o report.html
"""


@click.command(cls=DefaultCommand, epilog=EPILOG)
@click.argument("file", nargs=-1, required=True, metavar="FILE…")
@_options.required_output
@_options.method()
@_options.methods()
@_options.labels()
@_options.metric
@option("--title", metavar="TEXT", heading="output", help="Heading of the page.")
@option("--card", metavar="FILE", heading="output", help="SVG file for a picture of the verdict.")
@_options.top(100)
@_options.min_ballots
@scale_options
@_options.seed()
@shared.reading_options("preferences", groups=True)
def command(
    file: tuple[str, ...],
    output: str,
    method: str | None,
    methods: str | None,
    labels: str | None,
    wanted: tuple[str, ...],
    title: str | None,
    card: str | None,
    top: int,
    min_ballots: float | None,
    seed: int | None,
    **options: Any,
) -> None:
    """Write a report as one self-contained HTML file.

    The report describes the data and shows the ranking with confidence intervals, pairwise wins, a comparison of
    methods, differences between groups (with --by), agents, instances, an evaluation (with --labels), warnings, and the
    commands to reproduce it. "--methods none" leaves out the comparison of methods. The file opens from disk, prints
    well, and makes no network requests.
    """
    from concordant.io import read_labels
    from concordant.reporting import report
    from concordant.reporting.study import METRICS

    request = with_scale(requested(command, file, method, seed, min_ballots, options), options)
    judged = request.judgements if labels is None else [labels]
    page = report(
        request,
        by=request.reading.get("by"),
        methods=None if methods is None else [] if methods == "none" else shared.listed(methods),
        labels=read_labels(judged) if judged else None,
        metrics=wanted or METRICS,
        title=title or "",
        top=top,
        made=_making(file, labels, output, card),
    )
    drawn = page.card() if card else ""
    shared.write_text(page.to_html(shared.words()), output)
    if card:
        shared.write_text(drawn, card)
    if output != "-":
        shared.tell([f"wrote {output}: {', '.join(section.title for section in page.sections)}"], "")


def _making(file: tuple[str, ...], labels: str | None, output: str, card: str | None) -> Any:
    """Return the command as typed, without the folders of files, and the checksums of the input files."""
    import datetime
    import shlex

    from concordant.reporting import Making
    from concordant.support.files import without_folders

    command = shlex.join(["concordant", *(without_folders(word, [output, card]) for word in sys.argv[1:])])
    paths = [*file, *([labels] if labels else [])]
    return Making.of_files(paths, command, date=datetime.date.today().isoformat())
