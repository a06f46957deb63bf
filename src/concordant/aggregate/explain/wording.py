"""Names, numbers and tables of rounds for the explanation of one instance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from concordant.ballots.vocabulary import shorten
from concordant.models.notices import named
from concordant.preferences import Preferences
from concordant.ranking import Ranking
from concordant.results.explanation import Reason
from concordant.support.text import plain_number
from concordant.types import Bools, Floats

AT_ONCE = 8  # rounds in one table
NAMED = 6  # candidates in one sentence


class Wording:
    """The names of the candidates of one instance, in slot order, and phrases built from them."""

    def __init__(self, prefs: Preferences) -> None:
        self.labels = [shorten(label, 30) for label in prefs.items.take(prefs.slot_item)]

    def names(self, chosen: Bools) -> str:
        """Return the names of some candidates: a, b and c."""
        return listed([self.labels[slot] for slot in np.flatnonzero(chosen)])

    @staticmethod
    def number(value: float) -> str:
        """Return a number of votes as text."""
        return plain_number(value)

    @staticmethod
    def goes(chosen: Bools) -> str:
        """Return "is eliminated" for one candidate, "are eliminated together" for several."""
        return "is eliminated" if chosen.sum() == 1 else "are eliminated together"

    def rounds(self, score: Floats) -> Iterator[tuple[Bools, Bools]]:
        """Iterate over the rounds of an elimination: the continuing candidates, and those eliminated at its end."""
        for level in np.unique(score).tolist():
            yield score >= level, score == level

    @staticmethod
    def best(ranking: Ranking) -> Bools:
        """Return, for each slot, whether it is ranked first."""
        return np.asarray(ranking.rank_by_slot == 1)

    def heading(self, ranking: Ranking, rule: str) -> str:
        """Return the title of an explanation, which names the winner."""
        best = self.best(ranking)
        verb = "wins" if best.sum() == 1 else "tie for first place"
        return f"{self.names(best)} {verb} under {rule}"


def listed(labels: Sequence[str]) -> str:
    """Return labels as a phrase, such as "a, b and c"; a long list ends with the number of further labels."""
    if len(labels) > NAMED:
        return named(labels, NAMED)
    return " and ".join([", ".join(labels[:-1]), labels[-1]]) if len(labels) > 1 else "".join(labels)


def rounds_table(
    words: Wording,
    ranking: Ranking,
    title: str,
    columns: Sequence[Floats],
    present: Sequence[Bools],
    word: str = "round",
) -> list[Reason]:
    """Return tables of every candidate's value in every round, best first, with ``AT_ONCE`` rounds per table.

    ``present`` says, by round and slot, whether a candidate is still in the count.
    """
    tables = []
    for start in range(0, len(columns), AT_ONCE):
        rounds = range(start, min(start + AT_ONCE, len(columns)))
        rows = [
            [words.labels[slot], *(words.number(columns[k][slot]) if present[k][slot] else "" for k in rounds)]
            for slot in ranking.order.tolist()
        ]
        span = "" if len(columns) <= AT_ONCE else f", {word}s {rounds[0] + 1} to {rounds[-1] + 1}"
        header = ["candidate", *(f"{word} {k + 1}" for k in rounds)]
        right = frozenset(range(1, len(header)))
        tables.append(Reason(title + span, (), header, [row for row in rows if any(row[1:])], right))
    return tables


def score_table(words: Wording, ranking: Ranking, header: Sequence[str], columns: Sequence[Sequence[str]]) -> Reason:
    """Return a table of the candidates, best first, with columns of texts in slot order."""
    rows = [[words.labels[slot], *(column[slot] for column in columns)] for slot in ranking.order.tolist()]
    return Reason("Totals", (), ["candidate", *header], rows, frozenset(range(1, len(header) + 1)))


def eliminated(
    words: Wording, ranking: Ranking, rule: str, columns: Sequence[Floats], sentences: Sequence[str], caption: str
) -> list[Reason]:
    """Return the explanation of an elimination: a sentence per round, and tables of every candidate's value."""
    present = [is_left for is_left, _ in words.rounds(ranking.score)]
    return [
        Reason(words.heading(ranking, rule), tuple(sentences)),
        *rounds_table(words, ranking, caption, columns, present[: len(columns)]),
    ]


def vote_reasons(prefs: Preferences, ranking: Ranking, rule: str, verb: str, what: str) -> list[Reason]:
    """Return the explanation of a rule that sums votes: the winner, the lead, and a table of all votes."""
    words, total = Wording(prefs), float(prefs.weight.sum())
    best = words.best(ranking)
    most_votes = float(ranking.score[best][0])
    be, each = ("is", "") if best.sum() == 1 else ("are", " each")
    share = f" ({100 * most_votes / total:.1f}%)" if total > 0 else ""
    sentence = (
        f"{words.names(best)} {be} {verb} {words.number(most_votes)} of {words.number(total)} ballots{share}{each}"
    )
    if not best.all():
        second = float(ranking.score[~best].max())
        next_ = words.names(~best & (ranking.score == second))
        sentence += f", {words.number(most_votes - second)} more than {next_}"
    votes = [words.number(value) for value in ranking.score]
    return [Reason(words.heading(ranking, rule), (f"{sentence}.",)), score_table(words, ranking, [what], [votes])]
