"""Injector of faults: applies them to a live cluster, and heals them on request or when their time is over."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final

from cluster_model.cluster import Cluster
from cluster_model.kernel import ProcessState
from cluster_model.observation import FaultView, OperationView
from cluster_model.protocol.events import FaultHealed, FaultInjected, FaultSkipped
from faults.catalogue import CATALOGUE, fault_hint
from faults.declarations.fault import (
    ACCEPTS,
    Action,
    ActiveFault,
    Behaviour,
    ExpectedImpact,
    Fault,
    FaultError,
    NoTargetError,
    ResolvedTarget,
)
from faults.declarations.operation import default_action
from faults.declarations.parameters import details, with_defaults
from faults.declarations.targets import (
    TARGET_STREAM,
    NoMatchError,
    SelectorError,
    accepts_node,
    resolve,
    split_link_target,
)
from faults.guardrails import Guardrails
from faults.operations.runner import FIRST_OPERATION_TOKEN, OperationRunner

OPERATOR: Final = "operator"
"""Actor of an action that is not a step of a playbook."""

FIRST_WAKE_TOKEN: Final = 1 << 48
"""First token of the cluster's control events that wake a lasting fault.

Lower tokens belong to operations, or mark the end of a fault.
"""


class FaultInjector:
    """Faults of one cluster. It handles the cluster's control events to heal faults in virtual time."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._active: dict[int, ActiveFault] = {}
        self._next = 1
        self._paused_by: dict[int, tuple[int, ...]] = {}
        """Node → ids of the faults that pause its process."""
        self._resolved: dict[str, tuple[int, ...]] = {}
        """Selector of the fault being injected → the nodes it resolved to."""
        self.operation_runner = OperationRunner(cluster)
        """Admin operations of this cluster."""
        self.guards: Guardrails | None = None
        """Guardrails of the session, if any."""
        self.on_inject: Callable[[Action], None] | None = None
        """Called with every fault right before it is injected or refused."""
        cluster.on_control = self._time_is_over
        cluster.faults = self._count
        cluster.observe_faults(self._affected)

    @property
    def cluster(self) -> Cluster:
        """The cluster in which faults are injected."""
        return self._cluster

    def _count(self, name: str) -> int:
        return sum(name in ("", active_fault.fault) for active_fault in self._active.values())

    def inject(self, action: Action) -> int:
        """Inject a fault and return its number; 0 if it was skipped.

        A fault is skipped if its target resolves to no node and the action has ``if_any``.

        Raises:
            FaultError: The fault or target is unknown, or the fault cannot be applied to it now. Nothing has
                changed.
            GuardError: A guardrail refuses the fault.
        """
        fault = _fault_named(action.name)
        if self.on_inject is not None:
            self.on_inject(action)
        try:
            resolved = self._admitted(fault, action)
        except NoTargetError as error:
            if not action.if_any:
                raise
            target = action.target or fault.target
            self._cluster.emit(FaultSkipped(self._cluster.now_us, fault.name, target, str(error)))
            return 0
        number = self._next
        self._next += 1
        cluster = self._cluster
        until_us = cluster.now_us + resolved.for_us if resolved.for_us >= 0 else -1
        detail = details(fault, resolved.params, {text: self._names(nodes) for text, nodes in self._resolved.items()})
        active_fault = ActiveFault(
            number, fault.name, resolved.nodes, dict(resolved.params), resolved.links, cluster.now_us, until_us, detail
        )
        cluster.emit(FaultInjected(cluster.now_us, number, fault.name, self._names(resolved.nodes), until_us, detail))
        if fault.is_lasting:
            self._active[number] = active_fault
        fault.behaviour.apply(self, active_fault)
        if until_us >= 0:
            cluster.call_at(until_us, number)
        return number

    def _aim(self, fault: Fault, action: Action) -> ResolvedTarget:
        """Determine what the fault affects.

        It may advance the random stream; the caller restores the stream if the fault is not injected.
        """
        self._resolved.clear()
        self._refuse_mode(fault)
        action = split_link_target(fault, action)
        params = with_defaults(fault, action)
        nodes = self.targets(action.target or fault.target)
        for node in nodes:
            if not accepts_node(fault.accepts, node, self._cluster):
                raise FaultError(
                    f"{fault.title} applies to {ACCEPTS[fault.accepts]}; found {self._names((node,))}",
                    code="wrong_kind_of_target",
                )
        if len(nodes) < fault.at_least:
            raise FaultError(
                f"{fault.title} needs at least {fault.at_least} nodes, found {self._names(nodes)}",
                code="too_few_targets",
            )
        for_us = action.for_us if fault.is_lasting else -1
        resolved = replace(fault.behaviour.resolve(self, ResolvedTarget(nodes, params)), for_us=for_us)
        fault.behaviour.check(self, resolved)
        return resolved

    def _admitted(self, fault: Fault, action: Action) -> ResolvedTarget:
        """Determine what the fault affects, if the guardrails allow it. A refusal restores the random stream."""
        stream = self._cluster.stream(TARGET_STREAM)
        position = stream.position
        try:
            resolved = self._aim(fault, action)
            if self.guards is not None:
                self.guards.admit(fault, self._names(resolved.nodes), fault.behaviour.predict(self._cluster, resolved))
        except FaultError:
            stream.position = position
            raise
        return resolved

    def _refuse_mode(self, fault: Fault) -> None:
        mode = "kraft" if self._cluster.profile.kraft else "zookeeper"
        if fault.mode and fault.mode != mode:
            raise FaultError(
                f"{fault.title} applies to {fault.mode} mode, this cluster runs in {mode} mode", code="wrong_mode"
            )

    def _names(self, nodes: tuple[int, ...]) -> str:
        return ", ".join(self._cluster.name_of(node) for node in nodes)

    # -- FaultContext -------------------------------------------------------------------------------------------------

    def targets(self, text: str) -> tuple[int, ...]:
        """Return the nodes that a selector resolves to now.

        Raises:
            NoMatchError: It resolves to no node.
            FaultError: It cannot be parsed, or names something that does not exist.
        """
        try:
            nodes = self._resolved[text] = tuple(resolve(text, self._cluster))
        except NoMatchError as error:
            raise NoTargetError(str(error), code=error.code) from None
        except SelectorError as error:
            raise FaultError(f"target {text!r}: {error}", code=error.code) from None
        return nodes

    def schedule(self, active_fault: ActiveFault, after_us: int) -> None:
        """Schedule a call of the behaviour's ``on_timer``, unless the fault is healed by then."""
        self._cluster.call_at(self._cluster.now_us + after_us, FIRST_WAKE_TOKEN + active_fault.id)

    def pause(self, active_fault: ActiveFault, node: int) -> None:
        """Pause a process; it stays paused as long as any fault pauses it."""
        held = self._paused_by.get(node, ())
        self._paused_by[node] = (*held, active_fault.id)
        if self._cluster.state_of(node) is ProcessState.RUNNING:
            self._cluster.pause(node)

    def unpause(self, active_fault: ActiveFault, node: int) -> None:
        """Undo :meth:`pause` for this fault."""
        held = self._paused_by.get(node, ())
        if active_fault.id not in held:
            return
        left = tuple(each for each in held if each != active_fault.id)
        if left:
            self._paused_by[node] = left
            return
        del self._paused_by[node]
        if self._cluster.state_of(node) is ProcessState.PAUSED:
            self._cluster.resume(node)

    def release_process(self, node: int) -> None:
        """Remove a process that is about to end from the faults that pause or are ending it."""
        self._paused_by.pop(node, None)
        self._leave(node, lambda behaviour, active_fault: behaviour.holds(active_fault))

    def restart(self, node: int) -> None:
        """Start a process that is down, and remove it from the faults that had ended it."""
        self._paused_by.pop(node, None)
        self._leave(node, lambda behaviour, active_fault: behaviour.ends(active_fault))
        self._cluster.restart(node)

    def _leave(self, node: int, which: Callable[[Behaviour, ActiveFault], bool]) -> None:
        """Remove a node from the faults for which ``which`` is true; the fault continues on its other nodes."""
        for active_fault in tuple(self._active.values()):
            if node in active_fault.nodes and which(CATALOGUE[active_fault.fault].behaviour, active_fault):
                left = tuple(other for other in active_fault.nodes if other != node)
                if left:
                    active_fault.nodes = left
                else:
                    self.end(active_fault)

    def end(self, active_fault: ActiveFault) -> None:
        """Mark a lasting fault as over; nothing is undone."""
        if self._active.pop(active_fault.id, None) is not None:
            self._tell_end(active_fault)

    def _tell_end(self, active_fault: ActiveFault) -> None:
        self._cluster.emit(
            FaultHealed(self._cluster.now_us, active_fault.id, active_fault.fault, self._names(active_fault.nodes))
        )

    # -- the end of faults --------------------------------------------------------------------------------------------

    def _time_is_over(self, token: int) -> None:
        if token >= FIRST_WAKE_TOKEN:
            active_fault = self._active.get(token - FIRST_WAKE_TOKEN)
            if active_fault is not None:
                CATALOGUE[active_fault.fault].behaviour.on_timer(self, active_fault)
        elif token >= FIRST_OPERATION_TOKEN:
            self.operation_runner.on_timer(token)
        elif token in self._active:
            self._heal(token)

    def heal(self, name: str) -> int:
        """Heal faults by name or number, or ``all``; return how many were healed.

        Raises:
            FaultError: No fault in the catalogue has this name, or no active fault has this number.
        """
        if name == "all":
            numbers = list(self._active)
        elif name.isascii() and name.isdigit():
            if int(name) not in self._active:
                raise FaultError(f"no active fault has number {name}", code="no_active_fault")
            numbers = [int(name)]
        elif name in CATALOGUE:
            numbers = [number for number, active in self._active.items() if active.fault == name]
        else:
            raise FaultError(
                f"no fault {name!r}{fault_hint(name)}; heal takes all, a fault's name or its number", code="no_fault"
            )
        for number in numbers:
            if number in self._active:
                self._heal(number)
        return len(numbers)

    def _heal(self, number: int) -> None:
        active_fault = self._active.pop(number)
        self._tell_end(active_fault)
        CATALOGUE[active_fault.fault].behaviour.heal(self, active_fault)

    def admin(self, action: Action, by: str = OPERATOR) -> int:
        """Start an admin operation and return its number; :attr:`operation_runner` reports its result.

        Raises:
            FaultError: The operation is unknown, or a parameter is missing or invalid.
        """
        return self.operation_runner.request(action, by)

    def usual(self, name: str, partition: str, broker: int) -> Action:
        """Return an operation with its usual parameters for a partition and a broker."""
        return default_action(name, self._cluster, partition, broker)

    # -- queries ------------------------------------------------------------------------------------------------------

    def operations(self) -> tuple[OperationView, ...]:
        """Return operations in progress, oldest first."""
        return self.operation_runner.active()

    def active(self) -> tuple[FaultView, ...]:
        """Return lasting faults, oldest first."""
        return tuple(
            FaultView(each.id, each.fault, self._names(each.nodes), each.since_us, each.until_us, each.detail)
            for each in self._active.values()
        )

    @property
    def any_active(self) -> bool:
        """Whether any lasting fault is active."""
        return bool(self._active)

    def _affected(self) -> Iterator[tuple[int, ...]]:
        """Yield what active faults affect: each link, or each node if the fault is not about links."""
        for active_fault in self._active.values():
            yield from active_fault.links or ((node,) for node in active_fault.nodes)

    def on_node(self, node: int) -> tuple[str, ...]:
        """Return the names of the faults active on a node."""
        return tuple(each.fault for each in self._active.values() if node in each.nodes)

    def predict_action(self, action: Action) -> ExpectedImpact:
        """Return the predicted impact of an injection now. Nothing changes, including random streams.

        Raises:
            FaultError: The injection would be refused.
        """
        resolved = self.resolved_target(action)
        return CATALOGUE[action.name].behaviour.predict(self._cluster, resolved)

    def resolved_target(self, action: Action) -> ResolvedTarget:
        """Return what an injection would affect now. Nothing changes, including random streams.

        Raises:
            FaultError: The injection would be refused.
        """
        fault = _fault_named(action.name)
        stream = self._cluster.stream(TARGET_STREAM)
        position = stream.position
        try:
            return self._aim(fault, action)
        finally:
            stream.position = position

    def impact_sentence(self, name: str, node: int) -> str:
        """Return the predicted impact of this fault with its defaults on a node now, in one line."""
        return self.predict(name, node).sentence

    def predict(self, name: str, node: int) -> ExpectedImpact:
        """Return the predicted impact on a node of this fault as one key injects it. Nothing changes."""
        fault, cluster = CATALOGUE[name], self._cluster
        own = self.default_target(name, node)
        if not own and not accepts_node(fault.accepts, node, cluster):
            return ExpectedImpact(
                f"nothing: {fault.title} applies to {ACCEPTS[fault.accepts]}, not to {cluster.name_of(node)}"
            )
        stream = cluster.stream(TARGET_STREAM)
        position = stream.position
        try:
            self._refuse_mode(fault)
            if own:
                return fault.behaviour.predict(
                    cluster, self._aim(fault, Action("inject", name, own, for_us=fault.default_duration_us))
                )
            params = with_defaults(fault, Action("inject", name))
            resolved = replace(
                fault.behaviour.resolve(self, ResolvedTarget((node,), params)), for_us=fault.default_duration_us
            )
            return fault.behaviour.predict(cluster, resolved)
        except FaultError as error:
            return ExpectedImpact(f"nothing: {error}")
        finally:
            stream.position = position

    def default_target(self, name: str, node: int) -> str:
        """Return the fault's default target if a key cannot apply the fault to this node; else empty."""
        fault = CATALOGUE[name]
        takes_it = fault.at_least == 1 and accepts_node(fault.accepts, node, self._cluster)
        return "" if takes_it else fault.target

    def applicable_faults(self, node: int) -> tuple[str, ...]:
        """Return the names of the faults that can be applied to a node, or that have a default target."""
        mode = "kraft" if self._cluster.profile.kraft else "zookeeper"
        return tuple(
            name
            for name, fault in CATALOGUE.items()
            if fault.mode in ("", mode)
            and (accepts_node(fault.accepts, node, self._cluster) or self.default_target(name, node))
        )

    def save(self) -> tuple[Any, ...]:
        """Return all state; it is saved and loaded with the cluster's keyframe."""
        injuries = tuple(active_fault.save() for active_fault in self._active.values())
        guards = () if self.guards is None else self.guards.save()
        return (self._next, injuries, tuple(self._paused_by.items()), self.operation_runner.save(), guards)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`."""
        self._next, injuries, holds, runner, guards = saved
        self._active = {active_fault.id: active_fault for active_fault in map(ActiveFault.load, injuries)}
        self._paused_by = dict(holds)
        self.operation_runner.load(runner)
        if self.guards is not None:
            self.guards.load(guards)


def _fault_named(name: str) -> Fault:
    fault = CATALOGUE.get(name)
    if fault is None:
        raise FaultError(f"no fault {name!r}{fault_hint(name)}; see: floodmark faults", code="no_fault")
    return fault
