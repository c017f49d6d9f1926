"""Readers of what Kafka's own command-line tools print about a cluster.

``kafka-topics --describe`` (``TopicCommand``, since 0.8), ``kafka-configs --describe`` with or without ``--all``
(``ConfigCommand``: the form of ZooKeeper, of brokers up to 2.4, and the one since 2.5), ``kafka-metadata-quorum
describe --status`` (``MetadataQuorumCommand``, since 3.3). Outputs may follow each other in one file.
"""

import re
from collections.abc import Callable
from typing import Final

from cluster_model.util.quantities import counted
from playbooks.cluster_import.description import (
    NO_LEADER,
    ClusterDescription,
    DescribedPartition,
    DescribedTopic,
    GivenValue,
    Place,
)
from playbooks.errors import PlaybookError, Problem, shown

_TOPIC: Final = re.compile(r"\s*Topic: ?\S+\s+(?:TopicId|PartitionCount|Partition) ?:.*")
_FIELD: Final = re.compile(
    r"(?:^|\s)\s*(TopicId|Topic|PartitionCount|ReplicationFactor|Configs|MarkedForDeletion|Partition|Leader"
    r"|(?:Adding |Removing )?Replicas|Isr|Elr|LastKnownElr|Offline): ?"
)
_CONFIGS: Final = re.compile(
    r"(?:(?:Dynamic|All) configs for (?P<type>[a-z-]+) (?P<name>\S+) are:"
    r"|Configs for (?P<old_type>broker) (?P<old_name>\d+) are:"
    r"|(?P<default>Default configs? for (?P<default_type>[a-z-]+) in the cluster are:))\s*"
)
_ZOOKEEPER_CONFIGS: Final = re.compile(r"Configs for (?P<type>[a-z-]+) '(?P<name>[^']+)' are ?(?P<entries>.*)")
_ENTRY: Final = re.compile(
    r"  (?P<name>[A-Za-z0-9._-]+)=(?P<value>.*?)(?: sensitive=(?P<sensitive>true|false) synonyms=\{(?P<synonyms>.*)\})?"
)
_ASSIGNMENT: Final = re.compile(r",\s*(?=[a-z][a-z0-9.]*=)")
"""Comma between two configurations on a line; a value such as ``compact,delete`` may have commas as well."""
_SYNONYM: Final = re.compile(r"(?:^|, )([A-Z_]+):([A-Za-z0-9._-]+)=")
_OTHER_CONFIGS: Final = re.compile(r"(?:Quota|SCRAM credential) configs for .*")
_LOG_LINE: Final = re.compile(
    r"\s*|\[\d{4}-\d\d-\d\d .*|(?:WARNING|Note|Warning|SLF4J)\b.*"
    r"|The \S+ '.*' doesn't exist and doesn't have dynamic config\."
)
"""Lines that the tools, or their logging, print besides their result."""
_QUORUM: Final = re.compile(
    r"(?P<name>ClusterId|LeaderId|LeaderEpoch|HighWatermark|MaxFollowerLag\w*|Current\w+):(?P<value>.*)"
)
_NUMBER: Final = re.compile(r"-?\d+", re.ASCII)

DEFAULT_SOURCE: Final = "DEFAULT_CONFIG"
TOPIC_SOURCE: Final = "DYNAMIC_TOPIC_CONFIG"


def is_tool_output(text: str) -> bool:
    """Return whether a text looks like the output of one of the tools."""
    patterns = (_TOPIC, _CONFIGS, _ZOOKEEPER_CONFIGS, _QUORUM)
    lines = text.split("\n")[:200]
    return any(pattern.match(line) for line in lines for pattern in patterns)


def read_tool_output(text: str, path: str) -> ClusterDescription:
    """Return what the output of the tools says.

    Raises:
        PlaybookError: with every line that is not understood, and topics of which partitions are missing.
    """
    return _ToolOutputReader(path).read(text)


