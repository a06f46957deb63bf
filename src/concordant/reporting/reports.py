"""Assemble the sections of a report and write it as one HTML file."""

from __future__ import annotations

import datetime
import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from concordant.analysis.groups.rank_groups import By, compare_groups, grouped_preferences, request_for_all
from concordant.errors import InputError, Words, arg
from concordant.labels import Labels
from concordant.narrative.verdict import Verdict
from concordant.preferences import Preferences
from concordant.ranking import Ranking
from concordant.reporting.about_agents import agents_section
from concordant.reporting.about_data import data_section, warnings_section
from concordant.reporting.about_groups import groups_section
from concordant.reporting.about_instances import instances_section
from concordant.reporting.about_labels import labels_section, queries_section
from concordant.reporting.about_methods import methods_section
from concordant.reporting.about_ranking import matrix_section, ranking_section
from concordant.reporting.about_style import style_section, uncontrolled, with_other
from concordant.reporting.about_time import time_section
from concordant.reporting.about_verdict import method_name, verdict_of
from concordant.reporting.about_why import why_section
from concordant.reporting.sections import Code, Facts, Fold, Part, Section, spoken
from concordant.reporting.study import METRICS, Data, Study
from concordant.request import Request
from concordant.results.scales import EloScale, scale_of
from concordant.support.files import replace_file, without_folders

if TYPE_CHECKING:
    from concordant.method import Method

TOP = 100
FEW = 4  # files whose checksums are shown at once
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip


@dataclass(frozen=True)
class Making:
    """How to reproduce a report: the command, the equivalent Python code, and the checksums of the files.

    ``date`` is when it was made, as an ISO date; a report without one is the same on every day.
    """

    command: str = ""
    python: str = ""
    files: tuple[tuple[str, str], ...] = ()
    date: str = ""

    @classmethod
    def of_files(cls, paths: Sequence[str], command: str = "", python: str = "", *, date: str = "") -> Making:
        """Compute the checksums of some files; file names are given without their folders."""
        sums = tuple((os.path.basename(path), checksum(path)) for path in paths if path != "-")
        return cls(without_folders(command, paths), without_folders(python, paths), sums, date)


