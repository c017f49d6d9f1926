"""When the head of a partition's queue may be sent (``RecordAccumulator.batchReady``, ``shouldBackoff``)."""

from cluster_model.clients.metadata import Metadata
from cluster_model.clients.producer.config import ProducerConfig
from cluster_model.clients.producer.record_accumulator import Line, Outgoing
from cluster_model.clients.sizes import RecordSizes


class Readiness:
    """Looks at lines that have something waiting."""

    __slots__ = ("_config", "_metadata", "_sizes", "hurry")

    def __init__(self, config: ProducerConfig, metadata: Metadata, sizes: RecordSizes) -> None:
        self._config = config
        self._metadata = metadata
        self._sizes = sizes
        self.hurry = False
        """Somebody waits for memory, for a flush, or for the end: nothing lingers."""

    def size(self, batch: Outgoing) -> int:
        """Bytes of its records, not compressed."""
        return self._sizes.of(batch.partition, batch.sequence, batch.records)

    def any_of(self, lines: list[Line], now: int) -> bool:
        """Whether the head of any line is ready."""
        return any(line.waiting and not line.muted and self.at(line) <= now for line in lines)

    def at(self, line: Line) -> int:
        """When the head of a line is ready to be sent."""
        batch = line.waiting[0]
        config = self._config
        if batch.attempts:
            return self._backs_off_until(line, batch)
        full = len(line.waiting) > 1 or batch.closed or self.size(batch) >= config.batch_bytes
        linger = 0 if full or self.hurry else config.linger_us
        # Who lingers waits the longer for a clock that was set back, others do not (``ProducerBatch.waitedTimeMs``).
        at = batch.created_us - batch.aged_us + linger if linger else batch.created_us
        return max(at, self._packed_at(batch))

    def along_at(self, line: Line) -> int:
        """When it may go along with another that is ready: that it lingers does not matter then."""
        head = line.waiting[0]
        return self._backs_off_until(line, head) if head.attempts else self._packed_at(head)

    def _backs_off_until(self, line: Line, batch: Outgoing) -> int:
        """A new leader epoch ends the pause."""
        if self._config.era.skips_backoff and self._metadata.epoch(line.name) > batch.leader_epoch:
            return 0
        return batch.retry_at

    def _packed_at(self, batch: Outgoing) -> int:
        return batch.newest_us + self._config.codec.cost_us(self.size(batch))

    def next(self, nodes: dict[int, list[Line]], now: int) -> int:
        """When the next batch that now waits for nothing but time becomes ready, -1 for none."""
        wake = -1
        for lines in nodes.values():
            for line in lines:
                if line.waiting and not line.muted:
                    at = self.at(line)
                    if at > now and (wake < 0 or at < wake):
                        wake = at
        return wake
