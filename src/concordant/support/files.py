"""Write files atomically: the old content stays until all of the new content is on disk.

Also format file names for output, without the folders of this machine.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from concordant.errors import InputError, Sentence
from concordant.support import pipes


def replace_file(name: str | os.PathLike[str], content: bytes) -> None:
    """Replace a file atomically: a killed process or a full disk leaves either the old content or the new one.

    The content is written to a new file in the same folder, flushed to disk and renamed. Pipes and devices are written
    to directly. Links and permissions are preserved.
    """
    shown = os.fspath(name)
    target = os.path.realpath(shown)
    try:
        mode = os.stat(shown).st_mode if os.path.exists(shown) else None
        if mode is None or stat.S_ISREG(mode):
            _write_temporary(target, content, mode)
        elif stat.S_ISFIFO(mode):
            pipes.write(shown, content)
        else:
            with open(shown, "wb") as device:
                device.write(content)
    except TimeoutError as problem:
        raise InputError(f"{shown} cannot be written: {problem.strerror}.") from None
    except OSError as problem:
        folder = os.path.dirname(target)
        if is_address(shown):
            raise InputError(f"{shown} is a URL: name a file on this machine.") from None
        if not os.path.isdir(folder):
            raise InputError(
                f"{shown} cannot be written: the folder {folder} does not exist, create it first."
            ) from None
        if not os.access(folder, os.W_OK):
            raise InputError(
                f"{shown} cannot be written: the folder {folder} is not writable, choose another one."
            ) from None
        raise InputError(f"{shown} cannot be written ({problem.strerror}): choose another location.") from None


LOCK_WAIT = 600.0  # seconds that a writer waits for another one


@contextmanager
def locked(name: str | os.PathLike[str], wait: float = LOCK_WAIT) -> Iterator[None]:
    """Hold the lock of a file that is read and then replaced; wait for another process that holds it.

    The lock is a hidden file next to it, which stays. The system releases it when the process ends, however it ends.
    """
    folder, base = os.path.split(os.path.realpath(name))
    try:
        handle = os.open(os.path.join(folder, f".{base}.lock"), os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as problem:
        raise InputError(f"{os.fspath(name)} cannot be locked ({problem.strerror}): choose another location.") from None
    try:
        deadline = time.monotonic() + wait
        while not _try_lock(handle):
            if time.monotonic() >= deadline:
                raise InputError(f"{os.fspath(name)} is being written by another process: try again when it has ended.")
            time.sleep(0.05)
        yield
    finally:
        os.close(handle)


def _try_lock(handle: int) -> bool:
    """Lock an open file if no other process has; closing it releases the lock."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def is_address(name: str) -> bool:
    """Return whether a name is a URL such as https://example.org/votes.csv; files are not read from URLs."""
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]+://", name) is not None


def _write_temporary(target: str, content: bytes, mode: int | None) -> None:
    """Write the content to a new file in the same folder, flush it to disk and rename it to the target."""
    folder = os.path.dirname(target)
    temporary = os.path.join(folder, f".concordant-{secrets.token_hex(6)}.part")
    try:
        with open(temporary, "xb") as file:
            if mode is not None:
                os.chmod(temporary, stat.S_IMODE(mode))
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        if os.path.exists(temporary):
            os.unlink(temporary)
        raise
    _flush_folder(folder)


def _flush_folder(folder: str) -> None:
    """Flush a folder so that the new name survives a power failure, if the system supports it."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        pass
    finally:
        os.close(handle)


def without_folders(text: str, paths: Iterable[object]) -> str:
    """Return a text in which these files are named without their folders."""
    if isinstance(text, Sentence):
        all_paths = list(paths)
        return text.each(lambda part: without_folders(part, all_paths))
    names = {os.fspath(path) for path in paths if isinstance(path, (str, os.PathLike))}
    for name in sorted({*names, *map(os.path.abspath, names)}, key=len, reverse=True):
        if os.path.dirname(name):
            shown = os.path.basename(name)
            text = re.sub(rf"(?<![\w/\\]){re.escape(name)}", lambda _, shown=shown: shown, text)  # type: ignore[misc]
    return text
