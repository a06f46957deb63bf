"""The web app as people use it, in a real browser: data, settings, the address, what is on the page."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest
from tests.web.conftest import Server
from tests.web.screen import DROP, EXAMPLES, Screen, rows

import concordant as cc

pytestmark = [pytest.mark.once, pytest.mark.slow]


# ---- data come in ----
def test_a_dropped_file_is_ranked(screen: Screen) -> None:
    screen.drop(rows("winner,loser", "ann,bob", "bob,cy", "ann,cy", "cy,bob"))
    assert screen.items()[0] == "ann"
    screen.expect(screen.page.locator("#understood")).to_contain_text("votes.csv: 4 pairs; winner, loser. Ranked by")
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
    shown.locator("input").focus()
    screen.page.keyboard.press("Space")
    screen.done("minimax")
    screen.expect(screen.page.locator("#methods")).to_contain_text("Minimax")
    screen.expect(screen.page.locator("#toast")).to_contain_text("Minimax: compared")
    assert screen.focused("#compare-minimax"), "the list is away until the comparison is known"
    assert screen.page.input_value("#find-method") == "minim"


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
    screen.expect(screen.page.locator("#shell")).not_to_contain_text("--method plurality")
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
    screen.expect(screen.page.locator("#shell")).not_to_contain_text("--method plurality")
    assert screen.done().items() == before


def test_two_pages_of_a_data_set_are_independent(screen: Screen, browser: Any) -> None:
    screen.example("election")
    other = browser.new_page()
    other.goto(f"{screen.page.url}?method=plurality")
    other.wait_for_selector("html[data-state=done]")
    assert "--method plurality" in other.locator("#shell").text_content()
    assert "--method plurality" not in screen.page.locator("#shell").text_content()
    screen.page.select_option("#set-method", "schulze")
    screen.done("--method schulze")
    assert "--method plurality" in other.locator("#shell").text_content()
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


def test_the_curve_of_an_item_is_added_from_its_card(screen: Screen) -> None:
    screen.example("league")
    coloured = screen.page.locator("#time .curves button[aria-pressed=true]")
    before = coloured.all_text_contents()
    assert "Edda" not in before
    screen.page.locator("#ranking tbody th a", has_text="Edda").click()
    screen.page.get_by_role("button", name="Show in the chart over time").click()
    screen.expect(coloured).to_have_count(len(before) + 1)
    assert {*coloured.all_text_contents()} == {*before, "Edda"}
    screen.expect(screen.page.locator("#time h2")).to_be_in_viewport()
    screen.done()


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
