"""The only place that starts Spark.

Four ways in: started by ``spark-submit``, the JVM exists and everything about it was decided there; a Spark Connect
server has one elsewhere; with a master URL, Spark goes there; otherwise a local Spark is tuned for small data on one
machine, bound to loopback, with every temporary file in one directory of its own that is gone afterwards. What the JVM
says goes to a log file there, not to the terminal: it is copied out, and named, only when something failed.
"""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from spark_report.spark import interrupts, masters, warmth
from spark_report.spark import master as connecting
from spark_report.spark.errors import JobError, ReportError, first_line, jvm_gone, known
from spark_report.spark.jvm import Java, find
from spark_report.spark.leftovers import working_directory
from spark_report.spark.names_kept import keep_names
from spark_report.spark.watching import Watch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

APPLICATION: Final = "floodmark report"
SMALL_EVENTS: Final = 3_000_000
"""Below it the quick compiler alone wins: most of a small job is class loading and code that runs once."""
MANY_EVENTS: Final = SMALL_EVENTS
"""What is prepared for where nobody knows."""
TINY_EVENTS: Final = 100_000
"""Below it Spark interprets its plans: to generate and compile a class for each costs more than it saves."""

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
class Started:
    """A running Spark, how it came to be (a few words), and where its JVM writes; no log under spark-submit."""

    spark: "SparkSession"
    origin: str
    log: Path | None
    jvm: "subprocess.Popen[bytes] | None" = None
    cold: bool = False
    """Whether a cache would have made it start faster, and there is none."""
    watch: "Watch | None" = None
    """Looks after the executors of a standalone cluster."""


@dataclass(frozen=True, slots=True)
class Training:
    """A JVM that is to write its cache: which Java, and where to."""

    java: Java
    output: Path


def under_spark_submit() -> bool:
    """Whether ``spark-submit`` started this process, so that the JVM is already there."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


@contextlib.contextmanager
def start(
    master: str | None = None, events: int | None = 0, *, training: Training | None = None, memory: str | None = None
) -> Iterator[Started]:
    """Start Spark, and stop it at the end of the ``with`` block.

    ``master`` is a Spark master URL, None for this machine; ``events`` says how much data there will be, None
    where nobody knows. With
    ``training`` the JVM notes what it loads, and writes its cache as it ends. ``memory`` is the heap of the driver's
    JVM, such as ``4g``.

    Raises:
        ReportError: no Java was found, or the master is malformed, cannot be reached or does not let Spark start.
        JobError: Spark did not start on this machine.
    """
    if under_spark_submit():
        from pyspark.sql import SparkSession  # noqa: PLC0415 - a quarter of a second that bad input need not wait for

        with interrupts.py4j_silent():
            with interrupts.handler_kept():
                spark = SparkSession.builder.getOrCreate()
            keep_names(spark)
            try:
                yield Started(spark, "spark-submit", None)
            finally:
                with interrupts.ignored():
                    spark.stop()
        return
    expected = MANY_EVENTS if events is None else events
    master, option = masters.chosen(master)
    if master is not None:
        masters.check(master, option)
    if master is not None and masters.is_connect(master):
        if memory is not None:
            raise ReportError(f"--memory: found with {masters.shown(master)}, which has a heap already")
        with connecting.session(master, option, _of_session(expected)) as spark:
            yield Started(spark, f"Spark Connect at {masters.shown(master)}", None)
        return
    with _scratch() as scratch:
        java = training.java if training else find(scratch)
        with _environment(java, local=masters.is_local(master)), interrupts.py4j_silent():
            settings = _settings(master, expected, scratch, cache_options(java, training))
            much = expected >= SMALL_EVENTS
            spark, jvm = _launch(settings | ({"spark.driver.memory": memory} if memory else {}), scratch)
            try:
                with contextlib.ExitStack() as stack:
                    watch = _watch(spark, master, stack)
                    origin = f"Java {java.version} from {java.origin}{', warm' if java.cache and not much else ''}"
                    yield Started(spark, origin, scratch / "spark.log", jvm, _cold(java) and not much, watch)
            finally:
                with interrupts.ignored():
                    _stop(spark, jvm)


@contextlib.contextmanager
def _scratch() -> Iterator[Path]:
    """A directory for everything temporary. Raises ReportError where there can be none."""
    with contextlib.ExitStack() as stack:
        try:
            parent = Path(tempfile.gettempdir())
            path = stack.enter_context(working_directory(parent, _PREFIX))
        except OSError as error:
            raise ReportError(f"no directory for working files: {error.strerror}; TMPDIR names one") from error
        yield path


def _watch(spark: "SparkSession", master: str | None, stack: contextlib.ExitStack) -> Watch | None:
    if master is None or not masters.is_standalone(master):
        return None
    watch = Watch(spark.sparkContext)
    stack.enter_context(watch.watching())
    return watch


@contextlib.contextmanager
def failures_told(started: Started, master: str | None) -> Iterator[None]:
    """What fails in the block is told as :func:`explained` does, or as what the executors of ``master`` lacked."""
    try:
        yield
    except ReportError:
        raise
    except Exception as error:
        if started.watch is not None and started.watch.starved:
            raise ReportError(started.watch.why(master or "")) from error
        raise explained(error, started, started.log, "Spark failed") from error


def explained(error: BaseException, started: Started | None, log: Path | None, what: str) -> Exception:
    """What to tell of a failure: why in words of our own if it is known, else Java's first line; and the kept log."""
    kept = keep_log(log)
    where = f"; Spark's log is {kept}" if kept else ""
    jvm = started.jvm if started else None
    said = known(error, _end_of(log))
    if not said and jvm_gone(error) and jvm is not None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            jvm.wait(_JVM_GONE_SECONDS)
        ended = "ended" if jvm.returncode is None or jvm.returncode >= 0 else f"was killed by signal {-jvm.returncode}"
        said = f"its JVM {ended}"
    return JobError(f"{what}: {said or first_line(error)}{where}")


