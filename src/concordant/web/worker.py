"""The worker process: reads questions from standard input, answers on standard output, with limited memory.

Started as an isolated process by ``python -m concordant.web.worker FOLDER MEMORY``. It exits when its input ends, even
during work.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import threading
from typing import BinaryIO

from concordant.support import processes
from concordant.web.messages import HEAD, Frame, packed


def main() -> None:
    """Answer until the input ends."""
    folder, memory = sys.argv[1], int(sys.argv[2])
    for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
        os.environ.setdefault(variable, "1")
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints must not come between the frames
    base = 1 << 30  # of addresses: libraries, stacks of threads
    processes.limit("RLIMIT_AS", memory + base)  # a refused array is a sentence, not a crash
    processes.limit("RLIMIT_CORE", 0)
    os.chdir(folder)
    questions: queue.Queue[bytes] = queue.Queue()
    threading.Thread(target=_listen, args=(sys.stdin.buffer, questions), daemon=True).start()
    from concordant.web.answers import Answerer

    def send(frame: Frame) -> None:
        out.write(packed(frame))
        out.flush()

    answerer = Answerer(lambda update: send({"update": update}))
    while True:
        send({"answer": answerer.answer(json.loads(questions.get()))})


def _listen(source: BinaryIO, questions: queue.Queue[bytes]) -> None:
    """Queue questions while others are answered; exit when the server has ended."""
    while True:
        head = source.read(HEAD)
        if len(head) < HEAD:
            os._exit(0)
        questions.put(source.read(int.from_bytes(head, "big")))


if __name__ == "__main__":
    main()
