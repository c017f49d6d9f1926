"""What becomes of clients whose processes are killed, closed and started again."""

from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.cluster import Cluster
from cluster_model.kernel.process import ProcessState
from cluster_model.protocol.errors import ModelError
from cluster_model.protocol.events import NodeDown, RecordsFailed, RecordsSent, RecordsUnknown
from cluster_model.spec.cluster_spec import (
    RATE_UNITS,
    BrokerSpec,
    ClosedLoop,
    ClusterSpec,
    GroupSpec,
    NetworkSpec,
    ProducerSpec,
    RateProfile,
    RateSegment,
    TopicSpec,
)
from tests.support.releases import those_of

MS = 1_000
SECOND = 1_000_000
PER_SECOND = 3_600 * RATE_UNITS
P, M0, M1 = 2_000, 3_000, 3_001


def cluster_of(*, producer: dict[str, Any] | None = None, group: dict[str, Any] | None = None, **more: Any) -> Cluster:
    made = {"interval_us": 20 * MS, "batch": 2, "config": {"acks": "all"}, **(producer or {})}
    return Cluster.build(
        ClusterSpec(
            more.pop("kafka", "3.9"),
            more.pop("mode", "kraft"),
            tuple(BrokerSpec(number) for number in (1, 2, 3)),
            (TopicSpec("t", 2, 3, ((1, 2, 3), (2, 3, 1)), {"min.insync.replicas": 2}),),
            (ProducerSpec("p", "t", **made),),
            () if group is None else (GroupSpec("g", ("t",), **{"members": 2, "coordinated": True, **group}),),
            NetworkSpec(2_000, 0),
            **more,
        ),
        3,
    )


def of(cluster: Cluster, *kinds: type[Any]) -> list[Any]:
    return [event for event in cluster.drain() if isinstance(event, kinds)]


def balanced(cluster: Cluster) -> bool:
    query = cluster.query
    return query.sent() == query.acked() + query.failed() + query.unknown()


# --- producers ------------------------------------------------------------------------------------------------------


def test_a_killed_producers_sent_records_are_unknown_and_others_failed() -> None:
    cluster = cluster_of(producer={"config": {"acks": "all", "max.in.flight.requests.per.connection": 1}})
    cluster.run(SECOND)
    for broker in (1, 2, 3):
        cluster.pause(broker)
    cluster.run(2 * SECOND)
    cluster.drain()
    waiting, under_way = cluster.producers["p"].queued, cluster.producers["p"].in_flight
    assert waiting > 20
    assert under_way == 2
    cluster.crash(P)
    down, *ended = of(cluster, NodeDown, RecordsFailed, RecordsUnknown)
    assert (down.node, down.detail) == ("p", "crash")
    assert {event.error for event in ended} == {"process died"}
    assert cluster.query.failed() == waiting
    assert cluster.query.unknown() == 4
    assert balanced(cluster)
    assert (cluster.producers["p"].queued, cluster.producers["p"].in_flight) == (0, 0)
    for broker in (1, 2, 3):
        cluster.resume(broker)
    cluster.run(5 * SECOND)
    # What was under way is in the log all the same: nobody was told.
    assert cluster.query.leo("t-0") + cluster.query.leo("t-1") == cluster.query.acked() + 4


def test_a_restarted_producer_numbers_on_under_another_producer_id() -> None:
    cluster = cluster_of()
    cluster.run(SECOND)
    before = {
        batch.producer_id
        for _epoch_branch, batch, _start, _end in cluster.cluster_state.representative("t-0").log.batches()
    }  # type: ignore[union-attr]
    cluster.crash(P)
    cluster.drain()
    cluster.run(2 * SECOND)
    assert of(cluster, RecordsSent) == []
    cluster.restart(P)
    cluster.run(3 * SECOND)
    first = next(event for event in of(cluster, RecordsSent) if event.partition == "t-0")
    log = list(cluster.cluster_state.representative("t-0").log.batches())  # type: ignore[union-attr]
    newest = [batch for _epoch_branch, batch, _start, _end in log if batch.producer_id not in before]
    assert len({batch.producer_id for batch in newest}) == 1
    assert (
        newest[0].sequence
        == first.sequence
        == max(batch.sequence + batch.records for _l, batch, _s, _e in log if batch.producer_id in before)
    )
    cluster.stop_producers()
    cluster.run(10 * SECOND)
    assert balanced(cluster)
    assert (cluster.query.duplicates(), cluster.query.acked_lost(), cluster.query.violations()) == (0, 0, 0)


