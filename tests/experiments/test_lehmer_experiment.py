"""The Lehmer experiment runs in small, and shows what the paper and the theorems say."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from concordant.cli.__main__ import cli
from concordant.experiments import lehmer


def test_no_method_beats_the_optimum_and_the_code_is_near_it(monkeypatch):
    monkeypatch.setattr(lehmer, "LAMBDAS", (0.5, 1.0))
    rows = {row["method"]: row for row in lehmer.run(["simulation"], repeats=3)["simulation"]}
    assert all(row["0.5"] >= rows["kemeny"]["0.5"] for row in rows.values())
    assert rows["lehmer-mode"]["1.0"] < 1.1


def test_the_centre_is_found_inside_the_range_of_the_theorems_and_not_outside(monkeypatch):
    monkeypatch.setattr(lehmer, "GROWTH", (20, 1000))
    monkeypatch.setattr(lehmer, "RECOVERY_LAMBDAS", (0.3, 1.0))
    rows = lehmer.run(["recovery"], repeats=10)["recovery"]
    assert {row["ties"] for row in rows} == {"no", "yes"}
    for row in rows:
        assert (row["1000"] > 0.85) if row["in range"] else (row["1000"] < 0.6)


def test_with_endless_rankings_with_ties_the_median_needs_more_agreement_than_the_mode():
    found = {
        statistic: [lehmer.is_recovered_in_the_end(phi, statistic) for phi in (0.2, 0.45, 0.7)]
        for statistic in ("mode", "median")
    }
    assert found == {"mode": [True, True, True], "median": [True, True, False]}


@pytest.mark.data
def test_preflib_elections_give_a_table(monkeypatch, data_folder):
    some = lehmer.source.preflib(data_folder)[::150]
    monkeypatch.setattr(lehmer.source, "preflib", lambda _: some)
    rows = {row["method"]: row for row in lehmer.run(["preflib"], data_folder)["preflib"]}
    assert rows["local-search"]["mean"] == pytest.approx(1, abs=1e-3)
    assert rows["lehmer-median-outside-in"]["mean"] < rows["lehmer-median-borda"]["mean"]
    assert rows["lehmer-mode"]["elections"] == len(some)


def test_tables_and_pictures_are_written(monkeypatch, tmp_path):
    monkeypatch.setattr(lehmer, "LAMBDAS", (0.5,))
    monkeypatch.setattr(lehmer, "GROWTH", (20,))
    monkeypatch.setattr(lehmer, "RECOVERY_LAMBDAS", (1.0,))
    page, plots = tmp_path / "lehmer.md", tmp_path / "plots"
    arguments = ["reproduce", "lehmer", "--part", "simulation", "--part", "recovery", "--repeats", "1"]
    result = CliRunner().invoke(cli, [*arguments, "--markdown", str(page), "--plots", str(plots), "--json"])
    assert result.exit_code == 0, result.output
    shown = json.loads(result.stdout)
    assert {"simulation", "recovery", "claims"} == set(shown)
    assert "| lehmer-mode |" in page.read_text()
    assert len(list(plots.glob("*.svg"))) == 2


def test_an_unknown_part_is_refused():
    result = CliRunner().invoke(cli, ["reproduce", "lehmer", "--part", "moon"])
    assert result.exit_code == 2
    assert "There is no part 'moon'" in result.output


@pytest.mark.data
def test_the_optimum_of_sushi_is_proven(data_folder):
    import concordant as cc
    from concordant.experiments._lehmer_data import sushi

    prefs = sushi(data_folder)
    ranking = cc.rank(prefs, "kemeny")
    assert prefs.n_ballots == 5000
    assert ranking.fit["proven"] == 1
    assert ranking.fit["total_distance"] == cc.rank(prefs, "local-search").fit["total_distance"]


@pytest.mark.data
@pytest.mark.parametrize(("part", "n_items"), [("sushi", 10), ("jester", 100), ("movielens", 50)])
def test_real_data_gives_a_table(part, n_items, monkeypatch, data_folder):
    monkeypatch.setattr(lehmer, "SAMPLES", (50,))
    rows = lehmer.run([part], data_folder, repeats=1)[part]
    assert all(0 < row["50"] < n_items**2 / 2 for row in rows)
    assert min(row["ratio"] for row in rows) == 1
    verdicts = {claim.claim: claim.verdict for claim in lehmer.claims({part: rows})}
    assert verdicts["the footrule is a 2-approximation and Borda a 5-approximation"] == "holds"
    assert verdicts["FASLP-Pivot always has the smallest distance"] == "not run"
