"""Reports: what they show, what they leave out and say so, and that labels are never anything but text."""

from __future__ import annotations

import base64
import csv
import io
import re
import zipfile
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import ROOT, Run, random_preferences

import concordant as cc
from concordant.analysis.disagreeing import disagreements
from concordant.evaluation import run_of_ranking
from concordant.registry import usual_name
from concordant.reporting import Making, about_ranking
from concordant.reporting.sections import BumpChart, Download, HeatMap, Messages, Named, ReportTable, Scale, Text
from concordant.reporting.study import Data, Study
from concordant.support.markup import element, escape, verbatim

EXAMPLES = ROOT / "examples"
RUNS = [EXAMPLES / "runs" / f"engine{k}.run" for k in (1, 2, 3, 4)]
VOID = {"meta", "input", "br", "hr", "line", "circle", "rect", "path"}
HOSTILE = [
    "<script>alert(1)</script>",
    "\"><img src=x onerror='alert(1)'>",
    "</style></script></title><!--",
    "javascript:alert(1)",
    "\u202egnp.exe",
    "=HYPERLINK(1)",
    "a" * 10_000,
    "&amp; &lt; \x00 \x1b[31m",
    "Žofie 🎬 שלום",
]


class Tree(HTMLParser):
    """What a browser sees: tags that nest, their attributes, and the text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(page)
        self.close()
        assert self.open == [], "every element that begins ends"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def attributes(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


def parts_of(made: cc.reporting.Report, kind: type) -> list:
    return [part for section in made.sections for part in section.parts if isinstance(part, kind)]


def names(made: cc.reporting.Report) -> list[str]:
    return [section.name for section in made.sections]


# ---- what each example shows ----
@pytest.mark.parametrize(
    ("file", "sections"),
    [
        ("election.csv", ["ranking", "methods", "why", "duels", "data", "making"]),
        ("election.soc", ["ranking", "methods", "why", "duels", "data", "making"]),
        ("model-votes.csv", ["ranking", "methods", "why", "duels", "agents", "data", "warnings", "making"]),
        ("ratings.csv", ["ranking", "methods", "why", "duels", "agents", "data", "making"]),
    ],
)
def test_sections_that_have_nothing_to_say_are_left_out(file: str, sections: list[str]) -> None:
    made = cc.report(cc.read(EXAMPLES / file))
    assert names(made) == sections
    tree = Tree(made.to_html())
    assert [attributes["id"] for attributes in tree.attributes("section")] == ["verdict", *sections]
    links = [
        a["href"] for a in tree.attributes("a") if a["href"].startswith("#") and "chip" not in (a.get("class") or "")
    ]
    assert links == ["#main", *(f"#{section}" for section in sections)]


def test_runs_with_labels_show_instances_metrics_and_tests() -> None:
    made = cc.report(cc.read(RUNS), labels=cc.read_labels(EXAMPLES / "qrels.txt"), metrics="map")
    assert names(made)[:3] == ["labels", "queries", "instances"]
    assert made.sections[2].title == "Best documents by query"
    (means,) = [part for part in made.sections[0].parts if isinstance(part, ReportTable)]
    by_system = {getattr(row[0], "text", row[0]): float(row[1]) for row in means.rows}
    assert by_system.keys() == {"Reciprocal rank fusion", "engine1", "engine2", "engine3", "engine4"}
    longest = run_of_ranking(cc.rank(cc.read(RUNS), "rrf"), 15)
    fused = cc.evaluate(longest, cc.read_labels(EXAMPLES / "qrels.txt"), "map")
    assert by_system["Reciprocal rank fusion"] == pytest.approx(fused["map"], abs=5e-5)
    assert means.header[-3:] == ("Difference", "p", "p (Holm)")


def test_the_table_holds_the_ranking_with_its_intervals_and_chances() -> None:
    votes = cc.read(EXAMPLES / "model-votes.csv")
    ranking, table = cc.rank(votes), parts_of(cc.report(votes), ReportTable)[0]
    assert table.header == ("Rank", "Model", "95% CI of rank", "Score", "95% CI (plot)", "95% CI", "P(best)")
    assert [row[1] for row in table.rows] == ranking.items
    assert [row[4].low for row in table.rows] == ranking.low.tolist()
    assert sum(float(row[6].rstrip("%")) for row in table.rows) == pytest.approx(100, abs=1)


def test_the_table_holds_learnt_variances() -> None:
    page = cc.report(cc.read(EXAMPLES / "ratings.csv"), method="mpm", variances="learnt", methods=[])
    table = next(part for section in page.sections for part in section.parts if isinstance(part, ReportTable))
    assert table.header[-1] == "variance"
    assert float(str(table.rows[0][-1])) == pytest.approx(0.42277, rel=1e-2)


def test_the_heat_map_counts_wins_in_the_order_of_the_ranking() -> None:
    prefs = cc.Preferences.from_rankings([["a", "b", "c"], ["b", "a", "c"], ["a", "c", "b"]])
    (heat,) = parts_of(cc.report(prefs, method="borda"), HeatMap)
    assert heat.labels == ("a", "b", "c")
    assert heat.wins == ((0, 2, 3), (1, 0, 2), (0, 1, 0))


# ---- what is too large is summarised ----
def test_a_hundred_items_stay_under_half_a_megabyte() -> None:
    prefs = cc.simulate.plackett_luce(np.linspace(0, 3, 100), 500, seed=1)
    page = cc.report(prefs).to_html()
    assert len(page.encode()) < 500_000
    Tree(page)


def test_five_thousand_items_are_cut_and_all_of_them_are_in_the_file() -> None:
    rng = np.random.default_rng(0)
    winner, loser = rng.integers(0, 5000, (2, 40_000))
    keep = winner != loser
    prefs = cc.Preferences.from_pairs([f"i{k}" for k in winner[keep]], [f"i{k}" for k in loser[keep]])
    made = cc.report(prefs, method="borda", methods=[])
    said = " ".join(part.text for part in parts_of(made, Text) if part.kind == "left-out")
    assert f"first 100 of {prefs.n_items:,} items" in said
    (embedded,) = parts_of(made, Download)
    assert embedded.name == "ranking.zip"
    with zipfile.ZipFile(io.BytesIO(embedded.content)) as archive:
        rows = list(csv.DictReader(io.StringIO(archive.read("ranking.csv").decode())))
    assert [row["item"] for row in rows] == cc.rank(prefs, "borda").items
    assert len(made.to_html().encode()) < 500_000


def test_a_thousand_instances_are_cut_and_all_of_them_are_in_the_file() -> None:
    lists = [["a", "b", "c"], ["b", "a", "c"]] * 600
    prefs = cc.Preferences.from_rankings(lists, instance=[f"q{k // 2}" for k in range(1200)])
    made = cc.report(prefs, methods=[])
    assert "first 200 of 600 instances" in " ".join(part.text for part in parts_of(made, Text))
    (embedded,) = parts_of(made, Download)
    assert embedded.content.count(b"\n") == 1 + 3 * 600


# ---- labels are text ----
def hostile() -> cc.Preferences:
    lists = [HOSTILE[k:] + HOSTILE[:k] for k in range(len(HOSTILE))]
    return cc.Preferences.from_rankings(lists, agent=[f"<b>{label[:50]}" for label in HOSTILE])


def test_no_label_becomes_a_tag_an_attribute_or_a_script() -> None:
    page = cc.report(hostile(), title=HOSTILE[0]).to_html()
    tree = Tree(page)
    kinds = {tag for tag, _ in tree.tags}
    assert not kinds & {"img", "b", "iframe", "object", "embed", "base", "link"}
    assert len(tree.attributes("script")) == len(tree.attributes("style")) == 1
    for _, attributes in tree.tags:
        assert not [name for name in attributes if name.startswith("on") or name == "style"]
        assert str(attributes.get("href", "#")).startswith(
            ("#", "data:text/csv;base64,", "data:application/zip;base64,")
        )
    assert "\u202e" not in page
    assert "\x00" not in page
    assert "\x1b" not in page
    assert "<script>alert(1)</script>" in tree.texts, "shown as it is written"


def test_formulas_are_kept_as_text_in_the_embedded_file() -> None:
    (embedded,) = parts_of(cc.report(hostile(), methods=[]), Download)
    cells = [cell for row in csv.reader(io.StringIO(embedded.content.decode())) for cell in row]
    assert "'=HYPERLINK(1)" in cells
    assert "=HYPERLINK(1)" not in cells


def test_everything_but_markup_is_escaped() -> None:
    inner = element("b", "<", title="\"'&")
    assert element("p", "&", inner, None) == '<p>&amp;<b title="&quot;&#x27;&amp;">&lt;</b></p>'
    assert (
        element("td", class_="right", hidden=True, width=1.23456789, data_x=None)
        == '<td class="right" hidden width="1.2346"></td>'
    )
    assert escape("\ud800 \u2066x") == r"\ud800 \u2066x"
    with pytest.raises(ValueError, match="must not close"):
        verbatim("</SCRIPT>", within="script")


def test_the_page_allows_only_its_own_style_and_script() -> None:
    page = cc.report(cc.read(EXAMPLES / "election.csv")).to_html()
    (policy,) = [a["content"] for a in Tree(page).attributes("meta") if a.get("http-equiv")]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert not re.search(r"""(src|href)=["']?(https?:)?//""", page)


