"""Start and stop of Spark: its session, its working directories, and a monitor of missing executors.

There are four modes. Under ``spark-submit`` the JVM and its configuration exist already; a Spark Connect server has its
own JVM; with a master URL Spark connects to that master; otherwise a local Spark is tuned for small data on one
machine, bound to loopback, with all temporary files in one directory that is removed at the end. The JVM's output goes
to a log file in that directory, which is copied and named in the message only after a failure.
"""

import contextlib
import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from spark_report.spark import jvm
from spark_report.spark import master as spark_master
from spark_report.spark.errors import JobError, ReportError, first_line, jvm_gone, known_failure
from spark_report.spark.jvm import Java, find_java

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession


# Working directories that are removed with their process.
#
# Each is locked by its process. The next process removes unlocked ones, which were left by a killed process.


@contextlib.contextmanager
def working_directory(parent: Path, prefix: str) -> Iterator[Path]:
    """Make a directory, and remove it at the end of the block; ``prefix`` must not be used for anything else there."""
    sweep_working_directories(parent, prefix)
    path, handle = _locked(parent, prefix)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
        os.close(handle)


def _locked(parent: Path, prefix: str) -> tuple[Path, int]:
    while True:
        path = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        handle = os.open(path, os.O_RDONLY)
        # On a file system without locks nothing is swept, which is harmless.
        with contextlib.suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        if path.exists():
            return path, handle
        # Another process swept it before it was locked.
        os.close(handle)


def sweep_working_directories(parent: Path, prefix: str) -> None:
    """Remove directories with that prefix that no process has locked."""
    for left in sorted(parent.glob("*")) if parent.is_dir() else ():
        if left.name.startswith(prefix) and left.is_dir() and not left.is_symlink():
            with contextlib.suppress(OSError):
                _remove_if_free(left)


def _remove_if_free(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(path, ignore_errors=True)
    finally:
        os.close(handle)


# Cache of JVM classes and functions, which PySpark looks up in the JVM at every call.
#
# For a class name without its package the JVM searches every jar of Spark, and for a function all functions of the
# class: thousands of times in a report, a tenth of the JVM's work for little data.


_FUNCTIONS: Final = "org.apache.spark.sql.functions"
NAMES: Final = {
    "functions": "functions",
    _FUNCTIONS: "functions",
    "PythonUtils": "PythonUtils",
    "PythonSQLUtils": "PythonSQLUtils",
}
"""Name under which PySpark looks up a class → short name under which the JVM finds it."""


class _CachedJavaClass:
    """A JVM class whose functions are looked up once each."""

    def __init__(self, java_class: Any) -> None:
        self._known = java_class

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._known, name)
        setattr(self, name, found)
        return found


def keep_names(spark: "SparkSession") -> None:
    """Look up each of these classes, and each of their functions, only once while Spark runs."""
    # Attributes of the JVM view take precedence over lookups; Spark's next start has a new view.
    view: Any = spark.sparkContext._jvm
    for name, short in NAMES.items():
        vars(view)[name] = _CachedJavaClass(getattr(view, short))


# Monitor of executors: without them Spark waits forever, and reports it only in its log.


WAIT_SECONDS: Final = 60
"""Seconds that a job waits for executors, at the start or after the last one died."""
_LOOK_SECONDS: Final = 1.0


class ExecutorMonitor:
    """Cancels all jobs when there has been no executor for :data:`WAIT_SECONDS`."""

    def __init__(self, context: "SparkContext", wait: float = WAIT_SECONDS) -> None:
        self.starved = False
        """Whether it has cancelled the jobs."""
        self.had_any = False
        """Whether there ever was an executor."""
        self._context = context
        self._wait = wait
        self._over = threading.Event()

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Monitor executors while the block runs."""
        thread = threading.Thread(target=self._watch, name="floodmark-watch", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._over.set()
            thread.join()

    def _watch(self) -> None:
        last_seen = time.monotonic()
        # A broken connection to the JVM fails the job anyway.
        with contextlib.suppress(Exception):
            while not self._over.wait(_LOOK_SECONDS):
                if count_executors(self._context) > 0:
                    self.had_any, last_seen = True, time.monotonic()
                elif time.monotonic() - last_seen > self._wait:
                    self.starved = True
                    self._context.cancelAllJobs()

    def why(self, master: str) -> str:
        """Return the error message after it has cancelled the jobs."""
        waited = f"within {self._wait:g} s"
        if self.had_any:
            return f"--master: all executors of the job on {master} were lost, and none was started again {waited}"
        return f"--master: no worker of {master} started an executor {waited}: none has a free core and enough memory"


def count_executors(context: "SparkContext") -> int:
    """Return the number of executors, without the driver."""
    status: Any = context._jsc.sc().statusTracker()
    return len(status.getExecutorInfos()) - 1


APPLICATION: Final = "floodmark report"
SMALL_EVENTS: Final = 3_000_000
"""Number of events below which only the C1 compiler is used: a small job mostly loads classes and runs code once."""
MANY_EVENTS: Final = SMALL_EVENTS
"""Assumed number of events if it is not known."""
TINY_EVENTS: Final = 100_000
"""Number of events below which Spark interprets its plans, because code generation takes longer than it saves."""

_LOOPBACK: Final = "127.0.0.1"
_JVM_STOP_SECONDS: Final = 20
_SMALL_PARTITIONS: Final = 8
_JVM_GONE_SECONDS: Final = 5
_LOG_TAIL_BYTES: Final = 1 << 16
_GIB: Final = 1 << 30
_MANY_CORES: Final = 100_000
_PREFIX: Final = "floodmark-spark-"

_LOG4J: Final = """\
rootLogger.level = warn
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n%ex
"""


@dataclass(frozen=True, slots=True)
class RunningSpark:
    """A running Spark, a short text on its origin, and its JVM's log; no log under spark-submit."""

    spark: "SparkSession"
    origin: str
    log: Path | None
    jvm: "subprocess.Popen[bytes] | None" = None
    cold: bool = False
    """Whether there is no cache that would have made it start faster."""
    watch: "ExecutorMonitor | None" = None
    """Monitor of the executors of a standalone cluster."""


