"""Count the rows of a table that are exact copies of earlier rows."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from concordant.errors import arg
from concordant.io._formats import recognise
from concordant.io._source import Source
from concordant.io.formats.table import filtered, open_all
from concordant.io.paths import expand, is_read_once
from concordant.tables.options import PREFERENCES, Options
from concordant.tables.plans import Plan
from concordant.tables.roles import planned
from concordant.tables.selection import choice_of, drops_duplicates

IDENTIFYING = ("time", "ballot", "instance")


def note_on_repeated_rows(path: Any, given: Mapping[str, Any]) -> str | None:
    """Return a note on rows that are equal to an earlier one in all columns; None if there are none.

    Rows are compared only if the table has columns besides the vote itself, such as a time or an identifier: in a table
    of winners and losers alone, equal rows are ordinary votes.
    """
    options, paths = Options.of(PREFERENCES, given), expand(path)
    if drops_duplicates(options) or any(map(is_read_once, paths)):
        return None
    with ExitStack() as stack:
        sources = [stack.enter_context(Source(file, options)) for file in paths]
        kinds = [recognise(source, options.format) for source in sources]
        if not all(kind.is_table for kind in kinds):
            return None
        table = open_all(sources, options if options.sql else replace(options, format=kinds[0].name))
        if not _has_identifier(planned(table, options)):
            return None
        stored = getattr(table, "base", table) if getattr(table, "roles", {}) else table  # a layout may repeat rows
        choice = choice_of(filtered(stored, Options(drop_duplicates=True)))
        n_columns = len(stored.columns)
    count = 0 if choice is None else choice.n_repeated
    if not count:
        return None
    rows = "1 row is" if count == 1 else f"{count:,} rows are"
    what = f"{rows} equal to an earlier row in all {n_columns} columns: "
    return what + arg("drop_duplicates", True) + " leaves such copies out"


def _has_identifier(plan: Plan) -> bool:
    """Return whether a table has columns besides the vote itself."""
    roles = [role for role in IDENTIFYING if role in plan.column and not (role == "instance" and plan.is_grouped)]
    return bool(roles or plan.unread)
