"""Read and write named pipes without waiting forever for a program at the other end."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator

SECONDS = 60.0  # to wait for the other program
STEP = 0.02
CHUNK = 1 << 20


def chunks_of(path: str) -> Iterator[bytes]:
    """Yield what another program writes to a pipe; raise TimeoutError if no program has opened it."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    try:
        yield _first(handle)
        os.set_blocking(handle, True)
        yield from iter(lambda: os.read(handle, CHUNK), b"")
    finally:
        os.close(handle)


def _first(handle: int) -> bytes:
    """Wait for a writer, up to ``SECONDS``; return what it has written so far."""
    deadline = time.monotonic() + SECONDS
    while True:
        try:
            if (content := os.read(handle, CHUNK)) or _has_been_closed(handle):
                return content
        except BlockingIOError:  # there is a writer, and nothing to read yet
            return b""
        _wait(deadline)


def _has_been_closed(handle: int) -> bool:
    """Return whether the writer of a pipe has closed it."""
    import select

    poll = select.poll()
    poll.register(handle, select.POLLIN)
    return any(event & select.POLLHUP for _, event in poll.poll(0))


def write(path: str, content: bytes) -> None:
    """Write to a pipe; raise TimeoutError if no program reads from it."""
    deadline = time.monotonic() + SECONDS
    while True:
        try:
            handle = os.open(path, os.O_WRONLY | getattr(os, "O_NONBLOCK", 0))
            break
        except OSError as problem:
            if problem.errno != errno.ENXIO:
                raise
        _wait(deadline)
    os.set_blocking(handle, True)
    with open(handle, "wb") as pipe:
        pipe.write(content)


def _wait(end: float) -> None:
    if time.monotonic() >= end:
        raise TimeoutError(errno.ETIMEDOUT, "no program has opened the other end of the pipe")
    time.sleep(STEP)
