"""The page of a ranking: verdict, ranking, reasons, comparisons, groups, times, evaluation, data and downloads."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property, partial
from typing import Any
from urllib.parse import urlencode

from concordant import registry
from concordant.analysis.groups.comparison import GroupComparison
from concordant.analysis.groups.rank_groups import compare_groups, grouped_preferences, request_for_all
from concordant.ballots.vocabulary import shorten
from concordant.errors import ConcordantError, Words, in_words
from concordant.io import read_labels, write
from concordant.labels import Labels
from concordant.narrative.fields import Field, field_of_preferences
from concordant.narrative.verdict import Verdict
from concordant.params import params_of
from concordant.ranking import Ranking
from concordant.reporting.about_agents import agents_section
from concordant.reporting.about_data import data_section, warnings_section
from concordant.reporting.about_groups import groups_section
from concordant.reporting.about_instances import instances_section
from concordant.reporting.about_item import item_card
from concordant.reporting.about_labels import labels_section, queries_section, query_section
from concordant.reporting.about_methods import methods_section
from concordant.reporting.about_ranking import csv_of, dot_plot, matrix_section, ranking_section
from concordant.reporting.about_style import style_section, uncontrolled, with_other
from concordant.reporting.about_time import periods_of, time_section
from concordant.reporting.about_verdict import verdict_of
from concordant.reporting.about_why import why_section
from concordant.reporting.card import card_svg
from concordant.reporting.pages import static
from concordant.reporting.pictures import dot_plot as drawn_dots
from concordant.reporting.pictures import standalone
from concordant.reporting.reports import Making, report_of
from concordant.reporting.sections import ReportTable, Section
from concordant.reporting.study import METRICS, Data, Study
from concordant.reporting.systems import Systems
from concordant.reporting.verdict_card import verdict_card
from concordant.request import Request
from concordant.results.scales import EloScale, anchor_of, scale_of
from concordant.support.markup import Markup, element
from concordant.support.text import short_number
from concordant.web import commands, drawer
from concordant.web.offers import Offer, offers_of
from concordant.web.reading import MAX_BYTES, asked, listed, listed_lines
from concordant.web.sectioned import report_title
from concordant.web.settings import MAX_TEXT
from concordant.web.tasks import Maker, Regions, Task
from concordant.web.words import control_words

TOP = 100
RATING_UNIT = 10.0  # scores per log odds from which they are ratings already, such as those of Elo and Glicko


class RankTask(Task):
    """Rank preferences."""

    name = "rank"
    unread_labels: ConcordantError | None = None
    """Why the relevance judgements cannot be read."""

    # ---- data and ranking ----
    def open(self) -> None:
        """Read the data and rank them."""
        self.source.check()
        self.tell("Reading")
        _ = self.data
        self.tell(f"Ranking by {registry.title_of(self.request.choice.name)}")
        _ = self.ranking

    @cached_property
    def _read(self) -> tuple[Request, Data]:
        def read() -> tuple[Request, Data]:
            request = self.source.request(self.settings.get("min_ballots"))
            return request, Data(request.read())

        read_before: tuple[Request, Data] = self.kept("data", read)
        return read_before

    @property
    def data(self) -> Data:
        """The preferences."""
        return self._read[1]

    @cached_property
    def request(self) -> Request:
        """The request with the method of the settings."""
        return asked(self._read[0], self.settings)

    @cached_property
    def ranking(self) -> Ranking:
        """The ranking, on the chosen scale with the chosen columns."""
        ranking = self._own_ranking
        if self.scale is not None:
            ranking = ranking.on_scale(self.scale)
        return ranking.with_columns(*self.columns)

    @property
    def _own_ranking(self) -> Ranking:
        """The ranking on the scale of the method."""
        ranking: Ranking = self.kept(f"ranking {self._key}", lambda: self.request.run().ranking)
        return ranking

    @cached_property
    def _key(self) -> str:
        return json.dumps([self.request.choice.name, self.request.chosen_params], default=str, sort_keys=True)

    @cached_property
    def scale(self) -> EloScale | None:
        """The chosen scale; None for that of the method."""
        if not self.settings.get("scale"):
            return None
        anchor = str(self.settings.get("anchor") or "").strip()
        return scale_of(self.settings["scale"], self.settings.get("centre"), anchor_of(anchor) if anchor else None)

    @cached_property
    def labels(self) -> Labels | None:
        """The relevance judgements; None if there are none, or if their file cannot be read."""
        path = self.question["labels"]
        if path is None:
            return None
        try:
            labels: Labels = self.kept(f"labels {path}", lambda: read_labels(path, max_bytes=MAX_BYTES), 1)
        except ConcordantError as problem:
            self.unread_labels = problem
            return None
        return labels

    @cached_property
    def study(self) -> Study:
        """The ranking with its comparisons, cached."""
        methods = self.chosen_methods or None
        metrics = listed(self.settings.get("metrics")) or METRICS
        shown = [self.settings.get(name) for name in ("scale", "anchor", "centre", "add_columns", "methods", "metrics")]
        key = json.dumps([self._key, shown, self.question["labels"], self.source.by], default=str)
        grouping = self._compare_groups if self.source.by else None
        study: Study = self.kept(
            f"study {key}",
            lambda: Study(self.data, self.ranking, methods, self.labels, metrics, grouping=grouping),
            4,
        )
        return study

    @property
    def columns(self) -> tuple[str, ...]:
        """The further columns of the ranking."""
        return listed(self.settings.get("add_columns"))

    @property
    def chosen_methods(self) -> tuple[str, ...]:
        """The methods to compare that the settings name, and that can rank these data."""
        return tuple(name for name in listed(self.settings.get("methods")) if not self._unusable(name))

    def _unusable(self, name: str) -> str:
        """Return why a method cannot be compared; empty if it can."""

        def problem() -> str:
            try:
                registry.make(name).check_needs(self.prefs)
            except ConcordantError as found:
                return in_words(found, control_words()).strip()
            return ""

        why: str = self.kept(f"unusable-{name}", problem)
        return why

    @property
    def unknown(self) -> list[str]:
        """Sentences on items and methods that the settings name and the data lack, such as those of an old link."""
        noun, items = self.field.item[0], self.prefs.items
        item = self.settings.get("item", "")
        curves = listed_lines(self.settings.get("curve"))
        names = [*filter(None, [item]), *(() if self.prefs.time is not None else curves)]
        told = [f"There is no {noun} “{shorten(name, 60)}”." for name in dict.fromkeys(names) if name not in items]
        if item and item in items and self.ranking.n_instances != 1:
            told.append(f"The card of “{shorten(item, 60)}” is shown for one {self.field.instance[0]} only.")
        if curves and self.prefs.time is None:
            told.append("These data have no times, so there are no curves.")
        reasons = [(name, self._unusable(name)) for name in listed(self.settings.get("methods"))]
        return told + [f"Not compared: {why[:1].lower()}{why[1:]}" for _, why in reasons if why]

    @property
    def compared_methods(self) -> tuple[str, ...]:
        """The methods to compare that the settings name, or else those on the page."""
        chosen, is_shown = self.chosen_methods, "compared" in vars(self.study)
        compared = None if chosen or not is_shown else self.study.compared[0]
        return chosen if compared is None else tuple(compared.names)

    @property
    def baseline(self) -> str | None:
        """The run that the others are compared with, once they are evaluated."""
        if not self.study.run_evaluations:
            return None
        return Systems(self.study, self.settings.get("baseline", "")).baseline

    @property
    def depth(self) -> int:
        """The number of documents per query of the fused run: as many as are evaluated."""
        is_evaluated = self.labels is not None and bool(self.study.run_evaluations)
        return (self.study.depth if is_evaluated else None) or commands.DEPTH

    @property
    def best_of(self) -> str | float | None:
        """The periods in which the best item is shown, once the scores over time are known."""
        ranking = self.study.ranking
        return periods_of(ranking.history) if ranking.past is not None and "history" in vars(ranking) else None

    @property
    def has_log_odds(self) -> bool:
        """Whether the method's own scores are log odds, which can be shown on the Elo scale."""
        unit = self._own_ranking.log_odds
        return unit is not None and unit < RATING_UNIT

    def _compare_groups(self) -> GroupComparison:
        grouped = grouped_preferences(self.request, self.source.by)
        comparison = compare_groups(grouped, request_for_all(self.request, grouped))
        return comparison if self.scale is None else comparison.on_scale(self.scale)

    @property
    def prefs(self) -> Any:
        """The preferences."""
        return self.data.prefs

    @cached_property
    def field(self) -> Field:
        """The words of the field of these data."""
        return field_of_preferences(self.prefs)

    @property
    def words(self) -> Words:
        """How messages name the controls of the page."""
        known = registry.resolve(self.request.choice.name)[0]
        return control_words([declared.name for declared in params_of(registry.load(known))], known)

    # ---- the page ----
    def title(self) -> str:
        """Return the title of the page."""
        verdict = self.verdict(is_complete=False)
        name = self.question["title"]
        return f"{verdict.headline} – {name} – concordant" if verdict is not None else f"{name} – concordant"

    def summary(self) -> str:
        """Return a line on the data."""
        n = float(self.prefs.weight.sum())
        counted = f"{short_number(n)} {self.field.ballot[int(n != 1)]}"
        n_items = len(self.prefs.items)
        instances = self.prefs.n_instances
        several = f", {instances:,} {self.field.instance[1]}" if instances > 1 else ""
        return f"{counted}, {n_items:,} {self.field.item[int(n_items != 1)]}{several}"

    def verdict(self, *, is_complete: bool) -> Verdict | None:
        """Return the verdict; before all sections are computed, without what only they know."""
        return verdict_of(self.study, is_complete=is_complete)

    def outline(self) -> dict[str, tuple[str, Maker]]:
        """Return the sections for these data."""
        study, prefs = self.study, self.prefs
        is_single = study.ranking.n_instances == 1
        is_judged = self.labels is not None and not is_single
        self.first = "ranking" if is_single else "labels" if self.question["labels"] is not None else "instances"
        settings = self.settings
        baseline = settings.get("baseline", "")
        curve = listed_lines(settings.get("curve"))
        since, _, until = settings.get("span", "").partition("..")
        declared: list[tuple[str, str, bool, Maker]] = [
            ("ranking", "Ranking", is_single, self._ranking_section),
            ("labels", "Evaluation", self.question["labels"] is not None, self._labels_section),
            ("queries", "Queries", is_judged, partial(queries_section, study, TOP, baseline)),
            ("query", "One query", is_judged, partial(query_section, study, settings.get("query", ""), baseline)),
            ("instances", self.field.instance[1].capitalize(), not is_single and not is_judged,
             partial(instances_section, study, TOP)),
            ("why", "Why", is_single, partial(why_section, study)),
            ("time", "Over time", prefs.time is not None,
             partial(time_section, study, curve, since, until, settings.get("first", ""), settings.get("second", ""))),
            ("style", "Style control", bool(self.ranking.coefficients),
             lambda: style_section(study, self._uncontrolled)),
            ("groups", f"Groups: {self.source.by}", bool(self.source.by), partial(groups_section, study, TOP)),
            ("methods", "Methods", True, partial(methods_section, study)),
            ("duels", "Head to head", is_single, partial(matrix_section, study)),
            ("agents", self.field.agent[1].capitalize(), prefs.agents is not None,
             partial(agents_section, study, TOP)),
            ("data", "Data", True, self._data_section),
        ]  # fmt: skip
        return {name: (title, make) for name, title, is_wanted, make in declared if is_wanted}

    def _ranking_section(self) -> Section | None:
        """Return the ranking, whose items lead to their cards."""
        section = ranking_section(self.study, TOP)
        if section is None:
            return None
        table = next(part for part in section.parts if isinstance(part, ReportTable))
        shown = self.ranking.items[: len(table.rows)]
        links = tuple(f"?{urlencode({'item': item})}" if len(item) <= MAX_TEXT else "" for item in shown)
        parts = tuple(replace(part, links=links) if part is table else part for part in section.parts)
        section, without = replace(section, parts=parts), self._uncontrolled
        return section if without is None else with_other(section, without)

    @cached_property
    def _uncontrolled(self) -> Ranking | None:
        """The ranking without covariates, if there are any."""
        scale = [self.settings.get(name) for name in ("scale", "anchor", "centre")]
        without: Ranking | None = self.kept(f"without {self._key} {scale}", lambda: uncontrolled(self.study))
        return without

    def _labels_section(self) -> Section | None:
        if self.unread_labels is not None:
            raise self.unread_labels
        section: Section | None = labels_section(self.study, self.settings.get("baseline", ""))
        return section

    def _data_section(self) -> Section | Markup | None:
        return drawer.data_panel(
            self.source, data_section(self.study), warnings_section(self.study), self.question, self.words
        )

    def regions(self, *, is_complete: bool) -> Regions:
        """Return the verdict, the offers, the settings and the downloads."""
        is_compared = "compared" in vars(self.study)  # unless that section was cancelled
        verdict = self.verdict(is_complete=is_complete and is_compared)
        notes = [*self.prefs.notes, *self.notes, *self.unknown]
        notes += [self._reason()] if self.request.choice.reason else []
        return {
            "problem": Markup(""),
            "where": drawer.where(self.summary()),
            "verdict": element("h1", self.question["title"], class_="spoken")
            if verdict is None
            else verdict_card(verdict),
            "offers": drawer.offers_row(self.offers(), notes, self.words),
            "controls": drawer.controls(self, is_complete=is_complete),
            "download": drawer.downloads(self._kinds(), *self.lines()),
        }

    def _reason(self) -> str:
        """Return why the method was chosen, for search in the words of the field."""
        name, reason = self.request.choice
        usual = registry.usual_name(name)
        if self.field.name != "search" or self.prefs.n_instances == 1:
            return reason.replace(name, usual, 1)
        return f"Ranked by {usual}, because the data are {self.field.agent[1]} for several {self.field.instance[1]}"

    def reading_controls(self) -> Markup | None:
        """Return the method and its options, if the data can be read: one of them may be the problem."""
        try:
            request = self._read[0]
            named = self.settings.get("method") or ""
            known = named if named and _is_method(named) else request.choice.name
            return drawer.method(self, known)
        except ConcordantError:
            return None

    def item(self) -> Section | Markup | None:
        """Return the card of the chosen item."""
        item = self.settings.get("item", "")
        if not item or self.ranking.n_instances != 1:
            return Markup("")
        return drawer.card(item_card(self.study, item), self.field.item[0], self.words)

    def offers(self) -> tuple[Offer, ...]:
        """Return what else can be done with these data."""
        return offers_of(self)

    # ---- files ----
    def _kinds(self) -> list[tuple[str, str]]:
        """Return the files to download besides the report and the card, with the text of their buttons."""
        kinds = []
        if self.prefs.n_instances > 1:
            kinds.append(("run", "Run (TREC)"))
        if self.ranking.past is not None:
            kinds.append(("history", "Scores over time (CSV)"))
        if self.source.by:
            kinds.append(("groups", "Groups (CSV)"))
        return [*kinds, ("csv", "CSV"), ("xlsx", "Excel"), ("json", "JSON"), ("svg", "Chart (SVG)")]

    def lines(self) -> tuple[str, str]:
        """Return the shell command and the Python code that reproduce the page."""
        return commands.lines_of(self)

    def file(self, kind: str) -> bytes:
        """Return the ranking, the report or another part of the page as a file."""
        writers: dict[str, Callable[[], bytes]] = {
            "csv": lambda: csv_of(self.ranking),
            "xlsx": lambda: _written(self.ranking, "xlsx"),
            "json": lambda: _json(self.ranking.to_dict()),
            "svg": lambda: standalone(
                drawn_dots(dot_plot(next(iter(self.ranking)), 40)), static("picture.css")
            ).encode(),
            "card": self._card,
            "run": lambda: _run(self.ranking.head(self.depth)),
            "history": lambda: csv_of(self.ranking.history.columns()),
            "groups": lambda: csv_of({} if self.study.groups is None else self.study.groups.columns()),
            "html": self._report,
        }
        return writers[kind]() if kind in writers else super().file(kind)

    def _card(self) -> bytes:
        verdict = self.verdict(is_complete=True)
        if verdict is None:
            return super().file("card")
        return card_svg(verdict, self.question["title"]).encode("utf-8")

    def _report(self) -> bytes:
        shell, python = self.lines()
        question = self.question
        paths = [*question["files"], *filter(None, [question["labels"]])]
        making = Making.of_files(paths, shell, python, date=question["date"])
        return report_of(self.study, report_title(question), TOP, making).to_html(self.words).encode("utf-8")


def _is_method(name: str) -> bool:
    try:
        registry.resolve(name)
    except ConcordantError:
        return False
    return True


def _json(data: object) -> bytes:
    return json.dumps(data, indent=2, ensure_ascii=False).encode("utf-8", "backslashreplace")


def _written(ranking: Ranking, format: str, **options: Any) -> bytes:
    """Return a ranking in a file format."""
    out = io.BytesIO()
    write(ranking, out, format=format, **options)
    return out.getvalue()


def _run(ranking: Ranking) -> bytes:
    """Return a ranking as a TREC run."""
    name = registry.METHODS.spelled(ranking.method, ranking.params)
    return _written(ranking, "trec", tag=f"concordant-{name}")
