"""The web app in a real browser: files to take away, long work, keyboard, hostile labels, accessibility."""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.web.conftest import Server
from tests.web.screen import DROP, EXAMPLES, Screen, rows
from tests.web.test_safety import hard_election

import concordant as cc

pytestmark = [pytest.mark.once, pytest.mark.slow]


# ---- files and lines to take away ----
def test_a_downloaded_csv_read_again_gives_the_same_ranking(screen: Screen, tmp_path: Path) -> None:
    screen.drop((EXAMPLES / "model-votes.csv").read_text(), "model-votes.csv")
    content = screen.download("csv")
    table = list(csv.DictReader(io.StringIO(content.decode())))
    assert [row["item"] for row in table] == screen.items()
    (tmp_path / "ranking.csv").write_bytes(content)
    assert cc.rank(cc.read(tmp_path / "ranking.csv"), "borda").items == screen.items()


def test_other_downloads_hold_what_is_on_the_screen(screen: Screen) -> None:
    screen.drop((EXAMPLES / "model-votes.csv").read_text(), "model-votes.csv")
    data = json.loads(screen.download("json"))
    assert [row["item"] for row in data["instances"][0]["items"]] == screen.items()
    assert screen.download("svg").decode().startswith("<svg xmlns=")
    assert screen.download("xlsx").startswith(b"PK")
    report = screen.download("html").decode()
    assert "concordant rank model-votes.csv --method davidson" in report
    assert "SHA-256 of model-votes.csv" in report
    leader = screen.items()[0]
    assert leader in screen.download("card").decode()
    picture = screen.download("png")
    assert picture.startswith(b"\x89PNG")
    assert int.from_bytes(picture[16:20]) >= 1200, "pixels wide"


def test_the_lines_shown_repeat_what_is_shown(screen: Screen, monkeypatch: pytest.MonkeyPatch, run: Any) -> None:
    screen.drop((EXAMPLES / "model-votes.csv").read_text(), "model-votes.csv")
    screen.page.select_option("#set-method", "elo")
    screen.done("--method elo")
    monkeypatch.chdir(EXAMPLES)
    rank, compare = (shlex.split(line) for line in str(screen.page.locator("#shell").text_content()).splitlines())
    assert run(*compare[1:])[0] == 0
    code, out, _ = run(*rank[1:], "--csv")
    assert code == 0
    assert [row["item"] for row in csv.DictReader(io.StringIO(out))] == screen.items()
    names: dict[str, Any] = {}
    exec(str(screen.page.locator("#python").text_content()), names)
    assert names["ranking"].items == screen.items()


# ---- long work ----
def test_a_long_section_tells_how_far_it_is_and_is_cancelled_alone(screen: Screen) -> None:
    screen.page.evaluate(DROP, [{"text": hard_election().decode(), "name": "hard.csv"}])
    screen.done()
    screen.page.goto(f"{screen.page.url}?methods=borda,kemeny")
    section = screen.page.locator("section#methods")
    screen.expect(section.locator(".job")).to_contain_text("Kemeny", ignore_case=True)
    assert screen.items(), "the ranking is there before"
    section.locator(".job button").click()
    screen.expect(section).to_contain_text("Cancelled")
    screen.page.wait_for_selector("html[data-state=done]")
    screen.expect(screen.page.locator("section#data")).to_contain_text("First rows")


def test_a_long_ranking_is_cancelled_and_another_method_follows(screen: Screen) -> None:
    screen.page.evaluate(DROP, [{"text": hard_election().decode(), "name": "hard.csv"}])
    before = screen.done().items()
    screen.page.select_option("#set-method", "kemeny")
    screen.page.wait_for_selector("html[data-state=running]")
    screen.page.click("#cancel")
    screen.expect(screen.page.locator("#problem")).to_contain_text("Cancelled")
    screen.page.select_option("#set-method", "borda")
    screen.done("--method borda")
    assert len(screen.items()) == len(before)


def test_a_reload_during_long_work_begins_again(screen: Screen) -> None:
    screen.page.evaluate(DROP, [{"text": hard_election().decode(), "name": "hard.csv"}])
    screen.done()
    screen.page.goto(f"{screen.page.url}?methods=borda,kemeny")
    job = screen.page.locator("section#methods .job")
    job.wait_for()
    screen.page.reload()
    job.locator("button").click()
    screen.page.wait_for_selector("html[data-state=done]")


