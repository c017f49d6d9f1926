"""Groups by a number instead of by their names, where very many rows are sorted by group.

A name is compared letter by letter at each step of a sort, and carried along in each row: without names, sorting and
windows over ten million events take half the time.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

NUMBER: Final = "group_number"


def numbered(rows: "DataFrame", names: Sequence[str]) -> "DataFrame":
    """Each group of these ``names`` that there are rows of, with its number; no more groups than one task can sort."""
    order = Window.orderBy(*names)
    return rows.select(*names).distinct().withColumn(NUMBER, F.row_number().over(order))


def keys_of(names: Sequence[str], groups: "DataFrame | None") -> Sequence[str]:
    """What a group goes by: its number, or its names where groups have none."""
    return names if groups is None else (NUMBER,)


def by_number(rows: "DataFrame", groups: "DataFrame | None") -> "DataFrame":
    """Rows with the number of their group in place of its names; as they are without ``groups``, that must have all."""
    if groups is None:
        return rows
    names = [name for name in groups.columns if name != NUMBER]
    row, group = rows.alias("row"), F.broadcast(groups).alias("group")
    same = [F.col(f"row.{name}").eqNullSafe(F.col(f"group.{name}")) for name in names]
    kept = [f"row.{name}" for name in rows.columns if name not in names]
    return row.join(group, on=same, how="inner").select(NUMBER, *kept)


def by_name(rows: "DataFrame", groups: "DataFrame | None") -> "DataFrame":
    """The names again."""
    return rows if groups is None else rows.join(F.broadcast(groups), on=NUMBER, how="inner").drop(NUMBER)
