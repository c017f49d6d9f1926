"""Every request that waits at a broker is answered when its time is over, or its leadership."""

from collections.abc import Iterator
from typing import Final

from cluster_model.broker.broker import Broker
from cluster_model.checker.liveness.owed import Owed, Property
from cluster_model.checker.liveness.partition_state import Sight

PROPERTY: Final = Property(
    "parked-requests",
    "A parked produce is answered when its request.timeout.ms is over and at once when the broker leads no more, a "
    "parked fetch when its fetch.max.wait.ms is over.",
    "a second beyond the request's own time.",
    "the broker that it waits at",
)


def owed(sight: Sight) -> Iterator[Owed]:
    """An obligation for the oldest request of each kind that waits too long for a partition at a broker.

    Those behind it wait for the same reason; followers' fetches show by their high watermarks.
    """
    for number, broker in sight.brokers.items():
        if (broker.purgatory.produces or broker.purgatory.fetches) and sight.weather.runs(number):
            yield from _produces(sight, number, broker)
            yield from _fetches(sight, number, broker)


def _produces(sight: Sight, number: int, broker: Broker) -> Iterator[Owed]:
    told: dict[tuple[str, bool], None] = {}
    bound_us = sight.bounds.parked_us
    for token, produce in broker.purgatory.produces.items():
        replica, late = broker.replicas.get(produce.partition), produce.deadline < sight.now
        if (produce.partition, late) in told or not (late or replica is None or replica.leadership is None):
            continue
        told[produce.partition, late] = None
        yield Owed(
            produce.partition, number, ("produce", token, late), (number,), bound_us, bound_us,
            "a produce at broker {} waits for offset {}, and {}",
            (number, produce.base, "its time is over" if late else "the broker leads no more"),
            since_us=produce.deadline if late else -1,
        )  # fmt: skip


def _fetches(sight: Sight, number: int, broker: Broker) -> Iterator[Owed]:
    told: dict[str, None] = {}
    bound_us = sight.bounds.parked_us
    for token, fetch in broker.purgatory.fetches.items():
        partition = fetch.request.partitions[0].partition if fetch.request.partitions else ""
        if fetch.deadline >= sight.now or partition in told:
            continue
        told[partition] = None
        yield Owed(
            partition, number, ("fetch", token), (number,), bound_us, bound_us,
            "a fetch at broker {} waits on, and its time is over", (number,), since_us=fetch.deadline,
        )  # fmt: skip
