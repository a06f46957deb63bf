"""``concordant methods``: the methods and learners there are."""

from __future__ import annotations

import click

from concordant.cli import _learners as learners
from concordant.cli import _shared as shared
from concordant.params import Param

EPILOG = """\b
Examples:
  concordant methods
  concordant methods --learners
  concordant methods schulze
  concordant methods rank-svm
  concordant methods --json
"""


def _complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    return [*shared.complete_methods(ctx, param, incomplete), *learners.complete(ctx, param, incomplete)]


@click.command(epilog=EPILOG)
@click.argument("name", required=False, shell_complete=_complete)
@click.option("--learners", "only_learners", is_flag=True, help="List the rankers that learn from features instead.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(name: str | None, only_learners: bool, as_json: bool) -> None:
    """List the methods, or explain one: what it does, its parameters, what it needs.

    Methods aggregate preferences ("concordant rank"); learners rank rows of features ("concordant train").
    """
    from concordant import learn, registry

    if name is not None:
        cls = learners.find(name) if only_learners else _learner(name)
        known = registry.resolve(name)[0] if cls is None else ""
        if as_json:
            shared.write_text(shared.to_json(_facts(known) if cls is None else _learner_facts(cls)), "-")
        else:
            shared.write_text(_page(known) if cls is None else _learner_page(cls), "-")
        return
    if only_learners:
        data = [_learner_facts(learn.load(one)) for one in learn.modules()]
    else:
        data = [_facts(method) for method in registry.names()]
    if as_json:
        shared.write_text(shared.to_json(data), "-")
        return
    rows = [[str(d["name"]), *([] if only_learners else [str(d["family"])]), str(d["summary"])] for d in data]
    header = ["learner", "what it does"] if only_learners else ["method", "family", "what it does"]
    shared.write_text(shared.table(header, rows, set()), "-")


def _learner(name: str) -> type | None:
    """Return the learner of a name that no method of aggregation has, None where there is none."""
    from concordant import learn, registry

    folded = registry.fold(name)
    if any(registry.fold(one) == folded for one in registry.modules()):
        return None
    return learners.find(name) if any(registry.fold(one) == folded for one in learn.modules()) else None


def _learner_facts(cls: type) -> dict[str, object]:
    summary = " ".join((cls.__doc__ or "").strip().split("\n\n")[0].split())
    return {
        "name": learners.name_of(cls),
        "class": cls.__name__,
        "summary": summary,
        "params": _params(learners.params_of(cls)),
    }


def _learner_page(cls: type) -> str:
    import inspect
    import sys

    name = learners.name_of(cls)
    text = inspect.getdoc(sys.modules[cls.__module__]) or inspect.getdoc(cls) or ""
    used = ["", f"In Python: concordant.learn.{cls.__name__}; on the command line: concordant train --method {name}"]
    return "\n".join([name, "=" * len(name), text, *used, "", *_listed(learners.params_of(cls))])


def _facts(name: str) -> dict[str, object]:
    from concordant import registry
    from concordant.errors import UnknownNameError
    from concordant.params import params_of

    try:
        cls = registry.load(name)
    except UnknownNameError as error:  # a package that cannot be loaded does not hide the others
        return {"name": name, "family": registry.family(name), "summary": str(error)}
    return {
        "name": name,
        "family": registry.family(name),
        "summary": cls.summary(),
        "aliases": sorted(cls.aliases),
        "needs": sorted(cls.needs),
        "waives": dict(cls.waives),
        "matrices": cls.matrices,
        "params": _params(params_of(cls)),
    }


def _params(declared: tuple[Param, ...]) -> list[dict[str, object]]:
    return [
        {
            "name": p.name,
            "type": p.kind.__name__,
            "default": p.default,
            "choices": list(p.choices) or None,
            "low": p.low,
            "high": p.high,
            "doc": p.doc,
        }
        for p in declared
    ]


def _listed(declared: tuple[Param, ...]) -> list[str]:
    """Return a line per parameter."""
    lines = ["Parameters:" if declared else "It has no parameters."]
    for p in declared:
        allowed = f" ({', '.join(p.choices)})" if p.choices else ""
        lines.append(f"  {p.option}  {p.doc}{allowed}; default {p.default}")
    return lines


def _page(name: str) -> str:
    import inspect
    import sys

    from concordant import registry
    from concordant.memory import shown
    from concordant.params import params_of

    cls = registry.load(name)
    lines = [name, "=" * len(name), inspect.getdoc(sys.modules[cls.__module__]) or cls.summary(), ""]
    if cls.aliases:
        lines.append(f"Also called: {', '.join(sorted(cls.aliases))}")
    if cls.needs:
        lines.append(f"Needs: {', '.join(sorted(cls.needs))}")
    lines += _listed(params_of(cls))
    lines += [f"Waives {law}: {reason}" for law, reason in cls.waives.items()]
    if cls.matrices:
        amount = shown(cls.memory_of(10_000))
        lines.append(f"Memory: about {8 * cls.matrices} bytes x items² per instance; {amount} for 10,000 items")
    return "\n".join(lines)
