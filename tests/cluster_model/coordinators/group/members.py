"""A cluster with groups: members that follow the protocol strictly, and a record of their messages."""

from collections.abc import Callable
from typing import Any

from cluster_model.cluster import Cluster
from cluster_model.kernel.event_loop import Payload
from cluster_model.kernel.node_context import NodeContext
from cluster_model.protocol.config_defs import ConfigValue
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.group_messages import (
    Assignment,
    CommittedOffset,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    MemberProtocol,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    Subscription,
    SyncGroupRequest,
    SyncGroupResponse,
)
from cluster_model.spec.cluster_spec import OFFSETS, BrokerSpec, ClusterSpec, TopicSpec

SECOND = 1_000_000
MS = 1_000
FIRST = 3_501
LOST = (KafkaError.NOT_COORDINATOR, KafkaError.COORDINATOR_NOT_AVAILABLE)
_REJOIN = (KafkaError.REBALANCE_IN_PROGRESS, KafkaError.ILLEGAL_GENERATION, KafkaError.UNKNOWN_MEMBER_ID)


class RequestSender:
    """A client that sends the requests of a test, and records the responses by number."""

    def __init__(self, port: NodeContext) -> None:
        self.port = port
        self.got: list[Any] = []
        self._number = 0

    def ask(self, broker: int, request: Any) -> None:
        """Send a numbered request."""
        self._number += 1
        self.port.send(broker, request._replace(correlation_id=self._number))

    def receive(self, _source: int, message: Any) -> None:
        self.got.append(message)

    def on_timer(self, timer: Payload) -> None:
        raise AssertionError(timer)

    def on_disconnect(self, peer: int) -> None:
        """Does nothing on a broken connection."""


class Member(RequestSender):
    """Member that finds its coordinator, joins, syncs, sends heartbeats every 3 s, and rejoins on request.

    The leader gives the topic's partitions out in turn. Whatever breaks, it looks for its coordinator after 100 ms.
    """

    def __init__(self, port: NodeContext, name: str, group: str, *, instance: str = "", partitions: int = 2) -> None:
        super().__init__(port)
        self.name, self.group, self.instance = name, group, instance
        self.partitions = partitions
        self.member_id = ""
        self.generation = -1
        self.coordinator = -1
        self.assignment: Assignment | None = None
        self.stopped = False
        self.sent_commits: dict[int, int] = {}
        """Number of a commit → its offset."""
        self._asked = self.port.node_id
        self._finding = -1

    def begin(self) -> None:
        """Look up the coordinator, at another broker each time."""
        self._asked += 1
        self._finding = 1 + self._asked % 3
        self.ask(self._finding, FindCoordinatorRequest(0, self.group))

    def on_timer(self, timer: Payload) -> None:
        if self.stopped:
            return
        if timer[0] == "find":
            self.begin()
        elif timer[0] == "beat" and self.assignment is not None and self.coordinator >= 0:
            beat = HeartbeatRequest(0, self.group, self.generation, self.member_id, self.instance)
            self.ask(self.coordinator, beat)

    def on_disconnect(self, peer: int) -> None:
        if peer in (self.coordinator, self._finding):
            self._lose()

    def _lose(self) -> None:
        self.coordinator = self._finding = -1
        self.port.timer(100 * MS, "find")

    def join(self) -> None:
        self.assignment = None
        offers = (MemberProtocol("range", Subscription(("orders",))),)
        request = JoinGroupRequest(
            0, self.group, self.name, self.member_id, 10 * SECOND, 60 * SECOND, offers, self.instance
        )
        self.ask(self.coordinator, request)

    def receive(self, source: int, message: Any) -> None:
        super().receive(source, message)
        if self.stopped:
            return
        if isinstance(message, FindCoordinatorResponse):
            self._found(message)
        elif isinstance(message, JoinGroupResponse):
            self._joined(message)
        elif isinstance(message, SyncGroupResponse):
            if self._goes_on(message.error):
                self.assignment = message.assignment
                self.port.timer(3 * SECOND, "beat")
        elif isinstance(message, HeartbeatResponse) and self._goes_on(message.error):
            self.port.timer(3 * SECOND, "beat")

    def _found(self, message: FindCoordinatorResponse) -> None:
        self._finding = -1
        if message.error:
            self._lose()
        else:
            self.coordinator = message.node_id
            if self.assignment is None:
                self.join()
            else:
                self.on_timer(("beat",))

    def _joined(self, message: JoinGroupResponse) -> None:
        if message.error == KafkaError.MEMBER_ID_REQUIRED:
            self.member_id = message.member_id
            self.join()
        elif self._goes_on(message.error):
            self.member_id, self.generation = message.member_id, message.generation_id
            gives: dict[str, list[str]] = {member.member_id: [] for member in message.members}
            for index in range(self.partitions if gives else 0):
                gives[list(gives)[index % len(gives)]].append(f"orders-{index}")
            given = tuple((member_id, Assignment(tuple(each))) for member_id, each in gives.items())
            request = SyncGroupRequest(0, self.group, self.generation, self.member_id, given, self.instance)
            self.ask(self.coordinator, request)

    def _goes_on(self, error: int) -> bool:
        if error in LOST or error == KafkaError.COORDINATOR_LOAD_IN_PROGRESS:
            self._lose()
        elif error in _REJOIN:
            if error == KafkaError.UNKNOWN_MEMBER_ID:
                self.member_id = ""
            self.join()
        elif error == KafkaError.FENCED_INSTANCE_ID:
            self.stopped = True  # permanently, as a consumer does
        return not error

    def commit(self, partition: str, offset: int) -> None:
        """Commit an offset as a member."""
        offsets = (CommittedOffset(partition, offset),)
        request = OffsetCommitRequest(0, self.group, self.generation, self.member_id, offsets, self.instance)
        self.ask(self.coordinator, request)
        self.sent_commits[self._number] = offset


