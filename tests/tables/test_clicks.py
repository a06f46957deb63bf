"""Tables of users and items without ratings: implicit feedback."""

from __future__ import annotations

import io

import pytest

import concordant as cc
from concordant.errors import InputError

CLICKS = "user,item\nu1,a\nu1,b\nu2,a\nu2,c\nu3,a\n"


@pytest.mark.parametrize(
    "header",
    [
        "user,item",
        "userId,movieId",
        "user_id,item_id",
        "worker,product",
        "voter,candidate",
        "visitorid,itemid",
        "session_id,sku",
        "userID,artistID",
    ],
)
def test_users_and_items_are_read_as_approvals(header: str) -> None:
    prefs = cc.read(io.StringIO(CLICKS.replace("user,item", header)))
    assert (prefs.form, prefs.n_agents, prefs.n_ballots) == ("approvals", 3, 3)
    assert prefs.value is None
    ranking = cc.rank(prefs)
    assert ranking.method == "approval"
    assert dict(zip(ranking.items, ranking.scores.tolist(), strict=True)) == {"a": 3, "b": 1, "c": 1}


@pytest.mark.parametrize("more", ["timestamp", "event_time,event", "count", "session_id,ts"])
def test_times_events_and_counts_do_not_order_items(more: str) -> None:
    cells = ",7" * (more.count(",") + 1)
    lines = CLICKS.splitlines()
    text = "\n".join([f"{lines[0]},{more}", *(line + cells for line in lines[1:])])
    prefs = cc.read(io.StringIO(text))
    assert prefs.form == "approvals"
    assert "implicit feedback" in prefs.notes[0]


def test_a_repeated_click_counts_once_and_is_reported() -> None:
    prefs = cc.read(io.StringIO(CLICKS + "u1,a\nu1,a\n"))
    assert cc.rank(prefs).scores.tolist() == [3, 1, 1]
    assert any("2 rows: a click on the same item again" in note for note in prefs.notes)


def test_other_columns_are_not_taken_for_a_log_of_clicks() -> None:
    with pytest.raises(InputError):
        cc.read(io.StringIO("user,item,mood\nu1,a,good?\nu2,b,odd\n"))


def test_ratings_stay_ratings() -> None:
    assert cc.read(io.StringIO("user,item,rating\nu1,a,5\nu1,b,3\n")).form == "ratings"


def test_the_layout_can_be_named() -> None:
    prefs = cc.read(io.StringIO("who,page,mood\nu1,a,x\nu2,b,y\n"), layout="clicks", agent="who", item="page")
    assert prefs.form == "approvals"


def test_clicks_sorted_by_time() -> None:
    text = "user,item,day\nu2,a,3\nu1,b,1\nu1,c,2\n"
    prefs = cc.read(io.StringIO(text), time="day")
    assert prefs.time is not None
    assert prefs.time.tolist() == [1, 3]


def test_a_frame_of_clicks() -> None:
    pd = pytest.importorskip("pandas")
    prefs = cc.Preferences.from_frame(pd.DataFrame({"user": ["u1", "u1", "u2"], "item": ["a", "b", "a"]}))
    assert prefs.form == "approvals"
