"""Operations that are one request: its parameters go in, its answer is the end."""

from collections.abc import Iterable, Mapping
from typing import Any

from cluster_model.clients.admin_routing import Answer, Request
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
)
from cluster_model.protocol.group_messages import DeleteGroupsRequest
from cluster_model.protocol.messages import DeleteRecordsRequest
from faults.declarations.fault import FaultError
from faults.declarations.operation import ALL
from faults.operations.job import Hands, Job, Procedure, verdict


class Asking(Procedure):
    """Ask, and take the answer."""

    def check(self, hands: Hands, job: Job) -> None:
        """Only what asks for anything."""
        del hands
        request_of(job.operation.name, job.params)

    def begin(self, hands: Hands, job: Job) -> None:
        """The request."""
        hands.ask(job, request_of(job.operation.name, job.params))

    def answered(self, hands: Hands, job: Job, answer: Answer) -> None:
        """The end."""
        hands.end(job, *verdict(answer))


def request_of(name: str, params: Mapping[str, Any]) -> Request:
    """The request of an operation that is one; its number is the client's business.

    Raises:
        FaultError: nothing would be asked for.
    """
    if name == "create_topic":
        config = tuple((key, plain(value)) for key, value in params["config"])
        topic = CreatableTopic(
            params["topic"], params["partitions"], params["replication"], params["placement"], config
        )  # fmt: skip
        return CreateTopicsRequest(0, (topic,))
    if name == "delete_topic":
        return DeleteTopicsRequest(0, (params["topic"],))
    if name == "add_partitions":
        return CreatePartitionsRequest(0, (NewPartitions(params["topic"], params["total"], params["placement"]),))
    if name == "elect_leaders":
        partition = params["partition"]
        return ElectLeadersRequest(0, params["unclean"], (partition,) if partition else ())
    if name == "delete_group":
        return DeleteGroupsRequest(0, (params["group"],))
    if name == "delete_records":
        return DeleteRecordsRequest(0, params["partition"], params["before"])
    if name == "alter_topic_config":
        return altered(AlterConfigsResource("topic", params["topic"], changes(params)))
    broker = "" if params["broker"] == ALL else str(params["broker"])
    return altered(AlterConfigsResource("broker", broker, changes(params)))


def changes(params: Mapping[str, Any]) -> tuple[AlterableConfig, ...]:
    """What ``set`` and ``reset`` ask for.

    Raises:
        FaultError: nothing.
    """
    set_ = tuple(AlterableConfig(key, plain(value), SET) for key, value in params["set"])
    reset = tuple(AlterableConfig(key, "", DELETE) for key in params["reset"])
    if not set_ and not reset:
        raise FaultError("nothing to change: give set, reset or both")
    return (*set_, *reset)


def altered(*resources: AlterConfigsResource) -> IncrementalAlterConfigsRequest:
    """The request to change these."""
    return IncrementalAlterConfigsRequest(0, resources)


def plain(value: Any) -> str:
    """A configuration's value as Kafka's tools write it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def joined(parts: Iterable[object]) -> str:
    """A list as Kafka's tools write it."""
    return ",".join(map(str, parts))
