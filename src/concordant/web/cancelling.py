"""Give up work that nobody wants any more: a section of a page, or the whole question.

The worker listens for cancellations in a thread, which sends a signal to the main thread. Python handles it between two
instructions of whatever is at work there, and raises KeyboardInterrupt, as Ctrl-C does on the command line. ``run`` is
the only region that can be interrupted. Its end has no gap: an interrupt that comes while it is being left is either
taken by it or has no effect. A cancellation is noted as well as signalled, so that one that comes too early, or is
caught by some library, still takes effect at the end of the region, and one that comes too late does not reach the
next question.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol, TypeVar

from concordant.web.messages import Cancel

if TYPE_CHECKING:
    from types import FrameType

T = TypeVar("T")
AGAIN = 0.05  # seconds after which a postponed interrupt is tried again
IMPORTS = "<frozen importlib"  # how the file names of Python's import system begin


class CancelledError(Exception):
    """Work was cancelled."""


class Interrupts(Protocol):
    """What can interrupt work."""

    def run(self, question: int, section: str, work: Callable[[], T]) -> T:
        """Return the result of work on a section, or on a whole question; raise CancelledError if it is cancelled."""


class Uninterrupted:
    """No interrupts, for a question that is asked without a server."""

    def run(self, question: int, section: str, work: Callable[[], T]) -> T:
        """Return the result of the work."""
        return work()


class Interrupter:
    """Interrupts the section at work, or the whole question, when a message asks for it."""

    def __init__(self) -> None:
        self.working: tuple[int, str] | None = None
        """The question and the section at work; None if nothing may be interrupted."""
        self._unwanted: set[tuple[int, str]] = set()  # two threads use it: by single operations only
        self._main = threading.main_thread().ident or 0

    def listen(self) -> None:
        """Handle interrupts in the main thread."""
        signal.signal(signal.SIGINT, self._handle)
        if hasattr(signal, "SIGALRM"):
            signal.signal(signal.SIGALRM, self._handle)

    def cancel(self, message: Cancel) -> None:
        """Cancel a section, or a whole question, now or when it begins; called from another thread."""
        self._unwanted.add((message["id"], message["cancel"]))
        if hasattr(signal, "pthread_kill"):
            signal.pthread_kill(self._main, signal.SIGINT)
        else:
            import _thread

            _thread.interrupt_main()

    def run(self, question: int, section: str, work: Callable[[], T]) -> T:
        """Return the result of work on a section, or on a whole question; raise CancelledError if it is cancelled.

        Sections run inside their question. If the whole question is cancelled, that of the question raises.
        """
        outer = self.working
        try:
            try:
                self._unwanted -= {one for one in tuple(self._unwanted) if one[0] < question}
                self.working = (question, section)
                self._check()
                result = work()
            finally:
                self.working = outer
            self._check()
            if (question, section) not in self._unwanted:
                return result
        except KeyboardInterrupt:
            pass
        self.working = outer
        self._check()
        raise CancelledError

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Postpone interrupts, so that a message is sent whole."""
        working, self.working = self.working, None
        try:
            yield
        finally:
            self.working = working
        self._check()

    def _handle(self, number: int, frame: FrameType | None) -> None:
        """Interrupt the work; while a module is being imported, later, because half of one cannot be used."""
        if self._is_due() and hasattr(signal, "setitimer") and _is_importing(frame):
            signal.setitimer(signal.ITIMER_REAL, AGAIN)
        else:
            self._check()

    def _is_due(self) -> bool:
        working = self.working
        return working is not None and (working in self._unwanted or (working[0], "") in self._unwanted)

    def _check(self) -> None:
        """Raise KeyboardInterrupt, once for each region, if its work is not wanted any more."""
        if self._is_due():
            self.working = None
            raise KeyboardInterrupt


def _is_importing(frame: FrameType | None) -> bool:
    """Return whether a module is being imported."""
    while frame is not None:
        if frame.f_code.co_filename.startswith(IMPORTS):
            return True
        frame = frame.f_back
    return False
