"""Render sections as HTML, with one function per kind of part.

The page embeds its style sheet, its script and a content security policy that allows only these, by checksum.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from concordant.reporting import pictures
from concordant.reporting.sections import (
    BumpChart,
    Cell,
    Code,
    Control,
    Download,
    Facts,
    Fold,
    GroupMap,
    HeatMap,
    Messages,
    Part,
    Picture,
    ReportTable,
    Scale,
    Section,
    Text,
    Track,
    without_controls,
)
from concordant.support.markup import Markup, element, joined, verbatim

SORTED_FROM = 3  # rows from which a table can be sorted
FILTERED_FROM = 12
TONES = {"fine": "✓", "attention": "!", "warning": "▲", "neutral": "–"}
SPOKEN = {"fine": "fine", "attention": "needs attention", "warning": "warning", "neutral": "open"}


@cache
def static(name: str) -> str:
    """Return a style sheet or a script from this folder."""
    return (files("concordant.reporting") / "static" / name).read_text(encoding="utf-8")


def page(title: str, sections: Sequence[Section]) -> str:
    """Return a self-contained page."""
    style, script = static("report.css"), static("report.js")
    allowed = f"style-src {_source(style)}; script-src {_source(script)}"
    policy = f"default-src 'none'; img-src data:; {allowed}; base-uri 'none'; form-action 'none'"
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="generator", content="concordant"),
        element("title", title),
        element("style", verbatim(style, within="style")),
    )
    inner = element("header", element("h1", title), contents(sections) if len(sections) > 1 else None, class_="top")
    main = element("main", rendered(without_controls(tuple(sections))), id="main")
    skip = element("a", "Skip to the content", href="#main", class_="skip")
    body = element("body", skip, inner, main, element("script", verbatim(script, within="script"), type="module"))
    return "<!doctype html>\n" + element("html", head, body, lang="en") + "\n"


def _source(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode()
    return f"'sha256-{digest}'"


def contents(sections: Sequence[Section]) -> Markup:
    """Return links to all sections."""
    links = [element("li", element("a", section.title, href=f"#{section.name}")) for section in sections]
    return element("nav", element("ul", *links), aria_label="Sections", class_="contents")


def rendered(sections: Sequence[Section]) -> Markup:
    """Return sections as HTML, without the surrounding page."""
    return joined(_section(section) for section in sections)


def _section(section: Section) -> Markup:
    heading = element("h2", section.title, id=f"{section.name}-title")
    body = joined(part(content) for content in section.parts)
    return element("section", heading, body, id=section.name, aria_labelledby=f"{section.name}-title")


def part(content: Part) -> Markup:
    """Return one part of a section as HTML."""
    match content:
        case Text():
            return element("p", content.text, class_=None if content.kind == "plain" else content.kind)
        case Facts():
            pairs = [element("div", element("dt", what), element("dd", how)) for what, how in content.rows]
            return element("dl", *pairs, class_="facts")
        case Messages():
            return _messages(content)
        case ReportTable():
            return _table(content)
        case HeatMap():
            hover_text = element("p", class_="told", aria_live="polite", hidden=True)
            return _figure(
                pictures.heat_map(content), content.title, joined([_legend("0% wins", "100% wins"), hover_text])
            )
        case GroupMap():
            return _figure(pictures.group_map(content), content.title, _legend("lower than in other groups", "higher"))
        case BumpChart():
            return _figure(pictures.bump_chart(content), content.title)
        case Picture():
            # As an image it runs nothing and loads nothing, whatever is in it.
            data = base64.b64encode(content.svg.encode("utf-8")).decode()
            return _figure(element("img", src=f"data:image/svg+xml;base64,{data}", alt=content.title), content.title)
        case Code():
            return element(
                "div", element("h3", content.title), element("pre", element("code", content.text)), class_="code"
            )
        case Download():
            data = base64.b64encode(content.content).decode()
            link = element("a", content.says, href=f"data:{content.media};base64,{data}", download=content.name)
            return element("p", link, f" ({_size(len(content.content))})", class_="download")
        case Control():
            return control(content)
        case Fold():
            inner = joined(part(inner) for inner in content.parts)
            shown = element("bdi", content.title) if content.title_is_label else content.title
            return element("details", element("summary", shown), inner, id=content.anchor or None)


def control(content: Control) -> Markup:
    """Return a control of the web app with its label; the script of the app reads ``data-setting``."""
    name = f"set-{content.setting}"
    if content.kind == "button":
        return element("button", content.label, type="button", class_="button small", data_setting=content.setting,
                       value=content.value)  # fmt: skip
    common: dict[str, object] = {"id": name, "data_setting": content.setting}
    common["aria_describedby"] = f"{name}-hint" if content.hint else None
    if content.kind == "check":
        box = element("input", type="checkbox", checked=content.value == "true", **common)
        return element("label", box, content.label, class_="check")
    if content.kind == "select":
        options = [
            element("option", shown, value=value, selected=value == content.value) for value, shown in content.options
        ]
        drawn = element("select", *options, **common)
    else:
        listed = f"{name}-list" if content.options else None
        drawn = element("input", type=content.kind, value=content.value, autocomplete="off", list=listed, **common)
        if listed:
            known = [element("option", shown, value=value) for value, shown in content.options]
            drawn = joined([drawn, element("datalist", *known, id=listed)])
    hint = element("small", content.hint, id=f"{name}-hint") if content.hint else None
    return element("div", element("label", content.label, for_=name), drawn, hint, class_="field")


def _messages(messages: Messages) -> Markup:
    """Return findings or warnings as a list, each with a symbol and text for its kind."""
    rows = [
        element(
            "li",
            element("span", TONES[message.tone], class_="tone", aria_hidden="true"),
            element("div", element("strong", message.name), _screen_reader_text(SPOKEN[message.tone]), message.text),
            class_=message.tone,
        )
        for message in messages.messages
    ]  # fmt: skip
    return element("ul", *rows, class_="messages")


def _screen_reader_text(text: str) -> Markup:
    """Return text for screen readers only: the meaning of a colour or symbol."""
    return element("span", f" ({text}) ", class_="spoken")


def _figure(picture: Markup, title: str, more: Markup | None = None) -> Markup:
    scrolled = element("div", picture, class_="scroll", tabindex="0", role="group", aria_label=title)
    return element("figure", scrolled, element("figcaption", title), more)


def _legend(low: str, high: str) -> Markup:
    """Return a colour scale between two labels."""
    swatches = [element("rect", x=26 * k, y=0, width=26, height=12, class_=f"h{k}") for k in range(pictures.SHADES)]
    drawn = element("svg", *swatches, width=26 * pictures.SHADES, height=12, class_="heat", aria_hidden="true")
    return element("p", f"{low} ", drawn, f" {high}", class_="legend")


# ---- tables ----
def _table(table: ReportTable) -> Markup:
    """Return a table; the page's script makes it sortable from 3 rows and filterable from 12."""
    heads = [
        element("th", _head(name, table.scale), scope="col", class_=_class(k, table))
        for k, name in enumerate(table.header)
    ]
    rows = []
    for number, row in enumerate(table.rows):
        cells = [_cell(cell, k, table, number) for k, cell in enumerate(row)]
        rows.append(element("tr", *cells, class_="marked" if number in table.marked else None))
    drawn = element(
        "table",
        element("caption", table.title),
        element("thead", element("tr", *heads)),
        element("tbody", *rows),
        data_sort=table.is_sortable and len(rows) >= SORTED_FROM,
        data_filter=table.is_sortable and len(rows) >= FILTERED_FROM,
    )
    return element("div", drawn, class_="scroll table", tabindex="0", role="group", aria_label=table.title)


