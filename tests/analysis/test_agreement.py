"""Inter-rater agreement: known values, missing answers, levels, weights, bootstrap intervals, pairs of raters."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import concordant as cc
from concordant.analysis.agreement import measuring, numerical
from concordant.analysis.agreement.categorical import Statistic
from concordant.analysis.agreement.codings import codings_of


def ratings(table: Any) -> cc.Preferences:
    """Answers of raters (columns) to items (rows); NaN where there is none."""
    table = np.asarray(table, float)
    item, rater = np.nonzero(~np.isnan(table))
    return cc.Preferences.from_ratings([f"r{k}" for k in rater], [f"u{k}" for k in item], table[item, rater])


def value(prefs: cc.Preferences, name: str, level: str | None = None) -> float:
    return cc.agreement(prefs, level=level, coefficients=name, replicates=0)[name].value


def random_ratings(seed: int, n: int = 30, k: int = 5, q: int = 4, missing: float = 0.2) -> Any:
    rng = np.random.default_rng(seed)
    table = np.where(rng.random((n, k)) < 0.5, rng.integers(1, q + 1, (n, 1)), rng.integers(1, q + 1, (n, k)))
    table = table.astype(float)
    table[rng.random((n, k)) < missing] = np.nan
    return table


# ---- values ----
def test_cohens_kappa_of_a_two_by_two_table() -> None:
    counts = {("y", "y"): 20, ("y", "n"): 5, ("n", "y"): 10, ("n", "n"): 15}
    answers = [pair for pair, n in counts.items() for _ in range(n)]
    prefs = cc.Preferences.from_answers(
        ["a", "b"] * 50, np.repeat([f"u{k}" for k in range(50)], 2), [one for pair in answers for one in pair]
    )
    assert value(prefs, "cohen-kappa") == pytest.approx(0.4)
    assert value(prefs, "percent-agreement") == pytest.approx(0.7)
    assert value(prefs, "scott-pi") == pytest.approx((0.7 - 0.505) / 0.495)
    assert value(prefs, "gwet-ac1") == pytest.approx((0.7 - 0.495) / 0.505)


def brute_alpha(table: Any, level: str) -> float:
    """Krippendorff's alpha by its definition: mean disagreement of pairs within units over that of all pairs."""
    units = [row[~np.isnan(row)] for row in table]
    units = [row for row in units if len(row) > 1]
    pooled = np.sort(np.concatenate(units))

    def apart(a: float, b: float) -> float:
        if level == "nominal":
            return float(a != b)
        if level == "interval":
            return float((a - b) ** 2)
        if level == "ratio":
            return float(((a - b) / (a + b)) ** 2) if a + b else 0.0
        low, high = min(a, b), max(a, b)
        ends = ((pooled == low).sum() + (pooled == high).sum()) / 2
        return float((((pooled >= low) & (pooled <= high)).sum() - ends) ** 2)

    observed = sum(sum(apart(a, b) for a, b in itertools.permutations(u, 2)) / (len(u) - 1) for u in units)
    expected = sum(apart(a, b) for a, b in itertools.permutations(pooled, 2)) / (len(pooled) - 1)
    return 1 - observed / expected


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval", "ratio"])
def test_alpha_follows_its_definition_with_missing_answers(level: str) -> None:
    for seed in range(20):
        table = random_ratings(seed, n=12)
        assert value(ratings(table), "krippendorff-alpha", level) == pytest.approx(brute_alpha(table, level), abs=1e-10)


