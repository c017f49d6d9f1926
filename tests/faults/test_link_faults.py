"""Faults of what links carry, on a busy cluster: what each does to whom, and that all is whole again afterwards."""

from functools import cache
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.client_factory import LETTERS
from cluster_model.cluster import Cluster
from cluster_model.kernel.link import LinkQueueKey
from cluster_model.protocol.events import IsrChanged, ProduceRefused
from cluster_model.snapshots import pack, unpack
from cluster_model.spec.cluster_spec import BrokerSpec, ClusterSpec, GroupSpec, ProducerSpec, TopicSpec
from faults.declarations.fault import PERCENT, Action, FaultError
from tests.faults.client_rigs import BILLING_0, client_cluster
from tests.faults.rigs import MS, SECOND, begun, board_of, busy_cluster, inject, unsettled
from tests.support.breadth import EVENING, covering_cases

pytestmark = pytest.mark.slow

CHECKOUT = 2_000
"""Node of the producer."""

STRIKES: list[tuple[str, str, dict[str, Any]]] = [
    ("bandwidth", "broker(1)", {"rate": 20_000}),
    ("bandwidth", "rack(a)", {"rate": 20_000, "shared": True}),
    ("loss", "all", {"percent": 3 * PERCENT}),
    ("loss", "broker(1)", {"percent": 100 * PERCENT, "direction": "out"}),
    ("connection_reset", "all", {}),
    ("connection_reset", "controller", {}),
    ("reset_storm", "broker(2)", {"every": 900 * MS}),
    ("slow_responses", "broker(1)", {"delay": 400 * MS, "jitter": 200 * MS}),
    ("slow_responses", "controller", {"delay": 900 * MS}),
    ("duplicate_responses", "all", {"percent": PERCENT, "direction": "both"}),
]
MODES = [("3.9", "kraft"), ("2.8", "zookeeper")]


def settle(cluster: Cluster, most_s: int = 60) -> None:
    """Stop what is produced, and wait until all is whole; fails if it never is."""
    cluster.stop_producers()
    for _second in range(most_s):
        cluster.run(cluster.now_us + SECOND)
        if not unsettled(cluster):
            break
    assert unsettled(cluster) == []
    cluster.close()
    query = cluster.query
    assert query.acked_lost() == 0
    assert query.sent() == query.acked() + query.failed() + query.unknown()
    assert query.unexpected_violations() == 0


@pytest.mark.parametrize(("kafka", "mode", "fault", "target", "params"), covering_cases(MODES, STRIKES))
def test_a_busy_cluster_is_whole_again_and_nothing_acknowledged_is_lost(
    fault: str, target: str, params: dict[str, Any], kafka: str, mode: str
) -> None:
    cluster, board = begun(4 * SECOND, busy_cluster, kafka=kafka, mode=mode)
    inject(board, fault, target, 9 * SECOND, **params)
    cluster.run(20 * SECOND)
    settle(cluster)
    assert cluster.query.acked() > 100
    assert cluster.network.link_faults.any is False


@pytest.mark.parametrize(("kafka", "mode"), MODES)
@pytest.mark.parametrize("stop", ["crash", "power_loss"])
def test_a_cluster_that_hears_late_of_the_end_of_a_leader_continues_by_its_own_timeouts(
    kafka: str, mode: str, stop: str
) -> None:
    cluster, board = begun(4 * SECOND, busy_cluster, kafka=kafka, mode=mode)
    inject(board, "slow_close", "broker(1)", 25 * SECOND, delay=20 * SECOND)
    inject(board, stop, "broker(1)", 8 * SECOND)
    cluster.run(30 * SECOND)
    settle(cluster)
    assert cluster.query.acked() > 100


# --- bandwidth ------------------------------------------------------------------------------------------------------


def stream_of(config: dict[str, Any], **network: int) -> Cluster:
    """One partition on one broker, and a producer that would send a megabyte a second."""
    spec = ClusterSpec(
        "3.9",
        "kraft",
        (BrokerSpec(1), BrokerSpec(2)),
        (TopicSpec("t", 1, 2, ((1, 2),)),),
        (ProducerSpec("p", "t", 10 * MS, 100, record_bytes=100, config={"acks": "all", "linger.ms": 0, **config}),),
        (GroupSpec("billing", ("t",)),),
        config={"offsets.topic.replication.factor": 1},
    )
    return Cluster.build(spec, 5)


