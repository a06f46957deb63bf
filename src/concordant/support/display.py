"""Results as blocks (tables of text cells and passages of sentences), rendered as text, Markdown, LaTeX or HTML.

A result says what to show (``blocks``), and this module knows the formats: columns of numbers are right-aligned in all
of them, and every character of a label that has a meaning in a format is escaped. LaTeX tables use booktabs.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from concordant.support.text import align, text_width, visible, without_isolates

if TYPE_CHECKING:
    from concordant.support.markup import Markup


@dataclass(frozen=True)
class Drawn:
    """Values that notebooks draw next to the rows of a table: dots on their intervals, or bars from zero."""

    title: str
    values: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()
    is_bar: bool = False


@dataclass(frozen=True)
class DisplayTable:
    """A table of text cells: columns in ``right`` are numbers, ``notes`` are lines below the table.

    Notebooks draw the values ``drawn`` next to the rows, and shade cells: ``shades`` holds values from -1 (below) to 1
    (above) by row and column.
    """

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    right: Collection[int] = ()
    title: str = ""
    notes: Sequence[str] = ()
    drawn: Drawn | None = None
    shades: Mapping[tuple[int, int], float] = field(default_factory=dict)


@dataclass(frozen=True)
class Passage:
    """Sentences, with an optional title and table."""

    sentences: Sequence[str]
    title: str = ""
    table: DisplayTable | None = None


Block = DisplayTable | Passage


class Displayed:
    """A result that can be rendered for people: as Markdown, LaTeX or HTML, and in notebooks."""

    def blocks(self) -> Sequence[Block]:
        """Return what to show.

        Returns
        -------
        sequence of DisplayTable or Passage
            The tables and sentences.
        """
        raise NotImplementedError

    def to_markdown(self) -> str:
        """Return the tables in Markdown, with numbers as in the printed table.

        Returns
        -------
        str
            Tables with right-aligned columns of numbers.
        """
        return markdown(self.blocks())

    def to_latex(self) -> str:
        r"""Return the tables in LaTeX, for documents with ``\usepackage{booktabs}``.

        Returns
        -------
        str
            A tabular for each table.
        """
        return latex(self.blocks())

    def to_html(self) -> str:
        """Return the tables as a fragment of HTML.

        Returns
        -------
        str
            The elements, without a page around them.
        """
        return html(self.blocks())

    def _repr_html_(self) -> str:
        from concordant.support.notebook import notebook

        return notebook(self.blocks())


# ---- text ----
def text(blocks: Sequence[Block], drawn: Callable[[DisplayTable], str] | None = None) -> str:
    """Return blocks as plain text; ``drawn`` formats tables for a terminal."""
    return "\n\n".join(_text(block, drawn or aligned) for block in blocks)


def aligned(table: DisplayTable) -> str:
    """Return a table as aligned plain text, one line per row."""
    lines = align([list(table.header), *map(list, table.rows)], set(table.right))
    return "\n".join([table.title, *lines] if table.title else lines)


def _text(block: Block, drawn: Callable[[DisplayTable], str]) -> str:
    """Return one block as text; the sentences of a titled passage are indented and wrapped."""
    if isinstance(block, DisplayTable):
        return "\n".join([drawn(block).rstrip("\n"), *block.notes]) if block.notes else drawn(block)
    return "\n".join(block.sentences) if not block.title else passage_text(block, text_width())


def passage_text(block: Passage, width: int) -> str:
    """Return a titled passage: sentences wrapped at ``width`` and the table, indented."""
    lines = [block.title]
    for sentence in block.sentences:
        lines += textwrap.wrap(sentence, width, initial_indent="  ", subsequent_indent="  ") or [""]
    if block.table is not None:
        lines += [f"  {line}" for line in aligned(block.table).splitlines()]
    return "\n".join(lines)


# ---- Markdown ----
def markdown(blocks: Sequence[Block]) -> str:
    """Return blocks in Markdown."""
    return _paragraphs(blocks, _markdown_table, _markdown_text, "**{}**")


def pipe_table(lines: Sequence[Sequence[str]], right: Collection[int]) -> str:
    """Return cells that are already Markdown as a table; the first line is the header."""
    rule = ["---:" if c in right else "---" for c in range(len(lines[0]))]
    return "\n".join(f"| {' | '.join(line)} |" for line in (lines[0], rule, *lines[1:]))


def _markdown_table(table: DisplayTable) -> str:
    """Return a table in Markdown, with its title in bold above it."""
    cells = [
        [_markdown_text(cell) for cell in compact_cells(line, table.right)] for line in (table.header, *table.rows)
    ]
    title = f"**{_markdown_text(table.title)}**\n\n" if table.title else ""
    return title + pipe_table(cells, table.right)


_MARKDOWN = r"[\\`*|~$<]|(?<![^\W_])_|_(?![^\W_])|\[(?=[^]]*\][(\[:])|!(?=\[)|&(?=#?\w+;)"


def _markdown_text(plain: str) -> str:
    """Escape the characters that have a meaning in Markdown; an underscore inside a word has none."""
    return re.sub(_MARKDOWN, lambda found: {"<": "&lt;", "&": "&amp;"}.get(found[0], f"\\{found[0]}"), _one_line(plain))


# ---- LaTeX ----
def latex(blocks: Sequence[Block]) -> str:
    """Return blocks in LaTeX; tables need the package booktabs."""
    return _paragraphs(blocks, _latex_table, _latex_text, r"\paragraph{{{}}}")


def _latex_table(table: DisplayTable) -> str:
    """Return a table as a tabular, with its title as a comment."""
    lines = [
        "% " + "; ".join(filter(None, [_one_line(table.title), r"needs \usepackage{booktabs}"])),
        rf"\begin{{tabular}}{{{''.join('r' if c in table.right else 'l' for c in range(len(table.header)))}}}",
        r"\toprule",
        _latex_row(table.header, ()),
        r"\midrule",
        *(_latex_row(row, table.right) for row in table.rows),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join(lines)


def _latex_row(cells: Sequence[str], right: Collection[int]) -> str:
    r"""Return a row; a first cell that begins with [ or * is no argument of the preceding ``\\``."""
    compact = enumerate(compact_cells(cells, right))
    written = [_latex_number(cell) if c in right else _latex_text(cell) for c, cell in compact]
    if written and written[0][:1] in ("[", "*"):
        written[0] = f"{{{written[0][0]}}}{written[0][1:]}"
    return " & ".join(written) + r" \\"


def _latex_number(cell: str) -> str:
    """Return a cell of numbers, with minus signs instead of hyphens."""
    return re.sub(r"(?<![\w.])-(?=[\d.])", "$-$", _latex_text(cell))


_LATEX = {
    **{sign: f"\\{sign}" for sign in "_%&#${}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "…": r"\dots{}",
    "▲": r"$\uparrow$",
    "▼": r"$\downarrow$",
    "×": r"$\times$",
    "–": "--",
    "--": "-{}-",
}


def _latex_text(plain: str) -> str:
    """Escape the characters that have a meaning in LaTeX, or none in its usual fonts."""
    one_line = _one_line(without_isolates(plain))
    return re.sub(r"-(?=-)|[_%&#${}\\~^<>|…▲▼×–]", lambda found: _LATEX.get(found[0], "-{}"), one_line)


# ---- HTML ----
def html(blocks: Sequence[Block]) -> str:
    """Return blocks as a fragment of HTML."""
    from concordant.support.markup import joined

    return str(joined((_html(block) for block in blocks), "\n"))


def _html(block: Block) -> Markup:
    """Return one block: a table with its notes, or a passage with its title."""
    from concordant.support.markup import element, joined

    if isinstance(block, DisplayTable):
        return joined([_html_table(block), *(element("p", note) for note in block.notes)], "\n")
    title = element("h4", block.title) if block.title else None
    table = _html_table(block.table) if block.table is not None else None
    return joined([title, *(element("p", sentence) for sentence in block.sentences), table], "\n")


def _html_table(table: DisplayTable) -> Markup:
    """Return a table whose columns of numbers are right-aligned without a style sheet, one line per row."""
    from concordant.support.markup import element, joined

    def row(name: str, cells: Sequence[str], **attributes: str) -> Markup:
        styles = ("text-align:right" if c in table.right else None for c in range(len(cells)))
        drawn = (element(name, cell, **attributes, style=style) for cell, style in zip(cells, styles, strict=True))
        return element("tr", *drawn)

    caption = element("caption", table.title) if table.title else None
    head = element("thead", row("th", table.header, scope="col"))
    rows = joined((row("td", compact_cells(line, table.right)) for line in table.rows), "\n")
    return element("table", joined([caption, head, element("tbody", "\n", rows, "\n")], "\n"))


# ---- all formats ----
def _paragraphs(
    blocks: Sequence[Block], table_of: Callable[[DisplayTable], str], escape: Callable[[str], str], heading: str
) -> str:
    """Return blocks as paragraphs of a text format; ``heading`` formats the title of a passage."""
    parts: list[str] = []
    for block in blocks:
        if isinstance(block, DisplayTable):
            parts += [table_of(block), *map(escape, block.notes)]
            continue
        parts += [heading.format(escape(block.title))] if block.title else []
        parts += [*map(escape, block.sentences), *([] if block.table is None else [table_of(block.table)])]
    return "\n\n".join(parts) + "\n"


def compact_cells(cells: Sequence[str], right: Collection[int]) -> list[str]:
    """Return cells without the blanks that align numbers in plain text; labels are unchanged."""
    blanks = r"^\s+|\s+$|\s(?=\s)|(?<=\[)\s+"
    return [re.sub(blanks, "", cell) if c in right else cell for c, cell in enumerate(cells)]


def _one_line(plain: str) -> str:
    """Return text in one line; other control characters are shown, and surrogates, which no file can hold."""
    shown = visible(re.sub(r"\s+", " ", plain), colours=False)
    return shown if shown.isascii() else shown.encode("utf-8", "backslashreplace").decode("utf-8")
