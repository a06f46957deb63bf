"""Base class of methods and recommenders: frozen hyper-parameters and learnt parameters.

The name of a class on the command line is that of its file. ``fit`` leaves the object unchanged and returns a fitted
copy, which holds the learnt parameters under the names that the class declares in ``learns``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from concordant.errors import ParameterError
from concordant.params import check_params, document, values_of
from concordant.registry import name_of_class, summary_of
from concordant.support.state import Kind


@dataclass(frozen=True, kw_only=True)
class Settings:
    """A named object with immutable hyper-parameters."""

    word: ClassVar[str] = "settings"
    """Key of the name in ``to_dict`` and in saved files."""
    aliases: ClassVar[Mapping[str, Mapping[str, object]]] = {}
    """Other names, each with the parameter values that it sets."""
    renamed: ClassVar[Mapping[str, str]] = {}
    """Former names of parameters, each with its current name ("" if removed), so that older saved models load."""
    learns: ClassVar[Mapping[str, Kind] | tuple[str, ...]] = {}
    """Learnt attributes by name, each declared with ``support.state``; a tuple of names skips validation on load."""

    def __init_subclass__(cls) -> None:
        document(cls)

    def __post_init__(self) -> None:
        check_params(self)

    @property
    def learnt(self) -> dict[str, Any]:
        """Learnt attributes by name; empty before ``fit`` and in a copy with other hyper-parameters (``replace``)."""
        return {name: vars(self)[name] for name in self.learns if name in vars(self)}

    def with_learnt(self, **learnt: object) -> Self:
        """Return a fitted copy with these learnt attributes.

        Parameters
        ----------
        **learnt : object
            Learnt attributes. The class must declare their names in ``learns``.

        Returns
        -------
        Settings
            A copy of the same class. Arrays become read-only.
        """
        for name in set(learnt) - set(self.learns):
            raise ParameterError(
                f"{self.name} does not learn {name!r} (it learns: {', '.join(self.learns) or 'nothing'})."
            )
        from concordant.support.frozen import frozen  # which needs NumPy

        fitted = replace(self)
        vars(fitted).update({**self.learnt, **{name: frozen(value) for name, value in learnt.items()}})
        return fitted

    @property
    def name(self) -> str:
        """Name on the command line: the file name with dashes or, for classes of other packages, the class name."""
        return name_of_class(type(self))

    @classmethod
    def summary(cls) -> str:
        """Return the first paragraph of the docstring.

        Returns
        -------
        str
            The paragraph on one line.
        """
        return summary_of(cls)

    def to_dict(self) -> dict[str, Any]:
        """Return the name and the hyper-parameters as plain data.

        Returns
        -------
        dict
            The name, under the key ``"method"`` or ``"recommender"``, and ``"params"``.
        """
        return {self.word: self.name, "params": values_of(self)}
