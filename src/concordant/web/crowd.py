"""The page on annotators: labels of items, reliability of annotators, and disagreement."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial

from concordant.errors import ConcordantError, Sentence, Words
from concordant.io import read_labels
from concordant.labels import Labels
from concordant.narrative.verdict import Verdict
from concordant.preferences import Preferences
from concordant.reporting.about_crowd import (
    CrowdAnswers,
    annotators_section,
    crowd_verdict,
    data_rows,
    disagreement_section,
    labels_section,
    require_answers,
)
from concordant.reporting.about_ranking import csv_of
from concordant.reporting.sections import Section
from concordant.support import progress
from concordant.support.markup import Markup, element, joined
from concordant.web import commands, drawer
from concordant.web.offers import Offer, ranking_offers
from concordant.web.reading import MAX_BYTES, Source
from concordant.web.sectioned import SectionedTask, Sections, facts_section
from concordant.web.words import control_words


def holds_classes(source: Source) -> bool:
    """Return whether files hold classes that annotators gave, which cannot be ranked."""
    plan = source.preview.plan
    if plan is None or plan.layout != "answers" or "agent" not in plan.column:
        return False
    column = source.preview.columns.index(plan.column["answer"])
    cells = [row[column] for row in source.preview.rows if row[column]]
    return bool(cells) and not any(_is_number(cell) for cell in cells)


def _is_number(cell: str | None) -> bool:
    try:
        float(cell or "")
    except ValueError:
        return False
    return True


def _refers_to(note: str, name: str) -> bool:
    """Return whether a note names a parameter or an action."""
    return isinstance(note, Sentence) and any(reference.name == name for reference in note.references)


class CrowdTask(SectionedTask):
    """Aggregate answers of annotators, and check the annotators."""

    name = "crowd"
    first = "classes"

    # ---- data ----
    def open(self) -> None:
        """Read the answers, and estimate labels and reliability."""
        self.source.check()
        self.tell("Reading")
        of = self.of
        with progress.stage("Comparing annotators"):
            _ = of.decided, of.reliability

    @cached_property
    def prefs(self) -> Preferences:
        """The answers."""
        prefs: Preferences = self.kept("data", lambda: self.source.request(None).read(), 1)
        return require_answers(prefs)

    @cached_property
    def gold(self) -> Labels | None:
        """The gold labels."""
        path = self.gold_path
        if path is None:
            return None
        try:
            gold: Labels = self.kept(f"gold {path}", lambda: read_labels(path, max_bytes=MAX_BYTES), 1)
        except ConcordantError:
            if self.question["labels"] is not None:
                raise
            return None  # the gold answers among the answers are not needed
        return gold

    @cached_property
    def gold_path(self) -> str | None:
        """The file of gold labels: the added one, or else an export that contains gold answers."""
        is_inside = any(_refers_to(note, "gold_file") for note in self.prefs.notes)
        return self.question["labels"] or (self.question["files"][0] if is_inside else None)

    @cached_property
    def of(self) -> CrowdAnswers:
        """The answers with everything that is estimated from them."""
        of: CrowdAnswers = self.kept(f"of {self.question['labels']}", lambda: CrowdAnswers(self.prefs, self.gold), 2)
        return of

    @property
    def words(self) -> Words:
        """How messages name the controls of the page."""
        return control_words()

    @property
    def reading_notes(self) -> tuple[str, ...]:
        """How the files were understood, without advice on the order of classes, which the page cannot choose."""
        return tuple(note for note in self.prefs.notes if not _refers_to(note, "categories"))

    # ---- what the page says ----
    def summary(self) -> str:
        """Return a line on the data."""
        return ", ".join(f"{number} {noun}" for number, noun in self.verdict().numbers)

    def verdict(self) -> Verdict:
        """Return the verdict on the agreement of the annotators."""
        return crowd_verdict(self.of)

    def offers(self) -> tuple[Offer, ...]:
        """Return the way back to the ranking, if answers can be ranked."""
        return () if self.prefs.classes is not None else ranking_offers(self.source, "Rank the items instead")

    def sections(self) -> Sections:
        """Return the sections of the page and of the report."""
        return {
            "classes": ("Labels", partial(labels_section, self.of)),
            "annotators": ("Annotators", partial(annotators_section, self.of)),
            "disagreement": ("Disagreement", partial(disagreement_section, self.of)),
            "data": ("Data", self._data_section),
        }

    def panels(self) -> dict[str, Callable[[], Markup | None]]:
        """Return the panel on the data, whose controls are those of the page."""
        return {"data": lambda: self.data_panel(self._data_section())}

    def _data_section(self) -> Section:
        return facts_section(data_rows(self.of), self.reading_notes)

    def controls(self) -> Markup:
        """Return the file of gold labels, and how the file is read."""
        said = "The gold labels are compared with the answers." if self.gold else "True labels of some of the items."
        choose = element(
            "p",
            element("input", type="file", id="judgements", class_="spoken"),
            element("label", "Choose gold labels", for_="judgements", class_="button small"),
        )
        groups = [
            drawer.group("Gold labels", choose, element("small", said, class_="note")),
            drawer.columns(self.source),
            drawer.reading(self.source, self.settings),
        ]
        return joined(one for one in groups if one is not None)

    # ---- files ----
    def kinds(self) -> list[tuple[str, str]]:
        """Return the files to download."""
        return [("labels", "Labels (CSV)"), ("annotators", "Annotators (CSV)")]

    def writers(self) -> dict[str, Callable[[], bytes]]:
        """Return functions that write the files."""
        return {
            "labels": lambda: csv_of(self.of.columns),
            "annotators": lambda: csv_of(self.of.annotators),
        }

    def lines(self) -> tuple[str, str]:
        """Return the shell command and the Python code that reproduce the page."""
        return commands.crowd_lines(self)
