"""TREC runs, qrels and LETOR files: layouts fixed by others, read exactly."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import concordant as cc
from concordant import kernels
from concordant.errors import FormatError, InputError
from concordant.kernels import twins

RUN = "7 Q0 d2 0 9.5 alpha\n7\tQ0  d1 1 9.0 alpha\n7 Q0 d3 1 8 alpha\n8 Q0 d1 0 1e-3 alpha\r\n"


def test_a_run_is_ordered_by_rank_and_keeps_scores(make: Any, backend: str) -> None:
    prefs = cc.read(make(RUN, "alpha.run"))
    assert prefs.instances is not None
    assert prefs.agents is not None
    assert (prefs.instances.labels, prefs.agents.labels, prefs.items.labels) == (
        ["7", "8"],
        ["alpha"],
        ["d2", "d1", "d3"],
    )
    assert prefs.tier.tolist() == [0, 1, 1, 0]
    assert prefs.value is not None
    assert prefs.value.tolist() == [9.5, 9, 8, 0.001]


def test_several_runs_are_several_agents(make: Any) -> None:
    both = [make(RUN, "a.run"), make(RUN.replace("alpha", "beta"), "b.run")]
    prefs = cc.read(both)
    assert prefs.agents is not None
    assert prefs.agents.labels == ["alpha", "beta"]
    assert prefs.n_ballots == 4


def test_runs_of_the_same_tag_are_named_by_file(make: Any) -> None:
    prefs = cc.read([make(RUN, "a.run"), make(RUN, "b.run")])
    assert prefs.agents is not None
    assert prefs.agents.labels == ["a.run", "b.run"]


def test_a_file_may_hold_several_runs(make: Any) -> None:
    prefs = cc.read(make(RUN + RUN.replace("alpha", "beta"), "all.run"))
    assert (prefs.n_agents, prefs.n_ballots) == (2, 4)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("7 Q0 d4 2 7.0", "the line has 5 fields, but 'topic Q0 document rank score tag' has 6"),
        ("7 Q0 d4 2 7.0 alpha beta", "the line has 7 fields"),
        ("7 Q0 d4 second 7.0 alpha", "the rank is 'second', not a finite number"),
        ("7 Q0 d4 2 nan alpha", "the score is 'nan', not a finite number"),
        ("7 Q0 d1 2 7.0 alpha", r"the document 'd1' occurs twice in one topic of a run \(first in .*a.run, line 2\)"),
    ],
)
def test_an_odd_line_is_refused_with_its_file_and_number(make: Any, line: str, said: str, backend: str) -> None:
    paths = [
        make(RUN, "a.run"),
        make(RUN.replace("alpha", "beta") + "\n" + line.replace("alpha", "beta") + "\n", "b.run"),
    ]
    said = said.replace("a.run", "b.run")
    with pytest.raises(FormatError, match=f"b.run, line 6: {said}"):
        cc.read(paths)
    prefs = cc.read(paths, skip_bad_rows=True)
    assert prefs.n_ballots == 4
    assert any(note.startswith("left out 1 row") for note in prefs.notes)


def test_roles_have_no_meaning_for_runs(make: Any) -> None:
    with pytest.raises(InputError, match="agent= does not apply to TREC runs"):
        cc.read(make(RUN, "a.run"), agent="tag")


def test_qrels_are_labels(make: Any) -> None:
    labels = cc.read_labels(make("7 0 d1 2\n7 0 d2 -1\n8 0 d1 0\n", "qrels.txt"))
    assert (labels.n_instances, labels.label.tolist()) == (2, [2, -1, 0])
    with pytest.raises(FormatError, match="line 2: the document 'd1' is judged twice"):
        cc.read_labels(make("7 0 d1 2\n7 0 d1 1\n", "qrels.txt"))


LETOR = (
    "2 qid:10 1:1 2:NULL 3:2 #docid = GX-1 inc = 1\n"
    "0 qid:10 1:NULL 2:NULL 3:NULL #docid = GX-2 inc = 1\n"
    "# a remark\n"
    "1 qid:11 1:2 2:5 3:1 #docid = GX-1\n"
    "0 qid:11 1:1 2:5 3:NULL #docid = GX-3\n"
)


def test_every_document_of_an_aggregation_file_is_a_candidate(make: Any, backend: str) -> None:
    prefs = cc.read(make(LETOR, "A1.txt"))
    assert prefs.agents is not None
    assert prefs.instances is not None
    assert (prefs.agents.labels, prefs.instances.labels) == (["1", "2", "3"], ["10", "11"])
    assert prefs.slot_ptr.tolist() == [0, 2, 4]
    assert prefs.items.take(prefs.slot_item) == ["GX-1", "GX-2", "GX-1", "GX-3"]
    assert prefs.scale == "rank"
    assert prefs.n_ballots == 5
    labels = cc.read_labels(make(LETOR, "A1.txt"))
    assert labels.items.labels == prefs.items.labels
    assert labels.label.tolist() == [2, 0, 1, 0]


def test_documents_without_names_are_numbered_in_their_query(make: Any) -> None:
    text = "\n".join(line.split("#")[0] for line in LETOR.splitlines())
    prefs = cc.read(make(text, "A1.txt"))
    assert prefs.items.take(prefs.slot_item) == ["1", "2", "1", "2"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("high qid:12 1:1", "does not begin with a label"),
        ("1 qid:12 1:1 oops", "not of the form index:value"),
        ("1 qid:12 x:1", "index before a colon is not a whole number"),
        ("1 qid:12 1:first", "neither a number nor NULL"),
        ("1 qid:12 1:0.25", "field 1 is 0.25, which is not a rank; feature rows are read with read_features"),
        ("1 qid:12 0:1", "lists are numbered from 1"),
        ("1 1:2", "the row has no qid"),
        ("1 qid:11 1:3 #docid = GX-3", r"'GX-3' occurs twice in its query \(first in line 5\)"),
    ],
)
def test_an_odd_letor_row_is_refused_with_its_line(make: Any, line: str, said: str, backend: str) -> None:
    named = line if "#" in line else f"{line} #docid = GX-9"
    with pytest.raises(FormatError, match=f"A1.txt, line 6: .*{said}"):
        cc.read(make(f"{LETOR}{named}\n", "A1.txt"))
    prefs = cc.read(make(f"{LETOR}{named}\n", "A1.txt"), skip_bad_rows=True)
    assert prefs == cc.read(make(LETOR, "A1.txt"))
    assert "left out 1 row" in prefs.notes[-1]


def test_feature_rows_become_a_dense_matrix(make: Any, backend: str) -> None:
    X, y, query = cc.read_features(make("1 qid:b 1:0.5 3:-2e1 # x\n0 qid:b 2:1\n\n2 qid:a 4:NULL\n", "train.txt"))
    np.testing.assert_array_equal(X, [[0.5, 0, -20, 0], [0, 1, 0, 0], [0, 0, 0, np.nan]])
    assert (y.tolist(), query.tolist()) == ([1, 0, 2], [0, 0, 1])


def test_features_can_have_a_fixed_width_and_type(make: Any) -> None:
    path = make("1 1:0.5\n0 2:1\n", "train.txt")
    X, _, query = cc.read_features(path, n_features=5, dtype="float32")
    assert (X.shape, X.dtype, query.tolist()) == ((2, 5), np.float32, [0, 0])
    with pytest.raises(FormatError, match=r"line 2: feature 2 exceeds the expected number of features \(1\)"):
        cc.read_features(path, n_features=1)
    with pytest.raises(FormatError, match="line 1: feature 2000000000 makes the dense matrix too large"):
        cc.read_features(make("1 2000000000:1\n0 1:1\n0 1:1\n", "train.txt"))
    with pytest.raises(FormatError, match="line 1: a feature is given twice"):
        cc.read_features(make("1 1:1 2:1 1:3\n", "train.txt"))


def test_a_matrix_that_is_nearly_empty_is_refused_before_it_is_made(make: Any) -> None:
    """A few rows with one huge index took gigabytes, and training on them many minutes."""
    rows = "".join(f"{k % 3} qid:{k // 5} 1:0.{k} 10000000:1\n" for k in range(20))
    with pytest.raises(FormatError, match=r"line 1: feature 10000000 makes .* \(2\.1 GB for 40 values\): check the"):
        cc.read_features(make(rows, "train.txt"))
    assert cc.read_features(make(rows.replace("10000000", "200000"), "train.txt")).X.shape == (20, 200_000)
    wide = make("1 1:0.5 2000000:1\n0 2:1\n", "train.txt")
    with pytest.raises(FormatError, match="for 3 values"):
        cc.read_features(wide)
    assert cc.read_features(wide, n_features=2_000_000).X.shape == (2, 2_000_000)


FIELD = st.text("ab1.-+eNUL#:qid \t\n\r", max_size=12)


@pytest.mark.skipif(kernels.active() != "compiled", reason="the compiled kernels are not built")
@given(st.lists(FIELD, max_size=12).map("".join))
def test_both_kernels_parse_any_text_alike(text: str) -> None:
    from concordant.kernels import _compiled

    data = np.frombuffer(text.encode() + b"\n", np.uint8)
    for mine, theirs in zip(_compiled.parse_letor(data), twins.parse_letor(data), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    split = _compiled.split_fields(data, 3), twins.split_fields(data, 3)
    for mine, theirs in zip(*split, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    start, end = split[0][:2]
    for mine, theirs in zip(
        _compiled.encode_spans(data, start, end), twins.encode_spans(data, start, end), strict=True
    ):
        np.testing.assert_array_equal(mine, theirs)
    np.testing.assert_array_equal(_compiled.parse_numbers(data, start, end), twins.parse_numbers(data, start, end))


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "queries", "documents", "lists", "unranked"),
    [("MQ2007-agg", 1692, 69623, 21, 968), ("MQ2008-agg", 784, 15211, 25, 0)],
)
def test_the_published_aggregation_sets_have_their_published_sizes(
    data_folder: Path, name: str, queries: int, documents: int, lists: int, unranked: int
) -> None:
    paths = sorted((data_folder / "letor4-agg" / name).glob("A*"))
    if not paths:
        pytest.skip(f"{name} is not in the data folder")
    prefs = cc.read(paths)
    ranked = np.zeros(prefs.n_slots, bool)
    ranked[prefs.entry_slot] = True
    assert (prefs.n_instances, prefs.n_slots, prefs.n_agents) == (queries, documents, lists)
    assert int((~ranked).sum()) == unranked


@pytest.mark.data
def test_the_robust_track_runs_are_read_together(data_folder: Path) -> None:
    paths = sorted((data_folder / "trec-robust03" / "runs").glob("*"))
    if not paths:
        pytest.skip("the TREC runs are not in the data folder")
    prefs = cc.read(paths)
    assert (prefs.n_agents, prefs.n_instances) == (17, 100)
    labels = cc.read_labels(data_folder / "trec-robust03" / "robust03_qrels.txt.gz")
    assert labels.n_instances == 100
