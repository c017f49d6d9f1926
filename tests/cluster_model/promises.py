"""What replication promises, each looked at after every act, by the names that the checker has or would give them.

They are written for three replicas that hand each other messages, and do not use the checker of the product: what it
finds too late, or not at all, is found here.
"""

from itertools import pairwise
from typing import TYPE_CHECKING

from cluster_model.broker.partition.partition import Replica
from cluster_model.log.replica_log import ReplicaLog
from cluster_model.protocol.events import Appended, Event, HwAdvanced, IsrChanged, LeaderElected, PartitionOffline
from cluster_model.protocol.records import Slice

if TYPE_CHECKING:
    from tests.cluster_model.broker.partition.replica_driver import Protocol

LOG_MATCHING = "log-matching"
COMPLETE = "leader-completeness"
DURABLE = "acks-all-durability"
BOUNDS = "log-bounds"
ONE_LEADER = "single-leader-per-epoch"
LEADER_IN_ISR = "leader-in-isr"
EPOCHS = "epoch-monotonicity"
HW_MONOTONE = "hw-within-leadership"
STABLE_READS = "stable-reads"
MAXIMAL_ISR = "maximal-isr-superset"
ELIGIBLE = "isr-eligibility"
FENCING = "zombie-fencing"
MIN_ISR = "min-isr"
EXPOSED = "exposed-hw"


class BrokenPromiseError(AssertionError):
    """A promise was broken: which one, and how."""

    def __init__(self, name: str, detail: str) -> None:
        super().__init__(f"{name}: {detail}")
        self.name = name


Place = tuple[int, int, int]
"""(log branch, start, end) of records."""


