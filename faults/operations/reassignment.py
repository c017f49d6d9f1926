"""Reassignments as in ``kafka-reassign-partitions.sh``: plan, throttle, reassign, verify, unthrottle.

The tool has to be called again with ``--verify`` to check progress; here the operation checks once per second.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

from cluster_model.clients import Answer, DescribeMetadata
from cluster_model.protocol.admin_messages import (
    DELETE,
    SET,
    AlterableConfig,
    AlterConfigsResource,
    AlterPartitionReassignmentsRequest,
    IncrementalAlterConfigsRequest,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    ReassignablePartition,
)
from cluster_model.protocol.errors import CodedError
from cluster_model.protocol.messages import MetadataResponse, PartitionState
from faults.declarations.fault import FaultError
from faults.declarations.operation import POLL_US
from faults.operations.base import OperationBehaviour, OperationContext, OperationJob, altered, error_and_detail, joined

# Plans: target replicas, computed from a broker's metadata. Pure functions.


Plan = dict[str, tuple[int, ...]]
"""Partition → its target replicas."""


class ReassignmentError(CodedError):
    """A plan that is not possible; ``error`` is Kafka's error code for it, ``code`` names the reason."""

    def __init__(self, error: str, message: str, *, code: str) -> None:
        super().__init__(message, code=code)
        self.error = error


def states_of(metadata: MetadataResponse, topic: str) -> list[PartitionState]:
    """Return a topic's partitions in the order of their numbers.

    Raises:
        ReassignmentError: The topic does not exist.
    """
    found = [state for state in metadata.partitions if state.partition.rpartition("-")[0] == topic]
    if not found:
        raise ReassignmentError("UNKNOWN_TOPIC_OR_PARTITION", f"there is no topic {topic}", code="no_topic")
    return sorted(found, key=lambda state: int(state.partition.rpartition("-")[2]))


def state_of(metadata: MetadataResponse, partition: str) -> PartitionState:
    """Return the state of a partition.

    Raises:
        ReassignmentError: The partition does not exist.
    """
    for state in metadata.partitions:
        if state.partition == partition:
            return state
    raise ReassignmentError("UNKNOWN_TOPIC_OR_PARTITION", f"there is no partition {partition}", code="no_partition")


def target_replicas(state: PartitionState) -> tuple[int, ...]:
    """Return a partition's replicas without those that a move in progress removes."""
    return tuple(broker for broker in state.replicas if broker not in state.removing)


def spread_plan(states: Sequence[PartitionState], brokers: Sequence[int]) -> Plan:
    """Return a plan that spreads a topic over these brokers, each partition starting with the next broker.

    Raises:
        ReassignmentError: There are fewer brokers than replicas.
    """
    plan: Plan = {}
    for number, state in enumerate(states):
        wanted = len(target_replicas(state))
        if wanted > len(brokers):
            message = f"{state.partition} has {wanted} replicas, but only {len(brokers)} brokers are given"
            raise ReassignmentError("INVALID_REPLICA_ASSIGNMENT", message, code="fewer_brokers_than_replicas")
        plan[state.partition] = tuple(brokers[(number + step) % len(brokers)] for step in range(wanted))
    return plan


def replication_plan(metadata: MetadataResponse, topic: str, factor: int) -> Plan:
    """Return a plan for another replication factor of a topic.

    Raises:
        ReassignmentError: The topic does not exist, or there are fewer brokers than the factor.
    """
    held = _counts(metadata, metadata.brokers)
    plan: Plan = {}
    for state in states_of(metadata, topic):
        replicas = target_replicas(state)
        if len(replicas) == factor:
            continue
        chosen = list(replicas[:factor])
        while len(chosen) < factor:
            chosen.append(_least(held, metadata.brokers, chosen, state))
            held[chosen[-1]] += 1
        plan[state.partition] = tuple(chosen)
    return plan


def decommission_plan(metadata: MetadataResponse, broker: int) -> Plan:
    """Return a plan that moves all replicas off a broker; each new replica has the same position in its list.

    Raises:
        ReassignmentError: A partition has a replica on every other broker.
    """
    others = [other for other in metadata.brokers if other != broker]
    held = _counts(metadata, others)
    plan: Plan = {}
    for state in sorted(metadata.partitions, key=lambda state: _by_number(state.partition)):
        replicas = target_replicas(state)
        if broker not in replicas:
            continue
        new = _least(held, others, replicas, state)
        held[new] += 1
        plan[state.partition] = tuple(new if each == broker else each for each in replicas)
    return plan


def _by_number(partition: str) -> tuple[str, int]:
    topic, _dash, number = partition.rpartition("-")
    return topic, int(number)


def _counts(metadata: MetadataResponse, brokers: Iterable[int]) -> dict[int, int]:
    counts = dict.fromkeys(brokers, 0)
    for state in metadata.partitions:
        for broker in target_replicas(state):
            if broker in counts:
                counts[broker] += 1
    return counts


