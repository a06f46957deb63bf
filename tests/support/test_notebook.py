"""Results in notebooks: drawn intervals, escaped labels, the same statement as elsewhere, nothing from outside."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

import concordant as cc
from concordant.support.display import DisplayTable, Drawn
from concordant.support.notebook import notebook

HOSTILE = ["<script>alert(1)</script>", "\"' onload=x", "&amp;", "ירושלים 3", "\x1b[2J\u202eevil"]


def tree(html: str) -> ElementTree.Element:
    return ElementTree.fromstring(html)


@pytest.fixture
def votes() -> cc.Preferences:
    return cc.Preferences.from_pairs(["a", "a", "b", "c"], ["b", "c", "c", "a"])


def test_a_ranking_is_drawn_with_intervals_and_its_certainty(votes: cc.Preferences) -> None:
    ranking = cc.rank(votes, "bradley-terry")
    page = tree(ranking._repr_html_())
    assert len(list(page.iter("circle"))) == len(ranking.items)
    assert " ".join(ranking.certainty.sentences()) in [one.text for one in page.iter("p")]


def test_counts_are_bars_from_zero() -> None:
    prefs = cc.Preferences.from_rankings([["a", "b", "c"], ["a", "c", "b"]])
    page = tree(cc.rank(prefs, "borda")._repr_html_())
    widths = [float(bar.get("width", "")) for bar in page.iter("rect")]
    assert widths[0] == pytest.approx(4 * widths[1], abs=0.5)
    assert not list(page.iter("circle"))


def test_labels_become_text_and_nothing_else() -> None:
    html = cc.rank(cc.Preferences.from_rankings([HOSTILE, HOSTILE[::-1], HOSTILE]), "borda")._repr_html_()
    page = tree(html)
    assert "<script" not in html
    assert "\u202e" not in html
    assert HOSTILE[0] in ["".join(cell.itertext()) for cell in page.iter("bdi")]
    assert not [one for one in page.iter() if any(name.startswith("on") for name in one.attrib)]


def test_nothing_is_loaded_or_run(votes: cc.Preferences) -> None:
    labels = {f"q{k}": {"d1": 1, "d2": 0} for k in range(4)}
    run = {f"q{k}": {"d1": float(k % 2), "d2": 0.5} for k in range(4)}
    ranking = cc.rank(votes, "bradley-terry")
    shown = [ranking, cc.compare(votes, ["borda", "copeland"]), cc.evaluate(run, labels, ["mrr", "map"]), votes]
    for one in [*shown, cc.rank(votes, "borda").explain()]:
        html = one._repr_html_()
        assert not re.search(r"<(script|style|link|img|use)\b|url\(|https?:", html)
        tree(html)


def test_an_evaluation_is_drawn_with_intervals() -> None:
    labels = {f"q{k}": {"d1": 1, "d2": 0} for k in range(4)}
    run = {f"q{k}": {"d1": float(k % 2), "d2": 0.5} for k in range(4)}
    page = tree(cc.evaluate(run, labels, ["mrr", "map"])._repr_html_())
    assert len(list(page.iter("circle"))) == 2


def test_unknown_values_and_equal_values_are_drawn() -> None:
    nan = float("nan")
    for values in ([nan, 1.0], [nan, nan], [2.0, 2.0], [0.0, 0.0], [-1e300, 1e300], []):
        table = DisplayTable(["x"], [["a"]] * len(values), drawn=Drawn("x", values, values, values))
        tree(notebook([table]))
        tree(notebook([DisplayTable(["x"], [["a"]] * len(values), drawn=Drawn("x", values, is_bar=True))]))


def test_long_rankings_end_with_the_number_of_further_items() -> None:
    prefs = cc.Preferences.from_rankings([[f"i{k}" for k in range(120)]])
    html = cc.rank(prefs, "borda")._repr_html_()
    assert "… 70 more" in html
    assert html.count("<tr") == 51


def test_the_first_of_many_instances_are_drawn() -> None:
    rows = [(f"q{k}", "a", "b") for k in range(5) for _ in range(3)]
    instances, winners, losers = (list(column) for column in zip(*rows, strict=True))
    prefs = cc.Preferences.from_pairs(winners, losers, instance=instances)
    page = tree(cc.rank(prefs, "bradley-terry")._repr_html_())
    assert [one.text for one in page.iter("caption")] == [f"bradley-terry, q{k}" for k in range(3)]
    assert len(list(page.iter("circle"))) == 6
    assert "… 2 more instances" in [one.text for one in page.iter("p")]
