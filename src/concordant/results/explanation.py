"""Why a ranking came out as it did: sentences with the numbers behind them, tables, and a picture where one helps.

A method says why in its own file (``Method.reasons``); what it returns prints, converts to plain data, and is the same
on the terminal, in a notebook, in the report and on the web page.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from concordant.errors import Words, in_words
from concordant.support.text import align, text_width


@dataclass(frozen=True)
class Reason:
    """One step of an explanation: a title, plain sentences, and perhaps a table of texts.

    ``right`` are the columns of numbers, flush right.
    """

    title: str
    sentences: Sequence[str] = ()
    header: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    right: frozenset[int] = frozenset()

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON; rows of the table by column."""
        table = [dict(zip(self.header, row, strict=True)) for row in self.rows]
        return {"title": self.title, "sentences": list(self.sentences), "table": table}

    def to_text(self, width: int, words: Words = str) -> str:
        """Return the reason as lines of at most this width (tables may be wider); ``words`` names parameters."""
        lines = [self.title]
        for sentence in self.sentences:
            lines += textwrap.wrap(in_words(sentence, words), width, initial_indent="  ", subsequent_indent="  ") or [
                ""
            ]
        if self.rows:
            lines += [f"  {line}" for line in align([list(self.header), *map(list, self.rows)], set(self.right))]
        return "\n".join(lines)


@dataclass(frozen=True)
class Explanation:
    """The reasons for a ranking of one instance, in the order a reader wants them."""

    method: str
    reasons: Sequence[Reason] = ()
    instance: str | None = None
    draw: Callable[[], str] | None = field(default=None, compare=False)
    """Draws the picture, as the text of an SVG file; None where a picture says nothing."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        reasons = [reason.to_dict() for reason in self.reasons]
        return {"method": self.method, "instance": self.instance, "reasons": reasons}

    def to_text(self, words: Words = str) -> str:
        """Return all reasons as text; ``words`` names parameters."""
        return "\n\n".join(reason.to_text(text_width(), words) for reason in self.reasons)

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        """Return all reasons, and the picture, as HTML for notebooks."""
        from html import escape

        parts = []
        for reason in self.reasons:
            parts.append(f"<h4>{escape(reason.title)}</h4>")
            parts += [f"<p>{escape(sentence)}</p>" for sentence in reason.sentences]
            if reason.rows:
                head = "".join(f"<th>{escape(name)}</th>" for name in reason.header)
                body = "".join(
                    "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in reason.rows
                )
                parts.append(f"<table><tr>{head}</tr>{body}</table>")
        return "".join([*parts, self.draw() if self.draw is not None else ""])
