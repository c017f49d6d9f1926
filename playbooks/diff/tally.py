"""What the events of a session come to, summed up as they are read: for what no result tells, and for torn sessions."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Final

from playbooks.diff.sides import Head
from playbooks.results.availability import Availability

_OUTCOMES: Final = {f"records_{outcome}": outcome for outcome in ("sent", "acked", "failed", "unknown", "aborted")}


@dataclass(slots=True)
class PartitionTally:
    """A partition as the controller's decisions and its leaders' words left it."""

    leader: int = -1
    epoch: int = -1
    isr: tuple[int, ...] = ()
    hw: int = -1
    elections: int = 0
    unclean: int = 0


@dataclass(slots=True)
class Tally:
    """Sums over the events before ``cut_us``; -1 for all."""

    cut_us: int = -1
    last_us: int = 0
    end_us: int = 0
    """Where what is compared ends."""
    events: int = 0
    ledger: Counter[str] = field(default_factory=Counter)
    partitions: dict[str, PartitionTally] = field(default_factory=dict)
    losses: Counter[str] = field(default_factory=Counter)
    """Cause of a loss → records."""
    checked: dict[str, tuple[bool, str]] = field(default_factory=dict)
    """Expectation → whether it held, and how."""
    availability: Availability = field(default_factory=Availability)

    def take(self, event: Head) -> None:
        """The next event."""
        if 0 <= self.cut_us <= event.at_us:
            return
        self.events += 1
        self.last_us = event.at_us
        self.availability.enter((event,))
        outcome = _OUTCOMES.get(event.kind)
        if outcome is not None:
            self.ledger[outcome] += event.count
            return
        act = _ACTS.get(event.kind)
        if act is not None:
            act(self, event)

    def of(self, partition: str) -> PartitionTally:
        """What is known of a partition."""
        return self.partitions.setdefault(partition, PartitionTally())

    def close(self, end_us: int) -> None:
        """The session, or what of it is compared, ends here."""
        self.end_us = end_us

    def elected(self, event: Head) -> None:
        """The controller decided on a leader."""
        found = self.of(event.partition)
        found.elections += 1
        found.unclean += not event.clean
        found.leader, found.epoch, found.isr = event.leader, event.leader_epoch, event.isr

    def offline(self, event: Head) -> None:
        """The controller found nobody."""
        found = self.of(event.partition)
        found.leader, found.epoch, found.isr = -1, event.leader_epoch, event.isr

    def changed(self, event: Head) -> None:
        """The ISR is another one."""
        self.of(event.partition).isr = event.isr

    def leads(self, event: Head) -> None:
        """A broker began to lead."""
        found = self.of(event.partition)
        if event.leader_epoch >= found.epoch:
            found.leader, found.epoch = event.broker, event.leader_epoch
        found.hw = max(found.hw, event.hw)

    def deleted(self, event: Head) -> None:
        """A partition is gone: nobody misses its leader."""
        self.partitions.pop(event.partition, None)

    def advanced(self, event: Head) -> None:
        """A leader's high watermark moved."""
        found = self.of(event.partition)
        if event.broker == found.leader:
            found.hw = event.hw

    def lost(self, event: Head) -> None:
        """Acknowledged records are gone."""
        self.ledger["acked_lost"] += event.count
        self.ledger["committed_lost"] += event.count * event.committed
        self.losses[event.cause] += event.count

    def judged(self, event: Head) -> None:
        """An expectation turned."""
        self.checked[event.rule] = (event.ok, event.detail)


_ACTS: Final[dict[str, Any]] = {
    "leader_elected": Tally.elected,
    "partition_offline": Tally.offline,
    "isr_changed": Tally.changed,
    "became_leader": Tally.leads,
    "partition_deleted": Tally.deleted,
    "hw_advanced": Tally.advanced,
    "records_lost": Tally.lost,
    "expectation_checked": Tally.judged,
}
