"""Sums by keys that merge exactly: the result is bit-for-bit identical however the data are split into parts.

A tally is a small table. Its keys are columns of codes: labels (items, agents, instances, levels), each with a
dictionary, or plain whole numbers. Its sums are stored as integers, because a sum of floats depends on the order of its
terms and a sum of integers does not. A term x is added as floor(x) and as the rest in units of 2^-52, which is exact
for numbers of at least 1 (and within 2^-53 for smaller ones).

Merging unifies the dictionaries of the parts and adds the sums of equal keys, at the cost of sorting the rows.
``sorted`` sorts labels and rows, after which two tallies of the same data have equal arrays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from concordant.ballots.merging import rows_as_scalars
from concordant.ballots.vocabulary import Vocabulary, join_vocabularies
from concordant.errors import InputError
from concordant.types import AnyArray, Bools, Floats, Int32s, Int64s

UNIT_BITS = 52
HALF_BITS = 26
UNIT = 1 << UNIT_BITS
HALF = (1 << HALF_BITS) - 1


@dataclass(frozen=True, eq=False)
class Sums:
    """Exact sums: ``whole`` + ``part`` x 2^-52 with 0 <= part < 2^52; ``part`` is absent if it is 0 everywhere."""

    whole: Int64s
    part: Int64s | None = None

    @classmethod
    def of(cls, numbers: AnyArray) -> Sums:
        """Split numbers exactly into whole numbers and multiples of 2^-52; each number is a sum of one term."""
        if numbers.dtype.kind in "iub":
            return cls(np.asarray(numbers, np.int64))
        whole = np.floor(numbers)
        part = ((numbers - whole) * UNIT).astype(np.int64)
        # A number just below a whole number may round up to it.
        full = part >= UNIT
        return cls(whole.astype(np.int64) + full, np.where(full, 0, part) if part.any() else None)

    @classmethod
    def of_halves(cls, whole: Floats, high: Floats, low: Floats) -> Sums:
        """Combine separate sums of a query: whole numbers, and the rest in units of 2^-26 and of 2^-52."""
        _bounded(whole)
        high_units, low_units = high.astype(np.int64), low.astype(np.int64)
        high_units = high_units + (low_units >> HALF_BITS)
        part = ((high_units & HALF) << HALF_BITS) | (low_units & HALF)
        return cls(whole.astype(np.int64) + (high_units >> HALF_BITS), part if part.any() else None)

    def __len__(self) -> int:
        return len(self.whole)

    @property
    def value(self) -> Floats:
        """The sums as floats, rounded once."""
        if self.part is None:
            return self.whole.astype(np.float64)
        return self.whole + self.part / UNIT

    def parts(self) -> list[tuple[str, Int64s]]:
        """Return the arrays that hold the sums, by name."""
        return [("whole", self.whole), *([] if self.part is None else [("part", self.part)])]

    def take(self, rows: AnyArray) -> Sums:
        """Return the sums of some rows."""
        return Sums(self.whole[rows], None if self.part is None else self.part[rows])

    def by(self, group: Int64s, size: int) -> Sums:
        """Add up the sums of each group; ``group`` has the group of every sum, below ``size``."""
        whole = _added(group, self.whole, size)
        if self.part is None:
            return Sums(whole)
        high, low = _added(group, self.part >> HALF_BITS, size), _added(group, self.part & HALF, size)
        high = high + (low >> HALF_BITS)
        part = ((high & HALF) << HALF_BITS) | (low & HALF)
        return Sums(whole + (high >> HALF_BITS), part if part.any() else None)


def _bounded(numbers: AnyArray) -> None:
    """Reject numbers whose sum may not fit into 64 bits."""
    total = float(np.abs(numbers, dtype=np.float64).sum())
    if total >= 2.0**62:
        raise InputError(f"The weights add up to {total:.3g}, which is too large to count exactly: scale them down.")


def _added(group: Int64s, numbers: Int64s, size: int) -> Int64s:
    """Add up whole numbers by group."""
    _bounded(numbers)
    totals = np.zeros(size, np.int64)
    np.add.at(totals, group, numbers)
    return totals


@dataclass(frozen=True, eq=False)
class Tally:
    """Sums by keys.

    ``keys``: codes by column, -1 for rows without a label. ``domain``: the dictionary of each column that holds labels.
    ``labels``: the dictionaries. ``sums``: by name.
    """

    keys: Mapping[str, AnyArray]
    domain: Mapping[str, str]
    labels: Mapping[str, Vocabulary]
    sums: Mapping[str, Sums]

    @classmethod
    def zero(cls, keys: Sequence[str], domain: Mapping[str, str], sums: Sequence[str]) -> Tally:
        """Return the tally of no data."""
        none = np.zeros(0, np.int64)
        labels = {name: Vocabulary([]) for name in domain.values()}
        return cls(dict.fromkeys(keys, none), dict(domain), labels, {name: Sums(none) for name in sums})

    def __len__(self) -> int:
        return len(next(iter(self.keys.values())))

    @property
    def nbytes(self) -> int:
        """Size of its arrays in bytes."""
        arrays = [*self.keys.values(), *(sums.whole for sums in self.sums.values())]
        arrays += [sums.part for sums in self.sums.values() if sums.part is not None]
        return sum(array.nbytes for array in arrays)

    def merge(self, *others: Tally) -> Tally:
        """Return the tally of this data combined with ``others``."""
        parts = [part for part in (self, *others) if len(part)]
        if len(parts) < 2:
            return parts[0] if parts else self
        grown = GrowingTally(sum(map(len, parts)))
        for part in parts:
            grown.add(part)
        return grown.done().grouped()

    def grouped(self) -> Tally:
        """Return the same tally with one row per key; sums of equal keys are added up."""
        if not len(self):
            return self
        scalars = rows_as_scalars(np.stack([np.asarray(column, np.int64) for column in self.keys.values()], 1))
        if scalars.dtype.kind == "i":  # sorting is much faster than finding who equals whom
            in_order = np.sort(scalars)
            if (in_order[1:] != in_order[:-1]).all():
                return self
        _, first, group = np.unique(scalars, return_index=True, return_inverse=True)
        if len(first) == len(scalars):
            return self
        keys = {name: column[first] for name, column in self.keys.items()}
        sums = {name: sums_of_name.by(group.reshape(-1), len(first)) for name, sums_of_name in self.sums.items()}
        return Tally(keys, self.domain, self.labels, sums)

    def digest(self) -> str:
        """Return a hash of all keys, labels and sums."""
        from hashlib import blake2b

        state = blake2b(digest_size=16)
        arrays = {**self.keys, **{f"{name} {k}": part for name, sums in self.sums.items() for k, part in sums.parts()}}
        for name, array in arrays.items():
            state.update(f"{name} {array.dtype.str} {len(array)} ".encode())
            state.update(np.ascontiguousarray(array).data)
        for domain, labels in self.labels.items():
            state.update("\0".join([domain, *labels.labels]).encode("utf-8", "surrogatepass"))
        return state.hexdigest()

    @cached_property
    def sorted(self) -> Tally:
        """The same tally with sorted rows and sorted labels, without unused labels: equal data give equal arrays."""
        labels, keys = {}, dict(self.keys)
        for domain in dict.fromkeys(self.domain.values()):
            columns = [name for name, its_domain in self.domain.items() if its_domain == domain]
            vocabulary = self.labels[domain]
            is_used = np.zeros(len(vocabulary) + 1, bool)
            for name in columns:
                is_used[self.keys[name]] = True
            new, labels[domain] = _in_order(vocabulary, is_used[:-1])
            keys |= {name: new[self.keys[name]] for name in columns}
        order = np.lexsort(list(keys.values())[::-1])
        keys = {name: column[order] for name, column in keys.items()}
        return Tally(keys, self.domain, labels, {name: entry.take(order) for name, entry in self.sums.items()})

    def only(self, rows: Bools) -> Tally:
        """Return some of the rows."""
        keys = {name: column[rows] for name, column in self.keys.items()}
        return Tally(keys, self.domain, self.labels, {name: sums.take(rows) for name, sums in self.sums.items()})


class GrowingTally:
    """A tally that grows by pieces without common keys, so that nothing needs to be sorted.

    Address space for ``capacity`` rows is reserved at the start; unused rows take no memory, and no column is ever
    copied.
    """

    def __init__(self, capacity: int) -> None:
        """Prepare for at most ``capacity`` rows."""
        self.capacity, self.size = capacity, 0
        self._domain: Mapping[str, str] = {}
        self._labels: dict[str, Vocabulary] = {}
        self._keys: dict[str, AnyArray] = {}
        self._sums: dict[str, list[Int64s | None]] = {}

    def add(self, piece: Tally) -> None:
        """Append the rows of a piece, translating its codes to the labels known so far."""
        rows = slice(self.size, self.size + len(piece))
        self._domain = piece.domain
        new: dict[str, Int32s | None] = {}
        for domain, vocabulary in piece.labels.items():
            known = self._labels.setdefault(domain, vocabulary)
            new[domain] = None
            if known is not vocabulary:
                (_, new[domain]), self._labels[domain] = join_vocabularies([known, vocabulary])  # known codes stay
        for name, column in piece.keys.items():
            code = new.get(piece.domain.get(name, ""))
            self._column(name, column.dtype)[rows] = column if code is None else code[column]
        for name, sums in piece.sums.items():
            arrays = self._sums.setdefault(name, [np.empty(self.capacity, np.int64), None])
            for k, numbers in enumerate((sums.whole, sums.part)):
                if numbers is not None:
                    if arrays[k] is None:
                        arrays[k] = np.zeros(self.capacity, np.int64)
                    arrays[k][rows] = numbers  # type: ignore[index]
        self.size = rows.stop

    def _column(self, name: str, dtype: np.dtype[Any]) -> AnyArray:
        """Return the column ``name`` at full capacity, widened if its type cannot hold ``dtype``."""
        known = self._keys.get(name)
        if known is None or not np.can_cast(dtype, known.dtype):
            wider = np.empty(self.capacity, dtype)
            wider[: self.size] = 0 if known is None else known[: self.size]
            self._keys[name] = known = wider
        return known

    def done(self) -> Tally:
        """Return the tally of all pieces."""
        sums = {}
        for name, (whole, part) in self._sums.items():
            assert whole is not None
            sums[name] = Sums(whole[: self.size], None if part is None else part[: self.size])
        return Tally(
            {name: column[: self.size] for name, column in self._keys.items()}, self._domain, self._labels, sums
        )


def merge_all(tallies: Sequence[Tally]) -> Tally:
    """Return the tally of all data."""
    return tallies[0].merge(*tallies[1:])


def _in_order(vocabulary: Vocabulary, is_used: Bools) -> tuple[Int32s, Vocabulary]:
    """Return the new code of each label, and the sorted labels in use.

    The code is -1 for unused labels and at the end.
    """
    used = np.flatnonzero(is_used)
    texts = vocabulary.take(used)
    order = sorted(range(len(texts)), key=texts.__getitem__)
    new = np.full(len(vocabulary) + 1, -1, np.int32)
    new[used[order]] = np.arange(len(used), dtype=np.int32)
    return new, Vocabulary([texts[k] for k in order])
