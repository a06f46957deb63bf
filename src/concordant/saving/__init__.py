"""Save models to files and load them again: ``save(model, "model.zip")``, ``load("model.zip")``.

A model is an aggregation method or a recommender, fitted or not, or an estimator of ``concordant.learn``, alone or in a
scikit-learn pipeline. A file is a zip archive with ``model.json`` (registered names, hyper-parameters, learnt values)
and, if there are arrays, ``arrays.npz``. Classes are looked up in the registries by name, never by a path in the file,
and nothing is ever unpickled: a file can only set declared parameters and learnt values. Models that cannot be stored
this way are rejected when saving.

The command line, ``cc.save`` and ``cc.load`` use this module. This package imports the registry and ``support.state``.
"""

from __future__ import annotations

import io
import json
import os
import warnings
import zipfile
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from concordant.errors import ConcordantError, FormatError, InputError, ParameterError
from concordant.params import by_new_names, params_of, values_of
from concordant.registry import METHODS, RECOMMENDERS, Kind
from concordant.saving import archives
from concordant.saving.archives import File
from concordant.saving.checking import check, check_plain, check_predictions
from concordant.settings import Settings
from concordant.support.files import replace_file
from concordant.types import AnyArray

FORMAT, VERSION = "concordant model", 1
KINDS: dict[str, Kind[Any]] = {"method": METHODS, "recommender": RECOMMENDERS}  # by the word a file has for them
_DATE = (1980, 1, 1, 0, 0, 0)  # the same model gives the same bytes


def save(model: Any, path: File, *, about: Mapping[str, object] | None = None) -> None:
    """Save a method, recommender or estimator, fitted or not, to a file.

    The file is a zip archive of JSON and numeric arrays. It contains no code, so it is safe to load.

    Parameters
    ----------
    model : Method, Recommender or estimator
        Model to save. Estimators of ``concordant.learn`` and many scikit-learn estimators and pipelines are supported.
    path : str, path or binary file
        Destination.
    about : mapping, optional
        Plain data to store with the model; ``concordant.saving.read_about`` returns it.

    Raises
    ------
    InputError
        The model cannot be represented by plain data.

    Examples
    --------
    >>> import io
    >>> import concordant as cc
    >>> file = io.BytesIO()
    >>> cc.save(cc.Borda(), file)
    >>> cc.load(file)
    Borda(missing='auto')
    """
    arrays: dict[str, AnyArray] = {}
    try:
        description = _describe(model, arrays)
    except ConcordantError:
        raise
    except ValueError as error:
        raise InputError(f"{_name_of(model)} cannot be saved: {error}.") from None
    if about:
        description["about"] = dict(about)
    try:
        text = json.dumps(description, ensure_ascii=False, allow_nan=False, indent=1)
    except (TypeError, ValueError) as error:
        raise InputError(f"{_name_of(model)} cannot be saved: a parameter is not a plain value ({error}).") from None
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        _write(archive, "model.json", text.encode("utf-8"))
        if arrays:
            packed = io.BytesIO()
            np.savez(packed, **arrays)  # type: ignore[arg-type]
            _write(archive, "arrays.npz", packed.getvalue())
    if isinstance(path, (str, os.PathLike)):
        replace_file(path, content.getvalue())
    else:
        path.write(content.getvalue())


def load(path: File) -> Any:
    """Load a model that ``save`` wrote.

    Parameters
    ----------
    path : str, path or binary file
        Saved model.

    Returns
    -------
    Method, Recommender or estimator
        The model with its parameters and learnt values.

    Raises
    ------
    FormatError
        The file is not a saved model, is damaged, or needs a package that is not installed.

    Examples
    --------
    >>> import io
    >>> import concordant as cc
    >>> file = io.BytesIO()
    >>> cc.save(cc.Copeland(), file)
    >>> type(cc.load(file)).__name__
    'Copeland'
    """
    return _opened(path, _rebuild)


def import_classes(path: File) -> None:
    """Import the classes that a model file names, without building the model."""
    _opened(path, lambda description, _: _import_named(description))


