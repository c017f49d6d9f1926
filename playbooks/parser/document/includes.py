"""Includes: sources of fragments, and merging them with the including file.

``include`` at the head of a file gives defaults: lists of topics, producers, groups, steps and expectations are joined,
the fragment's first; for a single value the file's own takes precedence. A step ``include`` is replaced by the
fragment's steps. ``from`` of the cluster is an include at the head. All this happens on the tree of the file; the
result is parsed like a single file.
"""

import os
import posixpath
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Protocol

from cluster_model.util.quantities import counted
from playbooks.errors import PlaybookError, Problem, nearest, shown
from playbooks.library.bundled import FRAGMENTS, fragment_names
from playbooks.library.suffixes import SUFFIXES
from playbooks.parser.document.context import ErrorNotes
from playbooks.parser.document.field_types import Record
from playbooks.parser.document.variables import ExpansionSize, VariableReplacer, VariableScope, escaped, restored
from playbooks.parser.document.yaml_source import MAX_BYTES, Node, Scalar, Sequence, ValueOrigin, compose, decode
from playbooks.parser.document.yaml_source import Mapping as YamlMapping
from playbooks.session_format import session_files

# The playbooks in a folder and its subfolders.


FRAGMENT: Final = "fragment"
"""Top-level key of a fragment, a part of playbooks."""


def walk(folder: Path) -> tuple[list[Path], list[Problem]]:
    """Return all playbook files in a folder, including fragments, sorted by path; and the folders that cannot be read.

    Hidden files and folders, and folders behind links, which could be cyclic, are left out. A file that is not a
    playbook is included: the parser will report its errors. An imported session has no playbook, which is a problem.
    """
    paths: list[Path] = []
    problems: list[Problem] = []

    def refuse(error: OSError) -> None:
        problems.append(Problem(str(error.filename), 1, 1, "", f"cannot be read: {error.strerror or error}"))

    for where, folders, names in os.walk(folder, onerror=refuse):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        if session_files.IMPORTED in names:
            problems.append(Problem(where, 1, 1, "", session_files.NOT_RUN))
            continue
        for name in names:
            path = Path(where) / name
            if not name.startswith(".") and path.suffix.lower() in SUFFIXES and (path.is_file() or path.is_symlink()):
                paths.append(path)
    return sorted(paths, key=lambda path: path.parts), problems


def playbooks_under(folder: Path) -> list[Path]:
    """Return the files of :func:`walk` that are not fragments.

    Raises:
        PlaybookError: a folder that cannot be read, or has no playbook.
    """
    paths, problems = walk(folder)
    if problems:
        raise PlaybookError(problems)
    playbooks = [path for path in paths if not is_fragment_file(path)]
    if not playbooks:
        there = f", only {counted(len(paths), 'fragment')}" if paths else ""
        raise PlaybookError(
            [Problem(str(folder), 1, 1, "", f"found no playbooks{there}; expected a folder with .yaml or .yml files")]
        )
    return playbooks


def is_fragment_file(path: Path) -> bool:
    """Return whether a file is a fragment; False if it cannot be parsed as YAML."""
    try:
        with path.open("rb") as file:
            return is_fragment(decode(file.read(MAX_BYTES + 1), str(path)), str(path))
    except (OSError, PlaybookError):
        return False


def is_fragment(text: str, path: str) -> bool:
    """Return whether the text of a file is a fragment; False if it cannot be parsed as YAML."""
    try:
        root, _ = compose(text, path)
    except PlaybookError:
        return False
    return isinstance(root, YamlMapping) and FRAGMENT in root.entries


# Sources of fragments: the disk, the library, or the copies in a recorded session.
#
# A fragment is identified by its path relative to the playbook's directory, with ``/`` and with as few ``..`` as
# possible; so the same playbook has the same fragment names wherever it is. A bundled fragment is identified by its
# name alone.


class FragmentError(Exception):
    """A fragment that cannot be read; the message says why."""


class Fragments(Protocol):
    """Source of the texts of fragments, by the names made by :func:`fragment_key`."""

    def text(self, key: str) -> str:
        """Return the text. Raises :class:`FragmentError`, and ``PlaybookError`` if the file is not text."""

    def shown(self, key: str) -> str:
        """Return the path for messages."""


