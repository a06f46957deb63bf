"""The rankings behind the tables of the Lehmer code paper: Sushi, Jester and MovieLens as matrices of ranks."""

from __future__ import annotations

import gzip
import io
import os
import re
import tarfile
import zipfile
from pathlib import Path

import numpy as np

from concordant.errors import InputError
from concordant.experiments import data_folder
from concordant.io import read
from concordant.preferences import Preferences
from concordant.types import Floats

NOT_RATED = 99.0
N_FILMS, N_USERS = 50, 500

DataFolder = str | os.PathLike[str] | None


def sushi(data: DataFolder) -> Preferences:
    """Return the 5,000 orders of ten kinds of sushi, one ballot each."""
    path = _existing(data_folder(data, "sushi"), "sushi.txt.gz", "sushi.txt")
    rows = np.loadtxt(io.StringIO(_text(path)), delimiter=",", dtype=np.int64)
    orders = np.repeat(rows[:, 1:] - 1, rows[:, 0], axis=0)
    ranks = np.empty(orders.shape)
    np.put_along_axis(ranks, orders, np.arange(orders.shape[1])[None, :] * 1.0, axis=1)
    return from_ranks(ranks)


def jester_permutations(data: DataFolder) -> Preferences:
    """Return the users who rated all 100 jokes, each an order of the jokes (equal ratings in the jokes' order)."""
    ratings = _jester(data)
    ratings = ratings[(ratings != NOT_RATED).all(axis=1)]
    orders = np.argsort(-ratings, axis=1, kind="stable")
    ranks = np.empty(ratings.shape)
    np.put_along_axis(ranks, orders, np.arange(ratings.shape[1])[None, :] * 1.0, axis=1)
    return from_ranks(ranks)


def jester_weak(data: DataFolder) -> Preferences:
    """Return all users, ratings rounded to whole numbers; jokes not rated are left out."""
    ratings = _jester(data)
    return from_ranks(np.where(ratings == NOT_RATED, np.nan, -np.rint(ratings)))


def movielens(data: DataFolder) -> Preferences:
    """Return the 500 users who rated most of the 50 most rated films of MovieLens 100K; others are left out."""
    path = _existing(data_folder(data, "ml-100k"), "u.data.gz", "u.data")
    user, film, rating = np.loadtxt(io.StringIO(_text(path)), dtype=np.int64)[:, :3].T
    matrix = np.full((user.max() + 1, film.max() + 1), np.nan)
    matrix[user, film] = -rating
    films = np.argsort(-(~np.isnan(matrix)).sum(axis=0), kind="stable")[:N_FILMS]
    chosen = matrix[:, films]
    users = np.argsort(-(~np.isnan(chosen)).sum(axis=1), kind="stable")[:N_USERS]
    return from_ranks(chosen[users])


def preflib(data: DataFolder) -> list[Preferences]:
    """Return the elections with complete orders (soc, toc) over 10 to 100 candidates that are not unanimous."""
    found = []
    with tarfile.open(_existing(data_folder(data, "preflib"), "preflib.tar.xz")) as archive:
        for member in archive:
            stream = archive.extractfile(member) if member.name.endswith((".soc", ".toc")) else None
            if stream is None:
                continue
            text = stream.read()
            named = re.search(rb"# NUMBER ALTERNATIVES: (\d+)", text)
            if named is None or not 10 <= int(named.group(1)) <= 100:
                continue
            prefs = read(io.BytesIO(text), format="preflib")
            if prefs.n_ballots > 1:  # equal orders are one ballot with a weight
                found.append(prefs)
    return found


def from_ranks(ranks: Floats) -> Preferences:
    """Return one ballot per row of ranks (lower is better, equal is a tie, NaN is left out)."""
    m = ranks.shape[1]
    order = np.argsort(ranks, axis=1, kind="stable")  # NaN last
    size = (~np.isnan(ranks)).sum(axis=1)
    named = np.arange(m)[None, :] < size[:, None]
    tier = np.take_along_axis(ranks, order, axis=1)[named]
    indptr = np.concatenate([[0], np.cumsum(size)])
    return Preferences([f"item {k + 1}" for k in range(m)], indptr, order[named], np.rint(tier))


def _jester(data: DataFolder) -> Floats:
    path = _existing(data_folder(data, "jester"), "jester-data-1.zip")
    with zipfile.ZipFile(path) as archive:
        text = archive.read(archive.namelist()[0]).decode("utf-8")
    return np.loadtxt(io.StringIO(text), delimiter=",")[:, 1:]


def _existing(folder: Path, *names: str) -> Path:
    for name in names:
        if (folder / name).is_file():
            return folder / name
    raise InputError(f"{folder / names[0]} is not there: put it in, or give another --data DIR.")


def _text(path: Path) -> str:
    if path.suffix == ".gz":
        with gzip.open(path, "rt", encoding="utf-8") as stream:
            return stream.read()
    return path.read_text(encoding="utf-8")
