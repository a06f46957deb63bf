"""Render sections as HTML, with one function per kind of part.

The page embeds its style sheet, its script and a content security policy that allows only these, by checksum.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from concordant.narrative.verdict import Verdict
from concordant.reporting import curves, html_tables, pictures
from concordant.reporting.sections import (
    BumpChart,
    Chance,
    Chips,
    Code,
    Columns,
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
    Section,
    Sparkline,
    Text,
    TimeCurve,
    without_controls,
)
from concordant.reporting.verdict_card import BRAND, icon, verdict_card
from concordant.support.markup import Markup, element, joined, verbatim
from concordant.support.text import capital, typeset

TONES = {"fine": "good", "attention": "warn", "warning": "warn", "neutral": ""}
SPOKEN = {"fine": "Fine", "attention": "Attention", "warning": "Warning", "neutral": "Note"}


@cache
def static(name: str) -> str:
    """Return a style sheet or a script from this folder."""
    return (files("concordant.reporting") / "static" / name).read_text(encoding="utf-8")


def page(title: str, sections: Sequence[Section], *, about: str = "", verdict: Verdict | None = None) -> str:
    """Return a self-contained page; ``about`` is the line under the title."""
    style, scripts = static("report.css"), [static("report.js")]
    scripts += [static("curves.js")] if has_curves(tuple(sections)) else []
    allowed = f"style-src {_source(style)}; script-src {' '.join(map(_source, scripts))}"
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
    masthead = element(
        "header",
        element("h1", element("bdi", title)),
        element("p", about) if about else None,
        contents(sections) if len(sections) > 1 else None,
        class_="masthead",
    )
    card = None if verdict is None else verdict_card(verdict, "h2")
    shown = rendered(without_controls(tuple(sections)))
    made = element("footer", BRAND, element("span", "Made with concordant"))
    main = element("main", masthead, card, shown, made, id="main", class_="report")
    skip = element("a", "Skip to the result", href="#main", class_="skip")
    run = [element("script", verbatim(script, within="script"), type="module") for script in scripts]
    body = element("body", skip, main, *run)
    return "<!doctype html>\n" + element("html", head, body, lang="en") + "\n"


def has_curves(value: Section | Part | tuple[Section | Part, ...]) -> bool:
    """Return whether sections or parts contain curves over time, which have their own script."""
    if isinstance(value, Section | Fold):
        return has_curves(value.parts)
    if isinstance(value, Columns):
        return any(map(has_curves, value.columns))
    return any(map(has_curves, value)) if isinstance(value, tuple) else isinstance(value, TimeCurve)


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
    return panel(section.name, section.title, *map(part, section.parts), note=section.note)


def panel(name: str, title: str, *content: Markup | None, note: str = "") -> Markup:
    """Return content under a heading and a note, as a section of the page."""
    header = element("header", element("h2", title, id=f"{name}-title"), element("p", note) if note else None)
    return element("section", header, *content, id=name, class_="panel", aria_labelledby=f"{name}-title")


def part(content: Part) -> Markup:
    """Return one part of a section as HTML."""
    match content:
        case Text(text, "heading"):
            return element("h3", text)
        case Text():
            kind = {"plain": None}.get(content.kind, content.kind.replace("left-out", "note"))
            return element("p", typeset(content.text), class_=kind)
        case Facts():
            pairs = [joined([element("dt", what), element("dd", how)]) for what, how in content.rows]
            if content.is_tiled:
                return element("dl", *(element("div", pair) for pair in pairs), class_="facts")
            return element("dl", *pairs, class_="about")
        case Messages():
            return _messages(content)
        case ReportTable():
            return html_tables.table(content)
        case HeatMap():
            return _heat_map(content)
        case GroupMap():
            return html_tables.group_matrix(content)
        case BumpChart():
            return _figure(pictures.bump_chart(content), content.title)
        case Sparkline():
            return _figure(pictures.sparkline(content), content.title)
        case TimeCurve():
            return curves.figure(content)
        case Chance():
            return curves.chance_bar(content)
        case Chips():
            return _chips(content)
        case Columns():
            halves = [element("div", *map(part, column), class_="half") for column in content.columns]
            return element("div", *halves, class_="two")
        case Picture():
            # As an image it runs nothing and loads nothing, whatever is in it.
            data = base64.b64encode(content.svg.encode("utf-8")).decode()
            return _figure(element("img", src=f"data:image/svg+xml;base64,{data}", alt=content.title), content.title)
        case Code():
            code = element("pre", element("code", content.text), class_="code", tabindex="0")
            return element("div", element("h3", content.title), code, class_="reproduce")
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
    """Return findings or warnings, each with a sign and the word for its kind."""
    rows = []
    for message in messages.messages:
        tone = TONES[message.tone]
        name = capital(message.name).rstrip(".")
        spoken = element("span", f"{SPOKEN[message.tone]}: ", class_="spoken")
        text = element("p", spoken, element("strong", f"{name}."), " ", message.text)
        rows.append(element("div", icon(tone, 18), text, class_=f"message {tone}".strip()))
    return element("div", *rows, class_="messages")


def _chips(content: Chips) -> Markup:
    """Return findings as chips; every second piece of a chip is a label."""
    chips = []
    for chip in content.chips:
        pieces = (element("bdi", piece) if k % 2 else piece for k, piece in enumerate(chip))
        chips.append(element("li", element("span", *pieces), class_="chip"))
    return element("ul", *chips, class_="chips", aria_label=content.title)


def _heat_map(content: HeatMap) -> Markup:
    if len(content.labels) <= html_tables.MAX_MATRIX:
        return html_tables.matrix(content)
    hover_text = element("p", class_="told", aria_live="polite", hidden=True)
    never = "never compared" if html_tables.has_gaps(content) else ""
    key = html_tables.legend("row loses", "row wins", never)
    return _figure(pictures.heat_map(content), content.title, joined([key, hover_text]))


def _figure(picture: Markup, title: str, more: Markup | None = None) -> Markup:
    scrolled = element("div", picture, class_="scroll", tabindex="0", role="group", aria_label=title)
    return element("figure", element("figcaption", title), scrolled, more)


def _size(n_bytes: int) -> str:
    return f"{n_bytes / 1e6:.1f} MB" if n_bytes >= 1e6 else f"{max(n_bytes / 1e3, 0.1):.1f} kB"
