"""Exports of Toloka, MTurk and Figure Eight, and answers without a header."""

from __future__ import annotations

import io

import pytest

import concordant as cc
from concordant.errors import FormatError, InputError

_COLUMNS = "INPUT:image OUTPUT:result GOLDEN:result HINT:text ASSIGNMENT:id ASSIGNMENT:worker_id ASSIGNMENT:status"
_ROWS = [
    *("u1,cat,cat,,a1,w1,APPROVED", "u2,dog,,,a1,w1,APPROVED", "", "u1,cat,cat,,a2,w2,SUBMITTED"),
    *("u2,cat,,,a2,w2,SUBMITTED", ",,,,,,", "u1,dog,cat,,a3,w3,REJECTED"),
]
TOLOKA = "\n".join([_COLUMNS.replace(" ", "\t"), *(row.replace(",", "\t") for row in _ROWS), ""])
MTURK = """HITId,AssignmentId,WorkerId,AssignmentStatus,SubmitTime,Input.id,Input.text,Answer.sentiment.label,Approve
H1,A1,W1,Approved,t,17,"Nice, really",Positive,x
H1,A2,W2,Submitted,t,17,"Nice, really",Neutral,
H2,A3,W1,Approved,t,18,Bad,Negative,x
H2,A4,W2,Rejected,t,18,Bad,Positive,
"""
FIGURE_EIGHT = """_unit_id,_golden,_id,_missed,_tainted,_trust,_worker_id,sentiment,airline,sentiment_gold,text
1,true,10,false,false,0.9,77,positive,D,positive,hi
1,true,11,true,false,0.5,78,negative,D,positive,hi
2,false,12,false,false,0.9,77,neutral,U,,ho
2,false,13,false,true,0.1,79,neutral,U,,ho
"""


def read(text: str, **options: object) -> cc.Preferences:
    return cc.read(io.StringIO(text), **options)


def said(prefs: cc.Preferences) -> list[tuple[str, str]]:
    return list(zip(prefs.items.take(prefs.item), prefs.classes.take(prefs.value.astype(int)), strict=True))


def test_toloka_leaves_out_rejected_assignments_and_empty_lines():
    prefs = read(TOLOKA, delimiter="\t")
    assert said(prefs) == [("u1", "cat"), ("u2", "dog"), ("u1", "cat"), ("u2", "cat")]
    assert list(prefs.agents) == ["w1", "w2"]
    assert {"left out 1 rejected or unfinished assignment", "left out 1 empty row"} <= set(prefs.notes)
    assert "gold answers in GOLDEN:result; cc.read_labels reads them" in prefs.notes


def test_gold_answers_inside_an_export_are_labels():
    gold = cc.read_labels(io.StringIO(TOLOKA), delimiter="\t")
    assert (list(gold.items), list(gold.classes)) == (["u1"], ["cat"])
    gold = cc.read_labels(io.StringIO(FIGURE_EIGHT))
    assert (list(gold.items), list(gold.classes)) == (["1"], ["positive"])


def test_several_fields_of_answers_need_an_option():
    text = TOLOKA.replace("HINT:text", "OUTPUT:comment").replace("cat\t\ta1", "cat\tok\ta1")
    assert said(read(text, delimiter="\t"))[0] == ("u1", "cat")  # the field with gold answers
    text = text.replace("GOLDEN:result", "OUTPUT:other")
    with pytest.raises(FormatError, match=r"several answers \(OUTPUT:result, .*answer='OUTPUT:result'"):
        read(text, delimiter="\t")
    prefs = read(text, delimiter="\t", answer="OUTPUT:result")
    assert len(prefs.item) == 4  # rejected assignments stay out


def test_two_inputs_that_are_sides_are_a_pair_if_answers_name_a_side():
    text = "INPUT:image_left\tINPUT:image_right\tOUTPUT:result\tASSIGNMENT:worker_id\n{}"
    prefs = read(text.format("x\ty\tLEFT\tw1\ny\tz\tRIGHT\tw1\n"), delimiter="\t")
    assert (prefs.form, list(prefs.items)) == ("pairs", ["x", "y", "z"])
    assert [prefs.items[int(code)] for code in prefs.item[0::2]] == ["x", "z"]
    prefs = read(text.format("x\ty\tSAME\tw1\ny\tz\tOTHER\tw1\n"), delimiter="\t")
    assert (prefs.form, list(prefs.items)) == ("answers", ["x | y", "y | z"])
    assert read(text.format("x\ty\t1\tw1\ny\tz\t0\tw1\n"), delimiter="\t").form == "ratings"


