"""Processes of a run: Kafka's servers and the Java program of the clients, each in a network namespace.

Signals are those of the faults: SIGKILL for a crash, SIGTERM for a clean shutdown, SIGSTOP and SIGCONT for a pause.
"""

import contextlib
import hashlib
import json
import os
import queue
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tests.real_kafka.history import METADATA_LOG
from tests.real_kafka.kafka_jars import SERVER, KafkaUnavailableError, cache_directory, classpath, logging_jars
from tests.real_kafka.namespaces import Namespace
from tests.real_kafka.settings import properties_text

SERVER_HEAP: Final = "384m"
CLIENT_HEAP: Final = "96m"
_JVM: Final = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-Djava.net.preferIPv4Stack=true")
_STARTED: Final = "Kafka Server started"
_DERIVED: Final = (".index", ".timeindex", ".txnindex", ".lock", ".cleaned", ".swap")
"""Ends of file names in a log directory that say nothing that the logs do not."""
_JAVA: Final = Path(__file__).parent / "java"

_LOG4J2: Final = """\
<Configuration status="WARN">
  <Appenders><Console name="out"><PatternLayout pattern="[%d{ISO8601}] %p %m (%c)%n"/></Console></Appenders>
  <Loggers>
    <Root level="INFO"><AppenderRef ref="out"/></Root>
    <Logger name="org.apache.kafka.clients" level="WARN"/>
  </Loggers>
</Configuration>
"""
_LOG4J: Final = """\
log4j.rootLogger=INFO, out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=[%d{ISO8601}] %p %m (%c)%n
log4j.logger.org.apache.kafka.clients=WARN
"""


