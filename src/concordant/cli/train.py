"""``concordant train``: train a ranker on labelled feature rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click

from concordant.cli import _learners as learners
from concordant.cli import _options
from concordant.cli import _shared as shared
from concordant.cli._help import option
from concordant.support import progress

if TYPE_CHECKING:
    from concordant.io.formats.features import Features

EPILOG = """\b
Examples:
  concordant train train.txt --test test.txt -o model.zip
  concordant train S1.txt S2.txt S3.txt --valid S4.txt --test S5.txt --method lambda-rank
  concordant train rows.csv --label clicks --query search --method rank-svm --C 10
  concordant train train.parquet --valid valid.parquet --plot curve.svg --json
"""
# Of the linear rankers the best on MQ2008 (LETOR 4.0, five folds, as they come), with and without a validation set:
# MAP 48.2 and 48.0, against 47.2 (rank-svm), 47.3 (rank-net), 47.8 (ordered-partition-ranker); it takes 0.1 s a fold.
DEFAULT = "lambda-rank"


class TrainCommand(learners.LearnerCommand):
    """Train with the options of the learner named, or of the default one."""

    default_method = DEFAULT
    hints = {"method": ('--method NAME --help adds its options, "concordant learners" lists them',)}


@dataclass
class Trained:
    """A fitted model with its metrics, timing and messages."""

    model: Any
    ranker: Any
    seconds: float
    warnings: list[str]
    values: dict[str, dict[str, float]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The learner's name on the command line."""
        return learners.name_of(type(self.ranker))


@click.command(cls=TrainCommand, epilog=EPILOG)
@click.argument("train", nargs=-1, required=True, metavar="TRAIN…")
@_options.method("learners", DEFAULT)
@_options.valid
@option("--test", metavar="FILE", heading="input", help="Test rows, for evaluation only.")
@option("--scale/--no-scale", default=None, heading="method", help="Same as --standardise; no effect on trees.")
@option("--second-order", is_flag=True, heading="method", help="Add products of features correlated with the label.")
@option("--bag", type=click.IntRange(2), metavar="N", heading="method", help="Number of rankers to average (bagging).")
@option("--missing", type=click.Choice(["mean", "median", "zero"]), heading="method",
        help="Imputation of missing values.")  # fmt: skip
@_options.metrics("ndcg@10,map")
@_options.model_output
@_options.plot("the learning curve")
@_options.json
@shared.reading_options("features")
def command(
    train: tuple[str, ...], method: str, metrics: list[str], output: str | None, plot: str | None, **options: Any
) -> None:
    """Train a learning-to-rank model on labelled feature rows.

    TRAIN is one or more LETOR or svmlight files, or one table (csv, tsv, jsonl, parquet) with a label, a query and
    columns of numbers, compressed or not. The model is saved without pickle, for use with "concordant predict".
    """
    learners.refuse_early(output, plot)
    params, how, as_json = shared.pop_params(options), shared.pop_reading_options(options), options.pop("as_json")
    sets = {"train": learners.read(train, how)}
    names = sets["train"].names
    for part in ("valid", "test"):
        if path := options.pop(part):
            sets[part] = learners.read([path], how, names)
    shared.tell([] if as_json else [note for features_read in sets.values() for note in features_read.notes], "note: ")
    cls = learners.find(method)
    _refuse_other_tasks(cls)
    with learners.explained() as messages, progress.stage(f"training {learners.name_of(cls)}"):
        ranker = cls(**params)
        scale = options.pop("scale")
        if scale is not None and "standardise" in ranker.get_params():
            ranker.set_params(standardise=scale)
        if bag := options.pop("bag"):
            ranker = learners.find("bagged-ranker")(ranker=ranker, n_rankers=bag)
        done = _fit(ranker, sets, metrics, **options)
    done.warnings = messages
    if plot is not None:
        _draw(done, plot)
    if output is not None:
        _save(done, output, names, sets)
    shared.write_text(shared.to_json(_facts(done, sets, output)) if as_json else _text(done, sets, metrics), "-")
    if not as_json:
        shared.tell(done.warnings, "warning: ")
        shared.tell([output] if output else [], "wrote ")


def _fit(ranker: Any, sets: dict[str, Features], metrics: list[str], **options: Any) -> Trained:
    """Prepare the features, fit the ranker, and evaluate it on every set."""
    import time

    from concordant.cli._postponed import lean_scikit_learn

    train = sets["train"]
    _refuse_missing(ranker, train, options["missing"])
    start = time.perf_counter()
    with lean_scikit_learn():
        from sklearn.pipeline import Pipeline

        steps = _steps(**options)
    prepare = Pipeline(steps) if steps else None
    X = {"train": train.X if prepare is None else prepare.fit_transform(train.X, train.y)}
    X |= {
        part: features.X if prepare is None else prepare.transform(features.X)
        for part, features in sets.items()
        if part not in X
    }
    fit_options: dict[str, Any] = {} if train.weight is None else {"sample_weight": train.weight}
    if "valid" in sets and "valid" in ranker.takes:
        fit_options["valid"] = (X["valid"], sets["valid"].y, sets["valid"].query)
    ranker.fit(X["train"], train.y, qid=train.query, **fit_options)
    seconds = time.perf_counter() - start
    name = learners.name_of(type(ranker))
    model = ranker if prepare is None else Pipeline([*prepare.steps, (name, ranker)])
    trained = Trained(model, ranker, seconds, [])
    for part, features in sets.items():
        trained.values[part] = learners.evaluate(learners.predict(ranker, X[part], features.query), features, metrics)
    return trained


