"""Simulated futures of a session, with an action and without, and the intervals in which each was out of service."""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Final

from cluster_model.protocol.errors import ModelError
from cluster_model.protocol.events import InvariantViolated
from cluster_model.util.ranges import subtract
from playbooks.engine.session import SLICE_US, Session
from playbooks.engine.worker_pool import JobOutcome, JobProgress, PlaybookJob, run_all
from playbooks.errors import BAD_INPUT, INTERNAL, INTERRUPTED, OK, PlaybookError
from playbooks.model.playbook import Position, Step, Trigger
from playbooks.results.client_stats import ClientBooks, read_up_to
from playbooks.results.group_progress import ReadStalls
from playbooks.results.outages import Availability, ClientKey, Outages, drawn_up
from playbooks.results.result import SessionResult
from playbooks.safety_check.start_point import StartPoint, StartPointError

GroupPartition = tuple[str, str]
PACE_US: Final = 100_000
"""Shorter waits are the pace of polls and are not kept: a group under load has one with each poll."""


# Intervals of virtual time, and what is left of them where others are taken away.


Spans = tuple[tuple[int, int], ...]
"""Intervals, each from its beginning to its end, in order and apart from each other."""


def without(spans: Spans, others: Spans) -> Spans:
    """What is left of intervals where those others are taken away."""
    return tuple((start, end) for start, end in subtract(spans, others) if start < end)


def longest(spans: Spans) -> int:
    """The longest of them, 0 for none."""
    return max((end - start for start, end in spans), default=0)


def longest_added(spans: Spans, others: Spans) -> int:
    """By how much the longest of these waits is longer than the one of the others in the same time.

    A wait ends when something comes. Where one of these covers several of the others, something came in between
    without the action, so only the longest time in common with one of them is taken away.
    """
    ends = [end for _start, end in others]
    most = 0
    for start, end in spans:
        if end - start <= most:
            continue
        common = 0
        for low, high in islice(others, bisect_right(ends, start), None):
            if low >= end:
                break
            common = max(common, min(end, high) - max(start, low))
        most = max(most, end - start - common)
    return most


# What was not served.


@dataclass(frozen=True, slots=True)
class ServiceIntervals:
    """Intervals of virtual time, by whom and what they concern."""

    writes: dict[ClientKey, Spans]
    """Producer, acks level and partition → when it was out of service."""
    partitions: dict[str, Spans]
    """Partition → when nobody led it who could."""
    under_min: dict[str, Spans]
    """Partition → when it had fewer in sync than min.insync.replicas."""
    reads: dict[GroupPartition, Spans]
    """Group and partition → when the group was handed nothing of it though there was something to read."""
    errors: dict[ClientKey, str]
    """Likewise → the error that was answered most often."""
    refused: tuple[str, ...]
    """What could not be done of what was asked, with the reason."""
    undone: tuple[str, ...]
    """Names of the steps that were refused at once."""


class ReadWatch:
    """Takes events from an instant on. Who waited then begins to do so at that instant.

    It leaves the session's own statistics alone: a condition of the question that asks for them gets the value that it
    has in a run without a question.
    """

    def __init__(self, books: ClientBooks, now_us: int) -> None:
        self._readable = dict(books.readable)
        self._groups: dict[str, ReadStalls] = {}
        self._over: dict[GroupPartition, list[tuple[int, int]]] = {}
        for name, book in books.groups.items():
            stalls = self._groups[name] = ReadStalls.loaded(book.stalls.save())
            stalls.restart(now_us)

    def enter(self, events: Iterable[Any]) -> None:
        """The next events."""
        for event in events:
            kind = event.kind
            if kind in ("hw_advanced", "became_leader"):
                self._advanced(event)
            elif kind == "partition_deleted":
                self._readable.pop(event.partition, None)
                for stalls in self._groups.values():
                    stalls.gone(event.partition)
            elif (read_to := read_up_to(event)) >= 0:
                self._moved(event, read_to)

    def until(self, now_us: int) -> dict[GroupPartition, Spans]:
        """All of them so far; one that lasts is cut off now."""
        found = {key: list(spans) for key, spans in self._over.items()}
        for group, stalls in self._groups.items():
            for partition, since_us in stalls.waiting().items():
                if now_us - since_us >= PACE_US:
                    found.setdefault((group, partition), []).append((since_us, now_us))
        return {key: tuple(spans) for key, spans in sorted(found.items())}

    def _advanced(self, event: Any) -> None:
        epoch, _hw = self._readable.get(event.partition, (-1, 0))
        if event.leader_epoch < epoch:
            return  # of a zombie
        self._readable[event.partition] = (event.leader_epoch, event.hw)
        for stalls in self._groups.values():
            stalls.advanced(event.partition, event.hw, event.at_us)

    def _moved(self, event: Any, read_to: int) -> None:
        _epoch, hw = self._readable.get(event.partition, (-1, 0))
        stalls = self._groups.setdefault(event.group_id, ReadStalls())
        lasted_us = stalls.moved(event.partition, read_to, hw, event.at_us)
        if lasted_us >= PACE_US:
            spans = self._over.setdefault((event.group_id, event.partition), [])
            spans.append((event.at_us - lasted_us, event.at_us))


