"""``concordant simulate``: simulate preferences from a model."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import click

from concordant.cli import _options
from concordant.cli import _shared as shared
from concordant.cli._help import Command

if TYPE_CHECKING:
    from concordant.registry import Listed

EPILOG = """\b
Examples:
  concordant simulate mallows --items 10 --ballots 1000 --phi 0.7 -o votes.csv
  concordant simulate plackett-luce --items a,b,c --scores 1,0,-1 --top 2 --to jsonl
  concordant simulate bradley-terry --items 20 --ballots 5000 --ties 0.3 -o games.parquet
  concordant simulate mpm --items 8 --adherence 1,0.8,0.1 | concordant rank -
"""


class SimulateCommand(Command):
    """A command whose help lists the models; they are imported only for the help."""

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help with a description of each model."""
        from concordant.registry import SIMULATORS

        models = [f"{listed.name}: {_told(listed)}" for listed in SIMULATORS.listing()]
        self.help = f"{inspect.cleandoc(str(self.callback.__doc__))}\n\nMODEL is one of: {'; '.join(models)}."
        super().format_help_text(ctx, formatter)


def _told(one: Listed) -> str:
    """Return what a model simulates, with its options."""
    options = [f"--{name.replace('_', '-')}" for name in list(inspect.signature(one.entry).parameters)[2:-1]]
    return f"{one.summary.removeprefix('Draw ').removesuffix('.')} ({', '.join(options)})"


def _model(_: click.Context, param: click.Parameter, name: str) -> str:
    """Return the name of a simulator in its usual spelling."""
    from concordant.errors import UnknownNameError
    from concordant.registry import SIMULATORS

    try:
        return SIMULATORS.resolve(name).name
    except UnknownNameError as error:
        raise click.BadParameter(str(error), param=param) from None


def _numbers(_: click.Context, param: click.Parameter, text: str | None) -> list[float] | None:
    """Parse a list of numbers separated by commas."""
    if text is None:
        return None
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise click.BadParameter(f"{text!r} is not a list of numbers: write them like 0.5,0,-1.", param=param) from None


@click.command(cls=SimulateCommand, epilog=EPILOG)
@click.argument("model", callback=_model, shell_complete=shared.complete("simulators"))
@click.option("--items", default="10", metavar="N|A,B,…", help="Number of items, or their labels.  [default: 10]")
@click.option("--ballots", type=click.IntRange(0), default=100, help="Number of ballots (per agent).  [default: 100]")
@_options.seed(0)
@click.option("--phi", callback=_numbers, metavar="X", help="Dispersion: 0 (always the centre) to 1 (uniform).")
@click.option("--centre", metavar="A,B,…|random", help="Central ranking, best first, or a random one.")
@click.option("--sweeps", type=click.IntRange(0), help="Number of sweeps of the Markov chains.")
@click.option("--scores", callback=_numbers, metavar="X,Y,…", help="Scores of the items.")
@click.option("--spread", type=float, help="Standard deviation of randomly drawn scores.")
@click.option("--top", type=click.IntRange(1), help="Number of ranked items; the others are unranked.")
@click.option("--ties", type=float, help="Tie parameter; 0 for no ties.")
@click.option("--tie-odds", type=float, help="Odds of ties; 0 for no ties.")
@click.option("--drift", type=float, help="Standard deviation of the scores' random walk per unit of time.")
@click.option("--length", type=float, help="Length of the time span.")
@click.option("--moments", type=click.IntRange(1), help="Number of equal time steps.")
@click.option("--variances", callback=_numbers, metavar="X,Y,…", help="Variances of the items.")
@click.option("--adherence", callback=_numbers, metavar="X,Y,…", help="Adherence of each agent.")
@_options.output
@_options.to()
def command(model: str, items: str, ballots: int, seed: int, output: str, to: str | None, **options: Any) -> None:
    """Simulate preferences from a model."""
    from concordant.io import write
    from concordant.registry import SIMULATORS

    draw = SIMULATORS.load(model)
    given = {name: value for name, value in options.items() if value is not None}
    known = inspect.signature(draw).parameters
    for name in given:
        if name not in known:
            raise click.UsageError(
                f"{model} has no option --{name.replace('_', '-')}: see 'concordant simulate --help'."
            )
    if "phi" in given and len(given["phi"]) == 1:
        given["phi"] = given["phi"][0]
    if given.get("centre", "random") != "random":
        given["centre"] = given["centre"].split(",")
    who: Any = int(items) if items.isdigit() else items.split(",")
    prefs = draw(who, ballots, seed=seed, **given)
    shared.tell([*prefs.notes, *write(prefs, output, format=to)], "note: ")
