"""What the bundled incidents come to, in numbers, under other seeds than their own."""

from typing import Any

import pytest

from cluster_model.broker.partition.replication_rules import DIVERGING_EPOCH
from cluster_model.checker.root_cause.findings import UNEXPLAINED
from cluster_model.controller.rules.partition_change import LAST_KNOWN
from cluster_model.protocol.events import TraceEvent
from playbooks.engine.session import Session
from playbooks.library import bundled
from playbooks.parser.loader import loads
from playbooks.parser.settings import apply_settings
from playbooks.results.result import SessionResult
from tests.playbooks.thinned import thinned
from tests.support.breadth import spread_sample
from tests.support.chain_check import audit

pytestmark = pytest.mark.slow

SECOND = 1_000_000
NOISE = {"records_sent", "records_acked", "appended", "hw_advanced", "produce_refused", "produce_retried", "consumed"}


class Incident:
    """A session of a bundled playbook, and what happened in it that is not every day's."""

    def __init__(self, name: str, seed: int, **settings: str) -> None:
        source = apply_settings(self.text_of(name), settings)
        self.session = Session.start(loads(source, name), seed=seed)
        self.query = self.session.cluster.query
        self.events: list[Any] = []

    def text_of(self, name: str) -> str:
        """The playbook as it is."""
        return bundled.path_of(name).read_text(encoding="utf-8")

    def until(self, second: float) -> "Incident":
        while self.session.cluster.now_us < second * SECOND and self.session.advance(
            min(int(second * SECOND), self.session.cluster.now_us + SECOND)
        ):
            self._keep(self.session.drain())
        self._keep(self.session.drain())
        return self

    def _keep(self, events: list[TraceEvent]) -> None:
        self.events += [event for event in events if event.kind not in NOISE]

    def of(self, kind: str, **fields: Any) -> list[Any]:
        """What happened so far of one kind, with these fields."""
        return [
            event
            for event in self.events
            if event.kind == kind and all(getattr(event, name) == value for name, value in fields.items())
        ]

    def second_of(self, kind: str, **fields: Any) -> float:
        """When the first of them was."""
        return float(self.of(kind, **fields)[0].at_us) / SECOND

    def finish(self) -> SessionResult:
        while self.session.advance(self.session.cluster.now_us + SECOND):
            self._keep(self.session.drain())
        result = self.session.finish()
        self._keep(self.session.drain())
        wrong = [f"{each.text}: {each.detail}" for each in result.expectations if not each.ok]
        assert (result.verdict, wrong, result.reason) == ("pass", [], "")
        cluster = self.session.cluster
        assert audit(result.findings, cluster.cluster_state, cluster.checker.ledger, cluster.checker.history) == []
        assert UNEXPLAINED not in {each.cause for each in result.findings}
        return result


class Thin(Incident):
    """A session of a bundled playbook with a part of its records; the numbers told of it are that much smaller."""

    def text_of(self, name: str) -> str:
        return thinned(name)


seeds = pytest.mark.parametrize("seed", spread_sample([101, 102], 1))


@seeds
def test_a_clean_election_of_the_last_replica_makes_everybody_lose_what_it_had_lost(seed: int) -> None:
    incident = Thin("last-replica-power-loss", seed)
    result = incident.finish()
    (lost,) = incident.of("truncated", partition="orders-0", rule="power loss")
    (offline,) = incident.of("partition_offline", partition="orders-0")
    (elected,) = incident.of("leader_elected", partition="orders-0")
    assert (lost.broker, offline.isr, elected.leader, elected.clean) == (1, (1,), 1, True)
    assert elected.at_us > 75 * SECOND
    cut = incident.of("truncated", partition="orders-0", rule=DIVERGING_EPOCH)
    assert sorted(event.broker for event in cut) == [2, 3]
    assert {event.log_offset for event in cut} == {lost.log_offset}
    assert min(event.end_offset for event in cut) - lost.log_offset > 150
    # The other two held all of it: everything acknowledged above the cut is what is lost, and could have been read.
    acknowledged = max(event.end_offset for event in cut)
    assert result.ledger.acked_lost == result.ledger.committed_lost
    assert 0 <= acknowledged - lost.log_offset - result.ledger.acked_lost < 2


@seeds
def test_an_eligible_leader_replica_keeps_what_the_last_in_sync_one_lost(seed: int) -> None:
    incident = Thin("last-replica-power-loss", seed, **{"cluster.kafka": "4.1"})
    result = incident.finish()
    (offline,) = incident.of("partition_offline", partition="orders-0")
    (elected,) = incident.of("leader_elected", partition="orders-0")
    assert (elected.leader, elected.clean) == (2, True)
    # A heartbeat unfences broker 2, no timeout: it was never down.
    assert 0 < elected.at_us - offline.at_us < 3 * SECOND
    assert (result.ledger.acked_lost, result.ledger.committed_lost) == (0, 0)


