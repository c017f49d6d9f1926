"""Every request that waits at a broker is answered when its time is over, or its leadership."""

from collections.abc import Iterator
from typing import Final

from cluster_model.checker.liveness.owed import Owed, Property
from cluster_model.checker.liveness.sight import Sight

PROPERTY: Final = Property(
    "parked-requests",
    "A parked produce is answered when its request.timeout.ms is over and at once when the broker leads no more, a "
    "parked fetch when its fetch.max.wait.ms is over.",
    "a second beyond the request's own time.",
    "the broker that it waits at",
)


def owed(sight: Sight) -> Iterator[Owed]:
    """An obligation for each request that waits too long; followers' fetches show by their high watermarks."""
    now, bounds = sight.now, sight.bounds
    for number, broker in sight.brokers.items():
        purgatory = broker.purgatory
        if not (purgatory.produces or purgatory.fetches) or not sight.weather.runs(number):
            continue
        for token, produce in purgatory.produces.items():
            replica = broker.replicas.get(produce.partition)
            late = produce.deadline < now
            if late or replica is None or replica.leadership is None:
                why = "its time is over" if late else "the broker leads no more"
                yield Owed(
                    produce.partition, number, ("produce", token, late), (number,), bounds.parked_us, bounds.parked_us,
                    "a produce at broker {} waits for offset {}, and {}", (number, produce.base, why),
                )  # fmt: skip
        for token, fetch in purgatory.fetches.items():
            if fetch.deadline < now:
                partition = fetch.request.partitions[0].partition if fetch.request.partitions else ""
                yield Owed(
                    partition, number, ("fetch", token), (number,), bounds.parked_us, bounds.parked_us,
                    "a fetch at broker {} waits on, and its time is over", (number,),
                )  # fmt: skip
