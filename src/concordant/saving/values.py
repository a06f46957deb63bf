"""Convert values to JSON and arrays, and back: numbers, text, lists, dictionaries, arrays, sparse rows; never code.

JSON values represent themselves; anything else is an object with a ``kind``. Arrays are stored in a dictionary next to
the JSON, under their path (``steps.1.coef_``). An ``Extension`` adds further kinds (estimators).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from concordant.errors import InputError
from concordant.types import AnyArray

Arrays = dict[str, AnyArray]
DEEPEST = 40  # a file nested deeper was not written by save()


class Extension(Protocol):
    """Packs and unpacks values that are not plain."""

    def pack(self, value: object, path: str, arrays: Arrays) -> dict[str, Any] | None:
        """Return a value as JSON, or None if this extension does not handle its type."""

    def unpack(self, packed: Mapping[str, Any], arrays: Mapping[str, AnyArray], depth: int) -> object:
        """Return the value from its JSON; raise ValueError if this extension does not handle its kind."""


def pack(value: object, path: str, arrays: Arrays, extension: Extension) -> Any:
    """Return a value as JSON, with its arrays added to ``arrays``; reject values that are not plain."""
    if isinstance(value, (np.ndarray, np.generic)):  # before the others: NumPy's numbers are also Python's
        return _pack_array(np.asarray(value), path, arrays, is_scalar=isinstance(value, np.generic))
    if isinstance(value, float) and not math.isfinite(value):
        return {"kind": "float", "value": str(value)}
    if value is None or isinstance(value, (bool, str, int, float)):
        return value
    if isinstance(value, np.dtype) and value.kind in "biuf":
        return {"kind": "dtype", "value": value.name}
    if isinstance(value, list):
        return [pack(element, f"{path}.{k}", arrays, extension) for k, element in enumerate(value)]
    if isinstance(value, tuple):
        return {
            "kind": "tuple",
            "items": [pack(element, f"{path}.{k}", arrays, extension) for k, element in enumerate(value)],
        }
    if isinstance(value, Mapping) and all(isinstance(key, (str, int)) for key in value):
        items = [[key, pack(element, f"{path}.{key}", arrays, extension)] for key, element in value.items()]
        return {"kind": "dict", "items": items}
    if type(value).__module__.startswith("scipy.sparse"):
        return _pack_sparse(value, path, arrays)
    packed = extension.pack(value, path, arrays)
    if packed is None:
        raise InputError(
            f"{path} cannot be saved: it is a {type(value).__name__}, but a model file can only contain numbers, "
            "text and known estimators."
        )
    return packed


def _pack_array(value: AnyArray, path: str, arrays: Arrays, *, is_scalar: bool) -> dict[str, Any]:
    """Store an array (or a NumPy scalar) under its path; texts are written as JSON."""
    if value.dtype.kind == "O" and all(isinstance(element, str) for element in value.flat) and value.ndim == 1:
        return {"kind": "texts", "items": value.tolist()}
    if value.dtype.kind not in "biufU":
        raise InputError(f"{path} cannot be saved: it is an array of {value.dtype}, not of numbers or text.")
    arrays[path] = value
    return {"kind": "scalar" if is_scalar else "array", "at": path}


def _pack_sparse(value: Any, path: str, arrays: Arrays) -> dict[str, Any]:
    """Store a sparse matrix as the three arrays of its CSR form."""
    rows = value.tocsr()
    for part in ("data", "indices", "indptr"):
        _pack_array(getattr(rows, part), f"{path}.{part}", arrays, is_scalar=False)
    return {"kind": "csr", "at": path, "shape": [int(size) for size in rows.shape]}


def unpack(packed: Any, arrays: Mapping[str, AnyArray], extension: Extension, depth: int = 0) -> Any:
    """Return the value from the JSON that ``pack`` produced."""
    if depth > DEEPEST:
        raise ValueError("it is nested too deeply")
    if isinstance(packed, list):
        return [unpack(element, arrays, extension, depth + 1) for element in packed]
    if not isinstance(packed, dict):
        return packed
    kind = packed["kind"]
    if kind in ("array", "scalar"):
        array = arrays[str(packed["at"])]
        return array[()] if kind == "scalar" and array.ndim == 0 else array
    if kind == "float":
        return {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}[packed["value"]]
    if kind == "dtype":
        return _dtype(str(packed["value"]))
    if kind == "tuple":
        return tuple(unpack(element, arrays, extension, depth + 1) for element in packed["items"])
    if kind == "dict":
        return {key: unpack(element, arrays, extension, depth + 1) for key, element in packed["items"]}
    if kind == "texts":
        return np.array([str(element) for element in packed["items"]], object)
    if kind == "csr":
        return _unpack_sparse(packed, arrays)
    return extension.unpack(packed, arrays, depth + 1)


def _dtype(name: str) -> np.dtype[Any]:
    """Return a numeric type by its name, or raise an error."""
    dtype = np.dtype(name)
    if dtype.kind not in "biuf":
        raise ValueError(f"{name!r} is not a numeric type")
    return dtype


def _unpack_sparse(packed: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> Any:
    """Return a sparse matrix from the arrays of its CSR form, after checking them."""
    from scipy.sparse import csr_array

    path = str(packed["at"])
    parts = tuple(arrays[f"{path}.{part}"] for part in ("data", "indices", "indptr"))
    rows = csr_array(parts, shape=tuple(int(size) for size in packed["shape"]))
    rows.check_format(full_check=True)  # indices out of range would be read as memory
    return rows
