"""Compiling a subject's Java program against the jars of a release, and running it."""

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Final

from tests.real_kafka.kafka_jars import KafkaUnavailableError, cache_directory, classpath
from tests.real_kafka.vectors.subject import Answers, Subject

SOURCES: Final = Path(__file__).parent / "java"
SHARED: Final = ("Cases.java", "Json.java", "Reflection.java")
"""Sources compiled together with each program."""
JVM: Final = (
    "-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto",
    "--add-opens=java.base/java.lang=ALL-UNNAMED",
)  # fmt: skip
"""Small and quick to start; the last option lets a program set the seed of its thread's random numbers."""
TIMEOUT_SECONDS: Final = 600


def ask(subject: Subject, release: str) -> Answers:
    """Run a subject's program with the classes of a release, and return its answers.

    Raises:
        KafkaUnavailableError: the jars cannot be fetched, or the program cannot be compiled or fails; the message has
            the first lines of its own.
    """
    classes = _compiled(subject, release)
    questions = "" if subject.questions is None else json.dumps(subject.questions(release))
    path = classpath(release, subject.jars, classes)
    printed = _run(["java", *JVM, "-cp", path, subject.java_class], subject, release, questions)
    try:
        answers: Any = json.loads(printed)
    except ValueError as error:
        raise KafkaUnavailableError(f"Kafka {release}: {subject.java_class} printed no JSON: {error}") from None
    if not isinstance(answers, dict):
        raise KafkaUnavailableError(
            f"Kafka {release}: {subject.java_class} printed {type(answers).__name__}, no object"
        )
    return answers


def _compiled(subject: Subject, release: str) -> Path:
    """Directory of the compiled classes in the cache; its name changes with the sources."""
    sources = [SOURCES / name for name in (*SHARED, f"{subject.java_class}.java")]
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:12]
    directory = cache_directory() / "classes" / f"{subject.java_class}-{release}-{digest}"
    if directory.exists():
        return directory
    path = classpath(release, subject.jars)
    if shutil.which("javac") is None:
        raise KafkaUnavailableError(
            f"Kafka {release}: javac is not on the path; needed is a JDK of version 17 or newer"
        )
    directory.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=directory.parent) as name:
        classes = Path(name) / "classes"
        options = ["-nowarn", "-Xlint:none", "-proc:none", "-J-Xmx384m", "-cp", path, "-d", str(classes)]
        _run(["javac", *options, *map(str, sources)], subject, release)
        try:
            classes.rename(directory)
        except OSError:  # another process was faster
            if not directory.exists():
                raise
    return directory


def _run(command: list[str], subject: Subject, release: str, given: str = "") -> str:
    environment = {name: value for name, value in os.environ.items() if name != "JAVA_TOOL_OPTIONS"}
    try:
        done = subprocess.run(
            command, input=given, capture_output=True, text=True, check=False, timeout=TIMEOUT_SECONDS, env=environment
        )
    except subprocess.TimeoutExpired:
        message = f"Kafka {release}: {command[0]} {subject.java_class} did not end within {TIMEOUT_SECONDS} s"
        raise KafkaUnavailableError(message) from None
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip() and not line.startswith("Note:")]
        reason = "\n  ".join(lines[:12]) or f"exit code {done.returncode}"
        raise KafkaUnavailableError(f"Kafka {release}: {command[0]} {subject.java_class} failed:\n  {reason}")
    return done.stdout
