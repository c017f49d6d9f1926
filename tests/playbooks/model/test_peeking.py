"""Looking at records of sessions: what was written, what it holds, and who still has it."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from cluster_model.inspection.log_inspector import COMPACTED, DELETED, TRUNCATED
from cluster_model.log.batch_store import BatchStore
from cluster_model.protocol.errors import ModelError
from cluster_model.protocol.records import Batch
from faults.declarations.fault import Action
from playbooks.engine.manual_session import ManualSession
from playbooks.engine.replay import ReplayMismatchError, rerun
from playbooks.engine.session import Session
from playbooks.model.record_contents import TEMPLATES, PeekedRecord, RecordName, contents, inspect_record, written
from playbooks.parser.loader import loads
from playbooks.recording.reader import read_session
from playbooks.recording.recorder import Recorder
from tests.support.playbooks import MANUAL

pytestmark = pytest.mark.slow

S = 1_000_000
P = "orders-0"
LOSS = """
floodmark: 1
topics:
  - {name: orders, placement: [[1, 2, 3]]}
  - name: facts
    placement: [[1, 2, 3]]
    config: {cleanup.policy: compact, segment.bytes: 4000, min.cleanable.dirty.ratio: 0.0}
clients:
  producers:
    - {name: checkout, topic: orders, rate: 100/s, bytes: {from: 50, to: 90}, records: faker:order, config: {acks: 1}}
    - {name: plain, topic: facts, rate: 40/s, keys: {distinct: 3, zipf: 1}, tombstone_every: 4, config: {acks: all},
       records: {k: key, n: sequence}}
steps:
  - {at: 3s, inject: lag, target: followers(orders-0), latency: 200ms, for: 20s}
  - {at: 6s, inject: crash, target: broker(1), for: 15s}
settle: 60s
"""


@pytest.fixture(scope="module")
def session() -> Session:
    started = Session.start(loads(LOSS, "loss.yaml"), seed=3)
    started.finish()
    return started


def at(session: Session | ManualSession, offset: int, partition: str = P) -> list[PeekedRecord]:
    return list(inspect_record(session.cluster, partition, offset))


def test_a_record_is_reported_with_its_contents_and_holders(session: Session) -> None:
    (found,) = at(session, 17)
    record = found.record
    assert (record.offset, record.epoch, record.broker, record.client, record.number) == (17, 0, 1, "checkout", 17)
    assert (record.acks, record.acked, record.key, record.deletes, record.gone) == (1, True, None, False, "")
    assert record.holders == (1, 2, 3)
    assert record.timestamp_us == 180_000
    assert 50 <= found.record_bytes <= 90
    assert found.record_bytes == record.batch_bytes
    name = RecordName("checkout", P, 17, 180_000)
    assert found.value == written(contents(TEMPLATES["order"], 3, name))


def test_a_lost_record_is_listed_with_its_replacement(session: Session) -> None:
    (loss,) = session.finish().losses
    assert loss.partition == P
    lost, other = at(session, loss.log_offset)
    assert (lost.record.epoch, lost.record.number, lost.record.acked) == (0, loss.log_offset, True)
    assert (lost.record.holders, lost.record.gone) == ((), TRUNCATED)
    assert (other.record.epoch, other.record.broker) == (loss.leader_epoch + 1, 2)
    assert other.record.number > lost.record.number
    assert other.record.holders == (1, 2, 3)
    assert lost.value != other.value


def test_a_broker_that_is_down_holds_what_is_on_its_disk() -> None:
    session = Session.start(loads(LOSS, "loss.yaml"), seed=3)
    session.advance(6_100_000)
    newest = session.cluster.cluster_state.replicas[P][1].log.leo - 1
    (found,) = at(session, newest)
    assert found.record.holders == (1,)


def test_compacted_records_are_marked_and_tombstones_have_no_value(session: Session) -> None:
    cluster_state = session.cluster.cluster_state
    end = cluster_state.replicas["facts-0"][2].log.leo
    found = [each for offset in range(end) for each in at(session, offset, "facts-0")]
    assert len(found) >= end
    gone = [each for each in found if each.record.gone == COMPACTED]
    assert len(gone) > 100
    tombstones = [each for each in found if each.record.deletes]
    assert tombstones
    assert all(each.value is None and each.record.key in {"key-0", "key-1", "key-2"} for each in tombstones)
    for each in found:
        if not each.record.deletes:
            assert json.loads(each.value or "") == {"k": each.record.key, "n": each.record.number}


def test_deleted_records_are_marked() -> None:
    session = Session.start(loads(LOSS, "loss.yaml"), seed=3)
    session.advance(4 * S)
    session.cluster.delete_records(P, 100)
    session.advance(5 * S)
    (found,) = at(session, 99)
    assert (found.record.holders, found.record.gone) == ((), DELETED)
    assert at(session, 100)[0].record.holders == (1, 2, 3)


def test_nothing_is_where_nothing_was_written(session: Session) -> None:
    assert at(session, 10**9) == []
    with pytest.raises(ModelError):
        at(session, 0, "orders-7")


def test_a_hand_stepped_record_is_what_it_is_called() -> None:
    session = ManualSession.start(loads(MANUAL, "hand.yaml"))
    session.finish()
    (found,) = at(session, 0)
    assert (found.record.key, found.value, found.record_bytes) == (None, "m0", -1)


def test_named_records_carry_their_own_key_and_value() -> None:
    """As those of Kafka's own topics do."""
    session = ManualSession.start(loads(MANUAL, "hand.yaml"))
    epoch_branches = BatchStore()
    epoch_branch = epoch_branches.begin(1, 0, 0, session.cluster.cluster_state.record(P).topic_id)
    epoch_branch.append(Batch(0, 3, 300, 0, "", -1, 0, -1, ("a=5", "a=", "b")))
    session.cluster.cluster_state.epoch_branches[P] = epoch_branches
    told = [(each.record.key, each.record.deletes, each.value) for offset in range(3) for each in at(session, offset)]
    assert told == [("a", False, "5"), ("a", True, None), (None, False, "b")]


