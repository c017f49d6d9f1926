"""Faults and administrator operations in a real cluster while a scenario runs.

A fault is a generator: it affects its nodes, yields until it is over, and then undoes itself. The scenario calls
:meth:`FaultBoard.tick` every few milliseconds, which continues every generator. Operations are generators, too; they
end by returning, or by an :class:`~tests.real_kafka.processes.AdminError`. None undoes anything when it is discarded:
at the end of a run everything is killed as it is.
"""

import random
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from cluster_model.spec.cluster_spec import DUPLICATE_SUFFIX
from faults.catalogue import CATALOGUE
from faults.declarations import OPERATIONS
from playbooks.model import Step
from tests.real_kafka.history import EventWriter
from tests.real_kafka.processes import AdminError, PendingAnswer, ServerProcess
from tests.real_kafka.real_cluster import RealCluster, broker_name, node_name
from tests.real_kafka.router import Link, LinkEffect
from tests.real_kafka.steps import LINK_FAULTS, TargetResolver

Script = Generator[None, None, None]
"""A fault or an operation in progress."""
MS: Final = 1_000
PATIENCE_US: Final = 600_000_000
"""Bound of an operation's waits."""


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
class RealOperation:
    """An operation in progress, and the step that began it."""

    step: int
    name: str
    params: Mapping[str, Any]
    script: Script
    cancelled: bool = False


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
            known = self._ups.get(node, "ready")
            if not process.is_up and known != "exited" and process.has_started:
                self._ups[node] = "exited"
                self._process(node, "exited", process.exit_code)
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
        if step.name in LINK_FAULTS or (step.name == "quorum_loss" and params["how"] == "partition"):
            links = self.resolver.links(step, nodes, self.cluster.nodes)
        self._refuse(step.name, nodes)
        self._numbers += 1
        fault = RealFault(self._numbers, step.name, list(nodes), links, params)
        fault.script = _FAULTS[step.name](self, fault)
        fields = {"nodes": nodes, "links": [list(link) for link in links], "params": _plain(params)}
        if declared.lasting:
            self.faults[fault.number] = fault
            if step.for_us >= 0:
                fault.until_us = self.cluster.now_us() + step.for_us
        if next(fault.script, _OVER) is _OVER and declared.lasting:
            self._end(fault, "end")
        return {**fields, "fault": fault.number if declared.lasting else 0}

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
        operation.script = _OPERATIONS[step.name](self, operation)
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
    return how[str(fault.params["how"])](board, fault)


def _zombie_producer(board: FaultBoard, fault: RealFault) -> Script:
    """Start a second process of each producer; at the end kill it and start the first one anew, as in the model."""
    rivals = {node: f"{node.removesuffix(')')}{DUPLICATE_SUFFIX})" for node in fault.nodes}
    for rival in rivals.values():
        board.start(rival)
    yield from _until_over(fault)
    for node, rival in rivals.items():
        board.kill(rival)
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


# Operations.


def _answer(board: FaultBoard, verb: str, **parameters: str) -> Generator[None, None, Any]:
    """Ask the admin client, and return its answer. Raises :class:`AdminError`."""
    answer: PendingAnswer = board.cluster.ask(verb, **parameters)
    end_us = board.cluster.now_us() + PATIENCE_US
    while not answer.done.is_set() and board.cluster.now_us() < end_us:
        yield
    return answer.wait(0)


def _rows(placement: Any) -> str:
    return ";".join(",".join(map(str, row)) for row in placement)


def _set(pairs: Any) -> dict[str, str]:
    return {f"set.{name}": str(value).lower() if isinstance(value, bool) else str(value) for name, value in pairs}


def _create_topic(board: FaultBoard, operation: RealOperation) -> Script:
    params = operation.params
    found = {"topic": str(params["topic"]), **_set(params["config"])}
    if params["placement"]:
        found["placement"] = _rows(params["placement"])
    else:
        found |= {name: str(params[name]) for name in ("partitions", "replication") if int(params[name]) >= 0}
    yield from _answer(board, "create_topic", **found)


def _delete_topic(board: FaultBoard, operation: RealOperation) -> Script:
    yield from _answer(board, "delete_topic", topic=str(operation.params["topic"]))


def _add_partitions(board: FaultBoard, operation: RealOperation) -> Script:
    params = operation.params
    placed = {"placement": _rows(params["placement"])} if params["placement"] else {}
    yield from _answer(board, "add_partitions", topic=str(params["topic"]), total=str(params["total"]), **placed)


def _reassign(board: FaultBoard, operation: RealOperation) -> Script:
    params = operation.params
    partition = str(params["partition"])
    if params["cancel"]:
        yield from _answer(board, "cancel_reassignment", partition=partition)
        return
    target = [int(broker) for broker in params["brokers"]]
    throttle = int(params["throttle"])
    if throttle:
        yield from _throttle(board, partition, target, throttle)
    yield from _answer(board, "reassign", partition=partition, brokers=",".join(map(str, target)))
    while (yield from _answer(board, "reassigning")):
        if operation.cancelled:
            yield from _answer(board, "cancel_reassignment", partition=partition)
            operation.cancelled = False
        yield from _wait_us(board, 500 * MS)
    if throttle:
        yield from _unthrottle(board, partition)


_THROTTLED: Final = ("leader.replication.throttled", "follower.replication.throttled")


def _throttle(board: FaultBoard, partition: str, target: list[int], rate: int) -> Script:
    """Set the throttles as kafka-reassign-partitions does: rates of brokers, replicas of the topic."""
    topic, _, number = partition.rpartition("-")
    replicas = board.cluster.view.partitions[partition].replicas
    new = [broker for broker in target if broker not in replicas]
    lists = (replicas, new)
    named = {
        f"set.{prefix}.replicas": ",".join(f"{number}:{broker}" for broker in brokers)
        for prefix, brokers in zip(_THROTTLED, lists, strict=True)
    }
    yield from _answer(board, "alter_configs", topic=topic, **named)
    for broker in sorted({*replicas, *target}):
        rates = {f"set.{prefix}.rate": str(rate) for prefix in _THROTTLED}
        yield from _answer(board, "alter_configs", broker=str(broker), **rates)


