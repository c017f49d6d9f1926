"""Callbacks of a client, and their order."""

from typing import Any

import pytest

from cluster_model.zookeeper.messages import (
    Create,
    Delete,
    Exists,
    GetChildren,
    GetData,
    Multi,
    SetData,
    WatchKind,
    ZkError,
)
from tests.cluster_model.zookeeper.rigs import LATENCY, MS, SECOND, TIMEOUT, Rig

CHANGED, CREATED = WatchKind.NODE_DATA_CHANGED, WatchKind.NODE_CREATED
START = ((1, Create("/a", (0,))),)


def errors(rig: Rig, client: int) -> list[ZkError]:
    return [result.error for _token, result in rig.clients[client].answers()]


def test_clients_are_spread_over_the_servers() -> None:
    rig = Rig()
    assert sorted(client.zk.server for client in rig.clients.values()) == list(rig.servers)


def test_zookeeper_requests_are_answered_in_order() -> None:
    rig = Rig(operations=START, jitter=5 * MS)
    zk = rig.clients[1].zk
    for number in range(1, 20):
        zk.ask(SetData("/a", (number,)), ("set", number))
        zk.ask(GetData("/a"), ("get", number))
    rig.run(SECOND)
    answers = rig.clients[1].answers()
    assert [token for token, _result in answers] == [(w, n) for n in range(1, 20) for w in ("set", "get")]
    assert [result.data for (what, _n), result in answers if what == "get"] == [(n,) for n in range(1, 20)]


@pytest.mark.parametrize("watcher", [1, 2, 3])
def test_a_watch_comes_before_any_answer_that_shows_the_change(watcher: int) -> None:
    rig = Rig(operations=(*START, (watcher, GetData("/a", watch=True))), jitter=5 * MS)
    rig.clients[1].zk.ask(SetData("/a", (1,)), "set")
    for _turn in range(20):
        rig.clients[watcher].zk.ask(GetData("/a"), "get")
        rig.run(2 * MS)
    rig.run(SECOND)
    seen = rig.clients[watcher].seen
    at = next(place for place, entry in enumerate(seen) if entry[1] == "watch")
    shown = [place for place, entry in enumerate(seen) if entry[1:3] == ("answer", "get") and entry[3].data == (1,)]
    assert shown
    assert at < shown[0]
    assert [entry for entry in seen if entry[1] == "watch"] == [(seen[at][0], "watch", "/a", CHANGED)]


def test_a_watch_of_a_node_that_is_not_there_yet_and_of_children() -> None:
    rig = Rig()
    rig.clients[2].zk.ask(Exists("/new", watch=True), "")
    rig.clients[2].zk.ask(GetChildren("/", watch=True), "")
    rig.run(SECOND)
    rig.ask(1, Create("/new"))
    rig.ask(1, Create("/new/er"))
    rig.run(SECOND)
    assert rig.clients[2].what() == [
        ("watch", "/new", CREATED),
        ("watch", "/", WatchKind.NODE_CHILDREN_CHANGED),
    ]


def test_one_of_many_racing_set_data_requests_wins() -> None:
    rig = Rig(operations=START, jitter=3 * MS)
    for round_number in range(20):
        for node, client in rig.clients.items():
            client.zk.ask(SetData("/a", (node,), round_number), round_number)
        rig.run(SECOND)
        won = [node for node in rig.clients if errors(rig, node)[-1] is ZkError.OK]
        assert len(won) == 1
        assert rig.ask(won[0], GetData("/a")).data == (won[0],)
    assert [version for _at, _p, _d, version, _z, _o in rig.commits] == list(range(1, 21))


def test_one_of_many_racing_creates_wins_and_a_failed_multi_leaves_nothing() -> None:
    rig = Rig(operations=START)
    for node, client in rig.clients.items():
        client.zk.ask(Multi((SetData("/a", (node,)), Create("/one", (node,), ephemeral=True))), "")
    rig.run(SECOND)
    assert sorted(errors(rig, 1) + errors(rig, 2) + errors(rig, 3)) == [ZkError.NODE_EXISTS] * 2 + [ZkError.OK]
    tree = rig.service.tree
    assert tree.nodes["/a"].version == 1
    assert tree.nodes["/a"].data == tree.nodes["/one"].data


def test_operations_in_flight_fail_with_connection_loss() -> None:
    rig = Rig(operations=START)
    client = rig.clients[1]
    session, server = client.zk.session, client.zk.server
    rig.crash(server)
    for number in range(3):
        client.zk.ask(SetData("/a", (number,)), number)
    rig.run(10 * SECOND)
    assert errors(rig, 1) == [ZkError.CONNECTION_LOSS] * 3
    assert [what[0] for what in client.what()] == ["disconnected", "connected"]
    assert client.zk.server != server
    assert client.zk.session == session
    assert rig.ask(1, GetData("/a")).data == (0,)


