"""Arrow data that lie about themselves are refused in a sentence: no kernel reads outside a buffer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tools.faults import damaged_arrow, read_all

import concordant as cc
from concordant.errors import InputError

Memory = np.ndarray[Any, Any]
Damage = tuple[pa.Array, Memory, Any]  # an array, memory of its own, and what will stand there

LONG = b"a name that is longer than twelve bytes"


def texts(offsets: list[int], data: bytes, kind: Any = None) -> Damage:
    """Return texts whose offsets become these."""
    memory = np.zeros(len(offsets), np.int32 if kind is None else np.int64)
    buffers = [None, pa.py_buffer(memory), pa.py_buffer(data)]
    return pa.Array.from_buffers(kind or pa.string(), len(offsets) - 1, buffers), memory, offsets


def views(size: int, buffer: int, offset: int) -> Damage:
    """Return three views of a text, the middle one of which becomes this."""
    memory = np.array([[len(LONG), 0, 0, 0]] * 3, np.int32)
    array = pa.Array.from_buffers(pa.string_view(), 3, [None, pa.py_buffer(memory), pa.py_buffer(LONG)])
    return array, memory[1], [size, 0, buffer, offset]


def coded(*codes: int) -> Damage:
    """Return dictionary codes over two labels that become these."""
    memory = np.zeros(len(codes), np.int8)
    index = pa.Array.from_buffers(pa.int8(), len(codes), [None, pa.py_buffer(memory)])
    return pa.DictionaryArray.from_arrays(index, ["ann", "bob"]), memory, codes


DAMAGED: dict[str, Callable[[], Damage]] = {
    "an offset that falls": lambda: texts([0, 3, 1, 6], b"annbob"),
    "a negative offset": lambda: texts([-9, 3, 4, 6], b"annbob"),
    "an offset past the end": lambda: texts([0, 3, 6, 1 << 30], b"annbob"),
    "a wide offset past the end": lambda: texts([0, 3, 6, 1 << 50], b"annbob", pa.large_string()),
    "a wide offset that falls": lambda: texts([0, 1 << 50, 3, 6], b"annbob", pa.large_string()),
    "a view past the end": lambda: views(39, 0, 1 << 28),
    "a view of no buffer": lambda: views(39, 7, 0),
    "a negative view": lambda: views(-39, 0, 0),
    "a code past the dictionary": lambda: coded(0, 99, 1),
    "a negative code": lambda: coded(0, -99, 1),
    "bytes that are no text": lambda: texts([0, 2, 4, 6], b"an\xff\xfebo"),
    "an overlong sign": lambda: texts([0, 2, 4, 6], b"an\xc0\xafbo"),
    "half a surrogate": lambda: texts([0, 3, 6, 7], b"ann\xed\xa0\x80b"),
    "a sign past the last": lambda: texts([0, 1, 5, 6], b"a\xf4\x90\x80\x80b"),
}


@pytest.mark.parametrize("what", DAMAGED)
@pytest.mark.parametrize("library", ["pyarrow", "pandas"])
def test_a_damaged_column_is_refused(what: str, library: str, backend: str) -> None:
    array, memory, damage = DAMAGED[what]()
    frame: Any = pa.table({"winner": array, "loser": ["ann", "bob", "cid"]})
    if library == "pandas":
        pandas = pytest.importorskip("pandas")
        frame = frame.to_pandas(types_mapper=pandas.ArrowDtype)
    memory[:] = damage
    with pytest.raises(
        InputError, match=r"winner column contains Arrow data that cannot be read \(.*\): check the data\.$"
    ):
        cc.Preferences.from_frame(frame)
    with pytest.raises(InputError, match="cannot be read"):
        cc.Preferences.from_pairs(frame["winner"], frame["loser"])


def test_a_view_of_a_frame_is_its_rows(backend: str) -> None:
    table = pa.table({"winner": ["ann", "bob", "cid"], "loser": ["bob", "cid", "dan"]})
    assert cc.Preferences.from_frame(table.slice(1, 2)).items.labels == ["bob", "cid", "dan"]


def test_damaged_files_never_end_the_process(tmp_path: Path) -> None:
    told = read_all([damaged_arrow(seed, tmp_path) for seed in range(60)], at_once=60)
    assert told["dead"] == told["foreign"] == 0
    assert told["refused"] + told["read"] == 60
    assert told["refused"] > 30


def test_an_arrow_file_packed_with_zstd_is_read(tmp_path: Path) -> None:
    sink = pa.BufferOutputStream()
    table = pa.table({"winner": ["ann", "bob"], "loser": ["bob", "cid"]})
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    path = tmp_path / "votes.arrow.zst"
    path.write_bytes(pa.compress(sink.getvalue(), "zstd", asbytes=True))
    assert cc.read(path).n_ballots == 2


def test_the_name_of_a_column_that_is_no_text_is_refused(make: Any) -> None:
    sink = pa.BufferOutputStream()
    table = pa.table({"winner": ["ann"], "loser": ["bob"]})
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    content = sink.getvalue().to_pybytes().replace(b"winner", b"winn\xffr")
    with pytest.raises(InputError, match=r"votes.arrow: the Arrow data cannot be read"):
        cc.read(make(content, "votes.arrow"))
