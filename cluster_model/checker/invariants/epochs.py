"""Epoch invariants: epochs never decrease, each has a single leader, and zombies are fenced."""

from itertools import pairwise
from typing import Any, Final

from cluster_model.checker.invariants.base import (
    ALONG_THE_LOG,
    EventHandlers,
    Invariant,
    InvariantContext,
    InvariantDefinition,
    ProtocolFix,
    listed,
)
from cluster_model.controller.rules.partition_change import LEADER
from cluster_model.protocol.events import (
    Appended,
    AssignmentChanged,
    BecameFollower,
    BecameLeader,
    BrokerRegistered,
    ControllerChanged,
    ElrChanged,
    IsrChanged,
    LeaderElected,
    NodeDown,
    PartitionOffline,
    RecoveryChanged,
    TraceEvent,
    Truncated,
)
from cluster_model.protocol.messages import NO_LEADER

EPOCHS: Final = InvariantDefinition(
    "epoch-monotonicity",
    "Epochs never decrease",
    "Committed leader, partition, controller and broker epochs never decrease; batch epochs never decrease along a "
    "log, and both fields of its leader epoch cache increase and end within the log.",
    "KIP-101, KIP-279, KIP-320 (epochs along a log); KIP-380 (broker epochs)",
    (
        ProtocolFix("epoch_truncation", "KIP-101", "0.11", ALONG_THE_LOG),
        ProtocolFix("kip_279", "KIP-279", "2.0", ALONG_THE_LOG),
        ProtocolFix("kip_320", "KIP-320", "2.1", ALONG_THE_LOG),
    ),
    "Up to 0.10.2 batches have no epochs.",
)

CONTROLLER_EPOCHS_KEPT: Final = 64
"""Number of newest controller epochs that are kept."""

Decision = LeaderElected | IsrChanged | PartitionOffline | ElrChanged | RecoveryChanged | AssignmentChanged