@dataclass(frozen=True, slots=True)
class CacheTraining:
    """The Java that writes a cache, and the cache's path."""

    java: Java
    output: Path


def under_spark_submit() -> bool:
    """Return whether ``spark-submit`` started this process, so that the JVM is already running."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


@contextlib.contextmanager
def start(
    master: str | None = None,
    events: int | None = 0,
    *,
    training: CacheTraining | None = None,
    memory: str | None = None,
) -> Iterator[RunningSpark]:
    """Start Spark, and stop it at the end of the ``with`` block.

    ``master`` is a Spark master URL, None for this machine; ``events`` is the number of events to process, None if not
    known. With ``training`` the JVM records the classes that it loads, and writes its cache at its end. ``memory`` is
    the heap size of the driver's JVM, such as ``4g``.

    Raises:
        ReportError: no Java was found, or the master is malformed, cannot be reached or does not let Spark start.
        JobError: Spark did not start on this machine.
    """
    if under_spark_submit():
        from pyspark.sql import SparkSession  # noqa: PLC0415 - input errors come before this slow import

        with spark_master.py4j_silent():
            with spark_master.interrupt_handler_kept():
                spark = SparkSession.builder.getOrCreate()
            keep_names(spark)
            try:
                yield RunningSpark(spark, "spark-submit", None)
            finally:
                with spark_master.interrupt_ignored():
                    spark.stop()
        return
    expected = MANY_EVENTS if events is None else events
    master, option = spark_master.choose_master(master)
    if master is not None:
        spark_master.check_master(master, option)
    if master is not None and spark_master.is_connect(master):
        if memory is not None:
            raise ReportError(
                f"--memory: found with {spark_master.masked_master(master)}, whose heap is already configured",
                code="memory_already_given",
            )
        with spark_master.connect_session(master, option, _of_session(expected)) as spark:
            yield RunningSpark(spark, f"Spark Connect at {spark_master.masked_master(master)}", None)
        return
    with _scratch() as scratch:
        java = training.java if training else find_java(scratch)
        with _environment(java, local=spark_master.is_local(master)), spark_master.py4j_silent():
            settings = _settings(master, expected, scratch, cache_options(java, training))
            much = expected >= SMALL_EVENTS
            spark, process = _launch(settings | ({"spark.driver.memory": memory} if memory else {}), scratch)
            try:
                with contextlib.ExitStack() as stack:
                    watch = _watch(spark, master, stack)
                    origin = f"Java {java.version} from {java.origin}{', warm' if java.cache and not much else ''}"
                    yield RunningSpark(spark, origin, scratch / "spark.log", process, _cold(java) and not much, watch)
            finally:
                with spark_master.interrupt_ignored():
                    _stop(spark, process)


@contextlib.contextmanager
def _scratch() -> Iterator[Path]:
    """Make a directory for all temporary files. Raises ReportError if that is not possible."""
    with contextlib.ExitStack() as stack:
        try:
            parent = Path(tempfile.gettempdir())
            path = stack.enter_context(working_directory(parent, _PREFIX))
        except OSError as error:
            raise ReportError(
                f"cannot make a temporary directory: {error.strerror}; set TMPDIR to a writable directory",
                code="no_working_directory",
            ) from error
        yield path


def _watch(spark: "SparkSession", master: str | None, stack: contextlib.ExitStack) -> ExecutorMonitor | None:
    if master is None or not spark_master.is_standalone(master):
        return None
    watch = ExecutorMonitor(spark.sparkContext)
    stack.enter_context(watch.watching())
    return watch


@contextlib.contextmanager
def failures_converted(started: RunningSpark, master: str | None) -> Iterator[None]:
    """Convert failures in the block to errors, see :func:`error_for`, or to the error of missing executors."""
    try:
        yield
    except ReportError:
        raise
    except Exception as error:
        if started.watch is not None and started.watch.starved:
            raise ReportError(started.watch.why(master or ""), code="no_workers") from error
        raise error_for(error, started, started.log, "Spark failed") from error


def error_for(error: BaseException, started: RunningSpark | None, log: Path | None, what: str) -> Exception:
    """Return the error for a failure: a plain description if it is known, else Java's message; and the copied log."""
    kept = keep_log(log)
    where = f"; Spark's log is {kept}" if kept else ""
    process = started.jvm if started else None
    reason = known_failure(error, _end_of(log))
    if not reason and jvm_gone(error) and process is not None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_JVM_GONE_SECONDS)
        ended = (
            "ended"
            if process.returncode is None or process.returncode >= 0
            else f"was killed by signal {-process.returncode}"
        )
        reason = f"its JVM {ended}"
    return JobError(f"{what}: {reason or first_line(error)}{where}", code="spark_failed")


