"""Directories on file systems that only Spark can read: HDFS, object stores, and other Hadoop file systems.

They are read with Spark's reader of whole files, which works on any master and through Spark Connect: one job lists a
directory, one reads its small files, and of large ones the length, the digest and the last bytes, which are needed to
check a session. Other contents are read when needed, and only once.
"""

import contextlib
import errno
import io
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, BinaryIO, Final, Literal

from playbooks.session_format import session_files
from spark_report.spark.errors import first_line, jvm_gone
from spark_report.spark.session import RunningSpark, keep_log

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer
    from pyspark.sql import Column, DataFrame, SparkSession

TAIL_BYTES: Final = 1 << 20
"""Bytes read from the end of a large file; the log of a torn session is searched as far for a complete line."""
MOST_BYTES: Final = 1 << 30
"""Largest file that is checked, because an executor has it in memory."""

_AT_ONCE: Final = (
    session_files.START,
    session_files.MANIFEST,
    session_files.RESULT,
    session_files.WHY,
    session_files.EVENTS_PARQUET,
    session_files.LEDGER,
    session_files.FINAL_READ,
)
_LOCAL: Final = re.compile(r"file:(?://)?(?=/)")
_PARTS: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?://[^/]*)?(.*)", re.DOTALL)
_CLASS: Final = re.compile(r"^(?:(?:[a-z]\w*\.)+[A-Z][\w$]*(?:Exception|Error): )+")
_WORDS: Final = (
    (r'No FileSystem for scheme "([^"]+)"', "Spark has no file system for the scheme {}"),
    (r"Class (\S+) not found", "Spark lacks the jar with {}; add it to spark.jars.packages in spark-defaults.conf"),
    (r"UnknownHostException: (?:Invalid host name: )?\W*([\w.-]+)", "unknown host {}"),
    (r"Call From \S+ to (\S+) failed on (?:connection|socket timeout)", "no server responds at {}"),
    (r"Empty Mount table in config for (\S+)", "no fs.viewfs.mounttable settings for {}"),
    (r"(Permission denied)", "{}"),
)


@dataclass(frozen=True, slots=True)
class Address:
    """URI of a remote directory, before Spark is started."""

    uri: str

    def __str__(self) -> str:
        return self.uri

    @property
    def name(self) -> str:
        """Last part of the URI."""
        return self.uri.rstrip("/").rpartition("/")[2]


def parse_path(text: str) -> Path | Address:
    """Parse a path on a command line: without a scheme, or with ``file:``, it is local."""
    if local := _LOCAL.match(text):
        return Path(text[local.end() :])
    return Address(text.rstrip("/") if text.count("/") > 3 else text) if session_files.has_scheme(text) else Path(text)


@dataclass(frozen=True, slots=True)
class FileStat:
    """Size of a file, in the format of ``os.stat_result``."""

    st_size: int


