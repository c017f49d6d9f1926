"""Tables of a playbook's cluster, topics and clients: every key with its kind and a line of documentation."""

import re
from dataclasses import dataclass
from typing import Any, Final

from cluster_model.protocol.config_defs import SCOPES, Scope, check
from cluster_model.protocol.config_key import ConfigKey, ConfigValue
from cluster_model.protocol.errors import ModelError
from cluster_model.protocol.versions import PROFILE_VERSIONS
from cluster_model.spec.application import COMMIT_MODES
from cluster_model.spec.cluster_spec import MAX_BROKER, QUORUM_SIZES, SEND_MODES
from playbooks.errors import nearest, shown
from playbooks.parser.document.context import Notes
from playbooks.parser.document.field_types import (
    BAD,
    DURATION,
    NAME,
    ByShape,
    Choice,
    Integer,
    Key,
    Kind,
    ListOf,
    Record,
    Schema,
    Text,
    Truth,
)
from playbooks.parser.document.references import BrokerId, Reference
from playbooks.parser.document.yaml_source import Mapping, Node, Scalar, found
from playbooks.parser.sections.load_keys import KEYS, LOOP, RATE_OF_RECORDS, SIZES
from playbooks.parser.sections.placing import KeysToPartitions
from playbooks.parser.sections.records import RECORDS
from playbooks.parser.sections.sending import SENDING
from playbooks.parser.sections.subscriptions import Pattern
from playbooks.parser.sections.transactions import TRANSACTIONS

MAX_BROKERS: Final = 100
MAX_PARTITIONS: Final = 1_000
"""Of one topic."""
MOST_PRODUCERS: Final = 1_000
MOST_MEMBERS: Final = 500
"""Of one group."""
MOST_CONSUMERS: Final = 1_000
"""Of all groups."""
QUORUM_ALLOWED: Final = "1, 3 or 5"
CONTROLLERS_ALLOWED: Final = "1, 3 or 5, or a list of so many brokers"
BROKERS_ALLOWED: Final = f"a number of brokers from 1 to {MAX_BROKERS}, or a list of {{id, rack}}"


@dataclass(frozen=True, slots=True)
class Config(Kind):
    """Kafka's own configuration of one scope; a dict of name → value in the configuration's type."""

    scope: Scope

    def _read(self, node: Node, key: str, notes: Notes) -> Any:
        if not isinstance(node, Mapping):
            notes.refuse(
                node, key, f"a mapping of {self.scope} configurations, such as {next(iter(SCOPES[self.scope]))}"
            )
            return BAD
        values: dict[str, ConfigValue] = {}
        for name, (where, value) in node.entries.items():
            if not isinstance(value, Scalar) or value.empty:
                notes.problem(value, f"{key}.{name}", f"found {found(value)}, allowed is a single value")
                continue
            try:
                values[name] = check(self.scope, name, _typed(SCOPES[self.scope].get(name), value))
            except ModelError as error:
                unknown = name not in SCOPES[self.scope]
                notes.problem(where if unknown else value, f"{key}.{shown(name)[1:-1]}", str(error))
        return values if len(values) == len(node.entries) else BAD

    def _schema(self) -> Schema:
        properties = {name: _config_schema(entry) for name, entry in SCOPES[self.scope].items()}
        return {"type": "object", "properties": properties, "additionalProperties": False}


def _typed(key: ConfigKey | None, value: Scalar) -> ConfigValue:
    """A plain number becomes one where the configuration is a number; all else stays text."""
    if key is not None and key.type == "int" and value.plain and re.fullmatch(r"-?[0-9]{1,19}", value.text, re.ASCII):
        return int(value.text)
    return value.text


def _config_schema(key: ConfigKey) -> Schema:
    if key.type == "int":
        return {"type": "integer", "minimum": key.low, "maximum": key.high, "description": key.doc}
    if key.type == "ratio":
        return {"type": "number", "minimum": 0, "maximum": 1, "description": key.doc}
    if key.type == "bool":
        return {"type": "boolean", "description": key.doc}
    if not key.choices:
        return {"type": ["string", "integer"], "pattern": f"^({key.pattern})$", "description": key.doc}
    numbers = [int(choice) for choice in key.choices if choice.isdigit()]
    numbers += [-1] if "all" in key.choices else []  # Kafka's number for all
    return {"enum": [*key.choices, *numbers], "description": key.doc}


