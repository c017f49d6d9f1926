"""Kafka's own jars from Maven Central, in a cache outside the repository.

A release is one directory of jars, complete or absent: Maven copies into a temporary directory that is renamed at the
end. The cache is ``FLOODMARK_KAFKA_HOME``, else ``floodmark/kafka`` in the user's cache directory.
"""

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

CLIENTS: Final = "clients"
"""The artifact ``kafka-clients`` alone: what a producer, a consumer or an admin client needs. Served since 0.8.2."""
SERVER: Final = "server"
"""Broker, controller and command-line tools, with all that they need."""

_POM: Final = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>floodmark</groupId><artifactId>kafka-jars</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>
%s
  </dependencies>
</project>
"""
_DEPENDENCY: Final = (
    "    <dependency><groupId>org.apache.kafka</groupId><artifactId>%s</artifactId><version>%s</version></dependency>"
)
_LOG4J_CORE: Final = "log4j-core-2.24.3.jar"
"""What Kafka 4.0 is distributed with, though its artifacts do not ask for it."""
_LOG4J_DEPENDENCY: Final = (
    "    <dependency><groupId>org.apache.logging.log4j</groupId><artifactId>log4j-slf4j-impl</artifactId>"
    "<version>%s</version></dependency>"
)


class KafkaUnavailableError(Exception):
    """Kafka cannot be run here; the message names what is missing."""


def missing_programs() -> list[str]:
    """Return the programs among ``mvn``, ``java`` and ``javac`` that are not on the path."""
    return [name for name in ("mvn", "java", "javac") if shutil.which(name) is None]


def cache_directory() -> Path:
    """Return the directory that holds the jars of every release, which need not exist."""
    if home := os.environ.get("FLOODMARK_KAFKA_HOME"):
        return Path(home)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "floodmark" / "kafka"


def fetch_jars(release: str, kind: str = SERVER) -> list[Path]:
    """Return the jars of a release, sorted by name, and download them if the cache does not have them.

    Args:
        release: a release that Maven Central serves, such as ``4.1.2``.
        kind: :data:`CLIENTS` or :data:`SERVER`.

    Raises:
        KafkaUnavailableError: Maven is missing or failed, for example because nobody serves this release.

    """
    directory = cache_directory() / f"{release}-{kind}"
    if not directory.exists():
        _download(release, kind, directory)
    return sorted(directory.glob("*.jar"))


def classpath(release: str, kind: str = SERVER, *before: Path) -> str:
    """Return a class path of the given directories or jars followed by the jars of a release."""
    return os.pathsep.join(str(each) for each in (*before, *fetch_jars(release, kind)))


def logging_jars(release: str) -> list[Path]:
    """Return the jars without which a server of a release logs nothing: since 4.0 the link from SLF4J to Log4j.

    Raises:
        KafkaUnavailableError: as :func:`fetch_jars`.
    """
    names = {jar.name for jar in fetch_jars(release, SERVER)}
    if any(name.startswith(("slf4j-reload4j-", "slf4j-log4j12-")) for name in names):
        return []
    core = next((name for name in names if name.startswith("log4j-core-")), _LOG4J_CORE)
    version = core.removeprefix("log4j-core-").removesuffix(".jar")
    directory = cache_directory() / f"log4j-slf4j-impl-{version}"
    if not directory.exists():
        _copy_dependencies(f"Log4j {version}", "its", directory, [_LOG4J_DEPENDENCY % version])
    return sorted(jar for jar in directory.glob("log4j-*.jar") if jar.name not in names)


def _download(release: str, kind: str, directory: Path) -> None:
    dependencies = [_DEPENDENCY % (artifact, release) for artifact in _artifacts(release, kind)]
    _copy_dependencies(f"Kafka {release}", kind, directory, dependencies)


def _copy_dependencies(what: str, kind: str, directory: Path, dependencies: list[str]) -> None:
    if missing := missing_programs():
        message = f"{what}: not on the path: {', '.join(missing)}; needed are Maven and a JDK of version 17 or newer"
        raise KafkaUnavailableError(message)
    directory.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=directory.parent) as name:
        work = Path(name)
        (work / "pom.xml").write_text(_POM % "\n".join(dependencies), encoding="utf-8")
        copy = ["mvn", "-q", "-B", "-Dstyle.color=never", "dependency:copy-dependencies", "-DincludeScope=runtime"]
        copy.append(f"-DoutputDirectory={work / 'jars'}")
        done = subprocess.run(copy, cwd=work, capture_output=True, text=True, check=False)
        if done.returncode:
            lines = [line for line in done.stdout.splitlines() if "ERROR" in line] or ["no message"]
            reason = re.sub(r"\x1b\[[0-9;]*m", "", lines[0]).strip()
            raise KafkaUnavailableError(f"{what}: Maven cannot fetch {kind} jars: {reason}")
        try:
            (work / "jars").rename(directory)
        except OSError:  # another process was faster
            if not directory.exists():
                raise


def _artifacts(release: str, kind: str) -> list[str]:
    """Artifacts of a kind. Scala 2.13 is served since 2.4, 2.12 since 0.10.1.1; tools have their own jar since 1.1."""
    if kind == CLIENTS:
        return ["kafka-clients"]
    numbers = [int(part) for part in release.split(".")]
    scala = "kafka_2.13" if numbers >= [2, 4] else "kafka_2.12" if numbers >= [0, 10, 1, 1] else "kafka_2.11"
    return [scala] if numbers < [1, 1] else [scala, "kafka-tools"]
