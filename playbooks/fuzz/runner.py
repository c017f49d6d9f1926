"""One run of a storm: its options (swarm testing), random streams, targets and actions, until everything heals.

Its actions are ordinary steps, each with the exact position where it was taken. So the result is an ordinary playbook,
and replaying it needs nothing from this module.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final, TypeVar

from cluster_model.cluster import Cluster
from cluster_model.kernel import RandomStream
from cluster_model.protocol.releases import Version
from cluster_model.spec import FIRST_ZOOKEEPER
from faults.catalogue import CATALOGUE
from faults.declarations import (
    NUMERIC,
    OPERATIONS,
    Action,
    Fault,
    FaultError,
    Param,
    Value,
    default_action,
    selector_of,
)
from playbooks.engine.session import Session
from playbooks.fuzz.protocol_states import STATES, Found, StateContext, current_states, own_partitions, possible
from playbooks.model.playbook import SECOND, SEED, Cell, Grid, Step, StormRanges, Trigger
from playbooks.parser.sections.expectations import STORM_OPERATIONS
from playbooks.results.result import SessionResult

# Seeds of runs, and random streams of the storm alone: those of the cluster are the same as without a storm.


T = TypeVar("T")

SEED_BITS: Final = 48
"""Size of a seed, short enough to copy by hand."""


def run_seed(campaign: int, run: int) -> int:
    """Return the seed of run ``run`` (from 1) of a campaign: a stable hash, the same on every machine."""
    digest = hashlib.blake2b(f"storm/{campaign}/{run}".encode(), digest_size=8).digest()
    return int.from_bytes(digest) >> (64 - SEED_BITS)


class StormRandom:
    """Random stream of one purpose, of one run."""

    __slots__ = ("_stream",)

    def __init__(self, seed: int, name: str) -> None:
        self._stream = RandomStream(seed, f"storm:{name}")

    def below(self, bound: int) -> int:
        """Return a whole number in ``[0, bound)``."""
        return self._stream.below(bound)

    def between(self, low: int, high: int) -> int:
        """Return a whole number from ``low`` to ``high``, uniformly."""
        return low + self._stream.below(high - low + 1)

    def spread(self, low: int, high: int) -> int:
        """Return a whole number from ``low`` to ``high``, small ones as likely as large ones (log-uniform).

        A power of two is generated first, then a number up to it: integers only, as logarithms differ between machines.
        """
        if low >= high:
            return low
        low_bits, high_bits = max(1, low).bit_length(), high.bit_length()
        bits = self.between(low_bits, high_bits)
        return min(high, max(low, (1 << (bits - 1)) + self._stream.below(1 << (bits - 1))))

    def chance(self, percent: int) -> bool:
        """Return True with a probability in percent."""
        return self._stream.below(100) < percent

    def of(self, candidates: Sequence[T]) -> T:
        """Return one of the candidates."""
        return candidates[self._stream.below(len(candidates))]

    def some(self, candidates: Sequence[T], count: int) -> tuple[T, ...]:
        """Return ``count`` of the candidates, in their order."""
        left = list(range(len(candidates)))
        drawn = {left.pop(self._stream.below(len(left))) for _turn in range(min(count, len(left)))}
        return tuple([each for index, each in enumerate(candidates) if index in drawn])


# Targets: random faults for a live cluster, near a partition or group in an interesting state.


_MOST_COUNT: Final = 5
_STRONG: Final = 4
"""Largest factor by which a number may exceed its default, or, squared, undercut it."""


class ActionGenerator:
    """Generator of random actions for one cluster."""

    def __init__(self, cluster: Cluster, dice: StormRandom) -> None:
        self._cluster = cluster
        self._dice = dice

    def action(self, name: str, where: str, for_us: int) -> Action:
        """Return a fault or an operation; ``where`` is a partition, group or selector to be near, or empty."""
        partition = self._partition(where)
        if name in OPERATIONS:
            return self._operation(name, partition)
        fault = CATALOGUE[name]
        target = self._target(fault, where, partition)
        params: dict[str, Value] = {}
        for param in fault.params:
            value = self._value(fault, param, target, partition)
            if value is not None and value != param.default:
                params[param.name] = value
        return Action("inject", name, target, params, for_us if fault.is_lasting else -1)

    def _partition(self, where: str) -> str:
        names = own_partitions(self._cluster)
        if where in self._cluster.cluster_state.records:
            return where
        return self._dice.of(names) if names else ""

    def _operation(self, name: str, partition: str) -> Action:
        brokers = tuple(self._cluster.brokers)
        action = default_action(name, self._cluster, partition, self._dice.of(brokers))
        params = {key: value for key, value in action.params.items() if key != "unclean"}
        return Action("admin", name, "", params)

    # -- targets ------------------------------------------------------------------------------------------------------

    def _target(self, fault: Fault, where: str, partition: str) -> str:
        if fault.at_least > 1 or fault.accepts in ("controllers", "plane"):
            return fault.target
        if where.startswith("broker("):
            return where
        if fault.accepts in ("producers", "consumers", "clients"):
            return self._client(fault.accepts)
        return self._broker(fault.accepts, partition)

    def _client(self, kind: str) -> str:
        cluster = self._cluster
        names = {"producers": tuple(cluster.producers), "consumers": tuple(cluster.consumers)}
        every = names.get(kind, (*names["producers"], *names["consumers"]))
        return selector_of(-1, self._dice.of(every))

    def _broker(self, accepts: str, partition: str) -> str:
        """Return a broker, preferably one of the partition; now and then several at once."""
        dice, cluster = self._dice, self._cluster
        drawn = dice.below(100)
        if not partition or drawn >= 92:
            return self._elsewhere(accepts)
        if drawn < 40:
            return f"leader({partition})"
        record = cluster.cluster_state.records[partition]
        followers = [broker for broker in record.assignment if broker != record.leader]
        in_sync = [broker for broker in followers if broker in record.isr]
        if drawn < 65 and in_sync:
            return f"broker({dice.of(in_sync)})"
        if drawn < 78 and followers:
            return f"broker({dice.of(followers)})"
        if drawn < 84 and followers:
            return f"followers({partition})"
        if drawn < 87:
            return f"isr({partition})"
        return f"broker({dice.of(tuple(cluster.brokers))})"

    def _elsewhere(self, accepts: str) -> str:
        """Return the control plane, a client or a coordinator, where the fault applies."""
        dice, cluster = self._dice, self._cluster
        choices = ["brokers"] if dice.chance(10) else [f"broker({broker})" for broker in cluster.brokers]
        if accepts in ("processes", "nodes"):
            choices += ["controller", "controller", "controller"]
            choices += [selector_of(node) for node in cluster.plane.servers if node >= FIRST_ZOOKEEPER]
        if accepts in ("processes", "nodes", "hosts"):
            choices += [selector_of(-1, name) for name in (*cluster.producers, *cluster.consumers)]
        choices += [f"coordinator({group.name})" for group in cluster.spec.groups]
        return dice.of(choices)

    # -- parameters ---------------------------------------------------------------------------------------------------

    def _value(self, fault: Fault, param: Param, target: str, partition: str) -> Value | None:
        """Return a value; None keeps the default. Every parameter consumes the same random numbers in any case."""
        dice = self._dice
        usual_one = dice.chance(50)
        if param.type == "target":
            return self._other_side(fault, param, target, partition, usual_one=usual_one)
        if usual_one:
            return None
        if param.type in NUMERIC:
            return self._number(param)
        if param.type == "bool":
            return dice.chance(50)
        if param.type == "choice":
            return dice.of(param.choices)
        return partition if param.type == "partition" and dice.chance(50) else None

    def _number(self, param: Param) -> int | None:
        default = param.default
        if not isinstance(default, int) or default < 0:
            return None
        if param.type == "int":
            return min(param.high, max(param.low, self._dice.below(_MOST_COUNT)))
        if default == 0:
            return None
        low = max(param.low, default // (_STRONG * _STRONG), 1)
        return self._dice.spread(low, min(param.high, default * _STRONG))

    def _other_side(self, fault: Fault, param: Param, target: str, partition: str, *, usual_one: bool) -> str | None:
        """Return the other ends of links, or the member whose id is claimed."""
        if fault.accepts == "consumers":
            return self._client("consumers")
        if usual_one or param.name == "bridge":
            return None
        cluster, dice = self._cluster, self._dice
        choices = ["brokers", "controllers", *[f"broker({broker})" for broker in cluster.brokers]]
        if partition:
            choices += [f"leader({partition})", f"followers({partition})"]
        if cluster.producers:
            choices.append("producers")
        if cluster.consumers:
            choices.append("consumers")
        return dice.of([choice for choice in choices if choice != target])


# Options of one run, generated before it begins: swarm testing (Groce et al., 2012).
#
# Runs differ in what they leave out as much as in what they do: a run with three kinds of faults gets further with each
# of them than a run that may inject any of fifty.


MOST_KINDS: Final = 8
"""Maximum number of kinds of faults in one run; the same for the states that it waits for."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Options of one run. Times are virtual microseconds."""

    run: int
    seed: int
    cell: Cell
    """Values of the playbook's ``vary``, one for each axis."""
    chaos_us: int
    fault_us: int
    """Longest duration of a fault in the run; each fault gets its own up to this."""
    healthy_us: int
    """Longest time from one fault to the next."""
    at_once: int
    steered: int
    """Percentage of faults that wait for one of ``states``."""
    faults: tuple[tuple[str, int], ...]
    """Kinds of faults and operations of the run, each with its weight."""
    states: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object stored in a row of the campaign."""
        return {**asdict(self), "cell": dict(self.cell), "faults": dict(self.faults), "states": list(self.states)}


def candidates_of(ranges: StormRanges, cluster: Cluster) -> tuple[str, ...]:
    """Return the faults and operations that fit a cluster."""
    profile = cluster.profile
    clients = (bool(cluster.producers), bool(cluster.consumers))
    named = ranges.faults or (*CATALOGUE, *STORM_OPERATIONS)
    allowed = [name for name in named if name not in ranges.without]
    return tuple([name for name in allowed if _possible(name, profile.mode, profile.number, clients)])


def _possible(name: str, mode: str, kafka: Version, clients: tuple[bool, bool]) -> bool:
    if name in OPERATIONS:
        return not OPERATIONS[name].unsupported_reason(kafka, mode)
    fault = CATALOGUE[name]
    producers, consumers = clients
    needed = {"producers": producers, "consumers": consumers, "clients": producers or consumers}
    return fault.mode in ("", mode) and needed.get(fault.accepts, True)


def draw_cell(grid: Grid | None, dice: StormRandom) -> Cell:
    """Return a random cell of a grid, without its axis of seeds."""
    cells = list(grid.without(SEED).cells()) if grid is not None else []
    return tuple([pair for pair in dice.of(cells) if pair[0] != SEED]) if cells else ()


def cell_of(campaign: int, run: int, grid: Grid | None) -> Cell:
    """Return the settings of a run."""
    return draw_cell(grid, StormRandom(run_seed(campaign, run), "settings"))


def generate_options(campaign: int, run: int, cell: Cell, ranges: StormRanges, cluster: Cluster) -> RunOptions:
    """Return the options of a run; ``cluster`` is a new cluster with the run's settings."""
    seed = run_seed(campaign, run)
    dice = StormRandom(seed, "swarm")
    in_reach = candidates_of(ranges, cluster)
    kinds = dice.some(in_reach, dice.between(1, min(MOST_KINDS, max(1, len(in_reach)))))
    states = possible(cluster)
    return RunOptions(
        run=run,
        seed=seed,
        cell=cell,
        chaos_us=dice.between(*ranges.chaos_us),
        fault_us=dice.spread(*ranges.fault_us),
        healthy_us=dice.spread(*ranges.healthy_us),
        at_once=dice.between(*ranges.at_once),
        steered=dice.between(*ranges.steered),
        faults=tuple([(name, 1 << dice.below(3)) for name in kinds]),
        states=dice.some(states, dice.between(1, min(MOST_KINDS, len(states)))),
    )


