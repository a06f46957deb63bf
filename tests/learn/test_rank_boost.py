"""RankBoost: the bounds of its theory hold in every round, and nothing is lost by never writing pairs out."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="the learn extra is not installed")

from concordant import kernels
from concordant.errors import InputError, ParameterError
from concordant.kernels import twins
from concordant.learn._boosting import Cuts, QueryPairs
from concordant.learn.rank_boost import RankBoost
from concordant.losses.queries import Queries


def graded(
    seed: int, n_queries: int = 8, n_rows: int = 9, n_features: int = 4, levels: int = 3
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_queries * n_rows, n_features)).round(1)
    truth = X[:, 0] + X[:, 1] ** 2 + 0.5 * rng.normal(size=len(X))
    y = np.digitize(truth, np.quantile(truth, np.linspace(0, 1, levels + 1)[1:-1])).astype(float)
    return X, y, rng.permutation(np.repeat(np.arange(n_queries), n_rows))


def all_pairs(y: np.ndarray, qid: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.nonzero((y[:, None] > y) & (qid[:, None] == qid))


def votes(model: RankBoost, X: np.ndarray) -> np.ndarray:
    """The weak rankers of a model, one row per round."""
    rows = []
    for feature, threshold, direction in zip(model.features_, model.thresholds_, model.directions_, strict=True):
        column = X[:, feature]
        rows.append(column > threshold if direction > 0 else column <= threshold)
    return np.array(rows, float)


@pytest.mark.parametrize("smoothing", [None, 0.0, 0.01])
@pytest.mark.parametrize("levels", [2, 4])
def test_the_share_of_misordered_pairs_never_exceeds_the_product_of_z(
    backend: str, smoothing: float | None, levels: int
) -> None:
    X, y, qid = graded(0, levels=levels)
    model = RankBoost(rounds=40, smoothing=smoothing).fit(X, y, qid=qid)
    product = np.cumprod(model.history_["z"])
    error = np.array(model.history_["error"])
    assert (error <= product * (1 + 1e-9)).all()
    assert error[-1] < error[0]


def test_without_smoothing_z_has_its_closed_form_and_the_error_falls_exponentially(backend: str) -> None:
    X, y, qid = graded(1, n_queries=25)  # enough rows for no vote to be perfect
    model = RankBoost(rounds=25, smoothing=0.0).fit(X, y, qid=qid)
    right, wrong, neither, z, error = (np.array(model.history_[name]) for name in model.history_)
    assert (wrong > 0).all()
    assert z == pytest.approx(neither + 2 * np.sqrt(right * wrong), rel=1e-9)
    assert right + wrong + neither == pytest.approx(np.ones(len(z)))
    gamma = np.minimum.accumulate((right - wrong) / 2)
    assert (error <= np.exp(-2 * gamma**2 * np.arange(1, len(z) + 1)) * (1 + 1e-9)).all()


@pytest.mark.parametrize("weighting", ["pairs", "queries"])
def test_the_rounds_equal_those_of_explicit_pair_weights(backend: str, weighting: str) -> None:
    X, y, qid = graded(2)
    weight_by_query = np.random.default_rng(0).uniform(0.5, 2.0, qid.max() + 1)
    model = RankBoost(rounds=15, weighting=weighting).fit(X, y, qid=qid, sample_weight=weight_by_query[qid])
    better, worse = all_pairs(y, qid)
    D = weight_by_query[qid[better]]
    if weighting == "queries":
        D = D / np.bincount(qid[better], minlength=qid.max() + 1)[qid[better]]
    D /= D.sum()
    first = D.copy()
    scores = np.zeros(len(y))
    for t, (alpha, h) in enumerate(zip(model.alphas_, votes(model, X), strict=True)):
        gap = h[better] - h[worse]
        assert model.history_["right"][t] == pytest.approx(D[gap > 0].sum())
        assert model.history_["wrong"][t] == pytest.approx(D[gap < 0].sum())
        D = D * np.exp(-alpha * gap)
        assert model.history_["z"][t] == pytest.approx(D.sum())
        D /= D.sum()
        scores += alpha * h
        assert model.history_["error"][t] == pytest.approx(first[scores[better] <= scores[worse]].sum())
    assert model.predict(X) == pytest.approx(scores)


def test_every_round_takes_a_vote_of_the_largest_edge(backend: str) -> None:
    X, y, qid = graded(3, n_features=3)
    X[np.random.default_rng(1).random(X.shape) < 0.15] = np.nan
    model = RankBoost(rounds=8, bins=None).fit(X, y, qid=qid)
    better, worse = all_pairs(y, qid)
    D = np.full(len(better), 1 / len(better))
    for t, (alpha, h) in enumerate(zip(model.alphas_, votes(model, X), strict=True)):
        edges = []
        for feature in range(X.shape[1]):
            column = X[:, feature]
            for threshold in [-np.inf, *np.unique(column[~np.isnan(column)])]:
                both = ((column > threshold).astype(float), (column <= threshold).astype(float))
                edges.extend(D @ (vote[better] - vote[worse]) for vote in both)
        assert model.history_["right"][t] - model.history_["wrong"][t] == pytest.approx(max(edges))
        D = D * np.exp(-alpha * (h[better] - h[worse]))
        D /= D.sum()


def test_explicit_pairs_teach_the_same_as_the_labels_they_come_from(backend: str) -> None:
    X, y, qid = graded(4)
    by_label = RankBoost(rounds=20).fit(X, y, qid=qid)
    by_pair = RankBoost(rounds=20).fit(X, pairs=np.column_stack(all_pairs(y, qid)))
    assert by_pair.features_.tolist() == by_label.features_.tolist()
    assert by_pair.thresholds_ == pytest.approx(by_label.thresholds_)
    assert by_pair.alphas_ == pytest.approx(by_label.alphas_)


def test_what_is_missing_votes_zero() -> None:
    X = np.array([[1.0], [np.nan], [2.0], [np.nan]])
    model = RankBoost(rounds=1).fit(X, [1, 0, 1, 0])
    assert model.thresholds_.tolist() == [-np.inf]
    scores = model.predict(X)
    assert scores[1] == scores[3] == 0 < scores[0] == scores[2]


def test_only_the_order_of_a_feature_counts() -> None:
    X, y, qid = graded(5)
    plain = RankBoost(rounds=30, bins=None).fit(X, y, qid=qid)
    bent = RankBoost(rounds=30, bins=None).fit(np.exp(3 * X), y, qid=qid)
    assert bent.predict(np.exp(3 * X)) == pytest.approx(plain.predict(X))


def test_bins_change_nothing_while_there_are_enough_and_keep_most_when_few() -> None:
    X, y, qid = graded(6, n_queries=40)
    exact = RankBoost(rounds=30, bins=None).fit(X, y, qid=qid)
    many = RankBoost(rounds=30, bins=255).fit(X, y, qid=qid)
    few = RankBoost(rounds=30, bins=8).fit(X, y, qid=qid)
    assert np.array_equal(many.predict(X), exact.predict(X))
    assert few.score(X, y, qid=qid) > 0.9 * exact.score(X, y, qid=qid)
    assert all(len(set(few.thresholds_[few.features_ == f])) <= 7 for f in range(X.shape[1]))


def test_more_distinct_values_than_a_byte_holds_are_all_tried() -> None:
    values = np.arange(1000.0)
    model = RankBoost(rounds=1, bins=None).fit(values[:, None], (values >= 617).astype(float), group=[1000])
    assert model.thresholds_.tolist() == [616.5]
    assert model.history_["error"] == [0.0]


def test_neighbouring_numbers_are_still_told_apart() -> None:
    low = 1.0
    high = float(np.nextafter(low, 2))
    model = RankBoost(rounds=1).fit([[low], [high]], [0, 1])
    scores = model.predict([[low], [high]])
    assert scores[1] > scores[0]


def test_a_validation_set_stops_early_and_keeps_the_best_rounds() -> None:
    X, y, qid = graded(7, n_queries=20)
    other, labels, queries = graded(8, n_queries=20)
    noisy = np.random.default_rng(2).permutation(y)
    model = RankBoost(rounds=200, patience=10).fit(
        X, np.where(qid < 10, y, noisy), qid=qid, valid=(other, labels, queries)
    )
    curve = model.history_["valid"]
    assert len(curve) < 200
    assert model.n_iter_ == len(model.alphas_) == 1 + int(np.argmax(curve))
    assert len(curve) == model.n_iter_ + 10
    assert model.score(other, labels, qid=queries) == pytest.approx(max(curve))


def test_perfect_votes_and_endless_rounds_stay_finite() -> None:
    X = np.arange(12.0)[:, None]
    for smoothing in (None, 0.0):
        model = RankBoost(rounds=2000, smoothing=smoothing).fit(X, np.arange(12) // 3)
        assert np.isfinite(model.alphas_).all()
        assert np.isfinite(model.predict(X)).all()
        assert model.history_["error"][-1] == 0


def test_features_that_say_nothing_are_not_voted_on() -> None:
    model = RankBoost().fit(np.ones((4, 2)), [0, 1, 0, 1])
    assert model.n_iter_ == 0
    assert model.predict(np.ones((3, 2))).tolist() == [0, 0, 0]


@pytest.mark.once
@pytest.mark.filterwarnings("ignore::concordant.OneQueryWarning")
def test_one_query_of_many_rows_needs_no_pairs() -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(20_000, 2))
    y = np.digitize(X[:, 0], [-1.0, 0.0, 1.0])
    assert RankBoost(rounds=20).fit(X, y).score(X, y, metric="ndcg@100") == pytest.approx(1.0)


def test_bad_settings_are_refused_with_a_reason() -> None:
    X, y, qid = graded(9)
    with pytest.raises(ParameterError, match="rounds"):
        RankBoost(rounds=0).fit(X, y, qid=qid)
    with pytest.raises(InputError, match="not both"):
        RankBoost().fit(X, y, pairs=[[0, 1]])
    with pytest.raises(ValueError, match="infinity"):
        RankBoost().fit(np.where(X > 1, np.inf, X), y, qid=qid)


@pytest.mark.parametrize("levels", [1, 2, 5])
def test_sums_over_pairs_equal_the_pairs_written_out(backend: str, levels: int) -> None:
    rng = np.random.default_rng(levels)
    query = np.repeat(np.arange(6), [1, 2, 5, 9, 3, 4])
    label = rng.integers(levels, size=len(query)).astype(float)
    queries = Queries.from_rows(label, query, rng.uniform(0.5, 2, 6)[query])
    weights = QueryPairs(queries)
    score, vote = rng.normal(size=len(label)).round(1), rng.random(len(label)) < 0.5
    potential = np.zeros(len(label))
    right = wrong = errors = total = 0.0
    for q, (low, high) in enumerate(itertools.pairwise(queries.ptr.tolist())):
        for i, j in itertools.product(range(low, high), repeat=2):
            if queries.tier[i] < queries.tier[j]:
                weight = queries.weight[q] * np.exp(score[j] - score[i])
                potential[i] += weight
                potential[j] -= weight
                total += weight
                right += weight * (vote[i] and not vote[j])
                wrong += weight * (vote[j] and not vote[i])
                errors += queries.weight[q] * (score[i] <= score[j])
    found, found_total = weights.potentials(score)
    assert found == pytest.approx(potential, abs=1e-12)
    assert found_total == pytest.approx(total)
    assert weights.shares(score, vote) == pytest.approx((right, wrong))
    assert weights.errors(score) == pytest.approx(errors)


def test_compiled_and_numpy_choose_the_same_votes() -> None:
    compiled = pytest.importorskip("concordant.kernels._compiled", reason="the compiled kernels are not built")
    rng = np.random.default_rng(4)
    for n_features in (1, 3, 4, 9):
        X = rng.integers(0, 6, size=(70, n_features)).astype(float)
        X[rng.random(X.shape) < 0.1] = np.nan
        cuts = Cuts.of(X, None, None)
        potential = rng.normal(size=70)
        for code in (cuts.code, cuts.code.astype(np.int32)):
            one = compiled.best_stump(code, cuts.count, potential)
            two = twins.best_stump(code, cuts.count, potential)
            assert one[:3] == two[:3]
            assert one[3] == pytest.approx(two[3])
    nothing = np.zeros(70)
    assert tuple(compiled.best_stump(cuts.code, cuts.count, nothing)) == twins.best_stump(
        cuts.code, cuts.count, nothing
    )
    assert kernels.active() in ("compiled", "numpy")
