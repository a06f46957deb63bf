"""Every benchmark runs, at a size that takes no time, and its answers agree with a plain computation."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("resource", reason="the benchmarks measure CPU time the POSIX way")

from benchmarks import coverage, priors
from benchmarks.__main__ import main
from benchmarks.child import SEED, measure
from benchmarks.core import (
    Curve,
    Inputs,
    LeftOutError,
    Task,
    Work,
    curves,
    families,
    find,
    is_same_ranking,
    rival_task,
    select,
    select_curves,
)
from benchmarks.runner import growth, jump
from benchmarks.works.users.growth import KINDS, WITHOUT

from concordant.registry import METHODS

pytestmark = pytest.mark.once
WORKS = [work for works in families().values() for work in works]
CURVES = [curve for given in curves().values() for curve in given]
PAIRS = [(work, rival) for work in WORKS for rival in work.rivals]


def inputs_of(work: Work) -> Inputs:
    """Make the inputs, where the library that holds them is there."""
    try:
        return work.make(work.sizes["tiny"], SEED)
    except ModuleNotFoundError as error:
        pytest.skip(f"{error.name} is not installed")


@pytest.mark.filterwarnings("default:unsafe cast")  # numba's, where ranx compiles
@pytest.mark.parametrize(("work", "rival"), PAIRS, ids=lambda value: getattr(value, "name", value))
def test_answers_agree(work: Work, rival: str) -> None:
    inputs = inputs_of(work)
    try:
        theirs = rival_task(rival, work, inputs)
    except LeftOutError as error:
        pytest.skip(str(error))
    ours = work.ours(inputs)
    assert work.agree is not None
    assert work.agree(ours.answer(ours.call()), theirs.answer(theirs.call()))


@pytest.mark.parametrize("work", [work for work in WORKS if not work.rivals], ids=lambda work: work.name)
def test_works_without_rivals_run(work: Work) -> None:
    task = work.ours(inputs_of(work))
    assert all(np.isfinite(column).all() for column in task.answer(task.call()).values())


def test_the_command_prints_a_row_and_writes_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "figures.json"
    code = main(["fuse-short", "--size", "tiny", "--rivals", "plain_python", "--json", str(path)])
    rows = json.loads(path.read_text(encoding="utf-8"))["rows"]
    assert code == 0
    assert [row["rival"] for row in rows] == ["plain_python", "budget"]
    assert rows[0]["agree"] is True
    assert rows[0]["ours_seconds"] > 0
    assert "plain_python" in capsys.readouterr().out


def test_first_calls_and_growth_are_measured_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "figures.json"
    names = ["users-fuse-3x10", "growth-borda-items"]
    assert main([*names, "--size", "tiny", "--rivals", "plain_python", "--json", str(path)]) == 0
    found = json.loads(path.read_text(encoding="utf-8"))
    assert [(row["call"], row["rival"]) for row in found["rows"]] == [
        ("warm", "plain_python"),
        ("warm", "budget"),
        ("first", "plain_python"),
    ]
    assert all(row["ours_seconds"] > 0 and row["ours_memory"] > 0 for row in found["rows"])
    assert [point["at"] for point in found["curves"][0]["points"]] == [6, 12, 24]
    assert "growth-borda-items" in capsys.readouterr().out


@pytest.mark.parametrize("curve", CURVES, ids=lambda curve: curve.name)
def test_curves_run(curve: Curve) -> None:
    for size in curve.sizes["tiny"]:
        curve.ours(curve.make(size, SEED)).call()


def test_curves_rise_along_their_axis() -> None:
    for curve in CURVES:
        assert set(curve.sizes) == {"tiny", "small", "full"}
        for along in curve.sizes.values():
            at = [size[curve.axis] for size in along]
            assert at == sorted(set(at))
            assert len(at) >= 3


def test_the_growth_of_every_method_is_declared_or_it_is_said_why_not() -> None:
    declared = [method for kind in KINDS for method in kind.methods]
    unsupervised = [name for name in METHODS.names() if "labels" not in METHODS.find(name).needs]
    assert sorted([*declared, *WITHOUT]) == sorted(unsupervised)


def test_exponents_and_jumps_are_read_off_the_costs() -> None:
    at = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0])
    assert growth(at, 3 * at**2) == pytest.approx(2)
    assert jump(at, 3 * at**2) == pytest.approx(1)
    assert jump(at[:3], at[:3]) is None
    cliff = np.where(at < 5, 1.0, 10.0) * at
    assert jump(at, cliff) > 2


def test_first_calls_start_light() -> None:
    code = "import sys, benchmarks.child; from benchmarks.core import family; family('users'); "
    code += "import benchmarks.rivals.plain_python; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[2], check=False).returncode == 0


def test_an_unknown_name_is_refused_with_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["nonsense"])
    assert "rrf-arrow" in capsys.readouterr().err


def test_the_list_names_every_work(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--list"])
    listed = capsys.readouterr().out
    assert all(one.name in listed for one in (*WORKS, *CURVES))


def test_a_family_stands_for_its_works() -> None:
    assert [work.name for work in select(["rrf", "kendall", "rrf"])] == ["rrf", "rrf-arrow", "kendall", "kendall-long"]
    assert select_curves(["users"]) == CURVES
    assert select(["curve-plackett-luce"]) == []


def test_a_missing_library_is_left_out_with_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pytrec_eval", None)
    work = find("retrieval")
    with pytest.raises(LeftOutError, match="pytrec_eval is not installed"):
        rival_task("pytrec_eval", work, work.make(work.sizes["tiny"], SEED))


def test_every_size_is_declared() -> None:
    assert all(set(work.sizes) == {"tiny", "small", "full"} for work in WORKS)


def test_the_same_seed_makes_the_same_inputs() -> None:
    work = find("borda")
    assert work.make(work.sizes["tiny"], 5) == work.make(work.sizes["tiny"], 5)


def test_rankings_that_differ_only_inside_ties_agree() -> None:
    ours = {"instance": np.zeros(3), "item": np.array([1, 2, 3]), "score": np.array([2.0, 1.0, 1.0])}
    theirs = {"instance": np.zeros(3), "item": np.array([1, 3, 2]), "score": np.array([2.0, 1.0, 1.0])}
    wrong = {"instance": np.zeros(3), "item": np.array([2, 1, 3]), "score": np.array([2.0, 1.0, 1.0])}
    assert is_same_ranking(ours, theirs)
    assert not is_same_ranking(ours, wrong)


def test_a_measurement_has_five_samples() -> None:
    figures, result = measure(Task(lambda: sum(range(1000))))
    assert result == 499500
    assert len(figures["samples"]) == 5


@pytest.mark.parametrize("name", coverage.CASES)
def test_intervals_hold_the_truth_as_often_as_they_say(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coverage, "N_USERS", 4000)
    found, alone = coverage.simulate(name, 40)
    assert 0.9 < found.mean() < 0.99
    if name in ("rankings", "ratings"):
        assert alone.mean() < 0.85  # pairs of one ballot are not independent


def test_the_chosen_prior_foretells_as_well_as_the_best_fixed_one() -> None:
    found, chosen = priors.measure("davidson", priors.arena(None), 2)
    assert all(0.3 < prior < 30 for prior in chosen)
    assert found[-1].mean() > found[:-1].mean(axis=1).max() - 0.001
