"""An in-memory DuckDB database that can read only named files.

It has no network access, loads no extensions, sees no Python variables, and no query can change that.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from concordant.errors import MemoryLimitError
from concordant.support import memory

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

SPILL_LIMIT: str | None = None  # most that may be written to the spill folder; None: what DuckDB finds prudent
SHARE = 0.5  # of the memory allowed; the rest is for Python and for what a query returns
INTERRUPTED = ("Query interrupted", "INTERRUPT Error: Interrupted!")


@contextmanager
def connect(*paths: str, small: bool = False, share: float = SHARE) -> Iterator[DuckDBPyConnection]:
    """Open an in-memory database that can read only these files and loads no extensions; it is always closed.

    If memory is limited, the database may use a ``share`` of it. It spills what does not fit to a temporary folder
    (below TMPDIR) that is removed at the end.
    """
    import shutil
    import tempfile
    from uuid import uuid4

    import duckdb

    config: dict[str, Any] = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
    if small:
        config["threads"] = 1
    spill = os.path.join(tempfile.gettempdir(), f"concordant-{uuid4().hex[:12]}.duckdb")
    connection = duckdb.connect(":memory:", config=config)
    try:
        # Tables larger than memory go to the temporary folder; nothing else is read or written but the named files.
        connection.execute("SET enable_progress_bar=false")  # which would be mixed with the output of the command
        connection.execute("SET python_enable_replacements=false")
        connection.execute(f"SET temp_directory={quoted(spill)}")
        if SPILL_LIMIT is not None:
            connection.execute(f"SET max_temp_directory_size={quoted(SPILL_LIMIT)}")
        connection.execute(f"SET allowed_directories=[{quoted(spill)}]")
        connection.execute(f"SET allowed_paths=[{', '.join(map(quoted, paths))}]")
        if memory.memory_setting():
            connection.execute(f"SET memory_limit='{int(share * memory.allowance())} bytes'")
        connection.execute("SET enable_external_access=false")
        connection.execute("SET lock_configuration=true")
        yield connection
    except Exception as error:
        raise as_known_error(error) from None
    finally:
        connection.close()
        if os.path.isdir(spill):  # there only if something was spilled
            shutil.rmtree(spill, ignore_errors=True)


def as_known_error(error: Exception) -> BaseException:
    """Return KeyboardInterrupt for Ctrl-C, MemoryLimitError for lack of memory or disk, or else the error itself."""
    text = str(error)
    if any(sign in text for sign in INTERRUPTED):
        return KeyboardInterrupt()
    return memory_limit_error(error) or error


def memory_limit_error(error: Exception) -> MemoryLimitError | None:
    """Return the error for a full spill folder or too little memory; None for other causes."""
    import tempfile

    text = str(error)
    if "max_temp_directory_size" in text or "No space left" in text or "failed to offload" in text:
        where = f"the spill folder ({tempfile.gettempdir()}) is full"
        return MemoryLimitError(f"{where}: free some space, set TMPDIR to another folder, or allow more memory.")
    if type(error).__name__ == "OutOfMemoryException":
        limit = memory.memory_setting() or memory.shown(memory.allowance())
        return MemoryLimitError(f"counting needs more than {limit} of memory: raise the limit, or leave out columns.")
    return None


def quoted(text: str) -> str:
    """Return a text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def identifier(name: str) -> str:
    """Return a name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'
