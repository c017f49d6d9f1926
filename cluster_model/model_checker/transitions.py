"""State of a search, and all transitions from it, performed by the model's own replicas.

A step depends on one or two replicas, and there are far fewer of their states than whole states: the result of a step
is computed once, by the model's replicas, and looked up from then on. States of replicas and of the controller are
represented by numbers.
"""

from dataclasses import dataclass
from typing import Any, Final, Generic, NamedTuple, TypeVar

from cluster_model.broker.fetch.fetch_reads import check_epoch, epoch_end, serve_fetch
from cluster_model.broker.partition.partition import BrokerMetadata, FollowerState, PartitionLeaderState, Replica
from cluster_model.broker.request_handler import list_offset
from cluster_model.log.batch_store import BatchStore
from cluster_model.log.leader_epoch_cache import UNDEFINED
from cluster_model.protocol.configs import BrokerConfig, TopicConfig
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.events import Event
from cluster_model.protocol.messages import (
    LATEST,
    FetchData,
    FetchPartition,
    FetchRequest,
    ListOffsetsRequest,
    PartitionState,
    ProduceRequest,
)
from cluster_model.protocol.records import Batch, EpochEntry
from cluster_model.protocol.versions import Profile

# Content of a state: plain tuples, small and hashable. Replicas are numbered from 0.
#
# The abstraction is that of Kafka's public TLA+ modules (``KafkaReplication``): one partition; controller decisions
# that any replica may apply late or never; no time, no messages in flight. A step is one replica's, and atomic: a
# follower truncates as it starts to follow, a fetch returns one record, the HW moves by one. A follower's ISR follows
# from its epoch and is left out.


NO_NODE: Final = -1

ACTIONS: Final = ("elect", "drop", "lead", "follow", "write", "fetch", "hw", "shrink", "expand", "restart")
"""Kinds of steps: the controller's two first, then those of replicas."""

Entry = tuple[int, int]
"""A record: (leader epoch, number)."""


class ReplicaState(NamedTuple):
    """State of one replica between two steps."""

    log: tuple[Entry, ...]
    hw: int
    epoch: int
    """Epoch of the newest decision it has applied, -1 for none."""
    leader: int
    """Leader that it believes in."""
    isr: tuple[int, ...]
    """A leader's ISR; empty for a follower."""
    start: int = -1
    """A leader's log end when it applied its epoch."""
    epochs: tuple[EpochEntry, ...] = ()
    """Its leader-epoch cache, which may differ from the epochs of its records."""


class LeaderDecision(NamedTuple):
    """A controller decision; its index in the list of all is its leader epoch."""

    leader: int
    isr: tuple[int, ...]


ControllerState = tuple[tuple[LeaderDecision, ...], tuple[int, ...]]
"""State of the controller: all its decisions, by epoch, and the current ISR."""


FRESH: Final = ReplicaState((), 0, -1, NO_NODE, ())
"""A replica without any decision."""


@dataclass(frozen=True, slots=True)
class ExplorationBounds:
    """Bounds of a search; no step exceeds them."""

    replicas: int = 3
    log_size: int = 2
    """Number of records that a log may hold."""
    records: int = 2
    """Number of records that are ever written."""
    epochs: int = 2
    """Number of decisions with a new epoch that the controller may take."""
    restarts: int = 0
    """Number of process restarts of brokers."""
    actions: frozenset[str] = frozenset(ACTIONS)
    """Kinds of steps that are taken."""


# Replicas of the model, set to a state for one step: load, act, freeze.
#
# They are the same objects as in the timed and the manual cluster, so that the search explores what those show.


PARTITION: Final = "p-0"
_NOW: Final = 0
_UNLIMITED: Final = 1 << 40


