"""The file that an exploration is told by: which Kafka, how small a cluster, and what may happen in it."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from cluster_model.model_checker.shape import ACTIONS, Bounds
from cluster_model.protocol.errors import ModelError
from cluster_model.protocol.versions import NEWEST, Profile
from playbooks.errors import PlaybookError, nearest, shown
from playbooks.parser.document.context import Notes
from playbooks.parser.document.field_types import NAME, Choice, Integer, Key, ListOf, Record, Text, Truth
from playbooks.parser.document.yaml_source import Mapping, compose
from playbooks.parser.loader import read_text
from playbooks.parser.sections.cluster_keys import CLUSTER

PRESETS: Final = Path(__file__).parent / "presets"

LIMITS: Final = {"replicas": (2, 5), "log_size": (1, 6), "records": (0, 6), "epochs": (1, 6), "restarts": (0, 4)}
"""Least and most of each bound: beyond these no machine would end."""

_WORDS: Final = {
    "replicas": "Replicas of the one partition.",
    "log_size": "Records that a log may hold.",
    "records": "Records that are ever written.",
    "epochs": "Decisions of the controller, each with a leader epoch of its own.",
    "restarts": "How often a broker's process may die and start again.",
}

EXPLORATION: Final = Record(
    {
        "floodmark": Key(
            Integer(1, 1, "1, the version of the format, without quotes"), "Version of the format.", required=True
        ),
        "explore": Key(NAME, "Short name.", required=True),
        "title": Key(Text(), "One line that says what is explored; the name unless given."),
        "story": Key(Text(), "What is to be seen, in a few sentences."),
        "kafka": CLUSTER.keys["kafka"],
        "mode": CLUSTER.keys["mode"],
        "as_module": Key(Truth(), "Where they differ, go by Kafka's TLA+ module of KIP-320 and not by Kafka (false)."),
        "actions": Key(
            ListOf(Choice(ACTIONS), 1, len(ACTIONS)), "The kinds of steps that are taken; all unless given."
        ),
    }
    | {
        name: Key(Integer(*LIMITS[name]), f"{words[:-1]}; {getattr(Bounds(), name)} unless given.")
        for name, words in _WORDS.items()
    }
)
"""Every key of such a file."""


@dataclass(frozen=True, slots=True)
class Exploration:
    """What is explored."""

    name: str
    title: str
    story: str
    profile: Profile
    bounds: Bounds
    as_module: bool


def presets() -> tuple[str, ...]:
    """Names of the explorations that come along."""
    return tuple(sorted(path.stem for path in PRESETS.glob("*.yaml")))


def find(source: str) -> Exploration:
    """A file, or one that comes along by its name.

    Raises:
        PlaybookError: mistakes in it, or it cannot be read.
        KeyError: neither; the message says what there is.
    """
    if source in presets():
        return load(PRESETS / f"{source}.yaml")
    if not Path(source).exists() and "/" not in source and not source.endswith((".yaml", ".yml")):
        raise KeyError(
            f"no exploration {shown(source)}{nearest(source, presets())}; there are {', '.join(presets())}, or a file"
        )
    return load(Path(source))


def load(path: Path) -> Exploration:
    """The exploration in a file. Raises :class:`PlaybookError` with every mistake in it."""
    return loads(read_text(path), str(path))


def loads(text: str, path: str) -> Exploration:
    """The exploration in a text; ``path`` stands in messages."""
    root, problems = compose(text, path)
    notes = Notes(path, problems)
    if isinstance(root, Mapping) and "explore" not in root.entries and "steps" in root.entries:
        notes.problem(root, "explore", "found a playbook, allowed is an exploration: floodmark run takes playbooks")
        raise PlaybookError(notes.told)
    fields = EXPLORATION.open(root, "", notes)
    if fields is None:
        raise PlaybookError(notes.told)
    for name in EXPLORATION.keys:
        EXPLORATION.fill(fields, name, notes)
    profile = None
    if not fields.bad("kafka") and not fields.bad("mode"):
        try:
            profile = Profile.of(fields.get("kafka", NEWEST), fields.get("mode"))
        except ModelError as error:
            notes.problem(fields.node.get("mode") or root, "mode", str(error))
    if notes.told or profile is None:
        raise PlaybookError(notes.told)
    values = {name: fields.get(name, getattr(Bounds(), name)) for name in LIMITS}
    bounds = replace(Bounds(**values), actions=frozenset(fields.get("actions", ACTIONS)))
    name = fields.get("explore")
    story = " ".join(fields.get("story", "").split())
    return Exploration(name, fields.get("title", name), story, profile, bounds, fields.get("as_module", False))