def _end_of(log: Path | None) -> str:
    if log is None or not log.exists():
        return ""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - _LOG_TAIL_BYTES))
        return file.read().decode(errors="replace")


def keep_log(log: Path | None) -> Path | None:
    """Copy the JVM's log out of the temporary directory; return the copy's path, None if there is no log."""
    if log is None or not log.exists():
        return None
    handle, kept = tempfile.mkstemp(prefix="floodmark-spark-", suffix=".log")
    os.close(handle)
    shutil.copyfile(log, kept)
    return Path(kept)


@contextlib.contextmanager
def _environment(java: Java, *, local: bool) -> Iterator[None]:
    """Set Spark's environment variables while the block runs."""
    overrides = {
        "JAVA_HOME": str(java.home),
        # By default workers use the python3 on PATH, which may lack the libraries.
        "PYSPARK_PYTHON": sys.executable if local else os.environ.get("PYSPARK_PYTHON", sys.executable),
        "PYSPARK_DRIVER_PYTHON": sys.executable,
    }
    if local:
        # Without it Spark warns that it uses another interface's address.
        overrides["SPARK_LOCAL_IP"] = _LOOPBACK
    # SPARK_HOME may be another version of Spark than the imported one.
    # SPARK_REMOTE applies only without a master, but PySpark would always use it.
    removed = ("SPARK_HOME", "SPARK_REMOTE")
    before = {name: os.environ.get(name) for name in (*overrides, *removed)}
    os.environ.update(overrides)
    for name in removed:
        os.environ.pop(name, None)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def cache_options(java: Java, training: CacheTraining | None) -> list[str]:
    """Return the JVM options for its cache; its log is disabled, because it warns about a cache that does not fit."""
    if training is not None:
        return [f'"-XX:AOTCacheOutput={training.output}"', "-Xlog:disable"]
    return [f'"-XX:AOTCache={java.cache}"', "-Xlog:disable"] if java.cache else []


def cores(spark: "SparkSession") -> int:
    """Return the number of tasks that run at a time."""
    if not spark_master.is_connected(spark):
        return int(spark.sparkContext.defaultParallelism)
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - see start

    # A server does not report its cores, but a range has a partition for each.
    return spark.range(_MANY_CORES).select(F.spark_partition_id().alias("task")).distinct().count()


def cancel(spark: "SparkSession") -> None:
    """Cancel all running jobs."""
    if spark_master.is_connected(spark):
        spark.interruptAll()
    else:
        spark.sparkContext.cancelAllJobs()


def shares_this_python(spark: "SparkSession") -> bool:
    """Return whether tasks run with this Python installation, and so have floodmark."""
    return not spark_master.is_connected(spark) and spark_master.is_local(spark.conf.get("spark.master"))


def _settings(master: str | None, events: int, scratch: Path, cache: list[str]) -> dict[str, str]:
    cores = os.cpu_count() or 1
    settings = {
        "spark.app.name": APPLICATION,
        "spark.master": master or "local[*]",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # Both are debugging aids, and take a fifth of the time of queries over little data.
        "spark.python.sql.dataFrameDebugging.enabled": "false",
        "spark.sql.lightweightPlanChangeValidation": "false",
        # By default Hadoop retries an unresponsive host for a quarter of an hour.
        "spark.hadoop.ipc.client.connect.max.retries.on.timeouts": "1",
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.driver.extraJavaOptions": _java_options(events, scratch, cache),
    }
    if spark_master.is_here(master):
        # By default the driver listens on every interface.
        settings |= {"spark.driver.bindAddress": _LOOPBACK, "spark.driver.host": _LOOPBACK}
    if spark_master.is_local(master):
        settings |= {
            "spark.driver.memory": _memory(),
            "spark.local.dir": str(scratch / "local"),
            "spark.sql.shuffle.partitions": str(2 * cores),
        }
    return _of_session(events) | settings


