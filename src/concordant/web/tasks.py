"""What the web app does with some files: rank them, recommend, check annotators, or train a ranker.

A task reads its data in ``open``, declares the sections of its page in ``outline``, fills the other regions of the
page, and writes the files to download. A new question about the same data gets the task of the earlier one
(``before``), so that its results are reused.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

from concordant.errors import InputError, Words
from concordant.reporting.sections import Section
from concordant.support.markup import Markup
from concordant.web.messages import Question
from concordant.web.reading import Settings, Source
from concordant.web.words import control_words

Maker = Callable[[], Section | Markup | None]
Outline = Mapping[str, tuple[str, Maker]]
Regions = Mapping[str, Section | Markup | None]


class Task(ABC):
    """What is done with the files of a question."""

    name = ""
    first = "ranking"
    """The section that is shown first; cards of items follow it."""

    def __init__(
        self,
        source: Source,
        settings: Settings,
        question: Question,
        notes: tuple[str, ...],
        tell: Callable[[str], None],
        before: Task | None,
    ) -> None:
        self.source, self.settings, self.question = source, settings, question
        self.notes, self.tell = notes, tell
        self.cache: dict[str, Any] = before.cache if isinstance(before, type(self)) else {}

    def kept(self, key: str, make: Callable[[], Any], limit: int = 8) -> Any:
        """Return a cached result, computed when it is first needed; of each kind, the last few are kept."""
        if key not in self.cache:
            value = make()
            kind = key.partition(" ")[0]
            same = [other for other in self.cache if other.partition(" ")[0] == kind]
            for other in same[: len(same) + 1 - limit]:
                del self.cache[other]
            self.cache[key] = value
        return self.cache[key]

    @property
    def words(self) -> Words:
        """How messages name the controls of the page."""
        return control_words()

    @abstractmethod
    def open(self) -> None:
        """Read the data and compute what all sections need."""

    @abstractmethod
    def title(self) -> str:
        """Return the title of the page."""

    @abstractmethod
    def summary(self) -> str:
        """Return a line on the data."""

    @abstractmethod
    def outline(self) -> Outline:
        """Return the sections: by name, the title and a function that computes it."""

    @abstractmethod
    def regions(self, *, is_complete: bool) -> Regions:
        """Return the other regions of the page; ``is_complete`` after all sections are computed."""

    def item(self) -> Section | Markup | None:
        """Return the card of the chosen item, if there is one."""
        return None

    def reading_controls(self) -> Markup | None:
        """Return further settings on how the files are read, for files that cannot be read as they are."""
        return None

    def file(self, kind: str) -> bytes:
        """Return a file to download."""
        raise InputError("There is no such file for these data: choose another kind of file.")


def task_of(source: Source, settings: Settings) -> type[Task]:
    """Return the task that the settings name, or else the one that the files are for."""
    from concordant.web.crowd import CrowdTask, holds_classes
    from concordant.web.ranked import RankTask
    from concordant.web.recommended import RecommendTask
    from concordant.web.trained import TrainTask, holds_features

    named: dict[str, type[Task]] = {
        "rank": RankTask, "recommend": RecommendTask, "crowd": CrowdTask, "train": TrainTask,
    }  # fmt: skip
    if settings.get("task"):
        return named[settings["task"]]
    if holds_features(source):
        return TrainTask
    return CrowdTask if holds_classes(source) else RankTask