@dataclass(frozen=True, slots=True)
class KafkaVersion(Kind):
    """A release line. As the file's text is taken as written, ``4.10`` is not ``4.1``."""

    def _read(self, node: Node, key: str, notes: Notes) -> Any:
        if isinstance(node, Scalar) and node.text in PROFILE_VERSIONS:
            return node.text
        hint = nearest(node.text, PROFILE_VERSIONS) if isinstance(node, Scalar) else ""
        notes.refuse(node, key, f"one of {', '.join(PROFILE_VERSIONS)}{hint}")
        return BAD

    def _schema(self) -> Schema:
        numbers = [float(version) for version in PROFILE_VERSIONS if version.count(".") == 1]
        return {"enum": [*PROFILE_VERSIONS, *numbers]}


@dataclass(frozen=True, slots=True)
class QuorumSize(Kind):
    """A number of voters: an odd one, for a majority."""

    def _read(self, node: Node, key: str, notes: Notes) -> Any:
        number = Integer(1, max(QUORUM_SIZES), QUORUM_ALLOWED).read(node, key, notes)
        if number is BAD or number in QUORUM_SIZES:
            return number
        notes.refuse(node, key, QUORUM_ALLOWED)
        return BAD

    def _schema(self) -> Schema:
        return {"enum": list(QUORUM_SIZES)}


BROKER: Final = Record(
    {
        "id": Key(Integer(1, MAX_BROKER), "The broker's id.", required=True),
        "rack": Key(NAME, "Its rack, or availability zone."),
    }
)

NETWORK: Final = Record(
    {
        "latency": Key(DURATION, "One-way latency of every link; 1ms unless given."),
        "jitter": Key(DURATION, "The most that jitter adds to it; 200us unless given."),
    }
)

DISK: Final = Record(
    {
        "writeback": Key(
            DURATION, "Age at which the operating system has written a dirty page to disk; 30s unless given."
        ),
    }
)

CLUSTER: Final = Record(
    {
        "kafka": Key(KafkaVersion(), "Kafka release line whose rules hold; the newest unless given."),
        "mode": Key(Choice(("kraft", "zookeeper")), "Kind of controller, where the release has both."),
        "brokers": Key(
            ByShape(
                BROKERS_ALLOWED,
                scalar=Integer(1, MAX_BROKERS, BROKERS_ALLOWED),
                sequence=ListOf(BROKER, 1, MAX_BROKERS),
            ),
            "How many brokers (ids from 1), or a list of them; 3 unless given.",
        ),
        "controllers": Key(
            ByShape(
                CONTROLLERS_ALLOWED,
                scalar=QuorumSize(),
                sequence=ListOf(BrokerId(), 1, max(QUORUM_SIZES)),
            ),
            "KRaft: how many controllers of their own, or the brokers that are controllers too; 3 unless given.",
        ),
        "zookeepers": Key(QuorumSize(), "ZooKeeper mode: servers of the ensemble; 3 unless given."),
        "config": Key(Config("broker"), "Broker configuration by Kafka's names and units, for all brokers."),
        "network": Key(NETWORK, "The network between all nodes."),
        "disk": Key(DISK, "The brokers' disks."),
    }
)

TOPIC: Final = Record(
    {
        "name": Key(
            Text(r"(?!\.{1,2}$)[A-Za-z0-9._-]{1,249}", "a topic name of letters, digits, dots, dashes and underscores"),
            "The topic's name.",
            required=True,
        ),
        "partitions": Key(Integer(1, MAX_PARTITIONS), "Number of partitions; 1 unless given."),
        "replication": Key(Integer(1, MAX_BROKERS), "Replicas of each partition."),
        "placement": Key(
            ListOf(ListOf(BrokerId(), 1, MAX_BROKERS), 1, MAX_PARTITIONS),
            "Replicas of each partition in assignment order, instead of partitions and replication: [[1, 2, 3]].",
        ),
        "config": Key(Config("topic"), "Topic configuration by Kafka's names."),
    }
)

