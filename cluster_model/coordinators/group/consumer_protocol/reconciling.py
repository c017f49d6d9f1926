"""A member's way from what it has to what it is to have (``CurrentAssignmentBuilder``, KIP-848).

First it gives up what is not its any more, in its old epoch; then it goes to the target epoch and gets what nobody
else has; what somebody has not given up yet it gets when that is done. Members that keep what they have go on.
"""

from collections.abc import Container

from cluster_model.coordinators.group.consumer_protocol.records import STABLE, UNRELEASED, UNREVOKED, CurrentValue

Partitions = tuple[str, ...]


def reconciled(
    current: CurrentValue, target_epoch: int, target: Partitions, owned: Partitions | None, taken: Container[str]
) -> CurrentValue:
    """A member's next step. ``owned`` is what it says it has, None if it says nothing; ``taken`` is everybody's."""
    if current.state == STABLE and current.epoch == target_epoch:
        return current
    if current.state == UNREVOKED and _holds(owned, current.revoking):
        return current
    epoch = current.epoch + (current.state == UNREVOKED)
    return _next(current, epoch, target_epoch, target, owned, taken)


def _holds(owned: Partitions | None, revoking: Partitions) -> bool:
    """Whether a member has, as far as it has said, anything of what it is to give up."""
    return owned is None or any(partition in revoking for partition in owned)


def _next(
    current: CurrentValue,
    epoch: int,
    target_epoch: int,
    target: Partitions,
    owned: Partitions | None,
    taken: Container[str],
) -> CurrentValue:
    """``computeNextAssignment``."""
    kept = [partition for partition in current.assigned if partition in target]
    revoking = tuple([partition for partition in current.assigned if partition not in target])
    if revoking and _holds(owned, revoking):
        return CurrentValue(epoch, current.epoch, UNREVOKED, tuple(kept), revoking)
    wanted = [partition for partition in target if partition not in kept]
    free = [partition for partition in wanted if partition not in taken]
    state = STABLE if len(free) == len(wanted) else UNRELEASED
    return CurrentValue(target_epoch, current.epoch, state, ordered((*kept, *free)), ())


def ordered(partitions: Partitions) -> Partitions:
    """By topic and number."""

    def place(partition: str) -> tuple[str, int]:
        topic, _dash, number = partition.rpartition("-")
        return topic, int(number)

    return tuple(sorted(partitions, key=place))
