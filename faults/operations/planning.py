"""Where replicas are to go, worked out from what a broker's metadata told: pure functions."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from cluster_model.protocol.messages import MetadataResponse, PartitionState

Plan = dict[str, tuple[int, ...]]
"""Partition → the replicas that it is to have."""


class PlanError(Exception):
    """There is no such plan; ``error`` is what Kafka would answer to one."""

    def __init__(self, error: str, message: str) -> None:
        super().__init__(message)
        self.error = error


def states_of(known: MetadataResponse, topic: str) -> list[PartitionState]:
    """A topic's partitions by their numbers.

    Raises:
        PlanError: there is no such topic.
    """
    found = [state for state in known.partitions if state.partition.rpartition("-")[0] == topic]
    if not found:
        raise PlanError("UNKNOWN_TOPIC_OR_PARTITION", f"there is no topic {topic}")
    return sorted(found, key=lambda state: int(state.partition.rpartition("-")[2]))


def state_of(known: MetadataResponse, partition: str) -> PartitionState:
    """A partition.

    Raises:
        PlanError: there is no such partition.
    """
    for state in known.partitions:
        if state.partition == partition:
            return state
    raise PlanError("UNKNOWN_TOPIC_OR_PARTITION", f"there is no partition {partition}")


def settled(state: PartitionState) -> tuple[int, ...]:
    """A partition's replicas, those that a move under way takes from it left out."""
    return tuple(broker for broker in state.replicas if broker not in state.removing)


def spread(states: Sequence[PartitionState], brokers: Sequence[int]) -> Plan:
    """A topic over these brokers, each partition beginning with the next one.

    Raises:
        PlanError: there are fewer of them than replicas.
    """
    plan: Plan = {}
    for number, state in enumerate(states):
        wanted = len(settled(state))
        if wanted > len(brokers):
            message = f"{state.partition} has {wanted} replicas, and only {len(brokers)} brokers are given"
            raise PlanError("INVALID_REPLICA_ASSIGNMENT", message)
        plan[state.partition] = tuple(brokers[(number + step) % len(brokers)] for step in range(wanted))
    return plan


def refactored(known: MetadataResponse, topic: str, factor: int) -> Plan:
    """A topic with another replication factor.

    Raises:
        PlanError: no such topic, or fewer brokers than that.
    """
    held = _counts(known, known.brokers)
    plan: Plan = {}
    for state in states_of(known, topic):
        replicas = settled(state)
        if len(replicas) == factor:
            continue
        chosen = list(replicas[:factor])
        while len(chosen) < factor:
            chosen.append(_least(held, known.brokers, chosen, state))
            held[chosen[-1]] += 1
        plan[state.partition] = tuple(chosen)
    return plan


def emptied(known: MetadataResponse, broker: int) -> Plan:
    """Everything that a broker holds, on others: each replica keeps its place in its list.

    Raises:
        PlanError: some partition has a replica on every other broker.
    """
    others = [other for other in known.brokers if other != broker]
    held = _counts(known, others)
    plan: Plan = {}
    for state in sorted(known.partitions, key=lambda state: _by_number(state.partition)):
        replicas = settled(state)
        if broker not in replicas:
            continue
        new = _least(held, others, replicas, state)
        held[new] += 1
        plan[state.partition] = tuple(new if each == broker else each for each in replicas)
    return plan


def _by_number(partition: str) -> tuple[str, int]:
    topic, _dash, number = partition.rpartition("-")
    return topic, int(number)


def _counts(known: MetadataResponse, brokers: Iterable[int]) -> dict[int, int]:
    counts = dict.fromkeys(brokers, 0)
    for state in known.partitions:
        for broker in settled(state):
            if broker in counts:
                counts[broker] += 1
    return counts


def _least(held: Mapping[int, int], brokers: Iterable[int], taken: Collection[int], state: PartitionState) -> int:
    """The live broker with the fewest replicas that is not taken, of those the one with the least id."""
    fit = [broker for broker in sorted(brokers) if broker not in taken]
    if not fit:
        message = f"no live broker is left for another replica of {state.partition}"
        raise PlanError("INVALID_REPLICATION_FACTOR", message)
    return min(fit, key=lambda broker: held[broker])
