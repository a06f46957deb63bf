"""Document ranking from features (Tran, Phung and Venkatesh 2016: table 2 and its claims).

Every model is trained on the training part of a fold, its settings are chosen by MAP on the validation part, and it is
evaluated on the test part; means over the folds, in percent. The paper uses the Yahoo! challenge. The default here is
LETOR 4.0's MQ2008 (784 queries, 46 features, five folds); the Yahoo files, MSLR folders or a single file also work.

The claims of the paper are tested over the test queries of all folds (paired t-test, Holm's correction within a
family). Training time by query size is measured in CPU seconds on simulated queries.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from concordant import learn, metrics
from concordant.errors import InputError, UnknownNameError, suggest
from concordant.experiments import frame
from concordant.experiments._document_ranking_claims import ORDERS as ORDERS
from concordant.experiments._document_ranking_claims import PUBLISHED, TESTED, claims, comparisons
from concordant.experiments._document_ranking_data import DataSet, Fold, Rows, find
from concordant.experiments._document_ranking_models import MODELS, standardiser
from concordant.experiments.claims import as_rows, claims_table
from concordant.experiments.frame import About, DataFolder, Progress, ResultTable, Row, silent
from concordant.types import AnyArray, Floats

TITLE = "Document ranking from features"
THRESHOLD = 0.15  # minimum correlation of a product of two features with the label
LETOR = tuple(f"N@{k}" for k in range(1, 11))
LOG2 = tuple(f"NDCG@{k}" for k in range(1, 11))
METRICS = {
    **{f"N@{k}": f"ndcg@{k}:letor" for k in range(1, 11)},
    **{f"NDCG@{k}": f"ndcg@{k}" for k in range(1, 11)},
    "ERR": "err",
    "MAP": "map",
}

# N@1 to N@5 and MAP of models fitted with other programs (SciPy's L-BFGS, LightGBM) on the five folds of MQ2008.
LINES = frame.published(
    6,
    """
    ranknet       36.78 40.20 43.09 45.61 47.45 47.40
    squared-hinge 37.37 39.85 43.16 45.57 47.38 47.46
    lambdamart    35.80 40.41 42.86 45.37 47.06 47.05
    """,
)
LINE_COLUMNS = ("N@1", "N@2", "N@3", "N@4", "N@5", "MAP")

PUBLISHED_COLUMNS = ("ERR", "NDCG@1", "NDCG@5")

SIZES, N_ROWS = (10, 100, 1000, 10_000, 40_000), 40_000
EXACT = ("pmop-arithmetic", "pmop-maximum", "listmle")
PAIRWISE = ("ranknet", "davidson", "rao-kupper", "rank-regress", "squared-hinge", "exponential", "ranking-svm")


def run(
    data: DataFolder = None,
    models: Sequence[str] | None = None,
    orders: Sequence[str] = ORDERS,
    folds: Sequence[str] | None = None,
    *,
    speed: bool = True,
    progress: Progress = silent,
) -> dict[str, Any]:
    """Run the models: rows of figures, comparisons, and (with ``speed``) CPU seconds by query size."""
    names = check_models(models)
    dataset = find(data)
    fold_names = check_folds(dataset, folds)
    by_order_and_model: dict[tuple[str, str], list[_Measured]] = {}
    MODELS["listnet"].fit(simulated(5, 50), simulated(5, 50))  # loads all imports before timing
    for fold in dataset.read(fold_names):
        for order in orders:
            prepared = None
            for name in _models_of(order, names):
                prepared = prepared or _prepared(fold, order)
                by_order_and_model.setdefault((order, name), []).append(_measured(prepared, name))
                progress(f"fold {fold.name}, {order}-order features: {name}")
    values = {
        key: dict(zip(METRICS, np.concatenate([part.values for part in parts], axis=1), strict=True))
        for key, parts in by_order_and_model.items()
    }
    return {
        "dataset": dataset.name,
        "folds": list(fold_names),
        "rows": [_row(dataset.name, order, name, parts) for (order, name), parts in by_order_and_model.items()],
        "comparisons": comparisons(values),
        "speed": run_speed(progress) if speed else [],
    }


def n_steps(data: DataFolder, models: Any, orders: Any, folds: Any, speed: bool) -> int:
    """Return how many times ``run`` reports progress."""
    names, wanted = check_models(models), check_folds(find(data), folds)
    return len(wanted) * sum(len(_models_of(order, names)) for order in orders) + (len(SIZES) if speed else 0)


def check_models(models: Sequence[str] | None) -> list[str]:
    """Return the models to run: the given ones, by default all that are installed."""
    if models is None:
        return [name for name in MODELS if name != "lambdamart" or _has_lightgbm()]
    for name in models:
        if name not in MODELS:
            hint = suggest(name, list(MODELS)) or f" Use one of {', '.join(MODELS)}."
            raise UnknownNameError(f"There is no model {name!r} in this experiment.{hint}")
    return list(dict.fromkeys(models))


def check_folds(dataset: DataSet, folds: Sequence[str] | None) -> tuple[str, ...]:
    """Return the folds to run: the given ones, by default all."""
    for name in folds or ():
        if name not in dataset.fold_names:
            raise InputError(f"{dataset.name} has no fold {name!r}: use {', '.join(dataset.fold_names)}.")
    return tuple(folds or dataset.fold_names)


def _has_lightgbm() -> bool:
    from importlib.util import find_spec

    return find_spec("lightgbm") is not None


def _models_of(order: str, names: Sequence[str]) -> list[str]:
    """Return the models for first- or second-order features; products of features are only for linear models."""
    return [name for name in names if order == "first" or MODELS[name].is_linear]


# ---- one fold ----
def _prepared(fold: Fold, order: str) -> Fold:
    """Standardise the features by the training part; for second order, first add products correlated with the label."""
    parts = [fold.train, fold.valid, fold.test]
    if order == "second":
        products = learn.load("second-order-features")(threshold=THRESHOLD).fit(fold.train.X, fold.train.y)
        parts = [part._replace(X=products.transform(part.X)) for part in parts]
    scale = standardiser(parts[0].X)
    return Fold(fold.name, *(part._replace(X=scale(part.X)) for part in parts))


class _Measured(NamedTuple):
    """The results of one model on one fold: metric x test query, CPU seconds, the chosen settings."""

    fold: str
    values: Floats
    seconds: float
    chosen: dict[str, Any]


def _measured(fold: Fold, name: str) -> _Measured:
    """Fit one model on a fold; return its metrics on the test queries, CPU seconds and chosen settings."""
    start = time.process_time()
    predict, chosen = MODELS[name].fit(fold.train, fold.valid)
    seconds = time.process_time() - start
    largest = max(float(part.y.max()) for part in (fold.train, fold.valid, fold.test))
    wanted = [f"err:lmax={largest:g}" if text == "err" else text for text in METRICS.values()]
    values = metrics.evaluate_arrays(predict(fold.test), fold.test.y, fold.test.query, wanted)
    return _Measured(fold.name, np.stack(list(values.values())), seconds, dict(chosen))


def _row(dataset: str, order: str, name: str, parts: Sequence[_Measured]) -> Row:
    """Return the means over queries and then folds, in percent, with figures to compare them with."""
    means = np.mean([100 * part.values.mean(axis=1) for part in parts], axis=0).tolist()
    return {
        "dataset": dataset,
        "features": order,
        "model": name,
        **dict(zip(METRICS, means, strict=True)),
        "seconds": sum(part.seconds for part in parts),
        "settings": {part.fold: part.chosen for part in parts},
        "line": _line(dataset, order, name),
        "published": _published(order, name),
    }


def _line(dataset: str, order: str, name: str) -> dict[str, float] | None:
    """Return the figures of other programs on MQ2008 with first-order features; None for other data or models."""
    if order != "first" or name not in LINES or "mq2008" not in dataset.lower():
        return None
    return dict(zip(LINE_COLUMNS, LINES[name], strict=True))


def _published(order: str, name: str) -> dict[str, float] | None:
    """Return the published figures (Yahoo data) in percent; None for other models."""
    if name not in PUBLISHED:
        return None
    figures = PUBLISHED[name][:3] if order == "first" else PUBLISHED[name][3:]
    return {column: 100 * value for column, value in zip(PUBLISHED_COLUMNS, figures, strict=True)}


# ---- training time by query size ----
def run_speed(progress: Progress = silent, sizes: Sequence[int] = SIZES, n_rows: int = N_ROWS) -> list[Row]:
    """Return CPU seconds to train exact and pairwise models on ``n_rows`` rows in queries of growing size."""
    table: dict[str, Row] = {name: {"model": name} for name in (*EXACT, *PAIRWISE)}
    for size in sizes:
        rows = simulated(size, n_rows)
        for name, row in table.items():
            grid = MODELS[name].grid
            fit = MODELS[name].fits(rows)[len(grid) // 2][1]
            start = time.process_time()
            fit(rows, rows)
            row[str(size)] = time.process_time() - start
        progress(f"queries of {size} rows")
    return list(table.values())


def simulated(size: int, n_rows: int, n_features: int = 20) -> Rows:
    """Return queries of one size with labels 0 to 4 that depend on the features, with noise."""
    rng = np.random.default_rng(0)
    n_queries = max(n_rows // size, 1)
    X: AnyArray = rng.normal(size=(n_queries * size, n_features))
    relevance = X @ rng.normal(size=n_features) / np.sqrt(n_features) + rng.normal(size=len(X))
    y = np.digitize(relevance, np.quantile(relevance, (0.4, 0.7, 0.87, 0.95))).astype(np.float64)
    return Rows(X, y, np.repeat(np.arange(n_queries), size))


# ---- report ----
ABOUT = About(
    paper="T. Tran, D. Phung and S. Venkatesh, Modelling human preferences for ranking and collaborative filtering: a "
    "probabilistic ordered partition approach, Knowledge and Information Systems, 2016 (table 2).",
    setting="Rankers are trained on features of documents, with and without a model of ties; settings are chosen by "
    "MAP on the validation part of each fold.",
    data="LETOR 4.0 MQ2008 (784 queries, 46 features, five folds) by default. The paper uses the Yahoo! challenge, "
    "whose files run in the same way.",
)
NOTES = f"""
- N@k: NDCG as the LETOR 4.0 script computes it, 0 for queries with fewer than k documents (half of MQ2008's have fewer
  than 9); NDCG@k: with the discount log2(k+1), as in the paper. Labels of at least 1 are relevant for MAP; queries
  without relevant documents score 0. Seconds: CPU time of all settings and folds together.
