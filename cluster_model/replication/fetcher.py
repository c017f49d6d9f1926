"""A replica fetcher thread: one broker's follower replicas of one leader (``AbstractFetcherThread``).

One request is outstanding at a time; a partition that joins while a fetch is parked at the leader waits for its answer
like the others. Truncation questions go before fetches. A leader that does not answer holds up all partitions of the
thread until ``replica.socket.timeout.ms``.
"""

from collections.abc import Callable
from typing import Any

from cluster_model.config import BrokerConfig
from cluster_model.kernel.port import Alarm, Port
from cluster_model.messages import EpochEndRequest, EpochEndResponse, FetchPartition, FetchRequest, FetchResponse
from cluster_model.replication.following import Following, Outcome
from cluster_model.replication.replica import Replica

MAX_BYTES = 10_485_760
"""``replica.fetch.response.max.bytes``."""


class Fetcher:
    """Fetches from ``leader`` for the partitions added to it."""

    __slots__ = (
        "_alarm", "_asked", "_broker_epoch", "_config", "_correlation", "_delayed", "_outstanding", "_partitions",
        "_port", "_replicas", "_sent_at", "leader",
    )  # fmt: skip

    def __init__(
        self,
        port: Port,
        leader: int,
        replicas: dict[str, Replica],
        config: BrokerConfig,
        broker_epoch: Callable[[], int],
    ) -> None:
        self.leader = leader
        self._port = port
        self._replicas = replicas
        self._config = config
        self._broker_epoch = broker_epoch
        self._partitions: list[str] = []
        self._delayed: dict[str, int] = {}
        """Partition → when it may be tried again."""
        # An answer to a request of a former life must not be taken for one of this life's.
        self._correlation = port.incarnation << 32
        self._outstanding = 0
        """Correlation of the request under way, 0 for none."""
        self._asked: tuple[FetchPartition, ...] = ()
        self._sent_at = 0
        self._alarm = Alarm(port, "fetcher", leader)

    def add(self, partition: str) -> None:
        """Fetch this one too, from the next request on."""
        if partition not in self._partitions:
            self._partitions.append(partition)
        self._delayed.pop(partition, None)
        self.pump()

    def has(self, partition: str) -> bool:
        """Whether it fetches this one."""
        return partition in self._partitions

    def remove(self, partition: str) -> None:
        """Leave this one; an answer under way will be ignored."""
        if partition in self._partitions:
            self._partitions.remove(partition)
            self._delayed.pop(partition, None)

    def pump(self) -> None:
        """Send the next request if none is under way and some partition is ready."""
        if self._outstanding:
            return
        now = self._port.now
        ready = [self._following(name) for name in self._partitions if self._delayed.get(name, 0) <= now]
        asking = [following.epoch_question() for following in ready if following is not None and following.truncating]
        fetching = [following.question() for following in ready if following is not None and not following.truncating]
        if asking:
            self._asked = ()
            self._send(EpochEndRequest(self._next(), tuple(asking)))
        elif fetching:
            self._asked = tuple(fetching)
            config = self._config
            self._send(
                FetchRequest(
                    self._next(), self._port.node_id, self._broker_epoch(), config.fetch_wait_us, MAX_BYTES, self._asked
                )
            )
        elif self._delayed:
            self._alarm.want(min(self._delayed.values()))

    def _following(self, partition: str) -> Following | None:
        following = self._replicas[partition].following
        return None if following is None or following.failed else following

    def _next(self) -> int:
        self._correlation += 1
        return self._correlation

    def _send(self, request: FetchRequest | EpochEndRequest) -> None:
        self._outstanding = request.correlation
        self._sent_at = self._port.now
        self._port.send(self.leader, request)
        self._alarm.want(self._sent_at + self._config.socket_timeout_us)

    def fetched(self, response: FetchResponse) -> None:
        """The leader answered a fetch."""
        if response.correlation != self._outstanding:
            return
        self._outstanding = 0
        now = self._port.now
        for asked, data in zip(self._asked, response.partitions, strict=True):
            following = self._following(data.partition) if data.partition in self._partitions else None
            if following is not None:
                self._settle(data.partition, following.answer(now, asked, data))
        self.pump()

    def epochs_ended(self, response: EpochEndResponse) -> None:
        """The leader answered where epochs ended."""
        if response.correlation != self._outstanding:
            return
        self._outstanding = 0
        now = self._port.now
        for answer in response.partitions:
            following = self._following(answer.partition) if answer.partition in self._partitions else None
            if following is not None:
                self._settle(answer.partition, following.epoch_answer(now, answer))
        self.pump()

    def _settle(self, partition: str, outcome: Outcome) -> None:
        if outcome is Outcome.BACK_OFF:
            self._delayed[partition] = self._port.now + self._config.fetch_backoff_us
        elif outcome is Outcome.FAILED:
            self.remove(partition)
        else:
            self._delayed.pop(partition, None)

    def rang(self) -> None:
        """The alarm: a back-off is over, or the leader has been silent for too long."""
        if not self._alarm.rang():
            return
        now = self._port.now
        if self._outstanding and now - self._sent_at >= self._config.socket_timeout_us:
            self.disconnected()
        elif self._outstanding:
            self._alarm.want(self._sent_at + self._config.socket_timeout_us)
        self.pump()

    def disconnected(self) -> None:
        """The request under way will not be answered: all partitions back off."""
        self._outstanding = 0
        again = self._port.now + self._config.fetch_backoff_us
        for partition in self._partitions:
            self._delayed[partition] = again
        self.pump()

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (
            tuple(self._partitions), tuple(self._delayed.items()), self._correlation, self._outstanding, self._asked,
            self._sent_at, self._alarm.save(),
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        partitions, delayed, self._correlation, self._outstanding, self._asked, self._sent_at, alarm = saved
        self._partitions = list(partitions)
        self._delayed = dict(delayed)
        self._alarm.load(alarm)
