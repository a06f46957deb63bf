"""Vocabularies that map the labels of items, agents and instances to integer codes.

A vocabulary numbers labels in order of first appearance. Labels are text; whole numbers are converted to text. A column
can be a list, a NumPy array, a pandas or polars series or any Arrow array. Text in Arrow memory is encoded without
creating Python objects, and its labels are decoded only on request.
"""

from __future__ import annotations

import numbers
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, overload

import numpy as np

from concordant import kernels
from concordant.errors import InputError, UnknownNameError, suggest
from concordant.support.frozen import FrozenList
from concordant.support.text import isolate
from concordant.types import AnyArray, Bytes, Int32s, Int64s

LARGEST = np.iinfo(np.int64).max
CHUNK = 1 << 16  # rows
_COMPARED = 10_000  # labels that are shortened together
UNSEEN = np.iinfo(np.int64).max // 64  # the first row of a label that no row bears


class Vocabulary(Sequence[str]):
    """Distinct labels in a fixed order, with fast lookup in both directions."""

    __slots__ = ("_build_labels", "_code_of", "_frozen_labels", "_plain_labels", "_size", "spelling")

    def __init__(self, labels: Iterable[str]) -> None:
        self._plain_labels: list[str] | None = list(labels)
        self._frozen_labels: FrozenList[str] | None = None
        self._build_labels: Callable[[], list[str]] | None = None
        self._size = len(self._plain_labels)
        self._code_of: dict[str, int] | None = None
        self.spelling: tuple[Int64s, Bytes] | None = None
        """Offsets and concatenated UTF-8 text, if the labels were given in that form."""

    @classmethod
    def lazy(cls, size: int, make: Callable[[], list[str]]) -> Vocabulary:
        """Create a vocabulary whose labels are built when first needed."""
        vocabulary = cls.__new__(cls)
        vocabulary._plain_labels, vocabulary._build_labels, vocabulary._size, vocabulary._code_of = (
            None,
            make,
            size,
            None,
        )
        vocabulary._frozen_labels = None
        vocabulary.spelling = None
        return vocabulary

    @property
    def labels(self) -> list[str]:
        """All labels in code order, as an immutable list."""
        if self._frozen_labels is None:
            self._frozen_labels = FrozenList(self._labels)
        return self._frozen_labels

    @property
    def _labels(self) -> list[str]:
        """All labels in a plain list, which is faster to index; for internal use only."""
        if self._plain_labels is None:
            assert self._build_labels is not None
            self._plain_labels, self._build_labels = self._build_labels(), None
        return self._plain_labels

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[str]:
        return iter(self._labels)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        return self._labels[index]

    def __contains__(self, label: object) -> bool:
        return label in self._lookup()

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Vocabulary) and len(self) == len(other) and self._labels == other._labels
        )

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[type[Vocabulary], tuple[list[str]]]:
        return Vocabulary, (self._labels,)

    def __repr__(self) -> str:
        shown = ", ".join(repr(shorten(label)) for label in self._labels[:5])
        return f"Vocabulary([{shown}{', …' if len(self) > 5 else ''}], size {len(self)})"

    def code(self, label: object, what: str = "label") -> int:
        """Return the code of a label, or raise UnknownNameError with the closest labels."""
        text = str(label)
        try:
            return self._lookup()[text]
        except KeyError:
            hint = suggest(text, self._labels[:10_000])
            item = text if what == "item" else None
            raise UnknownNameError(f"There is no {what} {shorten(text)!r}.{hint}", item=item) from None

    def codes(self, labels: Iterable[object]) -> Int32s:
        """Return the codes of many labels, -1 for unknown labels."""
        lookup = self._lookup()
        return np.array([lookup.get(str(label), -1) for label in labels], np.int32)

    def take(self, codes: AnyArray | Sequence[int]) -> list[str]:
        """Return the labels of many codes."""
        labels = self._labels
        return [labels[code] for code in np.asarray(codes).tolist()]

    def _lookup(self) -> dict[str, int]:
        if self._code_of is None:
            self._code_of = {label: code for code, label in enumerate(self._labels)}
        return self._code_of


