"""What clients outside of the model were sent by fetches: to the wire that is what they have read."""

from collections.abc import Iterator, Mapping

from cluster_model.clients.consumer.aborted import handed_out
from cluster_model.log.batch_store import Lineages
from cluster_model.protocol.events import RecordsRead
from cluster_model.protocol.messages import FetchData
from cluster_model.protocol.slices import readable


def reads(
    now: int, client: str, group: str, broker: int, data: FetchData, lineages: Mapping[str, Lineages]
) -> Iterator[RecordsRead]:
    """The records of an answer for one partition, by the stints that wrote them; markers and what was aborted are none.

    An answer holds whole batches: what stands before the offset asked for is not counted.
    """
    known = lineages[data.partition]
    records = readable(data.records, checks=True)
    for start, end in handed_out(known, records, data.aborted):
        for index, (first, stint) in enumerate(records.extents):
            low = max(first, start)
            high = min(records.extents[index + 1][0] if index + 1 < len(records.extents) else end, end)
            if low >= high:
                continue
            count, last = high - low, high - 1
            if records.cleaned is not None:
                _end, count, last = records.cleaned.take(low, high, count)
            if count:
                late = now - known.by_id[stint].appended_at(last)
                yield RecordsRead(
                    now, client, group, data.partition, broker, data.leader_epoch, low, count, late, stint, last + 1
                )
