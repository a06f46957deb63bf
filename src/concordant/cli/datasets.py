"""``concordant datasets``: supported public data sets, their sources and contents."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from concordant.cli import _shared as shared
from concordant.cli._help import Command

EPILOG = """\b
Examples:
  concordant datasets
  concordant datasets ml-100k
  concordant datasets ml-100k --data ~/data --verify
  concordant datasets --json
"""


@click.command(cls=Command, epilog=EPILOG)
@click.argument("name", required=False)
@click.option("--data", metavar="DIR", help="Folder of data sets; by default CONCORDANT_DATA.")
@click.option("--verify", is_flag=True, help="Verify the checksums of a data set's files.")
@shared.output_options("json")
def command(name: str | None, data: str | None, verify: bool, output: shared.Output) -> None:
    """List public data sets, or describe one: its source, and whether it is installed.

    No data are bundled or downloaded: download a data set from its page, put its files into a folder, and give that
    folder with --data or CONCORDANT_DATA.
    """
    from concordant import datasets

    if name is None:
        known = [datasets.describe(known_name) for known_name in datasets.names()]
        rows = [
            [dataset.name, dataset.holds, "yes" if _is_here(dataset.name, data) else "", dataset.size]
            for dataset in known
        ]
        output.show(
            data=lambda: [_facts(dataset, data) for dataset in known],
            text=lambda: output.table(["data set", "holds", "here", "size"], rows, set()),
        )
        return
    facts = _facts(datasets.describe(name), data)
    if verify:
        facts["verified"] = datasets.verify(name, data)
    rows = [[key.replace("_", " "), _written(value)] for key, value in facts.items() if value not in ("", None, [], {})]
    output.show(data=lambda: facts, text=lambda: output.table(["", ""], rows, set()))


def _facts(known: Any, data: str | None) -> dict[str, Any]:
    """Return the facts about a data set as plain data."""
    facts = asdict(known)
    kept = {key: facts[key] for key in ("name", "title", "holds", "size", "licence", "page", "url", "note", "sha256")}
    kept["parts"] = list(known.parts)
    kept["has_labels"] = known.labels is not None
    kept["files"] = [group[0] for group in known.files]
    kept["is_here"] = _is_here(known.name, data)
    return kept


def _is_here(name: str, data: str | None) -> bool:
    """Return whether the files of a data set exist."""
    from concordant import datasets
    from concordant.errors import InputError

    try:
        return bool(datasets.find(name, data))
    except InputError:
        return False


def _written(value: Any) -> str:
    """Return a value of a fact as text."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return "; ".join(f"{key}: {_written(element)}" for key, element in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
