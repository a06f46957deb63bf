"""Document ranking from features (Tran, Phung and Venkatesh 2016: table 2 and its claims).

Every model learns on the training part of a fold, its settings are chosen on the validation part by MAP, and the test
part is evaluated; means over the folds, times 100. The paper used the Yahoo! challenge; here the default is LETOR 4.0's
MQ2008 (784 queries, 46 features, five folds), and the Yahoo files, MSLR folders or a single file run the same way.

Three claims of the paper are tested over the test queries of all folds (paired t-test, Holm's correction within a
family): models that know ties beat siblings that do not; ordered partitions with the arithmetic mean are at least as
good as ListMLE; second-order features help. A fourth one, that exact ordered partitions train faster than every
pairwise loss as queries grow, is measured in CPU seconds on simulated queries of growing size.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from concordant import learn, metrics
from concordant.errors import InputError, UnknownNameError, suggest
from concordant.experiments import _frame as frame
from concordant.experiments._document_ranking_data import DataSet, Fold, Rows, find
from concordant.experiments._document_ranking_models import MODELS, standardiser
from concordant.experiments._frame import LEVEL, DataFolder, Progress, ResultTable, Row, silent
from concordant.metrics import holm, paired_t_test
from concordant.types import AnyArray, Floats

TITLE = "Document ranking from features"
ORDERS = ("first", "second")
THRESHOLD = 0.15  # least correlation of a product of two features with the label
LETOR = tuple(f"N@{k}" for k in range(1, 11))
LOG2 = tuple(f"NDCG@{k}" for k in range(1, 11))
METRICS = {
    **{f"N@{k}": f"ndcg@{k}:letor" for k in range(1, 11)},
    **{f"NDCG@{k}": f"ndcg@{k}" for k in range(1, 11)},
    "ERR": "err",
    "MAP": "map",
}

# N@1 … N@5, MAP on MQ2008's five folds of models fitted with other programs: SciPy's L-BFGS, LightGBM.
LINES = frame.published(
    6,
    """
    ranknet       36.78 40.20 43.09 45.61 47.45 47.40
    squared-hinge 37.37 39.85 43.16 45.57 47.38 47.46
    lambdamart    35.80 40.41 42.86 45.37 47.06 47.05
    """,
)
LINE_COLUMNS = ("N@1", "N@2", "N@3", "N@4", "N@5", "MAP")

# Table 2 of Tran, Phung and Venkatesh, on the Yahoo! data: ERR, NDCG@1, NDCG@5; first- and second-order features.
PUBLISHED = frame.published(
    6,
    """
    rank-regress             0.4882 0.6830 0.6672 0.4971 0.7021 0.6752
    ranknet                  0.4919 0.6903 0.6698 0.5049 0.7183 0.6836
    ranking-svm              0.4868 0.6797 0.6662 0.4970 0.7009 0.6733
    listmle                  0.4955 0.6993 0.6705 0.5030 0.7172 0.6810
    davidson                 0.4941 0.6944 0.6725 0.5013 0.7131 0.6786
    rao-kupper               0.4946 0.6970 0.6716 0.5030 0.7136 0.6793
    pmop-arithmetic          0.5038 0.7137 0.6762 0.5086 0.7272 0.6858
    pmop-arithmetic-weighted 0.5054 0.7115 0.6763 0.5099 0.7243 0.6835
    pmop-maximum             0.5034 0.7118 0.6707 0.5037 0.7143 0.6704
    pmop-harmonic-gibbs      0.5018 0.7029 0.6663 0.5013 0.7026 0.6749
    pmop-geometric-gibbs     0.5037 0.7105 0.6792 0.5040 0.7124 0.6706
    pmop-geometric-mh        0.5045 0.7139 0.6790 0.5053 0.7122 0.6713
    """,
)
PUBLISHED_COLUMNS = ("ERR", "NDCG@1", "NDCG@5")

# Who is compared with whom: the claim, the model without ties, the models with them.
ORDERED_PARTITIONS = tuple(name for name in PUBLISHED if name.startswith("pmop"))
FAMILIES = (
    ("ties help pairs", "ranknet", ("davidson", "rao-kupper")),
    ("ties help lists", "listmle", ORDERED_PARTITIONS),
    ("ties beat the likeliest order", "listmle-best", ORDERED_PARTITIONS),
)
CLAIM_COLUMNS = ("ERR", "NDCG@1", "NDCG@5", "MAP")

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
    """Run the models: rows of figures, tests of the claims, and (with ``speed``) CPU seconds by query size."""
    names = check_models(models)
    dataset = find(data)
    fold_names = check_folds(dataset, folds)
    by_order_and_model: dict[tuple[str, str], list[_Measured]] = {}
    MODELS["listnet"].fit(simulated(5, 50), simulated(5, 50))  # imports what all models need: no model's seconds
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
        "claims": claims(values),
        "speed": run_speed(progress) if speed else [],
    }


def n_steps(data: DataFolder, models: Any, orders: Any, folds: Any, speed: bool) -> int:
    """Return how many times ``run`` reports progress."""
    names, wanted = check_models(models), check_folds(find(data), folds)
    return len(wanted) * sum(len(_models_of(order, names)) for order in orders) + (len(SIZES) if speed else 0)


def check_models(models: Sequence[str] | None) -> list[str]:
    """Return the models to run: those named, by default all that can run here."""
    if models is None:
        return [name for name in MODELS if name != "lambdamart" or _has_lightgbm()]
    for name in models:
        if name not in MODELS:
            hint = suggest(name, list(MODELS)) or f" Use one of {', '.join(MODELS)}."
            raise UnknownNameError(f"There is no model {name!r} in this experiment.{hint}")
    return list(dict.fromkeys(models))


def check_folds(dataset: DataSet, folds: Sequence[str] | None) -> tuple[str, ...]:
    """Return the folds to run: those named, by default all."""
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
    """What came out of one model on one fold: metric x test query, CPU seconds, the settings chosen."""

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


# ---- the claims ----
class _Comparison(NamedTuple):
    """A model against another, by metric and test query."""

    order: str
    model: str
    against: str
    values: Mapping[str, Floats]
    base: Mapping[str, Floats]


def claims(values: Mapping[tuple[str, str], Mapping[str, Floats]]) -> list[Row]:
    """Compare models with ties to siblings without, second order to first, and the blend to the best other model."""
    rows: list[Row] = []
    for order in ORDERS:
        for claim, without_ties, with_ties in FAMILIES:
            if (order, without_ties) in values:
                base = values[order, without_ties]
                known = [name for name in with_ties if (order, name) in values]
                rows += _tested(
                    claim, [_Comparison(order, model, without_ties, values[order, model], base) for model in known]
                )
    in_both = [name for order, name in values if order == "second" and ("first", name) in values]
    rows += _tested(
        "second order helps",
        [
            _Comparison("second", model, f"{model}, first", values["second", model], values["first", model])
            for model in in_both
        ],
    )
    other_models = [name for order, name in values if order == "first" and name in PUBLISHED]
    if ("first", "blend") in values and other_models:
        best = max(other_models, key=lambda name: float(values["first", name]["MAP"].mean()))
        compared = _Comparison("first", "blend", best, values["first", "blend"], values["first", best])
        rows += _tested("the blend is best", [compared])
    return rows


def _tested(claim: str, compared: Sequence[_Comparison]) -> list[Row]:
    """Test a family of comparisons on the paper's metrics and MAP, with Holm's correction within the family."""
    rows: list[Row] = [
        {"claim": claim, "features": comparison.order, "model": comparison.model, "against": comparison.against}
        for comparison in compared
    ]
    for column in CLAIM_COLUMNS:
        differences = [comparison.values[column] - comparison.base[column] for comparison in compared]
        corrected = holm([paired_t_test(difference) for difference in differences])
        for row, difference, p in zip(rows, differences, corrected, strict=True):
            row[column] = {"difference": 100 * float(difference.mean()), "p": float(p)}
    for row in rows:
        row["verdict"] = verdict([row[column] for column in CLAIM_COLUMNS])
    return rows


def verdict(tests: Sequence[Mapping[str, float]]) -> str:
    """Summarise the tests of one comparison in words."""
    better = sum(test["difference"] > 0 and test["p"] < LEVEL for test in tests)
    worse = sum(test["difference"] < 0 and test["p"] < LEVEL for test in tests)
    if better and worse:
        return "mixed"
    if better or worse:
        return f"{'holds' if better else 'fails'}, significant on {better or worse} of {len(tests)}"
    above = sum(test["difference"] > 0 for test in tests)
    return f"not significant, above on {above} of {len(tests)}"


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


# ---- showing ----
NOTES = f"""
- N@k: NDCG as the LETOR 4.0 script computes it, 0 for queries with fewer than k documents (half of MQ2008's have fewer
  than 9); NDCG@k: with log2(k+1) at place k, as in the paper. Labels of at least 1 are relevant for MAP; queries
  without relevant documents count 0. Seconds: CPU, all settings and folds together.
