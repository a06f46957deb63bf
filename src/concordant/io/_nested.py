"""Nested fields of files that DuckDB scans, as SQL expressions, so that such tables can still be counted by DuckDB.

Fields of a parquet struct are extracted with their types. All other nested values (JSON, lists, maps, and texts that
hold JSON) are extracted as text by a JSON pointer.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from concordant.support.duck import identifier
from concordant.tables import nested
from concordant.tables.nested import Path, Structure

SAMPLE = 10_000  # rows in which a field is looked for before the whole file is searched


class NestedTable:
    """Columns and nested fields as SQL expressions; a subclass defines the columns and how to scan them."""

    columns: list[str]

    def __init__(self) -> None:
        self._nested = NestedFields(self)

    def scan(self) -> str:
        """Return the table function call that scans the file."""
        raise NotImplementedError

    def path(self) -> str:
        """Return the path of the file to scan."""
        raise NotImplementedError

    def explained(self, connection: Any, error: Exception) -> BaseException:
        """Return the error for a failed query."""
        raise NotImplementedError

    def raw_of(self, column: str) -> tuple[str, Any]:
        """Return the SQL expression for a column and its DuckDB type, None for text."""
        return identifier(column), None

    def text_of(self, column: str) -> str:
        """Return the SQL expression for a column or a nested field as text."""
        return text_of_type(*self.raw_of(column)) if column in self.columns else self._nested.text(column)

    def number_of(self, column: str) -> str:
        """Return the SQL expression for a column or a nested field as a number; NULL if a cell is not a number."""
        if column not in self.columns or isinstance(self.structure(column), Mapping):
            return self._nested.number(column)
        return f"TRY_CAST({self.raw_of(column)[0]} AS DOUBLE)"

    def resolve(self, name: str) -> str | None:
        """Return the full name of a column or of a nested field (``category.math``); None if there is none."""
        return name if name in self.columns else self._nested.find(name)

    def fields(self, column: str) -> list[str]:
        """Return the dotted names of the nested fields of a column."""
        return self._nested.names(column) if column in self.columns else []

    def structure(self, column: str) -> Structure:
        """Return the fields of a column as far as they are known without reading the rows."""
        return None


class NestedFields:
    """The nested fields of a table, by dotted names."""

    def __init__(self, table: NestedTable) -> None:
        self._table = table
        self._found: dict[str, tuple[str, Path] | None] = {}
        self._structures: dict[tuple[str, bool], Structure] = {}

    def find(self, name: str) -> str | None:
        """Return the full name of a nested field; None if the field does not exist."""
        found = self._path(name)
        return None if found is None else ".".join((found[0], *found[1]))

    def names(self, column: str) -> list[str]:
        """Return the dotted names of the fields of a column."""
        return [".".join((column, *path)) for path in nested.paths(self._structure(column, is_sample=True))]

    def text(self, name: str) -> str:
        """Return the SQL expression for a field as text."""
        column, path = self._found_path(name)
        return self._leaf(column, path)

    def number(self, name: str) -> str:
        """Return the SQL expression for a field as a number; an object of numbers is their sum."""
        column, path = self._found_path(name)
        inner = nested.paths(nested.below(path, self._structure_with(column, path)))
        leaves = [f"TRY_CAST({self._leaf(column, (*path, *rest))} AS DOUBLE)" for rest in inner or [()]]
        return f"list_sum([{', '.join(leaves)}])" if inner else leaves[0]

    def _found_path(self, name: str) -> tuple[str, Path]:
        found = self._path(name)
        assert found is not None  # the planner asks first
        return found

    def _path(self, name: str) -> tuple[str, Path] | None:
        """Return the column and the keys of a dotted name; None if the field does not exist."""
        if name not in self._found:
            self._found[name] = self._searched(name)
        return self._found[name]

    def _searched(self, name: str) -> tuple[str, Path] | None:
        if name in self._table.columns:
            return name, ()
        split = nested.column_of(name, self._table.columns)
        if split is None:
            return None
        column, rest = split
        for is_sample in (True, False):
            structure = self._structure(column, is_sample)
            path = nested.path_in(rest, structure) or nested.similar_path(rest, structure)
            if path is not None:
                return column, path
        return None

    # ---- structures ----
    def _structure_with(self, column: str, path: Path) -> Structure:
        """Return the structure in which a path was found."""
        sampled = self._structure(column, is_sample=True)
        is_there = not path or nested.path_in(".".join(path), sampled) is not None
        return sampled if is_there else self._structure(column, is_sample=False)

    def _structure(self, column: str, is_sample: bool) -> Structure:
        """Return the structure of a column in the first rows, or in all of them."""
        key = (column, is_sample)
        if key not in self._structures:
            expression, kind = self._table.raw_of(column)
            is_typed = kind is not None and kind.id not in ("varchar", "map", "json")
            content = None if is_typed else _as_json(expression, kind)
            self._structures[key] = fields_of_type(kind) if content is None else self._of_content(content, is_sample)
        return self._structures[key]

    def _of_content(self, value: str, is_sample: bool) -> Structure:
        """Return the fields of JSON texts."""
        import duckdb

        from concordant.io._duckdb import opened

        limit = f" LIMIT {SAMPLE}" if is_sample else ""
        with opened(cast("Any", self._table)) as connection:
            try:
                rows = f"SELECT {value} AS value FROM {self._table.scan()}{limit}"
                found = connection.execute(f"SELECT json_group_structure(value) FROM ({rows})").fetchone()
            except (duckdb.Error, RuntimeError) as error:
                raise self._table.explained(connection, error) from None
        return _of_json(json.loads(found[0])) if found and found[0] else None

    # ---- expressions ----
    def _leaf(self, column: str, path: Path) -> str:
        """Return the expression of a field as text."""
        expression, kind = self._table.raw_of(column)
        keys = list(path)
        while keys and kind is not None and kind.id == "struct":
            key = keys.pop(0)
            expression, kind = _field(expression, key), dict(kind.children)[key]
        if not keys:
            return text_of_type(expression, kind)
        return f"json_extract_string({_as_json(expression, kind)}, {_literal(_pointer(keys))})"


def text_of_type(expression: str, kind: Any) -> str:
    """Return an expression as text: whole numbers without a decimal point, nested values as JSON."""
    if kind is None or kind.id == "varchar":
        return expression
    if kind.id in ("double", "float", "decimal"):
        return f"nullif(regexp_replace(CAST({expression} AS VARCHAR), '\\.0+$', ''), 'nan')"
    if kind.id in ("list", "struct", "map", "array"):
        return f"CAST(to_json({expression}) AS VARCHAR)"
    return f"CAST({expression} AS VARCHAR)"


def fields_of_type(kind: Any) -> Structure:
    """Return the fields of a struct, or of the structs of a list, by their type; None for other types."""
    if kind.id == "struct":
        return {key: fields_of_type(type_) for key, type_ in kind.children if key}  # DuckDB extracts no nameless field
    return [fields_of_type(kind.children[0][1])] if kind.id in ("list", "array") else None


def _field(expression: str, key: str) -> str:
    return f"struct_extract({expression}, {_literal(key)})"


def _as_json(expression: str, kind: Any) -> str:
    """Return an expression as JSON; NULL if it is text that is not JSON."""
    if kind is None or kind.id == "varchar":
        return f"(CASE WHEN json_valid({expression}) THEN {expression} END)::JSON"
    return f"to_json({expression})"


def _pointer(keys: list[str]) -> str:
    """Return the JSON pointer of a path, in which keys may contain any sign."""
    return "".join("/" + key.replace("~", "~0").replace("/", "~1") for key in keys)


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _of_json(structure: Any) -> Structure:
    """Return DuckDB's description of a structure without the types of plain values."""
    if isinstance(structure, dict):
        return {key: _of_json(below) for key, below in structure.items()}
    return [_of_json(structure[0])] if isinstance(structure, list) and structure else None
