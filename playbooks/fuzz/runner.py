"""One storm: a session that is advanced by drawn amounts, looked at, and struck, until everything heals.

What is done are ordinary actions, each with the exact place where it was done. So what comes of it is a playbook like
any other, and nothing here has to be there to run it again.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from faults.catalogue import CATALOGUE
from faults.declarations.action import Action
from faults.declarations.fault import FaultError
from playbooks.engine.session import Session
from playbooks.fuzz.aiming import Aimer
from playbooks.fuzz.protocol_states import STATES, Found, Sight, own_partitions, possible, standing
from playbooks.fuzz.seeds import Dice
from playbooks.fuzz.swarm import Swarm
from playbooks.model.playbook import Step, Trigger
from playbooks.model.ranges import SECOND
from playbooks.results.result import Result

TRIES: Final = 6
"""Actions that are drawn for one strike before it is given up."""
PATIENCE_US: Final = 4 * SECOND
"""The longest wait for a state, and no more than a quarter of the chaos."""
LATELY_US: Final = 2 * SECOND
"""For how long something is expected to come of a strike that is over already."""
LATER: Final = 25
"""Strikes in a hundred that come a little after the state that they waited for."""
AFTER_US: Final = 20_000
"""The longest from when a state is seen until it is struck, where that is not at once."""
WARM_UP_US: Final = 2 * SECOND
"""The latest time of the first strike."""
DOWN: Final = 15
"""Strikes in a hundred that come although most brokers are down."""
LOOK_US: Final = SECOND // 10
"""Between two looks at whether all is well again."""
NEVER: Final = -1
COMPANY: Final = 25
"""Strikes in a hundred that the next one follows on the heels of."""


@dataclass(frozen=True, slots=True)
class Strike:
    """An action that was done, the place where, and the states that held then."""

    trigger: Trigger
    action: Action
    states: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Own:
    """A step of the playbook's own, and the place where it acted."""

    trigger: Trigger
    step: Step


@dataclass(slots=True)
class Driven:
    """All that was done in one storm, and what came of it."""

    result: Result
    acts: list[Strike | Own] = field(default_factory=list)
    settled_us: int = 0
    """When everything healed."""
    recovery_us: int = 0
    """From then until every partition was led and whole and stayed so; :data:`NEVER` where one was not at the end."""
    refused: int = 0
    """Actions that could not be done to whom they were meant for."""
    waited: int = 0
    """Strikes that waited for a state ..."""
    met: int = 0
    """... which came."""

    @property
    def strikes(self) -> list[Strike]:
        """What the storm did."""
        return [each for each in self.acts if isinstance(each, Strike)]


def drive(swarm: Swarm, session: Session) -> Driven:
    """Run a storm through to its end; ``session`` stands at its first instant."""
    return _Driver(swarm, session).run()