def _of_session(events: int) -> dict[str, str]:
    """Return the settings of a session, valid for any Spark."""
    settings = {"spark.sql.session.timeZone": "UTC"}
    if events < SMALL_EVENTS:
        # A cluster's default is for more data; here the overhead of a task exceeds its work.
        settings["spark.sql.shuffle.partitions"] = str(_SMALL_PARTITIONS)
    if events < TINY_EVENTS:
        settings |= {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
    return settings


def _cold(java: Java) -> bool:
    """Return whether ``floodmark spark warm`` would help: not if ``JAVA_HOME`` names a Java without cache support."""
    return java.cache is None and (java.version >= jvm.OLDEST_CACHE_JAVA or java.origin != "JAVA_HOME")


_CODE_CACHE: Final = "-XX:ReservedCodeCacheSize=240m"
"""The default with both compilers; with one it would be a fifth, which many reports in one process exhaust.

Then Spark's serving thread ends with an error, and its client waits forever.
"""


def _java_options(events: int, scratch: Path, cache: list[str]) -> str:
    options = [
        "-XX:-UsePerfData",
        f'"-Djava.io.tmpdir={scratch / "tmp"}"',
        f"-Dlog4j2.configurationFile={(scratch / 'log4j2.properties').as_uri()}",
    ]
    if events >= SMALL_EVENTS:
        # A cache only works with the garbage collector that made it; the parallel one saves more than a warm start.
        return " ".join([*options, "-XX:+UseParallelGC"])
    return " ".join([*options, "-XX:TieredStopAtLevel=1", _CODE_CACHE, "-XX:+UseSerialGC", *cache])


def _memory() -> str:
    """Return a quarter of the machine's memory, 1 to 4 GiB, in Spark's format."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return f"{max(_GIB, min(4 * _GIB, total // 4)) >> 20}m"


def _launch(settings: dict[str, str], scratch: Path) -> tuple["SparkSession", "subprocess.Popen[bytes]"]:
    from pyspark import SparkConf, SparkContext  # noqa: PLC0415 - see start
    from pyspark.java_gateway import launch_gateway  # noqa: PLC0415
    from pyspark.sql import SparkSession  # noqa: PLC0415

    for name in ("local", "tmp", "warehouse"):
        (scratch / name).mkdir()
    (scratch / "log4j2.properties").write_text(_LOG4J, encoding="ascii")
    log = scratch / "spark.log"
    conf = SparkConf(loadDefaults=False).setAll(list(settings.items()))
    process: subprocess.Popen[bytes] | None = None
    try:
        with log.open("ab") as sink, spark_master.interrupt_deferred():
            launch: Any = launch_gateway  # untyped in PySpark
            gateway = launch(conf, {"stdout": sink, "stderr": sink})
            process = gateway.proc
        with spark_master.interrupt_handler_kept():
            context = SparkContext(conf=conf, gateway=gateway)
        spark = SparkSession(context)
        keep_names(spark)
        return spark, gateway.proc
    except BaseException as error:
        # The message is requested from Java, so before the JVM ends.
        reason = known_failure(error, _end_of(log)) or first_line(error)
        if process is not None:
            with spark_master.interrupt_ignored():
                _end(process)
        if isinstance(error, Exception):
            raise _not_started(reason, settings["spark.master"], keep_log(log)) from error
        raise


def _stop(spark: "SparkSession", process: "subprocess.Popen[bytes]") -> None:
    """Stop Spark and its JVM."""
    with contextlib.suppress(Exception):
        spark.stop()
    _end(process)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Stop the JVM, and wait until it has removed its temporary files."""
    from pyspark import SparkContext  # noqa: PLC0415 - imported long before

    gateway: Any = SparkContext._gateway
    if gateway is not None:
        with contextlib.suppress(Exception):
            gateway.shutdown()
        SparkContext._gateway = None
        SparkContext._jvm = None
    if process.stdin is not None:
        # The JVM ends when this pipe closes.
        with contextlib.suppress(OSError):
            process.stdin.close()
    try:
        process.wait(_JVM_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _not_started(reason: str, master: str, log: Path | None) -> Exception:
    if spark_master.is_local(master):
        return JobError(f"Spark did not start: {reason}; its log is {log}", code="spark_not_started")
    message = f"--master: Spark did not start on {master}: {reason}; its log is {log}"
    return ReportError(message, code="spark_not_started")
