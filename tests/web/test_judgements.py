"""Relevance judgements that are dropped together with runs become the labels of the page."""

from __future__ import annotations

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
