"""Places and grades in words."""

from __future__ import annotations

import pytest

from concordant.tables import grades


@pytest.mark.parametrize(
    ("word", "place"),
    [
        *[("1st", 1), ("1st choice", 1), ("First choice", 1), ("first", 1), ("Rank 1", 1), ("1.", 1), ("1", 1)],
        *[("Choice 2", 2), ("2nd place", 2), ("#3", 3), ("No. 4", 4), ("Third  Choice", 3), ("12th", 12)],
        *[("tenth", 10), ("position: 2", 2), ("my second choice", 2)],
        *[
            ("Very good", None),
            ("rank", None),
            ("", None),
            ("1.5", None),
            ("-1", None),
            ("one", None),
            ("1st of 3", None),
        ],
    ],
)
def test_a_place_in_words_is_a_rank(word: str, place: float | None) -> None:
    assert grades.place_in(word) == place


def test_the_worst_grade_of_a_scale_is_one() -> None:
    assert grades.rate(["Poor", "Fair", "Good", "Excellent"], None) == {"Poor": 1, "Fair": 2, "Good": 3, "Excellent": 4}
    agreed = grades.rate(["Strongly agree", "Agree", "Neutral", "Strongly Disagree"], None)
    assert agreed == {"Strongly agree": 5, "Agree": 4, "Neutral": 3, "Strongly Disagree": 1}
    assert grades.rate(["yes", "If need be", "no"], None) == {"yes": 3, "If need be": 2, "no": 1}


def test_words_of_no_scale_and_of_two_scales_are_not_rated() -> None:
    assert grades.rate(["meh", "wow"], None) == {}
    assert grades.rate(["Strongly agree", "Excellent"], None) == {}


def test_the_user_orders_words_best_first() -> None:
    assert grades.rate(["wow", "meh", "huh"], ["Wow", "ok", "meh"]) == {"wow": 3, "meh": 1}


def test_every_scale_is_in_order_and_names_a_grade_once() -> None:
    for scale in grades.SCALES:
        words = [word for grade in scale for word in grade]
        assert len(set(words)) == len(words), scale
        assert all(word == grades.plain(word) for word in words)


def test_no_answer_is_missing() -> None:
    assert all(map(grades.means_missing, ["", " - ", "N/A", "Don’t know", "No opinion", "nan"]))
    assert not grades.means_missing("0")
