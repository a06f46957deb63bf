"""``concordant methods``, ``learners``, ``losses``, …: one command per kind of the registry, all made here.

Without a name a command lists what there is, with a line each; with a name it explains one.
"""

from __future__ import annotations

import inspect
import sys
from typing import TYPE_CHECKING, Any

import click

from concordant.cli import _learners as learners
from concordant.cli import _shared as shared
from concordant.params import Param, params_of

if TYPE_CHECKING:
    from concordant.registry import Kind, Listed


class ListCommand(click.Command):
    """What the commands of all kinds do; those of some kinds have more to tell."""

    plural: str
    text: str
    example: str
    more = ""
    family = "family"
    has_parameters = True
    shows_options = False

    def __init__(self) -> None:
        examples = "".join(f"  concordant {self.plural} {line}".rstrip() + "\n" for line in self.examples())
        super().__init__(
            self.plural,
            callback=self.show,
            params=[click.Argument(["name"], required=False, shell_complete=self.complete), *self.options()],
            help=inspect.cleandoc(self.text),
            epilog=f"\b\nExamples:\n{examples}{self.more}",
        )

    def options(self) -> list[click.Parameter]:
        """Return the options of the command."""
        return [click.Option(["--json", "as_json"], is_flag=True, help="Print JSON.")]

    def examples(self) -> list[str]:
        """Return what may stand behind the command."""
        return ["", self.example, "--json"]

    @property
    def kind(self) -> Kind[Any]:
        """The kind of things this command lists."""
        from concordant.registry import KINDS

        return KINDS[self.plural]

    def complete(self, _: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
        """Complete a name in the shell."""
        return [name for name in self.kind.modules() if name.startswith(incomplete)]

    def show(self, name: str | None, as_json: bool) -> None:
        """Print the list, or the page of one."""
        if name is not None:
            one = self.kind.listed(self.kind.resolve(name).name)
            text = shared.to_json(self.facts(one)) if as_json else self.page(one)
        else:
            listed = self.kind.listing()
            text = shared.to_json([self.facts(one) for one in listed]) if as_json else self.table(listed)
        shared.write_text(text, "-")

    def table(self, listed: list[Listed]) -> str:
        """Return a line for every entry, with family and options where the kind has some to tell."""
        columns = {self.kind.word: [one.name for one in listed]}
        if any(one.family for one in listed):
            columns[self.family] = [one.family for one in listed]
        columns["what it does"] = [one.summary.replace("``", "") for one in listed]
        if self.shows_options:
            columns["options"] = [", ".join(p.name for p in self.declared(one.entry)) for one in listed]
        return shared.table(list(columns), list(zip(*columns.values(), strict=True)), set())

    def facts(self, one: Listed) -> dict[str, object]:
        """Return what is known of an entry as plain data; of a package that cannot be loaded, only why."""
        facts: dict[str, object] = {"name": one.name, "family": one.family, "summary": one.summary}
        if not one.family:
            del facts["family"]
        if one.entry is not None:
            facts |= self.own_facts(one.entry)
            if self.has_parameters:
                facts["params"] = [_plain(p) for p in self.declared(one.entry)]
        return facts

    def page(self, one: Listed) -> str:
        """Return what there is to say of one entry."""
        if one.entry is None:
            return one.summary
        lines = [one.name, "=" * len(one.name), self.documentation(one.entry), "", *self.before(one)]
        if self.has_parameters:
            declared = self.declared(one.entry)
            lines += ["Parameters:" if declared else "It has no parameters.", *map(self.line, declared)]
        return "\n".join([*lines, *self.after(one.entry)]).rstrip()

    def line(self, p: Param) -> str:
        """Return the line of one parameter."""
        allowed = f" ({', '.join(p.choices)})" if p.choices else ""
        return f"  {p.option}  {p.doc}{allowed}; default {p.default}"

    def declared(self, entry: Any) -> tuple[Param, ...]:
        """Return the parameters of an entry that users may set."""
        return params_of(entry) if entry is not None and self.has_parameters else ()

    def own_facts(self, entry: Any) -> dict[str, object]:
        """Return what only entries of this kind have to tell, as plain data."""
        return {}

    def documentation(self, entry: Any) -> str:
        """Return the text of the file that holds an entry."""
        return inspect.getdoc(sys.modules[entry.__module__]) or inspect.getdoc(entry) or ""

    def before(self, one: Listed) -> list[str]:
        """Return the lines of a page before the parameters."""
        aliases = getattr(one.entry, "aliases", ())
        return [f"Also called: {', '.join(sorted(aliases))}"] if aliases else []

    def after(self, entry: Any) -> list[str]:
        """Return the lines of a page after the parameters."""
        return []


class Methods(ListCommand):
    """The methods of aggregation; ``--learners`` is the older way to ask for learners."""

    plural = "methods"
    text = """List the methods, or explain one: what it does, its parameters, what it needs.

    Methods aggregate preferences ("concordant rank"); learners rank rows of features ("concordant train")."""
    example = "schulze"

    def options(self) -> list[click.Parameter]:
        """Return the options of the command."""
        said = "List the rankers that learn from features instead."
        return [click.Option(["--learners", "only_learners"], is_flag=True, help=said), *super().options()]

    def examples(self) -> list[str]:
        """Return what may stand behind the command."""
        return ["", "--learners", "schulze", "rank-svm", "--json"]

    def show(self, name: str | None, as_json: bool, only_learners: bool = False) -> None:
        """Print the list, or the page of one; a name that only a learner has is a learner's."""
        from concordant.registry import LEARNERS, fold

        is_learner = name is not None and fold(name) in map(fold, LEARNERS.modules())
        is_method = name is not None and fold(name) in map(fold, self.kind.modules())
        if only_learners or (is_learner and not is_method):
            Learners().show(name, as_json)
        else:
            super().show(name, as_json)

    def own_facts(self, entry: Any) -> dict[str, object]:
        """Return aliases, needs, waived laws and the matrices held."""
        told = {"aliases": sorted(entry.aliases), "needs": sorted(entry.needs)}
        return {**told, "waives": dict(entry.waives), "matrices": entry.matrices}

    def before(self, one: Listed) -> list[str]:
        """Return other names and needs."""
        needs = [f"Needs: {', '.join(sorted(one.entry.needs))}"] if one.entry.needs else []
        return [*super().before(one), *needs]

    def after(self, entry: Any) -> list[str]:
        """Return the laws waived and the memory taken."""
        from concordant.memory import shown

        lines = [f"Waives {law}: {reason}" for law, reason in entry.waives.items()]
        if entry.matrices:
            amount = shown(entry.memory_of(10_000))
            lines.append(f"Memory: about {8 * entry.matrices} bytes x items² per instance; {amount} for 10,000 items")
        return lines


class Learners(ListCommand):
    """The rankers of rows of features."""

    plural = "learners"
    text = """List the rankers that learn from features, or explain one: what it does, its parameters.

    "concordant train --method NAME" trains one."""
    example = "rank-svm"

    def declared(self, entry: Any) -> tuple[Param, ...]:
        """Return the declared parameters, and names of losses."""
        return learners.params_of(entry)

    def own_facts(self, entry: Any) -> dict[str, object]:
        """Return the name in Python."""
        return {"class": entry.__name__}

    def before(self, one: Listed) -> list[str]:
        """Return how it is used."""
        python = f"In Python: concordant.learn.{one.entry.__name__}"
        return [f"{python}; on the command line: concordant train --method {one.name}", ""]


class Losses(ListCommand):
    """The losses of rankers."""

    plural = "losses"
    text = """List the losses a ranker can minimise, or explain one.

    "concordant train --method loss-ranker --loss NAME" minimises one."""
    example = "squared-hinge"


class Metrics(ListCommand):
    """The metrics, with the words their options are written with."""

    plural = "metrics"
    text = "List the metrics and their conventions, or explain one."
    example = "ndcg"
    family = "kind"
    shows_options = True
    more = """
\b
A metric is written NAME[@CUTOFF][:OPTION…]:
  ndcg@10           log2 discount, exponential gain
  ndcg@5:letor      as the LETOR script; 0 for queries with fewer than 5 documents
  p@5:threshold=2   labels of at least 2 are relevant
  ndcg_cut_10       trec_eval's names mean what they mean there: ndcg@10:linear
"""

    def facts(self, one: Listed) -> dict[str, object]:
        """Return what is known of a metric as plain data."""
        options = [p.name for p in self.declared(one.entry)]
        return {"name": one.name, "kind": one.family, "doc": one.summary, "options": options}

    def line(self, p: Param) -> str:
        """Return the line of one option, by its name."""
        return super().line(p).replace(p.option, p.name, 1)

    def documentation(self, entry: Any) -> str:
        """Return the text of the metric alone: many share a file."""
        return inspect.getdoc(entry) or ""


class Formats(ListCommand):
    """The file formats."""

    plural = "formats"
    text = """List the file formats, or explain one: its endings, what it holds.

    The format of a file is recognised by its content and ending; --format NAME says which it is."""
    example = "preflib"
    family = "reads"
    has_parameters = False

    def own_facts(self, entry: Any) -> dict[str, object]:
        """Return endings, what can be read from it, and whether it can be written."""
        return {"endings": list(entry.endings), "reads": list(entry.reads), "writes": entry.can_write}

    def documentation(self, entry: Any) -> str:
        """Return the sentence of the format."""
        return str(entry.doc)

    def before(self, one: Listed) -> list[str]:
        """Return endings and what can be done with it."""
        endings, writes = " ".join(one.entry.endings) or "none", "yes" if one.entry.can_write else "no"
        return [f"Endings: {endings}", f"Reads: {one.family}", f"Writes: {writes}"]


class Simulators(ListCommand):
    """The models to draw preferences from."""

    plural = "simulators"
    text = """List the models to draw preferences from, or explain one.

    "concordant simulate NAME" draws from one."""
    example = "mallows"
    shows_options = True

    def declared(self, entry: Any) -> tuple[Param, ...]:
        """Return the parameters of the function behind the items and the number of ballots."""
        given = list(inspect.signature(entry).parameters.values())[2:] if entry else []
        return tuple(Param(p.name, str, p.default, "") for p in given)

    def line(self, p: Param) -> str:
        """Return the option alone: the text above says what it means."""
        return f"  {p.option}"


class Experiments(ListCommand):
    """The published experiments."""

    plural = "experiments"
    text = """List the published experiments, or explain one: what is run, what was published.

    "concordant reproduce NAME" runs one."""
    example = "metasearch"
    has_parameters = False

    def documentation(self, entry: Any) -> str:
        """Return the text of the experiment's file."""
        return inspect.getdoc(entry) or ""


def _plain(p: Param) -> dict[str, object]:
    kept = {"name": p.name, "type": p.kind.__name__, "default": p.default, "choices": list(p.choices) or None}
    return {**kept, "low": p.low, "high": p.high, "doc": p.doc}


COMMANDS = {cls.plural: cls for cls in (Methods, Learners, Losses, Metrics, Formats, Simulators, Experiments)}
