"""The single page of the web app: regions that the script fills with the worker's answers."""

from __future__ import annotations

from collections.abc import Mapping

from concordant.support.markup import Markup, element
from concordant.web.words import LABELS

EXAMPLES = {
    "model-votes.csv": "pairwise votes between models, with ties",
    "election.csv": "ranked ballots of an election",
    "ratings.csv": "films rated by users",
}
RUNS = "runs"  # the example of several files


def page(examples: Mapping[str, str]) -> str:
    """Return the page; ``examples`` are names with descriptions."""
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", "concordant"),
        element("link", rel="icon", href="data:,"),
        element("link", rel="stylesheet", href="/static/report.css"),
        element("link", rel="stylesheet", href="/static/app.css"),
        element("script", type="module", src="/static/app.js"),
    )
    body = element(
        "body",
        element("a", "Skip to the results", href="#results", class_="skip"),
        element("header", element("h1", element("a", "concordant", href="/")), element("p", id="name"), class_="top"),
        element("main", _start(examples), _workspace()),
        element("p", id="status", role="status", aria_live="polite"),
    )
    return "<!doctype html>\n" + element("html", head, body, lang="en", data_app="concordant") + "\n"


def _start(examples: Mapping[str, str]) -> Markup:
    """Return the region for opening data: by drag and drop, file dialog, pasting, or an example."""
    drop = element(
        "div",
        element("p", "Drop files here (several TREC runs are fused)."),
        element("label", "Choose files", for_="file", class_="button"),
        element("input", type="file", id="file", multiple=True, class_="spoken"),
        element("p", "csv, tsv, jsonl, parquet, PrefLib, TREC runs, … No data leave this machine.", class_="quiet"),
        id="drop",
    )
    trouble = element("p", id="trouble", role="alert")
    paste = element(
        "details",
        element("summary", "Paste rows instead"),
        element("label", "Rows with a header, such as winner,loser", for_="pasted"),
        element("textarea", id="pasted", rows="6", spellcheck="false"),
        element("button", "Use these rows", type="button", id="use-pasted"),
    )
    buttons = [
        element("li", element("button", name, type="button", data_example=name), f" {what}")
        for name, what in examples.items()
    ]
    shown = [element("h2", "Or open an example"), element("ul", *buttons, class_="examples")] if buttons else []
    return element("section", element("h2", "Open data"), drop, trouble, paste, *shown, id="start", hidden=True)


def _workspace() -> Markup:
    """Return the regions of an open data set."""
    views = [
        element("button", text, type="button", data_view=view, aria_pressed=str(view == "ranking").lower())
        for view, text in (("ranking", "Ranking"), ("compare", "Compare methods"), ("evaluate", "Evaluate"))
    ]
    data = element(
        "details",
        element("summary", "Data"),
        element("div", id="preview"),
        element("p", element("label", LABELS["layout"] + " ", for_="layout"), element("select", id="layout"),
                id="layout-row"),
        element("p", element("input", type="checkbox", id="skip-bad-rows"),
                element("label", LABELS["skip_bad_rows"], for_="skip-bad-rows")),
        element("p", element("label", "Add files of the same kind", for_="more", class_="button"),
                element("input", type="file", id="more", multiple=True, class_="spoken")),
        id="data-region", open=True,
    )  # fmt: skip
    method = element(
        "div",
        element(
            "div", element("label", LABELS["method"], for_="method"), element("select", id="method"), class_="field"
        ),
        element("p", id="about", class_="quiet"),
        element("details", element("summary", "Options"), element("form", id="form", autocomplete="off")),
        _field("min-ballots", LABELS["min_ballots"], "0", "number"),
        _scale(),
        id="method-region",
    )
    compare = element("div", _field("methods", LABELS["methods"], "chosen from the data"),
                      data_only="compare", hidden=True)  # fmt: skip
    evaluate = element(
        "div",
        element("p", element("label", "Choose relevance judgements", for_="labels", class_="button"),
                element("input", type="file", id="labels", class_="spoken"), " ", element("span", id="labels-name")),
        _field("metrics", LABELS["metrics"], "ndcg@10, map"),
        data_only="evaluate", hidden=True,
    )  # fmt: skip
    downloads = [
        element("a", text, href="#", data_download=kind, class_="button")
        for kind, text in (("csv", "csv"), ("json", "json"), ("svg", "svg chart"), ("run", "TREC run"),
                           ("html", "html report"))
    ]  # fmt: skip
    taken = element("div", *downloads, class_="downloads")
    lines = element(
        "details", element("summary", "Show shell command and Python code"),
        element("h3", "Shell"), element("pre", element("code", id="shell"), tabindex="0"),
        element("h3", "Python"), element("pre", element("code", id="python"), tabindex="0"), id="lines",
    )  # fmt: skip
    work = element("p", element("span", id="progress"), " ",
                   element("button", "Cancel", type="button", id="cancel"), id="work", hidden=True)  # fmt: skip
    return element(
        "div",
        element("p", id="understood"),
        element("p", id="problem", role="alert", hidden=True),
        element("aside", data, method, compare, evaluate, aria_label="Settings"),
        element(
            "div",
            element("div", *views, class_="views", role="group", aria_label="View"),
            work,
            element("div", id="results", tabindex="-1"),
            class_="answer",
        ),
        element("div", element("h2", "Download"), taken, lines, class_="take"),
        id="workspace", hidden=True,
    )  # fmt: skip


def _scale() -> Markup:
    """Return the controls for the scale of the scores and for further columns."""
    choices = (("", "that of the method"), ("elo", "Elo (400 points are odds of 10 to 1)"))
    options = [element("option", text, value=value) for value, text in choices]
    menu = element("div", element("label", LABELS["scale"], for_="scale"), element("select", *options, id="scale"),
                   class_="field")  # fmt: skip
    return element(
        "details",
        element("summary", "Scale and columns"),
        menu,
        _field("anchor", LABELS["anchor"], "item or item=1000"),
        _field("centre", LABELS["centre"], "1000", "number", {"step": "any"}),
        _field("add-columns", LABELS["add_columns"], "rank_ub, margin, votes"),
    )


def _field(
    name: str, text: str, placeholder: str, kind: str = "text", numbers: Mapping[str, str] | None = None
) -> Markup:
    """Return a labelled field; ``numbers`` are the limits of a number, by default at least 0."""
    limits = dict(numbers or {"min": "0"}) if kind == "number" else {}
    control = element("input", type=kind, id=name, placeholder=placeholder, autocomplete="off", **limits)
    return element("div", element("label", text, for_=name), control, class_="field")
