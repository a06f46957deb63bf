"""Features of documents computed from the ranked lists of experts, for supervised rankers.

Supervised methods and users of ``learn`` import from here; this package imports models, views and kernels.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from concordant.features.experts import ExpertFeatures as ExpertFeatures
    from concordant.features.fusion import FusionFeatures as FusionFeatures
    from concordant.features.places import PlaceFeatures as PlaceFeatures

_HOME = {"ExpertFeatures": "experts", "FusionFeatures": "fusion", "PlaceFeatures": "places"}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