def checksum(path: str) -> str:
    """Return the SHA-256 checksum of a file, or a note that it is not a regular file."""
    if not os.path.isfile(path):
        return "not a regular file"
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@dataclass(frozen=True, eq=False)
class Report:
    """A title, a verdict and sections of plain values; ``to_html`` renders one self-contained page."""

    title: str
    sections: tuple[Section, ...] = field(default=())
    verdict: Verdict | None = None
    about: str = ""
    """The line under the title: what was counted, how and when."""

    def to_html(self, words: Words = str) -> str:
        """Return the page, which needs no network access.

        It is readable without scripts, in print and by screen readers. ``words`` sets how parameters are named in its
        sentences.
        """
        from concordant.reporting.pages import page

        return page(self.title, spoken(self.sections, words), about=self.about, verdict=self.verdict)

    def card(self, source: str = "") -> str:
        """Return the verdict as a picture to share, as the text of an SVG file.

        Parameters
        ----------
        source : str, default ''
            What was counted; by default, the title of the report.

        Returns
        -------
        str
            The SVG file, 1200 x 630 pixels.

        Raises
        ------
        InputError
            The report has no verdict.
        """
        from concordant.reporting.card import card_svg

        if self.verdict is None:
            raise InputError("There is no verdict on these data, and so no card: rank preferences that have an order.")
        return card_svg(self.verdict, source or self.title)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the page atomically."""
        replace_file(path, self.to_html().encode("utf-8"))

    def __repr__(self) -> str:
        return f"Report: {self.title} ({', '.join(section.title for section in self.sections)})"


def report(
    prefs: Preferences | Any,
    path: str | os.PathLike[str] | None = None,
    *,
    by: By = None,
    method: str | Method | None = None,
    methods: Sequence[str] | None = None,
    labels: Labels | None = None,
    metrics: Sequence[str] | str = METRICS,
    title: str = "",
    top: int = TOP,
    min_ballots: float | None = None,
    scale: str | EloScale | None = None,
    made: Making | None = None,
    **params: object,
) -> Report:
    """Create an HTML report on preferences.

    Parameters
    ----------
    prefs : Preferences, DataFrame, str, path or list of paths
        What to rank, as in ``cc.rank``.
    path : str or path, optional
        File to write the report to, as one self-contained HTML file.
    by : str, int, iterable or mapping, optional
        Groups of ballots to compare, as in ``cc.rank_groups``.
    method : str or Method, optional
        Name of a method or a method object; by default, one that suits the form of the data.
    methods : sequence of str, optional
        Methods to compare; by default, some that suit the data. ``[]`` compares none.
    labels : Labels, optional
        Relevance judgements, against which every ranking is evaluated and tested.
    metrics : str or sequence of str, default ('ndcg@10', 'map')
        Metrics of the evaluation.
    title : str, default ''
        Title of the report; by default, a description of the data.
    top : int, default 100
        Maximum number of rows in a table. The full table is embedded as CSV.
    min_ballots : float, optional
        Minimum number of ballots, by weight, that must mention an item; other items are left out.
    scale : {'elo'} or EloScale, optional
        Scale of the scores, as in ``ranking.on_scale``; by default, that of the method.
    made : Making, optional
        How and when the report was made: the command line, shown in the last section, and the date under the title.
    **params : object
        Hyper-parameters of the method, and options of reading a DataFrame or files, as in ``cc.rank``.

    Returns
    -------
    Report
        The report; ``to_html()`` returns it as text and ``write(path)`` saves it.
    """
    if top < 1:
        raise InputError(arg("top", shown=str(top)) + " is too small: give 1 or more.")
    if isinstance(prefs, Request):
        request = prefs
    else:
        on_scale = None if scale is None else scale_of(scale)
        request = Request.of(prefs, method, params, min_ballots=min_ballots, scale=on_scale)
    grouping = None
    if by is not None:
        grouped = grouped_preferences(request, by)
        whole = request_for_all(request, grouped)
        grouping, request = partial(compare_groups, grouped, whole), replace(whole, all_items=False)
    data, ranking = Data(request.read()), request.run().ranking
    wanted = (metrics,) if isinstance(metrics, str) else tuple(metrics)
    study = Study(data, ranking, None if methods is None else tuple(methods), labels, wanted, grouping)
    result = report_of(study, title, top, made)
    if path is not None:
        result.write(path)
    return result


def report_of(study: Study, title: str = "", top: int = TOP, made: Making | None = None) -> Report:
    """Return the report on a study: title, what was counted, verdict and sections."""
    made, verdict = made or Making(), verdict_of(study)
    return Report(title or _title(study), sections_of(study, top, made), verdict, about_line(study, verdict, made.date))


def about_line(study: Study, verdict: Verdict | None, date: str = "") -> str:
    """Return what was counted, how it was ranked and compared, and the date as a line under the title."""
    sentences = []
    if verdict is not None and verdict.numbers:
        counted = [f"{number} {noun}" for number, noun in verdict.numbers]
        sentences.append(f"{', '.join(counted)}; ranked by {method_name(study.ranking)}.")
    compared = study.compared[0]
    n_others = 0 if compared is None else len(compared.names) - 1
    if n_others > 0:
        sentences.append(f"Compared with {n_others} other {'methods' if n_others > 1 else 'method'}.")
    if date:
        sentences.append(f"Report of {_shown_date(date)}.")
    return " ".join(sentences)


def _shown_date(date: str) -> str:
    """Return an ISO date as text: 18 November 2026; other text is returned as it is."""
    try:
        day = datetime.date.fromisoformat(date[:10])
    except ValueError:
        return date
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"


def sections_of(study: Study, top: int, made: Making) -> tuple[Section, ...]:
    """Return all sections that have content; for several queries, the metrics come first."""
    metrics, ranked, without = labels_section(study), ranking_section(study, top), uncontrolled(study)
    sections = (
        metrics if study.ranking.n_instances != 1 else None,
        queries_section(study, top),
        ranked if ranked is None or without is None else with_other(ranked, without),
        metrics if study.ranking.n_instances == 1 else None,
        time_section(study),
        style_section(study, without),
        groups_section(study, top),
        instances_section(study, top),
        methods_section(study),
        why_section(study),
        matrix_section(study),
        agents_section(study, top),
        data_section(study),
        warnings_section(study),
        making_section(study.ranking, made),
    )
    return tuple(section for section in sections if section is not None)


def making_section(ranking: Ranking, made: Making) -> Section:
    """Return the section on how to reproduce the report."""
    from concordant import __version__, kernels

    rows = [("concordant", f"{__version__}, {kernels.active()} kernels")]
    rows += [("report of", _shown_date(made.date))] if made.date else []
    rows += [("method", f"{method_name(ranking)} ({ranking.method})")] if ranking.method else []
    rows += [] if ranking.converted is None else [("scale", str(ranking.converted.scale))]
    settings = [(name.replace("_", " "), str(value)) for name, value in ranking.params.items()]
    settings += [(f"{name.replace('_', ' ')} (fitted)", f"{value:.6g}") for name, value in (ranking.fit or {}).items()]
    sums = [(f"SHA-256 of {name}", sha256) for name, sha256 in made.files]
    parts: list[Part] = [Code("Command line", made.command)] if made.command else []
    parts += [Code("Python", made.python)] if made.python else []
    parts.append(Facts((*rows, *(sums if len(sums) <= FEW else ()))))
    parts += [Fold("Settings of the method", (Facts(tuple(settings)),))] if settings else []
    parts += [Fold(f"Checksums of {len(sums):,} files", (Facts(tuple(sums)),))] if len(sums) > FEW else []
    return Section("making", "Reproduce this report", tuple(parts))


def _title(study: Study) -> str:
    meta, ranking = study.prefs.meta, study.ranking
    known = meta.get("title") if meta else None
    if known:
        return str(known)
    field, agents = study.field, study.prefs.agents
    if ranking.n_instances != 1 and field.name == "search" and agents is not None and len(agents) > 1:
        return f"{len(agents):,} {field.agent[1]} fused by {method_name(ranking)}"
    if ranking.n_instances != 1:
        return f"{ranking.n_instances:,} {field.instance[1]} ranked by {method_name(ranking)}"
    n = len(np.unique(ranking.slot_item))
    return f"{n:,} {field.item[n != 1]} ranked by {method_name(ranking)}"
