"""Effects go to the faults that brought them about, and not to whatever was active at the time."""

from typing import Any

import pytest

from spark_report.tables.queries import fault_effects
from spark_report.tables.queries.fault_effects import of_session

Row = dict[str, Any]
NOTHING: Row = dict.fromkeys(
    ("partition", "client", "broker", "node", "leader", "isr", "previous_isr", "by", "target", "detail")
)
CLIENT, FOLLOWER, LEADER, CONTROLLER = "checkout", "broker 2", "broker 1", "controller 3000"


def fault(number: int, target: str, begin: int, end: int, name: str = "crash", detail: str = "") -> Row:
    span = {"ended_us": end * 10, "ended_seq": end, "open": False}
    about = {"fault_id": number, "target": target, "detail": detail, **span}
    return {**NOTHING, "what": "fault", "kind": name, "at_us": begin * 10, "seq": begin, **about}


def sign(kind: str, seq: int, **more: Any) -> Row:
    return {**NOTHING, "what": "sign", "kind": kind, "at_us": seq * 10, "seq": seq, **more}


def elected(seq: int, leader: int, by: str = "") -> Row:
    return sign("leader_elected", seq, partition="p-0", leader=leader, by=by)


def trouble(kind: str, seq: int, end: int, *, stays: bool = False, client: str = "") -> Row:
    span = {"ended_us": end * 10, "ended_seq": end, "open": stays}
    return {**sign(kind, seq, partition="p-0", client=client), "what": "trouble", **span}


def fires(*seqs: int, alert: str = "IsrShrinksPerSec", end: int = 0, after: int = 0) -> list[Row]:
    """An alert for each: its condition held from an event on, to event ``end`` if given, and it fires so much later."""
    return [
        {**sign(alert, seq), "what": "alert", "ended_seq": end or seq + 1, "fired_us": seq * 10 + after} for seq in seqs
    ]


def state(seq: int, leader: int, *isr: int) -> Row:
    return {**sign("", seq, partition="p-0", leader=leader, isr=list(isr)), "what": "state"}


BEGIN = state(-1, 1, 1, 2, 3)
ACTIVE = {**NOTHING, "what": "controller", "node": CONTROLLER}


def of(name: str, *rows: Row) -> dict[int, Any]:
    return {row["fault_id"]: row[name] for row in of_session([BEGIN, ACTIVE, *rows])}


def test_a_producers_crash_elects_nobody() -> None:
    rows = (fault(1, CLIENT, 5, 90), fault(2, LEADER, 20, 40), elected(25, 2, "broker 1 fenced"), state(25, 2, 2, 3))
    assert of("elected_us", *rows) == {1: None, 2: 250}
    assert of("detected_by", *rows, *fires(25)) == {1: "", 2: "IsrShrinksPerSec"}
    failed = sign("records_failed", 10, client=CLIENT, partition="p-0")
    assert of("detected_us", *rows, failed, *fires(10, 25)) == {1: 100, 2: 250}
    assert of("elected_us", fault(1, CLIENT, 5, 90), elected(25, 2, "broker 1 fenced")) == {1: None}


@pytest.mark.parametrize("by", ["broker 1 fenced", "controlled shutdown of broker 1", ""])
def test_a_followers_crash_does_not_elect_the_successor_of_another_leader(by: str) -> None:
    rows = [fault(1, FOLLOWER, 5, 90), sign("broker_fenced", 9, broker=2), fault(2, LEADER, 50, 60)]
    assert of("elected_us", *rows, elected(53, 3, by), state(53, 3, 3)) == {1: None, 2: 530}
    alone = [rows[0], elected(53, 3, by), state(53, 3, 3)]
    assert of("elected_us", *alone) == {1: None}


@pytest.mark.parametrize("by", fault_effects.OPERATOR)
def test_what_an_operator_moves_is_no_effect(by: str) -> None:
    assert of("elected_us", fault(1, LEADER, 5, 90, "slow_disk"), elected(53, 3, by), state(53, 3, 3)) == {1: None}


def test_who_left_the_isr_tells_whose_fault_it_was() -> None:
    shrunk = sign("isr_changed", 30, partition="p-0", leader=1, previous_isr=[1, 2, 3], isr=[1, 3])
    rows = [fault(1, LEADER, 5, 90, "slow_disk"), fault(2, FOLLOWER, 10, 80, "gc_pause"), *fires(30), shrunk]
    assert of("detected_us", *rows) == {1: None, 2: 300}
    assert of("detected_us", rows[0], *rows[2:]) == {1: 300}
    other_end = fault(3, "broker 3", 10, 80, "partition", "to=broker(2)->broker2")
    assert of("detected_us", other_end, *rows[2:]) == {3: 300}


def test_another_controller_shows_the_fault_of_the_one_before() -> None:
    changed = [sign("controller_changed", seq, node=node) for seq, node in ((20, "controller 3001"), (40, CONTROLLER))]
    rows = [fault(1, CONTROLLER, 5, 50), fault(2, "controller 3001", 30, 60), *changed, *fires(20, 40)]
    assert of("detected_us", *rows) == {1: 200, 2: 400}


def test_without_a_better_cause_it_is_the_control_plane_or_the_load() -> None:
    fenced = [sign("broker_fenced", 30, broker=3), *fires(30)]
    plane, load = fault(1, "zookeeper 1, zookeeper 2", 5, 90, "quorum_loss"), fault(2, CLIENT, 6, 90, "traffic_spike")
    assert of("detected_us", plane, load, fault(3, LEADER, 7, 90), *fenced) == {1: 300, 2: 300, 3: None}
    assert of("detected_us", plane, load, fault(3, "broker 3", 7, 90), *fenced) == {1: None, 2: None, 3: 300}


