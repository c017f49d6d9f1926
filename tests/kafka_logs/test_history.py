"""History, divergence and losses of the recorded clusters: an unclean election that lost eight records of orders-0."""

import json
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cluster_model.protocol.events import BrokerFenced, LeaderElected, TraceEvent
from kafka_logs.client_history import AckedRecord, ClientHistory, read_history
from kafka_logs.incident import Incident, read_incident
from kafka_logs.metadata_history import (
    EITHER,
    HIDDEN,
    NO_SHUTDOWNS,
    SHUT_DOWN,
    TIMED_OUT,
    MetadataHistory,
    PartitionRegistration,
    history_of,
)
from kafka_logs.metadata_log import CopiedMetadataLog, MetadataRecordBatch
from kafka_logs.metadata_records import MetadataRecord
from kafka_logs.segments import KafkaLogsError
from kafka_logs.session_events import events_of
from tests.kafka_logs.recorded import DATA, RELEASES, acknowledged, lost

REJOINED = DATA / "4.1.2-rejoined"
"""Logs of 4.1.2 copied after the deposed leader had rejoined."""


def of_kind(incident: Incident, kind: str, partition: str = "orders-0") -> list[Any]:
    return [each for each in events_of(incident) if each.kind == kind and getattr(each, "partition", "") == partition]


@pytest.mark.parametrize("release", RELEASES)
def test_the_unclean_election_is_found_in_every_release(release: str) -> None:
    incident = read_incident(lost(release))
    elections = of_kind(incident, "leader_elected")
    assert [(each.clean, len(each.isr)) for each in elections] == [(False, 1)]
    assert elections[0].leader in (2, 3)


def test_leader_epochs_are_those_of_the_brokers_own_caches() -> None:
    """The brokers wrote the epochs of every leader that wrote records into leader-epoch-checkpoint."""
    for release in RELEASES:
        incident = read_incident(lost(release))
        for evidence in incident.partitions.values():
            terms = {term.epoch: term for term in evidence.life.terms}
            for log in evidence.logs.values():
                assert {epoch for epoch, _start in log.directory.epochs} <= set(terms)
                assert all(terms[span.epoch].leader >= 0 for span in log.spans)


@pytest.mark.parametrize("release", RELEASES)
def test_committed_records_on_the_deposed_leader_are_missing(release: str) -> None:
    incident = read_incident(lost(release))
    (found,) = incident.losses
    assert (found.lost.partition, found.lost.start, found.lost.end, found.lost.records) == ("orders-0", 12, 20, 8)
    assert (found.lost.kind, found.lost.holders, found.lost.committed, found.cause) == (
        "missing", (1,), True, "unclean-election",
    )  # fmt: skip


def test_a_history_of_clients_names_the_records() -> None:
    incident = read_incident(lost("4.1.2"), clients=acknowledged("4.1.2"))
    (found,) = incident.losses
    assert (found.lost.client, found.lost.start, found.lost.records, found.lost.holders) == ("recorder", 12, 8, (1,))


def test_records_that_no_log_holds_are_lost_with_the_truncation() -> None:
    incident = read_incident(REJOINED, clients=acknowledged("4.1.2"))
    (found,) = incident.losses
    assert (found.lost.kind, found.lost.epoch, found.lost.holders) == ("lost", 0, ())
    (cut,) = of_kind(incident, "truncated")
    assert (cut.broker, cut.log_offset, cut.end_offset) == (1, 12, 20)


def test_without_acknowledgements_a_truncated_log_shows_no_loss() -> None:
    incident = read_incident(REJOINED)
    assert (incident.losses, [each.divergences for each in incident.partitions.values()]) == ([], [[], [], []])


def with_earlier_copy(target: Path) -> Path:
    """Logs after the deposed leader had rejoined, with the copy of its log from before."""
    shutil.copytree(REJOINED, target / "nodes")
    (target / "nodes/node-1").rename(target / "nodes/log-of-1")
    (target / "nodes/node-1").mkdir()
    (target / "nodes/log-of-1").rename(target / "nodes/node-1/log")
    shutil.copytree(lost("4.1.2") / "node-1", target / "nodes/node-1/before-1")
    return target


