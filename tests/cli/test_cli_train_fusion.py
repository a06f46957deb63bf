"""``concordant train-fusion`` and ``concordant fuse --model``: from judged runs to a model to fused runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.conftest import ROOT, Run

pytest.importorskip("sklearn", reason="the learn extra is not installed")

import concordant as cc

RUNS = sorted((ROOT / "examples" / "runs").glob("*.run"))
QRELS = ROOT / "examples" / "qrels.txt"


@pytest.fixture
def model(run: Run, tmp_path: Path) -> Path:
    """A model trained on the example runs."""
    path = tmp_path / "model.cc"
    code, _, err = run("train-fusion", *RUNS, "--labels", QRELS, "--passes", "20", "-o", path)
    assert code == 0, err
    return path


def test_training_shows_the_model_beside_rrf_and_the_best_run(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "model.cc"
    code, out, err = run("train-fusion", *RUNS, "--labels", QRELS, "--metrics", "ndcg@5,map", "-o", path)
    assert code == 0, err
    lines = out.splitlines()
    assert lines[1].split() == ["set", "topics", "system", "ndcg@5:exponential", "map"]
    assert lines[2].split()[:3] == ["train", "10", "expert-ranker"]
    assert [line.split()[0] for line in lines[3:5]] == ["rrf", "best"]
    assert lines[5].split()[:3] == ["validation", "2", "expert-ranker"]
    assert {line.split()[0] for line in lines[-4:]} == {"engine1", "engine2", "engine3", "engine4"}
    assert f"wrote {path}" in err


def test_a_model_fuses_as_it_ranks(run: Run, tmp_path: Path, model: Path) -> None:
    fused = tmp_path / "fused.run"
    code, _, err = run("fuse", *RUNS, "--model", model, "-o", fused)
    assert code == 0, err
    ranking = cc.load(model).rank(cc.read([str(path) for path in RUNS]))
    first = fused.read_text().split("\n")[0].split()
    assert first[5] == "concordant-expert-ranker-model"
    assert first[2] == ranking[first[0]].items[0]


def test_json_says_everything(run: Run, tmp_path: Path) -> None:
    code, out, err = run(
        *("train-fusion", *RUNS, "--labels", QRELS, "--json", "--counts", "binary", "--validation", "0"),
        *("--passes", "5", "--plot", tmp_path / "experts.svg"),
    )
    assert code == 0, err
    facts = json.loads(out)
    assert facts["params"]["counts"] == "binary"
    assert list(facts["sets"]) == ["train"]
    assert facts["sets"]["train"]["topics"] == 12
    assert set(facts["trust"]) == {"engine1", "engine2", "engine3", "engine4"}
    assert (tmp_path / "experts.svg").is_file()


def test_other_methods_that_learn_can_be_trained(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "cps.cc"
    code, out, err = run("train-fusion", *RUNS, "--labels", QRELS, "--method", "mpm", "-o", path)
    assert code == 0, err
    assert "validation" not in out
    assert cc.load(path).learnt["theta"]


def test_what_cannot_be_done_is_said(run: Run, tmp_path: Path, model: Path) -> None:
    code, _, err = run("train-fusion", *RUNS, "--labels", QRELS, "--method", "borda")
    assert code == 1
    assert "does not learn from labels" in err
    other = tmp_path / "other.qrels"
    other.write_text("none 0 d1 1\n")
    code, _, err = run("train-fusion", *RUNS, "--labels", other)
    assert code == 1
    assert "have no common topic" in err
    code, _, err = run("fuse", *RUNS, "--model", model, "--method", "rrf")
    assert code == 2
    assert "--model and --method cannot be combined" in err
    stranger = tmp_path / "stranger.run"
    stranger.write_text("1 Q0 d1 1 2.0 stranger\n1 Q0 d2 2 1.0 stranger\n")
    code, _, err = run("fuse", stranger, "--model", model)
    assert code == 1
    assert "trained on different agents" in err
    code, _, err = run("fuse", RUNS[0], stranger, "--model", model)
    assert code == 0
    assert "not in the training data are ignored: stranger" in err
    code, _, err = run("rank", RUNS[0], "--method", "expert-ranker")
    assert code == 1
    assert "train-fusion" in err
