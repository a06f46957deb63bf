"""What all transformers from preferences to features share: the face of scikit-learn, and whose ballots these are."""

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

    They take their place at the head of a scikit-learn Pipeline, whose X is a ``Preferences`` then.
    """

    agents_: tuple[str, ...] = field(init=False, repr=False)
    """The experts that ``fit`` saw, in the order of their columns."""

    def __post_init__(self) -> None:
        check_params(self)

    def fit(self, prefs: Preferences, y: object = None) -> Self:
        """Learn who the experts are."""
        raise NotImplementedError

    def transform(self, prefs: Preferences) -> Floats:
        """Return the features of every slot (one candidate of one instance), in slot order."""
        raise NotImplementedError

    def fit_transform(self, prefs: Preferences, y: object = None) -> Floats:
        """Learn who the experts are and return their features of every slot."""
        return self.fit(prefs).transform(prefs)

    def get_feature_names_out(self, input_features: object = None) -> Any:
        """Return the name of every column."""
        return np.array(self._names(), object)

    def _names(self) -> Sequence[str]:
        raise NotImplementedError

    @property
    def n_columns(self) -> int:
        """How many columns there are."""
        return len(self._names())

    @property
    def is_fitted(self) -> bool:
        """Whether ``fit`` has been called."""
        return "agents_" in vars(self)

    def _require_fitted(self) -> tuple[str, ...]:
        """Return the experts, or raise if ``fit`` has not been called."""
        if not self.is_fitted:
            raise NeedError(f"{type(self).__name__} is not fitted: " + action("refit", "call fit(prefs)") + ".")
        return self.agents_

    # ---- what scikit-learn asks ----
    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name."""
        return {declared.name: getattr(self, declared.name) for declared in params_of(type(self))}

    def set_params(self, **params: Any) -> Self:
        """Change parameters; what was learnt is forgotten."""
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
        """Return scikit-learn's tags: X is no table, labels are not required."""
        from sklearn.utils import InputTags, Tags, TargetTags, TransformerTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            transformer_tags=TransformerTags(),
            input_tags=InputTags(two_d_array=False),
        )


def experts_of(prefs: Preferences, known: Sequence[str], *, unknown_agents: int = -1) -> Int64s:
    """Return the number of the known expert who cast each ballot, ``unknown_agents`` for any other."""
    if prefs.agents is None or prefs.agent is None:
        from concordant.method import NEEDS

        raise NeedError("Features of experts cannot be made of this data: " + NEEDS["agents"] + ".")
    number = {label: k for k, label in enumerate(known)}
    code = np.array([number.get(label, unknown_agents) for label in prefs.agents.labels], np.int64)
    return code[prefs.agent]
