"""What methods and recommenders share: a frozen set of declared hyper-parameters, and what ``fit`` learnt with them.

A class stands in a file of the same name, which is its name on the command line. ``fit`` leaves the settings as they
are and returns a copy that carries what was learnt, under the names the class declares in ``learns``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from concordant.errors import ParameterError
from concordant.params import check_params, values_of
from concordant.registry import name_of_class, summary_of
from concordant.support.state import Kind


@dataclass(frozen=True, kw_only=True)
class Settings:
    """A frozen set of hyper-parameters with a name."""

    word: ClassVar[str] = "settings"
    """What ``to_dict`` and saved files call one of these."""
    aliases: ClassVar[Mapping[str, Mapping[str, object]]] = {}
    """Other names, each with the parameters it stands for."""
    renamed: ClassVar[Mapping[str, str]] = {}
    """Former names of parameters, each with its current name, or "" if it was removed: older saved models load."""
    learns: ClassVar[Mapping[str, Kind] | tuple[str, ...]] = {}
    """What ``fit`` adds to a copy, by name, each declared with ``support.state``; names alone are not checked."""

    def __post_init__(self) -> None:
        check_params(self)

    @property
    def learnt(self) -> dict[str, Any]:
        """What ``fit`` learnt, empty unless fitted; other hyper-parameters (``replace``) make it unfitted again."""
        return {name: vars(self)[name] for name in self.learns if name in vars(self)}

    def with_learnt(self, **learnt: object) -> Self:
        """Return a copy that carries what was learnt; only names the class declares in ``learns``."""
        for name in set(learnt) - set(self.learns):
            raise ParameterError(f"{self.name} learns no {name!r} (it learns: {', '.join(self.learns) or 'nothing'}).")
        from concordant.support.frozen import frozen  # which needs NumPy

        fitted = replace(self)
        vars(fitted).update({**self.learnt, **{name: frozen(value) for name, value in learnt.items()}})
        return fitted

    @property
    def name(self) -> str:
        """The name on the command line: the file's name with dashes; of another package's class, the class's name."""
        return name_of_class(type(self))

    @classmethod
    def summary(cls) -> str:
        """Return the first sentence of the documentation."""
        return summary_of(cls)

    def to_dict(self) -> dict[str, Any]:
        """Return name and hyper-parameters as plain data."""
        return {self.word: self.name, "params": values_of(self)}
