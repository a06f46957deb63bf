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
from concordant.io import list_formats

LABELS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=8)
PLAIN = st.text("abcdefgh0123-_é", min_size=1, max_size=6)
TABLES = ("csv", "tsv", "jsonl", "json", "parquet", "csv.gz", "tsv.xz", "jsonl.bz2")


@st.composite
def preferences(draw: Any, labels: Any = LABELS, kind: str | None = None) -> cc.Preferences:
    """Draw preferences of any kind, some with candidates that nobody ranked and with who was first."""
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
    if kind == "pairs":
        parts["form"] = "pairs"
        if draw(st.booleans()):
            first = np.array(draw(st.lists(st.integers(0, 1), min_size=n, max_size=n)))
            parts["shown"] = np.stack([first, 1 - first], 1).reshape(-1)
    used = sorted(set(item.tolist()))
    if draw(st.booleans()):  # all items are candidates of every instance
        used, m = list(range(len(pool))), len(parts.get("instances", [""]))
        parts |= {"slot_ptr": np.arange(m + 1) * len(pool), "slot_item": np.tile(used, m)}
    parts |= {"items": [pool[k] for k in used], "item": [used.index(k) for k in item.tolist()]}
    return cc.Preferences(**parts)


@st.composite
def odd_preferences(draw: Any) -> cc.Preferences:
    """Draw preferences with something that few formats hold."""
    prefs: cc.Preferences = draw(preferences(PLAIN))
    n = prefs.n_ballots
    # The place of a team says no more than the order, so ranks are not kept as values.
    order = {"value": None, "scale": None} if prefs.scale == "rank" else {}
    changes: list[dict[str, Any]] = [
        {"time": np.arange(float(n))},
        {"covariate": np.arange(2.0 * len(prefs.item)).reshape(-1, 2), "covariates": ("x", "y")},
        {"team": np.arange(len(prefs.item)), "form": None, **order},
        {"shown": np.arange(len(prefs.item)) % 2},
        {"meta": {"title": "an election"}},
        {"agents": ["u", "v", "w"], "agent": np.arange(n) % 2},
        {"items": [*prefs.items, "candidate nowhere"]},
        {"instances": ["p", "q"], "instance": np.zeros(n, int), "slot_ptr": [0, prefs.n_items, prefs.n_items]}
        | {"slot_item": np.arange(prefs.n_items)},
        {"indptr": [*prefs.indptr, len(prefs.item)], "form": None}
        | dict.fromkeys(("weight", "agents", "agent", "instances", "instance", "open", "slot_ptr", "slot_item")),
    ]
    return prefs.replace(**draw(st.sampled_from(changes)))


def round_trip(data: Any, ending: str, **options: Any) -> tuple[cc.Preferences, list[str]]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"data.{ending}"
        notes = cc.write(data, path, **options)
        return cc.read(path, **covariates_of(data, path)), notes


def covariates_of(data: Any, path: Path) -> dict[str, Any]:
    """Return the option that names the covariates of a table, which are read only where somebody asks for them."""
    if getattr(data, "covariate", None) is None or path.suffix in (".run", ".toi"):
        return {}
    sides = ("winner", "loser") if data.shown is None else ("left", "right")
    if data.form == "pairs" and data.value is None and data.open is None:
        return {"covariate": [",".join(f"{side}_{name}" for side in sides) for name in data.covariates]}
    return {"covariate": list(data.covariates)} if data.value is not None else {}


@pytest.mark.parametrize("ending", TABLES)
@settings(max_examples=20)
@given(prefs=preferences())
def test_tables_keep_preferences_whole(ending: str, prefs: cc.Preferences) -> None:
    back, notes = round_trip(prefs, ending)
    assert notes == []
    assert back == prefs


WRITTEN = [one.name for one in list_formats() if one.can_write and "preferences" in one.reads]


@pytest.mark.parametrize("form", WRITTEN)
@settings(max_examples=20)
@given(prefs=st.one_of(preferences(PLAIN), odd_preferences()))
def test_what_is_written_is_read_back_or_a_notice_names_what_is_lost(form: str, prefs: cc.Preferences) -> None:
    try:
        back, notes = round_trip(prefs, {"trec": "run", "preflib": "toi"}.get(form, form))
    except InputError as refused:
        assert ":" in str(refused)  # noqa: PT017
        return
    assert back == prefs or notes


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
        with pytest.raises(InputError, match=r"A run (has one ballot|cannot store weights)"):
            round_trip(prefs, "run")
        return
    back, notes = round_trip(prefs, "run")
    assert back.value is not None
    assert prefs.value is not None
    np.testing.assert_array_equal(back.value, prefs.value)
    assert back.items.take(back.item) == prefs.items.take(prefs.item)
    ranked = np.zeros(prefs.n_slots, bool)
    ranked[prefs.entry_slot] = True
    assert any("unranked candidates" in note for note in notes) == (not ranked.all())
    if prefs.agents is not None and prefs.instances is not None and ranked.all():
        assert notes == []
        assert back == prefs.replace(form="rankings")  # a run is a ranked list, whatever its scores mean
    assert ("the only instance has no name; its topic is written as 1" in notes) == (prefs.instances is None)