class ServiceMonitor:
    """Takes events from an instant on. What was out of service then begins to be so at that instant."""

    def __init__(self, session: Session) -> None:
        now = session.cluster.now_us
        self._session = session
        self._availability: Availability = session.availability.afresh(now)
        self._reads = ReadWatch(session.client_books, now)
        self._under: dict[str, Outages] = {}
        self._errors: dict[ClientKey, dict[str, int]] = {}
        self._refused: list[str] = []
        self._undone: list[str] = []
        for each in session.cluster.view().partitions:
            self._judge(each.name, len(each.isr), now)

    def take(self, events: Iterable[Any]) -> None:
        """The next events."""
        found = list(events)
        self._availability.enter(found)
        self._reads.enter(found)
        for event in found:
            kind = event.kind
            if kind == "isr_changed":
                self._judge(event.partition, len(event.isr), event.at_us)
            elif kind == "produce_refused":
                errors = self._errors.setdefault((event.client, event.acks, event.partition), {})
                errors[event.error] = errors.get(event.error, 0) + 1
            elif kind in ("step_taken", "admin_answered") and event.error:
                self._note(event)

    def _note(self, event: Any) -> None:
        what = event.detail if event.kind == "step_taken" else event.operation
        why = event.error if event.kind == "step_taken" or not event.detail else f"{event.error}, {event.detail}"
        if event.by.startswith("step "):
            self._refused.append(f"{what}: {why}")
            if event.kind == "step_taken":
                self._undone.append(event.by)

    def _judge(self, partition: str, in_sync: int, now_us: int) -> None:
        world = self._session.cluster.world
        needed = world.effective_min_isr(partition) if partition in world.records else 0
        if in_sync >= needed and partition not in self._under:
            return
        self._under.setdefault(partition, Outages()).set(in_sync < needed, now_us)

    def seen(self) -> ServiceIntervals:
        """All of it so far; what goes on is cut off now."""
        view = self._session.cluster.view()
        now = view.now_us
        drawn = drawn_up(self._availability, self._session.client_books, view)
        return ServiceIntervals(
            writes={(each.client, each.acks, each.partition): each.spans for each in drawn.clients if each.us},
            partitions={each.partition: each.spans for each in drawn.partitions if each.us},
            under_min={name: tuple(each.until(now).spans) for name, each in sorted(self._under.items())},
            reads=self._reads.until(now),
            errors={key: max(errors, key=lambda name: errors[name]) for key, errors in sorted(self._errors.items())},
            refused=tuple(self._refused),
            undone=tuple(self._undone),
        )


# Futures of one session: forks with an action and without, each with other random draws.


RESEED: Final = "reseed"


@dataclass(frozen=True, slots=True)
class ActionPlan:
    """What is done from the instant on, and how long it is watched after the last of it, in microseconds."""

    steps: tuple[Step, ...]
    horizon_us: int


@dataclass(frozen=True, slots=True)
class Lost:
    """Acknowledged records that are gone, of one partition and cause."""

    partition: str
    count: int
    committed: int
    acks: int
    cause: str


@dataclass(frozen=True, slots=True)
class ReaderImpact:
    """What a group of consumers felt: records, microseconds, times; of a future, or what an action adds to it."""

    skipped: int = 0
    """Records that it was never handed, and behind which it reads."""
    reread: int = 0
    """Records that it was handed again."""
    read_stall_us: int = 0
    """The longest time that it was handed nothing of a partition that it had something to read of."""
    idle_us: int = 0
    """Time that partitions had no owner, summed over them: what rebalances and dead members cost."""
    resets: int = 0
    """Times that ``auto.offset.reset`` moved it."""

    def added_to(self, baseline: "ReaderImpact", read_stall_us: int) -> "ReaderImpact":
        """How much more this is; what is added to the stall depends on when each of them was, and is given."""
        more = [
            max(0, getattr(self, name) - getattr(baseline, name)) for name in ("skipped", "reread", "idle_us", "resets")
        ]
        return ReaderImpact(more[0], more[1], read_stall_us, more[2], more[3])


