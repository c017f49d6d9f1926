"""The board of active faults: applies them to a live cluster, and heals them when asked or when their time is over."""

from dataclasses import dataclass
from typing import Any, Final

from cluster_model.cluster import Cluster
from cluster_model.events import FaultHealed, FaultInjected
from cluster_model.kernel.processes import ProcessState
from cluster_model.spec import FIRST_ZOOKEEPER
from cluster_model.views import FaultView, OperationView
from faults.action import Action
from faults.catalogue import ACCEPTS, CATALOGUE, Fault, FaultError, nearest
from faults.client_fates import client_fate
from faults.desk import WAKINGS, Desk
from faults.selectors import TARGETS, SelectorError, resolve
from faults.usual import usual

OPERATOR: Final = "operator"
"""Who acts when no step of a playbook does."""

_UP = (ProcessState.RUNNING, ProcessState.PAUSED)


@dataclass(frozen=True, slots=True)
class _Active:
    id: int
    fault: str
    target: str
    nodes: tuple[int, ...]
    since_us: int
    until_us: int
    detail: str
    links: tuple[tuple[int, int], ...] = ()


class FaultBoard:
    """Faults of one cluster. It listens to the cluster's control events to heal in virtual time."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._active: dict[int, _Active] = {}
        self._next = 1
        self.desk = Desk(cluster)
        """Operations of the administrator."""
        cluster.on_control = self._time_is_over

    def inject(self, action: Action) -> int:
        """Apply a fault; its number.

        Raises:
            FaultError: unknown fault or target, or one that it cannot be done to now. Nothing has changed then.
        """
        fault = CATALOGUE.get(action.name)
        if fault is None:
            raise FaultError(f"no fault {action.name!r}{nearest(action.name)}; there are {', '.join(CATALOGUE)}")
        nodes, params, links = self._aim(fault, action)
        number = self._next
        self._next += 1
        cluster = self._cluster
        until_us = cluster.now_us + action.for_us if fault.lasting and action.for_us >= 0 else -1
        target = self._names(nodes)
        shown = {name: str(value).replace(" ", "") for name, value in params.items() if value not in ("", -1)}
        detail = " ".join(f"{name}={value}" for name, value in shown.items())
        active = _Active(number, fault.name, target, nodes, cluster.now_us, until_us, detail, links)
        cluster.emit(FaultInjected(cluster.now_us, number, fault.name, target, until_us, detail))
        if fault.lasting:
            self._active[number] = active
        self._apply(active, params)
        if until_us >= 0:
            cluster.call_at(until_us, number)
        return number

    def _aim(self, fault: Fault, action: Action) -> tuple[tuple[int, ...], dict[str, Any], tuple[tuple[int, int], ...]]:
        """Targets, parameters and links. A refusal takes its random draws back: nobody will replay a refused action."""
        stream = self._cluster.stream(TARGETS)
        position = stream.position
        try:
            params = _with_defaults(fault, action)
            nodes = self._targets(action.target)
            self._refuse_impossible(fault, nodes)
            return nodes, params, self._links(fault, nodes, params) if fault.param("direction") else ()
        except FaultError:
            stream.position = position
            raise

    def _targets(self, text: str) -> tuple[int, ...]:
        try:
            return tuple(resolve(text, self._cluster))
        except SelectorError as error:
            raise FaultError(f"target {text!r}: {error}") from None

    def _names(self, nodes: tuple[int, ...]) -> str:
        return ", ".join(self._cluster.name_of(node) for node in nodes)

    def _refuse_impossible(self, fault: Fault, nodes: tuple[int, ...]) -> None:
        cluster = self._cluster
        for node in nodes:
            name = cluster.name_of(node)
            if not _fits(fault.accepts, node, cluster):
                raise FaultError(f"{fault.title} is for {ACCEPTS[fault.accepts]}, {name} is none")
            state = cluster.state_of(node)
            if fault.name == "restart" and state in _UP:
                raise FaultError(f"{name} is not down, so it cannot be restarted")
            if fault.name in ("crash", "power_loss", "gc_pause", "close") and state not in _UP:
                raise FaultError(f"{name} is down already")
            if fault.name in ("gc_pause", "close") and state is ProcessState.PAUSED:
                raise FaultError(f"{name} is paused{' already' if fault.name == 'gc_pause' else ''}")
            if fault.name == "close" and cluster.clients.is_leaving(node):
                raise FaultError(f"{name} is being closed already")

    def _links(self, fault: Fault, nodes: tuple[int, ...], params: dict[str, Any]) -> tuple[tuple[int, int], ...]:
        others = self._targets(str(params["to"])) if params["to"] else self._cluster.nodes()
        if fault.name == "partition" and not params["to"]:
            others = tuple(other for other in others if other not in nodes)
        found: dict[tuple[int, int], None] = {}
        for node in nodes:
            for other in others:
                if other != node:
                    if params["direction"] in ("both", "out"):
                        found[node, other] = None
                    if params["direction"] in ("both", "in"):
                        found[other, node] = None
        if not found:
            raise FaultError(f"{fault.name} needs two different ends, found only one")
        return tuple(found)

    def _apply(self, active: _Active, params: dict[str, Any]) -> None:
        cluster = self._cluster
        if active.fault == "lag":
            for source, target in active.links:
                cluster.add_lag(source, target, active.id, int(params["latency"]), int(params["jitter"]))
            return
        if active.fault == "partition":
            for source, target in active.links:
                cluster.cut(source, target, active.id)
            return
        for node in active.nodes:
            if active.fault == "restart":
                self._restart(node)
            elif active.fault == "gc_pause":
                cluster.pause(node)
            elif active.fault == "close":
                cluster.shutdown(node, int(params["timeout"]))
            elif active.fault == "poll_stall":
                cluster.clients.stall(node, active.id, int(params["extra"]))
            else:
                self._forget(node, "gc_pause")
                self._forget(node, "close")
                if active.fault == "crash":
                    cluster.crash(node)
                else:
                    cluster.power_loss(node, int(params["keep"]), str(params["tail"]))

    def _restart(self, node: int) -> None:
        for fault in ("crash", "power_loss", "close"):
            self._forget(node, fault)
        self._cluster.restart(node)

    def _forget(self, node: int, fault: str) -> None:
        """A fault on one of several nodes ended by another way; what is left of it goes on."""
        for number, active in tuple(self._active.items()):
            if active.fault == fault and node in active.nodes:
                left = tuple(other for other in active.nodes if other != node)
                if left:
                    self._active[number] = _Active(
                        number, fault, self._names(left), left, active.since_us, active.until_us, active.detail
                    )
                else:
                    self._end(number)

    def _end(self, number: int) -> None:
        active = self._active.pop(number)
        self._cluster.emit(FaultHealed(self._cluster.now_us, number, active.fault, active.target))

    def _time_is_over(self, number: int) -> None:
        if number >= WAKINGS:
            self.desk.woken(number)
        elif number in self._active:
            self._heal(number)

    def heal(self, name: str) -> int:
        """Heal a fault by name or number, or ``all``; how many were healed.

        Raises:
            FaultError: nothing in the catalogue has that name, or no fault has that number.
        """
        if name == "all":
            numbers = list(self._active)
        elif name.isascii() and name.isdigit():
            if int(name) not in self._active:
                raise FaultError(f"no active fault has number {name}")
            numbers = [int(name)]
        elif name in CATALOGUE:
            numbers = [number for number, active in self._active.items() if active.fault == name]
        else:
            raise FaultError(f"no fault {name!r}{nearest(name)}; heal takes all, a fault's name or its number")
        for number in numbers:
            if number in self._active:
                self._heal(number)
        return len(numbers)

    def _heal(self, number: int) -> None:
        active = self._active[number]
        cluster = self._cluster
        self._end(number)
        if active.fault == "lag":
            for source, target in active.links:
                cluster.remove_lag(source, target, number)
            return
        if active.fault == "partition":
            for source, target in active.links:
                cluster.mend(source, target, number)
            return
        for node in active.nodes:
            if active.fault == "poll_stall":
                cluster.clients.stall(node, number, 0)
            elif active.fault == "gc_pause":
                if cluster.state_of(node) is ProcessState.PAUSED:
                    cluster.resume(node)
            elif not cluster.is_up(node):
                cluster.restart(node)
            elif active.fault == "close" and cluster.clients.is_leaving(node):
                cluster.clients.start_again(node)

    def admin(self, action: Action, by: str = OPERATOR) -> int:
        """Begin an operation of the administrator; its number. What comes of it is told by :attr:`desk`.

        Raises:
            FaultError: unknown operation, or a parameter that is missing or wrong.
        """
        return self.desk.request(action, by)

    def usual(self, name: str, partition: str, broker: int) -> Action:
        """An operation with sensible parameters for a partition and a broker."""
        return usual(name, self._cluster, partition, broker)

    def operations(self) -> tuple[OperationView, ...]:
        """Operations under way, oldest first."""
        return self.desk.active()

    def active(self) -> tuple[FaultView, ...]:
        """Faults that last, oldest first."""
        return tuple(
            FaultView(active.id, active.fault, active.target, active.since_us, active.until_us, active.detail)
            for active in self._active.values()
        )

    def on_node(self, node: int) -> tuple[str, ...]:
        """Names of the faults active on a node."""
        return tuple(active.fault for active in self._active.values() if node in active.nodes)

    def expectation(self, name: str, node: int) -> str:
        """What this fault would do to this node now, in one line, from the state of things."""
        cluster = self._cluster
        who = cluster.name_of(node)
        if not _fits(CATALOGUE[name].accepts, node, cluster):
            return f"nothing: {CATALOGUE[name].title} is for {ACCEPTS[CATALOGUE[name].accepts]}, {who} is none"
        if node in cluster.clients.names:
            return client_fate(cluster, name, node)
        leads = sum(record.leader == node for record in cluster.world.records.values())
        if name == "restart":
            return (
                f"{who} is up: nothing to restart" if cluster.is_up(node) else f"{who} recovers, registers, catches up"
            )
        if not cluster.is_up(node):
            return f"{who} is down already"
        if node in cluster.plane.servers:
            return f"{who} answers late" if name == "lag" else f"{who} {self._control_fate(node)}"
        below = sum(
            node in record.isr and len(record.isr) - 1 < cluster.world.effective_min_isr(partition)
            for partition, record in cluster.world.records.items()
        )
        session = cluster.plane.session_us // 1_000_000
        fate = "leads 1 partition" if leads == 1 else f"leads {leads} partitions"
        short = f"; without it {below} would be under min.insync.replicas" if below else ""
        if name == "lag":
            return f"{who} {fate}; acks=all waits for it while it is in an ISR"
        if name == "partition" and node not in cluster.brokers:
            return f"{who} hears and is heard by nobody"
        return f"{who} {fate}; new leaders after its session of {session} s{short}"

    def _control_fate(self, node: int) -> str:
        """What its silence means to the control plane, by how many members of its group would be left."""
        cluster = self._cluster
        servers = node >= FIRST_ZOOKEEPER
        group = [each for each in cluster.plane.servers if (each >= FIRST_ZOOKEEPER) == servers]
        left = sum(cluster.state_of(each) is ProcessState.RUNNING for each in group if each != node)
        what = "ZooKeeper" if servers else "the quorum"
        if 2 * left <= len(group):
            return f"is needed: without it {what} has no majority; leaders and ISRs stay as they are"
        if not servers and node == cluster.plane.active():
            return f"is the controller; {left} of {len(group)} are left to elect another"
        return f"is not needed: {left} of {len(group)} are a majority, {what} goes on"

    def save(self) -> tuple[Any, ...]:
        """All state; saved and loaded with the cluster's keyframe."""
        return (self._next, tuple(self._active.items()), self.desk.save())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self._next, active, desk = saved
        self._active = dict(active)
        self.desk.load(desk)