class EpochMonotonicity(Invariant):
    """Invariant epoch-monotonicity, checked at every committed epoch, role change and truncation."""

    __slots__ = ("_brokers", "_controllers", "_nodes", "_partitions")
    definition = EPOCHS

    def __init__(self, context: InvariantContext) -> None:
        super().__init__(context)
        self._partitions: dict[str, tuple[int, int]] = {}
        self._brokers: dict[int, int] = {}
        self._controllers: dict[int, str] = {}
        """Controller epoch → its controller, for the newest epochs."""
        self._nodes: dict[str, int] = {}
        """Node → the newest epoch of which it was the controller."""

    def handlers(self) -> EventHandlers:
        """Return the handlers of decisions, role changes, truncations, registrations and controller changes."""
        decisions = (LeaderElected, IsrChanged, PartitionOffline, ElrChanged, RecoveryChanged, AssignmentChanged)
        return {
            **dict.fromkeys(decisions, self._decided),
            **dict.fromkeys((BecameLeader, BecameFollower, Truncated), self._along_the_log),
            BrokerRegistered: self._registered,
            ControllerChanged: self._controller_changed,
        }

    def _decided(self, event: Decision) -> None:
        now = (event.leader_epoch, event.partition_epoch)
        before = self._partitions.get(event.partition, (0, 0))
        if now[0] < before[0] or now[1] < before[1]:
            detail = f"(leader epoch, partition epoch) decreased from {before} to {now}"
            leader = NO_LEADER if isinstance(event, PartitionOffline) else event.leader
            self.context.report(self.definition, event.at_us, event.partition, leader, detail, epoch=now[0])
        self._partitions[event.partition] = now

    def _registered(self, event: BrokerRegistered) -> None:
        plane, broker = self.context.plane, event.broker
        if plane is None:
            return
        before, epoch = self._brokers.get(broker, -1), plane.broker_epoch(broker)
        if epoch < before:
            detail = f"the epoch of broker {broker} decreased from {before} to {epoch}"
            self.context.report(self.definition, event.at_us, "", broker, detail, fault=f"down to {epoch}")
        self._brokers[broker] = epoch

    def _controller_changed(self, event: ControllerChanged) -> None:
        """Check that no two controllers share an epoch, and that a node elected again has a greater one."""
        epoch, node = event.leader_epoch, event.node
        known = self._controllers.setdefault(epoch, node)
        if known != node:
            detail = f"{known} and {node} are both controller in epoch {epoch}"
            self.context.report(self.definition, event.at_us, "", event.broker, detail, epoch=epoch)
        if len(self._controllers) > CONTROLLER_EPOCHS_KEPT:
            del self._controllers[min(self._controllers)]
        newest = self._nodes.get(node, epoch)
        if newest > epoch:
            detail = f"{node} is controller in epoch {epoch} after it was in epoch {newest}"
            self.context.report(self.definition, event.at_us, "", event.broker, detail, epoch=epoch)
        self._nodes[node] = max(newest, epoch)

    def _along_the_log(self, event: BecameLeader | BecameFollower | Truncated) -> None:
        partition, broker = event.partition, event.broker
        replica = self.cluster_state.replicas.get(partition, {}).get(broker)
        if replica is None or not self.cluster_state.profile.epoch_truncation:
            return
        log = replica.log
        entries = log.epochs.entries
        rising = all(one[0] < two[0] and one[1] < two[1] for one, two in pairwise(entries))
        if not rising or (entries and entries[-1][1] > log.leo):
            detail = f"the epoch cache of broker {broker} is {listed(entries)} with LEO {log.leo}"
            self.context.report(
                self.definition, event.at_us, partition, broker, detail, offsets=(entries[-1][1], log.leo),
                epoch=entries[-1][0],
            )  # fmt: skip
        written = [(log.epoch_branches.by_id[log_branch].epoch, start) for start, log_branch in log.extents]
        fallen = next((two for one, two in pairwise(written) if one[0] > two[0]), None)
        if fallen is not None:
            detail = f"the log of broker {broker} has batches of epochs {listed(epoch for epoch, _start in written)}"
            self.context.report(
                self.definition, event.at_us, partition, broker, detail, fault="log", offsets=(fallen[1], log.leo),
                epoch=fallen[0], when=(ALONG_THE_LOG,),
            )  # fmt: skip

    def forget(self, partition: str) -> None:
        """Drop the state of a deleted partition."""
        self._partitions.pop(partition, None)

    def save(self) -> tuple[Any, ...]:
        """Return the whole state, to be restored by :meth:`load`."""
        return tuple(
            tuple(table.items()) for table in (self._partitions, self._brokers, self._controllers, self._nodes)
        )

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore a state that :meth:`save` returned."""
        self._partitions, self._brokers, self._controllers, self._nodes = map(dict, saved)


ONE_LEADER: Final = InvariantDefinition(
    "single-leader-per-epoch",
    "Single leader per epoch",
    "At most one broker ever appends as leader in a leader epoch of a partition.",
    "KIP-101; leader epochs as the controller assigns them",
)

LEADER_EPOCHS_KEPT: Final = 64
"""Number of newest leader epochs kept per partition; only a zombie dozens of elections old appends in an older one."""


class SingleLeader(Invariant):
    """Invariant single-leader-per-epoch, checked at every append; almost all are in the newest epoch by its leader."""

    __slots__ = ("_leaders", "_newest")
    definition = ONE_LEADER

    def __init__(self, context: InvariantContext) -> None:
        super().__init__(context)
        self._newest: dict[str, tuple[int, int]] = {}
        """Partition → (epoch, broker) of the newest append."""
        self._leaders: dict[str, dict[int, int]] = {}
        """Partition → epoch → the broker that appended first, for the newest epochs."""

    def appended(self, event: Appended) -> None:
        """Check an append by a broker that considers itself leader."""
        newest = self._newest.get(event.partition)
        if newest is None or newest[0] != event.leader_epoch or newest[1] != event.broker:
            self._appended_by_other(event)

    def _appended_by_other(self, event: Appended) -> None:
        epoch, broker = event.leader_epoch, event.broker
        self._newest[event.partition] = (epoch, broker)
        leaders = self._leaders.setdefault(event.partition, {})
        known = leaders.setdefault(epoch, broker)
        if len(leaders) > LEADER_EPOCHS_KEPT:
            del leaders[min(leaders)]
        if known != broker:
            detail = f"brokers {known} and {broker} both appended as leader in epoch {epoch}"
            offsets = (event.log_offset, event.log_offset + event.count)
            self.context.report(
                self.definition, event.at_us, event.partition, broker, detail, offsets=offsets, epoch=epoch
            )

    def forget(self, partition: str) -> None:
        """Drop the state of a deleted partition."""
        self._newest.pop(partition, None)
        self._leaders.pop(partition, None)

    def save(self) -> tuple[Any, ...]:
        """Return the whole state, to be restored by :meth:`load`."""
        leaders = tuple([(name, tuple(known.items())) for name, known in self._leaders.items()])
        return (tuple(self._newest.items()), leaders)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore a state that :meth:`save` returned."""
        self._newest, self._leaders = dict(saved[0]), {name: dict(known) for name, known in saved[1]}


FENCING: Final = InvariantDefinition(
    "zombie-fencing",
    "Zombie fencing",
    "A broker that knows a controller epoch executes no request of an older one, and a leader changes the committed "
    "ISR only if it leads in the committed epoch, and only to the ISR that it proposed.",
    "ReplicaManager.becomeLeaderOrFollower (controller epochs); KIP-380; KIP-497",
)

