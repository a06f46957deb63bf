"""Relevance judgements dropped together with runs, and gold labels with answers, become the labels of the page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.conftest import ROOT
from tests.web.asking import Page

pytestmark = pytest.mark.once


def test_judgements_among_dropped_files_are_the_labels() -> None:
    names = ("qrels.txt", "runs/engine1.run", "runs/engine2.run")
    page = Page(*(ROOT / "examples" / name for name in names), method="rrf")
    assert page.error == ""
    assert "qrels.txt contains relevance judgements and is not ranked" in page.regions["offers"]
    assert "12 judged" in page.sections["labels"]
    assert "cc.read_labels" in page.regions["download"]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_gold_labels_among_dropped_files_check_the_annotators(tmp_path: Path, order: tuple[int, int]) -> None:
    answers, gold = tmp_path / "answers.csv", tmp_path / "gold.csv"
    given = [("t1", "ann", "cat"), ("t1", "bo", "dog"), ("t2", "ann", "dog"), ("t2", "bo", "dog")]
    answers.write_text("task,worker,label\n" + "".join(f"{','.join(row)}\n" for row in given))
    gold.write_text("task,label\nt1,cat\nt2,dog\n")
    page = Page(*((answers, gold)[k] for k in order))
    assert page.error == ""
    assert "gold.csv contains gold labels" in page.regions["offers"].lower()
    assert "--gold gold.csv" in page.regions["download"]
    assert "Accuracy" in page.sections["annotators"]


def test_pages_of_search_speak_of_runs_documents_and_queries() -> None:
    page = Page(*sorted((ROOT / "examples" / "runs").iterdir()), ROOT / "examples" / "qrels.txt")
    assert "because the data are runs for several queries" in page.regions["offers"]
    assert "lines of 4 TREC runs" in page.regions["offers"]
    assert "the average ranked list ranks 58.3% of the documents" in page.sections["data"]
    assert "of 12 queries have a Condorcet winner" in page.sections["data"]
    assert "the median run agrees with" in page.sections["agents"]
    assert "First places" not in page.sections["methods"], "they would be of one query only"
    assert "Tied scores (Borda count)" in page.sections["data"]
    for word in ("agent", "candidate", "instance"):
        shown = re.sub(r"<(select|pre|table).*?</\1>|<[^>]*>", " ", page.sections["data"], flags=re.DOTALL)
        assert word not in shown.lower(), word


def test_methods_that_are_too_slow_to_compare_are_left_to_the_user(tmp_path: Path) -> None:
    path = tmp_path / "ratings.csv"
    path.write_text("user,movie,rating\n" + "".join(f"u{k % 9},m{k},{1 + k % 5}\n" for k in range(1_500)))
    said = "Methods were not compared, because there are too many movies: choose some with “Compare with”."
    assert said in Page(path).sections["methods"]
    assert "Who decides between the first two" in Page(ROOT / "examples" / "ratings.csv").sections["why"]


def test_gold_answers_inside_an_export_check_the_annotators(tmp_path: Path) -> None:
    path = tmp_path / "export.tsv"
    rows = [f"i{k % 9}\t{'cat' if k % 3 else 'dog'}\t{'cat' if k < 9 else ''}\tw{k // 9}" for k in range(36)]
    path.write_text("\n".join(["INPUT:image\tOUTPUT:result\tGOLDEN:result\tASSIGNMENT:worker_id", *rows]) + "\n")
    page = Page(path)
    assert page.error == ""
    assert "of the gold labels" in page.regions["verdict"]
    assert "Accuracy [95% CI]" in page.sections["annotators"]
    assert "concordant crowd export.tsv --method dawid-skene --gold export.tsv" in page.regions["download"]
