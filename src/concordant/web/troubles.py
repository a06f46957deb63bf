"""What the page shows when a file or a setting cannot be used: the problem, the lines around it, and remedies.

Remedies come from the message itself: it records the parameters it names, and each that has a value and a control on
the page becomes a button.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence

from concordant.errors import ConcordantError, Reference, Words, in_words
from concordant.support.markup import Markup, element, joined
from concordant.tables.options import PREFERENCES, columns_of
from concordant.web import drawer
from concordant.web.drawings import icon
from concordant.web.forms import LAYOUT_WORDS
from concordant.web.reading import Settings, Source
from concordant.web.settings import ROLE
from concordant.web.words import role_label

AROUND = 2  # lines shown before and after the one with the problem
MAX_LINE = 400  # characters
MAX_LINES = 5_000_000  # that are passed over to reach it
PLACEHOLDERS = ("", "…", "COLUMN", "NAME")


def section(name: str, title: str, message: str) -> Markup:
    """Return a section that could not be computed."""
    head = element("header", element("h2", title, id=f"{name}-title"))
    box = element("div", element("strong", "Not available"), element("span", message), class_="empty")
    return element("section", head, box, id=name, class_="panel", aria_labelledby=f"{name}-title")


def panel(problem: ConcordantError, files: Sequence[str], settings: Settings, words: Words) -> Markup:
    """Return the panel on a file or a setting that cannot be used."""
    message = in_words(problem, words)
    what, colon, advice = message.rpartition(": ")
    chip = element("span", icon("bad"), "Not read", class_="chip bad")
    remedies = _remedies(problem, settings)
    parts = [
        element("header", chip),
        element("div", element("h2", _capital(what or message), class_="headline", id="problem-title"),
                element("p", _capital(advice), class_="quiet") if colon and what else None),
        _lines(problem, files),
        element("h3", "What you can do") if remedies else None,
        element("ul", *remedies, class_="fix") if remedies else None,
    ]  # fmt: skip
    return element("section", *parts, class_="panel", aria_labelledby="problem-title")


def controls(source: Source | None, settings: Settings) -> Markup:
    """Return the settings on how files are read, opened."""
    shown = [drawer.columns(source, is_open=True), drawer.reading(source, settings, is_open=True)]
    return joined(one for one in shown if one is not None)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:] if text[:1].islower() and "." not in text.split(" ")[0] else text


# ---- remedies ----
def _remedies(problem: ConcordantError, settings: Settings) -> list[Markup]:
    """Return the remedies that the message names as buttons, then the way to the columns and to another file."""
    found: dict[str, Markup] = {}
    for reference in problem.message.references:
        remedy = _remedy(reference, settings)
        if remedy is not None:
            title, text, button, change = remedy
            said = json.dumps(change)
            class_ = "button" if found else "button primary"
            act = element("button", button, type="button", class_=class_, data_set=said)
            row = element("li", element("div", element("h3", title), element("p", text)), act)
            found.setdefault(said, row)
    columns = element("a", "Choose columns", href="#settings", class_="button", data_opens="settings")
    title = element("div", element("h3", "Choose the columns yourself"), element("p", "Say what each column holds."))
    other = element("a", "Choose another file", href="/", class_="button")
    again = element("div", element("h3", "Open another file"), element("p", "The data set stays in the list."))
    return [*found.values(), element("li", title, columns), element("li", again, other)]


def _remedy(reference: Reference, settings: Settings) -> tuple[str, str, str, dict[str, str]] | None:
    """Return title, text, button and settings of a remedy; None if the page has no control for it."""
    name, value = reference.name, reference.value
    if reference.of:
        return None
    if name == "skip_bad_rows" and not settings.get("skip_bad_rows"):
        return "Leave out unreadable rows", "The ranking uses the others and says how many.", "Skip unreadable rows", {
            "skip_bad_rows": "true"
        }  # fmt: skip
    if name == "layout" and value in LAYOUT_WORDS:
        kind = LAYOUT_WORDS[value]
        return f"Read as: {kind}", "The file is read again in this way.", "Read this way", {"layout": value}
    if name in columns_of(PREFERENCES) and value not in PLACEHOLDERS:
        role = role_label(name)
        if value in ("none", "None", "False"):
            return None
        column = value
        return f"{column} is the {role}", "The column gets this role.", f"Use {column} as {role}", {
            f"{ROLE}{column}": name
        }  # fmt: skip
    if name in ("encoding", "delimiter", "sheet", "question") and value not in PLACEHOLDERS:
        return f"Use {name} {value}", "The file is read again in this way.", "Read this way", {name: value}
    return None


# ---- lines of a text file ----
def _lines(problem: ConcordantError, files: Sequence[str]) -> Markup | None:
    """Return the lines around the problem, if the file is plain text and the message names a line."""
    path, number = problem.path, problem.line
    if path is None or number is None or number > MAX_LINES:
        return None
    full = next((name for name in files if os.path.basename(name) == os.path.basename(path)), path)
    try:
        with open(full, encoding="utf-8", errors="replace") as file:
            head = file.readline()
            numbered = {1: head}
            for k, line in enumerate(file, 2):
                if k > number + AROUND:
                    break
                if k >= number - AROUND:
                    numbered[k] = line
    except OSError:
        return None
    if any("\x00" in line for line in numbered.values()):
        return None
    rows, last = [], 0
    for k in sorted(numbered):
        if k > last + 1:
            rows.append(element("div", element("b", "…")))
        text = numbered[k].rstrip("\r\n")[:MAX_LINE]
        rows.append(element("div", element("b", f"{k:,}"), text, class_="wrong" if k == number else None))
        last = k
    return element("div", *rows, class_="lines", tabindex="0", role="region", aria_label="Lines around the problem")
