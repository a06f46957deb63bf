"""Times read from bytes are those that are read one by one, or are left to that."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from concordant.errors import InputError
from concordant.support import date_bytes
from concordant.support.dates import read_times

PARTS = [
    "2024-05-31",
    "1969-12-31",
    "0001-01-01",
    "0000-01-01",
    "2024-02-30",
    "20240531",
    "1700000000",
    "1700000000123",
]
ENDS = ["", "Z", "+00:00", " 10:20", "T10:20:30", " 10:20:30.5", "T23:59:59.999999Z", "T24:00:00", "t10:20:30", ".25"]
WORD = st.one_of(
    st.builds(str.__add__, st.sampled_from(PARTS), st.sampled_from(ENDS)),
    st.integers(-(10**14), 10**14).map(str),
    st.floats().map(repr),
    st.datetimes().map(str),
    st.datetimes().map(lambda moment: moment.isoformat(timespec="milliseconds")),
    st.sampled_from(["1_000", " 5", "inf", "-", "2024", "31/05/2024", "now", "NaT", "é", "1e5", "+7", "2024-05"]),
)
COLUMN = st.one_of(st.lists(WORD, min_size=1, max_size=6, unique=True), WORD.map(lambda word: [word]))


def from_bytes(words: list[str]) -> tuple[np.ndarray, bool] | None:
    texts = [word.encode() for word in words]
    offsets = np.cumsum([0, *map(len, texts)]).astype(np.int64)
    return date_bytes.times_of_bytes(offsets, np.frombuffer(b"".join(texts), np.uint8))


@given(words=COLUMN)
def test_times_of_bytes_are_those_of_texts(words: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(date_bytes, "MANY", 0)
        found = from_bytes(words)
    if found is None:
        return
    try:
        expected, is_dated = read_times(words)
    except InputError:
        raise AssertionError(words) from None
    np.testing.assert_array_equal(found[0], expected)
    assert found[1] is is_dated


@pytest.mark.parametrize(
    "texts",
    [
        [str(1_700_000_000 + 3 * k) for k in range(5000)],
        [str(1_700_000_000_000 + 3 * k) for k in range(5000)],
        [repr(k / 7) for k in range(5000)],
        [str(np.datetime64("1999-12-31T23:00:00") + np.timedelta64(977 * k, "s")) for k in range(5000)],
        [f"{np.datetime64('1999-12-31') + k}" for k in range(5000)],
        [f"{np.datetime64('1999-12-31') + k} 10:11:12.{k:06}Z" for k in range(5000)],
    ],
    ids=["seconds", "milliseconds", "fractions", "times", "days", "zones"],
)
def test_long_columns_are_read_without_their_texts(texts: list[str]) -> None:
    found = from_bytes(texts)
    assert found is not None
    expected, is_dated = read_times(texts)
    np.testing.assert_array_equal(found[0], expected)
    assert found[1] is is_dated
    assert from_bytes(texts[:10]) is None  # which costs nothing
    assert from_bytes([*texts, "soon"]) is None