@pytest.mark.parametrize("level", ["ordinal", "ratio"])
def test_alpha_of_many_categories_is_that_of_the_tables(level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(5):
        prefs = ratings(random_ratings(seed))
        by_tables = cc.agreement(prefs, level=level, coefficients="krippendorff-alpha", replicates=50)
        with monkeypatch.context() as patched:
            patched.setattr(measuring, "MAX_CATEGORIES", 1)
            found = cc.agreement(prefs, level=level, coefficients="krippendorff-alpha", replicates=50)
        assert found.coefficients[0].value == pytest.approx(by_tables.coefficients[0].value, abs=1e-10)
        if level == "ratio":  # alpha of many ranks draws from the comparable units only
            assert found.coefficients[0].low == pytest.approx(by_tables.coefficients[0].low, abs=0.1)


def test_one_way_correlation_with_missing_answers_is_that_of_the_analysis_of_variance() -> None:
    table = random_ratings(3)
    units = [row[~np.isnan(row)] for row in table if (~np.isnan(row)).sum() > 1]
    pooled = np.concatenate(units)
    n, total = len(units), len(pooled)
    between = sum(len(u) * (u.mean() - pooled.mean()) ** 2 for u in units) / (n - 1)
    within = sum(((u - u.mean()) ** 2).sum() for u in units) / (total - n)
    k = (total - sum(len(u) ** 2 for u in units) / total) / (n - 1)
    expected = (between - within) / (between + (k - 1) * within)
    assert value(ratings(table), "icc-1-1", "interval") == pytest.approx(expected, abs=1e-12)
    assert value(ratings(table), "icc-1-k", "interval") == pytest.approx((between - within) / between, abs=1e-12)


SHROUT_FLEISS = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]


def test_the_six_correlations_of_shrout_and_fleiss() -> None:
    """The example of Shrout and Fleiss 1979, table 4."""
    found = cc.agreement(ratings(SHROUT_FLEISS), level="interval", replicates=0)
    named = {one.name: round(one.value, 2) for one in found.coefficients if one.name.startswith("icc")}
    assert named == {
        "icc-1-1": 0.17, "icc-2-1": 0.29, "icc-3-1": 0.71, "icc-1-k": 0.44, "icc-2-k": 0.62, "icc-3-k": 0.91
    }  # fmt: skip


def test_kendalls_w_with_ties_follows_the_textbook() -> None:
    ballots = [["a", ["b", "c"], "d"], [["a", "b"], "c", "d"], ["b", "a", ["c", "d"]]]
    prefs = cc.Preferences.from_rankings(ballots, agent=list("xyz"))
    ranks = np.array([[1, 2.5, 2.5, 4], [1.5, 1.5, 3, 4], [2, 1, 3.5, 3.5]])
    m, n = ranks.shape
    spread = ((ranks.sum(axis=0) - m * (n + 1) / 2) ** 2).sum()
    expected = 12 * spread / (m**2 * (n**3 - n) - m * 3 * (2**3 - 2))
    assert value(prefs, "kendall-w") == pytest.approx(expected)


def test_equal_rankings_agree_fully_and_reversed_ones_not_at_all() -> None:
    same = cc.agreement(cc.Preferences.from_rankings([list("abcd")] * 3, agent=list("xyz")), replicates=0)
    assert (same["kendall-w"].value, same["mean-tau"].value) == (pytest.approx(1), pytest.approx(1))
    turned = cc.agreement(cc.Preferences.from_rankings([list("abcd"), list("dcba")], agent=list("xy")), replicates=0)
    assert (turned["kendall-w"].value, turned["mean-tau"].value) == (pytest.approx(0), pytest.approx(-1))


def test_partial_rankings_are_compared_on_the_items_that_both_rank() -> None:
    prefs = cc.Preferences.from_rankings([["a", "b", "x"], ["a", "b", "y"], ["b", "a"]], agent=list("uvw"))
    found = cc.agreement(prefs, replicates=0)
    assert found["mean-tau"].value == pytest.approx((1 - 1 - 1) / 3)
    assert any("omit items" in note for note in found.notes)


def test_weights_of_anonymous_ballots_are_repetitions() -> None:
    ballots = [list("abc"), list("cab")]
    weighted = cc.agreement(cc.Preferences.from_rankings(ballots, weight=[3, 2]), replicates=0)
    repeated = cc.agreement(cc.Preferences.from_rankings([ballots[0]] * 3 + [ballots[1]] * 2), replicates=0)
    for name in ("kendall-w", "mean-tau"):
        assert weighted[name].value == pytest.approx(repeated[name].value)
    with pytest.raises(cc.InputError, match="whole numbers"):
        cc.agreement(cc.Preferences.from_rankings(ballots, weight=[0.5, 2]))


# ---- comparisons ----
def votes(flip: bool) -> cc.Preferences:
    rows = [("a", "b", "x"), ("a", "b", "y"), ("b", "c", "x"), ("c", "b", "y"), ("c", "a", "x"), ("c", "a", "y")]
    new = {"a": "c", "b": "b", "c": "a"} if flip else {}
    return cc.Preferences.from_pairs(
        [new.get(a, a) for a, _, _ in rows], [new.get(b, b) for _, b, _ in rows], agent=[who for _, _, who in rows]
    )


