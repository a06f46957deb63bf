"""Exports of Label Studio: nested annotations, and a row per annotation."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

import concordant as cc
from concordant.errors import FormatError, InputError


def annotation(who: Any, value: dict[str, Any], name: str = "kind", **more: Any) -> dict[str, Any]:
    return {"completed_by": who, "result": [{"from_name": name, "to_name": "t", "type": "x", "value": value}], **more}


def export(*tasks: tuple[dict[str, Any], list[dict[str, Any]]]) -> io.StringIO:
    rows = [
        {"id": 100 + k, "data": data, "annotations": given, "predictions": [annotation(None, {"choices": ["bot"]})]}
        for k, (data, given) in enumerate(tasks)
    ]
    return io.StringIO(json.dumps(rows))


CHOICES = [
    ({"text": "a"}, [annotation(1, {"choices": ["Pos"]}), annotation({"email": "b@x.y"}, {"choices": ["Neg"]})]),
    ({"text": "b"}, [annotation(1, {"choices": ["Neg"]}), annotation(3, {"choices": ["Pos"]}, was_cancelled=True)]),
]  # fmt: skip


def test_choices_are_answers_of_annotators_and_predictions_are_not():
    prefs = cc.read(export(*CHOICES))
    assert (list(prefs.items), list(prefs.agents)) == (["100", "101"], ["1", "b@x.y"])
    assert prefs.classes.take(prefs.value.astype(int)) == ["Pos", "Neg", "Neg"]
    assert "left out 1 cancelled annotation" in prefs.notes


def test_ground_truth_is_gold_and_no_vote():
    gold = annotation(9, {"choices": ["Pos"]}, ground_truth=True)
    tasks = [(CHOICES[0][0], [*CHOICES[0][1], gold]), CHOICES[1]]
    prefs = cc.read(export(*tasks))
    assert "9" not in list(prefs.agents)
    assert "ground truth, not counted as votes: 1; cc.read_labels reads them" in prefs.notes
    labels = cc.read_labels(export(*tasks))
    assert (list(labels.items), list(labels.classes)) == (["100"], ["Pos"])


def test_ratings_are_numbers():
    prefs = cc.read(export(({"text": "a"}, [annotation(1, {"rating": 4}), annotation(2, {"rating": 2})])))
    assert (prefs.scale, sorted(prefs.value)) == ("rating", [2, 4])


def test_a_preferred_side_is_a_pair_of_the_compared_texts():
    tasks = [
        ({"prompt": "p", "answer1": "x", "answer2": "y"}, [annotation(1, {"selected": "left"})]),
        ({"prompt": "p", "answer1": "y", "answer2": "z"}, [annotation(1, {"selected": "right"})]),
    ]
    prefs = cc.read(export(*tasks))
    assert prefs.form == "pairs"
    assert [prefs.items[int(code)] for code in prefs.item[0::2]] == ["x", "z"]
    unnamed = cc.read(export(({"u": "x", "v": "y", "w": "z"}, [annotation(1, {"selected": "left"})])))
    assert (unnamed.form, list(unnamed.classes)) == ("answers", ["left"])


def test_several_questions_need_an_option():
    both = annotation(1, {"choices": ["Pos"]})
    both["result"] += annotation(1, {"rating": 3}, "stars")["result"]
    with pytest.raises(FormatError, match=r"several questions \(kind, stars\): choose one with answer='kind'"):
        cc.read(export(({}, [both])))
    assert cc.read(export(({}, [both])), answer="stars").value.tolist() == [3]
    assert list(cc.read(export(({}, [both])), answer="kind").classes) == ["Pos"]


def test_other_annotations_are_an_error_and_never_a_traceback():
    with pytest.raises(FormatError, match="no answers to read"):
        cc.read(export(({}, [annotation(1, {"text": ["free"]})])))
    with pytest.raises(InputError):
        cc.read(io.StringIO('[{"id": 1, "data": {}, "annotations": [{"bbox": [1, 2]}]}]'))


def test_a_row_per_annotation_has_answers_between_task_and_annotator():
    text = "text,id,sentiment,annotator,annotation_id,created_at,updated_at,lead_time\n"
    text += "hi,1,pos,3,1,d,d,2.5\nhi,1,neg,4,2,d,d,2.5\n"
    prefs = cc.read(io.StringIO(text))
    assert (list(prefs.items), list(prefs.agents), list(prefs.classes)) == (["1"], ["3", "4"], ["pos", "neg"])
    with pytest.raises(FormatError, match="several questions"):
        cc.read(
            io.StringIO(text.replace("sentiment", "sentiment,topic").replace("pos", "pos,x").replace("neg", "neg,x"))
        )


def test_a_row_per_annotation_has_its_answer_where_annotators_differ():
    text = "annotation_id,annotator,id,image,lead_time,sentiment\n"
    text += "0,w0,1,a.jpg,2.5,cat\n1,w1,1,a.jpg,2,dog\n2,w0,2,b.jpg,1,cat\n"
    prefs = cc.read(io.StringIO(text))
    assert (list(prefs.items), list(prefs.classes)) == (["1", "2"], ["cat", "dog"])
