"""Percentiles over several sets of keys, of more values than Spark's own ``percentile`` is quick with.

That has a table of all its values for each group, and falls back to sorting all rows by group where groups are many:
over ten million events it takes some four times as long as sorting numbers in arrays, for the same percentiles.
"""

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from spark_report.tables.queries import weighted_percentiles

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def percentiles(
    rows: "DataFrame", sets: Sequence[Sequence[str]], value: str, weight: str, quantiles: Sequence[float], tasks: int
) -> "DataFrame":
    """A row for each group of each set of keys: ``records`` (the sum of weights), ``low``, ``at`` and ``high``.

    ``_set`` is the number of the set; keys that it has not are null. ``at`` has the percentiles, in order. As many
    ``tasks`` put groups together, and each has all values of its groups in memory.
    """
    from pyspark import cloudpickle  # noqa: PLC0415 - only where there is much data

    register: Callable[[ModuleType], None] = cloudpickle.register_pickle_by_value  # untyped in PySpark
    register(weighted_percentiles)
    names = list(dict.fromkeys(name for keys in sets for name in keys))
    keys = [*to_arrow_schema(rows.select(*names).schema), pa.field(weighted_percentiles.SET, pa.int32())]
    runs = pa.schema([*keys, (weighted_percentiles.VALUES, pa.binary()), (weighted_percentiles.WEIGHTS, pa.binary())])
    found = pa.schema(
        [*keys, ("records", pa.int64()), ("low", pa.int64()), ("at", pa.list_(pa.float64())), ("high", pa.int64())]
    )
    sort = weighted_percentiles.sorting([list(each) for each in sets], runs, value, weight)
    merge = weighted_percentiles.merging(found, list(quantiles))
    whole = rows.select(*names, F.col(value).cast("long").alias(value), F.col(weight).cast("long").alias(weight))
    return (
        whole.mapInArrow(sort, from_arrow_schema(runs))
        .repartition(tasks, *names, weighted_percentiles.SET)
        .mapInArrow(merge, from_arrow_schema(found))
    )
