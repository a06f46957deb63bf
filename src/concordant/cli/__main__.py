"""Entry point of the ``concordant`` command: lists commands without importing them and prints errors as messages.

Exit codes: 0 success, 1 invalid data or parameters (with a message on standard error), 2 invalid command line, 130
interrupted by Ctrl-C.
"""

if __name__ == "__main__":  # before anything could be imported from the working folder
    from concordant.support.processes import leave_working_folder

    leave_working_folder()

import os
import re
import sys
from collections.abc import Sequence
from functools import cache

import click

# One BLAS thread unless the user chose otherwise: starting more costs more than any table here saves.
for _variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

# The order in which a user meets the commands; those of other files follow.
ORDER = (
    *(
        "rank",
        "compare",
        "describe",
        "report",
        "serve",
        "convert",
        "reduce",
        "sql",
        "fuse",
        "train-fusion",
        "train",
        "predict",
    ),
    *("recommend", "evaluate", "crowd", "agreement", "datasets", "simulate", "reproduce", "completion"),
)
_SUMMARY = re.compile(r'^def command\(.*?^    """(.+?)(?:"""|\n)', re.MULTILINE | re.DOTALL)

EPILOG = """\b
Examples:
  concordant rank votes.csv
  concordant rank ballots.csv --method schulze --json
  concordant fuse bm25.run dense.run --method rrf -o fused.run
  concordant evaluate fused.run --labels qrels.txt --metric ndcg@10 --metric map
  concordant train train.txt --test test.txt -o model.zip
"""


@cache
def work() -> dict[str, str]:
    """Map each command with its own file to the file; nothing is imported."""
    folder = os.path.dirname(__file__)
    files = sorted(name for name in os.listdir(folder) if name.endswith(".py") and not name.startswith("_"))
    file_of = {name.removesuffix(".py").replace("_", "-"): os.path.join(folder, name) for name in files}
    return {name: file_of[name] for name in sorted(file_of, key=lambda name: (*ORDER, name).index(name))}


def lists() -> dict[str, str]:
    """Map the commands that list registered names to their summaries."""
    from concordant.registry import KINDS

    return {plural: kind.lists_them for plural, kind in KINDS.items()}


def commands() -> list[str]:
    """List all commands."""
    return [*work(), *lists()]


def summary(path: str) -> str:
    """Return the first line of the docstring of a command's function, read from its file."""
    with open(path, encoding="utf-8") as file:
        match = _SUMMARY.search(file.read())
    return match[1] if match else ""


class LazyGroup(click.Group):
    """A group that reads names and help of commands from their files, and imports a command only when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the command names in the order of a typical workflow."""
        return commands()

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command."""
        import importlib

        if cmd_name in work():
            module = importlib.import_module(f"concordant.cli.{cmd_name.replace('-', '_')}")
            command: click.Command = module.command
            return command
        if cmd_name in lists():
            return importlib.import_module("concordant.cli._lists").COMMANDS[cmd_name]()  # type: ignore[no-any-return]
        return None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; suggest the closest name for an unknown one."""
        if args and args[0] not in work() and args[0] not in lists() and not args[0].startswith("-"):
            from concordant.errors import suggest

            raise click.UsageError(
                f"There is no command {args[0]!r}.{suggest(args[0], commands())} See 'concordant --help'."
            )
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        """Run the command with a progress bar; errors name parameters as its options."""
        from concordant.cli._progress import shown
        from concordant.errors import ConcordantError, in_words

        try:
            with shown():
                return super().invoke(ctx)
        except ConcordantError as error:
            from concordant.cli._words import option_words

            command = self.get_command(ctx, ctx.invoked_subcommand or "")
            raise click.ClickException(_shown(in_words(error, option_words(command)))) from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands with their summaries, without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary(path)) for name, path in work().items()])
        with formatter.section("Catalogues"):
            formatter.write_dl(list(lists().items()))


def _show_version(ctx: click.Context, _: click.Parameter, is_asked: bool) -> None:
    """Print the version and exit."""
    if not is_asked or ctx.resilient_parsing:
        return
    from concordant import __version__, kernels

    click.echo(f"concordant {__version__} ({kernels.active()} kernels)")
    ctx.exit()


@click.group(cls=LazyGroup, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Show the version.",
)
def cli() -> None:
    """Rank items from preferences of any form: rank aggregation, pairwise comparisons, learning to rank."""


def main(args: Sequence[str] | None = None) -> None:
    """Run the command line; errors that the user can fix are printed without a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a label the terminal cannot show is no reason to stop
    try:
        code = cli.main(args=None if args is None else list(args), prog_name="concordant", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("Stopped.", err=True)
        code = _stopped()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the reader left (head, less): nothing more to say
        code = 0
    except Exception as error:
        code = _explain(error)
    raise SystemExit(code if isinstance(code, int) else 0)


def _stopped() -> int:
    """Return the exit code after Ctrl-C, or exit at once if a call to another library is still running."""
    from concordant.support.interrupts import has_abandoned

    if has_abandoned():
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(130)
    return 130


def _shown(message: str) -> str:
    from concordant.support.text import visible

    return visible(message, colours=False) if sys.stderr.isatty() else message


def _explain(error: Exception) -> int:
    """Print an error that the user can fix and return the exit code; raise any other error, which is a bug."""
    from concordant.errors import ConcordantError

    if isinstance(error, ConcordantError):
        click.echo(_shown(f"Error: {error}"), err=True)
    elif isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        click.echo(_shown(f"Error: {where}{error.strerror or error}."), err=True)
    elif isinstance(error, MemoryError):
        click.echo("Error: not enough memory: select fewer items or another method.", err=True)
    else:
        raise error
    return 1


if __name__ == "__main__":
    main()
