"""All fetchers of a broker: which leader is fetched from by which of them (``ReplicaFetcherManager``)."""

from collections.abc import Callable
from typing import Any

from cluster_model.broker.fetch.busy import Busy
from cluster_model.broker.fetch.fetcher_ids import fetcher_id, fetcher_of
from cluster_model.broker.fetch.replica_fetcher import Fetcher
from cluster_model.broker.fetch.replication_quota import Throttle
from cluster_model.broker.partition.partition import BrokerMetadata, Replica
from cluster_model.kernel.node_context import Port
from cluster_model.protocol.configs import BrokerConfig
from cluster_model.protocol.messages import EpochEndResponse, FetchResponse, ListOffsetsResponse
from cluster_model.protocol.versions import Profile


class Fetchers:
    """The fetchers of one process, by leader and number (``num.replica.fetchers``)."""

    __slots__ = (
        "_config", "_epoch", "_metadata", "_port", "_profile", "_quota", "_replicas", "_touched", "blocked",
        "busy",
        "running",
    )  # fmt: skip

    def __init__(
        self,
        port: Port,
        profile: Profile,
        config: BrokerConfig,
        replicas: dict[str, Replica],
        metadata: BrokerMetadata,
        touched: dict[str, None],
        quota: Throttle,
        epoch: Callable[[], int],
    ) -> None:
        """``touched`` takes the partitions whose saved state is out of date; ``epoch`` is what fetches carry."""
        self._port = port
        self._profile = profile
        self._config = config
        self._replicas = replicas
        self._metadata = metadata
        self._touched = touched
        self._quota = quota
        self._epoch = epoch
        self.running: dict[tuple[int, int], Fetcher] = {}
        self.busy: dict[int, Busy] = {}
        """What faults, by number, do to all of them, whatever process they are of."""
        self.blocked: dict[tuple[int, int], tuple[bool, bool]] = {}
        """Threads that wait for the disk → what they find out then: a timer rang, the connection broke."""

    def reconfigure(self, config: BrokerConfig) -> None:
        """New fetchers go by these settings."""
        self._config = config

    def share_anew(self) -> None:
        """Another number of them: each gets other partitions."""
        for partition in self._replicas:
            self.leave(partition)
        self.start_waiting()

    def follow_or_lead(self, replica: Replica) -> None:
        """Fetch a partition from whom it follows now, if that broker lives, and from nobody else."""
        for fetcher in self.running.values():
            if fetcher.leader != replica.leader:
                fetcher.remove(replica.partition)
        if replica.following is not None and replica.leader in self._metadata.live:
            self._fetcher(replica).add(replica.partition)

    def leave(self, partition: str) -> None:
        """Fetch a partition no more."""
        for fetcher in self.running.values():
            fetcher.remove(partition)

    def start_waiting(self) -> None:
        """A leader that was not alive when its followers heard of it may be by now."""
        for replica in self._replicas.values():
            following = replica.following
            if following is not None and not following.failed and replica.leader in self._metadata.live:
                fetcher = self._fetcher(replica)
                if not fetcher.has(replica.partition):
                    fetcher.add(replica.partition)

    def end_idle(self) -> None:
        """Roles are taken up: who has nothing left to fetch is done, since 1.1 at once (KAFKA-6051)."""
        if self._profile.quits_waiting:
            for place, fetcher in self.running.items():
                if place not in self.blocked:
                    fetcher.quit_if_idle()

    def _fetcher(self, replica: Replica) -> Fetcher:
        index = fetcher_id(replica.partition, self._config.fetchers)
        fetcher = self.running.get((replica.leader, index))
        return self._new(replica.leader, index) if fetcher is None else fetcher

    def _new(self, leader: int, index: int) -> Fetcher:
        fetcher = Fetcher(
            self._port, leader, self._replicas, self._profile, self._config, self._epoch, self._touched, self._quota,
            index, self.busy,
        )  # fmt: skip
        self.running[leader, index] = fetcher
        return fetcher

    def fetched(self, source: int, response: FetchResponse) -> bool:
        """A leader answers; False when nobody asked it, or who did is busy with the answer for a while."""
        fetcher = self.running.get((source, fetcher_of(response.correlation)))
        return fetcher is not None and fetcher.fetched(response)

    def epochs_ended(self, source: int, response: EpochEndResponse) -> None:
        """A leader says where epochs end."""
        fetcher = self.running.get((source, fetcher_of(response.correlation)))
        if fetcher is not None:
            fetcher.epochs_ended(response)

    def offset_listed(self, source: int, response: ListOffsetsResponse) -> None:
        """A leader says where its log begins or ends."""
        fetcher = self.running.get((source, fetcher_of(response.correlation)))
        if fetcher is not None:
            fetcher.offset_listed(response)

    def rang(self, leader: int, index: int) -> FetchResponse | None:
        """A timer of a fetcher's; the answer that it has dealt with by now, if it was busy with one."""
        if (leader, index) in self.blocked:
            self.blocked[leader, index] = (True, self.blocked[leader, index][1])
            return None
        fetcher = self.running.get((leader, index))
        return None if fetcher is None else fetcher.rang()

    def disconnected(self, peer: int) -> None:
        """Whatever was asked of ``peer`` will not be answered."""
        for place, fetcher in self.running.items():
            if place in self.blocked and fetcher.leader == peer:
                self.blocked[place] = (self.blocked[place][0], True)
            elif fetcher.leader == peer:
                fetcher.disconnected()

    def block(self, source: int, response: FetchResponse) -> bool:
        """A leader's answer has come, and its thread will wait for the disk; False when nobody awaits it."""
        place = (source, fetcher_of(response.correlation))
        fetcher = self.running.get(place)
        if fetcher is None or place in self.blocked or not fetcher.awaits(response.correlation):
            return False
        self.blocked[place] = (False, False)
        return True

    def unblock(self, source: int, response: FetchResponse) -> None:
        """The thread has taken the answer, and hears of what happened meanwhile."""
        place = (source, fetcher_of(response.correlation))
        rang, broke = self.blocked.pop(place, (False, False))
        fetcher = self.running.get(place)
        if fetcher is not None and broke:
            fetcher.disconnected()
        if fetcher is not None and rang:
            fetcher.rang()

    def disturb(self) -> None:
        """Fetches that were left alone are to be looked at: what they depend on changes."""
        for fetcher in self.running.values():
            fetcher.disturb()

    def tell_log_starts(self, changed: dict[str, None]) -> None:
        """Leaders are to hear where these logs begin now."""
        for fetcher in self.running.values():
            fetcher.tell_log_starts(changed)

    def stopped(self) -> None:
        """The process died."""
        for fetcher in self.running.values():
            fetcher.stopped()
        self.running.clear()
        self.blocked.clear()

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (tuple((key, fetcher.save()) for key, fetcher in self.running.items()), tuple(self.busy.items()))

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`; the replicas are there already."""
        running, busy = saved
        self.running.clear()
        self.busy.clear()
        self.busy.update(busy)
        for (leader, index), state in running:
            self._new(leader, index).load(state)
