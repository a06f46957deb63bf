import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from concordant import kernels
from concordant.kernels import twins

compiled = pytest.importorskip("concordant.kernels._compiled", reason="the compiled kernels are not built")


def test_every_compiled_function_has_a_twin_and_the_other_way_round() -> None:
    ours = {name for name in dir(compiled) if not name.startswith("_") and callable(getattr(compiled, name))}
    others = {name for name in dir(twins) if not name.startswith("_") and callable(getattr(twins, name))}
    assert ours == others


@pytest.mark.parametrize(("choice", "expected"), [("numpy", "numpy"), ("compiled", "compiled"), ("", "compiled")])
def test_the_environment_chooses_the_back_end(choice: str, expected: str) -> None:
    code = "from concordant import kernels; print(kernels.active())"
    environment = {**os.environ, "CONCORDANT_KERNELS": choice}
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    assert shown.stdout.strip() == expected


def test_an_unknown_back_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONCORDANT_KERNELS", "fortran")
    with pytest.raises(Exception, match="must be 'auto'"):
        kernels._choose()


def same(one: object, two: object) -> None:
    for a, b in zip(one, two, strict=True):  # type: ignore[call-overload]
        np.testing.assert_array_equal(a, b)


rows = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.sampled_from([1.0, 2.0, 2.5, -1.0])), max_size=60)


@given(rows)
def test_rows_are_grouped_alike(table: list[tuple[int, int, float]]) -> None:
    instance, agent = (np.array([row[k] for row in table], np.int32) for k in (0, 1))
    value = np.array([row[2] for row in table])
    none = np.empty(0, np.int32)
    for q, a in ((instance, agent), (none, agent), (instance, none), (none, none)):
        same(compiled.group_rows(q, a, value), twins.group_rows(q, a, value))


@given(st.lists(st.tuples(st.integers(0, 3), st.lists(st.integers(0, 6), unique=True, max_size=6)), max_size=20))
def test_slots_are_assigned_and_found_alike(table: list[tuple[int, list[int]]]) -> None:
    instance = np.array([q for q, _ in table], np.int32)
    item = np.array([i for _, ballot in table for i in ballot], np.int32)
    indptr = np.concatenate([[0], np.cumsum([len(ballot) for _, ballot in table])]).astype(np.int64)
    slots = compiled.assign_slots(instance, indptr, item, 4, 7)
    same(slots, twins.assign_slots(instance, indptr, item, 4, 7))
    np.testing.assert_array_equal(compiled.find_slots(*slots[:2], instance, indptr, item, 7), slots[2])
    np.testing.assert_array_equal(twins.find_slots(*slots[:2], instance, indptr, item, 7), slots[2])


@given(st.lists(st.lists(st.integers(0, 4), max_size=5), max_size=12))
def test_the_first_repetition_is_found_alike(table: list[list[int]]) -> None:
    item = np.array([i for ballot in table for i in ballot], np.int32)
    indptr = np.concatenate([[0], np.cumsum([len(ballot) for ballot in table])]).astype(np.int64)
    assert tuple(compiled.find_repeated(indptr, item, 5)) == twins.find_repeated(indptr, item, 5)


@given(st.lists(st.lists(st.text("ab", max_size=2) | st.just(3), max_size=4) | st.just("x"), max_size=6))
def test_lists_of_labels_are_encoded_alike(lists: list[object]) -> None:
    ours, twin = compiled.encode_lists(lists), twins.encode_lists(lists)
    assert ours[4] == twin[4]
    if ours[4] == -1:
        same([ours[0], ours[2], ours[3]], [twin[0], twin[2], twin[3]])
        assert ours[1] == twin[1]


@given(st.lists(st.integers(-(10**400), 10**400) | st.floats() | st.booleans() | st.none() | st.just("x"), max_size=9))
def test_numbers_of_a_list_are_read_alike(values: list[object]) -> None:
    (ours, bad), (twin, twin_bad) = compiled.list_numbers(values), twins.list_numbers(values)
    assert bad == twin_bad
    if bad < 0:
        np.testing.assert_array_equal(ours, twin)


