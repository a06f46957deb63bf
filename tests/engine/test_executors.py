"""Work is the same wherever it runs, and nothing is lost with a worker."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from tests.engine.work import add, end_always, end_once, square

import concordant as cc
from concordant.engine.executors import Executor, Processes, Serial, Threads, WorkerError, cluster_at, running_on
from concordant.engine.gradients import SpreadObjective, _objective_of, _part_of, fit_parts
from concordant.engine.instances import cut, rank_in_chunks
from concordant.errors import InputError, NeedError
from concordant.learn import ListMLE, RankNet
from concordant.solvers.objective import Objective


@pytest.fixture(scope="module", params=["serial", "threads", "processes"])
def executor(request: pytest.FixtureRequest) -> Iterator[Executor]:
    kinds = {"serial": Serial, "threads": lambda: Threads(2), "processes": lambda: Processes(2)}
    with kinds[request.param]() as opened:
        yield opened


def test_calls_return_what_they_should(executor: Executor) -> None:
    assert executor.map(square, range(9)) == [k * k for k in range(9)]
    futures = [executor.submit(square, k) for k in range(9)]
    assert executor.reduce(add, futures) == 204
    assert executor.result(executor.submit(square, executor.submit(square, 3))) == 81


def test_what_is_held_stays_and_is_merged_where_it_is(executor: Executor) -> None:
    held = [executor.hold(square, k) for k in range(9)]
    assert [executor.result(executor.submit(square, one)) for one in held] == [k**4 for k in range(9)]
    assert executor.reduce(add, held) == 204


def test_a_killed_process_is_replaced_with_what_it_held(tmp_path: Any) -> None:
    with Processes(2) as executor:
        held = [executor.hold(square, k) for k in range(4)]
        assert executor.result(executor.submit(end_once, str(tmp_path / "marker"))) == 7
        assert [executor.result(executor.submit(square, one)) for one in held] == [0, 1, 16, 81]
        for pid in executor.pids():
            os.kill(pid, signal.SIGKILL)
        assert [executor.result(executor.submit(square, one)) for one in held] == [0, 1, 16, 81]


def test_a_process_that_ends_again_and_again_is_said() -> None:
    with Processes(1) as executor, pytest.raises(WorkerError, match="crashed repeatedly"):
        executor.result(executor.submit(end_always))


def test_errors_of_the_work_are_raised_here(executor: Executor) -> None:
    with pytest.raises(ZeroDivisionError):
        executor.result(executor.submit(divmod, 1, 0))


def test_what_could_not_be_made_says_why_to_whoever_names_it(executor: Executor) -> None:
    with pytest.raises(ZeroDivisionError):
        executor.result(executor.submit(square, executor.hold(divmod, 1, 0)))


@pytest.mark.parametrize("workers", [0, -1, "two", True, 1.5])
def test_a_number_of_workers_must_be_one(workers: object) -> None:
    with pytest.raises(InputError, match="must be a whole number"), running_on(workers):
        pass


def test_a_cluster_that_is_not_there_is_said() -> None:
    with pytest.raises(InputError, match="No Dask scheduler responds at nowhere"):
        cluster_at("nowhere://127.0.0.1:1")
    with (
        pytest.raises(InputError, match="workers= and cluster= cannot be combined"),
        running_on(2, "tcp://127.0.0.1:1"),
    ):
        pass


def instances(n: int = 60, ties: bool = False) -> cc.Preferences:
    rng = np.random.default_rng(5)
    rankings, names, agents = [], [], []
    for q in range(n):
        items = [f"d{k}" for k in rng.choice(40, 5, replace=False)]
        for agent in "uvw":
            order = [items[k] for k in rng.permutation(5)]
            rankings.append([order[:2], *order[2:]] if ties else order)
            names.append(f"q{q}")
            agents.append(agent)
    return cc.Preferences.from_rankings(rankings, instance=names, agent=agents)


@pytest.mark.parametrize("parts", [1, 2, 7, 60, 200])
def test_chunks_are_all_of_the_instances_in_order(parts: int) -> None:
    prefs = instances()
    chunks = cut(prefs, parts)
    assert len(chunks) == min(parts, 60)
    assert [name for chunk in chunks for name in chunk.instances or ()] == list(prefs.instances or ())
    assert sum(chunk.n_ballots for chunk in chunks) == prefs.n_ballots


METHODS = [
    cc.PlackettLuce(),
    cc.PlackettLuce(prior=0.5, errors="none"),
    cc.BradleyTerry(prior=0.3),
    cc.BradleyTerry(prior=0.3, errors="hessian"),
    cc.BradleyTerry(errors="hessian", likelihood="mean"),
    cc.MPM(),
    cc.MPM().with_learnt(theta={"u": 1.0, "v": 0.5, "w": 0.1}),
    cc.MPM(adherence=True),
    cc.MPM(variances="learnt"),
    cc.Kemeny(),
    cc.Borda(),
    cc.Schulze(),
]


@pytest.mark.parametrize(
    "method", METHODS, ids=lambda method: f"{method.name}-{method.to_dict()['params'].get('prior')}"
)
def test_instances_ranked_apart_are_ranked_as_in_one_process(executor: Executor, method: cc.Method) -> None:
    prefs = instances()
    one, many = method.rank(prefs), rank_in_chunks(method, prefs, executor)
    np.testing.assert_allclose(many.score, one.score, atol=1e-9 if not getattr(method, "adherence", False) else 1e-7)
    assert many.params == one.params
    assert {str(notice).partition(":")[0] for notice in many.warnings} == {
        str(notice).partition(":")[0] for notice in one.warnings
    }
    for name in ("slot_low", "slot_high"):
        expected = getattr(one, name)
        if expected is not None and not getattr(method, "adherence", False):
            np.testing.assert_allclose(getattr(many, name), expected, atol=1e-8)
    assert many.beside.keys() == one.beside.keys()
    for name, column in one.beside.items():
        np.testing.assert_allclose(many.beside[name], column, atol=1e-8)
    if one.fit and many.fit and "prior" in one.fit:
        assert many.fit["prior"] == one.fit["prior"]


def test_comparisons_choose_one_prior_for_all_chunks(executor: Executor) -> None:
    rng = np.random.default_rng(1)
    winner = rng.integers(0, 6, 900)
    loser = (winner + rng.integers(1, 6, 900)) % 6
    prefs = cc.Preferences.from_pairs(winner, loser, instance=rng.integers(0, 40, 900))
    one, many = cc.BradleyTerry().rank(prefs), rank_in_chunks(cc.BradleyTerry(), prefs, executor)
    np.testing.assert_allclose(many.score, one.score, atol=1e-9)
    assert one.fit is not None
    assert many.fit is not None
    assert many.fit["prior"] == one.fit["prior"]
    assert bool(many.ran) == (executor.workers > 1)


def test_ties_in_a_random_order_are_not_ranked_apart() -> None:
    prefs = instances(ties=True)
    with Threads(2) as executor:
        assert rank_in_chunks(cc.PlackettLuce(prior=1), prefs, executor).ran == ""
        np.testing.assert_array_equal(
            rank_in_chunks(cc.PlackettLuce(prior=1), prefs, executor).score, cc.PlackettLuce(prior=1).rank(prefs).score
        )


Part = tuple[Any, Any, Any]


def rows(seed: int = 0, n: int = 40) -> list[Part]:
    rng = np.random.default_rng(seed)
    weights = rng.standard_normal(4)
    parts = []
    for k in range(3):
        X = rng.standard_normal((6 * n, 4))
        noisy = X @ weights + rng.standard_normal(len(X))
        parts.append((X, np.digitize(noisy, [-1, 0.5]), np.repeat(np.arange(n), 6) + 1000 * k))
    return parts


def itself(part: Part) -> Part:
    return part


@pytest.mark.parametrize(
    "ranker", [RankNet(), RankNet(solver="newton"), RankNet(weighting="queries"), ListMLE(alpha=0.01)], ids=str
)
def test_a_ranker_fitted_in_parts_is_that_of_all_rows(executor: Executor, ranker: Any) -> None:
    parts = rows()
    X, y, qid = (np.concatenate(column) for column in zip(*parts, strict=True))
    ranker.tol, ranker.max_iter = 1e-11, 500
    spread = fit_parts(type(ranker)(**ranker.get_params()), itself, parts, executor)
    if isinstance(ranker, ListMLE):  # orders ties at random, part by part
        assert np.isfinite(spread.coef_).all()
        return
    tolerance = 1e-9 if ranker.solver == "newton" else 1e-6
    np.testing.assert_allclose(spread.coef_, ranker.fit(X, y, qid=qid).coef_, atol=tolerance)
    np.testing.assert_allclose(spread.predict(X), ranker.predict(X), atol=10 * tolerance)


def objectives(executor: Executor) -> tuple[Objective, SpreadObjective]:
    """Return the objective of all rows here, and of their parts wherever they run."""
    parts, ranker = rows(), RankNet(standardise=False)
    X, y, qid = (np.concatenate(column) for column in zip(*parts, strict=True))
    whole = ranker.objective_of(ranker.rows_of(X, y, qid), None)
    loaded = [executor.hold(_part_of, ranker, itself, part) for part in parts]
    held = [executor.hold(_objective_of, ranker, part, None) for part in loaded]
    return whole, SpreadObjective(whole, held, whole.total, executor)


def test_the_gradient_of_parts_is_the_gradient_of_all(executor: Executor) -> None:
    whole, spread = objectives(executor)
    theta, direction = np.array([0.3, -1.0, 0.2, 0.7]), np.array([1.0, 0.5, -0.2, 0.0])
    value, gradient = whole(theta)
    assert spread(theta)[0] == pytest.approx(value, abs=1e-12)
    np.testing.assert_allclose(spread(theta)[1], gradient, atol=1e-12)
    np.testing.assert_allclose(spread.hessian(theta)(direction), whole.hessian(theta)(direction), atol=1e-12)


def test_a_part_that_teaches_nothing_is_no_harm_but_all_of_them_are(executor: Executor) -> None:
    X, y, qid = rows()[0]
    alone = RankNet().fit(X, y, qid=qid)
    spread = fit_parts(RankNet(), itself, [(X, y, qid), (X, np.zeros(len(y)), qid + 5000)], executor)
    np.testing.assert_allclose(spread.coef_, alone.coef_, atol=1e-4)
    with pytest.raises(InputError, match="There is nothing to learn"):
        fit_parts(RankNet(), itself, [(X, np.zeros(len(y)), qid)], executor)
    with pytest.raises(InputError, match="The parts have 3 to 4 features"):
        fit_parts(RankNet(), itself, [(X, y, qid), (X[:, :3], y, qid)], executor)


@pytest.mark.parametrize(
    ("ranker", "why"),
    [(RankNet(kernel="rbf"), "all rows together"), (RankNet(solver="adam"), "a mini-batch solver")],
    ids=str,
)
def test_what_cannot_be_fitted_in_parts_says_so(ranker: Any, why: str) -> None:
    with pytest.raises(NeedError, match=why):
        fit_parts(ranker, itself, rows(), Serial())
