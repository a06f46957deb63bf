"""Simulators: draw preferences from probability models, for tests, simulation studies and benchmarks.

>>> from concordant import simulate
>>> prefs = simulate.mallows(5, 3, phi=0.2, seed=1)
>>> prefs.n_ballots, prefs.n_items
(3, 5)

Each model has one file with one function, which takes the items (names, or their number), the number of ballots, the
parameters of the model and a ``seed`` (an integer or a ``numpy.random.Generator``); the same seed gives the same
ballots. ``prefs.meta`` holds the parameters, including those that were drawn.

Tests, benchmarks and ``concordant simulate`` import from this package; it imports preferences and kernels.
"""

from __future__ import annotations

from concordant.simulate.bradley_terry import bradley_terry
from concordant.simulate.drifting import drifting
from concordant.simulate.generalised_mallows import generalised_mallows
from concordant.simulate.mallows import mallows
from concordant.simulate.mallows_weak import mallows_weak
from concordant.simulate.mpm import mpm
from concordant.simulate.ordered_partitions import ordered_partitions
from concordant.simulate.plackett_luce import plackett_luce

__all__ = [
    "bradley_terry",
    "drifting",
    "generalised_mallows",
    "mallows",
    "mallows_weak",
    "mpm",
    "ordered_partitions",
    "plackett_luce",
]
