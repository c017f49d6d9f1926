"""Runner of admin operations: operations in progress in one cluster, in virtual time.

An operation starts at one time and ends later: with Kafka's response to the admin client, or when the processes that it
stops and starts are done. Only requests that cannot be tried at all are refused at once.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from cluster_model.clients import Answer, Request
from cluster_model.cluster import Cluster
from cluster_model.observation import OperationView
from cluster_model.protocol.events import AdminAnswered, AdminProgress, AdminRequested
from faults.declarations.fault import Action, FaultError
from faults.declarations.operation import OPERATIONS, nearest_operation
from faults.declarations.parameters import parameters_of, params_text
from faults.operations.base import REQUESTS, OperationBehaviour, OperationJob
from faults.operations.broker_restarts import BrokerShutdown, Decommission, RollingRestart, RollingUpgrade
from faults.operations.consumer_groups import GroupDescription, GroupListing, OffsetDeletion, OffsetReset
from faults.operations.reassignment import Reassignment, ReplicationChange
from faults.operations.transactions import (
    HangingTransactionSearch,
    ProducerDescription,
    TransactionAbort,
    TransactionListing,
)

FIRST_OPERATION_TOKEN: Final = 1 << 32
"""First token of the cluster's control events that belong to operations; lower tokens belong to faults."""

PROCEDURES: Final[Mapping[str, OperationBehaviour]] = {
    **REQUESTS,
    "reassign": Reassignment(),
    "set_replication": ReplicationChange(),
    "shutdown": BrokerShutdown(),
    "decommission": Decommission(),
    "rolling_restart": RollingRestart(),
    "rolling_upgrade": RollingUpgrade(),
    "reset_offsets": OffsetReset(),
    "describe_group": GroupDescription(),
    "list_groups": GroupListing(),
    "delete_offsets": OffsetDeletion(),
    "list_transactions": TransactionListing(),
    "describe_producers": ProducerDescription(),
    "find_hanging": HangingTransactionSearch(),
    "abort_transaction": TransactionAbort(),
}
"""Behaviour of each operation except ``cancel``, which ends another one."""


class OperationResult(NamedTuple):
    """Result of an operation that has ended."""

    id: int
    error: str
    detail: str


