"""The cluster file: a description completed by the user, checked against the model, and written as YAML.

A cluster file is a fragment with ``cluster`` and ``topics``, which a playbook names with ``cluster.from``. What the
model cannot take over is never left out silently: every such thing is a note, which the file has as a comment.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from cluster_model.protocol.config_defaults import check_release
from cluster_model.protocol.config_defs import SCOPES, ConfigValue, check
from cluster_model.protocol.errors import ModelError
from cluster_model.protocol.releases import RELEASE_LINES, RELEASES, number_of
from cluster_model.protocol.versions import modes_of
from cluster_model.spec import MAX_BROKER, QUORUM_SIZES
from cluster_model.util.quantities import counted, listed
from playbooks.cluster_import.description import (
    NO_LEADER,
    ClusterDescription,
    DescribedTopic,
    GivenValue,
    Place,
)
from playbooks.errors import PlaybookError, Problem, shown
from playbooks.parser.loader import loads
from playbooks.parser.sections.cluster import MAX_BROKERS, MAX_PARTITIONS, MAX_TOPICS
from playbooks.text import printable

INTERNAL_TOPICS: Final = ("__consumer_offsets", "__transaction_state", "__share_group_state")
_WIDTH: Final = 118
_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*", re.ASCII)
_NULLS: Final = frozenset({"null", "Null", "NULL"})


class MissingAnswerError(Exception):
    """Something that no input says and that has no default; ``option`` asks for it."""

    def __init__(self, what: str, option: str, example: str) -> None:
        self.what, self.option, self.example = what, option, example
        super().__init__(f"the input does not say {what}; give it with {option}, such as {option} {example}")


@dataclass(frozen=True, slots=True)
class ClusterSupplement:
    """A user's own statements about the cluster, which take precedence over the inputs."""

    name: str = "cluster"
    kafka: str | None = None
    mode: str | None = None
    racks: Mapping[int, str] = field(default_factory=dict)
    anonymous: bool = False


@dataclass(frozen=True, slots=True)
class ClusterFile:
    """A cluster file's text, one line about its content, and notes on what it does not have."""

    text: str
    summary: str
    notes: tuple[str, ...]


def cluster_file(
    description: ClusterDescription, supplement: ClusterSupplement, sources: Iterable[str] = ()
) -> ClusterFile:
    """Return the cluster file of a description.

    ``sources`` are the names of the inputs, for the file's first comment.

    Raises:
        MissingAnswerError: the release is not known.
        PlaybookError: a cluster that is incomplete, contradicts itself, or is too large.
    """
    return _Builder(description, supplement).build(tuple(sources))


