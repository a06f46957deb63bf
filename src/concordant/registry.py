"""Registry of everything that can be looked up by name: methods, learners, losses, metrics and so on.

A built-in entry exists if its file exists: names are the files in the folder of a kind, which are listed without
importing anything. The file defines a class or function with the name of the file (for formats, a tuple of formats).
Names are compared without case, dashes and underscores. Entries declare their aliases, which are checked if no name
matches.

Plug-ins declare their entries in their ``pyproject.toml``:

    [project.entry-points."concordant.methods"]
    two-step = "their_package.two_step:TwoStep"      # a Method class of that name

    [project.entry-points."concordant.readers"]
    chain = "their_package.chain"                    # a module with FORMAT (io.Format) and read(sources, options)

    [project.entry-points."concordant.metrics"]
    hamming = "their_package.hamming:Hamming"        # a DistanceMetric or ListMetric class of that name

Plug-ins are searched last, only for listings and unknown names. They cannot replace a built-in name.
"""

from __future__ import annotations

import glob
import importlib
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from concordant.errors import ConcordantError, ParameterError, UnknownNameError, action, suggest

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from concordant.io import Format
    from concordant.losses.base import Loss
    from concordant.method import Method
    from concordant.metrics.value import Metric

Entry = TypeVar("Entry")
Made = TypeVar("Made")
FEW = 20  # names that a message lists where none of them is like the one given


def fold(name: str) -> str:
    """Return a name in the form used for comparison: without case, dashes, underscores and spaces.

    Parameters
    ----------
    name : str
        Name in any spelling.

    Returns
    -------
    str
        The folded name.

    Examples
    --------
    >>> fold("Plackett-Luce") == fold("plackett_luce")
    True
    """
    return name.replace("-", "").replace("_", "").replace(" ", "").lower()


def summary_of(entry: object) -> str:
    """Return the first paragraph of the documentation of a class, function or module, on one line.

    Parameters
    ----------
    entry : object
        Class, function or module.

    Returns
    -------
    str
        The summary.

    Examples
    --------
    >>> summary_of(fold)
    'Return a name in the form used for comparison: without case, dashes, underscores and spaces.'
    """
    return _first_paragraph(getattr(entry, "doc", entry.__doc__) or "")


def _first_paragraph(text: str) -> str:
    return " ".join(text.strip().split("\n\n")[0].split())


def name_of_class(cls: type) -> str:
    """Return the registered name of a class.

    Parameters
    ----------
    cls : type
        Class of a method, learner or other entry.

    Returns
    -------
    str
        The name of the file with dashes; for a class of a plug-in, the class name in lower case with dashes.

    Examples
    --------
    >>> name_of_class(METHODS.find("PlackettLuce"))
    'plackett-luce'
    """
    package, _, module = cls.__module__.rpartition(".")
    if package.startswith("concordant."):
        return module.replace("_", "-")
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", cls.__name__).lower()


class Resolved(NamedTuple):
    """The entry that a name in any spelling refers to, and the parameters set by an alias."""

    name: str
    preset: Mapping[str, object]


class Listed(NamedTuple):
    """An entry of a listing; if a plug-in cannot be loaded, the summary gives the reason."""

    name: str
    family: str
    summary: str
    entry: Any


