"""The point of no return: the last event after which no action of a fixed set could have kept a lost record.

The search forks the session. Between a record's acknowledgement and the end of the session the deciding events
(faults, steps, elections, truncations, ISR changes) are examined from the latest backwards: right before each, every
action of the set is tried, until one keeps the record. The interval up to the next such event is then bisected down to
a single event of the model, before which an action keeps the record and after which none does. An action may help at
one time and not at an earlier one; the answer is the latest.

Of a finding with many records the one that was acknowledged first is examined.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Final

from cluster_model.checker.root_cause import Finding, RecordBlock
from cluster_model.protocol.errors import ModelError
from cluster_model.protocol.events import Event, RecordsAcked, StepTaken
from cluster_model.util.quantities import counted
from playbooks.diagnosis.evidence import (
    DECIDING,
    WARNING_KINDS,
    EvidenceRecord,
    holders,
    is_kept,
    loses,
    most_informative,
    time_of,
    wanted_of,
)
from playbooks.diagnosis.remedies import CALL_OFF, UNCLEAN, RescueAction, keeps, rescues
from playbooks.engine.manual_session import ManualSession
from playbooks.engine.session import SLICE_US, Session
from playbooks.engine.session_runner import repeat_action, run_to_position
from playbooks.event_text import event_sentence
from playbooks.model.playbook import Playbook
from playbooks.model.step_text import step_name, step_text
from playbooks.timetravel.branches import FOREVER, ForkAction, SessionForks

CANDIDATES: Final = 80
"""Number of deciding events examined, the latest of them; before those only the acknowledgement itself."""

COARSE: Final = DECIDING[: DECIDING.index("isr_changed")]
"""Event kinds right before which every action is tried; the interval in between is bisected."""
AHEAD: Final = 400
"""Number of kernel events searched for the effect of a message."""

ProgressText = Callable[[str], None]
"""Progress callback."""


@dataclass(frozen=True, slots=True)
class PointOfNoReturn:
    """Point of no return of one finding. ``kind`` says which answer it is."""

    kind: str
    """``event``: there is such a point. ``acknowledgement``: nothing could have kept the record from the beginning.
    ``open``: at the end of the session an action would still have kept it. ``unplaced``: it never reached any log.
    """
    wanted: EvidenceRecord
    words: str = ""
    """The event as text."""
    event_kind: str = ""
    at_us: int = -1
    executed: int = -1
    """Number of kernel events handled right before it; with manual stepping the number of steps taken."""
    actions: tuple[RescueAction, ...] = ()
    """Actions that would have kept the record right before it, in the order of the set."""
    acked_us: int = -1
    sign_us: int = -1
    """Time of the first fault before it, -1: there was none."""
    sign: str = ""
    manual: bool = False
    """Whether the session is stepped manually: then ``at_us`` and other times are positions among ``steps``, from 1."""
    last: tuple[tuple[RescueAction, int], ...] = field(default=())
    """Manual: every action that ever worked, and the last step before which it does."""
    clean: "PointOfNoReturn | None" = None
    """The same without unclean elections, if only an unclean election worked last."""
    steps: tuple[str, ...] = ()
    """Manual: the name of each step as shown elsewhere. Steps for other versions only are left out and groups are
    repeated, so that a position is not the number of a step.
    """

    @property
    def time_left_us(self) -> int:
        """Time from the first warning to the point of no return; -1 without a warning."""
        return self.at_us - self.sign_us if 0 <= self.sign_us <= self.at_us else -1

    def step(self, position: int) -> str:
        """Manual: the name of the step at a position from 1, ``step 26``; ``the end`` after the last."""
        return self.steps[position - 1] if 0 < position <= len(self.steps) else "the end" if position > 0 else ""

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of the published document."""
        document: dict[str, Any] = {
            "kind": self.kind,
            "record": self.wanted.to_json(),
            "event": self.event_kind,
            "description": self.words,
            "actions": [{"kind": each.kind, "description": each.words} for each in self.actions],
            "first_sign": self.sign,
        }
        document["without_unclean"] = self.clean.to_json() if self.clean is not None else None
        if self.manual:
            last = [
                {"kind": each.kind, "description": each.words, "before_step": self.step(at)} for each, at in self.last
            ]
            places = {"step": self.at_us, "acked_step": self.acked_us, "sign_step": self.sign_us}
            return document | {name: self.step(place) for name, place in places.items()} | {"last": last}
        return document | {
            "at_us": self.at_us,
            "executed": self.executed,
            "acked_us": self.acked_us,
            "sign_us": self.sign_us,
            "time_left_us": self.time_left_us,
        }


