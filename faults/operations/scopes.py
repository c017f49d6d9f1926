"""Which partitions an operation on a group is about, as ``kafka-consumer-groups.sh`` takes them: ``t`` or ``t:0,2``."""

from collections.abc import Iterable

from cluster_model.protocol.messages import MetadataResponse
from faults.operations.planning import states_of


def topics_asked(scopes: Iterable[str]) -> tuple[str, ...]:
    """Topics of which all partitions are meant: they have to be looked up."""
    return tuple(scope for scope in scopes if ":" not in scope)


def partitions_in(scopes: Iterable[str], known: MetadataResponse | None = None) -> tuple[str, ...]:
    """Every partition meant, each once. ``known`` is needed where a whole topic is.

    Raises:
        PlanError: nobody knows the topic.
    """
    found: dict[str, None] = {}
    for scope in scopes:
        topic, colon, numbers = scope.partition(":")
        if colon:
            found.update(dict.fromkeys(f"{topic}-{int(number)}" for number in numbers.split(",")))
            continue
        states = states_of(known or MetadataResponse(0, (), ()), topic)
        found.update(dict.fromkeys(state.partition for state in states))
    return tuple(found)


def offsets_in(lines: Iterable[str]) -> dict[str, int]:
    """Partition → offset, of the lines ``topic,partition,offset``; the last one of a partition counts."""
    found: dict[str, int] = {}
    for line in lines:
        topic, number, offset = line.split(",")
        found[f"{topic}-{int(number)}"] = int(offset)
    return found
