"""The single transferable vote against a plain count by hand, published counts, and the Glasgow council of 2007."""

from __future__ import annotations

import tarfile
from decimal import ROUND_DOWN, Decimal, localcontext

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import concordant as cc


def election(*lines, candidates=None):
    """Make an election from lines such as "42 a b c"."""
    ballots = [line.split() for line in lines]
    return cc.Preferences.from_rankings(
        [ballot[1:] for ballot in ballots], weight=[float(ballot[0]) for ballot in ballots], candidates=candidates
    )


FOOD = election(  # twenty guests who share three kinds of food
    "4 Orange", "2 Pear Orange", "8 Chocolate Strawberry", "4 Chocolate Hamburger", "1 Strawberry", "1 Hamburger",
)  # fmt: skip


# ---- plain counts ----
def scottish_by_hand(names, ballots, seats):
    """Count with decimals, paper by paper; None where a tie would need more than earlier stages."""
    cut = Decimal("0.00001")
    papers = [[list(ballot), Decimal(1)] for weight, ballot in ballots for _ in range(weight)]
    quota = Decimal(len(papers) // (seats + 1) + 1)
    piles = {name: [] for name in names}
    for paper in papers:
        piles[paper[0][0]].append(paper)
    votes = {name: sum((paper[1] for paper in piles[name]), Decimal(0)) for name in names}
    stages, elected, out, waiting = [dict(votes)], [], [], []

    def pick(among, sign):
        for past in reversed(stages):
            best = min(sign * past[name] for name in among)
            among = [name for name in among if sign * past[name] == best]
        return among[0] if len(among) == 1 else None

    def elect(those):
        for _ in range(len(those)):
            best = pick(those, -1)
            if best is None:
                return False
            elected.append(best)
            those.remove(best)
        return True

    while True:
        left = [name for name in names if name not in elected and name not in out]
        before = len(elected)
        if not elect([name for name in left if votes[name] >= quota]):
            return None
        waiting += [name for name in elected[before:] if votes[name] > quota]
        left = [name for name in left if name not in elected]
        if len(elected) == seats:
            return elected, stages
        if len(left) <= seats - len(elected):
            return (elected, stages) if elect(left) else None
        if waiting:
            source = pick(waiting, -1)
            if source is None:
                return None
            waiting.remove(source)
            surplus, total = votes[source] - quota, votes[source]
            for paper in piles[source]:
                paper[1] = (surplus * paper[1] / total).quantize(cut, ROUND_DOWN)
            votes[source] = quota
        else:
            source = pick(left, 1)
            if source is None:
                return None
            out.append(source)
            left.remove(source)
            votes[source] = Decimal(0)
        moved, piles[source] = piles[source], []
        for paper in moved:
            ahead = [name for name in paper[0] if name in left]
            if ahead:
                piles[ahead[0]].append(paper)
                votes[ahead[0]] += paper[1]
        stages.append(dict(votes))


@st.composite
def elections(draw):
    names = "abcdef"[: draw(st.integers(2, 6))]
    ballots = []
    for _ in range(draw(st.integers(2, 8))):
        order = draw(st.permutations(names))
        ballots.append((draw(st.integers(1, 30)), order[: draw(st.integers(1, len(order)))]))
    return names, ballots, draw(st.integers(1, 4))


def prefs_of(names, ballots):
    return election(*(f"{weight} {' '.join(ballot)}" for weight, ballot in ballots), candidates=names)


@settings(max_examples=200)
@given(elections())
def test_the_scottish_count_is_the_count_by_hand(drawn):
    names, ballots, seats = drawn
    by_hand = scottish_by_hand(names, ballots, seats)
    count = cc.rank(prefs_of(names, ballots), "stv", seats=seats).model.count()
    if by_hand is not None:
        elected, stages = by_hand
        assert list(count.elected) == elected
        assert [stage.votes for stage in count.stages] == [
            {name: float(votes) for name, votes in stage.items()} for stage in stages
        ]


def meek_by_hand(names, ballots, seats):
    """Count with 40 digits; None where votes come closer than 1e-20."""
    with localcontext() as context:
        context.prec = 40
        keep, elected, out = {name: Decimal(1) for name in names}, [], []
        total = Decimal(sum(weight for weight, _ in ballots))
        close = Decimal("1e-20") * total
        while True:
            for _ in range(4000):
                votes, over = dict.fromkeys(names, Decimal(0)), Decimal(0)
                for weight, ballot in ballots:
                    rest = Decimal(weight)
                    for name in ballot:
                        votes[name] += rest * keep[name]
                        rest *= 1 - keep[name]
                    over += rest
                quota = (total - over) / (seats + 1)
                left = [name for name in names if name not in elected and name not in out]
                passed = [name for name in left if votes[name] > quota + close]
                if any(abs(votes[name] - quota) <= close for name in left):
                    return None
                elected += sorted(passed, key=lambda name: -votes[name])
                if len(elected) >= seats or all(abs(votes[name] - quota) < close for name in elected):
                    break
                for name in elected:
                    keep[name] *= quota / votes[name]
            else:
                return None
            left = [name for name in left if name not in elected]
            if len(elected) >= seats:
                return set(elected)
            if len(left) <= seats - len(elected):
                return {*elected, *left}
            order = sorted(left, key=votes.get)
            if votes[order[1]] - votes[order[0]] <= close:
                return None
            out.append(order[0])
            keep[order[0]] = Decimal(0)
            if len(left) - 1 <= seats - len(elected):
                return {*elected, *order[1:]}


@settings(max_examples=60)
@given(elections())
def test_meeks_count_elects_whom_forty_digits_elect(drawn):
    names, ballots, seats = drawn
    by_hand = meek_by_hand(names, ballots, seats)
    ranking = cc.rank(prefs_of(names, ballots), "stv", seats=seats, rules="meek")
    if by_hand is not None and "not-converged" not in [notice.name for notice in ranking.warnings]:
        assert set(ranking.model.elected) == by_hand


@settings(max_examples=60)
@given(elections(), st.sampled_from(["scottish", "meek"]))
def test_no_vote_is_lost_or_made(drawn, rules):
    names, ballots, seats = drawn
    prefs = prefs_of(names, ballots)
    count = cc.rank(prefs, "stv", seats=seats, rules=rules).model.count()
    total = sum(weight for weight, _ in ballots)
    for stage in count.stages:
        assert sum(stage.votes.values()) + stage.over + stage.rounding == pytest.approx(total, abs=1e-8)
    assert len(count.elected) + (len(count.undecided) > 0) >= min(seats, len(names)) * (not count.undecided)
    assert {*count.elected} & {*count.excluded} == set()


# ---- published counts ----
def test_the_food_of_a_party():
    # The example of many textbooks and of Wikipedia: quota floor(20 / 4) + 1 = 6. Chocolate is elected with 12, its
    # surplus of 6 goes on at half value; pears go out and lift oranges to the quota, then hamburgers go out.
    ranking = cc.rank(FOOD, "stv", seats=3)
    assert ranking.model.quota == 6
    assert ranking.model.stages[1].votes["Strawberry"] == 5
    assert ranking.model.stages[1].votes["Hamburger"] == 3
    assert ranking.model.elected == ("Chocolate", "Orange", "Strawberry")
    assert ranking.items == ["Chocolate", "Orange", "Strawberry", "Hamburger", "Pear"]
    assert ranking.detail("elected").tolist() == [1, 1, 1, 0, 0]


def test_one_seat_in_tennessee():
    tennessee = election("42 M N C K", "26 N C K M", "15 C K N M", "17 K C N M")
    for rules in ("scottish", "meek"):
        assert cc.rank(tennessee, "stv", rules=rules).tiers[0] == ["K"]
    assert cc.rank(tennessee, "stv").model.quota == 51


def test_meek_tells_candidates_apart_that_differ_in_the_seventh_decimal():
    # Voting matters 12, the computational accuracy using the Meek algorithm: X, Y and Z differ by a ten-millionth.
    prefs = election(
        "333 A X", "333 A Y", "333 A Z", "333 B X", "333 B Y", "333 B Z", "667 X", "667 Y", "667 Z",
        "1 A B X", "1 A B Y", "2 B A X",
    )  # fmt: skip
    count = cc.rank(prefs, "meek", seats=3).model.count()
    assert set(count.elected) == {"A", "B", "X"}
    assert count.excluded == ("Z",)
    first, second = count.stages
    assert first.votes["X"] - first.votes["Y"] == pytest.approx(1.25e-7, abs=1e-9)
    assert second.quota == pytest.approx(800.620526946, abs=1e-8)
    assert second.votes["Y"] == pytest.approx(800.558083370, abs=1e-8)


# ---- the rules in detail ----
def test_ties_go_by_the_latest_earlier_stage():
    prefs = election("1 A B", "2 B", "3 C", "4 D", "5 E")
    ranking = cc.rank(prefs, "stv", seats=2)
    assert ranking.model.count().excluded == ("A", "B", "C")
    assert [(notice.name, set(notice.items)) for notice in ranking.warnings] == [("broken-ties", {"B", "C"})]


def test_a_tie_for_the_last_seat_is_left_to_a_lot():
    ranking = cc.rank(election("3 a", "2 b", "2 c"), "stv", seats=2)
    assert ranking.tiers == [["a"], ["b", "c"]]
    assert ranking.detail("elected").tolist() == [1.0, 0.5, 0.5]
    assert ranking.model.count().undecided == ("b", "c")
    assert ranking.warnings[0].name == "unbroken-ties"
    assert "must be decided by lot" in str(ranking.explain())


def test_equal_ranks_share_a_ballot():
    ranking = cc.rank(cc.Preferences.from_rankings([[["a", "b"], "c"], ["c"]], weight=[4, 1]), "stv")
    assert ranking.model.stages[0].votes == {"a": 2.0, "b": 2.0, "c": 1.0}


def test_more_seats_than_candidates_elect_everybody():
    for rules in ("scottish", "meek"):
        ranking = cc.rank(election("2 a b", "1 b"), "stv", seats=9, rules=rules)
        assert ranking.model.elected == ("a", "b")


def test_many_elections_are_counted_at_once():
    prefs = cc.Preferences.from_rankings(
        [["a", "b"], ["b", "a"], ["c", "d"], ["c"]], weight=[3, 1, 1, 1], instance=["north", "north", "south", "south"]
    )
    ranking = cc.rank(prefs, "stv")
    assert ranking["north"].items == ["a", "b"]
    assert ranking.model.count("south").elected == ("c",)
    assert "c is elected" in str(ranking["south"].explain())
    with pytest.raises(cc.InputError, match="2 elections: name one"):
        _ = ranking.model.stages
    with pytest.raises(cc.InputError, match="it has no name"):
        cc.rank(FOOD, "stv").model.count("north")


def test_the_stages_are_plain_data():
    count = cc.rank(FOOD, "stv", seats=3).model.count()
    data = count.to_dict()
    assert data["elected"] == ["Chocolate", "Orange", "Strawberry"]
    assert data["stages"][1]["did"] == "surplus"
    assert {"from": "Chocolate", "to": "Strawberry", "votes": 4.0} in data["stages"][1]["transfers"]
    rows = count.rows()
    assert len(rows) == len(count.stages) * 5
    assert {"stage": 3, "candidate": "Orange", "votes": 6.0, "received": 2.0, "state": "elected"} in rows


def test_seats_must_be_a_number_of_at_least_one():
    with pytest.raises(cc.ParameterError, match="seats=0"):
        cc.rank(FOOD, "stv", seats=0)


# ---- Glasgow City Council, 3 May 2007 ----
# Stage by stage: what Droop, a counting programme by J. Lundell, gives for the same ballots by the Scottish rules (its
# reference files Linn-2007 and Greater-Pollock-2007). The last line of each is what is not transferable.
LINN = """
David Ritchie       2043 1914       1914       1914       1914       1914       1914       1914       1914       1914
Sadie Docherty      1782 1789.19796 1798.70308 1807.82936 1826.01878 1849.71332 1896.91298 1947.35496 1914       1914
John Mckenzie       1381 1389.27134 1395.65018 1417.83960 1433.90274 1459.28158 1514.35496 1530.60752 1547.18432 2174.90506
Margot Clark        1284 1302.94200 1311.32084 1318.44712 1350.20480 1458.48808 1532.33962 1866.00174 1868.39022 2008.75096
Alan Stewart         955 961.44028  970.56656  980.69284  990.00854  1001.51366 1078.47100 1105.84984 1111.65708 0
Esme H Clark         898 905.13482  906.45052  961.76622  991.39762  1005.34472 1015.91298 0          0          0
Frank Young          395 409.77476  469.48978  478.67920  498.31060  547.47784  0          0          0          0
Chloe Helen Stewart  296 310.77476  328.78500  338.97442  359.36350  0          0          0          0          0
Chris Lang           219 224.61946  229.80888  239.06144  0          0          0          0          0          0
Harry Mcarthur       165 166.83106  170.02048  0          0          0          0          0          0          0
Gordon Thomson       149 156.82936  0          0          0          0          0          0          0          0
nobody                 0 36.17922   72.19970   109.70482  203.78844  331.17582  615.00348  1203.18096 1211.74700 1555.32260
"""  # noqa: E501
GREATER_POLLOK = """
Patricia Duffy   2173 1737       1737       1737       1737       1737       1737       1737
Alex Glass       1637 1680.94016 1701.94656 1801.36704 1737       1737       1737       1737
Tommy Morrison   1180 1201.26784 1219.47168 1258.67872 1290.71610 1389.81806 1527.20045 1725.84237
William O'Rourke 1296 1313.05440 1327.65952 1355.66592 1368.70070 1410.69227 1494.87285 1690.86280
Alice Sheridan   630  693.80352  725.02976  771.84512  773.94624  812.20257  1022.69195 0
Keith Baldassara 591  637.54848  661.16640  693.78432  695.72820  739.93844  0          0
Rory O'Brien     549  572.67552  592.08320  674.30944  675.72446  0          0          0
Fleming Carswell 393  431.32224  502.95296  0          0          0          0          0
Caroline Scott   233  275.33504  0          0          0          0          0          0
nobody           0    139.04352  214.68064  389.34016  403.16851  855.33287  1163.21896 1791.27904
"""
# The councillors as declared, by the pages of the wards on Wikipedia.
DECLARED = {
    "Baillieston": {"Coleman", "Hay", "McDonald", "Mason"},
    "Drumchapel": {"Carey", "Kidd", "Purcell", "Findlay"},
    "Garscadden": {"Cameron", "Rooney", "McFadden", "Hendry"},
    "GreaterPollok": {"Glass", "Morrison", "O'Rourke", "Duffy"},
}


@pytest.fixture(scope="module")
def glasgow(data_folder, tmp_path_factory):
    """The ballots of the wards by name."""
    folder, wards = tmp_path_factory.mktemp("glasgow"), {}
    with tarfile.open(data_folder / "preflib" / "preflib.tar.xz") as archive:
        for member in archive:
            if "/00008-" in member.name and member.name.endswith(".soi"):
                path = folder / member.name.rsplit("/", 1)[1]
                path.write_bytes(archive.extractfile(member).read())
                prefs = cc.read(path)
                wards[str(prefs.meta["title"]).split()[2]] = prefs
    return wards


def stages_of(text):
    """Return a table of votes as a list of stages: candidate to votes."""
    n_stages = sum(part.replace(".", "").isdigit() for part in text.strip().splitlines()[0].split())
    rows = [line.rsplit(maxsplit=n_stages) for line in text.strip().splitlines()]
    return [{row[0].strip(): float(row[1 + k]) for row in rows} for k in range(n_stages)]


@pytest.mark.data
@pytest.mark.parametrize(("ward", "text", "quota"), [("Linn", LINN, 1914), ("GreaterPollok", GREATER_POLLOK, 1737)])
def test_the_stages_of_a_ward_come_out_to_the_last_decimal(glasgow, ward, text, quota):
    count = cc.rank(glasgow[ward], "stv", seats=4).model.count()
    assert count.quota == quota
    expected = stages_of(text)
    assert [dict(stage.votes) | {"nobody": stage.over} for stage in count.stages] == expected


@pytest.mark.data
def test_greater_pollok_elects_at_the_declared_stages(glasgow):
    # Declared: first preferences Glass 1,637, Morrison 1,180, O'Rourke 1,296; elected second at stage 4 and third and
    # fourth at stage 8 (Wikipedia, 2007 Glasgow City Council election).
    count = cc.rank(glasgow["GreaterPollok"], "stv", seats=4).model.count()
    assert count.elected == ("Patricia Duffy", "Alex Glass", "Tommy Morrison", "William O'Rourke")
    at = {label: stage.number for stage in count.stages for label in stage.elected}
    assert at == {"Patricia Duffy": 1, "Alex Glass": 4, "Tommy Morrison": 8, "William O'Rourke": 8}


@pytest.mark.data
@pytest.mark.parametrize("ward", list(DECLARED))
def test_the_declared_councillors_are_elected(glasgow, ward):
    elected = cc.rank(glasgow[ward], "stv", seats=4).model.elected
    assert {label.rsplit(maxsplit=1)[-1].lower() for label in elected} == {name.lower() for name in DECLARED[ward]}


@pytest.mark.data
def test_every_ward_is_counted_without_a_tie_left_open(glasgow):
    assert len(glasgow) == 21
    for prefs in glasgow.values():
        for rules in ("scottish", "meek"):
            count = cc.rank(prefs, "stv", seats=4, rules=rules).model.count()
            assert len(count.elected) == 4
            assert count.undecided == ()


# ---- Burlington, Vermont, the mayor of 2009 ----
@pytest.mark.data
def test_burlington_elected_kiss_though_montroll_wins_every_duel(data_folder, tmp_path):
    with tarfile.open(data_folder / "preflib" / "preflib.tar.xz") as archive:
        member = next(one for one in archive if one.name.endswith("00005-00000002.toi"))
        path = tmp_path / "burlington.toi"
        path.write_bytes(archive.extractfile(member).read())
    prefs = cc.read(path)
    runoff = cc.rank(prefs, "instant-runoff")
    assert runoff.items[0] == "Bob Kiss"
    last = runoff.model.stages[-1].votes
    assert (last["Bob Kiss"], last["Kurt Wright"]) == (4314, 4064)
    wins = dict(zip(prefs.items.labels, cc.views.win_matrices(prefs, "last").matrix(), strict=True))["Andy Montroll"]
    assert (wins[prefs.items.code("Bob Kiss")], wins[prefs.items.code("Kurt Wright")]) == (4067, 4597)
    assert "Wright" in cc.rank(prefs, "plurality").items[0]
    for name in ("condorcet", "baldwin", "nanson", "black", "schulze"):
        assert "Montroll" in cc.rank(prefs, name).items[0], name


def test_burlington_in_nine_lines():
    # The orders of the three leading candidates in 2009, as widely published.
    prefs = election(
        "1332 M K W", "767 M W K", "455 M", "2043 K M W", "371 K W M", "568 K", "1513 W M K", "495 W K M", "1289 W",
    )  # fmt: skip
    assert cc.rank(prefs, "plurality").items[0] == "W"
    assert cc.rank(prefs, "instant-runoff").items[0] == "K"
    assert cc.rank(prefs, "condorcet").items[0] == "M"
    assert cc.rank(prefs, "stv").items[0] == "K"