@seeds
def test_the_last_known_leader_is_elected_after_unclean_shutdowns(seed: int) -> None:
    incident = Thin("last-known-leader", seed)
    result = incident.finish()
    (lost,) = incident.of("truncated", partition="orders-0", rule="power loss")
    (elected,) = incident.of("leader_elected", partition="orders-0")
    assert (lost.broker, elected.leader, elected.clean) == (1, 1, False)
    assert elected.by.split(", ") == ["broker 1 unfenced", LAST_KNOWN]
    # Broker 2 was back, and not fenced, for half a minute: it had all of it, and was not eligible any more.
    registered = [event.at_us for event in incident.of("broker_registered", broker=2)]
    assert registered[-1] < elected.at_us - 20 * SECOND
    cut = incident.of("truncated", partition="orders-0", rule=DIVERGING_EPOCH)
    assert {event.broker: event.log_offset for event in cut} == {2: 0, 3: 0}
    (finding,) = result.findings
    assert (finding.cause, finding.count) == ("last-known-leader", result.ledger.acked_lost)
    assert finding.count >= 100


@seeds
def test_two_lead_from_the_end_of_a_session_to_the_heal_and_only_acks_1_pays(seed: int) -> None:
    incident = Thin("split-leader", seed).until(16.5)
    assert incident.query.leaders("orders-0") == [1]
    waiting = incident.query.acked("checkout")
    incident.until(39)
    elected = incident.second_of("leader_elected", leader=2)
    assert 10 + 7 <= elected <= 10 + 9.1
    assert incident.second_of("became_leader", broker=2) <= elected + 0.6
    assert incident.query.leaders("orders-0") == [1, 2]
    assert incident.query.acked("checkout") > waiting + 100
    result = incident.finish()
    (cut,) = incident.of("truncated")
    assert cut.broker == 1
    assert {loss.client for loss in result.losses} == {"clicks"}
    assert {loss.acks for loss in result.losses} == {1}
    # All that clicks was promised since the cut: 10 records a second for 30 s.
    assert abs(result.ledger.acked_lost - 300) < 2
    assert result.ledger.committed_lost == 0


@seeds
def test_a_leader_alone_is_the_isr_after_the_lag_time_and_nobody_is_elected(seed: int) -> None:
    incident = Thin("leader-without-followers", seed).until(89)
    (shrunk,) = incident.of("isr_changed", partition="orders-0")
    assert shrunk.isr == (1,)
    assert 10 + 30 <= shrunk.at_us / SECOND <= 10 + 45.5
    assert incident.query.acked("checkout") <= 101
    assert incident.query.acked("web") > 885
    assert incident.query.hw("clicks-0") - incident.query.leo("clicks-0", 2) > 780
    result = incident.finish()
    assert incident.of("leader_elected") == []
    assert (result.ledger.acked, result.ledger.acked_lost) == (1_800, 0)


@seeds
def test_a_new_controller_is_elected_within_seconds_and_fences_by_session_timeout(seed: int) -> None:
    incident = Thin("controller-crash", seed)
    incident.finish()
    (changed,) = incident.of("controller_changed")
    assert 10 + 1.5 <= changed.at_us / SECOND <= 10 + 5
    assert 25 + 7 <= incident.second_of("broker_fenced", broker=1) <= 25 + 9.1
    (elected,) = incident.of("leader_elected", partition="orders-0")
    assert (elected.leader, elected.isr) == (2, (2, 3))


@seeds
def test_without_a_quorum_nothing_is_decided_and_leaders_serve_on(seed: int) -> None:
    incident = Thin("quorum-lost", seed).until(59.9)
    decided = ("leader_elected", "isr_changed", "partition_offline", "broker_fenced", "controller_changed")
    assert [event for event in incident.events if event.kind in decided] == []
    assert incident.query.under_replicated() == incident.query.offline_partitions() == 0
    assert incident.query.acked("checkout") <= 201
    assert incident.query.acked("clicks") > 10 * 20 + 40 * 20 // 3 - 25
    incident.finish()
    assert 60 <= incident.second_of("controller_changed") <= 65
    # A new controller gives every broker a session of its own, the dead one too.
    fenced = incident.second_of("broker_fenced", broker=3) - incident.second_of("controller_changed")
    assert 8.9 <= fenced <= 9.1
    (elected,) = incident.of("leader_elected")
    assert (elected.partition, elected.leader) == ("orders-2", 1)


