"""The settings of a page, and the panels around its sections: data, offers, downloads and the card of an item.

Every control carries the name of the setting it changes (``data-setting``); the script of the page writes the value
into the address. ``data-set`` holds several settings that a button changes at once.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from concordant import registry
from concordant.ballots.vocabulary import shorten
from concordant.errors import ConcordantError, Words, in_words
from concordant.method import NEEDS
from concordant.params import params_of
from concordant.reporting.metric_texts import metric_heading
from concordant.reporting.pages import control, panel, part
from concordant.reporting.sections import Control, Section, spoken
from concordant.support.markup import Markup, element, joined
from concordant.support.text import capital
from concordant.web import forms
from concordant.web.drawings import icon
from concordant.web.reading import OPTIONS, Settings, Source
from concordant.web.settings import OTHER_SIDE, ROLE
from concordant.web.words import LABELS, LAYOUT_WORDS, VALUES, control_words

if TYPE_CHECKING:
    from concordant.web.ranked import RankTask

ENCODINGS = ("utf-8", "windows-1252", "latin-1", "utf-16", "shift_jis", "gb18030", "big5", "euc-kr", "windows-1251")
DELIMITERS = ((",", "Comma"), (";", "Semicolon"), ("tab", "Tab"), ("|", "Vertical bar"), ("space", "Space"))
METRICS = ("ndcg@10", "map", "p@5", "mrr", "recall@100", "err@10")
COMMON = ("missing", "seats", "ties", "prior", "k", "period", "since", "half_life", "window", "rules", "norm")
RARE = ("table", "transpose", "date_order", "categories", "repeated")  # settings on how files are read
COMMON_KINDS = (("html", "Report (HTML)"), ("png", "Verdict card (PNG)"), ("card", "Verdict card (SVG)"))
SHOWN = 2  # options of the method that are always visible


def group(title: str, *content: Markup | None, folded: bool = False, is_open: bool = False) -> Markup:
    """Return a group of controls; a folded one opens on request."""
    if folded:
        return element("details", element("summary", title), *content, class_="group", open=is_open)
    return element("div", element("h3", title) if title else None, *content, class_="group")


# ---- the settings of a ranking ----
def controls(task: RankTask, *, is_complete: bool) -> Markup:
    """Return all settings of a ranking, the common ones first."""
    groups = [
        method(task, task.request.choice.name, is_complete=is_complete, scale=_scale(task)),
        _evaluation(task),
        _compared(task, is_complete=is_complete),
        _style(task),
        _groups(task),
        columns(task.source),
        reading(task.source, task.settings),
        _more(task),
    ]
    return joined(one for one in groups if one is not None)


def method(task: RankTask, chosen: str, *, is_complete: bool = True, scale: Markup | None = None) -> Markup:
    """Return the choice of the method, its summary, its options and the scale of its scores."""
    known = registry.resolve(chosen)[0]
    only = element("option", registry.title_of(chosen), value=chosen, selected=True)
    menu = element(
        "select",
        _methods(task, known) if is_complete else only,
        id="set-method",
        data_setting="method",
        data_default="" if not task.settings.get("method") else None,
        aria_describedby="set-method-hint",
    )
    about = element("small", registry.load(known).summary(), id="set-method-hint")
    is_search = task.field.name == "search"
    label = element("label", "Fusion method" if is_search else LABELS["method"], for_="set-method")
    options = [one for one in params_of(registry.load(known)) if one.name != "missing" or _may_omit(task)]
    declared = sorted(options, key=lambda one: one.name not in COMMON)
    fields = [forms.option_field(one, task.settings["params"].get(one.name, "")) for one in declared]
    is_set = any(one.name in task.settings["params"] for one in declared[SHOWN:])
    rest = element("details", element("summary", "More options of this method"), *fields[SHOWN:], open=is_set)
    parts = [element("div", label, menu, about, class_="field"), *fields[:SHOWN], rest if fields[SHOWN:] else None]
    return group("", *parts, scale)


def _may_omit(task: RankTask) -> bool:
    """Return whether ballots may leave out items, so that an option on unranked items matters."""
    return "missing" in task.settings["params"] or task.prefs.form not in ("pairs", "teams")


def _scale(task: RankTask) -> Markup | None:
    """Return the choice of the scale, if the scores are log odds."""
    if task.scale is None and not task.has_log_odds:
        return None
    chosen = "elo" if task.scale is not None else ""
    choices = (("", "Log odds"), ("elo", "Elo"))
    buttons = [
        element(
            "label",
            element("input", type="radio", name="scale", value=value, checked=value == chosen, data_setting="scale"),
            text,
        )
        for value, text in choices
    ]
    segments = element("div", *buttons, class_="segments", role="radiogroup", aria_label=LABELS["scale"])
    anchor = [_field("anchor", task, "item or item=1000"), _field("centre", task, "1000", "number")] if chosen else []
    return joined([element("div", element("span", LABELS["scale"], class_="label"), segments, class_="field"), *anchor])


def _methods(task: RankTask, chosen: str) -> Markup:
    """Return all methods as options: suitable ones first; unusable ones last, with what they need."""
    suitable = {advice.method for advice in task.data.description.methods}
    groups: dict[str, list[Markup]] = {"Suitable for these data": [], "Other methods": [], "Not applicable": []}
    for name in sorted(registry.names(), key=lambda name: registry.title_of(name).lower()):
        missing = task.kept(f"needs-{name}", lambda name=name: _missing_needs(name, task))  # type: ignore[misc]
        title = registry.title_of(name)
        label = "Not applicable" if missing else "Suitable for these data" if name in suitable else "Other methods"
        option = element(
            *("option", f"{title} ({missing})" if missing else title),
            value=name,
            selected=name == chosen,
            disabled=bool(missing),
        )
        groups[label].append(option)
    return joined(element("optgroup", *options, label=label) for label, options in groups.items() if options)


def _missing_needs(name: str, task: RankTask) -> str:
    """Return what a method needs and these data lack; empty if it can rank them."""
    try:
        method = registry.make(name)
    except ConcordantError as problem:
        return in_words(problem, control_words())
    try:
        method.check_needs(task.prefs)
    except ConcordantError:
        lacking = [need for need in sorted(method.needs) if need in NEEDS]
        return f"needs {' and '.join(lacking)}"
    return ""


def _compared(task: RankTask, *, is_complete: bool) -> Markup | None:
    """Return the methods to compare, as a list that can be searched."""
    if not is_complete or "compared" not in vars(task.study):
        return None
    compared = task.study.compared[0]
    chosen = () if compared is None else tuple(registry.resolve(name)[0] for name in compared.names)
    names = [name for name in registry.names() if not task.kept(f"needs-{name}", lambda: "")]
    order = sorted(names, key=lambda name: (name not in chosen, registry.title_of(name).lower()))
    boxes = [
        element(
            "label",
            element(
                "input",
                type="checkbox",
                id=f"compare-{name}",
                value=name,
                checked=name in chosen,
                data_setting="methods",
                data_list=True,
            ),
            registry.title_of(name),
            class_="check",
        )
        for name in order
    ]
    search = element(
        "input", type="search", placeholder=f"Search {len(names)} methods", data_search="compared", id="find-method",
        aria_label="Search methods", autocomplete="off",
    )  # fmt: skip
    return group("Compare with", search, element("div", *boxes, id="compared", class_="checks"))


def _style(task: RankTask) -> Markup | None:
    """Return the pairs of columns to control for, and a picker for another pair."""
    source = task.source
    if source.preview.plan is None or source.preview.plan.layout != "pairs":
        return None
    pairs = [
        (role.removeprefix(OTHER_SIDE), column) for column, role in source.roles.items() if role.startswith(OTHER_SIDE)
    ]
    single = [
        column
        for column, role in source.roles.items()
        if role == forms.COVARIATE and column not in {first for first, _ in pairs}
    ]
    chips = [_removable(f"{a} − {b}", [a, b]) for a, b in pairs] + [_removable(column, [column]) for column in single]
    free = forms.numeric_columns(source.preview, source.roles)
    if not chips and len(free) < 1:
        return None
    shown = element("ul", *(element("li", chip) for chip in chips), class_="chips") if chips else None
    if not free:
        return group("Style control", shown)
    guess = next(iter(forms.likely_pairs(free)), (free[0], free[1] if len(free) > 1 else ""))
    menus = [
        element(
            "select",
            *([element("option", "one column of differences", value="")] if k else []),
            *(element("option", shorten(name, 40), value=name, selected=name == guess[k]) for name in free),
            id=f"pair-{k}",
            aria_label=("First column", "Second column")[k],
        )
        for k in range(2)
    ]
    add = element("button", "Add pair", type="button", class_="button small", id="add-pair")
    hint = element("small", "Columns with a property of each side, such as the length of both answers.")
    picker = element("div", element("span", "Add a pair of columns", class_="label"), *menus, add, hint, class_="field")
    return group("Style control", shown, picker)


def _removable(text: str, names: Sequence[str]) -> Markup:
    change = json.dumps({f"{ROLE}{name}": "" for name in names})
    return element("button", f"{text} ✕", type="button", class_="chip", data_set=change, aria_label=f"Remove {text}")


def _groups(task: RankTask) -> Markup | None:
    """Return the choice of the column of groups."""
    candidates = forms.group_columns(task.source.preview, task.source.roles)
    if task.source.by and task.source.by not in candidates:
        candidates = (task.source.by, *candidates)
    if not candidates:
        return None
    options = [("", "none"), *((name, shorten(name, 40)) for name in candidates)]
    return group("Groups", control(Control("by", "Split by", task.source.by, options=tuple(options))))


def _evaluation(task: RankTask) -> Markup | None:
    """Return the metrics, the baseline and the file of relevance judgements, for search results."""
    if task.labels is None and task.prefs.n_instances == 1:
        return None
    choose = element(
        "p",
        element("input", type="file", id="judgements", class_="spoken"),
        element("label", "Choose relevance judgements", for_="judgements", class_="button small"),
    )
    if task.labels is None:
        return group("Evaluation", choose)
    chosen = task.study.metrics
    names = list(dict.fromkeys([*METRICS, *chosen]))
    boxes = [
        element(
            "label",
            element(
                "input", type="checkbox", value=name, checked=name in chosen, data_setting="metrics", data_list=True
            ),
            metric_heading(name),
            class_="check",
        )
        for name in names
    ]
    systems = [("", "best single run"), *((name, shorten(name, 40)) for name in task.prefs.agents or ())]
    baseline = Control("baseline", "Baseline", task.settings.get("baseline", ""), options=tuple(systems))
    return group("Metrics", element("div", *boxes), control(baseline), choose)


def _more(task: RankTask) -> Markup:
    """Return options that are needed now and then."""
    fields = [_field("min_ballots", task, "0", "number"), _field("add_columns", task, "rank_ub, margin, votes")]
    is_open = any(task.settings.get(name) for name in ("min_ballots", "add_columns"))
    return group("More options", *fields, folded=True, is_open=is_open)


def _field(name: str, task: Any, placeholder: str, kind: str = "text") -> Markup:
    value = task.settings.get(name)
    shown = "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
    inner = element(
        "input", type=kind, id=f"set-{name}", value=shown, placeholder=placeholder, autocomplete="off",
        data_setting=name, step="any" if kind == "number" else None,
    )  # fmt: skip
    return element("div", element("label", LABELS[name], for_=f"set-{name}"), inner, class_="field")


# ---- how files are read ----
def columns(source: Source | None, *, is_open: bool = False) -> Markup | None:
    """Return the role of each column."""
    if source is None or not source.preview.columns:
        return None
    pairs = [
        joined([element("code", element("bdi", shorten(name, 40)), title=name), menu])
        for name, menu in zip(source.preview.columns, forms.role_menus(source), strict=True)
    ]
    return group("Columns", element("div", *pairs, class_="roles"), folded=True, is_open=is_open)


def reading(source: Source | None, settings: Settings, *, is_open: bool = False) -> Markup:
    """Return how the files are read: kind of data, encoding, delimiter, sheet, rows to keep."""
    is_table = source is None or bool(source.preview.columns)
    name = "" if source is None else source.preview.format
    is_text = name in ("", "csv", "tsv", "text", "txt") or not is_table
    fields: list[Markup] = []
    if is_table:
        fields.append(_choice("layout", settings, LAYOUT_WORDS.items()))
    if is_text:
        encodings = dict.fromkeys([*ENCODINGS, *filter(None, [settings.get("encoding")])])
        fields.append(_choice("encoding", settings, [(value, value.upper()) for value in encodings]))
        fields.append(_choice("delimiter", settings, list(DELIMITERS)))
    if source is not None and forms.has_sheets(source.files[0]):
        sheets = source.preview.sheets
        if settings.get("sheet", "") in ("", *sheets) and sheets:
            fields.append(_choice("sheet", settings, [(name, shorten(name, 40)) for name in sheets], "first with data"))
        else:
            hint = "Name or number; by default the first sheet with data."
            fields.append(control(Control("sheet", LABELS["sheet"], settings.get("sheet", ""), "text", hint=hint)))
    if is_table:
        fields.append(control(Control("where", LABELS["where"], settings.get("where", ""), "text")))
    fields += [rare(name, settings) for name in RARE if settings.get(name)]
    skip = Control("skip_bad_rows", LABELS["skip_bad_rows"], str(bool(settings.get("skip_bad_rows"))).lower(), "check")
    fields.append(control(skip))
    is_set = any(settings.get(one) for one in OPTIONS)
    return group("How the file is read", *fields, folded=True, is_open=is_open or is_set)


def rare(name: str, settings: Settings) -> Markup:
    """Return a setting on how files are read that is shown only where it is set or a message names it."""
    if name == "transpose":
        return control(Control(name, LABELS[name], str(bool(settings.get(name))).lower(), "check"))
    if name in ("date_order", "repeated"):
        choices = VALUES.get(name) or {word: word for word in ("last", "first", "majority")}
        return _choice(name, settings, choices.items())
    return control(Control(name, LABELS[name], settings.get(name, ""), "text"))


def _choice(
    name: str, settings: Settings, options: Iterable[tuple[str, str]], default: str = "recognised automatically"
) -> Markup:
    return control(Control(name, LABELS[name], settings.get(name, ""), options=(("", default), *options)))


# ---- panels ----
def where(summary: str) -> Markup:
    """Return the line next to the name of the data set."""
    return element("span", summary)


def data_panel(
    source: Source, about: Section, warnings: Section | None, question: Mapping[str, Any], words: Any
) -> Markup:
    """Return the panel on the data: first rows with roles, findings, and buttons to add files."""
    shown = spoken(about, words)
    add = element(
        "div",
        element("input", type="file", id="more", multiple=True, class_="spoken"),
        element("label", "Add files", for_="more", class_="button small"),
        element("a", "Columns and encoding", href="#settings", class_="button small", data_opens="settings"),
        class_="row",
    )
    parts = [forms.preview_table(source), add, *(part(content) for content in shown.parts)]
    if warnings is not None:
        parts += [element("h3", "Warnings"), *(part(content) for content in spoken(warnings, words).parts)]
    return panel("data", "Data", *parts, note=_files(question))


def _files(question: Mapping[str, Any]) -> str:
    names = [*question["files"], *filter(None, [question["labels"]])]
    plain = [shorten(name.replace("\\", "/").rpartition("/")[2], 60) for name in names]
    return ", ".join(plain[:6]) + (f" and {len(plain) - 6} more" if len(plain) > 6 else "")


def sentence(text: str) -> str:
    """Begin a sentence with a capital letter, unless it begins with the name of a file."""
    return capital(text) if text[:1].islower() and "." not in text.split(" ")[0] else text


def offers_row(offers: Sequence[Any], notes: Sequence[str], words: Words) -> Markup:
    """Return how the data were understood, and what else can be done with them as buttons."""
    understood = " ".join(f"{sentence(in_words(note, words)).removesuffix('.')}." for note in notes)
    buttons = [
        element(
            "button", offer.text, type="button", class_="button small", data_set=json.dumps(dict(offer.settings)),
            title=offer.reason,
        )
        for offer in offers
    ]  # fmt: skip
    row = element("div", *buttons, class_="row", role="group", aria_label="Also possible") if buttons else None
    return joined([element("p", understood, class_="note", id="understood") if understood else None, row])


def downloads(kinds: Sequence[tuple[str, str]], shell: str, python: str) -> Markup:
    """Return the panel of downloads: the report, the card and files of other kinds, with the command and the code that
    reproduce the page.
    """
    links = [
        element(
            *("button", icon("report") if kind == "html" else None, text), type="button", data_download=kind,
            class_="button small primary" if kind == "html" else "button small",
        )
        for kind, text in (*COMMON_KINDS, *kinds)
    ]  # fmt: skip
    lines = [
        element(
            "div",
            element(
                "h3",
                title,
                element(
                    "button",
                    "Copy",
                    type="button",
                    class_="button small",
                    data_copy=name,
                    aria_label=f"Copy: {title.lower()}",
                ),
            ),
            element("pre", text, class_="code", tabindex="0", id=name),
        )
        for title, text, name in (("On the command line", shell, "shell"), ("In Python", python, "python"))
        if text
    ]
    head = element(
        "header",
        element("h2", "Download and share", id="download-title"),
        element(
            "p", "Reports and cards contain file names, never folders. The address of this page keeps all settings."
        ),
    )
    return element(
        "section", head, element("div", *links, class_="row"), element("div", *lines, class_="two reproduce"),
        class_="panel", aria_labelledby="download-title",
    )  # fmt: skip


def card(section: Section | None, noun: str, words: Any) -> Markup:
    """Return the card of an item."""
    if section is None:
        return Markup("")
    shown = spoken(section, words)
    close = element(
        "a", icon("close"), href="#main", class_="button icon plain push", data_close_item=True, aria_label="Close"
    )
    head = element(
        "header",
        element(
            "div",
            element("p", noun.capitalize(), class_="small quiet"),
            element("h2", element("bdi", shown.title), id="item-h", tabindex="-1"),
        ),
        close,
    )
    return joined([head, *(part(content) for content in shown.parts)])
