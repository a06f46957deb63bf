"""Expand names, folders and patterns into files, and detect many, large or unreadable files."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from glob import glob, has_magic
from typing import Any

from concordant.errors import FormatError, InputError, MemoryLimitError
from concordant.support.files import is_address, without_folders
from concordant.tables.options import Options
from concordant.tables.selection import drops_duplicates

BIG = 256 << 20  # bytes from which files are reduced without being asked
MAX_NOTES = 12
HOW = ("reduce", "workers", "cluster", "memory_limit", "skip_bad_files")  # options that ask for a reduction


def expand(path: Any) -> list[Any]:
    """Return the files that match names, patterns (``votes/*.parquet``) and folders, in order."""
    files_found: list[Any] = []
    for path_or_pattern in path if isinstance(path, (list, tuple)) else [path]:
        if (inside := _inside(path_or_pattern)) is None:
            files_found.append(path_or_pattern)
            continue
        files = [name for name in inside if os.path.isfile(name)]
        if not files:
            is_folder = os.path.isdir(path_or_pattern)
            what = (
                "the folder contains no files: name another folder"
                if is_folder
                else "no file matches this pattern: check the pattern"
            )
            raise FormatError(f"{what}.", path=os.fspath(path_or_pattern))
        files_found += files
    if not files_found:
        raise InputError("No file was named: give at least one path.")
    return files_found


def _inside(path_or_pattern: Any) -> list[str] | None:
    """Return the entries of a folder or the matches of a pattern, without hidden ones; None for anything else."""
    if not isinstance(path_or_pattern, (str, os.PathLike)) or os.path.isfile(path_or_pattern):
        return None
    name = os.fspath(path_or_pattern)
    if os.path.isdir(name):
        return sorted(entry.path for entry in os.scandir(name) if not entry.name.startswith((".", "_")))
    is_pattern = has_magic(name) and not os.path.exists(name) and not is_address(name)
    return (
        sorted(path_or_pattern for path_or_pattern in glob(name, recursive=True) if not os.path.isdir(path_or_pattern))
        if is_pattern
        else None
    )


def left_out(path: Any, options: Options, *, is_noted: bool = True) -> list[str]:
    """Return notes on entries of folders that are not files; reject them if strict, or if notes cannot be returned."""
    names = path if isinstance(path, (list, tuple)) else [path]
    not_files = [
        name for path_or_pattern in names for name in _inside(path_or_pattern) or () if not os.path.isfile(name)
    ]
    if not_files and (options.strict or not is_noted):
        raise FormatError(f"this is {_kind(not_files[0])}: remove it, or name the files to read.", path=not_files[0])
    more = (
        [f"left out {len(not_files) - MAX_NOTES:,} more entries that are not files"]
        if len(not_files) > MAX_NOTES
        else []
    )
    return [f"left out {name}: this is {_kind(name)}" for name in not_files[:MAX_NOTES]] + more


def _kind(path: str) -> str:
    if os.path.isdir(path):
        return "a folder"
    return "neither a file nor a folder" if os.path.exists(path) else "a link to a file that does not exist"


def is_pattern(path: Any) -> bool:
    """Return whether the name is a folder or a pattern, which expands into files."""
    names = path if isinstance(path, (list, tuple)) else [path]
    texts = [os.fspath(name) for name in names if isinstance(name, (str, os.PathLike))]
    return any(os.path.isdir(name) or (has_magic(name) and not os.path.exists(name)) for name in texts)


def is_read_once(path: Any) -> bool:
    """Return whether an input can be read only once: standard input, an open file, a pipe."""
    if not isinstance(path, (str, os.PathLike)) or os.fspath(path) == "-":
        return True
    return os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)


def is_big(paths: Sequence[Any]) -> bool:
    """Return whether the total size of the files is large enough to reduce them to counts."""
    return (
        sum(os.path.getsize(name) for name in paths if isinstance(name, (str, os.PathLike)) and os.path.isfile(name))
        > BIG
    )


def asks_for_counts(path: Any, options: Options) -> bool:
    """Return whether files should be reduced if possible: on request, or because there are many or they are large."""
    if reads_together(options) and len(expand(path)) > 1:
        return False
    return any(getattr(options, name) for name in HOW) or is_pattern(path) or is_big(expand(path))


def reads_together(options: Options) -> bool:
    """Return whether the options relate rows of different files, so that files cannot be counted one by one."""
    return options.sql is not None or drops_duplicates(options)


def is_out_of_memory(problem: Exception) -> bool:
    """Return whether reading failed for lack of memory or disk space: the file is valid and must not be skipped."""
    return isinstance(problem, MemoryLimitError) or getattr(problem, "errno", None) == errno.ENOSPC


def notes_on_bad(bad: Sequence[tuple[Any, str]]) -> list[str]:
    """Return notes on the files that were left out."""
    return [f"left out a file: {without_folders(sentence, [path])}" for path, sentence in bad[:MAX_NOTES]]
