"""``concordant reproduce``: published experiments, run again."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from concordant.cli import _options
from concordant.cli import _shared as shared
from concordant.cli._help import Group

EPILOG = """\b
Examples:
  concordant reproduce metasearch --data DIR
  concordant reproduce metasearch --set MQ2008-agg --methods rrf,theta-mpm --json
  concordant reproduce metasearch --methods rrf,cps,lr-i,lr-r,lr-logr --seeds 10
  concordant reproduce specialisation --plots figures
  concordant reproduce collaborative --set ml-100k --seeds 2 --plots figures
  concordant reproduce movielens-consensus --markdown movielens.md --plots figures
  concordant reproduce tennis --quick --plots figures
  concordant reproduce document-ranking --models ranknet,blend --features first
"""
DATA = "Folder with {}; by default CONCORDANT_DATA."


@click.group(cls=Group, epilog=EPILOG)
def command() -> None:
    """Run a published experiment and compare with its figures."""


def experiment(
    *own: Callable[[Any], Any],
    data: str,
    markdown: str = "Also write the tables and notes here.",
    plots: str = "",
    epilog: str | None = EPILOG,
) -> Callable[[Callable[..., Any]], click.Command]:
    """Declare an experiment: its own options beside those that all have; the function returns (module, result)."""

    def declare(run: Callable[..., tuple[Any, Any]]) -> click.Command:
        @wraps(run)
        def run_and_show(as_json: bool, markdown: str | None, plots: str | None = None, **options: Any) -> None:
            _show(*run(**options), as_json, markdown, plots)

        options = [
            click.option("--data", metavar="PATH" if "file" in data else "DIR", help=data),
            *own,
            _options.json,
            click.option("--markdown", metavar="FILE", help=markdown),
            *([click.option("--plots", metavar="DIR", help=plots)] if plots else []),
        ]
        function: Any = run_and_show
        for option in reversed(options):
            function = option(function)
        return command.command(run.__name__.replace("_", "-"), epilog=epilog)(function)

    return declare


def _show(module: Any, result: Any, as_json: bool, markdown: str | None, plots: str | None) -> None:
    """Print a result, and write its page and pictures where wanted."""
    if markdown:
        shared.write_text(module.to_markdown(result), markdown)
    if plots:
        shared.tell(module.draw(result, plots), "wrote ")
    if as_json:
        plain = getattr(module, "plain", lambda found: found)
        shared.write_text(shared.to_json(plain(result)), "-")
        return
    for table in module.tables(result):
        right = set(range(table.n_text, len(table.header)))
        shared.write_text(shared.table(table.header, table.rows, right, table.title) + "\n", "-")
    if hasattr(module, "told"):
        for title, lines in module.told(result).items():
            wrapped = (textwrap.fill(f"- {line}", 120, subsequent_indent="  ") for line in lines)
            shared.write_text("\n".join(["", title, *wrapped]), "-")
        shared.write_text("", "-")
    if notes := getattr(module, "NOTES", ""):
        shared.write_text(f"Notes\n{notes.strip()}", "-")


@experiment(
    click.option("--set", "sets", multiple=True, metavar="NAME", help="MQ2008-agg or MQ2007-agg; by default both."),
    click.option("--methods", metavar="A,B,…", help="Methods, separated by commas; theta-mpm is mpm fitted to labels."),
    click.option("--seeds", type=click.IntRange(1), default=5, help="Seeds of methods that draw.  [default: 5]"),
    data=DATA.format("letor4-agg"),
)
def metasearch(data: str | None, sets: tuple[str, ...], methods: str | None, seeds: int) -> tuple[Any, Any]:
    """Fuse the search engines of the LETOR 4.0 aggregation sets (Volkovs, Larochelle and Zemel 2012, table 3)."""
    from concordant.experiments import metasearch as module

    wanted, names = sets or module.SETS, shared.listed(methods or "") or module.default_methods()
    with shared.progress("metasearch", module.n_steps(wanted, names)) as advance:
        return module, module.run(data, wanted, names, advance, seeds=seeds)


@experiment(
    click.option("--set", "sets", multiple=True, metavar="NAME", help="MQ2008-agg or MQ2007-agg; by default both."),
    click.option("--seeds", type=click.IntRange(1), default=5, help="Seeds of training.  [default: 5]"),
    data=DATA.format("letor4-agg"),
    plots="Draw figures 3 and 4 into this folder.",
)
def specialisation(data: str | None, sets: tuple[str, ...], seeds: int) -> tuple[Any, Any]:
    """Look at every engine by itself, or at their sum (Volkovs, Larochelle and Zemel 2012, figures 3 and 4)."""
    from concordant.experiments import specialisation as module

    wanted = sets or module.SETS
    with shared.progress("specialisation", module.n_steps(wanted)) as advance:
        return module, module.run(data, wanted, seeds, advance)


@experiment(data=DATA.format("ml-100k"), plots="Draw figures 4 and 5 into this folder.")
def movielens_consensus(data: str | None) -> tuple[Any, Any]:
    """Find the consensus of MovieLens 100K users (Volkovs and Zemel 2012, tables 2 and 3)."""
    from concordant.experiments import movielens_consensus as module

    with shared.progress("movielens-consensus", module.N_STEPS) as advance:
        return module, module.run(data, progress=advance)


@experiment(
    click.option("--set", "sets", multiple=True, metavar="NAME", help="ml-1m, ml-100k or ml-10m; else the first two."),
    click.option("--models", metavar="A,B,…", help="Models, separated by commas; by default all that are here."),
    click.option("--seeds", type=click.IntRange(1), default=5, help="Random splits of the ratings.  [default: 5]"),
    data=DATA.format("ml-1m and ml-100k"),
    plots="Draw figure 2 into this folder.",
)
def collaborative(data: str | None, sets: tuple[str, ...], models: str | None, seeds: int) -> tuple[Any, Any]:
    """Recommend MovieLens films by ordered partitions and others (Tran and others 2016, table 3, figure 2)."""
    from concordant.experiments import collaborative as module

    wanted, names = sets or module.DEFAULT_SETS, shared.listed(models or "") or module.default_models()
    with shared.progress("collaborative", module.n_steps(wanted, names, seeds)) as advance:
        return module, module.run(data, wanted, names, seeds, advance)


@experiment(
    click.option("--set", "dataset", default="MQ2007-agg", metavar="NAME", help="MQ2007-agg (default) or MQ2008-agg."),
    data=DATA.format("letor4-agg"),
    markdown="Also write the table here.",
    plots="Draw figure 3 into this folder.",
)
def adherence(data: str | None, dataset: str) -> tuple[Any, Any]:
    """Compare adherence found from labels with adherence learnt without them (Volkovs and Zemel 2012)."""
    from concordant.experiments import adherence as module

    return module, module.run(data, dataset)


@experiment(
    click.option("--set", "sets", multiple=True, metavar="NAME", help="MQ2008-agg, MQ2007-agg or robust03; else all."),
    data=DATA.format("letor4-agg and trec-robust03"),
)
def calibrated_fusion(data: str | None, sets: tuple[str, ...]) -> tuple[Any, Any]:
    """Compare calibrated with plain reciprocal rank fusion, also with few queries to calibrate on."""
    from concordant.experiments import calibrated_fusion as module

    wanted = sets or module.SETS
    with shared.progress("calibrated-fusion", module.n_steps(wanted)) as advance:
        return module, module.run(data, wanted, progress=advance)


@experiment(
    _options.seed(0),
    data=DATA.format("trec2011-crowd"),
)
def crowd(data: str | None, seed: int) -> tuple[Any, Any]:
    """Rank documents by the judgements of a crowd (Volkovs, Larochelle and Zemel 2012, table 2)."""
    from concordant.experiments import crowd as module

    with shared.progress("crowd", module.n_steps()) as advance:
        return module, module.run(data, seed, advance)


@experiment(
    click.option("--systems", metavar="A,B,…", help="Systems, separated by commas; by default all."),
    click.option("--splits", type=click.IntRange(1), default=5, help="Random halves of the topics.  [default: 5]"),
    data=DATA.format("trec-robust03"),
)
def trained_fusion(data: str | None, systems: str | None, splits: int) -> tuple[Any, Any]:
    """Train fusion on half of the topics of TREC robust 2003, test it on the others beside rrf and single runs."""
    from concordant.experiments import trained_fusion as module

    wanted = shared.listed(systems or "") or None
    with shared.progress("trained-fusion", module.n_steps(wanted, splits)) as advance:
        return module, module.run(data, wanted, splits, advance)


@experiment(
    click.option("--part", "parts", multiple=True, metavar="NAME", help="A part (may be repeated); by default all."),
    click.option("--repeats", type=click.IntRange(1), default=50, help="Repetitions of every draw.  [default: 50]"),
    _options.seed(0),
    data=DATA.format("sushi, jester, ml-100k and preflib"),
    plots="Draw the simulation and the recovery curves into this folder.",
    epilog=None,
)
def lehmer(data: str | None, parts: tuple[str, ...], repeats: int, seed: int) -> tuple[Any, Any]:
    """Aggregate by Lehmer codes (Li and others 2017): simulation, theorems, Sushi, Jester, MovieLens, PrefLib."""
    from concordant.experiments import lehmer as module

    for part in parts:
        if part not in module.PARTS:
            raise click.UsageError(f"There is no part {part!r}: use {', '.join(module.PARTS)}.")
    wanted = parts or tuple(module.PARTS)
    with shared.progress("lehmer", module.n_steps(wanted)) as advance:
        return module, module.run(wanted, data, repeats, seed, advance)


@experiment(
    click.option("--models", metavar="A,B,…", help="Models, separated by commas; by default all."),
    click.option(
        "--features",
        type=click.Choice(["first", "second", "both"]),
        default="both",
        show_default=True,
        help="The features as they are, with products of two of them (linear models only), or one after the other.",
    ),
    click.option("--folds", metavar="1,2,…", help="Folds, separated by commas; by default all."),
    click.option("--speed/--no-speed", default=True, help="Also measure training time as queries grow."),
    data="Folder with letor4-mq2008 (default: CONCORDANT_DATA), MSLR's Fold1 …, Yahoo's set1.train.txt …, or one file.",
    epilog=None,
)
def document_ranking(
    data: str | None, models: str | None, features: str, folds: str | None, speed: bool
) -> tuple[Any, Any]:
    """Learn to rank documents from features with and without ties (Tran and others 2016, table 2)."""
    from concordant.experiments import document_ranking as module

    names, wanted = (shared.listed(text or "") or None for text in (models, folds))
    orders = module.ORDERS if features == "both" else (features,)
    with shared.progress("document-ranking", module.n_steps(data, names, orders, wanted, speed)) as advance:
        return module, module.run(data, names, orders, wanted, speed=speed, progress=advance)


@experiment(
    click.option("--quick", is_flag=True, help="Try few settings, for a first look."),
    data=DATA.format("tennis-atp"),
    plots="Draw the careers of the highest rated players into this folder.",
)
def tennis(data: str | None, quick: bool) -> tuple[Any, Any]:
    """Follow tennis players since 1968, and forecast matches by Elo, Glicko-2, TrueSkill and others."""
    from concordant.experiments import tennis as module

    with shared.progress("tennis", module.n_steps(quick)) as advance:
        return module, module.run(data, quick, advance)
