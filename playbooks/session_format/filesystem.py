"""All that a recording does to the disk, each one call of the operating system.

A process can be killed between any two of them. They stand in a class of their own so that a test can stop after the
n-th, for every n, and look at what is left.
"""

import os
import tempfile
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Final


class Fsync(StrEnum):
    """When what is written is forced to the disk: only at the end, about every second, or at each flush.

    Killing the process loses nothing that was handed over, whichever it is. This is for the power going out.
    """

    NEVER = "never"
    INTERVAL = "interval"
    ALWAYS = "always"


_fdatasync: Callable[[int], None] = getattr(os, "fdatasync", os.fsync)


class FileSystem:
    """The operating system's calls. All raise OSError."""

    def make_directory(self, path: Path) -> None:
        """A new directory; FileExistsError if it is there."""
        path.mkdir()

    def create(self, path: Path, *, anew: bool = False) -> int:
        """A new file to append to; ``anew`` cuts one that is there already to nothing."""
        how = os.O_TRUNC if anew else os.O_EXCL
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | how, 0o644)

    def open(self, path: Path) -> int:
        """A file that is there, to append to or to cut."""
        return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)

    def write(self, fd: int, data: bytes | memoryview) -> int:
        """Hand bytes over; returns how many were taken."""
        return os.write(fd, data)

    def truncate(self, fd: int, size: int) -> None:
        """Cut a file to a size."""
        os.ftruncate(fd, size)

    def size(self, fd: int) -> int:
        """How many bytes a file has."""
        return os.fstat(fd).st_size

    def sync_data(self, fd: int) -> None:
        """Force the contents of a file to the disk."""
        _fdatasync(fd)

    def close(self, fd: int) -> None:
        """Let go of a file."""
        os.close(fd)

    def rename(self, old: Path, new: Path) -> None:
        """Give a file its name, in the place of whatever had it."""
        old.replace(new)

    def remove(self, path: Path) -> None:
        """Take a file away."""
        path.unlink()

    def sync_directory(self, path: Path) -> None:
        """Force the names in a directory to the disk."""
        fd = os.open(path, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def put(disk: FileSystem, fd: int, data: bytes) -> None:
    """Write all of ``data``, however little is taken at a time."""
    rest = memoryview(data)
    while rest:
        rest = rest[disk.write(fd, rest) :]


TEMPORARY: Final = ".tmp"
"""How the names of files end that are not whole yet; they begin with a dot."""


def is_temporary(path: Path) -> bool:
    """Whether a file was being written when its process died."""
    return path.name.startswith(".") and path.name.endswith(TEMPORARY)


def write_whole(disk: FileSystem, path: Path, data: bytes) -> None:
    """A file that is there in full or not at all, and stays when the power goes: written aside, forced, renamed."""
    temporary = path.with_name(f".{path.name}{TEMPORARY}")
    fd = disk.create(temporary, anew=True)
    try:
        put(disk, fd, data)
        disk.sync_data(fd)
    finally:
        disk.close(fd)
    disk.rename(temporary, path)
    disk.sync_directory(path.parent)


def put_in_place(path: Path, text: str) -> None:
    """Put a whole text file in the place of whatever has that name, whose permissions it gets; or leave that as it was.

    A pipe or a device is written to: nothing can be put in its place. Raises OSError.
    """
    if path.exists() and not path.is_file():
        path.write_text(text, encoding="utf-8")
        return
    path = path.resolve()
    fd, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:100]}.", suffix=TEMPORARY)
    temporary = Path(name)
    try:
        with open(fd, "w", encoding="utf-8") as file:  # noqa: PTH123 - it is open already
            file.write(text)
            file.flush()
            os.fsync(fd)
        temporary.chmod(path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_umask())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
