"""A consumer of a fixed share of a group's partitions: fetches up to the high watermark, hands records out in order.

Partitions are shared out once, each topic in ranges over the members; membership changes are not part of it. The
position moves when records are handed out (``KafkaConsumer``); an offset that its leader no longer has is reset by
``auto.offset.reset``.
"""

from collections.abc import Callable
from typing import Any

from cluster_model.clients.metadata import Metadata
from cluster_model.config import ConsumerConfig
from cluster_model.errors import KafkaError
from cluster_model.events import ConsumerReset, Event, RecordsRead
from cluster_model.kernel.kernel import Payload
from cluster_model.kernel.port import Alarm, Port
from cluster_model.log.lineage import Lineages
from cluster_model.messages import (
    CONSUMER,
    EARLIEST,
    LATEST,
    NOBODY,
    FetchData,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    Message,
    MetadataResponse,
    PartitionState,
)
from cluster_model.profiles import Profile


class Consumer:
    """The node: one member of a group."""

    __slots__ = (
        "_alarm", "_asked", "_backing_off", "_busy_until", "_config", "_correlation", "_emit", "_lineages",
        "_metadata", "_outstanding", "_port", "_processing_us", "_profile", "_resetting", "group", "name",
        "positions", "read",
    )  # fmt: skip

    def __init__(
        self,
        port: Port,
        name: str,
        group: str,
        profile: Profile,
        config: ConsumerConfig,
        partitions: tuple[str, ...],
        brokers: tuple[int, ...],
        processing_us: int,
        lineages: dict[str, Lineages],
        emit: Callable[[Event], None],
    ) -> None:
        self.name = name
        self.group = group
        self.positions = dict.fromkeys(partitions, 0)
        self.read = 0
        self._port = port
        self._profile = profile
        self._config = config
        self._processing_us = processing_us
        self._lineages = lineages
        """Where the records that a fetch names are kept: what a real response carries as bytes."""
        self._emit = emit
        self._correlation = 0
        self._outstanding: dict[int, tuple[int, int]] = {}
        """Leader → (correlation, sent at): one fetch under way to each."""
        self._asked: dict[int, tuple[FetchPartition, ...]] = {}
        self._resetting: dict[str, tuple[int, int, int]] = {}
        """Partition → (correlation, broker asked, sent at) of the ListOffsets under way."""
        self._backing_off: dict[str, int] = {}
        self._busy_until = 0
        self._alarm = Alarm(port, "poll")
        self._metadata = Metadata(
            port,
            brokers,
            age_us=config.metadata_age_us,
            backoff_us=config.backoff_us,
            timeout_us=config.request_timeout_us,
            busy=self._outstanding.__contains__,
        )

    def begin(self, states: tuple[PartitionState, ...]) -> None:
        """Start with knowledge of the cluster's first instant, at the start of every log."""
        self._metadata.begin(states)
        self._alarm.want(self._port.now)

    def receive(self, source: int, message: Message) -> None:
        """Handle a message."""
        if isinstance(message, FetchResponse):
            self._fetched(source, message)
        elif isinstance(message, ListOffsetsResponse):
            self._reset(message)
        elif isinstance(message, MetadataResponse) and self._metadata.answered(message):
            self._poll()

    def on_timer(self, timer: Payload) -> None:
        """Handle a timer by its name."""
        if timer[0] == "metadata":
            self._metadata.rang()
        elif self._alarm.rang():
            now = self._port.now
            asked = [(leader, sent_at) for leader, (_correlation, sent_at) in self._outstanding.items()]
            asked += [(leader, sent_at) for _correlation, leader, sent_at in self._resetting.values()]
            for leader in dict.fromkeys(at for at, sent in asked if now - sent >= self._config.request_timeout_us):
                self._connection_lost(leader)
            self._poll()

    def on_disconnect(self, peer: int) -> None:
        """A fetch under way to ``peer`` will not be answered."""
        self._metadata.disconnected(peer)
        self._connection_lost(peer)
        self._poll()

    def _connection_lost(self, leader: int) -> None:
        if self._outstanding.pop(leader, None) is not None:
            for asked in self._asked.pop(leader, ()):
                self._back_off(asked.partition)
        for partition, (_correlation, asked_of, _sent_at) in tuple(self._resetting.items()):
            if asked_of == leader:
                del self._resetting[partition]
                self._back_off(partition)
        self._metadata.avoid(leader)
        self._metadata.refresh()

    def _back_off(self, partition: str) -> None:
        self._backing_off[partition] = self._port.now + self._config.backoff_us

    def _poll(self) -> None:
        """Fetch from every leader that has no fetch under way, unless still busy with records."""
        now = self._port.now
        if now < self._busy_until:
            self._alarm.want(self._busy_until)
            return
        by_leader: dict[int, list[FetchPartition]] = {}
        for partition, position in self.positions.items():
            leader = self._metadata.leader(partition)
            if leader == NOBODY:
                self._metadata.refresh()
            elif self._backing_off.get(partition, 0) > now:
                self._alarm.want(self._backing_off[partition])
            elif leader not in self._outstanding and partition not in self._resetting:
                epoch = self._metadata.epoch(partition) if self._profile.kip_320 else -1
                by_leader.setdefault(leader, []).append(FetchPartition(partition, position, epoch, -1))
        for leader, asked in by_leader.items():
            self._correlation += 1
            self._outstanding[leader] = (self._correlation, now)
            self._asked[leader] = tuple(asked)
            request = FetchRequest(
                self._correlation, CONSUMER, -1, self._config.fetch_wait_us, self._config.fetch_bytes, tuple(asked)
            )
            self._port.send(leader, request)
        sent = [sent_at for _correlation, sent_at in self._outstanding.values()]
        sent += [sent_at for _correlation, _leader, sent_at in self._resetting.values()]
        if sent:
            self._alarm.want(min(sent) + self._config.request_timeout_us)

    def _fetched(self, source: int, response: FetchResponse) -> None:
        if self._outstanding.get(source, (0, 0))[0] != response.correlation:
            return
        del self._outstanding[source]
        self._asked.pop(source, None)
        taken = 0
        for data in response.partitions:
            if data.offset != self.positions[data.partition]:
                continue
            if data.error:
                self._refused(source, data)
            elif data.records.end > data.records.start and taken < self._config.max_poll_records:
                taken += self._hand_out(source, data, self._config.max_poll_records - taken)
        if taken and self._processing_us:
            self._busy_until = self._port.now + taken * self._processing_us
        self._poll()

    def _hand_out(self, source: int, data: FetchData, most: int) -> int:
        records = data.records
        end = min(records.end, records.start + most)
        count, last = end - records.start, end - 1
        if records.cleaned is not None:
            end, count, last = records.cleaned.take(records.start, records.end, most)
        self.positions[data.partition] = end
        if not count:
            return 0
        last_lineage = next(lineage for start, lineage in reversed(records.extents) if start <= last)
        written_us = self._lineages[data.partition].by_id[last_lineage].appended_at(last)
        self.read += count
        now = self._port.now
        self._emit(
            RecordsRead(
                now,
                self.name,
                self.group,
                data.partition,
                source,
                data.leader_epoch,
                records.start,
                count,
                now - written_us,
            )
        )
        return count

    def _refused(self, source: int, data: FetchData) -> None:
        if data.error == KafkaError.OFFSET_OUT_OF_RANGE:
            self._correlation += 1
            self._resetting[data.partition] = (self._correlation, source, self._port.now)
            epoch = self._metadata.epoch(data.partition) if self._profile.kip_320 else -1
            self._port.send(
                source,
                ListOffsetsRequest(
                    self._correlation, data.partition, EARLIEST if self._config.reset_to_earliest else LATEST, epoch
                ),
            )
            return
        self._back_off(data.partition)
        self._metadata.refresh()

    def _reset(self, response: ListOffsetsResponse) -> None:
        if self._resetting.get(response.partition, (0, 0, 0))[0] != response.correlation:
            return
        del self._resetting[response.partition]
        if response.error:
            self._back_off(response.partition)
            self._metadata.refresh()
        else:
            before = self.positions[response.partition]
            self.positions[response.partition] = response.log_offset
            self._emit(
                ConsumerReset(self._port.now, self.name, self.group, response.partition, response.log_offset, before)
            )
        self._poll()

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (
            tuple(self.positions.items()), self.read, self._correlation, tuple(self._outstanding.items()),
            tuple(self._asked.items()), tuple(self._resetting.items()), tuple(self._backing_off.items()),
            self._busy_until, self._alarm.save(), self._metadata.save(),
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        (
            positions, self.read, self._correlation, outstanding, asked, resetting, backing_off, self._busy_until,
            alarm, metadata,
        ) = saved  # fmt: skip
        self.positions = dict(positions)
        self._outstanding.clear()
        self._outstanding.update(outstanding)
        self._asked = dict(asked)
        self._resetting = dict(resetting)
        self._backing_off = dict(backing_off)
        self._alarm.load(alarm)
        self._metadata.load(metadata)
