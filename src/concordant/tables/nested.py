"""Nested fields by dotted names: ``conv_metadata.sum_assistant_a_tokens``, ``category_tag.math_v0.1.math``.

A structure describes the values of a column: a mapping of keys to structures for objects, a list with the structure of
its elements for lists (named by position from 0: ``games.0.score``), None for a plain value. Keys may contain dots, so
the longest key that fits is tried first. A column whose own name contains dots is found by that name first.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from concordant.tables.options import normalise

Structure = Mapping[str, Any] | Sequence[Any] | None
Path = tuple[str, ...]


def column_of(name: str, columns: Sequence[str]) -> tuple[str, str] | None:
    """Return the column of a dotted name and the rest of the name, the longest column name first."""
    fitting = [column for column in columns if name.startswith(column + ".")]
    if not fitting:
        fitting = [column for column in columns if normalise(name).startswith(normalise(column) + " ") and "." in name]
    column = max(fitting, key=len, default=None)
    return None if column is None else (column, name[len(column) + 1 :])


def path_in(name: str, structure: Structure) -> Path | None:
    """Return the keys of a dotted name, the longest key first; None if there is no such field."""
    if isinstance(structure, Mapping):
        keys = [key for key in structure if name == key or name.startswith(key + ".")]
        for key in sorted(keys, key=len, reverse=True):
            below: Path | None = () if name == key else path_in(name[len(key) + 1 :], structure[key])
            if below is not None:
                return (key, *below)
    elif isinstance(structure, Sequence) and structure:
        position, _, rest = name.partition(".")
        if position.isdecimal() and len(position) < 10:
            below = path_in(rest, structure[0]) if rest else ()
            return None if below is None else (position, *below)
    return None


def similar_path(name: str, structure: Structure) -> Path | None:
    """Return the only path whose dotted name differs from a name at most in case and punctuation."""
    similar = [path for path in paths(structure) if normalise(".".join(path)) == normalise(name)]
    return similar[0] if len(similar) == 1 else None


def paths(structure: Structure) -> list[Path]:
    """Return the paths of all plain values and lists of a structure."""
    if not isinstance(structure, Mapping):
        return []
    found: list[Path] = []
    for key, below in structure.items():
        found += [(key, *path) for path in paths(below)] or [(key,)]
    return found


def below(path: Path, structure: Structure) -> Structure:
    """Return the structure at a path."""
    for key in path:
        structure = structure[key] if isinstance(structure, Mapping) else structure[0] if structure else None
    return structure


def structure_of(values: Iterable[object]) -> Structure:
    """Return the common structure of Python values; texts that hold JSON objects count as these objects."""
    merged: Structure = None
    for value in values:
        merged = _merged(merged, _structure(parsed(value)))
    return merged


def parsed(value: object) -> object:
    """Return the object in a text of JSON, and other values unchanged."""
    if isinstance(value, str) and value[:1] in "{[" and value[-1:] in "}]":
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def dig(value: object, path: Path) -> Any:
    """Return the value at a path of nested objects and lists, None if it is absent."""
    value = parsed(value)
    for key in path:
        if isinstance(value, Mapping):
            value = value.get(key)
        elif isinstance(value, Sequence) and not isinstance(value, str) and key.isdecimal():
            value = value[int(key)] if int(key) < len(value) else None
        else:
            return None
    return value


class FrameFields:
    """The nested fields of the columns of a frame; ``structure`` returns the structure of a column."""

    def __init__(self, columns: Sequence[str], structure: Callable[[str], Structure]) -> None:
        self._columns, self._look = columns, structure
        self._structures: dict[str, Structure] = {}

    def _structure(self, column: str) -> Structure:
        if column not in self._structures:
            self._structures[column] = self._look(column)
        return self._structures[column]

    def find(self, name: str) -> str | None:
        """Return the full name of a nested field; None if there is no such field."""
        split = column_of(name, self._columns)
        if split is None:
            return None
        structure = self._structure(split[0])
        path = path_in(split[1], structure) or similar_path(split[1], structure)
        return None if path is None else ".".join((split[0], *path))

    def path(self, name: str) -> tuple[str, Path]:
        """Return the column and the keys of the full name of a field."""
        if name in self._columns:
            return name, ()
        column, rest = column_of(name, self._columns) or ("", name)
        return column, path_in(rest, self._structure(column)) or ()

    def names(self, column: str) -> list[str]:
        """Return the dotted names of the fields of a column."""
        return [".".join((column, *path)) for path in paths(self._structure(column))]

    def inner(self, name: str) -> list[str]:
        """Return the dotted names of the fields of a field, if it is an object."""
        column, path = self.path(name)
        return [f"{name}." + ".".join(rest) for rest in paths(below(path, self._structure(column)))]


def heading(column: str, structure: Structure) -> str:
    """Return a column name for messages, with the number of its fields if it is nested."""
    count = len(paths(structure))
    return f"{column} ({count} field{'s' * (count > 1)})" if count else column


def _structure(value: object) -> Structure:
    if isinstance(value, Mapping):
        return {str(key): _structure(below) for key, below in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return [structure_of(value)]
    return None


def _merged(first: Structure, second: Structure) -> Structure:
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        return {key: _merged(first.get(key), second.get(key)) for key in {**first, **second}}
    if isinstance(first, list) and isinstance(second, list):
        return [_merged(first[0], second[0])]
    return second if first is None else first