TRIES: Final = 6
"""Number of actions generated for one fault before it is skipped."""
PATIENCE_US: Final = 4 * SECOND
"""Longest wait for a state; also at most a quarter of the chaos time."""
LATELY_US: Final = 2 * SECOND
"""Time after the end of a fault during which effects are still expected."""
LATER: Final = 25
"""Percentage of faults that come a little after the state that they waited for."""
AFTER_US: Final = 20_000
"""Longest delay between a state and its fault, if not injected at once."""
WARM_UP_US: Final = 2 * SECOND
"""Latest time of the first fault."""
DOWN: Final = 15
"""Percentage of faults that are injected although most brokers are down."""
LOOK_US: Final = SECOND // 10
"""Interval between two checks whether the cluster has recovered."""
NEVER: Final = -1
COMPANY: Final = 25
"""Percentage of faults that are closely followed by the next one."""


@dataclass(frozen=True, slots=True)
class InjectedAction:
    """An action that was taken, its position, and the states that held then."""

    trigger: Trigger
    action: Action
    states: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StepExecution:
    """A step of the playbook itself, and the position where it acted."""

    trigger: Trigger
    step: Step


@dataclass(slots=True)
class StormResult:
    """Everything that was done in one storm, with its result."""

    result: SessionResult
    acts: list[InjectedAction | StepExecution] = field(default_factory=list)
    settled_us: int = 0
    """Time when everything healed."""
    recovery_us: int = 0
    """Time from then until every partition had a leader and a full ISR for good; :data:`NEVER` if it did not."""
    refused: int = 0
    """Number of actions that were refused by their target."""
    waited: int = 0
    """Number of faults that waited for a state ..."""
    states_reached: int = 0
    """... and of those whose state came."""

    @property
    def strikes(self) -> list[InjectedAction]:
        """The actions of the storm."""
        return [each for each in self.acts if isinstance(each, InjectedAction)]