@pytest.mark.parametrize("resends", [False, True])
def test_an_application_that_resends_makes_duplicates_of_what_was_written(resends: bool) -> None:
    cluster = cluster_of(producer={"resends": resends})
    cluster.run(SECOND)
    # Answers do not come back, so everything under way is written and not acknowledged.
    for broker in (1, 2, 3):
        cluster.cut(broker, P, 1)
    cluster.run(SECOND + 100 * MS)
    acked = cluster.query.acked()
    cluster.crash(P)
    open_records = cluster.query.unknown() + cluster.query.failed()
    written = cluster.query.unknown()
    assert written > 0
    for broker in (1, 2, 3):
        cluster.heal_cut(broker, P, 1)
    cluster.run(4 * SECOND)
    cluster.restart(P)
    cluster.stop_producers()
    cluster.run(10 * SECOND)
    assert cluster.query.duplicates() == (written if resends else 0)
    assert cluster.query.acked() == acked + (open_records if resends else 0)
    assert cluster.query.sent() == acked + open_records * (2 if resends else 1)
    assert balanced(cluster)


@pytest.mark.slow
@pytest.mark.parametrize(
    "load",
    [
        {},
        {"profile": RateProfile((RateSegment(-1, PER_SECOND * 100, PER_SECOND * 100),))},
        {"loop": ClosedLoop(8, 10 * MS)},
        {"send": "sync"},
    ],
    ids=["steady", "profile", "closed loop", "sync"],
)
def test_a_restarted_application_continues_at_its_pace(load: dict[str, Any]) -> None:
    cluster = cluster_of(producer=load)
    cluster.run(4 * SECOND)
    before = cluster.query.sent()
    cluster.crash(P)
    cluster.run(5 * SECOND)
    assert cluster.query.sent() == before
    cluster.restart(P)
    cluster.run(9 * SECOND)
    assert 0.9 < (cluster.query.sent() - before) / before < 1.1


def test_a_producer_that_is_down_when_the_load_ends_makes_no_more() -> None:
    cluster = cluster_of()
    cluster.run(SECOND)
    cluster.crash(P)
    cluster.stop_producers()
    sent = cluster.query.sent()
    cluster.restart(P)
    cluster.run(3 * SECOND)
    assert cluster.query.sent() == sent


def test_a_closed_producer_delivers_what_it_has_and_its_process_ends() -> None:
    cluster = cluster_of(producer={"config": {"acks": "all", "linger.ms": 5_000}})
    cluster.run(2 * SECOND)
    assert cluster.producers["p"].queued > 20
    cluster.shutdown(P)
    cluster.shutdown(P)
    cluster.run(3 * SECOND)
    assert cluster.state_of(P) is ProcessState.DOWN
    assert cluster.query.acked() == cluster.query.sent() > 50
    cluster.restart(P)
    cluster.run(5 * SECOND)
    assert cluster.query.sent() > cluster.query.acked()


def test_a_close_that_is_out_of_time_gives_up_the_rest() -> None:
    cluster = cluster_of()
    cluster.run(SECOND)
    for broker in (1, 2, 3):
        cluster.pause(broker)
    cluster.run(2 * SECOND)
    cluster.shutdown(P, 3 * SECOND)
    cluster.run(5 * SECOND - 1)
    assert cluster.state_of(P) is ProcessState.RUNNING
    assert not balanced(cluster)
    cluster.run(5 * SECOND + 1)
    assert cluster.state_of(P) is ProcessState.DOWN
    assert cluster.query.unknown() > 0
    assert cluster.query.failed() > 0
    assert balanced(cluster)


def test_an_answer_to_the_former_process_is_none_to_the_next() -> None:
    cluster = cluster_of()
    cluster.run(SECOND)
    cluster.pause(1)  # With requests of the old process that it will answer when it goes on.
    cluster.run(2 * SECOND)
    cluster.crash(P)
    acked = cluster.query.acked()
    cluster.restart(P)
    cluster.resume(1)
    cluster.run(6 * SECOND)
    cluster.stop_producers()
    cluster.run(30 * SECOND)
    assert cluster.query.acked() > acked
    assert (cluster.query.acked_lost(), cluster.query.missing(), cluster.query.violations()) == (0, 0, 0)
    assert balanced(cluster)
    # Nothing is acknowledged twice, or for another record: the log has all that was acknowledged, and what is unknown.
    held = cluster.query.leo("t-0") + cluster.query.leo("t-1")
    assert cluster.query.acked() <= held <= cluster.query.acked() + cluster.query.unknown()


