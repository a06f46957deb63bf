"""What the tasks other than ranking share: regions of the page, the report, and panels with controls."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from concordant import metrics as measures
from concordant.errors import ConcordantError, ParameterError, arg
from concordant.narrative.verdict import Verdict
from concordant.reporting.card import card_svg
from concordant.reporting.metric_texts import metric_heading
from concordant.reporting.pages import page, panel, part
from concordant.reporting.sections import Code, Facts, Part, Section, Text, spoken
from concordant.reporting.verdict_card import verdict_card
from concordant.support.files import without_folders
from concordant.support.markup import Markup, element
from concordant.web import drawer
from concordant.web.messages import Question
from concordant.web.offers import Offer
from concordant.web.reading import listed
from concordant.web.tasks import Outline, Regions, Task

MAX_LISTED = 300  # choices that a text field suggests
Sections = dict[str, tuple[str, Callable[[], Section | None]]]


class SectionedTask(Task):
    """A task whose page is a verdict and plain sections, which are also its report."""

    default_metrics: tuple[str, ...] = ()

    # ---- what a task says ----
    @abstractmethod
    def verdict(self) -> Verdict:
        """Return the headline of the page."""

    @abstractmethod
    def sections(self) -> Sections:
        """Return the sections of the page and of the report."""

    @abstractmethod
    def controls(self) -> Markup:
        """Return the settings in the drawer."""

    @abstractmethod
    def kinds(self) -> list[tuple[str, str]]:
        """Return the files to download besides the report and the card, with the text of their buttons."""

    @abstractmethod
    def lines(self) -> tuple[str, str]:
        """Return the shell command and the Python code that reproduce the page."""

    @property
    @abstractmethod
    def reading_notes(self) -> tuple[str, ...]:
        """How the files were understood."""

    def panels(self) -> dict[str, Callable[[], Markup | None]]:
        """Return panels that replace sections on the page, because they contain more controls."""
        return {}

    def offers(self) -> tuple[Offer, ...]:
        """Return what else can be done with these data."""
        return ()

    def writers(self) -> dict[str, Callable[[], bytes]]:
        """Return functions that write the files of ``kinds``."""
        return {}

    # ---- settings ----
    @cached_property
    def metrics(self) -> tuple[str, ...]:
        """The metrics of the evaluation: the chosen one first."""
        chosen = self.settings.get("metric", "")
        if chosen:
            measures.parse(chosen)
        return tuple(dict.fromkeys([*listed(chosen), *self.default_metrics]))

    @property
    def files(self) -> list[str]:
        """The files without their folders, as commands name them."""
        return [os.path.basename(path) if os.path.isabs(path) else path for path in self.question["files"]]

    # ---- the page ----
    def title(self) -> str:
        """Return the title of the page."""
        return f"{self.verdict().headline} – {self.question['title']} – concordant"

    def outline(self) -> Outline:
        """Return the sections, of which some have controls of their own."""
        panels = self.panels()
        return {name: (title, panels.get(name, make)) for name, (title, make) in self.sections().items()}

    def regions(self, *, is_complete: bool) -> Regions:
        """Return the verdict, the offers, the settings and the downloads."""
        return {
            "problem": Markup(""),
            "where": drawer.where(self.summary()),
            "verdict": verdict_card(self.verdict()),
            "offers": drawer.offers_row(self.offers(), [*self.reading_notes, *self.notes], self.words),
            "controls": self.controls(),
            "download": drawer.downloads(self.kinds(), *self.lines()),
        }

    def panel(self, name: str, title: str, *parts: Part | Markup | None, note: str = "") -> Markup:
        """Return a panel of parts of sections and of controls."""
        shown = [one if one is None or isinstance(one, Markup) else part(spoken(one, self.words)) for one in parts]
        return panel(name, title, *shown, note=note)

    def data_panel(self, about: Section) -> Markup:
        """Return the panel on the data, with the first rows and buttons to add files."""
        return drawer.data_panel(self.source, about, None, self.question, self.words)

    # ---- files ----
    def file(self, kind: str) -> bytes:
        """Return the report, the card or another file."""
        if kind == "html":
            return self._report().encode("utf-8")
        if kind == "card":
            return card_svg(self.verdict(), self.question["title"]).encode("utf-8")
        writers = self.writers()
        return writers[kind]() if kind in writers else super().file(kind)

    def _report(self) -> str:
        """Return all sections, without controls, as one page."""
        paths = [*self.question["files"], *filter(None, [self.question["labels"]])]
        sections = []
        for name, (title, make) in self.sections().items():
            try:
                section = make()
            except ConcordantError as problem:
                section = Section(name, title, (Text(str(problem)),))
            sections += [] if section is None else [section]
        shell, python = (without_folders(text, paths) for text in self.lines())
        made = Section("making", "Reproduce this report", (Code("Command line", shell), Code("Python", python)))
        title = report_title(self.question) or self.question["title"]
        about = f"{self.question['date']} · {self.summary()}"
        return page(title, spoken((*sections, made), self.words), about=about, verdict=self.verdict())


def report_title(question: Question) -> str:
    """Return the title of a report on one file, its name; empty for several files."""
    name = os.path.basename(question["files"][0])
    return (os.path.splitext(name)[0] or name) if len(question["files"]) == 1 else ""


def facts_section(rows: Sequence[tuple[str, str]], notes: Sequence[str]) -> Section:
    """Return the section on the data."""
    return Section("data", "Data", (*(Text(note) for note in notes), Facts(tuple(rows))))


def text_field(name: str, label: str, value: str = "", *, listed: Sequence[str] = (), **more: Any) -> Markup:
    """Return a field that a button reads; it does not change a setting by itself."""
    options = element("datalist", *(element("option", value=text) for text in listed), id=f"{name}-list")
    field = element(
        "input", id=name, value=value, autocomplete="off", list=f"{name}-list" if listed else None,
        **{"type": "text", **more},
    )  # fmt: skip
    parts = [element("label", label, for_=name), field, options if listed else None]
    return element("div", *parts, class_="field")


def chips(removable: Sequence[tuple[str, Markup | str]], setting: str) -> Markup | None:
    """Return chips that are removed by a click: pairs of the setting without the chip, and its text."""
    buttons = [
        element("button", element("span", shown), " ✕", type="button", class_="chip", data_setting=setting, value=rest)
        for rest, shown in removable
    ]
    return element("ul", *(element("li", button) for button in buttons), class_="chips") if buttons else None


def choice(
    setting: str, label: str, options: Sequence[tuple[str, str]], chosen: str, default: str, hint: str
) -> Markup:
    """Return a menu whose default choice leaves the address without this setting."""
    items = [element("option", text, value=value, selected=value == chosen) for value, text in options]
    menu = element(
        "select", *items, id=f"set-{setting}", data_setting=setting, data_default=default,
        aria_describedby=f"set-{setting}-hint",
    )  # fmt: skip
    hinted = element("small", hint, id=f"set-{setting}-hint")
    return element("div", element("label", label, for_=f"set-{setting}"), menu, hinted, class_="field")


def metric_choice(task: SectionedTask, known: Sequence[str], hint: str) -> Markup:
    """Return the menu of the metric that is shown first."""
    names = list(dict.fromkeys([*known, *task.metrics]))
    options = [(name, metric_heading(name)) for name in names]
    return choice("metric", "Metric", options, task.metrics[0], task.default_metrics[0], hint)


def refuse_unknown(kind: str, name: str, known: Sequence[str]) -> None:
    """Reject a name that is not one of the choices of a menu."""
    if name and name not in known:
        raise ParameterError(arg(kind, name) + f" is unknown: choose one of {', '.join(known)}.")
