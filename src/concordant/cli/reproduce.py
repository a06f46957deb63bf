"""``concordant reproduce``: reproduce published experiments."""

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
Plan = tuple[Any, int | None, Callable[[Callable[[str], None]], Any]]
"""The module of an experiment, its number of steps, and the function that runs it with a step counter."""
DATA = "Folder with {}; by default CONCORDANT_DATA."


@click.group(cls=Group, epilog=EPILOG)
def command() -> None:
    """Reproduce a published experiment and compare the figures."""


def experiment(
    *own: Callable[[Any], Any],
    data: str,
    markdown: str = "Markdown file for the tables and notes.",
    plots: str = "",
    epilog: str | None = EPILOG,
) -> Callable[[Callable[..., Any]], click.Command]:
    """Declare an experiment as a command with specific and common options; the function returns its plan."""

    def declare(plan: Callable[..., Plan]) -> click.Command:
        name = plan.__name__.replace("_", "-")

        @wraps(plan)
        def run_and_show(as_json: bool, markdown: str | None, plots: str | None = None, **options: Any) -> None:
            """Run the planned experiment with progress, and show its result."""
            module, n_steps, run = plan(**options)
            with shared.progress(name, n_steps) as advance:
                result = run(advance)
            _show(module, result, as_json, markdown, plots)

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
        return command.command(name, epilog=epilog)(function)

    return declare


def _sets(names: str) -> Callable[[Any], Any]:
    return click.option("--set", "sets", multiple=True, metavar="NAME", help=names)


def _count(flag: str, usual: int, what: str) -> Callable[[Any], Any]:
    return click.option(flag, type=click.IntRange(1), default=usual, help=f"{what}  [default: {usual}]")


def _list(flag: str, metavar: str, what: str) -> Callable[[Any], Any]:
    return click.option(flag, metavar=metavar, help=what, callback=lambda _, __, text: shared.listed(text or ""))


def _show(module: Any, result: Any, as_json: bool, markdown: str | None, plots: str | None) -> None:
    """Print a result, and write its page and plots if requested."""
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
    _sets("MQ2008-agg or MQ2007-agg; by default both."),
    _list("--methods", "A,B,…", "Methods, separated by commas; theta-mpm is mpm fitted to labels."),
    _count("--seeds", 5, "Number of seeds of randomised methods."),
    data=DATA.format("letor4-agg"),
)
def metasearch(data: str | None, sets: tuple[str, ...], methods: list[str], seeds: int) -> Plan:
    """Fuse the search engines of the LETOR 4.0 aggregation sets (Volkovs, Larochelle and Zemel 2012, table 3)."""
    from concordant.experiments import metasearch as module

    wanted, names = sets or module.SETS, methods or module.default_methods()
    return module, module.n_steps(wanted, names), lambda advance: module.run(data, wanted, names, advance, seeds=seeds)


@experiment(
    _sets("MQ2008-agg or MQ2007-agg; by default both."),
    _count("--seeds", 5, "Number of training seeds."),
    data=DATA.format("letor4-agg"),
    plots="Folder for figures 3 and 4.",
)
def specialisation(data: str | None, sets: tuple[str, ...], seeds: int) -> Plan:
    """Compare separate and combined features of engines (Volkovs, Larochelle and Zemel 2012, figures 3 and 4)."""
    from concordant.experiments import specialisation as module

    wanted = sets or module.SETS
    return module, module.n_steps(wanted), lambda advance: module.run(data, wanted, seeds, advance)


@experiment(data=DATA.format("ml-100k"), plots="Folder for figures 4 and 5.")
def movielens_consensus(data: str | None) -> Plan:
    """Estimate the consensus ranking of MovieLens 100K users (Volkovs and Zemel 2012, tables 2 and 3)."""
    from concordant.experiments import movielens_consensus as module

    return module, module.N_STEPS, lambda advance: module.run(data, progress=advance)


@experiment(
    _sets("ml-1m, ml-100k or ml-10m; by default the first two."),
    _list("--models", "A,B,…", "Models, separated by commas; by default all available."),
    _count("--seeds", 5, "Number of random splits of the ratings."),
    data=DATA.format("ml-1m and ml-100k"),
    plots="Folder for figure 2.",
)
def collaborative(data: str | None, sets: tuple[str, ...], models: list[str], seeds: int) -> Plan:
    """Recommend MovieLens films by ordered partitions and others (Tran and others 2016, table 3, figure 2)."""
    from concordant.experiments import collaborative as module

    wanted, names = sets or module.DEFAULT_SETS, models or module.default_models()
    return module, module.n_steps(wanted, names, seeds), lambda advance: module.run(data, wanted, names, seeds, advance)