@given(st.lists(st.integers(-(2**64), 2**64) | st.booleans() | st.floats() | st.just("x"), max_size=9))
def test_whole_numbers_of_a_list_are_read_alike(values: list[object]) -> None:
    (ours, bad), (twin, twin_bad) = compiled.list_integers(values), twins.list_integers(values)
    assert bad == twin_bad
    if bad < 0:
        np.testing.assert_array_equal(ours, twin)


ARROW = pa.table(
    {
        "text": ["a", None, "bb", "a", "a text too long to stand in a view"],
        "coded": pa.array(["x", "y", None, "x", "y"]).dictionary_encode(),
        "view": pa.array(["s", "a text too long to stand in a view", None, "s", ""], pa.string_view()),
        "small": pa.array([1, None, 3, 4, 5], pa.int8()),
        "wide": pa.array([1, 2, 3, 4, None], pa.uint64()),
        "real": pa.array([1.5, None, 2.5, 0.0, -1.0], pa.float32()),
        "flag": [True, None, False, True, True],
        "none": pa.nulls(5),
    }
)


@pytest.mark.parametrize("table", [ARROW, ARROW.slice(1, 3), pa.concat_tables([ARROW, ARROW]), ARROW.slice(0, 0)])
def test_arrow_streams_are_read_alike(table: pa.Table) -> None:
    ours, twin = (backend.read_stream(table.__arrow_c_stream__()) for backend in (compiled, twins))
    assert [column[:2] for column in ours] == [column[:2] for column in twin]
    for (_, kind, one), (_, _, two) in zip(ours, twin, strict=True):
        same(one, two) if kind == "text" else np.testing.assert_array_equal(one, two)


def test_an_arrow_type_that_is_neither_text_nor_number_is_named() -> None:
    table = pa.table({"when": pa.array([0], pa.timestamp("s"))})
    for backend in (compiled, twins):
        with pytest.raises(ValueError, match="'when'"):
            backend.read_stream(table.__arrow_c_stream__())


CELLS = st.lists(st.sampled_from(["", "a", "é", "a long label of more than 22 bytes"]), min_size=1, max_size=3)
PLAIN = st.builds(
    lambda width, rows, end, last: end.join(",".join((row * 3)[:width]) for row in rows) + last,
    *(st.integers(1, 3), st.lists(CELLS, max_size=9), st.sampled_from(["\n", "\r\n"]), st.sampled_from(["", "\n"])),
)
ODD = st.text('ab,\n\r"\0', max_size=12)


@given((PLAIN | ODD).map(str.encode) | st.binary(max_size=6), st.lists(st.booleans(), max_size=3), st.booleans())
def test_plain_csv_is_cut_alike(text: bytes, wanted: list[bool], has_header: bool) -> None:
    data, is_wanted = np.frombuffer(text, np.uint8), np.array(wanted, np.uint8)
    for longest in (1 << 20, 9):
        found = [backend.plain_columns(data, is_wanted, ord(","), has_header, longest) for backend in (compiled, twins)]
        assert len(found[0]) == len(found[1])
        for one, two in zip(*found, strict=True):
            same(one, two)


def test_many_rows_of_csv_are_cut_alike() -> None:
    cells = [f"item {k * k % 997}" if k % 11 else "" for k in range(6000)]
    text = "".join(f"{a},x,{b}\n" for a, b in zip(cells, sorted(cells), strict=True)).encode()
    found = [
        backend.plain_columns(np.frombuffer(text, np.uint8), np.array([1, 0, 1], np.uint8), ord(","), True, 99)
        for backend in (compiled, twins)
    ]
    assert [len(columns) for columns in found] == [2, 2]
    for one, two in zip(*found, strict=True):
        assert len(one[0]) == 5999
        same(one, two)
