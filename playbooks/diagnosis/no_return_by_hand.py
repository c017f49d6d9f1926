"""The point of no return of a session that is stepped by hand: the step after which nothing keeps the record.

Forks are the list of steps taken again up to one of them: no time passes, so that costs nothing. The actions are steps,
too. After each of them whatever is down is started, decisions are delivered to everybody, the leader first, and every
follower fetches until nothing comes. A record is kept if the leader's log holds it then, and nothing is lost in its
partition that the session itself had not lost.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

from cluster_model.checker.root_cause.findings import Finding, Place
from cluster_model.protocol.errors import ModelError
from cluster_model.protocol.events import Event, RecordsAcked
from playbooks.diagnosis.deciding import SIGNS, event_words, most_telling
from playbooks.diagnosis.evidence import Wanted, holders, is_kept, loses
from playbooks.diagnosis.point_of_no_return import NoReturn, first_acked
from playbooks.diagnosis.rescues import CALL_OFF, UNCLEAN, Rescue
from playbooks.engine.manual_session import ManualSession
from playbooks.model.playbook import Playbook
from playbooks.model.wording import step_name, step_words

SET: Final[dict[str, str]] = {
    CALL_OFF: "nothing but calling the remaining steps off",
    "catch-up": "having the followers fetch from their leader",
    "restart": "restarting a broker that is down",
    "elect": "electing a member of the ISR that holds the record",
    UNCLEAN: "stopping every replica that lacks it, and an unclean election of one that holds it",
}
"""Every kind of action, in the order in which they are tried and told."""
ROUNDS: Final = 4
"""Fetches of each follower: records, their high watermark, and whatever truncation asks for in between."""

_Deed = tuple[str, dict[str, Any]]


def find_by_hand(playbook: Playbook, seed: int, finding: Finding, given_up: Sequence[Place]) -> NoReturn:
    """Try everything after every step, from the last one back to the acknowledgement."""
    found = _find(playbook, seed, finding, given_up)
    names = tuple(step_name(step) for step in playbook.steps)
    return replace(found, steps=names, clean=replace(found.clean, steps=names) if found.clean is not None else None)


def _find(playbook: Playbook, seed: int, finding: Finding, given_up: Sequence[Place]) -> NoReturn:
    acked, signs = _walk(playbook, seed, finding)
    wanted, acked_step = acked
    count = len(playbook.steps)
    if wanted.log_offset < 0 or acked_step < 0:
        return NoReturn("unplaced", wanted, by_hand=True)
    saved: dict[int, tuple[Rescue, ...]] = {}
    last: dict[str, tuple[Rescue, int]] = {}
    for taken in range(count, acked_step - 1, -1):
        saved[taken] = saving(playbook, seed, taken, wanted, given_up)
        for rescue in saved[taken]:
            last.setdefault(rescue.words, (rescue, taken + 1))
    latest = next((taken for taken in saved if saved[taken]), -1)
    if latest < 0:
        return NoReturn("acknowledgement", wanted, at_us=acked_step, acked_us=acked_step, by_hand=True)
    if latest == count:
        return NoReturn("open", wanted, at_us=count, actions=saved[count], acked_us=acked_step, by_hand=True)
    return _answer(playbook, seed, wanted, (latest, acked_step), saved, tuple(last.values()), signs)


def _answer(
    playbook: Playbook,
    seed: int,
    wanted: Wanted,
    place: tuple[int, int],
    saved: dict[int, tuple[Rescue, ...]],
    last: tuple[tuple[Rescue, int], ...],
    signs: Sequence[tuple[int, Event]],
) -> NoReturn:
    latest, acked_step = place
    before = [(step, event) for step, event in signs if step <= latest + 1]
    sign, words = (before[0][0], event_words(before[0][1])) if before else (-1, "")
    event, told = _step(playbook, seed, latest, wanted.partition)
    clean = None
    if all(each.kind == UNCLEAN for each in saved[latest]):
        ordinary = {taken: tuple(each for each in kept if each.kind != UNCLEAN) for taken, kept in saved.items()}
        at = next((taken for taken in ordinary if ordinary[taken]), -1)
        if at >= 0:
            clean = _answer(playbook, seed, wanted, (at, acked_step), ordinary, (), signs)
        else:
            clean = NoReturn("acknowledgement", wanted, at_us=acked_step, acked_us=acked_step, by_hand=True)
    return NoReturn(
        "event", wanted, told, event.kind if event is not None else "step_taken", latest + 1, latest, saved[latest],
        acked_step, sign, words, True, last, clean,
    )  # fmt: skip


def _walk(
    playbook: Playbook, seed: int, finding: Finding
) -> tuple[tuple[Wanted, int], list[tuple[int, Event]]]:  # fmt: skip
    """The record of the finding that was acknowledged first with its step, and the warnings with theirs."""
    session = ManualSession.start(playbook, seed=seed)
    acked: list[tuple[int, RecordsAcked]] = []
    signs: list[tuple[int, Event]] = []
    for step in range(1, len(playbook.steps) + 1):
        session.advance(max_events=1)
        for event in session.drain():
            if isinstance(event, RecordsAcked):
                acked.append((step, event))
            elif event.kind in SIGNS:
                signs.append((step, event))
    for step, event in acked:
        wanted, at_us = first_acked(finding, [event])
        if at_us >= 0:
            return (wanted, step), signs
    return first_acked(finding, []), signs


def _step(playbook: Playbook, seed: int, taken: int, partition: str) -> tuple[Event | None, str]:
    """The step that follows, and what came of it."""
    session = stand(playbook, seed, taken)
    session.drain()
    step = playbook.steps[taken]
    session.advance(max_events=1)
    event = most_telling([each for each in session.drain() if each.kind != "step_taken"], partition)
    words = f"{step_name(step)}, {step_words(step)}"
    return event, f"{words} ({event_words(event)})" if event is not None else words


def stand(playbook: Playbook, seed: int, taken: int) -> ManualSession:
    """A session of its own after so many steps."""
    session = ManualSession.start(playbook, seed=seed)
    if taken:
        session.advance(max_events=taken)
    return session


def saving(
    playbook: Playbook, seed: int, taken: int, wanted: Wanted, given_up: Sequence[Place]
) -> tuple[Rescue, ...]:  # fmt: skip
    """The actions that keep the record after so many steps; where calling the rest off is enough, that alone."""
    kept: list[Rescue] = []
    for rescue, act in _actions(stand(playbook, seed, taken), wanted):
        session = stand(playbook, seed, taken)
        act(session)
        settle(session, wanted.partition)
        world, ledger = session.cluster.world, session.cluster.checker.ledger
        if is_kept(world, wanted) and not loses(world, ledger, wanted.partition, given_up):
            kept.append(rescue)
            if rescue.kind == CALL_OFF:
                break
    return tuple(kept)


def _actions(
    session: ManualSession, wanted: Wanted
) -> Iterator[tuple[Rescue, Callable[[ManualSession], None]]]:  # fmt: skip
    """What of the set means anything here, and how it is done."""
    world, partition = session.cluster.world, wanted.partition
    record = world.record(partition)
    there = holders(world, wanted)
    up = [broker for broker in record.assignment if world.is_up(broker)]
    yield Rescue(CALL_OFF, "going no further"), lambda _session: None
    yield (
        Rescue("catch-up", "having the followers fetch from their leader"),
        lambda session: _fetch_all(session, partition),
    )
    for broker in record.assignment:
        if broker not in up:
            yield Rescue("restart", f"restarting broker {broker}"), _doing(("restart", {"broker": broker}))
    for broker in there:
        start = () if broker in up else (("restart", {"broker": broker}),)
        if broker in record.isr and broker != record.leader:
            words = f"{'starting and ' if start else ''}electing broker {broker}"
            yield Rescue("elect", words), _doing(*start, *_election(partition, broker, unclean=False))
        stopped = [each for each in up if each not in there]
        stops = [("crash", {"broker": each}) for each in stopped]
        if broker != record.leader or stopped:
            who = f"stopping {' and '.join(f'broker {each}' for each in stopped)} and " if stopped else ""
            unclean = _election(partition, broker, unclean=True)
            words = f"{who}an unclean election of broker {broker}"
            yield Rescue(UNCLEAN, words), _doing(*stops, *start, *unclean)


def _election(partition: str, broker: int, *, unclean: bool) -> tuple[_Deed, ...]:
    elect: dict[str, Any] = {"partition": partition, "leader": broker, **({"unclean": True} if unclean else {})}
    return (("elect", elect), ("deliver", {"broker": broker, "partition": partition}))


def _doing(*deeds: _Deed) -> Callable[[ManualSession], None]:
    def act(session: ManualSession) -> None:
        for deed in deeds:
            _try(session, *deed)

    return act


def _try(session: ManualSession, verb: str, params: dict[str, Any]) -> str:
    """A step as far as it can be taken; what is refused changes nothing."""
    with suppress(ModelError):
        return session.cluster.act(verb, params)
    return "no step"


def settle(session: ManualSession, partition: str) -> None:
    """Start what is down, have somebody lead, tell everybody, and let the followers fetch."""
    cluster = session.cluster
    record = cluster.world.record(partition)
    for broker in record.assignment:
        if not cluster.world.is_up(broker):
            _try(session, "restart", {"broker": broker})
        _try(session, "unfence", {"broker": broker})
    if cluster.world.record(partition).leader < 0:
        for broker in cluster.world.record(partition).isr:
            _try(session, "elect", {"partition": partition, "leader": broker})
            if cluster.world.record(partition).leader >= 0:
                break
    leader = cluster.world.record(partition).leader
    for broker in (leader, *[each for each in record.assignment if each != leader]):
        _try(session, "deliver", {"broker": broker, "partition": partition})
    _fetch_all(session, partition)


def _fetch_all(session: ManualSession, partition: str) -> None:
    world = session.cluster.world
    leader = world.record(partition).leader
    for _round in range(ROUNDS):
        for broker in world.record(partition).assignment:
            if broker != leader and world.is_up(broker):
                _try(session, "fetch", {"follower": broker, "partition": partition})
