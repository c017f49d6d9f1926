"""Standalone Spark cluster on this machine, from the installed PySpark: a master and its workers.

``python -m benchmarks.spark_servers [WORKERS]`` starts one, prints its URL, and ends it with Ctrl-C; with ``connect``
instead of a number it starts a Spark Connect server. All processes listen on loopback only, and end with the process
that started them.
"""

import contextlib
import ctypes
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import FrameType
from typing import NoReturn

from spark_report.spark.jvm import find_java

HOST = "127.0.0.1"
_UP_SECONDS = 120
_PR_SET_PDEATHSIG = 1


@contextlib.contextmanager
def cluster(workers: int = 2, cores: int = 1, memory: str = "1g") -> Iterator[str]:
    """Start a master and its workers, and yield the URL once every worker is registered; stop them at the end."""
    with tempfile.TemporaryDirectory(prefix="floodmark-cluster-") as scratch, contextlib.ExitStack() as stack:
        folder = Path(scratch)
        environment = _environment(folder)
        port, pages = free_ports(2)
        url, log = f"spark://{HOST}:{port}", folder / "master.log"
        own: tuple[str, ...] = ("--host", HOST, "--port", str(port), "--webui-port", str(pages))
        _run("master.Master", own, environment, log, stack)
        _until(log, "I have been elected leader", 1)
        for number in range(workers):
            port, pages = free_ports(2)
            has = ("--cores", str(cores), "--memory", memory, "--work-dir", str(folder / f"work-{number}"))
            own = ("--host", HOST, "--port", str(port), "--webui-port", str(pages), *has, url)
            _run("worker.Worker", own, environment, folder / f"worker-{number}.log", stack)
        _until(log, "Registering worker", workers)
        yield url


@contextlib.contextmanager
def connect_server(cores: int = 2, more: Mapping[str, str] | None = None) -> Iterator[str]:
    """Start a Spark Connect server with local Spark and ``more`` settings, and yield its URL once it listens."""
    with tempfile.TemporaryDirectory(prefix="floodmark-connect-") as scratch, contextlib.ExitStack() as stack:
        folder = Path(scratch)
        (port,) = free_ports(1)
        settings = {
            "spark.connect.grpc.binding.address": HOST,
            "spark.connect.grpc.binding.port": str(port),
            "spark.ui.enabled": "false",
            "spark.sql.warehouse.dir": str(folder / "warehouse"),
            **(more or {}),
        }
        options = [part for name, value in settings.items() for part in ("--conf", f"{name}={value}")]
        server = ("--class", "org.apache.spark.sql.connect.service.SparkConnectServer", *options, "spark-internal")
        log = folder / "server.log"
        _run("SparkSubmit", ("--master", f"local[{cores}]", *server), _environment(folder), log, stack)
        _until(log, "Spark Connect server started", 1)
        yield f"sc://{HOST}:{port}"


def spark_home() -> Path:
    """Return the directory of the installed PySpark's programs and jars."""
    import pyspark  # noqa: PLC0415 - a benchmark without Spark need not load it

    return Path(pyspark.__file__).parent


def free_ports(count: int) -> list[int]:
    """Return unused ports on loopback."""
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(socket.create_server((HOST, 0))) for _ in range(count)]
        return [each.getsockname()[1] for each in held]


def _environment(folder: Path) -> dict[str, str]:
    ours = {
        "SPARK_HOME": str(spark_home()),
        "JAVA_HOME": str(find_java(folder).home),
        "SPARK_LOCAL_IP": HOST,
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "SPARK_LOCAL_DIRS": str(folder / "local"),
    }
    return {**os.environ, **ours}


def _run(
    what: str, arguments: tuple[str, ...], environment: dict[str, str], log: Path, stack: contextlib.ExitStack
) -> None:
    command = [str(spark_home() / "bin" / "spark-class"), f"org.apache.spark.deploy.{what}", *arguments]
    with log.open("wb") as sink:
        process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=sink,
            start_new_session=True,
            preexec_fn=_die_with_parent,  # noqa: PLW1509 - no other thread runs yet
        )
    stack.callback(_end, process)


def _die_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End a process and its executors, which belong to its session."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(10)


def _until(log: Path, text: str, times: int) -> None:
    give_up = time.monotonic() + _UP_SECONDS
    while log.read_text(errors="replace").count(text) < times:
        if time.monotonic() > give_up:
            raise TimeoutError(f"{log.name}: no {text!r} in {_UP_SECONDS} s:\n{log.read_text(errors='replace')}")
        time.sleep(0.1)


def _stop(_number: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


def main() -> None:
    signal.signal(signal.SIGTERM, _stop)
    what = sys.argv[1] if len(sys.argv) > 1 else "2"
    with contextlib.suppress(KeyboardInterrupt), connect_server() if what == "connect" else cluster(int(what)) as url:
        print(url, flush=True)
        signal.pause()


if __name__ == "__main__":
    main()
