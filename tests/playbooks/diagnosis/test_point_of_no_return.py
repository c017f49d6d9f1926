"""The point of no return: before the event an action of the set keeps the record, after it none does."""

from dataclasses import replace
from functools import cache

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.checker.root_cause.findings import RecordBlock
from playbooks.diagnosis import point_of_no_return, remedies
from playbooks.diagnosis.evidence import lost_findings
from playbooks.diagnosis.point_of_no_return import PointOfNoReturn, PointOfNoReturnSearch, find_manual, keeping_actions
from playbooks.diagnosis.remedies import CALL_OFF, UNCLEAN, keeps
from playbooks.diagnosis.why import SessionCase
from playbooks.engine.session import Session
from playbooks.engine.session_runner import start_session
from playbooks.library.bundled import path_of
from playbooks.model.playbook import Playbook
from playbooks.parser.loader import load, loads
from playbooks.timetravel.branches import FOREVER, SessionForks
from tests.support.breadth import EVENING

pytestmark = pytest.mark.slow


SECOND = 1_000_000

TAIL = """\
floodmark: 1
name: tail
seed: 5
cluster: {kafka: "3.9", brokers: 3}
topics:
  - {name: orders, placement: [[1, 2, 3]], config: {min.insync.replicas: 2}}
clients:
  producers:
    - {name: clicks, topic: orders, rate: 50/s, config: {acks: 1, retries: 1000}}
steps:
  - at: 2s
    inject: gc_pause
    target: followers(orders-0)
    for: 1500ms
  - at: 2500ms
    inject: crash
    target: leader(orders-0)
    for: 25s
settle: 10s
"""
"""The followers stand still for a moment, and the leader dies ahead of them."""
FEW = TAIL.replace("rate: 50/s", "rate: 10/s").replace("for: 25s", "for: 12s").replace("settle: 10s", "settle: 3s")


@cache
def by_hand(name: str) -> tuple[Playbook, PointOfNoReturn, list[RecordBlock]]:
    playbook = load(path_of(name))
    findings = lost_findings(start_session(playbook).finish())
    expired = [place for finding in findings for place in finding.blocks]
    return playbook, find_manual(playbook, playbook.seed, findings[0], expired), expired


@pytest.fixture(scope="module")
def tail() -> tuple[PointOfNoReturnSearch, PointOfNoReturn]:
    playbook = loads(FEW, "tail.yaml")
    case = SessionCase(playbook, playbook.seed)
    finding = lost_findings(case.run())[0]
    search = PointOfNoReturnSearch(case.start, (), finding, finding.blocks)
    return search, search.find()


BY_HAND = (
    # name, the step and the event of the point of no return, and the same without unclean elections
    ("kip-101-loss", 24, "appended", 22, "leader_elected"),
    ("kip-101-scenario-1-0.10.2", 23, "appended", 21, "leader_elected"),
    ("unclean-election", 14, "appended", 12, "leader_elected"),
    ("last-replica-standing", 27, "truncated", 18, "truncated"),
)


@pytest.mark.parametrize(("name", "step", "kind", "clean_step", "clean_kind"), BY_HAND, ids=[row[0] for row in BY_HAND])
def test_by_hand_it_is_the_step_that_kafka_knowledge_says(
    name: str, step: int, kind: str, clean_step: int, clean_kind: str
) -> None:
    _playbook, found, _expired_batches = by_hand(name)
    assert (found.kind, found.at_us, found.event_kind) == ("event", step, kind)
    assert {each.kind for each in found.actions} == {UNCLEAN}
    assert found.clean is not None
    assert (found.clean.at_us, found.clean.event_kind) == (clean_step, clean_kind)
    assert [each.kind for each in found.clean.actions] == [CALL_OFF]


@pytest.mark.parametrize("name", [row[0] for row in BY_HAND])
def test_by_hand_something_keeps_it_before_the_step_and_nothing_after_it(name: str) -> None:
    playbook, found, expired = by_hand(name)
    assert keeping_actions(playbook, playbook.seed, found.executed, found.wanted, expired) == found.actions != ()
    for taken in range(found.executed + 1, len(playbook.steps) + 1):
        assert keeping_actions(playbook, playbook.seed, taken, found.wanted, expired) == ()


def test_by_hand_the_sign_comes_before_the_point_and_after_nothing_was_wrong(snapshot: SnapshotAssertion) -> None:
    _playbook, found, _expired_batches = by_hand("kip-101-loss")
    assert found.sign_us == 17
    assert found.sign == snapshot
    assert found.acked_us < found.sign_us < found.at_us


def test_by_hand_a_step_has_one_number_in_the_chain_and_in_the_answer() -> None:
    playbook = load(path_of("kip-101-loss"))
    finding = lost_findings(start_session(playbook).finish())[0]
    found = find_manual(playbook, playbook.seed, finding, finding.blocks)
    assert found.clean is not None
    elected = found.clean.to_json()["step"]
    assert found.clean.words.startswith(f"{elected}, elect ")
    assert f"({elected})" in finding.sentence
    assert elected != f"step {found.clean.at_us}", "some of its steps are for other versions"


