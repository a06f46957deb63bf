"""``concordant rank``: preferences in, ranking out."""

from __future__ import annotations

from typing import Any

import click

from concordant.cli import _shared as shared
from concordant.cli._default_options import DefaultCommand, settle_params

EPILOG = """\b
Examples:
  concordant rank votes.csv
  concordant rank arena.csv --left model_a --right model_b --outcome winner
  concordant rank arena.csv --instance language --prior 1
  concordant rank season-*.csv --instance none
  concordant rank ratings.csv --agent user --item film --rating stars --top 10
  concordant rank matches.csv --by low --top 10
  concordant rank votes.csv --plot scores.svg --plot-matrix wins.png
  concordant rank ballots.csv --method borda --missing ignore --json
  cat votes.csv | concordant rank - --csv > ranking.csv

The options of a method appear with:  concordant rank --method NAME --help
"""


@click.command(cls=DefaultCommand, epilog=EPILOG)
@click.argument("file", nargs=-1, required=True, metavar="FILE…")
@click.option(
    "--method",
    "-m",
    metavar="NAME",
    shell_complete=shared.complete_methods,
    help="Method; by default one that fits.",
)
@click.option("--top", type=click.IntRange(1), metavar="N", help="Show only the N best of each instance.")
@click.option(
    "--by",
    type=click.Choice(["score", "low", "high"]),
    default="score",
    help="Sort by the score, or by the low or high end of its interval.",
)
@click.option("--plot", metavar="FILE", help="Draw scores and intervals (svg, png or pdf).")
@click.option("--plot-matrix", metavar="FILE", help="Draw how often each item beats each other one.")
@click.option("--plot-agents", metavar="FILE", help="Draw the weights of the agents.")
@click.option("--seed", type=int, help="Seed of methods that draw random numbers.")
@shared.output_options
@shared.reading_options
def command(
    file: tuple[str, ...], method: str | None, top: int | None, by: str, seed: int | None, **options: Any
) -> None:
    """Rank items from preferences of any form.

    FILE is a table (csv, tsv, jsonl, parquet, arrow) of pairs, ranks, ratings or whole ballots, a PrefLib election, a
    LETOR aggregation file, one or more TREC runs or another format of "concordant convert --formats", compressed or
    not; "-" is standard input.
    """
    from concordant import api, registry
    from concordant.params import params_of

    output, as_json, as_csv = options.pop("output"), options.pop("as_json"), options.pop("as_csv")
    pictures = {kind: options.pop(kind) for kind in ("plot", "plot_matrix", "plot_agents")}
    params = shared.taken_params(options)
    prefs = shared.read_preferences(file[0] if len(file) == 1 else file, options)
    choice = api.default_choice(prefs)
    name = method or choice.method
    if method is None:
        params = settle_params(command, name, params)
    if seed is not None and any(p.name == "seed" for p in params_of(registry.load(registry.resolve(name)[0]))):
        params["seed"] = seed
    ranking = api.rank(prefs, name, **params).by(by)
    _draw(ranking, prefs, pictures)
    if top is not None:
        ranking = ranking.head(top)
    if as_json:
        shared.write_text(shared.to_json(ranking.to_dict()), output)
    elif as_csv:
        shared.write_text(shared.to_csv(ranking.columns()), output)
    else:
        chosen = [] if method else [f"ranked by {name}, because the data are {choice.reason}; --method takes another"]
        shared.tell([*prefs.notes, *chosen, *_learnt(ranking)], "note: ")
        shared.write_text("\n\n".join(_tables(ranking)), output)
    if not as_json:
        shared.tell(ranking.warnings, "warning: ")


def _learnt(ranking: Any) -> list[str]:
    """Say what the method chose itself."""
    if ranking.params.get("prior") != "auto" or ranking.fit is None or "prior" not in ranking.fit:
        return []
    return [f"prior {ranking.fit['prior']:g}, chosen by evidence; --prior takes another"]


def _draw(ranking: Any, prefs: Any, pictures: dict[str, str | None]) -> None:
    """Draw what was asked for."""
    for kind, path in pictures.items():
        if path is not None:
            getattr(ranking, kind)(*((prefs, path) if kind == "plot_matrix" else (path,)))


def _tables(ranking: Any) -> list[str]:
    from concordant.ranking import format_number
    from concordant.vocabulary import shorten

    drawn = []
    for part in ranking:
        header, right = ["rank", "item", "score"], {0, 2}
        columns = [
            [str(rank) for rank in part.ranks.tolist()],
            [shorten(item) for item in part.items],
            [format_number(score) for score in part.scores.tolist()],
        ]
        if part.low is not None and part.high is not None:
            header.append("interval")
            ends = zip(part.low.tolist(), part.high.tolist(), strict=True)
            columns.append([f"{format_number(low)} … {format_number(high)}" for low, high in ends])
        named = part.instances is not None
        title = f"{ranking.method}, {part.instance}" if named else ranking.method
        drawn.append(shared.table(header, list(zip(*columns, strict=True)), right, title))
    return drawn
