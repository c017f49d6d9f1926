"""Runs functions of modules of ours on executors, whose Python needs pyarrow and numpy, and no floodmark.

The modules go there by value, with the functions that use them.
"""

from collections.abc import Callable, Iterable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_ARROW_TYPES: Final = {"string": pa.string(), "bigint": pa.int64(), "boolean": pa.bool_()}
"""Types of columns in Spark → in Arrow."""


def send_by_value(*modules: ModuleType) -> None:
    """From now on functions of these modules go to executors with all of the module that they use."""
    from pyspark import cloudpickle  # noqa: PLC0415 - PySpark is slow to load

    register: Callable[[ModuleType], None] = cloudpickle.register_pickle_by_value  # untyped in PySpark
    for module in modules:
        register(module)


def rows_by_session(
    rows: "DataFrame",
    find: Callable[[str, pa.Table], Iterable[Mapping[str, Any]]],
    columns: str,
    *modules: ModuleType,
) -> "DataFrame":
    """The rows that ``find`` makes of each session's, one session in one task.

    ``find`` is given the session's id and its rows; what it uses is in ``modules``. ``columns`` are names and types, as
    Spark has them, the first being ``session_id``; a row may leave out any, which is null then.
    """
    send_by_value(*modules)
    named = [column.split() for column in columns.split(", ")]
    schema = pa.schema([(name, _ARROW_TYPES[kind]) for name, kind in named])

    def of_session(table: pa.Table) -> pa.Table:
        session_id = table["session_id"][0].as_py()
        found = [{"session_id": session_id, **row} for row in find(session_id, table)]
        return pa.Table.from_pylist(found, schema=schema)

    return rows.groupBy("session_id").applyInArrow(of_session, columns)
