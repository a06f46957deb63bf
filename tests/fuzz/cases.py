"""A case is a number: it decides the seed file, the damage, the reader and its options. The same number, the same case.

    python -m tests.fuzz.cases 123 456     run these cases here and show what happens

What a case may do: succeed, or raise ConcordantError or OSError. Anything else is *foreign* and a bug.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.fuzz.mutate import mutate
from tests.fuzz.seeds import FEATURES, LABELS, seeds

import concordant as cc

LAYOUTS = ("pairs", "ranks", "ratings", "places", "rankings", "rank-matrix", "rating-matrix")
PLAIN: dict[str, Any] = {}
OPTIONS: list[dict[str, Any]] = [
    PLAIN,
    *({"skip_bad_rows": True}, {"strict": True}, {"skip_bad_rows": True}, {"encoding": "latin-1"}),
    *({"header": False}, {"delimiter": ";"}, {"merge": True}, {"item": 0}, {"winner": 0, "loser": 1}, {"places": 2}),
    *({"transpose": True}, {"layout": "rating-matrix", "transpose": True}, {"sheet": 2}, {"categories": "good,poor"}),
    *({"layout": layout} for layout in LAYOUTS),
]
WHAT = "mutated files from {seeds} seeds of every format"
DEADLY = -1  # the number of a case that kills its process, to test the supervisor
SHARED = {"skip_bad_rows", "strict", "encoding", "header", "delimiter"}


def name_of(number: int) -> str:
    """Return which file a case damages."""
    return sorted(seeds())[number % len(seeds())]


def make(number: int) -> tuple[str, bytes, dict[str, Any]]:
    """Return the name of the file, its content and the options of reading."""
    draw, files, name = random.Random(number), seeds(), name_of(number)
    options = (
        {"layout": "rank-matrix"} if name == "matrix.csv" else draw.choice(OPTIONS) if draw.random() < 0.3 else PLAIN
    )
    return name, mutate(files[name], list(files.values()), draw), options


def read(path: Path, options: dict[str, Any]) -> None:
    """Read a file as the name says and touch what was read."""
    plain = {key: value for key, value in options.items() if key in SHARED}
    if path.name == "model.zip":
        cc.load(path)
    elif path.name in LABELS:
        cc.read_labels(path, **plain)
    elif path.name in FEATURES and not set(options) - SHARED:
        cc.read_features(path, **plain)
    else:
        prefs = cc.read(path, **options)
        assert len(prefs.items.labels) == prefs.n_items  # names may be decoded only now


def run(number: int, folder: Path) -> str:
    """Run a case: ``"read"`` or ``"refused"``; a foreign exception comes out."""
    if number == DEADLY:
        os.abort()
    name, content, options = make(number)
    path = folder / name
    path.write_bytes(content)
    try:
        read(path, options)
    except (cc.ConcordantError, OSError):
        return "refused"
    finally:
        path.unlink()
    return "read"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        for argument in sys.argv[1:]:
            print(argument, make(int(argument))[0], make(int(argument))[2], flush=True)
            print(run(int(argument), Path(scratch)))
