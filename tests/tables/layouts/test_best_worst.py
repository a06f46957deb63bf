"""Best-worst scaling: wide, long and counted tables."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import concordant as cc
from concordant.errors import InputError

READ = ["b > a = c > d", "c > a = e > f", "a > b = c > d"]


def read(text: str, **options: Any) -> cc.Preferences:
    return cc.read(io.StringIO(text), **options)


def ballots(prefs: cc.Preferences) -> list[str]:
    return [text for _, text in prefs.describe().first]


def rows(heading: str, marks: list[str]) -> str:
    sets = ["1,a,b,c,d", "1,a,c,e,f", "2,a,b,c,d"]
    return heading + "\n" + "".join(f"{items},{mark}\n" for items, mark in zip(sets, marks, strict=True))


@pytest.mark.parametrize(
    ("heading", "marks"),
    [
        ("id,item1,item2,item3,item4,best,worst", ["b,d", "c,f", "a,d"]),
        ("id,item_1,item_2,item_3,item_4,most,least", ["2,4", "2,4", "1,4"]),
        (
            "respondent,Option 1,Option 2,Option 3,Option 4,Best,Worst",
            ["Option 2,Option 4", "2,4", "1,4"],
        ),
        ("resp,A,B,C,D,best,worst", ["B,D", "B,D", "A,D"]),
        ("id,alt.1,alt.2,alt.3,alt.4,best,worst", ["2.0,4.0", "2.0,4.0", "1.0,4.0"]),
        ("pid,Item1,Item2,Item3,Item4,BestItem,WorstItem", ["b,d", "c,f", "a,d"]),
        ("id,choice1,choice2,choice3,choice4,most important,least important", ["b,d", "c,f", "a,d"]),
    ],
)
def test_wide_tables_with_labels_or_positions(heading: str, marks: list[str]) -> None:
    prefs = read(rows(heading, marks))
    assert ballots(prefs) == READ
    assert list(prefs.agents or ()) == ["1", "2"]
    assert prefs.value is None
    assert cc.rank(prefs).method == "best-worst"


def test_letters_name_columns_whose_names_occur_as_marks() -> None:
    assert ballots(read("a,b,c,best,worst\nx,y,z,a,c\ny,z,w,b,a\n")) == ["x > y > z", "z > w > y"]


def test_missing_marks_leave_the_rest_open() -> None:
    prefs = read(rows("id,item1,item2,item3,item4,best,worst", ["b,d", "c,", ","]))
    assert ballots(prefs) == ["b > a = c > d", "c > a, e, f"]
    assert prefs.open is not None
    assert prefs.open.tolist() == [False, True]
    assert any("neither a best nor a worst item, left out (first: line 4)" in note for note in prefs.notes)
    only_worst = read(rows("id,item1,item2,item3,item4,best,worst", ["b,d", ",f", "a,d"]))
    assert ballots(only_worst)[1] == "a = c = e > f"


@pytest.mark.parametrize(
    ("mark", "message"),
    [
        ("b,b", "line 2: the best and the worst item are the same"),
        ("z,d", "line 2: best is neither an item of the set nor a position from 1 to 4, but 'z'"),
        ("b,9", "line 2: worst is neither an item of the set nor a position from 1 to 4, but '9'"),
    ],
)
def test_contradictions_are_rejected_with_the_line(mark: str, message: str) -> None:
    text = rows("id,item1,item2,item3,item4,best,worst", [mark, "c,f", "a,d"])
    with pytest.raises(InputError, match=message):
        read(text)
    assert ballots(read(text, skip_bad_rows=True)) == READ[1:]


LONG = """{heading}
1,1,a,{z}
1,1,b,{b}
1,1,c,{z}
1,1,d,{w}
1,2,a,{z}
1,2,c,{b}
1,2,e,{z}
1,2,f,{w}
2,1,a,{b}
2,1,b,{z}
2,1,c,{z}
2,1,d,{w}
"""


@pytest.mark.parametrize(
    ("heading", "words"),
    [
        ("id,block,label,value", ("1", "0", "-1")),
        ("id,block,issue,value", ("1.0", "0.0", "-1.0")),
        ("pid,trial,character,decision", ("1", "0", "-1")),
        ("respondent,set,item,choice", ("best", "", "worst")),
        ("id,block,label,best,worst", ("1,0", "0,0", "0,1")),
    ],
)
def test_long_tables_with_one_or_two_columns_of_marks(heading: str, words: tuple[str, str, str]) -> None:
    best, neither, worst = words
    prefs = read(LONG.format(heading=heading, b=best, z=neither, w=worst))
    assert ballots(prefs) == READ
    assert prefs.meta["layout"] == "best-worst"
    assert "not read" not in prefs.notes[0]


def test_two_best_items_are_rejected_with_the_line() -> None:
    sets = [(k, item, value) for k in range(1, 13) for item, value in (("x", 1), ("y", 0), ("z", -1))]
    text = "id,block,label,value\n" + "".join(f"1,{k},{item},{value}\n" for k, item, value in sets)
    assert read(text).n_ballots == 12
    with pytest.raises(InputError, match="line 6: several items of the set are the best"):
        read(text.replace("1,2,y,0", "1,2,y,1"))


def test_ratings_of_items_are_not_best_worst_scaling() -> None:
    prefs = read("user,question,item,value\nu,1,a,1\nu,1,b,1\nu,1,c,-1\nv,1,a,1\nv,1,b,0\nv,1,c,1\n")
    assert prefs.scale == "rating"
    assert "layout" not in prefs.meta


COUNTS = "item,totals,bests,worsts\na,10,5,1\nb,10,1,4\nc,12,6,0\nd,8,0,0\n"


def test_counts_give_exact_scores() -> None:
    prefs = read(COUNTS)
    share = cc.rank(prefs)
    assert share.method == "best-worst"
    assert dict(zip(share.items, share.scores.tolist(), strict=True)) == {"c": 0.5, "a": 0.4, "d": 0.0, "b": -0.3}
    total = cc.rank(prefs, "score")
    assert dict(zip(total.items, total.scores.tolist(), strict=True)) == {"c": 6, "a": 4, "d": 0, "b": -3}
    assert any("without ballots: use best-worst, score or mean-rating" in note for note in prefs.notes)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("b,10,1,4", "b,4,1,4", "line 3: totals is less than bests and worsts together"),
        ("b,10,1,4", "b,ten,1,4", "line 3: a count is not a number"),
        ("b,10,1,4", "b,10,-1,4", "line 3: a count is not"),
    ],
)
def test_bad_counts_are_rejected_with_the_line(old: str, new: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(COUNTS.replace(old, new))


def test_best_and_worst_choices_agree_with_the_conditional_logit_of_statsmodels() -> None:
    """Best choices alone, as open ballots, are a conditional logit; best and worst together correlate closely."""
    models = pytest.importorskip("statsmodels.discrete.conditional_models", reason="statsmodels is not installed")
    rng = np.random.default_rng(5)
    worth, lines, chosen, design, groups = np.linspace(1, -1, 6), [], [], [], []
    for k in range(500):
        items = rng.permutation(6)[:4]
        utility = worth[items] + rng.gumbel(size=4)
        best, worst = items[utility.argmax()], items[utility.argmin()]
        lines.append(",".join("abcdef"[i] for i in (*items, best, worst)))
        chosen += [int(i == best) for i in items]
        design += [[float(i == j) for j in range(1, 6)] for i in items]
        groups += [k] * 4
    both = read("item1,item2,item3,item4,best,worst\n" + "\n".join(lines) + "\n")
    best_only = read("item1,item2,item3,item4,best,worst\n" + "\n".join(line[:-1] for line in lines) + "\n")
    fit = models.ConditionalLogit(np.array(chosen), np.array(design), groups=np.array(groups)).fit(
        disp=False, method="newton"
    )
    expected = np.append(0.0, fit.params)

    def scores(prefs: cc.Preferences, method: str, **params: Any) -> Any:
        ranking = cc.rank(prefs, method, **params)
        score = dict(zip(ranking.items, ranking.scores.tolist(), strict=True))
        return np.array([score[item] - score["a"] for item in "abcdef"])

    assert scores(best_only, "plackett-luce", prior=0) == pytest.approx(expected, abs=1e-5)
    for found in (scores(both, "plackett-luce", prior=0), scores(both, "best-worst")):
        assert np.corrcoef(found, expected)[0, 1] > 0.98


@pytest.mark.parametrize(("name", "n_ballots", "n_items"), [("agg", 100, 60), ("indiv", 130, 13), ("vdata", 4550, 13)])
def test_published_data_have_the_scores_of_their_counts(
    data_folder: Path, name: str, n_ballots: int, n_items: int
) -> None:
    rdata = pytest.importorskip("rdata", reason="rdata, which reads R files, is not installed")
    path = data_folder / "best-worst" / f"{name}.rda"
    if not path.exists():
        pytest.skip(f"{path.name} is not among the public data sets")
    frame = rdata.read_rda(path)[name]
    item, value = frame.columns[2], frame.columns[3]
    prefs = cc.Preferences.from_frame(frame)
    assert (prefs.n_ballots, prefs.n_items) == (n_ballots, n_items)
    ranking = cc.rank(prefs)
    expected = frame.groupby(item)[value].mean()
    assert ranking.scores == pytest.approx(expected[ranking.items].to_numpy(), abs=1e-12)
