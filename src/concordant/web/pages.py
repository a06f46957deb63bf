"""The pages of the web app: start, data set, and problem. The script fills a data set's page part by part."""

from __future__ import annotations

import datetime
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from concordant.reporting.verdict_card import BRAND
from concordant.support.markup import Markup, element, joined
from concordant.web.drawings import icon, picture

FORMATS = (
    "CSV, TSV, Excel, ODS, JSON Lines, Parquet, Arrow, DuckDB, SQLite, PrefLib, LETOR, TREC runs and qrels, also "
    "compressed. Drop several files together, for example runs with their qrels. "
)


class Task(NamedTuple):
    """A card of the start page: an example, with the settings that show what it is for."""

    example: str
    title: str
    text: str
    files: tuple[str, ...]
    address: str = ""


TASKS = (
    Task(
        *("election", "Election", "Ranked ballots, approvals or points. Winner, rounds, and where rules disagree."),
        ("election.csv",),
    ),
    Task(
        *("leaderboard", "LLM leaderboard", "Pairwise votes between models. Elo-scale ratings and style control."),
        ("arena-style.csv",),
        "scale=elo&role.length_a=covariate&role.length_b=covariate",
    ),
    Task(
        *("league", "League or tournament", "Dated match results. Ratings over time, peaks, the next match."),
        ("league.csv",),
        "method=glicko2&role.date=time",
    ),
    Task(
        *("search", "Search results", "TREC runs with relevance judgements. Metrics, significance, fusion."),
        ("runs/*.run", "qrels.txt"),
    ),
    Task(
        *("ratings", "Ratings", "Stars or points by users. Best items, and recommendations for each user."),
        ("ratings.csv",),
    ),
    Task(
        *("form", "Form or survey", "Answers from a form, as CSV or Excel. Each question becomes a ranking."),
        ("lunch-form.csv",),
    ),
)


@dataclass(frozen=True)
class Opened:
    """An open data set, as the start page lists it."""

    key: str
    name: str
    summary: str
    size: int
    opened: float


def start_page(examples: Collection[str], opened: Sequence[Opened]) -> str:
    """Return the start page: an area to drop files, examples by task, and the open data sets."""
    hello = element(
        "div",
        element("h1", "What do you want to rank?"),
        element(
            "p",
            "Open votes, ballots, ratings, matches or search runs. The kind of data is recognised; you can change it "
            "afterwards.",
            class_="quiet",
        ),
        class_="hello",
    )
    tasks = [element("li", _card(task)) for task in TASKS if task.example in examples]
    shown = element(
        "section",
        element("h2", "Or start from an example", id="ex-h", class_="over-cards"),
        element("ul", *tasks, class_="cards"),
        aria_labelledby="ex-h",
    )
    main = element(
        *("main", hello, _drop(), _trouble(), shown if tasks else None, _open_list(opened) if opened else None),
        class_="column",
        id="main",
    )
    return _page("concordant", _top(None), main, "start")


def _drop() -> Markup:
    """Return the area for opening data: by drag and drop, file dialog or pasting."""
    paste = element(
        "div",
        element("label", "Rows", for_="pasted", class_="spoken"),
        element("textarea", id="pasted", rows="5", spellcheck="false", placeholder="winner,loser\nAma,Bo\nCleo,Ama"),
        element(
            "div",
            element("button", "Rank these rows", type="button", id="use-pasted", class_="button primary"),
            element("span", "First line: column names. Comma, tab or semicolon.", class_="note"),
            class_="row",
        ),
        class_="paste",
    )
    return element(
        "section",
        icon("upload", 40),
        element("h2", "Drop files here", id="drop-h"),
        element(
            "div",
            element("input", type="file", id="file", multiple=True, class_="spoken"),
            element("label", "Choose files", for_="file", class_="button primary"),
            class_="row",
        ),
        element("p", FORMATS, element("strong", "Files stay on this computer."), class_="note"),
        element("details", element("summary", "Or paste rows"), paste),
        id="drop",
        class_="drop",
        aria_labelledby="drop-h",
    )


def _card(task: Task) -> Markup:
    words = element(
        "div", element("strong", task.title), element("span", task.text), element("em", "Open example")
    )  # fmt: skip
    return element(
        *("button", picture(task.example), words),
        class_="task",
        type="button",
        data_example=task.example,
        data_address=task.address,
    )


def _open_list(opened: Sequence[Opened]) -> Markup:
    """Return the list of open data sets, each with its size and when it was opened."""
    rows = [
        element(
            "li",
            element("a", element("bdi", one.name), href=f"/d/{one.key}"),
            element("span", one.summary, class_="quiet"),
            element("span", f"{_size(one.size)} · opened ", _when(one.opened), class_="quiet"),
            element(
                "button", "Close", type="button", class_="button small", data_close=one.key,
                aria_label=f"Close {one.name}",
            ),
        )
        for one in opened
    ]  # fmt: skip
    header = element(
        "header",
        element("h2", "Open data sets", id="open-h"),
        element("p", "Kept until you close them, stop the program or open too many others."),
    )
    return element(
        "section", header, element("ul", *rows, class_="open"), class_="panel", id="opened", aria_labelledby="open-h"
    )


