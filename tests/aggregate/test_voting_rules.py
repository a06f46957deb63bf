"""Voting rules against textbook elections and against brute force straight from their definitions."""

from __future__ import annotations

from itertools import combinations, pairwise, permutations, product

import numpy as np
import pytest
from tests.cases import one_silent_instance

import concordant as cc
from concordant import laws, views

PAIRWISE = ["copeland", "condorcet", "condorcet-fuse", "minimax", "ranked-pairs", "schulze"]
VOTING = [*PAIRWISE, "instant-runoff"]


def election(*lines):
    """Make an election from lines such as "42 M > N = C"."""
    weights, rankings = [], []
    for line in lines:
        weight, _, ballot = line.partition(" ")
        weights.append(float(weight))
        rankings.append([place.split("=") for place in ballot.replace(" ", "").split(">")])
    return cc.Preferences.from_rankings(rankings, weight=weights)


TENNESSEE = election("42 M > N > C > K", "26 N > C > K > M", "15 C > K > N > M", "17 K > C > N > M")
SCHULZE_45 = election(
    *(
        f"{votes} {' > '.join(order)}"
        for votes, order in [
            (5, "ACBED"),
            (5, "ADECB"),
            (8, "BEDAC"),
            (3, "CABED"),
            (7, "CAEBD"),
            (2, "CBADE"),
            (7, "DCEBA"),
            (8, "EBADC"),
        ]
    )
)
CYCLE = election("4 A > B > C", "3 B > C > A", "2 C > A > B")
SYMMETRIC_CYCLE = election("1 A > B > C", "1 B > C > A", "1 C > A > B")


def random_elections(n=60, seed=0):
    rng = np.random.default_rng(seed)
    for _ in range(n):
        yield laws.random_preferences(rng)


def blocks(prefs, missing="auto"):
    """Go through the instances: the slots of each, and its wins."""
    counts = views.win_matrices(prefs, missing)
    for q in range(prefs.n_instances):
        yield slice(int(prefs.slot_ptr[q]), int(prefs.slot_ptr[q + 1])), counts.matrix(q)


def margins(wins):
    margin = wins - wins.T
    margin[np.abs(margin) < 1e-9] = 0
    return margin


# ---- textbook ----
@pytest.mark.parametrize("name", [*VOTING, "borda"])
def test_nashville_is_the_capital_except_by_runoff(name):
    assert cc.rank(TENNESSEE, name).items[0] == ("K" if name == "instant-runoff" else "N")


@pytest.mark.parametrize("name", PAIRWISE)
def test_the_capital_election_has_no_cycle(name):
    expected = ["N", "M", "C", "K"] if name == "minimax" else ["N", "C", "K", "M"]
    assert cc.rank(TENNESSEE, name).items == expected


def test_the_capital_runoff_eliminates_chattanooga_then_nashville():
    assert cc.rank(TENNESSEE, "instant-runoff").tiers == [["K"], ["M"], ["N"], ["C"]]


def test_schulzes_own_example():
    assert cc.rank(SCHULZE_45, "schulze").tiers == [["E"], ["A"], ["C"], ["B"], ["D"]]


def test_ranked_pairs_cuts_a_cycle_at_its_weakest_majority():
    # B>C 7:2, A>B 6:3, C>A 5:4; the last contradicts the first two
    assert cc.rank(CYCLE, "ranked-pairs").tiers == [["A"], ["B"], ["C"]]


def test_minimax_takes_the_smallest_worst_defeat():
    ranking = cc.rank(CYCLE, "minimax")
    assert dict(zip(ranking.items, ranking.scores, strict=True)) == {"A": -1, "B": -3, "C": -5}


def test_minimax_by_opposition_may_pass_over_a_condorcet_winner():
    prefs = election("3 A > B > C", "2 B = C > A")
    assert cc.rank(prefs, "minimax", strength="opposition").scores.tolist() == [-2.0, -3.0, -3.0]
    assert cc.rank(prefs, "minimax", strength="winning-votes").scores.tolist() == [0.0, -3.0, -3.0]


