"""What reaches an application that dies, by when it commits: at most once, at least once, as runs."""

from collections import Counter
from typing import Any

import pytest

from cluster_model.client_factory import FIRST_CONSUMER
from cluster_model.cluster import Cluster
from cluster_model.protocol.config_defs import ConfigValue
from cluster_model.protocol.events import CommitFailed, ConsumerFailed, Event, RecordsAbandoned, RecordsRead
from cluster_model.spec.cluster_spec import BrokerSpec, ClusterSpec, GroupSpec, ProducerSpec, TopicSpec

pytestmark = pytest.mark.slow

SECOND = 1_000_000
RATE = 50
INTERVAL_S = 5
"""``auto.commit.interval.ms``, by default."""


class Story:
    """A producer of 50 records a second, and a group whose first process is killed and started again."""

    def __init__(
        self, commit: str, processing_us: int, *, members: int = 1, config: dict[str, ConfigValue] | None = None
    ) -> None:
        consumer: dict[str, ConfigValue] = {
            "auto.offset.reset": "earliest",
            "session.timeout.ms": 6_000,
            **(config or {}),
        }
        spec = ClusterSpec(
            "3.9",
            None,
            tuple(BrokerSpec(number) for number in (1, 2, 3)),
            (TopicSpec("t", 1, 3),),
            (ProducerSpec("p", "t", SECOND // RATE, config={"acks": "all"}),),
            (GroupSpec("g", ("t",), members, processing_us, consumer, commit=commit),),
            config={"offsets.topic.num.partitions": 1},
        )
        self.cluster = Cluster.build(spec, 5)
        self.events: list[Event] = []

    def until(self, second: float) -> "Story":
        self.cluster.run(int(second * SECOND))
        self.events += self.cluster.drain()
        return self

    def kill(self, down_s: float = 1) -> "Story":
        """The first member's process dies, and another is started in its place."""
        self.cluster.crash(FIRST_CONSUMER)
        self.until(self.cluster.now_us / SECOND + down_s)
        self.cluster.restart(FIRST_CONSUMER)
        return self

    def until_in_hand(self, second: float) -> "Story":
        """To a time, and on until somebody has just been handed records."""
        self.until(second)
        read = self._read()
        while self._read() == read:
            self.cluster.run(self.cluster.now_us + 1_000)
        return self

    def _read(self) -> int:
        return sum(each.read for each in self.cluster.consumers.values())

    def finish(self, second: float) -> "Story":
        """Let them come to the end, and a while longer."""
        self.until(second)
        self.cluster.stop_producers()
        end = round((second + 90) * SECOND)
        self.cluster.run(end, stop=lambda: self.cluster.query.lag("g") == 0)
        return self.until(min(second + 90, self.cluster.now_us / SECOND + 10))

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    def _offsets(self, kind: type[Any]) -> Counter[int]:
        found: Counter[int] = Counter()
        for event in self.of(kind):
            found.update(range(event.log_offset, event.log_offset + event.count))
        return found

    @property
    def lost(self) -> int:
        """Records that were never processed."""
        processed = self._offsets(RecordsRead) - self._offsets(RecordsAbandoned)
        return sum(processed[offset] == 0 for offset in range(self.cluster.query.hw("t-0")))

    @property
    def twice(self) -> int:
        """Records that were handed out a second time."""
        return sum(times - 1 for times in self._offsets(RecordsRead).values())

    @property
    def left(self) -> int:
        """Records that somebody had in hand and did not process."""
        return sum(event.count for event in self.of(RecordsAbandoned))


def test_automatic_commits_in_the_loop_have_an_interval_and_a_poll_delivered_again() -> None:
    story = Story("auto", 10_000).until(20.5).kill().finish(30)
    assert story.lost == 0
    assert 0 < story.twice <= INTERVAL_S * RATE + 500


def test_automatic_commits_of_what_another_thread_processes_lose_it() -> None:
    story = Story("handed_off", 28_000).until(20.5).kill().finish(30)
    assert 0 < story.lost < story.left
    # Without that thread it would have been in hand, and not been committed.
    assert Story("auto", 28_000).until(20.5).kill().finish(30).lost == 0


def test_processing_on_another_thread_loses_nothing_without_crashes() -> None:
    story = Story("handed_off", 10_000).finish(20)
    assert (story.lost, story.twice, story.left) == (0, 0, 0)


def test_commits_after_processing_have_one_poll_delivered_again() -> None:
    story = Story("sync", 10_000).until_in_hand(20.5).kill().finish(30)
    assert story.lost == 0
    assert story.twice == story.left > 0


def test_commits_before_processing_lose_one_poll() -> None:
    story = Story("before", 10_000).until_in_hand(20.5).kill().finish(30)
    assert story.lost == story.left > 0
    assert story.twice == 0


def test_without_commits_everything_is_delivered_again() -> None:
    story = Story("none", 10_000).until(20.5).kill().finish(30)
    assert story.lost == 0
    assert story.twice > 10 * RATE


@pytest.mark.parametrize(("commit", "goes_back"), [("async", False), ("async_retry", True)])
def test_commits_that_an_application_repeats_take_the_offset_back(commit: str, goes_back: bool) -> None:
    story = Story(commit, 5_000).until(15.008)  # with commits under way
    cluster = story.cluster
    cluster.crash(cluster.query.leader("__consumer_offsets-0"))
    highest = found = cluster.query.committed("g", "t-0")
    while cluster.now_us < 40 * SECOND and not 0 <= found < highest:
        highest = max(highest, found)
        cluster.run(cluster.now_us + 2_000)
        found = cluster.query.committed("g", "t-0")
    assert (found < highest) is goes_back
    story.kill().finish(cluster.now_us / SECOND + 8)
    assert story.lost == 0
    assert story.twice >= highest - found


def test_a_pause_above_the_session_timeout_has_two_process_the_same() -> None:
    story = Story("sync", 10_000, members=2, config={"session.timeout.ms": 10_000}).until_in_hand(15)
    cluster = story.cluster
    owner = next(name for name, each in cluster.consumers.items() if each.assignment)
    node = FIRST_CONSUMER + int(owner[-1])
    cluster.pause(node)
    story.until(40)
    cluster.resume(node)
    story.finish(50)
    refused = [event.error for event in story.of(CommitFailed) if event.client == owner]
    assert refused == ["CommitFailedException"]
    readers: dict[int, set[str]] = {}
    for event in story.of(RecordsRead):
        for offset in range(event.log_offset, event.log_offset + event.count):
            readers.setdefault(offset, set()).add(event.client)
    assert [offset for offset, names in readers.items() if len(names) == 2]
    assert (story.lost, story.left) == (0, 0)


@pytest.mark.parametrize("policy", ["earliest", "latest"])
def test_a_committed_offset_below_the_log_start_is_reset(policy: str) -> None:
    story = Story("sync", 2_000, config={"auto.offset.reset": policy}).until(10)
    cluster = story.cluster
    committed = cluster.query.committed("g", "t-0")
    cluster.crash(FIRST_CONSUMER)
    story.until(20)
    cluster.delete_records("t-0", committed + 3 * RATE)
    end = cluster.query.hw("t-0")
    cluster.restart(FIRST_CONSUMER)
    story.finish(30)
    again = [event.log_offset for event in story.of(RecordsRead) if event.at_us > 20 * SECOND]
    if policy == "earliest":
        assert again[0] == committed + 3 * RATE
    else:
        assert again[0] >= end > committed + 9 * RATE


def test_without_a_policy_a_group_that_has_committed_nothing_does_not_begin() -> None:
    story = Story("sync", 2_000, config={"auto.offset.reset": "none"}).until(10)
    assert [event.error for event in story.of(ConsumerFailed)] == ["NoOffsetForPartitionException"]
    assert story.of(RecordsRead) == []
