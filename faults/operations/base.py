"""Operations in progress, and operations that are a single request."""

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
    FeatureUpdate,
    IncrementalAlterConfigsRequest,
    NewPartitions,
    UpdateFeaturesRequest,
    entries_of,
)
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.features import levels_of_release
from cluster_model.protocol.group_messages import DeleteGroupsRequest
from cluster_model.protocol.messages import DeleteRecordsRequest
from faults.declarations.fault import FaultError
from faults.declarations.operation import ALL, ALL_FEATURES, Operation

# An operation in progress, and the context that it uses.


Plain = tuple[Any, ...]


@dataclass(slots=True)
class OperationJob:
    """One operation in progress. All state is plain values, so it can be saved at any time."""

    id: int
    operation: Operation
    by: str
    params: Mapping[str, Any]
    since_us: int
    stage: str = ""
    accepted: bool = False
    """Whether Kafka has accepted the request, although it is not complete yet."""
    cancelled: bool = False
    error: str = ""
    """The first error so far."""
    detail: str = ""
    """Current step as text."""
    memo: dict[str, Any] = field(default_factory=dict)
    """State of the operation."""

    def save(self) -> Plain:
        """Return all state as plain values."""
        return (
            self.id, self.operation.name, self.by, tuple(self.params.items()), self.since_us, self.stage, self.accepted,
            self.cancelled, self.error, self.detail, tuple(self.memo.items()),
        )  # fmt: skip


class OperationContext(Protocol):
    """Access of an operation to the cluster and to the runner of operations."""

    cluster: Cluster

    def send(self, job: OperationJob, request: Request) -> None:
        """Send a request; the operation's ``on_response`` receives its final response."""

    def schedule(self, job: OperationJob, after_us: int) -> None:
        """Schedule a call of the operation's ``on_timer``."""

    def progress(self, job: OperationJob, detail: str) -> None:
        """Report that a step is done."""

    def end(self, job: OperationJob, error: str = "", detail: str = "") -> None:
        """End the operation."""


class OperationBehaviour:
    """Steps of an operation. It has no state of its own; all state is in the job."""

    def check(self, context: OperationContext, job: OperationJob) -> None:
        """Refuse an operation that cannot be tried now, before anything has changed.

        Raises:
            FaultError: The operation cannot be tried.
        """

    def begin(self, context: OperationContext, job: OperationJob) -> None:
        """Start the operation."""

    def on_response(self, context: OperationContext, job: OperationJob, answer: Answer) -> None:
        """Handle the final response to the last request."""

    def on_timer(self, context: OperationContext, job: OperationJob) -> None:
        """Handle a time scheduled with :meth:`OperationContext.schedule`."""

    def cancel(self, context: OperationContext, job: OperationJob) -> None:
        """End the operation before it is done.

        Raises:
            FaultError: Kafka cannot revert it.
        """
        raise FaultError(
            f"{job.operation.title} cannot be cancelled: Kafka cannot revert the request",
            code="no_way_back",
        )


def error_and_detail(answer: Any) -> tuple[str, str]:
    """Return the name of the first error in a response, and the results of its parts as text."""
    top_error, entries = entries_of(answer)
    if top_error:
        message = getattr(answer, "message", "")
        return KafkaError(top_error).name, message
    failed = [entry for entry in entries if entry.error]
    if len(entries) == 1 and failed:
        return KafkaError(failed[0].error).name, failed[0].message
    texts = []
    for entry in failed:
        message = f", {entry.message}" if entry.message else ""
        texts.append(f"{entry.name or 'all'}: {KafkaError(entry.error).name}{message}")
    if failed and len(entries) > len(failed):
        texts.append(f"{len(entries) - len(failed)} others done")
    return (KafkaError(failed[0].error).name if failed else ""), "; ".join(texts)


Params = Mapping[str, Any]


class RequestOperation(OperationBehaviour):
    """Operation that sends one request and ends with its response."""

    def __init__(self, request: Callable[[Params], Request]) -> None:
        """``request`` makes the request from the operation's parameters; a FaultError: it would be empty."""
        self._request = request

    def check(self, context: OperationContext, job: OperationJob) -> None:
        """Refuse a request that would be empty."""
        del context
        self._request(job.params)

    def begin(self, context: OperationContext, job: OperationJob) -> None:
        """Send the request."""
        context.send(job, self._request(job.params))

    def on_response(self, context: OperationContext, job: OperationJob, answer: Answer) -> None:
        """End with the response."""
        context.end(job, *error_and_detail(answer))


# Operations that are one request; the client sets its correlation id.


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


def _upgrade_features(params: Mapping[str, Any]) -> Request:
    """Return the request of ``kafka-features.sh upgrade --release-version``, for all features or one of them."""
    levels = {name: level for name, level in levels_of_release(params["release"]).items() if level}
    wanted = params["feature"]
    if wanted != ALL_FEATURES:
        if wanted not in levels:
            raise FaultError(
                f"upgrade_features: Kafka {params['release']} has no default level of {wanted}; it has "
                f"{', '.join(levels)}",
                code="no_feature",
            )
        levels = {wanted: levels[wanted]}
    return UpdateFeaturesRequest(0, tuple([FeatureUpdate(name, level) for name, level in levels.items()]), False)


REQUESTS: Final[Mapping[str, OperationBehaviour]] = {
    "create_topic": RequestOperation(_create_topic),
    "delete_topic": RequestOperation(lambda params: DeleteTopicsRequest(0, (params["topic"],))),
    "add_partitions": RequestOperation(_add_partitions),
    "elect_leaders": RequestOperation(_elect_leaders),
    "alter_topic_config": RequestOperation(_alter_topic_config),
    "alter_broker_config": RequestOperation(_alter_broker_config),
    "delete_records": RequestOperation(lambda params: DeleteRecordsRequest(0, params["partition"], params["before"])),
    "upgrade_features": RequestOperation(_upgrade_features),
    "delete_group": RequestOperation(lambda params: DeleteGroupsRequest(0, (params["group"],))),
}


def changes(params: Mapping[str, Any]) -> tuple[AlterableConfig, ...]:
    """Return the changes that ``set`` and ``reset`` request.

    Raises:
        FaultError: There is none.
    """
    set_ = tuple(AlterableConfig(key, plain(value), SET) for key, value in params["set"])
    reset = tuple(AlterableConfig(key, "", DELETE) for key in params["reset"])
    if not set_ and not reset:
        raise FaultError("there is nothing to change: give set, reset or both", code="nothing_to_change")
    return (*set_, *reset)


def altered(*resources: AlterConfigsResource) -> IncrementalAlterConfigsRequest:
    """Return the request to change these configurations."""
    return IncrementalAlterConfigsRequest(0, resources)


def plain(value: Any) -> str:
    """Return a configuration's value as Kafka's tools write it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def count_text(number: int, noun: str) -> str:
    """Return a number with its noun, as in recorded details: ``0 groups``, ``1 group``, ``1203 groups``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def joined(parts: Iterable[object]) -> str:
    """Return a list as Kafka's tools write it."""
    return ",".join(map(str, parts))
