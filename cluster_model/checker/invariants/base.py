"""Base of all invariants: the description of a promise, what checks work with, and what excuses a loss.

A promise about acknowledged records ends with an unclean election. It ends too where the last in-sync replica loses
what it had; with eligible leader replicas (KIP-966), where as many replicas as min.insync.replicas have. A process that
dies loses nothing: the operating system has its pages. Excused are records up to the leader epoch in which it happened,
never later ones. A damaged batch is there until a start cuts it off, which is a loss like others; before that, only a
leader's copy keeps anybody from reading it, and only what is damaged.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar, Final, Protocol

from cluster_model.broker.partition.partition import Replica
from cluster_model.broker.partition.replication_rules import EPOCH_UNKNOWN
from cluster_model.checker.history.partition_history import early_joins
from cluster_model.controller.committed_state import CommittedPartition
from cluster_model.log.crash_recovery import LOSSY as LOSSY_CRASH_RECOVERY
from cluster_model.observation.cluster_state import World
from cluster_model.protocol.events import (
    BecameLeader,
    Event,
    HwAdvanced,
    InvariantViolated,
    IsrChanged,
    LeaderElected,
    PartitionOffline,
    TraceEvent,
    Truncated,
)
from cluster_model.protocol.versions import Profile, modes_of
from cluster_model.util.ranges import subtract

LISTENS = (BecameLeader, IsrChanged, LeaderElected, PartitionOffline, Truncated)
"""The rare events among what is heard here."""


class Excuses:
    """By partition: up to which leader epoch losses are excused, and which replicas have lost records."""

    __slots__ = ("_blind", "_covered", "_crashed", "_early", "_early_led", "_world", "_wounded")

    def __init__(self, world: World) -> None:
        self._world = world
        self._covered: dict[str, int] = {}
        self._crashed: dict[str, int] = {}
        """Partition → its leader epoch when a replica last lost what was on no disk."""
        self._wounded: dict[tuple[str, int], int] = {}
        """Replicas that lack what they had, with the epoch of their broker's registration as they lost it."""
        self._early: dict[tuple[str, int], tuple[int, int]] = {}
        """Members that joined without all that their leader had, with its epoch and where its log began that."""
        self._early_led: dict[str, int] = {}
        """Partition → the newest epoch in which such a member joined that was elected without it."""
        self._blind: dict[str, int] = {}
        """Partition → the newest epoch whose leader did not know it when it was asked, so that a log was cut."""

    def covers(self, partition: str, epoch: int) -> bool:
        """Whether the loss of records of a leader epoch is excused."""
        return epoch <= self._covered.get(partition, -1)

    def damaged(self, partition: str, start: int, end: int) -> bool:
        """Whether all of ``[start, end)`` is damaged on the leader's disk."""
        leader = self._world.true_leader(partition)
        return leader is not None and not subtract([(start, end)], [each[:2] for each in leader.damages])

    def lossy(self, partition: str, epoch: int) -> bool:
        """Whether a lossy crash may explain what is found of records of a leader epoch.

        They are no newer than the last one, or somebody still lacks what it lost.
        """
        if partition not in self._crashed:
            return False
        return epoch <= self._crashed[partition] or self.any_wounded_of(partition)

    def joined_early(self, partition: str, epoch: int) -> bool:
        """Whether records of a leader epoch may be lacking because a replica joined the ISR too early."""
        return epoch < self._early_led.get(partition, -1) or any(
            name == partition and epoch < joined and self._lacks(name, broker, start)
            for (name, broker), (joined, start) in self._early.items()
        )

    def cut_blindly(self, partition: str, epoch: int) -> bool:
        """Whether records of a leader epoch may be lacking because a later leader did not know its own epoch."""
        return epoch < self._blind.get(partition, -1)

    def _lacks(self, partition: str, broker: int, epoch_start: int) -> bool:
        replica = self._world.replicas.get(partition, {}).get(broker)
        return replica is not None and replica.log.leo < epoch_start

    def any_wounded_of(self, partition: str) -> bool:
        """Whether a replica of a partition is wounded."""
        return any(name == partition for name, _broker in self._wounded)

    def ever_lossy(self, partition: str) -> bool:
        """Whether any replica ever lost what was on no disk."""
        return partition in self._crashed

    def covered(self, partition: str) -> int:
        """Up to which leader epoch the loss of its records is excused, -1 for none."""
        return self._covered.get(partition, -1)

    def is_wounded(self, partition: str, broker: int) -> bool:
        """Whether a replica lost records, and has not yet reached the HW of a later leader."""
        return (partition, broker) in self._wounded

    def is_back(self, partition: str, broker: int) -> bool:
        """Whether the cluster knows that a wounded replica's process began again.

        It has registered since: a late heartbeat, or the word of a leader that it fetched from, is of the dead one.
        """
        registration = self._wounded.get((partition, broker))
        return registration is not None and self._world.registration(broker) > registration

    @property
    def any_wounded(self) -> bool:
        """Whether there is such a replica."""
        return bool(self._wounded)

    def before(self, event: TraceEvent) -> None:
        """An event that the properties are about to look at."""
        if isinstance(event, Truncated):
            if event.rule in LOSSY_CRASH_RECOVERY:
                self._wound(event.partition, event.broker)
            elif event.rule == EPOCH_UNKNOWN:
                self._cut_blindly(event)
        elif isinstance(event, LeaderElected):
            if not event.clean:
                self._cover(event.partition, event.leader_epoch - 1)
            self._left_alone(event.partition, event.isr, event.leader_epoch - 1)
            joined, start = self._early.get((event.partition, event.leader), (-1, -1))
            if self._lacks(event.partition, event.leader, start):
                self._early_led[event.partition] = joined
        elif isinstance(event, IsrChanged | PartitionOffline):
            self._left_alone(event.partition, event.isr, event.leader_epoch)
            if isinstance(event, IsrChanged):
                for broker, _end, start in early_joins(self._world, event):
                    self._early[event.partition, broker] = (event.leader_epoch, start)

    def after(self, event: TraceEvent) -> None:
        """They have looked: who leads now has the log that counts, and who has reached its HW is whole again."""
        if self._wounded and isinstance(event, LeaderElected | IsrChanged | HwAdvanced | BecameLeader):
            self._heal(event.partition)

    def _cut_blindly(self, event: Truncated) -> None:
        leader = self._world.true_leader(event.partition)
        if leader is not None and leader.leader_epoch == event.leader_epoch:
            self._blind[event.partition] = event.leader_epoch

    def _wound(self, partition: str, broker: int) -> None:
        record = self._world.records.get(partition)
        if record is None:
            return
        self._crashed[partition] = record.leader_epoch
        self._wounded[partition, broker] = self._world.registration(broker)
        if self._world.profile.elr:
            lost = sum(name == partition for name, _broker in self._wounded)
            if lost >= self._world.effective_min_isr(partition):
                self._cover(partition, record.leader_epoch)
        else:
            self._left_alone(partition, record.isr, record.leader_epoch)

    def _left_alone(self, partition: str, isr: tuple[int, ...], epoch: int) -> None:
        """All that may lead have lost records as members, the last one too; who was back before that is no excuse."""
        if not self._wounded or not isr:
            return
        record = self._world.records.get(partition)
        eligible = () if record is None else record.state.elr
        if all(self._is_out(partition, broker) for broker in (*isr, *eligible)):
            self._cover(partition, epoch)

    def _is_out(self, partition: str, broker: int) -> bool:
        return self.is_wounded(partition, broker) and not self.is_back(partition, broker)

    def _cover(self, partition: str, epoch: int) -> None:
        if epoch > self._covered.get(partition, -1):
            self._covered[partition] = epoch

    def _heal(self, partition: str) -> None:
        leader = self._world.true_leader(partition)
        if leader is None:
            return
        for broker, replica in self._world.replicas[partition].items():
            if not self.is_back(partition, broker):
                continue
            leadership = leader.leadership
            start = leader.log.leo if leadership is None else leadership.epoch_start
            if replica is leader or (replica.log.leo >= max(leader.hw, start) and not replica.damages):
                del self._wounded[partition, broker]

    def forget(self, partition: str) -> None:
        """A partition is deleted."""
        self._covered.pop(partition, None)
        self._crashed.pop(partition, None)
        self._wounded = {key: epoch for key, epoch in self._wounded.items() if key[0] != partition}
        self._early = {key: join for key, join in self._early.items() if key[0] != partition}
        self._early_led.pop(partition, None)
        self._blind.pop(partition, None)

    def save(self) -> tuple[Any, ...]:
        """All state."""
        tables = (self._covered, self._crashed, self._wounded, self._early, self._early_led, self._blind)
        return tuple(tuple(table.items()) for table in tables)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self._covered, self._crashed, self._wounded, self._early, self._early_led, self._blind = map(dict, saved)