def test_a_lost_answer_does_not_undo_the_write() -> None:
    rig = Rig(operations=START)
    client = rig.clients[1]
    client.zk.ask(SetData("/a", (1,)), "")
    rig.run(2 * LATENCY + MS // 2)
    rig.crash(client.zk.server)
    rig.run(10 * SECOND)
    assert errors(rig, 1) == [ZkError.CONNECTION_LOSS]
    assert rig.ask(1, GetData("/a")).data == (1,)


def test_operations_between_two_connections_wait_for_the_attempt() -> None:
    rig = Rig(operations=START)
    client = rig.clients[1]
    rig.crash(client.zk.server)
    rig.run(2 * MS)
    assert not client.zk.connected
    client.zk.ask(GetData("/a"), "")
    rig.run(5 * SECOND)
    assert errors(rig, 1) == [ZkError.OK]


def test_a_silent_server_is_given_up_after_two_thirds_of_the_timeout() -> None:
    rig = Rig(operations=START)
    client = rig.clients[1]
    rig.run(20 * SECOND)
    heard = 18 * SECOND + 2 * LATENCY
    rig.network.power_off(client.zk.server)
    rig.service.server(client.zk.server).stopped()
    rig.run(60 * SECOND)
    assert client.times("disconnected") == [heard + TIMEOUT * 2 // 3]
    assert client.times("connected")[0] <= heard + TIMEOUT * 2 // 3 + 2 * SECOND
    assert client.times("expired") == []


def test_watches_outlive_a_reconnection_and_show_what_was_missed() -> None:
    rig = Rig(operations=(*START, (1, GetData("/a", watch=True)), (1, Exists("/b", watch=True))))
    client = rig.clients[1]
    rig.crash(client.zk.server)
    rig.run(2 * MS)
    assert not client.zk.connected
    assert rig.ask(2, SetData("/a", (1,))).error is ZkError.OK
    rig.run(10 * SECOND)
    rig.ask(2, Create("/b"))
    rig.run(SECOND)
    assert [what for what in client.what() if what[0] == "watch"] == [
        ("watch", "/a", CHANGED),
        ("watch", "/b", CREATED),
    ]


def test_a_delayed_write_of_an_older_connection_is_refused() -> None:
    """``SessionMovedException``: the client has connected to another server since."""
    rig = Rig(operations=START)
    client = rig.clients[1]
    leader = rig.service.leader()
    old = client.zk.server
    assert old != leader
    rig.network.slow_down(old, leader, ((1, 8 * SECOND, 0),))
    client.zk.ask(SetData("/a", ("late",)), "")
    rig.run(10 * MS)
    client.zk.on_disconnect(old)
    rig.run(20 * SECOND)
    assert client.zk.connected
    assert rig.service.tree.nodes["/a"].data == (0,)
    assert rig.commits == []


def test_a_client_is_not_taken_back_in_time() -> None:
    """A server whose state is older than the client's newest rejects it (``Refusing session request``)."""
    rig = Rig(operations=START)
    leader = rig.service.leader()
    fresh, behind = [server for server in rig.servers if server != leader]
    reader, writer = (next(c for c in rig.clients.values() if c.zk.server == s) for s in (behind, fresh))
    rig.network.slow_down(leader, behind, ((1, 9 * SECOND, 0),))
    rig.ask(writer.port.node_id, SetData("/a", (1,)))
    assert rig.ask(reader.port.node_id, GetData("/a")).data == (0,)
    writer.zk.server = behind
    writer.zk.on_disconnect(behind)
    writer.zk.server = behind
    rig.run(4 * SECOND)
    assert writer.zk.connected
    assert writer.zk.server != behind
    assert rig.ask(writer.port.node_id, GetData("/a")).data == (1,)


def test_a_second_session_beside_the_first_is_refused() -> None:
    rig = Rig()
    with pytest.raises(ValueError, match="session"):
        rig.clients[1].zk.connect()


def test_commits_are_reported_once_with_what_they_did() -> None:
    rig = Rig()
    rig.ask(1, Create("/x", ("made",)))
    rig.ask(2, SetData("/x", ("set",)))
    rig.ask(3, SetData("/x", ("set",), 5))
    rig.ask(1, Delete("/x"))
    rig.run(SECOND)
    told: list[Any] = [(path, data, version, operation) for _at, path, data, version, _z, operation in rig.commits]
    assert told == [("/x", ("made",), 0, "create"), ("/x", ("set",), 1, "set"), ("/x", ("set",), 1, "delete")]
