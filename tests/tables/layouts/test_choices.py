"""Choice data in the long form: a set is a ballot, the chosen alternative above the rest."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest

import concordant as cc
from concordant.errors import InputError


def read(text: str, **options: Any) -> cc.Preferences:
    return cc.read(io.StringIO(text), **options)


def ballots(prefs: cc.Preferences) -> list[tuple[str, str]]:
    return list(prefs.describe().first)


@pytest.mark.parametrize(
    ("heading", "yes", "no"),
    [
        ("id,chid,alt,choice", "TRUE", "FALSE"),
        ("chooser,set,alternative,chosen", "1", "0"),
        ("respondent,choice_set,option,selected", "yes", "no"),
        ("respID,obsID,alt,choice", "1.0", "0.0"),
        ("pid,task,product,chosen", "1", ""),
    ],
)
def test_usual_names_and_flags(heading: str, yes: str, no: str) -> None:
    rows = [("1", "1", "car", yes), ("1", "1", "bus", no), ("1", "1", "air", no)]
    rows += [("1", "2", "car", no), ("1", "2", "bus", yes), ("2", "1", "air", no), ("2", "1", "bus", yes)]
    prefs = read(f"{heading}\n" + "".join(",".join(row) + "\n" for row in rows))
    assert prefs.form == "choices"
    assert ballots(prefs) == [("1", "car > bus, air"), ("1", "bus > car"), ("2", "bus > air")]
    assert "choices: a set is a ballot, the chosen alternative above the rest" in prefs.notes


def test_a_chooser_with_one_set_needs_no_column_of_sets() -> None:
    prefs = read("individual,mode,choice,wait\n1,air,no,69\n1,car,yes,0\n2,air,yes,64\n2,car,no,0\n")
    assert ballots(prefs) == [("1", "car > air"), ("2", "air > car")]


def test_sets_without_a_choice_are_left_out_and_counted() -> None:
    text = "chooser,set,alternative,chosen\na,1,x,1\na,1,y,0\na,2,x,0\na,2,z,0\nb,1,x,0\nb,1,y,1\n"
    prefs = read(text)
    assert prefs.n_ballots == 2
    assert "left out 1 set: no alternative is chosen (opt-out) (first: line 4)" in prefs.notes
    with pytest.raises(InputError, match=r"line 4: no alternative is chosen .* strict=True rejects"):
        read(text, strict=True)


def test_a_table_without_any_choice_is_rejected() -> None:
    with pytest.raises(InputError, match="no set has a chosen alternative"):
        read("chooser,set,alternative,chosen\na,1,x,0\na,1,y,0\nb,1,x,0\nb,1,y,0\n")


def test_several_chosen_alternatives_are_an_error_with_its_line() -> None:
    text = "chooser,set,alternative,chosen\na,1,x,1\na,1,y,0\na,1,z,1\nb,1,x,0\nb,1,y,1\n"
    with pytest.raises(InputError, match="line 4: several alternatives of the set are chosen"):
        read(text)
    prefs = read(text, skip_bad_rows=True)
    assert ballots(prefs) == [("b", "y > x")]
    assert any(note.startswith("left out 1 set: several alternatives") for note in prefs.notes)


def test_weights_groups_and_covariates_are_kept() -> None:
    rows = ["id,chid,alt,choice,price,region,weight"]
    for k, chosen in enumerate("xyzxyxzx", 1):
        about = f"{'n' if k % 2 else 's'},{1 + k % 2}"
        rows += [f"{k},{k},{alt},{int(alt == chosen)},{(k * j) % 3},{about}" for j, alt in enumerate("xyz")]
    text = "\n".join(rows) + "\n"
    prefs = read(text, covariate="price")
    assert prefs.weight.tolist() == [2, 1] * 4
    assert prefs.covariates == ("price",)
    assert list(read(text, by="region").instances or ()) == ["n", "s"]


def test_conjoint_data_are_rejected_with_the_option_to_rank_an_attribute() -> None:
    text = (
        "respID,qID,altID,obsID,price,type,choice\n1,1,1,1,2.5,Gala,0\n1,1,2,1,1.5,Fuji,1\n"
        "1,2,1,2,2,Fuji,1\n1,2,2,2,3,Honey,0\n"
    )
    with pytest.raises(InputError, match=r"no column names the alternatives: conjoint data .* item=type"):
        read(text)
    assert ballots(read(text, item="type")) == [("1", "Fuji > Gala"), ("1", "Fuji > Honey")]
    nameless = "CaseID,contest_no,Education,Gender,Chosen_Immigrant\n4,1,no,f,1\n4,1,hs,m,0\n4,2,hs,f,1\n4,2,no,m,0\n"
    with pytest.raises(InputError, match=r"attributes \(Education, Gender\)"):
        read(nameless)


def test_names_that_go_with_numbers_are_the_alternatives() -> None:
    prefs = read("id,obsID,alt,choice,brand\n1,1,1,0,dannon\n1,1,2,1,hiland\n1,2,1,1,dannon\n1,2,2,0,hiland\n")
    assert list(prefs.items) == ["dannon", "hiland"]


def test_numbered_alternatives_are_read_with_a_note() -> None:
    prefs = read("id,chid,alt,choice,cost\n1,1,1,0,5\n1,1,2,1,6\n1,2,1,1,7\n1,2,2,0,5\n")
    assert list(prefs.items) == ["1", "2"]
    assert any("the alternatives are numbers" in note for note in prefs.notes)


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("left,right,choice,task\na,b,1,1\nb,c,0,2\n", "pairs"),
        ("prompt,chosen,rejected\np,good,bad\nq,fine,poor\n", "pairs"),
        ("question_id,model_a,model_b,choice\n1,x,y,x\n1,x,z,z\n", "pairs"),
    ],
)
def test_other_tables_with_such_names_are_read_as_before(text: str, form: str) -> None:
    assert read(text).form == form


def _simulated(seed: int) -> tuple[str, Any]:
    """Return simulated choices from sets of 3 of 5 alternatives: text, and rows (set, item, price, chosen)."""
    rng = np.random.default_rng(seed)
    worth, rows = np.array([1.0, 0.5, 0.0, -0.3, -0.8]), []
    for k in range(400):
        items, price = rng.permutation(5)[:3], rng.uniform(0, 2, 3).round(2)
        utility = worth[items] - 0.7 * price + rng.gumbel(size=3)
        rows += [(k, int(i), float(p), int(u == utility.max())) for i, p, u in zip(items, price, utility, strict=True)]
    lines = [f"{k % 40},{k},{'abcde'[i]},{'yes' if chosen else 'no'},{p}" for k, i, p, chosen in rows]
    return "id,chid,alt,choice,price\n" + "\n".join(lines) + "\n", np.array(rows, float)


@pytest.mark.parametrize("has_price", [False, True])
def test_scores_equal_the_conditional_logit_of_statsmodels(has_price: bool) -> None:
    models = pytest.importorskip("statsmodels.discrete.conditional_models", reason="statsmodels is not installed")
    text, rows = _simulated(3)
    prefs = read(text, **({"covariate": "price"} if has_price else {}))
    ranking = cc.rank(prefs, "plackett-luce", prior=0)
    constants = (rows[:, 1:2] == np.arange(1, 5)).astype(float)  # of b, c, d and e; a has 0
    design = np.hstack([constants, rows[:, 2:3]]) if has_price else constants
    fit = models.ConditionalLogit(rows[:, 3], design, groups=rows[:, 0]).fit(disp=False, method="newton")
    score = dict(zip(ranking.items, ranking.scores.tolist(), strict=True))
    assert [score[item] - score["a"] for item in "bcde"] == pytest.approx(fit.params[:4].tolist(), abs=1e-5)
    if has_price:
        (price,) = ranking.coefficients
        assert price.value == pytest.approx(fit.params[4], abs=1e-5)
