"""The tails of the tests agree with SciPy's."""

from math import atan, pi

import pytest
import scipy.special
from hypothesis import given
from hypothesis import strategies as st

from concordant.support import special

SIZES = st.floats(1e-6, special.MAX_SUM / 2)


@given(a=SIZES, b=SIZES, x=st.just(0.0) | st.floats(1e-300, 1))  # logarithms of smaller ones lose digits
def test_the_incomplete_beta_function_is_scipys(a: float, b: float, x: float) -> None:
    assert special.betainc(a, b, x) == pytest.approx(float(scipy.special.betainc(a, b, x)), rel=1e-9, abs=1e-250)


@given(votes=st.tuples(st.floats(1e-3, special.MAX_SUM / 2), st.floats(0, 1)))
def test_the_tail_of_the_sign_test_keeps_its_digits(votes: tuple[float, float]) -> None:
    most, least = votes[0], votes[0] * votes[1]
    known = float(scipy.special.betainc(most, least + 1, 0.5))
    assert special.betainc(most, least + 1, 0.5) == pytest.approx(known, rel=1e-10, abs=1e-250)


@given(t=st.just(0.0) | st.floats(1e-3, 1e4), freedom=st.integers(1, int(special.MAX_SUM)))
def test_students_tail_is_scipys(t: float, freedom: int) -> None:
    assert special.student_tail(t, freedom) == pytest.approx(
        float(scipy.special.stdtr(freedom, -t)), rel=1e-9, abs=1e-250
    )


def test_one_degree_of_freedom_is_an_arc_tangent() -> None:
    for t in (1e-9, 1e-4, 0.9, 1.1, 30.0):
        assert special.student_tail(t, 1) == pytest.approx(atan(1 / t) / pi, rel=1e-13)


@pytest.mark.parametrize(("x", "known"), [(0.0, 0.0), (1.0, 1.0), (0.5, 0.5)])
def test_ends_and_middle(x: float, known: float) -> None:
    assert special.betainc(3.0, 3.0, x) == pytest.approx(known)
