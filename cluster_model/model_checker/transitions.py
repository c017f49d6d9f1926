"""From a state to all that may follow it.

A step depends on one or two replicas, and there are far fewer of these than of states: what a step comes to is found
out once, by the model's replicas, and looked up from then on. Replicas and what the controller holds go by number.
"""

from typing import Any, Generic, TypeVar

from cluster_model.model_checker.actors import Actors
from cluster_model.model_checker.shape import ACTIONS, FRESH, NOBODY, Bounds, Decision, Held, Local
from cluster_model.model_checker.steps import REFUSED, Steps, decided
from cluster_model.protocol.versions import Profile

T = TypeVar("T")

State = tuple[int, ...]
"""Numbers of: each replica, what the controller holds; and how many records were written, and restarts made."""

Step = tuple[Any, ...]
"""(verb, broker, ...) of what happens."""


class Numbers(Generic[T]):
    """Things by number, in the order in which they were met."""

    __slots__ = ("_numbers", "things")

    def __init__(self) -> None:
        self.things: list[T] = []
        self._numbers: dict[T, int] = {}

    def of(self, thing: T) -> int:
        """Its number."""
        number = self._numbers.get(thing)
        if number is None:
            number = self._numbers[thing] = len(self.things)
            self.things.append(thing)
        return number