class Promises:
    """What has been promised so far, and whether it is kept.

    Without eligible leader replicas a crash that loses data is allowed to cost committed records in one case: the one
    whose log lost its tail was, or was left as, the last member of the ISR. From then on nothing that speaks of
    committed records is looked at.
    """

    def __init__(self, protocol: "Protocol") -> None:
        self._protocol = protocol
        self.acked: list[Place] = []
        self._read: dict[int, int] = {}
        self._appenders: dict[int, int] = {}
        self._hws: dict[tuple[int, int], int] = {}
        self._decided = (0, 0)
        self._exposed = 0
        self._lossy: set[int] = set()
        self._ever_lossy: set[int] = set()
        self.lossy_crashes = 0
        self.excused = False

    @staticmethod
    def _hold(holds: bool, name: str, detail: str) -> None:
        if not holds:
            raise BrokenPromiseError(name, detail)

    # -- what happens ------------------------------------------------------------------------------------------------

    def heard(self, event: Event) -> None:
        """An event of the model, in the state that it left behind."""
        if isinstance(event, Appended):
            first = self._appenders.setdefault(event.leader_epoch, event.broker)
            self._hold(first == event.broker, ONE_LEADER, f"{first} and {event.broker} wrote in {event.leader_epoch}")
        elif isinstance(event, HwAdvanced):
            replica = self._protocol.replicas[event.broker]
            leadership = replica.leadership
            enough = leadership is not None and len(leadership.isr) >= replica.min_isr
            frozen = self._protocol.profile.number >= (3, 7, 0)
            self._hold(enough or not frozen, MIN_ISR, f"{event.broker} moved its HW to {event.hw} below min ISR")
        elif isinstance(event, LeaderElected | IsrChanged | PartitionOffline):
            now = (event.leader_epoch, event.partition_epoch)
            fell = now[0] < self._decided[0] or now[1] < self._decided[1]
            self._hold(not fell, EPOCHS, f"the controller went from {self._decided} to {now}")
            self._decided = now

    def acknowledged(self, replica: Replica, records: Place) -> None:
        """A producer with acks=all was told that its records are written."""
        leadership = replica.leadership
        enough = leadership is not None and len(leadership.maximal_isr) >= replica.min_isr
        self._hold(enough, MIN_ISR, f"{replica.broker} acknowledged {records} below min ISR")
        self.acked.append(records)

    def read(self, replica: Replica, records: Slice) -> None:
        """A consumer got records."""
        if self.excused:
            return
        for offset in range(records.start, records.end):
            log_branch = replica.log.branch_at(offset).id
            before = self._read.setdefault(offset, log_branch)
            self._hold(
                before == log_branch,
                STABLE_READS,
                f"{offset} was read as of log branch {before}, and as of {log_branch}",
            )

    def lossy_crash(self, broker: int) -> None:
        """A broker lost data; until it registers anew the controller may not even know that it was gone."""
        self._lossy.add(broker)
        self._ever_lossy.add(broker)
        self.lossy_crashes += 1
        self._excuse()

    def registered(self, broker: int) -> None:
        """A new process of a broker is known to the controller, and its old one is forgotten."""
        if broker not in self._protocol.record.isr:
            self._lossy.discard(broker)

    def fenced(self, broken: bool, detail: str) -> None:
        """Something old was handled; ``broken`` when it changed what it must not."""
        self._hold(not broken, FENCING, detail)

    def _excuse(self) -> None:
        self.excused = self.excused or set(self._protocol.record.isr) <= self._lossy

    # -- what must hold ----------------------------------------------------------------------------------------------

    def check(self) -> None:
        """Look at everything."""
        self._excuse()
        replicas = self._protocol.replicas
        for replica in replicas.values():
            self._bounds(replica)
            self._hw(replica)
        for one, other in ((1, 2), (1, 3), (2, 3)):
            self._matching(replicas[one].log, replicas[other].log, f"{one} and {other}")
        self._controller()
        if not self.excused:
            self._committed()

    def _bounds(self, replica: Replica) -> None:
        log = replica.log
        text = f"{replica.broker}: start {log.log_start}, HW {replica.hw}, LEO {log.leo}, epochs {log.epochs.entries}"
        self._hold(log.log_start <= replica.hw <= log.leo and log.recovery_point <= log.leo, BOUNDS, text)
        bases = [segment.base for segment in log.segments.all]
        self._hold(bases == sorted(set(bases)) and bases[-1] <= log.leo, BOUNDS, f"{text}, segments {bases}")
        entries = log.epochs.entries
        rising = all(a[0] < b[0] and a[1] < b[1] for a, b in pairwise(entries))
        self._hold(rising and (not entries or entries[-1][1] <= log.leo), EPOCHS, text)
        written = [log.epoch_branches.by_id[log_branch].epoch for _start, log_branch in log.extents]
        self._hold(written == sorted(written), EPOCHS, f"{replica.broker} holds batches of epochs {written}")

    def _hw(self, replica: Replica) -> None:
        if replica.leadership is None:
            return
        stand = (replica.broker, replica.leader_epoch)
        before = self._hws.get(stand, 0)
        self._hold(replica.hw >= before, HW_MONOTONE, f"{stand} lowered its HW from {before} to {replica.hw}")
        self._hws[stand] = replica.hw

    def _matching(self, one: ReplicaLog, other: ReplicaLog, who: str) -> None:
        """The same epoch at an offset: the same records there and below."""
        same = False
        for offset in range(min(one.leo, other.leo) - 1, max(one.log_start, other.log_start) - 1, -1):
            left, right = one.branch_at(offset), other.branch_at(offset)
            same = same or left.epoch == right.epoch
            self._hold(not same or left is right, LOG_MATCHING, f"{who} differ at {offset}, and agree in epoch above")

    def _controller(self) -> None:
        protocol = self._protocol
        record = protocol.record
        text = f"leader {record.leader}, ISR {record.isr}, live {protocol.live}"
        self._hold(len(record.isr) > 0 and set(record.isr) <= set(record.assignment), LEADER_IN_ISR, text)
        self._hold(record.leader < 0 or record.leader in record.isr, LEADER_IN_ISR, text)
        eligible = all(broker in protocol.live for broker in record.isr) or len(record.isr) == 1
        self._hold(eligible or not protocol.profile.eligible_isr, ELIGIBLE, text)
        if record.leader < 0 or not protocol.profile.alter_partition:
            return
        leader = protocol.replicas[record.leader]
        if leader.leadership is not None and leader.leader_epoch == record.leader_epoch:
            counted = leader.leadership.maximal_isr
            self._hold(set(record.isr) <= set(counted), MAXIMAL_ISR, f"{text}, and it goes by {counted}")

    def _committed(self) -> None:
        protocol = self._protocol
        record = protocol.record
        for replica in protocol.replicas.values():
            if replica.leadership is not None:
                # Who leads may not have heard yet that a member of its ISR came back with less than it had.
                unheard = tuple(member for member in replica.leadership.isr if member not in self._ever_lossy)
                for word, members in (("true", record.isr), ("its own", unheard)):
                    self._complete(replica, word, members)
        if record.leader < 0 or record.leader in self._lossy:
            return
        leader = protocol.replicas[record.leader]
        for log_branch, start, end in self.acked:
            text = (
                f"leader {leader.broker} of epoch {record.leader_epoch} lacks {start} of branch {log_branch}, acks=all"
            )
            self._hold(leader.log.holds(log_branch, start, end), DURABLE, text)
        for offset, log_branch in self._read.items():
            held = offset < leader.log.log_start or leader.log.holds(log_branch, offset, offset + 1)
            self._hold(
                held, STABLE_READS, f"leader {leader.broker} lacks {offset} of log branch {log_branch}, which was read"
            )
        leadership = leader.leadership
        if leadership is not None and leader.leader_epoch == record.leader_epoch:
            if leader.hw >= leadership.epoch_start:
                text = f"leader {leader.broker} stands at HW {leader.hw}, and {self._exposed} was reached before"
                self._hold(leader.hw >= self._exposed, EXPOSED, text)
            self._exposed = max(self._exposed, leader.hw)

    def _complete(self, leader: Replica, word: str, members: tuple[int, ...]) -> None:
        """Everything below the HW of whoever leads, or believes to, is on every member of the ISR."""
        for broker in members:
            if broker in self._lossy or leader.broker in self._lossy:
                continue
            log = self._protocol.replicas[broker].log
            for offset in range(max(log.log_start, leader.log.log_start), leader.hw):
                held = offset < log.leo and log.branch_at(offset) is leader.log.branch_at(offset)
                text = f"{leader.broker} has HW {leader.hw}, and {broker} of {word} ISR lacks its {offset}"
                self._hold(held, COMPLETE, text)
