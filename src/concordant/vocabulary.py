"""Labels and their codes: the vocabularies of items, agents and instances.

A vocabulary numbers labels in order of first appearance. Labels are text; whole numbers are taken as the text
that writes them. A column can be a list, a NumPy array, a pandas or polars series or any Arrow array: text in
Arrow memory is numbered without ever becoming Python objects, and its labels are decoded only when asked for.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, overload

import numpy as np

from concordant import kernels
from concordant.errors import InputError, UnknownNameError, suggest
from concordant.types import AnyArray, Bytes, Int32s, Int64s


class Vocabulary(Sequence[str]):
    """Distinct labels in a fixed order, with fast look-up both ways."""

    __slots__ = ("_code_of", "_labels", "_make", "_size")

    def __init__(self, labels: Iterable[str]) -> None:
        self._labels: list[str] | None = list(labels)
        self._make: Callable[[], list[str]] | None = None
        self._size = len(self._labels)
        self._code_of: dict[str, int] | None = None

    @classmethod
    def lazy(cls, size: int, make: Callable[[], list[str]]) -> Vocabulary:
        """Make a vocabulary whose labels are built when first needed."""
        vocabulary = cls.__new__(cls)
        vocabulary._labels, vocabulary._make, vocabulary._size, vocabulary._code_of = None, make, size, None
        return vocabulary

    @property
    def labels(self) -> list[str]:
        """All labels in code order (do not change the list)."""
        if self._labels is None:
            assert self._make is not None
            self._labels, self._make = self._make(), None
        return self._labels

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[str]:
        return iter(self.labels)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        return self.labels[index]

    def __contains__(self, label: object) -> bool:
        return label in self._lookup()

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Vocabulary) and len(self) == len(other) and self.labels == other.labels
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = ", ".join(repr(shorten(label)) for label in self.labels[:5])
        return f"Vocabulary([{shown}{', …' if len(self) > 5 else ''}], size {len(self)})"

    def code(self, label: object, what: str = "label") -> int:
        """Return the code of a label, or raise UnknownNameError with the nearest labels."""
        text = str(label)
        try:
            return self._lookup()[text]
        except KeyError:
            hint = suggest(text, self.labels[:10_000])
            raise UnknownNameError(f"There is no {what} {shorten(text)!r} here.{hint}") from None

    def codes(self, labels: Iterable[object]) -> Int32s:
        """Return the codes of many labels, -1 where a label is unknown."""
        lookup = self._lookup()
        return np.array([lookup.get(str(label), -1) for label in labels], np.int32)

    def take(self, codes: AnyArray | Sequence[int]) -> list[str]:
        """Return the labels of many codes."""
        labels = self.labels
        return [labels[code] for code in np.asarray(codes).tolist()]

    def _lookup(self) -> dict[str, int]:
        if self._code_of is None:
            self._code_of = {label: code for code, label in enumerate(self.labels)}
        return self._code_of


def shorten(label: str, width: int = 60) -> str:
    """Cut a label for display; a label can be a million characters long."""
    return label if len(label) <= width else label[: width - 1] + "…"


def encode(column: object, what: str = "item") -> tuple[Int32s, Vocabulary]:
    """Number the labels of one column: (codes, vocabulary)."""
    codes, vocabulary, _ = _encode(column, what)
    return codes, vocabulary


def encode_together(columns: Sequence[object], what: str = "item") -> tuple[list[Int32s], Vocabulary]:
    """Number the labels of several columns with one vocabulary, in order of first appearance row by row."""
    encoded = [_encode(column, what) for column in columns]
    if len(encoded) == 1:
        return [encoded[0][0]], encoded[0][1]
    if all(vocabulary is encoded[0][1] for _, vocabulary, _ in encoded):
        return [codes for codes, _, _ in encoded], encoded[0][1]
    joined = [label for _, vocabulary, _ in encoded for label in vocabulary.labels]
    shared, first, _ = kernels.encode_objects(joined)
    labels = [joined[k] for k in first.tolist()]
    row = np.concatenate([first_row for _, _, first_row in encoded])
    column_of = np.repeat(np.arange(len(encoded)), [len(vocabulary) for _, vocabulary, _ in encoded])
    earliest = np.full(len(labels), np.iinfo(np.int64).max)
    np.minimum.at(earliest, shared, row * len(encoded) + column_of)
    by_appearance = np.argsort(earliest, kind="stable")
    new_code = np.empty(len(labels), np.int32)
    new_code[by_appearance] = np.arange(len(labels), dtype=np.int32)
    start, out = 0, []
    for codes, vocabulary, _ in encoded:
        out.append(new_code[shared[start : start + len(vocabulary)]][codes])
        start += len(vocabulary)
    return out, Vocabulary([labels[k] for k in by_appearance.tolist()])


def vocabulary_of_bytes(offsets: Int64s, data: Bytes) -> Vocabulary:
    """Make a vocabulary over UTF-8 text kept end to end, decoded when first needed."""

    def decode() -> list[str]:
        raw, ends = data.tobytes(), offsets.tolist()
        return [raw[a:b].decode("utf-8", "replace") for a, b in pairwise(ends)]

    return Vocabulary.lazy(len(offsets) - 1, decode)


def _encode(column: object, what: str) -> tuple[Int32s, Vocabulary, Int64s]:
    if isinstance(column, tuple) and len(column) == 2 and isinstance(column[1], Vocabulary):
        return _encode_coded(*column, what)
    if speaks_arrow(column):
        return _encode_arrow(column, what)
    if not isinstance(column, (list, np.ndarray)):
        column = column.tolist() if hasattr(column, "tolist") else list(column)  # type: ignore[call-overload]
    if isinstance(column, np.ndarray):
        if column.ndim != 1:
            raise InputError(f"The {what} column has {column.ndim} dimensions: give one label per row.")
        if column.dtype.kind in "iu":
            return _encode_ints(column)
        if column.dtype.kind == "f":
            return _encode_floats(column, what)
        column = column.tolist()
    values: list[Any] = column  # type: ignore[assignment]
    codes, first, bad = kernels.encode_objects(values)
    if bad >= 0:
        values = _as_texts(values, what)
        codes, first, _ = kernels.encode_objects(values)
    return codes, Vocabulary.lazy(len(first), lambda: [str(values[k]) for k in first.tolist()]), first


def _encode_coded(codes: AnyArray, vocabulary: Vocabulary, what: str) -> tuple[Int32s, Vocabulary, Int64s]:
    codes = np.ascontiguousarray(codes, np.int32)
    if len(codes) and (codes.min() < 0 or codes.max() >= len(vocabulary)):
        raise InputError(f"A code of the {what} column lies outside its vocabulary of {len(vocabulary)} labels.")
    first = np.full(len(vocabulary), np.iinfo(np.int64).max // 64)
    np.minimum.at(first, codes, np.arange(len(codes)))
    return codes, vocabulary, first


def _encode_ints(column: AnyArray) -> tuple[Int32s, Vocabulary, Int64s]:
    values = np.ascontiguousarray(column, np.int64)
    codes, first = kernels.encode_ints(values)
    distinct = values[first]
    return codes, Vocabulary.lazy(len(first), lambda: [str(value) for value in distinct.tolist()]), first


def _encode_floats(column: AnyArray, what: str) -> tuple[Int32s, Vocabulary, Int64s]:
    missing = np.flatnonzero(~np.isfinite(column))
    if len(missing):
        raise InputError(f"The {what} in row {missing[0] + 1} is missing: drop the row or name the {what}.")
    if not np.array_equal(column, np.floor(column)):
        row = int(np.flatnonzero(column != np.floor(column))[0])
        raise InputError(
            f"The {what} in row {row + 1} is {column[row]!s}: {what} labels must be text or whole numbers."
        )
    return _encode_ints(column.astype(np.int64))


def _encode_arrow(column: Any, what: str) -> tuple[Int32s, Vocabulary, Int64s]:
    kind, parts = read_arrow(column, what)
    if kind == "number":
        return _encode_floats(np.asarray(parts), what)
    codes, offsets, data, first = parts
    if len(codes) and int(codes.min()) < 0:
        row = int(np.flatnonzero(codes < 0)[0])
        raise InputError(f"The {what} in row {row + 1} is missing: drop the row or name the {what}.")
    return codes, vocabulary_of_bytes(offsets, data), first


def speaks_arrow(column: object) -> bool:
    """Say whether a column can hand itself over in Arrow's layout; pandas promises it but needs pyarrow to do it."""
    if not hasattr(column, "__arrow_c_stream__") and not hasattr(column, "__arrow_c_array__"):
        return False
    return type(column).__module__.partition(".")[0] != "pandas" or _has_pyarrow()


