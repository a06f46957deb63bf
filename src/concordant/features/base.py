"""Base class of transformers from preferences to features, with the scikit-learn interface."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from concordant.errors import NeedError, ParameterError, action
from concordant.params import check_params, params_of
from concordant.preferences import Preferences
from concordant.types import Floats, Int64s


@dataclass(eq=False)
class PreferenceFeatures:
    """Base of transformers: ``fit(prefs)``, ``transform(prefs)`` with a row per slot, ``get_feature_names_out()``.

    They can be the first step of a scikit-learn Pipeline, whose X is then a ``Preferences`` object.
    """

    agents_: tuple[str, ...] = field(init=False, repr=False)
    """The experts seen by ``fit``, in the order of their columns."""

    def __post_init__(self) -> None:
        check_params(self)

    def fit(self, prefs: Preferences, y: object = None) -> Self:
        """Store the experts.

        Parameters
        ----------
        prefs : Preferences
            The training preferences, with agents as experts.
        y : ignored
            For compatibility with scikit-learn.

        Returns
        -------
        self
            The fitted transformer.
        """
        raise NotImplementedError

    def transform(self, prefs: Preferences) -> Floats:
        """Return the features of every slot.

        Parameters
        ----------
        prefs : Preferences
            The preferences.

        Returns
        -------
        array of shape (slots, columns)
            A row per slot (one candidate of one instance), in slot order.
        """
        raise NotImplementedError

    def fit_transform(self, prefs: Preferences, y: object = None) -> Floats:
        """Fit to the preferences and return the features of every slot.

        Parameters
        ----------
        prefs : Preferences
            The training preferences, with agents as experts.
        y : ignored
            For compatibility with scikit-learn.

        Returns
        -------
        array of shape (slots, columns)
            A row per slot (one candidate of one instance), in slot order.
        """
        return self.fit(prefs).transform(prefs)

    def get_feature_names_out(self, input_features: object = None) -> Any:
        """Return the names of the columns.

        Parameters
        ----------
        input_features : ignored
            For compatibility with scikit-learn.

        Returns
        -------
        array of str
            A name per column.
        """
        return np.array(self._names(), object)

    def _names(self) -> Sequence[str]:
        raise NotImplementedError

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return len(self._names())

    @property
    def is_fitted(self) -> bool:
        """Whether ``fit`` has been called."""
        return "agents_" in vars(self)

    def _require_fitted(self) -> tuple[str, ...]:
        """Return the experts; raise an error if ``fit`` has not been called."""
        if not self.is_fitted:
            raise NeedError(f"{type(self).__name__} is not fitted: " + action("refit", "call fit(prefs)") + ".")
        return self.agents_

    # ---- what scikit-learn asks ----
    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name.

        Parameters
        ----------
        deep : bool
            For compatibility with scikit-learn.

        Returns
        -------
        dict
            The parameters.
        """
        return {declared.name: getattr(self, declared.name) for declared in params_of(type(self))}

    def set_params(self, **params: Any) -> Self:
        """Set parameters and reset the transformer.

        Parameters
        ----------
        **params : object
            New values by name.

        Returns
        -------
        self
            The transformer, which must be fitted again.
        """
        known = self.get_params()
        for name in params:
            if name not in known:
                raise ParameterError(f"{type(self).__name__} has no parameter {name!r}: it has {', '.join(known)}.")
        type(self)(**{**known, **params})  # refuses what is out of range
        vars(self).clear()
        vars(self).update(**{**known, **params})
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return self.is_fitted

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags: X is not a 2-d array, labels are not required."""
        from sklearn.utils import InputTags, Tags, TargetTags, TransformerTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            transformer_tags=TransformerTags(),
            input_tags=InputTags(two_d_array=False),
        )


def experts_of(prefs: Preferences, known: Sequence[str], *, unknown_agents: int = -1) -> Int64s:
    """Return the index of the expert of each ballot, ``unknown_agents`` if the expert is not known."""
    if prefs.agents is None or prefs.agent is None:
        from concordant.method import NEEDS

        raise NeedError("Expert features cannot be computed from this data: " + NEEDS["agents"] + ".")
    number = {label: k for k, label in enumerate(known)}
    code = np.array([number.get(label, unknown_agents) for label in prefs.agents.labels], np.int64)
    return code[prefs.agent]
