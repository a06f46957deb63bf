"""Describe preferences: sizes, form, ties, findings and suitable methods."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from concordant import views
from concordant.analysis import findings
from concordant.analysis.advice import Advice, fitting_methods
from concordant.analysis.agreement.measuring import summary
from concordant.analysis.findings import NAMED, Finding
from concordant.ballots.segments import sum_by
from concordant.ballots.vocabulary import shorten
from concordant.errors import Words, in_words
from concordant.models.notices import joined
from concordant.narrative.fields import NEUTRAL, Field
from concordant.preferences import Preferences
from concordant.support.display import DisplayTable
from concordant.support.text import text_width
from concordant.types import Bools, Int32s, Int64s

SHOWN, SHOWN_ITEMS = 3, 8  # ballots, and items of each, that are shown as they were understood
MISSING = {
    "last": "ranked last by voting rules, ignored by score models",
    "ignore": "not compared",
}


@dataclass(frozen=True)
class Description:
    """The description of a data set, as text or plain data."""

    form: str
    n_items: int
    n_agents: int | None
    n_instances: int
    n_ballots: int
    total_weight: float
    n_entries: int
    density: float
    n_unranked_slots: int
    missing: str
    tied_share: float
    length_min: int
    length_mean: float
    length_max: int
    n_components: int
    is_connected: bool
    is_strongly_connected: bool | None
    never_lost: tuple[str, ...]
    never_won: tuple[str, ...]
    n_never_lost: int
    n_never_won: int
    cyclic_triads: int | None
    notes: tuple[str, ...]
    findings: tuple[Finding, ...] = ()
    methods: tuple[Advice, ...] = ()
    covariates: tuple[str, ...] = ()
    team_sizes: tuple[int, ...] = ()
    """The sizes of the teams in ascending order; empty without teams."""
    first: tuple[tuple[str, str], ...] = ()
    """The first ballots as they were read: the agent and the ranking (``a > b = c``)."""
    classes: tuple[tuple[str, float], ...] = ()
    """The classes of nominal answers with their shares, most frequent first."""
    agreement: tuple[str, float] | None = None
    """The main coefficient of agreement of the agents, by title, if it applies."""

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data, ready for JSON."""
        plain = {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(self).items()}
        plain["findings"] = [finding.to_dict() for finding in self.findings]
        plain["classes"] = [{"class": name, "share": share} for name, share in self.classes]
        if self.agreement is not None:
            title, value = self.agreement
            plain["agreement"] = {"coefficient": title, "value": None if np.isnan(value) else value}
        plain["first"] = [{"ballot": who, "says": order} for who, order in self.first]
        return plain

    def finding(self, name: str) -> Finding | None:
        """Return the finding of this name, if there is one."""
        return next((finding for finding in self.findings if finding.name == name), None)

    def rows(self, field: Field = NEUTRAL) -> list[tuple[str, str]]:
        """Return (name, value) pairs for display; ``field`` has the words of the values."""
        lines = [
            ("form", self.form),
            ("items", f"{self.n_items:,}"),
            ("agents", "not named" if self.n_agents is None else f"{self.n_agents:,}"),
            ("instances", f"{self.n_instances:,}"),
            ("ballots", f"{self.n_ballots:,} (total weight {self.total_weight:,.6g})"),
            (
                "items per ballot",
                _span(self.length_min, self.length_max, self.length_mean),
            ),
            *([("teams", f"of {_listed(self.team_sizes)}")] if self.team_sizes else []),
            *self._order_rows(field),
        ]
        if self.agreement is not None and not np.isnan(self.agreement[1]):
            lines.append(("agreement", f"{self.agreement[0]} {self.agreement[1]:.3f}"))
        if self.covariates:
            names = ", ".join(shorten(name, 30) for name in self.covariates)
            lines.append(("covariates", f"{names}: used by models of comparisons and choices"))
        if self.density < 1 and not self.classes:
            lines.append(("unlisted items", MISSING[self.missing]))
        if self.n_unranked_slots:
            lines.append(("never ranked", f"{self.n_unranked_slots:,} {field.item[1]} appear on no ballot"))
        for what, labels, count in (
            ("never lost", self.never_lost, self.n_never_lost),
            ("never won", self.never_won, self.n_never_won),
        ):
            if count:
                more = f" and {count - len(labels):,} more" if count > len(labels) else ""
                lines.append((what, ", ".join(shorten(label, 30) for label in labels) + more))
        return lines + [("note", note) for note in self.notes]

    def _order_rows(self, field: Field) -> list[tuple[str, str]]:
        """Return the rows on density and ties; for nominal answers, on density and classes."""
        share = f"{100 * self.density:.3g}% of the {field.item[1]}"
        if not self.classes:
            tied = f"{100 * self.tied_share:.3g}% of the pairs on ballots are tied"
            ballot = "ballot" if self.form in ("pairs", "teams") else field.ballot[0]
            return [("density", f"the average {ballot} ranks {share}"), ("ties", tied)]
        shown = ", ".join(f"{shorten(name, 30)} {share:.0%}" for name, share in self.classes[:SHOWN_ITEMS])
        more = f", … ({len(self.classes):,} in all)" if len(self.classes) > SHOWN_ITEMS else ""
        return [
            ("density", f"the average {field.agent[0]} answers {share}"),
            ("classes", f"{shown}{more}, without an order"),
        ]

    def __str__(self) -> str:
        return self.to_text()

    def to_text(self, words: Words = str) -> str:
        """Return the description as text; ``words`` sets how parameters are named."""
        findings_shown = [
            (f"{finding.name}{'' if finding.is_fine else ' !'}", finding.text) for finding in self.findings
        ]
        parts = {
            "": self.rows(),
            "First ballots, as read": list(self.first),
            "Findings (! needs attention)": findings_shown,
            "Suitable methods": [(advice.method, advice.reason) for advice in self.methods],
        }
        spoken = {title: [(what, in_words(text, words)) for what, text in part] for title, part in parts.items()}
        return "\n\n".join(_block(title, part) for title, part in spoken.items() if part)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from concordant.support.notebook import notebook

        rows = self.rows() + list(self.first)
        rows += [(f.name, f.text) for f in self.findings] + [(m.method, m.reason) for m in self.methods]
        return notebook([DisplayTable(("", ""), rows)])


