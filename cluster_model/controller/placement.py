"""Where a new topic's replicas go (``AdminUtils.assignReplicasToBrokers``, KIP-36 for racks). Pure."""

from collections.abc import Sequence


def place(
    brokers: Sequence[tuple[int, str]], partitions: int, replication: int, start: int, shift: int
) -> tuple[tuple[int, ...], ...]:
    """Replicas per partition. ``brokers`` are (id, rack); racks count when every broker has one.

    ``start`` and ``shift`` are the two random numbers that Kafka draws, below the number of brokers.
    """
    ordered = sorted(brokers)
    if all(rack for _broker, rack in ordered):
        return _by_rack(ordered, partitions, replication, start, shift)
    ids = [broker for broker, _rack in ordered]
    count = len(ids)
    placed: list[tuple[int, ...]] = []
    for partition in range(partitions):
        if partition and partition % count == 0:
            shift += 1
        first = (partition + start) % count
        followers = [ids[(first + 1 + (shift + j) % (count - 1)) % count] for j in range(replication - 1)]
        placed.append((ids[first], *followers))
    return tuple(placed)


def _by_rack(
    ordered: list[tuple[int, str]], partitions: int, replication: int, start: int, shift: int
) -> tuple[tuple[int, ...], ...]:
    racks = sorted({rack for _broker, rack in ordered})
    in_rack = {rack: [broker for broker, where in ordered if where == rack] for rack in racks}
    deepest = max(len(members) for members in in_rack.values())
    ids = [in_rack[rack][depth] for depth in range(deepest) for rack in racks if depth < len(in_rack[rack])]
    rack_of = dict(ordered)
    count = len(ids)
    placed: list[tuple[int, ...]] = []
    for partition in range(partitions):
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
