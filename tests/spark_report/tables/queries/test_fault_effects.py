"""Effects go to the faults that brought them about, and not to whatever was active at the time."""

from typing import Any

import pytest

from spark_report.tables.queries import fault_effects
from spark_report.tables.queries.alerts import RULES
from spark_report.tables.queries.fault_effects import COUNTED_BY, of_session

Row = dict[str, Any]
NOTHING: Row = dict.fromkeys(
    ("partition", "client", "broker", "node", "leader", "isr", "previous_isr", "by", "target", "detail")
)
UNDER = "UnderReplicatedPartitions"
CLIENT, FOLLOWER, LEADER, CONTROLLER = "checkout", "broker 2", "broker 1", "controller 3000"


def fault(number: int, target: str, begin: int, end: int, name: str = "crash", detail: str = "") -> Row:
    span = {"ended_us": end * 10, "ended_seq": end, "open": False}
    about = {"fault_id": number, "target": target, "detail": detail, **span}
    return {**NOTHING, "what": "fault", "kind": name, "at_us": begin * 10, "seq": begin, **about}


def sign(kind: str, seq: int, **more: Any) -> Row:
    return {**NOTHING, "what": "sign", "kind": kind, "at_us": seq * 10, "seq": seq, **more}


def elected(seq: int, leader: int, by: str = "") -> Row:
    return sign("leader_elected", seq, partition="p-0", leader=leader, by=by)


def offline(seq: int, broker: int) -> Row:
    """Nobody can be elected, as a broker is fenced."""
    return sign("partition_offline", seq, partition="p-0", by=f"broker {broker} fenced")


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
    assert of("detected_by", *rows, *fires(25, alert=UNDER)) == {1: "", 2: UNDER}
    # What the producer feels is its fault's, and no metric of the cluster counts it.
    refused = trouble("refused", 10, 12, client=CLIENT)
    assert of("recovered_us", *rows, refused) == {1: 120, 2: None}
    assert of("detected_us", *rows, refused, *fires(10, 25, alert=UNDER)) == {1: None, 2: 250}
    assert of("elected_us", fault(1, CLIENT, 5, 90), elected(25, 2, "broker 1 fenced")) == {1: None}


@pytest.mark.parametrize("by", ["broker 1 fenced", "controlled shutdown of broker 1", ""])
def test_a_followers_crash_does_not_elect_the_successor_of_another_leader(by: str) -> None:
    rows = [fault(1, FOLLOWER, 5, 90), sign("broker_fenced", 9, broker=2), fault(2, LEADER, 50, 60)]
    assert of("elected_us", *rows, elected(53, 3, by), state(53, 3, 3)) == {1: None, 2: 530}
    alone = [rows[0], elected(53, 3, by), state(53, 3, 3)]
    assert of("elected_us", *alone) == {1: None}


@pytest.mark.parametrize("by", fault_effects.OPERATOR)
def test_leader_moves_by_an_operator_are_no_fault_effect(by: str) -> None:
    assert of("elected_us", fault(1, LEADER, 5, 90, "slow_disk"), elected(53, 3, by), state(53, 3, 3)) == {1: None}


def test_isr_shrinks_are_attributed_to_the_fault_of_the_removed_replica() -> None:
    shrunk = sign("isr_changed", 30, partition="p-0", leader=1, previous_isr=[1, 2, 3], isr=[1, 3])
    rows = [fault(1, LEADER, 5, 90, "slow_disk"), fault(2, FOLLOWER, 10, 80, "gc_pause"), *fires(30), shrunk]
    assert of("detected_us", *rows) == {1: None, 2: 300}
    assert of("detected_us", rows[0], *rows[2:]) == {1: 300}
    other_end = fault(3, "broker 3", 10, 80, "partition", "to=broker(2)->broker2")
    assert of("detected_us", other_end, *rows[2:]) == {3: 300}


def test_another_controller_shows_the_fault_of_the_one_before() -> None:
    changed = [sign("controller_changed", seq, node=node) for seq, node in ((20, "controller 3001"), (40, CONTROLLER))]
    rows = [fault(1, CONTROLLER, 5, 50), fault(2, "controller 3001", 30, 60), *changed]
    assert of("detected_us", *rows, *fires(20, 40, alert="ActiveControllerCount")) == {1: 200, 2: 400}


def test_without_a_better_cause_it_is_the_control_plane_or_the_load() -> None:
    fenced = [offline(30, 3), *fires(30, alert="OfflinePartitionsCount")]
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


def test_effects_after_a_fault_are_attributed_to_it() -> None:
    rows = [fault(1, LEADER, 5, 10), fault(2, LEADER, 40, 50), *fires(30, 60, alert="OfflinePartitionsCount")]
    assert of("detected_us", *rows, offline(30, 1)) == {1: 300, 2: None}
    assert of("detected_us", *rows, offline(60, 1)) == {1: None, 2: 600}


def test_where_nobody_says_who_led_any_fault_of_the_cluster_may_be_the_cause() -> None:
    rows = [fault(1, LEADER, 5, 90), fault(2, CLIENT, 6, 90), elected(30, 2)]
    assert {row["fault_id"]: row["elected_us"] for row in of_session(rows)} == {1: 300, 2: None}


