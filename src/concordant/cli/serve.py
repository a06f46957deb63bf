"""``concordant serve``: the local web app."""

from __future__ import annotations

import click

from concordant.cli._help import Command

EPILOG = """\b
Examples:
  concordant serve
  concordant serve votes.csv
  concordant serve runs/*.run --port 8765
"""


@click.command(cls=Command, epilog=EPILOG)
@click.argument("file", nargs=-1, type=click.Path(exists=True, dir_okay=False), metavar="[FILE…]")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port to listen on; by default a free one.")
@click.option("--no-token", is_flag=True, help="Disable token authentication.")
@click.option("--max-upload", type=click.IntRange(1), default=200, show_default=True, metavar="MB",
              help="Maximum upload size.")  # fmt: skip
@click.option("--memory", type=click.FloatRange(0.5), default=4.0, show_default=True, metavar="GB",
              help="Maximum memory per worker process.")  # fmt: skip
@click.option("--time-limit", type=click.FloatRange(1), default=600.0, show_default=True, metavar="SECONDS",
              help="Maximum time per request.")  # fmt: skip
@click.option("--data-sets", type=click.IntRange(1, 100), default=12, show_default=True,
              help="Maximum number of open data sets; the least recently used are closed.")  # fmt: skip
@click.option("--open/--no-open", "opens", default=False, help="Open the link in your browser.")
def command(
    file: tuple[str, ...],
    host: str,
    port: int,
    no_token: bool,
    max_upload: int,
    memory: float,
    time_limit: float,
    data_sets: int,
    opens: bool,
) -> None:
    """Start the local web app.

    Drop a file on the page, paste rows or open an example; change the role of a column, the method or an option, and
    the result updates. No data leave this machine. The printed link contains a token that protects the server from
    others. Ctrl-C stops the server and removes its temporary files.
    """
    from concordant.web.pool import Limits
    from concordant.web.server import serve

    limits = Limits(max_upload * 1_000_000, int(memory * (1 << 30)), time_limit, data_sets)

    def say(link: str) -> None:
        click.echo(f"concordant is running at {link}\nStop it with Ctrl-C.")
        if opens:
            click.launch(link)

    serve(file, host, port, needs_token=not no_token, limits=limits, say=say)
