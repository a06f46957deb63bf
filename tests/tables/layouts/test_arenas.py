"""Published layouts of LLM arenas and benchmarks, as files and frames, without options."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import concordant as cc
from concordant.errors import InputError

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

Rows = list[dict[str, Any]]


def _parquet(rows: Rows, path: Path) -> None:
    import pyarrow.parquet

    pyarrow.parquet.write_table(pa.Table.from_pylist(rows), path)


WAYS: dict[str, Callable[[Rows, Path], None]] = {
    "json": lambda rows, path: path.write_text(json.dumps(rows), encoding="utf-8") and None,
    "jsonl": lambda rows, path: path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8") and None,
    "csv": lambda rows, path: pd.DataFrame(rows).to_csv(path, index=False),
    "parquet": _parquet,
}
NESTED = ("json", "jsonl", "parquet", "polars", "pandas")
EVERY = ("csv", *NESTED)


def read(rows: Rows, way: str, folder: Path, **options: Any) -> cc.Preferences:
    """Read rows in one of the ways in which projects publish them."""
    if way == "polars":
        return cc.Preferences.from_frame(pl.DataFrame(rows), **options)
    if way == "pandas":
        return cc.Preferences.from_frame(pd.DataFrame(rows), **options)
    path = folder / f"votes.{way}"
    WAYS[way](rows, path)
    return cc.read(path, **options)


def won(prefs: cc.Preferences) -> list[tuple[str, str, float]]:
    """Return (winner, loser, weight) of each vote, "=" before the first of tied items."""
    names = prefs.items.take(prefs.item)
    ties = prefs.tier[0::2] == prefs.tier[1::2]
    pairs = zip(names[0::2], names[1::2], ties.tolist(), prefs.weight.tolist(), strict=True)
    return [("=" + a if tie else a, b, weight) for a, b, tie, weight in pairs]


def has_note(prefs: cc.Preferences, words: str) -> bool:
    return any(words in note for note in prefs.notes)


@pytest.mark.parametrize("way", EVERY)
def test_chatbot_arena_conversations(way: str, tmp_path: Path) -> None:
    talk = [{"role": "user", "content": "hi"}]
    rows = [
        {"question_id": f"q{k}", "model_a": a, "model_b": b, "winner": winner, "judge": f"arena_user_{k}"}
        | {"conversation_a": talk, "conversation_b": talk, "turn": 1, "anony": True, "language": "English"}
        | {"tstamp": 1682351591.1 + k, "toxic_chat_tag": {"roberta-large": {"flagging": False}}}
        for k, (a, b, winner) in enumerate(
            [("x", "y", "model_a"), ("y", "z", "model_b"), ("x", "z", "tie"), ("z", "y", "tie (bothbad)")]
        )
    ]
    prefs = read(rows, way, tmp_path)
    assert won(prefs) == [("x", "y", 1), ("z", "y", 1), ("=x", "z", 1), ("=z", "y", 1)]
    assert prefs.n_agents == 4
    assert prefs.n_instances == 1
    assert has_note(prefs, "1 row: both sides are judged bad")
    assert has_note(prefs, "agent = judge")
    assert read(rows, way, tmp_path, both_bad="skip").n_ballots == 3
    assert read(rows, way, tmp_path, by="language").instances.labels == ["English"]
    assert read(rows, way, tmp_path, time="tstamp").time is not None


@pytest.mark.parametrize("way", EVERY)
def test_arena_human_preference_55k(way: str, tmp_path: Path) -> None:
    flags = [(1, 0, 0), (0, 1, 0), (0, 0, 1)]
    rows = [
        {"id": k, "model_a": "x", "model_b": "y", "prompt": '["hi"]', "response_a": '["a"]', "response_b": '["b"]'}
        | dict(zip(("winner_model_a", "winner_model_b", "winner_tie"), flag, strict=True))
        for k, flag in enumerate(flags)
    ]
    assert won(read(rows, way, tmp_path)) == [("x", "y", 1), ("y", "x", 1), ("=x", "y", 1)]


@pytest.mark.parametrize("way", EVERY)
def test_files_of_a_competition_without_votes_are_rejected(way: str, tmp_path: Path) -> None:
    test = [{"id": 1, "prompt": "p", "response_a": "a", "response_b": "b"}]
    with pytest.raises(InputError, match="neither their models nor a winner, like the test file of a competition"):
        read(test, way, tmp_path)
    submission = [{"id": 1, "winner_model_a": 0.3, "winner_model_b": 0.3, "winner_tie": 0.4}]
    with pytest.raises(InputError, match="does not name the models, like a submission to a competition"):
        read(submission, way, tmp_path)


@pytest.mark.parametrize("way", EVERY)
def test_arena_human_preference_100k(way: str, tmp_path: Path) -> None:
    rows = [
        {"question_id": f"q{k}", "model_a": "x", "model_b": "y", "winner": winner, "turn": 1, "language": "English"}
        | {"judge_hash": f"h{k % 2}", "is_code": False, "dedup_tag": {"high_freq": False, "sampled": True}}
        | {"category_tag": {"math_v0.1": {"math": k == 0}}}
        for k, winner in enumerate(("model_a", "tie (bothbad)", "model_b"))
    ]
    prefs = read(rows, way, tmp_path)
    assert won(prefs) == [("x", "y", 1), ("=x", "y", 1), ("y", "x", 1)]
    assert prefs.agents is not None
    assert prefs.agents.labels == ["h0", "h1"]


@pytest.mark.parametrize("way", EVERY)
def test_mt_bench_human_judgments(way: str, tmp_path: Path) -> None:
    rows = [
        {"question_id": 81 + k // 2, "model_a": "x", "model_b": "y", "winner": winner, "judge": "expert_1"}
        | {"turn": 1 + k % 2}
        for k, winner in enumerate(("model_a", "tie", "model_b", "model_b"))
    ]
    prefs = read(rows, way, tmp_path)
    assert won(prefs) == [("x", "y", 1), ("=x", "y", 1), ("y", "x", 1), ("y", "x", 1)]
    assert prefs.n_instances == 1
    assert read(rows, way, tmp_path, instance="question_id").n_instances == 2
    assert read(rows, way, tmp_path, by="turn").n_instances == 2


@pytest.mark.parametrize("way", NESTED)
def test_mt_bench_pairwise_judgments_of_a_model(way: str, tmp_path: Path) -> None:
    rows = [
        {"question_id": 81, "model_1": "x", "model_2": "y", "g1_winner": one, "g2_winner": two, "judge": "gpt-4"}
        for one, two in (("model_1", "model_1"), ("model_2", "tie"), ("error", "model_1"))
    ]
    prefs = read(rows, way, tmp_path)
    assert won(prefs) == [("x", "y", 1), ("x", "y", 1), ("y", "x", 1), ("=y", "x", 1), ("x", "y", 1)]
    assert prefs.shown is not None
    assert prefs.shown[:4].tolist() == [0, 1, 1, 0]  # the second model was shown first in the second game
    assert has_note(prefs, "left out 1 row: there is no judgement")


@pytest.mark.parametrize("way", EVERY)
def test_comparia_votes(way: str, tmp_path: Path) -> None:
    rows = [
        {"timestamp": f"2025-01-0{k + 1}", "model_a_name": "x", "model_b_name": "y", "model_pair_name": "x y"}
        | {"chosen_model_name": chosen, "both_equal": equal, "session_hash": f"s{k}", "conv_turns": 1}
        for k, (chosen, equal) in enumerate([("x", False), ("y", False), (None, True), (None, False)])
    ]
    prefs = read(rows, way, tmp_path)
    assert won(prefs) == [("x", "y", 1), ("y", "x", 1), ("=x", "y", 1)]
    assert has_note(prefs, "left out 1 row: there is no judgement")
    assert has_note(prefs, "left = model_a_name, right = model_b_name, outcome = chosen_model_name")


@pytest.mark.parametrize("way", EVERY)
@pytest.mark.parametrize("column", ["preference", "vote", "reaction"])
def test_turns_with_or_without_a_reaction(column: str, way: str, tmp_path: Path) -> None:
    words = ("A", "B", "both good", "both_bad", None)
    rows = [{"conversation_id": "c", "turn": k, "model_a": "x", "model_b": "y", column: w} for k, w in enumerate(words)]
    prefs = read(rows, way, tmp_path)
    assert won(prefs) == [("x", "y", 1), ("y", "x", 1), ("=x", "y", 1), ("=x", "y", 1)]
    assert has_note(prefs, "left out 1 row")


@pytest.mark.parametrize("way", EVERY)
def test_alpaca_eval_with_probabilities(way: str, tmp_path: Path) -> None:
    preferences = [1.0, 2.0, 1.75, 1.5, 0.0, None, 1.1]
    rows = [
        {"instruction": f"i{k}", "output_1": "a", "generator_1": "base", "output_2": "b", "generator_2": "new"}
        | {"annotator": "judge_1", "preference": p, "raw_completion": {"text": "m"}}
        for k, p in enumerate(preferences)
    ]
    prefs = read(rows, way, tmp_path)
    judged = won(prefs)
    assert judged[:2] == [("base", "new", 1), ("new", "base", 1)]
    assert judged[2:4] == [("base", "new", 0.25), ("new", "base", 0.75)]
    assert [winner for winner, _, _ in judged[4:6]] == ["=base", "=base"]
    known = [1.5 if p == 0 else p for p in preferences if p is not None]
    new_wins = sum(w * (0.5 if a[0] == "=" else a == "new") for a, _, w in judged)
    assert new_wins / prefs.weight.sum() == pytest.approx(np.mean(known) - 1)  # the tool's win rate
    assert prefs.n_agents == 1
    assert has_note(prefs, "2 in between are probabilities")
    assert has_note(prefs, "left out 1 row: there is no judgement")


def test_alpaca_eval_without_probabilities_has_no_weights(tmp_path: Path) -> None:
    rows = [{"generator_1": "x", "generator_2": "y", "preference": p} for p in (1, 2, 0, 1)]
    prefs = read(rows, "json", tmp_path)
    assert won(prefs) == [("x", "y", 1), ("y", "x", 1), ("=x", "y", 1), ("x", "y", 1)]
    words = [{"generator_1": "x", "generator_2": "y", "preference": p} for p in ("a", "b", "tie")]
    assert won(read(words, "json", tmp_path)) == [("x", "y", 1), ("y", "x", 1), ("=x", "y", 1)]
    with pytest.raises(InputError, match=r"line 2|row 2"):
        read([rows[0], dict(rows[1], preference=3)], "jsonl", tmp_path)
    prefs = read([rows[0], dict(rows[1], preference=3)], "jsonl", tmp_path, skip_bad_rows=True)
    assert prefs.n_ballots == 1
    assert has_note(prefs, "left out 1 row: the outcome cannot be read")


ARENA_HARD = [
    {"uid": "u1", "category": "hard_prompt", "model": "new", "judge": "gpt-4.1", "games": games}
    for games in (
        [{"score": "A>>B", "judgment": "…"}, {"score": "A>B", "judgment": "…"}],
        [{"score": "A=B", "judgment": "…"}, {"score": "B<<A", "judgment": "…"}],
        [{"score": "B=A", "judgment": "…"}, {"score": None, "judgment": "…"}],
    )
]


@pytest.mark.parametrize("way", NESTED)
def test_arena_hard(way: str, tmp_path: Path) -> None:
    prefs = read(ARENA_HARD, way, tmp_path, baseline_model="base")
    assert won(prefs) == [
        ("base", "new", 3),
        ("new", "base", 1),
        ("=base", "new", 1),
        ("new", "base", 3),
        ("=base", "new", 1),
    ]
    assert prefs.n_agents == 1
    assert has_note(prefs, "left out 1 row: there is no judgement")
    assert read(ARENA_HARD, way, tmp_path, baseline_model="base", by="category").instances.labels == ["hard_prompt"]
    with pytest.raises(InputError, match="a baseline that the file does not name: use baseline_model=NAME"):
        read(ARENA_HARD, way, tmp_path)


def test_arena_hard_files_of_several_models(tmp_path: Path) -> None:
    for model in ("one", "two"):
        rows = [dict(row, model=model, baseline="base") for row in ARENA_HARD]
        WAYS["jsonl"](rows, tmp_path / f"{model}.jsonl")
    prefs = cc.read(tmp_path)
    assert set(prefs.items) == {"base", "one", "two"}
    assert prefs.weight.sum() == 18


def test_a_baseline_is_rejected_where_it_does_not_apply(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="baseline_model='x' only applies to judgements of games against a baseline"):
        read([{"winner": "a", "loser": "b"}], "csv", tmp_path, baseline_model="x")


@pytest.mark.parametrize("way", NESTED)
def test_wildbench(way: str, tmp_path: Path) -> None:
    rows = [
        {"session_id": f"s{k}", "generator": "new", "ref_generator": "base", "assignment": {"A": a, "B": b}}
        | {"winner": winner, "parsed_result": {"reason": "…", "choice": choice}}
        for k, (a, b, winner, choice) in enumerate(
            [("new", "base", "new", "A++"), ("base", "new", "tie", "A=B"), ("base", "new", "base", "A+")]
        )
    ]
    expected = [("new", "base", 1), ("=base", "new", 1), ("base", "new", 1)]
    assert won(read(rows, way, tmp_path)) == expected
    without_winner = [{key: value for key, value in row.items() if key != "winner"} for row in rows]
    assert won(read(without_winner, way, tmp_path)) == expected


@pytest.mark.parametrize("way", NESTED)
def test_ultrafeedback(way: str, tmp_path: Path) -> None:
    def completions(*scores: float | None) -> Rows:
        return [{"model": f"m{k}", "response": "…", "overall_score": score} for k, score in enumerate(scores)]

    rows = [
        {"source": "evol", "instruction": "a", "models": ["m0", "m1"], "completions": completions(8.5, 7.0)},
        {"source": "evol", "instruction": "a", "models": ["m0", "m1"], "completions": completions(6.0, 9.0, None)},
    ]
    prefs = read(rows, way, tmp_path)
    assert prefs.form == "ratings"
    assert prefs.n_ballots == 2
    assert sorted(prefs.value.tolist()) == [6, 7, 8.5, 9]
    assert has_note(prefs, "left out 1 row: the completion has no score")
    assert cc.rank(prefs).items == ["m1", "m0"]


@pytest.mark.parametrize("way", NESTED)
def test_conversations_for_preference_tuning(way: str, tmp_path: Path) -> None:
    def talk(answer: str) -> Rows:
        return [{"role": "user", "content": "hi"}, {"role": "assistant", "content": answer}]

    rows = [{"prompt": "p", "chosen": talk("good"), "rejected": talk("bad")}] * 2
    assert list(read(rows, way, tmp_path).items) == ["good", "bad"]
    named = [dict(row, chosen_model="m1", rejected_model="m2") for row in rows]
    prefs = read(named, way, tmp_path)
    assert won(prefs) == [("m1", "m2", 1)] * 2


def test_models_without_texts(tmp_path: Path) -> None:
    rows = [{"prompt": "p", "chosen_model": "m1", "rejected_model": "m2"}]
    assert won(read(rows, "csv", tmp_path)) == [("m1", "m2", 1)]


def test_roles_may_name_columns_of_the_rewritten_table(tmp_path: Path) -> None:
    """The web app names the columns that its preview shows."""
    rows = [{"generator_1": "x", "generator_2": "y", "preference": p} for p in (1, 2, 1.25)]
    path = tmp_path / "annotations.json"
    WAYS["json"](rows, path)
    plan = cc.io.preview(path).plan
    assert plan is not None
    roles = dict(plan.column)
    assert won(cc.read(path, **roles)) == won(cc.read(path))


def test_a_preview_shows_nested_fields(tmp_path: Path) -> None:
    rows = [{"model_a": "x", "model_b": "y", "winner": "tie", "tag": {"math": True, "by": {"n": 2}}, "c": [1]}]
    for way in ("json", "jsonl", "parquet"):
        path = tmp_path / f"v.{way}"
        WAYS[way](rows, path)
        seen = cc.io.preview(path)
        assert seen.columns == ("model_a", "model_b", "winner", "tag.math", "tag.by.n", "c")
        assert seen.rows == (("x", "y", "tie", "true", "2", "[1]"),)
