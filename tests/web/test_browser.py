"""The web app as people use it, in a real browser."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import ROOT
from tests.web.conftest import Server
from tests.web.test_safety import hard_election

import concordant as cc

pytestmark = [pytest.mark.once, pytest.mark.slow]
EXAMPLES = ROOT / "examples"
DROP = """({ text, name }) => {
    const transfer = new DataTransfer();
    transfer.items.add(new File([text], name));
    document.getElementById("drop").dispatchEvent(new DragEvent("drop", { dataTransfer: transfer, bubbles: true }));
}"""


class Screen:
    """A page of the app, and all that went wrong on it."""

    def __init__(self, page: Any, server: Server) -> None:
        from playwright.sync_api import expect

        self.page, self.server, self.expect = page, server, expect
        self.trouble: list[str] = []
        self.outside: list[str] = []
        page.on("console", lambda message: self.trouble.append(message.text))
        page.on("pageerror", lambda error: self.trouble.append(str(error)))
        page.on("dialog", lambda dialog: self.trouble.append(f"dialog {dialog.message}"))
        page.on("request", self._seen)
        page.goto(server.link)

    def _seen(self, request: Any) -> None:
        if not request.url.startswith((f"http://127.0.0.1:{self.server.port}/", "data:", "blob:")):
            self.outside.append(request.url)

    def drop(self, text: str, name: str = "votes.csv") -> Screen:
        self.page.evaluate(DROP, {"text": text, "name": name})
        return self.done()

    def example(self, name: str) -> Screen:
        self.page.click(f"[data-example='{name}']")
        return self.done()

    def done(self, shell: str = "concordant") -> Screen:
        """Wait until the command on the screen holds these words, and the work is over."""
        self.page.wait_for_url("**/d/*")
        self.expect(self.page.locator("#shell")).to_contain_text(shell)
        self.page.wait_for_selector("html[data-state=done]")
        return self

    def items(self) -> list[str]:
        return [text.strip() for text in self.page.locator("#ranking tbody th").all_text_contents()]

    def open(self, summary: str) -> None:
        self.page.locator("summary", has_text=summary).first.click()

    def download(self, kind: str) -> bytes:
        with self.page.expect_download() as coming:
            self.page.click(f"[data-download={kind}]")
        return Path(coming.value.path()).read_bytes()

    def violations(self, axe: str) -> list[Any]:
        self.page.evaluate(axe)
        found = self.page.evaluate("axe.run()")["violations"]
        return [(one["id"], one["nodes"][0]["html"][:200]) for one in found]


@pytest.fixture(scope="module")
def browser(chromium: Callable[..., Any]) -> Any:
    return chromium(viewport={"width": 1280, "height": 900})


@pytest.fixture
def screen(browser: Any, server: Server) -> Iterator[Screen]:
    page = browser.new_page()
    made = Screen(page, server)
    yield made
    page.close()
    assert made.trouble == []
    assert made.outside == []


def rows(*lines: str) -> str:
    return "\n".join(lines) + "\n"


def test_a_dropped_file_is_ranked(screen: Screen) -> None:
    screen.drop(rows("winner,loser", "ann,bob", "bob,cy", "ann,cy", "cy,bob"))
    assert screen.items()[0] == "ann"
    screen.expect(screen.page.locator("#understood")).to_contain_text("votes.csv: 4 pairs; winner = winner")
    assert screen.page.locator("#preview tbody tr").count() == 4


def test_pasted_rows_are_ranked(screen: Screen) -> None:
    screen.open("Paste rows")
    screen.page.fill("#pasted", "ranking\na > b > c\nb > a > c\na > c > b")
    screen.page.click("#use-pasted")
    assert screen.done().items() == ["a", "b", "c"]


def test_a_changed_role_changes_what_is_read(screen: Screen) -> None:
    screen.drop(rows("winner,loser,judge", "ann,bob,x", "ann,bob,y", "bob,cy,x", "cy,dan,y"))
    assert screen.items()[0] == "ann"
    screen.page.select_option("#role-1", "winner")
    screen.page.locator("#problem").wait_for()
    screen.page.select_option("#role-0", "loser")
    screen.done("--winner loser")
    assert screen.items()[-1] == "ann"
    assert screen.page.locator("#problem").is_hidden()


def test_a_column_that_nobody_guessed_is_named(screen: Screen) -> None:
    screen.page.evaluate(DROP, {"text": rows("city,who,best", "x,ann,1", "x,bob,2"), "name": "odd.csv"})
    screen.expect(screen.page.locator("#problem")).to_contain_text("have no recognised roles")
    screen.page.select_option("#role-1", "item")
    screen.page.select_option("#role-2", "rating")
    assert screen.done("--rating best").items() == ["bob", "ann"]


def test_another_method_and_its_option_change_the_result(screen: Screen) -> None:
    screen.example("model-votes.csv")
    screen.page.select_option("#method", "bradley-terry")
    screen.done("--method bradley-terry")
    before = screen.page.locator("#ranking tbody tr").first.text_content()
    screen.open("Options")
    screen.page.fill("#param-prior", "25")
    screen.done("--prior 25")
    assert screen.page.locator("#ranking tbody tr").first.text_content() != before
    screen.page.fill("#param-prior", "-3")
    screen.expect(screen.page.locator("#problem")).to_contain_text("out of range")
    screen.page.fill("#param-prior", "auto")
    screen.done()
    screen.expect(screen.page.locator("#shell")).not_to_contain_text("--prior")


def test_methods_that_fit_come_first_and_others_say_what_they_need(screen: Screen) -> None:
    screen.example("election.csv")
    groups = screen.page.locator("#method optgroup")
    assert groups.nth(0).get_attribute("label") == "Suitable for these data"
    assert "schulze" in (groups.nth(0).text_content() or "")
    lacking = groups.nth(2).locator("option")
    assert "crf (needs agents and labels)" in " ".join(lacking.all_text_contents())
    assert lacking.first.is_disabled()


def test_methods_are_compared(screen: Screen) -> None:
    screen.example("election.csv")
    screen.page.click("[data-view=compare]")
    screen.page.locator("svg.bump").wait_for()
    screen.page.fill("#methods", "plurality, schulze")
    screen.page.press("#methods", "Enter")
    screen.done("compare election.csv --methods plurality,schulze")
    screen.expect(screen.page.locator("#results")).to_contain_text("Clara Lindqvist is first by schulze")


def test_labels_are_added_and_runs_evaluated_and_fused(screen: Screen) -> None:
    screen.example("runs")
    screen.expect(screen.page.locator("#shell")).to_contain_text("concordant fuse engine1.run")
    fused = screen.download("run").decode()
    screen.page.click("[data-view=evaluate]")
    screen.expect(screen.page.locator("#results")).to_contain_text("Choose a file of relevance judgements")
    screen.page.set_input_files("#labels", EXAMPLES / "qrels.txt")
    screen.expect(screen.page.locator("#results")).to_contain_text("rrf has ndcg")
    runs = cc.read(sorted((EXAMPLES / "runs").glob("*.run")))
    wanted = cc.evaluate(cc.rank(runs, "rrf"), cc.read_labels(EXAMPLES / "qrels.txt"), "ndcg@10")["ndcg@10"]
    screen.expect(screen.page.locator("#results")).to_contain_text(f"ndcg@10:exponential {wanted:.4f}")
    again = cc.evaluate(cc.read(io.StringIO(fused), format="trec"), cc.read_labels(EXAMPLES / "qrels.txt"), "ndcg@10")
    assert again["ndcg@10"] == pytest.approx(wanted, abs=1e-9)


def test_a_downloaded_csv_read_again_gives_the_same_ranking(screen: Screen, tmp_path: Path) -> None:
    screen.example("model-votes.csv")
    content = screen.download("csv")
    table = list(csv.DictReader(io.StringIO(content.decode())))
    assert [row["item"] for row in table] == screen.items()
    (tmp_path / "ranking.csv").write_bytes(content)
    assert cc.rank(cc.read(tmp_path / "ranking.csv"), "borda").items == screen.items()


def test_other_downloads_hold_what_is_on_the_screen(screen: Screen) -> None:
    import json

    screen.example("model-votes.csv")
    data = json.loads(screen.download("json"))
    assert [row["item"] for row in data["instances"][0]["items"]] == screen.items()
    picture = screen.download("svg").decode()
    assert picture.startswith("<svg xmlns=")
    assert picture.count('class="dot"') == 8
    report = screen.download("html").decode()
    assert "concordant rank model-votes.csv --method davidson" in report
    assert "SHA-256 of model-votes.csv" in report


def test_the_lines_shown_repeat_what_is_shown(screen: Screen, monkeypatch: pytest.MonkeyPatch, run: Any) -> None:
    import shlex

    screen.example("model-votes.csv")
    screen.page.select_option("#method", "elo")
    screen.done("--method elo")
    monkeypatch.chdir(EXAMPLES)
    shell = shlex.split(screen.page.locator("#shell").text_content())
    code, out, _ = run(*shell[1:], "--csv")
    assert code == 0
    assert [row["item"] for row in csv.DictReader(io.StringIO(out))] == screen.items()
    names: dict[str, Any] = {}
    exec(screen.page.locator("#python").text_content(), names)
    assert names["ranking"].items == screen.items()


def test_a_long_kemeny_tells_how_far_it_is_and_is_cancelled(screen: Screen) -> None:
    screen.drop(hard_election().decode(), "hard.csv")
    before = screen.items()
    screen.page.select_option("#method", "kemeny")
    screen.expect(screen.page.locator("#progress")).to_contain_text("total distance")
    screen.page.click("#cancel")
    screen.expect(screen.page.locator("#problem")).to_contain_text("Cancelled")
    screen.page.select_option("#method", "borda")
    screen.done("--method borda")
    assert len(screen.items()) == len(before)


def test_the_page_survives_a_reload_also_while_work_goes_on(screen: Screen) -> None:
    screen.example("model-votes.csv")
    screen.page.select_option("#method", "bradley-terry")
    screen.done("--method bradley-terry")
    screen.open("Options")
    screen.page.fill("#param-prior", "5")
    screen.done("--prior 5")
    before = screen.items()
    screen.page.reload()
    screen.done("--prior 5")
    assert screen.items() == before
    assert screen.page.locator("#method").input_value() == "bradley-terry"
    assert screen.page.locator("#param-prior").input_value() == "5"
    screen.page.goto(screen.server.link)
    screen.drop(hard_election().decode(), "hard.csv")
    screen.page.select_option("#method", "kemeny")
    screen.expect(screen.page.locator("#progress")).to_contain_text("total distance")
    screen.page.reload()
    screen.expect(screen.page.locator("#progress")).to_contain_text("total distance")
    screen.page.click("#cancel")
    screen.expect(screen.page.locator("#problem")).to_contain_text("Cancelled")


def test_the_keyboard_alone_is_enough(screen: Screen) -> None:
    page = screen.page

    def to(selector: str, key: str = "Tab") -> None:
        for _ in range(80):
            if page.evaluate("(wanted) => document.activeElement.matches(wanted)", selector):
                return
            page.keyboard.press(key)
        raise AssertionError(f"{selector} is not reached")

    to("[data-example='model-votes.csv']")
    page.keyboard.press("Enter")
    screen.done()
    to("#method")
    page.keyboard.type("bradley")
    page.keyboard.press("Enter")
    screen.done("--method bradley-terry")
    to("[data-view=compare]")
    page.keyboard.press("Space")
    page.locator("svg.bump").wait_for()
    screen.done("compare")
    to("[data-view=ranking]", "Shift+Tab")
    page.keyboard.press("Space")
    screen.done("concordant rank")
    to("#results th button")
    page.keyboard.press("Enter")
    screen.expect(page.locator("th[aria-sort]")).to_have_count(1)


def test_tables_sort_and_filter(screen: Screen) -> None:
    screen.example("ratings.csv")
    screen.page.locator("#ranking thead button", has_text="item").click()
    shown = screen.items()
    assert shown == sorted(shown, key=str.lower)
    screen.page.locator("#ranking .filter input, label.filter input").first.fill("oslo")
    visible = screen.page.locator("#ranking tbody tr:not([hidden])")
    screen.expect(visible).to_have_count(1)


def test_cells_of_the_heat_map_tell_their_counts(screen: Screen) -> None:
    screen.drop(rows("winner,loser", "ann,bob", "ann,bob", "bob,ann", "bob,cy", "ann,cy"))
    heat = screen.page.locator("svg.heat[data-heat]")
    heat.scroll_into_view_if_needed()
    box = heat.locator(".cells").bounding_box()
    screen.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 6)
    screen.expect(screen.page.locator(".told")).to_contain_text("ann against bob: 2 to 1")


def test_hostile_labels_are_shown_and_do_nothing(screen: Screen) -> None:
    from tests.reporting.test_reporting import HOSTILE

    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["winner", "loser", "<img src=x onerror=alert(1)>"])
    names = [label.replace("\x00", "") for label in HOSTILE]
    writer.writerows([one, two, "x"] for one in names for two in names if one < two)
    screen.drop(out.getvalue(), "<b>.csv")
    assert screen.page.locator("#results script, #results img, #preview img, #results b").count() == 0
    assert any("<script>alert(1)</script>" in item for item in screen.items())
    screen.page.click("[data-view=compare]")
    screen.page.locator("svg.bump").wait_for()
    content = screen.download("csv").decode()
    assert "'=HYPERLINK(1)" in content
    assert not re.search(r"^=|,=", content, re.MULTILINE)


def test_a_file_that_is_too_long_is_refused_in_a_sentence(browser: Any, start_server: Callable[..., Server]) -> None:
    page = browser.new_page()
    screen = Screen(page, start_server("--max-upload", "1"))
    page.evaluate(DROP, {"text": "winner,loser\n" + "a,b\n" * 300_000, "name": "long.csv"})
    screen.expect(page.locator("#trouble")).to_contain_text("larger than 1 MB")
    page.close()


def test_a_page_tries_again_when_the_server_is_busy(browser: Any, server: Server) -> None:
    page = browser.new_page()
    screen = Screen(page, server)
    refused: set[str] = set()

    def refuse_once(route: Any) -> None:
        if route.request.url in refused or "/news" in route.request.url:
            route.continue_()
        else:
            refused.add(route.request.url)
            route.fulfill(status=503, headers={"Retry-After": "1"}, json={"error": "The server is busy."})

    page.route("**/api/**", refuse_once)
    page.evaluate(DROP, {"text": rows("winner,loser", "ann,bob", "bob,cy"), "name": "votes.csv"})
    screen.expect(page.locator("#trouble")).to_have_text("The server is busy. This page retries automatically.")
    assert screen.done().items() == ["ann", "bob", "cy"]
    assert screen.download("csv").startswith(b"rank,item")
    assert len(refused) == 3, "the upload, the settings, the download"
    page.close()


def test_a_file_named_on_the_command_line_is_open(browser: Any, start_server: Callable[..., Server]) -> None:
    page = browser.new_page()
    screen = Screen(page, start_server(str(EXAMPLES / "election.csv")))
    screen.done("concordant rank election.csv")
    assert len(screen.items()) == 5
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_app_is_accessible_and_fits_a_telephone(
    chromium: Callable[..., Any], server: Server, axe: str, scheme: str
) -> None:
    context = chromium(viewport={"width": 390, "height": 800}, color_scheme=scheme, bypass_csp=True)
    screen = Screen(context.new_page(), server)
    assert screen.violations(axe) == []
    for example in ("model-votes.csv", "runs"):
        screen.page.goto(screen.server.link)
        screen.example(example)
        screen.open("Options")
        for view in ("compare", "evaluate", "ranking"):
            screen.page.click(f"[data-view={view}]")
            screen.done()
            assert screen.violations(axe) == [], view
            width = screen.page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
            assert width[0] <= width[1], view
    context.close()
    assert screen.trouble == []