def is_bundled(written: str) -> bool:
    """Return whether an include refers to a fragment of the library: a bare name, without a directory or a suffix."""
    return "/" not in written and not written.endswith(SUFFIXES)


def fragment_key(includer: str, written: str) -> str:
    """Return the name of the fragment that the file ``includer`` (empty: the playbook) includes as ``written``."""
    if is_bundled(written):
        return written
    path = posixpath.normpath(posixpath.join(posixpath.dirname(includer), written))
    return f"./{path}" if is_bundled(path) else path


class DiskFragments:
    """Fragments as files beside a playbook, and those of the library."""

    def __init__(self, playbook: str) -> None:
        """``playbook`` is the path of the file that includes them."""
        self._base = Path(playbook).parent

    def text(self, key: str) -> str:
        """Return the text of the file."""
        if is_bundled(key) and key not in fragment_names():
            hint = nearest(key, fragment_names()) or f", expected {', '.join(fragment_names())}"
            raise FragmentError(f"no bundled fragment {shown(key)}{hint}; write the name of a file with '.yaml'")
        path = self._path(key)
        try:
            if not path.is_file():
                raise FragmentError(f"no file {path}" if not path.exists() else f"{path}, which is not a file")
            with path.open("rb") as file:
                data = file.read(MAX_BYTES + 1)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise FragmentError(f"{path}, which cannot be read: {reason or error}") from None
        return decode(data, str(path))

    def shown(self, key: str) -> str:
        """Return the file's path."""
        return str(self._path(key))

    def _path(self, key: str) -> Path:
        return FRAGMENTS / f"{key}.yaml" if is_bundled(key) else self._base / key


class FragmentStore:
    """Fragments stored with a session, or read with a playbook."""

    def __init__(self, playbook: str, texts: Mapping[str, str]) -> None:
        """``playbook`` is the path of the file that includes them; ``texts`` are the fragments by name."""
        self._base = Path(playbook).parent
        self._texts = texts

    def text(self, key: str) -> str:
        """Return the stored text."""
        if key not in self._texts:
            kept = f"expected the stored ones: {', '.join(self._texts)}" if self._texts else "it had none"
            raise FragmentError(f"the fragment {shown(key)}, which was not stored with this playbook, {kept}")
        return self._texts[key]

    def shown(self, key: str) -> str:
        """Return the path that it had relative to the playbook."""
        return key if is_bundled(key) else str(self._base / key)


MAX_DEPTH: Final = 8
"""Maximum nesting of fragments."""
MAX_INCLUDES: Final = 200
"""Maximum number of includes of one playbook, each counted as often as it is expanded."""

BROUGHT: Final = ("seed", "stepping", "cluster", "topics", "clients", "guards", "steps", "settle", "expect")
"""Keys that a fragment at the head of a file merges into it."""
HINTS: Final = ("stepping", "steps")
"""Keys of these allowed in a fragment of steps."""
FROM: Final = "from"
"""Key of ``cluster`` that names a cluster file: a fragment with the brokers and topics of an existing cluster."""
JOINED: Final = ("topics", "clients.producers", "clients.groups", "steps", "expect")
"""Lists that are joined; other values of the including file take precedence."""


@dataclass(frozen=True, slots=True)
class _File:
    """One of the files: its tree, its name (empty for the playbook), and the fragments that led to it."""

    tree: YamlMapping
    key: str
    chain: tuple[str, ...]