def test_mturk_uses_the_identifier_of_the_task_and_leaves_out_rejected_work():
    prefs = read(MTURK)
    assert said(prefs) == [("17", "Positive"), ("18", "Negative"), ("17", "Neutral")]
    assert list(read(MTURK, item="HITId").items) == ["H1", "H2"]
    assert "left out 1 rejected or unfinished assignment" in read(MTURK, item="HITId").notes


@pytest.mark.parametrize("names", ["Answer.animal.cat,Answer.animal.dog", "Answer.cat.on,Answer.dog.on"])
def test_a_column_of_flags_per_class_is_one_answer(names):
    rows = "H1,W1,Approved,u1,true,false\nH1,W2,Approved,u1,false,true\nH2,W1,Approved,u2,false,false\n"
    text = f"HITId,WorkerId,AssignmentStatus,Input.image_url,{names}\n{rows}"
    prefs = read(text)
    assert said(prefs) == [("u1", "cat"), ("u1", "dog")]
    assert any("there is no answer" in note for note in prefs.notes)
    with pytest.raises(FormatError, match="several answers are true"):
        read(text + "H2,W2,Approved,u2,true,true\n")


def test_figure_eight_leaves_out_tainted_judgements():
    prefs = read(FIGURE_EIGHT)
    assert said(prefs) == [("1", "positive"), ("2", "neutral"), ("1", "negative")]
    assert list(prefs.agents) == ["77", "78"]
    assert "left out 1 tainted assignment" in prefs.notes


def test_empty_answers_are_an_error():
    with pytest.raises(FormatError, match="are empty"):
        read("HITId,WorkerId,Answer.x\nH1,W1,\nH2,W1,\n")
    with pytest.raises(FormatError, match="no gold answers"):
        cc.read_labels(io.StringIO("INPUT:i\tOUTPUT:r\tGOLDEN:r\tASSIGNMENT:worker_id\nu\tx\t\tw\n"), delimiter="\t")


# ---- without a header ----
TRIPLES = [("w1", "t1", "cat"), ("w2", "t1", "cat"), ("w1", "t2", "dog"), ("w2", "t2", "cat"), ("w1", "t3", "dog")]
TRIPLES += [("w2", "t3", "dog")]


@pytest.mark.parametrize("separator", ["\t", " "])
@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2)])
def test_headerless_triples_are_answers_with_the_larger_set_as_tasks(order, separator, tmp_path):
    path = tmp_path / "labels.txt"
    path.write_text("\n".join(separator.join(row[k] for k in order) for row in TRIPLES), encoding="utf-8")
    prefs = cc.read(path)
    assert (list(prefs.agents), list(prefs.items)) == (["w1", "w2"], ["t1", "t2", "t3"])
    assert list(prefs.classes) == ["cat", "dog"]


def test_headerless_gold_pairs_are_labels(tmp_path):
    path = tmp_path / "gold.txt"
    path.write_text("t1\tcat\nt2\tdog\nt3\tdog\n", encoding="utf-8")
    gold = cc.read_labels(path)
    assert (list(gold.items), gold.label.tolist()) == (["t1", "t2", "t3"], [0, 1, 1])
    assert list(gold.classes) == ["cat", "dog"]


@pytest.mark.parametrize(
    "rows",
    [
        "u1 i1 5,u1 i2 3,u2 i1 4,u2 i2 1,u3 i1 2,u3 i3 5,u4 i1 1,u4 i2 2",  # ratings
        "a b c,d e f,g h i,b a c,e d f",  # every row its own words
    ],
)
def test_other_headerless_triples_still_need_roles(rows):
    text = rows.replace(" ", "\t").replace(",", "\n")
    with pytest.raises(InputError, match="no header line and 3 columns"):
        read(text, header=False)