@dataclass(slots=True)
class _FileContent:
    """Digest and last bytes of a file; a small file is complete."""

    sha256: str
    tail: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class HadoopPath:
    """A remote file or directory, with the methods of :class:`pathlib.Path` that reading a session needs."""

    uri: str
    _shelf: "_Shelf" = field(repr=False, compare=False)

    def __str__(self) -> str:
        return self.uri

    def __truediv__(self, name: str) -> "HadoopPath":
        return HadoopPath(f"{self.uri.rstrip('/')}/{name}", self._shelf)

    @property
    def name(self) -> str:
        """Last part of the path."""
        return self.uri.rstrip("/").rpartition("/")[2]

    @property
    def parent(self) -> "HadoopPath":
        """The parent directory."""
        return HadoopPath(self.uri.rstrip("/").rpartition("/")[0], self._shelf)

    @property
    def trouble(self) -> str:
        """The reason why the directory cannot be read; empty if it can, or does not exist."""
        return self._shelf.trouble

    def brought_for(self, command: str) -> str:
        """Return the shell command that copies it to a local disk and runs a floodmark command on it."""
        return f"hadoop fs -get {quote(self.uri)} && floodmark {command} {quote(self.name)}"

    def resolve(self) -> "HadoopPath":
        """Return itself, because there are no links."""
        return self

    def exists(self) -> bool:
        """Return whether the file or directory exists."""
        return self.is_file() or self.is_dir()

    def is_file(self) -> bool:
        """Return whether it is a file; an empty file is not found."""
        return self.uri in self._shelf.files

    def is_dir(self) -> bool:
        """Return whether it is a directory; a directory without files is not found."""
        return self._shelf.is_directory(self.uri)

    def iterdir(self) -> Iterator["HadoopPath"]:
        """Yield the entries of a directory, by name."""
        for name in self._shelf.names(self.uri):
            yield self / name

    def glob(self, pattern: str) -> Iterator["HadoopPath"]:
        """Yield the entries of a directory whose names match a pattern."""
        return (path for path in self.iterdir() if fnmatchcase(path.name, pattern))

    def stat(self) -> FileStat:
        """Return the file's size. Raises FileNotFoundError."""
        return FileStat(self._shelf.size(self.uri))

    def open(self, _mode: Literal["rb"], /) -> BinaryIO:
        """Open the file; bytes near the end are read faster. Raises OSError."""
        return io.BufferedReader(_Ending(self.stat().st_size, partial(self._shelf.content, self.uri)))

    def read_text(self, encoding: str | None = None) -> str:
        """Return the text of a small file. Raises OSError, UnicodeDecodeError."""
        return self._shelf.content(self.uri, self.stat().st_size).tail.decode(encoding or "utf-8")

    def sha256(self) -> str:
        """Return the digest of the file, computed by an executor. Raises OSError."""
        return self._shelf.content(self.uri).sha256

    def first_words(self, pattern: str) -> Counter[str]:
        """Return first group of a Java pattern → number of matching lines. Raises OSError."""
        return self._shelf.first_words(self.uri, pattern)


AnyPath = Path | HadoopPath
"""Path of a session or campaign, local or remote."""


def resolve_remote(started: RunningSpark | None, paths: Iterable[Path | Address]) -> list[AnyPath]:
    """List remote directories with Spark; local paths are returned unchanged, and need no Spark."""
    resolved: list[AnyPath] = []
    for path in paths:
        if isinstance(path, Path):
            resolved.append(path)
            continue
        assert started is not None
        resolved.append(HadoopPath(path.uri, _Shelf(started, path.uri)))
    return resolved


def escaped_path(path: AnyPath) -> str:
    """Return a path for Spark's readers, with glob characters escaped."""
    return _literal(f"file:{path.resolve()}" if isinstance(path, Path) else str(path))