def _least(held: Mapping[int, int], brokers: Iterable[int], taken: Collection[int], state: PartitionState) -> int:
    """Return the live broker with the fewest replicas that is not taken; on a tie the one with the lowest id."""
    fit = [broker for broker in sorted(brokers) if broker not in taken]
    if not fit:
        message = f"no live broker is available for another replica of {state.partition}"
        raise ReassignmentError("INVALID_REPLICATION_FACTOR", message, code="no_broker_left")
    return min(fit, key=lambda broker: held[broker])


RATES = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
REPLICAS = ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas")


class ReplicaMove(OperationBehaviour):
    """Base of all moves: subclasses provide the plan and the steps after it."""

    def plan(self, job: OperationJob, metadata: MetadataResponse) -> Plan:
        """Return the target replicas of each partition. A :class:`ReassignmentError` ends the operation."""
        raise ReassignmentError(
            "INVALID_REQUEST",
            f"{job.operation.name} moves nothing among {len(metadata.brokers)} brokers",
            code="moves_nothing",
        )

    def finish(self, context: OperationContext, job: OperationJob) -> None:
        """End the operation: the move is complete or cancelled, and the throttle is removed."""
        detail = "cancelled" if job.cancelled else job.detail
        context.end(job, job.error, detail)

    def begin(self, context: OperationContext, job: OperationJob) -> None:
        """Request the cluster's metadata."""
        self._request_state(context, job, "describe")

    def cancel(self, context: OperationContext, job: OperationJob) -> None:
        """Cancel the move and remove its throttle."""
        if job.stage not in ("describe", "throttle", "move", "moving"):
            raise FaultError(
                f"{job.operation.title} #{job.id} is almost done: there is nothing left to cancel",
                code="almost_done",
            )
        job.cancelled = True

    def _request_state(self, context: OperationContext, job: OperationJob, stage: str) -> None:
        job.stage = stage
        context.send(job, DescribeMetadata(0))

    def on_response(self, context: OperationContext, job: OperationJob, answer: Answer) -> None:
        """Handle a response according to the current stage."""
        stage = job.stage
        if isinstance(answer, MetadataResponse):
            self._described(context, job, answer)
        elif stage == "throttle":
            job.error, job.detail = error_and_detail(answer)
            if job.error:
                context.end(job, job.error, f"throttle: {job.detail}")
            else:
                self._move(context, job)
        elif stage == "move":
            self._accepted(context, job, answer)
        elif stage == "moving" and isinstance(answer, ListPartitionReassignmentsResponse):
            self._listed(context, job, answer)
        elif stage == "take back":
            self._request_state(context, job, "verify")
        else:
            self.finish(context, job)

    def on_timer(self, context: OperationContext, job: OperationJob) -> None:
        """Check whether the move is complete."""
        if job.stage == "verify":
            self._request_state(context, job, "verify")
        elif job.cancelled:
            self._take_back(context, job)
        else:
            context.send(job, ListPartitionReassignmentsRequest(0, _names(job)))

    def _described(self, context: OperationContext, job: OperationJob, metadata: MetadataResponse) -> None:
        if not metadata.brokers:
            context.end(job, "REQUEST_TIMED_OUT", "no broker returned its metadata in time")
            return
        if job.stage == "verify":
            self._verified(context, job, metadata)
            return
        try:
            plan = self.plan(job, metadata)
        except ReassignmentError as wrong:
            context.end(job, wrong.error, str(wrong))
            return
        changed = {name: new for name, new in plan.items() if new != target_replicas(state_of(metadata, name))}
        job.memo["plan"] = job.memo["wanted"] = tuple(changed.items())
        job.memo["old"] = tuple((name, target_replicas(state_of(metadata, name))) for name in changed)
        if not changed or job.cancelled:
            job.detail = "nothing to move"
            self.finish(context, job)
        elif job.params["throttle"]:
            job.stage = "throttle"
            context.send(job, self._throttles(job, job.params["throttle"]))
        else:
            self._move(context, job)

    def _move(self, context: OperationContext, job: OperationJob) -> None:
        job.stage = "move"
        wanted = tuple(ReassignablePartition(name, new) for name, new in job.memo["plan"])
        context.send(job, AlterPartitionReassignmentsRequest(0, wanted))

    def _accepted(self, context: OperationContext, job: OperationJob, answer: Answer) -> None:
        """Handle the response: refused partitions stay where they are, the others move."""
        job.error, job.detail = error_and_detail(answer)
        refused = {entry.name for entry in getattr(answer, "partitions", ()) if entry.error}
        job.memo["plan"] = tuple((name, new) for name, new in job.memo["plan"] if name not in refused)
        if getattr(answer, "error", 0) or not job.memo["plan"]:
            job.memo["plan"] = ()
            self._unthrottle(context, job)
            return
        job.accepted = not job.error
        context.progress(job, "; ".join(f"{name} to {joined(new)}" for name, new in job.memo["plan"]))
        job.stage = "moving"
        context.schedule(job, POLL_US)

    def _listed(self, context: OperationContext, job: OperationJob, answer: ListPartitionReassignmentsResponse) -> None:
        left = [each.partition for each in answer.partitions if each.partition in _names(job)]
        if job.cancelled:
            self._take_back(context, job)
        elif answer.error or left:
            context.schedule(job, POLL_US)
        else:
            self._request_state(context, job, "verify")

    def _take_back(self, context: OperationContext, job: OperationJob) -> None:
        job.stage = "take back"
        wanted = tuple(ReassignablePartition(name, None) for name in _names(job))
        context.send(job, AlterPartitionReassignmentsRequest(0, wanted))

    def _verified(self, context: OperationContext, job: OperationJob, metadata: MetadataResponse) -> None:
        """Compare the result with the plan.

        Another client may have cancelled the move; a broker with outdated metadata is queried again.
        """
        if any(state.adding or state.removing for state in metadata.partitions if state.partition in _names(job)):
            context.schedule(job, POLL_US)
            return
        where = {state.partition: target_replicas(state) for state in metadata.partitions}
        strayed = [name for name, new in job.memo["plan"] if set(where.get(name, ())) != set(new)]
        if strayed and not job.cancelled:
            misplaced = "; ".join(f"{name} is on {joined(where.get(name, ()))}" for name in strayed)
            job.detail = "; ".join(filter(None, [job.detail, misplaced]))
        self._unthrottle(context, job)

    @staticmethod
    def _throttles(job: OperationJob, rate: int) -> IncrementalAlterConfigsRequest:
        return altered(*throttles(dict(job.memo["wanted"]), dict(job.memo["old"]), rate))

    def _unthrottle(self, context: OperationContext, job: OperationJob) -> None:
        if not job.params["throttle"]:
            self.finish(context, job)
            return
        job.stage = "unthrottle"
        context.send(job, self._throttles(job, 0))


