"""What is written is read back the same, or the writer says what the format cannot carry."""

from __future__ import annotations

import io
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import concordant as cc
from concordant.errors import InputError

LABELS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=8)
PLAIN = st.text("abcdefgh0123-_é", min_size=1, max_size=6)
TABLES = ("csv", "tsv", "jsonl", "json", "parquet", "csv.gz", "tsv.xz", "jsonl.bz2")


@st.composite
def preferences(draw: Any, labels: Any = LABELS, kind: str | None = None) -> cc.Preferences:
    """Draw preferences without candidates that nobody ranked, which tables cannot carry."""
    pool = draw(st.lists(labels, min_size=2, max_size=6, unique=True))
    n = draw(st.integers(1, 6))
    kind = kind or draw(st.sampled_from(["order", "pairs", "rank", "rating", "open"]))
    sizes = [2 if kind == "pairs" else draw(st.integers(1, len(pool))) for _ in range(n)]
    item = np.concatenate([draw(st.permutations(range(len(pool))))[:size] for size in sizes])
    tiers = [np.sort(draw(st.lists(st.integers(0, 3), min_size=size, max_size=size))) for size in sizes]
    tier = np.concatenate(tiers)
    parts: dict[str, Any] = {"indptr": np.concatenate([[0], np.cumsum(sizes)]), "tier": tier}
    if kind in ("rank", "rating"):
        step = draw(st.floats(0.1, 3)) if kind == "rating" else 1.0
        parts |= {"value": (tier + 1.0) * (1 if kind == "rank" else -step), "scale": kind}
    if kind == "open":
        parts["open"] = np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    for one, many in (("agent", "agents"), ("instance", "instances")):
        if draw(st.booleans()):
            names = draw(st.lists(labels, min_size=1, max_size=n, unique=True))
            codes = draw(st.lists(st.integers(0, len(names) - 1), min_size=n, max_size=n))
            used = sorted(set(codes))
            parts |= {many: [names[k] for k in used], one: [used.index(code) for code in codes]}
    if draw(st.booleans()):
        parts["weight"] = draw(st.lists(st.floats(0.25, 1e6), min_size=n, max_size=n))
    used = sorted(set(item.tolist()))
    parts |= {"items": [pool[k] for k in used], "item": [used.index(k) for k in item.tolist()]}
    return cc.Preferences(**parts)


def round_trip(data: Any, ending: str, **options: Any) -> tuple[cc.Preferences, list[str]]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"data.{ending}"
        notes = cc.write(data, path, **options)
        return cc.read(path), notes


@pytest.mark.parametrize("ending", TABLES)
@settings(max_examples=20)
@given(prefs=preferences())
def test_tables_keep_preferences_whole(ending: str, prefs: cc.Preferences) -> None:
    back, notes = round_trip(prefs, ending)
    assert notes == []
    assert back == prefs


@settings(max_examples=20)
@given(prefs=preferences(PLAIN))
def test_zstd_keeps_preferences_whole(prefs: cc.Preferences) -> None:
    assert round_trip(prefs, "csv.zst")[0] == prefs


@settings(max_examples=40)
@given(prefs=preferences(PLAIN, "rating"))
def test_runs_keep_order_ties_and_scores(prefs: cc.Preferences) -> None:
    speaker = np.zeros(prefs.n_ballots, int) if prefs.agent is None else prefs.agent
    key = set(zip(speaker.tolist(), prefs.instance_of_ballot.tolist(), strict=True))
    if len(key) < prefs.n_ballots or (prefs.weight != 1).any():
        with pytest.raises(InputError, match=r"A run (holds one ballot|has no weights)"):
            round_trip(prefs, "run")
        return
    back, notes = round_trip(prefs, "run")
    assert back.value is not None
    assert prefs.value is not None
    np.testing.assert_array_equal(back.value, prefs.value)
    assert back.items.take(back.item) == prefs.items.take(prefs.item)
    if prefs.agents is not None and prefs.instances is not None:
        assert notes == []
        assert back == prefs.replace(form="rankings")  # a run is a ranked list, whatever its scores mean
    if prefs.instances is None:
        assert notes == ["the only instance has no name, its topic is written as 1"]


@pytest.mark.parametrize("layout", ["places", "ranks", "rankings"])
def test_a_layout_can_be_asked_for(layout: str, tmp_path: Path) -> None:
    prefs = cc.Preferences.from_rankings([["a", "b", "c"], ["b", "a"]], weight=[2, 3], agent=["u", "v"])
    cc.write(prefs, tmp_path / "x.csv", layout=layout)
    back = cc.read(tmp_path / "x.csv")
    assert back.items.take(back.item) == ["a", "b", "c", "b", "a"]
    assert back.tier.tolist() == [0, 1, 2, 0, 1]
    assert back.weight.tolist() == [2, 3]


