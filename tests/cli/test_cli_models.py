"""From rankings with judgements to a model and to rankings of new data, on the command line as in Python."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.conftest import ROOT, Run

import concordant as cc

METRICS = ("ndcg@1:letor", "ndcg@5:letor", "p@5", "map")
MODELS = {
    "theta-mpm": ["--method", "mpm", "--prior", "0.1"],
    "cps": ["--method", "cps"],
    "lr-logr": ["--method", "expert-ranker", "--counts", "log"],
}


def letor(path: Path, queries: range, seed: int) -> Path:
    """Write judged lists of five engines in LETOR's form: some documents are ranked by few, or by nobody."""
    rng = np.random.default_rng(seed)
    lines = []
    for query in queries:
        label = rng.integers(0, 3, 12)
        noisy = label[:, None] + rng.normal(0, [0.3, 0.6, 1.0, 2.0, 4.0], (12, 5))
        rank = (-noisy).argsort(axis=0).argsort(axis=0) + 1
        is_missing = (rng.random((12, 5)) < 0.3) | (np.arange(12) >= 10)[:, None]
        for k in range(12):
            ranks = " ".join(f"{e + 1}:{'NULL' if is_missing[k, e] else rank[k, e]}" for e in range(5))
            lines.append(f"{label[k]} qid:{query} {ranks} #docid = D{query}-{(7 * k) % 12} inc = 1 prob = 0.1")
    with gzip.open(path, "wt") as file:
        file.write("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("letor")
    return [letor(folder / f"A{k + 1}.txt.gz", range(10 * k, 10 * k + 10), k) for k in range(5)]


@pytest.fixture
def model(run: Run, parts: list[Path], tmp_path: Path) -> Path:
    path = tmp_path / "model.zip"
    code, _, err = run("train-fusion", *parts[:3], "--method", "mpm", "-o", path)
    assert code == 0, err
    return path


def in_python(name: str, train: list[Path], valid: Path, test: Path) -> dict[str, float]:
    """Means of a model that is trained, applied and evaluated in Python."""
    settings: dict[str, Any] = {"theta-mpm": {"prior": 0.1}, "cps": {}, "lr-logr": {"counts": "log"}}[name]
    method: Any = {"theta-mpm": cc.MPM, "cps": cc.CPS, "lr-logr": cc.ExpertRanker}[name](**settings)
    more = {"validation": (cc.read(valid), cc.read_labels(valid))} if name == "lr-logr" else {}
    fitted = method.fit(cc.read(train), cc.read_labels(train), **more)
    return cc.evaluate(fitted.rank(cc.read(test)), cc.read_labels(test), METRICS).means


def on_the_command_line(
    run: Run, name: str, train: list[Path], valid: Path, test: Path, folder: Path
) -> list[dict[str, float]]:
    """Means of the same model: by ``rank --model`` with a table, and by ``fuse --model`` with a run."""
    model, table, fused = (str(folder / name) for name in ("model.zip", "ranking.csv", "fused.run"))
    validation = ["--valid", valid] if name == "lr-logr" else []
    for line in (
        ["train-fusion", *train, *validation, *MODELS[name], "-o", model],
        ["rank", test, "--model", model, "--csv", "-o", table],
        ["fuse", test, "--model", model, "-o", fused],
    ):
        code, _, err = run(*line)
        assert code == 0, err
    wanted = [word for metric in METRICS for word in ("--metric", metric)]
    means = []
    for written in (table, fused):
        code, out, err = run("evaluate", written, "--labels", test, *wanted, "--ties", "input", "--json")
        assert code == 0, err
        means.append(json.loads(out)["systems"][0]["means"])
    return means


@pytest.mark.parametrize("name", MODELS)
def test_a_model_has_the_same_metrics_on_the_command_line_and_in_python(
    run: Run, name: str, parts: list[Path], tmp_path: Path
) -> None:
    if name == "lr-logr":
        pytest.importorskip("sklearn", reason="the learn extra is not installed")
    *train, valid, test = parts
    by_table, by_run = on_the_command_line(run, name, train, valid, test, tmp_path)
    assert by_table == by_run == in_python(name, train, valid, test)  # to the last digit


@pytest.mark.data
@pytest.mark.parametrize("fold", [0, 3])
@pytest.mark.parametrize("name", ["theta-mpm", "lr-logr"])
def test_the_folds_of_mq2008_have_the_same_metrics_on_the_command_line(
    run: Run, name: str, fold: int, data_folder: Path, tmp_path: Path
) -> None:
    from concordant.experiments.metasearch import find_folds

    if not (data_folder / "letor4-agg" / "MQ2008-agg").is_dir():
        pytest.skip("MQ2008-agg is not in the folder of the public data sets")
    files = find_folds(data_folder, "MQ2008-agg")[fold]
    known = list(files.train_paths), files.valid_path, files.test_path
    by_table, by_run = on_the_command_line(run, name, *known, tmp_path)
    assert by_table == by_run == in_python(name, *known)


# ---- forms ----
def test_a_model_ranks_every_form(run: Run, model: Path, parts: list[Path], tmp_path: Path) -> None:
    prefs = cc.read(parts[4])
    expected = cc.load(model).rank(prefs)
    first = expected["40"].items[0]
    for name in ("lists.csv", "lists.jsonl", "lists.parquet", "lists.run"):
        cc.write(prefs, tmp_path / name)
        code, out, err = run("rank", tmp_path / name, "--model", model, "--top", 1, "--json")
        assert code == 0, err
        found = {one["instance"]: one["items"][0]["item"] for one in json.loads(out)["instances"]}
        assert found["40"] == first
        code, out, err = run("fuse", tmp_path / name, "--model", model, "--depth", 1)
        assert code == 0, err
        assert out.splitlines()[0].split()[2] == first


def test_columns_are_named_as_for_rank(run: Run, parts: list[Path], tmp_path: Path) -> None:
    prefs = cc.read(parts[0])
    cc.write(prefs, tmp_path / "lists.csv")
    lists, judged, model = tmp_path / "lists.csv", tmp_path / "judged.csv", tmp_path / "model.zip"
    header, rest = lists.read_text().split("\n", 1)
    called = {"instance": "was", "agent": "wer", "item": "wozu", "rank": "wo"}
    lists.write_text(",".join(called.get(name, name) for name in header.split(",")) + "\n" + rest)
    labels = cc.read_labels(parts[0])
    cc.write(labels, judged, format="csv")
    judged.write_text(judged.read_text().replace("instance,item,label", "was,wozu,label"))
    columns = ["--instance", "was", "--agent", "wer", "--item", "wozu", "--rank", "wo"]
    code, _, err = run("train-fusion", lists, *columns, "--labels", judged, "--method", "mpm", "-o", model)
    assert code == 0, err
    assert cc.load(model).learnt == cc.MPM().fit(prefs, labels).learnt
    code, out, err = run("rank", lists, *columns, "--model", model, "--csv")
    assert code == 0, err
    assert out.splitlines()[1].split(",")[2] in prefs.items.labels


def test_a_data_frame_is_ranked_by_a_model(model: Path, parts: list[Path], tmp_path: Path) -> None:
    frames = pytest.importorskip("pandas")
    cc.write(cc.read(parts[4]), tmp_path / "lists.csv")
    frame = frames.read_csv(tmp_path / "lists.csv", dtype={"agent": str, "instance": str})
    ranking = cc.rank(frame.rename(columns={"agent": "engine"}), cc.load(model), agent="engine")
    assert ranking["40"].items[0] == cc.load(model).rank(cc.read(parts[4]))["40"].items[0]


def test_groups_and_explanations_are_of_the_model(run: Run, model: Path, parts: list[Path], tmp_path: Path) -> None:
    cc.write(cc.read(parts[4]).select(instances=["40"]), tmp_path / "lists.csv")
    code, out, err = run("rank", tmp_path / "lists.csv", "--model", model, "--explain", "--json")
    assert code == 0, err
    assert json.loads(out)["instances"][0]["explanation"]
    assert json.loads(out)["agents"] is not None
    ratings = tmp_path / "ratings.csv"
    ratings.write_text(
        "agent,item,rank,group\n"
        + "".join(f"{k},{i},{(i + k) % 3 + 1},{k % 2}\n" for k in range(1, 6) for i in range(3))
    )
    code, out, err = run("rank", ratings, "--model", model, "--by", "group", "--seed", 1)
    assert code == 0, err
    assert "by group" in out


# ---- what is refused ----
def test_a_model_excludes_a_method_and_its_options(run: Run, model: Path, parts: list[Path]) -> None:
    for command in ("rank", "fuse"):
        code, _, err = run(command, parts[4], "--model", model, "--method", "rrf")
        assert code == 2
        assert "--model and --method cannot be combined" in err
    code, _, err = run("rank", parts[4], "--model", model, "--prior", "1")
    assert code == 2
    assert "--prior cannot be combined with --model" in err
    code, _, err = run("fuse", parts[4], "--model", model, "--k", "1")
    assert code == 2
    assert "--k cannot be combined with --model" in err
    code, _, err = run("rank", parts[4], "--model", model, "--seed", "1")
    assert code == 2
    assert "--seed cannot be combined with --model" in err


@pytest.mark.parametrize("command", ["rank", "fuse"])
def test_a_model_of_another_kind_is_refused_with_its_command(
    run: Run, command: str, parts: list[Path], tmp_path: Path
) -> None:
    recommender, ranker = tmp_path / "recommender.zip", tmp_path / "ranker.zip"
    cc.save(cc.recommend.Popular().fit(cc.read(ROOT / "examples" / "ratings.csv")), recommender)
    code, _, err = run(command, parts[4], "--model", recommender)
    assert code == 1
    assert "a recommender (popular): use it with `concordant recommend for`" in err
    code, _, err = run(command, parts[4], "--model", ROOT / "examples" / "ratings.csv")
    assert code == 1
    assert "this is not a model file" in err
    learn = pytest.importorskip("concordant.learn")
    cc.save(learn.RankSVM().fit([[0.0], [1.0]], [0, 1]), ranker)
    code, _, err = run(command, parts[4], "--model", ranker)
    assert code == 1
    assert "a ranker of feature rows (RankSVM): use it with `concordant predict`" in err


def test_other_commands_refuse_a_fusion_model_with_its_command(run: Run, model: Path) -> None:
    for line in (["recommend", "for", model, "ann"], ["predict", model, ROOT / "examples" / "hotels.csv"]):
        code, _, err = run(*line)
        assert code == 1
        assert "an aggregation method (mpm): use it with `concordant rank --model` or `concordant fuse --model`" in err


def test_a_tampered_model_is_refused(run: Run, model: Path, parts: list[Path], tmp_path: Path) -> None:
    import zipfile

    tampered = tmp_path / "tampered.zip"
    with zipfile.ZipFile(model) as old, zipfile.ZipFile(tampered, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            new.writestr(name, content.replace(b'"mpm"', b'"os.system"') if name == "model.json" else content)
    for command in ("rank", "fuse"):
        code, _, err = run(command, parts[4], "--model", tampered)
        assert code == 1
        assert "there is no method 'os.system'" in err


def test_unknown_agents_are_named(run: Run, model: Path, tmp_path: Path) -> None:
    lists = tmp_path / "lists.csv"
    lists.write_text("agent,item,rank\n1,a,1\n1,b,2\nx,b,1\nx,a,2\n")
    assert (
        "1 of 2 agents were not in the training data, so they get the mean weight: x"
        in run("rank", lists, "--model", model)[2]
    )
    lists.write_text("a,b\nb,a\n")
    code, _, err = run("rank", lists, "--layout", "places", "--no-header", "--model", model)
    assert code == 0, err
    assert "the ballots have no agents" in err


def test_what_training_cannot_use_is_refused(run: Run, parts: list[Path]) -> None:
    runs = sorted((ROOT / "examples" / "runs").glob("*.run"))
    code, _, err = run("train-fusion", *runs)
    assert code == 1
    assert "The rankings contain no relevance judgements: name their file with --labels." in err
    code, _, err = run("train-fusion", *parts[:3], "--valid", parts[3], "--validation", "0.2")
    assert code == 2
    assert "--valid and --validation cannot be combined" in err
    code, _, err = run("train-fusion", *parts[:3], "--valid", parts[3], "--method", "mpm")
    assert code == 2
    assert "mpm does not use validation topics" in err


def test_judgements_may_be_in_several_files(run: Run, parts: list[Path], tmp_path: Path) -> None:
    for k in (0, 1):
        cc.write(cc.read_labels(parts[k]), tmp_path / f"{k}.qrels")
    code, out, err = run(
        *("train-fusion", *parts[:2], "--labels", tmp_path / "0.qrels", "--labels", tmp_path / "1.qrels"),
        *("--method", "mpm", "--json"),
    )
    assert code == 0, err
    assert json.loads(out)["sets"]["train"]["topics"] == 20
