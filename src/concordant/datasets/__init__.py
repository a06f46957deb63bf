"""Public data sets by name: their source and licence, and functions that load them from a folder.

Nothing is bundled and nothing is downloaded, because several data sets forbid redistribution. Put the files of a data
set, as published or compressed, into a folder, pass that folder or set ``CONCORDANT_DATA``, and load the data set by
name:

>>> import concordant as cc
>>> cc.datasets.names()[-3:]
['tennis-atp', 'trec-robust03', 'yahoo-ltr']
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
    """List the names of the data sets.

    Returns
    -------
    list of str
        Names in alphabetical order.

    Examples
    --------
    >>> import concordant as cc
    >>> "ml-100k" in cc.datasets.names()
    True
    """
    return sorted(KNOWN)


def describe(name: str) -> Dataset:
    """Return the metadata of a data set: title, size, licence, source, files, checksums.

    Parameters
    ----------
    name : str
        Name of the data set; case and underscores do not matter.

    Returns
    -------
    Dataset
        The metadata.

    Raises
    ------
    UnknownNameError
        There is no data set with this name.

    Examples
    --------
    >>> import concordant as cc
    >>> cc.datasets.describe("ml-100k").size
    '100,000 ratings by 943 users of 1,682 films'
    """
    plain = name.strip().lower().replace("_", "-")
    if plain not in KNOWN:
        raise UnknownNameError(
            f"There is no data set {name!r}.{suggest(plain, names())} The data sets are {', '.join(names())}."
        )
    return KNOWN[plain]


def load(name: str, folder: Folder = None, *, part: str | None = None) -> Preferences | Features:
    """Load a data set from its files.

    Parameters
    ----------
    name : str
        Name of the data set.
    folder : str or path, optional
        Folder with the files of the data set, or its parent folder. By default, the environment variable
        ``CONCORDANT_DATA``.
    part : str, optional
        Part of a data set that has several (see ``describe(name).parts``). By default, the first.

    Returns
    -------
    Preferences or Features
        Preferences, or the tuple ``(X, y, query)`` for a data set of features.

    Raises
    ------
    InputError
        The files were not found; the message says where to get them.

    Examples
    --------
    >>> import concordant as cc
    >>> ratings = cc.datasets.load("ml-100k", "data/ml-100k")  # doctest: +SKIP
    """
    from concordant.datasets import _loaders

    known = describe(name)
    wanted = _part(known, part)
    loaded: Preferences | Features = _loaders.LOADERS[known.loader](known, find(name, folder, part=wanted), wanted)
    return loaded


def load_labels(name: str, folder: Folder = None, *, part: str | None = None) -> Labels:
    """Load the relevance judgements of a data set.

    Parameters
    ----------
    name : str
        Name of the data set.
    folder : str or path, optional
        Folder with the files of the data set, or its parent folder. By default, the environment variable
        ``CONCORDANT_DATA``.
    part : str, optional
        Part of a data set that has several. By default, the first.

    Returns
    -------
    Labels
        The label of each item by instance.

    Raises
    ------
    InputError
        The data set has no labels, or its files were not found.

    Examples
    --------
    >>> import concordant as cc
    >>> labels = cc.datasets.load_labels("mq2008-agg", "data")  # doctest: +SKIP
    """
    from concordant.datasets import _loaders

    known = describe(name)
    if known.labels is None:
        raise InputError(f"The data set {known.name} has no labels: read its preferences with load().")
    wanted = _part(known, part)
    files = _all_of(known, known.label_files or known.files, folder, wanted)
    return _loaders.LABELS[known.labels](known, files, wanted)


def find(name: str, folder: Folder = None, *, part: str | None = None) -> list[Path]:
    """Return the files of a data set.

    Parameters
    ----------
    name : str
        Name of the data set.
    folder : str or path, optional
        Folder with the files of the data set, or its parent folder. By default, the environment variable
        ``CONCORDANT_DATA``.
    part : str, optional
        Part of a data set that has several. By default, the first.

    Returns
    -------
    list of Path
        One path for each file.

    Raises
    ------
    InputError
        A file is missing; the message says where to get it.
    """
    known = describe(name)
    return _all_of(known, known.files, folder, _part(known, part))


def verify(name: str, folder: Folder = None) -> dict[str, bool]:
    """Compare the files of a data set with the published checksums.

    Parameters
    ----------
    name : str
        Name of the data set.
    folder : str or path, optional
        Folder with the files of the data set, or its parent folder. By default, the environment variable
        ``CONCORDANT_DATA``.

    Returns
    -------
    dict of str to bool
        For each file that exists and has a known checksum, whether its unpacked content matches.
    """
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
