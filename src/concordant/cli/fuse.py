"""``concordant fuse``: fuse rankings of several systems into one TREC run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from concordant.cli import _options
from concordant.cli import _shared as shared
from concordant.cli._help import option
from concordant.tables.options import UNRATED

EPILOG = """\b
Examples:
  concordant fuse bm25.run dense.run > fused.run
  concordant fuse runs/*.run --method combmnz --normalise min-max -o fused.run
  concordant fuse runs/*.run --method rrf --k 20 --depth 100 --tag mine -o fused.run
  concordant fuse bm25.run dense.run --weights 1,2 -o fused.run
  concordant fuse new/*.run --model model.cc -o fused.run
  concordant fuse MQ2008-agg/A5.txt --model model.cc -o fused.run
"""


class FuseCommand(shared.MethodCommand):
    """The fuse command; its default method is RRF."""

    default_method = "rrf"


@click.command(cls=FuseCommand, epilog=EPILOG)
@click.argument("runs", nargs=-1, required=True, metavar="RUN…")
@_options.method(default="rrf")
@_options.model()
@option("--weights", metavar="A,B,…", heading="method", help="Weight of each run, in the order of the runs.")
@option(
    "--depth",
    type=click.IntRange(1),
    default=1000,
    show_default=True,
    metavar="N",
    heading="output",
    help="Maximum number of documents per topic.",
)
@option(
    "--tag", metavar="TEXT", heading="output", help="Name of the fused run.  [default: concordant-METHOD and settings]"
)
@_options.output
@shared.reading_options("preferences", hidden=UNRATED)
def command(
    runs: tuple[str, ...],
    method: str,
    model: str | None,
    weights: str | None,
    depth: int,
    tag: str | None,
    output: str,
    **options: Any,
) -> None:
    """Fuse TREC runs, or other rankings by named agents, into one TREC run.

    A line of a run is "topic Q0 document rank score tag". LETOR files and tables of rankings are read as by
    "concordant rank". Relevance judgements among the files are not fused; they evaluate the fused run.
    """
    from concordant.cli._models import model_method
    from concordant.evaluation import run_of_ranking
    from concordant.io import write
    from concordant.request import Request

    params, reading = shared.pop_params(options), shared.pop_reading_options(options)
    request = Request(runs, method, params, reading)
    if model is not None:
        request = Request(runs, model_method(model, params), {}, reading)
    asked = request
    if weights is not None:
        request = replace(request, source=_weighted(request.read(), weights))
    answer = request.run()
    ranking = answer.ranking
    lost = write(ranking.head(depth), output, format="trec", tag=tag or f"concordant-{_name(ranking, model, weights)}")
    shared.tell([*answer.notes, *lost, *asked.evaluated(run_of_ranking(ranking, depth))], "note: ")
    shared.tell(ranking.warnings, "warning: ")


def _name(ranking: Any, model: str | None, weights: str | None) -> str:
    """Return the name of a fused run: the method with its settings, or its model file, and the weights."""
    import re
    from pathlib import Path

    from concordant.registry import METHODS

    settings = METHODS.spelled(ranking.method, ranking.params)
    name = settings if model is None else f"{ranking.method}-{Path(model).stem}"
    return re.sub(r"[\s,]+", "-", name if weights is None else f"{name}-weights-{weights}")


def _weighted(prefs: Any, text: str) -> Any:
    """Return the runs with these weights, one per run."""
    import numpy as np

    from concordant.support.limits import WEIGHTS, bad_weights

    try:
        weight = np.array([float(part) for part in text.split(",")])
    except ValueError:
        raise click.BadParameter(f"{text!r} is not a list of numbers.", param_hint="--weights") from None
    if len(weight) != len(prefs.agents) or bad_weights(weight).any() or not weight.any():
        known = ", ".join(prefs.agents)
        raise click.BadParameter(
            f"give {len(prefs.agents)} weights, each {WEIGHTS}, for the runs {known}.", param_hint="--weights"
        )
    return prefs.replace(weight=weight[prefs.agent])
