"""What could have been set otherwise: one change at a time, for the kinds of findings that it can do something about.

Each change is a set of ``--set`` options. What is so already, and what means nothing in the playbook, is left out.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from cluster_model.checker.root_cause.findings import ABANDONED, DUPLICATE, LEAKED, LOST, REORDERED, SKIPPED, UNDONE
from cluster_model.protocol.versions import ELR_FEATURE, PROFILE_VERSIONS, modes_of, parse_version
from playbooks.model.playbook import Playbook
from playbooks.parser.document.axes import AxisError, paths_of, values_at
from playbooks.parser.document.yaml_source import Mapping as YamlMapping
from playbooks.parser.document.yaml_source import Scalar, compose
from playbooks.parser.document.yaml_source import Sequence as YamlSequence

MENDS: Final[dict[str, str]] = {
    "0.11": "KIP-101, KIP-106, KIP-98",
    "2.0": "KIP-279",
    "2.1": "KIP-320",
    "2.7": "KIP-595",
    "3.0": "KIP-679",
    "3.3": "KIP-841",
    "3.7": "KIP-966",
    "4.1": "KIP-966",
}
"""Versions that mended something about losses, and what names it."""

WRITING: Final = ("append", "produce_send")
"""Steps by hand that write."""
_WRITES: Final = (LOST, DUPLICATE, REORDERED)
DEFAULTS: Final = "3.0"
"""The version whose producers are idempotent and ask for acks=all: that is about duplicates and order, too. What
:data:`MENDS` names else is about losses; less of another kind under such a version is not its doing."""


@dataclass(frozen=True, slots=True)
class Change:
    """One thing set otherwise."""

    name: str
    """As a person would say it: ``acks=all``."""
    settings: tuple[tuple[str, str], ...]
    """Paths and values as ``--set`` takes them."""
    note: str = ""
    """What names it in Kafka's history, for a version."""

    @property
    def options(self) -> tuple[str, ...]:
        """What to type behind ``--set``, one each."""
        return tuple(f"{path}={value}" for path, value in self.settings)


def changes(playbook: Playbook, kind: str) -> tuple[Change, ...]:
    """Everything that is worth trying against findings of a kind."""
    root, _problems = compose(playbook.source, playbook.path)
    if not isinstance(root, YamlMapping):
        return ()
    return (*_configurations(playbook, root, kind), *_replication(playbook, kind), *_versions(playbook, kind))


def _configurations(playbook: Playbook, root: YamlMapping, kind: str) -> Iterator[Change]:
    by_hand = playbook.spec.manual
    asked: list[tuple[str, str]] = []
    if kind == LOST:
        asked += [("min.insync.replicas", str(_min_isr(playbook))), ("unclean.leader.election.enable", "false")]
    if kind in _WRITES and not by_hand:
        asked = [("acks", "all"), *asked, ("enable.idempotence", "true")]
    if kind in (DUPLICATE, REORDERED) and not by_hand:
        asked.append(("max.in.flight.requests.per.connection", "1"))
    if kind in (SKIPPED, ABANDONED) and not by_hand:
        asked += [("auto.offset.reset", "earliest"), ("enable.auto.commit", "false")]
    if kind in (SKIPPED, LEAKED, UNDONE) and not by_hand:
        asked.append(("isolation.level", "read_committed"))
    if by_hand and kind in _WRITES:
        yield from _acks_by_hand(root)
    for name, value in asked:
        yield from _axis(playbook, root, name, value)
    if kind == LOST and _could_have_elr(playbook):
        yield Change("eligible leader replicas", ((f"cluster.config.{ELR_FEATURE}", "1"),), "KIP-966")


def _could_have_elr(playbook: Playbook) -> bool:
    """Whether it is a matter of configuration: before 4.0 there is none, and a later version is tried anyway."""
    profile = playbook.spec.profile
    return profile.kraft and not profile.elr and profile.number >= (4, 0, 0)


def _min_isr(playbook: Playbook) -> int:
    """One less than the replicas of the topic that has fewest, and 2 at least."""
    factors = [len(placed) for topic in playbook.spec.topics for placed in topic.placement]
    factors += [topic.replication for topic in playbook.spec.topics if not topic.placement]
    return max(2, min(factors, default=3) - 1)


def _axis(playbook: Playbook, root: YamlMapping, name: str, value: str) -> Iterator[Change]:
    """A configuration wherever it can stand, unless it stands there so already."""
    try:
        paths = paths_of(name, root, playbook.variables)
        there = values_at(name, root)
    except (AxisError, KeyError):
        return
    if all(isinstance(node, Scalar) and _is_so(node.text, value) for node in there):
        return
    yield Change(f"{name}={value}", tuple((path, value) for path in paths))


def _is_so(found: str, value: str) -> bool:
    """Whether a value is there already, or more of it than was asked for."""
    if value.isdecimal() and found.isdecimal():
        return int(found) >= int(value) if value != "1" else found == value
    return found.lower() in (value, "-1" if value == "all" else value)


def _acks_by_hand(root: YamlMapping) -> Iterator[Change]:
    """Where steps write, acks is theirs."""
    steps = root.get("steps")
    found: list[tuple[str, str]] = []
    for number, item in enumerate(steps.items if isinstance(steps, YamlSequence) else (), 1):
        for verb in WRITING:
            written = item.get(verb) if isinstance(item, YamlMapping) else None
            acks = written.get("acks") if isinstance(written, YamlMapping) else None
            if isinstance(written, YamlMapping) and not (isinstance(acks, Scalar) and acks.text == "all"):
                found.append((f"steps.{number}.{verb}.acks", "all"))
    if found:
        yield Change("acks=all in every step that writes", tuple(found))


def _replication(playbook: Playbook, kind: str) -> Iterator[Change]:
    """One more replica of every topic, as far as there are brokers for it."""
    if kind != LOST or playbook.spec.manual:
        return
    brokers = [broker.id for broker in playbook.spec.brokers]
    settings: list[tuple[str, str]] = []
    for topic in playbook.spec.topics:
        if topic.placement:
            wider = [_wider(placed, brokers) for placed in topic.placement]
            if all(len(new) > len(old) for new, old in zip(wider, topic.placement, strict=True)):
                settings.append((f"topics.{topic.name}.placement", str([list(each) for each in wider])))
        elif topic.replication < len(brokers):
            settings.append((f"topics.{topic.name}.replication", str(topic.replication + 1)))
    if settings:
        yield Change("one more replica", tuple(settings))


def _wider(placed: Sequence[int], brokers: Sequence[int]) -> tuple[int, ...]:
    more = [broker for broker in brokers if broker not in placed]
    return (*placed, *more[:1])


def _versions(playbook: Playbook, kind: str) -> Iterator[Change]:
    """The later versions that mended something, and the newest, as far as they have the mode."""
    spec = playbook.spec
    newest = [version for version in PROFILE_VERSIONS if not spec.mode or spec.mode in modes_of(version)][-1]
    for version in dict.fromkeys([*MENDS, newest]):
        if parse_version(spec.kafka) < parse_version(version) <= parse_version(newest):
            named = kind == LOST or (version == DEFAULTS and kind in _WRITES)
            note = MENDS.get(version, "") if named else ""
            yield Change(f"kafka {version}", (("cluster.kafka", version),), note)