@dataclass(frozen=True, slots=True)
class Future:
    """What came of it under one seed."""

    seed: int
    end_us: int
    """When watching ended and settling began."""
    seen: ServiceIntervals
    acted: tuple[tuple[int, int], ...]
    """When each step acted, and after how many kernel events."""
    waited: str
    """Why not all of them did; empty where they did."""
    unfinished: tuple[str, ...]
    """Operations under way when watching ended."""
    acked: int
    acked_lost: int
    committed_lost: int
    duplicates: int
    failed: int
    unknown: int
    readers: dict[str, ReaderImpact]
    """By group; stalls from where the futures part until watching ended, the rest of the whole session."""
    losses: tuple[Lost, ...]
    violations: tuple[tuple[str, str, str], ...]
    """Promises of the protocol that were broken though this version keeps them: name, partition and detail."""
    digest: str
    """Of the whole session, settled and closed."""


class Futures:
    """The session at one place. Every call goes on from there; none knows of another."""

    def __init__(self, standing: StartPoint) -> None:
        """Run the session up to its place.

        Raises:
            StandingError: it does not come to the same state again.
        """
        self.standing = standing
        self.session: Session = standing.session()
        self._playbook = self.session.playbook
        self._kept = self.session.save()

    def with_action(self, plan: ActionPlan, seed: int) -> Future:
        """The steps are taken, and what follows is watched."""
        return self._go(plan.steps, seed, plan.horizon_us, -1)

    def without(self, seed: int, end_us: int) -> Future:
        """Nothing is done; it is watched until the same instant."""
        return self._go((), seed, 0, end_us)

    def stand(self) -> Session:
        """The session where it stands, to look at or to run on; good until the next call of anything here."""
        self.session.load(*self._kept)
        self.session.follow(self._playbook)
        return self.session

    def _go(self, steps: tuple[Step, ...], seed: int, horizon_us: int, end_us: int) -> Future:
        session = self.stand()
        session.follow(replace(self._playbook, steps=(*self._playbook.steps, reseeding(self.standing, seed), *steps)))
        cluster, began = session.cluster, len(self._playbook.steps) + 1
        acted: list[tuple[int, int]] = []
        session.on_step = lambda step: acted.append((cluster.now_us, cluster.executed))
        watch = ServiceMonitor(session)
        slice_us = min(SLICE_US, horizon_us) if steps else SLICE_US
        while session.next_step is not None and session.phase == "steps":
            session.advance(cluster.now_us + slice_us if acted else cluster.now_us)
            watch.take(session.drain())
        waited = _by_question(session.reason) if session.steps_taken < began + len(steps) else ""
        end_us = end_us if end_us >= 0 else max(acted[-1][0] + horizon_us, cluster.now_us)
        _advance(session, end_us, lambda: watch.take(session.drain()))
        seen = watch.seen()
        unfinished = tuple([each.name for each in session.board.operations()])
        session.settle()
        _advance(session, 1 << 62, session.drain)
        return _future(session.finish(), seed, end_us, seen, tuple(acted[1:]), waited, unfinished)


def _by_question(reason: str) -> str:
    """A reason with the step it begins with as people count the actions of their question, if it is one of those."""
    found = re.match(r"step (\d+)\b", reason)
    number = int(found[1]) - FIRST - 1 if found is not None else 0
    if found is None or number < 1:
        return reason
    return f"action {number} of the question{reason[found.end() :]}"


def _advance(session: Session, until_us: int, after: Callable[[], object]) -> None:
    running = True
    while running and session.cluster.now_us < until_us:
        running = session.advance(min(until_us, session.cluster.now_us + SLICE_US))
        after()


def reseeding(standing: StartPoint, seed: int) -> Step:
    """The step at which the futures part."""
    exact = standing.executed if standing.pending else -1
    return Step(
        index=FIRST, where=Position(1, 1), trigger=Trigger("at", standing.at_us, executed=exact), verb="reseed",
        name=str(seed), label="0",
    )  # fmt: skip


FIRST: Final = 1 << 20
"""Number of the first step that a question adds: above all that a playbook can have."""