def _import_named(description: object) -> None:
    """Import the classes of all estimators in a description, at any depth."""
    if isinstance(description, dict) and description.get("kind") == "estimator" and "library" in description:
        from concordant.saving.estimators import class_of

        class_of(str(description["library"]), str(description["name"]))
    if isinstance(description, dict):
        description = list(description.values())
    for part in description if isinstance(description, list) else ():
        _import_named(part)


def read_about(path: File) -> dict[str, Any]:
    """Return the ``about`` data passed to ``save``, without building the model.

    Parameters
    ----------
    path : str, path or open binary file
        Saved model.

    Returns
    -------
    dict
        The data, empty if none were saved.
    """
    return _opened(path, lambda description, _: dict(description.get("about") or {}))  # type: ignore[no-any-return]


def _opened(path: File, make: Callable[[dict[str, Any], dict[str, AnyArray]], Any]) -> Any:
    """Read a model file and return ``make(description, arrays)``; convert every problem to a FormatError."""
    where = os.fspath(path) if isinstance(path, (str, os.PathLike)) else None
    if where is not None and os.path.exists(where) and not os.path.isfile(where):  # a pipe or a device may never end
        raise FormatError("this is not a regular file: name a saved model.", path=where)
    try:
        return make(*_read(path))
    except (FormatError, FileNotFoundError, IsADirectoryError, PermissionError):
        raise
    except zipfile.BadZipFile as error:
        raise FormatError(f"this is not a model file ({error}): use a saved model.", path=where) from None
    except Exception as error:  # whatever error a file causes becomes one sentence
        reason = str(error) if isinstance(error, (ValueError, LookupError)) else f"{type(error).__name__}: {error}"
        raise FormatError(f"this model cannot be loaded ({reason}).", path=where) from None


def _name_of(model: Any) -> str:
    return str(getattr(model, "name", type(model).__name__))


# ---- saving ----
def _describe(model: Any, arrays: dict[str, AnyArray]) -> dict[str, Any]:
    """Return the JSON of a model; its arrays are added to ``arrays``."""
    description: dict[str, Any] = {"format": FORMAT, "version": VERSION}
    if isinstance(model, Settings):
        description |= _describe_settings(model)
        description["learnt"] = {name: _pack(name, value, arrays) for name, value in model.learnt.items()}
        check(model, model.name, model.learns, model.learnt)
        return description
    from concordant.saving.estimators import Estimators, is_estimator

    if not is_estimator(model):
        raise InputError(
            f"save() supports methods, recommenders and estimators, not {type(model).__name__}: write rankings and "
            "preferences with cc.write()."
        )
    description["estimator"] = Estimators().pack(model, "", arrays)
    description["scikit-learn"] = _sklearn_version()
    return description


def _describe_settings(model: Settings) -> dict[str, Any]:
    """Return name and hyper-parameters of a method or recommender; reject those that ``load`` could not restore."""
    if not is_registered(model):
        raise InputError(
            f"{type(model).__name__} cannot be saved: its class is not registered, so load() could not find it."
        )
    params = values_of(model)
    if type(model)(**params) != model:
        raise InputError(f"{model.name} cannot be saved: it has state beyond its declared hyper-parameters.")
    return {model.word: model.name, "params": params}


def _sklearn_version() -> str:
    import sklearn

    return str(sklearn.__version__)


def is_registered(model: Settings) -> bool:
    """Return whether the registry has a model's class under its name."""
    kind = KINDS.get(model.word)
    return kind is not None and _is_known(kind, model.name) and kind.load(model.name) is type(model)


def _is_known(kind: Kind[Any], name: str) -> bool:
    return name in kind.modules() or name in kind.plugins()