class _Builder:
    """Builder of one file; notes are collected on the way."""

    def __init__(self, description: ClusterDescription, supplement: ClusterSupplement) -> None:
        self._description = description
        self._supplement = supplement
        self._notes: list[str] = [f"not taken over: {note}" for note in description.notes]
        self._unknown: set[str] = set()
        self._leaderless: Counter[str] = Counter()
        self._lagging: Counter[str] = Counter()
        self._kafka = self._release()
        self._ids = self._broker_ids()
        self._topics = self._topic_names()
        self._racks = self._rack_names()

    def build(self, sources: tuple[str, ...]) -> ClusterFile:
        mode = self._mode()
        cluster = [f"kafka: {json.dumps(self._kafka)}", f"mode: {mode}", *self._brokers()]
        cluster += self._control_plane(mode)
        configs = self._broker_configs()
        if configs:
            cluster += ["config:", *(f"  {name}: {_value(value)}" for name, value in configs.items())]
        topics = [line for topic in self._description.topics.values() for line in self._topic(topic, configs)]
        self._note_state(self._leaderless, "had no leader: the first replica leads here")
        self._note_state(self._lagging, "had replicas out of sync: all are in sync here")
        if self._unknown:
            names = ", ".join(sorted(self._unknown))
            self._notes.append(f"configurations without a counterpart in the model: {names}")
        if not self._supplement.anonymous:
            origin = f"from {listed(list(sources), 'and')}" if sources else ""
        else:
            origin = "with anonymous names"
        head = [f"# Cluster file, imported {origin}.".replace(" .", ".")]
        head += [line for note in self._notes for line in _comment(note)]
        lines = [*head, "floodmark: 1", f"fragment: {self._supplement.name}", "cluster:"]
        lines += [f"  {line}" for line in cluster]
        text = "\n".join([*lines, "topics:", *topics]) + "\n"
        self._check(text)
        return ClusterFile(text, self._summary(mode), tuple(self._notes))

    # -- release and controllers

    def _release(self) -> str:
        """Return the release: as given, else the newest known patch of its line, else that of the protocol."""
        if self._supplement.kafka is not None:
            return self._supplement.kafka
        given, protocol = self._description.kafka, self._description.protocol
        if given is not None:
            if given.value in RELEASES:
                return given.value
            line = _line_of(given.value)
            if line is None:
                allowed = f"a release from {RELEASE_LINES[0]} to {RELEASE_LINES[-1]}"
                raise PlaybookError([given.place.problem(f"found Kafka {shown(given.value)}, expected {allowed}")])
            self._notes.append(f"Kafka {given.value} is not known here: {line}, its last known patch, stands for it")
            return line
        line = _line_of(protocol.value) if protocol is not None else None
        if protocol is None or line is None:
            raise MissingAnswerError("the Kafka release", "--kafka", RELEASE_LINES[-1])
        self._notes.append(
            f"the release is not in the input: {line} is assumed, as the brokers' protocol is {protocol.value}"
        )
        return line

    def _mode(self) -> str:
        modes, given = modes_of(self._kafka), self._description.mode
        mode = self._supplement.mode or (given.value if given is not None else modes[0])
        if mode not in modes:
            message = f"found {mode} mode, expected {listed(modes)}, which Kafka {self._kafka} has"
            place = given.place if given is not None and self._supplement.mode is None else Place("--mode")
            raise PlaybookError([place.problem(message)])
        if len(modes) > 1 and given is None and self._supplement.mode is None:
            self._notes.append(f"the controller mode is not in the input: {mode} is assumed")
        return mode

    def _control_plane(self, mode: str) -> list[str]:
        if mode == "zookeeper":
            servers = self._description.zookeepers
            if servers is None:
                self._notes.append("the number of ZooKeeper servers is not in the input: 3 are assumed")
            return [f"zookeepers: {self._quorum_size(servers or 3, 'ZooKeeper servers')}"]
        voters = self._description.voters or tuple(sorted(self._description.controllers))
        if not voters:
            self._notes.append("the controllers are not in the input: 3 controllers apart from the brokers are assumed")
            return ["controllers: 3"]
        combined = [self._ids[voter] for voter in voters if voter in self._ids]
        size = self._quorum_size(len(voters), "controllers")
        if len(combined) == len(voters) == size:
            return [f"controllers: {combined}"]
        if combined:
            have = f"{listed(list(map(str, combined)), 'and')} are brokers as well"
            self._notes.append(
                f"of the controllers {have}: {size} controllers apart from the brokers stand for the quorum"
            )
        return [f"controllers: {size}"]

    def _quorum_size(self, count: int, what: str) -> int:
        size = max(number for number in QUORUM_SIZES if number <= max(count, 1))
        if size != count:
            self._notes.append(f"{count} {what}: {size} stand for them, as the model has 1, 3 or 5")
        return size

    # -- brokers

    def _broker_ids(self) -> dict[int, int]:
        """Return the id of each broker here by its real one: the same, except for ids that are too high."""
        real = sorted(self._description.brokers)
        if not real:
            raise PlaybookError([Problem("input", 0, 0, "", "found no brokers, expected at least one")])
        if len(real) > MAX_BROKERS:
            message = f"found {len(real)} brokers, expected at most {MAX_BROKERS}"
            raise PlaybookError([self._description.brokers[real[0]].place.problem(message)])
        kept = {number for number in real if number <= MAX_BROKER}
        free = (number for number in range(1, MAX_BROKER + 1) if number not in kept)
        ids = {number: number if number in kept else next(free) for number in real}
        changed = [f"{number} is broker {ids[number]}" for number in real if ids[number] != number]
        if changed:
            self._notes.append(f"broker ids here end at {MAX_BROKER}: {listed(changed, 'and')}")
        return ids

    def _rack_names(self) -> dict[str, str]:
        """Return the name of each rack here by its real one."""
        unknown = sorted(set(self._supplement.racks) - set(self._ids))
        if unknown:
            message = (
                f"found broker {unknown[0]}, expected brokers of the input: {listed(list(map(str, self._ids)), 'and')}"
            )
            raise PlaybookError([Place("--rack").problem(message)])
        given = {each.id: each.rack for each in self._description.brokers.values() if each.rack}
        real = sorted({*given.values(), *self._supplement.racks.values()})
        if self._supplement.anonymous:
            return {rack: f"rack-{number}" for number, rack in enumerate(real, 1)}
        names = {rack: re.sub(r"[^A-Za-z0-9._-]", "-", rack)[:100] for rack in real}
        changed = [f"{printable(rack)} is {name}" for rack, name in names.items() if name != rack]
        if changed:
            self._notes.append(
                f"rack names here have letters, digits, dots, dashes and underscores: {', '.join(changed)}"
            )
        return names

    def _brokers(self) -> Iterator[str]:
        without = []
        yield "brokers:"
        for number, broker in sorted(self._description.brokers.items()):
            rack = self._supplement.racks.get(number, broker.rack)
            without += [] if rack else [str(self._ids[number])]
            yield f"  - {{id: {self._ids[number]}{f', rack: {_word(self._racks[rack])}' if rack else ''}}}"
        if without:
            of = "the brokers" if len(without) == len(self._ids) else f"broker {', '.join(without)}"
            self._notes.append(f"no rack of {of} is in the input: give racks with --rack ID=RACK")

    def _broker_configs(self) -> dict[str, ConfigValue]:
        """Return the configurations of all brokers: the most common value where brokers differ."""
        brokers = self._description.brokers.values()
        names = dict.fromkeys([name for broker in brokers for name in broker.configs] + list(self._description.configs))
        configs: dict[str, ConfigValue] = {}
        for name in sorted(names):
            own = {broker.id: broker.configs[name] for broker in brokers if name in broker.configs}
            everywhere = self._description.configs.get(name)
            counts = Counter(given.value for given in own.values())
            common = counts.most_common(1)[0][0] if counts else ""
            chosen = (
                everywhere if everywhere is not None else next(each for each in own.values() if each.value == common)
            )
            value = self._config("broker", name, chosen)
            if value is None:
                continue
            configs[name] = value
            others = [f"broker {self._ids[number]} has {given.value}" for number, given in own.items()
                      if given.value != chosen.value]  # fmt: skip
            if others:
                self._notes.append(f"{name} is {chosen.value} for all brokers here: {printable(listed(others, 'and'))}")
        return configs

    def _config(self, scope: Literal["broker", "topic"], name: str, given: GivenValue) -> ConfigValue | None:
        """Return a configuration's value in its type; None if the model does not have it, which is noted."""
        key = SCOPES[scope].get(name)
        if key is None:
            self._unknown.add(printable(name))
            return None
        number = re.fullmatch(r"-?\d{1,19}", given.value, re.ASCII)
        try:
            value = check(scope, name, int(given.value) if key.type == "int" and number else given.value)
            check_release(scope, name, number_of(self._kafka))
        except ModelError as error:
            found = printable(f"{name}={given.value}")
            self._notes.append(f"not taken over: {found} ({printable(str(error))})")
            return None
        return value

    # -- topics

    def _topic_names(self) -> dict[str, str]:
        """Return the name of each topic here by its real one."""
        topics = self._description.topics
        if not topics:
            raise PlaybookError([Problem("input", 0, 0, "", "found no topics, expected at least one")])
        if len(topics) > MAX_TOPICS:
            message = f"found {len(topics)} topics, expected at most {MAX_TOPICS}"
            raise PlaybookError([next(iter(topics.values())).place.problem(message)])
        if not self._supplement.anonymous:
            return {name: name for name in topics}
        own = sorted(name for name in topics if name not in INTERNAL_TOPICS)
        width = len(str(len(own)))
        numbered = {name: f"topic-{number:0{width}}" for number, name in enumerate(own, 1)}
        return {name: numbered.get(name, name) for name in topics}

    def _topic(self, topic: DescribedTopic, brokers: Mapping[str, ConfigValue]) -> Iterator[str]:
        name = self._topics[topic.name]
        yield f"  - name: {_word(name)}"
        if topic.partitions:
            yield from self._placement(topic)
        else:
            count = topic.partition_count or int(brokers.get("num.partitions", 0)) or None
            factor = topic.replication or int(brokers.get("default.replication.factor", 0)) or None
            if topic.partition_count is None and topic.replication is None and not topic.configs:
                count, factor = count or 1, factor or 1
            if count is None or factor is None:
                message = (
                    f"found topic {shown(name)} without partitions, expected the output of kafka-topics --describe too"
                )
                raise PlaybookError([topic.place.problem(message)])
            if factor > len(self._ids):
                message = f"found {factor} replicas of topic {shown(name)}, expected at most one on each of the"
                raise PlaybookError([topic.place.problem(f"{message} {counted(len(self._ids), 'broker')}")])
            self._note("placement is not in the input for some topics: they are placed as Kafka places new topics")
            yield f"    partitions: {count}"
            yield f"    replication: {factor}"
        configs = {each: self._config("topic", each, given) for each, given in sorted(topic.configs.items())}
        taken = {each: value for each, value in configs.items() if value is not None}
        if taken:
            yield f"    config: {{{', '.join(f'{each}: {_value(value)}' for each, value in taken.items())}}}"

    def _placement(self, topic: DescribedTopic) -> Iterator[str]:
        if len(topic.partitions) > MAX_PARTITIONS:
            message = f"found {len(topic.partitions)} partitions of topic {shown(topic.name)}"
            raise PlaybookError([topic.place.problem(f"{message}, expected at most {MAX_PARTITIONS}")])
        rows, leaders = [], []
        leaderless, lagging = 0, 0
        for number, partition in sorted(topic.partitions.items()):
            replicas = [self._ids[broker] for broker in partition.replicas]
            rows.append(str(replicas))
            if partition.leader == NO_LEADER:
                leaderless += 1
            elif partition.leader in partition.replicas and partition.leader != partition.replicas[0]:
                leaders.append(f"{number}: {self._ids[partition.leader]}")
            lagging += partition.isr is not None and len(partition.isr) < len(partition.replicas)
        yield from _wrapped("    placement: [", rows)
        if leaders:
            yield from _wrapped("    leaders: {", leaders)
        name = self._topics[topic.name]
        self._leaderless += Counter({name: leaderless})
        self._lagging += Counter({name: lagging})

    # -- the whole

    def _note_state(self, topics: Counter[str], what: str) -> None:
        """Note that some partitions were in a state that they do not begin with here."""
        if topics:
            names = list(topics)
            of = listed([*names[:3], f"{len(names) - 3} more topics"] if len(names) > 4 else names, "and")
            self._notes.append(f"{counted(topics.total(), 'partition')} of {of} {what}")

    def _note(self, note: str) -> None:
        if note not in self._notes:
            self._notes.append(note)

    def _check(self, text: str) -> None:
        """Read the file as a playbook would; an error is one of the combination, as each value has been checked."""
        playbook = "floodmark: 1\nname: check\ncluster: {from: cluster.yaml}\n"
        try:
            loads(playbook, "check.yaml", {"cluster.yaml": text})
        except PlaybookError as error:
            source = next(iter(self._description.brokers.values())).place
            raise PlaybookError(
                [Problem(source.path, 0, 0, each.key, each.message) for each in error.problems]
            ) from None

    def _summary(self, mode: str) -> str:
        topics = self._description.topics.values()
        partitions = sum(len(topic.partitions) or topic.partition_count or 1 for topic in topics)
        used = {self._supplement.racks.get(each.id, each.rack) for each in self._description.brokers.values()} - {
            None,
            "",
        }
        racks = f" in {counted(len(used), 'rack')}" if used else ""
        brokers = f"{counted(len(self._ids), 'broker')}{racks}"
        return f"Kafka {self._kafka} ({mode}), {brokers}, {counted(len(topics), 'topic')} with {partitions} partitions"


