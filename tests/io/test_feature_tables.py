"""Feature rows from tables and DataFrames: columns are told apart, and whatever is odd is said or refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import concordant as cc

ROWS = "qid,relevance,docid,bm25,pagerank,title\na,2,d1,0.5,1,hello\na,0,d2,,2,bye\nb,1,d3,0.25,NA,x\n"


def test_columns_are_told_apart_by_their_names(make: Any) -> None:
    found = cc.read_features(make(ROWS))
    X, y, query = found
    assert X.shape == (3, 2)
    assert np.isnan(X).sum() == 2
    assert y.tolist() == [2, 0, 1]
    assert query.tolist() == [0, 0, 1]
    assert found.names == ["bm25", "pagerank"]
    assert found.items == ["d1", "d2", "d3"]
    assert found.queries is not None
    assert found.queries.labels == ["a", "b"]
    assert found.columns == {"label": "relevance", "query": "qid", "item": "docid"}
    assert "2 features = bm25 … pagerank" in found.notes[0]
    assert "2 values are missing" in found.notes[0]
    assert "not read: title" in found.notes[0]


@pytest.mark.parametrize(
    ("label", "query"),
    [("label", "query"), ("Relevance", "query_id"), ("y", "group"), ("target", "QID"), ("grade", "topic")],
)
def test_usual_names_are_recognised(make: Any, label: str, query: str) -> None:
    found = cc.read_features(make(f"{query},{label},f1\n7,1,0.5\n8,0,0.5\n"))
    assert found.y.tolist() == [1, 0]
    assert found.query.tolist() == [0, 1]
    assert found.names == ["f1"]


def test_every_kind_of_table_reads_the_same(make: Any, tmp_path: Path) -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    path = make(ROWS)
    expected = cc.read_features(path)
    frame = pandas.read_csv(path)
    frame.to_parquet(tmp_path / "rows.parquet")
    frame.to_json(tmp_path / "rows.jsonl", orient="records", lines=True)
    frame.to_csv(tmp_path / "rows.tsv.gz", sep="\t", index=False)
    others = [tmp_path / "rows.parquet", tmp_path / "rows.jsonl", tmp_path / "rows.tsv.gz", frame]
    others.append(polars.from_pandas(frame))
    for other in others:
        found = cc.read_features(other)
        np.testing.assert_array_equal(found.X, expected.X)
        assert (found.y == expected.y).all()
        assert (found.query == expected.query).all()
        assert (found.names, found.items) == (expected.names, expected.items)


def test_roles_and_features_may_be_named(make: Any) -> None:
    path = make("city,clicks,price,stars,w\nA,1,10,2,3\nA,0,20,1,3\n")
    found = cc.read_features(
        path, label="clicks", query="city", features=["stars", "price"], weight="w", dtype="float32"
    )
    assert found.X.tolist() == [[2, 10], [1, 20]]
    assert found.X.dtype == np.float32
    assert found.weight is not None
    assert found.weight.tolist() == [3, 3]
    by_place = cc.read_features(make("A,1,10\nA,0,20\n"), label=2, query=1, header=False)
    assert by_place.X.tolist() == [[10], [20]]


def test_a_second_name_for_the_label_is_no_feature(make: Any) -> None:
    found = cc.read_features(make("qid,label,relevance,x\n1,1,1,5\n1,0,0,6\n"))
    assert found.names == ["x"]  # relevance would give the answer away
    assert "not read: relevance" in found.notes[0]
    with pytest.raises(cc.InputError, match="grade, target could each be the label"):
        cc.read_features(make("qid,grade,target,x\n1,1,1,5\n"))


def test_rows_without_labels_or_queries(make: Any) -> None:
    path = make("x,z\n1,2\n3,4\n")
    found = cc.read_features(path, label=False)
    assert not found.has_labels
    assert found.query.tolist() == [0, 0]
    assert "all of one query" in found.notes[0]
    assert cc.read_features(path, label="?").has_labels is False
    assert cc.read_features(make(ROWS), label="?").has_labels is True
    letor = make("0 qid:1 1:2\n", "rows.txt")
    assert not cc.read_features(letor, label=False).has_labels


def test_features_is_still_a_plain_triple(make: Any) -> None:
    found = cc.read_features(make("1 qid:b 1:0.5 3:2 # docid = one\n0 qid:a 2:1 # docid = two\n", "rows.txt"))
    assert isinstance(found, tuple)
    assert len(found) == 3
    assert found.names == ["1", "2", "3"]
    assert found.items == ["one", "two"]
    assert found.queries is not None
    assert found.queries.labels == ["b", "a"]


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ("qid,label,x\n1,1,2\n1,0,two\n", {}, r"line 3: the feature 'x' is 'two', not a finite number"),
        ("qid,label,x\n1,1,2\n1,0,inf\n", {}, r"line 3: the feature 'x' is 'inf'"),
        ("qid,label,x\n1,1,2\n1,,3\n", {}, "line 3: the label is not a finite number"),
        ("qid,label,x\n1,1,2\n,0,3\n", {}, "line 3: the query is missing"),
        (
            "qid,label,x,w\n1,1,2,1\n1,0,3,-1\n",
            {"weight": "w"},
            "line 3: the weight is not 0 or a number between 1e-50 and 9e15",
        ),
        ("qid,x\n1,2\n", {}, r"no column was recognised as the label \(columns: qid, x\)"),
        ("qid,label\n1,2\n", {}, "no column contains numeric features"),
        ("qid,label,word\n1,2,a\n", {}, "no column contains numeric features"),
        ("qid,label,x\n1,2,3\n", {"query": "qit"}, "no column 'qit' for the role query. Did you mean qid"),
        ("qid,label,x\n1,2,3\n", {"n_features": 2}, "it has 1 features, not 2"),
        ("qid,label,x,word\n1,2,3,a\n", {"strict": True}, "word would not be read"),
        ("qid,label,x\n", {}, "no rows"),
        ("qid,label,x\n1,2,3\n", {"dtype": "int8"}, "not a valid feature type"),
    ],
)
def test_bad_tables_are_refused_in_one_sentence(make: Any, text: str, options: dict[str, Any], words: str) -> None:
    with pytest.raises(cc.InputError, match=words):
        cc.read_features(make(text), **options)


def test_bad_rows_may_be_left_out_and_are_counted(make: Any) -> None:
    found = cc.read_features(make("qid,label,x\n1,1,2\n2,0,two\n3,0,3\n"), skip_bad_rows=True)
    assert found.y.tolist() == [1, 0]
    assert found.query.tolist() == [0, 1]
    assert any("left out 1 row" in note for note in found.notes)


def test_a_frame_with_words_among_numbers_names_the_row() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"qid": [1, 1], "label": [1, 0], "x": [1.0, "two"]})
    with pytest.raises(cc.InputError, match="the frame, row 2: the feature 'x' is 'two'"):
        cc.read_features(frame)
    with pytest.raises(cc.InputError, match="Expected a DataFrame"):
        cc.read_features(3)