class _Shelf:
    """Cache of the listing and contents of a remote directory."""

    def __init__(self, started: RunningSpark, root: str) -> None:
        self._spark: SparkSession = started.spark
        self._root = root
        self.files: dict[str, int] = {}
        """URI → size in bytes."""
        self.trouble = ""
        self._directories: dict[str, set[str]] = {}
        self._contents: dict[str, _FileContent] = {}
        try:
            self._list()
            self._bring_what_sessions_have()
        except Exception as error:
            if jvm_gone(error):
                raise
            if "PATH_NOT_FOUND" in str(error):
                return
            log = keep_log(started.log)
            kept = f"; Spark's log is {log}" if log else ""
            self.trouble = f"cannot be read: {_why(error)}{kept}"

    def is_directory(self, uri: str) -> bool:
        return uri in self._directories

    def names(self, uri: str) -> list[str]:
        return sorted(self._directories.get(uri, ()))

    def size(self, uri: str) -> int:
        if uri not in self.files:
            raise FileNotFoundError(errno.ENOENT, "No such file or directory", uri)
        return self.files[uri]

    def content(self, uri: str, least: int = 0) -> _FileContent:
        """Return the digest of a file, and at least ``least`` of its last bytes."""
        size = self.size(uri)
        if size > MOST_BYTES:
            raise OSError(errno.EFBIG, f"it has {size} bytes; remote files are checked up to {MOST_BYTES} bytes")
        known = self._contents.get(uri)
        if known is None or len(known.tail) < min(size, least):
            with _as_os_error(uri):
                self._bring([uri], max(least, TAIL_BYTES))
        return self._contents[uri]

    def first_words(self, uri: str, pattern: str) -> Counter[str]:
        from pyspark.sql import functions as F  # noqa: N812, PLC0415 - see session.start

        word = F.regexp_extract("value", pattern, 1).alias("word")
        with _as_os_error(uri):
            lines = self._spark.read.text(_literal(uri)).select(word)
            counted = lines.filter("word != ''").groupBy("word").count().collect()
        return Counter({row["word"]: row["count"] for row in counted})

    def _list(self) -> None:
        above = len(_steps(self._root))
        self._directories[self._root] = set()
        try:
            listed = self._files(self._root).select("path", "length").collect()
        except BaseException:
            self._directories.clear()
            raise
        for row in listed:
            # Hadoop normalises the URI's authority, such as a default port.
            steps = _steps(row["path"])[above:]
            if not steps:
                self._directories.clear()
            above_it = self._root
            for step in steps:
                self._directories.setdefault(above_it, set()).add(step)
                above_it = f"{above_it.rstrip('/')}/{step}"
            self.files[above_it] = row["length"]

    def _bring_what_sessions_have(self) -> None:
        root = HadoopPath(self._root, self)
        inside = session_files.sessions_under(root) if not (root / session_files.START).exists() else []
        wanted = [path / name for path in (root, *inside) for name in _AT_ONCE]
        self._bring([path.uri for path in wanted if self.files.get(path.uri, MOST_BYTES + 1) <= MOST_BYTES], TAIL_BYTES)

    def _bring(self, uris: Sequence[str], tail: int) -> None:
        from pyspark.sql import functions as F  # noqa: N812, PLC0415 - see session.start

        if not uris:
            return
        wanted = {tuple(_steps(uri)): uri for uri in uris}
        content: Column = F.col("content")
        end = F.when(F.col("path").rlike(r"\.json$"), content).otherwise(F.expr(f"substring(content, -{tail})"))
        frame = self._files(*uris).select("path", F.sha2(content, 256).alias("sha256"), end.alias("tail"))
        for row in frame.collect():
            uri = wanted[tuple(_steps(row["path"]))]
            self._contents[uri] = _FileContent(row["sha256"], bytes(row["tail"]))

    def _files(self, *uris: str) -> "DataFrame":
        # With recursiveFileLookup Spark does not interpret directories as partition columns.
        reader = self._spark.read.format("binaryFile").option("recursiveFileLookup", "true")
        return reader.load([_literal(uri) for uri in uris])


class _Ending(io.RawIOBase):
    """A file whose last bytes are cached; earlier bytes are read when needed."""

    def __init__(self, size: int, content: Callable[[int], _FileContent]) -> None:
        self._size = size
        self._content = content
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        begin = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = begin + offset
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        room = memoryview(buffer).cast("B")
        left = self._size - self._at
        if left <= 0:
            return 0
        tail = self._content(left).tail
        begin = len(tail) - left
        found = tail[begin : begin + len(room)]
        room[: len(found)] = found
        self._at += len(found)
        return len(found)


@contextlib.contextmanager
def _as_os_error(uri: str) -> Iterator[None]:
    """Convert Spark's errors about a file to OSError."""
    try:
        yield
    except Exception as error:
        if jvm_gone(error):
            raise
        raise OSError(errno.EIO, _why(error), uri) from error


def _literal(text: str) -> str:
    """Escape Hadoop's glob characters in a path."""
    return re.sub(r"([\\\[\]{}*?,])", r"\\\1", text)


def _steps(uri: str) -> list[str]:
    """Return the parts of a file's path."""
    known = _PARTS.fullmatch(uri)
    return [step for step in (known[1] if known else uri).split("/") if step]


def _why(error: BaseException) -> str:
    """Return a plain description of a known Hadoop error, else its message in one line without Java class names."""
    message = first_line(error)
    for pattern, text in _WORDS:
        if found := re.search(pattern, message):
            return text.format(found[1])
    return _CLASS.sub("", message)
