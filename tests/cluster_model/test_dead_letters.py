"""Records that no handler can process, and the topic that they are sent to before anything is committed."""

from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.cluster import Cluster
from cluster_model.protocol.errors import ModelError
from cluster_model.protocol.events import (
    HandlerFailed,
    OffsetsCommitted,
    RecordDeadLettered,
    RecordsAbandoned,
    RecordsRead,
    RecordsSent,
    RecordsUnknown,
)
from cluster_model.spec.cluster_spec import BrokerSpec, ClusterSpec, GroupSpec, NetworkSpec, ProducerSpec, TopicSpec
from tests.support.breadth import covering_cases, spread_sample

pytestmark = pytest.mark.slow

MS = 1_000
SECOND = 1_000_000
P, M0 = 2_000, 3_000
LETTERS = "g/0.dead-letter"
LETTERS_NODE = 2_000
EVERY = 50


class DeadLetterCluster:
    """A cluster whose group cannot process one record in 50, with what it did: two such records a second."""

    def __init__(self, *, kafka: str = "3.9", cluster: Cluster | None = None, **group: Any) -> None:
        spec = ClusterSpec(
            kafka,
            "kraft" if kafka in ("3.9", "4.1") else "zookeeper",
            tuple(BrokerSpec(number) for number in (1, 2, 3)),
            (
                TopicSpec("t", 2, 3, ((1, 2, 3), (2, 3, 1)), {"min.insync.replicas": 2}),
                TopicSpec("dead", 1, 3, ((3, 1, 2),), {"min.insync.replicas": 2}),
            ),
            (ProducerSpec("p", "t", 20 * MS, 2, config={"acks": "all"}),),
            (
                GroupSpec(
                    "g", ("t",), **{
                        "members": 1, "processing_us": MS, "commit": "sync", "fails": EVERY, "dead_letter": "dead",
                        "config": {"auto.offset.reset": "earliest"}, **group,
                    },
                ),
            ),
            NetworkSpec(2_000, 0),
            {"offsets.topic.num.partitions": 1},
        )  # fmt: skip
        self.cluster = cluster or Cluster.build(spec, 3)
        self.events: list[Any] = []

    def run(self, until: int) -> None:
        self.cluster.run(until)
        self.events += self.cluster.drain()

    def step(self, kind: type[Any]) -> Any:
        """Run until the next event of a kind."""
        while True:
            self.cluster.run(self.cluster.now_us + 120 * SECOND, 1)
            drained = self.cluster.drain()
            self.events += drained
            found = [event for event in drained if isinstance(event, kind)]
            if found:
                return found[0]

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    def letters(self) -> list[tuple[str, int]]:
        return [(event.partition, event.log_offset) for event in self.of(RecordDeadLettered)]

    def ended(self, until: int) -> None:
        """Let readers come to the end."""
        self.cluster.stop_producers()
        self.run(until)
        assert self.cluster.query.lag("g") == 0

    def expected(self) -> list[tuple[str, int]]:
        """Every record that cannot be processed."""
        query = self.cluster.query
        return [(name, at) for name in ("t-0", "t-1") for at in range(EVERY - 1, query.leo(name), EVERY)]

    def books(self) -> list[int]:
        """Letters: sent, acked, failed, unknown, aborted."""
        return self.cluster.checker.ledger.deliveries.totals[LETTERS]


@pytest.mark.parametrize(
    ("kafka", "commit"), covering_cases(["0.9", "2.0", "3.9", "4.1"], ["auto", "sync", "async", "before"])
)
def test_every_record_that_cannot_be_processed_is_in_the_topic_once(kafka: str, commit: str) -> None:
    driver = DeadLetterCluster(kafka=kafka, commit=commit)
    driver.run(6 * SECOND)
    driver.ended(14 * SECOND)
    expected = driver.expected()
    assert len(expected) > 7
    assert sorted(driver.letters()) == expected
    assert driver.of(HandlerFailed) == []
    assert driver.cluster.query.leo("dead-0") == len(expected)
    assert driver.books() == [len(expected), len(expected), 0, 0, 0]
    view = next(each for each in driver.cluster.view().producers if each.name == LETTERS)
    assert (view.topic, view.acks, view.acked) == ("dead", -1, len(expected))


def test_without_a_topic_records_are_skipped_and_there_is_no_other_producer() -> None:
    driver = DeadLetterCluster(dead_letter="")
    driver.run(10 * SECOND)
    assert driver.of(HandlerFailed) != []
    assert driver.letters() == []
    assert [each.name for each in driver.cluster.view().producers] == ["p"]


def test_a_topic_that_is_not_there_is_refused(snapshot: SnapshotAssertion) -> None:
    with pytest.raises(ModelError) as caught:
        DeadLetterCluster(dead_letter="letters")
    assert caught.value.code == "no_topic"
    assert str(caught.value) == snapshot


