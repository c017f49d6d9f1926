"""A controller whose decisions are committed at once, for manual steps and clusters without a quorum.

It applies the rules of the profile's mode (KRaft or ZooKeeper) and commits their results.
"""

from collections.abc import Callable, Mapping

from cluster_model.controller.committed_state import CommittedPartition, CommittedState
from cluster_model.controller.rules import alter_partition, kraft_partition_changes, partition_change
from cluster_model.controller.rules.admin_rules import elect_requested_kraft, elect_requested_zk
from cluster_model.controller.rules.kraft_partition_changes import build_change
from cluster_model.controller.rules.partition_change import ElectionMode, PartitionChange
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import NO_LEADER, AlterPartitionRequest, AlterPartitionResponse
from cluster_model.protocol.versions import Profile

Live = Mapping[int, int]
"""Brokers that are alive (KRaft: unfenced), with their broker epochs."""


class ImmediateController:
    """Controller that decides about partitions and commits each decision at once."""

    __slots__ = ("committed", "elr", "profile")

    def __init__(self, committed: CommittedState, profile: Profile, *, elr: bool) -> None:
        self.committed = committed
        self.profile = profile
        self.elr = elr
        """Whether eligible leader replicas (KIP-966) are enabled."""

    def fence(self, broker: int, live: Live, now: int) -> list[CommittedPartition]:
        """A broker was fenced (no longer in ``live``): move its leaderships, and remove it from every ISR."""
        return self._all(lambda record: self._after_fencing(record, broker, live, f"broker {broker} fenced"), now)

    def unfence(self, broker: int, live: Live, now: int) -> list[CommittedPartition]:
        """A broker was unfenced: elect leaders for partitions that have none."""
        return self._all(lambda record: self._after_unfencing(record, broker, live), now)

    def handle_unclean_shutdown(self, broker: int, live: Live, now: int) -> list[CommittedPartition]:
        """A broker registered after an unclean shutdown: with KIP-966 it leaves every ISR and ELR."""
        if not self.elr:
            return []

        def change(record: CommittedPartition) -> PartitionChange | None:
            return kraft_partition_changes.unclean_shutdown(
                record.state, broker, active=live.__contains__, profile=self.profile, topic=record.topic_config,
                by=f"broker {broker} had not shut down cleanly", elr=True,
            )  # fmt: skip

        return self._all(change, now)

    def _all(
        self, decide: Callable[[CommittedPartition], PartitionChange | None], now: int
    ) -> list[CommittedPartition]:
        return [record for record in self.committed.records.values() if self._commit(decide(record), now)]

    def _commit(self, change: PartitionChange | None, now: int) -> bool:
        return change is not None and self.committed.commit(change, now)

    def _after_fencing(self, record: CommittedPartition, broker: int, live: Live, by: str) -> PartitionChange | None:
        state, topic, profile = record.state, record.topic_config, self.profile
        if profile.kraft:
            return kraft_partition_changes.broker_fenced(
                state, broker, active=live.__contains__, profile=profile, topic=topic, by=by, elr=self.elr
            )
        elected = None
        if state.leader == broker:
            elected = partition_change.offline_election(
                state, live=live.__contains__, profile=profile, topic=topic, by=by
            )
        return elected or partition_change.remove_from_isr(state, broker, profile=profile, topic=topic, by=by)

    def _after_unfencing(self, record: CommittedPartition, broker: int, live: Live) -> PartitionChange | None:
        state, topic, profile, by = record.state, record.topic_config, self.profile, f"broker {broker} unfenced"
        if profile.kraft:
            return kraft_partition_changes.broker_unfenced(
                state, broker, active=live.__contains__, profile=profile, topic=topic, by=by, elr=self.elr
            )
        if state.leader != NO_LEADER or broker not in state.replicas:
            return None
        return partition_change.offline_election(state, live=live.__contains__, profile=profile, topic=topic, by=by)

    def alter_partition(self, request: AlterPartitionRequest, live: Live, now: int) -> AlterPartitionResponse:
        """Validate a leader's proposed ISR, and commit it if it is valid."""
        record = self.committed.records.get(request.partition)
        if record is None:
            unknown = KafkaError.UNKNOWN_TOPIC_OR_PARTITION
            return AlterPartitionResponse(request.partition, unknown, -1, (), -1, request.correlation_id)
        error = self._judge(record, request, live)
        if error is KafkaError.NONE:
            change = self._accept(record, request, live)
            self._commit(change, now)
            error = alter_partition.proposer_error(change, request)
        # The response carries the requested epoch: an epoch that the change itself raises reaches the leader by
        # metadata.
        return AlterPartitionResponse(
            request.partition, error, request.leader_epoch, record.isr, record.partition_epoch, request.correlation_id
        )

    def _judge(self, record: CommittedPartition, request: AlterPartitionRequest, live: Live) -> KafkaError:
        state, profile = record.state, self.profile
        if not profile.alter_partition:
            return alter_partition.validate_write(state, request)
        if not profile.kraft:
            return alter_partition.validate_zk(state, request, epochs=live, profile=profile)
        return alter_partition.validate_kraft(state, request, epochs=live, active=live.__contains__, profile=profile)

    def _accept(self, record: CommittedPartition, request: AlterPartitionRequest, live: Live) -> PartitionChange | None:
        if not self.profile.kraft:
            return alter_partition.accept_zk(record.state, request)
        return alter_partition.accept_kraft(
            record.state,
            request,
            active=live.__contains__,
            profile=self.profile,
            topic=record.topic_config,
            elr=self.elr,
        )

    def elect_leaders(self, partition: str, live: Live, now: int, *, unclean: bool) -> KafkaError:
        """Run an administrator's election (KIP-460): of the preferred replica, or of any live one if ``unclean``."""
        record = self.committed.records[partition]
        state, topic, profile, by = record.state, record.topic_config, self.profile, "administrator"
        active = live.__contains__
        if profile.kraft:
            change = elect_requested_kraft(
                state, unclean=unclean, active=active, profile=profile, topic=topic, by=by, elr=self.elr
            )
        else:
            change = elect_requested_zk(state, unclean=unclean, live=active, profile=profile, topic=topic, by=by)
        if isinstance(change, KafkaError):
            return change
        self._commit(change, now)
        return KafkaError.NONE

    def elect_manually(self, partition: str, leader: int, now: int, *, unclean: bool, live: Live) -> KafkaError:
        """Elect a given leader in a manual step; any replica if ``unclean``. ISR members must be alive."""
        record = self.committed.records[partition]
        if leader not in record.assignment:
            return KafkaError.INVALID_REQUEST
        change = self._elected_by_hand(record, leader, live, unclean=unclean)
        if change is None or change.state.leader != leader or not (change.clean or unclean):
            return KafkaError.ELIGIBLE_LEADERS_NOT_AVAILABLE
        self._commit(change, now)
        return KafkaError.NONE

    def _elected_by_hand(
        self, record: CommittedPartition, leader: int, live: Live, *, unclean: bool
    ) -> PartitionChange | None:
        """Apply the rules of the mode as if the wanted leader were the only live replica."""
        topic, profile, by = record.topic_config, self.profile, "step"
        isr = tuple(broker for broker in record.isr if broker in live or broker == leader)
        if profile.kraft:
            return build_change(
                record.state._replace(leader=NO_LEADER), target_isr=isr if leader in isr else None,
                active=leader.__eq__, election=ElectionMode.UNCLEAN if unclean else ElectionMode.ONLINE,
                profile=profile, topic=topic, by=by, elr=self.elr,
            )  # fmt: skip
        if leader in isr:
            return partition_change.reassign_election(
                record.state._replace(isr=isr), (leader,), live=leader.__eq__, by=by
            )
        return partition_change.offline_election(
            record.state, live=leader.__eq__, profile=profile, topic=topic, by=by, unclean=unclean
        )

    def remove_from_isr_manually(self, partition: str, broker: int, now: int, *, live: Live) -> KafkaError:
        """Remove a broker from the ISR in a manual step, as the controller does for a broker that it fences."""
        record = self.committed.records[partition]
        changed = broker in record.isr and self._commit(
            self._after_fencing(record, broker, live, f"broker {broker} dropped"), now
        )
        return KafkaError.NONE if changed else KafkaError.INVALID_REQUEST
