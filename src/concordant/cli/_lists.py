"""``concordant methods``, ``learners``, ``losses``, …: one command per kind in the registry.

Without a name a command lists all entries; with a name it describes one.
"""

from __future__ import annotations

import inspect
import sys
from typing import TYPE_CHECKING, Any

import click

from concordant.analysis import training
from concordant.cli import _options
from concordant.cli import _shared as shared
from concordant.cli._help import Command
from concordant.params import Param, params_of, written_doc

if TYPE_CHECKING:
    from concordant.registry import Kind, Listed


class ListCommand(Command):
    """The command that lists one registry kind; subclasses show more about some kinds (``_facts``, ``_before``, …)."""

    plural: str
    text: str
    examples: tuple[str, ...]
    more = ""
    family = "family"
    has_parameters = True
    shows_options = False

    def __init__(self, *options: click.Parameter) -> None:
        """Declare the command: an optional name, ``--json``, and further options."""
        examples = "".join(f"  concordant {self.plural} {line}".rstrip() + "\n" for line in self.examples)
        json = click.Option(["--json", "as_json"], is_flag=True, help="Print JSON.")
        name = click.Argument(["name"], required=False, shell_complete=shared.complete(self.plural))
        super().__init__(
            self.plural,
            callback=self.show,
            params=[name, *options, json, _options.all_rows()],
            help=f"{self.kind.lists_them}\n\n{inspect.cleandoc(self.text)}",
            epilog=f"\b\nExamples:\n{examples}{self.more}",
        )

    @property
    def kind(self) -> Kind[Any]:
        """The registry kind that this command lists."""
        from concordant.registry import KINDS

        return KINDS[self.plural]

    def show(self, name: str | None, as_json: bool) -> None:
        """Print the list, or the page of one entry."""
        if name is not None:
            entry = self.kind.listed(self.kind.resolve(name).name)
            text = shared.to_json(self._facts(entry)) if as_json else self._page(entry)
        elif as_json:
            text = shared.to_json([self._facts(entry) for entry in self.kind.listing()])
        else:
            text = self._table(self.kind.outline())
        shared.write_text(text, "-")

    def _table(self, listed: list[Listed]) -> str:
        """Return one row per entry, with family and options if the kind has them."""
        columns = {self.kind.word: [entry.name for entry in listed]}
        if any(entry.family for entry in listed):
            columns[self.family] = [entry.family for entry in listed]
        columns["summary"] = [entry.summary.replace("``", "") for entry in listed]
        if self.shows_options:
            columns["options"] = [
                ", ".join(declared.name for declared in self._declared(entry.entry)) for entry in listed
            ]
        return shared.table(list(columns), list(zip(*columns.values(), strict=True)), set())

    def _facts(self, listed: Listed) -> dict[str, object]:
        """Return the facts about an entry as plain data; if its package cannot be loaded, only the reason."""
        facts: dict[str, object] = {"name": listed.name, "family": listed.family, "summary": listed.summary}
        if not listed.family:
            del facts["family"]
        if listed.entry is not None:
            facts |= self._own_facts(listed.entry)
            if self.has_parameters:
                facts["params"] = [_plain(declared) for declared in self._declared(listed.entry)]
        return facts

    def _page(self, listed: Listed) -> str:
        """Return the help page of one entry."""
        if listed.entry is None:
            return listed.summary
        lines = [listed.name, "=" * len(listed.name), self._documentation(listed.entry), "", *self._before(listed)]
        if self.has_parameters:
            declared = self._declared(listed.entry)
            lines += ["Parameters:" if declared else "It has no parameters.", *map(self._line, declared)]
        return "\n".join([*lines, *self._after(listed.entry)]).rstrip()

    def _line(self, p: Param) -> str:
        allowed = f" ({', '.join(p.choices)})" if p.choices else ""
        return f"  {p.option}  {p.doc}{allowed}; default {p.default}"

    def _declared(self, entry: Any) -> tuple[Param, ...]:
        return params_of(entry) if entry is not None and self.has_parameters else ()

    def _own_facts(self, entry: Any) -> dict[str, object]:
        return {}

    def _documentation(self, entry: Any) -> str:
        return inspect.getdoc(sys.modules[entry.__module__]) or written_doc(entry)

    def _before(self, listed: Listed) -> list[str]:
        aliases = getattr(listed.entry, "aliases", ())
        return [f"Also called: {', '.join(sorted(aliases))}"] if aliases else []

    def _after(self, entry: Any) -> list[str]:
        return []


class Methods(ListCommand):
    """Aggregation methods; the older option ``--learners`` lists learners."""

    plural = "methods"
    text = 'Methods aggregate preferences ("concordant rank"); learners rank rows of features ("concordant train").'
    examples = ("", "--learners", "schulze", "rank-svm", "--json")

    def __init__(self) -> None:
        said = "List the rankers that learn from features instead."
        super().__init__(click.Option(["--learners", "only_learners"], is_flag=True, help=said))

    def show(self, name: str | None, as_json: bool, only_learners: bool = False) -> None:
        """Print the list, or the page of one entry; also accepts the name of a learner."""
        from concordant.registry import LEARNERS, fold

        is_learner, is_method = (fold(name or "") in map(fold, kind.modules()) for kind in (LEARNERS, self.kind))
        if only_learners or (is_learner and not is_method):
            Learners().show(name, as_json)
        else:
            super().show(name, as_json)

    def _own_facts(self, entry: Any) -> dict[str, object]:
        facts = {"aliases": sorted(entry.aliases), "needs": sorted(entry.needs)}
        return {**facts, "waives": dict(entry.waives), "matrices": entry.matrices}

    def _before(self, listed: Listed) -> list[str]:
        from concordant.registry import title_of

        needs = [f"Needs: {', '.join(sorted(listed.entry.needs))}"] if listed.entry.needs else []
        return [f"Usual name: {title_of(listed.name)}", *super()._before(listed), *needs]

    def _after(self, entry: Any) -> list[str]:
        """Return the properties that a method does not guarantee, with reasons, and its memory use."""
        from concordant.support.memory import shown

        lines = [f"Waives {law}: {reason}" for law, reason in entry.waives.items()]
        if entry.matrices:
            amount = shown(entry.memory_of(10_000))
            lines.append(f"Memory: about {8 * entry.matrices} bytes x items² per instance; {amount} for 10,000 items")
        return lines


