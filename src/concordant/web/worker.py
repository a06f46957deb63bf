"""The worker process: reads questions from standard input, answers on standard output, with limited memory.

Started as an isolated process by ``python -m concordant.web.worker FOLDER MEMORY``. It exits when its input ends, even
during work. A message that cancels the current work interrupts it (``cancelling``); data that were already read are
kept.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
from typing import BinaryIO

from concordant.support import interrupts, processes
from concordant.web.cancelling import Interrupter
from concordant.web.messages import HEAD, Question, Update, packed


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
