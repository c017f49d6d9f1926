"""The operator's actions that are tried to keep a record: a closed set, each with Kafka's admin tools or a service's.

With every one of them the rest of the session is called off first: no further step of the playbook, and nothing more
of what its operator did. What is broken stays broken until the action mends it, or until :data:`HOLD_US` later, when
producers stop and everything heals as at the end of every session. A record is kept if it is not lost after the quiet
time that follows (at least :data:`QUIET_US`), and if its partition has lost nothing that the session itself had not: an
action that saves one acknowledged record at the price of another does not count.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from cluster_model.checker.root_cause.findings import Place
from faults.declarations.action import Action, Value
from faults.declarations.fault import FaultError
from playbooks.diagnosis.evidence import Wanted, holders, in_order, is_kept, loses
from playbooks.engine.session import Session

HOLD_US: Final = 20_000_000
"""From an action to the healing of whatever is still broken."""
QUIET_US: Final = 30_000_000
"""From then to the verdict at least."""
ELECTION_US: Final = 12_000_000
"""From stopping brokers until an election is asked for: longer than the default sessions of a broker."""
MOVE_US: Final = 3_000_000
_LOOK_US: Final = 500_000

CALL_OFF: Final = "call-off"
UNCLEAN: Final = "elect-unclean"
SET: Final[dict[str, str]] = {
    CALL_OFF: "nothing but calling the rest off",
    "heal": "healing everything that is broken, brokers that are down included",
    "restart": "restarting a broker that is down",
    "forbid-unclean": "setting unclean.leader.election.enable=false on the topic",
    "stop-lacking": "stopping every replica that lacks the record",
    "lead": "moving the leadership to a running replica that holds it",
    UNCLEAN: "stopping the producers and every replica that lacks it, and an unclean election among those that hold it",
}
"""Every kind of action, in the order in which they are tried and told."""


@dataclass(frozen=True, slots=True)
class Rescue:
    """One action for one situation."""

    kind: str
    """Of :data:`SET`."""
    words: str
    """As the subject of a sentence: ``restarting broker 2``."""
    deeds: tuple[tuple[int, Action], ...] = ()
    """What is done, and how long after the fork."""
    producers: bool = True
    """Whether they go on."""


def rescues(session: Session, wanted: Wanted) -> Iterator[Rescue]:
    """What of the set means anything where a session stands."""
    world = session.cluster.world
    record = world.records.get(wanted.partition)
    yield Rescue(CALL_OFF, "going no further")
    if session.board.active():
        yield Rescue("heal", "healing everything that was broken", ((0, Action("heal", "all")),))
    if record is None:
        return
    down = [broker for broker in record.assignment if not world.is_up(broker)]
    for broker in down:
        yield Rescue("restart", f"restarting broker {broker}", ((0, _restart(broker)),))
    topic = wanted.partition.rpartition("-")[0]
    forbidding: dict[str, Value] = {"topic": topic, "set": (("unclean.leader.election.enable", "false"),)}
    yield Rescue(
        "forbid-unclean",
        f"unclean.leader.election.enable=false on {topic}",
        ((0, Action("admin", "alter_topic_config", "", forbidding)),),
    )
    yield from _of_holders(session, wanted, record.assignment, down)


def _of_holders(
    session: Session, wanted: Wanted, assignment: tuple[int, ...], down: list[int]
) -> Iterator[Rescue]:  # fmt: skip
    """Actions that need somebody who has the record."""
    there = [broker for broker in holders(session.cluster.world, wanted) if broker in assignment]
    lacking = [broker for broker in assignment if broker not in there and broker not in down]
    if not there:
        return
    stopping = tuple((0, Action("inject", "crash", f"broker({broker})")) for broker in lacking)
    names = " and ".join(f"broker {broker}" for broker in lacking)
    if lacking:
        yield Rescue("stop-lacking", f"stopping {names}", stopping)
    leader = session.cluster.world.record(wanted.partition).leader
    for broker in there:
        if broker not in down and broker != leader:
            order = (broker, *[other for other in assignment if other != broker])
            move = Action("admin", "reassign", "", {"partition": wanted.partition, "brokers": order})
            elect = Action("admin", "elect_leaders", "", {"partition": wanted.partition})
            yield Rescue("lead", f"moving the leadership to broker {broker}", ((0, move), (MOVE_US, elect)))
    if leader in there and leader not in down:
        return
    starting = tuple((0, _restart(broker)) for broker in there if broker in down)
    elect = Action("admin", "elect_leaders", "", {"partition": wanted.partition, "unclean": True})
    started = f"starting {' and '.join(f'broker {each}' for each in there if each in down)}, " if starting else ""
    stopped = f", stopping {names}" if lacking else ""
    words = f"{started}stopping the producers{stopped}, and an unclean election of {_one_of(there)}"
    yield Rescue(UNCLEAN, words, (*stopping, *starting, (ELECTION_US, elect)), producers=False)


def _one_of(brokers: list[int]) -> str:
    return " or ".join(f"broker {broker}" for broker in brokers)


def _restart(broker: int) -> Action:
    return Action("inject", "restart", f"broker({broker})")


def keeps(fork: Callable[[], Session], rescue: Rescue, wanted: Wanted, given_up: Sequence[Place]) -> bool:
    """Whether an action, done where ``fork`` stands, keeps the record and loses none but those ``given_up``."""
    session = fork()
    session.call_off()
    if not rescue.producers:
        session.cluster.stop_producers()
    start = session.cluster.now_us
    for after_us, action in rescue.deeds:
        session.advance(start + after_us)
        with suppress(FaultError):
            session.act(action)
    fate = _run(session, wanted, start + HOLD_US)
    if fate is None:
        session.cluster.stop_producers()
        session.board.heal("all")
        fate = _run(session, wanted, session.cluster.now_us + max(QUIET_US, session.playbook.settle_us))
    if fate is None:
        fate = is_kept(session.cluster.world, wanted)
    return fate and not loses(session.cluster.world, session.cluster.checker.ledger, wanted.partition, given_up)


def _run(session: Session, wanted: Wanted, until_us: int) -> bool | None:
    """Run on until the record's fate is certain; None when it is not by then."""
    world = session.cluster.world
    while True:
        if not holders(world, wanted):
            return False
        if not session.board.active() and not session.board.operations() and in_order(world, wanted):
            return True
        if session.cluster.now_us >= until_us:
            return None
        session.advance(min(until_us, session.cluster.now_us + _LOOK_US))
