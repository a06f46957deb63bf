"""Generate the shell command and the Python code for the current settings."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from concordant.params import Param
from concordant.results.scales import EloScale
from concordant.tables.options import PREFERENCES, options_of

if TYPE_CHECKING:
    from concordant.web.ranked import RankTask


def shell_command(
    files: Sequence[str], reading: Mapping[str, Any], method: str, params: Mapping[str, Any], more: Sequence[str] = ()
) -> str:
    """Return the command that ranks these files with these settings."""
    words = ["concordant", "rank", *files, *_reading_words(reading), "--method", method]
    for name, value in params.items():
        option = Param(name, str, None, "").option
        if isinstance(value, bool):
            words.append(option if value else option.replace("--", "--no-", 1))
        else:
            words += [option, str(value)]
    return shlex.join([*words, *more])


def other_command(command: str, files: Sequence[str], reading: Mapping[str, Any], *more: str) -> str:
    """Return another command on the same files."""
    return shlex.join(["concordant", command, *files, *_reading_words(reading), *more])


def fuse_command(files: Sequence[str], method: str, params: Mapping[str, Any]) -> str:
    """Return the command that fuses runs with these settings."""
    ranked = shlex.split(shell_command(files, {}, method, params))
    return shlex.join(["concordant", "fuse", *ranked[2:], "-o", "fused.run"])


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
    if scale is not None:
        fixed = {"centre": scale.centre} if scale.anchored is None else {"anchor": (scale.anchored, scale.rating)}
        given = [repr(scale.name), *(f"{name}={value!r}" for name, value in fixed.items() if value is not None)]
        lines.append(f"ranking = ranking.on_scale({', '.join(given)})")
    if columns:
        lines.append(f"ranking = ranking.with_columns({', '.join(map(repr, columns))})")
    if by:
        grouped = [repr(named), repr(by), *ranked, *(f"{name}={value!r}" for name, value in reading.items())]
        lines.append(f"print(cc.rank_groups({', '.join(grouped)}))")
    if methods:
        lines.append(f"print(cc.compare(prefs, {list(methods)!r}))")
    if labels is not None:
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
    shell = [shell_command(files, reading, method, params, [*further, *of_scale, *grouped])]
    methods = task.chosen_methods
    if methods:
        shell.append(other_command("compare", files, reading, "--methods", ",".join(methods), *further))
    if len(files) > 1 and task.prefs.instances is not None and not reading:
        shell = [fuse_command(files, method, params)]
        if labels is not None:
            words = [word for metric in task.study.metrics for word in ("--metric", metric)]
            shell.append(shlex.join(["concordant", "evaluate", "fused.run", *files, "--labels", labels, *words]))
    elif labels is not None:
        words = [word for metric in task.study.metrics for word in ("--metric", metric)]
        more = ["--method", method, "--labels", labels, *words, "-o", "report.html"]
        shell.append(other_command("report", files, reading, *more, *further, *of_scale))
    shell += [f"# {name} is available in Python only" for name in python_only_options(reading)]
    python = python_lines(
        files, reading, method, params, min_ballots, labels, task.study.metrics, methods, task.scale, columns,
        task.source.by,
    )  # fmt: skip
    return "\n".join(shell), python
