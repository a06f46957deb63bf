"""Runs and relevance judgements as search tools write them: TREC variants, frames, JSON and engine responses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tests.conftest import Run

import concordant as cc
from concordant.errors import FormatError, InputError
from concordant.io import preview

RUN = "1 Q0 a 1 9.5 x\n1 Q0 b 2 8 x\n2 Q0 c 1 1e-3 x\n2 Q0 a 2 1e-4 x\n"


def lists(prefs: cc.Preferences) -> dict[str, list[str]]:
    """Return the documents of each query, best first."""
    assert prefs.instances is not None
    found: dict[str, list[str]] = {}
    for ballot in range(prefs.n_ballots):
        entries = range(int(prefs.indptr[ballot]), int(prefs.indptr[ballot + 1]))
        order = sorted(entries, key=lambda entry: int(prefs.tier[entry]))
        found[prefs.instances[int(prefs.instance_of_ballot[ballot])]] = [prefs.items[int(prefs.item[k])] for k in order]
    return found


EXPECTED = {"1": ["a", "b"], "2": ["c", "a"]}
RUNS = {
    "any second field": RUN.replace("Q0", "ITER"),
    "without a tag": "".join(line.rsplit(" ", 1)[0] + "\n" for line in RUN.splitlines()),
    "without a tag, any second field": "1 E a 1 9 \n1 E b 2 8\n2 E c 1 7\n2 E a 2 6\n",
    "ranks from 0": "1 Q0 a 0 9.5 x\n1 Q0 b 1 8 x\n2 Q0 c 0 1 x\n2 Q0 a 1 0.5 x\n",
    "tabs": RUN.replace(" ", "\t"),
    "MS MARCO": "1\ta\t1\n1\tb\t2\n2\tc\t1\n2\ta\t2\n",
    "MS MARCO with scores": "1\ta\t1\t9.5\n1\tb\t2\t3\n2\tc\t1\t7\n2\ta\t2\t1.5\n",
}


@pytest.mark.parametrize("ending", ["txt", "tsv", "run"])
@pytest.mark.parametrize("layout", RUNS)
def test_runs_are_recognised_in_every_layout(make: Any, layout: str, ending: str) -> None:
    path = make(RUNS[layout], f"system.{ending}")
    assert preview(path).format == "trec"
    prefs = cc.read(path)
    assert lists(prefs) == EXPECTED
    assert prefs.form == "rankings"
    assert prefs.agents is not None
    assert prefs.agents.labels == (["x"] if " x" in RUNS[layout] or "\tx" in RUNS[layout] else [f"system.{ending}"])


def test_runs_of_several_layouts_are_read_together(make: Any) -> None:
    prefs = cc.read([make(RUN, "a.run"), make(RUNS["without a tag"], "b.run"), make(RUNS["MS MARCO"], "c.tsv")])
    assert prefs.agents is not None
    assert prefs.agents.labels == ["a.run", "b.run", "c.tsv"]
    assert prefs.scale == "rank"
    assert any("the scores are not read" in note for note in prefs.notes)


@pytest.mark.parametrize(
    "text",
    [
        "1\ta\t1\n1\tb\t3\n",  # the third field does not count
        "1\ta\t1\n2\tb\t1\n3\tc\t1\n",  # or only to 1
        "w1\tt1\tyes\nw1\tt2\tno\n",
        "a 5 b 1 2\nb 4 c 2 3\n",  # the second field varies
    ],
)
def test_other_lines_of_three_or_five_fields_are_no_runs(make: Any, text: str) -> None:
    assert preview(make(text, "table.tsv")).format == "tsv"


@pytest.mark.parametrize("text", ["7 0 d1 2\n7 0 d2 -1\n8 0 d1 0.5\n", "7 x d1 2\n7 x d2 -1\n8 x d1 1\n"])
@pytest.mark.parametrize("ending", ["txt", "tsv"])
def test_judgements_may_be_negative_and_have_any_second_field(make: Any, text: str, ending: str) -> None:
    labels = cc.read_labels(make(text.replace(" ", "\t"), f"judged.{ending}"))
    assert labels.label.tolist()[:2] == [2, -1]
    assert labels.n_instances == 2


FRAMES = {
    "PyTerrier": {
        "qid": ["1", "1", "2", "2"], "docid": [7, 8, 9, 7], "docno": ["a", "b", "c", "a"], "rank": [0, 1, 0, 1],
        "score": [9.0, 8.0, 7.0, 6.0], "query": ["red shoes", "red shoes", "hats", "hats"],
    },
    "ranx": {"q_id": ["1", "1", "2", "2"], "doc_id": ["a", "b", "c", "a"], "score": [9.0, 8.0, 7.0, 6.0]},
    "ir_datasets": {"query_id": ["1", "1", "2", "2"], "doc_id": ["a", "b", "c", "a"], "score": [9.0, 8.0, 7.0, 6.0]},
    "BEIR": {"query-id": ["1", "1", "2", "2"], "corpus-id": ["a", "b", "c", "a"], "score": [9.0, 8.0, 7.0, 6.0]},
}  # fmt: skip
QRELS = {
    "PyTerrier": {"qid": ["1", "2"], "docno": ["b", "c"], "label": [1, 1], "iteration": ["0", "0"]},
    "ir_datasets": {"query_id": ["1", "2"], "doc_id": ["b", "c"], "relevance": [1, 1], "iteration": ["0", "0"]},
    "ranx": {"q_id": ["1", "2"], "doc_id": ["b", "c"], "score": [1, 1]},
}


@pytest.mark.parametrize("tool", FRAMES)
def test_frames_of_search_tools_are_ranked_lists_by_query(make: Any, tool: str) -> None:
    frame = pd.DataFrame(FRAMES[tool])
    prefs = cc.Preferences.from_frame(frame)
    assert (lists(prefs), prefs.form) == (EXPECTED, "rankings")
    assert cc.read(make(frame.to_csv(index=False), "run.csv")) == prefs


@pytest.mark.parametrize("run", FRAMES)
@pytest.mark.parametrize("qrels", QRELS)
def test_frames_are_evaluated(make: Any, run: str, qrels: str) -> None:
    labels = pd.DataFrame(QRELS[qrels])
    assert cc.evaluate(pd.DataFrame(FRAMES[run]), labels, "mrr")["mrr"] == 0.75
    read = cc.read_labels(make(labels.to_csv(index=False, sep="\t"), "qrels.tsv"))
    assert cc.evaluate(pd.DataFrame(FRAMES[run]), read, "mrr")["mrr"] == 0.75


def test_one_document_per_query_is_still_a_run() -> None:
    frame = pd.DataFrame({"query_id": ["1", "2"], "doc_id": ["a", "a"], "score": [2.0, 1.0]})
    assert lists(cc.Preferences.from_frame(frame)) == {"1": ["a"], "2": ["a"]}


def test_tables_without_a_system_column_are_agents_named_by_file(make: Any) -> None:
    frame = pd.DataFrame(FRAMES["PyTerrier"])
    paths = [make(frame.to_csv(index=False), f"{name}.csv") for name in ("bm25", "dense")]
    prefs = cc.read(paths)
    assert prefs.agents is not None
    assert prefs.agents.labels == ["bm25.csv", "dense.csv"]
    assert any("each file is an agent" in note for note in prefs.notes)
    parts = [make(part.to_csv(index=False), f"{k}.csv") for k, part in enumerate([frame[:2], frame[2:]])]
    assert cc.read(parts).agents is None  # one run in two parts
    with pytest.raises(InputError, match="given twice"):
        cc.read(paths, agent=None)


def test_nested_scores_are_runs_or_judgements(make: Any) -> None:
    run = make(json.dumps({"1": {"b": 2.5, "a": 3.5}, "2": {"a": 1e-3, "c": 2}}), "ranx.json")
    assert preview(run).format == "scores"
    prefs = cc.read(run)
    assert (lists(prefs), prefs.form) == (EXPECTED, "rankings")
    labels = cc.read_labels(make(json.dumps({"1": {"b": 1}, "2": {"c": 1}}), "qrels.json"))
    assert cc.evaluate(prefs, labels, "mrr")["mrr"] == 0.75


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"1": {"a": "x"}}', "the score of the document 'a' for the query '1' is 'x'"),
        ('{"1": {"a": true}}', "is 'True', not a finite number"),
        ('{"1": [1, 2]}', "the value of '1' is not an object"),
        ('{"1": {"a": 1, "a": 2}}', "the key 'a' occurs twice"),
        ('{"1": {"a": NaN}}', "contains NaN"),
        ('{"1": {}}', "contains no scores"),
        ('{"1": {"a": 1}', "line 1: the JSON text is invalid"),
        ("[1]", "a score file is one JSON object"),
    ],
)
def test_damaged_scores_are_refused_with_a_sentence(make: Any, text: str, said: str) -> None:
    with pytest.raises(FormatError, match=said):
        cc.read(make(text, "run.json"), format="scores")


def test_nested_rows_of_jsonl_are_no_scores(make: Any) -> None:
    rows = '{"meta": {"x": 1}, "winner": "a", "loser": "b"}\n{"meta": {"x": 2}, "winner": "b", "loser": "a"}\n'
    assert preview(make(rows, "votes.jsonl")).format == "jsonl"
    assert preview(make('{"a": {"x": 1}}\n{"a": {"x": 2}}\n', "rows.jsonl")).format == "jsonl"


def response(*names: str) -> dict[str, Any]:
    """Return a response of Elasticsearch."""
    hits = [{"_index": "i", "_id": name, "_score": 5.0 - k, "_source": {"t": "x"}} for k, name in enumerate(names)]
    return {"took": 3, "timed_out": False, "hits": {"total": {"value": 2}, "max_score": 5.0, "hits": hits}}


def test_responses_of_elasticsearch(make: Any) -> None:
    one = make(json.dumps(response("a", "b")), "shoes.json")
    assert lists(cc.read(one)) == {"shoes.json": ["a", "b"]}
    several = json.dumps({"took": 9, "responses": [response("a", "b"), response("c", "a"), response()]})
    many = make(several, "bm25.json")
    prefs = cc.read(many)
    assert lists(prefs) == EXPECTED
    assert "left out 1 empty result list" in prefs.notes
    lines = "".join(json.dumps(one) + "\n" for one in (response("a", "b"), response("c", "a")))
    both = cc.read([many, make(lines, "dense.jsonl")])
    assert both.agents is not None
    assert both.agents.labels == ["bm25.json", "dense.jsonl"]
    assert both.n_instances == 2


def test_responses_of_vespa(make: Any) -> None:
    groups = {"id": "group:root:0", "relevance": 1.0, "children": [{"id": "id:m:m::3", "relevance": 0.1}]}
    hits = [{"id": "id:m:m::1", "relevance": 0.5, "fields": {"t": 1}}, {"id": "id:m:m::2", "relevance": 0.25}, groups]
    path = make(json.dumps({"root": {"id": "toplevel", "relevance": 1.0, "children": hits}}), "q1.json")
    assert lists(cc.read(path)) == {"q1.json": ["id:m:m::1", "id:m:m::2", "id:m:m::3"]}


@pytest.mark.parametrize(
    ("hits", "said"),
    [
        ([{"_id": "a", "_score": 1}, {"_id": "a", "_score": 2}], "'a' occurs twice in one result list"),
        ([{"_score": 1}], "a hit has no _id"),
        ([{"_id": "a", "_score": "x"}], "the _score of the hit 'a' is 'x'"),
        ([7], "a hit has no _id"),
        ([], "contain no hits"),
    ],
)
def test_damaged_responses_are_refused(make: Any, hits: list[Any], said: str) -> None:
    with pytest.raises(FormatError, match=said):
        cc.read(make(json.dumps({"hits": {"hits": hits}}), "q.json"), format="hits")


def test_hits_without_scores_are_read_in_their_order(make: Any) -> None:
    hits = [{"_id": "b", "_score": None}, {"_id": "a", "_score": None}]
    prefs = cc.read(make(json.dumps({"hits": {"total": 2, "hits": hits}}), "q.json"))
    assert (lists(prefs), prefs.scale) == ({"q.json": ["b", "a"]}, "rank")


# ---- runs and judgements together ----
JUDGED = {
    "qrels.txt": "1 0 b 1\n2 0 c 1\n",
    "qrels.tsv": "query-id\tcorpus-id\tscore\n1\tb\t1\n2\tc\t1\n",
    "qrels.csv": "query_id,doc_id,relevance\n1,b,1\n2,c,1\n",
    "qrels.json": '{"1": {"b": 1}, "2": {"c": 1}}',
}
SYSTEMS = {
    "x.run": RUN,
    "x.csv": pd.DataFrame(FRAMES["PyTerrier"]).to_csv(index=False),
    "x.json": '{"1": {"a": 9.5, "b": 8.0}, "2": {"c": 7.5, "a": 1.0}}',
}


@pytest.mark.parametrize("judged", JUDGED)
@pytest.mark.parametrize("system", SYSTEMS)
def test_judgements_among_runs_are_found(make: Any, run: Run, judged: str, system: str) -> None:
    files = [make(JUDGED[judged], judged), make(SYSTEMS[system], system)]
    _, means, _ = run("evaluate", *files, "--metric", "mrr", "--json")
    assert json.loads(means)["systems"][0]["means"] == {"mrr": 0.75}
    code, _, said = run("fuse", *files)
    assert code == 0
    assert f"{judged} contains relevance judgements and is not ranked" in said
    assert "evaluated by the judgements: ndcg@10:exponential 0.8155, map 0.7500" in said
    for command in ("rank", "compare", "describe"):
        assert run(command, *files)[0] == 0
    with pytest.raises(FormatError, match=r"contains relevance judgements, .*read it with read_labels"):
        cc.read(files)


def test_several_files_of_judgements_alone_are_not_split(make: Any, run: Run) -> None:
    files = [make("qid,docno,label\n1,a,1\n", "a.csv"), make("qid,docno,label\n2,b,1\n", "b.csv")]
    assert cc.read_labels(files).n_instances == 2
    code, _, said = run("evaluate", *files)
    assert code == 2
    assert "give them with --labels FILE, or list them with the runs" in said


def test_real_runs_and_judgements_together(data_folder: Path, run: Run) -> None:
    folder = data_folder / "trec-robust03"
    files = [*sorted((folder / "runs").iterdir())[:3], folder / "robust03_qrels.txt.gz"]
    found = run("evaluate", *files, "--metric", "map", "--json")[1]
    assert found == run("evaluate", *files[:-1], "--labels", files[-1], "--metric", "map", "--json")[1]
