"""Spark masters: validation of a master URL, Spark Connect over gRPC, and handling of Ctrl-C.

The Spark Connect client retries for ten minutes if no server responds, and with a server of another version it fails at
the first difference. So the server's version is requested first, once and with a timeout.
"""

import contextlib
import logging
import os
import re
import signal
import socket
import threading
import warnings
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Final, cast
from uuid import uuid4

from spark_report.spark.errors import ReportError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


# Ctrl-C while Spark runs: one KeyboardInterrupt without output, and a shutdown that a second one cannot interrupt.
#
# PySpark installs a handler that calls the JVM within another call, and Py4J logs a traceback for the interrupted call.


@contextlib.contextmanager
def interrupt_handler_kept() -> Iterator[None]:
    """Restore the handler of SIGINT after the block."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler if before is None else before)


@contextlib.contextmanager
def interrupt_deferred() -> Iterator[None]:
    """Defer Ctrl-C to the end of the block, within which nothing could be shut down yet."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    interrupted = False

    def note(_number: int, _frame: FrameType | None) -> None:
        nonlocal interrupted
        interrupted = True

    with interrupt_handler_kept():
        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, note)
        yield
    if interrupted:
        raise KeyboardInterrupt


@contextlib.contextmanager
def interrupt_ignored() -> Iterator[None]:
    """Ignore Ctrl-C during a shutdown, which would otherwise be incomplete."""
    with interrupt_handler_kept():
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        yield


@contextlib.contextmanager
def py4j_silent() -> Iterator[None]:
    """Drop Py4J's log messages, because each of its failures is also an exception."""
    # Py4J logs most of its tracebacks to the root logger, and some to its own.
    root, own = logging.getLogger(), logging.getLogger("py4j")
    before = own.propagate
    root.addFilter(_not_py4j)
    own.propagate = False
    try:
        yield
    finally:
        own.propagate = before
        root.removeFilter(_not_py4j)


def _not_py4j(record: logging.LogRecord) -> bool:
    return Path(record.pathname).parent.name != "py4j"


# Checks a Spark master before Spark does, which takes minutes to fail, with a Java exception.


_KNOWN: Final = re.compile(
    r"local(\[([1-9]\d*|\*)(,\s*[1-9]\d*)?\])?|local-cluster\[\s*\d+\s*,\s*\d+\s*,\s*\d+\s*\]|yarn|k8s://\S+"
)
_STANDALONE: Final = "spark://"
_CONNECT: Final = "sc:"
_SERVER: Final = re.compile(r"sc://(\[[0-9A-Fa-f:.]+\]|[^\s:/,;@\[\]]+)(?::(\d{1,5}))?(?:/(?:;[^\s;=]+=[^\s;=]*)*)?")
_SERVERS_PORT: Final = 15_002
_REMOTE: Final = "SPARK_REMOTE"
"""Spark's environment variable for the Spark Connect server."""
_ADDRESS: Final = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\s:/,@\[\]]+):(\d{1,5})")
_CONNECT_SECONDS: Final = 5
_LARGEST_PORT: Final = 65_535


def choose_master(master: str | None, environment: Mapping[str, str] = os.environ) -> tuple[str | None, str]:
    """Return the master, and the option or environment variable that names it."""
    remote = environment.get(_REMOTE)
    return (remote, _REMOTE) if master is None and remote else (master, "--master")


def is_local(master: str | None) -> bool:
    """Return whether Spark runs on this machine."""
    return master is None or master.startswith("local")


def is_here(master: str | None) -> bool:
    """Return whether all of Spark is on this machine, so that it need not listen on other interfaces."""
    return is_local(master) or (master or "").startswith((f"{_STANDALONE}127.0.0.1:", f"{_STANDALONE}localhost:"))


def is_standalone(master: str) -> bool:
    """Return whether it is a standalone cluster."""
    return master.startswith(_STANDALONE)


def is_connect(master: str | None) -> bool:
    """Return whether it is a Spark Connect server, which needs no Java here."""
    return master is not None and master.startswith(_CONNECT)


def check_master(master: str, option: str = "--master") -> None:
    """Check the form of a master URL, and that something listens where a standalone master or a server should.

    Raises:
        ReportError: it is malformed or cannot be reached; the sentence names the option and the master.
    """
    if is_connect(master):
        addresses = [_server(master, option)]
    elif master.startswith(_STANDALONE):
        addresses = [_address(master, text) for text in master.removeprefix(_STANDALONE).split(",")]
    elif _KNOWN.fullmatch(master):
        return
    else:
        raise _malformed(master, option)
    trouble = ""
    for host, port in addresses:
        try:
            socket.create_connection((host, port), _CONNECT_SECONDS).close()
        except (OSError, UnicodeError) as error:
            trouble = trouble or (getattr(error, "strerror", None) or str(error))
        else:
            return
    raise ReportError(f"{option}: {masked_master(master)} cannot be reached: {trouble}", code="unreachable")


