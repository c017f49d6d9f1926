"""Records that the leader's log lacks: on a deposed leader's disk only, or acknowledged and in no log at all.

Without a history of clients, a record counts as acknowledged if it was below the high watermark that its broker had
stored: then it was committed. Other records on a deposed leader may have been acknowledged with ``acks=1``; they are
reported as diverged, and not as losses.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from cluster_model.checker.root_cause import (
    LAST_KNOWN_LEADER,
    LOST,
    MISSING,
    UNCLEAN_ELECTION,
    UNEXPLAINED,
    UNREPLICATED_TAIL,
    ChainEvent,
    Finding,
    RecordBlock,
)
from cluster_model.protocol.events import RecordsLost, RecordsMissing, TraceEvent, Truncated
from cluster_model.util.quantities import counted, offsets
from kafka_logs.client_history import AckedRecord, ClientHistory
from kafka_logs.metadata_history import LeaderTerm, MetadataHistory, PartitionLife
from kafka_logs.replica_logs import Divergence, EpochSpan, ReplicaLogContents, records_at, reference_of

UNKNOWN_CLIENT: Final = "unknown producer"


class LostRange(NamedTuple):
    """Consecutive acknowledged records that the leader's log lacks."""

    partition: str
    client: str
    number: int
    """Number of the first in its client's history; -1 without one."""
    start: int
    end: int
    records: int
    epoch: int
    """Leader epoch in which they were written; -1 if no log and no time says so."""
    acks: int
    committed: bool
    holders: tuple[int, ...]
    """Brokers whose logs still hold them."""
    acked_us: int
    """Virtual time of the last acknowledgement; without a history that of the newest batch."""
    earlier: tuple[int, ...] = ()
    """Brokers of which an earlier copy of the log holds them."""

    @property
    def kind(self) -> str:
        """Kind of the finding: missing, if another log holds them, else lost."""
        return MISSING if self.holders else LOST


@dataclass(frozen=True, slots=True)
class ExplainedLoss:
    """A lost range with the election that decided it."""

    lost: LostRange
    writer: LeaderTerm | None
    """Leader epoch in which the records were written."""
    decided: LeaderTerm | None
    """Leader epoch whose leader lacked them."""
    cause: str
    sentence: str

    @property
    def since_us(self) -> int:
        """Time from which the leader lacked the records: the deciding election, or a later acknowledgement."""
        return max(self.lost.acked_us, self.decided.since_us if self.decided else 0)

    def events(self, end_us: int) -> tuple[TraceEvent, TraceEvent]:
        """Return the events that report the range: when the leader first lacked it, and at the end of the session."""
        lost = self.lost
        fields = (
            lost.partition, lost.client, lost.number, lost.records, lost.start, lost.epoch, lost.acks, lost.committed,
            self.sentence,
        )  # fmt: skip
        return RecordsMissing(self.since_us, *fields), RecordsLost(max(self.since_us, end_us), *fields)

    def finding(self, life: PartitionLife) -> Finding:
        """Return the finding with its chain of events."""
        lost = self.lost
        block = RecordBlock(
            lost.partition, lost.client, lost.number, lost.records, lost.start, lost.epoch, lost.acks, lost.committed
        )
        return Finding(
            lost.kind,
            self.cause,
            self.sentence,
            (block,),
            tuple(sorted(self._chain(life), key=lambda each: each.at_us)),
        )

    def _chain(self, life: PartitionLife) -> Iterable[ChainEvent]:
        lost, writer, decided = self.lost, self.writer, self.decided
        where = f"{_offsets(lost)} of {lost.partition}"
        if writer is not None:
            written = f"broker {writer.leader}, leader in epoch {writer.epoch}, wrote {where}"
            yield ChainEvent(
                max(writer.since_us, lost.acked_us), "appended", lost.partition, writer.leader,
                f"{written}; ISR {list(life.isr_at(writer.epoch, lost.acked_us))} at the last of them",
            )  # fmt: skip
            for at_us, isr, epoch in life.isrs:
                if epoch == writer.epoch and at_us > writer.since_us:
                    yield ChainEvent(at_us, "isr_changed", lost.partition, -1, f"the ISR became {list(isr)}")
        for term in life.terms:
            between = writer is not None and decided is not None and writer.epoch < term.epoch < decided.epoch
            if between and term.leader < 0:
                text = f"no eligible leader in epoch {term.epoch} ({term.reason})"
                yield ChainEvent(term.since_us, "partition_offline", lost.partition, -1, text)
        if decided is not None:
            yield ChainEvent(
                decided.since_us, "leader_elected", lost.partition, decided.leader,
                f"broker {decided.leader} became leader in epoch {decided.epoch} by "
                f"{'a clean' if decided.clean else 'an unclean'} election ({decided.reason}), without them",
            )  # fmt: skip