# The description of a property: what it promises, which releases do, and since when.


LOSSY: Final = "lossy"
"""Circumstance: a replica of the partition had lost records that were not on its disk."""
EMPTY: Final = "empty"
"""Circumstance: the ISR is empty."""
ALONG_THE_LOG: Final = "log"
"""Circumstance: it is about the epochs along one log."""
HIGH_WATERMARK: Final = "hw"
"""Circumstance: it is about the HW moving."""
LEAVING: Final = "leaving"
"""Circumstance: it is about a replica that a reassignment takes away."""
EARLY_JOIN: Final = "early"
"""Circumstance: a replica had joined the ISR before it had what its leader had as its epoch began: it alone counts."""
LEADER_LACKS_EPOCH: Final = "unknown epoch"
"""Circumstance: a follower cut its log to its HW, as its leader did not know its own epoch: it alone counts."""
KRAFT: Final = "kraft"
"""In the place of a flag: whether a quorum, not ZooKeeper, is the controller."""

_SOLE: Final = (EARLY_JOIN, LEADER_LACKS_EPOCH)
CIRCUMSTANCES: Final = {
    LOSSY: "after a lossy crash",
    EMPTY: "with unclean elections",
    ALONG_THE_LOG: "for the epochs along a log",
    HIGH_WATERMARK: "for the HW",
    LEAVING: "for replicas that a reassignment takes away",
    EARLY_JOIN: "for replicas that join the ISR",
    LEADER_LACKS_EPOCH: "for followers of a leader that has written nothing yet",
}
"""As the manual names them."""


