"""Groups of the consumer protocol in one coordinator (``GroupMetadataManager`` in its ``CoordinatorRuntime``).

The changes of a heartbeat apply in memory once the leader's log has them, and are answered once every in-sync replica
has them; so is every later heartbeat, whether it changes anything or not. A response that waits longer than
``offsets.commit.timeout.ms`` is COORDINATOR_NOT_AVAILABLE.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

from cluster_model.broker.control_plane_client import Handlers
from cluster_model.broker.hosted_coordinators import APPEND_ERRORS, CoordinatorHost
from cluster_model.coordinators.group.consumer_protocol.consumer_group import (
    CURRENT,
    EPOCH,
    KNOWS_EPOCHS_IN_TRANSACTIONS,
    TARGET_EPOCH,
    TOPICS,
    UNSEEN,
    ConsumerGroup,
    ConsumerGroupConfig,
    ConsumerGroupRecord,
    ConsumerGroupState,
    PatternCompiler,
    check_commit,
    encode,
    may_commit_in_transaction,
    may_fetch,
    unknown_group_error,
)
from cluster_model.coordinators.group.consumer_protocol.heartbeat import (
    HeartbeatResult,
    HeartbeatRules,
    TopicsImage,
    describe_consumer_group,
    described,
    preferred_assignor,
)
from cluster_model.coordinators.group.group_metadata import GroupRecord, GroupState
from cluster_model.coordinators.group.group_metadata import encode as encode_classic
from cluster_model.coordinators.group.group_metadata_manager import GroupMetadataManager
from cluster_model.kernel.event_loop import Payload
from cluster_model.kernel.node_context import DeadlineTimer, NodeContext
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.events import Event, GroupRebalanced
from cluster_model.protocol.group_messages import (
    CONSUMER,
    CONSUMER_PROTOCOL,
    JOIN,
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    DescribedConsumerGroup,
    DescribedGroup,
    ListedGroup,
    OffsetCommitRequest,
    OffsetFetchRequest,
    TxnOffsetCommitRequest,
)
from cluster_model.spec.cluster_spec import OFFSETS

NONE: Final = KafkaError.NONE
WAKE: Final = "modern groups"
Verdicts = tuple[tuple[str, int], ...]
"""(partition, error) pairs."""

FOREVER_US: Final = 100 * 365 * 86_400 * 1_000_000
"""Timeout of writes: they never time out; their responses do, see the module."""
RETRY_US: Final = 500_000
"""Pause before the removal of a member is retried (``CoordinatorRuntime``)."""


class _Waiting(NamedTuple):
    """A response that waits until its changes are replicated."""

    source: int
    until: int
    response: ConsumerGroupHeartbeatResponse


class _Write(NamedTuple):
    """A write of records that are being replicated."""

    group_id: str
    serial: int
    number: int
    """Index of the partition."""
    records: tuple[ConsumerGroupRecord, ...]
    client: str
    """Client whose heartbeat caused a new target assignment; empty for none."""


class ConsumerGroups:
    """Groups of the consumer protocol by id, in order of creation at this coordinator."""

    __slots__ = (
        "_appending", "_config", "_deletions", "_emit", "_hosted", "_known", "_port", "_registry", "_rules", "_serial",
        "_timer", "_token", "_waiting", "_writes", "groups", "handlers", "on_new",
    )  # fmt: skip

    def __init__(
        self,
        port: NodeContext,
        config: ConsumerGroupConfig,
        hosted: CoordinatorHost,
        registry: GroupMetadataManager,
        uuid: Callable[[], str],
        emit: Callable[[Event], None],
        compile_pattern: PatternCompiler,
    ) -> None:
        self._port = port
        self._config = config
        self._hosted = hosted
        self._registry = registry
        self._emit = emit
        self._rules = HeartbeatRules(config, uuid, compile_pattern)
        self.on_new: Callable[[], object] = list
        """Called for a new group, whose offsets may expire."""
        self.groups: dict[str, ConsumerGroup] = {}
        self._writes: dict[int, _Write] = {}
        self._waiting: dict[int, list[_Waiting]] = {}
        """Token of a write → responses that wait for its end."""
        self._token = 0
        self._appending = 0
        """Token of the write that is just being appended."""
        self._serial = 0
        self._deletions = 0
        self._known = TopicsImage(UNSEEN, {})
        self._timer = DeadlineTimer(port, WAKE)
        self.handlers: Handlers = {
            ConsumerGroupHeartbeatRequest: self.heartbeat,
            ConsumerGroupDescribeRequest: self._describe,
        }

    # -- heartbeats -------------------------------------------------------------------------------------------------

    def heartbeat(self, source: int, request: ConsumerGroupHeartbeatRequest) -> None:
        """Handle ConsumerGroupHeartbeat."""
        error = self._request_error(request)
        if error:
            self._port.send(source, ConsumerGroupHeartbeatResponse(request.correlation_id, error))
            return
        group = self.groups.get(request.group_id) or self._new(request.group_id)
        result = self._rules.heartbeat(group, source, request, self._topics(), self._port.wall_now)
        self._conclude(group, source, request, result)
        member_id = result.response.member_id
        if request.member_epoch >= JOIN and member_id in group.members:
            group.extend_session(member_id, self._port.now + self._config.session_us)
        self._wake()

    def _request_error(self, request: ConsumerGroupHeartbeatRequest) -> KafkaError:
        if not self._config.enabled:
            return KafkaError.UNSUPPORTED_VERSION
        error = self._rules.request_error(request) or self._registry.status(request.group_id)
        if error:
            return error
        classic = self._registry.groups.get(request.group_id)
        in_use = classic is not None and (classic.state is not GroupState.EMPTY or classic.pending)
        unknown = request.group_id not in self.groups and request.member_epoch != JOIN
        return KafkaError.GROUP_ID_NOT_FOUND if in_use or unknown else NONE

    def _new(self, group_id: str) -> ConsumerGroup:
        self._serial += 1
        self.on_new()
        return ConsumerGroup(group_id, self._serial, self._config.first_epoch)

    def _topics(self) -> TopicsImage:
        """Topics in the broker's metadata cache; counted again after a change."""
        states = self._hosted.states
        version = (self._deletions, len(states))
        if self._known.version != version:
            sizes: dict[str, int] = {}
            for partition in states:
                topic = partition.rpartition("-")[0]
                sizes[topic] = sizes.get(topic, 0) + 1
            self._known = TopicsImage(version, sizes)
        return self._known

    def _conclude(
        self, group: ConsumerGroup, source: int, request: ConsumerGroupHeartbeatRequest, result: HeartbeatResult
    ) -> None:
        """Write the records of a heartbeat, and respond when they and all earlier ones are replicated."""
        number = self._registry.partition_of(group.group_id)
        answer = _Waiting(source, self._port.now + self._config.write_timeout_us, result.response)
        if result.response.error:
            self._port.send(source, result.response)
        elif result.records:
            client = (request.client_id or result.response.member_id) if result.assigned else ""
            self._write(group, result.records, answer, client)
        else:
            group.seen = self._known.version
            earlier = [token for token, write in self._writes.items() if write.number == number]
            if earlier:
                self._waiting.setdefault(earlier[-1], []).append(answer)
            else:
                self._port.send(source, result.response)

    # -- writing ----------------------------------------------------------------------------------------------------

    def _write(
        self,
        group: ConsumerGroup,
        records: tuple[ConsumerGroupRecord, ...],
        answer: _Waiting | None = None,
        client: str = "",
    ) -> None:
        self._token += 1
        token = self._appending = self._token
        number = self._registry.partition_of(group.group_id)
        texts = [encode(record) for record in records]
        is_new = group.group_id not in self.groups
        if is_new:
            self.groups[group.group_id] = group
            texts += self._classic_tombstone(group.group_id)
        self._writes[token] = _Write(group.group_id, group.serial, number, records, client)
        if answer is not None:
            self._waiting[token] = [answer]
        self._hosted.append(OFFSETS, f"{OFFSETS}-{number}", tuple(texts), -token, FOREVER_US)
        self._appending = 0
        if token in self._writes:
            self._apply(self._writes[token])
        classic = self._registry.groups.get(group.group_id)
        if is_new and classic is not None and group.group_id in self.groups:
            classic.generation, classic.protocol_type = 0, ""

    def _classic_tombstone(self, group_id: str) -> list[str]:
        """Tombstone of an empty classic group of that name, which this group replaces; its commits remain."""
        classic = self._registry.groups.get(group_id)
        return [] if classic is None or not classic.generation else [encode_classic(GroupRecord(group_id, None))]

    def _apply(self, write: _Write) -> None:
        """Apply a write that the leader's log has."""
        group = self.groups.get(write.group_id)
        if group is None or group.serial != write.serial:
            return
        for record in write.records:
            group.replay(record)
            if record.kind == CURRENT:
                group.time_revocation(record.member_id, self._port.now)
        group.seen = self._known.version
        if write.client:
            detail = f"epoch {group.target_epoch} by {preferred_assignor(group.members, self._config.assignors[0])}"
            count = len(group.members)
            self._emit(GroupRebalanced(self._port.now, write.client, group.group_id, count, detail))

    def appended(self, token: int, error: KafkaError) -> None:
        """Handle the final result of a write."""
        write = self._writes.pop(token)
        if token == self._appending:
            self._appending = 0
            if not error:
                self._apply(write)
            elif self.groups[write.group_id].epoch == self._config.first_epoch:
                del self.groups[write.group_id]
        for waiting in self._waiting.pop(token, ()):
            self._answer(waiting, APPEND_ERRORS.get(error, error))

    def _answer(self, waiting: _Waiting, error: KafkaError) -> None:
        response = waiting.response
        if error:
            response = ConsumerGroupHeartbeatResponse(response.correlation_id, error)
        self._port.send(waiting.source, response)

    # -- time -------------------------------------------------------------------------------------------------------

    def _wake(self) -> None:
        times = [group.next_deadline_us() for group in self.groups.values()]
        times += [response.until for waiting in self._waiting.values() for response in waiting]
        times = [at for at in times if at >= 0]
        if times:
            self._timer.arm(min(times))

    def on_timer(self, timer: Payload) -> bool:
        """Handle the timer of sessions and response timeouts; False if the timer is another one."""
        if timer[0] != WAKE:
            return False
        if self._timer.take_expired():
            self._rang()
        return True

    def _rang(self) -> None:
        now = self._port.now
        for token, waiting in self._waiting.items():
            self._waiting[token] = [response for response in waiting if response.until > now]
            for response in waiting:
                if response.until <= now:
                    self._answer(response, KafkaError.COORDINATOR_NOT_AVAILABLE)
        for group in list(self.groups.values()):
            for member_id in group.expired_members(now):
                group.revocations.pop(member_id, None)
                group.extend_session(member_id, now + RETRY_US)
                self._write(group, self._rules.remove_member(group, member_id, self._topics()))
        self._wake()

    # -- offsets, and other requests --------------------------------------------------------------------------------

    def may_commit(self, request: OffsetCommitRequest, results: Verdicts) -> KafkaError | None:
        """Check a commit of a member; None: no such group."""
        return check_commit(self.groups.get(request.group_id), request, self._to_check(results))

    def may_commit_in_transaction(self, request: TxnOffsetCommitRequest, results: Verdicts) -> KafkaError | None:
        """Check a commit in a transaction; None: no such group."""
        return may_commit_in_transaction(self.groups.get(request.group_id), request, self._to_check(results))

    def _to_check(self, results: Verdicts) -> tuple[str, ...] | None:
        """Return the partitions without an error of their own; None if only the epoch of the member counts."""
        if not self._config.assignment_epochs:
            return None
        return tuple([partition for partition, error in results if not error])

    def may_fetch(self, request: OffsetFetchRequest) -> KafkaError:
        """Check a fetch of committed offsets."""
        return may_fetch(self.groups.get(request.group_id), request)

    def unknown(self, version: int) -> KafkaError:
        """Error of a commit to an unknown group by a member."""
        return unknown_group_error(version) if self._config.enabled else KafkaError.ILLEGAL_GENERATION

    def unknown_in_transaction(self, request: TxnOffsetCommitRequest) -> KafkaError:
        """Error of a commit in a transaction to an unknown group; NONE if the coordinator creates the group.

        A coordinator without this protocol creates it for every request (``GroupCoordinator.doTxnCommitOffsets``).
        """
        if not self._config.enabled or request.generation_id < 0:
            return NONE
        return unknown_group_error(request.version, KNOWS_EPOCHS_IN_TRANSACTIONS)

    def has_members(self, group_id: str) -> bool:
        """Whether a group of this protocol has members, so that no other group can take its name."""
        group = self.groups.get(group_id)
        return group is not None and group.state is not ConsumerGroupState.EMPTY

    def check_deletable(self, group_id: str, verdicts: Verdicts) -> Verdicts:
        """Return OffsetDelete's results, with an error for topics that a member subscribes to."""
        group = self.groups.get(group_id)
        subscribed = [topic for topic, _count in group.topics] if group is not None and group.members else []
        found = [
            (name, error or KafkaError.GROUP_SUBSCRIBED_TO_TOPIC * (name.rpartition("-")[0] in subscribed))
            for name, error in verdicts
        ]
        return tuple(found)

    def described(self, group_id: str, *, classic: bool) -> DescribedGroup | None:
        """Describe a group for an administrator; Dead if ``classic`` groups are requested, None if unknown."""
        group = self.groups.get(group_id)
        if group is None:
            return None
        return (
            DescribedGroup(group_id, NONE, GroupState.DEAD) if classic else described(group, self._config.assignors[0])
        )

    def _describe(self, source: int, request: ConsumerGroupDescribeRequest) -> None:
        """Handle ConsumerGroupDescribe."""
        found = tuple([self._describe_one(group_id) for group_id in request.groups])
        self._port.send(source, ConsumerGroupDescribeResponse(request.correlation_id, found))

    def _describe_one(self, group_id: str) -> DescribedConsumerGroup:
        error = self._registry.status(group_id) if self._config.enabled else KafkaError.UNSUPPORTED_VERSION
        group = self.groups.get(group_id)
        if error or group is None:
            return DescribedConsumerGroup(group_id, error or KafkaError.GROUP_ID_NOT_FOUND)
        return describe_consumer_group(group, self._config.assignors[0])

    def listed(self) -> tuple[ListedGroup, ...]:
        """List the groups."""
        found = [
            ListedGroup(group.group_id, CONSUMER_PROTOCOL, group.state, CONSUMER) for group in self.groups.values()
        ]
        return tuple(found)

    def expired(self, group_id: str, now: int, retention_us: int) -> list[str] | None:
        """Partitions with expired commits, by age and without subscribed topics; None: no such group."""
        group = self.groups.get(group_id)
        if group is None:
            return None
        offsets = self._registry.groups[group_id].offsets
        kept = [topic for topic, _count in group.topics] if group.members else []
        return offsets.expired(now, retention_us, lambda value: value.committed_us, kept)

    def remove(self, group_id: str) -> None:
        """Remove an empty group: it is deleted, or a classic group takes its name."""
        group = self.groups.pop(group_id, None)
        if group is not None:
            kinds = (TARGET_EPOCH, TOPICS, EPOCH)
            texts = [encode(ConsumerGroupRecord(kind, group_id)) for kind in kinds]
            self._hosted.write(f"{OFFSETS}-{self._registry.partition_of(group_id)}", tuple(texts))

    def clean(self) -> None:
        """Remove groups without members and without offsets."""
        for group_id, group in list(self.groups.items()):
            holder = self._registry.groups.get(group_id)
            if not group.members and (holder is None or holder.offsets.empty):
                self.remove(group_id)

    def deleted(self) -> None:
        """A partition was removed from the broker's metadata."""
        self._deletions += 1

    # -- coordinator lifecycle----------------------------------------------------------------------------------------

    def restore(self, records: Iterable[ConsumerGroupRecord]) -> None:
        """Restore groups from the records of a partition, in log order."""
        groups: dict[str, ConsumerGroup] = {}
        for record in records:
            if record.group_id not in groups:
                groups[record.group_id] = self._new(record.group_id)
            groups[record.group_id].replay(record)
        for group_id, group in groups.items():
            if group.epoch:
                self.groups[group_id] = group
                group.restart_deadlines(self._port.now, self._config.session_us)
        self._wake()

    def resigned(self, number: int) -> None:
        """Forget the groups of a partition that another broker leads; writes in progress are answered on failure."""
        for group_id in [each for each in self.groups if self._registry.partition_of(each) == number]:
            del self.groups[group_id]

    def stopped(self) -> None:
        """The process died; its memory is lost."""
        self.groups.clear()
        self._writes.clear()
        self._waiting.clear()
        self._deletions += 1
        self._timer.forget()

    def save(self) -> tuple[Any, ...]:
        """Return all state, for a snapshot."""
        return (
            tuple([group.save() for group in self.groups.values()]), tuple(self._writes.items()),
            tuple([(token, tuple(waiting)) for token, waiting in self._waiting.items()]), self._token, self._serial,
            self._deletions, self._timer.save(),
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state that :meth:`save` returned."""
        groups, writes, waiting, self._token, self._serial, self._deletions, timer = saved
        self.groups = {each[0]: ConsumerGroup.from_saved(each) for each in groups}
        self._writes = dict(writes)
        self._waiting = {token: list(each) for token, each in waiting}
        self._known = TopicsImage(UNSEEN, {})
        self._timer.load(timer)
