"""Everything that has a name and may be added to, found in one way: methods, learners, losses, metrics and so on.

A built-in is there because its file is there: names come from listing the folder of its kind, without importing
anything, and the file holds a class or function named like it (metrics, of which many share a file, are marked with
``METRICS.add``). Names match without case, dashes and underscores. Aliases are declared by the entries themselves and
looked at when no name matches.

Other packages name their additions in their ``pyproject.toml``:

    [project.entry-points."concordant.methods"]
    two-step = "their_package.two_step:TwoStep"      # a Method class of that name

    [project.entry-points."concordant.readers"]
    chain = "their_package.chain"                    # a module with FORMAT (io.Format) and read(sources, options)

    [project.entry-points."concordant.metrics"]
    hamming = "their_package.hamming:Hamming"        # a DistanceMetric or ListMetric class of that name

They come last: an unknown name and a listing are all that pays for finding them. A built-in name cannot be taken over.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from concordant.errors import ConcordantError, ParameterError, UnknownNameError, suggest

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from concordant.io import Format
    from concordant.losses.base import Loss
    from concordant.method import Method
    from concordant.metrics.value import Metric

Entry = TypeVar("Entry")
Made = TypeVar("Made")
Marked = TypeVar("Marked", bound="Any")
FEW = 20  # names that a message lists where none of them is like the one given


def fold(name: str) -> str:
    """Return a name without case, dashes, underscores and spaces."""
    return name.replace("-", "").replace("_", "").replace(" ", "").lower()


def summary_of(entry: object) -> str:
    """Return the first paragraph of the documentation of a class, function or module, on one line."""
    text = getattr(entry, "doc", entry.__doc__) or ""
    return " ".join(text.strip().split("\n\n")[0].split())


class Resolved(NamedTuple):
    """The entry that a name in any spelling stands for, and the parameters an alias sets."""

    name: str
    preset: Mapping[str, object]


class Listed(NamedTuple):
    """What a listing shows of one entry; of a package that cannot be loaded, the summary says why."""

    name: str
    family: str
    summary: str
    entry: Any


@dataclass(frozen=True, eq=False)
class Kind(Generic[Entry]):
    """One kind of thing that is found by name: where its files are and what they hold."""

    word: str
    """What messages call one of them."""
    home: str
    """The package below ``concordant`` whose files they are."""
    plural: str
    """What the command is called that lists them."""
    group: str = ""
    """The entry points of other packages, where it is not the plural."""
    holds: str = "class"
    """What a file holds under its name: a class, a function, or nothing but itself ("module")."""
    suffix: str = ""
    """What the names of the classes end with."""
    besides: tuple[str, ...] = ()
    """Files of the folder that hold no entry, beside those whose name begins with an underscore."""
    in_families: bool = False
    """Whether the files stand in one folder per family."""
    has_aliases: bool = False
    """Whether entries declare other names of theirs."""
    base: str = ""
    """The class that other packages' entries derive from, as "module:class"."""
    reader: str = ""
    """Instead, the function of (name, what an entry point holds) that makes the entry, as "module:function"."""
    libraries: Mapping[str, str] = field(default_factory=dict)
    """Libraries that may be missing, each with what to do then."""
    added: dict[str, Entry] | None = None
    """Entries by name where they are marked with ``add`` instead of having a file each."""

    # ---- built-in ----
    def modules(self) -> Mapping[str, str]:
        """Map the name of every built-in entry to its module, without importing any."""
        if self.added is None:
            return _modules(self)
        importlib.import_module(f"concordant.{self.home}")
        return {name: entry.__module__ for name, entry in self.added.items()}

    def add(self, entry: Marked) -> Marked:
        """Mark an entry that is found by its attribute ``name``."""
        assert self.added is not None
        self.added[entry.name] = entry
        _aliases.cache_clear()
        return entry

    def load(self, name: str) -> Entry:
        """Return an entry by its exact name, of concordant or else of another package."""
        found: Entry = _load(self, name)
        return found

    def name_of(self, entry: type) -> str | None:
        """Return the name of a built-in class, None for any other."""
        name = entry.__module__.rpartition(".")[2].replace("_", "-")
        return name if self.modules().get(name) == entry.__module__ and self.load(name) is entry else None

    def entry_of(self, module: ModuleType, name: str) -> Entry:
        """Return what a file holds under its name, which only it may define."""
        entry: Any = module
        if self.holds != "module":
            wanted = fold(name + self.suffix)
            own = (value for key, value in vars(module).items() if fold(key) == wanted)
            entry = next((value for value in own if getattr(value, "__module__", "") == module.__name__), None)
        if entry is None:
            said = f"{module.__name__} defines no {self.holds} named like its file"
            raise UnknownNameError(f"{said}: name the {self.holds} so.")
        return entry  # type: ignore[no-any-return]

    def family(self, name: str) -> str:
        """Return the family of a built-in entry, or the package another one comes from."""
        if name not in self.modules():
            return _package(_entry_points(self)[name])
        return self.modules()[name].split(".")[-2] if self.in_families else getattr(self.load(name), "kind", "")

    # ---- other packages' ----
    def plugins(self) -> list[str]:
        """List the entries of other packages; a built-in name cannot be taken over."""
        taken = {fold(name) for name in (*self.modules(), *_aliases(self))}
        return sorted(name for name in _entry_points(self) if fold(name) not in taken)

    def refusal(self, name: str, what: str) -> UnknownNameError:
        """Make the error for an entry point that does not hold what it should."""
        package = _package(_entry_points(self)[name])
        said = f"The {self.word} {name!r} of the package {package!r} {what}"
        return UnknownNameError(f"{said}: update or uninstall {package!r}.")

    # ---- all ----
    def names(self) -> list[str]:
        """List all entries, built-in and of other packages."""
        return [*self.modules(), *self.plugins()]

    def resolve(self, name: str) -> Resolved:
        """Return what a name in any spelling stands for, or raise UnknownNameError."""
        return _resolve(self, name)

    def find(self, name: str) -> Entry:
        """Return an entry by its name in any spelling."""
        return self.load(self.resolve(name).name)

    def make(self: Kind[type[Made]], name: str, **params: object) -> Made:
        """Return an instance of the class of this name, in any spelling, with these hyper-parameters."""
        known, preset = self.resolve(name)
        cls = self.load(known)
        try:
            return cls(**{**preset, **params})
        except TypeError:
            from concordant.params import params_of

            declared = [p.name for p in params_of(cls)]
            stranger = next((key for key in params if key not in declared), None)
            if stranger is None:
                raise
            options = ", ".join(declared) or "none"
            hint = suggest(stranger, declared)
            raise ParameterError(f"{known} has no parameter {stranger!r} (it has: {options}).{hint}") from None

    def listing(self) -> list[Listed]:
        """Describe every entry; a package that cannot be loaded does not hide the others."""
        return [self.listed(name) for name in self.names()]

    def listed(self, name: str) -> Listed:
        """Describe one entry."""
        try:
            entry: Any = self.load(name)
        except UnknownNameError as error:
            return Listed(name, self.family(name), str(error), None)
        return Listed(name, getattr(entry, "kind", "") or self.family(name), summary_of(entry), entry)

    # ---- names in Python ----
    def attribute(self, package: str, name: str) -> Entry:
        """Return the built-in class or function called exactly so, for the ``__getattr__`` of a package."""
        known = next((one for one in self.modules() if fold(one + self.suffix) == fold(name)), None)
        entry: Any = None if known is None else self.load(known)
        if known is None or entry.__name__ != name:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return entry  # type: ignore[no-any-return]

    def attributes(self) -> list[str]:
        """List the names of all built-in classes or functions; imports them all."""
        return [getattr(self.load(name), "__name__", name) for name in self.modules()]