class _Driver:
    """Where a storm stands."""

    def __init__(self, swarm: Swarm, session: Session) -> None:
        self._swarm = swarm
        self._session = session
        self._cluster = session.cluster
        self._when = Dice(swarm.seed, "when")
        self._what = Dice(swarm.seed, "what")
        self._aimer = Aimer(session.cluster, Dice(swarm.seed, "whom"))
        self._sight = Sight(session.cluster, own_partitions(session.cluster))
        self._wide = Sight(session.cluster, all_partitions=True)
        self._states = possible(session.cluster)
        self._acts: list[Strike | Own] = []
        self._refused = self._waited = self._met = 0
        self._patience_us = min(PATIENCE_US, swarm.chaos_us // 4)
        session.on_step = self._own

    def _own(self, step: Step) -> None:
        self._acts.append(Own(self._here(exact=True), step))

    def _here(self, *, exact: bool) -> Trigger:
        """The very place: within its instant after so many events, else when all that is due by now was handled."""
        return Trigger("at", self._cluster.now_us, executed=self._cluster.executed if exact else -1)

    def run(self) -> Driven:
        """Strike until the chaos is over, then let it settle."""
        end_us = self._swarm.chaos_us
        self._advance(min(end_us, self._when.between(0, WARM_UP_US)))
        while self._cluster.now_us < end_us and self._session.phase == "steps":
            if len(self._session.board.active()) >= self._swarm.at_once:
                self._advance(min(end_us, self._until_fewer()))
                continue
            if self._stands() or self._when.chance(DOWN):
                self._strike(end_us)
                if self._when.chance(COMPANY):
                    continue
            pause_us = self._when.spread(self._swarm.healthy_us // 8, self._swarm.healthy_us)
            self._advance(min(end_us, self._cluster.now_us + max(1, pause_us)))
        self._advance(self._cluster.now_us)
        settled_us = self._cluster.now_us
        recovery_us = self._recover(settled_us)
        result = self._session.finish()
        return Driven(result, self._acts, settled_us, recovery_us, self._refused, self._waited, self._met)

    def _advance(self, until_us: int) -> None:
        while self._session.phase == "steps" and (
            self._cluster.now_us < until_us or self._cluster.next_event_us() == until_us
        ):
            self._session.advance(until_us)
            self._session.drain()

    def _recover(self, settled_us: int) -> int:
        """Let it settle to its end; for how long not all was well."""
        query = self._cluster.query
        self._session.settle()
        ill_us, more = settled_us, True
        while more:
            more = self._session.advance(self._cluster.now_us + LOOK_US)
            self._session.drain()
            if query.under_replicated() or query.offline_partitions():
                ill_us = self._cluster.now_us
        return NEVER if ill_us == self._cluster.now_us > settled_us else ill_us - settled_us

    def _until_fewer(self) -> int:
        """When a fault ends by itself, or, where none does, after a while."""
        ends = [fault.until_us for fault in self._session.board.active() if fault.until_us > self._cluster.now_us]
        return min(ends, default=self._cluster.now_us + self._swarm.healthy_us)

    def _strike(self, end_us: int) -> None:
        """Wait for a state, if this is to be a strike that does, and strike."""
        where = ""
        if self._swarm.states and self._when.chance(self._swarm.steered) and self._stirs():
            where = self._wait(end_us)
        if self._cluster.now_us >= end_us or self._session.phase != "steps":
            return
        states = standing(self._wide, self._states)
        for _try in range(TRIES):
            action = self._aimer.action(
                self._kind(), where, self._when.spread(self._swarm.fault_us // 8, self._swarm.fault_us)
            )
            if self._done(action, states):
                return
            self._refused += 1

    def _stands(self) -> bool:
        """Whether at least half of the brokers serve: what is down already shows little when it is struck again."""
        brokers = self._cluster.brokers
        serving = sum(each.control.registered and self._cluster.is_up(number) for number, each in brokers.items())
        return 2 * serving >= len(brokers)

    def _stirs(self) -> bool:
        """Whether there is anything to wait for: in a cluster that is well, nothing comes of itself."""
        cluster = self._cluster
        lately = bool(self._acts) and cluster.now_us - self._acts[-1].trigger.time_us < LATELY_US
        return lately or cluster.query.faults() > 0 or cluster.query.under_replicated() > 0

    def _wait(self, end_us: int) -> str:
        """Until a drawn state holds, or patience ends; where it holds, empty where it does not."""
        sees = STATES[self._when.of(self._swarm.states)].where
        give_up_us = min(end_us, self._cluster.now_us + self._when.spread(SECOND // 100, self._patience_us))
        self._waited += 1
        found = sees(self._sight) or self._seen(sees, give_up_us)
        if not found:
            return ""
        self._met += 1
        if self._when.chance(LATER):
            later_us = self._when.spread(100, AFTER_US)
            self._advance(min(end_us, self._cluster.now_us + later_us))
        return self._what.of(found)

    def _seen(self, sees: Callable[[Sight], Found], give_up_us: int) -> Found:
        found: list[Found] = []

        def stop() -> bool:
            there = sees(self._sight)
            if there:
                found.append(there)
            return bool(there)

        while self._session.phase == "steps" and self._cluster.now_us < give_up_us and not found:
            self._session.advance(give_up_us, stop=stop)
            self._session.drain()
        return found[0] if found else ()

    def _kind(self) -> str:
        drawn = self._what.below(sum(weight for _name, weight in self._swarm.faults))
        for name, weight in self._swarm.faults:
            drawn -= weight
            if drawn < 0:
                return name
        raise AssertionError("a weight beyond the last")

    def _done(self, action: Action, states: tuple[str, ...]) -> bool:
        """Do it, unless it would be refused, which changes nothing."""
        due = self._cluster.next_event_us() == self._cluster.now_us
        trigger = self._here(exact=due)
        try:
            if action.name in CATALOGUE:
                self._session.board.aimed(action)
            self._session.act(action)
        except FaultError:
            return False
        self._acts.append(Strike(trigger, action, states))
        return True
