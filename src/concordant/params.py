"""Declaration of hyper-parameters.

``param(...)`` declares a dataclass field with its default, range, choices and description. Validation, command-line
options, the Parameters section of the class's docstring, reference pages and web forms are all derived from it.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

from concordant.errors import ParameterError, arg, suggest

T = TypeVar("T")
_TITLE = "\nParameters\n----------"
TINY = 1e-6  # a lower limit below it only excludes 0
_KINDS = {"bool": bool, "int": int, "float": float, "str": str}


@dataclass(frozen=True)
class Param:
    """Name, type, default, description and constraints of one hyper-parameter."""

    name: str
    kind: type
    default: object
    doc: str
    choices: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    words: tuple[str, ...] = ()
    """Words that are accepted instead of a number, such as "auto"."""
    optional: bool = False
    objects: bool = False
    """Whether Python may give an object (an estimator) instead of a name."""

    @property
    def option(self) -> str:
        """The name on the command line."""
        return "--" + self.name.replace("_", "-")

    def check(self, value: object) -> None:
        """Raise ParameterError unless ``value`` is valid for this parameter."""
        if (value is None and self.optional) or (self.objects and not isinstance(value, str)):
            return
        if self.choices:
            if value not in self.choices:
                hint = suggest(str(value), list(self.choices))
                raise ParameterError(
                    arg(self.name, value) + f" is not valid: use one of {', '.join(self.choices)}.{hint}"
                )
            return
        if isinstance(value, str) and value in self.words:
            return
        wanted = " or ".join([_an(self.kind), *map(repr, self.words)])
        if not _is_kind(value, self.kind):
            raise ParameterError(arg(self.name, value) + f" has the wrong type: give {wanted}.")
        if self.kind in (int, float):
            number = _as_float(value)
            below = self.low is not None and number < self.low
            above = self.high is not None and number > self.high
            too_long = self.kind is int and abs(number) >= 2**63
            if math.isnan(number) or below or above or too_long:
                allowed = " or ".join([f"{_an(self.kind)} {self.range_text()}", *map(repr, self.words)])
                raise ParameterError(arg(self.name, value) + f" is out of range: give {allowed}.")

    @property
    def has_range(self) -> bool:
        """Whether the declaration restricts the range of a number."""
        return self.low is not None or self.high is not None

    def range_text(self) -> str:
        """Describe the allowed range in words."""
        if self.low is not None and self.high is not None:
            return f"between {self.low:,.15g} and {self.high:,.15g}"
        if self.low is not None and 0 < self.low < TINY:
            return "above 0"
        if self.low is not None:
            return f"of at least {self.low:,.15g}"
        if self.high is not None:
            return f"of at most {self.high:,.15g}"
        return "that is not NaN"

    def type_text(self) -> str:
        """Return the type as numpydoc writes it: ``{'last', 'ignore'}``, ``float or 'auto'``, ``int or None``."""
        kind = "{" + ", ".join(map(repr, self.choices)) + "}" if self.choices else self.kind.__name__
        return " or ".join([kind, *map(repr, self.words), *(["None"] if self.optional else [])])

    def section(self) -> list[str]:
        """Return the lines that describe this parameter in a numpydoc section."""
        limits = f" Must be {self.range_text().removeprefix('of ')}." if self.has_range and not self.choices else ""
        return [f"{self.name} : {self.type_text()}, default {self.default!r}", f"    {_sentence(self.doc)}{limits}"]


def param(
    default: T,
    doc: str,
    *,
    choices: Sequence[str] = (),
    low: float | None = None,
    high: float | None = None,
    words: Sequence[str] = (),
    objects: bool = False,
) -> T:
    """Declare a hyper-parameter as a dataclass field with its default, description and constraints.

    The type is read from the annotation of the field. Add ``| None`` to the annotation to accept None.

    Parameters
    ----------
    default : object
        Default value.
    doc : str
        Description in one sentence, used by ``help``, the command line, the reference pages and the web app.
    choices : sequence of str, default ()
        Accepted words of a parameter of type ``str``; without choices, any text is accepted.
    low : float, optional
        Smallest accepted number.
    high : float, optional
        Largest accepted number.
    words : sequence of str, default ()
        Words that are accepted instead of a number: ``prior: float | str = param("auto", …, words=("auto",))``.
    objects : bool, default False
        Whether Python accepts an object instead of one of the choices.

    Returns
    -------
    dataclasses.Field
        The field, to be assigned to an annotated attribute of a dataclass. Type checkers see the type of ``default``.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import concordant as cc
    >>> @dataclass(frozen=True, kw_only=True)
    ... class Halving(cc.Method):
    ...     factor: float = cc.param(0.5, "Factor by which each place is worth less.", low=0.0, high=1.0)
    >>> Halving(factor=2)
    Traceback (most recent call last):
    concordant.errors.ParameterError: factor=2 is out of range: give a number between 0 and 1.
    """
    declared = {"doc": doc, "choices": tuple(choices), "low": low, "high": high, "words": tuple(words)}
    return dataclasses.field(default=default, metadata={"param": {**declared, "objects": objects}})


class Documented:
    """Docstring of a class, extended by a Parameters section when it is read."""

    def __init__(self, written: str) -> None:
        self.written = written

    def __get__(self, instance: object, owner: type[Any]) -> str:
        return with_parameters(self.written, params_of(owner) if dataclasses.is_dataclass(owner) else ())


def document(cls: type) -> None:
    """Add a Parameters section to the docstring of a class, generated from ``param``; for ``__init_subclass__``."""
    written = vars(cls).get("__doc__")
    if isinstance(written, str):  # None with python -OO
        cls.__doc__ = Documented(written)  # type: ignore[assignment]


def with_parameters(text: str, declared: Sequence[Param]) -> str:
    """Return a docstring with a numpydoc section for these parameters, after those that it already describes."""
    text = inspect.cleandoc(text)
    if not declared:
        return text
    head, line, sections = text.partition("\n\nExamples\n---")
    title = [] if _TITLE in head else _TITLE.split("\n")
    return "\n".join([head, *title, *(line for one in declared for line in one.section())]) + line + sections


def written_doc(entry: object) -> str:
    """Return the docstring of a class or function as in its file, without the generated Parameters section."""
    written = vars(entry).get("__doc__")
    return inspect.cleandoc(written.written) if isinstance(written, Documented) else inspect.getdoc(entry) or ""


def params_of(cls: type[Any]) -> tuple[Param, ...]:
    """Return the hyper-parameters that a dataclass declares or inherits, in order."""
    return _params_of(cls)  # type: ignore[arg-type]


@cache
def _params_of(cls: type[Any]) -> tuple[Param, ...]:
    """Return the hyper-parameters of a class from the metadata of its fields; the annotation gives the type."""
    params = []
    for field in dataclasses.fields(cls):
        declared = field.metadata.get("param")
        if declared is None:
            continue
        kind_text = field.type.__name__ if isinstance(field.type, type) else str(field.type)
        words = kind_text.replace("|", " ").split()
        kind = next((_KINDS[word] for word in words if word in _KINDS), str)
        params.append(Param(name=field.name, kind=kind, default=field.default, optional="None" in words, **declared))
    return tuple(params)


def check_params(instance: object) -> None:
    """Validate every declared hyper-parameter of a dataclass instance."""
    for declared in params_of(type(instance)):
        declared.check(getattr(instance, declared.name))


def by_new_names(cls: type[Any], params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a saved model under their current names; ``cls.renamed`` maps former names to them."""
    renamed: Mapping[str, str] = getattr(cls, "renamed", {})
    return {renamed.get(name, name): value for name, value in params.items() if renamed.get(name, name)}


def values_of(instance: object) -> dict[str, Any]:
    """Return the hyper-parameters of an instance as a plain dictionary."""
    return {declared.name: getattr(instance, declared.name) for declared in params_of(type(instance))}


def _sentence(text: str) -> str:
    """Return a description with a full stop and an initial capital, unless it begins with a formula or a name."""
    start = text[:1].upper() if text.split(" ")[0].rstrip(",:;.").isalpha() else text[:1]
    return start + text[1:] + ("" if text.endswith((".", "?")) else ".")


def _is_kind(value: object, kind: type) -> bool:
    """Return whether a value has this type; True and False do not count as numbers."""
    if kind is bool:
        return isinstance(value, bool)
    if kind is int:
        return isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if kind is float:
        return isinstance(value, numbers.Real) and not isinstance(value, bool)
    return isinstance(value, kind)


def _as_float(value: Any) -> float:
    """Return a number as a float; numbers too large for a float become infinite."""
    try:
        return float(value)
    except OverflowError:  # a whole number of hundreds of digits
        return math.inf if value > 0 else -math.inf


def _an(kind: type) -> str:
    return {int: "a whole number", float: "a number", bool: "True or False", str: "text"}[kind]
