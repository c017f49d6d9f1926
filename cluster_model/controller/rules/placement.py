"""Where a new topic's replicas go (``AdminUtils.assignReplicasToBrokers``, KIP-36 for racks). Pure."""

from collections.abc import Sequence


def place(
    brokers: Sequence[tuple[int, str]], partitions: int, replication: int, start: int, shift: int, base: int = 0
) -> tuple[tuple[int, ...], ...]:
    """Replicas per partition. ``brokers`` are (id, rack); racks count when every broker has one.

    ``start`` and ``shift`` are the two random numbers that Kafka draws, below the number of brokers. Partitions added
    to a topic are numbered from ``base``; both numbers are then :func:`continued`.
    """
    ordered = sorted(brokers)
    if all(rack for _broker, rack in ordered):
        return _by_rack(ordered, partitions, replication, start, shift, base)
    ids = [broker for broker, _rack in ordered]
    count = len(ids)
    placed: list[tuple[int, ...]] = []
    for partition in range(base, base + partitions):
        if partition and partition % count == 0:
            shift += 1
        first = (partition + start) % count
        followers = [ids[(first + 1 + (shift + j) % (count - 1)) % count] for j in range(replication - 1)]
        placed.append((ids[first], *followers))
    return tuple(placed)


def continued(brokers: Sequence[tuple[int, str]], first: tuple[int, ...]) -> int:
    """Start and shift for partitions added to a topic: which of the brokers, by id, partition 0's ``first`` replica is.

    The first that is not below it (``AdminUtils.addPartitions``).
    """
    ids = sorted(broker for broker, _rack in brokers)
    return next((index for index, broker in enumerate(ids) if broker >= first[0]), 0)


def _interleaved(ordered: list[tuple[int, str]]) -> list[int]:
    """Brokers taken from one rack after the other."""
    racks = sorted({rack for _broker, rack in ordered})
    in_rack = {rack: [broker for broker, where in ordered if where == rack] for rack in racks}
    deepest = max(len(members) for members in in_rack.values())
    return [in_rack[rack][depth] for depth in range(deepest) for rack in racks if depth < len(in_rack[rack])]


def _by_rack(
    ordered: list[tuple[int, str]], partitions: int, replication: int, start: int, shift: int, base: int
) -> tuple[tuple[int, ...], ...]:
    racks = sorted({rack for _broker, rack in ordered})
    ids = _interleaved(ordered)
    rack_of = dict(ordered)
    count = len(ids)
    placed: list[tuple[int, ...]] = []
    for partition in range(base, base + partitions):
        if partition and partition % count == 0:
            shift += 1
        first = (partition + start) % count
        chosen = [ids[first]]
        step = 0
        while len(chosen) < replication:
            broker = ids[(first + 1 + (shift * len(racks) + step) % (count - 1)) % count]
            used = {rack_of[member] for member in chosen}
            rack_repeats = rack_of[broker] in used and len(used) < len(racks)
            if not rack_repeats and broker not in chosen:
                chosen.append(broker)
            step += 1
        placed.append(tuple(chosen))
    return tuple(placed)
