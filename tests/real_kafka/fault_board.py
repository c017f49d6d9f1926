"""Faults and administrator operations in a real cluster while a scenario runs.

A fault is a generator: it affects its nodes, yields until it is over, and then undoes itself. The scenario calls
:meth:`FaultBoard.tick` every few milliseconds, which continues every generator. None undoes anything when it is
discarded: at the end of a run everything is killed as it is.
"""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from cluster_model.spec.cluster_spec import DUPLICATE_SUFFIX
from faults.catalogue import CATALOGUE
from faults.declarations import OPERATIONS
from playbooks.model import Step
from tests.real_kafka.history import EventWriter
from tests.real_kafka.operations import OPERATION_SCRIPTS, RealOperation, Script
from tests.real_kafka.processes import AdminError, ServerProcess
from tests.real_kafka.real_cluster import RealCluster, node_name
from tests.real_kafka.router import Link, LinkEffect
from tests.real_kafka.steps import LINK_FAULTS, TargetResolver


@dataclass(slots=True)
class RealFault:
    """An active fault: its number, nodes, links and parameters; ``until_us`` -1 lasts until it is healed."""

    number: int
    name: str
    nodes: list[str]
    links: tuple[Link, ...]
    params: Mapping[str, Any]
    until_us: int = -1
    script: Script | None = None
    over: bool = False
    """Whether the script undoes the fault now, and ends."""