def _end_of(log: Path | None) -> str:
    if log is None or not log.exists():
        return ""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - _LOG_TAIL_BYTES))
        return file.read().decode(errors="replace")


def keep_log(log: Path | None) -> Path | None:
    """Copy the JVM's log out of the directory that is about to go; the copy's path, None where there is no log."""
    if log is None or not log.exists():
        return None
    handle, kept = tempfile.mkstemp(prefix="floodmark-spark-", suffix=".log")
    os.close(handle)
    shutil.copyfile(log, kept)
    return Path(kept)


@contextlib.contextmanager
def _environment(java: Java, *, local: bool) -> Iterator[None]:
    """What Spark reads from the environment, for as long as it runs."""
    ours = {
        "JAVA_HOME": str(java.home),
        # Workers would take whatever python3 is on PATH, which need not have our libraries.
        "PYSPARK_PYTHON": sys.executable if local else os.environ.get("PYSPARK_PYTHON", sys.executable),
        "PYSPARK_DRIVER_PYTHON": sys.executable,
    }
    if local:
        # Without it Spark warns that it prefers another interface's address.
        ours["SPARK_LOCAL_IP"] = _LOOPBACK
    # SPARK_HOME may belong to another Spark than the one that is imported; the two must be the same version.
    # SPARK_REMOTE is for when no master is named, but PySpark would take it for one in any case.
    theirs = ("SPARK_HOME", "SPARK_REMOTE")
    before = {name: os.environ.get(name) for name in (*ours, *theirs)}
    os.environ.update(ours)
    for name in theirs:
        os.environ.pop(name, None)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def cache_options(java: Java, training: Training | None) -> list[str]:
    """What the JVM is told about its cache. Its chatter about a cache that does not fit would fill the log."""
    if training is not None:
        return [f'"-XX:AOTCacheOutput={training.output}"', "-Xlog:disable"]
    return [f'"-XX:AOTCache={java.cache}"', "-Xlog:disable"] if java.cache else []


def cores(spark: "SparkSession") -> int:
    """How many tasks run at a time."""
    if not connecting.is_connected(spark):
        return int(spark.sparkContext.defaultParallelism)
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - see start

    # A range is dealt out to all of them; a server does not say how many they are.
    return spark.range(_MANY_CORES).select(F.spark_partition_id().alias("task")).distinct().count()


def cancel(spark: "SparkSession") -> None:
    """End whatever runs."""
    if connecting.is_connected(spark):
        spark.interruptAll()
    else:
        spark.sparkContext.cancelAllJobs()


def shares_this_python(spark: "SparkSession") -> bool:
    """Whether tasks run with the very Python that this is, and so have floodmark."""
    return not connecting.is_connected(spark) and masters.is_local(spark.conf.get("spark.master"))