def lost_from_divergence(
    divergence: Divergence, log: ReplicaLogContents, history: MetadataHistory, *, earlier: bool = False
) -> list[LostRange]:
    """Return the committed records of a diverged range, which only one log, or an earlier copy of it, holds."""
    start, end = divergence.start, divergence.committed_end
    records = log.records_between(start, end)
    if not records:
        return []
    producers = [each for each in log.producers_between(start, end) if each >= 0]
    client = f"producer id {producers[0]}" if len(producers) == 1 else UNKNOWN_CLIENT
    at_us = _written_us(log, divergence, history)
    broker = (divergence.broker,)
    found = LostRange(divergence.partition, client, -1, start, end, records, divergence.epoch, -1, True, broker, at_us)
    return [found._replace(holders=(), earlier=broker) if earlier else found]


def _written_us(log: ReplicaLogContents, divergence: Divergence, history: MetadataHistory) -> int:
    times = [each.at_ms for each in log.appended(divergence.start, divergence.end)]
    return max(0, (max(times, default=history.origin_ms) - history.origin_ms) * 1000)


def merged(ranges: Iterable[LostRange]) -> list[LostRange]:
    """Return ranges with the brokers of equal ones together."""
    merged_ranges: dict[tuple[object, ...], LostRange] = {}
    for each in ranges:
        key = (each.partition, each.client, each.number, each.start, each.end, each.epoch)
        known = merged_ranges.get(key)
        holders = tuple(sorted({*known.holders, *each.holders})) if known else each.holders
        earlier = tuple(sorted({*known.earlier, *each.earlier})) if known else each.earlier
        merged_ranges[key] = each._replace(holders=holders, earlier=earlier)
    return sorted(merged_ranges.values(), key=lambda each: (each.partition, each.start, each.epoch, each.client))


# With a history of clients.


def lost_from_history(
    partition: str,
    logs: Mapping[int, ReplicaLogContents],
    leader: int,
    history: MetadataHistory,
    clients: ClientHistory,
) -> list[LostRange]:
    """Return the acknowledged records of a partition that its leader's log lacks, as ranges of one client."""
    acked = [each for each in clients.acked if each.partition == partition]
    if not acked or not logs:
        return []
    reference = reference_of(dict(logs), leader)
    holders = {node: _held(log, acked, history) for node, log in logs.items()}
    missing = [
        (record, tuple(sorted(node for node, held in holders.items() if record in held)))
        for record in acked
        if record not in holders[reference.node] and record.offset >= reference.start
    ]
    life = history.partitions.get(partition)
    written = [each for each in missing if not _after_the_copy(each[0], reference, life, history)]
    return _as_ranges(written, logs, history, clients, life)


def _after_the_copy(
    record: AckedRecord, reference: ReplicaLogContents, life: PartitionLife | None, history: MetadataHistory
) -> bool:
    """Return whether the record may have been written after the log was copied: beyond its end, by the last leader."""
    at_us = record.acked_us - history.origin_ms * 1000
    return record.offset >= reference.end and life is not None and _epoch_at(life, at_us) >= life.state.leader_epoch