class ReplicaFactory:
    """Factory of replicas of one version in a given state."""

    def __init__(self, profile: Profile, replicas: int, *, keeps_caches: bool = True) -> None:
        """Prepare the factory; ``keeps_caches``: keep a leader-epoch cache as a step left it, else use the records'."""
        self.keeps_caches = keeps_caches
        self.profile = profile
        self.ids = tuple(range(replicas))
        self._config = BrokerConfig.of(profile, {})
        self._topic = TopicConfig.of(profile, {}, {})

    def put(self, broker: int, local: ReplicaState, epoch_branches: BatchStore | None = None) -> Replica:
        """Return a replica in that state; replicas that exchange records share their batch store."""
        metadata = BrokerMetadata()
        shared = BatchStore() if epoch_branches is None else epoch_branches
        metadata.live = dict.fromkeys(self.ids, 0)
        replica = Replica(
            broker, PARTITION, self.ids, self.profile, self._config, self._topic, shared, metadata, _ignore_event
        )
        replica.by_hand = True
        if local.leader == broker:
            start = local.start
            _fill(replica, local.log[:start])
            replica.hw = min(local.hw, start)
            replica.apply(self.state(LeaderDecision(broker, local.isr), local.epoch), _NOW)
            for _epoch, number in local.log[start:]:
                append(replica, number)
        else:
            _fill(replica, local.log)
            if local.epoch >= 0:
                replica.leader, replica.leader_epoch, replica.partition_epoch = local.leader, local.epoch, local.epoch
                replica.following = FollowerState(replica)
        replica.hw = local.hw
        if self.keeps_caches:
            replica.log.epochs.entries = local.epochs
        return replica

    def epochs(self, replica: Replica) -> tuple[EpochEntry, ...]:
        """Return the part of a replica's leader-epoch cache that belongs to the state."""
        return replica.log.epochs.entries if self.keeps_caches else ()

    def state(self, decision: LeaderDecision, epoch: int) -> PartitionState:
        """Return a decision as the metadata that brokers receive."""
        return PartitionState(PARTITION, decision.leader, epoch, decision.isr, epoch, self.ids)


def _ignore_event(_event: Event) -> None:
    """Ignore an event."""


def _fill(replica: Replica, log: tuple[Entry, ...]) -> None:
    epoch_branch = None
    for base, (epoch, number) in enumerate(log):
        if epoch_branch is None or epoch_branch.epoch != epoch:
            epoch_branch = replica.log.epoch_branches.begin(replica.broker, epoch, base)
        replica.log.append_batch(epoch_branch, Batch(base, 1, 1, _NOW, "", -1, number, 1))


def append(replica: Replica, number: int) -> None:
    """Append a record at a leader."""
    leading(replica).append(_NOW, ProduceRequest(0, PARTITION, 1, 0, "", -1, number, 1, 1))


def leading(replica: Replica) -> PartitionLeaderState:
    """Return a replica's leadership, which it must have."""
    assert replica.leadership is not None
    return replica.leadership


def settle(replica: Replica, source: Replica) -> bool:
    """Reconcile a new follower's log with its leader's by the rule of its version; False if it is rejected."""
    following = replica.following
    assert following is not None
    while following.truncating:
        answer = epoch_end(source, *following.epoch_request())
        following.apply_epoch_end(_NOW, answer)
        if answer.error:
            return False
    if not replica.profile.kip_320:
        return True
    while True:
        fetch_request = following.next_fetch()
        if check_epoch(source, fetch_request.current_leader_epoch) is not KafkaError.NONE or source.leadership is None:
            return False
        data = _served(replica, source, fetch_request)
        if data.error == KafkaError.OFFSET_OUT_OF_RANGE:
            return _truncate_to_leader(replica, source, fetch_request, data)
        if data.error or data.diverging is None:
            return not data.error
        following.apply_fetch(_NOW, fetch_request, data)


