"""Sessions on a Spark Connect server (SPARK-39375): its Spark is spoken to over the network, with no Java here."""

import contextlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from spark_report import interrupts, masters
from spark_report.errors import ReportError, first_line

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

READY_SECONDS: Final = 20.0
"""How long a server may take to say that it is one. PySpark itself asks again for minutes."""
_MISSING: Final = "Spark Connect needs libraries that are not installed: python -m pip install 'floodmark[connect]'"


@contextlib.contextmanager
def session(server: str, settings: Mapping[str, str]) -> Iterator["SparkSession"]:
    """A session of its own on a server such as ``sc://host:15002``, and its end with the block.

    Raises:
        ReportError: the libraries are missing, the server does not let it in, or has another Spark than this Python.
    """
    check(server)
    import pyspark  # noqa: PLC0415 - a quarter of a second that bad input need not wait for
    from pyspark.sql import SparkSession  # noqa: PLC0415

    where = masters.shown(server)
    try:
        spark = SparkSession.builder.remote(server).create()
        version = spark.version
    except Exception as error:
        raise ReportError(f"--master: {where} lets nobody in: {first_line(error)}") from error
    try:
        if _line(version) != _line(pyspark.__version__):
            raise ReportError(f"--master: {where} has Spark {version}, and this Python has {pyspark.__version__}")
        for name, value in {"spark.sql.session.timeZone": "UTC", **settings}.items():
            spark.conf.set(name, value)
        yield spark
    finally:
        # What still runs ends with its session; a server that is gone has nothing to end.
        with interrupts.ignored(), contextlib.suppress(Exception):
            spark.stop()


def check(server: str) -> None:
    """Check that the libraries are there, and that what listens is a server. Raises ReportError."""
    where = masters.shown(server)
    try:
        import grpc  # noqa: PLC0415 - an extra
        from pyspark.sql.connect.client import DefaultChannelBuilder  # noqa: PLC0415
    except ImportError as error:
        raise ReportError(f"--master: {where}: {_MISSING}") from error
    try:
        with DefaultChannelBuilder(server).toChannel() as channel:
            grpc.channel_ready_future(channel).result(timeout=READY_SECONDS)
    except grpc.FutureTimeoutError as error:
        raise ReportError(f"--master: {where} does not answer as a Spark Connect server") from error
    except Exception as error:
        raise ReportError(f"--master: {where}: {first_line(error)}") from error


def _line(version: str) -> list[str]:
    return version.split(".")[:2]