PRODUCER: Final = Record(
    {
        "name": Key(NAME, "The producer's name.", required=True),
        "topic": Key(Reference("topic"), "The topic it writes to.", required=True),
        "rate": Key(RATE_OF_RECORDS, "Records a second, or another unit: 200/s; or a ramp, steps, or bursts."),
        "loop": Key(LOOP, "open, at the rate whatever happens, unless given; or a closed one, by what was answered."),
        "batch": Key(Integer(1, 100_000), "Records handed over at a time; 1 unless given."),
        "bytes": Key(SIZES, "Size of a record, or how sizes are drawn; 200 unless given."),
        "keys": Key(
            KEYS,
            "Distinct keys of its records, which say where they go, and which compaction needs; none unless given.",
        ),
        "partition": Key(
            Integer(0, MAX_PARTITIONS - 1), "The partition of all its records; by its partitioner unless given."
        ),
        "partitioner": Key(
            KeysToPartitions(),
            "The application's own: partitions of keys, {key-0: 2, others: 1}; those not named by Kafka's hash.",
        ),
        "tombstones": Key(
            Integer(1, 1_000_000), "One record in so many is a tombstone, which deletes its key; none unless given."
        ),
        "send": Key(
            Choice(SEND_MODES),
            "How it sends: async (unless given), sync (one record at a time) or fire_and_forget.",
        ),
        "records": Key(
            RECORDS,
            "What the records hold, for whoever looks at them: faker: and a template, or fields with their providers.",
        ),
        **SENDING,
        "resends": Key(
            Truth(), "Whether it sends again, after a restart, what it was not told the outcome of; no unless given."
        ),
        "transactions": Key(TRANSACTIONS, "When its transactions end, and how; with transactional.id in its config."),
        "start": Key(DURATION, "When it begins; at once unless given."),
        "stop": Key(DURATION, "When it ends; when the settling begins unless given."),
        "config": Key(Config("producer"), "Producer configuration by Kafka's names."),
    }
)

GROUP: Final = Record(
    {
        "name": Key(NAME, "The group's id.", required=True),
        "topics": Key(ListOf(Reference("topic"), 1, 100), "The topics it reads."),
        "pattern": Key(Pattern(), "Instead of topics: all whose names match this regular expression, new ones too."),
        "members": Key(Integer(1, MOST_MEMBERS), "Number of consumers; 1 unless given."),
        "instances": Key(
            ListOf(NAME, 1, 100),
            "The group.instance.id of each member, in their order; two members may claim the same one.",
        ),
        "racks": Key(ListOf(NAME, 1, 100), "The client.rack of each member, in their order."),
        "processing": Key(DURATION, "Time a consumer spends on the records of one poll; none unless given."),
        "coordinated": Key(
            Truth(), "false: its partitions are given once and read from 0; else its coordinator shares them out."
        ),
        "commit": Key(Choice(tuple(COMMIT_MODES)), "When its applications commit; auto unless given."),
        "fails": Key(Integer(1, 1_000_000), "Its handler cannot process one record in so many; all unless given."),
        "retries": Key(Integer(1, 1_000), "How often it is tried again before the record is skipped; 0 unless given."),
        "retry_pause": Key(DURATION, "How long after; at once unless given."),
        "dead_letter": Key(Reference("topic"), "The topic that it is sent to instead of being skipped; with fails."),
        "to": Key(Reference("topic"), "The topic that its members write one record to for each that they have read."),
        "to_config": Key(Config("producer"), "Configuration of the producers that they do it with."),
        "config": Key(Config("consumer"), "Consumer configuration by Kafka's names."),
    }
)

CLIENTS: Final = Record(
    {
        "producers": Key(ListOf(PRODUCER, 0, MOST_PRODUCERS), "Who writes."),
        "groups": Key(ListOf(GROUP, 0, 100), "Who reads."),
    }
)

TOPICS: Final = ListOf(TOPIC, 1, 100)
