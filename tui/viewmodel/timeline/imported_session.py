"""State of an imported session at each of its events, from the recorded files alone: nothing can be run again.

Leaders, epochs, ISRs and fenced brokers are those at the time; log ends and the logs themselves are as they were
copied, since Kafka's logs do not say when a replica held which offset.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

from cluster_model.observation import (
    BrokerView,
    ClusterView,
    EpochRun,
    LedgerView,
    LogView,
    PartitionView,
    ReplicaLogView,
    ReplicaView,
)
from cluster_model.protocol.events import DATA_KINDS, FIELDS, KINDS, Event
from cluster_model.util.quantities import clock, counted, offsets
from cluster_model.util.ranges import subtract
from playbooks.recording.event_codec import decode
from playbooks.recording.reader import RecordedSession
from playbooks.session_format import session_files
from tui.terminal import glyphs
from tui.terminal.format import wrap
from tui.viewmodel.row import Row
from tui.viewmodel.timeline.event_feed import notable
from tui.viewmodel.timeline.event_text import FeedEntry, describe_event


@dataclass(slots=True)
class _PartitionState:
    """Leader and ISR of a partition at one time."""

    leader: int = -1
    leader_epoch: int = -1
    partition_epoch: int = -1
    isr: tuple[int, ...] = ()
    elr: tuple[int, ...] = ()
    recovering: bool = False
    exists: bool = False


@dataclass(frozen=True)
class ImportedSession:
    """Recorded events, result and summary of an imported session."""

    start: session_files.Start
    result: Mapping[str, Any]
    events: tuple[Event, ...]

    @classmethod
    def of(cls, recorded: RecordedSession) -> "ImportedSession":
        """Read the rest of a recorded session.

        Raises:
            LayoutError: a file is missing or invalid.
        """
        path: Path = recorded.path
        result = session_files.read_object(path / session_files.RESULT)
        return cls(recorded.start, result, tuple(events_of(recorded.events)))

    @cached_property
    def shown(self) -> tuple[int, ...]:
        """Indexes of the events that are listed."""
        return tuple(at for at, event in enumerate(self.events) if notable(event))

    @cached_property
    def findings(self) -> tuple[Mapping[str, Any], ...]:
        """Findings of the result."""
        found = self.result.get("findings")
        return tuple(found) if isinstance(found, list) else ()

    @cached_property
    def _assignment(self) -> dict[str, tuple[int, ...]]:
        found = {name: tuple(brokers) for topic in self.start.topics for name, brokers in topic.assignment.items()}
        return dict(sorted(found.items(), key=lambda each: each[0].startswith("__")))

    @cached_property
    def _changes(self) -> list[tuple[int, Event]]:
        """Events that change a view, with their numbers; appended records do not."""
        return [(at, event) for at, event in enumerate(self.events) if event.kind not in DATA_KINDS]

    def view(self, at: int) -> ClusterView:
        """Return the cluster right after event number ``at``; the log ends are those of the copies."""
        states = {name: _PartitionState(isr=brokers) for name, brokers in self._assignment.items()}
        fenced = {int(each["id"]): True for each in self.start.brokers}
        controller, lost = self.start.controller or "", 0
        for _number, event in self._changes[: bisect_right(self._changes, at, key=lambda each: each[0])]:
            state = states.get(getattr(event, "partition", ""))
            if state is not None:
                _apply(state, event)
            elif event.kind in ("broker_fenced", "broker_registered"):
                fenced[event.broker] = event.kind == "broker_fenced"  # type: ignore[attr-defined]
            elif event.kind == "controller_changed":
                controller = event.node  # type: ignore[attr-defined]
            lost += event.count if event.kind == "records_missing" else 0  # type: ignore[attr-defined]
        now_us = self.events[at].values()[0] if self.events else 0
        partitions = tuple(self._partition(name, state) for name, state in states.items() if state.exists)
        brokers = tuple(
            BrokerView(
                int(each["id"]), str(each.get("rack", "")), "down" if fenced[int(each["id"])] else "up",
                fenced[int(each["id"])], sum(one.leader == each["id"] for one in partitions), (),
            )
            for each in self.start.brokers
        )  # fmt: skip
        ledger = LedgerView(sent=0, acked=0, failed=0, unknown=0, missing=lost, acked_lost=0, committed_lost=0,
                            duplicates=0, reordered=0)  # fmt: skip
        return ClusterView(
            now_us=now_us, events=at + 1, profile=self.start.profile, controller=controller, brokers=brokers,
            partitions=partitions, producers=(), groups=(), ledger=ledger, faults=(), violations=0,
        )  # fmt: skip

    # -- logs as copied -----------------------------------------------------------------------------------------------

    def _copied(self, partition: str) -> Mapping[str, Any]:
        found = self.result.get("partitions", {}).get(partition)
        return found if isinstance(found, dict) else {}

    def _partition(self, name: str, state: _PartitionState) -> PartitionView:
        copied = self._copied(name)
        leader = copied.get("replicas", {}).get(str(copied.get("leader", -1)), {})
        end = int(leader.get("leo", 0)) or max((each["leo"] for each in copied.get("replicas", {}).values()), default=0)
        topic = next((each for each in self.start.topics if name in each.assignment), None)
        lost = sum(_count(each) for each in self.findings if name in each.get("partitions", ()))
        replicas = tuple(self._replica(name, broker, state, end) for broker in self._assignment[name])
        return PartitionView(
            name, state.leader, state.leader_epoch, state.partition_epoch, state.isr, self._assignment[name],
            topic.min_isr if topic is not None else 1, int(copied.get("hw", 0)), end, int(copied.get("log_start", 0)),
            replicas, lost, elr=state.elr, recovering=state.recovering,
        )  # fmt: skip

    def _replica(self, name: str, broker: int, state: _PartitionState, end: int) -> ReplicaView:
        replica = self._copied(name).get("replicas", {}).get(str(broker), {"leo": 0, "hw": 0, "epochs": []})
        status = "leader" if broker == state.leader else "in_sync" if broker in state.isr else "lagging"
        epochs = tuple((int(epoch), int(start)) for epoch, start in replica["epochs"])
        return ReplicaView(
            broker, status, replica["leo"], replica["hw"], 0, epochs, state.leader, state.leader_epoch,  # type: ignore[arg-type]
            state.isr if broker == state.leader else (), end - replica["leo"],
        )  # fmt: skip

    def log_view(self, partition: PartitionView, start: int, end: int) -> LogView:
        """Return the copied logs of a partition side by side."""
        copied = self._copied(partition.name)
        last = int(copied.get("leader", -1))
        spans = {each.broker: spans_of(each.epochs, each.leo) for each in partition.replicas}
        own = spans.get(last) or max(spans.values(), key=lambda each: each[-1:] or [(-1, 0, 0)], default=[])
        lanes = []
        for replica in partition.replicas:
            runs = [run for span in spans[replica.broker] for run in self._runs(partition, replica.broker, span, own)]
            window = [
                replace(run, start=max(run.start, start), end=min(run.end, end))
                for run in runs if run.end > start and run.start < end
            ]  # fmt: skip
            lost = sum(run.end - run.start for run in runs if run.lost)
            other = sum(run.end - run.start for run in runs if run.diverged and not run.lost)
            status = "diverged" if lost or other else replica.status
            lanes.append(
                ReplicaLogView(
                    replica.broker, status, replica.leo, replica.hw, replica.log_start, tuple(window), lost, other
                )
            )
        return LogView(partition.name, start, end, last, partition.hw, tuple(lanes))

    def _runs(
        self, partition: PartitionView, broker: int, span: tuple[int, int, int], own: list[tuple[int, int, int]]
    ) -> Iterable[EpochRun]:
        epoch, start, end = span
        newest = own[-1][0] if own else -1
        same = [(low, high) for other, low, high in own if other == epoch]
        differs = subtract([(start, end)], same) if epoch < newest else []
        lost = [
            (place["offset"], place["offset"] + place["count"])
            for finding in self.findings for place in finding.get("ranges", ())
            if place["partition"] == partition.name and place["epoch"] == epoch
        ]  # fmt: skip
        cuts = sorted({start, end, *(at for pair in (*differs, *lost) for at in pair if start < at < end)})
        for low, high in pairwise(cuts):
            apart = any(a <= low < b for a, b in differs)
            yield EpochRun(low, high, epoch, apart, apart and any(a <= low < b for a, b in lost))


def events_of(lines: bytes) -> Iterable[Event]:
    """Yield recorded events as the model emits them; events of unknown kinds are left out."""
    for line in decode(lines):
        if line.kind in KINDS:
            made: Any = KINDS[line.kind]
            yield made(*(getattr(line, name) for name in FIELDS[line.kind]))


def spans_of(epochs: tuple[tuple[int, int], ...], end: int) -> list[tuple[int, int, int]]:
    """Return (epoch, start, end) of a log from its leader epoch cache and log end offset."""
    starts = [*epochs, (-1, end)]
    return [(epoch, start, stop) for (epoch, start), (_next, stop) in pairwise(starts) if start < stop]


def _count(finding: Mapping[str, Any]) -> int:
    count = finding.get("count", 0)
    return count if isinstance(count, int) else 0


def _apply(state: _PartitionState, event: Any) -> None:
    kind = event.kind
    if kind == "partition_deleted":
        state.exists = False
    elif kind == "became_leader":
        if not state.exists:
            state.leader, state.leader_epoch, state.exists = event.broker, event.leader_epoch, True
    elif kind in _DECISIONS:
        state.exists = True
        state.leader, state.leader_epoch = getattr(event, "leader", -1), event.leader_epoch
        state.partition_epoch, state.isr = event.partition_epoch, getattr(event, "isr", state.isr)
        state.elr = getattr(event, "elr", state.elr)
        state.recovering = getattr(event, "recovering", state.recovering)


_DECISIONS = ("partition_created", "leader_elected", "partition_offline", "isr_changed", "elr_changed",
              "recovery_changed")  # fmt: skip


# Rows of the list of events, and of the page of a finding.


@dataclass(frozen=True, slots=True)
class EventList:
    """Listed events: all, or those of one partition, with the marked one."""

    session: ImportedSession
    only: str = ""
    """Partition whose events are listed; empty for all."""
    places: tuple[int, ...] = field(default=())

    @classmethod
    def of(cls, session: ImportedSession, only: str = "") -> "EventList":
        """Return the list of all events, or of those that concern one partition or no partition."""
        wanted = [at for at in session.shown if not only or getattr(session.events[at], "partition", "") in ("", only)]
        return cls(session, only, tuple(wanted))

    def rows(self, at: int, height: int, width: int) -> tuple[Row, ...]:
        """Return the lines around event number ``at``, which is marked."""
        if not self.places or height <= 0:
            return ()
        marked = self.nearest(at)
        first = max(0, min(marked - height // 2, len(self.places) - height))
        return tuple(
            event_row(self.session.events[place], width, chosen=number == marked)
            for number, place in enumerate(self.places[first : first + height], first)
        )

    def nearest(self, at: int) -> int:
        """Return the number in the list of the last event up to event ``at``."""
        return max((number for number, place in enumerate(self.places) if place <= at), default=0)

    def step(self, at: int, steps: int) -> int:
        """Return the event that is ``steps`` lines further."""
        if not self.places:
            return at
        return self.places[max(0, min(self.nearest(at) + steps, len(self.places) - 1))]


def event_row(event: Event, width: int, *, chosen: bool) -> Row:
    """Return the line of an event."""
    glyph, role, key, say = describe_event(event)
    entry = FeedEntry((event.kind, *key), event.values()[0], glyph, role, say, event)
    partition = getattr(event, "partition", "")
    entry.partitions += [partition] if partition else []
    entry.records += getattr(event, "count", 0)
    text = say(entry)
    marker = f"{glyphs.MARKER} " if chosen else "  "
    time = clock(event.values()[0])
    return Row(((marker, "key"), (f"{time} ", "quiet"), (f"{glyph} ", role), (text, "strong" if chosen else "text")),
               chosen=chosen)  # fmt: skip


def finding_rows(finding: Mapping[str, Any], number: int, total: int, width: int) -> tuple[Row, ...]:
    """Return the page of a finding: sentence, ranges, and its events in order."""
    rows = [Row(((f" finding {number} of {total}: {finding['kind']}, {finding['cause']}", "strong"),)), Row()]
    rows += [Row(((f" {line}", "text"),)) for line in wrap(str(finding["sentence"]), max(20, width - 2))]
    rows += [Row(), Row(((" records", "calm"),))]
    for lost_range in finding["ranges"]:
        where = offsets(lost_range["offset"], lost_range["offset"] + lost_range["count"])
        committed = "committed" if lost_range["committed"] else "not known to be committed"
        text = (
            f"{counted(lost_range['count'], 'record')} of {lost_range['client']}, {where} of {lost_range['partition']}"
        )
        text = f"{text}, epoch {lost_range['epoch']}, {committed}"
        rows += [Row(((f"   {line}", "text"),)) for line in wrap(text, max(20, width - 5))]
    rows += [Row(), Row(((" events", "calm"),))]
    for link in finding["chain"]:
        first, *more = wrap(str(link["description"]), max(20, width - 18))
        rows.append(Row(((f"   {clock(link['at_us']):<12} ", "quiet"), (first, "text"))))
        rows += [Row(((" " * 16 + line, "text"),)) for line in more]
    return tuple(rows)
