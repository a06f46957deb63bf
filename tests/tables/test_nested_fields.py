"""Nested fields by dotted names, in files and frames."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import concordant as cc
from concordant.errors import InputError
from concordant.tables import nested

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

MODELS = ("x", "y", "z")
WINNERS = ("model_a", "model_b", "tie", "model_a", "both_bad")
ROWS: list[dict[str, Any]] = [
    {
        "id": k,
        "model_a": MODELS[k % 3],
        "model_b": MODELS[(k + 1 + k // 3 % 2) % 3],
        "winner": WINNERS[k % 5],
        "evaluation_session_id": f"s{k % 4}",
        "conv_metadata": {
            "sum_assistant_a_tokens": 10 * k,
            "sum_assistant_b_tokens": 7 * k + 1,
            "header_count_a": {"h1": k % 2, "h2": k % 3},
            "header_count_b": {"h1": 1, "h2": 0},
        },
        "category_tag": {"math_v0.1": {"math": k % 3 == 0}, "math_v0": {"1": {"math": "wrong"}}},
        "when": {"day": f"2024-01-{k + 1:02}"},
    }
    for k in range(12)
]
TOKENS = "conv_metadata.sum_assistant_a_tokens,conv_metadata.sum_assistant_b_tokens"
HEADERS = "conv_metadata.header_count_a,conv_metadata.header_count_b"
MATH = "category_tag.math_v0.1.math"


def _parquet(path: Path) -> None:
    import pyarrow.parquet

    pyarrow.parquet.write_table(pa.Table.from_pylist(ROWS), path)


def _arrow(path: Path) -> None:
    import pyarrow.feather

    pyarrow.feather.write_feather(pa.Table.from_pylist(ROWS), path, compression="uncompressed")


def _csv(path: Path) -> None:
    texts = [{key: json.dumps(cell) if isinstance(cell, dict) else cell for key, cell in row.items()} for row in ROWS]
    pd.DataFrame(texts).to_csv(path, index=False)


WRITERS = {
    "votes.jsonl": lambda path: path.write_text("\n".join(map(json.dumps, ROWS)), encoding="utf-8"),
    "votes.json": lambda path: path.write_text(json.dumps(ROWS, indent=1), encoding="utf-8"),
    "votes.parquet": _parquet,
    "votes.arrow": _arrow,
    "votes.csv": _csv,
}
FRAMES = {
    "polars": lambda: pl.DataFrame(ROWS),
    "pandas objects": lambda: pd.DataFrame(ROWS),
    "pandas arrow": lambda: pa.Table.from_pylist(ROWS).to_pandas(types_mapper=pd.ArrowDtype),
    "pyarrow": lambda: pa.Table.from_pylist(ROWS),
    "polars lazy": lambda: pl.DataFrame(ROWS).lazy(),
    "polars json": lambda: pl.DataFrame(
        [{key: json.dumps(cell) if isinstance(cell, dict) else cell for key, cell in row.items()} for row in ROWS]
    ),
}


@pytest.fixture(params=[*WRITERS, *FRAMES])
def read(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """Return a function that reads the rows from a file or a frame."""
    if request.param in FRAMES:
        frame = FRAMES[request.param]()
        return lambda **options: cc.Preferences.from_frame(frame, **options)
    path = tmp_path / request.param
    WRITERS[request.param](path)
    return lambda **options: cc.read(path, **options)


def test_covariates_may_be_nested_and_an_object_of_numbers_is_their_sum(read: Any) -> None:
    prefs = read(covariate=[TOKENS, HEADERS, "conv_metadata.header_count_a.h1,conv_metadata.header_count_b.h1"])
    assert prefs.covariates == ("sum_assistant_tokens", "header_count", "header_count_h1")
    # Row 7: the right side won, so it comes first.
    assert ROWS[6]["winner"] == "model_b"
    assert prefs.covariate[12:14].tolist() == [[43, 1, 1], [60, 0, 0]]


def test_groups_may_be_nested_and_their_keys_may_contain_dots(read: Any) -> None:
    prefs = read(by=MATH)
    assert [label.lower() for label in prefs.instances.labels] in (["true", "false"], ["false", "true"])
    assert prefs.meta["by"] == MATH
    sizes = {name.lower(): prefs.select(instances=[name]).weight.sum() for name in prefs.instances.labels}
    assert sizes == {"true": 4, "false": 8}


def test_times_and_agents_may_be_nested(read: Any) -> None:
    prefs = read(time="when.day", agent="category_tag.math_v0.1.math")
    assert prefs.is_dated
    assert prefs.n_agents == 2


def test_an_unknown_field_lists_the_fields(read: Any) -> None:
    with pytest.raises(cc.errors.UnknownColumnError) as caught:
        read(by="category_tag.maths")
    assert "The fields of category_tag are category_tag.math_v0.1.math" in str(caught.value)
    assert "{" not in str(caught.value)


@pytest.mark.parametrize("name", ["votes.jsonl", "votes.parquet"])
def test_a_whole_object_is_no_group(name: str, tmp_path: Path) -> None:
    WRITERS[name](tmp_path / name)
    with pytest.raises(
        InputError, match=r"has nested fields \(when.day\): name one of them, for example by='when.day'"
    ):
        cc.read(tmp_path / name, by="when")


@pytest.mark.parametrize("name", WRITERS)
def test_nested_headings_are_shown_with_the_number_of_their_fields(name: str, tmp_path: Path) -> None:
    WRITERS[name](tmp_path / name)
    note = cc.read(tmp_path / name).notes[0]
    shown = "conv_metadata" if name.endswith("csv") else "conv_metadata (6 fields)"
    assert f"not read: id, {shown}, category_tag" in note
    assert "conv_metadata" not in cc.read(tmp_path / name, covariate=HEADERS).notes[0].partition("not read")[2]


@pytest.mark.parametrize("name", ["votes.jsonl", "votes.parquet", "votes.csv"])
def test_tables_with_nested_groups_are_counted_by_the_engine(name: str, tmp_path: Path) -> None:
    WRITERS[name](tmp_path / name)
    whole = cc.read(tmp_path / name, by=MATH)
    counted = cc.read(tmp_path / name, by=MATH, reduce=True)
    assert counted.is_merged
    for group in whole.instances.labels:
        first, second = whole.select(instances=[group]), counted.select(instances=[group])
        assert cc.rank(first, "copeland").scores == pytest.approx(cc.rank(second, "copeland").scores)


def test_a_lazy_frame_counts_nested_groups_itself() -> None:
    prefs = cc.Preferences.from_frame(pl.DataFrame(ROWS).lazy(), by=MATH)
    assert any("counted by its engine" in note for note in prefs.notes)
    assert prefs.weight.sum() == 12


def test_a_field_that_only_a_late_row_has_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from concordant.io import _nested

    monkeypatch.setattr(_nested, "SAMPLE", 3)
    rows = [dict(row, extra={"late": 1} if k == 9 else None) for k, row in enumerate(ROWS)]
    (tmp_path / "v.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    prefs = cc.read(tmp_path / "v.jsonl", by="extra.late")
    assert set(prefs.instances.labels) == {"(none)", "1"}


def test_a_plain_name_with_dots_comes_first(tmp_path: Path) -> None:
    text = 'model_a,model_b,winner,a.b,a\nx,y,model_a,plain,"{""b"": ""nested""}"\n'
    assert list(cc.read(io.StringIO(text), by="a.b").instances.labels) == ["plain"]
    nested_only = text.replace("a.b", "c.d")
    assert list(cc.read(io.StringIO(nested_only), by="a.b").instances.labels) == ["nested"]


def test_odd_keys_are_found(tmp_path: Path) -> None:
    tags = {"it's": "1", 'a"b': "2", "x/y~z": "3", "Ümlaut": "4", "": "5"}
    row = dict(ROWS[0], tags=tags)
    (tmp_path / "v.jsonl").write_text(json.dumps(row), encoding="utf-8")
    import pyarrow.parquet

    pyarrow.parquet.write_table(pa.Table.from_pylist([row]), tmp_path / "v.parquet")
    for key, value in tags.items():
        for name in ("v.jsonl", "v.parquet") if key else ():
            assert list(cc.read(tmp_path / name, by=f"tags.{key}").instances.labels) == [value]


def test_several_files_share_nested_fields(tmp_path: Path) -> None:
    for name in ("a.jsonl", "b.jsonl"):
        WRITERS["votes.jsonl"](tmp_path / name)
    assert cc.read(tmp_path, by=MATH).n_ballots == 24
    assert cc.read(tmp_path, by=MATH, reduce=True).weight.sum() == 24


def test_maps_and_lists_of_parquet_files_are_nested_fields(tmp_path: Path) -> None:
    import pyarrow.parquet

    kinds = {name: pa.string() for name in ("model_a", "model_b", "winner")}
    kinds |= {"tags": pa.map_(pa.string(), pa.string()), "turns": pa.list_(pa.struct([("role", pa.string())]))}
    row = {"model_a": "x", "model_b": "y", "winner": "tie", "tags": {"topic": "law"}, "turns": [{"role": "user"}]}
    pyarrow.parquet.write_table(pa.Table.from_pylist([row], pa.schema(kinds)), tmp_path / "v.parquet")
    assert list(cc.read(tmp_path / "v.parquet", by="tags.topic").instances.labels) == ["law"]
    assert list(cc.read(tmp_path / "v.parquet", by="turns.0.role").instances.labels) == ["user"]


def test_style_control_by_nested_fields_recovers_the_effect_of_length(tmp_path: Path) -> None:
    """Simulated arena votes: the weakest model gives the longest answers and wins most votes."""
    rng = np.random.default_rng(11)
    strength, length = {"x": 0.6, "y": 0.0, "z": -0.6}, {"x": 150, "y": 300, "z": 600}
    rows, flat = [], []
    for _ in range(3000):
        a, b = rng.choice(list(strength), 2, replace=False).tolist()
        tokens = [int(rng.gamma(4, length[model] / 4)) for model in (a, b)]
        d = strength[a] - strength[b] + 0.004 * (tokens[0] - tokens[1])
        vote = {"model_a": a, "model_b": b, "winner": "model_a" if rng.random() < 1 / (1 + np.exp(-d)) else "model_b"}
        rows.append({**vote, "conv_metadata": {"tokens_a": tokens[0], "tokens_b": tokens[1]}})
        flat.append({**vote, "tokens_a": tokens[0], "tokens_b": tokens[1]})
    (tmp_path / "v.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    nested_votes = cc.read(tmp_path / "v.jsonl", covariate="conv_metadata.tokens_a,conv_metadata.tokens_b")
    ranking = cc.rank(nested_votes, "bradley-terry")
    assert ranking.items == ["x", "y", "z"]
    assert ranking.model.uncorrected.items[0] == "z"
    effect = ranking.coefficients[0]
    assert abs(effect.value - 0.004) < 3 * effect.stderr
    plain = cc.rank(cc.Preferences.from_frame(pd.DataFrame(flat), covariate="tokens_a,tokens_b"), "bradley-terry")
    assert plain.scores == pytest.approx(ranking.scores)
    assert plain.coefficients[0].name == effect.name == "tokens"


def test_the_longest_key_is_tried_first_and_lists_are_named_by_position() -> None:
    structure = {"a": {"b": {"c": None}}, "a.b": {"c": None, "d": [{"e": None}]}}
    assert nested.path_in("a.b.c", structure) == ("a.b", "c")
    assert nested.path_in("a.b.d.0.e", structure) == ("a.b", "d", "0", "e")
    assert nested.path_in("a.b", structure) == ("a.b",)
    assert nested.path_in("a.b.x", structure) is None
    assert nested.dig({"a": [{"b": 1}]}, ("a", "0", "b")) == 1
    assert nested.dig('{"a": [1, 2]}', ("a", "5")) is None