class _ToolOutputReader:
    """Reader of one file, line by line."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._description = ClusterDescription()
        self._problems: list[Problem] = []
        self._broken: set[str] = set()
        """Topics with a wrong line: what it says is missing, which is no second error."""
        self._add_config: Callable[[str, GivenValue, str], None] | None = None
        """What to do with an entry of the current section of configurations; None outside of one."""

    def read(self, text: str) -> ClusterDescription:
        for number, line in enumerate(text.split("\n"), 1):
            self._line(line.rstrip("\r"), Place(self._path, number))
        for topic in self._description.topics.values():
            if topic.name not in self._broken:
                self._check_whole(topic)
        if self._problems:
            raise PlaybookError(self._problems)
        return self._description

    def _line(self, line: str, place: Place) -> None:
        if _TOPIC.fullmatch(line):
            self._add_config = None
            fields = _fields(line)
            errors = len(self._problems)
            (self._partition if "Partition" in fields else self._topic)(fields, place)
            if len(self._problems) > errors:
                self._broken.add(fields["Topic"])
        elif line.startswith("  ") and self._add_config is not None:
            self._entry(line, place)
        elif match := _CONFIGS.fullmatch(line):
            kind = match["type"] or match["old_type"] or match["default_type"].removesuffix("s")
            self._section(kind, "" if match["default"] else match["name"] or match["old_name"], place)
        elif match := _ZOOKEEPER_CONFIGS.fullmatch(line):
            self._section(match["type"].removesuffix("s"), match["name"], place)
            for assignment in filter(None, _ASSIGNMENT.split(match["entries"].strip())):
                name, _, value = assignment.partition("=")
                if self._add_config is not None:
                    self._add_config(name, GivenValue(value, place), "")
            self._add_config = None
        elif match := _QUORUM.fullmatch(line):
            self._quorum(match["name"], match["value"], place)
        elif _OTHER_CONFIGS.fullmatch(line):
            self._note("quotas and credentials")
        elif not _LOG_LINE.fullmatch(line):
            allowed = "a line of kafka-topics --describe, kafka-configs --describe or kafka-metadata-quorum describe"
            self._problems.append(place.problem(f"found {shown(line)}, expected {allowed}"))

    # -- kafka-topics

    def _topic(self, fields: dict[str, str], place: Place) -> None:
        topic = self._description.topic(fields["Topic"], place)
        topic.partition_count = self._number(fields, "PartitionCount", place)
        topic.replication = self._number(fields, "ReplicationFactor", place)
        for assignment in filter(None, _ASSIGNMENT.split(fields.get("Configs", ""))):
            name, _, value = assignment.partition("=")
            topic.configs[name] = GivenValue(value, place)
        if fields.get("MarkedForDeletion"):
            self._note("topics that are marked for deletion")
            del self._description.topics[topic.name]

    def _partition(self, fields: dict[str, str], place: Place) -> None:
        if fields.get("MarkedForDeletion"):
            return
        number, replicas = self._number(fields, "Partition", place), self._numbers(fields, "Replicas", place)
        leader = NO_LEADER if fields.get("Leader") in ("none", "-1") else self._number(fields, "Leader", place)
        isr = self._numbers(fields, "Isr", place, empty=True)
        if number is None or replicas is None or leader is None or isr is None:
            return
        name = f"{fields['Topic']}-{number}"
        topic = self._description.topic(fields["Topic"], place)
        if number in topic.partitions:
            first = topic.partitions[number].place
            self._problems.append(place.problem(f"found {name} again, expected it once, as in {first}"))
            return
        removing = self._numbers(fields, "Removing Replicas", place, empty=True) or ()
        if fields.get("Adding Replicas") or removing:
            self._note("reassignments in progress: the replicas that remain are taken")
        kept = tuple(broker for broker in replicas if broker not in removing)
        topic.partitions[number] = DescribedPartition(kept or replicas, leader, isr, place)
        for broker in kept or replicas:
            self._description.broker(broker, place)

    def _check_whole(self, topic: DescribedTopic) -> None:
        """Report a topic whose output was cut, or of which only some partitions were asked for."""
        if not topic.partitions and topic.partition_count is None:
            return  # known by its configurations alone
        count = topic.partition_count
        expected = range(max(topic.partitions, default=-1) + 1) if count is None else range(count)
        missing = [number for number in expected if number not in topic.partitions]
        extra = [number for number in topic.partitions if number not in expected]
        if missing or extra or count is None:
            have = counted(len(topic.partitions), "partition")
            message = f"found {have} of topic {shown(topic.name)}"
            message += f" without {topic.name}-{missing[0]}" if missing else ""
            whole = "the whole output of kafka-topics --describe"
            allowed = (
                f"{count} as its line says, in {whole}" if count is not None else f"{whole}, with a line for the topic"
            )
            self._problems.append(topic.place.problem(f"{message}, expected {allowed}"))

    def _number(self, fields: dict[str, str], name: str, place: Place) -> int | None:
        text = fields.get(name)
        if text is not None and _NUMBER.fullmatch(text) and len(text) < 11:
            return int(text)
        found = "nothing" if text is None else shown(text)
        self._problems.append(place.problem(f"found {found}, expected '{name}:' and a number"))
        return None

    def _numbers(
        self, fields: dict[str, str], name: str, place: Place, *, empty: bool = False
    ) -> tuple[int, ...] | None:  # fmt: skip
        text = fields.get(name, "" if empty else None)
        if text == "" and empty:
            return ()
        parts = text.split(",") if text is not None else []
        are_numbers = all(_NUMBER.fullmatch(part) and len(part) < 11 for part in parts)
        if parts and are_numbers and len(set(parts)) == len(parts):
            return tuple(map(int, parts))
        found = "nothing" if text is None else shown(text)
        self._problems.append(place.problem(f"found {found}, expected '{name}:' and broker ids such as 1,2,3"))
        return None

    # -- kafka-configs

    def _section(self, kind: str, name: str, place: Place) -> None:
        if kind == "topic" and name:
            self._add_config = self._topic_config(self._description.topic(name, place))
        elif kind == "broker" and not name:
            self._add_config = self._broker_config(self._description.configs)
        elif kind == "broker" and _NUMBER.fullmatch(name) and len(name) < 11:
            self._add_config = self._broker_config(self._description.broker(int(name), place).configs)
        else:
            self._add_config = self._ignored
            self._note(f"configurations of {kind}s")

    def _entry(self, line: str, place: Place) -> None:
        match = _ENTRY.fullmatch(line)
        if match is None:
            self._problems.append(place.problem(f"found {shown(line.strip())}, expected NAME=VALUE of a configuration"))
            return
        assert self._add_config is not None  # only called in a section
        if match["value"] != "null":
            self._add_config(match["name"], GivenValue(match["value"], place), match["synonyms"] or "")

    def _topic_config(self, topic: DescribedTopic) -> Callable[[str, GivenValue, str], None]:
        def add(name: str, given: GivenValue, synonyms: str) -> None:
            source = _SYNONYM.match(synonyms)
            if source is None or source[1] == TOPIC_SOURCE:
                topic.configs[name] = given
            elif source[1] != DEFAULT_SOURCE:  # the topic has it from its brokers
                self._description.configs.setdefault(source[2], given)

        return add

    def _broker_config(self, configs: dict[str, GivenValue]) -> Callable[[str, GivenValue, str], None]:
        def add(name: str, given: GivenValue, synonyms: str) -> None:
            source = _SYNONYM.match(synonyms)
            if source is None or source[1] != DEFAULT_SOURCE:
                configs[name] = given

        return add

    @staticmethod
    def _ignored(name: str, given: GivenValue, synonyms: str) -> None:
        """Skip an entry of something that the model does not have; the section was noted."""

    # -- kafka-metadata-quorum

    def _quorum(self, name: str, value: str, place: Place) -> None:
        if name != "CurrentVoters":
            return
        ids = re.findall(r'"id":\s*(\d+)', value) or _NUMBER.findall(value)
        self._description.voters = tuple(sorted({int(number) for number in ids if len(number) < 11}))
        self._description.voters_place = place
        self._description.mode = GivenValue("kraft", place)

    def _note(self, ignored: str) -> None:
        if ignored not in self._description.notes:
            self._description.notes.append(ignored)


def _fields(line: str) -> dict[str, str]:
    """Return the fields of a line of kafka-topics; tabs separate them, or blanks where a terminal was copied."""
    parts = _FIELD.split(line)
    return dict(zip(parts[1::2], [value.strip() for value in parts[2::2]], strict=True))
