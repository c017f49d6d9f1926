"""Record keys: which record a later one replaces in a compacted topic.

A producer's records have keys if its ``keys`` says how many. The key of a record is drawn once and for all from the
producer's name, the partition and the record's number: no log stores it, and every replica finds the same one. Each
partition has keys of its own, as with Kafka's default partitioner, which sends a key always to the same partition.

A hand-stepped trace names its records: ``a=1`` has key ``a``, and ``a=`` is a tombstone. A name without ``=`` is a
record without a key.
"""

from typing import NamedTuple

from cluster_model.log.lineage import Batch
from cluster_model.log.mixing import mixed, number_of

Key = int | str | tuple[str, int]
"""Of a named record, its key; else its producer and the key's number."""


class KeyedRecord(NamedTuple):
    """What compaction looks at: the key, None for a record that has none, and whether there is a value."""

    key: Key | None
    has_value: bool


class KeyModel(NamedTuple):
    """The keys of one producer's records in one partition: ``distinct`` of them; one record in ``tombstones`` deletes.

    ``tombstones`` 0: none does.
    """

    seed: int
    distinct: int
    tombstones: int

    def record(self, client: str, sequence: int) -> KeyedRecord:
        """The record of that number."""
        drawn = mixed(self.seed + sequence)
        deletes = self.tombstones and not mixed(drawn) * self.tombstones >> 64
        return KeyedRecord((client, drawn * self.distinct >> 64), not deletes)


def key_model(client: str, partition: str, distinct: int, tombstones: int) -> KeyModel:
    """Keys of a producer in a partition."""
    return KeyModel(number_of(f"{client}/{partition}"), distinct, tombstones)


def named_record(name: str) -> KeyedRecord:
    """The record that a hand-stepped trace calls ``name``."""
    key, sign, value = name.partition("=")
    return KeyedRecord(key if sign else None, bool(value))


def record_at(models: dict[str, KeyModel], batch: Batch, offset: int) -> KeyedRecord:
    """The record of a batch at ``offset``."""
    index = offset - batch.base
    if batch.name:
        return named_record(batch.name[index])
    model = models.get(batch.client)
    return KeyedRecord(None, True) if model is None else model.record(batch.client, batch.sequence + index)


def lacks_key(models: dict[str, KeyModel], client: str, names: tuple[str, ...]) -> bool:
    """Whether any record of a batch about to be written has no key."""
    if names:
        return any(named_record(name).key is None for name in names)
    return client not in models
