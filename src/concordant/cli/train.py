"""``concordant train``: train a ranker on labelled feature rows."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from concordant.analysis import training
from concordant.analysis.training import DEFAULT, Trained
from concordant.cli import _learners as learners
from concordant.cli import _options
from concordant.cli import _shared as shared
from concordant.cli._help import option
from concordant.cli._postponed import lean_scikit_learn
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


class TrainCommand(learners.LearnerCommand):
    """Train with the options of the learner named, or of the default one."""

    default_method = DEFAULT
    hints = {"method": ('--method NAME --help adds its options, "concordant learners" lists them',)}


@click.command(cls=TrainCommand, epilog=EPILOG)
@click.argument("train", nargs=-1, required=True, metavar="TRAIN…")
@_options.method("learners", DEFAULT)
@_options.valid
@option("--test", metavar="FILE", heading="input", help="Test rows, for evaluation only.")
@option("--hold-out", type=click.FloatRange(0, 1, min_open=True, max_open=True), metavar="SHARE", heading="input",
        help="Share of queries to hold out for evaluation; the saved model is trained on all rows.")  # fmt: skip
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
    if options["hold_out"] and options["test"]:
        raise click.UsageError("--hold-out and --test cannot be combined: leave out one of them.")
    for part in ("valid", "test"):
        if path := options.pop(part):
            sets[part] = learners.read([path], how, sets["train"].names)
    shared.tell([] if as_json else [note for features_read in sets.values() for note in features_read.notes], "note: ")
    cls, whole = learners.find(method), sets["train"]
    training.refuse_other_tasks(cls)
    with lean_scikit_learn():
        import_module("sklearn.pipeline")
    with learners.explained() as messages, progress.stage(f"training {training.name_of(cls)}"):
        done = _fit(cls, sets, metrics, {**options, "params": params})
    done.warnings = messages
    if plot is not None:
        _draw(done, plot)
    if output is not None:
        training.save_ranker(done, output, whole)
    shared.write_text(shared.to_json(_facts(done, sets, output)) if as_json else _text(done, sets, metrics), "-")
    if not as_json:
        shared.tell(done.warnings, "warning: ")
        shared.tell([output] if output else [], "wrote ")


def _fit(cls: type, sets: dict[str, Features], metrics: list[str], options: dict[str, Any]) -> Trained:
    """Fit a ranker, and evaluate it on every set.

    If a share of the queries is held out, it is evaluated on them, and then trained on all rows.
    """
    share, how = options.pop("hold_out"), {name: options.pop(name) for name in ("second_order", "missing")}
    whole, valid = sets["train"], sets.get("valid")
    if share:
        sets["train"], sets["held-out"] = training.held_out(whole, share)
    done = training.fit_ranker(_ranker(cls, **options), sets["train"], valid, **how)
    for part, features in sets.items():
        done.values[part] = training.evaluate(
            training.predict(done.model, features.X, features.query), features, metrics
        )
    if share:
        final = training.fit_ranker(_ranker(cls, **options), whole, valid, **how)
        done = replace(final, values=done.values, seconds=done.seconds + final.seconds)
    return done


def _ranker(cls: type, *, params: dict[str, Any], scale: bool | None, bag: int | None) -> Any:
    """Return an unfitted ranker."""
    ranker = cls(**params)
    if scale is not None and "standardise" in ranker.get_params():
        ranker.set_params(standardise=scale)
    return learners.find("bagged-ranker")(ranker=ranker, n_rankers=bag) if bag else ranker


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
        "steps": [name for name, _ in training.steps_of(trained.model)],
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


def _draw(trained: Trained, path: str) -> None:
    """Draw the learning curve."""
    from concordant.errors import InputError
    from concordant.narrative.plots import plot_learning_curve

    if not getattr(trained.ranker, "history_", None):
        raise InputError(f"{trained.name} has no learning curve to plot: leave out --plot.")
    plot_learning_curve(
        trained.ranker.history_, path, title=trained.name, metric=getattr(trained.ranker, "metric", "metric")
    )