@lru_cache(maxsize=1)
def _has_pyarrow() -> bool:
    from importlib.util import find_spec

    return find_spec("pyarrow") is not None


def read_arrow(column: Any, what: str) -> tuple[str, Any]:
    """Read an Arrow array or series as ``kernels.read_stream`` does: ("text" or "number", parts).

    A column may come from a damaged file that nobody checked: pyarrow compares its buffers with their sizes, the
    kernel checks the rest before it reads.
    """
    try:
        if type(column).__module__.partition(".")[0] == "pandas" and hasattr(column.array, "__arrow_array__"):
            column = column.array.__arrow_array__()
        if not hasattr(column, "__arrow_c_stream__"):
            import pyarrow

            column = pyarrow.chunked_array([pyarrow.array(column)])
        if hasattr(column, "validate"):
            column.validate()
        _, kind, parts = kernels.read_stream(column.__arrow_c_stream__())[0]
    except (ValueError, RuntimeError) as problem:
        raise InputError(f"The {what} column holds Arrow data that cannot be read ({problem}): check them.") from None
    return kind, parts


def _as_texts(values: list[Any], what: str) -> list[str]:
    """Turn a column of mixed Python objects into labels, or say which row cannot be one."""
    texts: list[str] = []
    kind_of: dict[str, bool] = {}
    for row, value in enumerate(values):
        if isinstance(value, str):
            text = str(value)
        elif _is_whole(value):
            text = str(int(value))
        elif value is None or value != value:
            raise InputError(f"The {what} in row {row + 1} is missing: drop the row or name the {what}.")
        else:
            raise InputError(
                f"The {what} in row {row + 1} is {shorten(repr(value))} ({type(value).__name__}): "
                f"{what} labels must be text or whole numbers."
            )
        if kind_of.setdefault(text, isinstance(value, str)) != isinstance(value, str):
            raise InputError(
                f"The {what} {shorten(text)!r} occurs both as text and as a number (row {row + 1}): "
                "convert the column to one type."
            )
        texts.append(text)
    return texts


def _is_whole(value: Any) -> bool:
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        return False
    return isinstance(value, numbers.Integral) or float(value).is_integer()
