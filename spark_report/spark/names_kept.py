"""PySpark asks the JVM where a class is each time that it calls one of its functions; the answer is kept here.

Of a class that is named without its package the JVM looks for a file in every jar of Spark, and for a function it goes
through all that the class has: thousands of times in a report, a tenth of what the JVM does for little data.
"""

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_FUNCTIONS: Final = "org.apache.spark.sql.functions"
NAMES: Final = {
    "functions": "functions",
    _FUNCTIONS: "functions",
    "PythonUtils": "PythonUtils",
    "PythonSQLUtils": "PythonSQLUtils",
}
"""As what PySpark asks for a class → the short name by which the JVM finds it."""


class _Kept:
    """A class of the JVM that is asked once for each of its functions."""

    def __init__(self, known: Any) -> None:
        self._known = known

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._known, name)
        setattr(self, name, found)
        return found


def keep_names(spark: "SparkSession") -> None:
    """Have this process ask for each of these classes, and for each of their functions, once as long as Spark runs."""
    # A view of the JVM answers for what it does not have itself; Spark's next start has another view.
    view: Any = spark.sparkContext._jvm
    for asked, short in NAMES.items():
        vars(view)[asked] = _Kept(getattr(view, short))
