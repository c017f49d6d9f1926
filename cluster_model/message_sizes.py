"""How large a message is on the wire, as far as links of limited throughput and lost packets need to know."""

from collections.abc import Mapping
from typing import Any, Final

from cluster_model.broker.fetch.replication_quota import slice_bytes
from cluster_model.log.batch_store import Lineages
from cluster_model.protocol.messages import FetchResponse, ProduceRequest

ENVELOPE: Final = 100
"""Bytes of every message: its header, and what it says without any lists; those of TCP and IP among them."""
ENTRY: Final = 40
"""Bytes of every entry in a list of a message: a partition with its numbers, a member, a node."""


def size_of(message: Any, lineages: Mapping[str, Lineages]) -> int:
    """Bytes, an estimate: those of the batches in it are exact, the rest is :data:`ENVELOPE` and :data:`ENTRY`.

    ``lineages`` know how large batches are, by partition.
    """
    if type(message) is ProduceRequest:
        return ENVELOPE + ENTRY + message.size
    size = ENVELOPE
    if type(message) is FetchResponse:
        for data in message.partitions:
            size += ENTRY
            if data.records.end > data.records.start:
                size += slice_bytes(lineages[data.partition], data.records)
        return size
    if isinstance(message, tuple):
        size += ENTRY * sum([len(part) for part in message if type(part) is tuple])
    return size
