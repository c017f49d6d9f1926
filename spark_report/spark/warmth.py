"""The JVM's ahead-of-time cache: Spark's classes as they were loaded and linked once, mapped in by every later start.

Java 25 can write one as a JVM ends (JEP 514, JEP 515). A file fits one Java, one PySpark and one environment, so its
name is drawn from these, and a note beside it says what it was made for. The JVM checks the file itself: one that is
torn, or was made for other jars, is passed over and costs nothing but the time it would have saved.
"""

import contextlib
import hashlib
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Final

OLDEST: Final = 25
"""The first Java whose cache is made in one go, with the profiles of the methods in it."""

_SUFFIX: Final = ".aot"
_PART: Final = ".part-"


@dataclass(frozen=True, slots=True)
class Warm:
    """A cache and what it was made for."""

    home: str
    """Home of the Java, the real one."""
    version: int
    origin: str
    """Where that Java was found, for a person."""
    has_vector: bool
    java_stamp: str
    """Size and time of the Java's program: another Java in the same place is another Java."""
    pyspark: str
    environment: str
    """The Python environment that holds PySpark's jars."""
    bytes: int = 0


def cache_folder(environ: Mapping[str, str], platform: str = sys.platform) -> Path | None:
    """Where this platform keeps what a program can make again; None where the environment names no home."""
    named, home = environ.get("XDG_CACHE_HOME") or "", environ.get("HOME") or ""
    if Path(named).is_absolute():
        return Path(named) / "floodmark"
    if not Path(home).is_absolute():
        return None
    return Path(home) / ("Library/Caches" if platform == "darwin" else ".cache") / "floodmark"


def folder(environ: Mapping[str, str]) -> Path | None:
    """Where the caches are."""
    root = cache_folder(environ)
    return None if root is None else root / "spark"


def stamp(home: Path) -> str:
    """What tells one Java program from another in its place; empty where there is none."""
    try:
        found = (home / "bin" / "java").stat()
    except OSError:
        return ""
    return f"{found.st_size}-{found.st_mtime_ns}"


def described(home: Path, version: int, origin: str, *, has_vector: bool) -> Warm:
    """What a cache made now with this Java would be for."""
    return Warm(str(home), version, origin, has_vector, stamp(home), metadata.version("pyspark"), sys.prefix)


def file_of(warm: Warm, environ: Mapping[str, str]) -> Path | None:
    """The cache's file, there or not."""
    root = folder(environ)
    made_for = (warm.home, warm.java_stamp, warm.pyspark, warm.environment)
    name = hashlib.sha256("\n".join(made_for).encode()).hexdigest()[:16]
    return None if root is None else root / f"{name}{_SUFFIX}"


def all_warm(environ: Mapping[str, str]) -> list[tuple[Path, Warm]]:
    """Every cache with a readable note, whatever it was made for."""
    root = folder(environ)
    found = []
    for file in sorted(root.glob(f"*{_SUFFIX}")) if root is not None else ():
        with contextlib.suppress(OSError, ValueError, TypeError):
            found.append((file, Warm(**json.loads(_note(file).read_text(encoding="utf-8")))))
    return found


def usable(environ: Mapping[str, str]) -> tuple[Path, Warm] | None:
    """The cache for this PySpark in this environment, with a Java that is still what it was.

    A Java that ``JAVA_HOME`` names is meant, and no other is taken in its place.
    """
    wanted = environ.get("JAVA_HOME")
    for file, warm in all_warm(environ):
        meant = not wanted or Path(wanted).resolve() == Path(warm.home).resolve()
        if meant and file == file_of(warm, environ) and fits(file, warm):
            return file, warm
    return None


def fits(file: Path, warm: Warm) -> bool:
    """Whether the file is whole, and made for what there is now."""
    now = described(Path(warm.home), warm.version, warm.origin, has_vector=warm.has_vector)
    return _size(file) == warm.bytes > 0 and (warm.java_stamp, warm.pyspark, warm.environment) == (
        now.java_stamp,
        now.pyspark,
        now.environment,
    )


def keep(part: Path, file: Path, warm: Warm) -> Warm:
    """Put a finished cache in its place in one step, its note after it: without a note it is not used."""
    whole = Warm(**{**asdict(warm), "bytes": _size(part)})
    _note(file).unlink(missing_ok=True)
    part.replace(file)
    draft = _note(part)
    draft.write_text(json.dumps(asdict(whole), indent=1) + "\n", encoding="utf-8")
    draft.replace(_note(file))
    return whole


def part_in(root: Path) -> Path:
    """A name of its own for a cache that is being made."""
    return root / f"{_PART}{os.getpid()}{_SUFFIX}"


def forget(environ: Mapping[str, str]) -> int:
    """Remove every cache, and what an interrupted making left behind; how many bytes that were."""
    root = folder(environ)
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
