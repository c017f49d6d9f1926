"""Description of a cluster by its inputs: brokers, topics, configurations and quorum, each with its place.

Every reader of a format returns a :class:`ClusterDescription`; :func:`merged` makes one of all inputs. What an input
does not say is None, never a default.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final, TypeVar

from cluster_model.util.quantities import listed
from playbooks.errors import PlaybookError, Problem, shown

NO_LEADER: Final = -1
"""Leader of a partition that has none."""
MAX_INPUT_BYTES: Final = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Place:
    """Position of a value in an input: its file with the line (0 for none), and its path in a structured file."""

    path: str
    line: int = 0
    key: str = ""

    def problem(self, message: str) -> Problem:
        """Return an error about the value."""
        return Problem(self.path, self.line, 1 if self.line else 0, self.key, message)

    def __str__(self) -> str:
        return f"{self.path}:{self.line}" if self.line else f"{self.path}: {self.key}" if self.key else self.path


@dataclass(frozen=True, slots=True)
class GivenValue:
    """A single value as text, with its place."""

    value: str
    place: Place


@dataclass(frozen=True, slots=True)
class DescribedPartition:
    """Replicas of a partition in assignment order, its leader and its ISR; None where the input does not say."""

    replicas: tuple[int, ...]
    leader: int | None
    isr: tuple[int, ...] | None
    place: Place


@dataclass(slots=True)
class DescribedTopic:
    """A topic: its partitions by number if their placement is known, else at most how many it has."""

    name: str
    place: Place
    partitions: dict[int, DescribedPartition] = field(default_factory=dict)
    partition_count: int | None = None
    replication: int | None = None
    configs: dict[str, GivenValue] = field(default_factory=dict)


@dataclass(slots=True)
class DescribedBroker:
    """A broker: its rack, and the configurations that are its own."""

    id: int
    place: Place
    rack: str | None = None
    configs: dict[str, GivenValue] = field(default_factory=dict)


@dataclass(slots=True)
class ClusterDescription:
    """The description of a cluster by one or more inputs."""

    brokers: dict[int, DescribedBroker] = field(default_factory=dict)
    topics: dict[str, DescribedTopic] = field(default_factory=dict)
    configs: dict[str, GivenValue] = field(default_factory=dict)
    """Configurations of all brokers: dynamic defaults of the cluster, or those of a resource for all of them."""
    kafka: GivenValue | None = None
    """Kafka release."""
    protocol: GivenValue | None = None
    """``inter.broker.protocol.version`` or ``metadata.version``, which is at most the release."""
    mode: GivenValue | None = None
    """``kraft`` or ``zookeeper``."""
    voters: tuple[int, ...] | None = None
    """Node ids of the KRaft quorum."""
    voters_place: Place | None = None
    controllers: set[int] = field(default_factory=set)
    """Node ids known to be controllers where no input names the whole quorum."""
    zookeepers: int | None = None
    """Number of ZooKeeper servers."""
    notes: list[str] = field(default_factory=list)
    """What an input has and the model does not, in a sentence each."""

    def broker(self, number: int, place: Place) -> DescribedBroker:
        """Return a broker, which is added if it is new."""
        return self.brokers.setdefault(number, DescribedBroker(number, place))

    def topic(self, name: str, place: Place) -> DescribedTopic:
        """Return a topic, which is added if it is new."""
        return self.topics.setdefault(name, DescribedTopic(name, place))


_Value = TypeVar("_Value")


class _Merger:
    """Merge of descriptions; contradictions are collected as problems."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def one(self, what: str, first: _Value | None, second: _Value | None, places: tuple[Place, Place]) -> _Value | None:
        """Return the value that one of two inputs has, or both."""
        if first is not None and second is not None and first != second:
            message = f"found {what} {_text(second)}, expected {_text(first)} as in {places[0]}"
            self.problems.append(places[1].problem(message))
        return second if first is None else first

    def given(self, what: str, first: GivenValue | None, second: GivenValue | None) -> GivenValue | None:
        """Return the given value of two inputs."""
        if first is None or second is None:
            return second if first is None else first
        self.one(what, first.value, second.value, (first.place, second.place))
        return first

    def configs(self, what: str, first: dict[str, GivenValue], second: dict[str, GivenValue]) -> dict[str, GivenValue]:
        """Return the configurations of two inputs."""
        names = dict.fromkeys([*first, *second])
        found = {name: self.given(f"{what} with {name}", first.get(name), second.get(name)) for name in names}
        return {name: given for name, given in found.items() if given is not None}

    def broker(self, first: DescribedBroker, second: DescribedBroker) -> DescribedBroker:
        what, places = f"broker {first.id}", (first.place, second.place)
        rack = self.one(f"{what} in rack", first.rack, second.rack, places)
        return replace(first, rack=rack, configs=self.configs(what, first.configs, second.configs))

    def topic(self, first: DescribedTopic, second: DescribedTopic) -> DescribedTopic:
        what, places = f"topic {shown(first.name)}", (first.place, second.place)
        if first.partitions and second.partitions and first.partitions.keys() != second.partitions.keys():
            counts = (len(first.partitions), len(second.partitions))
            self.one(f"{what} with a number of partitions of", *counts, places)
        for number in first.partitions.keys() & second.partitions.keys():
            one, other = first.partitions[number], second.partitions[number]
            name = f"{first.name}-{number} with replicas"
            self.one(name, one.replicas, other.replicas, (one.place, other.place))
        return replace(
            first,
            partitions=first.partitions or second.partitions,
            partition_count=self.one(
                f"{what} with a number of partitions of", first.partition_count, second.partition_count, places
            ),
            replication=first.replication if second.replication is None else second.replication,
            configs=self.configs(what, first.configs, second.configs),
        )


def _text(value: object) -> str:
    if isinstance(value, tuple):
        return listed(list(map(str, value)), "and")
    return shown(value) if isinstance(value, str) else str(value)


def merged(descriptions: Iterable[ClusterDescription]) -> ClusterDescription:
    """Return one description of all; leaders and ISRs, which change by the minute, are those of the first input.

    Raises:
        PlaybookError: inputs that contradict each other, with both places.
    """
    merger, whole = _Merger(), ClusterDescription()
    for each in descriptions:
        for number, broker in each.brokers.items():
            known = whole.brokers.get(number)
            whole.brokers[number] = broker if known is None else merger.broker(known, broker)
        for name, topic in each.topics.items():
            before = whole.topics.get(name)
            whole.topics[name] = topic if before is None else merger.topic(before, topic)
        whole.configs = merger.configs("the cluster", whole.configs, each.configs)
        whole.kafka = merger.given("the Kafka version", whole.kafka, each.kafka)
        whole.protocol = whole.protocol or each.protocol
        whole.mode = merger.given("the controller mode", whole.mode, each.mode)
        if each.voters is not None and each.voters_place is not None:
            places = (whole.voters_place or each.voters_place, each.voters_place)
            whole.voters, whole.voters_place = merger.one("the quorum", whole.voters, each.voters, places), places[0]
        whole.controllers |= each.controllers
        whole.zookeepers = each.zookeepers if whole.zookeepers is None else whole.zookeepers
        whole.notes += [note for note in each.notes if note not in whole.notes]
    if merger.problems:
        raise PlaybookError(merger.problems)
    return whole