def test_an_earlier_copy_of_a_log_shows_its_truncation_and_the_loss(tmp_path: Path) -> None:
    incident = read_incident(with_earlier_copy(tmp_path))
    (cut,) = of_kind(incident, "truncated")
    assert (cut.broker, cut.log_offset, cut.end_offset, cut.rule) == (1, 12, 20, "earlier copy")
    registered = [each.at_us for each in events_of(incident) if each.kind == "broker_registered" and each.broker == 1]  # type: ignore[attr-defined]
    assert cut.at_us == registered[-1]
    (found,) = incident.losses
    assert (found.lost.kind, found.lost.start, found.lost.end) == ("lost", 12, 20)
    assert (found.lost.holders, found.lost.earlier) == ((), (1,))
    written = [(each.leader_epoch, each.log_offset, each.count) for each in of_kind(incident, "appended")]
    assert written == [(0, 0, 12), (0, 12, 8), (2, 12, 4), (2, 16, 1)]


def test_records_above_the_high_watermark_are_diverged_and_no_loss(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    shutil.copytree(lost("4.1.2"), logs)
    (logs / "node-1/replication-offset-checkpoint").write_text("0\n2\norders 0 14\npayments 0 36\n")
    incident = read_incident(logs)
    (found,) = incident.losses
    (other,) = incident.partitions["orders-0"].uncertain
    assert (found.lost.start, found.lost.end, other.start, other.end) == (12, 14, 12, 20)


def test_a_replica_that_is_behind_does_not_diverge(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    shutil.copytree(lost("4.1.2"), logs)
    path = logs / "node-2/orders-0/00000000000000000000.log"
    path.write_bytes(path.read_bytes()[:-140])
    incident = read_incident(logs)
    assert {each.broker for each in incident.partitions["orders-0"].divergences} == {1}


def test_a_replica_that_was_copied_later_does_not_diverge(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    shutil.copytree(lost("4.1.2"), logs)
    path = logs / "node-3/orders-0/00000000000000000000.log"
    path.write_bytes(path.read_bytes()[:-110])
    evidence = read_incident(logs).partitions["orders-0"]
    assert evidence.reference is not None
    assert (evidence.reference.node, evidence.reference.end, evidence.logs[2].end) == (3, 16, 17)
    assert {each.broker for each in evidence.divergences} == {1}


def test_other_bytes_in_one_epoch_are_reported_apart(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    shutil.copytree(lost("4.1.2"), logs)
    for node in ("node-1", "node-2"):
        shutil.rmtree(logs / node / "payments-0")
    shutil.copytree(logs / "node-3/payments-0", logs / "node-1/payments-0")
    path = logs / "node-1/payments-0/00000000000000000000.log"
    first, second = path.read_bytes(), (lost("3.9.2") / "node-1/payments-0" / path.name).read_bytes()
    assert len(first) == len(second)
    path.write_bytes(second)
    found = read_incident(logs).partitions["payments-0"].divergences
    assert {(each.same_epoch, each.epoch) for each in found} == {(True, 0)}


def test_eligible_leader_replicas_and_the_last_known_leader_are_read() -> None:
    incident = read_incident(REJOINED)
    terms = incident.partitions["payments-0"].life.terms
    assert [(term.epoch, term.leader) for term in terms if term.last_known] == [(4, 1)]
    changes = of_kind(read_incident(lost("4.1.2")), "elr_changed", "payments-0")
    assert [each.elr for each in changes] == [(3,), (1, 3), (1,)]


def test_the_isr_shrinks_for_the_broker_that_was_fenced() -> None:
    incident = read_incident(lost("4.1.2"))
    changes = of_kind(incident, "isr_changed")
    assert [(each.isr, each.by) for each in changes] == [
        ((1, 3), "controller"), ((1,), "controller"), ((), "controller"), ((3,), "controller"), ((3, 2), "leader"),
    ]  # fmt: skip


def test_appended_records_come_after_the_election_of_their_epoch() -> None:
    for release in RELEASES:
        since: dict[tuple[str, int], int] = {}
        for event in events_of(read_incident(lost(release))):
            if event.kind in ("leader_elected", "partition_created"):
                since[event.partition, event.leader_epoch] = event.at_us  # type: ignore[attr-defined]
            if event.kind == "appended":
                assert event.at_us >= since[event.partition, event.leader_epoch]  # type: ignore[attr-defined]


def test_a_batch_whose_clock_is_behind_waits_for_its_election() -> None:
    incident = read_incident(lost("4.1.2"))
    terms = incident.partitions["orders-0"].life.terms
    terms[-1] = replace(terms[-1], since_us=60_000_000)
    assert [each.at_us for each in of_kind(incident, "appended") if each.leader_epoch == 2] == [60_000_000, 60_000_000]


def test_events_are_in_order_of_time() -> None:
    times = [event.values()[0] for event in events_of(read_incident(lost("4.4.0"), clients=acknowledged("4.4.0")))]
    assert times == sorted(times)


def test_a_topic_filter_leaves_out_the_others() -> None:
    incident = read_incident(lost("4.1.2"), topics=["payments"])
    assert list(incident.partitions) == ["payments-0"]
    named = {getattr(each, "partition", "") for each in events_of(incident)}
    assert named == {"", "payments-0"}
    with pytest.raises(KafkaLogsError) as refused:
        read_incident(lost("4.1.2"), topics=["nothing"])
    assert refused.value.code == "unknown_topic"


def test_a_replica_of_an_earlier_topic_of_that_name_is_passed_over(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    shutil.copytree(lost("4.1.2"), logs)
    (logs / "node-1/orders-0/partition.metadata").write_text("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA\n")
    incident = read_incident(logs)
    assert (sorted(incident.partitions["orders-0"].logs), incident.losses) == ([2, 3], [])


def test_a_history_that_begins_with_a_snapshot_has_its_state(tmp_path: Path) -> None:
    from tests.kafka_logs.test_decoder import cut_before_snapshot  # noqa: PLC0415 - one helper of the other file

    logs = tmp_path / "logs"
    shutil.copytree(lost("4.4.0"), logs)
    cut_before_snapshot(logs)
    whole, rest = read_incident(lost("4.4.0")), read_incident(logs)
    state: dict[str, PartitionRegistration] = {name: each.life.state for name, each in whole.partitions.items()}
    assert {name: each.life.state for name, each in rest.partitions.items()} == state
    assert [each.lost.records for each in rest.losses] == [8]
    events = events_of(rest)
    assert [each.kind for each in events[:2]] == ["became_leader", "became_leader"]


# Single rules, with records made up here.


def replayed(
    *batches: tuple[MetadataRecord, ...], shutdowns: Mapping[int, frozenset[int]] = NO_SHUTDOWNS
) -> MetadataHistory:
    log = CopiedMetadataLog(100, 0)
    log.batches = [MetadataRecordBatch(number, 1000 + number, 1, records) for number, records in enumerate(batches)]
    return history_of(log, shutdowns)


def made(kind: str, **fields: Any) -> MetadataRecord:
    return MetadataRecord(kind, 0, fields)


def changed(**fields: Any) -> MetadataRecord:
    none = dict.fromkeys(
        ("isr", "replicas", "removingReplicas", "addingReplicas", "eligibleLeaderReplicas", "lastKnownElr")
    )
    basis = {"partitionId": 0, "topicId": "t", "leader": -2, "leaderRecoveryState": -1, **none}
    return MetadataRecord("PartitionChangeRecord", 2, basis | fields)


CREATED = (
    made("TopicRecord", name="t", topicId="t"),
    made(
        "PartitionRecord", partitionId=0, topicId="t", replicas=(1, 2), isr=(1, 2), removingReplicas=(),
        addingReplicas=(), leader=1, leaderRecoveryState=0, leaderEpoch=0, partitionEpoch=0, directories=(),
        eligibleLeaderReplicas=None, lastKnownElr=None,
    ),
)  # fmt: skip


@pytest.mark.parametrize(
    ("change", "clean"),
    [
        (changed(leader=2), True),
        (changed(leader=3, isr=(3,)), False),
        (changed(leader=2, isr=(2,), leaderRecoveryState=1), False),
    ],
)
def test_an_election_is_clean_if_the_leader_was_eligible(change: MetadataRecord, clean: bool) -> None:
    history = replayed(CREATED, (change,))
    (elected,) = [each for each in history.events if isinstance(each, LeaderElected)]
    assert (elected.clean, elected.leader_epoch, elected.partition_epoch) == (clean, 1, 1)


def test_a_member_of_the_elr_is_elected_cleanly() -> None:
    history = replayed(
        CREATED, (changed(leader=-1, isr=(), eligibleLeaderReplicas=(2,)),), (changed(leader=2, isr=(2,)),)
    )
    assert [(term.leader, term.clean) for term in history.partitions["t-0"].terms][-1] == (2, True)


def registered(number: int, epoch: int) -> tuple[MetadataRecord, ...]:
    broker = {"brokerId": number, "brokerEpoch": epoch}
    change = made("BrokerRegistrationChangeRecord", **broker, fenced=-1, inControlledShutdown=0)
    return made("RegisterBrokerRecord", **broker, rack=None, incarnationId=f"{number} {epoch}", fenced=True), change


def fence(number: int, epoch: int = 5) -> MetadataRecord:
    return made("BrokerRegistrationChangeRecord", brokerId=number, brokerEpoch=epoch, fenced=1, inControlledShutdown=0)


def shuts_down(number: int) -> MetadataRecord:
    return made("BrokerRegistrationChangeRecord", brokerId=number, brokerEpoch=5, fenced=0, inControlledShutdown=1)


BROKERS = (registered(1, 5), registered(2, 5), CREATED)
"""Broker 1 leads t-0, broker 2 follows."""


@pytest.mark.parametrize(
    ("batches", "shutdowns", "reasons"),
    [
        pytest.param([(changed(isr=(2,), leader=2), fence(1))], {}, [(1, TIMED_OUT)], id="a leader"),
        pytest.param([(changed(isr=(1,)), fence(2))], {}, [(2, EITHER)], id="a follower"),
        pytest.param(
            [(shuts_down(1), changed(isr=(2,), leader=2)), (fence(1),)], {}, [(1, SHUT_DOWN)], id="a leader moves first"
        ),
        pytest.param([(changed(isr=(1,)), fence(2)), (fence(2),)], {}, [(2, SHUT_DOWN)], id="fenced again"),
        pytest.param([(changed(isr=(1,)), fence(2))], {2: frozenset({5})}, [(2, SHUT_DOWN)], id="its file says so"),
        pytest.param([(changed(isr=(1,)), fence(2))], {2: frozenset({4})}, [(2, EITHER)], id="a file of before"),
        pytest.param(
            [(changed(isr=(1,)), fence(2)), registered(2, 9), (fence(2, 9),)], {2: frozenset({9})},
            [(2, EITHER), (2, SHUT_DOWN)], id="twice",
        ),
        pytest.param(
            [(fence(2),), (changed(isr=(2,), leader=2), fence(1)), (fence(2),)], {}, [(2, SHUT_DOWN), (1, TIMED_OUT)],
            id="another between",
        ),
    ],
)  # fmt: skip
def test_controlled_shutdowns_and_session_timeouts_are_distinguished(
    batches: list[tuple[MetadataRecord, ...]], shutdowns: dict[int, frozenset[int]], reasons: list[tuple[int, str]]
) -> None:
    history = replayed(*BROKERS, *batches, shutdowns=shutdowns)
    assert [(each.broker, each.detail) for each in history.events if isinstance(each, BrokerFenced)] == reasons


def test_real_brokers_are_fenced_once_with_their_reason() -> None:
    found = {
        path.name: [each.detail for each in read_incident(path).history.events if isinstance(each, BrokerFenced)]
        for path in (lost("4.1.2"), lost("4.4.0"), REJOINED)
    }
    assert found == {
        "4.1.2-lost": [TIMED_OUT] * 3,
        "4.4.0-lost": [TIMED_OUT, EITHER, TIMED_OUT],
        "4.1.2-rejoined": [TIMED_OUT] * 3 + [SHUT_DOWN] * 3,
    }


@pytest.mark.parametrize(
    ("content", "detail"),
    [
        ('{"version":0,"brokerEpoch":17}', SHUT_DOWN),
        ('{"version":0,"brokerEpoch":53}', EITHER),
        ("", EITHER),
        ("{", EITHER),
    ],
)
def test_the_file_of_a_clean_shutdown_is_read(content: str, detail: str, tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    shutil.copytree(lost("4.4.0"), logs)
    (logs / "node-3/.kafka_cleanshutdown").write_text(content)
    fenced = [
        each for each in read_incident(logs).history.events if isinstance(each, BrokerFenced) and each.broker == 3
    ]
    assert [each.detail for each in fenced] == [detail]


def test_times_never_go_back() -> None:
    log = CopiedMetadataLog(100, 0)
    log.batches = [
        MetadataRecordBatch(0, 5000, 1, CREATED), MetadataRecordBatch(1, 4000, 2, (changed(isr=(1,)),)),
        MetadataRecordBatch(2, 6000, 2, (changed(isr=(1, 2)),)),
    ]  # fmt: skip
    events: list[TraceEvent] = history_of(log).events
    assert [each.values()[0] for each in events] == [0, 0, 1_000_000]


@pytest.mark.parametrize("name", ["ssl.keystore.password", "sasl.jaas.config", "ssl.keystore.key", "x.secret"])
def test_secrets_do_not_reach_the_session(name: str) -> None:
    record = made("ConfigRecord", resourceType=4, resourceName="1", name=name, value="hunter2")
    (event,) = replayed((record,)).events
    assert event.detail == f"{name}={HIDDEN}"  # type: ignore[attr-defined]


# Histories of clients.


def written(path: Path, *lines: Any) -> Path:
    path.write_text("".join(f"{each if isinstance(each, str) else json.dumps(each)}\n" for each in lines))
    return path


ACKED = {"event": "acked", "wall_us": 7, "client": "a", "number": 0, "partition": "t-0", "offset": 3}


def test_times_are_absolute_or_since_the_start_of_the_run(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text('{"start_unix_us": 1000}')
    sent = {"event": "sent", "at_us": 2, "client": "a", "number": 0, "key": "k"}
    path = written(tmp_path / "clients.jsonl", sent, ACKED, {"event": "polled", "wall_us": 1})
    assert read_history(path).acked == [AckedRecord("a", 0, "t-0", 3, 1002, 7, "k")]


@pytest.mark.parametrize(
    "line",
    ["{", "[]", ACKED | {"partition": "t"}, ACKED | {"offset": "x"}, {"event": "acked"}, ACKED | {"wall_us": None}],
)
def test_a_bad_history_is_refused_with_its_line(tmp_path: Path, line: Any) -> None:
    with pytest.raises(KafkaLogsError) as refused:
        read_history(written(tmp_path / "clients.jsonl", ACKED, line))
    assert refused.value.code == "bad_history"
    assert ":2:" in str(refused.value)


def test_a_record_is_recognized_by_its_key_and_else_by_time() -> None:
    """Another key at its offset means that it is lost; without a key the time of the epoch decides."""
    incident = read_incident(lost("4.1.2"))
    origin_us = incident.history.origin_ms * 1000
    base = AckedRecord("a", 0, "orders-0", 3, origin_us, origin_us + 9_000_000, "first-3")
    for record, gone in (
        (base, 0), (base._replace(key="another"), 1), (base._replace(key=None), 0),
        (base._replace(key=None, offset=13), 1), (base._replace(key=None, offset=99), 1),
        (base._replace(key=None, offset=99, acked_us=origin_us + 27_000_000), 0),  # perhaps after the copy
    ):  # fmt: skip
        found = read_incident(lost("4.1.2"), clients=ClientHistory([record])).losses
        assert len([each for each in found if each.lost.client == "a"]) == gone


def test_acks_1_on_a_clean_election_is_an_unreplicated_tail() -> None:
    incident = read_incident(lost("4.1.2"))
    life = incident.partitions["orders-0"].life
    life.terms[-1] = replace(life.terms[-1], clean=True)
    from kafka_logs.losses import explain  # noqa: PLC0415 - only here

    found = incident.losses[0].lost._replace(acks=1)
    assert explain(found, life, incident.partitions["orders-0"].reference).cause == "unreplicated-tail"
