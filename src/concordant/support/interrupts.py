"""Handle Ctrl-C during long calls to other libraries (HiGHS, SciPy), which do not check for signals.

Compiled kernels let Python handle signals inside their loops: see ``Interrupts`` in kernels/common.hpp.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_abandoned: list[threading.Event] = []  # set when the call is over; an interrupted join() may call a thread dead


def interruptible(call: Callable[[], T]) -> T:
    """Run a call in a separate thread while the main thread waits for it, so that Ctrl-C takes effect immediately.

    The call must release the GIL. It cannot be stopped: after Ctrl-C it is abandoned and continues in its thread.
    """
    if threading.current_thread() is not threading.main_thread():
        return call()
    results: list[T] = []
    problems: list[BaseException] = []
    done = threading.Event()

    def work() -> None:
        """Run the call and store its result or its exception."""
        try:
            results.append(call())
        except BaseException as problem:
            problems.append(problem)
        finally:
            done.set()

    try:
        threading.Thread(target=work, daemon=True).start()
        while not done.wait(0.5):  # Windows sees Ctrl-C between two waits only
            pass
    except BaseException:
        if not _abandoned:
            atexit.register(_end)
        _abandoned.append(done)
        raise
    if problems:
        raise problems[0]
    return results[0]


def has_abandoned() -> bool:
    """Return whether an interrupted call is still running; the process should then exit without waiting for it."""
    return not all(done.is_set() for done in _abandoned)


def _end() -> None:
    """Exit a process with an abandoned call: a thread that returns from C++ while Python shuts down would crash it.

    After Ctrl-C, exit by the signal, as Python does; otherwise wait until the call ends.
    """
    if has_abandoned() and getattr(sys, "last_type", None) is KeyboardInterrupt and os.name == "posix":
        sys.stdout.flush()
        sys.stderr.flush()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    for done in _abandoned:
        done.wait()
