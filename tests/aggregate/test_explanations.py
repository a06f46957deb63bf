"""What methods say of their own rankings: that it is true, and that the figures add up."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import concordant as cc
from concordant import registry
from concordant.aggregate.explain.contests import shortest_chain
from concordant.laws import random_preferences

CIRCLE = [["a", "b", "c", "d"]] * 30 + [["b", "c", "a", "d"]] * 25 + [["c", "a", "b", "d"]] * 24
CIRCLE += [["d", "a", "c", "b"]] * 12 + [["b", "a", "d", "c"]] * 5


@pytest.fixture(scope="module")
def circle() -> cc.Preferences:
    return cc.Preferences.from_rankings(CIRCLE)


def said(prefs: cc.Preferences, method: str, **params: object) -> str:
    return " ".join(cc.rank(prefs, method, **params).explain().to_text().split())


def table(prefs: cc.Preferences, method: str, title: str, **params: object) -> list[dict[str, str]]:
    (reason,) = [one for one in cc.rank(prefs, method, **params).explain().reasons if one.title.startswith(title)]
    return reason.to_dict()["table"]


# ---- chains and circles ----
def test_the_shortest_chain_is_found_by_trying_all():
    rng = np.random.default_rng(0)
    for _ in range(100):
        links = rng.random((5, 5)) < 0.3
        reached = {0: 0}
        for steps in range(1, 5):  # walks of growing length
            walk = np.linalg.matrix_power(links.astype(int), steps)
            for end in np.flatnonzero(walk[0]).tolist():
                reached.setdefault(end, steps)
        for end in range(1, 5):
            chain = shortest_chain(links, 0, end)
            assert (len(chain) - 1 if chain else None) == reached.get(end)
            assert chain[:1] in ([], [0])
            assert chain[-1:] in ([], [end])
            assert all(links[pair] for pair in pairwise(chain))


def test_a_circle_comes_back_to_where_it_began():
    beats = np.zeros((4, 4), bool)
    beats[0, 1] = beats[1, 2] = beats[2, 0] = beats[0, 3] = True
    assert shortest_chain(beats, 0, 0) == [0, 1, 2, 0]
    assert shortest_chain(beats, 3, 3) == []


# ---- majority rules ----
def test_a_condorcet_winner_is_named_with_its_closest_duel():
    prefs = cc.Preferences.from_rankings([["a", "b", "c"]] * 3 + [["b", "a", "c"]] * 2)
    for method in ("schulze", "ranked-pairs", "copeland", "minimax", "condorcet", "condorcet-fuse", "kemeny"):
        assert "a beats every other candidate (a Condorcet winner). Its closest contest is 3-2 against b." in said(
            prefs, method
        ), method


def test_the_smith_set_and_its_circle_are_named(circle):
    text = said(circle, "schulze")
    assert "(the Smith set) is a, b and c" in text
    assert "form a cycle: a beats b 66-30, b beats c 60-36, c beats a 49-47." in text


def test_schulze_tells_the_strongest_chains_link_by_link(circle):
    text = said(circle, "schulze")
    assert "a defeats b: a beats b 66-30 (strength 66); the strongest path from b to a is b beats c 60-36" in text
    assert "with the weakest link c over a (49)" in text
    assert "c beats a 49-47, but a defeats it by paths" in text
    assert "(strength 36)" in said(circle, "schulze", strength="margins")


def test_schulze_never_puts_below_whom_it_says_stands_above():
    rng = np.random.default_rng(5)
    for _ in range(40):
        prefs = random_preferences(rng)
        for ranking in cc.rank(prefs, "schulze"):
            text = ranking.explain().to_text()
            rank = dict(zip(ranking.items, ranking.ranks.tolist(), strict=True))
            for one, two in pairwise(ranking.items[:6]):
                if f"{one} defeats {two}:" in " ".join(text.split()):
                    assert rank[one] < rank[two]


def test_ranked_pairs_names_what_it_locks_and_the_circle_of_what_it_skips(circle):
    rows = table(circle, "ranked-pairs", "Majorities")
    assert [row["majority"] for row in rows][:2] == ["a over d", "b over d"]
    assert rows[-1] == {
        "majority": "c over a",
        "for-against": "49-47",
        "strength": "2",
        "result": "skipped: it would close the cycle c > a > b > c",
    }
    assert all(row["result"] == "locked" for row in rows[:-1])


def test_equally_strong_majorities_in_a_circle_are_left_out():
    prefs = cc.Preferences.from_rankings([["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"]])
    rows = table(prefs, "ranked-pairs", "Majorities")
    assert {row["result"] for row in rows} == {"left out: equally strong majorities contradict it"}


def test_copeland_and_minimax_tell_duels_and_the_worst_defeat(circle):
    assert "a has 2 points: it beats 2 opponents." in said(circle, "copeland")
    assert table(circle, "copeland", "Head-to-head")[0]["worst defeat"] == "by c 49-47"
    assert "a: 2, against c (a loses to c 47-49)." in said(circle, "minimax")
    assert "a: 49, against c" in said(circle, "minimax", strength="winning-votes")


# ---- least distance ----
def test_kemeny_tells_its_proof_and_the_majorities_it_overrules(circle):
    text = said(circle, "kemeny")
    assert "Its total distance to all ballots is 156, 1.625 per ballot" in text
    assert "it would be 154, 1.3% less" in text
    assert "Proven optimal: no ranking has a smaller total distance, and this is the only optimal ranking." in text
    rows = table(circle, "kemeny", "The majorities")
    assert rows == [{"ranked": "a above c", "overruled": "c beats a 49-47", "cycle of majorities": "c > a > b > c"}]


def test_the_total_distance_told_is_that_of_the_fit():
    rng = np.random.default_rng(2)
    for _ in range(20):
        prefs = random_preferences(rng)
        if prefs.n_instances == 1 and prefs.n_slots > 1:
            ranking = cc.rank(prefs, "kemeny")
            assert f"to all ballots is {ranking.fit['total_distance']:,.6g}" in said(prefs, "kemeny")


def test_an_optimal_ranking_overrules_majorities_in_circles_only():
    rng = np.random.default_rng(7)
    for _ in range(60):
        prefs = random_preferences(rng)
        for ranking in cc.rank(prefs, "kemeny"):
            assert "no circle" not in ranking.explain().to_text()


def test_each_instance_has_its_own_proof():
    lists = [*CIRCLE, ["a", "b"]]
    prefs = cc.Preferences.from_rankings(lists, instance=["q1"] * len(CIRCLE) + ["q2"])
    ranking = cc.rank(prefs, "kemeny")
    assert "is 156," in ranking["q1"].explain().to_text()
    assert "it agrees with the majority on every pair" in " ".join(ranking["q2"].explain().to_text().split())


# ---- places and lists ----
def test_borda_tells_places_that_add_up_to_all_ballots():
    prefs = cc.Preferences.from_rankings([["a", "b", "c"], ["b", ["a", "c"]], ["a"]], weight=[3, 2, 1])
    rows = table(prefs, "borda", "Positions on the ballots")
    assert rows[0] == {
        "rank": "1", "item": "a", "1st": "4", "2nd": "2", "3rd": "0", "left out": "0", "mean position": "1.500",
        "points": "9",
    }  # fmt: skip
    for row in rows:
        assert sum(float(row[place]) for place in ("1st", "2nd", "3rd", "left out")) == 6


def test_borda_of_pairs_tells_the_share_of_comparisons_won():
    rows = table(cc.Preferences.from_pairs(["a", "a", "b"], ["b", "c", "c"]), "borda", "Comparisons")
    assert [row["share won"] for row in rows] == ["100.0%", "50.0%", "0.0%"]


def test_median_rank_tells_the_middle():
    prefs = cc.Preferences.from_rankings([["a", "b", "c"], ["a", "c", "b"], ["b", "c", "a"]])
    assert [row["median position"] for row in table(prefs, "median-rank", "Positions")] == ["1", "2", "2"]


@pytest.mark.parametrize("method", ["rrf", "combsum"])
def test_what_lists_give_adds_up_to_the_score(method):
    agents = [f"engine {k}" for k in range(9)]
    rng = np.random.default_rng(1)
    item = [f"d{k}" for _ in agents for k in rng.permutation(12)[:8]]
    agent, rank = np.repeat(agents, 8).tolist(), [float(k) for _ in agents for k in range(1, 9)]
    rows = table(cc.Preferences.from_ranks(agent, item, rank), method, "Contributions of each list")
    assert "3 others" in rows[0]
    for row in rows:
        given = sum(float(value) for key, value in row.items() if key not in ("rank", "item", "score") and value != "-")
        assert given == pytest.approx(float(row["score"]), rel=3e-3)


# ---- score models ----
LINKS = ["bradley-terry", "davidson", "rao-kupper", "thurstone"]
FITS = {
    "auto": {},
    "no prior": {"prior": 0},
    "gamma": {"prior": 1.0, "prior_kind": "gamma"},
    "mean": {"likelihood": "mean"},
    "order": {"order_effect": True},
    "last": {"missing": "last"},
    "difference": {"counts": "difference"},
}


def votes(seed: int, instances: bool = False) -> cc.Preferences:
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 8, 200)
    b = (a + rng.integers(1, 8, 200)) % 8
    more = {"instance": rng.integers(0, 3, 200).astype(str)} if instances else {"tie": rng.random(200) < 0.2}
    return cc.Preferences.from_pairs(a.astype(str), b.astype(str), winner_first=rng.random(200) < 0.5, **more)


@pytest.mark.parametrize("fit", FITS)
@pytest.mark.parametrize("name", LINKS)
def test_contributions_of_opponents_add_up_to_the_score(name, fit):
    for prefs in (votes(1), votes(2, instances=True)):
        method = registry.make(name, **FITS[fit])
        for part in method.rank(prefs):
            own = prefs if part.instance is None else prefs.select(instances=[part.instance])
            found = method.contributions(own, part)
            for slot, score in enumerate(part.score.tolist()):
                met = found.of(slot)
                assert met.contribution.sum() + met.prior_contribution == pytest.approx(score, abs=1e-6)
                assert met.weight.sum() + met.prior_weight == pytest.approx(1)


def test_contributions_add_up_with_properties_of_items_and_weights_of_agents():
    prefs = votes(3)
    method = cc.BradleyTerry().with_covariates({str(k): [k % 3, k / 7] for k in range(8)})
    ranking = method.rank(prefs)
    found = method.contributions(prefs, ranking)
    trusted = cc.Preferences.from_pairs(["a", "b", "a", "c"], ["b", "a", "c", "b"], agent=["x", "y", "y", "x"])
    weighed = cc.BradleyTerry().with_agent_weights({"y": 3})
    for way, data, made in ((method, prefs, ranking), (weighed, trusted, weighed.rank(trusted))):
        found = way.contributions(data, made)
        for slot, score in enumerate(made.score.tolist()):
            met = found.of(slot)
            assert met.contribution.sum() + met.prior_contribution == pytest.approx(score, abs=1e-6)


def test_records_are_those_of_the_ballots():
    prefs = cc.Preferences.from_pairs(["a", "a", "b", "a"], ["b", "b", "a", "c"], tie=[False, False, False, True])
    rows = table(prefs, "bradley-terry", "Contributions to the score of a")
    assert {row["opponent"]: row["won-lost-tied"] for row in rows[:2]} == {"b": "2-1-0", "c": "0-0-1"}
    assert rows[-1]["opponent"] == "total"


def test_an_item_with_stronger_opponents_may_stand_above_one_that_won_more():
    # x beats the strong half the time, y the weak two times of three.
    winner = ["x"] * 10 + ["s"] * 10 + ["y"] * 20 + ["w"] * 10 + ["s"] * 40 + ["w"] * 2
    loser = ["s"] * 10 + ["x"] * 10 + ["w"] * 20 + ["y"] * 10 + ["w"] * 40 + ["s"] * 2
    text = said(cc.Preferences.from_pairs(winner, loser), "bradley-terry")
    assert "x ranks above y although y won a larger share of its comparisons (66.7% against 50.0%)" in text
    assert "because x's opponents were stronger" in text


def test_an_agent_that_other_instances_lack_does_no_harm():
    prefs = cc.Preferences.from_pairs(
        ["a", "b", "a"], ["b", "a", "b"], agent=["x", "y", "x"], instance=["q1", "q2", "q2"]
    )
    ranking = cc.BradleyTerry(prior=1.0).with_agent_weights({"y": 3}).rank(prefs)
    assert "Contributions to the score" in ranking["q1"].explain().to_text()


# ---- choices, net wins, games ----
def test_choices_expected_under_plain_likelihood_are_those_that_were_made():
    rng = np.random.default_rng(4)
    prefs = cc.Preferences.from_rankings([list(rng.permutation(list("abcde"))) for _ in range(60)])
    for method, params in (("plackett-luce", {"prior": 0}), ("ordered-partitions", {"prior": 0.0})):
        for row in table(prefs, method, "Numbers of choices", **params):
            assert float(row["expected"]) == pytest.approx(float(row["chosen"]), abs=0.06)


def test_first_choices_are_counted():
    prefs = cc.Preferences.from_rankings([["a", "b", "c"]] * 3 + [["b", "a", "c"]])
    assert [row["first"] for row in table(prefs, "plackett-luce", "Numbers of choices")] == ["3", "1", "0"]


def test_net_wins_of_mpm_come_in_the_order_of_its_scores():
    prefs = cc.Preferences.from_ratings(
        ["u", "u", "u", "v", "v", "w", "w"], ["a", "b", "c", "a", "b", "c", "b"], [5, 3, 1, 4, 5, 2, 4]
    )
    net = [float(row["net wins"]) for row in table(prefs, "mpm", "Net wins")]
    assert net == sorted(net, reverse=True)
    assert sum(net) == 0
    decided = table(prefs, "mpm", "Who decides", adherence=True)
    assert {"agent", "adherence"} <= decided[0].keys()


@pytest.mark.parametrize("method", ["elo", "trueskill"])
def test_the_last_game_leads_to_the_rating(method):
    prefs = cc.Preferences.from_pairs(["a", "b", "a"], ["b", "c", "c"], tie=[False, False, True])
    ranking = cc.rank(prefs, method)
    rows = table(prefs, method, "Most recent games")
    own = [row for row in rows if row["item"] == "a"]
    assert [row["result"] for row in own] == ["beat b", "drew with c"]
    score = float(ranking.scores[ranking.items.index("a")])
    assert float(own[-1]["after"]) == pytest.approx(score, rel=1e-3)


def test_hodgerank_tells_what_runs_in_circles():
    prefs = cc.Preferences.from_pairs(["a", "b", "c"], ["b", "c", "a"])
    assert "100.0% of the squared preferences are cyclic" in said(prefs, "hodgerank")