def test_looking_changes_nothing() -> None:
    def digest(*, looks: bool) -> str:
        session = Session.start(loads(LOSS, "loss.yaml"), seed=3)
        for second in range(1, 9):
            session.advance(second * S)
            if looks:
                at(session, 10 * second)
        return session.cluster.digest()

    assert digest(looks=True) == digest(looks=False)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    parent = tmp_path_factory.mktemp("recorded")
    return Path(Session.start(loads(LOSS, "loss.yaml"), seed=3, recorder=Recorder(parent)).finish().session)


def test_a_recording_is_run_again_to_any_point_in_time(recorded: Path, session: Session) -> None:
    (loss,) = session.finish().losses
    before = rerun(read_session(recorded), 5_999_999)
    assert before.cluster.now_us == 5_999_999
    (early,) = at(before, loss.log_offset)
    assert 1 in early.record.holders
    after = rerun(read_session(recorded))
    assert at(after, loss.log_offset) == at(session, loss.log_offset)
    beyond = rerun(read_session(recorded), 10_000 * S)
    assert at(beyond, 17) == at(session, 17)


def test_later_operator_actions_are_not_in_an_earlier_view(tmp_path: Path) -> None:
    live = Session.start(loads(LOSS, "loss.yaml"), seed=3, recorder=Recorder(tmp_path, live=True), open_ended=True)
    live.advance(2 * S)
    live.act(Action("inject", "crash", "broker(3)"))
    live.advance(4 * S)
    recorded = read_session(Path(live.finish().session))
    early, later = rerun(recorded, 2 * S - 1), rerun(recorded, 2 * S)
    assert (early.cluster.now_us, later.cluster.now_us) == (2 * S - 1, 2 * S)
    assert (early.cluster.is_up(3), later.cluster.is_up(3)) == (True, False)


def test_a_recording_that_comes_out_differently_is_not_looked_at(recorded: Path, tmp_path: Path) -> None:
    kept = read_session(recorded)
    other = kept.events.replace(b'"count":1', b'"count":2', 1)
    assert other != kept.events
    with pytest.raises(ReplayMismatchError):
        rerun(replace(kept, events=other), 5 * S)
