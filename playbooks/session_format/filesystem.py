"""File operations of a recording, each one call of the operating system.

A process can be killed between any two of them. They are methods of a class so that a test can stop after the n-th, for
every n, and examine the result.
"""

import os
import tempfile
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Final


class Fsync(StrEnum):
    """Policy for syncing written data to disk: only at the end, about every second, or at each flush.

    Killing the process never loses written data; this is about power loss.
    """

    NEVER = "never"
    INTERVAL = "interval"
    ALWAYS = "always"


_fdatasync: Callable[[int], None] = getattr(os, "fdatasync", os.fsync)


class FileSystem:
    """File operations of the operating system. All raise OSError."""

    def make_directory(self, path: Path) -> None:
        """Create a directory; FileExistsError if it exists."""
        path.mkdir()

    def create(self, path: Path, *, truncate: bool = False) -> int:
        """Create a file for appending; ``truncate`` truncates an existing one."""
        how = os.O_TRUNC if truncate else os.O_EXCL
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | how, 0o644)

    def open(self, path: Path) -> int:
        """Open an existing file, for appending or truncating."""
        return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)

    def write(self, fd: int, data: bytes | memoryview) -> int:
        """Write bytes; return how many were accepted."""
        return os.write(fd, data)

    def truncate(self, fd: int, size: int) -> None:
        """Truncate a file to a size."""
        os.ftruncate(fd, size)

    def size(self, fd: int) -> int:
        """Return the size of a file in bytes."""
        return os.fstat(fd).st_size

    def sync_data(self, fd: int) -> None:
        """Sync the contents of a file to disk."""
        _fdatasync(fd)

    def close(self, fd: int) -> None:
        """Close a file."""
        os.close(fd)

    def rename(self, old: Path, new: Path) -> None:
        """Rename a file, replacing an existing one."""
        old.replace(new)

    def remove(self, path: Path) -> None:
        """Delete a file."""
        path.unlink()

    def sync_directory(self, path: Path) -> None:
        """Sync the entries of a directory to disk."""
        fd = os.open(path, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def put(disk: FileSystem, fd: int, data: bytes) -> None:
    """Write all of ``data``, in as many calls as needed."""
    rest = memoryview(data)
    while rest:
        rest = rest[disk.write(fd, rest) :]


TEMPORARY: Final = ".tmp"
"""Suffix of the names of incomplete files, which begin with a dot."""


def is_temporary(path: Path) -> bool:
    """Return whether a file was being written when its process died."""
    return path.name.startswith(".") and path.name.endswith(TEMPORARY)


def write_whole(disk: FileSystem, path: Path, data: bytes) -> None:
    """Write a file atomically and durably: under a temporary name, synced, then renamed."""
    temporary = path.with_name(f".{path.name}{TEMPORARY}")
    fd = disk.create(temporary, truncate=True)
    try:
        put(disk, fd, data)
        disk.sync_data(fd)
    finally:
        disk.close(fd)
    disk.rename(temporary, path)
    disk.sync_directory(path.parent)


def put_in_place(path: Path, text: str) -> None:
    """Replace a text file atomically, keeping its permissions; after an error it is unchanged.

    A pipe or a device is written directly, since it cannot be replaced. Raises OSError.
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