@dataclass(slots=True)
class FaultBoard:
    """All faults and operations of one scenario; what happens is written to ``steps``."""

    cluster: RealCluster
    resolver: TargetResolver
    steps: EventWriter
    random: random.Random
    faults: dict[int, RealFault] = field(default_factory=dict)
    operations: list[RealOperation] = field(default_factory=list)
    _numbers: int = 0
    _holds: dict[str, set[int]] = field(default_factory=dict)
    """Node → faults that pause it."""
    _ups: dict[str, str] = field(default_factory=dict)
    """Node → its last reported state: starting, ready or exited."""
    _start_again: set[str] = field(default_factory=set)
    """Nodes that start as soon as they have exited."""

    # -- time ---------------------------------------------------------------------------------------------------------

    def tick(self) -> None:
        """Continue all faults and operations, heal faults whose time is over, and report processes."""
        now_us = self.cluster.now_us()
        for fault in [fault for fault in self.faults.values() if 0 <= fault.until_us <= now_us]:
            self.heal_fault(fault, "for")
        for fault in list(self.faults.values()):
            if fault.script is not None and next(fault.script, _OVER) is _OVER and fault.number in self.faults:
                self._end(fault, "end")
        for operation in list(self.operations):
            self._continue(operation)
        for node in sorted(self._start_again):
            if not self.cluster.process(node).is_up:
                self.start(node)
        self.report_processes()

    def _continue(self, operation: RealOperation) -> None:
        error = message = ""
        try:
            next(operation.script)
            return
        except StopIteration:
            pass
        except AdminError as failure:
            error, message = failure.code, str(failure)
        self.operations.remove(operation)
        self.steps.write(
            self.cluster.now_us(), "finished", index=operation.step, name=operation.name,
            outcome="failed" if error else "completed", error=error, message=message,
        )  # fmt: skip

    def report_processes(self) -> None:
        """Write which processes have exited or become ready since the last call."""
        for node in self.cluster.nodes:
            process = self.cluster.process(node)
            known = self._ups.get(node, "exited" if DUPLICATE_SUFFIX in node else "ready")
            if not process.is_up and known != "exited":
                self._ups[node] = "exited"
                self._process(node, "exited", process.exit_code)
                self.cluster.prepare(node)
            elif known == "starting" and self._is_ready(node):
                self._ups[node] = "ready"
                self._process(node, "ready")

    def _is_ready(self, node: str) -> bool:
        process = self.cluster.process(node)
        return process.is_ready if isinstance(process, ServerProcess) else process.is_up

    def _process(self, node: str, action: str, code: int | None = None) -> None:
        more = {} if code is None else {"code": code}
        self.steps.write(self.cluster.now_us(), "process", node=node, action=action, **more)

    # -- faults -------------------------------------------------------------------------------------------------------

    def inject(self, step: Step) -> dict[str, Any]:
        """Inject the fault of a step; return the fields of its line. Raises :class:`NoMatchError`."""
        declared = CATALOGUE[step.name]
        params = {param.name: param.default for param in declared.params} | step.params
        nodes = self.resolver.resolve(step.target or declared.target)
        if step.name == "quorum_loss":
            nodes = self._majority(nodes)
        links: tuple[Link, ...] = ()
        if step.name in LINK_FAULTS or (step.name == "quorum_loss" and params["method"] == "partition"):
            links = self.resolver.links(step, nodes, self.cluster.nodes)
        self._refuse(step.name, nodes)
        self._numbers += 1
        fault = RealFault(self._numbers, step.name, list(nodes), links, params)
        fault.script = _FAULTS[step.name](self, fault)
        fields = {"nodes": nodes, "links": [list(link) for link in links], "params": _plain(params)}
        if declared.is_lasting:
            self.faults[fault.number] = fault
            if step.for_us >= 0:
                fault.until_us = self.cluster.now_us() + step.for_us
        if next(fault.script, _OVER) is _OVER and declared.is_lasting:
            self._end(fault, "end")
        return {**fields, "fault": fault.number if declared.is_lasting else 0}

    def _refuse(self, name: str, nodes: list[str]) -> None:
        """Refuse what the model refuses: to stop a process that is down, or to start one that is up."""
        for node in nodes:
            is_up = self.cluster.process(node).is_up
            if name == "restart" and is_up:
                raise AdminError("not_down", f"{node} is not down, so it cannot be restarted")
            if name in ("crash", "clean_shutdown", "gc_pause", "bounce", "pause_train") and not is_up:
                raise AdminError("down_already", f"{node} is down already")

    def _majority(self, nodes: list[str]) -> list[str]:
        running = [node for node in nodes if self.cluster.process(node).is_up]
        voters = len(self.cluster.voters)
        needed = (
            voters - voters // 2 - (voters - sum(self.cluster.servers[node_name(v)].is_up for v in self.cluster.voters))
        )
        active = node_name(self.cluster.active_controller())
        chosen = [active] if active in running else []
        others = [node for node in running if node not in chosen]
        return sorted(chosen + self.random.sample(others, max(0, min(len(others), needed - len(chosen)))))

    def heal(self, name: str, by: str) -> None:
        """Heal faults by name or number, or ``all``."""
        for fault in list(self.faults.values()):
            if name in ("all", fault.name, str(fault.number)):
                self.heal_fault(fault, by)

    def heal_fault(self, fault: RealFault, by: str) -> None:
        """Undo one fault."""
        self._end(fault, by)
        fault.over = True
        while fault.script is not None and next(fault.script, _OVER) is not _OVER:
            pass

    def _end(self, fault: RealFault, by: str) -> None:
        if self.faults.pop(fault.number, None) is not None:
            self.steps.write(
                self.cluster.now_us(), "healed", fault=fault.number, name=fault.name, nodes=fault.nodes, by=by
            )

    def count_faults(self, name: str = "") -> int:
        """Return the number of active faults, all or of one name."""
        return sum(name in ("", fault.name) for fault in self.faults.values())

    @property
    def ends_us(self) -> int:
        """Time when the last fault with a duration ends, -1 for none."""
        return max((fault.until_us for fault in self.faults.values()), default=-1)

    # -- processes ----------------------------------------------------------------------------------------------------

    def kill(self, node: str) -> None:
        """Kill a process."""
        self._holds.pop(node, None)
        self._start_again.discard(node)
        self.cluster.process(node).kill()
        self._process(node, "killed")
        self.report_processes()

    def terminate(self, node: str) -> None:
        """Ask a process to shut down."""
        self.cluster.process(node).terminate()
        self._process(node, "terminated")

    def start(self, node: str) -> None:
        """Start a process that is down."""
        self._holds.pop(node, None)
        self._start_again.discard(node)
        for fault in list(self.faults.values()):
            if fault.name in ("crash", "clean_shutdown") and node in fault.nodes:
                fault.nodes.remove(node)
                if not fault.nodes:
                    self._end(fault, "restart")
        self.cluster.restart(node)
        self._ups[node] = "starting"
        self._process(node, "started")

    def start_when_exited(self, node: str) -> None:
        """Start a process that is down, or as soon as it is."""
        if self.cluster.process(node).is_up:
            self._start_again.add(node)
        else:
            self.start(node)

    def hold(self, node: str, number: int) -> None:
        """Pause a process for a fault."""
        holds = self._holds.setdefault(node, set())
        holds.add(number)
        process = self.cluster.process(node)
        if not process.paused and process.is_up:
            process.pause()
            self._process(node, "paused")

    def release(self, node: str, number: int) -> None:
        """Resume a process unless another fault pauses it."""
        holds = self._holds.get(node, set())
        if number not in holds:
            return
        holds.discard(number)
        process = self.cluster.process(node)
        if not holds and process.paused and process.is_up:
            process.resume()
            self._process(node, "resumed")

    def to_clients(self, nodes: list[str], *words: str) -> None:
        """Send a command to the clients of some nodes."""
        for node in nodes:
            process = self.cluster.clients[node]
            for client in process.settings:
                process.send("to", client, *words)

    # -- operations ---------------------------------------------------------------------------------------------------

    def begin_operation(self, step: Step) -> None:
        """Begin the operation of a step."""
        if step.name == "cancel":
            for operation in self.operations:
                operation.cancelled = True
            return
        params = {param.name: param.default for param in OPERATIONS[step.name].params} | step.params
        operation = RealOperation(step.index, step.name, params, _NOTHING)
        operation.script = OPERATION_SCRIPTS[step.name](self, operation)
        self.operations.append(operation)
        self._continue(operation)


