"""Directories on a file system that only Spark can reach: HDFS, an object store, whatever its Hadoop has a scheme for.

All is asked of Spark's reader of whole files, which works on any master and through Spark Connect: one job lists a
directory, one brings its small files, and of the large ones what a session is checked by: length, digest, last bytes.
What is asked for later is brought then, and nothing twice.
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
from spark_report.spark.session import Started, keep_log

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer
    from pyspark.sql import Column, DataFrame, SparkSession

TAIL_BYTES: Final = 1 << 20
"""What is brought of the end of a large file: as far as the log of a torn session is searched for a whole line."""
MOST_BYTES: Final = 1 << 30
"""The largest file that is checked: an executor has it in memory."""

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
    (r'No FileSystem for scheme "([^"]+)"', "Spark has no file system of the scheme {}"),
    (r"Class (\S+) not found", "Spark lacks the jar with {}; spark.jars.packages in spark-defaults.conf names such"),
    (r"UnknownHostException: (?:Invalid host name: )?\W*([\w.-]+)", "there is no host {}"),
    (r"Call From \S+ to (\S+) failed on (?:connection|socket timeout)", "nobody answers at {}"),
    (r"Empty Mount table in config for (\S+)", "no fs.viewfs.mounttable settings for {}"),
    (r"(Permission denied)", "{}"),
)


@dataclass(frozen=True, slots=True)
class Address:
    """A directory there, before there is a Spark to ask."""

    uri: str

    def __str__(self) -> str:
        return self.uri

    @property
    def name(self) -> str:
        """The last part of it."""
        return self.uri.rstrip("/").rpartition("/")[2]


def place(text: str) -> Path | Address:
    """What a path on a command line means: ``file:`` and what has no scheme is on this machine's disks."""
    if local := _LOCAL.match(text):
        return Path(text[local.end() :])
    return Address(text.rstrip("/") if text.count("/") > 3 else text) if session_files.has_scheme(text) else Path(text)


@dataclass(frozen=True, slots=True)
class FileStat:
    """What is known of a file without reading it."""

    st_size: int


@dataclass(slots=True)
class _FileContent:
    """What was brought of a file: its end, which of a small one is all of it."""

    sha256: str
    tail: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class HadoopPath:
    """A file or directory there, with as much of :class:`pathlib.Path` as reading a session takes."""

    uri: str
    _shelf: "_Shelf" = field(repr=False, compare=False)

    def __str__(self) -> str:
        return self.uri

    def __truediv__(self, name: str) -> "HadoopPath":
        return HadoopPath(f"{self.uri.rstrip('/')}/{name}", self._shelf)

    @property
    def name(self) -> str:
        """The last part of it."""
        return self.uri.rstrip("/").rpartition("/")[2]

    @property
    def parent(self) -> "HadoopPath":
        """What it lies in."""
        return HadoopPath(self.uri.rstrip("/").rpartition("/")[0], self._shelf)

    @property
    def trouble(self) -> str:
        """Why nothing there can be read; empty if it can, or if there is nothing."""
        return self._shelf.trouble

    def brought_for(self, command: str) -> str:
        """What brings it to a disk, and has one of floodmark's commands do something with it there."""
        return f"hadoop fs -get {quote(self.uri)} && floodmark {command} {quote(self.name)}"

    def resolve(self) -> "HadoopPath":
        """Itself: there are no links to follow."""
        return self

    def exists(self) -> bool:
        """Whether there is a file or a directory of that name."""
        return self.is_file() or self.is_dir()

    def is_file(self) -> bool:
        """Whether there is a file of that name; an empty one is not seen."""
        return self.uri in self._shelf.files

    def is_dir(self) -> bool:
        """Whether there is a directory of that name; one without files is not seen."""
        return self._shelf.is_directory(self.uri)

    def iterdir(self) -> Iterator["HadoopPath"]:
        """What is in a directory, by name."""
        for name in self._shelf.names(self.uri):
            yield self / name

    def glob(self, pattern: str) -> Iterator["HadoopPath"]:
        """What is in a directory and has a name that fits."""
        return (path for path in self.iterdir() if fnmatchcase(path.name, pattern))

    def stat(self) -> FileStat:
        """Its size. Raises FileNotFoundError."""
        return FileStat(self._shelf.size(self.uri))

    def open(self, _mode: Literal["rb"], /) -> BinaryIO:
        """Its bytes, from the end the cheaper. Raises OSError."""
        return io.BufferedReader(_Ending(self.stat().st_size, partial(self._shelf.content, self.uri)))

    def read_text(self, encoding: str | None = None) -> str:
        """All of a file that is not large. Raises OSError, UnicodeDecodeError."""
        return self._shelf.content(self.uri, self.stat().st_size).tail.decode(encoding or "utf-8")

    def sha256(self) -> str:
        """Digest of the whole file, which nobody had to bring for it. Raises OSError."""
        return self._shelf.content(self.uri).sha256

    def first_words(self, pattern: str) -> Counter[str]:
        """Of the lines that a Java pattern fits its first group → how many such lines. Raises OSError."""
        return self._shelf.first_words(self.uri, pattern)


