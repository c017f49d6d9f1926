"""Corner cases of the agreement: history adopted by a new leader, epochs, gaps, and sessions that have ended."""

from cluster_model.zookeeper.messages import (
    AckEpoch,
    ConnectionClosed,
    Create,
    FollowerInfo,
    LeaderInfo,
    OpResult,
    Proposal,
    RequestOrigin,
    ServerReply,
    ServerState,
    SetData,
    Txn,
    WatchEvent,
    WatchKind,
    ZkError,
)
from cluster_model.zookeeper.zab import SYNCED, SessionTracker
from tests.cluster_model.zookeeper.rigs import LATENCY, SECOND, TICK, Rig

START = ((1, Create("/a", (0,))),)


def test_a_new_leader_commits_what_a_majority_had_logged() -> None:
    rig = Rig(operations=START)
    leader = rig.service.leader()
    client = next(client for client in rig.clients.values() if client.zk.server == leader)
    client.zk.ask(SetData("/a", (1,)), "")
    rig.run(2 * LATENCY + LATENCY // 2)
    assert rig.commits == []
    rig.crash(leader)
    rig.run(10 * SECOND)
    assert client.answers()[0][1].error is ZkError.CONNECTION_LOSS
    assert [data for _at, _path, data, _version, _zxid, _operation in rig.commits] == [(1,)]
    assert rig.ask(1, SetData("/a", (2,), 1)).error is ZkError.OK


def test_a_write_behind_the_end_of_its_session_is_refused() -> None:
    rig = Rig(operations=START)
    assert rig.clients[1].zk.server != rig.service.leader()
    assert rig.service.expire_session(1)
    rig.clients[1].zk.ask(Create("/mine", (), ephemeral=True), "")
    rig.run(5 * SECOND)
    assert rig.clients[1].answers()[0][1].error is not ZkError.OK
    assert "/mine" not in rig.service.tree.nodes


def test_a_new_epoch_is_above_every_one_that_was_accepted() -> None:
    rig = Rig()
    first, second, third = rig.servers
    rig.service.server(first).store.accepted_epoch = 7
    rig.crash(third)
    rig.run(5 * SECOND)
    assert rig.service.leader() == second
    assert rig.service.server(second).leader.epoch == 8
    assert rig.service.server(first).store.accepted_epoch == rig.service.server(first).store.current_epoch == 8


def test_a_follower_accepts_no_epoch_below_one_that_it_has_accepted() -> None:
    rig = Rig()
    first, leader = rig.servers[0], rig.service.leader()
    node = rig.service.server(first)
    assert node.state is ServerState.FOLLOWING
    node.receive(leader, LeaderInfo(1, 0))
    assert node.state is ServerState.LOOKING
    assert node.store.accepted_epoch == 1


def test_a_follower_that_missed_a_proposal_resynchronizes() -> None:
    rig = Rig(operations=START)
    first, leader = rig.servers[0], rig.service.leader()
    node = rig.service.server(first)
    last = node.store.last_zxid
    node.receive(
        leader, Proposal(1, last + 1, Txn(last + 2, RequestOrigin(leader, 1, 1, 1), 1, (), OpResult(ZkError.OK)))
    )
    assert node.store.last_zxid == last
    assert node.state is ServerState.LOOKING
    rig.run(5 * SECOND)
    assert node.state is ServerState.FOLLOWING
    assert rig.service.leader() == leader


def test_a_session_that_is_reopened_has_its_full_timeout() -> None:
    tracker = SessionTracker(TICK)
    tracker.add(7, 6 * SECOND, 0, attempt=1)
    assert tracker.reopen(7, 2, 5 * SECOND) == 6 * SECOND
    assert tracker.next_at() == 12 * SECOND
    assert tracker.has_moved(7, 1)
    assert not tracker.has_moved(7, 2)


def test_an_answer_out_of_order_breaks_the_connection() -> None:
    rig = Rig(operations=START)
    client = rig.clients[1]
    for number in range(2):
        client.zk.ask(SetData("/a", (number,)), number)
    client.zk.receive(client.zk.server, ServerReply(1, 2, 0, OpResult(ZkError.OK)))
    assert [result.error for _token, result in client.answers()] == [ZkError.CONNECTION_LOSS] * 2
    assert not client.zk.connected


def test_a_message_of_a_broken_connection_changes_nothing() -> None:
    rig = Rig(operations=START)
    client = rig.clients[1]
    for message in (
        ConnectionClosed(0),
        WatchEvent(0, "/a", WatchKind.NODE_DELETED),
        ServerReply(0, 1, 0, OpResult(ZkError.OK)),
    ):
        assert client.zk.receive(client.zk.server, message)
    assert client.zk.connected
    assert client.seen == []


def test_a_server_that_had_accepted_the_epoch_before_does_not_count_for_the_majority_that_does() -> None:
    """It sends -1, and ``waitForEpochAck`` does not count it; it is synchronised all the same."""
    rig = Rig(servers=5)
    server = rig.service.server(rig.servers[0])
    leading, store = server.leader, server.store
    leading.forget()
    leading.start()
    others = rig.servers[1:]
    for join, other in enumerate(others, 50):
        leading.receive(other, FollowerInfo(join, store.accepted_epoch))
    assert (leading.epoch, store.accepted_epoch, store.current_epoch) == (2, 2, 1)
    for join, other, epoch in ((50, others[0], -1), (51, others[1], -1), (52, others[2], 1)):
        leading.receive(other, AckEpoch(join, epoch, store.last_zxid))
        assert [known.stage for known in leading._followers.values()].count(SYNCED) == 0
        assert store.current_epoch == 1
    saved = leading.save()
    leading.load(saved)
    leading.receive(others[3], AckEpoch(53, 1, store.last_zxid))
    assert store.current_epoch == 2
    assert [known.stage for known in leading._followers.values()] == [SYNCED] * 4
    assert leading.save() != saved