class Moves:
    """The steps of a version within bounds."""

    def __init__(self, profile: Profile, bounds: Bounds, *, as_module: bool = False) -> None:
        """``as_module``: where they differ, by the KIP-320 module and not by Kafka.

        There a decision that leaves nobody as leader reaches no replica, a newcomer to the ISR also waits for the
        leader's HW to have reached its epoch, and a decision stays as it was made when its leader changes the ISR.
        """
        self.profile = profile
        self.bounds = bounds
        self.locals: Numbers[Local] = Numbers()
        self.held: Numbers[Held] = Numbers()
        self._as_module = as_module
        self._steps = Steps(Actors(profile, bounds.replicas), strict_join=as_module)
        self._alone: dict[tuple[int, ...], tuple[list[tuple[Step, int]], list[tuple[int, int]]]] = {}
        self._written: dict[tuple[int, ...], int] = {}
        self._followed: dict[tuple[int, ...], int] = {}
        self._fetched: dict[tuple[int, ...], int] = {}
        self._counted: dict[tuple[int, ...], int] = {}
        self._advanced: dict[tuple[int, int, tuple[int, ...]], int] = {}
        self._changed: dict[tuple[int, ...], tuple[Step, int] | None] = {}
        self._led: dict[tuple[int, int, int, tuple[int, ...]], int] = {}
        self._restarted: dict[tuple[int, int, int], list[tuple[Step, int]]] = {}
        self._after_change: dict[Held, int] = {}
        self._control: dict[int, list[tuple[Step, int]]] = {}

    def start(self) -> State:
        """Nobody has been told anything, and all are in the ISR."""
        everyone = tuple(range(self.bounds.replicas))
        return (*(self.locals.of(FRESH) for _ in everyone), self.held.of(((), everyone)), 0, 0)

    def after(self, state: State) -> list[tuple[Step, State]]:
        """Every step that may be taken, and where it leads."""
        brokers = self.bounds.replicas
        held, _written, restarted = state[brokers:]
        things = self.locals.things
        ids, counts = state[:brokers], state[brokers + 1 :]
        found: list[tuple[Step, State]] = [(step, (*ids, after, *counts)) for step, after in self._control_moves(held)]
        add = found.append
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
                self._as_leader(state, broker, local, found)
            elif local.leader >= 0:
                number = self._fetch(broker, own, state[local.leader])
                if number >= 0:
                    add((("fetch", broker), (*before, number, *behind)))
            if restarted < self.bounds.restarts:
                for step, number in self._restarts(broker, own, held):
                    add((step, (*before, number, *behind[:-1], restarted + 1)))
        if len(self.bounds.actions) < len(ACTIONS):
            return [move for move in found if move[0][0] in self.bounds.actions]
        return found

    def _as_leader(self, state: State, broker: int, local: Local, found: list[tuple[Step, State]]) -> None:
        brokers = self.bounds.replicas
        held, written, restarted = state[brokers:]
        own = state[broker]
        before, behind = state[:broker], state[broker + 1 : brokers]
        if written < self.bounds.records and len(local.log) < self.bounds.log_size:
            number = self._write(broker, own, written)
            found.append((("write", broker), (*before, number, *behind, held, written + 1, restarted)))
        number = self._advance(broker, own, local, state)
        if number >= 0:
            found.append((("hw", broker), (*before, number, *behind, held, written, restarted)))
        decisions, _isr = self.held.things[held]
        if local.epoch == len(decisions) - 1:
            # The controller takes changes of the ISR from the leader of its newest decision only.
            for other in range(brokers):
                if other != broker:
                    change = self._change(broker, own, other, state[other])
                    if change is not None:
                        step, number = change
                        after = self._with_isr(decisions, self.locals.things[number].isr)
                        found.append((step, (*before, number, *behind, after, written, restarted)))

    def _with_isr(self, decisions: tuple[Decision, ...], isr: tuple[int, ...]) -> int:
        """The controller takes up a change of the ISR, which whoever hears of the decision later hears, too."""
        key = (decisions, isr)
        after = self._after_change.get(key)
        if after is None:
            newer = decisions if self._as_module else (*decisions[:-1], decisions[-1]._replace(isr=isr))
            after = self._after_change[key] = self.held.of((newer, isr))
        return after

    def _control_moves(self, held: int) -> list[tuple[Step, int]]:
        found = self._control.get(held)
        if found is None:
            decisions, isr = self.held.things[held]
            found = self._control[held] = [
                (step, self.held.of(((*decisions, decision), decision.isr)))
                for step, decision in (decided(decisions, isr) if len(decisions) < self.bounds.epochs else ())
            ]
        return found

    def _news(self, broker: int, own: int, held: int) -> tuple[list[tuple[Step, int]], list[tuple[int, int]]]:
        """What it may hear from the controller: steps of its own, and (epoch, leader) of whom it may follow."""
        found = self._alone.get((broker, own, held))
        if found is None:
            found = self._alone[broker, own, held] = ([], [])
            local = self.locals.things[own]
            for epoch, decision in enumerate(self.held.things[held][0]):
                if epoch <= local.epoch:
                    continue
                if decision.leader == broker:
                    found[0].append((("lead", broker, epoch), self._lead(broker, own, decision, epoch)))
                elif decision.leader >= 0:
                    found[1].append((epoch, decision.leader))
                elif not self._as_module:
                    found[0].append((("follow", broker, epoch), self._follow(broker, own, epoch, NOBODY, -1)))
        return found

    def _restarts(self, broker: int, own: int, held: int) -> list[tuple[Step, int]]:
        """With every HW that it may have written down last."""
        found = self._restarted.get((broker, own, held))
        if found is None:
            local, newest = self.locals.things[own], len(self.held.things[held][0]) - 1
            found = self._restarted[broker, own, held] = [
                (("restart", broker, hw), self.locals.of(self._steps.restart(broker, local, hw, newest)))
                for hw in range(local.hw + 1)
                if local.epoch >= 0
            ]
        return found

    def _number(self, local: Local | None) -> int:
        return -1 if local is None else self.locals.of(local)

    def _lead(self, broker: int, own: int, decision: Decision, epoch: int) -> int:
        key = (broker, own, epoch, decision.isr)
        number = self._led.get(key)
        if number is None:
            after = self._steps.lead(broker, self.locals.things[own], decision, epoch)
            number = self._led[key] = self.locals.of(after)
        return number

    def _write(self, broker: int, own: int, written: int) -> int:
        number = self._written.get((broker, own, written))
        if number is None:
            after = self._steps.write(broker, self.locals.things[own], written)
            number = self._written[broker, own, written] = self.locals.of(after)
        return number

    def _follow(self, broker: int, own: int, epoch: int, leader: int, its: int) -> int:
        key = (broker, own, epoch, leader, its)
        number = self._followed.get(key)
        if number is None:
            local, other = self.locals.things[own], self.locals.things[its] if its >= 0 else None
            after = self._steps.follow(broker, local, leader, epoch, other)
            number = self._followed[key] = self._number(after)
        return number

    def _fetch(self, broker: int, own: int, its: int) -> int:
        number = self._fetched.get((broker, own, its))
        if number is None:
            after = self._steps.fetch(broker, self.locals.things[own], self.locals.things[its])
            number = self._fetched[broker, own, its] = self._number(after)
        return number

    def _advance(self, broker: int, own: int, local: Local, state: State) -> int:
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
            local, follower = self.locals.things[own], self.locals.things[its]
            counted = self._counted[broker, own, other, its] = self._steps.counted(broker, local, other, follower)
        return counted

    def _change(self, broker: int, own: int, other: int, its: int) -> tuple[Step, int] | None:
        """What a leader may change about another in its ISR."""
        key = (broker, own, other, its)
        if key not in self._changed:
            local, follower = self.locals.things[own], self.locals.things[its]
            verb = "shrink" if other in local.isr else "expand"
            change = self._steps.shrink if other in local.isr else self._steps.expand
            number = self._number(change(broker, local, other, follower))
            self._changed[key] = None if number < 0 else ((verb, broker, other), number)
        return self._changed[key]
