"""Operations of an administrator in a real cluster, each a generator that yields until it is over.

It ends by returning, or by an :class:`~tests.real_kafka.processes.AdminError` with Kafka's answer.
"""

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from tests.real_kafka.processes import PendingAnswer
from tests.real_kafka.real_cluster import RealCluster, broker_name

Script = Generator[None, None, None]
"""An operation or a fault in progress."""
MS: Final = 1_000
PATIENCE_US: Final = 600_000_000
"""Bound of an operation's waits."""


class OperationContext(Protocol):
    """What an operation needs of the scenario: the cluster, and to stop and start processes."""

    @property
    def cluster(self) -> RealCluster:
        """The cluster."""

    def terminate(self, node: str) -> None:
        """Ask a process to shut down."""

    def start(self, node: str) -> None:
        """Start a process that is down."""


@dataclass(slots=True)
class RealOperation:
    """An operation in progress, and the step that began it."""

    step: int
    name: str
    params: Mapping[str, Any]
    script: Script
    cancelled: bool = False


def _wait_us(board: OperationContext, duration_us: int) -> Script:
    end_us = board.cluster.now_us() + duration_us
    while board.cluster.now_us() < end_us:
        yield


def _answer(board: OperationContext, verb: str, **parameters: str) -> Generator[None, None, Any]:
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


def _create_topic(board: OperationContext, operation: RealOperation) -> Script:
    params = operation.params
    found = {"topic": str(params["topic"]), **_set(params["config"])}
    if params["placement"]:
        found["placement"] = _rows(params["placement"])
    else:
        found |= {name: str(params[name]) for name in ("partitions", "replication") if int(params[name]) >= 0}
    yield from _answer(board, "create_topic", **found)


def _delete_topic(board: OperationContext, operation: RealOperation) -> Script:
    yield from _answer(board, "delete_topic", topic=str(operation.params["topic"]))


def _add_partitions(board: OperationContext, operation: RealOperation) -> Script:
    params = operation.params
    placed = {"placement": _rows(params["placement"])} if params["placement"] else {}
    yield from _answer(board, "add_partitions", topic=str(params["topic"]), total=str(params["total"]), **placed)


def _reassign(board: OperationContext, operation: RealOperation) -> Script:
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


def _throttle(board: OperationContext, partition: str, target: list[int], rate: int) -> Script:
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


def _unthrottle(board: OperationContext, partition: str) -> Script:
    topic = partition.rpartition("-")[0]
    yield from _answer(board, "alter_configs", topic=topic, **{f"reset.{each}.replicas": "" for each in _THROTTLED})
    for broker in board.cluster.brokers:
        rates = {f"reset.{each}.rate": "" for each in _THROTTLED}
        yield from _answer(board, "alter_configs", broker=str(broker), **rates)


def _elect_leaders(board: OperationContext, operation: RealOperation) -> Script:
    params = operation.params
    one = {"partition": str(params["partition"])} if params["partition"] else {}
    yield from _answer(board, "elect_leaders", unclean=str(bool(params["unclean"])).lower(), **one)


def _alter_topic_config(board: OperationContext, operation: RealOperation) -> Script:
    params = operation.params
    resets = {f"reset.{name}": "" for name in params["reset"]}
    yield from _answer(board, "alter_configs", topic=str(params["topic"]), **_set(params["set"]), **resets)


def _alter_broker_config(board: OperationContext, operation: RealOperation) -> Script:
    params = operation.params
    broker = "" if int(params["broker"]) < 0 else str(params["broker"])
    resets = {f"reset.{name}": "" for name in params["reset"]}
    yield from _answer(board, "alter_configs", broker=broker, **_set(params["set"]), **resets)


def _delete_records(board: OperationContext, operation: RealOperation) -> Script:
    params = operation.params
    yield from _answer(board, "delete_records", partition=str(params["partition"]), before=str(params["before"]))


def _shutdown(board: OperationContext, operation: RealOperation) -> Script:
    node, after_us = broker_name(int(operation.params["broker"])), int(operation.params["restart_after"])
    board.terminate(node)
    while board.cluster.process(node).is_up:
        yield
    if after_us >= 0 and not operation.cancelled:
        yield from _wait_us(board, after_us)
        if not board.cluster.process(node).is_up and not operation.cancelled:
            board.start(node)


def _rolling_restart(board: OperationContext, operation: RealOperation) -> Script:
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


def _reset_offsets(board: OperationContext, operation: RealOperation) -> Script:
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


def _of_group(board: OperationContext, operation: RealOperation) -> Script:
    yield from _answer(board, operation.name, group=str(operation.params["group"]))


def _list(board: OperationContext, operation: RealOperation) -> Script:
    yield from _answer(board, operation.name)


def _describe_producers(board: OperationContext, operation: RealOperation) -> Script:
    yield from _answer(board, operation.name, partition=str(operation.params["partition"]))


def _find_hanging(board: OperationContext, operation: RealOperation) -> Script:
    params = operation.params
    topic = str(params["topic"])
    of_topic = [name for name in board.cluster.view.partitions if name.rpartition("-")[0] == topic]
    names = ",".join([str(params["partition"])] if params["partition"] else of_topic)
    yield from _answer(board, operation.name, partitions=names, **_largest(params))


def _abort_transaction(board: OperationContext, operation: RealOperation) -> Script:
    params = operation.params
    named = {name: str(params[name]) for name in ("partition", "start_offset")}
    yield from _answer(board, operation.name, **named, **_largest(params))


def _largest(params: Mapping[str, Any]) -> dict[str, str]:
    return {"max_transaction_timeout_ms": str(int(params["max_transaction_timeout"]) // MS)}


OPERATION_SCRIPTS: Final[Mapping[str, Callable[[OperationContext, RealOperation], Script]]] = {
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
