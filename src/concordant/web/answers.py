"""Answers of a worker: the first rows, notes on reading, the ranking, then the other sections of a report.

Data, rankings and findings are cached, so that a changed option recomputes only what depends on it. Parts are sent as
soon as they are ready: the ranking does not wait for the findings.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from concordant import registry
from concordant.errors import ConcordantError, InputError, Words, in_words
from concordant.io import Preview, preview, read_labels, write
from concordant.io.judgements import notes_on, set_aside
from concordant.labels import Labels
from concordant.method import NEEDS
from concordant.params import params_of
from concordant.ranking import Ranking
from concordant.reporting.about_agents import agents_section
from concordant.reporting.about_data import data_section, warnings_section
from concordant.reporting.about_instances import instances_section
from concordant.reporting.about_labels import labels_section
from concordant.reporting.about_methods import methods_section
from concordant.reporting.about_ranking import (
    csv_of,
    dot_plot,
    first_place,
    matrix_section,
    ranking_section,
    ranking_table,
)
from concordant.reporting.about_why import why_section
from concordant.reporting.pages import rendered, static
from concordant.reporting.pictures import dot_plot as drawn_dots
from concordant.reporting.pictures import standalone
from concordant.reporting.reports import Making, Report, sections_of
from concordant.reporting.sections import Section, Text, spoken
from concordant.reporting.study import METRICS, Data, Study
from concordant.request import Request
from concordant.results.scales import EloScale, anchor_of, scale_of
from concordant.support.markup import Markup, element, joined
from concordant.tables.options import MATRICES, Options
from concordant.web import commands, forms
from concordant.web.messages import Answer, Question, Screen
from concordant.web.settings import typed
from concordant.web.words import control_words

TOP = 100
MAX_BYTES = 2_000_000_000  # a compressed upload may unpack into
KEPT = 8  # rankings
Settings = Mapping[str, Any]
TOO_MUCH = "Not enough memory for a worker process: use less data, or a method without pairwise matrices."


class Answerer:
    """Answers questions about some files, and caches results."""

    def __init__(self, tell: Callable[[Screen], None]) -> None:
        self.tell = tell
        self._data: dict[str, tuple[Request, Data]] = {}
        self._rankings: dict[str, Ranking] = {}
        self._labels: dict[str, Labels] = {}
        self._words = control_words()
        self._aside: list[str] = []

    def answer(self, question: Question) -> Answer:
        """Return the content of the page, or a file; errors become messages."""
        try:
            question, self._aside = _with_judgements(question)
            answer = self._show(question) if question["do"] == "show" else self._file(question)
            answer["error"] = None
            return answer
        except ConcordantError as problem:
            return {"error": in_words(problem, self._words)}
        except MemoryError:
            self._data.clear()
            self._rankings.clear()
            return {"error": TOO_MUCH}
        except Exception as problem:  # a page must never be left without an answer
            return {"error": f"Unexpected error ({type(problem).__name__}: {problem}): please report it."}

    # ---- what is on the screen ----
    def _show(self, question: Question) -> Answer:
        """Return the content of the page, and send parts as soon as they are ready."""
        settings = question["settings"]
        request, data, reading = self._asked(question["files"], settings)
        method, reason = request.choice
        notes = [*data.prefs.notes, *self._aside, *([reason[0].upper() + reason[1:]] if reason else [])]
        understood = " ".join(f"{in_words(note, self._words).removesuffix('.')}." for note in notes)
        declared = params_of(registry.load(registry.resolve(method)[0]))
        self._words = _words_of(method)
        if "description" not in vars(data):  # the others come when it is known which fit
            self.tell({"methods": element("option", method, value=method)})
        self.tell({"understood": understood, "method": method, "about": _summary(method)})
        self.tell({"form": forms.option_form(declared), "progress": f"ranking by {method}"})
        ranking, params = self._rank(request, settings), request.chosen_params
        view = settings.get("view", "ranking")
        labels = self._labelled(question) if view == "evaluate" else None
        study = Study(data, ranking, _listed(settings.get("methods")), labels, _metrics(settings))
        lines = self._lines(question, reading, method, params, study, view)
        quick: Screen = {"results": self._quick(study)} if view == "ranking" else {}
        self.tell({**quick, "progress": "computing details", **lines})
        shown = self._shown(study, view)
        self.tell({"results": rendered(spoken(shown, self._words)), "progress": "comparing methods"})
        lines = self._lines(question, reading, method, params, study, view)
        return {"methods": _method_options(data, method), "shell": lines["shell"], "python": lines["python"]}

    def _preview(self, files: list[str], settings: Settings) -> tuple[Preview, dict[str, Any]]:
        """Send the first rows and the roles of the columns; return the preview and the reading options."""
        reading: dict[str, Any] = {"layout": settings["layout"]} if settings.get("layout") else {}
        if settings.get("skip_bad_rows"):
            reading["skip_bad_rows"] = True
        limits = {"max_bytes": MAX_BYTES}
        guessed = preview(files[0], **reading, **limits)
        chosen = None if settings.get("roles") is None else forms.paired(settings["roles"])
        if chosen is None or not guessed.columns:
            roles, previewed = {}, guessed
        else:
            known = {column: role for column, role in chosen.items() if column in guessed.columns}
            roles = forms.roles_of(known, [] if guessed.plan is None else list(guessed.plan.column))
            if guessed.plan is not None and guessed.plan.layout in MATRICES and "layout" not in reading:
                reading |= {"layout": guessed.plan.layout} | (
                    {} if "item" in guessed.plan.column else {"transpose": True}
                )
            previewed = preview(files[0], **reading, **roles, **limits)
        by_column = chosen if chosen is not None else forms.role_by_column(previewed)
        is_table = bool(guessed.columns)
        self.tell({
            "preview": forms.preview_table(previewed, by_column), "is_table": is_table,
            "layouts": forms.layout_options(settings.get("layout") or ""),
        })  # fmt: skip
        if previewed.problem:
            raise InputError(previewed.problem)
        return previewed, {**reading, **roles}

    def _asked(self, files: list[str], settings: Settings) -> tuple[Request, Data, dict[str, Any]]:
        """Return the request, the data (read again if the files or options changed), and the reading options."""
        previewed, reading = self._preview(files, settings)
        self.tell({"progress": "reading"})
        min_ballots = settings.get("min_ballots")
        key = json.dumps([files, reading, min_ballots], default=str, sort_keys=True)
        if key not in self._data:
            plans = {} if previewed.plan is None else {os.path.abspath(files[0]): previewed.plan}
            request = Request(files, reading={**reading, "max_bytes": MAX_BYTES}, min_ballots=min_ballots, plans=plans)
            self._data = {key: (request, Data(request.read()))}
            self._rankings.clear()
        request, data = self._data[key]
        named = _method_name(settings)

        def params(method: str) -> dict[str, Any]:
            declared = params_of(registry.load(registry.resolve(method)[0]))
            return typed(declared, settings.get("params") or {}, named)

        return request.by(named or None, params), data, reading

    def _rank(self, request: Request, settings: Settings) -> Ranking:
        """Return the ranking of a request, from the cache if possible, on the chosen scale with the chosen columns."""
        method = request.choice.name
        key = json.dumps([method, request.chosen_params], default=str, sort_keys=True)
        if key not in self._rankings:
            with self._watched(method):
                ranking = request.run().ranking
            while len(self._rankings) >= KEPT:
                self._rankings.pop(next(iter(self._rankings)))
            self._rankings[key] = ranking
        ranking, scale = self._rankings[key], _scale(settings)
        if scale is not None:
            ranking = ranking.on_scale(scale)
        return ranking.with_columns(*(_listed(settings.get("add_columns")) or ()))

    def _watched(self, method: str) -> AbstractContextManager[None]:
        """Report the progress of a method that supports it."""
        watching = getattr(registry.load(registry.resolve(method)[0]), "watching", None)
        if watching is None:
            return nullcontext()

        def progress(bound: float, total: float) -> None:
            gap = 100 * (total - bound) / max(total, 1e-300)
            self.tell({"progress": f"{method}: total distance {total:,.0f}, within {gap:.2g}% of the minimum"})

        watched: AbstractContextManager[None] = watching(progress)
        return watched

    def _labelled(self, question: Question) -> Labels | None:
        """Return the labels of a question, cached; None without a file."""
        path = question["labels"]
        if path is None:
            return None
        if path not in self._labels:
            self._labels = {path: read_labels(path, max_bytes=MAX_BYTES)}
        return self._labels[path]

    def _quick(self, study: Study) -> Markup:
        """Return only the ranking, which is ready first."""
        ranking = study.ranking
        if ranking.n_instances != 1:
            return element("p", f"{ranking.n_instances:,} instances are ranked by {ranking.method}.", class_="lead")
        return rendered([Section("ranking", "The ranking", (*first_place(ranking), ranking_table(ranking, TOP)))])

    def _shown(self, study: Study, view: str) -> tuple[Section, ...]:
        """Return the sections of a view: ranking, compare or evaluate."""
        if view == "compare":
            sections = [methods_section(study)]
        elif view == "evaluate":
            nothing = Section("labels", "Evaluation", (Text("Choose a file of relevance judgements first."),))
            sections = [labels_section(study) or nothing]
        else:
            sections = [
                ranking_section(study, TOP),
                why_section(study),
                instances_section(study, TOP),
                matrix_section(study),
                agents_section(study, TOP),
                data_section(study),
                warnings_section(Study(study.data, study.ranking, ())),
            ]
        return tuple(section for section in sections if section is not None)

    def _lines(
        self, question: Question, reading: dict[str, Any], method: str, params: Mapping[str, Any], study: Study,
        view: str,
    ) -> Screen:  # fmt: skip
        """Return the shell command and the Python code that reproduce the current view."""
        files = [os.path.basename(path) if os.path.isabs(path) else path for path in question["files"]]
        settings = question["settings"]
        min_ballots = settings.get("min_ballots")
        further = [] if min_ballots is None else ["--min-ballots", f"{min_ballots:g}"]
        shown, columns = _scale(settings), _listed(settings.get("add_columns")) or ()
        of_scale = commands.scale_words(shown, columns)
        shell = [commands.shell_command(files, reading, method, params, [*further, *of_scale])]
        compared = list(study.compared[0].names) if view == "compare" and study.compared[0] is not None else []
        if compared:
            shell = [commands.other_command("compare", files, reading, "--methods", ",".join(compared), *further)]
        if view == "evaluate" and question["labels"] is not None:
            metric_words = [word for metric in study.metrics for word in ("--metric", metric)]
            report_words = ["--method", method, "--labels", question["labels"], *metric_words, "-o", "report.html"]
            shell = [commands.other_command("report", files, reading, *report_words, *further, *of_scale)]
        if view == "ranking" and len(files) > 1 and study.prefs.instances is not None and not reading:
            shell.append(commands.fuse_command(files, method, params))
        shell += [f"# {name} is available in Python only" for name in commands.python_only_options(reading)]
        labels = question["labels"] if view == "evaluate" else None
        python = commands.python_lines(
            files, reading, method, params, min_ballots, labels, study.metrics, compared, shown, columns
        )
        return {"shell": "\n".join(shell), "python": python}

    # ---- files ----
    def _file(self, question: Question) -> Answer:
        """Return the current view as a file: csv, json, svg, html or a TREC run."""
        settings, files, kind = question["settings"], question["files"], question["kind"]
        tell, self.tell = self.tell, lambda _: None
        try:
            request, data, reading = self._asked(files, settings)
        finally:
            self.tell = tell
        self._words = _words_of(request.choice.name)
        ranking = self._rank(request, settings)
        if kind == "csv":
            content = csv_of(ranking)
        elif kind == "json":
            content = json.dumps(ranking.to_dict(), indent=2, ensure_ascii=False).encode("utf-8", "backslashreplace")
        elif kind == "svg":
            first_ranking = next(iter(ranking))
            content = standalone(drawn_dots(dot_plot(first_ranking, 40)), static("picture.css")).encode("utf-8")
        elif kind == "run":
            content = _run(ranking)
        else:
            study = Study(data, ranking, _listed(settings.get("methods")), self._labelled(question), _metrics(settings))
            lines = self._lines(question, reading, request.choice.name, request.chosen_params, study, "ranking")
            making = Making.of_files([*files, *filter(None, [question["labels"]])], lines["shell"], lines["python"])
            content = Report(question["title"], sections_of(study, TOP, making)).to_html(self._words).encode("utf-8")
        return {"content": base64.b64encode(content).decode()}


def _with_judgements(question: Question) -> tuple[Question, list[str]]:
    """Return a question in which relevance judgements that were added together with runs are the labels, and notes."""
    files = question["files"]
    if question["labels"] is not None or len(files) < 2:
        return question, []
    runs, judged = set_aside(files, Options(max_bytes=MAX_BYTES))
    if len(judged) != 1:
        return question, []
    return {**question, "files": runs, "labels": judged[0]}, notes_on(judged)


def _run(ranking: Ranking) -> bytes:
    """Return a ranking as a TREC run."""
    import io

    out = io.BytesIO()
    name = registry.METHODS.spelled(ranking.method, ranking.params)
    write(ranking, out, format="trec", tag=f"concordant-{name}")
    return out.getvalue()


# ---- methods ----
def _method_name(settings: Settings) -> str:
    return str(settings.get("method") or "")


def _summary(method: str) -> str:
    return registry.load(registry.resolve(method)[0]).summary()


def _method_options(data: Data, chosen: str) -> Markup:
    """Return all methods as options: suitable ones first, with reasons; unusable ones last, with what they need."""
    suitable = {advice.method: in_words(advice.reason, _words_of(advice.method)) for advice in data.description.methods}
    fits: list[Markup] = []
    other_methods: list[Markup] = []
    lacking: list[Markup] = []
    for name in registry.names():
        missing_need = _missing_needs(name, data)
        shown = (
            f"{name} ({missing_need})" if missing_need else f"{name}: {suitable[name]}" if name in suitable else name
        )
        group = lacking if missing_need else fits if name in suitable else other_methods
        group.append(element("option", shown, value=name, selected=name == chosen, disabled=bool(missing_need)))
    groups = (
        ("Suitable for these data", fits),
        ("Other methods", other_methods),
        ("Not applicable to these data", lacking),
    )
    return joined(element("optgroup", *options, label=label) for label, options in groups if options)


def _words_of(method: str) -> Words:
    known = registry.resolve(method)[0]
    return control_words([declared.name for declared in params_of(registry.load(known))], known)


def _missing_needs(name: str, data: Data) -> str:
    """Return what a method needs and these data lack; empty if it can rank them."""
    try:
        method = registry.make(name)
    except ConcordantError as problem:
        return in_words(problem, control_words())
    try:
        method.check_needs(data.prefs)
    except ConcordantError:
        lacking = [need for need in sorted(method.needs) if need in NEEDS]
        return f"needs {' and '.join(lacking)}"
    return ""


# ---- settings ----
def _listed(text: object) -> tuple[str, ...] | None:
    names = [name.strip() for name in str(text or "").split(",")]
    return tuple(name for name in names if name) or None


def _scale(settings: Settings) -> EloScale | None:
    """Return the chosen scale; None for that of the method."""
    if not settings.get("scale"):
        return None
    anchor = str(settings.get("anchor") or "").strip()
    return scale_of(settings["scale"], settings.get("centre"), anchor_of(anchor) if anchor else None)


def _metrics(settings: Settings) -> tuple[str, ...]:
    return _listed(settings.get("metrics")) or METRICS
