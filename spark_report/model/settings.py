"""The settings in which sessions of one playbook differ: cells of a grid, runs with other settings, other seeds."""

import json
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import yaml

from playbooks.session_format import session_files
from spark_report.input.sessions import SessionInput

SEED: Final = "seed"
AS_WRITTEN: Final = "as in the playbook"
"""What is said of a setting that a session leaves to its playbook, where the playbook's value cannot be read."""

_CONFIG: Final = ".config."
_MOST_BYTES: Final = 1 << 20
"""Of a playbook that is looked into."""


class SettingDifference(NamedTuple):
    """A setting of a session that its siblings have otherwise."""

    path: str
    """As ``--set`` takes it."""
    name: str
    """The last part of the path where that is telling, else the whole path."""
    value: str | None
    """None where the session leaves it to its playbook, which has none."""

    @property
    def words(self) -> str:
        """``acks=all``."""
        return f"{self.name}={self.value}" if self.value is not None else f"{self.name} {AS_WRITTEN}"


def differing(sessions: Sequence[SessionInput]) -> dict[str, tuple[SettingDifference, ...]]:
    """Session id → the settings in which it differs from other sessions of its playbook, all in one order."""
    found: dict[str, tuple[SettingDifference, ...]] = {}
    for playbook in dict.fromkeys(one.start.playbook for one in sessions):
        found |= _of_siblings([one for one in sessions if one.start.playbook == playbook])
    return found


def joined(settings: Iterable[SettingDifference], most: int = 6) -> str:
    """Settings in words, with commas; of very many the first and how many more there are."""
    words = [setting.words for setting in settings]
    more = f", {len(words) - most} more" if len(words) > most else ""
    return ", ".join(words[:most]) + more


def _of_siblings(sessions: Sequence[SessionInput]) -> dict[str, tuple[SettingDifference, ...]]:
    made = {one.session_id: {_path(path): _plain(value) for path, value in one.start.settings.items()}
            for one in sessions}  # fmt: skip
    paths = [*dict.fromkeys(path for own in made.values() for path in own if path != SEED), SEED]
    found = {one.session_id: _values(one, paths, made[one.session_id]) for one in sessions}
    values: dict[str, dict[str, str | None]] = {}
    for path in paths:
        own = {name: its[path] for name, its in found.items()}
        if len(set(own.values())) > 1:
            values[path] = own
    names = _names(values)
    return {
        one.session_id: tuple(
            SettingDifference(path, name, values[path][one.session_id]) for path, name in names.items()
        )
        for one in sessions
    }  # fmt: skip


def _values(session: SessionInput, paths: Sequence[str], made: dict[str, str]) -> dict[str, str | None]:
    """Path → the session's value; its playbook is parsed once, and only for paths that it does not set."""
    left = [path for path in paths if path not in made and path != SEED]
    root = _playbook(session) if left else None
    return {**made, **{path: _written(root, path) for path in left}, SEED: str(session.start.seed)}


def _names(values: dict[str, dict[str, str | None]]) -> dict[str, str]:
    """Path → its name; of paths that share a name and always their value, the first stands for all."""
    short = {path: _short(path) for path in values}
    names = {}
    for path, name in short.items():
        same = [other for other in values if short[other] == name]
        if all(values[other] == values[path] for other in same):
            if path == same[0]:
                names[path] = name
        else:
            names[path] = path
    return names


def _path(path: str) -> str:
    """The path in full: clients may be left out in front of their kinds."""
    return f"clients.{path}" if path.split(".", maxsplit=1)[0] in ("producers", "groups") else path


def _short(path: str) -> str:
    return path.partition(_CONFIG)[2] or path.rpartition(".")[2]


def _plain(value: object) -> str:
    """A value without the quotes that make it a text; it comes from a file, where it may be no text."""
    stripped = (value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)).strip()
    quoted = len(stripped) > 1 and stripped[0] == stripped[-1] and stripped[0] in "\"'"
    return stripped[1:-1] if quoted else stripped


def _playbook(session: SessionInput) -> yaml.Node | None:
    """A session's playbook as nodes; None where it cannot be read."""
    try:
        file = session.path / session_files.PLAYBOOK
        if file.stat().st_size > _MOST_BYTES:
            return None
        root: yaml.Node | None = yaml.compose(file.read_text(encoding="utf-8"), yaml.SafeLoader)
    except (OSError, ValueError, yaml.YAMLError, RecursionError):
        return None
    return root


def _written(node: yaml.Node | None, path: str) -> str | None:
    """What a playbook says at a path, None for nothing; only nodes on the way are looked at."""
    place, _config, key = path.partition(_CONFIG)
    for part in [*place.split("."), *(["config", key] if key else [])]:
        node = _child(node, part)
    return str(node.value) if isinstance(node, yaml.ScalarNode) else None


def _child(node: yaml.Node | None, part: str) -> yaml.Node | None:
    """The value of a key, or the element of a list that has this name or number."""
    if isinstance(node, yaml.MappingNode):
        return next((value for key, value in node.value if key.value == part), None)
    if not isinstance(node, yaml.SequenceNode):
        return None
    named = (each for each in node.value if any(_named(each, key, part) for key in ("name", "id")))
    numbered = node.value[int(part) - 1] if part.isdecimal() and 0 < int(part) <= len(node.value) else None
    return next(named, numbered)


def _named(node: yaml.Node, key: str, name: str) -> bool:
    found = _child(node, key) if isinstance(node, yaml.MappingNode) else None
    return isinstance(found, yaml.ScalarNode) and found.value == name