def _held(log: ReplicaLogContents, acked: list[AckedRecord], history: MetadataHistory) -> set[AckedRecord]:
    """Return the acknowledged records that a log holds at their offsets."""
    inside = [each for each in acked if log.start <= each.offset < log.end]
    stored = {each.offset: each for each in records_at(log.directory, _ranges(inside))}
    life = history.partitions.get(log.directory.partition)
    records = set()
    for record in inside:
        there = stored.get(record.offset)
        if there is None:
            held = _gone_by_cleaning(log, record)
        elif record.key is not None and there.key is not None:
            held = there.key == record.key.encode()
        elif (there.value or b"").startswith(record.name.encode()):
            held = True
        else:
            held = _in_time(record, life.term(log.epoch_at(record.offset)) if life else None, history)
        if held:
            records.add(record)
    return records


def _gone_by_cleaning(log: ReplicaLogContents, record: AckedRecord) -> bool:
    """Return whether an offset inside a log has no record: compaction removed it, which is no loss."""
    return log.start <= record.offset < log.end


def _in_time(record: AckedRecord, term: LeaderTerm | None, history: MetadataHistory) -> bool:
    """Return whether the record at that offset may be this one: its epoch had begun when it was acknowledged."""
    return term is None or record.acked_us >= history.origin_ms * 1000 + term.since_us


def _ranges(records: Iterable[AckedRecord]) -> list[tuple[int, int]]:
    ranges: list[tuple[int, int]] = []
    for at in sorted({each.offset for each in records}):
        if ranges and ranges[-1][1] == at:
            ranges[-1] = (ranges[-1][0], at + 1)
        else:
            ranges.append((at, at + 1))
    return ranges


def _as_ranges(
    missing: list[tuple[AckedRecord, tuple[int, ...]]],
    logs: Mapping[int, ReplicaLogContents],
    history: MetadataHistory,
    clients: ClientHistory,
    life: PartitionLife | None,
) -> list[LostRange]:
    ranges: list[LostRange] = []
    for record, holders in missing:
        at_us = max(0, record.acked_us - history.origin_ms * 1000)
        epoch = logs[holders[0]].epoch_at(record.offset) if holders else _epoch_at(life, at_us)
        acks = clients.acks_of(record.client)
        committed = acks == -1 or any(record.offset < logs[each].directory.high_watermark for each in holders)
        added = LostRange(
            record.partition, record.client, record.number, record.offset, record.offset + 1, 1, epoch, acks, committed,
            holders, at_us,
        )  # fmt: skip
        last = ranges[-1] if ranges else None
        if last is not None and _continues(last, added):
            ranges[-1] = last._replace(end=added.end, records=last.records + 1, acked_us=max(last.acked_us, at_us))
        else:
            ranges.append(added)
    return ranges


def _continues(last: LostRange, added: LostRange) -> bool:
    same = (last.client, last.epoch, last.acks, last.committed, last.holders) == (
        added.client, added.epoch, added.acks, added.committed, added.holders,
    )  # fmt: skip
    return same and (last.end, last.number + last.records) == (added.start, added.number)


def _epoch_at(life: PartitionLife | None, at_us: int) -> int:
    """Return the leader epoch at a time: the epoch in which a record acknowledged then was written."""
    terms = [each for each in life.terms if each.since_us <= at_us and each.leader >= 0] if life else []
    return terms[-1].epoch if terms else -1


# Explanations.


def explain(lost: LostRange, life: PartitionLife, reference: ReplicaLogContents | None) -> ExplainedLoss:
    """Return the election after which the leader lacked the records, and a sentence about them."""
    writer = life.term(lost.epoch)
    current = reference.epoch_at(lost.start) if reference is not None else -1
    last = current if current > lost.epoch else life.state.leader_epoch
    later = [each for each in life.terms if lost.epoch < each.epoch <= last and each.leader >= 0]
    unclean = [each for each in later if not each.clean]
    decided = unclean[0] if unclean else later[0] if later else None
    cause = (
        UNCLEAN_ELECTION if unclean else UNREPLICATED_TAIL if decided is not None and lost.acks == 1 else UNEXPLAINED
    )
    if decided is not None and decided.last_known:
        cause = LAST_KNOWN_LEADER
    return ExplainedLoss(lost, writer, decided, cause, _sentence(lost, life, writer, decided))