def _address(master: str, text: str) -> tuple[str, int]:
    found = _ADDRESS.fullmatch(text)
    if found is None or not 0 < int(found[2]) <= _LARGEST_PORT:
        raise _malformed(master)
    return found[1].strip("[]"), int(found[2])


def _server(master: str, option: str) -> tuple[str, int]:
    found = _SERVER.fullmatch(master)
    port = int(found[2] or _SERVERS_PORT) if found else 0
    if found is None or not 0 < port <= _LARGEST_PORT:
        raise _malformed(master, option)
    return found[1].strip("[]"), port


def masked_master(master: str) -> str:
    """Return a master without its parameters, which may contain a token."""
    return master.partition(";")[0].removesuffix("/") if is_connect(master) else master


def _malformed(master: str, option: str = "--master") -> ReportError:
    known = "local, local[N], local[*], spark://HOST:PORT, sc://HOST:PORT, yarn or k8s://URL"
    return ReportError(f"{option}: found {masked_master(master)!r}, expected {known}", code="malformed_master")


NEEDED: Final = {
    "grpc": "grpcio",
    "grpc_status": "grpcio-status",
    "google.rpc": "googleapis-common-protos",
    "zstandard": "zstandard",
}
"""Module → package that provides it."""
RETRIES: Final = 4
"""Retries of a call to a server that does not respond: about ten seconds."""

_ANSWER_SECONDS: Final = 30
_MODE: Final = "SPARK_CONNECT_MODE_ENABLED"
"""Environment variable that switches all of PySpark to Spark Connect; PySpark sets it, and never removes it."""


@contextlib.contextmanager
def connect_session(url: str, option: str, settings: Mapping[str, str]) -> Iterator["SparkSession"]:
    """Yield a new session at the server, with these settings, and stop it at the end of the block.

    ``option`` is the option or variable that names the server, for error messages.

    Raises:
        ReportError: a library is missing, the server does not answer, or is of another version of Spark.
    """
    where = f"{option}: {masked_master(url)}"
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
            with interrupt_ignored(), contextlib.suppress(Exception):
                spark.stop()
    finally:
        if before is None:
            os.environ.pop(_MODE, None)


def is_connected(spark: "SparkSession") -> bool:
    """Return whether it is a Spark Connect session, without a local context and JVM."""
    return type(spark).__module__.startswith("pyspark.sql.connect.")


def _check_installed(where: str) -> None:
    missing = [package for module, package in NEEDED.items() if not _has(module)]
    if missing:
        raise ReportError(
            f"{where}: Spark Connect needs {', '.join(missing)}, which are not installed: "
            "python -m pip install 'floodmark[connect]'",
            code="not_installed",
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
        raise ReportError(
            f"{where}: found an address that is not valid for Spark Connect: {error}", code="malformed_master"
        ) from error
    except RpcError as error:
        failure: Any = error
        why = str(failure.details()).splitlines()[0] if failure.details() else str(failure.code())
        raise ReportError(
            f"{where} does not respond as a Spark Connect server: {why}", code="not_a_connect_server"
        ) from error
    installed = str(pyspark.__version__)
    if _minor(version) != _minor(installed):
        raise ReportError(
            f"{where} runs Spark {version}, but PySpark here is {installed}; the first two numbers must be equal",
            code="other_spark_version",
        )


def _version(url: str) -> str:
    """Return the server's version of Spark."""
    from pyspark.sql.connect import proto  # noqa: PLC0415 - not without the libraries
    from pyspark.sql.connect.client import DefaultChannelBuilder  # noqa: PLC0415
    from pyspark.sql.connect.proto.base_pb2_grpc import SparkConnectServiceStub  # noqa: PLC0415

    builder = DefaultChannelBuilder(url)
    session_id, user = str(uuid4()), proto.UserContext(user_id=builder.userId or "floodmark")
    limits: dict[str, Any] = {"timeout": _ANSWER_SECONDS, "metadata": list(builder.metadata())}
    query, service = proto.AnalyzePlanRequest.SparkVersion(), cast("Any", SparkConnectServiceStub)
    with builder.toChannel() as channel:
        stub = service(channel)
        request = proto.AnalyzePlanRequest(session_id=session_id, user_context=user, spark_version=query)
        version = str(stub.AnalyzePlan(request, **limits).spark_version.version)
        stub.ReleaseSession(proto.ReleaseSessionRequest(session_id=session_id, user_context=user), **limits)
    return version


def _minor(version: str) -> list[str]:
    return version.split(".")[:2]
