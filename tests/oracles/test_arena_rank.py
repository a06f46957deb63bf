"""The Elo scale against arena leaderboards: ratings, intervals and ranks of a simulated arena.

arena-rank fits Bradley-Terry by maximum likelihood with ties as half a win for each side, sets the mean to 1000, and
takes 95% intervals from the sandwich estimator. FastChat fixes the rating of one model, also in every bootstrap
sample, so that its interval has width 0. Both are written again here with NumPy; arena-rank itself is compared where
it is installed.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import Run

import concordant as cc

POINTS = 400 / np.log(10)
Z = 1.959963984540054
MODELS, VOTES = 20, 20_000
ANCHOR = ("model-07", 1114.0)


class Arena:
    """Votes on answers of 20 models, some of which are shown more often; a fifth of the votes are ties."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.names = [f"model-{k:02d}" for k in range(MODELS)]
        strength, shown = rng.normal(0, 0.8, MODELS), rng.dirichlet(np.full(MODELS, 2.0))
        self.a = rng.choice(MODELS, VOTES, p=shown)
        self.b = (self.a + rng.integers(1, MODELS, VOTES)) % MODELS
        lead = strength[self.a] - strength[self.b]
        worth = np.stack([np.exp(lead / 2), np.full(VOTES, 0.6), np.exp(-lead / 2)], 1)
        drawn = rng.random(VOTES) * worth.sum(axis=1)
        self.result = 1 - (drawn[:, None] > worth.cumsum(axis=1)[:, :2]).sum(axis=1) / 2
        self.tie = rng.choice(["tie", "tie (bothbad)"], VOTES)

    def write(self, path: Path) -> str:
        """Write the votes as an arena publishes them."""
        words = np.where(self.result == 1, "model_a", np.where(self.result == 0, "model_b", self.tie))
        with path.open("w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["model_a", "model_b", "winner"])
            rows.writerows(
                (self.names[a], self.names[b], word) for a, b, word in zip(self.a, self.b, words, strict=True)
            )
        return str(path)

    def laplacian(self, weight: np.ndarray) -> np.ndarray:
        """Return the sum over votes of weight (e_a - e_b)(e_a - e_b)ᵀ."""
        out = np.zeros((MODELS, MODELS))
        for rows, columns, sign in (
            (self.a, self.a, 1),
            (self.b, self.b, 1),
            (self.a, self.b, -1),
            (self.b, self.a, -1),
        ):
            np.add.at(out, (rows, columns), sign * weight)
        return out

    def fitted(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the maximum likelihood scores, of mean 0, and their sandwich covariance."""
        score = np.zeros(MODELS)
        for _ in range(30):
            p = 1 / (1 + np.exp(score[self.b] - score[self.a]))
            gradient = np.bincount(self.a, self.result - p, MODELS) - np.bincount(self.b, self.result - p, MODELS)
            inverse = np.linalg.pinv(self.laplacian(p * (1 - p)), rcond=1e-10)
            score = score + inverse @ gradient
        return score - score.mean(), inverse @ self.laplacian((self.result - p) ** 2) @ inverse


@pytest.fixture(scope="module")
def arena() -> Arena:
    return Arena(31)


@pytest.fixture
def ranked(arena: Arena, tmp_path: Path, run: Run) -> Callable[..., dict[str, np.ndarray]]:
    """Rank the votes with the command; return its columns by model."""
    path = arena.write(tmp_path / "votes.csv")

    def rank(*options: str) -> dict[str, np.ndarray]:
        settings = ("--method", "bradley-terry", "--prior", "0", "--errors", "sandwich", "--scale", "elo")
        code, text, errors = run("rank", path, *settings, *options, "--csv")
        assert code == 0, errors
        rows = sorted(csv.DictReader(io.StringIO(text)), key=lambda row: row["item"])
        assert [row["item"] for row in rows] == arena.names
        return {
            name: np.array([float(row[name]) for row in rows]) for name in rows[0] if name not in ("item", "margin")
        }

    return rank


def test_ratings_and_intervals_are_those_of_arena_rank(
    arena: Arena, ranked: Callable[..., dict[str, np.ndarray]]
) -> None:
    found, (score, covariance) = ranked("--add-columns", "rank_ub,votes"), arena.fitted()
    rating, half = 1000 + POINTS * score, Z * POINTS * np.sqrt(np.diag(covariance))
    np.testing.assert_allclose(found["score"], rating, atol=1e-6)
    assert found["score"].mean() == pytest.approx(1000)
    # Gradients are enlarged by their leverage here (CR2); every model has more than 500 votes.
    np.testing.assert_allclose(found["high"] - found["low"], 2 * half, rtol=0.005)
    np.testing.assert_allclose(found["low"], rating - half, atol=0.1)
    np.testing.assert_allclose(found["high"], rating + half, atol=0.1)
    above = (found["low"][None, :] > found["high"][:, None]).sum(axis=1)
    assert found["rank_ub"].tolist() == (1 + above).tolist()
    assert found["votes"].tolist() == np.bincount(np.concatenate([arena.a, arena.b])).tolist()


def test_an_anchor_is_that_of_fastchat(arena: Arena, ranked: Callable[..., dict[str, np.ndarray]]) -> None:
    found, (score, covariance) = ranked("--anchor", f"{ANCHOR[0]}={ANCHOR[1]:g}"), arena.fitted()
    k = arena.names.index(ANCHOR[0])
    np.testing.assert_allclose(found["score"], ANCHOR[1] + POINTS * (score - score[k]), atol=1e-6)
    variance = np.diag(covariance) + covariance[k, k] - 2 * covariance[k]
    half = Z * POINTS * np.sqrt(np.maximum(variance, 0))
    np.testing.assert_allclose((found["high"] - found["low"]) / 2, half, rtol=0.005, atol=1e-9)
    assert found["low"][k] == found["high"][k] == ANCHOR[1]


def test_intervals_with_an_anchor_are_those_of_anchored_bootstrap_samples(
    arena: Arena, ranked: Callable[..., dict[str, np.ndarray]]
) -> None:
    found, rng, k = ranked("--anchor", ANCHOR[0]), np.random.default_rng(0), arena.names.index(ANCHOR[0])
    keys, counts = np.unique(np.stack([arena.a, arena.b, 2 * arena.result]), axis=1, return_counts=True)
    a, b, result = keys[0].astype(int), keys[1].astype(int), keys[2] / 2
    ratings = []
    for _ in range(200):
        drawn = rng.multinomial(VOTES, counts / VOTES)
        prefs = cc.Preferences.from_pairs(
            [arena.names[i] for i in np.where(result > 0, a, b)],
            [arena.names[i] for i in np.where(result > 0, b, a)],
            tie=result == 0.5,
            weight=np.maximum(drawn, 1e-9),
        )
        sample = cc.rank(prefs, "bradley-terry", prior=0.0, errors="none").on_scale("elo", anchor=ANCHOR[0])
        by_name = dict(zip(sample.items, sample.scores, strict=True))
        ratings.append([by_name[name] for name in arena.names])
    spread = np.std(ratings, axis=0)
    assert spread[k] == 0
    others = np.arange(MODELS) != k
    error = (found["high"] - found["low"]) / (2 * Z)
    np.testing.assert_allclose(error[others], spread[others], rtol=0.25)
    assert np.mean(error[others] / spread[others]) == pytest.approx(1, abs=0.05)


def test_the_package_itself_gives_the_same_leaderboard(
    arena: Arena, ranked: Callable[..., dict[str, np.ndarray]]
) -> None:
    pytest.importorskip("arena_rank", reason="arena-rank is not installed: it needs JAX")
    import pandas as pd
    from arena_rank.models.bradley_terry import BradleyTerry
    from arena_rank.utils.data_utils import PairDataset

    words = np.where(arena.result == 1, "model_a", np.where(arena.result == 0, "model_b", "tie"))
    names = np.array(arena.names)
    data = PairDataset.from_pandas(
        pd.DataFrame({"model_a": names[arena.a], "model_b": names[arena.b], "winner": words})
    )
    theirs, ours = BradleyTerry(n_competitors=MODELS).compute_ratings_and_cis(data), ranked()
    assert list(theirs["competitors"]) == arena.names
    np.testing.assert_allclose(ours["score"], np.asarray(theirs["ratings"]), atol=0.01)
    np.testing.assert_allclose(ours["low"], np.asarray(theirs["rating_lower"]), atol=0.1)
    np.testing.assert_allclose(ours["high"], np.asarray(theirs["rating_upper"]), atol=0.1)