@seeds
@pytest.mark.parametrize(("kafka", "session"), [("2.4", 6), ("2.8", 18)])
def test_without_an_ensemble_no_session_ends_and_with_it_a_whole_one_begins(
    kafka: str, session: int, seed: int
) -> None:
    incident = Thin("ensemble-lost", seed, **{"cluster.kafka": kafka}).until(59.9)
    decided = ("leader_elected", "isr_changed", "partition_offline", "broker_fenced", "controller_changed")
    assert [event for event in incident.events if event.kind in decided] == []
    assert incident.query.acked("checkout") <= 201
    assert incident.query.acked("clicks") > 10 * 20 + 40 * 20 // 3 - 25
    incident.until(99)
    # Leaders write their ISRs as soon as there is somebody to write to; sessions end at ticks of 2 s.
    assert 60 <= incident.second_of("isr_changed", partition="orders-0") <= 62
    assert 60 + session <= incident.second_of("broker_fenced", broker=3) <= 60 + session + 3
    (elected,) = incident.of("leader_elected")
    assert (elected.partition, elected.leader, elected.isr) == ("orders-2", 1, (1, 2))
    if kafka == "2.8":  # its own
        incident.finish()


@seeds
def test_with_zookeeper_two_lead_from_the_end_of_a_session_to_the_heal(seed: int) -> None:
    incident = Thin("split-leader-zookeeper", seed).until(22)
    assert incident.query.leaders("orders-0") == [2]
    waiting = incident.query.acked("checkout")
    incident.until(49)
    # The session lasts from its last ping, sent once in 6 s, and ends at a tick of 2 s.
    fenced = incident.second_of("broker_fenced", broker=2)
    assert 10 + 18 - 6 <= fenced <= 10 + 18 + 2.1
    (elected,) = incident.of("leader_elected")
    assert (elected.leader, elected.isr, elected.leader_epoch) == (3, (3, 4), 1)
    assert fenced <= elected.at_us / SECOND <= fenced + 0.1
    assert incident.query.leaders("orders-0") == [2, 3]
    # It could write no smaller ISR: the one decision about it is the controller's.
    assert [event.by for event in incident.of("isr_changed")] == ["controller"]
    assert incident.query.acked("checkout") > waiting + 150
    result = incident.finish()
    assert incident.second_of("broker_registered", broker=2) > 50
    (cut,) = incident.of("truncated")
    assert (cut.broker, cut.at_us > 50 * SECOND) == (2, True)
    assert {(loss.client, loss.acks) for loss in result.losses} == {("clicks", 1)}
    assert abs(result.ledger.acked_lost - 400) < 2


@seeds
def test_with_zookeeper_a_controller_is_succeeded_when_its_session_ends(seed: int) -> None:
    incident = Thin("controller-crash-zookeeper", seed)
    incident.finish()
    fenced = incident.second_of("broker_fenced", broker=1)
    assert 10 + 18 - 6 <= fenced <= 10 + 18 + 2.1
    (changed,) = incident.of("controller_changed")
    assert (changed.broker, changed.leader_epoch) == (2, 2)
    assert fenced < changed.at_us / SECOND <= fenced + 0.1
    (elected,) = incident.of("leader_elected", partition="orders-0")
    assert (elected.leader, elected.isr, elected.by) == (4, (4, 2), "broker 3 offline")
    assert 40 + 18 - 6 <= elected.at_us / SECOND <= 40 + 18 + 2.2


@seeds
def test_losses_of_a_zone_failure_depend_on_placement(seed: int) -> None:
    incident = Thin("zone-loss", seed).until(69)
    cluster = incident.session.cluster
    racks = {broker.id: broker.rack for broker in cluster.spec.brokers}
    records = cluster.cluster_state.records
    left = {name: [broker for broker in record.assignment if racks[broker] != "a"] for name, record in records.items()}
    for partition in range(6):
        name = f"orders-{partition}"
        assert {racks[broker] for broker in records[name].assignment} == {"a", "b", "c"}
        assert incident.query.isr(name) == sorted(left[name])
    refused = [name for name in records if incident.query.leader(name) > 0 and len(incident.query.isr(name)) < 2]
    assert refused == ["payments-0", "payments-2"]
    offline = [name for name in records if incident.query.leader(name) < 0]
    assert (offline, left["carts-0"]) == (["carts-0"], [])
    # Whoever was fenced second was made leader, dead as it was, until the controller knew that too.
    assert [event.leader for event in incident.of("leader_elected", partition="payments-0")] == [4, 2]
    result = incident.finish()
    assert {loss.partition for loss in result.losses} == {"carts-0"}
    assert abs(result.ledger.acked_lost - 10 * 10) < 20