@dataclass(frozen=True, eq=False)
class Kind(Generic[Entry]):
    """A kind of entry that is looked up by name, with the location and content of its files.

    ``home`` is the folder of the files below ``concordant``. ``plural`` is the name of the command that lists the
    entries and, unless ``group`` is set, of the entry point group of plug-ins.
    """

    word: str  # what messages call one of them
    home: str
    plural: str
    group: str = ""
    what: str = ""  # what the command that lists them calls them, where the plural says too little
    entry_kind: str = (
        "class"  # what a file defines under its name: a class, a function, or nothing but itself ("module")
    )
    suffix: str = ""  # what the names of the classes end with
    excluded: tuple[str, ...] = ()  # files and folders without entries, apart from those with a leading underscore
    in_families: bool = False  # whether the files stand in one folder per family
    has_aliases: bool = False  # whether entries declare other names of theirs
    base: str = ""  # the class that other packages' entries derive from, as "module:class"
    reader: str = ""  # or the function of (name, what an entry point holds) that makes the entry
    libraries: Mapping[str, str] = field(default_factory=dict)  # that may be missing, each with what to do then
    lists: str = ""  # the tuple of entries a file holds, where it holds several
    first: str = ""  # the file whose entries come before those of the others

    @property
    def lists_them(self) -> str:
        """Help text of the command that lists the entries."""
        return f"List the {self.what or self.plural}, or explain one."

    # ---- built-in ----
    def modules(self) -> Mapping[str, str]:
        """Map the name of each built-in entry to its module, without importing any."""
        return self._listed_in_files() if self.lists else self._files()

    @cache  # noqa: B019
    def _listed_in_files(self) -> Mapping[str, str]:
        """Map the names of the entries that files list to the files; all files are imported."""
        files = sorted(self._files().items(), key=lambda file: file[0] != self.first)
        return {entry.name: module for _, module in files for entry in self._all_of(module)}

    def _all_of(self, module: str) -> tuple[Any, ...]:
        """Return the entries that a file lists."""
        entries: tuple[Any, ...] = getattr(importlib.import_module(module), self.lists)
        return entries

    @cache  # noqa: B019 - kinds live as long as the program
    def _files(self) -> Mapping[str, str]:
        """Map the name of each file of this kind to its module."""
        package_folder = os.path.dirname(__file__)
        module_of = {}
        for path in glob.glob(os.path.join(package_folder, self.home, *["[!_.]*"] * self.in_families, "[!_]*.py")):
            stem = os.path.splitext(os.path.basename(path))[0]
            if stem not in self.excluded and os.path.basename(os.path.dirname(path)) not in self.excluded:
                subpackage = os.path.relpath(os.path.dirname(path), package_folder).replace(os.sep, ".")
                module_of[stem.replace("_", "-")] = f"concordant.{subpackage}.{stem}"
        return dict(sorted(module_of.items()))

    @cache  # noqa: B019
    def load(self, name: str) -> Entry:
        """Return an entry by its exact name, from concordant or else from a plug-in."""
        if name not in self.modules():
            return self._load_plugin(name)
        if self.lists:
            return next(entry for entry in self._all_of(self.modules()[name]) if entry.name == name)  # type: ignore[no-any-return]
        try:
            module = importlib.import_module(self.modules()[name])
        except ModuleNotFoundError as error:
            library = (error.name or "").partition(".")[0]
            if library not in self.libraries:
                raise
            raise ConcordantError(self.libraries[library]) from None
        return self.entry_of(module, name)

    def entry_of(self, module: ModuleType, name: str) -> Entry:
        """Return the class or function that has the name of its file; the module itself if entries are modules."""
        entry: Any = module
        if self.entry_kind != "module":
            matching = [value for key, value in vars(module).items() if fold(key) == fold(name + self.suffix)]
            matching = [value for value in matching if isinstance(value, type) == (self.entry_kind == "class")]
            entry = next((value for value in matching if getattr(value, "__module__", "") == module.__name__), None)
        if entry is None:
            what = f"no {self.entry_kind} with the same name as its file: rename the {self.entry_kind} or the file"
            raise UnknownNameError(f"{module.__name__} defines {what}.")
        return entry  # type: ignore[no-any-return]

    def name_of(self, entry: type) -> str | None:
        """Return the name of a built-in class, None for other classes."""
        name = entry.__module__.rpartition(".")[2].replace("_", "-")
        return name if self.modules().get(name) == entry.__module__ and self.load(name) is entry else None

    # ---- other packages' ----
    @cache  # noqa: B019
    def entry_points(self) -> Mapping[str, EntryPoint]:
        """Map the names that plug-ins declare to their entry points, without importing the plug-ins."""
        from importlib.metadata import entry_points  # slow to import, and seldom needed

        # Sorted by package, so that of two packages with one name the same one is taken every time.
        points = entry_points(group=f"concordant.{self.group or self.plural}")
        return {point.name: point for point in sorted(points, key=_package, reverse=True)}

    def plugins(self) -> list[str]:
        """List the entries of plug-ins; they cannot replace a built-in name."""
        if not self.entry_points():  # looking for aliases imports the built-in entries
            return []
        taken = {fold(name) for name in (*self.modules(), *self._aliases(of_plugins=False))}
        return sorted(name for name in self.entry_points() if fold(name) not in taken)

    def _load_plugin(self, name: str) -> Entry:
        """Import the object of an entry point; convert any problem to an error that names the package."""
        point = self.entry_points()[name]
        try:
            loaded: Any = point.load()
        except Exception as error:
            problem = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            raise self._refusal(point, f"cannot be loaded ({problem})") from error
        try:
            entry: Entry = _named(self.reader)(name, loaded) if self.reader else self._checked(name, loaded)
            return entry
        except ValueError as error:
            raise self._refusal(point, str(error)) from None

    def _checked(self, name: str, loaded: Any) -> Any:
        """Validate the object of an entry point (subclass, module, name); raise ValueError if it is wrong."""
        if self.base and not (isinstance(loaded, type) and issubclass(loaded, _named(self.base))):
            raise ValueError(f"is not a subclass of {self.base.replace(':', '.')}")
        if self.entry_kind == "module" and not isinstance(loaded, ModuleType):
            raise ValueError("is not a module")
        declared_name = getattr(loaded, "name", None)
        name_found = declared_name if isinstance(declared_name, str) else loaded.__name__.removesuffix(self.suffix)
        if self.entry_kind != "module" and fold(name_found) != fold(name):
            raise ValueError(f"is a {self.entry_kind} with a different name, {name_found}")
        return loaded

    def _refusal(self, point: EntryPoint, what: str) -> UnknownNameError:
        """Create the error for an invalid entry point."""
        subject, package = f"The {self.word} {point.name!r} of the package", _package(point)
        return UnknownNameError(f"{subject} {package!r} {what}: update or uninstall {package!r}.")

    # ---- all ----
    def names(self) -> list[str]:
        """List all entries, including those of plug-ins."""
        return [*self.modules(), *self.plugins()]

    @cache  # noqa: B019
    def resolve(self, name: str) -> Resolved:
        """Return the entry for a name in any spelling.

        Parameters
        ----------
        name : str
            Name or alias in any spelling.

        Returns
        -------
        Resolved
            The registered name, and the parameters set by an alias.

        Raises
        ------
        UnknownNameError
            There is no such entry; the message suggests similar names.

        Examples
        --------
        >>> METHODS.resolve("Plackett Luce").name
        'plackett-luce'
        """
        spellings = []
        for spelling, target in self._spellings():
            if fold(spelling) == fold(name):
                return target
            spellings.append(spelling)
        known = self.names()
        hint = suggest(name, spellings) or (f" Use one of {', '.join(known)}." if len(known) <= FEW else "")
        catalogue = action("list", f" `concordant {self.plural}` lists them all.")
        raise UnknownNameError(f"There is no {self.word} {name!r}.{hint}" + catalogue)

    def _spellings(self) -> Iterator[tuple[str, Resolved]]:
        """Yield each name with its entry, cheapest sources first; the first match wins."""
        yield from ((name, Resolved(name, {})) for name in self.modules())
        yield from self._aliases(of_plugins=False).items()
        yield from ((name, Resolved(name, {})) for name in self.plugins())
        yield from self._aliases(of_plugins=True).items()

    @cache  # noqa: B019
    def _aliases(self, *, of_plugins: bool) -> Mapping[str, Resolved]:
        """Map every alias to its entry and parameters; all entries that may have aliases are imported."""
        resolved: dict[str, Resolved] = {}
        for name in (self.plugins() if of_plugins else self.modules()) if self.has_aliases else ():
            entry: Any = self.listed(name).entry  # a package that cannot be loaded has no aliases
            aliases = getattr(entry, "aliases", ())
            presets = aliases if isinstance(aliases, Mapping) else {alias: {} for alias in aliases}
            resolved |= {alias: Resolved(name, preset) for alias, preset in presets.items()}
        return resolved

    def spelled(self, name: str, params: Mapping[str, object]) -> str:
        """Return a name that distinguishes an entry with these settings from others: ``combmnz``, ``rrf-k-30``."""
        if name not in self.names():
            return name
        from concordant.params import params_of

        entry: Any = self.load(name)
        aliases = getattr(entry, "aliases", ())
        presets = aliases if isinstance(aliases, Mapping) else {}
        fitting = [alias for alias, preset in presets.items() if preset and preset.items() <= params.items()]
        alias = max(fitting, key=lambda alias_name: len(presets[alias_name]), default=None)
        defaults = {declared.name: declared.default for declared in params_of(entry)} | (
            presets[alias] if alias else {}
        )
        changed = {key: value for key, value in params.items() if key in defaults and value != defaults[key]}
        shown = [f"{key}-{value:g}" if isinstance(value, float) else f"{key}-{value}" for key, value in changed.items()]
        return "-".join([alias or name, *shown])

    def find(self, name: str) -> Entry:
        """Return an entry by its name in any spelling."""
        return self.load(self.resolve(name).name)

    def make(self: Kind[type[Made]], name: str, **params: object) -> Made:
        """Create an instance of the class with this name.

        Parameters
        ----------
        name : str
            Name or alias in any spelling.
        **params
            Hyper-parameters.

        Returns
        -------
        object
            The instance.

        Raises
        ------
        UnknownNameError
            There is no such entry.
        ParameterError
            The class has no such hyper-parameter, or the value is invalid.

        Examples
        --------
        >>> METHODS.make("borda")
        Borda(missing='auto')
        """
        known, preset = self.resolve(name)
        cls = self.load(known)
        try:
            return cls(**{**preset, **params})
        except TypeError:
            from concordant.params import params_of

            declared = [p.name for p in params_of(cls)]
            unknown = next((key for key in params if key not in declared), None)
            if unknown is None:
                raise
            options = ", ".join(declared) or "none"
            new_name = getattr(cls, "renamed", {}).get(unknown)
            hint = f" It is now called {new_name!r}." if new_name else suggest(unknown, declared)
            error = ParameterError(f"{known} has no parameter {unknown!r} (it has: {options}).{hint}")
            raise error.at(parameter=unknown) from None

    def listing(self) -> list[Listed]:
        """Describe all entries; a plug-in that cannot be loaded does not hide the others."""
        return [self.listed(name) for name in self.names()]

    def outline(self) -> list[Listed]:
        """Describe all entries in one line each, like ``listing``.

        Built-in entries that need a library are parsed instead of imported.
        """
        if not self.libraries:
            return self.listing()
        read = [Listed(name, self.family(name), self._written_summary(name), None) for name in self.modules()]
        return [*read, *map(self.listed, self.plugins())]

    def _written_summary(self, name: str) -> str:
        """Return the summary of a built-in class, parsed from its file without importing it."""
        import ast
        from importlib.util import find_spec

        spec = find_spec(self.modules()[name])
        assert spec is not None
        assert spec.origin is not None
        with open(spec.origin, encoding="utf-8") as file:
            tree = ast.parse(file.read())
        classes = (node for node in tree.body if isinstance(node, ast.ClassDef))
        text = next(ast.get_docstring(node) or "" for node in classes if fold(node.name) == fold(name + self.suffix))
        return _first_paragraph(text)

    def listed(self, name: str) -> Listed:
        """Describe one entry."""
        try:
            entry: Any = self.load(name)
        except UnknownNameError as error:
            return Listed(name, self.family(name), str(error), None)
        return Listed(name, getattr(entry, "kind", "") or self.family(name), summary_of(entry), entry)

    def family(self, name: str) -> str:
        """Return the family of a built-in entry, or the package of a plug-in entry."""
        if name not in self.modules():
            return _package(self.entry_points()[name])
        return self.modules()[name].split(".")[-2] if self.in_families else ""

    # ---- names in Python ----
    def attribute(self, package: str, name: str) -> Entry:
        """Return the built-in class or function with exactly this name, for the ``__getattr__`` of a package."""
        known = next(
            (known_name for known_name in self.modules() if fold(known_name + self.suffix) == fold(name)), None
        )
        entry: Any = None if known is None else self.load(known)
        if known is None or entry.__name__ != name:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return entry  # type: ignore[no-any-return]

    def lazily(
        self, package: str, others: Mapping[str, str]
    ) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
        """Return ``__getattr__`` and ``__dir__`` of a package; ``others`` maps further names to their modules."""
        names = vars(sys.modules[package])

        def attribute(name: str) -> object:
            if name in others:
                return getattr(importlib.import_module(f"{package}.{others[name]}"), name)
            names[name] = self.attribute(package, name)
            return names[name]

        return attribute, lambda: sorted([*names, *others, *self.attributes()])

    def attributes(self) -> list[str]:
        """List the names of all built-in classes or functions; all of them are imported."""
        return [getattr(self.load(name), "__name__", name) for name in self.modules()]


