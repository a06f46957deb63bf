"""Pages of experiments: setting, claims, figures, tables, notes and command; and an index of all experiments."""

from __future__ import annotations

import os
import platform
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from concordant.errors import ConcordantError
from concordant.experiments import claims as verdicts
from concordant.experiments.claims import Claim
from concordant.experiments.frame import About, ResultTable, caption_of
from concordant.reporting.reports import Report
from concordant.reporting.sections import Code, Facts, Message, Messages, Part, Picture, ReportTable, Section, Text
from concordant.support.text import capital

TONES = {verdicts.HOLDS: "fine", verdicts.PARTLY: "attention", verdicts.FAILS: "warning"}
INDEX = "index.html"
SUMMED_UP = {  # one, several
    verdicts.HOLDS: ("holds", "hold"),
    verdicts.PARTLY: ("holds in part", "hold in part"),
    verdicts.FAILS: ("does not hold", "do not hold"),
    verdicts.UNTESTABLE: ("cannot be tested with the data available",) * 2,
    verdicts.NOT_RUN: ("was not run", "were not run"),
}


@dataclass(frozen=True)
class ExperimentRun:
    """An experiment that was run, with everything that its page shows.

    ``figures`` are SVG texts, ``command`` reproduces the result, ``seconds`` is the CPU time and
    ``reduced`` says what a quick run left out.
    """

    name: str
    title: str
    about: About
    tables: tuple[ResultTable, ...]
    claims: tuple[Claim, ...]
    notes: str
    figures: tuple[str, ...]
    command: str
    seconds: float
    reduced: str = ""

    @classmethod
    def of(cls, name: str, module: Any, result: Any, command: str, seconds: float, reduced: str = "") -> ExperimentRun:
        """Create the run from an experiment module and its result (tables, claims, figures)."""
        about = getattr(module, "ABOUT", About("", (module.__doc__ or "").strip().split("\n")[0], ""))
        return cls(
            name,
            getattr(module, "TITLE", name),
            about,
            tuple(module.tables(result)),
            tuple(module.claims(result)),
            getattr(module, "NOTES", ""),
            figures_of(module, result),
            command,
            seconds,
            reduced,
        )


@dataclass(frozen=True)
class NotRun:
    """An experiment that was skipped, or that failed, with the reason."""

    name: str
    reason: str
    is_failure: bool = False


def figures_of(module: Any, result: Any) -> tuple[str, ...]:
    """Return the figures of a result as SVG texts; empty without Matplotlib."""
    if not hasattr(module, "draw"):
        return ()
    with tempfile.TemporaryDirectory() as folder:
        try:
            return tuple(Path(path).read_text(encoding="utf-8") for path in module.draw(result, folder))
        except ConcordantError:  # Matplotlib is an extra
            return ()


# ---- the page of an experiment ----
def experiment_page(run: ExperimentRun) -> Report:
    """Return the page of an experiment."""
    claims_title = run.tables[-1].title if run.tables else verdicts.TITLE
    sections = [
        Section("setting", "Setting and data", _setting(run)),
        Section("claims", claims_title, (Text(summary(run.claims), "lead"), claim_messages(run.claims))),
        Section("figures", "Figures", tuple(Picture(caption_of(svg), svg) for svg in run.figures)),
        Section("results", "Results", tuple(report_table(table) for table in run.tables[:-1])),
        Section("notes", "Notes", tuple(Text(note) for note in notes(run.notes))),
        Section("making", "How this was run", _making(run)),
    ]
    return Report(run.title, tuple(section for section in sections if section.parts))


def _setting(run: ExperimentRun) -> tuple[Part, ...]:
    """Return the paper, the setting, the data, and what a quick run left out."""
    about = (("Paper", run.about.paper), ("Setting", run.about.setting), ("Data", run.about.data))
    parts: list[Part] = [Text(f"{name}: {text}") for name, text in about if text]
    if run.reduced:
        parts.append(Messages((Message("Quick run", run.reduced, "attention"),)))
    return tuple(parts)


def summary(claims: Sequence[Claim]) -> str:
    """Return a sentence on how many claims hold, hold in part, or do not hold."""
    counts = Counter(claim.verdict for claim in claims)
    found = [f"{counts[verdict]} {SUMMED_UP[verdict][counts[verdict] > 1]}" for verdict in SUMMED_UP if counts[verdict]]
    return f"{len(claims)} claim{'s' if len(claims) > 1 else ''}: {', '.join(found)}." if claims else "No claims."


def claim_messages(claims: Iterable[Claim]) -> Messages:
    """Return claims as messages: the claim, its verdict, the numbers, the rule and the source."""
    return Messages(
        tuple(Message(capital(claim.claim), _details(claim), TONES.get(claim.verdict, "neutral")) for claim in claims)
    )


def _details(claim: Claim) -> str:
    """Return the verdict with its numbers, the rule and the source of a claim."""
    verdict = capital(claim.verdict) + (f": {claim.numbers}" if claim.numbers else "")
    rule = f"Rule: {claim.test}" if claim.verdict != verdicts.UNTESTABLE else capital(claim.test)
    parts = (verdict, rule if claim.test else "", f"Source: {claim.source}" if claim.source else "")
    return " ".join(f"{part.rstrip('.')}." for part in parts if part)


