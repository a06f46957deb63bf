"""Shared code of ``train``, ``predict`` and ``methods``: learners by name, feature files, evaluation, errors."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import click

from concordant.analysis import training
from concordant.cli import _shared as shared
from concordant.params import Param

if TYPE_CHECKING:
    from concordant.io.formats.features import Features


class LearnerCommand(shared.MethodCommand):
    """A command whose options depend on the named learner."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Add the learner's options, except for a plain --help, because loading scikit-learn takes seconds."""
        if {"-h", "--help"} & set(args) and shared.named_method(args) is None:
            self.params = [parameter for parameter in self.params if not (parameter.name or "").startswith("param_")]
            return click.Command.parse_args(self, ctx, args)
        return super().parse_args(ctx, args)

    def params_of(self, name: str) -> tuple[Param, ...]:
        """Return the hyper-parameters of a learner by its name in any spelling."""
        return training.params_of(find(name))


def find(name: str) -> type:
    """Return the class of a learner by its name in any spelling."""
    from concordant.cli._postponed import lean_scikit_learn
    from concordant.registry import LEARNERS

    with lean_scikit_learn():
        return LEARNERS.find(name)


# ---- reading ----
def read(path: Sequence[str], how: Mapping[str, Any], like: Sequence[str] | None = None) -> Features:
    """Read feature files; ``like`` are the feature names of the training set, for other sets."""
    from concordant.io import read_features

    first = path[0] if len(path) == 1 else list(path)
    if like is None:
        return read_features(first, **how)
    if is_numbered(like):
        return _widened(read_features(first, **how), like, path[0], says_columns="features" in how)
    return read_features(first, **{"features": list(like), **how})


def is_numbered(names: Sequence[str]) -> bool:
    """Return whether features are named by numbers, as in LETOR files."""
    return all(name.isdigit() for name in names)


def _widened(features: Features, like: Sequence[str], path: str, *, says_columns: bool) -> Features:
    """Pad a sparse file with zero columns up to the model's number of features; reject more features than that."""
    import numpy as np

    from concordant.errors import FormatError
    from concordant.io.formats.features import Features

    width, wanted = features.X.shape[1], len(like)
    if not is_numbered(features.names) and not says_columns:
        raise FormatError(
            f"the model has {wanted} numbered features, but this file has named ones: list the columns in order with "
            f"--feature-columns.",
            path=path,
        )
    if width == wanted:
        return features
    if width > wanted or not is_numbered(features.names):
        raise FormatError(f"it has {width} features, but the model has {wanted}: give the same features.", path=path)
    X = np.pad(features.X, ((0, 0), (0, wanted - width)))
    attributes = {
        key: getattr(features, key) for key in ("queries", "items", "weight", "has_labels", "columns", "notes")
    }
    return Features(X, features.y, features.query, names=like, **attributes)


# ---- metrics ----
def headings(metrics: Iterable[str]) -> list[str]:
    """Return the headings of metrics, which include the gain of ndcg."""
    from concordant.metrics import headings

    return headings(metrics)


def conventions(metrics: Iterable[str]) -> dict[str, str]:
    """Describe the conventions of metrics that tools define differently."""
    from concordant.metrics import conventions

    return conventions(metrics)


# ---- manners ----
def explained() -> AbstractContextManager[list[str]]:
    """Convert errors of scikit-learn to short messages, and collect its warnings in the words of the command line."""
    return training.explained(_in_cli_words)


def _in_cli_words(message: Warning | str) -> str:
    """Return the first line of a warning, with command-line options in place of arguments."""
    from concordant.errors import OneQueryWarning, in_words

    if isinstance(message, OneQueryWarning):
        return "all rows are treated as one query: name the column of queries with --query."
    text = in_words(message.args[0] if isinstance(message, Warning) and message.args else message, shared.words())
    return text.splitlines()[0] if "\n" in text else text


def refuse_early(output: str | None, plot: str | None) -> None:
    """Reject output paths that cannot be written before training starts."""
    from concordant.errors import InputError
    from concordant.narrative.plots import check_path

    if plot is not None:
        check_path(plot)
    for path in (output, plot):
        folder = os.path.dirname(path or "")
        if folder and not os.path.isdir(folder):
            raise InputError(f"{path}: the folder {folder!r} does not exist: create it first.")
