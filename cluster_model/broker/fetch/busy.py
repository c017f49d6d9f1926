"""Replica fetcher threads that are busy: each answer is handled some time after it came.

There are too few of them (``num.replica.fetchers``) for what they carry, or too little of a processor for each. A
thread asks again only when it is done with an answer, so all that it fetches comes so much later.
"""

from collections.abc import Mapping
from typing import NamedTuple

from cluster_model.broker.fetch.replication_quota import slice_bytes
from cluster_model.broker.partition.partition import Replica
from cluster_model.protocol.messages import FetchResponse

_SECOND = 1_000_000


class Busy(NamedTuple):
    """What one fault does to the threads of a broker, or only to that which fetches ``partition``."""

    extra_us: int
    """On top of every answer."""
    throughput: int
    """Bytes a second that a thread handles; 0: as many as come."""
    partition: str = ""
    """Empty: every thread."""


def busy_us(faults: Mapping[int, Busy], response: FetchResponse, replicas: Mapping[str, Replica]) -> int:
    """How long a thread is busy with an answer, by all faults that are about it."""
    size = sum(
        slice_bytes(replicas[data.partition].log.lineages, data.records)
        for data in response.partitions
        if data.records.extents and data.partition in replicas
    )
    return sum(
        fault.extra_us + (size * _SECOND // fault.throughput if fault.throughput else 0) for fault in faults.values()
    )
