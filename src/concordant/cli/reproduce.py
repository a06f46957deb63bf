"""``concordant reproduce``: reproduce published experiments."""

from __future__ import annotations

import inspect
import os
import shlex
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Any

import click
from click.core import ParameterSource

from concordant.cli import _options
from concordant.cli import _shared as shared
from concordant.cli._help import Group
from concordant.support import progress

EPILOG = """\b
Examples:
  concordant reproduce metasearch --data DIR
  concordant reproduce adherence --html adherence.html
  concordant reproduce tennis --quick --plots figures
  concordant reproduce all --quick --html pages
"""
Plan = tuple[Any, int | None, Callable[[Callable[[str], None]], Any]]
"""The module of an experiment, its number of steps, and the function that runs it with a step counter."""
DATA = "Folder with {}; by default CONCORDANT_DATA."


@dataclass(frozen=True)
class Declared:
    """An experiment of this command: its plan, the data folders that it reads, and the settings of a quick run."""

    plan: Callable[..., Plan]
    folders: tuple[str, ...]
    quick: Mapping[str, Any]
    quick_text: str

    def planned(self, options: dict[str, Any], quick: bool, given: Callable[[str], bool]) -> Plan:
        """Return the plan; a quick run replaces the options that were not given."""
        if quick:
            options = {name: self._quick(name, value, given) for name, value in options.items()}
        if "quick" in inspect.signature(self.plan).parameters:
            options = {**options, "quick": quick}
        return self.plan(**options)

    def _quick(self, name: str, value: Any, given: Callable[[str], bool]) -> Any:
        return self.quick[name] if name in self.quick and not given(name) else value

    def reduced(self, quick: bool, given: Callable[[str], bool]) -> str:
        """Return what a quick run reduces; nothing if the options were given."""
        return self.quick_text if quick and not any(map(given, self.quick)) else ""

    def missing(self, root: str | None) -> list[str]:
        """Return the data folders that do not exist."""
        return [name for name in self.folders if not os.path.isdir(os.path.join(root or ".", name))]


EXPERIMENTS: dict[str, Declared] = {}


@click.group(cls=Group, epilog=EPILOG)
def command() -> None:
    """Reproduce a published experiment and compare the figures."""


def experiment(
    *own: Callable[[Any], Any],
    data: str,
    folders: str,
    plots: str,
    examples: str,
    quick: Mapping[str, Any] | None = None,
    quick_text: str = "",
) -> Callable[[Callable[..., Any]], click.Command]:
    """Declare an experiment as a command with its own options and the common ones; the function returns its plan.

    ``folders`` are the data folders that it reads, separated by blanks; ``examples`` are options, one example per line.
    ``quick`` replaces options in a quick run, which ``quick_text`` describes.
    """

    def declare(plan: Callable[..., Plan]) -> click.Command:
        name = plan.__name__.replace("_", "-")
        declared = EXPERIMENTS[name] = Declared(plan, tuple(folders.split()), quick or {}, quick_text)

        @wraps(plan)
        def run_and_show(
            as_json: bool,
            markdown: str | None,
            html: str | None,
            plots: str | None,
            quick: bool = False,
            **options: Any,
        ) -> None:
            """Run the planned experiment with progress, and show its result."""
            module, n_steps, run = declared.planned(options, quick, _was_given)
            start = time.process_time()
            with progress.stage(name, n_steps) as advance:
                result = run(advance)
            seconds = time.process_time() - start
            if html:
                _write_page(html, name, module, result, seconds, declared.reduced(quick, _was_given))
            _show(module, result, as_json, markdown, plots)

        quick_options = [click.option("--quick", is_flag=True, help=f"Quick run: {quick_text}.")] if quick_text else []
        options = [
            click.option("--data", metavar="PATH" if "file" in data else "DIR", help=data),
            *own,
            *quick_options,
            _options.json,
            click.option("--markdown", metavar="FILE", help="Markdown file for the tables, claims and notes."),
            click.option("--html", metavar="FILE", help="Self-contained HTML page with tables, claims and figures."),
            click.option("--plots", metavar="DIR", help=plots),
        ]
        function: Any = run_and_show
        for option in reversed(options):
            function = option(function)
        return command.command(name, epilog=_epilog(name, examples))(function)

    return declare