def _settings(master: str | None, events: int, scratch: Path, cache: list[str]) -> dict[str, str]:
    cores = os.cpu_count() or 1
    settings = {
        "spark.app.name": APPLICATION,
        "spark.master": master or "local[*]",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # Both are for who debugs a query, and take a fifth of the time of those that have little data.
        "spark.python.sql.dataFrameDebugging.enabled": "false",
        "spark.sql.lightweightPlanChangeValidation": "false",
        # Hadoop tries for a quarter of an hour by default to reach a host that is silent.
        "spark.hadoop.ipc.client.connect.max.retries.on.timeouts": "1",
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.driver.extraJavaOptions": _java_options(events, scratch, cache),
    }
    if masters.is_here(master):
        # Without these the driver opens a port on every interface.
        settings |= {"spark.driver.bindAddress": _LOOPBACK, "spark.driver.host": _LOOPBACK}
    if masters.is_local(master):
        settings |= {
            "spark.driver.memory": _memory(),
            "spark.local.dir": str(scratch / "local"),
            "spark.sql.shuffle.partitions": str(2 * cores),
        }
    return _of_session(events) | settings


def _of_session(events: int) -> dict[str, str]:
    """Settings that a session may have of its own, at any Spark."""
    settings = {"spark.sql.session.timeZone": "UTC"}
    if events < SMALL_EVENTS:
        # A cluster's own number suits its own data; a task costs more than what it would have to do here.
        settings["spark.sql.shuffle.partitions"] = str(_SMALL_PARTITIONS)
    if events < TINY_EVENTS:
        settings |= {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
    return settings


def _cold(java: Java) -> bool:
    """Whether ``floodmark spark warm`` would help: not where ``JAVA_HOME`` names a Java that can have no cache."""
    return java.cache is None and (java.version >= warmth.OLDEST or java.origin != "JAVA_HOME")


def _java_options(events: int, scratch: Path, cache: list[str]) -> str:
    options = [
        "-XX:-UsePerfData",
        f'"-Djava.io.tmpdir={scratch / "tmp"}"',
        f"-Dlog4j2.configurationFile={(scratch / 'log4j2.properties').as_uri()}",
    ]
    if events >= SMALL_EVENTS:
        # A cache is used by the collector that it was made with; this one saves more than a warm start.
        return " ".join([*options, "-XX:+UseParallelGC"])
    return " ".join([*options, "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", *cache])


def _memory() -> str:
    """A quarter of the machine's memory, at most 4 GiB, as Spark writes it."""
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
    jvm: subprocess.Popen[bytes] | None = None
    try:
        with log.open("ab") as sink, interrupts.deferred():
            launch: Any = launch_gateway  # untyped in PySpark
            gateway = launch(conf, {"stdout": sink, "stderr": sink})
            jvm = gateway.proc
        with interrupts.handler_kept():
            context = SparkContext(conf=conf, gateway=gateway)
        spark = SparkSession(context)
        keep_names(spark)
        return spark, gateway.proc
    except BaseException as error:
        # Asked of Java, so before the JVM ends.
        said = known(error, _end_of(log)) or first_line(error)
        if jvm is not None:
            with interrupts.ignored():
                _end(jvm)
        if isinstance(error, Exception):
            raise _not_started(said, settings["spark.master"], keep_log(log)) from error
        raise


def _stop(spark: "SparkSession", jvm: "subprocess.Popen[bytes]") -> None:
    """Stop Spark and its JVM."""
    with contextlib.suppress(Exception):
        spark.stop()
    _end(jvm)


def _end(jvm: "subprocess.Popen[bytes]") -> None:
    """End the JVM, and wait for it: it clears its own temporary files as it goes."""
    from pyspark import SparkContext  # noqa: PLC0415 - imported long before

    gateway: Any = SparkContext._gateway
    if gateway is not None:
        with contextlib.suppress(Exception):
            gateway.shutdown()
        SparkContext._gateway = None
        SparkContext._jvm = None
    if jvm.stdin is not None:
        # The JVM ends when this pipe closes.
        with contextlib.suppress(OSError):
            jvm.stdin.close()
    try:
        jvm.wait(_JVM_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        jvm.kill()
        jvm.wait()


def _not_started(said: str, master: str, log: Path | None) -> Exception:
    if masters.is_local(master):
        return JobError(f"Spark did not start: {said}; its log is {log}")
    return ReportError(f"--master: Spark did not start on {master}: {said}; its log is {log}")
