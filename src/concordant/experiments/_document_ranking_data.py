"""Read learning-to-rank feature files as folds: training, validation and test rows.

Four layouts are recognised, with compressed or plain files:

- parts ``S1.txt`` … ``S5.txt`` (LETOR 4.0): fold f trains on S(f) to S(f+2), validates on S(f+3), tests on S(f+4);
- folders ``Fold1`` … with ``train.txt``, ``vali.txt`` and ``test.txt`` (MSLR-WEB10K, MSLR-WEB30K, LETOR);
- one folder with a training and a test file, and an optional validation file (Yahoo: ``set1.train.txt``, …);
- a single file: a random tenth of the queries is the test set.

Without a validation file, a tenth of the training queries is used for validation.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from concordant.errors import InputError
from concordant.experiments.frame import DataFolder, data_folder
from concordant.io import read_features
from concordant.types import AnyArray, Bools, Floats, Int64s

PARTS = ("S1", "S2", "S3", "S4", "S5")
MQ2008 = "letor4-mq2008"
SHARE = 10  # one query in ten is held out


class Rows(NamedTuple):
    """Feature rows with labels and queries."""

    X: AnyArray
    y: Floats
    query: Int64s

    @property
    def n_queries(self) -> int:
        """The number of queries."""
        return len(np.unique(self.query))

    def take(self, kept: Bools) -> Rows:
        """Return the rows where ``kept`` is true."""
        return Rows(self.X[kept], self.y[kept], self.query[kept])


class Fold(NamedTuple):
    """One split of a data set."""

    name: str
    train: Rows
    valid: Rows
    test: Rows


class DataSet(NamedTuple):
    """A data set on disk; its folds are read one after the other, on request."""

    name: str
    fold_names: tuple[str, ...]
    read: Callable[[Sequence[str]], Iterator[Fold]]


def find(data: DataFolder) -> DataSet:
    """Find a data set: MQ2008 below a folder of public data, or the set in the given folder or file."""
    root = data or os.environ.get("CONCORDANT_DATA")
    if not root:
        data_folder(None, MQ2008)  # raises
    path = Path(root or "")
    if path.is_file():
        return DataSet(path.name.split(".")[0], ("split",), lambda _: _of_file(path))
    for folder in (path, path / MQ2008, path / "MQ2008"):
        parts = [part for part in (_file(folder, stem) for stem in PARTS) if part]
        if len(parts) == len(PARTS):
            return DataSet(folder.name, tuple("12345"), partial(_of_parts, parts))
    folds = sorted(folder for folder in path.glob("[Ff]old*") if folder.is_dir())
    if folds:
        by_name = {re.sub(r"\D", "", folder.name) or folder.name: folder for folder in folds}
        return DataSet(path.name, tuple(by_name), partial(_of_folders, by_name))
    if path.is_dir() and _containing(path, "train"):
        return DataSet(path.name, ("split",), lambda _: iter([_of_folder("split", path)]))
    raise InputError(
        f"{path} has no known layout: give one file, or a folder with S1.txt to S5.txt (LETOR MQ2008), "
        "with Fold1 … of train.txt, vali.txt and test.txt (MSLR), or with set1.train.txt and set1.test.txt (Yahoo)."
    )


def _of_parts(parts: Sequence[Path], wanted: Sequence[str]) -> Iterator[Fold]:
    """Yield the wanted folds of five parts: three train, one validates, one tests, rotated by the fold's number."""
    read = _read(*parts)
    for name in wanted:
        part_order = [(int(name) - 1 + k) % 5 for k in range(5)]
        yield Fold(name, _joined([read[k] for k in part_order[:3]]), read[part_order[3]], read[part_order[4]])


def _of_folders(folders: dict[str, Path], wanted: Sequence[str]) -> Iterator[Fold]:
    for name in wanted:
        yield _of_folder(name, folders[name])


def _of_folder(name: str, folder: Path) -> Fold:
    """Read a fold from a folder; without a validation file, a tenth of the training queries is used."""
    train_path, test_path, valid_path = (_containing(folder, word) for word in ("train", "test", "vali"))
    if train_path is None or test_path is None:
        raise InputError(f"{folder} must contain files whose names contain 'train' and 'test'.")
    train, test, *valid = _read(*filter(None, (train_path, test_path, valid_path)))
    return Fold(name, train, valid[0], test) if valid else Fold(name, *_split(train), test)


def _of_file(path: Path) -> Iterator[Fold]:
    rest, test = _split(*_read(path))
    yield Fold("split", *_split(rest), test)


def _file(folder: Path, stem: str) -> Path | None:
    """Return the file with this name, whatever its extension."""
    return (
        next((path for path in sorted(folder.glob(f"{stem}.*")) if path.is_file()), None) if folder.is_dir() else None
    )


def _containing(folder: Path, word: str) -> Path | None:
    """Return the first file of feature rows whose name contains a word."""
    sizes = (".query", ".group")
    candidates = (
        path for path in sorted(folder.iterdir()) if word in path.name.lower() and not set(sizes) & set(path.suffixes)
    )
    return next((path for path in candidates if path.is_file()), None)


def _read(*paths: Path) -> list[Rows]:
    """Read files and pad all to the same number of features; files omit trailing zeros."""
    parts = [Rows(*read_features(path)) for path in paths]
    width = max(rows.X.shape[1] for rows in parts)
    return [rows._replace(X=np.pad(rows.X, ((0, 0), (0, width - rows.X.shape[1])))) for rows in parts]


def _joined(parts: Sequence[Rows]) -> Rows:
    """Join parts; queries of different parts stay different."""
    first = np.cumsum([0, *(int(part.query.max()) + 1 for part in parts)])
    query = np.concatenate([part.query + start for part, start in zip(parts, first[:-1], strict=True)])
    return Rows(np.concatenate([part.X for part in parts]), np.concatenate([part.y for part in parts]), query)


def _split(rows: Rows) -> tuple[Rows, Rows]:
    """Split off a tenth of the queries, drawn at random with a fixed seed: (rest, held out)."""
    codes = np.unique(rows.query)
    if len(codes) < SHARE:
        raise InputError(f"There are {len(codes)} queries, too few to hold out a tenth: give at least {SHARE}.")
    held_out = np.random.default_rng(0).permutation(codes)[: len(codes) // SHARE]
    is_held_out = np.isin(rows.query, held_out)
    return rows.take(~is_held_out), rows.take(is_held_out)