class Talk:
    """A cluster of three brokers with ``__consumer_offsets`` of three partitions, and the messages about groups."""

    placement: tuple[tuple[int, ...], ...] = ((1, 2, 3), (2, 3, 1))
    """Partitions of the topic ``orders``."""

    def __init__(
        self,
        kafka: str = "3.9",
        mode: str = "",
        *,
        config: dict[str, ConfigValue] | None = None,
        offsets: dict[str, ConfigValue] | None = None,
        naive: bool = False,
        seed: int = 1,
    ) -> None:
        spec = ClusterSpec(
            kafka, mode or ("zookeeper" if kafka < "3.3" else "kraft"), tuple(BrokerSpec(each) for each in (1, 2, 3)),
            (
                TopicSpec("orders", placement=self.placement),
                TopicSpec(
                    OFFSETS, placement=((1, 2, 3), (2, 3, 1), (3, 1, 2)),
                    config={"cleanup.policy": "compact", **(offsets or {})},
                ),
            ),
            config=config or {},
        )  # fmt: skip
        self.cluster = Cluster.build(spec, seed, naive=naive)
        self.lines: list[tuple[int, str]] = []
        self._nodes: dict[str, Member] = {}
        self._last: dict[str, str] = {}
        """Last message to or from each node: an identical repetition is not recorded again."""
        self.hand = RequestSender(NodeContext(self.cluster.network, FIRST - 1))
        self._add(FIRST - 1, "admin", self.hand)
        for number in self.cluster.brokers:
            process = self.cluster.network.processes[number]
            process.receive = self._watching(process.name, process.receive)  # type: ignore[assignment]

    def _add(self, node: int, name: str, hand: RequestSender) -> None:
        self.cluster.network.add(node, name, hand)
        process = self.cluster.network.processes[node]
        process.receive = self._watching(name, process.receive)  # type: ignore[assignment]

    def _watching(self, name: str, receive: Callable[[int, Any], None]) -> Callable[[int, Any], None]:
        network = self.cluster.network

        def watched(source: int, message: Any) -> None:
            text = said(message)
            if text and self._last.get(name) != text:
                self.lines.append((network.kernel.now, f"{network.processes[source].name} > {name}: {text}"))
                self._last[name] = text
            receive(source, message)

        return watched

    def member(self, name: str, *, group: str = "g", instance: str = "") -> Member:
        """Start a new member."""
        node = FIRST + len(self._nodes)
        found = Member(NodeContext(self.cluster.network, node), name, group, instance=instance)
        self._nodes[name] = found
        self._add(node, name, found)
        found.begin()
        return found

    def run(self, seconds: float) -> None:
        """Let time pass."""
        self.cluster.run(self.cluster.now_us + int(seconds * SECOND))

    def ask(self, broker: int, request: Any, seconds: float = 0.1) -> Any:
        """Send a request, and return the response if it arrives in time."""
        before = len(self.hand.got)
        self.hand.ask(broker, request)
        self.run(seconds)
        return self.hand.got[-1] if len(self.hand.got) > before else None

    def note(self, text: str) -> None:
        """Add a remark that the messages do not show."""
        self.lines.append((self.cluster.now_us, f"  ({text})"))

    def text(self) -> str:
        """Return the recorded messages as text."""
        return "".join(f"{at // SECOND:3}.{at % SECOND:06}  {line}\n" for at, line in self.lines)


