"""Data of the Lehmer experiment: Sushi, Jester, MovieLens and PrefLib as rankings."""

from __future__ import annotations

import io
import re
import tarfile
import zipfile

import numpy as np

from concordant.experiments.frame import DataFolder, data_folder, existing
from concordant.io import read
from concordant.preferences import Preferences
from concordant.types import Floats, Int64s

NOT_RATED = 99.0
N_FILMS, N_USERS = 50, 500


def sushi(data: DataFolder) -> Preferences:
    """Return the 5,000 orders of ten kinds of sushi, one ballot each."""
    path = existing(data_folder(data, "sushi"), "sushi.txt.gz", "sushi.txt")
    rows = np.loadtxt(path, delimiter=",", dtype=np.int64)
    return _from_orders(np.repeat(rows[:, 1:] - 1, rows[:, 0], axis=0))


def jester_permutations(data: DataFolder) -> Preferences:
    """Return an order of the jokes for every user who rated all 100; tied jokes are in the order of their numbers."""
    ratings = _jester(data)
    ratings = ratings[(ratings != NOT_RATED).all(axis=1)]
    return _from_orders(np.argsort(-ratings, axis=1, kind="stable"))


def jester_weak(data: DataFolder) -> Preferences:
    """Return a ranking with ties for every user, ratings rounded to integers; unrated jokes are left out."""
    ratings = _jester(data)
    return from_ranks(np.where(ratings == NOT_RATED, np.nan, -np.rint(ratings)))


def movielens(data: DataFolder) -> Preferences:
    """Return the 500 users who rated most of the 50 most rated films of MovieLens 100K; others are left out."""
    path = existing(data_folder(data, "ml-100k"), "u.data.gz", "u.data")
    user, film, rating = np.loadtxt(path, dtype=np.int64)[:, :3].T
    matrix = np.full((user.max() + 1, film.max() + 1), np.nan)
    matrix[user, film] = -rating
    films = np.argsort(-(~np.isnan(matrix)).sum(axis=0), kind="stable")[:N_FILMS]
    chosen = matrix[:, films]
    users = np.argsort(-(~np.isnan(chosen)).sum(axis=1), kind="stable")[:N_USERS]
    return from_ranks(chosen[users])


def preflib(data: DataFolder) -> list[Preferences]:
    """Return the elections with complete orders (soc, toc) over 10 to 100 candidates that are not unanimous."""
    elections = []
    with tarfile.open(existing(data_folder(data, "preflib"), "preflib.tar.xz")) as archive:
        for member in archive:
            stream = archive.extractfile(member) if member.name.endswith((".soc", ".toc")) else None
            if stream is None:
                continue
            text = stream.read()
            match = re.search(rb"# NUMBER ALTERNATIVES: (\d+)", text)
            if match is None or not 10 <= int(match.group(1)) <= 100:
                continue
            prefs = read(io.BytesIO(text), format="preflib")
            if prefs.n_ballots > 1:  # equal orders are one ballot with a weight
                elections.append(prefs)
    return elections


def from_ranks(ranks: Floats) -> Preferences:
    """Return one ballot per row of ranks (lower is better, equal is a tie, NaN is left out)."""
    m = ranks.shape[1]
    order = np.argsort(ranks, axis=1, kind="stable")  # NaN last
    size = (~np.isnan(ranks)).sum(axis=1)
    is_ranked = np.arange(m)[None, :] < size[:, None]
    tier = np.take_along_axis(ranks, order, axis=1)[is_ranked]
    indptr = np.concatenate([[0], np.cumsum(size)])
    return Preferences([f"item {k + 1}" for k in range(m)], indptr, order[is_ranked], np.rint(tier))


def _from_orders(orders: Int64s) -> Preferences:
    """Return one ballot per row of items, best first."""
    return from_ranks(np.argsort(orders, axis=1).astype(np.float64))


def _jester(data: DataFolder) -> Floats:
    path = existing(data_folder(data, "jester"), "jester-data-1.zip")
    with zipfile.ZipFile(path) as archive, archive.open(archive.namelist()[0]) as table:
        return np.loadtxt(table, delimiter=",")[:, 1:]