def fetch(replica: Replica, source: Replica) -> bool:
    """Fetch one record, or truncate to the leader's log end if that is shorter; False if rejected."""
    following = replica.following
    assert following is not None
    fetch_request = following.next_fetch()
    data = _served(replica, source, fetch_request)
    if data.error == KafkaError.OFFSET_OUT_OF_RANGE:
        return _truncate_to_leader(replica, source, fetch_request, data)
    if data.error:
        return False
    following.apply_fetch(_NOW, fetch_request, data)
    return True


def _served(replica: Replica, source: Replica, fetch_request: FetchPartition) -> FetchData:
    request = FetchRequest(0, replica.broker, -1, 0, _UNLIMITED, (fetch_request,))
    data = serve_fetch(source, request, fetch_request, _NOW, (), book=False)
    if data.records.end - data.records.start > 1:
        data = data._replace(records=source.log.read(fetch_request.offset, fetch_request.offset + 1, _UNLIMITED))
    return data


def _truncate_to_leader(replica: Replica, source: Replica, fetch_request: FetchPartition, refused: FetchData) -> bool:
    """Handle an out-of-range fetch: request the leader's log end, and truncate to it."""
    following = replica.following
    assert following is not None
    following.apply_fetch(_NOW, fetch_request, refused)
    request = ListOffsetsRequest(0, PARTITION, LATEST, fetch_request.current_leader_epoch, replica.broker)
    error, offset, _stamp = list_offset(source, check_epoch(source, fetch_request.current_leader_epoch), request, _NOW)
    following.apply_offset(_NOW, error, offset)
    return not error


def book(source: Replica, follower: int, fetch_request: FetchPartition) -> bool:
    """Count a follower's fetch at a leader, if the leader accepts it; returns whether it does."""
    request = FetchRequest(0, follower, -1, 0, _UNLIMITED, (fetch_request,))
    data = serve_fetch(source, request, fetch_request, _NOW, (), book=True)
    return not data.error and data.diverging is None


def question(profile: Profile, local: ReplicaState, offset: int) -> FetchPartition:
    """Return a follower's fetch in that state, at ``offset``."""
    current = local.epoch if profile.kip_320 else UNDEFINED
    last = local.log[offset - 1][0] if profile.diverging_fetch and offset else UNDEFINED
    return FetchPartition(PARTITION, offset, current, last, 0)


# Steps of one replica: each sets the model's own replicas to a state, lets them act, and returns their new state.
#
# None stands for an impossible step: the replica is not in that role, or the other side rejects it.


_STEP_TIME_US: Final = 0
REFUSED: Final = -1
"""Value in place of an offset if the leader does not count the fetch."""


