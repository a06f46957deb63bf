"""Public data sets by name: their source and licence, and functions that load them from a folder.

Nothing is bundled and nothing is downloaded, because several data sets forbid redistribution. Put the files of a data
set, as published or compressed, into a folder, pass that folder or set ``CONCORDANT_DATA``, and load the data set by
name:

>>> import concordant as cc
>>> cc.datasets.names()[:3]
['gifgif', 'jester-1', 'lightgbm-lambdarank']
>>> cc.datasets.describe("ml-100k").licence
'research use, no redistribution, non-commercial'

Experiments, benchmarks and users import from here. This package imports ``io`` and lower layers.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from concordant.datasets._known import KNOWN, Dataset
from concordant.errors import InputError, UnknownNameError, arg, suggest

if TYPE_CHECKING:
    from concordant.labels import Labels
    from concordant.preferences import Preferences
    from concordant.types import AnyArray, Floats, Int64s

__all__ = ["Dataset", "describe", "find", "load", "load_labels", "names", "verify"]

PACKINGS = ("", ".gz", ".xz", ".bz2", ".zst")
Folder = str | os.PathLike[str] | None
Features = tuple["AnyArray", "Floats", "Int64s"]


def names() -> list[str]:
    """Return the names of the data sets."""
    return sorted(KNOWN)


def describe(name: str) -> Dataset:
    """Return what is known of a data set: title, size, terms, page, files, checksums."""
    plain = name.strip().lower().replace("_", "-")
    if plain not in KNOWN:
        raise UnknownNameError(
            f"There is no data set {name!r}.{suggest(plain, names())} They are {', '.join(names())}."
        )
    return KNOWN[plain]


def load(name: str, folder: Folder = None, *, part: str | None = None) -> Preferences | Features:
    """Load a data set: preferences, or (X, y, query) for a set of features.

    ``folder`` holds the set's files or a folder of them; by default it is ``CONCORDANT_DATA``. ``part`` chooses one of
    the parts a set comes in (``describe(name).parts``).
    """
    from concordant.datasets import _loaders

    known = describe(name)
    wanted = _part(known, part)
    loaded: Preferences | Features = _loaders.LOADERS[known.loader](known, find(name, folder, part=wanted), wanted)
    return loaded


def load_labels(name: str, folder: Folder = None, *, part: str | None = None) -> Labels:
    """Load the known relevance that comes with a data set."""
    from concordant.datasets import _loaders

    known = describe(name)
    if known.labels is None:
        raise InputError(f"The data set {known.name} comes without labels: use load.")
    wanted = _part(known, part)
    files = _all_of(known, known.label_files or known.files, folder, wanted)
    return _loaders.LABELS[known.labels](known, files, wanted)


def find(name: str, folder: Folder = None, *, part: str | None = None) -> list[Path]:
    """Return the files of a data set, or say where to get it."""
    known = describe(name)
    return _all_of(known, known.files, folder, _part(known, part))


def verify(name: str, folder: Folder = None) -> dict[str, bool]:
    """Return, for each file with a known checksum, whether its unpacked content has that checksum."""
    known = describe(name)
    roots = _roots(known, folder)
    path_of_file = {file: _one_of((file,), roots) for file in known.sha256}
    return {
        file: _digest(path, keep=file.endswith((".zip", ".tar.xz"))) == known.sha256[file]
        for file, path in path_of_file.items()
        if path is not None
    }


def _part(known: Dataset, part: str | None) -> str | None:
    """Return the part to load: the requested one if the data set has it, else the first."""
    if part is None:
        return known.parts[0] if known.parts and not known.free_part else None
    if known.free_part or part in known.parts:
        return part
    if not known.parts:
        raise InputError(f"The data set {known.name} has only one part: leave out " + arg("part") + ".")
    raise UnknownNameError(f"The data set {known.name} has no part {part!r}: it has {', '.join(known.parts)}.")


def _all_of(known: Dataset, files: tuple[tuple[str, ...], ...], folder: Folder, part: str | None) -> list[Path]:
    """Return one path for each group of alternative names: that of the first name that exists."""
    roots = _roots(known, folder)
    paths = []
    for group in files:
        candidates = tuple(file.format(part=part) for file in group)
        path = _one_of(candidates, roots)
        if path is None:
            raise InputError(
                f"The data set {known.name} ({known.title}) is not in {roots[0]}: {candidates[0]} is missing. "
                f"Get it from {known.page} ({known.url}; {known.licence}) and put its files there."
            )
        paths.append(path)
    return paths


def _roots(known: Dataset, folder: Folder) -> list[Path]:
    """Return the folders that may contain the files of a data set: the given one and known subfolders."""
    root_name = folder if folder is not None else os.environ.get("CONCORDANT_DATA")
    if not root_name:
        raise InputError(
            f"The folder of the data set {known.name} is unknown: give "
            + arg("folder")
            + ", or set CONCORDANT_DATA to a folder of data sets. "
            f"Get it from {known.page} ({known.url}; {known.licence})."
        )
    root = Path(root_name)
    return [root, *(root / name for name in known.folders)]


def _one_of(candidates: tuple[str, ...], roots: list[Path]) -> Path | None:
    """Return the first of these files that exists in one of the folders, compressed or not; None if there is none."""
    for candidate in candidates:
        for root in roots:
            for packing in PACKINGS:
                path = root / (candidate + packing)
                if path.exists():
                    return path
    return None


def _digest(path: Path, *, keep: bool) -> str:
    """Return the SHA-256 of a file's content, unpacked unless the archive itself is the published file."""
    from concordant.io import Source

    digest = hashlib.sha256()
    if keep:
        digest.update(path.read_bytes())
    else:
        with Source(path) as source:
            digest.update(source.read_bytes())
    return digest.hexdigest()
