"""Tables with a left and a right side keep who was first, for order effects and for Elo's advantage."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import concordant as cc
from concordant.cli.__main__ import main

GAMES = [("a", "b", 1), ("a", "b", 1), ("b", "a", 1), ("a", "c", 1), ("c", "a", -1), ("b", "c", 0), ("c", "b", 1)]
WORDS = {1: "home", -1: "away", 0: "draw"}
TEXT = "home,away,result\n" + "".join(f"{left},{right},{WORDS[side]}\n" for left, right, side in GAMES)


def elo_by_hand(games: list[tuple[str, str, int]], advantage: float) -> dict[str, float]:
    rating = dict.fromkeys("abc", 1500.0)
    for left, right, side in games:
        expected = 1 / (1 + 10 ** (-(rating[left] + advantage - rating[right]) / 400))
        move = 32 * ((side + 1) / 2 - expected)
        rating[left] += move
        rating[right] -= move
    return rating


def by_label(ranking: cc.Ranking) -> dict[str, float]:
    return dict(zip(ranking.items, ranking.scores.tolist(), strict=True))


def votes(n: int, seed: int = 3) -> tuple[Any, Any, Any]:
    """Draw games of six teams: (home, away, whether home won), home is 0.6 stronger."""
    rng = np.random.default_rng(seed)
    score, left = rng.normal(size=6), rng.integers(0, 6, n)
    right = (left + rng.integers(1, 6, n)) % 6
    won = rng.random(n) < 1 / (1 + np.exp(-(score[left] - score[right] + 0.6)))
    return np.array(list("uvwxyz"))[left], np.array(list("uvwxyz"))[right], won


def as_csv(left: Any, right: Any, won: Any) -> str:
    rows = zip(left, right, won, strict=True)
    return "home,away,result\n" + "".join(f"{a},{b},{'home' if w else 'away'}\n" for a, b, w in rows)


@pytest.mark.parametrize("advantage", [0.0, 60.0, -100.0])
def test_the_advantage_of_elo_goes_to_the_left_side(make: Any, advantage: float) -> None:
    ranking = cc.rank(cc.read(make(TEXT)), "elo", advantage=advantage)
    assert by_label(ranking) == pytest.approx(elo_by_hand(GAMES, advantage))


def test_sides_sorted_by_time_stay_first(make: Any) -> None:
    dated = [f"{line},{9 - k}" for k, line in enumerate(TEXT.splitlines()[1:])]
    prefs = cc.read(make("home,away,result,day\n" + "\n".join(dated) + "\n"), time="day")
    assert by_label(cc.rank(prefs, "elo", advantage=60.0)) == pytest.approx(elo_by_hand(GAMES[::-1], 60.0))


def test_flags_keep_who_was_first(make: Any) -> None:
    rows = [f"{left},{right},{int(side > 0)},{int(side < 0)}" for left, right, side in GAMES]
    prefs = cc.read(make("left,right,left_won,right_won\n" + "\n".join(rows) + "\n"))
    assert by_label(cc.rank(prefs, "elo", advantage=60.0)) == pytest.approx(elo_by_hand(GAMES, 60.0))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_keep_who_was_first(library: str) -> None:
    frames = pytest.importorskip(library)
    left, right, side = zip(*GAMES, strict=True)
    frame = frames.DataFrame({"home": left, "away": right, "result": [WORDS[one] for one in side]})
    prefs = cc.Preferences.from_frame(frame)
    assert by_label(cc.rank(prefs, "elo", advantage=60.0)) == pytest.approx(elo_by_hand(GAMES, 60.0))


def test_an_order_effect_is_the_intercept_of_a_logistic_regression(make: Any) -> None:
    left, right, won = votes(400)
    ranking = cc.rank(cc.read(make(as_csv(left, right, won))), "bradley-terry", order_effect=True, prior=0.0)
    labels = list("uvwxyz")
    rows = np.array(
        [[float(a == one) - float(b == one) for one in labels[1:]] + [1.0] for a, b in zip(left, right, strict=True)]
    )
    beta = np.zeros(6)
    for _ in range(50):  # Newton's method on the likelihood, written out
        p = 1 / (1 + np.exp(-rows @ beta))
        beta += np.linalg.solve(rows.T @ (rows * (p * (1 - p))[:, None]), rows.T @ (won - p))
    errors = np.sqrt(np.diag(np.linalg.inv(rows.T @ (rows * (p * (1 - p))[:, None]))))
    assert ranking.fit is not None
    assert ranking.fit["order_effect"] == pytest.approx(beta[-1], abs=1e-6)
    assert ranking.fit["order_effect_stderr"] == pytest.approx(errors[-1], rel=1e-4)
    score = by_label(ranking)
    assert [score[one] - score["u"] for one in labels[1:]] == pytest.approx(beta[:-1], abs=1e-6)


def test_counts_of_pairs_keep_who_was_first(tmp_path: Path) -> None:
    """Merged while reading, reduced, of a folder on two workers, of a lazy frame: the same effect everywhere."""
    text = as_csv(*votes(300))
    head, *lines = text.splitlines(keepends=True)
    folder = tmp_path / "games"
    folder.mkdir()
    for k in range(3):
        (folder / f"{k}.csv").write_text(head + "".join(lines[k::3]))
    path = tmp_path / "all.csv"
    path.write_text(text)
    whole = cc.rank(cc.read(path), "bradley-terry", order_effect=True)
    polars = pytest.importorskip("polars")
    for prefs in (
        cc.read(path, merge=True),
        cc.read(folder, reduce=True),
        cc.Preferences.from_frame(polars.scan_csv(path)),
    ):
        assert prefs.is_merged
        counted = cc.rank(prefs, "bradley-terry", order_effect=True)
        assert by_label(counted) == pytest.approx(by_label(whole), abs=1e-6)
        assert counted.fit["order_effect"] == pytest.approx(whole.fit["order_effect"], abs=1e-6)  # type: ignore[index]
    from_files = cc.rank(folder, "bradley-terry", order_effect=True)
    assert by_label(from_files) == pytest.approx(by_label(whole), abs=1e-6)


def test_the_command_line_tells_the_order_effect(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "games.csv"
    path.write_text(as_csv(*votes(300)))
    told = {}
    for options in (["--order-effect"], []):
        with pytest.raises(SystemExit) as done:
            main(["rank", str(path), "--method", "bradley-terry", *options])
        assert done.value.code == 0
        told[bool(options)] = capsys.readouterr()
    assert "note: position bias 0." in told[True].err
    assert "(standard error 0." in told[True].err
    assert "position bias" not in told[False].err
    assert told[True].out != told[False].out


@pytest.mark.parametrize(
    ("method", "option"), [("elo", {"advantage": 60.0}), ("bradley-terry", {"order_effect": True})]
)
def test_winners_and_losers_have_no_first_side(make: Any, method: str, option: dict[str, Any]) -> None:
    prefs = cc.read(make("winner,loser\na,b\nb,a\na,c\n"))
    with pytest.raises(cc.InputError, match=r"do not record.*left=, right= and outcome="):
        cc.rank(prefs, method, **option)


def test_teams_keep_who_was_first(make: Any) -> None:
    prefs = cc.read(make("left,right,outcome\nann + bob,cy + dan,right\n"), team_separator="+")
    shown = dict(zip(prefs.items.take(prefs.item), prefs.shown.tolist(), strict=True))  # type: ignore[union-attr]
    assert shown == {"ann": 0, "bob": 0, "cy": 1, "dan": 1}