# ---- what is looked up once ----
@cache
def _modules(kind: Kind[Any]) -> Mapping[str, str]:
    package = f"concordant.{kind.home}"
    root = os.path.join(os.path.dirname(__file__), kind.home)
    folders = {package: root}
    if kind.in_families:
        families = sorted(entry.name for entry in os.scandir(root) if entry.is_dir())
        folders = {f"{package}.{one}": os.path.join(root, one) for one in families if one[0] not in "_."}
    found = {}
    for below, folder in folders.items():
        for entry in os.scandir(folder):
            stem, ending = os.path.splitext(entry.name)
            if ending == ".py" and not stem.startswith("_") and stem not in kind.besides:
                found[stem.replace("_", "-")] = f"{below}.{stem}"
    return dict(sorted(found.items()))


@cache
def _load(kind: Kind[Any], name: str) -> Any:
    if name not in kind.modules():
        return _load_plugin(kind, name)
    if kind.added is not None:
        return kind.added[name]
    try:
        module = importlib.import_module(kind.modules()[name])
    except ModuleNotFoundError as error:
        library = (error.name or "").partition(".")[0]
        if library not in kind.libraries:
            raise
        raise ConcordantError(kind.libraries[library]) from None
    return kind.entry_of(module, name)


def _load_plugin(kind: Kind[Any], name: str) -> Any:
    """Import what an entry point names; whatever is wrong there is one sentence with the package's name."""
    try:
        loaded: Any = _entry_points(kind)[name].load()
    except Exception as error:
        problem = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise kind.refusal(name, f"cannot be loaded ({problem})") from error
    try:
        return _named(kind.reader)(name, loaded) if kind.reader else _checked(kind, name, loaded)
    except ValueError as error:
        raise kind.refusal(name, str(error)) from None


