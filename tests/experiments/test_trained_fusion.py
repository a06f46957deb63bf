"""Training fusion on half of the topics: splits are disjoint, choices see training topics only, tables come out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cases import data_folders
from tests.cases import output_of as run

pytest.importorskip("sklearn", reason="the learn extra is not installed")

from concordant.experiments import trained_fusion
from concordant.experiments.calibrated_fusion import read_set

SYSTEMS = ("expert-ranker", "rrf", "best single run")


@pytest.fixture(scope="module")
def trec(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve topics of thirty documents; one run is good, two are not."""
    root, folder = data_folders(tmp_path_factory, "trec-robust03", "runs")
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, (12, 30))
    judged = [f"{q} 0 d{q}-{i} {label[q, i]}" for q in range(12) for i in range(30)]
    (root / "trec-robust03" / "robust03_qrels.txt").write_text("\n".join(judged) + "\n")
    for name, noise in (("good", 0.3), ("fair", 1.5), ("poor", 9.0)):
        lines = []
        for q in range(12):
            score = label[q] + noise * rng.normal(size=30)
            for place, i in enumerate(np.argsort(-score)[:20].tolist(), start=1):
                lines.append(f"{q} Q0 d{q}-{i} {place} {100 - place} {name}")
        (folder / f"{name}.run").write_text("\n".join(lines) + "\n")
    return root


def test_training_beats_plain_fusion_where_one_run_is_good(trec: Path, capsys: Any) -> None:
    result = trained_fusion.run(trec, SYSTEMS, splits=2)
    by_name = {row["system"]: row["mean"] for row in result["systems"]}
    assert by_name["expert-ranker"][0] > by_name["rrf"][0]
    assert [picked["run"] for picked in result["chosen"]] == ["good", "good"]
    assert {(row["system"], row["against"]) for row in result["contests"]} == {
        ("expert-ranker", "rrf"),
        ("expert-ranker", "best single run"),
    }
    page = trained_fusion.to_markdown(result)
    assert "## Trained against untrained" in page
    verdicts = {claim.claim: claim.verdict for claim in trained_fusion.claims(result)}
    assert verdicts["expert-ranker is significantly better than combmnz"] == "not run"
    assert len(verdicts) == 9
    out = run(capsys, "reproduce", "trained-fusion", "--data", trec, "--systems", "rrf", "--splits", "1")
    assert "rrf" in out


def test_no_test_topic_is_seen_in_training(trec: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def fitted(method: str, settings: object, prefs: Any, labels: Any) -> Any:
        seen.append(set(prefs.instances.labels))
        return original(method, settings, prefs, labels)

    original = trained_fusion._fitted
    monkeypatch.setattr(trained_fusion, "_fitted", fitted)
    prefs, _ = read_set(trec, "robust03")
    trained_fusion.run(trec, ["expert-ranker"], splits=1)
    order = np.random.default_rng(0).permutation(12)
    train = {prefs.instances.labels[k] for k in order[:6]}
    assert all(topics <= train for topics in seen)
    assert seen[-1] == train
    assert len(seen) == trained_fusion.PARTS * len(trained_fusion.CHOICES) + 1