def _pack(name: str, value: object, arrays: dict[str, AnyArray]) -> dict[str, Any]:
    """Return a learnt value as JSON with its ``kind``; its arrays are added to ``arrays`` under its name."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        arrays[name] = value
        return {"kind": "array"}
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        if all(isinstance(number, (int, float)) for number in value.values()):
            arrays[name] = np.array(list(value.values()), np.float64)
            return {"kind": "mapping", "labels": list(value)}
        if all(isinstance(row, Mapping) for row in value.values()):
            return {"kind": "table", "value": {key: dict(row) for key, row in value.items()}}
    if isinstance(value, (bool, int, float, str)) or value is None:
        return {"kind": "plain", "value": value}
    if isinstance(value, (list, tuple)) and all(isinstance(part, (bool, int, float, str)) for part in value):
        return {"kind": "tuple", "value": list(value)}
    if hasattr(value, "get_params"):
        from concordant.saving.estimators import Estimators, is_estimator

        if is_estimator(value):
            packed = Estimators().pack(value, name, arrays)
            return {"kind": "estimator", "value": packed, "scikit-learn": _sklearn_version()}
    raise InputError(f"The learnt value {name!r} cannot be saved: it is a {type(value).__name__}, not numbers or text.")


def _write(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    """Add a member to a zip with a fixed date, so that equal models give equal bytes."""
    member = zipfile.ZipInfo(name, _DATE)
    member.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(member, content)


# ---- loading ----
def _read(path: File) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    """Return the description and the arrays of a model file, after checking its format and version."""
    description, arrays = archives.read(path)
    if not isinstance(description, dict) or description.get("format") != FORMAT:
        raise ValueError("model.json does not describe a concordant model")
    if description.get("version") != VERSION:
        raise ValueError(
            f"it has version {description.get('version')!r}, but this release reads version {VERSION}: upgrade "
            "concordant"
        )
    return description, arrays


def _rebuild(description: dict[str, Any], arrays: dict[str, AnyArray]) -> Any:
    """Return the model of a description: class by registered name, validated parameters and learnt values."""
    if "estimator" in description:
        return _rebuild_estimator(description["estimator"], str(description.get("scikit-learn")), arrays)
    word = next((word for word in KINDS if word in description), "method")
    name, params, kind = str(description[word]), dict(description["params"]), KINDS[word]
    if not _is_known(kind, name):
        raise ValueError(f"there is no {word} {name!r} in this installation: install the package that provides it")
    cls = kind.load(name)
    params = by_new_names(cls, params)
    for unknown in set(params) - {declared.name for declared in params_of(cls)}:
        raise ParameterError(f"{name} has no parameter {unknown!r}")
    model = cls(**params)
    check_plain(params)
    learnt = {key: _unpack(key, packed, arrays) for key, packed in dict(description["learnt"]).items()}
    if not learnt:
        return model
    fitted = model.with_learnt(**learnt)
    check(fitted, name, fitted.learns, learnt)
    return fitted


def _rebuild_estimator(packed: Mapping[str, Any], saved: str, arrays: dict[str, AnyArray]) -> Any:
    """Return a saved estimator after a trial prediction; warn if the major version of scikit-learn has changed."""
    try:
        from concordant.saving.estimators import Estimators, is_estimator

        current = _sklearn_version()
    except ModuleNotFoundError:
        raise ValueError("it needs scikit-learn: pip install 'concordant[learn]'") from None
    if current.partition(".")[0] != saved.partition(".")[0]:
        warnings.warn(
            f"The model was saved with scikit-learn {saved}, but {current} is installed: check its predictions, or "
            "fit it again.",
            UserWarning,
            stacklevel=5,
        )
    estimator = Estimators().unpack(dict(packed), arrays, 0)
    if not is_estimator(estimator):
        raise ValueError("it does not contain an estimator")
    check_predictions(estimator, type(estimator).__name__)
    return estimator


def _unpack(name: str, packed: dict[str, Any], arrays: dict[str, AnyArray]) -> object:
    """Return a learnt value from its JSON and the arrays."""
    kind = packed["kind"]
    if kind == "array":
        return arrays[name]
    if kind == "mapping":
        labels = [str(label) for label in packed["labels"]]
        if len(set(labels)) < len(labels):
            raise ValueError(f"a label of {name!r} occurs twice")
        return dict(zip(labels, arrays[name].tolist(), strict=True))
    if kind == "tuple":
        return tuple(packed["value"])
    if kind in ("plain", "table"):
        return packed["value"]
    if kind == "estimator":
        return _rebuild_estimator(packed["value"], str(packed.get("scikit-learn")), arrays)
    raise ValueError(f"{name!r} has an unknown kind, {kind!r}")