- *line*: the same folds with other programs (SciPy's L-BFGS for the linear models, LightGBM's lambdarank).
- *Yahoo, published*: table 2 of the paper, on other data unless these are the Yahoo files: compare orders.
- Settings chosen by MAP on the validation part: the ridge penalty (RankSVM: C) of linear and sampled models; where to
  stop for LambdaRank, RankBoost, the network and LambdaMART. What there is to choose from, and what the blend is made
  of, was settled on MQ2008 itself with these tables in view: on other data expect a little less.
- Second order: products of two features (as they stand in the files) whose correlation with the label exceeds
  {THRESHOLD} either way, beside the features; all are standardised then. Whether products of raw or of standardised
  features are meant, the paper does not say; the raw ones were better on the validation parts.
- listmle orders equal labels at random; listmle-best as is likeliest at the moment. ranking-svm: hinge loss.
- lambdarank-ranks, forest-ranks, blend: ranks within the query stand beside the features.
- Sampled models take 1,000 steps of 32 queries with three samples.
- Claims: difference in percent and p (paired t-test over the test queries of all folds, Holm within the claim).
- Training time: {N_ROWS:,} rows, 20 features, labels 0 to 4, one middle setting, until the paper's rule stops. Sorting
  and sums over levels make the hinge losses, rank regress and the exponential loss nearly linear here; the paper
  compares with quadratic versions of them.