def test_by_hand_an_action_that_costs_another_record_does_not_count() -> None:
    playbook, found, expired = by_hand("unclean-election")
    after = found.executed + 1
    everything = [*expired, *[replace(place, leader_epoch=1) for place in expired]]
    assert keeping_actions(playbook, playbook.seed, after, found.wanted, expired) == ()
    assert keeping_actions(playbook, playbook.seed, after, found.wanted, everything) != ()


def test_a_follower_that_is_behind_makes_the_crash_the_point_without_unclean_elections(
    tail: tuple[PointOfNoReturnSearch, PointOfNoReturn], snapshot: SnapshotAssertion
) -> None:
    _search, found = tail
    assert (found.kind, found.event_kind) == ("event", "appended")
    assert [each.kind for each in found.actions] == [UNCLEAN]
    assert found.clean is not None
    assert (found.clean.at_us, found.clean.event_kind) == (2_500_000, "fault_injected")
    assert [each.kind for each in found.clean.actions] == [CALL_OFF]
    assert found.sign_us == 2 * SECOND
    assert [found.actions[0].words, found.clean.words, found.sign] == snapshot
    assert found.clean.time_left_us == SECOND // 2


def test_right_before_the_event_it_can_be_kept_and_right_after_it_cannot(
    tail: tuple[PointOfNoReturnSearch, PointOfNoReturn],
) -> None:
    search, found = tail
    forks = SessionForks(lambda: Session.start(loads(FEW, "tail.yaml")))
    expired = [RecordBlock(found.wanted.partition, "clicks", -1, 10_000, 0, 0, 1, committed=False)]

    def kept(executed: int) -> list[str]:
        def fork() -> Session:
            return forks.at_event(executed)

        actions = list(remedies.rescues(fork(), found.wanted))
        return [each.kind for each in actions if keeps(fork, each, found.wanted, expired)]

    assert kept(found.executed) == [UNCLEAN]
    assert kept(found.executed + 1) == []
    assert found.clean is not None
    assert CALL_OFF in kept(found.clean.executed)
    assert kept(found.clean.executed + 1) in ([], [UNCLEAN])
    assert search.tried < 150


def test_the_answer_is_the_same_every_time(tail: tuple[PointOfNoReturnSearch, PointOfNoReturn]) -> None:
    if EVENING:
        playbook = loads(FEW, "tail.yaml")
        case = SessionCase(playbook, playbook.seed)
        finding = lost_findings(case.run())[0]
        assert PointOfNoReturnSearch(case.start, (), finding, finding.blocks).find() == tail[1]
    assert by_hand.__wrapped__("kip-101-loss")[1] == by_hand("kip-101-loss")[1]


def test_records_that_reached_no_log_have_no_other_point_than_their_acknowledgement() -> None:
    playbook = loads(FEW.replace("acks: 1, retries: 1000", "acks: 0"), "tail.yaml")
    case = SessionCase(playbook, playbook.seed)
    findings = lost_findings(case.run())
    unplaced = next(finding for finding in findings if finding.blocks[0].log_offset < 0)
    assert PointOfNoReturnSearch(case.start, (), unplaced, unplaced.blocks).find().kind == "unplaced"


# -- breakages: each of these has to be noticed by one of the tests above --------------------------------------------


def test_a_search_that_is_off_by_one_event_is_noticed(
    tail: tuple[PointOfNoReturnSearch, PointOfNoReturn], monkeypatch: pytest.MonkeyPatch
) -> None:
    search, found = tail
    at_event = SessionForks.at_event
    monkeypatch.setattr(SessionForks, "at_event", lambda forks, executed: at_event(forks, executed + 1))
    assert search.find().executed != found.executed


def test_a_fork_that_keeps_what_another_fork_did_is_noticed(
    tail: tuple[PointOfNoReturnSearch, PointOfNoReturn], monkeypatch: pytest.MonkeyPatch
) -> None:
    _search, found = tail
    playbook = loads(FEW, "tail.yaml")
    forks = SessionForks(lambda: Session.start(playbook))
    unbroken = Session.start(playbook)
    unbroken.advance(FOREVER, 500)
    monkeypatch.setattr(Session, "load", lambda session, keyframe, rest: None)
    forks.at_event(300).cluster.crash(1)
    assert forks.at_event(500).cluster.digest() != unbroken.cluster.digest()
    assert found.kind == "event"


def test_actions_without_calling_the_rest_off_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Session, "cancel_steps", lambda session: None)
    playbook = loads(FEW, "tail.yaml")
    case = SessionCase(playbook, playbook.seed)
    finding = lost_findings(case.run())[0]
    found = PointOfNoReturnSearch(case.start, (), finding, finding.blocks)
    wanted = found.wanted
    forks = SessionForks(case.start)
    assert not any(
        keeps(lambda: forks.at_time(2_499_999), each, wanted, finding.blocks)
        for each in remedies.rescues(forks.at_time(2_499_999), wanted)
        if each.kind == CALL_OFF
    )


@pytest.mark.parametrize(
    ("place", "name"),
    [
        ("is_kept", "whoever leads"),
        ("loses", "at any price"),
    ],
)
def test_a_judge_by_hand_that_is_too_kind_is_noticed(place: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = by_hand("unclean-election")[1]
    monkeypatch.setattr(point_of_no_return, place, lambda *_args: place == "is_kept")
    assert by_hand.__wrapped__("unclean-election")[1].executed != honest.executed, name