class ReplicaSteps:
    """Steps of replicas of one version."""

    def __init__(self, actors: ReplicaFactory, *, as_module: bool) -> None:
        """Prepare the steps; ``as_module``: a new ISR member also waits until the leader's HW has reached its epoch.

        That is the rule of the KIP-320 module; ``Partition.isFollowerInSync`` requires it only of the new member's log.
        In the module the HW of a leader without other members also moves as a step of its own.
        """
        self._actors = actors
        self._profile = actors.profile
        self._as_module = as_module

    def _alone(self, broker: int, local: ReplicaState) -> ReplicaState:
        """Return a leader that commits everything at once if it is alone in its ISR (``maybeIncrementLeaderHW``)."""
        return local if self._as_module or local.isr != (broker,) else local._replace(hw=len(local.log))

    def write(self, broker: int, local: ReplicaState, number: int) -> ReplicaState:
        """Write a record at a leader."""
        replica = self._actors.put(broker, local)
        append(replica, number)
        log = (*local.log, (replica.leader_epoch, number))
        return self._alone(broker, local._replace(log=log, epochs=self._actors.epochs(replica)))

    def lead(self, broker: int, local: ReplicaState, decision: LeaderDecision, epoch: int) -> ReplicaState:
        """Apply a decision by which the replica leads."""
        replica = self._actors.put(broker, local)
        replica.apply(self._actors.state(decision, epoch), _STEP_TIME_US)
        leadership = leading(replica)
        led = ReplicaState(
            local.log, local.hw, replica.leader_epoch, broker, leadership.isr, leadership.epoch_start,
            self._actors.epochs(replica),
        )  # fmt: skip
        return self._alone(broker, led)

    def follow(
        self, broker: int, local: ReplicaState, leader: int, epoch: int, other: ReplicaState | None
    ) -> ReplicaState | None:
        """Start to follow ``other``, truncation included, or apply that there is no leader."""
        replica = self._actors.put(broker, local)
        if not replica.apply(self._actors.state(LeaderDecision(leader, ()), epoch), _STEP_TIME_US):
            return None
        if other is not None and not settle(replica, self._actors.put(leader, other)):
            return None
        return self._follower_state(replica, local)

    def restart(self, broker: int, local: ReplicaState, hw: int, newest: int) -> ReplicaState:
        """Restart the process with its checkpointed HW; of all decisions it can then apply only the newest."""
        replica = self._actors.put(broker, local)
        replica.checkpointed_hw = hw
        replica.stopped()
        replica.recovered()
        left = local.log[: replica.log.leo]
        return ReplicaState(left, replica.hw, newest - 1, NO_NODE, (), epochs=self._actors.epochs(replica))

    def fetch(self, broker: int, local: ReplicaState, leader: ReplicaState) -> ReplicaState | None:
        """Fetch one record from the believed leader, or truncate to its shorter log."""
        replica = self._actors.put(broker, local)
        if not fetch(replica, self._actors.put(local.leader, leader, replica.log.epoch_branches)):
            return None
        end = replica.log.leo
        if end > len(local.log):
            log, epochs = (*local.log, leader.log[end - 1]), self._actors.epochs(replica)
            return local._replace(log=log, hw=replica.hw, epochs=epochs)
        return self._follower_state(replica, local) if end < len(local.log) else None

    def counted(self, broker: int, local: ReplicaState, follower: int, other: ReplicaState) -> int:
        """Return the follower's offset as the leader knows it, as far as the next HW needs it."""
        return self._count_fetch(self._actors.put(broker, local), local, follower, other, local.hw + 1)

    def _count_fetch(
        self, replica: Replica, local: ReplicaState, follower: int, other: ReplicaState, end_offset: int
    ) -> int:
        if other.leader != replica.broker:
            return REFUSED
        offset = min(len(other.log), end_offset)
        if not book(replica, follower, question(self._profile, other, offset)):
            return REFUSED
        replica.hw = local.hw
        return offset

    def advance(self, broker: int, local: ReplicaState, counted: tuple[int, ...]) -> ReplicaState | None:
        """Advance the HW by one, if all needed replicas have fetched past the record; ``counted`` by broker."""
        replica = self._actors.put(broker, local)
        leadership = leading(replica)
        for follower, offset in enumerate(counted):
            if offset != REFUSED:
                leadership.remotes[follower].fetched(self._profile, offset, replica.log.leo, _STEP_TIME_US)
        leadership.maybe_advance_hw(_STEP_TIME_US)
        return local._replace(hw=local.hw + 1) if replica.hw > local.hw else None

    def shrink(self, broker: int, local: ReplicaState, follower: int, other: ReplicaState) -> ReplicaState | None:
        """Remove a member from the ISR that has not fetched for too long, if that makes it out of sync."""
        replica = self._actors.put(broker, local)
        leadership = leading(replica)
        self._count_fetch(replica, local, follower, other, len(other.log))
        leadership.mark_out_of_sync((follower,))
        leadership.shrink(_STEP_TIME_US)
        if leadership.pending is None:
            return None
        return self._alone(broker, local._replace(isr=leadership.pending))

    def expand(self, broker: int, local: ReplicaState, follower: int, other: ReplicaState) -> ReplicaState | None:
        """Add a member to the ISR, by the rule of the version."""
        replica = self._actors.put(broker, local)
        leadership = leading(replica)
        if self._count_fetch(replica, local, follower, other, len(other.log)) == REFUSED:
            return None
        if self._as_module and local.hw < local.start:
            return None
        if not leadership.may_join(follower, leadership.remotes[follower]):
            return None
        return local._replace(isr=tuple(sorted((*local.isr, follower))))

    def _follower_state(self, replica: Replica, before: ReplicaState) -> ReplicaState:
        """Return a follower's state after a step that appended no record."""
        left, epochs = before.log[: replica.log.leo], self._actors.epochs(replica)
        return ReplicaState(left, replica.hw, replica.leader_epoch, replica.leader, (), epochs=epochs)


