"""Tables of crowdsourcing: who gave which task which label, and gold labels."""

from __future__ import annotations

import io

import pytest

import concordant as cc
from concordant.errors import FormatError, InputError

ROWS = "t1,w1,cat\nt1,w2,dog\nt2,w1,dog\nt2,w2,dog\nt3,w1,bird\n"


def read(text: str, **options: object) -> cc.Preferences:
    return cc.read(io.StringIO(text), **options)


def answers(prefs: cc.Preferences) -> list[tuple[str, str, str]]:
    """The answers as (agent, item, class)."""
    agent = [prefs.agents[int(code)] for code in prefs.agent]
    owner = [agent[b] for b in range(len(prefs)) for _ in range(prefs.indptr[b + 1] - prefs.indptr[b])]
    given = prefs.classes.take(prefs.value.astype(int))
    return sorted(zip(owner, prefs.items.take(prefs.item), given, strict=True))


@pytest.mark.parametrize(
    "header",
    [
        "task,worker,label",
        "task,performer,label",
        "taskId,workerId,response",
        "question,worker,answer",
        "example,annotator,class",
        "image_id,annotator_id,category",
        "hit,turker,judgment",
        "item,agent,answer",
        "orig_id,amt_worker_ids,response",
        "object,labeler,annotation",
    ],
)
def test_tasks_workers_and_labels_are_recognised_by_name(header):
    prefs = read(f"{header}\n{ROWS}")
    assert answers(prefs) == sorted(
        [("w1", "t1", "cat"), ("w2", "t1", "dog"), ("w1", "t2", "dog"), ("w2", "t2", "dog"), ("w1", "t3", "bird")]
    )
    assert "3 classes without an order (cat, dog, bird); categories=A,B,… orders them" in prefs.notes


def test_frames_are_read_like_files():
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_csv(io.StringIO(f"task,worker,label\n{ROWS}"))
    assert cc.Preferences.from_frame(frame) == read(f"task,worker,label\n{ROWS}")


def test_numbers_are_ratings_unless_the_layout_says_answers():
    text = "task,worker,label\nt1,w1,0\nt1,w2,1\nt2,w1,2\n"
    prefs = read(text)
    assert (prefs.scale, prefs.value.tolist()) == ("rating", [2, 0, 1])
    assert any("layout='answers'" in note for note in prefs.notes)
    assert list(read(text, layout="answers").classes) == ["0", "1", "2"]
    assert read(text, layout="ratings") == prefs == read(text, item="task", rating="label")


def test_words_of_a_known_scale_are_classes_and_categories_order_them():
    text = "task,worker,label\nt1,w1,yes\nt1,w2,no\nt2,w1,no\n"
    assert read(text).scale == "nominal"
    ordered = read(text, categories="yes,no")
    assert (ordered.scale, ordered.value.tolist()) == ("rating", [2, 1, 1])
    with pytest.raises(FormatError, match=r"line 3: the answer is 'no', not one of the categories"):
        read(text, categories="yes,maybe")


def test_missing_answers_are_left_out_and_counted():
    prefs = read("task,worker,label\nt1,w1,cat\nt1,w2,\nt2,w2,NaN\nt2,w1, dog \nt3,w2,none\n")
    assert answers(prefs) == [("w1", "t1", "cat"), ("w1", "t2", "dog"), ("w2", "t3", "none")]
    assert any(note.startswith("2 rows: there is no answer, left out") for note in prefs.notes)
    with pytest.raises(FormatError, match="no row has an answer"):
        read("task,worker,label\nt1,w1,\n")
    with pytest.raises(FormatError, match="there is no answer"):
        read("task,worker,label\nt1,w1,cat\nt1,w2,\n", strict=True)


REPEATED = "task,worker,label\nt1,w1,a\nt1,w1,b\nt1,w1,a\nt1,w1,c\nt2,w1,b\nt2,w1,c\nt2,w2,c\n"


@pytest.mark.parametrize(
    ("rule", "first", "second"), [(None, "c", "c"), ("last", "c", "c"), ("first", "a", "b"), ("majority", "a", "c")]
)
def test_one_of_several_answers_counts_by_a_stated_rule(rule, first, second):
    prefs = read(REPEATED, repeated=rule)
    assert answers(prefs) == [("w1", "t1", first), ("w1", "t2", second), ("w2", "t2", "c")]
    which = {"majority": "most frequent", None: "last"}.get(rule, rule)
    assert any(note.startswith("4 rows: left out") and f"the {which} answer counts" in note for note in prefs.notes)


