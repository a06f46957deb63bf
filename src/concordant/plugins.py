"""What other packages add: methods, readers and metrics, found through entry points.

A package names its additions in its ``pyproject.toml``; nothing is imported before it is used:

    [project.entry-points."concordant.methods"]
    two-step = "their_package.two_step:TwoStep"      # a Method class of that name

    [project.entry-points."concordant.readers"]
    chain = "their_package.chain"                    # a module with FORMAT (io.Format) and read(sources, options)

    [project.entry-points."concordant.metrics"]
    hamming = "their_package.hamming:Hamming"        # a DistanceMetric or ListMetric class of that name

Entry points are scanned for names that concordant itself does not know and by listings, so that everyday work never
pays for them. A built-in name cannot be taken over.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from concordant.errors import UnknownNameError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

METHODS = "concordant.methods"
READERS = "concordant.readers"
METRICS = "concordant.metrics"


@lru_cache(maxsize=8)
def found(group: str) -> Mapping[str, EntryPoint]:
    """Map the names other packages declare in a group to their entry points, without importing anything."""
    from importlib.metadata import entry_points  # slow to import, and seldom needed

    # Sorted by package, so that of two packages with one name the same one is taken every time.
    points = sorted(entry_points(group=group), key=lambda point: (point.name, _package(point)), reverse=True)
    return {point.name: point for point in points}


@cache
def load(group: str, name: str) -> object:
    """Import what an entry point names; whatever goes wrong there is one sentence with the package's name."""
    point = found(group)[name]
    try:
        return point.load()
    except Exception as error:
        problem = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise refusal(group, name, f"cannot be loaded ({problem})") from error


def refusal(group: str, name: str, what: str) -> UnknownNameError:
    """Make the error for an entry point that does not hold what it should."""
    kind = group.rpartition(".")[2].removesuffix("s")
    package = package_of(group, name)
    return UnknownNameError(f"The {kind} {name!r} of the package {package!r} {what}: update or uninstall {package!r}.")


def package_of(group: str, name: str) -> str:
    """Return the name of the package that declares an entry point."""
    return _package(found(group)[name])


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else point.module.partition(".")[0]
