"""``concordant rank``: rank items from preferences."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice, zip_longest
from typing import Any

import click

from concordant.cli import _options
from concordant.cli import _shared as shared
from concordant.cli._default_options import DefaultCommand, requested
from concordant.cli._help import option
from concordant.cli._history import OverTime, history_options
from concordant.cli._scales import scale_options, with_scale

EPILOG = """\b
Examples:
  concordant rank votes.csv
  concordant rank arena.csv --left model_a --right model_b --outcome winner
  concordant rank ratings.csv --agent user --item film --rating stars --top 10
  concordant rank ballots.csv --method schulze --explain
  concordant rank arena.csv --by language --plot-groups groups.svg
  concordant rank arena.csv --scale elo --anchor mixtral-8x7b=1114 --add-columns rank_ub,margin,votes
  concordant rank games.csv --time date --method elo --best-of year --peaks
  concordant rank arena.csv --covariate length_a,length_b
  concordant rank arena.csv --instance language --prior 1
  concordant rank doubles.csv --ballot match --item player --team team --rank place
  concordant rank doubles.csv --winner w1,w2 --loser l1,l2 --time date --method trueskill
  concordant rank season-*.csv --instance none
  concordant rank ratings.csv --method mean-rating --min-ballots 5
  concordant rank matches.csv --sort low --top 10
  concordant rank test.txt --model model.zip --csv
  concordant rank votes.csv --plot scores.svg --plot-matrix wins.png
  concordant rank games.csv --time date --method glicko2 --history ratings.csv --plot-history ratings.svg
  concordant rank ballots.csv --method borda --missing ignore --json
  cat votes.csv | concordant rank - --csv > ranking.csv
  concordant rank votes/*.parquet --memory-limit 2GB --workers 2
  concordant rank "votes/*.parquet" --cluster tcp://127.0.0.1:8786
"""

EXPLAINED = 5  # instances that --explain speaks of
TESTED = 5_000  # instances up to which the first places are tested unasked


@click.command(cls=DefaultCommand, epilog=EPILOG)
@click.argument("file", nargs=-1, required=True, metavar="FILE…")
@_options.method()
@_options.model()
@_options.top()
@_options.min_ballots
@option(
    "--sort",
    type=click.Choice(["score", "low", "high"]),
    default="score",
    heading="output",
    help="Sort by score or by a confidence bound.",
)
@scale_options
@option(
    "--permutations",
    type=click.IntRange(1),
    metavar="N",
    heading="method",
    rare=True,
    help="Number of permutations in the group test.",
)
@_options.explain
@option("--explain-picture", metavar="FILE", heading="plots", rare=True, help="Save a plot of the explanation (svg).")
@_options.plot("scores and CIs")
@option("--plot-matrix", metavar="FILE", heading="plots", help="Save a plot of the pairwise win rates.")
@option("--plot-agents", metavar="FILE", heading="plots", rare=True, help="Save a plot of agent weights (mpm).")
@option(
    "--plot-groups",
    metavar="FILE",
    heading="plots",
    rare=True,
    help="Save a plot of the differences between groups (with --by).",
)
@history_options
@_options.seed()
@shared.output_options()
@shared.reading_options("preferences", groups=True)
def command(
    file: tuple[str, ...],
    method: str | None,
    model: str | None,
    top: int | None,
    min_ballots: float | None,
    sort: str,
    permutations: int | None,
    plot_groups: str | None,
    explain: bool,
    explain_picture: str | None,
    seed: int | None,
    output: shared.Output,
    **options: Any,
) -> None:
    """Rank items from preferences of any form.

    FILE is a table (csv, parquet, xlsx, …) of pairs, ranks, ratings or ballots, or any format of "concordant formats",
    compressed or not; "-" is standard input. A folder or a quoted pattern means all its files.
    """
    output.check_explained(explain)
    pictures = {kind: options.pop(kind) for kind in ("plot", "plot_matrix", "plot_agents")}
    over_time = OverTime.taken(options)
    over_time.check(output)
    request = with_scale(requested(command, file, method, seed, min_ballots, options, model), options)
    if "by" in request.reading:
        if request.columns:
            raise click.UsageError("--add-columns cannot be combined with --by: leave one of them out.")
        if explain or explain_picture or any(over_time):
            raise click.UsageError(
                "--by cannot be combined with explanations and histories, which refer to one ranking: leave --by out."
            )
        from concordant.cli._groups import show

        show(request, permutations, seed or 0, sort, top, pictures | {"plot_groups": plot_groups}, output)
        return
    if plot_groups is not None or permutations is not None:
        option = "--plot-groups" if plot_groups is not None else "--permutations"
        raise click.UsageError(f"{option} needs groups: name their column with --by COLUMN.")
    needs_ballots = explain or explain_picture is not None or pictures["plot_matrix"] is not None
    answer = replace(request, needs_ballots=needs_ballots).run()
    ranking = answer.ranking.by(sort)
    if explain_picture is not None:
        _draw_explanation(ranking, explain_picture)
    draw(ranking, answer.prefs, pictures)
    over = over_time.tell(ranking, top)
    certain = [*certainty(ranking, explain), *request.evaluated(ranking)] if output.is_for_people else []
    if top is not None:
        ranking = ranking.head(top)
    if output.is_for_people:
        ran = [ranking.ran] if ranking.ran else []
        shared.tell(
            [
                *answer.notes,
                *ran,
                *why(answer.choice),
                *learnt(ranking, model is None),
                *on_scale(ranking),
                *certain,
                *over.notes,
            ],
            "note: ",
        )
    from concordant.results.rendering import blocks_of

    explanations = [part.explain() for part in islice(ranking, EXPLAINED)] if explain else []
    output.show(
        data=lambda: _data(ranking, explanations if explain else None) | over.to_dict(),
        columns=ranking.columns,
        blocks=lambda: [*blocks_of(ranking, explanations, shared.words()), *over.blocks()],
        title="ranking",
    )
    if explain and len(ranking) > EXPLAINED:
        shared.tell([f"explained the first {EXPLAINED} of {len(ranking):,} instances"], "note: ")
    if output.format != "json":
        shared.tell(ranking.warnings, "warning: ")


def why(choice: Any) -> list[str]:
    """Return a note on why the default method was chosen."""
    return [f"{choice.reason}; use --method to change it"] if choice.reason else []


def learnt(ranking: Any, takes_options: bool = True) -> list[str]:
    """Return notes on fitted hyper-parameters: the prior, and the position bias."""
    notes, fit = [], ranking.fit or {}
    if ranking.params.get("prior") == "auto" and "prior" in fit:
        hint = "; use --prior to change it" if takes_options else ""
        notes.append(f"prior {fit['prior']:g}, chosen by marginal likelihood{hint}")
    if "order_effect" in fit:
        error = fit["order_effect_stderr"]
        notes.append(f"position bias {fit['order_effect']:.3g}" + (f" (standard error {error:.3g})" if error else ""))
    return notes


def on_scale(ranking: Any) -> list[str]:
    """Return a note on the scale of the scores, if it is not that of the method."""
    return [] if ranking.converted is None else [str(ranking.converted.scale)]


def certainty(ranking: Any, is_explained: bool) -> list[str]:
    """Return notes on the certainty of the first place, unless an explanation includes them."""
    from concordant.narrative.certainty import summary

    if len(ranking) > 1:
        return [summary(ranking.certainties)] if len(ranking) <= TESTED else []
    sentences = ranking.certainty.sentences()
    return [] if is_explained or not sentences else [" ".join(sentences)]


def draw(ranking: Any, prefs: Any, pictures: dict[str, str | None]) -> None:
    """Draw the requested plots."""
    for kind, path in pictures.items():
        if path is not None:
            shared.tell_of_plot(getattr(ranking, kind)(*((prefs, path) if kind == "plot_matrix" else (path,))))


def _draw_explanation(ranking: Any, path: str) -> None:
    """Write the plot of the explanation of the only instance."""
    from concordant.errors import InputError

    if len(ranking) > 1:
        raise InputError(
            f"The plot of an explanation shows one instance, but there are {len(ranking):,}: use data with one "
            f"instance."
        )
    draw = ranking.explain().draw
    if draw is None:
        raise InputError(
            f"{ranking.method} has no plot of its explanation: use --explain for text, --plot for the scores, or "
            f"--plot-matrix for the pairwise win rates."
        )
    shared.write_text(draw(), path)


def _data(ranking: Any, explanations: list[Any] | None) -> dict[str, Any]:
    """Return plain data; with explanations, one per instance (null for those beyond the first few)."""
    data: dict[str, Any] = ranking.to_dict()
    for instance, explanation in zip_longest(data["instances"], explanations or []) if explanations is not None else ():
        instance["explanation"] = None if explanation is None else explanation.to_dict()["reasons"]
    return data
