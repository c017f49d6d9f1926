"""Every lost or missing range, explained."""

from bisect import bisect_left
from collections.abc import Iterator
from itertools import pairwise

from cluster_model.checker.history.fault_history import about, deed_words
from cluster_model.checker.history.partition_history import History
from cluster_model.checker.ledger.ledger import Ledger
from cluster_model.checker.ledger.record_ranges import LOST as LOST_PLACE
from cluster_model.checker.ledger.record_ranges import in_doubt
from cluster_model.checker.root_cause.cause_codes import ACKS_0
from cluster_model.checker.root_cause.findings import LOST, MISSING, Link, Place
from cluster_model.checker.root_cause.loss_causes import case_of, cause_of
from cluster_model.checker.root_cause.loss_chain import Chain, lineage_of
from cluster_model.checker.root_cause.telling import PROMISE, SETTLED, Promise, Told, at, counted, records
from cluster_model.log.batch_store import Lineage
from cluster_model.observation.cluster_state import World
from cluster_model.protocol.events import LeaderElected, RecordsLost


class LostFindings:
    """What the ledger misses, told with the history."""

    def __init__(self, world: World, history: History, ledger: Ledger) -> None:
        self._world = world
        self._history = history
        self._ledger = ledger

    def told(self, now_us: int) -> Iterator[Told]:
        """Lost and missing ranges of the partitions that are there."""
        for there, partition, lineage, run in in_doubt(self._world, self._ledger):
            kind = LOST if there == LOST_PLACE else MISSING
            place = Place(
                partition, run.client, run.sequence, run.end - run.start, run.start, lineage.epoch, run.acks,
                run.committed,
            )  # fmt: skip
            yield from self.of_place(kind, place, now_us)

    def standing(self) -> tuple[object, ...]:
        """All that :meth:`told` goes by and no rare event tells of: another one, and it may tell something else."""
        ledger = self._ledger
        found: list[object] = []
        for name in self._world.records:
            intervals = (ledger.lost_in(name), ledger.missing_in(name))
            if intervals[0] or intervals[1]:
                stints = dict.fromkeys(stint for each in intervals for stint, _start, _end in each)
                books = ledger.books_of(name)
                found.append((name, intervals, [books.committed_in(stint) for stint in stints]))
        return tuple(found)

    def of_place(self, kind: str, place: Place, now_us: int) -> Iterator[Told]:
        """One range, cut where what is known of it changes."""
        lineage = lineage_of(
            self._world, place.partition, place.leader_epoch, place.log_offset, place.client, place.sequence
        )
        if lineage is None:
            return
        end = place.log_offset + place.count
        bounds = {place.log_offset, end, *self._bounds(place.partition, lineage)}
        inside = sorted(bound for bound in bounds if place.log_offset <= bound <= end)
        for low, high in pairwise(inside):
            part = Place(
                place.partition, place.client, place.sequence + low - place.log_offset, high - low, low,
                place.leader_epoch, place.acks, place.committed,
            )  # fmt: skip
            yield self._explain(kind, part, lineage, now_us)

    def _bounds(self, partition: str, lineage: Lineage) -> list[int]:
        found = []
        for each in self._history.witnesses.kept(partition):
            if each.epoch == lineage.epoch:
                found += [each.start, each.end]
                if each.trigger is None and each.scene.election is not None:
                    found.append(_written_since(lineage, each.start, each.end, each.scene.election.at_us))
        for cut in self._history.cuts_of(partition, lineage.id, (lineage.start, lineage.end)):
            found += [bound for stint, low, high in cut.taken if stint == lineage.id for bound in (low, high)]
        found += [start for start, _end, _isr in self._ledger.vouched.entries(partition, lineage.id)]
        return found

    def _explain(self, kind: str, place: Place, lineage: Lineage, now_us: int) -> Told:
        span = (place.log_offset, place.log_offset + place.count)
        isr = self._ledger.vouched.isr_at(place.partition, lineage.id, span[0])
        case = case_of(
            self._history, place.partition, lineage, span, place.acks, isr,
            min_isr=self._world.effective_min_isr(place.partition), committed=place.committed,
            leader=self._history.leader_of(place.partition),
        )  # fmt: skip
        cause = cause_of(case, self._history, self._world.profile)
        explained = Chain(self._world, self._history, case, now_us).explained()
        batch = lineage.batch_at(span[0])
        names = batch.name[span[0] - batch.base :]
        last_us = lineage.appended_at(span[1] - 1)
        promise = Promise(lineage.broker, lineage.epoch, isr, names, last_us, explained.holders)
        return Told(kind, cause, explained.key, place, promise, explained.clauses, explained.links)

    def unplaced(self, lost: RecordsLost) -> Told:
        """Records of acks=0 that reached no leader."""
        history = self._history
        who = lost.client or "a client"
        place = Place(lost.partition, lost.client, -1, lost.count, -1, -1, 0, committed=False)
        words = f"{who} counted {records(lost.count)} for {lost.partition} as sent (acks=0): nobody answers those"
        links = [Link(0, PROMISE, lost.partition, -1, words)]
        scene = history.scene(lost.partition)
        happened = elected = ""
        for deed in about(scene.deeds, f"broker {scene.deposed}", 0):
            happened = deed_words(deed, f"broker {scene.deposed}", history.deeds.step_of(deed.moment, deed.at_us))
            links.append(Link(deed.at_us, deed.event_kind, "", scene.deposed, happened))
        if scene.election is not None and happened:
            election = scene.election
            elected = f"broker {election.leader} was elected in its place in epoch {election.leader_epoch}"
            links.append(Link(election.at_us, LeaderElected.kind, lost.partition, election.leader, elected))
        links.sort(key=lambda link: link.at_us)
        end = f"{counted(lost.count, 'record')} had reached no leader as the session ended"
        links.append(Link(lost.at_us, SETTLED, lost.partition, -1, end))
        elected += at(scene.election.at_us) if elected and scene.election is not None else ""
        clauses = [happened, elected, "they reached no leader, and nobody was told"]
        return Told(LOST, ACKS_0, ("acks=0",), place, None, tuple(each for each in clauses if each), tuple(links))


def _written_since(lineage: Lineage, start: int, end: int, at_us: int) -> int:
    """The first offset of a range that was not written before a time."""
    low, high = max(start, lineage.start), min(end, lineage.end)
    return low + bisect_left(range(low, high), at_us, key=lineage.appended_at)
