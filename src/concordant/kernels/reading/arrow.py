"""Read tables in Arrow memory through ctypes (NumPy reference of arrow.cpp)."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from concordant.kernels.layouts import encode, pointers
from concordant.types import Bytes, Floats, Int32s, Int64s

__all__ = ["read_stream"]

TextColumn = tuple[Int32s, Int64s, Bytes, Int64s]
StreamColumn = tuple[str, str, TextColumn | Floats]


# ---- The Arrow C data interface through ctypes: three structs of the published ABI ----
class _Schema(ctypes.Structure): ...


class _Array(ctypes.Structure): ...


class _Stream(ctypes.Structure): ...


_Release = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_END = [("release", ctypes.c_void_p), ("private_data", ctypes.c_void_p)]
_Schema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_void_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(_Schema))),
    ("dictionary", ctypes.POINTER(_Schema)),
    *_END,
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
    *_END,
]
_Stream._fields_ = [
    ("get_schema", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)),
    ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)),
    ("get_last_error", ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_void_p)),
    *_END,
]

_NUMBERS = dict(zip("cCsSiIlLfg", ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"), strict=True))
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
    if not stream.release:
        raise ValueError("The Arrow stream has already been read")

    def ask(function: Callable[[int, int], int], target: ctypes.Structure) -> None:
        if function(address, ctypes.addressof(target)):
            why = stream.get_last_error(address)
            raise RuntimeError(why.decode() if why else "the Arrow stream failed without a reason")

    schema = _Schema()
    ask(stream.get_schema, schema)
    is_struct = schema.format == b"+s"
    children = [schema.children[c].contents for c in range(schema.n_children)] if is_struct else [schema]
    try:
        described = [_described(child) for child in children]
    finally:
        _release(schema)
    parts: list[list[Any]] = [[] for _ in described]
    while True:
        array = _Array()
        ask(stream.get_next, array)
        if not array.release:
            break
        try:
            _check_shape(array, 0)
            if is_struct and (array.n_children < len(described) or not array.children):
                raise ValueError("The Arrow data lack a column")
            for column, (name, form, dictionary_form) in enumerate(described):
                try:
                    child = _child(array, column) if is_struct else array
                    parts[column].append(_column_values(child, form, dictionary_form))
                except ValueError as problem:
                    raise ValueError(f"The column '{name}' cannot be read: {problem}") from None
        finally:
            _release(array)
    columns: list[StreamColumn] = []
    for (name, form, dictionary_form), batches in zip(described, parts, strict=True):
        if form in _TEXTS or dictionary_form in _TEXTS:
            columns.append((name, "text", _encode_texts([text for batch in batches for text in batch], name)))
        else:
            columns.append((name, "number", np.concatenate(batches) if batches else np.empty(0)))
    return columns


def _described(child: Any) -> tuple[str, str, str]:
    """Return (name, format, format of the dictionary) of a column; only dictionaries of texts are read."""
    try:
        name = (child.name or b"").decode()
    except UnicodeDecodeError:
        raise ValueError("The name of an Arrow column is not UTF-8") from None
    form, dictionary = child.format.decode(), child.dictionary.contents.format.decode() if child.dictionary else ""
    if dictionary and (dictionary not in _TEXTS or form not in "cCsSiIlL"):
        return name, f"dictionary of {dictionary}", ""
    return name, form, dictionary


def _child(array: Any, column: int) -> Any:
    """Return the rows of a column that a batch covers; the batch may be a slice."""
    child = array.children[column].contents
    _check_shape(child, 0)
    if child.length < array.offset + array.length:
        raise ValueError("it is shorter than the table")
    part = _Array.from_buffer_copy(child)
    part.offset, part.length = child.offset + array.offset, array.length
    return part


def _check_shape(array: Any, n_buffers: int) -> None:
    """Reject an Arrow array with an invalid length, offset or buffer count."""
    if not (0 <= array.length <= 1 << 56 and 0 <= array.offset <= 1 << 56):
        raise ValueError("its length or offset is out of range")
    is_short = array.n_buffers < n_buffers or (n_buffers > 0 and not array.buffers)
    if is_short or (n_buffers > 1 and array.length > 0 and not array.buffers[1]):
        raise ValueError("a buffer is missing")


def _release(struct: Any) -> None:
    """Call the release function of an Arrow struct, if it has one."""
    if struct.release:
        _Release(struct.release)(ctypes.addressof(struct))


def _buffer(array: Any, index: int, dtype: Any, count: int) -> np.ndarray[Any, Any]:
    """Return a buffer as an array of ``count`` numbers, without a copy; zeros if it is missing."""
    address = array.buffers[index]
    if not address or not count:
        return np.zeros(count, dtype)
    size = count * np.dtype(dtype).itemsize
    return np.frombuffer((ctypes.c_char * size).from_address(address), dtype)


def _valid(array: Any) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Return, for every row, whether it is not null."""
    if array.null_count == 0 or not array.buffers[0]:
        return np.ones(array.length, bool)
    bits = _buffer(array, 0, np.uint8, (array.offset + array.length + 7) // 8)
    return np.unpackbits(bits, bitorder="little")[array.offset : array.offset + array.length].astype(bool)


def _column_values(array: Any, form: str, dictionary_form: str) -> list[bytes | None] | Floats:
    """Return the values of one column of one batch: bytes or None for text, floats with NaN for null.

    ``form`` and ``dictionary_form`` (empty: none) are Arrow's format strings, among them 'n' null and 'b' bits.
    """
    if form in _TEXTS:
        return _texts(array, form)
    _check_shape(array, 0 if form == "n" else 2)
    valid = np.zeros(array.length, bool) if form == "n" else _valid(array)
    if dictionary_form:
        if not array.dictionary:
            raise ValueError("its dictionary is missing")
        texts = _texts(array.dictionary.contents, dictionary_form)
        index = _buffer(array, 1, _NUMBERS[form], array.offset + array.length)[array.offset :]
        outside = np.flatnonzero(valid & ((index < 0) | (index >= len(texts))))
        if len(outside):
            raise ValueError(f"row {outside[0] + 1} points outside its dictionary")
        return [texts[k] if ok else None for k, ok in zip(index.tolist(), valid.tolist(), strict=True)]
    if form == "n":
        return np.full(array.length, np.nan)
    if form == "b":
        bits = _buffer(array, 1, np.uint8, (array.offset + array.length + 7) // 8)
        numbers = np.unpackbits(bits, bitorder="little")[array.offset : array.offset + array.length]
    elif form in _NUMBERS:
        numbers = _buffer(array, 1, _NUMBERS[form], array.offset + array.length)[array.offset :]
    else:
        raise ValueError(f"it has the Arrow type '{form}', which is neither text nor a number")
    return np.where(valid, numbers.astype(np.float64), np.nan)


def _texts(array: Any, form: str) -> list[bytes | None]:
    """Return the texts of a column as bytes, None for null; ``form`` is 32-bit or 64-bit offsets, or views."""
    _check_shape(array, 3)
    valid = _valid(array).tolist()
    if form == "vu":
        views = _buffer(array, 1, np.int32, 4 * (array.offset + array.length)).reshape(-1, 4)[array.offset :]
        n_data = array.n_buffers - 3  # the last buffer holds the sizes of those the views point into
        sizes = _buffer(array, array.n_buffers - 1, np.int64, n_data).tolist()
        return [_view_text(array, view, sizes, row) if valid[row] else None for row, view in enumerate(views)]
    offset_type = np.int32 if form == "u" else np.int64
    offsets = _buffer(array, 1, offset_type, array.offset + array.length + 1)[array.offset :]
    if offsets[0] < 0 or (offsets[1:] < offsets[:-1]).any():
        raise ValueError("its text offsets are not in order")
    start = array.buffers[2] or 0
    if not start and offsets[-1] > 0:
        raise ValueError("a buffer is missing")
    bounds = offsets.tolist()
    return [
        ctypes.string_at(start + a, b - a) if ok else None
        for a, b, ok in zip(bounds[:-1], bounds[1:], valid, strict=True)
    ]


def _view_text(array: Any, view: Int32s, sizes: list[int], row: int) -> bytes:
    """Return the text of a view: inline up to 12 bytes, otherwise a part of one of the data buffers."""
    size, _, buffer, offset = view.tolist()
    if 0 <= size <= 12:
        return view.tobytes()[4 : 4 + size]
    if size < 0 or not (0 <= buffer < len(sizes)) or not (0 <= offset <= sizes[buffer] - size):
        raise ValueError(f"the text in row {row + 1} lies outside its buffer")
    return ctypes.string_at(array.buffers[2 + buffer] + offset, size)


def _encode_texts(texts: list[bytes | None], name: str) -> TextColumn:
    """Return texts as codes (-1 for null), offsets and bytes of the distinct ones, and the first row of each."""
    codes, first, distinct = encode(texts)
    if None in distinct:  # -1 for null, the others numbered without it
        null = distinct.index(None)
        codes[codes == null], first = -1, np.delete(first, null)
        codes[codes > null] -= 1
        distinct.remove(None)
    for row, text in zip(first.tolist(), distinct, strict=True):
        if not _is_utf8(text):
            raise ValueError(f"The column '{name}' cannot be read: the text in row {row + 1} is not UTF-8")
    offsets = pointers(np.array([len(text) for text in distinct]))
    return codes, offsets, np.frombuffer(b"".join(distinct), np.uint8), first


def _is_utf8(text: bytes) -> bool:
    """Return whether bytes are valid UTF-8."""
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
