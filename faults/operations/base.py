"""An operation under way, and operations that are a single request."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from cluster_model.clients import Answer, Request
from cluster_model.cluster import Cluster
from cluster_model.protocol.admin_messages import (
    DELETE,
    SET,
    AlterableConfig,
    AlterConfigsResource,
    CreatableTopic,
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    ElectLeadersRequest,
    IncrementalAlterConfigsRequest,
    NewPartitions,
    entries_of,
)
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.group_messages import DeleteGroupsRequest
from cluster_model.protocol.messages import DeleteRecordsRequest
from faults.declarations.fault import FaultError
from faults.declarations.operation import ALL, Operation

# An operation under way, and what a procedure may do with it.


Plain = tuple[Any, ...]


@dataclass(slots=True)
class OperationJob:
    """One operation. All of it is plain values, so that it can be saved in the middle."""

    id: int
    operation: Operation
    by: str
    params: Mapping[str, Any]
    since_us: int
    stage: str = ""
    accepted: bool = False
    """Whether Kafka has said yes to what was asked, though it is not done yet."""
    cancelled: bool = False
    error: str = ""
    """The first refusal so far."""
    detail: str = ""
    """What is being done now, in a few words."""
    memo: dict[str, Any] = field(default_factory=dict)
    """What the procedure has to remember."""

    def save(self) -> Plain:
        """All state."""
        return (
            self.id, self.operation.name, self.by, tuple(self.params.items()), self.since_us, self.stage, self.accepted,
            self.cancelled, self.error, self.detail, tuple(self.memo.items()),
        )  # fmt: skip


class OperationContext(Protocol):
    """What a procedure acts by."""

    cluster: Cluster

    def ask(self, job: OperationJob, request: Request) -> None:
        """Have a request made; the procedure's ``answered`` gets the last word on it."""

    def wake(self, job: OperationJob, after_us: int) -> None:
        """Have ``woken`` called."""

    def progress(self, job: OperationJob, detail: str) -> None:
        """Tell that a part is done."""

    def end(self, job: OperationJob, error: str = "", detail: str = "") -> None:
        """The operation is over."""


class Procedure:
    """How an operation goes. Objects of it have no state: all is in the job."""

    def check(self, hands: OperationContext, job: OperationJob) -> None:
        """Refuse what cannot even be tried now, by a FaultError; nothing has happened yet."""

    def begin(self, hands: OperationContext, job: OperationJob) -> None:
        """Start."""

    def answered(self, hands: OperationContext, job: OperationJob, answer: Answer) -> None:
        """The last word on what was asked last."""

    def woken(self, hands: OperationContext, job: OperationJob) -> None:
        """It is time to look."""

    def cancel(self, hands: OperationContext, job: OperationJob) -> None:
        """End it before its time.

        Raises:
            FaultError: Kafka knows no way back.
        """
        raise FaultError(
            f"{job.operation.title} cannot be cancelled: it was asked for, and Kafka knows no way back",
            code="no_way_back",
        )


def verdict(answer: Any) -> tuple[str, str]:
    """The first refusal in an answer, by Kafka's name, and what came of each part, for a person."""
    whole, entries = entries_of(answer)
    if whole:
        message = getattr(answer, "message", "")
        return KafkaError(whole).name, message
    wrong = [entry for entry in entries if entry.error]
    if len(entries) == 1 and wrong:
        return KafkaError(wrong[0].error).name, wrong[0].message
    told = []
    for entry in wrong:
        message = f", {entry.message}" if entry.message else ""
        told.append(f"{entry.name or 'all'}: {KafkaError(entry.error).name}{message}")
    if wrong and len(entries) > len(wrong):
        told.append(f"{len(entries) - len(wrong)} others done")
    return (KafkaError(wrong[0].error).name if wrong else ""), "; ".join(told)


Params = Mapping[str, Any]


class RequestProcedure(Procedure):
    """Send one request, and take its answer."""

    def __init__(self, request: Callable[[Params], Request]) -> None:
        """``request`` makes it of the operation's parameters; a FaultError: nothing would be asked for."""
        self._request = request

    def check(self, hands: OperationContext, job: OperationJob) -> None:
        """Only what asks for anything."""
        del hands
        self._request(job.params)

    def begin(self, hands: OperationContext, job: OperationJob) -> None:
        """The request."""
        hands.ask(job, self._request(job.params))

    def answered(self, hands: OperationContext, job: OperationJob, answer: Answer) -> None:
        """The end."""
        hands.end(job, *verdict(answer))


# The operations that are one request; its correlation id is the client's business.


def _create_topic(params: Params) -> Request:
    config = tuple((key, plain(value)) for key, value in params["config"])
    topic = CreatableTopic(
        params["topic"], params["partitions"], params["replication"], params["placement"], config
    )  # fmt: skip
    return CreateTopicsRequest(0, (topic,))


def _add_partitions(params: Params) -> Request:
    return CreatePartitionsRequest(0, (NewPartitions(params["topic"], params["total"], params["placement"]),))


def _elect_leaders(params: Params) -> Request:
    partition = params["partition"]
    return ElectLeadersRequest(0, params["unclean"], (partition,) if partition else ())


def _alter_topic_config(params: Params) -> Request:
    return altered(AlterConfigsResource("topic", params["topic"], changes(params)))


def _alter_broker_config(params: Params) -> Request:
    broker = "" if params["broker"] == ALL else str(params["broker"])
    return altered(AlterConfigsResource("broker", broker, changes(params)))


REQUESTS: Final[Mapping[str, Procedure]] = {
    "create_topic": RequestProcedure(_create_topic),
    "delete_topic": RequestProcedure(lambda params: DeleteTopicsRequest(0, (params["topic"],))),
    "add_partitions": RequestProcedure(_add_partitions),
    "elect_leaders": RequestProcedure(_elect_leaders),
    "alter_topic_config": RequestProcedure(_alter_topic_config),
    "alter_broker_config": RequestProcedure(_alter_broker_config),
    "delete_records": RequestProcedure(lambda params: DeleteRecordsRequest(0, params["partition"], params["before"])),
    "delete_group": RequestProcedure(lambda params: DeleteGroupsRequest(0, (params["group"],))),
}


def changes(params: Mapping[str, Any]) -> tuple[AlterableConfig, ...]:
    """What ``set`` and ``reset`` ask for.

    Raises:
        FaultError: nothing.
    """
    set_ = tuple(AlterableConfig(key, plain(value), SET) for key, value in params["set"])
    reset = tuple(AlterableConfig(key, "", DELETE) for key in params["reset"])
    if not set_ and not reset:
        raise FaultError("nothing to change: give set, reset or both", code="nothing_to_change")
    return (*set_, *reset)


def altered(*resources: AlterConfigsResource) -> IncrementalAlterConfigsRequest:
    """The request to change these."""
    return IncrementalAlterConfigsRequest(0, resources)


def plain(value: Any) -> str:
    """A configuration's value as Kafka's tools write it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def tally(number: int, noun: str) -> str:
    """A number with its noun, as recorded details have it: ``0 groups``, ``1 group``, ``1203 groups``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def joined(parts: Iterable[object]) -> str:
    """A list as Kafka's tools write it."""
    return ",".join(map(str, parts))