def _sentence(lost: LostRange, life: PartitionLife, writer: LeaderTerm | None, decided: LeaderTerm | None) -> str:
    known = "" if lost.client == UNKNOWN_CLIENT else f" of {lost.client}"
    text = f"{counted(lost.records, 'record')}{known} at {_offsets(lost)} of {lost.partition}"
    if writer is not None:
        isr = list(life.isr_at(writer.epoch, lost.acked_us))
        text += f" had been {'committed' if lost.number < 0 else 'acknowledged'} by broker {writer.leader} in epoch "
        text += f"{writer.epoch} with ISR {isr}"
    if decided is not None:
        how = "a clean" if decided.clean else "an unclean"
        text += f"; broker {decided.leader}, whose log lacks them, became leader in epoch {decided.epoch} by {how} "
        text += f"election ({decided.reason}) with ISR {list(decided.isr)}"
    if lost.holders:
        names = " and ".join(f"broker {each}" for each in lost.holders)
        return f"{text}; only the log of {names} still holds them, until that broker follows the new leader"
    if lost.earlier:
        names = " and ".join(f"broker {each}" for each in lost.earlier)
        return f"{text}; no log holds them any more, only an earlier copy of the log of {names}"
    return f"{text}; no copied log holds them"


def _offsets(lost: LostRange) -> str:
    return offsets(lost.start, lost.end)


def truncations(
    ranges: Iterable[LostRange],
    logs: Mapping[int, ReplicaLogContents],
    seen: Iterable[tuple[ReplicaLogContents, EpochSpan]],
    life: PartitionLife,
    history: MetadataHistory,
) -> list[TraceEvent]:
    """Return truncations: those between two copies of one log, and those that follow from acknowledgements.

    A leader that wrote acknowledged records and no longer has them truncated its log. It did so when it followed the
    next leader, which is at the earliest when it was registered again.
    """
    cuts: dict[tuple[int, int, int, int], str] = {}
    for log, span in seen:
        cuts[log.node, span.epoch, span.start, span.end] = "earlier copy"
    for lost in ranges:
        writer = life.term(lost.epoch)
        if writer is None or lost.holders or lost.earlier or writer.leader not in logs:
            continue
        covered = any(
            broker == writer.leader and epoch == lost.epoch and start <= lost.start and lost.end <= end
            for broker, epoch, start, end in cuts
        )
        if not covered:
            cuts[writer.leader, lost.epoch, lost.start, lost.end] = "inferred from acknowledgements"
    return [
        _truncated(logs[broker], EpochSpan(epoch, start, end), rule, life, history)
        for (broker, epoch, start, end), rule in cuts.items()
        if broker in logs
    ]


def _truncated(
    log: ReplicaLogContents, span: EpochSpan, rule: str, life: PartitionLife, history: MetadataHistory
) -> TraceEvent:
    later = next((each for each in life.terms if each.epoch > span.epoch and each.leader >= 0), None)
    since_us = later.since_us if later is not None else 0
    at_us = next((each for each in history.unfenced.get(log.node, ()) if each >= since_us), since_us)
    followed = [each for each in life.terms if each.since_us <= at_us]
    epoch = followed[-1].epoch if followed else span.epoch
    name, high_watermark = life.state.name, log.directory.high_watermark
    return Truncated(at_us, name, log.node, epoch, span.start, span.end, high_watermark, rule)


def without(divergences: Iterable[Divergence], ranges: Iterable[LostRange]) -> list[Divergence]:
    """Return the diverged ranges that no lost range covers: nothing shows that they were acknowledged."""
    covered = [(each.partition, each.start, each.end) for each in ranges]
    return [
        each
        for each in divergences
        if not any(each.partition == name and start <= each.start and each.end <= end for name, start, end in covered)
    ]