def _epilog(name: str, examples: str) -> str:
    """Return the examples of an experiment for its help."""
    lines = [f"  concordant reproduce {name} {line.strip()}" for line in examples.strip().splitlines()]
    return "\n".join(["\b", "Examples:", *lines]) + "\n"


def _was_given(name: str) -> bool:
    """Return whether an option is on the command line."""
    return click.get_current_context().get_parameter_source(name) == ParameterSource.COMMANDLINE


def _write_page(path: str, name: str, module: Any, result: Any, seconds: float, reduced: str) -> None:
    """Write the page of an experiment."""
    from concordant.reporting.about_experiments import ExperimentRun, write_page
    from concordant.support.files import without_folders

    given = [without_folders(word, [path]) for word in sys.argv[1:]]
    typed = ["concordant", *(given if "reproduce" in given else ["reproduce", name])]
    page = ExperimentRun.of(name, module, result, shlex.join(typed), seconds, reduced)
    shared.tell([write_page(page, path)], "wrote ")


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
        shared.write_text(shared.to_json(module.plain(result)), "-")
        return
    for table in module.tables(result):
        right = set(range(table.n_text, len(table.header)))
        shared.write_text(shared.table(table.header, table.rows, right, table.title) + "\n", "-")
    shared.write_text(f"Notes\n{module.NOTES.strip()}", "-")


# ---- all of them ----
@command.command(
    "all",
    epilog="\b\nExamples:\n  concordant reproduce all --quick --html pages\n"
    "  concordant reproduce all --data DIR --only metasearch,crowd --html pages\n",
)
@click.option("--data", metavar="DIR", help="Folder with all data sets; by default CONCORDANT_DATA.")
@click.option(
    "--html", metavar="DIR", required=True, help="Folder for a page per experiment and an index of all claims."
)
@_list("--only", "A,B,…", "Experiments to run, separated by commas; by default all.")
@click.option("--quick", is_flag=True, help="Quick runs: fewer seeds, splits, folds or sets; every page states which.")
def run_all(data: str | None, html: str, only: list[str], quick: bool) -> None:
    """Run all experiments whose data are available and write their pages with an index of all claims.

    An experiment whose data are missing is skipped, and one that fails does not stop the others; the index states the
    reason.
    """
    from concordant.reporting.about_experiments import ExperimentRun, NotRun, write_pages

    done: list[ExperimentRun] = []
    others: list[NotRun] = []
    for name in _checked(only):
        outcome = _run_one(name, data, quick)
        shared.tell([_described(outcome)], "")
        if isinstance(outcome, NotRun):
            others.append(outcome)
        else:
            done.append(outcome)
        write_pages(html, done, others)
    shared.tell([os.path.join(html, "index.html")], "wrote ")
    if any(one.is_failure for one in others):
        raise click.exceptions.Exit(1)


def _checked(names: list[str]) -> list[str]:
    for name in names:
        if name not in EXPERIMENTS:
            raise click.UsageError(f"There is no experiment {name!r}: use {', '.join(EXPERIMENTS)}.")
    return names or list(EXPERIMENTS)


def _run_one(name: str, data: str | None, quick: bool) -> Any:
    """Run an experiment with its defaults; return its run, or why there is none."""
    from concordant.reporting.about_experiments import ExperimentRun, NotRun

    declared = EXPERIMENTS[name]
    root = data or os.environ.get("CONCORDANT_DATA")
    if missing := declared.missing(root):
        return NotRun(name, f"the data folder {' and '.join(missing)} is missing in {root or 'the current folder'}")
    is_quick = quick and bool(declared.quick_text)
    arguments = [*(["--data", data] if data else []), *(["--quick"] if is_quick else [])]
    options = dict(command.commands[name].make_context(name, list(arguments)).params)
    for shown in ("as_json", "markdown", "html", "plots", "quick"):
        options.pop(shown, None)
    try:
        module, n_steps, run = declared.planned(options, is_quick, lambda _: False)
        start = time.process_time()
        with progress.stage(name, n_steps) as advance:
            result = run(advance)
        seconds = time.process_time() - start
        typed = shlex.join(["concordant", "reproduce", name, *(["--quick"] if is_quick else [])])
        return ExperimentRun.of(name, module, result, typed, seconds, declared.quick_text if is_quick else "")
    except Exception as problem:  # the others still run
        return NotRun(name, f"{type(problem).__name__}: {problem}", is_failure=True)