def test_detected_is_when_the_first_alert_fires_that_counts_an_effect() -> None:
    rows = [fault(1, LEADER, 5, 90), trouble("lacking", 20, 80, stays=False), state(20, 2, 2, 3)]
    assert of("detected_us", *rows) == {1: None}
    # The condition holds before the effect comes, and when it does; it fires later.
    slow = fires(8, alert=UNDER, end=80, after=600)
    assert of("detected_by", *rows, *slow) == {1: UNDER}
    assert of("time_to_detect_us", *rows, *slow, *fires(20, alert="AtMinIsrPartitionCount")) == {1: 150}
    # One whose condition had begun before the fault, and one whose condition was over before the effect.
    assert of("detected_us", *rows, *fires(2, alert=UNDER, end=80, after=600)) == {1: None}
    assert of("detected_us", *rows, *fires(8, alert=UNDER)) == {1: None}


ISR_COUNTS = {UNDER, "UnderMinIsrPartitionCount", "AtMinIsrPartitionCount"}
SHRUNK = sign("isr_changed", 30, partition="p-0", leader=1, previous_isr=[1, 2, 3], isr=[1, 3])
UNCLEANLY = {**elected(30, 3, "broker 1 fenced"), "clean": False}
SHOWN = {
    "a follower out of the ISR": ([SHRUNK], {"IsrShrinksPerSec", *ISR_COUNTS}),
    "replicas that lack": ([trouble("lacking", 30, 40), state(30, 1, 1, 3)], ISR_COUNTS),
    "another leader": ([elected(30, 2, "broker 1 fenced")], ISR_COUNTS),
    "another leader that lacks records": ([UNCLEANLY], {"UncleanLeaderElectionsPerSec", *ISR_COUNTS}),
    "no leader": ([offline(30, 1)], {"OfflinePartitionsCount"}),
    "a broker that serves no more": ([trouble("out", 30, 40)], set()),
    "a client that is refused": ([trouble("refused", 30, 40, client=CLIENT)], set()),
}


@pytest.mark.parametrize("effect", SHOWN)
def test_an_alert_shows_what_its_metric_counts(effect: str) -> None:
    shown, alerts = SHOWN[effect]
    begun = fault(1, "broker 1, broker 2", 5, 90)
    for rule in RULES:
        found = of("detected_by", begun, *shown, *fires(30, alert=rule.alert))
        assert found == {1: rule.alert if rule.alert in alerts else ""}


def test_every_alert_shows_something() -> None:
    assert set(COUNTED_BY) == {rule.alert for rule in RULES}


def test_a_controller_that_nobody_replaces_is_detected_by_its_absence() -> None:
    rows = [fault(1, CONTROLLER, 5, 90, "lag"), fault(2, CONTROLLER, 20, 90), fault(3, LEADER, 21, 90)]
    [vacant] = fires(20, alert="ActiveControllerCount", end=90, after=100)
    assert of("detected_us", *rows, {**vacant, "by": f"{CONTROLLER} left"}) == {1: None, 2: 300, 3: None}
    assert of("detected_us", *rows, {**vacant, "by": "controller 3001 left"}) == dict.fromkeys((1, 2, 3))


class Counted(dict[str, Any]):
    """A row that counts how often something is read of any such row."""

    reads = 0

    def __getitem__(self, key: str) -> Any:
        Counted.reads += 1
        return super().__getitem__(key)


def reads_of(many: int) -> int:
    """How often rows are read where that many faults follow each other, each with all that it can break."""
    rows = [BEGIN, ACTIVE, *fires(*(at + 3 for at in range(5, 40 * many, 40)))]
    for number, at in enumerate(range(5, 40 * many, 40)):
        rows += [fault(number, FOLLOWER, at, at + 20), trouble("lacking", at + 3, at + 30), state(at + 3, 1, 1, 3)]
        rows += [{**SHRUNK, "at_us": at * 10 + 30, "seq": at + 3}, trouble("refused", at + 4, at + 9, client=CLIENT)]
        rows += [state(at + 30, 1, 1, 2, 3)]
    Counted.reads = 0
    found = of_session([Counted(row) for row in rows])
    assert [row["time_to_detect_us"] for row in found] == [30] * many
    return Counted.reads


def test_the_work_for_very_many_faults_grows_as_they_do() -> None:
    few, many = reads_of(30), reads_of(120)
    assert 1_000 < few < many < 4.5 * few


@pytest.mark.parametrize("target", [LEADER, FOLLOWER, "broker 1, broker 2, broker 3"])
def test_a_lag_that_broke_nothing_has_nothing_to_recover_from(target: str) -> None:
    rows = [fault(1, target, 5, 90, "lag"), fault(2, LEADER, 20, 80), state(29, 2, 2, 3)]
    rows += [elected(29, 2, "broker 1 fenced"), trouble("out", 20, 30), trouble("lacking", 29, 85)]
    rows += [trouble("refused", 21, 31, client=CLIENT), trouble("refused", 50, 60, client=CLIENT)]
    rows += fires(29, alert=UNDER)
    assert of("recovered_us", *rows) == {1: None, 2: 850}
    assert of("elected_us", *rows) == {1: None, 2: 290}
    assert of("detected_us", *rows) == {1: None, 2: 290}


def test_stopping_faults_take_precedence_over_slowing_ones() -> None:
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
