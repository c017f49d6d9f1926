"""A member of a group on a real network, against brokers that answer as the test says."""

from typing import Any

from cluster_model.clients.consumer.config import GroupSettings
from cluster_model.clients.consumer.consumer import Consumer
from cluster_model.kernel.node_context import NodeContext
from cluster_model.protocol.config_defs import ConfigValue
from cluster_model.protocol.configs import ConsumerConfig
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.group_messages import (
    Assignment,
    FetchedOffset,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupMember,
    JoinGroupRequest,
    JoinGroupResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    Subscription,
    SyncGroupRequest,
    SyncGroupResponse,
)
from cluster_model.protocol.versions import Profile
from cluster_model.spec.cluster_spec import Application
from tests.cluster_model.rigs import BROKERS, CLIENT, LATENCY, ReadingRig, state

E = KafkaError
COORDINATOR = 3


class MemberRig(ReadingRig):
    """A member; broker 1 leads the partitions of ``t``, broker 3 coordinates."""

    def __init__(
        self,
        *,
        kafka: str = "3.9",
        config: dict[str, ConfigValue] | None = None,
        partitions: int = 2,
        processing_us: int = 0,
        commit: str = "auto",
        instance: str = "",
        pattern: str = "",
    ) -> None:
        super().__init__(partitions)
        profile = Profile.of(kafka)
        given = {"enable.auto.commit": commit == "auto", **(config or {})}
        self.consumer = Consumer(
            NodeContext(self.network, CLIENT), "g/0", "g", profile, ConsumerConfig.of(profile, given), (), BROKERS,
            Application(processing_us, commit), self.epoch_branches, self.events.append, 0,
            self.streams.named("retry:g/0"),
        )  # fmt: skip
        self.network.add(CLIENT, "g/0", self.consumer)
        self.consumer.subscribe(GroupSettings.of(profile, given, instance), () if pattern else ("t",), pattern)
        self.consumer.begin(tuple(state(name, 1) for name in self.partitions))
        self.run(LATENCY)

    @property
    def positions(self) -> dict[str, int]:
        return self.consumer.positions

    def newest(self, kind: type[Any], broker: int = COORDINATOR) -> Any:
        return self.asked(kind, broker)[-1]

    def tell(self, message: tuple[Any, ...], broker: int = COORDINATOR) -> None:
        self.reply(broker, message)
        self.run(2 * LATENCY)

    def find(self, broker: int = COORDINATOR) -> None:
        """Answer the newest lookup, whoever was asked."""
        asked = [(at, who) for who in BROKERS for at in self.times(FindCoordinatorRequest, who)]
        _at, who = max(asked)
        request = self.newest(FindCoordinatorRequest, who)
        self.tell(FindCoordinatorResponse(request.correlation_id, 0, broker), who)

    def joined(
        self, generation: int = 1, *, leads: bool = False, error: KafkaError = E.NONE, member: str = "m"
    ) -> None:
        request = self.newest(JoinGroupRequest)
        members = (JoinGroupMember("m", "", Subscription(("t",))), JoinGroupMember("n", "", Subscription(("t",))))
        response = JoinGroupResponse(
            request.correlation_id, error, -1 if error else generation, request.protocols[0].name, "m" if leads
            else "n", member, members if leads else (),
        )  # fmt: skip
        self.tell(response)

    def synced(self, *partitions: str, error: KafkaError = E.NONE) -> None:
        request = self.newest(SyncGroupRequest)
        self.tell(SyncGroupResponse(request.correlation_id, error, Assignment(partitions)))

    def committed(self, **offsets: int) -> None:
        """Answer the OffsetFetch: offsets by partition, with an underscore for the dash."""
        request = self.newest(OffsetFetchRequest)
        found = {name.replace("_", "-"): offset for name, offset in offsets.items()}
        answers = [FetchedOffset(name, found.get(name, -1), -1, "", 0) for name in request.partitions]
        self.tell(OffsetFetchResponse(request.correlation_id, 0, tuple(answers)))

    def accept(self, error: KafkaError = E.NONE) -> None:
        """Answer the newest commit."""
        request = self.newest(OffsetCommitRequest)
        self.tell(
            OffsetCommitResponse(request.correlation_id, tuple((each.partition, error) for each in request.offsets))
        )

    def beat(self, error: KafkaError = E.NONE) -> None:
        self.tell(HeartbeatResponse(self.newest(HeartbeatRequest).correlation_id, error))

    def commits(self) -> list[dict[str, int]]:
        return [
            {each.partition: each.offset for each in request.offsets}
            for request in self.asked(OffsetCommitRequest, COORDINATOR)
        ]


def member(**how: Any) -> MemberRig:
    """One that has joined, and reads both partitions from 0."""
    rig = MemberRig(**how)
    rig.find()
    rig.joined()
    rig.synced(*rig.partitions)
    rig.committed(**{name.replace("-", "_"): 0 for name in rig.partitions})
    return rig