class Includer:
    """Builder of one tree from a playbook and its fragments. ``texts`` and ``variables`` are filled on the way."""

    def __init__(self, notes: ErrorNotes, fragments: Fragments, playbook: Record, fragment: Record) -> None:
        """``playbook`` and ``fragment`` are the tables of keys of the two kinds of files."""
        self.texts: dict[str, str] = {}
        """Text of every fragment by its name."""
        self.variables: tuple[str, ...] = ()
        """Names of the playbook's variables, and of those of the fragments at its head."""
        self.values: dict[str, Node] = {}
        """Their declared values, without variables that have none."""
        self._notes = notes
        self._fragments = fragments
        self._playbook = playbook
        self._fragment = fragment
        self._size = ExpansionSize(notes)
        self._literals = False
        self._includes = 0
        self._bytes = 0
        self._broken = False

    def expand(self, root: Node, *, unused: bool, fragment: bool = False, written: bool = False) -> Node:
        """Return the complete playbook. ``unused``: whether unused variables are errors.

        With ``fragment`` it is a single fragment: values of its required variables are unknown. With ``written`` a
        literal ``${`` is left escaped as in a file.

        Raises:
            PlaybookError: it grows too large.
        """
        if not isinstance(root, YamlMapping):
            return root
        files = self._gathered(_File(root, "", ()))
        scope = self._scope(files)
        if not fragment:
            scope.need(root.get("include") or root, "include", "", "vars: {NAME: ...}")
        self.variables = tuple(scope.declared)
        self.values = {name: each.value for name, each in scope.declared.items() if each.value is not None}
        tree = self._joined(files, scope)
        for name in _given_of(tree.get("steps"), tree.get("expect")):
            scope.used[name] = True
        if unused and not self._broken:
            scope.unused(root)
        tree = replace(tree, entries={**_own(root), **tree.entries})
        if not self._literals:
            return tree
        return escaped(tree) if written else restored(tree)

    def _gathered(self, file: _File, seen: dict[str, bool] | None = None) -> list[_File]:
        """Return the fragments at the head of a file, nested ones first, each once; the file itself last."""
        seen = {} if seen is None else seen
        files: list[_File] = []
        for written, way in self._paths(file.tree):
            opened = self._opened(written, way, file, seen)
            if opened is not None:
                seen[opened.key] = True
                files += self._gathered(opened, seen)
        return [*files, file]

    def _paths(self, tree: YamlMapping) -> Iterable[tuple[Node, str]]:
        """Yield what the head of a file includes, with its place in the file: its cluster, then its fragments."""
        cluster, node = cluster_file(tree), tree.get("include")
        if cluster is not None:
            yield cluster, f"cluster.{FROM}"
        if isinstance(node, Sequence):
            yield from [(item, f"include[{i}]") for i, item in enumerate(node.items, 1)]
        elif node is not None:
            yield node, "include"

    def _opened(self, written: Node, include_key: str, by: _File, seen: dict[str, bool]) -> _File | None:
        """Return a fragment's tree with its keys checked; None if it has errors, or was included before."""
        if not isinstance(written, Scalar) or written.empty:
            self._notes.refuse(written, include_key, "the path of a fragment, or the name of a bundled one")
            self._broken = True
            return None
        key = fragment_key(by.key, written.text)
        if key in seen and key not in by.chain:
            return None
        message = self._wrong_include(key, by)
        text = ""
        if not message:
            try:
                text = self._text(key)
            except FragmentError as error:
                message = f"found {error}"
            except PlaybookError as error:
                self._blame(error, written)
                return None
        if message:
            self._notes.problem(written, include_key, message)
            self._broken = True
            return None
        return self._composed(text, key, written, include_key, by)

    def _wrong_include(self, key: str, by: _File) -> str:
        """Return why a fragment may not be included here."""
        if key in by.chain:
            chain = [*by.chain[by.chain.index(key) :], key]
            return f"found {shown(key)}, which includes itself: {' includes '.join(chain)}"
        if len(by.chain) >= MAX_DEPTH:
            return f"found fragments included by each other more than {MAX_DEPTH} deep, the most allowed"
        self._includes += 1
        if self._includes > MAX_INCLUDES:
            return f"found more than {MAX_INCLUDES} includes, the most allowed"
        return ""

    def _text(self, key: str) -> str:
        if key not in self.texts:
            self.texts[key] = self._fragments.text(key)
        self._bytes += len(self.texts[key])
        if self._bytes > MAX_BYTES:
            raise FragmentError(f"fragments of more than {MAX_BYTES} characters together, the most allowed")
        return self.texts[key]

    def _composed(self, text: str, key: str, written: Scalar, include_key: str, by: _File) -> _File | None:
        path = self._fragments.shown(key)
        try:
            tree, problems = compose(text, path, ValueOrigin(path, self._included_by(written)))
        except PlaybookError as error:
            self._blame(error, written)
            return None
        if not isinstance(tree, YamlMapping) or "fragment" not in tree.entries:
            allowed = "expected a fragment, which begins 'floodmark: 1' and 'fragment: NAME'"
            self._notes.problem(written, include_key, f"found {path}, {allowed}")
            self._broken = True
            return None
        if problems:
            self._blame(PlaybookError(problems), written)
        fields = self._fragment.open(tree, "", self._notes)
        for name in ("floodmark", "fragment", "title", "story"):
            if fields is not None:
                self._fragment.fill(fields, name, self._notes)
        return _File(tree, key, (*by.chain, key))

    def _included_by(self, written: Scalar) -> tuple[str, ...]:
        origin = written.origin or ValueOrigin()
        return (f"included by {origin.path or self._notes.path}:{written.line}", *origin.notes)

    def _blame(self, error: PlaybookError, written: Scalar) -> None:
        """Add the errors of a fragment that were found before it had a tree."""
        suffix = "; ".join(self._included_by(written))
        self._notes.problems += [replace(each, message=f"{each.message} ({suffix})") for each in error.problems]
        self._broken = True

    def _scope(self, files: list[_File]) -> VariableScope:
        scope = VariableScope(self._notes, self._size, self._playbook.keys)
        for file in files:
            scope.declare(file.tree, needed=not file.key and "fragment" not in file.tree.entries)
        return scope

    def _joined(self, files: list[_File], scope: VariableScope) -> YamlMapping:
        """Merge the files of one scope to one tree, with variables replaced and includes of steps expanded."""
        joined: YamlMapping | None = None
        for file in files:
            entries: dict[str, tuple[Scalar, Node]] = {}
            for name, (where, value) in file.tree.entries.items():
                if (name in BROUGHT) if file.key else (name not in _HEAD):
                    entries[name] = (where, self._put(value, name, scope))
            if cluster_file(file.tree) is not None:
                where, cluster = entries["cluster"]
                assert isinstance(cluster, YamlMapping)  # it has a key
                entries["cluster"] = (where, _without(cluster, FROM))
            if "steps" in entries:
                where, steps = entries["steps"]
                entries["steps"] = (where, self._spliced(steps, file, "steps"))
            tree = replace(file.tree, entries=entries)
            joined = tree if joined is None else _merged(_of_same_mode(joined, tree), tree, "")
        scope.resolve_all()
        self._literals |= scope.literals
        assert joined is not None  # a file is always in its own scope
        return joined

    def _put(self, value: Node, name: str, scope: VariableScope) -> Node:
        putting = VariableReplacer(scope.lookup, self._size)
        value = putting.put(value, name)
        self._literals |= putting.literals
        return value

    def _spliced(self, node: Node, file: _File, key: str) -> Node:
        """Expand the includes in a list of steps, and in its groups."""
        if not isinstance(node, Sequence):
            return node
        items: list[Node] = []
        changed = bool(file.key)
        for i, item in enumerate(node.items, 1):
            here = f"{key}[{i}]"
            if isinstance(item, YamlMapping) and "include" in item.entries:
                items += self._included_steps(item, file, here)
                changed = True
                continue
            inner = item.get("steps") if isinstance(item, YamlMapping) else None
            if isinstance(item, YamlMapping) and inner is not None:
                spliced = self._spliced(inner, file, f"{here}.steps")
                if spliced is not inner:
                    entries = {**item.entries, "steps": (item.entries["steps"][0], spliced)}
                    items.append(_counted(replace(item, entries=entries), here))
                    changed = True
                    continue
            items.append(_counted(item, here))
        return replace(node, items=tuple(items)) if changed else node

    def _included_steps(self, step: YamlMapping, by: _File, key: str) -> tuple[Node, ...]:
        written, given = step.entries["include"][1], step.get("with")
        for name, (where, _) in step.entries.items():
            if name not in {"include", "with"}:
                message = f"found {shown(name)} beside an include, expected 'with'{nearest(name, ('with',))}"
                self._notes.problem(where, f"{key}.{shown(name).strip(chr(39))}", message + _TRIGGERS.get(name, ""))
        opened = self._opened(written, f"{key}.include", by, {})
        if opened is None:
            return ()
        files = self._gathered(opened)
        self._check_steps_only(files, written, f"{key}.include")
        scope = self._scope(files)
        if isinstance(given, YamlMapping):
            scope.give(given.entries, key, opened.key)
        elif given is not None and not (isinstance(given, Scalar) and given.empty):
            self._notes.refuse(given, f"{key}.with", "a mapping of the fragment's variables to values")
        scope.need(written, f"{key}.include", opened.key, "with: {NAME: ...}")
        steps = self._joined(files, scope).get("steps")
        if not isinstance(steps, Sequence):
            if steps is None or not (isinstance(steps, Scalar) and steps.origin and steps.origin.unknown):
                self._notes.problem(written, f"{key}.include", f"found {opened.key} without a list of steps")
            return ()
        return steps.items

    def _check_steps_only(self, files: list[_File], written: Node, key: str) -> None:
        for file in files:
            more = [name for name in BROUGHT if name in file.tree.entries and name not in HINTS]
            if more:
                message = (
                    f"found {file.key} with {shown(more[0])}, allowed as a step is a fragment of steps; "
                    "use 'include' at the head of the playbook for all its keys"
                )
                self._notes.problem(written, key, message)


