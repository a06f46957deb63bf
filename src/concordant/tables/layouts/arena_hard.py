"""Judgements of Arena-Hard: a model, a judge, and games against a baseline with scores such as ``A>>B``.

The model is assistant B in the first game and assistant A in the second, and so on. A decisive verdict (``>>``) counts
three times. The rows do not name the baseline unless they have a column ``baseline``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from concordant.ballots.vocabulary import Coded, Vocabulary
from concordant.errors import arg
from concordant.tables.layouts._votes import Votes, concatenated, sides, table_of_votes
from concordant.tables.options import Options, normalise
from concordant.tables.rows import InputTable
from concordant.types import Floats

MAX_GAMES, DECISIVE = 16, 3.0


def arrange(table: InputTable, options: Options) -> InputTable | None:
    """Return a table of votes between each model and the baseline; None if the games have no scores."""
    games = _scores(table)
    if not games:
        return None
    by_plain = {normalise(name): name for name in table.columns}
    model = table.fetch([by_plain["model"]], [])[0][by_plain["model"]]
    rows = np.arange(len(model[0]))
    baseline = _baseline(table, options, by_plain.get("baseline"), len(rows))
    votes = []
    for k, score in enumerate(games):
        first, second = (model, baseline) if k % 2 else (baseline, model)
        votes.append(Votes(rows, first, second, sides(table, score, "score", options), _weights(score)))
    note = "judgements of Arena-Hard: the model is B in the first game and A in the second; a decisive verdict counts 3"
    return table_of_votes(table, concatenated(votes), options, note)


def _scores(table: Any) -> list[Coded]:
    """Return the score of each game, as many games as any row has."""
    if getattr(table, "resolve", lambda _: None)("games.0.score") is None:
        return []
    scores: list[Coded] = []
    for start in range(0, MAX_GAMES, 2):
        names = [f"games.{k}.score" for k in (start, start + 1)]
        found = list(table.fetch(names, [])[0].values())
        if all((codes < 0).all() for codes, _ in found):
            break
        scores += found
    return [score for score in scores if (score[0] >= 0).any()] if len(scores) < 3 else scores


def _baseline(table: InputTable, options: Options, column: str | None, n_rows: int) -> Coded:
    """Return the baseline of each row: the option, or else the column of that name."""
    if options.baseline_model is not None:
        return np.zeros(n_rows, np.int32), Vocabulary([options.baseline_model])
    if column is None:
        what = "each row compares its model with a baseline that the file does not name"
        raise table.error(-1, what + ": use " + arg("baseline_model", shown="NAME") + ".")
    return table.fetch([column], [])[0][column]


def _weights(score: Coded) -> Floats:
    codes, words = score
    return np.array([*(DECISIVE if ">>" in word or "<<" in word else 1.0 for word in words.labels), 1.0])[codes]