# --- consumers ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_killed_member_starts_at_what_is_committed() -> None:
    config = {"session.timeout.ms": 10_000, "auto.offset.reset": "earliest"}
    cluster = cluster_of(group={"members": 1, "config": config})
    cluster.run(20 * SECOND)
    cluster.crash(M0)
    committed = sum(cluster.query.committed("g", name) for name in ("t-0", "t-1"))
    read = cluster.query.read("g")
    assert 0 < committed < read
    assert cluster.consumers["g/0"].assignment == ()
    cluster.restart(M0)
    cluster.run(60 * SECOND)
    assert cluster.query.reread("g") == read - committed
    assert cluster.query.skipped("g") == 0
    assert cluster.query.members("g") == 1
    assert cluster.consumers["g/0"].read == cluster.query.read("g")


@pytest.mark.slow
def test_a_static_member_that_returns_in_time_makes_no_rebalance() -> None:
    config = {"group.instance.id": "desk", "auto.offset.reset": "earliest"}
    cluster = cluster_of(group={"config": config})
    cluster.run(10 * SECOND)
    had = cluster.consumers["g/1"].assignment
    for end in (cluster.crash, cluster.shutdown):
        end(M1)
        cluster.run(cluster.now_us + 5 * SECOND)
        assert cluster.state_of(M1) is ProcessState.DOWN
        cluster.restart(M1)
        cluster.run(cluster.now_us + 10 * SECOND)
        assert cluster.consumers["g/1"].assignment == had
        assert (cluster.query.generation("g"), cluster.query.members("g")) == (1, 2)


@pytest.mark.slow
def test_a_consumer_that_ends_in_order_finishes_what_is_in_its_hands() -> None:
    cluster = cluster_of(group={"members": 1, "processing_us": 30 * MS, "config": {"auto.offset.reset": "earliest"}})
    cluster.run(10 * SECOND)
    cluster.shutdown(M0)
    cluster.run(10 * SECOND + 1)
    assert cluster.state_of(M0) is ProcessState.RUNNING
    cluster.run(60 * SECOND)
    assert cluster.state_of(M0) is ProcessState.DOWN
    assert sum(cluster.query.committed("g", name) for name in ("t-0", "t-1")) == cluster.query.read("g") > 0
    assert cluster.query.members("g") == 0


def test_a_group_without_a_coordinator_reads_from_the_start_again() -> None:
    cluster = cluster_of(group={"coordinated": False, "members": 1})
    cluster.run(5 * SECOND)
    cluster.crash(M0)
    cluster.restart(M0)
    cluster.stop_producers()
    cluster.run(10 * SECOND)
    assert cluster.query.lag("g") == 0
    assert cluster.query.read("g") - cluster.query.reread("g") == cluster.query.acked()
    assert cluster.query.reread("g") > 400


@pytest.mark.parametrize(("node", "code"), [(M0, "not_running"), (4_000, "no_shutdown"), (99, "not_running")])
def test_only_processes_that_run_can_end_in_order(node: int, code: str, snapshot: SnapshotAssertion) -> None:
    cluster = cluster_of(group={})
    cluster.crash(M0)
    with pytest.raises(ModelError) as caught:
        cluster.shutdown(node)
    assert caught.value.code == code
    assert str(caught.value) == snapshot


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kafka", "mode"), [("0.8.2", "zookeeper"), ("0.10.2", "zookeeper"), ("2.0", "zookeeper"), ("4.1", "kraft")]
)
def test_clients_of_every_era_come_back(kafka: str, mode: str) -> None:
    cluster = cluster_of(
        kafka=kafka,
        mode=mode,
        group={"config": those_of("consumer", kafka, {"session.timeout.ms": 10_000, "auto.offset.reset": "earliest"})},
    )
    cluster.run(10 * SECOND)
    for node in (P, M0, M1):
        cluster.crash(node)
    cluster.run(12 * SECOND)
    for node in (P, M0, M1):
        cluster.restart(node)
    cluster.run(28 * SECOND)
    cluster.stop_producers()
    cluster.run(40 * SECOND)
    assert (cluster.query.lag("g"), cluster.query.skipped("g"), cluster.query.violations()) == (0, 0, 0)
    assert balanced(cluster)
