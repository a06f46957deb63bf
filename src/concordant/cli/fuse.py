"""``concordant fuse``: fuse TREC runs into one."""

from __future__ import annotations

from typing import Any

import click

from concordant.cli import _options
from concordant.cli import _shared as shared
from concordant.cli._help import option

EPILOG = """\b
Examples:
  concordant fuse bm25.run dense.run > fused.run
  concordant fuse runs/*.run --method combmnz --normalise min-max -o fused.run
  concordant fuse runs/*.run --method rrf --k 20 --depth 100 --tag mine -o fused.run
  concordant fuse bm25.run dense.run --weights 1,2 -o fused.run
  concordant fuse new/*.run --model model.cc -o fused.run
"""


class FuseCommand(shared.MethodCommand):
    """The fuse command; its default method is RRF."""

    default_method = "rrf"


@click.command(cls=FuseCommand, epilog=EPILOG)
@click.argument("runs", nargs=-1, required=True, metavar="RUN…")
@_options.method(default="rrf")
@option("--model", metavar="FILE", heading="method", help='Fusion model saved by "concordant train-fusion".')
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
    """Fuse TREC runs into one run.

    A line of a run is "topic Q0 document rank score tag".
    """
    from concordant import api
    from concordant.io import read, write

    params = shared.pop_params(options)
    chosen = method if model is None else _loaded(model, bool(params))
    prefs = read(list(runs), format="trec")
    if weights is not None:
        prefs = _weighted(prefs, weights)
    ranking = api.rank(prefs, chosen, **params)
    lost = write(ranking.head(depth), output, format="trec", tag=tag or f"concordant-{_name(ranking, model, weights)}")
    shared.tell([*prefs.notes, *lost], "note: ")
    shared.tell(ranking.warnings, "warning: ")


def _name(ranking: Any, model: str | None, weights: str | None) -> str:
    """Return the name of a fused run: the method with its settings, or its model file, and the weights."""
    import re
    from pathlib import Path

    from concordant.registry import METHODS

    settings = METHODS.spelled(ranking.method, ranking.params)
    name = settings if model is None else f"{ranking.method}-{Path(model).stem}"
    return re.sub(r"[\s,]+", "-", name if weights is None else f"{name}-weights-{weights}")


def _loaded(path: str, has_params: bool) -> Any:
    """Return the method saved in a file; reject other models, and options that the model already fixes."""
    from concordant.method import Method
    from concordant.saving import load

    source = click.get_current_context().get_parameter_source("method")
    if has_params or (source is not None and source.name != "DEFAULT"):
        raise click.UsageError("The model includes the method and its settings: leave out --method and its options.")
    loaded = load(path)
    if not isinstance(loaded, Method):
        raise click.BadParameter(
            f'{path} contains a ranker of feature rows: use it with "concordant predict".', param_hint="--model"
        )
    return loaded


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
