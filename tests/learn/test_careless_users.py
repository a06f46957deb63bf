"""What is wrong with data is said in one sentence; nothing becomes NaN, nothing is learnt from nothing in silence."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="the learn extra is not installed")

from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from concordant.errors import InputError, ParameterError
from concordant.learn import (
    BaggedRanker,
    DavidsonRanker,
    LabelRanker,
    LambdaRank,
    ListMLE,
    LossRanker,
    OrderedPartitionRanker,
    PairwiseRanker,
    RankBoost,
    RankNet,
    RankRegressor,
    RankSVM,
)
from concordant.losses.subset_sampling import SampledPartitionLoss

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
Y = np.digitize(X @ [1.0, 0.5, 0.0] + 0.3 * RNG.normal(size=40), [0.0, 1.0]).astype(float)
QID = np.repeat(np.arange(5), 8)
PAIRS = np.array([[0, 1], [2, 3], [4, 5]])


class TestQueries:
    @pytest.mark.parametrize(
        "qid",
        [
            [None if q > 3 else q for q in QID.tolist()],
            [None if q > 3 else str(q) for q in QID.tolist()],
            np.array([np.nan if q > 3 else str(q) for q in QID], object),
            np.where(QID > 3, np.nan, QID),
            np.where(QID > 3, np.datetime64("NaT"), QID.astype("datetime64[D]")),
        ],
    )
    def test_missing_ones_are_refused_whatever_their_type(self, qid: Any) -> None:
        with pytest.raises(InputError, match="qid contains missing values"):
            RankNet().fit(X, Y, qid=qid)

    def test_what_pandas_calls_missing_is_missing(self) -> None:
        pandas = pytest.importorskip("pandas")
        qid = pandas.array([None if q > 3 else str(q) for q in QID], dtype="string")
        with pytest.raises(InputError, match="qid contains missing values"):
            RankNet().fit(X, Y, qid=qid)

    def test_names_and_numbers_may_be_mixed(self) -> None:
        mixed = np.array([q if q % 2 else f"query {q}" for q in QID.tolist()], object)
        assert np.array_equal(RankNet().fit(X, Y, qid=mixed).coef_, RankNet().fit(X, Y, qid=QID).coef_)

    def test_what_has_no_name_is_refused(self) -> None:
        lists = np.empty(40, object)
        lists[:] = [[q] for q in QID.tolist()]
        with pytest.raises(InputError, match="names or numbers"):
            RankNet().fit(X, Y, qid=lists)

    @pytest.mark.parametrize("group", [[8, 8], [8.0] * 5, [48, -8], [[8], [8, 8]], "abc"])
    def test_group_must_be_sizes(self, group: Any) -> None:
        with pytest.raises(InputError, match="group"):
            RankNet().fit(X, Y, group=group)


class TestLabels:
    @pytest.mark.parametrize("y", [Y + 1j, np.arange(40).astype("datetime64[D]"), ["good", "bad"] * 20])
    def test_only_numbers_are_labels(self, y: Any) -> None:
        with pytest.raises(InputError, match="y must contain numbers"):
            RankNet().fit(X, y, qid=QID)

    @pytest.mark.parametrize(
        ("model", "y"),
        [
            (LambdaRank(), Y - 5),
            (LambdaRank(target="err"), Y - 5),
            (LambdaRank(target="ap"), Y + 1),
            (LambdaRank(target="ap"), Y / 10),
        ],
    )
    def test_a_target_without_anything_to_gain_is_refused(self, model: Any, y: Any) -> None:
        with pytest.raises(InputError, match="All orders of these queries"):
            model.fit(X, y, qid=QID)

    @pytest.mark.parametrize(("backward", "y"), [(False, np.minimum(Y, 1) - 1), (True, np.minimum(Y, 1))])
    def test_rank_weighting_that_weighs_nothing_is_refused(self, backward: bool, y: Any) -> None:
        with pytest.raises(InputError, match="Rank weighting"):
            OrderedPartitionRanker(rank_weighting=True, backward=backward).fit(X, y, qid=QID)

    def test_rank_weighting_learns_from_what_is_left(self) -> None:
        model = OrderedPartitionRanker(rank_weighting=True, backward=True).fit(X, Y, qid=QID)
        assert model.score(X, Y, qid=QID) > 0.8


class TestPairs:
    @pytest.mark.parametrize(
        ("given", "words"),
        [
            ({"pairs": []}, "pairs is empty"),
            ({"pairs": np.zeros((0, 2))}, "pairs is empty"),
            ({"pairs": [[0, -1]]}, "rows of X.* got -1"),
            ({"pairs": [[0, 99]]}, "rows of X.* got 99"),
            ({"pairs": [[0.0, 1.0]]}, "whole numbers"),
            ({"pairs": [[0, 1], [2]]}, "differ in length"),
            ({"pairs": PAIRS, "tied": [True, False]}, "one boolean per pair"),
            ({"pairs": PAIRS, "tied": ["no"] * 3}, "one boolean per pair"),
            ({"pairs": PAIRS, "tied": [True] * 3}, "nothing to learn"),
            ({"pairs": PAIRS, "sample_weight": [0, 0, 0]}, "nothing to learn"),
            ({"pairs": PAIRS, "sample_weight": ["a", "b", "c"]}, "must contain only numbers"),
            ({"pairs": PAIRS, "y": Y}, "labels or pairs"),
            ({"y": Y, "qid": QID, "tied": [True] * 40}, "without pairs"),
        ],
    )
    def test_bad_ones_are_refused_with_a_reason(self, given: dict[str, Any], words: str) -> None:
        with pytest.raises(InputError, match=words):
            DavidsonRanker().fit(X, **given)

    @pytest.mark.parametrize("model", [RankNet(weighting="queries"), RankBoost(weighting="queries")])
    def test_they_belong_to_no_query(self, model: Any) -> None:
        with pytest.raises(ParameterError, match="weighting"):
            model.fit(X, pairs=PAIRS)

    @pytest.mark.parametrize("model", [RankBoost(), PairwiseRanker()])
    def test_other_rankers_refuse_weights_of_zero(self, model: Any) -> None:
        with pytest.raises(InputError, match="nothing to learn"):
            model.fit(X, pairs=PAIRS, sample_weight=[0, 0, 0])

    @pytest.mark.parametrize(("first", "second"), [([0.5], [1.5]), (["a"], [1]), ([0], [99]), ([0, 1], [2])])
    def test_chances_are_of_rows_by_number(self, first: Any, second: Any) -> None:
        model = RankNet().fit(X, Y, qid=QID)
        with pytest.raises(InputError, match="first and second"):
            model.predict_proba_pair(X, first, second)
        with pytest.raises(InputError, match="first and second"):
            PairwiseRanker().fit(X, Y, qid=QID).preference(X, first, second)


@pytest.mark.parametrize("model", [RankNet(), RankBoost(), LambdaRank()])
def test_a_validation_set_that_tells_nothing_is_refused(model: Any) -> None:
    with pytest.raises(InputError, match="validation set is uninformative"):
        model.fit(X, Y, qid=QID, valid=(X, np.zeros(40), QID))


def test_a_score_over_no_query_is_refused() -> None:
    model = RankNet().fit(X, Y, qid=QID)
    with pytest.raises(InputError, match="zero"):
        model.score(X, Y, qid=QID, sample_weight=np.zeros(40))


class TestFittingAgain:
    def test_nothing_remains_of_the_last_fit(self) -> None:
        model = RankSVM(kernel="rbf").fit(X, Y, qid=QID)
        assert hasattr(model, "support_")
        model.set_params(kernel=None).fit(X, Y, qid=QID)
        assert not hasattr(model, "support_")
        assert not hasattr(model, "kernel_map_")
        assert np.array_equal(model.coef_, RankSVM().fit(X, Y, qid=QID).coef_)

    def test_an_old_score_does_not_survive(self) -> None:
        model = BaggedRanker(RankNet(), n_rankers=3, out_of_bag=True).fit(X, Y, qid=QID)
        assert not hasattr(model.set_params(out_of_bag=False).fit(X, Y, qid=QID), "out_of_bag_score_")

    def test_a_fit_that_fails_leaves_nothing_fitted(self) -> None:
        model = RankNet().fit(X, Y, qid=QID)
        with pytest.raises(InputError):
            model.fit(X, np.zeros(40), qid=QID)
        with pytest.raises(NotFittedError):
            model.predict(X)

    @pytest.mark.parametrize(("fitted", "changed"), [({"hidden": 3}, {"hidden": 0}), ({}, {"hidden": 3})])
    def test_parameters_changed_after_fit_are_noticed(self, fitted: Any, changed: Any) -> None:
        model = RankNet(**fitted).fit(X, Y, qid=QID).set_params(**changed)
        with pytest.raises(InputError, match="changed after fit"):
            model.predict(X)

    def test_a_kernel_model_keeps_its_own_copy_of_the_rows(self) -> None:
        rows = X.copy()
        model = RankNet(kernel="rbf").fit(rows, Y, qid=QID)
        before = model.predict(X)
        rows[:] = 0
        assert np.array_equal(before, model.predict(X))

    def test_a_loss_that_remembers_samples_starts_afresh(self) -> None:
        model = LossRanker(loss=SampledPartitionLoss(persistent=True), max_iter=3)
        first = model.fit(X, Y, qid=QID).coef_
        assert np.array_equal(first, model.fit(X, Y, qid=QID).coef_)

    def test_copies_predict_the_same(self) -> None:
        model = RankSVM(kernel="rbf").fit(X, Y, qid=QID)
        for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
            assert np.array_equal(model.predict(X), twin.predict(X))


class TestExtremes:
    @pytest.mark.parametrize("model", [RankRegressor(), RankNet(), ListMLE(), OrderedPartitionRanker(mean="maximum")])
    def test_steps_that_are_far_too_long_are_reported(self, model: Any) -> None:
        model.set_params(solver="sgd", learning_rate=1e300)
        with pytest.raises(InputError, match="diverged"):
            model.fit(np.tile(X * 100, (3, 1)), np.tile(Y, 3), qid=np.tile(QID, 3))

    @pytest.mark.parametrize(
        "model", [LossRanker(), RankNet(), RankRegressor(), RankSVM(), RankSVM(loss="squared-hinge")]
    )
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_large_features_are_learnt_from(self, model: Any, dtype: Any) -> None:
        large = (X * 1e6).astype(dtype)
        label = np.digitize(X @ [1.0, 0.5, 0.0], [0.0, 1.0])
        assert model.fit(large, label, qid=QID).score(large, label, qid=QID) > 0.99

    @pytest.mark.parametrize("model", [RankNet(), RankSVM(), RankSVM(loss="squared-hinge")])
    def test_features_too_large_to_learn_from_are_refused(self, model: Any) -> None:
        with pytest.raises(InputError, match="standardise"):
            model.fit(X * 1e300, Y, qid=QID)

    @pytest.mark.parametrize("model", [RankNet(), RankSVM()])
    def test_a_kernel_that_overflows_is_refused(self, model: Any) -> None:
        with pytest.raises(InputError, match="kernel of some rows"):
            model.set_params(kernel="polynomial", degree=300, gamma=1e3).fit(X, Y, qid=QID)

    @pytest.mark.parametrize("params", [{"alpha": np.inf}, {"tol": np.inf}, {"gamma": np.inf, "kernel": "rbf"}])
    def test_infinite_parameters_are_refused(self, params: dict[str, Any]) -> None:
        with pytest.raises(ParameterError, match="finite"):
            RankNet(**params).fit(X, Y, qid=QID)

    def test_a_dual_that_is_done_stops(self) -> None:
        rows = np.array([[1.0, 0.0], [0.0, 0.0], [5.0, 0.0], [-5.0, 0.0]])
        model = RankSVM(C=100.0, solver="dual", tol=0.0).fit(rows, pairs=[[0, 1], [2, 3]])
        assert np.allclose(model.coef_, [1, 0])


class TestLabelRankers:
    RANKS = np.argsort(np.argsort(-(X @ RNG.normal(size=(3, 4))), axis=1), axis=1) + 1.0

    def test_labels_are_matched_by_name(self) -> None:
        pandas = pytest.importorskip("pandas")
        truth = pandas.DataFrame(self.RANKS, columns=list("abcd"))
        model = LabelRanker().fit(X, truth)
        assert model.score(X, truth[list("dcba")]) == model.score(X, truth)
        assert model.score(X, truth[["b", "d"]]) > 0.5
        with pytest.raises(InputError, match="'z'"):
            model.score(X, truth.rename(columns={"a": "z"}))

    def test_rows_that_order_nothing_are_refused(self) -> None:
        one_each = np.where(np.eye(4)[np.arange(40) % 4] > 0, 1.0, np.nan)
        for ranks in (np.ones((40, 4)), one_each):
            with pytest.raises(InputError, match="nothing to learn"):
                LabelRanker().fit(X, ranks)

    def test_the_method_of_the_fit_predicts(self) -> None:
        model = LabelRanker().fit(X, self.RANKS)
        assert np.array_equal(model.predict(X), model.set_params(scoring="pairwise").predict(X))


@pytest.mark.parametrize("given", [5, LogisticRegression])
def test_what_is_no_estimator_is_refused(given: Any) -> None:
    for model in (PairwiseRanker(classifier=given), BaggedRanker(ranker=given)):
        with pytest.raises(ParameterError, match="not an estimator"):
            model.fit(X, Y, qid=QID)
    with pytest.raises(ParameterError, match="not an estimator"):
        LabelRanker(scoring="pairwise", classifier=given).fit(X, TestLabelRankers.RANKS)
