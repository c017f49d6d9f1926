"""Placement of a new topic's replicas: ``AdminUtils`` (KIP-36) and ``StripedReplicaPlacer``. Pure.

Racks take turns, and so do the brokers within each rack; every partition starts one rack further. Unfenced brokers are
placed first, and the first replica must be on one. Brokers without a rack form one rack.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from cluster_model.protocol.errors import KafkaError

T = TypeVar("T")
Draw = Callable[[int], int]
"""Source of random numbers: returns one below its argument."""


class UsableBroker(NamedTuple):
    """A registered broker, as a candidate for replicas."""

    broker: int
    rack: str = ""
    fenced: bool = False


class _Brokers:
    """Brokers that take turns, starting one further in every round; a round ends when all had a turn."""

    __slots__ = ("_index", "_members", "_offset", "_round")

    def __init__(self, members: list[int], offset: int) -> None:
        self._members = members
        self._offset = offset
        self._index = 0
        self._round = 0

    def next(self, turn: int) -> int:
        """Return the next broker in this round, -1 if none is left."""
        count = len(self._members)
        if not count:
            return -1
        if turn != self._round:
            self._round, self._index, self._offset = turn, 0, (self._offset + 1) % count
        if self._index >= count:
            return -1
        broker = self._members[(self._index + self._offset) % count]
        self._index += 1
        return broker

    def shuffle(self, draw: Draw) -> None:
        """Shuffle the order of later turns."""
        _shuffle(self._members, draw)


class _Rack(NamedTuple):
    fenced: _Brokers
    unfenced: _Brokers

    def next(self, turn: int) -> int:
        broker = self.unfenced.next(turn)
        return broker if broker >= 0 else self.fenced.next(turn)


def check_replication(brokers: Sequence[UsableBroker], replication: int) -> KafkaError:
    """Validate a replication factor: INVALID_REPLICATION_FACTOR below 1, above the brokers, or if all are fenced."""
    possible = 0 < replication <= len(brokers) and any(not broker.fenced for broker in brokers)
    return KafkaError.NONE if possible else KafkaError.INVALID_REPLICATION_FACTOR


def place_striped(
    brokers: Sequence[UsableBroker],
    partitions: int,
    replication: int,
    draw: Draw,
    existing: Sequence[tuple[int, ...]] = (),
) -> tuple[tuple[int, ...], ...]:
    """Return the replicas of each partition; :func:`check_replication` must have passed.

    With ``existing`` partitions of the topic, the new ones continue after them. Random numbers are drawn in this order:
    for each rack by name a start among its fenced brokers and one among its unfenced ones, then a rack to start with;
    only for non-empty lists without a start.
    """
    names = sorted({broker.rack for broker in brokers})
    rack_of = {broker.broker: broker.rack for broker in brokers}
    racks = {name: _rack(brokers, name, draw, existing, rack_of) for name in names}
    last = rack_of.get(existing[-1][0]) if existing else None
    offset = draw(len(names)) if last is None else (names.index(last) + 1) % len(names)
    unfenced = sum(not broker.fenced for broker in brokers)
    placed: list[tuple[int, ...]] = []
    turn = 0
    for _partition in range(partitions):
        if turn == unfenced > 1:
            # As many partitions as brokers that can lead: shuffle, so that replica sets do not repeat.
            _shuffle(names, draw)
            for rack in racks.values():
                rack.fenced.shuffle(draw)
                rack.unfenced.shuffle(draw)
            turn = 0
        offset %= len(names)
        placed.append(_place_partition([racks[name] for name in names], offset, replication, turn))
        turn += 1
        offset += 1
    return tuple(placed)


def _place_partition(racks: list[_Rack], offset: int, replication: int, turn: int) -> tuple[int, ...]:
    """Place one partition: the leader in the first rack with an unfenced broker left, then one replica per rack."""
    count = len(racks)
    first = offset
    while (leader := racks[first].unfenced.next(turn)) < 0:
        first = (first + 1) % count
    chosen = [leader]
    index = offset
    skips_first = True
    while len(chosen) < replication:
        if skips_first and index == first:
            skips_first = False
        else:
            broker = racks[index].next(turn)
            if broker >= 0:
                chosen.append(broker)
        index = (index + 1) % count
    return tuple(chosen)


def _rack(
    brokers: Sequence[UsableBroker], name: str, draw: Draw, existing: Sequence[tuple[int, ...]], rack_of: dict[int, str]
) -> _Rack:
    fenced = sorted(broker.broker for broker in brokers if broker.rack == name and broker.fenced)
    unfenced = sorted(broker.broker for broker in brokers if broker.rack == name and not broker.fenced)
    fenced_start = draw(len(fenced)) if fenced else 0
    newest = (broker for replicas in reversed(existing) for broker in replicas if rack_of.get(broker) == name)
    last = next(newest, -1)
    start = unfenced.index(last) + 1 if last in unfenced else draw(len(unfenced)) if unfenced else 0
    return _Rack(_Brokers(fenced, fenced_start), _Brokers(unfenced, start % max(1, len(unfenced))))


def _shuffle(items: list[T], draw: Draw) -> None:
    """Shuffle in place from the end, as ``Collections.shuffle``."""
    for size in range(len(items), 1, -1):
        swapped = draw(size)
        items[size - 1], items[swapped] = items[swapped], items[size - 1]


# Placement of a new topic's replicas in ZooKeeper mode (``AdminUtils.assignReplicasToBrokers``, KIP-36 for racks).
# Pure.


def place_zk(
    brokers: Sequence[tuple[int, str]], partitions: int, replication: int, start: int, shift: int, base: int = 0
) -> tuple[tuple[int, ...], ...]:
    """Return the replicas of each partition. ``brokers`` are (id, rack); racks count if every broker has one.

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
    """Return start and shift for partitions added to a topic: the index of partition 0's first replica by broker id.

    If that broker is gone, the index of the next higher id (``AdminUtils.addPartitions``).
    """
    ids = sorted(broker for broker, _rack in brokers)
    return next((index for index, broker in enumerate(ids) if broker >= first[0]), 0)


def _interleaved(ordered: list[tuple[int, str]]) -> list[int]:
    """Order brokers by taking one of each rack in turn."""
    racks = sorted({rack for _broker, rack in ordered})
    in_rack = {rack: [broker for broker, its_rack in ordered if its_rack == rack] for rack in racks}
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