@pytest.mark.parametrize("name", ["copeland", "condorcet", "minimax", "ranked-pairs", "schulze", "instant-runoff"])
def test_a_symmetric_cycle_leaves_everyone_tied(name):
    assert cc.rank(SYMMETRIC_CYCLE, name).ranks.tolist() == [1, 1, 1]


@pytest.mark.parametrize("name", ["ranked-pairs", "instant-runoff"])
def test_an_unbroken_tie_is_reported(name):
    assert [notice.name for notice in cc.rank(SYMMETRIC_CYCLE, name).warnings] == ["unbroken-ties"]
    assert cc.rank(TENNESSEE, name).warnings == ()


def test_condorcet_names_the_smith_set_where_nobody_beats_all():
    ranking = cc.rank(election("4 A > B > C > D", "3 B > C > A > D", "2 C > A > B > D"), "condorcet")
    assert ranking.tiers == [["A", "B", "C"], ["D"]]
    assert ranking.warnings[0].name == "no-condorcet-winner"
    assert ranking.warnings[0].items == ("A", "B", "C")
    assert ranking.fit == {"condorcet_winners": 0.0, "smith_set_size": 3.0}


def test_condorcet_can_tell_only_the_winner():
    assert cc.rank(TENNESSEE, "condorcet", result="winner").tiers == [["N"], ["M", "C", "K"]]
    assert cc.rank(CYCLE, "condorcet", result="winner").tiers == [["A", "B", "C"]]


def test_copeland_ties_can_be_worth_anything_between_a_loss_and_a_win():
    prefs = election("1 A > B > C", "1 B > A > C")
    for ties in (0.0, 0.5, 1.0):
        assert cc.rank(prefs, "copeland", ties=ties).scores.tolist() == [1 + ties, 1 + ties, 0]


def test_candidates_never_compared_are_level():
    prefs = cc.Preferences.from_pairs(["a", "c"], ["b", "d"])
    assert cc.rank(prefs, "copeland").scores.tolist() == [2.0, 2.0, 1.0, 1.0]
    assert cc.rank(prefs, "schulze").tiers == [["a", "c"], ["b", "d"]]


def test_runoff_breaks_ties_by_earlier_rounds():
    # D goes first and lifts B to A's 3 votes; A had more than B in the round before
    prefs = election("3 A > B > C", "2 B > A > C", "4 C > A > B", "1 D > B > A")
    assert cc.rank(prefs, "instant-runoff").tiers[-2:] == [["B"], ["D"]]


def test_runoff_breaks_remaining_ties_by_borda():
    prefs = election("2 A > B > C", "2 C > B > A", "1 B > A > C", "1 D > A > B > C")
    # B and D have one vote each; D has fewer Borda points
    assert cc.rank(prefs, "instant-runoff").tiers[-1] == ["D"]


def test_an_open_tier_is_no_vote_in_a_runoff():
    open_ballots = cc.Preferences(
        ["a", "b", "c"], [0, 3, 6], [0, 1, 2, 1, 0, 2], [0, 1, 1, 0, 1, 2], open=[True, False]
    )
    short_ballots = cc.Preferences.from_rankings([["a"], ["b", "a", "c"]], candidates=["a", "b", "c"])
    assert cc.rank(open_ballots, "instant-runoff").tiers == cc.rank(short_ballots, "instant-runoff").tiers


def test_fractional_weights_make_exact_ties():
    split = election("0.1 A > B", "0.2 A > B", "0.3 B > A")  # 0.1 + 0.2 is not 0.3 in floating point
    for name in VOTING:
        assert cc.rank(split, name).tiers == [["A", "B"]], name


# ---- brute force ----
def test_copeland_counts_majorities():
    for prefs in random_elections():
        score = cc.rank(prefs, "copeland").score
        for span, wins in blocks(prefs):
            expected = ((margins(wins) > 0) + (margins(wins) == 0) / 2).sum(axis=1) - 0.5
            np.testing.assert_array_equal(score[span], expected)