@experiment(
    click.option("--set", "dataset", default="MQ2007-agg", metavar="NAME", help="MQ2007-agg (default) or MQ2008-agg."),
    data=DATA.format("letor4-agg"),
    markdown="Markdown file for the table.",
    plots="Folder for figure 3.",
)
def adherence(data: str | None, dataset: str) -> Plan:
    """Compare adherence estimated with and without labels (Volkovs and Zemel 2012)."""
    from concordant.experiments import adherence as module

    return module, None, lambda _: module.run(data, dataset)


@experiment(
    _sets("MQ2008-agg, MQ2007-agg or robust03; by default all."),
    data=DATA.format("letor4-agg and trec-robust03"),
)
def calibrated_fusion(data: str | None, sets: tuple[str, ...]) -> Plan:
    """Compare calibrated and plain reciprocal rank fusion, also with few queries for calibration."""
    from concordant.experiments import calibrated_fusion as module

    wanted = sets or module.SETS
    return module, module.n_steps(wanted), lambda advance: module.run(data, wanted, progress=advance)


@experiment(
    _options.seed(0),
    data=DATA.format("trec2011-crowd"),
)
def crowd(data: str | None, seed: int) -> Plan:
    """Rank documents by the judgements of a crowd (Volkovs, Larochelle and Zemel 2012, table 2)."""
    from concordant.experiments import crowd as module

    return module, module.n_steps(), lambda advance: module.run(data, seed, advance)


@experiment(
    _list("--systems", "A,B,…", "Systems, separated by commas; by default all."),
    _count("--splits", 5, "Number of random splits of the topics into halves."),
    data=DATA.format("trec-robust03"),
)
def trained_fusion(data: str | None, systems: list[str], splits: int) -> Plan:
    """Train fusion on half of the topics of TREC robust 2003 and compare it with rrf and single runs on the rest."""
    from concordant.experiments import trained_fusion as module

    wanted = systems or None
    return module, module.n_steps(wanted, splits), lambda advance: module.run(data, wanted, splits, advance)


@experiment(
    click.option("--part", "parts", multiple=True, metavar="NAME", help="Part to run, repeatable; by default all."),
    _count("--repeats", 50, "Number of repetitions of each simulation."),
    _options.seed(0),
    data=DATA.format("sushi, jester, ml-100k and preflib"),
    plots="Folder for plots of the simulation and the recovery curves.",
    epilog=None,
)
def lehmer(data: str | None, parts: tuple[str, ...], repeats: int, seed: int) -> Plan:
    """Aggregate by Lehmer codes (Li and others 2017): simulation, theorems, Sushi, Jester, MovieLens, PrefLib."""
    from concordant.experiments import lehmer as module

    for part in parts:
        if part not in module.PARTS:
            raise click.UsageError(f"There is no part {part!r}: use {', '.join(module.PARTS)}.")
    wanted = parts or tuple(module.PARTS)
    return module, module.n_steps(wanted), lambda advance: module.run(wanted, data, repeats, seed, advance)


@experiment(
    _list("--models", "A,B,…", "Models, separated by commas; by default all."),
    click.option(
        "--features",
        type=click.Choice(["first", "second", "both"]),
        default="both",
        show_default=True,
        help="Original features, with second-order products (linear models only), or both in turn.",
    ),
    _list("--folds", "1,2,…", "Folds, separated by commas; by default all."),
    click.option("--speed/--no-speed", default=True, help="Also measure training time by number of queries."),
    data="Folder with letor4-mq2008 (default: CONCORDANT_DATA), MSLR's Fold1 …, Yahoo's set1.train.txt …, or one file.",
    epilog=None,
)
def document_ranking(data: str | None, models: list[str], features: str, folds: list[str], speed: bool) -> Plan:
    """Learn to rank documents from features with and without ties (Tran and others 2016, table 2)."""
    from concordant.experiments import document_ranking as module

    names, wanted = models or None, folds or None
    orders = module.ORDERS if features == "both" else (features,)
    return (
        module,
        module.n_steps(data, names, orders, wanted, speed),
        lambda advance: module.run(data, names, orders, wanted, speed=speed, progress=advance),
    )


@experiment(
    click.option("--quick", is_flag=True, help="Quick run with few settings."),
    data=DATA.format("tennis-atp"),
    plots="Folder for plots of the ratings of the best players.",
)
def tennis(data: str | None, quick: bool) -> Plan:
    """Rate tennis players since 1968 and predict matches by Elo, Glicko-2, TrueSkill and other methods."""
    from concordant.experiments import tennis as module

    return module, module.n_steps(quick), lambda advance: module.run(data, quick, advance)
