"""End of sessions: silence, a clean close, a pause, an operator; and cases in which they continue."""

import pytest

from cluster_model.zookeeper.messages import Create, Exists, GetData, WatchKind, ZkError
from cluster_model.zookeeper.zab import SessionTracker
from tests.cluster_model.zookeeper.rigs import MS, SECOND, TICK, TIMEOUT, Rig

NODE = (1, Create("/mine", (), ephemeral=True))


def gone_at(rig: Rig) -> list[int]:
    return [
        at for at, path, _data, _version, _zxid, operation in rig.commits if (path, operation) == ("/mine", "delete")
    ]


def test_deadlines_are_the_next_tick_behind_the_timeout() -> None:
    tracker = SessionTracker(TICK)
    tracker.add(7, 6 * SECOND, 1 * SECOND)
    tracker.add(8, 6 * SECOND, 2 * SECOND)
    assert tracker.next_at() == 8 * SECOND
    assert tracker.expired(8 * SECOND - 1) == []
    assert tracker.expired(8 * SECOND) == [7]
    tracker.touch(7, 5 * SECOND)
    assert tracker.next_at() == 10 * SECOND
    tracker.remove(8)
    tracker.touch(8, 5 * SECOND)
    assert tracker.reopen(8, 1, 5 * SECOND) == 0
    assert tracker.expired(12 * SECOND) == [7]


@pytest.mark.parametrize("servers", [1, 3])
@pytest.mark.parametrize("power", [False, True])
@pytest.mark.parametrize("after", [20_003, 22_500, 25_700])
def test_a_crashed_clients_node_goes_when_its_timeout_is_over(servers: int, power: bool, after: int) -> None:
    rig = Rig(servers, operations=(NODE,))
    rig.run(after * MS)
    crashed = rig.now
    rig.crash(1, power=power)
    rig.run(30 * SECOND)
    (gone,) = gone_at(rig)
    assert crashed + TIMEOUT * 2 // 3 <= gone <= crashed + TIMEOUT + TICK
    last_ping = (after * MS) // (TIMEOUT // 3) * (TIMEOUT // 3)
    assert last_ping + TIMEOUT <= gone <= last_ping + TIMEOUT + TICK + 10 * MS


def test_a_clean_close_takes_the_node_at_once() -> None:
    rig = Rig(operations=(NODE,))
    rig.run(10 * SECOND)
    rig.clients[1].zk.close()
    rig.run(60 * SECOND)
    (gone,) = gone_at(rig)
    assert gone <= 10 * SECOND + 10 * MS
    assert rig.clients[1].what() == []
    assert not rig.clients[1].zk.connected


def test_a_closed_client_can_begin_again() -> None:
    rig = Rig(operations=(NODE,))
    rig.clients[1].zk.close()
    rig.clients[1].zk.connect()
    rig.run(SECOND)
    assert rig.clients[1].what() == [("connected", rig.clients[1].zk.server)]
    assert rig.ask(1, Create("/mine", (), ephemeral=True)).error is ZkError.OK


def test_an_idle_client_keeps_its_session_for_ever() -> None:
    rig = Rig(operations=(NODE,))
    rig.run(2_000 * SECOND)
    assert gone_at(rig) == []
    assert rig.clients[1].what() == []


@pytest.mark.parametrize(("pause", "lives"), [(5, True), (11, True), (21, False), (60, False)])
def test_a_paused_client_learns_its_fate_when_it_wakes(pause: int, lives: bool) -> None:
    rig = Rig(operations=(NODE,), renews=True)
    rig.run(SECOND)
    rig.network.pause(1)
    rig.run(pause * SECOND)
    assert bool(gone_at(rig)) is not lives
    assert rig.clients[1].what() == []
    rig.network.resume(1)
    rig.run(5 * SECOND)
    if lives:
        assert rig.clients[1].zk.session == rig.service.session_of(1)
        assert gone_at(rig) == []
    else:
        assert [what[0] for what in rig.clients[1].what()] == ["disconnected", "expired", "connected"]
        assert rig.ask(2, Exists("/mine")).error is ZkError.NO_NODE


def test_a_client_that_comes_back_in_time_keeps_its_session_and_its_node() -> None:
    rig = Rig(operations=(NODE,))
    rig.run(SECOND)
    session = rig.clients[1].zk.session
    rig.crash(rig.clients[1].zk.server)
    rig.run(100 * SECOND)
    assert [what[0] for what in rig.clients[1].what()] == ["disconnected", "connected"]
    assert rig.clients[1].zk.session == session
    assert gone_at(rig) == []


def test_an_expired_client_gets_session_expired_until_it_reconnects() -> None:
    rig = Rig(operations=(NODE,))
    assert rig.service.expire_session(1)
    rig.run(5 * SECOND)
    assert rig.clients[1].zk.expired
    assert rig.ask(1, GetData("/")).error is ZkError.SESSION_EXPIRED
    rig.clients[1].zk.connect()
    assert rig.ask(1, GetData("/")).error is ZkError.OK


def test_an_operator_ends_a_session_at_once() -> None:
    rig = Rig(operations=(NODE, (2, Exists("/mine", watch=True))))
    rig.run(SECOND)
    assert rig.service.expire_session(1)
    rig.run(3 * SECOND)
    (gone,) = gone_at(rig)
    assert gone <= SECOND + 10 * MS
    assert rig.clients[2].what() == [("watch", "/mine", WatchKind.NODE_DELETED)]
    assert [what[0] for what in rig.clients[1].what()] == ["disconnected", "expired"]
    assert not rig.service.expire_session(1)


def test_an_operator_needs_a_running_leader() -> None:
    rig = Rig(operations=(NODE,))
    rig.network.pause(rig.service.leader())
    assert not rig.service.expire_session(1)


def test_nothing_expires_without_a_leader_and_a_new_one_gives_every_session_its_full_timeout() -> None:
    rig = Rig(operations=(NODE,))
    rig.run(SECOND)
    for server in rig.servers[1:]:
        rig.crash(server)
    rig.crash(1)
    rig.run(200 * SECOND)
    assert gone_at(rig) == []
    rig.restart(rig.servers[1])
    back = rig.now
    rig.run(60 * SECOND)
    (gone,) = gone_at(rig)
    assert back + TIMEOUT <= gone <= back + TIMEOUT + TICK + 2 * SECOND


@pytest.mark.parametrize(("asked", "given"), [(1, 4), (10, 10), (90, 40)])
def test_the_timeout_is_held_between_two_and_twenty_ticks(asked: int, given: int) -> None:
    rig = Rig(clients=(1,), timeout=asked * SECOND, formed=False)
    rig.run(5 * SECOND)
    assert rig.clients[1].zk.timeout_us == given * SECOND
    assert rig.service.tree.sessions[rig.service.session_of(1)].timeout_us == given * SECOND
