"""What PySpark asks the JVM for at every call is asked once."""

from typing import TYPE_CHECKING, Any

import pytest
from py4j import java_gateway
from py4j.protocol import Py4JError
from pyspark.sql import functions as F  # noqa: N812

from spark_report.spark import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture
def asked(spark: "SparkSession", monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the JVM is asked for by name, from the first call on."""
    for name in session.NAMES:
        vars(spark.sparkContext._jvm).pop(name, None)
    names: list[str] = []
    for place in (java_gateway.JVMView, java_gateway.JavaClass):

        def noted(self: Any, name: str, ask: Any = place.__getattr__) -> Any:
            names.append(name)
            return ask(self, name)

        monkeypatch.setattr(place, "__getattr__", noted)
    session.keep_names(spark)
    names.clear()
    return names


def test_jvm_functions_are_looked_up_once(spark: "SparkSession", asked: list[str]) -> None:
    for _ in range(3):
        made = F.when(F.col("id") > 0, F.lit("more")).otherwise(F.concat(F.lit("no"), F.lit("ne")))
        assert [row[0] for row in spark.range(2).select(made.alias("x")).collect()] == ["none", "more"]
    of_functions = [name for name in asked if name in ("when", "col", "lit", "concat", "toSeq")]
    assert sorted(of_functions) == ["col", "concat", "lit", "toSeq", "when"]
    assert not session.NAMES.keys() & set(asked)


@pytest.mark.usefixtures("asked")
def test_missing_jvm_names_raise_as_without_the_cache(spark: "SparkSession") -> None:
    view: Any = spark.sparkContext._jvm
    for _ in range(2):
        with pytest.raises(Py4JError, match=r"functions\.no_such_thing "):
            view.functions.no_such_thing  # noqa: B018
