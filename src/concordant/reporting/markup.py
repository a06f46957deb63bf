"""HTML and SVG as values: text becomes part of a page through ``escape`` alone, whatever it holds.

``element("td", label)`` escapes ``label`` unless it is ``Markup`` already, and only this module makes ``Markup``. So a
label with tags, quotes or control signs is shown as it is written, and never becomes a tag, an attribute or a script.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape as escape_signs

from concordant.support.text import visible

EMPTY_ELEMENTS = frozenset(["meta", "link", "input", "br", "hr", "img", "line", "circle", "rect", "path"])


class Markup(str):
    """Text that is HTML or SVG already."""

    __slots__ = ()


NOTHING = Markup("")


def escape(text: str) -> Markup:
    """Return text as HTML that shows it: HTML's signs escaped, control signs and bidirectional marks written out.

    Surrogates, which no file in UTF-8 can hold, are written out as well.
    """
    if isinstance(text, Markup):
        return text
    shown = visible(text, colours=False)
    if not shown.isascii():
        shown = shown.encode("utf-8", "backslashreplace").decode("utf-8")
    return Markup(escape_signs(shown, quote=True))


def element(name: str, /, *children: Markup | str | None, **attributes: object) -> Markup:
    """Return an element; of attributes, ``class_`` is class, ``data_x`` is data-x, None and False are left out."""
    opened = f"<{name}{_attributes(attributes)}"
    if name in EMPTY_ELEMENTS and not children:
        return Markup(f"{opened}/>")
    return Markup(f"{opened}>{joined(children)}</{name}>")


def joined(children: Iterable[Markup | str | None], between: str = "") -> Markup:
    """Return parts of a page one after the other; what is not markup is escaped."""
    return Markup(escape(between).join(escape(child) for child in children if child is not None))


def _attributes(attributes: dict[str, object]) -> str:
    """Return attributes as HTML text; True is a name alone."""
    written = []
    for name, value in attributes.items():
        if value is None or value is False:
            continue
        plain = name.rstrip("_").replace("_", "-")
        written.append(f" {plain}" if value is True else f' {plain}="{escape(_text(value))}"')
    return "".join(written)


def _text(value: object) -> str:
    """Write a number of a picture with five significant digits."""
    return f"{value:.5g}" if isinstance(value, float) else str(value)


def verbatim(text: str, *, within: str) -> Markup:
    """Return our own style sheet, script or data as the content of an element that HTML does not escape."""
    if f"</{within}" in text.lower() or "<!--" in text:
        raise ValueError(f"What stands in <{within}> must not end it.")
    return Markup(text)
