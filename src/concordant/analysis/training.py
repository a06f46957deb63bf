"""Train a ranker on labelled feature rows, evaluate it on held-out queries, and save it.

The command line and the web app share this code. Metrics on queries that the ranker has not seen are compared with two
baselines: a random order, and the best single feature of the training queries.

The module is light to import, because the help of commands needs it: NumPy and scikit-learn are imported on use.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from concordant import params
from concordant.errors import ConcordantError, InputError, arg
from concordant.params import Param
from concordant.support import progress

if TYPE_CHECKING:
    from concordant.io.formats.features import Features
    from concordant.types import Bools, Floats

# Of the linear rankers the best on MQ2008 (LETOR 4.0, five folds, as they come), with and without a validation set:
# MAP 48.2 and 48.0, against 47.2 (rank-svm), 47.3 (rank-net), 47.8 (ordered-partition-ranker); it takes 0.1 s a fold.
DEFAULT = "lambda-rank"
HELD_OUT = 0.25  # share of the queries
METRICS = ("ndcg@10", "map")
MIN_QUERIES = 4  # of which some can be held out
RANDOM, SINGLE = "random order", "best single feature"


# ---- rankers by name ----
def name_of(cls: type) -> str:
    """Return a learner's name on the command line."""
    return cls.__module__.rpartition(".")[2].replace("_", "-")


def params_of(cls: type) -> tuple[Param, ...]:
    """Return the hyper-parameters of a learner: the declared ones, and the names of losses."""
    from concordant import losses

    named = [field.name for field in dataclasses.fields(cls) if not field.metadata and isinstance(field.default, str)]
    texts = {"loss": f"loss to minimise ({', '.join(losses.names())})"}
    loss_params = [Param(name, str, getattr(cls, name), texts.get(name, "a name")) for name in named]
    return (*loss_params, *params.params_of(cls))


def rankers() -> tuple[str, ...]:
    """List the learners that rank labelled rows of queries."""
    from concordant.learn import Ranker
    from concordant.registry import LEARNERS

    return tuple(name for name in LEARNERS.modules() if issubclass(LEARNERS.load(name), Ranker))


def refuse_other_tasks(cls: type) -> None:
    """Reject estimators that are not rankers of labelled rows."""
    from concordant.learn import Ranker

    if not issubclass(cls, Ranker):
        raise InputError(
            f"{name_of(cls)} does not learn from labelled rows of queries: use it from Python "
            f"(concordant.learn.{cls.__name__})."
        )


@contextmanager
def explained(said: Callable[[Warning | str], str]) -> Iterator[list[str]]:
    """Convert errors of scikit-learn to short messages, and collect its warnings in the words of an interface."""
    import warnings

    messages: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield messages
        except ConcordantError:
            raise
        except ValueError as error:
            first = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
            raise InputError(first if first.endswith(".") else f"{first}.") from error
        messages += dict.fromkeys(said(warning.message) for warning in caught)


# ---- training ----
@dataclass
class Trained:
    """A fitted model (a ranker, or a pipeline that ends with it), with its metrics, timing and messages."""

    model: Any
    ranker: Any
    seconds: float
    warnings: list[str] = field(default_factory=list)
    values: dict[str, dict[str, float]] = field(default_factory=dict)
    """Mean of each metric by set of rows."""

    @property
    def name(self) -> str:
        """The learner's name on the command line."""
        return name_of(type(self.ranker))


def fit_ranker(
    ranker: Any,
    train: Features,
    valid: Features | None = None,
    *,
    second_order: bool = False,
    missing: str | None = None,
) -> Trained:
    """Prepare the features and fit the ranker; ``valid`` is for early stopping, if the ranker supports it."""
    import time

    from sklearn.pipeline import Pipeline

    _refuse_missing(ranker, train, missing)
    start, name = time.perf_counter(), name_of(type(ranker))
    steps = _steps(second_order=second_order, missing=missing)
    prepare = Pipeline(steps) if steps else None
    options: dict[str, Any] = {} if train.weight is None else {"sample_weight": train.weight}
    with progress.stage(f"Training {name}"):
        X = train.X if prepare is None else prepare.fit_transform(train.X, train.y)
        if valid is not None and "valid" in ranker.takes:
            valid_X = valid.X if prepare is None else prepare.transform(valid.X)
            options["valid"] = (valid_X, valid.y, valid.query)
        ranker.fit(X, train.y, qid=train.query, **options)
    model = ranker if prepare is None else Pipeline([*prepare.steps, (name, ranker)])
    return Trained(model, ranker, time.perf_counter() - start)