_OVER: Final = object()


def _nothing() -> Script:
    yield


_NOTHING: Final = _nothing()


def _plain(params: Mapping[str, Any]) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in params.items()}


# Faults.


def _until_over(fault: RealFault) -> Script:
    while not fault.over:
        yield


def _crash(board: FaultBoard, fault: RealFault) -> Script:
    for node in fault.nodes:
        board.kill(node)
    yield from _until_over(fault)
    for node in list(fault.nodes):
        if not board.cluster.process(node).is_up:
            board.start(node)


def _clean_shutdown(board: FaultBoard, fault: RealFault) -> Script:
    for node in fault.nodes:
        board.terminate(node)
    yield from _until_over(fault)
    for node in list(fault.nodes):
        board.start_when_exited(node)


def _restart(board: FaultBoard, fault: RealFault) -> Script:
    for node in fault.nodes:
        board.start(node)
    yield


def _gc_pause(board: FaultBoard, fault: RealFault) -> Script:
    for node in fault.nodes:
        board.hold(node, fault.number)
    yield from _until_over(fault)
    for node in fault.nodes:
        board.release(node, fault.number)


def _bounce(board: FaultBoard, fault: RealFault) -> Script:
    for node in fault.nodes:
        (board.kill if fault.params["kill"] else board.terminate)(node)
    left = dict.fromkeys(fault.nodes, -1)
    while left and not fault.over:
        yield
        now_us = board.cluster.now_us()
        for node, since_us in list(left.items()):
            if since_us < 0 and not board.cluster.process(node).is_up:
                left[node] = now_us
            elif since_us >= 0 and now_us - since_us >= int(fault.params["down"]):
                board.start(node)
                del left[node]
    for node in left:
        board.start_when_exited(node)


def _pause_train(board: FaultBoard, fault: RealFault) -> Script:
    left = int(fault.params["count"]) or -1
    while left and not fault.over:
        for node in fault.nodes:
            board.hold(node, fault.number)
        yield from _wait_us(board, int(fault.params["pause"]), fault)
        for node in fault.nodes:
            board.release(node, fault.number)
        left -= 1
        if left:
            yield from _wait_us(board, int(fault.params["every"]), fault)


