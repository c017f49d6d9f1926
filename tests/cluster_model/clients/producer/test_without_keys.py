"""Records without a key, in each generation of the producer."""

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from cluster_model.clients.producer.partitioners import (
    BuiltInPartitioner,
    PartitionerConfig,
    RecordPlacement,
    RoundRobinDefaultPartitioner,
    RoundRobinPartitioner,
    StickyPartitioner,
    next_counter,
    partitioner_of,
    round_robin_partition,
)
from cluster_model.kernel.rng import RandomStream
from cluster_model.protocol.releases import Version
from cluster_model.protocol.versions import ClientProfile
from tests.cluster_model.clients.producer.queues import Waiting, send
from tests.support.breadth import sample_count

LEAST, GREATEST = -(1 << 31), (1 << 31) - 1


def stream(seed: int = 1) -> RandomStream:
    return RandomStream(seed, "partitioner")


def release(version: Version) -> ClientProfile:
    return ClientProfile.of(".".join(map(str, version)))


# Up to 2.3.


def test_a_turn_is_the_counter_without_its_sign_bit_over_the_partitions_with_a_leader() -> None:
    topic = Waiting(6, 100, (1, 4, 5)).topic
    assert [round_robin_partition(counter, topic) for counter in (0, 1, 2, 3)] == [1, 4, 5, 1]
    assert round_robin_partition(-1, topic) == (1, 4, 5)[GREATEST % 3]
    assert round_robin_partition(LEAST, topic) == 1
    assert round_robin_partition(7, Waiting(6, 100, ()).topic) == 7 % 6


def test_the_counter_wraps_as_an_int_does() -> None:
    assert next_counter(GREATEST) == LEAST
    assert next_counter(-1) == 0


def test_round_robin_starts_anywhere_and_then_takes_turns() -> None:
    starts = Counter()
    for seed in range(200):
        partitioner = RoundRobinDefaultPartitioner(stream(seed))
        topic = Waiting(4, 100).topic
        placed = [partitioner.partition(None, topic) for _record in range(9)]
        assert all((second - first) % 4 == 1 for first, second in pairwise(placed))
        starts[placed[0]] += 1
    assert all(starts[partition] > 20 for partition in range(4))


def test_the_start_can_be_negative() -> None:
    counters = []
    for seed in range(40):
        partitioner = RoundRobinDefaultPartitioner(stream(seed))
        partitioner.partition(None, Waiting(4, 100).topic)
        counters.append(partitioner.save()[0])
    assert min(counters) < -(1 << 29)
    assert max(counters) > 1 << 29


def test_a_new_batch_takes_no_second_turn_up_to_2_3() -> None:
    placement = RecordPlacement(partitioner_of(release((2, 3, 1)), PartitionerConfig(), stream()))
    waiting = Waiting(4, 10)
    placed = [send(placement, waiting, 10) for _record in range(8)]
    assert sorted(placed) == [0, 0, 1, 1, 2, 2, 3, 3]


# The class RoundRobinPartitioner.


def round_robin(version: Version) -> RecordPlacement:
    return RecordPlacement(partitioner_of(release(version), PartitionerConfig("RoundRobinPartitioner"), stream()))


@pytest.mark.parametrize("version", [(2, 4, 0), (3, 2, 0), (3, 9, 1)])
def test_the_round_robin_class_takes_two_turns_for_a_new_batch_before_3_9_2(version: Version) -> None:
    waiting = Waiting(4, 10)
    placement = round_robin(version)
    # A batch per record: turn 0 is asked and given back, turn 1 is taken, and so on. Partitions 0 and 2 starve.
    assert [send(placement, waiting, 10) for _record in range(6)] == [1, 3, 1, 3, 1, 3]


def test_an_odd_number_of_partitions_hides_the_second_turn() -> None:
    waiting, placement = Waiting(3, 10), round_robin((3, 8, 0))
    assert Counter(send(placement, waiting, 10) for _record in range(9)) == {0: 3, 1: 3, 2: 3}


def test_a_record_that_fits_takes_one_turn() -> None:
    waiting, placement = Waiting(2, 100), round_robin((3, 8, 0))
    # 0 has no batch: 1 is next. 0 again has none: 1, which has one by now and takes the record. From then on 0, 1, 0, 1
    # is asked for, and 0, still empty, hands over each time.
    assert [send(placement, waiting, 10) for _record in range(4)] == [1, 1, 1, 1]
    waiting.put(0, 10)
    assert [send(placement, waiting, 10) for _record in range(4)] == [0, 1, 0, 1]


