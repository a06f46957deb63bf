"""Explanations of a ranking: sentences with the underlying numbers, tables, and optionally a figure.

Each method explains its rankings in its own file (``Method.reasons``). The result prints, converts to plain data, and
is the same on the terminal, in a notebook, in the report and in the web app.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from concordant.errors import Words, in_words
from concordant.support.display import DisplayTable, Passage, passage_text
from concordant.support.text import text_width, without_isolates


@dataclass(frozen=True)
class Reason:
    """One section of an explanation: a title, sentences, and optionally a table.

    Parameters
    ----------
    title : str
        The heading.
    sentences : sequence of str
        Plain sentences.
    header, rows : sequences of str
        The table, as text; empty without a table.
    right : frozenset of int
        The numbers of the right-aligned columns.

    Examples
    --------
    >>> reason = Reason("Votes", ["a leads."], ["item", "votes"], [["a", "7"]], frozenset([1]))
    >>> reason.to_dict()["table"]
    [{'item': 'a', 'votes': '7'}]
    """

    title: str
    sentences: Sequence[str] = ()
    header: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    right: frozenset[int] = frozenset()

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON.

        Returns
        -------
        dict
            ``title``, ``sentences`` and ``table``, a list of rows as dictionaries by column.
        """
        table = [dict(zip(self.header, map(without_isolates, row), strict=True)) for row in self.rows]
        return {"title": self.title, "sentences": list(map(without_isolates, self.sentences)), "table": table}

    def to_text(self, width: int, words: Words = str) -> str:
        """Return the reason as text.

        Parameters
        ----------
        width : int
            Maximum width of the lines of sentences; tables may be wider.
        words : callable, optional
            Formats the parameters named in sentences, as Python arguments by default.

        Returns
        -------
        str
            Title, sentences and table, one per line.
        """
        return passage_text(self.passage(words), width)

    def passage(self, words: Words = str) -> Passage:
        """Return the reason as a passage, which can be rendered in several formats.

        Parameters
        ----------
        words : callable, optional
            Formats the parameters named in sentences, as Python arguments by default.

        Returns
        -------
        Passage
            Title, sentences and table.
        """
        rows = [list(map(without_isolates, row)) for row in self.rows]
        table = DisplayTable(self.header, rows, self.right) if rows else None
        return Passage([in_words(sentence, words) for sentence in self.sentences], self.title, table)


@dataclass(frozen=True)
class Explanation:
    """The explanation of the ranking of one instance, as returned by ``Ranking.explain``.

    Parameters
    ----------
    method : str
        The name of the method.
    reasons : sequence of Reason
        The sections, most important first.
    instance : str, optional
        The name of the instance.
    draw : callable, optional
        Returns a figure as SVG text.
    """

    method: str
    reasons: Sequence[Reason] = ()
    instance: str | None = None
    draw: Callable[[], str] | None = field(default=None, compare=False)
    """Draws the figure as SVG text; None if there is no figure."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON.

        Returns
        -------
        dict
            ``method``, ``instance`` and ``reasons``, a list of dictionaries.
        """
        reasons = [reason.to_dict() for reason in self.reasons]
        return {"method": self.method, "instance": self.instance, "reasons": reasons}

    def to_text(self, words: Words = str) -> str:
        """Return all reasons as text.

        Parameters
        ----------
        words : callable, optional
            Formats the parameters named in sentences, as Python arguments by default.

        Returns
        -------
        str
            The reasons, separated by blank lines.
        """
        return "\n\n".join(reason.to_text(text_width(), words) for reason in self.reasons)

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        """Return all reasons and the figure as HTML for notebooks."""
        from concordant.support.notebook import notebook

        return notebook([reason.passage() for reason in self.reasons]) + (self.draw() if self.draw is not None else "")
