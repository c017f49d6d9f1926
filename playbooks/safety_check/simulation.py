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
from playbooks.results.client_stats import ClientStats, read_up_to
from playbooks.results.group_progress import ReadStalls
from playbooks.results.outages import Availability, ClientKey, Outages, unavailability_of
from playbooks.results.result import SessionResult
from playbooks.safety_check.start_point import StartPoint, StartPointError

GroupPartition = tuple[str, str]
PACE_US: Final = 100_000
"""Shorter waits are normal between polls and are not kept: a group under load has one with each poll."""


# Intervals of virtual time, and their difference.


Spans = tuple[tuple[int, int], ...]
"""Disjoint intervals in ascending order, each with start and end."""


def without(spans: Spans, others: Spans) -> Spans:
    """Return the parts of intervals outside of the others."""
    return tuple((start, end) for start, end in subtract(spans, others) if start < end)


def longest(spans: Spans) -> int:
    """Return the length of the longest interval, 0 without any."""
    return max((end - start for start, end in spans), default=0)


def longest_added(spans: Spans, others: Spans) -> int:
    """Return by how much the longest of these waits exceeds a wait of the others in the same time.

    A wait ends when records arrive. If one wait covers several of the others, records arrived in between without the
    action, so only the longest overlap with one of them is subtracted.
    """
    ends = [end for _start, end in others]
    longest = 0
    for start, end in spans:
        if end - start <= longest:
            continue
        common = 0
        for low, high in islice(others, bisect_right(ends, start), None):
            if low >= end:
                break
            common = max(common, min(end, high) - max(start, low))
        longest = max(longest, end - start - common)
    return longest


# Outages of clients, partitions and groups.


@dataclass(frozen=True, slots=True)
class ServiceIntervals:
    """Outages of one future as intervals of virtual time."""

    writes: dict[ClientKey, Spans]
    """Producer, acks level and partition → its outages."""
    partitions: dict[str, Spans]
    """Partition → when it had no serving leader."""
    under_min: dict[str, Spans]
    """Partition → when its ISR was smaller than min.insync.replicas."""
    reads: dict[GroupPartition, Spans]
    """Group and partition → when the group received nothing although there was something to read."""
    errors: dict[ClientKey, str]
    """Producer, acks level and partition → the most frequent error."""
    refused: tuple[str, ...]
    """Actions that were refused, with the reason."""
    undone: tuple[str, ...]
    """Names of the steps that were refused at once."""


class ReadStallMonitor:
    """Read stalls of groups from a given time on; a stall that is open then starts at that time.

    The session's own statistics are not used: a condition of the question that reads them gets the same value as in a
    run without a question.
    """

    def __init__(self, stats: ClientStats, now_us: int) -> None:
        self._readable = dict(stats.readable)
        self._groups: dict[str, ReadStalls] = {}
        self._over: dict[GroupPartition, list[tuple[int, int]]] = {}
        for name, book in stats.groups.items():
            stalls = self._groups[name] = ReadStalls.from_saved(book.stalls.save())
            stalls.restart(now_us)

    def enter(self, events: Iterable[Any]) -> None:
        """Process further events."""
        for event in events:
            kind = event.kind
            if kind in ("hw_advanced", "became_leader"):
                self._advanced(event)
            elif kind == "partition_deleted":
                self._readable.pop(event.partition, None)
                for stalls in self._groups.values():
                    stalls.partition_deleted(event.partition)
            elif (read_to := read_up_to(event)) >= 0:
                self._moved(event, read_to)

    def until(self, now_us: int) -> dict[GroupPartition, Spans]:
        """Return all stalls so far; an open one is cut off now."""
        stall_times = {key: list(spans) for key, spans in self._over.items()}
        for group, stalls in self._groups.items():
            for partition, since_us in stalls.waiting().items():
                if now_us - since_us >= PACE_US:
                    stall_times.setdefault((group, partition), []).append((since_us, now_us))
        return {key: tuple(spans) for key, spans in sorted(stall_times.items())}

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
    """Outages from a given time on; one that is open then starts at that time."""

    def __init__(self, session: Session) -> None:
        now = session.cluster.now_us
        self._session = session
        self._availability: Availability = session.availability.restarted(now)
        self._reads = ReadStallMonitor(session.client_stats, now)
        self._under: dict[str, Outages] = {}
        self._errors: dict[ClientKey, dict[str, int]] = {}
        self._refused: list[str] = []
        self._undone: list[str] = []
        for each in session.cluster.view().partitions:
            self._judge(each.name, len(each.isr), now)

    def take(self, events: Iterable[Any]) -> None:
        """Process further events."""
        found = list(events)
        self._availability.process_events(found)
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
        cluster_state = self._session.cluster.cluster_state
        needed = cluster_state.effective_min_isr(partition) if partition in cluster_state.records else 0
        if in_sync >= needed and partition not in self._under:
            return
        self._under.setdefault(partition, Outages()).set(in_sync < needed, now_us)

    def seen(self) -> ServiceIntervals:
        """Return all outages so far; open ones are cut off now."""
        view = self._session.cluster.view()
        now = view.now_us
        drawn = unavailability_of(self._availability, self._session.client_stats, view)
        return ServiceIntervals(
            writes={(each.client, each.acks, each.partition): each.spans for each in drawn.clients if each.us},
            partitions={each.partition: each.spans for each in drawn.partitions if each.us},
            under_min={name: tuple(each.until(now).spans) for name, each in sorted(self._under.items())},
            reads=self._reads.until(now),
            errors={key: max(errors, key=lambda name: errors[name]) for key, errors in sorted(self._errors.items())},
            refused=tuple(self._refused),
            undone=tuple(self._undone),
        )


