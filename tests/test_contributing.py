"""The method shown in CONTRIBUTING.md is a whole file and works."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import concordant as cc
from concordant.params import params_of

GUIDE = Path(__file__).resolve().parent.parent / "CONTRIBUTING.md"


@pytest.fixture(scope="module")
def dowdall(tmp_path_factory: pytest.TempPathFactory) -> Iterator[type[cc.Method]]:
    shown = re.search(r"runs this file -->\n```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    assert shown is not None
    path = tmp_path_factory.mktemp("method") / "dowdall.py"
    path.write_text(shown[1], encoding="utf-8")
    spec = importlib.util.spec_from_file_location("dowdall", path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["dowdall"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module.Dowdall
    del sys.modules["dowdall"]


def test_the_method_of_the_guide_ranks(dowdall: type[cc.Method]) -> None:
    prefs = cc.Preferences.from_rankings([["a", "b", "c"], ["b", "a", "c"], ["a", "c", "b"]])
    ranking = dowdall().rank(prefs)
    assert ranking.method == "dowdall"
    assert ranking.items == ["a", "b", "c"]
    assert ranking.scores.tolist() == pytest.approx([2.5, 1 / 2 + 1 + 1 / 3, 1 / 3 + 1 / 3 + 1 / 2])


def test_its_options_come_from_the_file(dowdall: type[cc.Method]) -> None:
    (steepness,) = params_of(dowdall)
    assert steepness.option == "--steepness"
    with pytest.raises(cc.ParameterError, match="steepness=-1"):
        dowdall(steepness=-1.0)


def test_it_keeps_the_laws(dowdall: type[cc.Method]) -> None:
    laws = pytest.importorskip("concordant.laws")
    assert laws.check(dowdall) == []
