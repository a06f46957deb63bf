"""Losses of ranking models: value and gradient with respect to the scores of the rows, over all queries at once.

A loss knows nothing of features: a scorer (``concordant.scorers``) turns rows into scores and scores' gradients into
parameters' gradients, a solver (``concordant.solvers``) moves the parameters. A new loss is one small file here and
works with every scorer and solver; ``concordant.learn.LossRanker`` fits any of them, also one of your own.
"""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING

from concordant.errors import UnknownNameError, suggest

if TYPE_CHECKING:
    from concordant.losses.base import Loss

# What losses are made of, and the family of ordered partitions, which has a ranker of its own.
_NO_LOSSES = ("__init__", "base", "queries", "ordered_partitions", "set_sizes", "subset_sampling")


def names() -> list[str]:
    """List the losses by name ("squared-hinge"), from the files of this folder."""
    stems = (entry.name[:-3] for entry in os.scandir(os.path.dirname(__file__)) if entry.name.endswith(".py"))
    return sorted(stem.replace("_", "-") for stem in stems if stem not in _NO_LOSSES and not stem.startswith("_"))


def load(name: str) -> type[Loss]:
    """Return the class of a loss by its name."""
    known = next((one for one in names() if one.replace("-", "") == name.replace("-", "").replace("_", "")), None)
    if known is None:
        raise UnknownNameError(f"There is no loss {name!r}: use one of {', '.join(names())}.{suggest(name, names())}")
    module = importlib.import_module(f"{__name__}.{known.replace('-', '_')}")
    wanted = known.replace("-", "") + "loss"
    found: type[Loss] = next(value for key, value in vars(module).items() if key.lower() == wanted)
    return found