def next_decisions(
    decisions: tuple[LeaderDecision, ...], isr: tuple[int, ...]
) -> list[tuple[tuple[str, int], LeaderDecision]]:
    """Return the controller's possible next decisions with their steps; ``isr`` is the current one.

    It elects any member, and fences any; a fenced leader is not replaced, and the last member stays in the ISR.
    """
    leader = decisions[-1].leader if decisions else NO_NODE
    options = [(("elect", member), LeaderDecision(member, isr)) for member in isr if member != leader]
    for member in isr:
        remaining = tuple(broker for broker in isr if broker != member)
        if member != leader:
            options.append((("drop", member), LeaderDecision(leader, remaining)))
        else:
            options.append((("drop", member), LeaderDecision(NO_NODE, remaining or isr)))
    return options


T = TypeVar("T")

State = tuple[int, ...]
"""Numbers of each replica's and the controller's state, then counts of records written and of restarts."""

Step = tuple[Any, ...]
"""(verb, broker, ...) of a transition."""


class Interner(Generic[T]):
    """Numbering of objects, in the order of first use."""

    __slots__ = ("_numbers", "items")

    def __init__(self) -> None:
        self.items: list[T] = []
        self._numbers: dict[T, int] = {}

    def of(self, thing: T) -> int:
        """Return the number of an object."""
        number = self._numbers.get(thing)
        if number is None:
            number = self._numbers[thing] = len(self.items)
            self.items.append(thing)
        return number


