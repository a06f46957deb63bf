"""The data sets a server holds: some files each, a worker, the settings on the screen, and the work that goes on.

Their number is bounded: the least recently used ones go, and so do their files. Of those that stay, only a few have a
living worker; another is started, and reads its files again, when somebody looks at it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import secrets
import shutil
import tempfile
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

from concordant.errors import ConcordantError
from concordant.web.workers import Worker

PATIENCE = 1.0  # seconds that work may go on before other settings stop it


@dataclass(frozen=True)
class Limits:
    """What is allowed: bytes of an upload, memory and seconds of a worker, live data sets, workers, work at once."""

    body: int = 200_000_000
    memory: int = 4 << 30
    seconds: float = 600.0
    data_sets: int = 12
    workers: int = 4
    at_once: int = 2


class GoneError(ConcordantError):
    """There is no such data set, or it had to make room."""


@dataclass(eq=False)
class DataSet:
    """Files, a worker, the last settings, and how far the work on them is."""

    name: str
    folder: str
    worker: Worker
    owns_folder: bool
    files: list[str] = field(default_factory=list)
    labels: str | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    version: int = 0
    state: str = "idle"
    shown: dict[str, Any] = field(default_factory=dict)
    task: asyncio.Task[None] | None = None
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def tell(self, state: str, **shown: Any) -> None:
        """Note what there is to see now, and wake whoever waits for news."""
        self.version, self.state = self.version + 1, state
        self.shown |= shown
        self.changed.set()
        self.changed = asyncio.Event()

    def news(self) -> dict[str, Any]:
        """Return what there is to see."""
        return {
            "version": self.version,
            "state": self.state,
            "name": self.name,
            "files": [os.path.basename(path) for path in self.files],
            "labels": None if self.labels is None else os.path.basename(self.labels),
            "settings": self.settings,
            **self.shown,
        }

    async def news_after(self, version: int, seconds: float) -> dict[str, Any]:
        """Wait until there is something newer, or for so many seconds."""
        if self.version <= version:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.changed.wait(), seconds)
        return self.news()

    async def close(self) -> None:
        """End the worker and remove the files that were uploaded."""
        if self.task is not None:
            self.task.cancel()
        await self.worker.end()
        if self.owns_folder:
            shutil.rmtree(self.folder, ignore_errors=True)


class Store:
    """All live data sets of a server, most recently used last."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.data_sets: OrderedDict[str, DataSet] = OrderedDict()
        self._root: str | None = None
        self._working = asyncio.Semaphore(limits.at_once)

    def root(self) -> str:
        """Return the folder of all uploads, made when first needed."""
        if self._root is None:
            self._root = tempfile.mkdtemp(prefix="concordant-")
        return self._root

    def find(self, key: str) -> DataSet:
        """Return a data set, which is then the most recently used."""
        if key not in self.data_sets:
            raise GoneError("This data set is not here any more: it made room for newer ones. Open the file again.")
        self.data_sets.move_to_end(key)
        return self.data_sets[key]

    async def add(self, name: str, folder: str | None = None) -> tuple[str, DataSet]:
        """Make room for a data set; ``folder`` is where its files are, by default a new one."""
        key = secrets.token_hex(8)
        where = folder or os.path.join(self.root(), key)
        if folder is None:
            os.mkdir(where, 0o700)
        worker = Worker(where, self.limits.memory, self.limits.seconds)
        made = self.data_sets[key] = DataSet(name, where, worker, folder is None)
        while len(self.data_sets) > self.limits.data_sets:
            _, oldest = self.data_sets.popitem(last=False)
            await oldest.close()
        return key, made

    async def prepare(self, data: DataSet) -> None:
        """Start the worker of a data set before it is asked, if there is room for one more."""
        if len([one for one in self.data_sets.values() if one.worker.pid is not None]) < self.limits.workers:
            await data.worker.start()

    async def work(self, data: DataSet, settings: dict[str, Any]) -> None:
        """Begin to work on settings; what is being done for earlier ones is finished or, if it takes long, stopped."""
        data.settings = settings
        before = data.task
        data.task = asyncio.create_task(self._work(data, dict(settings), before))

    async def _work(self, data: DataSet, settings: dict[str, Any], before: asyncio.Task[None] | None) -> None:
        if before is not None and not before.done():
            await asyncio.wait([before], timeout=PATIENCE)
            if not before.done():
                before.cancel()
                await data.worker.end()
                await asyncio.wait([before])
        if data.settings != settings:
            return  # newer settings wait already
        data.tell("running", progress="waiting for other work", error=None)
        async with self._working:
            await self._rest_others(data)
            try:
                question = {"do": "show", "files": data.files, "labels": data.labels, "settings": settings}
                answer = await data.worker.ask(question, lambda frame: data.tell("running", **frame))
                data.tell("done", progress="", **answer)
            except ConcordantError as problem:
                data.tell("failed", progress="", error=str(problem))

    async def ask(self, data: DataSet, question: dict[str, Any]) -> dict[str, Any]:
        """Ask something beside what is on the screen, when that is done."""
        if data.task is not None and not data.task.done():
            await asyncio.wait([data.task])
        async with self._working:
            await self._rest_others(data)
            more = {"files": data.files, "labels": data.labels, "settings": data.settings}
            return await data.worker.ask({**question, **more}, lambda _: None)

    async def cancel(self, data: DataSet) -> None:
        """Stop what is being done."""
        task = data.task
        if task is not None and not task.done():
            task.cancel()
            await data.worker.end()
            await asyncio.wait([task])
        data.tell("cancelled", progress="", error="Cancelled. Choose another method or option to go on.")

    async def _rest_others(self, data: DataSet) -> None:
        """End the workers used least recently, so that only a few live."""
        living = [one for one in self.data_sets.values() if one.worker.pid is not None and one is not data]
        for one in living[: max(len(living) - self.limits.workers + 1, 0)]:
            if one.task is None or one.task.done():
                await one.worker.end()

    async def close(self) -> None:
        """End all workers and remove all uploads."""
        for data in self.data_sets.values():
            await data.close()
        self.data_sets.clear()
        if self._root is not None:
            shutil.rmtree(self._root, ignore_errors=True)


def safe_name(name: str, taken: list[str]) -> str:
    """Return a file name of letters, digits, dots and dashes that stands in its folder once."""
    base = re.sub(r"[^\w. -]", "_", os.path.basename(name.replace("\\", "/")))[-80:].strip(" .-") or "data"
    stem, dot, ending = base.partition(".")
    own, number = base, 1
    while own in taken:
        number += 1
        own = f"{stem}-{number}{dot}{ending}"
    return own