@dataclass(frozen=True, slots=True)
class Mend:
    """What made a property hold, or hold in more circumstances: a rule of the protocol and the version it came with."""

    flag: str
    """The profile's attribute that says whether a version follows the rule."""
    by: str
    """A KIP, or an issue of Kafka's."""
    version: str
    when: str = ""
    """The circumstance in which it takes this rule; empty for every one."""
    released: str = ""
    """The releases and branches that have it, where no release of that version's line has it; empty elsewhere."""

    @property
    def releases(self) -> str:
        """The releases that have it, as a text: ``2.1``."""
        return self.released or self.version

    def holds(self, profile: Profile) -> bool:
        """Whether the version follows the rule."""
        return bool(getattr(profile, self.flag))


@dataclass(frozen=True, slots=True)
class InvariantDefinition:
    """One property, as one may read about it."""

    name: str
    title: str
    text: str
    """The exact promise, one sentence."""
    source: str
    mends: tuple[Mend, ...] = ()
    """In the order of their versions; none for what every version promises."""
    exceptions: str = ""
    """What makes a violation none; empty for nothing."""

    def lacking(self, profile: Profile, when: tuple[str, ...] = ()) -> tuple[Mend, ...]:
        """The rules that the version lacks: those that it always takes, and the first that these circumstances take.

        Where a replica had joined too early, or a leader did not know its epoch, that is the rule, and nothing else.
        """
        sole = tuple(mend for mend in self.mends if mend.when in _SOLE and not mend.holds(profile))
        named = tuple(mend for mend in sole if mend.when in when)[:1]
        if named:
            return named
        always = tuple(mend for mend in self.mends if not mend.when and not mend.holds(profile))
        special = (mend for mend in self.mends if mend.when in when and not mend.holds(profile))
        return always + tuple(islice(special, 1))

    def promised_by(self, profile: Profile, when: tuple[str, ...] = ()) -> bool:
        """Whether the version promises it, in these circumstances."""
        return not self.lacking(profile, when)

    def known(self, profile: Profile, when: tuple[str, ...] = ()) -> str:
        """Why a violation is no surprise: ``known for 0.10.2: KIP-101 fixed it in 0.11``; empty if it is one."""
        lacking = self.lacking(profile, when)
        if not lacking:
            return ""
        *more, last = [f"{mend.by} in {mend.releases}" for mend in lacking]
        version = profile.version if len(modes_of(profile.version)) == 1 else profile.name
        if not more:
            return f"known for {version}: {lacking[0].by} fixed it in {lacking[0].releases}"
        return f"known for {version}: {', '.join(more)} and {last} fixed it"


LEAVING_MEND: Final = Mend(KRAFT, "KIP-500 (KRaft mode)", "3.3", LEAVING)
"""A controller over ZooKeeper writes assignment and ISR to two nodes, one after the other, and tells the leader of the
new assignment before the ISR is written (``KafkaController.updateCurrentReassignment``,
``moveReassignedPartitionLeaderIfRequired``); a quorum changes both by one record."""
AFTER_1_1_1: Final = "2.0.1 and on branch 1.1 after 1.1.1"
"""Releases of KAFKA-7128 and KAFKA-7415: 1.1.0, 1.1.1 and 2.0.0 lack both, the last states of lines 1.1 and 2.0 have
them."""
EARLY_MEND: Final = Mend("isr_epoch_start", "KAFKA-7128", "1.1", EARLY_JOIN, AFTER_1_1_1)
"""A leader whose HW lagged let followers join that had reached no more than that (``Partition.isFollowerInSync``)."""
UNKNOWN_MEND: Final = Mend("epoch_on_elect", "KAFKA-7415", "1.1", LEADER_LACKS_EPOCH, AFTER_1_1_1)
"""A leader entered its epoch into its cache with the first record only, and had no answer about it until then."""
LOSSY_MENDS: Final = (
    Mend("bounce_detected", "KIP-380", "2.2", LOSSY),
    Mend(KRAFT, "KIP-500 (KRaft mode)", "3.3", LOSSY),
    Mend("fetch_broker_epoch", "KIP-903", "3.5", LOSSY),
)
"""What came to see that a replica is back without what it had: a bounce that the controller notices, a registration
that the same controller remembers, and an ISR that only the very process joins which fetched."""


