"""The groups of the consumer protocol in one coordinator (``GroupMetadataManager`` in its ``CoordinatorRuntime``).

What a heartbeat changes holds in memory once the leader's log has it, and is answered once every in-sync replica has
it; so is every later heartbeat, whether it changes anything or not. An answer that waits for longer than
``offsets.commit.timeout.ms`` is COORDINATOR_NOT_AVAILABLE.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

from cluster_model.broker.control_plane_client import Handlers
from cluster_model.broker.hosted_coordinators import TOLD_OF_APPEND, Tenants
from cluster_model.coordinators.group.consumer_protocol.consumer_group import (
    CURRENT,
    EPOCH,
    TARGET_EPOCH,
    TOPICS,
    UNSEEN,
    ModernConfig,
    ModernGroup,
    ModernRecord,
    ModernState,
    PatternCompiler,
    encode,
    may_commit,
    may_commit_in_transaction,
    may_fetch,
    unknown,
)
from cluster_model.coordinators.group.consumer_protocol.heartbeat import (
    HeartbeatResult,
    Heartbeats,
    TopicsImage,
    described,
    described_in_full,
    preferred,
)
from cluster_model.coordinators.group.group_metadata import GroupRecord, GroupState
from cluster_model.coordinators.group.group_metadata import encode as encode_classic
from cluster_model.coordinators.group.group_metadata_manager import GroupMetadataManager
from cluster_model.kernel.event_loop import Payload
from cluster_model.kernel.node_context import Alarm, NodeContext
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
"""(partition, error) each."""

FOREVER_US: Final = 100 * 365 * 86_400 * 1_000_000
"""A write is not given up: its answer is, see the module."""
RETRY_US: Final = 500_000
"""A member that could not be dropped is tried again after this (``CoordinatorRuntime``)."""


class _Waiting(NamedTuple):
    """An answer that waits until what it tells is replicated."""

    source: int
    until: int
    response: ConsumerGroupHeartbeatResponse


class _Write(NamedTuple):
    """Records on their way to the replicas."""

    group_id: str
    serial: int
    number: int
    """Of the partition."""
    records: tuple[ModernRecord, ...]
    client: str
    """Whose heartbeat brought a new target assignment; empty for none."""


class ModernGroups:
    """Groups by id, in the order in which they came here."""

    __slots__ = (
        "_alarm", "_appending", "_config", "_deletions", "_emit", "_known", "_port", "_registry", "_rules", "_serial",
        "_tenants", "_token", "_waiting", "_writes", "groups", "handlers", "on_new",
    )  # fmt: skip

    def __init__(
        self,
        port: NodeContext,
        config: ModernConfig,
        tenants: Tenants,
        registry: GroupMetadataManager,
        uuid: Callable[[], str],
        emit: Callable[[Event], None],
        compile_pattern: PatternCompiler,
    ) -> None:
        self._port = port
        self._config = config
        self._tenants = tenants
        self._registry = registry
        self._emit = emit
        self._rules = Heartbeats(config, uuid, compile_pattern)
        self.on_new: Callable[[], object] = list
        """Told of a new group, which may have offsets that expire."""
        self.groups: dict[str, ModernGroup] = {}
        self._writes: dict[int, _Write] = {}
        self._waiting: dict[int, list[_Waiting]] = {}
        """Token of a write → who is answered when it is over."""
        self._token = 0
        self._appending = 0
        """Token of the write that is just being made."""
        self._serial = 0
        self._deletions = 0
        self._known = TopicsImage(UNSEEN, {})
        self._alarm = Alarm(port, WAKE)
        self.handlers: Handlers = {
            ConsumerGroupHeartbeatRequest: self.heartbeat,
            ConsumerGroupDescribeRequest: self._describe,
        }

    # -- heartbeats -------------------------------------------------------------------------------------------------

    def heartbeat(self, source: int, request: ConsumerGroupHeartbeatRequest) -> None:
        """ConsumerGroupHeartbeat."""
        error = self._refused(request)
        if error:
            self._port.send(source, ConsumerGroupHeartbeatResponse(request.correlation, error))
            return
        group = self.groups.get(request.group_id) or self._new(request.group_id)
        verdict = self._rules.heartbeat(group, source, request, self._topics())
        self._conclude(group, source, request, verdict)
        member_id = verdict.response.member_id
        if request.member_epoch >= JOIN and member_id in group.members:
            group.heard_of(member_id, self._port.now + self._config.session_us)
        self._wake()

    def _refused(self, request: ConsumerGroupHeartbeatRequest) -> KafkaError:
        if not self._config.enabled:
            return KafkaError.UNSUPPORTED_VERSION
        error = self._rules.invalid(request) or self._registry.status(request.group_id)
        if error:
            return error
        classic = self._registry.groups.get(request.group_id)
        in_use = classic is not None and (classic.state is not GroupState.EMPTY or classic.pending)
        unknown = request.group_id not in self.groups and request.member_epoch != JOIN
        return KafkaError.GROUP_ID_NOT_FOUND if in_use or unknown else NONE

    def _new(self, group_id: str) -> ModernGroup:
        self._serial += 1
        self.on_new()
        return ModernGroup(group_id, self._serial)

    def _topics(self) -> TopicsImage:
        """What topics there are by the broker's metadata cache; counted anew when that has changed."""
        states = self._tenants.states
        version = (self._deletions, len(states))
        if self._known.version != version:
            sizes: dict[str, int] = {}
            for partition in states:
                topic = partition.rpartition("-")[0]
                sizes[topic] = sizes.get(topic, 0) + 1
            self._known = TopicsImage(version, sizes)
        return self._known

    def _conclude(
        self, group: ModernGroup, source: int, request: ConsumerGroupHeartbeatRequest, verdict: HeartbeatResult
    ) -> None:
        """Write what is to be written, and answer when that, and all before it, is replicated."""
        number = self._registry.partition_of(group.group_id)
        answer = _Waiting(source, self._port.now + self._config.write_timeout_us, verdict.response)
        if verdict.response.error:
            self._port.send(source, verdict.response)
        elif verdict.records:
            client = (request.client_id or verdict.response.member_id) if verdict.assigned else ""
            self._write(group, verdict.records, answer, client)
        else:
            group.seen = self._known.version
            before = [token for token, write in self._writes.items() if write.number == number]
            if before:
                self._waiting.setdefault(before[-1], []).append(answer)
            else:
                self._port.send(source, verdict.response)

    # -- writing ----------------------------------------------------------------------------------------------------

    def _write(
        self, group: ModernGroup, records: tuple[ModernRecord, ...], answer: _Waiting | None = None, client: str = ""
    ) -> None:
        self._token += 1
        token = self._appending = self._token
        number = self._registry.partition_of(group.group_id)
        texts = [encode(record) for record in records]
        begins = group.group_id not in self.groups
        if begins:
            self.groups[group.group_id] = group
            texts += self._instead_of(group.group_id)
        self._writes[token] = _Write(group.group_id, group.serial, number, records, client)
        if answer is not None:
            self._waiting[token] = [answer]
        self._tenants.append(OFFSETS, f"{OFFSETS}-{number}", tuple(texts), -token, FOREVER_US)
        self._appending = 0
        if token in self._writes:
            self._apply(self._writes[token])
        classic = self._registry.groups.get(group.group_id)
        if begins and classic is not None and group.group_id in self.groups:
            classic.generation, classic.protocol_type = 0, ""

    def _instead_of(self, group_id: str) -> list[str]:
        """A classic group of that name, which is empty, ends here; what it has committed stays."""
        classic = self._registry.groups.get(group_id)
        return [] if classic is None or not classic.generation else [encode_classic(GroupRecord(group_id, None))]

    def _apply(self, write: _Write) -> None:
        """The leader's log has it: it counts from here on."""
        group = self.groups.get(write.group_id)
        if group is None or group.serial != write.serial:
            return
        for record in write.records:
            group.replay(record)
            if record.kind == CURRENT:
                group.time_revocation(record.member_id, self._port.now)
        group.seen = self._known.version
        if write.client:
            detail = f"epoch {group.target_epoch} by {preferred(group.members, self._config.assignors[0])}"
            count = len(group.members)
            self._emit(GroupRebalanced(self._port.now, write.client, group.group_id, count, detail))

    def appended(self, token: int, error: KafkaError) -> None:
        """The last word on a write."""
        write = self._writes.pop(token)
        if token == self._appending:
            self._appending = 0
            if not error:
                self._apply(write)
            elif self.groups[write.group_id].epoch == 0:
                del self.groups[write.group_id]
        for waiting in self._waiting.pop(token, ()):
            self._answer(waiting, TOLD_OF_APPEND.get(error, error))

    def _answer(self, waiting: _Waiting, error: KafkaError) -> None:
        response = waiting.response
        if error:
            response = ConsumerGroupHeartbeatResponse(response.correlation, error)
        self._port.send(waiting.source, response)

    # -- time -------------------------------------------------------------------------------------------------------

    def _wake(self) -> None:
        times = [group.due() for group in self.groups.values()]
        times += [each.until for waiting in self._waiting.values() for each in waiting]
        times = [at for at in times if at >= 0]
        if times:
            self._alarm.want(min(times))

    def on_timer(self, timer: Payload) -> bool:
        """Somebody may be gone, or have waited for long enough; False if the timer is another's."""
        if timer[0] != WAKE:
            return False
        if self._alarm.rang():
            self._rang()
        return True

    def _rang(self) -> None:
        now = self._port.now
        for token, waiting in self._waiting.items():
            self._waiting[token] = [each for each in waiting if each.until > now]
            for each in waiting:
                if each.until <= now:
                    self._answer(each, KafkaError.COORDINATOR_NOT_AVAILABLE)
        for group in list(self.groups.values()):
            for member_id in group.overdue(now):
                group.revocations.pop(member_id, None)
                group.heard_of(member_id, now + RETRY_US)
                self._write(group, self._rules.without(group, member_id, self._topics()))
        self._wake()

    # -- offsets, and other requests --------------------------------------------------------------------------------

    def may_commit(self, request: OffsetCommitRequest) -> KafkaError | None:
        """Whether a commit is a member's of today; None: no such group."""
        return may_commit(self.groups.get(request.group_id), request)

    def may_commit_in_transaction(self, request: TxnOffsetCommitRequest) -> KafkaError | None:
        """The same for a transaction's."""
        return may_commit_in_transaction(self.groups.get(request.group_id), request)

    def may_fetch(self, request: OffsetFetchRequest) -> KafkaError:
        """Whether somebody may ask what is committed."""
        return may_fetch(self.groups.get(request.group_id), request)

    def unknown(self, version: int) -> KafkaError:
        """What a member of no group is told of its commit."""
        return unknown(version) if self._config.enabled else KafkaError.ILLEGAL_GENERATION

    def occupied(self, group_id: str) -> bool:
        """Whether a group of this protocol has members: then its name is not to be had for another one."""
        group = self.groups.get(group_id)
        return group is not None and group.state is not ModernState.EMPTY

    def spared(self, group_id: str, verdicts: Verdicts) -> Verdicts:
        """OffsetDelete's verdicts: not for topics that a member subscribes to."""
        group = self.groups.get(group_id)
        subscribed = [topic for topic, _count in group.topics] if group is not None and group.members else []
        found = [
            (name, error or KafkaError.GROUP_SUBSCRIBED_TO_TOPIC * (name.rpartition("-")[0] in subscribed))
            for name, error in verdicts
        ]
        return tuple(found)

    def described(self, group_id: str, *, classic: bool) -> DescribedGroup | None:
        """What an administrator is told, as of no group who asks for ``classic`` ones; None: there is no such group."""
        group = self.groups.get(group_id)
        if group is None:
            return None
        return (
            DescribedGroup(group_id, NONE, GroupState.DEAD) if classic else described(group, self._config.assignors[0])
        )

    def _describe(self, source: int, request: ConsumerGroupDescribeRequest) -> None:
        """ConsumerGroupDescribe."""
        found = tuple([self._told_of(group_id) for group_id in request.groups])
        self._port.send(source, ConsumerGroupDescribeResponse(request.correlation, found))

    def _told_of(self, group_id: str) -> DescribedConsumerGroup:
        error = self._registry.status(group_id) if self._config.enabled else KafkaError.UNSUPPORTED_VERSION
        group = self.groups.get(group_id)
        if error or group is None:
            return DescribedConsumerGroup(group_id, error or KafkaError.GROUP_ID_NOT_FOUND)
        return described_in_full(group, self._config.assignors[0])

    def listed(self) -> tuple[ListedGroup, ...]:
        """The groups."""
        found = [ListedGroup(each.group_id, CONSUMER_PROTOCOL, each.state, CONSUMER) for each in self.groups.values()]
        return tuple(found)

    def expired(self, group_id: str, now: int, retention_us: int) -> list[str] | None:
        """Partitions whose commits are kept no longer: by their age, where nobody subscribes; None: no such group."""
        group = self.groups.get(group_id)
        if group is None:
            return None
        offsets = self._registry.groups[group_id].offsets
        kept = [topic for topic, _count in group.topics] if group.members else []
        return offsets.expired(now, retention_us, lambda value: value.committed_us, kept)

    def dismiss(self, group_id: str) -> None:
        """An empty group goes: it is deleted, or its name is wanted by a classic one."""
        group = self.groups.pop(group_id, None)
        if group is not None:
            kinds = (TARGET_EPOCH, TOPICS, EPOCH)
            texts = [encode(ModernRecord(kind, group_id)) for kind in kinds]
            self._tenants.write(f"{OFFSETS}-{self._registry.partition_of(group_id)}", tuple(texts))

    def clean(self) -> None:
        """Groups without members and without offsets go."""
        for group_id, group in list(self.groups.items()):
            holder = self._registry.groups.get(group_id)
            if not group.members and (holder is None or holder.offsets.empty):
                self.dismiss(group_id)

    def deleted(self) -> None:
        """A partition is gone from the broker's metadata."""
        self._deletions += 1

    # -- a tenant's life --------------------------------------------------------------------------------------------

    def loaded(self, records: Iterable[ModernRecord]) -> None:
        """What a partition's log says, in its order."""
        found: dict[str, ModernGroup] = {}
        for record in records:
            if record.group_id not in found:
                found[record.group_id] = self._new(record.group_id)
            found[record.group_id].replay(record)
        for group_id, group in found.items():
            if group.epoch:
                self.groups[group_id] = group
                group.begin_anew(self._port.now, self._config.session_us)
        self._wake()

    def resigned(self, number: int) -> None:
        """A partition is led by somebody else; who waits for a write is told when that is given up."""
        for group_id in [each for each in self.groups if self._registry.partition_of(each) == number]:
            del self.groups[group_id]

    def stopped(self) -> None:
        """The process died: memory is gone."""
        self.groups.clear()
        self._writes.clear()
        self._waiting.clear()
        self._deletions += 1
        self._alarm.forget()

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (
            tuple([group.save() for group in self.groups.values()]), tuple(self._writes.items()),
            tuple([(token, tuple(waiting)) for token, waiting in self._waiting.items()]), self._token, self._serial,
            self._deletions, self._alarm.save(),
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        groups, writes, waiting, self._token, self._serial, self._deletions, alarm = saved
        self.groups = {each[0]: ModernGroup.loaded(each) for each in groups}
        self._writes = dict(writes)
        self._waiting = {token: list(each) for token, each in waiting}
        self._known = TopicsImage(UNSEEN, {})
        self._alarm.load(alarm)
