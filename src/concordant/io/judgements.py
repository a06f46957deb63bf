"""Find the files of relevance judgements (qrels) among files that are listed or dropped together.

A file holds judgements if its format says so, or if it is a table with a query, a document and a relevance column. JSON
scores (``{query: {document: number}}``) hold judgements if all of their numbers are whole.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from concordant.errors import ConcordantError
from concordant.io._formats import recognise
from concordant.io._source import Source
from concordant.io.paths import expand, is_read_once
from concordant.tables.headings import stems
from concordant.tables.options import LABELS, Options, columns_of, normalise

MAX_FILES = 64  # more files are one data set in parts
_RELEVANCE = {"label", "relevance", "rel", "judgment", "judgement", "gain", "grade"}
_BEIR = {"query id", "corpus id", "score"}


def set_aside(source: Any, options: Options) -> tuple[Any, list[Any]]:
    """Return the files without relevance judgements, and the files of judgements.

    The second list is empty unless both kinds of files are present.
    """
    if options.format is not None or options.reduce:
        return source, []
    try:
        paths = expand(source)
    except ConcordantError:  # reading says what is wrong
        return source, []
    if not 1 < len(paths) <= MAX_FILES or any(map(is_read_once, paths)):
        return source, []
    judged = [path for path in paths if _is_judged(path, options)]
    if not 0 < len(judged) < len(paths):
        return source, []
    return [path for path in paths if path not in judged], judged


def notes_on(judged: Sequence[Any]) -> list[str]:
    """Return notes on the files of judgements that were set aside."""
    return [f"{os.path.basename(path)} contains relevance judgements and is not ranked" for path in judged]


def _is_judged(path: Any, options: Options) -> bool:
    """Return whether a file holds relevance judgements; False if it cannot be read."""
    try:
        with Source(path, options) as source:
            kind = recognise(source)
            if kind.name == "scores":
                from concordant.io.formats.scores import holds_judgements

                return holds_judgements(source.head)
            if not kind.is_any_table:
                return kind.reads == (LABELS,)
            from concordant.io.formats.table import open_table

            table = open_table(source, replace(options, format=kind.name, roles={}, transpose=False))
            return table.has_header and _are_of_judgements(table.columns)
    except (ConcordantError, OSError):
        return False


def _are_of_judgements(columns: Sequence[str]) -> bool:
    """Return whether columns name a query, a document and its relevance, and neither ranks nor agents."""
    plain = {normalise(name) for name in columns}
    if plain == _BEIR:
        return True
    words = set().union(*map(stems, plain))
    known = columns_of(LABELS)
    has_both = all(words & set(known[role].synonyms) for role in ("instance", "item"))
    return has_both and bool(plain & _RELEVANCE) and not words & {"rank", "score", "rating", "agent", "user", "worker"}