class Learners(ListCommand):
    """Learning-to-rank estimators for feature rows."""

    plural = "learners"
    text = '"concordant train --method NAME" trains one.'
    examples = ("", "rank-svm", "--json")

    def show(self, name: str | None, as_json: bool) -> None:
        """Print the list, or the page of one entry."""
        from contextlib import nullcontext

        from concordant.cli._postponed import lean_scikit_learn

        with lean_scikit_learn() if name or as_json else nullcontext():
            super().show(name, as_json)

    def _declared(self, entry: Any) -> tuple[Param, ...]:
        return training.params_of(entry)  # names of losses among them

    def _own_facts(self, entry: Any) -> dict[str, object]:
        return {"class": entry.__name__, "aliases": sorted(getattr(entry, "aliases", ()))}

    def _before(self, listed: Listed) -> list[str]:
        python = f"In Python: concordant.learn.{listed.entry.__name__}"
        trained = f"{python}; on the command line: concordant train --method {listed.name}"
        return [*super()._before(listed), trained, ""]


class Losses(ListCommand):
    """Losses for rankers."""

    plural = "losses"
    text = '"concordant train --method loss-ranker --loss NAME" minimises one.'
    examples = ("", "squared-hinge", "--json")


class Recommenders(ListCommand):
    """Recommenders for ratings and rankings by agents."""

    plural = "recommenders"
    text = '"concordant recommend train --method NAME" trains one.'
    examples = ("", "ordered-partition-mf", "--json")

    def _own_facts(self, entry: Any) -> dict[str, object]:
        return {"class": entry.__name__, "aliases": sorted(entry.aliases)}

    def _before(self, listed: Listed) -> list[str]:
        python = f"In Python: concordant.recommend.{listed.entry.__name__}"
        trained = f"{python}; on the command line: concordant recommend train --method {listed.name}"
        return [*super()._before(listed), trained, ""]


class Metrics(ListCommand):
    """Metrics, with the syntax of their options."""

    plural = "metrics"
    text = '"concordant evaluate --metric NAME" computes one.'
    examples = ("", "ndcg", "--json")
    family = "kind"
    shows_options = True
    more = """
\b
A metric is written NAME[@CUTOFF][:OPTION…]:
  ndcg@10           log2 discount, exponential gain
  ndcg@5:letor      as in the LETOR script; 0 for queries with fewer than 5 documents
  p@5:threshold=2   labels of at least 2 are relevant
  ndcg_cut_10       trec_eval's name for ndcg@10:linear
"""

    def _table(self, listed: list[Listed]) -> str:
        return super()._table(sorted(listed, key=lambda metric: metric.family))

    def _facts(self, listed: Listed) -> dict[str, object]:
        options = [declared.name for declared in self._declared(listed.entry)]
        return {"name": listed.name, "kind": listed.family, "doc": listed.summary, "options": options}

    def _line(self, p: Param) -> str:
        return super()._line(p).replace(p.option, p.name, 1)

    def _documentation(self, entry: Any) -> str:
        return written_doc(entry)


class Formats(ListCommand):
    """File formats; the options for reading them are those of the commands."""

    plural = "formats"
    text = "The format of a file is recognised from its content and extension; --format NAME overrides it."
    examples = ("", "preflib", "--json")
    family = "reads"
    has_parameters = False

    def _own_facts(self, entry: Any) -> dict[str, object]:
        return {"endings": list(entry.endings), "reads": list(entry.reads), "writes": entry.can_write}

    def _documentation(self, entry: Any) -> str:
        return str(entry.doc)

    def _before(self, listed: Listed) -> list[str]:
        endings, writes = " ".join(listed.entry.endings) or "none", "yes" if listed.entry.can_write else "no"
        return [f"Extensions: {endings}", f"Reads: {listed.family}", f"Writes: {writes}"]


class Simulators(ListCommand):
    """Models that simulate preferences; the module docstring describes their options."""

    plural = "simulators"
    text = '"concordant simulate NAME" draws from one.'
    examples = ("", "mallows", "--json")
    shows_options = True

    def _declared(self, entry: Any) -> tuple[Param, ...]:
        parameters = list(inspect.signature(entry).parameters.values())[2:] if entry else []  # after items and ballots
        return tuple(Param(parameter.name, str, parameter.default, "") for parameter in parameters)

    def _line(self, p: Param) -> str:
        return f"  {p.option}"


class Experiments(ListCommand):
    """Published experiments; ``concordant reproduce`` shows their options."""

    plural = "experiments"
    text = '"concordant reproduce NAME" runs one.'
    examples = ("", "metasearch", "--json")
    has_parameters = False

    def _documentation(self, entry: Any) -> str:
        return inspect.getdoc(entry) or ""


def _plain(declared: Param) -> dict[str, object]:
    facts = {
        "name": declared.name,
        "type": declared.kind.__name__,
        "default": declared.default,
        "choices": list(declared.choices) or None,
    }
    return {**facts, "low": declared.low, "high": declared.high, "doc": declared.doc}


COMMANDS = {
    cls.plural: cls for cls in (Methods, Learners, Losses, Recommenders, Metrics, Formats, Simulators, Experiments)
}
