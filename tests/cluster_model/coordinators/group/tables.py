"""A group without a broker: requests go straight to the rules, and their effects are executed here."""

from collections.abc import Callable
from typing import Any

from cluster_model.coordinators.group.group_metadata import (
    GroupConfig,
    GroupMetadata,
    GroupRecord,
    GroupState,
    GroupValue,
    ResponseEffect,
    decode,
)
from cluster_model.coordinators.group.membership import MembershipRules
from cluster_model.protocol.config_defs import ConfigValue
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.group_messages import (
    Assignment,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    LeavingMember,
    MemberProtocol,
    Subscription,
    SyncGroupRequest,
    SyncGroupResponse,
)
from cluster_model.protocol.versions import Profile

MS = 1_000
SECOND = 1_000_000
SESSION = 10 * SECOND
REBALANCE = 60 * SECOND


def protocols(*names: str, topics: tuple[str, ...] = ("orders",)) -> tuple[MemberProtocol, ...]:
    return tuple(MemberProtocol(name, Subscription(topics)) for name in names)


RANGE = protocols("range")


class Table:
    """One group, and its responses by the number of the request."""

    def __init__(self, kafka: str = "3.9", *, holds: bool = False, **config: ConfigValue) -> None:
        """``holds``: writes wait for :meth:`wrote`."""
        given = {name.replace("_", "."): value for name, value in config.items()}
        profile = Profile.of(kafka)
        self._drawn = 0
        self.members = MembershipRules(profile, GroupConfig.of(profile, given), self._uuid)
        self.now = 0
        self.group = GroupMetadata("billing", 1, 0)
        self.holds = holds
        self.writing: list[Any] = []
        self.written: list[GroupValue] = []
        self.answers: dict[int, Any] = {}
        self._number = 0

    @property
    def state(self) -> GroupState:
        """State of the group."""
        return self.group.state

    def _uuid(self) -> str:
        self._drawn += 1
        return str(self._drawn)

    def _do(self, act: Callable[[], Any]) -> Any:
        result = act()
        while self.group.effects:
            effect = self.group.effects.pop(0)
            if isinstance(effect, ResponseEffect):
                self.answers[effect.message.correlation_id] = effect.message
                continue
            record = decode(effect.record)
            assert isinstance(record, GroupRecord)
            assert record.value is not None
            self.written.append(record.value)
            self.writing.append(effect.purpose)
            if not self.holds:
                self.wrote()
        return result

    def wrote(self, error: KafkaError = KafkaError.NONE) -> None:
        """Complete the oldest write."""
        purpose = self.writing.pop(0)
        self._do(lambda: self.members.rebalancing.stored(self.group, self.now, purpose, error))

    def run(self, duration: int) -> None:
        """Let time pass, with every deadline exact to the microsecond."""
        end = self.now + duration
        while 0 <= self.group.wakes <= end:
            self.now, self.group.wakes = max(self.now, self.group.wakes), -1
            self._do(lambda: self.members.rebalancing.expire(self.group, self.now))
        self.now = end

    def join(
        self,
        member_id: str = "",
        *,
        client: str = "app",
        instance: str = "",
        offers: tuple[MemberProtocol, ...] = RANGE,
        kind: str = "consumer",
        session: int = SESSION,
        rebalance: int = REBALANCE,
        version: int = 9,
    ) -> int:
        """Send JoinGroup; return the request's number."""
        self._number += 1
        request = JoinGroupRequest(
            self._number, "billing", client, member_id, session, rebalance, offers, instance, kind, version
        )
        self._do(lambda: self.members.join(self.group, self.now, 3_500, request))
        return self._number

    def joined(self, number: int) -> JoinGroupResponse:
        """Return the response to a join."""
        answer = self.answers[number]
        assert isinstance(answer, JoinGroupResponse)
        return answer

    def enter(self, client: str = "app", *, offers: tuple[MemberProtocol, ...] = RANGE, **more: Any) -> tuple[str, int]:
        """Add a new member in two steps; return its id and the number of its second request."""
        member_id = self.joined(self.join(client=client, offers=offers, **more)).member_id
        return member_id, self.join(member_id, client=client, offers=offers, **more)

    def sync(
        self, member_id: str, generation: int = 0, *, gives: dict[str, Assignment] | None = None, **more: str
    ) -> int:
        """Send SyncGroup, of the current generation unless another is given; return the request's number."""
        self._number += 1
        request = SyncGroupRequest(
            self._number, "billing", generation or self.group.generation, member_id, tuple((gives or {}).items()),
            **more,
        )  # fmt: skip
        self._do(lambda: self.members.sync(self.group, self.now, 3_500, request))
        return self._number

    def synced(self, number: int) -> SyncGroupResponse:
        """Return the response to a sync."""
        answer = self.answers[number]
        assert isinstance(answer, SyncGroupResponse)
        return answer

    def beat(self, member_id: str, generation: int = 0, instance: str = "") -> KafkaError:
        """Send Heartbeat, and return its error."""
        request = HeartbeatRequest(0, "billing", generation or self.group.generation, member_id, instance)
        error: KafkaError = self._do(lambda: self.members.heartbeat(self.group, self.now, request))
        return error

    def leave(self, member_id: str, instance: str = "") -> KafkaError:
        """Send LeaveGroup of one member."""
        leaving = LeavingMember(member_id, instance)
        error: KafkaError = self._do(lambda: self.members.leave(self.group, self.now, leaving))
        return error

    def settled(self, count: int, **more: Any) -> list[str]:
        """Form a stable group of so many members, the leader first."""
        entered = [self.enter(f"app{index}", **more) for index in range(count)]
        self.run(10 * SECOND)
        ids = [member_id for member_id, _number in entered]
        gives = {member_id: Assignment((f"orders-{index}",)) for index, member_id in enumerate(ids)}
        for member_id in reversed(ids):
            self.sync(member_id, gives=gives if member_id == self.group.leader else None)
        assert self.group.state is GroupState.STABLE
        return ids
