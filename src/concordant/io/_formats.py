"""What a reader declares of its format, and how a format is recognised: by its name, or by its content.

A reader is a file of ``formats`` with its ``FORMATS`` (or a module of another package with its ``FORMAT``) that holds
the functions ``read``, ``read_labels``, ``read_features`` and ``write`` these formats promise.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from types import ModuleType
from typing import Any

from concordant.io._source import Source
from concordant.registry import READERS
from concordant.tables.options import FEATURES, LABELS, PREFERENCES

WORKBOOKS = ("xlsx", "xlsb", "xls", "ods")
FUNCTIONS = {PREFERENCES: "read", LABELS: "read_labels", FEATURES: "read_features"}


@dataclass(frozen=True)
class Format:
    """A file format: its name, the endings of its files, what it holds, what can be done with it."""

    name: str
    endings: tuple[str, ...]
    doc: str
    reads: tuple[str, ...]
    """What its files hold: preferences, labels, features."""
    can_write: bool = False
    module: str = ""
    """The module that reads it."""
    magic: bytes = b""
    """How its files begin, and no others."""
    sniff: Callable[[bytes], bool] | None = None
    """Says whether files of no known ending are of this format, from their first bytes."""
    borrows: tuple[str, ...] = ()
    """Endings of other formats that its files bear, too, where ``sniff`` says so."""

    @property
    def aliases(self) -> tuple[str, ...]:
        """The endings, which name the format too."""
        return tuple(ending.removeprefix(".") for ending in self.endings)

    @property
    def kind(self) -> str:
        """What can be read from it, in words."""
        return ", ".join(self.reads)

    @property
    def can_read(self) -> bool:
        """Whether some reader takes it."""
        return bool(self.reads)

    @property
    def is_table(self) -> bool:
        """Whether its files are tables."""
        return self.module == "concordant.io.formats.table"

    def function(self, name: str) -> Any:
        """Return a function of the module that knows the format."""
        return getattr(importlib.import_module(self.module), name)


@dataclass(frozen=True, kw_only=True)
class Writing:
    """What the caller of ``write`` said; a reader's ``write(data, how)`` returns the content and what it leaves out."""

    kind: Format
    name: str | None
    """Of the file, None for an open one."""
    asked: str | None = None
    """The format in the caller's words."""
    layout: str | None = None
    tag: str | None = None
    spreadsheet: bool = False


def named(name: str) -> Format:
    """Return the format of this name."""
    return READERS.find(name.strip().removeprefix("."))


def built_in() -> list[Format]:
    """List the formats of this package."""
    return [READERS.load(name) for name in READERS.modules()]


@cache
def _by_ending() -> dict[str, Format]:
    return {ending: known for known in built_in() for ending in known.endings}


def all_formats() -> list[Format]:
    """List the formats, also those other packages read; one that cannot be loaded says so and reads nothing."""
    return [listed.entry or Format(listed.name, (), listed.summary, ()) for listed in READERS.listing()]


def of_package(name: str, module: Any) -> Format:
    """Return the format of a reader of another package: a module with ``FORMAT`` and ``read(sources, options)``."""
    declared = getattr(module, "FORMAT", None)
    if not isinstance(module, ModuleType) or not isinstance(declared, Format) or declared.name != name:
        raise ValueError(f"is no module with FORMAT = Format({name!r}, …)")
    return replace(declared, module=module.__name__, can_write=False)


def by_ending(ending: str) -> Format | None:
    """Return the format files of this ending have, of concordant or else of another package."""
    known = _by_ending().get(ending)
    if known is None and ending not in ("", ".txt", ".dat", ".data"):  # these say nothing: the content decides
        known = next((listed for listed in all_formats() if ending in listed.endings), None)
    return known


def recognise(source: Source, name: str | None = None) -> Format:
    """Return the format that is named, else the one found by first bytes, file ending or content, in this order."""
    if name is not None:
        return named(name)
    head, ending = source.head, source.ending
    if source.workbook is not None:
        return named(source.workbook)
    for known in built_in():
        if known.magic and head.startswith(known.magic):
            return known
    by_name = by_ending(ending)
    if by_name is None and head[257:262] == b"ustar":
        raise source.error("this is a tar archive, which may hold many files: unpack it and name the file to read.")
    for known in built_in():
        if (by_name is None or ending in known.borrows) and known.sniff is not None and known.sniff(head):
            return known
    return by_name or named("csv")