def _unthrottle(board: FaultBoard, partition: str) -> Script:
    topic = partition.rpartition("-")[0]
    yield from _answer(board, "alter_configs", topic=topic, **{f"reset.{each}.replicas": "" for each in _THROTTLED})
    for broker in board.cluster.brokers:
        rates = {f"reset.{each}.rate": "" for each in _THROTTLED}
        yield from _answer(board, "alter_configs", broker=str(broker), **rates)


def _elect_leaders(board: FaultBoard, operation: RealOperation) -> Script:
    params = operation.params
    one = {"partition": str(params["partition"])} if params["partition"] else {}
    yield from _answer(board, "elect_leaders", unclean=str(bool(params["unclean"])).lower(), **one)


def _alter_topic_config(board: FaultBoard, operation: RealOperation) -> Script:
    params = operation.params
    resets = {f"reset.{name}": "" for name in params["reset"]}
    yield from _answer(board, "alter_configs", topic=str(params["topic"]), **_set(params["set"]), **resets)


def _alter_broker_config(board: FaultBoard, operation: RealOperation) -> Script:
    params = operation.params
    broker = "" if int(params["broker"]) < 0 else str(params["broker"])
    resets = {f"reset.{name}": "" for name in params["reset"]}
    yield from _answer(board, "alter_configs", broker=broker, **_set(params["set"]), **resets)


def _delete_records(board: FaultBoard, operation: RealOperation) -> Script:
    params = operation.params
    yield from _answer(board, "delete_records", partition=str(params["partition"]), before=str(params["before"]))


def _shutdown(board: FaultBoard, operation: RealOperation) -> Script:
    node, after_us = broker_name(int(operation.params["broker"])), int(operation.params["restart_after"])
    board.terminate(node)
    while board.cluster.process(node).is_up:
        yield
    if after_us >= 0 and not operation.cancelled:
        yield from _wait_us(board, after_us)
        if not board.cluster.process(node).is_up and not operation.cancelled:
            board.start(node)


def _rolling_restart(board: FaultBoard, operation: RealOperation) -> Script:
    params = operation.params
    for broker in params["brokers"] or sorted(board.cluster.brokers):
        if operation.cancelled:
            return
        node = broker_name(int(broker))
        board.terminate(node)
        while board.cluster.process(node).is_up:
            yield
        yield from _wait_us(board, int(params["down"]))
        board.start(node)
        server = board.cluster.servers[node]
        while not server.is_ready or (params["wait"] == "isr" and not board.cluster.settled):
            yield
        yield from _wait_us(board, int(params["pause"]))


def _reset_offsets(board: FaultBoard, operation: RealOperation) -> Script:
    params = operation.params
    group = str(params["group"])
    described = yield from _answer(board, "describe_group", group=group)
    committed = described["committed"]
    if not committed or not params["execute"]:
        return
    names = ",".join(committed)
    if int(params["to_offset"]) >= 0:
        wanted = dict.fromkeys(committed, int(params["to_offset"]))
    else:
        spec = "latest" if params["to_latest"] else "earliest"
        wanted = committed if params["to_current"] else (yield from _answer(board, "ends", partitions=names, spec=spec))
    offsets = {f"to.{name}": str(offset) for name, offset in wanted.items()}
    yield from _answer(board, "alter_offsets", group=group, **offsets)


def _of_group(board: FaultBoard, operation: RealOperation) -> Script:
    yield from _answer(board, operation.name, group=str(operation.params["group"]))


def _list(board: FaultBoard, operation: RealOperation) -> Script:
    yield from _answer(board, operation.name)


def _describe_producers(board: FaultBoard, operation: RealOperation) -> Script:
    yield from _answer(board, operation.name, partition=str(operation.params["partition"]))


def _find_hanging(board: FaultBoard, operation: RealOperation) -> Script:
    params = operation.params
    topic = str(params["topic"])
    of_topic = [name for name in board.cluster.view.partitions if name.rpartition("-")[0] == topic]
    names = ",".join([str(params["partition"])] if params["partition"] else of_topic)
    yield from _answer(board, operation.name, partitions=names, **_largest(params))


def _abort_transaction(board: FaultBoard, operation: RealOperation) -> Script:
    params = operation.params
    named = {name: str(params[name]) for name in ("partition", "start_offset")}
    yield from _answer(board, operation.name, **named, **_largest(params))


def _largest(params: Mapping[str, Any]) -> dict[str, str]:
    return {"max_transaction_timeout_ms": str(int(params["max_transaction_timeout"]) // MS)}


_OPERATIONS: Final[Mapping[str, Callable[[FaultBoard, RealOperation], Script]]] = {
    "create_topic": _create_topic,
    "delete_topic": _delete_topic,
    "add_partitions": _add_partitions,
    "reassign": _reassign,
    "elect_leaders": _elect_leaders,
    "alter_topic_config": _alter_topic_config,
    "alter_broker_config": _alter_broker_config,
    "delete_records": _delete_records,
    "shutdown": _shutdown,
    "rolling_restart": _rolling_restart,
    "reset_offsets": _reset_offsets,
    **dict.fromkeys(("describe_group", "delete_group"), _of_group),
    **dict.fromkeys(("list_groups", "list_transactions"), _list),
    "describe_producers": _describe_producers,
    "find_hanging": _find_hanging,
    "abort_transaction": _abort_transaction,
}