def _steps(*, second_order: bool, missing: str | None) -> list[tuple[str, Any]]:
    """Return the preprocessing steps before the ranker."""
    from concordant.registry import LEARNERS

    steps: list[tuple[str, Any]] = []
    if missing is not None:
        from sklearn.impute import SimpleImputer

        options: dict[str, Any] = (
            {"strategy": "constant", "fill_value": 0.0} if missing == "zero" else {"strategy": missing}
        )
        steps.append(("missing", SimpleImputer(**options, keep_empty_features=True)))
    if second_order:
        steps.append(("second-order", LEARNERS.load("second-order-features")()))
    return steps


def _refuse_missing(ranker: Any, train: Features, missing: str | None) -> None:
    """Reject missing values if the ranker does not support them and no imputation is chosen."""
    import numpy as np
    from sklearn.utils import get_tags

    is_nan = np.isnan(train.X)
    if missing is None and is_nan.any() and not get_tags(ranker).input_tags.allow_nan:
        row, column = (int(k) for k in np.argwhere(is_nan)[0])
        raise InputError(
            f"{int(is_nan.sum()):,} values are missing (first: row {row + 1}, feature {train.names[column]!r}), which "
            f"{name_of(type(ranker))} does not support: use "
            + arg("missing", "mean")
            + ", or a learner that does (rank-boost)."
        )


def save_ranker(trained: Trained, file: Any, train: Features) -> None:
    """Save the model, with the names of its features, the columns of the table, and the metrics."""
    from concordant import saving

    trained_on = {"queries": train.n_queries, "rows": len(train.y)}
    about = {"method": trained.name, "features": train.names, "columns": train.columns, **trained_on}
    saving.save(trained.model, file, about={**about, "metrics": trained.values})


# ---- evaluation ----
def steps_of(model: Any) -> list[tuple[str, Any]]:
    """Return the named steps of a pipeline; a ranker alone is one step."""
    from sklearn.pipeline import Pipeline

    return list(model.steps) if isinstance(model, Pipeline) else [(name_of(type(model)), model)]


def predict(model: Any, X: Any, query: Any) -> Floats:
    """Return the score of each row; learners that rank whole queries also get the queries."""
    import inspect

    last = steps_of(model)[-1][1]
    more = {"qid": query} if "qid" in inspect.signature(last.predict).parameters else {}
    scores: Floats = model.predict(X, **more)
    return scores


def values_by_query(scores: Floats, features: Features, wanted: Sequence[str]) -> dict[str, Floats]:
    """Return the value of each metric by query; the order of tied rows does not matter."""
    from concordant import metrics

    needs_order = any(isinstance(metrics.parse(metric), metrics.ListMetric) for metric in wanted)
    ties = "order" if needs_order else "average"
    return metrics.evaluate_arrays(scores, features.y, features.query, list(wanted), ties=ties)


def means_of(values: Mapping[str, Floats]) -> dict[str, float]:
    """Return the mean of each metric over queries."""
    from concordant import metrics

    return {name: float(metrics.mean(by_query)) for name, by_query in values.items()}


def evaluate(scores: Floats, features: Features, wanted: Sequence[str]) -> dict[str, float]:
    """Return the mean of each metric over the queries; the order of tied rows does not matter."""
    return means_of(values_by_query(scores, features, wanted))


def held_out(features: Features, share: float = HELD_OUT, seed: int = 0) -> tuple[Features, Features]:
    """Hold out a share of the queries at random: return the rows of the other queries, and those of the held-out ones.

    At least one query is held out, and at least one remains.
    """
    import numpy as np

    n = features.n_queries
    if n < MIN_QUERIES:
        have = "1 query" if n == 1 else f"{n} queries"
        raise InputError(
            f"There are too few queries to hold some out ({have}): give at least {MIN_QUERIES}, and name the column "
            "of queries with " + arg("query") + "."
        )
    n_out = min(max(round(share * n), 1), n - 1)
    is_out = np.zeros(n, bool)
    is_out[np.random.default_rng(seed).permutation(n)[:n_out]] = True
    of_row = is_out[features.query]
    return only(features, ~of_row), only(features, of_row)


