"""Safety properties of the control plane, each looked at when it decides something or a broker obeys.

Producing and fetching pass by here without a look: what only they could break shows at the next decision. Each property
is asked for from the version on that promises it.
"""

from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any, Final, Protocol

from cluster_model.checker.history import History
from cluster_model.controller.rules.change import LEADER
from cluster_model.events import (
    BecameFollower,
    BecameLeader,
    BrokerFenced,
    BrokerRegistered,
    ControllerChanged,
    ElrChanged,
    IsrChanged,
    LeaderElected,
    NodeDown,
    PartitionDeleted,
    RecoveryChanged,
    TraceEvent,
    Truncated,
)
from cluster_model.log.compare import differing
from cluster_model.log.crashes import LOSSY
from cluster_model.replication.replica import Replica
from cluster_model.world import World

LEADER_COMPLETENESS: Final = "leader-completeness"
EPOCHS: Final = "epoch-monotonicity"
MAXIMAL_ISR: Final = "maximal-isr-superset"
ELIGIBILITY: Final = "isr-eligibility"
RECOVERY: Final = "recovery-barrier"
FENCING: Final = "zombie-fencing"
EXCLUSION: Final = "unclean-exclusion"

CONTROL_INVARIANTS: Final = (LEADER_COMPLETENESS, MAXIMAL_ISR, ELIGIBILITY, RECOVERY, FENCING, EXCLUSION)
"""By name; :data:`EPOCHS` is shared with the epochs of partitions."""

_SAMPLED: Final = (LeaderElected, IsrChanged, BecameLeader, BecameFollower, BrokerRegistered, ControllerChanged)
"""At these it is looked at whom the brokers obey."""

Report = Callable[[str, str, int, int, int, str], None]
"""Takes (invariant, partition, broker, place, time, detail)."""


class Registrations(Protocol):
    """What the plane has committed of brokers."""

    def is_live(self, broker: int) -> bool:
        """Registered, and not fenced."""

    def is_shutting_down(self, broker: int) -> bool:
        """In controlled shutdown."""

    def broker_epoch(self, broker: int) -> int:
        """Of its registration, -1 for none."""

    def obeyed_epoch(self, broker: int) -> int:
        """The newest controller epoch that the running process goes by."""


