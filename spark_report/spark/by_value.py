"""Python functions on executors whose Python has pyarrow and numpy, but no floodmark.

Their modules are pickled by value.
"""

from collections.abc import Callable, Iterable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_ARROW_TYPES: Final = {"string": pa.string(), "bigint": pa.int64(), "boolean": pa.bool_()}
"""Type name in Spark → Arrow type."""


def send_by_value(*modules: ModuleType) -> None:
    """Pickle functions of these modules by value, with everything of the module that they use, from now on."""
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
    """Return the rows that ``find`` makes from each session's rows, one session per call.

    ``find`` takes a session id and its rows, and uses only ``modules``. ``columns`` are names and types in Spark's
    format, starting with ``session_id``; columns that a row lacks are null.
    """
    send_by_value(*modules)
    named = [column.split() for column in columns.split(", ")]
    schema = pa.schema([(name, _ARROW_TYPES[kind]) for name, kind in named])

    def of_session(table: pa.Table) -> pa.Table:
        session_id = table["session_id"][0].as_py()
        found = [{"session_id": session_id, **row} for row in find(session_id, table)]
        return pa.Table.from_pylist(found, schema=schema)

    return rows.groupBy("session_id").applyInArrow(of_session, columns)