@dataclass(slots=True)
class LossHistory:
    """Events of a complete run that matter for a loss."""

    wanted: EvidenceRecord
    acked_us: int
    end_us: int
    deciding: list[Event]
    """Deciding events in order, from the beginning of the session."""


def first_acknowledged(finding: Finding, acked: Sequence[RecordsAcked]) -> tuple[EvidenceRecord, int]:
    """Return the record of a finding that was acknowledged first, and when; -1 if no acknowledgement is known."""
    best: tuple[EvidenceRecord, int] = (wanted_of(finding.blocks[0]), -1)
    for block in finding.blocks:
        for event in acked:
            covered = event.sequence <= block.sequence < event.sequence + event.count
            if (event.client, event.partition) == (block.client, block.partition) and covered:
                if best[1] < 0 or event.at_us < best[1]:
                    best = wanted_of(block), event.at_us
                break
    return best


def collect_history(start: Callable[[], Session], actions: Sequence[ForkAction], finding: Finding) -> LossHistory:
    """Run the whole session once, and collect the events that the search needs."""
    session = start()
    acked: list[RecordsAcked] = []
    deciding: list[Event] = []
    clients, partitions = finding.clients, finding.partitions

    def take() -> None:
        for event in session.drain():
            if isinstance(event, RecordsAcked):
                if event.client in clients and event.partition in partitions and _wanted(event, finding):
                    acked.append(event)
            elif event.kind in DECIDING and getattr(event, "partition", "") in ("", *partitions):
                deciding.append(event)

    for each in actions:
        while session.cluster.now_us < each.at_us - SLICE_US:
            session.advance(session.cluster.now_us + SLICE_US)
            take()
        run_to_position(session, each.at_us, each.executed, each.steps)
        repeat_action(session, each.verb, each.action)
        take()
    while session.phase != "ended":
        session.advance(session.cluster.now_us + SLICE_US)
        take()
        if session.open_ended and session.phase == "steps" and session.until_us < 0:
            session.settle()
    wanted, acked_us = first_acknowledged(finding, acked)
    return LossHistory(wanted, acked_us, session.cluster.now_us, deciding)


def _wanted(event: RecordsAcked, finding: Finding) -> bool:
    return any(
        (place.client, place.partition) == (event.client, event.partition)
        and event.sequence <= place.sequence < event.sequence + event.count
        for place in finding.blocks
    )