class ControlInvariants:
    """Checks as events come."""

    __slots__ = ("_broker_epochs", "_controllers", "_history", "_leader_epochs", "_obeyed", "_plane", "_report",
                 "_suspects", "_world")  # fmt: skip

    def __init__(self, world: World, history: History, plane: Registrations | None, report: Report) -> None:
        """``plane`` is None where a person decides, step by step."""
        self._world = world
        self._history = history
        self._plane = plane
        self._report = report
        self._controllers: dict[int, str] = {}
        """Controller epoch → whose."""
        self._broker_epochs: dict[int, int] = {}
        self._leader_epochs: dict[str, int] = {}
        """As committed before the event at hand."""
        self._obeyed: dict[int, int] = {}
        self._suspects: dict[tuple[str, int], bool] = {}
        """Replicas that lost records in a crash; True since their broker is registered again."""

    def observe(self, event: TraceEvent) -> None:
        """A rare event, in the state that it left behind."""
        if isinstance(event, _SAMPLED):
            self._obeying(event.at_us)
        if isinstance(event, LeaderElected | IsrChanged | ElrChanged | RecoveryChanged):
            self._decided(event)
        elif isinstance(event, BecameLeader | BecameFollower):
            self._ascending(event.partition, event.broker, event.at_us)
        elif isinstance(event, Truncated):
            self._truncated(event)
        elif isinstance(event, BrokerRegistered):
            self._registered(event)
        elif isinstance(event, BrokerFenced):
            self._fenced(event)
        elif isinstance(event, ControllerChanged):
            self._succeeded(event)
        elif isinstance(event, NodeDown):
            self._obeyed.pop(event.broker, None)
        elif isinstance(event, PartitionDeleted):
            self._leader_epochs.pop(event.partition, None)
            self._suspects = {key: value for key, value in self._suspects.items() if key[0] != event.partition}

    # -- decisions about partitions -----------------------------------------------------------------------------------

    def _decided(self, event: LeaderElected | IsrChanged | ElrChanged | RecoveryChanged) -> None:
        name, now = event.partition, event.at_us
        profile = self._world.profile
        state = self._world.records[name].state
        if state.recovering and len(state.isr) > 1:
            detail = f"leader {state.leader} is recovering from an unclean election, and the ISR is {_list(state.isr)}"
            self._report(RECOVERY, name, state.leader, state.partition_epoch, now, detail)
        if isinstance(event, LeaderElected) and not event.clean:
            self._suspects.pop((name, event.leader), None)
        if isinstance(event, IsrChanged) and event.by == LEADER:
            self._joined(event)
            if profile.alter_partition:
                self._as_proposed(event)
        if profile.elr:
            self._excluded(name, now)
        if profile.alter_partition:
            self._superset(name, now)
        if profile.kip_320:
            self._complete(name, now)
        self._leader_epochs[name] = event.leader_epoch

    def _joined(self, event: IsrChanged) -> None:
        """KRaft: who joins an ISR is registered, unfenced and does not stop (KIP-841)."""
        if self._plane is None or not self._world.profile.kraft:
            return
        for broker in event.isr:
            if broker not in event.previous_isr and not self._is_active(broker):
                detail = f"broker {broker} joined the ISR {_list(event.isr)}, and is fenced or shutting down"
                self._report(ELIGIBILITY, event.partition, broker, event.partition_epoch, event.at_us, detail)

    def _is_active(self, broker: int) -> bool:
        plane = self._plane
        return plane is not None and plane.is_live(broker) and not plane.is_shutting_down(broker)

    def _as_proposed(self, event: IsrChanged) -> None:
        """What a leader changes is what the leader of that very epoch proposed, not one of the past (KIP-497)."""
        name = event.partition
        replica = self._world.replicas[name].get(event.leader)
        before = self._leader_epochs.get(name, 0)
        if replica is None or replica.leadership is None or replica.leader_epoch != before:
            return
        pending = replica.leadership.pending or ()
        assignment = self._world.records[name].assignment
        if sorted(broker for broker in pending if broker in assignment) != sorted(event.isr):
            detail = (
                f"the ISR became {_list(event.isr)} on a leader's word, and leader {event.leader} of epoch {before} "
                f"had proposed {_list(pending) if pending else 'nothing'}"
            )
            self._report(FENCING, name, event.leader, event.partition_epoch, event.at_us, detail)

    def _superset(self, name: str, now: int) -> None:
        """A leader that knows its epoch counts everybody for the HW whom the controller has in the ISR (KIP-497)."""
        record, leader = self._world.records[name], self._world.true_leader(name)
        if leader is None or leader.leadership is None or leader.leader_epoch != record.leader_epoch:
            return
        maximal = leader.leadership.maximal_isr
        lacking = [broker for broker in record.isr if broker not in maximal]
        if lacking:
            detail = f"leader {record.leader} goes by the ISR {_list(maximal)}, and {_list(lacking)} are committed too"
            self._report(MAXIMAL_ISR, name, record.leader, record.partition_epoch, now, detail)

    def _complete(self, name: str, now: int) -> None:
        """What anybody who presumes to lead calls committed is on every member of ISR and ELR (StrongIsr, KIP-320)."""
        if self._history.unclean_election(name) or self._history.lossy_crash(name):
            return
        state, replicas = self._world.records[name].state, self._world.replicas[name]
        for leader in replicas.values():
            if leader.leadership is None or leader.topic_id != state.topic_id:
                continue
            for broker in (*state.isr, *state.elr):
                member = replicas.get(broker)
                if member is None or member is leader or member.topic_id != leader.topic_id:
                    continue  # A new partition's may not have been made yet.
                offset = _lacks(member, leader)
                if offset >= 0:
                    detail = (
                        f"broker {leader.broker} leads epoch {leader.leader_epoch} with HW {leader.hw}, and broker "
                        f"{broker} of ISR {_list(state.isr)} and ELR {_list(state.elr)} lacks its record at {offset}"
                    )
                    self._report(LEADER_COMPLETENESS, name, broker, offset, now, detail)

    # -- replicas that lost records -----------------------------------------------------------------------------------

    def _truncated(self, event: Truncated) -> None:
        if event.rule in LOSSY and self._world.profile.elr:
            self._suspects[event.partition, event.broker] = False
        self._ascending(event.partition, event.broker, event.at_us)

    def _excluded(self, name: str, now: int) -> None:
        """Who lost records in a crash may lead or count again once it has reached a later leader's HW (KIP-966)."""
        if not self._suspects:
            return
        state = self._world.records[name].state
        leader = self._world.true_leader(name)
        for broker in state.replicas:
            if not self._suspects.get((name, broker)):
                continue
            replica = self._world.replicas[name].get(broker)
            if leader is not None and leader.broker != broker and replica is not None and replica.log.leo >= leader.hw:
                del self._suspects[name, broker]
            elif broker in (*state.isr, *state.elr, state.leader):
                detail = (
                    f"broker {broker} lost records in a crash, and is back in leader {state.leader}, "
                    f"ISR {_list(state.isr)}, ELR {_list(state.elr)} before it reached a later leader's HW"
                )
                self._report(EXCLUSION, name, broker, state.partition_epoch, now, detail)

    # -- brokers and controllers --------------------------------------------------------------------------------------

    def _registered(self, event: BrokerRegistered) -> None:
        broker = event.broker
        if self._plane is not None:
            before, epoch = self._broker_epochs.get(broker, -1), self._plane.broker_epoch(broker)
            if epoch < before:
                detail = f"the epoch of broker {broker} went from {before} to {epoch}"
                self._report(EPOCHS, "", broker, epoch, event.at_us, detail)
            self._broker_epochs[broker] = epoch
        for name, suspect in [key for key in self._suspects if key[1] == broker]:
            self._suspects[name, suspect] = True
            self._excluded(name, event.at_us)

    def _fenced(self, event: BrokerFenced) -> None:
        """A fenced broker is in no ISR, but for the last member where KIP-966 is off."""
        profile, broker = self._world.profile, event.broker
        if not profile.kraft or self._plane is None:
            return
        for name, record in self._world.records.items():
            isr = record.isr
            if broker in isr and (profile.elr or len(isr) > 1):
                detail = f"broker {broker} is fenced, and stays in the ISR {_list(isr)}"
                self._report(ELIGIBILITY, name, broker, record.partition_epoch, event.at_us, detail)

    def _succeeded(self, event: ControllerChanged) -> None:
        """No two controllers have one epoch; who has one again has a greater one."""
        epoch, node = event.leader_epoch, event.node
        known = self._controllers.setdefault(epoch, node)
        if known != node:
            detail = f"{known} and {node} both are the controller of epoch {epoch}"
            self._report(EPOCHS, "", event.broker, epoch, event.at_us, detail)
        newer = [each for each, owner in self._controllers.items() if owner == node and each > epoch]
        if newer:
            detail = f"{node} is the controller of epoch {epoch}, and was that of epoch {newer[0]}"
            self._report(EPOCHS, "", event.broker, epoch, event.at_us, detail)

    def _obeying(self, now: int) -> None:
        """A broker that knows of a controller does nothing that an older one asks for."""
        if self._plane is None:
            return
        for broker in self._world.brokers:
            if self._world.is_up(broker):
                before, epoch = self._obeyed.get(broker, -1), self._plane.obeyed_epoch(broker)
                if epoch < before:
                    detail = f"broker {broker} obeyed a controller of epoch {epoch}, and had heard of epoch {before}"
                    self._report(FENCING, "", broker, epoch, now, detail)
                self._obeyed[broker] = epoch

    def _ascending(self, name: str, broker: int, now: int) -> None:
        """Batch epochs never fall along a log; the epoch cache rises in both fields, and ends within the log."""
        replica = self._world.replicas.get(name, {}).get(broker)
        if replica is None or not self._world.profile.epoch_truncation:
            return
        log = replica.log
        entries = log.epochs.entries
        written = [log.lineages.by_id[stint].epoch for _start, stint in log.extents]
        rising = all(one[0] < two[0] and one[1] < two[1] for one, two in pairwise(entries))
        if not rising or (entries and entries[-1][1] > log.leo):
            detail = f"the epoch cache of broker {broker} is {_list(entries)} with LEO {log.leo}"
            self._report(EPOCHS, name, broker, log.leo, now, detail)
        if written != sorted(written):
            detail = f"the log of broker {broker} has batches of epochs {_list(written)}"
            self._report(EPOCHS, name, broker, log.leo, now, detail)

    def save(self) -> tuple[Any, ...]:
        """All state."""
        tables = (self._controllers, self._broker_epochs, self._leader_epochs, self._obeyed, self._suspects)
        return tuple(tuple(table.items()) for table in tables)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        controllers, broker_epochs, leader_epochs, obeyed, suspects = saved
        self._controllers, self._broker_epochs = dict(controllers), dict(broker_epochs)
        self._leader_epochs, self._obeyed, self._suspects = dict(leader_epochs), dict(obeyed), dict(suspects)


def _lacks(member: Replica, leader: Replica) -> int:
    """First offset below the leader's HW that a member does not hold as the leader does, -1 for none."""
    if member.log.leo < leader.hw:
        return member.log.leo
    if member.log.extents == leader.log.extents:
        return -1
    return next((start for start, _end in differing(leader.log, member.log) if start < leader.hw), -1)


def _list(values: Iterable[Any]) -> str:
    return str(list(values))
