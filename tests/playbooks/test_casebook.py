"""What it costs to ask how many findings there are, and to hear what comes often."""

from collections.abc import Iterator
from typing import Any

import pytest

from cluster_model.checker.ledger import ledger_report
from cluster_model.checker.ledger.consumption import ReaderEvents
from cluster_model.checker.ledger.duplicates import batches_backwards
from cluster_model.checker.root_cause import report
from cluster_model.log.batch_store import BatchStore, EpochBranch
from cluster_model.log.replica_log import ReplicaLog
from cluster_model.protocol.events import OffsetsCommitted
from cluster_model.protocol.records import Batch
from playbooks.engine.session_runner import start_session
from playbooks.library import bundled
from playbooks.parser.loader import load


def bundled_session(name: str) -> Any:
    return start_session(load(bundled.path_of(name)))


@pytest.mark.slow
def test_a_condition_looked_at_after_every_event_goes_through_no_statistics(monkeypatch: pytest.MonkeyPatch) -> None:
    session = bundled_session("leader-crash")
    cluster = session.cluster
    spelled: list[str] = []
    grouped: list[int] = []
    cut, group = ledger_report.runs_of, report.group_findings
    monkeypatch.setattr(ledger_report, "runs_of", lambda *told: spelled.append("run") or cut(*told))
    monkeypatch.setattr(report, "group_findings", lambda told: grouped.append(len(told)) or group(told))
    asked = 0
    while cluster.now_us < 3_000_000 and session.advance(3_000_000, max_events=1):
        assert cluster.query.findings() == 0
        asked += 1
    moments = cluster.checker.history.moment
    assert asked > 1_000
    assert spelled == []
    # Rare events are looked at by each of the four sorts; what comes often moves one sort only.
    assert len(grouped) <= 4 * (moments + 1) + 2 * cluster.checker.transacted.changes


@pytest.mark.parametrize("name", ["kip-101-loss", "unclean-election-arithmetic", "last-replica-standing"])
def test_incremental_findings_equal_a_full_count(name: str) -> None:
    session = bundled_session(name)
    cluster = session.cluster
    counts = {0: 0}
    asked = 0
    while session.advance(1 << 60, max_events=1):
        asked += 1
        counted = cluster.query.findings()
        if asked % 7 == 0 or counted not in counts:
            assert counted == len(cluster.checker.findings.findings(cluster.now_us))
        counts[counted] = counts.get(counted, 0) + 1
    assert max(counts) > 0
    assert session.finish().findings


def test_a_rewind_forgets_what_was_counted() -> None:
    session = bundled_session("kip-101-loss")
    checker = session.cluster.checker
    kept = checker.save()
    session.finish()
    assert session.cluster.query.findings() == 1
    checker.load(kept)
    assert session.cluster.query.findings() == 0


def test_a_committed_offset_is_no_rare_event(monkeypatch: pytest.MonkeyPatch) -> None:
    session = bundled_session("leader-crash")
    checker = session.cluster.checker
    heard: list[OffsetsCommitted] = []
    monkeypatch.setattr(ReaderEvents, "committed", lambda _self, event: heard.append(event))
    moment, kept = checker.history.moment, checker.history.save()
    session.cluster.trace.emit(OffsetsCommitted(0, "reader", "group", "orders-0", 5, "auto"))
    assert (len(heard), checker.history.moment) == (1, moment)
    assert checker.history.save() is kept


class Counted(EpochBranch):
    """Counts the batches that are looked at."""

    __slots__ = ()
    looked = 0

    def batch(self, index: int) -> Batch:
        Counted.looked += 1
        return super().batch(index)


def backwards(log: ReplicaLog) -> Iterator[tuple[int, int]]:
    return ((start, end) for _epoch_branch, _batch, start, end in batches_backwards(log))


def test_a_backward_log_scan_stops_at_the_requested_offset() -> None:
    epoch_branches = BatchStore()
    log = ReplicaLog(epoch_branches, uses_epochs=True, replaces=True)
    for epoch in range(3):
        log_branch = epoch_branches.begin(1, epoch, log.leo)
        for _ in range(4):
            log.append_batch(log_branch, Batch(log.leo, 3, 10, 0, "p", -1, log.leo, 1))
    assert list(backwards(log)) == [(start, end) for _, _, start, end in reversed(list(log.batches()))]
    assert len(list(backwards(log))) == 12
    log.log_start = 13
    assert list(backwards(log)) == [(start, end) for _, _, start, end in reversed(list(log.batches()))]
    assert list(backwards(log))[-1] == (13, 15)
    epoch_branches.by_id[-1].__class__ = Counted
    Counted.looked = 0
    assert next(backwards(log)) == (33, 36)
    assert Counted.looked == 1