def _named(place: str) -> Any:
    """Import the object given as "module:name"."""
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(module), name)


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else point.module.partition(".")[0]


# ---- the kinds there are ----
METHODS: Kind[type[Method]] = Kind(
    "method",
    "aggregate",
    "methods",
    in_families=True,
    excluded=("explain",),
    has_aliases=True,
    base="concordant.method:Method",
)
LEARNERS: Kind[type[Any]] = Kind(
    "learner",
    "learn",
    "learners",
    what="rankers that learn from features",
    has_aliases=True,
    base="sklearn.base:BaseEstimator",
    libraries={"sklearn": "Learning needs scikit-learn: install it with pip install 'concordant[learn]'."},
)
# Beside the losses the folder holds what they are made of, and the family of ordered partitions with its own ranker.
LOSSES: Kind[type[Loss]] = Kind(
    "loss",
    "losses",
    "losses",
    what="losses a ranker can minimise",
    suffix="Loss",
    excluded=("base", "queries", "duels", "ordered_partitions", "set_sizes", "subset_enumeration", "subset_sampling"),
    base="concordant.losses.base:Loss",
)
RECOMMENDERS: Kind[type[Any]] = Kind(
    "recommender", "recommend", "recommenders", has_aliases=True, base="concordant.recommend._base:Recommender"
)
METRICS: Kind[type[Metric]] = Kind(
    "metric",
    "metrics",
    "metrics",
    what="metrics and their conventions",
    in_families=True,
    has_aliases=True,
    base="concordant.metrics.value:Metric",
)
SIMULATORS: Kind[Any] = Kind(
    "model", "simulate", "simulators", what="models to draw preferences from", entry_kind="function"
)
EXPERIMENTS: Kind[ModuleType] = Kind(
    "experiment",
    "experiments",
    "experiments",
    what="published experiments",
    entry_kind="module",
    excluded=("claims", "frame"),
)
READERS: Kind[Format] = Kind(
    "format",
    "io/formats",
    "formats",
    group="readers",
    what="file formats",
    has_aliases=True,
    reader="concordant.io._formats:of_package",
    excluded=("features",),
    lists="FORMATS",
    first="table",
)
KINDS = {
    kind.plural: kind for kind in (METHODS, LEARNERS, LOSSES, RECOMMENDERS, METRICS, READERS, SIMULATORS, EXPERIMENTS)
}

