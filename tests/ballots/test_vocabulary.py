import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from concordant import Preferences, rank
from concordant.ballots.vocabulary import Vocabulary, encode, encode_together, in_sentence, shorten_apart
from concordant.errors import InputError, UnknownNameError
from concordant.kernels import twins

COLUMNS = {
    "list": list,
    "tuple": tuple,
    "numpy objects": lambda labels: np.array(labels, object),
    "numpy text": np.array,
    "pandas": pd.Series,
    "polars": pl.Series,
    "arrow array": pa.array,
    "arrow large": lambda labels: pa.array(labels, pa.large_string()),
    "arrow view": lambda labels: pa.array(labels, pa.string_view()),
    "arrow dictionary": lambda labels: pa.array(labels).dictionary_encode(),
    "arrow chunks": lambda labels: pa.chunked_array([labels[:2], labels[2:]]),
    "categorical": lambda labels: pd.Series(labels, dtype="category"),
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_every_kind_of_column_gives_the_same_codes(kind: str, backend: str) -> None:
    labels = ["b", "a", "b", "a label longer than a table entry", "é", "日本", "a label longer than a table entry"]
    codes, vocabulary = encode(COLUMNS[kind](labels))
    assert codes.tolist() == [0, 1, 0, 2, 3, 4, 2]
    assert vocabulary.labels == ["b", "a", "a label longer than a table entry", "é", "日本"]


@given(st.lists(st.text(alphabet="abé日\x00", max_size=40), max_size=300))
def test_codes_number_labels_by_first_appearance(labels: list[str]) -> None:
    codes, vocabulary = encode(labels)
    distinct = list(dict.fromkeys(labels))
    assert vocabulary.labels == distinct
    assert [distinct[code] for code in codes.tolist()] == labels


@given(st.lists(st.text(max_size=30).filter(lambda t: t.isprintable()), max_size=200))
def test_arrow_and_objects_agree_for_any_text(labels: list[str]) -> None:
    codes, vocabulary = encode(pa.array(labels, pa.string()))
    expected, expected_vocabulary = encode(labels)
    assert codes.tolist() == expected.tolist()
    assert vocabulary.labels == expected_vocabulary.labels


@given(st.lists(st.integers(-(2**62), 2**62) | st.integers(0, 5), max_size=200))
def test_whole_numbers_are_labels_too(values: list[int]) -> None:
    codes, vocabulary = encode(np.array(values, np.int64))
    assert [vocabulary[code] for code in codes.tolist()] == [str(value) for value in values]
    assert codes.tolist() == twins.encode_ints(np.array(values, np.int64))[0].tolist()


def test_whole_numbers_are_the_same_labels_however_they_come(backend: str) -> None:
    winner, loser = [5, 3, 2**63 - 1, 5], [3, -4, 5, -4]
    rows = [(str(a), str(b)) for a, b in zip(winner, loser, strict=True)]
    columns = [(winner, loser), (tuple(winner), iter(loser)), (list(map(str, winner)), list(map(str, loser)))]
    columns += [(np.array(winner), np.array(loser)), (list(np.array(winner)), list(np.array(loser)))]
    for one, other in columns:
        prefs = Preferences.from_pairs(one, other)
        assert prefs.items.labels == ["5", "3", "-4", str(2**63 - 1)]
        assert [tuple(prefs.items.take(prefs.item[k : k + 2])) for k in range(0, 8, 2)] == rows
    huge = np.array([2**64 - 1, 7], np.uint64)
    assert encode(huge)[1].labels == encode(huge.tolist())[1].labels == [str(2**64 - 1), "7"]


def test_several_columns_share_a_vocabulary_in_reading_order() -> None:
    (first, second), vocabulary = encode_together([["a", "c"], ["b", "a"]])
    assert vocabulary.labels == ["a", "b", "c"]
    assert (first.tolist(), second.tolist()) == ([0, 2], [1, 0])


def test_runs_of_equal_labels_across_blocks_keep_their_code(backend: str) -> None:
    labels = ["x"] * 200 + ["y"] * 130 + ["x"] * 70 + ["z"]
    for column in (labels, pa.array(labels), pa.array(labels, pa.string_view()), [s[:1] + "" for s in labels]):
        assert encode(column)[0].tolist() == [0] * 200 + [1] * 130 + [0] * 70 + [2]


def test_texts_that_only_repeat_in_total_are_told_apart(backend: str) -> None:
    labels = ["aa"] * 64 + ["aa", "a", "aaa"] * 30
    codes, vocabulary = encode(pa.array(labels))
    assert [vocabulary[code] for code in codes.tolist()] == labels


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (["a", None], "item in row 2 is missing"),
        ([1.5, "a"], "row 1 is 1.5"),
        (["1", 1], "both as text and as a number"),
        ([True], "must be text or whole numbers"),
        ([["a"]], "must be text or whole numbers"),
        (np.array([1.0, np.nan]), "row 2 is missing"),
        (np.array([1.0, 2.5]), "row 2 is 2.5"),
        (pa.array(["a", None]), "row 2 is missing"),
        (np.zeros((2, 2)), "2 dimensions"),
    ],
)
def test_what_cannot_be_a_label_is_refused_with_its_row(column: object, message: str, backend: str) -> None:
    with pytest.raises(InputError, match=message):
        encode(column)