def acked_bytes_a_second(cluster: Cluster) -> int:
    before = cluster.query.acked()
    cluster.run(cluster.now_us + 4 * SECOND)
    return (cluster.query.acked() - before) * 25


def test_link_bandwidth_bounds_acknowledged_bytes() -> None:
    cluster = stream_of({})
    board = board_of(cluster)
    cluster.run(5 * SECOND)
    free = acked_bytes_a_second(cluster)
    assert 900_000 < free < 1_100_000
    inject(board, "bandwidth", "client(p)", 8 * SECOND, rate=200_000, direction="out")
    cluster.run(cluster.now_us + 4 * SECOND)
    assert 150_000 < acked_bytes_a_second(cluster) <= 200_000
    settle(cluster)


def test_a_follower_behind_a_thin_link_leaves_the_isr_and_comes_back() -> None:
    cluster = stream_of({"acks": "1"})
    cluster.run(5 * SECOND)
    board = board_of(cluster)
    inject(board, "bandwidth", "broker(2)", 45 * SECOND, rate=300_000, to="broker(1)")
    cluster.run(50 * SECOND)
    assert cluster.query.isr("t-0") == [1]
    cluster.run(55 * SECOND)
    cluster.stop_producers()
    cluster.run(80 * SECOND)
    assert cluster.query.isr("t-0") == [1, 2]
    assert [event.isr for event in cluster.drain() if isinstance(event, IsrChanged)] == [(1,), (1, 2)]


def troubled(cluster: Cluster) -> dict[tuple[int, int], Any]:
    return {pair: link.fault_state for pair, link in cluster.network._links.items() if link.fault_state is not None}


@pytest.mark.parametrize(
    ("params", "pairs"),
    [
        ({"to": "broker(2)"}, {(1, 2), (2, 1)}),
        ({"to": "broker(2)", "direction": "out"}, {(1, 2)}),
        ({"to": "broker(2)", "direction": "in"}, {(2, 1)}),
        ({"to": "rack(b)", "direction": "out"}, {(1, 2), (1, 5)}),
    ],
)
@pytest.mark.parametrize("fault", ["bandwidth", "loss", "slow_responses", "duplicate_responses", "slow_close"])
def test_links_are_affected_by_their_ends_and_direction(
    fault: str, params: dict[str, Any], pairs: set[tuple[int, int]]
) -> None:
    cluster = busy_cluster()
    board = board_of(cluster)
    inject(board, fault, "broker(1)", **{"direction": "both", **params})
    assert set(troubled(cluster)) == pairs
    board.heal("all")
    assert troubled(cluster) == {}


@pytest.mark.parametrize("loaded", [False, True])
def test_two_clients_of_one_process_have_one_network_card(loaded: bool) -> None:
    """What the application writes waits behind what its consumer asks for, and the other way round."""
    cluster, board = begun(5 * SECOND, client_cluster, group={"output_topic": "bills", "commit": "sync"})
    consumer, own = BILLING_0, BILLING_0 + LETTERS
    number = inject(board, "bandwidth", "client(billing/0)", 10 * SECOND, rate=5_000, shared=True)
    if loaded:
        cluster.load(cluster.save())
    found = {pair: [*trouble.queues] for pair, trouble in troubled(cluster).items()}
    assert {source for source, _target in found} >= {consumer, own}
    for (source, _target), lines in found.items():
        assert lines == [LinkQueueKey(1 if source in (consumer, own) else 2, consumer, -1, number)]
    cluster.run(21 * SECOND)
    assert troubled(cluster) == {}


