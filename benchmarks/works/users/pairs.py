"""Votes between two items in lists, arrays and data frames: ``cc.rank`` of the pairs, and nothing said about how."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from benchmarks.core import Answer, Inputs, Size, Task, Work, sizes

if TYPE_CHECKING:
    from concordant.ranking import Ranking

SIZES = sizes("votes items", tiny=(4000, 8), small=(200_000, 200), full=(1_000_000, 1000))
LARGE = {**SIZES, "full": {"votes": 10_000_000, "items": 10_000}}
INSTANCES = sizes("instances items votes", tiny=(20, 5, 40), small=(2000, 10, 20), full=(100_000, 10, 20))
WARM = {"evalica": 10.0}
FIRST = {"evalica": 3.0}


# ---- inputs ----
def make_ints(size: Size, seed: int) -> Inputs:
    """Hold the votes as two arrays of integers."""
    from benchmarks.works import bradley_terry

    return bradley_terry.make(size, seed)


def make_int_lists(size: Size, seed: int) -> Inputs:
    """Hold the votes as two lists of int."""
    drawn = make_ints(size, seed)
    return {**drawn, "winner": drawn["winner"].tolist(), "loser": drawn["loser"].tolist()}


def make_strings(size: Size, seed: int) -> Inputs:
    """Hold the votes as two lists of str."""
    from benchmarks.works import bradley_terry

    return bradley_terry.make_strings(size, seed)


def make_text_arrays(size: Size, seed: int) -> Inputs:
    """Hold the votes as two NumPy arrays of text."""
    import numpy as np

    drawn = make_strings(size, seed)
    return {**drawn, "winner": np.array(drawn["winner"]), "loser": np.array(drawn["loser"])}


def make_ties(size: Size, seed: int) -> Inputs:
    """Hold the votes as lists of str with a list of flags: one vote in ten is a tie."""
    import numpy as np

    flags = np.random.default_rng(seed + 1).random(size["votes"]) < 0.1
    return {**make_strings(size, seed), "tie": flags.tolist()}


def make_pandas(size: Size, seed: int) -> Inputs:
    """Hold the votes as a DataFrame of pandas."""
    import pandas

    drawn = make_strings(size, seed)
    return {"frame": pandas.DataFrame({key: drawn[key] for key in ("winner", "loser")}), "items": size["items"]}


def make_polars(size: Size, seed: int) -> Inputs:
    """Hold the votes as a DataFrame of polars."""
    import polars

    drawn = make_strings(size, seed)
    return {"frame": polars.DataFrame({key: drawn[key] for key in ("winner", "loser")}), "items": size["items"]}


def make_instances(size: Size, seed: int) -> Inputs:
    """Draw some votes in each of many instances, as arrays of integers."""
    import numpy as np

    rng = np.random.default_rng(seed)
    n, m, votes = size["instances"], size["items"], size["votes"]
    score = rng.normal(size=(n, m))
    instance = np.repeat(np.arange(n), votes)
    a = rng.integers(0, m, n * votes)
    b = (a + rng.integers(1, m, n * votes)) % m
    wins = rng.random(n * votes) < 1 / (1 + np.exp(score[instance, b] - score[instance, a]))
    return {"winner": np.where(wins, a, b), "loser": np.where(wins, b, a), "instance": instance, **size}


# ---- what people type ----
def rank_columns(method: str | None = None) -> Callable[[Inputs], Task]:
    """Rank columns: ``cc.rank(cc.Preferences.from_pairs(winner, loser))``, with ties and instances where there are."""

    def ours(inputs: Inputs) -> Task:
        import concordant as cc

        more = {name: inputs[name] for name in ("tie", "instance") if name in inputs}

        def rank() -> Ranking:
            prefs = cc.Preferences.from_pairs(inputs["winner"], inputs["loser"], **more)
            return shown(cc.rank(prefs) if method is None else cc.rank(prefs, method))

        return Task(rank, answer_of_instances if "instance" in inputs else answer_of(inputs))

    return ours


def rank_frame(inputs: Inputs) -> Task:
    """Rank a DataFrame: ``cc.rank(frame)``."""
    import concordant as cc

    return Task(lambda: shown(cc.rank(inputs["frame"])), answer_of(inputs))


def shown(ranking: Ranking) -> Ranking:
    """Look at the order and the scores, as people do: they are found when first asked for."""
    _ = ranking.items if ranking.instances is None else ranking.order
    return ranking


def answer_of(inputs: Inputs) -> Callable[[Any], Answer]:
    """Read the scores by item."""

    def answer(ranking: Ranking) -> Answer:
        return scores_by_item(inputs["items"], ranking.items, ranking.scores)

    return answer


def scores_by_item(items: int, labels: Any, scores: Any) -> Answer:
    """Write scores by the number in their label, from their mean."""
    import numpy as np

    score = np.zeros(items)
    score[[int(str(label).removeprefix("i")) for label in labels]] = scores
    return {"score": score - score.mean()}


def answer_of_instances(ranking: Ranking) -> Answer:
    """Read the scores of all slots, by instance and item."""
    import numpy as np

    assert ranking.instances is not None
    instance = np.repeat([int(label) for label in ranking.instances], np.diff(ranking.slot_ptr))
    item = np.array([int(label) for label in ranking.vocabulary])[ranking.slot_item]
    return {"score": np.asarray(ranking.score)[np.lexsort((item, instance))]}


def is_near(ours: Answer, theirs: Answer) -> bool:
    """Say whether scores agree to a twentieth and nearly in order: others have no prior, and some stop early."""
    import numpy as np

    a, b = ours["score"], theirs["score"]
    return bool(a.shape == b.shape and np.abs(a - b).mean() < 0.05 and np.corrcoef(a, b)[0, 1] > 0.999)


def is_alike(ours: Answer, theirs: Answer) -> bool:
    """Say whether scores of small instances go together where others have any: few votes have no finite answer."""
    import numpy as np

    a, b = ours["score"], np.clip(theirs["score"], -3, 3)
    if a.shape != b.shape:
        return False
    known = np.abs(b) > 1e-9
    return bool(np.corrcoef(a[known], b[known])[0, 1] > 0.7)


STRINGS = Work(
    "users-strings", "rank votes, lists of str", SIZES, make_strings, rank_columns(), WARM, is_near, first=FIRST
)
MODELS = {"davidson": make_ties, "rao-kupper": make_ties, "thurstone": make_strings}
WORKS = (
    STRINGS,
    STRINGS.but("users-text-arrays", "rank votes, NumPy arrays of text", make=make_text_arrays),
    STRINGS.but("users-int-lists", "rank votes, lists of int", make=make_int_lists, rivals={**WARM, "choix": 50.0}),
    STRINGS.but("users-ints", "rank votes, arrays of integers", make=make_ints, rivals={**WARM, "choix": 50.0}),
    STRINGS.but("users-pandas", "rank votes, a DataFrame of pandas", make=make_pandas, ours=rank_frame),
    STRINGS.but("users-polars", "rank votes, a DataFrame of polars", make=make_polars, ours=rank_frame),
    *(
        STRINGS.but(f"users-{method}", f"{method}, lists of str", make=make, ours=rank_columns(method), rivals={})
        for method, make in MODELS.items()
    ),
    STRINGS.but("users-large", "rank many votes on many items, arrays of integers", sizes=LARGE, make=make_ints),
    STRINGS.but(
        "users-instances",
        "rank votes in many small instances, arrays of integers",
        sizes=INSTANCES,
        make=make_instances,
        agree=is_alike,
    ),
)
