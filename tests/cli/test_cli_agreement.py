"""``concordant agreement``."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from tests.conftest import Run

ANSWERS = "task,worker,label\nt1,w1,1\nt1,w2,1\nt1,w3,2\nt2,w1,2\nt2,w2,3\nt2,w3,2\nt3,w1,3\nt3,w3,3\n"


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    path = tmp_path / "answers.csv"
    path.write_text(ANSWERS)
    return path


def test_the_table_has_coefficients_intervals_and_the_reason(run: Run, answers: Path) -> None:
    code, out, _ = run("agreement", answers)
    assert code == 0
    assert "Krippendorff's alpha (ordinal)" in out
    assert "95% CI" in out
    assert "taken to be ordinal" in out
    assert "Pairs of raters" in out


def test_json_and_csv_have_the_values_in_full(run: Run, answers: Path) -> None:
    code, out, _ = run("agreement", answers, "--json", "--level", "nominal")
    data = json.loads(out)
    assert code == 0
    assert (data["level"], data["n_raters"], data["n_items"], data["n_answers"]) == ("nominal", 3, 3, 8)
    code, out, _ = run("agreement", answers, "--csv", "--level", "nominal", "--coefficients", "krippendorff-alpha")
    rows = list(csv.DictReader(io.StringIO(out)))
    alpha = next(one["value"] for one in data["coefficients"] if one["name"] == "krippendorff-alpha")
    assert [(row["coefficient"], float(row["value"])) for row in rows] == [("krippendorff-alpha", alpha)]


def test_pairs_of_raters_are_a_table(run: Run, answers: Path) -> None:
    code, out, _ = run("agreement", answers, "--pairs", "--csv")
    assert code == 0
    rows = list(csv.DictReader(io.StringIO(out)))
    assert {(row["rater_1"], row["rater_2"], row["n_items"]) for row in rows} == {
        ("w1", "w2", "2"), ("w1", "w3", "3"), ("w2", "w3", "2")
    }  # fmt: skip
    assert len(json.loads(run("agreement", answers, "--pairs", "--json")[1])["pairs"]) == 3


@pytest.mark.parametrize("option", ["--markdown", "--latex", "--html"])
def test_other_formats_have_the_table(run: Run, answers: Path, option: str) -> None:
    code, out, _ = run("agreement", answers, option)
    assert code == 0
    assert "alpha (ordinal)" in out


def test_an_unknown_coefficient_is_refused_with_the_closest_one(run: Run, answers: Path) -> None:
    code, _, err = run("agreement", answers, "--coefficients", "fleis-kappa")
    assert code == 1
    assert "Did you mean fleiss-kappa" in err


def test_crowd_and_describe_say_the_agreement(run: Run, answers: Path) -> None:
    assert "agreement of annotators: Krippendorff's alpha" in run("crowd", answers)[2]
    assert "Krippendorff's alpha" in run("describe", answers)[1]
