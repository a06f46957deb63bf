"""Agreement coefficients against krippendorff, irrCAC, statsmodels, scikit-learn, pingouin and SciPy.

krippendorff, irrCAC and pingouin are optional: ``pip install "concordant[oracles]"`` brings them.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import concordant as cc

pytestmark = pytest.mark.filterwarnings("ignore")
Table = NDArray[np.float64]
MISSING = "is not installed: it comes with the extra oracles"
CLOSE: dict[str, Any] = {"rtol": 0, "atol": 1e-10}


def prefs_of(table: Table) -> cc.Preferences:
    """Answers of raters (columns) to units (rows); NaN where there is none."""
    unit, rater = np.nonzero(~np.isnan(table))
    names = [f"r{k:03}" for k in rater], [f"u{k:03}" for k in unit]
    return cc.Preferences.from_ratings(*names, table[unit, rater])


def value(table: Table, name: str, level: str) -> float:
    return cc.agreement(prefs_of(table), level=level, coefficients=name, replicates=0)[name].value


def random_table(seed: int, *, raters: int | None = None, missing: float | None = None, q: int | None = None) -> Table:
    """A table with some agreement and missing answers, in which all q categories occur, with two answers somewhere."""
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(3, 40)), raters or int(rng.integers(2, 8))
    q = q or int(rng.integers(2, 7))
    truth = rng.integers(1, q + 1, n)
    table = np.where(rng.random((n, k)) < rng.random(), truth[:, None], rng.integers(1, q + 1, (n, k))).astype(float)
    share = rng.choice([0.0, 0.1, 0.4]) if missing is None else missing
    table[rng.random((n, k)) < share] = np.nan
    extra = np.repeat(np.arange(1.0, q + 1), 1)
    full = np.stack([np.roll(extra, j % 2) for j in range(k)], axis=1)  # all categories occur, with some disagreement
    table = np.concatenate([table, full])
    return table[~np.isnan(table).all(axis=1)]


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval", "ratio"])
def test_alpha_is_that_of_krippendorff(level: str) -> None:
    krippendorff = pytest.importorskip("krippendorff", reason=f"krippendorff {MISSING}")
    for seed in range(500):
        table = random_table(seed)
        expected = krippendorff.alpha(reliability_data=table.T, level_of_measurement=level)
        np.testing.assert_allclose(value(table, "krippendorff-alpha", level), expected, **CLOSE)


@pytest.mark.parametrize("weights", ["identity", "linear", "quadratic"])
def test_fleiss_gwet_and_alpha_are_those_of_irrcac(weights: str) -> None:
    raw = pytest.importorskip("irrCAC.raw", reason=f"irrCAC {MISSING}")
    pd = pytest.importorskip("pandas")
    level = "nominal" if weights == "identity" else "ordinal"
    ending = "" if weights == "identity" else f"-{weights}"
    for seed in range(500):
        table = random_table(seed)
        oracle = raw.CAC(pd.DataFrame(table), weights=weights, digits=14)
        fleiss, gwet = oracle.fleiss()["est"], oracle.gwet()["est"]
        np.testing.assert_allclose(value(table, f"fleiss-kappa{ending}", level), fleiss["coefficient_value"], **CLOSE)
        name = "gwet-ac1" if weights == "identity" else f"gwet-ac2{ending}"
        np.testing.assert_allclose(value(table, name, level), gwet["coefficient_value"], **CLOSE)
        if weights == "identity":
            np.testing.assert_allclose(value(table, "percent-agreement", level), fleiss["pa"], **CLOSE)


def test_fleiss_is_that_of_statsmodels() -> None:
    rater = pytest.importorskip("statsmodels.stats.inter_rater", reason="statsmodels is not installed")
    for seed in range(500):
        table = random_table(seed, missing=0.0)
        expected = rater.fleiss_kappa(rater.aggregate_raters(table.astype(int))[0])
        np.testing.assert_allclose(value(table, "fleiss-kappa", "nominal"), expected, **CLOSE)


@pytest.mark.parametrize("weights", [None, "linear", "quadratic"])
def test_cohen_is_that_of_scikit_learn(weights: str | None) -> None:
    metrics = pytest.importorskip("sklearn.metrics", reason="scikit-learn is not installed")
    for seed in range(500):
        table = random_table(seed, raters=2)
        both = table[~np.isnan(table).any(axis=1)]
        expected = metrics.cohen_kappa_score(both[:, 0], both[:, 1], weights=weights)
        name, level = ("cohen-kappa", "nominal") if weights is None else (f"cohen-kappa-{weights}", "ordinal")
        np.testing.assert_allclose(value(table, name, level), expected, **CLOSE)


def test_scott_is_that_of_irrcac() -> None:
    tables = pytest.importorskip("irrCAC.table", reason=f"irrCAC {MISSING}")
    pd = pytest.importorskip("pandas")
    for seed in range(500):
        table = random_table(seed, raters=2)
        both = table[~np.isnan(table).any(axis=1)].astype(int)
        values = np.arange(1, both.max() + 1)
        counts = pd.DataFrame([[int(((both[:, 0] == a) & (both[:, 1] == b)).sum()) for b in values] for a in values])
        expected = tables.CAC(counts, digits=14).scott()["est"]["coefficient_value"]
        np.testing.assert_allclose(value(table, "scott-pi", "nominal"), expected, **CLOSE)


def test_pairs_of_raters_are_those_of_scikit_learn() -> None:
    metrics = pytest.importorskip("sklearn.metrics", reason="scikit-learn is not installed")
    for seed in range(60):
        table = random_table(seed, raters=4)
        for level, weights in (("nominal", None), ("ordinal", "quadratic")):
            columns = cc.agreement(prefs_of(table), level=level, replicates=0).pairs()
            labels = np.unique(table[~np.isnan(table)])
            for one, other, n, share, kappa in zip(*columns.values(), strict=True):
                both = table[:, [int(one[1:]), int(other[1:])]]
                both = both[~np.isnan(both).any(axis=1)]
                assert n == len(both)
                np.testing.assert_allclose(share, (both[:, 0] == both[:, 1]).mean(), **CLOSE)
                expected = metrics.cohen_kappa_score(both[:, 0], both[:, 1], weights=weights, labels=labels)
                np.testing.assert_allclose(kappa, expected, **CLOSE)


def test_intraclass_correlations_are_those_of_pingouin() -> None:
    pingouin = pytest.importorskip("pingouin", reason=f"pingouin {MISSING}")
    pd = pytest.importorskip("pandas")
    names = ["icc-1-1", "icc-2-1", "icc-3-1", "icc-1-k", "icc-2-k", "icc-3-k"]
    for seed in range(500):
        rng = np.random.default_rng(seed)
        n, k = int(rng.integers(6, 30)), int(rng.integers(2, 7))
        table = rng.normal(50, 9, (n, 1)) + rng.normal(0, 4, k) + rng.normal(0, 6, (n, k))
        if seed % 2:
            table[:2, 0] = np.nan  # the two-way forms leave these items out
        long = pd.DataFrame(table).melt(ignore_index=False, var_name="rater").reset_index(names="item")
        found = pingouin.intraclass_corr(long, "item", "rater", "value", nan_policy="omit")["ICC"].to_numpy()
        measured = cc.agreement(prefs_of(table), level="interval", replicates=0)
        own = [measured[name].value for name in names]
        shown = slice(None) if not seed % 2 else [1, 2, 4, 5]  # one-way forms keep items with missing answers
        np.testing.assert_allclose(np.array(own)[shown], found[shown], **CLOSE)


def test_kendalls_w_is_that_of_the_friedman_test() -> None:
    stats = pytest.importorskip("scipy.stats")
    for seed in range(500):
        rng = np.random.default_rng(seed)
        m, n = int(rng.integers(3, 9)), int(rng.integers(3, 9))
        table = rng.integers(1, n + 2, (m, n))
        table[(table == table[:, :1]).all(axis=1), 0] += 1
        statistic = stats.friedmanchisquare(*table.T).statistic
        found = cc.agreement(rankings_of(table.astype(float)), replicates=0)
        np.testing.assert_allclose(found["kendall-w"].value, statistic / (m * (n - 1)), **CLOSE)


def test_mean_tau_is_that_of_scipy() -> None:
    stats = pytest.importorskip("scipy.stats")
    for seed in range(500):
        rng = np.random.default_rng(seed)
        m, n = int(rng.integers(2, 7)), int(rng.integers(3, 9))
        table = rng.integers(1, n + 2, (m, n)).astype(float)
        table[rng.random((m, n)) < rng.choice([0.0, 0.2])] = np.nan
        expected = []
        for a in range(m):
            for b in range(a):
                both = ~np.isnan(table[a]) & ~np.isnan(table[b])
                if both.sum() > 1:
                    expected.append(stats.kendalltau(table[a, both], table[b, both]).statistic)
        mean = np.nanmean(expected)
        if np.isnan(mean):
            continue
        np.testing.assert_allclose(cc.agreement(rankings_of(table), replicates=0)["mean-tau"].value, mean, **CLOSE)


def rankings_of(table: Table) -> cc.Preferences:
    """Rankings of items (columns) by raters (rows), a lower number is better; NaN where an item is not ranked."""
    ballots = []
    for row in table:
        tiers = [[f"i{k}" for k in np.flatnonzero(row == place)] for place in np.unique(row[~np.isnan(row)])]
        ballots.append(tiers)
    kept = [(ballot, f"r{k}") for k, ballot in enumerate(ballots) if ballot]
    return cc.Preferences.from_rankings([ballot for ballot, _ in kept], agent=[name for _, name in kept])


# ---- the small public tables ----
@pytest.fixture
def folder() -> Path:
    root = Path(os.environ.get("CONCORDANT_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data")
    if not (root / "agreement" / "codings.csv").is_file():
        pytest.skip("the public data sets are not here: set CONCORDANT_DATA")
    return root / "agreement"


def cells_of(path: Path) -> list[list[str]]:
    return [line.split(",") for line in path.read_text().splitlines()]


@pytest.mark.parametrize(
    ("level", "alpha"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849), ("ratio", 0.797)]
)
def test_alpha_of_the_textbook_table(folder: Path, level: str, alpha: float) -> None:
    """The table of K. Krippendorff, Computing Krippendorff's alpha-reliability, 2011."""
    table = np.array([[float(cell) if cell else np.nan for cell in row] for row in cells_of(folder / "codings.csv")]).T
    np.testing.assert_allclose(value(table, "krippendorff-alpha", level), alpha, atol=5e-4)
    krippendorff = pytest.importorskip("krippendorff", reason=f"krippendorff {MISSING}")
    expected = krippendorff.alpha(reliability_data=table.T, level_of_measurement=level)
    np.testing.assert_allclose(value(table, "krippendorff-alpha", level), expected, **CLOSE)


def test_alpha_of_a_table_of_words(folder: Path) -> None:
    rows = cells_of(folder / "gcl.csv")
    said = [(f"r{j}", f"u{i}", word) for i, row in enumerate(rows) for j, word in enumerate(row) if word]
    found = cc.agreement(cc.Preferences.from_answers(*map(list, zip(*said, strict=True))))
    krippendorff = pytest.importorskip("krippendorff", reason=f"krippendorff {MISSING}")
    codes = np.array([[{"NN": 0.0, "VBP": 1.0}.get(word, np.nan) for word in row] for row in rows])
    expected = krippendorff.alpha(reliability_data=codes.T, level_of_measurement="nominal")
    np.testing.assert_allclose(found["krippendorff-alpha"].value, expected, **CLOSE)
