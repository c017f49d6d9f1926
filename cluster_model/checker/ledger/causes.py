"""Why acknowledged records are gone, in one plain sentence: who vouched for them, and what dropped them."""

from collections.abc import Sequence
from dataclasses import dataclass

from cluster_model.checker.history.partition_history import History
from cluster_model.log.batch_store import Lineage
from cluster_model.log.crash_recovery import DISK_LOSS, POWER_LOSS
from cluster_model.protocol.damage import CORRUPT_BATCH
from cluster_model.protocol.events import (
    Appended,
    BatchDamaged,
    BecameLeader,
    LeaderElected,
    RecordsAcked,
    TraceEvent,
    Truncated,
)
from cluster_model.util.ranges import Range


@dataclass(frozen=True, slots=True)
class Run:
    """Consecutive records of one client and acks level in one stint that the leader's log does not hold."""

    stint: int
    start: int
    end: int
    client: str
    sequence: int
    acks: int
    committed: bool


def runs_of(lineage: Lineage, start: int, end: int, committed: Sequence[Range]) -> list[Run]:
    """Cut ``[start, end)`` of a stint where client, acks or committed changes; ``committed`` ascends."""
    found: list[Run] = []
    at = first = start
    client, sequence, acks, readable = "", 0, 0, False  # of the run at hand, from ``first`` on
    while at < end:
        batch = lineage.batch_at(at)
        stop, open_here = min(end, batch.end), False
        for low, high in committed:
            if at < high:
                open_here = low <= at
                stop = min(stop, high if open_here else max(low, at + 1))
                break
        number = batch.sequence + at - batch.base
        if at == start:
            client, sequence, acks, readable = batch.client, number, batch.acks, open_here
        elif (client, acks, readable, sequence + at - first) != (batch.client, batch.acks, open_here, number):
            found.append(Run(lineage.id, first, at, client, sequence, acks, readable))
            first, client, sequence, acks, readable = at, batch.client, number, batch.acks, open_here
        at = stop
    if first < at:
        found.append(Run(lineage.id, first, at, client, sequence, acks, readable))
    return found


@dataclass(frozen=True, slots=True)
class Trigger:
    """What made records go missing, and its place in the :class:`History`."""

    event: TraceEvent
    moment: int


def sentence(
    history: History, partition: str, lineage: Lineage, run: Run, vouched_isr: tuple[int, ...], trigger: Trigger
) -> str:
    """The cause of a run going missing: the point of no return as far as the leader's log goes.

    ``vouched_isr`` is the ISR when the records were acknowledged.
    """
    vouched = _vouched(partition, lineage, run, vouched_isr)
    return f"{vouched}; {_dropped(history, partition, run, trigger)}"


def _vouched(partition: str, lineage: Lineage, run: Run, isr: tuple[int, ...]) -> str:
    batch = lineage.batch_at(run.start)
    count = run.end - run.start
    where = f"offset {run.start}" if count == 1 else f"offsets {run.start} to {run.end - 1}"
    what = "1 record" if count == 1 else f"{count} records"
    who = f" of {batch.client}" if batch.client else ""
    names = f" ({batch.name[run.start - batch.base]})" if batch.name and count == 1 else ""
    return (
        f"{what}{who} at {where} of {partition}{names} had been acknowledged by broker {lineage.broker} in epoch "
        f"{lineage.epoch} with acks={'all' if run.acks < 0 else run.acks} and ISR {sorted(isr)}"
    )


def _dropped(history: History, partition: str, run: Run, trigger: Trigger) -> str:
    event = trigger.event
    if isinstance(event, RecordsAcked | Appended):
        election = history.last_election(partition, trigger.moment)
        if election is None:
            return "by then its log no longer held what it vouched for"
        return (
            f"it did so although broker {election.leader} had been elected in epoch {election.leader_epoch} "
            f"({election.by}), which nobody had told it yet"
        )
    if isinstance(event, LeaderElected):
        kind = "a clean" if event.clean else "an unclean"
        how = f"became leader in epoch {event.leader_epoch} by {kind} election ({event.by})"
        return _led(history, partition, run, trigger, event.leader, f"{how} with ISR {sorted(event.isr)}")
    if isinstance(event, BecameLeader):
        how = f"took its leadership up again in epoch {event.leader_epoch}"
        return _led(history, partition, run, trigger, event.broker, how)
    if isinstance(event, BatchDamaged):
        return f"broker {event.broker}, which leads, has them in a batch that was damaged on its disk"
    if isinstance(event, Truncated):
        return f"broker {event.broker} {cut_words(event)}, and no other log had them"
    return "the leader's log does not hold what was vouched for"


def _led(history: History, partition: str, run: Run, trigger: Trigger, broker: int, how: str) -> str:
    cut = history.last_cut(partition, broker, run.stint, (run.start, run.end), trigger.moment)
    if cut is not None:
        return f"broker {broker} {cut_words(cut)}, and then {how}"
    if history.damaged(partition, broker, (run.start, run.end), trigger.moment):
        return f"broker {broker}, whose copy had been damaged on its disk, {how}"
    what = "it" if run.end - run.start == 1 else "them"
    return f"broker {broker}, which had not replicated {what}, {how}"


def cut_words(event: Truncated) -> str:
    """``cut its log back to offset 40 (diverging epoch in fetch)``."""
    if event.rule == POWER_LOSS:
        return f"lost its log from offset {event.log_offset} on in a power loss, not yet on disk"
    if event.rule == CORRUPT_BATCH:
        return f"cut its log at offset {event.log_offset}, where its start found a damaged batch"
    if event.rule == DISK_LOSS:
        return "lost its log with its disk"
    if event.rule.startswith("high watermark"):
        return f"cut its log back to its high watermark {event.log_offset}, which was out of date"
    return f"cut its log back to offset {event.log_offset} ({event.rule})"