# What every property works with: the cluster state, registered brokers, excuses for losses, and violations.


BY_HAND: Final = "known for steps by hand: a replica may lead that lost its log, as no controller would have it"


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


class InvariantContext:
    """Shared by all properties of one cluster; counts what was found broken."""

    __slots__ = ("_emit", "_reported", "excuses", "plane", "unexpected", "violations", "world")

    def __init__(self, world: World, emit: Callable[[Event], None], plane: Registrations | None) -> None:
        """``plane`` is None where a person decides, step by step."""
        self.world = world
        self.plane = plane
        self.excuses = Excuses(world)
        self._emit = emit
        self._reported: dict[tuple[str, str, str, int, int], None] = {}
        self.violations: dict[str, int] = {}
        """Property → how many violations."""
        self.unexpected: dict[str, int] = {}
        """Those of them that this version is not known for."""

    def circumstances(self, partition: str, epoch: int) -> tuple[str, ...]:
        """Of records of a leader epoch: what may have hit them: a loss of what was on no disk, an early join, ..."""
        found = (
            (LOSSY, self.excuses.lossy(partition, epoch)),
            (EARLY_JOIN, self.excuses.joined_early(partition, epoch)),
            (LEADER_LACKS_EPOCH, self.excuses.cut_blindly(partition, epoch)),
        )
        return tuple(name for name, holds in found if holds)

    def report(
        self,
        promise: InvariantDefinition,
        at_us: int,
        partition: str,
        broker: int,
        detail: str,
        *,
        fault: str = "",
        offsets: tuple[int, int] = (-1, -1),
        epoch: int = -1,
        when: tuple[str, ...] = (),
        cause: str = "",
    ) -> None:
        """A violation, told when the fault is first seen and never again.

        It is the same one as long as property, ``fault``, partition, broker and leader epoch are the same: what it does
        to one record after another is no other fault. ``fault`` tells apart what else can be wrong in one property.

        A person who decides by hand may have a replica lead that lost its log, as no controller would that sees it
        come back: what only that explains is known, and says so.
        """
        known = promise.known(self.world.profile, when)
        if self.plane is None and LOSSY in when and not known:
            known = BY_HAND
        key = (promise.name, fault, partition, broker, epoch)
        if key in self._reported:
            return
        self._reported[key] = None
        self.violations[promise.name] = self.violations.get(promise.name, 0) + 1
        if not known:
            self.unexpected[promise.name] = self.unexpected.get(promise.name, 0) + 1
        self._emit(InvariantViolated(at_us, promise.name, partition, broker, detail, cause, *offsets, epoch, known))

    def save(self) -> tuple[Any, ...]:
        """All state."""
        tables = (self.violations, self.unexpected)
        return (tuple(self._reported), *(tuple(table.items()) for table in tables), self.excuses.save())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        reported, violations, unexpected, excuses = saved
        self._reported = dict.fromkeys(reported)
        self.violations, self.unexpected = dict(violations), dict(unexpected)
        self.excuses.load(excuses)


Heard = dict[type[TraceEvent], Callable[[Any], None]]
"""Kinds of rare events and what hears them."""
HwHeard = Callable[[HwAdvanced, Replica, CommittedPartition], None]
"""Hears that a leader's HW rose, with its replica and what is committed of the partition."""


class Invariant:
    """A property of the protocol, checked as events come. State is integers and tuples, saved for rewinds."""

    __slots__ = ("ground", "world")
    promise: ClassVar[InvariantDefinition]

    def __init__(self, ground: InvariantContext) -> None:
        self.ground = ground
        self.world = ground.world

    def hears(self) -> Heard:
        """What it listens to, of the rare events."""
        return {}

    def parted(self, partition: str, now: int) -> None:
        """A HW rose, and the in-sync replicas do not all hold the same below it."""

    def forget(self, partition: str) -> None:
        """A partition is deleted; one that is created again begins with other epochs and another log."""

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return ()

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""


def listed(values: Iterable[Any]) -> str:
    """As lists are written."""
    return str(list(values))
