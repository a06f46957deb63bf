"""``concordant crowd`` on answers in classes."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from tests.conftest import Run

ANSWERS = (
    "task,worker,label\nt1,w1,cat\nt1,w2,cat\nt1,w3,dog\nt2,w1,dog\nt2,w2,bird\nt2,w3,dog\nt3,w1,bird\nt3,w3,bird\n"
)


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    path = tmp_path / "answers.csv"
    path.write_text(ANSWERS)
    return path


@pytest.fixture
def gold(tmp_path: Path) -> Path:
    path = tmp_path / "gold.csv"
    path.write_text("task,label\nt1,cat\nt2,bird\n")
    return path


def test_annotators_are_compared_with_gold_classes(run: Run, answers: Path, gold: Path) -> None:
    code, out, err = run("crowd", answers, "--gold", gold, "--json")
    assert code == 0
    data = json.loads(out)
    accuracy = {row["agent"]: row["accuracy"] for row in data["agents"]}
    assert accuracy == {"w1": 0.5, "w2": 1.0, "w3": 0.0}
    assert data["agreement"]["majority-vote"] == 0.5
    _, out, err = run("crowd", answers, "--labels", gold)
    assert "on relevant" not in out
    assert "majority-vote agrees with 50.0% of the gold labels" in err
    assert "--categories A,B,… orders them" in err


def test_items_get_their_class_and_its_probability(run: Run, answers: Path) -> None:
    code, out, _ = run("crowd", answers, "--items", "--csv")
    assert code == 0
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [(row["item"], row["majority_vote"], row["judged"]) for row in rows] == [
        ("t1", "cat", "3.0"),
        ("t2", "dog", "3.0"),
        ("t3", "bird", "2.0"),
    ]
    assert [round(float(row["share"]), 3) for row in rows] == [0.667, 0.667, 1.0]
    assert all(0.3 < float(row["probability"]) <= 1 for row in rows)
    _, out, _ = run("crowd", answers, "--items")
    assert out.splitlines()[0] == "item  judgements  class  probability  majority vote  share"
    _, out, _ = run("crowd", answers, "--items", "--json")
    (first, *_) = json.loads(out)["items"]
    assert first["class"] == "cat"
    assert sum(first["distribution"].values()) == pytest.approx(1)


@pytest.mark.parametrize("name", ["majority", "majority-vote", "one-coin", "dawid-skene", "mace", "glad"])
def test_every_method_gives_items_and_agents(run: Run, answers: Path, name: str) -> None:
    code, out, err = run("crowd", answers, "--method", name, "--json")
    assert code == 0, err
    data = json.loads(out)
    assert [row["item"] for row in data["items"]] == ["t1", "t2", "t3"]
    assert [row["class"] for row in data["items"]][1:] == ["dog", "bird"]
    assert all(0 < row["probability"] <= 1 for row in data["items"])
    assert {row["agent"] for row in data["agents"]} == {"w1", "w2", "w3"}
    assert all(len(row["confusion"]) == 3 for row in data["agents"])


def test_the_ordinal_model_needs_an_order(run: Run, answers: Path) -> None:
    code, _, err = run("crowd", answers, "--method", "ordinal")
    assert code != 0
    assert "--categories A,B,…" in err
    code, out, err = run("crowd", answers, "--method", "ordinal", "--categories", "cat,dog,bird", "--json")
    assert code == 0, err
    assert json.loads(out)["method"] == "ordinal-annotators"


def test_methods_are_compared_and_matrices_printed(run: Run, answers: Path) -> None:
    _, out, _ = run("crowd", answers, "--compare", "--csv")
    assert {row["method"] for row in csv.DictReader(io.StringIO(out))} >= {
        "majority-vote",
        "dawid-skene",
        "mace",
        "glad",
    }
    _, out, _ = run("crowd", answers, "--confusions", "--csv", "--method", "dawid-skene")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert len(rows) == 27
    assert all(float(row["low"]) <= float(row["probability"]) <= float(row["high"]) for row in rows)
    assert run("crowd", answers, "--compare", "--items")[0] != 0


def test_gold_labels_may_be_used_in_the_estimation(run: Run, answers: Path, gold: Path) -> None:
    code, out, err = run("crowd", answers, "--gold", gold, "--use-gold", "--method", "dawid-skene", "--json")
    assert code == 0, err
    data = json.loads(out)
    found = {row["item"]: (row["class"], row["probability"]) for row in data["items"]}
    assert (found["t1"], found["t2"]) == (("cat", 1.0), ("bird", 1.0))
    assert 0 <= data["agreement"]["dawid-skene"] <= 1
    code, _, err = run("crowd", answers, "--use-gold")
    assert code != 0
    assert "--labels" in err


def test_categories_order_the_classes_of_both_files(run: Run, answers: Path, gold: Path) -> None:
    code, out, err = run("crowd", answers, "--gold", gold, "--categories", "cat,dog,bird", "--json")
    assert code == 0, err
    assert {row["agent"]: row["accuracy"] for row in json.loads(out)["agents"]} == {"w1": 0.5, "w2": 1.0, "w3": 0.0}
    assert run("rank", answers, "--categories", "cat,dog,bird")[0] == 0


def test_a_ranking_of_classes_is_refused_with_advice(run: Run, answers: Path) -> None:
    code, _, err = run("rank", answers)
    assert code != 0
    assert "A ranking needs an order" in err
    assert "`concordant crowd`" in err
    assert "--categories A,B,…" in err
    code, out, _ = run("rank", answers, "--method", "dawid-skene", "--csv")
    assert code == 0
    assert out.splitlines()[0] == "rank,item,score,answer"


def test_reports_and_descriptions_of_classes_need_no_order(run: Run, answers: Path, tmp_path: Path) -> None:
    assert "bird 38%" in run("describe", answers)[1]
    report = tmp_path / "report.html"
    code, _, err = run("report", answers, "--method", "dawid-skene", "-o", report)
    assert code == 0, err
    assert "Head to head" not in report.read_text(encoding="utf-8")


def test_a_rule_for_repeated_answers_is_an_option(run: Run, answers: Path) -> None:
    answers.write_text(ANSWERS + "t3,w3,cat\n")
    found = {}
    for rule in ("first", "last"):
        _, out, err = run("crowd", answers, "--items", "--json", "--repeated", rule)
        found[rule] = json.loads(out)["items"][2]["share"]
    assert found == {"first": 1.0, "last": 0.5}
    _, _, err = run("crowd", answers)
    assert "the last answer counts (--repeated sets the rule)" in err