Somewhere = Path | HadoopPath
"""Where a session or a campaign may be."""


def located(started: Started | None, paths: Iterable[Path | Address]) -> list[Somewhere]:
    """Look at directories through Spark; those on this machine's disks stay what they are, and need none."""
    found: list[Somewhere] = []
    for path in paths:
        if isinstance(path, Path):
            found.append(path)
            continue
        assert started is not None
        found.append(HadoopPath(path.uri, _Shelf(started, path.uri)))
    return found


def spelled(path: Somewhere) -> str:
    """A path as Spark's readers take it, its glob characters meant literally."""
    return _literal(f"file:{path.resolve()}" if isinstance(path, Path) else str(path))


class _Shelf:
    """What lies under a directory, as far as it was looked at."""

    def __init__(self, started: Started, root: str) -> None:
        self._spark: SparkSession = started.spark
        self._root = root
        self.files: dict[str, int] = {}
        """Address → bytes."""
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
        """What is known of a file, and at least so many of its last bytes."""
        size = self.size(uri)
        if size > MOST_BYTES:
            raise OSError(
                errno.EFBIG, f"it has {size} bytes, of files behind a scheme at most {MOST_BYTES} are checked"
            )
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
            # Hadoop has its own spelling of what comes before the path, such as a port that was left out.
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
        asked = {tuple(_steps(uri)): uri for uri in uris}
        content: Column = F.col("content")
        end = F.when(F.col("path").rlike(r"\.json$"), content).otherwise(F.expr(f"substring(content, -{tail})"))
        frame = self._files(*uris).select("path", F.sha2(content, 256).alias("sha256"), end.alias("tail"))
        for row in frame.collect():
            uri = asked[tuple(_steps(row["path"]))]
            self._contents[uri] = _FileContent(row["sha256"], bytes(row["tail"]))

    def _files(self, *uris: str) -> "DataFrame":
        # Told to look everywhere, Spark takes no directory for the value of a column.
        reader = self._spark.read.format("binaryFile").option("recursiveFileLookup", "true")
        return reader.load([_literal(uri) for uri in uris])


class _Ending(io.RawIOBase):
    """A file whose last bytes are at hand; those before them are brought when they are read."""

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
    """What Spark says of a file as Python would say it of one on a disk."""
    try:
        yield
    except Exception as error:
        if jvm_gone(error):
            raise
        raise OSError(errno.EIO, _why(error), uri) from error


def _literal(text: str) -> str:
    """A path in which Hadoop finds no glob."""
    return re.sub(r"([\\\[\]{}*?,])", r"\\\1", text)


def _steps(uri: str) -> list[str]:
    """The names of the directories that lead to a file, and its own."""
    known = _PARTS.fullmatch(uri)
    return [step for step in (known[1] if known else uri).split("/") if step]


def _why(error: BaseException) -> str:
    """What Hadoop says, in words of our own where they are known, else in one line without Java's names."""
    said = first_line(error)
    for pattern, words in _WORDS:
        if found := re.search(pattern, said):
            return words.format(found[1])
    return _CLASS.sub("", said)
