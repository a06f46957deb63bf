"""``concordant train`` and ``concordant predict``: from a file to a model to scores, and clear words when it fails."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import ROOT, Run

pytest.importorskip("sklearn", reason="the learn extra is not installed")

import concordant as cc
from concordant import learn
from concordant.analysis import training
from concordant.analysis.training import DEFAULT

LETOR = ROOT / "examples" / "letor"
HOTELS = ROOT / "examples" / "hotels.csv"


@pytest.fixture
def model(run: Run, tmp_path: Path) -> Path:
    """A ranker trained on the hotels."""
    path = tmp_path / "hotels.zip"
    code, _, err = run("train", HOTELS, "--query", "city", "--item", "hotel", "-o", path)
    assert code == 0, err
    return path


# ---- train ----
def test_training_prints_metrics_of_every_set_and_keeps_the_model(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "model.zip"
    code, out, err = run(
        *("train", LETOR / "train.txt", "--valid", LETOR / "valid.txt", "--test", LETOR / "test.txt"),
        *("--metrics", "ndcg@5,map,err", "-o", path),
    )
    assert code == 0, err
    lines = [line.split() for line in out.splitlines()]
    assert lines[0][0] == f"{DEFAULT}:"
    assert lines[1] == ["set", "queries", "rows", "ndcg@5:exponential", "map", "err"]
    assert [line[0] for line in lines[2:]] == ["train", "valid", "test"]
    assert all(0.5 < float(line[3]) < 1 for line in lines[2:])
    assert "20 queries, 5 features" in err
    assert f"wrote {path}" in err
    X, y, query = cc.read_features(LETOR / "test.txt")
    loaded = cc.load(path)
    assert f"{loaded.score(X, y, qid=query, metric='ndcg@5'):.4f}" == lines[4][3]


def test_json_says_everything(run: Run) -> None:
    code, out, _ = run("train", LETOR / "train.txt", "--json", "--max-iter", "50", "--seed", "3")
    assert code == 0
    facts = json.loads(out)
    assert facts["method"] == DEFAULT
    assert facts["params"]["max_iter"] == 50
    assert facts["params"]["seed"] == 3
    assert facts["steps"] == [DEFAULT]
    assert facts["params"]["standardise"] is True
    assert facts["sets"]["train"]["rows"] == 140
    assert len(facts["history"]["loss"]) == facts["iterations"]


@pytest.mark.parametrize("name", list(learn.modules()))
def test_every_ranker_can_be_trained_and_used_again(name: str, run: Run, tmp_path: Path) -> None:
    if name == "xgboost-ranker":
        pytest.importorskip("xgboost")
    path, scores = tmp_path / "model.zip", tmp_path / "scores.csv"
    code, out, err = run("train", LETOR / "train.txt", "--method", name, "-o", path, "--test", LETOR / "test.txt")
    if not issubclass(learn.load(name), learn.Ranker):
        assert code == 1
        assert "use it from Python" in err
        return
    assert code == 0, err
    code, told, err = run("predict", path, LETOR / "test.txt", "--evaluate")
    assert code == 0, err
    assert told.split()[-2:] == out.split()[-2:]  # the same model, the same figures
    assert run("predict", path, LETOR / "test.txt", "-o", scores)[0] == 0
    assert len(scores.read_text().splitlines()) == 141


def test_no_option_of_a_learner_is_hidden_by_the_command(run: Run) -> None:
    for name in (one for one in learn.modules() if issubclass(learn.load(one), learn.Ranker)):
        text = run("train", "--method", name, "--help")[1]
        for declared in training.params_of(learn.load(name)):
            assert declared.option in text
            assert f"[{declared.name}; default" in " ".join(text.split()), (name, declared.name)


def test_a_kernel_machine_of_pairs_is_trained_saved_and_used_again(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "svc.zip"
    options = ("--method", "pairwise-ranker", "--classifier", "svc", "--kernel", "rbf", "--gamma", "0.1", "--C", "2")
    code, _, err = run("train", LETOR / "train.txt", *options, "-o", path)
    assert code == 0, err
    code, out, err = run("predict", path, LETOR / "test.txt")
    assert code == 0, err
    X, y, query = cc.read_features(LETOR / "train.txt")
    new, _, new_query = cc.read_features(LETOR / "test.txt")
    model = learn.PairwiseRanker("svc", kernel="rbf", gamma=0.1, C=2.0).fit(X, y, qid=query)
    scores = [float(row["score"]) for row in csv.DictReader(io.StringIO(out))]
    assert scores == model.predict(new, qid=new_query).tolist()
    code, _, err = run("train", LETOR / "train.txt", "--method", "pairwise-ranker", "--kernel", "rbf")
    assert code != 0
    assert "--classifier svc" in err


def test_several_files_are_one_training_set(run: Run) -> None:
    out = run("train", LETOR / "train.txt", LETOR / "valid.txt", "--json")[1]
    assert json.loads(out)["sets"]["train"]["queries"] == 32


def test_features_may_be_scaled_or_not_and_multiplied(run: Run) -> None:
    plain = json.loads(run("train", LETOR / "train.txt", "--no-scale", "--json")[1])
    curved = json.loads(run("train", LETOR / "train.txt", "--second-order", "--json")[1])
    assert plain["params"]["standardise"] is False
    assert curved["steps"] == ["second-order", DEFAULT]
    assert curved["sets"]["train"]["metrics"]["map"] > plain["sets"]["train"]["metrics"]["map"]


def test_rankers_may_be_bagged(run: Run) -> None:
    facts = json.loads(run("train", LETOR / "train.txt", "--bag", "3", "--json")[1])
    assert facts["params"]["n_rankers"] == 3


def test_weights_single_precision_and_missing_values(run: Run, tmp_path: Path) -> None:
    rows = ["qid,label,x,z,w"]
    rng = np.random.default_rng(0)
    for query in range(12):
        rows += [f"{query},{int(x > 0)},{x:.3f},{'' if x > 1 else 1},{query % 3 + 1}" for x in rng.normal(size=6)]
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(rows))
    code, _, err = run("train", path, "--weight", "w")
    assert code == 1
    assert f"feature 'z'), which {DEFAULT} does not support: use --missing mean" in err
    for how in ("mean", "median", "zero"):
        code, out, err = run("train", path, "--weight", "w", "--missing", how, "--float32", "--json")
        assert code == 0, err
        assert json.loads(out)["sets"]["train"]["metrics"]["map"] > 0.9
    assert run("train", path, "--feature-columns", "x")[0] == 0
    assert run("train", path, "--method", "rank-boost")[0] == 0  # it takes missing values as they are


def test_the_learning_curve_is_drawn(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    for name in (DEFAULT, "rank-boost"):
        picture = tmp_path / f"{name}.svg"
        code, _, err = run(
            "train", LETOR / "train.txt", "--valid", LETOR / "valid.txt", "--method", name, "--plot", picture
        )
        assert code == 0, err
        assert picture.read_bytes().startswith(b"<?xml")
    code, _, err = run("train", LETOR / "train.txt", "--method", "ordinal-ranker", "--bag", "2", "--plot", picture)
    assert code == 1
    assert "has no learning curve" in err


def test_a_curve_shows_what_there_is(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from concordant.narrative.plots import plot_learning_curve

    both = plot_learning_curve({"loss": [3.0, 2.0, 1.0], "valid": [0.1, 0.5, 0.4]}, metric="map")
    assert [axes.get_ylabel() for axes in both.axes] == ["loss, training", "map, validation (best 0.5000 at 2)"]
    alone = plot_learning_curve({"valid": [0.1, 0.5]}, tmp_path / "curve.png", metric="map")
    assert [axes.get_ylabel() for axes in alone.axes] == ["map, validation"]
    with pytest.raises(cc.InputError, match="history is empty"):
        plot_learning_curve({"loss": []})


# ---- predict ----
def test_scores_come_in_the_order_of_the_rows(run: Run, model: Path) -> None:
    code, out, err = run("predict", model, HOTELS)
    assert code == 0, err
    rows = list(csv.DictReader(io.StringIO(out)))
    found = cc.read_features(HOTELS, query="city", item="hotel")
    assert list(rows[0]) == ["query", "item", "score", "rank"]
    assert [row["item"] for row in rows] == found.items
    np.testing.assert_allclose([float(row["score"]) for row in rows], cc.load(model).predict(found.X))
    first = [row for row in rows if row["query"] == rows[0]["query"]]
    by_score = sorted(first, key=lambda row: -float(row["score"]))
    assert [row["rank"] for row in by_score] == [str(k + 1) for k in range(8)]
    assert "ndcg@10" in err


def test_scores_can_be_written_in_every_form(run: Run, model: Path, tmp_path: Path) -> None:
    expected = [float(row["score"]) for row in csv.DictReader(io.StringIO(run("predict", model, HOTELS)[1]))]
    for form in ("csv", "json", "jsonl", "parquet"):
        path = tmp_path / f"scores.{form}"
        assert run("predict", model, HOTELS, "-o", path)[0] == 0
        if form == "json":
            scores = [row["score"] for row in json.loads(path.read_text())]
        else:
            scores = cc.read_features(path, label=False, features="score", item=False).X[:, 0].tolist()
        np.testing.assert_allclose(scores, expected)
    assert json.loads(run("predict", model, HOTELS, "--json")[1])[0]["rank"] > 0
    code, _, err = run("predict", model, HOTELS, "--to", "parquet")
    assert code == 1
    assert "--output" in err


def test_a_run_can_be_evaluated_like_any_other(run: Run, model: Path, tmp_path: Path) -> None:
    path, labels = tmp_path / "hotels.run", tmp_path / "labels.csv"
    assert run("predict", model, HOTELS, "-o", path)[0] == 0
    found = cc.read_features(HOTELS, query="city", item="hotel")
    assert found.queries is not None
    assert found.items is not None
    lines = [f"{found.queries[q]},{d},{y:g}" for q, d, y in zip(found.query, found.items, found.y, strict=True)]
    labels.write_text("\n".join(["query,item,label", *lines]))
    told = run("evaluate", path, "--labels", labels)[1].split()[-2:]
    assert told == run("predict", model, HOTELS, "--evaluate")[1].split()[-2:]


def test_rows_without_labels_are_scored_too(run: Run, model: Path, tmp_path: Path) -> None:
    path = tmp_path / "new.csv"
    with open(HOTELS, newline="", encoding="utf-8") as file, open(path, "w", newline="", encoding="utf-8") as copy:
        rows = list(csv.DictReader(file))
        columns = ["breakfast", "price", "city", "review", "stars", "distance_km"]  # another order, no label, no hotel
        writer = csv.DictWriter(copy, columns, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
    code, out, err = run("predict", model, path)
    assert code == 0, err
    assert out.splitlines()[0] == "query,row,score,rank"
    expected = [row["score"] for row in csv.DictReader(io.StringIO(run("predict", model, HOTELS)[1]))]
    assert [row["score"] for row in csv.DictReader(io.StringIO(out))] == expected
    code, _, err = run("predict", model, path, "--evaluate")
    assert code == 1
    assert "The rows cannot be evaluated" in err


def test_sparse_files_may_end_before_the_last_feature(run: Run, tmp_path: Path) -> None:
    path, short, wide = tmp_path / "model.zip", tmp_path / "short.txt", tmp_path / "wide.txt"
    run("train", LETOR / "train.txt", "-o", path)
    short.write_text("1 qid:1 1:0.5\n0 qid:1 2:1\n")
    wide.write_text("1 qid:1 1:0.5 9:1\n0 qid:1 2:1\n")
    assert run("predict", path, short)[0] == 0
    code, _, err = run("predict", path, wide)
    assert code == 1
    assert "it has 9 features, but the model has 5" in err
    code, _, err = run("predict", path, HOTELS)
    assert code == 1
    assert "--feature-columns" in err


# ---- clear words ----
@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (["train", "nowhere.txt"], 1, "there is no such file"),
        (["train", ROOT / "examples" / "election.csv"], 1, "no column was recognised as the label"),
        (["train", LETOR / "train.txt", "--method", "rank-nett"], 2, "Did you mean rank-net"),
        (["train", LETOR / "train.txt", "--method", "rank-net", "--alpha", "-1"], 1, "--alpha -1.0 is out of range"),
        (["train", LETOR / "train.txt", "--method", "rank-net", "--metric", "x"], 1, "no metric 'x'"),
        (["train", LETOR / "train.txt", "--metrics", "x"], 1, "no metric 'x'"),
        (["train", LETOR / "train.txt", "--method", "rank-net", "--rounds", "3"], 2, "No such option"),
        (["train", LETOR / "train.txt", "--plot", "curve.doc"], 1, "does not have a supported extension"),
        (["train", LETOR / "train.txt", "-o", "nowhere/model.zip"], 1, "the folder 'nowhere' does not exist"),
        (["train", LETOR / "train.txt", "--label", "x"], 1, "--label does not apply to LETOR files"),
        (["train", LETOR / "train.txt", "--method", "label-ranker"], 1, "use it from Python"),
        (["predict", "nowhere.zip", HOTELS], 1, "No such file"),
        (["predict", HOTELS, HOTELS], 1, "this is not a model file"),
    ],
)
def test_mistakes_are_told_in_one_sentence(run: Run, args: list[object], code: int, words: str) -> None:
    valid = ["--valid", LETOR / "valid.txt"] if "--metric" in args else []
    found, out, err = run(*args, *valid)
    assert found == code
    assert words in err
    assert out == ""
    assert "Traceback" not in err


def test_a_method_of_aggregation_is_no_ranker_of_rows(run: Run, tmp_path: Path) -> None:
    cc.save(cc.Borda(), tmp_path / "borda.zip")
    code, _, err = run("predict", tmp_path / "borda.zip", HOTELS)
    assert code == 1
    assert "an aggregation method (borda): use it with `concordant rank --model`" in err
    cc.save(learn.RankNet(), tmp_path / "raw.zip")
    assert "the model is not fitted" in run("predict", tmp_path / "raw.zip", HOTELS)[2]


def test_learners_are_listed_and_explained(run: Run) -> None:
    code, out, _ = run("methods", "--learners")
    assert code == 0
    assert {line.split()[0] for line in out.splitlines()[1:]} == set(learn.modules())
    assert "--max-iter" in run("methods", "rank-net")[1]
    assert {one["name"] for one in json.loads(run("methods", "--learners", "--json")[1])} == set(learn.modules())
    assert json.loads(run("methods", "RankNet", "--json")[1])["class"] == "RankNet"
    assert "Davidson" in run("methods", "davidson")[1]  # a method of aggregation keeps its name


def test_forgotten_queries_are_told_in_the_words_of_the_command_line(run: Run, tmp_path: Path) -> None:
    table = tmp_path / "rows.csv"
    table.write_text("label,f1\n" + "".join(f"{k % 2},{(k * 7) % 11 + k % 2}\n" for k in range(600)))
    code, _, err = run("train", table, "--method", "rank-net", "-o", tmp_path / "model.zip")
    assert code == 0
    assert "all rows are treated as one query" in err
    assert "--query" in err
    assert "GridSearchCV" not in err


def test_a_share_of_the_queries_is_held_out_and_the_model_trained_on_all(run: Run, tmp_path: Path) -> None:
    path, whole = tmp_path / "model.zip", tmp_path / "whole.zip"
    code, out, err = run("train", LETOR / "train.txt", "--hold-out", "0.25", "-o", path, "--json")
    assert code == 0, err
    sets = json.loads(out)["sets"]
    assert {part: facts["queries"] for part, facts in sets.items()} == {"train": 15, "held-out": 5}
    assert run("train", LETOR / "train.txt", "-o", whole)[0] == 0
    X = cc.read_features(LETOR / "test.txt").X
    assert (cc.load(path).predict(X) == cc.load(whole).predict(X)).all()
    code, _, err = run("train", LETOR / "train.txt", "--hold-out", "0.25", "--test", LETOR / "test.txt")
    assert code == 2
    assert "--hold-out and --test cannot be combined" in err