def _when(seconds: float) -> Markup:
    """Return a point in time in UTC; the script of the page writes it in local time."""
    moment = datetime.datetime.fromtimestamp(seconds, datetime.UTC)
    return element("time", moment.strftime("%Y-%m-%d %H:%M UTC"), datetime=moment.isoformat(timespec="seconds"))


def _size(n_bytes: int) -> str:
    if n_bytes < 1000:
        return f"{n_bytes} bytes"
    return f"{n_bytes / 1e6:,.1f} MB" if n_bytes >= 1e6 else f"{n_bytes / 1e3:,.3g} kB"


def data_page(key: str, name: str) -> str:
    """Return the page of a data set, with empty regions for the parts of the result."""
    main = element(
        "main",
        _opening(),
        element("div", id="problem", role="alert"),
        element("div", id="at-verdict"),
        element("div", id="offers"),
        element("nav", class_="tabs", aria_label="Sections", id="tabs", hidden=True),
        element("div", id="sections"),
        element("div", id="download"),
        id="main",
    )
    drawer = element(
        "aside",
        element(
            "header",
            element("span", class_="grip"),
            element("h2", "Settings"),
            element("a", "Done", href="#main", class_="button small push", data_dismiss=True),
        ),
        element("div", id="controls"),
        class_="drawer",
        id="settings",
        aria_label="Settings",
    )
    card = element("section", class_="item", id="item", role="dialog", aria_labelledby="item-h", hidden=True)
    scrim = element("a", class_="scrim", href="#main", tabindex="-1", aria_hidden="true")
    frame = element("div", main, drawer, card, scrim, class_="frame", data_key=key)
    report = element("button", "Report", type="button", class_="button primary", data_download="html")
    dock = element(
        "nav",
        element("a", icon("settings"), "Settings", href="#settings", class_="button", data_opens="settings"),
        element("a", icon("download"), "Download", href="#download", class_="button"),
        report,
        class_="dock",
        aria_label="Actions",
    )
    toast = element("div", class_="toast", role="status", id="toast", hidden=True)
    return _page(f"{name} – concordant", _top(name), joined([frame, dock, toast]), "data")


def _opening() -> Markup:
    """Return the progress of work on the ranking itself, with a button to cancel it."""
    return element(
        "div",
        element("p", element("strong", "Opening …", id="progress"), " ", element("span", class_="quiet")),
        element("progress", aria_labelledby="progress"),
        element("button", "Cancel", type="button", class_="button small", id="cancel"),
        class_="job panel",
        id="opening",
    )


def problem_page(title: str, message: str) -> str:
    """Return a page for an address that leads nowhere, with a way out."""
    panel = element(
        "section",
        element("header", element("span", icon("bad"), title, class_="chip bad")),
        element("h1", message, class_="headline"),
        element("div", element("a", "Open data", href="/", class_="button primary"), class_="row"),
        class_="panel",
    )
    return _page(f"{title} – concordant", _top(None), element("main", panel, class_="column", id="main"), "problem")


def _trouble() -> Markup:
    return element("div", id="problem", role="alert")


def _top(name: str | None) -> Markup:
    """Return the bar at the top; ``name`` is that of the data set."""
    brand = element(
        "a", BRAND, element("span", "concordant"), class_="brand" if name is None else "brand slim", href="/",
        aria_label="concordant: start page",
    )  # fmt: skip
    theme = element(
        "button", icon("theme"), class_="button icon plain", type="button", data_theme=True,
        aria_label="Switch between light and dark",
    )  # fmt: skip
    if name is None:
        return element("header", brand, element("div", theme, class_="push"), class_="top")
    where = element("div", element("strong", element("bdi", name)), element("span", id="where"), class_="where")
    actions = [
        element("a", icon("download"), "Download", href="#download", class_="button"),
        element(
            "button", icon("report"), "Create report", type="button", class_="button primary", data_download="html"
        ),
    ]
    bar = element("progress", class_="loading", id="loading", hidden=True, aria_label="Work in progress")
    return element("header", brand, where, element("div", *actions, theme, class_="push"), bar, class_="top")


def _page(title: str, top: Markup, body: Markup, kind: str) -> str:
    """Return a page with the common head."""
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        element("link", rel="icon", href="data:,"),
        element("link", rel="stylesheet", href="/static/report.css"),
        element("link", rel="stylesheet", href="/static/app.css"),
        element("script", "", src="/static/theme.js"),
        element("script", "", type="module", src="/static/app.js"),
    )
    skip = element("a", "Skip to the result", href="#main", class_="skip")
    status = element("p", id="status", role="status", class_="spoken")
    noscript = element("noscript", element("p", "This page needs JavaScript.", class_="column"))
    body = element("body", skip, top, noscript, body, status, data_page=kind)
    return "<!doctype html>\n" + element("html", head, body, lang="en") + "\n"
