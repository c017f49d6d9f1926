"""Rules of a quorum member, message by message: no network, and no time but the given one."""

from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.controller.raft import raft
from cluster_model.controller.raft.messages import (
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    QuorumFetchRequest,
    QuorumFetchResponse,
    VoteRequest,
    VoteResponse,
)
from cluster_model.controller.raft.raft import (
    NEVER,
    EpochElection,
    RaftNode,
    ReplicaProgress,
    Role,
    fetch_response,
    handle_fetch_response,
    has_news,
    successor_backoff_us,
)
from cluster_model.controller.raft.raft_log import QuorumLog, QuorumStore
from cluster_model.protocol.configs import QuorumConfig
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import NO_LEADER
from cluster_model.protocol.versions import Profile

MS = 1_000
SECOND = 1_000_000
ME, A, B = 1, 2, 3
VOTERS = (ME, A, B)
FENCED = KafkaError.FENCED_LEADER_EPOCH


def config(kafka: str = "3.9", **settings: int) -> QuorumConfig:
    return QuorumConfig.of(
        Profile.of(kafka, "kraft"), {name.replace("__", "."): value for name, value in settings.items()}
    )


def node(
    *, kafka: str = "3.9", voters: tuple[int, ...] = VOTERS, me: int = ME, store: QuorumStore | None = None
) -> RaftNode:
    """A fresh member; its random numbers are always 0."""
    made = RaftNode(me, voters, QuorumLog(store or QuorumStore()), config(kafka), lambda _bound: 0)
    made.start(0)
    return made


def nobody_calm(_voter: int) -> bool:
    return False


def write(member: RaftNode, epoch: int, leader: int, *records: str) -> None:
    member.log.write(epoch, leader, records)


def poll(member: RaftNode, now: int) -> list[tuple[int, Any]]:
    """Return the messages that it sends when polled."""
    member.poll(now, nobody_calm)
    said, member.out[:] = list(member.out), []
    return said


def in_role(role: Role, *, kafka: str = "3.9") -> RaftNode:
    """A voter in epoch 5 with three records of epoch 4, in that role; if it follows, the leader is A."""
    made = node(kafka=kafka)
    write(made, 4, A, "x", "y", "z")
    made.epoch = 4
    if role is Role.UNATTACHED:
        made.maybe_transition(5, NO_LEADER, 0)
    elif role is Role.FOLLOWER:
        made.maybe_transition(5, A, 0)
    elif role is Role.PROSPECTIVE:
        made.maybe_transition(5, NO_LEADER, 0)
        poll(made, made.due_at)
    else:
        poll(made, made.due_at)
        made.connections.on_success(A)
        if role is not Role.CANDIDATE:
            made.count(A, 0, granted=True)
        if role is Role.RESIGNED:
            made.resign(0)
    made.out.clear()
    assert (made.role, made.epoch) == (role, 5)
    return made


