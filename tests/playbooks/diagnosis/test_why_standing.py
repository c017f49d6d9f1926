"""A session explained as it stood at some time: still running, cut short, or looked at in the middle."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.checker.root_cause.findings import LOST, MISSING, ChainEvent, Finding, RecordBlock
from playbooks.diagnosis import remedies
from playbooks.diagnosis.point_of_no_return import collect_history
from playbooks.diagnosis.remedies import changes, evaluate
from playbooks.diagnosis.why import SessionCase, WhyError, at_the_end, case_of
from playbooks.engine.session import Session
from playbooks.engine.worker_pool import JobOutcome, PlaybookJob, execute
from playbooks.parser.loader import loads
from playbooks.recording.reader import RecordedSession, read_session
from playbooks.recording.recorder import Recorder
from playbooks.timetravel.branches import SessionForks
from tests.playbooks.diagnosis.test_point_of_no_return import TAIL

pytestmark = pytest.mark.slow

SECOND = 1_000_000
SEEN_US = 15 * SECOND
"""The leader is still down then: its records are missing, and not lost yet."""


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> RecordedSession:
    recorder = Recorder(tmp_path_factory.mktemp("running"), live=True)
    session = Session.start(loads(TAIL, "tail.yaml"), recorder=recorder, open_ended=True)
    session.advance(20 * SECOND)
    recorder.flush()
    return read_session(recorder.path)


@pytest.fixture(scope="module")
def case(running: RecordedSession) -> SessionCase:
    return case_of(running, at_us=SEEN_US)


def test_it_is_cut_off_there_with_nothing_healed(case: SessionCase, snapshot: SnapshotAssertion) -> None:
    result = case.run()
    assert result.virtual_us == SEEN_US
    assert result.reason == snapshot
    assert (result.findings[0].kind, result.findings[0].count) == (LOST, 24)


def test_the_count_of_a_finding_is_that_at_the_cutoff(case: SessionCase) -> None:
    (standing,) = case.findings_at_cutoff()
    assert (standing.kind, standing.count) == (MISSING, 24)
    (found,) = case.run().findings
    elsewhere = replace(
        found, blocks=tuple([replace(each, log_offset=each.log_offset + 1_000) for each in found.blocks])
    )
    assert at_the_end(standing, (found, elsewhere)) == 1
    assert at_the_end(standing, (elsewhere, found)) == 2


def test_the_way_to_a_loss_ends_where_it_is_cut_off(case: SessionCase) -> None:
    history = collect_history(case.start, case.actions, case.run().findings[0])
    assert history.end_us == SEEN_US


def test_one_from_a_screen_without_an_end_is_cut_off_where_it_breaks_off(running: RecordedSession) -> None:
    assert case_of(running).until_us == running.last_us > 19 * SECOND
    headless = replace(running, start=replace(running.start, live=False))
    assert case_of(headless).until_us == -1


def test_every_fork_starts_at_the_cutoff() -> None:
    playbook = loads(TAIL, "tail.yaml")
    forks = SessionForks(SessionCase(playbook, 5, until_us=3 * SECOND).start)
    session = forks.at_time(2 * SECOND)
    session.cancel_steps()
    session.advance(4 * SECOND)
    assert session.cluster.now_us == 4 * SECOND
    session = forks.at_time(2 * SECOND)
    assert not session.advance(4 * SECOND)
    assert session.cluster.now_us == 3 * SECOND


def finding(kind: str, *offsets: int) -> Finding:
    places = tuple(RecordBlock("orders-0", "clicks", 0, 1, offset, 0, 1, committed=False) for offset in offsets)
    return Finding(kind, "unexplained", "", places, (ChainEvent(0, "records_acked", "orders-0", 1, ""),))


def test_a_finding_is_found_again_by_its_records(snapshot: SnapshotAssertion) -> None:
    after = [finding(LOST, 1), finding(LOST, 2, 3, 4), finding("reordered", 5)]
    assert at_the_end(finding(MISSING, 2, 3), after) == 2
    assert at_the_end(finding("reordered", 5), after) == 3
    with pytest.raises(WhyError) as caught:
        at_the_end(finding("reordered", 1), after)
    assert str(caught.value) == snapshot


def test_the_price_of_a_remedy_is_that_until_it_has_recovered(
    case: SessionCase, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert case.written is not None
    (acks,) = [each for each in changes(case.written, LOST) if each.name == "acks=all"]
    monkeypatch.setattr(remedies, "changes", lambda _playbook, _kind: (acks,))
    outcomes: list[JobOutcome] = []

    def run(jobs: Sequence[PlaybookJob]) -> list[JobOutcome]:
        found = [execute(job, lambda _progress: None) for job in jobs]
        outcomes.extend(found)
        return found

    (found,) = evaluate(case.written, case.seed, case.run(), LOST, run=run, until_us=case.until_us, seeds=1)
    before, after = (each.result for each in outcomes)
    assert before is not None
    assert after is not None
    assert before.virtual_us == after.virtual_us == SEEN_US + case.written.settle_us
    assert (found.verdict, found.before) == ("saves", before.ledger.acked_lost)
    assert found.unavailable_us == after.unavailable.us - before.unavailable.us != 0
    assert after.unavailable.us > SECOND, "it is no longer cut off in the middle of the outage"


def test_where_healing_alone_saves_runs_are_cut_off_as_the_session_is(case: SessionCase) -> None:
    kept: list[PlaybookJob] = []

    def run(jobs: Sequence[PlaybookJob]) -> list[JobOutcome]:
        kept.extend(jobs)
        healed = replace(result, ledger=replace(result.ledger, acked_lost=0))
        return [JobOutcome(job, healed, code=0) for job in jobs]

    result = case.run()
    assert case.written is not None
    evaluate(case.written, case.seed, result, LOST, run=run, until_us=case.until_us, seeds=1)
    first, *rest = kept
    assert (first.settle_us, first.until_us) == (SEEN_US, -1)
    assert {(job.settle_us, job.until_us) for job in rest} == {(-1, SEEN_US)}
