"""Admission control: limits on worker processes, concurrent questions and queued questions.

A worker takes a slot before its process starts and keeps it until the process has ended, so there are never more
processes than slots. When all slots are taken, the least recently used idle worker is ended.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

from concordant.errors import ConcordantError
from concordant.web.messages import Answer, Question
from concordant.web.workers import Progress, Worker, WorkerError

RETRY = 2  # seconds after which a client that was refused may try again


@dataclass(frozen=True)
class Limits:
    """Limits of a server: bytes, seconds, and numbers of concurrent objects."""

    body: int = 200_000_000  # bytes of an upload
    memory: int = 4 << 30  # bytes of a worker
    seconds: float = 600.0  # of a worker for one answer
    data_sets: int = 12
    workers: int = 4  # processes, at work or at rest
    at_once: int = 2  # questions being answered
    line: int = 32  # questions being answered or waiting
    connections: int = 512
    transfers: int = 8  # uploads under way, and as many downloads
    window: float = 30.0  # seconds in which ``min_bytes`` bytes of a body must arrive
    min_bytes: int = 100_000
    grace: float = 30.0  # seconds that a data set nobody has looked at since it changed is kept in any case

    @property
    def stored(self) -> int:
        """Maximum total size of all uploads in bytes."""
        return 10 * self.body


class BusyError(ConcordantError):
    """A limit is reached: the request may succeed later."""


class Pool:
    """All worker processes of a server."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.admitted = 0
        self._working = asyncio.Semaphore(min(limits.at_once, limits.workers))
        self._placed: OrderedDict[Worker, None] = OrderedDict()  # the least recently used first
        self._busy: set[Worker] = set()
        self._ending: dict[Worker, asyncio.Task[None]] = {}
        self._freed = asyncio.Event()

    @contextlib.contextmanager
    def admission(self) -> Iterator[None]:
        """Enter the queue of questions; raise BusyError if it is full."""
        if self.admitted >= self.limits.line:
            raise BusyError("The server is busy: try again in a few seconds.")
        self.admitted += 1
        try:
            yield
        finally:
            self.admitted -= 1

    async def ask(self, worker: Worker, question: Question, progress: Progress) -> Answer:
        """Return the answer to an admitted question, in its turn."""
        async with worker.turn, self._working, self._busy_with(worker):
            await self._place(worker)
            try:
                return await worker.ask(question, progress)
            except OSError as problem:
                raise WorkerError(
                    f"No worker process could be started ({problem.strerror}): try again later."
                ) from None

    async def prepare(self, worker: Worker) -> None:
        """Start a worker in advance, if there is a free slot."""
        if len(self._placed) < self.limits.workers and not worker.turn.locked():
            async with worker.turn, self._busy_with(worker):
                await self._place(worker)
                with contextlib.suppress(OSError):  # whoever asks it is told
                    await worker.start()

    async def release(self, worker: Worker) -> None:
        """End a worker; its slot is free when its process has ended."""
        if worker not in self._ending:
            self._ending[worker] = asyncio.create_task(self._release(worker))
        await asyncio.shield(self._ending[worker])

    async def _release(self, worker: Worker) -> None:
        """End a worker and free its slot."""
        try:
            await worker.end()
        finally:
            self._placed.pop(worker, None)
            del self._ending[worker]
            self._freed.set()

    @contextlib.asynccontextmanager
    async def _busy_with(self, worker: Worker) -> AsyncIterator[None]:
        """Mark a worker as busy, so that it is not ended to free its slot."""
        self._busy.add(worker)
        try:
            yield
        finally:
            self._busy.discard(worker)
            self._freed.set()

    async def _place(self, worker: Worker) -> None:
        """Give a busy worker a slot, waiting for one if necessary."""
        while worker in self._ending:
            await asyncio.shield(self._ending[worker])
        while worker not in self._placed:
            if len(self._placed) < self.limits.workers:
                self._placed[worker] = None
            else:
                await self._free_one()
        self._placed.move_to_end(worker)

    async def _free_one(self) -> None:
        """End the least recently used idle worker, or wait until one is idle."""
        resting = next((worker for worker in self._placed if worker not in self._busy), None)
        if resting is not None:
            await self.release(resting)
            return
        self._freed.clear()
        await self._freed.wait()

    async def close(self) -> None:
        """End all workers."""
        await asyncio.gather(*(self.release(worker) for worker in list(self._placed)))