# ---- why methods differ ----
def disagreement(lists: list, methods: list[str], **more: object) -> str:
    prefs = cc.Preferences.from_rankings(lists, **more)
    compared = cc.compare(prefs, methods)
    return " ".join(disagreements(prefs, compared.rankings, compared.names, Data(prefs).matrices.matrix()))


def test_a_circle_is_named() -> None:
    circle = [["a", "b", "c"], ["a", "c", "b"], *[["b", "c", "a"]] * 3, *[["c", "a", "b"]] * 2]
    assert "majorities are cyclic" in disagreement(circle, ["plurality", "borda"])


def test_strong_against_many_preferences_is_named() -> None:
    lists = [["a", "b", "c", "d"]] * 5 + [["b", "c", "d", "a"]] * 4
    said = disagreement(lists, ["copeland", "borda"])
    assert "b is first by borda, a by copeland" in said
    assert "more ballots prefer a (5 to 4" in said
    assert "12 against 5" in said


def test_the_winner_of_the_direct_comparison_is_named_with_the_larger_number() -> None:
    lists = [["b", "c", "d", "a"]] * 4 + [["a", "b", "c", "d"]] * 5
    assert "more ballots prefer a (5 to 4" in disagreement(lists, ["borda", "copeland"])


def test_rarely_named_items_are_named() -> None:
    lists = [["a", "b"]] * 9 + [["b", "a"]] * 6 + [["c", "a"]] * 2
    assert "c is on 2 ballots, a on 17" in disagreement(lists, ["borda", "bradley-terry"])