class PointOfNoReturnSearch:
    """Search for the point of no return of one finding of a timed session."""

    def __init__(
        self,
        start: Callable[[], Session],
        actions: Sequence[ForkAction],
        finding: Finding,
        already_lost: Sequence[RecordBlock],
        on_progress: ProgressText = lambda text: None,
    ) -> None:
        """``already_lost``: everything that the session lost, of any finding."""
        self._history = collect_history(start, actions, finding)
        self.wanted = self._history.wanted
        self._forks = SessionForks(start, actions)
        self._already_lost = already_lost
        self._on_progress = on_progress
        self._left_out: tuple[str, ...] = ()
        """Kinds of actions that are no longer tried."""
        self.tried = 0
        """Number of actions run so far."""

    def find(self) -> PointOfNoReturn:
        """Return the point of no return."""
        history = self._history
        if self.wanted.log_offset < 0 or history.acked_us < 0:
            return PointOfNoReturn("unplaced", self.wanted)
        end_us = history.end_us - 1
        if kept := self.saving(lambda: self._forks.at_time(end_us)):
            return PointOfNoReturn("open", self.wanted, at_us=end_us, actions=kept, acked_us=history.acked_us)
        found = self._find(end_us)
        if found.actions and all(each.kind == UNCLEAN for each in found.actions):
            self._left_out = (UNCLEAN,)
            return replace(found, clean=self._find(found.at_us))
        return found

    def _find(self, end_us: int) -> PointOfNoReturn:
        history, after = self._history, end_us
        for at_us in self._instants():
            if at_us >= end_us:
                continue
            self._on_progress(f"at {at_us // 1_000_000}s of the session, {counted(self.tried, 'action')} tried")
            kept = self.saving(lambda: self._forks.at_time(at_us))  # noqa: B023 - called right here
            if kept:
                return self._narrowed(at_us, after, kept)
            after = at_us
        return PointOfNoReturn("acknowledgement", self.wanted, at_us=history.acked_us, acked_us=history.acked_us)

    def saving(self, fork: Callable[[], Session], kinds: Sequence[str] = ()) -> tuple[RescueAction, ...]:
        """Return the actions, of these ``kinds`` or of all, that keep the record from the point of ``fork``.

        If cancelling the remaining steps is enough, return that alone.
        """
        session = fork()
        if not holders(session.cluster.cluster_state, self.wanted):
            return ()
        found = [each for each in rescues(session, self.wanted) if each.kind not in self._left_out]
        kept: list[RescueAction] = []
        for rescue in found:
            if kinds and rescue.kind not in kinds:
                continue
            self.tried += 1
            if keeps(fork, rescue, self.wanted, self._already_lost):
                kept.append(rescue)
                if rescue.kind == CALL_OFF:
                    break
        return tuple(kept)

    def _instants(self) -> list[int]:
        """Return the times to examine, the latest first; the last of them is that of the acknowledgement."""
        history = self._history
        times = {time_of(event): None for event in history.deciding if event.kind in COARSE}
        found = sorted((at_us - 1 for at_us in times if at_us > history.acked_us + 1), reverse=True)
        return [*found[:CANDIDATES], history.acked_us]

    def _narrowed(self, low_us: int, high_us: int, kept: tuple[RescueAction, ...]) -> PointOfNoReturn:
        """Bisect between a time at which the record can be kept and one at which it cannot, down to one event."""
        forks = self._forks
        low, last = forks.at_time(low_us).cluster.executed, forks.at_time(high_us).cluster.executed
        high = last
        while high - low > 1 or (high < last and (more := self._at(high, ()))):
            if high - low <= 1:  # another action helps again
                low, high, kept = high, last, more
                continue
            middle = (low + high) // 2
            self._on_progress(f"{counted(high - low, 'event')} left, {counted(self.tried, 'action')} tried")
            found = self._at(middle, tuple(each.kind for each in kept))
            low, high, kept = (middle, high, found) if found else (low, middle, kept)
        place = self._last_place(low, low_us)
        return self._named(place, low, self.saving(place))

    def _at(self, executed: int, kinds: Sequence[str]) -> tuple[RescueAction, ...]:
        return self.saving(lambda: self._forks.at_event(executed), kinds)

    def _last_place(self, low: int, low_us: int) -> Callable[[], Session]:
        """Return the last point after ``low`` events at which an action helps: before or after the steps due there."""
        forks = self._forks
        before: Callable[[], Session] = lambda: forks.at_event(low)  # noqa: E731
        session = before()
        session.advance(FOREVER, 1)
        steps = [event.at_us for event in session.drain() if isinstance(event, StepTaken)]
        for at_us in sorted({*steps, low_us}, reverse=True):
            behind: Callable[[], Session] = lambda at_us=at_us: forks.at_time(at_us)  # type: ignore[misc] # noqa: E731
            if behind().cluster.executed == low and self.saving(behind):
                return behind
        return before

    def _named(self, replay: Callable[[], Session], low: int, kept: tuple[RescueAction, ...]) -> PointOfNoReturn:
        """Return the answer for the next event at a point."""
        session = replay()
        session.advance(FOREVER, 1)
        came_us = session.cluster.now_us
        chosen = most_informative(session.drain(), self.wanted.partition)
        on_its_way = 0
        while chosen is None and on_its_way < AHEAD and session.advance(FOREVER, 1):
            chosen = most_informative(session.drain(), self.wanted.partition)
            on_its_way += 1
        history = self._history
        at_us = time_of(chosen) if chosen is not None and not on_its_way else came_us
        words = event_sentence(chosen) if chosen is not None else "a protocol message"
        signs = [event for event in history.deciding if event.kind in WARNING_KINDS and time_of(event) <= at_us]
        return PointOfNoReturn(
            "event",
            self.wanted,
            (f"the message that led to: {words}" if on_its_way else words),
            chosen.kind if chosen is not None else "",
            at_us,
            low,
            kept,
            history.acked_us,
            time_of(signs[0]) if signs else -1,
            event_sentence(signs[0]) if signs else "",
        )


# The point of no return of a manually stepped session: the step after which nothing keeps the record.
#
# A fork repeats the steps up to one of them: no time passes, so that costs nothing. The actions are steps, too. After
# each of them every broker that is down is started, metadata is delivered to all brokers, the leader first, and every
# follower fetches until nothing is left. A record is kept if the leader's log holds it then, and nothing else is lost
# in its partition that the session itself had not lost.


SET: Final[dict[str, str]] = {
    CALL_OFF: "only cancelling the remaining steps",
    "catch-up": "having the followers fetch from their leader",
    "restart": "restarting a broker that is down",
    "elect": "electing a member of the ISR that holds the record",
    UNCLEAN: "stopping every replica that lacks it, and an unclean election of one that holds it",
}
"""Kinds of actions with their descriptions, in the order in which they are tried and listed."""
ROUNDS: Final = 4
"""Fetches of each follower: records, their high watermark, and those needed for truncation."""

