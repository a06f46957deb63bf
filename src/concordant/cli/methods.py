"""``concordant methods``: the methods there are."""

from __future__ import annotations

import click

from concordant.cli import _shared as shared

EPILOG = """\b
Examples:
  concordant methods
  concordant methods schulze
  concordant methods --json
"""


@click.command(epilog=EPILOG)
@click.argument("name", required=False, shell_complete=shared.complete_methods)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(name: str | None, as_json: bool) -> None:
    """List the methods, or explain one: what it does, its parameters, what it needs."""
    from concordant import registry

    listed = registry.names() if name is None else [registry.resolve(name)[0]]
    data = [_facts(method) for method in listed]
    if as_json:
        shared.write_text(shared.to_json(data if name is None else data[0]), "-")
    elif name is None:
        rows = [[str(d["name"]), str(d["family"]), str(d["summary"])] for d in data]
        shared.write_text(shared.table(["method", "family", "what it does"], rows, set()), "-")
    else:
        shared.write_text(_page(listed[0]), "-")


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
        "params": [
            {
                "name": p.name,
                "type": p.kind.__name__,
                "default": p.default,
                "choices": list(p.choices) or None,
                "low": p.low,
                "high": p.high,
                "doc": p.doc,
            }
            for p in params_of(cls)
        ],
    }


def _page(name: str) -> str:
    import inspect
    import sys

    from concordant import registry
    from concordant.params import params_of

    cls = registry.load(name)
    lines = [name, "=" * len(name), inspect.getdoc(sys.modules[cls.__module__]) or cls.summary(), ""]
    if cls.aliases:
        lines.append(f"Also called: {', '.join(sorted(cls.aliases))}")
    if cls.needs:
        lines.append(f"Needs: {', '.join(sorted(cls.needs))}")
    declared = params_of(cls)
    lines.append("Parameters:" if declared else "It has no parameters.")
    for p in declared:
        allowed = f" ({', '.join(p.choices)})" if p.choices else ""
        lines.append(f"  {p.option}  {p.doc}{allowed}; default {p.default}")
    lines += [f"Waives {law}: {reason}" for law, reason in cls.waives.items()]
    return "\n".join(lines)
