"""The count of an election by stages: who has how many votes when, who is elected or excluded, and where votes go.

``ranking.model`` of ``stv`` and ``instant-runoff`` is a ``CountModel``; ``model.stages`` lists the stages of the only
election, ``model.count("ward 3")`` is the count of one of many, ``count.rows()`` a table ready for a csv file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from concordant.aggregate.explain.wording import listed
from concordant.ballots.vocabulary import Vocabulary, shorten
from concordant.errors import InputError
from concordant.preferences import Preferences
from concordant.results.explanation import Reason
from concordant.results.flow_picture import Flow, Node, draw_flows
from concordant.support.text import plain_number
from concordant.types import Floats

AT_ONCE = 8  # stages in one table
OVER = "non-transferable"


@dataclass(frozen=True)
class CountStage:
    """One stage of a count, as it stands at its end."""

    number: int
    did: str
    """What was done: first, surplus, exclusion, or (by Meek's rules) exclusion with all surpluses."""
    sources: tuple[str, ...]
    """Whose votes were moved."""
    votes: Mapping[str, float]
    flows: Mapping[tuple[str, str], float]
    """Votes that went from one candidate to another at this stage; to "non-transferable" where nobody was left."""
    over: float
    """Votes that count for nobody so far, because their ballots name nobody who is left (non-transferable)."""
    rounding: float
    """What the rules cut off so far: the decimals after the fifth."""
    quota: float
    elected: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        flows = [{"from": a, "to": b, "votes": amount} for (a, b), amount in self.flows.items()]
        return {
            "stage": self.number,
            "did": self.did,
            "sources": list(self.sources),
            "votes": dict(self.votes),
            "transfers": flows,
            "non_transferable": self.over,
            "rounding": self.rounding,
            "quota": self.quota,
            "elected": list(self.elected),
            "excluded": list(self.excluded),
        }


@dataclass(frozen=True)
class Count:
    """All stages of the count of one election."""

    candidates: tuple[str, ...]
    seats: int
    stages: tuple[CountStage, ...]
    undecided: tuple[str, ...] = ()
    """Candidates that nothing but a lot can decide between for the last seats."""

    @property
    def quota(self) -> float:
        """The votes that elect a candidate, at the end of the count (Meek's quota falls as votes run out)."""
        return self.stages[-1].quota

    @property
    def elected(self) -> tuple[str, ...]:
        """Who is elected, in the order of election."""
        return tuple(label for stage in self.stages for label in stage.elected)

    @property
    def excluded(self) -> tuple[str, ...]:
        """Who is excluded, in the order of exclusion."""
        return tuple(label for stage in self.stages for label in stage.excluded)

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per stage and candidate, ready for a csv file or a DataFrame."""
        rows = []
        for stage in self.stages:
            for label in self.candidates:
                state = "elected" if label in stage.elected else "excluded" if label in stage.excluded else ""
                received = sum(amount for (_, to), amount in stage.flows.items() if to == label)
                rows.append(
                    {
                        "stage": stage.number,
                        "candidate": label,
                        "votes": stage.votes[label],
                        "received": received,
                        "state": state,
                    }
                )
        return rows

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        return {
            "candidates": list(self.candidates),
            "seats": self.seats,
            "quota": self.quota,
            "elected": list(self.elected),
            "undecided": list(self.undecided),
            "stages": [stage.to_dict() for stage in self.stages],
        }


@dataclass(frozen=True, eq=False)
class CountModel:
    """The counts of all elections of a ranking; one that was not needed yet is made when first asked for."""

    instances: Vocabulary | None
    make: Callable[[int], Count]

    def count(self, instance: object = None) -> Count:
        """Return the count of an instance; the only one may go unnamed."""
        if instance is None:
            if self.instances is not None and len(self.instances) > 1:
                raise InputError(
                    f"There are {len(self.instances)} elections: say which, model.count({self.instances[0]!r})."
                )
            return self.make(0)
        if self.instances is None:
            raise InputError("There is a single, unnamed election: use model.count().")
        return self.make(self.instances.code(instance, "instance"))

    @property
    def stages(self) -> tuple[CountStage, ...]:
        """The stages of the only election."""
        return self.count().stages

    @property
    def elected(self) -> tuple[str, ...]:
        """Who is elected in the only election, in the order of election."""
        return self.count().elected

    @property
    def quota(self) -> float:
        """The votes that elect a candidate in the only election."""
        return self.count().quota


def labelled(labels: Sequence[str], values: Floats) -> dict[str, float]:
    """Return values by candidate."""
    return dict(zip(labels, values.tolist(), strict=True))


def flows_of(labels: Sequence[str], moved: Floats, over: Floats) -> dict[tuple[str, str], float]:
    """Return the transfers that happened, by (from, to), from a matrix (from x to) and the votes that went to
    nobody.
    """
    flows = {(labels[a], labels[b]): float(moved[a, b]) for a, b in np.argwhere(moved > 0).tolist()}
    return flows | {(labels[a], OVER): float(over[a]) for a in np.flatnonzero(over > 0).tolist()}


# ---- in words and in a picture ----
def count_reasons(count: Count, title: str, order: Sequence[str], word: str, opening: Sequence[str]) -> list[Reason]:
    """Return the stages as sentences and as tables of votes with candidates in this order; ``word`` is stage or
    round.
    """
    sentences = [*opening, *(_told(stage, word) for stage in count.stages)]
    if count.undecided:
        sentences.append(
            f"Nothing decides between {listed([shorten(label, 30) for label in count.undecided])} for the last "
            f"{'seat' if len(count.elected) + 1 == count.seats else 'seats'}: a lot must."
        )
    reasons = [Reason(title, tuple(sentence for sentence in sentences if sentence))]
    for start in range(0, len(count.stages), AT_ONCE):
        stages = count.stages[start : start + AT_ONCE]
        rows = [
            [
                shorten(label, 30),
                *(plain_number(s.votes[label]) if _is_counted(count, label, s) else "" for s in stages),
            ]
            for label in order
        ]
        if any(stage.over > 0 for stage in count.stages):
            rows.append([OVER, *(plain_number(stage.over) for stage in stages)])
        span = "" if len(count.stages) <= AT_ONCE else f", {word}s {stages[0].number} to {stages[-1].number}"
        header = ["candidate", *(f"{word} {stage.number}" for stage in stages)]
        rows = [row for row in rows if any(row[1:])]
        reasons.append(Reason(f"Votes at every {word}{span}", (), header, rows, frozenset(range(1, len(header)))))
    return reasons


def _is_counted(count: Count, label: str, stage: CountStage) -> bool:
    """Return whether a candidate was not excluded at an earlier stage."""
    return all(label not in earlier.excluded for earlier in count.stages[: stage.number - 1])


def _told(stage: CountStage, word: str) -> str:
    """Return a sentence on one stage: whose votes went where, who was elected, who was excluded."""
    parts = []
    sources = listed([shorten(label, 30) for label in stage.sources])
    if stage.did == "first":
        parts.append(f"{plain_number(sum(stage.votes.values()))} first preferences are counted.")
    elif stage.sources:
        moved: dict[str, float] = {}
        for (_, to), amount in stage.flows.items():
            moved[to] = moved.get(to, 0.0) + amount
        largest = sorted(
            ((amount, to) for to, amount in moved.items() if to != OVER), key=lambda transfer: -transfer[0]
        )
        transfers = [f"{plain_number(amount, 2)} to {shorten(to, 30)}" for amount, to in largest[:3]]
        if len(largest) > 3:
            transfers.append(f"{plain_number(sum(amount for amount, _ in largest[3:]), 2)} to others")
        if moved.get(OVER):
            transfers.append(f"{plain_number(moved[OVER], 2)} to nobody")
        subject = "The surplus" if stage.did == "surplus" else "The votes"
        parts.append(
            f"{subject} of {sources} {'goes' if stage.did == 'surplus' else 'go'} on: {listed(transfers) or 'none'}."
        )
    if stage.elected:
        verb = "is" if len(stage.elected) == 1 else "are"
        parts.append(f"{listed([shorten(label, 30) for label in stage.elected])} {verb} elected.")
    if stage.excluded:
        verb = "has the fewest votes and goes" if len(stage.excluded) == 1 else "have the fewest votes and go together"
        parts.append(f"{listed([shorten(label, 30) for label in stage.excluded])} {verb} out.")
    return f"{word.capitalize()} {stage.number}: {' '.join(parts)}" if parts else ""


def count_picture(count: Count, title: str, order: Sequence[str], word: str) -> Callable[[], str] | None:
    """Return a function that draws the votes flowing from stage to stage; None for a single stage."""
    return partial(_drawn, count, title, tuple(order), word) if len(count.stages) > 1 else None


def _drawn(count: Count, title: str, order: tuple[str, ...], word: str) -> str:
    """Draw the flow of votes: a column per stage, a row per candidate, and bands for votes that stay or are
    transferred.
    """
    rows = (*order, OVER)
    columns, flows = [], []
    for stage in count.stages:
        votes = {**stage.votes, OVER: stage.over}
        mark = {**dict.fromkeys(stage.elected, "elected"), **dict.fromkeys(stage.excluded, "out")}
        columns.append([Node(votes[label], mark.get(label, "")) for label in rows])
    for before, stage in zip(count.stages, count.stages[1:], strict=False):
        votes_lost: dict[str, float] = {}
        transfers = []
        for (source, to), amount in stage.flows.items():
            votes_lost[source] = votes_lost.get(source, 0.0) + amount
            transfers.append(Flow(rows.index(source), rows.index(to), amount))
        votes = {**before.votes, OVER: before.over}
        stays = [Flow(k, k, max(votes[label] - votes_lost.get(label, 0.0), 0.0)) for k, label in enumerate(rows)]
        flows.append([*stays, *transfers])
    return draw_flows(title, rows, [f"{word} {stage.number}" for stage in count.stages], columns, flows)


def labels_of(prefs: Preferences, instance: int) -> tuple[str, ...]:
    """Return the labels of the candidates of an instance, in slot order."""
    span = slice(int(prefs.slot_ptr[instance]), int(prefs.slot_ptr[instance + 1]))
    return tuple(prefs.items.take(prefs.slot_item[span]))