def test_methods_that_agree_say_so() -> None:
    made = cc.report(cc.Preferences.from_rankings([["a", "b", "c"]] * 3), methods=["borda", "schulze"])
    assert "give the same order" in " ".join(part.text for part in parts_of(made, Text))
    assert not [m for part in parts_of(made, Messages) for m in part.messages if m.name == "why"]
    (chart,) = parts_of(made, BumpChart)
    assert chart.ranks[0] == (1,) * len(chart.methods)


def test_the_ranking_is_compared_with_the_parameters_it_has() -> None:
    prefs = cc.Preferences.from_rankings([["a", "b"]] * 3 + [["c", "a"]])
    made = cc.report(prefs, method="borda", methods=["borda", "copeland"], missing="ignore")
    own = cc.rank(prefs, "borda", missing="ignore")
    (chart,) = parts_of(made, BumpChart)
    assert {label: ranks[0] for label, ranks in zip(chart.labels, chart.ranks, strict=True)} == dict(
        zip(own.items, own.ranks.tolist(), strict=True)
    )


def test_a_method_that_was_asked_for_and_cannot_rank_is_a_sentence() -> None:
    with pytest.raises(cc.NeedError, match="dawid-skene"):
        cc.report(cc.read(EXAMPLES / "election.csv"), methods=["borda", "dawid-skene"])