# Futures of one session: forks with an action and without, each with a different random seed.


RESEED: Final = "reseed"


@dataclass(frozen=True, slots=True)
class ActionPlan:
    """Steps of the action, and the simulated time after the last of them, in microseconds."""

    steps: tuple[Step, ...]
    horizon_us: int


@dataclass(frozen=True, slots=True)
class LossGroup:
    """Lost acknowledged records of one partition and cause."""

    partition: str
    count: int
    committed: int
    acks: int
    cause: str


@dataclass(frozen=True, slots=True)
class ReaderImpact:
    """Effect on a consumer group (records, microseconds, counts): of a future, or what an action adds to it."""

    skipped: int = 0
    """Records below the group's position that it never received."""
    reread: int = 0
    """Records that it received again."""
    read_stall_us: int = 0
    """Longest time in which it received nothing of a partition that had records for it."""
    idle_us: int = 0
    """Time in which partitions had no owner, summed over them: the cost of rebalances and failed members."""
    resets: int = 0
    """Number of times ``auto.offset.reset`` moved a member."""

    def added_to(self, baseline: "ReaderImpact", read_stall_us: int) -> "ReaderImpact":
        """Return the difference to a baseline; the added stall depends on when each stall was, and is given."""
        more = [
            max(0, getattr(self, name) - getattr(baseline, name)) for name in ("skipped", "reread", "idle_us", "resets")
        ]
        return ReaderImpact(more[0], more[1], read_stall_us, more[2], more[3])


@dataclass(frozen=True, slots=True)
class Future:
    """Result of one simulated future."""

    seed: int
    end_us: int
    """Time at which the simulated time ended and settling began."""
    seen: ServiceIntervals
    acted: tuple[tuple[int, int], ...]
    """Time of each step, and the number of kernel events before it."""
    waited: str
    """Why not all steps acted; empty if they did."""
    unfinished: tuple[str, ...]
    """Operations still running at the end of the simulated time."""
    acked: int
    acked_lost: int
    committed_lost: int
    duplicates: int
    failed: int
    unknown: int
    readers: dict[str, ReaderImpact]
    """Effect by group; stalls from the fork to the end of the simulated time, the rest of the whole session."""
    losses: tuple[LossGroup, ...]
    violations: tuple[tuple[str, str, str], ...]
    """Violated invariants that this version guarantees: name, partition and detail."""
    digest: str
    """Digest of the whole session, settled and closed."""


class ForkSimulator:
    """Forks of a session at its start point. Every call continues from there and does not affect the others."""

    def __init__(self, start: StartPoint) -> None:
        """Run the session up to the start point.

        Raises:
            StartPointError: it does not reach the same state again.
        """
        self.start_point = start
        self.session: Session = start.session()
        self._playbook = self.session.playbook
        self._kept = self.session.save()

    def with_action(self, plan: ActionPlan, seed: int) -> Future:
        """Take the steps, and simulate what follows."""
        return self._go(plan.steps, seed, plan.horizon_us, -1)

    def without(self, seed: int, end_us: int) -> Future:
        """Simulate the same time without the steps."""
        return self._go((), seed, 0, end_us)

    def session_at_start(self) -> Session:
        """Return the session at the start point, to read or to run; valid until the next call of a method."""
        self.session.load(*self._kept)
        self.session.switch_playbook(self._playbook)
        return self.session

    def _go(self, steps: tuple[Step, ...], seed: int, horizon_us: int, end_us: int) -> Future:
        session = self.session_at_start()
        session.switch_playbook(
            replace(self._playbook, steps=(*self._playbook.steps, reseeding(self.start_point, seed), *steps))
        )
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
    """Rewrite the step at the beginning of a reason as an action of the question, if it is one."""
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


