"""A consumer: the poll loop over positions and fetches (``KafkaConsumer.poll``).

Its partitions are given once and for all; membership changes are not part of it. A position moves when records are
handed out, not when they are fetched, and not when they have been processed. An exception that a poll throws ends the
application, and the consumer with it.
"""

from collections.abc import Callable
from typing import Any

from cluster_model.clients.fetching import Fetcher, Handed
from cluster_model.clients.metadata import Metadata
from cluster_model.clients.positions import Positions
from cluster_model.clients.reset_policy import reset_policy
from cluster_model.config import ConsumerConfig
from cluster_model.events import ConsumerFailed, Event, RecordsRead
from cluster_model.kernel.kernel import Payload
from cluster_model.kernel.port import Alarm, Port
from cluster_model.log.lineage import Lineages
from cluster_model.messages import (
    EpochEndResponse,
    FetchResponse,
    ListOffsetsResponse,
    Message,
    MetadataResponse,
    PartitionState,
)
from cluster_model.profiles import Profile


class Consumer:
    """The node: one member of a group."""

    __slots__ = (
        "_alarm", "_busy_until", "_config", "_emit", "_fetcher", "_metadata", "_port", "_positions", "_processing_us",
        "failed", "group", "name", "read",
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
        self.read = 0
        self.failed = ""
        """The exception that ended the application, empty while it runs."""
        self._port = port
        self._config = config
        self._processing_us = processing_us
        self._emit = emit
        self._busy_until = 0
        self._alarm = Alarm(port, "poll")
        self._metadata = Metadata(
            port,
            brokers,
            age_us=config.metadata_age_us,
            backoff_us=config.backoff_us,
            timeout_us=config.request_timeout_us,
            busy=self._busy,
        )
        self._positions = Positions(
            port, (name, group), profile, reset_policy(profile, config.reset),
            (config.backoff_us, config.request_timeout_us), self._metadata, emit,
        )  # fmt: skip
        self._fetcher = Fetcher(port, profile, config, self._metadata, self._positions, lineages)
        self._positions.assign(partitions)
        for partition in partitions:
            self._positions.seek(partition, 0)

    @property
    def positions(self) -> dict[str, int]:
        """Partition → the next offset to be read, where that is known."""
        return self._positions.offsets

    def _busy(self, broker: int) -> bool:
        return self._fetcher.busy(broker)

    def begin(self, states: tuple[PartitionState, ...]) -> None:
        """Start with knowledge of the cluster's first instant, at the start of every log."""
        self._metadata.begin(states)
        self._alarm.want(self._port.now)

    def receive(self, source: int, message: Message) -> None:
        """Handle a message."""
        if isinstance(message, FetchResponse):
            self._fetcher.answered(source, message)
        elif isinstance(message, ListOffsetsResponse):
            self._positions.listed(message)
        elif isinstance(message, EpochEndResponse):
            self._positions.ended(message)
        elif isinstance(message, MetadataResponse) and not self._metadata.answered(message):
            return
        self._poll()

    def on_timer(self, timer: Payload) -> None:
        """Handle a timer by its name."""
        if timer[0] == "metadata":
            self._metadata.rang()
        elif self._alarm.rang():
            now = self._port.now
            for broker in dict.fromkeys([*self._fetcher.overdue(now), *self._positions.overdue(now)]):
                self._connection_lost(broker)
            self._poll()

    def on_disconnect(self, peer: int) -> None:
        """What is under way to ``peer`` will not be answered."""
        self._metadata.disconnected(peer)
        self._connection_lost(peer)
        self._poll()

    def _connection_lost(self, broker: int) -> None:
        self._fetcher.lost(broker)
        self._positions.lost(broker)
        self._metadata.avoid(broker)
        self._metadata.refresh()

    def _poll(self) -> None:
        """Go on with the poll that the application waits in, and with the next ones while there are records.

        The next fetches are sent before records are handed out, so that they are under way meanwhile.
        """
        now = self._port.now
        while now >= self._busy_until and not self.failed:
            self._positions.poll()
            handed = self._fetcher.collect(self._config.max_poll_records)
            if self._positions.failure and not handed:
                self._fail(self._positions.failure)
                return
            self._positions.poll()
            self._fetcher.send()
            if not handed:
                break
            self._hand_out(handed)
        self._set_alarm()

    def _set_alarm(self) -> None:
        if self.failed:
            return
        times = [self._fetcher.due(), self._positions.due()]
        if self._busy_until > self._port.now:
            times.append(self._busy_until)
        due = [at for at in times if at >= 0]
        if due:
            self._alarm.want(min(due))

    def _hand_out(self, handed: list[Handed]) -> None:
        now = self._port.now
        taken = 0
        for partition, source, leader_epoch, start, count, _last, written_us in handed:
            taken += count
            self._emit(
                RecordsRead(now, self.name, self.group, partition, source, leader_epoch, start, count, now - written_us)
            )
        self.read += taken
        self._busy_until = now + taken * self._processing_us

    def _fail(self, error: str) -> None:
        """The application does not handle what a poll throws: it ends."""
        self.failed = error
        self._emit(ConsumerFailed(self._port.now, self.name, self.group, error))

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (
            self.read, self.failed, self._busy_until, self._alarm.save(), self._metadata.save(),
            self._positions.save(), self._fetcher.save(),
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self.read, self.failed, self._busy_until, alarm, metadata, positions, fetcher = saved
        self._alarm.load(alarm)
        self._metadata.load(metadata)
        self._positions.load(positions)
        self._fetcher.load(fetcher)
