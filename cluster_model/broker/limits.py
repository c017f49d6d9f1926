"""How much a follower's fetch brings: ``replica.fetch.min.bytes`` and ``replica.fetch.response.max.bytes``.

The first is what a leader waits for before it answers, the second what it answers at most (KIP-74, 0.10.1): partitions
are filled in the order of the session, whole batches as long as there is room, but the first that has any gets one
batch whatever its size. Who got records goes to the end of the session, so that the others come first next time.
"""

from collections.abc import Mapping

from cluster_model.broker.fetch.replication_quota import slice_bytes
from cluster_model.broker.partition.partition import Replica
from cluster_model.protocol.messages import FetchData, FetchRequest
from cluster_model.protocol.slices import Slice, as_stored


def enough(request: FetchRequest, replicas: Mapping[str, Replica], found: list[FetchData]) -> bool:
    """Whether there are as many bytes as the fetch waits for."""
    return sum(_size(replicas, data) for data in found) >= request.min_bytes


def fits(request: FetchRequest, places: int) -> bool:
    """Whether that many partitions cannot be too much for one answer, each within its own bound."""
    most = request.response_max_bytes
    return most <= 0 or places * request.max_bytes <= most


def cut_to_fit(request: FetchRequest, replicas: Mapping[str, Replica], found: list[FetchData]) -> list[FetchData]:
    """The same answers with no more records than one answer may have."""
    left = request.response_max_bytes
    first = True
    cut: list[FetchData] = []
    for data in found:
        kept = data
        if data.records.extents:
            if _size(replicas, data) > left:
                records = _shorter(replicas[data.partition], data.records, left, at_least_one=first)
                kept = data._replace(records=records)
            left -= _size(replicas, kept)
            first = False
        cut.append(kept)
    return cut


def _shorter(replica: Replica, records: Slice, most: int, *, at_least_one: bool) -> Slice:
    shorter = as_stored(replica.log.read(records.start, records.end, max(most, 1)), records.damages)
    if at_least_one or slice_bytes(replica.log.lineages, shorter) <= most:
        return shorter
    return Slice(records.start, records.start, ())


def _size(replicas: Mapping[str, Replica], data: FetchData) -> int:
    return slice_bytes(replicas[data.partition].log.lineages, data.records) if data.records.extents else 0
