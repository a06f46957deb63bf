"""What CONTRIBUTING.md shows are whole files, and they work."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import concordant as cc
from concordant import registry
from concordant.params import params_of

GUIDE = Path(__file__).resolve().parents[2] / "CONTRIBUTING.md"


SHOWN = re.compile(r"<!-- file: (\S+)/(\w+)\.py -->\n```python\n(.*?)```", re.DOTALL)
FILES = {stem: (folder, text) for folder, stem, text in SHOWN.findall(GUIDE.read_text(encoding="utf-8"))}


def shown(stem: str, folder: Path) -> Iterator[Any]:
    """Yield what a file shown in the guide holds under its name, found as the registry finds it."""
    kind = next(one for one in registry.KINDS.values() if FILES[stem][0].split("/")[0] == one.home)
    path = folder / f"{stem}.py"
    path.write_text(FILES[stem][1], encoding="utf-8")
    yield kind.entry_of(loaded(path), stem)
    del sys.modules[stem]


def loaded(path: Path) -> Any:
    """Return the module of a file."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def dowdall(tmp_path_factory: pytest.TempPathFactory) -> Iterator[type[cc.Method]]:
    yield from shown("dowdall", tmp_path_factory.mktemp("method"))


@pytest.fixture
def entry(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    yield from shown(request.param, tmp_path)


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


@pytest.mark.parametrize("entry", ["squared_error"], indirect=True)
def test_the_loss_of_the_guide_has_the_gradient_it_says(entry: Any) -> None:
    import numpy as np

    from concordant.losses.queries import Queries

    queries = Queries.from_rows(np.array([2.0, 0.0, 1.0]), np.array([0, 0, 1]), np.array([2.0, 2.0, 1.0]))
    scores, step = np.array([0.5, 0.2, -1.0]), 1e-6
    value, gradient, _ = entry().evaluate(scores, queries)
    for k in range(3):
        moved = entry().evaluate(scores + step * (np.arange(3) == k), queries).value
        assert (moved - value) / step == pytest.approx(gradient[k], abs=1e-4)


@pytest.mark.parametrize("entry", ["top_first"], indirect=True)
def test_the_learner_of_the_guide_learns(entry: Any) -> None:
    scores = entry().fit([[0.1], [0.9], [0.2], [0.8]], [0, 1, 0, 1], qid=[1, 1, 2, 2]).predict([[0.3], [0.7]])
    assert scores[1] > scores[0]


@pytest.mark.parametrize("entry", ["hamming"], indirect=True)
def test_the_metric_of_the_guide_compares_and_is_named_like_its_file(entry: Any) -> None:
    assert entry().compare([1, 2, 3], [1, 3, 2]) == 2
    assert str(entry()) == "hamming"


@pytest.mark.parametrize("entry", ["impartial_culture"], indirect=True)
def test_the_simulator_of_the_guide_draws(entry: Any) -> None:
    drawn = entry(["a", "b", "c"], 50, seed=1)
    assert (drawn.n_ballots, drawn.n_items) == (50, 3)
    assert drawn == entry(["a", "b", "c"], 50, seed=1)


def test_the_command_of_the_guide_runs_and_its_summary_is_read_from_the_file(tmp_path: Path) -> None:
    from click.testing import CliRunner

    from concordant.cli.__main__ import summary

    path = tmp_path / "first.py"
    path.write_text(FILES["first"][1], encoding="utf-8")
    command = loaded(path).command
    del sys.modules["first"]
    votes = GUIDE.parent / "examples" / "election.csv"
    found = CliRunner().invoke(command, [str(votes), "--method", "borda", "--upper", "--json"])
    assert json.loads(found.stdout) == [name.upper() for name in cc.rank(str(votes), "borda").items[:1]]
    assert summary(str(path)) == command.help == "Print the best item of every instance."
    assert "Columns:" in CliRunner().invoke(command, ["--help"]).output


@pytest.mark.parametrize("kind", registry.KINDS.values(), ids=list(registry.KINDS))
def test_every_kind_is_listed_with_a_sentence_and_told_in_the_guide(kind: registry.Kind[Any]) -> None:
    rows = kind.listing()
    assert [row.name for row in rows] == list(dict.fromkeys(row.name for row in rows))
    assert all(row.summary and row.entry is not None for row in rows)
    assert f"`{kind.home}/" in GUIDE.read_text(encoding="utf-8")
    with pytest.raises(cc.UnknownNameError, match=f"There is no {kind.word} 'nonsense'.*`concordant {kind.plural}`"):
        kind.find("nonsense")
