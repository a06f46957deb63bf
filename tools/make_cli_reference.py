"""Write docs/reference/cli.md: the help text of every command, as the commands print it.

Run it after changing a command: ``python tools/make_cli_reference.py``. With ``--check`` it only says whether the file
is up to date; a test does the same.
"""

from __future__ import annotations

import click
from _generated import ROOT, keep

from concordant.cli.__main__ import cli, commands
from concordant.cli._help import full_help

TARGET = ROOT / "docs" / "reference" / "cli.md"
INTRODUCTION = """\
# Command line

<!-- Written by tools/make_cli_reference.py: do not edit. -->

What each command prints with `--help-all` (`--help` is shorter). The options of a method appear with
`concordant rank --method NAME --help` and on the [page of the method](methods/index.md).
Exit codes: 0 done, 1 the data or the parameters were refused, 2 the command was typed wrongly.
"""


def page() -> str:
    """Return the text of the page."""
    parts = [INTRODUCTION, section("concordant", cli, 2)]
    for name in commands():
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        parts.append(section(f"concordant {name}", command, 2))
        if isinstance(command, click.Group):
            parts += [section(f"concordant {name} {sub}", command.commands[sub], 3) for sub in sorted(command.commands)]
    return "\n".join(parts)


def section(path: str, command: click.Command, level: int) -> str:
    """Return the help text of one command below its heading."""
    # Options of a method stay on the command object once they were asked for: they are not part of its own help.
    command.params = [one for one in command.params if not (one.name or "").startswith("param_")]
    context = click.Context(command, info_name=path, max_content_width=100, terminal_width=100)
    context.help_option_names = ["-h", "--help"]
    text = "\n".join(line.rstrip() for line in full_help(command, context).splitlines())
    return f"{'#' * level} {path}\n\n```text\n{text}\n```\n"


if __name__ == "__main__":
    raise SystemExit(keep(TARGET, page()))
