"""Records that a group never got to process, explained by what moved it past them."""

from collections.abc import Iterator

from cluster_model.checker.history.fault_history import deed_words
from cluster_model.checker.history.partition_history import History
from cluster_model.checker.ledger.consumption import Jump, Left, ReaderEvents
from cluster_model.checker.ledger.readings import Readings
from cluster_model.checker.root_cause import cause_codes as codes
from cluster_model.checker.root_cause.findings import ABANDONED, SKIPPED, Link, Place
from cluster_model.checker.root_cause.telling import THEM, Told, at, number
from cluster_model.observation.cluster_state import World
from cluster_model.protocol.events import (
    Appended,  # fmt: skip
    ConsumerReset,  # fmt: skip
    OffsetsCommitted,  # fmt: skip
    PartitionCreated,  # fmt: skip
    RecordsAbandoned,  # fmt: skip
)
from cluster_model.util.ranges import Range


class ReaderFindings:
    """What :class:`Readings` counts, told with the resets and commits of the groups."""

    def __init__(self, world: World, history: History, readings: Readings, events: ReaderEvents) -> None:
        self._world = world
        self._history = history
        self._readings = readings
        self._events = events

    def told(self, now_us: int) -> Iterator[Told]:
        """All of them."""
        for group, partition, jump, missed in self._events.jumps():
            for low, high in missed:
                deleted = min(high, jump.log_start)
                if low < deleted:
                    yield self._jumped(group, partition, jump, (low, deleted), codes.RETENTION_OVERTOOK)
                if deleted < high:
                    cause = codes.RESET_LATEST if jump.created_us < 0 else codes.PARTITIONS_ADDED
                    yield self._jumped(group, partition, jump, (max(low, deleted), high), cause)
        for group, partition, stint, part in self._events.overwritten():
            yield self._overwritten(group, partition, stint, part)
        for group, partition, left in self._events.left():
            for low, high in self._readings.left_in(group, partition):
                start, end = max(low, left.start), min(high, left.end)
                if start < end and left.committed > start:
                    yield self._abandoned(group, partition, left, (start, min(end, left.committed)))
        del now_us

    def _place(self, group: str, partition: str, offsets: Range) -> Place:
        return Place(partition, group, -1, offsets[1] - offsets[0], offsets[0], -1, 0, committed=True)

    def _jumped(self, group: str, partition: str, jump: Jump, offsets: Range, cause: str) -> Told:
        moved = f"{jump.client} was moved to offset {jump.end} of {partition} by its reset policy"
        links = [Link(jump.at_us, ConsumerReset.kind, partition, -1, f"{moved}, past {THEM}")]
        if cause == codes.RETENTION_OVERTOOK:
            why = f"retention had deleted everything below offset {jump.log_start} of {partition}"
            links.insert(0, Link(jump.at_us, "log_start_moved", partition, -1, f"{why} by then"))
            clauses = [f"group {group} had read up to offset {jump.start}", why, moved]
        elif cause == codes.PARTITIONS_ADDED:
            why = f"{partition} had been there since{at(jump.created_us).removeprefix(' at')}"
            links.insert(0, Link(jump.created_us, PartitionCreated.kind, partition, -1, f"{partition} was created"))
            clauses = [why, f"group {group} learned of it{at(jump.at_us)}", moved]
        else:
            why = f"offset {jump.start}, at which group {group} stood, was out of range"
            clauses = [why, moved]
        told = (*clauses, f"nobody of the group has been handed {THEM}")
        key = (cause, jump.at_us // 60_000_000)
        return Told(SKIPPED, cause, key, self._place(group, partition, offsets), None, told, tuple(links), group)

    def _overwritten(self, group: str, partition: str, stint: int, offsets: Range) -> Told:
        lineage = self._world.lineages[partition].by_id[stint]
        words = f"broker {lineage.broker}, leader in epoch {lineage.epoch}, wrote {THEM} where others had stood"
        written = lineage.appended_at(offsets[0])
        links = [Link(written, Appended.kind, partition, lineage.broker, words)]
        for cut in self._history.cuts_at(partition, offsets, written):
            said = f"broker {cut.event.broker} cut its log back to offset {cut.event.log_offset} ({cut.event.rule})"
            links.append(Link(cut.event.at_us, cut.event.kind, partition, cut.event.broker, said))
        links.sort(key=lambda link: link.at_us)
        clauses = (
            f"group {group} had been handed other records at these offsets",
            words,
            f"the group went on behind {THEM}",
        )
        key = ("stint", stint)
        place = self._place(group, partition, offsets)
        return Told(SKIPPED, codes.TRUNCATION_SKIP, key, place, None, clauses, tuple(links), group)

    def _abandoned(self, group: str, partition: str, left: Left, offsets: Range) -> Told:
        committed = (
            f"offset {number(left.committed)} of {partition} had been committed{at(left.committed_us)} ({left.how})"
        )
        links = [
            Link(left.committed_us, OffsetsCommitted.kind, partition, -1, f"{committed}, beyond {THEM}"),
            Link(left.at_us, RecordsAbandoned.kind, partition, -1, f"{left.client} left {THEM} ({left.by})"),
        ]
        happened = ""
        if left.deed is not None:
            who = self._history.deeds.step_of(left.deed.moment, left.deed.at_us)
            happened = deed_words(left.deed, left.client, who)
            links.insert(1, Link(left.deed.at_us, left.deed.event_kind, "", -1, happened))
        links.sort(key=lambda link: link.at_us)
        clauses = [
            f"group {group} had {THEM} in hand",
            committed,
            happened,
            f"{left.client} left {THEM} unprocessed ({left.by}), and nobody has been handed {THEM} since",
        ]
        key = left.deed.key if left.deed is not None else ("left", left.at_us)
        place = self._place(group, partition, offsets)
        told = tuple(each for each in clauses if each)
        return Told(ABANDONED, codes.COMMIT_FIRST, key, place, None, told, tuple(links), group)