# ---- pictures and the command ----
@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-1.81, 1.63), (1e-9, 3e-9), (0.0, 12345.0), (5.0, 5.001)])
def test_ticks_are_few_round_and_within_the_scale(low: float, high: float) -> None:
    from concordant.reporting.pictures import ticks

    found = ticks(Scale(low, high, ""))
    assert 2 <= len(found) <= 6
    assert all(low - 1e-9 * high <= tick <= high * (1 + 1e-9) for tick in found)


def test_random_preferences_all_make_a_page() -> None:
    rng = np.random.default_rng(3)
    for n_instances in (1, 3):
        for ties in (True, False):
            Tree(cc.report(random_preferences(rng, n_instances=n_instances, ties=ties)).to_html())


def test_what_belongs_to_the_data_is_found_once() -> None:
    data = Data(cc.read(EXAMPLES / "model-votes.csv"))
    one, two = (Study(data, cc.rank(data.prefs, method)) for method in ("borda", "elo"))
    assert one.data.description is two.data.description


def test_the_command_writes_the_page_and_how_it_was_made(tmp_path: Path, run: Run) -> None:
    out = tmp_path / "report.html"
    code, _, err = run("report", EXAMPLES / "model-votes.csv", "--title", "Models & more", "-o", out)
    assert code == 0
    assert "wrote" in err
    text = out.read_text(encoding="utf-8")
    assert "<h1><bdi>Models &amp; more</bdi></h1>" in text
    assert "SHA-256 of model-votes.csv" in text
    files = [a["href"] for a in Tree(text).attributes("a") if a.get("download") == "ranking.csv"]
    content = base64.b64decode(files[0].partition(",")[2])
    assert content.startswith(b"rank,item,score,low,high")


def test_the_command_refuses_in_a_sentence(tmp_path: Path, run: Run) -> None:
    code, _, err = run("report", EXAMPLES / "election.csv", "--method", "elo", "-o", tmp_path / "no" / "x.html")
    assert code == 1
    assert err.count("\n") == 1


def test_methods_too_slow_to_be_compared_unasked_are_named() -> None:
    rng = np.random.default_rng(0)
    prefs = cc.Preferences.from_rankings([[f"i{k}" for k in rng.permutation(20)] for _ in range(9)])
    compared, notes = Study(Data(prefs), cc.rank(prefs, "borda")).compared
    assert compared is not None
    assert "kemeny" not in compared.names
    assert any("because they are slow" in note and "Kemeny" in note for note in notes)
    own, _ = Study(Data(prefs), cc.rank(prefs, "kemeny")).compared
    assert own is not None
    assert "kemeny" in own.names  # it is there already


def league_with_a_retired_leader() -> cc.Preferences:
    """A league whose best player stopped long before the last results."""
    rows = [("Old", rival, f"2015-0{month}-01") for rival in "ABC" for month in range(1, 7)]
    rows += [(*pair, f"2020-0{month}-01") for pair in ("AB", "BC", "AC") for month in range(1, 7)]
    winner, loser, date = zip(*rows, strict=True)
    return cc.Preferences.from_pairs(list(winner), list(loser), time=list(date))


@pytest.mark.parametrize("method", ["windowed-bradley-terry", "elo"])
def test_a_report_says_where_it_ranks_items_that_the_ranking_leaves_out(method: str) -> None:
    prefs = league_with_a_retired_leader()
    made = cc.reporting.report(prefs, method=method)
    assert made.title == f"3 items ranked by {usual_name(method)}"
    said = [text.text for text in parts_of(made, Text)]
    assert "This comparison ranks all 4 items, 1 of which is not in the ranking above." in said
    everybody = cc.reporting.report(prefs, method=method, all_items=True)
    assert everybody.title == f"4 items ranked by {usual_name(method)}"
    assert not any("not in the ranking above" in text.text for text in parts_of(everybody, Text))


