"""Committees from approvals against abcvoting: one of its committees, and the only one where no tie decides."""

from __future__ import annotations

import numpy as np
import pytest

import concordant as cc

pytest.importorskip("abcvoting", reason="abcvoting is not installed: pip install abcvoting")
pytestmark = pytest.mark.filterwarnings("default")


def elections(n, seed):
    """Yield random approval elections twice: for concordant, and as a profile of abcvoting."""
    from abcvoting.preferences import Profile

    rng = np.random.default_rng(seed)
    for _ in range(n):
        m, n_ballots = int(rng.integers(3, 8)), int(rng.integers(3, 25))
        table = rng.random((n_ballots, m)) < rng.uniform(0.2, 0.6)
        table[~table.any(axis=1), 0] = True
        approved = [np.flatnonzero(row).tolist() for row in table]
        profile = Profile(m)
        profile.add_voters(approved)
        prefs = cc.Preferences.from_rankings([[[str(i) for i in a]] for a in approved], candidates=map(str, range(m)))
        yield prefs, profile, int(rng.integers(1, m))


@pytest.mark.parametrize(
    ("method", "rule"),
    [("pav", "compute_pav"), ("sequential-pav", "compute_seqpav"), ("phragmen", "compute_seqphragmen")],
)
def test_the_committee_is_one_of_theirs(method, rule):
    from abcvoting import abcrules

    alone = 0
    options = {"resolute": False} | ({"algorithm": "brute-force"} if method == "pav" else {})
    for prefs, profile, seats in elections(150, 7):
        theirs = [set(one) for one in getattr(abcrules, rule)(profile, seats, **options)]
        ranking = cc.rank(prefs, method, seats=seats, result="committee")
        ours = {int(item) for item in ranking.tiers[0]}
        assert ours in theirs
        if not ranking.warnings:
            assert len(theirs) == 1
            alone += 1
    assert alone > 20
