"""Deletions of records that wait until every live replica begins where it was told (``DelayedDeleteRecords``, KIP-107).

The leader moves its own log start at once; followers take it up with their next fetch and tell of theirs with the one
after that.
"""

from typing import Any, NamedTuple

from cluster_model.broker.partition.partition import BrokerMetadata, Replica
from cluster_model.kernel.node_context import Alarm, Port
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import DeleteRecordsRequest, DeleteRecordsResponse


class _Parked(NamedTuple):
    """Somebody who waits for a low watermark."""

    source: int
    correlation: int
    offset: int
    deadline: int


class Deletions:
    """One broker's."""

    __slots__ = ("_alarm", "_metadata", "_port", "_replicas", "_touched", "waiting")

    def __init__(
        self, port: Port, replicas: dict[str, Replica], metadata: BrokerMetadata, touched: dict[str, None]
    ) -> None:
        """``touched`` takes the partitions whose saved state is out of date."""
        self.waiting: dict[str, list[_Parked]] = {}
        """Partition → who waits for it."""
        self._port = port
        self._replicas = replicas
        self._metadata = metadata
        self._touched = touched
        self._alarm = Alarm(port, "purgatory")

    def asked(self, source: int, request: DeleteRecordsRequest) -> None:
        """Move the log start, and answer once all live replicas have followed."""
        partition, now = request.partition, self._port.now
        replica = self._replicas.get(partition)
        if replica is None:
            self._answer(source, request.correlation, partition, KafkaError.UNKNOWN_TOPIC_OR_PARTITION, -1)
            return
        self._touched[partition] = None
        offset = replica.hw if request.offset == -1 else request.offset
        error = replica.delete_records(request.offset, now)
        if error is not KafkaError.NONE:
            self._answer(source, request.correlation, partition, error, -1)
            return
        parked = _Parked(source, request.correlation, offset, now + request.timeout_us)
        self.waiting.setdefault(partition, []).append(parked)
        self._alarm.want(parked.deadline)
        self.check(partition)

    def check(self, partition: str) -> None:
        """Something about a partition may have changed: answer those whose offset is reached, or never will be."""
        parked = self.waiting.get(partition)
        if parked is None:
            return
        low = self._low_watermark(partition)
        still = [each for each in parked if low is not None and low < each.offset]
        if still:
            self.waiting[partition] = still
        else:
            del self.waiting[partition]
        for each in parked:
            if low is None:
                self._answer(each.source, each.correlation, partition, KafkaError.NOT_LEADER_OR_FOLLOWER, -1)
            elif low >= each.offset:
                self._answer(each.source, each.correlation, partition, KafkaError.NONE, low)

    def _low_watermark(self, partition: str) -> int | None:
        """The least log start of the replicas that count as alive (``lowWatermarkIfLeader``); None: not the leader."""
        replica = self._replicas.get(partition)
        if replica is None or replica.leadership is None:
            return None
        remotes = replica.leadership.remotes.items()
        starts = [remote.log_start for broker, remote in remotes if broker in self._metadata.live]
        return min([replica.log.log_start, *starts])

    def expire(self) -> None:
        """The alarm: whoever has waited long enough is told so."""
        if not self._alarm.rang():
            return
        now = self._port.now
        for partition, parked in tuple(self.waiting.items()):
            still = [each for each in parked if each.deadline > now]
            self.waiting[partition] = still
            if not still:
                del self.waiting[partition]
            for each in parked:
                if each.deadline <= now:
                    self._answer(each.source, each.correlation, partition, KafkaError.REQUEST_TIMED_OUT, -1)
        deadlines = [each.deadline for parked in self.waiting.values() for each in parked]
        if deadlines:
            self._alarm.want(min(deadlines))

    def _answer(self, source: int, correlation: int, partition: str, error: KafkaError, low: int) -> None:
        self._port.send(source, DeleteRecordsResponse(correlation, partition, int(error), low))

    def stopped(self) -> None:
        """The process died."""
        self.waiting.clear()
        self._alarm.forget()

    def save(self) -> tuple[Any, ...]:
        """All state."""
        waiting = tuple((name, tuple(map(tuple, parked))) for name, parked in self.waiting.items())
        return (waiting, self._alarm.save())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        waiting, alarm = saved
        self.waiting.clear()
        self.waiting.update((name, [_Parked(*each) for each in parked]) for name, parked in waiting)
        self._alarm.load(alarm)
