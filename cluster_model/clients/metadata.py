"""A client's metadata cache (``org.apache.kafka.clients.Metadata``), and metadata kept stale by a fault."""

from collections.abc import Callable
from typing import Any

from cluster_model.connections.network_client import NetworkClient
from cluster_model.kernel.node_context import DeadlineTimer
from cluster_model.protocol.messages import NO_LEADER, MetadataRequest, MetadataResponse, PartitionState
from cluster_model.protocol.versions import ClientProfile

# Stale metadata: every response to the client's metadata requests shows an earlier state.
#
# This models a broker whose metadata is behind, or a caching proxy. The leader hints in responses to other requests
# (KIP-951) are not affected.


class StaleMetadataResponses:
    """Metadata responses delayed by faults, of one client: the delays of several faults add up, 0 is without end."""

    __slots__ = ("_answers", "_delays")

    def __init__(self) -> None:
        self._delays: dict[int, int] = {}
        """Fault → delay in µs, 0: until it is healed."""
        self._answers: list[tuple[int, MetadataResponse]] = []
        """(time, response) for each change, oldest first."""

    @property
    def any(self) -> bool:
        """Whether any fault makes its metadata stale."""
        return bool(self._delays)

    def hold(self, fault: int, delay_us: int) -> None:
        """Delay responses by ``delay_us`` from now on, 0: show none newer than now."""
        self._delays[fault] = delay_us

    def release(self, fault: int) -> None:
        """Undo :meth:`hold`."""
        self._delays.pop(fault, None)
        if not self._delays:
            self._answers.clear()

    def record(self, answer: MetadataResponse, now: int) -> None:
        """Record the current response."""
        if not self._answers or self._answers[-1][1][1:] != answer[1:]:
            self._answers.append((now, answer))

    def stale_response(self, answer: MetadataResponse, now: int) -> MetadataResponse:
        """Return the stale response to deliver in place of ``answer``: that of the delay ago, or the oldest known."""
        if answer.brokers:
            self.record(answer, now)
        if not self._answers:
            return answer
        answers = self._answers
        if all(self._delays.values()):
            since = now - sum(self._delays.values())
            while len(answers) > 1 and answers[1][0] <= since:
                answers.pop(0)
        return answers[0][1]._replace(correlation_id=answer.correlation_id)

    def save(self) -> tuple[Any, ...]:
        """Return all state."""
        return (tuple(self._delays.items()), tuple(self._answers)) if self._delays else ()

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`."""
        delays, answers = saved or ((), ())
        self._delays = dict(delays)
        self._answers = list(answers)


class Metadata:
    """Metadata cache of one client, refreshed on request, after errors and by age, one request at a time."""

    __slots__ = (
        "_age_us", "_backoff_us", "_brokers", "_busy", "_client", "_correlation", "_deleted", "_due_at",
        "_last_states", "_node", "_online", "_port", "_requested_at", "_timeout_us", "_timer", "_turn", "old", "racks",
        "states", "version",
    )  # fmt: skip

    def __init__(
        self,
        port: NetworkClient,
        brokers: tuple[int, ...],
        client: ClientProfile,
        *,
        age_us: int,
        backoff_us: int,
        timeout_us: int,
        busy: Callable[[int], bool],
    ) -> None:
        """Make an empty cache; ``busy`` returns whether a broker has requests in flight: it is then chosen last."""
        self.states: dict[str, PartitionState] = {}
        self.version = 0
        """Raised whenever the states may have changed."""
        self._client = client
        self._last_states: tuple[PartitionState, ...] = ()
        """States in the last response."""
        self._deleted: dict[str, int] = {}
        """Partitions missing in a response → last leader epoch, for clients that still compare with it."""
        self._port = port
        self._brokers = brokers
        self._age_us = age_us
        self._backoff_us = backoff_us
        self._timeout_us = timeout_us
        self._busy = busy
        self._correlation = port.first_number
        self._node = NO_LEADER
        """Broker of the request in flight."""
        self._requested_at = -backoff_us
        self._due_at = -1
        """Time of the next request, -1 for none."""
        self._turn = 0
        self._online = brokers
        """Live brokers in the last response."""
        self.racks: dict[int, str] = {}
        """Racks of brokers by the last response with each; a broker that is down keeps its rack."""
        self._timer = DeadlineTimer(port, "metadata")
        self.old = StaleMetadataResponses()
        """Responses kept stale by faults; the next process of the client takes it over."""

    def delay_metadata(self, fault: int, delay_us: int) -> None:
        """Make responses stale by ``delay_us`` from now on, 0: without any news until :meth:`stop_delay`."""
        if not self.old.any and self.states:
            racks = tuple([self.racks.get(broker, "") for broker in self._online]) if self.racks else ()
            known = MetadataResponse(0, tuple(self.states.values()), self._online, NO_LEADER, racks)
            self.old.record(known, self._port.now)
        self.old.hold(fault, delay_us)

    def stop_delay(self, fault: int) -> None:
        """Undo :meth:`delay_metadata` by that fault."""
        self.old.release(fault)

    def begin(self, states: tuple[PartitionState, ...]) -> None:
        """Start with the cluster's initial states; without any (a process that starts later) request them at once."""
        self._take(states)
        self._schedule(self._port.now + (self._age_us if states else 0))

    def leader(self, partition: str) -> int:
        """Return the leader of a partition, NO_LEADER if unknown."""
        state = self.states.get(partition)
        return NO_LEADER if state is None else state.leader

    def partitions_of(self, topic: str) -> list[str]:
        """Return a topic's partitions in order of their numbers; none if the topic is unknown."""
        names = [name for name in self.states if name.rpartition("-")[0] == topic]
        return sorted(names, key=lambda name: int(name.rpartition("-")[2]))

    def epoch(self, partition: str) -> int:
        """Return the leader epoch of a partition, -1 if unknown."""
        state = self.states.get(partition)
        return -1 if state is None else state.leader_epoch

    def has_online_replica(self, partition: str, broker: int) -> bool:
        """Return whether a broker is live and has a replica of a partition (``Cluster.nodeIfOnline``)."""
        state = self.states.get(partition)
        return state is not None and broker in state.replicas and broker in self._online

    def learn(self, partition: str, current: tuple[int, int] | None) -> bool:
        """Take (leader, epoch) of a partition from a response; return whether it is now in the cache (KIP-951)."""
        cached = self.states.get(partition)
        if current is None or cached is None:
            return False
        leader, epoch = current
        if epoch > cached.leader_epoch:
            self.states[partition] = cached._replace(leader=leader, leader_epoch=epoch)
            self.version += 1
        return epoch >= cached.leader_epoch

    def refresh(self) -> None:
        """Request new metadata after the backoff."""
        if self._node == NO_LEADER:
            self._schedule(max(self._port.now, self._requested_at + self._backoff_us))

    def _schedule(self, at: int) -> None:
        if self._due_at < 0 or at < self._due_at:
            self._due_at = at
        self._timer.arm(self._due_at)

    def on_timer(self) -> int:
        """Handle the timer: send a due request, or return the broker that timed out, to close its connection."""
        if not self._timer.take_expired():
            return NO_LEADER
        now = self._port.now
        if self._node != NO_LEADER:
            if now - self._requested_at >= self._timeout_us:
                return self._node
            self._timer.arm(self._requested_at + self._timeout_us)
            return NO_LEADER
        if 0 <= self._due_at <= now:
            self._ask(now)
        elif self._due_at >= 0:
            self._timer.arm(self._due_at)
        return NO_LEADER

    def _ask(self, now: int) -> None:
        self._node = self.pick()
        self._due_at = -1
        self._requested_at = now
        self._correlation += 1
        self._port.send(self._node, MetadataRequest(self._correlation))
        self._timer.arm(now + self._timeout_us)

    def pick(self) -> int:
        """Choose a broker for a request that any broker can answer, in turn (``leastLoadedNode``)."""
        count = len(self._brokers)
        order = [self._brokers[(self._turn + step) % count] for step in range(count)]
        self._turn += 1
        return min(order, key=self._rank)

    def _rank(self, broker: int) -> tuple[int, bool, int]:
        state, tried = self._port.rank(broker)
        return (state, self._busy(broker), tried)

    def handle_response(self, response: MetadataResponse) -> bool:
        """Handle a response; return True if it was expected and has metadata."""
        if self._node == NO_LEADER or response.correlation_id != self._correlation:
            return False
        self._node = NO_LEADER
        if self.old.any:
            response = self.old.stale_response(response, self._port.now)
        if not response.brokers:  # The broker has just started and has no metadata yet.
            self.refresh()
            return False
        self._online = response.brokers
        self.racks.update(zip(response.brokers, response.racks, strict=False))
        self._take(response.partitions)
        self._schedule(self._port.now + self._age_us)
        return True

    def _take(self, states: tuple[PartitionState, ...]) -> None:
        """Keep the newest state of each partition: an older epoch comes from a broker that is behind (KIP-320).

        Partitions missing from the response are removed. A recreated topic is recognised by its id, since KAFKA-12257.
        Until KAFKA-13488 the epochs of a removed one hold for it (``Metadata.updateLatestMetadata``). A response equal
        to the last one changes nothing, even if a newer state was learned meanwhile.
        """
        if states == self._last_states:
            return
        self._last_states = states
        self.version += 1
        before = self.states
        self.states = {}
        by_id = not self._client.misses_recreated_topics
        for state in states:
            cached = before.get(state.partition)
            if cached is None and state.leader_epoch < self._deleted.get(state.partition, -1):
                continue
            newer = cached is None or state.leader_epoch >= cached.leader_epoch
            newer = newer or (by_id and cached is not None and state.topic_id != cached.topic_id)
            self.states[state.partition] = state if newer or cached is None else cached
        if self._client.keeps_deleted_epochs:
            self._remember_deleted(before, {state.partition for state in states})

    def _remember_deleted(self, before: dict[str, PartitionState], received: set[str]) -> None:
        """Remember the leader epochs of partitions that are missing in a response (``lastSeenLeaderEpochs``)."""
        for partition in self.states:
            self._deleted.pop(partition, None)
        for partition, state in before.items():
            if partition not in received:
                self._deleted[partition] = state.leader_epoch

    def disconnected(self, broker: int) -> None:
        """Handle a lost connection, or one that could not be made: leaders may have changed."""
        if broker == self._node:
            self._node = NO_LEADER
        self.refresh()

    def save(self) -> tuple[Any, ...]:
        """Return all state."""
        return (
            tuple(self.states.values()), self._correlation, self._node, self._requested_at, self._due_at, self._turn,
            self._online, tuple(self.racks.items()), self._timer.save(),
            self.old.save(), tuple(self._deleted.items()),
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`."""
        (
            states, self._correlation, self._node, self._requested_at, self._due_at, self._turn, self._online,
            racks, timer, old, deleted,
        ) = saved  # fmt: skip
        self._deleted = dict(deleted)
        self.racks = dict(racks)
        self.states = {state.partition: state for state in states}
        self._last_states = ()
        self._timer.load(timer)
        self.old.load(old)
