"""Stage-by-stage counts of elections: votes at each stage, candidates elected or excluded, and transfers.

``ranking.model`` of ``stv`` and ``instant-runoff`` is a ``CountModel``. ``model.stages`` lists the stages of a single
election, ``model.count("ward 3")`` returns the count of one of several, and ``count.rows()`` returns a table for a CSV
file.
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
from concordant.support.brief import Brief
from concordant.support.text import plain_number
from concordant.types import AnyArray, Floats

AT_ONCE = 8  # stages in one table
OVER = "non-transferable"


@dataclass(frozen=True, repr=False)
class CountStage(Brief):
    """One stage of a count, with the totals at its end."""

    number: int
    did: str
    """The action: first, surplus, exclusion, or (Meek's rules) exclusion with all surpluses."""
    sources: tuple[str, ...]
    """The candidates whose votes were transferred."""
    votes: Mapping[str, float]
    flows: Mapping[tuple[str, str], float]
    """Votes transferred between candidates at this stage; to "non-transferable" if no preference was left."""
    over: float
    """Non-transferable votes so far: their ballots rank no continuing candidate."""
    rounding: float
    """Votes lost to rounding so far: decimals after the fifth are truncated."""
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


@dataclass(frozen=True, repr=False)
class Count(Brief):
    """All stages of the count of one election."""

    candidates: tuple[str, ...]
    seats: int
    stages: tuple[CountStage, ...]
    undecided: tuple[str, ...] = ()
    """Candidates tied for the last seats, which only a draw of lots can decide."""

    @property
    def quota(self) -> float:
        """The quota at the end of the count (Meek's quota falls as ballots are exhausted)."""
        return self.stages[-1].quota

    @property
    def elected(self) -> tuple[str, ...]:
        """The elected candidates, in the order of election."""
        return tuple(label for stage in self.stages for label in stage.elected)

    @property
    def excluded(self) -> tuple[str, ...]:
        """The excluded candidates, in the order of exclusion."""
        return tuple(label for stage in self.stages for label in stage.excluded)

    def rows(self) -> list[dict[str, Any]]:
        """Return the count as a table with one row per stage and candidate, for a CSV file or a DataFrame."""
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


@dataclass(frozen=True, eq=False, repr=False)
class CountModel:
    """The counts of all elections of a ranking, computed on first access."""

    instances: Vocabulary | None
    make: Callable[[int], Count]

    def __repr__(self) -> str:
        n = 1 if self.instances is None else len(self.instances)
        return f"CountModel({n:,} {'election' if n == 1 else 'elections'})"

    def count(self, instance: object = None) -> Count:
        """Return the count of an instance; the label may be omitted if there is only one."""
        if instance is None:
            if self.instances is not None and len(self.instances) > 1:
                raise InputError(
                    f"There are {len(self.instances)} elections: name one, for example "
                    f"model.count({self.instances[0]!r})."
                )
            return self.make(0)
        if self.instances is None:
            raise InputError("There is only one election, and it has no name: use model.count().")
        return self.make(self.instances.code(instance, "instance"))

    @property
    def stages(self) -> tuple[CountStage, ...]:
        """The stages of the count, if there is a single election; otherwise use ``count(instance)``."""
        return self.count().stages

    @property
    def elected(self) -> tuple[str, ...]:
        """The elected candidates, in order of election, if there is a single election.

        Otherwise use ``count(instance)``.
        """
        return self.count().elected

    @property
    def quota(self) -> float:
        """The quota, if there is a single election; otherwise use ``count(instance)``."""
        return self.count().quota


def labelled(labels: Sequence[str], values: Floats) -> dict[str, float]:
    """Return a dictionary of values by candidate."""
    return dict(zip(labels, values.tolist(), strict=True))


def flows_of(
    labels: Sequence[str], sources: Sequence[int], moved: AnyArray, over: AnyArray
) -> dict[tuple[str, str], float]:
    """Return a dictionary of the transfers by (from, to), given the candidates whose votes were transferred.

    ``moved`` is a matrix (source x to), and ``over`` has the non-transferable votes of every source.
    """
    row, to = np.nonzero(moved > 0)
    amounts = moved[row, to].tolist()
    flows = {(labels[sources[a]], labels[b]): v for a, b, v in zip(row.tolist(), to.tolist(), amounts, strict=True)}
    return flows | {(labels[sources[a]], OVER): float(over[a]) for a in np.flatnonzero(over > 0).tolist()}


# ---- in words and in a picture ----
def count_reasons(count: Count, title: str, order: Sequence[str], word: str, opening: Sequence[str]) -> list[Reason]:
    """Return the stages as sentences and as tables of votes.

    ``order`` is the order of the candidates in the tables; ``word`` is stage or round.
    """
    sentences = [*opening, *(_told(stage, word) for stage in count.stages)]
    if count.undecided:
        sentences.append(
            f"The tie between {listed([shorten(label, 30) for label in count.undecided])} for the last "
            f"{'seat' if len(count.elected) + 1 == count.seats else 'seats'}must be decided by lot."
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
    """Describe one stage: which votes were transferred to whom, who was elected and who was excluded."""
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
            transfers.append(f"{plain_number(moved[OVER], 2)} non-transferable")
        subject = "The surplus" if stage.did == "surplus" else "The votes"
        parts.append(
            f"{subject} of {sources} {'is' if stage.did == 'surplus' else 'are'} transferred: "
            f"{listed(transfers) or 'none'}."
        )
    if stage.elected:
        verb = "is" if len(stage.elected) == 1 else "are"
        parts.append(f"{listed([shorten(label, 30) for label in stage.elected])} {verb} elected.")
    if stage.excluded:
        verb = "has the fewest votes and is" if len(stage.excluded) == 1 else "have the fewest votes and are"
        parts.append(f"{listed([shorten(label, 30) for label in stage.excluded])} {verb} excluded.")
    return f"{word.capitalize()} {stage.number}: {' '.join(parts)}" if parts else ""


def count_picture(count: Count, title: str, order: Sequence[str], word: str) -> Callable[[], str] | None:
    """Return a function that draws the transfers from stage to stage, or None for a single stage."""
    return partial(_drawn, count, title, tuple(order), word) if len(count.stages) > 1 else None


def _drawn(count: Count, title: str, order: tuple[str, ...], word: str) -> str:
    """Draw the flow of votes: a column per stage, a row per candidate, and a band for each transfer.

    Votes that stay with a candidate are also drawn as a band.
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