def test_strict_reading_rejects_repeated_answers_without_a_rule():
    with pytest.raises(FormatError, match="answers the item again"):
        read(REPEATED, strict=True)
    assert len(read(REPEATED, strict=True, repeated="first")) == 2


def test_repeated_ratings_need_a_rule_and_repeated_ranks_stay_an_error():
    text = "user,item,{}\nu,x,5\nu,y,3\nu,x,1\n"
    with pytest.raises(FormatError, match=r"given twice.*repeated="):
        read(text.format("rating"))
    assert read(text.format("rating"), repeated="first").value.tolist() == [5, 3]
    assert read(text.format("rating"), repeated="last").value.tolist() == [3, 1]
    with pytest.raises(FormatError, match="given twice"):
        read(text.format("rank"), repeated="last")


def test_a_label_that_names_an_item_is_the_outcome_of_a_pair():
    prefs = read("worker,left,right,label\nw1,x,y,y\nw2,x,z,x\n")
    assert prefs.form == "pairs"
    assert [prefs.items[int(code)] for code in prefs.item[0::2]] == ["y", "x"]


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("user,item,rating,label\nu,x,5,a\nv,x,4,b\n", "ratings"),
        ("winner,loser,judge,label\na,b,j,x\nc,b,j,y\n", "pairs"),
        ("song,performer,rank\nx,p,1\ny,q,2\n", "rankings"),
    ],
)
def test_a_label_next_to_other_columns_changes_nothing(text, form):
    assert read(text.replace("song", "item")).form == form


def test_topics_are_instances_and_what_a_task_asks_is_not():
    assert read("topic,docno,worker,label\n1,d,w,a\n1,e,w,b\n2,d,w,b\n2,e,w,a\n").n_instances == 2
    prefs = read("task,question,worker,label\nt1,why?,w1,a\nt1,why?,w2,b\n")
    assert prefs.instances is None
    assert list(prefs.items) == ["t1"]


def test_several_columns_of_answers_need_an_option():
    text = "task,worker,label,answer\nt1,w1,a,x\nt1,w2,b,x\n"
    assert list(read(text).classes) == ["x"]  # named exactly like the role
    with pytest.raises(InputError, match="could each be the answer"):
        read(text.replace("answer", "response"))
    assert list(read(text.replace("answer", "response"), answer="label").classes) == ["a", "b"]


def test_answers_need_an_agent():
    with pytest.raises(InputError):
        read("task,label\nt1,cat\nt2,dog\n")


# ---- gold labels ----
@pytest.mark.parametrize("header", ["task,label", "question,truth", "item,label", "object,true_label", "task,gold"])
def test_gold_labels_in_words_are_classes(header):
    labels = cc.read_labels(io.StringIO(f"{header}\nt1,cat\nt2,dog\nt3,cat\n"))
    assert (labels.items.labels, labels.label.tolist()) == (["t1", "t2", "t3"], [0, 1, 0])
    assert list(labels.classes) == ["cat", "dog"]


def test_gold_labels_in_numbers_stay_grades():
    labels = cc.read_labels(io.StringIO("task,label\nt1,1\nt2,0\n"))
    assert labels.classes is None
    with pytest.raises(FormatError, match=r"line 4: the label is 'x'"):
        cc.read_labels(io.StringIO("task,label\nt1,1\nt2,0\nt3,x\n"))
    with pytest.raises(FormatError, match=r"line 3: the label is missing"):
        cc.read_labels(io.StringIO("task,label\nt1,cat\nt2,\n"))


def test_categories_order_gold_labels_as_they_order_answers():
    labels = cc.read_labels(io.StringIO("task,label\nt1,good\nt2,bad\n"), categories="good,fair,bad")
    assert (labels.classes, labels.label.tolist()) == (None, [3, 1])


def test_equal_gold_labels_may_repeat_and_different_ones_may_not():
    text = "orig_id,amt_worker_ids,response,gold\n1,a,x,y\n1,b,y,y\n2,a,x,x\n"
    assert len(cc.read_labels(io.StringIO(text))) == 2
    with pytest.raises(FormatError, match="labelled twice"):
        cc.read_labels(io.StringIO(text + "2,b,x,y\n"))
    with pytest.raises(FormatError, match=r"labelled twice|not be read"):
        cc.read_labels(io.StringIO(text), strict=True)
