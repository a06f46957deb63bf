"""Declaration of file formats, and recognition of a format by name or content.

A reader is a module in ``formats`` that declares ``FORMATS`` (or a module of a plug-in that declares ``FORMAT``) and
defines those of the functions ``read``, ``read_labels``, ``read_features`` and ``write`` that its formats support.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from types import ModuleType
from typing import Any

from concordant.errors import action
from concordant.io._source import Source
from concordant.registry import READERS
from concordant.tables.options import FEATURES, LABELS, PREFERENCES

TABLES = "concordant.io.formats.table"  # the module that reads tables
DATABASES = ("duckdb", "sqlite")
WORKBOOKS = ("xlsx", "xlsb", "xls", "ods")
JUDGED = (
    "this file contains relevance judgements, and the other files do not: "
    + action("read_labels", "read it with read_labels")
    + "."
)
FUNCTIONS = {PREFERENCES: "read", LABELS: "read_labels", FEATURES: "read_features"}


@dataclass(frozen=True)
class Format:
    """A file format: its name, file extensions, content and supported operations."""

    name: str
    endings: tuple[str, ...]
    doc: str
    reads: tuple[str, ...]
    """Content of its files: preferences, labels, features."""
    can_write: bool = False
    module: str = ""
    """The module that reads it."""
    magic: bytes = b""
    """First bytes that identify its files."""
    magic_at: int = 0
    """Where these bytes are, if not at the beginning."""
    sniff: Callable[[bytes], bool] | None = None
    """Returns whether files without a known ending have this format, from their first bytes."""
    borrows: tuple[str, ...] = ()
    """Endings shared with other formats; ``sniff`` decides."""
    opener: str = ""
    """The module whose ``open_table(source, options)`` opens its files as tables, if ``TABLES`` reads them."""

    @property
    def aliases(self) -> tuple[str, ...]:
        """The file extensions, which are also accepted as names of the format."""
        return tuple(ending.removeprefix(".") for ending in self.endings)

    @property
    def kind(self) -> str:
        """Description of the data that can be read from the format."""
        return ", ".join(self.reads)

    @property
    def can_read(self) -> bool:
        """Whether the format can be read."""
        return bool(self.reads)

    @property
    def is_table(self) -> bool:
        """Whether its files are tables."""
        return self.module == TABLES

    @property
    def is_any_table(self) -> bool:
        """Whether its files are tables of any layout, whose content identifies less than that of other formats."""
        return self.is_table and not self.opener

    def function(self, name: str) -> Any:
        """Return a function of the module that implements the format."""
        return getattr(importlib.import_module(self.module), name)


@dataclass(frozen=True, kw_only=True)
class Writing:
    """Arguments of ``write``; a reader's ``write(data, how)`` returns the content and notes on what it leaves out."""

    kind: Format
    name: str | None
    """Name of the file, None for an open file."""
    asked: str | None = None
    """The format as the caller named it."""
    layout: str | None = None
    tag: str | None = None
    spreadsheet: bool = False
    title: str | None = None
    """Name of the sheet of a workbook."""


def named(name: str) -> Format:
    """Return the format with this name."""
    return READERS.find(name.strip().removeprefix("."))


def built_in() -> list[Format]:
    """List the formats of this package."""
    return [READERS.load(name) for name in READERS.modules()]


@cache
def _by_ending() -> dict[str, Format]:
    return {ending: known for known in built_in() for ending in known.endings}


def all_formats() -> list[Format]:
    """List all formats, including those of plug-ins; a plug-in that cannot be loaded is listed as unreadable."""
    return [listed.entry or Format(listed.name, (), listed.summary, ()) for listed in READERS.listing()]


def of_package(name: str, module: Any) -> Format:
    """Return the format declared by a plug-in's reader: a module with ``FORMAT`` and ``read(sources, options)``."""
    declared = getattr(module, "FORMAT", None)
    if not isinstance(module, ModuleType) or not isinstance(declared, Format) or declared.name != name:
        raise ValueError(f"is not a module with FORMAT = Format({name!r}, …)")
    return replace(declared, module=module.__name__, can_write=False)


def by_ending(ending: str) -> Format | None:
    """Return the format with this file extension, from concordant or else from a plug-in."""
    known = _by_ending().get(ending)
    if known is None and ending not in ("", ".txt", ".dat", ".data"):  # these say nothing: the content decides
        known = next((listed for listed in all_formats() if ending in listed.endings), None)
    return known


def recognise(source: Source, name: str | None = None) -> Format:
    """Return the named format, else the one recognised by first bytes, file extension or content, in this order."""
    if name is not None:
        return named(name)
    head, ending = source.head, source.ending
    if source.workbook is not None:
        return named(source.workbook)
    for known in built_in():
        if known.magic and head.startswith(known.magic, known.magic_at):
            return known
    by_name = by_ending(ending)
    if by_name is None and head[257:262] == b"ustar":
        raise source.error("this is a tar archive: unpack it and name the file to read.")
    for known in sorted(built_in(), key=lambda known: known.is_any_table):
        if (by_name is None or ending in known.borrows) and known.sniff is not None and known.sniff(head):
            return known
    return by_name or named("csv")