def asked(member: RaftNode, candidate: int, epoch: int, last_epoch: int, end: int, *, pre: bool = False) -> Any:
    return raft.handle_vote_request(member, VoteRequest(9, epoch, candidate, last_epoch, end, pre), SECOND // 2)


@pytest.mark.parametrize(
    ("last_epoch", "end", "granted"),
    [(4, 3, True), (4, 4, True), (4, 2, False), (5, 1, True), (3, 9, False), (0, 0, False)],
)
def test_a_vote_goes_to_a_log_that_is_not_behind(last_epoch: int, end: int, granted: bool) -> None:
    member = in_role(Role.UNATTACHED)
    assert asked(member, B, 5, last_epoch, end).granted is granted
    assert member.voted == (B if granted else NO_LEADER)


def test_a_vote_is_given_once_in_an_epoch_and_again_to_the_same() -> None:
    member = in_role(Role.UNATTACHED)
    assert asked(member, B, 5, 4, 3).granted
    assert not asked(member, A, 5, 4, 3).granted
    assert asked(member, B, 5, 4, 3).granted
    assert asked(member, A, 6, 4, 3).granted
    assert (member.epoch, member.voted) == (6, A)


def test_a_vote_outlives_the_process() -> None:
    member = in_role(Role.UNATTACHED)
    assert asked(member, B, 5, 4, 3).granted
    member.stop()
    member.start(9 * SECOND)
    assert (member.epoch, member.voted, member.role) == (5, B, Role.UNATTACHED)
    assert not asked(member, A, 5, 4, 3).granted


@pytest.mark.parametrize("role", [Role.FOLLOWER, Role.CANDIDATE, Role.LEADER, Role.RESIGNED])
def test_voters_with_a_leader_and_candidates_grant_no_vote(role: Role) -> None:
    member = in_role(role)
    response = asked(member, B, 5, 9, 99)
    assert (response.error, response.granted, response.epoch) == (KafkaError.NONE, False, 5)
    assert member.role is role


@pytest.mark.parametrize("role", list(Role))
def test_a_request_of_an_old_epoch_gets_the_new_one(role: Role) -> None:
    member = in_role(role, kafka="4.0" if role is Role.PROSPECTIVE else "3.9")
    response = asked(member, B, 4, 9, 99)
    assert (response.error, response.granted, response.epoch, response.leader) == (FENCED, False, 5, member.leader)
    begun = raft.handle_begin_quorum_epoch_request(member, BeginQuorumEpochRequest(1, 4, B), 0)
    ended = raft.handle_end_quorum_epoch_request(member, EndQuorumEpochRequest(1, 4, B, (ME,)), 0)
    assert (begun.error, ended.error, begun.epoch) == (FENCED, FENCED, 5)
    assert member.role is role


@pytest.mark.parametrize("role", list(Role))
def test_a_newer_epoch_ends_every_role_and_its_vote_is_free(role: Role) -> None:
    member = in_role(role, kafka="4.0" if role is Role.PROSPECTIVE else "3.9")
    response = asked(member, B, 6, 5, 4)
    assert (response.granted, member.role, member.epoch, member.voted) == (True, Role.UNATTACHED, 6, B)
    assert member.leading is None


def test_a_refused_newer_candidate_does_not_reset_the_voters_timer() -> None:
    member = in_role(Role.FOLLOWER)
    due = member.due_at
    assert not asked(member, B, 6, 3, 1).granted
    assert (member.role, member.epoch, member.due_at) == (Role.UNATTACHED, 6, due)


def test_an_observer_never_votes() -> None:
    observer = node(me=7)
    assert not asked(observer, A, 1, 9, 9).granted


@pytest.mark.parametrize(
    ("role", "granted"),
    [
        (Role.UNATTACHED, True), (Role.FOLLOWER, True), (Role.PROSPECTIVE, True), (Role.CANDIDATE, True),
        (Role.LEADER, False), (Role.RESIGNED, True),
    ],
)  # fmt: skip
def test_a_pre_vote_does_not_bind_the_voter(role: Role, granted: bool) -> None:
    member = in_role(role, kafka="4.0" if role is Role.PROSPECTIVE else "3.9")
    member._config = config("4.0")
    before = member.voted
    assert asked(member, B, 5, 5, 4, pre=True).granted is granted
    assert not asked(member, B, 5, 4, 2, pre=True).granted
    assert (member.role, member.epoch, member.voted) == (role, 5, before)


def test_a_voter_before_4_0_has_no_pre_votes_and_the_other_becomes_a_candidate_at_once() -> None:
    """KIP-996: in a rolling upgrade. The response says nothing about the epoch."""
    old, member = in_role(Role.FOLLOWER, kafka="3.9"), in_role(Role.UNATTACHED, kafka="4.0")
    requests = poll(member, member.due_at)
    assert (member.role, member.epoch) == (Role.PROSPECTIVE, 5)
    for voter, request in requests:
        response = raft.handle_vote_request(old, request, 0)
        assert (response.error, response.granted) == (KafkaError.UNSUPPORTED_VERSION, False)
        raft.handle_vote_response(member, voter, response, SECOND)
    assert (member.role, member.epoch) == (Role.CANDIDATE, 6)
    assert [message.pre_vote for _voter, message in poll(member, SECOND)] == [False, False]


@pytest.mark.parametrize(("kafka", "says"), [("4.0", False), ("4.1", True)])
def test_fetches_carry_the_high_watermark_since_4_1(kafka: str, says: bool) -> None:
    assert raft.next_fetch(in_role(Role.FOLLOWER, kafka=kafka), 1, 7).awaits_high_watermark is says


def test_a_follower_that_hears_its_leader_grants_no_pre_vote() -> None:
    member = in_role(Role.FOLLOWER, kafka="4.0")
    member.fetch_succeeded(0)
    assert not asked(member, B, 5, 9, 99, pre=True).granted


def answers(member: RaftNode, said: list[tuple[int, Any]], granted: dict[int, bool], *, epoch: int = 0) -> None:
    for voter, message in said:
        if voter in granted:
            response = VoteResponse(
                message.correlation_id, 0, epoch or member.epoch, NO_LEADER, granted[voter], message.pre_vote
            )
            raft.handle_vote_response(member, voter, response, SECOND)


def test_a_candidate_wins_by_a_majority_and_writes_a_record_of_its_own() -> None:
    member = in_role(Role.UNATTACHED)
    said = poll(member, member.due_at)
    assert [(voter, message[1:]) for voter, message in said] == [
        (A, (6, ME, 4, 3, False)), (B, (6, ME, 4, 3, False)),
    ]  # fmt: skip
    assert (member.role, member.epoch, member.voted) == (Role.CANDIDATE, 6, ME)
    answers(member, said, {B: True})
    assert (member.role, member.leader, member.log.last_epoch, member.log.end) == (Role.LEADER, ME, 6, 4)
    assert [message for _voter, message in poll(member, SECOND)] == [BeginQuorumEpochRequest(3, 6, ME)]


def test_a_defeated_candidate_backs_off_and_retries_in_the_next_epoch() -> None:
    member = in_role(Role.UNATTACHED, kafka="3.9.1")
    answers(member, poll(member, member.due_at), {A: False, B: False})
    assert (member.role, member.epoch, member.due_at) == (Role.CANDIDATE, 6, SECOND)
    assert member.election is not None
    assert member.election.backing_off
    poll(member, SECOND)
    assert (member.role, member.epoch, member.election.retries) == (Role.CANDIDATE, 7, 2)


def test_since_4_1_a_candidate_that_lost_waits_out_its_election_timeout() -> None:
    """KAFKA-18345: then it asks for pre-votes again, in the same epoch."""
    member = in_role(Role.PROSPECTIVE, kafka="4.1")
    member.count(A, SECOND // 2, granted=True)
    assert (member.role, member.epoch, member.due_at) == (Role.CANDIDATE, 6, 3 * SECOND // 2)
    for voter in (A, B):
        member.count(voter, SECOND // 2, granted=False)
    assert member.election is not None
    assert (member.election.is_rejected, member.election.backing_off, member.due_at) == (True, False, 3 * SECOND // 2)
    assert poll(member, member.due_at - 1) == []
    assert [message.pre_vote for _voter, message in poll(member, member.due_at)] == [True, True]
    assert (member.role, member.epoch) == (Role.PROSPECTIVE, 6)


def test_a_candidate_without_answers_holds_back_after_the_election_timeout() -> None:
    member = in_role(Role.UNATTACHED)
    poll(member, member.due_at)
    due = member.due_at
    assert not poll(member, due - 1)
    poll(member, due)
    assert (member.role, member.epoch) == (Role.CANDIDATE, 6)
    poll(member, member.due_at)
    assert member.epoch == 7


def test_unrequested_vote_responses_are_ignored() -> None:
    member = in_role(Role.UNATTACHED)
    (_voter, message), *_rest = poll(member, member.due_at)
    raft.handle_vote_response(member, A, VoteResponse(message.correlation_id + 7, 0, 6, NO_LEADER, True, False), SECOND)
    assert member.role is Role.CANDIDATE


@pytest.mark.parametrize(
    ("retries", "draws", "most_ms"), [(1, 2, 100), (2, 4, 300), (4, 16, 1_000), (40, 1 << 21, 1_000)]
)
def test_back_offs_double_up_to_their_limit(retries: int, draws: int, most_ms: int) -> None:
    asked_for: list[int] = []

    def draw(bound: int) -> int:
        asked_for.append(bound)
        return bound - 1

    assert EpochElection(ME, VOTERS, retries).backoff_us(config("3.9.1"), draw) == most_ms * MS
    assert asked_for == [draws]


@pytest.mark.parametrize(("votes_", "won", "lost"), [
    ({}, False, False), ({A: True}, True, False), ({A: False}, False, False), ({A: False, B: False}, False, True),
    ({9: True}, False, False),
])  # fmt: skip
def test_a_majority_of_the_voters_decides(votes_: dict[int, bool], won: bool, lost: bool) -> None:
    election = EpochElection(ME, VOTERS)
    for voter, granted in votes_.items():
        election.record(voter, granted=granted)
    assert (election.won, election.is_rejected) == (won, lost)


def test_without_a_pre_vote_majority_the_epoch_stays() -> None:
    member = in_role(Role.FOLLOWER, kafka="4.0")
    said = poll(member, member.due_at)
    assert [message.pre_vote for _voter, message in said] == [True, True]
    assert (member.role, member.epoch) == (Role.PROSPECTIVE, 5)
    answers(member, said, {A: False, B: False})
    assert (member.role, member.epoch, member.leader) == (Role.FOLLOWER, 5, A)


def test_a_pre_vote_majority_makes_a_candidate() -> None:
    member = in_role(Role.FOLLOWER, kafka="4.0")
    answers(member, poll(member, member.due_at), {B: True})
    assert (member.role, member.epoch, member.voted) == (Role.CANDIDATE, 6, ME)


@pytest.mark.parametrize(
    ("successors", "wait_ms"), [((ME, A), 0), ((A, ME), 500), ((A, B, ME), 500), ((A, B, 4, ME), 500), ((A,), 1_000)]
)
def test_preferred_successors_become_candidates_one_after_the_other(successors: tuple[int, ...], wait_ms: int) -> None:
    member = in_role(Role.FOLLOWER)
    raft.handle_end_quorum_epoch_request(member, EndQuorumEpochRequest(1, 5, A, successors), 7)
    assert member.due_at == 7 + wait_ms * MS


def test_back_offs_of_successors() -> None:
    assert [successor_backoff_us(place, 4, config()) // MS for place in range(4)] == [0, 125, 250, 500]


def test_the_end_of_another_leader_moves_no_clock() -> None:
    member = in_role(Role.FOLLOWER)
    due = member.due_at
    raft.handle_end_quorum_epoch_request(member, EndQuorumEpochRequest(1, 5, B, (ME,)), 7)
    assert member.due_at == due


def leader(ends: dict[int, int] | None = None) -> RaftNode:
    """Leads epoch 5 from offset 3: records 0 to 2 are of epoch 4, 3 is its LeaderChange, 4 and 5 are its own."""
    made = in_role(Role.LEADER)
    made.append(("p", "q"), 0)
    made.write()
    for voter, end in (ends or {}).items():
        made.record_voter_end(voter, end, 0)
    return made


@pytest.mark.parametrize(
    ("ends", "high_watermark"),
    [({}, -1), ({A: 3}, -1), ({A: 4}, 4), ({A: 6}, 6), ({A: 6, B: 5}, 6), ({A: 2, B: 3}, -1), ({A: 3, B: 4}, 4)],
)
def test_the_hw_is_what_a_majority_has_once_that_includes_a_record_of_the_epoch(
    ends: dict[int, int], high_watermark: int
) -> None:
    member = leader(ends)
    assert member.leading is not None
    assert member.leading.high_watermark == high_watermark


def test_a_fetch_acknowledges_the_leader() -> None:
    member = leader({B: 0})
    assert member.leading is not None
    assert list(member.leading.unaware) == [A]
    member.connections.clear()
    assert [voter for voter, _message in poll(member, 0)] == [A]


def test_records_wait_for_the_linger_and_go_together() -> None:
    member = in_role(Role.LEADER)
    assert member.append(("p", "q"), 100) == 5
    assert member.append(("r",), 20_000) == 6
    poll(member, 25_099)
    assert member.log.end == 4
    poll(member, 25_100)
    assert member.log.end == 7
    assert [batch.records for batch in member.log.batches(4, 7)] == [("p", "q"), ("r",)]


@pytest.mark.parametrize("role", [Role.UNATTACHED, Role.FOLLOWER, Role.CANDIDATE, Role.RESIGNED])
def test_only_a_leader_appends(role: Role, snapshot: SnapshotAssertion) -> None:
    with pytest.raises(ValueError, match=role.name.lower()) as caught:
        in_role(role).append(("x",), 0)
    assert str(caught.value) == snapshot


def test_nothing_cannot_be_appended(snapshot: SnapshotAssertion) -> None:
    with pytest.raises(ValueError, match="0 records") as caught:
        in_role(Role.LEADER).append((), 0)
    assert str(caught.value) == snapshot


@pytest.mark.parametrize(("kafka", "resigns"), [("3.6", False), ("3.7", True), ("4.0", True)])
def test_a_leader_without_its_majority_resigns_since_3_7(kafka: str, resigns: bool) -> None:
    member = in_role(Role.LEADER, kafka=kafka) if kafka < "4" else in_role(Role.LEADER)
    member._config = config(kafka)
    assert member.leading is not None
    member.leading._config = member._config
    member.record_voter_end(A, 4, SECOND)
    poll(member, 4 * SECOND - 1)
    assert member.role is Role.LEADER
    poll(member, 4 * SECOND)
    assert (member.role is Role.RESIGNED) is resigns


def test_a_voter_whose_fetches_come_for_certain_is_not_silent() -> None:
    member = leader()
    assert member.leading is not None
    assert member.leading.quorum_check_deadline(lambda voter: voter == B) == NEVER
    member.poll(99 * SECOND, lambda voter: voter == B)
    assert member.role is Role.LEADER


def fetch(replica: int, epoch: int, offset: int, last_epoch: int) -> QuorumFetchRequest:
    return QuorumFetchRequest(1, replica, epoch, offset, last_epoch, -1, 500 * MS)


@pytest.mark.parametrize(
    ("offset", "last_epoch", "diverging", "extents"),
    [
        (0, 0, None, ((4, 0, 3), (5, 3, 6))),
        (2, 4, None, ((4, 2, 3), (5, 3, 6))),
        (3, 4, None, ((5, 3, 6),)),
        (4, 4, (4, 3), ()),
        (6, 5, None, ()),
        (7, 5, (5, 6), ()),
        (3, 3, (0, 0), ()),
        (9, 7, (5, 6), ()),
    ],
)
def test_a_fetch_is_answered_by_records_or_by_where_the_logs_part(
    offset: int, last_epoch: int, diverging: tuple[int, int] | None, extents: Any
) -> None:
    response = fetch_response(leader(), fetch(A, 5, offset, last_epoch))
    assert (response.error, response.diverging, response.extents) == (0, diverging, extents)
    assert has_news(response) is (diverging is not None or extents != ())


@pytest.mark.parametrize(
    ("role", "epoch", "error"),
    [
        (Role.LEADER, 4, FENCED), (Role.LEADER, 6, KafkaError.UNKNOWN_LEADER_EPOCH),
        (Role.FOLLOWER, 5, KafkaError.NOT_LEADER_OR_FOLLOWER), (Role.RESIGNED, 5, KafkaError.NOT_LEADER_OR_FOLLOWER),
        (Role.CANDIDATE, 4, FENCED),
    ],
)  # fmt: skip
def test_a_fetch_at_another_voter_is_answered_with_the_leader(role: Role, epoch: int, error: KafkaError) -> None:
    member = in_role(role)
    response = fetch_response(member, fetch(B, epoch, 0, 0))
    assert (response.error, response.epoch, response.leader, response.extents) == (error, 5, member.leader, ())


@pytest.mark.parametrize(
    ("diverging", "end"), [((4, 3), 3), ((4, 2), 2), ((5, 4), 3), ((3, 1), 1), ((3, 9), 1), ((2, 1), 0), ((0, 0), 0)]
)
def test_a_diverging_log_is_cut_to_what_both_have(diverging: tuple[int, int], end: int) -> None:
    store = QuorumStore()
    member = node(store=store)
    write(member, 3, A, "w")
    write(member, 4, A, "x", "y")
    write(member, 6, B, "z")
    member.maybe_transition(7, A, 0)
    assert handle_fetch_response(member, A, QuorumFetchResponse(1, 0, 7, A, -1, (), diverging), 0)
    assert member.log.end == end
    assert member.log.end_of(99)[1] == end


def test_a_log_is_never_cut_below_what_is_committed(snapshot: SnapshotAssertion) -> None:
    member = in_role(Role.FOLLOWER)
    member.high_watermark = 2
    with pytest.raises(ValueError, match="HW 2") as caught:
        handle_fetch_response(member, A, QuorumFetchResponse(1, 0, 5, A, -1, (), (4, 1)), 0)
    assert str(caught.value) == snapshot


def test_a_follower_takes_records_and_as_much_of_the_hw_as_it_has() -> None:
    member = in_role(Role.FOLLOWER)
    boss = QuorumLog(member.log._store)
    boss.append_extents(member.log.extents(0, 3))
    boss.write(5, A, ("p",))
    response = QuorumFetchResponse(1, 0, 5, A, 99, boss.extents(3, 4), None)
    assert handle_fetch_response(member, A, response, 7)
    assert (member.log.end, member.high_watermark, member.due_at) == (4, 4, 7 + 2 * SECOND)
    assert handle_fetch_response(member, A, QuorumFetchResponse(2, 0, 5, A, -1, (), None), 8)
    assert member.high_watermark == 4


@pytest.mark.parametrize("response", [
    QuorumFetchResponse(1, 0, 5, B, 9, (), None), QuorumFetchResponse(1, 0, 4, A, 9, (), None),
    QuorumFetchResponse(1, KafkaError.NOT_LEADER_OR_FOLLOWER, 5, NO_LEADER, 9, (), None),
])  # fmt: skip
def test_an_answer_of_somebody_else_moves_nothing(response: QuorumFetchResponse) -> None:
    member = in_role(Role.FOLLOWER)
    due = member.due_at
    assert (
        not handle_fetch_response(member, response.leader if response.leader == B else A, response, SECOND)
        or response.epoch == 5
    )
    if response.epoch != 5 or response.error:
        assert (member.due_at, member.high_watermark) == (due, 0)


def test_a_refusal_reports_the_leader() -> None:
    member = in_role(Role.FOLLOWER)
    assert not handle_fetch_response(member, A, QuorumFetchResponse(1, FENCED, 7, B, -1, (), None), 0)
    assert (member.role, member.epoch, member.leader) == (Role.FOLLOWER, 7, B)


def test_a_quorum_of_one_leads_and_commits_at_once() -> None:
    alone = node(voters=(ME,))
    assert (alone.role, alone.epoch, alone.high_watermark) == (Role.LEADER, 1, 1)
    alone.append(("x",), 0)
    alone.write()
    assert alone.high_watermark == 2
    alone.stop()
    alone.start(SECOND)
    assert (alone.role, alone.epoch, alone.high_watermark, alone.log.end) == (Role.LEADER, 2, 3, 3)


@pytest.mark.parametrize(
    ("epoch", "voted", "known", "role"),
    [
        (5, NO_LEADER, NO_LEADER, Role.UNATTACHED), (5, A, NO_LEADER, Role.UNATTACHED),
        (5, ME, NO_LEADER, Role.CANDIDATE),
        (5, NO_LEADER, A, Role.FOLLOWER), (5, ME, ME, Role.RESIGNED),
    ],
)  # fmt: skip
def test_a_restarted_voter_continues_from_its_stored_state(epoch: int, voted: int, known: int, role: Role) -> None:
    member = node()
    member.epoch, member.voted, member.leader = epoch, voted, known
    member.start(0)
    assert (member.role, member.epoch, member.voted, member.leader) == (role, epoch, voted, known)


def test_two_leaders_of_one_epoch_cannot_both_write(snapshot: SnapshotAssertion) -> None:
    store = QuorumStore()
    store.append(1, A, 0, ("x",), control=False)
    with pytest.raises(ValueError, match="2 wrote") as caught:
        store.append(1, B, 1, ("y",), control=False)
    assert str(caught.value) == snapshot
    with pytest.raises(ValueError, match="offset 5") as caught:
        store.append(1, A, 5, ("y",), control=False)
    assert str(caught.value) == snapshot


def test_a_keyframe_of_another_history_is_refused(snapshot: SnapshotAssertion) -> None:
    store = QuorumStore()
    store.append(1, A, 0, ("x",), control=False)
    saved = store.save()
    other = QuorumStore()
    with pytest.raises(ValueError, match="1 batches") as caught:
        other.load(saved)
    assert str(caught.value) == snapshot
    past = QuorumStore(store)
    past.load(saved)
    past.append(1, A, 1, ("y",), control=False)
    assert (past.log_branches[1].end, store.log_branches[1].end) == (2, 1)


@pytest.mark.parametrize("kafka", ["3.9.2", "4.0.1"])
@pytest.mark.parametrize(
    ("retries", "bound", "most_ms"), [(1, 1, 50), (2, 3, 150), (11, 2047, 1_049), (40, 2047, 1_049)]
)
def test_the_longest_back_off_has_a_jitter(kafka: str, retries: int, bound: int, most_ms: int) -> None:
    """KAFKA-18345: before, all candidates at the limit waited for the same time."""
    bounds: list[int] = []

    def draw(most: int) -> int:
        bounds.append(most)
        return most - 1

    election = EpochElection(ME, VOTERS, retries)
    assert election.backoff_us(config(kafka), draw) == most_ms * MS
    assert bounds == [bound, 50]


def test_settings_by_kafkas_names() -> None:
    names = {
        "controller.quorum.election.timeout.ms": 1, "controller.quorum.fetch.timeout.ms": 2,
        "controller.quorum.election.backoff.max.ms": 3, "controller.quorum.request.timeout.ms": 4,
        "controller.quorum.retry.backoff.ms": 5, "controller.quorum.append.linger.ms": 6,
        "metadata.max.idle.interval.ms": 7,
    }  # fmt: skip
    assert QuorumConfig.of(Profile.of("3.6", "kraft"), dict(names)) == QuorumConfig(
        *[value * MS for value in names.values()],
        check_quorum=False,
        pre_vote=False,
        hw_push=False,
        waits_out=False,
        jitters=False,
    )
    defaults = config("4.0.0")
    assert defaults == QuorumConfig(
        SECOND, 2 * SECOND, SECOND, 2 * SECOND, 20 * MS, 25 * MS, 500 * MS,
        check_quorum=True, pre_vote=True, hw_push=False, waits_out=False, jitters=False,
    )  # fmt: skip
    assert (config("4.1").hw_push, config("4.1").waits_out) == (True, True)
    assert defaults.check_quorum_us == 3 * SECOND


class TestReplicaProgress:
    """``LeaderState.ReplicaState.updateFollowerState`` (KIP-836)."""

    def test_a_fetch_from_the_end_is_caught_up_now(self) -> None:
        assert ReplicaProgress().after(7, 7, 100) == ReplicaProgress(7, 100, 100, 7)

    def test_a_fetch_from_the_end_of_the_last_one_was_caught_up_then(self) -> None:
        behind = ReplicaProgress().after(3, 7, 100)
        assert behind.caught_up_at == -1
        assert behind.after(7, 9, 250) == ReplicaProgress(7, 250, 100, 9)

    def test_a_fetch_that_is_still_behind_moves_nothing_but_its_own_time(self) -> None:
        known = ReplicaProgress().after(7, 7, 100).after(7, 20, 200)
        assert known.after(9, 30, 300) == ReplicaProgress(9, 300, 100, 30)


def test_an_observer_that_does_not_fetch_is_forgotten_after_its_session() -> None:
    member = node()
    member.form_leader(0, ())
    assert member.leading is not None
    member.leading.record_fetch(9, 1, 1, SECOND)
    for at, observers in ((raft.OBSERVER_SESSION_US, [9]), (raft.OBSERVER_SESSION_US + SECOND, [])):
        told = raft.describe_quorum(member, 4, at)
        assert (told.error, told.leader, [each.replica for each in told.voters]) == (KafkaError.NONE, ME, [ME, A, B])
        assert [each.replica for each in told.observers] == observers
        assert told.voters[0][1:] == (member.log.end, at, at)
    member.resign(0)
    assert raft.describe_quorum(member, 5, 0).error == KafkaError.NOT_LEADER_OR_FOLLOWER