"""


def tables(result: Mapping[str, Any]) -> list[ResultTable]:
    """Return every table."""
    result_tables: list[ResultTable] = []
    for order in ORDERS:
        rows = [row for row in result["rows"] if row["features"] == order]
        if rows:
            title = f"{result['dataset']}, {order}-order features"
            result_tables.append(_figures(f"{title}: LETOR convention", rows, (*LETOR, "MAP"), "line", "line"))
            result_tables.append(
                _figures(f"{title}: log2 convention", rows, (*LOG2, "ERR"), "published", "Yahoo, published")
            )
    if result["claims"]:
        header = ["claim", "features", "model", "against", *CLAIM_COLUMNS, "verdict"]
        result_tables.append(ResultTable("Claims", header, [_claim_cells(row) for row in result["claims"]]))
    if result["speed"]:
        sizes = [column for column in result["speed"][0] if column != "model"]
        fastest = max(result["speed"][0][sizes[-1]], 1e-9)
        lines = [
            [row["model"], *(f"{row[size]:.3f}" for size in sizes), f"{row[sizes[-1]] / fastest:.1f}"]
            for row in result["speed"]
        ]
        header = ["model", *sizes, f"over {EXACT[0]}"]
        result_tables.append(ResultTable("CPU seconds to train, by rows per query", header, lines))
    return result_tables


def _figures(title: str, rows: Sequence[Row], columns: Sequence[str], compared_with: str, called: str) -> ResultTable:
    """Return the table of figures, with the compared figures (``line`` or ``published``) below each row."""
    has_seconds = compared_with == "line"
    lines = []
    for row in rows:
        own_line, *further_lines = frame.with_published([row], columns, "model", compared_with, called)
        lines += (
            [[*own_line, f"{row['seconds']:.1f}"], *([*line, ""] for line in further_lines)]
            if has_seconds
            else [own_line, *further_lines]
        )
    return ResultTable(title, ["model", *columns, *(["seconds"] if has_seconds else [])], lines)


def _claim_cells(row: Row) -> list[str]:
    tested = [f"{row[column]['difference']:+.2f} (p {row[column]['p']:.2f})" for column in CLAIM_COLUMNS]
    return [row["claim"], row["features"], row["model"], row["against"], *tested, row["verdict"]]


def to_markdown(result: Mapping[str, Any]) -> str:
    """Return the tables and notes as a page."""
    shown = [
        table._replace(
            rows=[[cell.strip() for cell in row] for row in table.rows], n_text=4 if table.title == "Claims" else 1
        )
        for table in tables(result)
    ]
    return frame.markdown_page(TITLE, shown, "## Notes", NOTES)


def plain(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return the result as plain data for JSON, figures to four places."""
    return {key: _rounded(value) for key, value in result.items()}


def _rounded(value: Any) -> Any:
    """Return nested data with floats rounded to six significant digits."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, Mapping):
        return {key: _rounded(element) for key, element in value.items()}
    return [_rounded(element) for element in value] if isinstance(value, list) else value