def _line_of(version: str) -> str | None:
    """Return the release line of a version such as ``3.6-IV2`` or ``3.9.1``, None if it is not known."""
    match = re.match(r"(\d+\.\d+(?:\.\d+)?)", version)
    number = match[1] if match else ""
    while number:
        if number in RELEASE_LINES:
            return number
        number = number.rpartition(".")[0]
    return None


def _word(text: str) -> str:
    return text if _PLAIN.fullmatch(text) and text not in _NULLS else json.dumps(text, ensure_ascii=False)


def _value(value: ConfigValue) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int) else _word(value)


def _wrapped(opening: str, parts: list[str]) -> Iterator[str]:
    """Yield the lines of a flow collection, which is closed as it was opened."""
    closing = "]" if opening.endswith("[") else "}"
    lines, line = [], opening
    for number, part in enumerate(parts):
        text = part + (", " if number + 1 < len(parts) else closing)
        if len(line) + len(text.rstrip()) > _WIDTH:
            lines.append(line.rstrip())
            line = "      "
        line += text
    yield from [*lines, line.rstrip()]


def _comment(note: str) -> Iterator[str]:
    line = "# -"
    for word in printable(note).split():
        if len(line) + len(word) >= _WIDTH:
            yield line
            line = "#  "
        line += f" {word}"
    yield line