def _span(low: int, high: int, mean: float) -> str:
    """Return the range and the mean of integers as text."""
    return f"{low}" if low == high else f"{low} to {high}, {mean:.3g} on average"


def _block(title: str, rows: list[tuple[str, str]]) -> str:
    """Return a titled block of (name, text) rows as aligned, wrapped lines."""
    import textwrap

    width = max(len(what) for what, _ in rows)
    indent = "  " if title else ""
    lines = [title] if title else []
    for what, text in rows:
        head = f"{indent}{what.ljust(width)}  "
        lines += textwrap.wrap(
            text,
            max(text_width(), len(head) + 20),
            initial_indent=head,
            subsequent_indent=" " * len(head),
            break_long_words=False,
            break_on_hyphens=False,
        )
    return "\n".join(lines)


def describe(prefs: Preferences, field: Field = NEUTRAL) -> Description:
    """Describe preferences: facts, findings and suitable methods; ``field`` has the words of the findings."""
    groups, cycles = _components(prefs), findings.cycles(prefs)
    facts = _summarise(prefs, groups, cycles)
    if not prefs.n_slots:
        return facts
    found = summary(prefs)
    facts = facts if found is None else replace(facts, agreement=(found.main.title, found.main.value))
    if prefs.classes is not None:
        methods = fitting_methods(prefs, facts.tied_share, facts.density == 1, ())
        return replace(facts, findings=findings.equal_answers(prefs), methods=methods)
    all_findings: list[Finding | None] = [
        findings.connection(prefs, groups[0]),
        findings.separation(facts.is_strongly_connected, facts.never_lost, facts.n_never_lost, facts.n_never_won),
    ]
    if prefs.team is None:  # what a team did says little of two of its players
        all_findings += [
            findings.cyclicity(cycles, prefs.n_instances, field),
            findings.outlying(prefs, findings.agreement(prefs), field),
            findings.top_two(prefs),
            findings.recovery(prefs),
        ]
    kept = tuple(finding for finding in all_findings if finding is not None)
    troubles = {finding.name for finding in kept if not finding.is_fine}
    methods = fitting_methods(prefs, facts.tied_share, facts.density == 1, troubles)
    return replace(facts, findings=kept, methods=methods)


def summarise(prefs: Preferences) -> Description:
    """Return the facts only; the comparison graph is over slots, so instances stay separate."""
    return _summarise(prefs, _components(prefs), findings.cycles(prefs))