class OperationRunner:
    """Admin operations of one cluster, in progress and ended."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self._jobs: dict[int, OperationJob] = {}
        self._next = 1
        self._requests: dict[int, int] = {}
        """Token of a request → id of its operation."""
        self._next_token = 1
        self._ended: list[OperationResult] = []
        cluster.admin.on_answer = self._on_response
        cluster.operations = self._count

    def _count(self) -> int:
        return len(self._jobs)

    def request(self, action: Action, by: str) -> int:
        """Start an operation and return its number.

        Raises:
            FaultError: The operation is unknown, a parameter is invalid, or it cannot be tried now. Nothing has
                changed.
        """
        operation = OPERATIONS.get(action.name)
        if operation is None:
            raise FaultError(
                f"no operation {action.name!r}{nearest_operation(action.name)}; see: floodmark faults",
                code="no_operation",
            )
        params = parameters_of(operation, action, self.cluster.brokers)
        chosen = self._chosen(str(params["operation"])) if operation.name == "cancel" else []
        cluster = self.cluster
        job = OperationJob(self._next, operation, by, params, cluster.now_us)
        if operation.name != "cancel":
            PROCEDURES[operation.name].check(self, job)
        self._next += 1
        self._jobs[job.id] = job
        cluster.emit(AdminRequested(cluster.now_us, job.id, operation.name, by, params_text(params, operation)))
        lacking = operation.unsupported_reason(
            cluster.profile.number, "kraft" if cluster.profile.kraft else "zookeeper"
        )
        if lacking:
            self.end(job, "UNSUPPORTED_VERSION", lacking)
        elif operation.name == "cancel":
            self._cancel(job, chosen)
        else:
            PROCEDURES[operation.name].begin(self, job)
        return job.id

    def _chosen(self, text: str) -> list[OperationJob]:
        """Return the operations that a cancel applies to.

        Raises:
            FaultError: No operation in progress has this number or name.
        """
        if text == "all":
            return list(self._jobs.values())
        found = [job for job in self._jobs.values() if text in (str(job.id), job.operation.name)]
        if not found:
            raise FaultError(f"no operation {text} is in progress", code="not_under_way")
        return found

    def _cancel(self, job: OperationJob, chosen: list[OperationJob]) -> None:
        cancelled, refused = [], []
        for each in chosen:
            try:
                PROCEDURES[each.operation.name].cancel(self, each)
                cancelled.append(f"#{each.id} {each.operation.name}")
            except FaultError as error:
                refused.append(str(error))
        self.end(job, "", "; ".join([*cancelled, *refused]) or "no operation was in progress")

    # -- OperationContext -------------------------------------------------------------------------------------------

    def send(self, job: OperationJob, request: Request) -> None:
        """Send a request with the admin client."""
        token = self._next_token
        self._next_token += 1
        self._requests[token] = job.id
        self.cluster.admin.ask(token, request)

    def schedule(self, job: OperationJob, after_us: int) -> None:
        """Schedule a call of the operation's ``on_timer``."""
        self.cluster.call_at(self.cluster.now_us + after_us, FIRST_OPERATION_TOKEN + job.id)

    def progress(self, job: OperationJob, detail: str) -> None:
        """Record that a step is done."""
        job.detail = detail
        self.cluster.emit(AdminProgress(self.cluster.now_us, job.id, job.operation.name, detail))

    def end(self, job: OperationJob, error: str = "", detail: str = "") -> None:
        """End the operation and record its result."""
        now = self.cluster.now_us
        del self._jobs[job.id]
        self._ended.append(OperationResult(job.id, error, detail))
        took = now - job.since_us
        self.cluster.emit(AdminAnswered(now, job.id, job.operation.name, job.by, error, detail, took))

    # -- responses and timers ---------------------------------------------------------------------------------------

    def _on_response(self, token: int, answer: Answer) -> None:
        job = self._jobs.get(self._requests.pop(token, 0))
        if job is not None:
            PROCEDURES[job.operation.name].on_response(self, job, answer)

    def on_timer(self, token: int) -> None:
        """Handle a control event of the cluster whose token is :data:`FIRST_OPERATION_TOKEN` or above."""
        job = self._jobs.get(token - FIRST_OPERATION_TOKEN)
        if job is not None:
            PROCEDURES[job.operation.name].on_timer(self, job)

    # -- queries ----------------------------------------------------------------------------------------------------

    @property
    def has_ended(self) -> bool:
        """Whether any operation has ended since the last :meth:`take_ended`."""
        return bool(self._ended)

    def take_ended(self) -> list[OperationResult]:
        """Return the operations that ended since the last call, in order."""
        ended, self._ended = self._ended, []
        return ended

    def accepted(self, number: int) -> bool:
        """Return whether Kafka accepted an operation that is still in progress."""
        job = self._jobs.get(number)
        return job is not None and job.accepted

    def active(self) -> tuple[OperationView, ...]:
        """Return operations in progress, oldest first."""
        return tuple(
            OperationView(job.id, job.operation.name, params_text(job.params, job.operation), job.since_us, job.detail)
            for job in self._jobs.values()
        )

    def save(self) -> tuple[Any, ...]:
        """Return all state; it is saved and loaded with the cluster's keyframe."""
        jobs = tuple(job.save() for job in self._jobs.values())
        return (self._next, self._next_token, jobs, tuple(self._requests.items()), tuple(map(tuple, self._ended)))

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`."""
        self._next, self._next_token, jobs, requests, ended = saved
        self._jobs = {}
        for number, name, by, params, since_us, stage, accepted, cancelled, error, detail, memo in jobs:
            self._jobs[number] = OperationJob(
                number, OPERATIONS[name], by, dict(params), since_us, stage, accepted, cancelled, error, detail,
                dict(memo),
            )  # fmt: skip
        self._requests = dict(requests)
        self._ended = [OperationResult(*each) for each in ended]