def test_copeland_can_weigh_duels_by_how_far_ballots_put_one_before_the_other():
    ranks = [[1.0, 9.0, 10.0], [2.0, 1.0, 3.0], [2.0, 1.0, np.nan]]
    prefs = cc.Preferences.from_rank_matrix(np.array(ranks).T, items=["a", "b", "c"])
    assert cc.rank(prefs, "copeland").items == ["b", "a", "c"]
    assert cc.rank(prefs, "copeland", counts="difference").items == ["a", "b", "c"]
    with pytest.raises(cc.ParameterError, match="missing='ignore'"):
        cc.rank(prefs, "copeland", counts="difference", missing="last")


@pytest.mark.parametrize("counts", ["difference", "scaled-difference", "log"])
def test_copeland_by_strength_adds_up_what_every_ballot_says_of_a_pair(counts):
    rng = np.random.default_rng(3)
    for _ in range(20):
        ranks = np.array([rng.choice(12, 5, replace=False) + 1.0 for _ in range(4)])
        ranks[rng.random(ranks.shape) < 0.25] = np.nan
        ranks[:, 0] = 1.0  # every list names somebody
        level = {"difference": -ranks, "log": -np.log(ranks), "scaled-difference": -ranks}[counts]
        if counts != "difference":
            largest = np.nanmax(np.abs(level), axis=1, keepdims=True)
            level = level / np.where(largest > 0, largest, 1.0)
        expected = np.zeros(5)
        for i in range(5):
            for j in set(range(5)) - {i}:
                net = np.nansum(level[:, i] - level[:, j])
                expected[i] += 0.5 if abs(net) < 1e-9 else float(net > 0)
        prefs = cc.Preferences.from_rank_matrix(ranks.T, items=list("abcde"))
        np.testing.assert_array_equal(cc.rank(prefs, "copeland", counts=counts).score, expected)


def test_minimax_is_the_worst_pairwise_result():
    for prefs in random_elections():
        score = cc.rank(prefs, "minimax").score
        for span, wins in blocks(prefs):
            others = [[j for j in range(len(wins)) if j != i] for i in range(len(wins))]
            expected = [-max((margins(wins)[j, i] for j in others[i]), default=0) for i in range(len(wins))]
            np.testing.assert_allclose(score[span], expected, atol=1e-9)


def smith_tiers_by_enumeration(margin):
    left, tiers = set(range(len(margin))), {}
    while left:
        for size in range(1, len(left) + 1):
            dominating = [
                set(group)
                for group in combinations(sorted(left), size)
                if all(margin[i, j] > 0 for i in group for j in left - set(group))
            ]
            if dominating:
                break
        tier = max(tiers.values(), default=-1) + 1
        tiers.update(dict.fromkeys(dominating[0], tier))
        left -= dominating[0]
    return [tiers[i] for i in range(len(margin))]


def test_condorcet_finds_the_iterated_smith_sets():
    for prefs in random_elections():
        score = cc.rank(prefs, "condorcet").score
        for span, wins in blocks(prefs):
            np.testing.assert_array_equal(-score[span], smith_tiers_by_enumeration(margins(wins)))


def tiers_below_by_removal(is_above):
    """Take away those nobody left stands above, again and again: how many rounds follow the one each goes in."""
    left, tier = set(range(len(is_above))), np.zeros(len(is_above))
    for current in range(len(is_above)):
        first = {i for i in left if not any(is_above[j, i] for j in left)}
        tier[list(first)] = current
        left -= first
    return tier.max(initial=0) - tier


def schulze_by_enumeration(strength):
    """The strongest path between all pairs, by trying every path."""
    m = len(strength)
    best = np.zeros((m, m))
    for length in range(2, m + 1):
        for path in permutations(range(m), length):
            width = min(strength[i, j] for i, j in pairwise(path))
            best[path[0], path[-1]] = max(best[path[0], path[-1]], width)
    return best


