"""Spark Connect: a Spark that runs somewhere as a server, and is spoken to over gRPC. There is no JVM on this side.

Its client library retries for ten minutes before it says that nobody is there, and lets a server of another version
fail at the first thing that differs. So a server is asked who it is, once and with a limit, before anything else.
"""

import contextlib
import os
import warnings
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, cast
from uuid import uuid4

from spark_report.spark import interrupts, masters
from spark_report.spark.errors import ReportError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NEEDED: Final = {
    "grpc": "grpcio",
    "grpc_status": "grpcio-status",
    "google.rpc": "googleapis-common-protos",
    "zstandard": "zstandard",
}
"""Module → the package that has it."""
RETRIES: Final = 4
"""Of a call to a server that is gone: some ten seconds."""

_ANSWER_SECONDS: Final = 30
_MODE: Final = "SPARK_CONNECT_MODE_ENABLED"
"""Says to all of PySpark that frames and columns are those of Connect; PySpark sets it, and never takes it back."""


@contextlib.contextmanager
def session(url: str, option: str, settings: Mapping[str, str]) -> Iterator["SparkSession"]:
    """A session of its own at the server, with these settings, until the end of the block.

    ``option`` is what named the server, for who is told of it.

    Raises:
        ReportError: a library is missing, the server does not answer, or is of another version of Spark.
    """
    where = f"{option}: {masters.shown(url)}"
    _check_installed(where)
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    _check_version(where, url)
    from pyspark.sql import SparkSession  # noqa: PLC0415 - see session.start
    from pyspark.sql.connect.client.retries import DefaultPolicy  # noqa: PLC0415 - not without the libraries

    before = os.environ.get(_MODE)
    warnings.filterwarnings("ignore", r"\[RETRIES_EXCEEDED\]")  # the error itself says it, too
    try:
        spark = SparkSession.builder.remote(url).config(map=dict(settings)).create()
        try:
            client: Any = spark.client
            client.set_retry_policies([DefaultPolicy(max_retries=RETRIES)])
            yield spark
        finally:
            with interrupts.ignored(), contextlib.suppress(Exception):
                spark.stop()
    finally:
        if before is None:
            os.environ.pop(_MODE, None)


def is_connected(spark: "SparkSession") -> bool:
    """Whether it is a session at a server, without a context and a JVM to be asked."""
    return type(spark).__module__.startswith("pyspark.sql.connect.")


def _check_installed(where: str) -> None:
    missing = [package for module, package in NEEDED.items() if not _has(module)]
    if missing:
        raise ReportError(
            f"{where}: Spark Connect needs {', '.join(missing)}, which are not installed: "
            "python -m pip install 'floodmark[connect]'"
        )


def _has(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ImportError:
        return False


def _check_version(where: str, url: str) -> None:
    import pyspark  # noqa: PLC0415 - see session.start
    from grpc import RpcError  # noqa: PLC0415 - not without the libraries
    from pyspark.errors import PySparkException  # noqa: PLC0415

    try:
        version = _version(url)
    except PySparkException as error:
        raise ReportError(f"{where}: found an address that is none of Spark Connect: {error}") from error
    except RpcError as error:
        said: Any = error
        why = str(said.details()).splitlines()[0] if said.details() else str(said.code())
        raise ReportError(f"{where} does not answer as a Spark Connect server: {why}") from error
    ours = str(pyspark.__version__)
    if _minor(version) != _minor(ours):
        raise ReportError(f"{where} runs Spark {version}, and here is PySpark {ours}: the first two numbers must agree")


def _version(url: str) -> str:
    """Which Spark the server runs."""
    from pyspark.sql.connect import proto  # noqa: PLC0415 - not without the libraries
    from pyspark.sql.connect.client import DefaultChannelBuilder  # noqa: PLC0415
    from pyspark.sql.connect.proto.base_pb2_grpc import SparkConnectServiceStub  # noqa: PLC0415

    builder = DefaultChannelBuilder(url)
    session_id, user = str(uuid4()), proto.UserContext(user_id=builder.userId or "floodmark")
    limits: dict[str, Any] = {"timeout": _ANSWER_SECONDS, "metadata": list(builder.metadata())}
    asked, service = proto.AnalyzePlanRequest.SparkVersion(), cast("Any", SparkConnectServiceStub)
    with builder.toChannel() as channel:
        stub = service(channel)
        request = proto.AnalyzePlanRequest(session_id=session_id, user_context=user, spark_version=asked)
        version = str(stub.AnalyzePlan(request, **limits).spark_version.version)
        stub.ReleaseSession(proto.ReleaseSessionRequest(session_id=session_id, user_context=user), **limits)
    return version


def _minor(version: str) -> list[str]:
    return version.split(".")[:2]
