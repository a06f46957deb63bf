"""HTML and SVG as values: all text is escaped by ``escape`` before it becomes part of a page.

``element("td", label)`` escapes ``label`` unless it is already ``Markup``, and only this module creates ``Markup``.
A label with tags, quotes or control characters is therefore shown literally, and never becomes a tag, an attribute
or a script.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape as escape_signs

from concordant.support.text import visible

EMPTY_ELEMENTS = frozenset(["meta", "link", "input", "br", "hr", "img", "line", "circle", "rect", "path"])


class Markup(str):
    """Text that is already HTML or SVG."""

    __slots__ = ()


NOTHING = Markup("")


def escape(text: str) -> Markup:
    """Escape text for HTML; control characters and bidirectional marks are written as escape sequences.

    Surrogates, which UTF-8 cannot encode, are written as escape sequences as well.
    """
    if isinstance(text, Markup):
        return text
    shown = visible(text, colours=False)
    if not shown.isascii():
        shown = shown.encode("utf-8", "backslashreplace").decode("utf-8")
    return Markup(escape_signs(shown, quote=True))


def element(name: str, /, *children: Markup | str | None, **attributes: object) -> Markup:
    """Return an element; the attribute ``class_`` is class, ``data_x`` is data-x, and None and False are omitted."""
    opened = f"<{name}{_attributes(attributes)}"
    if name in EMPTY_ELEMENTS and not children:
        return Markup(f"{opened}/>")
    return Markup(f"{opened}>{joined(children)}</{name}>")


def joined(children: Iterable[Markup | str | None], between: str = "") -> Markup:
    """Concatenate parts of a page; plain text is escaped."""
    return Markup(escape(between).join(escape(child) for child in children if child is not None))


def _attributes(attributes: dict[str, object]) -> str:
    """Return attributes as HTML text; True gives an attribute without a value."""
    written = []
    for name, value in attributes.items():
        if value is None or value is False:
            continue
        plain = name.rstrip("_").replace("_", "-")
        written.append(f" {plain}" if value is True else f' {plain}="{escape(_text(value))}"')
    return "".join(written)


def _text(value: object) -> str:
    """Format a number in a picture with five significant digits."""
    return f"{value:.5g}" if isinstance(value, float) else str(value)


def verbatim(text: str, *, within: str) -> Markup:
    """Return trusted style sheets, scripts or data as the content of an element that HTML does not escape."""
    if f"</{within}" in text.lower() or "<!--" in text:
        raise ValueError(f"The content of <{within}> must not close it.")
    return Markup(text)