def _summarise(prefs: Preferences, groups: tuple[Int32s, Int32s | None], cycles: findings.Cycles | None) -> Description:
    """Return the facts; ``groups`` are the components of ``_components``."""
    sizes = np.diff(prefs.indptr)
    candidates = np.diff(prefs.slot_ptr)[prefs.instance_of_ballot]
    tied_share = _tied_share(prefs)
    missing = views.resolve_missing(prefs, "auto")
    wins, losses, ties = views.wins_and_losses(prefs, missing)
    weak, strong = groups
    n_components = len(np.unique(weak))
    is_ranked = np.bincount(prefs.entry_slot, minlength=prefs.n_slots) > 0
    is_compared = (wins + losses + ties) > 0
    undefeated = prefs.slot_item[is_compared & (losses == 0) & (wins > 0)]
    winless = prefs.slot_item[is_compared & (wins == 0) & (losses > 0)]
    n_instances_seen = int((np.diff(prefs.slot_ptr) > 0).sum())
    return Description(
        form=prefs.form,
        n_items=prefs.n_items,
        n_agents=prefs.n_agents,
        n_instances=prefs.n_instances,
        n_ballots=prefs.n_ballots,
        total_weight=float(prefs.weight.sum()),
        n_entries=len(prefs.item),
        density=float(sizes.sum() / candidates.sum()) if candidates.sum() else 0.0,
        n_unranked_slots=int((~is_ranked).sum()),
        missing=missing,
        tied_share=tied_share,
        length_min=int(sizes.min()) if len(sizes) else 0,
        length_mean=float(sizes.mean()) if len(sizes) else 0.0,
        length_max=int(sizes.max()) if len(sizes) else 0,
        n_components=n_components,
        is_connected=n_components <= n_instances_seen,
        is_strongly_connected=None if strong is None else len(np.unique(strong)) <= n_instances_seen,
        never_lost=_labels(prefs, undefeated),
        never_won=_labels(prefs, winless),
        n_never_lost=len(undefeated),
        n_never_won=len(winless),
        cyclic_triads=None if cycles is None else cycles.n_cyclic,
        notes=prefs.notes,
        covariates=prefs.covariates,
        team_sizes=_team_sizes(prefs),
        first=_first_ballots(prefs),
        classes=_classes(prefs),
    )


def _classes(prefs: Preferences) -> tuple[tuple[str, float], ...]:
    """Return the classes of nominal answers with their shares by weight, most frequent first."""
    if prefs.classes is None or prefs.value is None or not len(prefs.value):
        return ()
    weight = sum_by(prefs.value.astype(np.int64), views.weight_of_entry(prefs), len(prefs.classes))
    order = np.argsort(-weight, kind="stable").tolist()
    return tuple((prefs.classes[k], float(weight[k] / weight.sum())) for k in order if weight[k] > 0)


def _team_sizes(prefs: Preferences) -> tuple[int, ...]:
    """Return the distinct team sizes."""
    if prefs.team is None:
        return ()
    ballot = views.ballot_of_entry(prefs)
    _, size = np.unique(ballot * (int(prefs.team.max(initial=0)) + 1) + prefs.team, return_counts=True)
    return tuple(np.unique(size).tolist())


def _listed(sizes: tuple[int, ...]) -> str:
    if len(sizes) > 3:
        return f"{sizes[0]} to {sizes[-1]}"
    return " or ".join(filter(None, [", ".join(map(str, sizes[:-1])), str(sizes[-1])]))


def _first_ballots(prefs: Preferences) -> tuple[tuple[str, str], ...]:
    """Return the agents and the text (``a > b = c``) of the first ballots; long ballots are truncated."""
    ballots = []
    for ballot in range(min(prefs.n_ballots, SHOWN)):
        start, stop = int(prefs.indptr[ballot]), int(prefs.indptr[ballot + 1])
        end = min(stop, start + SHOWN_ITEMS)
        tier = prefs.tier[start:end]
        is_open = prefs.open is not None and bool(prefs.open[ballot])
        open_tier = int(prefs.tier[stop - 1]) if is_open and stop > start else None  # a tier whose order is unsaid
        places = list(zip(tier.tolist(), tier.tolist()[1:], strict=False))
        signs = ["", *(" > " if a != b else ", " if b == open_tier else " = " for a, b in places)]
        names = [shorten(label, 30) for label in prefs.items.take(prefs.item[start:end])]
        if prefs.classes is not None and prefs.value is not None:
            given = prefs.classes.take(prefs.value[start:end].astype(np.int64))
            names = [f"{name}: {shorten(answer, 30)}" for name, answer in zip(names, given, strict=True)]
            signs = ["", *[", "] * len(places)]
        order = "".join(sign + name for sign, name in zip(signs, names, strict=False))
        more = f" … ({stop - start:,} items)" if stop > end else ""
        times = f" (×{prefs.weight[ballot]:g})" if prefs.weight[ballot] != 1 else ""
        ballots.append((_caster(prefs, ballot), order + more + times))
    return tuple(ballots)