def shorten(label: str, width: int = 60) -> str:
    """Shorten a label for display; a label can have a million characters."""
    return label if len(label) <= width else label[: width - 1] + "…"


def in_sentence(label: str, width: int = 30) -> str:
    """Return a label for use in a sentence: shortened, and isolated if it is written from right to left."""
    return isolate(shorten(label, width))


def all_in_sentence(labels: Sequence[str], width: int = 30) -> list[str]:
    """Return labels for use in sentences; up to 10,000 distinct labels stay distinct."""
    short = shorten_apart(labels, width) if len(labels) <= _COMPARED else [shorten(label, width) for label in labels]
    return [isolate(label) for label in short]


def shorten_apart(labels: Sequence[str], width: int = 60) -> list[str]:
    """Shorten labels that are displayed together; distinct labels stay distinct.

    A label loses its end, or, if another label shares its first half of the width, a part in the middle: what these
    labels share is less informative than what follows. Labels of at most ``width`` characters are unchanged.
    """
    if max(map(len, labels), default=0) <= width:
        return list(labels)
    shown = {label: label for label in labels if len(label) <= width}
    alike: dict[str, list[str]] = {}
    for label in sorted(set(labels)):
        alike.setdefault(label[: width // 2], []).append(label)
    used = set(shown)
    for group in alike.values():
        n_numbered = 1
        for label, forms in _short_forms(group, width):
            form = next((form for form in forms if form not in used), "")
            while not form or form in used:
                n_numbered += 1
                ending = f"… ({n_numbered})"
                form = label[: max(width - len(ending), 1)] + ending
            shown[label] = form
            used.add(form)
    return [shown[label] for label in labels]


def _short_forms(group: Sequence[str], width: int) -> Iterator[tuple[str, list[str]]]:
    """Yield each long label of a sorted group with the same start, and short forms of it, best first."""
    if len(group) == 1 and len(group[0]) > width:
        yield group[0], [shorten(group[0], width)]
        return
    long = [label for label in group if len(label) > width]
    n_shared = _n_shared(group[0], group[-1])  # of sorted labels, the first and last differ most
    endings = [_without_middle(label, width, len(label)) for label in long]
    n_endings = Counter(endings)
    for k, (label, ending) in enumerate(zip(long, endings, strict=True)):
        n_shared_here = max(_n_shared(label, other) for other in long[k - 1 : k] + long[k + 1 : k + 2] or [""])
        parts = [_without_middle(label, width, at) for at in (n_shared, n_shared_here)]
        tells = n_endings[ending] == 1
        is_apart = tells and len(label) - len(ending.partition("…")[2]) <= n_shared_here  # it shows where they differ
        yield label, [ending, *parts] if is_apart else [*parts, ending] if tells else parts


def _n_shared(one: str, other: str) -> int:
    """Return the number of characters with which two labels start alike."""
    return next((k for k, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _without_middle(label: str, width: int, at: int) -> str:
    """Return the start of a label and the part that contains position ``at``, with … for what is left out."""
    head = max((width - 1) // 3, 1)
    start = min(max(at - 3, head), len(label) - (width - head - 1))
    word = next((k for k in range(start, min(start + 6, at + 1, len(label))) if label[k - 1] in "-_/ .:"), start)
    start = max(word, head)
    while start < len(label) - 1 and unicodedata.category(label[start])[0] == "M":
        start += 1  # an accent belongs to the letter before it
    return shorten(f"{label[:head]}…{label[start:]}", width)


Coded = tuple[Int32s, Vocabulary]
"""A text column: the code of each row (-1 for missing) and the labels."""


def encode(column: object, what: str = "item") -> Coded:
    """Encode one column (list, array, series, Arrow data, or codes with a vocabulary) as (codes, vocabulary)."""
    if isinstance(column, tuple) and len(column) == 2 and isinstance(column[1], Vocabulary):
        return _checked(*column, what)
    if speaks_arrow(column):
        return _encode_arrow(column, what)
    if not isinstance(column, (list, np.ndarray)):
        column = column.tolist() if hasattr(column, "tolist") else list(column)  # type: ignore[call-overload]
    if isinstance(column, np.ndarray):
        if column.ndim != 1:
            raise InputError(f"The {what} column has {column.ndim} dimensions: give one label per row.")
        if column.dtype.kind == "f":
            return _encode_floats(column, what)
    integers = as_whole_numbers(column)
    if integers is not None:
        return _encode_ints(integers)
    values: list[Any] = column.tolist() if isinstance(column, np.ndarray) else column  # type: ignore[assignment]
    codes, first, bad = kernels.encode_objects(values)
    if bad >= 0:
        values = _as_texts(values, what)
        codes, first, _ = kernels.encode_objects(values)
    return codes, Vocabulary.lazy(len(first), lambda: [str(values[k]) for k in first.tolist()])


def encode_together(columns: Sequence[object], what: str = "item") -> tuple[list[Int32s], Vocabulary]:
    """Encode several columns with one vocabulary, in order of first appearance row by row."""
    return join_columns([encode(column, what) for column in columns])


def encode_whole_numbers(columns: Sequence[object]) -> Coded | None:
    """Encode columns of whole numbers like ``encode_together``, but return the codes row by row.

    None if a column contains anything else, or if the columns differ in length.
    """
    whole = [column for column in map(as_whole_numbers, columns) if column is not None]
    if len(whole) < len(columns) or len({len(column) for column in whole}) > 1:
        return None
    return _encode_ints(np.stack(whole, 1).reshape(-1))


def join_columns(columns: Sequence[Coded]) -> tuple[list[Int32s], Vocabulary]:
    """Convert columns to one vocabulary, in order of first appearance row by row; each label is compared once."""
    tables, vocabulary = _joined(columns)
    if tables is None:
        return [codes for codes, _ in columns], vocabulary
    return [table[codes] for (codes, _), table in zip(columns, tables, strict=True)], vocabulary


def join_rows(columns: Sequence[Coded]) -> Coded:
    """Like ``join_columns`` for columns of equal length, but return the codes row by row in one array."""
    tables, vocabulary = _joined(columns)
    n = len(columns[0][0])
    rows = np.empty((n, len(columns)), np.int32)
    for start in range(0, n, CHUNK):  # what lies between stays in the cache
        for k, (codes, _) in enumerate(columns):
            part = codes[start : start + CHUNK]
            rows[start : start + CHUNK, k] = part if tables is None else tables[k][part]
    return rows.reshape(-1), vocabulary


def _joined(columns: Sequence[Coded]) -> tuple[list[Int32s] | None, Vocabulary]:
    """Return, per column, the common code of each label, then -1 for missing; None if all share a vocabulary."""
    if all(vocabulary is columns[0][1] for _, vocabulary in columns):
        return None, columns[0][1]
    tables, vocabulary = join_vocabularies([vocabulary for _, vocabulary in columns])
    earliest = np.full(len(vocabulary), UNSEEN)
    for k, ((codes, _), table) in enumerate(zip(columns, tables, strict=True)):
        first = _first_rows(codes, len(table) - 1) * len(columns) + k
        earliest[table[:-1]] = np.minimum(earliest[table[:-1]], first)
    by_appearance = np.argsort(earliest, kind="stable")
    code = np.full(len(vocabulary) + 1, -1, np.int32)
    code[by_appearance] = np.arange(len(vocabulary), dtype=np.int32)
    return [code[table] for table in tables], Vocabulary.lazy(len(vocabulary), lambda: vocabulary.take(by_appearance))


def _first_rows(codes: Int32s, size: int) -> Int64s:
    """Return the first row of each code, ``UNSEEN`` if there is none; stop reading once all codes have occurred."""
    first = np.full(size, UNSEEN)
    step = max(4 * size, 4096)
    for start in range(0, len(codes), step):
        part = codes[start : start + step]
        first_in_part = np.full(size + 1, UNSEEN)  # the last one is of -1, missing
        first_in_part[part[::-1]] = np.arange(start + len(part) - 1, start - 1, -1)  # of equal codes the last is kept
        np.minimum(first, first_in_part[:-1], out=first)
        if first.max(initial=0) < UNSEEN:
            break
    return first


def join_vocabularies(vocabularies: Sequence[Vocabulary]) -> tuple[list[Int32s], Vocabulary]:
    """Merge vocabularies.

    Return, for each, the new code of each label followed by -1 (for missing labels), and the union. Labels stored as
    bytes are compared as bytes, without decoding them.
    """
    spellings = [vocabulary.spelling for vocabulary in vocabularies if vocabulary.spelling is not None]
    if len(spellings) < len(vocabularies):
        labels = [label for vocabulary in vocabularies for label in vocabulary.labels]
        codes, first, _ = kernels.encode_objects(labels)
        joined = Vocabulary([labels[k] for k in first.tolist()])
    else:
        shifts = np.cumsum([0, *(len(data) for _, data in spellings[:-1])])
        start = np.concatenate(
            [offsets[:-1] + shift_of for (offsets, _), shift_of in zip(spellings, shifts, strict=True)]
        )
        end = np.concatenate([offsets[1:] + shift_of for (offsets, _), shift_of in zip(spellings, shifts, strict=True)])
        codes, offsets, data, _ = kernels.encode_spans(np.concatenate([data for _, data in spellings]), start, end)
        joined = vocabulary_of_bytes(offsets, data)
    bounds = np.cumsum([len(vocabulary) for vocabulary in vocabularies[:-1]])
    return [np.append(codes_of_one, np.int32(-1)) for codes_of_one in np.split(codes, bounds)], joined


def codes_in(vocabulary: Vocabulary, labels: Vocabulary) -> Int32s:
    """Return the code in ``vocabulary`` of each label, -1 for unknown labels."""
    (_, joined_code), _ = join_vocabularies([vocabulary, labels])
    return np.where(joined_code < len(vocabulary), joined_code, np.int32(-1))[:-1]


def renumber(codes: AnyArray, vocabulary: Vocabulary) -> Coded:
    """Renumber codes in order of appearance, keeping only the labels in use."""
    new_codes, first = kernels.encode_ints(np.ascontiguousarray(codes, np.int64))
    used = np.asarray(codes)[first]
    if len(used) == len(vocabulary) and np.array_equal(used, np.arange(len(used))):
        return np.ascontiguousarray(codes, np.int32), vocabulary
    return new_codes, Vocabulary.lazy(len(used), lambda: vocabulary.take(used))


def by_label(codes: AnyArray, vocabulary: Vocabulary) -> Coded:
    """Renumber codes in the order of the labels; -1 stays."""
    labels = vocabulary.labels
    order = sorted(range(len(labels)), key=labels.__getitem__)
    new = np.full(len(labels) + 1, -1, np.int32)
    new[order] = np.arange(len(labels), dtype=np.int32)
    return new[codes], Vocabulary([labels[k] for k in order])


def vocabulary_of_bytes(offsets: Int64s, data: Bytes) -> Vocabulary:
    """Create a vocabulary over concatenated UTF-8 text, decoded when first needed."""

    def decode() -> list[str]:
        raw, ends = data.tobytes(), offsets.tolist()
        return [raw[a:b].decode("utf-8", "replace") for a, b in pairwise(ends)]

    vocabulary = Vocabulary.lazy(len(offsets) - 1, decode)
    vocabulary.spelling = offsets, data
    return vocabulary


def coded_of_stream(parts: Any) -> Coded:
    """Return a text column of ``kernels.read_stream`` with empty texts as missing (-1)."""
    codes, offsets, data, _ = parts
    empty = np.flatnonzero(np.diff(offsets) == 0)
    if len(empty):
        codes = np.where(codes == empty[0], np.int32(-1), codes)
    return codes, vocabulary_of_bytes(offsets, data)


def _checked(codes: AnyArray, vocabulary: Vocabulary, what: str) -> Coded:
    """Return codes with their vocabulary; reject codes outside it."""
    codes = np.ascontiguousarray(codes, np.int32)
    if len(codes) and (codes.min() < 0 or codes.max() >= len(vocabulary)):
        raise InputError(f"A code in the {what} column lies outside its vocabulary of {len(vocabulary)} labels.")
    return codes, vocabulary


def as_whole_numbers(column: object) -> Int64s | None:
    """Return a column of integers as int64; None if it contains anything else, or a number beyond int64."""
    if isinstance(column, np.ndarray):
        if column.ndim != 1 or column.dtype.kind not in "iu" or (column.size and column.max() > LARGEST):
            return None
        return np.ascontiguousarray(column, np.int64)
    if not isinstance(column, list) or not column or isinstance(column[0], str):
        return None
    integers, bad = kernels.list_integers(column)
    if bad >= 0 and all(issubclass(kind, np.integer) for kind in set(map(type, column))):
        return as_whole_numbers(np.array(column))
    return integers if bad < 0 else None


def _encode_ints(column: AnyArray) -> Coded:
    """Encode the distinct integers of a column; labels are created when first needed."""
    values = np.ascontiguousarray(column, np.int64)
    codes, first = kernels.encode_ints(values)
    distinct = values[first]
    return codes, Vocabulary.lazy(len(first), lambda: [str(value) for value in distinct.tolist()])


def _encode_floats(column: AnyArray, what: str) -> Coded:
    """Encode a column of floats that are all whole; reject missing and fractional values."""
    missing = np.flatnonzero(~np.isfinite(column))
    if len(missing):
        raise InputError(f"The {what} in row {missing[0] + 1} is missing: drop the row or name the {what}.")
    if not np.array_equal(column, np.floor(column)):
        row = int(np.flatnonzero(column != np.floor(column))[0])
        raise InputError(
            f"The {what} in row {row + 1} is {column[row]!s}: {what} labels must be text or whole numbers."
        )
    return _encode_ints(column.astype(np.int64))


def _encode_arrow(column: Any, what: str) -> Coded:
    """Encode an Arrow column of text or numbers; reject missing values."""
    kind, parts = read_arrow(column, what)
    if kind == "number":
        return _encode_floats(np.asarray(parts), what)
    codes, offsets, data, _ = parts
    if len(codes) and int(codes.min()) < 0:
        row = int(np.flatnonzero(codes < 0)[0])
        raise InputError(f"The {what} in row {row + 1} is missing: drop the row or name the {what}.")
    return codes, vocabulary_of_bytes(offsets, data)


def speaks_arrow(column: object) -> bool:
    """Return whether a column exports Arrow data; pandas columns do so only with pyarrow installed."""
    if not hasattr(column, "__arrow_c_stream__") and not hasattr(column, "__arrow_c_array__"):
        return False
    return type(column).__module__.partition(".")[0] != "pandas" or _has_pyarrow()


@lru_cache(maxsize=1)
def _has_pyarrow() -> bool:
    from importlib.util import find_spec

    return find_spec("pyarrow") is not None


def read_arrow(column: Any, what: str) -> tuple[str, Any]:
    """Read an Arrow array or series as ``kernels.read_stream`` does: ("text" or "number", parts).

    A column may come from a damaged file: pyarrow compares its buffers with their sizes, and the kernel checks the rest
    before reading.
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
        raise InputError(
            f"The {what} column contains Arrow data that cannot be read ({problem}): check the data."
        ) from None
    return kind, parts


def _as_texts(values: list[Any], what: str) -> list[str]:
    """Convert a column of mixed Python objects to labels, or raise an error with the row that cannot be converted."""
    texts: list[str] = []
    is_text: dict[str, bool] = {}
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
        if is_text.setdefault(text, isinstance(value, str)) != isinstance(value, str):
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