def _named(error: int) -> str:
    return KafkaError(error).name


def _of(member_id: str) -> str:
    """Shorten a member id to the first block of its UUID."""
    return "-".join(member_id.split("-")[:-4])


def _heartbeat(message: ConsumerGroupHeartbeatRequest) -> str:
    """Format a heartbeat that carries any change."""
    words = [
        message.topics is not None and f"reads {message.topics}",
        message.pattern is not None and f"reads all of {message.pattern!r}",
        message.owned is not None and f"has [{' '.join(message.owned)}]",
    ]
    telling = [word for word in words if word]
    if not telling and message.member_epoch > 0:
        return ""
    named = f" as {message.group_instance_id}" if message.group_instance_id else ""
    return " ".join((f"ConsumerGroupHeartbeatRequest epoch {message.member_epoch}{named}", *telling))


def said(message: Any) -> str:
    """Format a message about groups, empty for any other one; heartbeats without changes are left out."""
    kind = type(message).__name__
    if isinstance(message, FindCoordinatorResponse):
        return f"{kind} {_named(message.error)} {message.node_id}"
    if isinstance(message, JoinGroupRequest):
        return f"{kind} {_of(message.member_id) or '-'} {message.group_instance_id}".rstrip()
    if isinstance(message, JoinGroupResponse):
        roll = " ".join(_of(member.member_id) for member in message.members)
        place = f" generation {message.generation_id} leader {_of(message.leader)}" if not message.error else ""
        return f"{kind} {_named(message.error)} {_of(message.member_id)}{place} [{roll}]"
    if isinstance(message, SyncGroupRequest):
        gives = " ".join(f"{_of(who)}={','.join(given.partitions)}" for who, given in message.assignments)
        return f"{kind} {_of(message.member_id)} generation {message.generation_id} [{gives}]"
    if isinstance(message, SyncGroupResponse):
        return f"{kind} {_named(message.error)} {','.join(message.assignment.partitions)}".rstrip()
    if isinstance(message, HeartbeatResponse):
        return f"{kind} {_named(message.error)}" if message.error else ""
    if isinstance(message, ConsumerGroupHeartbeatRequest):
        return _heartbeat(message)
    if isinstance(message, ConsumerGroupHeartbeatResponse):
        gets = "" if message.assignment is None else f" gets [{' '.join(message.assignment)}]"
        place = f" epoch {message.member_epoch}{gets}" if not message.error else ""
        return f"{kind} {_named(message.error)}{place}" if message.error or gets else ""
    if isinstance(message, OffsetCommitRequest):
        return (
            f"{kind} generation {message.generation_id} {[(each.partition, each.offset) for each in message.offsets]}"
        )
    if isinstance(message, OffsetCommitResponse):
        return f"{kind} {[(partition, _named(error)) for partition, error in message.partitions]}"
    if isinstance(message, OffsetFetchRequest):
        return f"{kind} {message.partitions}"
    if isinstance(message, OffsetFetchResponse):
        return (
            f"{kind} {_named(message.error)} {[(e.partition, e.offset, _named(e.error)) for e in message.partitions]}"
        )
    return ""