@pytest.mark.parametrize("measure", ["winning-votes", "margins"])
def test_schulze_compares_the_strongest_of_all_paths(measure):
    for prefs in random_elections(25):
        score = cc.rank(prefs, "schulze", strength=measure).score
        for span, wins in blocks(prefs):
            if len(wins) > 5:
                continue
            votes = wins if measure == "winning-votes" else margins(wins)
            best = schulze_by_enumeration(np.where(margins(wins) > 0, votes, 0).round(9))
            np.testing.assert_array_equal(score[span], tiers_below_by_removal(best > best.T))


def runoff_by_hand(ballots, borda, m):
    """Eliminate by hand; ballots are (tiers, weight)."""
    left, rounds, history = set(range(m)), {}, []
    for current in range(m):
        votes = dict.fromkeys(range(m), 0.0)
        for tiers, weight in ballots:
            for tier in tiers:
                if tier & left:
                    for i in tier & left:
                        votes[i] += weight / len(tier & left)
                    break
        history.append(votes)
        key = {i: [*(round(h[i], 9) for h in reversed(history)), round(borda[i], 9)] for i in left}
        out = {i for i in left if key[i] == min(key.values())} if left else set()
        rounds.update(dict.fromkeys(out, current))
        left -= out
    return [rounds[i] for i in range(m)]


def test_instant_runoff_is_the_elimination_by_hand():
    for prefs in random_elections():
        score = cc.rank(prefs, "instant-runoff").score
        borda = cc.rank(prefs, "borda", missing="last").score
        for q in range(prefs.n_instances):
            base, end = int(prefs.slot_ptr[q]), int(prefs.slot_ptr[q + 1])
            ballots = []
            for b in np.flatnonzero(prefs.instance_of_ballot == q):
                span = slice(prefs.indptr[b], prefs.indptr[b + 1])
                slots, tiers = prefs.entry_slot[span] - base, prefs.tier[span]
                groups = [set(slots[tiers == t].tolist()) for t in sorted(set(tiers.tolist()))]
                is_open = prefs.open is not None and prefs.open[b]
                ballots.append((groups[:-1] if is_open else groups, prefs.weight[b]))
            assert score[base:end].tolist() == runoff_by_hand(ballots, borda[base:end], end - base)


def test_ranked_pairs_without_ties_is_the_order_locked_by_hand():
    rng = np.random.default_rng(3)
    for _ in range(40):
        m = 5
        # powers of two as weights: every pair of candidates gets a margin of its own
        orders = [rng.permutation(m).tolist() for _ in range(12)]
        prefs = cc.Preferences.from_rankings([[str(i) for i in o] for o in orders], weight=2.0 ** np.arange(12))
        _, wins = next(blocks(prefs))
        margin = margins(wins)
        values = margin[margin > 0]
        if len(set(values.tolist())) < len(values):
            continue
        links = [divmod(int(flat), m) for flat in np.argsort(-margin, axis=None)]
        locked = lock(m, [(i, j) for i, j in links if margin[i, j] > 0])
        np.testing.assert_array_equal(cc.rank(prefs, "ranked-pairs").score, tiers_below_by_removal(locked))


def lock(m, links):
    """Lock pairs in this order unless they contradict earlier ones: who stands above whom."""
    above = np.eye(m, dtype=bool)
    for i, j in links:
        if not above[j, i]:
            above |= np.outer(above[:, i], above[j])
    return above & ~np.eye(m, dtype=bool)


def test_ranked_pairs_warns_exactly_where_the_order_of_equal_majorities_matters():
    rng, seen = np.random.default_rng(4), set()
    for _ in range(150):
        m = int(rng.integers(3, 5))
        orders = [rng.permutation(m).tolist() for _ in range(int(rng.integers(2, 6)))]
        prefs = cc.Preferences.from_rankings([[str(i) for i in o] for o in orders], candidates=map(str, range(m)))
        _, wins = next(blocks(prefs))
        margin = margins(wins)
        groups = [np.argwhere(margin == value).tolist() for value in sorted({*margin[margin > 0].tolist()})[::-1]]
        universes = {
            tuple(tiers_below_by_removal(lock(m, [link for group in chosen for link in group])))
            for chosen in product(*(permutations(group) for group in groups))
        }
        ranking = cc.rank(prefs, "ranked-pairs")
        seen.add(len(universes) > 1)
        if not ranking.warnings:
            assert universes == {tuple(ranking.score)}
        elif ranking.warnings[0].name == "broken-ties":
            assert tuple(ranking.score) in universes
        if len(universes) > 1:
            assert [notice.name for notice in ranking.warnings] in (["broken-ties"], ["unbroken-ties"])
    assert seen == {True, False}