_ManualStep = tuple[str, dict[str, Any]]


def find_manual(
    playbook: Playbook, seed: int, finding: Finding, already_lost: Sequence[RecordBlock]
) -> PointOfNoReturn:
    """Try every action after every step, from the last step back to the acknowledgement."""
    found = _find(playbook, seed, finding, already_lost)
    names = tuple(step_name(step) for step in playbook.steps)
    return replace(found, steps=names, clean=replace(found.clean, steps=names) if found.clean is not None else None)


def _find(playbook: Playbook, seed: int, finding: Finding, already_lost: Sequence[RecordBlock]) -> PointOfNoReturn:
    acked, signs = _walk(playbook, seed, finding)
    wanted, acked_step = acked
    count = len(playbook.steps)
    if wanted.log_offset < 0 or acked_step < 0:
        return PointOfNoReturn("unplaced", wanted, manual=True)
    saved: dict[int, tuple[RescueAction, ...]] = {}
    last: dict[str, tuple[RescueAction, int]] = {}
    for taken in range(count, acked_step - 1, -1):
        saved[taken] = keeping_actions(playbook, seed, taken, wanted, already_lost)
        for rescue in saved[taken]:
            last.setdefault(rescue.words, (rescue, taken + 1))
    latest = next((taken for taken in saved if saved[taken]), -1)
    if latest < 0:
        return PointOfNoReturn("acknowledgement", wanted, at_us=acked_step, acked_us=acked_step, manual=True)
    if latest == count:
        return PointOfNoReturn("open", wanted, at_us=count, actions=saved[count], acked_us=acked_step, manual=True)
    return _answer(playbook, seed, wanted, (latest, acked_step), saved, tuple(last.values()), signs)


def _answer(
    playbook: Playbook,
    seed: int,
    wanted: EvidenceRecord,
    position: tuple[int, int],
    saved: dict[int, tuple[RescueAction, ...]],
    last: tuple[tuple[RescueAction, int], ...],
    signs: Sequence[tuple[int, Event]],
) -> PointOfNoReturn:
    latest, acked_step = position
    before = [(step, event) for step, event in signs if step <= latest + 1]
    sign, words = (before[0][0], event_sentence(before[0][1])) if before else (-1, "")
    event, text = _step(playbook, seed, latest, wanted.partition)
    clean = None
    if all(each.kind == UNCLEAN for each in saved[latest]):
        ordinary = {taken: tuple(each for each in kept if each.kind != UNCLEAN) for taken, kept in saved.items()}
        at = next((taken for taken in ordinary if ordinary[taken]), -1)
        if at >= 0:
            clean = _answer(playbook, seed, wanted, (at, acked_step), ordinary, (), signs)
        else:
            clean = PointOfNoReturn("acknowledgement", wanted, at_us=acked_step, acked_us=acked_step, manual=True)
    return PointOfNoReturn(
        "event", wanted, text, event.kind if event is not None else "step_taken", latest + 1, latest, saved[latest],
        acked_step, sign, words, True, last, clean,
    )  # fmt: skip


def _walk(
    playbook: Playbook, seed: int, finding: Finding
) -> tuple[tuple[EvidenceRecord, int], list[tuple[int, Event]]]:  # fmt: skip
    """Return the record of the finding acknowledged first with its step, and the warnings with their steps."""
    session = ManualSession.start(playbook, seed=seed)
    acked: list[tuple[int, RecordsAcked]] = []
    signs: list[tuple[int, Event]] = []
    for step in range(1, len(playbook.steps) + 1):
        session.advance(max_events=1)
        for event in session.drain():
            if isinstance(event, RecordsAcked):
                acked.append((step, event))
            elif event.kind in WARNING_KINDS:
                signs.append((step, event))
    for step, event in acked:
        wanted, at_us = first_acknowledged(finding, [event])
        if at_us >= 0:
            return (wanted, step), signs
    return first_acknowledged(finding, []), signs


def _step(playbook: Playbook, seed: int, taken: int, partition: str) -> tuple[Event | None, str]:
    """Return the most informative event of the next step, and the step as text."""
    session = move_to_position(playbook, seed, taken)
    session.drain()
    step = playbook.steps[taken]
    session.advance(max_events=1)
    event = most_informative([each for each in session.drain() if each.kind != "step_taken"], partition)
    text = f"{step_name(step)}, {step_text(step)}"
    return event, f"{text} ({event_sentence(event)})" if event is not None else text