def test_two_faults_of_a_kind_heal_on_their_own() -> None:
    cluster = busy_cluster()
    board = board_of(cluster)
    inject(board, "bandwidth", "broker(1)", 5 * SECOND, rate=9_000, to="broker(2)")
    inject(board, "bandwidth", "broker(2)", 9 * SECOND, rate=7_000)
    link = cluster.network.link(1, 2)
    assert link.fault_state is not None
    assert list(link.fault_state.queues.values()) == [7_000]
    cluster.run(6 * SECOND)
    assert list(link.fault_state.queues.values()) == [7_000]
    assert [fault for fault, _shape in link.fault_state.shapes] == [2]
    cluster.run(10 * SECOND)
    assert link.fault_state is None
    board = board_of(cluster)
    inject(board, "loss", "broker(1)", percent=20 * PERCENT, to="broker(2)")
    inject(board, "slow_responses", "broker(1)", delay=7 * MS, to="broker(2)")
    assert board.heal("loss") == 1
    assert link.fault_state is not None
    assert (link.fault_state.loss, link.fault_state.answer_us) == (0, 7 * MS)


# --- resets ---------------------------------------------------------------------------------------------------------


def test_requests_in_flight_fail_and_are_written_once_all_the_same() -> None:
    cluster = busy_cluster()
    board = board_of(cluster)
    cluster.run(5 * SECOND)
    inject(board, "slow_responses", "rack(a)", delay=200 * MS)
    cluster.run(6 * SECOND)
    cluster.drain()
    acked = cluster.query.acked()
    inject(board, "connection_reset", "client(checkout)")
    refused = [event for event in cluster.drain() if isinstance(event, ProduceRefused)]
    assert refused
    assert {event.error for event in refused} == {"NETWORK_EXCEPTION"}
    board.heal("all")
    cluster.run(20 * SECOND)
    settle(cluster)
    assert cluster.query.acked() > acked + 200
    assert cluster.query.duplicates() == 0


def test_a_storm_breaks_connections_at_its_pace_until_it_is_healed() -> None:
    cluster = busy_cluster()
    cluster.run(5 * SECOND)
    board = board_of(cluster)
    cluster.drain()
    inject(board, "reset_storm", "client(checkout)", 10 * SECOND + 1, every=2 * SECOND)
    inject(board, "slow_responses", "all", delay=100 * MS)
    cluster.run(18 * SECOND)
    refused = [event.at_us for event in cluster.drain() if isinstance(event, ProduceRefused)]
    assert sorted(set(refused)) == [(5 + 2 * number) * SECOND for number in range(6)][-len(set(refused)) :]
    assert len(set(refused)) >= 5


def test_only_open_connections_can_be_reset(snapshot: SnapshotAssertion) -> None:
    cluster = busy_cluster()
    board = board_of(cluster)
    with pytest.raises(FaultError) as caught:
        inject(board, "connection_reset", "client(admin)")
    assert caught.value.code == "no_connection"
    assert str(caught.value) == snapshot
    with pytest.raises(FaultError) as caught:
        inject(board, "connection_reset", "broker(1)", to="broker(1)")
    assert caught.value.code == "one_end"
    assert str(caught.value) == snapshot


@pytest.mark.parametrize(
    ("fault", "params", "code"),
    [
        ("loss", {"percent": 0}, "wrong_value"),
        ("loss", {"percent": 100 * PERCENT + 1}, "wrong_value"),
        ("bandwidth", {"rate": 0}, "wrong_value"),
        ("bandwidth", {"shared": 1}, "wrong_value"),
        ("slow_responses", {"delay": 0}, "wrong_value"),
        ("slow_close", {"direction": "up"}, "wrong_value"),
        ("reset_storm", {"every": 5 * MS}, "wrong_value"),
        ("connection_reset", {"direction": "out"}, "no_parameter"),
    ],
)
def test_invalid_link_fault_parameters_are_rejected(
    fault: str, params: dict[str, Any], code: str, snapshot: SnapshotAssertion
) -> None:
    board = board_of(busy_cluster())
    with pytest.raises(FaultError) as caught:
        inject(board, fault, "broker(1)", **params)
    assert caught.value.code == code
    assert str(caught.value) == snapshot


# --- answers --------------------------------------------------------------------------------------------------------


