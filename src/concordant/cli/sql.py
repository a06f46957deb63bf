"""``concordant sql``: write the GROUP BY that reduces a table of a database to counts."""

from __future__ import annotations

from typing import Any

import click

from concordant.cli import _options
from concordant.cli import _shared as shared
from concordant.cli._help import Command, option

EPILOG = """\b
Examples:
  concordant sql --table votes --winner w --loser l --dialect postgres
  concordant sql --table arena.battles --left model_a --right model_b --outcome winner --dialect bigquery
  concordant sql --table ratings --agent user_id --item film --rating stars --dialect snowflake
  concordant sql --table ratings --agent user_id --item film --rating stars --sums levels --dialect spark
  psql -c "$(concordant sql --table votes --winner w --loser l --dialect postgres)" --csv > counts.csv
  concordant rank counts.csv
"""
ROLES = (  # those of engine.warehouse, which is imported only when the command runs
    *("winner", "loser", "left", "right", "outcome", "tie", "left_won", "right_won", "left_score", "right_score"),
    *("neutral", "item", "rating", "rank", "agent", "ballot", "instance", "weight"),
)


@click.command(cls=Command, epilog=EPILOG)
@option("--table", required=True, metavar="NAME", heading="input", help='Table or view; parts with dots in "quotes".')
@option(
    *("--dialect", "-d"),
    required=True,
    type=click.Choice(["postgres", "bigquery", "snowflake", "spark", "duckdb", "sqlite"]),
    heading="output",
    help="SQL dialect of the database.",
)
@option(
    "--sums",
    type=click.Choice(["items", "levels"]),
    default="items",
    show_default=True,
    heading="method",
    help="Sums of ratings or ranks: by item (borda, mpm), or by item and level (mean-rating).",
)
@_options.output
@shared.reading_options("preferences", only=ROLES)
def command(table: str, dialect: str, sums: str, output: str, **options: Any) -> None:
    """Write SQL that reduces a table of a database to counts for rank.

    The command connects to no database. Run the query with the client of your database, save the result as csv or
    Parquet, and rank the file. Names are quoted: write them as the database stores them.
    """
    from concordant.engine.sums import wanted
    from concordant.engine.warehouse import plan_of, query_of

    plan = plan_of(shared.pop_reading_options(options))
    shared.write_text(query_of(plan, table, dialect, wanted(sums)) + ";\n", output)
    by = [f" --{role} {role}" for role in ("instance", "agent") if plan.layout == "pairs" and role in plan.column]
    shared.tell([f"save the result as counts.csv, then: concordant rank counts.csv{''.join(by)}"], "note: ")