def test_a_run_keeps_ranks_with_gaps(tmp_path: Path) -> None:
    prefs = cc.Preferences.from_ranks(["u", "u", "v"], ["a", "b", "a"], [2, 17, 5], instance=["q"] * 3)
    assert cc.write(prefs, tmp_path / "x.run") == ["a run needs scores: the negative rank is written"]
    assert (tmp_path / "x.run").read_text() == "q Q0 a 2 -2.0 u\nq Q0 b 17 -17.0 u\nq Q0 a 5 -5.0 v\n"
    assert cc.read(tmp_path / "x.run") == prefs


def test_a_run_whose_rank_numbers_are_not_kept_says_so(tmp_path: Path) -> None:
    for ranks, is_lost in (((1, 2), False), ((0, 1), False), ((3, 9), True)):
        (tmp_path / "x.run").write_text("".join(f"q Q0 {d} {r} {9 - r} t\n" for d, r in zip("ab", ranks, strict=True)))
        said = any("its numbers are not kept" in note for note in cc.read(tmp_path / "x.run").notes)
        assert said == is_lost


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_a_candidate_that_nobody_ranked_is_a_row_with_an_empty_rank(tmp_path: Path, ending: str) -> None:
    text = "1 qid:7 1:3 2:NULL # docid = a\n0 qid:7 1:NULL 2:2 # docid = b\n0 qid:8 1:NULL 2:NULL # docid = c\n"
    (tmp_path / "lists.letor").write_text(text)
    prefs = cc.read(tmp_path / "lists.letor")
    assert cc.write(prefs, tmp_path / f"x.{ending}") == []
    back = cc.read(tmp_path / f"x.{ending}")
    assert back == prefs
    assert "1 row without a rank: unranked candidates" in back.notes
    if ending == "csv":
        assert (tmp_path / "x.csv").read_text() == "agent,instance,item,rank\n1,7,a,3\n2,7,b,2\n,8,c,\n"


def test_an_empty_rank_of_a_named_agent_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("agent,item,rank\nu,a,1\nu,b,\n")
    with pytest.raises(InputError, match="line 3: the rank is missing"):
        cc.read(tmp_path / "x.csv")


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
    for layout, said in (("places", "Ties"), ("pairs", "two items"), ("ratings", "no ratings"), ("x", "cannot be")):
        with pytest.raises(InputError, match=said):
            cc.write(prefs, tmp_path / "x.csv", layout=layout)
    assert list(tmp_path.iterdir()) == []


def test_what_is_left_behind_is_said(tmp_path: Path) -> None:
    prefs = cc.Preferences.from_rankings([["a", "b", "c"]], candidates=["a", "b", "c", "d"])
    assert "unranked candidates not written: 1" in cc.write(prefs, tmp_path / "x.run")
    ranks = cc.Preferences.from_ranks(["u", "u"], ["a", "b"], [1, 5])
    assert cc.write(ranks, tmp_path / "x.csv", layout="rankings") == ["the ranks that imply the order are not written"]


def test_labels_no_file_can_keep_are_refused(tmp_path: Path) -> None:
    for label in ("", "a\0b", "\ud800"):
        with pytest.raises(InputError, match="rename it before writing"):
            cc.write(cc.Preferences.from_rankings([[label, "b"]]), tmp_path / "x.csv")
    with pytest.raises(InputError, match="contains white space, which this format cannot represent"):
        cc.write(cc.Preferences.from_ratings(["u"], ["a b"], [1]), tmp_path / "x.run")


def test_a_ranking_is_written_as_table_and_run(tmp_path: Path) -> None:
    ranking = cc.rank(cc.Preferences.from_rankings([["a", "b", "c"], ["b", "a", "c"]]), "borda")
    cc.write(ranking, tmp_path / "x.csv")
    assert (tmp_path / "x.csv").read_text().splitlines()[0] == "rank,item,score"
    back = cc.read(tmp_path / "x.csv")
    assert back.items.take(back.item) == ranking.items
    assert cc.write(ranking, tmp_path / "x.run", tag="mine") == [
        "the only instance has no name; its topic is written as 1"
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
    with pytest.raises(InputError, match="Labels in qrels must be whole numbers"):
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
    with pytest.raises(InputError, match="does not determine its format"):
        cc.write(prefs, tmp_path / "x.txt")
    with pytest.raises(InputError, match="The format letor cannot be written"):
        cc.write(prefs, tmp_path / "x.letor")
    with pytest.raises(InputError, match="cannot be written"):
        cc.write(prefs, tmp_path / "no" / "folder.csv")