def test_the_commit_waits_for_the_letter() -> None:
    driver = DeadLetterCluster()
    driver.run(5 * SECOND)
    cluster = driver.cluster
    sent = driver.books()[0]
    # Without a second replica in sync no letter is acknowledged, whoever leads.
    for broker in (1, 2, 3):
        for other in (1, 2, 3):
            if broker != other:
                cluster.add_lag(broker, other, 9, SECOND, 0)
    while driver.books()[0] == sent:
        driver.run(cluster.now_us + MS)
    commits, told = len(driver.of(OffsetsCommitted)), driver.letters()
    read = cluster.consumers["g/0"].read
    driver.run(cluster.now_us + SECOND)
    assert driver.books()[:2] == [sent + 1, sent]
    assert (len(driver.of(OffsetsCommitted)), driver.letters()) == (commits, told)
    assert cluster.consumers["g/0"].read == read
    for broker in (1, 2, 3):
        for other in (1, 2, 3):
            if broker != other:
                cluster.remove_lag(broker, other, 9)
    driver.run(20 * SECOND)
    driver.ended(40 * SECOND)
    assert sorted(driver.letters()) == driver.expected()


def test_a_crash_between_letter_and_commit_makes_a_second_letter() -> None:
    # An automatic commit comes with a poll, up to 5 s later.
    driver = DeadLetterCluster(commit="auto")
    driver.run(9 * SECOND)
    newest = driver.step(RecordDeadLettered)
    before = driver.letters()
    committed = {event.partition: event.log_offset for event in driver.of(OffsetsCommitted)}
    open_letters = [(name, at) for name, at in before if at >= committed.get(name, 0)]
    assert (newest.partition, newest.log_offset) in open_letters
    assert len(open_letters) < len(before)
    driver.cluster.crash(M0)
    driver.run(driver.cluster.now_us + 2 * SECOND)
    driver.cluster.restart(M0)
    driver.run(80 * SECOND)
    driver.ended(90 * SECOND)
    letters = driver.letters()
    assert sorted(each for each in driver.expected() if letters.count(each) == 2) == sorted(open_letters)
    assert sorted(letters) == sorted([*driver.expected(), *open_letters])
    assert driver.cluster.query.leo("dead-0") == len(letters)
    assert driver.books() == [len(letters), len(letters), 0, 0, 0]


def test_a_crash_while_the_letter_is_under_way_leaves_it_unknown_and_in_the_topic() -> None:
    driver = DeadLetterCluster()
    driver.run(5 * SECOND)
    cluster = driver.cluster
    sent = driver.books()[0]
    while driver.books()[0] == sent:
        driver.run(cluster.now_us + MS)
    cluster.run(cluster.now_us + 3 * MS)
    told = len(driver.letters())
    cluster.crash(M0)
    driver.run(cluster.now_us + 2 * SECOND)
    assert [(event.client, event.error) for event in driver.of(RecordsUnknown)] == [(LETTERS, "process died")]
    cluster.restart(M0)
    driver.run(80 * SECOND)
    driver.ended(90 * SECOND)
    expected = driver.expected()
    assert sorted(driver.letters()) == expected
    assert cluster.query.leo("dead-0") == len(expected) + 1
    assert len(expected) > told > 0
    assert driver.books() == [len(expected) + 1, len(expected), 0, 1, 0]


def test_a_letter_that_cannot_be_sent_has_its_record_read_again_and_nothing_is_lost(
    snapshot: SnapshotAssertion,
) -> None:
    # Without retries (the default up to 2.0) the first refusal is told to the application.
    driver = DeadLetterCluster(kafka="2.0", retries=1, retry_pause_us=20 * MS)
    driver.run(5 * SECOND)
    cluster = driver.cluster
    while driver.step(RecordsSent).client != LETTERS:
        pass
    cluster.crash(3)  # with the letter under way
    driver.run(14 * SECOND)
    again = [(event.partition, event.log_offset) for event in driver.of(RecordsAbandoned)]
    assert again != []
    assert {event.by for event in driver.of(RecordsAbandoned)} == snapshot
    cluster.restart(3)
    driver.run(20 * SECOND)
    driver.ended(50 * SECOND)
    books = driver.books()
    assert books[2] + books[3] > 0
    assert sorted(set(driver.letters())) == driver.expected()
    assert set(again) <= set(driver.letters())
    # What failed for sure is in the topic once; what nobody knew of may be there twice.
    assert books[1] <= cluster.query.leo("dead-0") <= books[1] + books[3]
    assert cluster.query.reread("g") > 0
    assert (cluster.query.violations(), cluster.query.acked_lost(LETTERS)) == (0, 0)


