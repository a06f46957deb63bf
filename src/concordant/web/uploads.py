"""Uploaded files: their folder, and streaming of request bodies.

The folder of a server is locked while the server runs. A new server removes folders that are not locked, which belonged
to servers that were killed.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from concordant.web.pool import Limits

if TYPE_CHECKING:
    from starlette.requests import Request

if sys.platform != "win32":
    import fcntl

PREFIX = "concordant-serve-"
PIECE = 1 << 20  # bytes that are written at a time


# ---- the folder ----
class Folder:
    """The folder of all uploads of one server, created when first needed."""

    def __init__(self) -> None:
        self._path: str | None = None
        self._lock = -1

    def path(self) -> str:
        """Return the folder, created and locked when first needed."""
        while self._path is None:
            folder = tempfile.mkdtemp(prefix=PREFIX)
            try:
                self._lock = _lock(folder)
            except (BlockingIOError, FileNotFoundError):
                continue  # another server took it for one of a dead server
            except OSError:
                pass  # locks are not supported here: no server will remove it
            self._path = folder
        return self._path

    def new(self) -> str:
        """Create a subfolder."""
        return tempfile.mkdtemp(dir=self.path())

    def remove(self) -> None:
        """Remove the folder with its contents."""
        if self._path is not None:
            if self._lock >= 0:
                os.close(self._lock)
            shutil.rmtree(self._path, ignore_errors=True)
            self._path, self._lock = None, -1


def _lock(folder: str) -> int:
    """Lock a folder and return the handle of the lock; raise OSError if another server holds it or removed
    the folder.
    """
    if sys.platform == "win32":
        return -1
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.stat(folder)
    except OSError:
        os.close(handle)
        raise
    return handle


def remove_stale() -> int:
    """Remove the folders of servers that were killed; return how many."""
    removed = 0
    for folder in _own_folders():
        with contextlib.suppress(OSError):  # its server lives
            handle = _lock(folder)
            shutil.rmtree(folder, ignore_errors=True)
            os.close(handle)
            removed += 1
    return removed


def _own_folders() -> list[str]:
    """List the upload folders of this user, without symbolic links."""
    folders: list[str] = []
    if sys.platform == "win32":
        return folders  # there are no such locks: what a killed server leaves behind stays there
    with contextlib.suppress(OSError), os.scandir(tempfile.gettempdir()) as entries:
        for entry in entries:
            is_folder = entry.name.startswith(PREFIX) and entry.is_dir(follow_symlinks=False)
            if is_folder and entry.stat(follow_symlinks=False).st_uid == os.getuid():
                folders.append(entry.path)
    return folders


# ---- one file ----
def safe_name(name: str, taken: list[str]) -> str:
    """Return a file name of letters, digits, dots and dashes that is not taken yet."""
    base = re.sub(r"[^\w. -]", "_", os.path.basename(name.replace("\\", "/")))[-80:].strip(" .-") or "data"
    stem, dot, ending = base.partition(".")
    unique, number = base, 1
    while unique in taken:
        number += 1
        unique = f"{stem}-{number}{dot}{ending}"
    return unique


async def receive(request: Request, limits: Limits, take: Callable[[bytes], Awaitable[None]]) -> int:
    """Pass the body of a request to ``take`` in chunks; return its length.

    A body may be slow, but at least ``min_bytes``, or its end, must arrive in every time window.
    """
    piece, new_bytes, size = bytearray(), 0, 0
    now = asyncio.get_running_loop().time
    try:
        async with asyncio.timeout(limits.window) as timeout:
            async for chunk in request.stream():
                piece += chunk
                new_bytes, size = new_bytes + len(chunk), size + len(chunk)
                if new_bytes >= limits.min_bytes:
                    new_bytes = 0
                    timeout.reschedule(now() + limits.window)
                if len(piece) >= PIECE:
                    timeout.reschedule(None)  # the disk may take its time
                    await take(bytes(piece))
                    piece.clear()
                    timeout.reschedule(now() + limits.window)
    except TimeoutError:
        min_amount, seconds = f"{limits.min_bytes / 1000:,.0f} kB", f"{limits.window:g} seconds"
        raise HTTPException(408, f"The upload was too slow: less than {min_amount} in {seconds}. Try again.") from None
    except ClientDisconnect:
        raise HTTPException(400, "The upload was interrupted.") from None
    if piece:
        await take(bytes(piece))
    return size
