"""Driver of a consumer-protocol group without a broker: heartbeats go to the rules, records are replayed at once."""

from typing import Any

from cluster_model.coordinators.group.consumer_protocol.consumer_group import (
    ConsumerGroup,
    ConsumerGroupConfig,
    ConsumerGroupRecord,
    PatternCompiler,
    compile_python_pattern,
    decode,
    encode,
)
from cluster_model.coordinators.group.consumer_protocol.heartbeat import HeartbeatRules, TopicsImage
from cluster_model.protocol.config_defs import ConfigValue
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.group_messages import (
    JOIN,
    LEAVE,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from cluster_model.protocol.versions import Profile

SECOND = 1_000_000
REBALANCE = 60 * SECOND


class ConsumerGroupDriver:
    """One group, its rules, and members that follow responses at once."""

    def __init__(
        self,
        sizes: dict[str, int] | None = None,
        compile_pattern: PatternCompiler = compile_python_pattern,
        kafka: str = "4.0",
        **config: ConfigValue,
    ) -> None:
        given = {name.replace("_", "."): value for name, value in config.items()}
        self._uuids = 0
        profile = Profile.of(kafka, "kraft")
        self.rules = HeartbeatRules(ConsumerGroupConfig.of(profile, given), self._uuid, compile_pattern)
        self.group = ConsumerGroup("g", 1, int(profile.first_assignment_epoch))
        self.now = 10 * SECOND
        self.topics_image = TopicsImage((0, 0), sizes or {"t": 4})
        self.records: list[ConsumerGroupRecord] = []
        self.owned: dict[str, tuple[str, ...]] = {}
        self.epochs: dict[str, int] = {}

    def _uuid(self) -> str:
        self._uuids += 1
        return f"drawn-{self._uuids}"

    def resize_topics(self, **sizes: int) -> None:
        """Change the broker's metadata."""
        self.topics_image = TopicsImage((0, self.topics_image.version[1] + 1), sizes)

    def send(self, request: ConsumerGroupHeartbeatRequest) -> ConsumerGroupHeartbeatResponse:
        """Send a request; its records are applied, and kept in ``records``."""
        invalid = self.rules.request_error(request)
        if invalid:
            return ConsumerGroupHeartbeatResponse(0, invalid)
        verdict = self.rules.heartbeat(self.group, 9, request, self.topics_image, self.now)
        self.records = list(verdict.records)
        for record in verdict.records:
            again = decode(encode(record))
            assert again == record
            self.group.replay(again)
        if not verdict.response.error:
            self.group.seen = self.topics_image.version
        return verdict.response

    def join(self, member: str, *topics: str, epoch: int = JOIN, **more: Any) -> ConsumerGroupHeartbeatResponse:
        """Join with no partitions; the member applies its assignment."""
        given: dict[str, Any] = {"rebalance_timeout_us": REBALANCE, "topics": topics or ("t",), "owned": (), **more}
        response = self.send(ConsumerGroupHeartbeatRequest(0, "g", member, epoch, member, **given))
        self._take(member, response)
        return response

    def _take(self, member: str, response: ConsumerGroupHeartbeatResponse) -> None:
        if not response.error:
            self.epochs[member] = response.member_epoch
            if response.assignment is not None:
                self.owned[member] = response.assignment

    def heartbeat(self, member: str, *, epoch: int | None = None, **more: Any) -> ConsumerGroupHeartbeatResponse:
        """Send a heartbeat in the member's own epoch; it applies its assignment."""
        at = self.epochs[member] if epoch is None else epoch
        response = self.send(ConsumerGroupHeartbeatRequest(0, "g", member, at, **more))
        self._take(member, response)
        return response

    def report_owned(self, member: str, *owned: str, **more: Any) -> ConsumerGroupHeartbeatResponse:
        """Send a heartbeat with the member's partitions."""
        return self.heartbeat(member, owned=owned, **more)

    def leave(self, member: str, epoch: int = LEAVE, instance: str = "") -> KafkaError:
        """Send the heartbeat by which a member leaves."""
        request = ConsumerGroupHeartbeatRequest(0, "g", member, epoch, group_instance_id=instance)
        return KafkaError(self.send(request).error)

    def settle(self) -> None:
        """Repeat heartbeats until no member gets a new assignment."""
        for _ in range(10):
            before = dict(self.group.current)
            for member in self.group.members:
                self.report_owned(member, *self.owned.get(member, ()))
            if before == self.group.current:
                return
        raise AssertionError("it does not settle")

    def wrote(self, kind: int) -> bool:
        """Whether the last request wrote a record of a kind."""
        return any(record.kind == kind for record in self.records)
