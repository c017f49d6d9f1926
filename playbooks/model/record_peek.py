"""A record of a session as an inspector shows it: key, contents, producer, and which brokers still hold it."""

from dataclasses import asdict, dataclass
from typing import Any, Protocol

from cluster_model.checker import Checker
from cluster_model.clients import sizes_of
from cluster_model.inspection.log_inspector import WrittenRecord, written_at
from cluster_model.observation import World
from cluster_model.spec import ClusterSpec, ProducerSpec
from playbooks.model.record_contents import RecordName, contents, fields_of, written


@dataclass(frozen=True, slots=True)
class Peeked:
    """A record with its contents."""

    record: WrittenRecord
    value: str | None
    """None for a tombstone, and where the playbook does not say what its producer's records hold."""
    record_bytes: int
    """Of the record alone, as serialized; -1 where only its batch is known."""

    def to_json(self) -> dict[str, Any]:
        """Plain values, for a document."""
        found = asdict(self.record)
        return {**found, "holders": list(self.record.holders), "value": self.value, "record_bytes": self.record_bytes}


class Peekable(Protocol):
    """A cluster, timed or stepped by hand, as far as looking needs it."""

    @property
    def spec(self) -> ClusterSpec:
        """What it was built from."""

    @property
    def seed(self) -> int:
        """The session's."""

    @property
    def world(self) -> World:
        """Everything there is."""

    @property
    def checker(self) -> Checker:
        """Who keeps the books."""


def peek(cluster: Peekable, partition: str, offset: int) -> tuple[Peeked, ...]:
    """Everything that was written at an offset so far, oldest first.

    Raises:
        ModelError: no such partition.
    """
    producers = {spec.name: spec for spec in cluster.spec.producers}
    records = written_at(cluster.world, cluster.checker, partition, offset)
    return tuple(_peeked(record, producers.get(record.client), cluster.seed) for record in records)


def _peeked(record: WrittenRecord, spec: ProducerSpec | None, seed: int) -> Peeked:
    if record.name or spec is None:
        _key, sign, value = record.name.partition("=")
        named = value if sign else record.name
        return Peeked(record, None if record.deletes or not record.name else named, -1)
    size = sizes_of(spec, seed).of(record.partition, record.number, 1)
    fields = fields_of(spec)
    if record.deletes or not fields:
        return Peeked(record, None, size)
    name = RecordName(record.client, record.partition, record.number, max(0, record.timestamp_us), record.key)
    return Peeked(record, written(contents(fields, seed, name)), size)
