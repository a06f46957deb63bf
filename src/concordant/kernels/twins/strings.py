"""Labels to codes in plain Python and NumPy (twin of strings.cpp)."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from itertools import chain
from typing import Any

import numpy as np

from concordant.types import Bytes, Floats, Int32s, Int64s

__all__ = ["encode_ints", "encode_lists", "encode_objects", "list_numbers", "read_stream"]

TextColumn = tuple[Int32s, Int64s, Bytes, Int64s]
StreamColumn = tuple[str, str, TextColumn | Floats]


def encode_objects(values: list[Any]) -> tuple[Int32s, Int64s, int]:
    """Return codes in order of first appearance, the row each label first stands in, and -1.

    At the first element that is not a str, its index is returned instead of -1.
    """
    code_of: dict[str, int] = {}
    first: list[int] = []
    codes = np.empty(len(values), np.int32)
    for row, value in enumerate(values):
        if not isinstance(value, str):
            return codes, np.empty(0, np.int64), row
        code = code_of.setdefault(value, len(code_of))
        if code == len(first):
            first.append(row)
        codes[row] = code
    return codes, np.array(first, np.int64), -1


def encode_lists(lists: list[Any]) -> tuple[Int32s, list[str], Int64s, Int32s, int]:
    """Make ballots from a list of lists of str, best first: (codes, labels, indptr, tier, bad).

    ``bad`` is the flat index of the first element that is no str, -2 if a member is neither list nor tuple, else -1.
    """
    indptr = np.zeros(len(lists) + 1, np.int64)
    if not all(isinstance(member, (list, tuple)) for member in lists):
        return np.empty(0, np.int32), [], indptr, np.empty(0, np.int32), -2
    flat = list(chain.from_iterable(lists))
    codes, first, bad = encode_objects(flat)
    if bad >= 0:
        return codes, [], indptr, np.zeros(len(flat), np.int32), bad
    sizes = np.array([len(member) for member in lists], np.int64)
    np.cumsum(sizes, out=indptr[1:])
    tier = (np.arange(len(flat)) - np.repeat(indptr[:-1], sizes)).astype(np.int32)
    return codes, [flat[k] for k in first.tolist()], indptr, tier, -1


def list_numbers(values: list[Any]) -> tuple[Floats, int]:
    """Return the numbers of a list of int, float and bool, and the index of the first other element or -1."""
    out = np.empty(len(values))
    for k, value in enumerate(values):
        if type(value) is not float and not isinstance(value, int):
            return out, k
        try:
            out[k] = value
        except OverflowError:
            return out, k
    return out, -1


def encode_ints(values: Int64s) -> tuple[Int32s, Int64s]:
    """Return codes of an integer column in order of first appearance, and the first row of each."""
    _, first, inverse = np.unique(values, return_index=True, return_inverse=True)
    by_appearance = np.argsort(first, kind="stable")
    code_of = np.empty(len(first), np.int32)
    code_of[by_appearance] = np.arange(len(first), dtype=np.int32)
    return code_of[inverse.reshape(-1)], first[by_appearance].astype(np.int64)


# ---- The Arrow C data interface through ctypes: three structs of the published ABI ----
class _Schema(ctypes.Structure):
    pass


class _Array(ctypes.Structure):
    pass


class _Stream(ctypes.Structure):
    pass


_Release = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_Schema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_void_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(_Schema))),
    ("dictionary", ctypes.POINTER(_Schema)),
    ("release", ctypes.c_void_p),
    ("private_data", ctypes.c_void_p),
]
_Array._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(_Array))),
    ("dictionary", ctypes.POINTER(_Array)),
    ("release", ctypes.c_void_p),
    ("private_data", ctypes.c_void_p),
]
_Stream._fields_ = [
    ("get_schema", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)),
    ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)),
    ("get_last_error", ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_void_p)),
    ("release", ctypes.c_void_p),
    ("private_data", ctypes.c_void_p),
]

_NUMBERS = {
    "c": np.int8,
    "C": np.uint8,
    "s": np.int16,
    "S": np.uint16,
    "i": np.int32,
    "I": np.uint32,
    "l": np.int64,
    "L": np.uint64,
    "f": np.float32,
    "g": np.float64,
}
_TEXTS = ("u", "U", "vu")


def read_stream(capsule: object) -> list[StreamColumn]:
    """Read a whole Arrow stream: one (name, kind, parts) per column.

    Text comes as (codes, offsets, bytes, first row of each label) with -1 for null, numbers as float64 with NaN
    for null.
    """
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    address = get_pointer(capsule, b"arrow_array_stream")
    stream = _Stream.from_address(address)

    def ask(function: Callable[[int, int], int], target: ctypes.Structure) -> None:
        if function(address, ctypes.addressof(target)):
            why = stream.get_last_error(address)
            raise RuntimeError(why.decode() if why else "the Arrow stream failed without a reason")

    schema = _Schema()
    ask(stream.get_schema, schema)
    is_struct = schema.format == b"+s"
    children = [schema.children[c].contents for c in range(schema.n_children)] if is_struct else [schema]
    described = [
        (
            (child.name or b"").decode(),
            child.format.decode(),
            child.dictionary.contents.format.decode() if child.dictionary else "",
        )
        for child in children
    ]
    _release(schema)
    parts: list[list[Any]] = [[] for _ in described]
    while True:
        array = _Array()
        ask(stream.get_next, array)
        if not array.release:
            break
        try:
            for column, (name, form, dictionary) in enumerate(described):
                child = array.children[column].contents if is_struct else array
                parts[column].append(_batch(child, name, form, dictionary))
        finally:
            _release(array)
    columns: list[StreamColumn] = []
    for (name, form, dictionary), batches in zip(described, parts, strict=True):
        if form in _TEXTS or dictionary in _TEXTS:
            columns.append((name, "text", _encode_texts([text for batch in batches for text in batch])))
        else:
            columns.append((name, "number", np.concatenate(batches) if batches else np.empty(0)))
    return columns


def _release(struct: Any) -> None:
    if struct.release:
        _Release(struct.release)(ctypes.addressof(struct))


def _buffer(array: Any, index: int, dtype: Any, count: int) -> np.ndarray[Any, Any]:
    address = array.buffers[index]
    if not address or not count:
        return np.zeros(count, dtype)
    size = count * np.dtype(dtype).itemsize
    return np.frombuffer((ctypes.c_char * size).from_address(address), dtype)


def _valid(array: Any) -> np.ndarray[Any, np.dtype[np.bool_]]:
    if array.null_count == 0 or not array.buffers[0]:
        return np.ones(array.length, bool)
    bits = _buffer(array, 0, np.uint8, (array.offset + array.length + 7) // 8)
    return np.unpackbits(bits, bitorder="little")[array.offset : array.offset + array.length].astype(bool)


def _batch(array: Any, name: str, form: str, dictionary: str) -> list[bytes | None] | Floats:
    valid = _valid(array)
    if dictionary in _TEXTS:
        texts = _texts(array.dictionary.contents, dictionary)
        index = _buffer(array, 1, _NUMBERS[form], array.offset + array.length)[array.offset :]
        return [texts[k] if ok else None for k, ok in zip(index.tolist(), valid.tolist(), strict=True)]
    if form in _TEXTS:
        return _texts(array, form)
    if form == "n":
        return np.full(array.length, np.nan)
    if form == "b":
        bits = _buffer(array, 1, np.uint8, (array.offset + array.length + 7) // 8)
        numbers = np.unpackbits(bits, bitorder="little")[array.offset : array.offset + array.length]
    elif form in _NUMBERS:
        numbers = _buffer(array, 1, _NUMBERS[form], array.offset + array.length)[array.offset :]
    else:
        raise ValueError(f"column '{name}' has the Arrow type '{form}', which is neither text nor a number")
    return np.where(valid, numbers.astype(np.float64), np.nan)


def _texts(array: Any, form: str) -> list[bytes | None]:
    valid = _valid(array).tolist()
    if form == "vu":
        views = _buffer(array, 1, np.int32, 4 * (array.offset + array.length)).reshape(-1, 4)[array.offset :]
        return [_view_text(array, view) if ok else None for view, ok in zip(views, valid, strict=True)]
    wide = np.int32 if form == "u" else np.int64
    offsets = _buffer(array, 1, wide, array.offset + array.length + 1)[array.offset :].tolist()
    start = array.buffers[2] or 0
    return [
        ctypes.string_at(start + a, b - a) if ok else None
        for a, b, ok in zip(offsets[:-1], offsets[1:], valid, strict=True)
    ]


def _view_text(array: Any, view: Int32s) -> bytes:
    size, _, buffer, offset = view.tolist()
    return view.tobytes()[4 : 4 + size] if size <= 12 else ctypes.string_at(array.buffers[2 + buffer] + offset, size)


def _encode_texts(texts: list[bytes | None]) -> TextColumn:
    code_of: dict[bytes, int] = {}
    codes = np.empty(len(texts), np.int32)
    first: list[int] = []
    for row, text in enumerate(texts):
        if text is None:
            codes[row] = -1
            continue
        code = code_of.setdefault(text, len(code_of))
        if code == len(first):
            first.append(row)
        codes[row] = code
    offsets = np.zeros(len(code_of) + 1, np.int64)
    np.cumsum([len(text) for text in code_of], out=offsets[1:])
    data = np.frombuffer(b"".join(code_of), np.uint8)
    return codes, offsets, data, np.array(first, np.int64)