@pytest.mark.parametrize("version", [(3, 9, 2), (4, 0, 0)])
def test_since_3_9_2_the_round_robin_class_takes_one_turn_a_record(version: Version) -> None:
    waiting, placement = Waiting(4, 10), round_robin(version)
    assert [send(placement, waiting, 10, key=b"same") for _record in range(6)] == [0, 1, 2, 3, 0, 1]


def test_a_record_with_its_own_partition_takes_no_turn() -> None:
    waiting, placement = Waiting(4, 10), round_robin((3, 8, 0))
    assert [send(placement, waiting, 10, own=2) for _record in range(3)] == [2, 2, 2]
    assert send(placement, waiting, 10) == 1


# 2.4 to 3.2.


def test_sticky_keeps_a_partition_until_its_batch_is_full_and_then_takes_another() -> None:
    placement = RecordPlacement(StickyPartitioner(stream()))
    waiting = Waiting(5, 100)
    placed = [send(placement, waiting, 25) for _record in range(400)]
    runs = [placed[at : at + 4] for at in range(0, 400, 4)]
    assert all(len(set(run)) == 1 for run in runs)
    assert all(first[0] != second[0] for first, second in pairwise(runs))
    assert set(placed) == {0, 1, 2, 3, 4}


def test_sticky_draws_among_the_partitions_with_a_leader() -> None:
    for available in [(1, 3), (2,), ()]:
        waiting = Waiting(6, 10, available)
        placement = RecordPlacement(StickyPartitioner(stream()))
        placed = {send(placement, waiting, 10) for _record in range(200)}
        assert placed == set(available or range(6))


def test_with_one_partition_available_sticky_stays_there() -> None:
    waiting = Waiting(3, 10, (1,))
    placement = RecordPlacement(StickyPartitioner(stream()))
    assert {send(placement, waiting, 10) for _record in range(20)} == {1}


def test_only_the_partition_that_is_stuck_to_moves_sticky_on() -> None:
    partitioner = StickyPartitioner(stream())
    topic = Waiting(4, 100).topic
    stuck = partitioner.partition(None, topic)
    for other in range(4):
        if other != stuck:
            partitioner.on_new_batch(other, topic)
    assert partitioner.partition(None, topic) == stuck
    partitioner.on_new_batch(stuck, topic)
    assert partitioner.partition(None, topic) != stuck


def test_a_full_batch_of_keys_moves_sticky_on_too() -> None:
    placement = RecordPlacement(StickyPartitioner(stream()))
    waiting = Waiting(4, 100)
    stuck = send(placement, waiting, 10)
    assert send(placement, waiting, 100, own=stuck) == stuck
    assert placement.partitioner.partition(None, waiting.topic) != stuck


def test_the_uniform_sticky_class_ignores_keys() -> None:
    waiting = Waiting(4, 100)
    config = PartitionerConfig("org.apache.kafka.clients.producer.UniformStickyPartitioner")
    placement = RecordPlacement(partitioner_of(release((2, 8, 0)), config, stream()))
    assert len({send(placement, waiting, 1, key=str(number).encode()) for number in range(50)}) == 1


def test_without_linger_a_slow_broker_gets_the_most() -> None:
    """The reason for KIP-794: the batch of a broker that is behind stays open, and the producer sticks to it."""
    waiting = Waiting(3, 1_000)
    placement = RecordPlacement(StickyPartitioner(stream()))
    placed: Counter[int] = Counter()
    for record in range(6_000):
        placed[send(placement, waiting, 10)] += 1
        for partition, queue in waiting.queues.items():
            if partition != 0 or record % 50 == 0:
                queue.clear()
    assert placed[0] > 3 * max(placed[1], placed[2])


# Since 3.3.


def uniform(
    batch_bytes: int = 100, *, adaptive: bool = True, ignore_keys: bool = False, seed: int = 1
) -> RecordPlacement:
    return RecordPlacement(BuiltInPartitioner(stream(seed), batch_bytes, adaptive=adaptive, ignore_keys=ignore_keys))


def bytes_per_stay(placement: RecordPlacement, waiting: Waiting, size: int, records: int) -> list[int]:
    """The bytes of each stay at a partition: where the partitioner draws, its stream moves on."""
    stays = [0]
    rule = placement.partitioner
    assert isinstance(rule, BuiltInPartitioner)
    for _record in range(records):
        produced = rule.save()[1]
        send(placement, waiting, size)
        if rule.save()[1] <= produced:
            stays.append(0)
        stays[-1] += size
    return stays