def report_table(table: ResultTable) -> ReportTable:
    """Return a result table as a part of a page; tables with indented rows below others are not sortable."""
    rows = [[_cell(cell) for cell in row] for row in table.rows]
    is_nested = any(cell.startswith(INDENT) for row in rows for cell in row[: table.n_text])
    return ReportTable(
        table.title or "Results",
        tuple(table.header),
        tuple(map(tuple, rows)),
        right=frozenset(range(table.n_text, len(table.header))),
        labels=frozenset([0]),
        is_sortable=not is_nested,
    )


INDENT = "\u2003"


def _cell(cell: str) -> str:
    """Return a cell with leading blanks as one wide space, which HTML keeps."""
    return INDENT + cell.lstrip() if cell.startswith("  ") else cell


def notes(text: str) -> list[str]:
    """Return the items of a Markdown list as plain sentences."""
    points = re.split(r"(?m)^- ", text.strip())
    joined = (re.sub(r"\s+", " ", point).strip() for point in points)
    return [re.sub(r"\*([\w][^*]*)\*", r"\1", point).replace("`", "") for point in joined if point]


def _making(run: ExperimentRun) -> tuple[Part, ...]:
    """Return the command, the versions and the CPU time."""
    import numpy

    from concordant import __version__, kernels

    rows = [
        ("concordant", f"{__version__}, {kernels.active()} kernels"),
        ("Python, NumPy", f"{platform.python_version()}, {numpy.__version__}"),
        ("CPU time", shown_time(run.seconds)),
    ]
    rows += [("reduced", run.reduced)] if run.reduced else []
    return (Code("On the command line", run.command), Facts(tuple(rows)))


def shown_time(seconds: float) -> str:
    """Return seconds as text: "3.5 s", "2 min 5 s"."""
    return f"{seconds:.1f} s" if seconds < 60 else f"{int(seconds // 60)} min {int(seconds % 60)} s"


# ---- the index ----
def index_page(runs: Sequence[ExperimentRun], others: Sequence[NotRun]) -> Report:
    """Return the page that lists all experiments and all claims."""
    everything = [claim for run in runs for claim in run.claims]
    sections = [
        Section("experiments", "Experiments", (Text(summary(everything), "lead"), _overview(runs))),
        Section("not-run", "Not run", _not_run(others)),
        Section("claims", "All claims", (_all_claims(runs),) if everything else ()),
    ]
    return Report("Published experiments, run again", tuple(section for section in sections if section.parts))


def _overview(runs: Sequence[ExperimentRun]) -> ReportTable:
    """Return a row per experiment: its claims by verdict and its CPU time."""
    known = [verdict for verdict in verdicts.VERDICTS if any(c.verdict == verdict for run in runs for c in run.claims)]
    short = {verdicts.UNTESTABLE: "cannot be tested"}
    header = ("experiment", *(short.get(verdict, verdict) for verdict in known), "CPU time")
    rows = []
    for run in runs:
        counts = Counter(claim.verdict for claim in run.claims)
        title = f"{run.title} (quick run)" if run.reduced else run.title
        rows.append((title, *(str(counts[verdict] or "") for verdict in known), shown_time(run.seconds)))
    return ReportTable(
        "Claims by verdict",
        header,
        tuple(rows),
        right=frozenset(range(1, len(header))),
        labels=frozenset([0]),
        links=tuple(f"{run.name}.html" for run in runs),
    )


def _not_run(others: Sequence[NotRun]) -> tuple[Part, ...]:
    messages = (
        Message(one.name, f"{'failed' if one.is_failure else 'skipped'}: {one.reason}", _tone(one)) for one in others
    )
    return (Messages(tuple(messages)),) if others else ()


def _tone(one: NotRun) -> str:
    return "warning" if one.is_failure else "attention"


def _all_claims(runs: Sequence[ExperimentRun]) -> ReportTable:
    """Return the claims of all experiments as one table."""
    rows = [(run, claim) for run in runs for claim in run.claims]
    return ReportTable(
        "Claims of all experiments",
        ("claim", "verdict", "experiment", "numbers"),
        tuple((capital(claim.claim), claim.verdict, run.name, claim.numbers) for run, claim in rows),
        labels=frozenset([0]),
        links=tuple(f"{run.name}.html" for run, _ in rows),
    )


def write_pages(folder: str, runs: Sequence[ExperimentRun], others: Sequence[NotRun]) -> list[str]:
    """Write the page of every experiment and the index into a folder; return the paths."""
    os.makedirs(folder, exist_ok=True)
    paths = [write_page(run, os.path.join(folder, f"{run.name}.html")) for run in runs]
    index = os.path.join(folder, INDEX)
    index_page(runs, others).write(index)
    return [*paths, index]


def write_page(run: ExperimentRun, path: str) -> str:
    """Write the page of an experiment and return its path."""
    experiment_page(run).write(path)
    return path