def _caster(prefs: Preferences, ballot: int) -> str:
    """Return the agent and the instance of a ballot if they have names; otherwise its number."""
    parts = [
        shorten(labels[int(codes[ballot])], 30)
        for labels, codes in ((prefs.agents, prefs.agent), (prefs.instances, prefs.instance))
        if labels is not None and codes is not None
    ]
    return ", ".join(parts) or f"ballot {ballot + 1}"


def _labels(prefs: Preferences, items: Int32s) -> tuple[str, ...]:
    return tuple(prefs.items.take(list(dict.fromkeys(items.tolist()))[:NAMED]))


def _tied_share(prefs: Preferences) -> float:
    """Return the share of ties among the pairs on ballots; with teams, among pairs of teams."""
    wins, losses, ties = views.wins_and_losses(views.captains(prefs))
    compared = wins.sum() + losses.sum() + ties.sum()
    return float(ties.sum() / compared) if compared else 0.0


def _components(prefs: Preferences) -> tuple[Int32s, Int32s | None]:
    """Return the weakly and strongly connected components of the comparison graph (ties are edges in both directions).

    If unlisted candidates rank last, the strong components use the matrix of wins, and are None if that is too large.
    """
    n_nodes, source, target = _links(prefs)
    is_short = np.diff(prefs.indptr) < np.diff(prefs.slot_ptr)[prefs.instance_of_ballot]
    all_counted = True
    if is_short.any() and views.resolve_missing(prefs, "auto") == "last":
        all_counted = findings.may_count_pairs(prefs)
        added = _links_by_wins(prefs) if all_counted else _links_to_unmentioned(prefs, is_short)
        source, target = np.concatenate([source, added[0]]), np.concatenate([target, added[1]])
    weak, strong = (groups[: prefs.n_slots] for groups in joined(source, target, n_nodes))
    return weak, strong if all_counted else None


def _links_by_wins(prefs: Preferences) -> tuple[Int64s, Int64s]:
    """Return an edge (source, target) from each slot to every slot that it was ranked above or tied with."""
    matrices = views.win_matrices(prefs, "last")
    cell = np.flatnonzero((matrices.wins > 0) | (matrices.ties > 0))
    instance = np.searchsorted(matrices.ptr, cell, side="right") - 1
    offset, size, start = cell - matrices.ptr[instance], matrices.size[instance], prefs.slot_ptr[instance]
    return start + offset // size, start + offset % size


def _links_to_unmentioned(prefs: Preferences, is_short: Bools) -> tuple[Int64s, Int64s]:
    """Connect all candidates of each instance that has an incomplete ballot: such a ballot compares all of them."""
    has_short = np.zeros(prefs.n_instances, bool)
    has_short[prefs.instance_of_ballot[is_short]] = True
    slot = np.flatnonzero(has_short[views.instance_of_slot(prefs)])
    return slot, prefs.slot_ptr[views.instance_of_slot(prefs)[slot]]


def _links(prefs: Preferences) -> tuple[int, Int64s, Int64s]:
    """Return the edges of the comparison graph: (number of nodes, source, target).

    A ballot adds one edge per entry instead of one per pair, through an extra node between consecutive tiers: item ->
    boundary after its tier -> items of the next tier.
    """
    groups = views.tiers(prefs)
    slot, tier = prefs.entry_slot, groups.of_entry
    if len(groups.ballot) == len(slot):  # nothing is tied: every item is linked with the next
        same_ballot = groups.ballot[1:] == groups.ballot[:-1]
        return prefs.n_slots, slot[:-1][same_ballot], slot[1:][same_ballot]
    boundary = prefs.n_slots + tier
    has_previous = np.zeros(len(groups.ballot), bool)
    has_previous[1:] = groups.ballot[1:] == groups.ballot[:-1]
    follows = has_previous[tier]
    tied = np.flatnonzero((tier[1:] == tier[:-1]) & ~groups.is_open[tier[1:]])
    source = np.concatenate([slot, boundary[follows] - 1, slot[tied], slot[tied + 1]])
    target = np.concatenate([boundary, slot[follows], slot[tied + 1], slot[tied]])
    return prefs.n_slots + len(groups.ballot), source, target