def test_groups_that_rank_items_that_the_ranking_leaves_out_are_said_to(tmp_path: Path) -> None:
    rows = [("Old", rival, "2015-01-01", group) for rival in "ABC" for group in "xy" for _ in range(4)]
    rows += [(*pair, "2020-01-01", group) for pair in ("AB", "BC", "AC") for group in "xy" for _ in range(4)]
    file = tmp_path / "votes.csv"
    file.write_text("winner,loser,date,group\n" + "\n".join(map(",".join, rows)))
    prefs = cc.read(file, time="date", by="group")
    made = cc.reporting.report(prefs, by="instance", method="elo", methods=[])
    section = next(section for section in made.sections if section.name == "groups")
    said = [part.text for part in section.parts if isinstance(part, Text)]
    assert "This section ranks all 4 items, 1 of which is not in the ranking above." in said


def test_an_item_that_is_not_ranked_is_no_disputed_winner() -> None:
    rows = [("Old", rival, "2015-01-01") for rival in "ABC"]
    rows += [(*pair, f"2020-0{month}-01") for pair in ("AB", "BC", "AC") for month in range(1, 7)]
    prefs = cc.Preferences.from_pairs(
        *map(list, zip(*[row[:2] for row in rows], strict=True)), time=[r[2] for r in rows]
    )
    study = Study(Data(prefs), cc.rank(prefs, "elo"), ("copeland", "plurality"))
    compared = study.compared[0]
    assert compared is not None
    assert "Old by copeland" in compared.dispute
    assert study.dispute == ""


# ---- what opens a report ----
def test_a_report_opens_with_what_was_counted_and_the_date() -> None:
    prefs = cc.read(EXAMPLES / "election.csv")
    made = cc.report(prefs, title="Board", made=Making(date="2026-11-18"))
    assert made.about == (
        "100 voters, 5 candidates; ranked by Borda count. Compared with 5 other methods. Report of 18 November 2026."
    )
    page = made.to_html()
    assert page.index("<h1>") < page.index(made.about) < page.index('id="verdict"') < page.index('id="ranking"')
    assert "2026" not in cc.report(prefs).about, "the same on every day unless a date is given"


def test_a_report_names_methods_as_people_do() -> None:
    made = cc.report(cc.read(EXAMPLES / "election.csv"))
    table = next(part for part in made.sections[1].parts if isinstance(part, ReportTable))
    assert Named("Instant runoff", "instant-runoff") in [row[0] for row in table.rows]
    (chart,) = parts_of(made, BumpChart)
    assert chart.methods[:3] == ("Borda count", "Plurality", "Instant runoff")


def test_counts_are_bars_from_zero_and_ratings_are_dots() -> None:
    election, league = cc.read(EXAMPLES / "election.csv"), cc.read(EXAMPLES / "league.csv")
    counts, ratings = (
        parts_of(cc.report(prefs, method=method, methods=[]), ReportTable)[0].scale
        for prefs, method in ((election, "borda"), (league, "elo"))
    )
    assert counts is not None
    assert ratings is not None
    assert (counts.is_bar, counts.low) == (True, 0.0)
    assert not ratings.is_bar


def test_a_ranking_too_large_for_the_page_is_not_embedded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(about_ranking, "EMBEDDED", 10)
    made = cc.report(cc.read(EXAMPLES / "election.csv"), methods=[])
    assert not parts_of(made, Download)
    assert any("too large for this page" in text.text for text in parts_of(made, Text))


def test_reports_of_runs_speak_of_queries_and_documents() -> None:
    made = cc.report(cc.read(RUNS), labels=cc.read_labels(EXAMPLES / "qrels.txt"), methods=[])
    assert made.title == "4 runs fused by reciprocal rank fusion"
    instances = made.sections[2]
    table = next(part for part in instances.parts if isinstance(part, ReportTable))
    assert table.header[:3] == ("Query", "Documents", "Ranked lists")
    assert len(made.to_html()) < 200_000