def _described(outcome: Any) -> str:
    """Return a line on an experiment of ``all``: its verdicts and CPU time, or why it was not run."""
    from concordant.reporting.about_experiments import NotRun, shown_time, summary

    if isinstance(outcome, NotRun):
        return f"{outcome.name}: {'failed' if outcome.is_failure else 'skipped'}: {outcome.reason}"
    return f"{outcome.name}: {shown_time(outcome.seconds)} CPU. {summary(outcome.claims)}"


# ---- the experiments ----
@experiment(
    _sets("MQ2008-agg or MQ2007-agg; by default both."),
    _list("--methods", "A,B,…", "Methods, separated by commas; theta-mpm is mpm fitted to labels."),
    _count("--seeds", 5, "Number of seeds for randomised methods."),
    data=DATA.format("letor4-agg"),
    folders="letor4-agg",
    plots="Folder for one plot per data set.",
    examples="""
    --data DIR
    --set MQ2008-agg --methods rrf,theta-mpm --json
    --methods rrf,cps,lr-i,lr-r,lr-logr --seeds 10
    --quick --html metasearch.html
    """,
    quick={"seeds": 1},
    quick_text="one seed instead of five",
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
    folders="letor4-agg",
    plots="Folder for figures 3 and 4 of the paper.",
    examples="""
    --plots figures
    --set MQ2008-agg --seeds 10 --html page.html
    """,
    quick={"seeds": 1},
    quick_text="one seed instead of five",
)
def specialisation(data: str | None, sets: tuple[str, ...], seeds: int) -> Plan:
    """Compare separate and combined features of engines (Volkovs, Larochelle and Zemel 2012, figures 3 and 4)."""
    from concordant.experiments import specialisation as module

    wanted = sets or module.SETS
    return module, module.n_steps(wanted), lambda advance: module.run(data, wanted, seeds, advance)


@experiment(
    data=DATA.format("ml-100k"),
    folders="ml-100k",
    plots="Folder for figures 4 and 5 of the paper.",
    examples="""
    --markdown movielens.md --plots figures
    --html movielens.html
    """,
)
def movielens_consensus(data: str | None) -> Plan:
    """Estimate the consensus ranking of MovieLens 100K users (Volkovs and Zemel 2012, tables 2 and 3)."""
    from concordant.experiments import movielens_consensus as module

    return module, module.N_STEPS, lambda advance: module.run(data, progress=advance)


@experiment(
    _sets("ml-1m, ml-100k or ml-10m; by default the first two."),
    _list("--models", "A,B,…", "Models, separated by commas; by default all available."),
    _count("--seeds", 5, "Number of random splits of the ratings."),
    data=DATA.format("ml-1m and ml-100k"),
    folders="ml-1m ml-100k",
    plots="Folder for figure 2 of the paper.",
    examples="""
    --set ml-100k --seeds 2 --plots figures
    --models pmf,cofi-regression,ordered-partition-mf
    --quick --html page.html
    """,
    quick={"sets": ("ml-100k",), "seeds": 1},
    quick_text="MovieLens 100K only, one split instead of five",
)
def collaborative(data: str | None, sets: tuple[str, ...], models: list[str], seeds: int) -> Plan:
    """Recommend MovieLens films by ordered partitions and others (Tran et al. 2016, table 3, figure 2)."""
    from concordant.experiments import collaborative as module

    wanted, names = sets or module.DEFAULT_SETS, models or module.default_models()
    return module, module.n_steps(wanted, names, seeds), lambda advance: module.run(data, wanted, names, seeds, advance)


@experiment(
    click.option("--set", "dataset", default="MQ2007-agg", metavar="NAME", help="MQ2007-agg (default) or MQ2008-agg."),
    data=DATA.format("letor4-agg"),
    folders="letor4-agg",
    plots="Folder for figure 3 of the paper.",
    examples="""
    --html adherence.html
    --set MQ2008-agg --json
    """,
)
def adherence(data: str | None, dataset: str) -> Plan:
    """Compare adherence estimated with and without labels (Volkovs and Zemel 2012)."""
    from concordant.experiments import adherence as module

    return module, None, lambda _: module.run(data, dataset)


