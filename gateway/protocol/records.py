"""A fetched stretch of a modelled log as bytes: clients' batches as they came, and the model's own made to look so."""

import json
from typing import Final

from cluster_model.log.batch_store import Lineages
from cluster_model.log.keys import keys_of
from cluster_model.protocol.batch import ABORT, COMMIT, TRANSACTIONAL, Batch
from cluster_model.protocol.messages import FetchData
from cluster_model.protocol.slices import Slice
from gateway.protocol.context import House
from gateway.protocol.record_batches import OVERHEAD, Origin, made, marker, placed
from playbooks.model.payloads import RecordName, contents, fields_of, written

KEPT: Final = 4096
"""Batches of the model's own producers that are kept as bytes."""


def bytes_of(house: House, data: FetchData) -> bytes:
    """Whole batches, in order, each with its offset and its leader's epoch; a damaged one is damaged here too."""
    lineages = house.cluster.lineages[data.partition]
    records = data.records
    out: list[bytes | bytearray] = []
    for index, (start, stint) in enumerate(records.extents):
        end = records.extents[index + 1][0] if index + 1 < len(records.extents) else records.end
        lineage = lineages.by_id[stint]
        for batch in lineage.between(start, end):
            if records.cleaned is not None and records.cleaned.gone(batch):
                continue
            payload = lineage.payload(batch.base) or _made(house, data.partition, stint, batch, lineages)
            out.append(_spoilt(placed(payload, batch.base, lineage.epoch), records, batch))
    return b"".join(out)


def _spoilt(data: bytearray, records: Slice, batch: Batch) -> bytearray:
    if any(each.start < batch.end and each.end > batch.base for each in records.damages):
        data[-1 if len(data) > OVERHEAD else OVERHEAD - 1] ^= 0xFF
    return data


def _made(house: House, partition: str, stint: int, batch: Batch, lineages: Lineages) -> bytes:
    place = (partition, stint, batch.base)
    data = house.made.get(place)
    if data is None:
        data = house.made[place] = _make(house, partition, batch, lineages)
        if len(house.made) > KEPT:
            del house.made[next(iter(house.made))]
    return data


def _make(house: House, partition: str, batch: Batch, lineages: Lineages) -> bytes:
    stamp_ms = house.stamp_ms(batch.timestamp_us if batch.timestamp_us != -1 else batch.appended_us)
    if batch.kind >= ABORT:
        who = Origin(batch.producer_id, batch.producer_epoch)
        return marker(batch.base, 0, stamp_ms, who, batch.coordinator_epoch, commit=batch.kind == COMMIT)
    sequence = batch.sequence - batch.origin if batch.sequence >= 0 else -1
    who = Origin(batch.producer_id, batch.producer_epoch, sequence if batch.producer_id >= 0 else -1)
    records = [_record(house, partition, batch, number, lineages) for number in range(batch.records)]
    return made(batch.base, 0, stamp_ms, records, who, transactional=batch.kind == TRANSACTIONAL)


def _record(
    house: House, partition: str, batch: Batch, number: int, lineages: Lineages
) -> tuple[bytes | None, bytes | None]:
    """A record of the model's own producers: what its playbook says, or which record it is."""
    if number < len(batch.name):
        named, sign, value = batch.name[number].partition("=")
        return (named.encode(), value.encode()) if sign else (None, named.encode())
    keys = keys_of(lineages.keys, batch)
    found = keys.keys[number]
    key = f"key-{found}" if isinstance(found, int) else found
    if number in keys.deletes:
        return (None if key is None else key.encode(), None)
    spec = next((each for each in house.cluster.spec.producers if each.name == batch.client), None)
    name = RecordName(batch.client, partition, batch.sequence + number, max(0, batch.timestamp_us), key)
    fields = {} if spec is None else fields_of(spec)
    if not fields:
        told = {"producer": name.producer, "partition": partition, "number": name.number}
        return (None if key is None else key.encode(), json.dumps(told).encode())
    value = written(contents(fields, house.cluster.seed, name))
    return (None if key is None else key.encode(), value.encode())
