"""Relevance judgements dropped together with runs, and gold labels with answers, become the labels of the page."""

from __future__ import annotations

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