def test_a_clean_shutdown_waits_for_the_dead_letter_and_commits() -> None:
    driver = DeadLetterCluster()
    driver.run(5 * SECOND)
    sent = driver.books()[0]
    while driver.books()[0] == sent:
        driver.run(driver.cluster.now_us + MS)
    driver.cluster.shutdown(M0)
    driver.run(driver.cluster.now_us + SECOND)
    assert not driver.cluster.is_up(M0)
    assert driver.books()[:2] == [sent + 1, sent + 1]
    driver.cluster.restart(M0)
    driver.run(20 * SECOND)
    driver.ended(30 * SECOND)
    assert sorted(driver.letters()) == driver.expected()


def test_a_paused_process_learns_of_no_letter() -> None:
    driver = DeadLetterCluster()
    cluster = driver.cluster
    assert 5_000 not in cluster.nodes()
    driver.run(5 * SECOND)
    sent = driver.books()[0]
    while driver.books()[0] == sent:
        cluster.run(cluster.now_us + MS)
    cluster.pause(M0)
    cluster.run(cluster.now_us + 3 * SECOND)
    assert driver.books()[:2] == [sent + 1, sent]
    cluster.resume(M0)
    cluster.run(cluster.now_us + 10 * MS)
    assert driver.books()[1] == sent + 1


@pytest.mark.parametrize("how", ["cut", "lag"])
def test_a_fault_of_a_members_links_is_one_of_its_letters_too(how: str) -> None:
    driver = DeadLetterCluster()
    cluster = driver.cluster
    driver.run(5 * SECOND)
    sent = driver.books()[0]
    # Its handler has a record in hand that it will not be able to process.
    while (read := driver.step(RecordsRead)).log_offset % EVERY < EVERY - read.count:
        pass
    for broker in (1, 2, 3):
        cluster.cut(M0, broker, 7) if how == "cut" else cluster.add_lag(M0, broker, 7, 4 * SECOND, 0)
    cluster.run(cluster.now_us + 3 * SECOND)
    assert driver.books()[:2] == [sent + 1, sent]
    for broker in (1, 2, 3):
        cluster.heal_cut(M0, broker, 7) if how == "cut" else cluster.remove_lag(M0, broker, 7)
    driver.run(cluster.now_us + 10 * SECOND)
    assert driver.books()[1] > sent
    driver.ended(cluster.now_us + 60 * SECOND)
    assert set(driver.letters()) == set(driver.expected())


@pytest.mark.parametrize("at", spread_sample([30 * MS, 2, 900], 2))
def test_a_keyframe_in_the_middle_of_a_letter_continues_as_before(at: int) -> None:
    driver = DeadLetterCluster()
    driver.run(5 * SECOND)
    cluster = driver.cluster
    sent = driver.books()[0]
    while driver.books()[0] == sent:
        cluster.run(cluster.now_us + 200)
    cluster.run(cluster.now_us + at)
    kept = cluster.save()

    def rest() -> str:
        now = cluster.now_us
        cluster.crash(M0)
        cluster.run(now + SECOND)
        cluster.restart(M0)
        cluster.run(now + 14 * SECOND)
        return cluster.digest()

    def straight() -> str:
        cluster.run(cluster.now_us + 5 * SECOND)
        return cluster.digest()

    whole = straight()
    cluster.load(kept)
    assert cluster.save()[:-1] == kept[:-1]
    crashed = rest()
    cluster.load(kept)
    assert straight() == whole
    cluster.load(kept)
    assert rest() == crashed != whole
    twin = cluster.twin()
    twin.load(kept)
    twin.run(twin.now_us + 5 * SECOND)
    assert twin.digest() == whole


def test_both_clients_are_down_with_their_process() -> None:
    driver = DeadLetterCluster()
    cluster = driver.cluster
    driver.run(5 * SECOND)
    cluster.crash(M0)
    assert not cluster.is_up(M0 + LETTERS_NODE)
    cluster.restart(M0)
    assert cluster.is_up(M0 + LETTERS_NODE)


def test_a_new_process_waits_for_metadata_before_a_dead_letter_has_an_outcome() -> None:
    driver = DeadLetterCluster()
    cluster = driver.cluster
    driver.run(5 * SECOND)
    cluster.crash(M0)
    cluster.restart(M0)
    (producer,) = cluster.clients.dead_letter_producers
    told: list[bool] = []
    producer.on_outcome = told.append
    producer.send()
    producer.on_disconnect(1)
    assert told == []
    cluster.run(cluster.now_us + SECOND)
    assert told == [True]


def test_failed_deliveries_rewind_to_the_first_record() -> None:
    driver = DeadLetterCluster()
    driver.run(10 * SECOND)
    consumer = driver.cluster.consumers["g/0"]
    consumer.delivered((("t-0", 49, 1), ("t-0", 149, 1), ("t-1", 99, 2)))
    assert consumer.positions == {"t-0": 49, "t-1": 99}
