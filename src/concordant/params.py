"""One declaration of a hyper-parameter.

``param(...)`` makes a dataclass field whose default, range, choices and sentence of documentation are
written once. Checks, command-line options, docs pages and web forms all read it from there.
"""

from __future__ import annotations

import dataclasses
import math
import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

from concordant.errors import ParameterError, arg, suggest

T = TypeVar("T")
_KINDS = {"bool": bool, "int": int, "float": float, "str": str}


@dataclass(frozen=True)
class Param:
    """What is known of one hyper-parameter of a method."""

    name: str
    kind: type
    default: object
    doc: str
    choices: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    words: tuple[str, ...] = ()
    """Words that may stand instead of a number, such as "auto"."""
    optional: bool = False
    objects: bool = False
    """Whether Python may give an object (an estimator) instead of a name."""

    @property
    def option(self) -> str:
        """The name on the command line."""
        return "--" + self.name.replace("_", "-")

    def check(self, value: object) -> None:
        """Raise ParameterError unless ``value`` may stand here."""
        if (value is None and self.optional) or (self.objects and not isinstance(value, str)):
            return
        if self.choices:
            if value not in self.choices:
                hint = suggest(str(value), list(self.choices))
                raise ParameterError(
                    arg(self.name, value) + f" is not a choice: use one of {', '.join(self.choices)}.{hint}"
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

    def range_text(self) -> str:
        """Describe the allowed range in words."""
        if self.low is not None and self.high is not None:
            return f"between {self.low:g} and {self.high:g}"
        if self.low is not None:
            return f"of at least {self.low:g}"
        if self.high is not None:
            return f"of at most {self.high:g}"
        return "that is not NaN"


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
    """Declare a hyper-parameter as a dataclass field with its documentation, choices and range.

    ``words`` may stand instead of a number: ``prior: float | str = param("auto", …, low=0.0, words=("auto",))``.
    With ``objects``, Python may give an object instead of one of the choices.
    """
    declared = {"doc": doc, "choices": tuple(choices), "low": low, "high": high, "words": tuple(words)}
    return dataclasses.field(default=default, metadata={"param": {**declared, "objects": objects}})


def params_of(cls: type[Any]) -> tuple[Param, ...]:
    """List the hyper-parameters a dataclass declares, in order."""
    return _params_of(cls)  # type: ignore[arg-type]


@cache
def _params_of(cls: type[Any]) -> tuple[Param, ...]:
    """List the hyper-parameters of a class from the metadata of its fields; the kind is read from the annotation."""
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
    """Check every declared hyper-parameter of a dataclass instance."""
    for declared in params_of(type(instance)):
        declared.check(getattr(instance, declared.name))


def by_new_names(cls: type[Any], params: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters of a saved model under the names they have now; ``cls.renamed`` lists the former ones."""
    renamed: Mapping[str, str] = getattr(cls, "renamed", {})
    return {renamed.get(name, name): value for name, value in params.items() if renamed.get(name, name)}


def values_of(instance: object) -> dict[str, Any]:
    """Return the hyper-parameters of an instance as a plain dictionary."""
    return {declared.name: getattr(instance, declared.name) for declared in params_of(type(instance))}


def _is_kind(value: object, kind: type) -> bool:
    """Return whether a value is of this kind; True and False are not numbers."""
    if kind is bool:
        return isinstance(value, bool)
    if kind is int:
        return isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if kind is float:
        return isinstance(value, numbers.Real) and not isinstance(value, bool)
    return isinstance(value, kind)


def _as_float(value: Any) -> float:
    """Return a number as a float, infinite where it is too large for one."""
    try:
        return float(value)
    except OverflowError:  # a whole number of hundreds of digits
        return math.inf if value > 0 else -math.inf


def _an(kind: type) -> str:
    return {int: "a whole number", float: "a number", bool: "True or False", str: "text"}[kind]