def test_late_answers_make_a_producer_without_idempotence_write_twice() -> None:
    config = {"acks": "1", "enable.idempotence": False, "request.timeout.ms": 1_000, "delivery.timeout.ms": 30_000}
    cluster = stream_of(config)
    board = board_of(cluster)
    cluster.run(5 * SECOND)
    inject(board, "slow_responses", "broker(1)", 4 * SECOND, delay=1_500 * MS, to="client(p)")
    cluster.run(30 * SECOND)
    settle(cluster)
    assert cluster.query.duplicates() > 100


def test_late_answers_of_a_follower_do_not_hold_up_its_requests() -> None:
    cluster = busy_cluster()
    board = board_of(cluster)
    cluster.run(5 * SECOND)
    inject(board, "slow_responses", "broker(3)", delay=3 * SECOND, to="broker(1)")
    cluster.drain()
    cluster.run(15 * SECOND)
    assert not [event for event in cluster.drain() if isinstance(event, IsrChanged)]
    assert cluster.query.isr("orders-0") == [1, 2, 3]
    board.heal("all")
    inject(board, "slow_responses", "broker(1)", delay=9 * SECOND, to="broker(3)")
    cluster.run(30 * SECOND)
    assert cluster.query.isr("orders-0") == [1, 2]


def test_a_response_that_comes_twice_costs_the_connection_and_not_a_record() -> None:
    cluster = busy_cluster()
    board = board_of(cluster)
    cluster.run(5 * SECOND)
    cluster.drain()
    inject(board, "duplicate_responses", "all", percent=5 * PERCENT, to="client(checkout)")
    inject(board, "slow_responses", "all", delay=100 * MS, to="client(checkout)")
    cluster.run(25 * SECOND)
    refused = [event for event in cluster.drain() if isinstance(event, ProduceRefused)]
    assert len(refused) > 5
    assert {event.error for event in refused} == {"NETWORK_EXCEPTION"}
    board.heal("all")
    settle(cluster)
    assert cluster.query.duplicates() == 0
    assert cluster.query.failed() + cluster.query.unknown() == 0


# --- late news ------------------------------------------------------------------------------------------------------


def first_word_after_crash(*, late: bool) -> int:
    """How long after a leader's crash its producer hears that a request failed."""
    cluster = busy_cluster()
    board = board_of(cluster)
    cluster.run(5 * SECOND)
    inject(board, "slow_responses", "rack(a)", delay=100 * MS)
    if late:
        inject(board, "slow_close", "broker(1)", delay=30 * SECOND)
    cluster.run(6 * SECOND)
    inject(board, "crash", "broker(1)")
    cluster.drain()
    cluster.run(20 * SECOND)
    return next(event.at_us for event in cluster.drain() if isinstance(event, ProduceRefused)) - 6 * SECOND


def test_a_peer_without_a_reset_detects_a_crash_by_its_request_timeout() -> None:
    assert first_word_after_crash(late=False) < 10 * MS
    assert 2_800 * MS <= first_word_after_crash(late=True) <= 3_200 * MS


@pytest.mark.parametrize(("kafka", "mode"), MODES)
def test_a_broker_that_comes_back_is_found_again_by_timeouts_long_before_the_news_of_its_end(
    kafka: str, mode: str
) -> None:
    cluster = busy_cluster(kafka=kafka, mode=mode)
    board = board_of(cluster)
    cluster.run(5 * SECOND)
    inject(board, "slow_close", "all", delay=300 * SECOND)
    inject(board, "crash", "broker(1)", SECOND)
    inject(board, "crash", "broker(3)", SECOND)
    cluster.run(75 * SECOND)
    assert cluster.query.isr("orders-0") == [1, 2, 3]
    assert cluster.query.isr("orders-1") == [2, 3, 4]
    acked = cluster.query.acked()
    cluster.run(80 * SECOND)
    assert cluster.query.acked() - acked > 90
    settle(cluster)


@pytest.mark.parametrize(("kafka", "mode"), MODES)
def test_without_resets_peers_detect_a_failure_by_timeouts(kafka: str, mode: str) -> None:
    cluster = busy_cluster(kafka=kafka, mode=mode)
    board = board_of(cluster)
    cluster.run(5 * SECOND)
    inject(board, "slow_close", "all", delay=300 * SECOND)
    inject(board, "connection_reset", "all")
    cluster.run(75 * SECOND)
    assert cluster.query.isr("orders-0") == [1, 2, 3]
    assert cluster.query.isr("orders-1") == [2, 3, 4]
    assert cluster.query.fenced() == 0
    acked = cluster.query.acked()
    cluster.run(80 * SECOND)
    assert cluster.query.acked() - acked > 90
    settle(cluster)