@seeds
def test_a_rolling_restart_that_waits_moves_leaderships_and_undercuts_nothing(seed: int) -> None:
    incident = Thin("rolling-restart-waiting", seed)
    incident.finish()
    down = [(event.broker, event.detail) for event in incident.of("node_down")]
    assert down == [(1, "shutdown"), (2, "shutdown"), (3, "shutdown")]
    # Between two brokers every partition has all three again.
    whole = [incident.of("isr_changed", partition=f"orders-{number}") for number in range(3)]
    assert [[len(event.isr) for event in changes] for changes in whole] == [[2, 3, 2, 3, 2, 3]] * 3
    assert incident.of("partition_offline") == []
    assert all(event.clean for event in incident.of("leader_elected"))


@seeds
def test_a_rolling_restart_that_does_not_wait_leaves_nobody_who_may_lead(seed: int) -> None:
    incident = Thin("rolling-restart-blind", seed).until(14)
    assert {len(incident.query.isr(f"orders-{number}")) for number in range(3)} == {1}
    incident.finish()
    offline = incident.of("partition_offline")
    assert {(event.partition, event.isr) for event in offline} == {(f"orders-{number}", (3,)) for number in range(3)}
    back = [event for event in incident.of("leader_elected") if event.at_us > offline[0].at_us]
    assert {(event.leader, event.clean) for event in back} == {(3, True)}
    # Broker 3 is down for half a second, and needs two to register.
    assert 2 <= (back[0].at_us - offline[0].at_us) / SECOND <= 4


@seeds
def test_a_move_gets_what_the_throttle_leaves_beside_the_replicas_in_sync(seed: int) -> None:
    incident = Thin("reassignment-throttled", seed).until(69)
    # 200 kB/s for each of two followers are above 100 kB/s already.
    assert incident.query.leo("orders-0", 4) == 0
    incident.finish()
    moves = [(event.replicas, event.adding) for event in incident.of("assignment_changed")]
    assert moves == [((1, 2, 4, 3), (4,)), ((1, 2, 3), ()), ((1, 2, 4, 3), (4,)), ((1, 2, 4), ())]
    # 18 MB and what is written meanwhile, at 2 MB/s less the 0.4 MB/s of the replicas in sync.
    took = (incident.of("assignment_changed")[3].at_us - incident.of("assignment_changed")[2].at_us) / SECOND
    assert 8 <= took <= 16
    assert [(event.broker, event.by) for event in incident.of("replica_deleted")] == [(4, "moved"), (3, "moved")]


def test_a_dead_leader_is_waited_for_unless_others_are_eligible() -> None:
    """Since 4.1 broker 2 may lead a partition that broker 3 has left in order, so the outage is shorter."""
    outages = []
    for kafka in ("3.9", "4.1"):
        incident = Thin("rolling-restart-blind", 104, **{"cluster.kafka": kafka})
        incident.finish()
        offline = incident.of("partition_offline", partition="orders-0")[0].at_us
        back = next(event for event in incident.of("leader_elected", partition="orders-0") if event.at_us > offline)
        outages.append((back.leader, back.at_us - offline))
    assert [leader for leader, _length in outages] == [3, 2]
    assert outages[1][1] < outages[0][1]


@seeds
def test_a_leader_that_wakes_as_a_zombie_keeps_no_guarantee_of_acks_1_and_breaks_none_of_acks_all(seed: int) -> None:
    incident = Thin("zombie-leader", seed).until(29.9)
    (elected,) = incident.of("leader_elected", partition="orders-0")
    assert 17 <= elected.at_us / SECOND <= 20
    assert elected.leader != 1
    before = incident.query.acked("clicks")
    assert 99 <= before <= 101  # what it had acknowledged before it slept: nobody answers for it since
    result = incident.finish()
    (cut,) = incident.of("truncated", partition="orders-0", broker=1)
    lost = incident.of("records_lost", client="clicks")
    assert sum(event.count for event in lost) == result.ledger.acked_lost > 0
    assert {event.leader_epoch for event in lost} == {0}
    assert all(cut.log_offset <= event.log_offset < cut.end_offset for event in lost)
    assert 30 <= cut.at_us / SECOND < 31
    assert (incident.query.acked("checkout"), incident.query.duplicates("checkout")) == (300, 0)
    (checkout,) = [each for each in result.clients.producers if each.name == "checkout"]
    assert dict(checkout.refused)["NOT_LEADER_OR_FOLLOWER"] > 0