def _steps(*, second_order: bool, missing: str | None) -> list[tuple[str, Any]]:
    """Return the preprocessing steps before the ranker."""
    steps: list[tuple[str, Any]] = []
    if missing is not None:
        from sklearn.impute import SimpleImputer

        options: dict[str, Any] = (
            {"strategy": "constant", "fill_value": 0.0} if missing == "zero" else {"strategy": missing}
        )
        steps.append(("missing", SimpleImputer(**options, keep_empty_features=True)))
    if second_order:
        steps.append(("second-order", learners.find("second-order-features")()))
    return steps


# ---- refusals ----
def _refuse_other_tasks(cls: type) -> None:
    """Reject estimators that are not rankers of labelled rows."""
    from concordant import learn
    from concordant.errors import InputError

    if not issubclass(cls, learn.Ranker):
        raise InputError(
            f"{learners.name_of(cls)} does not learn from labelled rows of queries: use it from Python "
            f"(concordant.learn.{cls.__name__})."
        )


def _refuse_missing(ranker: Any, train: Features, missing: str | None) -> None:
    """Reject missing values if the ranker does not support them and no imputation is chosen."""
    import numpy as np
    from sklearn.utils import get_tags

    from concordant.errors import InputError

    is_nan = np.isnan(train.X)
    if missing is None and is_nan.any() and not get_tags(ranker).input_tags.allow_nan:
        row, column = (int(k) for k in np.argwhere(is_nan)[0])
        raise InputError(
            f"{int(is_nan.sum()):,} values are missing (first: row {row + 1}, feature {train.names[column]!r}), which "
            f"{learners.name_of(type(ranker))} does not support: use --missing mean, or a learner that does "
            f"(rank-boost)."
        )


# ---- what is told ----
def _text(trained: Trained, sets: dict[str, Features], metrics: list[str]) -> str:
    """Return the table of metrics by set."""
    iterations = f"{trained.ranker.n_iter_:,} iterations, " if hasattr(trained.ranker, "n_iter_") else ""
    title = f"{trained.name}: {iterations}{trained.seconds:.2f} s"
    lines = [
        [
            part,
            f"{rows_of_set.n_queries:,}",
            f"{len(rows_of_set.y):,}",
            *(f"{trained.values[part][name]:.4f}" for name in metrics),
        ]
        for part, rows_of_set in sets.items()
    ]
    return shared.table(
        ["set", "queries", "rows", *learners.headings(metrics)], lines, set(range(1, 3 + len(metrics))), title
    )


def _facts(trained: Trained, sets: dict[str, Features], output: str | None) -> dict[str, Any]:
    """Return all results of training as plain data."""
    return {
        "method": trained.name,
        "params": {key: value for key, value in trained.ranker.get_params().items() if _is_plain(value)},
        "steps": [name for name, _ in learners.steps_of(trained.model)],
        "sets": {
            part: {"queries": features.n_queries, "rows": len(features.y), "metrics": trained.values[part]}
            for part, features in sets.items()
        },
        "conventions": learners.conventions(trained.values["train"]),
        "features": sets["train"].X.shape[1],
        "iterations": getattr(trained.ranker, "n_iter_", None),
        "seconds": round(trained.seconds, 6),
        "history": getattr(trained.ranker, "history_", None),
        "warnings": trained.warnings,
        "notes": [note for features in sets.values() for note in features.notes],
        "model": output,
    }


def _is_plain(value: object) -> bool:
    return value is None or isinstance(value, (bool, int, float, str))


def _save(trained: Trained, output: str, names: list[str], sets: dict[str, Features]) -> None:
    """Save the model, with the names of its features and the metrics."""
    from concordant import saving

    trained_on = {"queries": sets["train"].n_queries, "rows": len(sets["train"].y)}
    about = {"method": trained.name, "features": names, "columns": sets["train"].columns, **trained_on}
    saving.save(trained.model, output, about={**about, "metrics": trained.values})


def _draw(trained: Trained, path: str) -> None:
    """Draw the learning curve."""
    from concordant.errors import InputError
    from concordant.narrative.plots import plot_learning_curve

    if not getattr(trained.ranker, "history_", None):
        raise InputError(f"{trained.name} has no learning curve to plot: leave out --plot.")
    plot_learning_curve(
        trained.ranker.history_, path, title=trained.name, metric=getattr(trained.ranker, "metric", "metric")
    )