def test_uniform_moves_on_after_a_batch_worth_of_bytes() -> None:
    placement, waiting = uniform(), Waiting(4, 100)
    for _stay in range(30):
        placed = [send(placement, waiting, 25) for _record in range(3)]
        assert len(set(placed)) == 1
        assert placement.partitioner.save()[:2] == (placed[0], 75)
        assert send(placement, waiting, 25) == placed[0]
        assert placement.partitioner.save()[1] == 0


def test_an_open_batch_holds_the_switch_up() -> None:
    placement, waiting = uniform(), Waiting(4, 100)
    first = send(placement, waiting, 60)
    waiting.send_all()
    # 120 bytes, more than a batch, but the batch of 60 is still open.
    assert send(placement, waiting, 60) == first
    assert placement.partitioner.save()[:2] == (first, 120)
    # It leaves. Nothing is open any more, so the next record goes to a partition drawn anew.
    waiting.send_all()
    send(placement, waiting, 10)
    assert placement.partitioner.save()[1] == 10


def test_at_twice_the_batch_size_it_moves_on_whatever_is_open() -> None:
    placement, waiting = uniform(), Waiting(4, 100)
    partition = send(placement, waiting, 60)
    for size in (60, 60):
        waiting.send_all()
        placement.partitioner.on_append(None, partition, size, waiting.topic._replace(full=lambda _partition: False))
    assert placement.partitioner.save()[1] == 180
    placement.partitioner.on_append(None, partition, 20, waiting.topic._replace(full=lambda _partition: False))
    assert placement.partitioner.save()[1] == 0


def test_the_try_that_closes_the_batch_lets_the_switch_through() -> None:
    placement, waiting = uniform(seed=3), Waiting(8, 100)
    rule = placement.partitioner
    partition = send(placement, waiting, 60)
    waiting.send_all()
    assert send(placement, waiting, 70) == partition  # 130 bytes by now, and a batch of 70 open
    drawn_before = rule._stream.position
    send(placement, waiting, 50)
    assert rule._stream.position == drawn_before + 1
    assert rule.save()[1] == 50


def test_uniform_may_draw_the_same_partition_again_and_draws_all_as_often() -> None:
    placement, waiting = uniform(), Waiting(4, 100)
    placed = []
    for _record in range(4_000):
        placed.append(send(placement, waiting, 100))
        waiting.send_all()
    repeats = sum(first == second for first, second in pairwise(placed))
    assert 800 < repeats < 1_200
    assert all(850 < count < 1_150 for count in Counter(placed).values())


def test_uniform_draws_among_the_partitions_with_a_leader() -> None:
    for available in [(1, 3), (2,), ()]:
        placement, waiting = uniform(), Waiting(6, 10, available)
        assert {send(placement, waiting, 100) for _record in range(200)} == set(available or range(6))


def test_keys_and_own_partitions_do_not_count_as_bytes() -> None:
    placement, waiting = uniform(), Waiting(4, 100)
    send(placement, waiting, 10)
    for _record in range(50):
        send(placement, waiting, 90, key=b"order-1")
        send(placement, waiting, 90, own=2)
    assert placement.partitioner.save()[1] == 10


def test_ignored_keys_are_no_keys() -> None:
    placement, waiting = uniform(1_000, ignore_keys=True), Waiting(6, 1_000)
    assert len({send(placement, waiting, 1, key=str(number).encode()) for number in range(40)}) == 1
    assert placement.partitioner.save()[1] == 40


def test_an_empty_key_is_a_key() -> None:
    placement, waiting = uniform(), Waiting(12, 100)
    assert {send(placement, waiting, 60, key=b"") for _record in range(20)} == {9}


def test_a_batch_size_of_nothing_moves_on_with_every_record() -> None:
    placement, waiting = uniform(0), Waiting(4, 0)
    assert bytes_per_stay(placement, waiting, 1, 20)[1:] == [1] * 20


# All of them.

CASES: list[tuple[Version, str]] = [
    ((2, 3, 0), ""), ((2, 4, 0), ""), ((3, 2, 0), ""), ((3, 3, 0), ""), ((4, 0, 0), ""),
    ((2, 4, 0), "RoundRobinPartitioner"), ((4, 0, 0), "RoundRobinPartitioner"),
    ((3, 9, 0), "UniformStickyPartitioner"), ((3, 9, 0), "DefaultPartitioner"),
]  # fmt: skip
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["send", "drain", "check", "lose", "return"]),
        st.one_of(st.none(), st.binary(max_size=3)),
        st.one_of(st.none(), st.integers(0, 4)),
        st.integers(1, 150),
    ),
    max_size=60,
)