def test_agreement_of_comparisons_does_not_depend_on_the_names_of_items() -> None:
    one, other = (cc.agreement(votes(flip), replicates=20) for flip in (False, True))
    assert [c.value for c in one.coefficients] == pytest.approx([c.value for c in other.coefficients])
    assert one["percent-agreement"].value == pytest.approx(2 / 3)
    assert one["cohen-kappa"].value == pytest.approx(one["scott-pi"].value)
    assert (one.n_items, one.n_answers, one.unit) == (3, 6, "comparisons")
    assert one.pairs()["n_items"] == [3]


# ---- what is shown ----
@pytest.mark.parametrize(
    ("table", "level"),
    [
        ([[0, 1], [1, 1], [0, 0]], "nominal"),
        ([[1, 2], [3, 3], [2, 1]], "ordinal"),
        ([[1.5, 2], [3, 3], [2, 1]], "interval"),
        ([[k, k + 1] for k in range(12)], "interval"),
    ],
)
def test_the_level_follows_from_the_answers_and_is_said(table: Any, level: str) -> None:
    found = cc.agreement(ratings(table), replicates=0)
    assert found.level == level
    assert level in found.reason
    assert cc.agreement(ratings(table), level="interval", replicates=0).reason.endswith("as given.")


def test_the_coefficients_suit_the_level_and_the_number_of_raters() -> None:
    two, more = (
        [one.name for one in cc.agreement(ratings(table), replicates=0).coefficients]
        for table in ([[0, 1], [1, 1], [0, 0]], [[0, 1, 0], [1, 1, 0], [0, 0, 0]])
    )
    assert two == ["percent-agreement", "krippendorff-alpha", "cohen-kappa", "scott-pi", "gwet-ac1"]
    assert more == ["percent-agreement", "krippendorff-alpha", "fleiss-kappa", "gwet-ac1"]


def test_two_way_correlations_are_left_out_with_a_note_if_no_items_are_complete() -> None:
    table = [[1.5, 2.0, np.nan], [np.nan, 4.0, 4.5], [3.0, np.nan, 3.5], [6.0, 5.5, np.nan]]
    found = cc.agreement(ratings(table), replicates=0)
    assert [one.name for one in found.coefficients] == ["krippendorff-alpha", "icc-1-1", "icc-1-k"]
    assert any("two-way" in note for note in found.notes)
    with pytest.raises(cc.NeedError, match=r"ICC\(2,1\) needs at least two items"):
        value(ratings(table), "icc-2-1", "interval")


def test_what_is_not_defined_is_no_number_and_said() -> None:
    found = cc.agreement(ratings([[1, 1], [1, 1]]))
    assert np.isnan(found["krippendorff-alpha"].value)
    assert found.to_dict()["coefficients"][1]["value"] is None
    assert "not defined" in str(found)
    assert any("All answers are equal" in note for note in found.notes)
    assert found.sentence.endswith("is not defined: all answers are equal")


def test_tables_frames_and_text_agree() -> None:
    found = cc.agreement(ratings(random_ratings(1)), replicates=20)
    assert found.to_frame("pandas")["value"].tolist() == [one.value for one in found.coefficients]
    assert found.columns()["coefficient"][1] == "krippendorff-alpha"
    assert found["krippendorff-alpha"].title in found.to_markdown()
    assert "Pairs of raters" in str(found)
    with pytest.raises(cc.UnknownNameError, match="krippendorff-alpha"):
        _ = found["krippendorf-alpha"]


# ---- errors ----
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"level": "cardinal"}, "level must be one of"),
        ({"coefficients": "alpha"}, "no coefficient 'alpha'"),
        ({"coefficients": []}, "empty"),
        ({"replicates": -1}, "replicates must be"),
        ({"seed": -1}, "seed must be"),
        ({"coefficients": "kendall-w"}, "needs rankings"),
        ({"coefficients": "cohen-kappa"}, "two raters"),
        ({"level": "nominal", "coefficients": "gwet-ac2-linear"}, "Weights need an order"),
        ({"format": "csv"}, "applies to DataFrames and files only"),
    ],
)
def test_wrong_requests_are_refused_in_a_sentence(options: Any, message: str) -> None:
    with pytest.raises(cc.ConcordantError, match=message):
        cc.agreement(ratings(random_ratings(0)), **options)