def _checked(kind: Kind[Any], name: str, loaded: Any) -> Any:
    """Return what an entry point holds, or raise ValueError with what is wrong with it."""
    if kind.holds == "module":
        if not isinstance(loaded, ModuleType):
            raise ValueError("is no module")
        return loaded
    if kind.base and not (isinstance(loaded, type) and issubclass(loaded, _named(kind.base))):
        raise ValueError(f"is no subclass of {kind.base.replace(':', '.')}")
    called = loaded.name if kind.added is not None else loaded.__name__.removesuffix(kind.suffix)
    if fold(called) != fold(name):
        raise ValueError(f"is a {kind.holds} of another name, {called}")
    return loaded


def _named(place: str) -> Any:
    """Import what "module:name" stands for."""
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(module), name)


@cache
def _entry_points(kind: Kind[Any]) -> Mapping[str, EntryPoint]:
    """Map the names other packages declare to their entry points, without importing anything of theirs."""
    from importlib.metadata import entry_points  # slow to import, and seldom needed

    # Sorted by package, so that of two packages with one name the same one is taken every time.
    found = entry_points(group=f"concordant.{kind.group or kind.plural}")
    points = sorted(found, key=lambda point: (point.name, _package(point)), reverse=True)
    return {point.name: point for point in points}


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else point.module.partition(".")[0]


@cache
def _aliases(kind: Kind[Any], of_plugins: bool = False) -> Mapping[str, Resolved]:
    """Map every alias to what it stands for; imports all entries that might have some."""
    found: dict[str, Resolved] = {}
    if not kind.has_aliases:
        return found
    for name in kind.plugins() if of_plugins else kind.modules():
        try:
            aliases = kind.load(name).aliases
        except ConcordantError:
            if not of_plugins:
                raise
            continue  # a package that cannot be loaded has none
        presets = aliases if isinstance(aliases, Mapping) else {alias: {} for alias in aliases}
        found |= {alias: Resolved(name, preset) for alias, preset in presets.items()}
    return found


@cache
def _resolve(kind: Kind[Any], name: str) -> Resolved:
    spellings = []
    for spelling, target in _spellings(kind):
        if fold(spelling) == fold(name):
            return target
        spellings.append(spelling)
    known = kind.names()
    hint = suggest(name, spellings) or (f" Use one of {', '.join(known)}." if len(known) <= FEW else "")
    raise UnknownNameError(f"There is no {kind.word} {name!r}.{hint} `concordant {kind.plural}` lists them all.")


def _spellings(kind: Kind[Any]) -> Iterator[tuple[str, Resolved]]:
    """Yield every name with what it stands for; each step costs more than the one before."""
    yield from ((name, Resolved(name, {})) for name in kind.modules())
    yield from _aliases(kind).items()
    yield from ((name, Resolved(name, {})) for name in kind.plugins())
    yield from _aliases(kind, of_plugins=True).items()


# ---- the kinds there are ----
METHODS: Kind[type[Method]] = Kind(
    "method", "aggregate", "methods", in_families=True, has_aliases=True, base="concordant.method:Method"
)
LEARNERS: Kind[type[Any]] = Kind(
    "learner",
    "learn",
    "learners",
    base="sklearn.base:BaseEstimator",
    libraries={"sklearn": "Learning needs scikit-learn: install it with pip install 'concordant[learn]'."},
)
# Beside the losses the folder holds what they are made of, and the family of ordered partitions with its own ranker.
LOSSES: Kind[type[Loss]] = Kind(
    "loss",
    "losses",
    "losses",
    suffix="Loss",
    besides=("base", "queries", "duels", "ordered_partitions", "set_sizes", "subset_sampling"),
    base="concordant.losses.base:Loss",
)
METRICS: Kind[type[Metric]] = Kind(
    "metric", "metrics", "metrics", has_aliases=True, base="concordant.metrics.value:Metric", added={}
)
SIMULATORS: Kind[Any] = Kind("model", "simulate", "simulators", holds="function")
EXPERIMENTS: Kind[ModuleType] = Kind("experiment", "experiments", "experiments", holds="module")
READERS: Kind[Format] = Kind(
    "format", "io", "formats", group="readers", has_aliases=True, reader="concordant.io._formats:of_package", added={}
)
KINDS = {kind.plural: kind for kind in (METHODS, LEARNERS, LOSSES, METRICS, READERS, SIMULATORS, EXPERIMENTS)}

# Methods are what is looked up most: their functions stand here by themselves.
modules, names, load, family = METHODS.modules, METHODS.names, METHODS.load, METHODS.family
resolve, make = METHODS.resolve, METHODS.make
