"""The web app as people use it, in a real browser."""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
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
DROP = """(files) => {
    const transfer = new DataTransfer();
    for (const { text, name } of files) transfer.items.add(new File([text], name));
    const target = document.getElementById("drop") || document.body;
    target.dispatchEvent(new DragEvent("drop", { dataTransfer: transfer, bubbles: true }));
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
        self.page.evaluate(DROP, [{"text": text, "name": name}])
        return self.done()

    def example(self, name: str) -> Screen:
        self.page.click(f"[data-example='{name}']")
        return self.done()

    def visit(self, settings: str) -> Screen:
        """Go to the address of this data set with these settings."""
        self.page.goto(f"{self.page.url.partition('?')[0].partition('#')[0]}?{settings}")
        return self.done()

    def done(self, shell: str = "concordant") -> Screen:
        """Wait until the command on the screen holds these words, and the work is over."""
        self.page.wait_for_url("**/d/*")
        self.expect(self.page.locator("#shell")).to_contain_text(shell)
        self.page.wait_for_selector("html[data-state=done]")
        return self

    def failed(self, text: str) -> None:
        """Wait until the work has ended with a problem that holds these words."""
        self.page.wait_for_selector("html[data-state=failed]")
        self.expect(self.page.locator("#problem")).to_contain_text(text)

    def items(self) -> list[str]:
        return [text.strip() for text in self.page.locator("#ranking tbody th").all_text_contents()]

    def sections(self) -> list[str]:
        return [link.strip() for link in self.page.locator("#tabs a").all_text_contents()]

    def open(self, summary: str) -> None:
        self.page.locator("summary", has_text=summary).first.click()

    def download(self, kind: str) -> bytes:
        with self.page.expect_download() as coming:
            self.page.locator(f"#download [data-download={kind}]").click()
        return Path(coming.value.path()).read_bytes()

    def violations(self, axe: str) -> list[Any]:
        self.page.evaluate(axe)
        found = self.page.evaluate("axe.run()")["violations"]
        return [(one["id"], one["nodes"][0]["html"][:200]) for one in found]

    def focused(self, selector: str) -> bool:
        return bool(self.page.evaluate("(wanted) => document.activeElement.matches(wanted)", selector))

    def tab_to(self, selector: str, key: str = "Tab", most: int = 120) -> None:
        for _ in range(most):
            if self.focused(selector):
                return
            self.page.keyboard.press(key)
        raise AssertionError(f"{selector} is not reached")


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


# ---- data come in ----
def test_a_dropped_file_is_ranked(screen: Screen) -> None:
    screen.drop(rows("winner,loser", "ann,bob", "bob,cy", "ann,cy", "cy,bob"))
    assert screen.items()[0] == "ann"
    screen.expect(screen.page.locator("#understood")).to_contain_text("votes.csv: 4 pairs; winner = winner")
    assert screen.page.locator("#data table.preview tbody tr").count() == 5, "the roles, and four rows"


def test_pasted_rows_are_ranked(screen: Screen) -> None:
    screen.open("Or paste rows")
    screen.page.fill("#pasted", "ranking\na > b > c\nb > a > c\na > c > b")
    screen.page.click("#use-pasted")
    assert screen.done().items() == ["a", "b", "c"]


def test_runs_and_judgements_that_are_dropped_together_are_fused_and_evaluated(screen: Screen) -> None:
    files = [*sorted((EXAMPLES / "runs").glob("*.run")), EXAMPLES / "qrels.txt"]
    dropped = [{"text": path.read_text(), "name": path.name} for path in files]
    screen.page.evaluate(DROP, dropped)
    screen.done("concordant fuse engine1.run")
    assert screen.sections()[0] == "Evaluation"
    runs, labels = cc.read([str(path) for path in files[:-1]]), cc.read_labels(EXAMPLES / "qrels.txt")
    wanted = cc.evaluate(cc.rank(runs, "rrf"), labels, "ndcg@10")["ndcg@10"]
    screen.expect(screen.page.locator("section#labels")).to_contain_text(f"{wanted:.4f}")
    fused = cc.read(io.StringIO(screen.download("run").decode()), format="trec")
    assert cc.evaluate(fused, labels, "ndcg@10")["ndcg@10"] == pytest.approx(wanted, abs=1e-9)


def test_judgements_are_added_to_runs(screen: Screen) -> None:
    runs = sorted((EXAMPLES / "runs").glob("*.run"))
    screen.page.evaluate(DROP, [{"text": path.read_text(), "name": path.name} for path in runs])
    screen.done("concordant fuse engine1.run")
    assert "Evaluation" not in screen.sections()
    screen.page.set_input_files("#judgements", EXAMPLES / "qrels.txt")
    screen.page.locator("section#labels table").first.wait_for()
    screen.done("concordant evaluate")


def test_a_file_named_on_the_command_line_is_open(browser: Any, start_server: Callable[..., Server]) -> None:
    page = browser.new_page()
    screen = Screen(page, start_server(str(EXAMPLES / "election.csv")))
    screen.done("concordant rank election.csv")
    assert len(screen.items()) == 5
    page.close()


def test_open_data_sets_are_listed_and_closed(browser: Any, start_server: Callable[..., Server]) -> None:
    page = browser.new_page()
    screen = Screen(page, start_server())
    screen.example("election")
    address = page.url
    page.goto(screen.server.link)
    listed = page.locator("#opened li")
    screen.expect(listed).to_have_count(1)
    screen.expect(listed).to_contain_text("election.csv")
    screen.expect(listed).to_contain_text("5 candidates")
    page.click("#opened [data-close]")
    screen.expect(page.locator("#opened")).to_have_count(0)
    page.goto(address)
    screen.expect(page.locator("h1")).to_contain_text("no longer open")
    page.click("text=Open data")
    page.wait_for_selector("#drop")
    page.close()


def test_an_unknown_address_gets_a_page_with_a_way_out(browser: Any, server: Server) -> None:
    page = browser.new_page()
    page.goto(server.link)
    page.goto(f"http://127.0.0.1:{server.port}/nothing")
    assert "no page" in (page.locator("h1").text_content() or "")
    page.click("text=Open data")
    page.wait_for_selector("#drop")
    page.close()


# ---- columns, methods, options ----
def test_a_changed_role_changes_what_is_read(screen: Screen) -> None:
    screen.drop(rows("winner,loser,judge", "ann,bob,x", "ann,bob,y", "bob,cy,x", "cy,dan,y"))
    assert screen.items()[0] == "ann"
    screen.open("Columns")
    screen.page.select_option("#role-1", "winner")
    screen.page.wait_for_selector("html[data-state=failed]")
    screen.page.select_option("#role-0", "loser")
    screen.done("--winner loser")
    assert screen.items()[-1] == "ann"
    assert screen.page.locator("#problem").text_content() == ""


def test_a_column_that_nobody_guessed_is_named(screen: Screen) -> None:
    screen.page.evaluate(DROP, [{"text": rows("city,who,best", "x,ann,1", "x,bob,2"), "name": "odd.csv"}])
    screen.failed("have no recognised roles")
    screen.page.select_option("#role-1", "item")
    screen.page.select_option("#role-2", "rating")
    assert screen.done("--rating best").items() == ["bob", "ann"]


def test_another_method_and_its_option_change_the_result(screen: Screen) -> None:
    screen.drop((EXAMPLES / "model-votes.csv").read_text())
    screen.page.select_option("#set-method", "bradley-terry")
    screen.done("--method bradley-terry")
    before = screen.page.locator("#ranking tbody tr").first.text_content()
    screen.page.fill("#param-prior", "25")
    screen.page.press("#param-prior", "Enter")
    screen.done("--prior 25")
    assert screen.page.locator("#ranking tbody tr").first.text_content() != before
    screen.page.fill("#param-prior", "-3")
    screen.page.press("#param-prior", "Enter")
    screen.failed("out of range")
    screen.page.fill("#param-prior", "auto")
    screen.page.press("#param-prior", "Enter")
    screen.done()
    screen.expect(screen.page.locator("#shell")).not_to_contain_text("--prior")


def test_methods_that_fit_come_first_and_others_say_what_they_need(screen: Screen) -> None:
    screen.example("election")
    groups = screen.page.locator("#set-method optgroup")
    assert groups.nth(0).get_attribute("label") == "Suitable for these data"
    assert "Schulze" in (groups.nth(0).text_content() or "")
    lacking = groups.nth(2).locator("option")
    assert "(needs agents and labels)" in " ".join(lacking.all_text_contents())
    assert lacking.first.is_disabled()


def test_methods_to_compare_are_found_and_ticked(screen: Screen) -> None:
    screen.example("election")
    assert screen.page.locator("#methods svg").count() > 0
    screen.page.fill("#find-method", "minim")
    shown = screen.page.locator("#compared label:not([hidden])")
    screen.expect(shown).to_have_count(1)
    shown.locator("input").click()
    screen.done("minimax")
    screen.expect(screen.page.locator("#methods")).to_contain_text("Minimax")


def test_covariates_are_picked_in_pairs_and_removed(screen: Screen) -> None:
    screen.drop((EXAMPLES / "arena-style.csv").read_text(), "arena.csv")
    assert "Style control" not in screen.sections()
    screen.page.click("#add-pair")
    screen.done("--covariate length_a,length_b")
    assert "Style control" in screen.sections()
    screen.page.locator("#controls .chip", has_text="length_a").click()
    screen.page.wait_for_selector("html[data-state=done]")
    screen.expect(screen.page.locator("#shell")).not_to_contain_text("--covariate")


def test_groups_are_chosen_from_the_columns(screen: Screen) -> None:
    screen.drop((EXAMPLES / "arena-languages.csv").read_text(), "arena.csv")
    screen.page.select_option("#set-by", "language")
    screen.done("--by language")
    screen.expect(screen.page.locator("section#groups table").first).to_be_visible()


# ---- the address holds the settings ----
def test_back_undoes_and_a_reload_keeps_the_settings(screen: Screen) -> None:
    screen.example("election")
    before = screen.items()
    screen.page.select_option("#set-method", "plurality")
    screen.done("--method plurality")
    changed = screen.items()
    assert changed != before
    screen.page.reload()
    assert screen.done("--method plurality").items() == changed
    screen.page.go_back()
    screen.expect(screen.page.locator("#shell")).not_to_contain_text("plurality")
    assert screen.done().items() == before
    screen.page.go_forward()
    assert screen.done("--method plurality").items() == changed


def test_undo_takes_a_change_back(screen: Screen) -> None:
    screen.example("election")
    before = screen.items()
    screen.page.select_option("#set-method", "plurality")
    screen.done("--method plurality")
    toast = screen.page.locator("#toast")
    screen.expect(toast).to_contain_text("Method")
    toast.locator("button").click()
    screen.expect(screen.page.locator("#shell")).not_to_contain_text("plurality")
    assert screen.done().items() == before


def test_two_pages_of_a_data_set_are_independent(screen: Screen, browser: Any) -> None:
    screen.example("election")
    other = browser.new_page()
    other.goto(f"{screen.page.url}?method=plurality")
    other.wait_for_selector("html[data-state=done]")
    assert "plurality" in other.locator("#shell").text_content()
    assert "plurality" not in screen.page.locator("#shell").text_content()
    screen.page.select_option("#set-method", "schulze")
    screen.done("--method schulze")
    assert "plurality" in other.locator("#shell").text_content()
    other.close()


def test_a_link_with_settings_that_do_not_exist_says_so(screen: Screen) -> None:
    screen.example("election")
    screen.page.goto(f"{screen.page.url}?method=nothing-like-it")
    screen.failed("nothing-like-it")
    screen.page.goto(f"{screen.page.url.partition('?')[0]}?colour=red")
    screen.expect(screen.page.locator("#problem")).to_contain_text("There is no setting 'colour'")
    screen.trouble.clear()  # the browser notes the status 400 on its console


# ---- what is on the page ----
def test_an_item_leads_to_its_card_and_escape_closes_it(screen: Screen) -> None:
    screen.example("election")
    link = screen.page.locator("#ranking tbody th a").nth(1)
    name = link.text_content()
    link.click()
    card = screen.page.locator("#item")
    screen.expect(card.locator("h2")).to_have_text(str(name))
    assert screen.focused("#item h2")
    assert f"item={str(name).replace(' ', '+')}" in screen.page.url
    screen.page.keyboard.press("Escape")
    screen.expect(card).to_be_hidden()
    assert screen.page.evaluate("document.activeElement.textContent") == name
    screen.page.go_back()
    screen.expect(card.locator("h2")).to_have_text(str(name))
    screen.page.reload()
    screen.expect(card.locator("h2")).to_have_text(str(name))
    screen.done()


def test_tables_sort_and_filter(screen: Screen) -> None:
    screen.example("ratings")
    screen.page.locator("#ranking thead button").nth(1).click()
    shown = screen.items()
    assert shown == sorted(shown, key=str.lower)
    screen.page.locator("#ranking .tools input").fill("oslo")
    screen.expect(screen.page.locator("#ranking tbody tr:not([hidden])")).to_have_count(1)


def test_long_tables_are_shown_page_by_page(screen: Screen) -> None:
    screen.drop(rows("winner,loser", *(f"item{k:03},item{k + 1:03}" for k in range(90))))
    visible = screen.page.locator("#ranking tbody tr:not([hidden])")
    screen.expect(visible).to_have_count(25)
    screen.page.locator("#ranking .more button").first.click()
    screen.expect(visible).to_have_count(75)
    screen.page.locator("#ranking .more button").first.click()
    screen.expect(visible).to_have_count(91)


def test_cells_of_the_matrix_tell_their_counts(screen: Screen) -> None:
    screen.drop(rows("winner,loser", "ann,bob", "ann,bob", "bob,ann", "bob,cy", "ann,cy"))
    cell = screen.page.locator("#duels .matrix tbody tr").first.locator("td").nth(1)
    cell.hover()
    assert "ann against bob: 2 to 1" in str(cell.get_attribute("title"))


def test_curves_are_chosen_and_stay_in_the_address(screen: Screen) -> None:
    screen.example("league")
    chips = screen.page.locator("#time .curves button[aria-pressed]")
    off = chips.filter(has_text="Edda")
    assert off.get_attribute("aria-pressed") == "false"
    off.click()
    screen.expect(off).to_have_attribute("aria-pressed", "true")
    assert "Edda" in screen.page.url
    screen.page.reload()
    screen.done()
    screen.expect(chips.filter(has_text="Edda")).to_have_attribute("aria-pressed", "true")
    screen.page.select_option("#set-first", "Edda")
    screen.expect(screen.page.locator("#time")).to_contain_text("Edda beats")


def test_a_query_is_opened_from_the_table(screen: Screen) -> None:
    screen.example("search")
    screen.page.locator("#queries tbody a").first.click()
    name = str(screen.page.locator("#queries tbody a").first.text_content())
    screen.expect(screen.page.locator("#query h2")).to_have_text(f"Query {name}")
    assert f"query={name}" in screen.page.url


def test_somebody_new_rates_items_and_gets_recommendations(screen: Screen) -> None:
    screen.example("ratings")
    screen.page.get_by_role("button", name="Recommend items for a user").click()
    screen.page.locator("#recommend table").first.wait_for()
    screen.page.wait_for_selector("html[data-state=done]")
    screen.page.fill("#set-rate-item", "A Winter in Oslo")
    screen.page.fill("#set-rate-value", "1")
    screen.page.get_by_role("button", name="Add", exact=True).click()
    rated = screen.page.locator("#newcomer .chip")
    screen.expect(rated).to_contain_text("A Winter in Oslo")
    table = screen.page.locator("#newcomer table").first
    table.wait_for()
    assert "A Winter in Oslo" not in str(table.locator("tbody").text_content())
    rated.click()
    screen.expect(rated).to_have_count(0)


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
    shell = shlex.split(str(screen.page.locator("#shell").text_content()))
    code, out, _ = run(*shell[1:], "--csv")
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