def run_storm(swarm: RunOptions, session: Session) -> StormResult:
    """Run a storm to its end; ``session`` is new."""
    return _Driver(swarm, session).run()


class _Driver:
    """State of a storm while it runs."""

    def __init__(self, swarm: RunOptions, session: Session) -> None:
        self._swarm = swarm
        self._session = session
        self._cluster = session.cluster
        self._when = StormRandom(swarm.seed, "when")
        self._what = StormRandom(swarm.seed, "what")
        self._aimer = ActionGenerator(session.cluster, StormRandom(swarm.seed, "whom"))
        self._state = StateContext(session.cluster, own_partitions(session.cluster))
        self._wide = StateContext(session.cluster, all_partitions=True)
        self._states = possible(session.cluster)
        self._acts: list[InjectedAction | StepExecution] = []
        self._refused = self._waited = self._met = 0
        self._patience_us = min(PATIENCE_US, swarm.chaos_us // 4)
        session.on_step = self._own

    def _own(self, step: Step) -> None:
        self._acts.append(StepExecution(self._here(exact=True), step))

    def _here(self, *, exact: bool) -> Trigger:
        """Return the exact position: after a number of events at this time, or after all events due by now."""
        return Trigger("at", self._cluster.now_us, executed=self._cluster.executed if exact else -1)

    def run(self) -> StormResult:
        """Inject faults until the chaos time is over, then settle."""
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
        return StormResult(result, self._acts, settled_us, recovery_us, self._refused, self._waited, self._met)

    def _advance(self, until_us: int) -> None:
        while self._session.phase == "steps" and (
            self._cluster.now_us < until_us or self._cluster.next_event_us() == until_us
        ):
            self._session.advance(until_us)
            self._session.drain()

    def _recover(self, settled_us: int) -> int:
        """Settle to the end; return the time until the cluster had recovered."""
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
        """Return when a fault ends by itself, or, if none does, a time to wait."""
        ends = [fault.until_us for fault in self._session.board.active() if fault.until_us > self._cluster.now_us]
        return min(ends, default=self._cluster.now_us + self._swarm.healthy_us)

    def _strike(self, end_us: int) -> None:
        """Wait for a state, if this fault is to do so, and inject it."""
        where = ""
        if self._swarm.states and self._when.chance(self._swarm.steered) and self._stirs():
            where = self._wait(end_us)
        if self._cluster.now_us >= end_us or self._session.phase != "steps":
            return
        states = current_states(self._wide, self._states)
        for _try in range(TRIES):
            action = self._aimer.action(
                self._kind(), where, self._when.spread(self._swarm.fault_us // 8, self._swarm.fault_us)
            )
            if self._done(action, states):
                return
            self._refused += 1

    def _stands(self) -> bool:
        """Return whether at least half of the brokers serve: faults in a cluster that is down show little."""
        brokers = self._cluster.brokers
        serving = sum(each.control.registered and self._cluster.is_up(number) for number, each in brokers.items())
        return 2 * serving >= len(brokers)

    def _stirs(self) -> bool:
        """Return whether an active or recent fault can cause a state: a healthy cluster reaches none by itself."""
        cluster = self._cluster
        lately = bool(self._acts) and cluster.now_us - self._acts[-1].trigger.time_us < LATELY_US
        return lately or cluster.query.faults() > 0 or cluster.query.under_replicated() > 0

    def _wait(self, end_us: int) -> str:
        """Wait until a chosen state holds, up to the patience; return where it holds, empty if it does not."""
        sees = STATES[self._when.of(self._swarm.states)].where
        give_up_us = min(end_us, self._cluster.now_us + self._when.spread(SECOND // 100, self._patience_us))
        self._waited += 1
        matched = sees(self._state) or self._seen(sees, give_up_us)
        if not matched:
            return ""
        self._met += 1
        if self._when.chance(LATER):
            later_us = self._when.spread(100, AFTER_US)
            self._advance(min(end_us, self._cluster.now_us + later_us))
        return self._what.of(matched)

    def _seen(self, sees: Callable[[StateContext], Found], give_up_us: int) -> Found:
        matched: list[Found] = []

        def stop() -> bool:
            there = sees(self._state)
            if there:
                matched.append(there)
            return bool(there)

        while self._session.phase == "steps" and self._cluster.now_us < give_up_us and not matched:
            self._session.advance(give_up_us, stop=stop)
            self._session.drain()
        return matched[0] if matched else ()

    def _kind(self) -> str:
        drawn = self._what.below(sum(weight for _name, weight in self._swarm.faults))
        for name, weight in self._swarm.faults:
            drawn -= weight
            if drawn < 0:
                return name
        raise AssertionError("a weight beyond the last")

    def _done(self, action: Action, states: tuple[str, ...]) -> bool:
        """Take an action, unless it is refused, which changes nothing."""
        due = self._cluster.next_event_us() == self._cluster.now_us
        trigger = self._here(exact=due)
        try:
            if action.name in CATALOGUE:
                self._session.board.resolved_target(action)
            self._session.act(action)
        except FaultError:
            return False
        self._acts.append(InjectedAction(trigger, action, states))
        return True
