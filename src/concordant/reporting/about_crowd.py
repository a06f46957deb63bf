"""Report sections on annotators: labels by item, annotator reliability, and items on which annotators disagree."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from concordant import views
from concordant.analysis import crowd
from concordant.ballots.segments import sum_by
from concordant.ballots.vocabulary import shorten
from concordant.errors import InputError
from concordant.labels import Labels
from concordant.narrative.verdict import Chip, Dots, Verdict
from concordant.preferences import Preferences
from concordant.reporting.about_comparison import span_of
from concordant.reporting.sections import Cell, Part, ReportTable, Scale, Section, Text, Track
from concordant.support.text import capital
from concordant.types import Bools, Floats

TOP = 200  # rows of a table
SYSTEMS = {"majority-vote": "majority vote", "dawid-skene": "Dawid-Skene"}
SHOWN = 6  # annotators of the small picture


@dataclass(frozen=True, eq=False)
class CrowdAnswers:
    """Answers of annotators, with gold labels if there are any."""

    prefs: Preferences
    gold: Labels | None = None

    @cached_property
    def min_yes(self) -> float | None:
        """The smallest answer that means yes; None if answers are classes."""
        return crowd.yes_from(self.prefs, self.gold)

    @cached_property
    def decided(self) -> dict[str, crowd.Decided]:
        """The label of each item by majority vote and by Dawid-Skene."""
        return {name: crowd.decide(self.prefs, name, relevant=self.min_yes) for name in SYSTEMS}

    @cached_property
    def reliability(self) -> crowd.Reliability:
        """The accuracy of each annotator."""
        return crowd.reliability(self.prefs, self.gold, aggregated=self.aggregated)

    @cached_property
    def aggregated(self) -> crowd.Aggregated:
        """The model of the annotators: Dawid-Skene."""
        return crowd.aggregate(self.prefs, "dawid-skene")

    @cached_property
    def annotators(self) -> dict[str, list[Any]]:
        """The annotators as columns: accuracy on gold labels, and what the model says of them."""
        columns, more = self.reliability.columns(), self.aggregated.agents()
        place = {name: k for k, name in enumerate(more["agent"])}
        order = [place[name] for name in columns["agent"]]
        return columns | {name: [values[k] for k in order] for name, values in more.items() if name not in columns}

    @cached_property
    def on_gold(self) -> dict[str, float]:
        """The share of the gold labels with which the labels agree, by system; empty without gold labels."""
        if self.gold is None:
            return {}
        return {
            name: crowd.agreement(labels, self.gold, relevant=self.min_yes) for name, labels in self.decided.items()
        }

    # ---- agreement with the majority ----
    @cached_property
    def agrees(self) -> tuple[Floats, Floats, float]:
        """By annotator, the number of answers and the share that agree with the majority; and the overall share."""
        prefs, majority = self.prefs, self.decided["majority-vote"]
        assert prefs.agent is not None
        assert prefs.agents is not None
        assert prefs.value is not None
        label = majority.for_items(views.entry_instances(prefs), prefs.instances, prefs.items, prefs.item)
        answer = prefs.value if self.min_yes is None else (prefs.value >= self.min_yes).astype(np.float64)
        agent, weight = prefs.agent[views.ballot_of_entry(prefs)], views.weight_of_entry(prefs)
        n = sum_by(agent, weight, len(prefs.agents))
        same = sum_by(agent, weight * (answer == label), len(prefs.agents))
        return n, same / np.maximum(n, 1e-300), float(same.sum() / max(n.sum(), 1e-300))

    @cached_property
    def columns(self) -> dict[str, list[Any]]:
        """The items with their labels by both systems, in the order of the data."""
        return item_columns(self.prefs, *(self.decided[name] for name in SYSTEMS))

    @cached_property
    def differs(self) -> Bools:
        """Whether the two systems give an item different labels."""
        votes, likely = (np.asarray(self.columns[name], object) for name in ("majority_vote", "dawid_skene"))
        return np.asarray(votes != likely, bool)

    @property
    def n_items(self) -> int:
        """The number of judged items."""
        return len(self.columns["item"])


def item_columns(prefs: Preferences, by_votes: crowd.Decided, by_model: crowd.Decided) -> dict[str, list[Any]]:
    """Return the items with their number of answers, and their labels by votes and by Dawid-Skene, as columns."""
    votes, likely = by_votes.columns(), by_model.columns()
    weight = views.ranked_weight(prefs)
    named = {name: votes[name] for name in ("instance", "item") if name in votes}
    return named | {
        "judged": weight[weight > 0].tolist(),
        "majority_vote": votes["label"],
        "share": votes["probability"],
        "dawid_skene": likely["label"],
        "probability": likely["probability"],
    }


# ---- labels ----
def labels_section(of: CrowdAnswers) -> Section:
    """Show the most likely label of each item with its probability, least certain first."""
    probability = np.asarray(of.columns["probability"])
    order = np.argsort(probability, kind="stable")
    table = _items_table(of, order[:TOP], "Labels of the items, least certain first")
    parts: list[Part] = [table, *_left_out(of.n_items, "items", "in the download")]
    note = (
        "Label and probability by Dawid-Skene, which weights annotators by their estimated reliability; next to it, "
        "the majority vote and its share of the answers."
    )
    return Section("classes", "Labels", tuple(parts), note)


def disagreement_section(of: CrowdAnswers) -> Section:
    """Show the items that the systems label differently, then those whose majority is smallest."""
    share = np.asarray(of.columns["share"])
    order = np.lexsort((share, ~of.differs))
    order = order[of.differs[order] | (share[order] < 1.0)]
    n = int(of.differs.sum())
    if not len(order):
        return Section("disagreement", "Disagreement", (Text("All annotators agree on every item.", "lead"),))
    verb = "has" if n == 1 else "have"
    said = f"{n:,} of {of.n_items:,} items {verb} different labels by majority vote and by Dawid-Skene; "
    said += f"annotators disagree on {len(order):,} items."
    title = "Items on which annotators disagree, smallest majority first"
    table = _items_table(of, order[:TOP], title, "share")
    return Section("disagreement", "Disagreement", (Text(said, "lead"), table, *_left_out(len(order), "items")))


def _items_table(of: CrowdAnswers, rows: Any, title: str, drawn: str = "probability") -> ReportTable:
    """Return the labels of some items; the column ``drawn`` (probability or share) is a plot."""
    columns, plot = of.columns, f"{capital(drawn)} (plot)"
    has_instances = "instance" in columns
    cells: list[tuple[Cell, ...]] = []
    for k in rows.tolist():
        chance, share = float(columns["probability"][k]), float(columns["share"][k])
        row: list[Cell] = [shorten(columns["instance"][k], 30)] if has_instances else []
        row += [shorten(columns["item"][k], 60), _label(columns["dawid_skene"][k]), f"{chance:.2f}"]
        row += [Track(chance if drawn == "probability" else share), _label(columns["majority_vote"][k])]
        cells.append((*row, f"{share:.0%}", f"{columns['judged'][k]:,g}"))
    n = int(has_instances)
    first_name = ("Topic",) if has_instances else ()
    header = (*first_name, "Item", "Label", "Probability", plot, "Majority vote", "Share", "Answers")
    return ReportTable(
        title, header, tuple(cells), frozenset([n + 2, n + 5, n + 6]), frozenset([*range(n + 2), n + 4]),
        Scale(0.0, 1.0, plot, is_bar=True), frozenset(i for i, k in enumerate(rows.tolist()) if of.differs[k]),
        minor=frozenset([n + 2, n + 4, n + 5, n + 6]),
    )  # fmt: skip


def _figure(value: float | None) -> str:
    return "" if value is None else f"{round(value, 2) + 0.0:.2f}"


def _label(value: Any) -> str:
    return shorten(value, 40) if isinstance(value, str) else f"{value:g}"


def _left_out(n: int, what: str, where: str = "") -> list[Part]:
    if n <= TOP:
        return []
    rest = f"; all are {where}" if where else ""
    return [Text(f"The table shows {TOP:,} of {n:,} {what}{rest}.", "left-out")]


# ---- annotators ----
def annotators_section(of: CrowdAnswers) -> Section:
    """Show the reliability of each annotator, least reliable first."""
    found = of.reliability
    has_gold = of.gold is not None
    value = found.accuracy if has_gold else found.estimated
    plot = "Accuracy (plot)" if has_gold else "Estimated accuracy (plot)"
    order = np.lexsort((np.arange(len(value)), np.where(np.isnan(value), np.inf, value)))
    more = of.aggregated.agents()
    shown, has_spammers = [name for name in ("kappa", "adherence") if name in more], bool(of.aggregated.spammers)
    rows: list[tuple[Cell, ...]] = []
    for k in order[:TOP].tolist():
        if has_gold:
            is_known = not np.isnan(value[k])
            track: Cell = Track(float(value[k]), float(found.low[k]), float(found.high[k])) if is_known else ""
            interval = f"{value[k]:.2f} [{found.low[k]:.2f}, {found.high[k]:.2f}]" if is_known else "no gold labels"
            own: tuple[Cell, ...] = (f"{found.on_gold[k]:,g}", interval, track, f"{found.estimated[k]:.2f}")
        else:
            own = (f"{value[k]:.2f}", Track(float(value[k])))
        beside = tuple(_figure(more[name][k]) for name in shown)
        spam = (more["spammer"][k] or "",) if has_spammers else ()
        rows.append(
            (shorten(found.agents[k], 60), f"{found.judged[k]:,g}", f"{of.agrees[1][k]:.0%}", *own, *beside, *spam)
        )
    estimated = "Estimated accuracy (Dawid-Skene)"
    on_gold = ("With gold label", "Accuracy [95% CI]", plot, estimated) if has_gold else (estimated, plot)
    last = (*(capital(name) for name in shown), *(("Spammer",) if has_spammers else ()))
    header = ("Annotator", "Answers", "Agrees with majority", *on_gold, *last)
    right = frozenset(k for k, name in enumerate(header) if k and name not in (plot, "Spammer"))
    table = ReportTable(
        "Annotators, least reliable first", header, tuple(rows), right, frozenset([0]),
        Scale(0.0, 1.0, plot, is_bar=not has_gold), minor=frozenset([1, 2, 3] if has_gold else [1, 2]),
    )  # fmt: skip
    parts: list[Part] = [table, *_left_out(len(value), "annotators", "in the download")]
    if has_gold:
        parts.insert(0, Text(_matched(of, 1), "lead"))
    note = (
        "The majority includes the annotator's own answers. Dawid-Skene estimates the probability of a correct answer "
        "without gold labels. Kappa is the agreement with the consensus of the others beyond chance; a spammer gives "
        "constant, random or reversed answers."
    )
    return Section("annotators", "Annotators", tuple(parts), note)


def _matched(of: CrowdAnswers, digits: int) -> str:
    """Return the sentence on the share of the gold labels that the labels of each system match."""
    (first, share), *others = [(capital(SYSTEMS[name]), f"{one:.{digits}%}") for name, one in of.on_gold.items()]
    return f"{first} matches {share} of the gold labels{''.join(f', {other} {one}' for other, one in others)}."


# ---- verdict ----
def crowd_verdict(of: CrowdAnswers) -> Verdict:
    """Return the verdict: how far annotators agree, and who agrees least."""
    n_answers, share, overall = of.agrees
    agents = of.reliability.agents
    value = of.reliability.accuracy if of.gold is not None else of.reliability.estimated
    known = np.flatnonzero(~np.isnan(value))
    lowest = int(np.argmin(share))
    sentence = f"{shorten(agents[lowest], 40)} agrees least: {share[lowest]:.0%} of {n_answers[lowest]:,g} answers."
    if of.gold is not None:
        sentence += f" {_matched(of, 0)}"
    n_differ = int(of.differs.sum())
    chips = []
    if n_differ:
        items = "1 item has" if n_differ == 1 else f"{n_differ:,} items have"
        chips.append(Chip(f"{items} another label by Dawid-Skene than by majority vote", "warn", "disagreement"))
    order = known[np.argsort(-value[known], kind="stable")][:SHOWN]
    low, high = of.reliability.low, of.reliability.high
    ends = [
        tuple(float(end[k]) if of.gold is not None else None for k in order.tolist()) for end in (low, high)
    ]  # fmt: skip
    figure = None
    if len(order):
        title = "Accuracy on gold labels, 95% CI" if of.gold is not None else "Estimated accuracy (Dawid-Skene)"
        names = tuple(agents[k] for k in order.tolist())
        figure = Dots(title, names, tuple(float(value[k]) for k in order.tolist()), ends[0], ends[1])
    numbers = (
        (f"{n_answers.sum():,g}", "answers"),
        (f"{len(agents):,}", "annotators"),
        (f"{of.n_items:,}", "items"),
    )
    over = "Agreement of annotators"
    headline = f"{overall:.0%} of the answers agree with the majority"
    return Verdict(over, headline, False, sentence, tuple(chips), numbers, "Dawid-Skene", "dawid-skene", figure)


def data_rows(of: CrowdAnswers) -> list[tuple[str, str]]:
    """Return facts on the answers."""
    prefs = of.prefs
    n_answers = of.agrees[0]
    per_item = np.asarray(of.columns["judged"])
    value = prefs.value if prefs.value is not None else np.zeros(0)
    classes = [*prefs.classes.labels] if prefs.classes is not None else [f"{one:g}" for one in np.unique(value)]
    shown = ", ".join(shorten(name, 30) for name in classes[:12]) + (", …" if len(classes) > 12 else "")
    rows = [
        ("answers", f"{n_answers.sum():,g}"),
        ("annotators", f"{len(n_answers):,}, with {span_of(n_answers)} answers each"),
        ("items", f"{of.n_items:,}, with {span_of(per_item)} answers each"),
        ("values", f"{len(classes):,}: {shown}"),
    ]
    if of.gold is not None:
        rows.append(("gold labels", f"{len(of.gold.label):,}"))
    return rows


def require_answers(prefs: Preferences) -> Preferences:
    """Return answers of annotators, or reject other preferences."""
    if prefs.agents is None or prefs.agent is None or prefs.value is None:
        raise InputError("There are no answers of annotators: choose a column of annotators and one of labels.")
    return prefs