- *other programs*: the same folds with SciPy's L-BFGS (linear models) and LightGBM's lambdarank.
- *Yahoo, published*: table 2 of the paper, on other data (unless these are the Yahoo files): compare the order only.
- Settings chosen by MAP on the validation part: the ridge penalty (RankSVM: C) of linear and sampled models, and the
  stopping point of LambdaRank, RankBoost, the network and LambdaMART. The grids and the components of the blend were
  selected on MQ2008 with these tables in view: expect slightly lower figures on other data.
- Second order: products of two features (as in the files) whose absolute correlation with the label exceeds
  {THRESHOLD}, in addition to the features; all are then standardised. The paper does not say whether products of raw or
  of standardised features are meant; raw ones were better on the validation parts.
- listmle breaks ties at random; listmle-best uses the most likely order at the current scores. ranking-svm: hinge loss.
- lambdarank-ranks, forest-ranks, blend: the features and their ranks within the query.
- Sampled models take 1,000 steps of 32 queries with three samples.
- Comparisons: difference in points and p (paired t-test over the test queries of all folds, Holm within the family).
- Training time: {N_ROWS:,} rows, 20 features, labels 0 to 4, one middle setting, the paper's stopping rule. Sorting and
  sums over levels make the hinge losses, rank regression and the exponential loss nearly linear here; the paper
  compares with quadratic versions of them.
