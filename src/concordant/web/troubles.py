"""What the page shows when a file or a setting cannot be used: the problem, the lines around it, and remedies.

Remedies come from the message itself: it records the parameters it names, and each that has a value and a control on
the page becomes a button. The encodings that can be meant are tried on the line that cannot be read.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from concordant.ballots.vocabulary import shorten
from concordant.errors import ConcordantError, FormatError, Reference, Words, in_words
from concordant.reporting import pages
from concordant.support.markup import Markup, element, joined
from concordant.tables.options import PREFERENCES, columns_of, normalise
from concordant.web import drawer, forms
from concordant.web.drawings import icon
from concordant.web.forms import has_sheets
from concordant.web.reading import Settings, Source, source_of
from concordant.web.settings import NOT_READ, OPTION, ROLE, settings_of
from concordant.web.words import LAYOUT_WORDS, VALUES, role_label

MAX_SHEETS = 5  # offered as buttons
AROUND = 2  # lines shown before and after the one with the problem
MAX_LINE = 400  # characters
MAX_LINES = 5_000_000  # that are passed over to reach it
HEAD = 4_000  # bytes of a line, or of a file, on which encodings are tried
MAX_ENCODINGS = 4  # that are offered
WIDE = ("utf-16-le", "utf-16-be")  # whose every second byte is 0 in western text: the second, or the first
SHOWN = 60  # characters of a line that a remedy shows
PLACEHOLDERS = ("", "…", "COLUMN", "NAME")
AGAIN = "The file is read again in this way."
GROUPING = ("agent", "ballot", "instance")  # roles of columns that say which rows belong together
MAX_TRIED = 20_000_000  # bytes of files that are read again to try remedies
MAX_ROLES = 6  # roles of columns that are tried
FEW = 0.1  # share of the rows up to which leaving them out is offered first
SOLVED, OTHER, SAME = range(3)  # what remains of a problem
CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1f]")  # characters that no text has
NOT_DATA = (  # how files begin that are no data, whatever they are called
    (b"\x89PNG", "an image"), (b"\xff\xd8\xff", "an image"), (b"GIF8", "an image"), (b"%PDF-", "a PDF document"),
    (b"<!doctype html", "a web page"), (b"<html", "a web page"),
)  # fmt: skip


class Remedy(NamedTuple):
    """What can be done about a problem: a title, a sentence, a button, and the settings that it changes.

    ``is_costly`` remedies lose much of the data; they come after all others.
    """

    title: str
    text: str
    button: str
    change: dict[str, str]
    is_costly: bool = False


def diagnosed(problem: ConcordantError, files: Sequence[str]) -> ConcordantError:
    """Return the problem, or a simpler one if the file holds no data at all."""
    path = _file_of(problem, files)
    if path is not None and os.path.isfile(path):
        with open(path, "rb") as file:
            head = file.read(20).lower()
        what = next((what for sign, what in NOT_DATA if head.startswith(sign.lower())), None)
        is_undecoded = any(reference.name == "encoding" for reference in problem.message.references)
        if what is None and is_undecoded and not _encodings(problem, files):
            what = "not a text file, and has none of the binary formats that can be read"
        if what is not None:
            advice = "open a table, ballots, matches, runs or a spreadsheet instead"
            return FormatError(f"{os.path.basename(path)} is {what}: {advice}.")
    return problem


def section(name: str, title: str, message: str) -> Markup:
    """Return a section that could not be computed."""
    box = element("div", element("strong", "Not available"), element("span", message), class_="empty")
    return pages.panel(name, title, box)


def panel(
    problem: ConcordantError, files: Sequence[str], source: Source | None, settings: Settings, words: Words
) -> Markup:
    """Return the panel on a file or a setting that cannot be used; ``source`` has the columns, if there are any."""
    message = in_words(problem, words)
    what, colon, advice = _parted(message)
    is_of_file, found = _file_of(problem, files) is not None, remedies(problem, files, settings)
    has_columns = source is not None and bool(source.preview.columns)
    lacks_roles = has_columns and source is not None and source.preview.plan is None
    chip = element(
        "span",
        icon("bad"),
        "Not read" if is_of_file or isinstance(problem, FormatError) else "Not possible",
        class_="chip bad",
    )
    parts = [
        element("header", chip),
        element("div", element("h2", drawer.sentence(what or message), class_="headline", id="problem-title"),
                element("p", drawer.sentence(advice), class_="quiet") if colon and what else None),
        _lines(problem, files, settings),
        element("h3", "What you can do"),
        element("ul", *_rows(
            found, has_columns=has_columns and (is_of_file or lacks_roles or not found), lacks_roles=lacks_roles
        ), class_="fix"),
    ]  # fmt: skip
    return element("section", *parts, class_="panel", aria_labelledby="problem-title")


def controls(problem: ConcordantError, source: Source | None, settings: Settings) -> Markup:
    """Return the settings on how files are read, opened, with those that the message names."""
    named = {reference.name for reference in problem.message.references if not reference.of}
    further = [drawer.rare(name, settings) for name in drawer.RARE if name in named and not settings.get(name)]
    shown = [
        drawer.columns(source, is_open=True),
        drawer.group("", *further) if further else None,
        drawer.reading(source, settings, is_open=True),
    ]
    return joined(one for one in shown if one is not None)


def _parted(message: str) -> tuple[str, str, str]:
    """Split a message before its advice: at its last colon outside quotation marks and parentheses."""
    hidden = re.sub(r"“[^”]*”|\([^()]*\)", lambda quoted: "x" * len(quoted[0]), message)
    at = hidden.rfind(": ")
    return (message[:at], ": ", message[at + 2 :]) if at >= 0 else ("", "", message)


# ---- remedies ----
def remedies(problem: ConcordantError, files: Sequence[str], settings: Settings) -> list[Remedy]:
    """Return the remedies that the message names, and the way back if settings were changed."""
    found: list[Remedy] = []
    layout = ""
    for reference in problem.message.references:
        layout = layout or (reference.value if reference.name == "layout" else "")
        found += _remedies(reference, problem, files, settings, layout)
    found = [*_roles(problem, files, settings), *found, *_sheets(files, settings)]
    changed = {name: "" for name, value in settings.items() if value and name not in ("params", "roles")}
    changed |= {f"{OPTION}{name}": "" for name in settings["params"]} | {
        f"{ROLE}{name}": "" for name in settings["roles"]
    }
    if changed:
        text = "Everything is chosen from the data again."
        found.append(Remedy("Undo all settings of this page", text, "Undo all settings", changed))
    by_change = {json.dumps(remedy.change): remedy for remedy in reversed(found)}
    order = {key: _use(remedy, problem, files, settings) for key, remedy in by_change.items()}
    kept = [key for key in reversed(by_change) if order[key] < SAME]
    return [by_change[key] for key in sorted(kept, key=lambda key: (by_change[key].is_costly, order[key]))]


def _roles(problem: ConcordantError, files: Sequence[str], settings: Settings) -> list[Remedy]:
    """Return other roles of columns with which the files can be read: of the column that the problem is in, and of
    unread columns that may hold what the message asks for.
    """
    if problem.line is None or sum(map(_size, files)) > MAX_TRIED:
        return []
    try:
        source = source_of(list(files), settings)
    except ConcordantError:
        return []
    found, numeric = [], forms.numeric_columns(source.preview, source.roles)
    wanted = [one.name for one in problem.message.references if one.name in GROUPING and one.value in PLACEHOLDERS]
    for column in source.preview.columns:
        shown = shorten(column, SHOWN)
        if column == problem.column and source.roles.get(column) in GROUPING:
            role, change = role_label(source.roles[column]), {f"{ROLE}{column}": NOT_READ}
            text = f"The column {shown} is not read: no row is left out for it."
            found.append(Remedy(f"Read without the {role}", text, f"Do not read {shorten(column, 20)}", change))
        is_name = column not in numeric or normalise(column).endswith("id")
        if source.roles.get(column) or not is_name:
            continue
        for name in dict.fromkeys(wanted):
            role, change = role_label(name), {f"{ROLE}{column}": name}
            button = f"Use {shorten(column, 20)} as {role}"
            found.append(Remedy(f"{shown} is the {role}", "The column gets this role.", button, change))
    return [one for one in found[:MAX_ROLES] if _rows_left_out(files, settings, one.change) == 0]


def _size(path: str) -> int:
    return os.path.getsize(path) if os.path.isfile(path) else 0


def _rows_left_out(files: Sequence[str], settings: Settings, change: Mapping[str, str]) -> int | None:
    """Return how many rows are left out if the files are read with a change; None if they cannot be read."""
    try:
        prefs = source_of(list(files), _changed(settings, change)).request(None).read()
    except ConcordantError:
        return None
    counts = [re.match(r"(?:.*: )?left out ([\d,]+) rows?: ", str(note)) for note in prefs.notes]
    return sum(int(count[1].replace(",", "")) for count in counts if count)


def _skipping(problem: ConcordantError, files: Sequence[str], settings: Settings) -> Remedy:
    """Return the remedy that leaves out unreadable rows, which is costly if these are not few."""
    change, text = {"skip_bad_rows": "true"}, "The ranking uses the others and says how many."
    is_costly, path = False, _file_of(problem, files)
    if path is not None and _size(path) and sum(map(_size, files)) <= MAX_TRIED:
        with open(path, "rb") as file:
            n_lines = sum(1 for _ in file) - 1
        n_out = _rows_left_out(files, settings, change)
        is_costly = n_out is None or (problem.line is not None and n_out > FEW * n_lines)
        if n_out and problem.line is not None and n_out <= n_lines:
            text = f"{n_out:,} of {n_lines:,} rows would be left out."
    return Remedy("Leave out unreadable rows", text, "Skip unreadable rows", change, is_costly)


def _sheets(files: Sequence[str], settings: Settings) -> list[Remedy]:
    """Return the other sheets of a workbook as remedies, if none was chosen."""
    if settings.get("sheet") or not has_sheets(files[0]):
        return []
    try:
        names = source_of(list(files), settings).preview.sheets[1:]
    except ConcordantError:
        return []
    text = "The first sheet with data was read; this one is another."
    return [
        Remedy(f"Read the sheet {shorten(name, 40)}", text, f"Read {shorten(name, 20)}", {"sheet": name})
        for name in names[:MAX_SHEETS]
    ]


def _use(remedy: Remedy, problem: ConcordantError, files: Sequence[str], settings: Settings) -> int:
    """Return how the first rows can be read with a remedy: without a problem, with another one, or with the same."""
    try:
        source_of(list(files), _changed(settings, remedy.change)).check()
    except ConcordantError as other:
        return SAME if str(other) == str(problem) else OTHER
    return SOLVED


def _changed(settings: Settings, change: Mapping[str, str]) -> dict[str, Any]:
    """Return the settings after a change, in which empty values remove a setting."""
    new = settings_of([(name, value) for name, value in change.items() if value])
    kept = {name: value for name, value in settings.items() if name not in change}
    for part, prefix in (("params", OPTION), ("roles", ROLE)):
        old = {name: value for name, value in settings[part].items() if f"{prefix}{name}" not in change}
        new[part] = {**old, **new[part]}
    return {**kept, **new}


def _remedies(
    reference: Reference, problem: ConcordantError, files: Sequence[str], settings: Settings, layout: str
) -> list[Remedy]:
    """Return the remedies for a parameter that a message names; none if the page has no control for it."""
    name, value = reference.name, reference.value
    if reference.of:
        return []
    if name == "skip_bad_rows" and not settings.get("skip_bad_rows"):
        return [_skipping(problem, files, settings)]
    if name == "encoding":
        place = f"Line {problem.line:,}" if problem.line else "The first line"
        return [
            Remedy(f"Read as {known.upper()}", f"{place} then reads: {text}", f"Read as {known.upper()}", {name: known})
            for known, text in _encodings(problem, files)
        ]
    if name == "layout" and value in LAYOUT_WORDS:
        return [Remedy(f"Read as: {LAYOUT_WORDS[value]}", AGAIN, "Read this way", {name: value})]
    if name == "transpose" and not settings.get("transpose"):
        change = {"layout": layout or settings.get("layout", ""), name: "true"}
        return [Remedy("Every row is a person, every column an item", AGAIN, "Read rows as people", change)]
    if name == "date_order" and value in VALUES[name]:
        first = VALUES[name][value].removeprefix("the ")
        return [Remedy(f"Dates begin with the {first}", AGAIN, f"Read {first} first", {name: value})]
    if name in columns_of(PREFERENCES) and value not in (*PLACEHOLDERS, "none", "None", "False") and "," not in value:
        role = role_label(name)
        change = {f"{ROLE}{value}": name}
        return [Remedy(f"{value} is the {role}", "The column gets this role.", f"Use {value} as {role}", change)]
    if name in ("delimiter", "sheet", "question", "table") and value not in PLACEHOLDERS:
        return [Remedy(f"Use the {name} {value}", AGAIN, "Read this way", {name: value})]
    return []


def _rows(found: Sequence[Remedy], *, has_columns: bool, lacks_roles: bool = False) -> list[Markup]:
    """Return the remedies, and the ways to the columns and to another file; the columns come first if none has a role,
    or if all remedies are costly.
    """
    is_first = has_columns and (lacks_roles or all(remedy.is_costly for remedy in found))
    rows = [_row(remedy.title, remedy.text, element(
        "button", remedy.button, type="button", data_set=json.dumps(remedy.change),
        class_="button" if k or is_first or remedy.is_costly else "button primary",
    )) for k, remedy in enumerate(found)]  # fmt: skip
    columns = element(
        "a", "Choose columns", href="#settings", class_="button primary" if is_first else "button",
        data_opens="settings",
    )  # fmt: skip
    other = element("a", "Choose another file", href="/", class_="button")
    if has_columns:
        choose = _row("Choose the columns yourself", "Say what each column holds.", columns)
        rows.insert(0 if is_first and found else len(rows), choose)
    return [*rows, _row("Open another file", "The data set stays in the list.", other)]


def _row(title: str, text: str, act: Markup) -> Markup:
    return element("li", element("div", element("h3", title), element("p", text)), act)


def _encodings(problem: ConcordantError, files: Sequence[str]) -> list[tuple[str, str]]:
    """Return encodings in which the line with the problem, or the beginning of the file, is text, and that text."""
    path, found = _file_of(problem, files), list[tuple[float, int, str, str]]()
    if path is None or not os.path.isfile(path):
        return []
    with open(path, "rb") as file:
        sample = file.read(HEAD)
    if problem.line is not None and b"\x00" not in sample:
        sample = _line_at(path, problem.line) or sample
    wide = next((known for k, known in enumerate(WIDE) if 4 * sample[1 - k :: 2].count(0) > len(sample)), None)
    if b"\x00" in sample and wide is None:
        return []
    for order, known in enumerate([wide] if wide else [one for one in drawer.ENCODINGS if one != "utf-16"]):
        try:
            text = sample.decode(known)
        except UnicodeDecodeError as broken:  # the sample may end within a character
            text = sample[: broken.start].decode(known, "replace") if broken.start > len(sample) - 4 else ""
        letters = sum(one.isalnum() or one in " ,;.:'\"()-_/\t\r\n<>=" for one in text)
        is_new = text not in [other for *_, other in found]
        if is_new and text.strip() and letters > 0.8 * len(text) and not CONTROLS.search(text):
            found.append((-letters / len(text), order, known, text))
    return [(known, text.strip().splitlines()[0][:SHOWN]) for *_, known, text in sorted(found)][:MAX_ENCODINGS]


# ---- lines of a text file ----
def _file_of(problem: ConcordantError, files: Sequence[str]) -> str | None:
    """Return the file that a problem is about."""
    if problem.path is None:
        return None
    return next((name for name in files if os.path.basename(name) == os.path.basename(problem.path)), problem.path)


def _line_at(path: str, number: int) -> bytes:
    """Return a line of a file, numbered from 1."""
    with open(path, "rb") as file:
        for k, line in enumerate(file, 1):
            if k == number or k >= MAX_LINES:
                return line[:HEAD]
    return b""


def _lines(problem: ConcordantError, files: Sequence[str], settings: Settings) -> Markup | None:
    """Return the lines around the problem, if the file is plain text and the message names a line."""
    path, number = _file_of(problem, files), problem.line
    if path is None or number is None or number > MAX_LINES:
        return None
    numbered: dict[int, str] = {}
    try:
        with open(path, encoding=settings.get("encoding") or "utf-8", errors="replace", newline="\n") as file:
            for k in range(1, number + AROUND + 1):
                line = file.readline(1 << 20)
                if line and (k == 1 or k >= number - AROUND):
                    numbered[k] = line
    except (OSError, LookupError, ValueError):
        return None
    if any(CONTROLS.search(line) for line in numbered.values()):
        return None
    rows, last = [], 0
    for k in sorted(numbered):
        if k > last + 1:
            rows.append(element("div", element("b", "…")))
        text = numbered[k].rstrip("\r\n")
        shown = _marked(text, problem) if k == number else text[:MAX_LINE]
        rows.append(element("div", element("b", f"{k:,}"), shown, class_="wrong" if k == number else None))
        last = k
    return element("div", *rows, class_="lines", tabindex="0", role="region", aria_label="Lines around the problem")


def _marked(line: str, problem: ConcordantError) -> Markup:
    """Return a line with the value marked that the message quotes, or what is no text."""
    quoted = [text for text in re.findall(r"'([^']+)'", str(problem)) if text in line]
    value = quoted[0] if quoted else next(iter(re.findall("\ufffd+", line)), "")
    start = line.find(value) if value else 0
    first = max(0, start - MAX_LINE // 2)  # a long line is shown around the value
    before, after = line[first:start], line[start + len(value) :]
    mark = element("mark", value[:MAX_LINE]) if value else None
    return joined(["…" if first else None, before, mark, after[: MAX_LINE - len(before)]])