# Methods are what is looked up most: their functions stand here by themselves.
modules, names, load, family = METHODS.modules, METHODS.names, METHODS.load, METHODS.family
resolve, make = METHODS.resolve, METHODS.make


def title_of(name: str, params: Mapping[str, object] | None = None) -> str:
    """Return the usual name of a method as a title; see ``usual_name``.

    Examples
    --------
    >>> title_of("borda"), title_of("instant-runoff"), title_of("combmnz")
    ('Borda count', 'Instant runoff', 'CombMNZ')
    """
    usual = usual_name(name, params)
    return usual[:1].upper() + usual[1:]


def usual_name(name: str, params: Mapping[str, object] | None = None) -> str:
    """Return the usual name of a method as it is written within a sentence.

    Parameters
    ----------
    name : str
        Name or alias in any spelling; an unknown name is returned as words.
    params : mapping, optional
        Parameters of the method; with some it has a name of its own, such as CombMNZ.

    Returns
    -------
    str
        The name that people know.

    Examples
    --------
    >>> usual_name("borda"), usual_name("instant-runoff"), usual_name("comb", {"combine": "mnz"})
    ('Borda count', 'instant runoff', 'CombMNZ')
    """
    try:
        known, preset = resolve(name)
        method: Any = load(known)
    except (ConcordantError, ImportError):
        return _in_words(name)
    usual: str = vars(method).get("usual_name") or _in_words(known)
    named: Mapping[str, str] = getattr(method, "usual_aliases", {})
    if preset:
        by_alias = {fold(alias): own for alias, own in named.items()}
        return by_alias.get(fold(name), f"{usual} ({name})")
    fitting = [own for alias, own in named.items() if method.aliases[alias].items() <= (params or {}).items()]
    return fitting[0] if fitting else usual


def _in_words(name: str) -> str:
    return re.sub(r"[-_\s]+", " ", name).strip()
