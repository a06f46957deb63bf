"""Reduce ratings or ranks of a lazy frame with its own engine (Spark, DuckDB, Postgres through ibis, polars, Dask, …).

One query places the items of every ballot with window functions and adds up the sums of each item; narwhals translates
it, and only the sums are loaded, as a table of sums (see ``engine.sums``). Dask has no window functions: it moves the
rows of a ballot together and places them with pandas, part by part.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from concordant.engine.statistics import ITEM_SUMS, LEVELS, NET_WINS, POSITIONS, Statistic
from concordant.engine.sums import FORM, UNUSABLE, read_sums
from concordant.engine.tallies import Tally
from concordant.support.limits import MIN_COUNTED
from concordant.tables.frames import FrameTable, LazyTable
from concordant.tables.plans import Plan

MAX_LEVEL = 1e12
ROWS = "rows"
_PLACES = ("better", "worse", "size", "level_total", "copies", "lightest", "heaviest")


def sums_of_lazy(table: LazyTable, statistic: Statistic) -> tuple[str, Tally, int] | None:
    """Return the form, the sums and the number of rows; None if a row cannot be counted."""
    import narwhals as nw

    form = "ratings" if "rating" in table.plan.column else "rankings"
    group = ["instance"] if "instance" in table.plan.column else []
    ballots = _rows(table.frame, table.plan)
    placed = _placed(ballots, [*group, "ballot"])
    wanted = ITEM_SUMS if statistic in (POSITIONS, NET_WINS) else LEVELS
    by = [*group, "item", "level"] if wanted is LEVELS else [*group, "item"]
    sums = ["weight"] if wanted is LEVELS else list(wanted.sums)
    # Terms are columns before they are added up, because Dask adds up nothing but columns.
    terms = {f"sum {name}": _term(name) for name in sums} | {UNUSABLE: _unusable().cast(nw.Int64)}
    grouped = placed.with_columns(**terms).group_by(*by)
    found = grouped.agg(*(nw.col(name).sum() for name in terms), nw.len().alias(ROWS)).collect()
    number = nw.col("item").is_null().alias("none")
    found = found.select(
        *by,
        *(nw.col(f"sum {name}").cast(nw.Float64).alias(name) for name in sums),
        *(nw.col(name).cast(nw.Float64) for name in (UNUSABLE, ROWS)),
        number,
        nw.lit(form).alias(FORM),
    )
    if not len(found) or found["none"].any() or found[UNUSABLE].sum():
        return None
    rows = int(found[ROWS].sum())
    found = found.drop("none", ROWS)
    if wanted is ITEM_SUMS:
        found = _with_ballots(found, ballots, group, form)
    return *read_sums(FrameTable(found.to_native(), "the sums"), wanted), rows


def _with_ballots(found: Any, rows: Any, group: Sequence[str], form: str) -> Any:
    """Append the rows that count the ballots of each instance."""
    import narwhals as nw

    ballots = rows.group_by(*group, "ballot").agg(nw.col("weight").max())
    if group:
        counted = ballots.group_by(*group).agg(nw.col("weight").sum()).collect()
    else:
        counted = ballots.select(nw.col("weight").sum()).collect()
    none = [nw.lit(0.0).alias(name) for name in (*ITEM_SUMS.sums, UNUSABLE) if name != "weight"]
    item = nw.lit(None).cast(nw.String).alias("item")
    counted = counted.select(*group, item, nw.col("weight").cast(nw.Float64), *none, nw.lit(form).alias(FORM))
    text = [nw.col(name).cast(nw.String) for name in (*group, "item")]
    columns = [*group, "item", *ITEM_SUMS.sums, UNUSABLE, FORM]
    parts = [part.with_columns(*text).select(*columns) for part in (found, counted)]
    return nw.concat(parts, how="vertical")


def _rows(frame: Any, plan: Plan) -> Any:
    """Return the rows with columns by role: instance, ballot, item, level (larger is better) and weight."""
    import narwhals as nw

    def text(role: str) -> Any:
        column = nw.col(plan.column[role]).cast(nw.String)
        return nw.when(column != "").then(column)

    ballot = next((role for role in ("ballot", "agent") if role in plan.column), None)
    level = nw.col(plan.column["rating" if "rating" in plan.column else "rank"]).cast(nw.Float64)
    one = nw.lit(1).cast(nw.Float64)  # a literal 1.0 would be a decimal number in Postgres
    chosen = {
        "item": text("item"),
        "ballot": nw.lit("?") if ballot is None else text(ballot),
        "level": level if "rating" in plan.column else -level,
        "weight": nw.col(plan.column["weight"]).cast(nw.Float64) if "weight" in plan.column else one,
    }
    if "instance" in plan.column:
        chosen["instance"] = text("instance").fill_null("?")
    # A literal needs a column next to it in some engines.
    return frame.with_columns(**{f"concordant {name}": value for name, value in chosen.items()}).select(
        **{name: nw.col(f"concordant {name}") for name in chosen}
    )


def _placed(rows: Any, ballot: Sequence[str]) -> Any:
    """Add the place of every item on its ballot, and what tells whether the ballot can be counted."""
    import narwhals as nw

    if rows.implementation is nw.Implementation.DASK:
        return _placed_by_dask(rows, ballot)
    level, weight = nw.col("level"), nw.col("weight")
    # As floats, because the difference of two unsigned ranks of polars wraps around.
    return rows.with_columns(
        better=level.rank("min", descending=True).over(*ballot).cast(nw.Float64) - 1,
        worse=level.rank("min").over(*ballot).cast(nw.Float64) - 1,
        size=nw.len().over(*ballot).cast(nw.Float64),
        level_total=level.sum().over(*ballot),
        copies=nw.len().over(*ballot, "item"),
        lightest=weight.min().over(*ballot),
        heaviest=weight.max().over(*ballot),
    )


def _placed_by_dask(rows: Any, ballot: Sequence[str]) -> Any:
    """Place the items with pandas in every part, after the rows of a ballot were moved to one part."""
    import narwhals as nw

    native = rows.to_native()
    meta = native._meta.assign(**dict.fromkeys(_PLACES, 0.0))
    moved = native.shuffle(on=list(ballot)) if native.npartitions > 1 else native
    return nw.from_native(moved.map_partitions(placed_by_pandas, list(ballot), meta=meta))


def placed_by_pandas(part: Any, ballot: list[str]) -> Any:
    """Return a part of a Dask DataFrame with the places of its rows; a task for its workers."""
    grouped = part.groupby(ballot, dropna=False, observed=True)
    level, weight = grouped["level"], grouped["weight"]
    places = {
        "better": level.rank(method="min", ascending=False) - 1,
        "worse": level.rank(method="min") - 1,
        "size": level.transform("size"),
        "level_total": level.transform("sum"),
        "copies": part.groupby([*ballot, "item"], dropna=False, observed=True)["level"].transform("size"),
        "lightest": weight.transform("min"),
        "heaviest": weight.transform("max"),
    }
    return part.assign(**{name: column.astype("float64") for name, column in places.items()})


def _term(name: str) -> Any:
    """Return the term of a sum."""
    import narwhals as nw

    weight, better, worse, size, level, total = map(
        nw.col, ("weight", "better", "worse", "size", "level", "level_total")
    )
    return {
        "weight": lambda: weight,
        "better": lambda: weight * better,
        "worse": lambda: weight * worse,
        "tied": lambda: weight * (size - better - worse - 1),
        "net": lambda: weight * (size * level - total),
        "total": lambda: weight * level * (worse - better),
        "won": lambda: nw.when(worse > 0).then(weight).otherwise(0.0),
        "lost": lambda: nw.when(better > 0).then(weight).otherwise(0.0),
    }[name]()


def _unusable() -> Any:
    """Return whether a row must not be counted, or the rows of its ballot."""
    import narwhals as nw

    weight = nw.col("weight")
    is_weight = (weight == 0) | ((weight >= MIN_COUNTED) & (weight <= MAX_LEVEL))
    usable = (
        ~nw.col("item").is_null()
        & ~nw.col("ballot").is_null()
        & (nw.col("level").abs() <= MAX_LEVEL)
        & is_weight
        & (nw.col("copies") == 1)
        & (nw.col("lightest") == nw.col("heaviest"))
    )
    return nw.when(usable.fill_null(False)).then(0).otherwise(1)
