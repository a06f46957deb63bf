"""Read the zip of a model: ``model.json`` as plain data and ``arrays.npz`` as arrays of numbers and text.

Sizes are checked before anything is unpacked or allocated, integers have 64 bits, and nothing is ever unpickled. An
invalid file raises an exception, which ``saving.load`` converts to a message.
"""

from __future__ import annotations

import io
import json
import math
import os
import zipfile
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy

from concordant.support import memory
from concordant.types import AnyArray

MEMBERS = {"model.json", "arrays.npz"}
LARGEST = 1 << 32  # bytes a file may unpack into
LARGEST_JSON = 1 << 30
KNOWN = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
DTYPES = "biufU"

File = str | os.PathLike[str] | IO[bytes]


def read(path: File) -> tuple[Any, dict[str, AnyArray]]:
    """Return the description and the arrays of a model file."""
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        if "model.json" not in names or len(set(names)) != len(names) or not set(names) <= MEMBERS:
            raise ValueError("it does not contain exactly model.json and arrays.npz")
        _refuse_too_large(archive)
        description = from_json(archive.read("model.json"))
        packed = archive.read("arrays.npz") if "arrays.npz" in names else None
    return description, {} if packed is None else _arrays(packed)


def _refuse_too_large(archive: zipfile.ZipFile) -> None:
    """Reject an archive whose declared sizes are too large; unpacking stops at these sizes."""
    members = archive.infolist()
    if any(member.compress_type not in KNOWN for member in members):
        raise ValueError("it uses a compression method that save() does not use")
    size = sum(member.file_size for member in members)
    if size > LARGEST or not memory.fits(size):
        raise ValueError(f"it is too large: it would unpack into {memory.shown(size)}")


# ---- plain data ----
def from_json(content: bytes) -> Any:
    """Return plain data; every number in it is finite, and integers have at most 64 bits."""
    if len(content) > LARGEST_JSON:
        raise ValueError(f"model.json is too large ({memory.shown(len(content))})")
    text = content.decode("utf-8")
    data = json.loads(text, parse_int=_whole, parse_float=_finite, parse_constant=_finite, object_pairs_hook=_object)
    if "\\ud" in text.lower():  # a lone surrogate raises here, when it is encoded
        json.dumps(data, ensure_ascii=False).encode("utf-8")
    return data


def _whole(digits: str) -> int:
    """Return an integer of at most 64 bits, or raise an error."""
    if len(digits) > 20 or not -(2**63) <= int(digits) < 2**63:
        raise ValueError("model.json contains an integer of more than 64 bits")
    return int(digits)


def _finite(digits: str) -> float:
    """Return a finite number, or raise an error."""
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError("model.json contains a number that is not finite")
    return number


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object, or raise an error if a name is repeated."""
    data = dict(pairs)
    if len(data) < len(pairs):
        raise ValueError("model.json contains a name twice")
    return data


# ---- arrays ----
def _arrays(packed: bytes) -> dict[str, AnyArray]:
    """Return the arrays of an npz archive."""
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        _refuse_too_large(archive)
        names = archive.namelist()
        if len(set(names)) != len(names) or not all(name.endswith(".npy") for name in names):
            raise ValueError("arrays.npz contains something that is not an array, or an array twice")
        return {name.removesuffix(".npy"): array(archive.read(name)) for name in names}


def array(content: bytes) -> AnyArray:
    """Return the array of an npy file as a copy; the size in its header must match the file."""
    stream = io.BytesIO(content)
    version = npy.read_magic(stream)
    if version not in ((1, 0), (2, 0)):
        raise ValueError("an array has an unknown format version")
    header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, is_fortran, dtype = header(stream)
    if dtype.kind not in DTYPES:
        raise ValueError(f"an array of {dtype} does not consist of numbers or text (allow_pickle is never used)")
    size = math.prod(shape)
    if min(shape, default=0) < 0 or len(content) - stream.tell() != size * dtype.itemsize:
        raise ValueError("an array is shorter or longer than its header declares")
    raw = np.frombuffer(content, dtype, size, stream.tell()) if size * dtype.itemsize else np.zeros(size, dtype)
    _check_bits(raw)
    native = np.array(raw, dtype.newbyteorder("="), copy=True)
    return np.reshape(native, shape, order="F" if is_fortran else "C")


def _check_bits(raw: AnyArray) -> None:
    """Reject invalid bits: booleans other than 0 and 1, and invalid Unicode characters."""
    if raw.dtype.kind == "b" and raw.size and raw.view(np.uint8).max() > 1:
        raise ValueError("an array of booleans contains other values")
    if raw.dtype.kind == "U" and raw.size and raw.dtype.itemsize:
        signs = raw.view(raw.dtype.byteorder.replace("|", "=") + "u4")
        if (signs > 0x10FFFF).any() or ((signs >= 0xD800) & (signs < 0xE000)).any():
            raise ValueError("an array of text contains an invalid Unicode character")