# --- what is expected -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "params"),
    [
        ("bandwidth", {}),
        ("bandwidth", {"rate": 1_000_001, "shared": True}),
        ("loss", {"percent": 25_000}),
        ("connection_reset", {"to": "broker(2)"}),
        ("reset_storm", {"to": "broker(2)"}),
        ("slow_close", {}),
        ("slow_responses", {"delay": 400 * MS}),
        ("duplicate_responses", {"percent": 100 * PERCENT}),
    ],
)
def test_faults_predict_their_impact_and_who_detects_them(
    fault: str, params: dict[str, Any], snapshot: SnapshotAssertion
) -> None:
    _cluster, board = begun(9 * SECOND, busy_cluster)
    found = board.predict_action(Action("inject", fault, "broker(1)", params))
    assert found.sentence == snapshot
    assert found.clients == ("checkout",)
    assert (found.leaders_moved, found.offline, found.under_min_isr) == ((), (), ())
    assert board.predict_action(Action("inject", fault, "broker(5)", {})).clients == ()
    assert board.impact_sentence(fault, 1).startswith("broker 1: ")


def test_whose_partitions_are_led_elsewhere_notices_nothing() -> None:
    cluster = stream_of({})
    board = board_of(cluster)
    cluster.run(9 * SECOND)
    assert board.predict_action(Action("inject", "loss", "broker(1)", {})).clients == ("p", "billing/0")
    assert board.predict_action(Action("inject", "loss", "broker(2)", {})).clients == ()
    assert board.predict_action(Action("inject", "loss", "client(billing/0)", {})).clients == ("billing/0",)


# --- the same again -------------------------------------------------------------------------------------------------


def tell(cluster: Cluster, since: int = 0, until: int = 30) -> None:
    """A story with all of them, or its part between two seconds, on a board of its own."""
    board = board_of(cluster)
    board.load(cluster_boards.pop(cluster, board.save()))
    story = [
        (4, "bandwidth", "all", {"rate": 60_000}, 20),
        (5, "loss", "broker(1)", {"percent": 3 * PERCENT}, 18),
        (6, "slow_responses", "broker(2)", {"delay": 300 * MS, "jitter": 200 * MS}, 9),
        (7, "duplicate_responses", "all", {"percent": PERCENT}, 9),
        (8, "slow_close", "broker(1)", {"delay": 4 * SECOND}, 20),
        (9, "reset_storm", "broker(3)", {"every": SECOND}, 7),
        (11, "crash", "broker(1)", {}, 3),
        (17, "bandwidth", "rack(b)", {"rate": 50_000, "shared": True}, 9),
        (21, "connection_reset", "all", {}, -1),
    ]
    for at, fault, target, params, seconds in story:
        if since <= at < until:
            cluster.run(at * SECOND + 123)
            inject(board, fault, target, seconds * SECOND if seconds > 0 else -1, **params)
    cluster.run(until * SECOND)
    cluster_boards[cluster] = board.save()


cluster_boards: dict[Cluster, tuple[Any, ...]] = {}


@cache
def straight() -> str:
    """The digest of a run without a stop."""
    cluster = busy_cluster()
    tell(cluster)
    return cluster.digest()


@pytest.mark.parametrize("middle", [7, 10, 13, 18, 22] if EVENING else [13, 18])
def test_a_keyframe_from_the_middle_continues_as_the_first_time(middle: int) -> None:
    cluster = busy_cluster()
    tell(cluster, until=middle)
    keyframe, boards = unpack(pack(cluster.save()))[0], cluster_boards[cluster]
    for other in (cluster.twin(), cluster):
        other.load(keyframe)
        assert other.save()[:-1] == keyframe[:-1]
        cluster_boards[other] = boards
        tell(other, since=middle)
        assert other.digest() == straight()
