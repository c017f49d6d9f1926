"""Working directories that outlive nobody.

Each is locked by the process that made it. The next one to come clears away those that nobody holds any more: they were
left by a process that was killed.
"""

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def working_directory(parent: Path, prefix: str) -> Iterator[Path]:
    """A new directory, gone at the end of the block; ``prefix`` must be one that nobody else uses there."""
    sweep(parent, prefix)
    path, handle = _locked(parent, prefix)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
        os.close(handle)


def _locked(parent: Path, prefix: str) -> tuple[Path, int]:
    while True:
        path = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        handle = os.open(path, os.O_RDONLY)
        # A file system without locks clears nothing away, which is no harm.
        with contextlib.suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        if path.exists():
            return path, handle
        # Another one swept it away in the instant before it was locked.
        os.close(handle)


def sweep(parent: Path, prefix: str) -> None:
    """Remove directories of that prefix that no process holds."""
    for left in sorted(parent.glob("*")) if parent.is_dir() else ():
        if left.name.startswith(prefix) and left.is_dir() and not left.is_symlink():
            with contextlib.suppress(OSError):
                _remove_if_free(left)


def _remove_if_free(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(path, ignore_errors=True)
    finally:
        os.close(handle)
