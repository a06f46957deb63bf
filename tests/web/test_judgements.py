"""Relevance judgements that are dropped together with runs become the labels of the page."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conftest import ROOT

from concordant.web.answers import Answerer

pytestmark = pytest.mark.once


def test_judgements_among_dropped_files_are_the_labels() -> None:
    seen: dict[str, Any] = {}
    names = ("qrels.txt", "runs/engine1.run", "runs/engine2.run")
    files = [str(ROOT / "examples" / name) for name in names]
    settings = {"view": "evaluate", "method": "rrf"}
    answer = Answerer(seen.update).answer(  # type: ignore[arg-type]
        {"do": "show", "kind": "", "title": "", "files": files, "labels": None, "settings": settings}
    )
    assert answer["error"] is None
    assert "qrels.txt contains relevance judgements and is not ranked" in seen["understood"]
    assert "over 12 judged instances" in seen["results"]
    assert "cc.read_labels" in answer["python"]