def test_a_file_that_is_too_long_is_refused_in_a_sentence(browser: Any, start_server: Callable[..., Server]) -> None:
    page = browser.new_page()
    screen = Screen(page, start_server("--max-upload", "1"))
    page.evaluate(DROP, [{"text": "winner,loser\n" + "a,b\n" * 300_000, "name": "long.csv"}])
    screen.expect(page.locator("#problem")).to_contain_text("larger than 1 MB")
    page.close()


def test_a_page_tries_again_when_the_server_is_busy(browser: Any, server: Server) -> None:
    page = browser.new_page()
    screen = Screen(page, server)
    refused: set[str] = set()

    def refuse_once(route: Any) -> None:
        if route.request.url in refused:
            route.continue_()
        else:
            refused.add(route.request.url)
            route.fulfill(status=503, headers={"Retry-After": "1"}, json={"error": "The server is busy."})

    page.route("**/api/**", refuse_once)
    page.evaluate(DROP, [{"text": rows("winner,loser", "ann,bob", "bob,cy"), "name": "votes.csv"}])
    screen.expect(page.locator("#problem")).to_have_text("The server is busy. This page retries automatically.")
    assert screen.done().items() == ["ann", "bob", "cy"]
    assert screen.download("csv").startswith(b"rank,item")
    assert len(refused) == 3, "the upload, the view, the download"
    page.close()


# ---- everybody ----
def test_the_keyboard_alone_is_enough(screen: Screen) -> None:
    page = screen.page
    screen.tab_to("[data-example='election']")
    page.keyboard.press("Enter")
    screen.done()
    screen.tab_to(".skip")
    screen.tab_to("#tabs a")
    screen.tab_to("#ranking tbody th a")
    page.keyboard.press("Enter")
    screen.expect(page.locator("#item")).to_be_visible()
    screen.tab_to("#item [data-close-item]", "Tab")
    page.keyboard.press("Enter")
    screen.expect(page.locator("#item")).to_be_hidden()
    screen.tab_to("#set-method")
    page.keyboard.type("Plural")
    page.keyboard.press("Enter")
    screen.done("--method plurality")
    screen.tab_to("#find-method")
    page.keyboard.type("minim")
    screen.tab_to("#compared label:not([hidden]) input")
    page.keyboard.press("Space")
    screen.done("minimax")


def test_hostile_labels_are_shown_and_do_nothing(screen: Screen) -> None:
    from tests.reporting.test_reporting import HOSTILE

    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["winner", "loser", "<img src=x onerror=alert(1)>"])
    names = [label.replace("\x00", "") for label in HOSTILE]
    writer.writerows([one, two, "x"] for one in names for two in names if one < two)
    screen.drop(out.getvalue(), "<b>.csv")
    hostile = "main script, main b:not(.lines b), main img:not([src^='data:image/svg'])"
    assert screen.page.locator(hostile).count() == 0
    assert any("<script>alert(1)</script>" in item for item in screen.items())
    for link in screen.page.locator("#ranking tbody th a").all()[:4]:
        link.click()
        screen.page.locator("#item h2").wait_for()
        screen.page.keyboard.press("Escape")
    content = screen.download("csv").decode()
    assert "'=HYPERLINK(1)" in content
    assert not re.search(r"^=|,=", content, re.MULTILINE)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_the_app_is_accessible_and_fits_the_screen(
    chromium: Callable[..., Any], server: Server, axe: str, scheme: str, width: int
) -> None:
    context = chromium(viewport={"width": width, "height": 800}, color_scheme=scheme, bypass_csp=True)
    screen = Screen(context.new_page(), server)
    assert screen.violations(axe) == []
    for example in ("election", "leaderboard", "league", "search", "ratings"):
        screen.page.goto(screen.server.link)
        screen.example(example)
        assert screen.violations(axe) == [], example
        size = screen.page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        assert size[0] <= size[1], example
    if width < 1000:
        screen.page.locator(".dock [data-opens]").click()
        screen.expect(screen.page.locator("#settings")).to_be_visible()
        assert screen.violations(axe) == [], "the settings"
        screen.page.keyboard.press("Escape")
        screen.expect(screen.page.locator("#settings")).to_be_hidden()
        assert screen.focused(".dock [data-opens]")
    context.close()
    assert screen.trouble == []
