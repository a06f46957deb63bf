"""Save methods to files and load them again: ``save(method, "model.zip")``, ``load("model.zip")``.

A file is a zip with ``model.json`` (the method's registered name, its hyper-parameters, what it learnt) and, where
there are numbers to keep, ``arrays.npz``. The class comes from the registry by name, never from a path in the file,
and nothing is ever unpickled: a file can only set declared parameters to checked values. What cannot be kept this way
is refused when saving.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Mapping
from typing import IO, Any

import numpy as np

from concordant import registry
from concordant.errors import ConcordantError, FormatError, InputError, ParameterError
from concordant.method import Method
from concordant.params import params_of, values_of
from concordant.types import AnyArray

FORMAT, VERSION = "concordant model", 1
MEMBERS = {"model.json", "arrays.npz"}
LARGEST = 1 << 32  # bytes a file may unpack into
_DATE = (1980, 1, 1, 0, 0, 0)  # the same model gives the same bytes

File = str | os.PathLike[str] | IO[bytes]


def save(method: Method, path: File) -> None:
    """Save a method, fitted or not, to a file."""
    description = _describe(method)
    arrays: dict[str, AnyArray] = {}
    description["learnt"] = {name: _pack(name, value, arrays) for name, value in method.learnt.items()}
    try:
        text = json.dumps(description, ensure_ascii=False, allow_nan=False, indent=1)
    except (TypeError, ValueError) as error:
        raise InputError(f"{method.name} cannot be saved: a hyper-parameter is no plain value ({error}).") from None
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        _write(archive, "model.json", text.encode("utf-8"))
        if arrays:
            packed = io.BytesIO()
            np.savez(packed, **arrays)  # type: ignore[arg-type]
            _write(archive, "arrays.npz", packed.getvalue())


def load(path: File) -> Method:
    """Load a method that ``save`` wrote."""
    where = os.fspath(path) if isinstance(path, (str, os.PathLike)) else None
    try:
        description, arrays = _read(path)
        return _rebuild(description, arrays)
    except FormatError:
        raise
    except (ConcordantError, TypeError, KeyError, AttributeError, ValueError) as error:
        raise FormatError(f"this is no model that can be loaded ({error}).", path=where) from None
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError) as error:
        raise FormatError(f"this is no model file ({error}): use one that save() wrote.", path=where) from None


# ---- saving ----
def _describe(method: Method) -> dict[str, Any]:
    if not isinstance(method, Method):
        raise InputError(
            f"save() keeps methods, not {type(method).__name__}: write rankings and preferences with cc.write()."
        )
    if not is_registered(method):
        raise InputError(
            f"{type(method).__name__} cannot be saved: "
            "the registry does not know this class, so load() could not find it."
        )
    params = values_of(method)
    if type(method)(**params) != method:
        raise InputError(f"{method.name} cannot be saved: it holds more than its declared hyper-parameters.")
    return {"format": FORMAT, "version": VERSION, "method": method.name, "params": params}


def is_registered(method: Method) -> bool:
    """Say whether the registry knows a method's class under its name."""
    return _is_known(method.name) and registry.load(method.name) is type(method)


def _is_known(name: str) -> bool:
    return name in registry.modules() or name in registry.plugin_names()


def _pack(name: str, value: object, arrays: dict[str, AnyArray]) -> dict[str, Any]:
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        arrays[name] = value
        return {"kind": "array"}
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        if all(isinstance(number, (int, float)) for number in value.values()):
            arrays[name] = np.array(list(value.values()), np.float64)
            return {"kind": "mapping", "labels": list(value)}
        if all(isinstance(row, Mapping) for row in value.values()):
            return {"kind": "table", "value": {key: dict(row) for key, row in value.items()}}
    if isinstance(value, (bool, int, float, str)) or value is None:
        return {"kind": "plain", "value": value}
    if isinstance(value, (list, tuple)) and all(isinstance(part, (bool, int, float, str)) for part in value):
        return {"kind": "tuple", "value": list(value)}
    raise InputError(
        f"What was learnt as {name!r} cannot be saved: it is a {type(value).__name__}, not numbers or text."
    )


def _write(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    member = zipfile.ZipInfo(name, _DATE)
    member.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(member, content)


# ---- loading ----
def _read(path: File) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        if "model.json" not in names or len(set(names)) != len(names) or not set(names) <= MEMBERS:
            raise ValueError("it does not hold model.json and arrays.npz only")
        if sum(member.file_size for member in archive.infolist()) > LARGEST:
            raise ValueError("it would unpack into more than 4 GB")
        description = json.loads(archive.read("model.json"))
        arrays: dict[str, AnyArray] = {}
        if "arrays.npz" in names:
            with np.load(io.BytesIO(archive.read("arrays.npz")), allow_pickle=False) as kept:
                arrays = {name: kept[name] for name in kept.files}
    if not isinstance(description, dict) or description.get("format") != FORMAT:
        raise ValueError("model.json describes no concordant model")
    if description.get("version") != VERSION:
        raise ValueError(f"it has version {description.get('version')!r}, this release reads {VERSION}: upgrade")
    return description, arrays


def _rebuild(description: dict[str, Any], arrays: dict[str, AnyArray]) -> Method:
    name, params = str(description["method"]), dict(description["params"])
    if not _is_known(name):
        raise ValueError(f"there is no method {name!r} here: install the package that has it")
    cls = registry.load(name)
    for unknown in set(params) - {declared.name for declared in params_of(cls)}:
        raise ParameterError(f"{name} has no parameter {unknown!r}")
    method = cls(**params)
    learnt = {key: _unpack(key, packed, arrays) for key, packed in dict(description["learnt"]).items()}
    return method.with_learnt(**learnt) if learnt else method


def _unpack(name: str, packed: dict[str, Any], arrays: dict[str, AnyArray]) -> object:
    kind = packed["kind"]
    if kind == "array":
        return arrays[name]
    if kind == "mapping":
        return dict(zip([str(label) for label in packed["labels"]], arrays[name].tolist(), strict=True))
    if kind == "tuple":
        return tuple(packed["value"])
    if kind in ("plain", "table"):
        return packed["value"]
    raise ValueError(f"it keeps {name!r} in an unknown way, {kind!r}")