def _future(
    result: SessionResult, seed: int, end_us: int, seen: ServiceIntervals, acted: tuple[tuple[int, int], ...],
    waited: str,
    unfinished: tuple[str, ...],
) -> Future:  # fmt: skip
    ledger = result.ledger
    return Future(
        seed=seed,
        end_us=end_us,
        seen=seen,
        acted=acted,
        waited=waited,
        unfinished=unfinished,
        acked=ledger.acked,
        acked_lost=ledger.acked_lost,
        committed_lost=ledger.committed_lost,
        duplicates=ledger.duplicates,
        failed=ledger.failed,
        unknown=ledger.unknown,
        readers=_readers(result, seen),
        losses=_losses(result),
        violations=tuple([(each.invariant, each.partition, each.detail) for each in _unexpected(result)]),
        digest=result.digest,
    )


def _readers(result: SessionResult, seen: ServiceIntervals) -> dict[str, ReaderImpact]:
    stalls: dict[str, int] = {}
    for (group, _partition), spans in seen.reads.items():
        stalls[group] = max(stalls.get(group, 0), longest(spans))
    return {
        group.name: ReaderImpact(group.skipped, group.reread, stalls.get(group.name, 0), group.idle_us, group.resets)
        for group in result.clients.groups
    }


def _unexpected(result: SessionResult) -> list[InvariantViolated]:
    return [each for each in result.violations if not each.known]


def _losses(result: SessionResult) -> tuple[Lost, ...]:
    """Those with the same partition, cause and acks level as one."""
    found: dict[tuple[str, str, int], tuple[int, int]] = {}
    for each in result.losses:
        key = (each.partition, each.cause, each.acks)
        count, committed = found.get(key, (0, 0))
        found[key] = (count + each.count, committed + (each.count if each.committed else 0))
    return tuple([Lost(name, lost, read, acks, cause) for (name, cause, acks), (lost, read) in found.items()])


# One seed's futures as a piece of work for another process, and all of them together.


class AskingError(Exception):
    """The question cannot be answered; the message says why."""


@dataclass(frozen=True, slots=True)
class FuturePair:
    """What comes of the action under a seed, and what would have come without it until the same instant."""

    action: Future
    baseline: Future


@dataclass(frozen=True, slots=True)
class SafetyCheckJob(PlaybookJob):
    """A question put to one seed."""

    standing: StartPoint | None = None
    plan: ActionPlan | None = None
    fork: int = 0
    """The seed of all that is drawn from the instant on."""

    def carry_out(self, tell: Callable[[JobProgress], None]) -> JobOutcome:
        """Run both futures; never raises."""
        assert self.standing is not None
        assert self.plan is not None
        try:
            tell(JobProgress(self.standing.at_us, "asking", ""))
            futures = _futures(self.standing)
            action = futures.with_action(self.plan, self.fork)
            return JobOutcome(self, code=OK, found=FuturePair(action, futures.without(self.fork, action.end_us)))
        except (StartPointError, ModelError, PlaybookError) as error:
            return JobOutcome(self, error=str(error), code=BAD_INPUT)
        except KeyboardInterrupt:
            return JobOutcome(self, error="stopped", code=INTERRUPTED)
        except Exception as error:
            return JobOutcome(self, error=f"internal error: {type(error).__name__}: {error}", code=INTERNAL)


_LAST: Final[list[Futures]] = []
"""A process is asked about one place again and again: the session that stands there is made once."""


def _futures(standing: StartPoint) -> Futures:
    if not _LAST or _LAST[0].standing != standing:
        _LAST.clear()
        _LAST.append(Futures(standing))
    return _LAST[0]


def put(
    standing: StartPoint, plan: ActionPlan, seeds: Sequence[int], *, workers: int = 0, tell: Callable[[str], None]
) -> tuple[FuturePair, ...]:
    """Put the question to every seed, with so many processes (0: as many as there are cores); in the seeds' order.

    Raises:
        AskingError: one of them could not be answered.
        KeyboardInterrupt: it was stopped.
    """
    jobs = [SafetyCheckJob("", standing.path, standing=standing, plan=plan, fork=seed) for seed in seeds]
    ended: list[int] = []

    def on_end(number: int, outcome: JobOutcome) -> None:
        del outcome
        ended.append(number)
        tell(f"asking: {len(ended)} of {len(jobs)} seeds")

    def on_progress(number: int, progress: JobProgress) -> None:
        del number, progress
        tell(f"asking: {len(ended)} of {len(jobs)} seeds")

    outcomes = run_all(
        jobs, workers=workers, on_end=on_end, on_progress=on_progress, stop_after=lambda outcome: outcome.code != OK
    )
    _LAST.clear()
    if any(each.code == INTERRUPTED for each in outcomes):
        raise KeyboardInterrupt
    wrong = [each for each in outcomes if each.error and each.code > OK]
    if wrong:
        raise AskingError(wrong[0].error)
    return tuple([each.found for each in outcomes])
