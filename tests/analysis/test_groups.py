"""Groups of ballots: membership, significant differences, and the rate of false positives."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import ROOT, Run

import concordant as cc
from concordant.analysis.groups import contrasts
from concordant.analysis.groups.comparison import GroupComparison
from concordant.analysis.groups.contrasts import step_down
from concordant.metrics.significance import holm

ARENA = ROOT / "examples" / "arena-languages.csv"
SHARES = [0.45, 0.3, 0.15, 0.1]


def votes(
    rng: np.random.Generator, n: int = 500, n_items: int = 6, planted: float = 0.0
) -> tuple[cc.Preferences, list[str]]:
    """Draw votes of four groups that agree, but for item i4, which group b likes more by ``planted``."""
    strength = np.linspace(1.5, -1.5, n_items)
    group = rng.choice(list("abcd"), n, p=SHARES)
    one = rng.integers(0, n_items, n)
    two = (one + rng.integers(1, n_items, n)) % n_items
    first, second = (strength[k] + planted * ((group == "b") & (k == 4)) for k in (one, two))
    won = rng.random(n) < 1 / (1 + np.exp(second - first))
    names = np.array([f"i{k}" for k in range(n_items)])
    return cc.Preferences.from_pairs(names[np.where(won, one, two)], names[np.where(won, two, one)]), group.tolist()


def rankings(rng: np.random.Generator, n: int = 160, n_items: int = 5) -> tuple[cc.Preferences, list[str]]:
    """Draw rankings of four groups that agree."""
    orders = np.argsort(-(np.linspace(1, -1, n_items) + rng.gumbel(size=(n, n_items))), axis=1)
    lists = [[f"i{k}" for k in order[: rng.integers(2, n_items + 1)]] for order in orders]
    return cc.Preferences.from_rankings(lists), rng.choice(list("abcd"), n, p=SHARES).tolist()


def holding(found: GroupComparison) -> set[tuple[str, str]]:
    return {(one.group, one.item) for one in found.significant}


# ---- what is compared ----
def test_the_whole_is_what_rank_gives_and_a_group_what_its_ballots_give() -> None:
    prefs, group = votes(np.random.default_rng(0))
    found = cc.rank_groups(prefs, group, "bradley-terry", prior=1.0)
    whole = cc.rank(prefs, "bradley-terry", prior=1.0)
    assert found.whole.items == whole.items
    np.testing.assert_allclose(found.whole.scores, whole.scores)
    alone = cc.rank(prefs.take(np.array(group) == "c"), "bradley-terry", prior=1.0)
    np.testing.assert_allclose(found.groups["c"].scores, alone.scores, atol=1e-8)
    assert found.names == ["a", "b", "c", "d"]
    assert found.sizes["a"] == group.count("a")


def test_a_difference_is_the_score_in_the_group_less_that_of_all_other_ballots() -> None:
    prefs, group = votes(np.random.default_rng(1))
    found = cc.rank_groups(prefs, group, "bradley-terry", prior=1.0)
    inside, rest = (
        cc.rank(prefs.take(mask), "bradley-terry", prior=1.0)
        for mask in (np.array(group) == "b", np.array(group) != "b")
    )
    for item in prefs.items.labels:
        a, b = inside.items.index(item), rest.items.index(item)
        one = found.cells["b", item]
        assert one.difference == pytest.approx(inside.scores[a] - rest.scores[b], abs=1e-7)
        assert one.stderr == pytest.approx(np.hypot(inside.detail("stderr")[a], rest.detail("stderr")[b]), abs=1e-7)
        assert one.z == pytest.approx(one.difference / one.stderr)
        assert (one.rank, one.low) == (inside.ranks[a], pytest.approx(inside.low[a], abs=1e-7))


def test_all_groups_get_the_prior_that_the_whole_chose() -> None:
    prefs, group = votes(np.random.default_rng(2))
    found = cc.rank_groups(prefs, group, "bradley-terry")
    assert found.groups.fit is not None
    assert found.whole.fit is not None
    assert found.groups.fit["prior"] == found.whole.fit["prior"]
    rating = cc.Preferences.from_ratings(list("uuvvww"), list("xyxyxy"), [5, 3, 4, 1, 2, 2])
    means = cc.rank_groups(rating, {"u": 1, "v": 1, "w": 2}, "mean-rating")
    assert means.groups.fit["prior_count"] == means.whole.fit["prior_count"]  # type: ignore[index]


@pytest.mark.parametrize("kind", ["covariates", "teams"])
def test_covariates_and_teams_of_a_group_count_in_its_ranking(kind: str) -> None:
    rng = np.random.default_rng(5)
    sides = rng.permuted(np.tile(np.arange(6), (400, 1)), axis=1)
    one, two = sides[:, :2], sides[:, 2:4]
    group = rng.choice(["a", "b"], 400)
    if kind == "teams":
        prefs = cc.Preferences.from_teams([[a.tolist(), b.tolist()] for a, b in zip(one, two, strict=True)])
    else:
        length = {"length": tuple(rng.normal(size=400) + side[:, 0] for side in (one, two))}
        prefs = cc.Preferences.from_pairs(one[:, 0], two[:, 0], covariates=length)
    found = cc.rank_groups(prefs, group, "bradley-terry", prior=1.0)
    for name in "ab":
        alone = cc.rank(prefs.take(group == name), "bradley-terry", prior=1.0)
        assert found.groups[name].items == alone.items
        np.testing.assert_allclose(found.groups[name].scores, alone.scores, atol=1e-7)


def test_totals_are_compared_per_ballot() -> None:
    lists = [["x", "y"]] * 30 + [["y", "x"]] * 10 + [["x", "y"]] * 3 + [["y", "x"]]
    found = cc.rank_groups(cc.Preferences.from_rankings(lists), ["a"] * 40 + ["b"] * 4, "plurality", permutations=19)
    assert found.cells["a", "x"].score == 30
    assert found.cells["a", "x"].difference == pytest.approx(0.0, abs=1e-12)


def test_an_item_nobody_of_a_group_saw_has_no_place_there() -> None:
    prefs = cc.Preferences.from_pairs(list("abcab"), list("bcaba"))
    found = cc.rank_groups(prefs, ["g", "g", "g", "h", "h"], "bradley-terry")
    assert ("h", "c") not in found.cells
    assert found.cells["g", "c"].p is None
    assert not found.cells["g", "c"].holds
    assert str(found)


def test_an_item_left_out_by_a_group_is_last_there_where_silence_means_that() -> None:
    prefs = cc.Preferences.from_rankings([["a", "b", "c"]] * 3 + [["a", "b"]] * 3)
    found = cc.rank_groups(prefs, list("ggghhh"), "borda", missing="last", permutations=9)
    assert found.cells["h", "c"].rank == 3
    found = cc.rank_groups(prefs, list("ggghhh"), "borda", missing="ignore", permutations=9)
    assert ("h", "c") not in found.cells


def test_weights_are_repetition() -> None:
    lists, weight, group = [["x", "y", "z"], ["y", "x", "z"], ["z", "y", "x"]], [7, 4, 5], ["a", "b", "b"]
    short = cc.rank_groups(cc.Preferences.from_rankings(lists, weight=weight), group, "borda", permutations=99)
    repeated = [one for one, times in zip(lists, weight, strict=True) for _ in range(times)]
    owners = [one for one, times in zip(group, weight, strict=True) for _ in range(times)]
    long = cc.rank_groups(cc.Preferences.from_rankings(repeated), owners, "borda", permutations=99)
    for one, two in zip(short.differences, long.differences, strict=True):
        assert (one.item, one.rank) == (two.item, two.rank)
        assert one.difference == pytest.approx(two.difference)
        assert one.p == pytest.approx(two.p)  # the same seed deals the same voters


def test_agents_are_dealt_whole_where_each_is_in_one_group() -> None:
    agent = [f"u{k // 3}" for k in range(60)]
    prefs = cc.Preferences.from_pairs(["x", "y"] * 30, ["y", "x"] * 30, agent=agent)
    by_agent = {name: "a" if k % 2 else "b" for k, name in enumerate(dict.fromkeys(agent))}
    assert cc.rank_groups(prefs, by_agent, "borda", permutations=9).test == "permutation test over agents"
    mixed = ["a", "b"] * 30
    assert cc.rank_groups(prefs, mixed, "borda", permutations=9).test == "permutation test over ballots"


# ---- luck and truth ----
@pytest.mark.parametrize(("method", "options"), [("bradley-terry", {}), ("borda", {"permutations": 199})])
def test_a_planted_difference_holds_and_is_found_in_its_group(method: str, options: dict[str, int]) -> None:
    prefs, group = votes(np.random.default_rng(4), 800, planted=2.5)
    found = cc.rank_groups(prefs, group, method, **options)
    assert found.significant[0].item == "i4"
    assert ("b", "i4") in holding(found)
    assert found.cells["b", "i4"].difference > 0  # type: ignore[operator]
    assert all(one.item == "i4" for one in found.significant)
    assert found.sentences()[0].startswith(("a: i4", "b: i4"))


@pytest.mark.parametrize(
    ("method", "make", "trials", "options"),
    [
        ("bradley-terry", votes, 60, {}),
        ("davidson", votes, 60, {}),
        ("plackett-luce", rankings, 60, {}),
        ("borda", rankings, 40, {"permutations": 59}),
        ("mpm", votes, 25, {"permutations": 59}),
        ("copeland", votes, 25, {"permutations": 59}),
    ],
)
def test_groups_that_agree_rarely_seem_to_differ(method, make, trials, options) -> None:  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(11)
    alarms = sum(bool(cc.rank_groups(*make(rng), method, **options).significant) for _ in range(trials))
    # At a level of 5%, more than this many of so many trials happen once in a hundred times.
    assert alarms <= 0.05 * trials + 2.33 * np.sqrt(0.05 * 0.95 * trials)


def test_step_down_maxima_are_those_of_the_definition() -> None:
    far = np.abs(np.random.default_rng(3).normal(size=(50, 6))) + np.linspace(0, 1, 6)
    order = np.argsort(-far[0])
    expected, largest = np.empty(6), 0.0
    for k, column in enumerate(order):
        left = far[:, order[k:]].max(axis=1)
        largest = max(largest, float((left >= far[0, column]).mean()))
        expected[column] = largest
    np.testing.assert_allclose(step_down(far), expected)


def test_the_permutation_test_is_that_of_all_deals() -> None:
    prefs = cc.Preferences.from_rankings([["x", "y"], ["x", "y"], ["x", "y"], ["y", "x"], ["y", "x"], ["y", "x"]])
    found = cc.rank_groups(prefs, list("aaabbb"), "borda", permutations=4000)
    deals = list(itertools.combinations(range(6), 3))
    as_far = sum(abs(sum(k < 3 for k in deal) - 1.5) >= 1.5 for deal in deals)
    assert found.cells["a", "x"].p == pytest.approx(as_far / len(deals), abs=0.02)
    assert found.cells["a", "x"].p_adjusted == found.cells["a", "x"].p  # all four comparisons are the same one


def test_holm_corrects_all_groups_and_items_together_but_two_groups_count_once() -> None:
    prefs, group = votes(np.random.default_rng(6))
    found = cc.rank_groups(prefs, group, "bradley-terry")
    assert found.n_compared == 24
    assert [one.p_adjusted for one in found.differences] == pytest.approx(holm([one.p for one in found.differences]))
    two = cc.rank_groups(prefs, ["a" if one == "a" else "z" for one in group], "bradley-terry")
    assert two.n_compared == 6
    mine = [two.cells["a", item] for item in two.whole.items]
    assert [one.p_adjusted for one in mine] == pytest.approx(holm([one.p for one in mine]))
    assert [two.cells["z", one.item].difference for one in mine] == pytest.approx([-one.difference for one in mine])


def test_the_same_seed_gives_the_same_answer_and_chunks_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    prefs, group = rankings(np.random.default_rng(7))
    once = cc.rank_groups(prefs, group, "borda", permutations=50, seed=3)
    monkeypatch.setattr(contrasts, "TOGETHER", 3000)
    again = cc.rank_groups(prefs, group, "borda", permutations=50, seed=3)
    assert [one.p for one in once.differences] == [one.p for one in again.differences]
    assert once.permutations == 50


def test_much_data_is_permuted_less_often_which_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contrasts, "BUDGET", 1e5)
    prefs, group = rankings(np.random.default_rng(7))
    found = cc.rank_groups(prefs, group, "borda")
    assert found.permutations == contrasts.FEWEST
    assert "99 draws" in found.tested


def test_what_would_take_too_long_is_not_tested_unless_permutations_are_asked_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ticks = itertools.count(step=100)
    monkeypatch.setattr(contrasts, "clock", lambda: next(ticks))  # each fit of all groups takes 100 seconds
    prefs, group = votes(np.random.default_rng(5), 60)
    found = cc.rank_groups(prefs, group, "kemeny")
    assert (found.n_compared, found.permutations, found.significant) == (0, 0, [])
    assert found.sentences() == ["no difference between groups was tested"]
    notice = next(notice for notice in found.warnings if notice.name == "not-tested")
    assert "99 permutations by Kemeny would take about 2.8 h" in str(notice.text)
    assert "permutations=99 to test them all the same" in str(notice.text)
    assert all(row.difference is not None and row.p is None for row in found.differences if row.item == "i4")
    page = cc.report(prefs, tmp_path / "groups.html", method="kemeny", by=group)
    assert "The differences between the groups were not tested." in str(page.sections)
    assert cc.rank_groups(prefs, group, "kemeny", permutations=99).n_compared > 0


def test_errors_may_be_asked_for_and_permutations_too() -> None:
    prefs, group = votes(np.random.default_rng(8))
    assert cc.rank_groups(prefs, group, "mpm", test="errors").correction == "Holm"
    assert cc.rank_groups(prefs, group, "bradley-terry", permutations=9).permutations == 9
    with pytest.raises(cc.InputError, match="borda has no standard errors here"):
        cc.rank_groups(prefs, group, "borda", test="errors")


def test_small_groups_are_named() -> None:
    prefs, group = votes(np.random.default_rng(9), 120)
    found = cc.rank_groups(prefs, group, "borda", permutations=9)
    small = next(notice for notice in found.warnings if notice.name == "small-groups")
    assert f"d ({group.count('d')})" in small.text


# ---- who is in which group ----
def test_groups_come_from_columns_labels_agents_and_instances(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    rows = [("x", "y", "u", "a"), ("y", "x", "v", "b"), ("x", "y", "w", "a"), ("x", "y", "v", "b")]
    frame = pd.DataFrame(rows, columns=["winner", "loser", "voter", "country"])
    path = tmp_path / "votes.csv"
    frame.to_csv(path, index=False)
    prefs = cc.Preferences.from_pairs(*zip(*[row[:2] for row in rows], strict=True), agent=[row[2] for row in rows])
    found = [
        cc.rank_groups(path, by="country", method="bradley-terry"),
        cc.rank_groups(frame, by="country", method="bradley-terry"),
        cc.rank_groups(cc.read(path, by="country"), method="bradley-terry"),
        cc.rank_groups(prefs, [row[3] for row in rows], "bradley-terry"),
        cc.rank_groups(prefs, np.array([row[3] for row in rows]), "bradley-terry"),
        cc.rank_groups(prefs, {"u": "a", "v": "b", "w": "a"}, "bradley-terry"),
        cc.rank_groups(cc.read(path, instance="country"), method="bradley-terry"),
    ]
    for one in found:
        assert one.to_dict()["differences"] == found[0].to_dict()["differences"]
        assert dict(one.sizes) == {"a": 2, "b": 2}
    assert [one.by for one in found[:4]] == ["country", "country", "country", "group"]


@pytest.mark.parametrize(
    ("header", "rows"),
    [
        ("winner,loser,country", ["x,y,a", "y,x,b", "x,y,"]),
        ("ranking,country", ["x > y,a", "y > x,b", "x > y,"]),
        ("first,second,country", ["x,y,a", "y,x,b", "x,y,"]),
        ("user,item,rating,country", ["u,x,5,a", "u,y,3,a", "v,x,1,b", "v,y,4,b", "w,x,2,", "w,y,1,"]),
        ("user,item,rank,country", ["u,x,1,a", "u,y,2,a", "v,x,2,b", "v,y,1,b", "w,x,1,", "w,y,2,"]),
    ],
)
def test_every_layout_has_groups_and_rows_without_one_have_their_own(
    tmp_path: Path, header: str, rows: list[str]
) -> None:
    path = tmp_path / "table.csv"
    path.write_text("\n".join([header, *rows]) + "\n")
    prefs = cc.read(path, by="country")
    assert prefs.instances is not None
    assert prefs.instances.labels == ["a", "b", "(none)"]
    assert "by = country" in prefs.notes[0]
    found = cc.rank_groups(path, by="country", method="borda", permutations=9)
    assert found.names == ["a", "b", "(none)"]
    assert found.by == "country"


def test_what_cannot_be_compared_is_refused_with_a_reason(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("query,user,item,rating,genre\nq,u,x,5,g\nq,u,y,3,h\n")
    with pytest.raises(
        cc.InputError, match="query is the instance, but groups are compared within one instance: use instance='none'"
    ):
        cc.rank_groups(path, by="genre")
    with pytest.raises(cc.InputError, match="No item occurs in two groups"):
        cc.rank_groups(path, by="genre", instance="none")
    with pytest.raises(cc.InputError, match="All ballots are in one group"):
        cc.rank_groups(path, by="query")
    with pytest.raises(cc.InputError, match=r"has no column 'genr' for the role group\. Did you mean genre"):
        cc.rank_groups(path, by="genr")
    with pytest.raises(cc.InputError, match="for example by='language'"):
        cc.rank_groups(path)
    prefs, group = votes(np.random.default_rng(0), 200)
    with pytest.raises(cc.InputError, match="has 3 groups for 200 ballots"):
        cc.rank_groups(prefs, ["a", "b", "c"])
    with pytest.raises(cc.InputError, match="There are 200 groups"):
        cc.rank_groups(prefs, list(range(200)))
    with pytest.raises(cc.InputError, match="have no groups"):
        cc.rank_groups(prefs)
    with pytest.raises(cc.InputError, match="needs preferences with agents"):
        cc.rank_groups(prefs, {"u": "a"})
    with pytest.raises(cc.InputError, match="names a column"):
        cc.rank_groups(prefs, "language")
    with pytest.raises(cc.ParameterError, match="alpha=2"):
        cc.rank_groups(prefs, group, alpha=2)
    with pytest.raises(cc.ParameterError, match="test='t'"):
        cc.rank_groups(prefs, group, test="t")
    with pytest.raises(cc.ParameterError, match="permutations=0"):
        cc.rank_groups(prefs, group, permutations=0)
    queries = cc.Preferences.from_rankings([["a", "b"]] * 2, instance=["q", "r"])
    with pytest.raises(cc.InputError, match="2 instances, but groups are compared within one"):
        cc.rank_groups(queries, ["a", "b"])


# ---- what it shows ----
def test_it_prints_and_exports() -> None:
    prefs, group = votes(np.random.default_rng(4), 800, planted=2.5)
    found = cc.rank_groups(prefs, group, "bradley-terry")
    text = str(found)
    assert "▲" in text
    assert "Holm over 24 comparisons" in text
    assert "</td>" in found._repr_html_()
    assert len(found.columns()["p_adjusted"]) == 24
    plain = found.to_dict()
    assert [one["group"] for one in plain["groups"]] == found.names
    assert len(plain["differences"]) == 24
    assert found.head(2).n_compared == 24
    assert {one.item for one in found.head(2).differences} == set(found.whole.items[:2])
    careful = found.sorted_by("low")
    assert careful.whole.items == found.whole.by("low").items
    assert [one.item for one in careful.differences[:6]] == careful.whole.items


def test_differences_become_a_frame_and_a_picture(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    pytest.importorskip("matplotlib", reason="plots are an extra")
    prefs, group = votes(np.random.default_rng(4), 800, planted=2.5)
    found = cc.rank_groups(prefs, group, "bradley-terry")
    assert len(found.to_frame("pandas")) == 24
    figure = found.plot(str(tmp_path / "groups.svg"))
    assert [tick.get_text() for tick in figure.axes[0].get_xticklabels()] == found.names
    assert sum(text.get_text() == "★" for text in figure.axes[0].texts) == len(found.significant)
    assert (tmp_path / "groups.svg").read_text().count("<svg") == 1


def test_rare_items_are_left_out_before_anything_is_compared() -> None:
    prefs, group = votes(np.random.default_rng(5), 300)
    rare = cc.Preferences.from_pairs(
        [prefs.items[k] for k in prefs.item[0::2]] + ["rare"], [prefs.items[k] for k in prefs.item[1::2]] + ["i0"]
    )
    found = cc.rank_groups(rare, [*group, "a"], "bradley-terry", min_ballots=5)
    assert "rare" not in found.whole.items
    assert any("fewer than 5 ballots" in notice.text for notice in found.warnings)


def test_a_report_has_a_section_of_groups(tmp_path: Path) -> None:
    prefs, group = votes(np.random.default_rng(4), 800, planted=2.5)
    made = cc.report(prefs, tmp_path / "report.html", by=group, method="bradley-terry", methods=[])
    section = next(section for section in made.sections if section.name == "groups")
    assert section.title == "Groups"
    page = (tmp_path / "report.html").read_text()
    assert "differences between a group and the rest are significant" in page
    assert "★" in page


# ---- on the command line ----
def test_the_command_line_shows_groups_beside_the_whole(run: Run) -> None:
    code, out, err = run("rank", ARENA, "--by", "language")
    assert code == 0
    assert "German (161)" in out
    assert "German: wren-mini scores 1.40 higher than in the other groups" in out
    assert "by = language" in err
    assert "small-groups" in err
    code, out, _ = run("rank", ARENA, "--by", "language", "--top", "2", "--csv")
    assert code == 0
    assert out.splitlines()[0].startswith("group,item,rank,rank_in_whole,score,low,high,difference")
    assert len(out.splitlines()) == 1 + 5 * 2
    code, out, _ = run("rank", ARENA, "--by", "language", "--json", "--method", "borda", "--permutations", "19")
    assert code == 0
    assert json.loads(out)["permutations"] == 19


def test_whoever_sorts_by_the_old_name_hears_the_new_one(run: Run) -> None:
    for path in (ARENA, ROOT / "examples" / "election.soc"):
        code, _, err = run("rank", path, "--by", "low")
        assert code == 2
        assert "There is no column 'low' to group by; to sort by low, use --sort low." in err
    code, _, _ = run("rank", ARENA, "--by", "language", "--sort", "low", "--csv")
    assert code == 0


def test_options_of_groups_ask_for_groups(run: Run, tmp_path: Path) -> None:
    code, _, err = run("rank", ARENA, "--plot-groups", tmp_path / "g.svg")
    assert code == 2
    assert "--plot-groups needs groups: name their column with --by COLUMN." in err
    code, _, err = run("rank", ARENA, "--by", "langage")
    assert code != 0
    assert "Did you mean language?" in err
    code, _, err = run("rank", ARENA, "--by", "language", "--instance", "language")
    assert code != 0
    assert "leave out --by" in err


def test_many_groups_show_the_largest(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    rows = [f"x,y,g{k}" for k in range(12) for _ in range(k + 1)] + ["y,x,g0"]
    path.write_text("\n".join(["winner,loser,city", *rows]) + "\n")
    code, out, _ = run("rank", path, "--by", "city")
    assert code == 0
    assert "… 4 smaller groups: use --csv or --json for all" in out
    assert "g11 (12)" in out
    assert "g1 (2)" not in out


def test_the_report_has_groups(run: Run, tmp_path: Path) -> None:
    code, _, err = run("report", ARENA, "--by", "language", "--methods", "none", "-o", tmp_path / "r.html")
    assert code == 0
    assert "Groups: language" in err
    report = (tmp_path / "r.html").read_text()
    assert "1 of 40 differences between a group and the rest is significant" in report
    assert "p = 0.039 (Holm)" in report


FORM = """Timestamp,Your name,Age group,Rank [Sushi Bar],Rank [Taco Place],Rank [Pho Corner]
1,ann,young,1st choice,2nd choice,3rd choice
2,bob,young,1st choice,3rd choice,2nd choice
3,cid,old,3rd choice,1st choice,2nd choice
4,eve,,2nd choice,1st choice,3rd choice
"""


def test_respondents_of_a_form_are_compared_by_what_else_they_answered(tmp_path: Path) -> None:
    path = tmp_path / "form.csv"
    path.write_text(FORM, encoding="utf-8")
    found = cc.rank_groups(path, by="Age group", method="borda")
    assert found.whole.items == cc.rank(cc.read(path), "borda").items
    assert {part.instance: part.items[0] for part in found.groups} == {
        "young": "Sushi Bar", "old": "Taco Place", "(none)": "Taco Place",
    }  # fmt: skip


def test_of_a_matrix_only_agents_are_in_groups(tmp_path: Path) -> None:
    path = tmp_path / "matrix.csv"
    path.write_text("item,ann,bob,size\nx,1,2,3\ny,2,1,1\nz,3,3,2\n", encoding="utf-8")
    with pytest.raises(cc.InputError, match="every row represents an item, but groups apply to agents"):
        cc.read(path, by="size")
    path.write_text("who,age,A [x],A [y],B [x],B [y]\nann,old,1,2,2,1\nbob,young,2,1,1,2\n", encoding="utf-8")
    with pytest.raises(cc.InputError, match="within one question"):
        cc.read(path, by="age")
    assert cc.read(path, by="age", question="A").n_instances == 2