def _class(column: int, table: ReportTable) -> str | None:
    """Return the CSS class of a column: drawn, right-aligned, or hidden on narrow screens ("wide")."""
    if table.scale is not None and table.header[column] == table.scale.title:
        return "drawn"
    name = table.header[column]
    if table.scale is not None and (name == "score" or name.endswith("% CI")):  # drawn, so a telephone leaves it out
        return "right wide"
    return "right" if column in table.right else None


def _head(name: str, scale: Scale | None) -> Markup | str:
    """Return the name of a column; above inline plots, also the ends of their axis."""
    if scale is None or name != scale.title:
        return name
    ends = element(
        "span",
        element("span", f"{scale.low:.3g}"),
        element("span", f"{scale.high:.3g}"),
        class_="axis",
    )
    return joined([name, ends])


def _cell(cell: Cell, column: int, table: ReportTable, row: int) -> Markup:
    """Return a cell; the first label of a row is its heading, and a link if the row has a target."""
    if isinstance(cell, Track):
        assert table.scale is not None
        return element("td", pictures.track(cell, table.scale), class_="drawn")
    content: Markup | str = element("bdi", cell) if column in table.labels else cell
    if table.links and table.links[row] and column == min(table.labels):
        link = table.links[row]
        content = element("a", content, href=link if link.endswith(".html") else f"#{link}")
    if column in table.labels and column == min(table.labels) and column <= 1:
        return element("th", content, scope="row")
    return element("td", content, class_=_class(column, table))


def _size(n_bytes: int) -> str:
    return f"{n_bytes / 1e6:.1f} MB" if n_bytes >= 1e6 else f"{max(n_bytes / 1e3, 0.1):.1f} kB"
