"""MovieLens ratings without a header: ``u.data`` (tabs) and ``ratings.dat`` (two colons).

A line is ``user, movie, rating`` with an optional time. Later datasets are published as ``ratings.csv`` with a header,
which is an ordinary table. From a published zip archive, only the ratings are read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from concordant.io._csv import Dialect
from concordant.io._formats import Format
from concordant.io._source import Source
from concordant.io.formats.table import read_as
from concordant.preferences import Preferences
from concordant.tables.options import PREFERENCES, Options

COLUMNS = ("user", "movie", "rating", "timestamp")
ROLES = {"agent": "user", "item": "movie", "rating": "rating"}
_COLONS = re.compile(rb"\d+::\d+::[\d.]+(?:::\d+)?")
_TABS = re.compile(rb"\d+\t\d+\t[0-5](?:\.\d)?\t\d{8,10}")


def _looks_like(head: bytes) -> bool:
    """Return whether the first lines are ratings with numeric user and movie IDs."""
    lines = [line.rstrip(b"\r") for line in head.split(b"\n")[:3]]
    whole = lines[:-1] or lines
    return bool(_COLONS.fullmatch(lines[0])) or all(_TABS.fullmatch(line) for line in whole)


FORMATS = (
    Format(
        "movielens",
        (),
        "MovieLens ratings without a header: u.data, ratings.dat",
        (PREFERENCES,),
        module=__name__,
        sniff=_looks_like,
    ),
)


def read(sources: Sequence[Source], options: Options) -> Preferences:
    """Read the ratings; users are agents, movies are items."""
    first = sources[0].head.split(b"\n", 1)[0]
    delimiter = "::" if b"::" in first else "\t"
    width = len(first.rstrip(b"\r").split(delimiter.encode()))
    if not 3 <= width <= 4:
        raise sources[0].error(
            "a MovieLens line has the fields user, movie, rating and optionally time: check the file.", 1
        )
    return read_as(sources, options, Dialect(delimiter, False, COLUMNS[:width]), ROLES)
