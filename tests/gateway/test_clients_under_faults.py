"""Stock clients of each library through every kind of trouble, and the verdict on what they themselves can tell."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from cluster_model.cluster import Cluster
from cluster_model.cluster_overview import group_metadata
from playbooks.engine.replay import replay
from playbooks.recording.reader import read_session
from tests.gateway import hosting
from tests.gateway.hosting import Served, playbook, served
from tests.gateway.own_history import OwnHistory
from tests.gateway.running import Log, Running
from tests.gateway.stock import LIBRARIES, StockClient, read_all, reader, writer

pytestmark = [pytest.mark.sockets, pytest.mark.evening]
QUICK = ", broker.session.timeout.ms: 2000, broker.heartbeat.interval.ms: 500, group.initial.rebalance.delay.ms: 0"
LOSSES = ("lost-write", "unseen", "inconsistent-offsets", "phantom", "G1a")
ON_THE_WAY_US = 1_000_000
"""In which clients hear what a broker has told them: kafka-python throws away what comes together with the end of the
connection, and sends again what was acknowledged."""
MEMBERS_STAY_MS = 30_000
"""Longer than their coordinator is away: librdkafka does not look whether its log was cut when it begins anew, at what
was committed."""
KNOW_OF_EPOCHS = ("confluent-kafka", "kafka-python")
"""Libraries that look where the log was cut, and go back to there."""


def until(what: Callable[[], bool], told: str) -> None:
    hosting.until(what, lambda: told)


class Everybody:
    """A producer, and the one member of a group, by each library."""

    def __init__(self, host: Served, acks: str, session_ms: int = 6_000) -> None:
        self.host = host
        self.writers = {
            each: writer(StockClient(each, host.bootstrap, f"{each} writes", acks, rest_s=0.02)) for each in LIBRARIES
        }
        self.readers = {
            each: reader(
                StockClient(each, host.bootstrap, f"{each} reads", group=f"{each}-group", session_ms=session_ms)
            )
            for each in LIBRARIES
        }

    def end(self) -> int:
        return self.host.asked(lambda cluster: max(cluster.query.leo("orders-0", broker) for broker in (1, 2, 3)))

    def go_on(self) -> None:
        """Wait until everybody has read something that is not there yet."""
        end = self.end()
        for library, running in self.readers.items():
            log = running.log
            until(lambda log=log: bool(log.read) and log.read[-1].offset >= end, f"{library}: {running.failure}")

    def committed(self, library: str) -> int:
        def ask(cluster: Cluster) -> int:
            group = group_metadata(cluster, f"{library}-group")
            told = None if group is None else group.offsets.committed.get("orders-0")
            return -1 if told is None else told.offset

        found: int = self.host.asked(ask)
        return found

    def stop(self) -> tuple[dict[str, Log], dict[str, Log], OwnHistory]:
        writers = stopped(self.writers)
        there = read_all(self.host.bootstrap, 1)
        for library, running in self.readers.items():
            log = running.log
            until(lambda log=log: log.read[-1] == there[-1], f"{library} does not read to the end")
        for library in self.readers:  # aiokafka never ends if it knows no coordinator for its last commit
            until(lambda library=library: self.committed(library) > there[-1].offset, f"{library} commits nothing")
        readers = stopped(self.readers)
        own = OwnHistory(
            {f"{each} writes": log for each, log in writers.items()},
            {f"{each} reads": log for each, log in readers.items()},
            there,
        )
        return writers, readers, own


def stopped(running: Mapping[str, Running]) -> dict[str, Log]:
    for each in running.values():
        each.leave.set()
    return {library: each.stop() for library, each in running.items()}


def test_clients_lose_no_acknowledged_record(tmp_path: Path) -> None:
    with served(playbook(config=QUICK + ", replica.lag.time.max.ms: 1500"), tmp_path) as host:
        everybody = Everybody(host, "all")
        everybody.go_on()
        for fault, target, span_us in (
            ("crash", "leader(orders-0)", 2_000_000),
            ("gc_pause", "leader(orders-0)", 1_000_000),
            ("isolate", "leader(orders-0)", 3_500_000),
            ("crash", "coordinator(aiokafka-group)", 2_000_000),
        ):
            host.act(fault, target, span_us)
            everybody.go_on()
        writers, readers, own = everybody.stop()
    result = host.stop()
    books = {each.client: each for each in result.ledger.clients}
    for library, log in writers.items():
        assert len(log.acked) == log.sent > 50, library
        assert {each.value for each in log.acked} <= {each.value for each in readers[library].read}
        book = books[f"{library} writes"]
        assert (book.acked, book.acked_lost) == (log.sent, 0)
    assert {name: own.found[name] for name in LOSSES if own.found[name]} == {}
    assert [each for each in result.anomalies if not each.legal] == []
    assert result.violations == ()
    recorded = read_session(host.session.recorder.path)  # type: ignore[union-attr]
    assert replay(recorded).digest == result.digest


def test_an_unclean_election_is_counted_alike_by_ledger_and_clients() -> None:
    told = playbook(config=QUICK + ", replica.lag.time.max.ms: 1000", topic=", unclean.leader.election.enable: true",
                    min_isr=1)  # fmt: skip
    with served(told) as host:
        everybody = Everybody(host, "1", session_ms=MEMBERS_STAY_MS)
        everybody.go_on()
        leader = host.asked(lambda cluster: cluster.cluster_state.records["orders-0"].leader)
        host.act("gc_pause", "followers(orders-0)")
        until(
            lambda: host.asked(lambda cluster: cluster.cluster_state.records["orders-0"].isr) == (leader,),
            "still in sync",
        )
        before = everybody.end()
        until(lambda: everybody.end() > before + 50, "nothing is written")
        host.act("gc_pause", f"broker({leader})")
        host.let_pass(ON_THE_WAY_US)
        gone_at = everybody.end()
        host.act("crash", f"broker({leader})")
        host.act("gc_pause", "", verb="heal")
        until(
            lambda: host.asked(lambda cluster: cluster.cluster_state.records["orders-0"].leader) not in (leader, -1),
            "stuck",
        )
        host.act("all", "", verb="heal")
        until(lambda: host.asked(lambda cluster: len(cluster.cluster_state.records["orders-0"].isr)) == 3, "stays away")
        until(lambda: everybody.end() > gone_at, "the new log stays shorter than the old")
        writers, readers, own = everybody.stop()
    result = host.stop()
    books = {each.client: each for each in result.ledger.clients}
    lost = 0
    for library, log in writers.items():
        gone = {each.value for each in log.acked} - own.last
        book = books[f"{library} writes"]
        assert (book.acked, book.acked_lost) == (len(log.acked), len(gone)), library
        lost += len(gone)
    assert result.ledger.acked_lost == lost > 20
    reused = {each.name: each for each in result.anomalies}["inconsistent-offsets"]
    assert (own.found["inconsistent-offsets"], own.found["phantom"], own.found["G1a"]) == (reused.found, 0, 0)
    assert [each for each in result.anomalies if not each.legal] == []
    for library in KNOW_OF_EPOCHS:
        read = {each.value for each in readers[library].read}
        assert own.last <= read, f"{library} was led past what replaced the lost records"