def move_to_position(playbook: Playbook, seed: int, taken: int) -> ManualSession:
    """Return a new session after that many steps."""
    session = ManualSession.start(playbook, seed=seed)
    if taken:
        session.advance(max_events=taken)
    return session


def keeping_actions(
    playbook: Playbook, seed: int, taken: int, wanted: EvidenceRecord, already_lost: Sequence[RecordBlock]
) -> tuple[RescueAction, ...]:  # fmt: skip
    """Return the actions that keep the record after that many steps; if cancelling the rest is enough, that alone."""
    kept: list[RescueAction] = []
    for rescue, act in _actions(move_to_position(playbook, seed, taken), wanted):
        session = move_to_position(playbook, seed, taken)
        act(session)
        settle(session, wanted.partition)
        cluster_state, ledger = session.cluster.cluster_state, session.cluster.checker.ledger
        if is_kept(cluster_state, wanted) and not loses(cluster_state, ledger, wanted.partition, already_lost):
            kept.append(rescue)
            if rescue.kind == CALL_OFF:
                break
    return tuple(kept)


def _actions(
    session: ManualSession, wanted: EvidenceRecord
) -> Iterator[tuple[RescueAction, Callable[[ManualSession], None]]]:  # fmt: skip
    """Yield the actions of the set that apply here, each with the function that executes it."""
    cluster_state, partition = session.cluster.cluster_state, wanted.partition
    record = cluster_state.record(partition)
    there = holders(cluster_state, wanted)
    up = [broker for broker in record.assignment if cluster_state.is_up(broker)]
    yield RescueAction(CALL_OFF, "cancelling the remaining steps"), lambda _session: None
    yield (
        RescueAction("catch-up", "having the followers fetch from their leader"),
        lambda session: _fetch_all(session, partition),
    )
    for broker in record.assignment:
        if broker not in up:
            yield RescueAction("restart", f"restarting broker {broker}"), _doing(("restart", {"broker": broker}))
    for broker in there:
        start = () if broker in up else (("restart", {"broker": broker}),)
        if broker in record.isr and broker != record.leader:
            words = f"{'starting and ' if start else ''}electing broker {broker}"
            yield RescueAction("elect", words), _doing(*start, *_election(partition, broker, unclean=False))
        stopped = [each for each in up if each not in there]
        stops = [("crash", {"broker": each}) for each in stopped]
        if broker != record.leader or stopped:
            stopping = f"stopping {' and '.join(f'broker {each}' for each in stopped)} and " if stopped else ""
            unclean = _election(partition, broker, unclean=True)
            words = f"{stopping}an unclean election of broker {broker}"
            yield RescueAction(UNCLEAN, words), _doing(*stops, *start, *unclean)


def _election(partition: str, broker: int, *, unclean: bool) -> tuple[_ManualStep, ...]:
    elect: dict[str, Any] = {"partition": partition, "leader": broker, **({"unclean": True} if unclean else {})}
    return (("elect", elect), ("deliver", {"broker": broker, "partition": partition}))


def _doing(*fault_records: _ManualStep) -> Callable[[ManualSession], None]:
    def act(session: ManualSession) -> None:
        for fault_record in fault_records:
            _try(session, *fault_record)

    return act


def _try(session: ManualSession, verb: str, params: dict[str, Any]) -> str:
    """Take a step if it can be taken; a failed step changes nothing."""
    with suppress(ModelError):
        return session.cluster.act(verb, params)
    return "no step"


def settle(session: ManualSession, partition: str) -> None:
    """Start all brokers that are down, elect a leader, deliver metadata to all, and let the followers fetch."""
    cluster = session.cluster
    record = cluster.cluster_state.record(partition)
    for broker in record.assignment:
        if not cluster.cluster_state.is_up(broker):
            _try(session, "restart", {"broker": broker})
        _try(session, "unfence", {"broker": broker})
    if cluster.cluster_state.record(partition).leader < 0:
        for broker in cluster.cluster_state.record(partition).isr:
            _try(session, "elect", {"partition": partition, "leader": broker})
            if cluster.cluster_state.record(partition).leader >= 0:
                break
    leader = cluster.cluster_state.record(partition).leader
    for broker in (leader, *[each for each in record.assignment if each != leader]):
        _try(session, "deliver", {"broker": broker, "partition": partition})
    _fetch_all(session, partition)


def _fetch_all(session: ManualSession, partition: str) -> None:
    cluster_state = session.cluster.cluster_state
    leader = cluster_state.record(partition).leader
    for _round in range(ROUNDS):
        for broker in cluster_state.record(partition).assignment:
            if broker != leader and cluster_state.is_up(broker):
                _try(session, "fetch", {"follower": broker, "partition": partition})
