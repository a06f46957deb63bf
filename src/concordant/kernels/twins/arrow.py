"""Tables in Arrow memory through ctypes and NumPy (twin of arrow.cpp)."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from concordant.types import Bytes, Floats, Int32s, Int64s

__all__ = ["read_stream"]

TextColumn = tuple[Int32s, Int64s, Bytes, Int64s]
StreamColumn = tuple[str, str, TextColumn | Floats]


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