_SAMPLED: Final = (LeaderElected, IsrChanged, BecameFollower, BrokerRegistered, ControllerChanged)
"""Events at which the controller epoch that each broker has accepted is checked."""


class ZombieFencing(Invariant):
    """Invariant zombie-fencing, checked when a broker executes a controller request and at every decision."""

    __slots__ = ("_accepted", "_elections", "_epochs", "_started_epochs")
    definition = FENCING

    def __init__(self, context: InvariantContext) -> None:
        super().__init__(context)
        self._accepted: dict[int, int] = {}
        """Broker → the newest controller epoch that it has accepted."""
        self._epochs: dict[str, int] = {}
        """Partition → its leader epoch committed before the current event."""
        self._started_epochs: dict[str, int] = {}
        """Partition → the newest leader epoch that a broker has started; before that no ISR can be proposed in it."""
        self._elections: dict[str, tuple[int, int]] = {}
        """Partition → the partition epoch of its newest election, and the leader epoch before it."""

    def handlers(self) -> EventHandlers:
        """Return the handlers of decisions, role changes and process ends."""
        return {
            **dict.fromkeys(_SAMPLED, self._check_accepted),
            **dict.fromkeys((LeaderElected, IsrChanged, ElrChanged, RecoveryChanged), self._decided),
            BecameLeader: self._became_leader,
            NodeDown: self._node_down,
        }

    def _check_accepted(self, event: TraceEvent) -> None:
        plane = self.context.plane
        if plane is None:
            return
        for broker in self.cluster_state.brokers:
            if self.cluster_state.is_up(broker):
                before, epoch = self._accepted.get(broker, -1), plane.accepted_controller_epoch(broker)
                if epoch < before:
                    detail = f"broker {broker} accepted controller epoch {epoch} after epoch {before}"
                    now = event.at_us  # type: ignore[attr-defined]
                    self.context.report(self.definition, now, "", broker, detail, epoch=epoch)
                self._accepted[broker] = epoch

    def _became_leader(self, event: BecameLeader) -> None:
        self._check_accepted(event)
        self._started_epochs[event.partition] = max(self._started_epochs.get(event.partition, -1), event.leader_epoch)

    def _node_down(self, event: NodeDown) -> None:
        """Forget the controller epoch of a broker whose process ended."""
        self._accepted.pop(event.broker, None)

    def _decided(self, event: LeaderElected | IsrChanged | ElrChanged | RecoveryChanged) -> None:
        self._check_accepted(event)
        if isinstance(event, LeaderElected):
            self._elections[event.partition] = (event.partition_epoch, self._epochs.get(event.partition, 0))
        if isinstance(event, IsrChanged) and event.by == LEADER:
            self._check_proposal(event)
        self._epochs[event.partition] = event.leader_epoch

    def _check_proposal(self, event: IsrChanged) -> None:
        """Check that an ISR changed by a leader is what the leader of that very epoch proposed."""
        name = event.partition
        replica = self.cluster_state.replicas[name].get(event.leader)
        elected_at, before = self._elections.get(name, (-1, 0))
        # A leader's proposal may complete a reassignment and end its own leadership: one decision does both.
        with_election = elected_at == event.partition_epoch
        if not with_election:
            before = self._epochs.get(name, 0)
        if self._started_epochs.get(name, -1) < before:
            detail = (
                f"a leader changed the ISR to {listed(event.isr)}, but no broker had started leading in epoch {before}"
            )
            self.context.report(self.definition, event.at_us, name, event.leader, detail, epoch=before)
            return
        if with_election or replica is None or replica.leadership is None or replica.leader_epoch != before:
            return
        pending = replica.leadership.pending or ()
        assignment = self.cluster_state.records[name].assignment
        if sorted(broker for broker in pending if broker in assignment) != sorted(event.isr):
            detail = (
                f"a leader changed the ISR to {listed(event.isr)}, but leader {event.leader} of epoch {before} had "
                f"proposed {listed(pending) if pending else 'no change'}"
            )
            self.context.report(self.definition, event.at_us, name, event.leader, detail, epoch=before)

    def forget(self, partition: str) -> None:
        """Drop the state of a deleted partition."""
        self._epochs.pop(partition, None)
        self._started_epochs.pop(partition, None)
        self._elections.pop(partition, None)

    def save(self) -> tuple[Any, ...]:
        """Return the whole state, to be restored by :meth:`load`."""
        return tuple(
            tuple(table.items()) for table in (self._accepted, self._epochs, self._started_epochs, self._elections)
        )

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore a state that :meth:`save` returned."""
        self._accepted, self._epochs, self._started_epochs, self._elections = map(dict, saved)