"""


def tables(result: Mapping[str, Any]) -> list[ResultTable]:
    """Return the figures, the comparisons, the training times and the claims."""
    result_tables: list[ResultTable] = []
    for order in ORDERS:
        rows = [row for row in result["rows"] if row["features"] == order]
        if rows:
            title = f"{result['dataset']}, {order}-order features"
            result_tables.append(
                _figures(f"{title}: LETOR convention", rows, (*LETOR, "MAP"), "line", "other programs")
            )
            result_tables.append(
                _figures(f"{title}: log2 convention", rows, (*LOG2, "ERR"), "published", "Yahoo, published")
            )
    if result["comparisons"]:
        header = ["family", "features", "model", "against", *TESTED, "result"]
        rows = [_comparison_cells(row) for row in result["comparisons"]]
        result_tables.append(ResultTable("Comparisons of models, in points", header, rows, n_text=4))
    if result["speed"]:
        sizes = [column for column in result["speed"][0] if column != "model"]
        fastest = max(result["speed"][0][sizes[-1]], 1e-9)
        lines = [
            [row["model"], *(f"{row[size]:.3f}" for size in sizes), f"{row[sizes[-1]] / fastest:.1f}"]
            for row in result["speed"]
        ]
        header = ["model", *sizes, f"over {EXACT[0]}"]
        result_tables.append(ResultTable("CPU seconds of training, by rows per query", header, lines))
    return [*result_tables, claims_table(claims(result))]


def _figures(title: str, rows: Sequence[Row], columns: Sequence[str], compared_with: str, called: str) -> ResultTable:
    """Return the table of figures, with the figures to compare with (``line`` or ``published``) below each row."""
    has_seconds = compared_with == "line"
    lines = []
    for row in rows:
        own_line, *further_lines = frame.with_published(
            [row], columns, "model", compared_with, called, differences=has_seconds
        )
        lines += (
            [[*own_line, f"{row['seconds']:.1f}"], *([*line, ""] for line in further_lines)]
            if has_seconds
            else [own_line, *further_lines]
        )
    return ResultTable(title, ["model", *columns, *(["seconds"] if has_seconds else [])], lines)


def _comparison_cells(row: Row) -> list[str]:
    tested = [f"{row[column]['difference']:+.2f} (p {row[column]['p']:.2f})" for column in TESTED]
    return [row["family"], row["features"], row["model"], row["against"], *tested, row["result"]]


def to_markdown(result: Mapping[str, Any]) -> str:
    """Return the tables and notes as a Markdown page."""
    return frame.markdown_page(TITLE, tables(result), "## Notes", NOTES)


def draw(result: Mapping[str, Any], folder: str | os.PathLike[str]) -> list[str]:
    """Draw MAP and NDCG@5 of every model, and training time by query size; return the files."""
    files = [_draw_models(result, folder)] if result["rows"] else []
    if result["speed"]:
        drawn, (axes,) = frame.figure(1, 6, 3.8)
        for k, row in enumerate(result["speed"]):
            sizes = [column for column in row if column != "model"]
            style = "-" if row["model"] in EXACT else "--"
            values = [max(row[size], 1e-3) for size in sizes]
            axes.plot(
                [int(size) for size in sizes],
                values,
                style,
                color=frame.COLOURS[k % len(frame.COLOURS)],
                label=row["model"],
            )
        axes.set(xscale="log", yscale="log", xlabel="rows per query", ylabel="CPU seconds")
        axes.legend(fontsize=7, frameon=False)
        caption = "CPU seconds of training by query size; solid lines are exact list models"
        files.append(frame.save_figure(drawn, folder, "document-ranking-time", caption))
    return files


def _draw_models(result: Mapping[str, Any], folder: str | os.PathLike[str]) -> str:
    """Draw every model, best MAP with first-order features at the top."""
    by_order = {order: {row["model"]: row for row in result["rows"] if row["features"] == order} for order in ORDERS}
    names = sorted(
        dict.fromkeys(row["model"] for row in result["rows"]),
        key=lambda name: (by_order["first"].get(name) or by_order["second"][name])["MAP"],
    )
    drawn, axes = frame.figure(2, 9.0, 1.2 + 0.22 * len(names))
    for c, (panel, column) in enumerate(zip(axes, ("MAP", "NDCG@5"), strict=True)):
        for order, marker, colour in zip(ORDERS, "os", frame.COLOURS, strict=False):
            points = [(by_order[order][name][column], k) for k, name in enumerate(names) if name in by_order[order]]
            if points:
                panel.plot(*zip(*points, strict=True), marker, color=colour, markersize=5, label=f"{order} order")
        panel.set_xlabel(f"{column}, percent")
        panel.set_yticks(range(len(names)), names if c == 0 else [""] * len(names))
    axes[0].legend(frameon=False, fontsize=8, loc="lower right")
    caption = f"{result['dataset']}: MAP and NDCG@5 of every model, with first- and second-order features"
    return frame.save_figure(drawn, folder, "document-ranking", caption)


def plain(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return the result for JSON, figures with six significant digits."""
    return {**{key: _rounded(value) for key, value in result.items()}, "claims": as_rows(claims(result))}


def _rounded(value: Any) -> Any:
    """Return nested data with floats rounded to six significant digits."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, Mapping):
        return {key: _rounded(element) for key, element in value.items()}
    return [_rounded(element) for element in value] if isinstance(value, list) else value
