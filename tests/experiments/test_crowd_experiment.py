"""The crowd experiment, on small files of the published layout, and on the real ones."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.cases import data_folders
from tests.cases import output_of as run

from concordant.experiments import crowd


@pytest.fixture(scope="module")
def votes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten topics of eight documents, five of them with gold labels; two good workers and two who guess."""
    root, folder = data_folders(tmp_path_factory, "trec2011-crowd", "vuurens")
    rng = np.random.default_rng(0)
    own, others, gold = [], [], ["SetId\tTopicId\tDocId\tG-Truth"]
    for topic in range(20001, 20011):
        for document in range(8):
            truth = int(rng.integers(0, 3))
            gold.append(f"1\t{topic}\td{document}\t{truth if document < 5 else -1}")
            for worker, right in ((1, 0.95), (2, 0.9), ("worker_1", 0.5), ("worker_2", 0.5)):
                vote = int(truth > 0) if rng.random() < right else int(truth == 0)
                if isinstance(worker, int):
                    own.append(f"1\t{topic}_d{document}\t{worker}\t{vote}")
                else:
                    others.append(f"{topic}_d{document}\t{worker}  \t{vote}")
    (folder / "votes").write_text("\n".join(own) + "\n")
    (folder / "otherparticipantsvotes").write_text("\n".join([*others, others[0]]) + "\n")
    (folder / "task1_unlabeled_g_truth_cons_public.txt").write_text("\n".join(gold) + "\n")
    return root


def test_topics_are_split_and_never_shared(votes):
    topics = [f"t{k}" for k in range(30)]
    for train, valid, test in crowd.splits(topics, 0):
        assert (len(train), len(valid), len(test)) == (18, 6, 6)
        assert sorted([*train, *valid, *test]) == sorted(topics)
    assert crowd.splits(topics, 0) != crowd.splits(topics, 1)


def test_all_systems_are_scored_and_the_data_counted(votes):
    found = crowd.run(votes)
    assert [row["method"] for row in found["rows"]] == list(crowd.SYSTEMS)
    assert all(0 <= row[column] <= 100 for row in found["rows"] for column in crowd.COLUMNS)
    assert found["counts"]["here"]["judgements"] == 320  # the repeated one is left out
    assert found["counts"]["here"]["gold"] == 50
    assert {row["baseline"] for row in found["tests"]} == set(crowd.BASELINES)
    assert found["workers"]["majority-vote"] > 0.6
    verdicts = [claim.verdict for claim in crowd.claims(found)]
    assert len(verdicts) == 6
    assert verdicts[-1] == "cannot be tested with the data available"
    page = crowd.to_markdown(found)
    assert "lr-unlabeled" in page
    assert "not public" in page


def test_the_command_prints_it(votes, capsys):
    found = json.loads(run(capsys, "reproduce", "crowd", "--data", votes, "--json"))
    assert found["rows"][0]["method"] == "condorcet"
    assert found["rows"][0]["published"]["N@1"] == 42.0
    assert "Workers" in run(capsys, "reproduce", "crowd", "--data", votes)
    assert [claim["verdict"] for claim in found["claims"]][-1] == "cannot be tested with the data available"


def test_it_is_drawn(votes, tmp_path):
    pytest.importorskip("matplotlib")
    (path,) = crowd.draw(crowd.run(votes), tmp_path)
    assert Path(path).stat().st_size > 1000


@pytest.mark.data
def test_the_public_votes_hold_what_is_said(data_folder):
    found = crowd.run(data_folder)
    assert found["counts"]["with gold"] == dict(
        zip(crowd.COUNTED, (30, 956, 645, 3200, 55_186, 395, 267, 128), strict=True)
    )
    assert found["workers"]["majority-vote"] == pytest.approx(0.805, abs=0.001)
    assert found["workers"]["dawid-skene"] == pytest.approx(0.825, abs=0.001)
    verdicts = [claim.verdict for claim in crowd.claims(found)]
    assert verdicts[:4] == ["does not hold"] * 4  # on the substitute data
