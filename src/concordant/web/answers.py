"""Answers of a worker: which task the files are for, its sections one by one, or a file to download.

A task (``ranked``, ``recommended``, ``crowd``, ``trained``) declares its sections; each is computed, rendered and sent
separately, so that the ranking is on the screen before slower sections are ready, and a section can be cancelled
without losing the others.
Data and results are cached, so that a changed option recomputes only what depends on it.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from concordant.errors import ConcordantError, Words, in_words
from concordant.io.judgements import notes_on, set_aside
from concordant.reporting.pages import rendered
from concordant.reporting.sections import Section, spoken
from concordant.support import progress
from concordant.support.markup import Markup, joined
from concordant.tables.options import Options
from concordant.web import troubles
from concordant.web.messages import Answer, Job, Question, Update
from concordant.web.reading import MAX_BYTES, Source, source_of
from concordant.web.tasks import Maker, Task, task_of
from concordant.web.words import control_words

TOO_MUCH = "Not enough memory for a worker process: use less data, or a method without pairwise matrices."
TOLD = 0.2  # seconds between two updates on progress
Tell = Callable[[Update], None]


class Interrupts(Protocol):
    """What can interrupt the work: see ``worker.Interrupter``."""

    def begin(self, question: int, section: str) -> None:
        """Note what is being worked on."""

    def end(self) -> None:
        """Note that nothing is being worked on."""

    def is_unwanted(self, question: int) -> bool:
        """Return whether the whole question was cancelled."""


class Uninterrupted:
    """No interrupts, for a question that is asked without a server."""

    def begin(self, question: int, section: str) -> None:
        """Do nothing."""

    def end(self) -> None:
        """Do nothing."""

    def is_unwanted(self, question: int) -> bool:
        """Return False."""
        return False


class Answerer:
    """Answers questions about some files."""

    def __init__(self, tell: Tell, interrupts: Interrupts | None = None) -> None:
        self.tell, self.interrupts = tell, interrupts or Uninterrupted()
        self._words: Words = control_words()
        self._tasks: dict[str, Task] = {}

    def answer(self, question: Question) -> Answer:
        """Answer a question on the page or with a file; errors become messages, and interrupted work is given up."""
        number = question["id"]
        try:
            self.interrupts.begin(number, "")
            question, notes = _with_judgements(question)
            if question["do"] == "file":
                return self._file(question, notes)
            return self._view(question, notes)
        except KeyboardInterrupt:
            return {"error": None, "is_cancelled": True}
        except ConcordantError as problem:
            return {"error": in_words(problem, self._words)}
        except MemoryError:
            self._tasks.clear()
            return {"error": TOO_MUCH}
        except Exception as problem:  # a page must never be left without an answer
            return {"error": f"Unexpected error ({type(problem).__name__}: {problem}): please report it."}
        finally:
            self.interrupts.end()

    # ---- the page ----
    def _view(self, question: Question, notes: list[str]) -> Answer:
        """Send the sections of a view, or the one that is wanted."""
        task: Task | None = None
        try:
            source = source_of(question["files"], question["settings"])
            task = self._task(question, source, notes)
            self._words = control_words()
            with self._watched(""):
                task.open()
        except ConcordantError as problem:
            return self._unread(question, problem, task)
        self._words = task.words
        wanted = question["part"]
        if wanted == "item":
            self.tell({"regions": {"item": self._html(task.item())}})
            return {"error": None}
        sections = task.outline()
        if not wanted:
            self.tell({"title": task.title(), "summary": task.summary()})
            self.tell({"regions": self._regions(task.regions(is_complete=False)), "sections": _titles(sections)})
        for name, (title, make) in sections.items():
            if wanted in ("", name):
                self._section(question, name, title, make)
                if not wanted and name == task.first:
                    self.tell({"regions": {"item": self._html(task.item())}})
        self.interrupts.begin(question["id"], "")
        self.tell({"regions": self._regions(task.regions(is_complete=True))})
        return {"error": None}

    def _task(self, question: Question, source: Source, notes: list[str]) -> Task:
        """Return the task for some files and settings, with what earlier questions computed."""
        kind, settings = task_of(source, question["settings"]), question["settings"]
        key = json.dumps([kind.__name__, source.files, source.reading, settings.get("min_ballots")], default=str)
        before = self._tasks.get(key)
        self._tasks = {key: kind(source, settings, question, tuple(notes), self._progress, before)}
        return self._tasks[key]

    def _section(self, question: Question, name: str, title: str, make: Maker) -> None:
        """Compute and send a section; an error or a cancellation concerns only this section."""
        try:
            self.interrupts.begin(question["id"], name)
            with self._watched(name):
                section = make()
            html = None if section is None else self._html(section)
        except KeyboardInterrupt:
            if self.interrupts.is_unwanted(question["id"]):
                raise
            self.tell({"cancelled": name})
            return
        except ConcordantError as problem:
            html = troubles.section(name, title, in_words(problem, self._words))
        finally:
            self.interrupts.end()
        self.tell({"gone": name} if html is None else {"section": name, "html": html})

    def _watched(self, section: str) -> Any:
        """Report the progress of a section, not more often than people can read."""
        return progress.listen(lambda now: self.tell({"job": _job(section, now)}), every=TOLD)

    def _progress(self, text: str) -> None:
        self.tell({"progress": text})

    def _html(self, content: Section | Markup | None) -> str:
        """Return a section as HTML in the words of the page."""
        if content is None or isinstance(content, Markup):
            return content or ""
        return rendered([spoken(content, self._words)])

    def _regions(self, regions: Mapping[str, Section | Markup | None]) -> dict[str, str]:
        return {name: self._html(content) for name, content in regions.items()}

    def _unread(self, question: Question, problem: ConcordantError, task: Task | None) -> Answer:
        """Show what is wrong with a file or a setting, and what to do about it."""
        settings = question["settings"]
        panel = troubles.panel(problem, question["files"], settings, self._words)
        regions: dict[str, str] = {"problem": panel}
        try:
            own = None if task is None else task.reading_controls()
            shown = troubles.controls(source_of(question["files"], {**settings, "where": ""}), settings)
            regions["controls"] = shown if own is None else joined([own, shown])
        except ConcordantError:
            regions["controls"] = troubles.controls(None, settings)
        self.tell({"regions": regions})
        return {"error": in_words(problem, self._words)}

    # ---- files ----
    def _file(self, question: Question, notes: list[str]) -> Answer:
        """Return the current view as a file."""
        tell, self.tell = self.tell, lambda _: None
        try:
            task = self._task(question, source_of(question["files"], question["settings"]), notes)
            task.open()
        finally:
            self.tell = tell
        self._words = task.words
        content = task.file(question["kind"])
        return {"error": None, "content": base64.b64encode(content).decode()}


def _titles(sections: Mapping[str, tuple[str, Any]]) -> list[tuple[str, str]]:
    return [(name, title) for name, (title, _) in sections.items()]


def _job(section: str, now: progress.Progress) -> Job:
    """Return the progress of a section for the page."""
    share = now.done / now.total if now.total else None
    return {"section": section, "text": now.text, "share": share, "left": progress.time_left(now)}


def _with_judgements(question: Question) -> tuple[Question, list[str]]:
    """Return a question in which relevance judgements that were added together with runs are the labels, and notes."""
    files = question["files"]
    if question["labels"] is not None or len(files) < 2:
        return question, []
    runs, judged = set_aside(files, Options(max_bytes=MAX_BYTES))
    if len(judged) != 1:
        return question, []
    return {**question, "files": runs, "labels": judged[0]}, notes_on(judged)
