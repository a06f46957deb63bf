"""The open data sets of a server: files, worker, current settings and running work of each.

Their number and total size are bounded: the least recently used ones are closed, and their files are removed. A data
set that is being uploaded or processed, or whose result has not been seen yet, is kept; if all are in use, opening
another one fails with a message. Only a few data sets have a running worker; another worker is started, and reads the
files again, when needed.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import shutil
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from concordant.errors import ConcordantError
from concordant.web.messages import Answer, News, Question, Screen
from concordant.web.pool import BusyError, Limits, Pool
from concordant.web.uploads import Folder
from concordant.web.workers import Worker

PATIENCE = 1.0  # seconds that work may go on before other settings stop it
OVER = ("done", "failed", "cancelled")
CANCELLED = "Cancelled. Choose another method or option to go on."
ABANDONED = "Stopped, because no page was waiting for the result. Choose a method or option to start again."
FULL = "The server has reached its limit of {what}, and all are in use: try again in a few seconds."


class GoneError(ConcordantError):
    """The data set does not exist, or was closed to make room."""

    def __init__(self) -> None:
        super().__init__(
            "This data set is no longer open: it was closed to make room for newer ones. Open the file again."
        )


class TooLargeError(ConcordantError):
    """A data set exceeds its size limit."""


@dataclass(eq=False)
class DataSet:
    """Files, a worker, the last settings, and the state of the work."""

    name: str
    folder: str
    worker: Worker
    owns_folder: bool
    files: list[str] = field(default_factory=list)
    labels: str | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    version: int = 0
    state: str = "idle"
    shown: Screen = field(default_factory=Screen)
    task: asyncio.Task[None] | None = None
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    newer: asyncio.Event = field(default_factory=asyncio.Event)  # settings than those being worked on
    size: int = 0  # bytes of its files
    leases: int = 0  # requests that need it
    watchers: int = 0  # requests that wait for news
    abandon: asyncio.TimerHandle | None = None  # what stops the work when nobody waits for it
    is_seen: bool = False  # whether somebody got the result
    is_gone: bool = False
    used: float = 0.0  # when it was last asked for

    @property
    def is_running(self) -> bool:
        """Whether work is running."""
        return self.task is not None and not self.task.done()

    def may_go(self, before: float) -> bool:
        """Return whether it may be removed: it is idle, and its result was seen or it was not used since ``before``."""
        return not self.leases and not self.is_running and (self.is_seen or self.used < before)

    def tell(self, state: str, update: Screen) -> None:
        """Record a new state and an update of the screen, and wake waiting clients."""
        self.version, self.state, self.is_seen = self.version + 1, state, False
        self.shown.update(update)
        self.wake()

    def wake(self) -> None:
        """Wake waiting clients."""
        self.changed.set()
        self.changed = asyncio.Event()

    def question(self, do: Literal["show", "file"], kind: str = "") -> Question:
        """Return a question with the files and the current settings."""
        return {
            "do": do, "kind": kind, "title": self.name,
            "files": self.files, "labels": self.labels, "settings": self.settings,
        }  # fmt: skip

    def news(self) -> News:
        """Return the state of the data set for the page."""
        return {
            "version": self.version,
            "state": self.state,
            "name": self.name,
            "files": [os.path.basename(path) for path in self.files],
            "labels": None if self.labels is None else os.path.basename(self.labels),
            "settings": self.settings,
            **self.shown,
        }


class Store:
    """All open data sets of a server, most recently used last."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.pool = Pool(limits)
        self.folder = Folder()
        self.data_sets: OrderedDict[str, DataSet] = OrderedDict()
        self.size = 0  # bytes of all uploads
        self._now = asyncio.get_running_loop().time
        self._stopping: set[asyncio.Task[None]] = set()

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
        self.data_sets[key] = DataSet(name, data_folder, worker, folder is None, used=self._now())
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
        if data.size + count > self.limits.stored:
            raise TooLargeError(f"A data set can have at most {self.limits.stored / 1e6:,.0f} MB: use fewer files.")
        while self.size + count > self.limits.stored:
            evicted = self._spare()
            if evicted is None:
                raise BusyError(FULL.format(what="bytes"))
            await self.drop(evicted)
        data.size, self.size = data.size + count, self.size + count

    def unreserve(self, data: DataSet, count: int) -> None:
        """Release reserved bytes."""
        data.size, self.size = data.size - count, self.size - count

    async def drop(self, key: str) -> None:
        """Close a data set, end its worker and remove its uploaded files."""
        data = self.data_sets.pop(key, None)
        if data is None:
            return
        data.is_gone = True
        data.wake()
        await self._stop(data)
        await self.pool.release(data.worker)
        if data.owns_folder:
            await asyncio.to_thread(shutil.rmtree, data.folder, ignore_errors=True)
        self.unreserve(data, data.size)

    async def own(self, data: DataSet) -> None:
        """Give a data set opened in place its own folder for added files."""
        if data.owns_folder:
            return
        new_folder, data.owns_folder = self.folder.new(), True
        data.files = [os.path.join(data.folder, path) for path in data.files]
        data.folder = data.worker.folder = new_folder
        await self._stop(data)
        await self.pool.release(data.worker)

    # ---- work ----
    def work(self, data: DataSet, settings: dict[str, Any]) -> None:
        """Start work on settings; work on earlier ones is finished or, if it takes long, cancelled."""
        if data.is_running:
            data.settings = settings
            data.newer.set()
            return
        admission = contextlib.ExitStack()
        admission.enter_context(self.pool.admission())
        data.settings = settings
        data.task = asyncio.create_task(self._work(data))
        data.task.add_done_callback(lambda _: admission.close())
        self._watch(data)

    async def _work(self, data: DataSet) -> None:
        """Process the settings, and then any newer ones."""
        while True:
            data.newer.clear()
            data.tell("running", {"progress": "waiting for other work", "error": None})
            showing = asyncio.create_task(self._show(data))
            try:
                await self._until_newer(data, showing)
            finally:
                showing.cancel()
                await asyncio.wait([showing])
            if not data.newer.is_set():
                return

    async def _until_newer(self, data: DataSet, showing: asyncio.Task[None]) -> None:
        """Wait for an answer; once there are newer settings, only for a short while."""
        newer = asyncio.create_task(data.newer.wait())
        try:
            await asyncio.wait([showing, newer], return_when=asyncio.FIRST_COMPLETED)
            await asyncio.wait([showing], timeout=PATIENCE)
        finally:
            newer.cancel()

    async def _show(self, data: DataSet) -> None:
        """Ask the worker for the result of the settings, and pass on its updates; failures become messages."""
        question = data.question("show")
        try:
            answer = await self.pool.ask(data.worker, question, lambda update: data.tell("running", update))
            answer["progress"] = ""
            data.tell("done", answer)
        except ConcordantError as problem:
            data.tell("failed", {"progress": "", "error": str(problem)})
        except Exception as problem:  # a page must never be left without an answer
            failure = f"Unexpected server error ({type(problem).__name__}): please report it."
            data.tell("failed", {"progress": "", "error": failure})

    async def ask(self, data: DataSet, kind: str) -> Answer:
        """Wait until the current view is ready, then request it as a file."""
        with self.pool.admission():
            while data.task is not None and not data.task.done():
                await asyncio.wait([data.task])
            return await self.pool.ask(data.worker, data.question("file", kind), lambda _: None)

    async def cancel(self, data: DataSet, why: str = CANCELLED) -> None:
        """Cancel the current work."""
        await self._stop(data)
        data.tell("cancelled", {"progress": "", "error": why})

    async def _stop(self, data: DataSet) -> None:
        """Cancel the work on a data set, and its timer."""
        if data.abandon is not None:
            data.abandon.cancel()
        if data.task is not None and not data.task.done():
            data.task.cancel()
            await asyncio.wait([data.task])

    # ---- news ----
    async def news(self, data: DataSet, after: int, seconds: float) -> News:
        """Wait for a version newer than ``after``, at most for this many seconds; return the current state."""
        data.watchers += 1
        self._watch(data)
        try:
            if data.version <= after and not data.is_gone:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(data.changed.wait(), seconds)
        finally:
            data.watchers -= 1
            self._watch(data)
        if data.is_gone:
            raise GoneError
        data.is_seen = data.state in OVER
        return data.news()

    def _watch(self, data: DataSet) -> None:
        """Start or stop the timer that cancels work for which no page is waiting."""
        if data.abandon is not None:
            data.abandon.cancel()
            data.abandon = None
        if not data.watchers and data.is_running:
            data.abandon = asyncio.get_running_loop().call_later(self.limits.abandoned, self._abandon, data)

    def _abandon(self, data: DataSet) -> None:
        """Cancel work for which no page is waiting."""
        if data.is_running:
            stopping = asyncio.create_task(self.cancel(data, ABANDONED))
            self._stopping.add(stopping)
            stopping.add_done_callback(self._stopping.discard)

    # ---- the end ----
    async def close(self) -> None:
        """End all workers and remove all uploads."""
        await asyncio.gather(*(self.drop(key) for key in list(self.data_sets)))
        await self.pool.close()
        self.folder.remove()
