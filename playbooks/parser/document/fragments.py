"""Where the texts of fragments come from: the disk and the library, or what a session keeps of them.

A fragment goes by its path from the playbook's own directory, with ``/`` and without ``..`` inside where that can be
said without; so the same playbook names the same fragments wherever it lies. A bundled fragment goes by its name alone.
"""

import posixpath
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from playbooks.errors import nearest, shown
from playbooks.library.bundled import FRAGMENTS, fragment_names
from playbooks.library.suffixes import SUFFIXES
from playbooks.parser.document.yaml_source import MAX_BYTES, decode


class FragmentError(Exception):
    """A fragment that cannot be had; the message says why."""


class Fragments(Protocol):
    """Gives the text of a fragment by the name that :func:`fragment_key` made of its path."""

    def text(self, key: str) -> str:
        """The text. Raises :class:`FragmentError`, and ``PlaybookError`` where the file holds no text."""

    def shown(self, key: str) -> str:
        """The path for messages."""


def is_bundled(written: str) -> bool:
    """Whether an include means a fragment of the library: a bare name, without a directory or a suffix."""
    return "/" not in written and not written.endswith(SUFFIXES)


def fragment_key(includer: str, written: str) -> str:
    """The name of the fragment that the file ``includer`` (empty: the playbook) means by ``written``."""
    if is_bundled(written):
        return written
    path = posixpath.normpath(posixpath.join(posixpath.dirname(includer), written))
    return f"./{path}" if is_bundled(path) else path


class OnDisk:
    """Fragments as files beside a playbook, and those of the library."""

    def __init__(self, playbook: str) -> None:
        """``playbook`` is the path of the file that includes them."""
        self._base = Path(playbook).parent

    def text(self, key: str) -> str:
        """The text of the file."""
        if is_bundled(key) and key not in fragment_names():
            hint = nearest(key, fragment_names()) or f", there are {', '.join(fragment_names())}"
            raise FragmentError(f"no bundled fragment {shown(key)}{hint}; a file of yours is written with its '.yaml'")
        path = self._path(key)
        try:
            if not path.is_file():
                raise FragmentError(f"no file {path}" if not path.exists() else f"{path}, which is no file")
            with path.open("rb") as file:
                data = file.read(MAX_BYTES + 1)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise FragmentError(f"{path}, which cannot be read: {reason or error}") from None
        return decode(data, str(path))

    def shown(self, key: str) -> str:
        """The file's path."""
        return str(self._path(key))

    def _path(self, key: str) -> Path:
        return FRAGMENTS / f"{key}.yaml" if is_bundled(key) else self._base / key


class Kept:
    """Fragments as a session keeps them, or as a playbook was read with."""

    def __init__(self, playbook: str, texts: Mapping[str, str]) -> None:
        """``playbook`` is the path of the file that includes them; ``texts`` are those by their names."""
        self._base = Path(playbook).parent
        self._texts = texts

    def text(self, key: str) -> str:
        """The text that was kept."""
        if key not in self._texts:
            kept = f"allowed are those it was read with: {', '.join(self._texts)}" if self._texts else "it had none"
            raise FragmentError(f"the fragment {shown(key)}, which was not kept with this playbook, {kept}")
        return self._texts[key]

    def shown(self, key: str) -> str:
        """The path that it had beside the playbook."""
        return key if is_bundled(key) else str(self._base / key)
