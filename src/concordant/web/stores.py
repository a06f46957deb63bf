"""The open data sets of a server: the files and the worker of each.

Settings are not stored here: they are part of every request, so that several pages of one data set are independent of
each other. The number of data sets and their total size are bounded: the least recently used ones are closed, and their
files are removed. A data set that is being uploaded or processed, or whose result has not been seen yet, is kept; if
all are in use, opening another one fails with a message. Only a few data sets have a running worker; another worker is
started, and reads the files again, when needed.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import os
import secrets
import shutil
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from concordant.errors import ConcordantError
from concordant.web.messages import Answer, Question, Update
from concordant.web.pool import BusyError, Limits, Pool
from concordant.web.uploads import Folder
from concordant.web.workers import Worker

WAITING = "Waiting for other work"
FULL = "The server has reached its limit of {what}, and all are in use: try again in a few seconds."


class GoneError(ConcordantError):
    """The data set does not exist, or was closed to make room."""

    def __init__(self) -> None:
        super().__init__(
            "This data set is no longer open: it or the program was closed, or newer data sets needed the space. "
            "Open the file again."
        )


class TooLargeError(ConcordantError):
    """A data set exceeds its size limit."""


@dataclass(eq=False)
class DataSet:
    """Files, the worker that has them in memory, and when the data set was opened and last used."""

    name: str
    folder: str
    worker: Worker
    owns_folder: bool
    opened: float
    """Seconds since the epoch."""
    files: list[str] = field(default_factory=list)
    labels: str | None = None
    summary: str = ""
    """One line on the data, once they have been read."""
    size: int = 0  # bytes of its uploaded files
    leases: int = 0  # requests that need it
    is_seen: bool = False  # whether a client got a result
    is_gone: bool = False
    used: float = 0.0  # when it was last asked for

    def may_go(self, before: float) -> bool:
        """Return whether it may be removed: it is idle, and its result was seen or it was not used since ``before``."""
        return not self.leases and (self.is_seen or self.used < before)

    @property
    def title(self) -> str:
        """Its name, and how many files there are besides."""
        more = len(self.files) + (self.labels is not None) - 1
        return f"{self.name} and {more} more" if more > 0 else self.name

    @property
    def total_bytes(self) -> int:
        """The size of all its files."""
        paths = [os.path.join(self.folder, name) for name in (*self.files, *filter(None, [self.labels]))]
        return sum(os.path.getsize(path) for path in paths if os.path.isfile(path))


@dataclass(eq=False)
class Work:
    """A question at work: the task that waits for its answer, and what its updates said so far."""

    data: DataSet
    question: Question
    task: asyncio.Task[Answer] = field(init=False)
    activity: str = WAITING
    """What is being done, before there are sections."""
    sections: list[str] = field(default_factory=list)
    """The sections that have not arrived yet."""
    is_unwanted: bool = False

    @property
    def section(self) -> str:
        """The section that is being computed; empty before the first."""
        return self.sections[0] if self.sections else ""

    def note(self, update: Update) -> None:
        """Take in an update."""
        self.data.summary = update.get("summary", self.data.summary)
        self.activity = update.get("progress", self.activity)
        self.sections += [name for name, _ in update.get("sections", ())]
        arrived = update.get("section") or update.get("gone") or update.get("cancelled")
        self.sections = [name for name in self.sections if name != arrived]

    def cancel(self) -> None:
        """Cancel the whole question on request."""
        self.is_unwanted = True
        self.task.cancel()

    def answer(self) -> Answer | None:
        """Return the answer once the task is over; None if the server is stopping."""
        if not self.task.cancelled():
            return self.task.result()
        if self.data.is_gone:
            return {"error": str(GoneError())}
        return {"error": None, "is_cancelled": True} if self.is_unwanted else None


class Store:
    """All open data sets of a server, most recently used last."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.pool = Pool(limits)
        self.folder = Folder()
        self.data_sets: OrderedDict[str, DataSet] = OrderedDict()
        self.size = 0  # bytes of all uploads
        self._now = asyncio.get_running_loop().time
        self.working: dict[int, Work] = {}  # by the number of the question
        self._asked = 0

    # ---- which there are ----
    def find(self, key: str) -> DataSet:
        """Return a data set and mark it as most recently used."""
        if key not in self.data_sets:
            raise GoneError
        self.data_sets.move_to_end(key)
        self.data_sets[key].used = self._now()
        return self.data_sets[key]

    @contextlib.contextmanager
    def lease(self, key: str) -> Iterator[DataSet]:
        """Keep a data set from being removed while a request uses it."""
        data = self.find(key)
        data.leases += 1
        try:
            yield data
        finally:
            data.leases -= 1
            data.used = self._now()

    async def add(self, name: str, folder: str | None = None) -> str:
        """Make room for a data set and return its key; ``folder`` is where its files are, by default a new one."""
        evicted = None
        if len(self.data_sets) >= self.limits.data_sets:
            evicted = self._spare()
            if evicted is None:
                raise BusyError(FULL.format(what="data sets"))
        key, data_folder = secrets.token_hex(8), folder or self.folder.new()
        worker = Worker(data_folder, self.limits.memory, self.limits.seconds, self.folder.new)
        self.data_sets[key] = DataSet(name, data_folder, worker, folder is None, time.time(), used=self._now())
        if evicted is not None:
            with self.lease(key):
                await self.drop(evicted)
        return key

    def _spare(self) -> str | None:
        """Return the key of the least recently used data set that may be removed; None if there is none."""
        before = self._now() - self.limits.grace
        return next((key for key, data in self.data_sets.items() if data.may_go(before)), None)

    async def reserve(self, data: DataSet, count: int) -> None:
        """Reserve bytes that are about to be stored, and remove other data sets if necessary."""
        if data.is_gone:
            raise GoneError
        if data.size + count > self.limits.stored:
            raise TooLargeError(f"A data set can have at most {self.limits.stored / 1e6:,.0f} MB: use fewer files.")
        while self.size + count > self.limits.stored:
            evicted = self._spare()
            if evicted is None:
                raise BusyError(FULL.format(what="bytes"))
            await self.drop(evicted)
            if data.is_gone:
                raise GoneError
        data.size, self.size = data.size + count, self.size + count

    def unreserve(self, data: DataSet, count: int) -> None:
        """Release reserved bytes; those of a data set that was closed are released already."""
        count = min(count, data.size)
        data.size, self.size = data.size - count, self.size - count

    async def drop(self, key: str) -> None:
        """Close a data set, end its worker and remove its uploaded files."""
        data = self.data_sets.pop(key, None)
        if data is None:
            return
        data.is_gone = True
        for work in self._on(data):
            work.cancel()
        await self.pool.release(data.worker)
        if data.owns_folder:
            await asyncio.to_thread(shutil.rmtree, data.folder, ignore_errors=True)
        self.unreserve(data, data.size)

    async def own(self, data: DataSet) -> None:
        """Give a data set opened in place its own folder for added files; work on it is given up."""
        if data.owns_folder:
            return
        for work in self._on(data):
            work.cancel()
        new_folder, data.owns_folder = self.folder.new(), True
        data.files = [os.path.join(data.folder, path) for path in data.files]
        data.folder = data.worker.folder = new_folder
        await self.pool.release(data.worker)

    # ---- work ----
    def question(self, data: DataSet, settings: dict[str, Any], *, part: str = "", kind: str = "") -> Question:
        """Return a question about a data set, for the page or, with a ``kind``, for a file."""
        self._asked += 1
        return {
            "id": self._asked, "do": "file" if kind else "view", "kind": kind, "part": part,
            "title": data.title, "date": datetime.date.today().isoformat(),
            "files": list(data.files), "labels": data.labels, "settings": settings,
        }  # fmt: skip

    def begin(self, data: DataSet, question: Question, tell: Callable[[Update], None]) -> Work:
        """Begin work on an admitted question; updates before its answer go to ``tell``."""
        work = Work(data, question, sections=[question["part"]] if question["part"] else [])

        def forward(update: Update) -> None:
            work.note(update)
            tell(update)

        number, data.is_seen = question["id"], False
        self.working[number] = work
        work.task = asyncio.create_task(self._answer(work, forward))
        work.task.add_done_callback(lambda _: self.working.pop(number, None))
        return work

    async def _answer(self, work: Work, tell: Callable[[Update], None]) -> Answer:
        """Return the answer to a question; failures become messages."""
        try:
            return await self.pool.ask(work.data.worker, work.question, tell)
        except ConcordantError as problem:
            return {"error": str(problem)}
        except Exception as problem:  # a page must never be left without an answer
            return {"error": f"Unexpected server error ({type(problem).__name__}): please report it."}

    def cancel(self, data: DataSet, number: int, section: str) -> None:
        """Cancel a section of a question, or all of it if the name is empty; what is not at work is left alone."""
        work = self.working.get(number)
        if work is None or work.data is not data:
            return
        if not section:
            work.cancel()
        elif section in work.sections:
            data.worker.cancel(number, section)

    def _on(self, data: DataSet) -> list[Work]:
        """Return the work on a data set."""
        return [work for work in self.working.values() if work.data is data]

    # ---- the end ----
    async def close(self) -> None:
        """End all workers and remove all uploads."""
        await asyncio.gather(*(self.drop(key) for key in list(self.data_sets)))
        await self.pool.close()
        self.folder.remove()