@experiment(
    _sets("MQ2008-agg, MQ2007-agg or robust03; by default all."),
    data=DATA.format("letor4-agg and trec-robust03"),
    folders="letor4-agg trec-robust03",
    plots="Folder for a plot of the gain against the number of queries.",
    examples="""
    --set robust03
    --html page.html
    """,
)
def calibrated_fusion(data: str | None, sets: tuple[str, ...]) -> Plan:
    """Compare calibrated and plain reciprocal rank fusion, also with few queries for calibration."""
    from concordant.experiments import calibrated_fusion as module

    wanted = sets or module.SETS
    return module, module.n_steps(wanted), lambda advance: module.run(data, wanted, progress=advance)


@experiment(
    _options.seed(0),
    data=DATA.format("trec2011-crowd"),
    folders="trec2011-crowd",
    plots="Folder for a plot of NDCG against the cutoff.",
    examples="""
    --html crowd.html
    --seed 1 --json
    """,
)
def crowd(data: str | None, seed: int) -> Plan:
    """Rank documents by the judgements of a crowd (Volkovs, Larochelle and Zemel 2012, table 2)."""
    from concordant.experiments import crowd as module

    return module, module.n_steps(), lambda advance: module.run(data, seed, advance)


@experiment(
    _list("--systems", "A,B,…", "Systems, separated by commas; by default all."),
    _count("--splits", 5, "Number of random splits of the topics into halves."),
    data=DATA.format("trec-robust03"),
    folders="trec-robust03",
    plots="Folder for a plot that compares the systems.",
    examples="""
    --systems expert-ranker,rrf --splits 2
    --quick --html page.html
    """,
    quick={"splits": 1},
    quick_text="one split instead of five",
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
    folders="sushi jester ml-100k preflib",
    plots="Folder for plots of the simulation, recovery and real-data results.",
    examples="""
    --part simulation --part recovery --plots figures
    --part sushi --repeats 10
    --quick --html lehmer.html
    """,
    quick={"repeats": 5},
    quick_text="5 repetitions instead of 50",
)
def lehmer(data: str | None, parts: tuple[str, ...], repeats: int, seed: int) -> Plan:
    """Aggregate by Lehmer codes (Li et al. 2017): simulation, theorems, Sushi, Jester, MovieLens, PrefLib."""
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
        help="Features: original, with second-order products (linear models only), or each in turn.",
    ),
    _list("--folds", "1,2,…", "Folds, separated by commas; by default all."),
    click.option("--speed/--no-speed", default=True, help="Also measure training time against the number of queries."),
    data="Folder with letor4-mq2008 (default: CONCORDANT_DATA), MSLR's Fold1 …, Yahoo's set1.train.txt …, or one file.",
    folders="letor4-mq2008",
    plots="Folder for plots that compare the models and their training times.",
    examples="""
    --models ranknet,blend --features first
    --data MSLR-WEB10K --folds 1 --no-speed
    --quick --html page.html
    """,
    quick={"folds": ["1"]},
    quick_text="the first fold instead of five",
)
def document_ranking(data: str | None, models: list[str], features: str, folds: list[str], speed: bool) -> Plan:
    """Learn to rank documents from features with and without ties (Tran et al. 2016, table 2)."""
    from concordant.experiments import document_ranking as module

    names, wanted = models or None, folds or None
    orders = module.ORDERS if features == "both" else (features,)
    return (
        module,
        module.n_steps(data, names, orders, wanted, speed),
        lambda advance: module.run(data, names, orders, wanted, speed=speed, progress=advance),
    )


@experiment(
    data=DATA.format("tennis-atp"),
    folders="tennis-atp",
    plots="Folder for rating plots of the best players.",
    examples="""
    --quick --plots figures
    --html tennis.html
    """,
    quick_text="few settings per method",
)
def tennis(data: str | None, quick: bool) -> Plan:
    """Rate tennis players since 1968 and predict matches by Elo, Glicko-2, TrueSkill and other methods."""
    from concordant.experiments import tennis as module

    return module, module.n_steps(quick), lambda advance: module.run(data, quick, advance)
