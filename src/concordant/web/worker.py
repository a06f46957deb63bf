"""The worker process: reads questions from standard input, answers on standard output, with limited memory.

Started as an isolated process by ``python -m concordant.web.worker FOLDER MEMORY``. It exits when its input ends, even
during work. A message that cancels the current work interrupts it as Ctrl-C does on the command line; data that were
already read are kept.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO

from concordant.support import interrupts, processes
from concordant.web.messages import HEAD, Cancel, Question, Update, packed

if TYPE_CHECKING:
    from types import FrameType


class Interrupter:
    """Interrupts the section at work, or the whole question, when a message asks for it."""

    def __init__(self) -> None:
        self.working: tuple[int, str] | None = None
        """The question and the section at work."""
        self._unwanted: set[tuple[int, str]] = set()
        self._main = threading.main_thread().ident or 0

    def listen(self) -> None:
        """Handle interrupts in the main thread."""
        signal.signal(signal.SIGINT, self._handle)

    def cancel(self, message: Cancel) -> None:
        """Cancel a section now or before it begins; called from another thread."""
        self._unwanted.add((message["id"], message["cancel"]))
        if hasattr(signal, "pthread_kill"):
            signal.pthread_kill(self._main, signal.SIGINT)
        else:
            import _thread

            _thread.interrupt_main()

    def begin(self, question: int, section: str) -> None:
        """Note what is being worked on; raise KeyboardInterrupt if it is not wanted any more."""
        self.working = (question, section)
        self._unwanted = {unwanted for unwanted in self._unwanted if unwanted[0] >= question}
        self._check()

    def end(self) -> None:
        """Note that nothing is being worked on that could be interrupted."""
        self.working = None

    def is_unwanted(self, question: int) -> bool:
        """Return whether the whole question was cancelled."""
        return (question, "") in self._unwanted

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
        self._check()

    def _check(self) -> None:
        if self.working is not None and {self.working, (self.working[0], "")} & self._unwanted:
            self._unwanted.discard(self.working)
            self.working = None
            raise KeyboardInterrupt


def main() -> None:
    """Answer until the input ends."""
    folder, memory = sys.argv[1], int(sys.argv[2])
    for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
        os.environ.setdefault(variable, "1")
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints must not come between the frames
    base = 1 << 30  # of addresses: libraries, stacks of threads
    processes.limit("RLIMIT_AS", memory + base)  # a refused array is a sentence, not a crash
    processes.limit("RLIMIT_CORE", 0)
    os.chdir(folder)
    interrupter = Interrupter()
    interrupter.listen()
    questions: queue.Queue[Question] = queue.Queue()
    threading.Thread(target=_listen, args=(sys.stdin.buffer, questions, interrupter), daemon=True).start()
    from concordant.web.answers import Answerer

    asked = 0

    def tell(update: Update) -> None:
        with interrupter.paused():
            out.write(packed({"id": asked, "update": update}))
            out.flush()

    answerer = Answerer(tell, interrupter)
    while True:
        question = questions.get()
        asked = question["id"]
        answer = answerer.answer(question)
        out.write(packed({"id": asked, "answer": {**answer, "id": asked}}))
        out.flush()
        if interrupts.has_abandoned():  # a call of another library that could not be stopped goes on
            os._exit(0)


def _listen(source: BinaryIO, questions: queue.Queue[Question], interrupter: Interrupter) -> None:
    """Queue questions while others are answered, and pass on what is cancelled; exit when the server has ended."""
    while True:
        head = source.read(HEAD)
        if len(head) < HEAD:
            os._exit(0)
        message = json.loads(source.read(int.from_bytes(head, "big")))
        if "cancel" in message:
            interrupter.cancel(message)
        else:
            questions.put(message)


if __name__ == "__main__":
    main()