def cluster_file(tree: YamlMapping) -> Node | None:
    """Return the path of the cluster file that a file names, None without one."""
    cluster = tree.get("cluster")
    return cluster.get(FROM) if isinstance(cluster, YamlMapping) else None


def _without(mapping: YamlMapping, key: str) -> YamlMapping:
    return replace(mapping, entries={name: entry for name, entry in mapping.entries.items() if name != key})


_HEAD: Final = ("vars", "include", "floodmark", "fragment")
_TRIGGERS: Final = dict.fromkeys(
    ("at", "after", "when", "within"), "; use a variable of the fragment for the trigger of its first step"
)


def _own(root: YamlMapping) -> dict[str, tuple[Scalar, Node]]:
    return {name: entry for name, entry in root.entries.items() if name in _HEAD}


def _given_of(*nodes: Node | None) -> Iterable[str]:
    """Yield the names of settings in ``given`` of list elements, in groups of steps as well."""
    for node in nodes:
        for item in node.items if isinstance(node, Sequence) else ():
            if isinstance(item, YamlMapping):
                given = item.get("given")
                yield from given.entries if isinstance(given, YamlMapping) else ()
                yield from _given_of(item.get("steps"))


def _counted(item: Node, key: str) -> Node:
    return replace(item, origin=replace(item.origin or ValueOrigin(), key=key))