def _fits(accepts: str, node: int, cluster: Cluster) -> bool:
    """Whether a node is of a kind of targets."""
    if accepts == "brokers":
        return node in cluster.brokers
    is_client = node in cluster.clients.names
    if accepts == "consumers":
        return is_client and cluster.clients.names[node] in cluster.consumers
    if accepts == "clients":
        return is_client
    return accepts == "nodes" or is_client or node in cluster.brokers or node in cluster.plane.servers


def _with_defaults(fault: Fault, action: Action) -> dict[str, Any]:
    for name in action.params:
        if fault.param(name) is None:
            known = ", ".join(param.name for param in fault.params) or "none"
            raise FaultError(f"{fault.name} has no parameter {name!r}; it has {known}")
    found: dict[str, Any] = {}
    for param in fault.params:
        value = action.params.get(param.name, param.default)
        if param.type == "choice" and value not in param.choices:
            raise FaultError(f"{fault.name}: {param.name} takes {', '.join(param.choices)}, found {value!r}")
        numeric = param.type in ("int", "duration")
        if numeric and (isinstance(value, bool) or not isinstance(value, int) or not param.low <= value <= param.high):
            raise FaultError(f"{fault.name}: {param.name} takes {param.low} to {param.high}, found {value!r}")
        found[param.name] = value
    return found