def _wait_us(board: FaultBoard, duration_us: int, fault: RealFault | None = None) -> Script:
    """Wait, at most until the fault is over."""
    end_us = board.cluster.now_us() + duration_us
    while board.cluster.now_us() < end_us and not (fault is not None and fault.over):
        yield


def _effect(fault: RealFault) -> LinkEffect:
    params = fault.params
    if fault.name == "lag":
        return LinkEffect(latency_us=int(params["latency"]), jitter_us=int(params["jitter"]))
    if fault.name == "loss":
        return LinkEffect(loss_ppm=int(params["percent"]))
    if fault.name == "bandwidth":
        return LinkEffect(rate=int(params["rate"]))
    return LinkEffect(cut=True)


def _links(board: FaultBoard, fault: RealFault) -> Script:
    board.cluster.router.apply(fault.number, fault.links, _effect(fault))
    yield from _until_over(fault)
    board.cluster.router.heal(fault.number)


def _flapping(board: FaultBoard, fault: RealFault) -> Script:
    while not fault.over:
        board.cluster.router.apply(fault.number, fault.links, LinkEffect(cut=True))
        yield from _wait_us(board, int(fault.params["down"]), fault)
        board.cluster.router.heal(fault.number)
        yield from _wait_us(board, int(fault.params["up"]), fault)


def _quorum_loss(board: FaultBoard, fault: RealFault) -> Script:
    how = {"crash": _crash, "pause": _gc_pause, "partition": _links}
    return how[str(fault.params["method"])](board, fault)


def _zombie_producer(board: FaultBoard, fault: RealFault) -> Script:
    """Start a second process of each producer; at the end kill it and start the first one anew, as in the model."""
    duplicates = {node: f"{node.removesuffix(')')}{DUPLICATE_SUFFIX})" for node in fault.nodes}
    for duplicate in duplicates.values():
        board.start(duplicate)
    yield from _until_over(fault)
    for node, duplicate in duplicates.items():
        board.kill(duplicate)
        if board.cluster.process(node).is_up:
            board.kill(node)
            board.start(node)


Number = Callable[[FaultBoard, RealFault], int]


def _command(word: str, value: Number, usual: Number) -> Callable[[FaultBoard, RealFault], Script]:
    """Return a fault that is a command to clients, with the value while it lasts and the usual one afterwards."""

    def script(board: FaultBoard, fault: RealFault) -> Script:
        board.to_clients(fault.nodes, word, str(value(board, fault)))
        yield from _until_over(fault)
        board.to_clients(fault.nodes, word, str(usual(board, fault)))

    return script


def _processing_us(board: FaultBoard, fault: RealFault) -> int:
    """Return the usual processing time of the groups that a fault affects (its members are of one group)."""
    groups = {f"client({group.name}/": group.processing_us for group in board.cluster.spec.groups}
    return next((usual for prefix, usual in groups.items() if fault.nodes[0].startswith(prefix)), 0)


def _slow_processing_us(board: FaultBoard, fault: RealFault) -> int:
    return _processing_us(board, fault) * int(fault.params["factor"]) // 1_000_000 + int(fault.params["extra"])


_FAULTS: Final[Mapping[str, Callable[[FaultBoard, RealFault], Script]]] = {
    "crash": _crash,
    "clean_shutdown": _clean_shutdown,
    "restart": _restart,
    "gc_pause": _gc_pause,
    "bounce": _bounce,
    "pause_train": _pause_train,
    "quorum_loss": _quorum_loss,
    "zombie_producer": _zombie_producer,
    "flapping": _flapping,
    **dict.fromkeys(("lag", "loss", "bandwidth", "partition", "isolate"), _links),
    "poll_stall": _command("stall", lambda board, fault: int(fault.params["extra"]), lambda board, fault: 0),
    "slow_processing": _command("processing", _slow_processing_us, _processing_us),
    **dict.fromkeys(
        ("rate_change", "traffic_spike"),
        _command("rate", lambda board, fault: int(fault.params["rate"]), lambda board, fault: 1_000_000),
    ),
}
