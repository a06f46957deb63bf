"""Generate the shell command and the Python code for the current settings."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from concordant.params import Param
from concordant.results.scales import EloScale
from concordant.tables.options import PREFERENCES, options_of

DEPTH = 1_000  # documents per query that ``concordant fuse`` writes by default

if TYPE_CHECKING:
    from concordant.web.crowd import CrowdTask
    from concordant.web.ranked import RankTask
    from concordant.web.recommended import RecommendTask
    from concordant.web.sectioned import SectionedTask
    from concordant.web.trained import TrainTask


def shell_command(
    files: Sequence[str], reading: Mapping[str, Any], method: str, params: Mapping[str, Any], more: Sequence[str] = ()
) -> str:
    """Return the command that ranks these files with these settings."""
    words = ["concordant", "rank", *files, *_reading_words(reading), "--method", method, *_option_words(params)]
    return shlex.join([*words, *more])


def _option_words(params: Mapping[str, Any]) -> list[str]:
    """Return hyper-parameters as words of a command line."""
    words = []
    for name, value in params.items():
        option = Param(name, str, None, "").option
        if isinstance(value, bool):
            words.append(option if value else option.replace("--", "--no-", 1))
        else:
            words += [option, str(value)]
    return words


def other_command(command: str, files: Sequence[str], reading: Mapping[str, Any], *more: str) -> str:
    """Return another command on the same files."""
    return shlex.join(["concordant", *command.split(), *files, *_reading_words(reading), *more])


def fuse_command(files: Sequence[str], method: str, params: Mapping[str, Any], depth: int = DEPTH) -> str:
    """Return the command that fuses runs with these settings."""
    ranked = shlex.split(shell_command(files, {}, method, params))
    cut = ["--depth", str(depth)] if depth != DEPTH else []
    return shlex.join(["concordant", "fuse", *ranked[2:], *cut, "-o", "fused.run"])


def scale_words(scale: EloScale | None, columns: Sequence[str]) -> list[str]:
    """Return the options for the scale of the scores and further columns as words of a command line."""
    words = [] if scale is None else ["--scale", scale.name]
    if scale is not None and scale.anchored is not None:
        words += ["--anchor", f"{scale.anchored}={scale.rating:g}"]
    elif scale is not None and scale.centre is not None:
        words += ["--centre", f"{scale.centre:g}"]
    return [*words, *(["--add-columns", ",".join(columns)] if columns else [])]


def _reading_words(reading: Mapping[str, Any]) -> list[str]:
    """Return the reading options as words of a command line."""
    flags = {
        declared.name: declared.flag or declared.option
        for declared in options_of(PREFERENCES)
        if declared.flag is not None
    }
    words = []
    for name, value in reading.items():
        if value is True:
            words.append(flags[name])
        elif name in flags:
            values = value if isinstance(value, list) else [value]
            words += [
                word
                for value_given in values
                for word in (flags[name], "none" if value_given is None else str(value_given))
            ]
    return words


def python_only_options(reading: Mapping[str, Any]) -> list[str]:
    """Return the options that exist in Python but not on the command line."""
    flags = {declared.name for declared in options_of(PREFERENCES) if declared.flag is not None}
    return [name for name, value in reading.items() if name not in flags and value is not None]


def python_lines(
    files: Sequence[str],
    reading: Mapping[str, Any],
    method: str,
    params: Mapping[str, Any],
    min_ballots: float | None = None,
    labels: str | None = None,
    metrics: Sequence[str] = (),
    methods: Sequence[str] = (),
    scale: EloScale | None = None,
    columns: Sequence[str] = (),
    by: str = "",
    baseline: str | None = None,
    best_of: str | float | None = None,
    depth: int = DEPTH,
) -> str:
    """Return the equivalent Python code."""
    named = files[0] if len(files) == 1 else list(files)
    read = ", ".join([repr(named), *(f"{name}={value!r}" for name, value in reading.items())])
    ranked = [repr(method), *(f"{name}={value!r}" for name, value in params.items())]
    if min_ballots is not None:
        ranked.append(f"min_ballots={min_ballots:g}")
    lines = [
        "import concordant as cc",
        "",
        f"prefs = cc.read({read})",
        f"ranking = cc.rank(prefs, {', '.join(ranked)})",
    ]
    on_scale = ""
    if scale is not None:
        fixed = {"centre": scale.centre} if scale.anchored is None else {"anchor": (scale.anchored, scale.rating)}
        given = [repr(scale.name), *(f"{name}={value!r}" for name, value in fixed.items() if value is not None)]
        on_scale = f".on_scale({', '.join(given)})"
        lines.append(f"ranking = ranking{on_scale}")
    if columns:
        lines.append(f"ranking = ranking.with_columns({', '.join(map(repr, columns))})")
    if by:
        grouped = [repr(named), repr(by), *ranked, *(f"{name}={value!r}" for name, value in reading.items())]
        lines.append(f"print(cc.rank_groups({', '.join(grouped)}){on_scale})")
    if best_of is not None:
        lines += ["print(ranking.history.peaks())", f"print(ranking.history.best({best_of!r}))"]
    if methods:
        lines.append(f"print(cc.compare(prefs, {list(methods)!r}))")
    if labels is not None and baseline is not None:
        lines.insert(1, "from concordant.evaluation import paired_tests, rankings_of_runs, run_of_ranking")
        lines += [
            f"labels, fused = cc.read_labels({labels!r}), run_of_ranking(ranking, {depth})",
            f"systems = {{{method!r}: fused, **rankings_of_runs(prefs)}}",
            f"results = {{name: cc.evaluate(run, labels, {list(metrics)!r}) for name, run in systems.items()}}",
            "print({name: result.means for name, result in results.items()})",
            f"print(*paired_tests(results, {baseline!r}), sep='\\n')",
        ]
    elif labels is not None:
        lines.append(f"print(cc.evaluate(ranking, cc.read_labels({labels!r}), {list(metrics)!r}))")
    return "\n".join([*lines, "print(ranking.to_text())"])


def lines_of(task: RankTask) -> tuple[str, str]:
    """Return the shell commands and the Python code that reproduce the page of a ranking."""
    question, settings = task.question, task.settings
    files = [os.path.basename(path) if os.path.isabs(path) else path for path in question["files"]]
    labels = None if question["labels"] is None else os.path.basename(question["labels"])
    reading, method, params = task.source.reading, task.request.choice.name, task.request.chosen_params
    min_ballots = settings.get("min_ballots")
    further = [] if min_ballots is None else ["--min-ballots", f"{min_ballots:g}"]
    columns = () if task.source.by else task.columns
    of_scale = scale_words(task.scale, columns)
    grouped = ["--by", task.source.by] if task.source.by else []
    best_of = None if task.source.by else task.best_of
    over_time = [] if best_of is None else ["--peaks", "--best-of", str(best_of)]
    shell = [shell_command(files, reading, method, params, [*further, *of_scale, *grouped, *over_time])]
    methods, baseline = task.compared_methods, task.baseline
    if methods:
        shell.append(other_command("compare", files, reading, "--methods", ",".join(methods), *further))
    if len(files) > 1 and task.prefs.instances is not None and not reading:
        shell[0] = fuse_command(files, method, params, task.depth)
        if labels is not None:
            words = [word for metric in task.study.metrics for word in ("--metric", metric)]
            words += [] if baseline is None else ["--baseline", baseline]
            shell.append(shlex.join(["concordant", "evaluate", "fused.run", *files, "--labels", labels, *words]))
    elif labels is not None:
        words = [word for metric in task.study.metrics for word in ("--metric", metric)]
        more = ["--method", method, "--labels", labels, *words, "-o", "report.html"]
        shell.append(other_command("report", files, reading, *more, *further, *of_scale))
    shell += [f"# {name} is available in Python only" for name in python_only_options(reading)]
    python = python_lines(
        files, reading, method, params, min_ballots, labels, task.study.metrics, methods, task.scale, columns,
        task.source.by, baseline, best_of, task.depth,
    )  # fmt: skip
    return "\n".join(shell), python


# ---- other tasks than ranking ----
def _call(name: str, *given: object, **named: object) -> str:
    """Return a call as Python code."""
    return f"{name}({', '.join([*map(repr, given), *(f'{key}={value!r}' for key, value in named.items())])})"


def _read_line(task: SectionedTask, reading: Mapping[str, Any]) -> str:
    """Return the line that reads the preferences."""
    return "prefs = " + _call("cc.read", task.files[0] if len(task.files) == 1 else task.files, **reading)


def _commented(shell: Sequence[str], reading: Mapping[str, Any]) -> str:
    return "\n".join([*shell, *(f"# {name} is available in Python only" for name in python_only_options(reading))])


def recommend_lines(task: RecommendTask) -> tuple[str, str]:
    """Return the lines that train the recommender and recommend items for the shown user and the new user."""
    trained, user, reading = task.of.trained, task.user, task.source.reading
    more = ["--method", task.recommender, *_option_words(task.params), "--metrics", ",".join(task.metrics)]
    more += [] if trained.values else ["--validation", "0"]
    dashes = ["--"] if user.startswith("-") else []
    shell = [
        other_command("recommend train", task.files, reading, *more, "-o", "model.zip"),
        shlex.join(["concordant", "recommend", "for", "model.zip", *dashes, user]),
    ]
    name = type(trained.model).__name__
    python = [
        "import concordant as cc",
        f"from concordant.recommend import {name}",
        "",
        _read_line(task, reading),
        f"model = {_call(name, **trained.params)}.fit(prefs)",
        f"print({_call('model.recommend', user)}.to_text())",
    ]
    rated = task.readable_ratings
    if rated:
        shell.append("# New user: concordant recommend for model.zip --ratings FILE (columns item and rating)")
        python.append(f"print({_call('model.fold_in', rated)}.recommend().to_text())")
    return _commented(shell, reading), "\n".join(python)


def crowd_lines(task: CrowdTask) -> tuple[str, str]:
    """Return the lines that estimate the reliability of annotators and the labels of items."""
    labels, reading = task.gold_path if task.gold else None, task.source.reading
    gold = None if labels is None else os.path.basename(labels)
    more = ["--method", "dawid-skene", *([] if gold is None else ["--gold", gold])]
    shell = [other_command("crowd", task.files, reading, *more, *items) for items in ([], ["--items"])]
    python = ["import concordant as cc", "", _read_line(task, reading)]
    python += [] if gold is None else [f"gold = {_call('cc.read_labels', gold)}"]
    python.append(f"print(cc.crowd.reliability(prefs{'' if gold is None else ', gold'}))")
    python += ["decided = cc.crowd.decide(prefs).columns()", "print(*zip(*decided.values()), sep='\\n')"]
    return _commented(shell, reading), "\n".join(python)


def train_lines(task: TrainTask) -> tuple[str, str]:
    """Return the lines that train the ranker and evaluate it on held-out queries."""
    from concordant.analysis.training import HELD_OUT

    columns, reading = task.columns, task.reading
    words = [word for role, column in columns.items() for word in (f"--{role}", column)]
    words += ["--method", task.learner, *_option_words(task.params), "--hold-out", f"{HELD_OUT:g}"]
    words += ["--missing", task.missing] if task.missing else []
    shell = other_command("train", task.files, reading, *words, "--metrics", ",".join(task.metrics), "-o", "model.zip")
    name = type(task.tried.trained.ranker).__name__
    ranker = _call(name, **task.params)
    how = {"missing": task.missing} if task.missing else {}
    first = task.files[0] if len(task.files) == 1 else task.files
    python = [
        "import concordant as cc",
        "from concordant.analysis.training import fit_ranker, means_of, try_out",
        f"from concordant.learn import {name}",
        "",
        f"rows = {_call('cc.read_features', first, **columns, **reading)}",
        f"tried = try_out({ranker}, rows, {list(task.metrics)!r}{''.join(f', {k}={v!r}' for k, v in how.items())})",
        "print({system: means_of(values) for system, values in tried.values.items()})",
        f"model = fit_ranker({ranker}, rows{''.join(f', {k}={v!r}' for k, v in how.items())}).model",
        "cc.save(model, 'model.zip')",
    ]
    return _commented([shell], reading), "\n".join(python)