def run(
    placement: RecordPlacement, waiting: Waiting, steps: list[tuple[str, bytes | None, int | None, int]]
) -> list[int]:
    placed = []
    for what, key, own, size in steps:
        if what == "send":
            placed.append(send(placement, waiting, size, key, own))
        elif what == "drain":
            waiting.send_all()
        elif what == "check":
            waiting.check()
        elif what == "lose":
            waiting.available = waiting.available[1:]
        else:
            waiting.available = tuple(range(waiting.total))
    return placed


@pytest.mark.slow
@pytest.mark.parametrize(("version", "name"), CASES)
@settings(max_examples=sample_count(40, settings.default.max_examples))
@given(steps=STEPS, more=STEPS)
def test_a_saved_partitioner_continues_the_same(
    version: Version, name: str, steps: list[tuple[str, bytes | None, int | None, int]],
    more: list[tuple[str, bytes | None, int | None, int]],
) -> None:  # fmt: skip
    config = PartitionerConfig(name, batch_bytes=100)
    draws = stream()
    placement, waiting = RecordPlacement(partitioner_of(release(version), config, draws)), Waiting(5, 100)
    assert all(0 <= partition < 5 for partition in run(placement, waiting, steps))
    saved, position = placement.partitioner.save(), draws.position
    queues = {partition: [list(batch) for batch in queue] for partition, queue in waiting.queues.items()}
    available, checked = waiting.available, waiting.checked
    first = run(placement, waiting, more)
    draws.position = position
    again = RecordPlacement(partitioner_of(release(version), config, draws))
    again.partitioner.load(saved)
    waiting.queues, waiting.available, waiting.checked = queues, available, checked
    assert run(again, waiting, more) == first


@pytest.mark.slow
@given(
    own=st.integers(0, 4), key=st.one_of(st.none(), st.binary(max_size=3)), case=st.sampled_from(CASES),
    before=STEPS,
)  # fmt: skip
def test_a_records_own_partition_always_wins(
    own: int, key: bytes | None, case: tuple[Version, str],
    before: list[tuple[str, bytes | None, int | None, int]],
) -> None:  # fmt: skip
    version, name = case
    placement = RecordPlacement(partitioner_of(release(version), PartitionerConfig(name), stream()))
    waiting = Waiting(5, 100)
    run(placement, waiting, before)
    assert send(placement, waiting, 10, key, own) == own


@pytest.mark.parametrize(
    ("version", "name"),
    [
        ((2, 3, 1), "RoundRobinPartitioner"), ((2, 3, 1), "UniformStickyPartitioner"),
        ((4, 0, 0), "UniformStickyPartitioner"), ((4, 0, 0), "DefaultPartitioner"), ((3, 9, 0), "com.example.Mine"),
    ],
)  # fmt: skip
def test_a_class_that_the_version_lacks_is_refused(version: Version, name: str, snapshot: SnapshotAssertion) -> None:
    with pytest.raises(ValueError, match=name) as caught:
        partitioner_of(release(version), PartitionerConfig(name), stream())
    assert str(caught.value) == snapshot


@pytest.mark.parametrize(
    ("version", "name", "kind"),
    [
        ((0, 8, 2), "", RoundRobinDefaultPartitioner), ((2, 3, 1), "", RoundRobinDefaultPartitioner),
        ((2, 3, 1), "DefaultPartitioner", RoundRobinDefaultPartitioner),
        ((2, 4, 0), "", StickyPartitioner), ((3, 2, 3), "", StickyPartitioner),
        ((3, 9, 0), "org.apache.kafka.clients.producer.internals.DefaultPartitioner", StickyPartitioner),
        ((3, 3, 0), "", BuiltInPartitioner), ((4, 1, 0), "", BuiltInPartitioner),
        ((4, 0, 0), "org.apache.kafka.clients.producer.RoundRobinPartitioner", RoundRobinPartitioner),
    ],
)  # fmt: skip
def test_each_version_has_its_partitioner(version: Version, name: str, kind: type) -> None:
    assert type(partitioner_of(release(version), PartitionerConfig(name), stream())) is kind