def only(features: Features, keep: Bools) -> Features:
    """Return some of the rows, with their queries numbered in order of appearance."""
    import numpy as np

    from concordant.ballots.vocabulary import Vocabulary
    from concordant.io.formats.features import Features as Rows

    codes = features.query[keep]
    order = codes[np.sort(np.unique(codes, return_index=True)[1])]
    number = np.zeros(features.n_queries, np.int64)
    number[order] = np.arange(len(order))
    rows = np.flatnonzero(keep)
    return Rows(
        features.X[keep],
        features.y[keep],
        number[codes],
        names=features.names,
        queries=None if features.queries is None else Vocabulary(features.queries.take(order)),
        items=None if features.items is None else [features.items[k] for k in rows.tolist()],
        weight=None if features.weight is None else features.weight[keep],
        has_labels=features.has_labels,
        columns=features.columns,
        notes=features.notes,
    )


@dataclass(frozen=True)
class HeldOut:
    """A ranker that was trained without the held-out queries, and its metrics on them alongside those of baselines."""

    trained: Trained
    train: Features
    test: Features
    scores: Floats
    """Of the held-out rows."""
    values: Mapping[str, Mapping[str, Floats]]
    """Metrics by held-out query: of the ranker, which comes first, and of the baselines."""
    single: str
    """The best single feature, with a minus sign if smaller values are better."""


def try_out(ranker: Any, features: Features, wanted: Sequence[str], *, share: float = HELD_OUT, **how: Any) -> HeldOut:
    """Train a ranker on some queries, and evaluate it and the baselines on the others."""
    import numpy as np

    train, test = held_out(features, share)
    trained = fit_ranker(ranker, train, **how)
    scores = predict(trained.model, test.X, test.query)
    column, sign = _best_feature(train, wanted[0])
    values = {
        trained.name: values_by_query(scores, test, wanted),
        RANDOM: values_by_query(np.zeros(len(scores)), test, wanted),
        SINGLE: values_by_query(_by_feature(test, column, sign), test, wanted),
    }
    trained.values["held-out"] = means_of(values[trained.name])
    name = train.names[column]
    return HeldOut(trained, train, test, scores, values, name if sign > 0 else f"−{name}")


def _best_feature(train: Features, metric: str) -> tuple[int, float]:
    """Return the column, and the sign, of the feature that orders the training queries best."""
    import numpy as np

    best = (-np.inf, 0, 1.0)  # metric, minus the column, sign
    with progress.stage("Trying single features", total=train.X.shape[1]) as step:
        for column in range(train.X.shape[1]):
            step()
            for sign in (1.0, -1.0):
                mean = evaluate(_by_feature(train, column, sign), train, [metric])[metric]
                best = max(best, (mean, -column, sign))
    return -best[1], best[2]


def _by_feature(features: Features, column: int, sign: float) -> Floats:
    """Return the values of a feature as scores; rows without a value come last."""
    import numpy as np

    values = sign * features.X[:, column].astype(np.float64)
    return np.where(np.isnan(values), np.nanmin(values, initial=0.0) - 1.0, values)


def importance(model: Any, train: Features) -> tuple[str, Floats] | None:
    """Return what the features contribute, with the name of the measure; None if the model does not tell.

    Weights of a linear model are multiplied by the standard deviation of their feature, so that they are comparable.
    """
    import numpy as np

    ranker, n = steps_of(model)[-1][1], train.X.shape[1]
    if len(steps_of(model)) > 1:
        return None
    shares = getattr(ranker, "feature_importances_", None)
    if shares is not None and len(shares) == n:
        return "importance", np.asarray(shares, np.float64)
    weights = getattr(ranker, "coef_", None)
    is_linear = not getattr(ranker, "hidden", 0) and getattr(ranker, "kernel", None) in (None, "none")
    if weights is not None and is_linear and np.shape(weights) == (n,):
        return "weight per standard deviation", np.asarray(weights * np.nanstd(train.X, axis=0), np.float64)
    votes = getattr(ranker, "alphas_", None)
    if votes is not None and hasattr(ranker, "features_"):
        return "total vote", np.bincount(ranker.features_, np.abs(votes), minlength=n).astype(np.float64)
    return None
