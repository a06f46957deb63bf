"""Saved models on the command line: the commands that use each kind, and a common function to load them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import click

USED_BY = {
    "method": "`concordant rank --model` or `concordant fuse --model`",
    "recommender": "`concordant recommend for`",
    "ranker": "`concordant predict`",
}
KNOWN_AS = {"method": "an aggregation method", "recommender": "a recommender", "ranker": "a ranker of feature rows"}


def load_model(path: str, kind: str) -> Any:
    """Load a saved model of one kind ("method", "recommender" or "ranker"), with the checks of ``cc.load``.

    The message about a model of another kind names the command that uses it.
    """
    from concordant import saving
    from concordant.cli._postponed import lean_scikit_learn
    from concordant.errors import FormatError

    with lean_scikit_learn():
        saving.import_classes(path)
    model = saving.load(path)
    if (other := getattr(model, "word", "ranker")) != kind:
        name = getattr(model, "name", type(model).__name__)
        raise FormatError(f"this is {KNOWN_AS[other]} ({name}): use it with {USED_BY[other]}.", path=path)
    return model


def model_method(path: str, params: Iterable[str] = ()) -> Any:
    """Load the method of ``--model``; reject ``--method`` and options that the model contains."""
    source = click.get_current_context().get_parameter_source("method")
    if source is not None and source.name != "DEFAULT":
        raise click.UsageError(
            "--model and --method cannot be combined: a saved model contains its method. Leave out one of them."
        )
    for name in params:
        raise click.UsageError(
            f"--{name.replace('_', '-')} cannot be combined with --model: a saved model contains its settings. "
            "Leave it out."
        )
    return load_model(path, "method")