def _of_same_mode(base: YamlMapping, own: YamlMapping) -> YamlMapping:
    """Return ``base`` without its controllers and ZooKeeper servers if ``own`` has the other controller mode."""
    modes = [each.get("mode") for each in (base.get("cluster"), own.get("cluster")) if isinstance(each, YamlMapping)]
    texts = [mode.text for mode in modes if isinstance(mode, Scalar)]
    if len(texts) < 2 or texts[0] == texts[1]:
        return base
    where, cluster = base.entries["cluster"]
    assert isinstance(cluster, YamlMapping)  # it has a mode
    cluster = _without(_without(cluster, "controllers"), "zookeepers")
    return replace(base, entries={**base.entries, "cluster": (where, cluster)})


def _merged(base: YamlMapping, own: YamlMapping, key: str) -> YamlMapping:
    """Return ``own`` with the keys that only ``base`` has; lists joined, ``base`` first."""
    entries = dict(base.entries)
    for name, (where, value) in own.entries.items():
        here = f"{key}.{name}" if key else name
        before = base.get(name)
        if isinstance(before, YamlMapping) and isinstance(value, YamlMapping):
            entries[name] = (where, _merged(before, value, here))
        elif here in JOINED and isinstance(before, Sequence) and isinstance(value, Sequence):
            items = [*_all_counted(before, here), *_all_counted(value, here)]
            entries[name] = (where, replace(value, items=tuple(items)))
        else:
            entries[name] = (where, value)
    return replace(own, entries=entries)


def _all_counted(node: Sequence, key: str) -> list[Node]:
    return [
        item if item.origin is not None and item.origin.key else _counted(item, f"{key}[{i}]")
        for i, item in enumerate(node.items, 1)
    ]
