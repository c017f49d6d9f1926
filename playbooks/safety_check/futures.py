"""One session, forked again and again where it stands: with an action and without, each time with other draws."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from cluster_model.protocol.events import InvariantViolated
from playbooks.engine.session import SLICE_US, Session
from playbooks.model.playbook import Position, Step, Trigger
from playbooks.results.result import Result
from playbooks.safety_check.simulation import Seen, Watch
from playbooks.safety_check.start_point import Standing

RESEED: Final = "reseed"


@dataclass(frozen=True, slots=True)
class Plan:
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
class Future:
    """What came of it under one seed."""

    seed: int
    end_us: int
    """When watching ended and settling began."""
    seen: Seen
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
    losses: tuple[Lost, ...]
    violations: tuple[tuple[str, str, str], ...]
    """Promises of the protocol that were broken though this version keeps them: name, partition and detail."""
    digest: str
    """Of the whole session, settled and closed."""


class Futures:
    """The session at one place. Every call goes on from there; none knows of another."""

    def __init__(self, standing: Standing) -> None:
        """Run the session up to its place.

        Raises:
            StandingError: it does not come to the same state again.
        """
        self.standing = standing
        self.session: Session = standing.session()
        self._playbook = self.session.playbook
        self._kept = self.session.save()

    def with_action(self, plan: Plan, seed: int) -> Future:
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
        watch = Watch(session)
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


def reseeding(standing: Standing, seed: int) -> Step:
    """The step at which the futures part."""
    exact = standing.executed if standing.pending else -1
    return Step(
        index=FIRST, where=Position(1, 1), trigger=Trigger("at", standing.at_us, executed=exact), verb="reseed",
        name=str(seed), label="0",
    )  # fmt: skip


FIRST: Final = 1 << 20
"""Number of the first step that a question adds: above all that a playbook can have."""


def _future(
    result: Result, seed: int, end_us: int, seen: Seen, acted: tuple[tuple[int, int], ...], waited: str,
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
        losses=_losses(result),
        violations=tuple([(each.invariant, each.partition, each.detail) for each in _unexpected(result)]),
        digest=result.digest,
    )


def _unexpected(result: Result) -> list[InvariantViolated]:
    return [each for each in result.violations if not each.known]


def _losses(result: Result) -> tuple[Lost, ...]:
    """Those with the same partition, cause and acks level as one."""
    found: dict[tuple[str, str, int], tuple[int, int]] = {}
    for each in result.losses:
        key = (each.partition, each.cause, each.acks)
        count, committed = found.get(key, (0, 0))
        found[key] = (count + each.count, committed + (each.count if each.committed else 0))
    return tuple([Lost(name, lost, read, acks, cause) for (name, cause, acks), (lost, read) in found.items()])
