"""The server side of a worker process: start it, send questions, receive progress, end it.

A worker holds one data set in memory and answers one question at a time, with limits on memory and time. Work that is
cancelled is interrupted; a process that does not give it up soon is ended, and the next question starts a new one.
Messages are length-prefixed JSON frames in pipes.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import signal
from collections.abc import Callable

from concordant.errors import ConcordantError
from concordant.support import processes
from concordant.web.messages import HEAD, Answer, Cancel, Frame, Question, Update, packed

MAX_BYTES = 1 << 28  # of one frame
GRACE = 3.0  # seconds that a process may take to give up a question
LINGER = 5.0  # seconds that a process may take to end once its pipes are closed
ENDED = "The worker process ended ({why}); other work is not affected. Try again, or use less data."
Progress = Callable[[Update], None]


class WorkerError(ConcordantError):
    """A worker did not answer: it ended or timed out."""


class WorkerEndedError(WorkerError):
    """A worker ended before it answered."""


class Worker:
    """One worker process, started on the first question."""

    def __init__(self, folder: str, memory: int, seconds: float, new_folder: Callable[[], str] | None = None) -> None:
        self.folder, self.memory, self.seconds = folder, memory, seconds
        self._new_folder = new_folder  # makes the folder of its temporary files, which goes when it ends
        self._scratch: str | None = None
        self.turn = asyncio.Lock()  # held by whoever starts it or asks it
        self._process: asyncio.subprocess.Process | None = None
        self._ends = 0  # how often it was ended from outside

    @property
    def pid(self) -> int | None:
        """The process id, or None if not running."""
        running = self._process is not None and self._process.returncode is None
        return self._process.pid if running and self._process is not None else None

    async def start(self) -> asyncio.subprocess.Process:
        """Start the process if it is not running; isolated, so that no uploaded file is ever imported."""
        if self._process is None or self._process.returncode is not None:
            self._process = await asyncio.create_subprocess_exec(
                *processes.python("-m", "concordant.web.worker", self.folder, str(self.memory)),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                env=processes.environment(CONCORDANT_MEMORY=str(self.memory // 2), PYTHONUTF8="1", **self._temporary()),
                start_new_session=True,  # Ctrl-C in the terminal is for the server, which ends its workers
            )
        return self._process

    def _temporary(self) -> dict[str, str]:
        """Create the folder of its temporary files, and return the environment variables for it."""
        if self._new_folder is None:
            return {}
        if self._scratch is None:
            self._scratch = self._new_folder()
        return dict.fromkeys(("TMPDIR", "TEMP", "TMP"), self._scratch)

    async def ask(self, question: Question, progress: Progress) -> Answer:
        """Return the answer to a question; updates before it go to ``progress``.

        If the worker ended while idle, this is detected here, and a new process gets the question.
        """
        updates: list[bool] = []

        def forward(update: Update) -> None:
            updates.append(True)
            progress(update)

        was_idle, ends = self.pid is not None, self._ends
        try:
            return await self._ask(question, forward)
        except WorkerEndedError:
            if updates or not was_idle or ends != self._ends:
                raise
            return await self._ask(question, progress)

    async def _ask(self, question: Question, progress: Progress) -> Answer:
        """Ask once, within the time limit; a timeout or a failure ends the process."""
        process = await self.start()
        wanted = [progress]
        answering = asyncio.create_task(self._answer(process, question, lambda update: wanted[0](update)))
        try:
            return await asyncio.wait_for(asyncio.shield(answering), self.seconds)
        except TimeoutError:
            await self.end()
            raise WorkerError(
                f"Stopped after the time limit of {self.seconds:,.0f} seconds: choose a faster method or use less data."
            ) from None
        except (asyncio.IncompleteReadError, ConnectionError):
            code = await self._exit_code(process)
            why = f"signal {-code}, killed or out of memory" if code < 0 else f"exit code {code}"
            raise WorkerEndedError(ENDED.format(why=why)) from None
        except asyncio.CancelledError:
            wanted[0] = lambda _: None
            if not await self._gives_up(process, question, answering):
                await self.end()
            raise
        except BaseException:
            await self.end()
            raise
        finally:
            answering.cancel()
            await asyncio.wait([answering])
            _ = answering.cancelled() or answering.exception()  # whoever asked has been told

    async def _gives_up(
        self, process: asyncio.subprocess.Process, question: Question, answering: asyncio.Task[Answer]
    ) -> bool:
        """Interrupt the work on a question; return whether the worker gave it up in time."""
        try:
            self.cancel(question["id"], "")
            await asyncio.wait([answering], timeout=GRACE)
        except (asyncio.CancelledError, ConnectionError):
            return False
        return answering.done() and not answering.cancelled() and answering.exception() is None

    def cancel(self, question: int, section: str) -> None:
        """Tell the process to give up a section, or the whole question if the name is empty."""
        process = self._process
        if process is not None and process.returncode is None and process.stdin is not None:
            message: Cancel = {"id": question, "cancel": section}
            process.stdin.write(packed(message))

    async def _answer(self, process: asyncio.subprocess.Process, question: Question, progress: Progress) -> Answer:
        """Send a question, pass on updates and return the answer."""
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(packed(question))
        await process.stdin.drain()
        while True:
            length = int.from_bytes(await process.stdout.readexactly(HEAD), "big")
            if length > MAX_BYTES:
                await self.end()
                raise WorkerError("The result is too large for the page: use the command line.")
            frame: Frame = json.loads(await process.stdout.readexactly(length))
            if "answer" in frame:
                return frame["answer"]
            progress(frame["update"])

    async def _exit_code(self, process: asyncio.subprocess.Process) -> int:
        """Return the exit code of a process whose pipes are closed; kill it if it is still running."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), LINGER)
        await self._end()
        return process.returncode or 0

    async def end(self) -> None:
        """Kill the process and its child processes; return when it has ended."""
        self._ends += 1
        await self._end()

    async def _end(self) -> None:
        """Kill the process and its child processes, and remove its temporary files."""
        process = self._process
        if process is None:
            return
        _kill(process)  # also what a worker has started that ended by itself
        if process.returncode is None:
            await asyncio.shield(process.wait())
        if self._scratch is not None:
            scratch, self._scratch = self._scratch, None
            await asyncio.to_thread(shutil.rmtree, scratch, ignore_errors=True)
        if self._process is process:
            self._process = None


def _kill(process: asyncio.subprocess.Process) -> None:
    """Kill a worker and its child processes, which share its session."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError):
        if process.returncode is None:
            process.kill()