def logging_options(directory: Path) -> list[str]:
    """Write the logging configurations (log4j up to 3.9, log4j2 since 4.0), and return the options of the JVM."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "log4j2.xml").write_text(_LOG4J2, encoding="utf-8")
    (directory / "log4j.properties").write_text(_LOG4J, encoding="utf-8")
    return [
        f"-Dlog4j2.configurationFile={directory / 'log4j2.xml'}",
        f"-Dlog4j.configuration=file:{directory / 'log4j.properties'}",
    ]


def compiled_clients(release: str) -> Path:
    """Return the classes of the Java program, compiled against the jars of a release; kept in the cache of jars.

    Raises:
        KafkaUnavailableError: no jars, no compiler, or the program does not compile against this release.
    """
    sources = sorted(_JAVA.rglob("*.java"))
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:12]
    directory = cache_directory() / f"{release}-program-{digest}"
    if directory.exists():
        return directory
    jars = classpath(release, SERVER)
    with tempfile.TemporaryDirectory(dir=directory.parent) as name:
        command = ["javac", "-nowarn", "--release", "17", "-d", f"{name}/classes", "-cp", jars, *map(str, sources)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            first = next((line for line in done.stderr.splitlines() if "error" in line), done.stderr[:200])
            raise KafkaUnavailableError(f"the client program does not compile against Kafka {release}: {first}")
        try:
            Path(name, "classes").rename(directory)
        except OSError:  # another process was faster
            if not directory.exists():
                raise
    return directory


@dataclass(slots=True)
class HostedProcess(ABC):
    """A process in a namespace that can be started, killed, ended, paused and resumed; its output goes to a file."""

    name: str
    """As a target: ``broker(1)``."""
    namespace: Namespace
    log: Path
    process: "subprocess.Popen[bytes] | None" = None
    paused: bool = False

    @abstractmethod
    def start(self) -> None:
        """Start the process without waiting until it is ready."""

    def spawn(self, command: Sequence[str], *, piped: bool = False) -> "subprocess.Popen[bytes]":
        """Start a command. Call it from a thread that outlives the process: its end kills the process."""
        self.log.parent.mkdir(parents=True, exist_ok=True)
        pipe = subprocess.PIPE if piped else None
        with self.log.open("ab") as output:
            self.process = subprocess.Popen(
                self.namespace.command(*command),
                stdin=pipe or subprocess.DEVNULL,
                stdout=pipe or output,
                stderr=output,
                pass_fds=(self.namespace.net_fd,),
                start_new_session=True,
            )
        self.paused = False
        return self.process

    @property
    def is_up(self) -> bool:
        """Whether the process runs; a paused one does."""
        return self.process is not None and self.process.poll() is None

    @property
    def exit_code(self) -> int | None:
        """Exit code, negative for a signal; None while it runs or before its first start."""
        return None if self.process is None else self.process.poll()

    def kill(self) -> None:
        """Kill the process and wait until it is gone."""
        self._signal(signal.SIGKILL)
        if self.process is not None:
            self.process.wait()
        self.paused = False

    def terminate(self) -> None:
        """Ask the process to shut down cleanly."""
        self._signal(signal.SIGTERM)

    def pause(self) -> None:
        """Stop the process as a stop-the-world garbage collection does."""
        self._signal(signal.SIGSTOP)
        self.paused = True

    def resume(self) -> None:
        """Let a paused process continue."""
        self._signal(signal.SIGCONT)
        self.paused = False

    def _signal(self, number: int) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(number)


@dataclass(slots=True)
class ServerProcess(HostedProcess):
    """A broker, a controller, or both in one; ``directory`` holds its properties and its logs."""

    node: int = 0
    directory: Path = Path()
    release: str = ""
    options: tuple[str, ...] = ()
    """Options of the JVM."""
    starts: int = 0
    _from: int = 0
    """Size of the log file at the last start."""

    @property
    def log_dir(self) -> Path:
        """Its ``log.dirs``."""
        return self.directory / "log"

    @property
    def _properties(self) -> Path:
        return self.directory / "server.properties"

    def _java(self, main: str, *arguments: str) -> list[str]:
        heap = f"-Xmx{SERVER_HEAP}"
        jars = classpath(self.release, SERVER, *logging_jars(self.release))
        return ["java", heap, *_JVM, *self.options, "-cp", jars, main, *arguments]

    def format(self, config: Mapping[str, str], cluster_id: str, features: Mapping[str, int]) -> None:
        """Write the properties and format the storage.

        Raises:
            KafkaUnavailableError: Kafka's StorageTool refuses.
        """
        self.directory.mkdir(parents=True, exist_ok=True)
        self._properties.write_text(properties_text({**config, "log.dirs": str(self.log_dir)}), encoding="utf-8")
        command = self._java("kafka.tools.StorageTool", "format", "-t", cluster_id, "-c", str(self._properties))
        for name, level in features.items():
            command += ["--feature", f"{name}={level}"]
        done = subprocess.run(
            self.namespace.command(*command),
            pass_fds=(self.namespace.net_fd,),
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            lines = (done.stderr.strip() or done.stdout.strip() or "no message").splitlines()
            raise KafkaUnavailableError(f"StorageTool cannot format {self.name}: {lines[-1]}")

    def start(self) -> None:
        """Start the server without waiting until it is ready."""
        self._from = self.log.stat().st_size if self.log.exists() else 0
        self.starts += 1
        self.spawn(self._java("kafka.Kafka", str(self._properties)))

    @property
    def is_ready(self) -> bool:
        """Whether the server has written since its last start that it has started."""
        if not self.is_up:
            return False
        with self.log.open("rb") as file:
            file.seek(self._from)
            return _STARTED.encode() in file.read()

    def copy_logs(self, target: Path, *, metadata: bool = True) -> None:
        """Copy its log directory without indexes; ``metadata``: its copy of the metadata log, too."""

        def left_out(directory: str, names: list[str]) -> set[str]:
            del directory
            unwanted = {name for name in names if name.endswith(_DERIVED)}
            return unwanted if metadata else unwanted | {METADATA_LOG}

        if self.log_dir.exists():
            shutil.copytree(self.log_dir, target, ignore=left_out, dirs_exist_ok=True)

    def log_tail(self, lines: int = 15) -> str:
        """Return the last lines of its log, for an error message."""
        return "\n".join(self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])


class AdminError(Exception):
    """Kafka's answer to an operation of the admin client; ``code`` is the name of the error."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(slots=True)
class PendingAnswer:
    """Answer of the admin client, as soon as it has arrived."""

    done: threading.Event = field(default_factory=threading.Event)
    result: Any = None
    error: str = ""
    """Name of the error, or the class of the exception."""
    message: str = ""

    def wait(self, seconds: float) -> Any:
        """Return the result. Raises :class:`AdminError`, also if it does not arrive in time."""
        if not self.done.wait(seconds):
            raise AdminError("REQUEST_TIMED_OUT", f"no answer of the admin client within {seconds:g} s")
        if self.error:
            raise AdminError(self.error, self.message)
        return self.result


