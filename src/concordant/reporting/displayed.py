"""A page for the tables of one result, in the style of the report."""

from __future__ import annotations

from collections.abc import Sequence

from concordant.reporting.pages import page
from concordant.reporting.sections import Part, ReportTable, Section, Text
from concordant.support.display import Block, DisplayTable


def display_page(title: str, blocks: Sequence[Block]) -> str:
    """Return a self-contained page: a section for each titled block, which also holds the untitled ones after it."""
    gathered: list[tuple[str, list[Part]]] = []
    for block in blocks:
        if block.title or not gathered:
            gathered.append((block.title or title, []))
        gathered[-1][1].extend(_parts(block, gathered[-1][0]))
    return page(title, [Section(f"part-{k}", name, tuple(parts)) for k, (name, parts) in enumerate(gathered, 1)])


def _parts(block: Block, title: str) -> list[Part]:
    """Return the parts of a section for one block."""
    if isinstance(block, DisplayTable):
        return [_table(block, title), *map(Text, block.notes)]
    return [*map(Text, block.sentences), *([] if block.table is None else [_table(block.table, title)])]


def _table(table: DisplayTable, title: str) -> ReportTable:
    """Return a table of the report; the first column of text holds the labels of the rows."""
    right = frozenset(table.right)
    labels = frozenset(c for c in range(len(table.header)) if c not in right)
    rows = tuple(tuple(map(str, row)) for row in table.rows)
    return ReportTable(title, tuple(table.header), rows, right, labels)
