"""The odds by queue length of KIP-794, and which brokers count as slow."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster_model.clients.producer.partitioners import BuiltInPartitioner, NodeLatencies, Queue, load_table
from cluster_model.kernel.rng import RandomStream
from tests.cluster_model.clients.producer.queues import Waiting

MS = 1_000


def queues(*waiting: int) -> list[Queue]:
    return [Queue(partition, count) for partition, count in enumerate(waiting)]


def test_the_example_of_the_kip() -> None:
    table = load_table(queues(0, 3, 1), 3)
    assert table is not None
    assert table.sums == (4, 5, 8)
    assert table.range == 8
    assert [table.partition(drawn) for drawn in range(8)] == [0, 0, 0, 0, 1, 2, 2, 2]


@pytest.mark.parametrize(
    ("seen", "total", "why"),
    [
        (queues(0, 3), 3, "a partition has had no batch yet"),
        (queues(5), 1, "one partition"),
        (queues(2, 2, 2), 3, "all as long"),
        ([Queue(0, 1, led=False), Queue(1, 3, led=False)], 2, "no leader anywhere"),
        ([Queue(0, 1, slow=True), Queue(1, 3, slow=True)], 2, "all slow"),
        ([], 0, "nothing"),
    ],
)
def test_without_a_reason_all_are_as_likely(seen: list[Queue], total: int, why: str) -> None:
    assert load_table(seen, total) is None, why


def test_a_partition_without_a_leader_is_left_out_even_if_the_others_are_as_long() -> None:
    table = load_table([Queue(0, 2), Queue(1, 2, led=False), Queue(2, 2)], 3)
    assert table == ((0, 2), (1, 2))


def test_a_slow_leaders_partition_is_left_out_while_something_waits_there() -> None:
    assert load_table([Queue(0, 1), Queue(1, 4, slow=True), Queue(2, 0)], 3) == ((0, 2), (1, 3))
    assert load_table([Queue(0, 1), Queue(1, 0, slow=True), Queue(2, 1)], 3) == ((0, 1, 2), (1, 3, 4))


def test_one_that_is_left_over_is_always_drawn() -> None:
    table = load_table([Queue(0, 9, slow=True), Queue(1, 4)], 2)
    assert table is not None
    assert [table.partition(drawn) for drawn in range(table.range)] == [1]


@given(st.lists(st.tuples(st.integers(0, 20), st.booleans(), st.booleans()), min_size=2, max_size=12))
def test_odds_are_how_much_shorter_than_the_longest(entries: list[tuple[int, bool, bool]]) -> None:
    seen = [Queue(number, waiting, led, slow) for number, (waiting, led, slow) in enumerate(entries)]
    table = load_table(seen, len(seen))
    picked = [queue for queue in seen if queue.led and not (queue.slow and queue.waiting)]
    if table is None:
        assert not picked or (len(picked) == len(seen) and len({queue.waiting for queue in picked}) == 1)
        return
    drawn = Counter(table.partition(number) for number in range(table.range))
    longest = max(queue.waiting for queue in picked)
    assert drawn == {queue.partition: longest + 1 - queue.waiting for queue in picked}


def test_a_longer_queue_gets_less() -> None:
    partitioner = BuiltInPartitioner(RandomStream(5, "p"), 1)
    waiting = Waiting(3, 1)
    topic = waiting.topic._replace(queues=lambda: queues(0, 3, 1))
    placed: Counter[int] = Counter()
    for _record in range(8_000):
        partition = partitioner.partition(None, topic)
        placed[partition] += 1
        partitioner.on_append(None, partition, 2, topic)
    assert [round(placed[partition] / 1_000) for partition in range(3)] == [4, 1, 3]


def test_without_adaptive_partitioning_queues_do_not_matter() -> None:
    partitioner = BuiltInPartitioner(RandomStream(5, "p"), 1, adaptive=False)
    topic = Waiting(3, 1).topic._replace(queues=lambda: queues(0, 3_000, 3_000))
    placed: Counter[int] = Counter()
    for _record in range(300):
        partition = partitioner.partition(None, topic)
        placed[partition] += 1
        partitioner.on_append(None, partition, 2, topic)
    assert min(placed[partition] for partition in range(3)) > 70


def test_a_broker_is_slow_when_it_has_kept_something_ready_waiting_for_too_long() -> None:
    latencies = NodeLatencies(100 * MS)
    assert not latencies.slow(1)
    latencies.on_ready(1, 1_000 * MS, can_take=False)
    assert not latencies.slow(1)  # first heard of now
    latencies.on_ready(1, 1_100 * MS, can_take=False)
    assert not latencies.slow(1)  # 100 ms is not more than 100 ms
    latencies.on_ready(1, 1_101 * MS, can_take=False)
    assert latencies.slow(1)
    assert not latencies.slow(2)
    again = NodeLatencies(100 * MS)
    again.load(latencies.save())
    assert again.slow(1)
    latencies.on_ready(1, 1_500 * MS, can_take=True)
    assert not latencies.slow(1)


def test_without_a_timeout_no_broker_is_slow() -> None:
    latencies = NodeLatencies(0)
    latencies.on_ready(1, 0, can_take=True)
    latencies.on_ready(1, 10**12, can_take=False)
    assert not latencies.slow(1)