class Transitions:
    """Transitions of a version within bounds."""

    def __init__(self, profile: Profile, bounds: ExplorationBounds, *, as_module: bool = False) -> None:
        """Prepare the transitions; ``as_module``: follow the KIP-320 module where it differs from Kafka.

        In the module a decision without a leader reaches no replica, a new ISR member also waits until the leader's HW
        has reached its epoch, a decision does not change when its leader changes the ISR, a leader without other
        members commits by a step of its own, and a replica's leader epochs are those of its records.
        """
        self.profile = profile
        self.bounds = bounds
        self.locals: Interner[ReplicaState] = Interner()
        self.held: Interner[ControllerState] = Interner()
        self._as_module = as_module
        self._steps = ReplicaSteps(
            ReplicaFactory(profile, bounds.replicas, keeps_caches=not as_module), as_module=as_module
        )
        self._alone: dict[tuple[int, ...], tuple[list[tuple[Step, int]], list[tuple[int, int]]]] = {}
        self._written: dict[tuple[int, ...], int] = {}
        self._followed: dict[tuple[int, ...], int] = {}
        self._fetched: dict[tuple[int, ...], int] = {}
        self._counted: dict[tuple[int, ...], int] = {}
        self._advanced: dict[tuple[int, int, tuple[int, ...]], int] = {}
        self._changed: dict[tuple[int, ...], tuple[Step, int] | None] = {}
        self._led: dict[tuple[int, int, int, tuple[int, ...]], int] = {}
        self._restarted: dict[tuple[int, int, int], list[tuple[Step, int]]] = {}
        self._after_change: dict[ControllerState, int] = {}
        self._control: dict[int, list[tuple[Step, int]]] = {}

    def start(self) -> State:
        """Return the initial state: no decisions, all replicas in the ISR."""
        everyone = tuple(range(self.bounds.replicas))
        return (*(self.locals.of(FRESH) for _ in everyone), self.held.of(((), everyone)), 0, 0)

    def after(self, state: State) -> list[tuple[Step, State]]:
        """Return every possible step with the state after it."""
        brokers = self.bounds.replicas
        held, _written, restarted = state[brokers:]
        things = self.locals.items
        ids, counts = state[:brokers], state[brokers + 1 :]
        successors: list[tuple[Step, State]] = [
            (step, (*ids, after, *counts)) for step, after in self._control_moves(held)
        ]
        add = successors.append
        for broker in range(brokers):
            own = state[broker]
            before, behind = state[:broker], state[broker + 1 :]
            alone, follows = self._news(broker, own, held)
            for step, number in alone:
                add((step, (*before, number, *behind)))
            for epoch, leader in follows:
                number = self._follow(broker, own, epoch, leader, state[leader])
                if number >= 0:
                    add((("follow", broker, epoch), (*before, number, *behind)))
            local = things[own]
            if local.leader == broker:
                self._as_leader(state, broker, local, successors)
            elif local.leader >= 0:
                number = self._fetch(broker, own, state[local.leader])
                if number >= 0:
                    add((("fetch", broker), (*before, number, *behind)))
            if restarted < self.bounds.restarts:
                for step, number in self._restarts(broker, own, held):
                    add((step, (*before, number, *behind[:-1], restarted + 1)))
        if len(self.bounds.actions) < len(ACTIONS):
            return [move for move in successors if move[0][0] in self.bounds.actions]
        return successors

    def _as_leader(self, state: State, broker: int, local: ReplicaState, successors: list[tuple[Step, State]]) -> None:
        brokers = self.bounds.replicas
        held, written, restarted = state[brokers:]
        own = state[broker]
        before, behind = state[:broker], state[broker + 1 : brokers]
        if written < self.bounds.records and len(local.log) < self.bounds.log_size:
            number = self._write(broker, own, written)
            successors.append((("write", broker), (*before, number, *behind, held, written + 1, restarted)))
        number = self._advance(broker, own, local, state)
        if number >= 0:
            successors.append((("hw", broker), (*before, number, *behind, held, written, restarted)))
        decisions, _isr = self.held.items[held]
        if local.epoch == len(decisions) - 1:
            # The controller accepts ISR changes only from the leader of its newest decision.
            for other in range(brokers):
                if other != broker:
                    change = self._change(broker, own, other, state[other])
                    if change is not None:
                        step, number = change
                        after = self._with_isr(decisions, self.locals.items[number].isr)
                        successors.append((step, (*before, number, *behind, after, written, restarted)))

    def _with_isr(self, decisions: tuple[LeaderDecision, ...], isr: tuple[int, ...]) -> int:
        """Return the controller's state after an ISR change, which the newest decision then carries."""
        key = (decisions, isr)
        after = self._after_change.get(key)
        if after is None:
            newer = decisions if self._as_module else (*decisions[:-1], decisions[-1]._replace(isr=isr))
            after = self._after_change[key] = self.held.of((newer, isr))
        return after

    def _control_moves(self, held: int) -> list[tuple[Step, int]]:
        moves = self._control.get(held)
        if moves is None:
            decisions, isr = self.held.items[held]
            moves = self._control[held] = [
                (step, self.held.of(((*decisions, decision), decision.isr)))
                for step, decision in (next_decisions(decisions, isr) if len(decisions) < self.bounds.epochs else ())
            ]
        return moves

    def _news(self, broker: int, own: int, held: int) -> tuple[list[tuple[Step, int]], list[tuple[int, int]]]:
        """Return a replica's steps on new decisions: to lead, and (epoch, leader) of those to follow."""
        moves = self._alone.get((broker, own, held))
        if moves is None:
            moves = self._alone[broker, own, held] = ([], [])
            local = self.locals.items[own]
            for epoch, decision in enumerate(self.held.items[held][0]):
                if epoch <= local.epoch:
                    continue
                if decision.leader == broker:
                    moves[0].append((("lead", broker, epoch), self._lead(broker, own, decision, epoch)))
                elif decision.leader >= 0:
                    moves[1].append((epoch, decision.leader))
                elif not self._as_module:
                    moves[0].append((("follow", broker, epoch), self._follow(broker, own, epoch, NO_NODE, -1)))
        return moves

    def _restarts(self, broker: int, own: int, held: int) -> list[tuple[Step, int]]:
        """Return the restarts with every HW that the checkpoint may have."""
        restarts = self._restarted.get((broker, own, held))
        if restarts is None:
            local, newest = self.locals.items[own], len(self.held.items[held][0]) - 1
            restarts = self._restarted[broker, own, held] = [
                (("restart", broker, hw), self.locals.of(self._steps.restart(broker, local, hw, newest)))
                for hw in range(local.hw + 1)
                if local.epoch >= 0
            ]
        return restarts

    def _number(self, local: ReplicaState | None) -> int:
        return -1 if local is None else self.locals.of(local)

    def _lead(self, broker: int, own: int, decision: LeaderDecision, epoch: int) -> int:
        key = (broker, own, epoch, decision.isr)
        number = self._led.get(key)
        if number is None:
            after = self._steps.lead(broker, self.locals.items[own], decision, epoch)
            number = self._led[key] = self.locals.of(after)
        return number

    def _write(self, broker: int, own: int, written: int) -> int:
        number = self._written.get((broker, own, written))
        if number is None:
            after = self._steps.write(broker, self.locals.items[own], written)
            number = self._written[broker, own, written] = self.locals.of(after)
        return number

    def _follow(self, broker: int, own: int, epoch: int, leader: int, its: int) -> int:
        key = (broker, own, epoch, leader, its)
        number = self._followed.get(key)
        if number is None:
            local, other = self.locals.items[own], self.locals.items[its] if its >= 0 else None
            after = self._steps.follow(broker, local, leader, epoch, other)
            number = self._followed[key] = self._number(after)
        return number

    def _fetch(self, broker: int, own: int, its: int) -> int:
        number = self._fetched.get((broker, own, its))
        if number is None:
            after = self._steps.fetch(broker, self.locals.items[own], self.locals.items[its])
            number = self._fetched[broker, own, its] = self._number(after)
        return number

    def _advance(self, broker: int, own: int, local: ReplicaState, state: State) -> int:
        counted = tuple(
            [
                self._count(broker, own, other, state[other]) if other != broker and other in local.isr else REFUSED
                for other in range(self.bounds.replicas)
            ]
        )
        number = self._advanced.get((broker, own, counted))
        if number is None:
            after = self._steps.advance(broker, local, counted)
            number = self._advanced[broker, own, counted] = self._number(after)
        return number

    def _count(self, broker: int, own: int, other: int, its: int) -> int:
        counted = self._counted.get((broker, own, other, its))
        if counted is None:
            local, follower = self.locals.items[own], self.locals.items[its]
            counted = self._counted[broker, own, other, its] = self._steps.counted(broker, local, other, follower)
        return counted

    def _change(self, broker: int, own: int, other: int, its: int) -> tuple[Step, int] | None:
        """Return a leader's possible change of the ISR concerning another replica."""
        key = (broker, own, other, its)
        if key not in self._changed:
            local, follower = self.locals.items[own], self.locals.items[its]
            verb = "shrink" if other in local.isr else "expand"
            change = self._steps.shrink if other in local.isr else self._steps.expand
            number = self._number(change(broker, local, other, follower))
            self._changed[key] = None if number < 0 else ((verb, broker, other), number)
        return self._changed[key]