def reseeding(start: StartPoint, seed: int) -> Step:
    """Return the step that reseeds a future."""
    exact = start.executed if start.pending else -1
    return Step(
        index=FIRST, where=Position(1, 1), trigger=Trigger("at", start.at_us, executed=exact), verb="reseed",
        name=str(seed), label="0",
    )  # fmt: skip


FIRST: Final = 1 << 20
"""Index of the first step that a question adds: larger than any of a playbook."""


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


def _losses(result: SessionResult) -> tuple[LossGroup, ...]:
    """Merge losses with the same partition, cause and acks level."""
    groups: dict[tuple[str, str, int], tuple[int, int]] = {}
    for each in result.losses:
        key = (each.partition, each.cause, each.acks)
        count, committed = groups.get(key, (0, 0))
        groups[key] = (count + each.count, committed + (each.count if each.committed else 0))
    return tuple([LossGroup(name, lost, read, acks, cause) for (name, cause, acks), (lost, read) in groups.items()])


# Jobs that simulate the futures of one seed in another process, and their execution.


class SafetyCheckError(Exception):
    """The question cannot be answered; the message says why."""


@dataclass(frozen=True, slots=True)
class FuturePair:
    """The futures of one seed with the action and, up to the same time, without it."""

    action: Future
    baseline: Future


@dataclass(frozen=True, slots=True)
class SafetyCheckJob(PlaybookJob):
    """Job that evaluates a question with one seed."""

    start_point: StartPoint | None = None
    plan: ActionPlan | None = None
    fork: int = 0
    """Seed of all random draws after the start point."""

    def execute(self, on_progress: Callable[[JobProgress], None]) -> JobOutcome:
        """Run both futures; never raises."""
        assert self.start_point is not None
        assert self.plan is not None
        try:
            on_progress(JobProgress(self.start_point.at_us, "asking", ""))
            futures = _futures(self.start_point)
            action = futures.with_action(self.plan, self.fork)
            return JobOutcome(self, code=OK, found=FuturePair(action, futures.without(self.fork, action.end_us)))
        except (StartPointError, ModelError, PlaybookError) as error:
            return JobOutcome(self, error=str(error), code=BAD_INPUT)
        except KeyboardInterrupt:
            return JobOutcome(self, error="stopped", code=INTERRUPTED)
        except Exception as error:
            return JobOutcome(self, error=f"internal error: {type(error).__name__}: {error}", code=INTERNAL)


_LAST: Final[list[ForkSimulator]] = []
"""Cache of the session at the start point, since a process usually evaluates one point many times."""


def _futures(start: StartPoint) -> ForkSimulator:
    if not _LAST or _LAST[0].start_point != start:
        _LAST.clear()
        _LAST.append(ForkSimulator(start))
    return _LAST[0]


def run_seeds(
    start: StartPoint, plan: ActionPlan, seeds: Sequence[int], *, workers: int = 0, on_progress: Callable[[str], None]
) -> tuple[FuturePair, ...]:
    """Evaluate the question with every seed, in that many processes (0: one per core); in the order of the seeds.

    Raises:
        SafetyCheckError: a seed has no answer.
        KeyboardInterrupt: it was stopped.
    """
    jobs = [SafetyCheckJob("", start.path, start_point=start, plan=plan, fork=seed) for seed in seeds]
    ended: list[int] = []

    def on_end(number: int, outcome: JobOutcome) -> None:
        del outcome
        ended.append(number)
        on_progress(f"simulating: {len(ended)} of {len(jobs)} seeds")

    def on_job_progress(number: int, progress: JobProgress) -> None:
        del number, progress
        on_progress(f"simulating: {len(ended)} of {len(jobs)} seeds")

    outcomes = run_all(
        jobs, workers=workers, on_end=on_end, on_progress=on_job_progress, stop_after=lambda outcome: outcome.code != OK
    )
    _LAST.clear()
    if any(each.code == INTERRUPTED for each in outcomes):
        raise KeyboardInterrupt
    wrong = [each for each in outcomes if each.error and each.code > OK]
    if wrong:
        raise SafetyCheckError(wrong[0].error)
    return tuple([each.found for each in outcomes])
