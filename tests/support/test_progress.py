"""Progress of long work: stages, nested stages, what a listener is told, and the remaining time."""

from __future__ import annotations

from contextlib import AbstractContextManager

import pytest

from concordant.support import progress
from concordant.support.progress import Progress

pytestmark = pytest.mark.once


def told(every: float = 0.0) -> tuple[list[Progress], AbstractContextManager[None]]:
    """Return a list that collects what a listener is told, and the context in which it listens."""
    seen: list[Progress] = []
    return seen, progress.listen(seen.append, every=every)


def test_a_stage_counts_its_steps_and_ends_with_an_empty_text() -> None:
    seen, listening = told()
    with listening, progress.stage("comparing methods", 2) as step:
        step("borda")
        step("copeland")
    assert [(now.text, now.done) for now in seen] == [
        ("comparing methods", 0),
        ("comparing methods: borda", 0),
        ("comparing methods: copeland", 1),
        ("", 0),
    ]
    assert seen[1].total == 2


def test_an_inner_stage_advances_the_outer_one_by_fractions_and_never_back() -> None:
    seen, listening = told()
    with listening, progress.stage("outer", 2) as outer:
        outer()
        for _ in range(2):
            for _ in progress.steps(range(4), "inner"):
                pass
        outer()
    parts = [now.done for now in seen if now.total == 2]
    assert parts == sorted(parts)
    assert 0.75 in parts
    assert parts[-1] == 1
    assert "outer – inner" in {now.text for now in seen}


def test_a_single_step_shows_no_share() -> None:
    seen, listening = told()
    with listening:
        assert list(progress.steps(["only"], "ranking")) == ["only"]
    assert {now.total for now in seen} == {None}


def test_iterations_are_counted_but_have_no_end() -> None:
    seen, listening = told()
    with listening:
        assert next(progress.iterations(range(5, 9), "optimising")) == 5
    assert seen[1].text == "optimising: iteration 1"
    assert {now.total for now in seen} == {None}
    assert not seen[-1].text


def test_a_loop_left_by_an_error_closes_its_stage() -> None:
    def divide() -> None:
        for number in progress.steps([1, 0], "dividing"):
            1 // number

    seen, listening = told()
    with listening:
        with pytest.raises(ZeroDivisionError):
            divide()
        with progress.stage("later"):
            pass
    assert "later" in {now.text for now in seen}


def test_steps_in_quick_succession_are_told_once_but_begin_and_end_always() -> None:
    seen, listening = told(every=60)
    with listening:
        for _ in range(2):
            for _ in progress.steps(range(100), "quick"):
                pass
    assert [now.text for now in seen] == ["quick", "", "quick", ""]


def test_without_a_listener_loops_run_and_nobody_is_asked_for_room() -> None:
    assert not progress.is_heard()
    progress.hide()
    assert list(progress.steps("ab")) == list(progress.iterations("ab", "x")) == ["a", "b"]


def test_output_asks_the_listener_for_room() -> None:
    asked: list[bool] = []
    with progress.listen(lambda _: None, hide=lambda: asked.append(True)):
        progress.hide()
    progress.hide()
    assert asked == [True]


def test_an_inner_listener_replaces_the_outer_one() -> None:
    outer, listening = told()
    with listening, progress.listen(lambda _: None), progress.stage("unheard"):
        pass
    assert not outer


@pytest.mark.parametrize(
    ("done", "seconds", "text"),
    [
        (0, 5, ""),
        (1, 9, "about 9 s left"),
        (1, 33, "about 35 s left"),
        (1, 300, "about 5 min left"),
        (1, 2 * 3600, "about 2.0 h left"),
    ],
)
def test_the_remaining_time_is_estimated_once_something_is_done(done: int, seconds: float, text: str) -> None:
    assert progress.time_left(Progress("", done, 2, seconds)) == text


def test_elapsed_time_reads_like_a_clock() -> None:
    assert [progress.duration(seconds) for seconds in (7, 750, 3723)] == ["0:07", "12:30", "1:02:03"]