def test_a_layout_that_cannot_carry_the_ballots_is_refused(tmp_path: Path) -> None:
    prefs = cc.Preferences.from_rankings([["a", ["b", "c"]]])
    for layout, said in (("places", "Ties"), ("pairs", "two items"), ("ratings", "no ratings"), ("x", "not written")):
        with pytest.raises(InputError, match=said):
            cc.write(prefs, tmp_path / "x.csv", layout=layout)
    assert list(tmp_path.iterdir()) == []


def test_what_is_left_behind_is_said(tmp_path: Path) -> None:
    prefs = cc.Preferences.from_rankings([["a", "b", "c"]], candidates=["a", "b", "c", "d"])
    assert cc.write(prefs, tmp_path / "x.csv") == ["1 candidates that nobody ranked are not written"]
    ranks = cc.Preferences.from_ranks(["u", "u"], ["a", "b"], [1, 5])
    assert cc.write(ranks, tmp_path / "x.csv", layout="rankings") == ["the ranks behind the order are not written"]


def test_labels_no_file_can_keep_are_refused(tmp_path: Path) -> None:
    for label in ("", "a\0b", "\ud800"):
        with pytest.raises(InputError, match="rename it before writing"):
            cc.write(cc.Preferences.from_rankings([[label, "b"]]), tmp_path / "x.csv")
    with pytest.raises(InputError, match="holds white space, which this format cannot carry"):
        cc.write(cc.Preferences.from_ratings(["u"], ["a b"], [1]), tmp_path / "x.run")


def test_a_ranking_is_written_as_table_and_run(tmp_path: Path) -> None:
    ranking = cc.rank(cc.Preferences.from_rankings([["a", "b", "c"], ["b", "a", "c"]]), "borda")
    cc.write(ranking, tmp_path / "x.csv")
    assert (tmp_path / "x.csv").read_text().splitlines()[0] == "rank,item,score"
    back = cc.read(tmp_path / "x.csv")
    assert back.items.take(back.item) == ranking.items
    assert cc.write(ranking, tmp_path / "x.run", tag="mine") == [
        "the only instance has no name, its topic is written as 1"
    ]
    assert (tmp_path / "x.run").read_text().splitlines()[0].split()[3:] == ["1", str(ranking.scores[0]), "mine"]
    assert cc.read(tmp_path / "x.run").tier.tolist() == [0, 0, 1]


@pytest.mark.parametrize("ending", ["qrels", "csv", "parquet", "jsonl.gz"])
def test_labels_survive(tmp_path: Path, ending: str) -> None:
    labels = cc.Labels(["q1", "q1", "q2"], ["a", "b", "a"], [2, 0, 1])
    cc.write(labels, tmp_path / f"x.{ending}")
    back = cc.read_labels(tmp_path / f"x.{ending}")
    assert back.instances == labels.instances
    assert back.items.take(back.item) == ["a", "b", "a"]
    assert back.label.tolist() == [2, 0, 1]


def test_fractional_labels_do_not_fit_qrels(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="A label is no whole number"):
        cc.write(cc.Labels(None, ["a"], [0.5]), tmp_path / "x.qrels")


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.csv"
    path.write_text("precious")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(InputError, match=r"cannot be written \(No space left on device\)"):
        cc.write(cc.Preferences.from_rankings([["a", "b"]]), path)
    assert path.read_text() == "precious"
    assert list(tmp_path.iterdir()) == [path]


def test_standard_output_and_open_files_are_written(capfdbinary: Any) -> None:
    prefs = cc.Preferences.from_pairs(["a"], ["b"])
    cc.write(prefs, "-")
    assert capfdbinary.readouterr().out == b"winner,loser\na,b\n"
    binary, text = io.BytesIO(), io.StringIO()
    cc.write(prefs, binary, format="jsonl")
    cc.write(prefs, text, format="tsv")
    assert binary.getvalue() == b'{"winner": "a", "loser": "b"}\n'
    assert text.getvalue() == "winner\tloser\na\tb\n"


def test_a_name_without_a_format_is_refused(tmp_path: Path) -> None:
    prefs = cc.Preferences.from_pairs(["a"], ["b"])
    with pytest.raises(InputError, match="does not say its format"):
        cc.write(prefs, tmp_path / "x.txt")
    with pytest.raises(InputError, match="The format letor is not written"):
        cc.write(prefs, tmp_path / "x.letor")
    with pytest.raises(InputError, match="cannot be written"):
        cc.write(prefs, tmp_path / "no" / "folder.csv")