@dataclass(slots=True)
class ClientProcess(HostedProcess):
    """The Java program with one or more clients, and perhaps the admin client."""

    release: str = ""
    history: Path = Path()
    settings: Mapping[str, Path] = field(default_factory=dict)
    """Name of each client → its settings file."""
    arguments: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    on_event: Callable[[Mapping[str, Any]], None] = lambda event: None
    """Called in a thread for every line that is no answer."""
    incarnation: int = 0
    begun: bool = False
    """Whether its clients work; before that a process stands by, with its classes loaded."""
    ready: threading.Event = field(default_factory=threading.Event)
    _answers: dict[str, PendingAnswer] = field(default_factory=dict)
    _lines: "queue.SimpleQueue[str | None]" = field(default_factory=queue.SimpleQueue)
    _threads: tuple[threading.Thread, ...] = ()
    _asked: int = 0

    @property
    def is_up(self) -> bool:
        """Whether the clients run; a process that stands by is none."""
        return self.begun and self.process is not None and self.process.poll() is None

    @property
    def stands_by(self) -> bool:
        """Whether a process waits for the command to begin."""
        return not self.begun and self.process is not None and self.process.poll() is None

    def begin(self, start_unix_us: int) -> None:
        """Let the clients work, in a scenario that began at this time."""
        self.begun = True
        self.send("begin", str(start_unix_us))

    def start(self) -> None:
        """Start the program without waiting until it is ready; it stands by."""
        self.incarnation += 1
        self.begun = False
        self.ready.clear()
        jars = classpath(self.release, SERVER, compiled_clients(self.release), *logging_jars(self.release))
        command = ["java", f"-Xmx{CLIENT_HEAP}", *_JVM, *self.options, "-cp", jars]
        command += ["realkafka.Main", str(self.history), *self.arguments, *map(str, self.settings.values())]
        process = self.spawn(command, piped=True)
        self._lines = queue.SimpleQueue()
        reader = threading.Thread(target=self._read, args=(process,), daemon=True)
        writer = threading.Thread(target=self._write, args=(process, self._lines), daemon=True)
        self._threads = (reader, writer)
        for thread in self._threads:
            thread.start()

    def kill(self) -> None:
        """Kill the process, and wait until it is gone and everything that it wrote has been read."""
        HostedProcess.kill(self)
        for thread in self._threads:
            thread.join(5)

    def send(self, *words: str) -> None:
        """Send a command; a process that is down does not get it."""
        self._lines.put("\t".join(words) + "\n")

    def ask(self, verb: str, parameters: Mapping[str, str]) -> PendingAnswer:
        """Send an operation to the admin client."""
        self._asked += 1
        answer = self._answers[str(self._asked)] = PendingAnswer()
        self.send("admin", str(self._asked), verb, *(f"{name}={value}" for name, value in parameters.items()))
        return answer

    @staticmethod
    def _write(process: "subprocess.Popen[bytes]", lines: "queue.SimpleQueue[str | None]") -> None:
        """Write commands in a thread of their own: a paused process reads nothing."""
        assert process.stdin is not None
        with contextlib.suppress(OSError), process.stdin as stream:  # a process that is down reads no commands
            while (line := lines.get()) is not None:
                stream.write(line.encode())
                stream.flush()

    def _read(self, process: "subprocess.Popen[bytes]") -> None:
        assert process.stdout is not None
        lines = self._lines
        with process.stdout as stream:
            for line in stream:
                try:
                    event = json.loads(line)
                except ValueError:  # the last line of a killed process
                    continue
                if event.get("event") == "ready":
                    self.ready.set()
                elif event.get("event") == "answer":
                    self._answered(event)
                else:
                    self.on_event(event)
        lines.put(None)

    def _answered(self, event: Mapping[str, Any]) -> None:
        answer = self._answers.pop(str(event["id"]), None)
        if answer is None:
            return
        code = str(event.get("error") or "")
        answer.error = str(event.get("exception")) if code == "NONE" else code
        answer.message = str(event.get("message", ""))
        answer.result = event.get("result")
        answer.done.set()


def wait_until(
    condition: Callable[[], bool], seconds: float, what: str, tick: Callable[[], None] = lambda: None
) -> None:
    """Wait until a condition holds; ``tick`` is called between the attempts and may raise.

    Raises:
        TimeoutError: it does not hold in time.
    """
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"{what} within {seconds:g} s")
        tick()
        time.sleep(0.05)


def unused_directory(prefix: str) -> Path:
    """Return a new temporary directory on disk."""
    return Path(tempfile.mkdtemp(prefix=prefix, dir=os.environ.get("TMPDIR")))