def test_mixed_whole_numbers_become_text() -> None:
    assert encode([1, "b", 2.0, np.int64(7)])[1].labels == ["1", "b", "2", "7"]


def test_a_vocabulary_looks_up_both_ways_and_suggests() -> None:
    vocabulary = Vocabulary(["apple", "pear"])
    assert vocabulary.code("pear") == 1
    assert vocabulary.codes(["pear", "plum"]).tolist() == [1, -1]
    assert "pear" in vocabulary
    with pytest.raises(UnknownNameError, match="Did you mean apple"):
        vocabulary.code("aple", "item")


def test_a_label_of_a_million_characters_is_carried_whole_and_shown_short() -> None:
    long = "x" * 1_000_000
    codes, vocabulary = encode([long, "b", long])
    assert codes.tolist() == [0, 1, 0]
    assert vocabulary[0] == long
    assert len(repr(vocabulary)) < 200


MODELS = ["meta-llama/Llama-3.1-405B-Instruct", "meta-llama/Llama-3.1-70B-Instruct", "gpt-4o"]


def test_labels_with_a_long_common_start_lose_their_middle() -> None:
    assert shorten_apart(MODELS, 28) == ["meta-llam…3.1-405B-Instruct", "meta-llam…3.1-70B-Instruct", "gpt-4o"]
    assert shorten_apart(["a label that resembles no other one", "b"], 12) == ["a label tha…", "b"]
    assert shorten_apart(MODELS) == MODELS


def test_a_difference_in_the_middle_is_shown() -> None:
    one, two = shorten_apart([f"organisation/very-long-name-v{k}-instruct-2024-01-01" for k in (1, 2)], 28)
    assert "v1" in one
    assert "v2" in two


@given(
    st.lists(st.text("ab…(2) -é\u0301", max_size=40), max_size=30), st.sampled_from([8, 12, 28]), st.text(max_size=20)
)
def test_distinct_labels_stay_distinct_and_fit(labels: list[str], width: int, start: str) -> None:
    labels = [*labels, *(start + label for label in labels)]
    short = shorten_apart(labels, width)
    assert len(set(short)) == len(set(labels))
    assert all(len(label) <= width for label in short)
    assert all(a == b for a, b in zip(labels, short, strict=True) if len(a) <= width)


def test_many_long_labels_are_shortened_quickly_and_stay_distinct() -> None:
    labels = ["x" * 50 + f"{k:06}" + "y" * 50 for k in range(5_000)]
    assert len(set(shorten_apart(labels, 28))) == 5_000


def test_names_from_right_to_left_are_isolated_in_sentences() -> None:
    assert in_sentence("ירושלים 3") == "\u2068ירושלים 3\u2069"
    assert in_sentence("Zürich") == "Zürich"
    prefs = Preferences.from_rankings([["ירושלים 3", "القاهرة"]] * 3)
    certainty = rank(prefs, "borda").certainty
    assert certainty.headline() == "\u2068ירושלים 3\u2069 is first of 2 by borda."
    assert "\u2068" not in str(certainty.to_dict())
    assert "\u2068" not in str(rank(prefs, "borda").explain().to_dict())


def test_two_names_with_a_common_start_stay_distinct_in_a_sentence() -> None:
    test = rank(Preferences.from_rankings([MODELS[:2]]), "borda").certainty.test()
    assert "70B" in test


def test_shortened_labels_show_where_they_differ():
    labels = ["mistralai/Mixtral-8x22B-Instruct-v0.1", "mistralai/Mixtral-8x7B-Instruct-v0.1", "claude"]
    for width in (15, 20, 28):
        large, small, _ = shorten_apart(labels, width)
        assert "22B" in large
        assert "x7B" in small
        assert max(len(large), len(small)) <= width