def test_data_without_agreement_are_refused_in_a_sentence() -> None:
    with pytest.raises(cc.InputError, match="No item has answers of two raters"):
        cc.agreement(ratings([[1, np.nan], [np.nan, 2]]))
    with pytest.raises(cc.InputError, match="No two ballots"):
        cc.agreement(cc.Preferences.from_rankings([["a", "b"], ["c", "d"]]))
    with pytest.raises(cc.ParameterError, match="level='ordinal' needs an order"):
        cc.agreement(cc.Preferences.from_answers(["x", "y"], ["u", "u"], ["cat", "dog"]), level="ordinal")
    with pytest.raises(cc.ParameterError, match="at least 0"):
        cc.agreement(ratings([[-1, 2.5], [3, 3]]), level="ratio")
    with pytest.raises(cc.ParameterError, match="applies to answers"):
        cc.agreement(cc.Preferences.from_rankings([["a", "b"], ["b", "a"]]), level="nominal")
    with pytest.raises(cc.NeedError, match="names of the raters"):
        cc.agreement(cc.Preferences.from_rankings([["a", "b"], ["b", "a"]])).pairs()


# ---- bootstrap ----
def test_intervals_are_seeded_and_resample_items() -> None:
    prefs = ratings(random_ratings(2))
    one, again, other = (cc.agreement(prefs, seed=seed) for seed in (1, 1, 2))
    assert one.columns() == again.columns()
    assert one.columns() != other.columns()
    for coefficient in one.coefficients:
        assert coefficient.low < coefficient.value < coefficient.high


def test_a_replicate_is_the_coefficient_of_the_repeated_items() -> None:
    table = random_ratings(4, n=15, missing=0.1)
    times = np.random.default_rng(0).multinomial(15, [1 / 15] * 15)
    codings = codings_of(ratings(table))
    order = [int(name[1:]) for name in ratings(table).items.labels]
    repeated = np.repeat(table, times, axis=0)
    for make in (numerical.alpha_of_numbers, lambda c, s: numerical.one_way(c, "1,1", s)):
        statistic: Statistic = make(codings, 0)
        kept = np.array([k for k in order if (~np.isnan(table[k])).sum() > 1])
        name = "krippendorff-alpha" if make is numerical.alpha_of_numbers else "icc-1-1"
        expected = value(ratings(repeated), name, "interval")
        assert statistic.at(times[kept][None].astype(float))[0] == pytest.approx(expected, abs=1e-12)


def test_intervals_cover_the_agreement_of_the_population() -> None:
    """200 crowds of 60 items by 4 raters, each right with probability 0.8 of 3 classes: 95% intervals hold it."""
    rng = np.random.default_rng(0)
    p_equal = 0.8**2 + 0.2**2 / 2
    population = (p_equal - 1 / 3) / (2 / 3)
    held = 0
    for _ in range(200):
        truth = rng.integers(0, 3, (60, 1))
        is_right = rng.random((60, 4)) < 0.8
        table = np.where(is_right, truth, (truth + rng.integers(1, 3, (60, 4))) % 3)
        found = cc.agreement(
            ratings(table), level="nominal", coefficients="krippendorff-alpha", replicates=300
        ).coefficients[0]
        held += found.low <= population <= found.high
    assert 180 <= held <= 198


# ---- large data ----
def test_many_units_are_resampled_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    table = random_ratings(5, n=400)
    whole = cc.agreement(ratings(table))
    monkeypatch.setattr("concordant.analysis.agreement.codings.MAX_BLOCKS", 100)
    blocks = cc.agreement(ratings(table))
    for one, other in zip(whole.coefficients, blocks.coefficients, strict=True):
        assert one.value == pytest.approx(other.value, abs=1e-12)
        assert (one.high - one.low) == pytest.approx(other.high - other.low, rel=0.25)


def test_describe_names_the_agreement() -> None:
    found = ratings(random_ratings(6)).describe()
    assert ("agreement", f"Krippendorff's alpha (ordinal) {found.agreement[1]:.3f}") in found.rows()
    assert found.to_dict()["agreement"]["coefficient"] == "Krippendorff's alpha (ordinal)"
    alone = cc.Preferences.from_rankings([["a", "b"]]).describe()
    assert alone.agreement is None
