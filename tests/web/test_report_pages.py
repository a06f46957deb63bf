"""Reports in a real browser, from disk: nothing is fetched, nothing goes wrong, everybody can read them."""

from __future__ import annotations

import tarfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.conftest import ROOT
from tests.reporting.test_reporting import HOSTILE, hostile

import concordant as cc

pytestmark = [pytest.mark.once, pytest.mark.slow]
EXAMPLES = ROOT / "examples"
FILES = ["election.csv", "election.soc", "model-votes.csv", "ratings.csv", "runs"]


@pytest.fixture(scope="module")
def report_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Make the report of an example, once."""

    @cache
    def made(name: str) -> Path:
        path = tmp_path_factory.mktemp("report") / "report.html"
        if name == "runs":
            runs = cc.read(sorted((EXAMPLES / "runs").glob("*.run")))
            cc.report(runs, path, labels=cc.read_labels(EXAMPLES / "qrels.txt"))
        else:
            cc.report(cc.read(EXAMPLES / name), path)
        return path

    return made


class Reader:
    """Opens files from disk in several ways, and notes what a reader must never meet."""

    def __init__(self, contexts: dict[str, Any], axe: str) -> None:
        self.contexts, self.axe = contexts, axe

    def read(self, path: Path, way: str) -> Any:
        page = self.contexts[way].new_page()
        trouble: list[str] = []
        requests: list[str] = []
        page.on("console", lambda message: trouble.append(message.text))
        page.on("pageerror", lambda error: trouble.append(str(error)))
        page.on("dialog", lambda dialog: trouble.append(dialog.message))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(path.as_uri())
        assert trouble == []
        assert requests == [path.as_uri()]
        width = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        assert width[0] <= width[1], "nothing sticks out"
        page.evaluate(self.axe)
        found = page.evaluate("axe.run()")["violations"]
        assert [(one["id"], one["nodes"][0]["html"][:200]) for one in found] == []
        return page


@pytest.fixture(scope="module")
def reader(chromium: Callable[..., Any], axe: str) -> Reader:
    wide, phone = {"width": 1100, "height": 800}, {"width": 390, "height": 800}
    # The policy of the page lets no other script in: axe is one, and looks at the same page without it.
    return Reader(
        {
            "light": chromium(viewport=wide, bypass_csp=True),
            "dark": chromium(viewport=wide, color_scheme="dark", bypass_csp=True),
            "telephone": chromium(viewport=phone, bypass_csp=True),
        },
        axe,
    )


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("way", ["light", "dark", "telephone"])
def test_reports_of_the_examples_can_be_read(
    reader: Reader, report_of: Callable[[str], Path], name: str, way: str
) -> None:
    reader.read(report_of(name), way).close()


@pytest.fixture(scope="module")
def public(tmp_path_factory: pytest.TempPathFactory, data_folder: Path) -> Path:
    """A folder with reports of public data: films.html, runs.html and election.html."""
    folder = tmp_path_factory.mktemp("public")
    films = cc.read(data_folder / "ml-100k" / "u.data.gz")
    most_rated = np.argsort(-np.bincount(films.item, minlength=films.n_items), kind="stable")[:100]
    cc.report(films.select(items=films.items.take(most_rated)), folder / "films.html")
    runs = sorted((data_folder / "trec-robust03" / "runs").glob("*"))[:4]
    labels = cc.read_labels(data_folder / "trec-robust03" / "robust03_qrels.txt.gz")
    cc.report(cc.read(runs), folder / "runs.html", labels=labels, methods=["rrf", "borda"])
    with tarfile.open(data_folder / "preflib" / "preflib.tar.xz") as archive:
        member = next(one for one in archive if one.name.endswith(".soc"))
        content = archive.extractfile(member)
        assert content is not None
        election = folder / Path(member.name).name
        election.write_bytes(content.read())
    cc.report(cc.read(election), folder / "election.html")
    return folder


@pytest.mark.data
@pytest.mark.parametrize("way", ["light", "telephone"])
def test_reports_of_public_data_can_be_read(public: Path, reader: Reader, way: str) -> None:
    page = reader.read(public / "films.html", way)
    assert page.locator("#ranking tbody tr").count() == 100
    page.close()
    page = reader.read(public / "runs.html", way)
    assert page.locator("#labels tbody tr").count() > 4
    page.close()
    page = reader.read(public / "election.html", way)
    assert page.locator("#ranking tbody tr").count() > 1
    page.close()


def test_hostile_labels_are_shown_and_do_nothing(reader: Reader, tmp_path: Path) -> None:
    cc.report(hostile(), tmp_path / "report.html", title=HOSTILE[0])
    page = reader.read(tmp_path / "report.html", "telephone")
    assert page.title() == HOSTILE[0]
    assert page.locator("img, iframe, object, base").count() == 0
    page.close()


def test_without_scripts_everything_can_be_read(chromium: Callable[..., Any], report_of: Callable[[str], Path]) -> None:
    page = chromium(java_script_enabled=False).new_page()
    page.goto(report_of("model-votes.csv").as_uri())
    text = page.locator("body").inner_text()
    for words in (
        "heron-large is first of 8",
        "Leader of 8 models",
        "Methods compared",
        "Head to head",
        "emre",
        "Reproduce this report",
    ):
        assert words in text
    page.close()


def test_the_page_lets_no_other_script_run(chromium: Callable[..., Any], report_of: Callable[[str], Path]) -> None:
    page = chromium().new_page()
    refused: list[str] = []
    page.on("console", lambda message: refused.append(message.text))
    page.goto(report_of("election.csv").as_uri())
    page.evaluate(
        "() => { const s = document.createElement('script'); s.text = 'window.bad = 1'; document.body.append(s); }"
    )
    assert page.evaluate("() => window.bad") is None
    assert "Content Security Policy" in refused[0]
    page.close()


@pytest.mark.parametrize("n", [9, 12, 13, 30])
def test_heat_maps_fit_the_paper(chromium: Callable[..., Any], tmp_path: Path, n: int) -> None:
    """A wider one would make the browser shrink the whole page."""
    names = [f"laboratory/family-of-models-{k}-instruct-v1" for k in range(n)]
    prefs = cc.Preferences.from_rankings([names, names[::-1], names])
    cc.report(prefs, tmp_path / "report.html", methods=[])
    page = chromium(viewport={"width": 680, "height": 1000}).new_page()
    page.emulate_media(media="print")
    page.goto((tmp_path / "report.html").as_uri())
    assert page.locator(".matrix").count() == 1
    assert page.evaluate("document.documentElement.scrollWidth") <= 680
    assert page.locator(".matrix td:not(.self)").nth(1).evaluate("cell => cell.scrollWidth <= cell.offsetWidth")


def test_it_prints_on_paper(chromium: Callable[..., Any], report_of: Callable[[str], Path]) -> None:
    page = chromium(viewport={"width": 1100, "height": 800}).new_page()
    page.goto(report_of("model-votes.csv").as_uri())
    assert page.pdf(format="A4").startswith(b"%PDF")
    page.emulate_media(media="print")
    assert page.locator("nav.contents").is_hidden()
    assert page.locator("details:not([open])").first.is_hidden()
    assert page.locator("#verdict").is_visible()
    page.close()


def test_the_verdict_comes_first_and_its_chips_lead_to_sections(
    chromium: Callable[..., Any], report_of: Callable[[str], Path]
) -> None:
    page = chromium().new_page()
    page.goto(report_of("election.csv").as_uri())
    assert page.locator("#verdict h2").inner_text() == "Clara Lindqvist"
    assert (
        page.evaluate("document.querySelector('#verdict').compareDocumentPosition(document.querySelector('#ranking'))")
        & 4
    )
    page.locator("#verdict a.chip.warn").click()
    assert page.url.endswith("#methods")
    assert "The methods disagree about the winner" in page.locator("#methods").inner_text()
    page.close()


def test_links_of_instances_open_them(chromium: Callable[..., Any], report_of: Callable[[str], Path]) -> None:
    page = chromium().new_page()
    page.goto(report_of("runs").as_uri())
    page.locator("#instances tbody a").nth(2).click()
    page.locator("details#instance-3[open] table").wait_for()
    page.close()
