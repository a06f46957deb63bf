"""Answers of a worker: which task the files are for, its sections one by one, or a file to download.

A task (``ranked``, ``recommended``, ``crowd``, ``trained``) declares its sections; each is computed, rendered and sent
separately, so that the ranking is on the screen before slower sections are ready, and a section can be cancelled
without losing the others.
Data and results are cached, so that a changed option recomputes only what depends on it.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
from collections.abc import Callable, Mapping
from typing import Any

from concordant import registry
from concordant.errors import ConcordantError, Words, in_words
from concordant.io.judgements import notes_on, set_aside
from concordant.params import params_of
from concordant.reporting.pages import rendered
from concordant.reporting.sections import Section, spoken
from concordant.support import progress
from concordant.support.markup import Markup, joined
from concordant.support.text import capital
from concordant.tables.options import Options
from concordant.web import troubles
from concordant.web.cancelling import CancelledError, Interrupts, Uninterrupted
from concordant.web.messages import Answer, Job, Question, Update
from concordant.web.reading import MAX_BYTES, Source, gold_among, source_of, unknown_columns, unrelated_among
from concordant.web.tasks import Maker, Task, task_of
from concordant.web.words import control_words

TOO_MUCH = "Not enough memory for a worker process: use less data, or a method without pairwise matrices."
TOLD = 0.2  # seconds between two updates on progress
Tell = Callable[[Update], None]


class Answerer:
    """Answers questions about some files."""

    def __init__(self, tell: Tell, interrupts: Interrupts | None = None) -> None:
        self.tell, self.interrupts = tell, interrupts or Uninterrupted()
        self._words: Words = control_words()
        self._tasks: dict[str, Task] = {}

    def answer(self, question: Question) -> Answer:
        """Answer a question on the page or with a file; errors become messages, and interrupted work is given up."""
        try:
            return self.interrupts.run(question["id"], "", lambda: self._answer(question))
        except CancelledError:
            return {"error": None, "is_cancelled": True}

    def _answer(self, question: Question) -> Answer:
        """Answer a question; errors become messages."""
        self._words = _words_of(question["settings"].get("method"))
        try:
            question, notes = _with_judgements(question)
            if question["do"] == "file":
                return self._file(question, notes)
            return self._view(question, notes)
        except Exception as problem:  # a page must never be left without an answer
            return {"error": self._explained(problem)}

    def _explained(self, problem: Exception) -> str:
        """Return an error as a message."""
        if isinstance(problem, ConcordantError):
            return in_words(problem, self._words)
        if isinstance(problem, MemoryError):
            self._tasks.clear()
            return TOO_MUCH
        return f"Unexpected error ({type(problem).__name__}: {problem}): please report it."

    # ---- the page ----
    def _view(self, question: Question, notes: list[str]) -> Answer:
        """Send the sections of a view, or the one that is wanted."""
        task: Task | None = None
        try:
            source = source_of(question["files"], question["settings"])
            task = self._task(question, source, notes)
            with self._watched(""):
                task.open()
            self._words = task.words
            sections = task.outline()
            if not question["part"]:
                self.tell({"title": task.title(), "summary": task.summary()})
                self.tell({"regions": self._regions(task.regions(is_complete=False)), "sections": _titles(sections)})
        except ConcordantError as problem:
            return self._unread(question, problem, task)
        wanted = question["part"]
        if wanted == "item":
            self.tell({"regions": {"item": self._html(task.item())}})
            return {"error": None}
        for name, (title, make) in sections.items():
            if wanted in ("", name):
                self._section(question, name, title, make)
                if not wanted and name == task.first:
                    self.tell({"regions": {"item": self._html(task.item())}})
        self.tell({"regions": self._regions(task.regions(is_complete=True))})
        return {"error": None}

    def _task(self, question: Question, source: Source, notes: list[str]) -> Task:
        """Return the task for some files and settings, with what earlier questions computed."""
        kind, settings = task_of(source, question["settings"]), question["settings"]
        key = json.dumps([kind.__name__, source.files, source.reading, settings.get("min_ballots")], default=str)
        before, told = self._tasks.get(key), (*notes, *unknown_columns(source, settings))
        self._tasks = {key: kind(source, settings, question, told, self._progress, before)}
        return self._tasks[key]

    def _section(self, question: Question, name: str, title: str, make: Maker) -> None:
        """Compute and send a section; an error or a cancellation concerns only this section."""
        try:
            html = self.interrupts.run(question["id"], name, lambda: self._made(name, title, make))
        except CancelledError:
            self.tell({"cancelled": name})
        else:
            self.tell({"gone": name} if html is None else {"section": name, "html": html})

    def _made(self, name: str, title: str, make: Maker) -> str | None:
        """Return a section as HTML, or what is wrong with it; None if there is none for these data."""
        try:
            with self._watched(name):
                section = make()
            return None if section is None else self._html(section)
        except Exception as problem:
            return troubles.section(name, title, self._explained(problem))

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
        settings, files = question["settings"], question["files"]
        problem = troubles.diagnosed(problem, files)
        own = None if task is None else task.reading_controls()
        source = _source_without(files, settings)
        controls = troubles.controls(problem, source, settings)
        regions = {"problem": troubles.panel(problem, files, source, settings, self._words)}
        self.tell({"regions": {**regions, "controls": controls if own is None else joined([own, controls])}})
        return {"error": in_words(problem, self._words)}

    # ---- files ----
    def _file(self, question: Question, notes: list[str]) -> Answer:
        """Return the current view as a file."""
        task = self._task(question, source_of(question["files"], question["settings"]), notes)
        task.open()
        self._words = task.words
        content = task.file(question["kind"])
        return {"error": None, "content": base64.b64encode(content).decode()}


def _source_without(files: list[str], settings: Mapping[str, Any]) -> Source | None:
    """Look at the first rows of files that cannot be used with these settings: without some, or without any."""
    kept: dict[str, Any]
    for kept in ({**settings, "where": ""}, {**settings, "where": "", "roles": {}}, {"roles": {}}):
        with contextlib.suppress(ConcordantError):
            return source_of(files, kept)
    return None


def _words_of(method: str | None) -> Words:
    """Return how messages name the controls of a page with this method."""
    with contextlib.suppress(ConcordantError):
        if method:
            known = registry.resolve(method)[0]
            return control_words([declared.name for declared in params_of(registry.load(known))], known)
    return control_words()


def _titles(sections: Mapping[str, tuple[str, Any]]) -> list[tuple[str, str]]:
    return [(name, title) for name, (title, _) in sections.items()]


def _job(section: str, now: progress.Progress) -> Job:
    """Return the progress of a section for the page."""
    share = now.done / now.total if now.total else None
    return {
        "section": section,
        "text": capital(now.text),
        "share": share,
        "left": progress.time_left(now),
    }


def _with_judgements(question: Question) -> tuple[Question, list[str]]:
    """Return a question in which relevance judgements that were added together with runs, or gold labels together with
    answers, are the labels, without tables that hold something else, and notes.
    """
    files = question["files"]
    if question["labels"] is not None or len(files) < 2:
        return question, []
    if gold := gold_among(files):
        note = f"{os.path.basename(gold)} contains gold labels"
        return {**question, "files": [path for path in files if path != gold], "labels": gold}, [note]
    runs, judged = set_aside(files, Options(max_bytes=MAX_BYTES))
    if len(judged) != 1:
        others = unrelated_among(files)
        notes = [f"{os.path.basename(path)} is not used: its columns have no recognised roles" for path in others]
        return {**question, "files": [path for path in files if path not in others]}, notes
    return {**question, "files": runs, "labels": judged[0]}, notes_on(judged)
