"""``concordant completion``: shell completion."""

from __future__ import annotations

import click

from concordant.cli._help import Command

EPILOG = """\b
Examples:
  concordant completion bash >> ~/.bashrc
  concordant completion zsh >> ~/.zshrc
  concordant completion fish > ~/.config/fish/completions/concordant.fish
"""


@click.command(cls=Command, epilog=EPILOG)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the script that completes commands, options and names in your shell."""
    from click.shell_completion import get_completion_class

    from concordant.cli.__main__ import cli

    completion_class = get_completion_class(shell)
    assert completion_class is not None
    click.echo(completion_class(cli, {}, "concordant", "_CONCORDANT_COMPLETE").source())