def test_undefeated_candidates_share_the_first_place():
    prefs = cc.Preferences.from_rankings([["A", "C", "B"], ["B", "A", "C"]])  # A beats C, B draws with both
    for name in ("schulze", "ranked-pairs"):
        assert cc.rank(prefs, name).tiers == [["A", "B"], ["C"]], name


def test_a_runoff_tie_that_a_rule_decided_is_named():
    ranking = cc.rank(election("2 A > B > C", "2 C > B > A", "1 B > A > C", "1 D > A > B > C"), "instant-runoff")
    assert ranking.warnings[0].name == "broken-ties"
    assert set(ranking.warnings[0].items) >= {"B", "D"}
    assert ranking.tiers[-1] == ["D"]


def test_condorcet_fuse_puts_nobody_behind_someone_they_beat_right_ahead():
    for prefs in random_elections():
        ranking = cc.rank(prefs, "condorcet-fuse")
        for span, wins in blocks(prefs):
            order = np.argsort(-ranking.score[span], kind="stable")
            ranks = ranking.score[span][order]
            for ahead, behind, same in zip(order[:-1], order[1:], ranks[:-1] == ranks[1:], strict=True):
                assert same or margins(wins)[behind, ahead] <= 0


# ---- edges ----
@pytest.mark.parametrize("name", VOTING)
def test_one_item_is_first(name):
    assert cc.rank(cc.Preferences.from_rankings([["a"]]), name).ranks.tolist() == [1]


@pytest.mark.parametrize("name", [name for name in VOTING if name != "minimax"])
def test_one_ballot_is_the_ranking(name):
    prefs = cc.Preferences.from_rankings([["c", "a", ["b", "d"]]])
    assert cc.rank(prefs, name).tiers == [["c"], ["a"], ["b", "d"]]


def test_minimax_ties_everyone_who_is_beaten_unanimously():
    assert cc.rank(cc.Preferences.from_rankings([["c", "a", "b"]]), "minimax").tiers == [["c"], ["a", "b"]]


@pytest.mark.parametrize("name", VOTING)
def test_ballots_that_tie_everything_tie_everything(name):
    assert cc.rank(cc.Preferences.from_rankings([[["a", "b", "c"]]] * 3), name).tiers == [["a", "b", "c"]]


@pytest.mark.parametrize("name", VOTING)
def test_empty_ballots_say_nothing(name):
    prefs = cc.Preferences.from_rankings([["a", "b"], [], ["a", "b"], []])
    assert cc.rank(prefs, name, **({} if name == "instant-runoff" else {"missing": "ignore"})).tiers == [["a"], ["b"]]


@pytest.mark.parametrize("name", VOTING)
def test_candidates_nobody_ranks_come_last(name):
    prefs = cc.Preferences.from_rankings([["a", "b"], ["b", "a"], ["a"]], candidates=["z", "a", "b", "y"])
    assert cc.rank(prefs, name).tiers == [["a"], ["b"], ["z", "y"]]


@pytest.mark.parametrize("name", VOTING)
def test_an_instance_nobody_voted_in_is_all_tied(name):
    prefs = one_silent_instance()
    ranking = cc.rank(prefs, name)
    assert ranking["q1"].tiers == [["a"], ["b"]]
    assert ranking["q2"].tiers == [["a", "b"]]


def test_the_instances_with_trouble_are_named():
    rankings = [["a", "b"], ["b", "a"]] * 5
    prefs = cc.Preferences.from_rankings(rankings, instance=[f"q{k}" for k in range(5) for _ in range(2)])
    assert "(in q0, q1, q2 and 2 more)" in cc.rank(prefs, "condorcet").warnings[0].text