def test_an_outage_is_of_the_fault_of_the_leader() -> None:
    both = [fault(1, FOLLOWER, 5, 90), fault(2, LEADER, 20, 40), fault(3, CLIENT, 2, 90)]
    out = [trouble("out", 21, 30), state(25, 3, 3)]
    assert of("partitions_out", *both, *out) == {1: 0, 2: 1, 3: 0}
    assert of("time_to_restore_us", *both, *out) == {1: None, 2: 100, 3: None}
    left = [trouble("lacking", 22, 70, stays=True), state(22, 1, 1, 3)]
    assert of("unrecovered", *both, *left) == {1: True, 2: False, 3: False}
    assert of("recovered_us", *both, *out, *left) == {1: None, 2: 300, 3: None}


def test_a_refused_client_is_the_effect_of_its_own_fault_or_of_the_leaders() -> None:
    refused = trouble("refused", 30, 45, client=CLIENT)
    rows = [fault(1, FOLLOWER, 5, 90), fault(2, CLIENT, 20, 40), fault(3, LEADER, 21, 50)]
    assert of("recovered_us", *rows, refused) == {1: None, 2: 450, 3: 450}
    assert of("recovered_us", rows[0], refused) == {1: 450}
    assert of("recovered_us", fault(4, "audit", 5, 90), refused) == {4: None}


def test_what_comes_after_a_fault_and_before_the_next_may_be_its_own() -> None:
    rows = [fault(1, LEADER, 5, 10), fault(2, LEADER, 40, 50)]
    assert of("detected_us", *rows, sign("broker_fenced", 30, broker=1), *fires(30)) == {1: 300, 2: None}
    assert of("detected_us", *rows, sign("broker_fenced", 60, broker=1), *fires(60)) == {1: None, 2: 600}


def test_where_nobody_says_who_led_any_fault_of_the_cluster_may_be_the_cause() -> None:
    rows = [fault(1, LEADER, 5, 90), fault(2, CLIENT, 6, 90), elected(30, 2)]
    assert {row["fault_id"]: row["elected_us"] for row in of_session(rows)} == {1: 300, 2: None}


def test_detected_is_when_the_first_alert_fires_that_counts_an_effect() -> None:
    rows = [fault(1, LEADER, 5, 90), trouble("lacking", 20, 80, stays=False), state(20, 2, 2, 3)]
    assert of("detected_us", *rows) == {1: None}
    # The condition began before the fault, and held when it had an effect; it fires later.
    slow = fires(2, alert="UnderReplicatedPartitions", end=80, after=600)
    assert of("detected_by", *rows, *slow) == {1: "UnderReplicatedPartitions"}
    assert of("time_to_detect_us", *rows, *slow, *fires(20)) == {1: 150}
    # One that had fired before the fault, and one that counts nothing of it.
    assert of("detected_us", *rows, *fires(2, end=80, after=20)) == {1: None}
    assert of("detected_us", *rows, *fires(8)) == {1: None}


@pytest.mark.parametrize("target", [LEADER, FOLLOWER, "broker 1, broker 2, broker 3"])
def test_a_lag_that_broke_nothing_has_nothing_to_recover_from(target: str) -> None:
    rows = [fault(1, target, 5, 90, "lag"), fault(2, LEADER, 20, 80), state(29, 2, 2, 3)]
    rows += [elected(29, 2, "broker 1 fenced"), trouble("out", 20, 30), trouble("lacking", 29, 85)]
    rows += [trouble("refused", 21, 31, client=CLIENT), trouble("refused", 50, 60, client=CLIENT), *fires(29)]
    assert of("recovered_us", *rows) == {1: None, 2: 850}
    assert of("elected_us", *rows) == {1: None, 2: 290}
    assert of("detected_us", *rows) == {1: None, 2: 290}


def test_what_stops_a_node_explains_more_than_what_slows_it() -> None:
    # A follower is out of the ISR long after both began: nothing of time or place tells them apart.
    lacking = [trouble("lacking", 60, 70), state(60, 1, 1, 3)]
    rows = [fault(1, FOLLOWER, 5, 90, "lag"), fault(2, FOLLOWER, 20, 40), *lacking]
    assert of("recovered_us", *rows) == {1: None, 2: 700}
    alone = [fault(1, FOLLOWER, 5, 90, "lag"), *lacking]
    assert of("recovered_us", *alone) == {1: 700}
    # What is long over explains less than what continues.
    over = {**fault(2, FOLLOWER, 20, 40), "ended_us": 400 - fault_effects.LINGERING_US}
    assert of("recovered_us", rows[0], over, *lacking) == {1: 700, 2: None}


def test_a_later_fault_that_begins_an_outage_of_its_own_has_it() -> None:
    rows = [fault(1, FOLLOWER, 5, 90), trouble("lacking", 14, 90), fault(2, LEADER, 40, 60, "lag"), state(14, 1, 1, 3)]
    refused = {**trouble("refused", 41, 55, client=CLIENT), "bound_us": 20}
    assert of("recovered_us", *rows, refused) == {1: 900, 2: 550}
    # What waits since the outage that continues is of the fault that began that.
    assert of("recovered_us", *rows, {**refused, "bound_us": 5}) == {1: 900, 2: None}
