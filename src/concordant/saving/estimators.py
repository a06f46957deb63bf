"""Convert fitted estimators of ``concordant.learn`` and scikit-learn to plain data (numbers and text).

An estimator is stored as its name, its parameters and its fitted attributes (those whose names end in an underscore).
The name is looked up among the estimators of concordant or in the list below; a file cannot name any other class.
Trees, nearest neighbours, functions and random states are rejected: their state is not plain data, or compiled code
reads it without validation.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from concordant.errors import InputError, ParameterError, arg
from concordant.losses.base import Loss
from concordant.params import by_new_names, check_params, params_of
from concordant.registry import LEARNERS, LOSSES
from concordant.saving import sklearn_state
from concordant.saving.checking import check, check_plain
from concordant.saving.values import Arrays, pack, unpack
from concordant.scorers.kernel import KernelMap
from concordant.types import AnyArray

FITTED = re.compile(r"[A-Za-z][A-Za-z0-9_]*[A-Za-z0-9]_")

# Classes of scikit-learn by module, each with the private attributes that belong to its state.
_SKLEARN: dict[str, dict[str, tuple[str, ...]]] = {
    "pipeline": {"Pipeline": (), "FeatureUnion": ()},
    "preprocessing": {
        **dict.fromkeys(("StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler"), ()),
        **dict.fromkeys(
            ("QuantileTransformer", "Normalizer", "Binarizer", "LabelBinarizer", "FunctionTransformer"), ()
        ),
        "PowerTransformer": ("_scaler",),
        "PolynomialFeatures": ("_min_degree", "_max_degree", "_n_out_full"),
    },
    "impute": {"SimpleImputer": ("_fit_dtype", "_fill_dtype")},
    "decomposition": {"PCA": ("_fit_svd_solver",), "TruncatedSVD": ()},
    "kernel_approximation": {"Nystroem": ("_n_features_out",), "RBFSampler": ("_gamma", "_n_features_out")},
    "random_projection": {"GaussianRandomProjection": ("_n_features_out",)},
    "feature_selection": {"VarianceThreshold": ()},
    "linear_model": {
        **dict.fromkeys(("LogisticRegression", "LinearRegression", "Ridge", "Lasso", "ElasticNet"), ()),
        **dict.fromkeys(("BayesianRidge", "HuberRegressor"), ()),
        "RidgeClassifier": ("_label_binarizer",),
    },
    "svm": {"LinearSVC": (), "LinearSVR": ()},
    "naive_bayes": {"GaussianNB": ()},
    "discriminant_analysis": {
        "LinearDiscriminantAnalysis": ("_max_components", "_n_features_out"),
        "QuadraticDiscriminantAnalysis": (),
    },
}
SKLEARN = {name: (f"sklearn.{module}", kept) for module, classes in _SKLEARN.items() for name, kept in classes.items()}
_REQUESTS = ("fit", "partial_fit", "predict", "predict_proba", "decision_function", "score", "transform")


def is_estimator(value: object) -> bool:
    """Return whether a value is an estimator, of any library."""
    return hasattr(value, "get_params") and hasattr(value, "fit") and not isinstance(value, type)


class Estimators:
    """Packs and unpacks estimators and their parts (losses, kernel maps)."""

    def pack(self, value: object, path: str, arrays: Arrays) -> dict[str, Any] | None:
        """Return an estimator, loss or kernel map as JSON and arrays; None for anything else."""
        if isinstance(value, Loss):
            name = LOSSES.name_of(type(value))
            if name is None:
                raise InputError(f"{path} cannot be saved: the loss {type(value).__name__} is not part of concordant.")
            return {"kind": "loss", "name": name, "settings": self._packed(_fields(value), path, arrays)}
        if isinstance(value, KernelMap):
            return {"kind": "kernel-map", "settings": self._packed(_fields(value), path, arrays)}
        return self._pack_estimator(value, path, arrays) if is_estimator(value) else None

    def unpack(self, packed: Mapping[str, Any], arrays: Mapping[str, AnyArray], depth: int) -> object:
        """Return the estimator, loss or kernel map; only classes listed in this module are used."""
        kind = packed["kind"]
        if kind == "loss":
            if packed["name"] not in LOSSES.modules():
                raise ValueError(f"there is no loss {packed['name']!r}")
            return _checked_loss(packed["name"], self._unpacked(packed["settings"], arrays, depth))
        if kind == "kernel-map":
            settings = self._unpacked(packed["settings"], arrays, depth)
            check(None, "kernel-map", KernelMap.learns, settings)
            return KernelMap(**settings)
        if kind != "estimator":
            raise ValueError(f"it contains a value of an unknown kind, {kind!r}")
        return self._unpack_estimator(packed, arrays, depth)

    # ---- saving ----
    def _pack_estimator(self, estimator: Any, path: str, arrays: Arrays) -> dict[str, Any]:
        """Return an estimator as JSON: library, name, parameters, learnt attributes, output and metadata settings."""
        library, name, private = _place(estimator)
        params = dict(estimator.get_params(deep=False))
        if params.get("memory") is not None:
            raise InputError(
                f"{name} cannot be saved with a cache, which is specific to this machine: set "
                + arg("memory", None)
                + "."
            )
        learnt = _state(estimator, name, private, params)
        packed: dict[str, Any] = {"kind": "estimator", "library": library, "name": name}
        packed["params"] = self._packed(params, path, arrays)
        packed["learnt"] = self._packed(learnt, path, arrays)
        if hasattr(estimator, "_sklearn_output_config"):
            packed["output"] = estimator._sklearn_output_config.get("transform", "default")
        if requests := _requests(estimator):
            packed["requests"] = requests
        check_estimator(estimator, library, name, learnt)
        return packed

    def _packed(self, values: Mapping[str, object], path: str, arrays: Arrays) -> dict[str, Any]:
        """Pack values by name; arrays are stored under their path."""
        prefix = f"{path}." if path else ""
        return {name: pack(value, prefix + name, arrays, self) for name, value in values.items()}

    # ---- loading ----
    def _unpack_estimator(self, packed: Mapping[str, Any], arrays: Mapping[str, AnyArray], depth: int) -> Any:
        """Return the estimator of a description, after checking parameters and learnt attributes."""
        library, name = str(packed["library"]), str(packed["name"])
        cls, private = class_of(library, name)
        params = by_new_names(cls, self._unpacked(packed["params"], arrays, depth))
        if params.get("memory") is not None:
            raise ValueError(f"{name} has a cache, which a model file must not contain")
        if "n_jobs" in params:  # a matter of the machine; joblib's processes would import from the working folder
            params["n_jobs"] = None
        for unknown in set(params) - set(cls._get_param_names()):
            raise ParameterError(f"{name} has no parameter {unknown!r}")
        estimator = cls(**params)
        learnt = self._unpacked(packed["learnt"], arrays, depth)
        for key, value in learnt.items():
            if not (FITTED.fullmatch(key) or key in private) or key in params or hasattr(cls, key):
                raise ValueError(f"{name} has no learnt value {key!r}")
            setattr(estimator, key, value)
        check_estimator(estimator, library, name, learnt)
        if "output" in packed:
            estimator.set_output(transform=str(packed["output"]))
        for method, requests in dict(packed.get("requests", {})).items():
            if method not in _REQUESTS or not all(
                isinstance(request, (bool, str)) or request is None for request in requests.values()
            ):
                raise ValueError(f"{name} cannot request metadata for {method!r}")
            getattr(estimator, f"set_{method}_request")(**requests)
        return estimator

    def _unpacked(self, packed: Mapping[str, Any], arrays: Mapping[str, AnyArray], depth: int) -> dict[str, Any]:
        """Unpack values by name."""
        return {str(name): unpack(value, arrays, self, depth + 1) for name, value in dict(packed).items()}


def check_estimator(estimator: Any, library: str, name: str, learnt: Mapping[str, object]) -> None:
    """Reject parameters out of range, and learnt values that do not match their declarations."""
    if library == "concordant":
        check_params(estimator)
        check_plain({declared.name: getattr(estimator, declared.name) for declared in params_of(type(estimator))})
        check(estimator, name, getattr(type(estimator), "learns", tuple(learnt)), learnt)
        return
    check(estimator, name, sklearn_state.LEARNS[name], learnt)
    sklearn_state.check_more(estimator, name)


def _checked_loss(name: str, settings: Mapping[str, Any]) -> Loss:
    """Return a loss, or raise an error if a setting does not have the type of its default."""
    cls: Any = LOSSES.load(name)
    for setting in fields(cls):
        value, default = settings.get(setting.name, setting.default), setting.default
        if value is not default and default is not None and type(value) is not type(default):
            raise ValueError(f"the setting {setting.name} of the loss {name} cannot be a {type(value).__name__}")
        check_plain(value)
    loss: Loss = cls(**settings)
    return loss


def _fields(value: Any) -> dict[str, object]:
    """Return the settings of a dataclass."""
    return {setting.name: getattr(value, setting.name) for setting in fields(value)}


def _place(estimator: object) -> tuple[str, str, tuple[str, ...]]:
    """Return the library, name and private attributes of an estimator that can be saved; reject any other estimator."""
    cls = type(estimator)
    known = LEARNERS.name_of(cls)
    if known is not None:
        return "concordant", known, ()
    if cls.__name__ in SKLEARN and cls.__module__.startswith("sklearn."):
        module, private = SKLEARN[cls.__name__]
        if getattr(importlib.import_module(module), cls.__name__) is cls:
            return "scikit-learn", cls.__name__, private
    if hasattr(estimator, "best_estimator_"):
        raise InputError(f"A {cls.__name__} cannot be saved: save its best_estimator_ instead.")
    raise InputError(
        f"A {cls.__name__} cannot be saved: its state is not known to consist of numbers and text. The estimators of "
        f"concordant.learn can be saved, and from scikit-learn {', '.join(sorted(SKLEARN))}."
    )


def class_of(library: str, name: str) -> tuple[Any, tuple[str, ...]]:
    """Return a class by library and name, with its private attributes; reject classes that are not listed."""
    if library == "concordant" and name in LEARNERS.modules():
        return LEARNERS.load(name), ()
    if library == "scikit-learn" and name in SKLEARN:
        module, private = SKLEARN[name]
        return getattr(importlib.import_module(module), name), private
    raise ValueError(f"the estimator {name!r} of {library!r} cannot be loaded")


def _state(estimator: Any, name: str, private: tuple[str, ...], params: Mapping[str, object]) -> dict[str, object]:
    """Return the learnt state of an estimator: all its attributes except parameters and transient ones."""
    by_init = vars(type(estimator)(**params))
    transient = {"_metadata_request", "_sklearn_output_config", *getattr(type(estimator), "_transient", ())}
    learnt = {key: value for key, value in vars(estimator).items() if key not in by_init and key not in transient}
    for key in learnt:
        if not FITTED.fullmatch(key) and key not in private:
            raise InputError(f"{name} cannot be saved: its attribute {key!r} is neither a parameter nor learnt.")
    return learnt


def _requests(estimator: Any) -> dict[str, dict[str, Any]]:
    """Return the metadata requests of an estimator, by method."""
    request = getattr(estimator, "_metadata_request", None)
    return (
        {} if request is None else {method: dict(getattr(request, method).requests) for method in _requested(request)}
    )


def _requested(request: Any) -> list[str]:
    """Return the methods that have metadata requests."""
    return [method for method in _REQUESTS if hasattr(request, method) and getattr(request, method).requests]