def _names(job: OperationJob) -> tuple[str, ...]:
    """Return the partitions that move."""
    return tuple(name for name, _new in job.memo["plan"])


def throttles(plan: Plan, old: Plan, rate: int) -> list[AlterConfigsResource]:
    """Return the configurations the tool sets: rates of brokers, and throttled replicas of topics; rate 0: none."""
    brokers: dict[int, None] = {}
    leaders: dict[str, list[str]] = {}
    followers: dict[str, list[str]] = {}
    for partition, before in old.items():
        after = plan.get(partition, ())
        topic, _dash, number = partition.rpartition("-")
        brokers |= dict.fromkeys((*before, *after))
        leaders.setdefault(topic, []).extend(f"{number}:{broker}" for broker in before)
        followers.setdefault(topic, []).extend(f"{number}:{broker}" for broker in after if broker not in before)
    operation = SET if rate else DELETE
    resources = [
        AlterConfigsResource(
            "broker", str(broker), tuple(AlterableConfig(key, str(rate) if rate else "", operation) for key in RATES)
        )
        for broker in sorted(brokers)
    ]
    for topic, leading in leaders.items():
        values = (joined(leading), joined(followers[topic]))
        configs = tuple(
            AlterableConfig(key, value if rate else "", operation) for key, value in zip(REPLICAS, values, strict=True)
        )
        resources.append(AlterConfigsResource("topic", topic, configs))
    return resources


class Reassignment(ReplicaMove):
    """Move of a partition or a topic to given brokers, or the cancellation of such a move."""

    def check(self, context: OperationContext, job: OperationJob) -> None:
        """Require either brokers or cancel."""
        del context
        if bool(job.params["brokers"]) == job.params["cancel"]:
            raise FaultError("reassign needs either brokers or cancel, found both or neither", code="choose_one")

    def plan(self, job: OperationJob, metadata: MetadataResponse) -> Plan:
        """Return the given brokers, in their order, as replicas."""
        partition, brokers = job.params["partition"], job.params["brokers"]
        if partition:
            state_of(metadata, partition)
            return {partition: brokers}
        return spread_plan(states_of(metadata, job.params["topic"]), brokers)

    def on_response(self, context: OperationContext, job: OperationJob, answer: Answer) -> None:
        """Handle a response; a cancellation is one request, once the partitions are known."""
        if not job.params["cancel"]:
            super().on_response(context, job, answer)
        elif isinstance(answer, MetadataResponse):
            self._cancel_all(context, job, answer)
        else:
            context.end(job, *error_and_detail(answer))

    def _cancel_all(self, context: OperationContext, job: OperationJob, metadata: MetadataResponse) -> None:
        partition = job.params["partition"]
        try:
            if not metadata.brokers:
                raise ReassignmentError(
                    "REQUEST_TIMED_OUT", "no broker returned its metadata in time", code="no_metadata"
                )
            names = [partition] if partition else [each.partition for each in states_of(metadata, job.params["topic"])]
        except ReassignmentError as wrong:
            context.end(job, wrong.error, str(wrong))
            return
        job.stage = "take back"
        wanted = tuple(ReassignablePartition(name, None) for name in names)
        context.send(job, AlterPartitionReassignmentsRequest(0, wanted))


class ReplicationChange(ReplicaMove):
    """Change of a topic's replication factor."""

    def plan(self, job: OperationJob, metadata: MetadataResponse) -> Plan:
        """Return a plan with more or fewer replicas."""
        return replication_plan(metadata, job.params["topic"], job.params["factor"])
